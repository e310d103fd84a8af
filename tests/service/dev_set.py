"""Reads `unseen_sessions.txt`: sessions as the readers make them, with the decisions that they hold."""

from __future__ import annotations

import re
from pathlib import Path

from rlm.service.transcripts import CodingSession, SessionTurn

GOLD = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)


def read_set(path: Path) -> list[tuple[CodingSession, list[tuple[int, str]]]]:
    """Each session with the (turn, words) of its decisions."""
    found = []
    for block in re.split(r"^=== ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        name, _, body = block.partition("\n")
        session, gold = CodingSession("claude", name.strip()), []
        for part in re.split(r"^(?=[UA] )", body.strip() + "\n", flags=re.MULTILINE):
            if not part.strip():
                continue
            role = "user" if part[0] == "U" else "assistant"
            number, text = len(session.turns) + 1, part[2:].strip()
            gold += [(number, words) for words in GOLD.findall(text)]
            at = f"2026-10-{len(found) + 1:02d}T10:{number:02d}:00.000000Z"
            session.turns.append(SessionTurn(number, role, GOLD.sub(r"\1", text), at))
        found.append((session, gold))
    return found


def is_match(quote: str, words: str) -> bool:
    """Whether a quotation and the words that were marked are the same, up to their surroundings."""
    one, other = (" ".join(re.findall(r"\w+", text.casefold())) for text in (quote, words))
    return one in other or other in one


def measure(sessions, find) -> tuple[float, float, list[str]]:
    """Precision and recall of what `find` finds, and every fault."""
    right = said = wanted = met = 0
    faults = []
    for session, gold in sessions:
        found = [(each.turn, each.quote) for each in find(session)]
        said, wanted = said + len(found), wanted + len(gold)
        for turn, quote in found:
            if any(turn == at and is_match(quote, words) for at, words in gold):
                right += 1
            else:
                faults.append(f"{session.session_id}:{turn} not a decision: {quote}")
        for at, words in gold:
            if any(turn == at and is_match(quote, words) for turn, quote in found):
                met += 1
            else:
                faults.append(f"{session.session_id}:{at} missed: {words}")
    return right / max(1, said), met / max(1, wanted), faults
