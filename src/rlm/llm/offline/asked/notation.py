"""Questions in signs: one triple as SPARQL writes it, arrows, "domain = Vessel", "count(…)", "…,
true or false".

A triple with one variable asks for what can stand there: `?x rdfs:subClassOf+ prov:Entity`. Around
it only words may stand that add nothing, or the level: a query with more in it is not understood.
The other signs become words.
"""

from __future__ import annotations

import re
from functools import cache

from rlm.llm.offline.asked.kinds import CLOSE, OPEN, Asked, Lazy
from rlm.llm.offline.asked.words import vocabulary

# -- Slips of the pen in the words that carry a question, put right: a letter missing, two letters
# swapped, one doubled.
#
# Only words in small letters, or the first one, and only a few long words: a name is never
# touched.


_SHORT = {
    **dict.fromkeys(
        ["wich", "whcih", "whih", "whch", "wihch", "whitch", "wchich", "hwich", "whic"], "which"
    ),
    **dict.fromkeys(["waht", "wht", "hwat", "whta"], "what"),
    **dict.fromkeys(["teh", "hte"], "the"),
    **dict.fromkeys(["thier", "theyr"], "their"),
    **dict.fromkeys(["lsit", "lisst"], "list"),
    **dict.fromkeys(["shwo", "hsow"], "show"),
    **dict.fromkeys(["amny", "mnay"], "many"),
    "hwo": "how",
    **dict.fromkeys(["deos", "doess"], "does"),
    **dict.fromkeys(["haev", "hvae"], "have"),
    **dict.fromkeys(["wiht", "wtih"], "with"),
    "fidn": "find",
    **dict.fromkeys(["pls", "plz"], "please"),
    "whats": "what's",
    "subclas": "subclass",
    "superclas": "superclass",
    "doamin": "domain",
    "rnage": "range",
    "ragne": "range",
}
_KEYWORDS = frozenset(
    ("PREFIX", "PREFIXES", "SELECT", "ASK", "COUNT", "DISTINCT", "WHERE", "DESCRIBE")
)
"""Words of SPARQL that are written in capitals, and are no names."""
_LONG = """
classes subclass subclasses superclass superclasses property properties instance instances individual individuals
namespace namespaces prefixes domain ancestors descendants children parents connected related hierarchy describe number
between relationship ontology directly transitively containing contains definition
"""


@cache
def _slips() -> dict[str, str]:
    """Each slip of a long word, and the word. The first letter stands."""
    words = _LONG.split()
    slips: dict[str, str] = {}
    for word in words:
        for i in range(1, len(word)):
            for slip in (word[:i] + word[i + 1 :], word[:i] + word[i] + word[i:]):
                slips[slip] = word
            if i + 1 < len(word):
                slips[word[:i] + word[i + 1] + word[i] + word[i + 2 :]] = word
    known, _ = vocabulary()
    return {slip: word for slip, word in slips.items() if slip not in known and slip not in words}


def respelled(text: str) -> str:
    """The text with slips in its key words put right."""
    pieces = text.split(" ")
    for i, piece in enumerate(pieces):
        word = piece.rstrip("?.,:!")
        low = word.lower() if i == 0 else word
        if word in _KEYWORDS:
            pieces[i] = piece.lower()
        if not low.isalpha() or not low.islower():
            continue
        right = _SHORT.get(low) or (_slips().get(low) if len(low) > 5 else None)
        if right:
            pieces[i] = (right.capitalize() if word[0].isupper() else right) + piece[len(word) :]
    return " ".join(pieces)


