"""What judge and extractor see of a run: the calls with whole queries and row counts, the code,
what it printed, what sub-models said.

The artifact (seed 001) is for people and cuts everything to a line; this is what a verdict rests
on. It is JSON in at most `chars` characters: what does not fit is shortened, the latest steps last.
Of a long output the lines that share rare words with the answer stay, and its end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from rlm.learning.artifact import choose_steps, describe_error, is_failed
from rlm.learning.prompts import GAP, clip_ends, render_data
from rlm.loop.trace import ToolCall
from rlm.loop.types import CodeBlock, RLMIteration, SubCall
from rlm.retrieval.tokens import STOPWORDS

CHARS = 6_000
LEAST_CHARS = 1_500
TASK, ANSWER, CODE, QUERY, ARGUMENTS, OUTPUT, ERROR, ASKED, SAID = (
    *(800, 1_800, 700, 800, 200, 1_200, 300, 160, 240),
)
"""The most characters of each part."""
MOST_KEPT = 4.0
"""So many times as much is shown of a run with few steps, if it fits."""
LATEST = 3
"""Steps at the end that are shortened last."""
MOST_CALLS, MOST_SUB_CALLS = 12, 5
"""Of one step."""
READ_CHARS, PIECE, LEAST_FOCUS = 50_000, 240, 200
"""Of an output: what is looked at, the longest line shown whole, and the least to choose from."""
_WORD = re.compile(r"[^\W_]{2,}")
_PREFIX_LINE = re.compile(r"\s*\bPREFIX\s+[^\s:]*:\s*<[^>]*>\s*", re.IGNORECASE)

Clip = Callable[[str, int], str]


@dataclass(frozen=True, slots=True)
class RunStep:
    """One block of code: what it called, what it printed, and whom it asked."""

    turn: int
    code: str = ""
    output: str = ""
    error: str = ""
    calls: Sequence[ToolCall] = ()
    sub_calls: Sequence[SubCall] = ()

    def show(self, clip: Clip, focus: Clip) -> dict[str, Any]:
        """As JSON types. A query stands with its call, not in the code as well."""
        code = self.code
        calls = [_show_call(call, clip) for call in self.calls[-MOST_CALLS:]]
        for place, call in enumerate(self.calls[-MOST_CALLS:], 1):
            query = call.args.get("query")
            if isinstance(query, str) and len(query) > 40:
                code = code.replace(query, f"[query of call {place}]")
        found: dict[str, Any] = {"turn": self.turn, "code": clip(code, CODE)}
        if calls:
            found["calls"] = calls
        found["output"] = focus(self.output, OUTPUT) if self.output.strip() else "(nothing printed)"
        if self.error:
            found["error"] = clip(self.error, ERROR)
        if self.sub_calls:
            shown = self.sub_calls[:MOST_SUB_CALLS]
            found["asked_of_a_sub_model"] = [_show_sub_call(call, clip) for call in shown]
            if len(self.sub_calls) > len(shown):
                found["further_sub_calls"] = len(self.sub_calls) - len(shown)
        return found


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a run did and answered. `not_found` are the numbers and quotations of the answer that
    nothing shows; None: nobody looked."""

    task: str
    answer: str
    steps: Sequence[RunStep] = ()
    not_found: Sequence[str] | None = None
    more: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What else is shown."""

    @classmethod
    def of_run(
        cls,
        task: str,
        answer: str,
        iterations: Iterable[RLMIteration],
        calls: Iterable[ToolCall] = (),
        *,
        not_found: Sequence[str] | None = None,
    ) -> Evidence:
        """The evidence of a run that has ended; `calls` are those of its trace."""
        by_block: dict[int, list[ToolCall]] = {}
        for call in calls:
            by_block.setdefault(call.block, []).append(call)
        blocks = [(turn.number, block) for turn in iterations for block in turn.code_blocks]
        steps = [
            _step(turn, block, by_block.get(number, ()))
            for number, (turn, block) in enumerate(blocks, 1)
        ]
        return cls(task, answer, steps, not_found)

    @classmethod
    def of_artifact(
        cls,
        artifact: Mapping[str, Any],
        ns: Mapping[str, Any] | None = None,
        calls: Sequence[ToolCall] = (),
    ) -> Evidence:
        """Of a run of which only the artifact is left (seed 001), and perhaps its calls."""
        steps = [
            RunStep(
                step["iteration"] if isinstance(step.get("iteration"), int) else 0,
                str(step.get("action") or ""),
                str(step.get("outcome") or ""),
            )
            for step in artifact.get("key_steps") or ()
            if isinstance(step, Mapping)
        ]
        if calls:
            steps.append(RunStep(0, calls=calls))
        more: dict[str, Sequence[str]] = {}
        if errors := list(artifact.get("errors_encountered") or ())[:5]:
            more["errors"] = errors
        values = [(n, v) for n, v in (ns or {}).items() if isinstance(v, str | int | float)][:10]
        if values:
            more["values"] = [f"{name} = {value}" for name, value in values]
        task, answer = str(artifact.get("task") or ""), str(artifact.get("final_answer") or "")
        return cls(task, answer, steps, more=more)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was done that could be learnt from."""
        return not self.steps

    def show(self, chars: int = CHARS) -> dict[str, Any]:
        """As JSON types that take at most so many characters in a prompt."""
        kept = MOST_KEPT
        while True:
            found = self._show(kept)
            if len(render_data(found)) <= max(LEAST_CHARS, chars) or kept < 0.01:
                return found
            kept *= 0.75

    def _show(self, kept: float) -> dict[str, Any]:
        places = choose_steps([bool(step.error) for step in self.steps])
        latest = set(places[-LATEST:])
        steps = [self._show_step(at, kept if at in latest else kept / 2) for at in places]
        found: dict[str, Any] = {
            "task": clip_ends(self.task, max(40, int(TASK * kept))),
            "steps": steps,
        }
        if len(places) < len(self.steps):
            found["steps_left_out"] = len(self.steps) - len(places)
        for name, texts in self.more.items():
            found[name] = [clip_ends(text, max(4, int(ERROR * kept))) for text in texts]
        found["final_answer"] = clip_ends(self.answer, max(80, int(ANSWER * kept)))
        if self.not_found is not None:
            found["not_found"] = [clip_ends(text, 120) for text in self.not_found[:10]]
        return found

    def _show_step(self, at: int, share: float) -> dict[str, Any]:
        def clip(text: str, most: int) -> str:
            return clip_ends(text, max(4, int(most * share)))

        def focus(text: str, most: int) -> str:
            return focus_on(text, self.answer, max(4, int(most * share)))

        return self.steps[at].show(clip, focus)


