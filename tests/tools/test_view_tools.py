"""The views as tools, and mounted in a namespace: the answers of the views, never too long."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm.errors import NotRDF, OntologyError, ValidationError
from rlm.loop.trace import render_value
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.views.views import Views
from rlm.tools import setup_ontology_context, view_tools
from rlm.tools.views import MODEL_VIEW_CHARS, VIEW_CHARS, fit, take

NAMES = [
    "search_entity",
    "search_by_label",
    "describe_entity",
    "probe_relationships",
    "find_path",
    "predicate_frequency",
    "graph_stats",
    "ontology_view",
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def prov(root, cache):
    with LocalEngine(root / "ontology" / "prov.ttl", cache_dir=cache) as engine:
        yield Views(engine)


@pytest.fixture
def call(prov, meter):
    box = view_tools(prov, meter)
    return lambda name, *args, **kw: box.functions[name](*args, **kw)


def noted(rows, how_many):
    """The rows as they are when they are not all."""
    return [*rows[:-1], {**rows[-1], "…": f"{how_many}: narrow the search"}]


# -- as tools
# --------------------------------------------------------------------------------------------


def test_every_view_is_a_tool_that_says_what_it_does(prov, meter):
    box = view_tools(prov, meter)
    assert sorted(box.functions) == sorted(NAMES)
    assert box.untimed == set(NAMES), "a view may take as long as its query"
    for line in (
        "- `search_entity(query, limit=10)`: Terms and things",
        "- `find_path(source, target, max_depth=2)`: Paths between two things, shortest first,",
        "`ontology_view(view, term)`: tree, related",
    ):
        assert line in box.describe()


def test_a_tool_answers_as_its_view(call, prov):
    hits = prov.search_entity("activity", 3)
    assert call("search_entity", "activity", 3) == noted(hits, "3 of 7")
    hits = prov.search_by_label("activity", 4)
    assert call("search_by_label", "activity", 4) == noted(hits, "4 of 7")
    assert call("describe_entity", "prov:Location") == prov.describe_entity("prov:Location")
    links = prov.probe_relationships("prov:used", direction="out", limit=3)
    told = call("probe_relationships", "prov:used", direction="out", limit=3)
    rows, count = (
        noted(links["outgoing"], f"3 of {links['outgoing_count']}"),
        links["outgoing_count"],
    )
    assert told == links | {"outgoing": rows, "left_out": {"outgoing": count - 3}}
    told = call("find_path", "prov:Entity", "prov:Activity", limit=1)
    assert told["paths"][0]["…"].startswith("1 of 3 or more: ") and told["more"]
    assert call("predicate_frequency", 3) == noted(prov.predicate_frequency(3), "3 of 27")
    told, whole = call("graph_stats"), prov.graph_stats()
    assert (told["classes"], told["triples"]) == (whole["classes"], whole["triples"])
    assert whole["roots"] == [*told["roots"], *whole["roots"][-told["left_out"]["roots"] :]]


def test_what_is_too_long_is_cut_and_says_so(call, prov, meter):
    whole = prov.find_path("prov:Entity", "prov:Agent", 4, 25)
    assert len(render_value(whole)) > 2 * VIEW_CHARS
    found = call("find_path", "prov:Entity", "prov:Agent", 4, 25)
    assert len(render_value(found)) <= VIEW_CHARS
    shown, total = len(found["paths"]), whole["paths"].total
    assert found["paths"] == noted(whole["paths"][:shown], f"{shown} of {total} or more")
    assert found["left_out"] == {"paths": total - shown}
    hits = call("search_entity", "a", 25)
    assert len(render_value(hits)) <= VIEW_CHARS and len(hits) > 5
    assert hits == noted(prov.search_entity("a", 25)[: len(hits)], f"{len(hits)} of 130")
    assert meter.report()["max_single_return"] <= VIEW_CHARS


def test_an_error_of_a_view_names_the_nearest(call):
    with pytest.raises(
        OntologyError, match=r"no term prov:Actvity in this graph; did you mean prov:Activity"
    ):
        call("describe_entity", "prov:Actvity")
    with pytest.raises(
        OntologyError,
        match="the prefix 'prof:' of 'prof:Activity' is not bound: did you mean prov:",
    ):
        call("probe_relationships", "prof:Activity")


def test_long_names_and_labels_are_bounded(tmp_path, cache, meter):
    long = "n" * 3000
    text = "v" * 5000
    lines = [
        f'<http://e/{n}-{long}> <http://e/p{n}-{long}> "{text}" ; a <http://e/C-{long}> .'
        for n in range(30)
    ]
    lines.append(
        f"<http://e/C-{long}> a <http://www.w3.org/2002/07/owl#Class> ; <http://e/q>"
        f" <http://e/0-{long}> ."
    )
    path = tmp_path / "long.nt.ttl"
    path.write_text("\n".join(lines))
    with LocalEngine(path, cache_dir=cache) as engine:
        box = view_tools(Views(engine), meter).functions
        name = f"<http://e/C-{long}>"
        for found in (
            box["search_entity"]("n", 25),
            box["describe_entity"](name),
            box["probe_relationships"](name),
            box["find_path"](name, f"<http://e/0-{long}>"),
            box["predicate_frequency"](25),
            box["graph_stats"](),
        ):
            assert found and len(render_value(found)) <= VIEW_CHARS


def test_as_many_rows_as_asked_for_come_where_names_are_of_a_common_length(tmp_path, cache, meter):
    names = [f"Water_Cooled_Chiller_{n}" for n in range(25)]
    lines = [
        f"<https://e.example/schema/Brick#{name}> a <http://www.w3.org/2002/07/owl#Class> ;"
        f' <http://www.w3.org/2000/01/rdf-schema#label> "{name.replace("_", " ")}" .'
        for name in names
    ]
    path = tmp_path / "chillers.ttl"
    path.write_text("@prefix b: <https://e.example/schema/Brick#> .\n" + "\n".join(lines))
    with LocalEngine(path, cache_dir=cache) as engine:
        few, all_ = (
            view_tools(Views(engine), meter, chars).functions["search_entity"]
            for chars in (VIEW_CHARS, MODEL_VIEW_CHARS)
        )
        assert len(all_("Chiller", 25)) == 25 and "…" not in all_("Chiller", 25)[-1]
        assert few("Chiller", 25)[-1]["…"] == f"{len(few('Chiller', 25))} of 25: narrow the search"


def test_up_to_25_links_each_way_come_without_asking_for_so_many(tmp_path, cache, meter):
    links = [f"<http://e/hub> <http://e/to> <http://e/t{n}> ." for n in range(25)]
    links += [f"<http://e/f{n}> <http://e/to> <http://e/hub> ." for n in range(26)]
    (tmp_path / "hub.nt").write_text("\n".join(links))
    with LocalEngine(tmp_path / "hub.nt", cache_dir=cache) as engine:
        box = view_tools(Views(engine), meter, MODEL_VIEW_CHARS)
        found = box.functions["probe_relationships"]("<http://e/hub>")
    assert "up to 25 each" in box.describe()
    assert len(found["outgoing"]) == 25 and "…" not in found["outgoing"][-1]
    assert len(found["incoming"]) == 25 and found["left_out"] == {"incoming": 1}


# -- into so many characters
# -----------------------------------------------------------------------------

texts = st.text(max_size=9).map(lambda text: text * 20)
json_values = st.recursive(
    st.one_of(st.none(), st.integers(), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=9), st.dictionaries(texts, inner, max_size=9)),
    max_leaves=12,
)


@settings(max_examples=30)
@given(
    st.one_of(st.lists(json_values, max_size=9), st.dictionaries(texts, json_values, max_size=9)),
    st.integers(60, 900),
)
def test_whatever_is_fitted_fits(value, most):
    before = json.dumps(value)
    made = fit(value, most)
    assert len(render_value(made)) <= most
    assert type(made) is type(value)
    assert json.dumps(value) == before, "the value itself is left alone"
    if len(render_value(value)) <= most:
        assert made == value


def test_fitting_takes_from_the_longest_list():
    value = {"name": "x", "few": [1, 2], "many": [{"n": n} for n in range(100)]}
    made = fit(value, 200)
    assert made["few"] == [1, 2] and made["name"] == "x"
    assert len(made["many"]) + made["left_out"]["many"] == 100 and len(made["many"]) > 8


def test_taking_stops_where_the_room_ends_but_takes_one():
    assert take(iter([{"a": "x" * 30}] * 5), 100) == [{"a": "x" * 30}] * 2
    assert take(iter([{"a": "x" * 300}] * 5), 100) == [{"a": "x" * 300}]
    assert take(iter([]), 100) == []


# -- in a namespace
# --------------------------------------------------------------------------------------


def test_an_ontology_is_mounted_in_a_namespace(root):
    ns: dict[str, object] = {}
    engine = setup_ontology_context(root / "ontology" / "prov.ttl", ns, "prov")
    with engine:
        assert ns["prov"] is engine and ns["prov_meta"].summary().startswith("Provenance terms")
        assert ns["describe_entity"]("prov:Activity")["label"] == "Activity"
        assert ns["prov_graph_stats"]() == ns["graph_stats"]()
        assert set(ns) == {"prov", "prov_meta", *NAMES, *(f"prov_{name}" for name in NAMES)}
        assert engine.query("ASK { prov:Entity a owl:Class }").boolean is True


def test_of_two_the_later_has_the_short_names_and_each_its_own(root):
    ns: dict[str, object] = {}
    with (
        setup_ontology_context(root / "ontology" / "prov.ttl", ns, "prov"),
        setup_ontology_context(str(root / "ontology" / "harbour.ttl"), ns, "port", lang="de"),
    ):
        assert ns["describe_entity"]("harbour:Vessel")["label"] == "Schiff"
        assert ns["prov_describe_entity"]("prov:Agent")["label"] == "Agent"
        assert ns["port_meta"].triple_count != ns["prov_meta"].triple_count


@pytest.mark.parametrize("name", ["", "my prov", "1st", "class", None])
def test_a_name_that_is_no_variable_is_refused(root, name):
    with pytest.raises(ValidationError, match="use the name of a variable"):
        setup_ontology_context(root / "ontology" / "prov.ttl", {}, name)


def test_nothing_is_mounted_when_the_file_is_no_ontology(tmp_path):
    ns: dict[str, object] = {}
    (tmp_path / "x.ttl").write_text("no turtle at all")
    with pytest.raises(NotRDF):
        setup_ontology_context(tmp_path / "x.ttl", ns, "x")
    assert ns == {}
    with pytest.raises(ValidationError, match="ns is list: use a dict"):
        setup_ontology_context(tmp_path / "x.ttl", [], "x")
