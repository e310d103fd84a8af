"""A text of any length as model-written code sees it: a string whose characters are on the host.

A slice of up to `SLICE_CHARS` is a real string. A longer one is a view that still holds nothing;
formatted into a prompt it becomes a mark that the host replaces by the passage when it asks a
model, and `read_marks` for code that looks into such a string. What a string can do and a text of
many megabytes cannot (`replace`, `format`) says so and names the way.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Self

SLICE_CHARS = 20_000
WHOLE_CHARS = 4_000_000
"""Up to this many characters a text is taken in for what needs all of it (a regular expression)."""
CHUNK_CHARS = 250_000
OVERLAP_CHARS = 5_000

Call = Callable[..., Any]

_BRACKET = "\u27e6"
_MARK = re.compile(_BRACKET + "[^\u27e6\u27e7\n]+\u27e7")
_marked: dict[str, HostText] = {}
"""What the marks that were made here stand for."""


class SharedObject:
    """An object whose copies are the object itself."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self


class HostText(SharedObject):
    """A part of a text on the host."""

    __slots__ = ("_call", "_fold", "_start", "_stop", "dtype", "key", "prev")

    def __init__(
        self,
        call: Call,
        key: str,
        start: int,
        stop: int,
        dtype: str = "text",
        prev: str = "",
        fold: bool = False,
    ) -> None:
        self._call, self.key, self._start, self._stop = call, key, start, stop
        self.dtype, self.prev, self._fold = dtype, prev, fold

    # -- what a handle says of itself --------------------------------------------------------------

    @property
    def sz(self) -> int:
        return self._stop - self._start

    @property
    def is_shut(self) -> bool:
        """Whether printing it shows the handle: it is long, or the result of a tool."""
        return self.sz > SLICE_CHARS or self.dtype == "results"

    def __repr__(self) -> str:
        where = "" if self._start == 0 else f" from {self._start}"
        return f"Ref({self.key!r}, {self.dtype}, {self.sz} chars{where})"

    def __len__(self) -> int:
        return self.sz

    def __bool__(self) -> bool:
        return self.sz > 0

    def __hash__(self) -> int:
        return hash((self.key, self._start, self._stop))

    def __str__(self) -> str:
        """The text where it is short; else a mark that stands for it in a prompt to a model. No
        mark stands for a text in lower case."""
        if self.sz <= SLICE_CHARS or self._fold:
            return self._whole()
        mark: str = self._call("text.mark", self.key, self._start, self._stop)
        _marked[mark] = self
        return mark

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __add__(self, other: Any) -> Any:
        return str(self) + str(other) if isinstance(other, str | HostText) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return other + str(self) if isinstance(other, str) else NotImplemented

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, HostText):
            same = (self.key, self._start, self._stop) == (other.key, other._start, other._stop)
            return same or (self.sz == other.sz <= SLICE_CHARS and str(self) == str(other))
        if not isinstance(other, str) or self.sz > WHOLE_CHARS:
            return False
        other = read_marks(other)
        return len(other) == self.sz and bool(self._whole() == other)

    # -- reading -----------------------------------------------------------------------------------

    def _read(self, start: int, stop: int) -> str:
        parts = []
        while start < stop:
            end = min(stop, start + CHUNK_CHARS)
            part = self._call("text.read", self.key, self._start + start, self._start + end)
            if not part:
                break
            parts.append(part)
            start += len(part)
        text = "".join(parts)
        return text.lower() if self._fold else text

    def _whole(self) -> str:
        if self.sz > WHOLE_CHARS:
            raise ValueError(
                f"the text has {self.sz:,} characters and at most {WHOLE_CHARS:,} are taken in at"
                " once: work on slices, or loop over its lines"
            )
        return self._read(0, self.sz)

    def _part(self, start: int, stop: int) -> HostText:
        first, end = self._start + start, self._start + stop
        return HostText(self._call, self.key, first, end, self.dtype, fold=self._fold)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            start, stop, step = place.indices(self.sz)
            if step != 1:
                return self._whole()[place]
            stop = max(start, stop)
            short = stop - start <= SLICE_CHARS
            return self._read(start, stop) if short else self._part(start, stop)
        at = place + self.sz if place < 0 else place
        if not 0 <= at < self.sz:
            raise IndexError(f"the text has {self.sz} characters, so none at {place}")
        return self._read(at, at + 1)

    def __iter__(self) -> Iterator[str]:
        for chunk in self.chunks():
            yield from str(chunk) if isinstance(chunk, str) else chunk._whole()

    def chunks(self, size: int = SLICE_CHARS) -> Iterator[Any]:
        """Parts of `size` characters, one after another."""
        if size < 1:
            raise ValueError("chunks have at least one character")
        for start in range(0, self.sz, size):
            yield self[start : start + size]

    # -- searching ---------------------------------------------------------------------------------

    def _bounds(self, start: int | None, stop: int | None) -> tuple[int, int]:
        begin, end, _ = slice(start, stop).indices(self.sz)
        return self._start + begin, self._start + end

    def find(self, needle: str, start: int | None = None, stop: int | None = None) -> int:
        begin, end = self._bounds(start, stop)
        at: int = self._call("text.find", self.key, _plain(needle), begin, end, self._fold)
        return at - self._start if at >= 0 else -1

    def index(self, needle: str, start: int | None = None, stop: int | None = None) -> int:
        return _require_found(self.find(needle, start, stop))

    def rfind(self, needle: str, start: int | None = None, stop: int | None = None) -> int:
        needle = _plain(needle)
        begin, end, _ = slice(start, stop).indices(self.sz)
        high = end
        while high > begin or high == begin == end:
            low = max(begin, high - CHUNK_CHARS)
            at = self._read(low, min(end, high + len(needle) - 1)).rfind(needle)
            if at >= 0:
                return low + at
            if low == begin:
                break
            high = low
        return -1

    def rindex(self, needle: str, start: int | None = None, stop: int | None = None) -> int:
        return _require_found(self.rfind(needle, start, stop))

    def count(self, needle: str, start: int | None = None, stop: int | None = None) -> int:
        begin, end = self._bounds(start, stop)
        if self._fold:
            part = self._part(begin - self._start, end - self._start)
            return sum(1 for _ in find_matches(re.compile(re.escape(_plain(needle))), part))
        counted: int = self._call("text.count", self.key, _plain(needle), begin, end)
        return counted

    def __contains__(self, needle: Any) -> bool:
        return self.find(needle) >= 0

    def startswith(self, prefix: str | tuple[str, ...]) -> bool:
        wanted = prefix if isinstance(prefix, tuple) else (prefix,)
        return self._read(0, max(map(len, wanted), default=0)).startswith(prefix)

    def endswith(self, suffix: str | tuple[str, ...]) -> bool:
        wanted = suffix if isinstance(suffix, tuple) else (suffix,)
        start = max(0, self.sz - max(map(len, wanted), default=0))
        return self._read(start, self.sz).endswith(suffix)

    # -- the same text, seen otherwise -------------------------------------------------------------

    def lower(self) -> Any:
        if self.sz <= SLICE_CHARS:
            return str(self).lower()
        return HostText(self._call, self.key, self._start, self._stop, self.dtype, self.prev, True)

    casefold = lower

    def strip(self, characters: str | None = None) -> Any:
        head = self._read(0, min(self.sz, SLICE_CHARS))
        tail = self._read(max(0, self.sz - SLICE_CHARS), self.sz)
        start = len(head) - len(head.lstrip(characters))
        stop = self.sz - (len(tail) - len(tail.rstrip(characters)))
        return self[start : max(start, stop)]

    def splitlines(self, keepends: bool = False) -> TextParts:
        return TextParts(self, "\n", keep=bool(keepends), drop_last=True)

    def split(self, sep: str | None = None, maxsplit: int = -1) -> Any:
        if sep is not None and _plain(sep) == "":
            raise ValueError("empty separator")
        if maxsplit >= 0 or sep is None:
            if self.sz <= WHOLE_CHARS:
                return self._whole().split(sep, maxsplit)
            if sep is None and maxsplit < 0:
                return TextWords(self)
            raise ValueError(
                "a long text is split by a separator and without a limit: use find() and slices"
            )
        return TextParts(self, sep)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(str, name):
            if self.sz <= WHOLE_CHARS:
                return getattr(self._whole(), name)
            raise ValueError(
                f"the text has {self.sz:,} characters, too many for {name}(): "
                "use slices, find(), count(), its lines, or re"
            )
        raise AttributeError(f"a text has no attribute {name!r}")


