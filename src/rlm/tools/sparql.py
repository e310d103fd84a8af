"""`sparql_*`: queries whose rows stay behind a handle (seed 002).

`sparql_query` returns a handle, never rows; code loops over it, and `sparql_slice` gives a page. An
ASK is the exception: its answer is smaller than a handle, so it comes at once, as `{"boolean":
True}`. Values stand in Turtle's notation (`prov:Entity`, `"text"@en`), so that they can be put into
the next query as they are, but every number is an int or a float (INF and NaN too) and booleans are
booleans, so that code can add and compare them; a variable that is not bound in a row is not in it.
The triples of a CONSTRUCT or DESCRIBE are rows of s, p and o.

A query that found something is noted (`Patterns`). Nothing is stored before the run is judged.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

from rlm import clock
from rlm.errors import HandleError
from rlm.handles import Meter, Ref, Store, View
from rlm.learning.calls import plain
from rlm.learning.words import number_in, truth_of
from rlm.loop.trace import render_value
from rlm.ontology.engine.protocol import Answer, Engine
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.query.guard import MAX_CHARS, Checked, check_query, enforce_limit
from rlm.ontology.query.shape import declared_prefixes
from rlm.ontology.remote.sample import sample_meta
from rlm.ontology.terms import Prefixes, Term, local_name, term_text
from rlm.ontology.vocabulary import XSD
from rlm.store.backend import MemoryBackend
from rlm.store.types import Scope
from rlm.tools.sparql_peek import find_faults, peek
from rlm.tools.sparql_schema import LABEL_CHARS, SCHEMA_MODES, check_mode, describe_schema
from rlm.tools.toolbox import Toolbox, check_count, check_text, clip, one_line, result_handle
from rlm.tools.views import note_rest

QUERY_ROWS = 10_000
"""The most rows behind one handle."""
SLICE_ROWS = 100
ROW_CHARS = 8000
"""The most of one row in a page, as JSON. A page has every row that was asked for: who steps by a
hundred must not miss any."""
VALUE_CHARS = 500
"""The most of one value in a page, as of any part of a payload (DESIGN §4)."""
WHOLE_CHARS = 300
"""A longer whole number is a float, and infinite where no float holds it."""
LEAST_VALUE_CHARS = 20
COLUMNS = 30
COLUMN_CHARS = 60
RELATED = 2
TITLE_CHARS = 100

DTYPE = "results"
_SIGNS = ("", "nonNegative", "positive", "nonPositive", "negative")
_SIZES = ("decimal", "double", "float", "long", "int", "short", "byte")
NUMBERS = frozenset(
    {XSD + name for name in _SIZES}
    | {f"{XSD}unsigned{name.title()}" for name in _SIZES[3:]}
    | {f"{XSD}{sign}{'Integer' if sign else 'integer'}" for sign in _SIGNS}
)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?INF|NaN")

Handle = Ref | View | str | Mapping[str, Any]
ASK_HINTS = 2
"""With these a false ASK has less than 1,000 characters."""
HINTS_S = 20.0
"""What a run may spend on why its queries found nothing: an endpoint may be slow."""
MOST_CANDIDATES = 50
"""Queries of a run that are remembered, the last ones."""
READ_ROWS = 200
"""Rows whose values are looked for in the answer."""


def sparql_tools(
    engine: Engine,
    handles: Store,
    meter: Meter,
    *,
    memory: MemoryBackend | None = None,
    patterns: Patterns | None = None,
    ontology: str | None = None,
) -> Toolbox:
    """The SPARQL tools of one run. With `memory`, related procedures are named; `patterns` is told
    of the queries that found something.

    `ontology` is what a person calls the graph, and so do memories; the engine's name where none is
    given. The time of these tools is the engine's, which has limits of its own.
    """
    tools = _SPARQL(engine, handles, memory, patterns, ontology or engine.name)
    return Toolbox.of(
        meter,
        tools.sparql_query,
        tools.sparql_schema,
        tools.sparql_peek,
        tools.sparql_slice,
        untimed=True,
    )


@dataclass(eq=False, slots=True)
class _SPARQL:
    _engine: Engine
    _handles: Store
    _memory: MemoryBackend | None
    _patterns: Patterns | None
    _name: str
    _sampled: GraphMeta | None = None
    _hint_s: float = 0.0

    @property
    def _meta(self) -> GraphMeta:
        return self._sampled or self._engine.meta()

    # -- before a query ----------------------------------------------------------------------------

    def sparql_schema(
        self,
        output_mode: str = "overview",
        filter_prefix: str | None = None,
        limit: int = 50,
        use_cache: bool = True,
    ) -> dict[str, Any]:
        """What the graph holds: output_mode 'overview' gives counts, 'classes', 'properties' and
        'namespaces' list them. filter_prefix='prov:' keeps names that begin so."""
        check_mode(output_mode, SCHEMA_MODES)
        if not use_cache and not hasattr(self._engine, "content_hash"):
            self._sampled = sample_meta(self._engine)  # an endpoint's data may be other data by now
        found = describe_schema(self._meta, output_mode, filter_prefix, limit)
        return {"ontology": clip(self._name, LABEL_CHARS), **found}

    def sparql_peek(
        self,
        resource: str,
        limit: int = 5,
        output_mode: str = "sample",
        related_memories: bool = True,
    ) -> dict[str, Any]:
        """One class, property or thing: output_mode 'sample' gives some instances or statements,
        'schema' what it joins and which properties its instances have, 'count' how many there
        are."""
        found = peek(self._engine, self._meta, resource, limit, output_mode)
        if related_memories:
            found["related_procedures"] = self._related_procedures(
                f"{found['label']} {found['uri']}"
            )
        return found

    def _related_procedures(self, words: str) -> list[dict[str, str]]:
        if self._memory is None:
            return []
        hits = self._memory.retrieve(words, RELATED, scope=Scope(ontology=self._name))
        return [
            {"id": hit.item.memory_id, "title": clip(one_line(hit.item.title), TITLE_CHARS)}
            for hit in hits
        ]

    # -- a query -----------------------------------------------------------------------------------

    def sparql_query(
        self, query: str, limit: int = 100, explain: bool = False, store_pattern: bool = True
    ) -> Ref | dict[str, Any]:
        """SELECT, CONSTRUCT and DESCRIBE return rows; ASK returns {'boolean': True}. It stops after
        limit rows, 10,000 at most; then `r.more` is True: raise limit, or count in SPARQL. Printed,
        an empty result or a 0 names what of the query the graph does not have.

        With explain=True it returns {ref, rows, columns, more, changed, seconds, hints}."""
        text = self._text(query)
        check_count(limit, "limit", QUERY_ROWS)
        checked = check_query(text)
        answer = self._engine.query(text, limit=limit)
        said: dict[str, Any] = {"boolean": answer.boolean} if answer.kind == "ask" else {}
        rows = [] if answer.kind == "ask" else self._result_rows(checked, answer)
        find_hints = cache(lambda: self._hints(checked) if _says_none(answer, rows) else [])
        ref = None if answer.kind == "ask" else self._keep(rows, checked, answer, find_hints)
        if store_pattern and self._patterns is not None:
            self._patterns.note(text, answer, rows)
        if (ref is None or explain) and (hints := find_hints()):
            said["hints"] = hints if explain else hints[:ASK_HINTS]
        if not explain:
            return said if ref is None else ref
        said |= {} if ref is None else {"ref": ref, **_rows_said(answer)}
        said |= {
            "kind": checked.kind,
            "changed": _describe_change(checked, limit),
            "seconds": round(answer.seconds, 3),
        }
        return said

    def _text(self, query: Any) -> str:
        """The query; a long one may have come as a handle."""
        if isinstance(query, Ref | View):
            query = self._handles.read(query, 0, MAX_CHARS + 1)
        return check_text(query, "query", MAX_CHARS)

    def _result_rows(self, checked: Checked, answer: Answer) -> list[dict[str, Any]]:
        known: Mapping[str, str] = getattr(self._engine, "prefixes", {})
        own = {
            name: iri
            for name, iri in declared_prefixes(checked.tokens).items()
            if name not in known
        }
        prefixes = Prefixes({**known, **own})
        triples = [dict(zip("spo", triple, strict=True)) for triple in answer.triples]
        return [
            {name: _cell(term, prefixes) for name, term in row.items()}
            for row in (*answer.rows, *triples)
        ]

    def _keep(
        self,
        rows: list[dict[str, Any]],
        checked: Checked,
        answer: Answer,
        find_hints: Callable[[], list[str]],
    ) -> Ref:
        about = {
            "query": checked.text,
            "source": self._name,
            "time": clock.now_iso(),
            "seconds": round(answer.seconds, 3),
            "more": answer.truncated,
            "hints": find_hints,
        }
        return self._handles.put(rows, DTYPE, columns=_columns(answer), about=about)

    def _hints(self, checked: Checked) -> list[str]:
        """Why a query may have found nothing, as long as there is time to look for it."""
        if self._hint_s > HINTS_S:
            return []
        begun = time.monotonic()
        try:
            return find_faults(self._engine, self._meta, checked.text)
        finally:
            self._hint_s += time.monotonic() - begun

    # -- its rows ----------------------------------------------------------------------------------

    def sparql_slice(self, ref_or_key: Handle, limit: int = 50, offset: int = 0) -> dict[str, Any]:
        """A page of up to 100 rows, values cut at 500 characters: {total, has_more, next_offset,
        rows}."""
        check_count(limit, "limit", SLICE_ROWS)
        check_count(offset, "offset", 2**53, least=0)
        ref = self._result(ref_or_key)
        rows = [_fit_row(row) for row in self._handles.rows(ref, offset, offset + limit)]
        total, end = ref.rows or 0, offset + len(rows)
        page: dict[str, Any] = {"total": total, "has_more": end < total}
        go_on = ""
        if self._handles.about(ref).get("more"):
            page["limit_reached"] = True
            go_on = "the query has more: raise its limit"
        if page["has_more"]:
            page["next_offset"] = end
            go_on = f"go on with offset={end}"
        if go_on:
            rows = note_rest(rows, f"rows {offset} to {end - 1} of {total}: {go_on}")
        return {**page, "rows": rows}

    def _result(self, handle: Any) -> Ref:
        handle = result_handle(handle)
        ref = self._handles.ref(handle)
        if isinstance(handle, View) and self._handles.size(handle) != ref.sz:
            raise HandleError(f"this is a part of {ref}: give the handle itself")
        return ref


def _cell(term: Term, prefixes: Prefixes) -> Any:
    """A value as a row has it: numbers and booleans as such, all else in Turtle's notation."""
    value, datatype = term["v"], term.get("dt", "")
    if datatype in NUMBERS and _NUMBER.fullmatch(value):
        is_whole = len(value) <= WHOLE_CHARS and not set(value) & set(".eEN")
        return int(value) if is_whole else float(value)
    if datatype == XSD + "boolean" and value in ("true", "false"):
        return value == "true"
    return term_text(term, prefixes)


