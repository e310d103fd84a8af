"""L0: what an ontology is about, in at most 600 characters."""

from __future__ import annotations

from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.views.sense import sense_card

BUDGET = 600


def pack(meta: GraphMeta, budget: int = BUDGET, *, lang: str | None = None) -> str:
    """The sense card."""
    return sense_card(meta, budget=budget, lang=lang)
