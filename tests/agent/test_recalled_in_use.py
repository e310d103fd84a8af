"""What a run was given is in use: the same run does not rewrite it; and a model that is dead is not
asked again."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlm import agent
from rlm.errors import ModelUnavailable
from rlm.llm import ScriptedClient
from rlm.store.types import MemoryItem, Scope

PROV = Path(__file__).parent.parent.parent / "ontology" / "prov.ttl"


@pytest.mark.req("PM-12")
def test_a_memory_that_this_run_has_followed_keeps_its_words_and_its_id(store):
    item = MemoryItem(
        "Check whether a class is subclass", "d", "- `ontology_view('compare', $ENTITY_1, other=$ENTITY_2)`",
        source_type="success", outcome="success", scope=Scope(task_types=("is_subclass",)), tags=["is_subclass"],
        confidence=0.6,
    )  # fmt: skip
    store.add(item)
    result = agent.run("Is Person a subclass of Agent?", PROV, store=store, model="offline")
    assert result.memories_used[0]["followed"]
    assert [made["action"] for made in result.new_memories] == ["skip"]
    assert store.get(item.memory_id).content == item.content


@pytest.mark.req("RB-24")
def test_a_model_that_fails_is_not_asked_for_further_attempts(store):
    client = ScriptedClient([ModelUnavailable("the model is down")] * 6)
    result = agent.run(
        "Which class is it?", PROV, store=store, client=client, scaling="sequential:3"
    )
    assert (
        result.reason.startswith("the model failed")
        and store.db.value("SELECT count(*) FROM trajectories") == 1
    )
