"""Procedures in the few characters that a prompt has for them."""

from __future__ import annotations

from rlm.context.l2_memories import bullets, pack
from rlm.store.types import MemoryItem

TITLE_CHARS = 45
TITLE_WORDS = 10
DESCRIPTION_CHARS = 70
STEPS = 3


def is_shown_whole(item: MemoryItem, *, beside: int = 1) -> bool:
    """Whether every step is uncut in a prompt that holds `beside` others as long."""
    text = pack([item] * (beside + 1))
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
