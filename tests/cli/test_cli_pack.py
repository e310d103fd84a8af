"""`rlm pack …`: the whole round, from a key to a rollback."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_running import Run

from rlm import MemoryItem, open_store
from rlm.service import MemoryManager


@pytest.fixture
def pack(rlm: Run, add: Callable[..., str], db: str, tmp_path: Path) -> str:
    """A pack of one memory, exported from `db`."""
    add(
        "Find the subclasses",
        "First start at the root, then follow the links.",
        "--tag",
        "universal",
    )
    file = str(tmp_path / "ours.jsonl")
    report = rlm("pack", "export", file, "--db", db, "--json")
    assert report.code == 0 and report.json["count"] == 1, report
    return file


def test_what_was_exported_is_imported_into_quarantine(rlm: Run, pack: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other.db")
    done = rlm("pack", "import", pack, "--db", other)
    assert done.code == 0 and "added" in done.out and "rlm memory review" in done.err
    again = rlm("pack", "import", pack, "--db", other, "--json").json
    assert (again["added"], again["present"], again["trust"]) == (0, 1, "quarantined")
    [entry] = rlm("memory", "review", "--db", other, "--json").json
    assert "the pack ours" in entry["reason"]


def test_a_person_can_vouch_for_a_pack_and_choose_its_level(
    rlm: Run, pack: str, tmp_path: Path
) -> None:
    other = str(tmp_path / "other.db")
    assert (
        rlm("pack", "import", pack, "--db", other, "--trust", "--level", "org", "--json").json[
            "trust"
        ]
        == "trusted"
    )
    assert rlm("memory", "list", "--db", other, "--json").json[0]["level"] == "org"


def test_a_trusted_key_lifts_a_pack_out_of_quarantine(
    rlm: Run, home: Path, pack: str, tmp_path: Path
) -> None:
    key = str(tmp_path / "ada.pem")
    public = rlm("pack", "keygen", key).out.strip()
    assert rlm("pack", "keygen", key).code == 2
    assert rlm("pack", "sign", pack).code == 2
    assert rlm("pack", "sign", pack, "--key", key, "--json").json["public_key"] == public
    assert rlm("pack", "verify", pack, "--json").json["trust"] == "quarantined"
    keys = home / ".config" / "rlm" / "trusted_keys"
    keys.parent.mkdir(parents=True)
    keys.write_text(f"ada {public}\n", "utf-8")
    verified = rlm("pack", "verify", pack, "--json").json
    assert verified["ok"] and verified["signer"] == "ada" and verified["trust"] == "trusted"
    other = str(tmp_path / "other.db")
    assert rlm("pack", "import", pack, "--db", other, "--json").json["trust"] == "trusted"


def test_an_export_over_a_signed_pack_says_that_the_signature_is_gone(
    rlm: Run, pack: str, db: str, tmp_path: Path
) -> None:
    key = str(tmp_path / "ada.pem")
    rlm("pack", "keygen", key)
    fresh = rlm("pack", "export", pack, "--force", "--db", db)
    assert fresh.code == 0 and "signed         no\n" in fresh.out and fresh.err == "", (
        "nothing was lost yet"
    )
    rlm("pack", "sign", pack, "--key", key)
    told = rlm("pack", "export", pack, "--force", "--db", db)
    assert told.code == 0 and "signed         no\n" in told.out
    assert (
        told.err
        == f"the pack that was here was signed, this one is not: `rlm pack sign {pack} --key KEY`\n"
    )
    rlm("pack", "sign", pack, "--key", key)
    report = rlm("pack", "export", pack, "--force", "--db", db, "--json").json
    assert (report["signed"], report["signature_lost"]) == (False, True)
    assert rlm("pack", "verify", pack, "--json").json["signer"] is None
    assert sorted(path.name for path in tmp_path.glob("ours*")) == [
        "ours.jsonl",
        "ours.manifest.json",
    ]


def contents(folder: Path, pattern: str = "*.js*") -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob(pattern)}


@pytest.mark.parametrize("gone", ["", "ours.jsonl", "ours.manifest.json"])
def test_an_export_replaces_a_pack_only_by_force(
    rlm: Run, pack: str, db: str, tmp_path: Path, gone: str
) -> None:
    if gone:
        (tmp_path / gone).unlink()
    before = contents(tmp_path)
    refused = rlm("pack", "export", pack, "--db", db)
    named = tmp_path / ("ours.manifest.json" if gone == "ours.jsonl" else "ours.jsonl")
    assert refused.err == f"error: {named}: is there already: name another file, or add --force\n"
    assert (refused.code, refused.out, contents(tmp_path)) == (2, "", before)
    assert rlm("pack", "export", pack, "--force", "--db", db).code == 0
    (tmp_path / "a.jsonl").mkdir()
    assert (
        "is a folder" in rlm("pack", "export", str(tmp_path / "a.jsonl"), "--force", "--db", db).err
    )


def test_an_export_of_nothing_is_an_error_and_leaves_what_is_there(
    rlm: Run, add: Callable[..., str], pack: str, db: str, tmp_path: Path
) -> None:
    other = str(tmp_path / "other.db")
    rlm("pack", "import", pack, "--trust", "--db", other)
    rlm(
        "memory",
        "add",
        "--title",
        "Ask DBpedia",
        "--content",
        "See http://dbpedia.org/ontology/A.",
        "--db",
        other,
    )
    before = contents(tmp_path)
    failed = rlm("pack", "export", pack, "--force", "--db", other)
    assert (failed.code, failed.out, contents(tmp_path)) == (2, "", before)
    assert f"{pack}: not written, for no memory is fit to share: left out 1: " in failed.err
    assert (
        "left out 1: it came from a pack (--all, in Python packed=True, takes it too)" in failed.err
    )
    assert "left out 1: it names an IRI or a prefix" in failed.err
    assert rlm("pack", "export", str(tmp_path / "new.jsonl"), "--db", other).code == 2
    assert contents(tmp_path) == before


def test_an_export_with_a_key_is_signed(rlm: Run, pack: str, db: str, tmp_path: Path) -> None:
    key = str(tmp_path / "ada.pem")
    rlm("pack", "keygen", key)
    rlm("pack", "sign", pack, "--key", key)
    told = rlm("pack", "export", pack, "--key", key, "--force", "--db", db)
    assert "signed         yes\n" in told.out and told.err == ""
    report = rlm("pack", "export", pack, "--key", key, "--force", "--db", db, "--json").json
    assert (report["signed"], report["signature_lost"]) == (True, False)


def test_an_export_over_a_manifest_that_cannot_be_read_replaces_it(
    rlm: Run, pack: str, db: str
) -> None:
    Path(pack).with_name("ours.manifest.json").write_text("{", "utf-8")
    report = rlm("pack", "export", pack, "--force", "--db", db, "--json").json
    assert (report["signed"], report["signature_lost"]) == (False, False)
    assert rlm("pack", "verify", pack).code == 0


def test_importing_again_says_what_is_in_the_archive(rlm: Run, pack: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other.db")
    assert "archive" not in rlm("pack", "import", pack, "--db", other).err
    rlm("memory", "review", "--reject", "all", "--db", other)
    again = rlm("pack", "import", pack, "--db", other)
    assert again.err == "left in the archive: 1; see `rlm memory list --archived --pack ours`\n"
    assert (
        len(rlm("memory", "list", "--archived", "--pack", "ours", "--db", other, "--json").json)
        == 1
    )


def test_verify_is_a_check_and_a_changed_pack_fails_it(
    rlm: Run, pack: str, tmp_path: Path, db: str
) -> None:
    assert rlm("pack", "verify", pack).code == 0
    file = Path(pack)
    file.write_bytes(file.read_bytes().replace(b"root", b"leaf"))
    failed = rlm("pack", "verify", pack, "--json")
    assert failed.code == 1 and failed.json["ok"] is False and failed.json["problem"]
    refused = rlm("pack", "import", pack, "--db", str(tmp_path / "other.db"))
    assert refused.code == 2 and refused.out == "" and "ours.jsonl" in refused.err


@pytest.mark.parametrize(
    "name",
    ["nowhere.jsonl", "no_such_pack_v1", ".", "empty.jsonl", f"ghp_{'aB3dE6gH9jK2' * 3}.jsonl"],
)
def test_a_pack_that_is_not_there_makes_no_store(
    rlm: Run, home: Path, tmp_path: Path, name: str
) -> None:
    other = tmp_path / "other.db"
    Path("empty.jsonl").touch()
    failed = rlm("pack", "import", name, "--db", str(other))
    assert (failed.code, failed.out) == (2, "") and "ghp_" not in failed.err
    assert not other.exists()


def test_rollback_takes_back_what_an_import_added(rlm: Run, pack: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other.db")
    rlm("pack", "import", pack, "--db", other, "--trust")
    assert "ours" in rlm("pack", "list", "--db", other).out
    report = rlm("pack", "rollback", "ours", "--db", other, "--json").json
    assert report["archived"] == 1 and rlm("memory", "list", "--db", other, "--json").json == []
    listed = rlm("pack", "list", "--db", other, "--json").json["imported"]
    assert listed[0]["rolled_back_at"] is not None
    assert rlm("pack", "rollback", "theirs", "--db", other).code == 1


def test_the_shipped_packs_are_listed_and_import_by_name(rlm: Run, db: str) -> None:
    shipped = rlm("pack", "list", "--db", db, "--json").json["shipped"]
    assert "core_v1" in shipped
    report = rlm("pack", "import", "core_v1", "--db", db, "--json").json
    assert report["trust"] == "trusted" and report["added"] == report["count"] > 0


def test_candidates_go_out_and_come_back_edited(
    rlm: Run, pack: str, db: str, tmp_path: Path
) -> None:
    file = tmp_path / "candidates.jsonl"
    assert rlm("pack", "candidates", str(file), "--db", db, "--json").json["count"] == 1
    file.write_text(
        file.read_text("utf-8").replace("Find the subclasses", "List the subclasses"), "utf-8"
    )
    assert (
        rlm("pack", "candidates", str(file), "--apply", "--db", db, "--json").json["changed"] == 1
    )
    assert [item["title"] for item in rlm("memory", "list", "--db", db, "--json").json] == [
        "List the subclasses"
    ]


@pytest.mark.req("RB-11")
def test_an_import_of_candidates_says_how_to_bring_them_back(
    rlm: Run, add: Callable[..., str], db: str, tmp_path: Path
) -> None:
    """It is no pack: that would be a copy in quarantine. Nor may a mark in a file change what is
    trusted here."""
    add("Find the subclasses", "First start at the root.")
    file = tmp_path / "my candidates.jsonl"
    told = rlm("pack", "candidates", str(file), "--db", db).err
    command = ("pack", "candidates", str(file), "--apply", "--db", db)
    assert f"`rlm {shlex.join(command)}`" in told
    file.write_text(
        file.read_text("utf-8").replace("Find the subclasses", "List the subclasses"), "utf-8"
    )
    for more in ((), ("--trust",)):
        refused = rlm("pack", "import", str(file), "--db", db, *more)
        assert (refused.code, refused.out) == (
            2,
            "",
        ) and f"`rlm {shlex.join(command)}`" in refused.err
    assert [item["title"] for item in rlm("memory", "list", "--db", db, "--json").json] == [
        "Find the subclasses"
    ]
    assert rlm(*command).code == 0
    assert [item["title"] for item in rlm("memory", "list", "--db", db, "--json").json] == [
        "List the subclasses"
    ]
    other = str(tmp_path / "other.db")
    assert rlm("pack", "candidates", str(file), "--force", "--db", db).code == 0
    renamed = file.rename(tmp_path / "theirs.jsonl")
    assert (
        rlm("pack", "import", str(renamed), "--db", other, "--json").json["trust"] == "quarantined"
    )


def test_what_a_reviewed_file_does_not_mention_is_told(
    rlm: Run, add: Callable[..., str], db: str, tmp_path: Path
) -> None:
    add("Find the subclasses", "First start at the root.")
    add("Find the leaves", "First start at the root.")
    file = tmp_path / "candidates.jsonl"
    rlm("pack", "candidates", str(file), "--db", db)
    file.write_text(file.read_text("utf-8").splitlines(keepends=True)[0], "utf-8")
    done = rlm("pack", "candidates", str(file), "--apply", "--db", db)
    assert (
        done.err
        == "left as they are: 1 that the file does not mention; `rlm memory rm ID` archives one\n"
    )
    assert len(rlm("memory", "list", "--db", db, "--json").json) == 2


def test_candidates_applied_twice_keep_the_level(
    rlm: Run, add: Callable[..., str], db: str, tmp_path: Path
) -> None:
    add("Find the subclasses", "First start at the root.", "--level", "org")
    file = tmp_path / "candidates.jsonl"
    rlm("pack", "candidates", str(file), "--db", db)
    file.write_text(
        file.read_text("utf-8").replace("Find the subclasses", "List the subclasses"), "utf-8"
    )
    assert (
        rlm("pack", "candidates", str(file), "--apply", "--db", db, "--json").json["changed"] == 1
    )
    again = rlm("pack", "candidates", str(file), "--apply", "--db", db, "--json")
    assert again.json == {"changed": 0, "added": 0, "unchanged": 1, "not_mentioned": 0}
    items = rlm("memory", "list", "--db", db, "--json").json
    assert [(item["title"], item["level"]) for item in items] == [("List the subclasses", "org")]


def test_a_hand_written_pack_can_be_sealed_and_signed(rlm: Run, tmp_path: Path) -> None:
    file, key = tmp_path / "hand.jsonl", str(tmp_path / "k.pem")
    file.write_text('{"title":"Read first","content":"Then write."}\n', "utf-8")
    rlm("pack", "keygen", key)
    assert rlm("pack", "sign", str(file), "--key", key).code == 2
    assert rlm("pack", "sign", str(file), "--key", key, "--seal").code == 0
    assert rlm("pack", "verify", str(file), "--json").json["manifest"] is True


def test_export_says_what_it_left_out(
    rlm: Run, add: Callable[..., str], db: str, tmp_path: Path
) -> None:
    left = add("Ask DBpedia", "See http://dbpedia.org/ontology/Person first.")
    add(
        "Find the subclasses",
        "First start at the root, then follow the links.",
        "--tag",
        "universal",
    )
    done = rlm("pack", "export", str(tmp_path / "one.jsonl"), "--db", db)
    assert done.code == 0
    assert done.err == f"left out 1: it names an IRI or a prefix\n  {left}  Ask DBpedia\n"
    assert rlm("pack", "export", str(tmp_path / "none.txt"), "--db", db).code == 2


def test_paths_of_this_machine_and_claims_of_agents_stay_here(
    rlm: Run, add: Callable[..., str], db: str, home: Path, tmp_path: Path
) -> None:
    add("Read the notes first", f"Always read {home}/secret/notes.md before you start.")
    add("Mind the other desk", "First look at /home/grace/plans.txt, then begin.")
    with open_store(db, embedder="none", origin="mcp") as store:
        claimed = (
            MemoryManager(store).record("Cache is Redis", "First ask Redis, then the file.").id
        )
    with open_store(db, embedder="none", origin="distiller") as store:
        content = f"“Always use tabs.”\nIn answer to: “ok”\nThen changed: {home}/src/a.py, b.py"
        store.add(MemoryItem("Always use tabs.", "Always use tabs.", content, source_type="human"))
    file = tmp_path / "one.jsonl"
    done = rlm("pack", "export", str(file), "--db", db)
    assert done.code == 0, done.err
    shared = file.read_text("utf-8")
    assert shared.count("\n") == 1 and "Always use tabs" in shared and "In answer to" in shared
    assert str(home) not in shared and "changed" not in shared
    assert "left out 2: it names a path of this machine\n" in done.err
    assert "  Mind the other desk\n" in done.err and f"  {claimed}  Cache is Redis\n" in done.err
    rlm("memory", "feedback", claimed, "--helpful", "--db", db)
    assert rlm("pack", "export", str(file), "--db", db, "--force", "--json").json["count"] == 2


def test_what_came_from_a_pack_is_not_exported_as_ones_own(
    rlm: Run, add: Callable[..., str], db: str, tmp_path: Path
) -> None:
    add(
        "Find the subclasses",
        "First start at the root, then follow the links.",
        "--tag",
        "universal",
    )
    shipped = rlm("pack", "import", "core_v1", "--db", db, "--json").json["added"]
    file = str(tmp_path / "mine.jsonl")
    mine = rlm("pack", "export", file, "--db", db)
    assert f"left out {shipped}: it came from a pack (--all takes it too)\n" in mine.err
    assert rlm("pack", "verify", file, "--json").json["count"] == 1
    assert (
        rlm("pack", "export", file, "--db", db, "--all", "--force", "--json").json["count"]
        == 1 + shipped
    )


def test_a_key_may_be_in_the_home(rlm: Run, add: Callable[..., str], db: str, home: Path) -> None:
    """A shell leaves `--key=~/team.pem` as it is."""
    add()
    assert rlm("pack", "keygen", "~/team.pem").code == 0 and (home / "team.pem").is_file()
    line = ("pack", "export", "team.jsonl", "--threshold=0", "--key=~/team.pem", "--db", db)
    assert rlm(*line, "--json").json["signed"] is True
