"""What is fit to ship."""

from __future__ import annotations

from pathlib import Path

import pytest
from pack_making import memories, memory, pack_bytes, store

from rlm import open_store
from rlm.errors import PackError
from rlm.packs import export_pack, score_generalization
from rlm.packs.select import candidates
from rlm.store.generality import hardcoded_term
from rlm.store.types import Judgment, MemoryItem, Run, Scope, Tenant, Trajectory

PLAIN = "The sky was blue that day."
STEPS = "- search the label\n- then describe it"


def titles(path: Path) -> set[str]:
    import json

    return {json.loads(text)["title"] for text in path.read_text().splitlines()}


@pytest.mark.req("RB-10")
@pytest.mark.parametrize(
    ("content", "tags", "score"),
    [
        (PLAIN, [], 0.5),
        (STEPS, [], 0.7),
        (PLAIN, ["universal"], 0.8),
        (STEPS, ["universal"], 1.0),
        (f"{PLAIN} http://example.org/x", [], 0.2),
        (f"{STEPS} of prov:Activity", [], 0.4),
        (f"{STEPS} of prov:Activity", ["universal"], 0.7),
    ],
)
def test_the_score(content: str, tags: list[str], score: float) -> None:
    item = MemoryItem("Some title", "A blue day.", content, tags=tags)
    assert score_generalization(item) == score


@pytest.mark.req("RB-10", "PM-11")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see http://www.w3.org/ns/prov#Activity now", "http://www.w3.org/ns/prov#Activity"),
        ("<urn:example:thing>", "urn:example:thing"),
        ("PREFIX ex: <", "PREFIX ex: <"),
        ("@prefix sio: <", "@prefix sio: <"),
        ("use `prov:Activity`", "prov:Activity"),
        ("obo:GO_0008150", "obo:GO_0008150"),
        ("use rdfs:label and skos:prefLabel", None),
        ("rdf:type, then owl:Class", None),
        ("cut it as items[start:stop]", None),
        ("Steps: first, then", None),
        ("call std::move(x) at 12:30", None),
        ("f(key:value)", "key:value"),
    ],
)
def test_hard_coded_names(text: str, found: str | None) -> None:
    assert hardcoded_term(text) == found


@pytest.mark.req("RB-10")
def test_sources_and_judgments_decide(tmp_path: Path) -> None:
    with store(tmp_path / "m.db") as db:
        for number, (confidence, source) in enumerate(
            [("high", "failure"), ("low", "failure"), ("low", "success")]
        ):
            trajectory = Trajectory("a task", trajectory_id=f"t-{number}")
            db.save_artifacts(
                Run(),
                trajectory,
                Judgment(is_success=source == "success", reason="r", confidence=confidence),
                memories=[
                    memory(
                        f"{source} judged {confidence}",
                        STEPS,
                        source_type=source,
                        provenance={"trajectory_id": f"t-{number}"},
                    )
                ],
            )
        db.add(memory("failure without a run", STEPS, source_type="failure"))
        db.add(
            memory(
                "failure of an unknown run",
                STEPS,
                source_type="failure",
                provenance={"trajectory_id": "t-x"},
            )
        )
        db.add(
            memory(
                "odd provenance",
                STEPS,
                source_type="failure",
                provenance={"trajectory_id": ["t-0"]},
            )
        )
        db.add(memory("from a person", STEPS))
        report = export_pack(db, tmp_path / "p.jsonl")
    assert titles(tmp_path / "p.jsonl") == {
        "failure judged high",
        "success judged low",
        "from a person",
    }
    assert sum(report.left_out.values()) == 4


@pytest.mark.req("RB-10")
def test_a_universal_pack_names_no_iri_and_is_general(tmp_path: Path) -> None:
    with store(tmp_path / "m.db") as db:
        db.add(memory("Fit", STEPS, task_query="What is prov:Activity?"))
        db.add(memory("IRI in the text", f"{STEPS} at https://example.org/a", tags=["universal"]))
        db.add(memory("Prefix in the text", f"{STEPS} at prov:Activity", tags=["universal"]))
        db.add(memory("About one ontology", STEPS, scope=Scope("prov")))
        db.add(memory("Not transferable", STEPS, scope=Scope(transferable=False)))
        db.add(MemoryItem("Plain", "A blue day.", PLAIN))
        report = export_pack(db, tmp_path / "p.jsonl")
        text = (tmp_path / "p.jsonl").read_text()
        assert titles(tmp_path / "p.jsonl") == {"Fit"}
        assert report.kind == "universal" and "prov:" not in text
        assert report.left_out == {
            "it names an IRI or a prefix": 2,
            "it is about one ontology": 1,
            "its scope says that it is not transferable": 1,
            "it is not general enough": 1,
        }
        assert export_pack(db, tmp_path / "p.jsonl", threshold=0.5).count == 2


