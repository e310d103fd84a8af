"""Parsed ontologies on disk, so that the second opening parses nothing.

An entry is a folder `ontologies/KEY`: the engine's own files in `store/`, what is known of them in
`entry.json`, and what was gathered from them in `meta.json`. The key is a hash of the contents of
all files, their formats and CACHE_VERSION, so an entry never goes stale: a changed file is another
entry. Nothing in an entry changes once it is there, but for `meta.json`, which is replaced as a
whole, and the time of `entry.json`, which says when it was last used.

An entry is built in a folder beside and renamed into place. Of two processes that build the same
one the first wins and the other throws its own away. Everything here may be deleted at any time: it
is built again. `CacheWriter` builds one in a worker while another worker answers from memory;
whatever goes wrong there costs the entry and nothing else.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import orjson

from rlm._version import __version__
from rlm.ontology.engine.worker import Gone, Worker

CACHE_VERSION = 21
"""Raise it when what is stored, or how a file is read, changes."""
MAX_BYTES = 8 << 30
STALE_S = 24 * 3600.0
"""A building folder that is older was left by a process that died."""
_BUILDING, _DROPPED = ".building-", ".dropped-"
FRAME_BYTES = 1 << 20
DELAY_S = 1.0
"""The cache gives way to the first questions, unless somebody waits for it."""


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """One parsed ontology."""

    folder: Path
    facts: dict[str, Any]

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def whole(self) -> bool:
        """Whether the store's files are those that were built; reads all of them."""
        return self.facts.get("digest") == _digest(self.store)

    def read_meta(self) -> dict[str, Any] | None:
        """What `write_meta` kept; None when there is none, or another version of rlm wrote it."""
        kept = _read_json(self.folder / "meta.json")
        meta = None if kept is None or kept.get("rlm") != __version__ else kept.get("meta")
        return meta if isinstance(meta, dict) else None

    def write_meta(self, meta: dict[str, Any]) -> bool:
        """False where nothing can be written."""
        data = orjson.dumps({"rlm": __version__, "meta": meta})
        return _write_whole(self.folder / "meta.json", data)

    def read_dump(self) -> str | None:
        """What `write_dump` kept: 0.1 s for 394,000 statements, which the store takes 1.7 to read
        one by one."""
        try:
            return zlib.decompress((self.folder / "dump.z").read_bytes()).decode("utf-8")
        except (OSError, zlib.error, UnicodeDecodeError):
            return None

    def write_dump(self, text: str) -> bool:
        """False where nothing can be written."""
        return _write_whole(self.folder / "dump.z", zlib.compress(text.encode("utf-8"), 1))


