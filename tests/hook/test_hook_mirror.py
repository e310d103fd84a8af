"""Hooks of a team whose store is on a server: they read a local mirror, which the worker makes."""

from __future__ import annotations

import os
import random
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hook_running import Place, decision

from rlm import MemoryItem, open_store
from rlm.cli import main
from rlm.store import mirror
from rlm.store.lock import WriteLock
from rlm.store.types import Tenant

ASK = "The uploader gives up after three retries, is that on purpose?"
PASSWORD = "Xk9-not-to-be-kept"
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "invoice-1.jsonl"
MINE = Tenant("acme", "red", "shop")


class TeamPlace(Place):
    """A machine whose settings name a server, with a password."""

    url: str
    said: str = ""
    rlm: Callable[..., str]

    def add(self, *items: MemoryItem, tenant: Tenant = MINE) -> list[str]:
        with open_store(self.url, tenant=tenant, embedder="none") as store:
            return store.add_many(items)

    @property
    def mirrors(self) -> list[Path]:
        return sorted(self.cache.glob("mirror/*.db"))

    def start(self, session: str = "new") -> str:
        return self.hook("session-start", session_id=session).text


@pytest.fixture
def team(tmp_path: Path, postgres_server, monkeypatch, capsys) -> TeamPlace:
    place = TeamPlace(tmp_path)
    base = postgres_server.empty_store()
    place.url = base.replace("rlm_app@", f"rlm_app:{PASSWORD}@")
    place.env |= {"RLM_MEMORY_DB": place.url, "RLM_ORG": "acme", "RLM_TEAM": "red"}
    place.env |= {"RLM_PROJECT": "shop"}
    for name, value in {**place.env, "RLM_EMBEDDER": "none"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(place.work)

    def rlm(*args: str, code: int = 0) -> str:
        capsys.readouterr()
        ended = main(args)
        said = "".join(capsys.readouterr())
        place.said += said
        assert ended == code, said
        return said

    place.rlm = rlm
    return place


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.req("CX-04")
def test_the_worker_brings_the_memories_of_the_tenant_and_of_nobody_else(team: TeamPlace) -> None:
    team.add(
        decision("Retries stop after three", "We decided: the uploader retries three times, then fails."),
        decision("Of the team", "Sails are washed twice.", level="team"),
        decision("Of the org", "Ropes are kept outside.", level="org"),
        MemoryItem("Doubtful", "", "The uploader retries for ever.", confidence=0.1),
        MemoryItem("Held", "", "The uploader retries for ever, says a page.", trust="quarantined"),
    )  # fmt: skip
    for other in (
        Tenant("acme", "red", "x"),
        Tenant("acme", "b", "shop"),
        Tenant("z", "red", "shop"),
    ):
        team.add(decision("Foreign", "The uploader retries three times, foreign."), tenant=other)
    assert team.start("s0") == ""
    team.rlm("worker", "--once")
    told, asked = team.start(), team.hook("prompt", prompt=ASK, session_id="s2").text
    assert all(title in told for title in ("Retries stop", "Of the team", "Of the org"))
    assert "retries three times, then fails" in asked
    (path,) = team.mirrors
    held = path.read_bytes()
    assert b"Ropes are kept" in held
    assert not any(word in held for word in (b"oreign", b"for ever", b"Held"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_password_is_nowhere(team: TeamPlace) -> None:
    team.add(decision("Retries stop after three", "The uploader retries three times."))
    team.rlm("worker", "--once")
    team.rlm("setup", "claude")
    team.rlm("doctor", "--json")
    team.mirrors[0].write_bytes(b"no database")
    assert team.start() == "" and "no database" not in team.rlm("doctor", code=1)
    team.hook("stop")
    team.rlm("worker", "--once")
    assert team.start() != ""
    found = [path for path in files(team.home.parent) if PASSWORD.encode() in path.read_bytes()]
    assert found == [] and PASSWORD not in team.said + team.log()
    rotated = team.url.replace(PASSWORD, "another")
    team.env["RLM_MEMORY_DB"] = rotated.replace("postgresql:", "postgres:")
    assert team.start("s5") != "", "the same database, whatever the password"
    team.env["RLM_MEMORY_DB"] = rotated.replace("host=", "host=/else")
    assert team.start("s6") == "", "another server"


def test_what_changed_on_the_server_is_so_after_the_next_refresh(team: TeamPlace) -> None:
    kept, gone, held, moved = team.add(
        *(decision(f"Rule {name}", f"{name} first.") for name in ("kept", "gone", "held", "moved"))
    )
    team.rlm("worker", "--once")
    (path,) = team.mirrors
    assert team.start("s1").count("Rule") == 4
    os.utime(path, (1, 1))
    before = path.stat().st_ino
    team.rlm("worker", "--once")
    assert path.stat().st_ino == before and time.time() - path.stat().st_mtime < 60
    reader = path.open("rb")
    with open_store(team.url, tenant=MINE, embedder="none") as store:
        store.delete(gone)
        store.update(held, trust="quarantined")
        store.adjust_confidence(kept, -0.1, kind="test")
        store.adjust_confidence(moved, +0.1, kind="test")
    assert "Rule gone" in team.start("s2")
    team.rlm("worker", "--once")
    told = team.start("s3")
    assert "Rule kept" in told and "Rule moved" in told
    assert b"Rule gone" not in path.read_bytes() and b"Rule held" not in path.read_bytes()
    with reader:
        assert b"Rule gone" in reader.read(), "a hook that reads goes on in the file that it opened"
    with open_store(team.url, tenant=MINE, embedder="none") as store:
        store.adjust_confidence(kept, +0.3, kind="test")
        store.adjust_confidence(moved, -0.3, kind="test")
    before = path.stat().st_ino
    team.rlm("worker", "--once")
    assert path.stat().st_ino != before, "changes of confidence that cancel out are changes"


def test_it_tells_what_a_file_of_the_same_memories_tells(team: TeamPlace) -> None:
    words = random.Random(7)
    names = [
        f"{first}{last}" for first in ("up", "down", "over") for last in ("load", "cast", "run")
    ]
    items = [
        decision(f"Rule {n}", " ".join(words.choices(names, k=6)), confidence=0.3 + n / 100)
        for n in range(60)
    ]
    team.add(MemoryItem("Elsewhere", "", "x"), tenant=Tenant("acme", "red", "z"))  # takes a number
    team.add(*items)
    team.rlm("worker", "--once")
    with open_store(str(team.db), tenant=MINE, embedder="none") as store:
        store.add_many(items)
    prompts = [" ".join(words.choices(names, k=3)) for _ in range(6)]

    def told() -> list[str]:
        asked = [team.hook("prompt", prompt=each, session_id=each).text for each in prompts]
        return [team.start(), *asked]

    from_server = told()
    for path in team.cache.glob("hook/*.json"):
        path.unlink()
    team.env["RLM_MEMORY_DB"] = str(team.db)
    assert told() == from_server and sum(map(bool, from_server)) > 3


def test_what_was_shown_is_noted_and_credited_on_the_server(team: TeamPlace) -> None:
    (shown,) = team.add(decision("Retries stop after three", "The uploader retries three times."))
    team.rlm("worker", "--once")
    assert shown in team.hook("prompt", prompt=ASK, transcript_path=str(EXAMPLE)).text
    assert team.hook("prompt", prompt=ASK).text == ""
    assert team.hook("session-end", transcript_path=str(EXAMPLE)).out == b""
    (spooled,) = team.spooled()
    assert spooled["injected"] == [shown] and spooled["project"] == "shop"
    assert "1 session distilled" in team.rlm("worker", "--once")
    assert team.spooled() == []
    assert "0.80 → 1.00" in team.rlm("memory", "feedback", shown, "--helpful")
    with open_store(team.url, tenant=MINE, embedder="none") as store:
        assert store.signals(shown)[-1]["delta"] > 0
        assert len(store.jobs("done")) == 1
    assert "integer cents" in team.start("s2"), "what the session taught is in the mirror at once"


def test_each_project_of_this_machine_has_its_own(team: TeamPlace) -> None:
    """Also one that the worker knows from the spool alone; not one that others queued."""
    for project in ("site", "theirs"):
        team.add(decision(f"Rule of {project}", "x"), tenant=Tenant("acme", "red", project))
    team.add(decision("Rule of shop", "x"))
    team.rlm("queue", "add", str(EXAMPLE), "--project", "theirs")
    team.env["RLM_PROJECT"] = "site"
    team.hook("session-end", transcript_path=str(EXAMPLE))
    assert "2 sessions distilled" in team.rlm("worker", "--once") and len(team.mirrors) == 2
    assert "Rule of site" in (told := team.start("s1")) and "of shop" not in told
    team.env["RLM_PROJECT"] = "shop"
    assert "Rule of shop" in (told := team.start("s2")) and "of site" not in told
    team.env["RLM_PROJECT"] = "theirs"
    assert team.start("s3") == ""


def no_file(path: Path) -> None:
    path.unlink()


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def broken(path: Path) -> None:
    """The page with the rows; the one that says what the mirror holds is sound."""
    data = bytearray(path.read_bytes())
    page = data.index(b"retries three") // 8_192 * 8_192
    data[page : page + 8_192] = bytes(8_192)
    path.write_bytes(data)


def of_another_version(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(60)
        file.write((99).to_bytes(4, "big"))  # user_version


@pytest.mark.parametrize("spoil", [no_file, a_folder, empty, cut, broken, of_another_version],
                         ids=lambda each: each.__name__)  # fmt: skip
def test_a_mirror_that_cannot_be_used_is_not_in_the_way_and_is_made_anew(
    team: TeamPlace, spoil: Callable[[Path], None]
) -> None:
    team.add(decision("Retries stop after three", "The uploader retries three times."))
    team.rlm("worker", "--once")
    (path,) = team.mirrors
    spoil(path)
    for event in ("session-start", "prompt", "stop"):
        answer = team.hook(event, prompt=ASK, transcript_path=None)
        assert (answer.code, answer.out, answer.err) == (0, b"", b"")
    told = team.rlm("doctor", code=0 if spoil is no_file else 1)
    assert "recall nothing" in told and "`rlm worker --once` makes it" in told
    said = team.rlm("worker", "--once")
    if spoil is a_folder:
        assert "the mirror for hooks was not refreshed" in said
    else:
        assert "not refreshed" not in said and team.start() != ""


def test_the_doctor_says_what_serves_the_hooks(team: TeamPlace, monkeypatch) -> None:
    assert "hooks: there is no local mirror" in team.rlm("doctor")
    team.add(*(decision(f"Rule {n}", f"Content {n}.") for n in range(5)))
    team.rlm("worker", "--once")
    told = team.rlm("doctor")
    assert "they read a local mirror of 5 memories, " in told and "stale" not in told
    os.utime(team.mirrors[0], (time.time() - 3 * 86_400,) * 2)
    told = team.rlm("doctor")
    assert "3 days, 0:00:0" in told and "stale; `rlm worker --once` refreshes it" in told
    monkeypatch.setattr(mirror, "MOST", 3)
    team.rlm("worker", "--once")
    team.add(decision("Rule 9", "Content 9."))
    team.rlm("worker", "--once")
    assert "of 3 memories" in (told := team.rlm("doctor")) and "3 that changed before" in told
    text = str(team.mirrors[0].read_bytes())
    assert [n for n in (0, 1, 2, 3, 4, 9) if f"Rule {n}" in text] == [3, 4, 9]


def test_two_refreshes_take_turns(team: TeamPlace, monkeypatch) -> None:
    """Else the one that read an older snapshot might end last."""
    team.add(decision("Retries stop after three", "The uploader retries three times."))
    team.rlm("worker", "--once")
    monkeypatch.setattr(mirror, "WAIT_S", 0.0)
    other = WriteLock(team.mirrors[0])
    other.acquire(0)
    assert "another process" in team.rlm("worker", "--once")
    other.close()
    assert "another process" not in team.rlm("worker", "--once")


def test_setup_makes_it_or_says_why_not(team: TeamPlace, monkeypatch) -> None:
    team.add(decision("Retries stop after three", "The uploader retries three times."))
    team.rlm("setup", "claude", "--dry-run")
    assert team.mirrors == []
    assert "they read a local mirror of 1 memory, " in team.rlm("setup", "claude")
    assert team.start() != ""
    monkeypatch.setenv("RLM_MEMORY_DB", f"postgresql://u:{PASSWORD}@127.0.0.1:1/db")
    said = team.rlm("setup", "codex")
    assert "hooks.json: made" in said and "the mirror for hooks was not refreshed" in said
    assert "there is no local mirror" in said and PASSWORD not in said


@pytest.mark.slow
def test_a_check_of_the_setup_reads_the_mirror(team: TeamPlace) -> None:
    team.rlm("setup", "claude")
    (path,) = team.mirrors
    path.write_bytes(b"no database" * 1_000)
    assert "FAILED   claude SessionStart" in team.rlm("setup", "claude", "--check", code=1)


@pytest.mark.slow
def test_an_index_beside_the_server_changes_nothing(team: TeamPlace, qdrant, monkeypatch) -> None:
    team.add(decision("Retries stop after three", "The uploader retries three times."))
    team.rlm("index", "rebuild")
    team.rlm("worker", "--once")
    asked = len(qdrant.requests)
    assert "Retries stop" in team.start() and len(qdrant.requests) == asked
    monkeypatch.delenv("RLM_INDEX")
    (path,) = team.mirrors
    before = path.stat().st_ino
    team.rlm("worker", "--once")
    assert path.stat().st_ino == before


@pytest.mark.slow
def test_the_server_of_a_coding_agent_keeps_it_up_to_date(team: TeamPlace) -> None:
    team.add(decision("Retries stop after three", "The uploader retries three times."))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    line = [sys.executable, "-m", "rlm", "mcp"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as server:
        ends = time.monotonic() + 60
        while not team.mirrors and time.monotonic() < ends:
            time.sleep(0.05)
        assert "Retries stop" in team.start()
        server.communicate(b"", timeout=30)
