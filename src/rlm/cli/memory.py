"""`rlm memory`: the commands over memories, in the order in which help shows them."""

from __future__ import annotations

from rlm.cli import memory_read, memory_write
from rlm.cli.command import command, new_group

app = new_group("Add, find and change memories.")

command(app, "add")(memory_write.add)
command(app, "search")(memory_read.search)
command(app, "list")(memory_read.list_memories)
command(app, "show")(memory_read.show)
command(app, "edit")(memory_write.edit)
command(app, "rm")(memory_write.remove)
command(app, "restore")(memory_write.restore)
command(app, "review")(memory_write.review)
command(app, "stats")(memory_read.stats)
