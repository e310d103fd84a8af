"""The same suite without memory, with the shipped packs and with what training taught."""

from __future__ import annotations

import pytest

from rlm.errors import ConfigError, ModelUnavailable
from rlm.evaluate import evaluate
from rlm.llm import ScriptedClient
from rlm.llm.offline.client import OfflineClient
from rlm.packs import import_pack
from rlm.store.open import open_store


def test_three_arms_over_what_is_held_out(lesson, tmp_path):
    told, learnt = [], []
    made = evaluate(
        lesson, client=OfflineClient(), store_dir=tmp_path / "stores",
        on_run=lambda run, done, of: told.append((run.arm, run.task_id, done, of)),
        on_task=lambda outcome, done, of: learnt.append(outcome.task_id),
    )  # fmt: skip
    assert told == [
        (arm, "boats-sub-03", n, 3) for n, arm in enumerate(("off", "packs", "trained"), 1)
    ]
    assert learnt == ["boats-sub-01", "boats-sub-02"], "never what is held out"
    assert {run.arm: run.success for run in made.runs} == {
        "off": True,
        "packs": True,
        "trained": True,
    }, made.runs
    off, trained = made.summary("off"), made.summary("trained")
    assert trained.steps < off.steps and trained.followed == 1 and off.followed == 0
    assert made.trained["tasks"] == 2 and made.trained["new_memories"] >= 1 and made.held_out
    for arm in made.arms:
        part = made.summary(arm)
        assert (
            0 < part.max_single_return <= 1000 and 0 < part.context_size <= 1900 and not part.flags
        )
    assert all(run.injected == 0 for run in made.of("off")) and all(
        run.injected for run in made.of("packs")
    )
    assert all(len(run.memories) == run.injected for run in made.runs)
    followed = [each for each in made.memories() if each.followed and each.against.arm == "trained"]
    assert [each.against.steps < 0 and each.against.tasks for each in followed] == [1], (
        "what helped is named"
    )
    with open_store(tmp_path / "stores" / "boats_v1-trained.db", embedder="none") as store:
        assert store.stats()["trajectories"] == 2, "measuring leaves nothing behind"
        assert {
            item.provenance["task_id"] for item in store.list_items(source_type="success")
        } <= set(learnt)


@pytest.mark.slow
def test_trials_repeat_and_a_kept_training_is_used(lesson, tmp_path):
    first = evaluate(lesson, client=OfflineClient(), arms=("trained",), store_dir=tmp_path)
    again = evaluate(
        lesson, client=OfflineClient(), arms=("trained",), store_dir=tmp_path, trials=2
    )
    assert [run.trial for run in again.runs] == [1, 2]
    assert {run.steps for run in again.runs} == {first.runs[0].steps}, (
        "every run starts from the same store"
    )
    assert again.trained["earlier"] == 2


class Watched(OfflineClient):
    """The offline model under another name, as a real one is treated; `asked` are the schemas that
    it was given."""

    def __init__(self):
        super().__init__()
        self.model, self.asked = "watched", []

    def complete(self, messages, *, json_schema=None, **options):
        self.asked += [] if json_schema is None else [json_schema]
        return super().complete(messages, json_schema=json_schema, **options)


def test_measuring_distils_nothing_and_off_is_off(lesson, tmp_path):
    with open_store(tmp_path / "off.db") as store:
        import_pack("core_v1", store)
    client = Watched()
    much = "note " * 800
    made = evaluate(lesson, client=client, arms=("off",), store_dir=tmp_path, guidance=much)
    assert made.runs[0].success and not made.runs[0].injected and not client.asked
    assert "context_size" in str(made.summary("off").flags), "too much in a prompt is told"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arms": ("off", "of")}, "arms are"),
        ({"arms": ()}, "arms are none"),
        ({"arms": ("off", "off")}, "each once"),
        ({"trials": 0}, "trials is 0"),
        ({"trials": True}, "trials is True"),
        ({"scaling": "parallel:many"}, "scaling is"),
        ({"log_dir": "/dev/full"}, "logs cannot be written"),
        ({"store_dir": "/dev/full/x"}, "cannot be kept"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_asked(lesson, options, message):
    client = ScriptedClient(["never"])
    with pytest.raises(ConfigError, match=message):
        evaluate(lesson, client=client, **options)
    assert not client.calls


def test_a_suite_without_a_half_says_so(lesson):
    lesson.write_text(
        lesson.read_text("utf-8").replace("held_out: true", "held_out: false"), "utf-8"
    )
    with pytest.raises(ConfigError, match="no task is held out"):
        evaluate(lesson, client=ScriptedClient(["never"]))


class Dying:
    """The offline model for so many calls."""

    model, is_language_model = "offline", False

    def __init__(self, calls, error):
        self.left, self.error, self.inner = calls, error, OfflineClient()

    def complete(self, messages, **options):
        self.left -= 1
        if self.left < 0:
            raise self.error
        return self.inner.complete(messages, **options)

    def close(self):
        """Nothing is held."""


@pytest.mark.slow
def test_a_model_that_fails_while_a_second_file_is_trained_leaves_what_was_measured(lesson):
    other = lesson.with_name("more_v1.yaml")
    text = lesson.read_text("utf-8").replace("boats-sub", "more-sub")
    other.write_text(text.replace("boats_v1", "more_v1"), "utf-8")
    first = evaluate(lesson, client=Dying(10**6, None), arms=("trained",))
    steps = sum(run.steps for run in first.runs) + round(2 * first.trained["steps"])
    client = Dying(steps, ModelUnavailable("gone"))
    made = evaluate([lesson, other], client=client, arms=("trained",))
    assert [run.task_id for run in made.runs] == ["boats-sub-03"] and "gone" in made.stopped


def test_a_model_that_fails_ends_it_with_what_there_is(lesson):
    steps = evaluate(lesson, client=OfflineClient(), arms=("off",)).runs[0].steps
    made = evaluate(lesson, client=Dying(steps, ModelUnavailable("gone")), arms=("off", "packs"))
    assert ([run.arm for run in made.runs], made.stopped) == (["off"], "gone")
    made = evaluate(lesson, client=Dying(0, KeyboardInterrupt()), arms=("off",))
    assert (made.runs, made.stopped) == ([], "interrupted")
    with pytest.raises(ModelUnavailable):
        evaluate(lesson, client=Dying(0, ModelUnavailable("gone")), arms=("off",))
