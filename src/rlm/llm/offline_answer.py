"""From what a program of `offline` found to the words of an answer. Nothing is said that was not found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rlm.llm.offline_question import Plan

Found = Mapping[str, Any]

WHAT_IT_IS = (
    "offline is no language model: it is a fixed planner that counts, finds, quotes, lists and outlines by rules, "
    "and understands nothing."
)
HOW_TO_SET = (
    "For a language model set RLM_MODEL or give --model (openai/NAME, anthropic/NAME, or NAME with RLM_BASE_URL set)."
)
CANNOT = (
    f"This question cannot be answered without a language model. {WHAT_IT_IS} It can answer, for example: how many "
    "times does 'X' occur, how many lines contain 'X', where is 'X' mentioned, quote the sentence about X, what is the "
    "value of X, list all e-mail addresses, what is the longest line, which words are most common, "
    f"summarise. {HOW_TO_SET}"
)
PICKED = "(offline is no language model: passages are picked by the words that they share with the question.)"


def answer(plan: Plan, found: Found) -> str:
    """The answer. `found` is what the plan's program reported."""
    made = {
        "count": _count,
        "find": _find,
        "passages": _passages,
        "extract": _extract,
        "summary": _summary,
        "headings": _headings,
        "measure": _measure,
        "common": _common,
        "distinct": _distinct,
        "extreme": _extreme,
        "edge": _edge,
        "lines": _lines,
    }[plan.kind](plan, found)
    notes = []
    if found.get("partial"):
        notes.append(
            f"Note: only {found.get('read', 0):,} of {found.get('size', 0):,} characters were read in the time."
        )
    return "\n".join([made, *notes])


def tidy(text: object, *, lines: bool = False) -> str:
    """Text to quote: white space made even, and nothing that steers a terminal."""
    shown = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" if not c.isspace() else " " for c in str(text))
    if lines:
        return "\n".join(line.rstrip() for line in shown.split("\n")).strip("\n")
    return " ".join(shown.split())


def _of_text(name: object) -> str:
    if name is None:
        return ""
    return f"context[{name}]" if isinstance(name, int) else f"'{tidy(name)[:100]}'"


def _place(item: Found) -> str:
    parts = [_of_text(item.get("text")), f"line {item['line']}" if item.get("line") else ""]
    return ", ".join(part for part in parts if part)


def _quote(item: Found) -> str:
    place = _place(item)
    return (f"{place}: " if place else "") + f"“{tidy(item.get('quote', ''))}”"


def _times(number: int) -> str:
    return "1 time" if number == 1 else f"{number} times"


def _per_text(found: Found, what: str = "") -> str:
    counts = [(name, count) for name, count in found.get("per_text", []) if name is not None]
    if not counts:
        return ""
    more = found.get("texts_with", 0) - len(counts)
    listed = ", ".join(f"{_of_text(name)}: {count}" for name, count in counts)
    return f"\nBy text{what}: {listed}" + (f" and {more} more" if more > 0 else "")


def _named(plan: Plan) -> str:
    needle = tidy(plan.about["needle"])
    kind = "word" if plan.about["mode"] == "whole" and len(needle.split()) == 1 else "phrase"
    return f"“{needle}”" if plan.about["mode"] != "whole" else f"the {kind} “{needle}”"


def _case(plan: Plan) -> str:
    return "capitals as given" if plan.about["mode"] == "exact" else "capitals ignored"


def _count(plan: Plan, found: Found) -> str:
    unit, number = plan.about["unit"], found["count"]
    if unit in ("sentences", "paragraphs"):
        return f"{number}: so many {unit} contain {_named(plan)} ({_case(plan)})." + _examples(found)
    if unit == "lines":
        number = found["lines"]
        said = f"{number}: so many lines contain {_named(plan)} ({_case(plan)}; {_times(found['count'])} in all)."
        return said + _per_text(found, " (times)") + _examples(found)
    if unit in ("texts", "documents", "files"):
        number = found["texts_with"]
        return f"{number}: so many {unit} contain {_named(plan)} ({_times(found['count'])} in all)." + _per_text(found)
    how = _case(plan) + (", whole words only" if plan.about["mode"] == "whole" else "")
    said = f"{number}: {_named(plan)} occurs {_times(number)} ({how})."
    inside = found.get("anywhere", 0) - number
    if plan.about["mode"] == "whole" and inside > 0:
        said += f" As a part of longer words it occurs {_times(inside)} more."
    return said + _per_text(found) + _examples(found)


