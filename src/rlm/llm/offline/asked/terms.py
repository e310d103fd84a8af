"""The rules for questions about instances, whether a term exists, and what one is."""

from __future__ import annotations

from rlm.llm.offline.asked.grammar import Rule, rules

_INSTANCE = (
    r"(?:named |known |sample |concrete |specific |actual |direct"
    r" )*(?:instances?|individuals?|members?|examples?|"
    r"exemplars?|objects?|occurrences|entities|things|resources|items|instantiations?|ones|elements?|samples?)"
)

INSTANCES: tuple[Rule, ...] = (
    *rules(
        "instances",
        rf"{{q}}{_INSTANCE} (?:there )?(?:of type|of kind|of|for|in|from|under|belonging to) {{x}}",
        rf"{{q}}{_INSTANCE} {{rel}}(?:{{be}} )?(?:there )?{{q}}(?:of type|of kind|typed"
        r" as|typed|instances? of|"
        rf"members? of|in the class|classified as|declared as|belong to|belongs to|belonging"
        rf" to|examples? of|"
        rf"categori[sz]ed as|of) {{x}}",
        rf"{{q}}{_INSTANCE} {{rel}}(?:have|has|having|with|of) (?:the |a )?(?:rdf:)?type {{x}}",
        rf"{{q}}{_INSTANCE} {{rel}}(?:are|is) (?:an? )?{{x}}",
        rf"{{q}}{_INSTANCE} (?:does|do|has|have|can) {{x}} have",
        r"{q}(?:instances|individuals|members) has {x}",
        rf"{{q}}{_INSTANCE} (?:are|is) (?:there )?(?:of|for|in|known for|known of|listed"
        r" for|recorded for|given for|"
        rf"under) {{x}}",
        rf"{{x}}(?:['’]s|s['’]) {{q}}{_INSTANCE}",
        rf"(?:does|do|has|have) {{x}} (?:have |got )?(?:any |some )?{{q}}{_INSTANCE}",
        r"{q}(?:what |which |who |everything |all |anything )?(?:{rel})?(?:is|are|has|have|with|"
        r"having) {q}(?:(?:an? )?(?:instances?|members?|examples?|individuals?) of|of"
        r" (?:type|class)|typed (?:as|"
        r"with)|(?:rdf:)?type|a type of|classified as) {x}",
        r"{q}(?:what |which |who |everything |all )?(?:{rel})?(?:belongs? to|instantiates?) {x}",
        r"(?:which|what) (?:class )?members (?:does|do|has) {x} have",
        rf"{{q}}{_INSTANCE} {{rel}}(?:instantiate|populate|belong to|fall under|are in|fall in|come"
        r" under) {x}",
        r"give (?:me |us )?(?:an?|some|one|a few|any) (?:examples?|instances?) (?:of|for) {x}",
        rf"(?:is|are) there (?:an?y?|some) {_INSTANCE} (?:of|for) {{x}}",
    ),
)

_IT = (
    r"(?:it|they|we|you|(?:the|this|that|our|your|my) (?:\S+ )?(?:\S+"
    r" )?(?:ontology|vocabulary|graph|schema|model|"
    r"dataset|data|file|taxonomy|thesaurus|knowledge graph|knowledge"
    r" base|standard|terminology)|(?-i:[A-Z][A-Z-]+))"
)
_TERM = (
    r"(?:class|concept|property|relation|relationship|attribute|predicate|individual|instance|term|entity|thing|"
    r"type|resource|object property|datatype property|data property|annotation property|named"
    r" individual|category|"
    r"word|something|anything|label|name|node|element|entry)"
)

