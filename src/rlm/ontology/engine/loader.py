"""From files to a worker that can be asked.

What the cache has is served from there, read-only, at once. What it does not have is parsed into
memory and served, and written to the cache beside that (`CacheWriter`). A graph that is too large
for memory is parsed into the cache first. A worker that parses to disk may write its folder and
nothing else, one that serves from it may only read it; one that serves from memory may touch no
file at all.
"""

from __future__ import annotations

import json
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

from rlm.errors import NotRDF, OntologyError, QueryTimeout
from rlm.ontology.engine.cache import Cache, CacheEntry, CacheWriter, hash_file, is_same_content
from rlm.ontology.engine.formats import INSTALL_OWL, OWL_SYNTAXES, TITLES, SourceFiles
from rlm.ontology.engine.protocol import EngineLimits
from rlm.ontology.engine.worker import Gone, Worker
from rlm.worker import package_folder

BYTES_PER_TRIPLE = 120
"""A file of more bytes for each triple that may be in memory is not tried there."""
OWL_DENSITY = 4
"""OBO and OWL syntaxes say so many times as much in a byte: 34 MB of GO are 1.5 million triples."""
SHOWN_IMPORTS = 5
CLOSE_S = 2.0
"""How long closing waits for the cache, so that a command that asks once leaves it for the next."""


