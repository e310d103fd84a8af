"""The rules for questions about hierarchy, paths, namespaces, and those that are answered by yes or
no."""

from __future__ import annotations

from rlm.llm.offline.asked.grammar import Rule, rules

_RELATED = r"(?:related|connected|linked|tied|joined|associated|bound|attached|relate|connect|link)"
_NAMESPACE = r"(?:name ?spaces?|prefix(?:es)?|vocabular(?:y|ies)|bindings|mappings|declarations)"
_ABOUT_IT = (
    "that|which|are|is|does|do|it|the|this|its|their|ontology|graph|file|we|have|has|bound|used|declared|defined|there|"
    "uses?|using|declares?|defines?|in|reuses?|builds?|built|draws?|on|upon|refers?|to|known|available|appear|occur|"
    "exist|"
    "been|imported|imports?|being|contains?|here|can|i|model|rely|relies|employs?|comes?|up|present|registered|"
    "mentioned|"
    "referenced|involved|by|from|data|referred|make|makes|of|vocabulary|schema|under|for|terms|classes|properties|"
    "names|"
    "abbreviations|short|forms|and|or|with|all|bound|external|other|what|namespaces?|prefix(?:es)?"
)

NAMESPACES: tuple[Rule, ...] = rules(
    "namespaces",
    rf"(?:(?:{_ABOUT_IT}|used|registered|every|each|any) )*{_NAMESPACE}(?: (?:{_ABOUT_IT}))*",
    r"{q}(?:prefix|namespace)(?: {x})? (?:stands? for|means?|refers? to|points? to|is bound"
    r" to|maps to|"
    r"belongs to)(?: {y})?",
    r"(?:what )?(?:does|do|is) (?:the )?(?:prefix|namespace) {x} (?:stand for|mean|refer to|point"
    r" to|bound to|map to|"
    r"for)",
    r"(?:other |external )*(?:ontologies|vocabularies) (?:does|do|are|is) (?:(?:it|the"
    r" ontology|this ontology|"
    r"this vocabulary|this) )?(?:imported|import|reuse|reused|use|used|build on|built on|draw"
    r" on|rely on|"
    r"refer to)(?: by it)?",
)