_NAME = rf"(?:{OPEN}\d+{CLOSE}|[\w-]*:[\w-]+(?:\.[\w-]+)*|[A-Za-z][\w-]*)"
_TRIPLE = Lazy(
    rf"(?<![\w:])(?P<s>[?$]\w+|{_NAME})\s+(?P<p>(?:rdfs:)?(?:subclassof|domain|range)|a|rdf:type)(?P<deep>[+*]?)"
    rf"\s+(?P<o>[?$]\w+|{_NAME})(?![\w:])",
    re.I,
    only="?|$",
)
_ASKED = Lazy(
    rf"^ask\b[^{{]*\{{\s*(?P<s>{_NAME}) (?:rdfs:)?subclassof(?P<deep>[+*]?)"
    rf" (?P<o>{_NAME})[\s.]*\}}$",
    re.I,
)
_WORDS_AROUND = """
    select distinct where all every give me list show find get return what which is are the with for such that please
    ask count how many number of things classes properties individuals instances as n x c s p o ?n in this ontology
    direct directly only just immediate no not stuff transitive transitively and indirect query run from pattern
    matching match matches everything anything values triples
"""
_AROUND = frozenset(_WORDS_AROUND.split())
_KINDS = {
    ("subclassof", True): "subclasses",
    ("subclassof", False): "superclasses",
    ("domain", True): "properties_by_domain",
    ("range", True): "properties_by_range",
    ("a", True): "instances",
    ("type", True): "instances",
}
"""The kind of question by its predicate, and whether the variable comes first."""
_ARROW = Lazy(
    rf"(?P<from>{OPEN}\d+{CLOSE}|\w*:\w\S*|[A-Z][\w-]*) ?(?:-+>|=>|→|⟶)"
    rf" ?(?P<to>{OPEN}\d+{CLOSE}|\w*:\w\S*|[A-Z][\w-]*)"
)
_EQUALS = Lazy(r"\b(domain|range|type|superclass|parent) ?(?:==?|:=) ?(?=\S)", re.I, only="=")
_CALL = Lazy(r"^(select )?\(?count ?\((?P<what>[^()]+)\)", re.I, only="count")
_JUDGED = Lazy(r"[,:;.?]* (?:true or false|yes or no|right or wrong|correct or not|y/n|t/f)$", re.I)
_STAR = Lazy(rf"(?<=rdfs:){OPEN}(\d+){CLOSE}")
"""`subClassOf*` looks like a piece of a name, and was hidden."""
_DASH = Lazy(r"(?<=\w) (?:-+|–|—) (?=\w)|(?<=[A-Za-z])—(?=[A-Za-z])", only="_-_|–|—|--")
_OR_NOT = Lazy(
    r"(?<!direct)(?<!directly)(?<!immediate)(?<!immediately),? or not(?=\W*$)", re.I, only="or_not"
)
_SIGNS = frozenset("?$>=→⟶({/")


def in_signs(text: str, names: tuple[str, ...]) -> Asked | None:
    """What a triple asks for; None when there is none, or more than one, or words beside it that
    could matter."""
    bare = (
        _STAR.sub(lambda match: names[int(match[1])], text.rstrip(" ?.!"))
        if "*" in "".join(names)
        else text
    )
    bare = bare.rstrip(" ?.!")
    if match := _ASKED.match(bare):
        return Asked("is_subclass", (_shown(match["s"], names), _shown(match["o"], names)))
    match = _TRIPLE.search(bare)
    if match is None:
        return None
    first, last = match["s"][0] in "?$", match["o"][0] in "?$"
    kind = _KINDS.get((match["p"].lower().removeprefix("rdfs:").removeprefix("rdf:"), first))
    rest = bare[: match.start()] + " " + bare[match.end() :]
    around = re.sub(r"[{}().,;:*-]", " ", rest).lower().split()
    variable = (match["s"] if first else match["o"]).lower()
    if (
        first == last
        or kind is None
        or any(word not in _AROUND and word != variable for word in around)
    ):
        return None
    shallow = re.search(
        r"\b(?:direct(?:ly)?|immediate|(?:no|not) (?:transitive|indirect)\w*)\b", rest, re.I
    )
    both = re.search(r"\bindirect", rest, re.I) and not re.search(
        r"\b(?:no|not) indirect", rest, re.I
    )
    deep = bool(match["deep"] or both or ("transitive" in rest.lower() and not shallow))
    if ("not" in around or "no" in around) and not shallow:
        return None
    name = _shown(match["o"] if first else match["s"], names)
    if kind == "instances" and re.match(r"(?:owl|rdfs?):", name):
        return (
            Asked("search", what="class")
            if name in ("owl:Class", "rdfs:Class") and "count" not in around
            else None
        )
    if kind in ("subclasses", "superclasses"):
        kind = f"all_{kind}" if deep else kind
    elif deep:
        return None
    counted = "count" in around or "many" in around or "number" in around
    return Asked("count", (name,), of=kind) if counted else Asked(kind, (name,))


def in_words(text: str) -> str:
    """The text with words in the place of arrows and equal signs."""
    text = _OR_NOT.sub("", text)
    if judged := _JUDGED.search(text.rstrip(" ?.!")):
        text = "is it true that " + text[: judged.start()]
    if _SIGNS.isdisjoint(text):
        return _DASH.sub(", ", text)
    text = _CALL.sub(
        lambda match: f"count {match['what']}", _EQUALS.sub(lambda match: f"{match[1]} ", text)
    )
    text = _ARROW.sub(lambda match: f"path from {match['from']} to {match['to']}", text)
    return _DASH.sub(", ", re.sub(r" (?:-+>|=>|→|⟶) ", " to ", text).replace(" w/o ", " without "))


def _shown(name: str, names: tuple[str, ...]) -> str:
    return names[int(name[1:-1])] if name[0] == OPEN else name
