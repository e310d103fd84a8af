"""One block after another: state, tools, limits, and a worker that has to be replaced."""

from __future__ import annotations

import os
import threading
import time

import pytest

from rlm.errors import HandleError, SandboxError
from rlm.sandbox.process import ALL_LAYERS, ProcessRepl


def test_state_stays_from_block_to_block(repl):
    assert repl.run("x = [1, 2]").error is None
    result = repl.run("x.append(3)\nprint(sum(x))")
    assert (result.stdout, result.stderr, result.error) == ("6\n", "", None)
    assert result.locals["x"] == "list of 3"


def test_every_layer_holds_here(repl):
    assert repl.layers >= set(ALL_LAYERS) - {"uid"}


def test_a_fault_of_the_code_is_told_with_its_line(repl):
    result = repl.run("def f(n):\n    return 10 // n\n\nf(0)")
    assert result.error == "error"
    assert "line 2, in f" in result.stderr and "return 10 // n" in result.stderr
    assert result.stderr.endswith("ZeroDivisionError: integer division or modulo by zero")
    assert "rlm" not in result.stderr


def test_what_was_printed_before_a_fault_is_kept(repl):
    result = repl.run("print('before')\n1 / 0")
    assert result.stdout == "before\n" and result.error == "error"


@pytest.mark.parametrize("code", ["def (", "x = = 1", "print('a", "\x00", "if True:\nx = 1"])
def test_code_that_cannot_be_read_is_refused_and_harms_nothing(repl, code):
    repl.run("x = 1")
    assert repl.run(code).error == "refused"
    assert repl.run("print(x)").stdout == "1\n"


def test_code_that_is_too_long_is_refused(make_repl):
    repl = make_repl(limits={"code_chars": 100})
    result = repl.run("x = 1\n" * 50)
    assert result.error == "refused" and "over the limit of 100" in result.stderr


# -- tools
# -----------------------------------------------------------------------------------------------


def test_a_tool_is_called_with_its_arguments(make_repl):
    repl = make_repl({"join": lambda parts, sep="-": sep.join(parts)})
    assert repl.run("print(join(['a', 'b'], sep='+'))").stdout == "a+b\n"


def test_values_cross_the_pipe_unchanged(make_repl):
    repl = make_repl({"same": lambda value: value})
    code = "v = {'a': [1, 2.5, None, True, 'é😀'], 'b': {'c': ''}}\nprint(same(v) == v)"
    assert repl.run(code).stdout == "True\n"


@pytest.mark.parametrize(
    "error", [HandleError("no 'x'"), ValueError("bad k"), KeyError("gone"), OSError("no")]
)
def test_what_a_tool_refuses_is_an_error_in_the_code(make_repl, error):
    def fails():
        raise error

    repl = make_repl({"fails": fails})
    result = repl.run("try:\n    fails()\nexcept ToolError as e:\n    print('caught', e)")
    assert result.stdout.startswith("caught") and result.error is None
    assert str(error) in result.stdout


def test_an_unexpected_fault_of_a_tool_is_masked(make_repl):
    def fails():
        raise RuntimeError("inner secret")

    result = make_repl({"fails": fails}).run("fails()")
    assert (
        result.error == "error"
        and "inner secret" not in result.stderr
        and "RuntimeError" in result.stderr
    )


def test_a_value_that_no_tool_can_take_is_told(make_repl):
    result = make_repl({"f": lambda x: x}).run("f(lambda: 1)")
    assert result.error == "error" and "cannot be given to a tool" in result.stderr


def test_a_tool_that_returns_what_cannot_cross_is_told(make_repl):
    result = make_repl({"f": object}).run("f()")
    assert result.error == "error" and "cannot go into the sandbox" in result.stderr


def test_too_much_for_the_pipe_is_told_both_ways(make_repl):
    repl = make_repl({"f": lambda x: "y" * 300_000}, limits={"frame_bytes": 200_000})
    assert "too much for one message" in repl.run("f('x' * 300_000)").stderr
    assert "too much for the sandbox's pipe" in repl.run("f(1)").stderr
    assert repl.run("print(1)").stdout == "1\n"


@pytest.mark.parametrize("value", ["float('nan')", "float('inf')", "2 ** 100", "-(2 ** 64)"])
def test_a_number_that_json_has_not_crosses_as_text(make_repl, value):
    seen = []
    repl = make_repl({"f": seen.append})
    assert repl.run(f"f({value})").error is None
    assert seen == [str(eval(value))]


