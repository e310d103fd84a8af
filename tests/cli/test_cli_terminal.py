"""Stored text is not ours: whatever it holds, it must not steer the terminal."""

from __future__ import annotations

import io
import json
import os
import pty
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_running import Run, on_a_pty
from hypothesis import given
from hypothesis import strategies as st

from rlm import open_store
from rlm.cli import main, output
from rlm.store.sqlite.backend import SQLiteMemoryBackend

HOSTILE = "[bold red]X[/] \x1b]0;pwned\x07\x1b[2J \x9b31m \u202etxet\u2066 \x7f :smile:"


def poison(db: str) -> None:
    """Put text into the store behind the gate's back: an older rlm, or another program, may have."""
    store = open_store(db, embedder="none")
    assert isinstance(store, SQLiteMemoryBackend)
    with store, store.db.write():
        store.db.connection.execute(
            "UPDATE memory_items SET title = ?, description = ?, content = ?", (HOSTILE,) * 3
        )


def harmless(text: str) -> bool:
    return not any(mark in text for mark in ("\x1b", "\x07", "\x9b", "\u202e", "\u2066", "\x7f"))


LINES = [
    ("memory", "list"),
    ("memory", "search", "pwned"),
    ("memory", "search", "pwned", "--explain"),
    ("memory", "show", "{id}"),
    ("memory", "list", "--json"),
    ("memory", "show", "{id}", "--json"),
    ("memory", "rm", "{id}"),
]


@pytest.mark.parametrize("line", LINES)
def test_escape_codes_and_reordering_marks_are_shown_not_sent(
    rlm: Run, add: Callable[..., str], db: str, line: tuple[str, ...]
) -> None:
    found = add()
    poison(db)
    done = rlm(*(part.format(id=found) for part in line), "--db", db)
    assert done.code == 0 and harmless(done.out + done.err)


def test_json_still_carries_the_text_as_it_is(rlm: Run, add: Callable[..., str], db: str) -> None:
    found = add()
    poison(db)
    assert rlm("memory", "show", found, "--db", db, "--json").json["title"] == HOSTILE


def test_an_error_repeats_no_escape_code(rlm: Run, db: str, add: Callable[..., str]) -> None:
    add()
    for line in (
        ("memory", "show", "\x1b[2Jxyz"),
        ("\x1b[2J",),
        ("memory", "list", "--db", "/\x1b[2J/x"),
    ):
        failed = rlm(*line, *(() if "--db" in line or len(line) == 1 else ("--db", db)))
        assert harmless(failed.out + failed.err)


@given(st.text())
def test_plain_text_is_harmless_and_json_loses_nothing(text: str) -> None:
    assert harmless(output.plain(text)) and harmless(output.encode_json(text))
    assert json.loads(output.encode_json(text)) == text


def test_on_a_terminal_a_table_shows_markup_as_text(add: Callable[..., str], db: str) -> None:
    add()
    poison(db)
    text = on_a_pty("memory", "list", "--db", db)
    assert "outcome" in text and "[bold red]X[/]" in text and ":smile:" in text
    assert (
        "\\x1b]0;pwned" in text
        and "\x1b]0;" not in text
        and "\x1b[2J" not in text
        and "\u202e" not in text
    )


def test_a_pipe_gets_the_names_of_the_columns_then_tabs(
    rlm: Run, add: Callable[..., str], db: str
) -> None:
    made = add()
    heads, row = [line.split("\t") for line in rlm("memory", "list", "--db", db).out.splitlines()]
    assert heads == ["id", "made", "kind", "level", "outcome", "trust", "conf", "title"]
    assert len(row) == len(heads) and row[0] == made
    assert rlm("memory", "list", "--db", db, "--tag", "none").out == "", "no row, no header"


def test_output_survives_a_narrow_encoding(
    db: str, home: Path, monkeypatch: pytest.MonkeyPatch, add: Callable[..., str]
) -> None:
    add("Größe finden", "Messen.")
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(["memory", "list", "--db", db]) == 0
    assert b"Gr\\xf6\\xdfe finden" in raw.getvalue()


@pytest.fixture
def able(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that can do more than print lines, whatever runs the tests."""
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.mark.usefixtures("able")
def test_a_bar_appears_only_on_a_terminal_and_only_after_a_while() -> None:
    quiet = io.StringIO()
    with output.progress("working", 3, stream=quiet, patience_s=0.0) as advance:
        advance(3)
    assert quiet.getvalue() == ""
    outer, inner = pty.openpty()
    with os.fdopen(inner, "w") as stream:
        with output.progress("patient", 3, stream=stream, patience_s=60.0) as advance:
            advance(3)
        stream.write("between\n")
        stream.flush()
        seen = ""
        with output.progress("[red]working", 3, stream=stream, patience_s=0.0) as advance:
            while "working" not in seen:  # reading waits until the bar is there
                seen += os.read(outer, 1 << 16).decode()
                advance(1)
    os.close(outer)
    assert "patient" not in seen and "[red]working" in seen


@pytest.mark.usefixtures("able")
def test_a_total_is_asked_for_when_a_bar_appears() -> None:
    outer, inner = pty.openpty()
    asked: list[str] = []
    with os.fdopen(inner, "w") as stream:
        seen = ""
        for patience, name in ((60.0, "patient"), (0.0, "working")):
            with output.progress(
                name, lambda name=name: asked.append(name) or 4, stream=stream, patience_s=patience
            ) as advance:
                advance(2)
                while name == "working" and "50%" not in seen:
                    seen += os.read(outer, 1 << 16).decode()
    os.close(outer)
    assert "patient" not in seen and asked == ["working"]
