"""From what a program of `offline` found to the words of an answer. Nothing is said that was not
found."""

from __future__ import annotations

import re

from rlm.llm.offline.text import said
from rlm.llm.offline.text.plan import Plan
from rlm.llm.offline.text.said import (
    HOW_TO_SET,
    WHAT_IT_IS,
    Found,
    per_text_of,
    place_of,
    quoted,
    tidy,
    times_of,
)
from rlm.llm.offline.text.value import number_before, value_in
from rlm.llm.offline.text.wanted import fits
from rlm.llm.types import OFFLINE_UNANSWERED

CANNOT = (
    f"{OFFLINE_UNANSWERED} this question cannot be answered without a language model. {WHAT_IT_IS}"
    " It can answer, for example: how many times does 'X' occur, how many lines contain 'X', where"
    " is 'X' mentioned, quote the sentence about X, what is the value of X, what is the first X,"
    " list all e-mail addresses, what is the longest line, which words are most common, summarise."
    f" {HOW_TO_SET}"
)
PICKED = (
    "(offline is no language model: passages are picked by the words that they share with the"
    " question.)"
)


def answer(plan: Plan, found: Found) -> str:
    """The answer. `found` is what the plan's program reported."""
    made = {
        "count": _count,
        "find": _find,
        "passages": _passages,
        "extract": _extract,
        "summary": said.summary,
        "headings": said.headings,
        "measure": said.measured,
        "common": said.common_words,
        "distinct": said.distinct_words,
        "extreme": said.extreme_line,
        "edge": said.edges,
        "lines": said.lines_by_number,
        "table": said.in_table,
    }[plan.kind](plan, found)
    if not found.get("partial"):
        return made
    read = (
        f"only {found.get('read', 0):,} of {found.get('size', 0):,} characters were read in the"
        " time."
    )
    if plan.kind in ("find", "passages", "summary", "edge", "lines") and not made.startswith(
        OFFLINE_UNANSWERED
    ):
        return f"{made}\nNote: {read}"
    return f"{OFFLINE_UNANSWERED} {read} In these: {made.removeprefix(OFFLINE_UNANSWERED).strip()}"


def _named(plan: Plan, found: Found) -> str:
    needle, whole = tidy(plan.about["needle"]), plan.about["mode"] == "whole"
    kind = "word" if len(needle.split()) == 1 else "phrase"
    if "spelled" in found:
        shown = [tidy(form) for form in found["forms"]] or [needle.upper()]
    else:
        others = [tidy(form) for form in plan.about.get("forms", "").split("\n") if form]
        there = [form for form in (needle, *others) if form.lower() in found.get("forms", {})]
        shown = there if others and there else [needle, *others]
    return f"the {kind} " * whole + " or ".join(f"“{form}”" for form in shown)


def _case(plan: Plan, found: Found) -> str:
    if "spelled" in found:
        return f"written in capitals; {found['spelled']} lines have it in any spelling"
    return "capitals as given" if plan.about["mode"] == "exact" else "capitals ignored"


def _count(plan: Plan, found: Found) -> str:
    unit, number = plan.about["unit"], found["count"]
    if plan.about.get("things") and not number:
        inside = (
            f" As a part of longer words it occurs {times_of(found['anywhere'])}."
            if found["anywhere"]
            else ""
        )
        return (
            f"{OFFLINE_UNANSWERED} {_named(plan, found)} does not occur in the text"
            f" ({_case(plan, found)}).{inside}"
        )
    if plan.about.get("things") and unit == "times" and (told := _told_number(plan, found)):
        return told
    note = (
        " This counts the word, not the things that it may stand for."
        if plan.about.get("things")
        else ""
    )
    if len(found.get("forms", {})) > 1:
        note = (
            " Of these: "
            + ", ".join(f"“{tidy(form)}” {n}" for form, n in found["forms"].items())
            + "."
            + note
        )
    if unit in ("sentences", "paragraphs"):
        return (
            f"{number}: so many {unit} contain {_named(plan, found)} ({_case(plan, found)})."
            + _examples(found)
        )
    if unit == "lines":
        number = found["lines"]
        how = f"{_case(plan, found)}; {times_of(found['count'])} in all"
        said = (
            f"{number}: so many lines contain {_named(plan, found)}"
            f" ({how}).{_inside(plan, found)}{note}"
        )
        return said + per_text_of(found, " (times)") + _examples(found)
    if unit in ("texts", "documents", "files"):
        number = found["texts_with"]
        return (
            f"{number}: so many {unit} contain {_named(plan, found)} ({times_of(found['count'])} in"
            " all)." + per_text_of(found)
        )
    how = _case(plan, found) + (", whole words only" if plan.about["mode"] == "whole" else "")
    on_lines = (
        f", on {found['lines']} line{'s' * (found['lines'] != 1)}"
        if plan.about.get("things")
        else ""
    )
    said = (
        f"{number}: {_named(plan, found)} occurs {times_of(number)}{on_lines}"
        f" ({how}).{_inside(plan, found)}{note}"
    )
    return said + per_text_of(found) + _examples(found)


