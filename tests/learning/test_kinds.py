"""The kind of a question is read off the form of the query that answered it."""

from __future__ import annotations

import pytest
from corpus_kinds import LESSONS, QUESTIONS

from rlm.learning.kinds import FORMS, NUMBER, ONE, form_of, kind_of
from rlm.store.document import KIND_WORDS, kinds_asked
from rlm.store.open import open_store
from rlm.store.types import MemoryItem, Scope

CLASS = "?x a pv:Part ; pv:price ?p"
QUERIES = [
    (f"SELECT ?x WHERE {{ {CLASS} }} ORDER BY DESC(?p) LIMIT 1", "superlative"),
    (f"SELECT ?x WHERE {{ {CLASS} }}\nORDER BY ?p\nLIMIT 10", "superlative"),
    (f"SELECT (MAX(?p) AS ?m) WHERE {{ {CLASS} }}", "superlative"),
    ("SELECT ?c (COUNT(?x) AS ?n) WHERE { ?x pv:of ?c } GROUP BY ?c ORDER BY DESC(?n) LIMIT 3",
     "superlative"),
    (f"SELECT ?x WHERE {{ {CLASS} }} ORDER BY ?p LIMIT 100", "listing"),
    ("SELECT (COUNT(DISTINCT ?x) AS ?n) WHERE { ?x a/rdfs:subClassOf* pv:Part }", "count"),
    ("SELECT ?c (AVG(?p) AS ?n) WHERE { ?x pv:of ?c ; pv:price ?p } GROUP BY ?c", "count"),
    ("SELECT ?x ?p WHERE { VALUES ?x { pv:a pv:b } ?x pv:price ?p }", "comparison"),
    ("ASK { pv:a pv:price ?p . pv:b pv:price ?q FILTER(?p > ?q) }", "comparison"),
    ("SELECT ?x WHERE { ?x a pv:Part FILTER NOT EXISTS { ?x pv:price ?p } }", "negation"),
    ("SELECT ?x WHERE { ?x a pv:Part MINUS { ?x pv:price ?p } }", "negation"),
    ("SELECT ?x WHERE { ?x pv:maker/pv:country ?c }", "path"),
    ("SELECT ?x WHERE { $ENTITY_1 (pv:a|pv:b)+ ?x }", "path"),
    ("SELECT ?v WHERE { $ENTITY_1 pv:price ?v }", "values"),
    ("SELECT ?v WHERE { <http://x.org/a/b> <http://x.org/p/q> ?v }", "values"),
    ("SELECT ?x WHERE { ?x a/rdfs:subClassOf* pv:Part ; pv:colour 'red/blue' }", "listing"),
    ("ASK { ?x a pv:Part }", ""),
]  # fmt: skip


@pytest.mark.parametrize(("query", "kind"), QUERIES)
def test_the_form_of_a_query_tells_the_kind(query, kind):
    assert form_of(query) == kind
    assert kind_of([f'sparql_query("{query}")']).task_type == kind


