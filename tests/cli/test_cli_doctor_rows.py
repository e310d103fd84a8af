"""`rlm doctor` on a sound file whose content is not: damaged rows, lost tables, lost vectors, no
right to write."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from cli_running import Result, Run

from rlm import open_store
from rlm.cli import failure
from rlm.store.sqlite.backend import SQLiteMemoryBackend


def change(db: str, *statements: str) -> None:
    """Set something by SQL, as no command would."""
    with open_store(db, embedder="none") as store:
        assert isinstance(store, SQLiteMemoryBackend)
        with store.db.write() as connection:
            for sql in statements:
                connection.execute(sql)


def failed(result: Result) -> dict[str, dict[str, str]]:
    return {check["name"]: check for check in result.json["checks"] if not check["ok"]}


def says(result: Result, *words: str) -> bool:
    one_line = result.err.count("\n") == 1 and result.err.startswith("error: ")
    return (
        result.code == 2
        and result.out == ""
        and one_line
        and all(word in result.err for word in words)
    )


@pytest.mark.parametrize(
    ("column", "value", "commands"),
    [
        (
            "tags_json",
            "'[oops'",
            (("memory", "list"), ("memory", "search", "subclasses"), ("pack", "export", "--all")),
        ),
        ("scope_json", "'{'", (("memory", "list"), ("memory", "show", "ID"))),
        ("provenance_json", "'[1]'", (("memory", "list"),)),
        (
            "content",
            "x'ff00fe'",
            (("memory", "list"), ("memory", "search", "subclasses"), ("pack", "export", "--all")),
        ),
        (
            "content",
            "CAST(x'ff00fe' AS TEXT)",
            (("memory", "list"), ("memory", "search", "subclasses")),
        ),
        ("last_used", "'once upon a time'", (("memory", "search", "subclasses"),)),
    ],
)
def test_a_damaged_memory_is_one_line_and_doctor_names_it(
    rlm: Run,
    add: Callable[..., str],
    db: str,
    column: str,
    value: str,
    commands: tuple[tuple[str, ...], ...],
) -> None:
    sound, found = add("Another", "Of no interest."), add()
    change(db, f"UPDATE memory_items SET {column} = {value} WHERE memory_id = '{found}'")
    for line in commands:
        words = [found if word == "ID" else word for word in line]
        words += [str(Path(db).with_name("out.jsonl"))] if words[0] == "pack" else []
        assert says(rlm(*words, "--db", db), "rlm doctor"), line
    report = rlm("doctor", "--db", db, "--json")
    check = failed(report)["memories can be read"]
    assert (
        report.code == 1
        and f"of memory {found} is" in check["detail"]
        and (column in check["detail"] or "not UTF-8" in check["detail"])
        and "1 damaged" in check["detail"]
    )
    assert (
        check["fix"]
        == f"restore a backup, or remove it for good: `rlm memory rm --hard --yes {found}`"
    )
    assert rlm("memory", "rm", "--hard", "--yes", found, "--db", db).code == 0
    assert (
        rlm("doctor", "--db", db).code == 0 and rlm("memory", "show", sound, "--db", db).code == 0
    )


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("memory_id", "'0123456789abcdef'"),
        ("created_at", "'yesterday'"),
        ("title", "'Another'"),
        ("grams", "x'00'"),
    ],
)
def test_doctor_asks_more_than_a_reader_does(
    rlm: Run, add: Callable[..., str], db: str, column: str, value: str
) -> None:
    add()
    change(db, f"UPDATE memory_items SET {column} = {value}")
    detail = failed(rlm("doctor", "--db", db, "--json"))["memories can be read"]["detail"]
    assert ("memory_id" if column == "title" else column) in detail


def test_many_damaged_rows_are_counted_and_the_first_are_named(
    rlm: Run, add: Callable[..., str], db: str
) -> None:
    ids = [add(f"Title {n}") for n in range(7)]
    change(db, "UPDATE memory_items SET tags_json = '{}'")
    check = failed(rlm("doctor", "--db", db, "--json"))["memories can be read"]
    assert "7 damaged" in check["detail"] and check["detail"].endswith("; and 2 more")
    assert check["fix"].endswith(" ".join(ids[:5]) + "`")


def test_what_another_tenant_has_is_not_named(rlm: Run, add: Callable[..., str], db: str) -> None:
    found = add("Of somebody else", "Private.", "--project", "theirs")
    change(db, "UPDATE memory_items SET tags_json = '{}'")
    report = rlm("doctor", "--db", db, "--json", "--project", "mine")
    assert report.code == 1 and found not in report.out
    assert failed(report)["memories can be read"]["fix"] == "restore a backup"


def test_a_damaged_node_is_one_line_and_can_be_archived(rlm: Run, db: str) -> None:
    node = rlm("graph", "add", "fact", "The sky is blue.", "--db", db).out.strip()
    change(db, "UPDATE nodes SET metadata = '{'")
    for line in (("graph", "search", "sky"), ("graph", "list"), ("graph", "show", node)):
        assert says(rlm(*line, "--db", db), "nodes", "metadata", node, "rlm doctor"), line
    check = failed(rlm("doctor", "--db", db, "--json"))["nodes can be read"]
    assert f"`rlm graph rm {node}`" in check["fix"] and "metadata" in check["detail"]
    assert rlm("graph", "rm", node, "--db", db).code == 0
    assert (
        rlm("graph", "search", "sky", "--db", db).code == 1 and rlm("doctor", "--db", db).code == 0
    )


def test_damaged_history_is_one_line_and_doctor_names_it(rlm: Run, db: str) -> None:
    node = rlm("graph", "add", "fact", "The sky is blue.", "--db", db).out.strip()
    change(db, "UPDATE evolution_log SET node_ids = '['")
    assert says(rlm("graph", "show", node, "--db", db), "JSON is damaged", "rlm doctor")
    check = failed(rlm("doctor", "--db", db, "--json"))["runs and history can be read"]
    assert "row 1: evolution_log.node_ids" in check["detail"] and check["fix"] == "restore a backup"


def test_a_damaged_row_does_not_stop_the_mending_of_the_rest(
    rlm: Run, add: Callable[..., str], db: str
) -> None:
    add()
    found = add("Another")
    change(db, f"UPDATE memory_items SET tags_json = '[oops' WHERE memory_id = '{found}'")
    change(db, "DROP INDEX idx_nodes_tier")
    report = rlm("doctor", "--fix", "--db", db, "--json")
    assert report.json["fixed"] == ["rebuilt: idx_nodes_tier"] and list(failed(report)) == [
        "memories can be read"
    ]


@pytest.mark.parametrize("table", ["evolution_log", "meta"])
def test_a_table_that_is_gone_is_named(
    rlm: Run, add: Callable[..., str], db: str, table: str
) -> None:
    add()
    change(db, f"DROP TABLE {table}")
    for fix in ((), ("--fix",)):
        report = rlm("doctor", "--db", db, "--json", *fix)
        [check] = failed(report).values()
        assert (
            report.code == 1
            and check["name"] == "schema"
            and table in check["detail"]
            and "backup" in check["fix"]
        )


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("DROP TRIGGER memory_fts_update_old", "memory_fts_update_old"),
        ("DROP INDEX idx_items_confidence", "idx_items_confidence"),
        ("DROP TABLE recall_blocks", "recall_blocks"),
        ("DROP TABLE node_fts", "node_fts, node_fts_config"),
        ("DROP INDEX idx_nodes_tier; CREATE INDEX idx_nodes_tier ON nodes(id)", "idx_nodes_tier"),
    ],
)
def test_what_can_be_made_anew_is_named_and_made(
    rlm: Run, add: Callable[..., str], db: str, statement: str, names: str
) -> None:
    found = add()
    change(db, statement)
    report = rlm("doctor", "--db", db, "--json")
    check = failed(report)["schema"]
    assert report.code == 1 and names in check["detail"] and check["fix"] == "rlm doctor --fix"
    mended = rlm("doctor", "--fix", "--db", db, "--json")
    assert mended.code == 0 and names.partition(",")[0] in mended.json["fixed"][0], mended.out
    assert rlm("memory", "edit", found, "--title", "Walk the tree", "--db", db).code == 0
    assert rlm("graph", "add", "fact", "The sky is blue.", "--db", db).code == 0
    assert rlm("doctor", "--db", db).code == 0


def test_a_database_of_another_program_is_called_that(rlm: Run, db: str) -> None:
    with contextlib.closing(apsw.Connection(db)) as other:
        other.execute("CREATE TABLE bookmarks(url); PRAGMA user_version = 1")
    [check] = failed(rlm("doctor", "--fix", "--db", db, "--json")).values()
    assert "another program" in check["detail"]


def test_what_somebody_added_is_no_fault(rlm: Run, add: Callable[..., str], db: str) -> None:
    add()
    change(db, "CREATE TABLE mine(x)")
    report = rlm("doctor", "--db", db, "--json")
    assert report.code == 0 and "not ours: mine" in report.out


@pytest.mark.parametrize("value", ["NULL", "x'00'"])
def test_a_lost_vector_is_seen_and_made_again(
    rlm: Run, add: Callable[..., str], db: str, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("RLM_EMBEDDER", "static")
    add()
    rlm("graph", "add", "fact", "The sky is blue.", "--db", db)
    assert rlm("doctor", "--db", db).code == 0
    change(
        db, f"UPDATE memory_items SET embedding = {value}", f"UPDATE nodes SET embedding = {value}"
    )
    stale = rlm("doctor", "--db", db, "--json")
    assert list(failed(stale)) == ["vectors"] and "2 rows" in failed(stale)["vectors"]["detail"]
    mended = rlm("doctor", "--fix", "--db", db, "--json")
    assert mended.code == 0 and "2 rows" in mended.json["fixed"][0]


def test_fix_of_a_file_that_cannot_be_written_says_so(
    rlm: Run, add: Callable[..., str], db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add()
    change(db, "DROP INDEX idx_nodes_tier")
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write anywhere
    monkeypatch.setenv("RLM_EMBEDDER", "static")
    report = rlm("doctor", "--fix", "--db", db, "--json")
    assert (
        report.code == 1 and report.json["fixed"] == [] and report.json["db"]["read_only"] is True
    )
    assert "nothing could be mended" in failed(report)["fix"]["detail"]
    assert {"schema", "vectors"} < set(failed(report))


def test_a_package_that_is_missing_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    absent = ModuleNotFoundError("No module named 'numpy.linalg'", name="numpy.linalg")
    assert failure.report(absent, as_json=False) == 2
    assert (
        capsys.readouterr().err
        == f"error: the package numpy is not installed: {failure.REINSTALL}\n"
    )
    with pytest.raises(ModuleNotFoundError):  # a fault of ours is not passed over
        failure.report(
            ModuleNotFoundError("No module named 'rlm.nowhere'", name="rlm.nowhere"), as_json=False
        )


def test_without_cryptography_a_signature_says_what_to_install(
    rlm: Run, add: Callable[..., str], db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add("Find the subclasses", "First search, then list them.")
    key, pack = str(tmp_path / "k.pem"), str(tmp_path / "p.jsonl")
    assert rlm("pack", "keygen", key).code == 0
    assert rlm("pack", "export", pack, "--all", "--db", db, "--key", key).code == 0
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, name, None)
    lines = (
        ("keygen", str(tmp_path / "other.pem")),
        ("export", str(tmp_path / "q.jsonl"), "--all", "--db", db, "--key", key),
        ("sign", pack, "--key", key),
        ("import", pack, "--db", db),
    )
    for line in lines:
        assert says(rlm("pack", *line), 'pip install "cryptography>=44"'), line
    assert not (tmp_path / "q.jsonl").exists() and json.loads(
        Path(f"{tmp_path}/p.manifest.json").read_text()
    )
