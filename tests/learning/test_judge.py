"""The judge: rules before opinions, one repair, no verdict out of a guess, never an exception that
loses a run."""

from __future__ import annotations

import json

import pytest

from rlm.errors import ModelBadReply, ModelRateLimited, ModelUnavailable
from rlm.learning.evidence import CHARS, Evidence
from rlm.learning.grounding import NO_EVIDENCE
from rlm.learning.judge import judge_trajectory, read_judgment
from rlm.learning.prompts import CHECKED, EXPECTED, judge_messages
from rlm.learning.verify import Verdict
from rlm.llm import ScriptedClient, Usage
from rlm.llm.offline.client import OfflineClient

pytestmark = pytest.mark.req("PM-04")

GOOD = {
    "task": "What is prov:Activity?",
    "final_answer": "prov:Activity is a class of PROV",
    "iteration_count": 2,
    "converged": True,
    "key_steps": [
        {"iteration": 1, "action": "search_entity('Activity')", "outcome": "3 hits"},
        {
            "iteration": 2,
            "action": "describe_entity('prov:Activity')",
            "outcome": "prov:Activity, a class",
        },
    ],
    "variables_created": ["result"],
    "errors_encountered": [],
}
RIGHT, WRONG = (
    Verdict(True, "the answer names all 3"),
    Verdict(False, "1 of 3 missing: prov:A", ["prov:A"]),
)


def said(is_success=True, confidence="high", reason="It is shown.", missing=(), **more):
    return json.dumps(
        {
            "reason": reason,
            "missing": list(missing),
            "confidence": confidence,
            "is_success": is_success,
            **more,
        }
    )


def prompt(artifact, ns=None):
    return judge_messages(Evidence.of_artifact(artifact, ns).show())


def model(*replies):
    return ScriptedClient(replies, is_language_model=True)


# -- rules
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", [None, RIGHT, WRONG])
@pytest.mark.parametrize(
    "change",
    [{"converged": False}, {"converged": None}, {"final_answer": " "}, {"final_answer": None}],
)
def test_a_run_without_an_answer_fails_whatever_else_is_said(change, verdict):
    client = model()
    found = judge_trajectory({**GOOD, **change}, client=client, grounding=[], verdict=verdict)
    assert (
        (found.is_success, found.confidence) == (False, "high")
        and found.missing
        and not client.calls
    )


def test_how_a_run_ended_is_in_the_reason():
    found = judge_trajectory({**GOOD, "converged": False, "reason": "ran out of turns"})
    assert "ran out of turns" in found.reason


def test_an_answer_that_says_it_is_none_fails():
    for answer in ("Not answered: offline cannot read this.", "  Not answered: x"):
        found = judge_trajectory(
            {**GOOD, "final_answer": answer}, client=model(), grounding=[], verdict=RIGHT
        )
        assert not found.is_success and found.missing == ["an answer"]


def test_the_tasks_own_verdict_wins_over_the_model_and_over_grounding():
    client = model(said(False), said(True))
    found = judge_trajectory(GOOD, client=client, grounding=["prov:X"], verdict=RIGHT)
    assert (found.is_success, found.confidence) == (True, "high") and "prov:X" in found.reason
    found = judge_trajectory(GOOD, client=client, grounding=[], verdict=WRONG)
    assert (found.is_success, found.confidence, found.missing) == (False, "high", ["prov:A"])
    assert not client.calls


OPEN = Verdict(
    False, "1 not expected: prov:used", extra=["prov:used"], open=True, expected=["prov:Activity"]
)


@pytest.mark.parametrize("right", [True, False])
def test_an_answer_that_only_a_reader_can_compare_is_compared_by_the_model(right):
    """A capable model says by which property it found the answer: that is no further answer."""
    client = model(said(right, reason="It gives prov:Activity."))
    found = judge_trajectory(GOOD, client=client, grounding=[], verdict=OPEN)
    asked = client.calls[0][-1]["content"]
    assert found.is_success is right
    assert '"expected": [\n  "prov:Activity"\n ]' in asked and EXPECTED in asked


@pytest.mark.parametrize("client", [None, OfflineClient()])
def test_without_a_reader_such_an_answer_fails(client):
    found = judge_trajectory(GOOD, client=client, grounding=[], verdict=OPEN)
    assert found.is_success is False and "prov:used" in found.reason


def test_what_was_not_seen_fails_and_is_listed():
    for left in (["prov:Invented", "prov:Other"], [NO_EVIDENCE]):
        client = model(said(True))
        found = judge_trajectory(GOOD, client=client, grounding=left)
        assert (
            not found.is_success
            and found.missing == left
            and left[0] in found.reason
            and not client.calls
        )


@pytest.mark.parametrize("client", [None, OfflineClient()])
def test_without_a_model_the_rules_alone_decide(client):
    found = judge_trajectory(GOOD, client=client, grounding=[])
    assert (found.is_success, found.confidence, found.missing) == (True, "medium", [])
    doubt = judge_trajectory(GOOD, client=client)
    assert (doubt.is_success, doubt.confidence) == (None, "low")  # nobody looked


# -- the model
# ---------------------------------------------------------------------------------------------


