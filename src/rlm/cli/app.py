"""The root command and what hangs below it. A group's module is read only when its name is on the line."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from rlm._version import __version__
from rlm.cli.command import Db, Json, new_app
from rlm.cli.output import print_text
from rlm.cli.session import Session

GROUPS = {"memory": "rlm.cli.memory", "graph": "rlm.cli.graph", "pack": "rlm.cli.pack"}
SINGLE = {"backup": "rlm.cli.upkeep", "doctor": "rlm.cli.upkeep"}


class Rooms(TyperGroup):
    """The root group, which finds its commands by name."""

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order in which help shows them."""
        return [*GROUPS, *SINGLE]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import what the name stands for; None for a name that stands for nothing."""
        home = GROUPS.get(cmd_name) or SINGLE.get(cmd_name)
        if home is None:
            return None
        found: Any = get_command(import_module(home).app)
        if cmd_name in SINGLE:
            return found.commands[cmd_name]
        found.name = cmd_name
        return found


app = new_app("rlm: an agent memory that learns how. One SQLite file holds it all.")


@app.callback(cls=Rooms, invoke_without_command=False)
def root(
    context: typer.Context,
    db: Db = None,
    json: Json = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    """An agent memory that learns how: procedures, a graph and packs in one SQLite file.

    Start with `rlm memory add --title T --content C`, then `rlm memory search WORDS`.
    """
    context.obj = Session(db=db, json=json)


def run(args: list[str]) -> int:
    """Parse and run one line; the exit code. Raises what goes wrong: `main` maps it."""
    if args == ["--version"]:
        print_text(f"rlm {__version__}")
        return 0
    command: Any = get_command(app)
    with command.make_context("rlm", list(args)) as context:
        return command.invoke(context) or 0
