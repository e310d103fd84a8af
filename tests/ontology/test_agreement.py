"""Our engine and rdflib, asked the same of the same data, give the same answers: query by query,
file by file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from agreement import DERIVED, XSD, Row, multiset, our_rows, their_rows
from corpus_agreement import ANYWHERE, NAMED, ODD, OVER_NAMED, OVER_ODD, Ask
from corpus_queries import DATA, QUERIES
from corpus_queries import NAMED as DATA_NAMED
from rdflib import Dataset, Graph, Literal, URIRef
from rdflib.plugins.sparql import prepareQuery

from all_cases import all_cases
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.engine.parser import BASE_IRI

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")

NO_ORDER = "which rows it keeps is left to the engine: only their number is compared"
COUNTED = {
    "limit 007", "limit in small letters", "comment between limit and number", "limit in and out",
    "limit, trailing values", "limit, offset, values", "some of many", "without the first",
}  # fmt: skip

LEFT_OUT = {
    # what SPARQL leaves to the engine
    "group_concat": "the order of GROUP_CONCAT is the engine's own",
    "count distinct": "SAMPLE is any one of the values",
    "subselect twice": (
        "which rows the inner LIMIT keeps is the engine's own, and a join multiplies them"
    ),
    "describe, limit": "which one is described is the engine's own",
    # where rdflib is not what SPARQL says
    "limit at the largest": "rdflib cannot count that far",
    "path inverse, negation, choice": "rdflib cannot negate ^a",
    "names with dots and escapes": r"rdflib keeps the backslash of ex:c\-d",
    "construct short, offset": "rdflib fails on CONSTRUCT WHERE with ORDER BY",
    "construct nothing": "rdflib takes an empty template for CONSTRUCT WHERE",
    "describe star": "rdflib fails on DESCRIBE *",
    "bind": "rdflib makes decimals of whole numbers that it multiplies",
    "round and back": (
        "rdflib gives the start of a path p* once more when the path comes back to it"
    ),
    "or with an error": "rdflib compares a text with a number, which is an error to SPARQL",
    # not in the grammar of SPARQL 1.1
    "lateral": "only pyoxigraph reads it",
    "triple term": "only pyoxigraph reads it",
    # where pyoxigraph is not what SPARQL says
    "domain or range": (
        "pyoxigraph gives a pair once that both sides of a path p|q give; SPARQL has it twice"
    ),
    "all graphs as one": (
        "pyoxigraph gives a statement once for each graph that it is in; SPARQL has a set"
    ),
}
"""Query → why the two engines need not agree on it. Beside these, pyoxigraph keeps xsd:int and its
like as xsd:integer: rdflib is given them so."""


@dataclass(frozen=True)
class Sample:
    """Data, where it comes from, and what is asked of it."""

    name: str
    write: Callable[[Path, Path], Path]
    asks: tuple[Ask, ...]


def _written(name: str, text: str) -> Callable[[Path, Path], Path]:
    def write(folder: Path, _: Path) -> Path:
        (folder / name).write_text(text, "utf-8")
        return folder / name

    return write


def _own(name: str) -> Callable[[Path, Path], Path]:
    return lambda _, root: root / "ontology" / f"{name}.ttl"


def _shared(name: str) -> Callable[[Path, Path], Path]:
    def find(_: Path, root: Path) -> Path:
        if not (root.parent / "shared").is_dir():
            pytest.skip("there is no ../shared here")
        return root.parent / "shared" / "ontologies" / f"{name}.ttl"

    return find


def _generated(triples: int) -> Callable[[Path, Path], Path]:
    def write(folder: Path, root: Path) -> Path:
        with (
            pytest.MonkeyPatch.context() as patch
        ):  # bench lies beside the package and is not installed
            patch.syspath_prepend(root)
            import_module("bench.ontology_data").write_ontology(folder / "big.ttl", triples, 11)
        return folder / "big.ttl"

    return write


FORMS = tuple(Ask(query.name, query.text, bare=True) for query in QUERIES)
BIRDS = DATA + "".join(f"<{graph}> {{ {text} }}\n" for graph, text in DATA_NAMED.items())
SAMPLES = (
    Sample("birds", _written("birds.trig", BIRDS), FORMS),
    Sample("odd", _written("odd.ttl", ODD), OVER_ODD),
    Sample("named", _written("named.trig", NAMED), OVER_NAMED),
    Sample("harbour", _own("harbour"), ANYWHERE),
    Sample("shared skos", _shared("skos"), ANYWHERE),
    Sample("generated 1,000", _generated(1_000), ANYWHERE),
)
OTHERS = sorted(
    path.stem
    for path in (Path(__file__).parents[2] / "ontology").glob("*.ttl")
    if path.stem != "harbour"
)
SLOW = (
    *(Sample(name, _own(name), ANYWHERE) for name in OTHERS),
    Sample("shared prov", _shared("prov"), ANYWHERE),
    Sample("shared void", _shared("void"), ANYWHERE),
    Sample("generated 5,000", _generated(5_000), ANYWHERE),
)


class Both:
    """One file in both engines."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.engine = LocalEngine(path, cache_dir=folder / "cache")
        self.graph: Graph = Dataset(default_union=True) if path.suffix == ".trig" else Graph()
        self.graph.parse(path, publicID=BASE_IRI)
        for one in list(self.graph.graphs()) if isinstance(self.graph, Dataset) else [self.graph]:
            for s, p, o in list(one):
                if isinstance(o, Literal) and str(o.datatype) in DERIVED:
                    one.remove((s, p, o))
                    one.add((s, p, Literal(str(o), datatype=URIRef(XSD + "integer"))))


