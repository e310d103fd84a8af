"""`rlm graph add|link|show|search`."""

from __future__ import annotations

import pytest
from cli_running import Run

pytestmark = pytest.mark.req("SPEC-02.35")


@pytest.fixture
def pair(rlm: Run, db: str) -> tuple[str, str]:
    """Two nodes in `db`."""
    heat = rlm("graph", "add", "fact", "Heat was applied", "--db", db).out.strip()
    steam = rlm("graph", "add", "fact", "Water turned to steam", "--db", db, "--json").json["id"]
    return heat, steam


def test_add_stores_every_field(rlm: Run, db: str) -> None:
    options = (
        "--subtype=note",
        "--tier=session",
        "--confidence=0.9",
        "--provenance=a book",
        '--metadata={"page": 3}',
    )
    made = rlm("graph", "add", "snippet", "-", "--db", db, *options, stdin=b"It rains.").out.strip()
    node = rlm("graph", "show", made, "--db", db, "--json").json["node"]
    assert (
        node["content"] == "It rains." and node["subtype"] == "note" and node["tier"] == "session"
    )
    assert (
        node["confidence"] == 0.9
        and node["provenance"] == "a book"
        and node["metadata"] == {"page": 3}
    )


def test_link_joins_nodes_in_roles_and_order(rlm: Run, db: str, pair: tuple[str, str]) -> None:
    heat, steam = pair
    line = ("causation", "boiling", f"{heat[:8]}:cause", f"{steam}:effect", "--weight", "2.5")
    edge_id = rlm("graph", "link", *line, "--db", db).out.strip()
    shown = rlm("graph", "show", heat, "--db", db, "--json").json
    assert shown["edges"] == [
        {
            "id": edge_id,
            "type": "causation",
            "label": "boiling",
            "weight": 2.5,
            "members": [
                {"node_id": heat, "role": "cause", "position": 0},
                {"node_id": steam, "role": "effect", "position": 1},
            ],
        }
    ]
    assert [node["id"] for node in shown["related"]] == [steam]
    assert [event["operation"] for event in shown["evolution"]] == ["link", "create"]


def test_show_for_a_person_has_all_four_parts(rlm: Run, db: str, pair: tuple[str, str]) -> None:
    heat, steam = pair
    rlm("graph", "link", "relation", "near", heat, steam, "--db", db)
    text = rlm("graph", "show", heat[:8], "--db", db).out
    assert "Heat was applied" in text and steam in text
    assert all(f"\n{part}\n" in text for part in ("edges", "related", "history"))


def test_search_filters_and_explains(rlm: Run, db: str, pair: tuple[str, str]) -> None:
    _, steam = pair
    rlm(
        "graph",
        "add",
        "entity",
        "steam engine",
        "--tier",
        "longterm",
        "--confidence",
        "0.9",
        "--db",
        db,
    )

    def contents(*options: str) -> set[str]:
        return {
            hit["content"]
            for hit in rlm("graph", "search", "steam", "--db", db, "--json", *options).json
        }

    assert contents() == {"Water turned to steam", "steam engine"}
    assert contents("--type", "fact") == {"Water turned to steam"}
    assert contents("--tier", "longterm") == contents("--min-confidence", "0.8") == {"steam engine"}
    assert len(contents("--limit", "1")) == 1
    hit = rlm("graph", "search", "steam", "--type", "fact", "--explain", "--json", "--db", db).json[
        0
    ]
    assert hit["id"] == steam and hit["why"]["matched"] == {"steam": 1.0}
    assert "similarity" in rlm("graph", "search", "steam", "--explain", "--db", db).out


@pytest.mark.parametrize(
    ("line", "code", "word"),
    [
        (("add", "thing", "x"), 2, "thing"),
        (("add", "fact", ""), 2, "empty"),
        (("add", "fact", "x", "--metadata", "{"), 2, "JSON"),
        (("add", "fact", "x", "--metadata", "[]"), 2, "object"),
        (("link", "relation", "l", "ffffffff-0000"), 1, "ffffffff-0000"),
        (("show", "ffffffff"), 1, "ffffffff"),
        (("search",), 2, "QUERY"),
    ],
)
def test_what_cannot_be_done_says_why(
    rlm: Run, db: str, pair: tuple[str, str], line: tuple[str, ...], code: int, word: str
) -> None:
    failed = rlm("graph", *line, "--db", db)
    assert failed.code == code and failed.out == "" and word in failed.err


def test_a_role_that_is_none_makes_no_edge(rlm: Run, db: str, pair: tuple[str, str]) -> None:
    failed = rlm("graph", "link", "relation", "x", f"{pair[0]}:hero", "--db", db)
    assert failed.code == 2 and "hero" in failed.err
    assert rlm("graph", "show", pair[0], "--db", db, "--json").json["edges"] == []
