"""Confidence: the seed's numbers, what a run says that it used, and a log that can be replayed."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rlm import clock
from rlm.learning import confidence
from rlm.learning.confidence import (
    Uses,
    apply_delta,
    decay,
    feedback,
    followed_of,
    replay,
    signals_for,
    stability,
    uses_in,
)
from rlm.retrieval.rank import RECALL_FLOOR
from rlm.store.types import Judgment, MemoryItem, Signal

GOOD, BAD = Judgment(True, "r"), Judgment(False, "r")
DELTAS = st.sampled_from((0.3, -0.2, 0.1, 0.2, -0.05, -0.1, -0.35))


def test_the_numbers_are_the_seeds():
    assert confidence.START == {"human": 0.8, "distilled": 0.6, "failure": 0.5}
    assert (confidence.HELPFUL, confidence.NOT_HELPFUL) == (0.3, -0.2)
    assert (confidence.TASK_SUCCEEDED, confidence.UNREVERTED, confidence.DECAY) == (0.1, 0.2, -0.05)
    assert RECALL_FLOOR == 0.25


# -- what was used
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("responses", "uses"),
    [
        (["Uses: 1\n```repl\nx = 1\n```"], Uses((1,), (), True)),
        (["Uses: none"], Uses((), (), True)),
        (["uses: 1, 2"], Uses((1, 2), (), True)),
        (["Uses: 2 and 1."], Uses((2, 1), (), True)),
        (["**Uses:** 1"], Uses((1,), (), True)),
        (["`Uses: 1`"], Uses((1,), (), True)),
        (["Uses: 1 (the subclasses one)"], Uses((1,), (), True)),
        (["Uses: 1", "Uses: 2"], Uses((2,), (1,), True)),
        (["Uses: 1, 2", "Uses: 2"], Uses((2,), (1,), True)),
        (["Uses: 1", "Uses: none"], Uses((), (1,), True)),
        (["Uses: none", "Uses: 1"], Uses((1,), (), True)),
        (["Uses: 1\nUses: 1"], Uses((1,), (), True)),
        (["It uses: 1"], Uses()),
        (["Uses: 1 million rows"], Uses()),
        (["Uses: the first"], Uses()),
        (["Uses: 0"], Uses()),
        (["Uses: 1234"], Uses()),
        (["```repl\nUses: 1\n```"], Uses()),
        (["```repl\nUses: 1"], Uses()),
        (["~~~\n```\nUses: 1\n~~~\nUses: 2"], Uses((2,), (), True)),
        (["```repl\nx\n```\nUses: 2"], Uses((2,), (), True)),
        ([], Uses()),
        ([""], Uses()),
    ],
)
def test_the_last_line_outside_of_code_says_what_was_used(responses, uses):
    assert uses_in(responses) == uses


A, B, OTHER = "0123456789abcdef", "b5125bb7bdb2f664", "deadbeefdeadbeef"


@pytest.mark.parametrize(
    ("responses", "uses"),
    [
        ([f"Uses: {B}"], Uses((2,), (), True)),
        ([f"Uses: [{A}] and [{B}]."], Uses((1, 2), (), True)),
        ([f"`Uses: {B}`"], Uses((2,), (), True)),
        ([f"Uses: 2 [{B}]"], Uses((2,), (), True)),
        ([f"Uses: {A}, 2, because they fit"], Uses((1, 2), (), True)),
        (["Uses: 1, because it fits"], Uses((1,), (), True)),
        (["Uses: 99"], Uses((), (), True, ("99",))),
        ([f"Uses: 1, {OTHER}"], Uses((1,), (), True, (OTHER,))),
        ([f"Uses: {OTHER}", f"Uses: {A}"], Uses((1,), (), True, (OTHER,))),
        (["Uses: a bee and a cab"], Uses()),
        ([f"Uses: {A}0"], Uses()),
    ],
)
def test_ids_are_read_as_their_numbers_and_what_was_not_given_is_named(responses, uses):
    assert uses_in(responses, [A, B]) == uses


@given(st.lists(st.text(st.sampled_from("Uses: 12,none\n`~*and()"), max_size=60), max_size=4))
def test_any_text_is_read_and_what_was_followed_was_not_abandoned(responses):
    uses = uses_in(responses)
    assert not set(uses.followed) & set(uses.abandoned)
    assert uses.said or not (uses.followed or uses.abandoned)
    assert len(set(uses.followed)) == len(uses.followed)


@given(
    st.lists(st.integers(1, 999), min_size=1, max_size=5, unique=True),
    st.text("ab c\n", max_size=20),
)
def test_what_is_announced_is_read(numbers, before):
    assert uses_in([f"{before}\nUses: {', '.join(map(str, numbers))}\nmore"]).followed == tuple(
        numbers
    )


# -- signals
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uses", "judgment", "deltas"),
    [
        (Uses((1,), (), True), GOOD, {"a": 0.1}),
        (Uses((2,), (1,), True), GOOD, {"b": 0.1}),
        (Uses((2,), (1,), True), BAD, {"a": -0.1, "b": -0.1}),
        (Uses((), (1,), True), GOOD, {}),
        (Uses((), (), True), GOOD, {}),
        (Uses(), GOOD, {}),
        (Uses((1,), (), True), BAD, {"a": -0.1}),
        (Uses((), (), True), BAD, {}),
        (Uses((), (1,), True), BAD, {"a": -0.1}),
        (Uses((7,), (9,), True), GOOD, {}),
    ],
)
def test_a_run_moves_what_it_followed(uses, judgment, deltas):
    signals = signals_for(["a", "b"], uses, judgment)
    assert {signal.memory_id: signal.delta for signal in signals} == deltas
    assert all(signal.kind and signal.reason for signal in signals)


def test_an_unjudged_run_says_nothing():
    assert signals_for(["a"], Uses((1,), said=True), None) == []
    assert signals_for(["a"], Uses((1,), said=True), Judgment(None, "no evidence")) == []


def test_a_program_that_took_up_a_memory_and_left_it_means_it():
    signals = signals_for(["a"], Uses((), (1,), True), GOOD, reads=False)
    assert [signal.delta for signal in signals] == [-0.1]


@pytest.mark.parametrize("nothing", [Uses((), (), True)])
def test_none_costs_nothing(nothing):
    assert signals_for(["a"], nothing, GOOD) == signals_for(["a"], nothing, BAD) == []


@pytest.mark.parametrize("judgment", [GOOD, BAD])
def test_where_nothing_is_said_and_nothing_was_read_nothing_moves(judgment):
    assert signals_for(["a"], Uses(), judgment, reads=False) == []
    assert len(signals_for(["a"], Uses((1,), said=True), judgment, reads=False)) == 1
    assert followed_of(["a", "b"], Uses((2, 7, 0), said=True)) == ["b"]


def test_people_time_and_stability_move_it_too():
    assert feedback("a", helpful=True).delta == 0.3
    assert feedback("a", helpful=False).delta == -0.2
    assert stability("a", reverted=False, days=7).delta == 0.2
    assert stability("a", reverted=False, days=6.9) is None
    assert stability("a", reverted=True, days=30) is None


@pytest.mark.parametrize(
    ("days", "already", "delta"),
    [(29, 0, None), (30, 0, -0.05), (95, 0, -0.15), (95, 2, -0.05), (95, 3, None)],
)
def test_it_decays_by_the_month_since_it_was_last_used(days, already, delta):
    now = clock.parse_iso("2026-06-01T00:00:00Z")
    used = (now - timedelta(days=days)).isoformat()
    for item in (
        MemoryItem("a", "b", "c", last_used=used),
        MemoryItem("a", "b", "c", created_at=used),
    ):
        why = f"not used for {already} months since {used}"
        past = [{"reason": None}, {"reason": why, "before": 0.8, "after": 0.8 - 0.05 * already}]
        signal = decay(item, now, past if already else ())
        assert (signal and signal.delta) == delta


def test_decay_asks_the_clock():
    item = MemoryItem("a", "b", "c", created_at="2026-01-01T00:00:00Z")
    with clock.frozen(datetime.fromisoformat("2026-02-02T00:00:00+00:00")):
        assert decay(item).kind == "decay"


# -- the log
# ---------------------------------------------------------------------------------------------


@example([0.3] * 10)
@example([-0.2] * 10)
@given(st.lists(DELTAS, max_size=30))
def test_a_replay_gives_the_value_step_by_step_and_stays_within_bounds(deltas):
    value = 0.6
    for number, delta in enumerate(deltas, 1):
        value = apply_delta(value, delta)
        assert 0.0 <= value <= 1.0
        assert replay(0.6, [Signal("a", one, "k") for one in deltas[:number]]) == value


@pytest.mark.parametrize("kind", ["sqlite", "json"])
def test_the_log_of_a_store_replays_to_what_it_holds(tmp_path, kind):
    from rlm.store.open import open_store

    name = tmp_path / "m.db" if kind == "sqlite" else f"json:{tmp_path / 'm.json'}"
    with open_store(name, embedder="none") as store:
        memory_id = store.add(MemoryItem("Search", "d", "1. search", source_type="success"))
        sent = [
            Signal(memory_id, delta, "k")
            for delta in (0.1, 0.3, 0.2, -0.2, 0.1, -0.05, -0.2, -0.35, -0.2, -0.2)
        ]
        for signal in sent:
            store.adjust_confidence(memory_id, signal.delta, kind=signal.kind)
        assert store.get(memory_id).confidence == replay(0.6, sent)
        log = [Signal(memory_id, row["delta"], row["kind"]) for row in store.signals(memory_id)]
        assert replay(0.6, log) == pytest.approx(store.get(memory_id).confidence)