def test_a_class_that_lies_about_itself_is_sent_as_what_it_is(make_repl):
    seen = []
    repl = make_repl({"f": seen.append})
    code = """
class L(list):
    def __iter__(self):
        while True:
            yield 1
class N(int):
    def __add__(self, other):
        return {"$ref": {"key": "x", "start": 0, "stop": 1}}
class S(str):
    def __str__(self):
        return "other"
f([L([1, 2]), N(3), S("same")])
answer = L([4])
"""
    assert repl.run(code).error is None
    assert seen == [[[1, 2], 3, "same"]] and repl.get("answer") == [4]


def test_nothing_may_follow_a_call_before_its_answer(make_repl):
    """A worker that was taken over could queue calls and outstay its time."""
    repl = make_repl({"f": lambda: None}, language=False, layers=())
    code = """
import json, os, struct
body = json.dumps({"op": "call", "name": "f", "args": [], "words": {}}).encode()
for fd in range(3, 10):
    try:
        os.write(fd, (struct.pack(">I", len(body)) + body) * 400)
    except OSError:
        pass
"""
    result = repl.run(code)
    assert result.error == "died" and result.calls <= 1


def test_too_many_calls_end_the_block(make_repl):
    called = []
    repl = make_repl({"f": lambda: called.append(1)}, limits={"calls": 50})
    result = repl.run("while True:\n    f()")
    assert result.error == "calls" and result.restarted and len(called) == 50


def test_ctrl_c_in_a_tool_ends_the_worker_and_reaches_the_caller(make_repl):
    def interrupted():
        raise KeyboardInterrupt

    repl = make_repl({"f": interrupted})
    with pytest.raises(KeyboardInterrupt):
        repl.run("f()")
    assert repl.run("print(1)").stdout == "1\n"


# -- limits
# ----------------------------------------------------------------------------------------------


def test_time_over_keeps_the_variables_when_the_code_can_stop(make_repl):
    repl = make_repl(limits={"block_s": 0.3})
    repl.run("x = 41")
    result = repl.run("print('on')\nwhile True:\n    x += 0")
    assert (result.error, result.restarted, result.stdout) == ("timeout", False, "on\n")
    assert repl.run("print(x)").stdout == "41\n"


@pytest.mark.parametrize(
    "code",
    [
        "while True:\n    try:\n        while True:\n            pass\n    except:\n        pass",
        "def f():\n    try:\n        while True:\n            pass\n    finally:\n        f()\nf()",
        "import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')",
        "sum(range(10 ** 15))",
    ],
)
def test_code_that_does_not_stop_is_killed(make_repl, code):
    repl = make_repl(limits={"block_s": 0.3})
    repl.set("kept", 7)
    start = time.monotonic()
    result = repl.run(code)
    assert result.error == "timeout"
    assert time.monotonic() - start < 5  # a bound for a test that hangs, not a measurement
    assert repl.run("print(kept)").stdout == "7\n"


def test_the_time_of_a_block_spans_its_calls(make_repl):
    """Each call gives a little rest; a deadline that starts anew with each would never end."""
    repl = make_repl(
        {"f": lambda: threading.Event().wait(0.05)}, limits={"block_s": 0.4, "calls": 1000}
    )
    result = repl.run("while True:\n    f()")
    assert result.error == "timeout" and result.calls < 40


def test_the_time_of_a_patient_tool_does_not_count_but_its_deadline_does(make_repl):
    def think():
        threading.Event().wait(0.2)
        return "done"

    repl = make_repl({"think": think}, untimed=["think"], limits={"block_s": 0.15})
    assert repl.run("print(think(), think())").stdout == "done done\n"
    result = repl.run("while True:\n    think()", deadline=time.monotonic() + 0.5)
    assert result.error == "timeout" and result.calls < 8


def test_memory_over_is_an_error_and_the_worker_lives(make_repl):
    repl = make_repl(limits={"memory_mb": 128})
    repl.run("x = 1")
    result = repl.run("y = 'a' * (300 * 1024 * 1024)")
    assert result.error == "memory" and not result.restarted
    assert repl.run("print(x)").stdout == "1\n"


