"""What can be put behind a key, and how it becomes a text."""

from __future__ import annotations

import json
from typing import Any

from rlm.errors import HandleError

Payload = str | bytes | list[Any] | dict[str, Any]


def rendered(payload: Payload) -> tuple[str, bool]:
    """A payload as text, and whether something was lost."""
    if isinstance(payload, str):
        return str(payload), False
    if isinstance(payload, bytes | bytearray | memoryview):
        try:
            return bytes(payload).decode("utf-8"), False
        except UnicodeDecodeError:
            return bytes(payload).decode("utf-8", "replace"), True
    if not isinstance(payload, list | dict):
        raise HandleError(f"a payload of type {type(payload).__name__}: use text, bytes, a list or a dict")
    try:
        if isinstance(payload, list):
            return _laid_out("[", [_json(part) for part in payload], "]"), False
        made = json.loads(_json(payload))  # keys as JSON has them, each once
        return _laid_out("{", [f"{_json(key)}: {_json(part)}" for key, part in made.items()], "}"), False
    except (TypeError, ValueError, RecursionError) as exc:
        raise HandleError(f"the payload cannot be written as JSON ({exc}): put text instead") from exc


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _laid_out(opening: str, parts: list[str], closing: str) -> str:
    return f"{opening}\n" + ",\n".join(parts) + f"\n{closing}" if parts else opening + closing
