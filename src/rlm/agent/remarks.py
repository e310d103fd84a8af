"""What a turn's output leaves unsaid of its queries: that rows were cut, why nothing may have been
found, and what the graph itself says of the terms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rlm.agent.parts import Graph
from rlm.handles import Meter
from rlm.learning.calls import steps_of
from rlm.loop import RLMIteration
from rlm.loop.trace import ToolCall, Trace
from rlm.ontology.labels import cut
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.tools.toolbox import one_line

COMMENT_CHARS = 400
"""What a turn is told of comments."""
MOST_HINTS, MOST_CUTS = 4, 4


def comments_of(calls: Iterable[ToolCall], meta: GraphMeta) -> list[tuple[str, str]]:
    """What the graph says of the terms that were queried, then of the classes at both ends of a
    property, and of what stands above: the name of each and its comment."""
    asked = steps_of(calls, meta.prefixes)
    named = [iri for step in asked if step.query for iri in step.names]
    sides = [side for iri in named for of in (meta.doms, meta.rngs) for side in of.get(iri, ())]
    above = [top for iri in [*named, *sides] for top in meta.above(iri)]
    known = dict.fromkeys(iri for iri in [*named, *sides, *above] if iri in meta.comments)
    return [(meta.curie(iri), meta.comments[iri]) for iri in known]


class Remarks:
    """Makes the remarks of one run, each once. `shown` is what the prompt says beforehand."""

    def __init__(self, graph: Graph | None, shown: str, trace: Trace, meter: Meter) -> None:
        self._graph, self._shown, self._trace, self._meter = graph, one_line(shown), trace, meter
        self._block = 0  # the last one whose queries were looked at
        self._said: set[str] = set()
        self.told: list[str] = []
        """What the graph has or says: numbers and texts of others."""

    def of_turn(self, turn: RLMIteration) -> list[str]:
        """What to tell the model of a turn. The calls of the trace are complete."""
        output = "\n".join(block.result.stdout for block in turn.code_blocks)
        calls = [
            call
            for call in self._trace.calls
            if call.block > self._block and call.tool == "sparql_query" and call.ok
        ]
        self._block = self._trace.block
        notes = [*self._hints(calls, output), *self._comments(calls, output)]
        self.told += notes
        return [*_describe_cuts(calls, output), *notes]

    def _hints(self, calls: Sequence[ToolCall], output: str) -> list[str]:
        hints = dict.fromkeys(hint for call in calls for hint in call.hints)
        new = [hint for hint in hints if hint not in self._said and not _is_in(hint, output)]
        self._said.update(new[:MOST_HINTS])
        return new[:MOST_HINTS]

    def _comments(self, calls: Sequence[ToolCall], output: str) -> list[str]:
        """As many as there is room for, one at least; the others when their terms come again."""
        notes, room = list[str](), COMMENT_CHARS
        for name, text in comments_of(calls, self._graph.meta) if self._graph is not None else ():
            comment = one_line(text)
            note = f"the graph says of {name}: {comment}"
            is_known = name in self._said or comment in self._shown or _is_in(text, output)
            if not is_known and (len(note) <= room or not notes):
                self._said.add(name)
                self._meter.keep(comment)
                notes.append(cut(note, room))
                room -= len(notes[-1])
        return notes


def _describe_cuts(calls: Sequence[ToolCall], output: str) -> list[str]:
    """That results were cut, where nothing that was printed says so."""
    if any(sign in output for sign in ("'more': True", "limit_reached")):
        return []
    told = [line for line in output.splitlines() if "the query has more" in line]
    names = [
        f"{call.key} ({call.rows:,} rows)"
        for call in calls
        if call.is_cut and not any(f"{call.key}: " in line for line in told)
    ]
    if not names:
        return []
    more = f" and {len(names) - MOST_CUTS:,} more results" if len(names) > MOST_CUTS else ""
    shown = ", ".join(names[:MOST_CUTS]) + more
    return [f"cut at the limit: {shown}; the query has more rows: raise limit, or count in SPARQL"]


def _is_in(text: str, output: str) -> bool:
    """Whether a text was printed, by itself or within a dict."""
    return text in output or repr(text)[1:-1] in output
