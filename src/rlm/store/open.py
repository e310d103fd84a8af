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
    kind = embedder if isinstance(embedder, str) else None
    settings = config.load(embedder=kind, lock_timeout_s=lock_timeout_s)
    model = _embedder(settings) if embedder is None or isinstance(embedder, str) else embedder
    name = str(path_or_url if path_or_url is not None else settings.memory_db)
    scheme, _, rest = name.partition(":")
    # Only the kind that is opened is imported: a command-line search has 300 ms in all.
    if scheme == "json" and rest:
        from rlm.store.jsonfile import MemoryStore

        path = Path(rest).expanduser()
        return MemoryStore.open(
            path, tenant=tenant, embedder=model, origin=origin, read_only=read_only
        )
    if "://" in name or (scheme in ("postgres", "postgresql", "qdrant") and rest):
        raise ConfigError(f"cannot open {name.split('@')[-1]!r}: this version knows {KINDS}")
    from rlm.store.sqlite.backend import SQLiteMemoryBackend

    path = Path(rest if scheme == "sqlite" and rest else name)
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
    """What is wrong with a SQLite file, read without writing; None where it can be opened."""
    scheme, _, rest = path_or_url.partition(":")
    if scheme == "json" and rest:
        return None
    from rlm.store.sqlite import integrity

    path = rest if scheme == "sqlite" and rest else path_or_url
    return integrity.check_file(Path(path).expanduser())


def _embedder(settings: config.Settings) -> Embedder | None:
    where = {"url": settings.embed_url, "model": settings.embed_model}
    return pick_embedder(settings.embedder, **where, key=settings.embed_key)
