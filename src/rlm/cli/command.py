"""How a function becomes a command: the options that every command has are added here, once.

A command is a function whose first parameter is the `Session`; the rest are its own arguments and options,
as typer reads them. What it returns is the exit code, None meaning 0. `--db` and `--json` also work before
the subcommand; the nearer one wins.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import typer

from rlm.cli.session import Session

Db = Annotated[str | None, typer.Option("--db", metavar="PATH", help="The store, instead of the default.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Command = Callable[..., int | None]


def _common(
    db: Db = None,
    json: Json = False,
    project: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose memories: the project (default: git's).")
    ] = None,
    team: Annotated[str | None, typer.Option(metavar="NAME", help="… the team.")] = None,
    org: Annotated[str | None, typer.Option(metavar="NAME", help="… the organisation.")] = None,
) -> None:
    """The options of every command; only the signature is used."""


_COMMON = [
    parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    for parameter in inspect.signature(_common, eval_str=True).parameters.values()
]
_CONTEXT = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)


def new_app(doc: str) -> typer.Typer:
    """A group of commands. Plain help and plain errors: rich's would cost every start its import."""
    return typer.Typer(
        help=doc,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )


def command(app: typer.Typer, name: str | None = None) -> Callable[[Command], Command]:
    """Register a function as a command of `app`; the function itself stays callable."""

    def register(function: Command) -> Command:
        own = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        ]

        def run(context: typer.Context, **values: Any) -> int | None:
            common = {parameter.name: values.pop(parameter.name) for parameter in _COMMON}
            return function(_merged(context.obj, Session(**common)), **values)

        parameters = [_CONTEXT, *own, *_COMMON]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        run.__doc__ = function.__doc__
        app.command(name or function.__name__)(run)
        return function

    return register


def _merged(outer: Session | None, inner: Session) -> Session:
    if outer is None:
        return inner
    return replace(inner, db=inner.db if inner.db is not None else outer.db, json=inner.json or outer.json)


def one_of(allowed: tuple[str, ...]) -> Callable[[str | None], str | None]:
    """A callback for an option that takes one of a few words."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in allowed:
            raise typer.BadParameter(f"{value!r} is not one of: {', '.join(allowed)}")
        return value

    return check


def words(allowed: tuple[str, ...], doc: str) -> Any:
    """An option that takes one of a few words, and says which."""
    return typer.Option(metavar="|".join(allowed), help=doc, callback=one_of(allowed), show_default=False)
