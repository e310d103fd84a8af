"""SPARQL over a file: pyoxigraph in a worker that can be killed, over a store in memory or in the
cache on disk.

The engine has no timeout of its own and a crafted query can take its process down, so it never runs
in ours. When a query takes too long, takes too much memory or crashes the worker, the worker is
ended, the caller gets an error that says so, and the next query starts another one, from the cache
or the file, in well under a second.

Every query passes `check_query`. A SELECT then gets a LIMIT of one row more than wanted, to know
whether there is more. For CONSTRUCT and DESCRIBE a LIMIT would count solutions, not triples; there
the worker stops at the wanted number.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import orjson

from rlm import config
from rlm.errors import OntologyError, QueryRefused, QueryTimeout
from rlm.ontology.engine import loading
from rlm.ontology.engine.asking import Damaged, Killed, ask, refused
from rlm.ontology.engine.cache import Cache
from rlm.ontology.engine.formats import detect
from rlm.ontology.engine.labelling import BlankNodes
from rlm.ontology.engine.loading import Loader
from rlm.ontology.engine.protocol import Answer, EngineLimits
from rlm.ontology.engine.worker import Gone, Worker
from rlm.ontology.query.bind import bind_hidden
from rlm.ontology.query.guard import Checked, check_query
from rlm.ontology.query.limit import enforce_limit
from rlm.ontology.terms import Prefixes, Term

if TYPE_CHECKING:
    from rlm.ontology.meta.graph_meta import GraphMeta

META_PARTS = 4_096
T = TypeVar("T")


class LocalEngine:
    """One RDF file. Safe to share between threads: one query runs at a time.

    `notes` says what a person should know of how the file was read. `walls` names what confines the
    worker. `in_memory`: whether the latest answer came from memory.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        format: str | None = None,
        cache_dir: Path | None = None,
        limits: EngineLimits = EngineLimits(),  # noqa: B008 - frozen
    ) -> None:
        """Loads the file, or opens what the cache has of it. Raises NotRDF, OntologyError or
        QueryTimeout."""
        self._lock = threading.RLock()
        self._worker: Worker | None = None
        self._closed = False
        self._meta: GraphMeta | None = None
        self._naming: str | None = None
        self._blanks = BlankNodes()
        self.limits = limits
        file = detect(Path(path).expanduser(), format)
        cache = Cache(Path(cache_dir or config.load().cache_dir).expanduser())
        self._loader = Loader(file, cache, limits)
        self.source, self.content_hash = self._loader.source, self._loader.content_hash
        self.name = file.path.name.split(".")[0] or file.path.name
        try:
            self._start()
        except BaseException:
            self._loader.close()
            raise
        self.prefixes = Prefixes(self._facts["prefixes"])

    # -- life

    def _start(self, *, with_meta: bool = False) -> None:
        self._worker, said = self._loader.start(with_meta=with_meta)
        self._can_meta, self.in_memory = bool(said["with_meta"]), bool(said["in_memory"])
        self._asked = self._copied = False
        self._facts: dict[str, Any] = said["facts"]
        if self._facts["naming"] != self._naming:  # the blank nodes have other names than before
            self._blanks.forget()
            self._naming = self._facts["naming"]
        self.walls = [str(wall) for wall in said["walls"]]

    @property
    def triples(self) -> int:
        """How many there are, each once."""
        with self._lock:
            if self._facts.get("later"):
                counted = (
                    self._meta.triple_count
                    if self._meta is not None
                    else self._tried(self._counted)
                )
                self._facts |= {"triples": counted, "later": False}
            return int(self._facts["triples"])

    def _counted(self) -> int:
        worker, wait_s = self._alive(), self.limits.timeout_s
        with contextlib.closing(
            ask(worker, {"op": "size", "timeout_s": wait_s}, wait_s, self.limits)
        ) as messages:
            for message in messages:
                if message["op"] == "done":
                    return int(message["triples"])
        raise OntologyError(f"{self.source} cannot be counted")

    @property
    def loaded_from_cache(self) -> bool:
        return self._loader.from_cache

    @property
    def notes(self) -> list[str]:
        return self._loader.notes + [str(note) for note in self._facts["notes"]]

    def _stop(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()

    def _alive(self) -> Worker:
        if self._closed:
            raise OntologyError(f"the engine for {self.source} is closed: open it again")
        if self._worker is None or not self._worker.alive():
            self._stop()
            self._start()
        assert self._worker is not None
        return self._worker

    def close(self) -> None:
        """End the worker. A closed engine answers nothing more. A cache that is being written gets
        a moment to end."""
        with self._lock:
            self._closed = True
            self._stop()
            self._loader.close(loading.CLOSE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self._stop()
            self._loader.close()

    def __repr__(self) -> str:
        size = "" if self._facts.get("later") else f", {self.triples:,} triples"
        return f"LocalEngine({self.source!r}{size})"

    # -- asking

    def query(
        self,
        sparql: str,
        *,
        limit: int = 1000,
        timeout_s: float | None = None,
        bindings: Mapping[str, Term] | None = None,
    ) -> Answer:
        """At most `limit` rows or triples, and no more than the engine's own limits.

        `bindings` gives variables their value (`rlm.ontology.query.bind`). The file's prefixes and the
        well-known ones need not be declared. Raises QueryRefused, QueryTimeout or OntologyError.
        """
        checked = check_query(sparql)
        if limit < 0:
            raise QueryRefused(f"a limit of {limit} rows is not possible; use 0 or more")
        rows = min(limit, self.limits.rows)
        text, bound = bind_hidden(checked, bindings or {})
        text = enforce_limit(text, rows + 1) if checked.kind == "SELECT" else text
        wait_s = self.limits.timeout_s if timeout_s is None else timeout_s
        with self._lock:
            order = {
                "op": "query", "text": text, "rows": rows, "bytes": self.limits.answer_bytes, "timeout_s": wait_s,
                "prefixes": dict(self.prefixes),
                "bindings": {name: self._blanks.raw(term) for name, term in bound.items()},
            }  # fmt: skip
            return self._tried(lambda: self._answer(order, checked, wait_s))

    def _tried(self, act: Callable[[], T]) -> T:
        """Once more when the reason for a failure lay in the cache, or somebody killed the worker."""
        try:
            return act()
        except Killed:
            return self._tried_again(act)
        except Damaged as exc:
            if self._loader.entry is None:
                raise OntologyError(f"{self.source} cannot be asked: {exc}") from exc
        except (
            QueryTimeout
        ):  # over a damaged store some queries do not fail but go round in circles
            if self.in_memory or self._loader.whole():
                raise
        self._stop()
        self._loader.drop()
        return self._tried_again(act)

    def _tried_again(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except Killed as exc:
            raise QueryTimeout(str(exc)) from exc
        except Damaged as exc:
            raise OntologyError(
                f"the cache of {self.source} is damaged: delete it ({exc})"
            ) from exc

    def _answer(self, order: dict[str, Any], checked: Checked, wait_s: float) -> Answer:
        worker, started = self._alive(), time.monotonic()
        self._bring_near(worker)
        rows: list[list[Any]] = []
        head: dict[str, Any] = {}
        with contextlib.closing(ask(worker, order, wait_s, self.limits)) as messages:
            for message in messages:
                if message["op"] == "rows":
                    rows += message["rows"]
                elif message["op"] in ("head", "done"):
                    head |= message
                else:
                    raise refused(message, checked, self.prefixes)
        if head["too_long"]:
            raise QueryRefused(
                f"one row alone has {head['too_long']:,} bytes, at most"
                f" {self.limits.answer_bytes:,} are allowed: ask for SUBSTR(STR(?x), 1, 1000)"
                " instead of the whole text"
            )
        self.in_memory, self._asked = bool(head["in_memory"]), True
        kind, names, cut, seconds = (
            head["kind"],
            head["variables"],
            head["truncated"],
            time.monotonic() - started,
        )
        if kind == "graph":
            return Answer(
                kind,
                triples=[self._blanks.triple(row) for row in rows],
                truncated=cut,
                seconds=seconds,
            )
        found = [
            {
                name: self._blanks.shown(term)
                for name, term in zip(names, row, strict=True)
                if term is not None
            }
            for row in rows
        ]
        return Answer(kind, names, found, head["boolean"], truncated=cut, seconds=seconds)

    def _bring_near(self, worker: Worker) -> None:
        """Who asks a second time will ask more: let the worker copy a small graph from the disk
        into memory."""
        if self._asked and not self.in_memory and not self._copied:
            self._copied = True
            if self._loader.may_copy():
                with contextlib.suppress(Gone):  # whoever asks next finds that out
                    worker.send({"op": "copy"})

    # -- what is in it

    def meta(self) -> GraphMeta:
        """What the graph holds; gathered once and kept in the cache."""
        from rlm.ontology.meta.graph_meta import GraphMeta

        with self._lock:
            if self._meta is None:
                kept = None if (entry := self._loader.entry) is None else entry.read_meta()
                with contextlib.suppress(OntologyError, ValueError, TypeError, KeyError):
                    self._meta = None if kept is None else GraphMeta.from_dict(kept)
                if self._meta is None:
                    found = self._tried(self._gathered)
                    self._meta = GraphMeta.from_dict(found)
                    self._loader.keep_meta(found)
                for prefix, namespace in self._meta.namespaces.items():
                    self.prefixes.setdefault(prefix, namespace)
            return self._meta

    def _gathered(self) -> dict[str, Any]:
        from rlm.ontology.meta.build_meta import completed
        from rlm.ontology.meta.graph_meta import INDIVIDUALS

        self._alive()
        if (
            not self._can_meta
        ):  # it was started without what this needs, and cannot load it any more
            self._stop()
            self._start(with_meta=True)
        worker = self._alive()
        wait_s = self.limits.load_timeout_s
        order = {"op": "meta", "individuals": INDIVIDUALS, "timeout_s": wait_s}
        parts: list[str] = []
        with contextlib.closing(ask(worker, order, wait_s, self.limits)) as messages:
            for message in messages:
                if message["op"] == "part" and len(parts) < META_PARTS:
                    parts.append(str(message["text"]))
                elif message["op"] == "damaged":
                    raise Damaged(message["message"])
                elif message["op"] != "done":
                    raise OntologyError(
                        f"{self.source} cannot be described: {message.get('message', 'too large')}"
                    )
        found, preferred = orjson.loads("".join(parts))
        return completed(found, self._facts["prefixes"], preferred)
