"""The small working data of a session: facts and their provenance, scratch graphs, ontologies.

A dataset is a store in memory with the named graphs `urn:rlm:{name}:mem` (facts), `:prov` (who said
each fact, when, in which session), `:work/<task>` (scratch) and `:onto/<name>` (copies of
ontologies). It is bounded, so that whatever fits in also fits into a snapshot and back.

The store has no timeout and a crafted query can take its process down, so in this process it is
only asked for patterns (`quads`). SPARQL and foreign files go to a worker that can be killed, which
gets the data in a private file, anew after each change.

Blank nodes are called n1, n2, … in the order in which they came, and keep their names. They are not
made canonical: that can take exponential time. Numbers and times are kept by value, as the engine
has them: "01" is 1. A language tag is in lower case.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import quote

import pyoxigraph as ox

from rlm import clock
from rlm.errors import OntologyError
from rlm.ontology.datasets.graphs import (
    MAX_STATEMENTS,
    Fact,
    Graphs,
    Value,
    graph_of,
    line_of,
    object_of,
    predicate_of,
    subject_of,
)
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.engine.protocol import Answer, EngineLimits
from rlm.ontology.query.guard import check_query
from rlm.ontology.terms import WELL_KNOWN, Prefixes, Term
from rlm.ontology.vocabulary import XSD

MAX_ID_CHARS = 200
"""Of a session id, and of the name of who said something."""
OURS = "urn:rlm:vocab#"
_PROV, _RDF = WELL_KNOWN["prov"], WELL_KNOWN["rdf"]
_DATE_TIME = ox.NamedNode(XSD + "dateTime")
MAX_ROWS = 1000
MAX_MOUNT_BYTES = 32 << 20
QUERY_S = 30.0
LIMITS = EngineLimits(timeout_s=QUERY_S, load_timeout_s=60.0, memory_mb=1024, rows=MAX_ROWS)
MOUNT_LIMITS = EngineLimits(
    timeout_s=60.0, load_timeout_s=60.0, memory_mb=1024, answer_bytes=64 << 20, rows=MAX_STATEMENTS
)


class SavedSnapshot(NamedTuple):
    """The snapshot that was last loaded or saved, and the version of the dataset that it holds."""

    path: Path
    digest: str
    version: int


class DatasetMeta:
    """One dataset, safe to share between threads. Each change happens whole or not at all. Subjects
    and predicates are IRIs, `prefix:name` or terms; a blank node comes from `blank()`. An object
    that is a str is a text; for an IRI give the term `iri(…)`."""

    def __init__(self, name: str, *, session_id: str | None = None) -> None:
        """An empty dataset, with a fresh session id. OntologyError for an unusable name."""
        self._graphs = Graphs(name)
        self.name = name
        given = clock.new_uuid() if session_id is None else session_id
        self.session_id = _check_id(given, "session id")
        self.prefixes = Prefixes()
        self.saved: SavedSnapshot | None = None
        self._lock = threading.RLock()
        self._blanks = 0
        self._handed: HandedDataset | None = None

    @classmethod
    def restore(
        cls, name: str, session_id: str, graphs: Iterable[str], quads: Iterable[ox.Quad]
    ) -> DatasetMeta:
        """A dataset as it was, unchanged. OntologyError for names or sizes that no dataset has."""
        dataset, quads = cls(name, session_id=session_id), list(quads)
        for iri in sorted({*graphs, *map(graph_of, quads)}):
            dataset._graphs.make(dataset._graphs.label(iri))
        dataset._graphs.apply(quads)
        terms = (term for quad in quads for term in (quad.subject, quad.object))
        blanks = (int(term.value[1:]) for term in terms if isinstance(term, ox.BlankNode))
        dataset._blanks = max(blanks, default=0)
        dataset._graphs.version = 0
        return dataset

    # -- what it is

    @property
    def version(self) -> int:
        """Grows with each change."""
        return self._graphs.version

    @property
    def changed(self) -> bool:
        """Whether there is anything that the last snapshot does not hold."""
        return self.version != (self.saved.version if self.saved else 0)

    @property
    def snapshot_path(self) -> str | None:
        """Where the last snapshot lies, for the lineage of a memory; None while there is none."""
        return None if self.saved is None else str(self.saved.path)

    def iri(self, graph: str) -> str:
        """The IRI of the graph `mem`, `prov`, `work/<task>` or `onto/<name>`, there or not."""
        return self._graphs.node(graph).value

    def graphs(self) -> dict[str, int]:
        """Every graph and how many statements it has, sorted."""
        with self._lock:
            return {label: len(self._graphs.statements(label)) for label in self._graphs.labels()}

    def stats(self) -> dict[str, Any]:
        with self._lock:
            return {
                "name": self.name,
                "session_id": self.session_id,
                "version": self.version,
                "changed": self.changed,
                "statements": len(self),
                "bytes": self._graphs.bytes,
                "graphs": self.graphs(),
                "snapshot_path": self.snapshot_path,
            }

    def image(self) -> tuple[int, str]:
        """The version and all graphs as TriG, of one moment; the same text for the same data."""
        with self._lock:
            return self.version, self._graphs.trig()

    def __len__(self) -> int:
        return self._graphs.count

    def __repr__(self) -> str:
        return f"DatasetMeta({self.name!r}, {len(self):,} statements)"

    # -- changing it

    def blank(self) -> Term:
        """A fresh blank node."""
        with self._lock:
            self._blanks += 1
            return {"t": "bnode", "v": f"n{self._blanks}"}

    def mem_add(self, s: str | Term, p: str | Term, o: Value, *, who: str = "rlm") -> bool:
        """Add a fact and its provenance to `prov`; False when it was known: the first one stays."""
        with self._lock:
            quad = self._quad(s, p, o, "mem")
            if quad in self._graphs.store:
                return False
            about = f"urn:rlm:{self.name}:fact/{sha256(line_of(quad).encode()).hexdigest()[:32]}"
            said = {
                _RDF + "type": ox.NamedNode(_RDF + "Statement"),
                _RDF + "subject": quad.subject,
                _RDF + "predicate": quad.predicate,
                _RDF + "object": quad.object,
            }
            self._graphs.apply([quad, *self._record(about, said, who)])
            return True

    def work_create(self, task: str) -> str:
        """The IRI of the task's graph, which is there from now on."""
        with self._lock:
            self._graphs.make(f"work/{task}")
            return self.iri(f"work/{task}")

    def work_add(self, task: str, s: str | Term, p: str | Term, o: Value) -> bool:
        """Add a statement to a task's graph, without provenance. False when it was there."""
        with self._lock:
            self._graphs.require(f"work/{task}")
            quad = self._quad(s, p, o, f"work/{task}")
            if quad in self._graphs.store:
                return False
            self._graphs.apply([quad])
            return True

    def work_clear(self, task: str) -> int:
        """Remove a task's graph; how many statements it had."""
        with self._lock:
            self._graphs.require(f"work/{task}")
            return self._graphs.drop(f"work/{task}")

    def onto_mount(
        self, name: str, path: str | Path, *, format: str | None = None, who: str = "rlm"
    ) -> int:
        """Copy an RDF file into `onto/<name>`, in place of what was there; its size. The graphs of
        a TriG or N-Quads file become one. Raises NotRDF, QueryTimeout or OntologyError, also when
        the file is too large; then nothing has changed."""
        label = f"onto/{name}"
        about = self._graphs.node(label)
        rows, digest = read_file(Path(path).expanduser(), format)
        with self._lock:
            prov = self._graphs.node("prov")
            record = list(self._graphs.store.quads_for_pattern(about, None, None, prov))
            if any(quad.object == ox.Literal(digest) for quad in record):
                return len(self._graphs.statements(label))
            try:
                self._graphs.check_room(label)
                said = {OURS + "source": object_of(str(path)), OURS + "sha256": object_of(digest)}
                new = [*self._adopt_rows(rows, label), *self._record(about.value, said, who)]
                self._graphs.apply(new, self._graphs.statements(label) + record)
            except OntologyError as exc:
                raise OntologyError(f"{path} cannot be mounted: {exc}") from exc
            self._graphs.make(label)
            return len(self._graphs.statements(label))

    def _adopt_rows(self, rows: Iterable[Mapping[str, Term]], label: str) -> Iterator[ox.Quad]:
        """Statements of a file, its blank nodes under names of this dataset."""
        names: dict[str, Term] = {}

        def adopt(term: Term) -> Term:
            if term["t"] != "bnode":
                return term
            if term["v"] not in names:
                names[term["v"]] = self.blank()
            return names[term["v"]]

        for row in rows:
            yield self._quad(adopt(row["s"]), row["p"], adopt(row["o"]), label)

    def _quad(self, s: str | Term, p: str | Term, o: Value, label: str) -> ox.Quad:
        subject, value = subject_of(s, self.prefixes), object_of(o)
        for term in (subject, value):
            if isinstance(term, ox.BlankNode) and int(term.value[1:]) > self._blanks:
                what = f"{term} is no blank node of this dataset"
                raise OntologyError(f"{what}: take one from blank() or quads()")
        return ox.Quad(subject, predicate_of(p, self.prefixes), value, self._graphs.node(label))

    def _record(self, about: str, said: Mapping[str, Any], who: str) -> list[ox.Quad]:
        """What `prov` says of a fact or a graph."""
        start, who = f"urn:rlm:{self.name}", quote(_check_id(who, "who"), safe="")
        session = quote(self.session_id, safe="")
        said = {
            **said,
            _PROV + "generatedAtTime": ox.Literal(clock.now_iso(), datatype=_DATE_TIME),
            _PROV + "wasAttributedTo": ox.NamedNode(f"{start}:agent/{who}"),
            _PROV + "wasGeneratedBy": ox.NamedNode(f"{start}:session/{session}"),
        }
        node, graph = ox.NamedNode(about), self._graphs.node("prov")
        return [ox.Quad(node, ox.NamedNode(word), value, graph) for word, value in said.items()]

    # -- asking it

    def quads(
        self,
        graph: str | None = None,
        s: str | Term | None = None,
        p: str | Term | None = None,
        o: Value | None = None,
        *,
        limit: int = 100,
    ) -> list[Fact]:
        """At most `limit` statements that match, in no order. None matches anything."""
        with self._lock:
            return self._graphs.find(
                None if graph is None else self._graphs.require(graph),
                None if s is None else subject_of(s, self.prefixes),
                None if p is None else predicate_of(p, self.prefixes),
                None if o is None else object_of(o),
                limit=min(limit, MAX_ROWS),
            )

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


# -- to and from a worker that can be killed


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


def read_file(path: Path, format: str | None) -> tuple[list[dict[str, Term]], str]:
    """All statements of an RDF file, as rows with s, p and o, and the hash of the file. Raises
    NotRDF, QueryTimeout or OntologyError, also for more than a dataset holds."""
    size = 0  # what cannot be read, the engine says better
    with contextlib.suppress(OSError, ValueError):
        size = path.stat().st_size if path.is_file() else 0
    if size > MAX_MOUNT_BYTES:
        most = f"at most {MAX_MOUNT_BYTES:,} can be mounted: query it instead"
        raise OntologyError(f"{path} has {size:,} bytes, {most}")
    with LocalEngine(path, format=format, cache_dir=path, limits=MOUNT_LIMITS) as engine:
        answer = engine.query("SELECT ?s ?p ?o { ?s ?p ?o }", limit=MAX_STATEMENTS)
        if answer.truncated:
            most = f"which is too much for a dataset (at most {MAX_STATEMENTS:,}): query it instead"
            raise OntologyError(f"{path} has {engine.triples:,} statements, {most}")
        return answer.rows, engine.content_hash
