"""Tables on a terminal: readable at 80 columns and below, ids whole, titles never a column of
letters."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_running import Run, on_a_terminal

from rlm import MemoryItem, open_store

TITLES = (
    "Find the subclasses of a class with a property path",
    "Größe messen",
    "Supercalifragilisticexpialidociousandthensomemorelettersthatnobodyeverreads",
    "検索の前にラベルを確かめてから説明を読むこと",
)


def lines_of(columns: int, *args: str) -> list[str]:
    """What a terminal of that width shows, without the codes for bold."""
    sent = on_a_terminal(*args, columns=columns).replace("\r\n", "\n")
    return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", sent).splitlines()]


def squeezed(lines: list[str]) -> str:
    """All that was shown with no white space, to find a text that was wrapped."""
    return "".join("".join(lines).split())


def assert_readable(lines: list[str], columns: int, ids: list[str]) -> None:
    from rich.cells import cell_len

    assert max(map(cell_len, lines)) <= columns, lines
    assert all(any(each in line.split() for line in lines) for each in ids), lines
    assert not any(0 < len(line.strip()) <= 2 for line in lines), lines


@pytest.fixture
def filled(db: str) -> list[str]:
    """Memories with titles of every kind, one of them in quarantine; their ids."""
    with open_store(db, embedder="none") as store:
        made = [
            MemoryItem(title, "A sentence about subclasses. " * 20, f"Step {title}")
            for title in TITLES
        ]
        made.append(
            MemoryItem("Held back for a person to read", "", "Do subclasses.", trust="quarantined")
        )
        return store.add_many(made)


@pytest.mark.parametrize("columns", [70, 80, 100])
def test_memory_list_is_readable(db: str, filled: list[str], columns: int) -> None:
    lines = lines_of(columns, "memory", "list", "--db", db)
    assert_readable(lines, columns, filled)
    for title in TITLES:
        assert title.replace(" ", "") in squeezed(lines), "a title is wrapped, not lost"
    assert len(lines) <= 1 + 3 * len(filled) + 1
    assert any("quarantined" in line for line in lines)


def test_a_wide_terminal_has_one_line_for_each(db: str, filled: list[str]) -> None:
    lines = lines_of(160, "memory", "list", "--db", db)
    assert len(lines) == 1 + len(filled)
    assert lines[0].split() == ["id", "made", "kind", "level", "outcome", "trust", "conf", "title"]
    assert all(line.startswith(tuple(filled)) for line in lines[1:])


def test_memory_search_is_readable_and_a_long_description_is_cut(
    db: str, filled: list[str]
) -> None:
    lines = lines_of(80, "memory", "search", "subclasses", "--db", db)
    assert_readable(lines, 80, filled[:4])
    start, end = lines[0].index("title"), lines[0].index("description")
    assert TITLES[0].replace(" ", "") in squeezed([line[start:end] for line in lines])
    assert sum("…" in line for line in lines) >= 4 and len(lines) <= 1 + 3 * 4


def test_memory_review_is_readable(db: str, filled: list[str]) -> None:
    lines = lines_of(80, "memory", "review", "--db", db)
    assert_readable(lines, 80, filled[4:])


@pytest.mark.parametrize("line", [("graph", "search", "subclasses"), ("graph", "list")])
def test_the_tables_of_nodes_are_readable(rlm: Run, db: str, line: tuple[str, ...]) -> None:
    ids = [
        rlm("graph", "add", kind, f"All subclasses {'and more ' * length}", "--db", db).out.strip()
        for kind, length in (("experience", 2), ("fact", 40))
    ]
    lines = lines_of(80, *line, "--db", db)
    assert_readable(lines, 80, ids)
    unmarked = squeezed(lines).replace("«", "").replace("»", "")
    assert "Allsubclassesandmoreandmore" in unmarked
    assert any(line.endswith("…") for line in lines)


def test_pack_list_is_readable(rlm: Run, add: Callable[..., str], db: str, tmp_path: Path) -> None:
    rlm("pack", "import", "core_v1", "--db", db)
    name = "a-pack-with-a-name-that-goes-on-and-on"
    file, key = tmp_path / f"{name}.jsonl", str(tmp_path / "key.pem")
    file.write_text('{"title":"Read first","content":"Then write."}\n', "utf-8")
    rlm("pack", "keygen", key)
    rlm("pack", "sign", str(file), "--seal", "--key", key)
    rlm("pack", "import", str(file), "--db", db)
    rlm("pack", "rollback", "core_v1", "--db", db)
    lines = lines_of(80, "pack", "list", "--db", db)
    assert_readable(lines, 80, ["core_v1"])
    assert name in squeezed(lines)


def test_a_column_that_is_empty_is_left_out(rlm: Run, db: str) -> None:
    rlm("pack", "import", "core_v1", "--db", db)
    header = lines_of(80, "pack", "list", "--db", db)[0]
    assert "trust" in header and "rolled back" not in header
    piped = rlm("pack", "list", "--db", db).out.splitlines()
    assert [line.count("\t") for line in piped] == [7, 7], (
        "a program finds every column where it always is"
    )
    assert "rolled back" in piped[0]
