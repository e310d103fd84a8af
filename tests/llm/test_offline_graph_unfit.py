"""Queries that nearly ask the question are refused, and what is followed is brought to the same
answer."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from corpus_unfit_queries import UNFIT
from graph_runs import FINDING, ask, listed, opened, procedure, query_step, uses

from rlm.context import pack_memories
from rlm.llm.offline.asked.kinds import Asked
from rlm.llm.offline.graph.prompt import Entry, entries_in, plan_of
from rlm.ontology.source import open_engine
from rlm.store.types import MemoryItem

TOOLS = {
    "search_entity",
    "describe_entity",
    "probe_relationships",
    "find_path",
    "sparql_query",
    "sparql_slice",
}


def plan(asked: Asked, query: str) -> Any:
    return plan_of(asked, Entry(1, "Some procedure", "", (query_step(query),)), TOOLS)


@pytest.fixture(scope="module")
def engines(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("cache")
    made = {
        name: open_engine(root / "ontology" / f"{name}.ttl", cache_dir=folder)
        for name in ("prov", "harbour")
    }
    made["odd"] = opened(
        folder,
        """
        ex:Round a owl:Class ; rdfs:subClassOf ex:Round, ex:Wheel, [ a owl:Restriction ], "round", 5 .
        ex:Wheel a owl:Class ; rdfs:subClassOf ex:Round . ex:Tyre a owl:Class ; rdfs:subClassOf ex:Wheel .
        ex:Rim rdfs:subClassOf ex:Wheel . ex:Kind a ex:Kind, owl:Class . ex:one a ex:Tyre . ex:two a ex:Tyre .
        """,
    )
    yield made
    for engine in made.values():
        engine.close()


@pytest.mark.parametrize(
    ("asked", "query"), [each[1:] for each in UNFIT], ids=[each[0] for each in UNFIT]
)
def test_a_query_that_nearly_asks_it_is_refused(asked: Asked, query: str) -> None:
    assert plan(asked, query) is None


DOMAIN = "?x rdfs:domain ?{0} . $ENTITY_1 rdfs:subClassOf* ?{0}"
ALSO = [
    (Asked("properties_by_domain", ("A",), inherited=True), f"SELECT ?x WHERE {{ {DOMAIN.format('above')} }}"),
    (Asked("roots"), "SELECT ?c WHERE { ?c a ?k VALUES ?k { rdfs:Class owl:Class } FILTER NOT EXISTS { "
     "?c rdfs:subClassOf ?s FILTER(isURI(?s)) FILTER(?s != ?c && owl:Thing != ?s) } } ORDER BY DESC(?c) ?k LIMIT 100"),
    (Asked("count", ("A",), of="superclasses"),
     "SELECT (COUNT(DISTINCT ?c) AS ?n) WHERE { $ENTITY_1 rdfs:subClassOf ?c FILTER(ISIRI(?c) && ?c != $ENTITY_1) }"),
    (Asked("count", of="triples"), "SELECT (COUNT(*) AS ?all) WHERE { ?a ?b ?c }"),
    (Asked("instances", ("A",)), "SELECT ?x ?l WHERE { ?x a $ENTITY_1 OPTIONAL { ?x rdfs:label ?l "
     "FILTER(LANG(?l) = 'en') } }"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "query"), ALSO)
def test_another_way_to_ask_the_same_is_taken(asked: Asked, query: str) -> None:
    assert plan(asked, query) is not None


def test_what_a_pack_teaches_with_a_query_can_be_followed(root: Path) -> None:
    kinds = [
        Asked(kind, ("A",))
        for kind in ("all_subclasses", "all_superclasses", "properties_by_domain")
    ]
    kinds += [
        Asked("count", ("A",), of=of)
        for of in ("subclasses", "all_subclasses", "properties_by_domain")
    ]
    kinds += [
        Asked("count", ("A",), of="instances"),
        Asked("count", of="datatype_properties"),
        Asked("roots"),
    ]
    kinds += [Asked("is_subclass", ("A", "B")), Asked("search", text="a")]
    taken: set[int] = set()
    for path in sorted((root / "src/rlm/data/memory_packs").glob("*.jsonl")):
        for row in map(json.loads, path.read_text("utf-8").splitlines()):
            if "sparql_query(" in row["content"]:
                item = MemoryItem(row["title"], row["description"], row["content"])
                shown = entries_in(pack_memories([item, item]))[0]
                fits = {
                    at for at, asked in enumerate(kinds) if plan_of(asked, shown, TOOLS) is not None
                }
                assert fits, (path.name, row["title"])
                taken |= fits
    assert taken == set(range(len(kinds)))


# -- whole runs
# --------------------------------------------------------------------------------------------

COUNT = "SELECT (COUNT(DISTINCT ?x) AS ?n) WHERE {{ {} FILTER(isIRI(?x)) }}"
ABOVE, BELOW = "$ENTITY_1 rdfs:subClassOf+ ?x", "?x rdfs:subClassOf+ $ENTITY_1"
SAME = {
    "a loop is not counted above": ("odd", "How many ancestors does Round have?", COUNT.format(ABOVE), True),
    "a loop is not counted below": ("odd", "How many subclasses at any depth has Wheel?", COUNT.format(BELOW), True),
    "no loop": ("odd", "How many ancestors does Tyre have?", COUNT.format(ABOVE), True),
    "literals are no classes": ("odd", "What are the superclasses of Round?",
                                "SELECT ?x WHERE { $ENTITY_1 rdfs:subClassOf ?x }", True),
    "instances of subclasses": ("odd", "How many instances does Wheel have?",
                                "SELECT ?x WHERE { ?x a $ENTITY_1 }", True),
    "an instance of itself": ("odd", "List the instances of Kind.", "SELECT ?x WHERE { ?x a $ENTITY_1 }", True),
    "undeclared ones": ("odd", "List all subclasses of Wheel",
                        f"SELECT ?x WHERE {{ {BELOW} . ?x a owl:Class }}", False),
    "a datatype": ("prov", "What properties have xsd:dateTime as their range?",
                   "SELECT ?x WHERE { ?x rdfs:range $ENTITY_1 }", True),
    "no range of what is no class": ("odd", "Which properties have ex:one as their range?",
                                     "SELECT ?x WHERE { ?x rdfs:range $ENTITY_1 }", False),
    "no instances of what is no class": ("odd", "List the instances of ex:one.",
                                         "SELECT ?x WHERE { ?x a $ENTITY_1 }", False),
    "none above": ("prov", "What are the superclasses of Activity?",
                   "SELECT ?x WHERE { $ENTITY_1 rdfs:subClassOf ?x }", True),
    "a type of properties": ("prov", "Which things are instances of owl:DatatypeProperty?",
                             "SELECT ?x WHERE { ?x a $ENTITY_1 }", True),
    "too many for a limit": ("harbour", 'Which terms contain "a" in their name?',
                             "SELECT ?x ?l ?t WHERE { ?x rdfs:label|skos:prefLabel|skos:altLabel|a ?l OPTIONAL "
                             "{ ?x a ?t } FILTER(CONTAINS(LCASE(STR(?x)), $TEXT_1) || CONTAINS(LCASE(?l), $TEXT_1)) } "
                             "LIMIT 120", False),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_what_is_followed_gives_the_same_answer(engines: dict[str, Any], name: str) -> None:
    ontology, question, query, followed = SAME[name]
    item = procedure("Some procedure", FINDING, query_step(query))
    without, with_it = (ask(engines[ontology], question, items) for items in ([], [item]))
    assert with_it.answer == without.answer
    assert uses(with_it) == (["1"] if followed else ["1", "none"])


@pytest.mark.parametrize("depth", [1, 4])
def test_how_deep_a_procedure_looks_for_a_path_changes_nothing(
    engines: dict[str, Any], depth: int
) -> None:
    item = procedure("Path", FINDING, f"`find_path(source, target, max_depth={depth})`")
    without, with_it = (
        ask(engines["prov"], "How is Person related to Activity?", items) for items in ([], [item])
    )
    assert with_it.answer == without.answer and uses(with_it) == ["1"]


@pytest.mark.parametrize("seed", [3, 6])
def test_long_labels_among_short_ones_do_not_fill_a_page(tmp_path: Path, seed: int) -> None:
    some = random.Random(seed)
    ships = [f"ex:Ship{some.randrange(10**6)}" for _ in range(40)]
    labels = ["ship " + "x" * 880 * (place > 8 and some.random() < 0.5) for place in range(40)]
    pairs = zip(ships, labels, strict=True)
    engine = opened(
        tmp_path, "".join(f'{ship} a owl:Class ; rdfs:label "{label}" .\n' for ship, label in pairs)
    )
    result = ask(engine, 'Which classes have "ship" in their name?')
    engine.close()
    assert listed(result.answer) == set(ships)
    assert result.leakage["max_single_return"] <= 1_000
