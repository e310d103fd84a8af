"""The SPARQL tools over real graphs: handles instead of rows, pages with bounds, schemas kept by
content."""

from __future__ import annotations

import json
import math

import pytest

from rlm.errors import HandleError, OntologyError, QueryRefused, QueryTimeout, ValidationError
from rlm.handles import Meter, Ref, Store, View, to_wire
from rlm.loop.trace import render_value
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.views.views import Views
from rlm.ontology.vocabulary import RDFS
from rlm.tools import sparql_tools, view_tools
from rlm.tools.sparql import QUERY_ROWS, ROW_CHARS, SLICE_ROWS, VALUE_CHARS
from rlm.tools.sparql_peek import PEEK_CHARS, PEEK_LIMIT
from rlm.tools.sparql_schema import OVERVIEW_CHARS, SCHEMA_CHARS, SCHEMA_LIMIT

pytestmark = pytest.mark.req("UT-03")

UNGROUPED = (
    r"^query refused: \?{0} is selected beside groups and is not grouped itself: add it to GROUP BY, or"
    r" put it into an aggregate, as SAMPLE\(\?{0}\)$"
)
ALL = "SELECT ?s ?p ?o WHERE { ?s ?p ?o }"


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module", params=["prov", "harbour"])
def each(request, root, cache_dir):
    with LocalEngine(root / "ontology" / f"{request.param}.ttl", cache_dir=cache_dir) as engine:
        yield engine


@pytest.fixture(scope="module")
def harbour(root, cache_dir):
    with LocalEngine(root / "ontology" / "harbour.ttl", cache_dir=cache_dir) as engine:
        yield engine


@pytest.fixture
def handles():
    with Store() as store:
        yield store


def tools(engine, handles, meter=None, **options):
    box = sparql_tools(engine, handles, meter or Meter(), **options)
    return lambda name, *args, **kw: box.functions[f"sparql_{name}"](*args, **kw)


@pytest.fixture
def call(harbour, handles, meter):
    return tools(harbour, handles, meter)


# -- sparql_query
# ----------------------------------------------------------------------------------------


@pytest.mark.req("UT-13")
def test_a_query_returns_a_handle_and_no_rows(call, handles, meter):
    ref = call("query", "SELECT ?c ?l WHERE { ?c a owl:Class ; rdfs:label ?l } ORDER BY ?c ?l")
    assert isinstance(ref, Ref) and ref.dtype == "results" and ref.key == "results_0"
    assert repr(ref) == f"Ref('results_0', results, {ref.sz} chars)"
    rows = handles.get(ref)
    assert len(rows) == 90 and rows[0] == {"c": "harbour:Agent", "l": '"Akteur"@de'}
    assert meter.report()["max_single_return"] < 250


@pytest.mark.req("UT-04")
def test_the_limit_holds_and_is_said(call):
    ref = call("query", ALL)
    assert call("slice", ref)["total"] == 100
    assert call("slice", ref)["limit_reached"] is True
    assert call("slice", call("query", ALL, limit=7))["total"] == 7
    assert "limit_reached" not in call("slice", call("query", ALL + " LIMIT 7", limit=7))
    assert call("slice", call("query", ALL, limit=QUERY_ROWS))["total"] == 1163
    for limit in (0, QUERY_ROWS + 1, "9", True):
        with pytest.raises(ValidationError, match="limit is"):
            call("query", ALL, limit=limit)


