"""The four layers together: at most 1,800 characters and the separators between them.

L0 is the ontology's sense card, L1 what its properties join and what must not be mixed, L2 what
earlier runs learnt (`l2_memories`), L3 the recipe of its guide that fits, or the guide's summary.

A guide is what somebody wrote down about one ontology: Markdown beside its file, as
`NAME.guide.md`. The text before the first `##` heading is the summary; every section below is a
recipe, a way to do one kind of task. A recipe is authored; what is learnt lives in memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from rlm.context import l2_memories
from rlm.errors import OntologyError
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.open import open_engine
from rlm.ontology.views.schema import schema_constraints
from rlm.ontology.views.sense import sense_card
from rlm.store.backend import MemoryBackend
from rlm.store.types import MemoryItem

SEPARATOR = "\n\n---\n\n"
SENSE_CHARS, SCHEMA_CHARS, GUIDE_CHARS = 600, 400, 200
MOST = SENSE_CHARS + SCHEMA_CHARS + l2_memories.BUDGET + GUIDE_CHARS
MAX_BYTES = 1 << 20
_WORD = re.compile(r"[^\W_]{3,}")


@dataclass(frozen=True, slots=True)
class Recipe:
    """One way to do one kind of task."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Guide:
    """The summary of an ontology and its recipes."""

    summary: str = ""
    recipes: tuple[Recipe, ...] = ()

    def best(self, task: str) -> Recipe | None:
        """The recipe that shares most words with the task; None when none shares any."""
        wanted = _words(task)
        scored = [
            (
                3 * len(wanted & _words(recipe.title)) + len(wanted & _words(recipe.text)),
                -place,
                recipe,
            )
            for place, recipe in enumerate(self.recipes)
        ]
        score, _, recipe = max(scored, default=(0, 0, None), key=lambda entry: entry[:2])
        return recipe if score else None


def read_guide(ontology_path: str | Path) -> Guide | None:
    """The guide beside an ontology; None when there is none."""
    path = Path(ontology_path)
    name = path.name.removesuffix(".gz")
    beside = path.with_name(
        name.rpartition(".")[0] + ".guide.md" if "." in name else name + ".guide.md"
    )
    if not beside.is_file():
        return None
    try:
        if beside.stat().st_size > MAX_BYTES:
            raise OntologyError(f"{beside} is larger than a megabyte: a guide is a page or two")
        return parse_guide(beside.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as exc:
        raise OntologyError(f"{beside} cannot be read as Markdown: {exc}") from exc


def parse_guide(text: str) -> Guide:
    """A guide from its Markdown."""
    head, *sections = re.split(r"(?m)^##\s+", text)
    summary = " ".join(
        line for line in head.splitlines() if line.strip() and not line.startswith("#")
    )
    recipes = []
    for section in sections:
        title, _, body = section.partition("\n")
        if title.strip() and body.strip():
            recipes.append(Recipe(title.strip(), body.strip()))
    return Guide(" ".join(summary.split()), tuple(recipes))


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


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