def _examples(found: Found) -> str:
    items = [_quote(item) for item in found.get("items", [])]
    if not items:
        return ""
    lead = "It is" if found["count"] == 1 else "For example" if "missing" in found else "The first"
    return f"\n{lead}:\n" + "\n".join(f"- {item}" for item in items)


def _find(plan: Plan, found: Found) -> str:
    number, items = found["count"], found.get("items", [])
    if not number:
        inside = found.get("anywhere", 0)
        said = f"{_named(plan)} does not occur in the text ({_case(plan)})."
        said = said[0].upper() + said[1:]
        return (
            ("No. " if plan.about["yes_no"] else "")
            + said
            + (f" As a part of longer words it occurs {_times(inside)}." if inside else "")
        )
    said = (
        f"{_named(plan)} occurs {_times(number)}, on {found['lines']} line{'s' * (found['lines'] != 1)} ({_case(plan)})"
    )
    said = ("Yes. " if plan.about["yes_no"] else "") + said[0].upper() + said[1:]
    rest = found["lines"] - len(items)
    shown = "\n".join(f"- {_quote(item)} (character {item['at']})" for item in items)
    return f"{said}:\n{shown}" + (f"\n… and on {rest} more." if rest > 0 else "") + _per_text(found)


def _passages(plan: Plan, found: Found) -> str:
    items, missing = found.get("items", []), found.get("missing", [])
    if not items:
        words = ", ".join(f"“{tidy(word)}”" for word in missing) or plan.about["labels"]
        occur = "occurs" if len(missing) == 1 else "occur"
        return f"Nothing in the text matches the question: {words} {occur} nowhere in it. {WHAT_IT_IS}"
    best, lines = items[0], []
    asked = len(plan.args["terms"])
    if asked >= 3 and len(best["terms"]) * 3 <= asked:
        lines.append("Nothing in the text matches the question well. The nearest passages:")
    elif len(best["terms"]) == asked and (value := value_in(tidy(best["quote"]), best["terms"], plan.about["extra"])):
        lines.append(value)
    near = [item for item in items if item["score"] >= 0.7 * best["score"]]
    lines += [_quote(item) for item in near[:1]] + [f"also {_quote(item)}" for item in near[1:4]]
    if missing:
        lines.append("Not in the text: " + ", ".join(f"“{tidy(word)}”" for word in missing) + ".")
    return "\n".join([*lines, PICKED])


_SAID = re.compile(
    r"[^.!?=:]{0,60}?(?:\s(?:is|are|was|were|equals|reads)\s*:?\s+|\s?(?:=>|->|→|:=|=|:)\s?)"
    r"(?:\"([^\"]{1,120})\"|“([^”]{1,120})”|'([^']{1,120})'|`([^`]{1,120})`|([^\s;,]\S*(?: [^;,]\S*){0,5}?))"
    r"(?=[.!?;,]*$|[.;,!?]\s|[;,])"
)


def value_in(quote: str, terms: list[str], form: str) -> str:
    """The value that a passage gives to what was asked for; '' when that is not plain to see."""
    low = quote.lower()
    ends = [low.rfind(term.lower()[:5]) for term in terms]
    last = max([end for end in ends if end >= 0], default=-1)
    if last < 0:
        return ""
    if form and not form.startswith("(?i)"):  # a form of value: a date, a number, an address
        pattern = re.compile(form)
        match = pattern.search(quote, last) or pattern.search(quote)
        return match.group() if match else ""
    if not form:
        return ""
    word = re.compile(r"\w*").match(quote, last)
    match = _SAID.match(quote, word.end() if word else last)
    if match is None:
        return ""
    return match[5].rstrip(".!?") if match[5] else next(group for group in match.groups() if group)


def _extract(plan: Plan, found: Found) -> str:
    label = plan.about["label"]
    if not found["count"]:
        return f"0: the text has no {label} that are written in a form known to offline."
    said = f"{found['count']} found ({label}; {found['distinct']} different):"
    lines = []
    for item in found["items"]:
        times = f", {item['times']} times" if item["times"] > 1 else ""
        lines.append(f"- {tidy(item['quote'])} ({_place(item)}{times})")
    rest = found["distinct"] - len(lines)
    return "\n".join([said, *lines, *([f"… and {rest} more"] if rest > 0 else [])])


