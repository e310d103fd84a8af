"""`rlm memory edit` without options: the form, and a real $EDITOR."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_running import Run
from hypothesis import given
from hypothesis import strategies as st

from rlm import MemoryItem, Scope, ValidationError
from rlm.cli.form import read_form, write_form

texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=40)
contents = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\r\x00"), min_size=1
)


@given(texts, texts, contents, st.lists(texts, max_size=3), st.booleans())
def test_a_form_that_nobody_touched_changes_nothing(
    title: str, description: str, content: str, tags: list[str], transferable: bool
) -> None:
    scope = Scope("prov", ("list",), (), transferable)
    item = MemoryItem(
        title, description, content.strip() or "x", tags=tags, scope=scope, confidence=0.3
    )
    assert read_form(write_form(item), item) == {}


def test_a_form_keeps_the_indentation_of_the_first_line() -> None:
    item = MemoryItem(title="T", description="d", content="    if x:\n        y()")
    assert read_form(write_form(item).replace("y()", "z()"), item) == {
        "content": "    if x:\n        z()"
    }


def test_a_form_gives_back_what_was_changed() -> None:
    item = MemoryItem("Old", "How", "Do.\n+++\nMore.", tags=["a"], confidence=0.8)
    text = write_form(item).replace('"Old"', '"New"').replace('ontology = ""', 'ontology = "prov"')
    changes = read_form(text.replace("Do.", "Do it."), item)
    assert changes["title"] == "New" and changes["content"] == "Do it.\n+++\nMore."
    assert changes["scope"] == {
        "ontology": "prov",
        "task_types": [],
        "tools": [],
        "transferable": True,
    }
    assert changes.keys() == {"title", "content", "scope"}


@pytest.mark.parametrize("title", ["a\x7fb", "a\tb", 'quote " and \\', "\U0001f600"])
def test_characters_that_toml_is_strict_about_survive(title: str) -> None:
    item = MemoryItem(title, "d", "c", confidence=0.5)
    assert read_form(write_form(item), item) == {}


@pytest.mark.parametrize(
    "text", ["", "no fences", "+++\ntitle = \n+++\nx", "+++\ntrust = 'trusted'\n+++\nx", "+++\n"]
)
def test_a_form_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        read_form(text, MemoryItem("T", "d", "c"))


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make $EDITOR a program that runs one Python statement over the file's `text`."""

    def use(statement: str) -> None:
        program = tmp_path / "editor.py"
        program.write_text(
            "import os, pathlib, sys\n"
            "file = pathlib.Path(sys.argv[1])\n"
            "text = file.read_text('utf-8')\n"
            f"{statement}\n"
            "if text is not None:\n"
            "    file.write_text(text, 'utf-8')\n"
            "    os.utime(file, (2e9, 2e9))\n",
            "utf-8",
        )
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.setenv("EDITOR", f"{sys.executable} {program}")

    return use


def test_what_the_editor_saves_is_stored(
    rlm: Run, add: Callable[..., str], db: str, editor: Callable[[str], None]
) -> None:
    found = add("Old title", "Old steps.")
    editor(
        "text = text.replace('Old title', 'Neuer Titel: Größe').replace('Old steps.', 'New steps.')"
    )
    edited = rlm("memory", "edit", found, "--db", db)
    assert edited.code == 0 and edited.err == "changed content, description, title\n"
    item = rlm("memory", "show", edited.out.strip(), "--db", db, "--json").json
    assert item["title"] == "Neuer Titel: Größe" and item["content"] == "New steps."


@pytest.mark.parametrize("statement", ["text = None", "pass"])
def test_leaving_the_editor_without_a_change_changes_nothing(
    rlm: Run, add: Callable[..., str], db: str, editor: Callable[[str], None], statement: str
) -> None:
    found = add()
    editor(statement)
    done = rlm("memory", "edit", found, "--db", db)
    assert done.code == 0 and done.out.strip() == found and done.err == "nothing changed\n"


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("text = 'spoilt'", "+++"),
        ("sys.exit(3)", "editor"),
        ("text = text.replace('0.8', '9.5')", "9.5"),
    ],
)
def test_an_editor_that_fails_or_spoils_the_form_changes_nothing(
    rlm: Run,
    add: Callable[..., str],
    db: str,
    editor: Callable[[str], None],
    statement: str,
    word: str,
) -> None:
    found = add()
    editor(statement)
    failed = rlm("memory", "edit", found, "--db", db)
    assert failed.code == 2 and word in failed.err.lower()
    assert rlm("memory", "show", found, "--db", db, "--json").json["confidence"] == 0.8
