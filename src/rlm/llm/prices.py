"""What well-known models cost, so that a run can be given a limit in dollars.

Prices change; `PRICES_DATE` says when these were looked up. A model that is not here has no known
cost, which is `None` and never 0. A name matches with a date or alias behind it
(`gpt-4o-2024-08-06`, `claude-haiku-4-5@20251001`) and no other way, because `gpt-6-luna-fast` costs
twice what `gpt-6-luna` does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

PRICES_DATE = "2026-11-16"


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens; with more than `long_from` in the prompt, the long prices."""

    input: float
    output: float
    long_from: int | None = None
    long_input: float = 0.0
    long_output: float = 0.0

    def cost_usd(self, input_tokens: int, output_tokens: int) -> float:
        if self.long_from is not None and input_tokens > self.long_from:
            return (input_tokens * self.long_input + output_tokens * self.long_output) / 1e6
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


PRICES: Mapping[str, Price] = {
    "claude-fable-5-2": Price(8, 40),
    "claude-fable-5-1": Price(10, 50),
    "claude-fable-5": Price(10, 50),
    "claude-opus-5-5": Price(4, 20),
    "claude-opus-5": Price(5, 25),
    "claude-opus-4-8": Price(5, 25),
    "claude-opus-4-7": Price(5, 25),
    "claude-opus-4-6": Price(5, 25),
    "claude-opus-4-5": Price(5, 25),
    "claude-opus-4-1": Price(15, 75),
    "claude-sonnet-5-5": Price(2, 10),
    "claude-sonnet-5": Price(2, 10),
    "claude-sonnet-4-6": Price(3, 15),
    "claude-sonnet-4-5": Price(3, 15),
    "claude-haiku-5-5": Price(0.10, 0.50, 100_000, 0.50, 2.50),
    "claude-haiku-4-5": Price(1, 5),
    "claude-3-5-haiku": Price(0.80, 4),
    "gpt-6-astra": Price(10, 50, 272_000, 20, 75),
    "gpt-6.1-sol": Price(2, 10, 272_000, 4, 15),
    "gpt-6-sol": Price(2, 10, 272_000, 4, 15),
    "gpt-6-luna": Price(0.10, 0.50, 272_000, 0.20, 0.75),
    "gpt-5.6-sol": Price(4, 20, 272_000, 8, 30),
    "gpt-5.6-terra": Price(2, 12, 272_000, 4, 18),
    "gpt-5.6-luna": Price(0.20, 1.20, 272_000, 0.40, 1.80),
    "gpt-5.2": Price(1.75, 14),
    "gpt-5.1": Price(1.25, 10),
    "gpt-5": Price(1.25, 10),
    "gpt-5-mini": Price(0.25, 2),
    "gpt-5-nano": Price(0.05, 0.40),
    "gpt-4.1": Price(2, 8),
    "gpt-4.1-mini": Price(0.40, 1.60),
    "gpt-4.1-nano": Price(0.10, 0.40),
    "gpt-4o": Price(2.50, 10),
    "gpt-4o-mini": Price(0.15, 0.60),
    "o3": Price(2, 8),
    "o4-mini": Price(1.10, 4.40),
}

_SAME_MODEL = re.compile(r"([-@](\d{8}|\d{4}-\d{2}-\d{2}|latest|default))?(-v\d+(:\d+)?)?")


def price_of(model: str, prices: Mapping[str, Price] = PRICES) -> Price | None:
    """The price under the longest name that `model` begins with, up to a date or alias."""
    for name in sorted(prices, key=len, reverse=True):
        if model.startswith(name) and _SAME_MODEL.fullmatch(model, len(name)):
            return prices[name]
    return None


def cost_usd(
    model: str, input_tokens: int, output_tokens: int, prices: Mapping[str, Price] = PRICES
) -> float | None:
    """What a call cost, or None when the model is not in the table."""
    price = price_of(model, prices)
    return None if price is None else price.cost_usd(input_tokens, output_tokens)
