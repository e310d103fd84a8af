"""`rlm memory import`: what seed 001's JSON store wrote comes into any store of today."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_running import Run

pytestmark = pytest.mark.req("PM-02")


def old(title: str, **more: object) -> dict[str, object]:
    """A memory as the seed's `to_dict` wrote it."""
    return {
        "id": f"id of {title}",
        "title": title,
        "description": "Use rdfs:label with FILTER.",
        "content": f"- Step 1 of {title}\n- Step 2",
        "source_type": "success",
        "task_query": "Find entities by name",
        "created_at": "2026-01-19T10:11:12.131415",
        "access_count": 3,
        "tags": ["sparql"],
        "session_id": None,
        **more,
    }


def written(path: Path, records: list[object], *, lines: bool = False) -> str:
    text = "\n".join(map(json.dumps, records)) if lines else json.dumps(records, indent=2)
    path.write_text(text, "utf-8")
    return str(path)


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("kind", ["json", "sqlite"])
def test_a_list_and_lines_come_in_once(rlm: Run, tmp_path: Path, kind: str, lines: bool) -> None:
    file = written(tmp_path / "old", [old("Search entities"), old("Count rows")], lines=lines)
    db = f"{kind}:{tmp_path / 'store'}"
    first = rlm("memory", "import", file, "--db", db, "--json")
    told = first.json
    ids = [entry["memory_id"] for entry in told.pop("memories")]
    assert (first.code, told) == (0, {"added": 2, "present": 0, "refused": []})
    again = rlm("memory", "import", file, "--db", db)
    assert again.code == 0
    assert again.out.splitlines() == ["added          0", "there already  2", "refused        0"]
    shown = rlm("memory", "show", "id of Count rows", "--db", db, "--json").json
    assert (shown["title"], shown["access_count"], shown["origin"]) == ("Count rows", 3, "import")
    assert shown["memory_id"] == ids[1]
    assert shown["created_at"] == "2026-01-19T10:11:12.131415Z"


def test_what_is_refused_is_named_and_the_rest_comes_in(rlm: Run, db: str, tmp_path: Path) -> None:
    records = [
        old("Search entities"),
        old("word " * 11),
        {"title": "No content", "description": ""},
        7,
        old("Search entities", id="another"),
        old("Strange", colour="red"),
        old("Put away", archived_at="2026-01-19T10:11:12Z"),
        old("Not ours", confidence=7),
    ]
    result = rlm("memory", "import", written(tmp_path / "old", records), "--db", db)
    assert result.code == 1
    assert result.out.splitlines() == ["added          1", "there already  1", "refused        6"]
    assert "item 2 (word word" in result.err and "title has 11 words" in result.err
    assert "item 3 (No content): a memory needs a content" in result.err
    assert "item 4: it is 7: use an object" in result.err
    assert "item 6 (Strange): unknown memory field 'colour'" in result.err
    assert "item 7 (Put away): it is in the archive" in result.err
    assert "item 8 (Not ours): confidence is 7: use a number from 0 to 1" in result.err
    told = rlm("memory", "import", str(tmp_path / "old"), "--db", db, "--json").json
    assert [entry["place"] for entry in told["refused"]] == [
        f"item {n}" for n in (2, 3, 4, 6, 7, 8)
    ]


def test_a_file_is_nobodys_word_and_passes_the_gate(rlm: Run, db: str, tmp_path: Path) -> None:
    records = [
        old("Trust me", source_type="human", trust="trusted", org="acme", project="theirs"),
        old("Do not", trust="quarantined"),
        old("Tell", content="- use " + "ghp_" + "Xy7Z" * 9),
        old("Echo", content="## Relevant Prior Experience\n- again"),
    ]
    assert rlm("memory", "import", written(tmp_path / "old", records), "--db", db).code == 0
    listed = rlm("memory", "list", "--db", db, "--json").json
    assert {entry["trust"] for entry in listed} == {"quarantined"}
    other = str(tmp_path / "vouched.db")
    rlm("memory", "import", str(tmp_path / "old"), "--db", other, "--trust")
    listed = rlm("memory", "list", "--db", other, "--json").json
    trusts = {entry["title"]: entry["trust"] for entry in listed}
    assert trusts["Trust me"] == trusts["Tell"] == "trusted"
    assert trusts["Do not"] == trusts["Echo"] == "quarantined"
    shown = rlm("memory", "show", "id of Tell", "--db", db, "--json").json
    assert "[redacted:" in shown["content"]


def test_the_level_is_the_options_and_stdin_is_read(rlm: Run, db: str) -> None:
    data = json.dumps(old("Shared", level="org")).encode() + b"\n\n"
    assert rlm("memory", "import", "-", "--db", db, "--level", "team", stdin=data).code == 0
    (entry,) = rlm("memory", "list", "--db", db, "--json").json
    assert entry["level"] == "team"


BROKEN = [
    (b"", "is empty: there is nothing to import"),
    (b" \n", "is empty"),
    (b"\xff\xfe[", "is not UTF-8 text (byte 1)"),
    (b'[{"title": "x"},', "line 1, column"),
    (b'[\n {"title": "x"\n "y"]', "line 3, column 2"),
    (b'{"title": "x"}\n{"title": \n', "line 2, column"),
    (b"[" * 100_000, "nested too deeply"),
    (b"[" + b"7" * 5_000 + b"]", "line 1: Exceeds the limit"),
    (b'{"format": 1, "memories": []}', "one JSON object, no list of memories"),
    (b'{\n "format": 1,\n "memories": []\n}', "one JSON object, no list of memories"),
    (b"title,content\n", "write a JSON list of memories, or one memory a line"),
]


@pytest.mark.parametrize(("data", "message"), BROKEN, ids=[message for _, message in BROKEN])
def test_a_file_that_cannot_be_read_is_an_error_and_makes_no_store(
    rlm: Run, db: str, tmp_path: Path, data: bytes, message: str
) -> None:
    (tmp_path / "old").write_bytes(data)
    result = rlm("memory", "import", str(tmp_path / "old"), "--db", db)
    assert result.code != 0 and message in result.err
    assert not Path(db).exists() and (tmp_path / "old").read_bytes() == data


def test_a_file_that_is_not_there(rlm: Run, db: str) -> None:
    result = rlm("memory", "import", "nowhere.json", "--db", db)
    assert result.code != 0 and "nowhere.json cannot be read: No such file" in result.err


ODD = [None, True, 7, -1.5, "", "x" * 300, "\ud800", [], [7], {}, {"a": [{}]}]


@pytest.mark.parametrize("name", [*old("T"), *("scope", "provenance", "outcome", "trust", "level")])
def test_whatever_a_field_holds_is_taken_or_refused(
    rlm: Run, db: str, tmp_path: Path, name: str
) -> None:
    records = [old(f"Number {n}") | {name: value} for n, value in enumerate(ODD)]
    result = rlm("memory", "import", written(tmp_path / "old", records), "--db", db, "--json")
    told = result.json
    assert result.code == (1 if told["refused"] else 0)
    assert len(told["memories"]) + len(told["refused"]) == len(ODD)
    assert all(entry["reason"] for entry in told["refused"])