class TextParts(SharedObject):
    """The pieces of a text between separators, made while they are looped over."""

    __slots__ = ("_ends", "_keep", "_last", "_sep", "_text")

    def __init__(
        self, text: HostText, sep: str, *, keep: bool = False, drop_last: bool = False
    ) -> None:
        self._text, self._sep, self._keep, self._last = text, sep, keep, drop_last
        self._ends: array[int] | None = None

    def __repr__(self) -> str:
        return f"<parts of {self._text!r} at {self._sep!r}>"

    def __iter__(self) -> Iterator[str]:
        rest, at, text = "", 0, self._text
        while at < text.sz:
            chunk = text._read(at, min(text.sz, at + CHUNK_CHARS))
            if not chunk:
                break
            at += len(chunk)
            *whole, rest = (rest + chunk).split(self._sep)
            for piece in whole:
                yield piece + self._sep if self._keep else piece
        if rest or not self._last:
            yield rest

    def _index(self) -> array[int]:
        if self._ends is None:
            ends, at = array("q"), 0
            for piece in self:
                at += len(piece)
                ends.append(at)
                at += 0 if self._keep else len(self._sep)
            self._ends = ends
        return self._ends

    def __len__(self) -> int:
        return len(self._index())

    def _start_of(self, place: int) -> int:
        gap = 0 if self._keep else len(self._sep)
        return self._index()[place - 1] + gap if place else 0

    def __getitem__(self, place: Any) -> Any:
        ends = self._index()
        if isinstance(place, slice):
            wanted = range(*place.indices(len(ends)))
            return [self[n] for n in wanted] if wanted.step != 1 else self._run(wanted)
        at = place + len(ends) if place < 0 else place
        if not 0 <= at < len(ends):
            raise IndexError(f"there are {len(ends)} parts, so none at {place}")
        return self._text[self._start_of(at) : ends[at]]

    def _run(self, wanted: range) -> list[str]:
        if not wanted:
            return []
        start, stop = self._start_of(wanted[0]), self._index()[wanted[-1]]
        if stop - start > WHOLE_CHARS:
            raise ValueError(
                f"these parts have {stop - start:,} characters: loop over them, or take fewer"
            )
        text = self._text._read(start, stop)
        return [text[self._start_of(n) - start : self._index()[n] - start] for n in wanted]


