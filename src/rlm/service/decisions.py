"""What a person decided or corrected in a session, in their own words: quoted, never paraphrased.

No model is asked. A turn is read sentence by sentence (`cues.py` says which sentences decide
something), and in its place: a plain answer to a question about how something is to be is a
decision, and a short "yes, do that" accepts what the agent has just proposed. What the agent said
goes along as context, because a short answer cannot be found by its own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rlm.learning.suspicion import suspicious
from rlm.retrieval.tokens import tokens
from rlm.service import cues
from rlm.service.cues import Strength, find_cue
from rlm.service.echoes import Echoes
from rlm.service.transcripts.session import CodingSession, SessionTurn
from rlm.store.types import MemoryItem

QUOTE_CHARS, CONTEXT_CHARS, TASK_CHARS, DESCRIPTION_CHARS = 600, 400, 300, 400
FEW_WORDS = 6
"""A shorter quotation is described with the question that it answers."""
LONG_SENTENCE = 320
"""A longer one was pasted, or argues: of these only a plain rule counts."""
SHORT_TURN = 12
"""Words of a turn that only accepts."""
TITLE_WORDS, TITLE_CHARS = 10, 120
FILES = 5

_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_PASTED = re.compile(
    r"^\s*(?:>|[+-]{3}\s|@@|diff --git|at \S+\(|File \"|Traceback|\$ |#\s?include|\||import "
    r"|from \w+ import|\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:"
    r"|(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|E)\b[:\s\]]+"
    r"|(?:def|class|fn|func|const|var|return|public|private|SELECT|INSERT|UPDATE)\b.*[{(:;]\s*$)"
)
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+")
_END = re.compile(
    r"(?<=[.!?…])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)(?<!\bapprox\.)(?<!\b\d\.)\s+(?=\S)"
)
_WORD = re.compile(r"\w+(?:['’.\-/]\w+)*")
_NO_WORDS = re.compile(
    r"(?:no|nope|nah|wrong|incorrect|not quite|stop|wait|hold on|actually no|that's (?:wrong|not it"
    r"|not right|not what i (?:meant|asked for|wanted)|incorrect)|not like that)[\s.,!…–—-]*",
    re.IGNORECASE,
)
_COMMON = frozenset(tokens("the and for that this with not but are was will can you all one now"))
_TIES = re.compile(
    r"^(?:and|but|so|because|otherwise|that way|then|not|only|also)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's own words that settle something, and what they answered."""

    quote: str
    turn: int
    at: str
    cue: str
    context: str = ""
    """What the agent had asked or proposed, in its words."""
    accepts: bool = False
    """Whether the quote only agrees, and the context says to what."""
    files: tuple[str, ...] = ()
    """Files that the agent changed right after."""


def find_decisions(session: CodingSession, known: Echoes | None = None) -> list[Decision]:
    """The decisions of a session, in order. What only repeats `known` texts, or what memory told
    the agent in this very session, is none."""
    echoes = Echoes(session.injected) if known is None else known
    found: list[Decision] = []
    before: SessionTurn | None = None
    for place, turn in enumerate(session.turns):
        if turn.role == "user":
            first = not any(each.role == "user" for each in session.turns[:place])
            later = session.turns[place + 1 : place + 2]
            files = tuple(later[0].files[:FILES]) if later and later[0].role != "user" else ()
            said = _read_turn(turn, before, first=first)
            found += [replace(each, files=files) for each in said if not echoes.holds(each.quote)]
        before = turn
    return found


def _read_turn(turn: SessionTurn, before: SessionTurn | None, *, first: bool) -> list[Decision]:
    asked = before.text if before is not None and before.role == "assistant" else ""
    question, context = find_question(asked), find_context(asked)
    parts = list(sentences(turn.text))
    if _only_accepts(parts):
        return _accepted(turn, asked, question)
    if len(parts) == 1 and cues.REFUSAL.match(parts[0]):
        said = [Decision(parts[0], turn.number, turn.at, "refusal", question)]
        return said if _is_design(question) else []
    answer = next((part for part in parts if not _only_accepts([part])), "")
    asks = _is_design(question) or _takes_up(answer, asked)
    cue_of = [_cue(part, first=first, answers=asks and part == answer) for part in parts]
    made: list[Decision] = []
    for quote, cue in _join_short(parts, cue_of):
        answered = question if cue == "answer" else context
        made.append(Decision(quote[:QUOTE_CHARS], turn.number, turn.at, cue, answered))
    return made


def _cue(sentence: str, *, first: bool, answers: bool) -> str:
    name, strength = find_cue(sentence)
    wanted = Strength.STRONG if first or len(sentence) > LONG_SENTENCE else Strength.FAINT
    if strength >= wanted:
        return name
    return "answer" if answers and not first and is_answer(sentence) else ""


def is_answer(sentence: str) -> bool:
    """Whether a sentence is the piece that is missing in a question, as an answer is."""
    text = sentence.replace("\u2019", "'").strip()
    head = cues.begin_of(text)
    if not head or cues.QUESTION.search(text) or len(text) > LONG_SENTENCE:
        return False
    against = (cues.DOUBT, cues.SEEN, cues.ONCE, cues.NOTHING)
    if any(pattern.search(head) for pattern in against) or not _WORD.search(head):
        return False
    piece = re.split(r"[,;:–—]| - ", head)[0]
    return not (cues.CLAUSE.search(piece) or cues.EVALUATES.search(piece))