def focus_on(text: str, answer: str, most: int) -> str:
    """About `most` characters of a text: its end, its first line, and between them the lines that
    share the rarest words with an answer, each in its place."""
    if len(text) <= most or most < LEAST_FOCUS:
        return clip_ends(text, most, tail=0.6)
    lines, order = _rank_lines(text[-READ_CHARS:], answer)
    room = most * 3 // 4
    chosen = {0}
    for at in order:
        if room >= len(lines[at]):
            chosen.add(at)
            room -= len(lines[at]) + len(GAP)
    end = max(most // 4, room)
    last = len(lines)
    while last > max(chosen) + 1 and end >= len(lines[last - 1]):
        last -= 1
        end -= len(lines[last]) + 1
    chosen.update(range(last, len(lines)))
    parts, before = list[str](), -1
    for at in sorted(chosen):
        parts += [GAP.strip()] * (at > before + 1) + [lines[at]]
        before = at
    return clip_ends("\n".join(parts), most, tail=0.6)


@lru_cache(maxsize=64)
def _rank_lines(text: str, answer: str) -> tuple[list[str], list[int]]:
    """The lines of a text, and the places of those that share words with an answer, best first."""
    lines = [part for line in text.splitlines() or [text] for part in _pieces(line)]
    wanted = {word for word in _words(answer) if word not in STOPWORDS}
    held = [wanted & set(_words(line)) for line in lines]
    counts = Counter(word for words in held for word in words)
    order = sorted(
        filter(held.__getitem__, range(len(lines))),
        key=lambda at: -sum(1 / counts[word] for word in held[at]),
    )
    return lines, order


def _pieces(line: str) -> Iterator[str]:
    """A long line in pieces, so that one of them can be shown."""
    yield from (line[at : at + PIECE] for at in range(0, max(1, len(line)), PIECE))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _step(turn: int, block: CodeBlock, calls: Sequence[ToolCall]) -> RunStep:
    error = describe_error(block) if is_failed(block) else ""
    return RunStep(turn, block.code, block.result.stdout, error, calls, block.sub_calls)


def _show_call(call: ToolCall, clip: Clip) -> dict[str, Any]:
    found: dict[str, Any] = {"tool": clip(call.tool, 60)}
    given = dict(call.args)
    query = given.pop("query", None)
    if isinstance(query, str):
        found["query"] = clip(" ".join(_PREFIX_LINE.sub(" ", query).split()), QUERY)
    if given:
        listed = ", ".join(f"{name}={value!r}" for name, value in given.items())
        found["arguments"] = clip(listed, ARGUMENTS)
    if not call.ok:
        found["error"] = clip(call.error, ERROR)
    elif call.value is not None and call.value != call.rows:
        found["value"] = call.value
    if call.rows is not None:
        found["rows"] = call.rows
    return found


def _show_sub_call(call: SubCall, clip: Clip) -> dict[str, str]:
    found = {"kind": call.kind, "asked": clip(call.prompt, ASKED)}
    return found | (
        {"error": clip(call.error, ERROR)} if call.error else {"said": clip(call.response, SAID)}
    )
