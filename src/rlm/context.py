"""What a prompt is given beforehand: four layers, each with a budget in characters.

L0 is the ontology's sense card (600), L1 what its instances have, what its properties join and what
must not be mixed (400). L2 is what earlier runs learnt (600, or
more where the caller says so), L3 the recipe of its guide that fits, or the guide's summary (200).
L2 shows the best memory whole if it fits and a second as one line; with more room, each whole that
fits. It names others by title, each with its id; nothing in it is cut inside a sentence or a query,
and what does not fit is one `mem_get` away. Its heading and the line that asks for `Uses:` do not
count. The write gate knows the heading, so that what stands below it is never stored again. No
layer dumps triples.

A guide is what somebody wrote down about one ontology: Markdown beside its file, as
`NAME.guide.md`. The text before the first `##` heading is the summary; every section below is a
recipe, a way to do one kind of task. A recipe is authored; what is learnt lives in memory.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from rlm.errors import OntologyError
from rlm.ontology.labels import split_name
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.source import open_engine
from rlm.ontology.terms import local_name
from rlm.ontology.views.summary import schema_constraints, sense_card
from rlm.retrieval.tokens import parse_query
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
MODEL_MEMORY_CHARS = 2_400
"""L2 for a language model: a lesson of 120 + 300 + 600 characters with a template of 800 is whole,
or three or four of the usual length are."""
MAX_BYTES = 1 << 20
AT_MOST = 2
"""Memories in no more than `MEMORY_CHARS`. Where there is more room, all that fit."""
BULLETS = 3
ASSESS = (
    "Before taking action, briefly assess which of these strategies apply to your current task and"
    " which do not."
)
ASSESS_SHORT = "Assess which apply to the task; say so on a line, `Uses: 1` or `Uses: none`."
TITLES = "Also learnt over this {}; `print(mem_get('id'))` first where a title fits the question:"
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(.*\S)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}#{1,6}\s+")
_RULE = re.compile(r"\s*(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,}|={3,})")
LINE_CHARS = 300
"""Of a description, in the line of a memory that is not shown whole."""
STEP_CHARS = 200
"""Of a step in `format_memories_for_injection`."""
NAMED = 4
"""A property that the task names in full counts as so many that share a word with it; a class twice
that."""


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
        """The recipe that shares most telling words with the task: one of its title, or two of its
        text. What most recipes say tells none of them apart."""
        wanted = _telling_words(task)
        each = [(_telling_words(one.title), _telling_words(one.text)) for one in self.recipes]
        if len(each) > 2:
            held = [title | text for title, text in each]
            wanted = {word for word in wanted if 2 * sum(word in one for one in held) <= len(held)}
        scores = [3 * len(wanted & title) + len(wanted & text) for title, text in each]
        best = max(scores, default=0)
        return self.recipes[scores.index(best)] if best > 1 else None


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


def _telling_words(text: str) -> set[str]:
    """Stems without stopwords."""
    read = parse_query(text, max_terms=1_000)
    return set() if read.only_stops else set(read.terms)


@dataclass(frozen=True, slots=True)
class BuiltContext:
    """What a prompt is given beforehand, and what is in it. `str(…)` is the text."""

    text: str
    layers: dict[str, int] = field(default_factory=dict)
    """Characters of each layer that is there."""
    memory_ids: tuple[str, ...] = ()
    """The memories that are shown, best first."""
    named_ids: tuple[str, ...] = ()
    """Those of which only the title is in the text; their numbers follow."""

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
    learnt: Mapping[str, int] | None = None,
    memory_chars: int = MEMORY_CHARS,
    can_get: bool = True,
    further: Sequence[MemoryItem] = (),
) -> BuiltContext:
    """Every layer that there is something for. Never longer than the four budgets, of which
    `memory_chars` is that of L2, with its two lines above and three separators. In place of a
    GraphMeta and of memories, `ont_path` names the ontology's file, whose guide is read too, and
    `mem` is the store that the memories are retrieved from (seed 002). `learnt` says how many
    successful runs needed a class or a property: of what instances have, that is told first, after
    what the task has words of. `further` memories are named by their titles where L2 has room."""
    if ont_path is not None:
        with closing(open_engine(ont_path)) as engine:
            meta = engine.meta()
        guide = guide or read_guide(ont_path)
    if mem is not None:
        memories = [hit.item for hit in mem.retrieve(task, AT_MOST)]
    entries = _entries(memories, memory_chars, can_get=can_get)
    over = "graph" if any(item.scope.ontology for item in further) else "text"
    titles, named = _titles(further, len(entries) + 1, memory_chars - _length(entries), over)
    first = {} if meta is None else _terms_first(meta, task, learnt or {})
    layers = {
        "l0": "" if meta is None else sense_card(meta, SENSE_CHARS, lang, first),
        "l1": "" if meta is None else schema_constraints(meta, SCHEMA_CHARS, first, lang),
        "l2": _below_heading([*entries, *titles]),
        "l3": pack_guide(guide, task),
    }
    there = {name: text for name, text in layers.items() if text}
    used = tuple(item.memory_id for item in memories[: len(entries)])
    return BuiltContext(
        SEPARATOR.join(there.values()),
        {name: len(text) for name, text in there.items()},
        used,
        named,
    )


def _terms_first(meta: GraphMeta, task: str, learnt: Mapping[str, int]) -> dict[str, int]:
    """Classes and properties of instances, weighed by the runs that needed them. Before these goes
    what shares a telling word with the task, in a name or, where no other has it, in its comment;
    and before that what the task names in full, by a local name, a label or an alternative."""
    found, wanted = dict(learnt), _telling_words(task)
    most = max(found.values(), default=0) + 1
    terms = {iri for use in meta.class_use.values() for iri in use.properties}
    for iri in meta.class_use:
        terms.update((iri, *(sub for sub in meta.below(iri) if meta.classes.get(sub))))
    said = {iri: wanted & _telling_words(meta.comments.get(iri, "")) for iri in terms}
    uses = Counter(word for shared in said.values() for word in shared)
    for iri in terms:
        names = _names_of(meta, iri)
        if any(words <= wanted for words in names):
            found[iri] = found.get(iri, 0) + most * NAMED * (1 + (iri in meta.classes))
        elif any(words & wanted for words in names) or any(uses[word] == 1 for word in said[iri]):
            found[iri] = found.get(iri, 0) + most
    return found


def _names_of(meta: GraphMeta, iri: str) -> list[set[str]]:
    """The telling words of each name that a term has."""
    labels = (*meta.labels.get(iri, ()), *meta.alternatives.get(iri, ()))
    texts = {local_name(iri), *(text for text, _ in labels)}
    return [words for text in texts if (words := _telling_words(split_name(text)))]


def pack_guide(guide: Guide | None, task: str) -> str:
    """The recipe for the task where there is one, else the summary; '' without a guide."""
    if guide is None:
        return ""
    recipe = guide.best(task)
    if recipe is not None:
        return clip(f"Recipe, {recipe.title}: {recipe.text}", GUIDE_CHARS)
    return clip(f"Guide: {guide.summary}", GUIDE_CHARS) if guide.summary else ""


# -- L2: what earlier runs learnt


def _below_heading(entries: Sequence[str]) -> str:
    return "\n\n".join((f"{RECALLED_HEADING}\n{ASSESS_SHORT}", *entries)) if entries else ""


def _length(entries: Sequence[str]) -> int:
    return sum(len(entry) + 2 for entry in entries)


def _titles(
    memories: Sequence[MemoryItem], first: int, budget: int, over: str
) -> tuple[list[str], tuple[str, ...]]:
    """Lessons that a model may want, numbered titles in one entry, and their ids: it knows better
    than their likeness which apply."""
    titles = TITLES.format(over)
    lines, named = [titles if first > 1 else titles.replace("Also l", "L")], list[str]()
    for item in memories:
        line = f"{first + len(named)}. {' '.join(item.title.split())} [{item.memory_id}]"
        if len("\n".join((*lines, line))) <= budget:
            lines.append(line)
            named.append(item.memory_id)
    return (["\n".join(lines)], tuple(named)) if named else ([], ())


def _entries(memories: Sequence[MemoryItem], budget: int, *, can_get: bool) -> list[str]:
    """Each whole if it fits, else as one line."""
    found: list[str] = []
    for number, item in enumerate(memories[: most_shown(budget)], 1):
        room = budget - _length(found)
        entry = _whole_entry(number, item)
        if len(entry) > room:
            entry = _entry_line(number, item, room, can_get=can_get)
        if not entry:
            break
        found.append(entry)
    return found


def most_shown(budget: int) -> int | None:
    """How many memories may be shown in so many characters; None for as many as fit."""
    return AT_MOST if budget <= MEMORY_CHARS else None


def _title_line(number: int, item: MemoryItem) -> str:
    avoid = "Avoid: " if item.outcome == "failure" or item.source_type == "failure" else ""
    return f"### {number}. {avoid}{' '.join(item.title.split())}"


def _whole_entry(number: int, item: MemoryItem) -> str:
    described = " ".join(item.description.split())
    lines = [f"{_title_line(number, item)} [{item.memory_id}]", described, _plain(item.content)]
    return "\n".join(line for line in lines if line)


def _entry_line(number: int, item: MemoryItem, most: int, *, can_get: bool) -> str:
    """Title, when to use it, and how to get the rest; '' when not even the title fits."""
    title = _title_line(number, item)
    get = f" Whole with mem_get('{item.memory_id}')." if can_get else f" [{item.memory_id}]"
    left = most - len(title) - 1 - len(get)
    if left < 0:
        return ""
    described = first_sentences(item.description, min(left - 1, LINE_CHARS))
    return f"{title}:{f' {described}' if described else ''}{get}"


def first_sentences(text: str, most: int) -> str:
    """As many whole sentences as fit, from the first on."""
    kept = ""
    for sentence in re.split(r"(?<=[.!?;])\s+", " ".join(text.split())):
        longer = f"{kept} {sentence}" if kept else sentence
        if len(longer) > most:
            break
        kept = longer
    return kept


def _plain(content: str) -> str:
    """The content with nothing in it that could pass for a part of the prompt: headings lose their
    marks, rules go, what looks like either in a fenced block is indented, a fence is closed."""
    lines: list[str] = []
    fence = ""
    for line in content.strip().splitlines():
        mark = _FENCE.match(line)
        if fence:
            inside = f" {line}" if line.startswith(("#", "---")) else line
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        else:
            fence = mark[1] if mark else ""
            inside = _HEADING.sub("", line)
        if fence or not _RULE.fullmatch(inside):
            lines.append(inside.rstrip())
    return "\n".join([*(line for line in lines if line), *([fence] if fence else [])])


def format_memories_for_injection(
    memories: Sequence[MemoryItem], max_bullets: int = BULLETS
) -> str:
    """All of these memories for a prompt: heading, the assess line, and an entry each with title,
    description and at most `max_bullets` steps; never the full content."""
    if not memories:
        return ""
    parts = [_short_entry(number, item, max_bullets) for number, item in enumerate(memories, 1)]
    return f"{RECALLED_HEADING}\n{ASSESS}\n\n" + "\n\n".join(parts)


def _short_entry(number: int, item: MemoryItem, max_bullets: int) -> str:
    """One memory: title, description and some steps (seed 001)."""
    steps = [f"- {clip(step, STEP_CHARS)}" for step in bullets(item.content)[:max_bullets]]
    lines = [_title_line(number, item), clip(item.description, LINE_CHARS)]
    return "\n".join(filter(None, [*lines, *(["Key points:", *steps] if steps else [])]))


def bullets(content: str) -> list[str]:
    """The steps of a procedure: its list items, or its sentences where it has no list."""
    found = [match[1] for line in content.splitlines() if (match := _BULLET.match(line))]
    if found:
        return found
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n+", content) if part.strip()]


def clip(text: str, most: int) -> str:
    """At most `most` characters of one line, cut behind a word."""
    return textwrap.shorten(text, most, placeholder="…")


def is_shown_whole(item: MemoryItem) -> bool:
    """Whether it is whole in every prompt that has it first."""
    return bool(bullets(item.content)) and len(_whole_entry(1, item)) <= MEMORY_CHARS


def list_steps(steps: list[str]) -> str:
    """Steps as a list."""
    return "\n".join(f"- {' '.join(step.split())}" for step in steps)
