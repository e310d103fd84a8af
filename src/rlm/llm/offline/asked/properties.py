"""The rules for questions about properties by their domain and range, and for terms by a piece of
their name."""

from __future__ import annotations

from rlm.llm.offline.asked.grammar import Rule, rules

BY_RANGE: tuple[Rule, ...] = rules(
    "properties_by_range",
    r"where (?:is|are) {x} (?:used )?(?:as )?(?:the |a )?(?:rdfs:)?(?:range|value|object|target)(?:"
    r" used)?",
    r"{q}{attr}"
    r" {rel}(?:hold|holds|store|stores|record|records|carry|contain|holding|storing|give|gives)"
    r" (?:a |"
    r"the )?(?:values?|data) (?:of|that are|in) (?:type |class )?{x}",
    r"{q}(?:{prop} )?{rel}(?:are |is )?(?:defined |there )?{have} {q}{range}(?: of| is| being|"
    r" equal to| set to| =|"
    r":)? {x}",
    r"{q}(?:{prop} )?(?:whose |where (?:the )?|of which (?:the )?|for which (?:the )?){q}{range}"
    r" (?:is|are|equals?|"
    r"includes?|=|being|of) {x}",
    r"{q}(?:{prop}"
    r" )?{rel}(?:{have}|take|takes|accept|accepts|use|uses|expect|expects|allow|allows|can have|can"
    r" take|"
    r"may have|list|declare) {x} (?:as|for|in) {their}(?:\w+"
    r" )?(?:rdfs:)?(?:ranges?|values?|objects?|targets?|"
    r"fillers?)",
    r"{q}(?:{prop} )?(?:with|of|having) {q}(?:rdfs:)?range {x}",
    r"{q}(?:{prop} )?{rel}(?:(?:can|may|could|directly)"
    r" )?(?:points?|leads?|goes|go|links?|refers?|pointing|leading|"
    r"linking|referring|directed|connects?|aims?|relates?|relating|connecting) (?:\w+ )?(?:back"
    r" )?(?:to|at|towards?|"
    r"into) {x}",
    r"{q}(?:{prop} )?{rel}(?:(?:can|may|could|must|should|will)"
    r" )?(?:accepts?|targets?|references?|returns?|expects?|"
    r"accepting|targeting|referencing|returning|expecting|yields?|yielding|reach|reaches|arrive"
    r" at|range over|"
    r"ranges over|ranging over|end at|ends at|end up at|end in|take|takes) {x}",
    r"{q}(?:{prop} )?(?:with|having|that have|which have|have|has|that take|take|taking|takes)"
    r" (?:the |a |its |"
    r"their )*(?:values?|objects?|targets?|fillers?) (?:that (?:is|are) |which are |of |in |from |"
    r"being )*(?:(?:the )?(?:type|kind|range)(?: of)? )?{x}",
    r"{q}(?:{prop} )?(?:whose |where (?:the )?|for which (?:the"
    r" )?)(?:values?|objects?|targets?|fillers?) (?:is|are|"
    r"must be|should be|can be|may be|belongs? to|has to be|have to be|come from|comes from)"
    r" (?:(?:an? |"
    r"the )?(?:instances?|members?|individuals?|type|class)(?: of)? )?(?:of (?:type|class) )?{x}",
    r"(?:for |of )?(?:what|which)? ?{prop} (?:is|are|can|may) {x} (?:be )?(?:(?:the |a |an"
    r" )?(?:rdfs:)?range|"
    r"(?:the |an? )(?:value|object|target|filler))(?: of| for)?",
    r"{x} (?:is|are) (?:the |a )?(?:range|value|object|target) (?:of|for) (?:what|which)(?:"
    r" {prop})?",
    r"{q}(?:incoming|inbound|ingoing) {prop} (?:of|for|to|at|into) {x}",
    r"{q}(?:incoming|inbound|ingoing) {prop} (?:does|do|can) {x} have",
    r"(?:what |which )?(?:{prop} )?(?:can|could|may) (?:{prop} )?(?:point|lead|link|refer) to {x}",
    r"(?:is|are) {x} (?:the )?range of (?:any|some|which) {prop}",
    r"{q}(?:{prop} )?(?:where|in which|for which) {x} (?:is|appears as|serves as|acts as|"
    r"occurs as) {their}(?:rdfs:)?(?:range|value|object|target)",
    r"(?:by |through |with )?(?:what|which) {prop} (?:is|are|can|may) {x} (?:be"
    r" )?(?:reached|referenced|referred to|"
    r"pointed at|pointed to|targeted|linked to)",
    r"{q}(?:{prop} )?{rel}(?:are |is )?(?:ranged|ranging) (?:on|over|to|at) {x}",
    r"{q}{attr} (?:into|to|towards|onto) {x}",
)

