"""The hard curricula: the answers that were worked out by hand are those of the queries, both halves
ask the same sorts of question, and right answers in plain words are taken."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from rlm.learning.grounding import iris_in
from rlm.learning.verify import check_answer
from rlm.ontology.source import open_engine
from rlm.packs.curriculum import read_curriculum
from rlm.packs.curriculum_check import check_curriculum

SORTS = {"aggregation", "axiom", "hops", "comparison", "negation", "values", "absent"}
TASKS = {"prov": 28, "skos": 24, "harbour": 34}
_EXPECTED = re.compile(r"# expected: (.*)\n\s+- id: (\S+)")


class Suite:
    """One curriculum, its ontology, and the answers that stand above its tasks."""

    def __init__(self, path: Path, cache: Path) -> None:
        self.curriculum = read_curriculum(path)
        self.engine = open_engine(self.curriculum.ontology_path, cache_dir=cache)
        self.meta = self.engine.meta()
        self.expected: dict[str, Any] = {
            match[2]: json.loads(match[1]) for match in _EXPECTED.finditer(path.read_text("utf-8"))
        }

    def check(self, task_id: str, answer: str, *, read: bool = False) -> bool:
        """Whether an answer passes; with `read`, or is left to somebody who reads it."""
        task = next(task for task in self.curriculum.tasks if task.id == task_id)
        found = check_answer(answer, task.verify, self.engine, self.meta, task.query)
        return found.ok or (read and found.open)


@pytest.fixture(scope="module", params=TASKS)
def suite(request, root, tmp_path_factory) -> Iterator[Suite]:
    path = root / "docs" / "curricula" / f"hard_{request.param}_v1.yaml"
    made = Suite(path, tmp_path_factory.mktemp("cache"))
    yield made
    made.engine.close()


@pytest.fixture(scope="module")
def harbour(root, tmp_path_factory) -> Iterator[Suite]:
    path = root / "docs" / "curricula" / "hard_harbour_v1.yaml"
    made = Suite(path, tmp_path_factory.mktemp("cache"))
    yield made
    made.engine.close()


def test_the_files_are_listed_and_can_be_asked(suite, root):
    found = suite.curriculum
    name = found.ontology_name
    assert found.id == f"hard_{name}_v1" and len(found.tasks) == TASKS[name]
    check_curriculum(found, suite.engine)
    listed = (root / "docs" / "curricula" / "README.md").read_text("utf-8")
    row = next(line for line in listed.splitlines() if line.startswith(f"| [hard_{name}_v1.yaml]"))
    assert row.endswith(f"| {TASKS[name]} |")


def test_every_task_has_a_partner_in_the_other_half(suite):
    for task in suite.curriculum.tasks:
        assert task.tags[-1] == ("half_b" if task.held_out else "half_a") and task.verify
        assert len(SORTS.intersection(task.tags)) == 1, task.id
    halves = suite.curriculum.training, suite.curriculum.held_out
    pairs = [Counter(task.tags[-3:-1] for task in half) for half in halves]
    assert pairs[0] == pairs[1] and set(pairs[0].values()) == {1}


def test_the_queries_find_what_was_worked_out_by_hand(suite):
    for task in suite.curriculum.tasks:
        found, wanted = suite.engine.query(task.verify.sparql), suite.expected[task.id]
        if task.verify.compare == "boolean":
            assert found.boolean is wanted, task.id
            continue
        values = [term for row in found.rows for term in row.values()]
        if task.verify.compare == "count":
            number = Decimal(values[0]["v"]) if len(values) == 1 else len(values)
            assert float(number) == pytest.approx(wanted), task.id
        else:
            names = {
                json.dumps(term["v"]) if term["t"] == "lit" else suite.meta.curie(term["v"])
                for term in values
            }
            assert names == set(wanted), task.id


def test_right_answers_are_taken_and_others_are_not(suite):
    for task in suite.curriculum.tasks:
        for right in in_words(suite, task.verify.compare, suite.expected[task.id]):
            assert suite.check(task.id, right), (task.id, right)
        for wrong in spoiled(suite.expected[task.id], task.verify.compare):
            assert not suite.check(task.id, wrong), (task.id, wrong)


def in_words(suite: Suite, compare: str, wanted: Any) -> list[str]:
    if compare == "count":
        return [
            f"{wanted}",
            f"The answer is {wanted}.",
            f"**{wanted}**",
            f"It comes to {wanted} m.",
        ]
    if compare == "boolean":
        return ["Yes.", "Yes, it is."] if wanted else ["No.", "No, it is not."]
    if compare == "absent":
        return ["None.", "There are none.", "None of them.", "No such thing is on record."]
    names = [json.loads(name) if name.startswith('"') else name for name in wanted]
    labels = [label_of(suite, name) for name in names]
    return [
        ", ".join(names),
        ", ".join(labels),
        "\n".join(f"- {label}" for label in labels),
        "They are: " + " and ".join(f"{a} ({b})" for a, b in zip(labels, names, strict=True)) + ".",
    ]


def label_of(suite: Suite, name: str) -> str:
    iris = iris_in(name, suite.meta.prefixes)
    labels = suite.meta.labels.get(next(iter(iris), ""), [])
    return next((text for text, tag in labels if tag in ("en", "")), name)


def spoiled(wanted: Any, compare: str) -> list[str]:
    if compare == "count":
        return [str(wanted + 1), f"about {wanted}", f"{wanted} or {wanted + 1}", f"{wanted}0.5"]
    if compare == "boolean":
        return ["No."] if wanted else ["Yes."]
    if compare == "absent":
        return ["All of them; none is missing.", "There is one: prov:Agent.", "Yes."]
    return ["None.", *([", ".join(wanted[1:])] if len(wanted) > 1 else [])]


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        ("aggregation-average-a", "The average is 58.75 tonnes."),
        ("aggregation-average-a", "On average the 4 tugs pull 58.75 tonnes."),
        ("aggregation-average-a", "Pulls of 55, 60, 70 and 50 t: the average is 58.75 t."),
        ("comparison-difference-a", "336.2 m and 224.9 m, so it is 111.3 metres longer."),
        ("comparison-difference-a", "336.2 - 224.9 = 111.3"),
        ("aggregation-sum-a", "Together they can take 10,600 standard boxes (TEU)."),
        ("values-text-a", "The sister ship is the Grey Tern; its number is R-1002."),
        ("hops-terminal-a", "The ship that failed is lying at the Grain Quay."),
        ("axiom-restriction-b", "A container terminal must have one, by the property has berth."),
        ("absent-none-a", "No ship has its beam recorded."),
        ("absent-none-a", "None: harbour:beam has no values in the data."),
        ("absent-none-b", "The authority of Silvermouth employs no harbour pilots."),
        ("absent-none-b", "harbour:SilvermouthAuthority does not employ any harbour:HarbourPilot."),
    ],
)
def test_an_honest_answer_in_natural_words_is_not_refused(harbour, task, answer):
    assert harbour.check(f"hard-harbour-{task}", answer, read=True)


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        ("aggregation-average-a", "The average is 58.7 tonnes."),
        ("aggregation-average-a", "The 4 tugs pull 235.0 tonnes."),
        ("comparison-difference-a", "336.2 m and 224.9 m, so it is 113.1 metres longer."),
        ("values-text-a", "The number is R-10021."),
        ("hops-terminal-a", "At the East Yard."),
        ("absent-none-a", "harbour:GreyTern has a beam of 40 metres; none other."),
        ("absent-none-b", "PilotShift1 works there."),
    ],
)
def test_a_wrong_one_does_not(harbour, task, answer):
    assert not harbour.check(f"hard-harbour-{task}", answer)
