"""The summary of a run for the judge and the extractor: at most ten steps, action and outcome each.

The keys and bounds are the seed's. An action is what a block essentially does: the tool calls as
the host saw them where a trace is given, else the statements of the code, not its imports and
helper functions. Nothing in here holds a secret or a control character.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rlm.loop.trace import ToolCall, Trace
from rlm.loop.types import CodeBlock, RLMIteration
from rlm.ontology.terms import Prefixes
from rlm.store.sanitize import clean_text
from rlm.store.secrets import scrub

MOST_STEPS, FIRST_STEPS, ERROR_STEPS, LAST_STEPS = 10, 3, 3, 4
ACTION_CHARS, OUTCOME_CHARS = 80, 100
TASK_CHARS, ANSWER_CHARS, REASON_CHARS = 2_000, 4_000, 500
ERROR_CHARS, MOST_ERRORS = 200, 10
REFUSED_CHARS = 300
NAME_CHARS, MOST_NAMES = 60, 30
HOST_NAMES = frozenset(("context", "question", "answer"))
"""Variables that the host sets; the run has not made them."""
NO_VALUES = frozenset(("Facade", "module", "function", "type"))
"""What stands in a namespace for imports and for what the code defined."""
WINDOW = 4_000
"""What is read of a text of which little is shown: enough for a secret to be seen whole."""

PAGING = "sparql_slice"
"""Reads on in what was found; the least telling of calls."""

Step = dict[str, Any]
_ERROR_LINE = re.compile(r"[\w.]*(?:Error|Exception|Exit|Interrupt|Iteration|Warning)\b")
_SHORT = Prefixes()
PARSED_CHARS = 50_000
_PREPARING = (" ", "\t", "#", "import ", "from ", "def ", "async def ", "class ", "@")


def extract_trajectory_artifact(
    task: str,
    answer: str | None,
    iterations: Sequence[RLMIteration],
    ns: Mapping[str, Any] | None = None,
    *,
    converged: bool | None = None,
    trace: Trace | None = None,
    reason: str = "",
) -> dict[str, Any]:
    """The artifact of a run, as JSON types. `converged` is the run's own word: a run that hit a
    limit is not converged, whatever text it has left. Where nobody says, it is whether there is an
    answer. `reason` says in words how the run ended."""
    blocks = [(turn.number, block) for turn in iterations for block in turn.code_blocks]
    calls = _calls_by_block(len(blocks), trace)
    steps = [_step(*block, made) for block, made in zip(blocks, calls, strict=True)]
    failed = [is_failed(block) for _, block in blocks]
    errors = [describe_error(block) for _, block in blocks if is_failed(block)]
    tools = set() if trace is None else {call.tool for call in trace.calls}
    said = tidy(answer or "", ANSWER_CHARS, lines=True)
    return {
        "task": tidy(task, TASK_CHARS, lines=True),
        "final_answer": said,
        "iteration_count": len(iterations),
        "converged": bool(said) if converged is None else bool(converged),
        "key_steps": [steps[at] for at in choose_steps(failed)],
        "variables_created": _variables(ns or {}),
        "errors_encountered": list(dict.fromkeys(text for text in errors if text))[:MOST_ERRORS],
        "reason": tidy(reason, REASON_CHARS),
        "tools_used": sorted(tools)[:MOST_NAMES],
    }


def choose_steps(failed: Sequence[bool]) -> list[int]:
    """Which steps are shown: all, or the first three, three errors between and the last four."""
    if len(failed) <= MOST_STEPS:
        return list(range(len(failed)))
    last = len(failed) - LAST_STEPS
    between = [at for at in range(FIRST_STEPS, last) if failed[at]][:ERROR_STEPS]
    return [*range(FIRST_STEPS), *between, *range(last, len(failed))]


def _step(number: int, block: CodeBlock, calls: Sequence[ToolCall]) -> Step:
    action = tidy(_write_calls(calls) or summarize_code(block.code), ACTION_CHARS)
    return {"iteration": number, "action": action or "(no code)", "outcome": _outcome(block)}


def _outcome(block: CodeBlock) -> str:
    result = block.result
    if result.error is not None or (not result.stdout.strip() and result.stderr.strip()):
        return tidy(describe_error(block), OUTCOME_CHARS) or "(an error)"
    return tidy(result.stdout, OUTCOME_CHARS) or "(nothing printed)"


def is_refusal(turn: RLMIteration) -> bool:
    """Whether a turn ran no code and its answer was not taken."""
    return not turn.code_blocks and turn.final_answer is None


def describe_refusal(turn: RLMIteration) -> Step:
    """Such a turn as a step: what the model said, and what it was told."""
    said, told = tidy(turn.response, REFUSED_CHARS), tidy(" ".join(turn.notes), REFUSED_CHARS)
    return {"iteration": turn.number, "action": f"not taken: {said}", "outcome": f"told: {told}"}


def describe_error(block: CodeBlock) -> str:
    """The line of a traceback that says what went wrong: the last that begins with the name of an
    error, as the code may stand below it."""
    lines = [line for line in block.result.stderr[-WINDOW:].splitlines() if line.strip()]
    line = next(iter([*filter(_ERROR_LINE.match, reversed(lines)), *lines[-1:]]), "")
    return tidy(line, ERROR_CHARS) or f"{block.result.error or 'error'}"


def is_failed(block: CodeBlock) -> bool:
    result = block.result
    return result.error is not None or "Traceback (most recent call last)" in result.stderr


def _variables(ns: Mapping[str, Any]) -> list[str]:
    made = [name for name, value in ns.items() if not _is_no_value(value)]
    names = (name for name in map(str, made) if name[:1] != "_" and name not in HOST_NAMES)
    return [tidy(name, NAME_CHARS) for name in names][:MOST_NAMES]


def _is_no_value(value: Any) -> bool:
    return isinstance(value, str) and value in NO_VALUES


def tidy(text: str, most: int, *, lines: bool = False) -> str:
    """At most `most` characters of a text without secrets; on one line unless `lines`."""
    text = scrub(clean_text(text[: most + WINDOW]))[0]
    text = text.strip() if lines else " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


# -- calls


def _calls_by_block(count: int, trace: Trace | None) -> list[Sequence[ToolCall]]:
    """The traced calls of each block."""
    found: list[list[ToolCall]] = [[] for _ in range(count)]
    for call in trace.calls if trace is not None else ():
        if 0 < call.block <= count:
            found[call.block - 1].append(call)
    return list(found)


def _write_calls(calls: Sequence[ToolCall]) -> str:
    """Calls on one line, each once; pages only where nothing else was called."""
    asking = [call for call in calls if call.tool != PAGING] or calls
    return "; ".join(dict.fromkeys(map(_write_call, asking)))


def _write_call(call: ToolCall) -> str:
    return f"{call.tool}({', '.join(map(_quote, call.args.values()))})"


def _quote(value: Any) -> str:
    if not isinstance(value, str):
        return str(value)
    text = " ".join(value.split())
    is_iri = "://" in text and " " not in text
    return f'"{_SHORT.shrink(text).strip("<>") if is_iri else text}"'


def summarize_code(code: str) -> str:
    """The statements of a block on one line, its imports and helper functions aside.

    >>> summarize_code("import re\\ndef f(x):\\n  return x\\nprint(search_entity('Activity'))")
    "print(search_entity('Activity'))"
    """
    lines = [line for line in code[:PARSED_CHARS].splitlines() if line.strip()]
    doing = [line for line in lines if not line.startswith(_PREPARING)]
    return "; ".join(doing) or next(iter(lines), "")