EXISTS: tuple[Rule, ...] = (
    *rules(
        "exists",
        rf"(?:is|are|does|was) there (?:exist )?(?:also |really |actually |even |already"
        rf" )?(?:an?y?|some|such|the|"
        rf"one) (?P<n>{_TERM}) (?:that is |which is |that's |by the"
        r" )?(?:called|named|labelled|labeled|for|"
        rf"with the (?:name|label)|known as|of the name|under the name|name of|by the name"
        rf" of|name|with label|"
        rf"with name|titled|as|like that called) {{x}}",
        r"(?:is|are) there (?:also |really |actually |even |already )?(?:an?y?|some|the|such)"
        rf" (?P<n>{_TERM}) {{x}}",
        r"(?:is|are|was) there (?:also |really |actually |even |already )?(?:such )?(?:an?y?(?:"
        r" such)?(?: thing as)?|"
        r"some|such a thing as|a thing called|something called|anything called|something"
        r" like|the) {x}",
        r"(?:does|do|did) {x} (?:really |actually |even |already )?(?:exist|occur|appear|"
        r"feature)(?: as an? (?P<n>\S+))?",
        rf"(?:does|do|has|have|did) {_IT} (?:also |really |actually |even |already |got"
        r" )*(?:have|has|define|defines|"
        rf"contain|contains|include|know|know"
        rf" of|provide|offer|mention|list|declare|got|cover|feature|support|"
        rf"describe) (?:(?:an?y?|some|the) )?(?P<n>{_TERM}) (?:that is |which is |by the"
        r" )?(?:called|named|labelled|"
        rf"labeled|for|with the (?:name|label)|known as|name|name of|with label) {{x}}",
        rf"(?:does|do|has|have|did) {_IT} (?:also |really |actually |even |already |got"
        r" )*(?:have|has|define|defines|"
        rf"contain|contains|include|know|know of|know"
        rf" about|provide|offer|mention|list|declare|got|cover|feature|"
        rf"support|describe) {{x}}",
        rf"(?:is|are|was) {{x}} (?:also |really |actually |even |already |declared |defined |listed"
        rf" |known |as |"
        rf"marked )*(?:an? |the )(?:valid |known |declared |"
        rf"defined |existing |real |named |proper |legal |owl )*(?P<n>{_TERM})(?: name| or not)?",
        r"(?:is|are|was) {x} (?:also |really |actually |even |already |explicitly |anywhere"
        r" )*(?:defined|declared|"
        r"known|present|there|included|available|covered|mentioned|listed|modelled|modeled|contained|described|"
        r"part of it|here|in it|existing|documented|in there)(?: as an? (?P<n>\S+))?",
        rf"(?:is|are) {{x}} (?:part|in|a part|an element|defined in|a member)(?: of| in)? {_IT}",
        r"(?:is it possible to|(?:can|could) (?:i|we|you|one)) find (?:an? )?(?P<n>"
        + _TERM
        + r") (?:called|named|labelled|for) {x}",
        r"(?:can|could) (?:i|we|one) find {x}(?: anywhere)?",
        r"(?:check|verify|see|find out|tell me|test) (?:if|whether|that) (?:there is )?(?:an? |the"
        r" )?(?P<n>"
        + _TERM
        + r")? ?(?:called |named |labelled )?{x} (?:exists?|is defined|is there|is declared|is"
        r" present)",
        rf"(?:if|whether) (?:there is |there's )(?:an? |any |the )?(?:(?P<n>{_TERM}) )?(?:called"
        r" |named |"
        rf"labelled )?{{x}}",
        r"(?:if|whether) {x} (?:exists?|is defined|is there|is declared|is present|is known)",
    ),
)

_FACT = (
    r"(?:definition|meaning|description|explanation|sense|purpose|comment|label|domain|range|inverse|details?|"
    r"information|info|documentation|iri|uri|gloss|semantics|role|summary|overview|facts?|interpretation|data|type|"
    r"domain and range|domain and the range|full iri|equivalent|synonyms?|alternative"
    r" labels?|annotations?|"
    r"explanations?|scope note|notes?)"
)
_TELL = (
    r"(?:give|show|provide|tell|get|find|fetch|display|print|return|look"
    r" up|read|offer|state|quote|need|send|"
    r"lookup|supply)(?: me| us| out)?"
)

ABOUT: tuple[Rule, ...] = (
    *rules(
        "describe",
        r"(?:tell|inform|teach|brief|enlighten|educate)(?: me| us)?(?: more| something| a bit| a"
        r" little| all|"
        r" everything| a bit more| what you know| in detail| briefly| a few words| some more)?"
        r" (?:about|on|of|"
        r"regarding) {x}",
        r"(?:what )?(?:is|has been|was) (?:known|said|stated|recorded|written|given)"
        r" (?:about|on|of) {x}",
        r"what {x} (?:means?|stands? for|refers to|denotes|represents)",
        r"give (?:me|us) (?:an? )?(?:explanation|account|idea|introduction|summary)"
        r" (?:of|on|to|about) {x}",
    ),
    *rules(
        "describe",
        rf"(?:{_TELL} |what(?:['’]s| is| are) )?(?:the |a )(?:rdfs:)?(?:domain|range|inverse|"
        rf"domain and (?:the )?range|inverse property) (?:of|for) {{x}}",
        what="property",
    ),
    *rules(
        "describe",
        r"(?:what |which )?(?:domain|range|inverse|domain and range|domain or range) (?:does|do)"
        r" {x} have",
        r"{q}(?:{attr} )?{rel}(?:(?:are|is) )?{q}super[- ]?propert(?:y|ies) (?:of|for) {x}",
        r"{q}super[- ]?propert(?:y|ies) (?:does|do|has) {x} have",
        what="property",
    ),
    *rules(
        "describe",
        r"{q}(?:{attr} )?{rel}(?:(?:are|is) )?{q}sub[- ]?propert(?:y|ies)"
        r" (?:of|for|under|below) {x}",
        r"{q}sub[- ]?propert(?:y|ies) (?:does|do|has) {x} have",
        r"{x}(?:['’]s|s['’]) {q}sub[- ]?propert(?:y|ies)",
        where="subproperties",
        what="property",
    ),
)

