"""A guide: what somebody wrote down about one ontology. Markdown beside its file, as
`NAME.guide.md`.

The text before the first `##` heading is the summary. Every section below is a recipe: a way to do
one kind of task with this ontology. A recipe is authored; what is learnt lives in memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rlm.errors import OntologyError

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
