"""What a run works with: models, a store, an ontology, a text. Opened once, closed at the end."""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlm.agent.spec import Context, RunSpec
from rlm.context import Guide, read_guide
from rlm.errors import ConfigError, ModelError, ValidationError
from rlm.learning.verify import check_verify
from rlm.llm import Client, open_client
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.labels import is_language_tag, missing_language
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.source import open_engine
from rlm.ontology.views.views import Views
from rlm.store.backend import MemoryBackend
from rlm.store.open import open_store
from rlm.store.secrets import scrub
from rlm.tools import Toolbox

if TYPE_CHECKING:
    from rlm.agent.recall import RecalledContext
    from rlm.llm.cassette import RecordingClient, ReplayClient

LOG = logging.getLogger("rlm.agent")
MAX_QUESTION_CHARS = 50_000
PROBE_BYTES = 1 << 16
"""So much room a folder for logs must have."""
STORE_TOOLS = ("mem_", "memory_", "sparql_peek")
"""What these tools return depends on the store."""


@dataclass(frozen=True)
class Graph:
    """An ontology that a run asks: its engine, its views and its guide."""

    engine: Engine
    views: Views
    name: str
    guide: Guide | None = None

    @property
    def meta(self) -> GraphMeta:
        return self.views.meta

    @classmethod
    def open(
        cls, stack: ExitStack, source: str | Path | Sequence[str | Path], spec: RunSpec
    ) -> Graph:
        """Open files or a named endpoint; closed with the stack."""
        engine = open_engine(
            source,
            format=spec.ontology_format,
            imports=spec.ontology_imports,
            within=spec.ontology_within,
        )
        stack.callback(engine.close)
        for note in getattr(engine, "notes", ()):
            LOG.info(note)
        first = source if isinstance(source, str | Path) else source[0]
        guide = read_guide(first) if Path(first).is_file() else None
        views = Views(engine, lang=spec.lang)
        if note := missing_language(views.meta.languages, spec.lang):
            LOG.info(note)
        return cls(engine, views, spec.ontology_name or engine.name, guide)


class Models:
    """The clients of a run, recorded or replayed, closed at the end."""

    def __init__(self, spec: RunSpec) -> None:
        if spec.client is not None and not callable(getattr(spec.client, "complete", None)):
            kind = type(spec.client).__name__
            raise ConfigError(f"client is a {kind}: give a client, or its name as `model`")
        self._own: list[Client] = []
        self.tape: RecordingClient | ReplayClient | None = None
        """The cassette of a run that is recorded or replayed: also of what memory gives it."""
        self.sub: Client | None = spec.sub_client
        if spec.replay is not None:
            from rlm.llm.cassette import ReplayClient

            self.tape = ReplayClient(spec.replay, scrub=lambda text: scrub(text)[0])
            self.root: Client = self._keep(self.tape)
            self.sub = None
            return
        self.root = spec.client or self._keep(open_client(spec.model, base_url=spec.base_url))
        if spec.sub_model:
            self.sub = self._keep(open_client(spec.sub_model, base_url=spec.base_url))
        if spec.record is not None:
            from rlm.llm.cassette import RecordingClient

            self.tape = RecordingClient(self.root, spec.record)
            self.root = self._keep(self.tape)
            if self.sub is not None:
                self.sub = self._keep(self.tape.beside(self.sub))

    def recall(self, attempt: int, k: int, make: Callable[[], RecalledContext]) -> RecalledContext:
        """What memory gives an attempt that asks for `k`; from the cassette in a replay."""
        tape = self.tape
        if tape is None:
            return make()
        from rlm.agent.recall import RecalledContext

        name = f"what memory gave for memory_k {k}{_of_attempt(attempt)}"
        try:
            return RecalledContext.from_json(tape.keep(name, lambda: make().to_json()))
        except (LookupError, TypeError, ValueError, ValidationError) as exc:
            raise ModelError(
                f"the cassette holds {name!r} in a form that is not read ({exc}): record it again"
            ) from exc

    def tape_tools(
        self, box: Toolbox, attempt: int, on_replay: Callable[[str, Any], None]
    ) -> Toolbox:
        """The same tools; what those that read the store return is written to the cassette, or
        taken from it. `on_replay` is told the name and the result of a tool that was not called."""
        if self.tape is None:
            return box
        taped = {
            name: _tape(function, name, attempt, self.tape, on_replay)
            if name.startswith(STORE_TOOLS)
            else function
            for name, function in box.functions.items()
        }
        return Toolbox(taped, box.untimed)

    def _keep(self, client: Any) -> Any:
        self._own.append(client)
        return client

    def __enter__(self) -> Models:
        return self

    def __exit__(self, *_: object) -> None:
        for client in reversed(self._own):
            client.close()


