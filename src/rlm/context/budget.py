"""Text cut to a number of characters, at a place where a reader would cut it."""

from __future__ import annotations

from collections.abc import Iterable


def one_line(text: str) -> str:
    return " ".join(text.split())


def clip(text: str, most: int) -> str:
    """At most `most` characters of one line; cut at a word where one ends in the last third."""
    line = one_line(text)
    if len(line) <= most:
        return line
    if most < 2:
        return line[: max(most, 0)]
    cut = line[: most - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > most * 2 // 3 else cut).rstrip(" ,;:") + "…"


def fit(lines: Iterable[str], most: int) -> str:
    """As many whole lines as fit, in order; a line that is too long is left out, and what follows
    it too."""
    kept: list[str] = []
    left = most
    for line in lines:
        if len(line) + bool(kept) > left:
            break
        left -= len(line) + bool(kept)
        kept.append(line)
    return "\n".join(kept)
