"""Programs of `offline` that go over all of a text: its measures, its words, its structure, its
lines.

Like those of `reading` they run in the sealed REPL.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from typing import Any

from rlm.llm.offline.text.reading import Clock, blocks, fold, texts_of
from rlm.llm.offline.text.sentences import passage_ends


def measure(context: Any, clock: Clock, unit: str) -> dict[str, Any]:
    """How many lines, words, paragraphs, sentences or characters there are, in all and per text."""
    per_text: list[list[Any]] = []
    for name, text in texts_of(context):
        count, open_end = 0, False
        for _, _, part, own in blocks(text, clock):
            part = part[:own]
            if unit == "characters":
                count += own
            elif unit == "words":
                count += len(part.split())
            elif unit == "lines":
                count += part.count("\n")
            elif unit == "empty lines":
                count += len(
                    [1 for piece in part.removesuffix("\n").split("\n") if not piece.strip()]
                )
            elif unit == "sentences":
                count += len(re.findall(r"[.!?…]+(?=[\"'”’»)\]]*(?:\s|$))|[。！？]", part))
            else:
                count += len([1 for piece in re.split(r"\n[ \t]*\n", part) if piece.strip()])
                count -= 1 if open_end and re.match(r"[ \t]*\S", part) else 0
                open_end = not re.search(r"\n[ \t]*\n\s*$", part)
        if unit == "lines" and len(text) and text[-1:] != "\n":
            count += 1
        per_text.append([name, count])
    return {
        "count": sum([count for name, count in per_text]),
        "per_text": per_text[:20],
        "items": [],
    }


def word_counts(context: Any, clock: Clock) -> tuple[dict[str, int], bool]:
    """Every word and how often it occurs; whether rare ones had to be left out."""
    counts: Counter[str] = Counter()
    raw: Counter[str] = Counter()
    cut = False

    def settle() -> None:
        for token, times in raw.items():
            for word in re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)*", token[:200]):
                counts[word] += times
        raw.clear()

    for _, text in texts_of(context):
        for _, _, part, own in blocks(text, clock):
            raw.update(fold(part[:own]).split())
            if len(raw) > 200_000:
                settle()
            if len(counts) > 500_000:
                cut = True
                for word in [word for word, times in counts.items() if times == 1]:
                    counts.pop(word)
    settle()
    return dict(counts), cut


def common(context: Any, clock: Clock, stop_words: str, keep: int) -> dict[str, Any]:
    """The most frequent words: all, and those that carry meaning."""
    counts, cut = word_counts(context, clock)
    stop = set(stop_words.split())
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    content = [[word[:80], times] for word, times in ranked if word not in stop and len(word) > 2]
    return {
        "count": sum(counts.values()),
        "distinct": len(counts),
        "cut": cut,
        "all": [[word[:80], times] for word, times in ranked[:keep]],
        "content": content[:keep],
        "items": [],
    }


def first_sentence(text: str) -> str:
    """What a section begins with."""
    text = text[:1_200].strip()
    end = re.search(
        r"(?<!\bMr)(?<!\bMrs)(?<!\bDr)(?<!\bSt)(?<!\b[A-Z])[.!?][\"'”’)]*\s|[。！？]|\n[ \t]*\n",
        text,
    )
    text = " ".join((text[: end.end()] if end else text).split())
    return text if len(text) <= 200 else text[:200] + "…"


def headings_of(part: str) -> list[tuple[int, int, str, str]]:
    """Start, end, kind and title of everything in a block that looks like a heading."""
    part = "\n\n" + part
    low = fold(part)
    found = []
    for match in re.finditer(r"\n#{1,6}[ \t]+([^\n]+)", part):
        found.append((match.start() + 1, match.end(), "markdown", match.group(1).strip(" \t#")))
    for match in re.finditer(r"\n([^\n]{1,100})\n(?:={3,}|-{3,})[ \t]*(?=\n|$)", part):
        if re.match(r"[ \t]*\w", match.group(1)):
            found.append((match.start() + 1, match.end(), "markdown", match.group(1).strip()))
    words = "chapter|part|book|section|act|scene|appendix|volume|canto|kapitel|teil|chapitre|capítulo|capitolo"
    numbers = (
        "[0-9]{1,3}|[ivxlc]{1,8}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|[a-z]|the"
        " [a-z]+"
    )
    for match in re.finditer(
        r"\n[ \t]{0,40}((?:" + words + r")[ \t]+(?:" + numbers + r")\b[^\n]{0,80})(?=\n|$)", low
    ):
        title = part[match.start(1) : match.end(1)].strip()
        if not re.search(r"[a-z],$|[a-z]\.$", title) and title[:1].isupper():
            found.append((match.start(1), match.end(), "chapter", title))
    if not [1 for entry in found if entry[2] == "markdown"]:
        number = (
            r"\n[ \t]*\n[ \t]{0,8}(\d{1,2}(?:\.\d{1,2}){0,3}\.?[ \t]+[^\n]{2,70})(?=\n["
            r" \t]*(?:\n|$)|$)"
        )
        for match in re.finditer(number, part):
            if not re.search(r"[.,;:]$", match.group(1).strip()):
                found.append((match.start(1), match.end(), "numbered", match.group(1).strip()))
        for match in re.finditer(r"\n[ \t]*\n[ \t]{0,40}([^\na-z]{4,70})(?=\n|$)", part):
            title = match.group(1).strip()
            if title.isupper() and len([c for c in title if c.isalpha()]) * 2 > len(title):
                found.append((match.start(1), match.end(), "capitals", title))
    found.sort(key=lambda entry: entry[0])  # at the same place, the kind that was looked for first
    kept: list[tuple[int, int, str, str]] = []
    for entry in found:
        if not kept or entry[0] >= kept[-1][1]:
            kept.append(entry)
    return [
        (max(0, start - 2), max(0, end - 2), kind, title[:120]) for start, end, kind, title in kept
    ]


def structure(context: Any, clock: Clock, stop_words: str, keep: int) -> dict[str, Any]:
    """Headings with the beginning of each section; without headings, paragraphs from all over the
    text."""
    items: list[dict[str, Any]] = []
    plain: list[dict[str, Any]] = []
    kinds: Counter[str] = Counter()
    words: Counter[str] = Counter()
    stop = set(stop_words.split())
    texts = texts_of(context)
    for name, text in texts:
        every = max(1, len(text) * len(texts) // 8)
        due = 0
        for at, line, part, own in blocks(text, clock):
            part = part[:own]
            found = headings_of(part)
            starts = [start for start, end, kind, title in found[1:]] + [own]
            for (start, end, kind, title), following in zip(found, starts, strict=False):
                kinds[kind] += 1
                if len(items) < 400:
                    entry = {
                        "text": name,
                        "line": line + part.count("\n", 0, start),
                        "kind": kind,
                        "title": title,
                    }
                    items.append({**entry, "quote": first_sentence(part[end:following])})
            while due < at + own and len(plain) < 40:
                place = 0 if due <= at else part.find("\n\n", due - at) + 2
                if due > at and place < 2:
                    place = part.find("\n", due - at) + 1
                    if not place:
                        break
                lead = len(part[place : place + 1_000]) - len(part[place : place + 1_000].lstrip())
                where = {"text": name, "line": line + part.count("\n", 0, place + lead)}
                if part[place : place + 1_000].strip():
                    plain.append({**where, "quote": first_sentence(part[place:])})
                due += every
            sample = fold(part[:300_000])
            words.update([w for w in re.findall(r"[^\W\d_]{3,}", sample) if w not in stop])
            if len(words) > 300_000:
                words = Counter(dict(words.most_common(50_000)))
    sections = sum(kinds.values())
    chosen = items
    if (
        len(items) > keep
    ):  # a table of contents has no text under its lines: sections with text go first
        full = [item for item in items if item["quote"]]
        chosen = full[:keep] if len(full) >= keep // 2 else items[:keep]
    return {
        "count": sections,
        "kinds": dict(kinds),
        "words": [[word[:60], times] for word, times in words.most_common(12)],
        "items": chosen if sections else plain[:keep],
    }


def extreme(context: Any, clock: Clock, longest: bool) -> dict[str, Any]:
    """The longest line, or the shortest that is not empty."""
    best: dict[str, Any] | None = None
    for name, text in texts_of(context):
        held, head, begun = 0, "", 0
        for at, line, part, own in blocks(text, clock):
            pieces = part[:own].split("\n")
            last = at + own >= len(text)
            lengths = [len(piece) for piece in pieces]
            lengths[0] += held
            if held:
                pieces[0] = head + pieces[0][: max(0, 500 - len(head))]
            first_line = begun if held else line
            done = len(pieces) if last else len(pieces) - 1
            filled = [n for n in range(done) if lengths[n] and pieces[n].strip()]
            if filled:
                n = (
                    max(filled, key=lambda n: lengths[n])
                    if longest
                    else min(filled, key=lambda n: lengths[n])
                )
                where = first_line if n == 0 else line + n
                if best is None or (
                    lengths[n] > best["length"] if longest else lengths[n] < best["length"]
                ):
                    best = {
                        "text": name,
                        "line": where,
                        "length": lengths[n],
                        "quote": pieces[n][:500],
                    }
            if not last:
                held, head = (lengths[-1], pieces[-1][:500])
                begun = (first_line if len(pieces) == 1 else line + len(pieces) - 1) if held else 0
    return {"count": 1 if best else 0, "items": [best] if best else []}


def edge(context: Any, clock: Clock, unit: str, number: int, last: bool) -> dict[str, Any]:
    """The first or last few lines, rows, sentences, paragraphs, words or characters of every text.

    A heading is no sentence and no paragraph. Rows are the lines after the header line.
    """
    items: list[dict[str, Any]] = []
    for name, text in texts_of(context)[:20]:
        start = max(0, len(text) - 60_000) if last else 0
        piece = text[start : start + 60_000].removeprefix("")
        line = 1
        if start and unit not in ("words", "characters"):
            line += sum(
                [part.count("\n", 0, own) for _, _, part, own in blocks(text, clock)]
            ) - piece.count("\n")
        if unit in ("words", "characters"):
            parts = piece.split() if unit == "words" else list(piece)
            quote = (" " if unit == "words" else "").join(
                parts[-number:] if last else parts[:number]
            )
            items.append(
                {
                    "text": name,
                    "line": None,
                    "quote": quote[:3_000] + ("…" if len(quote) > 3_000 else ""),
                }
            )
            continue
        if unit in ("lines", "rows"):
            ends = [match.end() for match in re.finditer("\n", piece)]
        else:
            for begin, end, _, _ in reversed(headings_of(piece)):
                piece = piece[:begin] + re.sub(r"[^\n]", " ", piece[begin:end]) + piece[end:]
            ends = [
                match.end()
                for match in re.finditer(passage_ends(unit.removesuffix("s"), True), piece)
            ]
        cuts = [0, *ends, *([len(piece)] if not ends or ends[-1] < len(piece) else [])]
        spans = list(itertools.pairwise(cuts))
        if unit == "rows" and not start:
            spans = spans[1:]
        if number == 1 or unit not in ("lines", "rows"):
            spans = [(a, b) for a, b in spans if piece[a:b].strip()]
        if unit == "sentences":
            whole = [
                (a, b)
                for a, b in spans
                if re.search(r"[.!?…。！？][\"'”’»)\]]*\s*$", piece[max(a, b - 40) : b])
            ]
            spans = whole or spans
        if unit == "paragraphs" and not last:  # a title is no paragraph
            whole = [
                (a, b)
                for a, b in spans
                if b - a > 80 or re.search(r"[^\w\s]\s*$|\S\n\s*\S", piece[a:b])
            ]
            spans = whole or spans
        for a, b in spans[-number:] if last else spans[:number]:
            quote = piece[a:b].rstrip("\r\n") if unit in ("lines", "rows") else piece[a:b].strip()
            skipped = 0 if unit in ("lines", "rows") else len(piece[a:b]) - len(piece[a:b].lstrip())
            where = line + piece.count("\n", 0, a + skipped)
            items.append(
                {
                    "text": name,
                    "line": where,
                    "quote": quote[:1_500] + ("…" if len(quote) > 1_500 else ""),
                }
            )
    return {"count": len(items), "items": items}


def numbered_lines(context: Any, clock: Clock, first: int, last: int) -> dict[str, Any]:
    """Lines by their number."""
    items: list[dict[str, Any]] = []
    for name, text in texts_of(context)[:20]:
        for _, line, part, own in blocks(text, clock):
            ending = line + part.count("\n", 0, own)
            if line <= last and ending >= first:
                for number, piece in enumerate(part[:own].split("\n")[: last - line + 1], line):
                    if first <= number and (piece or number < ending) and len(items) < 40:
                        items.append({"text": name, "line": number, "quote": piece[:500]})
            if line > last:
                break
    return {"count": len(items), "items": items}
