"""The shipped curricula: every query has an answer worth asking for, both halves ask every kind,
nothing twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlm.learning.kinds import FAMILIES
from rlm.learning.verify import check_answer
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.query.guard import check_query
from rlm.ontology.query.lexer import IRI, PNAME
from rlm.ontology.source import open_engine
from rlm.ontology.views.paths import find_path
from rlm.packs.curriculum import KINDS, Curriculum, Task, read_curriculum
from rlm.packs.curriculum_check import check_curriculum, odd_tags

LEAST = {"prov": 44, "skos": 24, "harbour": 24}
COMPARE = {
    "namespaces": {"contains_all"},
    "describe": {"contains_all"},
    "exists": {"boolean"},
    "is_subclass": {"boolean"},
    "count": {"count"},
    "path": {"contains_all"},
    "absent": {"absent"},
}


class Suite:
    """One curriculum with its ontology open."""

    def __init__(self, curriculum: Curriculum, engine: Engine) -> None:
        self.curriculum, self.engine, self.meta = curriculum, engine, engine.meta()

    def values(self, task: Task) -> list[str]:
        assert task.verify is not None
        answer = self.engine.query(task.verify.sparql)
        if answer.boolean is not None:
            return [str(answer.boolean)]
        return [term["v"] for row in answer.rows for term in row.values()]

    def terms(self, task: Task) -> set[str]:
        """The terms of the ontology itself that the query names."""
        assert task.verify is not None
        names = [
            token.text
            for token in check_query(task.verify.sparql).tokens
            if token.kind in (IRI, PNAME)
        ]
        iris = {self.meta.prefixes.expand(name) for name in names}
        return {iri for iri in iris if iri in self.meta.labels}


@pytest.fixture(scope="module", params=LEAST)
def suite(
    request: pytest.FixtureRequest, root: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Suite]:
    curriculum = read_curriculum(root / "docs" / "curricula" / f"{request.param}_v1.yaml")
    with open_engine(
        curriculum.ontology_path, cache_dir=tmp_path_factory.mktemp("cache")
    ) as engine:
        yield Suite(curriculum, engine)


def test_the_file_is_what_it_is_called(suite, root):
    found = suite.curriculum
    assert found.path.name == f"{found.ontology_name}_v1.yaml"
    assert found.id == f"{found.ontology_name}_curriculum_v1"
    assert found.ontology_path.resolve() == root / "ontology" / f"{found.ontology_name}.ttl"
    assert len(found.tasks) >= LEAST[found.ontology_name]
    listed = (root / "docs" / "curricula" / "README.md").read_text("utf-8")
    assert f"| [{found.path.name}]({found.path.name}) |" in listed
    row = next(line for line in listed.splitlines() if line.startswith(f"| [{found.path.name}]"))
    assert row.endswith(f"| {len(found.tasks)} |")


@pytest.mark.req("RB-08", "RB-22")
def test_every_query_is_answered(suite):
    check_curriculum(suite.curriculum, suite.engine)
    assert all(task.verify is not None for task in suite.curriculum.tasks)
    assert list(odd_tags(suite.curriculum)) == []


def test_both_halves_ask_every_kind_and_are_of_a_size(suite):
    training, held_out = suite.curriculum.training, suite.curriculum.held_out
    assert {task.kind for task in training} == {task.kind for task in held_out} == set(KINDS)
    assert abs(len(training) - len(held_out)) <= len(suite.curriculum.tasks) // 10
    for kind, number in Counter(task.kind for task in training).items():
        assert abs(number - sum(task.kind == kind for task in held_out)) <= 2, kind


def test_the_kinds_are_those_that_the_planner_knows_and_absence(suite):
    assert set(KINDS) - {"absent"} <= FAMILIES.keys()
    for task in suite.curriculum.tasks:
        assert task.tags == (task.kind, FAMILIES.get(task.kind, "absence")), task.id


def test_no_question_is_asked_twice(suite):
    said = [" ".join(task.query.casefold().split()).rstrip("?.") for task in suite.curriculum.tasks]
    assert len(set(said)) == len(said)
    openings = {" ".join(query.split()[:3]) for query in said}
    assert len(openings) > len(said) // 2


def test_what_is_held_out_is_about_other_terms(suite):
    """Of the same kind of question, that is. Roots, prefixes and names that nobody has are the same
    for all."""
    asked = [
        task
        for task in suite.curriculum.tasks
        if task.kind not in ("namespaces", "roots", "search", "absent")
    ]
    trained: dict[str, set[str]] = {}
    for task in asked:
        terms = {
            iri
            for iri in suite.terms(task)
            if task.kind != "path" or iri not in suite.meta.properties
        }
        if not task.held_out:
            trained.setdefault(task.kind, set()).update(terms)
        elif (
            task.kind != "is_subclass"
        ):  # in skos only one class has subclasses, and one is needed for a no
            assert not terms & trained[task.kind], task.id
    texts = [
        task.verify.sparql for task in suite.curriculum.tasks if task.kind in ("search", "absent")
    ]
    assert len(set(texts)) == len(texts)


def test_the_way_of_comparing_fits_the_kind(suite):
    for task in suite.curriculum.tasks:
        assert task.verify.compare in COMPARE.get(task.kind, {"set"}), task.id


def test_the_answers_are_worth_asking_for(suite):
    sizes = Counter[int]()
    for task in suite.curriculum.tasks:
        values = suite.values(task)
        assert bool(values) == (task.kind != "absent"), task.id
        assert len(set(values)) == len(values), task.id
        if task.verify.compare == "set":
            sizes[len(values)] += 1
    assert len(sizes) >= 4
    assert max(sizes) >= 5
    numbers = [suite.values(task)[0] for task in suite.curriculum.tasks if task.kind == "count"]
    assert len(set(numbers)) >= 2
    truths = [
        suite.values(task)[0] for task in suite.curriculum.tasks if task.verify.compare == "boolean"
    ]
    assert set(truths) == {"True", "False"}


def test_there_is_one_shortest_way_for_every_path(suite):
    """All shortest paths between the two pass the same nodes, and those are what is expected."""
    for task in suite.curriculum.tasks:
        if task.kind != "path":
            continue
        wanted = set(map(suite.meta.curie, suite.values(task)))
        ends = [
            suite.meta.curie(iri)
            for iri in sorted(suite.terms(task))
            if iri not in suite.meta.properties
        ]
        assert len(ends) == 2, (task.id, ends)
        paths = find_path(suite.engine, suite.meta, *ends, max_depth=3, limit=25)["paths"]
        shortest = [path for path in paths if path["length"] == paths[0]["length"]]
        inner = {frozenset(edge["to"] for edge in path["edges"][:-1]) for path in shortest}
        assert len(inner) == 1, (task.id, shortest)
        (nodes,) = inner
        edges = {edge["predicate"] for edge in shortest[0]["edges"]}
        assert nodes <= wanted <= nodes | edges, task.id


def test_a_perfect_answer_passes_and_others_do_not(suite):
    for task in suite.curriculum.tasks:
        right = answered(suite, task)
        verdict = check_answer(right, task.verify, suite.engine, suite.meta, task.query)
        assert verdict.ok, (task.id, right, verdict)
        for wrong in spoiled(suite, task, right):
            assert not check_answer(wrong, task.verify, suite.engine, suite.meta, task.query).ok, (
                task.id,
                wrong,
            )


def spoiled(suite: Suite, task: Task, right: str) -> list[str]:
    """The same answer with one thing wrong."""
    stranger = next(
        iri
        for iri in suite.meta.declared
        if f"<{iri}>" not in right and not named(suite, task, iri)
    )
    compare, lines = task.verify.compare, right.splitlines()
    if compare == "boolean":
        return ["No." if right == "Yes." else "Yes."]
    if compare == "count":
        return [str(int(right) + 1)]
    if compare == "absent":
        return [f"It is <{stranger}>.", "It is a thing."]
    without = ["\n".join(lines[1:])] if len(lines) > 1 else [f"- <{stranger}>"]
    return [*without, f"{right}\n- <{stranger}>"] if compare == "set" else without


def named(suite: Suite, task: Task, iri: str) -> bool:
    """Whether the question may be about it; what a question names may be repeated in the answer."""
    names = [
        text for text, _ in (*suite.meta.labels.get(iri, ()), *suite.meta.alternatives.get(iri, ()))
    ]
    words = [name.casefold()[:4] for name in (*names, suite.meta.curie(iri).partition(":")[2])]
    return iri in suite.terms(task) or any(word in task.query.casefold() for word in words)


def answered(suite: Suite, task: Task) -> str:
    values = suite.values(task)
    if task.verify.compare == "absent":
        return "There is no such thing in this ontology."
    if task.verify.compare == "boolean":
        return "Yes." if values == ["True"] else "No."
    if task.verify.compare == "count":
        return values[0]
    return "\n".join(f"- <{iri}>" for iri in values)