@pytest.mark.req("UT-04")
@pytest.mark.parametrize(
    ("query", "limit", "kind", "changed", "rows", "more", "columns"),
    [
        (ALL, 5, "SELECT", "LIMIT 5 was added", 5, True, ["s", "p", "o"]),
        (ALL + " LIMIT 9", 5, "SELECT", "its LIMIT was lowered to 5", 5, True, ["s", "p", "o"]),
        (ALL + " LIMIT 3", 5, "SELECT", "nothing", 3, False, ["s", "p", "o"]),
        (
            "DESCRIBE harbour:Vessel",
            100,
            "DESCRIBE",
            "ends at 100 triples",
            7,
            False,
            ["s", "p", "o"],
        ),
        (
            "CONSTRUCT { ?a ?b ?c } WHERE { ?a ?b ?c }",
            5,
            "CONSTRUCT",
            "ends at 5 triples",
            5,
            True,
            ["s", "p", "o"],
        ),
    ],
)
def test_explaining_says_what_was_done(call, query, limit, kind, changed, rows, more, columns):
    said = call("query", query, limit=limit, explain=True)
    assert isinstance(said["ref"], Ref) and said["seconds"] >= 0
    assert (said["kind"], said["changed"], said["rows"], said["more"], said["columns"]) == (
        kind, changed, rows, more, columns,
    )  # fmt: skip
    assert call("slice", said)["total"] == rows


def test_an_ask_answers_at_once(call, handles):
    assert call("query", "ASK { harbour:Vessel a owl:Class }") == {"boolean": True}
    said = call("query", "ASK { harbour:Vessel a owl:Thing }", explain=True)
    assert (said["boolean"], said["kind"], said["changed"]) == (False, "ASK", "nothing")
    assert len(handles) == 0


def test_triples_are_rows_of_s_p_and_o(call):
    page = call("slice", call("query", "DESCRIBE harbour:Vessel"))
    assert {"s": "harbour:Vessel", "p": "rdfs:subClassOf", "o": "harbour:WaterCraft"} in page[
        "rows"
    ]


def test_prefixes_that_a_query_declares_shorten_its_rows(handles, tmp_path, cache_dir):
    (tmp_path / "x.nt").write_text(
        "<http://a.example/x/1> <http://a.example/x/p> <http://a.example/x/2> .\n"
    )
    with LocalEngine(tmp_path / "x.nt", cache_dir=cache_dir) as engine:
        call = tools(engine, handles)
        query = "PREFIX mine: <http://a.example/x/> SELECT ?s { ?s mine:p ?o }"
        assert call("slice", call("query", query))["rows"] == [{"s": "mine:1"}]


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        (
            "SELECT ?x WHERE { ?x a harbor:Vessel }",
            QueryRefused,
            "'harbor:' .* did you mean harbour:",
        ),
        ("SELECT ?x WHERE { ?x a ", QueryRefused, "is never closed"),
        ("SELECT ?a (COUNT(?b) AS ?n) { ?a ?p ?b }", QueryRefused, UNGROUPED.format("a")),
        (
            "SELECT ?a ?c (COUNT(?b) AS ?n) { ?a ?p ?b ; ?q ?c } GROUP BY ?a",
            QueryRefused,
            UNGROUPED.format("c"),
        ),
        (
            "SELECT (MAX(?n) AS ?m) { { SELECT ?b (COUNT(*) AS ?n) { ?b ?p ?a } GROUP BY ?a } }",
            QueryRefused,
            UNGROUPED.format("b"),
        ),
        (
            "SELECT (STR(?b) AS ?c) { ?a ?p ?b } GROUP BY (STR(?a) AS ?k) ORDER BY ?k",
            QueryRefused,
            UNGROUPED.format("b"),
        ),
        (
            "SELECT * { ?a ?p ?b } GROUP BY ?a",
            QueryRefused,
            r"^query refused: SELECT \* is not authorized with GROUP BY$",
        ),
        ("DELETE WHERE { ?s ?p ?o }", QueryRefused, "would change the data"),
        (
            "SELECT * { SERVICE <http://x/> { ?s ?p ?o } }",
            QueryRefused,
            "would call another server",
        ),
        ("", ValidationError, "query is empty"),
        (7, ValidationError, "query is int: use text"),
        ("SELECT * { ?s ?p ?o } #" + "x" * 20_000, ValidationError, "at most 20,000"),
    ],
)
def test_a_query_that_cannot_run_says_why(call, query, error, message):
    with pytest.raises(error, match=message):
        call("query", query)


