"""Loading files into one store, in the worker. What cannot be read is NotRDF, maybe with its line.

What is not quite by the standard (an IRI with a blank in it, a language tag that nobody knows) is
common in files that people use: a file that fails is tried again without these checks, and a note
says so. A file that is optional and fails is left out.

An import is read where the order has a file for it, once, so that a cycle ends. What has none is
listed in the facts.

A file may be read more than once, for memory, for the cache, and for the cache again. Blank nodes
are numbered in the order of the files, so that they have the same names each time.
"""

from __future__ import annotations

import contextlib
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import chain, count, islice
from typing import Any, BinaryIO, NamedTuple

import pyoxigraph as ox

from rlm.errors import NotRDF
from rlm.ontology.background import Background
from rlm.ontology.engine.safe_input import SafeReader, check_jsonld, find_broken_line

BASE_IRI = "urn:rlm:base/"
"""What relative IRIs are relative to. Not the file's path: one content is one graph anywhere."""
PREFIX_STATEMENTS = 1000
Order = dict[str, Any]
_MAY_BE_BLANK = (ox.BlankNode, ox.Triple)
_NO_GRAPH = ox.DefaultGraph()
_OWL = "http://www.w3.org/2002/07/owl#"
_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_ONTOLOGY, _IMPORTS = ox.NamedNode(f"{_OWL}Ontology"), ox.NamedNode(f"{_OWL}imports")
_VERSION = ox.NamedNode(f"{_OWL}versionIRI")
_CLASS, _PROPERTIES = ox.NamedNode(f"{_OWL}Class"), ("ObjectProperty", "DatatypeProperty")
SHOWN = 3
# Who said a fact is no fact: the provenance of a dataset of ours is read by GRAPH only.
_UNION = (
    "INSERT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } "
    'FILTER(ISBLANK(?g) || !REGEX(STR(?g), "^urn:rlm:[^:/]+:prov$")) }'
)
_BLANK = re.compile(b"_:")  # found in a third of the time that `in` takes
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


class Failed(Exception):
    """The file with this number cannot be read."""

    def __init__(self, file: int, error: NotRDF) -> None:
        super().__init__(str(error))
        self.file, self.error = file, error


