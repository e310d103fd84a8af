"""`rlm index`, and the commands that use the index: through the command line, as a person does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.req("CX-08")


@pytest.fixture
def beside(qdrant, home, monkeypatch):
    """The index, after `home` has cleared the settings."""
    monkeypatch.setenv("RLM_INDEX", f"qdrant:{qdrant.url}")
    return qdrant


def test_without_an_index_it_says_how_to_name_one(rlm, db, add):
    add()
    result = rlm("index", "status", "--db", db)
    assert result.code == 2 and "RLM_INDEX=qdrant:http://host:6333" in result.err


@pytest.mark.slow
def test_it_is_the_same_beside_postgresql(rlm, postgres_server, beside):
    url = postgres_server.empty_store()
    for name in ("green", "black"):
        rlm("memory", "add", "--db", url, "--title", f"Brew {name} tea", "--content", "hot")
    assert "2 memories in 1 collections" in rlm("index", "rebuild", "--db", url).out
    rlm("memory", "add", "--db", url, "--title", "Brew white tea", "--content", "hot")
    assert "Brew white tea" in rlm("memory", "search", "--db", url, "white tea").out
    assert "index: 1 memories written" in rlm("worker", "--once", "--db", url).err
    assert "nothing differs" in rlm("index", "reconcile", "--db", url).out
    (state,) = json.loads(rlm("index", "status", "--db", url, "--json").out)["spaces"]
    assert (state["state"], state["points"], state["waiting"]) == ("ok", 3, 0)


def test_build_search_change_and_feed(rlm, db, add, beside):
    add("Brew green tea", "80 degrees")
    states = json.loads(rlm("index", "status", "--db", db, "--json").out)["spaces"]
    assert [each["state"] for each in states] == ["not built"]
    done = rlm("index", "rebuild", "--db", db)
    assert done.code == 0 and "1 memories in 1 collections" in done.out
    add("Brew black tea", "95 degrees")
    (state,) = json.loads(rlm("index", "status", "--db", db, "--json").out)["spaces"]
    assert (state["state"], state["points"], state["waiting"]) == ("behind", 1, 1)
    assert "Brew black tea" in rlm("memory", "search", "--db", db, "black tea").out
    assert "index: 1 memories written" in rlm("worker", "--once", "--db", db).err
    (state,) = json.loads(rlm("index", "status", "--db", db, "--json").out)["spaces"]
    assert (state["state"], state["points"], state["waiting"]) == ("ok", 2, 0)
    assert "nothing differs" in rlm("index", "reconcile", "--db", db).out
    assert "qdrant http://127.0.0.1" in rlm("memory", "stats", "--db", db, "--json").out


def test_all_projects_of_the_team(rlm, db, add, beside):
    add("Brew green tea", "80 degrees", "--project", "one")
    add("Brew black tea", "95 degrees", "--project", "two")
    rlm("index", "rebuild", "--db", db, "--project", "one", "--all-projects")
    found = rlm("index", "status", "--db", db, "--project", "one", "--all-projects", "--json")
    states = {each["project"]: each["state"] for each in json.loads(found.out)["spaces"]}
    assert states == {"one": "ok", "two": "ok"}


def test_an_index_that_fails_is_told_by_every_command(rlm, db, add, beside, monkeypatch):
    add("Brew green tea", "80 degrees")
    rlm("index", "rebuild", "--db", db)
    beside.fault = (503, "shard is recovering")
    failed = rlm("memory", "search", "--db", db, "tea")
    assert failed.code != 0 and "shard is recovering" in failed.err and failed.out == ""
    status = rlm("index", "status", "--db", db)
    assert status.code == 1 and "shard is recovering" in status.err
    worker = rlm("worker", "--once", "--db", db)
    assert worker.code == 0
    assert rlm("doctor", "--db", db).code == 1
    monkeypatch.setenv("RLM_INDEX_FALLBACK", "true")
    line = [sys.executable, "-m", "rlm", "memory", "search", "--db", db, "tea"]
    found = subprocess.run(line, capture_output=True, text=True)
    assert found.returncode == 0 and "Brew green tea" in found.stdout
    assert found.stderr.count("the store itself is searched") == 1
