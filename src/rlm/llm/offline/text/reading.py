"""Programs that `offline` writes into its replies: reading a text of any length, and finding words
in it.

The functions here run in the sealed REPL, not in this process: `offline` takes their source text.
So they use nothing but their arguments, each other, and the modules that a block imports at its
top. All of them read the text in blocks that end at the end of a line where there is one, and stop
reading when their time is over; `clock` keeps count, and what was left out is reported. What a
block prints of the text stands in strings inside of one line of JSON.
"""

from __future__ import annotations

import itertools
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

Clock = dict[str, Any]


def start_clock(seconds: float) -> Clock:
    return {"until": time.monotonic() + seconds, "reads": 0, "chars": 0, "partial": False}


def texts_of(context: Any) -> list[tuple[Any, Any]]:
    """Every text with its name: an index, a key, or None for the only one."""
    if isinstance(context, dict):
        return list(context.items())
    if isinstance(context, (list, tuple)):
        return list(enumerate(context))
    return [(None, context)]


def size_of(context: Any) -> int:
    return sum([len(text) for name, text in texts_of(context)])


def fold(text: str) -> str:
    """Lower case, every character in its place."""
    low = text.lower()
    if len(low) != len(text):
        low = "".join([c.lower() if len(c.lower()) == 1 else c for c in text])
    return low


