"""The kinds of questions about an ontology, their families, and what a question comes to."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

# -- What every rule is made of: patterns that compile late, marks for quoted names, sets of words.


# -- Patterns that are compiled when they are first used: most questions need few of them.


class Lazy:
    """A pattern with the calls of `re.Pattern` that the rules use."""

    __slots__ = ("_compiled", "_first", "_flags", "_only", "_source")

    def __init__(self, source: str, flags: int = 0, only: str = "", first: str = "") -> None:
        """With `only`, a text without any of these pieces cannot match, and nothing is compiled for
        it.

        With `first`, nor can one that begins with another word.
        """
        self._first = frozenset(first.split())
        self._source, self._flags, self._only = (
            source,
            flags,
            tuple(only.replace("_", " ").split("|")) if only else (),
        )
        self._compiled: re.Pattern[str] | None = None

    def _pattern(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self._source, self._flags)
        return self._compiled

    def _cannot(self, text: str) -> bool:
        low = text.lower()
        if self._first and low.split(" ", 1)[0].strip(",.!:'") not in self._first:
            return True
        return bool(self._only) and not any(piece in low for piece in self._only)

    def match(self, text: str) -> re.Match[str] | None:
        return None if self._cannot(text) else self._pattern().match(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self._pattern().fullmatch(text)

    def search(self, text: str) -> re.Match[str] | None:
        return None if self._cannot(text) else self._pattern().search(text)

    def split(self, text: str) -> list[str]:
        return self._pattern().split(text)

    def sub(self, new: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        return text if self._cannot(text) else self._pattern().sub(new, text, count=count)


# -- Names that stand in quotes, backticks or angle brackets, and IRIs: hidden behind marks, so
# that no rule cuts them.


MAX_CHARS = 1_000
"""Longer texts are no question of these kinds."""
MAX_LEFT = 240
"""What is left of a question when its quoted names and IRIs are hidden is not longer than this."""

OPEN, CLOSE = "\ue000", "\ue001"
_QUOTES = frozenset("*<\"'`“„«‘/:")
_HIDE = (
    r"<(?P<iri>[A-Za-z][\w+.-]{0,20}:[^\s<>\"]{1,500})>"
    r"|(?P<bare>(?:https?|ftp)://[^\s<>\"'`]{1,500}|urn:[^\s<>\"'`]{3,500})"
    r"|“(?P<a>[^”]{1,200})”|„(?P<b>[^“”]{1,200})[“”]|«\s?(?P<c>[^»]{1,200}?)\s?»|\"(?P<d>[^\"]{1,200})\""
    r"|`{1,3}(?P<e>[^`]{1,200})`{1,3}|‘(?P<f>[^’]{1,200})’(?!\w)"
    r"|(?<![\w'])'(?P<g>[^'?!]{1,120}(?:'\w[^'?!]{0,80}){0,3})'(?!\w)"
    r"|(?<![\w*])(?P<h>\*\w[\w-]{1,80}\*?|\w[\w-]{1,80}\*)(?![\w*])"
)


def hidden(question: str) -> tuple[str, tuple[str, ...]]:
    """The question with marks for its quoted names and IRIs, in single spaces, and what is behind
    the marks."""
    names: list[str] = []

    def hide(match: re.Match[str]) -> str:
        found = next(group for group in match.groups() if group is not None)
        rest = ""
        if match["bare"]:
            found, rest = _bare_iri(found)
        if not found.strip():
            return " "
        names.append(found.strip())
        return f"{OPEN}{len(names) - 1}{CLOSE}{rest}"

    plain = question.replace(OPEN, " ").replace(CLOSE, " ")
    if not _QUOTES.isdisjoint(plain):
        plain = re.sub(_HIDE, hide, plain)
    return " ".join(plain.split()), tuple(names)


def _bare_iri(found: str) -> tuple[str, str]:
    """An IRI in running text, without the punctuation after it."""
    kept = found.rstrip("?!.,;:")
    if kept.endswith(")") and "(" not in kept:
        kept = kept[:-1]
    return kept, found[len(kept) :]


# -- Words that need no letter of their own: verbs of asking, words that are no names, words for
# the ontology.


_REQUESTS = """
list show give find tell get return print display provide identify fetch retrieve report write output collect
determine see present extract select state query compile enumerate dump compute calculate expand check browse trace
climb search lookup view say pull obtain grab look walk follow navigate go name mention
"""
REQUESTS = frozenset(_REQUESTS.split())
_NO_NAMES = """
you your yourself yours me my mine myself our ours them they he she him most least best worst nicest important why how
when where nobody somewhere anywhere make remove delete add create rename change update insert set merge drop move
replace convert translate compare sort draw export import save load run install write build fix edit clean recommend
suggest should good better favourite favorite than then because there here today poem joke story so very same
difference differences distinction common similarity similar siblings sibling inverse restrictions restriction average
two three four five several multiple exactly twice different disjoint equivalent new more less only together both up
down out up-to-date
"""
NO_NAMES = frozenset(_NO_NAMES.split())
"""Words that are no part of a name in small letters."""
_QUALITIES = """
functional symmetric asymmetric reflexive irreflexive inverse deprecated obsolete unused used duplicate missing custom
own core main key important relevant imported external standard common shared optional required mandatory basic numeric
boolean string numerical temporal simple complex similar related specific general abstract asserted anonymous named
blank orphan empty labelled labeled unlabelled undocumented sub super child parent invalid valid local global internal
"""
QUALITIES = frozenset(_QUALITIES.split())
"""What properties or individuals are like: in "functional properties" no class is named."""
_SCOPES = """
ontology ontologies vocabulary graph schema model dataset file hierarchy taxonomy thesaurus terminology kg document
standard specification tree tbox t-box
"""
SCOPES = frozenset(_SCOPES.split())
"""Words for where the question is asked of: nothing hangs on them."""


FAMILIES: dict[str, str] = {
    "namespaces": "orientation",
    "describe": "entity_description",
    "exists": "entity_description",
    "subclasses": "hierarchy",
    "all_subclasses": "hierarchy",
    "superclasses": "hierarchy",
    "all_superclasses": "hierarchy",
    "roots": "hierarchy",
    "is_subclass": "hierarchy",
    "properties_by_domain": "property_discovery",
    "properties_by_range": "property_discovery",
    "search": "pattern_search",
    "path": "relationship_discovery",
    "count": "counting",
    "instances": "instances",
}
"""Each kind of question and the family (task type) that it belongs to."""

KINDS: tuple[str, ...] = tuple(FAMILIES)

COUNTED: tuple[str, ...] = (
    "classes",
    "properties",
    "object_properties",
    "datatype_properties",
    "annotation_properties",
    "individuals",
    "triples",
    "namespaces",
    "subclasses",
    "all_subclasses",
    "superclasses",
    "all_superclasses",
    "instances",
    "properties_by_domain",
    "properties_by_range",
    "search",
    "roots",
)
"""What can be counted: the values of `Asked.of`."""

ONLY: tuple[str, ...] = ("object property", "datatype property", "annotation property")
"""The values of `Asked.only`."""

PLURALS = {"class": "classes", "property": "properties", "individual": "individuals"}
"""The values of `Asked.what`, and what many of them are called."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks for. Names stand as they were written; which term each one means is for
    others to find."""

    kind: str
    mentions: tuple[str, ...] = ()
    """The things named, quotes, articles and role words off. Two for path (from, to) and
    is_subclass (narrower, wider). None for search: what it looks for is in `text`. None for
    describe: the ontology itself is asked about."""
    of: str = ""
    """For count: what is counted, one of COUNTED. For is_subclass: "direct" when only a direct one
    will do, "instance" when an instance is asked for and no subclass. For describe: "subproperties"
    or "types" when these are asked for."""
    text: str = ""
    """For search: the piece of a name. Empty when everything of the kind `what` is asked for ("List
    all classes")."""
    where: str = "contains"
    """For search: where in the name it stands: contains, starts or ends."""
    what: str = ""
    """The wanted kind of term: class, property, individual, or empty for any."""
    inherited: bool = False
    """Those inherited from superclasses, or those of subclasses, are asked for as well."""
    only: str = ""
    """The one kind of property that is asked for, of ONLY; empty for any."""
    several: tuple[str, ...] = ()
    """The parts of the one mention, where it may be several names: "Tug, Ferry and Barge". The
    whole comes first."""

    @property
    def task_type(self) -> str:
        """The kind as the scope of a memory has it: a way to count classes is none to count
        instances."""
        if (
            self.kind == "search" and not self.text.strip()
        ):  # everything of a kind: no piece of a name
            return f"list_{plural(self.only).replace(' ', '_') or PLURALS.get(self.what, 'terms')}"
        if self.kind == "describe" and (self.of or not self.mentions):
            return self.of or "overview"
        if self.kind == "is_subclass" and self.of == "instance":
            return "is_instance"
        narrow = (
            f"_{self.only.partition(' ')[0]}"
            if self.only and self.kind not in ("search", "exists")
            else ""
        )
        return (f"count_{self.of}" if self.kind == "count" and self.of else self.kind) + narrow


def plural(noun: str) -> str:
    """What many of a kind of property are called."""
    return noun.replace("property", "properties")


def family_of(kind: str) -> str:
    """The family of a kind of question; empty for what is no such kind."""
    return FAMILIES.get(kind, "")


# -- A question with its specifics out: the title of a procedure that answers all questions of its
# kind.


MAX_TITLE = 45

_TITLES = {
    "namespaces": "List the namespaces and their prefixes",
    "describe": "Describe a term",
    "exists": "Check whether a term exists",
    "subclasses": "List the direct subclasses of a class",
    "all_subclasses": "Find all subclasses of a class",
    "superclasses": "List the direct superclasses of a class",
    "all_superclasses": "Find all superclasses of a class",
    "roots": "List the root classes of the hierarchy",
    "is_subclass": "Check whether a class is a subclass",
    "properties_by_domain": "List the properties with a given domain",
    "properties_by_range": "List the properties with a given range",
    "path": "Find a path between two terms",
    "instances": "List the instances of a class",
}
_COUNTS = {
    "classes": "Count the classes",
    "properties": "Count the properties",
    "object_properties": "Count the object properties",
    "datatype_properties": "Count the datatype properties",
    "annotation_properties": "Count the annotation properties",
    "individuals": "Count the individuals",
    "triples": "Count the triples",
    "namespaces": "Count the namespaces",
    "subclasses": "Count the direct subclasses of a class",
    "all_subclasses": "Count all subclasses of a class",
    "superclasses": "Count the direct superclasses of a class",
    "all_superclasses": "Count all superclasses of a class",
    "instances": "Count the instances of a class",
    "properties_by_domain": "Count the properties with a given domain",
    "properties_by_range": "Count the properties with a given range",
    "search": "Count the terms with a piece of name",
    "roots": "Count the root classes of the hierarchy",
}
_INHERITED = {
    "instances": "{} all instances of a class, below it too",
    "properties_by_domain": "{} properties by domain, inherited too",
    "properties_by_range": "{} properties by range, inherited too",
}


def generalised(question: str, asked: Asked | None) -> str:
    """The title for all questions like this one; empty when it was not understood."""
    if asked is None:
        return ""
    counts, kind = asked.kind == "count", asked.of if asked.kind == "count" else asked.kind
    if asked.only and kind in _INHERITED:
        every = " all" * asked.inherited
        return (
            f"{'Count' if counts else 'List'}{every} {plural(asked.only)} by"
            f" {kind.rpartition('_')[2]}"
        )
    if asked.inherited and kind in _INHERITED:
        return _INHERITED[kind].format("Count" if counts else "List")
    if asked.kind == "search":
        return _searched(asked)
    if asked.kind == "is_subclass" and asked.of == "direct":
        return "Check whether a class is a direct subclass"
    if asked.kind == "is_subclass" and asked.of == "instance":
        return "Check whether a thing is an instance"
    return _COUNTS.get(kind, "") if counts else _TITLES.get(kind, "")


def _searched(asked: Asked) -> str:
    many = PLURALS.get(asked.what, "terms")
    if not asked.text.strip() and asked.only:
        return f"List all {plural(asked.only)}"
    if not asked.text.strip():
        return f"List all {many} of the ontology"
    where = {"starts": "how their names begin", "ends": "how their names end"}.get(asked.where)
    return f"Find {many} by {where or 'a piece of their name'}"


# -- Questions in the words of a thesaurus: concepts, top concepts, what is narrower, broader or
# related.
#
# Where the graph has concepts of SKOS, these are meant; elsewhere a concept is a class. Which of
# the two holds only the graph can say, so a question comes to both: what `understand` makes of it,
# and what is made of that here.


_WORDS = Lazy(r"\b(?:sub-?|super-?)?concepts?\b|\bnarrower\b|\bbroader\b", re.I)
_OTHERS = Lazy(r"class|\bowl\b|\brdfs\b|propert|instance", re.I)
_RELATED = Lazy(r"\brelated (?:to|with)\b", re.I)
_RELATED_OF = Lazy(r"(?:skos:)?related (?:concepts?|terms?) (?:of|to|for) (.+)", re.I)
_NOTHING_ABOVE = Lazy(r"\b(?:no|not|without|nothing|none|never|lack\w*)\b|n['’]t\b", re.I)
_STEPS = {"subclasses": "narrower", "all_subclasses": "narrower", "superclasses": "broader",
          "all_superclasses": "broader"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Concepts:
    """What is asked of a thesaurus."""

    kind: str
    """all, top, unbroadened (nothing is broader), narrower, broader, related, is_narrower, exists
    or search."""
    names: tuple[str, ...] = ()
    deep: bool = False
    counts: bool = False
    text: str = ""
    where: str = "contains"


def concepts_asked(question: str, asked: Asked) -> Concepts | None:
    """What a question asks for where concepts are those of a thesaurus; None when it has no word of
    that kind."""
    counts, kind = asked.kind == "count", asked.of if asked.kind == "count" else asked.kind
    rest = question
    for name in filter(None, (*asked.mentions, *asked.several, asked.text)):
        rest = rest.replace(name, " ")
    if (
        kind == "describe"
        and asked.mentions
        and (match := _RELATED_OF.fullmatch(asked.mentions[0]))
    ):
        return Concepts("related", (match[1],))
    if kind == "search" and asked.text and _RELATED.search(rest) and not _OTHERS.search(rest):
        return Concepts("related", (asked.text,), counts=counts)
    if not _WORDS.search(rest) or _OTHERS.search(rest):
        return None
    if kind == "classes" or (kind == "search" and asked.what == "class"):
        text = "" if kind == "classes" else asked.text
        return Concepts("search" if text else "all", counts=counts, text=text, where=asked.where)
    if kind == "roots":
        return Concepts("unbroadened" if _NOTHING_ABOVE.search(rest) else "top", counts=counts)
    if kind in _STEPS:
        return Concepts(_STEPS[kind], asked.mentions, kind.startswith("all_"), counts)
    if kind == "is_subclass":
        return Concepts("is_narrower", asked.mentions, asked.of != "direct")
    return Concepts("exists", asked.mentions) if kind == "exists" else None
