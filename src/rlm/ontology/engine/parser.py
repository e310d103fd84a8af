"""Loading a file into a store, in the worker. What cannot be read is NotRDF, maybe with its line.

What is not quite by the standard (an IRI with a blank in it, a language tag that nobody knows) is
common in files that people use: a file that fails is tried again without these checks, and a note
says so.

A file may be read more than once, for memory, for the cache, and for the cache again. Blank nodes
are numbered in the order of the file, so that they have the same names each time.
"""

from __future__ import annotations

import contextlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import chain, islice
from typing import Any, BinaryIO

import pyoxigraph as ox

from rlm.errors import NotRDF
from rlm.ontology.engine.safe_input import SafeReader, check_jsonld

BASE_IRI = "urn:rlm:base/"
"""What relative IRIs are relative to. Not the file's path: one content is one graph anywhere."""
PREFIX_STATEMENTS = 1000
Order = dict[str, Any]
_MAY_BE_BLANK = (ox.BlankNode, ox.Triple)
_NO_GRAPH = ox.DefaultGraph()
# Who said a fact is no fact: the provenance of a dataset of ours is read by GRAPH only.
_UNION = (
    "INSERT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } "
    'FILTER(ISBLANK(?g) || !REGEX(STR(?g), "^urn:rlm:[^:/]+:prov$")) }'
)
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


def parse_file(
    file: BinaryIO, order: Order, on_disk: ox.Store | None = None
) -> tuple[ox.Store, dict[str, Any]]:
    """A file in a store in memory, or in an empty one on disk, and what is to be known of it.
    Raises NotRDF or TooMuch."""

    store = ox.Store() if on_disk is None else on_disk
    notes: list[str] = []
    try:
        digest, prefixes = _load(file, order, store, lenient=False)
    except SyntaxError as first:
        file.seek(0)
        if on_disk is None:
            store = ox.Store()  # what failed half-way would stay in memory
        store.clear()
        line = first.lineno if isinstance(first.lineno, int) else None
        try:
            digest, prefixes = _load(file, order, store, lenient=True)
        except SyntaxError:
            raise NotRDF(brief(first), line=line) from first
        where = "" if line is None or "line" in str(first.msg) else f" (line {line})"
        notes.append(f"not quite by the standard, read all the same: {brief(first)}{where}")
    triples = _unite_graphs(store)
    if not triples:
        if order["format"] == "json-ld":
            raise NotRDF("this JSON holds no JSON-LD: there is not one statement in it")
        notes.append("there is not one statement in it")
    if order["most_triples"] and triples > order["most_triples"]:
        raise TooMuch
    return store, {"sha256": digest, "prefixes": prefixes, "notes": notes, "triples": triples}


def _unite_graphs(store: ox.Store) -> int:
    """Have the statements of all graphs in the default one, each once; how many there are. The
    engine's own union repeats what several graphs say."""
    if next(iter(store.named_graphs()), None) is None:
        return len(store)
    store.update(_UNION)
    return sum(1 for _ in store.quads_for_pattern(None, None, None, _NO_GRAPH))


def brief(error: SyntaxError) -> str:
    """What a parser objects to, on one line."""
    return " ".join(str(error.msg or error).split())[:400]


def _open_input(file: BinaryIO, order: Order) -> tuple[Any, Callable[[], str]]:
    """What to give to a parser (bytes, which is faster, or a file), and how to get its SHA-256."""
    most = order["most_bytes"]
    if most and not order["gzipped"] and order["format"] in _PLAIN:
        raw = file.read()
        if len(raw) > most:
            raise TooMuch
        return raw.removeprefix(BOM_UTF8), lambda: sha256(raw).hexdigest()
    reader = SafeReader(file, order["format"], gzipped=order["gzipped"])
    if not most and order["format"] != "json-ld":
        return reader, reader.finish
    parts, size = [], 0
    while part := reader.read(1 << 20):
        parts.append(part)
        size += len(part)
        if most and size > most:
            raise TooMuch
    data = b"".join(parts)
    if order["format"] == "json-ld":
        check_jsonld(data)
    return data, reader.finish


# -- blank nodes under names of ours


def _load(
    file: BinaryIO, order: Order, store: ox.Store, *, lenient: bool
) -> tuple[str, dict[str, str]]:
    """The SHA-256 of the file, and the prefixes declared near its beginning. TooMuch after twice as
    many statements as are meant for memory: some may be repetitions."""
    data, finish = _open_input(file, order)
    format, prefixes = order["format"], dict[str, str]()
    parser = ox.parse(input=data, format=_FORMATS[format], base_iri=BASE_IRI, lenient=lenient)
    lines = format in ("n-triples", "n-quads") and isinstance(data, bytes)
    names: dict[str, ox.BlankNode] | None = None if lines and b"_:" not in data else {}

    def chunks() -> Iterator[list[ox.Quad]]:
        seen = 0
        while chunk := list(islice(parser, PREFIX_STATEMENTS)):
            if not seen:
                prefixes.update(_usable(parser.prefixes))
            seen += len(chunk)
            if order["most_triples"] and seen > 2 * order["most_triples"]:
                raise TooMuch
            if names is not None:
                _rename(chunk, names)
            yield chunk

    store.bulk_extend(chain.from_iterable(chunks()))
    return finish(), prefixes or _usable(parser.prefixes)


def _rename(chunk: list[ox.Quad], names: dict[str, ox.BlankNode]) -> None:
    """Number blank nodes as they come, so that reading the file again names them alike."""

    def name(term: Any) -> Any:
        if isinstance(term, ox.BlankNode):
            return names.setdefault(term.value, ox.BlankNode(f"n{len(names)}"))
        if isinstance(term, ox.Triple):
            return ox.Triple(name(term.subject), term.predicate, name(term.object))
        return term

    for at, quad in enumerate(chunk):
        s, o, graph = quad.subject, quad.object, quad.graph_name
        if type(s) in _MAY_BE_BLANK or type(o) in _MAY_BE_BLANK or graph != _NO_GRAPH:
            chunk[at] = ox.Quad(name(s), quad.predicate, name(o), name(graph))


def _usable(prefixes: dict[str, str]) -> dict[str, str]:
    found = {}
    for prefix, namespace in prefixes.items():
        with contextlib.suppress(ValueError):  # what a query would not take
            found[prefix] = ox.NamedNode(namespace).value
    return found
