"""`rlm queue` and `rlm worker`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from cli_running import Run

from rlm import clock, open_store
from rlm import hook as rlm_hook

TURNS = (
    ("user", "Look at the invoices"),
    ("assistant", "Should they be rounded per line or in total?"),
    ("user", "Per line, never in total."),
)


def transcript(folder: Path, name: str = "abc", turns: tuple[tuple[str, str], ...] = TURNS) -> Path:
    path = folder / f"{name}.jsonl"
    lines = (
        {"role": role, "message": {"content": [{"type": "text", "text": text}]}}
        for role, text in turns
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.req("CX-06")
def test_a_transcript_is_queued_distilled_and_found(rlm: Run, db: str, tmp_path: Path) -> None:
    path = transcript(tmp_path)
    assert rlm("queue", "add", str(path), "--db", db).out == "1\n"
    [job] = rlm("queue", "list", "--db", db, "--json").json
    assert (job["state"], job["agent"], job["session_id"]) == ("ready", "cursor", "abc")
    done = rlm("worker", "--once", "--db", db)
    assert done.code == 0, done.err
    assert "1 session distilled: 3 turns, 1 decision, 0 procedures" in done.out
    hits = rlm("memory", "search", "rounding of invoices", "--db", db, "--json").json
    assert "Per line, never in total." in json.dumps(hits)
    turn = next(hit for hit in hits if hit["kind"] == "turn")
    told = rlm("memory", "why", "rounding of invoices", "--db", db).out
    assert f"; {turn['score']:.3f} beside the other hits" in told
    assert "3 turns, 1 decision, 0 procedures" in rlm("queue", "list", "--db", db).out
    again = rlm("worker", "--db", db, "--json").json
    assert again["distilled"] == 0


@pytest.mark.parametrize("verb", ["accept", "refuse"])
def test_a_person_decides_whether_a_decision_is_superseded(
    rlm: Run, db: str, tmp_path: Path, verb: str
) -> None:
    said = (
        "The exporter should write CSV files with a header line.",
        "Actually the exporter should write parquet files.",
    )
    for number, text in enumerate(said):
        turns = (("user", "Look at the code."), ("assistant", "I see."), ("user", text))
        rlm("queue", "add", str(transcript(tmp_path, f"s{number}", turns)), "--db", db)
        made = rlm("worker", "--once", "--db", db)
    assert ", 1 proposed" in made.out and "1 proposed: `rlm memory review` shows it" in made.err
    newer, older = (each["memory_id"] for each in rlm("memory", "list", "--db", db, "--json").json)
    told = rlm("memory", "why", newer, "--db", db).out
    hint = "(`rlm memory review --accept ID` if so, else --refuse ID)"
    assert f"may supersede {hint}\n  {older}  about the same" in told
    assert "may supersede" not in rlm("memory", "why", older, "--db", db).out
    [waiting] = rlm("memory", "review", "--db", db, "--json").json
    assert (waiting["memory_id"], waiting["superseded_by"]) == (older, newer)
    file = tmp_path / "more.jsonl"
    file.write_text(json.dumps({"title": "Prune the roses", "content": "In March."}))
    rlm("memory", "import", str(file), "--db", db)
    [held, shown] = rlm("memory", "review", "--limit", "1", "--db", db, "--json").json
    assert held["title"] == "Prune the roses", "what is in quarantine leaves room for proposals"
    assert shown == waiting
    waits = "review   1 in quarantine, 1 proposed: `rlm memory review`\n"
    assert waits in rlm("doctor", "--db", db).out
    rlm("memory", "review", "--reject", held["memory_id"], "--db", db)
    listed = rlm("memory", "review", "--db", db)
    assert f"superseded by {newer} (" in listed.out and "--accept ID" in listed.err
    done = rlm("memory", "review", f"--{verb}", older[:6], "--db", db)
    assert done.out == f"{'accepted' if verb == 'accept' else 'refused'}\t{older}\n"
    back = f"{older} went to the archive: `rlm memory restore {older}` brings it back\n"
    assert done.err == (back if verb == "accept" else "")
    assert "review   " not in rlm("doctor", "--db", db).out
    assert rlm("memory", "review", "--db", db, "--json").json == []
    live = [each["memory_id"] for each in rlm("memory", "list", "--db", db, "--json").json]
    told = rlm("memory", "why", newer, "--db", db).out
    assert "may supersede" not in told
    if verb == "refuse":
        assert live == [newer, older]
        return
    assert live == [newer] and f"supersedes\n  {older}" in told
    assert "accepted by ada" in json.dumps(rlm("memory", "show", older, "--db", db, "--json").json)
    assert rlm("memory", "restore", older, "--db", db).code == 0
    again = rlm("memory", "review", "--accept", older, "--db", db)
    assert again.code == 1 and "nothing is proposed about" in again.err


def test_a_decision_that_was_brought_back_is_no_longer_called_superseded(
    rlm: Run, db: str, tmp_path: Path
) -> None:
    for number, when in enumerate(("before", "after")):
        text = f"We decided: the threshold applies {when} merging."
        turns = (("user", "Look at the code."), ("assistant", "I see."), ("user", text))
        path = transcript(tmp_path, f"s{number}", turns)
        rlm("queue", "add", str(path), "--db", db)
        rlm("worker", "--once", "--db", db)
    [newer] = rlm("memory", "list", "--db", db, "--json").json
    [older] = rlm("memory", "why", newer["memory_id"], "--db", db, "--json").json["supersedes"]
    old = older.get("memory_id") or older["id"]
    assert f"superseded by\n  {newer['memory_id']}" in rlm("memory", "why", old, "--db", db).out
    rlm("memory", "restore", old, "--db", db)
    assert "superseded by, and brought back since" in rlm("memory", "why", old, "--db", db).out


def test_a_file_that_never_was_is_not_told_to_be_gone(rlm: Run, db: str, tmp_path: Path) -> None:
    failed = rlm(
        "queue", "add", str(transcript(tmp_path)), str(tmp_path / "typo.jsonl"), "--db", db
    )
    assert failed.code == 1 and "no file" in failed.err and "typo.jsonl" in failed.err
    assert "gone" not in failed.err and "drop" not in failed.err
    assert rlm("queue", "list", "--db", db, "--json").json == []


def test_a_job_that_died_is_tried_again_or_dropped(rlm: Run, db: str, tmp_path: Path) -> None:
    path = transcript(tmp_path)
    rlm("queue", "add", str(path), "--db", db)
    path.unlink()
    failed = rlm("worker", "--db", db)
    assert failed.code == 1 and "is gone" in failed.err
    assert [j["state"] for j in rlm("queue", "list", "--state", "dead", "--db", db, "--json").json]
    transcript(tmp_path)
    assert rlm("queue", "retry", "--dead", "--db", db).code == 0
    assert rlm("worker", "--db", db).code == 0
    assert rlm("queue", "drop", "1", "--db", db).code == 0
    missing = rlm("queue", "drop", "1", "--db", db)
    assert missing.code == 1 and "no job 1 here" in missing.err
    assert rlm("queue", "retry", "9", "--db", db).code == 1
    assert rlm("queue", "retry", "--db", db).code == 2


def test_a_session_that_is_tried_later_says_when(rlm: Run, db: str, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        rlm("queue", "add", str(transcript(tmp_path, name)), "--db", db)
    now = clock.now()
    with open_store(db, embedder="none") as store:
        for hours in (3, 2):
            job = store.lease_job()
            assert job is not None
            at = (now + timedelta(hours=hours)).isoformat().replace("+00:00", "Z")
            store.fail_job(job, "the model does not answer", retry_at=at)
    first, last = (f"{now + timedelta(hours=hours):%Y-%m-%d %H:%M}" for hours in (2, 3))
    said = f"2 sessions wait until {first} (UTC) or later"
    done = rlm("worker", "--once", "--db", db)
    assert done.code == 0 and done.out.startswith("1 session distilled: ") and said in done.out
    document = rlm("worker", "--once", "--db", db, "--json").json
    assert (document["distilled"], document["tried_later"]) == (0, 2)
    assert document["next_try"].startswith(first.replace(" ", "T"))
    listed = rlm("queue", "list", "--db", db)
    assert f"waits until {last}: the model does not answer" in listed.out
    assert listed.err == f"{said}\n"
    assert rlm("queue", "list", "--state", "done", "--db", db).err == ""
    rlm("queue", "retry", "1", "2", "--db", db)
    assert "wait" not in rlm("queue", "list", "--db", db).err
    assert "wait" not in rlm("worker", "--once", "--db", db).out


def commands(folder: Path, *calls: tuple[str, bool]) -> Path:
    """A transcript of Claude Code: a task, and the commands with whether each worked."""
    lines: list[dict[str, object]] = [
        {"type": "user", "message": {"role": "user", "content": "Set up the migrations"}}
    ]
    for number, (text, worked) in enumerate(calls):
        use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": text}}
        lines.append({"type": "assistant", "message": {"role": "assistant", "content": [use]}})
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "is_error": not worked}
        result["content"] = "ok" if worked else "Exit code 1\nFAILED: no config"
        lines.append({"type": "user", "message": {"role": "user", "content": [result]}})
    path = folder / "fix.jsonl"
    more = {"sessionId": "fix", "cwd": str(folder), "timestamp": "2026-11-14T09:00:00.000Z"}
    path.write_text("".join(json.dumps({**line, **more}) + "\n" for line in lines))
    return path


def test_why_says_where_a_procedure_comes_from_and_who_recorded_a_memory(
    rlm: Run, db: str, tmp_path: Path
) -> None:
    calls = (("alembic upgrade head", False), ("alembic -c db/alembic.ini upgrade head", True))
    rlm("queue", "add", str(commands(tmp_path, *calls)), "--db", db)
    rlm("worker", "--once", "--db", db)
    [made] = rlm("memory", "list", "--kind", "procedure", "--db", db, "--json").json
    told = rlm("memory", "why", made["memory_id"], "--db", db).out
    assert "recorded by     the worker (distilled from a session)" in told
    assert told.endswith(
        "\nlearnt in turn 2 of session fix\n"
        "  `alembic -c db/alembic.ini upgrade head` worked.\n"
        "  `alembic upgrade head` had failed (exit code 1).\n"
    )
    by_hand = rlm("memory", "add", "--title", "A", "--content", "B", "--db", db).out.strip()
    assert "recorded by  a person" in rlm("memory", "why", by_hand, "--db", db).out


def test_a_decision_that_is_edited_says_what_it_was_edited_to(
    rlm: Run, db: str, tmp_path: Path
) -> None:
    rlm("queue", "add", str(transcript(tmp_path)), "--db", db)
    rlm("worker", "--once", "--db", db)
    [made] = rlm("memory", "list", "--kind", "decision", "--db", db, "--json").json
    line = ("memory", "edit", made["memory_id"], "--db", db, "--json")
    edited = rlm(*line, "--content", "Invoices are rounded per tax rate.\nIt is the law.").json
    item = rlm("memory", "show", edited["memory_id"], "--db", db, "--json").json
    said = "Invoices are rounded per tax rate."
    assert (item["title"], item["description"]) == (said, said)
    assert item["provenance"]["decided"] == said
    assert (
        said
        in rlm("memory", "search", "rounding of invoices", "--kind", "decision", "--db", db).out
    )
    line = ("memory", "edit", edited["memory_id"], "--db", db, "--json")
    named = rlm(*line, "--title", "Rounding", "--content", "Never round.").json["memory_id"]
    item = rlm("memory", "show", named, "--db", db, "--json").json
    assert (item["title"], item["description"]) == ("Rounding", "Never round.")


def test_nothing_is_queued_when_one_file_is_no_transcript(
    rlm: Run, db: str, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("hello\n")
    refused = rlm("queue", "add", str(transcript(tmp_path)), str(bad), "--db", db)
    assert refused.code == 2 and "bad.jsonl is no transcript" in refused.err
    assert rlm("queue", "list", "--db", db, "--json").json == []


def test_the_spool_goes_to_the_project_in_which_each_session_ran(
    rlm: Run, db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setenv("RLM_SPOOL", str(spool))
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        url = f"https://example.org/team/{name}.git"
        subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", url], check=True)
        told = {"agent": "cursor", "session_id": name, "cwd": str(folder), "store": db}
        told["transcript_path"] = str(transcript(tmp_path, name))
        (spool / f"{name}.json").write_text(json.dumps(told))
    assert rlm("worker", "--db", db, "--json").json["distilled"] == 2
    assert list(spool.iterdir()) == []
    for name in ("one", "two"):
        [job] = rlm("queue", "list", "--project", f"team/{name}", "--db", db, "--json").json
        assert (job["session_id"], job["state"]) == (name, "done")
    assert rlm("queue", "list", "--db", db, "--json").json == []


def test_a_session_goes_to_the_store_that_its_hook_was_set_up_for(
    rlm: Run, home: Path, db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker for a try-out store leaves the sessions of others, of all kinds, where they are."""
    password = "Xk9-not-to-be-kept"
    stores = {"mine": db, "none": None, "server": f"postgresql://u:{password}@db.example/one"}
    spool = home / ".claude" / "rlm-spool"
    for name, store in stores.items():
        given = {"session_id": name, "transcript_path": str(transcript(tmp_path, name))}
        environ = (
            {"HOME": str(home)} if store is None else {"HOME": str(home), "RLM_MEMORY_DB": store}
        )
        argv = [sys.executable, "-I", "-S", rlm_hook.__file__, "claude", "stop", "--no-deadline"]
        subprocess.run(
            argv, input=json.dumps(given).encode(), env=environ, cwd=tmp_path, check=True
        )
    assert len(list(spool.iterdir())) == 3
    assert all(password not in path.read_text() for path in spool.iterdir())
    waiting = rlm("doctor", "--db", db).out
    assert "1 waiting for `rlm worker --once`, 2 for another store" in waiting
    done = rlm("worker", "--once", "--db", db)
    assert done.out.startswith("1 session distilled") and "2 sessions wait for another" in done.err
    assert rlm("worker", "--once", "--db", f"json:{tmp_path}/other.json", "--json").json == {
        **rlm("worker", "--once", "--db", db, "--json").json,
        "other_stores": 2,
    }
    for path in spool.glob("claude-none-*"):  # as an older version left it
        told = json.loads(path.read_text())
        del told["store"]
        path.write_text(json.dumps(told))
    assert rlm("worker", "--once").out.startswith("1 session distilled")
    assert [path.name[:13] for path in spool.iterdir()] == ["claude-server"]


