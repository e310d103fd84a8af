"""Names that are nearly the one that was asked for: for errors that say what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rlm.errors import OntologyError
from rlm.ontology.labels import plain, stem
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.terms import local_name

SUGGESTED = 3


def distance(one: str, two: str, most: int) -> int:
    """Edits between two words, a swap of neighbours being one; most + 1 for any more."""
    if one == two:
        return 0
    if abs(len(one) - len(two)) > most:
        return most + 1
    far = most + 1
    older: list[int] = []
    before = list(range(len(two) + 1))
    for i, left in enumerate(one, 1):
        row = [far] * (len(two) + 1)
        row[0] = i
        # Further off the diagonal it is too far.
        for j in range(max(1, i - most), min(len(two), i + most) + 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != two[j - 1]))
            if i > 1 and j > 1 and left == two[j - 2] and one[i - 2] == two[j - 1]:
                best = min(best, older[j - 2] + 1)
            row[j] = best
        if min(row) > most and min(before) > most:
            return far
        older, before = before, row
    return min(before[-1], far)


def tolerance(text: str) -> int:
    """How many edits a word of this length forgives."""
    return 0 if len(text) < 3 else 1 if len(text) < 6 else 2 if len(text) < 12 else 3


def squeezed(text: str) -> str:
    """A text for comparing as one word: plural endings and spaces gone."""
    return "".join(map(stem, plain(text).split()))


def nearest(
    meta: GraphMeta, name: str, among: Iterable[str] | None = None, most: int = SUGGESTED
) -> list[str]:
    """The IRIs whose name or label is nearest to the local name of `name`, the best first."""
    wanted = squeezed(local_name(name.strip("<> ")))
    if not wanted:
        return []
    allowed = max(1, tolerance(wanted))
    found: dict[str, tuple[int, bool, int, str]] = {}
    for iri in (*meta.classes, *meta.properties, *meta.individuals) if among is None else among:
        for text in _names(meta, iri):
            edits = distance(wanted, text, allowed)
            if edits > allowed and not _begins(wanted, text):
                continue
            rank = (edits, iri in meta.deprecated, len(text), iri)
            found[iri] = min(rank, found.get(iri, rank))
    return sorted(found, key=lambda iri: found[iri])[:most]


def _begins(one: str, two: str) -> bool:
    """Whether one is the beginning of the other, and long enough to mean something."""
    return min(len(one), len(two)) > 3 and (one.startswith(two) or two.startswith(one))


def _names(meta: GraphMeta, iri: str) -> Iterator[str]:
    yield squeezed(local_name(iri))
    for source in (meta.labels, meta.alternatives):
        for text, _ in source.get(iri, ()):
            yield squeezed(text)


def not_found(
    meta: GraphMeta, given: str, what: str = "term", among: Iterable[str] | None = None
) -> OntologyError:
    """The error for a name that the graph does not have."""
    near = [_show_term(meta, iri) for iri in nearest(meta, given, among)]
    todo = f"did you mean {' or '.join(near)}?" if near else "find its name with search_entity(…)"
    shown = given if len(given) <= 200 else given[:199] + "…"
    return OntologyError(f"there is no {what} {shown} in this graph; {todo}")


def _show_term(meta: GraphMeta, iri: str) -> str:
    curie, label = meta.curie(iri), meta.label(iri)
    return curie if squeezed(label) == squeezed(local_name(iri)) else f"{curie} ({label})"
