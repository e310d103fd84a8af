"""Text that a command takes from an option, from stdin or from a file."""

from __future__ import annotations

import sys
from pathlib import Path

from rlm.errors import ValidationError

MOST_BYTES = 4_000_000
"""More than any field may hold, so that `--file /dev/zero` ends. The gate has the real limits."""


def read_text(given: str | None, file: str | None = None) -> str | None:
    """The text itself, stdin for `-`, or a file's, which must not be blank; None if not given."""
    if given is not None and file is not None:
        raise ValidationError("give --content or --file, not both")
    if file is not None and file != "-":
        return _require_text(_decode(read_bytes(file), file), file)
    if given != "-" and file is None:
        return given
    return _require_text(read_stdin(), "stdin")


def read_stdin() -> str:
    """All of stdin, which may be empty."""
    return _decode(read_bytes("-"), "stdin")


def read_bytes(file: str, most: int = MOST_BYTES) -> bytes:
    """A file, or stdin for `-`; of a longer one, one byte more than `most`."""
    if file == "-":
        return sys.stdin.buffer.read(most + 1)
    try:
        with Path(file).expanduser().open("rb") as stream:
            return stream.read(most + 1)
    except OSError as exc:
        raise ValidationError(f"{file} cannot be read: {exc.strerror}") from exc


def _require_text(text: str, name: str) -> str:
    """A pipe whose first half failed gives nothing: name the pipe, not a missing field."""
    if not text.strip():
        raise ValidationError(f"{name} is empty: nothing to store")
    return text


def _decode(data: bytes, name: str) -> str:
    if len(data) > MOST_BYTES:
        raise ValidationError(f"{name} holds more than {MOST_BYTES:,} bytes, too much for one text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise ValidationError(f"{name} is not UTF-8 text (byte {exc.start + 1})") from exc
