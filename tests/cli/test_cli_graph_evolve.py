"""`rlm graph edges|relink|history|consolidate|promote|decay|undo|copy`, phrases and snippets."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cli_running import Run

from rlm import clock


@pytest.fixture
def add_node(rlm: Run, db: str):
    def add(content: str, *options: str, kind: str = "fact") -> str:
        done = rlm("graph", "add", kind, content, *options, "--db", db)
        assert done.code == 0, done.err
        return done.out.strip()

    return add


@pytest.fixture
def graph(rlm: Run, db: str):
    """`graph("edges")` runs that line with `--json`; what it printed."""

    def run(*line: str) -> Any:
        done = rlm("graph", *line, "--db", db, "--json")
        assert done.code == 0, done.err
        return done.json

    return run


@pytest.mark.req("SPEC-02.35")
def test_edges_are_listed_and_changed(rlm: Run, db: str, add_node, graph) -> None:
    heat, steam = add_node("heat"), add_node("steam")
    one = graph("link", "causation", "boils", f"{heat}:cause", f"{steam}:effect")["id"]
    two = graph("link", "relation", "near", heat, steam, "--weight", "3")["id"]
    assert [edge["id"] for edge in graph("edges")] == [two, one]
    assert [edge["id"] for edge in graph("edges", "--type", "causation")] == [one]
    assert [edge["id"] for edge in graph("edges", "--label", "near")] == [two]
    of_steam = ("edges", "--node", steam[:8])
    assert [edge["id"] for edge in graph(*of_steam)] == [one, two]
    assert [edge["id"] for edge in graph(*of_steam, "--direction", "in")] == [one]
    assert graph(*of_steam, "--direction", "out") == []
    assert [edge["id"] for edge in graph(*of_steam, "--role", "participant")] == [two]
    assert f"{heat[:8]}:cause" in rlm("graph", "edges", "--db", db).out
    changed = graph("relink", one[:8], "--label", "evaporates", "--weight", "5", "--reason", "why")
    assert changed == {"id": one, "changed": ["label", "weight"]}
    assert graph("edges")[0]["label"] == "evaporates"
    assert graph("history", heat)["evolution"][0]["reasoning"] == "why"
    failed = rlm("graph", "edges", "--role", "cause", "--db", db)
    assert failed.code == 2 and "--node" in failed.err
    assert rlm("graph", "relink", one, "--db", db).code == 2


def test_unlink_between_two_nodes(rlm: Run, db: str, add_node, graph) -> None:
    a, b, c = add_node("a"), add_node("b"), add_node("c")
    pair = graph("link", "relation", "x", a, b)["id"]
    graph("link", "relation", "all", a, b, c)
    assert graph("unlink", "--between", a, b) == [{"id": pair, "status": "removed"}]
    assert len(graph("edges")) == 1
    for line in ((), (pair, "--between", a, b)):
        failed = rlm("graph", "unlink", *line, "--db", db)
        assert failed.code == 2 and "EDGE" in failed.err


def test_history_tells_changes_and_confidence(rlm: Run, db: str, add_node, graph) -> None:
    made = add_node("x", "--confidence", "0.5")
    rlm("graph", "edit", made, "--confidence", "0.9", "--reason", "two sources", "--db", db)
    (change,) = graph("history", made)["confidence"]
    assert (change["before"], change["after"], change["reason"]) == (0.5, 0.9, "two sources")
    text = rlm("graph", "history", made[:8], "--db", db).out
    assert "0.50 → 0.90  edit  two sources" in text and "create  → task" in text.replace(
        "   ", "  "
    )
    everything = rlm("graph", "history", "--db", db).out
    assert f"({made[:8]})" in everything and made[:8] in everything.split("confidence")[1]
    assert rlm("graph", "history", "ffffffff", "--db", db).code == 1


def test_consolidate_and_undo(rlm: Run, db: str, add_node, graph) -> None:
    one, two = add_node("Tea is hot"), add_node("tea is hot", "--confidence", "0.9")
    plan = graph("consolidate", "--dry-run")
    assert plan["merged"] == [{"id": one, "into": two}] and plan["log_id"] is None
    assert {node["tier"] for node in graph("list")} == {"task"}
    done = rlm("graph", "consolidate", "--db", db)
    assert f"into {two}" in done.out and "rlm graph undo" in done.err
    assert [node["id"] for node in graph("list", "--tier", "session")] == [two]
    number = done.err.split("undo ")[1].split("`")[0]
    undone = graph("undo", number)
    assert {each["id"] for each in undone["moved"]} == {one, two}
    assert {node["tier"] for node in graph("list")} == {"task"}
    again = rlm("graph", "undo", number, "--db", db)
    assert again.code == 2 and "already" in again.err
    assert rlm("graph", "undo", "999", "--db", db).code == 1


def test_promote_and_decay(rlm: Run, db: str, add_node, graph) -> None:
    with clock.frozen(datetime(2025, 1, 1, tzinfo=UTC)):
        made = add_node("sure", "--tier", "session", "--confidence", "0.9")
    assert graph("promote")["moved"] == []
    moved = graph("promote", "--min-accesses", "0")["moved"]
    assert moved == [{"id": made, "from": "session", "to": "longterm"}]
    with clock.frozen(datetime(2025, 3, 5, tzinfo=UTC)):
        plan = graph("decay", "--dry-run")
        assert plan["confidence"] == [{"id": made, "before": 0.9, "after": 0.8}]
        text = rlm("graph", "decay", "--per-month", "0.4", "--archive-below", "0.2", "--db", db)
        assert "0.90 → 0.10" in text.out and "longterm → archive" in text.out
    assert graph("list", "--tier", "archive")[0]["confidence"] == 0.1


def test_a_graph_is_copied(rlm: Run, db: str, tmp_path: Path, add_node, graph) -> None:
    made = add_node("Tea is hot")
    target = str(tmp_path / "other.db")
    done = graph("copy", target)
    assert done["copied"] == {"nodes": 1, "edges": 0, "events": 1, "changes": 0}
    assert "0 nodes" in rlm("graph", "copy", target, "--db", db).out
    found = rlm("graph", "show", made, "--db", target, "--json").json
    assert found["node"]["content"] == "Tea is hot" and len(found["evolution"]) == 1
    target = f"json:{tmp_path / 'x.json'}"
    assert "1 node" in rlm("graph", "copy", target, "--db", db).out
    assert rlm("graph", "show", made, "--db", target).code == 0


def test_search_shows_snippets_and_takes_phrases(rlm: Run, db: str, add_node, graph) -> None:
    right = add_node("filler " * 60 + "Green tea cools fast. " + "more " * 60)
    add_node("Tea that is green cools")
    (hit,) = graph("search", '"green tea" cools')
    assert hit["id"] == right
    marks = [hit["snippet"]["text"][a:b] for a, b in hit["snippet"]["marks"]]
    assert marks == ["Green", "tea", "cools"]
    assert hit["content"][hit["snippet"]["start"] :].startswith(hit["snippet"]["text"])
    assert "…" in rlm("graph", "search", "green tea", "--db", db).out
    assert (
        "«Green» «tea» «cools» fast."
        in rlm("graph", "search", '"green tea"', "cools", "--db", db).out
    )
    assert "nothing found" in rlm("graph", "search", '"tea green"', "--db", db).err


def test_a_snippet_keeps_its_indentation(rlm: Run, db: str, graph) -> None:
    code = b"    if x:\n        y()\n"
    made = rlm("graph", "add", "snippet", "-", "--db", db, stdin=code).out.strip()
    assert graph("show", made)["node"]["content"] == code.decode().rstrip()


def test_explain_shows_the_confidence_of_the_node(rlm: Run, db: str, add_node, graph) -> None:
    add_node("zebra", "--confidence", "0.2")
    (hit,) = graph("search", "zebra", "--explain")
    assert hit["why"]["confidence"] == 0.2 and hit["why"]["confidence_factor"] == 0.8
    assert hit["score"] == pytest.approx(hit["why"]["similarity"] * 0.8, abs=1e-5)
    assert (
        "× 0.80 for confidence 0.20" in rlm("graph", "search", "zebra", "--explain", "--db", db).out
    )


@pytest.mark.parametrize("line", [("consolidate",), ("promote",), ("decay",), ("undo", "1")])
def test_evolving_where_there_is_no_store_makes_none(
    rlm: Run, db: str, line: tuple[str, ...]
) -> None:
    failed = rlm("graph", *line, "--db", db)
    assert failed.code == 1 and db in failed.err and not Path(db).exists()
    assert rlm("graph", *line, "--dry-run", "--db", db).code == 1


def test_a_json_store_has_a_graph(rlm: Run, tmp_path: Path) -> None:
    db = f"json:{tmp_path / 's.json'}"
    made = rlm("graph", "add", "fact", "Tea is hot", "--db", db).out.strip()
    assert rlm("graph", "show", made[:8], "--db", db).code == 0
    assert rlm("graph", "search", "tea", "--json", "--db", db).json[0]["id"] == made
    assert json.loads((tmp_path / "s.json").read_text())["nodes"][0]["content"] == "Tea is hot"
