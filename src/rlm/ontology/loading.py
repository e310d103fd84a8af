"""From a file to a worker that can be asked: by the cache when it has the content, else by parsing it first.

Parsing and serving are two workers with different rights: the one may write its folder and nothing else, the other may
read its folder and nothing else.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from rlm.errors import NotRDF, OntologyError, QueryTimeout
from rlm.ontology.answer import EngineLimits
from rlm.ontology.cache import Cache, Entry
from rlm.ontology.formats import Source
from rlm.ontology.worker import Gone, Worker


class Loader:
    """One file and its place in the cache. `entry` is None while the cache cannot be used.

    `from_cache`: what is served was there before and did not have to be parsed.
    """

    def __init__(self, file: Source, cache: Cache, limits: EngineLimits) -> None:
        """Looks into the cache; parses nothing yet. OntologyError when the file cannot be read."""
        self._file, self._cache, self._limits = file, cache, limits
        self.source = str(file.path)
        self.notes = list(file.notes)
        try:
            self.content_hash = cache.content_hash(file.path)
        except OSError as exc:
            raise OntologyError(f"{self.source} cannot be read: {exc}") from exc
        self._key = cache.key(self.content_hash, file.format)
        self.entry: Entry | None = cache.find(self._key)
        self.from_cache = self.entry is not None
        self._tried, self._whole = self.from_cache, False

    def start(self, *, with_meta: bool = False) -> tuple[Worker, dict[str, Any]]:
        """A worker that can be asked, and what it said of itself. An entry that is damaged is built again, once."""
        if not self._tried:
            self.rebuild()
        for last in (False, True):
            if self.entry is None:
                order = self._order("memory", meta=True)
            else:
                with_meta = with_meta or not (self.entry.folder / "meta.json").exists()
                order = self._order("serve", self.entry.store, meta=with_meta, facts=self.entry.facts)
            try:
                worker, answer = self._begun(order)
            except Gone as exc:
                if self.entry is None or exc.late:
                    raise self._not_loaded(exc) from exc
                answer = {"op": "damaged", "message": exc.how}
            if answer["op"] == "ready":
                try:
                    self._check_content(answer["facts"])
                except OntologyError:
                    worker.kill()
                    raise
                return worker, {**answer, "with_meta": order["meta"]}
            if last or self.entry is None:
                break
            self.rebuild()
        raise OntologyError(f"{self.source} cannot be opened: {answer.get('message', answer['op'])}")

    def whole(self) -> bool:
        """Whether the entry still is as it was built. Looks only once: it reads all of it."""
        if not self._whole and self.entry is not None:
            self._whole = self.entry.whole()
        return self._whole or self.entry is None

    def rebuild(self) -> None:
        """Parse the file into the cache, in place of what was there; where that cannot be, leave it to memory."""
        self._tried, self._whole, self.from_cache = True, False, False
        if self.entry is not None:
            self._cache.drop(self._key)
        self.entry = None
        try:
            building = self._cache.begin()
        except OSError as exc:
            return self._without_cache(exc)
        try:
            worker, answer = self._begun(self._order("build", building))
            worker.kill()
            if answer["op"] != "built":
                return self._without_cache(answer.get("message", answer["op"]))
            self._check_content(answer["facts"])
            self.entry = self._cache.keep(building, self._key, answer["facts"])
        except Gone as exc:
            raise self._not_loaded(exc) from exc
        except OSError as exc:
            return self._without_cache(exc)
        finally:
            self._cache.discard(building)
        return None

    def _order(self, mode: str, folder: Path | None = None, **more: Any) -> dict[str, Any]:
        return {
            "mode": mode, "path": str(self._file.path.absolute()), "format": self._file.format,
            "gzipped": self._file.gzipped, "folder": str(folder.absolute()) if folder else "",
            "memory_mb": self._limits.memory_mb, "timeout_s": self._limits.load_timeout_s, "meta": False, **more,
        }  # fmt: skip

    def _begun(self, order: dict[str, Any]) -> tuple[Worker, dict[str, Any]]:
        """A new worker and how its first task went; it runs on only where that went well."""
        worker = Worker(order, frame_bytes=self._limits.answer_bytes + (1 << 20))
        try:
            answer = worker.receive(time.monotonic() + self._limits.load_timeout_s)
        except BaseException:
            worker.kill()
            raise
        if answer["op"] != "ready":
            worker.kill()
        if answer["op"] == "notrdf":
            raise NotRDF(str(answer["message"]), path=self.source, line=answer["line"])
        return worker, answer

    def _without_cache(self, why: object) -> None:
        note = f"the cache {self._cache.folder} cannot be used ({str(why)[:200]}): the file is loaded into memory"
        if note not in self.notes:
            self.notes.append(note)

    def _check_content(self, facts: dict[str, Any]) -> None:
        if facts["sha256"] != self.content_hash:
            raise OntologyError(f"{self.source} has changed since it was opened: open it again")

    def _not_loaded(self, gone: Gone) -> OntologyError:
        if gone.late:
            allowed = f"{self._limits.load_timeout_s:g} s"
            return QueryTimeout(f"loading {self.source} took more than {allowed}: raise load_timeout_s")
        if gone.memory:
            allowed = f"{self._limits.memory_mb:,} MB of memory"
            return OntologyError(f"loading {self.source} took more than {allowed}: raise memory_mb")
        return OntologyError(f"the parser did not survive {self.source} ({gone.how}): it may be nested too deep")