def _join_short(parts: Sequence[str], cue_of: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each sentence that decides, with what belongs to it: "No." and what follows, and a piece of
    a few words after it."""
    place = 0
    while place < len(parts):
        quote, cue = parts[place], cue_of[place]
        place += 1
        if not cue:
            continue
        while place < len(parts) and _belongs(quote, parts[place]):
            quote, place = f"{quote} {parts[place]}", place + 1
        if not _NO_WORDS.fullmatch(quote):
            yield quote, cue


def _belongs(quote: str, following: str) -> bool:
    """Whether a sentence is the rest of the one before: that is only "No.", or it is short."""
    if cues.QUESTION.search(following):
        return False
    if _NO_WORDS.fullmatch(quote):
        return not cues.CHORE.match(cues.begin_of(following))
    return len(_WORD.findall(following)) <= 4 and _TIES.match(following) is not None


# -- what the agent said before


def find_question(text: str) -> str:
    """The last question of a text, if one stands near its end."""
    asked = [part for part in list(sentences(text))[-4:] if cues.QUESTION.search(part)]
    return asked[-1] if asked else ""


def find_context(text: str) -> str:
    """What a person answers to: the question, else the last proposal, else the last words."""
    parts = list(sentences(text))
    proposed = [part for part in parts if cues.PROPOSAL.search(part)]
    chosen = find_question(text) or (proposed or parts or [""])[-1]
    return _clip(chosen, CONTEXT_CHARS)


def _is_design(question: str) -> bool:
    """Whether a question is about how something is to be, and not about the next chore."""
    return bool(question) and not cues.CHORE_QUESTION.search(question)


def _takes_up(sentence: str, asked: str) -> bool:
    """Whether a short piece takes or replaces something of what the agent said last."""
    if len(_WORD.findall(sentence)) > SHORT_TURN or not asked:
        return False
    last = list(sentences(asked))[-2:]
    if any(cues.PROPOSAL.search(part) and not _is_chore(part) for part in last):
        return True
    said = set(tokens(" ".join(last)))
    return any(
        len(stem) >= 3 and stem in said and stem not in _COMMON
        for stem in tokens(cues.begin_of(sentence))
    )


def _only_accepts(parts: Sequence[str]) -> bool:
    plain = " ".join(parts).replace("\u2019", "'")
    short = 0 < len(_WORD.findall(plain)) <= SHORT_TURN or plain.strip() in ("👍", "+1")
    return short and bool(cues.ACCEPTANCE.match(plain) and cues.YES.search(plain))


def _accepted(turn: SessionTurn, asked: str, question: str) -> list[Decision]:
    """What a short yes agrees to: a proposal of how something is to be; a chore is none."""
    parts = list(sentences(asked))[-4:]
    if question and not _is_design(question):
        return []
    proposed = [part for part in parts if cues.PROPOSAL.search(part) and not _is_chore(part)]
    proposed = [part for part in proposed if find_cue(part)[1] or cues.QUESTION.search(part)]
    if question and question not in proposed:
        proposed.append(question)
    if not proposed or " or " in proposed[-1]:
        return []
    words = _clip(" ".join(proposed[-2:]), CONTEXT_CHARS)
    return [Decision(turn.text.strip(), turn.number, turn.at, "acceptance", words, accepts=True)]


def _is_chore(part: str) -> bool:
    return bool(cues.CHORE_QUESTION.search(part) or cues.CHORE.match(cues.begin_of(part)))


# -- text


def sentences(text: str) -> Iterator[str]:
    """The sentences of a turn. Code, logs, diffs and quotations that were pasted are left out."""
    for line in _FENCE.sub("\n", text).splitlines():
        if _PASTED.match(line):
            continue
        for part in _END.split(_BULLET.sub("", line).strip()):
            tidy = part.strip()
            if _WORD.search(tidy) or tidy == "👍":
                yield tidy


def _clip(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rsplit(" ", 1)[0] + "…"


def make_title(text: str) -> str:
    """The first words of a text, as many as a title may have."""
    words = cues.begin_of(" ".join(text.split())).split() or text.split()
    title = " ".join(words[:TITLE_WORDS])[:TITLE_CHARS].rstrip(" ,;:")
    return title if len(words) <= TITLE_WORDS else f"{title}…"


def decision_item(decision: Decision, session: CodingSession) -> MemoryItem:
    """A decision as it is stored: the quote, what it answered, and where it was said."""
    said = decision.context if decision.context and not suspicious(decision.context) else ""
    told = said if decision.accepts and said else decision.quote
    few = said and decision.cue in ("answer", "refusal") and len(_WORD.findall(told)) <= FEW_WORDS
    description = _clip(f"{told} (asked: {said})" if few else told, DESCRIPTION_CHARS)
    lines = [f"“{decision.quote}”"]
    if said:
        lines.append(f"{'Accepts' if decision.accepts else 'In answer to'}: “{said}”")
    if decision.files:
        lines.append(f"Then changed: {', '.join(decision.files)}")
    task = next(iter(session.texts("user")), "")
    return MemoryItem(
        title=make_title(told),
        description=description,
        content="\n".join(lines),
        source_type="human",
        task_query=_clip(task, TASK_CHARS) or None,
        tags=["decision"],
        provenance={
            "kind": "decision",
            "agent": session.agent,
            "turn": decision.turn,
            "cue": decision.cue,
            "decided": _clip(told, DESCRIPTION_CHARS),
        },
        trust="trusted",
        session_id=session.session_id,
        **({"created_at": decision.at} if decision.at else {}),  # type: ignore[arg-type]
    )


def unique(items: Iterable[MemoryItem]) -> list[MemoryItem]:
    """Each once, by its id."""
    return list({item.memory_id: item for item in items}.values())
