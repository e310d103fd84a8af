"""`rlm graph`: the commands over nodes, the hyperedges that join them, and their history."""

from __future__ import annotations

from rlm.cli import graph_evolve, graph_read, graph_write
from rlm.cli.command import command, new_group

app = new_group("Nodes and the hyperedges that join them.")

command(app, "add")(graph_write.add)
command(app, "link")(graph_write.link)
command(app, "search")(graph_read.search)
command(app, "list")(graph_read.list_nodes)
command(app, "show")(graph_read.show)
command(app, "edit")(graph_write.edit)
command(app, "rm")(graph_write.remove)
command(app, "relink")(graph_write.relink)
command(app, "unlink")(graph_write.unlink)
command(app, "edges")(graph_read.list_edges)
command(app, "history")(graph_read.history)
command(app, "consolidate")(graph_evolve.consolidate)
command(app, "promote")(graph_evolve.promote)
command(app, "decay")(graph_evolve.decay)
command(app, "undo")(graph_evolve.undo)
command(app, "copy")(graph_evolve.copy)
