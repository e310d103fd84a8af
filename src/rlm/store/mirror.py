"""The mirror: what hooks may show of a store that a server keeps, in a small file of this machine.

A hook has 120 ms and asks no server: it reads a SQLite file. This is one, with the tables of any
store, and in them the live memories of one tenant that are believed, and nothing else: no vectors,
runs, graph or tokens. Its path names the database and the tenant (`hook_settings.mirror_path`).
Whoever talks to the server anyway calls `refresh_mirror`: it reads one snapshot, and where that
differs from what the file was made of, a new file takes its place whole. A lock keeps an older
snapshot from replacing a newer one. When the file was last compared with the server is its time of
modification.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path

from rlm.errors import StoreError, StoreReadOnly
from rlm.store.backend import MemoryBackend
from rlm.store.lock import WriteLock, part_file
from rlm.store.sql import rows
from rlm.store.sql.backend import SQLMemoryBackend
from rlm.store.sql.dialect import Connection, fetch, raise_counter
from rlm.store.sql.sources import MEMORY
from rlm.store.sql.spaces import in_spaces
from rlm.store.sql.tables import PAGE
from rlm.store.sqlite import migrations, quick
from rlm.store.sqlite.candidates import index_rows
from rlm.store.sqlite.connection import PAGE_BYTES, SQLiteConnection, configure, map_errors
from rlm.store.types import LEVELS, Check

MOST = 100_000
"""So many memories of a tenant, those that changed last."""
STALE = timedelta(hours=1)
WAIT_S = 60.0
"""For another process that refreshes the same mirror."""
_COLUMNS = ("item_no", "space_id", *rows.NAMES, "scope_words", "grams")
_STATE = (
    "SELECT count(*), sum(item_no), sum(item_no * CAST(confidence * 1000000 AS bigint)),"
    " substr(max(last_used), 1, 10) FROM memory_items WHERE "
)
"""Changes with what a mirror holds: a memory that is rewritten has a new number. What was used
follows from day to day, because it moves a score by a tenth at most."""


@dataclass(frozen=True, slots=True)
class Mirror:
    """What a mirror says of itself."""

    memories: int
    left_out: int
    """Older ones, of a tenant that has more than `MOST`."""
    state: str


def refresh_mirror(store: MemoryBackend, path: Path) -> Mirror:
    """Bring the mirror of the store's tenant up to date. StoreError where that fails: the former
    one is then still there."""
    assert isinstance(store, SQLMemoryBackend)
    lock = WriteLock(path)
    try:
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        lock.acquire(WAIT_S)
        with store.db.read() as source:
            mine = f"space_id {in_spaces(store.spaces.visible())} AND {MEMORY.live}"
            mine += f" AND confidence >= {quick.LEAST_CONFIDENCE}"
            held, *state = fetch(source, _STATE + mine)[0]
            left_out = max(0, held - MOST)
            marks = " ".join(map(str, (migrations.VERSION, held, *state)))
            mirror = Mirror(held - left_out, left_out, marks)
            if _read(path) == mirror:
                os.utime(path)
            else:
                _write(source, store, mine, mirror, path)
        return mirror
    except OSError as exc:
        why = f"{exc.filename or path} cannot be written: {exc.strerror}"
        raise StoreReadOnly(why) from exc
    finally:
        lock.close()


def _read(path: Path) -> Mirror | str:
    """What the file holds, or what is wrong with it."""
    try:
        with map_errors(path), closing(quick.open_read_only(str(path))) as connection:
            found = connection.execute("SELECT value FROM meta WHERE key = 'mirror'").fetchall()
            ((damage,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
        return Mirror(**json.loads(str(found[0][0]))) if damage == "ok" else str(damage)
    except (StoreError, ValueError, LookupError, TypeError) as exc:
        return str(exc) or type(exc).__name__


def _write(
    source: Connection, store: SQLMemoryBackend, mine: str, mirror: Mirror, path: Path
) -> None:
    with part_file(path) as part, map_errors(path):
        target = SQLiteConnection(str(part))
        with closing(target):
            configure(target)
            target.pragma("page_size", PAGE_BYTES)
            target.execute("BEGIN")
            migrations.m001_initial(target, fts5=True)
            target.pragma("user_version", migrations.VERSION)  # no application: nobody writes to it
            _copy_rows(source, store, mine, target)
            said = json.dumps(asdict(mirror))
            target.execute("INSERT INTO meta(key, value) VALUES ('mirror', ?)", (said,))
            target.execute("COMMIT")


def _copy_rows(
    source: Connection, store: SQLMemoryBackend, mine: str, target: SQLiteConnection
) -> None:
    """Rows get new numbers, without gaps: a hook extrapolates from those."""
    spaces = [(store.spaces.find(level), *store.spaces.key(level)) for level in LEVELS]
    target.executemany(
        "INSERT INTO spaces(space_id, level, org, team, project) VALUES (?, ?, ?, ?, ?)",
        [space for space in spaces if space[0] is not None],
    )
    newest = f"SELECT item_no FROM memory_items WHERE {mine} ORDER BY item_no DESC LIMIT 1 OFFSET ?"
    last = next((row[0] for row in fetch(source, newest, (MOST,))), 0)
    names = ", ".join(_COLUMNS)
    select = f"SELECT {names} FROM memory_items WHERE {mine} AND item_no > ? ORDER BY item_no"
    insert = f"INSERT INTO memory_items({names}) VALUES ({', '.join('?' * len(_COLUMNS))})"
    numbers = count(1)
    while page := fetch(source, f"{select} LIMIT {PAGE}", (last,)):
        target.executemany(insert, [(next(numbers), *row[1:]) for row in page])
        last = page[-1][0]
    index_rows(target, MEMORY, 1, MOST)
    raise_counter(target, "item", next(numbers) - 1)


def check_mirror(path: Path) -> Check:
    """What hooks have to read here, and how old it is."""
    if not path.exists():
        why = "there is no local mirror of this project yet, so they recall nothing"
        return Check("hooks", True, why, "`rlm worker --once` makes it")
    found = _read(path)
    if isinstance(found, str):
        why = f"their mirror {path} cannot be read, so they recall nothing ({found})"
        return Check("hooks", False, why, "`rlm worker --once` makes it anew")
    age = max(timedelta(), timedelta(seconds=round(time.time() - path.stat().st_mtime)))
    what = "memory" if found.memories == 1 else "memories"
    told = f"they read a local mirror of {found.memories:,} {what}, {age} old ({path})"
    if found.left_out:
        told += f"; {found.left_out:,} that changed before these are not in it"
    if age > STALE:
        return Check("hooks", True, f"{told}: stale", "`rlm worker --once` refreshes it")
    return Check("hooks", True, told)
