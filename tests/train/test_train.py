"""Training: every task once, what it teaches is kept, and a training that was stopped goes on where
it was."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time

import pytest

from rlm.errors import ConfigError, ModelAuthError, ModelUnavailable, NotRDF, RLMError
from rlm.llm import ScriptedClient
from rlm.llm.offline.client import OfflineClient
from rlm.packs.curriculum import read_curriculum
from rlm.store.learning import LearningRow
from rlm.store.types import Judgment, Run, Trajectory
from rlm.train import check_lesson, is_done, task_hash, train

pytestmark = pytest.mark.req("RB-09")


def offline(store, lesson, **more):
    return train(lesson, store, client=OfflineClient(), **more)


def rewrite(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")
    return path


class Failing:
    """The offline model, which fails when the question is about `about`."""

    model, is_language_model = "offline", False

    def __init__(self, about, error=None):
        error = error or ModelUnavailable("gone")
        self.about, self.error, self.inner = about, error, OfflineClient()

    def complete(self, messages, **options):
        if any(f"subclasses of {self.about}?" in message["content"] for message in messages):
            raise self.error
        return self.inner.complete(messages, **options)

    def close(self):
        """Nothing is held."""


def test_every_task_that_may_be_trained_on_is_run_judged_and_learnt_from(store, lesson, tmp_path):
    told = []
    report = offline(
        store, lesson, log_dir=tmp_path / "logs", on_task=lambda *each: told.append(each)
    )
    assert [each.task_id for each in report.outcomes] == [
        "boats-sub-01",
        "boats-sub-02",
    ], "not what is held out"
    assert all(each.success and each.steps and not each.earlier for each in report.outcomes), (
        report.outcomes
    )
    assert [(each.task_id, done, of) for each, done, of in told] == [
        ("boats-sub-01", 1, 2),
        ("boats-sub-02", 2, 2),
    ]
    assert len(list((tmp_path / "logs").glob("*.jsonl"))) == 2
    (kind,) = report.kinds()
    assert (kind.kind, kind.tasks, kind.successes, kind.earlier) == ("subclasses", 2, 2, 0)
    rows = list(store.learning_rows(curriculum_id="boats_v1"))
    assert [(row.task_id, row.is_success, row.ontology_name) for row in rows] == [
        ("boats-sub-02", True, "boats"), ("boats-sub-01", True, "boats"),
    ]  # fmt: skip
    learnt = store.list_items(provenance={"curriculum_id": "boats_v1"})
    assert learnt and kind.new_memories == len(learnt)
    for item in learnt:
        assert item.provenance["task_id"] in ("boats-sub-01", "boats-sub-02")
        assert item.provenance["ontology_name"] == "boats" and item.source_type == "success"
    assert report.outcomes[1].steps < report.outcomes[0].steps, (
        "the second task uses what the first one taught"
    )


def test_what_is_done_is_not_done_again(store, lesson):
    first = offline(store, lesson)
    again = offline(store, lesson)
    assert [each.earlier for each in again.outcomes] == [True, True]
    assert [(e.task_id, e.success, e.steps, e.trajectory_id) for e in again.outcomes] == [
        (e.task_id, e.success, e.steps, e.trajectory_id) for e in first.outcomes
    ]
    assert store.stats()["trajectories"] == 2
    with pytest.raises(ModelUnavailable):
        train(lesson, store, client=Failing("Boat"), resume=False)


@pytest.fixture
def done(store, lesson):
    """Both tasks are done, as far as the store knows."""
    read = read_curriculum(lesson)
    content = check_lesson(read)
    for task in read.training:
        kept = {
            "curriculum_id": read.id,
            "task_id": task.id,
            "task_hash": task_hash(read, task, content),
        }
        made = Trajectory(
            task.query, iteration_count=3, converged=True, artifact={**kept, "reason": "answered"}
        )
        store.save_artifacts(Run(model="offline"), made, Judgment(True, "right", "high"))


def begun(store, lesson, about, **more):
    """The tasks that count as done before the one about `about` is asked."""
    report = train(lesson, store, client=Failing(about), **more)
    assert report.stopped == "gone"
    return [each.task_id for each in report.outcomes if each.earlier]


def test_a_task_that_changed_is_run_again_and_the_others_are_not(store, lesson, done):
    rewrite(lesson, "direct subclasses of Crew?", "the subclasses of Crew?")
    assert begun(store, lesson, "Crew") == ["boats-sub-01"]


def test_over_another_ontology_nothing_is_done(store, lesson, done):
    rewrite(
        lesson.with_name("boats.ttl"),
        "ex:Engine a owl:Class",
        "ex:Oar a owl:Class . ex:Engine a owl:Class",
    )
    with pytest.raises(ModelUnavailable):
        begun(store, lesson, "Boat")


def test_another_model_learns_for_itself(store, lesson, done):
    other = Failing("Boat")
    other.model = "another"
    with pytest.raises(ModelUnavailable):
        train(lesson, store, client=other)


def test_all_tasks_means_all(store, lesson, done):
    assert begun(store, lesson, "Engine", tasks="all") == ["boats-sub-01", "boats-sub-02"]
    with pytest.raises(ConfigError, match="use train"):
        offline(store, lesson, tasks="some")


def test_a_model_that_fails_stops_the_training_and_the_rest_is_done_next_time(store, lesson):
    report = train(lesson, store, client=Failing("Crew"))
    assert (len(report.outcomes), report.left, report.interrupted) == (1, 1, False)
    assert report.stopped == "gone" and report.to_dict()["left"] == 1
    rest = offline(store, lesson)
    assert [each.earlier for each in rest.outcomes] == [True, False] and not rest.stopped


def test_ctrl_c_keeps_what_is_done(store, lesson, done):
    rewrite(lesson, "direct subclasses of Crew?", "the subclasses of Crew?")
    report = train(lesson, store, client=Failing("Crew", KeyboardInterrupt()))
    assert report.interrupted and (len(report.outcomes), report.left) == (1, 1)
    assert report.to_dict()["interrupted"] is True
    assert begun(store, lesson, "Crew") == ["boats-sub-01"], "what was interrupted is not done"


def test_a_model_that_fails_at_once_is_an_error(store, lesson):
    with pytest.raises(ModelUnavailable, match="gone"):
        train(lesson, store, client=Failing("Boat"))


@pytest.mark.parametrize(
    ("reason", "judged", "done"),
    [("answered in turn 2", True, True), ("ran out of iterations", False, True), ("interrupted", False, False),
     ("the model failed: 503", False, False), ("answered", None, False)],
)  # fmt: skip
def test_done_is_what_came_to_an_end_of_its_own(reason, judged, done):
    assert (
        is_done(LearningRow("t", "r", "", "q", 1, True, is_success=judged, reason=reason)) is done
    )


# -- bad input: an error before anything is spent, nothing stored
# ------------------------------------------


def a_typo(path):
    return rewrite(path, "tags: [subclasses]\n    held_out", "tagz: [subclasses]\n    held_out")


def no_sparql(path):
    return rewrite(path, "SELECT ?c WHERE { ?c rdfs:subClassOf ex:Crew }", "SELECT WHERE ?c {")


def unknown_prefix(path):
    return rewrite(path, "rdfs:subClassOf ex:Engine", "rdfs:subClassOf nowhere:Engine")


def no_ontology(path):
    return rewrite(path, "boats.ttl", "missing.ttl")


def all_held_out(path):
    return rewrite(
        path,
        "    tags: [subclasses]\n    verify",
        "    tags: [subclasses]\n    held_out: true\n    verify",
    )


@pytest.mark.parametrize("spoil", [a_typo, no_sparql, unknown_prefix, no_ontology, all_held_out])
def test_a_bad_curriculum_is_refused_before_anything_is_asked(store, lesson, spoil):
    client = ScriptedClient(["never"])
    with pytest.raises(ConfigError, match=r"boats_v1\.yaml"):
        train(spoil(lesson), store, client=client)
    assert not client.calls and store.stats()["trajectories"] == 0


def test_an_ontology_that_is_no_rdf_is_refused(store, lesson):
    lesson.with_name("boats.ttl").write_text("this is no turtle", "utf-8")
    client = ScriptedClient(["never"])
    with pytest.raises(NotRDF):
        train(lesson, store, client=client)
    assert not client.calls and store.stats()["trajectories"] == 0


@pytest.mark.parametrize("model", ["nonsense", "nobody/nothing", "openai/", "scripted:"])
def test_a_model_that_does_not_exist_is_refused(store, lesson, model):
    with pytest.raises(ConfigError):
        train(lesson, store, model=model)
    with pytest.raises(ModelAuthError):
        train(lesson, store, model="openai/gpt-x")
    assert store.stats()["trajectories"] == 0


@pytest.mark.parametrize("where", ["/dev/full", "/dev/null/logs", "boats_v1.yaml", "/proc/logs"])
def test_a_folder_for_logs_that_cannot_be_written_is_refused(store, lesson, where):
    client = ScriptedClient(["never"])
    with pytest.raises(ConfigError, match="logs cannot be written"):
        train(lesson, store, client=client, log_dir=lesson.parent / where)
    assert not client.calls and store.stats()["trajectories"] == 0


def test_a_full_disk_is_found_before_anything_is_asked(store, lesson, tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    client = ScriptedClient(["never"])
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, before[1]))
    try:
        with pytest.raises(RLMError, match="logs cannot be written"):
            train(lesson, store, client=client, log_dir=tmp_path / "logs")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not client.calls and not list((tmp_path / "logs").iterdir())


# -- a real kill
# -------------------------------------------------------------------------------------------

WORKER = """
import sys
from rlm.llm.offline.client import OfflineClient
from rlm.store.open import open_store
from rlm.train import train
with open_store(sys.argv[1], embedder="none") as store:
    train(sys.argv[2], store, client=OfflineClient(), on_task=lambda *each: (print(each[0].task_id, flush=True),
          sys.stdin.readline()))
