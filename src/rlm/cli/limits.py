"""What a run may spend, as options: the same on every command that asks a model."""

from __future__ import annotations

from typing import Any

import click

from rlm.cli.command import Decorator

_NAMES = {
    "max_iters": "max_iters",
    "max_depth": "max_depth",
    "wall_s": "timeout",
    "max_tokens": "max_tokens",
    "max_cost_usd": "max_cost",
}


def limit_options(each: str = "") -> Decorator:
    """The five options; `each` says what they hold for where one command makes several runs: " of a
    task"."""
    above_zero = click.FloatRange(0, min_open=True)
    made = (
        click.option(
            "--max-iters", type=click.IntRange(1), metavar="N", help=f"Steps at most{each} (30)."
        ),
        click.option(
            "--max-depth",
            type=click.IntRange(0),
            metavar="N",
            help="How deep rlm_query may recurse (1).",
        ),
        click.option(
            "--timeout", type=above_zero, metavar="S", help=f"Seconds at most{each or ' in all'}."
        ),
        click.option(
            "--max-tokens",
            type=click.IntRange(1),
            metavar="N",
            help=f"Tokens at most{each}, all calls together.",
        ),
        click.option(
            "--max-cost",
            type=above_zero,
            metavar="USD",
            help=f"Dollars at most{each}, where the price is known.",
        ),
    )

    def decorate(function: Any) -> Any:
        for option in reversed(made):
            function = option(function)
        return function

    return decorate


def taken_limits(given: dict[str, Any], *, over_text: bool = False) -> Any:
    """The limits, taken out of the options of a command."""
    from rlm.agent import AGENT_OUTPUT_CHARS
    from rlm.loop import Limits

    chosen = {
        field: value for field, option in _NAMES.items() if (value := given.pop(option)) is not None
    }
    return Limits(**({} if over_text else {"max_output_chars": AGENT_OUTPUT_CHARS}), **chosen)
