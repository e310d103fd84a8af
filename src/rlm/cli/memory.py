"""`rlm memory`: the commands over memories, in the order in which help shows them."""

from __future__ import annotations

from importlib import import_module

import click

from rlm.cli import memory_import, memory_read, memory_write
from rlm.cli.command import SETTINGS, command

LATER = {"train": "rlm.cli.train", "insights": "rlm.cli.insights"}
"""Commands of modules that are read only when they are named: a search should not wait for them."""


class Memories(click.Group):
    """The group, which finds these commands by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of the alphabet, as click has them."""
        return sorted({*super().list_commands(ctx), *LATER})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import what the name stands for, once."""
        if cmd_name in LATER and cmd_name not in self.commands:
            command(self, cmd_name)(getattr(import_module(LATER[cmd_name]), cmd_name))
        return super().get_command(ctx, cmd_name)


app = Memories(
    help="Add, find and change memories.", no_args_is_help=False, context_settings=dict(SETTINGS)
)

command(app, "add")(memory_write.add)
command(app, "search")(memory_read.search)
command(app, "list")(memory_read.list_memories)
command(app, "show")(memory_read.show)
command(app, "edit")(memory_write.edit)
command(app, "rm")(memory_write.remove)
command(app, "restore")(memory_write.restore)
command(app, "import")(memory_import.import_)
command(app, "review")(memory_write.review)
command(app, "stats")(memory_read.stats)
