"""A program of `offline`: the passages of a text that share most with a question, rare words
weighing more.

Like those of `reading` it runs in the sealed REPL. One pass over the text notes, for every passage
with a word of the question in it, which of the words it has. How rare a word is, is known at the
end, and then the passages with the rarest words come first. Per combination of words only a few
passages are kept, so memory does not grow.
"""

from __future__ import annotations

import math
import re
from typing import Any

from rlm.llm.offline.text.reading import Clock, blocks, fold, needle_pattern, texts_of
from rlm.llm.offline.text.sentences import (
    code_spans,
    kind_of,
    open_end,
    passage_ends,
    says_nothing,
    span_of,
)


def longest_parts(context: Any, clock: Clock, runs: list[str]) -> list[str]:
    """Of the words of a script without spaces: the longest parts that occur in the text, none over
    another."""
    known: set[str] = set()
    for _, text in texts_of(context):
        for _, _, part, _ in blocks(text, clock):
            low = fold(part)
            for run in runs:
                for size in range(min(2, len(run)), len(run) + 1):
                    fresh = {run[n : n + size] for n in range(len(run) - size + 1)} - known
                    tried = [
                        piece
                        for piece in fresh
                        if size < 3 or (piece[1:] in known and piece[:-1] in known)
                    ]
                    known.update([piece for piece in tried if piece in low])
    clock["chars"] = 0
    chosen: list[str] = []
    for run in runs:
        rest = [run]
        while rest:
            piece = rest.pop()
            parts = [piece[n:m] for n in range(len(piece)) for m in range(n + 1, len(piece) + 1)]
            best = max([part for part in parts if part in known], key=len, default="")
            if best:
                chosen += [best] if best not in chosen else []
                before, _, after = piece.partition(best)
                rest += [after, before]
    sure = [
        part
        for part in chosen
        if len(part) > 2 or not re.search("[在于了有和与及这那其はがをにでと]", part)
    ]
    return (sure or chosen)[:14]


def passages(
    context: Any,
    clock: Clock,
    terms: list[list[str]],
    extra: str,
    unit: str,
    wrapped: bool,
    keep: int,
) -> dict[str, Any]:
    """The best passages for the terms; those in which `extra` is found go before their equals."""
    runs = [stem for label, stem, mode in terms if mode == "longest"]
    if runs:
        parts = longest_parts(context, clock, runs)
        terms = [term for term in terms if term[2] != "longest"] + [
            [part, part, "any"] for part in parts
        ]
    patterns = [re.compile(needle_pattern(stem, mode)) for label, stem, mode in terms]
    bonus = re.compile(extra) if extra else None
    prose = unit == "sentence"
    reach = 3_000 if unit == "paragraph" else 700
    totals = [0] * len(terms)
    kinds: dict[Any, dict[str, Any]] = {}

    def note(
        name: Any, place: tuple[int, int], part: str, start: int, stop: int, having: set[int]
    ) -> None:
        kind = kinds.setdefault(tuple(sorted(having)), {"count": 0, "best": []})
        kind["count"] += 1
        text = part[start:stop]
        worth = (2.0 if bonus is not None and bonus.search(text) else 0.0) - min(
            1.0, len(text) / 1_000
        )
        best = kind["best"]
        if len(best) >= 12:
            worst = min(best, key=lambda entry: entry["worth"])
            if worst["worth"] >= worth:
                return
        if prose and says_nothing(part, start, stop, patterns):
            return
        if len(best) >= 12:
            best.remove(worst)
        bare = " \t\r\n{}[]," if unit == "record" else None
        text = text.strip(bare)
        room = 1_500 if unit == "paragraph" else 1_000
        lead = len(part[start:stop]) - len(part[start:stop].lstrip(bare))
        line = place[1] + part.count("\n", 0, start + lead)
        quote = text if len(text) <= room else text[:room] + "…"
        best.append(
            {
                "worth": worth,
                "text": name,
                "line": line,
                "at": place[0] + start + lead,
                "quote": quote,
            }
        )

    for name, text in texts_of(context):
        shape = kind_of(text) if prose else "wrapped"
        shape = "wrapped" if wrapped and shape == "plain" else shape
        ends = re.compile(passage_ends("line" if shape == "rows" else unit, shape == "wrapped"))
        held = ""  # of the block before: a sentence that runs on into this one
        for at, line, part, own in blocks(text, clock):
            at, line, part, own = (
                at - len(held),
                line - held.count("\n"),
                held + part,
                own + len(held),
            )
            held = (
                part[open_end(part, own, ends, reach) : own]
                if prose and at + own < len(text)
                else ""
            )
            own -= len(held)
            low, hits = fold(part[:own]), []
            code = code_spans(part[:own]) if prose and shape == "wrapped" else []
            for number, pattern in enumerate(patterns):
                if totals[number] > 200_000:  # as common as "the": of no use
                    continue
                here = [(match.start(), number) for match in pattern.finditer(low)]
                totals[number] += len(here)
                hits += here
            start, stop, wide = 0, -1, -1
            having: set[int] = set()
            hits.sort()
            for index, (place, number) in enumerate(hits):
                if place >= stop:
                    if having:
                        note(name, (at, line), part, start, wide, having)
                    having = set()
                    start, stop, wide = span_of(
                        part, place, own, ends, reach, code, prose and shape != "rows"
                    )
                    if wide > stop:
                        for later, found in hits[index : index + 500]:
                            if later >= wide:
                                break
                            having.add(found)
                having.add(number)
            if having:
                note(name, (at, line), part, start, wide, having)
    ranked = ranked_by_rarity(kinds, terms)
    missing = [terms[number][0] for number in range(len(terms)) if not totals[number]]
    if runs and len(terms) < len(runs):
        missing += [run for run in runs if not [1 for term in terms if term[1] in run]]
    counted = sum([kind["count"] for kind in kinds.values()])
    together = kinds.get(tuple(range(len(terms))), {"count": 0})["count"]
    return {
        "count": counted,
        "all": together,
        "asked": len(terms),
        "missing": missing,
        "items": ranked[:keep],
    }


def ranked_by_rarity(
    kinds: dict[Any, dict[str, Any]], terms: list[list[str]]
) -> list[dict[str, Any]]:
    """The passages of all combinations of words, those with the rarest words first."""
    in_all = sum([kind["count"] for kind in kinds.values()])
    rarity = []
    for number in range(len(terms)):
        having_it = sum([kind["count"] for having, kind in kinds.items() if number in having])
        rarity.append(math.log(1 + in_all / having_it) + 0.1 if having_it else 0.0)
    ranked = []
    for having, kind in kinds.items():
        score = sum([rarity[number] for number in having])
        for entry in kind["best"]:
            entry["score"] = round(score + 0.3 * max(rarity) * entry.pop("worth"), 4)
            entry["terms"] = [terms[number][0] for number in having]
            ranked.append(entry)
    ranked.sort(key=lambda entry: (-entry["score"], str(entry["text"]), entry["at"]))
    return ranked
