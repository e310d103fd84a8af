"""The packs that ship: sound, general where they claim to be, and never stale."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from pack_making import store

from rlm.context import is_shown_whole
from rlm.packs import (
    bootstrap_general_strategies,
    export_pack,
    import_pack,
    shipped_packs,
    validate_bootstrap,
    verify_pack,
)
from rlm.packs.format import PackReader, item_of
from rlm.store.jsonfile import MemoryStore
from rlm.store.types import MemoryItem, Scope

ROOT = Path(__file__).resolve().parents[2]
TITLES = {
    "Describe Entity by Label",
    "Find Subclasses Using GraphMeta",
    "Find Superclasses Using GraphMeta",
    "Find Properties by Domain/Range",
    "Pattern-Based Entity Search",
    "Find Relationship Path Between Entities",
    "Navigate Class Hierarchy from Roots",
}


@pytest.mark.req("RB-13")
def test_both_packs_are_there_and_sound() -> None:
    assert set(shipped_packs()) == {"core_v1", "prov_v1"}
    for name, kind, count in (("core_v1", "universal", 7), ("prov_v1", "universal", 19)):
        report = verify_pack(name)
        assert report.ok, report.problem
        assert (report.kind, report.count, report.trust, report.shipped) == (
            kind,
            count,
            "trusted",
            name,
        )


@pytest.mark.req("PM-10")
def test_the_seven_general_strategies() -> None:
    strategies = bootstrap_general_strategies()
    assert {item.title for item in strategies} == TITLES
    for item in strategies:
        assert 3 <= item.content.count("\n") + 1 <= 5
        assert all(text.startswith("- ") for text in item.content.splitlines())
        assert item.scope.task_types and item.scope.ontology is None and item.scope.transferable


@pytest.mark.req("PM-10")
def test_they_go_into_any_store_and_are_found(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "m.json") as db:
        for strategy in bootstrap_general_strategies():
            db.add(strategy)
        assert len(db.memories) == 7
    with store(tmp_path / "m.db") as db:
        import_pack("core_v1", db)
        assert (
            db.retrieve("find all subclasses of Activity", 1)[0].item.title
            == "Find Subclasses Using GraphMeta"
        )
        assert db.add_many(bootstrap_general_strategies()) and db.stats()["memories"] == 7


@pytest.mark.req("PM-11")
def test_they_are_valid() -> None:
    result = validate_bootstrap(bootstrap_general_strategies())
    assert result["valid"] and all(check["ok"] for check in result["checks"].values())


@pytest.mark.req("PM-11")
@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (lambda items: items[:-1], "count"),
        (lambda items: [*items[:-1], "no memory"], "types"),
        (lambda items: [*items[:-1], replace(items[0], title="w " * 12)], "types"),
        (lambda items: [*items[:-1], replace(items[0], content="- other")], "unique_titles"),
        (lambda items: [*items[:-1], replace(items[-1], tags=["x"])], "universal_tag"),
        (
            lambda items: [*items[:-1], replace(items[-1], content="- ask prov:Agent")],
            "no_ontology_iris",
        ),
        (
            lambda items: [*items[:-1], replace(items[-1], content="- http://x.org/y")],
            "no_ontology_iris",
        ),
    ],
)
def test_what_is_not_valid_is_named(broken, check: str) -> None:  # type: ignore[no-untyped-def]
    result = validate_bootstrap(broken(bootstrap_general_strategies()))
    assert not result["valid"]
    assert [name for name, one in result["checks"].items() if not one["ok"]] == [check]


@pytest.mark.req("RB-02", "RB-13")
def test_what_training_taught_is_found_by_the_kind_of_task(tmp_path: Path) -> None:
    with store(tmp_path / "m.db") as db:
        import_pack("prov_v1", db)
        import_pack("core_v1", db)
        taught = db.list_items(provenance={"curriculum_id": "prov_curriculum_v1"})
        assert len(taught) == 19 and all(
            item.scope.transferable and item.scope.ontology is None for item in taught
        )
        found = db.retrieve(
            "Which classes are below Vessel?", 1, scope=Scope("harbour", ("all_subclasses",))
        )
        assert found[0].item.title == "Find all subclasses of a class"


def test_a_prompt_has_room_for_all_of_a_shipped_procedure() -> None:
    for path in shipped_packs().values():
        assert all(is_shown_whole(item_of(record)) for _, record in PackReader(path))


@pytest.mark.req("RB-06", "RB-12")
@pytest.mark.parametrize("name", ["core_v1", "prov_v1"])
def test_exporting_a_shipped_pack_gives_it_back(tmp_path: Path, name: str) -> None:
    with store(tmp_path / "m.db") as db:
        import_pack(name, db)
        export_pack(db, tmp_path / f"{name}.jsonl")
    assert (tmp_path / f"{name}.jsonl").read_bytes() == shipped_packs()[name].read_bytes()


@pytest.mark.req("PM-10", "RB-13")
@pytest.mark.parametrize("all_of_it", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_files_are_what_their_source_gives(all_of_it: bool) -> None:
    """All of it trains anew, which takes some ten seconds."""
    command = [
        sys.executable,
        str(ROOT / "tools" / "make_packs.py"),
        "--check",
        *([] if all_of_it else ["--core"]),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.req("PM-11")
def test_anything_can_be_validated() -> None:
    odd = MemoryItem("T", "d", "c")
    odd.tags = None  # type: ignore[assignment]
    assert not validate_bootstrap([odd, None, 3])["valid"]