def test_a_query_that_found_nothing_is_told_about_names_that_are_not_there(call):
    said = call(
        "query", "SELECT ?x { ?x a harbour:Vesel ; harbour:moredAt harbour:Berth4 }", explain=True
    )
    assert said["rows"] == 0
    assert [hint.split(" in this")[0] for hint in said["hints"]] == [
        "there is no term harbour:Vesel", "there is no term harbour:moredAt",
    ]  # fmt: skip
    assert (
        "did you mean harbour:Vessel" in said["hints"][0] and "harbour:mooredAt" in said["hints"][1]
    )
    assert call("query", "SELECT ?x { ?x a harbour:Vessel }", explain=True)["hints"] == [
        "harbour:Vessel has no instances of its own, its subclasses have 14:"
        " write ?x a/rdfs:subClassOf* harbour:Vessel"
    ]
    path = "SELECT ?x { ?x a/rdfs:subClassOf* harbour:Vessel ; rdfs:label 9 }"
    assert "hints" not in call("query", path, explain=True)
    based = "BASE <http://b.example/> SELECT ?x { ?x a <relative> }"
    assert call("query", based, explain=True)["rows"] == 0


def test_no_query_is_advised_that_misses_what_stands_below_by_definition(handles, tmp_path):
    bees = "@prefix ex: <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> ."
    bees += " ex:Bee owl:disjointUnionOf ( ex:Queen ex:Drone ) . ex:q a ex:Queen ."
    (tmp_path / "bees.ttl").write_text(bees)
    with LocalEngine(tmp_path / "bees.ttl", cache_dir=tmp_path) as engine:
        said = tools(engine, handles)("query", "SELECT ?x { ?x a ex:Bee }", explain=True)
    assert said["hints"] == [
        "ex:Bee has no instances of its own, its subclasses have 1: some follow by definition,"
        ' see ontology_view("instances", "ex:Bee")'
    ]


def test_a_slow_query_ends_in_its_error(handles, root, cache_dir):
    from rlm.ontology.engine.protocol import EngineLimits

    limits = EngineLimits(timeout_s=0.5)
    with LocalEngine(
        root / "ontology" / "harbour.ttl", cache_dir=cache_dir, limits=limits
    ) as engine:
        call = tools(engine, handles)
        with pytest.raises(QueryTimeout, match="name predicates"):
            call("query", "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }")
        assert call("query", "ASK { ?s ?p ?o }") == {"boolean": True}


def test_a_query_may_come_as_a_handle(call, handles):
    query = handles.put("ASK { harbour:Vessel a owl:Class }")
    assert call("query", query) == {"boolean": True}
    assert call("query", View(query.key, 0, query.sz)) == {"boolean": True}


# -- sparql_slice
# ----------------------------------------------------------------------------------------


def test_pages_make_up_the_whole(call, handles):
    ref = call("query", ALL + " ORDER BY ?s ?p ?o", limit=QUERY_ROWS)
    rows = []
    for offset in range(0, 1163, SLICE_ROWS):  # who steps by a hundred misses none
        page = call("slice", ref, limit=SLICE_ROWS, offset=offset)
        assert page["has_more"] is (len(page["rows"]) == SLICE_ROWS), "as many as were asked for"
        assert page["has_more"] is (page["rows"][-1].pop("…", None) is not None)
        rows += page["rows"]
    cut = [
        {name: value if len(str(value)) <= VALUE_CHARS else "…" for name, value in row.items()}
        for row in handles.get(ref)
    ]
    shown = [
        {name: "…" if str(value).endswith("…") else value for name, value in row.items()}
        for row in rows
    ]
    assert shown == cut and page["total"] == len(rows) == 1163