BY_DOMAIN: tuple[Rule, ...] = rules(
    "properties_by_domain",
    r"{q}(?:{prop} )?{rel}(?:are |is )?(?:defined |there )?{have} {q}{domain}(?: of| is| being|"
    r" equal to| set to| =|"
    r":)? {x}",
    r"{q}(?:{prop} )?(?:whose |where (?:the )?|of which (?:the )?|for which (?:the )?){q}{domain}"
    r" (?:is|are|equals?|"
    r"includes?|=|being|of) {x}",
    r"{q}(?:{prop} )?{rel}(?:{have}|take|takes|accept|accepts|use|uses|list|declare) {x} (?:as|for|"
    r"in) {their}(?:\w+ )?(?:rdfs:)?(?:domains?|subjects?|sources?)",
    r"{q}(?:{prop} )?{rel}(?:{be} )?{q}(?:declared |defined )?(?:in|on|over|with|"
    r"for) (?:the )?(?:rdfs:)?domain(?: of)? {x}",
    r"(?:for |of )?(?:what|which)? ?{prop} (?:is|are) {x} {q}(?:rdfs:)?(?:domain|subject)(?: of|"
    r" for)?",
    r"{x} (?:is|are) (?:the |a )?(?:domain|subject) (?:of|for) (?:what|which)(?: {prop})?",
    r"{q}{attr} {aux} {q}{x} (?:have|has|take|takes|carry|bear|possess|own|support|use|get|hold|be"
    r" given|"
    r"be described with|be described by|come with|own|feature|offer)",
    r"{q}{attr} (?:that )?{x} (?:can|may|could|might|should|must|does|will)?"
    r" ?(?:have|has|take|takes|carry|possess|"
    r"possesses|use|uses|support|supports)",
    r"{q}{attr} {rel}(?:(?:can|may|could|should|must|do) )?(?:directly"
    r" )?(?:appl(?:y|ies)|pertain|belong|attach|"
    r"be applied|be attached|relate specifically|applying|belonging|pertaining|go with|be put|be"
    r" added) ?(?:to|for|"
    r"on|with|directly to|) {x}",
    r"{q}{attr} {rel}(?:{be} )?(?:there"
    r" )?(?:{q})(?:applicable|available|defined|attached|declared|used|usable|valid|"
    r"specified|provided|meant|intended|allowed|permitted|given|made|there|suitable|appropriate|recorded|stated|"
    r"asserted) ?(?:to|for|on|with|by|in|of|about)? (?:describing |describe )?{x}",
    r"{q}{attr} (?:(?:can|may|could|should|might) (?:i|we|one|you|be)"
    r" )?(?:use|used|set|put|state|give|attach|assert|"
    r"recorded|record) (?:on|to|for|with|about|of) (?:describe |describing )?{x}",
    r"{q}{attr}"
    r" {rel}(?:describe|describes|describing|characteri[sz]e|characteri[sz]es|characteri[sz]ing|qualify|"
    r"detail|document|start at|start from|starting at|starting from|leave|leaving|go out of|going"
    r" out of|go out from|"
    r"originate at|originate from|come out of|emanate from) {x}",
    r"{q}{attr} (?:of|for|on|from|about) {x}",
    r"{x}(?:['’]s|s['’]) {q}{attr}",
    r"(?:what |which things |which facts |what facts |everything (?:that )?)?(?:all |information"
    r" |facts? |details? |"
    r"data |things? |statements? )?(?:can|could|may|might) (?:be|"
    r"i|one|we|you)"
    r" (?:said|say|stated|state|recorded|record|asserted|express|expressed|described|describe)"
    r" (?:about|"
    r"of|for|on) {x}",
    r"(?:what |everything (?:that )?)?(?:can|could|may|does|do|might) {x} have",
    r"(?:how|with what|by what) (?:can|could|may|do|does|is|are) (?:i |one |we |"
    r"you )?(?:describe )?{x} (?:be )?(?:described|characteri[sz]ed|annotated)(?: further| in"
    r" detail|"
    r" with properties)?",
    r"(?:what |which )?(?:does|do|has|have|can) {x} (?:have |got )?(?:any |some |more |own"
    r" )*{attr}",
    r"{q}{attr} {rel}(?:are |is )?(?:inherited) by {x}",
    r"{q}{attr} (?:does|do) {x} inherit",
    r"(?:how|with (?:what|which) {attr}) (?:can|could|do|may|would|should) (?:i|one|we|you)"
    r" (?:describe|"
    r"characteri[sz]e|annotate) {x}",
)

