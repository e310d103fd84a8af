"""How what a person said is cut: never before words that take back what stands before them.

"Name it A. Nope, wait: B" cut behind A tells the opposite of what was settled. So the words from
the last retraction on are kept, and what stands before them is cut. Hooks import this: nothing
heavy, and no pattern is compiled before it is needed.
"""

from __future__ import annotations

import re

DESCRIPTION_CHARS = 400
TITLE_WORDS, TITLE_CHARS = 10, 120
TAIL = 2 / 3
"""What a retraction may take of the room."""
_RETRACTION = (
    r"(?:(?:h+m+|oh|ach?|no+|nein|non|ok(?:ay)?|well|but)\b[\s,.!:…–—-]*)*"
    r"(?:nope\b(?:\W*wait\b)?|(?<=\bno )wait\b|(?<=\bno, )wait\b"
    r"|wait\b(?=\s*[,.:;!…–—-]|\s+no\b|\s*$)"
    r"|(?:scratch|strike|forget) (?:that|it)\b|(?:i )?take (?:that|it) back\b|correction\b"
    r"|i meant?\b|or rather\b|on second thoughts?\b|actually\b|never ?mind\b|sorry[,:]|oops\b"
    r"|quatsch\b|moment\b|ich meinte?\b|doch (?:lieber|besser)\b|attends\b|en fait\b|espera\b)"
)
_WITHIN = rf"(?<=[.!?…,;–—] ){_RETRACTION}"


def takes_back(sentence: str) -> bool:
    """Whether a sentence takes back what was said before it; a question does not yet."""
    return bool(re.match(_RETRACTION, sentence, re.IGNORECASE)) and not sentence.endswith("?")


def only_takes_back(sentence: str) -> bool:
    """Whether it says no more than that: what holds instead is the next one."""
    return bool(re.fullmatch(_RETRACTION, sentence.rstrip(" .,;:!…–—"), re.IGNORECASE))


def split_retraction(line: str) -> tuple[str, str]:
    """What comes before the last retraction in a line, and the rest; that is '' without one."""
    found = [each.start() for each in re.finditer(_WITHIN, line, re.IGNORECASE)]
    at = found[-1] if found else len(line)
    return line[:at].rstrip(), line[at:]


def clip(text: str, most: int) -> str:
    """A text on one line, cut between words."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    before, rest = split_retraction(line)
    if not rest:
        return _cut(line, most)
    tail = rest if len(rest) <= most * TAIL else _cut(rest, int(most * TAIL))
    room = most - len(tail) - 1
    return f"{before if len(before) <= room else _cut(before, room)} {tail}"


def make_title(text: str) -> str:
    """The first words of a text, as many as a title may have; with those that take them back."""
    words = text.split()
    if len(words) <= TITLE_WORDS:
        return " ".join(words)[:TITLE_CHARS].rstrip(" ,;:")
    before, rest = (part.split() for part in split_retraction(" ".join(words)))
    last = rest[: TITLE_WORDS // 2]
    first = " ".join(before[: TITLE_WORDS - len(last)]).rstrip(" ,;:")
    return clip(f"{first}… {' '.join(last)}{'' if last == rest else '…'}", TITLE_CHARS)


def is_cut_of(short: str, text: str) -> bool:
    """Whether one text is the other, cut as it is here."""
    head, _, tail = short.partition("…")
    return text.startswith(head) and tail.strip(" …") in text


def _cut(line: str, most: int) -> str:
    return line[: most - 1].rsplit(" ", 1)[0].rstrip(" .,;:") + "…"
