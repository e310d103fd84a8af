"""Where the passages of a text begin and end: sentences over wrapped lines, headings with what they
head, rows.

Like those of `reading` these functions run in the sealed REPL.
"""

from __future__ import annotations

import re
from typing import Any

from rlm.llm.offline.text.reading import runs_on
from rlm.llm.offline.text.table import sniff_table


def passage_ends(unit: str, wrapped: bool) -> str:
    """What a passage ends with: a blank line, the end of a line, or that of a sentence.

    One set of characters comes first, and conditions look back at it: the other way round is slow.
    """
    if unit == "line":
        return r"\n"
    if unit == "paragraph":
        return r"\n[ \t]*\n\s*"
    if unit == "record":  # of JSON: what stands between braces
        return r"[{}]\s*"
    names = r"(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bSt\.)(?<!\bProf\.)(?<!\bNo\.)(?<!\b[A-Za-z]\.)"
    sentence = r"(?<=[.!?…])" + names + r"[.!?…]*[\"'”’»)\]]*\s+"
    line = r"(?<=\n)"
    if wrapped:  # a blank line, or a line that begins a list, a heading, a row, code or a setting
        begins = (
            r"[-+*•][ \t]|#{1,6}[ \t]|[|>]|```|~~~|\d{1,3}[.)][ \t]|[\w.-]{1,40}[ \t]?[=:][ \t]"
        )
        line += r"(?:[ \t]*\n\s*|(?=[ \t]*(?:" + begins + ")))"
    else:  # any line, but for a long one that plainly goes on in the next
        line += r"(?!(?<=[^\n]{40}[\w,;’'–—-]\n)[ \t]*[^\W\d_A-Z])"
    return r"[.!?…。！？\n](?:(?<=[。！？])|" + sentence + "|" + line + ")"


def kind_of(text: Any) -> str:
    """`rows` for a table, `wrapped`, or `plain`."""
    if sniff_table(text)["columns"]:
        return "rows"
    size = len(text)
    return (
        "wrapped"
        if runs_on(text[:10_000] + "\n\n" + text[max(10_000, size // 2) :][:10_000])
        else "plain"
    )


def code_spans(part: str) -> list[tuple[int, int]]:
    """Where code stands between fences."""
    marks = [
        (match.start(), match.end())
        for match in re.finditer(r"(?m)^[ \t]{0,3}(?:```|~~~)[^\n]*\n?", part)
    ]
    return [(a[1], b[0]) for a, b in zip(marks[::2], marks[1::2], strict=False)]


def span_of(
    part: str, place: int, own: int, ends: Any, reach: int, code: list[tuple[int, int]], prose: bool
) -> tuple[int, int, int]:
    """The passage around a place, and where what follows it ends, if it is a heading or opens a
    list.

    In prose a row of a table, a heading and a line of code are taken as they are.
    """
    if prose:
        begin = part.rfind("\n", 0, place) + 1
        first = part[begin : begin + 12].lstrip(" \t")[:1]
        inside = [1 for a, b in code if a <= place < b]
        if first == "|" or first == "#" or inside:
            end = part.find("\n", place, own) + 1 or own
            if end - begin <= 2 * reach:
                return (
                    begin,
                    end,
                    end if inside or first == "|" else with_what_follows(part, begin, end, own),
                )
    for far in (200, reach):  # mostly the first is enough, and it is faster
        start = tried = max(0, place - far)
        for match in ends.finditer(part, start, place + 1):
            start = match.end() if match.end() <= place else start
        if start > tried:
            break
    if prose and start < begin:
        for match in re.compile(r"(?m)^(?:#{1,6}[ \t]|\||```|~~~)[^\n]*\n").finditer(
            part, start, begin
        ):
            start = match.end()
    found = ends.search(part, place, min(own, place + reach))
    stop = found.end() if found else min(own, place + reach)
    if not prose or part[stop - 2 : stop] == ". " or part[stop - 1 : stop] != "\n":
        return start, stop, stop
    return start, stop, with_what_follows(part, start, stop, own)


def with_what_follows(part: str, start: int, stop: int, own: int, room: int = 500) -> int:
    """The end of a passage: that of the paragraph, list or code behind a heading or a colon, where
    it is one."""
    text = part[start:stop].strip()
    line = re.compile(r"\s*[^\n]*\n(?:={3,}|-{3,})[ \t]*(?:\n|$)").match(part, start)
    headed = re.match(r"#{1,6}[ \t]+\S[^\n]*$", text) or (line and "\n" not in text)
    title = "\n" not in text and 3 < len(text) < 80 and text.isupper()
    if not (headed or title or text.endswith(":")):
        return stop
    at = line.end() if headed and line else stop
    at += len(part[at : at + room]) - len(part[at : at + room].lstrip())
    if at >= own or re.compile(r"#{1,6}[ \t]|[^\n]+\n(?:={3,}|-{3,})[ \t]*\n").match(part, at):
        return stop
    fence = re.compile(r"```|~~~").match(part, at)
    blank = re.compile(r"\n(?:```|~~~)[^\n]*" if fence else r"\n[ \t]*(?=\n)").search(
        part, at, min(own, at + room)
    )
    if blank:
        return blank.end()
    if at + room >= own:
        return own
    if part[at] in "-*+|" or fence:  # whole items, rows and lines of code
        item = r"\n" if fence else r"\n(?=[ \t]*[-*+|])"
        items = [match.start() for match in re.compile(item).finditer(part, at, at + room)]
        if items:
            return items[-1]
    sentences = [
        match.end() for match in re.compile(r"[.!?…][\"'”’)\]]*\s").finditer(part, at, at + room)
    ]
    return sentences[:2][-1] if sentences else max(part.rfind(" ", at, at + room), at)


def open_end(part: str, own: int, ends: Any, reach: int) -> int:
    """Where the sentence begins that runs on over the end of a block."""
    start = cut = max(0, own - reach)
    for match in ends.finditer(part, start, own):
        cut = match.end()
    return cut if cut > start else own


def says_nothing(part: str, start: int, stop: int, patterns: list[Any]) -> bool:
    """Whether a passage is a heading alone, only the words that were asked for, or is broken off."""
    text = part[start:stop].strip()
    if re.match(r"#{1,6}[ \t][^\n]*$", text):
        return True
    if text[:1] == "|" and re.compile(r"[ \t]*\|[-:| \t]+(?:\n|$)").match(
        part, stop
    ):  # the head of a table
        return True
    broken = r"\w,$|(?<![\w-])(?:is|are|was|were|the|an|of|and|or|with|by|that|which)$"
    if re.search(broken, text) and not re.search(r"[=\"{(]", text):
        return True
    if len(text) > 200:
        return False
    low = text.lower()
    for pattern in patterns:
        low = pattern.sub(" ", low)
    little = ("the", "a", "an", "of", "in", "on", "is", "are", "was", "were", "and", "or", "to", "for", "what", "which",
              "how", "it", "this", "that", "with", "do", "does")  # fmt: skip
    return not [1 for word in re.findall(r"[^\W_]+", low) if word not in little] and not re.search(
        r"[=:]\s*\S", low
    )