def test_a_page_that_is_not_the_last_says_so_in_its_rows(call):
    ref = call("query", "SELECT ?c ?l WHERE { ?c a owl:Class ; rdfs:label ?l }")
    page = call("slice", ref)
    assert page["rows"][-1]["…"] == "rows 0 to 49 of 90: go on with offset=50"
    assert not any("…" in row for row in page["rows"][:-1])
    assert len(page["rows"]) == page["next_offset"] == 50 and page["total"] == 90
    last = call("slice", ref, limit=100)
    assert len(last["rows"]) == 90 and not last["has_more"] and "…" not in last["rows"][-1]
    some = call("slice", call("query", ALL, limit=7))
    assert some["rows"][-1]["…"] == "rows 0 to 6 of 7: the query has more: raise its limit"


def test_numbers_and_truth_values_are_such_and_all_else_is_turtle(handles, tmp_path, cache_dir):
    values = {
        '"12"^^xsd:integer': 12,
        '"-3"^^xsd:int': -3,
        '"19.90"^^xsd:decimal': 19.9,
        '"1.25E1"^^xsd:double': 12.5,
        '"true"^^xsd:boolean': True,
        '"12345678901234567890"^^xsd:integer': 12345678901234567890,
        '"4383.409836065573770491"^^xsd:decimal': 4383.4098360655735,
        '"INF"^^xsd:double': math.inf,
        '"-INF"^^xsd:float': -math.inf,
        '"1e999"^^xsd:double': math.inf,
        f'"-{"9" * 5000}"^^xsd:integer': -math.inf,
        '"many"^^xsd:integer': '"many"^^xsd:integer',
        '"12"': '"12"',
        '"ship"@en': '"ship"@en',
        '"2026-01-02"^^xsd:date': '"2026-01-02"^^xsd:date',
        "e:b": "e:b",
    }
    lines = ["@prefix e: <http://e/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> ."]
    lines += [f"e:a e:p{n} {value} ." for n, value in enumerate(values)]
    (tmp_path / "v.ttl").write_text("\n".join(lines))
    with LocalEngine(tmp_path / "v.ttl", cache_dir=cache_dir) as engine:
        call = tools(engine, handles)
        for n, wanted in enumerate(values.values()):
            [row] = call("slice", call("query", f"SELECT ?v {{ e:a e:p{n} ?v }}"))["rows"]
            assert row["v"] == wanted and type(row["v"]) is type(wanted)
        [row] = call("slice", call("query", 'SELECT ("NaN"^^xsd:double AS ?v) {}'))["rows"]
        assert math.isnan(row["v"])


def test_a_result_knows_its_rows_its_query_its_source_and_its_time(call, handles):
    query = "SELECT ?c ?l WHERE { ?c a owl:Class . OPTIONAL { ?c rdfs:label ?l } }"
    ref = call("query", query)
    assert (ref.rows, ref.columns) == (96, ("c", "l"))
    about = handles.about(ref)
    assert about["query"] == query and about["source"] == "harbour" and about["more"] is False
    assert about["time"].endswith("Z") and about["seconds"] >= 0 and about["hints"]() == []
    none = call("query", "SELECT ?x { ?x a harbour:Vesel }")
    assert none.rows == 0 and "did you mean harbour:Vessel" in handles.about(none)["hints"]()[0]
    assert call("query", "DESCRIBE harbour:Vessel").columns == ("s", "p", "o")


def test_a_handle_is_taken_in_every_form(call):
    ref = call("query", ALL, limit=3)
    whole = call("slice", ref)
    for form in (
        ref.key,
        to_wire(ref),
        View(ref.key, 0, ref.sz),
        {"ref": ref},
        {"ref": to_wire(ref), "rows": 3},
    ):
        assert call("slice", form) == whole
    assert call("slice", ref, offset=3) == whole | {"rows": []}
    [last] = call("slice", ref, offset=2)["rows"]
    assert {**last, "…": ""} == {**whole["rows"][2], "…": ""}
    note = {"…": "rows 0 to 1 of 3: go on with offset=2"}
    assert call("slice", ref, limit=2) == whole | {
        "rows": [whole["rows"][0], whole["rows"][1] | note],
        "has_more": True,
        "next_offset": 2,
    }


