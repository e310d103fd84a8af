"""What a hook reads of a store: by words alone, read-only, without numpy, in a few milliseconds.

A hook is a process for every prompt, so that what it imports is most of what it costs. This module
knows the tables and shares the words, the weights and the formula of recall, but not its vectors.
Document frequencies are counted up to `COUNTED` rows and extrapolated from there: at 100,000 rows
that is 0.2 ms a term, where counting them all takes up to 15. Only the few rarest words find
candidates: an OR of eight common ones takes 235 ms there.

It raises what apsw raises: the hook has one answer to any fault, which is to say nothing.
"""

from __future__ import annotations

import json
import os
from math import log2

import apsw

from rlm import clock
from rlm.retrieval import bm25, fusion, rank
from rlm.retrieval.tokens import fts5_match, parse_query

TYPE_CHECKING = False  # importing typing costs every hook 3 ms
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    from rlm.retrieval.tokens import Query

SCHEMAS = (3, 4)
"""The versions of the tables that the statements here are written for."""
COLUMNS = ("title", "description", "tags", "scope", "task_query", "content", "grams")
WEIGHTS = (1.5, 1.0, 1.2, 1.0, 1.2, 0.4, 0.4)
LEAST_CONFIDENCE = 0.25
"""What is believed less is kept, but not shown."""
LEAST_PROBABILITY, HELPED = 0.7, 0.8
"""A sentence of a session that is less likely a decision ("lunch, back in 30": .57) is not told at
the start of one, unless a person found it helpful, which lifts its confidence above this."""
LEVELS = ("project", "team", "org")
TERMS = 24
END_CHARS = 3_000
"""So much of a long prompt is read from its beginning and its end, where a person's words stand
around what was pasted: all of 20,000 characters take 10 ms."""
COUNTED = 64
RARE, RARE_ROWS = 6, 1_500
"""So many of the rarest words find candidates, and no more rows than these are scored for them."""
READ = 32
LEAST_LIKE, LIKE_BY_DOUBLING, LIKE_ROWS, SHARED = 0.05, 0.014, 32, 2
"""A memory is shown if it is so much like the prompt and shares two words with it, or one that is
like an id. The more memories there are, the more a rare word weighs: the floor rises with each
doubling from 0.05 to 0.12 at 32 memories (docs/experiments.md)."""
NEWEST, SUREST = 200, 100
BUSY_MS = 20


class Row:
    """One memory, as a hook shows it; `words` are its searched columns, `turn` that of a session
    in which it was decided."""

    def __init__(self, columns: Sequence[Any]) -> None:
        (self.number, self.memory_id, self.title, self.description, self.content, kind, self.turn,
         self.created_at, self.confidence, self.last_used, self.level,
         tags, scope, task, grams, perhaps, surely, persons, probability) = columns  # fmt: skip
        self.newer = dict.fromkeys(_read_ids(perhaps), "perhaps changed")
        self.newer |= dict.fromkeys(_read_ids(surely), "changed in part")
        self.changed = ""
        self.kind = str(kind or "procedure")
        self.is_persons = bool(persons)
        self.is_likely = probability >= LEAST_PROBABILITY or self.confidence > HELPED
        self.words = (self.title, self.description, tags, scope, task, self.content, grams)


def open_read_only(path: str) -> apsw.Connection:
    """The file without the right to write. ValueError where it has other tables than ours."""
    real = os.path.realpath(path)
    name = f"file:{real.replace('%', '%25').replace('?', '%3f').replace('#', '%23')}?mode=ro"
    wal = f"{real}-wal"
    has_wal = os.path.exists(wal) and os.path.getsize(wal) > 0
    if not has_wal and not os.access(os.path.dirname(real), os.W_OK):
        name += "&immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(name, flags=flags)
    connection.set_busy_timeout(BUSY_MS)
    connection.execute("PRAGMA trusted_schema=OFF; PRAGMA mmap_size=1073741824").fetchall()
    version = connection.pragma("user_version")
    if version not in SCHEMAS:
        known = " and ".join(map(str, SCHEMAS))
        raise ValueError(f"{path} has schema {version}, this rlm knows {known}: `rlm doctor`")
    return connection


def find_spaces(connection: apsw.Connection, org: str, team: str, project: str) -> tuple[int, ...]:
    """The spaces of one tenant that exist, nearest first."""
    keys = (("project", org, team, project), ("team", org, team, ""), ("org", org, "", ""))
    sql = "SELECT space_id FROM spaces WHERE level = ? AND org = ? AND team = ? AND project = ?"
    found = (next(iter(connection.execute(sql, key)), None) for key in keys)
    return tuple(int(row[0]) for row in found if row is not None)


