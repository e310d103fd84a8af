"""`RunSpec`: what a caller chose goes as one object from the outermost call to the loop."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path

import pytest

from rlm import agent
from rlm.errors import ConfigError
from rlm.llm import ScriptedClient
from rlm.loop import Limits, LoopSpec

PROV = Path(__file__).parents[2] / "ontology" / "prov.ttl"
LOOK = "```repl\nprint(len(context))\n```"


def test_it_is_frozen_and_others_are_made_from_it():
    spec = agent.RunSpec(query="q", memory_k=2)
    with pytest.raises(FrozenInstanceError):
        spec.query = "another"
    other = replace(spec, query="another")
    assert (other.query, other.memory_k, spec.query) == ("another", 2, "q")
    assert {known.name for known in fields(LoopSpec)} < {known.name for known in fields(spec)}


def test_what_makes_no_sense_is_refused_when_it_is_made():
    with pytest.raises(ConfigError, match="memory_k is 21: use a whole number from 0 to 20"):
        agent.RunSpec(memory_k=21)
    with pytest.raises(ConfigError, match="recorded or replayed, not both"):
        agent.RunSpec(record="a", replay="b")
    with pytest.raises(
        TypeError, match="no choice 'no_such_choice': they are the fields of RunSpec"
    ):
        agent.run("q", context="text", no_such_choice=1)
    with pytest.raises(TypeError, match="no choice 'limit'; did you mean limits"):
        agent.run("q", context="text", limit=1)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"limits": 3}, "limits is a int: give a Limits"),
        ({"limits": {"max_iters": 3}}, "limits is a dict: give a Limits"),
        ({"sandbox": 3}, "sandbox is a int: give a SandboxLimits"),
        ({"tools": [print]}, "tools is a list: give a Mapping"),
        ({"on_step": "x"}, "on_step is a str: give a function"),
        ({"store": 5}, "store is a int: give an open store, or its address as `db_path`"),
    ],
)
def test_a_choice_of_the_wrong_kind_is_refused_by_its_name(choice, message):
    with pytest.raises(ConfigError, match=message):
        agent.run("q", context="text", model="offline", **choice)


def test_what_the_loop_takes_can_be_chosen_above_it(store):
    def double(number):
        """Twice the number."""
        return 2 * number

    client = ScriptedClient(["```repl\nFINAL(str(double(x)))\n```"])
    result = agent.run(
        "q", context="text", client=client, store=store, tools={"double": double}, ns={"x": 21}
    )
    assert result.answer == "42" and result.converged


def test_a_run_from_a_spec_is_the_run_from_its_fields(store):
    spec = agent.RunSpec(
        query="q", context="text", store=store, max_iters=2, client=ScriptedClient([LOOK] * 3)
    )
    by_spec = agent.run_spec(spec)
    again = ScriptedClient([LOOK] * 3)
    by_name = agent.run("q", context="text", store=store, max_iters=2, client=again)
    assert by_spec.iterations == by_name.iterations == 2
    assert by_spec.reason == by_name.reason and "max_iters" in by_name.reason


@pytest.mark.parametrize("limits", [None, Limits(max_output_chars=4_000)])
def test_fewer_turns_leave_the_other_limits_of_an_ontology(store, limits):
    client = ScriptedClient(["```repl\nprint('x' * 7000)\n```", "FINAL(1)"])
    agent.run("q", PROV, store=store, client=client, max_iters=1, limits=limits)
    assert len(client.calls) == 2, "one turn, and the last call"
    assert "[… 3000 characters cut …]" in client.calls[-1][-1]["content"]
