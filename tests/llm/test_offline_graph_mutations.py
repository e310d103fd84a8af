"""Whatever is done to a good query: it is refused, or it finds what the good one finds.

The good queries of every kind are changed in many small ways. What is still accepted is run, as the
program that follows a procedure would, over real ontologies and over a graph of odd cases: the
planner's own query finds the same.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from graph_runs import opened, query_step

from rlm.errors import RLMError
from rlm.llm.offline.asked.kinds import Asked
from rlm.llm.offline.graph.answers import base_kind, query_for, searched_types
from rlm.llm.offline.graph.prompt import Entry, ToolPlan, plan_of
from rlm.llm.offline.graph.repl import column, matching
from rlm.ontology.source import open_engine

TOOLS = {"sparql_query"}
ODD = """
ex:Self a owl:Class ; rdfs:subClassOf ex:Self, "Self", 7, [ a owl:Class ; rdfs:subClassOf ex:Far ] .
ex:A a owl:Class ; rdfs:label "A"@en ; rdfs:subClassOf ex:B . ex:B a rdfs:Class ; rdfs:subClassOf ex:C, ex:D .
ex:C a owl:Class, rdfs:Class ; rdfs:subClassOf ex:A, ex:C, owl:Thing . ex:Undeclared rdfs:subClassOf ex:C .
ex:D a owl:Class ; rdfs:label "a" ; skos:prefLabel "A" . ex:Far a owl:Class . [] a owl:Class ; rdfs:subClassOf ex:A .
ex:Meta a ex:Meta, owl:Class ; rdfs:subClassOf owl:Thing ; rdfs:domain ex:Meta ; rdfs:range ex:Meta .
owl:Nothing rdfs:subClassOf ex:A . ex:i a ex:A, ex:Self . [] a ex:A . ex:j a ex:Undeclared . owl:Thing a owl:Class .
ex:p a owl:ObjectProperty, rdf:Property ; rdfs:domain ex:A, ex:D ; rdfs:range ex:B ; rdfs:label "a p" .
ex:q a owl:DatatypeProperty ; rdfs:domain ex:C ; rdfs:range rdfs:Literal ; rdfs:subClassOf ex:A .
[] a owl:ObjectProperty ; rdfs:domain ex:A ; rdfs:range ex:A . ex:r rdfs:domain ex:D ; rdfs:range ex:Far .
"""
EX, PROV, HARBOUR = (
    "http://ex.example/",
    "http://www.w3.org/ns/prov#",
    "https://example.org/harbour#",
)
OWL, SKOS = "http://www.w3.org/2002/07/owl#", "http://www.w3.org/2004/02/skos/core#"
PAIRS = {
    "odd": [(EX + "A", EX + "C"), (EX + "Self", EX + "Self"), (EX + "Meta", OWL + "Thing"), (EX + "B", EX + "D")],
    "prov": [(PROV + "Influence", PROV + "Entity"), (PROV + "EmptyDictionary", PROV + "Entity"),
             (OWL + "ObjectProperty", OWL + "Class")],
    "harbour": [(HARBOUR + "Vessel", HARBOUR + "Agent"), (HARBOUR + "FeederShip", HARBOUR + "Vessel")],
    "skos": [(SKOS + "Collection", SKOS + "Concept"), (SKOS + "OrderedCollection", SKOS + "Collection")],
}  # fmt: skip
A = ("A",)
KINDS = [Asked(kind, A) for kind in ("subclasses", "all_subclasses", "superclasses", "all_superclasses", "instances",
                                     "properties_by_domain", "properties_by_range")]  # fmt: skip
KINDS += [
    Asked(kind, A, inherited=True)
    for kind in ("instances", "properties_by_domain", "properties_by_range")
]
KINDS += [
    Asked("count", A, of=of)
    for of in ("subclasses", "all_subclasses", "superclasses", "all_superclasses")
]
KINDS += [
    Asked("count", A, of="instances"),
    Asked("is_subclass", ("A", "B")),
    Asked("is_subclass", ("A", "B"), "direct"),
]
KINDS += [
    Asked("roots"),
    Asked("search", text="a"),
    *(Asked("count", of=of) for of in ("classes", "properties")),
]
KINDS += [
    Asked("count", of="triples"),
    Asked("count", of="object_properties"),
    Asked("search", what="class"),
]

TOKEN = re.compile(r'<\S*>|[?$]\w+|"[^"]*"|[A-Za-z]\w*:\w+|\w+|\|\||&&|!=|\S')
SWAPS = {
    "rdfs:subClassOf": ["^rdfs:subClassOf", "(rdfs:subClassOf)", "rdfs:subClassOf/rdfs:subClassOf*", "!rdfs:subClassOf",
                        "rdfs:subClassOf|rdfs:subClassOf", "rdfs:subPropertyOf", "rdfs:subclassof",
                        "(^rdfs:subClassOf)",
                        "<http://www.w3.org/2000/01/rdf-schema#subClassOf>", "?p", "rdfs:subClassOf?",
                        "^(^rdfs:subClassOf)"],
    "a": ["rdf:type", "A", "^a", "a|rdf:type", "a*", "?p", "a/rdfs:subClassOf", "a/rdfs:subClassOf*"],
    "?x": ["?X", "?y", "?t", "?c", "$x", "$ENTITY_1", "?n", "owl:Thing", "?l", "?other"],
    "?y": ["?x", "?t", "?Y", "?z"], "?t": ["?x", "?y", "?l", "owl:Class"], "?l": ["?L", "?x", "?t", "STR(?l)"],
    "$ENTITY_1": ["?x", "$ENTITY_2", "$ENTITY_10", "$ENTITY_1x", "?ENTITY_1", "owl:Thing"],
    "$ENTITY_2": ["$ENTITY_1", "?x"], "+": ["*", "?", "", "+ +"], "*": ["+", "?", "", "/rdfs:subClassOf"],
    "isIRI": ["ISIRI", "isURI", "!isBlank", "isBlank", "isLiteral", "!isIRI", "BOUND", "!"],
    "&&": ["||", ",", "= "], "||": ["&&"], "!=": ["=", "<", "> "], "IN": ["in", "="], "NOT": ["", "NOT NOT"],
    "MINUS": ["OPTIONAL", "FILTER NOT EXISTS", "FILTER EXISTS", ""], "OPTIONAL": ["MINUS", "FILTER EXISTS", ""],
    "owl:Class": ["rdfs:Class", "owl:class", "<http://www.w3.org/2002/07/owl#Class>", "UNDEF", "owl:Thing"],
    "rdfs:Class": ["owl:Class", "rdfs:Resource"], "owl:Thing": ["owl:thing", "owl:Nothing", "?x"],
    "COUNT": ["SAMPLE", "MAX", "count", "SUM"], "DISTINCT": ["", "REDUCED"], "SELECT": ["ASK", "CONSTRUCT"],
    "rdfs:domain": ["rdfs:range", "rdfs:domain|rdfs:range", "rdfs:domain/rdfs:subClassOf*"],
    "rdfs:range": ["rdfs:domain", "^rdfs:range"], "CONTAINS": ["STRSTARTS", "contains", "REGEX"],
    "LCASE": ["UCASE", ""],
}  # fmt: skip
ADDED = [
    "LIMIT 100", "LIMIT 1000", "OFFSET 1", "ORDER BY ?x", "ORDER BY DESC(?x) LIMIT 100", "GROUP BY ?x", "# .",
    "HAVING(COUNT(?x) > 1)", "FILTER(isIRI(?x))", "FILTER(isIRI(?X))", "FILTER(false)", "FILTER(?x != $ENTITY_1)",
    "FILTER(?x != owl:Nothing)", "FILTER(!isBlank(?x))", "FILTER(isIRI(?x) && ?x != $ENTITY_1)",
    "FILTER EXISTS { ?x a ?t }",
    "FILTER NOT EXISTS { ?x a owl:Class }", "OPTIONAL { ?x rdfs:label ?l }", "OPTIONAL { ?x rdfs:label ?x }",
    "OPTIONAL { ?x rdfs:label ?l FILTER(false) }", "OPTIONAL { ?y rdfs:label ?l }", "OPTIONAL { ?x rdfs:label ?c }",
    "OPTIONAL { $ENTITY_1 rdfs:subClassOf ?x }", "OPTIONAL { ?x rdfs:label|skos:prefLabel ?t }",
    "MINUS { ?x a owl:Class }",
    "OPTIONAL { ?x skos:prefLabel ?n }", "BIND(owl:Thing AS ?x)", "VALUES ?x { owl:Thing }", "VALUES ?t { owl:Class }",
    "VALUES ?t { owl:Class rdfs:Class }", "VALUES ?c { owl:Class }", "{ ?x a owl:Class }", "UNION { ?x a owl:Class }",
    "{ }",
    ". ?x a owl:Class .", ". ?x a rdfs:Class .", ". ?x a ?t .", ". ?x ?p ?o .", "; a owl:Class", ", owl:Thing",
    "\\u003fx",
    ". ?y rdfs:subClassOf ?x .", "GRAPH ?g {", "PREFIX rdfs: <urn:x#>", "^", "!", "*", "+", "?", "|rdfs:label", ".",
    "}", "{",
    "/rdfs:subClassOf", "/^rdfs:subClassOf", "?l", "?t", "FROM <urn:x>", "(COUNT(?x) AS ?m)", "&& isIRI(?x)",
    "|| isIRI(?x)",
    "&& ?x != $ENTITY_1", "( ", ")", "NOT", "FILTER(isIRI($ENTITY_1))", "FILTER(isIRI(?c))", "\u00a0",
    "SELECT ?x WHERE {",
]  # fmt: skip


def good(asked: Asked) -> list[str]:
    """The planner's own query, and others that people and the extractor write for the same."""
    terms = ["$ENTITY_1", "$ENTITY_2"][: len(asked.mentions)]
    own = query_for(asked, terms).replace('"a"', "$TEXT_1")
    made = [own, own.replace(" && ?x != $ENTITY_1", ""), own.replace(" FILTER(isIRI(?x))", "")]
    if asked.inherited and base_kind(asked) == "instances":
        made.append("SELECT ?x WHERE { ?x a ?c . ?c rdfs:subClassOf* $ENTITY_1 }")
    elif asked.inherited:
        side = base_kind(asked).removeprefix("properties_by_")
        made.append(f"SELECT ?x WHERE {{ ?x rdfs:{side} ?c . $ENTITY_1 rdfs:subClassOf* ?c }}")
    if asked.kind == "count" and asked.of != "triples":
        made.append(made[0].replace("(COUNT(DISTINCT ?x) AS ?n)", "?x"))
    return list(dict.fromkeys(made))


