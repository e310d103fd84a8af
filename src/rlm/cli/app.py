"""The root command and what hangs below it. A module is imported only when its name is typed."""

from __future__ import annotations

import click

from rlm._version import __version__
from rlm.cli.command import ROOT_OPTIONS, LazyGroup, with_options
from rlm.cli.session import Session

MEMORY = {
    "add": "rlm.cli.memory_write:add",
    "consolidate": "rlm.cli.memory_review:consolidate",
    "decay": "rlm.cli.memory_signals:decay",
    "edit": "rlm.cli.memory_write:edit",
    "feedback": "rlm.cli.memory_signals:feedback",
    "import": "rlm.cli.memory_import:import_",
    "insights": "rlm.cli.insights:insights",
    "list": "rlm.cli.memory_read:list_memories",
    "restore": "rlm.cli.memory_write:restore",
    "review": "rlm.cli.memory_review:review",
    "rm": "rlm.cli.memory_write:remove",
    "search": "rlm.cli.memory_read:search",
    "show": "rlm.cli.memory_read:show",
    "stability": "rlm.cli.memory_signals:stability",
    "stats": "rlm.cli.memory_read:stats",
    "train": "rlm.cli.train:train",
    "undo": "rlm.cli.memory_review:undo",
    "why": "rlm.cli.memory_why:why",
}
memory = LazyGroup("memory", help="Add, find and change memories.", homes=MEMORY)
GRAPH = {
    "add": "rlm.cli.graph_write:add",
    "link": "rlm.cli.graph_write:link",
    "search": "rlm.cli.graph_read:search",
    "list": "rlm.cli.graph_read:list_nodes",
    "show": "rlm.cli.graph_read:show",
    "edit": "rlm.cli.graph_write:edit",
    "rm": "rlm.cli.graph_write:remove",
    "relink": "rlm.cli.graph_write:relink",
    "unlink": "rlm.cli.graph_write:unlink",
    "edges": "rlm.cli.graph_read:list_edges",
    "history": "rlm.cli.graph_read:history",
    "consolidate": "rlm.cli.graph_evolve:consolidate",
    "promote": "rlm.cli.graph_evolve:promote",
    "decay": "rlm.cli.graph_evolve:decay",
    "undo": "rlm.cli.graph_evolve:undo",
    "copy": "rlm.cli.graph_evolve:copy",
}
graph = LazyGroup("graph", help="Nodes and the hyperedges that join them.", homes=GRAPH)
ROOT = {
    "run": "rlm.cli.run:run",
    "memory": "rlm.cli.app:memory",
    "graph": "rlm.cli.app:graph",
    "ontology": "rlm.cli.ontology",
    "pack": "rlm.cli.pack",
    "logs": "rlm.cli.logs",
    "mcp": "rlm.cli.mcp:mcp",
    "token": "rlm.cli.token",
    "worker": "rlm.cli.worker:worker",
    "queue": "rlm.cli.worker",
    "eval": "rlm.cli.evaluate:evaluate",
    "setup": "rlm.cli.setup:setup",
    "backup": "rlm.cli.upkeep:backup",
    "doctor": "rlm.cli.upkeep:doctor",
    "completion": "rlm.cli.completion:completion",
}
GROUPS = ("memory", "graph", "ontology", "pack", "logs", "queue", "token")


@click.group(cls=LazyGroup, homes=ROOT)
@with_options(ROOT_OPTIONS)
@click.version_option(__version__, message="rlm %(version)s")
@click.pass_context
def app(context: click.Context, db: str | None, json: bool) -> None:
    """An agent that learns how, from questions over ontologies and long texts. Start with `rlm run
    QUESTION --ontology FILE`, or --context FILE. Exit codes: 0 done, 1 nothing found or a check
    failed, 2 bad input.
    """
    context.obj = Session(db=db, json=json)


def run(args: list[str], called: str = "rlm") -> int:
    """Parse and run one line; the exit code. `called` is for help and hints. `main` maps errors."""
    if not args or (len(args) == 1 and args[0] in GROUPS):
        args = [*args, "--help"]
    with app.make_context(called, list(args)) as context:
        return app.invoke(context) or 0
