"""What a run works with: models, a store, an ontology, a text. Opened once, closed at the end."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlm.agent.accept import check_language, check_log_dir
from rlm.agent.spec import Context, RunSpec
from rlm.context import Guide, read_guide
from rlm.errors import ConfigError
from rlm.learning.verify import check_verify
from rlm.llm import Client, open_client
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.labels import missing_language
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.open import open_engine
from rlm.ontology.views.views import Views
from rlm.store.backend import MemoryBackend
from rlm.store.open import open_store

LOG = logging.getLogger("rlm.agent")


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
    def open(cls, stack: ExitStack, source: str | Path, spec: RunSpec) -> Graph:
        """Open a file or a named endpoint; closed with the stack."""
        engine = open_engine(source, format=spec.ontology_format)
        stack.callback(engine.close)
        for note in getattr(engine, "notes", ()):
            LOG.info(note)
        guide = read_guide(source) if Path(source).is_file() else None
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
        self.sub: Client | None = spec.sub_client
        if spec.replay is not None:
            from rlm.llm.cassette import ReplayClient

            self.root: Client = self._keep(ReplayClient(spec.replay))
            self.sub = None
            return
        self.root = spec.client or self._keep(open_client(spec.model, base_url=spec.base_url))
        if spec.sub_model:
            self.sub = self._keep(open_client(spec.sub_model, base_url=spec.base_url))
        if spec.record is not None:
            from rlm.llm.cassette import RecordingClient

            tape = RecordingClient(self.root, spec.record)
            self.root = self._keep(tape)
            if self.sub is not None:
                self.sub = self._keep(tape.beside(self.sub))

    def _keep(self, client: Any) -> Any:
        self._own.append(client)
        return client

    def __enter__(self) -> Models:
        return self

    def __exit__(self, *_: object) -> None:
        for client in reversed(self._own):
            client.close()


@dataclass(frozen=True)
class RunParts:
    """What all attempts at one question work with. `context` holds the content of files, not their
    paths; None where the ontology's own card is all there is to read."""

    models: Models
    store: MemoryBackend
    graph: Graph | None = None
    context: Any = None

    @classmethod
    def open(cls, stack: ExitStack, spec: RunSpec) -> RunParts:
        """Open everything that a spec names; closed with the stack.

        What can be known to be wrong raises, and then nothing was spent; the store comes last,
        because opening it may make it.
        """
        models = stack.enter_context(Models(spec))
        asked = None if spec.replay is not None else models.root
        if spec.context is None:
            check_language(spec.query, asked, ontology=True)
        source = spec.ontology_path
        graph = None if source is None else Graph.open(stack, source, spec)
        if spec.verify is not None:
            if graph is None:
                raise ConfigError(
                    "`verify` asks an ontology, and there is none: give ontology_path"
                )
            check_verify(spec.verify, graph.engine)
        context = None if spec.context is None else load_context(spec.context)
        if context is not None:
            check_language(spec.query, asked, ontology=graph is not None, context=context)
        if spec.log_dir is not None and spec.task is None:  # training has looked for all its tasks
            check_log_dir(spec.log_dir)
        return cls(models, _open_memory(stack, spec), graph, context)


def _open_memory(stack: ExitStack, spec: RunSpec) -> MemoryBackend:
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
