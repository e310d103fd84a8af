"""`rlm eval`: three arms side by side, as a table, as JSON and as a page."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_running import Run

from rlm.cli import evaluate as cli
from rlm.evaluate import Evaluation, InPrompt, Measured


def tables_of(text: str) -> list[list[str]]:
    """The lines of each table; an empty line ends one."""
    parts = ([line for line in part.splitlines() if "\t" in line] for part in text.split("\n\n"))
    return [part for part in parts if part]


def test_the_arms_stand_side_by_side_and_a_page_is_written(
    rlm: Run, home: Path, lesson: Path, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    line = (
        "eval",
        "--curriculum",
        str(lesson),
        "--model",
        "offline",
        "--store-dir",
        str(tmp_path / "stores"),
    )
    done = rlm(*line, "--html", str(page))
    assert done.code == 0, done.err
    arms, gaps, kinds, memories = [
        [line.split("\t") for line in part] for part in tables_of(done.out)
    ]
    assert [row[0] for row in arms] == ["memory", "off", "packs", "trained"]
    assert all(row[1] == "1/1" for row in arms[1:])
    assert arms[0][-1] == "seconds [95 %]" and all(
        float(row[-1].split()[0]) > 0 for row in arms[1:]
    )
    assert gaps[0] == ["against off", "success [95 %]", "steps [95 %]", "tokens", "seconds"]
    assert [row[0] for row in gaps[1:]] == ["packs", "trained"]
    assert gaps[2][1].startswith("+0% [") and gaps[2][2].startswith("-")
    assert kinds[0] == ["kind", "off", "packs", "trained"] and kinds[1][0] == "subclasses"
    assert all(cell.startswith("1/1 in ") for cell in kinds[1][1:])
    assert memories[0] == ["arm", "memory", "title", "given", "used", "helped", "harmed"]
    assert ("trained", "1", "1", "1", "0") in {(row[0], *row[3:]) for row in memories[1:]}
    assert "it does not show that memory helps or harms a model" in " ".join(done.out.split())
    assert "leakage, off: at most " in done.err
    assert "3/3 boats-sub-03 trained: right" in done.err and str(page) in done.err
    assert page.read_text("utf-8").startswith(
        "<!doctype html>"
    ) and "boats-sub-03" in page.read_text("utf-8")
    assert "it does not show that memory helps" in page.read_text("utf-8")
    found = rlm(*line, "--arms", "trained,off", "--json")
    assert not found.json["is_language_model"] and "does not show" in found.json["shows"]
    assert found.err == "" and list(found.json["arms"]) == ["trained", "off"]
    assert (
        found.json["trained"]["earlier"] == 2
        and found.json["kinds"]["subclasses"]["off"]["tasks"] == 1
    )
    assert not (home / ".claude").exists()


def test_the_arm_on_is_a_copy_of_the_own_store(rlm: Run, db: str, lesson: Path) -> None:
    line = ("eval", str(lesson), "--model", "offline", "--arms", "off,on", "--db", db)
    missing = rlm(*line)
    assert missing.code == 1 and "there is no store at" in missing.err
    words = ("List direct subclasses", "Query rdfs:subClassOf for the direct subclasses.")
    rlm("memory", "add", "--title", words[0], "--content", words[1], "--db", db)
    before = rlm("memory", "list", "--json", "--db", db).json
    done = rlm(*line, "--json")
    (run,) = [run for run in done.json["runs"] if run["arm"] == "on"]
    assert [each["title"] for each in run["memories"]] == ["List direct subclasses"]
    assert rlm("memory", "list", "--json", "--db", db).json == before
    assert rlm("logs", "list", "--json", "--db", db).json == []


def test_several_files_are_one_suite(rlm: Run, lesson: Path, tmp_path: Path) -> None:
    text = lesson.read_text("utf-8")
    line = ("eval", str(lesson), "--model", "offline", "--arms", "off")
    twice = rlm(*line, "--curriculum", str(lesson))
    assert twice.code == 2 and "boats-sub-01 is in" in twice.err
    other = tmp_path / "more_v1.yaml"
    other.write_text(text.replace("boats-sub", "more-sub").replace("boats_v1", "more_v1"), "utf-8")
    done = rlm(*line, str(other), "--json")
    assert done.json["curriculum_id"] == "boats_v1 + more_v1", done.err
    assert [run["task_id"] for run in done.json["runs"]] == ["boats-sub-03", "more-sub-03"]
    none = rlm("eval", "--model", "offline")
    assert none.code == 2 and "there is no curriculum: `rlm eval FILE`" in none.err


def test_a_file_that_does_not_parse_is_refused_before_anything_is_asked(
    rlm: Run, lesson: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.yaml"
    for text in ("tasks: [", "\x00", "- just\n- a list\n", "", "id: a\ntasks: &a [*a]\n"):
        broken.write_text(text, "utf-8")
        done = rlm("eval", str(lesson), str(broken), "--model", "offline")
        assert done.code == 2 and done.out == "" and done.err.startswith("error: "), text
        assert "broken.yaml" in done.err and done.err.count("\n") == 1


def test_the_tables_fit_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    """With a hundred runs, dozens of steps and a hundred thousand tokens each."""
    runs = [
        Measured(arm, f"t{task}", "properties_by_domain", "Q?", trial, task > 9, True, 9 + 7 * task, 123_456, 9.0, "",
                 max_single_return=1_000, context_size=1_234_567, flags=("x",),
                 memories=(InPrompt(f"{task:016x}", "A title " * 9, True),) if arm != "off" else ())
        for arm in ("off", "packs", "trained") for task in range(12) for trial in range(12)
    ]  # fmt: skip
    cli._print_tables(
        Evaluation("c", "prov", "m", ("off", "packs", "trained"), 12, None, True, runs)
    )
    for table in tables_of(capsys.readouterr().out):
        columns = zip(*[line.split("\t") for line in table], strict=True)
        assert sum(max(len(cell) for cell in column) + 2 for column in columns) - 2 <= 80, table


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (("--arms", "of"), ("'of'", "off, packs, trained, on")),
        (("--trials", "0"), ("--trials",)),
        (("--scaling", "3"), ("scaling is '3'",)),
        (("--model", "nobody/x"), ("nobody",)),
        (("--html", "/dev/null/x.html"), ("--html",)),
        (("--html", "."), ("--html", "name a file")),
        (("--log-dir", "/dev/full"), ("logs cannot be written",)),
        (("--store-dir", "/dev/full"), ("cannot be kept",)),
    ],
)
def test_bad_input_is_one_line(
    rlm: Run, lesson: Path, line: tuple[str, ...], words: tuple[str, ...]
) -> None:
    given = () if "--model" in line else ("--model", "offline")
    done = rlm("eval", "--curriculum", str(lesson), *given, *line)
    assert done.code == 2 and done.out == "" and done.err.count("\n") == 1, done.err
    assert all(word in done.err for word in words), done.err


def test_a_task_without_a_kind_is_told(rlm: Run, lesson: Path) -> None:
    text = lesson.read_text("utf-8").replace("tags: [subclasses", "tags: [sub-clases", 1)
    lesson.write_text(text, "utf-8")
    done = rlm("eval", "--curriculum", str(lesson), "--model", "nonsense")
    assert done.code == 2 and done.err.count("\n") <= 2
    told = rlm("eval", "--curriculum", str(lesson), "--model", "offline")
    assert "is no kind of question: did you mean subclasses?" in told.err


def test_an_old_report_stays_when_something_is_wrong(
    rlm: Run, lesson: Path, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    page.write_text("old", "utf-8")
    lesson.write_text(lesson.read_text("utf-8").replace("tags:", "tagz:"), "utf-8")
    assert (
        rlm("eval", "--curriculum", str(lesson), "--model", "offline", "--html", str(page)).code
        == 2
    )
    assert page.read_text("utf-8") == "old"
    assert rlm("eval", "--curriculum", str(lesson), "--html", str(tmp_path / "new.html")).code == 2
    assert not (tmp_path / "new.html").exists()