class WrittenStatements:
    """Stands where a store would: statements in N-Triples as a file writes them. A store keeps
    numbers and times by their value: "007"^^xsd:int is 7 there."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._store = ox.Store()  # what a load looks for

    def bulk_extend(self, quads: Iterator[ox.Quad]) -> None:
        while chunk := list(islice(quads, PREFIX_STATEMENTS)):
            self._store.extend(quad for quad in chunk if quad.predicate in (_IMPORTS, _VERSION))
            triples = (quad.triple for quad in chunk)
            self.parts.append(ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b"")

    def quads_for_pattern(self, *pattern: Any) -> Iterator[ox.Quad]:
        return self._store.quads_for_pattern(*pattern)

    def clear(self) -> None:
        self.parts.clear()
        self._store.clear()


def read_written(files: Sequence[BinaryIO], order: Order) -> tuple[str, dict[str, Any]]:
    """The statements as the files write them, and the hashes of these. Raises Failed."""
    found = WrittenStatements()
    load = _load_all(files, order, lambda: found)
    return b"".join(found.parts).decode("utf-8"), {"hashes": load.hashes}


def parse_files(
    files: Sequence[BinaryIO], order: Order, on_disk: ox.Store | None = None
) -> tuple[ox.Store, dict[str, Any]]:
    """Files in a store in memory, or in an empty one on disk, and what is to be known of it. Raises
    Failed or TooMuch."""
    # what failed half-way would stay in memory: a new one each time
    load = _load_all(files, order, lambda: ox.Store() if on_disk is None else on_disk)
    store = load.store
    triples = _unite_graphs(store)
    if not triples:
        if [each["format"] for each in order["files"]] == ["json-ld"]:
            raise Failed(0, NotRDF("this JSON holds no JSON-LD: there is not one statement in it"))
        load.notes.append((None, None, "there is not one statement in it"))
    if order["most_triples"] and triples > order["most_triples"]:
        raise TooMuch
    load.notes += describe_disagreements(store, load.versions)
    facts = {"hashes": load.hashes, "prefixes": load.prefixes, "notes": load.notes}
    return store, {**facts, "triples": triples, "imports": load.imports}


def _load_all(files: Sequence[BinaryIO], order: Order, new_store: Callable[[], Any]) -> _Load:
    """The load that succeeded, after as many as have found out how each file can be read."""
    lenient: dict[int, str] = {}
    left_out: dict[int, str] = {}
    while True:
        load = _Load(files, order, new_store(), lenient, left_out)
        try:
            load.run()
            return load
        except Failed as failed:  # what it left behind must go: load the others again
            checked = {failed.file, *range(order["named"])} - lenient.keys() - left_out.keys()
            for file in sorted(checked):
                load.check(file)
            load.store.clear()


class _Load:
    """One try at all files. `lenient` and `left_out` say why a file is not read as it should be."""

    def __init__(
        self,
        files: Sequence[BinaryIO],
        order: Order,
        store: Any,
        lenient: dict[int, str],
        left_out: dict[int, str],
    ) -> None:
        self._files, self._order, self.store = files, order, store
        self._lenient, self._left_out = lenient, left_out
        self._seen = self._blanks = 0
        self.hashes: list[str | None] = [None] * len(files)
        self.prefixes: dict[str, str] = {}
        self.notes: list[tuple[int | None, int | None, str]] = []
        """The file, its line, and what is to be said of it."""
        self.imports: list[tuple[str, int | None]] = []
        self.versions: dict[int, list[tuple[str, str]]] = {}

    def run(self) -> None:
        """Load the named files and what they import."""
        for file in range(self._order["named"]):
            self._read(file)
        found: dict[str, int | None] = {}
        while new := [iri for iri in self._named_imports() if iri not in found]:
            for iri in new:
                found[iri] = file = self._order["imports"].get(iri)
                if file is not None and self.hashes[file] is None:
                    self._read(file)
        named = [quad.subject for quad in _quads(self.store, _TYPE, _ONTOLOGY)]
        named += [quad.object for quad in _quads(self.store, _VERSION)]
        here = {term.value for term in named if isinstance(term, ox.NamedNode)}
        self.imports = [
            (iri, file) for iri, file in found.items() if file is not None or iri not in here
        ]

    def _named_imports(self) -> list[str]:
        objects = (quad.object for quad in _quads(self.store, _IMPORTS))
        return sorted({iri.value for iri in objects if isinstance(iri, ox.NamedNode)})

    def _read(self, file: int) -> None:
        """Put one file into the store. Failed when it cannot be read."""
        if (why := self._left_out.get(file)) is not None:
            self.notes.append((file, None, f"left out: {why}"))
            self.hashes[file] = ""
            return
        if (why := self._lenient.get(file)) is not None:
            self.notes.append((file, None, f"not quite by the standard, read all the same: {why}"))
        try:
            self._load(file, lenient=file in self._lenient)
        except SyntaxError as exc:
            raise Failed(file, NotRDF(brief(exc), line=_line(exc))) from exc
        except NotRDF as exc:
            raise Failed(file, exc) from exc

    def check(self, file: int) -> None:
        """Find out how a file can be read, without loading it."""
        strict: SyntaxError | NotRDF | None = None
        for lenient in (False, True):
            self._files[file].seek(0)
            try:
                opened = _open_input(self._files[file], self._order["files"][file], self._order)
                for _ in _parse(opened, lenient=lenient):
                    pass
                opened.finish()
            except (SyntaxError, NotRDF) as exc:
                strict = strict or exc
                continue
            finally:
                self._files[file].seek(0)
            if isinstance(strict, SyntaxError):
                line = _line(strict)
                where = "" if line is None or "line" in str(strict.msg) else f" (line {line})"
                self._lenient[file] = brief(strict) + where
            return
        assert strict is not None
        error = strict
        if isinstance(error, SyntaxError):
            error = NotRDF(brief(error), line=_line(error) or self._find_line(file))
        if not self._order["files"][file]["optional"]:
            raise Failed(file, error) from strict
        self._left_out[file] = (f"line {error.line}: " if error.line else "") + str(error)

    def _find_line(self, file: int) -> int | None:
        """Where XML is broken, which the parser does not say."""
        kind = self._order["files"][file]
        if kind["format"] != "rdf-xml":
            return None
        self._files[file].seek(0)
        reader = SafeReader(self._files[file], "rdf-xml", gzipped=kind["gzipped"])
        return find_broken_line(iter(lambda: reader.read(1 << 16), b""))

    def _load(self, file: int, *, lenient: bool) -> None:
        """TooMuch after twice as many statements as are meant for memory: some may be
        repetitions."""
        self._files[file].seek(0)
        opened = _open_input(self._files[file], self._order["files"][file], self._order)
        has_blanks = not opened.is_lines or _BLANK.search(opened.data) is not None
        names: dict[str, ox.BlankNode] | None = {} if has_blanks else None
        most = self._order["most_triples"]
        first = self._blanks
        if names is None and len(self._files) == 1 and self._order["mode"] == "memory":
            self._load_lines(opened, most, lenient=lenient)
            self.hashes[file] = opened.finish()
            return

        parser = _parse(opened, lenient=lenient)
        own: dict[str, str] = {}

        def chunks() -> Iterator[list[ox.Quad]]:
            is_first = True
            while chunk := list(islice(parser, PREFIX_STATEMENTS)):
                if is_first:
                    own.update(_usable({**opened.prefixes, **parser.prefixes}))
                is_first = False
                self._seen += len(chunk)
                if most and self._seen > 2 * most:
                    raise TooMuch
                if names is not None:
                    _rename(chunk, names, first)
                if len(self._files) > 1:
                    self._note_versions(file, chunk)
                yield chunk

        self.store.bulk_extend(chain.from_iterable(chunks()))
        self._blanks += len(names or ())
        self.hashes[file] = opened.finish()
        self._bind(file, own or _usable({**opened.prefixes, **parser.prefixes}))
        self.notes += [(file, line, text) for line, text in opened.notes]

    def _load_lines(self, opened: _Input, most: int, *, lenient: bool) -> None:
        """Leave a file of which nothing has to be known to the store: a fifth sooner."""
        if most and opened.data.count(b"\n") > 2 * most:
            raise TooMuch
        format = _FORMATS[opened.format]
        self.store.load(opened.data, format=format, base_iri=BASE_IRI, lenient=lenient)

    def _note_versions(self, file: int, chunk: list[ox.Quad]) -> None:
        self.versions.setdefault(file, []).extend(
            (quad.subject.value, quad.object.value)
            for quad in chunk
            if quad.predicate == _VERSION
            and isinstance(quad.object, ox.NamedNode)
            and isinstance(quad.subject, ox.NamedNode)
        )

    def _bind(self, file: int, prefixes: dict[str, str]) -> None:
        """Of two files that use one prefix for two namespaces, the first keeps it."""
        for prefix, space in prefixes.items():
            bound = self.prefixes.setdefault(prefix, space)
            if bound == space or not prefix or space in self.prefixes.values():
                continue
            free = next(f"{prefix}{n}" for n in count(2) if f"{prefix}{n}" not in self.prefixes)
            self.prefixes[free] = space
            said = f"the prefix {prefix}: is <{space}> here and <{bound}> in a file before"
            self.notes.append((file, None, f"{said}: it is {free}: here"))


def _line(error: SyntaxError) -> int | None:
    return error.lineno if isinstance(error.lineno, int) else None


def _quads(
    store: ox.Store, predicate: ox.NamedNode, object: ox.NamedNode | None = None
) -> Iterator[Any]:
    return store.quads_for_pattern(None, predicate, object, None)


def describe_disagreements(
    store: ox.Store, versions: Mapping[int, list[tuple[str, str]]]
) -> list[tuple[int | None, int | None, str]]:
    """Notes for an ontology that is there in two versions, and for terms of several kinds that OWL
    keeps apart."""
    notes: list[tuple[int | None, int | None, str]] = []
    seen: dict[str, tuple[int, str]] = {}
    for file, pairs in versions.items():
        for iri, version in pairs:
            other, before = seen.setdefault(iri, (file, version))
            if before != version:
                said = f"<{iri}> is version <{version}> here and <{before}> in file {other + 1}"
                notes.append((file, None, f"{said}: both are read"))
    kinds: dict[str, set[str]] = {}
    for name in _PROPERTIES:  # there are few of them, also where there are many classes
        for quad in _quads(store, _TYPE, ox.NamedNode(f"{_OWL}{name}")):
            if isinstance(quad.subject, ox.NamedNode):
                kinds.setdefault(quad.subject.value, set()).add(name)
    for iri, found in kinds.items():
        if next(store.quads_for_pattern(ox.NamedNode(iri), _TYPE, _CLASS, None), None):
            found.add("Class")
    several = sorted(iri for iri, found in kinds.items() if len(found) > 1)
    if several:
        shown = "; ".join(f"<{iri}> ({', '.join(sorted(kinds[iri]))})" for iri in several[:SHOWN])
        more = f" and {len(several) - SHOWN:,} more" if len(several) > SHOWN else ""
        notes.append((None, None, f"of several kinds that OWL keeps apart: {shown}{more}"))
    return notes


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


class _Input(NamedTuple):
    """What a parser is given: bytes, which is faster, or a file. `finish` gives its SHA-256."""

    data: Any
    format: str
    finish: Callable[[], str]
    prefixes: Mapping[str, str] = {}
    notes: Sequence[tuple[int, str]] = ()

    @property
    def is_lines(self) -> bool:
        return self.format in ("n-triples", "n-quads") and isinstance(self.data, bytes)


def _open_input(file: BinaryIO, kind: Mapping[str, Any], order: Order) -> _Input:
    most, format, gzipped = order["most_bytes"], kind["format"], kind["gzipped"]
    if most and not gzipped and format in _PLAIN:
        raw = file.read()
        if len(raw) > most:
            raise TooMuch
        hashed = Background(lambda: sha256(raw).hexdigest())
        return _Input(raw.removeprefix(BOM_UTF8), format, hashed.result)
    reader = SafeReader(file, format, gzipped=gzipped)
    if not most and format != "json-ld" and not kind["convert"]:
        return _Input(reader, format, reader.finish, reader.prefixes)
    parts, size = [], 0
    while part := reader.read(1 << 20):
        parts.append(part)
        size += len(part)
        if most and size > most:
            raise TooMuch
    data = b"".join(parts)
    if format == "json-ld":
        check_jsonld(data)
    if not kind["convert"]:
        return _Input(data, format, reader.finish, reader.prefixes)
    from rlm.ontology.engine.owl_syntax import convert  # loaded before the walls stood

    data, prefixes, notes = convert(data, kind["convert"])
    return _Input(data, "rdf-xml", reader.finish, prefixes, notes)


def _parse(opened: _Input, *, lenient: bool) -> ox.QuadParser:
    format = _FORMATS[opened.format]
    return ox.parse(input=opened.data, format=format, base_iri=BASE_IRI, lenient=lenient)


# -- blank nodes under names of ours


def _rename(chunk: list[ox.Quad], names: dict[str, ox.BlankNode], first: int) -> None:
    """Number blank nodes as they come, so that reading the file again names them alike."""

    def name(term: Any) -> Any:
        if isinstance(term, ox.BlankNode):
            return names.setdefault(term.value, ox.BlankNode(f"n{first + len(names)}"))
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
