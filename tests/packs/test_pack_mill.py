"""Large imports are done by several processes: the same result, the same errors, and nobody left
behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rlm.errors import PackError, RLMError
from rlm.packs import export_pack, import_pack, mill
from rlm.packs.mill import WORTH_BYTES, Mill, workers_for
from rlm.retrieval.embed import kind_of
from rlm.retrieval.static import StaticEmbedder
from rlm.store.gate import RECALLED_HEADING
from rlm.store.open import open_store
from rlm.store.sqlite import integrity
from rlm.store.types import MemoryItem, Tenant

LINES = 2_000


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A pack that is large enough for workers."""
    folder = tmp_path_factory.mktemp("big")
    words = "alpha beta gamma delta epsilon zeta eta theta iota kappa " * 16
    with open_store(folder / "source.db", embedder="none") as db:
        db.add_many(
            MemoryItem(
                title=f"Step {n} of many",
                description=f"about {n}",
                content=f"{n}: {words}",
                tags=[f"t{n % 7}"],
            )
            for n in range(LINES)
        )
        export_pack(db, folder / "big_v1.jsonl", name="big_v1", threshold=0.0)
    assert (folder / "big_v1.jsonl").stat().st_size > WORTH_BYTES, (
        "else nobody would start workers for it"
    )
    return folder / "big_v1.jsonl"


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def children():
    """Our child processes, zombies too."""
    try:
        return os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None


@needs_fork
def test_workers_and_one_process_give_the_same_store(big, tmp_path):
    """The same rows, vectors too, the same answers and the same pack; also as adding each memory by
    itself."""
    from rlm.packs.format import PackReader, item_of

    columns = (
        "memory_id, title, description, content, tags_json, grams, scope_words, confidence,"
        " embedding"
    )
    stores = []
    for name, workers in (("milled", 2), ("plain", 0), ("added", None)):
        with open_store(tmp_path / f"{name}.db") as db:
            if workers is None:
                db.add_many(item_of(record) for _, record in PackReader(big))
            else:
                report = import_pack(big, db, trust=True, workers=workers)
                assert (report.count, report.added) == (LINES, LINES)
                assert all(check.ok for check in integrity.check_all(db.db, fts5=True))
                assert db.retrieve("step 1210 of many", k=1)[0].item.title == "Step 1210 of many"
                export_pack(db, tmp_path / f"{name}_v1.jsonl", name="same_v1", threshold=0.0)
            found = [[(h.item.memory_id, round(h.why.similarity, 5)) for h in db.retrieve(q, k=5, explain=True)]
                     for q in (f"step {n} epsilon" for n in (5, 800, LINES - 1))]  # fmt: skip
            stores.append(
                (db.db.rows(f"SELECT {columns} FROM memory_items ORDER BY memory_id"), found)
            )
    assert stores[0] == stores[1] == stores[2]
    assert (tmp_path / "milled_v1.jsonl").read_bytes() == (tmp_path / "plain_v1.jsonl").read_bytes()
    assert children() is None


@needs_fork
def test_importing_again_adds_nothing_and_quarantine_holds(big, tmp_path):
    with open_store(tmp_path / "m.db", embedder="none") as db:
        assert import_pack(big, db, workers=2).trust == "quarantined"
        assert db.retrieve("step 5 of many") == []
        assert db.stats()["quarantined"] == LINES
        assert import_pack(big, db, trust=True, workers=2).added == LINES, (
            "better trust lifts what a pack left in quarantine"
        )
        assert db.stats()["quarantined"] == 0
        assert import_pack(big, db, trust=True, workers=2).added == 0
        assert db.stats()["memories"] == LINES
        assert db.retrieve("step 5 of many")


@needs_fork
@pytest.mark.parametrize("workers", [1, 2])
def test_one_memory_that_the_gate_holds_back_takes_none_with_it(big, tmp_path, workers):
    lines = big.read_bytes().splitlines(keepends=True)
    record = {"title": "Recalled", "content": f"{RECALLED_HEADING} and more"}
    lines.insert(
        1_100, json.dumps(record).encode() + b"\n"
    )  # not among the first that a worker looks at together
    mixed = tmp_path / "mixed_v1.jsonl"
    mixed.write_bytes(b"".join(lines))
    with open_store(tmp_path / "m.db", embedder="none") as db:
        assert import_pack(mixed, db, trust=True, workers=workers).added == LINES + 1
        stats = db.stats()
        assert (stats["memories"], stats["quarantined"]) == (LINES + 1, 1)
        assert all(check.ok for check in integrity.check_all(db.db, fts5=True))
        assert db.retrieve("step 1210 of many", k=1)[0].item.title == "Step 1210 of many"


@needs_fork
@pytest.mark.parametrize("where", [3, 1_900])
def test_an_error_in_a_worker_names_its_line_and_leaves_nothing(big, tmp_path, where):
    lines = big.read_bytes().splitlines(keepends=True)
    lines[where - 1] = lines[where - 1].replace(b'"title":"Step', b'"title":"Stop')
    bad = tmp_path / "bad_v1.jsonl"
    bad.write_bytes(b"".join(lines))
    with open_store(tmp_path / "m.db", embedder="none") as db:
        with pytest.raises(
            PackError, match=rf"bad_v1\.jsonl:{where}: .*sha256 does not match"
        ) as caught:
            import_pack(bad, db, trust=True, workers=2)
        assert caught.value.line == where
        assert db.stats()["memories"] == 0
    assert children() is None