_PIECE = (
    r"(?:(?:the|a|an) (?=\S+"
    r" ))?(?:(?:word|text|string|substring|letters?|term|piece|pattern|characters?|prefix|"
    r"suffix|fragment|sequence|stem|ending|syllable) )?{x}"
)
_STARTS = (
    r"(?:(?:starts?|begins?|starting|beginning|opens?) (?:with|by|in|on)|(?:is |are )?prefixed"
    r" (?:with|by)|"
    r"commences? with|(?:has|have|having|with) (?:the )?prefix)"
)
_ENDS = (
    r"(?:(?:ends?|ending|finish|finishes|finishing|terminates?|closes?) (?:with|in|on|by)|(?:is |"
    r"are )?suffixed (?:with|by)|(?:has|have|having|with) (?:the )?(?:suffix|ending))"
)
_HOLDS = (
    r"(?:(?:contains?|containing|includes?|including|has|have|having|holds?|mentions?|mentioning|features?|matches|"
    r"match|matching|resembles?|resembling|uses?|using|carry|carries|bears?|with|shows?|is like|are"
    r" like|"
    r"looks? like|sounds? like|reads? like|is similar to|are similar to)(?: somewhere| anywhere)?)"
)
_CALLED = (
    r"(?:whose |where (?:the |their )?|of which (?:the )?|that have (?:an? |their )?|which have an?"
    r" |with an? |"
    r"having an? |have an? |has an? |have |has |with |having |by (?:their )?)"
)
_LOOK = (
    r"(?:search|look|hunt|grep|check|scan|query|browse|looking|searching|see|find|get|lookup|look"
    r" up|list|show|"
    r"give me|show me|find me)(?: around| through| up| everything| here| me)?(?: in)?(?:"
    r" (?:for|all|the|any|every|"
    r"by|it|classes|ontology|over))*"
)
_SOME = (
    r"(?:(?:all|any|every|each|the|of|some|other) )*(?P<n>(?:(?:object|data"
    r" ?type|data|annotation|named|owl|"
    r"ontology)"
    r" )*(?:class(?:es)?|concepts?|types?|propert(?:y|ies)|attributes?|relations?|relationships?|"
    r"predicates?|individuals?|instances?|terms?|entit(?:y|ies)|things?|names?|labels?|ones|anything|everything|"
    r"something|resources?|nodes?|elements?|words?|those|identifiers?|items?|matches|stuff|iris?|what|categories))"
)