def _tape(
    function: Callable[..., Any],
    name: str,
    attempt: int,
    tape: RecordingClient | ReplayClient,
    on_replay: Callable[[str, Any], None],
) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        called = False

        def ask() -> Any:
            nonlocal called
            called = True
            return function(*args, **kwargs)

        given = json.dumps([*args, kwargs] if kwargs else list(args), default=repr)
        value = tape.keep(f"{name} {given}{_of_attempt(attempt)}", ask)
        if not called:
            on_replay(name, value)
        return value

    return call


def _of_attempt(number: int) -> str:
    return f" (attempt {number})" if number else ""


@dataclass(frozen=True)
class RunParts:
    """What all attempts at one question work with. `context` holds the content of files, not their
    paths; None where the ontology's own card is all there is to read."""

    models: Models
    store: MemoryBackend
    graph: Graph | None = None
    context: Any = None

    @functools.cached_property
    def text_hash(self) -> str:
        """What lessons of this very text are known by; '' where there is not one text."""
        text = (
            self.context.encode("utf-8", "replace")
            if isinstance(self.context, str)
            else self.context
        )
        return hashlib.sha256(text).hexdigest()[:16] if isinstance(text, bytes) else ""

    @classmethod
    def open(cls, stack: ExitStack, spec: RunSpec) -> RunParts:
        """Open everything that a spec names; closed with the stack. What can be known to be wrong
        raises, and then nothing was spent; the store comes last, because opening it may make it."""
        models = stack.enter_context(Models(spec))
        source = spec.ontology_path
        graph = None if source is None else Graph.open(stack, source, spec)
        if spec.verify is not None:
            if graph is None:
                raise ConfigError(
                    "`verify` asks an ontology, and there is none: give ontology_path"
                )
            check_verify(spec.verify, graph.engine)
        context = None if spec.context is None else load_context(spec.context)
        if spec.log_dir is not None and spec.task is None:  # training has looked for all its tasks
            check_log_dir(spec.log_dir)
        return cls(models, open_memory(stack, spec), graph, context)


def open_memory(stack: ExitStack, spec: RunSpec) -> MemoryBackend:
    """The store that a spec names; closed with the stack where it was opened here."""
    if callable(spec.store):
        return stack.enter_context(spec.store())
    if spec.store is not None:
        return spec.store
    store = open_store(spec.db_path, origin="agent")
    stack.callback(store.close)
    return store


def load_context(context: Context) -> Any:
    """The same with the content of files in place of their paths."""
    if isinstance(context, Path):
        try:
            return context.read_bytes()
        except OSError as exc:
            raise ConfigError(f"the context {context} cannot be read: {exc.strerror}") from exc
    if isinstance(context, Mapping):
        return {name: load_context(part) for name, part in context.items()}
    if isinstance(context, Sequence) and not isinstance(context, str | bytes):
        return [load_context(part) for part in context]
    return context


# -- what is known to be wrong before anything is spent


def check_question(query: str) -> None:
    """ConfigError for a question that is empty or too long."""
    if not isinstance(query, str) or not query.strip():
        raise ConfigError("the question is empty: say what you want to know")
    if len(query) > MAX_QUESTION_CHARS:
        raise ConfigError(
            f"the question has {len(query):,} characters, at most {MAX_QUESTION_CHARS:,}: "
            "ask in short, and give the long part as `context`"
        )


def check_lang(tag: str | None) -> None:
    """ConfigError for a language of labels that is no language tag."""
    if tag is not None and not is_language_tag(tag):
        raise ConfigError(f"lang is {str(tag)[:40]!r}: write a language tag, as en, de or pt-BR")


def check_log_dir(folder: str | Path) -> None:
    """Whether logs can be written there, found out by writing. ConfigError says why not."""
    path = Path(folder).expanduser()
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path) as probe:
            probe.write(b" " * PROBE_BYTES)
    except OSError as exc:
        why = "it is no folder" if isinstance(exc, FileExistsError) else exc.strerror
        raise ConfigError(
            f"logs cannot be written to {path} ({why}): give another --log-dir"
        ) from exc
