"""The root command and what hangs below it. A group's module is read only when its name is on the
line."""

from __future__ import annotations

from importlib import import_module

import click

from rlm._version import __version__
from rlm.cli.command import ROOT_OPTIONS, SETTINGS, with_options
from rlm.cli.session import Session

GROUPS = {
    "memory": "rlm.cli.memory",
    "graph": "rlm.cli.graph",
    "ontology": "rlm.cli.ontology",
    "pack": "rlm.cli.pack",
    "logs": "rlm.cli.logs",
}
SINGLE = {
    "run": "rlm.cli.run",
    "eval": "rlm.cli.evaluate",
    "backup": "rlm.cli.upkeep",
    "doctor": "rlm.cli.upkeep",
}


class Rooms(click.Group):
    """The root group, which finds its commands by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which help shows them."""
        return ["run", *GROUPS, *(name for name in SINGLE if name != "run")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import what the name stands for; None for a name that stands for nothing."""
        home = GROUPS.get(cmd_name) or SINGLE.get(cmd_name)
        if home is None:
            return None
        group: click.Group = import_module(home).app
        group.name = group.name or cmd_name
        return group.commands[cmd_name] if cmd_name in SINGLE else group


@click.group(cls=Rooms, no_args_is_help=False, context_settings=dict(SETTINGS))
@with_options(ROOT_OPTIONS)
@click.version_option(__version__, message="rlm %(version)s")
@click.pass_context
def app(context: click.Context, db: str | None, json: bool) -> None:
    """An agent that learns how: questions over ontologies and long texts in a sealed REPL, memory
    in one SQLite file.

    Start with `rlm run QUESTION --ontology FILE` or `--context FILE`. `rlm-agent` is the same
    program.
    """
    context.obj = Session(db=db, json=json)


def run(args: list[str], called: str = "rlm") -> int:
    """Parse and run one line; the exit code. Raises what goes wrong: `main` maps it. `called` is
    for help and hints."""
    if not args or (len(args) == 1 and args[0] in GROUPS):
        args = [*args, "--help"]
    with app.make_context(called, list(args)) as context:
        return app.invoke(context) or 0
