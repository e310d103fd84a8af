"""The file of a JSON store: read whole, written whole, atomically; what fails leaves it as it was.

Seed 001 wrote a plain list of memories. Such a file is read too; the first save keeps it beside the
new one, as `NAME.bak`. So is a file that was there and that nobody read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Self

from rlm.errors import StoreCorrupt, StoreError, StoreFull, StoreReadOnly, ValidationError
from rlm.retrieval.embed import Embedder
from rlm.store import gate, jsonrows
from rlm.store.lock import part_file
from rlm.store.types import LOCAL, MemoryItem, Tenant
from rlm.store.values import admit_id

_LEVEL_ORDER = {"project": 0, "team": 1, "org": 2}
FORMAT = 1
Words = tuple[tuple[str, ...], dict[str, float], int, bytes | None]
"""What is searched of a memory: its columns, their weighted stems, their length, its vector."""
_State = tuple[list[MemoryItem], *tuple[list[dict[str, Any]], ...]]


class JSONDocument:
    """What the file holds: memories, artifacts of runs, usage, and signals of confidence."""

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        tenant: Tenant = LOCAL,
        embedder: Embedder | None = None,
        origin: str = "python",
        autosave: bool = False,
        read_only: bool = False,
    ) -> None:
        self.path = None if path is None else Path(path)
        self.tenant = gate.check_tenant(tenant)
        self.embedder = embedder
        self.origin = admit_id(origin, "origin")
        self.autosave = autosave
        self.read_only = read_only
        self._items: list[MemoryItem] = []
        self._artifacts: list[dict[str, Any]] = []
        self._usage: list[dict[str, Any]] = []
        self._signals: list[dict[str, Any]] = []
        self._packs: list[dict[str, Any]] = []
        self._closed = False
        self._foreign = True  # whether a file at `path` is of another form, or was not read
        self._pending = False  # whether there are access counts that the file does not have
        self._cache: dict[Hashable, Words] = {}

    # -- the file ----------------------------------------------------------------------------------

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        tenant: Tenant = LOCAL,
        embedder: Embedder | None = None,
        origin: str = "python",
        read_only: bool = False,
    ) -> Self:
        """A store that reads `path` if it exists, and saves after every write."""
        store = cls(
            path,
            tenant=tenant,
            embedder=embedder,
            origin=origin,
            autosave=True,
            read_only=read_only,
        )
        if read_only and not path.exists():
            raise StoreError(f"{path} does not exist")
        if path.exists():
            store._read()
        return store

    @classmethod
    def load(
        cls, path: str | Path, *, tenant: Tenant = LOCAL, embedder: Embedder | None = None
    ) -> Self:
        """Read a store from a file that must exist."""
        store = cls(path, tenant=tenant, embedder=embedder)
        store._read()
        return store

    def _read(self) -> None:
        assert self.path is not None
        try:
            data = json.loads(self.path.read_text("utf-8"))
            if isinstance(data, list):
                self._read_list(data)
                return
            if not isinstance(data, dict) or data.get("format") != FORMAT:
                raise ValueError(f"not a memory store of format {FORMAT}")
            if "memories" not in data:
                raise ValueError("it has no memories")
            self._items = jsonrows.memories(data["memories"], self.tenant, self.origin)
            self._artifacts = jsonrows.artifacts(data.get("artifacts", []))
            self._usage, self._signals, self._packs = (
                jsonrows.plain(data.get(name, []), name) for name in ("usage", "signals", "packs")
            )
            self._foreign = False
        except OSError as exc:
            raise StoreError(f"{self.path} cannot be read: {exc.strerror}") from exc
        except (ValueError, TypeError, AttributeError, RecursionError) as exc:
            raise StoreCorrupt(
                f"{self.path} is not a readable memory store ({exc}): it was left as it is; fix it"
                " by hand or name another file"
            ) from exc

    def _read_list(self, rows: list[Any]) -> None:
        """Seed 001's own form."""
        try:
            self._items = jsonrows.plain_list(rows, self.tenant, self.origin)
        except ValidationError as exc:
            raise ValidationError(f"{exc}; `rlm memory import` takes the others") from exc

    def save(self, path: str | Path | None = None) -> Path:
        """Write everything, atomically."""
        self._check_open()
        target = Path(path) if path is not None else self.path
        if target is None:
            raise StoreError("this MemoryStore has no path: give one to save()")
        if target == self.path:
            self._check_writable()
        data = {
            "format": FORMAT,
            "memories": [item.to_dict() for item in self._items],
            "artifacts": self._artifacts,
            "usage": self._usage,
            "signals": self._signals,
            "packs": self._packs,
        }
        text = json.dumps(data, ensure_ascii=False, indent=1)
        try:
            if self._foreign and target == self.path and target.exists():
                _keep_copy(target)
            with part_file(target) as part, part.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except PermissionError as exc:
            raise StoreReadOnly(f"{target} cannot be written: {exc.strerror}") from exc
        except OSError as exc:
            why = f"{target} cannot be written ({exc.strerror}): the old file is intact"
            raise StoreFull(why) from exc
        self.path = self.path or target
        self._foreign = self._foreign and target != self.path
        self._pending = self._pending and target != self.path
        return target

    def close(self) -> None:
        """Save what is pending; the store cannot be used any more."""
        if (
            self.autosave
            and self._pending
            and not self._foreign  # a search alone does not rewrite somebody's file
            and not self.read_only
            and self.path is not None
            and self.path.exists()
        ):
            self.save()
        self._closed = True

    def _check_writable(self) -> None:
        self._check_open()
        if self.read_only:
            raise StoreReadOnly(f"{self.path} is read-only: open it without read_only to change it")

    def _check_open(self) -> None:
        if self._closed:
            why = f"{self.path or 'this MemoryStore'} is closed: open it again with open_store"
            raise StoreError(why)

    def _save_or_restore(self, before: _State) -> None:
        """Save when asked to; when that fails, memory goes back to what the file holds."""
        if not self.autosave:
            return
        try:
            self.save()
        except BaseException:
            self._restore(before)
            raise

    def _state(self) -> _State:
        self._check_writable()
        rows = (self._artifacts, self._usage, self._signals, self._packs)
        return list(self._items), *(list(each) for each in rows)

    def _restore(self, state: _State) -> None:
        self._items, rows = state[0], state[1:]
        self._artifacts, self._usage, self._signals, self._packs = rows

    @contextmanager
    def together(self) -> Iterator[None]:
        before, autosave = self._state(), self.autosave
        self.autosave = False
        try:
            yield
        except BaseException:
            self._restore(before)
            raise
        finally:
            self.autosave = autosave
        self._save_or_restore(before)

    # -- who may see what ------------------------------------------------------------------------

    def _mine(self, item: MemoryItem) -> bool:
        tenant = self.tenant
        same_team = item.level == "org" or item.team == tenant.team
        same_project = item.level != "project" or item.project == tenant.project
        return item.org == tenant.org and same_team and same_project

    @property
    def _owner(self) -> list[str]:
        return [self.tenant.org, self.tenant.team, self.tenant.project]

    def _own_rows(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Rows of runs and confidence that this tenant may see; without an owner, all may."""
        self._check_open()
        org, team, project = self._owner
        owners = (None, [org, team, project], [org, team, ""], [org, "", ""])
        return [row for row in rows if row.get("owner") in owners]

    def _visible(self) -> list[MemoryItem]:
        self._check_open()
        return [item for item in self._items if self._mine(item)]

    def _places(self, memory_id: str) -> list[int]:
        """Where a memory stands, on every visible level, by its id or its alias."""
        self._check_open()
        mine = [(place, item) for place, item in enumerate(self._items) if self._mine(item)]
        found = [place for place, item in mine if item.memory_id == memory_id]
        return found or [place for place, item in mine if item.id == memory_id]

    def _place(self, memory_id: str, *, archived_first: bool = False) -> int | None:
        def order(place: int) -> tuple[bool, bool, int, int]:
            item = self._items[place]
            shelved = (item.archived_at is None) == archived_first
            doubtful = item.memory_id != memory_id and item.trust == "quarantined"
            return shelved, doubtful, _LEVEL_ORDER[item.level], -place

        return min(self._places(memory_id), key=order, default=None)

    def _existing(self, memory_id: str) -> int:
        """The place of a memory that must be there: NotFound."""
        place = self._place(memory_id)
        if place is None:
            raise gate.no_memory(memory_id)
        return place

    def _put(self, admitted: Sequence[MemoryItem]) -> None:
        mine = ((place, item) for place, item in enumerate(self._items) if self._mine(item))
        there = {(item.memory_id, item.level): place for place, item in mine}
        for item in admitted:
            place = there.get((item.memory_id, item.level))
            if place is None:
                there[item.memory_id, item.level] = len(self._items)
                self._items.append(item)
            elif item.trust == "trusted" and item.source_type != "pack":
                old = self._items[place]
                if old.archived_at or old.trust != "trusted":
                    self._mark_changed(old)
                    self._items[place] = replace(old, archived_at=None, trust="trusted")

    def _mark_changed(self, item: MemoryItem) -> None:
        """No pack brought a memory as it is now: a rollback leaves it."""
        for at, row in enumerate(self._packs):
            same_place = row["level"] == item.level and self._mine(item)
            if same_place and row["brought"].get(item.memory_id):
                self._packs[at] = {**row, "brought": {**row["brought"], item.memory_id: False}}


def _keep_copy(path: Path) -> None:
    """Copy a file to the first of `NAME.bak`, `NAME.bak1`, … that is free, unless one is equal."""
    data = path.read_bytes()
    for number in count():
        backup = Path(f"{path}.bak{number or ''}")
        if not backup.exists():
            break
        if backup.read_bytes() == data:
            return
    try:
        backup.touch(mode=path.stat().st_mode & 0o777, exist_ok=False)
        with backup.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        with suppress(OSError):
            backup.unlink()
        raise
