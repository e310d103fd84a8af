"""A pack: one memory a line, as JSON that two people can diff.

Every line that we write is canonical JSON (keys sorted, no spaces, real characters) and ends in a
newline; lines are sorted by `memory_id`. `sha256` is the hash of the canonical line without that
key. A line holds what a memory says and where it came from, never how it fared here: no counters,
no trust, no tenant. So the same memories always give the same bytes.

Reading is strict, because a pack comes from elsewhere: anything that is not exactly a pack is
refused with its path and line. A line may leave out `sha256` and `memory_id` (a person wrote it),
and keys that begin with `_` are comments. This module knows no store and decides nothing about
trust.

`before_pack` in a stored memory's provenance holds what an import replaced (`source_type`, and
provenance's `source` and `pack`); `record_of` puts it back, so that a round trip loses nothing.
"""

from __future__ import annotations

import errno
import json
import math
import os
import stat
from collections.abc import Iterator, Mapping
from hashlib import sha256
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any, NoReturn

from rlm.errors import PackError, ValidationError
from rlm.files import write_whole
from rlm.store.identity import canonical_json
from rlm.store.types import SOURCE_TYPES, MemoryItem, Scope

LINE_BYTES = 1 << 20
PACK_BYTES = 2 << 30
PIECE_BYTES = 1 << 18
DEPTH = 8
BEFORE_PACK = "before_pack"

_TEXTS = (
    "memory_id", "title", "description", "content", "source_type", "outcome", "task_query",
    "created_at", "session_id",
)  # fmt: skip
_TYPES: dict[str, type] = {
    **dict.fromkeys(_TEXTS, str), "tags": list, "scope": dict, "provenance": dict
}  # fmt: skip
KEYS = frozenset({*_TYPES, "confidence", "sha256"})


# -- reading --------------------------------------------------------------------------------------


def open_regular(path: Path, limit: int = PACK_BYTES) -> BufferedReader[FileIO]:
    """Open a plain file for reading; PackError for a link, a device, a packed or large file."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        number = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except OSError as exc:
        if exc.errno == errno.ELOOP:
            raise PackError("is a symbolic link: name the file itself", path=str(path)) from exc
        raise PackError(f"cannot be opened: {exc.strerror}", path=str(path)) from exc
    state = os.fstat(number)
    if not stat.S_ISREG(state.st_mode) or state.st_size > limit:
        os.close(number)
        raise PackError(_unfit(state, limit), path=str(path))
    file = BufferedReader(FileIO(number, "rb"), 1 << 20)
    start = file.peek(6)
    for magic, kind in _COMPRESSED.items():
        if start.startswith(magic):
            file.close()
            raise PackError(f"is compressed ({kind}): unpack it first", path=str(path))
    return file


_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
}
"""How such files begin. None of it can begin JSON, PEM or a list of keys."""


def _unfit(state: os.stat_result, limit: int) -> str:
    if stat.S_ISDIR(state.st_mode):
        return "is a folder: name a file in it"
    if not stat.S_ISREG(state.st_mode):
        return "is a device or a pipe: name a regular file"
    return f"has {state.st_size:,} bytes, at most {limit:,}: is it the right file? If so, split it"


class PackReader:
    """One pass over a pack's lines. When it has ended, `count` and `sha256` say what was read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self.sha256 = ""

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Each line's number and object."""
        digest, size, number = sha256(), 0, 0
        with open_regular(self.path) as file:
            while line := file.readline(LINE_BYTES + 1):
                number += 1
                digest.update(line)
                size += len(line)
                if size > PACK_BYTES:  # it grew while we read it
                    why = f"has more than {PACK_BYTES:,} bytes: split it"
                    raise PackError(why, path=str(self.path))
                try:
                    if not line.endswith(b"\n"):
                        raise LineRefused(_TOO_LONG if len(line) > LINE_BYTES else _NO_NEWLINE)
                    record = parse_line(line[:-1])
                except LineRefused as exc:
                    raise PackError(str(exc), path=str(self.path), line=number) from exc.__cause__
                yield number, record
        self.count, self.sha256 = number, digest.hexdigest()


_NO_NEWLINE = (
    "the last line has no newline: the file is cut short; if it is whole, end it with a newline"
)
_TOO_LONG = f"is longer than {LINE_BYTES:,} bytes: shorten it; each line is one memory"
_TOO_DEEP = f"is nested deeper than {DEPTH}: make the lists and objects in it flatter"


class LineRefused(Exception):
    """What is wrong with a line; the reader adds where it is."""


def parse_line(line: bytes) -> dict[str, Any]:
    """The object of one line, its `sha256` checked and taken out; `PackReader` maps errors."""
    if len(line) > LINE_BYTES:
        raise LineRefused(_TOO_LONG)
    record = parse_object(line)
    claimed = record.get("sha256")
    if claimed is not None:
        _check_hash(record, claimed)
        del record["sha256"]
    _check_types(record)
    return record


def _check_types(record: Mapping[str, Any]) -> None:
    for key, value in record.items():
        kind = _TYPES.get(key)
        if kind is None:
            if key not in KEYS and not key.startswith("_"):
                raise LineRefused(f"unknown key {key[:80]!r}; known: {', '.join(sorted(KEYS))}")
        elif value is not None and type(value) is not kind:
            raise LineRefused(f"{key} is {type(value).__name__}, expected {_JSON_NAMES[kind]}")