PATH: tuple[Rule, ...] = rules(
    "path",
    rf"(?:how|in what way|in which way) {{x}} (?:and {{y}} )?(?:is|are) (?:{{q}}){_RELATED}(?: to"
    r" (?:each other|"
    rf"one another)| together)?",
    rf"(?:in what way|in which way|by what means|why) (?:is|are) {{x}} (?:{{q}}){_RELATED}"
    r" (?:to|with|by) {y}",
    rf"how {{x}} (?:is|are) (?:{{q}}){_RELATED} (?:to|with|by) {{y}}",
    r"(?:how|by (?:what|which) (?:route|path|way|properties|relations)) {x}"
    r" (?:relates?|connects?|links?|"
    r"leads?) to {y}",
    r"by (?:what|which) (?:route|path|way|chain|properties|relations) (?:do|does|can|could)"
    r" (?:i|one|you|we) (?:get|"
    r"go|come|reach) from {x} to {y}",
    r"(?:what(?:['’]s| is| lies| stands| comes) |everything |things )between {x} and {y}",
    r"{q}(?:chains?|series|sequences?|paths?|sets?) of (?:relations|properties|links|steps|edges|"
    r"predicates) (?:linking|connecting|joining|from|between|leading from|that links?|that"
    r" connects?|which connects?|"
    r"which links?) {x} (?:to|and|with) {y}",
    rf"how (?:is|are|was|were|can|could|might) {{x}} (?:be )?(?:{{q}}){_RELATED} (?:to|with|and|by)"
    r" {y}",
    rf"how (?:is|are|can|could|might) {{x}} and {{y}} (?:be )?(?:{{q}}){_RELATED}(?: to (?:each"
    r" other|one another)|"
    rf" together| with each other)?",
    r"how (?:does|do|can|could|would|might|did) {x} (?:get |come"
    r" )?(?:relate|connect|link|lead|tie|reach|refer|"
    r"attach|go)(?: back| up)?(?: to| with|) {y}",
    r"how (?:does|do|can|could|would|might) {x} and {y} (?:relate|connect|link|tie|fit|belong|"
    r"hang)(?: up)?(?: together| to each other| to one another| with each other)?",
    r"how (?:can|do|could|would|does|to) (?:i |one |you |we |someone"
    r" )?(?:get|go|navigate|travel|come|move|walk|hop|"
    r"traverse) from {x} to {y}",
    r"{q}(?:shortest |direct |possible |property |short )*(?:paths?|routes?|chains?(?: of"
    r" (?:properties|"
    r"relations))?|ways?|walks?|trails?|connections?|links?) (?:that )?(?:leads? |goes |go |runs?"
    r" |there is |"
    r"exists? |leading |going |running |is there |are there )?from {x} to {y}",
    r"{q}(?:shortest |direct |possible |property |short |indirect |semantic |exact"
    r" )*(?:paths?|routes?|chains?|"
    r"connections?|connexions?|relationships?|relations?|links?|bridges?|associations?|ties?|properties) "
    r"(?:is |are |there |is there |are there |exists? |existing |that exists? |holds? |we have"
    r" |that connects? |"
    r"do we have |to be found )*(?:between|among) {x} and {y}",
    r"(?:what |which )?(?:{prop} )?{rel}(?:directly |together"
    r" )?(?:links?|connects?|relates?|joins?|ties?|bridges?|"
    r"associates?|linking|connecting|relating|joining) {x} (?:to|with|and|together with|together"
    r" and) {y}",
    r"(?:is|are) there (?:an?|any|some) (?:\w+"
    r" )?(?:paths?|routes?|connections?|relationships?|relations?|links?|"
    r"ways?|chains?) (?:from|between) {x} (?:to|and) {y}",
    rf"(?:is|are) {{x}} (?:somehow |in any way |directly |indirectly )?{_RELATED} (?:to|with)"
    r" {y}(?: in any way|"
    rf" somehow)?",
    rf"(?:is|are) {{x}} and {{y}} (?:somehow |in any way |directly |indirectly )?{_RELATED}(?: in"
    r" any way| somehow)?",
    r"what (?:has|have|does|do) {x} (?:got )?(?:have )?to do with {y}",
    r"what (?:does|do) {x} and {y} have to do with (?:each other|one another)",
    r"(?:trace|follow|path|paths|route|go|get|navigate) (?:a |the )?(?:path |route |way |line"
    r" )?(?:from )?{x} to {y}",
    r"(?:connect|link|relate|join) {x} (?:to|with|and) {y}",
    r"how (?:far|many (?:steps|hops)) (?:is it |is |are )?(?:from )?{x} (?:is )?(?:away"
    r" )?(?:from|to) {y}",
    r"(?:via|through|by) (?:what|which) (?:{prop} |path |relation )(?:is|are) {x} (?:and|connected"
    r" to|related to|"
    r"linked to) {y}(?: connected| related| linked)?",
)

