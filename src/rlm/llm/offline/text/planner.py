"""The steps of `offline` over a text: a look, one program by fixed rules, an answer from what it
found."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from rlm.llm.offline.graph.planner import final
from rlm.llm.offline.text import named as naming
from rlm.llm.offline.text import passages, reading, sentences, survey, table
from rlm.llm.offline.text.answer import CANNOT, answer
from rlm.llm.offline.text.named import names_in, of_the_text
from rlm.llm.offline.text.plan import Plan, Seen, passage_plan
from rlm.llm.offline.text.question import plan_for
from rlm.llm.offline.text.said import HOW_TO_SET, WHAT_IT_IS, tidy
from rlm.llm.types import OFFLINE_UNANSWERED, Message

FOUND = "offline-found "
OUTPUT_CHARS = 9_000
"""A report is no longer than this, and no longer than the loop would show."""
TIME_S = 20.0
"""For one program; a block has 30 seconds by default."""
SHORT_TIME_S = 2.0
"""For the second try after a time-out."""

_SHARED = ("start_clock", "texts_of", "size_of", "fold", "blocks", "excerpt", "report")
_NEEDS = {
    "look": ("asked_texts", "runs_on", "split_row", "number_of", "sniff_table"),
    "table": ("needle_pattern", "split_row", "number_of", "sniff_table", "open_cell", "table_rows"),
    "edge": ("headings_of", "passage_ends"),
    "locate": ("needle_pattern",),
    "passages": (
        "needle_pattern", "passage_ends", "longest_parts", "split_row", "number_of", "sniff_table", "runs_on",
        "kind_of", "code_spans", "span_of", "open_end", "with_what_follows", "says_nothing", "ranked_by_rarity",
    ),
    "common": ("word_counts",),
    "structure": ("first_sentence", "headings_of"),
}  # fmt: skip
_PLAN = re.compile(r"^# plan: ([a-z]+)((?: instead| again)?)$", re.MULTILINE)
_ERROR = re.compile(r"^Error in block \d+ \((\w+)\):\n(.*)", re.MULTILINE)
_SHOWN = re.compile(r"at most ([\d,]+) characters of a block")


def text_reply(messages: Sequence[Message], question: str) -> str:
    """What to say after these messages."""
    room = _room(messages)
    if (
        re.search(r"^This is the last turn\.", messages[-1]["content"], re.MULTILINE)
        and len(messages) > 2
    ):
        return final(_last_words(question, messages))
    step, again, found, error = _state(messages[-2:])
    if not step:
        return _code(
            "look", "look", {"named": named} if (named := names_in(question)) else {}, room
        )
    seen = _seen(messages)
    question, only = of_the_text(question, seen)
    if found is None:
        if error[0] in ("timeout", "memory") and not again and step != "look":
            return _program(_planned(question, step, seen), room, " again", SHORT_TIME_S, only)
        return final(_failed(error))
    if step == "look":
        return _after_look(question, found, room, only)
    plan = _planned(question, step, seen)
    if not again and not found["count"] and plan.about.get("loose"):
        other = passage_plan(question, seen)
        if other.kind == "passages":
            return _program(other, room, " instead", only=only)
    return final(_answered(question, step, again, found, seen))


def _state(messages: Sequence[Message]) -> tuple[str, str, dict[str, Any] | None, tuple[str, str]]:
    """The step that our last reply took, its kind of try, what it found, and else the error."""
    if len(messages) < 2 or messages[-2]["role"] != "assistant":
        return "", "", None, ("", "")
    mark = _PLAN.search(messages[-2]["content"])
    if mark is None:
        return "", "", None, ("", "")
    told = messages[-1]["content"]
    found = None
    for line in reversed(told.split("\n")):
        if line.startswith(FOUND):
            try:
                found = json.loads(line.removeprefix(FOUND))
            except ValueError:
                break  # cut
            found = found if isinstance(found, dict) and "size" in found else None
            break
    fault = _ERROR.search(told)
    return mark[1], mark[2].strip(), found, (fault[1], fault[2]) if fault else ("output", "")


def _seen(messages: Sequence[Message]) -> Seen:
    """What the first look said about the text."""
    looks = (_state(messages[at : at + 2]) for at in range(1, len(messages) - 1))
    return next((found for step, _, found, _ in looks if step == "look" and found is not None), {})


def _planned(question: str, step: str, seen: Seen) -> Plan:
    plan = plan_for(question, seen)
    return plan if plan.kind == step else passage_plan(question, seen)


def _after_look(question: str, found: dict[str, Any], room: int, only: list[Any]) -> str:
    plan = plan_for(question, found)
    if plan.kind == "none":
        return final(f"{CANNOT}\nThe text has {found['size']:,} characters.")
    if plan.kind == "texts":
        return final(f"{found['texts']} {plan.about['unit']}.")
    if not found["size"]:
        zero = plan.kind in ("count", "measure", "distinct", "headings", "extract")
        return final(
            f"{'0.' if zero else OFFLINE_UNANSWERED} The context is empty (0 characters): "
            "there is nothing to find or to quote in it."
        )
    return _program(plan, room, only=only)


def _answered(question: str, step: str, again: str, found: dict[str, Any], seen: Seen) -> str:
    said = answer(_planned(question, step, seen), found)
    if again != "instead":
        return said
    needle = tidy(plan_for(question, seen).about["needle"])
    mark = OFFLINE_UNANSWERED if said.startswith(OFFLINE_UNANSWERED) else ""
    return f"{mark} “{needle}” as such does not occur in the text. {said.removeprefix(mark).strip()}".strip()


def _failed(error: tuple[str, str]) -> str:
    kind, message = error
    if kind == "output":
        said = "offline could not read the output of its own program: it was cut or is not there."
        return f"{OFFLINE_UNANSWERED} {said} {HOW_TO_SET}"
    said = (
        f"offline's program failed in the REPL ({kind}: {tidy(message)[:300]}), so there is no"
        " answer."
    )
    return f"{OFFLINE_UNANSWERED} {said} {HOW_TO_SET}"


def _last_words(question: str, messages: Sequence[Message]) -> str:
    """What is known when the turns are over."""
    seen = _seen(messages)
    question, _ = of_the_text(question, seen)
    for end in range(len(messages), 2, -2):
        step, again, found, _ = _state(messages[end - 2 : end])
        if (
            found is not None
            and step
            and step != "look"
            and (found["count"] or plan_for(question, seen).kind == step)
        ):
            return _answered(question, step, again, found, seen)
        if found is not None and step == "look":
            begins = f" It begins: “{tidy(found['begins'])}”." if found["begins"] else ""
            return (
                f"{OFFLINE_UNANSWERED} the turns were over before offline could look for an answer."
                f" The context has {found['size']:,} characters in {found['texts']}"
                f" text{'s' * (found['texts'] != 1)}.{begins}"
            )
    return f"{OFFLINE_UNANSWERED} the turns were over before anything was known. {WHAT_IT_IS}"


# -- what a reply is made of
# -------------------------------------------------------------------------------


def _room(messages: Sequence[Message]) -> int:
    shown = next(
        (_SHOWN.search(message["content"]) for message in messages if message["role"] == "system"),
        None,
    )
    return (
        min(OUTPUT_CHARS, max(100, int(shown[1].replace(",", "")) - 300)) if shown else OUTPUT_CHARS
    )


def _program(
    plan: Plan, room: int, attempt: str = "", seconds: float = TIME_S, only: Sequence[Any] = ()
) -> str:
    return _code(plan.kind + attempt, plan.program, plan.args, room, seconds, only)


def _code(
    mark: str,
    program: str,
    args: dict[str, Any],
    room: int,
    seconds: float = TIME_S,
    only: Sequence[Any] = (),
) -> str:
    """A reply with one block: the functions that the program needs, and its call. Values go in as
    literals only."""
    sources = [_source(name) for name in (*_SHARED, *_NEEDS.get(program, ()), program)]
    texts = "asked" if only else "context"
    given = ", ".join([texts, *(["clock"] if program != "look" else [])])
    given += "".join(f", {name}={value!a}" for name, value in args.items())
    chosen = f"asked = {{name: context[name] for name in {list(only)!a}}}\n" if only else ""
    call = (
        f"{chosen}clock = start_clock({seconds})\nfound = {program}({given})\n"
        f'found.update({{"size": size_of({texts}), "texts": len(texts_of({texts})), "read":'
        ' clock["chars"], '
        f'"partial": clock["partial"]}})\nprint(report(found, {room}))'
    )
    modules = ("csv", "itertools", "json", "math", "re", "time")
    imports = "\n".join(
        [*(f"import {name}" for name in modules), "from collections import Counter"]
    )
    body = "\n\n".join([f"# plan: {mark}\n{imports}", *sources, call])
    return f"offline is no language model. Its next step by rule: {mark}.\n\n```repl\n{body}\n```"


@cache
def _source(name: str) -> str:
    for module in (reading, sentences, passages, survey, table, naming):
        function: Callable[..., Any] | None = getattr(module, name, None)
        if function is not None:
            return inspect.getsource(function).rstrip()
    raise LookupError(name)
