"""How likely a sentence of a person settles something: a linear classifier over words and place.

It sees the words of a sentence and their pairs, its static embedding, how long it is, where in the
turn it stands, and what the agent had just said: "no" is a decision after a question of how
something is to be, and small talk after a thank you. The weights are in `data/decision_model.json`;
`tools/train_decisions.py` writes them from the sessions beside it. Which features help, and how far
to trust the figures, is in docs/experiments.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from rlm.retrieval.static import StaticEmbedder
from rlm.service.own_words import hide_quotations

WEIGHTS = Path(__file__).parent.parent / "data" / "decision_model.json"
LENGTHS = (1, 2, 3, 4, 7, 12, 20)
"""Where one class of lengths ends and the next begins, in words."""
SHORT_WORDS = 6
TELLING_CHARS = 4
"""A shorter word that the agent used too is no sign that it is answered."""
QUESTION = re.compile(r"\?[\s\"')\]*_]*$")
AGREES = re.compile(
    r"(?:(?:yes|yep|yeah|yup|ok(?:ay)?|sure|agreed|exactly|right|fine|good|great|perfect|please|👍|\+1"
    r"|do (?:it|that|so)|go ahead|(?:sounds|looks) good|works for me|makes sense"
    r"|as (?:it|you) sa(?:ys|id)|ja|oui|s[ií]|vale)"
    r"(?:[\s,.!:]+|$))+",
    re.IGNORECASE,
)
"""A sentence that only agrees: what it agrees to decides whether that is a decision or a chore."""

_STANDS = re.compile(
    r"from (?:now|here|today) on(?:wards)?|going forward|in (?:the )?future|next time|always|n?ever"
    r"|every(?:where|thing)?|nowhere|each|all|any(?:thing)?|nothing|no more|longer|only|must|should"
    r"|ha(?:s|ve) to|needs? to|we|instead|rather|prefer|won't|again|back to|ab (?:jetzt|sofort)"
    r"|immer|nie|nur|keine?|jede\w*|alle|siempre|nunca|cada|toujours|jamais|chaque|[aà] partir de"
)
_PAST = re.compile(r"was|were|had|did|used to|(?:did|was)n't|got|came|went|took|\w{3,}ed")
_MYSELF = re.compile(r"i|i'(?:m|ll|ve)|me|my")
"""Words that a rule has, that a report has, and that somebody has who speaks of themselves. By
itself none says much; the classifier weighs which of them stand together."""
_TOKEN = re.compile(r"\d[\d.,:/]*|[^\W\d_]+(?:'[^\W\d_]+)?|\.\.\.|[?!:,;…()\"“”`👍]")


DECLARES = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|so|and|also|then|alright|right|yes|no|fyi)\b[,:]?\s+)*"
    r"(?:(?:we|i)(?:['’]ve| have)?(?: (?:just|now|finally|already|all|both))? (?:decided|agreed)\b"
    r"(?! (?:nothing|whether|if|yet))|decision\s*:"
    r"|wir haben (?:[\w,]+ ){0,10}(?:entschieden|beschlossen)"
    r"|hemos (?:decidido|acordado)|(?:nous avons|on a) décidé)",
    re.IGNORECASE,
)
"""Who says that it is decided has decided it, whatever it is about."""
DECLARED = 0.95


@dataclass(frozen=True, slots=True)
class Place:
    """A sentence in its turn, after what the agent said."""

    parts: Sequence[str]
    """The sentences of the turn."""
    index: int
    asked: Sequence[str]
    """The sentences that the agent said before."""
    first: bool = False
    """Whether the turn begins the session."""

    @property
    def sentence(self) -> str:
        """The sentence itself."""
        return self.parts[self.index]

    @property
    def own(self) -> str:
        """The sentence without what it quotes."""
        return hide_quotations(self.sentence)


def find_question(said: Sequence[str]) -> str:
    """The last question of some sentences, if one stands near their end."""
    return next((part for part in reversed(said[-4:]) if QUESTION.search(part)), "")


def read_features(place: Place) -> dict[str, float]:
    """What the classifier sees of a sentence, but for its embedding. The words of a long sentence
    count less each: otherwise it is the length that decides."""
    words, question = _tokens(place.own), find_question(place.asked)
    pairs = list(zip(["^", *words], [*words, "$"], strict=True))
    own = {*words, *(f"{one} {other}" for one, other in pairs)}
    heard = "accepted" if AGREES.fullmatch(place.sentence) else "agent"
    last = {f"{heard}: {word}" for word in _tokens(question or (place.asked or [""])[-1])}
    found = dict.fromkeys(own, len(own) ** -0.5)
    found |= dict.fromkeys(last, len(last) ** -0.5 if last else 0.0)
    return found | dict.fromkeys(_structure(place, words, question), 1.0)


def _structure(place: Place, words: Sequence[str], question: str) -> Iterator[str]:
    yield "= any sentence"
    spoken = [word for word in words if word[0].isalnum() or word == "#"]
    yield f"= length {next((most for most in LENGTHS if len(spoken) <= most), 'long')}"
    begins = place.index == 0
    place_in_turn = "begins" if begins else "inside"
    yield f"= {place_in_turn}"
    if question:  # an answer often ends with what it settles; a rule is followed by its reason
        ends = place.index == len(place.parts) - 1
        yield f"= asked, {place_in_turn} {'ends' if ends else 'goes on'}"
    if QUESTION.search(place.sentence):
        yield "= question"
    if place.sentence.endswith(("…", "...")):
        yield "= open end"
    if place.first:
        yield "= first turn"
    yield from _neighbours(place)
    yield from _signs(place.own, "asked" if question else "told")
    size = "short" if len(spoken) <= SHORT_WORDS else "long"
    yield f"= {size}, {'asked' if question else 'told'}{', begins' if begins else ''}"
    if place.asked:
        yield from _taken_up(place, words)


def _signs(sentence: str, after: str) -> Iterator[str]:
    plain = sentence.replace("\u2019", "'").casefold()
    rules, past, myself = (
        len(set(re.findall(rf"\b(?:{signs.pattern})\b", plain)))
        for signs in (_STANDS, _PAST, _MYSELF)
    )
    yield f"= signs {min(rules, 3)}"
    yield from (["= past"] if past else [])
    yield from (["= myself"] if myself else [])
    yield f"= {after}, signs {min(rules, 2)} past {bool(past)} myself {bool(myself)}"


def _neighbours(place: Place) -> Iterator[str]:
    """What kind of sentence comes before and after it in the turn."""
    for before in place.parts[: place.index][-1:]:
        yield "= after a question" if QUESTION.search(before) else "= after a statement"
    for after in place.parts[place.index + 1 :][:1]:
        if QUESTION.search(after):
            yield "= before a question"


def _taken_up(place: Place, words: Sequence[str]) -> Iterator[str]:
    """How much of what the agent said the sentence takes up."""
    heard = {word for part in place.asked for word in _tokens(part)}
    telling = [word for word in words if len(word) >= TELLING_CHARS]
    taken = sum(word in heard for word in telling)
    yield f"= takes up {min(taken, 3)}"
    if telling:
        yield f"= takes up {3 * taken // len(telling)} thirds"


def _tokens(text: str) -> list[str]:
    """Words in lower case, marks, and # for any number."""
    found = _TOKEN.findall(text.replace("\u2019", "'").replace("...", "…").casefold())
    return ["#" if token[0].isdigit() else token for token in found]


@cache
def _load() -> tuple[dict[str, float], NDArray[np.float32], StaticEmbedder]:
    stored = orjson.loads(WEIGHTS.read_bytes())
    return stored["features"], np.array(stored["vector"], np.float32), StaticEmbedder()


def score(places: Sequence[Place]) -> list[float]:
    """The probability of each sentence that it settles something."""
    if not places:
        return []
    weights, vector, embedder = _load()
    logits = embedder.embed([place.own for place in places]) @ vector
    for number, place in enumerate(places):
        seen = read_features(place)
        logits[number] += sum(weights.get(name, 0.0) * value for name, value in seen.items())
    likely = [float(each) for each in 1.0 / (1.0 + np.exp(-logits))]
    return [
        max(each, DECLARED) if _declares(place) else each
        for each, place in zip(likely, places, strict=True)
    ]


def _declares(place: Place) -> bool:
    return bool(DECLARES.match(place.own)) and not QUESTION.search(place.sentence)