class Loader:
    """The files of one graph and their place in the cache; `entry` is None while the cache does not
    have it. `from_cache`: what is served was there before and did not have to be parsed."""

    def __init__(self, files: SourceFiles, cache: Cache, limits: EngineLimits) -> None:
        """Looks into the cache; parses nothing yet. OntologyError when a file cannot be read."""
        self._files, self._cache, self._limits = files, cache, limits
        self.source = files.source
        self.notes = [*files.notes, *(note for file in files.files for note in file.notes)]
        self._building: CacheWriter | None = None
        self._meta: dict[str, Any] | None = None
        _require_library(files)
        self._spare: Worker | None = self._new_worker()  # it starts up while the files are hashed
        try:
            self._hashes = [hash_file(file.path) for file in files.files]
            size = sum(
                file.path.stat().st_size * (OWL_DENSITY if file.format in OWL_SYNTAXES else 1)
                for file in files.files
            )
        except OSError as exc:
            self._spare.kill()
            raise OntologyError(f"{self.source} cannot be read: {exc}") from exc
        self.content_hash = self._hashes[0]
        kinds = files.files[0].format
        if len(files.files) > 1:
            self.content_hash = sha256(" ".join(self._hashes).encode()).hexdigest()
            each = [(file.format, file.optional) for file in files.files]
            kinds = json.dumps([each, files.named, sorted(files.imports.items())])
        self._key = cache.key(self.content_hash, kinds)
        self.entry: CacheEntry | None = cache.find(self._key)
        self.from_cache = self.entry is not None
        self._tried, self._whole = self.from_cache, False
        self._most_bytes = limits.memory_triples * BYTES_PER_TRIPLE
        self._small = size <= self._most_bytes

    def start(self, *, with_meta: bool = False) -> tuple[Worker, dict[str, Any]]:
        """A worker that can be asked, and what it said. A damaged entry is built again, once."""
        for last in (False, True):
            worker, answer = self._open_worker(with_meta)
            if worker is not None and answer["op"] == "ready":
                try:
                    self._check_content(answer["facts"])
                except OntologyError:
                    worker.kill()
                    raise
                if answer["in_memory"]:
                    self._build_beside()
                return worker, answer
            if last or self.entry is None:
                break
            self.drop()
        why = answer.get("message", answer["op"])
        raise OntologyError(f"{self.source} cannot be opened: {why}")

    def _open_worker(self, with_meta: bool) -> tuple[Worker | None, dict[str, Any]]:
        if self.entry is None and self._small:
            order = self._order("memory", meta=True, most_bytes=self._most_bytes)
            order["most_triples"] = self._limits.memory_triples
            try:
                worker, answer = self._begin(order)
            except Gone as exc:
                if not exc.memory:
                    raise self._load_error(exc) from exc
                answer = {"op": "large"}
            if answer["op"] != "large":
                return worker, {**answer, "with_meta": True}
            self._small = False
        if self.entry is None and not self._tried:
            self._build_first()
        if self.entry is None:
            order = self._order("memory", meta=True)
        else:
            with_meta = with_meta or not (self.entry.folder / "meta.json").exists()
            order = self._order("serve", self.entry.store, meta=with_meta, facts=self.entry.facts)
        try:
            worker, answer = self._begin(order)
        except Gone as exc:
            if self.entry is None or exc.late:
                raise self._load_error(exc) from exc
            return None, {"op": "damaged", "message": exc.how}
        return worker, {**answer, "with_meta": order["meta"]}

    def start_written(self) -> Worker:
        """A worker that gives the statements as the files write them: it reads them once more."""
        try:
            worker, answer = self._begin(self._order("written"))
        except Gone as exc:
            raise self._load_error(exc) from exc
        try:
            if answer["op"] != "ready":
                why = answer.get("message", answer["op"])
                raise OntologyError(f"{self.source} cannot be read: {why}")
            self._check_content(answer["facts"])
        except BaseException:
            worker.kill()
            raise
        return worker

    def whole(self) -> bool:
        """Whether the entry still is as it was built. Looks only once: it reads all of it."""
        entry = self.entry
        if not self._whole and entry is not None:
            self._whole = entry.whole()
        return self._whole or entry is None

    def drop(self) -> None:
        """Remove the entry: the next start parses the file again."""
        self._tried, self._whole, self.from_cache = False, False, False
        if self.entry is not None:
            self._cache.drop(self._key)
        self.entry = None

    def keep_meta(self, meta: dict[str, Any]) -> None:
        """Put it into the entry, now or when there is one."""
        self._meta = meta
        if self.entry is not None:
            self.entry.write_meta(meta)

    def describe(self, facts: dict[str, Any]) -> list[str]:
        """What a person should know of how the files were read."""
        files, found = self._files.files, list(self.notes)
        for file, line, text in facts["notes"]:
            if file is None or (len(files) == 1 and line is None):
                found.append(str(text))
            else:
                found.append(f"{files[file].path.name}{f':{line}' if line else ''}: {text}")
        return found + self._describe_missing([iri for iri, n in facts["imports"] if n is None])

    def _describe_missing(self, imports: list[str]) -> list[str]:
        """Imports that are not read, where somebody said where imports are; `stats` lists them for
        all others, which are many."""
        files = self._files
        if not files.imports and not files.missing:
            return []
        found = [
            f"the import <{iri}> is not read: {files.missing[iri]}"
            for iri in imports
            if iri in files.missing
        ]
        if unknown := [iri for iri in imports if iri not in files.missing]:
            shown = ", ".join(f"<{iri}>" for iri in unknown[:SHOWN_IMPORTS])
            more = f" and {len(unknown) - SHOWN_IMPORTS:,} more" * (len(unknown) > SHOWN_IMPORTS)
            found.append(f"imports without a file, which are not fetched: {shown}{more}")
        return found

    def settle(self, wait_s: float) -> bool:
        """Wait until nothing is written to the cache any more; whether it has the file."""
        return (self._building is None or self._building.wait(wait_s)) and self.entry is not None

    def close(self, wait_s: float = 0.0) -> None:
        """Give what is being written so much time, then end it."""
        if self._building is not None:
            self._building.stop(wait_s)
        spare, self._spare = self._spare, None
        if spare is not None:
            spare.kill()

    # -- building

    def _build_beside(self) -> None:
        """Write the cache while the file is answered from memory, unless that was tried before."""
        if self._tried:
            return None
        self._tried = True
        try:
            folder = self._cache.begin()
        except OSError as exc:
            return self._without_cache(exc)
        order = self._order("build", folder, idle=True, most_bytes=self._most_bytes)
        order["hashes"] = self._hashes
        self._building = CacheWriter(self._cache, folder, order, self._key, self._built_beside)
        return None

    def _built_beside(self, entry: CacheEntry | None, why: str) -> None:
        if entry is not None:
            self.entry = entry
            if self._meta is not None:
                entry.write_meta(self._meta)
        elif why:
            self._without_cache(why)

    def _build_first(self) -> None:
        """Parse the file into the cache; where that cannot be, leave it to memory."""
        self._tried = True
        try:
            building = self._cache.begin()
        except OSError as exc:
            return self._without_cache(exc)
        try:
            worker, answer = self._begin(self._order("build", building, idle=False))
            worker.kill()
            if answer["op"] != "built":
                return self._without_cache(answer.get("message", answer["op"]))
            self._check_content(answer["facts"])
            self.entry = self._cache.keep(building, self._key, answer["facts"])
        except Gone as exc:
            raise self._load_error(exc) from exc
        except OSError as exc:
            return self._without_cache(exc)
        finally:
            self._cache.discard(building)
        return None

    # -- workers

    def _order(self, mode: str, folder: Path | None = None, **more: Any) -> dict[str, Any]:
        files, limits = self._files, self._limits
        order = {"mode": mode, "meta": False, "most_triples": 0, "most_bytes": 0}
        order |= {"memory_mb": limits.memory_mb, "timeout_s": limits.load_timeout_s}
        order["files"] = [
            {
                "path": str(file.path.absolute()),
                "format": file.format,
                "gzipped": file.gzipped,
                "optional": file.optional,
                "convert": OWL_SYNTAXES.get(file.format, ""),
            }
            for file in files.files
        ]
        order |= {"named": files.named, "imports": dict(files.imports)}
        order["folder"] = str(folder.absolute()) if folder else ""
        return order | more

    def _begin(self, order: dict[str, Any]) -> tuple[Worker, dict[str, Any]]:
        """A new worker and how its first task went; it runs on only where that went well."""
        spare, self._spare = self._spare, None
        worker = spare if spare is not None and spare.alive() else self._new_worker()
        try:
            worker.send(order)
            answer = worker.receive(time.monotonic() + self._limits.load_timeout_s)
        except BaseException:
            worker.kill()
            raise
        if answer["op"] != "ready":
            worker.kill()
        if answer["op"] == "notrdf":
            path = str(self._files.files[answer["file"]].path)
            raise NotRDF(str(answer["message"]), path=path, line=answer["line"])
        return worker, answer

    def _new_worker(self) -> Worker:
        return Worker(frame_bytes=self._limits.answer_bytes + (1 << 20))

    def _without_cache(self, why: object) -> None:
        what = f"the cache {self._cache.folder} cannot be used ({str(why)[:200]})"
        note = f"{what}: the file is loaded into memory"
        if note not in self.notes:
            self.notes.append(note)

    def _check_content(self, facts: dict[str, Any]) -> None:
        if not is_same_content(facts, self._hashes):
            raise OntologyError(f"{self.source} has changed since it was opened: open it again")

    def _load_error(self, gone: Gone) -> OntologyError:
        took = f"loading {self.source} took more than"
        if gone.late:
            allowed = f"{self._limits.load_timeout_s:g} s"
            return QueryTimeout(f"{took} {allowed}: raise load_timeout_s")
        if gone.memory:
            allowed = f"{self._limits.memory_mb:,} MB of memory"
            return OntologyError(f"{took} {allowed}: raise RLM_ONTOLOGY_MEMORY_MB")
        what = f"the parser did not survive {self.source} ({gone.how})"
        return OntologyError(f"{what}: it may be nested too deep")


def _require_library(files: SourceFiles) -> None:
    """OntologyError with the line that installs it, where a file needs what is missing."""
    for file in files.files[: files.named]:
        if file.format in OWL_SYNTAXES and package_folder("pyhornedowl") is None:
            what = f"{file.path} is {TITLES[file.format]}, which needs an optional library"
            raise OntologyError(f"{what}: {INSTALL_OWL}")
