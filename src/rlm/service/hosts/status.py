"""What `rlm doctor` says of coding agents: hooks, spool, last injection, queue, transcripts."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rlm import config
from rlm.errors import ConfigError
from rlm.service.distiller import unread_from
from rlm.service.hook_log import MISSED, log_path
from rlm.service.hosts.entries import HOSTS, SCOPES, settings_files
from rlm.service.hosts.install import our_entries
from rlm.service.spool import count_elsewhere, list_spool
from rlm.store.backend import MemoryBackend
from rlm.store.types import JOB_STATES

MOST_JOBS = 10_000


def host_status(settings: config.Settings, folder: Path) -> dict[str, Any]:
    """What the files say: nothing is run and nothing is changed."""
    spool = Path(settings.spool).expanduser()
    elsewhere = count_elsewhere(spool, settings)
    log = Path(log_path(settings.cache_dir))
    lines = _log_lines(log)
    return {
        "hooks": {host: _find_scopes(host, folder) for host in HOSTS},
        "disabled": settings.disabled not in ("", "0"),
        "spool": {
            "path": str(spool),
            "waiting": len(list_spool(spool)) - elsewhere,
            "other_stores": elsewhere,
        },
        "last_injection": _last_injection(log.parent),
        "missed_deadlines": sum(MISSED in line for line in lines),
        "last_fault": lines[-1] if lines else "",
    }


def queue_status(store: MemoryBackend) -> dict[str, Any]:
    """The queue of this project: how many in each state, the last end, unknown transcript lines."""
    jobs = store.jobs(limit=MOST_JOBS)
    counts = Counter(job.state for job in jobs)
    ended = [job.finished_at for job in jobs if job.state == "done" and job.finished_at]
    unknown: Counter[str] = Counter()
    for job in jobs:
        result = job.payload.get("result")
        kinds = (result if isinstance(result, dict) else job.payload).get("unknown")
        unknown.update(kinds if isinstance(kinds, dict) else {})
    waiting = [job for job in jobs if job.state == "ready" and unread_from(job) is not None]
    return {
        **{state: counts[state] for state in JOB_STATES},
        "waiting_for_model": len(waiting),
        "model_error": next((job.last_error for job in reversed(waiting)), None),
        "last_distillation": max(ended, default=None),
        "unknown": dict(unknown),
    }


def status_lines(status: dict[str, Any], queue: dict[str, Any]) -> list[str]:
    """The same for people."""
    found = ", ".join(f"{host}: {state}" for host, state in status["hooks"].items())
    off = " (off: RLM_DISABLED is set)" if status["disabled"] else ""
    last = status["last_injection"]
    shown = f"{last['at']}, {last['memories']} memories" if last else "none yet"
    spool = status["spool"]
    others = f", {spool['other_stores']} for another store" if spool["other_stores"] else ""
    lines = [f"hooks    {found}{off}; last injection: {shown}"]
    if status["missed_deadlines"]:
        count = status["missed_deadlines"]
        lines.append(f"slow     hooks that missed their deadline and said nothing: {count}")
    if status["last_fault"]:
        lines.append(f"hook log {status['last_fault']}")
    waiting = f"{spool['waiting']} waiting for `rlm worker --once`{others}"
    lines.append(f"spool    {spool['path']}: {waiting}")
    if queue:
        counts = ", ".join(f"{queue[state]} {state}" for state in JOB_STATES)
        lines.append(
            f"queue    {counts}; last distillation: {queue['last_distillation'] or 'none'}"
        )
        if queue["waiting_for_model"]:
            told = f"{queue['waiting_for_model']} distilled without it wait: {queue['model_error']}"
            lines.append(f"model    {told}")
        if queue["unknown"]:
            kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(queue["unknown"].items()))
            lines.append(f"unknown  lines of transcripts that were passed over: {kinds}")
    return lines


def _find_scopes(host: str, folder: Path) -> str:
    """`user`, `project`, both, or `none`; what cannot be read is said."""
    found = []
    for scope in SCOPES:
        hooks, server = settings_files(host, scope, folder)
        try:
            parts = [file.holds for file in (hooks, server) if our_entries(file)]
        except ConfigError:
            return f"{hooks.path.parent} cannot be read"
        if parts:
            found.append(scope if len(parts) == 2 else f"{scope} ({parts[0]} only)")
    return " and ".join(found) or "none"


def _last_injection(folder: Path) -> dict[str, Any] | None:
    states = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
    for path in reversed(states):
        try:
            shown = json.loads(path.read_bytes())["shown"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if shown:
            at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
            return {"at": at.isoformat(timespec="seconds"), "memories": len(shown)}
    return None


def _log_lines(log: Path) -> list[str]:
    try:
        return log.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return []