def test_what_is_no_result_is_refused(call, handles):
    text = handles.put("a long text", "context")
    ref = call("query", ALL, limit=3)
    for form, message in (
        (text, "holds no rows: use ctx_slice"),
        ("results_7", "no payload behind 'results_7': nearest are"),
        (View(ref.key, 0, 9), "this is a part of"),
        ({"boolean": True}, "no handle to results"),
        (None, "expected a handle or its key"),
        ([{"s": 1}], "expected a handle or its key"),
    ):
        with pytest.raises(HandleError, match=message):
            call("slice", form)
    for options in ({"limit": 0}, {"limit": SLICE_ROWS + 1}, {"offset": -1}, {"offset": "1"}):
        with pytest.raises(ValidationError):
            call("slice", ref, **options)


def test_long_values_are_cut_and_no_row_is_left_out(handles, tmp_path, cache_dir):
    lines = [f'<http://e/{n}> <http://e/p> "{n:03}{"v" * 3000}" .' for n in range(60)]
    (tmp_path / "long.nt").write_text("\n".join(lines))
    with LocalEngine(tmp_path / "long.nt", cache_dir=cache_dir) as engine:
        call = tools(engine, handles)
        ref = call("query", "SELECT ?v { ?s ?p ?v } ORDER BY ?v")
        page = call("slice", ref)
        assert len(page["rows"]) == page["next_offset"] == 50
        assert all(len(row["v"]) <= VALUE_CHARS and row["v"].endswith("…") for row in page["rows"])
        assert call("slice", ref, offset=50)["rows"][0]["v"].startswith('"050')
        assert len(handles.get(ref)[0]["v"]) > 3000, "the whole is behind the handle"
        names = [f"v{n}_{'x' * 60}" for n in range(120)]
        bound = " ".join(f"BIND('y' AS ?{name})" for name in names[1:])
        wide = call("query", f"SELECT * {{ ?s <http://e/p> ?{names[0]} {bound} }}", limit=2)
        page = call("slice", wide)
        assert len(page["rows"]) == 2
        assert all(len(render_value(row)) <= ROW_CHARS for row in page["rows"])


# -- sparql_schema
# ---------------------------------------------------------------------------------------


def test_the_overview_is_short_and_true(each, handles, meter):
    found = tools(each, handles, meter)("schema")
    meta = each.meta()
    assert found["ontology"] == each.name
    assert (found["triple_count"], found["class_count"]) == (meta.triple_count, len(meta.classes))
    assert (found["property_count"], found["individual_count"]) == (
        len(meta.properties),
        meta.individuals.count,
    )
    assert 3 <= len(found["top_classes"]) <= 6 and "left_out" not in found
    assert len(render_value(found)) <= OVERVIEW_CHARS and meter.report()["flags"] == []


@pytest.mark.parametrize("mode", ["classes", "properties", "namespaces"])
def test_a_listing_is_bounded_and_says_what_is_left(each, handles, mode):
    call, meta = tools(each, handles), each.meta()
    found = call("schema", mode)
    assert len(render_value(found)) <= SCHEMA_CHARS and len(found[mode]) <= SCHEMA_LIMIT
    assert found["total"] == len(getattr(meta, mode))
    assert found["has_more"] is (len(found[mode]) < found["total"])
    few = call("schema", mode, limit=2)
    assert few[mode][1].pop("…") == f"2 of {found['total']}: narrow it by filter_prefix"
    assert few[mode] == found[mode][:2] and few["has_more"] is True
    assert ("…" in found[mode][-1]) is found["has_more"]