ANSWERED = [
    ("superlative", ONE, "SELECT ?s ?p WHERE { ?s pv:price ?p } ORDER BY DESC(?p)"),
    ("listing", "", "SELECT ?s ?p WHERE { ?s pv:price ?p } ORDER BY DESC(?p)"),
    ("superlative", "", "SELECT ?s ?p WHERE { ?s a $ENTITY_1 ; pv:price ?p } ORDER BY ?p LIMIT 1"),
    ("superlative", ONE, "SELECT ?c (COUNT(?x) AS ?n) WHERE { ?x pv:of ?c } GROUP BY ?c ORDER BY ?n"),
    ("superlative", "", "SELECT ?c (COUNT(?x) AS ?n) WHERE { ?x pv:of ?c } GROUP BY ?c"
     " HAVING (COUNT(?x) > 1) ORDER BY DESC(?n)"),
    ("superlative", "", "SELECT ?s WHERE { ?s pv:price ?p"
     " { SELECT (MAX(?q) AS ?p) WHERE { ?t pv:price ?q } } }"),
    ("superlative", "", "SELECT ?s WHERE { ?s pv:price ?p FILTER NOT EXISTS"
     " { ?t pv:price ?q FILTER(?q > ?p) } }"),
    ("superlative", "", "SELECT ?s ?n WHERE { ?s rdfs:label ?n } ORDER BY DESC(STRLEN(?n)) LIMIT 1"),
    ("instances", ONE, "SELECT ?s ?l WHERE { ?s a $ENTITY_1 ; rdfs:label ?l } ORDER BY ?l LIMIT 5"),
    ("listing", "", "SELECT ?s ?name WHERE { ?s foaf:name ?name } ORDER BY ?name LIMIT 10"),
    ("comparison", "", "SELECT ?s ?p WHERE { ?s pv:price ?p FILTER(?s IN (pv:a, pv:b)) }"),
    ("comparison", "", "SELECT ?s ?p WHERE { ?s rdfs:label ?l ; pv:price ?p"
     " FILTER(STR(?l) = 'A' || STR(?l) = 'B') }"),
    ("comparison", "", "SELECT ?p ?q WHERE { ?a rdfs:label $TEXT_1 ; pv:price ?p ."
     " ?b rdfs:label $TEXT_2 ; pv:price ?q }"),
    ("comparison", "", "SELECT ?p ?q WHERE { $ENTITY_1 pv:price ?p . $ENTITY_2 pv:price ?q }"),
    ("values", "", "SELECT ?p ?q WHERE { pv:a pv:price ?p . pv:a pv:weight ?q }"),
    ("listing", "", "SELECT ?s WHERE { ?s a pv:Part ; rdfs:label ?l"
     " FILTER(LANG(?l) = 'en' || LANG(?l) = 'de') }"),
    ("negation", "", "SELECT ?s WHERE { ?s a $ENTITY_1 FILTER NOT EXISTS { ?s pv:price ?p } }"),
    ("count_instances", NUMBER, "SELECT ?s WHERE { ?s a $ENTITY_1 }"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "answer", "query"), ANSWERED)
def test_what_the_answer_is_like_and_how_things_are_chosen_tell_it_too(kind, answer, query):
    assert kind_of([f'sparql_query("{query}")'], answer).task_type == kind


@pytest.mark.parametrize("word", ["heaviest", "deepest", "fewest", "noisiest", "rarest"])
def test_a_superlative_is_known_by_its_ending(word):
    assert kinds_asked(f"Which crane is the {word}?")


@pytest.mark.parametrize("word", ["forest", "interest", "guest", "request", "northwest"])
def test_what_only_looks_like_one_is_none(word):
    assert kinds_asked(f"Where is the {word} of the port?") == []


def test_what_has_a_name_of_its_own_keeps_it():
    below = "SELECT ?x WHERE { ?x rdfs:subClassOf+ $ENTITY_1 }"
    assert kind_of([f'sparql_query("{below}")']).task_type == "all_subclasses"
    assert kind_of(["find_path('a', 'b')"]).task_type == "path"


def test_every_form_has_words_that_questions_of_it_use():
    assert set(FORMS) <= KIND_WORDS.keys()


def right_first(store, *, told):
    """Questions whose first hit is a lesson of their kind. `told`: the lessons say their kind."""
    kinds = {}
    for kind, title, description, content, task in LESSONS:
        scope = Scope("x", (kind,) if told else ())
        item = MemoryItem(
            title, description, content, "success", task_query=task, scope=scope, confidence=0.6
        )
        kinds[store.add(item)] = kind
    hits = ((kind, store.retrieve(question, 1)) for kind, question in QUESTIONS)
    return sum(bool(found) and kinds[found[0].item.memory_id] == kind for kind, found in hits)


@pytest.mark.parametrize("name", ["m.db", "m.json"])
def test_a_lesson_is_found_by_the_words_of_its_kind(tmp_path, name):
    where = str(tmp_path / name)
    with open_store(f"json:{where}" if name.endswith("json") else where) as store:
        assert right_first(store, told=True) >= 24 and len(QUESTIONS) == 34


def test_without_a_kind_few_are_found(tmp_path):
    with open_store(str(tmp_path / "m.db")) as store:
        assert right_first(store, told=False) <= 8
