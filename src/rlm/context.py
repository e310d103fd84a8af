"""What a prompt is given beforehand: four layers, at most 1,800 characters and their separators.

L0 is the ontology's sense card, L1 what its properties join and what must not be mixed, L2 what
earlier runs learnt, L3 the recipe of its guide that fits, or the guide's summary. L2 is two
procedures of 300 characters, never a whole memory: title, description and a few steps. The write
gate knows its heading, so that what stands below it is never stored again. No layer dumps triples.

A guide is what somebody wrote down about one ontology: Markdown beside its file, as
`NAME.guide.md`. The text before the first `##` heading is the summary; every section below is a
recipe, a way to do one kind of task. A recipe is authored; what is learnt lives in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from rlm.errors import OntologyError
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.open import open_engine
from rlm.ontology.views.summary import schema_constraints, sense_card
from rlm.store.backend import MemoryBackend
from rlm.store.gate import RECALLED_HEADING
from rlm.store.types import MemoryItem

__all__ = [
    "BuiltContext",
    "Guide",
    "Recipe",
    "build_context",
    "format_memories_for_injection",
    "read_guide",
]

SEPARATOR = "\n\n---\n\n"
SENSE_CHARS, SCHEMA_CHARS, MEMORY_CHARS, GUIDE_CHARS = 600, 400, 600, 200
MOST = SENSE_CHARS + SCHEMA_CHARS + MEMORY_CHARS + GUIDE_CHARS
MAX_BYTES = 1 << 20
_WORD = re.compile(r"[^\W_]{3,}")
EACH = 300
AT_MOST = 2
BULLETS = 3
LEAST_DESCRIPTION = 20
"""A description is left out rather than cut shorter than this."""
ASSESS = (
    "Before taking action, briefly assess which of these strategies apply to your current task and"
    " which do not."
)
ASSESS_SHORT = "Assess which apply to the task; say so on a line, `Uses: 1` or `Uses: none`."
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(.*\S)")
TITLE_CHARS = 45
TITLE_WORDS = 10
DESCRIPTION_CHARS = 70
STEPS = 3


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
    """Every layer that there is something for. Never longer than `MOST` and three separators. In
    place of a GraphMeta and of memories, `ont_path` names the ontology's file, whose guide is read
    too, and `mem` is the store that the memories are retrieved from (seed 002)."""
    if ont_path is not None:
        with closing(open_engine(ont_path)) as engine:
            meta = engine.meta()
        guide = guide or read_guide(ont_path)
    if mem is not None:
        memories = [hit.item for hit in mem.retrieve(task, AT_MOST)]
    layers = {
        "l0": "" if meta is None else sense_card(meta, budget=SENSE_CHARS, lang=lang),
        "l1": "" if meta is None else schema_constraints(meta, budget=SCHEMA_CHARS),
        "l2": pack_memories(memories),
        "l3": pack_guide(guide, task),
    }
    there = {name: text for name, text in layers.items() if text}
    used = tuple(item.memory_id for item in memories[:AT_MOST]) if layers["l2"] else ()
    return BuiltContext(
        SEPARATOR.join(there.values()), {name: len(text) for name, text in there.items()}, used
    )


def pack_guide(guide: Guide | None, task: str, budget: int = GUIDE_CHARS) -> str:
    """The recipe for the task where there is one, else the summary; '' without a guide."""
    if guide is None:
        return ""
    recipe = guide.best(task)
    if recipe is not None:
        return clip(f"Recipe, {recipe.title}: {recipe.text}", budget)
    return clip(f"Guide: {guide.summary}", budget) if guide.summary else ""


# -- L2: what earlier runs learnt


def pack_memories(
    memories: Sequence[MemoryItem],
    budget: int = MEMORY_CHARS,
    *,
    at_most: int = AT_MOST,
    each: int = EACH,
) -> str:
    """The best of the memories, in their order; '' when there is none, or no room for one."""
    head = f"{RECALLED_HEADING}\n{ASSESS_SHORT}\n"
    room = budget - len(head)
    chosen = list(memories[:at_most])
    if not chosen or room < 40:
        return ""
    share = min(each, (room - 2 * (len(chosen) - 1)) // len(chosen))
    parts = [_entry(number, item, share, BULLETS) for number, item in enumerate(chosen, 1)]
    return head + "\n\n".join(part for part in parts if part)


def format_memories_for_injection(
    memories: Sequence[MemoryItem], max_bullets: int = BULLETS
) -> str:
    """All of these memories for a prompt: heading, the assess line, and an entry each with title,
    description and at most `max_bullets` steps; never the full content."""
    if not memories:
        return ""
    parts = [
        _entry(number, item, 1_000, max_bullets, heading="Key points:")
        for number, item in enumerate(memories, 1)
    ]
    return f"{RECALLED_HEADING}\n{ASSESS}\n\n" + "\n\n".join(parts)


def _entry(number: int, item: MemoryItem, most: int, max_bullets: int, *, heading: str = "") -> str:
    """One memory in at most `most` characters, its steps below a heading if there is one."""
    avoid = "Avoid: " if item.outcome == "failure" or item.source_type == "failure" else ""
    title = clip(f"### {number}. {avoid}{item.title}", most)
    left = most - len(title) - 1 - (len(heading) + 1 if heading else 0)
    lines = [title]
    steps = bullets(item.content)[:max_bullets]
    spare = left - sum(len(step) + 3 for step in steps) - 1
    if spare < 0:  # some step is cut anyway
        spare = max(60, left // 3)
    if item.description and left > 20 and spare >= LEAST_DESCRIPTION:
        described = clip(item.description, min(left, spare))
        lines.append(described)
        left -= len(described) + 1
    if steps and left > 30:
        lines += [heading, fit(_steps(steps, left), left)]
    return "\n".join(line for line in lines if line)


def _steps(steps: list[str], most: int) -> list[str]:
    """The steps as bullets in so many characters: short ones whole, long ones share the rest."""
    left, shares = most - 3 * len(steps), [0] * len(steps)
    waiting = sorted(range(len(steps)), key=lambda place: len(steps[place]))
    while waiting:
        place = waiting.pop(0)
        shares[place] = min(len(steps[place]), max(8, left // (len(waiting) + 1)))
        left -= shares[place]
    return ["- " + clip(step, share) for step, share in zip(steps, shares, strict=True)]


def bullets(content: str) -> list[str]:
    """The steps of a procedure: its list items, or its sentences where it has no list."""
    found = [match[1] for line in content.splitlines() if (match := _BULLET.match(line))]
    if found:
        return found
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n+", content) if part.strip()]


def clip(text: str, most: int) -> str:
    """At most `most` characters of one line; cut at a word where one ends in the last third."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    if most < 2:
        return line[: max(most, 0)]
    cut = line[: most - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > most * 2 // 3 else cut).rstrip(" ,;:") + "…"


def fit(lines: Iterable[str], most: int) -> str:
    """As many whole lines as fit, up to the first that does not."""
    kept: list[str] = []
    left = most
    for line in lines:
        if len(line) + bool(kept) > left:
            break
        left -= len(line) + bool(kept)
        kept.append(line)
    return "\n".join(kept)


def is_shown_whole(item: MemoryItem, *, beside: int = 1) -> bool:
    """Whether every step is uncut in a prompt that holds `beside` others as long."""
    text = pack_memories([item] * (beside + 1))
    lines = text.splitlines()
    steps = bullets(item.content)[:STEPS]
    return bool(steps) and all(
        lines.count("- " + " ".join(step.split())) >= beside + 1 for step in steps
    )


def short_title(text: str) -> str:
    """At most 10 words and 45 characters, cut at a word."""
    words = " ".join(text.split()).rstrip(".!? ").split(" ")[:TITLE_WORDS]
    while len(words) > 1 and len(" ".join(words)) > TITLE_CHARS:
        words.pop()
    return " ".join(words)[:TITLE_CHARS]


def list_steps(steps: list[str]) -> str:
    """Steps as a list."""
    return "\n".join(f"- {' '.join(step.split())}" for step in steps)
