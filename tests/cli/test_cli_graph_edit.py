"""`rlm graph list|edit|rm|unlink`: changing the graph, and seeing what there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from cli_running import Run

pytestmark = pytest.mark.req("SPEC-02.35")


@pytest.fixture
def pair(rlm: Run, db: str) -> tuple[str, str]:
    """Two nodes in `db`."""
    heat = rlm("graph", "add", "fact", "Heat was applied", "--db", db).out.strip()
    steam = rlm(
        "graph", "add", "entity", "Steam", "--tier", "session", "--confidence", "0.9", "--db", db
    ).out.strip()
    return heat, steam


def shown(rlm: Run, db: str, node_id: str) -> Any:
    return rlm("graph", "show", node_id, "--db", db, "--json").json


def test_list_gives_nodes_newest_first_and_filters(
    rlm: Run, db: str, pair: tuple[str, str]
) -> None:
    heat, steam = pair

    def ids(*options: str) -> list[str]:
        return [node["id"] for node in rlm("graph", "list", "--db", db, "--json", *options).json]

    assert ids() == [steam, heat]
    assert ids("--type", "fact") == [heat] and ids("--tier", "session") == [steam]
    assert ids("--min-confidence", "0.8") == [steam] and ids("--limit", "1") == [steam]
    table = rlm("graph", "list", "--db", db)
    assert [line.split("\t")[0] for line in table.out.splitlines()] == [
        "id",
        steam,
        heat,
    ] and table.err == ""
    assert "--limit" in rlm("graph", "list", "--db", db, "--limit", "1").err


def test_rm_moves_nodes_to_the_archive_and_the_log_says_why(
    rlm: Run, db: str, pair: tuple[str, str]
) -> None:
    heat, steam = pair
    done = rlm(
        "graph", "rm", heat[:8], steam, heat, "--reason", "out of date", "--db", db, "--json"
    )
    assert done.json == [{"id": heat, "status": "archived"}, {"id": steam, "status": "archived"}]
    assert rlm("graph", "list", "--db", db, "--json").json == []
    assert len(rlm("graph", "list", "--tier", "archive", "--db", db, "--json").json) == 2
    event = shown(rlm, db, heat)["evolution"][0]
    assert (event["operation"], event["to_tier"], event["reasoning"]) == (
        "tier",
        "archive",
        "out of date",
    )
    again = rlm("graph", "rm", heat, "--db", db)
    assert again.code == 0 and again.out.strip() == heat and "already" in again.err
    assert rlm("graph", "edit", heat, "--tier", "task", "--db", db).code == 0
    assert [node["id"] for node in rlm("graph", "list", "--db", db, "--json").json] == [heat]


def test_one_unknown_node_and_rm_changes_nothing(rlm: Run, db: str, pair: tuple[str, str]) -> None:
    failed = rlm("graph", "rm", pair[0], "ffffffff", "--db", db)
    assert failed.code == 1 and failed.out == "" and "ffffffff" in failed.err
    assert len(rlm("graph", "list", "--db", db, "--json").json) == 2


def test_edit_changes_only_what_is_named(rlm: Run, db: str, pair: tuple[str, str]) -> None:
    heat, _ = pair
    options = (
        "--subtype",
        "physics",
        "--confidence",
        "0.7",
        "--provenance",
        "a book",
        '--metadata={"page": 3}',
    )
    edited = rlm("graph", "edit", heat[:8], *options, "--db", db, "--json")
    assert edited.json == {
        "id": heat,
        "changed": ["confidence", "metadata", "provenance", "subtype"],
    }
    node = shown(rlm, db, heat)["node"]
    assert (node["content"], node["type"], node["tier"]) == ("Heat was applied", "fact", "task")
    assert (node["subtype"], node["confidence"], node["provenance"]) == ("physics", 0.7, "a book")
    assert node["metadata"] == {"page": 3}
    told = rlm(
        "graph",
        "edit",
        heat,
        "--content",
        "-",
        "--subtype",
        "",
        "--db",
        db,
        stdin=b"Heat was taken away",
    )
    assert told.out.strip() == heat and told.err == "changed content, subtype\n"
    node = shown(rlm, db, heat)["node"]
    assert node["content"] == "Heat was taken away" and node["subtype"] is None
    assert rlm("graph", "search", "taken away", "--db", db, "--json").json[0]["id"] == heat


def test_edit_with_a_new_type_a_tier_and_a_reason(rlm: Run, db: str, pair: tuple[str, str]) -> None:
    heat, _ = pair
    rlm(
        "graph",
        "edit",
        heat,
        "--type",
        "experience",
        "--tier",
        "longterm",
        "--reason",
        "it held",
        "--db",
        db,
    )
    found = shown(rlm, db, heat)
    assert (found["node"]["type"], found["node"]["tier"]) == ("experience", "longterm")
    assert {event["reasoning"] for event in found["evolution"][:2]} == {"it held"}


def test_an_edit_that_changes_nothing_says_so(rlm: Run, db: str, pair: tuple[str, str]) -> None:
    same = rlm("graph", "edit", pair[0], "--tier", "task", "--db", db)
    assert same.code == 0 and same.out.strip() == pair[0] and same.err == "nothing changed\n"
    assert (
        rlm("graph", "edit", pair[0], "--tier", "task", "--db", db, "--json").json["changed"] == []
    )


def test_unlink_removes_edges_and_keeps_their_nodes(
    rlm: Run, db: str, pair: tuple[str, str]
) -> None:
    heat, steam = pair
    first = rlm(
        "graph", "link", "causation", "boils", f"{heat}:cause", f"{steam}:effect", "--db", db
    ).out.strip()
    second = rlm("graph", "link", "relation", "near", heat, steam, "--db", db).out.strip()
    short = re.findall(
        r"^  ([0-9a-f]{8})  causation", rlm("graph", "show", heat, "--db", db).out, re.MULTILINE
    )
    assert short == [first[:8]]
    failed = rlm("graph", "unlink", second, "ffffffff", "--db", db)
    assert failed.code == 1 and "ffffffff" in failed.err and len(shown(rlm, db, heat)["edges"]) == 2
    done = rlm("graph", "unlink", short[0], "--reason", "it was the sun", "--db", db, "--json")
    assert done.json == [{"id": first, "status": "removed"}]
    found = shown(rlm, db, heat)
    assert [edge["id"] for edge in found["edges"]] == [second] and found["evolution"][0][
        "operation"
    ] == "unlink"
    assert found["evolution"][0]["reasoning"] == "it was the sun"
    told = rlm("graph", "unlink", second, "--db", db)
    assert told.out.strip() == second and "removed" in told.err
    assert len(rlm("graph", "list", "--db", db, "--json").json) == 2


@pytest.mark.parametrize(
    ("line", "code", "word"),
    [
        (("rm",), 2, "ID"),
        (("rm", "ffffffff"), 1, "rlm graph list"),
        (("rm", "fff"), 1, "at least 4"),
        (("edit", "ffffffff", "--tier", "task"), 1, "ffffffff"),
        (("edit", "{node}"), 2, "nothing to change"),
        (("edit", "{node}", "--content", ""), 2, "empty"),
        (("edit", "{node}", "--metadata", "[]"), 2, "object"),
        (("edit", "{node}", "--confidence", "7"), 2, "7"),
        (("unlink", "ffffffff"), 1, "rlm graph show"),
        (("list", "--limit", "0"), 2, "0"),
    ],
)
def test_what_cannot_be_done_says_why(
    rlm: Run, db: str, pair: tuple[str, str], line: tuple[str, ...], code: int, word: str
) -> None:
    failed = rlm("graph", *(part.format(node=pair[0]) for part in line), "--db", db)
    assert (
        failed.code == code
        and failed.out == ""
        and word in failed.err
        and failed.err.count("\n") == 1
    )


def test_a_name_that_begins_several_ids_is_refused(rlm: Run, db: str) -> None:
    seen: dict[str, list[str]] = {}
    from rlm import open_store

    with open_store(db, embedder="none") as store:
        for each in store.graph.create_nodes(
            [{"type": "fact", "content": f"number {n}"} for n in range(1_000)]
        ):
            seen.setdefault(each[:4], []).append(each)
    prefix, both = next((key, found) for key, found in seen.items() if len(found) > 1)
    failed = rlm("graph", "rm", prefix, "--db", db)
    assert failed.code == 2 and all(each in failed.err for each in both)


@pytest.mark.parametrize(
    "line",
    [
        ("rm", "abcd"),
        ("edit", "abcd", "--tier", "task"),
        ("unlink", "abcd"),
        ("link", "relation", "x", "abcd"),
    ],
)
def test_changing_where_there_is_no_store_makes_none(
    rlm: Run, db: str, line: tuple[str, ...]
) -> None:
    failed = rlm("graph", *line, "--db", db)
    assert failed.code == 1 and db in failed.err and not Path(db).exists()


def test_another_project_cannot_touch_it(rlm: Run, db: str, pair: tuple[str, str]) -> None:
    edge = rlm("graph", "link", "relation", "near", *pair, "--db", db).out.strip()
    for line in (("rm", pair[0]), ("edit", pair[0], "--tier", "archive"), ("unlink", edge)):
        assert rlm("graph", *line, "--db", db, "--project", "other").code == 1
    assert rlm("graph", "list", "--db", db, "--project", "other", "--json").json == []
    assert len(shown(rlm, db, pair[0])["edges"]) == 1


def test_times_for_a_person_carry_a_zone(rlm: Run, db: str, pair: tuple[str, str]) -> None:
    text = rlm("graph", "show", pair[0], "--db", db).out
    times = re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(.*)", text)
    assert len(times) >= 4 and all(rest.startswith(" UTC") for rest in times)
