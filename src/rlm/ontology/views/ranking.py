"""Which classes and properties matter: those in use, and those that hold the schema together.

Frequency alone names owl:Thing, rdfs:comment and rdfs:label in every ontology. So terms of the
machinery, annotations and deprecated terms are left out, and a class earns its place by instances,
by the classes below it (two levels) and by the properties that name it; a property by its uses, the
weight of the classes at its ends and the properties below it. Logarithms, because a hundred
instances are not a hundred times as telling as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import wraps
from heapq import nsmallest
from math import log1p
from typing import Any, TypeVar

from rlm.ontology import vocabulary as v
from rlm.ontology.meta.graph_meta import NONE, GraphMeta

T = TypeVar("T")

_STEP_BACK = 1.5
_NAMING = frozenset((*v.LABELS, *v.ALTERNATIVES, *v.DEFINITIONS, *v.COMMENTS))


def _once(weigh: Callable[[GraphMeta], T]) -> Callable[[GraphMeta], T]:
    """Weigh a graph once: every layer of a prompt asks again."""

    @wraps(weigh)
    def kept(meta: GraphMeta) -> T:
        cache: dict[str, Any] = meta.__dict__.setdefault("_ranked", {})
        if weigh.__name__ not in cache:
            cache[weigh.__name__] = weigh(meta)
        found: T = cache[weigh.__name__]
        return found

    return kept


def key_classes(meta: GraphMeta, most: int) -> list[str]:
    """The classes that matter, the first the most."""
    weights = class_weights(meta)
    return nsmallest(most, weights, key=lambda iri: (-weights[iri], iri))


def key_properties(meta: GraphMeta, most: int) -> list[str]:
    """The object and datatype properties that matter, the first the most.

    One that joins the same classes as better ones steps back for each of them, so that a list of
    few shows what there is.
    """
    weights = dict(property_weights(meta))
    alike: Counter[tuple[frozenset[str] | None, ...]] = Counter()
    for iri in sorted(weights, key=lambda iri: (-weights[iri], iri)):
        ends = (meta.doms.get(iri), meta.rngs.get(iri))
        if any(ends):
            weights[iri] -= _STEP_BACK * alike[ends]
            alike[ends] += 1
    return nsmallest(most, weights, key=lambda iri: (-weights[iri], iri))


@_once
def class_weights(meta: GraphMeta) -> dict[str, float]:
    own = own_namespace(meta)
    found = {}
    for iri in meta.subject_terms():
        below = meta.subs.get(iri, NONE)
        subs = frozenset.__iter__(below)  # in no order, which is quicker
        descendants = len(below) + sum(len(meta.subs.get(sub, NONE)) for sub in subs)
        links = len(meta.domain_of.get(iri, NONE)) + len(meta.range_of.get(iri, NONE))
        weight = 2 * log1p(meta.classes[iri]) + log1p(descendants) + 2 * log1p(links)
        found[iri] = weight + (1.0 if iri.startswith(own) else 0.0)
    return found


@_once
def property_weights(meta: GraphMeta) -> dict[str, float]:
    own, classes = own_namespace(meta), class_weights(meta)
    below = Counter(parent for parents in meta.super_properties.values() for parent in parents)
    found = {}
    for iri, uses in meta.properties.items():
        remark = iri in _NAMING or meta.kinds.get(iri) == "annotation"
        if remark or v.is_machinery(iri) or iri in meta.deprecated:
            continue
        ends = [
            max((classes.get(end, 0.0) for end in side.get(iri, NONE)), default=0.0)
            for side in (meta.doms, meta.rngs)
        ]
        weight = 2 * log1p(uses) + log1p(below[iri]) + sum(ends) / 2
        weight -= 2.0 if iri in meta.plain_forms else 0.0
        found[iri] = weight + (1.0 if iri.startswith(own) else 0.0)
    return found


@_once
def own_namespace(meta: GraphMeta) -> str:
    """The namespace with most classes and properties, the machinery's aside."""
    terms = (iri for iri in (*meta.classes, *meta.properties) if not v.is_machinery(iri))
    spaces = Counter(space for space in map(v.namespace, terms) if space)
    return min(spaces, key=lambda space: (-spaces[space], space)) if spaces else "\0"
