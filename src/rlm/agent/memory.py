"""The seeds' own names for the loop with memory: over any context, with a namespace that a caller
has made."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from rlm.agent.loop import AgentRun
from rlm.agent.parts import Graph, Models, RunParts
from rlm.agent.spec import Context, RunSpec
from rlm.errors import ConfigError
from rlm.handles import Meter
from rlm.loop import RLMIteration
from rlm.ontology.datasets.snapshot import open_persistent
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.views.summary import sense_card
from rlm.ontology.views.views import MOUNTED, Views
from rlm.store.backend import MemoryBackend
from rlm.store.types import MemoryItem
from rlm.tools import Toolbox
from rlm.tools.views import dataset_tools

Answered = tuple[str, list[RLMIteration], dict[str, Any], list[MemoryItem]]
SENSE_CHARS = 600
DATASET_NAME = "session"


class Namespace(dict[str, Any]):
    """What a caller gave a run, and what the run's code left. Given to another run, only what the
    caller put there goes in: every run has a REPL of its own."""

    def __init__(self, given: Mapping[str, Any], left: Mapping[str, Any]) -> None:
        super().__init__({**given, **left})
        self._left = {name: value for name, value in left.items() if name not in given}

    def own(self) -> dict[str, Any]:
        """Without what the code left."""
        left = self._left
        return {n: value for n, value in self.items() if n not in left or value is not left[n]}


def retrieve_memories(store: MemoryBackend, task: str, k: int = 3) -> list[MemoryItem]:
    """The best `k` memories for a task, best first; fewer when fewer match."""
    return [hit.item for hit in store.retrieve(task, k)]


def rlm_run_with_memory(
    query: str,
    context: Context,
    memory_store: MemoryBackend,
    ns: Mapping[str, Any] | None = None,
    enable_memory_extraction: bool = True,
    persist_dataset: bool = False,
    dataset_path: str | Path | None = None,
    *,
    k: int = 3,
    **kwargs: Any,
) -> Answered:
    """Retrieve, inject, run, judge, extract, store: the answer, the turns, the REPL's variables,
    the new memories.

    `ns` may hold what `setup_ontology_context` mounted: its ontology is asked by the usual tools.
    Functions in it become tools, plain values variables; anything else stays outside. All of it is
    in the namespace that comes back too, which can be given to the next call. With
    `persist_dataset`, the snapshot at `dataset_path` is loaded before the run and saved after it,
    if it was changed, and new memories name it. `kwargs` are fields of `RunSpec`.
    """
    if persist_dataset and dataset_path is None:
        raise ConfigError("persist_dataset needs a dataset_path: where the snapshot lies")
    given = ns.own() if isinstance(ns, Namespace) else dict(ns or {})
    graph, tools, values = _split_namespace(given)
    tools = tools | Toolbox(dict(kwargs.pop("tools", {})))
    spec = RunSpec(
        query=query, memory_k=k, enable_extraction=enable_memory_extraction, ns=values, **kwargs
    )
    with ExitStack() as stack:
        models = stack.enter_context(Models(spec))
        dataset = None
        if persist_dataset and dataset_path is not None:
            dataset = stack.enter_context(open_persistent(dataset_path, DATASET_NAME))
            tools = tools | dataset_tools(dataset, Meter())
        spec = replace(spec, tools=tools.functions, untimed=tools.untimed)
        job = AgentRun(stack, spec, RunParts(models, memory_store, graph, context))
        if dataset is not None and dataset_path is not None:
            path = str(Path(dataset_path).expanduser().absolute())
            job.lineage = lambda: {"dataset": path} if dataset.changed or dataset.saved else {}
        found = job.run()
    new = [memory_store.get(entry["memory_id"]) for entry in found.new_memories]
    return (
        found.answer,
        found.result.iterations,
        Namespace(given, found.result.ns),
        [item for item in new if item is not None],
    )


def rlm_run_enhanced(
    query: str,
    context: Context,
    sense: str | GraphMeta,
    memory_store: MemoryBackend,
    ns: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> tuple[str, list[RLMIteration], dict[str, Any]]:
    """The same with every layer of context: `sense` is a sense card, or the GraphMeta of one."""
    card = (
        sense_card(sense, budget=SENSE_CHARS)
        if isinstance(sense, GraphMeta)
        else str(sense)[:SENSE_CHARS]
    )
    graph, _, _ = _split_namespace(ns or {})
    guidance = "" if graph is not None else card  # a graph brings its own
    answer, iterations, made, _ = rlm_run_with_memory(
        query, context, memory_store, ns, guidance=guidance, **kwargs
    )
    return answer, iterations, made


def _split_namespace(ns: Mapping[str, Any]) -> tuple[Graph | None, Toolbox, dict[str, Any]]:
    """What of a namespace the REPL can have: its mounted ontology, functions, plain values."""
    name, engine = next(
        ((name, value) for name, value in ns.items() if _is_engine(value)), ("", None)
    )
    graph = None if engine is None else Graph(engine, Views(engine), name)
    mounted = {*MOUNTED, *(f"{name}_{view}" for view in MOUNTED)} if graph is not None else set()
    tools, values = Toolbox(), {}
    for key, value in ns.items():
        if key in mounted or _is_engine(value) or isinstance(value, GraphMeta):
            continue
        if callable(value):
            tools.functions[key] = value
        elif isinstance(value, str | int | float | bool | list | dict | None):
            values[key] = value
    return graph, tools, values


def _is_engine(value: Any) -> bool:
    return not isinstance(value, type) and all(
        hasattr(value, part) for part in ("query", "meta", "close", "source")
    )
