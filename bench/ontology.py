"""Ontologies: the first load, GraphMeta, a three-hop query and opening again, beside rdflib in the
same run.

Each side does the same work in the way its users would write it, by turns, each time in a new
process. A load is from the file to the first moment at which it can be asked, by an engine that has
started, and once more with its start: ours is a confined Python that imports the engine, rdflib's
is the import of rdflib. GraphMeta is what `rlm.ontology.meta.graph_meta` holds, and its index by
label: ours is gathered in the worker, sent over and read; rdflib's is built by `describe` below
from the graph's own iterators, each walked once where that is possible.

Of several turns the median counts, on both sides. The ratios of the single turns are told beside
it.
"""

from __future__ import annotations

import heapq
import json
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, TypeVar
from unittest.mock import patch

import rlm.ontology.meta.builder  # noqa: F401 - both sides are loaded before the clock starts
from bench.ontology_data import write_ontology
from bench.report import table
from rlm.ontology.engine.loader import Loader
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.engine.protocol import EngineLimits
from rlm.ontology.engine.worker import Worker
from rlm.ontology.meta import class_use
from rlm.ontology.meta.graph_meta import INDIVIDUALS

THEIRS = "import sys; from bench.ontology import rdflib_side; rdflib_side(*sys.argv[1:])"
SAMPLE = INDIVIDUALS
"""Individuals whose labels are kept, on both sides."""
ASKED = 5
START_S = 0.3
"""By then a worker waits for its first order."""
ROUNDS, LARGE = 5, 200_000
"""Everything is done so often, and once from so many triples on."""
HOW = (
    f"Both sides by turns, each turn in new processes. A time is the median of {ROUNDS} turns"
    " (of one turn at 1 M);\nin brackets the ratios of single turns."
)
T = TypeVar("T")


def run(folder: Path, sizes: list[int]) -> str:
    """One table for all sizes: the median of several turns."""
    folder.mkdir(parents=True)
    rows = []
    for size in sizes:
        path = folder / f"made-{size}.nt"
        summary = write_ontology(path, size, 7)
        hops = " . ".join(f"?{a} <{summary.link}> ?{b}" for a, b in ("ab", "bc", "cd"))
        query = f"SELECT (COUNT(*) AS ?n) WHERE {{ {hops} }}"
        rows += _rows(path, size, query, folder / f"cache-{size}")
        path.unlink()
    head = ("triples", "what", "rlm", "rdflib", "rdflib ÷ rlm")
    return f"## Ontologies\n\n{HOW}\n\n{table(head, rows)}\n"


def _rows(path: Path, size: int, query: str, cache: Path) -> list[tuple[str, ...]]:
    rounds = [
        _round(path, query, cache / str(turn)) for turn in range(1 if size >= LARGE else ROUNDS)
    ]
    ours = {what: median(turn[what] for turn, _ in rounds) for what in rounds[0][0]}
    most_mb = [f"{max(turn[side]['peak'] for turn in rounds):,.0f} MB" for side in (0, 1)]
    label, place = f"{size:,}", "memory" if ours["in_memory"] else "disk"
    again = f"first load {ours['load'] / ours['again']:.0f}× as long"
    return [
        _compared(label, "load, engine started", rounds, "parse"),
        _compared(label, "first load, with the start of the engine", rounds, "load"),
        _compared(label, "GraphMeta with its index by label", rounds, "meta"),
        _compared(label, f"three hops, from {place}", rounds, "asked"),
        _compared(
            label, "first load, GraphMeta and three hops together", rounds, "load", "meta", "asked"
        ),
        (label, "opened again, from the cache", _time(ours["again"]), "", again),
        (label, "GraphMeta again, from the cache", _time(ours["meta_again"]), "", ""),
        (label, "most memory, the process that answers", *most_mb, ""),
    ]


