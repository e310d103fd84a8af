"""Ranking, as seed 003 gives it: similarity × confidence × recency boost × scope weight."""

from __future__ import annotations

from datetime import datetime

from rlm.clock import parse_iso

LEVEL_WEIGHT = {"project": 1.0, "team": 0.9, "org": 0.8}
RECENCY_GAIN = 0.1
RECENCY_DAYS = 365.0
MOST = (1.0 + RECENCY_GAIN) * max(LEVEL_WEIGHT.values())
"""The most that confidence, recency and level together can multiply a similarity by."""


def recency_boost(last_used: str | None, now: datetime) -> float:
    """From 1.1 for a memory used today down to 1.0 for one unused for a year, or never used."""
    if not last_used:
        return 1.0
    days = max(0.0, (now - parse_iso(last_used)).total_seconds() / 86_400.0)
    return max(1.0, 1.0 + RECENCY_GAIN * (1.0 - days / RECENCY_DAYS))


def factor(confidence: float, last_used: str | None, level: str, now: datetime) -> float:
    """What a similarity is multiplied by."""
    return confidence * recency_boost(last_used, now) * LEVEL_WEIGHT[level]