def changed(query: str) -> Iterator[str]:
    """The query with one thing dropped, doubled, moved, exchanged or added."""
    tokens = TOKEN.findall(query)
    for at, token in enumerate(tokens):
        before, after = tokens[:at], tokens[at + 1 :]
        yield " ".join([*before, *after])
        yield " ".join([*before, token, token, *after])
        for other in range(at + 1, len(tokens)):
            if tokens[other] != token:
                yield " ".join(
                    [*before, tokens[other], *tokens[at + 1 : other], token, *tokens[other + 1 :]]
                )
        for new in SWAPS.get(token, ()):
            yield " ".join([*before, new, *after])
            yield query.replace(token, new)
        for new in ADDED:
            yield " ".join([*before, new, token, *after])
    yield from (f"{query} {new}" for new in ADDED)
    yield from moved(query)


def moved(query: str) -> Iterator[str]:
    """The parts of the outer group in any order, and without one."""
    head, _, body = query.partition("{")
    part = r"(?:VALUES|MINUS|OPTIONAL)[^{}]*\{[^{}]*\}|FILTER\((?:[^()]|\([^()]*(?:\([^()]*\))?[^()]*\))*\)|[^\s{}][^{}]*?"
    parts = re.findall(
        rf"({part})(?=\s*(?:VALUES|MINUS|OPTIONAL|FILTER|\.\s|\}}$|\?x a ))", body.strip()
    )
    for number in (len(parts), len(parts) - 1):
        for order in itertools.permutations(parts[:6], max(number, 0)):
            yield f"{head}{{ {' . '.join(order)} }}"
            yield f"{head}{{ {' '.join(order)} }}"