def parse_object(data: bytes) -> dict[str, Any]:
    """Strict JSON: UTF-8 without a BOM, one object, no key twice, finite, `DEPTH` at most."""
    if data.startswith(b"\xef\xbb\xbf"):
        raise LineRefused("begins with a byte order mark: save it as plain UTF-8")
    if not data.strip():
        raise LineRefused("is not a JSON object but blank: delete it")
    try:
        text = data.decode("utf-8")
        value = _DECODER.decode(text)
    except UnicodeDecodeError as exc:
        raise LineRefused(f"is not UTF-8 (byte {exc.start + 1}): save it as UTF-8") from exc
    except RecursionError as exc:
        raise LineRefused(_TOO_DEEP) from exc
    except ValueError as exc:
        raise LineRefused(f"is not a JSON object: {exc}") from exc
    if type(value) is not dict:
        raise LineRefused(f"is {type(value).__name__}, expected an object in braces")
    if data.count(b"{") + data.count(b"[") > DEPTH and deeper_than(value, DEPTH):
        raise LineRefused(_TOO_DEEP)
    return value


def deeper_than(value: Any, depth: int) -> bool:
    """Whether a JSON value has more than `depth` levels of lists and objects."""
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return False
    return depth == 0 or any(deeper_than(part, depth - 1) for part in value)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice[:80]!r} is there twice")
    return value


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is too large a number")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite
)
_JSON_NAMES: dict[type, str] = {str: "text", list: "a list", dict: "an object"}


def _check_hash(record: Mapping[str, Any], claimed: Any) -> None:
    if hash_of({key: value for key, value in record.items() if key != "sha256"}) != claimed:
        hint = "get the pack again, or if you changed it, take sha256 and memory_id out of the line"
        why = f"sha256 does not match the line, which was changed after it was written: {hint}"
        raise LineRefused(why)


# -- a record and a memory ------------------------------------------------------------------------


def item_of(record: Mapping[str, Any], now: str = "") -> MemoryItem:
    """The memory of a line, as the line tells it. The gate checks the rest. Raises ValidationError.

    One that names no time was made now; who reads many lines says when that is.
    """
    get = record.get
    source_type = get("source_type") or "pack"
    if source_type not in SOURCE_TYPES:
        why = f"unknown source_type {source_type!r}; use one of: {', '.join(SOURCE_TYPES)}"
        raise ValidationError(why)
    return MemoryItem(
        get("title") or "",
        get("description") or "",
        get("content") or "",
        source_type,
        get("task_query"),
        get("tags") or [],
        Scope.from_dict(get("scope")),
        get("provenance") or {},
        get("outcome") or ("failure" if source_type == "failure" else None),
        get("confidence"),
        created_at=get("created_at") or now,
        memory_id=get("memory_id") or "-",  # the gate computes it
        session_id=get("session_id"),
    )


def record_of(item: MemoryItem, pack: str | None = None) -> dict[str, Any]:
    """What a line says of a memory, without `sha256`; with `pack`, marked as exported in it. Where
    a repository lies on its author's disk is nobody else's business."""
    provenance = {name: value for name, value in item.provenance.items() if name != "repo"}
    source_type = item.source_type
    before = provenance.pop(BEFORE_PACK, None)
    if isinstance(before, Mapping) and before.get("source_type") in SOURCE_TYPES:
        source_type = before["source_type"]
        for key in ("source", "pack"):
            provenance.pop(key, None)
            if key in before:
                provenance[key] = before[key]
    if pack is not None:
        provenance["exported_in_pack"] = pack
        if source_type == "pack":
            provenance.setdefault("source", "pack")
            provenance.setdefault("pack", pack)
    record: dict[str, Any] = {
        "memory_id": item.memory_id,
        "title": item.title,
        "description": item.description,
        "content": item.content,
        "tags": list(item.tags),
        "scope": item.scope.to_dict(),
        "provenance": provenance,
        "source_type": source_type,
        "outcome": item.outcome,
        "confidence": item.confidence,
        "created_at": item.created_at,
    }
    if item.task_query:
        record["task_query"] = item.task_query
    if item.session_id:
        record["session_id"] = item.session_id
    return record


def stamp(item: MemoryItem, pack: str) -> None:
    """Mark a memory, in place, as from a pack; what that replaces is kept as `before_pack`.

    For a memory that has passed the gate: what is added is our own or clean already.
    """
    provenance = dict(item.provenance)
    provenance.pop(BEFORE_PACK, None)
    before = {key: provenance[key] for key in ("source", "pack") if key in provenance}
    if item.source_type != "pack" or (before and before != {"source": "pack", "pack": pack}):
        provenance[BEFORE_PACK] = {**before, "source_type": item.source_type}
    provenance["source"] = "pack"
    provenance["pack"] = pack
    item.provenance = provenance
    item.source_type = "pack"


# -- writing --------------------------------------------------------------------------------------


def hash_of(record: Mapping[str, Any]) -> str:
    """The `sha256` of a line that holds this record."""
    return sha256(canonical_json(record).encode("utf-8", "surrogatepass")).hexdigest()


def encode_line(record: Mapping[str, Any]) -> bytes:
    """The line of a record, hash and newline included. ValueError when no reader would take it."""
    line = f"{canonical_json({**record, 'sha256': hash_of(record)})}\n".encode()
    if len(line) > LINE_BYTES or deeper_than(record, DEPTH):
        raise ValueError("too long or too deeply nested for a pack line")
    return line


def write_file(path: Path, data: bytes) -> None:
    """Put a whole file in place."""
    try:
        write_whole(path, data, mode=0o644)
    except OSError as exc:
        raise PackError(f"cannot be written: {exc.strerror}", path=str(path)) from exc
