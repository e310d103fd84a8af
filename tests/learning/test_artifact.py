"""A run in little: the seed's keys and bounds, the telling part of a block, nothing that must not
be kept."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm.learning.artifact import choose_steps, extract_trajectory_artifact, summarize_code
from rlm.llm import ScriptedClient
from rlm.llm.offline.client import OfflineClient
from rlm.loop import Limits, rlm_run
from rlm.loop.trace import ToolCall, Trace
from rlm.loop.types import CodeBlock, RLMIteration
from rlm.sandbox import REPLResult

pytestmark = pytest.mark.req("PM-03")

AGENT = "http://www.w3.org/ns/prov#Agent"
KEYS = {
    "task", "final_answer", "iteration_count", "converged", "key_steps", "variables_created", "errors_encountered",
}  # fmt: skip


def block(code="x = 1", stdout="", stderr="", error=None, calls=0):
    return CodeBlock(code, REPLResult(stdout, stderr, {}, 0.0, error=error, calls=calls))


def turn(number, *blocks, final=None):
    return RLMIteration(number, [], "a reply", list(blocks), final)


def of(*turns, **options):
    return extract_trajectory_artifact("What is prov:Activity?", "a class", turns, **options)


def test_the_keys_of_the_seed_are_there():
    one = turn(
        1,
        block("search('Activity')", "Found 3"),
        block("describe_entity('prov:Activity')", "a class"),
    )
    made = of(one, ns={"result": "a class"})
    assert made.keys() >= KEYS
    assert (made["task"], made["iteration_count"], made["converged"]) == (
        "What is prov:Activity?",
        1,
        True,
    )
    assert made["key_steps"] == [
        {"iteration": 1, "action": "search('Activity')", "outcome": "Found 3"},
        {"iteration": 1, "action": "describe_entity('prov:Activity')", "outcome": "a class"},
    ]
    assert made["variables_created"] == ["result"] and made["errors_encountered"] == []


def test_a_run_that_hit_its_limit_is_not_converged():
    assert of(turn(1, block()), converged=False)["converged"] is False
    client = ScriptedClient(
        ["```repl\nprint(1)\n```", "I have no answer yet, perhaps 42."], repeat_last=True
    )
    result = rlm_run("What?", "a text", client=client, limits=Limits(max_iters=1))
    made = extract_trajectory_artifact(
        "What?",
        result.answer,
        result.iterations,
        result.ns,
        converged=result.converged,
        reason=result.reason,
    )
    assert made["converged"] is False and made["reason"] == result.reason and made["reason"]
    assert made["key_steps"][0] == {"iteration": 1, "action": "print(1)", "outcome": "1"}


def test_where_nobody_says_whether_it_converged_an_answer_decides():
    assert of(turn(1))["converged"] is True
    assert extract_trajectory_artifact("q", "  \n", [turn(1)])["converged"] is False
    assert extract_trajectory_artifact("q", None, [])["converged"] is False


def test_of_many_steps_the_first_three_errors_and_the_last_four_stay():
    turns = [turn(n, block(f"f({n})", str(n))) for n in range(1, 31)]
    for n in (2, 10, 12, 20, 22, 29):
        turns[n - 1] = turn(
            n, block(f"f({n})", "", "Traceback (most recent call last):\nKeyError: 7", "error")
        )
    made = of(*turns)
    assert [step["iteration"] for step in made["key_steps"]] == [
        1,
        2,
        3,
        10,
        12,
        20,
        27,
        28,
        29,
        30,
    ]
    assert made["errors_encountered"] == ["KeyError: 7"]


@settings(max_examples=50)
@given(st.lists(st.booleans(), max_size=60))
def test_never_more_than_ten_steps_and_never_one_twice(failed):
    found = choose_steps(failed)
    assert len(found) <= 10 and found == sorted(set(found))
    if len(failed) <= 10:
        assert found == list(range(len(failed)))
    else:
        assert found[:3] == [0, 1, 2] and found[-4:] == list(range(len(failed) - 4, len(failed)))
        assert all(failed[at] for at in found[3:-4])


results = st.builds(
    lambda out, err, error: REPLResult(out, err, {}, 0.0, error=error),
    st.text(max_size=120),
    st.text(max_size=120),
    st.sampled_from([None, None, "error", "timeout"]),
)
turns_ = st.lists(
    st.lists(
        st.builds(lambda code, result: CodeBlock(code, result), st.text(max_size=200), results),
        max_size=3,
    ),
    max_size=8,
)


@settings(max_examples=40)
@given(
    st.text(max_size=300),
    st.text(max_size=300),
    turns_,
    st.dictionaries(st.text(max_size=90), st.integers()),
)
def test_any_run_gives_an_artifact_within_its_bounds(task, answer, runs, ns):
    turns = [RLMIteration(n, [], "", blocks) for n, blocks in enumerate(runs, 1)]
    made = extract_trajectory_artifact(task, answer, turns, ns, converged=True)
    assert made["iteration_count"] == len(runs) and len(made["key_steps"]) <= 10
    for step in made["key_steps"]:
        assert step.keys() == {"iteration", "action", "outcome"}
        assert len(step["action"]) <= 80 and len(step["outcome"]) <= 100
        assert step["action"] and step["outcome"]
        assert not any(
            unicodedata.category(char) in ("Cc", "Cs") for char in step["action"] + step["outcome"]
        )
    text = json.dumps(made)
    assert len(text) < 80_000 and json.loads(text) == made


def test_what_came_of_a_step_is_told_in_a_hundred_characters():
    (step,) = of(turn(1, block("print(text)", "word " * 500)))["key_steps"]
    assert len(step["outcome"]) == 100 and step["outcome"].endswith("…")


def test_a_long_question_and_a_long_answer_are_cut():
    made = extract_trajectory_artifact("q" * 100_000, "a" * 100_000, [])
    assert (
        len(made["task"]) == 2000
        and len(made["final_answer"]) == 4000
        and made["final_answer"].endswith("…")
    )


# -- the telling part
# --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "action"),
    [
        (
            "import re\nfrom json import loads\nhits = search_entity('Activity')",
            "hits = search_entity('Activity')",
        ),
        (
            "def show(x):\n    print(x)\n\nshow(describe_entity('prov:Agent'))",
            "show(describe_entity('prov:Agent'))",
        ),
        ("x = 1\ny = x + 1\nprint(y)", "x = 1; y = x + 1; print(y)"),
        ("f(g(1))", "f(g(1))"),
        ("import re\nthis is no Python (", "this is no Python ("),
        ("# only a comment", "# only a comment"),
        ("", ""),
        ("\x00", "\x00"),
        ("pattern = '\\d'\nrun(pattern)", "pattern = '\\d'; run(pattern)"),
    ],
)
def test_the_summary_of_code_is_what_it_does(code, action):
    assert summarize_code(code) == action


def test_a_block_of_the_offline_planner_tells_its_step():
    result = rlm_run(
        "How often does ship occur?", "a ship, a ship and a boat", client=OfflineClient()
    )
    made = extract_trajectory_artifact(
        "q", result.answer, result.iterations, result.ns, converged=result.converged
    )
    actions = [step["action"] for step in made["key_steps"]]
    assert (
        made["converged"]
        and actions
        and not any("import" in action or "def " in action for action in actions)
    )
    assert any("ship" in action for action in actions)
    assert set(made["variables_created"]) == {"reply"}


# -- with a trace
# ------------------------------------------------------------------------------------------


def test_the_calls_that_the_host_saw_are_the_action():
    trace = Trace(
        calls=[
            ToolCall("search_entity", {"query": "Activity"}, block=1),
            ToolCall("describe_entity", {"uri": "prov:Activity", "limit": 3}, block=1),
            ToolCall("graph_stats", {}, block=2),
        ]
    )
    turns = [
        turn(1, block("helper()", "a", calls=2)),
        turn(2, block("x", "b", calls=1)),
        turn(3, block("y", "c")),
    ]
    made = of(*turns, trace=trace)
    assert [step["action"] for step in made["key_steps"]] == [
        'search_entity("Activity"); describe_entity("prov:Activity", 3)', "graph_stats()", "y",
    ]  # fmt: skip
    assert made["tools_used"] == ["describe_entity", "graph_stats", "search_entity"]


def test_pages_give_way_to_the_query_and_long_calls_are_cut():
    text = "SELECT ?x WHERE { ?x rdfs:subClassOf harbour:Vessel }"
    page = ToolCall("sparql_slice", {"ref_or_key": "results_0", "limit": 8}, block=1)
    asked = ToolCall("sparql_query", {"query": text, "limit": 10_000}, block=1)
    path = ToolCall("find_path", {"source": AGENT, "target": "x" * 90}, block=2)
    turns = [turn(1, block("q()", calls=6)), turn(2, block("q()", calls=1))]
    steps = of(*turns, trace=Trace(calls=[asked, *[page] * 5, path]))["key_steps"]
    assert steps[0]["action"] == f'sparql_query("{text}", 10000)'
    assert steps[1]["action"].startswith('find_path("prov:Agent", "xxx')
    assert len(steps[1]["action"]) == 80 and steps[1]["action"].endswith("…")


# -- what must not be in it
# --------------------------------------------------------------------------------


def test_secrets_do_not_get_into_an_artifact():
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3
    bad = f"Traceback (most recent call last):\nValueError: {key}"
    one = turn(1, block(f"call('{key}')", f"{'x' * 80} {key}"), block("y()", "", bad, "error"))
    trace = Trace(calls=[ToolCall("call", {"key": key})])
    for made in (
        of(one, ns={key: 1}, reason=key),
        of(turn(1, block("call()", calls=1)), trace=trace),
    ):
        assert "a1B2c3D4" not in json.dumps(made)
    made = extract_trajectory_artifact(f"my key is {key}", f"it is {key}", [one])
    assert "a1B2c3D4" not in json.dumps(made) and "[redacted:" in made["final_answer"]


def test_the_host_has_set_some_variables_itself():
    made = of(turn(1), ns={"context": "x", "_": 1, "__builtins__": {}, "rows": [], "re": "Facade"})
    assert made["variables_created"] == ["rows"]
