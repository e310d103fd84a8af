"""Pieces of words without which no rule of a group can fit, so that most groups are left aside at
once."""

from __future__ import annotations

from rlm.llm.offline.asked.grammar import Rule
from rlm.llm.offline.asked.properties import BY_DOMAIN, BY_RANGE, NAMED, SEARCH
from rlm.llm.offline.asked.rules import (
    HAS_ANY,
    IS_SUBCLASS,
    NAMESPACES,
    PATH,
    ROOTS,
    SUBCLASSES,
    SUPERCLASSES,
)
from rlm.llm.offline.asked.terms import ABOUT, EXISTS, INSTANCES

_PIECES: tuple[tuple[tuple[Rule, ...], str], ...] = (
    (
        ABOUT,
        (
            "about|known|said|stated|recorded|written|given|mean|stand|refer|denote|represent|domain|range|inverse|explanation|account|idea|introduction|summary|tell|inform|teach|brief|subprop|sub-prop|sub"
            " prop|superprop|super-prop|super prop"
        ),
    ),
    (NAMESPACES, "namespace|name space|prefix|vocabular|binding|mapping|declaration|ontologies"),
    (
        ROOTS,
        (
            "root|top|upper|highest|general|abstract|broadest|parentless|nothing|no |not"
            " |n't|n’t|without|lack|none|start|begin|head|base|first|entry|generic|aren|isn|never"
        ),
    ),
    (
        NAMED,
        (
            "contain|includ|start|begin|open|prefix|commenc|suffix|end|finish|terminat|close|mention|match|resembl|featur|name|label|call|titl|occur|appear|come|found|show"
            " up|word|string|text|letter|piece|fragment|stem|iri|uri|identifier|id|with|has |have"
            " |having|hold|us|carr|bear"
        ),
    ),
    (
        SUPERCLASSES,
        (
            "super|parent|ancest|base|broader|general|wider|abstract|generic|enclosing|hypernym|forebear|lineage|kind|type|"
            "sort|variet|form|flavo|species|categor|class|inherit|deriv|descend|speciali|extend|refin|belong|fall|come|sit|"
            "stem|back to|lie|subsum|includ|encompass|contain|cover|above|over|higher|further"
            " up|up|under|below|beneath|"
            "where|how|sub|child|path|chain|way|line|example|narrow|specific|hyponym|offspring|subordinate"
        ),
    ),
    (
        SUBCLASSES,
        (
            "sub|child|descend|deriv|lower|narrow|specific|speciali|particular|hyponym|offspring|refine|kind|type|sort|"
            "variet|form|flavo|species|categor|class|extend|inherit|below|beneath|under|down|tree|hierarchy|branch|"
            "taxonomy|divid|split|broken|refin|super|parent|ancest|base|broader|general|wider|abstract|generic|enclosing|"
            "hypernym|lineage|forebear|cover|compris|encompass|includ|break"
        ),
    ),
    (
        PATH,
        (
            "relat|connect|link|tie|join|associat|bound|attach|path|route|chain|way|walk|trail|bridge|from|between|among|to"
            " do with|far|steps|hops|via|through|refer|lead|reach|go|fit|belong|hang|propert"
        ),
    ),
    (
        BY_RANGE,
        (
            "range|value|object|target|filler|propert|attribute|relation|predicate|field|slot|feature|characteristic|edge|"
            "link|point|lead|go|refer|connect|aim|direct|accept|expect|return|yield|reach|arrive|end|take|incoming|"
            "inbound|ingoing|ranged|ranging"
        ),
    ),
    (
        BY_DOMAIN,
        (
            "domain|subject|source|propert|attribute|relation|predicate|field|slot|feature|characteristic|edge|said|say|"
            "state|record|assert|express|describ|have|characteri|annotat"
        ),
    ),
    (
        INSTANCES,
        (
            "instance|individual|member|example|exemplar|object|occurrence|entit|thing|resource|item|instantiat|ones|"
            "element|sample|type|belong|class|typed"
        ),
    ),
    (
        SEARCH,
        (
            "about|like|concerning|regarding|relat|on|to do"
            " with|deal|similar|resembl|match|connect|associat|for|pertain|"
            "around|search|look|hunt|grep|scan|query|browse|contain|mention|word|find|for"
        ),
    ),
    (
        IS_SUBCLASS,
        (
            "is |are |was |were |does |do |can |could |may |should |must |would |"
            "inherits|derives|descends|speciali|extends"
        ),
    ),
    (
        HAS_ANY,
        (
            "sub|child|descend|narrow|specific|speciali|super|parent|ancest|instance|member|individual|example|"
            "broader|general|lineage|hyponym|hypernym|lower|deriv|subordinate|offspring|refine|particular|base|wider|"
            "abstract|generic|enclosing|forebear"
        ),
    ),
    (
        EXISTS,
        (
            "is |are |was |does |do |has |have |did |can |could |if |whether |check|verify|see|find"
            " out|tell|test"
        ),
    ),
)
GATES: dict[int, tuple[str, ...]] = {
    id(group): tuple(pieces.split("|")) for group, pieces in _PIECES
}