def test_entries_say_what_a_query_needs(call):
    berth = next(
        entry for entry in call("schema", "classes")["classes"] if entry["uri"] == "harbour:Berth"
    )
    assert berth == {
        "uri": "harbour:Berth", "count": 5,
        "common_properties": ["harbour:berthOf", "harbour:depthAlongside", "harbour:quayLength"],
    }  # fmt: skip
    ferry = next(
        entry for entry in call("schema", "classes")["classes"] if entry["uri"] == "harbour:H_0007"
    )
    assert ferry["label"] == "car ferry"
    assert {
        "uri": "harbour:mooredAt", "kind": "object", "count": 5, "label": "moored at",
        "domain": ["harbour:WaterCraft"], "range": ["harbour:Berth"],
    }.items() >= next(
        entry for entry in call("schema", "properties")["properties"] if entry["uri"] == "harbour:mooredAt"
    ).items()  # fmt: skip
    assert {"prefix": "harbour", "iri": "https://example.org/harbour#", "terms": 111} in call(
        "schema", "namespaces"
    )["namespaces"]


@pytest.mark.parametrize(
    "prefix",
    ["harbour", "harbour:", "https://example.org/harbour#", "<https://example.org/harbour"],
)
def test_names_are_filtered_by_how_they_begin(call, prefix):
    found = call("schema", "properties", filter_prefix=prefix)
    assert found["total"] == 66 and all(
        entry["uri"].startswith("harbour:") for entry in found["properties"]
    )


def test_a_filter_may_go_into_the_name_and_a_wrong_one_is_told(call):
    found = call("schema", "classes", filter_prefix="harbour:Deep")
    assert [entry["uri"] for entry in found["classes"]] == ["harbour:DeepWaterBerth"]
    assert call("schema", "overview", filter_prefix="dcterms")["property_count"] == 2
    assert call("schema", "classes", filter_prefix="foaf:")["total"] == 0
    with pytest.raises(OntologyError, match="did you mean harbour:"):
        call("schema", "classes", filter_prefix="harbor:")
    with pytest.raises(
        ValidationError, match="output_mode is 'all': use overview, classes, properties, namespaces"
    ):
        call("schema", "all")
    with pytest.raises(ValidationError, match="limit is 51: use 1 to 50"):
        call("schema", "classes", limit=SCHEMA_LIMIT + 1)


@pytest.mark.req("UT-10")
def test_a_schema_is_kept_until_the_data_changes(tmp_path, handles):
    path, cache = tmp_path / "x.ttl", tmp_path / "cache"

    def ask(name="x.ttl", **options):
        with LocalEngine(tmp_path / name, cache_dir=cache) as engine:
            found = tools(engine, handles)("schema", "classes", **options)
            return found["ontology"], [entry["uri"] for entry in found["classes"]]

    path.write_text("@prefix e: <http://e/> . e:a a e:First .")
    assert ask() == ("x", ["e:First"])
    [kept] = cache.rglob("meta.json")
    kept.write_text(kept.read_text().replace("http://e/First", "http://e/Kept"))
    assert ask() == ("x", ["e:Kept"]) == ask(limit=1), "nothing is gathered again"
    (tmp_path / "copy.ttl").write_bytes(path.read_bytes())
    assert ask("copy.ttl") == ("copy", ["e:Kept"]), "the same content under another name"
    path.write_text("@prefix e: <http://e/> . e:a a e:Second .")
    assert ask() == ("x", ["e:Second"])


# -- sparql_peek


def test_a_peek_shows_what_a_class_is_enumerated_by(handles, tmp_path, cache_dir):
    (tmp_path / "grades.ttl").write_text(
        "@prefix g: <http://a.example/g/> . @prefix owl: <http://www.w3.org/2002/07/owl#> ."
        "g:Grade a owl:Class ; owl:oneOf ( g:good g:poor ) . g:good a g:Grade ; g:rank 1 ."
    )
    with LocalEngine(tmp_path / "grades.ttl", cache_dir=cache_dir) as engine:
        call = tools(engine, handles)
        rows = call("peek", "g:Grade", related_memories=False)["rows"]
        assert [row["instance"] for row in rows] == ["g:good", "g:poor"]
        assert call("peek", "g:Grade", output_mode="count")["count"] == 2