def test_output_over_the_limit_is_cut_and_counted(make_repl):
    repl = make_repl(limits={"output_chars": 1000})
    result = repl.run("print('x' * 200_000_000)")
    assert (
        len(result.stdout) == 1000
        and result.cut_chars == 200_000_001 - 1000
        and result.error is None
    )


def test_a_worker_that_is_killed_is_replaced(repl):
    repl.set("given", "back")
    repl.run("x = 1")
    os.killpg(repl._worker.pid, 9)
    result = repl.run("print(1)")
    assert result.error == "died" and "variables are lost" in result.stderr
    again = repl.run("print(given)")
    assert again.stdout == "back\n" and again.restarted
    assert not repl.run("pass").restarted


def test_no_process_is_left_after_close(make_repl):
    repl = make_repl()
    pid = repl._worker.pid
    repl.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    repl.close()


def test_the_worker_has_no_environment_and_no_open_files(make_repl, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_HOST", "hunter2")
    with open(__file__) as _:  # noqa: PTH123
        repl = make_repl(language=False, layers=())
        code = (
            "import os\nprint(dict(os.environ),"
            " sorted(os.listdir('/proc/self/fd')))\nprint(os.getcwd())"
        )
        environment, _, rest = repl.run(code).stdout.partition("} ")
    assert "hunter2" not in environment and environment in ("{", "{'LC_CTYPE': 'C.UTF-8'")
    assert rest.splitlines()[1] == "/"
    assert len(eval(rest.splitlines()[0])) <= 6


# -- variables
# -------------------------------------------------------------------------------------------


def test_variables_can_be_set_read_and_listed(repl):
    repl.set("n", 3)
    repl.run("m = n + 1\ntext = 'x' * 500\nclass A: pass\na = A()")
    assert repl.get("m") == 4 and repl.get("n") == 3
    assert repl.variables() == {
        "n": "3",
        "m": "4",
        "text": "str of 500 characters",
        "A": "type",
        "a": "A",
    }
    assert repl.run("print(sorted(SHOW_VARS()))").stdout == "['A', 'a', 'm', 'n', 'text']\n"


def test_a_private_name_is_shown_as_it_was_written(repl):
    result = repl.run("_count = 1\n__deep = 2\nprint(_count, __deep)")
    assert result.stdout == "1 2\n" and result.locals == {"_count": "1", "__deep": "2"}
    assert repl.get("_count") == 1
    assert "name '_gone' is not defined" in repl.run("_gone").stderr


def test_a_missing_variable_is_told_with_those_that_are_there(repl):
    repl.run("here = 1")
    with pytest.raises(SandboxError, match="no variable 'gone'; there are: here"):
        repl.get("gone")


def test_a_value_that_cannot_cross_is_described(repl):
    repl.run("f = lambda: 1")
    assert repl.get("f") == "function"


@pytest.mark.parametrize("name", ["_getattr_", "__builtins__", "a b", "", "1x"])
def test_the_host_cannot_set_what_is_no_variable(repl, name):
    with pytest.raises(SandboxError, match="not a valid variable name"):
        repl.set(name, 1)


def test_describing_a_variable_runs_no_code_of_its_class(repl):
    result = repl.run(
        "class A:\n    def __repr__(self):\n        print('called')\n        return 'A!'\na = A()"
    )
    assert result.stdout == "" and result.locals["a"] == "A"


def test_lone_surrogates_harm_nothing(make_repl):
    repl = make_repl({"same": lambda x: x})
    result = repl.run("s = '\\ud800'\nprint(s)\nprint(len(same(s)))")
    assert result.error is None and result.stdout.endswith("1\n")
    assert repl.run("print('\ud800')").error in (None, "refused")


def test_a_machine_that_cannot_confine_is_refused(monkeypatch):
    from rlm.errors import SandboxUnfit

    monkeypatch.setattr(
        "rlm.sandbox.process.NEEDED", frozenset({"rlimits", "no_new_privs", "walls"})
    )
    with pytest.raises(SandboxUnfit, match="cannot confine a process \\(missing: walls\\)"):
        ProcessRepl(layers=("rlimits", "no_new_privs", "walls"))
    with ProcessRepl(layers=("rlimits", "no_new_privs", "walls"), unsafe=True) as repl:
        assert repl.run("print(1)").stdout == "1\n"
