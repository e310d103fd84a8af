"""What `rlm doctor` looks at, as one report. Nothing is made, and nothing is changed without `fix`,
but that opening a small store brings its vectors up to date, whoever opens it.

The file is first read without the right to write. Only when its pages are sound is it opened as
usual, which the comparison of the full-text index with the rows needs. A damaged file is therefore
left byte for byte.
"""

from __future__ import annotations

import importlib.util
import shlex
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
from rlm.store.sqlite.schemacheck import mend

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
    """The report. Raises only for bad settings and for a store that somebody else locks."""
    config_file = config.config_path()
    exists = session.path.exists()
    report: dict[str, Any] = {
        "ok": True,
        "db": _file(session.path, exists),
        "config": {"path": str(config_file), "exists": config_file.is_file()},
        "tenant": asdict(session.tenant),
        "engine": {"store": session.kind, "sqlite": apsw.sqlite_lib_version()},
        "counts": {},
        "packs": _shipped_packs(),
        "fixed": [],
        "checks": [_engine()],
        "missing": [
            {"name": name, "for": use, "pip": line}
            for name, use, line in PARTS
            if not _is_installed(name)
        ],
    }
    if exists:
        report["checks"] += _examine_file(session, report, fix=fix)
    else:
        report["checks"].append(_no_file(session))
    report["ok"] = all(check.ok for check in report["checks"])
    report["checks"] = [asdict(check) for check in report["checks"]]
    return report


def _no_file(session: Session) -> Check:
    """A new machine has no store, which is no fault; a folder that --db misspells is one."""
    folder = session.path.parent
    if session.db is not None and not folder.is_dir():
        fix = f"mkdir -p {shlex.quote(str(folder))}, or check the spelling of --db"
        return Check("file", False, f"there is no folder {folder}", fix)
    return Check("file", True, "nothing is stored yet: `rlm memory add` makes the store")


def _file(path: Path, exists: bool) -> dict[str, Any]:
    wal = Path(f"{path}-wal")
    return {
        "path": str(path),
        "exists": exists,
        "bytes": path.stat().st_size if exists else 0,
        "wal_bytes": wal.stat().st_size if wal.exists() else 0,
        "read_only": False,
    }


def _shipped_packs() -> dict[str, str]:
    from rlm.packs import shipped_packs

    return {name: str(path) for name, path in shipped_packs().items()}


def _is_installed(name: str) -> bool:
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
        if fix and session.kind == "sqlite":
            report["fixed"] += _repair_schema(session)
        with session.reading() as store:
            stuck = []
            report["db"]["read_only"] = (
                isinstance(store, SQLiteMemoryBackend) and store.db.read_only
            )
            if fix and report["db"]["read_only"]:
                detail = f"nothing could be mended: {session.path} or its folder cannot be written"
                stuck = [Check("fix", False, detail, "change their permissions, or mend a copy")]
            elif fix and isinstance(store, SQLiteMemoryBackend):
                report["fixed"] += _repair(store)
            stats = store.stats()
            report["engine"] |= stats["engine"]
            report["counts"] = {name: stats[name] for name in COUNTED if name in stats}
            model = _model(store)  # an endpoint says now how long its vectors are
            return [*stuck, *_checks(store), model]
    except StoreCorrupt as exc:
        return [Check("file", False, str(exc), RECOVER if session.kind == "sqlite" else CORRECT)]
    except StoreLocked:
        raise
    except StoreError as exc:
        return [Check("file", False, str(exc))]


def _damage(path: Path) -> Check | None:
    """What is wrong where it is not safe to open the file as usual; every page is read."""
    with connection.mapped(path), closing(_open_untouched(path)) as file:
        found = [str(row[0]) for row in file.execute("PRAGMA quick_check(3)")]
        schema = integrity.check_untouched(file) if found == ["ok"] else None
    if found == ["ok"]:
        return schema[0] if schema is not None and not schema[1] else None
    return Check(
        "file", False, f"{path} is damaged and was left as it is: {'; '.join(found)}", RECOVER
    )


def _open_untouched(path: Path) -> apsw.Connection:
    """A reader that leaves no file behind; SQLite shares the file only where somebody uses it."""
    shared = any(Path(f"{path}{end}").exists() for end in ("-wal", "-shm"))
    name = f"file:{quote(str(path.resolve()))}?{'mode=ro' if shared else 'immutable=1'}"
    return apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def _checks(store: Store) -> list[Check]:
    if not isinstance(store, SQLiteMemoryBackend):
        return [Check("file", True, "ok: every row was read and checked")]
    checks = integrity.check_all(store.db, fts5=store.fts5, spaces=store.spaces.visible())
    if store.embedder is not None:
        model, stale = store.embedder.model, stale_count(store.db, store.embedder)
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


def _repair_schema(session: Session) -> list[str]:
    """Make anew what the schema lacks and can be made."""
    with session.reading() as store:
        if not isinstance(store, SQLiteMemoryBackend) or store.db.read_only:
            return []
        made = mend(store.db)
    return [f"made anew: {', '.join(made)}"] if made else []


def _repair(store: SQLiteMemoryBackend) -> list[str]:
    """Mend what the checks find fault with; what was done."""
    done = []
    indexes = [store.search.recall, store.graph.recall]
    broken = [check for check in integrity.check_all(store.db, fts5=store.fts5) if not check.ok]
    if any("index" in check.name for check in broken):
        with progress("rebuilding the indexes"):
            try:
                integrity.repair(indexes)
                done.append("rebuilt the full-text and recall indexes")
            except StoreCorrupt as exc:  # a row cannot be read: the checks say which
                done.append(f"not the indexes: {exc}")
    if store.embedder is not None and stale_count(store.db, store.embedder):
        with progress("embedding"):
            try:
                done.append(f"gave {store.reembed():,} rows a vector of {store.embedder.model}")
            except RLMError as exc:
                done.append(f"nothing: {exc}")
    return done