# -----------------------------------------------------------------------------------------


def test_a_class_is_sampled_with_its_subclasses(call):
    found = call("peek", "harbour:Vessel")
    assert (found["uri"], found["label"], found["kind"]) == ("harbour:Vessel", "vessel", "class")
    assert len(found["rows"]) == 5 and found["related_procedures"] == []
    assert {
        "instance": "harbour:IronThistle",
        "label": "Iron Thistle",
        "class": "harbour:BulkCarrier",
    } in found["rows"]
    berths = call("peek", "harbour:Berth", limit=PEEK_LIMIT)["rows"]
    assert len(berths) == 7 == len({row["instance"] for row in berths})
    assert sorted("class" in row for row in berths) == [False] * 5 + [True] * 2
    assert call("peek", "berth", output_mode="count", related_memories=False) == {
        "uri": "harbour:Berth", "label": "berth", "kind": "class", "count": 5, "count_with_subclasses": 7,
    }  # fmt: skip


def test_a_property_and_a_thing_are_sampled_by_their_statements(call):
    found = call("peek", "harbour:mooredAt", limit=2)
    assert len(found["rows"]) == 2 and set(found["rows"][0]) == {"s", "o"}
    count = call("peek", "harbour:mooredAt", output_mode="count")
    assert (count["count"], count["subjects"], count["objects"]) == (5, 5, 5)
    assert {"p": "rdf:type", "o": "harbour:Berth"} in call("peek", "harbour:Berth4", limit=9)[
        "rows"
    ]
    count = call("peek", "harbour:Berth4", output_mode="count")
    assert count["count"] == count["outgoing"] + count["incoming"] and count["incoming"] > 0


def test_the_schema_of_a_resource_says_what_it_joins(call):
    found = call("peek", "harbour:Berth", output_mode="schema")
    assert found["superclasses"] == ["harbour:HarbourArea"] and found["subclasses"] == [
        "harbour:DeepWaterBerth"
    ]
    assert "harbour:mooredAt" in found["range_of"] and "harbour:berthOf" in found["properties"]
    assert {"predicate": "harbour:berthOf", "count": 7} in found["used_by_instances"]
    found = call("peek", "harbour:mooredAt", output_mode="schema")
    assert (found["domain"], found["range"]) == (["harbour:WaterCraft"], ["harbour:Berth"])
    assert found["inverse_of"] == ["harbour:occupiedBy"]
    found = call("peek", "harbour:Berth4", output_mode="schema")
    assert (
        found["types"] == ["harbour:Berth"]
        and {"predicate": "rdf:type", "count": 1} in found["predicates"]
    )


def test_a_class_without_instances_says_what_to_ask(handles, root, cache_dir):
    with LocalEngine(root / "ontology" / "prov.ttl", cache_dir=cache_dir) as engine:
        found = tools(engine, handles)("peek", "prov:Entity")
    assert found["rows"] == [] and "output_mode='schema'" in found["note"]


def test_every_peek_is_bounded(each, handles, meter):
    call, meta = tools(each, handles, meter), each.meta()
    for iri in [*meta.classes, *meta.properties][::5]:
        for mode in ("sample", "schema"):
            assert len(render_value(call("peek", f"<{iri}>", PEEK_LIMIT, mode))) <= PEEK_CHARS
    comments = call("peek", "rdfs:comment", PEEK_LIMIT)
    assert (
        len(render_value(comments)) <= PEEK_CHARS
        and len(comments["rows"]) + comments["left_out"]["rows"] == meta.pred_freq[RDFS + "comment"]
    )
    assert comments["rows"][-1]["…"].startswith(f"{len(comments['rows'])} of ")
    assert len(render_value(call("peek", meta.curie(list(meta.classes)[3])))) < 1000


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """3,200 parts, more than are known by name beforehand; 300 are thermometers, all in one bin."""
    lines = [
        "@prefix pv: <https://ex.org/vocab#> .",
        "pv:Bin a <http://www.w3.org/2002/07/owl#Class> .",
    ]
    lines += [
        f'pv:p{n} a pv:Part ; <{RDFS}label> "{"Thermometer" if n < 300 else "Valve"} {n}" ;'
        " pv:in pv:bin ."
        for n in range(3_200)
    ]
    path = tmp_path_factory.mktemp("parts") / "parts.ttl"
    path.write_text("\n".join(lines))
    with LocalEngine(path, cache_dir=path.parent / "cache") as engine:
        yield engine


