"""Which ontologies and texts the tools of a connection may read, and those that are open.

What was named at the start has a handle. Everything else is a path that lies below an allowed
folder, symbolic links followed; a path outside of them and one that is not there get the same
answer. Results of queries stay behind handles, of each tenant its own.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rlm import config
from rlm.errors import ConfigError, NotFound
from rlm.handles import Store as Handles
from rlm.store.types import Tenant

if TYPE_CHECKING:
    from rlm.ontology.engine.protocol import Engine
    from rlm.ontology.views.views import Views

MOST_OPEN = 4
"""Ontologies that stay open, each with a worker process of its own."""
MOST_DESKS = 16
MOST_RESULTS = 50
"""Results of one tenant that are kept, the last ones."""

T = TypeVar("T")


@dataclass(frozen=True)
class OpenOntology:
    """An ontology that answers."""

    name: str
    engine: Engine
    views: Views


@dataclass
class Library:
    """Files by handle or path, opened when they are first asked."""

    named: dict[str, str] = field(default_factory=dict)
    """Handle to a file or a named endpoint."""
    folders: tuple[Path, ...] = ()
    _open: OrderedDict[str, OpenOntology] = field(default_factory=OrderedDict, init=False)
    _desks: OrderedDict[Tenant, Handles] = field(default_factory=OrderedDict, init=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False)

    @classmethod
    def of(cls, ontologies: Sequence[str], folders: Sequence[str]) -> Library:
        """ConfigError for what is not there, or for two files with one handle."""
        named: dict[str, str] = {}
        for source in ontologies:
            path = Path(source).expanduser()
            if not path.exists() and source not in config.endpoints():
                raise ConfigError(f"--ontology {source}: no such file, and no such endpoint")
            handle = path.resolve().name.split(".")[0] or path.name
            if handle in named:
                raise ConfigError(f"--ontology {source}: {handle!r} names {named[handle]} already")
            named[handle] = str(path.resolve()) if path.exists() else source
        found = [Path(folder).expanduser() for folder in folders]
        for folder in found:
            if not folder.is_dir():
                raise ConfigError(f"--folder {folder}: no such folder")
        return cls(named, tuple(folder.resolve() for folder in found))

    def locate(self, source: str) -> str:
        """The file or endpoint behind a handle or a path. NotFound for any other."""
        if source in self.named:
            return self.named[source]
        for folder in self.folders:
            try:
                path = (folder / source).resolve()
                if path.is_relative_to(folder) and path.is_file():
                    return str(path)
            except (OSError, ValueError, RuntimeError):
                continue
        known = f"known are {', '.join(self.named)}" if self.named else "none was named at start"
        paths = ", or a path below an allowed folder" if self.folders else ""
        raise NotFound(f"no file {source[:200]!r} here: {known}{paths}")

    def within(self, where: str) -> tuple[Path, ...]:
        """The folders that a catalogue beside a file may lead to: its own and the allowed ones."""
        return (Path(where).parent, *self.folders)

    def open(self, source: str) -> OpenOntology:
        """An ontology, which stays open for the next call."""
        where = self.locate(source)
        with self._lock:
            return _keep(
                self._open, where, lambda: _open(where, self.within(where)), MOST_OPEN, _end
            )

    def handles(self, tenant: Tenant) -> Handles:
        """Where results of this tenant's queries are kept."""
        with self._lock:
            desk = _keep(self._desks, tenant, Handles, MOST_DESKS, Handles.close)
            for key in desk.keys()[:-MOST_RESULTS]:
                desk.drop(key)
            return desk

    def close(self) -> None:
        """End the worker processes and forget all results."""
        with self._lock:
            for ontology in self._open.values():
                _end(ontology)
            for desk in self._desks.values():
                desk.close()
            self._open.clear()
            self._desks.clear()


def _open(where: str, within: tuple[Path, ...]) -> OpenOntology:
    from rlm.ontology.source import open_engine  # a host waits for a server that starts
    from rlm.ontology.views.views import Views

    engine = open_engine(where, within=within)
    try:
        return OpenOntology(engine.name, engine, Views(engine))
    except BaseException:
        engine.close()
        raise


def _end(ontology: OpenOntology) -> None:
    ontology.engine.close()


def _keep(
    shelf: OrderedDict[Any, T], key: Any, make: Callable[[], T], most: int, end: Callable[[T], None]
) -> T:
    """What is on the shelf, or made now; what was not asked for longest makes room."""
    if key not in shelf:
        shelf[key] = make()
    shelf.move_to_end(key)
    while len(shelf) > most:
        end(shelf.popitem(last=False)[1])
    return shelf[key]