@pytest.fixture(scope="module")
def both(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Sample], Both]]:
    opened: dict[str, Both] = {}

    def both(sample: Sample) -> Both:
        if sample.name not in opened:
            folder = tmp_path_factory.mktemp("agreement")
            opened[sample.name] = Both(sample.write(folder, root), folder)
        return opened[sample.name]

    yield both
    for one in opened.values():
        one.engine.close()


@cache
def prepared(text: str) -> Any:
    return prepareQuery(text)


def agree(both: Both, ask: Ask) -> None:
    answer, result = both.engine.query(ask.text, limit=10_000), both.graph.query(prepared(ask.text))
    assert not answer.truncated
    ours, theirs = our_rows(answer), their_rows(result)
    assert len(ours) == len(theirs)
    if ask.name in COUNTED:
        return
    assert multiset(ours) == multiset(theirs)
    if answer.kind == "select":
        assert sorted(answer.variables) == sorted(map(str, result.vars or ()))
    if ask.keys:
        places = [sorted(answer.variables).index(key) for key in ask.keys]
        assert _keys(ours, places) == _keys(theirs, places)


def _keys(rows: list[Row], places: list[int]) -> list[list[object]]:
    return [[row[place] for place in places] for row in rows]


def _cases(samples: tuple[Sample, ...]) -> list[Any]:
    return [
        pytest.param(sample, ask, id=f"{sample.name}: {ask.name}")
        for sample in samples
        for ask in sample.asks
        if ask.name not in LEFT_OUT
    ]


@pytest.mark.req("UT-03")
@all_cases(("sample", "ask"), _cases(SAMPLES))
def test_both_engines_give_the_same_answer(
    both: Callable[[Sample], Both], sample: Sample, ask: Ask
) -> None:
    agree(both(sample), ask)


@pytest.mark.slow
@pytest.mark.parametrize(("sample", "ask"), _cases(SLOW))
def test_both_engines_give_the_same_answer_over_more(
    both: Callable[[Sample], Both], sample: Sample, ask: Ask
) -> None:
    agree(both(sample), ask)


def test_the_corpus_is_large_and_what_is_left_out_is_in_it() -> None:
    asks = {ask.name: ask for sample in SAMPLES for ask in sample.asks}
    assert len(asks) - len(LEFT_OUT) > 180
    assert set(LEFT_OUT) <= set(asks) and set(COUNTED) <= set(asks)
    assert len(LEFT_OUT) < 20 and all(len(reason) > 20 for reason in LEFT_OUT.values())


# -- the comparison itself


def _node(name: str) -> tuple[str, str]:
    return ("bnode", name)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ([("a", "b"), ("b", "c")], [("x", "y"), ("y", "z")], True),
        ([("a", "b"), ("b", "c")], [("x", "y"), ("z", "y")], False),
        ([("a", "b"), ("b", "a")], [("x", "x"), ("y", "y")], False),
        ([("a", "b"), ("a", "b")], [("x", "y")], False),
        ([("a", "b"), ("a", "c")], [("x", "y"), ("x", "y")], False),
    ],
)
def test_blank_nodes_are_told_apart_by_where_they_stand(
    one: list[tuple[str, str]], other: list[tuple[str, str]], same: bool
) -> None:
    made = [multiset([tuple(_node(name) for name in row) for row in rows]) for rows in (one, other)]
    assert (made[0] == made[1]) is same
