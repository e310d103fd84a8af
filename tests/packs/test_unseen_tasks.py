"""Questions made for any ontology: the same by the same seed, of every kind, and each with an
answer that fits."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from rlm.learning.verify import check_verify
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.labels import squeeze
from rlm.ontology.source import open_engine

SMALL = """\
@prefix ex: <http://example.org/small#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Alone a owl:Class ; rdfs:label "alone" .
ex:Other a owl:Class ; rdfs:label "alone" .
"""


@pytest.fixture(scope="module")
def unseen(root: Path) -> Iterator[Any]:
    """bench/unseen_tasks.py; bench lies beside the package and is not installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(root)
        yield import_module("bench.unseen_tasks")


@pytest.fixture(scope="module")
def skos(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with open_engine(
        root / "ontology" / "skos.ttl", cache_dir=tmp_path_factory.mktemp("cache")
    ) as engine:
        yield engine


@pytest.fixture(scope="module")
def maker(unseen: Any, skos: Engine) -> Any:
    return unseen.Maker(skos, skos.meta(), per_kind=2, seed=1)


@pytest.fixture(scope="module")
def tasks(maker: Any) -> Any:
    return maker.tasks()


def test_every_kind_is_asked_as_often_as_wanted(unseen, maker, tasks):
    assert maker.skipped == {}
    assert [task.kind for task in tasks] == [kind for kind in unseen.KINDS for _ in range(2)]
    assert len({task.id for task in tasks}) == len({task.query for task in tasks}) == len(tasks)


def test_the_seed_decides(unseen, skos, tasks):
    again = unseen.make_tasks(skos, skos.meta(), per_kind=2, seed=1)
    assert [(task.query, task.verify) for task in again] == [
        (task.query, task.verify) for task in tasks
    ]
    other = unseen.make_tasks(skos, skos.meta(), per_kind=2, seed=2)
    assert {task.query for task in other} != {task.query for task in tasks}


def test_every_answer_can_be_checked_and_is_not_empty(skos, tasks):
    for task in tasks:
        check_verify(task.verify, skos)
        assert bool(skos.query(task.verify.sparql).rows) == (task.kind != "absent"), task.query


def test_a_name_that_two_terms_have_is_not_used(unseen, tmp_path):
    (tmp_path / "small.ttl").write_text(SMALL)
    with open_engine(tmp_path / "small.ttl", cache_dir=tmp_path / "cache") as engine:
        made = unseen.Maker(engine, engine.meta(), per_kind=5)
        found = made.tasks()
        texts = [made.terms.written(term, made.rng) for term in made.classes for _ in range(20)]
    assert {way for way, _ in texts} <= {"curie", "local name"}
    said = " ".join(text for _, text in texts).replace("ex:Alone", "")
    assert "alone" not in squeeze(said)  # as a local name it is also the other's label
    assert "subclasses" in made.skipped
    assert {task.kind for task in found} >= {"namespaces", "describe", "roots", "absent", "count"}


def test_what_is_wrong_counts_in_its_kind(root, unseen, tasks):
    running = import_module("bench.unseen")
    one, two = tasks[:2]
    shown = running.summary(
        [
            running.Outcome("a.ttl", one, "x", True, "", 2),
            running.Outcome("a.ttl", two, "", False, "no", 4),
        ]
    )
    assert shown.splitlines() == [
        "| ontology | namespaces | all | turns |",
        "|---|---|---|---|",
        "| a.ttl | 1/2 | 1/2 | 3.0 |",
        "| all | 1/2 | 1/2 | 3.0 |",
    ]
