"""Ranking, as seed 003 gives it: similarity × confidence × recency boost × scope weight.

This is the one place where the formula stands. A graph node uses it too: `confidence_share` says
how much of the factor its confidence can take away (a doubtful node ranks lower, not last).
"""

from __future__ import annotations

from datetime import datetime
from math import log2

from rlm.clock import parse_iso

LEVEL_WEIGHT = {"project": 1.0, "team": 0.9, "org": 0.8}
RECENCY_GAIN = 0.1
RECENCY_DAYS = 365.0
NODE_CONFIDENCE_SHARE = 0.25
RECALL_FLOOR = 0.25
"""What is believed less is kept, but not put into a prompt."""


LEAST_LIKE, LIKE_BY_DOUBLING, COUNTED = 0.09, 0.018, 64
"""What is less like a question does not fit it. The more documents there are, the more a rare word
weighs, so the floor rises with each doubling, up to 64: from 0.09 to 0.2 (docs/experiments.md)."""


def likeness_floor(documents: int) -> float:
    """The least similarity with which something fits, among so many documents."""
    return LEAST_LIKE + LIKE_BY_DOUBLING * log2(min(max(1, documents), COUNTED))


def recency_boost(last_used: str | None, now: datetime) -> float:
    """From 1.1 for a memory used today down to 1.0 for one unused for a year, or never used."""
    if not last_used:
        return 1.0
    days = max(0.0, (now - parse_iso(last_used)).total_seconds() / 86_400.0)
    return max(1.0, 1.0 + RECENCY_GAIN * (1.0 - days / RECENCY_DAYS))


def trust(confidence: float, share: float = 1.0) -> float:
    """What a confidence leaves of a similarity, of which it can take `share` away."""
    return 1.0 - share * (1.0 - confidence)


def confidence_for(trusted: float, share: float = 1.0) -> float:
    """The confidence that leaves so much: the inverse of `trust`."""
    return 1.0 - (1.0 - trusted) / share


def factor(
    confidence: float, last_used: str | None, level: str, now: datetime, share: float = 1.0
) -> float:
    """What a similarity is multiplied by."""
    return trust(confidence, share) * recency_boost(last_used, now) * LEVEL_WEIGHT[level]
