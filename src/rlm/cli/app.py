"""The root command and what hangs below it. A module is imported only when its name is typed."""

from __future__ import annotations

import click

from rlm._version import __version__
from rlm.cli.command import ROOT_OPTIONS, LazyGroup, with_options
from rlm.cli.session import Session

MEMORY = {
    "Find": {
        "search": "rlm.cli.memory_read:search",
        "why": "rlm.cli.memory_read:why",
        "list": "rlm.cli.memory_read:list_memories",
        "show": "rlm.cli.memory_read:show",
        "stats": "rlm.cli.memory_read:stats",
        "insights": "rlm.cli.insights:insights",
    },
    "Write": {
        "add": "rlm.cli.memory_write:add",
        "edit": "rlm.cli.memory_write:edit",
        "rm": "rlm.cli.memory_write:remove",
        "restore": "rlm.cli.memory_write:restore",
        "feedback": "rlm.cli.memory_signals:feedback",
        "import": "rlm.cli.memory_write:import_",
        "train": "rlm.cli.train:train",
    },
    "Keep in order": {
        "review": "rlm.cli.memory_review:review",
        "consolidate": "rlm.cli.memory_review:consolidate",
        "undo": "rlm.cli.memory_review:undo",
        "decay": "rlm.cli.memory_signals:decay",
        "stability": "rlm.cli.memory_signals:stability",
    },
}
memory = LazyGroup("memory", help="Add, find and change memories.", sections=MEMORY)
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
    "consolidate": "rlm.cli.graph_write:consolidate",
    "promote": "rlm.cli.graph_write:promote",
    "decay": "rlm.cli.graph_write:decay",
    "undo": "rlm.cli.graph_write:undo",
    "copy": "rlm.cli.graph_write:copy",
}
graph = LazyGroup(
    "graph", help="Nodes and the hyperedges that join them.", sections={"Commands": GRAPH}
)
ROOT = {
    "Memory of a coding agent": {
        "setup": "rlm.cli.setup:setup",
        "worker": "rlm.cli.worker:worker",
        "queue": "rlm.cli.worker",
        "mcp": "rlm.cli.mcp:mcp",
        "token": "rlm.cli.token",
    },
    "What is stored": {
        "memory": "rlm.cli.app:memory",
        "graph": "rlm.cli.app:graph",
        "pack": "rlm.cli.pack",
    },
    "Questions": {
        "run": "rlm.cli.run:run",
        "ask": "rlm.cli.run:run",
        "ontology": "rlm.cli.ontology",
        "logs": "rlm.cli.logs",
        "eval": "rlm.cli.evaluate:evaluate",
    },
    "Upkeep": {
        "doctor": "rlm.cli.upkeep:doctor",
        "backup": "rlm.cli.upkeep:backup",
        "store": "rlm.cli.store",
        "index": "rlm.cli.index",
        "completion": "rlm.cli.completion:completion",
    },
}
GROUPS = ("memory", "graph", "ontology", "pack", "logs", "queue", "token", "store", "index")


@click.group(cls=LazyGroup, sections=ROOT)
@with_options(ROOT_OPTIONS)
@click.version_option(__version__, message="rlm %(version)s")
@click.pass_context
def app(context: click.Context, db: str | None, json: bool) -> None:
    """An agent that learns how, and memory for coding agents.

    `rlm setup claude` (or codex, cursor) gives a coding agent its memory. `rlm run QUESTION` with
    --ontology FILE or --context FILE asks. Exit codes: 0 done, 1 nothing found or a check failed, 2
    bad input.
    """
    context.obj = Session(db=db, json=json)


def run(args: list[str], called: str = "rlm") -> int:
    """Parse and run one line; the exit code. `called` is for help and hints. `main` maps errors."""
    if not args or (len(args) == 1 and args[0] in GROUPS):
        args = [*args, "--help"]
    with app.make_context(called, list(args)) as context:
        return app.invoke(context) or 0
