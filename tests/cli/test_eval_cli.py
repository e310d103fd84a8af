"""`rlm eval`: three arms side by side, as a table, as JSON and as a page."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_running import Run


def test_the_arms_stand_side_by_side_and_a_page_is_written(rlm: Run, home: Path, lesson: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    line = ("eval", "--curriculum", str(lesson), "--model", "offline", "--store-dir", str(tmp_path / "stores"))
    done = rlm(*line, "--html", str(page))
    assert done.code == 0, done.err
    rows = [text.split("\t") for text in done.out.splitlines() if "\t" in text]
    assert [row[0] for row in rows] == ["off", "packs", "trained", "subclasses"]
    assert all(row[1] == "1/1" for row in rows[:3]) and rows[3][1::2] == ["1/1", "1/1", "1/1"]
    assert "trained against off: success +0% [" in done.out and "steps -" in done.out
    assert "3/3 boats-sub-03 trained: right" in done.err and str(page) in done.err
    assert page.read_text("utf-8").startswith("<!doctype html>") and "boats-sub-03" in page.read_text("utf-8")
    found = rlm(*line, "--arms", "trained,off", "--json")
    assert found.err == "" and list(found.json["arms"]) == ["trained", "off"]
    assert found.json["trained"]["earlier"] == 2 and found.json["kinds"]["subclasses"]["off"]["tasks"] == 1
    assert not (home / ".claude").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (("--arms", "on"), ("'on'", "off, packs, trained")),
        (("--trials", "0"), ("--trials",)),
        (("--scaling", "3"), ("scaling is '3'",)),
        (("--model", "nobody/x"), ("nobody",)),
        (("--html", "/dev/null/x.html"), ("--html",)),
        (("--html", "."), ("--html", "name a file")),
        (("--log-dir", "/dev/full"), ("logs cannot be written",)),
        (("--store-dir", "/dev/full"), ("cannot be kept",)),
    ],
)
def test_bad_input_is_one_line(rlm: Run, lesson: Path, line: tuple[str, ...], words: tuple[str, ...]) -> None:
    given = () if "--model" in line else ("--model", "offline")
    done = rlm("eval", "--curriculum", str(lesson), *given, *line)
    assert done.code == 2 and done.out == "" and done.err.count("\n") == 1, done.err
    assert all(word in done.err for word in words), done.err


def test_a_task_without_a_kind_is_told_and_one_that_offline_cannot_read_is_refused(rlm: Run, lesson: Path) -> None:
    text = lesson.read_text("utf-8").replace("tags: [subclasses", "tags: [sub-clases", 1)
    asked = "Which classes are direct subclasses of Crew?"
    assert asked in text
    lesson.write_text(text.replace(asked, "¿Cuáles son las subclases de Crew?"), "utf-8")
    done = rlm("eval", "--curriculum", str(lesson), "--model", "offline")
    first, last = done.err.splitlines()
    assert "'sub-clases' is none: did you mean subclasses?" in first
    assert done.code == 2 and last.startswith("error: ") and "task boats-sub-02: the question is in Spanish" in last


def test_an_old_report_stays_when_something_is_wrong(rlm: Run, lesson: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text("old", "utf-8")
    lesson.write_text(lesson.read_text("utf-8").replace("tags:", "tagz:"), "utf-8")
    assert rlm("eval", "--curriculum", str(lesson), "--model", "offline", "--html", str(page)).code == 2
    assert page.read_text("utf-8") == "old"
    assert rlm("eval", "--curriculum", str(lesson), "--html", str(tmp_path / "new.html")).code == 2
    assert not (tmp_path / "new.html").exists()
