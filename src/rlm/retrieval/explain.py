"""Why a memory was recalled: every factor of its score, and the words it shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from rlm.retrieval.rank import likeness_floor, trust


@dataclass(frozen=True, slots=True)
class Explanation:
    """`score = similarity × confidence × recency × level_weight`; similarity is fused."""

    score: float
    similarity: float
    lexical: float
    cosine: float | None
    confidence: float
    recency: float
    level: str
    level_weight: float
    confidence_share: float = 1.0
    """How much of the score confidence can take away: all of a memory's, 1/4 of a node's."""
    matched: Mapping[str, float] = field(default_factory=dict)
    """Query words that the memory holds, with the share of the lexical score of each."""
    context: Mapping[str, float] = field(default_factory=dict)
    """For graph nodes: neighbours in an ordered context edge that lent their words, by node id."""
    documents: int = 0
    """How many there were to choose from: similarity grows with it. No factor."""

    @property
    def confidence_factor(self) -> float:
        """What confidence leaves of the score."""
        return trust(self.confidence, self.confidence_share)

    @property
    def fits(self) -> bool:
        """Whether it is like enough to what was asked to be shown to somebody who did not ask."""
        return self.similarity >= likeness_floor(self.documents)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Explanation:
        """Read what `to_dict` wrote."""
        return cls(**{name: each for name, each in values.items() if name != "confidence_factor"})

    def to_dict(self) -> dict[str, Any]:
        """Every factor as JSON types."""
        values = {name: getattr(self, name) for name in _FACTORS}
        values |= {"matched": dict(self.matched), "context": dict(self.context)}
        if self.confidence_share != 1.0:
            values["confidence_share"] = self.confidence_share
            values["confidence_factor"] = self.confidence_factor
        return values

    def __str__(self) -> str:
        shares = (f"{word} {share:.0%}" for word, share in self.matched.items())
        words = ", ".join(shares) or "no word in common"
        meaning = "off" if self.cosine is None else f"{self.cosine:.2f}"
        lent = f"; lent by neighbours {sum(self.context.values()):.2f}" if self.context else ""
        similarity = (
            f"{self.score:.3f} = similarity {self.similarity:.3f} (words {self.lexical:.2f}:"
            f" {words}; meaning {meaning}{lent})"
        )
        if self.confidence_share < 1.0:
            factor = self.confidence_factor
            return f"{similarity} × {factor:.2f} for confidence {self.confidence:.2f}"
        return (
            f"{similarity} × confidence {self.confidence:.2f} × recency"
            f" {self.recency:.2f} × {self.level} {self.level_weight:g}"
        )


_FACTORS = [
    each.name
    for each in fields(Explanation)
    if each.name not in ("confidence_share", "matched", "context", "documents")
]
