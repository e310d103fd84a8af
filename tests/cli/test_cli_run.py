"""`rlm run` and `rlm logs show`: the answer on stdout, talk on stderr, exit codes that mean
something."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rlm.agent import run
from rlm.cli import AGENT, main
from rlm.cli.run import learning_lines, verdict_words

TEXT = "one line\n" * 500 + "the needle is here\n" + "one line\n" * 500


@pytest.fixture
def script(tmp_path):
    """`script("reply", …)` is the name of a model that answers so."""

    def write(*replies):
        path = tmp_path / "script.json"
        path.write_text(json.dumps(list(replies)))
        return f"scripted:{path}"

    return write


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "big.txt"
    path.write_text(TEXT)
    return str(path)


LOOK = "```repl\nprint(context.find('needle'))\n```"


def test_the_answer_is_data_and_the_rest_is_talk(rlm, db, script, text):
    result = rlm(
        "run",
        "--db",
        db,
        "-c",
        text,
        "-q",
        "Where?",
        "--model",
        script(LOOK, "FINAL(in the middle)"),
    )
    assert (result.code, result.out) == (0, "in the middle\n")
    assert (
        "step 1: 1 block" in result.err
        and "answered in 2 steps" in result.err
        and "kept as t-" in result.err
    )


def test_json_is_one_document(rlm, db, script, text):
    result = rlm(
        "run",
        "--db",
        db,
        "-c",
        text,
        "-q",
        "Where?",
        "--model",
        script(LOOK, "FINAL(there)"),
        "--json",
    )
    assert result.code == 0 and result.err == ""
    assert (
        result.json["answer"] == "there"
        and result.json["converged"] is True
        and result.json["iterations"] == 2
    )
    assert result.json["leakage"]["memory_items_injected"] == 0


def test_a_run_that_does_not_finish_has_its_own_exit_code(rlm, db, script, text):
    model = script(LOOK, "FINAL(a guess)")
    result = rlm(
        "run", "--db", db, "-c", text, "-q", "Where?", "--model", model, "--max-iters", "1"
    )
    assert (
        result.code == 1
        and result.out == "a guess\n"
        and "not finished (ran out of iterations" in result.err
    )


def test_several_texts_and_standard_input(rlm, db, script, text):
    model = script(
        "```repl\nprint(sorted(context), len(context['stdin']))\n```",
        "FINAL_VAR(context)",
        "FINAL(x)",
    )
    result = rlm(
        "run",
        "--db",
        db,
        "-c",
        text,
        "-c",
        "-",
        "-q",
        "?",
        "--model",
        model,
        "-v",
        stdin=b"abc\xff",
    )
    assert "['big.txt', 'stdin'] 4" in result.err and result.code == 0


def test_verbose_shows_code_and_output(rlm, db, script, text):
    result = rlm(
        "run", "--db", db, "-c", text, "-q", "Where?", "--model", script(LOOK, "FINAL(x)"), "-v"
    )
    assert "  > print(context.find('needle'))" in result.err and "    4504" in result.err


@pytest.mark.req("RB-17")
def test_a_log_can_be_shown(rlm, db, script, text, tmp_path):
    model = script(LOOK, "FINAL(in the middle)")
    made = rlm(
        "run",
        "--db",
        db,
        "-c",
        text,
        "-q",
        "Where?",
        "--model",
        model,
        "--log-dir",
        str(tmp_path),
        "--json",
    )
    path = made.json["log_path"]
    shown = rlm("logs", "show", path)
    assert shown.code == 0
    for part in (
        "question  Where?",
        "answered, 2 steps",
        "judged    not checked: the run converged",
        "print(context.find('needle'))",
        "4504",
        "in the middle",
    ):
        assert part in shown.out
    assert (
        "You answer a question" not in shown.out
        and "You answer a question" in rlm("logs", "show", path, "--full").out
    )
    assert len(rlm("logs", "show", path, "--json").json["iterations"]) == 2


def test_an_equal_sub_call_is_asked_once_unless_told_otherwise(rlm, db, script, text, tmp_path):
    line = ("run", "--db", db, "-c", text, "-q", "?", "--log-dir", str(tmp_path / "logs"), "--json")
    model = script("```repl\nFINAL(llm_query('x') + llm_query('x'))\n```", "one", "two")
    for more, answer, remembered in (
        ((), "oneone", True),
        (("--no-query-cache",), "onetwo", False),
    ):
        result = rlm(*line, "--model", model, *more)
        assert result.json["answer"] == answer
        log = rlm("logs", "show", result.json["log_path"], "--json").json
        calls = log["iterations"][0]["code_blocks"][0]["result"]["rlm_calls"]
        assert [call["remembered"] for call in calls] == [False, remembered]


def test_a_run_is_recorded_and_replayed(rlm, db, script, text, tmp_path):
    tape = str(tmp_path / "tape.jsonl")
    first = rlm(
        "run",
        "--db",
        db,
        "-c",
        text,
        "-q",
        "?",
        "--model",
        script(LOOK, "FINAL(x)"),
        "--record",
        tape,
    )
    assert first.code == 0
    assert rlm("run", "--db", db, "-c", text, "-q", "?", "--replay", tape).out == "x\n"
    other = rlm("run", "--db", db, "-c", text, "-q", "something else", "--replay", tape)
    assert other.code == 1 and "something else" in other.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-c", "big.txt"], "there is no question"),
        (["a", "-q", "b", "-c", "big.txt"], "given twice"),
        (["-c", "big.txt", "-q", "?", "--base-url", "http://127.0.0.1:9/v1"], "give --model NAME"),
        (["-c", "nowhere.txt", "-q", "?"], "nowhere.txt cannot be read: No such file"),
        (["-c", ".", "-q", "?"], "cannot be read: Is a directory"),
        (["-c", "big.txt", "-q", "?", "--model", "openai/gpt"], "OPENAI_API_KEY"),
        (["-c", "big.txt", "-q", "?", "--max-iters", "0"], "--max-iters"),
        (["-c", "big.txt", "-q", "?", "--record", "a", "--replay", "b"], "not both"),
        (["-c", "big.txt", "-q", "?", "--replay", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_run_is_told(rlm, db, text, arguments, message):
    result = rlm("run", "--db", db, *arguments)
    assert result.code == 2 and message in result.err and result.out == ""
    assert "Traceback" not in result.err


PROV = str(Path(__file__).resolve().parents[2] / "ontology" / "prov.ttl")
ASKED = "What is Activity?"


@pytest.mark.parametrize(
    ("asked", "ontology", "more", "message"),
    [
        (ASKED, "nowhere.ttl", (), "there is no file nowhere.ttl"),
        (ASKED, "big.txt", (), "big.txt"),
        (ASKED, "nowhere", (), "the config names no endpoint"),
        ("", PROV, (), "the question is empty"),
        ("what " * 20_000, PROV, (), "has 100,000 characters, at most 50,000"),
        (ASKED, PROV, ("--model", "magic/one"), "is not a known provider"),
        (ASKED, PROV, ("--log-dir", "/dev/full"), "logs cannot be written to /dev/full (it is no folder)"),
        (ASKED, PROV, ("--scaling", "parallel:17"), "parallel:K or sequential:K, K from 1 to 16"),
        (ASKED, PROV, ("--lang", "xx$$"), "lang is 'xx$$': write a language tag"),
        (ASKED, PROV, ("--format", "paper"), "no RDF format 'paper'"),
    ],
    ids=["missing", "no RDF", "no endpoint", "empty", "100 kB", "model", "logs", "scaling", "lang",
         "format"],
)  # fmt: skip
def test_bad_input_is_one_line_and_nothing_is_made(
    rlm, db, text, tmp_path, asked, ontology, more, message
):
    given = () if "--model" in more else ("--model", "offline")
    given += () if "--log-dir" in more else ("--log-dir", str(tmp_path / "logs"))
    result = rlm("run", asked, "--db", db, "--ontology", ontology, *given, *more)
    assert result.code == 2 and result.out == "" and message in result.err
    assert result.err.startswith("error: ") and result.err.count("\n") == 1, (
        "it does not say first that it asks"
    )
    assert not list(tmp_path.glob("store.db*")) and not (tmp_path / "logs").exists()


def test_a_wrong_name_is_put_right_by_its_format_and_a_language_that_is_not_there_is_told(
    rlm, db, tmp_path
):
    odd = tmp_path / "odd.xyz"
    odd.write_bytes(Path(PROV).read_bytes())
    line = ("run", ASKED, "--db", db, "--ontology", str(odd), "--model", "offline", "--no-memory")
    result = rlm(*line, "--format", "turtle", "--lang", "ja")
    assert result.code == 0 and result.out.startswith("prov:Activity is a class"), result.err
    assert "no label is in 'ja': there are en" in result.err


def test_attempts_are_told_apart(rlm, db, script, text):
    model = script(LOOK, "FINAL(a)", LOOK, "FINAL(a)")
    result = rlm(
        "run", "--db", db, "-c", text, "?", "--model", model, "--scaling", "sequential:2", "-v"
    )
    assert "attempt 1, step 1: " in result.err and "attempt 2, step 2: " in result.err, result.err
    assert "  2 > print(context" in result.err


def test_the_question_is_an_argument_and_the_text_is_piped(rlm, db, script):
    model = script("```repl\nprint(len(context))\n```", "FINAL(four)")
    result = rlm("run", "--db", db, "How long?", "--model", model, "-v", stdin=b"\xef\xbb\xbfabcd")
    assert (
        (result.code, result.out) == (0, "four\n")
        and "    4" in result.err
        and "asking scripted" in result.err
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"Caf\xe9", "was read as windows-1252"), (b"\x00\xff", "is not text in a known encoding")],
)
def test_a_text_that_is_not_utf8_is_told(rlm, db, script, data, said):
    result = rlm("run", "--db", db, "?", "--model", script(LOOK, "FINAL(x)"), stdin=data)
    assert result.code == 0 and said in result.err


def test_code_is_no_answer(rlm, db, script, text):
    result = rlm(
        "run", "--db", db, "-c", text, "-q", "?", "--model", script(LOOK, LOOK), "--max-iters", "1"
    )
    assert (result.code, result.out) == (1, "")


def test_why_a_block_failed_is_told(rlm, db, script, text):
    result = rlm(
        "run",
        "--db",
        db,
        "-c",
        text,
        "-q",
        "?",
        "--model",
        script("```repl\n1 / 0\n```", "FINAL(x)"),
    )
    assert "1 block, 1 failed: ZeroDivisionError: division by zero" in result.err


def test_runs_are_listed_and_shown_by_their_id(rlm, db, script, text, tmp_path):
    assert rlm("logs", "list", "--db", db, "--json").json == []
    rlm("run", "--db", db, "-c", text, "-q", "First?", "--model", script(LOOK, "FINAL(one)"))
    made = rlm("run", "--db", db, "-c", text, "-q", "Second?", "--model", script(LOOK, "FINAL(two)"), "--log-dir",
               str(tmp_path / "logs"), "--json").json  # fmt: skip
    listed = rlm("logs", "list", "--db", db, "--json").json
    assert [entry["query"] for entry in listed] == ["Second?", "First?"] and listed[0][
        "converged"
    ] is True
    assert "First?" in rlm("logs", "list", "--db", db).out
    assert (
        "output of block 1" in rlm("logs", "show", made["trajectory_id"], "--db", db).out
    )  # from its log
    kept = rlm("logs", "show", listed[1]["trajectory_id"], "--db", db)
    assert (
        "question  First?" in kept.out
        and "judged    not checked: the run converged" in kept.out
        and "print(context.find('needle'))" in kept.out
        and "no log was written" in kept.err
    )
    gone = rlm("logs", "show", "t-000000000000", "--db", db)
    assert gone.code == 1 and "there is no run t-000000000000" in gone.err


def test_a_log_that_is_none_is_told(rlm, text, tmp_path):
    result = rlm("logs", "show", text)
    assert result.code == 2 and "big.txt" in result.err
    assert rlm("logs", "show", str(tmp_path / "gone.jsonl")).code == 1
    nothing = rlm("logs", "show", "nope")
    assert nothing.code == 1 and "nope is neither a log file nor the id of a run" in nothing.err


@pytest.mark.parametrize(
    ("success", "reason", "said"),
    [
        (
            True,
            "the run converged and everything that the answer names was seen",
            "not checked",
        ),
        (True, "verified: all 3 of 3", "success (medium confidence)"),
        (True, "the rows show it", "success (medium confidence)"),
        (False, "the answer is empty", "failure (medium confidence)"),
        (None, "no judge", "not judged, so nothing is learnt from it"),
    ],
)
def test_a_success_that_nobody_checked_says_so(success, reason, said):
    assert verdict_words({"is_success": success, "reason": reason, "confidence": "medium"}) == said


def test_the_reason_of_a_judge_is_whole(script, tmp_path):
    model = script(LOOK, "FINAL(in the middle)")
    result = run("Where?", None, str(tmp_path / "m.db"), context=TEXT, model=model)
    reason = f"the answer adds up {'824 + ' * 40}825, which nothing shows"
    said = {"is_success": False, "reason": reason, "confidence": "high", "missing": []}
    lines = [*learning_lines(replace(result, judgment=said))]
    assert f"judged a failure (high confidence): {reason}" in lines


def test_a_memory_that_was_read_whole_is_no_text_that_leaked(rlm, db, script, text):
    content = "- Look in the middle first, then at both ends.\n" * 40
    kept = rlm(
        *("memory", "add", "--title", "Look twice", "--content", content, "--db", db, "--json")
    ).json["memory_id"]
    read = f"```repl\nprint(mem_get('{kept}'))\n```"
    line = ("run", "Where?", "-c", text, "--db", db, "--model")
    told = rlm(*line, script(read, "FINAL(in the middle)"))
    assert "answered in 2 steps" in told.err and "much text" not in told.err
    document = rlm(*line, script(read, "FINAL(in the middle)"), "--json").json
    assert "(mem_get)" in document["leakage"]["flags"][0], "it is kept with the run"


# -- over an ontology, with memory
# ------------------------------------------------------------------------------


@pytest.mark.req("RB-15", "RB-17")
def test_the_agent_prints_the_json_of_the_specification(rlm, db, root, tmp_path, capsys):
    """`rlm-agent run --ontology … --ontology-name … --query … --db … --json`, as a coding agent
    calls it."""
    prov = str(root / "ontology" / "prov.ttl")
    line = [
        "run",
        "--ontology",
        prov,
        "--ontology-name",
        "prov",
        "--model",
        "offline",
        "--db",
        db,
        "--json",
    ]
    assert rlm("pack", "import", "core_v1", "--db", db).code == 0
    told = []
    for more in (["--query", "What is the Activity class?"], ["--query", "What is the Plan class?"],
                 ["--query", "What is the Agent class?", "--log-dir", ""]):  # fmt: skip
        capsys.readouterr()
        assert main([*line, *more], called=AGENT) == 0
        out, err = capsys.readouterr()
        assert err == ""
        told.append(json.loads(out))
    first, second, without = told
    assert without["log_path"] is None
    for name in ("answer", "iterations", "run_id", "trajectory_id", "log_path", "memories_used", "converged",
                 "judgment", "leakage", "usage"):  # fmt: skip
        assert name in first
    assert "prov:Activity" in first["answer"] and first["judgment"]["is_success"]
    used = second["memories_used"][0]
    assert set(used) >= {"memory_id", "rank", "score"} and used["rank"] == 1
    log = Path(second["log_path"])
    assert log.parent == tmp_path / "rlm-logs" and len(list(log.parent.iterdir())) == 2
    metadata, *turns = map(json.loads, log.read_text("utf-8").splitlines())
    assert {"type": "metadata", "query": "What is the Plan class?", "ontology_name": "prov", "ontology_path": prov,
            "memory_k": 3, "packs": ["core_v1"], "run_id": second["run_id"]}.items() <= metadata.items()  # fmt: skip
    assert metadata["memories"] == [
        each["memory_id"] for each in second["memories_used"] if each["injected"]
    ]
    assert [turn["type"] for turn in turns] == ["iteration"] * second["iterations"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("--ontology", "a.ttl", "--ontology", "b.ttl"), "there is no file a.ttl"),
        (("--import", "http://e/a=a.ttl", "--context", "x"), "there is no file a.ttl"),
        (("--ontology", "-", "--context", "-"), "cannot both be standard input"),
        (("--ontology-name", "prov"), "--ontology-name prov names no ontology"),
        ((), "standard input is empty"),
    ],
)
def test_what_cannot_be_meant_is_refused(rlm, db, line, said):
    result = rlm("run", "What is it?", *line, "--db", db, "--model", "offline", stdin=b"")
    assert result.code == 2 and said in result.err


def test_a_question_that_no_form_takes_is_not_answered_and_the_forms_are_listed(rlm, db):
    asked = rlm("run", "Was ist Activity?", "--db", db, "--ontology", PROV, "--model", "offline")
    assert asked.code == 1 and asked.out.startswith("Not answered: offline is no language model")
    assert "rlm ask --forms" in asked.out
    listed = rlm("ask", "--forms")
    assert listed.code == 0 and "What are the subclasses of Vessel?" in listed.out
    forms = rlm("ask", "--forms", "--json").json["forms"]
    assert {"form": "roots", "example": "What are the root classes?"} in forms
