"""The words that rules are made of, and what turns a rule into a pattern.

A rule is a regular expression with macros in braces, matched against a whole question or against
what follows its lead ("Which", "List all the", "How many"). `{x}` and `{y}` are the places of
names. To compile them all would take longer than a run may: a form is compiled only when the words
that it cannot do without stand in the question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from rlm.llm.offline.asked.kinds import Lazy

_CLASS = (
    r"(?:owl |rdfs |named |ontology |other"
    r" )*(?:class(?:es)?|concepts?|types?|terms?|categor(?:y|ies)|entit(?:y|ies)|"
    r"things?|ones|"
    r"kinds?|nodes?|elements?|resources?|items?|notions?|everything|anything|all|what|who|those|sorts?)"
)
_ATTR = (
    r"(?:owl |rdf |rdfs |object |data ?type |data |annotation |named |outgoing |possible |ontology"
    r" |different |"
    r"other |permitted |allowed |applicable )*"
    r"(?:propert(?:y|ies)|attributes?|relations?|relationships?|predicates?|fields?|slots?|features|characteristics|"
    r"edges)"
)
_PROP = rf"(?:{_ATTR}|links|everything|anything|those|what|things?)"
_SUB = (
    r"(?:sub-?"
    r" ?(?:class(?:es)?|types?|concepts?|categor(?:y|ies)|kinds?)|(?:child|descendant|derived|descending|"
    r"lower|subordinate)(?: class(?:es)?| concepts?| types?| nodes?)"
    r"|child(?:ren)?|(?:narrower|more specific|more speciali[sz]ed|more"
    r" particular|subsumed|lower-level) (?:classes|"
    r"class|concepts?|terms?|types?|kinds?|ones|notions?)|"
    r"speciali[sz]ations?|hyponyms?|descendants?|descendents?|offspring|subordinates|refinements?|subcategories)"
)
_SUPER = (
    r"(?:super-?"
    r" ?(?:class(?:es)?|types?|concepts?|categor(?:y|ies))|(?:parent|ancestor|base|broader|more"
    r" general|"
    r"wider|superordinate|more abstract|generic|enclosing) "
    r"(?:class(?:es)?|concepts?|terms?|types?|categor(?:y|ies)|kinds?|ones|notions?|nodes?)|parents?|ancestors?|"
    r"generali[sz]ations?|hypernyms?|forebears|superordinates|ancestry|lineage)"
)
_NAMED = (
    r"(?:names?|labels?|titles?|local names?|identifiers?|iris?|uris?|ids?|alternative"
    r" labels?|altlabels?|"
    r"preferred labels?)"
)

MACROS: dict[str, str] = {
    "x": r"(?P<x>\S(?:.*?\S)??)",
    "y": r"(?P<y>\S(?:.*\S)?)",
    "q": (
        r"(?:(?:all|every|each|any|some|the|of|its|their|direct|directly|immediate|immediately|indirect|indirectly|"
        r"transitive|transitively|known|named|"
        r"asserted|inferred|different|various|possible|available|existing|declared|defined|complete|full|other|own|an?|"
        r"only|entire|whole|recursive|recursively|"
        r"and|or|explicit|explicitly|further|nested|also|just|always|in"
        r" turn|both|themselves|total|overall|somewhere|"
        r"anywhere|one level|right|few|several) )*"
    ),
    "cls": _CLASS,
    "prop": _PROP,
    "attr": _ATTR,
    "sub": _SUB,
    "super": _SUPER,
    "kinds": (
        r"(?:kinds?|types?|sorts?|variet(?:y|ies)|forms?|flavou?rs?|species|categories|classes)"
    ),
    "rel": r"(?:(?:that|which|who) )?",
    "be": r"(?:are|is|were|be|being|count as|counts as|can be|may be)",
    "aux": r"(?:does|do|did|can|could|may|might|should|must|has|have|is|are|will|would)",
    "have": r"(?:have|has|having|with|carry|carries|possess|possesses|bear|use|uses)",
    "their": r"(?:(?:their|its|the|a|an|as|for|his) )*",
    "in": r"(?:in|inside|within|of|as part of|somewhere in|anywhere in|into)",
    "name": _NAMED,
    "prep": r"(?:in|of|for|to|by|through|via|with|on)",
    "domain": r"(?:the |a |an |their |its |as )*(?:rdfs:)?domains?(?: class)?",
    "range": (
        r"(?:the |a |an |their |its |as )*(?:rdfs:)?(?:ranges?|value types?|target types?|"
        r"types? of values?)(?: class)?"
    ),
}

_BRACE = re.compile(r"\{(\w+)\}")
_WORD = re.compile(r"[a-z]+")
_PIECES = re.compile(r"\{\w+\}|\((?:\?(?:P<\w+>|:|=|!|<=|<!|-i:))?|\[[^\]]*\]|\\.|[a-z]+|.", re.S)
_TOLD = ("sub", "super", "kinds", "prop", "attr", "cls", "name", "domain", "range")
"""Macros whose words are looked for before a form is compiled."""

ALL_OF = Lazy(
    r"\b(?:all|every|transitive\w*|descend[ae]n(?:t|ts|cy)|descend(?:s|ed|ing)? from|"
    r"ancestors?|ancestry|lineage|indirect\w*|recursive\w*|"
    r"complete|full|entire|whole|everything|anything|nested|"
    r"(?:any|every|all|whatever|arbitrary) (?:depth|level|levels|distance|degree)|all the"
    r" way|ultimately|inferred|"
    r"sub-?tree|down to|up to the|total|"
    r"offspring|forebears|in turn|each)\b",
    re.I,
)
DIRECT = Lazy(
    r"\b(?:direct|directly|immediate|immediately|one level|first[-"
    r" ]level|asserted|explicit(?:ly)?|first generation|"
    r"a single level)\b",
    re.I,
)
BOTH = Lazy(
    r"\b(?:indirect\w*|transitive\w*|not (?:only|just) (?:the )?(?:direct|immediate)\w*)\b", re.I
)

_BELOW = Lazy(r"\b(?:below|beneath|under|underneath|down)\b", re.I)
_ABOVE = Lazy(r"\b(?:above|over|up)\b", re.I)


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to put a question of a kind."""

    kind: str
    form: str
    where: str = ""
    flip: bool = False
    what: str = ""
    """The kind of term that is named, where the form says so."""


