"""The real coding agents in a home of their own, without a network and without a key."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host_model import HostModel

from rlm.hook import NO_DEADLINE

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build" / "hosts" / "node_modules" / ".bin"
if named := os.environ.get("RLM_LIVE_HOSTS"):
    PROGRAMS = Path(named) / "node_modules" / ".bin"
SESSION_S = 120
# A person has approved the server of the project.
CLAUDE_SETTINGS = """{
  "permissions": {"deny": ["WebFetch"]},
  "enabledMcpjsonServers": ["rlm"],
  "hooks": {
    "Stop": [{"hooks": [{"type": "command", "command": "true"}]}]
  }
}
"""
CODEX_CONFIG = """# my settings
model = "scripted"
model_provider = "local"
approval_policy = "never"
sandbox_mode = "read-only"

[model_providers.local]
name = "local"
base_url = "URL/v1"  # on this machine
wire_api = "responses"
requires_openai_auth = false

[projects."FOLDER"]
trust_level = "trusted"
"""


@dataclass
class Host:
    """One coding agent, its home and the repository that it works in."""

    name: str
    scope: str
    """For which rlm is set up: `user` or `project`."""
    folder: Path
    model: HostModel

    def __post_init__(self) -> None:
        self.home, self.work = self.folder / "home", self.folder / "shop"
        for each in (self.home, self.work):
            each.mkdir()
        program = shutil.which(self.name, path=str(PROGRAMS))
        assert program, f"{PROGRAMS} has no {self.name}: `make test-hosts` installs it"
        self.program = program
        places = [str(Path(node).parent) for node in [shutil.which("node")] if node]
        self.env = {
            "HOME": str(self.home),
            "PATH": os.pathsep.join([*places, "/usr/bin", "/bin"]),
            "LANG": "C.UTF-8",
        }
        self.host_env = self.env | {
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "not-a-key",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        self._run("git", "init", "-q", "-b", "main")
        ours = self.home / ".config" / "rlm" / "config.toml"
        ours.parent.mkdir(parents=True)
        ours.write_text('distill = "manual"\n')  # the story starts its worker itself
        settings = self._settle()
        names = {"claude": (".claude/settings.json", ".mcp.json"),
                 "codex": (".codex/hooks.json", ".codex/config.toml")}  # fmt: skip
        of_project = [self.work / each for each in names[self.name]]
        self.settings = [*settings, *of_project]
        self.hooks = settings[0] if self.scope == "user" else of_project[0]

    def _settle(self) -> list[Path]:
        """The settings that a person had before us."""
        if self.name == "claude":
            settings = self.home / ".claude" / "settings.json"
            settings.parent.mkdir()
            settings.write_text(CLAUDE_SETTINGS)
            return [settings, self.home / ".claude.json"]
        config = self.home / ".codex" / "config.toml"
        config.parent.mkdir()
        text = CODEX_CONFIG.replace("URL", self.model.url).replace("FOLDER", str(self.work))
        config.write_text(text)
        return [config.parent / "hooks.json", config]

    def _run(self, *argv: str) -> str:
        done = subprocess.run(
            argv, env=self.host_env, cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=SESSION_S,
        )  # fmt: skip
        assert done.returncode == 0, f"{argv}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def rlm(self, *args: str) -> Any:
        """What one command of ours says, as a document."""
        out = subprocess.run(
            [sys.executable, "-P", "-m", "rlm", *args, "--json"], env=self.env, cwd=self.work,
            capture_output=True, text=True, timeout=SESSION_S,
        )  # fmt: skip
        assert out.returncode == 0, out.stdout + out.stderr
        return json.loads(out.stdout)

    def prompt(self, text: str, *, resume: bool = False) -> str:
        """A person's words, in a new session or in the last one; what the host printed."""
        if self.name == "claude":
            tools = "mcp__rlm__memory_search,mcp__rlm__memory_record,Bash(make check),Bash(sleep 1)"
            more = ["--continue"] if resume else []
            return self._run(self.program, "-p", text, "--allowedTools", tools, *more)
        more = ["resume", "--last"] if resume else []
        trust = "--dangerously-bypass-hook-trust"  # a person trusts them with /hooks
        return self._run(self.program, "exec", trust, *more, text)

    @contextmanager
    def patient_hooks(self) -> Iterator[None]:
        """Our hooks without their deadline, which a busy machine misses; then as they were."""
        path, installed = self.hooks, self.hooks.read_bytes()
        document = json.loads(installed)
        for groups in document["hooks"].values():
            for handler in (each for group in groups for each in group["hooks"]):
                if "args" in handler:
                    handler["args"].append(NO_DEADLINE)
                elif "hook.py" in handler["command"]:
                    handler["command"] += f" {NO_DEADLINE}"
        path.write_text(json.dumps(document))
        yield
        path.write_bytes(installed)

    def spooled(self) -> list[dict[str, Any]]:
        """What our hooks left for the worker."""
        folder = self.home / ".claude" / "rlm-spool"
        return [json.loads(path.read_bytes()) for path in sorted(folder.glob("*.json"))]

    def processes(self) -> list[str]:
        """The command lines of processes that still run in this home."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if f"HOME={self.home}\0".encode() in (folder / "environ").read_bytes():
                    found.append((folder / "cmdline").read_text().replace("\0", " "))
        return found

    def transcripts(self) -> list[Path]:
        """What it wrote of its sessions, the oldest first."""
        found = {
            "claude": self.home.glob(".claude/projects/*/*.jsonl"),
            "codex": self.home.glob(".codex/sessions/**/*.jsonl"),
        }[self.name]
        return sorted(found, key=lambda path: path.stat().st_mtime)
