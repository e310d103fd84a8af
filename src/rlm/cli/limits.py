"""What a run may spend, as options: the same on every command that asks a model."""

from __future__ import annotations

from typing import Any

import click

from rlm.cli.command import Decorator, with_options

_NAMES = {
    "max_iters": "max_iters",
    "max_depth": "max_depth",
    "wall_s": "timeout",
    "max_tokens": "max_tokens",
    "max_cost_usd": "max_cost",
}
_ABOVE_ZERO = click.FloatRange(0, min_open=True)
_OPTIONS = (
    ("--max-iters", click.IntRange(1), "N", "Steps at most{each} (30)."),
    ("--max-depth", click.IntRange(0), "N", "How deep rlm_query may recurse (1)."),
    ("--timeout", _ABOVE_ZERO, "S", "Seconds at most{each_or_all}."),
    ("--max-tokens", click.IntRange(1), "N", "Tokens at most{each}, all calls together."),
    ("--max-cost", _ABOVE_ZERO, "USD", "Dollars at most{each}, where the price is known."),
)


def limit_options(each: str = "") -> Decorator:
    """The five options; `each` says what a limit holds for where there are several runs."""
    texts = {"each": each, "each_or_all": each or " in all"}
    return with_options(
        [
            click.option(name, type=kind, metavar=metavar, help=doc.format(**texts))
            for name, kind, metavar, doc in _OPTIONS
        ]
    )


def taken_limits(given: dict[str, Any], *, over_text: bool = False) -> Any:
    """The limits, taken out of the options of a command."""
    from rlm.agent import AGENT_OUTPUT_CHARS
    from rlm.loop import Limits

    chosen = {
        field: value for field, option in _NAMES.items() if (value := given.pop(option)) is not None
    }
    return Limits(**({} if over_text else {"max_output_chars": AGENT_OUTPUT_CHARS}), **chosen)