NAMED: tuple[Rule, ...] = (
    *rules(
        "search",
        rf"(?:{_LOOK} )?(?:{_SOME} )?(?:are there |there are |exist |{{be}} )?(?:{{rel}}|"
        rf"{_CALLED})(?:{{their}}{{name}} )?(?:that )?{_STARTS} {_PIECE}",
        rf"(?:{_LOOK} )?{{name}} (?:that |which )?{_STARTS} {_PIECE}",
        where="starts",
    ),
    *rules(
        "search",
        rf"(?:{_LOOK} )?(?:{_SOME} )?(?:are there |there are |exist |{{be}} )?(?:{{rel}}|"
        rf"{_CALLED})(?:{{their}}{{name}} )?(?:that )?{_ENDS} {_PIECE}",
        rf"(?:{_LOOK} )?{{name}} (?:that |which )?{_ENDS} {_PIECE}",
        where="ends",
    ),
    *rules(
        "search",
        rf"(?:{_LOOK} )?(?:{_SOME} )?(?:are there |there are |exist |"
        rf"{{be}} )?{_CALLED}{{their}}{{name}} (?:that )?{_HOLDS} {_PIECE}(?: {{in}} (?:it|them))?",
        rf"(?:{_LOOK} )?(?:{_SOME} )?(?:are there |there are |"
        rf"exist )?{{rel}}{_HOLDS} {_PIECE} {{in}} {{their}}{{name}}(?: or (?:their )?{{name}})?",
        rf"(?:{_LOOK} )?{_SOME} (?:are there |there are |exist"
        r" )?{rel}(?:contains?|containing|includes?|including|"
        r"mentions?|mentioning|match|matches|matching|resemble|resembles|resembling|features?)"
        rf" {_PIECE}",
        rf"(?:{_LOOK} )?{_SOME} (?:are there |there are |exist )?(?:with|having|that have|which"
        r" have|have|has|using|"
        rf"that use|use) {{their}}(?:word|string|text|substring|letters|piece|fragment|stem)"
        rf" {{x}}(?: {{in}} (?:them|"
        rf"it))?",
        rf"(?:{_LOOK} )?{_SOME} {{rel}}{{be}} (?:named|called|labelled|labeled|titled) (?:something"
        r" )?(?:like|"
        rf"similar to|after|anything like) {_PIECE}",
        rf"(?:{_LOOK} )?{_SOME} (?:named|called|labelled|labeled) (?:something )?(?:like|similar"
        rf" to|after) {_PIECE}",
        rf"(?:{_LOOK} )?{{name}} (?:that |which"
        r" )?(?:contains?|containing|includes?|including|with|match|matches|"
        rf"matching|like|having|have|mention|mentioning) {_PIECE}(?: in (?:them|it))?",
        rf"(?:in )?(?:which|what) (?:{_SOME} )?{{name}} (?:does|do|is|are|has|have) {{x}}"
        r" (?:occur|appear|found|"
        rf"contained|come up|used)",
        rf"(?:where|in (?:which|what)(?: {_SOME})?) (?:does|do|is) {{x}}"
        r" (?:occur|appear|found|mentioned|come up|"
        rf"show up|used)(?: in (?:a |the |their )?{{name}})?",
        rf"(?:{_SOME} )?(?:does|do|is|are|can) {{x}} (?:occur|appear|come up|show up|be"
        r" found|found|"
        rf"mentioned) in (?:the )?(?:{{name}}|{_SOME})(?: of)?",
        rf"{_SOME} (?:in|of) (?:whose|which) {{name}} {{x}} (?:occurs?|appears?|is found|is)",
    ),
)

SEARCH: tuple[Rule, ...] = (
    *rules(
        "search",
        rf"(?:{_LOOK} )?{_SOME} (?:in (?:there|here|it) )?(?:there )?(?:is |are |there |that |which"
        r" |exist |"
        rf"defined )*(?:about|like|concerning|"
        rf"regarding|related to|relating to|relate to|on|to do with|having to do with|have to do"
        rf" with|has to do with|"
        rf"that has to do with|dealing with|deal with|similar to|resembling|matching|connected"
        rf" with|connected to|"
        r"associated with|for|pertaining to|on the (?:topic|subject|theme) of|around|in connection"
        rf" with) {_PIECE}",
        rf"(?:search|look|hunt|grep|scan|searching|looking|query|browse)(?: around| through|)(?:"
        rf" the)?(?: ontology|"
        rf" graph| names| labels| terms| classes| vocabulary| it| {_SOME})?(?: for| by| with)?"
        r" (?:all |any |every |"
        rf"the )*(?:{_SOME} )?(?:named |called |about |with the name |labelled |like |matching"
        r" |containing |"
        rf"mentioning |related to |with |on )?{_PIECE}",
        rf"(?:is|are) there {_SOME} (?:about|like|similar to|related to|resembling|for|on|to do"
        r" with|matching|"
        rf"concerning|regarding|with the word|containing|mentioning|along the lines of|named like|"
        rf"called something like|that (?:mentions?|contains?|matches|resembles|is called something"
        rf" like|"
        rf"has to do with)) {_PIECE}(?: in (?:its|their|the) {{name}})?",
        r"(?:do|does) (?:we|you|it|the ontology|this ontology|the vocabulary)"
        r" (?:have|contain|know|cover|mention|"
        r"include) (?:anything|something|terms|any terms|any classes|classes|any properties)"
        r" (?:about|like|on|for|"
        r"related to|similar to|concerning|regarding|to do with|matching|containing) {x}",
        rf"{_SOME} {{rel}}(?:have|has|having) (?:anything |something )?to do with {_PIECE}",
        rf"(?:{_LOOK} )?{_SOME} (?:{{rel}}{{be}} )?(?:about|concerning|regarding|around) {_PIECE}",
        r"find {x}",
        r"(?:which|what) (?:terms|names|words) (?:are )?(?:there )?for {x}(?: are there)?",
    ),
)