ROOTS: tuple[Rule, ...] = rules(
    "roots",
    r"{q}(?:{cls} )?(?:that |which |where |for which )?(?:nothing|no class|no other class|none)"
    r" (?:is|stands|sits|"
    r"comes|lies) (?:above|over)(?: (?:them|it))?",
    r"{q}(?:{cls} )?{rel}(?:are not|aren['’]t|is not|isn['’]t|do not|don['’]t|does not|doesn['’]t|"
    r"are never) (?:themselves )?(?:derived|descended|derive|descend|inherit|inherited|come)(?:"
    r" from)? (?:any|an|"
    r"another|some)(?:thing| other class| class| other classes|other class|thing else| other"
    r" concept)",
    r"{q}(?:class |hierarchy |taxonomy )?roots?(?:"
    r" (?:class(?:es)?|concepts?|nodes?|terms?|types?|elements?|"
    r"categories|category))?(?: (?:of|in) (?:the |this |its |each |every )?(?:class"
    r" )?(?:hierarchy|hierarchies|tree|"
    r"taxonomy|ontology|class tree|classes|subclass hierarchy|graph|vocabulary|model|schema))?(?:"
    r" (?:there|exist|"
    r"does (?:it|the ontology|the hierarchy) have))?",
    r"{q}(?:top|root|highest|upper|first|base)(?:-| )?(?:most|level|-level)?"
    r" (?:class(?:es)?|concepts?|nodes?|terms?|"
    r"types?|categories|category|ones|level|levels|kinds|entities)(?: (?:of|in|at|on) (?:the |this"
    r" |its )?(?:top |"
    r"class )?(?:hierarchy|tree|taxonomy|ontology|level|class"
    r" tree|graph|vocabulary|model|schema))?(?: (?:there|"
    r"exist|does (?:it|the ontology) have|are there|made of|is made of))?",
    r"{q}(?:topmost|uppermost|most general|most"
    r" abstract|broadest|highest-level|top-level|root-level|most generic|"
    r"parentless|highest) {cls}(?: (?:of|in|at) (?:the |this |its )?(?:top |class"
    r" )?(?:hierarchy|tree|taxonomy|"
    r"ontology|level|class tree))?(?: exist)?",
    r"{q}(?:{cls} )?{rel}(?:(?:have|has|having|with|got|having got|do not have|don't have|does not"
    r" have|doesn't have|"
    r"without|lack|lacks|lacking|are without|are there without|exist without|come without)"
    r" )(?:an?y? |no |named |"
    r"other |further |single |the |class |explicit |asserted |declared |got |own )*{super}(?:"
    r" (?:class(?:es)?|at all|"
    r"of (?:their|its) own|above them|but owl:Thing|other than owl:Thing|except owl:Thing))*",
    r"{q}(?:{cls}"
    r" )?{rel}(?:are|is|be|sit|sits|stand|stands|come|comes|lie|found|located|live|hang)?"
    r" ?(?:right |"
    r"all )?(?:at|on|near) (?:the )?(?:very )?(?:top|root|head|apex|summit)(?: level)?(?: of (?:the"
    r" |this |"
    r"its )?(?:class |whole |subclass )?(?:hierarchy|tree|taxonomy|ontology|class"
    r" tree|everything|inheritance tree|"
    r"classes))?",
    r"{q}(?:{cls} )?{rel}(?:are not|aren't|is not|isn't|are no|is no|not|do not|don't|are never)"
    r" ?(?:an? )?(?:{sub}|"
    r"derive|inherit|descend|specialise|specialize|{kinds}) ?(?:of|from|)(?: any|"
    r" an)?(?:thing|thing else|"
    r" other class| another class| other classes| other| class| class at all| more general| other"
    r" named class)",
    r"{q}(?:{cls} )?{rel}(?:have|has|with) (?:nothing|no class|no classes|no other class|none)"
    r" (?:above|"
    r"over)(?: (?:them|it|themselves))?",
    r"(?:where|with what|with which classes?|at which classes?) (?:does|do) (?:the )?(?:class"
    r" )?(?:hierarchy|tree|"
    r"taxonomy|class tree) (?:start|begin|starts|begins)",
    r"(?:what|which class(?:es)?) (?:is|are|stands?|sits?) (?:at )?(?:the )?(?:top|root|"
    r"head) of (?:the )?(?:class )?(?:hierarchy|tree|taxonomy|ontology)",
    r"{q}(?:top|start|head|tops|beginning|starting points?|entry points?|upper end) of (?:the |this"
    r" )?(?:class |"
    r"subclass )?(?:hierarchy|tree|taxonomy|class tree)",
    r"{q}(?:{cls} )?(?:does )?(?:the )?(?:class )?(?:hierarchy|tree|taxonomy|ontology)"
    r" (?:starts?|begins?) (?:with|"
    r"from|at)",
    r"{q}(?:{cls} )?{rel}(?:are|is) (?:the )?(?:most general|topmost|uppermost|broadest|most"
    r" abstract|roots?|"
    r"top-level|parentless|root classes|top classes|top-level classes)(?: of all| ones| classes)?",
)

