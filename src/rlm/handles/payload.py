"""What can be put behind a key, and how it becomes a text."""

from __future__ import annotations

import codecs
import json
import re
from contextlib import suppress
from typing import Any

from rlm.errors import HandleError

Payload = str | bytes | list[Any] | dict[str, Any]

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")


def decode(data: bytes) -> tuple[str, str]:
    """Bytes as text, and how they were read when it was not plain UTF-8: an encoding, or `lossy`.

    A byte order mark decides; then UTF-8; then Windows-1252, which is what most older Western text
    is, unless control characters say that it is no text at all. What cannot be read becomes U+FFFD.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            try:
                return data.decode(name), "" if name == "utf-8-sig" else name
            except UnicodeDecodeError:
                break
    with suppress(UnicodeDecodeError):
        return data.decode("utf-8"), ""
    if not _CONTROLS.search(data[:65_536]):
        with suppress(UnicodeDecodeError):
            return data.decode("cp1252"), "windows-1252"
    return data.decode("utf-8", "replace"), "lossy"


def render(payload: Payload) -> tuple[str, bool]:
    """A payload as text (structures as JSON, one element a line); whether something was lost."""
    if isinstance(payload, str):
        return str(payload), False
    if isinstance(payload, bytes | bytearray | memoryview):
        text, how = decode(bytes(payload))
        return text, how == "lossy"
    if not isinstance(payload, list | dict):
        raise HandleError(
            f"a payload of type {type(payload).__name__}: use text, bytes, a list or a dict"
        )
    try:
        if isinstance(payload, list):
            return _lay_out("[", [_json(part) for part in payload], "]"), False
        once = json.loads(_json(payload))  # keys as JSON has them, each once
        lines = [f"{_json(key)}: {_json(part)}" for key, part in once.items()]
        return _lay_out("{", lines, "}"), False
    except (TypeError, ValueError, RecursionError) as exc:
        raise HandleError(
            f"the payload cannot be written as JSON ({exc}): put text instead"
        ) from exc


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _lay_out(opening: str, parts: list[str], closing: str) -> str:
    return f"{opening}\n" + ",\n".join(parts) + f"\n{closing}" if parts else opening + closing


def fold(text: str) -> str:
    """The text in lower case, character for character, so that positions stay what they were.
    `casefold` makes two characters of ß, and `lower` two of İ, and one of two letters of Σ."""
    if text.isascii():
        return text.lower()
    return text.replace("İ", "i").lower().replace("ς", "σ")
