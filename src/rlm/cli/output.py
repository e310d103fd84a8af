"""What is printed, and how it is made harmless.

Stored text comes from models and from other people's packs, so nothing of it may steer a terminal:
control characters, escape codes and marks that reorder text are shown as `\\x1b`, never sent. rich
gets finished `Text` and no markup. It is imported only for a table on a terminal (`table.py`); a
pipe gets the names of the columns, then one line a row, tabs between.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_UNSAFE_JSON = re.compile(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)

NARROW = 40
"""A column of a table that has something wider than this may wrap."""
PATIENCE_S = 1.0
"""Work that takes longer than this shows a progress bar."""


def plain(text: object) -> str:
    """Any text so that a terminal shows it and does nothing else; newlines and tabs stay."""
    return _UNSAFE.sub(_escape, str(text))


def one_line(text: object) -> str:
    """`plain`, with every run of white space as one space."""
    return plain(" ".join(str(text).split()))


def number_of(count: int, one: str, many: str) -> str:
    """`1 run`, `2 runs`, `1,000 runs`."""
    return f"{count:,} {one if count == 1 else many}"


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def encode_json(value: Any) -> str:
    """One line of JSON with real letters; what could steer a terminal is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def print_json(value: Any) -> None:
    """The one document of a command."""
    _write(encode_json(value))


def print_text(text: str) -> None:
    """Data for a person, line by line."""
    _write(plain(text))


def print_fields(fields: Sequence[tuple[str, object]]) -> None:
    """`name  value` lines, aligned; empty values are left out."""
    given = [(name, value) for name, value in fields if value not in (None, "", [], (), {})]
    shown = [(name, one_line(value)) for name, value in given]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        _write(f"{name:<{width}}  {value}")


def print_part(heading: str, lines: Iterable[str]) -> None:
    """A heading and lines below it, after a blank line; nothing without lines."""
    shown = [f"  {line}" for line in lines]
    if shown:
        print_text("\n".join(["", heading, *shown]))


def print_table(
    headers: Sequence[str], rows: Sequence[Sequence[object]], *, prose: Sequence[str] = ()
) -> None:
    """A table on a terminal; elsewhere tab-separated lines below the names of the columns.

    Only the columns named in `prose` wrap. A pipe gets every column, also an empty one.
    """
    cells = [[one_line(value) for value in row] for row in rows]
    if sys.stdout.isatty():
        from rlm.cli.table import show_table

        show_table(headers, cells, prose)
        return
    for line in [[one_line(name) for name in headers], *cells]:
        _write("\t".join(line))


def print_cells(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table in which every column wraps that has something wide."""
    columns = zip(headers, zip(*rows, strict=True), strict=True)
    wide = [name for name, cells in columns if max(map(len, cells)) > NARROW]
    print_table(headers, rows, prose=wide)


def notify(message: str) -> None:
    """A message to the person, on stderr."""
    print(plain(message), file=sys.stderr)


def ask(question: str) -> bool:
    """Whether a person at the terminal says yes; False without a terminal."""
    import click

    both = sys.stdin.isatty() and sys.stderr.isatty()
    return both and click.confirm(plain(question), err=True)


def _write(line: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    if encoding.lower().replace("-", "") != "utf8":
        line = line.encode(encoding, "backslashreplace").decode(encoding)
    print(line)


@contextmanager
def progress(
    what: str,
    total: int | Callable[[], int | None] | None = None,
    *,
    stream: TextIO | None = None,
    patience_s: float | None = None,
) -> Iterator[Callable[[int], None]]:
    """Yields a function to report how much is done; on a terminal a bar appears after a while.

    A total that takes time to find is a function, called when the bar appears.
    """
    target = sys.stderr if stream is None else stream
    if not target.isatty():
        yield lambda done: None
        return
    import threading

    bar = _Bar(what, total, target)
    timer = threading.Timer(PATIENCE_S if patience_s is None else patience_s, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield bar.advance_to
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def show_opening(source: str) -> AbstractContextManager[object]:
    """A bar while an ontology is opened."""
    path = Path(source).expanduser()
    loading = f"loading {path.name} (the next time it is cached)"
    return progress(loading if path.is_file() else f"asking {source}")


class _Bar:
    """A rich progress bar that does not exist until `start`; without a total it only moves."""

    def __init__(
        self, what: str, total: int | Callable[[], int | None] | None, stream: TextIO
    ) -> None:
        self._what, self._total, self._stream = what, total, stream
        self._done = 0
        self._progress: Any = None

    def start(self) -> None:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import Progress

        console = Console(file=self._stream, markup=False, highlight=False)
        shown = Progress(console=console, transient=True)
        total = self._total() if callable(self._total) else self._total
        self._task = shown.add_task(escape(plain(self._what)), total=total)
        shown.start()
        self._progress = shown
        shown.update(self._task, completed=self._done)  # also what was done in the meantime

    def advance_to(self, done: int) -> None:
        self._done = done
        if self._progress is not None:
            self._progress.update(self._task, completed=done)

    def stop(self) -> None:
        if self._progress is not None:
            self._progress.stop()
