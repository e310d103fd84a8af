"""Transcripts of the three hosts, read by structure."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transcript_making import ClaudeTranscript, rollout, said, write_lines

from rlm.errors import NotFound, StoreError, ValidationError
from rlm.service import read_transcript
from rlm.service.transcripts import identify
from rlm.service.transcripts.builder import TURNS, SessionBuilder, drop_private
from rlm.service.transcripts.claude import read_claude
from rlm.service.transcripts.codex import read_codex
from rlm.service.transcripts.cursor import read_cursor


def texts(session):
    return [(turn.role, turn.text) for turn in session.turns]


# -- Claude Code


def test_a_session_has_turns_commands_files_and_commits(tmp_path):
    made = ClaudeTranscript().user("Fix the login").says("Looking.")
    made.runs("pytest tests", "E  AssertionError\nExit code 1", ok=False)
    made.edits("/work/shop/login.py").runs("pytest tests", "3 passed")
    made.runs("git commit -m fix", "[main 1a2b3c4] fix\n 1 file changed").says("Done.")
    session = read_transcript(made.write(tmp_path))
    assert (session.agent, session.session_id) == ("claude", "s1")
    assert texts(session) == [("user", "Fix the login"), ("assistant", "Looking.\n\nDone.")]
    first, second, third = session.turns[1].commands
    assert (first.ok, first.exit_code) == (False, 1) and "AssertionError" in first.error
    assert (second.ok, second.error, third.ok) == (True, "", True)
    assert session.turns[1].files == ["/work/shop/login.py"]
    assert session.commits_since(1) == ["1a2b3c4"]
    assert session.started_at.startswith("2026-11-01T10:00") and session.cwd == "/work/shop"


def test_a_streamed_answer_is_read_once(tmp_path):
    made = ClaudeTranscript().user("hi").says("One.", "m").says("One.", "m").says("Two.", "m")
    assert texts(read_transcript(made.write(tmp_path)))[1:] == [("assistant", "One.\n\nTwo.")]


def test_words_that_stand_in_what_was_said_before_are_kept(tmp_path):
    first = "Please do not use tabs in Makefile comments"
    made = ClaudeTranscript().user(first).user("use tabs").user("use tabs")
    made.says("I will use tabs.").says("tabs").says("tabs")
    assert texts(read_transcript(made.write(tmp_path))) == [
        ("user", f"{first}\n\nuse tabs"),
        ("assistant", "I will use tabs.\n\ntabs"),
    ]


def test_what_no_person_said_is_no_turn_of_theirs(tmp_path):
    made = ClaudeTranscript().user("Real words")
    made.add("attachment", attachment={"type": "hook_additional_context", "content": ["A memory"]})
    made.user("Caveat", isMeta=True).user("from an agent", isSidechain=True)
    made.user("This session is being continued", isCompactSummary=True)
    made.user("<command-name>/clear</command-name>\n<command-args></command-args>")
    made.user("<system-reminder>Never do x</system-reminder>and these")
    made.user("[Request interrupted by user]")
    made.runs("what", "our own memory", name="mcp__rlm__memory_search").says("ok")
    session = read_transcript(made.write(tmp_path))
    assert texts(session) == [("user", "Real words\n\nand these"), ("assistant", "ok")]
    assert {"A memory", "our own memory"} <= set(session.injected)
    assert all(not turn.commands for turn in session.turns)


def test_words_of_a_person_who_refuses_a_tool_or_fills_a_form_are_theirs(tmp_path):
    said_why = "The user doesn't want to proceed. the user said:\nnever push to main"
    made = ClaudeTranscript().user("go").runs("git push", said_why, ok=False)
    made.runs("ask", "x", name="AskUserQuestion")
    made.lines[-1]["toolUseResult"] = {"answers": {"Tabs or spaces?": "Spaces"}}
    session = read_transcript(made.write(tmp_path))
    users = session.texts("user")
    assert "never push to main" in users and "Spaces" in users
    assert session.turns[1].commands[0].ok is None


def test_private_words_and_secrets_are_left_out(tmp_path):
    key = "AKIA" + "ABCDEFGH12345678"
    made = ClaudeTranscript().user(f"a <private>my name\nis</private> b {key} c")
    made.says(f"x <PRIVATE>{'y' * 100_000}</private> z <private>never closed")
    made.runs(f"curl -H 'Authorization: Bearer {'k9Zx' * 8}' https://x.example", "bad", ok=False)
    session = read_transcript(made.write(tmp_path))
    told = json.dumps([(t.text, [c.text for c in t.commands]) for t in session.turns])
    assert "my name" not in told and "yyy" not in told and "never closed" not in told
    assert key not in told and "k9Zxk9Zx" not in told and "a  b" in session.turns[0].text


def test_unknown_types_broken_lines_and_a_cut_end_are_counted(tmp_path):
    path = ClaudeTranscript().user("hi").add("brand-new").write(tmp_path)
    with path.open("ab") as file:
        file.write(b'[1]\n{"type": \n\xff\xfe\n' + b'{"type": "user", "mess')
    session = read_transcript(path)
    assert session.unknown == {"brand-new": 1, "no JSON object": 3} and session.truncated
    assert texts(session) == [("user", "hi")]


def test_long_texts_and_many_turns_are_bounded(tmp_path):
    made = ClaudeTranscript().user("begin " + "x" * 200_000).says("y" * 5_000 + " Which one?")
    session = read_transcript(made.write(tmp_path))
    assert all(len(turn.text) <= 4_000 for turn in session.turns)
    assert session.turns[1].text.endswith("Which one?")
    builder = SessionBuilder("claude", "s")
    for number in range(TURNS + 10):
        builder.person(f"u{number}")
        builder.agent(f"a{number}")
    assert len(builder.finish().turns) == TURNS


def test_a_line_without_end_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr("rlm.service.transcripts.read.LINE_BYTES", 2_000)
    path = ClaudeTranscript().user("hi").user("x" * 9_000).says("bye").write(tmp_path)
    session = read_transcript(path)
    assert texts(session) == [("user", "hi"), ("assistant", "bye")]
    assert session.unknown["line over 16 MB"] == 1


def test_a_time_of_the_future_or_of_no_calendar_harms_nothing(tmp_path):
    made = ClaudeTranscript().user("a").says("b").user("c")
    made.lines[0]["timestamp"], made.lines[1]["timestamp"] = "9999-01-01T00:00:00Z", "yesterday"
    session = read_transcript(made.write(tmp_path))
    assert session.turns[0].at < "9999" and session.turns[1].at == ""


# -- Codex


@pytest.mark.req("CX-06")
def test_a_rollout_is_read(tmp_path):
    call = {"type": "function_call", "name": "shell", "call_id": "1"}
    own = {"type": "function_call", "name": "memory_search", "namespace": "mcp__rlm"}
    path = rollout(
        tmp_path / "rollout-x.jsonl",
        said("developer", "Recalled: use tabs"),
        said("user", "<environment_context>cwd</environment_context>"),
        said("user", "# AGENTS.md instructions for /work\n<INSTRUCTIONS>x</INSTRUCTIONS>"),
        said("user", "Make it faster"),
        ("event_msg", {"type": "user_message", "message": "Make it faster"}),
        ("response_item", {**call, "arguments": json.dumps({"command": ["bash", "-lc", "make"]})}),
        ("response_item", {"type": "function_call_output", "call_id": "1",
                           "output": json.dumps({"output": "boom", "metadata": {"exit_code": 2}})}),
        ("response_item", {**call, "name": "exec_command", "call_id": "2",
                           "arguments": '{"cmd": "make all"}'}),
        ("response_item", {"type": "function_call_output", "call_id": "2",
                           "output": "Wall time: 1s\nProcess exited with code 0\nOutput:\nok"}),
        ("response_item", {"type": "custom_tool_call", "name": "apply_patch", "call_id": "3",
                           "input": "*** Begin Patch\n*** Update File: src/a.py\n+x\n"}),
        ("response_item", {**own, "call_id": "4", "arguments": "{}"}),
        ("response_item", {"type": "function_call_output", "call_id": "4", "output": "a memory"}),
        ("world_state", {}), ("novelty", {"x": 1}),
        said("assistant", "Twice as fast."),
    )  # fmt: skip
    session = read_transcript(path)
    assert (session.agent, session.session_id) == ("codex", "c1")
    assert texts(session) == [("user", "Make it faster"), ("assistant", "Twice as fast.")]
    turn = session.turns[1]
    assert [(c.text, c.ok, c.exit_code) for c in turn.commands] == [
        ("make", False, 2), ("make all", True, 0)
    ]  # fmt: skip
    assert turn.files == ["src/a.py"] and session.unknown == {"novelty": 1}
    assert {"Recalled: use tabs", "a memory"} <= set(session.injected)


def test_prompts_of_another_agent_are_no_persons(tmp_path):
    path = rollout(tmp_path / "r.jsonl", said("user", "from now on do x"), said("assistant", "ok"))
    lines = path.read_text().splitlines()
    meta = json.loads(lines[0])
    meta["payload"]["source"] = {"subagent": "review"}
    path.write_text("\n".join([json.dumps(meta), *lines[1:]]) + "\n")
    assert texts(read_transcript(path)) == [("assistant", "ok")]


ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


def test_a_compressed_rollout_is_read(tmp_path):
    zstd = pytest.importorskip(ZSTD)
    path = rollout(tmp_path / "r.jsonl", said("user", "Fix it"), said("assistant", "ok"))
    packed = path.with_suffix(".jsonl.zst")
    packed.write_bytes(zstd.compress(path.read_bytes()))
    read = read_transcript(packed)
    assert texts(read) == texts(read_transcript(path)) and (read.session_id, read.agent) == (
        "c1", "codex")  # fmt: skip
    for damaged in (b"x", packed.read_bytes()[:-9]):
        packed.write_bytes(damaged)
        with pytest.raises(ValidationError, match=r"zst is damaged, or not compressed"):
            read_transcript(packed)


def test_without_a_decompressor_the_message_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, ZSTD, None)
    (tmp_path / "r.jsonl.zst").write_bytes(b"x")
    with pytest.raises(StoreError, match=r"`pip install backports\.zstd`"):
        read_transcript(tmp_path / "r.jsonl.zst")


# -- Cursor, and any of them


def test_a_cursor_transcript_is_read(tmp_path):
    path = write_lines(
        tmp_path / "abc.jsonl",
        {"role": "user", "message": {"content": [
            {"type": "text", "text": "<attached>x</attached><user_query>Add a test</user_query>"}]}},
        {"role": "assistant", "message": {"content": [
            {"type": "text", "text": "Sure."},
            {"type": "tool_use", "name": "Shell", "input": {"command": "npm test"}},
            {"type": "tool_use", "name": "Write", "input": {"path": "a.ts"}}]}},
        {"role": "system"},
    )  # fmt: skip
    session = read_transcript(path)
    assert (session.agent, session.session_id) == ("cursor", "abc")
    assert texts(session) == [("user", "Add a test"), ("assistant", "Sure.")]
    assert session.turns[1].commands[0].ok is None and session.turns[1].files == ["a.ts"]
    assert session.ended_at and session.unknown == {"system": 1}


def test_a_file_that_is_gone_or_no_transcript_is_said(tmp_path):
    with pytest.raises(NotFound, match="is gone"):
        read_transcript(tmp_path / "none.jsonl")
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n')
    with pytest.raises(ValidationError, match="--agent"):
        identify(tmp_path / "x.jsonl")
    assert identify(tmp_path / "x.jsonl", "claude") == ("claude", "x")


VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20)
    | st.sampled_from(["user", "assistant", "message", "text", "tool_use", "tool_result"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["type", "message", "content", "payload", "role", "text", "input", "id",
                         "name", "command", "timestamp", "output", "arguments", "toolUseResult",
                         "call_id", "isMeta", "attachment", "metadata", "answers"]),
        inner, max_size=5),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.parametrize("read", [read_claude, read_codex, read_cursor])
@settings(max_examples=50)
@given(st.lists(st.dictionaries(st.sampled_from(["type", "message", "payload", "role", "content",
                                                 "timestamp", "toolUseResult", "attachment"]),
                                VALUE, max_size=5), max_size=6))  # fmt: skip
def test_no_line_makes_a_reader_fail(read, lines):
    builder = SessionBuilder("claude", "s")
    read(lines, builder)
    for number, turn in enumerate(builder.finish().turns, 1):
        assert turn.number == number and turn.role in ("user", "assistant")


@given(st.lists(st.tuples(st.text("ab <>/", max_size=9), st.text("cd\n", max_size=9)), max_size=5))
def test_what_is_private_never_stays(parts):
    text = "".join(f"{open_}<private>SECRET{inside}</private>" for open_, inside in parts)
    assert "SECRET" not in drop_private(text)
