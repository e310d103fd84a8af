"""What is left of a query without its specifics: a procedure for the next question (seed 002).

`rlm.ontology.query.shape` takes the specifics out. Only a query that found something leaves a
pattern, and it is stored as a model's own word: unverified, for this ontology.
"""

from __future__ import annotations

import threading

from rlm.errors import RLMError, ValidationError
from rlm.ontology.engine.protocol import Answer, Engine
from rlm.ontology.query.shape import QueryPattern, pattern_of
from rlm.store.backend import MemoryBackend
from rlm.store.types import MemoryItem, Scope
from rlm.tools.memory import ORIGIN
from rlm.tools.recalled_texts import RecalledTexts
from rlm.tools.toolbox import clip

PATTERNS_PER_RUN = 5
WORDS_CHARS = 200
TITLE_TERMS = 3
TITLE_TERM_CHARS = 40
TAGS = ("sparql", "pattern")

_VERBS = {"SELECT": "Query", "ASK": "Check", "CONSTRUCT": "Construct", "DESCRIBE": "Describe"}


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
