"""`sparql_*`: queries whose rows stay behind a handle (seed 002).

`sparql_query` returns a handle, never rows; `sparql_slice` shows a page of them, bounded in rows
and in characters. An ASK is the exception: its answer is smaller than a handle, so it comes at
once, as `{"boolean": True}`. Values stand in Turtle's notation (`prov:Entity`, `"text"@en`, `12`),
so that they can be put into the next query as they are; a variable that is not bound in a row is
not in it. The triples of a CONSTRUCT or DESCRIBE are rows of s, p and o.

A query that found something leaves its pattern in memory, where there is a memory: the query
without its specifics (`rlm.ontology.query.shape`), unverified, for this ontology.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from rlm.errors import HandleError, RLMError, ValidationError
from rlm.handles import Meter, Ref, Store, View
from rlm.loop.trace import render_value
from rlm.ontology.engine.protocol import Answer, Engine
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.query.guard import MAX_CHARS, Checked, check_query, enforce_limit
from rlm.ontology.query.shape import QueryPattern, declared_prefixes, names_of, pattern_of
from rlm.ontology.remote.sample import sample_meta
from rlm.ontology.terms import Prefixes
from rlm.store.backend import MemoryBackend
from rlm.store.types import MemoryItem, Scope
from rlm.tools.memory import ORIGIN, RecalledTexts
from rlm.tools.sparql_peek import find_misnamed, peek
from rlm.tools.sparql_schema import LABEL_CHARS, SCHEMA_MODES, check_mode, describe_schema
from rlm.tools.toolbox import Toolbox, check_count, check_text, clip, one_line, result_handle
from rlm.tools.views import take

QUERY_ROWS = 10_000
"""The most rows behind one handle."""
SLICE_ROWS = 100
SLICE_CHARS = 8000
"""What the rows of one page share, as JSON: a hundred rows of eighty characters."""
VALUE_CHARS = 500
"""The most of one value in a page, as of any part of a payload (DESIGN §4)."""
LEAST_VALUE_CHARS = 20
COLUMNS = 30
COLUMN_CHARS = 60
RELATED = 2
TITLE_CHARS = 100
CHECKED_NAMES = 20
"""Names of a query that are looked up when it found nothing."""

DTYPE = "results"

Handle = Ref | View | str | Mapping[str, Any]
PATTERNS_PER_RUN = 5
WORDS_CHARS = 200
TITLE_TERMS = 3
TITLE_TERM_CHARS = 40
TAGS = ("sparql", "pattern")
_VERBS = {"SELECT": "Query", "ASK": "Check", "CONSTRUCT": "Construct", "DESCRIBE": "Describe"}


def sparql_tools(
    engine: Engine,
    handles: Store,
    meter: Meter,
    *,
    memory: MemoryBackend | None = None,
    recalled: RecalledTexts | None = None,
    session: str | None = None,
    ontology: str | None = None,
) -> Toolbox:
    """The SPARQL tools of one run. With `memory`, patterns of queries are stored and related
    procedures are named.

    `session` is stamped on what is stored. `ontology` is what a person calls the graph, and so do
    memories; the engine's name where none is given. The time of these tools is the engine's, which
    has limits of its own.
    """
    name = ontology or engine.name
    patterns = (
        None
        if memory is None
        else Patterns(memory, engine, recalled, session=session, ontology=name)
    )
    tools = _SPARQL(engine, handles, memory, patterns, name)
    return Toolbox.of(
        meter,
        tools.sparql_schema,
        tools.sparql_peek,
        tools.sparql_query,
        tools.sparql_slice,
        untimed=True,
    )


class _SPARQL:
    def __init__(
        self,
        engine: Engine,
        handles: Store,
        memory: MemoryBackend | None,
        patterns: Patterns | None,
        name: str,
    ) -> None:
        self._engine = engine
        self._handles = handles
        self._memory = memory
        self._patterns = patterns
        self._name = name
        self._cut: set[str] = set()
        self._sampled: GraphMeta | None = None

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
        """What the graph holds. output_mode: 'overview' (counts), 'classes', 'properties' or
        'namespaces'. filter_prefix: only names that begin so, as 'prov:'. limit up to 50; total and
        has_more say what is left."""
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
        """What one class, property or thing is like, with procedures learnt about it
        (related_procedures). output_mode: 'sample' (rows, limit up to 50), 'schema' (what it joins)
        or 'count'."""
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
        """Run SELECT, CONSTRUCT or DESCRIBE: a handle to the rows (read them with sparql_slice).
        ASK: {'boolean': …}. At most limit rows, up to 10,000. explain=True gives {ref, rows,
        columns, more, changed, seconds}, and hints when nothing was found."""
        text = self._text(query)
        check_count(limit, "limit", QUERY_ROWS)
        checked = check_query(text)
        answer = self._engine.query(text, limit=limit)
        said: dict[str, Any] = {"boolean": answer.boolean} if answer.kind == "ask" else {}
        ref = None if answer.kind == "ask" else self._keep(checked, answer)
        pattern = (
            self._patterns.keep(text, answer)
            if store_pattern and self._patterns is not None
            else None
        )
        if not explain:
            return said if ref is None else ref
        said |= {} if ref is None else {"ref": ref, **_rows_said(answer)}
        said |= {
            "kind": checked.kind,
            "changed": _describe_change(checked, limit),
            "seconds": round(answer.seconds, 3),
        }
        if pattern is not None:
            said["pattern"] = clip(pattern, VALUE_CHARS)
        if not answer and (hints := self._hints(checked)):
            said["hints"] = hints
        return said

    def _text(self, query: Any) -> str:
        """The query; a long one may have come as a handle."""
        if isinstance(query, Ref | View):
            query = self._handles.read(query, 0, MAX_CHARS + 1)
        return check_text(query, "query", MAX_CHARS)

    def _keep(self, checked: Checked, answer: Answer) -> Ref:
        known: Mapping[str, str] = getattr(self._engine, "prefixes", {})
        own = {
            name: iri
            for name, iri in declared_prefixes(checked.tokens).items()
            if name not in known
        }
        ref = self._handles.put(answer.text_rows(Prefixes({**known, **own})), DTYPE)
        if answer.truncated:
            self._cut.add(ref.key)
        return ref

    def _hints(self, checked: Checked) -> list[str]:
        """Names of the query that the graph does not have."""
        meta = self._meta
        named = names_of(checked.text, meta.prefixes)[:CHECKED_NAMES]
        return find_misnamed(self._engine, meta, list(map(meta.curie, named)))

    # -- its rows ----------------------------------------------------------------------------------

    def sparql_slice(self, ref_or_key: Handle, limit: int = 50, offset: int = 0) -> dict[str, Any]:
        """Rows of a result: {rows, total, has_more}; limit up to 100. Long values are cut at 500
        characters, and fewer rows come when they are long: go on with offset=next_offset while
        has_more. limit_reached: the query itself had more rows than its limit."""
        check_count(limit, "limit", SLICE_ROWS)
        check_count(offset, "offset", 2**53, least=0)
        key, rows = self._rows(ref_or_key)
        shown = take(_fit_rows(rows[offset : offset + limit]), SLICE_CHARS - 200)
        end = offset + len(shown)
        page: dict[str, Any] = {"rows": shown, "total": len(rows), "has_more": end < len(rows)}
        if page["has_more"]:
            page["next_offset"] = end
        return page | ({"limit_reached": True} if key in self._cut else {})

    def _rows(self, handle: Any) -> tuple[str, list[dict[str, str]]]:
        handle = result_handle(handle)
        ref = self._handles.ref(handle)
        if isinstance(handle, View) and self._handles.size(handle) != ref.sz:
            raise HandleError(f"this is a part of {ref}: give the handle itself")
        rows = self._handles.get(ref) if ref.dtype == DTYPE else None
        if not isinstance(rows, list):
            raise HandleError(
                f"{ref} holds no rows: use ctx_slice for it, or the handle of a sparql_query"
            )
        return ref.key, rows


def _rows_said(answer: Answer) -> dict[str, Any]:
    names = ["s", "p", "o"] if answer.kind == "graph" else answer.variables
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


def _fit_rows(rows: list[dict[str, str]]) -> Iterator[dict[str, str]]:
    """The rows with values cut; one that would fill a page has shorter ones, or loses columns."""
    for row in rows:
        made = {name: clip(value, VALUE_CHARS) for name, value in row.items()}
        if len(render_value(made)) > SLICE_CHARS - 200:
            room = (SLICE_CHARS - 200) // len(row) - COLUMN_CHARS - 6
            made = {
                clip(name, COLUMN_CHARS): clip(value, max(room, LEAST_VALUE_CHARS))
                for name, value in row.items()
            }
            made = dict(
                islice(made.items(), SLICE_CHARS // (COLUMN_CHARS + LEAST_VALUE_CHARS + 10))
            )
        yield made


# -- patterns: a procedure for the next question


def procedure(
    pattern: QueryPattern, ontology: str, *, words: str = "", session: str | None = None
) -> MemoryItem:
    """The procedure that a pattern makes; `words` say what it is about."""
    named = ", ".join(clip(term, TITLE_TERM_CHARS) for term in pattern.terms[:TITLE_TERMS])
    verb = "Count" if pattern.counts else _VERBS[pattern.kind]
    steps = [f"Run with sparql_query: {pattern.text}"]
    if pattern.slots:
        given = ", ".join(f"{name} ({what})" for name, what in pattern.slots.items())
        steps.append(f"Put your own values in place of {given}.")
    steps.append(
        "Read a few rows with sparql_slice. No rows: look the names up with search_entity."
    )
    return MemoryItem(
        f"{verb} with {named}",
        f"{pattern.kind} query over {ontology} that found something"
        + (f" about {clip(words, WORDS_CHARS)}" if words else "")
        + "; use it for a question of the same shape.",
        "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1)),
        source_type="success",
        tags=list(TAGS),
        scope=Scope(ontology=ontology),
        session_id=session,
        trust="unverified",
        origin=ORIGIN,
    )


class Patterns:
    """The patterns of one run on their way into memory. Thread-safe."""

    def __init__(
        self,
        memory: MemoryBackend,
        engine: Engine,
        recalled: RecalledTexts | None = None,
        *,
        session: str | None = None,
        ontology: str | None = None,
    ) -> None:
        """`ontology` is what memories call the graph; the engine's name where none is given."""
        self._memory = memory
        self._engine = engine
        self._ontology = ontology or engine.name
        self._recalled = recalled or RecalledTexts()
        self._session = session
        self._lock = threading.Lock()
        self._stored = 0

    def keep(self, query: str, answer: Answer) -> str:
        """Store the pattern of an answered query; says what became of it, raises no RLMError."""
        if not answer:
            return "not stored: the query found nothing"
        try:
            return self._keep(query)
        except ValidationError as exc:
            return f"not stored: {exc}"
        except RLMError as exc:
            return f"not stored: {type(exc).__name__}: {exc}"

    def _keep(self, query: str) -> str:
        meta = self._engine.meta()
        terms = {*meta.classes, *meta.properties, *meta.pred_freq}
        pattern = pattern_of(query, meta.prefixes, terms=terms, by_place=meta.sampled)
        if pattern is None:
            return "not stored: the query is no pattern that could be used again"
        self._recalled.check(pattern.text, "the pattern")
        words = ", ".join(meta.label(meta.prefixes.expand(term)) for term in pattern.terms)
        item = procedure(pattern, self._ontology, words=words, session=self._session)
        with self._lock:
            if self._memory.get(item.memory_id) is not None:
                return f"known as {item.memory_id}"
            if self._stored >= PATTERNS_PER_RUN:
                full = f"{PATTERNS_PER_RUN} patterns were stored in this run, which is the most"
                return f"not stored: {full}"
            memory_id = self._memory.add(item)
            self._stored += 1
        return f"stored as {memory_id}"