def test_a_model_judges_what_the_rules_leave_open():
    client, usage = model(said(True, "medium", "Shown in step 2.")), Usage()
    found = judge_trajectory(GOOD, client=client, grounding=[], usage=usage)
    assert (found.is_success, found.reason, found.confidence) == (
        True,
        "Shown in step 2.",
        "medium",
    )
    assert usage.calls == 1
    found = judge_trajectory(
        GOOD, client=model(said(False, "high", "Off.", ["a source"])), grounding=[]
    )
    assert (found.is_success, found.missing) == (False, ["a source"])


@pytest.mark.parametrize(
    ("verdict", "confidence", "is_success"),
    [
        (True, "low", None),
        (None, "high", None),
        (False, "low", None),
        (True, "medium", True),
    ],
)
def test_a_guess_is_no_verdict(verdict, confidence, is_success):
    found = judge_trajectory(GOOD, client=model(said(verdict, confidence)), grounding=[])
    assert (found.is_success, found.confidence) == (is_success, confidence)


def test_the_judge_is_told_what_a_program_has_checked_and_only_then():
    for grounding in ([], None):
        client = model(said(True))
        judge_trajectory(GOOD, client=client, grounding=grounding)
        _, after = client.calls[0][1]["content"].split("</run-")
        assert (CHECKED in after) is (grounding is not None)
        assert "numbers" not in after  # nobody looked for those


BROKEN = [
    "", "I think it went well.", "{", '{"is_success": tru', "[true]", "null", "3", "{}", '"yes"', "```\nno\n```",
    said("true"), said(1), said(["success"]), said(reason=""), said(reason=3), said(confidence="very"), said(confidence=0.9),
    said(missing=[1]), '{"is_success": true, "reason": "r", "confidence": "high", "missing": "all"}',
    said() + said(), f"It says {said()}, but: {said(False)}", "[" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("reply", BROKEN, ids=range(len(BROKEN)))
def test_a_reply_that_cannot_be_read_is_asked_for_once_more(reply):
    client, usage = model(reply, said(True)), Usage()
    assert judge_trajectory(GOOD, client=client, grounding=[], usage=usage).is_success
    assert len(client.calls) == 2 == usage.calls
    again = client.calls[1]
    assert [message["role"] for message in again] == ["system", "user", "assistant", "user"]
    assert (
        again[:2] == client.calls[0]
        and len(again[2]["content"]) <= 2000
        and "JSON" in again[3]["content"]
    )

    client = model(reply, reply, said(True))
    found = judge_trajectory(GOOD, client=client, grounding=[])
    assert (found.is_success, len(client.calls)) == (None, 2) and "twice" in found.reason


def test_a_fence_or_words_around_the_json_are_no_fault():
    for text in (
        f"```json\n{said()}\n```",
        f"```\n{said()}```",
        f" {said()}\n",
        said(extra=1),
        f"Here {{it}} is: {said()}",
        f"Here:\n```json\n{said()}\n```\nDone.",
    ):
        assert read_judgment(text).is_success
    # llama-cpp-python's grammar lets a model write line ends as they are into a text
    assert read_judgment(said(reason="One. Two.").replace(". ", ".\n\t")).reason == "One. Two."


@pytest.mark.parametrize(
    "error", [ModelUnavailable("is down"), ModelRateLimited("too many"), ModelBadReply("HTML")]
)
def test_a_model_that_cannot_be_asked_loses_no_run(error):
    for replies in ([error], ["no JSON", error]):
        found = judge_trajectory(GOOD, client=model(*replies), grounding=[])
        assert found.is_success is None and str(error) in found.reason


def test_what_a_model_says_is_bounded_and_clean():
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3
    found = judge_trajectory(
        GOOD,
        client=model(said(False, "high", f"\x1b[31m{key}\n" + "r" * 9000, ["m" * 900] * 90)),
        grounding=[],
    )
    assert len(found.reason) <= 500 and "a1B2" not in found.reason and "\x1b" not in found.reason
    assert len(found.missing) == 20 and all(len(part) <= 200 for part in found.missing)


# -- the prompt
# --------------------------------------------------------------------------------------------


def test_the_same_run_gives_the_same_prompt_so_that_it_can_be_replayed():
    again = json.loads(json.dumps(GOOD))
    assert prompt(GOOD) == prompt(again)


def test_a_prompt_is_bounded_whatever_the_run_holds():
    long = {
        **GOOD,
        "task": "<" * 100_000,
        "final_answer": "«" * 100_000,
        "key_steps": [
            {"iteration": n, "action": ">" * 999, "outcome": "\\" * 999} for n in range(99)
        ],
        "errors_encountered": ["\x00\"'" * 999] * 99,
        "variables_created": ["\u202e" + "n" * 99] * 999,
        "preview": "never shown " * 1000,
    }
    system, user = prompt(long, {f"{n}{chr(120) * 99}": "<" * 9999 for n in range(50)})
    assert len(user["content"]) <= CHARS + 300 and "never shown" not in user["content"]
    assert len(system["content"]) < 2600
    little = judge_messages(Evidence.of_artifact(long).show(2_000))
    assert len(little[1]["content"]) <= 2_600


def test_secrets_do_not_reach_the_judge():
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3
    messages = prompt({**GOOD, "final_answer": f"the key is {key}"}, {"k": key})
    assert "a1B2c3D4" not in json.dumps(messages)


def test_odd_artifacts_do_not_break_the_judge():
    for odd in (
        {},
        {"converged": True, "final_answer": 7},
        {**GOOD, "key_steps": ["x", None, {}], "task": None},
    ):
        assert judge_trajectory(odd, client=model(said(False)), grounding=[]).is_success is False