def accepted(asked: Asked, queries: Iterator[str]) -> list[ToolPlan]:
    plans = (
        plan_of(asked, Entry(1, "Some procedure", "", (query_step(each),)), TOOLS)
        for each in dict.fromkeys(queries)
    )
    return [plan for plan in plans if plan is not None]


class Graph:
    """An engine that answers as the program that follows a procedure does; every query is asked
    once."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.prefixes, self._known = engine, engine.meta().prefixes, dict[str, Any]()

    def rows(self, query: str, pair: tuple[str, str]) -> Any:
        for place, iri in enumerate(pair, 1):
            query = query.replace(f"$ENTITY_{place}", f"<{iri}>")
        query = " ".join(query.replace("$TEXT_1", '"a"').split())
        if query not in self._known:
            try:
                answer = self.engine.query(query, limit=10_000)
                made = answer.boolean if answer.kind == "ask" else answer.text_rows(self.prefixes)
            except RLMError:
                made = None  # then the planner explores
            self._known[query] = made
        return self._known[query]

    def outcome(self, asked: Asked, plan: ToolPlan, pair: tuple[str, str]) -> Any:
        """What comes out; None when it is not taken for an answer."""
        found = self.rows(plan.query, pair)
        if found is None or isinstance(found, bool):
            return found
        if plan.form == "COUNT":
            number = int(*found[0].values())
            number -= bool(
                plan.loop and self.rows(f"ASK {{ $ENTITY_1 {plan.loop} $ENTITY_1 }}", pair)
            )
            return None if plan.narrowed and number != self._counted(asked, pair) else number
        if plan.limit is not None and len(found) >= plan.limit:
            return None
        if base_kind(asked) == "search":
            rows = [
                dict(zip("xlt", (row.get(name, "") for name in plan.columns), strict=True))
                for row in found
            ]
            return matching(rows, "a", asked.where, searched_types(asked))
        own = self.prefixes.shrink(pair[0]) if plan.drop_self else ""
        names = [name for name in column(found, plan.columns[0]) if name != own]
        if plan.narrowed and len(names) != self._counted(asked, pair):
            return None
        return len(names) if asked.kind == "count" else names

    def _counted(self, asked: Asked, pair: tuple[str, str]) -> int:
        counted = query_for(replace(asked, kind="count", of=base_kind(asked)), ["$ENTITY_1"])
        return int(*self.rows(counted, pair)[0].values())


class Graphs(dict[str, Graph]):
    """The graphs, each opened when it is asked for."""

    def __init__(self, root: Path, folder: Path) -> None:
        super().__init__()
        self._root, self._folder = root, folder

    def __missing__(self, name: str) -> Graph:
        path = self._root / "ontology" / f"{name}.ttl"
        engine = (
            opened(self._folder, ODD)
            if name == "odd"
            else open_engine(path, cache_dir=self._folder)
        )
        self[name] = Graph(engine)
        return self[name]


@pytest.fixture(scope="module")
def graphs(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graphs]:
    made = Graphs(root, tmp_path_factory.mktemp("cache"))
    yield made
    for graph in made.values():
        graph.engine.close()


def named(asked: Asked) -> str:
    return f"{asked.kind} {asked.of}{' inherited' if asked.inherited else ''}{asked.what}"


def differing(
    graph: Graph, asked: Asked, plans: list[ToolPlan], pairs: list[tuple[str, str]]
) -> list[Any]:
    """The accepted queries that find something else than the planner's own."""
    own = accepted(asked, iter([good(asked)[0]]))[0]
    found = []
    for pair in pairs:
        wanted = graph.outcome(asked, own, pair)
        for plan in plans:
            if (outcome := graph.outcome(asked, plan, pair)) is not None and outcome != wanted:
                found.append((plan.query, pair, outcome, wanted))
    return found