@pytest.mark.req("RB-10")
def test_an_ontologys_pack_takes_what_is_about_it(tmp_path: Path) -> None:
    with store(tmp_path / "m.db") as db:
        db.add(MemoryItem("Plain but ours", "d", f"{PLAIN} prov:Activity", scope=Scope("PROV")))
        db.add(memory("About another", STEPS, scope=Scope("sio")))
        db.add(memory("About all", STEPS))
        report = export_pack(db, tmp_path / "p.jsonl", ontology="prov")
    assert titles(tmp_path / "p.jsonl") == {"Plain but ours"}
    assert report.kind == "prov"


@pytest.mark.req("RB-10")
def test_one_memory_at_two_levels_ships_once_from_the_nearest(tmp_path: Path) -> None:
    with store(tmp_path / "m.db") as db:
        far, near = memory(level="org", tags=["far"]), memory(tags=["near"])
        db.add_many([far, near])
        assert export_pack(db, tmp_path / "p.jsonl").count == 1
    assert '"near"' in (tmp_path / "p.jsonl").read_text()


@pytest.mark.req("RB-10")
def test_archived_and_foreign_memories_stay_at_home(tmp_path: Path) -> None:
    with store(tmp_path / "m.db") as db:
        db.add_many(memories(2))
        db.delete(memories(1)[0].memory_id)
        assert export_pack(db, tmp_path / "p.jsonl").count == 1
    before = (tmp_path / "p.jsonl").read_bytes()
    with (
        store(tmp_path / "m.db", tenant=Tenant("other")) as db,
        pytest.raises(PackError, match="no memory is fit"),
    ):
        export_pack(db, tmp_path / "p.jsonl")
    assert (tmp_path / "p.jsonl").read_bytes() == before, "a pack is never replaced by nothing"


@pytest.mark.req("RB-10", "RB-12")
def test_what_no_reader_would_take_is_left_out(tmp_path: Path) -> None:
    deep: object = "x"
    for _ in range(9):
        deep = [deep]
    with store(tmp_path / "m.db") as db:
        db.add(memory("Deep", STEPS, provenance={"x": deep}))
        db.add(memory("Fine", STEPS))
        report = export_pack(db, tmp_path / "p.jsonl")
    assert titles(tmp_path / "p.jsonl") == {"Fine"}
    assert any("nested" in reason for reason in report.left_out)


@pytest.mark.req("RB-10")
def test_exporting_does_not_touch_the_store(tmp_path: Path) -> None:
    with store(tmp_path / "m.db") as db:
        db.add_many(memories(3))
        writes = db.db.writes
        export_pack(db, tmp_path / "p.jsonl")
        assert candidates(db)[0]
        assert db.db.writes == writes
    assert (tmp_path / "p.jsonl").read_bytes() == pack_bytes(memories(3))


def test_what_a_session_taught_is_shared_without_the_rest_of_the_session(tmp_path: Path) -> None:
    with open_store(tmp_path / "m.db", origin="distiller") as db:
        noted = {"kind": "procedure", "turn": 3, "turn_node": "n-1", "repo": "/home/me/secret-shop"}
        asked = "Bob wrote: the shop in Oslo closes"
        item = MemoryItem("Find a term by its label", "Names that are not IRIs.", STEPS)
        item.source_type, item.task_query, item.session_id = "human", asked, "s-1"
        item.provenance, item.tags = noted, ["universal"]
        db.add(item)
        assert export_pack(db, tmp_path / "p.jsonl").count == 1
    shared = (tmp_path / "p.jsonl").read_text("utf-8")
    assert not any(word in shared for word in ("Bob", "s-1", "n-1", "secret-shop"))
