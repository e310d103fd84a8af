"""What stands above what, where the edges are known: shared parents, and the roots.

A worker imports this: nothing but the language itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rlm.ontology import vocabulary as v
from rlm.ontology.meta.cycles import find_cycles
from rlm.ontology.terms import is_machinery


def share_parents(
    tops: Mapping[str, set[str]], equivalents: Mapping[str, set[str]]
) -> dict[str, set[str]]:
    """A class that has no class of the file above it, or only a circle that it is in, but
    equivalents that have → what it and these have: it would stand nowhere."""
    groups = list(_group_equivalents(equivalents))
    found: dict[str, set[str]] = {}
    while True:
        edges, upward = {**tops, **found}, set[str]()
        for iri in equivalents:
            reach_all(iri, edges, upward)
        rings = find_cycles({iri: edges[iri] for iri in upward if iri in edges})
        circle = {iri: {*ring} for ring in rings for iri in ring}
        fresh: dict[str, set[str]] = {}
        for same in groups:
            every = set[str]().union(*(edges.get(one, ()) for one in same)) - same
            for iri in same - found.keys() if every else ():
                own, near = edges.get(iri, set()), circle.get(iri, set())
                if not _own_tops(iri, own - near) and (shared := _own_tops(iri, every - near)):
                    fresh[iri] = shared | own
        if not fresh:
            return found
        found |= fresh


def _group_equivalents(equivalents: Mapping[str, set[str]]) -> Iterator[set[str]]:
    """The sets of classes that are equivalent to each other, some through others."""
    grouped: set[str] = set()
    for iri in equivalents:
        if iri not in grouped:
            same = set[str]()
            reach_all(iri, equivalents, same)
            grouped |= same
            yield same


def _own_tops(iri: str, tops: Iterable[str]) -> set[str]:
    """What counts as above a class: of a class of the file, classes of RDF and OWL do not."""
    return set(tops) if is_machinery(iri) else {top for top in tops if not is_machinery(top)}


def find_roots(
    classes: Iterable[str],
    declared: set[str],
    supers: Mapping[str, list[str]],
    subs: Mapping[str, list[str]],
    equivalents: Mapping[str, list[str]],
) -> list[str]:
    """Classes with no named superclass: declared ones, tops that others stand under, and what is
    equivalent to another. In a circle its smallest IRI is a root, so that every such class is one
    or below one. Where nothing is declared, every class in use without a superclass is one. A class
    below one of RDF's or OWL's own is a root of this file."""
    placed = declared.union(supers, subs, equivalents)
    known = [iri for iri in classes if iri in placed or not declared]
    up = {iri: _own_tops(iri, supers.get(iri, ())) for iri in known}
    roots = [iri for iri in known if not up[iri] and iri not in v.TOPS]
    reached: set[str] = {*v.TOPS}
    for root in roots:
        reach_all(root, subs, reached)
    left = {iri: up[iri] for iri in known if iri not in reached}
    found = [*roots, *_top_rings(left)]
    own = [iri for iri in found if not is_machinery(iri)]  # owl:DeprecatedClass is none
    return sorted(own or found)


def _top_rings(up: Mapping[str, set[str]]) -> Iterator[str]:
    """The first of every circle that nothing stands above."""
    for ring in find_cycles(up):
        if all(up.get(iri, v.TOPS) <= {*ring} for iri in ring):
            yield ring[0]


def reach_all(start: str, edges: Mapping[str, Iterable[str]], reached: set[str]) -> None:
    todo = [start]
    while todo:
        iri = todo.pop()
        if iri not in reached:
            reached.add(iri)
            todo += edges.get(iri, ())
