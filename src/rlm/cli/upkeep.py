"""`rlm backup` and `rlm doctor`: keeping a store, and knowing that it is sound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rlm.cli.session import Session
from rlm.errors import ValidationError


@click.argument("path")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
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
    from rlm.cli.examine import examine

    report = examine(session, fix=fix)
    session.show(report, *_lines(report))
    return 0 if report["ok"] else 1


def _lines(report: dict[str, Any]) -> list[str]:
    db, config_file = report["db"], report["config"]
    size = f"{db['bytes']:,} bytes, WAL {db['wal_bytes']:,}" if db["exists"] else "not there yet"
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
    lines += [f"fixed    {what}" for what in report["fixed"]]
    for check in report["checks"]:
        mark = "ok" if check["ok"] else "FAILED"
        hint = f"; {check['fix']}" if check["fix"] else ""
        lines.append(f"{mark:<8} {check['name']}: {check['detail']}{hint}")
    for part in report["missing"]:
        lines.append(f"missing  {part['name']} ({part['for']}): {part['pip']}")
    return lines
