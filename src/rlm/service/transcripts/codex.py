"""Rollouts of Codex: `{"timestamp", "type", "payload"}` a line.

What a person typed is a `response_item` of role `user`, beside others of that role which the host
wrote; versions before 0.169 have it as an `event_msg` of type `user_message`, too. The role
`developer` is what hooks and the host injected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from rlm.service.transcripts.builder import OWN_SERVER, SessionBuilder
from rlm.service.transcripts.claude import blocks_of, flatten

SILENT = frozenset(("turn_context", "compacted", "world_state", "inter_agent_communication",
                    "security_risk_score", "token_usage_record"))  # fmt: skip
SHELLS = frozenset(("shell", "exec_command", "local_shell", "container.exec", "shell_command"))
CALLS = ("function_call", "custom_tool_call", "local_shell_call")
INSTRUCTIONS = "# AGENTS.md instructions"
REQUEST = "## My request for Codex:"
"""What an editor puts before a person's words, which are all that follows."""
_EXIT = re.compile(r"^(?:Exit code: |Process exited with code )(-?\d{1,5})$", re.MULTILINE)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


def read_codex(lines: Iterable[Mapping[str, Any]], builder: SessionBuilder) -> None:
    """Hand what was said and done to the builder, in order."""
    for line in lines:
        kind, payload = str(line.get("type")), line.get("payload")
        at = str(line.get("timestamp") or "")
        builder.saw(at=at)
        if not isinstance(payload, Mapping):
            builder.session.unknown[kind[:80]] += 1
        elif kind == "session_meta":
            _read_meta(payload, builder)
        elif kind == "response_item":
            _read_item(payload, at, builder)
        elif kind == "event_msg":
            if payload.get("type") == "user_message":
                _read_prompt(str(payload.get("message") or ""), at, builder)
        elif kind not in SILENT:
            builder.session.unknown[kind[:80]] += 1


def _read_meta(payload: Mapping[str, Any], builder: SessionBuilder) -> None:
    builder.saw(cwd=payload.get("cwd"))
    source = payload.get("source")
    builder.of_agent = isinstance(source, Mapping) and "subagent" in source


def _read_prompt(text: str, at: str, builder: SessionBuilder) -> None:
    """A prompt. That of an agent of the agent is no person's."""
    if not text.startswith(INSTRUCTIONS) and not builder.of_agent:
        builder.person(text.rpartition(REQUEST)[2], at)


def _read_item(payload: Mapping[str, Any], at: str, builder: SessionBuilder) -> None:
    kind = payload.get("type")
    if kind == "message":
        role = payload.get("role")
        if role == "assistant":
            builder.agent(flatten(payload.get("content")), at)
        elif role == "user":
            for block in blocks_of(payload.get("content")):
                _read_prompt(flatten([block]), at, builder)
        else:
            builder.inject(payload.get("content"))
    elif kind in CALLS:
        _read_call(payload, at, builder)
    elif kind in ("function_call_output", "custom_tool_call_output"):
        _read_output(payload, builder)


def _read_call(payload: Mapping[str, Any], at: str, builder: SessionBuilder) -> None:
    key = str(payload.get("call_id") or payload.get("id") or "")
    name = "__".join(str(payload[part]) for part in ("namespace", "name") if payload.get(part))
    stated = payload.get("arguments") or payload.get("input") or payload.get("action") or ""
    given = _arguments(stated)
    command = _shell_text(given.get("command") or given.get("cmd"))
    is_shell = payload.get("type") == "local_shell_call" or str(payload.get("name")) in SHELLS
    builder.call(key, name, at, command=command if is_shell else "")
    if not OWN_SERVER.search(name):
        patch = stated if isinstance(stated, str) else ""
        for path in _PATCHED.findall(str(given.get("input") or command or patch)):
            builder.write(path.strip())


def _arguments(stated: Any) -> Mapping[str, Any]:
    """Arguments come as an object, or as its JSON; a patch is neither."""
    if isinstance(stated, str):
        try:
            stated = json.loads(stated)
        except (ValueError, RecursionError):
            return {}
    return stated if isinstance(stated, Mapping) else {}


def _shell_text(command: Any) -> str:
    """`["bash", "-lc", "make test"]` is `make test`."""
    if not isinstance(command, list):
        return command if isinstance(command, str) else ""
    words = [str(word) for word in command]
    return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)


def _read_output(payload: Mapping[str, Any], builder: SessionBuilder) -> None:
    """Older versions write JSON with an exit code, newer ones a line of text."""
    output = payload.get("output")
    text = flatten(output.get("content") if isinstance(output, Mapping) else output)
    code: int | None = None
    try:
        found = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, Mapping) and isinstance(found.get("metadata"), Mapping):
        text, code = str(found.get("output") or ""), found["metadata"].get("exit_code")
    elif stated := _EXIT.search(text[:500]):
        code = int(stated[1])
    code = code if isinstance(code, int) else None
    ok = None if code is None else code == 0
    builder.result(str(payload.get("call_id")), text, ok=ok, code=code)
