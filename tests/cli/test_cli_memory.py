"""`rlm memory add|list|show|edit|rm|restore|stats`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_running import Run

from rlm import Tenant, Trajectory, open_store
from rlm.store.types import Run as RunRow


def test_add_prints_the_id_alone_and_talks_on_stderr(rlm: Run, db: str) -> None:
    made = rlm(
        "memory", "add", "--db", db, "--title", "Find subclasses", "--content", "Start at the root."
    )
    assert made.code == 0
    assert len(made.out.strip()) == 16 and made.out.count("\n") == 1
    assert made.err == "added\n"


def test_the_same_memory_twice_is_one_and_says_so(
    rlm: Run, add: Callable[..., str], db: str
) -> None:
    first = add()
    again = rlm(
        "memory",
        "add",
        "--db",
        db,
        "--title",
        "Find the subclasses",
        "--content",
        "Start at the root.",
    )
    assert again.out.strip() == first and "there already" in again.err
    assert len(rlm("memory", "list", "--db", db, "--json").json) == 1


def test_what_is_private_is_not_added_and_the_rest_only_once(rlm: Run, db: str) -> None:
    words = (
        "--title",
        "Open the locker",
        "--content",
        "Ask the porter. <private>PIN 9911</private>",
    )
    first, again = (rlm("memory", "add", "--db", db, *words) for _ in range(2))
    assert first.err == "added\n" and "there already" in again.err
    assert "PIN" not in rlm("memory", "show", first.out.strip(), "--db", db).out


def test_adding_what_was_archived_brings_it_back(
    rlm: Run, add: Callable[..., str], db: str
) -> None:
    found = add()
    rlm("memory", "rm", found, "--db", db)
    again = rlm(
        "memory",
        "add",
        "--db",
        db,
        "--json",
        "--title",
        "Find the subclasses",
        "--content",
        "Start at the root.",
    )
    assert again.json == {
        "memory_id": found,
        "status": "restored",
        "trust": "trusted",
        "redacted": [],
    }


def test_every_field_of_add_is_stored(rlm: Run, add: Callable[..., str], db: str) -> None:
    options = (
        "--description=How", "--tag=a", "--tag=b", "--task=List them", "--ontology=prov", "--task-type=list",
        "--tool=sparql", "--outcome=failure", "--source=failure", "--level=team", "--confidence=0.25",
    )  # fmt: skip
    item = rlm(
        "memory", "show", add("Avoid full scans", "Ask for less.", *options), "--db", db, "--json"
    ).json
    assert (
        item["description"] == "How"
        and item["tags"] == ["a", "b"]
        and item["task_query"] == "List them"
    )
    scope = {"ontology": "prov", "task_types": ["list"], "tools": ["sparql"], "transferable": True}
    assert item["scope"] == scope
    assert (item["outcome"], item["source_type"], item["level"]) == ("failure", "failure", "team")
    assert item["confidence"] == 0.25 and item["origin"] == "cli"


def test_content_comes_from_stdin_or_a_file(rlm: Run, db: str, tmp_path: Path) -> None:
    for number, option in enumerate((("--content", "-"), ("--file", "-"))):
        line = ("memory", "add", "--db", db, "--title", f"From stdin {number}", *option)
        found = rlm(*line, stdin="Größe\nfirst".encode()).out.strip()
        assert rlm("memory", "show", found, "--db", db, "--json").json["content"] == "Größe\nfirst"
    source = tmp_path / "steps.md"
    source.write_text("# Steps", "utf-8")
    found = rlm(
        "memory", "add", "--db", db, "--title", "From a file", "--file", str(source)
    ).out.strip()
    assert rlm("memory", "show", found, "--db", db, "--json").json["content"] == "# Steps"


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ((), "--title"),
        (("--title", "T"), "--content"),
        (("--title", "T", "--content", "c", "--file", "f"), "not both"),
        (("--title", "T", "--file", "nowhere"), "cannot be read"),
        (("--title", "T", "--file", "/dev/zero"), "too much"),
        (
            ("--title", "eleven words are one too many for any title at all", "--content", "c"),
            "11 words",
        ),
        (("--title", "T", "--content", "c", "--outcome", "odd"), "odd"),
        (("--title", "T", "--content", "c", "--confidence", "7"), "7"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_2(
    rlm: Run, db: str, options: tuple[str, ...], word: str
) -> None:
    failed = rlm("memory", "add", "--db", db, *options)
    assert failed.code == 2 and failed.out == ""
    assert failed.err.startswith("error: ") and word in failed.err and failed.err.count("\n") == 1


def test_stdin_that_is_not_text_is_refused(rlm: Run, db: str) -> None:
    failed = rlm("memory", "add", "--db", db, "--title", "T", "--content", "-", stdin=b"\xff\xfe")
    assert failed.code == 2 and "UTF-8" in failed.err


def test_list_filters_and_pages(rlm: Run, add: Callable[..., str], db: str) -> None:
    good = add("Do this", "First.", "--tag", "x")
    bad = add("Not this", "Second.", "--outcome", "failure")
    gone = add("Old one", "Third.")
    rlm("memory", "rm", gone, "--db", db)

    def ids(*options: str) -> list[str]:
        return [
            item["memory_id"] for item in rlm("memory", "list", "--db", db, "--json", *options).json
        ]

    assert ids() == [bad, good]
    assert (
        ids("--tag", "x") == [good]
        and ids("--outcome", "failure") == [bad]
        and ids("--archived") == [gone]
    )
    assert ids("--limit", "1") == [bad] and ids("--limit", "1", "--offset", "1") == [good]
    assert (
        ids("--ontology", "prov") == []
        and ids("--pack", "core_v1") == []
        and ids("--trust", "quarantined") == []
    )
    table = rlm("memory", "list", "--db", db)
    assert [line.split("\t")[0] for line in table.out.splitlines()] == ["id", bad, good]


def test_a_list_shows_the_kind_and_lists_only_one(
    rlm: Run, add: Callable[..., str], db: str
) -> None:
    made = {"procedure": add(), "decision": add("Ship on Fridays", "No.", "--kind", "decision")}
    made["fact"] = add("Water is wet", "It is.", "--kind", "fact")
    listed = rlm("memory", "list", "--db", db, "--json").json
    assert {each["kind"]: each["memory_id"] for each in listed} == made
    for kind, found in made.items():
        heads, *rows = rlm("memory", "list", "--kind", kind, "--db", db).out.splitlines()
        (row,) = (dict(zip(heads.split("\t"), row.split("\t"), strict=True)) for row in rows)
        assert (row["id"], row["kind"]) == (found, kind)


def test_show_takes_the_beginning_of_an_id(rlm: Run, add: Callable[..., str], db: str) -> None:
    found = add()
    shown = rlm("memory", "show", found[:4], "--db", db)
    assert shown.code == 0 and shown.out.startswith("id  ") and "Start at the root." in shown.out
    assert rlm("memory", "show", found[:3], "--db", db).code == 1
    assert rlm("memory", "show", "ffff0000ffff0000", "--db", db).code == 1
    assert rlm("memory", "show", "%%%%", "--db", db).code == 1


def test_an_ambiguous_beginning_lists_what_it_could_mean(rlm: Run, db: str) -> None:
    from rlm import MemoryItem, open_store

    seen: dict[str, list[str]] = {}
    with open_store(db, embedder="none") as store:
        ids = store.add_many([MemoryItem(f"Number {n}", "", f"Step {n}") for n in range(1_000)])
    for each in ids:
        seen.setdefault(each[:4], []).append(each)
    prefix, pair = next((key, found) for key, found in seen.items() if len(found) > 1)
    failed = rlm("memory", "show", prefix, "--db", db)
    assert failed.code == 2 and all(each in failed.err for each in pair)


def test_edit_changes_only_what_is_named(rlm: Run, add: Callable[..., str], db: str) -> None:
    found = add("Find them", "Start.", "--tag", "a", "--task-type", "list", "--ontology", "prov")
    edited = rlm(
        "memory", "edit", found[:6], "--db", db, "--tag", "b", "--tool", "sparql", "--json"
    ).json
    assert edited["was"] == found and edited["changed"] == ["scope", "tags"]
    item = rlm("memory", "show", edited["memory_id"], "--db", db, "--json").json
    assert item["tags"] == ["b"] and item["content"] == "Start."
    assert item["scope"] == {
        "ontology": "prov",
        "task_types": ["list"],
        "tools": ["sparql"],
        "transferable": True,
    }
    cleared = rlm(
        "memory",
        "edit",
        edited["memory_id"],
        "--db",
        db,
        "--tag",
        "",
        "--confidence",
        "0.5",
        "--json",
    ).json
    item = rlm("memory", "show", cleared["memory_id"], "--db", db, "--json").json
    assert (
        item["tags"] == []
        and item["confidence"] == 0.5
        and cleared["memory_id"] == edited["memory_id"]
    )


def test_edit_with_json_and_no_field_never_opens_an_editor(
    rlm: Run, add: Callable[..., str], db: str
) -> None:
    failed = rlm("memory", "edit", add(), "--db", db, "--json")
    assert failed.code == 2 and failed.out == "" and "options" in failed.err


def test_rm_archives_and_restore_brings_back(rlm: Run, add: Callable[..., str], db: str) -> None:
    found = add()
    assert rlm("memory", "rm", found, "--db", db, "--json").json == [
        {"memory_id": found, "status": "archived"}
    ]
    assert rlm("memory", "rm", found, "--db", db, "--json").json == [
        {"memory_id": found, "status": "unchanged"}
    ]
    assert rlm("memory", "search", "subclasses", "--db", db, "--json").json == []
    assert rlm("memory", "restore", found, "--db", db, "--json").json == {
        "memory_id": found,
        "status": "restored",
    }
    assert len(rlm("memory", "search", "subclasses", "--db", db, "--json").json) == 1


def test_rm_takes_several_and_each_once(rlm: Run, add: Callable[..., str], db: str) -> None:
    one, two, three = add("One", "First."), add("Two", "Second."), add("Three", "Third.")
    rlm("memory", "rm", two, "--db", db)
    done = rlm("memory", "rm", one[:6], two, one, "--db", db, "--json")
    assert done.json == [
        {"memory_id": one, "status": "archived"},
        {"memory_id": two, "status": "unchanged"},
    ]
    assert [item["memory_id"] for item in rlm("memory", "list", "--db", db, "--json").json] == [
        three
    ]
    told = rlm("memory", "rm", one, three, "--hard", "--yes", "--db", db)
    assert told.out.split() == [one, three] and told.err == "removed: One\nremoved: Three\n"


@pytest.mark.parametrize("hard", [(), ("--hard", "--yes")])
def test_one_unknown_id_and_rm_changes_nothing(
    rlm: Run, add: Callable[..., str], db: str, hard: tuple[str, ...]
) -> None:
    one, two = add("One", "First."), add("Two", "Second.")
    failed = rlm("memory", "rm", one, "ffffffff", two, *hard, "--db", db)
    assert failed.code == 1 and failed.out == "" and "ffffffff" in failed.err
    assert len(rlm("memory", "list", "--db", db, "--json").json) == 2


@pytest.mark.parametrize(
    "line", [("rm", "abcd"), ("edit", "abcd", "--tag", "x"), ("restore", "abcd")]
)
def test_changing_where_there_is_no_store_makes_none(
    rlm: Run, db: str, line: tuple[str, ...]
) -> None:
    failed = rlm("memory", *line, "--db", db)
    assert failed.code == 1 and db in failed.err and not Path(db).exists()


def test_rm_hard_asks_for_yes_and_then_it_is_gone(
    rlm: Run, add: Callable[..., str], db: str
) -> None:
    found = add()
    refused = rlm("memory", "rm", found, "--hard", "--db", db)
    assert refused.code == 2 and "--yes" in refused.err
    assert rlm("memory", "show", found, "--db", db).code == 0
    assert rlm("memory", "rm", found, "--hard", "--yes", "--db", db).code == 0
    assert rlm("memory", "show", found, "--db", db).code == 1


def test_stats_count(rlm: Run, add: Callable[..., str], db: str) -> None:
    add()
    counts = rlm("memory", "stats", "--db", db, "--json").json
    assert (
        counts["memories"] == 1 and counts["engine"]["lexical"] == "fts5" and counts["path"] == db
    )
    assert "memories" in rlm("memory", "stats", "--db", db).out


def test_two_projects_do_not_see_each_other(rlm: Run, add: Callable[..., str], db: str) -> None:
    add("Ours", "Here.", "--project", "one")
    assert rlm("memory", "list", "--db", db, "--project", "two", "--json").json == []
    assert len(rlm("memory", "list", "--db", db, "--project", "one", "--json").json) == 1


def test_an_empty_project_says_where_there_is_something(
    rlm: Run, add: Callable[..., str], db: str
) -> None:
    add("One", "Content.", "--project", "my boats")
    rlm("memory", "rm", add("Gone", "Content.", "--project", "old"), "--project", "old", "--db", db)
    told = "1 in another project: --project 'my boats'"
    assert rlm("memory", "list", "--db", db).err == f"no memories; {told}\n"
    assert (
        rlm("memory", "search", "one", "--db", db).err
        == f"nothing found: the project local holds no memories; {told}\n"
    )
    add("Two", "More.", "--project", "a")
    add("Three", "More.", "--project", "a")
    told = rlm("memory", "list", "--db", db)
    assert (told.code, told.out, told.err) == (
        0,
        "",
        "no memories; 3 in 2 other projects, most with --project a\n",
    )
    assert rlm("memory", "list", "--db", db, "--team", "other").err == "no memories\n", (
        "another team is not told of"
    )
    with open_store(db, embedder="none", tenant=Tenant(project="a")) as store:
        store.save_artifacts(RunRow(), Trajectory("Q?"))
    for line in (("memory", "insights"), ("logs", "list")):
        assert rlm(*line, "--db", db).err.endswith("; 1 in another project: --project a\n")
    add("Four", "Mine.")
    assert rlm("memory", "list", "--tag", "x", "--db", db).err == "no memories\n", (
        "this one has some"
    )


def test_a_number_is_shown_as_a_person_writes_it(
    rlm: Run, add: Callable[..., str], db: str
) -> None:
    memory_id = add("One", "Content.", "--confidence", "0.6")
    with open_store(db, embedder="none") as store:
        assert [store.adjust_confidence(memory_id, 0.1, kind="k") for _ in range(3)][-1] != 0.9
    shown = rlm("memory", "show", memory_id, "--db", db).out
    assert (
        next(line.split()[-1] for line in shown.splitlines() if line.startswith("confidence"))
        == "0.9"
    )


def test_the_project_is_the_git_repository(
    rlm: Run, db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "orchard" / "src"
    inner.mkdir(parents=True)
    (tmp_path / "orchard" / ".git").mkdir()
    monkeypatch.chdir(inner)
    rlm("memory", "add", "--db", db, "--title", "T", "--content", "c")
    local = rlm("memory", "list", "--db", db, "--json").json[0]["project"]
    assert local.startswith("orchard-"), (
        "a name and a hash: another orchard elsewhere is another project"
    )
    (tmp_path / "orchard" / ".git" / "config").write_text(
        '[remote "origin"]\n\turl = git@host.example:acme/orchard.git\n'
    )
    assert rlm("memory", "list", "--db", db, "--json").json[0]["project"] == "acme/orchard", (
        "what it knew comes along"
    )
    monkeypatch.setenv("RLM_PROJECT", "named")
    assert rlm("memory", "stats", "--db", db, "--json").json["tenant"]["project"] == "named"


def test_a_json_store_works_the_same(rlm: Run, home: Path, tmp_path: Path) -> None:
    db = f"json:{tmp_path / 'store.json'}"
    found = rlm(
        "memory", "add", "--db", db, "--title", "Find subclasses", "--content", "Go."
    ).out.strip()
    assert rlm("memory", "show", found[:5], "--db", db).code == 0
    assert rlm("memory", "search", "subclasses", "--db", db, "--json").json[0]["memory_id"] == found
    assert rlm("graph", "search", "x", "--db", db).err == "nothing found\n"


LESSONS = (
    ("List the properties with a given domain", "SELECT ?p { ?p rdfs:domain $ENTITY_1 }"),
    ("Properties whose domain is a class", "SELECT ?x WHERE { ?x rdfs:domain $ENTITY_1 . }"),
    ("List the properties with a given range", "SELECT ?p { ?p rdfs:range $ENTITY_1 }"),
)


def test_consolidate_shows_and_then_archives_what_says_the_same(rlm: Run, db: str) -> None:
    for title, query in LESSONS:
        content = f"- Find the class.\n- Run the query below.\n\n```sparql\n{query}\n```"
        options = ("--title", title, "--content", content, "--source", "success")
        assert rlm("memory", "add", "--db", db, *options).code == 0
    dry = rlm("memory", "consolidate", "--db", db, "--dry-run")
    assert dry.code == 0 and dry.err == "1 change would be made\n"
    assert "range" not in dry.out and LESSONS[0][0] in dry.out and LESSONS[1][0] in dry.out
    assert len(rlm("memory", "list", "--db", db, "--json").json) == 3
    [change] = rlm("memory", "consolidate", "--db", db, "--json").json["changes"]
    [gone] = change["memories"]
    left = {item["memory_id"] for item in rlm("memory", "list", "--db", db, "--json").json}
    assert change["into"] in left and gone["memory_id"] not in left and len(left) == 2
    shown = rlm("memory", "show", "--db", db, "--json", gone["memory_id"]).json
    assert shown["provenance"]["consolidated_into"] == change["into"]
    assert rlm("memory", "restore", "--db", db, gone["memory_id"]).code == 0
    assert len(rlm("memory", "list", "--db", db, "--json").json) == 3


def test_consolidate_of_nothing_does_nothing(rlm: Run, db: str, add: Callable[..., str]) -> None:
    none = rlm("memory", "consolidate", "--db", db, "--json")
    assert (none.code, none.json["changes"]) == (0, [])
    add()
    nothing = "nothing to merge, prune or promote\n"
    assert rlm("memory", "consolidate", "--db", db).out == nothing