def recall_by_words(
    connection: apsw.Connection, spaces: Sequence[int], text: str, skip: Collection[str]
) -> list[Row]:
    """Memories that are enough like the text, best first, without those whose ids are in `skip`."""
    if len(text) > 2 * END_CHARS:
        text = f"{text[:END_CHARS]} {text[-END_CHARS:]}"
    query = parse_query(text, TERMS)
    query.stops = ()
    if not spaces or not query.terms or query.only_stops:
        return []
    documents = _estimate(connection, _in_spaces(spaces))
    holding = {
        term: _estimate(connection, _match(spaces, [query.spelled[term]])) for term in query.terms
    }
    rare = _rarest(holding)
    if not rare:
        return []
    plan = fusion.plan(query, holding, documents)
    weights = {query.spelled[term]: plan.weights[term] for term in rare}
    rows = _read(connection, spaces, _by_words(connection, spaces, weights))
    floor = LEAST_LIKE + LIKE_BY_DOUBLING * log2(max(1, min(documents, LIKE_ROWS)))
    return [row for row in _score(rows, query, plan, floor) if row.memory_id not in skip]


def newest_and_surest(connection: apsw.Connection, spaces: Sequence[int]) -> list[Row]:
    """The last memories of a tenant and those that are believed most, each once, newest first. What
    may be no decision is left out: nobody asked."""
    if not spaces:
        return []
    sql = "SELECT rowid FROM memory_fts WHERE memory_fts MATCH ? ORDER BY rowid DESC LIMIT ?"
    numbers = [row[0] for row in connection.execute(sql, (_in_spaces(spaces), NEWEST))]
    sql = (
        "SELECT item_no FROM memory_items WHERE space_id = ? AND confidence > 0.6"
        " ORDER BY confidence DESC LIMIT ?"
    )
    for space in spaces:
        numbers += [row[0] for row in connection.execute(sql, (space, SUREST))]
    nearest: dict[str, Row] = {}
    for row in _read(connection, spaces, numbers):
        other = nearest.get(row.memory_id)
        if row.is_likely and (other is None or LEVELS.index(row.level) < LEVELS.index(other.level)):
            nearest[row.memory_id] = row
    return sorted(nearest.values(), key=lambda row: (row.created_at, row.number), reverse=True)


def put_changes_first(
    connection: apsw.Connection, spaces: Sequence[int], rows: Sequence[Row], skip: Collection[str]
) -> list[Row]:
    """Each memory that a newer one has or may have changed is marked, and follows that one."""
    ordered: dict[str, Row] = {}
    for row in rows:
        newer = _mark_changed(connection, spaces, row)
        if newer is not None and newer.memory_id not in skip:
            _mark_changed(connection, spaces, newer)
            ordered.setdefault(newer.memory_id, newer)
        ordered.setdefault(row.memory_id, row)
    return list(ordered.values())


def _mark_changed(connection: apsw.Connection, spaces: Sequence[int], row: Row) -> Row | None:
    """Say in a memory which newer one has or may have changed it last; that one."""
    sql = "SELECT item_no FROM memory_items WHERE space_id = ? AND memory_id = ?"
    pairs = [(space, newer_id) for space in spaces for newer_id in row.newer]
    numbers = [number for pair in pairs for (number,) in connection.execute(sql, pair)]
    known = _read(connection, spaces, numbers)
    newer = max(known, key=lambda each: each.created_at, default=None)
    if newer is not None:
        how = row.newer[newer.memory_id]
        row.changed = f"{how} on {newer.created_at[:10]}: {newer.memory_id}"
    return newer


def surest_first(rows: Iterable[Row]) -> list[Row]:
    """By confidence, use and level, as ranking has it; of equals the newest."""
    now = clock.now()
    return sorted(
        rows,
        key=lambda row: (
            rank.factor(row.confidence, row.last_used, row.level, now),
            row.created_at,
        ),
        reverse=True,
    )


def _in_spaces(spaces: Sequence[int]) -> str:
    return fts5_match([f"s{space}" for space in spaces], columns=("space",)) or ""


def _match(spaces: Sequence[int], words: Iterable[str]) -> str:
    return f"{fts5_match(words, columns=COLUMNS)} AND {_in_spaces(spaces)}"


