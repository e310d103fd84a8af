"""How a function becomes a command: the options that every command has are added here, once.

A command is a function whose first parameter is the `Session`; click's decorators below `@command`
declare the rest. What it returns is the exit code, None meaning 0. `--db` and `--json` also work
before the subcommand; the nearer one wins.

click and not typer: typer 0.29 validates with pydantic, which alone costs every start 100 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any

import click
from click.types import StringParamType

from rlm.cli.session import Session
from rlm.errors import ConfigError

Decorator = Callable[[Any], Any]

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

PATHS = ("FILE", "PATH", "DIR", "SOURCE", "PACK", "RUN", "SPARQL|@FILE|-")
"""The parameters that name a file, by what help calls them."""


class FileName(StringParamType):
    """A text that a shell completes with the names of files, and of what else fits."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> Any:
        """Files first, so that a shell which takes either still offers the names."""
        from click.shell_completion import CompletionItem

        names = [name for name in _known_names(param) if name.startswith(incomplete)]
        return [CompletionItem(incomplete, type="file"), *map(CompletionItem, names)]


def _known_names(param: click.Parameter) -> list[str]:
    """What may stand in place of a file: a shipped pack, an endpoint of the config."""
    if param.name == "pack":
        from rlm.packs import shipped_packs

        return list(shipped_packs())
    if param.name in ("source", "ontologies"):
        from rlm import config

        with suppress(ConfigError):  # the command itself says what is wrong with the file
            return list(config.endpoints())
    return []


class TenantName(StringParamType):
    """A name on the command line: `--project "$P"` with nothing in P is a slip, and no wish to do
    without the option."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as it was given."""
        name: str = super().convert(value, param, ctx)
        if not name.strip():
            self.fail("it is empty: give a name, or leave the option out", param, ctx)
        return name


ROOT_OPTIONS = (
    click.option(
        "--db",
        type=FileName(),
        metavar="PATH",
        help="The store, instead of the default: a path or URL.",
    ),
    click.option("--json", is_flag=True, help="Print one JSON document."),
)
COMMON_OPTIONS = (
    *ROOT_OPTIONS,
    click.option(
        "--project",
        type=TenantName(),
        metavar="NAME",
        help="Whose memories: the project (default: git's name).",
    ),
    click.option("--team", type=TenantName(), metavar="NAME", help="… and the team."),
    click.option("--org", type=TenantName(), metavar="NAME", help="… and the organisation."),
)
_COMMON_NAMES = ("db", "json", "project", "team", "org")


class Command(click.Command):
    """A command whose help ends in examples and whose file names complete in a shell."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples of this command, one to a line."""
        from rlm.cli.examples import EXAMPLES

        lines = EXAMPLES.get(" ".join(ctx.command_path.split()[1:]), ())
        if lines:
            with formatter.section("Examples"):
                for line in lines:
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


