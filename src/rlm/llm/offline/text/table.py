"""Programs of `offline` that look at a text first, and that read a table: a header line and rows,
with one delimiter.

Like those of `reading` they run in the sealed REPL. Rows are read one after another and not kept.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from typing import Any

from rlm.llm.offline.text.named import asked_texts
from rlm.llm.offline.text.reading import (
    Clock,
    blocks,
    fold,
    needle_pattern,
    runs_on,
    size_of,
    texts_of,
)


def split_row(line: str, delimiter: str) -> list[str]:
    """The cells of a row. What is no proper CSV is split at the delimiter."""
    line = line.rstrip("\r")
    if '"' not in line:
        return line.split(delimiter)
    try:
        return next(iter(csv.reader([line], delimiter=delimiter)), [])
    except Exception:
        return line.split(delimiter)


def number_of(cell: str, delimiter: str) -> float | None:
    """A cell as a number; None when it is none."""
    if len(cell) < 16 and cell.isascii() and cell.isdigit():
        return float(cell)
    cell = cell.strip().strip("$€£¥% \t").replace("\u2212", "-").replace("\xa0", "")[:60]
    if delimiter != "," and re.search(r"^[-+]?\d{1,3}(?:\.\d{3})*,\d+$|^[-+]?\d+,\d+$", cell):
        cell = cell.replace(".", "").replace(",", ".")
    elif re.search(r"^[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$", cell):
        cell = cell.replace(",", "")
    if not re.search(r"^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?$", cell):
        return None
    value = float(cell)
    return value if math.isfinite(value) else None


def sniff_table(text: Any) -> dict[str, Any]:
    """The delimiter and the columns of a table; no columns when the text does not look like one."""
    sample = text[:20_000].removeprefix("\ufeff")
    lines = sample.split("\n")
    if len(text) > len(sample) + 1:
        lines.pop()
    lines = [line for line in lines if line.strip()][:50]
    for delimiter in (",", "\t", ";", "|"):
        rows = [split_row(line, delimiter) for line in lines]
        if len(rows) < 2 or not 2 <= len(rows[0]) <= 500:
            continue
        names = [name.strip() for name in rows[0]]
        alike = len([row for row in rows if len(row) == len(names)])
        if alike < 2 or alike * 10 < len(rows) * (9 if '"' not in sample else 5):
            continue
        good = [name for name in names if re.search(r"^[^\W\d][^\n.!?{}\[\]<>=\"]{0,59}$", name)]
        if len(good) < len(names) or len(set(names)) < len(names):
            continue
        numeric = [
            cell for row in rows[1:] for cell in row if number_of(cell, delimiter) is not None
        ]
        if numeric or (len(rows) > 2 and max([len(cell) for row in rows for cell in row]) < 200):
            return {"delimiter": delimiter, "columns": names}
    return {"delimiter": "", "columns": []}


def look(context: Any, named: Any = ()) -> dict[str, Any]:
    """The size, the beginning, whether sentences run on over the ends of lines, and which texts are
    named."""
    texts = texts_of(context)
    known = (
        asked_texts([name for name, text in texts], list(named))
        if isinstance(context, dict)
        else []
    )
    meant = [name for _, name in known]
    texts = [(name, text) for name, text in texts if name in meant] or texts
    chars = size_of(context)
    first = next((text for name, text in texts if len(text)), "")
    whole = min(len(first), 20_000)
    sample = (
        first[:whole]
        if whole < 20_000
        else first[: whole // 2] + first[len(first) // 2 :][: whole // 2]
    )
    filled = [line for line in sample.split("\n") if line.strip()]
    record = re.compile(
        r"\W{0,2}(?:\d{4}[-/.]\d\d|\d\d?[:/.]\d\d|[A-Z][a-z]{2} [ \d]\d"
        r" |\d{9,13}\b|\d+\.\d+\.\d+\.\d+ |"
        r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b)"
    )
    records = len([line for line in filled[:400] if record.match(line)])
    return {
        "texts": len(texts),
        "chars": chars,
        "begins": sample[:200],
        "wrapped": runs_on(sample),
        "log": records >= 2 and records * 5 >= len(filled[:400]) * 3,
        "json": bool(re.match(r'\s*[\[{]\s*["\[{]', sample)),
        **sniff_table(first),
        **({"named": known} if known else {}),
    }


def open_cell(row: str, delimiter: str) -> bool:
    """Whether the last cell begins with a quote that is not closed."""
    inside = re.compile('(?:[^"]|"")*')
    place = 0
    while True:
        if row.startswith('"', place):
            match = inside.match(row, place + 1)
            place = match.end() + 1 if match else place + 1
            if place > len(row):
                return True
        place = row.find(delimiter, place) + 1
        if not place:
            return False


def table_rows(text: Any, clock: Clock, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The line where a row begins, and its cells. A cell in quotes may run on over some lines."""
    rest = ""
    for at, line, part, own in blocks(text, clock):
        begun = line - rest.count("\n")
        pieces = (rest + part[:own]).split("\n")
        rest = pieces.pop() if at + own < len(text) else ""
        held = ""
        for number, piece in enumerate(pieces, begun):
            if held or ('"' in piece and piece.count('"') % 2):
                begun = begun if held else number
                held = held + "\n" + piece if held else piece
                if len(held) < 10_000 and open_cell(held, delimiter):
                    continue
                piece, held = held, ""
            else:
                begun = number
            if piece.strip():
                yield begun, split_row(piece, delimiter)
        if held and at + own < len(text):
            rest = held + "\n" + rest
        elif held:
            for piece in held.split("\n"):  # a quote that is never closed
                if piece.strip():
                    yield begun, split_row(piece, delimiter)


def table(context: Any, clock: Clock, column: str, wanted: str, where: list[str]) -> dict[str, Any]:
    """Rows, or the sum, mean, least or greatest number of a column, over the rows that have all
    words of `where`."""
    patterns = [re.compile(needle_pattern(fold(word), "whole")) for word in where]
    rows, numbers, other, total = 0, 0, 0, 0.0
    best: dict[str, Any] = {}
    columns: list[str] = []
    for name, text in texts_of(context):
        shape = sniff_table(text)
        if not shape["columns"] or (column and column not in shape["columns"]):
            continue
        columns = columns or shape["columns"]
        place = shape["columns"].index(column) if column else 0
        header = True
        values: list[float] = []
        for line, cells in table_rows(text, clock, shape["delimiter"]):
            if header:
                header = False
                continue
            low = fold(" \n ".join(cells)) if patterns else ""
            if [1 for pattern in patterns if not pattern.search(low)]:
                continue
            rows += 1
            if not column:
                continue
            value = number_of(cells[place], shape["delimiter"]) if place < len(cells) else None
            if value is None:
                other += 1
                continue
            numbers += 1
            values.append(value)
            if len(values) > 10_000:
                values = [math.fsum(values)]
            if not best or (value > best["value"] if wanted == "max" else value < best["value"]):
                row = [
                    [title[:60], cell[:120]]
                    for title, cell in zip(shape["columns"], cells, strict=False)
                ][:30]
                best = {"text": name, "line": line, "value": value, "row": row}
        total = math.fsum([total, *values])
    return {
        "count": rows, "numbers": numbers, "other": other, "sum": total, "best": best,
        "columns": [title[:60] for title in columns][:100], "items": [],
    }  # fmt: skip