SUBCLASSES: tuple[Rule, ...] = rules(
    "subclasses",
    r"(?:family |set |group )?(?:of )?(?:{cls} )?{q}descending from {x}",
    r"{q}(?:named |ontology )?{sub} (?:of|for|under|below|to|from|beneath) {x}",
    r"{q}(?:{cls} )?{rel}{be} (?:there )?{q}(?:{sub}|{kinds}) (?:of|for) {x}",
    r"{q}(?:{cls} )?{rel}(?:are|is) (?:the )?{q}{sub} (?:of|to) {x}",
    r"{q}{sub} (?:does|do|has|have|did|can|could|may|will) {x} (?:have|has|got|possess)",
    r"{q}sub-?classes has {x}",
    r"{q}{sub} (?:are|is) (?:there )?(?:of|for|under|below|in|known for|known of|defined for|listed"
    r" for|listed under|"
    r"declared for|given for) {x}",
    r"{q}{sub} (?:that |which )?{x} (?:has|have)",
    r"{x}(?:['’]s|s['’]) {q}{sub}",
    r"{q}{kinds} of {x}",
    r"{q}{kinds} of {x} (?:are there|is there|exist|do we have|can be distinguished|does .+"
    r" (?:know|have|distinguish|"
    r"define|list|cover|include|recognise|recognize)|are"
    r" (?:known|defined|distinguished|listed|recognised|"
    r"recognized))",
    r"{q}(?:{cls} )?{rel}{q}(?:(?:is|are|would be|be) )?{q}(?:speciali[sz]es?|extends?|inherits?"
    r" from|derives? from|"
    r"descends? from|refines?|narrows?|derived from|descended"
    r" from|speciali[sz]ing|extending|inheriting from|"
    r"deriving from|subclass|subclassing|"
    r"more specific than|narrower than|more speciali[sz]ed than|subsumed by|subordinate"
    r" to|speciali[sz]ations? of|"
    r"children of) {x}",
    r"{q}(?:{cls} |class hierarchy |hierarchy |tree |sub-?tree |branch |things? )?(?:there"
    r" )?{rel}(?:(?:is|are|sits?|"
    r"lies?|falls?|comes?|stands?|be|found|located|located) )?(?:there"
    r" )?{q}(?:below|beneath|under|underneath|"
    r"down from|lower than|further down than) {x}(?: (?:in|within) the (?:class |subclass"
    r" )?(?:hierarchy|tree|"
    r"taxonomy))?",
    r"{q}(?:sub-?tree|sub-?hierarchy|branch|class tree|hierarchy|taxonomy|class hierarchy)"
    r" (?:of|under|below|beneath|"
    r"rooted (?:at|in)|starting (?:at|from|with)|from) {x}",
    r"(?:into )?(?:what|which)? ?(?:{cls} |{kinds} |{sub} )?(?:is|are|can|may|"
    r"could) {x} (?:be )?(?:further )?(?:divided|split|broken"
    r" down|subdivided|speciali[sz]ed|refined|subclassed|"
    r"classified|categori[sz]ed|extended)(?: (?:into|by|in))?",
    r"how (?:is|are|can) {x} (?:be )?(?:further )?(?:divided|split|broken"
    r" down|subdivided|speciali[sz]ed|refined|"
    r"subclassed|classified|categori[sz]ed|subtyped)(?: up| further)?",
    r"{q}(?:{cls} )?(?:have|has|with|having|whose) {x} (?:as|for) {their}(?:direct |immediate |own"
    r" )*{super}",
    r"{q}(?:{cls} )?(?:whose |with |having |have |has )(?:the )?(?:direct |immediate )*{super}"
    r" (?:is |being |of |"
    r"= )?{x}",
    r"{q}(?:{cls} )?(?:does|do) {x}"
    r" (?:subsume|include|cover|comprise|generalise|generalize|encompass|"
    r"break down into|divide into)",
)