class TextWords(SharedObject):
    """The words of a text, for a loop."""

    __slots__ = ("_text",)

    def __init__(self, text: HostText) -> None:
        self._text = text

    def __iter__(self) -> Iterator[str]:
        for found in find_matches(re.compile(r"\S+"), self._text):
            yield found.group()

    def __len__(self) -> int:
        return sum(1 for _ in self)


class TextMatch:
    """A match in a long text: places are those of the text, not of the piece it was found in."""

    __slots__ = ("_match", "_offset")

    def __init__(self, match: re.Match[str], offset: int) -> None:
        self._match, self._offset = match, offset

    def __repr__(self) -> str:
        return f"<match {self.span()} {self.group()[:60]!r}>"

    def group(self, *names: Any) -> Any:
        return self._match.group(*names)

    def groups(self, default: Any = None) -> Any:
        return self._match.groups(default)

    def groupdict(self, default: Any = None) -> dict[str, Any]:
        return self._match.groupdict(default)

    def __getitem__(self, name: Any) -> Any:
        return self._match[name]

    def start(self, group: Any = 0) -> int:
        at = self._match.start(group)
        return at + self._offset if at >= 0 else -1

    def end(self, group: Any = 0) -> int:
        at = self._match.end(group)
        return at + self._offset if at >= 0 else -1

    def span(self, group: Any = 0) -> tuple[int, int]:
        return self.start(group), self.end(group)


def read_marks(value: Any) -> Any:
    """A string with the passages in place of its marks, as whoever looks into it takes it to be;
    any other value as it is. ValueError when that is too much to take in."""
    return _expand(value) if type(value) is str and _marks_in(value) else value


def read_text(value: Any) -> Any:
    """The same, and a text on the host as a string."""
    return value._whole() if isinstance(value, HostText) else read_marks(value)


def take_texts(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function; it also takes texts on the host, and marks for what they stand for."""

    def call(*args: Any, **words: Any) -> Any:
        return function(*map(read_text, args), **{name: read_text(words[name]) for name in words})

    return call


@lru_cache(maxsize=4)
def _expand(text: str) -> str:
    if (size := count_characters(text)) > WHOLE_CHARS:
        raise ValueError(
            f"this text is joined from slices, {size:,} characters, and at most {WHOLE_CHARS:,} are"
            " taken in at once: search and count in the slices themselves"
        )
    return _MARK.sub(
        lambda found: _marked[found[0]]._whole() if found[0] in _marked else found[0], text
    )


def count_characters(text: str) -> int:
    """The length of a string, with that of the passages in place of its marks."""
    return len(text) + sum(_marked[mark].sz - len(mark) for mark in _marks_in(text))


def _marks_in(text: str) -> Sequence[str]:
    """The marks in a text that were made here. Of a long text they are remembered: a loop asks for
    one character after another, and 288,000 of them took 1.1 s instead of 0.1."""
    if not _marked:
        return ()
    return _find_marks(text) if len(text) <= SLICE_CHARS else _find_in_long(text)


def _find_marks(text: str) -> Sequence[str]:
    return [mark for mark in _MARK.findall(text) if mark in _marked] if _BRACKET in text else ()


_find_in_long = lru_cache(maxsize=4)(_find_marks)


def find_matches(pattern: re.Pattern[str], text: HostText) -> Iterator[Any]:
    """Every match, piece by piece. In a long text one match is at most `OVERLAP_CHARS` long."""
    if text.sz <= WHOLE_CHARS:
        yield from pattern.finditer(text._whole())
        return
    at = 0
    while at < text.sz:
        before = min(at, 256)  # for what looks behind
        piece = text._read(at - before, min(text.sz, at + CHUNK_CHARS + OVERLAP_CHARS))
        done = at + CHUNK_CHARS
        following = done
        for match in pattern.finditer(piece, before):
            start = at - before + match.start()
            if start >= done and done < text.sz:
                break
            yield TextMatch(match, at - before)
            following = max(following, at - before + match.end())
        at = following


def _require_found(place: int) -> int:
    if place < 0:
        raise ValueError("substring not found")
    return place


def _plain(needle: Any) -> str:
    if isinstance(needle, HostText):
        return needle._whole()
    if not isinstance(needle, str):
        raise TypeError(f"a text is searched for text, not {type(needle).__name__}")
    return str(read_marks(needle))
