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
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pyoxigraph import Literal, NamedNode, Store

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
SELECT ?p (COUNT(DISTINCT ?s) AS ?n) (COUNT(DISTINCT ?k) AS ?kinds) (SAMPLE(?o) AS ?v) WHERE {
  { SELECT DISTINCT ?s WHERE { %s } LIMIT %d } ?s ?p ?o
  BIND(IF(isLiteral(?o), STR(DATATYPE(?o)), "") AS ?k)
} GROUP BY ?p
"""
_COUNT = "SELECT (COUNT(DISTINCT ?s) AS ?n) WHERE { %s }"
T = TypeVar("T")
Seen = list[tuple[str, int, int, object]]
"""Property, how many instances have it, kinds of its values, one value."""


class ClassUseReader:
    """What the instances of the main classes have."""

    def __init__(self, store: Store, reader: StoreReader, found: Mapping[str, Any]) -> None:
        """`found`: what `read_classes` gave."""
        self._store, self._reader = store, reader
        self._classes: Mapping[str, int] = found["classes"]
        self._subs: Mapping[str, list[str]] = found["subs"]
        self._enumerated: Mapping[str, list[str]] = found["enumerated"]
        classes = self._classes
        own = {i: n for i, n in classes.items() if n and not is_machinery(i) and _is_plain(i)}
        self._own: dict[str, int] = dict(
            sorted(own.items(), key=lambda each: (-each[1], each[0]))[:LOOKED_AT]
        )

    def read(self) -> dict[str, Any]:
        """Class → instances, seen, and property → [how many have it, what its values are]."""
        return {iri: use for iri in self._main_classes() if (use := self._describe(iri))}

    # -- which classes

    def _main_classes(self) -> list[str]:
        glances = {iri: self._ask([iri], GLANCE) for iri in self._own}
        parents = _invert(self._subs)
        held = self._held_kinds(parents)
        todo = [iri for iri in held if not parents.get(iri)] or list(self._own)
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

    def _held_kinds(self, parents: Mapping[str, set[str]]) -> dict[str, set[str]]:
        """Class → those of the classes looked at that are it or below it."""
        held: dict[str, set[str]] = {}
        for kind in self._own:
            for iri in _reach(kind, parents):
                held.setdefault(iri, set()).add(kind)
        return held

    def _stands_for(self, iri: str, kinds: set[str], glances: Mapping[str, Seen]) -> bool:
        """Whether a class is one thing: most of its instances are its own, or its kinds share
        properties that do more than name them."""
        total = sum(self._own[kind] for kind in kinds)
        if 2 * self._own.get(iri, 0) >= total:
            return True
        have: Counter[str] = Counter()
        for kind in kinds:
            seen = min(GLANCE, self._own[kind])
            for prop, count, _, _ in glances[kind]:
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
        rows = sorted(self._ask(kinds, SEEN), key=lambda row: (-row[1], row[0]))[:PROPERTIES]
        have = {prop: [n, self._value(value, n_kinds)] for prop, n, n_kinds, value in rows}
        if not have:
            return None
        return {"instances": total, "seen": min(total, SEEN), "properties": have}

    def _ask(self, kinds: Iterable[str], most: int) -> Seen:
        query = _QUERY % (self._members(kinds), most)
        return [
            (row["p"].value, int(row["n"].value), int(row["kinds"].value), row["v"])
            for row in solutions(self._store, query)
            if row["p"].value != v.TYPE
        ]

    def _members(self, kinds: Iterable[str]) -> str:
        """The instances of some classes as ?s of a pattern."""
        kinds = list(kinds)
        typed = f"VALUES ?t {{ {_iri_list(kinds)} }} ?s <{v.TYPE}> ?t"
        listed = [iri for kind in kinds for iri in self._enumerated.get(kind, ()) if _is_plain(iri)]
        return f"{{ {typed} }} UNION {{ VALUES ?s {{ {_iri_list(listed)} }} }}" if listed else typed

    def _value(self, value: object, kinds: int) -> str:
        """The class or the datatype of a value as an IRI; '' for what has neither."""
        if kinds > 1:
            return ""
        if isinstance(value, Literal):
            return v.XSD + "string" if value.language else value.datatype.value
        if not isinstance(value, NamedNode):
            return ""
        types = [node.value for node in self._reader.objects(value, v.TYPE)
                 if isinstance(node, NamedNode) and not is_machinery(node.value)]  # fmt: skip
        return min(types, key=lambda name: (self._classes.get(name, 0), name), default="")


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