SUPERCLASSES: tuple[Rule, ...] = rules(
    "superclasses",
    r"(?:trace|follow|climb|show|walk)(?: me| us)? {q}{super} (?:of|for|from) {x}",
    r"(?:walk|go|climb|move|trace|follow)(?: me| us)? (?:up )?(?:the )?(?:class |whole"
    r" )?(?:hierarchy|tree|"
    r"taxonomy)(?: up)? (?:upwards? )?(?:from|of|starting at) {x}(?: up| upwards?)?",
    r"{q}(?:named |ontology )?{super} (?:of|for|to|above|from) {x}",
    r"{q}(?:{cls} )?{rel}{be} (?:there )?{q}{super} (?:of|for|to) {x}",
    r"{q}{super} (?:does|do|has|have|did|can|could|may|will) {x} (?:have|has|got|possess|inherit"
    r" from)",
    r"{q}{super} (?:are|is) (?:there )?(?:of|for|above|known for|defined for|listed for|declared"
    r" for) {x}",
    r"{x}(?:['’]s|s['’]) {q}{super}",
    r"(?:what |which )?(?:{kinds} of )?(?:{cls} )?(?:that )?(?:is|are) {x} (?:an? |the"
    r" )?{q}(?:{kinds}|{sub}|"
    r"example) of(?: what)?",
    r"{q}(?:{cls} )?(?:that |which )?{x} (?:is|are) (?:an? |the )?{q}(?:{kinds}|{sub}) of",
    r"{q}(?:{cls} )?(?:that |which )?{x} (?:inherits?|derives?|descends?) from",
    r"(?:of |from )(?:what|which) ?(?:{cls} )?(?:is|are) {x} (?:an? |the )?{q}(?:{kinds}|{sub})",
    r"(?:what|which)? ?(?:{cls} )?(?:is|are) {x} (?:an? |the )?{q}(?:{kinds}|{sub}) of",
    r"{x} (?:is|are) (?:an? )?{q}(?:{kinds}|{sub}) of (?:what|which(?: {cls})?)",
    r"(?:from |of )?(?:what |which )?(?:{cls} |{super} )?(?:does|do|did) {x} {q}(?:inherit(?:"
    r" from)?|"
    r"derive(?: from)?|descend(?: from)?|come from|speciali[sz]e|extend|refine|belong to|fall"
    r" under|come under|"
    r"subclass|sit under|stem from|go back to|lie under)",
    r"(?:what |which )?(?:{cls} )?(?:is|are) {x} {q}(?:derived|descended|inherited|speciali[sz]ed)"
    r" from",
    r"(?:what |which )?(?:{cls}"
    r" )?(?:generali[sz]es?|subsumes?|includes?|encompass(?:es)?|contains?|covers?|"
    r"generali[sz]ing|subsuming) {x}",
    r"{q}(?:{cls} |class hierarchy |hierarchy |things? )?(?:there"
    r" )?{rel}(?:(?:is|are|sits?|lies?|comes?|stands?|be|"
    r"found) )?(?:there )?{q}(?:above|over|higher than|further up than|up from) {x}(?:"
    r" (?:in|within) the (?:class |"
    r"subclass )?(?:hierarchy|tree|taxonomy))?",
    r"{q}(?:{cls} )?{rel}{be} {q}(?:broader|more general|more abstract|wider|more generic)"
    r" than {x}",
    r"(?:under |below |beneath )(?:what|which)(?: {cls}| {super})? (?:is|are|does|do) {x}(?:"
    r" (?:fall|come|sit|lie|"
    r"placed|classified|filed|listed|located|situated|stand))?",
    r"(?:where|how) (?:in the (?:class )?(?:hierarchy|tree|taxonomy) )?(?:is|are|does|do) {x}"
    r" (?:sit|fit|placed|"
    r"located|stand|situated|classified|positioned)(?: in the (?:class"
    r" )?(?:hierarchy|tree|taxonomy))?",
    r"{q}(?:{cls} )?(?:have|has|with|having) {x} (?:as|for|among) {their}(?:direct |immediate |own"
    r" )*{sub}",
    r"(?:path|chain|way|line) (?:of (?:superclasses|ancestors) )?from {x} (?:up )?to the (?:root|"
    r"top)(?: of the (?:class )?(?:hierarchy|tree))?",
)

