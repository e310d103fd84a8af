"""L1: what the properties join and what must not be mixed, in at most 400 characters."""

from __future__ import annotations

from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.views.schema import schema_constraints

BUDGET = 400


def pack(meta: GraphMeta, budget: int = BUDGET) -> str:
    """Domains, ranges, disjointness and anti-patterns."""
    return schema_constraints(meta, budget=budget)