def blocks(text: Any, clock: Clock, size: int = 1_000_000) -> Iterator[tuple[int, int, str, int]]:
    """Offset, line number, some characters, and how many of them belong to this block; the rest is
    a look ahead."""
    at, line, total = 0, 1, len(text)
    while at < total:
        if time.monotonic() > clock["until"] or clock["reads"] > 9_000:
            clock["partial"] = True
            return
        part = text[at : at + size + 600].removeprefix(
            ""
        )  # a view is taken in whole: here all is counted in strings
        clock["reads"] += 1 + len(part) // 250_000
        own = len(part)
        if at + own < total:
            ends = [part.rfind(mark, size // 2, size) + len(mark) for mark in ("\n\n", "\n", " ")]
            own = next((end for end in ends if end > size // 2), min(size, own))
        if not own:
            return
        yield at, line, part, own
        clock["chars"] += own
        line += part.count("\n", 0, own)
        at += own


def excerpt(part: str, place: int, room: int = 240) -> str:
    """The line around a place, or as much of it as there is room for."""
    start, stop = part.rfind("\n", 0, place) + 1, part.find("\n", place)
    stop = len(part) if stop < 0 else stop
    if stop - start <= room:
        return part[start:stop].strip()
    low, high = max(start, place - room // 2), min(stop, place + room // 2)
    while low > start and low > place - room // 2 - 20 and not part[low - 1].isspace():
        low -= 1
    while high < stop and high < place + room // 2 + 20 and not part[high].isspace():
        high += 1
    return ("…" if low > start else "") + part[low:high].strip() + ("…" if high < stop else "")


def runs_on(sample: str) -> bool:
    """Whether sentences run on over the ends of lines, as they do where somebody has wrapped them."""
    lines = sample.split("\n")
    setting = re.compile(r"[\w.-]{1,40}[ \t]*[=:]")
    going_on = sum(
        [
            1
            for a, b in itertools.pairwise(lines)
            if len(a) > 30
            and re.search(r"[\w,;’'–—-]$", a)
            and b.lstrip()[:1].islower()
            and not setting.match(b)
        ]
    )
    filled = len([1 for line in lines if line.strip()])
    headed = re.search(r"(?:^|\n[ \t]*\n)#{1,6}[ \t]+\S[^\n]*\n[ \t]*\n", sample)  # Markdown
    return going_on * (40 if headed else 8) > filled


def report(found: dict[str, Any], limit: int) -> str:
    """The result as one line of JSON with at most `limit` characters; items give way first."""
    items = found.get("items", [])
    found["dropped"] = 0
    line = json.dumps(found, ensure_ascii=False)
    while len(line) > limit and items:
        if len(items) > 1:
            items.pop()
            found["dropped"] += 1
        else:
            room = len(items[0].get("quote", "")) // 2
            if room < 20:
                items.pop()
            else:
                items[0]["quote"] = items[0]["quote"][:room] + "…"
        line = json.dumps(found, ensure_ascii=False)
    return "offline-found " + line


def needle_pattern(needle: str, mode: str, forms: Any = ()) -> str:
    """White space in a needle is any white space. Letters come first in the pattern: that is what
    makes it fast.

    Modes: `whole` (no word goes on at either end), `stem` (an ending may follow), else anywhere.
    `forms`: more words that may stand in the place of the last one.
    """
    *head, last = needle.split()
    lasts = sorted({last, *forms}, key=lambda form: (-len(form), form))
    same = 0
    while same < len(lasts[-1]) and len({form[same] for form in lasts}) == 1:
        same += 1
    first, *more = [re.escape(word) for word in (*head, last[:same]) if word] or [""]
    rest = "".join([r"\s+" + word for word in more])
    ends = "|".join([re.escape(form[same:]) for form in lasts])
    rest += (r"\s+" if head and not same else "") + ("(?:" + ends + ")" if len(lasts) > 1 else "")
    if mode not in ("whole", "stem"):
        return first + rest
    before = r"(?<!\w" + first + ")"
    return (
        (first + before if first else before)
        + rest
        + (r"\w{0,4}" if mode == "stem" else "")
        + r"(?!\w)"
    )


def locate(
    context: Any,
    clock: Clock,
    needle: str,
    mode: str,
    keep: int,
    forms: Any = (),
    last: bool = False,
    capitals: bool = False,
) -> dict[str, Any]:
    """Where a needle occurs: as a word (`whole`), anywhere (`any`), or with its capitals as given
    (`exact`).

    Shown are the first `keep` lines, or the last ones. `capitals`: where the word is written in
    capitals, as the level of a line in a log is, these places are meant, and `spelled` says how
    many lines have it in any spelling.
    """
    if capitals:
        big = locate(
            context,
            clock,
            needle.upper(),
            "exact whole",
            keep,
            [form.upper() for form in forms],
            last,
        )
        clock["chars"] = 0
        every = locate(context, clock, needle, mode, 0 if big["count"] else keep, forms, last)
        return {**big, "spelled": every["lines"]} if big["count"] else every
    exact = mode.startswith("exact")
    needle = needle if exact else fold(needle)
    wanted = re.compile(needle_pattern(needle, "whole" if mode == "exact whole" else mode, forms))
    by_line = re.compile(wanted.pattern + r"[^\n]*")  # a match takes the rest of its line with it
    single = len(needle.split()) == 1 and not forms
    found: dict[str, Any] = {
        "count": 0,
        "anywhere": 0,
        "lines": 0,
        "texts_with": 0,
        "per_text": [],
        "items": [],
    }
    shortest = min([needle, *forms], key=len)
    if " " in needle or [1 for form in (needle, *forms) if not form.startswith(shortest)]:
        shortest = ""
    times: Counter[str] = Counter()
    for name, text in texts_of(context):
        here = 0
        for at, line, part, own in blocks(text, clock):
            low = part if exact else fold(part)
            if single:
                end = own + len(needle) - 1
                here += len(wanted.findall(low, 0, end))
                found["anywhere"] += low.count(needle.strip(), 0, end)
            else:
                matches = [match.group() for match in wanted.finditer(low) if match.start() < own]
                here += len(matches)
                found["anywhere"] += (
                    low.count(shortest, 0, own + len(shortest) - 1) if shortest else 0
                )
                times.update([" ".join(match.split()) for match in matches] if forms else [])
            if not here:
                continue
            places: list[int] = []
            for match in by_line.finditer(low, 0, own):
                found["lines"] += 1
                if last or len(found["items"]) + len(places) < keep:
                    places.append(match.start())
            for place in places[-keep:] if keep else []:
                there = {"text": name, "line": line + part.count("\n", 0, place), "at": at + place}
                found["items"].append({**there, "quote": excerpt(part, place)})
            found["items"] = found["items"][-keep:] if keep else []
        found["count"] += here
        if here:
            found["texts_with"] += 1
            if len(found["per_text"]) < 20:
                found["per_text"].append([name, here])
    return {**found, "forms": dict(times.most_common(8))}


def extract(context: Any, clock: Clock, pattern: str, keep: int) -> dict[str, Any]:
    """Every value of a form, in the order of first appearance, with how often it occurs."""
    form = re.compile(pattern)
    seen: dict[str, int] = {}
    items: list[dict[str, Any]] = []
    total = 0
    for name, text in texts_of(context):
        for at, line, part, own in blocks(text, clock):
            for match in form.finditer(part):
                if match.start() >= own:
                    break
                value = match.group(match.lastindex or 0)[:300]
                total += 1
                if value in seen:
                    seen[value] += 1
                elif len(seen) < 300_000:
                    seen[value] = 1
                    if len(items) < keep:
                        place = {
                            "text": name,
                            "line": line + part.count("\n", 0, match.start()),
                            "at": at,
                        }
                        items.append({**place, "quote": value})
    for item in items:
        item["times"] = seen[item["quote"]]
        item.pop("at")
    return {"count": total, "distinct": len(seen), "items": items}