def _told_number(plan: Plan, found: Found) -> str:
    """Where lines say how many there are (“600 attempts”), that is the answer and not how often the
    word occurs."""
    stem = tidy(plan.about["needle"]).lower().removesuffix("s")
    told = [
        (number, item)
        for item in found["items"]
        if (number := number_before(tidy(item["quote"]), stem))
    ]
    if not told:
        return ""
    numbers = {number.lower() for number, _ in told}
    lead = (
        told[0][0] if len(numbers) == 1 else f"{OFFLINE_UNANSWERED} the text gives several numbers:"
    )
    return "\n".join([lead, *(quoted(item) for _, item in told), PICKED])


def _inside(plan: Plan, found: Found) -> str:
    more = found.get("anywhere", 0) - found["count"]
    if plan.about["mode"] != "whole" or more <= 0 or "spelled" in found:
        return ""
    return f" As a part of longer words it occurs {times_of(more)} more."


def _examples(found: Found) -> str:
    items = [quoted(item) for item in found.get("items", [])[:3]]
    if not items:
        return ""
    lead = "It is" if found["count"] == 1 else "For example" if "missing" in found else "The first"
    return f"\n{lead}:\n" + "\n".join(f"- {item}" for item in items)


def _find(plan: Plan, found: Found) -> str:
    number, items = found["count"], found.get("items", [])
    if not number:
        inside = found.get("anywhere", 0)
        said = f"{_named(plan, found)} does not occur in the text ({_case(plan, found)})."
        said = said[0].upper() + said[1:]
        return (
            ("No. " if plan.about["yes_no"] else "")
            + said
            + (f" As a part of longer words it occurs {times_of(inside)}." if inside else "")
        )
    if which := plan.about.get("which"):
        here = f"the {which} line" if len(items) == 1 else f"the {which} {len(items)} lines"
        how = f"of {found['lines']} in all, {_case(plan, found)}"
        lead = f"{here[0].upper()}{here[1:]} with {_named(plan, found)} ({how}):"
        return "\n".join([lead, *(quoted(item) for item in items)])
    on_lines = f"on {found['lines']} line{'s' * (found['lines'] != 1)}"
    said = f"{_named(plan, found)} occurs {times_of(number)}, {on_lines} ({_case(plan, found)})"
    said = ("Yes. " if plan.about["yes_no"] else "") + said[0].upper() + said[1:]
    rest = found["lines"] - len(items)
    shown = "\n".join(f"- {quoted(item)} (character {item['at']})" for item in items)
    return (
        f"{said}:\n{shown}" + (f"\n… and on {rest} more." if rest > 0 else "") + per_text_of(found)
    )


