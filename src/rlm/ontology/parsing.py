"""Loading a file into a store, in the worker. What cannot be read is NotRDF, with the line where the parser knows it.

What is not quite by the standard (an IRI with a blank in it, a language tag that nobody knows) is common in files that
people use: a file that fails is tried again without these checks, and a note says so.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import pyoxigraph as ox

from rlm.errors import NotRDF
from rlm.ontology import reading

BASE_IRI = "urn:rlm:base/"
"""What relative IRIs in a file are relative to. Not the file's path: the same content is the same graph anywhere."""
PREFIX_STATEMENTS = 1000
_FORMATS = {
    "turtle": ox.RdfFormat.TURTLE,
    "n-triples": ox.RdfFormat.N_TRIPLES,
    "n-quads": ox.RdfFormat.N_QUADS,
    "trig": ox.RdfFormat.TRIG,
    "rdf-xml": ox.RdfFormat.RDF_XML,
    "json-ld": ox.RdfFormat.JSON_LD,
}


def parse(file: BinaryIO, order: dict[str, Any], store: ox.Store, *, on_disk: bool) -> dict[str, Any]:
    """Load a file into an empty store; what is to be known of it. NotRDF when it cannot be read."""
    notes: list[str] = []
    try:
        digest = _load(file, order, store, on_disk=on_disk, lenient=False)
    except SyntaxError as first:
        file.seek(0)
        store.clear()
        try:
            digest = _load(file, order, store, on_disk=on_disk, lenient=True)
        except SyntaxError:
            raise NotRDF(brief(first), line=_line_of(first)) from first
        notes.append(f"not quite by the standard, read all the same: {brief(first)}{_at_line(first)}")
    triples = len(store)
    if not triples:
        if order["format"] == "json-ld":
            raise NotRDF("this JSON holds no JSON-LD: there is not one statement in it")
        notes.append("there is not one statement in it")
    file.seek(0)
    graphs = next(iter(store.named_graphs()), None) is not None
    return {"sha256": digest, "triples": triples, "graphs": graphs, "prefixes": _prefixes(file, order), "notes": notes}


def _load(file: BinaryIO, order: dict[str, Any], store: ox.Store, *, on_disk: bool, lenient: bool) -> str:
    reader = reading.Reader(file, order["format"], gzipped=order["gzipped"])
    data: Any = reader  # a parser asks only for `read`
    if order["format"] == "json-ld":
        data = reader.read()
        reading.check_jsonld(data)
    format = _FORMATS[order["format"]]
    if on_disk:
        store.bulk_load(input=data, format=format, base_iri=BASE_IRI, lenient=lenient)
    else:
        store.bulk_extend(_renamed(ox.parse(input=data, format=format, base_iri=BASE_IRI, lenient=lenient)))
    return reader.finish()


def _renamed(quads: Iterable[ox.Quad]) -> Iterator[ox.Quad]:
    """The same quads with blank nodes numbered as they come, so that parsing again names them alike."""
    names: dict[str, ox.BlankNode] = {}

    def name(term: Any) -> Any:
        if isinstance(term, ox.BlankNode):
            return names.setdefault(term.value, ox.BlankNode(f"n{len(names)}"))
        if isinstance(term, ox.Triple):
            return ox.Triple(name(term.subject), term.predicate, name(term.object))
        return term

    for quad in quads:
        yield ox.Quad(name(quad.subject), quad.predicate, name(quad.object), name(quad.graph_name))


def _prefixes(file: BinaryIO, order: dict[str, Any]) -> dict[str, str]:
    """The prefixes that a file declares near its beginning: loading in bulk does not tell them."""
    if order["format"] in ("n-triples", "n-quads", "json-ld"):
        return {}
    reader: Any = reading.Reader(file, order["format"], gzipped=order["gzipped"])
    parser = ox.parse(input=reader, format=_FORMATS[order["format"]], base_iri=BASE_IRI, lenient=True)
    with contextlib.suppress(SyntaxError, StopIteration):
        for _ in range(PREFIX_STATEMENTS):
            next(parser)
    found = {}
    for prefix, namespace in parser.prefixes.items():
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