def _says_none(answer: Answer, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a result says that there is nothing: no row, false, or a count or sum of 0."""
    if answer.kind == "ask" or len(rows) != 1:
        return not answer
    return not rows[0] or any(not value or value == '""' for value in rows[0].values())


def _columns(answer: Answer) -> list[str]:
    return ["s", "p", "o"] if answer.kind == "graph" else answer.variables


def _rows_said(answer: Answer) -> dict[str, Any]:
    names = _columns(answer)
    said: dict[str, Any] = {"rows": len(answer), "more": answer.truncated}
    said["columns"] = [clip(name, COLUMN_CHARS) for name in names[:COLUMNS]]
    return said | ({"more_columns": len(names) - COLUMNS} if len(names) > COLUMNS else {})


def _describe_change(checked: Checked, limit: int) -> str:
    """What was done to the query before it ran."""
    if checked.kind == "ASK":
        return "nothing"
    if checked.kind != "SELECT":
        return f"ends at {limit:,} triples"
    limited = enforce_limit(checked.text, limit)
    if limited == checked.text:
        return "nothing"
    added = len(check_query(limited, max_chars=len(limited)).tokens) > len(checked.tokens)
    return f"LIMIT {limit} was added" if added else f"its LIMIT was lowered to {limit}"


def _fit_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row with values cut; one that is still too long has shorter ones, or loses columns."""
    made = {name: _clip(value, VALUE_CHARS) for name, value in row.items()}
    if len(render_value(made)) > ROW_CHARS:
        room = max(LEAST_VALUE_CHARS, ROW_CHARS // len(row) - COLUMN_CHARS - 6)
        made = {clip(name, COLUMN_CHARS): _clip(value, room) for name, value in row.items()}
        most = ROW_CHARS // (COLUMN_CHARS + LEAST_VALUE_CHARS + 10)
        made = dict(islice(made.items(), most))
    return made


def _clip(value: Any, room: int) -> Any:
    return clip(value, room) if isinstance(value, str) else value


# -- what may become a lesson


@dataclass(frozen=True, slots=True)
class AnsweredQuery:
    """A query of a run, and what of its result an answer could repeat."""

    query: str
    rows: int
    values: frozenset[str] = frozenset()
    """Names and texts of the first rows as people write them; not what the query named itself."""
    truth: bool | None = None
    """The answer of an ASK."""


class Patterns:
    """The queries of one run that may become lessons. Nothing is stored here: a run is judged
    first, and only the query whose result stood behind its answer is kept. Thread-safe."""

    def __init__(self) -> None:
        self.candidates: list[AnsweredQuery] = []
        self._lock = threading.Lock()

    def note(self, query: str, answer: Answer, rows: Sequence[Mapping[str, Any]] = ()) -> None:
        """A query that found something, or asked whether something is so."""
        if not answer and answer.boolean is None:
            return
        own = f" {plain(query)} "
        values = {_spoken(str(value)) for row in rows[:READ_ROWS] for value in row.values()}
        found = frozenset(value for value in values if value and f" {value} " not in own)
        with self._lock:
            self.candidates.append(AnsweredQuery(query, len(answer), found, answer.boolean))
            del self.candidates[:-MOST_CANDIDATES]

    def behind(self, said: str) -> tuple[str, bool]:
        """The query that an answer came from, and whether that is certain: its result holds what
        the answer says, or the answer is how many rows it has, or the truth of it. Where nothing
        shows it, the last one; '' where there is none."""
        words, number, truth = f" {plain(said)} ", number_in(said), truth_of(said)
        with self._lock:
            known = list(enumerate(self.candidates))
        held = [
            (count, -each.rows, place, each.query)
            for place, each in known
            if (count := sum(f" {value} " in words for value in each.values))
        ]
        if held:
            return max(held)[-1], True
        counted = [each.query for _, each in known if each.truth is None and each.rows == number]
        asked = [each.query for _, each in known if each.truth is not None and each.truth == truth]
        if counted or asked:
            return (counted or asked)[-1], True
        return (known[-1][1].query, False) if known else ("", False)


def _spoken(value: str) -> str:
    """A value in Turtle's notation as words: a name without its prefix, a text without quotes."""
    if value.startswith(('"', "'")):
        return plain(value[1 : value.rfind(value[0])])[:VALUE_CHARS]
    return plain(local_name(value.strip("<>")).rpartition(":")[2])[:VALUE_CHARS]
