"""`open_store`: from a path or URL to a backend that is bound to one tenant."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rlm import config
from rlm.errors import ConfigError
from rlm.hook_settings import is_url
from rlm.retrieval.embed import Embedder, pick_embedder
from rlm.store.types import LOCAL, Check, Tenant

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend
    from rlm.store.postgres.backend import PostgresMemoryBackend
    from rlm.store.postgres.migrations import Initialised
    from rlm.store.qdrant.client import Qdrant
    from rlm.store.sql.backend import SQLMemoryBackend

Made = TypeVar("Made", bound="SQLMemoryBackend")
RECOVER = "restore a backup, or read what can be read with the `.recover` command of sqlite3"
KINDS = "a path (SQLite), sqlite:PATH, json:PATH, postgresql://USER@HOST/DATABASE"
SQLITE = b"SQLite format 3"
SERVER_SCHEMES = ("postgres", "postgresql", "qdrant")
INSTALL_POSTGRES = "pip install 'psycopg[binary]>=3.3' 'psycopg-pool>=3.3'"


def show_store(path_or_url: str) -> str:
    """How a store is named in messages: a URL, also one that is mistyped, without its password."""
    scheme, colon, rest = path_or_url.partition("://")
    if not colon:
        scheme, colon, rest = path_or_url.partition(":")
        if scheme not in SERVER_SCHEMES:
            return path_or_url
    who, at, where = rest.rpartition("@")
    if "?" in who:  # this may be in a password, or before one
        return f"{scheme}{colon}…"
    where = where.partition("?")[0]  # among the parameters may be a password
    return f"{scheme}{colon}{who.partition(':')[0]}{at}{where}"


def locate_store(path_or_url: str) -> tuple[str, Path | None]:
    """The kind of a store and its file, None where a server keeps it. ConfigError for a URL that
    this version cannot open, and for a plain path that ends in .json and is no SQLite file: who
    names it so means a JSON file."""
    if is_url(path_or_url):
        return "postgresql", None
    scheme, _, rest = path_or_url.partition(":")
    if scheme in ("json", "sqlite") and rest and not rest.startswith("//"):
        return scheme, Path(rest).expanduser()
    if "://" in path_or_url or (scheme in SERVER_SCHEMES and rest):
        known = f"this version knows {KINDS}"
        raise ConfigError(f"cannot open {show_store(path_or_url)!r}: {known}")
    path = Path(path_or_url).expanduser()
    if path.suffix.lower() == ".json" and not is_sqlite(path):
        raise ConfigError(
            f"a plain path is a SQLite file: for a store in a JSON file write json:{path_or_url}"
        )
    return "sqlite", path


def is_sqlite(path: Path) -> bool:
    """Whether a SQLite file is there."""
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError:
        return False


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
    `embedder` is an object, or a kind as in the settings: `static`, `minilm`, `endpoint`, `none`.
    """
    named = embedder if isinstance(embedder, str) else None
    settings = config.load(embedder=named, lock_timeout_s=lock_timeout_s)
    name = str(path_or_url if path_or_url is not None else settings.memory_db)
    beside = _index_client(settings) if settings.index else None
    kind, path = locate_store(name)
    model_is_given = embedder is not None and not isinstance(embedder, str)
    options: dict[str, Any] = {
        "tenant": tenant,
        "embedder": embedder if model_is_given else embedder_of(settings),
        "origin": origin,
        "lock_timeout_s": settings.lock_timeout_s,
        "read_only": read_only,
    }
    # Only the kind that is opened is imported: a command-line search has 300 ms in all.
    if path is None:
        server: PostgresMemoryBackend = import_postgres("backend").PostgresMemoryBackend(
            name, **options
        )
        return _put_beside(beside, server, settings)
    if kind == "json":
        if beside is not None:
            raise ConfigError("the index (RLM_INDEX) needs a store of SQLite or PostgreSQL")
        from rlm.store.jsonfile import MemoryStore

        return MemoryStore.open(path, **options)
    from rlm.store.sqlite.backend import SQLiteMemoryBackend

    store = SQLiteMemoryBackend(path, cache_dir=settings.cache_dir, **options)
    return _put_beside(beside, store, settings)


def _index_client(settings: config.Settings) -> Qdrant:
    """The index that the settings name; it is not asked yet. ConfigError where they are wrong."""
    from rlm.store.qdrant.client import Qdrant, parse_index
    from rlm.store.qdrant.names import check_layout

    check_layout(settings.index_layout)
    return Qdrant(parse_index(settings.index), key=settings.index_key)


def _put_beside(index: Qdrant | None, store: Made, settings: config.Settings) -> Made:
    """The store, with the index beside it that the settings name."""
    if index is not None:
        from rlm.store.qdrant.index import QdrantIndex

        layout, fallback = settings.index_layout, settings.index_fallback in ("1", "true", "yes")
        store.remote_index = QdrantIndex(
            index, store.db, store.spaces, store.embedder, layout=layout, fallback=fallback
        )
    return store


def init_store(url: str, *, app: str, owner: str) -> Initialised:
    """Make the roles and the tables of a store in a PostgreSQL database, or bring them up to date:
    `app` is the role that people then log in as, `owner` the one that has the tables."""
    if not is_url(url):
        raise ConfigError("a store is made in a database: postgresql://ADMIN@HOST/DATABASE")
    made: Initialised = import_postgres("migrations").init(url, app=app, owner=owner)
    return made


def import_postgres(module: str) -> Any:
    """A module of `store/postgres`. ConfigError where the driver is not installed."""
    try:
        return import_module(f"rlm.store.postgres.{module}")
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] not in ("psycopg", "psycopg_pool"):
            raise
        why = f"a postgresql URL needs the package {exc.name}"
        raise ConfigError(f"{why}: {INSTALL_POSTGRES}") from exc


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
    opened as usual. A JSON file, and a server's store, are checked when they are opened."""
    kind, path = locate_store(path_or_url)
    if kind != "sqlite" or path is None:
        return None
    from rlm.store.sqlite import integrity

    return integrity.check_file(path)


def embedder_of(settings: config.Settings) -> Embedder | None:
    where = {"url": settings.embed_url, "model": settings.embed_model}
    return pick_embedder(settings.embedder, **where, key=settings.embed_key)