def test_a_part_says_of_how_many_it_is(parts, handles, meter):
    box = sparql_tools(parts, handles, meter) | view_tools(Views(parts), meter)
    call = box.functions
    for name in ("search_entity", "search_by_label"):
        hits = call[name]("Thermometer", 25)
        assert hits[-1]["…"] == f"{len(hits)} of 300: narrow the search" and len(hits) > 4
    peeked = call["sparql_peek"]("pv:Part", 50)
    assert peeked["rows"][-1]["…"] == "50 of 3,200: narrow the search"
    found = call["probe_relationships"]("pv:bin", direction="in")
    shown = len(found["incoming"])
    assert found["incoming"][-1]["…"] == f"{shown} of 3,200: narrow the search"
    assert found["left_out"] == {"incoming": 3_200 - shown}
    few = call["sparql_peek"]("pv:p7", 2)["rows"]
    assert few[-1]["…"] == "2 of 3: narrow the search"


def test_predicates_that_were_counted_of_some_instances_say_so(parts, handles, call):
    seen = tools(parts, handles)("peek", "pv:Part", output_mode="schema")
    assert {"predicate": "pv:in", "count": 200} in seen["used_by_instances"]
    assert seen["note"] == "used_by_instances counts 200 of 3,200 instances"
    assert "note" not in call("peek", "harbour:Berth", output_mode="schema")


def test_a_peek_that_cannot_be_says_why(call):
    with pytest.raises(
        OntologyError, match="no term harbour:Vesel in this graph; did you mean harbour:Vessel"
    ):
        call("peek", "harbour:Vesel")
    with pytest.raises(ValidationError, match="output_mode is 'rows': use sample, schema, count"):
        call("peek", "harbour:Vessel", output_mode="rows")
    with pytest.raises(ValidationError, match="limit is 51: use 1 to 50"):
        call("peek", "harbour:Vessel", limit=PEEK_LIMIT + 1)


@pytest.mark.req("UT-06")
def test_a_peek_names_procedures_about_the_resource(harbour, handles, backend, remember):
    here = remember("Find the berth of a vessel", "SECRET steps", domain="harbour")
    remember("Find the berth of a vessel elsewhere", "other", domain="uniprot")
    anywhere = remember("Follow a vessel " + "x" * 150, "more")
    remember("Boil an egg", "water")
    call = tools(harbour, handles, memory=backend)
    found = call("peek", "harbour:Vessel")["related_procedures"]
    assert {hit["id"] for hit in found} == {here, anywhere}
    assert all(set(hit) == {"id", "title"} and len(hit["title"]) <= 100 for hit in found)
    assert "SECRET" not in json.dumps(found)
    assert "related_procedures" not in call("peek", "harbour:Vessel", related_memories=False)


@pytest.mark.req("UT-06")
def test_procedures_are_those_of_the_name_that_a_person_gave(harbour, handles, backend, remember):
    remember("Find the berth of a vessel", domain="harbour")
    mine = remember("Find the berth of a vessel, my way", domain="port of call")
    call = tools(harbour, handles, memory=backend, ontology="port of call")
    assert [hit["id"] for hit in call("peek", "harbour:Vessel")["related_procedures"]] == [mine]
    assert call("schema")["ontology"] == "port of call"
