"""A table on a terminal, readable also where it is narrow.

Ids, dates and single words are never cut. Prose (a title, a description) wraps at words, to three
lines at most, the last ending in an ellipsis. Where too little room would be left for it, it goes
below its row. rich measures the letters, some of which are two columns wide, and knows the width of
the terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import zip_longest

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

GAP = "  "
LEAST = 24
"""A column of prose that must wrap has at least this width, or it goes below the row."""
MOST_LINES = 3


def show_table(
    headers: Sequence[str], cells: Sequence[Sequence[str]], prose: Sequence[str]
) -> None:
    """Print rows of harmless text without newlines; a column that is empty throughout goes."""
    console = Console(file=sys.stdout, markup=False, highlight=False, emoji=False)
    widths = {
        place: max(cell_len(headers[place]), *(cell_len(row[place]) for row in cells))
        for place in range(len(headers))
        if any(row[place] for row in cells)
    }
    loose = {place: width for place, width in widths.items() if headers[place] in prose}
    fixed = {place: width for place, width in widths.items() if place not in loose}
    room = console.width - sum(fixed.values()) - len(GAP) * (len(widths) - 1)
    below = room < sum(min(width, LEAST) for width in loose.values())
    beside = fixed if below else widths | _share(room, loose)
    tight = sum(beside.values()) + len(GAP) * (len(beside) - 1) > console.width
    for number, row in enumerate([headers, *cells]):
        shown = _join(console, row, beside, " " if tight else GAP)
        for place in loose if below else ():
            shown += _indent(console, row[place])
        for line in shown:
            console.print(Text(line.rstrip(), style="" if number else "bold"), soft_wrap=True)


def _indent(console: Console, text: str) -> list[str]:
    """A text below its row; nothing for an empty one."""
    width = max(console.width - len(GAP), 1)
    return [GAP + line for line in _lines(console, text, width)] if text else []


def _share(room: int, wanted: dict[int, int]) -> dict[int, int]:
    """The width of each column: what it wants, or an equal share of what the modest ones leave."""
    given: dict[int, int] = {}
    for place in sorted(wanted, key=lambda each: wanted[each]):
        left = room - sum(given.values())
        given[place] = min(wanted[place], left // (len(wanted) - len(given)))
    return given


def _lines(console: Console, text: str, width: int) -> list[str]:
    """A text at this width; what goes beyond the last line is cut."""
    if cell_len(text) <= width:
        return [text]
    lines = [line.plain.rstrip() for line in Text(text).wrap(console, width, overflow="fold")]
    if len(lines) > MOST_LINES:
        last = lines[MOST_LINES - 1]
        cut = set_cell_size(last, min(cell_len(last), width - 1)).rstrip()
        lines[MOST_LINES - 1 :] = [f"{cut}…"]
    return lines


def _join(console: Console, row: Sequence[str], widths: dict[int, int], gap: str) -> list[str]:
    """The lines of one row, its cells beside each other at these widths."""
    columns = [_lines(console, row[place], width) for place, width in widths.items()]
    lines = []
    for parts in zip_longest(*columns, fillvalue=""):
        cells = zip(parts, widths.values(), strict=True)
        lines.append(gap.join(set_cell_size(part, width) for part, width in cells))
    return lines
