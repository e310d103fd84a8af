"""`rlm setup`: our server and hooks in the settings of a coding agent, and out of them again."""

from __future__ import annotations

import difflib
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import click

from rlm import config
from rlm.cli.command import words
from rlm.cli.mcp import INSTALL
from rlm.cli.session import Session
from rlm.errors import ConfigError, StoreError, ValidationError
from rlm.hook_settings import HOOK_SETTINGS
from rlm.service.hosts.check import check_host
from rlm.service.hosts.entries import HOSTS, SCOPES, project_root
from rlm.service.hosts.install import FileChange, apply, plan

BESIDE = {
    "claude": "Claude Code's own memory (CLAUDE.md, MEMORY.md) stays as it is: it holds what you"
    " and Claude write there; rlm adds at most 600 characters to a message and the tools memory_*.",
    "codex": "Now start Codex, run /hooks and trust the four hooks: until then it skips them"
    " without a word. Its own memories (off by default) and AGENTS.md stay as they are. Codex gives"
    " servers a second before its first request: mcp_optional_startup_grace_ms = 5000 in its"
    " config.toml makes that five.",
    "cursor": "Cursor's rules stay as they are. The tools memory_* always work; whether a hook's"
    " text reaches the model depends on its version.",
}
LACKING = f"The hooks work; the server will not start before its extra is installed: {INSTALL}."
OFF = "To be without it: RLM_DISABLED=1 for a session, a file .rlm-off for a project."
SHARED = "These files hold the path of Python on this machine: do not commit them for others."

NOT_KEPT = {"db": "memory_db", "project": "project", "team": "team", "org": "org"}
"""The options that would hold for this command alone, and the settings that are kept."""


@click.argument("host", type=click.Choice(list(HOSTS)))
@words("--scope", SCOPES, "For all your projects, or for this one [user].", default="user")
@click.option("--dry-run", is_flag=True, help="Show what would change, as a diff.")
@click.option("--check", is_flag=True, help="Run what is installed and say what is wrong.")
@click.option("--remove", is_flag=True, help="Take it out: the files are as without us.")
def setup(session: Session, host: str, scope: str, dry_run: bool, check: bool, remove: bool) -> int:
    """Give a coding agent the memory: the MCP server and the hooks.

    Files are edited in place, with comments and order kept, and copied before. Which store and
    whose is a setting: --db, --project, --team and --org are refused here.
    """
    if check and (remove or dry_run):
        raise ValidationError("--check changes nothing: use it alone")
    _refuse_what_is_not_kept(session, host)
    folder = Path.cwd()
    if check:
        return _check(session, host, scope, folder)
    if not remove:
        _refuse_home(scope, folder)
    changes = plan(host, scope, folder, remove=remove)
    if not dry_run:
        apply(changes, remove=remove)
    if not (dry_run or remove) and session.mirror is not None:
        _make_mirror(session, session.mirror)
    _report(session, changes, host, scope, dry_run=dry_run, remove=remove)
    return 0


def _refuse_what_is_not_kept(session: Session, host: str) -> None:
    for option, setting in NOT_KEPT.items():
        if getattr(session, option) is not None:
            raise ConfigError(
                f"--{option} would not reach the hooks and the server of {host}, which read the"
                f" settings: set {setting} in {config.config_path()}, or export"
                f" {HOOK_SETTINGS[setting][1]} where {host} starts, and leave the option out"
            )


def _refuse_home(scope: str, folder: Path) -> None:
    """The settings of a project that lies in the home folder itself are those of the user."""
    if scope == "project" and project_root(folder) == Path.home().resolve():
        raise ConfigError(
            "--scope project is for one project, and this is your home folder, whose settings hold"
            " for all: go into the project's folder, or leave the option out to have it for all"
        )


def _make_mirror(session: Session, path: Path) -> None:
    """So that hooks have something to read where a server keeps the store. It may be down now."""
    from rlm.store.mirror import check_mirror

    try:
        with session.reading() as store:
            session.refresh_mirror(store)
    except (StoreError, ConfigError) as exc:
        session.notify(f"the mirror for hooks was not refreshed: {exc}")
    session.notify(f"hooks: {check_mirror(path).detail}")


def _check(session: Session, host: str, scope: str, folder: Path) -> int:
    checks = check_host(host, scope, folder)
    lines = []
    for each in checks:
        hint = f"; {each.fix}" if each.fix else ""
        lines.append(f"{'ok' if each.ok else 'FAILED':<8} {each.name}: {each.detail}{hint}")
    fine = all(each.ok for each in checks)
    session.show({"ok": fine, "checks": [asdict(each) for each in checks]}, *lines)
    return 0 if fine else 1


def _report(
    session: Session,
    changes: list[FileChange],
    host: str,
    scope: str,
    *,
    dry_run: bool,
    remove: bool,
) -> None:
    documents, lines = [], []
    for change in changes:
        diff = _diff(change)
        verb = "deleted" if change.after is None else "changed" if change.before else "made"
        done = (f"would be {verb}" if dry_run else verb) if change.changes else "as it should be"
        path = str(change.file.path)
        documents.append({"path": path, "holds": change.file.holds, "done": done, "diff": diff})
        lines.append(diff.rstrip("\n") if dry_run and diff else f"{path}: {done}")
    session.show({"host": host, "scope": scope, "dry_run": dry_run, "files": documents}, *lines)
    for change in changes:
        if change.note:
            session.notify(change.note)
    if not (remove or dry_run):
        lacking = () if find_spec("mcp") else (LACKING,)
        for note in (*lacking, BESIDE[host], OFF, *((SHARED,) if scope == "project" else ())):
            session.notify(note)


def _diff(change: FileChange) -> str:
    old, new = ((each or b"").decode("utf-8") for each in (change.before, change.after))
    name = str(change.file.path)
    pieces = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), name, name
    )
    return "".join(piece if piece.endswith("\n") else f"{piece}\n" for piece in pieces)
