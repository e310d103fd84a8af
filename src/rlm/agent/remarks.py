"""What a turn's output leaves unsaid of its queries: that rows were cut, and why nothing may have
been found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rlm.loop.trace import ToolCall

MOST_HINTS, MOST_CUTS = 4, 4


class Remarks:
    """Makes the remarks of one run, each once."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def of_turn(self, calls: Sequence[ToolCall], output: str) -> list[str]:
        """What to tell the model of a turn that made these calls and printed this."""
        hints = [hint for call in calls for hint in call.hints if not _is_in(hint, output)]
        return [*_describe_cuts(calls, output), *self._new(hints)[:MOST_HINTS]]

    def _new(self, texts: Iterable[str]) -> list[str]:
        found = [text for text in dict.fromkeys(texts) if text not in self._said]
        self._said.update(found)
        return found


def _describe_cuts(calls: Sequence[ToolCall], output: str) -> list[str]:
    """That results were cut, where nothing that was printed says so."""
    if any(sign in output for sign in ("'more': True", "limit_reached")):
        return []
    told = [line for line in output.splitlines() if "the query has more" in line]
    cut = [
        f"{call.key} ({call.rows:,} rows)"
        for call in calls
        if call.is_cut and not any(f"{call.key}: " in line for line in told)
    ]
    if not cut:
        return []
    more = f" and {len(cut) - MOST_CUTS:,} more results" if len(cut) > MOST_CUTS else ""
    shown = ", ".join(cut[:MOST_CUTS]) + more
    return [f"cut at the limit: {shown}; the query has more rows: raise limit, or count in SPARQL"]


def _is_in(text: str, output: str) -> bool:
    """Whether a text was printed, by itself or within a dict."""
    return text in output or repr(text)[1:-1] in output