DESCRIBE: tuple[Rule, ...] = (
    *rules(
        "describe",
        rf"(?:{_TELL} |what(?:['’]s| is| are) (?=the ))?(?:an? |the |some |more |any |all |full"
        r" |exact |precise |"
        rf"short |brief |formal |your |further |detailed |official |quick |complete |intended |"
        rf"background )*{_FACT} (?:of|about|on|for|behind|regarding|concerning|there is on|there is"
        r" about|"
        rf"is there on|is there about|do we have on|we have on|available on|available about|given"
        rf" for|given to) {{x}}",
        r"(?:explain|define|describe|characteri[sz]e|elucidate|clarify|introduce|summari[sz]e|detail|expound|outline|"
        r"lookup|look up|elaborate on|expand on|inspect|examine|present|shed light on|look at|read"
        r" about|learn about|"
        r"know about|hear about|understand|information on|information about|info on|info"
        r" about|details on|"
        r"details about|details of|details for|more on|more about|facts about|about|all"
        r" about|everything about|"
        r"everything on|open|go to|check out)(?: to (?:me|us)| for (?:me|us)| me| us)? (?:what"
        r" )?{x}(?: (?:is|means|"
        r"is about|stands for|refers to|is used for|does|represents|to me|for me|in"
        r" detail|briefly|in a sentence|"
        r"in one sentence|in short|in a few words|in plain english|in your own words|in more"
        r" detail))?",
        r"what(?: exactly| precisely|ever)? (?:does|do|did|would|might|can) {x} (?:exactly"
        r" |actually |really |"
        r"precisely )?(?:mean|stand for|denote|represent|refer"
        r" to|signify|describe|express|do|model|capture|"
        r"designate|say|indicate|cover|entail|imply|state|comprise)(?: by)?",
        r"(?:what )?(?:is|are) (?:actually |exactly |really"
        r" )?(?:meant|understood|denoted|designated|intended) (?:by|"
        r"with|under) {x}",
        r"(?:what |which )?(?:do|does|can|could) (?:we|you|one|it|the ontology|this ontology|the"
        r" vocabulary|"
        r"the graph|they|(?-i:[A-Z][A-Z-]+)) (?:know|say|tell"
        r" (?:me|us)|have|understand|mean|state|record|"
        r"hold) (?:about|on|of|by|under|regarding) {x}",
        r"how (?:is|are|was|does|do|would|can|could|should|might)(?: the ontology| you| one|"
        r" it| we|"
        r" (?-i:[A-Z][A-Z-]+))?"
        r" (?:define|describe|explain|understand|characteri[sz]e|model|document) {x}",
        r"how (?:is|are|was|were|would|can|could) {x} (?:be"
        r" )?(?:defined|described|explained|understood|"
        r"characteri[sz]ed|modelled|modeled|interpreted|documented|declared|specified|represented|meant|used)",
        r"(?:what|who)(?:['’]s| is| are| was| were)(?: exactly| precisely| actually| really)? {x}"
        r" (?:used for|for|"
        r"good for|about|all about|supposed to (?:mean|be)|meant to be|intended for|exactly|defined"
        r" as|described as|"
        r"like|called|in a nutshell|in one sentence)",
        r"(?:what|who)(?:['’]s| is| are| was| were| exactly is| exactly are| precisely is| on"
        r" earth is|"
        r" kind of thing is| sort of thing is| type of thing is| kind of term is|s)(?: exactly|"
        r" precisely| actually|"
        r" really| meant by)? {x}",
        r"(?:what|who) {x} (?:is|are|means?|stands for|refers to|denotes|represents)",
        r"the (?:class|property|term|concept|individual) {x}",
        r"what (?:do|does|would) (?:people|one|they|you|we|experts) (?:usually"
        r" )?(?:mean|understand) (?:by|under|"
        r"with) {x}",
        r"what about {x}",
        r"i (?:do not|don['’]t|cannot|can['’]t) (?:quite |really )?(?:understand|know) (?:what"
        r" )?{x}(?: is|"
        r" means)?(?:[.,;?] what (?:is|are|does) (?:it|that|they|this)(?: mean)?)?",
        r"{x}[:,]? (?:definition|meaning|description)",
        r"(?:is|are) {x} (?:what|defined how)",
        r"{x} (?:means|is) (?:what|what exactly)",
        r"in what sense is {x} used",
        r"when (?:do|should|would|can) (?:i|we|one|you) use {x}",
    ),
)
