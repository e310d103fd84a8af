"""The one place that wires the parts: a question, a context, a model, the sealed REPL, tools, a log and a store.

Whatever happens in a run, what there is of it is stored: an answer or a partial one, why it ended, what it used and
what got past the handles. `learning` will judge and distil; here the run is only kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlm.context import build_context, read_guide
from rlm.errors import ConfigError
from rlm.handles import Meter
from rlm.handles import Store as Handles
from rlm.llm import OFFLINE_UNANSWERED, Client, RecordingClient, ReplayClient, open_client
from rlm.loop import Limits, RLMIteration, RLMLogger, RLMResult, rlm_run
from rlm.ontology.engine import open_engine
from rlm.ontology.views import Views
from rlm.sandbox import SandboxLimits
from rlm.store.backend import MemoryBackend
from rlm.store.open import open_store
from rlm.store.secrets import scrub
from rlm.store.types import Run, Trajectory
from rlm.tools import Recalled, Toolbox, ctx_tools, graph_tools, memory_tools, sparql_tools, view_tools

OnStep = Callable[[RLMIteration], None]
Part = str | bytes | Path
Context = Part | Sequence[Part] | Mapping[str, Part]

MAX_STEPS = 10
FIRST_STEPS = 4
ACTION_CHARS, OUTCOME_CHARS = 80, 100


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a run may be told beyond its question, its context and its model."""

    sub_model: str | None = None
    """The model behind `llm_query`; the root model where none is named."""
    base_url: str | None = None
    record: str | Path | None = None
    """A cassette to write every model call to."""
    replay: str | Path | None = None
    """A cassette to answer every model call from."""
    engine: str = "auto"
    unsafe: bool = False
    sandbox: SandboxLimits = field(default_factory=SandboxLimits)
    memory_tools: bool = True
    """Whether the REPL has `mem_*` and `memory_*` over the store."""
    guidance: str = ""
    ontology_name: str | None = None
    """What memories call the ontology; its file's name where none is given."""
    lang: str | None = None
    """The language of labels."""