def _round(path: Path, query: str, cache: Path) -> tuple[dict[str, float], dict[str, float]]:
    """What both sides took, ours and theirs."""
    done = subprocess.run(
        [sys.executable, "-c", THEIRS, str(path), query], capture_output=True, text=True, check=True
    )
    theirs = json.loads(done.stdout)
    found, rows = theirs.pop("found"), theirs.pop("rows")
    ours = {"parse": _started(path, cache.with_suffix(".other"))}
    ours["load"], engine = _timed(lambda: LocalEngine(path, cache_dir=cache))
    with engine:
        ours["meta"], described = _timed(lambda: _ours(engine))
        assert described == found, (described, found)
        ours["asked"] = min(_timed(lambda: engine.query(query))[0] for _ in range(ASKED))
        counted = int(engine.query(query).rows[0]["n"]["v"])
        assert counted == rows, (counted, rows)
        ours["in_memory"], ours["peak"] = engine.in_memory, _peak_mb(engine)
        engine._loader.settle(600)
    ours["again"], engine = _timed(lambda: LocalEngine(path, cache_dir=cache))
    with engine:
        ours["meta_again"], _ = _timed(lambda: _ours(engine))
        assert engine.loaded_from_cache
    return ours, theirs


def _started(path: Path, cache: Path) -> float:
    """What a load takes where the worker is there already, and waits."""
    with patch.object(
        Loader,
        "_new_worker",
        lambda self, made=Loader._new_worker: waiting.pop() if waiting else made(self),
    ):
        limits = EngineLimits()
        waiting = [Worker(frame_bytes=limits.answer_bytes + (1 << 20))]
        time.sleep(START_S)
        spent, engine = _timed(lambda: LocalEngine(path, cache_dir=cache))
        engine.close()
    return spent


def _ours(engine: LocalEngine) -> dict[str, int]:
    found = engine.meta()
    return {
        "classes": len(found.classes),
        "individuals": found.individuals.count,
        "labels": sum(map(len, found.labels.values())),
        "by_label": len(found.by_label),
        "roots": len(found.roots),
        "subs": sum(map(len, found.subs.values())),
        "domains": sum(map(len, found.doms.values())),
        "ranges": sum(map(len, found.rngs.values())),
        "statements": sum(found.pred_freq.values()),
        "comments": len(found.comments),
        "instances": sum(found.all_instances.get(iri, n) for iri, n in found.classes.items()),
    }


def _compared(label: str, name: str, rounds: list[Any], *parts: str) -> tuple[str, ...]:
    """Both times, their ratio, and the least and most of it in single turns."""
    sums = [[sum(side[part] for part in parts) for side in sides] for sides in rounds]
    ours, theirs = map(median, zip(*sums, strict=True))
    told = f"{theirs / ours:.1f}×"
    if len(rounds) > 1:
        ratios = [there / here for here, there in sums]
        told += f" ({min(ratios):.1f} to {max(ratios):.1f})"
    return label, name, _time(ours), _time(theirs), told


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.0f} ms"


def _peak_mb(engine: LocalEngine) -> int:
    """The most that the process which answers has held so far."""
    assert engine._worker is not None
    return _most_mb(str(engine._worker.pid))


def _most_mb(process: str) -> int:
    """Not by getrusage, which counts what the process that started this one held."""
    status = Path(f"/proc/{process}/status").read_text("utf-8")
    return (
        int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
        // 1024
    )


