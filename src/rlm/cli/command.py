"""How a function becomes a command: the options that every command has are added here, once.

A command is a function whose first parameter is the `Session`; click's decorators below `@command`
declare the rest. What it returns is the exit code, None meaning 0. `--db` and `--json` also work
before the subcommand; the nearer one wins.

click and not typer: typer 0.29 validates with pydantic, which alone costs every start 100 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import click

from rlm.cli.session import Session
from rlm.errors import ConfigError

Decorator = Callable[[Any], Any]

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

ROOT_OPTIONS = (
    click.option("--db", metavar="PATH", help="The store, instead of the default."),
    click.option("--json", is_flag=True, help="Print one JSON document."),
)
COMMON_OPTIONS = (
    *ROOT_OPTIONS,
    click.option(
        "--project", metavar="NAME", help="Whose memories: the project (default: git's name)."
    ),
    click.option("--team", metavar="NAME", help="… and the team."),
    click.option("--org", metavar="NAME", help="… and the organisation."),
)
_COMMON_NAMES = ("db", "json", "project", "team", "org")


def new_group(doc: str) -> click.Group:
    """A group of commands."""
    return click.Group(help=doc, no_args_is_help=False, context_settings=dict(SETTINGS))


def command(group: click.Group, name: str) -> Callable[[Callable[..., int | None]], click.Command]:
    """Make a function a command of `group`."""

    def register(function: Callable[..., int | None]) -> click.Command:
        @with_options(COMMON_OPTIONS)
        def run(**values: Any) -> int | None:
            inner = Session(**{each: values.pop(each) for each in _COMMON_NAMES})
            return function(_merged(click.get_current_context().obj, inner), **values)

        run.__doc__ = function.__doc__
        run.__click_params__ += getattr(
            function, "__click_params__", []
        )  # outer: help shows these first
        made: click.Command = group.command(name, context_settings=dict(SETTINGS))(run)
        return made

    return register


def with_options(options: Sequence[Decorator]) -> Decorator:
    """Several of click's decorators as one; help shows them in the order given."""

    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def _merged(outer: Session | None, inner: Session) -> Session:
    if outer is None:
        return inner
    return replace(
        inner, db=inner.db if inner.db is not None else outer.db, json=inner.json or outer.json
    )


def words(name: str, allowed: Sequence[str], doc: str, *, default: str | None = None) -> Decorator:
    """An option that takes one of a few words, and says which."""
    return click.option(name, type=click.Choice(list(allowed)), default=default, help=doc)


def scaling_option() -> Decorator:
    """`--scaling`, which several commands have: K attempts at each question."""
    doc = "parallel:K or sequential:K, K from 1 to 16: K attempts at a question, the best counts."
    return click.option("--scaling", metavar="HOW:K", help=doc)


def lang_option(doc: str) -> Decorator:
    """`--lang`, a language tag."""

    def checked(_: click.Context, __: click.Parameter, tag: str | None) -> str | None:
        from rlm.ontology.labels import is_language_tag

        if tag is not None and not is_language_tag(tag):
            raise ConfigError(f"lang is {tag[:40]!r}: write a language tag, as en, de or pt-BR")
        return tag

    return click.option("--lang", metavar="TAG", callback=checked, help=doc)


def unit(name: str, doc: str) -> Decorator:
    """An option that takes a number from 0 to 1."""
    return click.option(name, type=click.FloatRange(0.0, 1.0), metavar="0..1", help=doc)


def count(
    *names: str, default: int, doc: str, most: int | None = None, least: int = 1
) -> Decorator:
    """An option that takes a whole number."""
    kind = click.IntRange(least, most)
    return click.option(
        *names, type=kind, metavar="N", default=default, help=f"{doc.rstrip('.')} [{default}]."
    )
