"""What both engines promise, and what is monty's own."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time

import pytest

from rlm.errors import HandleError, SandboxError
from rlm.handles import Meter, Store, View, from_wire, reader, to_wire
from rlm.sandbox import SandboxLimits, Surroundings
from rlm.sandbox.monty import MontyRepl
from rlm.sandbox.monty_prelude import MONTY_NOTE
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


# -- both engines
# ----------------------------------------------------------------------------------------


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
    code = (
        "v = {'a': [1, 2.5, None, True, 'é😀'], 'b': {'c': ''}}\nprint(same(v) =="
        " v)\nprint(same((1, 2)))"
    )
    assert repl.run(code).stdout == "True\n[1, 2]\n"


@pytest.mark.parametrize(
    "error", [HandleError("no 'x'"), ValueError("bad k"), KeyError("gone"), OSError("no")]
)
def test_what_a_tool_refuses_is_an_error_in_the_code(opened, error):
    def fails():
        raise error

    result = opened({"fails": fails}).run(
        "try:\n    fails()\nexcept ToolError as e:\n    print('caught', e)"
    )
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
    assert (result.error, result.calls) == (
        "error",
        0,
    ) and "cannot be given to a tool" in result.stderr


def test_a_block_without_end_is_stopped_and_earlier_variables_stay(opened):
    repl = opened(limits={"block_s": 0.3})
    repl.run("x = 1")
    result = repl.run("while True:\n    pass")
    assert (result.error, result.restarted) == ("timeout", False)
    assert repl.run("print(x)").stdout == "1\n"


def test_the_deadline_also_ends_a_block(opened):
    result = opened(limits={"block_s": 60}).run(
        "while True:\n    pass", deadline=time.monotonic() + 0.2
    )
    assert (
        result.error == "timeout" and result.execution_time < 50
    )  # and not at the end of the block's own time


def test_code_cannot_catch_the_end_of_its_time(opened):
    repl = opened(limits={"block_s": 0.3})
    assert (
        repl.run("while True:\n    try:\n        1 / 0\n    except Exception:\n        pass").error
        == "timeout"
    )


def test_sleep_does_not_wait(opened):
    assert (
        opened(limits={"block_s": 5}).run("import time\ntime.sleep(3600)\nprint('on')").stdout
        == "on\n"
    )


def test_time_in_tools_counts_unless_they_are_patient(opened):
    def slow():
        time.sleep(0.4)

    code = "for i in range({}):\n    slow()\nprint('done')"
    limits = {"block_s": 0.6}
    # More calls than needed: a worker that answers before the host has looked at the clock is
    # stopped one call later.
    assert opened({"slow": slow}, limits=limits).run(code.format(6)).error == "timeout"
    assert (
        opened({"slow": slow}, limits=limits, untimed=frozenset({"slow"}))
        .run(code.format(2))
        .stdout
        == "done\n"
    )


def test_too_much_output_is_cut_and_counted(opened):
    result = opened(limits={"output_chars": 100}).run(
        "for i in range(50):\n    print('0123456789')"
    )
    assert (len(result.stdout) + result.cut_chars, result.error) == (550, None)
    assert 0 < len(result.stdout) <= 100 and result.stdout.startswith("0123456789\n")


@pytest.mark.parametrize(
    "code", ["def (", "x = = 1", "print('a", "\x00", "if True:\nx = 1", "x = (", "x = 1 + \\"]
)
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
    with pytest.raises(SandboxError, match="is not a valid variable name"):
        opened().set(name, 1)


def test_the_code_can_list_its_variables(opened):
    repl = opened({"tool": lambda: 1})
    repl.run("a = 1")
    result = repl.run("found = SHOW_VARS()\nprint(found['a'], 'tool' in found)")
    assert result.stdout == "1 False\n"


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


# -- both engines: texts on the host
# ---------------------------------------------------------------------


class _Texts:
    """A real store, what code may ask of it, and what a tool was given."""

    def __enter__(self):
        self.store, self.seen = Store(), []
        return self

    def __exit__(self, *_):
        self.store.close()

    def take(self, value):
        self.seen.append(value)
        return value

    def open(self, opener, tools=None, **words):
        given = {
            "hidden": reader(self.store, Meter()),
            "to_wire": to_wire,
            "from_wire": from_wire,
            **words,
        }
        return opener({"take": self.take, **(tools or {})}, **given)

    def put(self, text, **words):
        return self.store.put(text, **words)


LONG = "\n".join(f"Line {n}: {'Needle é' if n == 777 else 'hay'}" for n in range(30_000))
EXPRESSIONS = [
    "len(t)", "t[:80]", "t[-5:]", "t[3]", "t[-1]", "t[5:5]", "t[::20_000]", "t[20_010:10]", "t.find('Needle')",
    "t.find('Needle', 20_000)", "t.find('hay', -30)", "t.index('Needle')", "t.rfind('hay')", "t.count('hay')",
    "t.count('hay', 0, 100)", "'Needle' in t", "'gold' in t", "'gold' not in t", "t.split('\\n')[777]",
    "len(t.split('\\n'))", "t.split()[:4]", "t.split(' ', 1)[0]", "len(t.splitlines())", "t.splitlines()[-1]",
    "[x for x in t.splitlines() if 'Needle' in x]", "sum(1 for x in t.splitlines() if 'hay' in x)",
    "[(n, x) for n, x in enumerate(t.splitlines()) if 'é' in x]", "t.lower().find('needle')", "'needle' in t.lower()",
    "t.lower().count('line')", "t.lower()[:10]", "t.upper()[:10]", "t.replace('hay', 'x')[:40]", "t.startswith('Line')",
    "t.endswith(('gold', 'hay'))", "t.strip()[:4]", "'a ' + t[:4] + ' b'", "f'{t[:4]}|{t[5]:>3}'", "t[:4] == 'Line'",
    "t == 'Line'", "any(x in t for x in ['gold', 'Needle'])", "list(map(len, [t, 'abc']))", "max(len(x) for x in [t])",
    "[len(t[i:i + 100]) for i in range(0, 300, 100)]", "bool(t)", "''.join(c for c in t[:9])",
    "t[10:25_010][20_000:][:9]", "t[-30_000:-10][-9:]",
    "[m.group(1) for m in re.finditer('(\\\\d+): Need', t)]", "re.search('Needle', t).start()",
    "len(re.findall('HAY', t, re.I))", "re.compile('é').search(t).span()", "re.match('Line', t).group()",
]  # fmt: skip


@pytest.mark.parametrize("place", ["the variable", "what a tool returns"])
def test_a_text_answers_as_the_string_would(opened, place):
    with _Texts() as texts:
        handle = texts.put(LONG)
        repl = texts.open(opened, {"give": lambda: {"in": [handle]}})
        repl.set("given", [handle])
        start = "import re\nt = " + ("given[0]" if place == "the variable" else "give()['in'][0]")
        assert repl.run(start).error is None
        for expression in EXPRESSIONS:
            result = repl.run(f"print({expression})")
            wanted = f"{eval(expression, {'t': LONG, 're': re})}\n"
            assert (expression, result.stdout, result.stderr) == (expression, wanted, "")


def test_a_text_goes_back_to_the_host_as_a_handle(opened):
    with _Texts() as texts:
        repl = texts.open(opened)
        repl.set("context", texts.put(LONG))
        assert repl.run("take({'in': [context, context[:4]]})\nsame = context").error is None
        whole = View("text_0", 0, len(LONG))
        assert texts.seen == [{"in": [whole, "Line"]}] and repl.get("same") == whole


def test_what_is_wrong_with_a_text_is_told(opened):
    with _Texts() as texts:
        repl = texts.open(opened)
        repl.set("context", texts.put(LONG))
        for code, said in {
            "context[10_000_000]": "IndexError", "context.nonsense": "AttributeError",
            "context.index('gold')": "ValueError: substring not found", "3 in context": "TypeError",
            "context + 3": "TypeError",
            "take({'$ref': {'key': 'text_0', 'start': 0, 'stop': 9}})": "give the handle itself",
        }.items():  # fmt: skip
            assert said in repl.run(code).stderr
        assert not texts.seen


# -- monty alone
# -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code", ["class A(Exception): pass", "def f():\n    yield 1", "x = 1\ndel x"]
)
def test_a_construct_that_monty_lacks_is_refused_by_name(monty, code):
    result = monty().run(code)
    assert result.error == "refused" and result.stderr.startswith("not supported here: ")
    assert "(line " in result.stderr and "monty" not in result.stderr


def test_a_text_too_long_to_hold_has_methods_and_says_so(monty):
    """The memory of the sandbox decides: with 32 MB a text of more than a million characters is not
    held."""
    with _Texts() as texts:
        repl = texts.open(monty, limits={"memory_mb": 32})
        repl.set("context", texts.put("Hay" * 500_000 + "Needle"))
        result = repl.run(
            "print(len(context), context)\nprint(context.find('Needle'), context.count('Hay'),"
            " context.read(1_499_997, 1_500_003))\nprint(len(context.read()),"
            " context.find('Needle', -10), context.read(-6))"
        )
        assert (result.stdout.splitlines(), result.stderr) == ([
            "1500006 Ref('text_0', text, 1500006 chars)", "1500000 500000 HayNee",
            "1500006 1500000 Needle",
        ], "")  # fmt: skip
        for use in ("context[:80]", "'x' in context", "for c in context: pass"):
            refused = repl.run(use)
            assert refused.error == "error"
            assert (
                "1,500,006 characters and is not held in the REPL: use .read(start, stop)"
                in refused.stderr
            )
        assert repl.run("take(context)").error is None
        assert texts.seen == [View("text_0", 0, 1_500_006)]


def test_the_texts_of_one_answer_are_held_up_to_the_bound(monty):
    with _Texts() as texts:
        many = {"many": lambda: [texts.put("x" * 600_000) for _ in range(3)]}
        repl = texts.open(monty, many, limits={"memory_mb": 32})
        code = (
            "for t in many():\n    try:\n        print(t[:2])\n    except ValueError:\n       "
            " print('-')"
        )
        assert repl.run(code).stdout == "xx\n-\n-\n"


def test_texts_are_there_again_after_a_restart(monty):
    with _Texts() as texts:
        repl = texts.open(monty, limits={"block_s": 0.5})
        repl.set("context", texts.put("needle " * 10_000))
        repl.run("import re\npart = context[:30_000]")
        assert repl.run("while True:\n    pass").error == "timeout"
        assert (
            repl.run("print(part[:6], len(re.findall('needle', part)))").stdout == "needle 4285\n"
        )
        repl.close()
        assert repl.run("print(context[:6], len(context))").stdout == "needle 70000\n"


def test_a_tool_in_a_callback_is_refused_with_the_way_out(monty):
    result = monty({"double": lambda n: 2 * n}).run("print(list(map(lambda n: double(n), [1])))")
    assert result.error == "error" and result.stderr.endswith(
        "map, filter, sorted or similar: use a plain loop"
    )


def test_variables_that_cannot_be_saved_cost_the_worker_and_not_the_host(monty):
    repl = monty(limits={"memory_mb": 64})
    repl.set("given", 1)
    repl.run("x = 'a' * 50_000_000")
    result = repl.run("print(given)")
    assert (result.error, result.restarted) == (
        "memory",
        True,
    ) and "variables are lost" in result.stderr
    assert repl.run("print(given)").stdout == "1\n"


def test_the_note_for_the_prompt_names_what_texts_can_do():
    for name in ("plain strings", "context.find", "context.count", "context.read(a, b)"):
        assert name in MONTY_NOTE


@pytest.mark.parametrize("name", ["text.read", "text.find", "text.count", "text.mark"])
def test_code_cannot_read_a_text_that_it_was_not_given(monty, name):
    with _Texts() as texts:
        texts.put("inner secret", dtype="other")
        result = texts.open(monty).run(f"print(_rlm_call({name!r}, ['other_0', 0, 12], {{}}))")
        assert (result.error, result.calls) == ("error", 0) and "there is no tool" in result.stderr


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


def test_a_state_that_takes_long_to_save_is_not_saved_again(monty, monkeypatch):
    monkeypatch.setattr("rlm.sandbox.monty.QUICK_S", -1.0)
    repl = monty({"end": lambda: os.kill(repl._pid, signal.SIGKILL)})
    repl.run("pass")
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
    repl.run(
        "while True:\n    pass"
    )  # a worker that goes on from a saved state names them as before
    assert (
        repl.run("fails()").stderr
        == "Traceback:\n  line 1, in <module>\n    fails()\nRuntimeError: no"
    )


@pytest.mark.parametrize(
    "code", ["_rlm_call('secret', [], {})", "_rlm_call(1)", "_rlm_call('tool', 1, 2)", "secret()"]
)
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


def test_a_missing_package_is_told_with_the_line_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)
    with pytest.raises(SandboxError, match="pip install 'pydantic-monty>=") as caught:
        MontyRepl(Surroundings(), None)
    assert isinstance(caught.value.__cause__, ImportError)
