"""What a person decided or corrected in a session, in their own words: quoted, never paraphrased.

No language model is asked. A turn is read sentence by sentence; a small classifier
(`decision_model.py`) says of each how likely it settles something, by its words and by what the
agent had said before. That goes along as context, because "per team" or "yes, do that" cannot be
found by its own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rlm.learning.suspicion import suspicious
from rlm.service.clip import DESCRIPTION_CHARS, clip, make_title, only_takes_back, takes_back
from rlm.service.decision_model import AGREES, Place, find_question, score
from rlm.service.echoes import Echoes
from rlm.service.own_words import FOREIGN, read_own, sentences
from rlm.service.transcripts.session import CodingSession, SessionTurn
from rlm.store.types import QUARANTINE_REASON, MemoryItem

FLOOR = 0.5
"""A sentence that is less likely a decision is none."""
ALONE = 0.85
"""What follows a decision and is so likely one itself stands alone; else it belongs to it."""
SETTLED = 2
"""In a session in which fewer are said in words, "yes" agrees to a fix or the next step."""
QUOTE_CHARS, CONTEXT_CHARS, TASK_CHARS = 600, 400, 300
FEW_WORDS = 6
"""An answer of so few words is described with its question; a shorter context is no context."""
BARE_WORDS = 2
"""So few words ("No.", "Yes, both.") are one quotation with the sentence that follows, and are
described with what they answer."""
SAID_WORDS = 4
"""Who agrees to less agrees to nothing that could be remembered."""
FILES = 5

_WORD = re.compile(r"\w+(?:['’.\-/]\w+)*")


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's own words that settle something, and what they answered."""

    quote: str
    turn: int
    at: str
    probability: float = 1.0
    """What the classifier says; 1 where a model or a person says so."""
    context: str = ""
    """What the agent had asked or proposed, in its words."""
    accepts: bool = False
    """Whether the quote only agrees, and the context says to what."""
    files: tuple[str, ...] = ()
    """Files that the agent changed right after."""
    doubt: str = ""
    """Why it may not be the person's own."""


def find_decisions(session: CodingSession) -> list[Decision]:
    """The decisions of a session, in order. What only repeats what memory told the agent in this
    very session is none."""
    echoes = Echoes(session.injected)
    spoken = list(_read_places(session.turns))
    likely = iter(score([place for _, places, _ in spoken for place in places]))
    found: list[Decision] = []
    for at, places, own in spoken:
        turn, files = session.turns[at], _changed_after(session, at)
        scored = [(each.sentence, next(likely)) for each in places]
        for index, quote, sure in _join_taken(scored, own):
            agrees, asked = AGREES.fullmatch(quote) is not None, places[0].asked
            context = _find_accepted(asked, echoes) if agrees else find_context(asked)
            empty = agrees and not context
            if not (empty or echoes.holds(quote) or echoes.holds(turn.text)):
                doubt = "" if index < own else FOREIGN
                made = Decision(quote, turn.number, turn.at, sure, context, agrees, files, doubt)
                found.append(made)
    said = [each for each in found if not each.accepts]
    return found if len(said) >= SETTLED else said


def _changed_after(session: CodingSession, at: int) -> tuple[str, ...]:
    """The files that the agent changed in the turn after this."""
    later = session.turns[at + 1 : at + 2]
    return tuple(later[0].files[:FILES]) if later and later[0].role != "user" else ()


def _find_accepted(asked: Sequence[str], echoes: Echoes) -> str:
    """What a person agrees to; '' where the agent said too little, or only what memory had said."""
    context = find_context([part for part in asked if not echoes.holds(part)])
    return context if len(_WORD.findall(context)) >= SAID_WORDS else ""


def _read_places(turns: Sequence[SessionTurn]) -> Iterator[tuple[int, list[Place], int]]:
    """Each turn of a person by its position, with its sentences, and how many are surely theirs."""
    asked: list[str] = []
    first = True
    for position, turn in enumerate(turns):
        if turn.role == "user":
            parts, own = read_own(turn.text)
            yield position, [Place(parts, at, asked, first) for at in range(len(parts))], own
            asked, first = [], False
        else:
            asked = list(sentences(turn.text))