def _timed(job: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    value = job()
    return time.perf_counter() - start, value


# -- the other side
# --------------------------------------------------------------------------------------


def rdflib_side(path: str, query: str) -> None:
    """Load, describe and ask with rdflib; prints what it took as JSON. Runs in a process of its
    own."""

    def imported() -> Any:
        import rdflib

        return rdflib

    start, rdflib = _timed(imported)
    parse, graph = _timed(lambda: rdflib.Graph().parse(path, format="nt"))
    meta, found = _timed(lambda: describe(graph))
    rows = [_timed(lambda: int(next(iter(graph.query(query)))[0])) for _ in range(ASKED)]
    told = {
        "load": start + parse,
        "parse": parse,
        "meta": meta,
        "found": found,
        "asked": min(seconds for seconds, _ in rows),
        "rows": rows[0][1],
        "peak": _most_mb("self"),
    }
    print(json.dumps(told))


def _pairs(graph: Any, predicate: Any) -> Iterator[tuple[Any, Any]]:
    from rdflib import URIRef

    found = graph.subject_objects(predicate)
    return ((s, o) for s, o in found if isinstance(s, URIRef) and isinstance(o, URIRef))


def _sides(graph: Any, predicate: Any) -> dict[Any, set[Any]]:
    from rdflib import OWL, BNode

    found: dict[Any, set[Any]] = defaultdict(set)
    for prop, end in graph.subject_objects(predicate):
        union = graph.value(end, OWL.unionOf) if isinstance(end, BNode) else None
        found[prop].update([end] if union is None else graph.items(union))
    return found


def _texts(
    graph: Any, languages: Counter[str], predicates: Iterable[Any], wanted: set[Any]
) -> dict[Any, list[tuple[str, str]]]:
    from rdflib import Literal

    found: dict[Any, list[tuple[str, str]]] = defaultdict(list)
    for predicate in predicates:
        for subject, value in graph.subject_objects(predicate):
            if isinstance(value, Literal) and subject in wanted:
                languages[value.language or ""] += 1
                found[subject].append((" ".join(value.split()), value.language or ""))
    return found


def _by_label(labels: Any, alternatives: Any, unlabelled: set[Any]) -> dict[str, set[Any]]:
    found: dict[str, set[Any]] = defaultdict(set)
    for source in (labels, alternatives):
        for iri, some in source.items():
            for text, _ in some:
                found[text.lower()].add(iri)
    for iri in unlabelled:
        found[" ".join(re.split(r"[#/]", iri)[-1].split("_")).lower()].add(iri)
    return found


def _members_below(iri: Any, subs: Mapping[Any, set[Any]], members: Mapping[Any, Any]) -> set[Any]:
    """The instances of a class and of all classes below it."""
    seen, todo = {iri}, [iri]
    while todo:
        fresh = subs.get(todo.pop(), set()) - seen
        seen |= fresh
        todo += fresh
    return {member for kind in seen for member in members.get(kind, ())}


def _have(graph: Any, things: Iterable[Any], most: int) -> dict[Any, tuple[int, Any, Any]]:
    """Property → how many of these things have it, the kinds of its values, and one value."""
    having: Counter[Any] = Counter()
    kinds: dict[Any, set[Any]] = defaultdict(set)
    sample: dict[Any, Any] = {}
    for thing in islice(things, most):
        said = list(graph.predicate_objects(thing))
        having.update({predicate for predicate, _ in said})
        for predicate, value in said:
            kinds[predicate].add(getattr(value, "datatype", None))
            sample.setdefault(predicate, value)
    return {prop: (count, kinds[prop], sample[prop]) for prop, count in having.items()}


def describe(graph: Any) -> dict[str, int]:
    """What a GraphMeta holds, by rdflib. Returns the sizes of its parts, by which both sides are
    compared."""
    from rdflib import DC, DCTERMS, FOAF, OWL, RDF, RDFS, SDO, SKOS, URIRef

    class_types = {OWL.Class, RDFS.Class, OWL.DeprecatedClass}
    property_types = {
        *(RDF.Property, OWL.ObjectProperty, OWL.DatatypeProperty, OWL.AnnotationProperty),
        *(OWL.FunctionalProperty, OWL.InverseFunctionalProperty),
        *(OWL.TransitiveProperty, OWL.SymmetricProperty),
    }
    machinery = (str(RDF), str(RDFS), str(OWL))

    # every statement once: use of the predicates, and the subjects
    pred_freq: Counter[Any] = Counter()
    subjects: set[Any] = set()
    for subject, predicate, _ in graph:
        pred_freq[predicate] += 1
        subjects.add(subject)

    # types
    declared, ontologies, individuals = set[Any](), set[Any](), set[Any]()
    kinds: dict[Any, set[Any]] = defaultdict(set)
    instances: Counter[Any] = Counter()
    members: dict[Any, list[Any]] = defaultdict(list)
    for subject, kind in graph.subject_objects(RDF.type):
        if kind in class_types:
            if isinstance(subject, URIRef):
                declared.add(subject)
        elif kind in property_types:
            kinds[subject].add(kind)
        elif kind == OWL.Ontology:
            ontologies.add(subject)
        elif isinstance(kind, URIRef):
            instances[kind] += 1
            if isinstance(subject, URIRef):
                individuals.add(subject)
                members[kind].append(subject)
    examples = {kind: heapq.nsmallest(3, some) for kind, some in members.items()}

    # hierarchy
    pairs = partial(_pairs, graph)
    supers, subs = defaultdict[Any, set[Any]](set), defaultdict[Any, set[Any]](set)
    for sub, sup in pairs(RDFS.subClassOf):
        if sup != OWL.Thing:
            supers[sub].add(sup)
            subs[sup].add(sub)
    equivalents = list(pairs(OWL.equivalentClass))
    disjoint = [tuple(sorted(pair)) for pair in pairs(OWL.disjointWith)]
    disjoint += [tuple(graph.items(members)) for _, members in graph.subject_objects(OWL.members)]
    classes = {
        iri: instances[iri] for iri in declared | instances.keys() | supers.keys() | subs.keys()
    }
    roots = sorted(iri for iri in declared | subs.keys() if not supers.get(iri))

    # instances of each class and of those below it, and what they have
    all_instances = {iri: _members_below(iri, subs, members) for iri in classes}
    largest = sorted(members, key=lambda iri: -len(members[iri]))[: class_use.LOOKED_AT]
    glances = {iri: _have(graph, members[iri], class_use.GLANCE) for iri in largest}
    main = largest[: class_use.CLASSES]
    use = {iri: _have(graph, all_instances[iri], class_use.SEEN) for iri in main}

    # properties
    domains, ranges = _sides(graph, RDFS.domain), _sides(graph, RDFS.range)
    super_properties, inverses = list(pairs(RDFS.subPropertyOf)), list(pairs(OWL.inverseOf))
    in_use = {iri for iri in pred_freq if not str(iri).startswith(machinery)}
    properties = {
        iri: pred_freq[iri] for iri in in_use | kinds.keys() | domains.keys() | ranges.keys()
    }
    deprecated = {
        subject
        for subject, value in graph.subject_objects(OWL.deprecated)
        if value.toPython() is True
    }

    # names and texts
    terms = classes.keys() | properties.keys() | ontologies
    untyped = {subject for subject in subjects - individuals - terms if isinstance(subject, URIRef)}
    sample = heapq.nsmallest(SAMPLE, individuals) + heapq.nsmallest(SAMPLE, untyped)
    wanted = terms | set(sample)
    texts = partial(_texts, graph, Counter())
    labels = texts(
        (RDFS.label, SKOS.prefLabel, DCTERMS.title, DC.title, FOAF.name, SDO.name), wanted
    )
    alternatives = texts(
        (SKOS.altLabel, SKOS.hiddenLabel, DCTERMS.alternative, SDO.alternateName, FOAF.nick), wanted
    )
    comments = texts((SKOS.definition, RDFS.comment, DCTERMS.description, DC.description), terms)
    by_label = _by_label(labels, alternatives, terms - labels.keys() - ontologies)
    held = (
        examples,
        equivalents,
        disjoint,
        super_properties,
        inverses,
        deprecated,
        glances,
        use,
    )  # not needed for the comparison
    assert len(held) == 8
    return {
        "classes": len(classes),
        "individuals": len(individuals),
        "labels": sum(map(len, labels.values())),
        "by_label": len(by_label),
        "roots": len(roots),
        "subs": sum(map(len, subs.values())),
        "domains": sum(map(len, domains.values())),
        "ranges": sum(map(len, ranges.values())),
        "statements": sum(pred_freq.values()),
        "comments": len(comments),
        "instances": sum(map(len, all_instances.values())),
    }