class LazyGroup(click.Group):
    """A group that imports a command when its name is on the line, and suggests near misses.

    `sections` says where, under the headings of its help: `module` for another group,
    `module:function` for a command.
    """

    command_class = Command

    def __init__(
        self, *args: Any, sections: Mapping[str, Mapping[str, str]] | None = None, **more: Any
    ) -> None:
        given = {"no_args_is_help": False, "context_settings": dict(SETTINGS), **more}
        super().__init__(*args, **given)
        self.sections = sections or {}
        self.homes = {name: home for part in self.sections.values() for name, home in part.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which help shows them."""
        return list(self.homes) or sorted(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import what the name stands for, once; None for a name that stands for nothing."""
        if cmd_name in self.homes and cmd_name not in self.commands:
            module, _, function = self.homes[cmd_name].partition(":")
            found = getattr(import_module(module), function or "app")
            if isinstance(found, click.Command):
                self.add_command(found, cmd_name)
            else:
                command(self, cmd_name)(found)
        return super().get_command(ctx, cmd_name)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands; above them the options, if there are more than --help."""
        if self.params:
            super().format_options(ctx, formatter)
        else:
            self.format_commands(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each command in a line, under the heading of its section."""
        found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        wide = max(map(len, found))
        parts = {heading: list(names) for heading, names in self.sections.items()}
        for heading, names in (parts or {"Commands": list(found)}).items():
            rows = [
                (f"{name:<{wide}}", one.get_short_help_str(formatter.width - 6 - wide))
                for name in names
                if (one := found[name]) is not None
            ]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a hint where the name is misspelt or belongs to another group."""
        name = args[0]
        if name.startswith("-") or self.get_command(ctx, name) or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        near = self._similar(ctx, name)
        hint = f" Did you mean {' or '.join(f'`{each}`' for each in near)}?" if near else ""
        raise click.UsageError(f"No such command {name!r}.{hint}", ctx=ctx)

    def _similar(self, ctx: click.Context, name: str) -> list[str]:
        """The commands below here that `name` may stand for, as they are typed."""
        from difflib import get_close_matches

        near = get_close_matches(name, self.list_commands(ctx))
        if near:
            return [f"{ctx.command_path} {each}" for each in near]
        groups = {each: self.get_command(ctx, each) for each in self.list_commands(ctx)}
        below = [
            (each, inner)
            for each, group in groups.items()
            if isinstance(group, click.Group)
            for inner in group.list_commands(ctx)
        ]
        meant = get_close_matches(name, sorted({inner for _, inner in below}), n=1)
        return [f"{ctx.command_path} {each} {inner}" for each, inner in below if inner in meant]


def new_group(doc: str) -> LazyGroup:
    """A group of commands."""
    return LazyGroup(help=doc)


def command(group: click.Group, name: str) -> Callable[[Callable[..., int | None]], click.Command]:
    """Make a function a command of `group`."""

    def register(function: Callable[..., int | None]) -> click.Command:
        @with_options(COMMON_OPTIONS)
        def run(**values: Any) -> int | None:
            inner = Session(**{each: values.pop(each) for each in _COMMON_NAMES})
            return function(_merge(click.get_current_context().obj, inner), **values)

        run.__doc__ = function.__doc__
        # outer: help shows these first
        run.__click_params__ += getattr(function, "__click_params__", [])
        registered: click.Command = group.command(name, context_settings=dict(SETTINGS))(run)
        for param in registered.params:
            if param.type is click.STRING and (param.metavar or param.name or "").upper() in PATHS:
                param.type = FileName()
        return registered

    return register


def with_options(options: Sequence[Decorator]) -> Decorator:
    """Several of click's decorators as one; help shows them in the order given."""

    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def _merge(outer: Session | None, inner: Session) -> Session:
    if outer is None:
        return inner
    db = inner.db if inner.db is not None else outer.db
    return replace(inner, db=db, json=inner.json or outer.json)


def words(name: str, allowed: Sequence[str], doc: str, *, default: str | None = None) -> Decorator:
    """An option that takes one of a few words, and says which."""
    return click.option(name, type=click.Choice(list(allowed)), default=default, help=doc)


def scaling_option() -> Decorator:
    """`--scaling`, which several commands have: K attempts at each question."""
    doc = "parallel:K or sequential:K, K from 1 to 16: K attempts at a question, the best counts."
    return click.option("--scaling", metavar="HOW:K", help=doc)


def lang_option(doc: str) -> Decorator:
    """`--lang`, a language tag."""

    def check(_: click.Context, __: click.Parameter, tag: str | None) -> str | None:
        from rlm.ontology.labels import is_language_tag

        if tag is not None and not is_language_tag(tag):
            raise ConfigError(f"lang is {tag[:40]!r}: write a language tag, as en, de or pt-BR")
        return tag

    return click.option("--lang", metavar="TAG", callback=check, help=doc)


def unit(name: str, doc: str) -> Decorator:
    """An option that takes a number from 0 to 1."""
    return click.option(name, type=click.FloatRange(0.0, 1.0), metavar="0..1", help=doc)


def count(
    *names: str, default: int, doc: str, most: int | None = None, least: int = 1
) -> Decorator:
    """An option that takes a whole number."""
    kind, doc = click.IntRange(least, most), f"{doc.rstrip('.')} [{default}]."
    return click.option(*names, type=kind, metavar="N", default=default, help=doc)
