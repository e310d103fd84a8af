"""Transcripts of Cursor: `{"role", "message": {"content": [blocks]}}` a line.

They hold no times and no results of tools. A person's words stand in `<user_query>`, beside what
the editor attached.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from rlm.service.transcripts.builder import OWN_SERVER, SessionBuilder
from rlm.service.transcripts.claude import blocks_of

SHELLS = frozenset(("Shell", "run_terminal_cmd", "run_terminal_command"))
WRITES = frozenset(("Write", "StrReplace", "edit_file", "search_replace", "write", "MultiEdit",
                    "Edit", "ApplyPatch"))  # fmt: skip
_QUERY = re.compile(r"<user_query>(.*?)</user_query>", re.DOTALL)


def read_cursor(lines: Iterable[Mapping[str, Any]], builder: SessionBuilder) -> None:
    """Hand what was said and done to the builder, in order."""
    for number, line in enumerate(lines):
        role, message = line.get("role"), line.get("message")
        content = message.get("content") if isinstance(message, Mapping) else None
        if role not in ("user", "assistant") or not isinstance(content, list | str):
            builder.session.unknown[str(line.get("type") or role)[:80]] += 1
            continue
        for place, block in enumerate(blocks_of(content)):
            _read_block(str(role), block, f"{number}.{place}", builder)


def _read_block(role: str, block: Mapping[str, Any], key: str, builder: SessionBuilder) -> None:
    text = block.get("text")
    if block.get("type") == "tool_use":
        given = block.get("input")
        given = given if isinstance(given, Mapping) else {}
        name = str(block.get("name"))
        command = given.get("command") if name in SHELLS else None
        builder.call(key, name, command=str(command or ""))
        path = next((given[k] for k in ("path", "file_path", "target_file") if given.get(k)), None)
        if name in WRITES and isinstance(path, str) and not OWN_SERVER.search(name):
            builder.write(path)
    elif not isinstance(text, str):
        return
    elif role == "assistant":
        builder.agent(text)
    else:
        builder.person("\n".join(_QUERY.findall(text)) or text)