def _estimate(connection: apsw.Connection, match: str) -> int:
    """How many rows match: counted up to a bound, beyond it by how far the count had come."""
    sql = (
        "SELECT count(*), max(rowid), (SELECT value FROM counters WHERE name = 'item') FROM"
        " (SELECT rowid FROM memory_fts WHERE memory_fts MATCH ? ORDER BY rowid LIMIT ?)"
    )
    count, reached, last = next(iter(connection.execute(sql, (match, COUNTED))))
    return int(count) if count < COUNTED else max(COUNTED, COUNTED * last // max(1, reached))


def _rarest(holding: dict[str, int]) -> list[str]:
    """The few rarest terms that are there at all and together find no more rows than we score."""
    rare: list[str] = []
    total = 0
    for term in sorted((term for term in holding if holding[term]), key=lambda each: holding[each]):
        total += holding[term]
        if len(rare) == RARE or total > RARE_ROWS:
            break
        rare.append(term)
    return rare


def _by_words(
    connection: apsw.Connection, spaces: Sequence[int], weights: Mapping[str, float]
) -> list[int]:
    """The rows in which words of the most weight are, of equals the newest. FTS5's own ranking
    would read the list of all rows of the spaces for it: 4 ms at 100,000."""
    sql = "SELECT rowid FROM memory_fts WHERE memory_fts MATCH ?"
    found: dict[int, float] = {}
    for word, weight in weights.items():
        for (number,) in connection.execute(sql, (_match(spaces, [word]),)):
            found[number] = found.get(number, 0.0) + weight
    return sorted(found, key=lambda number: (found[number], number), reverse=True)[:READ]


def _read(connection: apsw.Connection, spaces: Sequence[int], numbers: Sequence[int]) -> list[Row]:
    """Live memories of these spaces that are believed."""
    marks = ",".join(str(int(number)) for number in numbers)
    mine = ",".join(str(int(space)) for space in spaces)
    sql = (
        "SELECT item_no, memory_id, title, description, content, iif(json_valid(provenance_json),"
        " provenance_json ->> 'kind', NULL), iif(json_valid(provenance_json),"
        " provenance_json ->> 'turn', NULL), created_at, confidence, last_used, level, tags_json,"
        " scope_words, coalesce(task_query, ''), grams, iif(json_valid(provenance_json),"
        " provenance_json -> 'perhaps_changed_by', NULL), iif(json_valid(provenance_json),"
        " provenance_json -> 'changed_by', NULL), trust = 'trusted' OR source_type = 'human',"
        " CAST(iif(json_valid(provenance_json), coalesce(provenance_json ->> 'probability', 1), 1)"
        " AS REAL) FROM memory_items"
        f" WHERE item_no IN ({marks}) AND +space_id IN ({mine}) AND archived_at IS NULL"
        f" AND trust <> 'quarantined' AND confidence >= {LEAST_CONFIDENCE}"
    )
    rows = map(Row, connection.execute(sql))  # in which SQLite may have stored anything
    return [row for row in rows if all(type(each) is str for each in row.words)]


def _read_ids(text: str | None) -> list[str]:
    """The ids in a value of provenance: one, several, or objects that have one."""
    given = json.loads(text) if text else []
    listed = given if isinstance(given, list) else [given]
    found = (each.get("id") if isinstance(each, dict) else each for each in listed)
    return [each for each in found if isinstance(each, str)]


def _score(rows: Sequence[Row], query: Query, plan: fusion.QueryWeights, floor: float) -> list[Row]:
    """Those that are enough like the query, best first; of one memory on two levels the nearest."""
    mean = sum(sum(map(len, row.words)) for row in rows) / max(1, len(rows)) or 1.0
    now, terms = clock.now(), frozenset(query.terms)
    telling = {term for term in terms if fusion.factor(query, term) > 1.0}
    best: dict[str, tuple[float, Row]] = {}
    for row in rows:
        counts, chars = bm25.weigh(row.words, WEIGHTS, terms)
        like = fusion.lexical(counts, chars / mean, plan) / fusion.SCALE
        score = like * rank.factor(row.confidence, row.last_used, row.level, now)
        shares = len(counts) >= SHARED or not telling.isdisjoint(counts)
        if shares and like >= floor and score > best.get(row.memory_id, (0.0,))[0]:
            best[row.memory_id] = (score, row)
    return [row for _, row in sorted(best.values(), key=lambda pair: -pair[0])]
