"""What can be put behind a key, how it becomes a text, and where that text lies.

A `Spilled` body is a file of UTF-8 and an index: where in the file every 16,384th character begins,
so that a slice reads the chunks that it touches and nothing else. Searching goes through a text
piece by piece, with pieces that overlap by what a hit could straddle, and gives what the same
search in one `str` would. Lone surrogates survive the file.

Positions of a body are checked by `store.py`: `0 <= start <= stop <= chars`.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
from array import array
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from rlm.errors import HandleError

Payload = str | bytes | list[Any] | dict[str, Any]

CHUNK_CHARS = 16_384
PIECE_CHARS = 1 << 20
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


# -- where the text lies


class Resident:
    """A text in memory."""

    __slots__ = ("chars", "memory_bytes", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.chars = len(text)
        self.memory_bytes = sys.getsizeof(text)

    def read(self, start: int, stop: int) -> str:
        return self.text[start:stop]


class Spilled:
    """A text in a file. Immutable; any number of threads may read it."""

    __slots__ = ("_chunk", "_offsets", "chars", "path")

    def __init__(self, text: str, path: Path, *, chunk_chars: int = CHUNK_CHARS) -> None:
        """Write `text` to `path`, which must not exist. OSError leaves no file behind."""
        self.path = path
        self.chars = len(text)
        self._chunk = chunk_chars
        self._offsets = array("Q", [0])
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "wb", buffering=PIECE_CHARS) as file:
                for start in range(0, self.chars, chunk_chars):
                    data = text[start : start + chunk_chars].encode("utf-8", "surrogatepass")
                    file.write(data)
                    self._offsets.append(self._offsets[-1] + len(data))
        except BaseException:
            self.remove()
            raise

    def read(self, start: int, stop: int) -> str:
        """A passage. OSError when the file is gone or is not what was written."""
        if start >= stop:
            return ""
        first, last = start // self._chunk, (stop - 1) // self._chunk
        data = self._bytes(self._offsets[first], self._offsets[last + 1])
        base = first * self._chunk
        try:
            return data.decode("utf-8", "surrogatepass")[start - base : stop - base]
        except UnicodeDecodeError as exc:
            raise OSError("the file was changed") from exc

    def _bytes(self, begin: int, end: int) -> bytes:
        with self.path.open("rb", buffering=0) as file:
            file.seek(begin)
            parts, left = [], end - begin
            while left:
                part = file.read(left)
                if not part:
                    raise OSError(f"{left} bytes are missing from the file")
                parts.append(part)
                left -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def remove(self) -> None:
        with suppress(OSError):
            self.path.unlink()


Body = Resident | Spilled


def find(
    body: Body,
    needle: str,
    start: int,
    stop: int,
    *,
    folded: bool = False,
    piece_chars: int = PIECE_CHARS,
) -> int:
    """As `str.find`; `folded`: as `fold(text).find(fold(needle), start, stop)`, without folding the
    whole text."""
    if isinstance(body, Resident) and not folded:
        return body.text.find(needle, start, stop)
    wanted = fold(needle) if folded else needle
    if not wanted:
        return start
    for at, piece in _pieces(body, start, stop, len(wanted), piece_chars):
        found = (fold(piece) if folded else piece).find(wanted)
        if found >= 0:
            return at + found
    return -1


def fold(text: str) -> str:
    """The text in lower case, character for character, so that positions stay what they were.
    `casefold` makes two characters of ß, and `lower` two of İ, and one of two letters of Σ."""
    if text.isascii():
        return text.lower()
    return text.replace("İ", "i").lower().replace("ς", "σ")


def count(body: Body, needle: str, start: int, stop: int, *, piece_chars: int = PIECE_CHARS) -> int:
    """As `str.count`."""
    if isinstance(body, Resident):
        return body.text.count(needle, start, stop)
    if not needle:
        return stop - start + 1
    overlap, total, at = len(needle) - 1, 0, start
    while stop - at > overlap:
        piece = body.read(at, min(stop, at + max(piece_chars, overlap) + overlap))
        parts = piece.split(needle)
        total += len(parts) - 1
        end = at + len(piece)
        # Hits do not overlap: the next may begin where the last ended, or where this piece could
        # not see it.
        at = max(end - len(parts[-1]), end - overlap)
    return total


def _pieces(
    body: Body, start: int, stop: int, needle_chars: int, most: int
) -> Iterator[tuple[int, str]]:
    """Where each piece begins, and the piece; small ones first, as the next hit is often near."""
    overlap, size = needle_chars - 1, max(min(CHUNK_CHARS, most), needle_chars)
    while stop - start > overlap:
        yield start, body.read(start, min(stop, start + size + overlap))
        start += size
        size = max(size, min(2 * size, most))
