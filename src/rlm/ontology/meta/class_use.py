"""What the instances of the main classes have: which properties, how many of them, what values.

A schema says what may be; this says what is, so that a query can be right the first time. The main
classes are found from the roots down: a class that holds instances itself, or whose kinds have
properties in common, stands for all below it. At most CLASSES of them are described, each by at
most SEEN of its instances; where a class has more, `seen` says of how many the numbers are. It is
read in a thread beside the rest of GraphMeta, kept in the cache with it, and made anew when the
file's content changes. A worker imports this: no `dataclasses` here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from pyoxigraph import Store

from rlm.ontology import vocabulary as v
from rlm.ontology.meta.store_reader import StoreReader, solutions
from rlm.ontology.terms import is_machinery

CLASSES, PROPERTIES, SEEN = 40, 40, 500
LOOKED_AT = 40
"""Classes with instances of their own that are looked at, those with the most first."""
GLANCE = 30
"""So many instances say what the kinds of a class have in common."""
COUNTED = 10_000
"""More instances of several kinds are added up, not counted one by one."""
COMMON, LEAST_COMMON = 0.8, 2
"""A class stands for its kinds when so large a share of their instances has so many properties."""
_QUERY = """
SELECT ?p (COUNT(DISTINCT ?s) AS ?n) (GROUP_CONCAT(DISTINCT ?k; separator=" ") AS ?kinds) WHERE {
  { SELECT DISTINCT ?s WHERE { %s } LIMIT %d } ?s ?p ?o
  BIND(IF(isLiteral(?o), STR(DATATYPE(?o)), "") AS ?k)
} GROUP BY ?p
"""
_GLANCED = """
SELECT ?p (COUNT(DISTINCT ?s) AS ?n) WHERE {
  { SELECT DISTINCT ?s WHERE { %s } LIMIT %d } ?s ?p ?o
} GROUP BY ?p
"""
"""Without the kinds of values, in a third of the time."""
_TYPES = """
SELECT DISTINCT ?p ?types WHERE {
  { SELECT ?p ?o (GROUP_CONCAT(DISTINCT ?t; separator=" ") AS ?types) WHERE {
    { SELECT DISTINCT ?s WHERE { %s } LIMIT %d }
    ?s ?p ?o FILTER(?p IN (%s)) OPTIONAL { ?o <%s> ?c }
    BIND(IF(BOUND(?c), STR(?c), "") AS ?t)
  } GROUP BY ?p ?o }
}
"""
_COUNT = "SELECT (COUNT(DISTINCT ?s) AS ?n) WHERE { %s }"
T = TypeVar("T")
Seen = list[tuple[str, int, list[str]]]
"""Property, how many instances have it, the datatypes of its values, NODE where some are none."""
NODE = v.RDFS + "Resource"
_MOST_KINDS = 3
_SYNTAX = (*v.MACHINERY, v.SH)
"""A graph is not about its shapes either."""


class ClassUseReader:
    """What the instances of the main classes have."""

    def __init__(self, store: Store, reader: StoreReader, found: Mapping[str, Any]) -> None:
        """`found`: what `read_classes` gave."""
        self._store = store
        self._classes: Mapping[str, int] = found["classes"]
        self._subs: Mapping[str, list[str]] = found["subs"]
        self._enumerated: Mapping[str, list[str]] = found["enumerated"]
        self._parents = _invert(self._subs)
        self._above: dict[str, frozenset[str]] = {}
        ranges = Counter(prop for prop, _ in reader.named_pairs(v.RANGE))
        self._ranges = {prop for prop, number in ranges.items() if number == 1}
        classes = self._classes
        own = {i: n for i, n in classes.items() if n and _is_plain(i) and not i.startswith(_SYNTAX)}
        self._own: dict[str, int] = dict(
            sorted(own.items(), key=lambda each: (-each[1], each[0]))[:LOOKED_AT]
        )

    def read(self) -> dict[str, Any]:
        """Class → instances, seen, and property → [how many have it, what its values are]."""
        return {iri: use for iri in self._main_classes() if (use := self._describe(iri))}

    # -- which classes

    def _main_classes(self) -> list[str]:
        glances = {iri: self._glance(iri) for iri in self._own}
        held = self._held_kinds(self._parents)
        todo = [iri for iri in held if not self._parents.get(iri)] or list(self._own)
        chosen: dict[str, int] = {}
        seen: set[str] = set()
        while todo:
            iri = todo.pop()
            if iri in seen:
                continue
            seen.add(iri)
            kinds = held[iri]
            if len(kinds) == 1:
                (iri,) = kinds
            elif not self._stands_for(iri, kinds, glances):
                todo += [sub for sub in self._subs.get(iri, ()) if sub in held]
                kinds = kinds & {iri}
            if kinds:
                chosen[iri] = sum(self._own[kind] for kind in kinds)
        return sorted(chosen, key=lambda iri: (-chosen[iri], iri))[:CLASSES]

    def _glance(self, iri: str) -> dict[str, int]:
        """Property → how many of a few instances have it."""
        found = solutions(self._store, _GLANCED % (self._members([iri]), GLANCE))
        return {p: int(row["n"].value) for row in found if (p := row["p"].value) != v.TYPE}

    def _held_kinds(self, parents: Mapping[str, set[str]]) -> dict[str, set[str]]:
        """Class → those of the classes looked at that are it or below it."""
        held: dict[str, set[str]] = {}
        for kind in self._own:
            for iri in _reach(kind, parents):
                held.setdefault(iri, set()).add(kind)
        return held

    def _stands_for(
        self, iri: str, kinds: set[str], glances: Mapping[str, Mapping[str, int]]
    ) -> bool:
        """Whether a class is one thing: most of its instances are its own, or its kinds share
        properties that do more than name them."""
        total = sum(self._own[kind] for kind in kinds)
        if 2 * self._own.get(iri, 0) >= total:
            return True
        have: Counter[str] = Counter()
        for kind in kinds:
            seen = min(GLANCE, self._own[kind])
            for prop, count in glances[kind].items():
                if prop not in v.LABELS and prop not in v.COMMENTS:
                    have[prop] += round(self._own[kind] * count / seen)
        return sum(count >= COMMON * total for count in have.values()) >= LEAST_COMMON

    # -- what they have

    def _describe(self, iri: str) -> dict[str, Any] | None:
        below = _reach(iri, self._subs)
        kinds = sorted(kind for kind in below if self._classes.get(kind) and _is_plain(kind))
        total = sum(self._classes[kind] for kind in kinds)
        if len(kinds) > 1 and total <= COUNTED:  # one thing may be of two kinds
            query = _COUNT % self._members(kinds)
            total = int(next(iter(solutions(self._store, query)))["n"].value)
        rows = sorted(self._ask(kinds), key=lambda row: (-row[1], row[0]))[:PROPERTIES]
        if not rows:
            return None
        links = [p for p, _, values in rows if values == [NODE] and _is_plain(p)]
        ends = self._ends(kinds, [p for p in links if p not in self._ranges])
        have = {p: [n, ends.get(p) or " ".join(values)] for p, n, values in rows}
        return {"instances": total, "seen": min(total, SEEN), "properties": have}

    def _ask(self, kinds: Iterable[str]) -> Seen:
        query = _QUERY % (self._members(kinds), SEEN)
        return [
            (row["p"].value, int(row["n"].value), _value_kinds(row["kinds"].value))
            for row in solutions(self._store, query)
            if row["p"].value != v.TYPE
        ]

    def _members(self, kinds: Iterable[str]) -> str:
        """The instances of some classes as ?s of a pattern."""
        kinds = list(kinds)
        typed = f"VALUES ?t {{ {_iri_list(kinds)} }} ?s <{v.TYPE}> ?t"
        listed = [iri for kind in kinds for iri in self._enumerated.get(kind, ()) if _is_plain(iri)]
        return f"{{ {typed} }} UNION {{ VALUES ?s {{ {_iri_list(listed)} }} }}" if listed else typed

    def _ends(self, kinds: Iterable[str], links: Sequence[str]) -> dict[str, str]:
        """Property without a stated range → the nearest class that holds all of its values."""
        common: dict[str, frozenset[str]] = {}
        some = _iri_list(links).replace(" ", ", ")
        query = _TYPES % (self._members(kinds), SEEN, some, v.TYPE)
        for row in solutions(self._store, query) if links else ():
            above = self._classes_of(row["types"].value)
            common[row["p"].value] = common.get(row["p"].value, above) & above
        return {prop: self._nearest(some) for prop, some in common.items() if some}

    def _classes_of(self, types: str) -> frozenset[str]:
        """The types in a list with blanks between, and all that is above them."""
        if types not in self._above:
            own = [iri for iri in types.split() if not is_machinery(iri)]
            found = (_reach(iri, self._parents) for iri in own)
            self._above[types] = frozenset[str]().union(*found)
        return self._above[types]

    def _nearest(self, classes: Iterable[str]) -> str:
        """Of classes with all that is above them, one that none of the others is below."""

        def rank(iri: str) -> tuple[int, int, str]:
            return -len(_reach(iri, self._parents)), self._classes.get(iri, 0), iri

        return min(classes, key=rank)


def _value_kinds(text: str) -> list[str]:
    """The datatypes in a list with blanks between, a few of them; a text with a language is a
    text."""
    kinds = {v.XSD + "string" if kind == v.RDF + "langString" else kind or NODE
             for kind in text.split(" ")}  # fmt: skip
    return sorted(kinds)[:_MOST_KINDS]


def _iri_list(iris: Iterable[str]) -> str:
    return " ".join(f"<{iri}>" for iri in iris)


def _is_plain(iri: str) -> bool:
    """Whether an IRI can stand in a query: a file that is read leniently holds anything."""
    return iri.isprintable() and not set(' <>"{}|^`\\') & set(iri)


def _invert(edges: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for start, ends in edges.items():
        for end in ends:
            found.setdefault(end, set()).add(start)
    return found


def _reach(start: str, edges: Mapping[str, Iterable[str]]) -> set[str]:
    """All that edges lead to, and the start."""
    seen, todo = {start}, [start]
    while todo:
        fresh = set(edges.get(todo.pop(), ())) - seen
        seen |= fresh
        todo += fresh
    return seen
