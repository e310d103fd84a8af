"""`open_store`: from a path or URL to a backend that is bound to one tenant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rlm import config
from rlm.errors import ConfigError
from rlm.retrieval.embed import Embedder, pick_embedder
from rlm.store.types import LOCAL, Check, Tenant

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend

RECOVER = "restore a backup, or read what can be read with the `.recover` command of sqlite3"
KINDS = "a path (SQLite), sqlite:PATH, json:PATH"


def locate_store(path_or_url: str) -> tuple[str, Path]:
    """The kind of a store and its file. ConfigError for a URL that this version cannot open."""
    scheme, _, rest = path_or_url.partition(":")
    if scheme in ("json", "sqlite") and rest and not rest.startswith("//"):
        return scheme, Path(rest).expanduser()
    if "://" in path_or_url or (scheme in ("postgres", "postgresql", "qdrant") and rest):
        known = f"this version knows {KINDS}"
        raise ConfigError(f"cannot open {path_or_url.split('@')[-1]!r}: {known}")
    return "sqlite", Path(path_or_url).expanduser()


def open_store(
    path_or_url: str | Path | None = None,
    *,
    tenant: Tenant = LOCAL,
    embedder: Embedder | str | None = None,
    origin: str = "python",
    lock_timeout_s: float | None = None,
    read_only: bool = False,
) -> MemoryBackend:
    """A store for one tenant. A plain path is SQLite; `json:PATH` is the JSON `MemoryStore`.

    Without a path it is `RLM_MEMORY_DB`, then the config file's, then `~/.claude/rlm-memory.db`.
    `embedder` is an object, or a kind as in the settings: `static`, `endpoint` or `none`.
    """
    named = embedder if isinstance(embedder, str) else None
    settings = config.load(embedder=named, lock_timeout_s=lock_timeout_s)
    model = _embedder(settings) if embedder is None or isinstance(embedder, str) else embedder
    name = str(path_or_url if path_or_url is not None else settings.memory_db)
    kind, path = locate_store(name)
    # Only the kind that is opened is imported: a command-line search has 300 ms in all.
    if kind == "json":
        from rlm.store.jsonfile import MemoryStore

        return MemoryStore.open(
            path,
            tenant=tenant,
            embedder=model,
            origin=origin,
            read_only=read_only,
            lock_timeout_s=settings.lock_timeout_s,
        )
    from rlm.store.sqlite.backend import SQLiteMemoryBackend

    return SQLiteMemoryBackend(
        path,
        tenant=tenant,
        embedder=model,
        origin=origin,
        lock_timeout_s=settings.lock_timeout_s,
        read_only=read_only,
        cache_dir=settings.cache_dir,
    )


def sqlite_version() -> str:
    """The version of the SQLite library."""
    from rlm.store.sqlite.connection import sqlite_version as version

    return version()


def check_engine() -> Check:
    """Is the SQLite library fit to keep a store?"""
    from rlm.store.sqlite import integrity

    return integrity.check_engine()


def check_file(path_or_url: str) -> Check | None:
    """What is wrong with a store's file, read without the right to write; None where it can be
    opened as usual. A JSON file is checked when it is opened."""
    kind, path = locate_store(path_or_url)
    if kind == "json":
        return None
    from rlm.store.sqlite import integrity

    return integrity.check_file(path)


def _embedder(settings: config.Settings) -> Embedder | None:
    where = {"url": settings.embed_url, "model": settings.embed_model}
    return pick_embedder(settings.embedder, **where, key=settings.embed_key)