@dataclass(frozen=True, slots=True)
class AgentResult:
    """What a run came to. `iterations` is how many turns the model took."""

    answer: str
    iterations: int
    run_id: str
    trajectory_id: str
    log_path: str | None
    memories_used: list[str]
    converged: bool
    reason: str
    leakage: dict[str, Any]
    usage: dict[str, Any]
    submitted: dict[str, Any] | None
    model: str
    result: RLMResult = field(repr=False)

    @property
    def answered(self) -> bool:
        """Whether there is an answer: the model finished, and did not say that it cannot."""
        return self.converged and not self.answer.startswith(OFFLINE_UNANSWERED)

    def to_dict(self) -> dict[str, Any]:
        """Every field but the trajectory itself, as JSON types."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "result"}


def run(
    query: str,
    ontology_path: str | Path | None = None,
    db_path: str | Path | None = None,
    *,
    context: Context | None = None,
    model: str | None = None,
    log_dir: str | Path | None = None,
    limits: Limits | None = None,
    store: MemoryBackend | None = None,
    client: Client | None = None,
    on_start: Callable[[str], None] | None = None,
    on_step: OnStep | None = None,
    options: RunOptions | None = None,
) -> AgentResult:
    """Answer a question over a text of any length, or over an ontology, and keep the run.

    `context` is text, bytes, a path, or several of them. The store is `store`, or the one at `db_path`, or the default
    one. `client` goes before `model`; `on_start` is told the name of the model that is asked. A run that did not
    converge is no error: `converged` is False and `reason` says why. Raises ConfigError and ModelAuthError before
    anything is asked, SandboxError when code cannot be confined here.
    """
    options = options or RunOptions()
    if not query.strip():
        raise ConfigError("the question is empty: say what you want to know")
    if context is None and ontology_path is None:
        raise ConfigError("there is nothing to ask about: give a text as `context`, or an ontology")
    with ExitStack() as stack:
        root = stack.enter_context(_Models(model, client, options))
        if on_start is not None:
            on_start(root.root.model)
        opened: MemoryBackend = store or _opened(stack, db_path)
        graph = None if ontology_path is None else _Graph(stack, ontology_path, query, options)
        about = graph.told if context is None and graph is not None else _loaded(context or "")
        job = _Job(stack, query, root, opened, options, graph)
        return job.keep(job.ask(about, limits or Limits(), job.logger(stack, log_dir), on_step))


class _Graph:
    """An ontology that a run asks: its engine, its views, and what the prompt is told of it beforehand."""

    def __init__(self, stack: ExitStack, source: str | Path, query: str, options: RunOptions) -> None:
        self.engine = open_engine(source)
        stack.callback(self.engine.close)
        meta = self.engine.meta()
        self.views = Views(self.engine, meta, lang=options.lang)
        guide = read_guide(source) if Path(source).is_file() else None
        self.told = build_context(query, meta, guide=guide, lang=options.lang).text
        self.name = options.ontology_name or self.engine.name
        self.path = self.engine.source


def _loaded(context: Context) -> Any:
    """The same with the content of files in place of their paths."""
    if isinstance(context, Path):
        try:
            return context.read_bytes()
        except OSError as exc:
            raise ConfigError(f"the context {context} cannot be read: {exc.strerror}") from exc
    if isinstance(context, Mapping):
        return {name: _loaded(part) for name, part in context.items()}
    if isinstance(context, Sequence) and not isinstance(context, str | bytes):
        return [_loaded(part) for part in context]
    return context


def _opened(stack: ExitStack, db_path: str | Path | None) -> MemoryBackend:
    store = open_store(db_path, origin="agent")
    stack.callback(store.close)
    return store


class _Models:
    """The clients of a run, recorded or replayed, closed at the end."""

    def __init__(self, model: str | None, client: Client | None, options: RunOptions) -> None:
        if options.record is not None and options.replay is not None:
            raise ConfigError("a run is recorded or replayed, not both: leave out --record or --replay")
        if client is not None and not callable(getattr(client, "complete", None)):
            raise ConfigError(f"client is a {type(client).__name__}: give a client, or its name as `model`")
        self._own: list[Client] = []
        if options.replay is not None:
            self.root: Client = self._kept(ReplayClient(options.replay))
            self.sub: Client | None = None
            return
        self.root = client or self._kept(open_client(model, base_url=options.base_url))
        self.sub = self._kept(open_client(options.sub_model, base_url=options.base_url)) if options.sub_model else None
        if options.record is not None:
            tape = RecordingClient(self.root, options.record)
            self.root = self._kept(tape)
            if self.sub is not None:
                self.sub = self._kept(tape.beside(self.sub))

    def _kept(self, client: Any) -> Any:
        self._own.append(client)
        return client

    def __enter__(self) -> _Models:
        return self

    def __exit__(self, *_: object) -> None:
        for client in reversed(self._own):
            client.close()


class _Job:
    """One run on its way: what it is given, what the REPL gets, and what is kept of it."""

    def __init__(
        self,
        stack: ExitStack,
        query: str,
        models: _Models,
        store: MemoryBackend,
        options: RunOptions,
        graph: _Graph | None,
    ) -> None:
        self.models, self.store, self.options, self.graph = models, store, options, graph
        self.meter, self.handles = Meter(), stack.enter_context(Handles())
        self.run = Run(model=models.root.model)
        self.guidance = options.guidance
        if graph is not None:
            self.run.ontology_name, self.run.ontology_path = graph.name, graph.path
            self.guidance = "\n\n".join(part for part in (graph.told, options.guidance) if part)
        self.trajectory = Trajectory(task_query=query, run_id=self.run.run_id)

    def toolbox(self) -> Toolbox:
        """Every tool that this run has something for."""
        recalled = Recalled()
        memory = self.store if self.options.memory_tools else None
        box = ctx_tools(self.handles, self.meter)
        if memory is not None:
            box = box | _memory_box(memory, self.meter, recalled, self.trajectory.trajectory_id)
        if self.graph is not None:
            asking = sparql_tools(self.graph.engine, self.handles, self.meter, memory=memory, recalled=recalled)
            box = box | asking | view_tools(self.graph.views, self.meter)
        return box

    def logger(self, stack: ExitStack, log_dir: str | Path | None) -> RLMLogger | None:
        if log_dir is None:
            return None
        logger = RLMLogger(log_dir, scrub=_scrubbed, extra={"run_id": self.run.run_id})
        stack.callback(logger.close)
        self.trajectory.rlm_log_path = str(logger.path.resolve())
        return logger

    def ask(self, context: Any, limits: Limits, logger: RLMLogger | None, on_step: OnStep | None) -> RLMResult:
        box, options = self.toolbox(), self.options
        return rlm_run(
            self.trajectory.task_query,
            context,
            client=self.models.root,
            sub_client=self.models.sub,
            tools=box.functions,
            patient=box.patient,
            limits=limits,
            store=self.handles,
            meter=self.meter,
            logger=logger,
            on_step=on_step,
            guidance=self.guidance,
            sandbox=options.sandbox,
            engine=options.engine,
            unsafe=options.unsafe,
        )

    def keep(self, result: RLMResult) -> AgentResult:
        """Store the run, whatever became of it."""
        made = self.trajectory
        made.final_answer, made.iteration_count = result.answer, len(result.iterations)
        made.converged, made.artifact = result.converged, artifact(result)
        self.store.save_artifacts(self.run, made)
        return AgentResult(
            answer=result.answer,
            iterations=len(result.iterations),
            run_id=self.run.run_id,
            trajectory_id=made.trajectory_id,
            log_path=made.rlm_log_path,
            memories_used=[],
            converged=result.converged,
            reason=result.reason,
            leakage=result.leakage,
            usage=result.usage.to_dict(),
            submitted=result.submitted,
            model=self.models.root.model,
            result=result,
        )


def _memory_box(store: MemoryBackend, meter: Meter, recalled: Recalled, session: str) -> Toolbox:
    box = memory_tools(store, meter, session=session, recalled=recalled)
    return box | graph_tools(store, meter, recalled=recalled) if hasattr(store, "graph") else box


def _scrubbed(text: str) -> str:
    return scrub(text)[0]


def artifact(result: RLMResult) -> dict[str, Any]:
    """A run in little: what was done and what came of it, at most ten steps, and how it ended."""
    steps = [
        {
            "iteration": turn.number,
            "action": _short(block.code, ACTION_CHARS),
            "outcome": _short(block.result.stderr or block.result.stdout, OUTCOME_CHARS),
            "error": block.result.error,
        }
        for turn in result.iterations
        for block in turn.code_blocks
    ]
    if len(steps) > MAX_STEPS:
        steps = [*steps[:FIRST_STEPS], *steps[FIRST_STEPS - MAX_STEPS :]]
    return {
        "reason": result.reason[:500],
        "steps": steps,
        "leakage": result.leakage,
        "usage": result.usage.to_dict(),
        "submitted": result.submitted,
    }


def _short(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