def test_every_kind_has_queries_that_are_accepted() -> None:
    for asked in KINDS:
        assert accepted(asked, iter(good(asked)[:1])), named(asked)


@pytest.mark.parametrize("asked", KINDS, ids=named)
def test_what_is_accepted_finds_the_same(graphs: Graphs, asked: Asked) -> None:
    some = random.Random(7)
    queries = [each for query in good(asked) for each in (query, *changed(query))]
    plans = accepted(asked, iter([*good(asked), *some.sample(queries, min(len(queries), 600))]))
    plans = [plans[0], *some.sample(plans[1:], min(len(plans) - 1, 25))]
    assert not differing(graphs["odd"], asked, plans, PAIRS["odd"][:2])


@pytest.mark.slow
@pytest.mark.parametrize("asked", KINDS, ids=named)
def test_what_is_accepted_finds_the_same_everywhere(graphs: Graphs, asked: Asked) -> None:
    plans = accepted(asked, (each for query in good(asked) for each in changed(query)))
    for name, pairs in PAIRS.items():
        assert not differing(graphs[name], asked, plans, pairs), name


@pytest.mark.slow
@pytest.mark.parametrize("asked", KINDS, ids=named)
def test_two_changes_at_once(graphs: Graphs, asked: Asked) -> None:
    some = random.Random(11)
    once = [plan.query for query in good(asked) for plan in accepted(asked, changed(query))]
    twice = (each for query in some.sample(once, min(len(once), 12)) for each in changed(query))
    plans = accepted(asked, twice)
    plans = some.sample(plans, min(len(plans), 400))
    assert not differing(graphs["odd"], asked, plans, PAIRS["odd"])
