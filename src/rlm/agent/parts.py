"""What a run is given: clients, an ontology, a text, a store. Each is opened once and closed at the
end."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlm.agent.types import Context, RunOptions
from rlm.context import Guide, read_guide
from rlm.errors import ConfigError
from rlm.llm import Client, RecordingClient, ReplayClient, open_client
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
    def open(cls, stack: ExitStack, source: str | Path, options: RunOptions) -> Graph:
        """Open a file or a named endpoint; closed with the stack."""
        engine = open_engine(source, format=options.ontology_format)
        stack.callback(engine.close)
        for note in getattr(engine, "notes", ()):
            LOG.info(note)
        guide = read_guide(source) if Path(source).is_file() else None
        views = Views(engine, lang=options.lang)
        if note := missing_language(views.meta.languages, options.lang):
            LOG.info(note)
        return cls(engine, views, options.ontology_name or engine.name, guide)


class Models:
    """The clients of a run, recorded or replayed, closed at the end."""

    def __init__(self, model: str | None, client: Client | None, options: RunOptions) -> None:
        if options.record is not None and options.replay is not None:
            raise ConfigError(
                "a run is recorded or replayed, not both: leave out --record or --replay"
            )
        if client is not None and not callable(getattr(client, "complete", None)):
            raise ConfigError(
                f"client is a {type(client).__name__}: give a client, or its name as `model`"
            )
        self._own: list[Client] = []
        if options.replay is not None:
            self.root: Client = self._kept(ReplayClient(options.replay))
            self.sub: Client | None = None
            return
        self.root = client or self._kept(open_client(model, base_url=options.base_url))
        self.sub = (
            self._kept(open_client(options.sub_model, base_url=options.base_url))
            if options.sub_model
            else None
        )
        if options.record is not None:
            tape = RecordingClient(self.root, options.record)
            self.root = self._kept(tape)
            if self.sub is not None:
                self.sub = self._kept(tape.beside(self.sub))

    def _kept(self, client: Any) -> Any:
        self._own.append(client)
        return client

    def __enter__(self) -> Models:
        return self

    def __exit__(self, *_: object) -> None:
        for client in reversed(self._own):
            client.close()


def loaded(context: Context) -> Any:
    """The same with the content of files in place of their paths."""
    if isinstance(context, Path):
        try:
            return context.read_bytes()
        except OSError as exc:
            raise ConfigError(f"the context {context} cannot be read: {exc.strerror}") from exc
    if isinstance(context, Mapping):
        return {name: loaded(part) for name, part in context.items()}
    if isinstance(context, Sequence) and not isinstance(context, str | bytes):
        return [loaded(part) for part in context]
    return context


def opened(stack: ExitStack, db_path: str | Path | None) -> MemoryBackend:
    store = open_store(db_path, origin="agent")
    stack.callback(store.close)
    return store