"""


@pytest.mark.slow
def test_a_training_that_was_killed_goes_on_where_it_was(lesson, tmp_path):
    from rlm.store.open import open_store

    db = tmp_path / "killed.db"
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(db), str(lesson)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    with process:
        assert process.stdout.readline() == "boats-sub-01\n"
        process.stdin.write("\n")  # let it begin the second task
        process.stdin.flush()
        time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
    with open_store(db, embedder="none") as store:
        done = {row.task_id for row in store.learning_rows()}
        assert "boats-sub-01" in done
        report = train(read_curriculum(lesson), store, client=OfflineClient())
        assert [each.earlier for each in report.outcomes] == [True, "boats-sub-02" in done]
        assert all(each.success for each in report.outcomes)
        assert len({row.task_id for row in store.learning_rows()}) == 2


def test_tags_that_are_no_kind_say_nothing_of_the_task(store, lesson):
    """They are for people: a tag that both halves share must not lead to the memory."""
    rewrite(lesson, "tags: [subclasses]", "tags: [pair_a, subclasses]")
    report = offline(store, lesson)
    assert [kind.kind for kind in report.kinds()] == ["subclasses"]
    learnt = store.list_items(source_type="success")
    assert learnt and all("pair_a" not in str(item.to_dict()) for item in learnt)
    rewrite(lesson, "tags: [pair_a, subclasses]", "tags: [pair_a]")
    assert [kind.kind for kind in offline(store, lesson, resume=False).kinds()] == ["pair_a"]


def test_what_could_not_be_judged_is_neither_right_nor_wrong_and_is_run_again(store, lesson):
    check = 'verify: {compare: set, sparql: "SELECT ?c WHERE { ?c rdfs:subClassOf ex:Boat }"}'
    rewrite(lesson, check, "held_out: false")
    look = "```repl\nprint(sparql_schema())\n```"
    for _ in range(2):
        client = ScriptedClient(
            [look, "FINAL(Those with masts.)", "Hm, I think so."], repeat_last=True,
            is_language_model=True,
        )  # fmt: skip
        first, *_ = train(lesson, store, client=client).outcomes
        assert (first.success, first.earlier, first.new_memories) == (None, False, 0), first
