"""The hook as a real process, in a home and with a store of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rlm.hook
from rlm import MemoryItem, open_store
from rlm.store.types import Tenant

HERE = Tenant("local", "local", "local")
EVENT_NAMES = {"session-start": "SessionStart", "prompt": "UserPromptSubmit"}


@dataclass(frozen=True)
class Answer:
    """What one run of the hook did."""

    code: int
    out: bytes
    err: bytes
    seconds: float
    host: str
    event: str

    @property
    def text(self) -> str:
        """What the session is told; '' for nothing. Asserts that the host understands it."""
        assert self.code == 0 and self.err == b"", self.err
        if not self.out:
            return ""
        document = json.loads(self.out)
        if self.host == "cursor":
            keys = (
                {"continue", "additional_context"}
                if self.event == "prompt"
                else {"additional_context"}
            )
            assert set(document) == keys
            found = document["additional_context"]
        else:
            assert set(document) == {"hookSpecificOutput"}
            inner = document["hookSpecificOutput"]
            assert set(inner) == {"hookEventName", "additionalContext"}
            assert inner["hookEventName"] == EVENT_NAMES[self.event]
            found = inner["additionalContext"]
        assert isinstance(found, str) and 0 < len(found) <= 600
        return str(found)


class Place:
    """A home, a store, and runs of the hook in them."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work = folder / "home", folder / "work"
        self.db, self.spool, self.cache = folder / "store.db", folder / "spool", folder / "cache"
        for each in (self.home, self.work):
            each.mkdir()
        self.env = {
            "HOME": str(self.home),
            "RLM_MEMORY_DB": str(self.db),
            "RLM_SPOOL": str(self.spool),
            "RLM_CACHE_DIR": str(self.cache),
        }

    def add(self, *items: MemoryItem, tenant: Tenant = HERE) -> list[str]:
        with open_store(str(self.db), tenant=tenant, embedder="none") as store:
            return store.add_many(items)

    def hook(
        self,
        event: str,
        data: dict[str, Any] | bytes | None = None,
        *,
        host: str = "claude",
        patient: bool = True,
        **more: Any,
    ) -> Answer:
        """Run it as its host does. `patient`: without the deadline, which a busy machine misses."""
        given = (
            data if isinstance(data, bytes) else json.dumps(self.given(host, data, more)).encode()
        )
        argv = [sys.executable, "-I", "-S", rlm.hook.__file__, host, event]
        argv += [rlm.hook.NO_DEADLINE] if patient else []
        started = time.perf_counter()
        done = subprocess.run(
            argv, input=given, env=self.env, cwd=self.work, capture_output=True, timeout=60
        )
        took = time.perf_counter() - started
        return Answer(done.returncode, done.stdout, done.stderr, took, host, event)

    def given(self, host: str, data: dict[str, Any] | None, more: dict[str, Any]) -> dict[str, Any]:
        """The fields that every event of a host has."""
        if host == "cursor":
            base: dict[str, Any] = {"conversation_id": "c1", "workspace_roots": [str(self.work)]}
        else:
            base = {"session_id": "s1", "transcript_path": "/t/s1.jsonl", "cwd": str(self.work)}
        return {**base, **(data or {}), **more}

    def log(self) -> str:
        """What went wrong; with settings that cannot be read it is in the default place."""
        folders = (self.cache, self.home / ".cache" / "rlm")
        paths = [folder / "hook" / "log" for folder in folders]
        return "".join(path.read_text("utf-8") for path in paths if path.exists())

    def spooled(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_bytes()) for path in sorted(self.spool.glob("*"))]


def decision(title: str, content: str, **more: Any) -> MemoryItem:
    return MemoryItem(title, "", content, provenance={"kind": "decision"}, **more)


def as_root() -> bool:
    return os.geteuid() == 0
