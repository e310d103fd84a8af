"""What both engines promise, and what is monty's own."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest

from rlm.errors import HandleError, SandboxError
from rlm.sandbox import SandboxLimits, Surroundings
from rlm.sandbox.monty import MontyRepl
from rlm.sandbox.process import ProcessRepl

ENGINES = {"process": ProcessRepl, "monty": MontyRepl}


def _opener(engine):
    if engine == "monty":
        pytest.importorskip("pydantic_monty")
    made = []

    def open_one(tools=None, *, limits=None, **words):
        given = Surroundings(tools=tools or {}, **words)
        made.append(ENGINES[engine](given, SandboxLimits(**(limits or {}))))
        return made[-1]

    return open_one, made


@pytest.fixture(autouse=True)
def always_saved(monkeypatch):
    """On a busy machine saving may not be quick, and then blocks would go unsaved."""
    monkeypatch.setattr("rlm.sandbox.monty.QUICK_S", 1_000.0)


@pytest.fixture(params=list(ENGINES))
def opened(request):
    open_one, made = _opener(request.param)
    yield open_one
    for repl in made:
        repl.close()


@pytest.fixture
def monty():
    open_one, made = _opener("monty")
    yield open_one
    for repl in made:
        repl.close()


# -- both engines ----------------------------------------------------------------------------------------


def test_state_stays_from_block_to_block(opened):
    repl = opened()
    assert repl.run("x = [1, 2]").error is None
    result = repl.run("x.append(3)\nprint(sum(x))")
    assert (result.stdout, result.stderr, result.error) == ("6\n", "", None)
    assert result.locals == {"x": "list of 3"}


def test_a_tool_is_called_and_counted(opened):
    repl = opened({"join": lambda parts, sep="-": sep.join(parts)})
    result = repl.run("print(join(['a', 'b'], sep='+'))\nprint(join({'c': 1, 'd': 2}.keys()))")
    assert (result.stdout, result.calls) == ("a+b\nc-d\n", 2)


def test_values_cross_unchanged(opened):
    repl = opened({"same": lambda value: value})
    code = "v = {'a': [1, 2.5, None, True, 'é😀'], 'b': {'c': ''}}\nprint(same(v) == v)\nprint(same((1, 2)))"
    assert repl.run(code).stdout == "True\n[1, 2]\n"


@pytest.mark.parametrize("error", [HandleError("no 'x'"), ValueError("bad k"), KeyError("gone"), OSError("no")])
def test_what_a_tool_refuses_is_an_error_in_the_code(opened, error):
    def fails():
        raise error

    result = opened({"fails": fails}).run("try:\n    fails()\nexcept ToolError as e:\n    print('caught', e)")
    assert (result.stdout, result.error) == (f"caught {error}\n", None)


def test_an_unexpected_fault_of_a_tool_is_masked(opened):
    def fails():
        raise RuntimeError("inner secret")

    result = opened({"fails": fails}).run("fails()")
    assert result.error == "error" and "fails failed inside (RuntimeError)" in result.stderr
    assert "secret" not in result.stderr


@pytest.mark.parametrize("value", ["lambda: 1", "{'a': [print]}"])
def test_what_is_no_data_is_not_given_to_a_tool(opened, value):
    result = opened({"same": lambda value: value}).run(f"same({value})")
    assert (result.error, result.calls) == ("error", 0) and "cannot be given to a tool" in result.stderr


def test_a_block_without_end_is_stopped_and_earlier_variables_stay(opened):
    repl = opened(limits={"block_s": 0.3})
    repl.run("x = 1")
    result = repl.run("while True:\n    pass")
    assert (result.error, result.restarted) == ("timeout", False)
    assert repl.run("print(x)").stdout == "1\n"


def test_the_deadline_also_ends_a_block(opened):
    result = opened(limits={"block_s": 60}).run("while True:\n    pass", deadline=time.monotonic() + 0.2)
    assert result.error == "timeout" and result.execution_time < 50  # and not at the end of the block's own time


def test_code_cannot_catch_the_end_of_its_time(opened):
    repl = opened(limits={"block_s": 0.3})
    assert repl.run("while True:\n    try:\n        1 / 0\n    except Exception:\n        pass").error == "timeout"


def test_sleep_does_not_wait(opened):
    assert opened(limits={"block_s": 5}).run("import time\ntime.sleep(3600)\nprint('on')").stdout == "on\n"


def test_time_in_tools_counts_unless_they_are_patient(opened):
    def slow():
        time.sleep(0.4)

    code = "for i in range(2):\n    slow()\nprint('done')"
    limits = {"block_s": 0.6}
    assert opened({"slow": slow}, limits=limits).run(code).error == "timeout"
    assert opened({"slow": slow}, limits=limits, patient=frozenset({"slow"})).run(code).stdout == "done\n"


def test_too_much_output_is_cut_and_counted(opened):
    result = opened(limits={"output_chars": 100}).run("for i in range(50):\n    print('0123456789')")
    assert (len(result.stdout) + result.cut_chars, result.error) == (550, None)
    assert 0 < len(result.stdout) <= 100 and result.stdout.startswith("0123456789\n")


@pytest.mark.parametrize("code", ["def (", "x = = 1", "print('a", "\x00", "if True:\nx = 1", "x = (", "x = 1 + \\"])
def test_code_that_cannot_be_read_is_refused_and_harms_nothing(opened, code):
    repl = opened()
    repl.run("x = 1")
    result = repl.run(code)
    assert result.error == "refused" and "pass" not in result.stderr
    assert repl.run("print(x)").stdout == "1\n"


def test_code_that_is_too_long_is_refused(opened):
    result = opened(limits={"code_chars": 100}).run("x = 1\n" * 50)
    assert result.error == "refused" and "over the limit of 100" in result.stderr


def test_a_fault_of_the_code_is_told_with_its_line(opened):
    result = opened().run("print('before')\ndef f(n):\n    return 10 // n\n\nf(0)")
    assert (result.error, result.stdout) == ("error", "before\n")
    assert "line 3, in f\n    return 10 // n\nZeroDivisionError" in result.stderr


def test_too_many_calls_end_the_block(opened):
    seen = []
    repl = opened({"note": seen.append}, limits={"calls": 3})
    assert repl.run("for i in range(5):\n    note(i)").error == "calls"
    assert seen == [0, 1, 2]
    assert repl.run("note(9)").error is None


def test_variables_are_set_told_and_listed(opened):
    repl = opened({"tool": lambda: 1})
    repl.set("given", {"a": [1, "é"]})
    repl.run("copy = given\nn = len(given['a'])\nlong = 'x' * 500\ndef f(): pass")
    assert repl.get("copy") == {"a": [1, "é"]} and repl.get("n") == 2
    assert isinstance(repl.get("f"), str)
    assert repl.variables() == {
        "given": "dict of 1", "copy": "dict of 1", "n": "2", "long": "str of 500 characters", "f": "function",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["nothing", "tool", "len", "ToolError", "a b", "class"])
def test_a_variable_that_is_missing_is_told_with_those_that_are_there(opened, name):
    repl = opened({"tool": lambda: 1})
    repl.run("there = 1\n_own = 2")
    with pytest.raises(SandboxError, match="there are: there"):
        repl.get(name)


@pytest.mark.parametrize("name", ["_x", "a b", "", "1a"])
def test_a_name_that_is_none_is_not_set(opened, name):
    with pytest.raises(SandboxError, match="is no name for a variable"):
        opened().set(name, 1)


def test_the_code_can_list_its_variables(opened):
    repl = opened({"tool": lambda: 1})
    repl.run("a = 1")
    result = repl.run("b = 'two'\nfound = SHOW_VARS()\nprint(found['a'], found['b'], 'tool' in found)")
    assert result.stdout == "1 'two' False\n"


def test_what_is_too_large_does_not_cross(opened):
    repl = opened({"much": lambda: "x" * 5_000}, limits={"frame_bytes": 3_000})
    result = repl.run("try:\n    much()\nexcept ToolError as e:\n    print('caught', e)")
    assert "over the limit of 3,000" in result.stdout


def test_no_file_is_read(opened):
    result = opened().run("print(open('/etc/hostname').read())")
    assert result.error in ("error", "refused") and not result.stdout


def test_an_end_by_the_keyboard_in_a_tool_passes_through(opened):
    def stop():
        raise KeyboardInterrupt

    repl = opened({"stop": stop})
    with pytest.raises(KeyboardInterrupt):
        repl.run("stop()")
    assert repl.run("print(1)").restarted


def test_an_end_by_the_keyboard_reaches_a_block_that_computes(opened):
    def begin():
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()

    repl = opened({"begin": begin}, limits={"block_s": 20})
    with pytest.raises(KeyboardInterrupt):
        repl.run("begin()\nwhile True:\n    pass")


def test_a_closed_repl_starts_anew_with_what_was_set(opened):
    repl = opened()
    repl.set("given", 1)
    repl.run("own = 2")
    repl.close()
    repl.close()
    assert repl.run("print(given)").stdout == "1\n"
    assert repl.variables() == {"given": "1"}


# -- monty alone -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["class A(Exception): pass", "def f():\n    yield 1", "x = 1\ndel x"])
def test_a_construct_that_monty_lacks_is_refused_by_name(monty, code):
    result = monty().run(code)
    assert result.error == "refused" and result.stderr.startswith("not known here: ")
    assert "(line " in result.stderr and "monty" not in result.stderr


def test_a_handle_is_a_dictionary_that_tools_take(monty):
    class Handle:
        def __init__(self, key):
            self.key = key

    def to_wire(value):
        if isinstance(value, Handle):
            return {"$ref": {"key": value.key, "dtype": "text", "sz": 3000, "prev": "Once"}}
        return value

    def from_wire(value):
        return Handle(value["$ref"]["key"]) if "$ref" in value else value

    seen = []
    repl = monty({"take": seen.append}, to_wire=to_wire, from_wire=from_wire)
    repl.set("context", Handle("text_0"))
    result = repl.run("take(context)\ntake([context])\nprint(context['$ref']['sz'])")
    assert result.stdout == "3000\n" and result.locals == {"context": "Ref('text_0', text, 3000 chars)"}
    assert seen[0].key == "text_0" and seen[1][0].key == "text_0"
    assert repl.get("context").key == "text_0"


def test_a_worker_that_dies_takes_only_its_block_with_it(monty):
    repl = monty({"end": lambda: os.kill(repl._pid, signal.SIGKILL)})
    repl.run("x = 1")
    result = repl.run("x = 2\nend()\nprint('on')")
    assert (result.error, result.restarted, result.locals) == ("died", False, {"x": "1"})
    assert "as they were before this block" in result.stderr
    assert repl.run("print(x)\nend()").stdout == "1\n"


def test_without_a_saved_state_the_variables_are_lost_and_what_was_set_is_not(monty, monkeypatch):
    monkeypatch.setattr("rlm.sandbox.monty.SAVED_BYTES", 10)
    repl = monty(limits={"block_s": 0.2})
    repl.set("given", 1)
    repl.run("own = 2")
    result = repl.run("while True:\n    pass")
    assert (result.error, result.restarted, result.locals) == ("timeout", True, {})
    assert "its variables are lost" in result.stderr
    after = repl.run("print(given)")
    assert (after.stdout, after.restarted, after.locals) == ("1\n", True, {"given": "1"})
    assert not repl.run("pass").restarted


def test_saving_that_takes_long_is_not_done_for_every_block(monty, monkeypatch):
    monkeypatch.setattr("rlm.sandbox.monty.QUICK_S", -1.0)
    monkeypatch.setattr("rlm.sandbox.monty.SAVING_SHARE", 1e-9)
    repl = monty({"end": lambda: os.kill(repl._pid, signal.SIGKILL)})
    assert not repl.run("end()").restarted
    assert repl.run("end()").restarted


def test_too_much_memory_ends_the_block_and_not_the_worker(monty):
    repl = monty(limits={"memory_mb": 32})
    repl.run("x = 1")
    result = repl.run("y = [0] * 100_000_000")
    assert (result.error, result.restarted) == ("memory", False)
    assert repl.run("print(x)").stdout == "1\n"


def test_our_own_functions_are_not_shown_in_a_traceback(monty):
    def fails():
        raise ValueError("no")

    repl = monty({"fails": fails}, limits={"block_s": 0.3})
    repl.run("while True:\n    pass")  # a worker that goes on from a saved state names them as before
    assert repl.run("fails()").stderr == "Traceback:\n  line 1, in <module>\n    fails()\nRuntimeError: no"


@pytest.mark.parametrize("code", ["_rlm_call('secret', [], {})", "_rlm_call(1)", "_rlm_call('tool', 1, 2)", "secret()"])
def test_code_cannot_reach_a_hidden_function(monty, code):
    def secret():
        raise AssertionError("called")

    result = monty({"tool": lambda: 1}, hidden={"secret": secret}).run(code)
    assert (result.error, result.calls) == ("error", 0)


def test_names_that_the_code_hides_do_not_blind_the_host(monty):
    repl = monty({"double": lambda n: 2 * n})
    result = repl.run("len = 3\nlocals = 4\nlist = dict = type = 5\nprint(double(len))")
    assert result.stdout == "6\n" and result.locals["len"] == "3"
    assert repl.get("locals") == 4


def test_show_vars_in_a_text_is_left_as_it_is(monty):
    repl = monty()
    assert repl.run("print('SHOW_VARS()')  # SHOW_VARS()").stdout == "SHOW_VARS()\n"
    assert repl.run("show = SHOW_VARS\nprint(show())").stdout == "{}\n"


def test_a_missing_package_is_told_with_the_line_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)
    with pytest.raises(SandboxError, match=r"pip install 'rlm-memory\[monty\]'") as caught:
        MontyRepl(Surroundings(), None)
    assert isinstance(caught.value.__cause__, ImportError)
