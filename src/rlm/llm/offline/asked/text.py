"""A question made ready for the rules: names hidden, courtesies and scopes off; and names cleaned
afterwards.

What stands in quotes, backticks or angle brackets, and every IRI, is hidden behind one mark, so
that no rule can look into a name or cut it. Everything here takes time linear in the text, and
texts beyond `MAX_CHARS` are not read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rlm.llm.offline.asked.kinds import MAX_LEFT, Lazy

MAX_NAME_WORDS = 9
MAX_NAME_CHARS = 200

_SCOPE_NOUN = (
    r"(?:ontology|ontologies|vocabulary|vocabularies|graph|schema|model|data"
    r" ?set|data|file|knowledge (?:graph|base)|"
    r"kg|taxonomy|thesaurus|terminology|t-?box|document|standard|class"
    r" hierarchy|hierarchy|namespace|specification)"
)
_SCOPE_NAME = r"(?:[A-Z][A-Z0-9]+(?:-[A-Z0-9]+)*|(?:prov|skos|foaf|void|owl|rdfs?|dcat|dcterms|sosa|ssn)(?:-o)?)"
_DET = r"(?:the|this|that|my|our|your|an?|these|those|given|loaded|current)"
_SCOPE_PREP = r"(?:in|of|from|within|inside|for|by|under|across|throughout|on|according to|to)"
_SAID = Lazy(
    r"(?: (?:that|which))?(?: (?:is|are))?"
    r" (?:used|defined|declared|listed|bound|mentioned|found|described|present|"
    r"available|known|contained|"
    r"included|recorded|registered|modelled)$",
    re.I,
)
_SCOPE = (
    rf"{_SCOPE_PREP} (?:the |this |that )?(?:"
    rf"(?<=the )(?:[\w:.-]+ ){{0,3}}{_SCOPE_NOUN}|(?<=this )(?:[\w:.-]+ ){{0,3}}{_SCOPE_NOUN}|"
    rf"(?<=that )(?:[\w:.-]+ ){{0,3}}{_SCOPE_NOUN}|"
    rf"(?:my|our|your|its|a|an|these|those) (?:[\w:.-]+ ){{0,3}}{_SCOPE_NOUN}|"
    rf"(?-i:{_SCOPE_NAME})(?: {_SCOPE_NOUN})?|it|here|there)"
)
_TAIL = Lazy(
    rf"(?:,? {_SCOPE}|,? (?:here|please|exactly|thanks|thank you|for me|in general|again|at all|"
    r"(?:using|with|through) (?:the |its |only )*(?:properties|terms|predicates)))$",
    re.I,
)
_HEAD = Lazy(
    rf"^{_SCOPE},? (?=\S)",
    re.I,
    first="in of from within inside for by under across throughout on according to",
)
_CLOSING = Lazy(
    r"[?.!;,]+ ?(?:(?:please |and |also |just |only"
    r" )*(?:give|list|answer|name|return|report|use|include|show|write|"
    r"say|thanks|"
    r"thank you|cheers|many thanks|yes or no|respond|reply|state|provide|present|quote|no"
    r" explanation|iris? only|"
    r"curies? only|"
    r"nothing else)\b[^?]{0,120})[.!]*$",
    re.I,
    only="?_|._|!_|;_|,_",
)
_GREETING = Lazy(
    r"^(?:hi|hello|hey|good (?:morning|day|evening|afternoon)|dear"
    r" \w+|ok|okay|so|well|and|now|then|also)"
    r"(?: there| all)?[,!.:]? (?=\S)",
    re.I,
    first="hi hello hey good dear ok okay so well and now then also",
)
_COURTESY = Lazy(
    r"^(?:(?:please|kindly|now|just|quickly|simply|actually|and|so|maybe|perhaps|briefly)[,:]? "
    r"|would you say (?:that )?|(?:can|could|would|will|may|might|do)"
    r" (?:you|someone|anyone|somebody|"
    r"anybody)(?: please| kindly| perhaps| just|"
    r" possibly)?"
    r" (?=(?:list|show|give|find|name|tell|explain|describe|define|count|search|get|enumerate|look|identify|"
    r"return|print|display|provide|fetch|see|say|help|check|verify|confirm|determine|retrieve|please|remind|walk)\b)"
    r"|(?:can|could|may) (?:i|we|one)(?: please| perhaps| just)? (?=(?:see|get|have|know|ask)\b)"
    r"|(?:do|does|did) (?:you|anyone|anybody|someone)(?: happen to)? know"
    r" (?=(?:which|what|how|whether|if|who|where)\b)"
    r"|i(?:['’]d| would| do|['’]m| am)?"
    r" ?(?:like|want|need|wish|love|trying|wonder(?:ing)?|interested|looking|"
    r"curious|have)"
    r"(?: to (?:know|see|find out|learn|understand|hear|get|have|ask|find|identify|list)| in(?:"
    r" knowing| seeing)?| for|"
    r" about)?(?: more)?(?: if| whether)?,? "
    r"|we(?:['’]d| would)? ?(?:like|want|need) (?:to (?:know|see|find"
    r" out|learn|understand|get|have) )?"
    r"|(?:tell|show|give|let|remind|teach|explain(?: to)?) (?:me|us) (?:please )?(?:know )?(?:if"
    r" |whether )?"
    r"(?=(?:which|what|how|whether|if|who|where|is|are|does|do|the number)\b)"
    r"|(?:know|say|see|tell|find out|look up|check|figure out|work"
    r" out|determine|verify|show|explain|describe|"
    r"help me (?:find|understand|see|list)|help me) (?=(?:which|what (?!.*"
    r" (?:is|means)$)|how|whether|if|who|where|"
    r"the number)\b)"
    r"|is it (?:true|the case|correct|right) that "
    r"|(?:looking|searching) for (?=(?:the |an?"
    r" )?(?:definition|meaning|description|explanation|domain|range|inverse|"
    r"label|comment|iri) of )"
    r"|(?:question|query|task|q)\s?[:-] ?"
    r"|(?:any idea|do you happen to know|i wonder|wondering|be so kind as to|quick question[:,]?|"
    r"one more[:,]?) ?(?=\S))",
    re.I,
    first=(
        "please kindly now just quickly simply actually and so maybe perhaps briefly would can"
        " could will may might do does did i i'd i'm i’d i’m we we'd we’d tell show give let remind"
        " teach explain know say see find look check figure work determine verify describe help is"
        " question query task q any wondering be quick one looking searching"
    ),
)
_GERUND = Lazy(
    r"^(?:(?:do|would) you )?mind"
    r" (explain|list|show|tell|count|find|giv|nam|describ|defin|enumerat)ing\b",
    re.I,
    only="mind",
)
_ASIDE = Lazy(
    r" (?:(?:do|does) (?:it|we|you|they|(?:the|this|that) (?:\S+"
    r" )?(?:ontology|vocabulary|graph|schema|model|dataset|"
    r"taxonomy|"
    r"thesaurus)) (?:offer|have|provide|define|list|know|contain|include|declare|give|mention)(?!"
    r" (?:about|on|of)\b)|"
    r"(?:are|is) there|there (?:are|is))"
    r"(?= (?:of|for|with|in|below|above|under|that|whose|which|from|between|about|like|starting|ending|containing|"
    r"having|"
    r"beginning|pointing|without|called|named|on|to)\b)",
    re.I,
    only="_there|_do_|_does_",
)
"""What may stand in the middle of a question and says nothing: "are there", "does the ontology
define"."""
STEERING = Lazy(
    r"\b(?:(?:ignore|disregard|forget|override|bypass) (?:\w+"
    r" ){0,3}(?:instructions?|rules?|prompts?|everything|"
    r"above|messages?|said)|"
    r"system prompt|your (?:\w+ )?(?:instructions|rules|prompt|guidelines)|jailbreak|you are"
    r" now|pretend|"
    r"developer mode|act as|from now on)\b",
    re.I,
    only="ignore|disregard|forget|override|bypass|prompt|your|jailbreak|you_are|pretend|developer|act_as|from_now",
)
"""Words to a model, not a question."""
ABOUT_THE_WHOLE = Lazy(
    r"^should\b|\b(?:purpose|goal|aim|scope|authors?|creators?|version|licen[cs]e|title|topic|size|structure|quality|"
    r"status|history|coverage|language|name|iri|uri|base iri) of (?:this|the|your|our|my) (?:\w+"
    r" )?(?:ontology|"
    r"vocabulary|graph|schema|model|dataset|file|taxonomy)\W*$|\b(?:english|german|french|spanish|italian|dutch|polish|chinese|"
    r"japanese|portuguese|russian) (?:labels?|names?|titles?|comments?)\b|"
    r"^(?:what(?:['’]?s| is| are)|who(?:['’]?s| is| are)|"
    r"show(?: me)?|tell me|give me) the"
    r" (?:licen[cs]es?|version|authors?|creators?|publishers?|maintainers?)\W*$",
    re.I,
    only="should|_of_|label|name|title|comment|the_",
)
"""Questions about the ontology as a whole, about languages, and for an opinion: none of the kinds.
"""
_WHOLE = r"(?:this|the) (?:ontology|vocabulary|graph|schema|dataset|model|file)"
OVERVIEW = Lazy(
    rf"(?:(?:hi|hello|please|so|ok)[,!]? )*(?:what(?:['’]?s| is) (?:{_WHOLE}|this|it)(?: all)?"
    r" about|"
    rf"what(?:['’]?s| is) in {_WHOLE}|what does {_WHOLE} (?:cover|describe|model|contain)|"
    r"(?:describe|summari[sz]e|introduce|explain|tell me about|give me an overview of|show me an"
    r" overview of|"
    rf"(?:an |short |quick )*overview of) {_WHOLE})(?:,? please)?[ ?.!]*$",
    re.I,
    only="this|the_|it_",
)
"""What the ontology is about: its title, its description and its sizes."""
_INHERITED = Lazy(
    r",? ?\(?\b(?:(?:and )?(?:also )?(?:including|include|counting|with|plus|as well"
    r" as|and|or|even|along with|"
    r"together with|whether|both)"
    r"(?: (?:all|the|those|any|also|ones|properties|instances|members|that|are|directly|itself|of|direct|and|own|it))* "
    r"(?:inherited(?: (?:ones|properties|from (?:its |the |their"
    r" )?(?:superclasses|parents|ancestors)))?|"
    r"(?:(?:of|from|in|on|for|by|through|via) )?(?:its |the |their |any |all"
    r" )+(?:(?:sub|super)-?classes|descendants|"
    r"subtypes|ancestors|parents|children|parent classes)|"
    r"indirect(?:ly)?(?: (?:ones|instances|members))?|(?:through |by )?inheritance)"
    r"(?: too| as well)?|(?:by|through|via) inheritance|inherited (?:ones|properties|instances)"
    r" (?:included|too|"
    r"as well))\)?(?=$|[ ,.?!])(?! (?:of|for)\b)",
    re.I,
    only="inherit|classes|descendants|subtypes|ancestors|parents|children|indirect",
)
_DEEP = Lazy(
    r",? ?\(?\b(?:(?:at|on|of|to|over|across) (?:any|every|all|whatever|arbitrary)(?: \w+)?"
    r" (?:depths?|levels?|"
    r"distances?|degrees?|generations?)|"
    r"direct(?:ly)? (?:and|or|as well as) (?:indirect(?:ly)?|inherited)(?: ones)?(?=$|["
    r" ,)])|indirect(?:ly)? (?:and|"
    r"or|as well as) direct(?:ly)?|ultimately|recursively|transitively|indirectly|"
    r"all the way (?:down|up)(?: to the (?:very )?(?:leaves|bottom|top|roots?))?|however"
    r" (?:deep|far|distant|"
    r"remote)(?: down|"
    r" up)?|"
    r"no matter how (?:deep|far|distant|remote)(?: down| up)?|(?:down|up) to the (?:very"
    r" )?(?:leaves|top|bottom|"
    r"roots?)|"
    r"not (?:just|only) (?:the )?(?:direct|immediate)(?:ly)?(?: ones)?)\)?,?(?=$|[ ,.?!])",
    re.I,
    only="depth|level|distance|degree|generation|direct|ultimately|recursively|transitively|all_the_way|however|no_matter|_to_the_|immediate",
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A question without what is around it."""

    texts: tuple[str, ...]
    """Ways to read it, the likelier first: without its scope ("in the harbour ontology"), and with
    it."""
    names: tuple[str, ...]
    """What is hidden behind the marks."""
    inherited: bool
    deep: bool
    """It says that all levels are meant."""


def prepare(text: str, names: tuple[str, ...]) -> Prepared | None:
    """A question whose names are hidden, without courtesies and scopes; None when it is too long or
    empty."""
    if len(text) > MAX_LEFT or STEERING.search(text):
        return None
    text = _peel(text, (_GREETING,))
    text = _peel(
        _CLOSING.sub("", _ASIDE.sub("", text)).rstrip("?!., ;:…").strip(" -–•*\"'"),
        (_GREETING, _COURTESY),
    )
    text = _GERUND.sub(lambda match: _base(match[1]), text)
    if not text:
        return None
    shallow = _DEEP.sub(" ", text)
    deep = shallow != text
    cut = _INHERITED.sub(" ", shallow)
    inherited = cut != shallow
    cut = " ".join(cut.split()).strip(" ,")
    whole = _peel(cut, (_HEAD, _GREETING, _COURTESY))
    bare = _peel(whole, (_TAIL,))
    texts = dict.fromkeys((bare, _SAID.sub("", bare) if bare != whole else bare, whole))
    return Prepared(tuple(text for text in texts if text), names, inherited, deep)


def _base(stem: str) -> str:
    """A verb without its -ing."""
    return (
        stem if stem.lower() in ("explain", "list", "show", "tell", "count", "find") else stem + "e"
    )


def _peel(text: str, layers: tuple[Lazy, ...]) -> str:
    """Take what the patterns match off, again and again, as long as something is left."""
    for _ in range(8):
        before = text
        for layer in layers:
            text = layer.sub("", text, count=1).strip(" ,") or text
        if text == before:
            break
    return text
