"""The four layers together: at most 1,800 characters and the separators between them.

L0 is the ontology's sense card, L1 what its properties join and what must not be mixed, L2 what
earlier runs learnt (`l2_memories`), L3 the recipe of its guide that fits, or the guide's summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rlm.context import l2_memories
from rlm.context.guide import Guide
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.views.schema import schema_constraints
from rlm.ontology.views.sense import sense_card
from rlm.store.types import MemoryItem

SEPARATOR = "\n\n---\n\n"
SENSE_CHARS, SCHEMA_CHARS, GUIDE_CHARS = 600, 400, 200
MOST = SENSE_CHARS + SCHEMA_CHARS + l2_memories.BUDGET + GUIDE_CHARS


@dataclass(frozen=True, slots=True)
class BuiltContext:
    """What a prompt is given beforehand, and what is in it."""

    text: str
    layers: dict[str, int] = field(default_factory=dict)
    """Characters of each layer that is there."""
    memory_ids: tuple[str, ...] = ()
    """The memories of which something is in the text, best first."""


def build_context(
    task: str,
    meta: GraphMeta | None = None,
    memories: Sequence[MemoryItem] = (),
    *,
    guide: Guide | None = None,
    lang: str | None = None,
) -> BuiltContext:
    """Every layer that there is something for. Never longer than `MOST` and three separators."""
    layers = {
        "l0": "" if meta is None else sense_card(meta, budget=SENSE_CHARS, lang=lang),
        "l1": "" if meta is None else schema_constraints(meta, budget=SCHEMA_CHARS),
        "l2": l2_memories.pack(memories),
        "l3": pack_guide(guide, task),
    }
    there = {name: text for name, text in layers.items() if text}
    used = tuple(item.memory_id for item in memories[: l2_memories.AT_MOST]) if layers["l2"] else ()
    return BuiltContext(
        SEPARATOR.join(there.values()), {name: len(text) for name, text in there.items()}, used
    )


def pack_guide(guide: Guide | None, task: str, budget: int = GUIDE_CHARS) -> str:
    """The recipe for the task where there is one, else the summary; '' without a guide."""
    if guide is None:
        return ""
    recipe = guide.best(task)
    if recipe is not None:
        return l2_memories.clip(f"Recipe, {recipe.title}: {recipe.text}", budget)
    return l2_memories.clip(f"Guide: {guide.summary}", budget) if guide.summary else ""
