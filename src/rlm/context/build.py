"""The four layers together: at most 1,800 characters and the separators between them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from rlm.context import l0_sense, l1_schema, l2_memories, l3_guide
from rlm.context.guide import Guide, read_guide
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.open import open_engine
from rlm.store.backend import MemoryBackend
from rlm.store.types import MemoryItem

SEPARATOR = "\n\n---\n\n"
MOST = l0_sense.BUDGET + l1_schema.BUDGET + l2_memories.BUDGET + l3_guide.BUDGET


@dataclass(frozen=True, slots=True)
class BuiltContext:
    """What a prompt is given beforehand, and what is in it. `str(…)` is the text."""

    text: str
    layers: dict[str, int] = field(default_factory=dict)
    """Characters of each layer that is there."""
    memory_ids: tuple[str, ...] = ()
    """The memories of which something is in the text, best first."""

    def __str__(self) -> str:
        return self.text

    def __len__(self) -> int:
        return len(self.text)


def build_context(
    task: str,
    meta: GraphMeta | None = None,
    memories: Sequence[MemoryItem] = (),
    *,
    guide: Guide | None = None,
    lang: str | None = None,
    ont_path: str | Path | None = None,
    mem: MemoryBackend | None = None,
) -> BuiltContext:
    """Every layer that there is something for. Never longer than `MOST` and three separators.

    In place of a GraphMeta and of memories, `ont_path` names the ontology's file, whose guide is
    read too, and `mem` is the store that the memories are retrieved from (seed 002).
    """
    if ont_path is not None:
        with closing(open_engine(ont_path)) as engine:
            meta = engine.meta()
        guide = guide or read_guide(ont_path)
    if mem is not None:
        memories = [hit.item for hit in mem.retrieve(task, l2_memories.AT_MOST)]
    layers = {
        "l0": l0_sense.pack(meta, lang=lang) if meta is not None else "",
        "l1": l1_schema.pack(meta) if meta is not None else "",
        "l2": l2_memories.pack(memories),
        "l3": l3_guide.pack(guide, task),
    }
    there = {name: text for name, text in layers.items() if text}
    used = tuple(item.memory_id for item in memories[: l2_memories.AT_MOST]) if layers["l2"] else ()
    return BuiltContext(
        SEPARATOR.join(there.values()), {name: len(text) for name, text in there.items()}, used
    )