@needs_fork
def test_an_id_that_is_there_twice_is_found_across_bundles(big, tmp_path):
    lines = big.read_bytes().splitlines(keepends=True)
    bad = tmp_path / "twice_v1.jsonl"
    bad.write_bytes(b"".join([*lines, lines[0]]))
    with open_store(tmp_path / "m.db", embedder="none") as db:
        with pytest.raises(
            PackError,
            match=rf"twice_v1\.jsonl:{LINES + 1}: memory_id \w+ is there twice: delete one",
        ):
            import_pack(bad, db, trust=True, workers=2)
        assert db.stats()["memories"] == 0


def test_results_come_back_in_order():
    def slow_first(frame):
        time.sleep(0.05 if frame == b"0" else 0)
        return frame * 2

    with Mill.forked(slow_first, 2) as mill:
        assert list(mill.map(str(n).encode() for n in range(9))) == [
            str(n).encode() * 2 for n in range(9)
        ]
    assert children() is None


def test_large_frames_both_ways():
    with Mill.forked(lambda frame: frame[::-1], 2) as mill:
        frames = [bytes([n]) * 3_000_000 for n in range(5)]
        assert list(mill.map(frames)) == frames


def test_a_bug_in_a_worker_is_an_error_here():
    with (
        Mill.forked(lambda frame: 1 // 0, 1) as mill,
        pytest.raises(RLMError, match="ZeroDivisionError"),
    ):
        list(mill.map([b"x"]))
    assert children() is None


def test_a_killed_worker_is_an_error_here_and_not_a_wait():
    def die(frame):
        os.kill(os.getpid(), signal.SIGKILL)
        return frame

    with (
        Mill.forked(die, 2) as mill,
        pytest.raises(RLMError, match="worker process of the import died"),
    ):
        list(mill.map([b"a", b"b", b"c"]))
    assert children() is None


def test_leaving_early_ends_the_workers():
    with Mill.forked(lambda frame: frame, 2) as mill:
        next(mill.map(iter([b"a", b"b", b"c"])))
    assert children() is None


def test_small_packs_need_no_workers():
    assert workers_for(WORTH_BYTES - 1) == 0


@pytest.fixture
def threaded(monkeypatch):
    """A process that must not fork, and in which also a small pack is worth starting workers for."""
    monkeypatch.setattr(mill, "SPAWN_BYTES", 1)
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    yield
    over.set()
    other.join()


@pytest.fixture
def started(monkeypatch):
    """The workers that are started, as they were when they took their job."""
    seen = []
    real = subprocess.Popen

    def popen(*args, **keywords):
        seen.append(real(*args, **keywords))
        return seen[-1]

    monkeypatch.setattr(subprocess, "Popen", popen)
    return seen


needs_cores = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core needs no workers")


@needs_cores
def test_beside_other_threads_workers_are_started_and_give_the_same_store(
    big, tmp_path, threaded, started
):
    columns = (
        "memory_id, title, description, content, tags_json, grams, scope_words, confidence,"
        " embedding, origin"
    )
    stores = []
    for name, workers in (("started", None), ("plain", 0)):
        with open_store(tmp_path / f"{name}.db", tenant=Tenant("acme", "r&d", "Größe")) as db:
            report = import_pack(big, db, trust=True, workers=workers, level="team")
            assert (report.count, report.added, report.trust) == (LINES, LINES, "trusted")
            assert all(check.ok for check in integrity.check_all(db.db, fts5=True))
            stores.append(db.db.rows(f"SELECT {columns} FROM memory_items ORDER BY memory_id"))
    assert stores[0] == stores[1] and {row[-1] for row in stores[0]} == {"pack:big_v1"}
    assert len(started) >= 2 and all(worker.returncode == 0 for worker in started)


@needs_cores
def test_an_error_in_a_worker_that_was_started_names_its_line(
    big, tmp_path, threaded, started, monkeypatch
):
    lines = big.read_bytes().splitlines(keepends=True)
    lines[1_900] = b'{"title": "no end"\n'
    (tmp_path / "bad_v1.jsonl").write_bytes(b"".join(lines))
    monkeypatch.chdir(tmp_path)
    with open_store("m.db") as db:
        with pytest.raises(PackError, match=r"^bad_v1\.jsonl:1901: ") as caught:
            import_pack("bad_v1.jsonl", db)
        assert caught.value.line == 1_901 and db.stats()["memories"] == 0
    assert started and all(worker.returncode is not None for worker in started)


@needs_cores
@pytest.mark.parametrize("program", ["", "exit 1", "exec cat", "exec sleep 20"])
def test_where_no_worker_starts_the_import_does_without(
    big, tmp_path, threaded, started, monkeypatch, program
):
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\n{program}\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script) if program else "")
    monkeypatch.setattr(mill, "START_S", 0.5)
    with open_store(tmp_path / "m.db", embedder="none") as db:
        assert import_pack(big, db, trust=True).added == LINES
    assert all(worker.returncode is not None for worker in started)
    if "sleep" in program:
        assert {worker.returncode for worker in started} == {-signal.SIGKILL}, "nobody waits for it"


def test_what_a_word_does_not_say_is_not_told_to_a_worker():
    assert kind_of(None) == "none" and kind_of(StaticEmbedder()) == "static"
    assert kind_of(StaticEmbedder(Path("elsewhere"))) is None and kind_of(object()) is None