def _join_taken(parts: Sequence[tuple[str, float]], own: int) -> Iterator[tuple[int, str, float]]:
    """The sentences that decide, each with its place. A reason that follows a rule belongs to it,
    as what holds instead does to "No."; the next rule does not. A person's words and those of
    others stay apart. Words that take back what stands before them are never left out."""
    run: list[tuple[int, str, float]] = []
    for place, (sentence, likely) in enumerate(parts):
        near = bool(run) and run[-1][0] == place - 1 and (place < own or run[0][0] >= own)
        amends = near and (takes_back(sentence) or only_takes_back(run[-1][1]))
        if (likely < FLOOR and not amends) or len(sentence) > QUOTE_CHARS:
            continue
        if run and not (near and _belongs(sentence, likely, run, amends=amends)):
            yield _joined(run)
            run = []
        run.append((place, sentence, likely))
    if run:
        yield _joined(run)


def _belongs(
    sentence: str, likely: float, run: Sequence[tuple[int, str, float]], *, amends: bool
) -> bool:
    """Whether a sentence is one quotation with those right before it."""
    before = " ".join(quote for _, quote, _ in run)
    alone = likely >= ALONE and len(_WORD.findall(before)) > BARE_WORDS
    return (amends or not alone) and len(before) + len(sentence) < QUOTE_CHARS


def _joined(run: Sequence[tuple[int, str, float]]) -> tuple[int, str, float]:
    places, quotes, likely = zip(*run, strict=True)
    return places[0], " ".join(quotes), max(likely)


def find_context(said: Sequence[str]) -> str:
    """What a person answers to: the question of the agent, else its last words, from where they say
    something."""
    question = find_question(said)
    end = len(said) - list(reversed(said)).index(question) if question else len(said)
    start = max(0, end - 1)
    while start > 0 and len(_WORD.findall(" ".join(said[start:end]))) < FEW_WORDS:
        start -= 1
    return clip(" ".join(said[start:end]), CONTEXT_CHARS)


def decision_item(decision: Decision, session: CodingSession) -> MemoryItem:
    """A decision as it is stored: the quote, what it answered, and where it was said; in quarantine
    where it may not be the person's own, or speaks to whoever reads it."""
    doubt, sure = decision.doubt or suspicious(decision.quote), decision.probability
    said = "" if suspicious(decision.context) else decision.context
    only_agrees = decision.accepts and len(_WORD.findall(decision.quote)) <= FEW_WORDS
    told = (said if only_agrees else "") or decision.quote
    lines = [f"“{decision.quote}”"]
    if said:
        lines.append(f"{'Accepts' if decision.accepts else 'In answer to'}: “{said}”")
    if decision.files:
        lines.append(f"Then changed: {', '.join(decision.files)}")
    task = next(iter(session.texts("user")), "")
    return MemoryItem(
        title=make_title(told),
        description=_describe(told, said),
        content="\n".join(lines),
        source_type="human",
        task_query=clip(task, TASK_CHARS) or None,
        tags=["decision"],
        provenance={
            "kind": "decision",
            "agent": session.agent,
            "turn": decision.turn,
            "probability": 1.0 if sure == 1.0 else min(round(sure, 2), 0.99),
            "decided": clip(told, DESCRIPTION_CHARS),
            **({QUARANTINE_REASON: doubt} if doubt else {}),
        },
        trust="quarantined" if doubt else "trusted",
        session_id=session.session_id,
        **said_at(session, decision.at),
    )


def said_at(session: CodingSession, at: str) -> dict[str, Any]:
    """When it was said; where the host writes no times, when its session ended."""
    return {"created_at": at or session.ended_at} if at or session.ended_at else {}


def _describe(told: str, said: str) -> str:
    """What was settled, with what it answers where it has too few words by itself."""
    most = FEW_WORDS if find_question([said]) else BARE_WORDS
    few = said and told != said and len(_WORD.findall(told)) <= most
    return clip(f"{told} (asked: {said})" if few else told, DESCRIPTION_CHARS)


def unique(items: Iterable[MemoryItem]) -> list[MemoryItem]:
    """Each once, by its id."""
    return list({item.memory_id: item for item in items}.values())
