"""What `rlm doctor` looks at, as one report. Nothing is made, and nothing is changed without `fix`, but that
opening a small store brings its vectors up to date, whoever opens it.

The file is first read without the right to write. Only when its pages are sound is it opened as usual, which
the comparison of the full-text index with the rows needs. A damaged file is therefore left byte for byte.
"""

from __future__ import annotations

import importlib.util
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import apsw

from rlm import config
from rlm.cli.output import progress
from rlm.cli.session import Session
from rlm.errors import EngineUnfit, ModelError, RLMError, StoreCorrupt, StoreError, StoreLocked
from rlm.store.sqlite import connection, integrity
from rlm.store.sqlite.backend import SQLiteMemoryBackend
from rlm.store.sqlite.integrity import Check
from rlm.store.sqlite.reembed import stale_count

if TYPE_CHECKING:
    from rlm.cli.session import Store

RECOVER = "restore a backup, or read what can be read with the `.recover` command of sqlite3"
CORRECT = "correct that place in a text editor, or restore a backup"
COUNTED = ("memories", "archived", "quarantined", "nodes", "hyperedges", "runs", "packs")
PARTS = (
    ("wordllama", "search by meaning", 'pip install "wordllama>=0.4.0"'),
    ("cryptography", "signed packs", 'pip install "cryptography>=44"'),
    ("httpx", "an embedding endpoint", 'pip install "httpx>=0.27"'),
)


def examine(session: Session, *, fix: bool) -> dict[str, Any]:
    """The report. Raises only for settings that cannot be used and for a store that somebody else locks."""
    config_file = config.config_path()
    exists = session.path.exists()
    report: dict[str, Any] = {
        "ok": True,
        "db": _file(session.path, exists),
        "config": {"path": str(config_file), "exists": config_file.is_file()},
        "tenant": asdict(session.tenant),
        "engine": {"store": session.kind, "sqlite": apsw.sqlite_lib_version()},
        "counts": {},
        "packs": _shipped(),
        "fixed": [],
        "checks": [_engine()],
        "missing": [{"name": name, "for": use, "pip": line} for name, use, line in PARTS if not _installed(name)],
    }
    if exists:
        report["checks"] += _examine_file(session, report, fix=fix)
    else:
        named = session.db is not None
        detail = "there is none yet: `rlm memory add` makes it"
        report["checks"].append(Check("file", not named, detail, "check --db" if named else None))
    report["ok"] = all(check.ok for check in report["checks"])
    report["checks"] = [asdict(check) for check in report["checks"]]
    return report


def _file(path: Path, exists: bool) -> dict[str, Any]:
    wal = Path(f"{path}-wal")
    return {
        "path": str(path),
        "exists": exists,
        "bytes": path.stat().st_size if exists else 0,
        "wal_bytes": wal.stat().st_size if wal.exists() else 0,
        "read_only": False,
    }


def _shipped() -> dict[str, str]:
    from rlm.packs import shipped_packs

    return {name: str(path) for name, path in shipped_packs().items()}


def _installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _engine() -> Check:
    version = apsw.sqlite_lib_version()
    try:
        connection.check_engine()
    except EngineUnfit as exc:
        return Check("sqlite", False, str(exc), 'pip install --upgrade "apsw>=3.53"')
    return Check("sqlite", True, f"{version}, without the WAL-reset bug")


def _examine_file(session: Session, report: dict[str, Any], *, fix: bool) -> list[Check]:
    if session.path.is_dir():
        return [Check("file", False, f"{session.path} is a folder", "name a file with --db")]
    try:
        if session.kind == "sqlite" and (damage := _damage(session.path)) is not None:
            return [damage]
        with session.reading() as store:
            report["db"]["read_only"] = isinstance(store, SQLiteMemoryBackend) and store.db.read_only
            if fix and isinstance(store, SQLiteMemoryBackend):
                report["fixed"] = _repair(store)
            stats = store.stats()
            report["engine"] |= stats["engine"]
            report["counts"] = {name: stats[name] for name in COUNTED if name in stats}
            return [*_checks(store), _model(store)]
    except StoreCorrupt as exc:
        return [Check("file", False, str(exc), RECOVER if session.kind == "sqlite" else CORRECT)]
    except StoreLocked:
        raise
    except StoreError as exc:
        return [Check("file", False, str(exc))]


def _damage(path: Path) -> Check | None:
    """Read every page without the right to write; what is wrong, if anything is."""
    with connection.mapped(path), closing(_open_untouched(path)) as file:
        found = [str(row[0]) for row in file.execute("PRAGMA quick_check(3)")]
    if found == ["ok"]:
        return None
    return Check("file", False, f"{path} is damaged and was left as it is: {'; '.join(found)}", RECOVER)


def _open_untouched(path: Path) -> apsw.Connection:
    """A reader that leaves no file behind. With nobody else at the file, SQLite need not share it."""
    shared = any(Path(f"{path}{end}").exists() for end in ("-wal", "-shm"))
    name = f"file:{quote(str(path.resolve()))}?{'mode=ro' if shared else 'immutable=1'}"
    return apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def _checks(store: Store) -> list[Check]:
    if not isinstance(store, SQLiteMemoryBackend):
        return [Check("file", True, "ok: every row was read and checked")]
    checks = integrity.check_all(store.db, fts5=store.fts5)
    model = store.embedder.model if store.embedder else None
    if model is not None:
        stale = stale_count(store.db, model)
        detail = f"{stale:,} rows have none of {model}" if stale else f"ok: all of {model}"
        checks.append(Check("vectors", not stale, detail, "rlm doctor --fix" if stale else None))
    return checks


def _model(store: Store) -> Check:
    if store.embedder is None:
        return Check("model", True, "off: search goes by words only")
    try:
        store.embedder.embed(["ready"])
    except ModelError as exc:
        return Check("model", False, str(exc))
    return Check("model", True, f"{store.embedder.model} answers")


def _repair(store: SQLiteMemoryBackend) -> list[str]:
    """Mend what the checks find fault with; what was done."""
    done = []
    indexes = [store.search.recall, store.graph.recall]
    broken = [check for check in integrity.check_all(store.db, fts5=store.fts5) if not check.ok]
    if any("index" in check.name for check in broken):
        with progress("rebuilding the indexes"):
            integrity.repair(indexes)
        done.append("rebuilt the full-text and recall indexes")
    if store.embedder is not None and stale_count(store.db, store.embedder.model):
        with progress("embedding"):
            try:
                done.append(f"gave {store.reembed():,} rows a vector of {store.embedder.model}")
            except RLMError as exc:
                done.append(f"nothing: {exc}")
    return done
