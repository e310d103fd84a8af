"""Whether what was installed works: every hook and the server are run, as their host would.

Hooks get a spool and a cache of their own for this, so that nothing is queued and no session is
taken for one. The store is the real one, and so is the mirror of a server's.
"""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rlm import config
from rlm.hook_settings import MIRROR
from rlm.service.hook_events import is_off
from rlm.service.hosts.entries import (
    SettingsFile,
    command_line,
    hook_entries,
    server_entry,
    settings_files,
)
from rlm.service.hosts.install import our_entries
from rlm.store.types import Check
from rlm.worker import exchange

HOOK_S, SERVER_S = 10.0, 20.0
_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "rlm-setup", "version": "1"},
    },
}


def check_host(host: str, scope: str, folder: Path) -> list[Check]:
    """One line for each hook and for the server."""
    hooks, server = settings_files(host, scope, folder)
    return [*_check_hooks(hooks, folder, scope), _check_server(server, folder, scope)]


def _setup_line(file: SettingsFile, scope: str) -> str:
    return f"rlm setup {file.host} --scope {scope}"


def _check_hooks(file: SettingsFile, folder: Path, scope: str) -> list[Check]:
    found = our_entries(file)
    checks = []
    for event in hook_entries(file.host):
        name = f"{file.host} {event}"
        if event not in found:
            why = f"no hook of ours in {file.path}"
            checks.append(Check(name, False, why, _setup_line(file, scope)))
            continue
        fault = _run_hook(file.host, event, found[event], folder)
        off = ", switched off here" if is_off(config.load().disabled, str(folder)) else ""
        detail = fault or f"runs{off}: {command_line(found[event])}"
        checks.append(Check(name, not fault, detail, _setup_line(file, scope) if fault else None))
    return checks


def _run_hook(host: str, event: str, handler: dict[str, Any], folder: Path) -> str:
    """What is wrong with a hook, '' where nothing is."""
    with tempfile.TemporaryDirectory() as apart:
        with suppress(OSError):  # where links are not allowed, the hook says nothing
            cache = Path(apart, "cache")
            cache.mkdir()
            (cache / MIRROR).symlink_to(Path(config.load().cache_dir, MIRROR).expanduser())
        env = config.child_environment(RLM_SPOOL=f"{apart}/spool", RLM_CACHE_DIR=f"{apart}/cache")
        given = {
            "session_id": "rlm-setup-check",
            "cwd": str(folder),
            "hook_event_name": event,
            "prompt": "Which tests are there?",
            "transcript_path": f"{apart}/empty.jsonl",
        }
        Path(apart, "empty.jsonl").touch()
        try:
            argv = _argv(handler, " --no-deadline")
            code, out, err = exchange(
                argv, json.dumps(given).encode(), timeout_s=HOOK_S, env=env, cwd=folder
            )
        except OSError as exc:
            return f"cannot be started: {exc.filename}: {exc.strerror}"
        log = Path(apart, "cache", "hook", "log")
        said = log.read_text("utf-8").strip() if log.exists() else ""
        at_end = event.casefold() in ("stop", "sessionend")
        spooled = list(Path(apart, "spool").glob("*.json"))
    if code != 0:
        return f"ended with {'a time-out' if code is None else f'code {code}'}: {_last(err)}"
    if said:
        return said.partition(" ")[2]
    if at_end:
        off = is_off(config.load().disabled, str(folder))
        return "" if off or (spooled and not out) else "it left no file in the spool"
    return _wrong_output(host, out)


def _wrong_output(host: str, out: bytes) -> str:
    if not out:
        return ""
    try:
        answer = json.loads(out)
        text = answer if host == "cursor" else answer["hookSpecificOutput"]
        text = text["additional_context" if host == "cursor" else "additionalContext"]
    except (ValueError, KeyError, TypeError):
        return f"printed what {host} does not understand: {out[:80]!r}"
    return "" if isinstance(text, str) else "printed no text"


def _check_server(file: SettingsFile, folder: Path, scope: str) -> Check:
    name, entry = f"{file.host} server", our_entries(file).get("server")
    if entry is None:
        why = f"no server of ours in {file.path}"
        return Check(name, False, why, _setup_line(file, scope))
    listed = entry.get("env_vars")
    named = listed if isinstance(listed, list) else []  # a person may have written anything there
    lacking = [each for each in server_entry(file.host).get("env_vars", ()) if each not in named]
    if lacking:
        why = f"the server does not see what hooks see: env_vars lacks {', '.join(lacking)}"
        return Check(name, False, why, _setup_line(file, scope))
    given = json.dumps(_INITIALIZE).encode() + b"\n"
    try:
        _, out, err = exchange(
            _argv(entry),
            given,
            timeout_s=SERVER_S,
            env=config.child_environment(),
            cwd=folder,
            until_line=True,
        )
        answer = json.loads(out.partition(b"\n")[0])
        server = answer["result"]["serverInfo"]
    except OSError as exc:
        return Check(name, False, f"cannot be started: {exc.filename}: {exc.strerror}")
    except (ValueError, KeyError, TypeError):
        said = _last(err) or _last(out) or "it ended without an answer"
        return Check(name, False, f"{command_line(entry)}: {said}")
    return Check(name, True, f"answers: {server.get('name')} {server.get('version')}")


def _argv(entry: dict[str, Any], more: str = "") -> Sequence[str]:
    """As the host starts it, without a shell where it has arguments; `more` is added."""
    if isinstance(entry.get("args"), list):
        return [entry["command"], *entry["args"], *more.split()]
    if sys.platform == "win32":
        return shlex.split(entry["command"] + more, posix=False)
    return ["sh", "-c", entry["command"] + more]


def _last(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:300] if lines else ""
