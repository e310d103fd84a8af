"""Intervals, all at 95 %. The unit is the task: its trials are one observation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

Z = 1.959964
RESAMPLES = 4_000
SEED = 20_260_101
Interval = tuple[float, float]


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def wilson(successes: float, count: int) -> Interval:
    """Wilson's interval of a share; `successes` may be a fraction (a task with several trials)."""
    if count <= 0:
        return 0.0, 1.0
    share, z2 = successes / count, Z * Z
    centre = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = Z * math.sqrt(share * (1 - share) / count + z2 / (4 * count * count)) / (1 + z2 / count)
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Interval:
    """Newcombe's interval of the difference of two success rates over the same tasks. Unlike a
    bootstrap it is not empty where all tasks agree."""
    count = len(first)
    if count == 0:
        return -1.0, 1.0
    one, two = mean(first), mean(second)
    (low1, high1), (low2, high2) = wilson(sum(first), count), wilson(sum(second), count)
    phi = _phi(first, second)
    below = (one - low1) ** 2 - 2 * phi * (one - low1) * (high2 - two) + (high2 - two) ** 2
    above = (high1 - one) ** 2 - 2 * phi * (high1 - one) * (two - low2) + (two - low2) ** 2
    gap = one - two
    return max(-1.0, gap - math.sqrt(max(0.0, below))), min(1.0, gap + math.sqrt(max(0.0, above)))


def _phi(first: Sequence[float], second: Sequence[float]) -> float:
    """How far the two go together, corrected for continuity."""
    count = len(first)
    both = sum(a * b for a, b in zip(first, second, strict=True))
    only1, only2 = sum(first) - both, sum(second) - both
    neither = count - both - only1 - only2
    spread = (both + only1) * (only2 + neither) * (both + only2) * (only1 + neither)
    if spread <= 0:
        return 0.0
    cross = both * neither - only1 * only2
    cross = max(0.0, cross - count / 2) if cross > 0 else cross
    return max(-1.0, min(1.0, cross / math.sqrt(spread)))


def bootstrap_mean(values: Sequence[float]) -> Interval:
    """The interval of a mean, by resampling tasks; deterministic."""
    if not values:
        return 0.0, 0.0
    return _quantiles(np.asarray(values, dtype=float)[_picks(len(values))].mean(axis=1))


def bootstrap_change(first: Sequence[float], second: Sequence[float]) -> Interval:
    """The interval of mean(first) / mean(second) − 1 over the same tasks: −0.4 is 40 % fewer."""
    if not first or not any(second):
        return 0.0, 0.0
    picks = _picks(len(first))
    above = np.asarray(first, dtype=float)[picks].mean(axis=1)
    below = np.asarray(second, dtype=float)[picks].mean(axis=1)
    return _quantiles(above[below > 0] / below[below > 0] - 1)


def change(first: Sequence[float], second: Sequence[float]) -> float:
    """mean(first) / mean(second) − 1; 0 where there is nothing to compare with."""
    base = mean(second)
    return mean(first) / base - 1 if base else 0.0


def _picks(count: int) -> np.ndarray:
    return np.random.default_rng(SEED).integers(0, count, size=(RESAMPLES, count))


def _quantiles(values: np.ndarray) -> Interval:
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)
