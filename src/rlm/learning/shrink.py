"""Few runs prove little: what was seen is drawn toward what was to be expected, the less the more
runs there are.

Success: a beta-binomial. The prior counts as `PRIOR_RUNS` runs of the expected rate. Steps: the
same for a mean, which is what a normal prior gives whose variance is that of one run divided by
`PRIOR_RUNS`.
"""

from __future__ import annotations

import math

PRIOR_RUNS = 4.0
"""So many runs the prior is worth. Three successes in a row where half succeed are then 0.71, not
1."""
LEAST_RUNS = 4
"""With fewer runs there is no verdict, whatever they show."""
SURE = 1.645
"""Standard errors between two numbers that are called different: 95 % on one side."""
LEAST_SPREAD = 0.5
"""Runs that all took the same number of steps still differ by this much, as far as anybody knows.
"""


def shrunk(total: float, runs: float, prior: float, weight: float = PRIOR_RUNS) -> float:
    """The mean of `runs` values that add up to `total`, drawn toward `prior`. Between the two,
    always."""
    if runs <= 0:
        return prior
    observed = total / runs
    share = runs / (runs + weight)
    return min(
        max(observed * share + prior * (1 - share), min(prior, observed)), max(prior, observed)
    )


def rate_gap(rate: float, runs: float, base: float, base_runs: float) -> float:
    """How many standard errors a shrunk rate lies above its base, each the mean of a beta
    distribution."""
    variance = rate * (1 - rate) / (runs + PRIOR_RUNS + 1) + base * (1 - base) / (base_runs + 2)
    return (rate - base) / math.sqrt(variance) if variance > 0 else 0.0


def mean_gap(mean: float, runs: float, base: float, base_runs: float, spread: float) -> float:
    """How many standard errors a shrunk mean lies above its base; `spread` is the deviation of one
    run."""
    error = max(spread, LEAST_SPREAD) * math.sqrt(1 / (runs + PRIOR_RUNS) + 1 / max(base_runs, 1))
    return (mean - base) / error
