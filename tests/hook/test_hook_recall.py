"""What a session is told: at its start, at a prompt, in each host, and when nothing."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hook_running import Place, decision

from rlm import MemoryItem
from rlm.service import CodingSession, SessionTurn, find_fixes
from rlm.service.fixes import fix_item
from rlm.service.transcripts.session import ShellCommand
from rlm.store.types import Tenant

ASK = "The uploader gives up after three retries, is that on purpose?"
HOSTS = ("claude", "codex", "cursor")


@pytest.mark.parametrize("host", HOSTS)
def test_the_start_tells_decisions_and_what_is_believed(filled: Place, host: str) -> None:
    text = filled.hook("session-start", host=host).text
    lines = text.splitlines()
    assert "Retries stop after three" in lines[1] and "decision" in lines[1]
    assert "Parser tests" in lines[2]
    assert "Doubtful" not in text and "Held" not in text


@pytest.mark.parametrize("host", HOSTS)
def test_a_prompt_brings_back_what_is_like_it_once(filled: Place, host: str) -> None:
    first = filled.hook("prompt", host=host, prompt=ASK).text
    assert "retries three times, then fails" in first and "Parser" not in first
    assert "for ever" not in first
    assert filled.hook("prompt", host=host, prompt=ASK).text == ""
    other = {"conversation_id": "c2"} if host == "cursor" else {"session_id": "s2"}
    assert filled.hook("prompt", other, host=host, prompt=ASK).text == first


def test_what_the_start_told_is_not_told_again(filled: Place) -> None:
    assert "Retries stop" in filled.hook("session-start", source="startup").text
    assert filled.hook("prompt", prompt=ASK).text == ""
    assert filled.hook("session-start", source="resume").text == ""
    assert "Retries stop" in filled.hook("session-start", source="compact").text


def test_a_session_that_is_continued_is_not_told_the_next_older_ones(place: Place) -> None:
    """`claude -p --continue` starts it anew for every prompt."""
    for number in range(9):
        at = f"2026-01-0{number + 1}T10:00:00Z"
        place.add(decision(f"Rule {number}", f"Part {number} stays as it is.", created_at=at))
    first = place.hook("session-start", source="startup").text
    assert "Part 8" in first and "Part 0" not in first
    assert [place.hook("session-start", source="resume").text for _ in range(2)] == ["", ""]
    assert place.hook("session-start", source="clear").text == first
    assert place.hook("session-start", source="resume", session_id="s2").text == first


def test_words_that_a_title_and_a_quote_repeat_are_said_once(place: Place) -> None:
    said = "No, from now on run `make check` before every commit, never npm test."
    content = f"“{said}”\nIn answer to: “I will run npm test.”"
    distilled = {"kind": "decision", "turn": 3}
    item = MemoryItem(f"{said[:52]}…", said, content, provenance=distilled)
    (memory_id,) = place.add(item)
    _, line = place.hook("session-start").text.splitlines()
    note = f"(decision, {item.created_at[:10]}, {memory_id})"
    assert line == f"- {said} {note}"


NOTHING_FITS = (
    "What is the weather like in Lisbon tomorrow?",
    "thanks, that is it",
    "please go on",
    "",
    "Rename the function compute_total to sum_rows in billing.py and update its callers.",
    "Run it in section B.",
)


def test_nothing_is_said_where_nothing_fits(filled: Place) -> None:
    assert [filled.hook("prompt", prompt=prompt).text for prompt in NOTHING_FITS] == [""] * 6


NO_PERSON = (
    {"source": "sdk"},
    {"source": "schedule_wakeup"},
    {"agent_id": "a1", "agent_type": "Explore"},
    {"prompt": f"/review {ASK}"},
    {"prompt": f"<task-notification>{ASK}</task-notification>"},
    {"prompt": f"<command-name>/x</command-name> {ASK}"},
    {"prompt": None},
    {"prompt": ["list"]},
)


def test_a_prompt_that_is_not_a_persons_gets_nothing(filled: Place) -> None:
    for data in NO_PERSON:
        assert filled.hook("prompt", {"prompt": ASK, **data}).text == "", data
    assert filled.hook("prompt", {"prompt": ASK, "source": "user"}).text != ""
    path = {"prompt": f"/var/log is full. {ASK}", "session_id": "s9"}
    assert filled.hook("prompt", path).text != ""


def test_it_can_be_switched_off(filled: Place) -> None:
    filled.env["RLM_DISABLED"] = "1"
    assert filled.hook("session-start").text == "" and filled.hook("stop").out == b""
    assert filled.spooled() == []
    filled.env["RLM_DISABLED"] = "0"
    (filled.work / ".git").mkdir()
    (filled.work / ".rlm-off").touch()
    (filled.work / "deep").mkdir()
    off = {"cwd": str(filled.work / "deep")}
    filled.env["RLM_PROJECT"] = "local"
    assert filled.hook("session-start", off).text == "" and filled.hook("stop", off).out == b""
    assert filled.spooled() == []
    (filled.work / ".rlm-off").unlink()
    assert filled.hook("session-start", off).text != ""


@pytest.mark.req("CX-04")
def test_it_sees_its_own_project_team_and_organisation_and_nothing_else(place: Place) -> None:
    """The tenant is that of the command line: the repository around the folder."""
    (place.work / ".git").mkdir()
    config = '[remote "origin"]\n\turl = git@example.org:acme/boats.git\n'
    (place.work / ".git" / "config").write_text(config, "utf-8")
    place.env |= {"RLM_ORG": "acme", "RLM_TEAM": "red"}
    mine = Tenant("acme", "red", "acme/boats")
    place.add(decision("Mine", "Hulls are painted blue in May."), tenant=mine)
    place.add(decision("Of the team", "Sails are washed twice.", level="team"), tenant=mine)
    place.add(decision("Of the org", "Ropes are kept outside.", level="org"), tenant=mine)
    foreign = [Tenant("acme", "red", "other"), Tenant("acme", "blue", "acme/boats"), Tenant("x", "red", "acme/boats")]  # fmt: skip
    for number, tenant in enumerate(foreign):
        place.add(decision(f"Foreign {number}", "Hulls are painted red."), tenant=tenant)
    told = place.hook("session-start").text
    asked = place.hook("prompt", prompt="When are hulls painted red?", session_id="s2").text
    assert all(title in told for title in ("Mine", "Of the team", "Of the org"))
    assert "Foreign" not in told + asked and asked != ""


def test_a_setting_of_the_config_file_counts(filled: Place) -> None:
    path = filled.home / ".config" / "rlm" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text('project = "elsewhere"\n', "utf-8")
    assert filled.hook("session-start").text == ""
    path.write_text('project = "local"\n', "utf-8")
    assert filled.hook("session-start").text != ""
    path.write_text('project = "local"\nnovelty = 1\n', "utf-8")  # the command line says so
    assert filled.hook("session-start", session_id="s2").text != ""
    path.write_text("project = 3\n", "utf-8")
    assert (
        filled.hook("session-start").text == "" and "project in the config file: 3" in filled.log()
    )
    path.write_text("project = \n", "utf-8")
    assert filled.hook("session-start").text == "" and "cannot be read as TOML" in filled.log()


def test_long_and_strange_memories_stay_within_bounds(place: Place) -> None:
    place.add(
        decision("A" * 150, "Long words. " * 400),
        decision("Lines\nand\ttabs", "One.\n\n</system-reminder>\nTwo \U0001f600 数据库 é."),
        *(
            MemoryItem(f"Memory {n} of many", "d" * 90, "word " * 90, confidence=0.95)
            for n in range(9)
        ),
    )
    text = place.hook("session-start").text
    assert len(text) <= 600 and len(text.splitlines()) >= 3
    shown = place.hook("prompt", prompt="lines and tabs: One Two 数据库", session_id="s2").text
    assert "\U0001f600" in shown and len(shown.splitlines()) <= 3


def test_a_quote_is_told_once(place: Place) -> None:
    quote = "From now on all amounts are kept as integer cents in every table."
    content = f"“{quote}”\nIn answer to: “Shall I use floats?”"
    title = "From now on all amounts are kept as integer cents…"
    recorded = {"kind": "decision"}
    place.add(
        MemoryItem(title, quote, content, provenance={**recorded, "turn": 3}),
        MemoryItem("Names", "Of columns.", "“Gauge” is what we write.", provenance=recorded),
        MemoryItem("Deploy", "On Mondays.", "Use the script."),
    )
    _, named, told, other = place.hook("session-start").text.splitlines()
    assert told.startswith(f"- {quote} (decision,")
    assert named.startswith("- Names: Of columns.: “Gauge” is what we write. (decision,")
    assert other.startswith("- Deploy: On Mondays.: Use the script. (")


def test_a_line_is_never_cut_before_words_that_take_it_back(place: Place) -> None:
    rule = "From now on the uploader waits for the answer of the server, up to 30 seconds a file"
    said = f"{rule}, also for the small ones that are sent together with others. Nope, wait: 20 seconds."
    stated = {"kind": "decision", "turn": 1}
    place.add(MemoryItem("From now on", said, f"“{said}”", provenance=stated))
    _, line = place.hook("session-start").text.splitlines()
    assert len(line) <= 200 and "… Nope, wait: 20 seconds. (decision," in line


def test_the_words_of_a_rare_name_find_it_in_a_large_prompt(filled: Place) -> None:
    filled.add(MemoryItem("Flaky test_upload_resume", "", "test_upload_resume needs UTC=1."))
    noise = "\n".join(f"File line_{n} in module_{n % 7}: passed" for n in range(2_000))
    prompt = f"why does test_upload_resume fail again, test_upload_resume is flaky\n{noise}"
    assert "UTC=1" in filled.hook("prompt", prompt=prompt).text


def test_the_end_leaves_one_file_with_what_was_shown(filled: Place) -> None:
    told = filled.hook("session-start").text
    answer = filled.hook("stop", stop_hook_active=False)
    assert (answer.code, answer.out, answer.err) == (0, b"", b"")
    [left] = filled.spooled()
    assert left["injected"] and all(each in told for each in left["injected"])
    known = {key: left[key] for key in ("agent", "session_id", "transcript_path", "cwd", "event")}
    assert known == {
        "agent": "claude",
        "session_id": "s1",
        "transcript_path": "/t/s1.jsonl",
        "cwd": str(filled.work),
        "event": "stop",
    }
    assert left["time"] and (left["org"], left["team"], left["project"]) == ("local",) * 3
    filled.hook("stop")
    there = {"transcript_path": __file__}
    filled.hook("session-end", there, reason="other")
    filled.hook("session-end", there, session_id="s2")
    filled.hook("session-end", there, session_id="s1-2")  # its name begins as that of another
    filled.hook("stop", session_id="s1")
    assert sorted(each["session_id"] for each in filled.spooled()) == ["s1", "s1-2", "s2"]
    assert [path.name for path in filled.spool.iterdir() if not path.name.endswith(".json")] == []


def test_the_end_of_a_session_in_which_nobody_said_anything_leaves_nothing(filled: Place) -> None:
    """Hosts write the transcript with the first prompt."""
    filled.hook("session-end", transcript_path=str(filled.work / "none.jsonl"))
    assert filled.spooled() == [] and filled.log() == ""


def test_the_end_of_a_subagent_or_of_nobody_leaves_nothing(filled: Place) -> None:
    filled.hook("stop", agent_id="a1")
    filled.hook("stop", session_id="")
    assert filled.spooled() == []


def test_cursor_does_not_say_where_its_transcript_is(filled: Place) -> None:
    path = filled.home / ".cursor" / "projects" / "w" / "agent-transcripts" / "c1" / "c1.jsonl"
    path.parent.mkdir(parents=True)
    path.touch()
    filled.hook("stop", host="cursor")
    filled.hook("stop", host="cursor", conversation_id="../../x")
    filled.hook("stop", transcript_path=None)
    found = {each["session_id"]: each["transcript_path"] for each in filled.spooled()}
    assert found == {"c1": str(path)}


def test_a_state_file_that_is_damaged_is_none(filled: Place) -> None:
    first = filled.hook("prompt", prompt=ASK).text
    [state] = (filled.cache / "hook").glob("*.json")
    for junk in (b"", b"[1]", b'{"shown": 1}', b"\xff"):
        state.write_bytes(junk)
        assert filled.hook("prompt", prompt=ASK).text == first
    assert json.loads(state.read_bytes())["shown"]


def test_a_procedure_is_not_cut_before_what_helped(place: Place) -> None:
    failed = (
        "python3 tools/import_orders.py --from exports/2026/orders-of-november.csv --currency EUR"
    )
    session = CodingSession("claude", "s0", turns=[SessionTurn(1, "assistant", "")])
    helped = ("docker compose up -d db", "./manage.py migrate")
    commands = [ShellCommand(failed, False, 1, "OperationalError: no such table")]
    commands += [ShellCommand(each, True) for each in (*helped, failed)]
    session.turns[0].commands = commands
    [fix] = find_fixes(session)
    place.add(fix_item(fix, session))
    told = place.hook("session-start").text
    assert all(f"`{each}`" in told for each in helped), told


@pytest.mark.parametrize("noted", ["perhaps changed", "changed in part"])
@pytest.mark.parametrize("event", ["session-start", "prompt"])
def test_a_decision_that_may_be_changed_follows_the_newer_one_and_says_so(
    place: Place, event: str, noted: str
) -> None:
    [newer] = place.add(
        decision("Back to jest", "Back to jest.", created_at="2026-10-04T10:00:00Z")
    )
    older = decision("Vitest for components", "Component suites run in vitest, never in jest.")
    older.provenance["perhaps_changed_by"] = newer  # as an rlm of before the lists wrote it
    if noted == "changed in part":
        older.provenance["changed_by"] = [{"id": newer, "reason": "vitest is gone"}]
    place.add(older)
    _, first, second = place.hook(
        event, prompt="do component suites run in vitest?"
    ).text.splitlines()
    assert newer in first and "changed" not in first
    assert f"{noted} on 2026-10-04: {newer}" in second


@pytest.mark.parametrize("event", ["session-start", "prompt"])
def test_what_changed_a_decision_says_that_it_was_changed_itself(place: Place, event: str) -> None:
    newest, newer, older = (
        decision(words, words, created_at=f"2026-10-0{day}T10:00:00Z")
        for day, words in (
            (3, "Not on Mondays."),
            (2, "Suites: back to jest."),
            (1, "Suites run in vitest."),
        )
    )
    for item, changes in ((newer, newest), (older, newer)):
        item.provenance["changed_by"] = [{"id": changes.memory_id, "reason": "so"}]
    place.add(newest, newer, older)
    told = place.hook(event, prompt="which suites run in vitest?").text.splitlines()
    line = next(each for each in told if "back to jest" in each)
    assert f"changed in part on 2026-10-03: {newest.memory_id}" in line


def test_what_may_be_no_decision_is_told_where_somebody_asks(place: Place) -> None:
    for probability, text in ((0.57, "Lunch at the gauge, back in 30."), (0.7, "Gauge in mm.")):
        place.add(doubtful(text, probability))
    told = place.hook("session-start").text
    assert "Gauge in mm." in told and "Lunch" not in told
    assert "Lunch" in place.hook("prompt", prompt="what about lunch at the gauge in 30?").text


def test_what_may_be_no_decision_is_told_once_a_person_found_it_helpful(place: Place) -> None:
    place.add(doubtful("The default page size is 50.", 0.54, confidence=1.0))
    assert "page size is 50" in place.hook("session-start").text


@pytest.mark.parametrize("event", ["session-start", "prompt"])
def test_no_decision_is_told_without_the_one_that_may_have_changed_it(
    place: Place, event: str
) -> None:
    [newer] = place.add(doubtful("We now use Postgres for the cache.", 0.68))
    older = decision("SQLite for the cache", "The cache uses SQLite with WAL.")
    older.provenance["perhaps_changed_by"] = [newer]
    place.add(older)
    told = place.hook(event, prompt="the sqlite wal, which store does the cache use?").text
    _, first, second = told.splitlines()
    assert "Postgres" in first and "perhaps changed" in second


def test_what_an_agent_noted_says_so_and_follows_what_people_decided(place: Place) -> None:
    for day, source in ((3, "success"), (2, "human"), (1, "human")):
        item = decision(f"Cache {day}", f"The cache is number {day}.", confidence=0.6)
        at = f"2026-10-0{day}T10:00:00Z"  # "human" and unverified is what a model made of turns
        place.add(replace(item, created_at=at, source_type=source, trust="unverified"))
    told = place.hook("session-start").text.splitlines()[1:]
    assert [line[2:9] for line in told] == ["Cache 2", "Cache 1", "Cache 3"]
    assert "(unverified decision, 2026-10-03" in told[2] and "unverified" not in "".join(told[:2])


def doubtful(text: str, probability: float, confidence: float = 0.8) -> MemoryItem:
    item = decision(text, text, confidence=confidence)
    item.provenance["probability"] = probability
    return item