def rules(
    kind: str, *forms: str, where: str = "", flip: bool = False, what: str = ""
) -> tuple[Rule, ...]:
    """Rules of one kind."""
    return tuple(Rule(kind, form, where, flip, what) for form in forms)


@cache
def pattern(form: str) -> re.Pattern[str]:
    """The pattern of a form, its macros filled in."""
    first, *others = _BRACE.sub(lambda match: MACROS[match[1]], form).split("(?P<n>")
    marked = [
        f"(?P<n{i or ''}>{part}" for i, part in enumerate(others)
    ]  # the noun may stand in more than one place
    return re.compile(first + "".join(marked), re.I)


@cache
def needs(form: str) -> tuple[frozenset[str], ...]:
    """What a text must have to fit a form: of each set at least one word, or one macro of `_TOLD`.

    Read from the outermost level of the form: its words, and its groups that must be there and
    whose alternatives all begin with a whole word.
    """
    pieces = [match[0] for match in _PIECES.finditer(form)] + [""]
    found: list[frozenset[str]] = []
    depth, heads, fresh = 0, set[str](), True
    for i, piece in enumerate(pieces[:-1]):
        after = pieces[i + 1]
        if piece[0] == "(":
            depth += 1
            if depth == 1:
                fresh = piece[:3] in ("(?:", "(?P") and _begins(pieces, i)
                heads = set[str]() if fresh else {"?"}
            elif fresh:
                heads.add("?")
                fresh = False
        elif piece == ")":
            depth -= 1
            if depth == 0 and "?" not in heads and not fresh and after not in ("?", "*"):
                whole = after in (" ", "")
                found.append(
                    frozenset(head if whole or head[-1] in "*}" else head + "*" for head in heads)
                )
        elif piece == "|":
            if depth == 0:
                return ()
            if depth == 1:
                heads |= {"?"} if fresh else set()
                fresh = True
        elif depth == 0:
            if (need := _need(piece, after)) != "?" and (piece[0] == "{" or _begins(pieces, i)):
                found.append(frozenset((need,)))
        elif fresh and depth == 1 and piece != " ":
            heads.add(_need(piece, after))
            fresh = False
    return tuple(found)


def _begins(pieces: list[str], i: int) -> bool:
    """Whether a word begins at a piece: a space or nothing is before it."""
    before = pieces[max(0, i - 3) : i]
    spaced = len(before) == 3 and before[0] == " " and before[1] == ")" and before[2] in ("?", "*")
    return i == 0 or before[-1] in (" ", "{q}", "{rel}", "{their}") or spaced


def _need(piece: str, after: str) -> str:
    """The word or macro that a piece of a form asks for, with "*" if only its beginning; "?" when
    it asks for none."""
    if piece[0] == "{":
        return piece if piece[1:-1] in _TOLD and after not in ("?", "*") else "?"
    if not (piece.isalpha() and piece.islower()):
        return "?"
    return (
        piece
        if after in (" ", "", ")", "|")
        else f"{piece[:-1] if after in ('?', '*') else piece}*"
    )


class Words:
    """The words of a question, and which macros it has words of."""

    def __init__(self, text: str) -> None:
        self._text, self._low = text, text.lower()
        self._words = set(_WORD.findall(text.lower()))
        self._macros: dict[str, bool] = {}
        self._fits: dict[str, bool] = {}

    def any_of(self, pieces: tuple[str, ...]) -> bool:
        """Whether one of some pieces of words is in the question, or there are none to look for."""
        return not pieces or any(piece in self._low for piece in pieces)

    def fit(self, form: str) -> bool:
        """Whether a form can fit at all."""
        if form not in self._fits:
            self._fits[form] = all(any(map(self._has, need)) for need in needs(form))
        return self._fits[form]

    def _has(self, word: str) -> bool:
        if word[-1] == "*":
            return any(said.startswith(word[:-1]) for said in self._words)
        if word[0] != "{":
            return word in self._words
        if word not in self._macros:
            self._macros[word] = pattern(word).search(self._text) is not None
        return self._macros[word]


def everything(frame: str, kind: str) -> bool:
    """Whether the words around a name ask for all levels and not for one. "Below X" and "above X"
    do."""
    if BOTH.search(frame):
        return True
    beyond = _BELOW if kind == "subclasses" else _ABOVE
    return bool(ALL_OF.search(frame) or beyond.search(frame)) and not DIRECT.search(frame)
