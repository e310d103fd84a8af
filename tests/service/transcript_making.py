"""Transcripts as the hosts write them, made line by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Line = dict[str, Any]


def at(minute: int) -> str:
    return f"2026-11-01T{10 + minute // 60:02d}:{minute % 60:02d}:00.000Z"


class ClaudeTranscript:
    """Claude Code's JSONL. `lines` may be changed before `write`."""

    def __init__(self, session: str = "s1", cwd: str = "/work/shop") -> None:
        self.session, self.cwd, self.lines = session, cwd, list[Line]()

    def add(self, kind: str, **more: Any) -> ClaudeTranscript:
        common = {"sessionId": self.session, "cwd": self.cwd, "gitBranch": "main"}
        self.lines.append({"type": kind, "timestamp": at(len(self.lines)), **common, **more})
        return self

    def user(self, text: str, **more: Any) -> ClaudeTranscript:
        message = {"role": "user", "content": text}
        return self.add("user", permissionMode="default", message=message, **more)

    def says(self, text: str, answer: str = "") -> ClaudeTranscript:
        return self._answer({"type": "text", "text": text}, answer)

    def _answer(self, block: Line, answer: str = "") -> ClaudeTranscript:
        message = {"id": answer or f"m{len(self.lines)}", "role": "assistant", "content": [block]}
        return self.add("assistant", message=message)

    def runs(
        self, command: str, output: str = "", *, ok: bool = True, name: str = "Bash", **more: Any
    ) -> ClaudeTranscript:
        key = f"t{len(self.lines)}"
        given = {"command": command} if name == "Bash" else {"query": command}
        self._answer({"type": "tool_use", "id": key, "name": name, "input": given})
        result = {"type": "tool_result", "tool_use_id": key, "content": output}
        result |= {} if ok else {"is_error": True}
        message = {"role": "user", "content": [result]}
        return self.add("user", message=message, toolUseResult={"stdout": output}, **more)

    def edits(self, path: str) -> ClaudeTranscript:
        key = f"t{len(self.lines)}"
        self._answer({"type": "tool_use", "id": key, "name": "Edit", "input": {"file_path": path}})
        result = {"type": "tool_result", "tool_use_id": key, "content": "ok"}
        return self.add("user", message={"role": "user", "content": [result]}, toolUseResult={})

    def write(self, folder: Path) -> Path:
        path = folder / f"{self.session}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines), "utf-8")
        return path


def write_lines(path: Path, *lines: Line) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def rollout(path: Path, *payloads: tuple[str, Line]) -> Path:
    """A rollout of Codex: (type, payload) a line."""
    meta = {"id": "c1", "cwd": "/work/shop", "source": "cli", "git": {"branch": "main"}}
    lines = [("session_meta", meta), *payloads]
    made = ({"timestamp": at(n), "type": k, "payload": p} for n, (k, p) in enumerate(lines))
    return write_lines(path, *made)


def said(role: str, text: str) -> tuple[str, Line]:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    return "response_item", {"type": "message", "role": role, "content": content}
