"""SPARQL over files: pyoxigraph in a worker that can be killed, over a store in memory or on disk.

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import orjson

from rlm import config
from rlm.errors import ConfigError, OntologyError, QueryRefused, QueryTimeout
from rlm.ontology.engine import loader
from rlm.ontology.engine.cache import Cache
from rlm.ontology.engine.formats import Named, find_files
from rlm.ontology.engine.loader import Loader
from rlm.ontology.engine.protocol import Answer, EngineLimits
from rlm.ontology.engine.worker import Damaged, Killed, Worker, ask, explain_refusal
from rlm.ontology.query.guard import Checked, check_query, enforce_limit, order_columns
from rlm.ontology.terms import BlankNodeLabels, Prefixes

if TYPE_CHECKING:
    from rlm.ontology.meta.graph_meta import GraphMeta

META_PARTS = 4_096
LEAST_MB, MOST_MB = 64, 1 << 20
T = TypeVar("T")


def _memory_mb(settings: config.Settings) -> int:
    given = settings.ontology_memory_mb
    if not LEAST_MB <= given <= MOST_MB:
        what = f"ontology_memory_mb (RLM_ONTOLOGY_MEMORY_MB) is {given:g}"
        raise ConfigError(f"{what}; it must be from {LEAST_MB} to {MOST_MB}")
    return int(given)


class LocalEngine:
    """One graph of one or more RDF files. Safe to share between threads: one query runs at a time.
    `notes` says what a person should know of how the files were read. `walls` names what confines
    the worker. `in_memory`: whether the latest answer came from memory."""

    def __init__(
        self,
        source: Named,
        *,
        format: str | None = None,
        imports: Mapping[str, str | Path] | None = None,
        within: Sequence[Path] | None = None,
        cache_dir: Path | None = None,
        limits: EngineLimits = EngineLimits(),  # noqa: B008 - frozen
    ) -> None:
        """Loads a file, several, or those of a folder, or opens them from the cache. `imports`: IRI
        to file. `within`: where a catalogue may lead. NotRDF, OntologyError, QueryTimeout."""
        self._lock = threading.RLock()
        self._worker: Worker | None = None
        self._closed = False
        self._meta: GraphMeta | None = None
        self._blanks = BlankNodeLabels()
        settings = config.load()
        self.limits = limits = replace(limits, memory_mb=limits.memory_mb or _memory_mb(settings))
        files = find_files(source, format=format, imports=imports, within=within)
        cache = Cache(Path(cache_dir or settings.cache_dir).expanduser())
        self._loader = Loader(files, cache, limits)
        self.source, self.content_hash = self._loader.source, self._loader.content_hash
        self.name = files.name
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
        self._facts: dict[str, Any] = said["facts"]
        self.walls = [str(wall) for wall in said["walls"]]

    @property
    def triples(self) -> int:
        """How many there are, each once."""
        return int(self._facts["triples"])

    @property
    def loaded_from_cache(self) -> bool:
        return self._loader.from_cache

    @property
    def notes(self) -> list[str]:
        return self._loader.describe(self._facts)

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
        """End the worker. A cache that is being written gets a moment to end."""
        with self._lock:
            self._closed = True
            self._stop()
            self._loader.close(loader.CLOSE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self._stop()
            self._loader.close()

    def __repr__(self) -> str:
        return f"LocalEngine({self.source!r}, {self.triples:,} triples)"

    # -- asking

    def query(
        self,
        sparql: str,
        *,
        limit: int = 1000,
        timeout_s: float | None = None,
    ) -> Answer:
        """At most `limit` rows or triples, and no more than the engine's own limits. The file's
        prefixes and the well-known ones need not be declared. The labels of blank nodes hold as
        long as the engine. Raises QueryRefused, QueryTimeout, OntologyError."""
        checked = check_query(sparql)
        if limit < 0:
            raise QueryRefused(f"a limit of {limit} rows is not possible; use 0 or more")
        rows = min(limit, self.limits.rows)
        text = enforce_limit(sparql, rows + 1) if checked.kind == "SELECT" else sparql
        wait_s = self.limits.timeout_s if timeout_s is None else timeout_s
        order = {"op": "query", "text": text, "rows": rows, "bytes": self.limits.answer_bytes}
        with self._lock:
            order |= {"timeout_s": wait_s, "prefixes": dict(self.prefixes)}
            return self._retry(lambda: self._answer(order, checked, wait_s))

    def _retry(self, act: Callable[[], T]) -> T:
        """Once more where the cache was to blame, or somebody killed the worker."""
        try:
            return act()
        except Killed:
            return self._try_again(act)
        except Damaged as exc:
            if self._loader.entry is None:
                raise OntologyError(f"{self.source} cannot be asked: {exc}") from exc
        except QueryTimeout:  # over a damaged store some queries do not fail but never end
            if self.in_memory or self._loader.whole():
                raise
        self._stop()
        self._loader.drop()
        return self._try_again(act)

    def _try_again(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except Killed as exc:
            raise QueryTimeout(str(exc)) from exc
        except Damaged as exc:
            what = f"the cache of {self.source} is damaged: delete it ({exc})"
            raise OntologyError(what) from exc

    def _answer(self, order: dict[str, Any], checked: Checked, wait_s: float) -> Answer:
        worker, started = self._alive(), time.monotonic()
        rows: list[list[Any]] = []
        head: dict[str, Any] = {}
        with contextlib.closing(ask(worker, order, wait_s, self.limits)) as messages:
            for message in messages:
                if message["op"] == "rows":
                    rows += message["rows"]
                elif message["op"] in ("head", "done"):
                    head |= message
                else:
                    raise explain_refusal(message, checked, self.prefixes)
        if head["too_long"]:
            raise QueryRefused(
                f"one row alone has {head['too_long']:,} bytes, at most"
                f" {self.limits.answer_bytes:,} are allowed: ask for SUBSTR(STR(?x), 1, 1000)"
                " instead of the whole text"
            )
        self.in_memory = bool(head["in_memory"])
        names, shown = head["variables"], self._blanks.to_public
        answer = Answer(
            head["kind"],
            order_columns(checked, names),
            boolean=head["boolean"],
            truncated=head["truncated"],
            seconds=time.monotonic() - started,
        )
        if answer.kind == "graph":
            answer.triples.extend((shown(s), shown(p), shown(o)) for s, p, o in rows)
        else:
            columns = [(name, names.index(name)) for name in answer.variables]
            answer.rows.extend(
                {name: shown(row[at]) for name, at in columns if row[at] is not None}
                for row in rows
            )
        return answer

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
                    found = self._retry(self._scan)
                    self._meta = GraphMeta.from_dict(found)
                    self._loader.keep_meta(found)
                missing = {iri for iri, file in self._facts["imports"] if file is None}
                self._meta.missing_imports = [i for i in self._meta.imports if i in missing]
                self.prefixes = self._meta.prefixes  # one spelling of a name everywhere
            return self._meta

    def _scan(self) -> dict[str, Any]:
        from rlm.ontology.meta.graph_meta import INDIVIDUALS, complete_scan

        self._alive()
        if not self._can_meta:  # it was started without what this needs, and cannot load it now
            self._stop()
            self._start(with_meta=True)
        order = {"op": "meta", "individuals": INDIVIDUALS}
        text = self._read_parts(self._alive(), order, "described")
        found, preferred = orjson.loads(text)
        return complete_scan(found, self._facts["prefixes"], preferred)

    def dump(self) -> list[str]:
        """Every statement as a line of N-Triples, each once, in no order, with literals as they are
        written. The labels of blank nodes are those of this dump."""
        with self._lock:
            entry = self._loader.entry
            text = None if entry is None else entry.read_dump()
            if text is None:
                worker = self._loader.start_written()
                try:
                    text = self._read_parts(worker, {"op": "written"}, "read")
                finally:
                    worker.kill()
                if entry is not None:
                    entry.write_dump(text)
        return list(dict.fromkeys(filter(None, text.split("\n"))))

    def _read_parts(self, worker: Worker, order: dict[str, Any], what: str) -> str:
        """A long answer, which comes in parts."""
        wait_s = self.limits.load_timeout_s
        parts: list[str] = []
        order = {**order, "timeout_s": wait_s}
        with contextlib.closing(ask(worker, order, wait_s, self.limits)) as messages:
            for message in messages:
                if message["op"] == "part" and len(parts) < META_PARTS:
                    parts.append(str(message["text"]))
                elif message["op"] == "damaged":
                    raise Damaged(message["message"])
                elif message["op"] != "done":
                    why = message.get("message", "too large")
                    raise OntologyError(f"{self.source} cannot be {what}: {why}")
        return "".join(parts)
