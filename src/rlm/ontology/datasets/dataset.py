"""The small working data of a session: facts, and who said each, when, in which session.

A dataset is two named graphs in memory, `urn:rlm:{name}:mem` (facts) and `:prov` (their
provenance). A snapshot may hold `:work/<task>` and `:onto/<name>` too: they are kept and can be
queried. It is bounded, so that whatever fits in also fits into a snapshot and back.

The engine has no timeout and a crafted query can take its process down, so SPARQL goes to a worker
that can be killed, which gets the data in a private file, anew after each change.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
import weakref
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias
from urllib.parse import quote

import pyoxigraph as ox

from rlm import clock
from rlm.errors import OntologyError
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.engine.ox_terms import from_term
from rlm.ontology.engine.protocol import Answer, EngineLimits
from rlm.ontology.query.guard import check_query
from rlm.ontology.terms import WELL_KNOWN, Prefixes, Term
from rlm.ontology.vocabulary import XSD

MAX_STATEMENTS = 100_000
MAX_BYTES = 16 << 20
"""Of all statements, written one to a line."""
MAX_LINE_CHARS = 1 << 20
MAX_GRAPHS = 256
MAX_ID_CHARS = 200
"""Of a session id, and of the name of who said something."""
MAX_ROWS = 1000
QUERY_S = 30.0
LIMITS = EngineLimits(timeout_s=QUERY_S, load_timeout_s=60.0, memory_mb=1024, rows=MAX_ROWS)
OURS = "urn:rlm:vocab#"
_PROV, _RDF = WELL_KNOWN["prov"], WELL_KNOWN["rdf"]
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_LABEL = re.compile(rf"mem|prov|(?:work|onto)/{_NAME}")
Value: TypeAlias = Term | str | int | float | bool


class SavedSnapshot(NamedTuple):
    """The snapshot that was last loaded or saved, and the version of the dataset that it holds."""

    path: Path
    digest: str
    version: int


class DatasetMeta:
    """One dataset, safe to share between threads. Each change happens whole or not at all."""

    def __init__(self, name: str, *, session_id: str | None = None) -> None:
        """An empty dataset, with a fresh session id. OntologyError for an unusable name."""
        if not isinstance(name, str) or not re.fullmatch(_NAME, name):
            raise OntologyError(
                f"{str(name)[:80]!a} cannot name a dataset: use at most 64 letters, digits, '.',"
                " '_' and '-', beginning with a letter or digit"
            )
        self.name = name
        given = clock.new_uuid() if session_id is None else session_id
        self.session_id = _check_id(given, "session id")
        self.prefixes = Prefixes()
        self.saved: SavedSnapshot | None = None
        self.version = 0
        """Grows with each change."""
        self._lines: dict[str, set[str]] = {"mem": set(), "prov": set()}
        self._bytes = 0
        self._lock = threading.RLock()
        self._handed: HandedDataset | None = None

    @classmethod
    def restore(cls, name: str, session_id: str, graphs: Mapping[str, set[str]]) -> DatasetMeta:
        """A dataset as it was: the IRIs of graphs, and their statements as lines. OntologyError for
        names or sizes that no dataset has."""
        dataset = cls(name, session_id=session_id)
        for iri, lines in graphs.items():
            start = dataset.iri("")
            if not iri.startswith(start) or not _LABEL.fullmatch(iri, len(start)):
                raise OntologyError(f"<{iri[:200]}> is no graph of the dataset {name}")
            dataset._lines[iri.removeprefix(start)] = set()
            dataset._add({iri.removeprefix(start): lines})
        dataset.version = 0
        return dataset

    # -- what it is

    @property
    def changed(self) -> bool:
        """Whether there is anything that the last snapshot does not hold."""
        return self.version != (self.saved.version if self.saved else 0)

    @property
    def snapshot_path(self) -> str | None:
        """Where the last snapshot lies, for the lineage of a memory; None while there is none."""
        return None if self.saved is None else str(self.saved.path)

    def iri(self, label: str) -> str:
        """The IRI of a graph."""
        return f"urn:rlm:{self.name}:{label}"

    def stats(self) -> dict[str, Any]:
        """Every graph and how many statements it has, and what else is known of it."""
        with self._lock:
            return {
                "name": self.name,
                "session_id": self.session_id,
                "version": self.version,
                "changed": self.changed,
                "statements": len(self),
                "bytes": self._bytes,
                "graphs": {label: len(self._lines[label]) for label in sorted(self._lines)},
                "snapshot_path": self.snapshot_path,
            }

    def image(self) -> tuple[int, str]:
        """The version, and every graph, also an empty one, as sorted TriG, a statement a line."""
        with self._lock:
            parts: list[str] = []
            for label in sorted(self._lines):
                parts += [f"<{self.iri(label)}> {{", *sorted(self._lines[label]), "}"]
            return self.version, "".join(f"{part}\n" for part in parts)

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def __repr__(self) -> str:
        return f"DatasetMeta({self.name!r}, {len(self):,} statements)"

    # -- changing it

    def mem_add(self, s: str, p: str, o: Value, *, who: str = "rlm") -> bool:
        """Add a fact and its provenance to `prov`; False when it was known: the first one stays.
        `s` and `p` are IRIs or `prefix:name`; an `o` that is a str is a text, for an IRI give the
        term `iri(…)`."""
        subject, predicate = self._node(s), self._node(p)
        parts = {"subject": subject, "predicate": predicate, "object": _object(o)}
        fact = _line(subject, predicate, parts["object"])
        about = ox.NamedNode(self.iri(f"fact/{sha256(fact.encode()).hexdigest()[:32]}"))
        said = {
            _RDF + "type": ox.NamedNode(_RDF + "Statement"),
            **{_RDF + name: term for name, term in parts.items()},
            _PROV + "generatedAtTime": ox.Literal(
                clock.now_iso(), datatype=ox.NamedNode(XSD + "dateTime")
            ),
            _PROV + "wasAttributedTo": self._named("agent", _check_id(who, "who")),
            _PROV + "wasGeneratedBy": self._named("session", self.session_id),
        }
        prov = {_line(about, ox.NamedNode(word), term) for word, term in said.items()}
        with self._lock:
            if fact in self._lines["mem"]:
                return False
            self._add({"mem": {fact}, "prov": prov})
            return True

    def _add(self, new: Mapping[str, set[str]]) -> None:
        """OntologyError, and no change, when that would be too much."""
        count = len(self) + sum(map(len, new.values()))
        size = self._bytes + sum(len(line.encode()) + 1 for some in new.values() for line in some)
        for would, most, what in (
            (count, MAX_STATEMENTS, "statements"),
            (size, MAX_BYTES, "bytes"),
            (len(self._lines), MAX_GRAPHS, "graphs"),
        ):
            if would > most:
                allowed = f"a dataset holds at most {most:,} {what}"
                raise OntologyError(f"{allowed}, this would make {would:,}")
        for label, lines in new.items():
            self._lines[label] |= lines
        self._bytes = size
        self.version += 1

    def _node(self, value: str) -> ox.NamedNode:
        try:
            return ox.NamedNode(self.prefixes.expand(value))
        except (ValueError, AttributeError) as exc:
            raise OntologyError(f"{str(value)[:200]!a} is no IRI and no prefix:name") from exc

    def _named(self, kind: str, name: str) -> ox.NamedNode:
        return ox.NamedNode(self.iri(f"{kind}/{quote(name, safe='')}"))

    # -- asking it

    def query(self, sparql: str, *, limit: int = 100, timeout_s: float = QUERY_S) -> Answer:
        """A query over all graphs but `prov` as one, or over any by GRAPH <urn:rlm:{name}:prov>. At
        most MAX_ROWS rows and QUERY_S seconds. The labels of blank nodes hold for this answer only.
        Raises QueryRefused, QueryTimeout or OntologyError."""
        check_query(sparql)  # no worker is started for what is refused anyway
        with self._lock:
            if self._handed is None or self._handed.version != self.version:
                self.close()
                version, text = self.image()
                self._handed = HandedDataset(text, self.name, version)
            rows, wait_s = min(limit, MAX_ROWS), max(0.0, min(timeout_s, QUERY_S))
            return self._handed.engine.query(sparql, limit=rows, timeout_s=wait_s)

    def close(self) -> None:
        """End the worker and remove what it was given. The dataset can still be used."""
        with self._lock:
            handed, self._handed = self._handed, None
            if handed is not None:
                handed.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _check_id(text: str, what: str) -> str:
    if not isinstance(text, str) or not 0 < len(text) <= MAX_ID_CHARS or not text.isprintable():
        todo = f"use 1 to {MAX_ID_CHARS} characters that can be shown"
        raise OntologyError(f"{str(text)[:80]!a} is no {what}: {todo}")
    return text


def _object(value: Value) -> Any:
    """A term as it is, a str as a text, an int, float or bool as what it is. Else OntologyError."""
    try:
        if isinstance(value, Mapping) and value.get("t") != "bnode":
            return from_term(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return ox.Literal(str(value), datatype=ox.NamedNode(XSD + "integer"))
        if isinstance(value, str | float | bool):
            return ox.Literal(value)
    except (ValueError, TypeError) as exc:  # UnicodeEncodeError is one
        # An int fails by having too many digits; then it cannot be shown either.
        shown = type(value).__name__ if isinstance(value, int) else f"{str(value)[:200]!a}"
        raise OntologyError(f"{shown} is no term: {exc}") from exc
    raise OntologyError(
        "a value of a fact is a text, a number, true or false, or the term of an IRI or a literal,"
        f" not {type(value).__name__}"
    )


def _line(subject: ox.NamedNode, predicate: ox.NamedNode, value: Any) -> str:
    """A statement without its graph, as N-Triples has it. OntologyError for what no parser would
    read back, as a text with the type of one with a language."""
    line = f"{subject} {predicate} {value} ."
    if len(line) > MAX_LINE_CHARS:
        raise OntologyError(f"a fact of {len(line):,} characters is too long for a dataset")
    try:
        list(ox.parse(input=line, format=ox.RdfFormat.N_TRIPLES))
    except (SyntaxError, ValueError) as exc:
        raise OntologyError(f"{str(value)[:80]} cannot be kept: {str(exc)[:200]}") from exc
    return line


# -- to a worker that can be killed


class HandedDataset:
    """One TriG text in a private file that goes with this object, and the engine over it."""

    def __init__(self, text: str, name: str, version: int) -> None:
        self.version = version
        try:
            folder = Path(tempfile.mkdtemp(prefix="rlm-dataset-"))  # only its owner may enter it
        except OSError as exc:
            raise OntologyError(f"there is no place for temporary files: {exc}") from exc
        self._forget = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        path = folder / f"{name}.trig"
        try:
            path.write_text(f"# {name}\n{text}", "utf-8")
            self.engine = LocalEngine(path, format="trig", cache_dir=path, limits=LIMITS)
        except BaseException as exc:
            self._forget()
            if isinstance(exc, OSError):
                what = f"the dataset {name} cannot be handed to a worker: {exc}"
                raise OntologyError(what) from exc
            raise

    def close(self) -> None:
        self.engine.close()
        self._forget()