def test_a_worker_without_a_store_or_a_key_does_nothing_wrong(
    rlm: Run, db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rlm("worker", "--db", db, "--json").json["distilled"] == 0
    assert not Path(db).exists()
    rlm("queue", "add", str(transcript(tmp_path)), "--db", db)
    monkeypatch.setenv("RLM_MODEL", "openai/some-model")
    done = rlm("worker", "--db", db)
    assert done.code == 0 and "without a model: " in done.err and "1 session distilled" in done.out
    assert rlm("worker", "--once", "--watch", "--db", db).code == 2


def test_a_key_without_a_network_loses_nothing_and_doctor_says_what_waits(
    rlm: Run, db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLM_MODEL", "some-model")
    monkeypatch.setenv("RLM_MODEL_TIMEOUT_S", "0.2")
    monkeypatch.setenv("RLM_BASE_URL", "http://127.0.0.1:9/v1")  # nobody listens there
    rlm("queue", "add", str(transcript(tmp_path)), "--db", db)
    done = rlm("worker", "--db", db)
    assert done.code == 0, done.err
    assert "1 session distilled: 3 turns, 1 decision, 0 procedures, 1 waiting" in done.out
    assert "the model cannot be asked" in done.err and "127.0.0.1:9" in done.err
    [job] = rlm("queue", "list", "--db", db, "--json").json
    assert job["state"] == "ready" and "127.0.0.1:9" in job["last_error"]
    doctor = rlm("doctor", "--db", db)
    assert doctor.code == 0 and "1 distilled without it wait: ModelUnavailable: " in doctor.out
    assert rlm("worker", "--db", db, "--json").json["distilled"] == 0
    assert len(rlm("memory", "list", "--db", db, "--json").json) == 1


@pytest.mark.req("CX-07")
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_commits_of_a_session_are_checked_against_git(
    rlm: Run, db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What git printed in the session is what `rlm memory stability` asks git about later."""
    repo, made = tmp_path / "repo", "2026-03-01T12:00:00Z"
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "ada")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "ada@example.org")
        monkeypatch.setenv(f"GIT_{name}_DATE", made)

    def git(*args: str) -> str:
        line = ["git", "-C", str(repo), *args]
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout

    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    rules = ("Never round twice in a row.", "From now on log in UTC, always.")
    for number, rule in enumerate(rules):
        (repo / f"{number}.py").write_text(rule)
        git("add", ".")
        printed = git("commit", "-m", f"Part {number}")
        lines: list[tuple[str, object]] = [
            ("user", "Look at the code"), ("assistant", [{"type": "text", "text": "I see."}]),
            ("user", rule),
            ("assistant", [{"type": "tool_use", "id": "t", "name": "Bash",
                            "input": {"command": f"git add . && git commit -m 'Part {number}'"}}]),
            ("user", [{"type": "tool_result", "tool_use_id": "t", "content": printed}]),
        ]  # fmt: skip
        path = tmp_path / f"s{number}.jsonl"
        path.write_text("".join(
            json.dumps({"type": role, "sessionId": f"s{number}", "cwd": str(repo),
                        "timestamp": made, "message": {"id": str(n), "content": content}}) + "\n"
            for n, (role, content) in enumerate(lines)
        ))  # fmt: skip
        rlm("queue", "add", str(path), "--db", db)
    git("revert", "--no-edit", "HEAD")
    assert rlm("worker", "--db", db, "--json").json["decisions"] == 2
    states = {each["title"]: each["state"] for each in
              rlm("memory", "stability", "--db", db, "--json").json}  # fmt: skip
    assert [states[next(t for t in states if t[:8] == rule[:8])] for rule in rules] == [
        "stable", "reverted"
    ]  # fmt: skip
    assert rlm("memory", "stability", "--db", db, "--json").json == []


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_watching_worker_ends_when_it_is_told_to(
    tmp_path: Path, db: str, sent: signal.Signals, code: int
) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    line = [sys.executable, "-m", "rlm", "worker", "--watch", "--db", db, "--json"]
    add = [sys.executable, "-m", "rlm", "queue", "add", str(transcript(tmp_path)), "--db", db]
    subprocess.run(add, env=env, check=True, capture_output=True)
    from rlm import open_store

    pipe = subprocess.PIPE
    with subprocess.Popen(line, env=env, stdout=pipe, stderr=pipe, text=True) as worker:
        with open_store(db, embedder=None) as store:
            while worker.poll() is None and store.jobs("ready") + store.jobs("leased"):
                assert not any(job.last_error for job in store.jobs()), store.jobs()
        worker.send_signal(sent)
        out, err = worker.communicate(timeout=60)
    assert worker.returncode == code and "error" not in err
    done = json.loads(out)["distilled"]
    assert done == 1 or sent == signal.SIGINT, "that may come before its round is counted"
