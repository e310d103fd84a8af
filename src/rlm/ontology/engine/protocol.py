"""What an engine is, what may be asked of it, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from rlm.ontology.terms import Prefixes, Term, term_text

if TYPE_CHECKING:
    from rlm.ontology.meta.graph_meta import GraphMeta


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """How far a query may go. `rows` and `answer_bytes` bound what comes back, whatever its LIMIT
    says; a graph of up to `memory_triples` is answered from memory, at about 0.7 KB a triple.
    `memory_mb`: 0 is what the settings say (`ontology_memory_mb`)."""

    timeout_s: float = 30.0
    load_timeout_s: float = 600.0
    memory_mb: int = 0
    answer_bytes: int = 8 << 20
    rows: int = 10_000
    memory_triples: int = 300_000


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of a SELECT, the truth of an ASK, or triples. A row holds only the variables that are
    bound in it. `truncated`: there was more than was asked for or allowed."""

    kind: str
    variables: list[str] = field(default_factory=list)
    rows: list[dict[str, Term]] = field(default_factory=list)
    boolean: bool | None = None
    triples: list[tuple[Term, Term, Term]] = field(default_factory=list)
    truncated: bool = False
    seconds: float = 0.0

    def text_rows(self, prefixes: Prefixes | None = None) -> list[dict[str, str]]:
        """Rows, or triples under s, p and o, in Turtle's notation with short names."""
        triples = [dict(zip("spo", triple, strict=True)) for triple in self.triples]
        return [
            {name: term_text(term, prefixes) for name, term in row.items()}
            for row in self.rows + triples
        ]

    def __len__(self) -> int:
        return len(self.triples) if self.kind == "graph" else len(self.rows)

    def __bool__(self) -> bool:
        """The truth of an ASK; else whether anything was found."""
        return bool(self.boolean) if self.kind == "ask" else len(self) > 0


class Engine(Protocol):
    """Something that answers SPARQL: a file that was loaded, or an endpoint."""

    @property
    def name(self) -> str: ...

    @property
    def source(self) -> str: ...

    def query(
        self, sparql: str, *, limit: int = 1000, timeout_s: float | None = None
    ) -> Answer: ...

    def meta(self) -> GraphMeta: ...

    def close(self) -> None: ...
