"""The words of an answer: how places and quotes are written, and answers about a text as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rlm.llm.types import OFFLINE_UNANSWERED

if TYPE_CHECKING:
    from rlm.llm.offline.text.plan import Plan

Found = Mapping[str, Any]

WHAT_IT_IS = (
    "offline is no language model: it is a fixed planner that counts, finds, quotes, lists and"
    " outlines by rules, and understands nothing."
)
HOW_TO_SET = (
    "For a language model set RLM_MODEL or give --model (openai/NAME, anthropic/NAME, or NAME with"
    " RLM_BASE_URL set)."
)


def tidy(text: object, *, lines: bool = False) -> str:
    """Text to quote: white space made even, and nothing that steers a terminal."""
    shown = "".join(
        c if c.isprintable() or c in "\n\t" else "\ufffd" if not c.isspace() else " "
        for c in str(text)
    )
    if lines:
        return "\n".join(line.rstrip() for line in shown.split("\n")).strip("\n")
    return " ".join(shown.split())


def of_text(name: object) -> str:
    if name is None:
        return ""
    return f"context[{name}]" if isinstance(name, int) else f"'{tidy(name)[:100]}'"


def place_of(item: Found) -> str:
    line = item.get("line")
    more = tidy(item.get("quote", ""), lines=True).count("\n") if line else 0
    where = "" if not line else f"lines {line}-{line + more}" if more else f"line {line}"
    return ", ".join(part for part in (of_text(item.get("text")), where) if part)


def quoted(item: Found) -> str:
    """A quote with its place. The lines of the text stay as they are."""
    place = place_of(item)
    return (f"{place}: " if place else "") + f"“{tidy(item.get('quote', ''), lines=True)}”"


def times_of(number: int) -> str:
    return "1 time" if number == 1 else f"{number} times"


def per_text_of(found: Found, what: str = "") -> str:
    counts = [(name, count) for name, count in found.get("per_text", []) if name is not None]
    if not counts:
        return ""
    more = found.get("texts_with", 0) - len(counts)
    listed = ", ".join(f"{of_text(name)}: {count}" for name, count in counts)
    return f"\nBy text{what}: {listed}" + (f" and {more} more" if more > 0 else "")


_KINDS = {
    "markdown": "Markdown headings",
    "chapter": "lines like “Chapter 1”",
    "numbered": "numbered headings",
    "capitals": "lines in capitals",
}


def kinds_of(found: Found) -> str:
    return ", ".join(f"{count} {_KINDS.get(kind, kind)}" for kind, count in found["kinds"].items())


def summary(plan: Plan, found: Found) -> str:
    lines = [
        (
            "A summary made from the structure of the text alone (offline is no language model and"
            " has not understood it)."
        ),
        f"Size: {found.get('size', 0):,} characters"
        + (f" in {found['texts']} texts." if found["texts"] > 1 else "."),
    ]
    items = found.get("items", [])
    if found["count"]:
        lines.append(f"Sections: {found['count']} ({kinds_of(found)}). With the beginning of each:")
        for item in items:
            begins = f": {tidy(item['quote'])}" if item["quote"] else ""
            lines.append(f"- {tidy(item['title'])} ({place_of(item)}){begins}")
        if found["count"] > len(items):
            lines.append(f"… and {found['count'] - len(items)} more headings")
    else:
        lines.append("No headings were found. What some of the paragraphs begin with:")
        lines += [f"- {quoted(item)}" for item in items]
    words = ", ".join(f"{tidy(word)} ({times})" for word, times in found["words"])
    return "\n".join([*lines, f"Most frequent words: {words or 'none'}."])


def headings(plan: Plan, found: Found) -> str:
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
        said = f"{total}: so many lines look like headings" + (
            f" ({kinds_of(found)})." if total else "."
        )
    lines = [f"- {tidy(item['title'])} ({place_of(item)})" for item in items]
    return "\n".join(
        [said, *lines, *([f"… and {total - len(lines)} more"] if total > len(lines) else [])]
    )


def measured(plan: Plan, found: Found) -> str:
    unit = plan.about["unit"]
    how = {"words": " (separated by white space)", "paragraphs": " (separated by blank lines)"}.get(
        unit, ""
    )
    how = " (counted by their end marks)" if unit == "sentences" else how
    counts = [(name, count) for name, count in found.get("per_text", []) if name is not None]
    if which := plan.about.get("which"):
        if len(counts) < max(2, found.get("texts", 1)):
            said = (
                "there is only one text."
                if len(counts) < 2
                else "there are too many texts to compare."
            )
            return f"{OFFLINE_UNANSWERED} {said}"
        name, count = (max if which == "longest" else min)(counts, key=lambda pair: pair[1])
        return f"{of_text(name)} is the {which}: {count} {unit}." + per_text_of(found)
    return f"{found['count']} {unit}{how}." + per_text_of(found)


def common_words(plan: Plan, found: Found) -> str:
    if not found["all"]:
        return "There are no words in the text."
    everything = ", ".join(f"{tidy(word)} ({times})" for word, times in found["all"])
    content = ", ".join(f"{tidy(word)} ({times})" for word, times in found["content"]) or "none"
    return (
        f"Most common words, all counted: {everything}.\nWithout function words such as “the”:"
        f" {content}."
    )


def distinct_words(plan: Plan, found: Found) -> str:
    about = "at least " if found["cut"] else ""
    return (
        f"{about}{found['distinct']} different words (capitals ignored), {found['count']} words in"
        " all."
    )


def extreme_line(plan: Plan, found: Found) -> str:
    if not found["items"]:
        return "The text has no line with anything on it."
    best = found["items"][0]
    which = plan.about["which"] + (
        " line that is not empty" if plan.about["which"] == "shortest" else " line"
    )
    return f"The {which} has {best['length']} characters.\n{quoted(best)}"


def edges(plan: Plan, found: Found) -> str:
    if not found["items"]:
        return f"{OFFLINE_UNANSWERED} the text has no {plan.about['which'].split()[-1]}."
    several = " of each text" if found.get("texts", 1) > 1 else ""
    rows = " (the header line is not counted)" if plan.args["unit"] == "rows" else ""
    return "\n".join(
        [f"The {plan.about['which']}{several}{rows}:", *(quoted(item) for item in found["items"])]
    )


def lines_by_number(plan: Plan, found: Found) -> str:
    if not found["items"]:
        return f"The text has no {plan.about['which']}."
    return "\n".join(quoted(item) for item in found["items"])


def in_table(plan: Plan, found: Found) -> str:
    """Rows, columns, or what was reckoned from a column."""
    wanted, columns = plan.about["wanted"], ", ".join(tidy(name) for name in found["columns"])
    if not found["columns"]:
        return f"{OFFLINE_UNANSWERED} the text could not be read as a table."
    if wanted == "columns":
        return f"{len(found['columns'])} columns, by the header line: {columns}."
    if wanted == "rows":
        return f"{found['count']} rows (the header line is not counted). Columns: {columns}."
    named, where = f"the column “{tidy(plan.about['column'])}”", plan.about["where"]
    rows = f"{found['count']} row{'s' * (found['count'] != 1)}" + (
        f" that contain {where}" if where else ""
    )
    if not found["numbers"]:
        return f"{OFFLINE_UNANSWERED} {named} has no numbers in the {rows}."
    left = f"; {found['other']} without a number there were left out" if found["other"] else ""
    over = f"over {found['numbers']} number{'s' * (found['numbers'] != 1)} of {rows}{left}"
    if wanted in ("sum", "mean"):
        value = found["sum"] if wanted == "sum" else found["sum"] / found["numbers"]
        return (
            f"{number_text(value)}: the {'sum' if wanted == 'sum' else 'average'} of {named},"
            f" {over}."
        )
    best = found["best"]
    row = {name: tidy(cell) for name, cell in best["row"]}
    shown = row.get(plan.about["shown"], "")
    lead = f"{shown}\n" if shown and not shown.startswith(OFFLINE_UNANSWERED) else ""
    cells = ", ".join(f"{tidy(name)}: {cell}" for name, cell in row.items())
    least = "least" if wanted == "min" else "greatest"
    return (
        f"{lead}{number_text(best['value'])}: the {least} number of {named},"
        f" {over}.\n{place_of(best)}: {cells}"
    )


def number_text(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.12g}"
