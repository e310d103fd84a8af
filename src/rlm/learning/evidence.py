"""What judge and extractor see of a run: the calls with whole queries and row counts, the code,
what it printed, what sub-models said.

The artifact (seed 001) is for people and cuts everything to a line; this is what a verdict rests
on. It is JSON in at most `chars` characters: what does not fit is shortened, the latest steps last.
Of a long output the lines that share rare words with the answer stay, and its end; of many
sub-calls those that do, and two that failed. A query is whole or left out: code and outputs are
shortened first, then queries go, those behind the answer last.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from rlm.learning.artifact import choose_steps, describe_error, is_failed
from rlm.learning.prompts import GAP, clip_ends, render_data
from rlm.loop.trace import ARGUMENT_CHARS, ToolCall
from rlm.loop.types import CodeBlock, RLMIteration, SubCall
from rlm.retrieval.tokens import STOPWORDS

CHARS = 6_000
LEAST_CHARS = 1_500
TASK, ANSWER, CODE, ARGUMENTS, OUTPUT, ERROR, ASKED, SAID = (
    *(1_600, 3_600, 700, 200, 1_200, 300, 160, 240),
)
"""The most characters of each part."""
SHARES = [4 * 0.95**step for step in range(120)]
"""So many times as much is shown, by the first that fits: more of a run with few steps."""
LEAST_SHARE = 0.25
"""To which code and outputs are shortened before a query is left out."""
LATEST = 3
"""Steps at the end that are shortened last."""
MOST_CALLS, MOST_SUB_CALLS, FEW_SUB_CALLS = 12, 5, 2
"""Of one step, and of one that is not among the latest."""
READ_CHARS, PIECE, LEAST_FOCUS = 50_000, 240, 200
"""Of an output: what is looked at, the longest line shown whole, and the least to choose from."""
LEAST_KNOWN = 40
"""A shorter text takes no room that is worth leaving it out."""
FEW_ALIKE = 3
"""So many calls of a step that differ in nothing but names and numbers are shown each."""
_WORD = re.compile(r"[^\W_]{2,}")
_PIECES = re.compile(rf".{{1,{PIECE}}}(?:\s|$)|.{{1,{PIECE}}}")
_NAME = re.compile(r"<[^<>\s]*>|[\w-]*:[\w.-]+|\"[^\"]*\"|'[^']*'|\d+")
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
    alike: Mapping[int, int] = field(default_factory=dict)
    """How many further calls were as the one at this place."""
    sub_calls: Sequence[SubCall] = ()
    further_sub_calls: int = 0

    def show(
        self, clip: Clip, focus: Clip, left: int, numbers: Mapping[int, int]
    ) -> dict[str, Any]:
        """As JSON types, without the first `left` calls. A query stands with its call, not in the
        code as well, and with its number, if it has one by the call's identity."""
        code, left = self.code, max(left, len(self.calls) - MOST_CALLS)
        for place, call in enumerate(self.calls, 1):
            query = call.args.get("query")
            if isinstance(query, str) and len(query) > 40:
                code = code.replace(query, f"[query of call {place}]")
        found: dict[str, Any] = {"turn": self.turn, "code": clip(code, CODE)}
        if left > 0:
            found["calls_left_out"] = left
        first = max(0, left)
        if calls := [_show_call(call, clip, numbers.get(id(call))) for call in self.calls[first:]]:
            for place, further in self.alike.items():
                if place >= first:
                    calls[place - first]["further_calls_alike"] = further
            found["calls"] = calls
        found["output"] = focus(self.output, OUTPUT) if self.output.strip() else "(nothing printed)"
        if self.error:
            found["error"] = clip(self.error, ERROR)
        if self.sub_calls:
            found["asked_of_a_sub_model"] = [
                _show_sub_call(call, clip, focus) for call in self.sub_calls
            ]
        if self.further_sub_calls:
            found["further_sub_calls"] = self.further_sub_calls
        return found

    def choose_sub_calls(self, answer: str, most: int) -> RunStep:
        """The step with `most` of its sub-calls: the best by the words of an answer, one or two
        that failed, and the first."""
        calls = self.sub_calls
        ranked = _rank([call.response for call in calls], answer)
        failed = [at for at, call in enumerate(calls) if call.error][: most // 2]
        order = dict.fromkeys([*ranked[: most - len(failed)], *failed, *range(len(calls))])
        chosen = [calls[at] for at in sorted([*order][:most])]
        return replace(self, sub_calls=chosen, further_sub_calls=len(calls) - len(chosen))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a run did and answered. `not_found` are the numbers and quotations of the answer that
    nothing shows; None: nobody looked."""

    task: str
    answer: str
    steps: Sequence[RunStep] = ()
    not_found: Sequence[str] | None = None
    more: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What else is shown: the comments of terms that were queried, lessons that were followed."""

    @classmethod
    def of_run(
        cls,
        task: str,
        answer: str,
        iterations: Iterable[RLMIteration],
        calls: Iterable[ToolCall] = (),
        *,
        not_found: Sequence[str] | None = None,
        more: Mapping[str, Sequence[str]] | None = None,
        known: Iterable[str] = (),
    ) -> Evidence:
        """The evidence of a run that has ended; `calls` are those of its trace. Outputs are shown
        without `known` texts: those of memories, and what `more` holds anyway."""
        by_block: dict[int, list[ToolCall]] = {}
        for call in calls:
            by_block.setdefault(call.block, []).append(call)
        blocks = [(turn.number, block) for turn in iterations for block in turn.code_blocks]
        printed = {form for text in known if len(text) >= LEAST_KNOWN for form in _printed(text)}
        left_out = sorted(printed, key=len, reverse=True)
        steps = [
            _step(turn, block, by_block.get(number, ()), left_out)
            for number, (turn, block) in enumerate(blocks, 1)
        ]
        return cls(task, answer, steps, not_found, more or {})

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

    @property
    def queries(self) -> list[ToolCall]:
        """The queries that ran: number n, where they are numbered, is the nth."""
        calls = (call for step in self.steps for call in step.calls)
        return [call for call in calls if call.tool == "sparql_query" and call.ok]

    def show(self, chars: int = CHARS, *, numbered: bool = False) -> dict[str, Any]:
        """As JSON types that take at most so many characters in a prompt, the queries with their
        numbers if wanted."""
        numbers = {id(call): at for at, call in enumerate(self.queries if numbered else (), 1)}
        places = choose_steps([bool(step.error) for step in self.steps])
        steps = [
            self.steps[at].choose_sub_calls(
                self.answer, MOST_SUB_CALLS if at in places[-LATEST:] else FEW_SUB_CALLS
            )
            for at in places
        ]
        outputs = [step.output[-READ_CHARS:] for step in reversed(steps)]
        best = dict.fromkeys([*_rank(outputs, self.answer), *range(len(steps))])
        calls = [-1 - at for at in reversed(best) for _ in steps[-1 - at].calls]

        def show(share: float, left: int) -> dict[str, Any]:
            return self._show(share, steps, Counter(calls[:left]), numbers)

        def fits(share: float, left: int) -> bool:
            return len(render_data(show(share, left))) <= max(LEAST_CHARS, chars)

        left = bisect_left(range(len(calls)), True, key=lambda left: fits(LEAST_SHARE, left))
        at = bisect_left(SHARES, True, hi=len(SHARES) - 1, key=lambda share: fits(share, left))
        return show(SHARES[at], left)

    def _show(
        self,
        kept: float,
        steps: Sequence[RunStep],
        left: Mapping[int, int],
        numbers: Mapping[int, int],
    ) -> dict[str, Any]:
        found: dict[str, Any] = {
            "task": clip_ends(self.task, max(40, int(TASK * kept))),
            "steps": [
                step.show(*self._clips(kept if at >= -LATEST else kept / 2), left[at], numbers)
                for at, step in enumerate(steps, -len(steps))
            ],
        }
        if len(steps) < len(self.steps):
            found["steps_left_out"] = len(self.steps) - len(steps)
        for name, texts in self.more.items():
            found[name] = [clip_ends(text, max(4, int(ERROR * kept))) for text in texts]
        found["final_answer"] = clip_ends(self.answer, max(80, int(ANSWER * kept)))
        if self.not_found is not None:
            found["not_found"] = [clip_ends(text, 120) for text in self.not_found[:10]]
        return found

    def _clips(self, share: float) -> tuple[Clip, Clip]:
        def clip(text: str, most: int) -> str:
            return clip_ends(text, max(4, int(most * share)))

        def focus(text: str, most: int) -> str:
            return focus_on(text, self.answer, max(4, int(most * share)))

        return clip, focus


def focus_on(text: str, answer: str, most: int) -> str:
    """About `most` characters of a text: its end, its first line unless that is long, and between
    them the lines that share the rarest words with an answer, each in its place."""
    if len(text) <= most or most < LEAST_FOCUS:
        return clip_ends(text, most, tail=0.6)
    lines, order = _rank_lines(text[-READ_CHARS:], answer)
    room = most * 3 // 4
    chosen = {0} if len(lines[0]) <= most // 4 else set(order[:1] or [0])
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
    return lines, _rank(lines, answer)


def _rank(texts: Sequence[str], answer: str) -> list[int]:
    """The places of the texts that share words with an answer, those with rare ones first."""
    wanted = {word for word in _words(answer) if word not in STOPWORDS}
    held = [wanted & set(_words(text)) for text in texts]
    counts = Counter(word for words in held for word in words)
    return sorted(
        filter(held.__getitem__, range(len(texts))),
        key=lambda at: -sum(1 / counts[word] for word in held[at]),
    )


def _pieces(line: str) -> list[str]:
    """A long line in pieces, so that one of them can be shown; no name is broken."""
    return [line] if len(line) <= PIECE else _PIECES.findall(line)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _step(
    turn: int, block: CodeBlock, calls: Sequence[ToolCall], left_out: Sequence[str]
) -> RunStep:
    error = describe_error(block) if is_failed(block) else ""
    kept, alike = _group_calls(calls)
    output = block.result.stdout
    for text in left_out:
        output = output.replace(text, GAP.strip())
    return RunStep(turn, block.code, output, error, kept, alike, block.sub_calls)


def _printed(text: str) -> tuple[str, ...]:
    """A text as it is printed alone, inside of a list or a dict, and as a literal of a row."""
    literal = text.replace('"', '\\"')
    return text, repr(text)[1:-1], repr(f'"{literal}"')[2:-2]


def _group_calls(calls: Sequence[ToolCall]) -> tuple[list[ToolCall], dict[int, int]]:
    """The calls without those of a loop after its first, and how many of these were left out."""
    shapes = [
        (
            call.tool,
            call.ok,
            *call.args,
            *(_NAME.sub("_", str(each)) for each in call.args.values()),
        )
        for call in calls
    ]
    counts, places = Counter(shapes), dict[Any, int]()
    kept, alike = list[ToolCall](), Counter[int]()
    for call, shape in zip(calls, shapes, strict=True):
        if counts[shape] > FEW_ALIKE and shape in places:
            alike[places[shape]] += 1
        else:
            places[shape] = len(kept)
            kept.append(call)
    return kept, dict(alike)


def _show_call(call: ToolCall, clip: Clip, number: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {"tool": call.tool[:60]}
    if number is not None:
        found["query_no"] = number
    given = dict(call.args)
    query = given.pop("query", None)
    if isinstance(query, str):
        text = " ".join(_PREFIX_LINE.sub(" ", query).split())
        found["query"] = clip_ends(text, ARGUMENT_CHARS)
    if given:
        listed = ", ".join(f"{name}={value!r}" for name, value in given.items())
        found["arguments"] = clip(listed, ARGUMENTS)
    if not call.ok:
        found["error"] = clip(call.error, ERROR)
    elif call.value is not None and call.value != call.rows:
        found["value"] = call.value
    if call.rows is not None:
        found["rows"] = f"{call.rows}, cut" if call.is_cut else call.rows
    if call.hints:
        found["not_as_asked"] = [clip(hint, ERROR) for hint in call.hints]
    return found


def _show_sub_call(call: SubCall, clip: Clip, focus: Clip) -> dict[str, str]:
    found = {"kind": call.kind, "asked": clip(call.prompt, ASKED)}
    return found | (
        {"error": clip(call.error, ERROR)} if call.error else {"said": focus(call.response, SAID)}
    )
