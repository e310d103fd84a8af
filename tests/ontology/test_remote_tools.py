"""The tools of an ontology over a real endpoint: they answer as over a file, from inside the REPL
too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from endpoint_server import DATA, BadServer, engine, oxigraph, rows
from repl_running import in_the_repl

from rlm.errors import QueryRefused
from rlm.handles import Meter, Ref, Store
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.remote.engine import RemoteEngine
from rlm.ontology.views.views import Views
from rlm.store.open import open_store
from rlm.tools import sparql_tools, view_tools
from rlm.tools.sparql import Patterns

pytestmark = pytest.mark.req("UT-12")

EX = "http://example.org/"
Call = Callable[..., Any]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with oxigraph(tmp_path_factory.mktemp("oxigraph")) as url:
        yield url


@pytest.fixture(scope="module")
def boats(real: str) -> Iterator[RemoteEngine]:
    with engine(real) as opened:
        yield opened


@pytest.fixture(scope="module")
def calls(
    boats: RemoteEngine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Call, Call]]:
    """The tools over the endpoint, and over the same data in a file whose prefix is the one that
    the endpoint gets."""
    path = tmp_path_factory.mktemp("file") / "boats.ttl"
    path.write_text(DATA.replace("ex:", "example:"), "utf-8")
    with (
        LocalEngine(path, cache_dir=path.parent / "cache") as file,
        Store() as far,
        Store() as near,
    ):
        yield caller(boats, far), caller(file, near)


def caller(engine: Any, handles: Store) -> Call:
    box = (sparql_tools(engine, handles, Meter()) | view_tools(Views(engine), Meter())).functions
    return lambda name, *args, **options: box[name](*args, **options)


@pytest.mark.parametrize(
    ("tool", "args", "options"),
    [
        ("sparql_peek", ("example:Boat",), {"limit": 50}),
        ("sparql_peek", ("example:builtBy",), {"output_mode": "count"}),
        ("sparql_peek", ("example:gull",), {"output_mode": "count"}),
        ("search_entity", ("boat",), {}),
        ("search_entity", ("slop",), {}),
        ("search_by_label", ("Boot",), {}),
        ("find_path", ("example:gull", "example:tern"), {}),
        ("find_path", ("example:gull", "example:south"), {"max_depth": 4}),
        ("probe_relationships", ("example:north",), {}),
        ("probe_relationships", ("example:north", "example:builtBy"), {"direction": "in"}),
        ("predicate_frequency", (), {}),
    ],
)
def test_a_tool_says_the_same_of_an_endpoint_and_of_a_file(
    calls: tuple[Call, Call], tool: str, args: tuple[str, ...], options: dict[str, Any]
) -> None:
    far, near = (settled(call(tool, *args, **options)) for call in calls)
    assert far == near


def settled(value: Any) -> Any:
    """Rows without their order, and without what only a whole reading tells of a property."""
    if isinstance(value, list):
        return sorted((settled(part) for part in value), key=str)
    if isinstance(value, dict):
        return {key: settled(part) for key, part in value.items() if key != "kind"}
    return value


def test_the_schema_of_an_endpoint(calls: tuple[Call, Call]) -> None:
    far, near = calls
    found, there = far("sparql_schema"), near("sparql_schema")
    assert found["ontology"] == "boats" and found["sampled"] is True
    for count in ("triple_count", "class_count", "property_count"):
        assert found[count] == there[count]
    for mode in ("classes", "properties"):
        entries = far("sparql_schema", mode, filter_prefix="example:")[mode]
        assert {entry["uri"]: entry["count"] for entry in entries} == {
            entry["uri"]: entry["count"]
            for entry in near("sparql_schema", mode, filter_prefix="example:")[mode]
        }
    assert {"prefix": "example", "iri": EX, "terms": 7} in far("sparql_schema", "namespaces")[
        "namespaces"
    ]
    assert far("sparql_schema", "classes", use_cache=False)["total"] == 3


def test_a_described_entity(calls: tuple[Call, Call]) -> None:
    far, near = (call("describe_entity", "Sloop") for call in calls)
    for field in (
        "uri",
        "label",
        "types",
        "superclasses",
        "instances",
        "outgoing_sample",
        "incoming_count",
    ):
        assert far[field] == near[field]


def test_names_that_the_tools_show_can_be_asked(calls: tuple[Call, Call]) -> None:
    for call in calls:
        uri = call("sparql_schema", "classes")["classes"][-1]["uri"]
        ref = call("sparql_query", f"SELECT ?x {{ ?x a {uri} ; rdfs:label ?l }}", limit=5)
        assert isinstance(ref, Ref) and ref.dtype == "results"
        [row] = call("sparql_slice", ref)["rows"]
        assert row == {"x": "example:gull"}
        again = call("sparql_query", f"SELECT ?l {{ {row['x']} rdfs:label ?l }}", explain=True)
        assert (again["rows"], again["changed"]) == (1, "LIMIT 100 was added")


def test_every_form_of_query_has_its_handle(calls: tuple[Call, Call]) -> None:
    for call in calls:
        assert call("sparql_query", "ASK { example:gull example:builtBy example:north }") == {
            "boolean": True
        }
        described = call("sparql_slice", call("sparql_query", "DESCRIBE example:north"))
        assert described["rows"] == [{"s": "example:north", "p": "rdf:type", "o": "example:Yard"}]
        ref = call("sparql_query", "SELECT ?s ?p ?o { ?s ?p ?o }", limit=9)
        first = call("sparql_slice", ref, limit=5)
        rest = call("sparql_slice", ref, limit=5, offset=first["next_offset"])
        assert (len(first["rows"]), first["has_more"], len(rest["rows"]), rest["has_more"]) == (
            5,
            True,
            4,
            False,
        )
        assert first["limit_reached"] is True
        hints = call("sparql_query", "SELECT ?x { ?x a example:Slop }", explain=True)["hints"]
        assert hints == ["there is no term example:Slop in this graph; did you mean example:Sloop?"]


def test_a_query_at_an_endpoint_waits_for_the_verdict(boats: RemoteEngine, tmp_path: Path) -> None:
    asked, patterns = "SELECT ?x { ?x example:builtBy example:north }", Patterns()
    with open_store(tmp_path / "m.db", embedder="none") as memory, Store() as handles:
        box = sparql_tools(boats, handles, Meter(), memory=memory, patterns=patterns).functions
        ref = box["sparql_query"](asked)
        first = next(iter(box["sparql_slice"](ref)["rows"][0].values()))
        assert not memory.list_items()
    assert patterns.behind(str(first)) == (asked, True)


def test_the_tools_work_in_the_repl(boats: RemoteEngine) -> None:
    said = in_the_repl(
        boats,
        "print(sparql_schema()['ontology'], sparql_peek('Boat',"
        " output_mode='count')['count_with_subclasses'])",
        "ref = sparql_query('SELECT ?x ?l { ?x a example:Sloop OPTIONAL { ?x rdfs:label ?l } }"
        " ORDER BY ?x')",
        "print([ref])",
        "print(sparql_slice(ref)['rows'][1], search_entity('boat')[0]['curie'])",
        "print(describe_entity('Sloop')['superclasses'])",
        "print(find_path('example:gull', 'example:tern')['paths'][0]['text'])",
    )
    assert "boats 3" in said and "[Ref('results_0', results, 2 rows × 2 columns)]" in said
    assert "{'x': 'example:tern'} example:Boat" in said
    assert (
        "['example:Boat']" in said
        and "example:gull -example:builtBy-> example:north <-example:builtBy- example:tern" in said
    )
    assert "Gull" not in said, "what nobody printed"


# -- prefixes


def test_known_prefixes_are_declared_and_others_are_left_to_the_server() -> None:
    with BadServer(rows("a")) as server, engine(server.url) as opened:
        opened.query(
            "SELECT ?x { ?x rdfs:label ?l ; skos:note ?n ; a rdfs:Class ; wikibase:rank ?r }",
            limit=3,
        )
        assert (
            server.query() == "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\nPREFIX skos:"
            " <http://www.w3.org/2004/02/skos/core#>\nSELECT ?x { ?x rdfs:label ?l ; skos:note"
            " ?n ; a rdfs:Class ; wikibase:rank ?r } LIMIT 4"
        )
        own = (
            "BASE <http://b/> PREFIX rdfs: <http://mine/> SELECT ?x { ?x rdfs:label 'skos:x' } #"
            " owl:y"
        )
        opened.query(own, limit=3)
        assert server.query() == own.replace(" #", " LIMIT 4 #")
        opened.prefixes["evil"] = "http://e/> SELECT * {} #"
        opened.query("SELECT ?x { ?x a evil:x }")
        assert "SELECT * {}" not in server.query()


def test_a_prefix_that_nobody_knows_is_told_with_the_nearest(boats: RemoteEngine) -> None:
    boats.meta()
    with pytest.raises(
        QueryRefused,
        match=r"the prefix 'exmple:' .* is not bound: did you mean example: .*answered 400",
    ):
        boats.query("SELECT ?x { ?x a exmple:Sloop }")
