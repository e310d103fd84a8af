"""Runs as JSON lines: written as they happen, for their owner only, and read back."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loop_running import code, run

from rlm.errors import RLMError
from rlm.llm import ScriptedClient
from rlm.loop import RLMIteration, RLMLogger, RLMResult, read_log


@pytest.mark.req("RB-17")
def test_a_run_is_logged_and_read_back(tmp_path):
    sub = ScriptedClient(["blue"])
    with RLMLogger(tmp_path / "logs", extra={"ontology": "prov", "memory_k": 3}) as logger:
        result, client = run(
            [code("x = 1", "print('hello', llm_query('colour?'))") + "\n" + code("1 / 0"), "FINAL_VAR(x)"],
            query="What is it?", logger=logger, sub_client=sub, max_iters=9,
        )  # fmt: skip
    lines = [json.loads(line) for line in logger.path.read_text("utf-8").splitlines()]
    assert [line["type"] for line in lines] == ["metadata", "iteration", "iteration"]
    metadata, iterations = read_log(logger.path)
    assert metadata.items() >= {
        "type": "metadata", "root_model": "scripted", "max_iterations": 9, "query": "What is it?", "context_size": 6,
        "ontology": "prov", "memory_k": 3, "max_depth": 1, "environment_type": "process",
        "other_backends": ["scripted"],
    }.items()  # fmt: skip
    assert metadata["ended"]["converged"] and metadata["ended"]["reason"] == "answered in turn 2"
    first, second = iterations
    assert set(first) == {
        "type", "iteration", "timestamp", "prompt", "response", "code_blocks", "final_answer", "iteration_time",
    }  # fmt: skip
    assert first["prompt"] == client.calls[0] and second["prompt"] == client.calls[1]
    assert (first["iteration"], first["final_answer"], second["final_answer"]) == (1, None, "1")
    good, bad = first["code_blocks"]
    assert good["code"] == result.iterations[0].code_blocks[0].code
    assert good["result"]["stdout"] == "hello blue\n" and good["result"]["stderr"] == ""
    assert good["result"]["locals"]["x"] == "1" and good["result"]["execution_time"] > 0
    assert (
        good["result"]["rlm_calls"][0].items() >= {"prompt": "colour?", "response": "blue"}.items()
    )
    assert "ZeroDivisionError" in bad["result"]["stderr"] and bad["result"]["error"] == "error"


def test_a_log_is_for_its_owner_and_never_written_over(tmp_path):
    with RLMLogger(tmp_path, name="one") as logger:
        assert logger.path == tmp_path / "one.jsonl"
        assert stat.S_IMODE(logger.path.stat().st_mode) == 0o600
    with pytest.raises(RLMError, match="there already"):
        RLMLogger(tmp_path, name="one")
    with pytest.raises(RLMError, match="without slashes"):
        RLMLogger(tmp_path, name="../two")
    (tmp_path / "file").write_text("")
    with pytest.raises(RLMError, match="another folder"):
        RLMLogger(tmp_path / "file")
    with pytest.raises(RLMError, match="is closed"):
        logger.log(RLMIteration(1, [], "x"))


def test_every_text_is_scrubbed(tmp_path):
    secret = "hunter2"
    with RLMLogger(
        tmp_path, scrub=lambda text: text.replace(secret, "***"), extra={"note": secret}
    ) as logger:
        run(
            [code(f"{secret} = '{secret}'", f"print('{secret}')", f"llm_query('{secret}')") + f"\nFINAL({secret})"],
            query=secret, logger=logger, sub_client=ScriptedClient([secret]),
        )  # fmt: skip
    assert secret not in logger.path.read_text("utf-8").replace('"hunter2": ', "")


def test_a_run_that_is_killed_leaves_a_log_that_can_be_read(tmp_path):
    script = textwrap.dedent("""
        import os, signal, sys
        from rlm.llm import ScriptedClient
        from rlm.loop import RLMLogger, rlm_run
        def die(_):
            os.kill(os.getpid(), signal.SIGKILL)
        client = ScriptedClient(["```repl\\nprint(1)\\n```", die])
        rlm_run("What?", "a text", client=client, logger=RLMLogger(sys.argv[1], name="run"))
        """)
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    metadata, iterations = read_log(tmp_path / "run.jsonl")
    assert metadata["query"] == "What?" and "ended" not in metadata and len(iterations) == 1


def test_an_interrupted_run_is_logged_as_far_as_it_came(tmp_path):
    def interrupt(_: object) -> str:
        raise KeyboardInterrupt

    with RLMLogger(tmp_path) as logger:
        run([code("print(1)"), interrupt], logger=logger)
    metadata, iterations = read_log(logger.path)
    assert metadata["ended"]["reason"] == "interrupted" and len(iterations) == 1


def test_a_torn_last_line_is_left_out_and_said(tmp_path):
    with RLMLogger(tmp_path) as logger:
        run([code("1"), "FINAL(x)"], logger=logger)
    whole = logger.path.read_bytes()
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(whole[:-40])
    metadata, iterations = read_log(torn)
    assert len(iterations) == 1 and metadata["torn"] is True
    assert "torn" not in read_log(logger.path)[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no metadata and no iteration"),
        (b'{"type": "metadata"}\nnot json\n{"type": "iteration"}\n', ":2: this line is no JSON"),
        (b"[1]\n", ":1: a log line is an object"),
        (b'\xff\xfe\n{"type": "metadata"}\n', ":1: this line is no JSON"),
        (b'{"type": "metadata"}\n{"type": "iteration"}\n', ":2: an iteration needs"),
        (b'{"type": "iteration", "response": "x", "code_blocks": [1]}\n', ":1: a code block needs"),
        (b"[" * 100_000 + b"\n{}\n", ":1: this line is no JSON"),
    ],
)
def test_what_is_no_log_is_refused_with_its_line(content, message, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(RLMError, match=message):
        read_log(path)


def test_a_missing_log_is_refused(tmp_path):
    with pytest.raises(RLMError, match=r"nowhere\.jsonl"):
        read_log(tmp_path / "nowhere.jsonl")


def test_a_log_of_other_tools_is_read(tmp_path):
    path = tmp_path / "theirs.jsonl"
    lines = [
        {
            "type": "metadata",
            "root_model": "m",
            "max_depth": 1,
            "max_iterations": 30,
            "backend": "openai",
        },
        {"type": "run_context", "prompt": "x"},
        {
            "type": "iteration",
            "iteration": 1,
            "prompt": [],
            "response": "FINAL(x)",
            "code_blocks": [],
            "final_answer": "x",
        },
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    metadata, iterations = read_log(path)
    assert metadata["root_model"] == "m" and len(iterations) == 1


@settings(max_examples=50)
@given(st.text(), st.text(), st.text(), st.none() | st.text())
def test_any_text_survives(
    tmp_path_factory: pytest.TempPathFactory, query, response, reason, answer
):
    folder: Path = tmp_path_factory.getbasetemp() / "any-text"
    with RLMLogger(folder) as logger:
        logger.log_metadata(
            root_model="m", max_iterations=1, query=query, context_size=1, odd=float("nan")
        )
        logger.log(
            RLMIteration(1, [{"role": "user", "content": query}], response, final_answer=answer)
        )
        logger.log_end(RLMResult("x", reason=reason))
    metadata, iterations = read_log(logger.path)
    assert len(iterations) == 1 and (metadata["query"] == query or "\r" in query)
    if "\r" not in response:
        assert iterations[0]["response"] == response
    assert reason.startswith(metadata["ended"]["reason"]) or "\r" in reason