def _passages(plan: Plan, found: Found) -> str:
    items, missing = found.get("items", []), found.get("missing", [])
    if not items:
        words = ", ".join(f"“{tidy(word)}”" for word in missing)
        occur = "occurs" if len(missing) == 1 else "occur"
        said = f"nothing in the text matches the question: {words} {occur} nowhere in it."
        if not missing:
            said = (
                "no sentence of the text says more than the words of the question"
                f" ({plan.about['labels']})."
            )
        return f"{OFFLINE_UNANSWERED} {said} {WHAT_IT_IS}"
    asked = max(found.get("asked", 1), 1)
    if not plan.about["many"]:
        items = _fit_first(plan, items, asked)
    best, lines = items[0], []
    full = len(best["terms"]) == asked and not missing
    unknown = set(plan.about.get("proper", "").split("\n")).intersection(missing)
    if plan.about["many"]:
        lines.append(_how_many(plan, found, best, full))
    elif (asked >= 2 and len(best["terms"]) * 2 <= asked) or unknown:
        lines.append(
            f"{OFFLINE_UNANSWERED} nothing in the text matches the question well. The nearest"
            " passages:"
        )
    elif not fits(plan.about, best, best["quote"]):
        what = "says plainly " + plan.about["what"] if plan.about.get("what") else "answers that"
        lines.append(f"{OFFLINE_UNANSWERED} no passage {what}. The nearest passages:")
    elif full and (value := _value(plan, best)):
        lines.append(f"“{value}”" if value.startswith(OFFLINE_UNANSWERED) else value)
    near = _apart([item for item in items if item is best or item["score"] >= 0.7 * best["score"]])
    lines += [quoted(item) for item in near[:1]] + [f"also {quoted(item)}" for item in near[1:4]]
    if missing:
        lines.append("Not in the text: " + ", ".join(f"“{tidy(word)}”" for word in missing) + ".")
    return "\n".join([*lines, PICKED])


def _fit_first(plan: Plan, items: list[Found], asked: int) -> list[Found]:
    """The passages, those first that have what the question needs, if they have most of its words
    too."""
    fit = [
        item
        for item in items
        if fits(plan.about, item, item["quote"]) and len(item["terms"]) * 2 > asked
    ]
    return [*fit, *(item for item in items if item not in fit)]


def _value(plan: Plan, best: Found) -> str:
    quote = tidy(best["quote"])
    if form := plan.about.get("value"):
        match = re.search(form, quote)
        return match[1] if match else ""
    lines = [tidy(line) for line in best["quote"].split("\n")]
    if len(lines) > 1 and any(
        "=" in line for line in lines
    ):  # settings and formulas: a value ends with its line
        full = [
            line
            for line in lines
            if all(term.lower()[:5] in line.lower() for term in best["terms"])
        ]
        return value_in(full[0], best["terms"], plan.about["extra"]) if len(full) == 1 else ""
    return value_in(quote, best["terms"], plan.about["extra"])


def _apart(items: list[Found]) -> list[Found]:
    """No passage that lies in another, and none around one."""
    kept: list[Found] = []
    for item in items:
        inside = [
            one
            for one in kept
            if one["text"] == item["text"]
            and one["at"] < item["at"] + len(item["quote"])
            and item["at"] < one["at"] + len(one["quote"])
        ]
        if not inside:
            kept.append(item)
    return kept


def _how_many(plan: Plan, found: Found, best: Found, full: bool) -> str:
    """A number that stands before what is counted, or the lines of a log that have every word; no
    other number."""
    if full and (
        number := number_before(tidy(best["quote"]), plan.about["counted"], best["terms"])
    ):
        return number
    if full and plan.about["log"] and plan.about["unit"] == "line":
        words = ", ".join(f"“{tidy(word)}”" for word in best["terms"])
        return (
            f"{found['all']}: so many lines contain all of {words} (capitals ignored, other endings"
            " too)."
        )
    return f"{OFFLINE_UNANSWERED} no passage says plainly how many. The nearest passages:"


def _extract(plan: Plan, found: Found) -> str:
    label = plan.about["label"]
    if not found["count"]:
        return f"0: the text has no {label} that are written in a form known to offline."
    said = f"{found['count']} found ({label}; {found['distinct']} different):"
    lines = []
    for item in found["items"]:
        times = f", {item['times']} times" if item["times"] > 1 else ""
        lines.append(f"- {tidy(item['quote'])} ({place_of(item)}{times})")
    rest = found["distinct"] - len(lines)
    return "\n".join([said, *lines, *([f"… and {rest} more"] if rest > 0 else [])])
