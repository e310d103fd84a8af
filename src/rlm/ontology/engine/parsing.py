"""Loading a file into a store, in the worker. What cannot be read is NotRDF, with the line where
the parser knows it.

What is not quite by the standard (an IRI with a blank in it, a language tag that nobody knows) is
common in files that people use: a file that fails is tried again without these checks, and a note
says so.

Graphs that may be answered from memory are read twice, once for memory and once for the cache.
Their blank nodes are numbered in the order of the file, so that both know them by the same names. A
large file is read once, by the store itself, which gives random names and is faster.
"""

from __future__ import annotations

import contextlib
import os
import threading
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from itertools import chain, islice
from queue import Queue
from typing import Any, BinaryIO, TypeVar

import pyoxigraph as ox

from rlm.errors import NotRDF
from rlm.ontology.engine import reading
from rlm.ontology.meta.tally import Tally

BASE_IRI = "urn:rlm:base/"
"""What relative IRIs in a file are relative to. Not the file's path: the same content is the same
graph anywhere."""
PREFIX_STATEMENTS = 1000
CHUNKS_AHEAD = 8
SMALL_STACK_BYTES = 1 << 18
THREAD_STACK_BYTES = 16 << 20
"""Not the process's own 64 MiB: a stack counts as memory that is used."""
T = TypeVar("T")
_MAY_BE_BLANK = (ox.BlankNode, ox.Triple)
_NO_GRAPH = ox.DefaultGraph()
_PLAIN = ("turtle", "n-triples", "n-quads", "trig")
_FORMATS = {
    "turtle": ox.RdfFormat.TURTLE,
    "n-triples": ox.RdfFormat.N_TRIPLES,
    "n-quads": ox.RdfFormat.N_QUADS,
    "trig": ox.RdfFormat.TRIG,
    "rdf-xml": ox.RdfFormat.RDF_XML,
    "json-ld": ox.RdfFormat.JSON_LD,
}


class TooMuch(Exception):
    """There is more in a file than is meant for memory."""


def parse_small(
    file: BinaryIO, order: dict[str, Any], *, beside: bool = False
) -> tuple[ox.Store, dict[str, Any], Tally | None]:
    """A file in a store in memory, and what is to be known of it. NotRDF when it cannot be read;
    TooMuch.

    `beside`: parse and store in two threads, and count what is parsed. The counts come third, where
    they are of use.
    """

    def load(lenient: bool) -> tuple[ox.Store, str, dict[str, str], Tally | None]:
        found = ox.Store()  # anew each time: what failed half-way would stay in memory
        tally = Tally() if beside and not lenient else None
        fill = partial(_fill, found, most=order["most_triples"], beside=beside, tally=tally)
        digest, prefixes = _load_named(file, order, fill, lenient)
        return found, digest, prefixes, tally

    (store, digest, prefixes, tally), notes = _tried(file, load)
    most = order["most_triples"]
    if tally is not None:
        few = not most or tally.predicates.total() <= most
        tally = None if _has_graphs(store) or not few or not tally.predicates else tally
    if tally is not None:
        tally.end(store)
    facts = _facts(store, order, digest, prefixes, notes, naming="", later=tally is not None)
    if most and not facts["later"] and facts["triples"] > most:
        raise TooMuch
    return store, facts, tally


def parse_to_disk(file: BinaryIO, order: dict[str, Any], store: ox.Store) -> dict[str, Any]:
    """Load a file into an empty store on disk; what is to be known of it. NotRDF when it cannot be
    read."""

    def load(lenient: bool) -> tuple[str, dict[str, str]]:
        if len(store):
            store.clear()
        if order["named"]:
            return _load_named(
                file, order, lambda quads: store.bulk_extend(chain.from_iterable(quads)), lenient
            )
        reader, data = _opened(file, order)
        store.bulk_load(
            input=data, format=_FORMATS[order["format"]], base_iri=BASE_IRI, lenient=lenient
        )
        digest = reader.finish()
        file.seek(0)
        return digest, _prefixes(file, order)

    (digest, prefixes), notes = _tried(file, load)
    return _facts(
        store, order, digest, prefixes, notes, naming="" if order["named"] else os.urandom(8).hex()
    )


