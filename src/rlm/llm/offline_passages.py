"""A program of `offline`: the passages of a text that share most with a question, rare words weighing more.

Like those of `offline_reading` it runs in the sealed REPL. One pass over the text notes, for every passage with a word
of the question in it, which of the words it has. How rare a word is, is known at the end, and then the passages with
the rarest words come first. Per combination of words only a few passages are kept, so memory does not grow.
"""

from __future__ import annotations

import math
import re
from typing import Any

from rlm.llm.offline_reading import Clock, blocks, fold, needle_pattern, texts_of


def passage_ends(unit: str, wrapped: bool) -> str:
    """What a passage ends with: a blank line, the end of a line, or that of a sentence.

    One set of characters comes first, and conditions look back at it: the other way round is slow.
    """
    if unit == "line":
        return r"\n"
    if unit == "paragraph":
        return r"\n[ \t]*\n\s*"
    names = r"(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bSt\.)(?<!\bProf\.)(?<!\bNo\.)(?<!\b[A-Za-z]\.)"
    sentence = r"(?<=[.!?…])" + names + r"[.!?…]*[\"'”’»)\]]*\s+"
    line = r"(?<=\n)"
    if wrapped:  # a blank line, or a line that begins a list, a heading or a setting
        line += r"(?:[ \t]*\n\s*|(?=[ \t]*(?:[-*#|>•]|[\w.-]{1,40}[ \t]?[=:][ \t])))"
    return r"[.!?…。！？\n](?:(?<=[。！？])|" + sentence + "|" + line + ")"


def passages(
    context: Any, clock: Clock, terms: list[list[str]], extra: str, unit: str, wrapped: bool, keep: int
) -> dict[str, Any]:
    """The best passages for the terms; those in which `extra` is found go before their equals."""
    patterns = [re.compile(needle_pattern(stem, mode)) for label, stem, mode in terms]
    ends, bonus = re.compile(passage_ends(unit, wrapped)), re.compile(extra) if extra else None
    reach = 3_000 if unit == "paragraph" else 700
    totals = [0] * len(terms)
    kinds: dict[Any, dict[str, Any]] = {}

    def note(name: Any, place: tuple[int, int], part: str, start: int, stop: int, having: set[int]) -> None:
        kind = kinds.setdefault(tuple(sorted(having)), {"count": 0, "best": []})
        kind["count"] += 1
        text = part[start:stop]
        worth = (2.0 if bonus is not None and bonus.search(text) else 0.0) - min(1.0, len(text) / 1_000)
        best = kind["best"]
        if len(best) >= 12:
            worst = min(best, key=lambda entry: entry["worth"])
            if worst["worth"] >= worth:
                return
            best.remove(worst)
        text = text.strip()
        room = 1_500 if unit == "paragraph" else 600
        lead = len(part[start:stop]) - len(part[start:stop].lstrip())
        line = place[1] + part.count("\n", 0, start + lead)
        quote = text if len(text) <= room else text[:room] + "…"
        best.append({"worth": worth, "text": name, "line": line, "at": place[0] + start + lead, "quote": quote})

    for name, text in texts_of(context):
        for at, line, part, own in blocks(text, clock):
            low, hits = fold(part[:own]), []
            for number, pattern in enumerate(patterns):
                if totals[number] > 200_000:  # as common as "the": of no use
                    continue
                here = [(match.start(), number) for match in pattern.finditer(low)]
                totals[number] += len(here)
                hits += here
            start, stop = 0, -1
            having: set[int] = set()
            for place, number in sorted(hits):
                if place >= stop:
                    if having:
                        note(name, (at, line), part, start, stop, having)
                    having = set()
                    start = max(0, place - reach)
                    for match in ends.finditer(part, start, place + 1):
                        start = match.end() if match.end() <= place else start
                    end = ends.search(part, place, min(own, place + reach))
                    stop = end.end() if end else min(own, place + reach)
                having.add(number)
            if having:
                note(name, (at, line), part, start, stop, having)
    all_of_them = sum([kind["count"] for kind in kinds.values()])
    rarity = []
    for number in range(len(terms)):
        having_it = sum([kind["count"] for having, kind in kinds.items() if number in having])
        rarity.append(math.log(1 + all_of_them / having_it) + 0.1 if having_it else 0.0)
    ranked = []
    for having, kind in kinds.items():
        score = sum([rarity[number] for number in having])
        for entry in kind["best"]:
            entry["score"] = round(score + 0.3 * max(rarity) * entry.pop("worth"), 4)
            entry["terms"] = [terms[number][0] for number in having]
            ranked.append(entry)
    ranked.sort(key=lambda entry: (-entry["score"], str(entry["text"]), entry["at"]))
    missing = [terms[number][0] for number in range(len(terms)) if not totals[number]]
    return {"count": all_of_them, "missing": missing, "items": ranked[:keep]}
