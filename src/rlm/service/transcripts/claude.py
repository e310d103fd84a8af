"""Transcripts of Claude Code: one JSON object a line, told apart by its `type`.

A `user` line is one of three: a person's prompt, the result of a tool, or an injection. What hooks
injected lies in `attachment` lines; what is no person's is marked `isMeta`, `isSidechain` (an agent
of the agent) or `isCompactSummary`. An answer of the agent is several lines with one `message.id`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from rlm.service.transcripts.builder import SessionBuilder

SILENT = frozenset(
    ("system", "summary", "progress", "file-history-snapshot", "queue-operation",
     "permission-mode", "ai-title", "custom-title", "agent-name", "agent-setting", "last-prompt",
     "pr-link", "worktree-state", "bridge-session", "mode", "tag")
)  # fmt: skip
"""Types of lines that say nothing of what was said or done."""
WRITES = frozenset(("Edit", "Write", "MultiEdit", "NotebookEdit"))
INTERRUPTED = "[Request interrupted by user"
REFUSED = ("The user doesn't want to", "The tool use was rejected", INTERRUPTED)
_MEMORY = re.compile("hook|memor")
SAID = "the user said:\n"
"""What stands before a person's words where they refused a tool."""


def read_claude(lines: Iterable[Mapping[str, Any]], builder: SessionBuilder) -> None:
    """Hand what was said and done to the builder, in order."""
    seen: set[tuple[str, str]] = set()
    answer = ""
    for line in lines:
        kind = str(line.get("type"))
        if kind == "attachment":
            _read_attachment(line.get("attachment"), builder)
        elif kind not in ("user", "assistant"):
            if kind not in SILENT:
                builder.session.unknown[kind[:80]] += 1
        elif not line.get("isSidechain"):
            at, message = line.get("timestamp"), line.get("message")
            builder.saw(cwd=line.get("cwd"), at=at)
            if not isinstance(message, Mapping):
                continue
            if kind == "user":
                _read_user(line, message.get("content"), str(at or ""), builder)
            else:
                if message.get("id") != answer:
                    answer, seen = str(message.get("id")), set()
                _read_answer(message.get("content"), str(at or ""), seen, builder)


def _read_attachment(attachment: Any, builder: SessionBuilder) -> None:
    """What hooks and memories said; a file that a person attached is nobody's memory."""
    if isinstance(attachment, Mapping) and _MEMORY.search(str(attachment.get("type"))):
        for name in ("content", "stdout"):
            builder.inject(attachment.get(name))


def _read_answer(
    content: Any, at: str, seen: set[tuple[str, str]], builder: SessionBuilder
) -> None:
    """Blocks of one answer, each once: lines of a stream repeat what came before."""
    for block in blocks_of(content):
        kind, text = str(block.get("type")), block.get("text")
        key = (kind, str(block.get("id") or text))
        if key in seen:
            continue
        seen.add(key)
        if kind == "text" and isinstance(text, str):
            builder.agent(text, at)
        elif kind == "tool_use":
            given = block.get("input")
            given = given if isinstance(given, Mapping) else {}
            name = str(block.get("name"))
            command = given.get("command") if name == "Bash" else None
            builder.call(str(block.get("id")), name, at, command=str(command or ""))
            path = given.get("file_path") or given.get("notebook_path")
            if name in WRITES and isinstance(path, str):
                builder.write(path)


def _read_user(line: Mapping[str, Any], content: Any, at: str, builder: SessionBuilder) -> None:
    blocks = blocks_of(content)
    results = [block for block in blocks if block.get("type") == "tool_result"]
    for block in results:
        _read_result(block, line.get("toolUseResult"), at, builder)
    injected = line.get("isMeta") or line.get("isCompactSummary")
    if results or injected or line.get("toolUseResult") is not None:
        if injected:
            builder.inject([block.get("text") for block in blocks])
        return
    said = [str(block.get("text") or "") for block in blocks if block.get("type") == "text"]
    builder.person("\n".join(text for text in said if not text.startswith(INTERRUPTED)), at)


def _read_result(block: Mapping[str, Any], outcome: Any, at: str, builder: SessionBuilder) -> None:
    output = flatten(block.get("content"))
    failed: bool | None = bool(block.get("is_error"))
    if isinstance(outcome, Mapping):
        if isinstance(outcome.get("answers"), Mapping):  # a form that the agent showed
            for question, answer in outcome["answers"].items():
                builder.agent(str(question), at)
                builder.person(flatten(answer), at)
        failed = None if outcome.get("interrupted") else failed
    if failed and output.startswith(REFUSED):
        failed = None
        builder.person(output.partition(SAID)[2], at)
    ok = None if failed is None else not failed
    builder.result(str(block.get("tool_use_id")), output, ok=ok)


def blocks_of(content: Any) -> list[Mapping[str, Any]]:
    """A content as blocks, whether it is a text or a list of them."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    parts = content if isinstance(content, list) else []
    return [part for part in parts if isinstance(part, Mapping)]


def flatten(content: Any) -> str:
    """The text of a content that is a text or a list of blocks."""
    parts = content if isinstance(content, list) else [content]
    texts = (part.get("text") if isinstance(part, Mapping) else part for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))
