"""What we put into the settings of each coding agent, into which files, and how to know it again.

The command lines hold the absolute path of the interpreter and no version: Codex asks for trust
again whenever one changes, and a shim in front of Python costs a prompt 80 ms.
"""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlm import config
from rlm.hook_settings import HOOK_SETTINGS
from rlm.service.hook_events import HOSTS as HOSTS

SCOPES = ("user", "project")
SERVER = "rlm"
TIMEOUT_S = 2
"""The host's own deadline; ours is far below."""
SHARED_VARIABLES = [
    "RLM_CONFIG",
    *(variable for _, variable in HOOK_SETTINGS.values()),
    "RLM_DISTILL",
    "PGPASSWORD",
]
"""What says which store it is and whose. Hooks see the whole environment; of Codex a server gets
only the variables that are named."""
_EVENTS = {"SessionStart": "session-start", "UserPromptSubmit": "prompt", "Stop": "stop",
           "SessionEnd": "session-end"}  # fmt: skip
_CURSOR_EVENTS = {"sessionStart": "session-start", "beforeSubmitPrompt": "prompt", "stop": "stop",
                  "sessionEnd": "session-end"}  # fmt: skip
_OUR_HOOK = re.compile(r"[\\/]rlm[\\/]hook\.py\b|\brlm-hook\b")
_OUR_SERVER = re.compile(r"(^|[\\/\s])rlm(\.exe)?['\"]? mcp\b")


@dataclass(frozen=True)
class SettingsFile:
    """One file of a host, and what of ours belongs into it: hooks or the server."""

    path: Path
    holds: str
    """`hooks` or `server`."""
    host: str

    @property
    def is_toml(self) -> bool:
        return self.path.suffix == ".toml"

    @property
    def server_path(self) -> tuple[str, str]:
        return ("mcp_servers" if self.is_toml else "mcpServers", SERVER)


def settings_files(host: str, scope: str, folder: Path) -> list[SettingsFile]:
    """The files of a host for the user, or for the project around `folder`."""
    homes = config.host_folders()
    claude_server = homes["claude_home"] / ".claude.json"
    if scope == "project":
        root = project_root(folder)
        homes = {name: root / f".{name}" for name in HOSTS}
        claude_server = root / ".mcp.json"
    home = homes[host]
    hooks, server = {
        "claude": (home / "settings.json", claude_server),
        "codex": (home / "hooks.json", home / "config.toml"),
        "cursor": (home / "hooks.json", home / "mcp.json"),
    }[host]
    return [SettingsFile(hooks, "hooks", host), SettingsFile(server, "server", host)]


def project_root(folder: Path) -> Path:
    """The repository around a folder, or the folder itself."""
    here = folder.resolve()
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)


def server_entry(host: str, found: Any = None) -> dict[str, Any]:
    """How the host starts our server, with what a person has added to the entry that was found.
    `-P`: a folder named rlm in a project is not ours."""
    entry: dict[str, Any] = {"command": sys.executable, "args": ["-P", "-m", "rlm", "mcp"]}
    added = found if is_our_server(found) else {}
    if host == "codex":
        listed = added.get("env_vars")
        named = listed if isinstance(listed, list) else []
        own = [each for each in named if each not in SHARED_VARIABLES]
        entry["env_vars"] = [*SHARED_VARIABLES, *own]
    kind = {"type": "stdio"} if host == "claude" else {}
    return {**added, **kind, **entry}


def hook_entries(host: str) -> dict[str, dict[str, Any]]:
    """For each event of the host the element that its list gets."""
    if host == "cursor":
        return {event: _handler(host, ours) for event, ours in _CURSOR_EVENTS.items()}
    return {event: {"hooks": [_handler(host, ours)]} for event, ours in _EVENTS.items()}


def _handler(host: str, event: str) -> dict[str, Any]:
    script = Path(__file__).parents[2] / "hook.py"
    argv = ["-I", "-S", str(script), host, event]
    if host == "claude":  # started without a shell
        return {"type": "command", "command": sys.executable, "args": argv, "timeout": TIMEOUT_S}
    line = _quote([sys.executable, *argv])
    kind = {} if host == "cursor" else {"type": "command"}
    return {**kind, "command": line, "timeout": TIMEOUT_S}


def _quote(argv: list[str]) -> str:
    if sys.platform == "win32":
        return " ".join(f'"{each}"' if " " in each else each for each in argv)
    return shlex.join(argv)


def command_line(entry: Any) -> str:
    """The command of a handler or server with its arguments, '' where it has none."""
    if not isinstance(entry, dict) or not isinstance(entry.get("command"), str):
        return ""
    args = entry.get("args")
    return " ".join([entry["command"], *map(str, args if isinstance(args, list) else ())])


def is_our_hook(entry: Any) -> bool:
    """Whether a handler is ours, of this version or an earlier one."""
    return bool(_OUR_HOOK.search(command_line(entry)))


def is_our_server(entry: Any) -> bool:
    """Whether a server is ours, started on this machine; one behind a URL is a person's choice."""
    return bool(_OUR_SERVER.search(command_line(entry)))
