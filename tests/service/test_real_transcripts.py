"""Transcripts that Claude Code 2.1.197 and Codex 0.169.0 wrote in the story of `tests/hosts`.

Long texts of the hosts are shortened and paths replaced, nothing else.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rlm.service import find_decisions, read_transcript

FIXTURES = Path(__file__).parent / "fixtures"
CORRECTION = "No, from now on run `make check` before every commit, never npm test."
HOSTS = ("claude", "codex")


@pytest.mark.parametrize("host", HOSTS)
def test_a_session_with_a_correction(host):
    session = read_transcript(FIXTURES / f"{host}_corrected.jsonl")
    assert (session.agent, session.cwd, session.truncated) == (host, "/work/shop", False)
    assert [(turn.role, turn.text) for turn in session.turns] == [
        ("user", "How do you test a change here?"),
        ("assistant", "I will run npm test after each change."),
        ("user", CORRECTION),
        ("assistant", "Understood, make check it is."),
    ]
    (command,) = session.turns[1].commands
    assert (command.text, command.ok, command.exit_code) == ("make check", False, 2)
    assert "1 failed: test_cart" in command.error
    assert not session.unknown, "a type of line that is new: add it to the reader"
    (decision,) = find_decisions(session)
    assert decision.quote == CORRECTION


@pytest.mark.parametrize("host", HOSTS)
def test_a_session_that_was_shown_the_lesson(host):
    session = read_transcript(FIXTURES / f"{host}_recalled.jsonl")
    assert session.texts("user") == ["I want to commit my work. What comes first?"]
    assert session.texts("assistant") == ["Noted."]
    assert not any(turn.commands for turn in session.turns), "our own tools are no commands"
    injected = "\n".join(session.injected)
    assert "Noted in earlier sessions of this project (rlm" in injected
    assert '"hits"' in injected and "Deploys need a tag" in injected
    assert not session.unknown and find_decisions(session) == []
