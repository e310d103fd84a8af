"""What the tests of packs share: memories, packs as bytes, and the whole state of a store."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from rlm.packs.format import encode_line, record_of
from rlm.packs.manifest import Manifest, manifest_path
from rlm.store.gate import admit_item
from rlm.store.sqlite.backend import SQLiteMemoryBackend
from rlm.store.types import LOCAL, MemoryItem

AT = "2026-01-31T12:00:00.000000Z"
TABLES = ("memory_items", "packs", "pack_items", "meta", "counters", "recall_blocks")


def memory(
    title: str = "Check the label first", content: str = "- search, then describe", **fields: Any
) -> MemoryItem:
    return MemoryItem(
        title=title, description="One sentence.", content=content, created_at=AT, **fields
    )


def memories(count: int, **fields: Any) -> list[MemoryItem]:
    return [
        memory(f"Lesson number {i}", f"- first do {i}\n- then check {i}", **fields)
        for i in range(count)
    ]


def pack_bytes(items: Iterable[MemoryItem], name: str = "p") -> bytes:
    admitted = [admit_item(item, LOCAL, origin="test") for item in items]
    return b"".join(
        encode_line(record_of(item, name))
        for item in sorted(admitted, key=lambda item: item.memory_id)
    )


def write_pack(path: Path, items: Iterable[MemoryItem], *, manifest: bool = True) -> Path:
    name = path.name.removesuffix(".jsonl")
    data = pack_bytes(items, name)
    path.write_bytes(data)
    if manifest:
        seal(path)
    return path


def seal(path: Path, **changes: Any) -> None:
    """A manifest that fits the bytes, whatever they are, but for `changes`."""
    data = path.read_bytes()
    values = {
        "name": path.name.removesuffix(".jsonl"),
        "file": path.name,
        "count": data.count(b"\n"),
        "sha256": sha256(data).hexdigest(),
    }
    manifest_path(path).write_bytes(
        Manifest(**{**values, **changes}).encode()
    )  # our writer would refuse some


def line(**fields: Any) -> bytes:
    """A line as a person writes it: no hash, no id."""
    return (json.dumps({"title": "A lesson", "content": "- do it", **fields}) + "\n").encode()


def store(path: Path, **options: Any) -> SQLiteMemoryBackend:
    return SQLiteMemoryBackend(path, **options)


def state(db: SQLiteMemoryBackend) -> list[Any]:
    """Every row that an import could touch."""
    return [db.db.rows(f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES]