IS_SUBCLASS: tuple[Rule, ...] = (
    *rules(
        "is_subclass",
        r"(?:is|are) {x} (?:also |really |actually )?(?:an? |the )?{q}{super} (?:of|for|to) {y}",
        r"(?:is|are) {x} {q}(?:broader|more general|wider|more abstract|more generic|above|higher"
        r" than|"
        r"over)(?: than)? {y}(?: in the (?:class )?(?:hierarchy|tree|taxonomy))?",
        r"(?:does|do) {x} (?:subsume|generali[sz]e|include|cover|encompass|comprise) {y}",
        r"(?:does|do) {x} have {y} as {their}(?:direct |immediate )*{sub}",
        flip=True,
    ),
    *rules(
        "is_subclass",
        r"(?:is|are|was|were) {x} (?:(?:really|also|actually|itself|always|considered|regarded"
        r" as|defined as|"
        r"classified as|seen as|necessarily|to be) )*(?:an? |the )?{q}(?:{sub}|{kinds}|example)"
        r" of {y}",
        r"(?:does|do) {x} {q}(?:inherit from|derive from|descend from|speciali[sz]e|extend|fall"
        r" under|come under|"
        r"subclass|refine|belong to the (?:kind|type|category)|belong under|count as|come"
        r" below|inherit) {y}",
        r"(?:is|are) {x} {q}(?:derived from|descended from|subsumed"
        r" by|below|beneath|under|underneath|narrower than|"
        r"more specific than|subordinate to|lower than|included in|a narrower term than|"
        r"a narrower concept than) {y}(?: in the (?:class )?(?:hierarchy|tree|taxonomy))?",
        r"(?:is|are) (?:every|each|any|all) {x} (?:also |always |necessarily |automatically |by"
        r" definition |"
        r"really )*an? {y}",
        r"(?:is|are) all (?P<x>\S*s) (?P<y>\S*s)",
        r"(?:can|could|may) {x} be (?:(?:considered|regarded as|called|seen as|classified"
        r" as|counted as|"
        r"treated as|viewed as|thought of as|described as|used as)(?: an?)?|an?)"
        r" (?:(?:{kinds}|{sub}) of )?{y}",
        r"(?:is|are) {x} (?:also |always |really |necessarily |actually |itself |considered"
        r" |classified as |"
        r"regarded as |by definition |indeed |technically )*an? {y}",
        r"(?:are) (?:all )?(?P<x>\S*s) (?:also |always |really |necessarily |actually"
        r" )*(?P<y>\S*s)",
        r"(?:does|do) {x} count as (?:an? )?{y}",
        r"{x} is (?:an? )?{q}(?:{sub}|{kinds}) of {y}",
        r"{x} (?:inherits from|derives from|descends from|is derived from|is subsumed"
        r" by|speciali[sz]es|extends) {y}",
    ),
    *rules(
        "is_subclass",
        r"(?:is|are|was|were) {x} (?:(?:really|also|actually) )*(?:an? |the"
        r" )?{q}(?:instances?|members?|individuals?) "
        r"of {y}",
        r"(?:does|do) {x} instantiate {y}",
        where="instance",
    ),
    *rules("is_subclass", r"(?:does|do) {x} have {y} as {their}(?:direct |immediate )*{super}"),
)

HAS_ANY: tuple[Rule, ...] = (
    *rules(
        "subclasses", r"(?:does|do|has|have|can) {x} (?:have |got )?(?:any |some |more )?{q}{sub}"
    ),
    *rules(
        "superclasses", r"(?:does|do|has|have) {x} (?:have |got )?(?:any |some |more )?{q}{super}"
    ),
    *rules(
        "instances",
        r"(?:does|do|has|have) {x} (?:have |got )?(?:any |some"
        r" )?{q}(?:instances?|members?|individuals?|examples?)",
    ),
)
"""Yes or no, answered by listing them."""
