"""A list that is read page by page: what every view that lists something returns.

`total` is the true number of rows, `rows` the first of them from an offset on, `next_offset` where
to go on, or None. A tool that has to shorten a page moves `next_offset` with it, so that nobody who
follows it misses a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from rlm.errors import OntologyError

MOST_ROWS = 10_000
ROWS = 100
T = TypeVar("T")


class Page(list[Any]):
    """The beginning of a list that has `total` entries, or at least so many where not `counted`."""

    def __init__(self, entries: Iterable[Any], total: int | None = None, *, counted: bool = True):
        super().__init__(entries)
        self.total = len(self) if total is None else total
        self.counted = counted

    @property
    def rest(self) -> int:
        """How many are missing, at least."""
        return max(self.total - len(self), int(not self.counted))

    def map(self, show: Callable[[Any], Any]) -> Page:
        return Page(map(show, self), self.total, counted=self.counted)


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of a list is wanted."""

    limit: int = ROWS
    offset: int = 0

    def __post_init__(self) -> None:
        check_limit(self.limit, MOST_ROWS)
        if isinstance(self.offset, bool) or not isinstance(self.offset, int) or self.offset < 0:
            raise OntologyError(f"offset is {self.offset!r}; it must be 0 or more, as next_offset")

    def page(self, every: Sequence[T], show: Callable[[T], Any], **head: Any) -> dict[str, Any]:
        """The part of a whole list, each entry as it is shown."""
        shown = every[self.offset : self.offset + min(self.limit, MOST_ROWS)]
        return self.page_of(list(map(show, shown)), len(every), **head)

    def page_of(self, shown: Sequence[Any], total: int, **head: Any) -> dict[str, Any]:
        """The part that somebody else has cut out of a list of `total` entries."""
        end = self.offset + len(shown)
        rows = Page(shown, max(total - self.offset, len(shown)))
        next_offset = end if shown and end < total else None
        return {**head, "total": total, "rows": rows, "next_offset": next_offset}


def check_limit(limit: int, most: int) -> int:
    """A limit within its cap. Raises OntologyError for what is no positive number."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise OntologyError(f"limit is {limit!r}; it must be a whole number from 1 to {most}")
    return min(limit, most)


def one_of(value: object, known: Iterable[str], what: str) -> str:
    """The value, if it is known. Raises OntologyError that lists what is."""
    names = list(known)
    if not isinstance(value, str) or value not in names:
        raise OntologyError(f"{what} is {value!r:.60}; it can be {', '.join(names)}")
    return value
