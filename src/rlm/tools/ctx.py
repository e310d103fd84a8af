"""`ctx_*`: parts of any handle, each of at most 500 characters."""

from __future__ import annotations

import re
from typing import Any

from rlm.errors import HandleError
from rlm.handles import Meter, Ref, Store, View
from rlm.handles.wire import position
from rlm.tools.toolbox import Toolbox, check_count, check_text, clip, one_line

PART_CHARS = 500
"""The most that one part of a payload may have (DESIGN §4)."""
FIND_HITS = 20
FIND_CHARS = 1000
"""What the hits of `ctx_find` share, as JSON; each has at least `HIT_CHARS` of it."""
HIT_CHARS = 100
HIT_FRAME_CHARS = 60
"""What is around a hit's text: `{"at": …, "line": …, "text": ""}, `."""
PATTERN_CHARS = 500

FIRST_LINES = 3
FIRST_LINE_CHARS = 80
HEADINGS = 8
HEADING_CHARS = 40
HEADING_PROBES = 64

Handle = Ref | View | str

_HEADING = re.compile(r"#{1,6}[ \t]+\S")


def ctx_tools(store: Store, meter: Meter) -> Toolbox:
    """The tools that look at payloads of one store."""
    tools = _Context(store)
    return Toolbox.of(
        meter,
        tools.ctx_peek,
        tools.ctx_slice,
        tools.ctx_find,
        tools.ctx_stats,
        summary="`ctx_stats(ref)`, `ctx_peek(ref)`, `ctx_find(ref, pattern)` and `ctx_slice(ref,"
        " start, end)` show sizes and headings, both ends, hits of a literal text, or a passage of"
        " a handle: 500 characters at most.",
    )


class _Context:
    def __init__(self, store: Store) -> None:
        self._store = store

    # -- for the model -----------------------------------------------------------------------------

    def ctx_peek(self, ref: Handle, n: int = 200) -> str:
        """The first and the last n characters of a handle, n up to 500."""
        check_count(n, "n", PART_CHARS)
        chars = self._store.size(ref)
        start = self._store.read(ref, 0, n)
        end = self._store.read(ref, max(n, chars - n), chars)
        between = chars - len(start) - len(end)
        return f"{start}\n[… {between:,} characters …]\n{end}" if between else start + end

    def ctx_slice(self, ref: Handle, start: int, end: int) -> str:
        """The characters start to end of a handle, as in Python, at most 500 a call. For longer
        passages slice the text in Python and let llm_query read it."""
        begin, stop, _ = slice(position(start, "start"), position(end, "end")).indices(
            self._store.size(ref)
        )
        if stop - begin > PART_CHARS:
            raise HandleError(
                f"ctx_slice of {stop - begin:,} characters, at most {PART_CHARS}: ask for less, or"
                " slice the text in Python and pass it to llm_query"
            )
        return self._store.read(ref, begin, max(begin, stop))

    def ctx_find(
        self, ref: Handle, pattern: str, limit: int = 10, ignore_case: bool = True, start: int = 0
    ) -> list[dict[str, Any]]:
        """Literal search, no regex: the first hits from start as [{at, line, text}], text being
        what is around the hit; limit up to 20. For more, call again with start = last at + 1."""
        check_text(pattern, "pattern", PATTERN_CHARS, blank=True)
        check_count(limit, "limit", FIND_HITS)
        at, places = max(0, position(start, "start")), list[int]()
        while len(places) < limit:
            at = self._store.find(ref, pattern, at, ignore_case=bool(ignore_case))
            if at < 0:
                break
            places.append(at)
            at += len(pattern)
        room = max(HIT_CHARS, FIND_CHARS // max(1, len(places))) - HIT_FRAME_CHARS
        hits, line, counted = [], 1, 0
        for place in places:
            line, counted = line + self._store.count(ref, "\n", counted, place), place
            hits.append(
                {"at": place, "line": line, "text": self._around(ref, place, len(pattern), room)}
            )
        return hits

    def _around(self, ref: Handle, at: int, chars: int, room: int) -> str:
        room = min(PART_CHARS, room)
        before = max(0, room - chars) // 2
        return clip(
            one_line(self._store.read(ref, max(0, at - before), max(0, at - before) + room)), room
        )

    def ctx_stats(self, ref: Handle) -> dict[str, Any]:
        """What a handle holds: chars, lines, the first lines, and Markdown headings [at, text]."""
        store, handle, chars = self._store, self._store.ref(ref), self._store.size(ref)
        head = store.read(ref, 0, FIRST_LINES * PART_CHARS).splitlines()
        stats: dict[str, Any] = {
            "key": clip(handle.key, FIRST_LINE_CHARS),
            "dtype": handle.dtype,
            "chars": chars,
            "lines": (
                store.count(ref, "\n") + (chars > 0 and store.read(ref, chars - 1, chars) != "\n")
            ),
            "first": [clip(one_line(line), FIRST_LINE_CHARS) for line in head[:FIRST_LINES]],
        }
        headings = self._headings(ref)
        return stats | {"headings": headings} if headings else stats

    def _headings(self, ref: Handle) -> list[list[Any]]:
        found: list[list[Any]] = []
        at = 0
        for _ in range(HEADING_PROBES):
            line = self._store.read(ref, at, at + 2 * HEADING_CHARS).split("\n", 1)[0]
            if _HEADING.match(line):
                found.append([at, clip(one_line(line), HEADING_CHARS)])
            at = self._store.find(ref, "\n#", at) + 1
            if at == 0 or len(found) == HEADINGS:
                break
        return found
