"""`rlm memory train`: a summary, resume, and errors before anything is made."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_running import Run

from rlm import open_store

pytestmark = pytest.mark.req("RB-09")


def test_a_curriculum_is_learnt_once_and_summed_up(
    rlm: Run, db: str, lesson: Path, tmp_path: Path
) -> None:
    line = ("memory", "train", "--db", db, "--curriculum", str(lesson), "--model", "offline")
    done = rlm(*line, "--log-dir", str(tmp_path / "logs"))
    assert done.code == 0, done.err
    heads, row = [text.split("\t") for text in done.out.splitlines()]
    assert heads[:4] == ["kind", "tasks", "done before", "right"]
    assert row[:4] == ["subclasses", "2", "", "2/2"] and int(row[5]) >= 1
    assert "1/2 boats-sub-01: right in" in done.err and "2/2 boats-sub-02: right in" in done.err
    assert len(list((tmp_path / "logs").glob("*.jsonl"))) == 2
    again = rlm(*line, "--json")
    assert again.err == "" and [each["earlier"] for each in again.json["outcomes"]] == [True, True]
    assert again.json["all"]["successes"] == 2 and again.json["stopped"] == ""


def test_a_task_may_spend_so_much(rlm: Run, db: str, lesson: Path) -> None:
    line = ("--curriculum", str(lesson), "--model", "offline", "--max-iters", "1", "--json")
    trained = rlm("memory", "train", "--db", db, *line).json["outcomes"]
    assert [(each["success"], each["steps"]) for each in trained] == [(False, 1), (False, 1)]
    measured = rlm("eval", *line, "--arms", "off").json["runs"]
    assert (
        measured
        and not any(run["success"] for run in measured)
        and {run["steps"] for run in measured} == {1}
    )


def spoilt(lesson: Path, old: str, new: str) -> Path:
    text = lesson.read_text("utf-8")
    assert old in text
    lesson.write_text(text.replace(old, new), "utf-8")
    return lesson


@pytest.mark.req("RB-08")
@pytest.mark.parametrize(
    ("old", "new", "more", "words"),
    [
        ("tags:", "tagz:", (), ("boats_v1.yaml:6", "tagz", "tags")),
        ("boats.ttl", "missing.ttl", (), ("missing.ttl",)),
        (
            "SELECT ?c WHERE { ?c rdfs:subClassOf ex:Boat }",
            "SELECT nothing",
            (),
            ("boats_v1.yaml:7", "sparql"),
        ),
        (
            "rdfs:subClassOf ex:Boat",
            "rdfs:subClasOf ex:Boat",
            (),
            ("boats_v1.yaml:7", "rdfs:subClasOf occurs nowhere"),
        ),
        ("id:", "id:", ("--model", "nonsense"), ("nonsense", "names no provider")),
        ("id:", "id:", ("--scaling", "wide:3"), ("wide:3", "parallel:K")),
        ("id:", "id:", ("--log-dir", "/dev/full"), ("/dev/full", "logs cannot be written")),
    ],
    ids=["typo", "ontology", "verify", "term", "model", "scaling", "logs"],
)
def test_bad_input_is_one_line_and_no_store_is_made(
    rlm: Run,
    db: str,
    lesson: Path,
    old: str,
    new: str,
    more: tuple[str, ...],
    words: tuple[str, ...],
) -> None:
    done = rlm("memory", "train", "--db", db, "--curriculum", str(spoilt(lesson, old, new)), *more)
    assert done.code == 2 and done.out == "" and done.err.count("\n") == 1
    assert all(word in done.err for word in words), done.err
    assert not Path(db).exists()


def test_a_curriculum_must_be_named(rlm: Run, db: str, tmp_path: Path) -> None:
    assert "--curriculum" in rlm("memory", "train", "--db", db).err
    missing = rlm("memory", "train", "--db", db, "--curriculum", str(tmp_path / "none.yaml"))
    assert missing.code == 2 and "none.yaml" in missing.err and not Path(db).exists()


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on_and_kill_loses_nothing_that_was_done(
    db: str, lesson: Path, home: Path
) -> None:
    tasks = "".join(
        f'  - id: more-{n}\n    query: "Which classes are direct subclasses of Boat? ({n})"\n   '
        " tags: [subclasses]\n"
        for n in range(12)
    )
    lesson.write_text(lesson.read_text("utf-8") + tasks, "utf-8")
    line = [
        sys.executable,
        "-m",
        "rlm",
        "memory",
        "train",
        "--db",
        db,
        "--curriculum",
        str(lesson),
        "--model",
        "offline",
    ]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = 0
    for number, code in ((signal.SIGINT, 130), (signal.SIGKILL, -9)):
        with subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
        ) as process:
            assert process.stderr is not None
            first, second = process.stderr.readline(), process.stderr.readline()
            process.send_signal(number)
            rest = process.stderr.read()
        assert process.returncode == code, rest
        assert int(first.split("/")[0]) == done + 1, "it goes on where it was"
        assert "Traceback" not in rest
        if number == signal.SIGINT:
            assert "the same options, continues where it was" in rest
        with open_store(db, embedder="none") as store:
            kept = [row for row in store.learning_rows() if row.reason != "interrupted"]
        assert len(kept) >= done + 2, (first, second)
        done = len(kept)
    left = subprocess.run(
        [*line, "--json"], capture_output=True, text=True, env=env, check=True, timeout=300
    )
    outcomes = json.loads(left.stdout)["outcomes"]
    assert len(outcomes) == 14 and sum(each["earlier"] for each in outcomes) == done