class Cache:
    """The entries under one folder. Reading never raises; `begin` and `keep` raise OSError."""

    def __init__(self, folder: Path, *, max_bytes: int = MAX_BYTES) -> None:
        self.folder = folder / "ontologies"
        self.max_bytes = max_bytes

    @staticmethod
    def key(content_hash: str, formats: str) -> str:
        return sha256(f"{CACHE_VERSION} {formats} {content_hash}".encode()).hexdigest()[:40]

    def find(self, key: str) -> CacheEntry | None:
        """The entry, marked as used now; None when there is none, or none that is whole."""
        folder = self.folder / key
        facts = _read_json(folder / "entry.json")
        if facts is None or facts.get("key") != key or not (folder / "store" / "CURRENT").is_file():
            return None
        with contextlib.suppress(OSError):
            os.utime(folder / "entry.json")
        return CacheEntry(folder, facts)

    def begin(self) -> Path:
        """A folder to build in; it belongs to the caller until `keep` or `discard`."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._sweep()
        return Path(tempfile.mkdtemp(prefix=f"{_BUILDING}{os.getpid()}-", dir=self.folder))

    def keep(self, building: Path, key: str, facts: dict[str, Any]) -> CacheEntry:
        """Put what was built into its place, or take what another process put there first."""
        facts = {**facts, "key": key, "bytes": _size(building)}
        facts["digest"] = _digest(building / "store")
        (building / "entry.json").write_text(json.dumps(facts), "utf-8")
        place = self.folder / key
        for _ in range(3):
            try:
                building.rename(place)
                break
            except OSError:
                if not place.exists():
                    raise
            if (found := self.find(key)) is not None:
                self.discard(building)
                return found
            self.drop(key)
        self.evict(keep=key)
        return CacheEntry(place, facts)

    def drop(self, key: str) -> None:
        """Remove an entry. Who has it open keeps it, or builds it again."""
        gone = self.folder / f"{_DROPPED}{os.getpid()}-{time.monotonic_ns()}"
        with contextlib.suppress(OSError):
            (self.folder / key).rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    def discard(self, building: Path) -> None:
        shutil.rmtree(building, ignore_errors=True)

    def evict(self, *, keep: str | None = None) -> list[str]:
        """Remove the entries not used for longest until the rest fits; their keys."""
        found: list[tuple[float, str, int]] = []
        for folder in self.folder.glob("[!.]*/"):
            facts = _read_json(folder / "entry.json") or {}
            with contextlib.suppress(OSError):
                used = (folder / "entry.json").stat().st_mtime if facts else 0.0
                size = int(facts["bytes"]) if "bytes" in facts else _size(folder)
                found.append((used, folder.name, size))
        over = sum(size for _, _, size in found) - self.max_bytes
        gone = []
        for _, key, size in sorted(found):
            if over > 0 and key != keep:
                self.drop(key)
                gone.append(key)
                over -= size
        return gone

    def _sweep(self) -> None:
        for path in self.folder.iterdir():
            if path.name.startswith((_BUILDING, _DROPPED)):
                with contextlib.suppress(OSError):
                    if time.time() - path.stat().st_mtime > STALE_S:
                        shutil.rmtree(path, ignore_errors=True)


def hash_file(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb", buffering=0) as file:
        return file_digest(file, "sha256").hexdigest()


def is_same_content(facts: dict[str, Any], hashes: Sequence[str]) -> bool:
    """Whether a worker read what was hashed; '' and None are files that it left out."""
    pairs = zip(facts["hashes"], hashes, strict=True)
    return all(not found or found == expected for found, expected in pairs)


def _digest(store: Path) -> str:
    """A hash over the names and contents of a store's tables; '' when one cannot be read."""
    found = sha256()
    try:
        for path in sorted(store.glob("*.sst")):
            found.update(f"{path.name} {hash_file(path)}\n".encode())
    except OSError:
        return ""
    return found.hexdigest()


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        found = orjson.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _write_whole(path: Path, data: bytes) -> bool:
    """Whole or not at all, whoever else writes it."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError:
        return False
    return True


class CacheWriter:
    """One build. `ended` is called once, in the thread: with the entry, or None and the reason."""

    def __init__(
        self,
        cache: Cache,
        building: Path,
        order: dict[str, Any],
        key: str,
        ended: Callable[[CacheEntry | None, str], None],
    ) -> None:
        """Takes over the folder `building`, which is removed when it was not kept."""
        self._cache, self._building, self._order = cache, building, order
        self._key, self._ended = key, ended
        self._worker: Worker | None = None
        self._stopped, self._wanted = False, threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"rlm-cache-{key[:8]}", daemon=True)
        atexit.register(self.stop)
        self._thread.start()

    def wait(self, wait_s: float) -> bool:
        """Whether it has ended, after at most so long."""
        self._wanted.set()
        self._thread.join(wait_s)
        return not self._thread.is_alive()

    def stop(self, wait_s: float = 0.0) -> None:
        """Let it end within `wait_s`, else end it: no process and no half an entry is left."""
        if threading.current_thread() is self._thread:
            return
        self._stopped = wait_s <= 0
        if self.wait(wait_s):
            return
        self._stopped = True
        if self._worker is not None:
            self._worker.interrupt()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._build()
        finally:
            self._cache.discard(self._building)
            atexit.unregister(self.stop)

    def _build(self) -> None:
        entry, why = None, ""
        try:
            self._wanted.wait(DELAY_S)
            if self._stopped:
                return
            worker = self._start_worker()
            try:
                answer = worker.receive(time.monotonic() + float(self._order["timeout_s"]))
            finally:
                worker.kill()
            if answer["op"] != "built":
                why = str(answer.get("message", answer["op"]))
            elif not self._stopped and is_same_content(answer["facts"], self._order["hashes"]):
                entry = self._cache.keep(self._building, self._key, answer["facts"])
        except (Gone, OSError) as exc:
            why = "" if self._stopped else str(exc)
        finally:
            self._ended(entry, why)

    def _start_worker(self) -> Worker:
        self._worker = Worker(self._order, frame_bytes=FRAME_BYTES)
        if self._stopped:  # it may have been said before there was anybody to end
            self._worker.interrupt()
        return self._worker