_KINDS = {
    "markdown": "Markdown headings",
    "chapter": "lines like “Chapter 1”",
    "numbered": "numbered headings",
    "capitals": "lines in capitals",
}


def _kinds(found: Found) -> str:
    return ", ".join(f"{count} {_KINDS.get(kind, kind)}" for kind, count in found["kinds"].items())


def _summary(plan: Plan, found: Found) -> str:
    lines = [
        "A summary made from the structure of the text alone (offline is no language model and has not understood it).",
        f"Size: {found.get('size', 0):,} characters" + (f" in {found['texts']} texts." if found["texts"] > 1 else "."),
    ]
    items = found.get("items", [])
    if found["count"]:
        lines.append(f"Sections: {found['count']} ({_kinds(found)}). With the beginning of each:")
        for item in items:
            begins = f": {tidy(item['quote'])}" if item["quote"] else ""
            lines.append(f"- {tidy(item['title'])} ({_place(item)}){begins}")
        if found["count"] > len(items):
            lines.append(f"… and {found['count'] - len(items)} more headings")
    else:
        lines.append("No headings were found. What some of the paragraphs begin with:")
        lines += [f"- {_quote(item)}" for item in items]
    words = ", ".join(f"{tidy(word)} ({times})" for word, times in found["words"])
    return "\n".join([*lines, f"Most frequent words: {words or 'none'}."])


def _headings(plan: Plan, found: Found) -> str:
    unit, items = plan.about["unit"], found.get("items", [])
    chapters = found["kinds"].get("chapter", 0)
    if unit == "chapters" and chapters:
        items = [item for item in items if item["kind"] == "chapter"]
        different = len({tidy(item["title"]).lower() for item in items})
        twice = f" ({different} different titles)" if chapters == len(items) != different else ""
        said = f"{chapters}: so many lines look like the heading of a chapter{twice}."
        total = chapters
    else:
        total = found["count"]
        said = f"{total}: so many lines look like headings" + (f" ({_kinds(found)})." if total else ".")
    lines = [f"- {tidy(item['title'])} ({_place(item)})" for item in items]
    return "\n".join([said, *lines, *([f"… and {total - len(lines)} more"] if total > len(lines) else [])])


def _measure(plan: Plan, found: Found) -> str:
    unit = plan.about["unit"]
    how = {"words": " (separated by white space)", "paragraphs": " (separated by blank lines)"}.get(unit, "")
    how = " (counted by their end marks)" if unit == "sentences" else how
    return f"{found['count']} {unit}{how}." + _per_text(found)


def _common(plan: Plan, found: Found) -> str:
    if not found["all"]:
        return "There are no words in the text."
    everything = ", ".join(f"{tidy(word)} ({times})" for word, times in found["all"])
    content = ", ".join(f"{tidy(word)} ({times})" for word, times in found["content"]) or "none"
    return f"Most common words, all counted: {everything}.\nWithout function words such as “the”: {content}."


def _distinct(plan: Plan, found: Found) -> str:
    about = "at least " if found["cut"] else ""
    return f"{about}{found['distinct']} different words (capitals ignored), {found['count']} words in all."


def _extreme(plan: Plan, found: Found) -> str:
    if not found["items"]:
        return "The text has no line with anything on it."
    best = found["items"][0]
    which = plan.about["which"] + (" line that is not empty" if plan.about["which"] == "shortest" else " line")
    return f"The {which} has {best['length']} characters.\n{_quote(best)}"


def _edge(plan: Plan, found: Found) -> str:
    if len(found["items"]) == 1 and found["items"][0].get("text") is None:
        return f"The {plan.about['which']}:\n" + tidy(found["items"][0]["quote"], lines=True)
    lines = [f"{_of_text(item.get('text'))}:\n{tidy(item['quote'], lines=True)}" for item in found["items"]]
    return "\n".join([f"The {plan.about['which']} of each text:", *lines])


def _lines(plan: Plan, found: Found) -> str:
    if not found["items"]:
        return f"The text has no {plan.about['which']}."
    return "\n".join(_quote(item) for item in found["items"])
