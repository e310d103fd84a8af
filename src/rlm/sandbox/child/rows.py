"""The rows of a result as model-written code sees them: a sequence of dicts that are on the host.

They come in pages while they are looped over. Printed, a result shows its size, its columns and its
first rows; in an f-string it is all of its rows, or a mark where these are long, as with a text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rlm.sandbox.child.texts import SLICE_CHARS, Call, HostText, SharedObject

PAGE_ROWS = 500
FETCHED = ("query", "source", "time", "seconds", "more", "hints")
NAMES = ("where", "group", "distinct", "sample", "columns", "key", *FETCHED)
"""What a result has, for `dir` and errors."""
HELD_CHARS = 1_000_000
"""Rows of up to so many characters are kept once they were looped over: a loop within a loop would
fetch them again and again."""


class Truth(dict[str, Any]):
    """The answer of an ASK, `{"boolean": False}`: as true as that."""

    def __bool__(self) -> bool:
        return bool(self.get("boolean"))


class Rows:
    """Rows that are held here: those that `where` chose. Of a result on the host see `HostRows`.

    The other engine runs the source of this class too: no base classes, properties or generators,
    and nothing here calls the host.
    """

    def __init__(self, ref: dict[str, Any], held: list[dict[str, Any]]) -> None:
        self.key, self.sz, self.prev = ref["key"], ref["sz"], ref["prev"]
        self.dtype, self.columns, self._count = "results", list(ref["columns"]), ref["rows"]
        about = ref.get("about", {})
        self.query, self.source = about.get("query", ""), about.get("source", "")
        self.time, self.seconds = about.get("time", ""), about.get("seconds", 0.0)
        self.more, self.hints = about.get("more", False), about.get("hints", [])
        self._held = held

    def __repr__(self) -> str:
        size = self._size()
        return f"Ref({self.key!r}, results, {size})" if self.key else f"Rows({size})"

    def _size(self) -> str:
        rows, columns = self._count, len(self.columns)
        return f"{rows} row{'s' * (rows != 1)} × {columns} column{'s' * (columns != 1)}"

    def __str__(self) -> str:
        return "\n".join([str(row) for row in self])

    def __len__(self) -> int:
        return self._count  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._held)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, str):
            raise TypeError(f"rows have numbers: r[0][{place!r}], or r.distinct({place!r})")
        return self._held[place]

    def where(self, test: Any = None, /, **wanted: Any) -> Any:
        """The rows for which test(row) is true and whose columns have these values; a text is
        found by its Turtle notation or by its plain characters."""
        for name in wanted:
            self._check(name)
        kept = []
        for row in self:
            if (test is None or test(row)) and all(
                self._same(row.get(name), wanted[name]) for name in wanted
            ):
                kept.append(row)
        ref = {"key": "", "sz": 0, "prev": "", "rows": len(kept), "columns": self.columns}
        about = {"query": self.query, "source": self.source, "time": self.time, "more": self.more}
        return Rows({**ref, "about": about}, kept)

    def group(self, column: str, of: str | None = None) -> dict[Any, Any]:
        """How many rows there are for each value, most first; with `of` the values of that column
        instead. None stands for rows without a value."""
        self._check(column)
        self._check(of or column)
        found: dict[Any, list[Any]] = {}
        for row in self:
            found.setdefault(row.get(column), []).append(row.get(of or column))
        if of is not None:
            return found
        counts = [(value, len(found[value])) for value in found]
        return dict(sorted(counts, key=lambda pair: -pair[1]))

    def distinct(self, column: str) -> list[Any]:
        """The values of a column, each once, in the order of the rows."""
        self._check(column)
        found: dict[Any, None] = {}
        for row in self:
            if column in row:
                found[row[column]] = None
        return list(found)

    def sample(self, n: int = 5) -> list[dict[str, Any]]:
        """At most n rows, spread evenly from the first to the last."""
        if n < 1:
            raise ValueError("a sample has at least one row")
        most = min(n, self._count)
        last = max(1, most - 1)
        return [self[at * (self._count - 1) // last] for at in range(most)]

    def _check(self, column: Any) -> None:
        if column not in self.columns:
            known = ", ".join(self.columns[:20])
            raise ValueError(f"there is no column {column!r}: there are {known}")

    def _same(self, value: Any, wanted: Any) -> bool:
        if isinstance(value, str) and value[:1] == '"' and value != wanted:
            return bool(value[1 : value.rfind('"')] == wanted)
        return bool(value == wanted)

    def _shown(self) -> str:
        """What print shows: the size, the columns and the first rows, in about 1,000 characters."""
        names = " ".join(["?" + name for name in self.columns[:12]])
        names += " …" if len(self.columns) > 12 else ""
        size = f"{self._size()} ({names[:300]})"
        lines = [f"{self.key}: {size}" if self.key else size]
        if self.more:
            lines[0] += "; the query has more rows: raise limit"
        if self._count < 2:
            lines += self.hints
        room, shown = 900, 0
        for row in self[:5]:
            short = {}
            for name in row:
                text = row[name]
                is_long = isinstance(text, str) and len(text) > 120
                short[name] = text[:119] + "…" if is_long else text
            line = str(short)
            if len(line) > room:
                if shown:
                    break
                line = line[:room] + "…"
            room -= len(line)
            lines.append(line)
            shown += 1
        left = self._count - shown
        more = f"… {left} more row{'s' * (left != 1)}"
        return "\n".join([*lines, more] if left else lines)


class HostRows(Rows, SharedObject):
    """The rows of a result on the host."""

    def __init__(self, call: Call, ref: dict[str, Any]) -> None:
        self._call = call
        self._kept: list[dict[str, Any]] | None = None
        self.key, self.sz, self.prev = ref["key"], ref["sz"], ref["prev"]
        self.dtype, self.columns, self._count = "results", list(ref["columns"]), ref["rows"]

    def __getattr__(self, name: str) -> Any:
        """What is seldom asked for is fetched then."""
        if name not in FETCHED:
            raise AttributeError(f"a result has no attribute {name!r}; it has {', '.join(NAMES)}")
        self.__dict__.update(self._call("rows.about", self.key))
        return self.__dict__.get(name)

    def __str__(self) -> str:
        if self.sz <= SLICE_CHARS:
            return super().__str__()
        return str(HostText(self._call, self.key, 0, self.sz))

    def __dir__(self) -> list[str]:
        return [*NAMES]

    def _page(self, start: int, stop: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while start + len(found) < stop:
            more = self._call("rows.page", self.key, start + len(found), stop)
            if not more:
                break
            found += more
        return found

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if self._kept is None and self.sz <= HELD_CHARS:
            self._kept = self._page(0, self._count)
        return self._pages() if self._kept is None else iter(self._kept)

    def _pages(self) -> Iterator[dict[str, Any]]:
        for start in range(0, self._count, PAGE_ROWS):
            yield from self._page(start, min(self._count, start + PAGE_ROWS))

    def __getitem__(self, place: Any) -> Any:
        if self._kept is not None and not isinstance(place, str):
            return self._kept[place]
        if isinstance(place, slice):
            start, stop, step = place.indices(self._count)
            if step == 1:
                return self._page(start, max(start, stop))
            return list(self)[place]
        if not isinstance(place, int):
            return super().__getitem__(str(place))
        at = place + self._count if place < 0 else place
        if not 0 <= at < self._count:
            raise IndexError(f"there are {self._count} rows, so none at {place}")
        return self._page(at, at + 1)[0]