def _tried(file: BinaryIO, load: Callable[[bool], T]) -> tuple[T, list[str]]:
    try:
        return load(False), []
    except SyntaxError as exc:
        first = exc
    file.seek(0)
    try:
        found = load(True)
    except SyntaxError:
        raise NotRDF(brief(first), line=_line_of(first)) from first
    return found, [f"not quite by the standard, read all the same: {brief(first)}{_at_line(first)}"]


def _facts(
    store: ox.Store, order: dict[str, Any], digest: str, prefixes: dict[str, str], notes: list[str], *, naming: str,
    later: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """`naming` is the same for two stores in which the blank nodes of a file have the same names.

    `later`: there are some statements and no graphs; how many is being counted, and whoever wants
    to know asks.
    """
    told = {"sha256": digest, "prefixes": prefixes, "naming": naming, "later": later}
    if later:
        return {**told, "triples": 0, "quads": 0, "graphs": False, "notes": notes}
    graphs = _has_graphs(store)
    if (
        graphs
    ):  # asked as one, each statement once: the engine's own union has it as often as graphs say it
        store.update("INSERT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } }")
    triples = (
        sum(1 for _ in store.quads_for_pattern(None, None, None, _NO_GRAPH))
        if graphs
        else len(store)
    )
    if not triples:
        if order["format"] == "json-ld":
            raise NotRDF("this JSON holds no JSON-LD: there is not one statement in it")
        notes = [*notes, "there is not one statement in it"]
    return {**told, "triples": triples, "quads": len(store), "graphs": graphs, "notes": notes}


def _has_graphs(store: ox.Store) -> bool:
    return next(iter(store.named_graphs()), None) is not None


def _beside(job: Callable[[], None], stack_bytes: int) -> threading.Thread:
    """A thread that has begun. MemoryError where there is no room for one."""
    threading.stack_size(stack_bytes)
    thread = threading.Thread(target=job, daemon=True)
    try:
        thread.start()
    except RuntimeError as exc:
        raise MemoryError from exc
    return thread


class _Whole:
    """A small file that needs no unpacking and no look at its parts; hashed while it is parsed."""

    def __init__(self, data: bytes) -> None:
        self._data, self._digest = data, ""
        self._thread = _beside(self._hash, SMALL_STACK_BYTES)

    def _hash(self) -> None:
        self._digest = sha256(self._data).hexdigest()

    def finish(self) -> str:
        self._thread.join()
        return self._digest


def _opened(file: BinaryIO, order: dict[str, Any]) -> tuple[reading.Reader | _Whole, Any]:
    """A reader, and what to give to a parser: the bytes themselves where they are few, which is
    much faster."""
    if order["most_bytes"] and not order["gzipped"] and order["format"] in _PLAIN:
        data = file.read()
        if len(data) > order["most_bytes"]:
            raise TooMuch
        return _Whole(data), data.removeprefix(BOM_UTF8)
    reader, most = (
        reading.Reader(file, order["format"], gzipped=order["gzipped"]),
        order["most_bytes"],
    )
    if order["format"] == "json-ld":
        data = reader.read()
        if most and len(data) > most:
            raise TooMuch
        reading.check_jsonld(data)
        return reader, data
    if not most:
        return reader, reader
    parts, size = [], 0
    while part := reader.read(1 << 20):
        parts.append(part)
        size += len(part)
        if size > most:
            raise TooMuch
    return reader, b"".join(parts)


# -- blank nodes under names of ours


def _load_named(
    file: BinaryIO,
    order: dict[str, Any],
    fill: Callable[[Iterator[list[ox.Quad]]], None],
    lenient: bool,
) -> tuple[str, dict[str, str]]:
    """Parse in chunks. The SHA-256 of the file, and the prefixes that it declares near its
    beginning."""
    reader, data = _opened(file, order)
    format, prefixes = order["format"], dict[str, str]()
    parser = ox.parse(input=data, format=_FORMATS[format], base_iri=BASE_IRI, lenient=lenient)
    lines = format in ("n-triples", "n-quads") and isinstance(data, bytes)

    def chunks() -> Iterator[list[ox.Quad]]:
        names: dict[str, ox.BlankNode] | None = None if lines and b"_:" not in data else {}
        first = True
        while chunk := list(islice(parser, PREFIX_STATEMENTS)):
            if first:
                prefixes.update(_usable(parser.prefixes))
                first = False
            if names is not None:
                _rename(chunk, names)
            yield chunk
        if first:
            prefixes.update(_usable(parser.prefixes))
        digest.append(reader.finish())  # here, while the last chunks are still being stored

    digest: list[str] = []
    fill(chunks())
    return digest[0], prefixes


def _rename(chunk: list[ox.Quad], names: dict[str, ox.BlankNode]) -> None:
    """Number blank nodes as they come, so that reading the file again names them alike."""

    def name(term: Any) -> Any:
        if isinstance(term, ox.BlankNode):
            return names.setdefault(term.value, ox.BlankNode(f"n{len(names)}"))
        if isinstance(term, ox.Triple):
            return ox.Triple(name(term.subject), term.predicate, name(term.object))
        return term

    for at, quad in enumerate(chunk):
        if (
            type(quad.subject) in _MAY_BE_BLANK
            or type(quad.object) in _MAY_BE_BLANK
            or quad.graph_name != _NO_GRAPH
        ):
            chunk[at] = ox.Quad(
                name(quad.subject), quad.predicate, name(quad.object), name(quad.graph_name)
            )


def _fill(
    store: ox.Store,
    chunks: Iterator[list[ox.Quad]],
    most: int,
    *,
    beside: bool,
    tally: Tally | None,
) -> None:
    """Store what is parsed; `beside`: at the same time, in a thread. TooMuch after twice `most`
    quads.

    The store works without Python's lock. With a core to spare this takes a fifth less time;
    without one, half more, because two threads then wait for each other's turn.
    """
    storing = _Storing(store) if beside else None
    try:
        seen = 0
        for chunk in chunks:
            seen += len(chunk)
            if most and seen > 2 * most:
                raise TooMuch
            if storing is None:
                store.extend(chunk)
            elif not storing.put(chunk):
                break
            if tally is not None:
                tally.add(chunk)
    finally:
        if storing is not None:
            storing.end()


class _Storing:
    """A thread that stores chunks."""

    def __init__(self, store: ox.Store) -> None:
        self._store = store
        self._todo: Queue[list[ox.Quad] | None] = Queue(maxsize=CHUNKS_AHEAD)
        self._failed: list[BaseException] = []
        self._thread = _beside(self._run, THREAD_STACK_BYTES)

    def put(self, chunk: list[ox.Quad]) -> bool:
        """Whether it makes sense to go on."""
        self._todo.put(chunk)
        return not self._failed

    def end(self) -> None:
        """Wait until all is stored, or raise what came in between."""
        self._todo.put(None)
        self._thread.join()
        if self._failed:
            raise self._failed[0]

    def _run(self) -> None:
        while chunk := self._todo.get():
            try:
                if not self._failed:
                    self._store.extend(chunk)
            except BaseException as exc:  # raised again in `end`
                self._failed.append(exc)


# -- prefixes and errors


def _prefixes(file: BinaryIO, order: dict[str, Any]) -> dict[str, str]:
    """The prefixes that a file declares near its beginning: loading in bulk does not tell them."""
    if order["format"] in ("n-triples", "n-quads", "json-ld"):
        return {}
    reader: Any = reading.Reader(file, order["format"], gzipped=order["gzipped"])
    parser = ox.parse(
        input=reader, format=_FORMATS[order["format"]], base_iri=BASE_IRI, lenient=True
    )
    with contextlib.suppress(SyntaxError, StopIteration):
        for _ in range(PREFIX_STATEMENTS):
            next(parser)
    return _usable(parser.prefixes)


def _usable(prefixes: dict[str, str]) -> dict[str, str]:
    found = {}
    for prefix, namespace in prefixes.items():
        with contextlib.suppress(ValueError):  # what a query would not take
            found[prefix] = ox.NamedNode(namespace).value
    return found


def brief(error: SyntaxError) -> str:
    """What a parser objects to, on one line."""
    return " ".join(str(error.msg or error).split())[:400]


def _line_of(error: SyntaxError) -> int | None:
    return error.lineno if isinstance(error.lineno, int) else None


def _at_line(error: SyntaxError) -> str:
    return "" if _line_of(error) is None or "line" in str(error.msg) else f" (line {error.lineno})"
