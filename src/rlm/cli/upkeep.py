"""`rlm backup` and `rlm doctor`: keeping a store, and knowing that it is sound.

The doctor first reads the file without the right to write. Only when its pages are sound is it
opened as usual, which the comparison of the full-text index with the rows needs. A damaged file is
therefore left byte for byte. Without `fix` only vectors are brought up to date.
"""

from __future__ import annotations

import importlib.util
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from rlm import config
from rlm.cli.output import progress
from rlm.cli.session import Session, folder_hint, lacks_folder
from rlm.errors import ModelError, StoreCorrupt, StoreError, StoreLocked, ValidationError
from rlm.service.hosts.status import host_status, queue_status, status_lines
from rlm.service.review import proposals
from rlm.store.backend import MemoryBackend
from rlm.store.open import RECOVER, check_engine, check_file, sqlite_version
from rlm.store.types import Check

CORRECT = "correct that place in a text editor, or restore a backup"
COUNTED = ("memories", "archived", "quarantined", "nodes", "hyperedges", "runs", "packs")
PARTS = (
    ("wordllama", "search by meaning", 'pip install "wordllama>=0.4.0"'),
    ("cryptography", "signed packs", 'pip install "cryptography>=44"'),
    ("httpx", "an embedding endpoint", 'pip install "httpx>=0.27"'),
)


@click.argument("path")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def backup(session: Session, path: str, force: bool) -> None:
    """Copy the whole store to PATH, also while others write."""
    target = Path(path).expanduser()
    if target.is_dir():
        raise ValidationError(f"{target} is a folder: name a file in it")
    if target.exists() and not force:
        raise ValidationError(f"{target} is there already: name another file, or add --force")
    session.require_folder(target, path)
    with session.reading() as store:
        copy = store.backup(target)
    session.show({"path": str(copy), "bytes": copy.stat().st_size}, str(copy))


@click.option("--fix", is_flag=True, help="Rebuild indexes, triggers and vectors.")
def doctor(session: Session, fix: bool) -> int:
    """Check the engine, the file, its rows and its indexes.

    The exit code is 1 when something is wrong. A store that does not exist yet is not a fault.
    """
    report = examine(session, fix=fix)
    session.show(report, *_lines(report))
    return 0 if report["ok"] else 1


def _lines(report: dict[str, Any]) -> list[str]:
    db, config_file = report["db"], report["config"]
    size = (
        f"{db['bytes']:,} bytes, WAL {db['wal_bytes']:,}" if db["bytes"] is not None else "server"
    )
    size = size if db["exists"] else "not there yet"
    tenant = " / ".join(report["tenant"].values())
    lines = [
        f"store    {db['path']} ({size}{', read-only' if db['read_only'] else ''})",
        f"config   {config_file['path']} ({'read' if config_file['exists'] else 'not there'})",
        f"tenant   {tenant}",
        f"engine   {', '.join(f'{name} {value}' for name, value in report['engine'].items())}",
        f"packs    {', '.join(report['packs']) or 'none shipped'}",
    ]
    if report["counts"]:
        counts = (f"{value:,} {name}" for name, value in report["counts"].items())
        lines.append(f"holds    {', '.join(counts)}")
    lines += status_lines(report["hosts"], report["queue"])
    lines += _review_lines(report["review"])
    lines += [f"fixed    {what}" for what in report["fixed"]]
    for check in report["checks"]:
        mark = "ok" if check["ok"] else "FAILED"
        hint = f"; {check['fix']}" if check["fix"] else ""
        lines.append(f"{mark:<8} {check['name']}: {check['detail']}{hint}")
    for part in report["missing"]:
        lines.append(f"missing  {part['name']} ({part['for']}): {part['pip']}")
    return lines


def _review_lines(waiting: dict[str, int]) -> list[str]:
    """What waits for a person."""
    if not any(waiting.values()):
        return []
    counts = f"{waiting['quarantined']:,} in quarantine, {waiting['proposed']:,} proposed"
    return [f"review   {counts}: `rlm memory review`"]


def examine(session: Session, *, fix: bool) -> dict[str, Any]:
    """The report. Raises only for bad settings and for a store that another process locks."""
    config_file = config.config_path()
    exists = session.path is None or session.path.exists()
    report: dict[str, Any] = {
        "ok": True,
        "db": _file(session, exists),
        "config": {"path": str(config_file), "exists": config_file.is_file()},
        "tenant": asdict(session.tenant),
        "engine": {"store": session.kind, "sqlite": sqlite_version()},
        "counts": {},
        "hosts": host_status(session.settings, Path.cwd()),
        "queue": {},
        "review": {},
        "packs": _shipped_packs(),
        "fixed": [],
        "checks": [check_engine()],
        "missing": [
            {"name": name, "for": use, "pip": line}
            for name, use, line in PARTS
            if importlib.util.find_spec(name) is None
        ],
    }
    if session.mirror is not None:
        from rlm.store.mirror import check_mirror

        report["checks"].append(check_mirror(session.mirror))
    if exists:
        report["checks"] += _examine_file(session, report, fix=fix)
    else:
        report["checks"].append(_no_file(session))
    report["ok"] = all(check.ok for check in report["checks"])
    report["checks"] = [asdict(check) for check in report["checks"]]
    return report


def _no_file(session: Session) -> Check:
    """A new machine has no store, which is not a fault; a misspelt folder is."""
    assert session.path is not None
    folder = session.path.parent
    if lacks_folder(session.path):
        return Check("file", False, f"there is no folder {folder}", folder_hint(folder))
    return Check("file", True, "nothing is stored yet: `rlm memory add` makes the store")


def _file(session: Session, exists: bool) -> dict[str, Any]:
    path = session.path
    if path is None:
        return {"path": session.place, "exists": True, "bytes": None, "wal_bytes": None,
                "read_only": False}  # fmt: skip
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


def _examine_file(session: Session, report: dict[str, Any], *, fix: bool) -> list[Check]:
    if session.path is not None and session.path.is_dir():
        return [Check("file", False, f"{session.path} is a folder", "name a file with --db")]
    try:
        damage = check_file(session.settings.memory_db)
        if damage is not None:
            return [damage]
        with session.reading() as store:
            stuck = []
            report["db"]["read_only"] = store.read_only
            if fix and store.read_only:
                detail = (
                    f"nothing could be mended: {session.place} cannot be written, or its folder"
                )
                stuck = [Check("fix", False, detail, "change their permissions, or mend a copy")]
            elif fix:
                with progress("mending"):
                    report["fixed"] += store.repair()
            stats = store.stats()
            report["engine"] |= stats["engine"]
            report["counts"] = {name: stats[name] for name in COUNTED if name in stats}
            report["queue"] = queue_status(store)
            model = _model(store)  # an endpoint says now how long its vectors are
            checks = store.check()
            if all(check.ok for check in checks):  # a damaged row would stop it
                found = {"quarantined": stats["quarantined"], "proposed": len(proposals(store))}
                report["review"] = found
            return [*stuck, *checks, model]
    except StoreCorrupt as exc:
        return [Check("file", False, str(exc), RECOVER if session.kind == "sqlite" else CORRECT)]
    except StoreLocked:
        raise
    except StoreError as exc:
        return [Check("file" if session.path is not None else "server", False, str(exc))]


def _model(store: MemoryBackend) -> Check:
    if store.embedder is None:
        return Check("model", True, "off: search goes by words only")
    try:
        store.embedder.embed(["ready"])
    except ModelError as exc:
        return Check("model", False, str(exc))
    return Check("model", True, f"{store.embedder.model} answers")
