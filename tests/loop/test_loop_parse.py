"""What a reply says: its code blocks and its final answer, however it is written."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from all_cases import all_cases
from rlm.loop.parse import Final, clean, parse_reply


def codes(reply: str, **options: Any) -> list[str]:
    return [block.code for block in parse_reply(reply, **options).blocks]


def final(reply: str) -> Final | None:
    return parse_reply(reply).final


# -- blocks
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("```repl\nx = 1\n```", ["x = 1"]),
        ("a\n```repl\nx = 1\n```\nb\n```repl\ny = 2\n```\n", ["x = 1", "y = 2"]),
        ("```repl\nx = 1\n```\n```python\ny = 2\n```", ["x = 1"]),
        ("```python\ny = 2\n```", ["y = 2"]),
        ("```py\ny = 2\n```", ["y = 2"]),
        ("```Python\ny = 2\n```", ["y = 2"]),
        ("~~~repl\nx = 1\n~~~", ["x = 1"]),
        ("~~~repl\nx = '```'\n```\n~~~", ["x = '```'\n```"]),
        ("````repl\nx = 1\n```\ny\n````", ["x = 1\n```\ny"]),
        ("- first\n\n  ```repl\n  if x:\n      y()\n  ```\n", ["if x:\n    y()"]),
        ("```repl\n    x = 1\n    y = 2\n```", ["x = 1\ny = 2"]),
        ("```repl\r\nx = 1\r\ny = 2\r\n```\r\n", ["x = 1\ny = 2"]),
        ("Let me see: ```repl\nx = 1\n```", ["x = 1"]),
        ("```repl\nprint(1)```\ntext", ["print(1)"]),
        ("```repl\nprint('```')\n```", ["print('```')"]),
        ("```repl\nx = 1 # see ```\ny = 2\n```", ["x = 1 # see ```\ny = 2"]),
        ("```repl\n```", []),
        ("```repl\n\n  \n```", []),
        ("```json\n{}\n```", []),
        ("```\nx = 1\n```", []),
        ("````markdown\n```repl\nx = 1\n```\n````", []),
        ("```\nsome output\n```repl\nx = 1\n```", ["x = 1"]),
        ("", []),
        ("no code here", []),
    ],
)
def test_blocks(reply, expected):
    assert codes(reply) == expected


@pytest.mark.parametrize(
    "text",
    [
        's = """\n```python\nx\n```\n"""\nprint(s)',
        "s = '''\n```\nx\n```\n'''\nprint(s)",
        's = """\n```python\nx\n```\n```python\ny\n```\n"""\nprint(s)',
        's = """```python\nx\n```"""\nprint(s)',
        's = "a \\"" + """\n```\n"""',
    ],
)
def test_fences_in_a_string_do_not_end_the_block(text):
    assert codes(f"```repl\n{text}\n```\nand then\n```repl\nlast()\n```") == [text, "last()"]


def test_a_string_that_never_ends_does_not_swallow_the_next_block():
    assert codes('```repl\ns = """oops\n```\ntext\n```repl\nok()\n```') == ['s = """oops', "ok()"]


def test_an_unclosed_fence_reaches_to_the_end_and_is_noted():
    parsed = parse_reply("```repl\nx = 1\nprint(x)")
    assert [(b.code, b.closed) for b in parsed.blocks] == [("x = 1\nprint(x)", False)]
    assert "never closed" in parsed.notes[0]
    assert parse_reply("```repl\nx = 1\n```").notes == []


def test_ten_thousand_blocks_are_bounded_and_noted():
    parsed = parse_reply("```repl\nx = 1\n```\n" * 10_000, max_blocks=7)
    assert len(parsed.blocks) == 7
    assert "10000 blocks" in parsed.notes[0] and "first 7" in parsed.notes[0]


# -- final answers
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("FINAL(42)", Final("42")),
        ("I know it.\n\n  FINAL(42)\nBye", Final("42")),
        ("**FINAL(42)**", Final("42")),
        ("FINAL(a (b) c)", Final("a (b) c")),
        ("FINAL(line one\nline (two)\nline three)", Final("line one\nline (two)\nline three")),
        ('FINAL("a) quoted")', Final("a) quoted")),
        ('FINAL("""two\nlines :)""")', Final("two\nlines :)")),
        ("FINAL('it\\'s')", Final("it's")),
        ("FINAL(It's done (really))", Final("It's done (really)")),
        ("FINAL(1) first\n2) second)", Final("1) first\n2) second")),
        ("FINAL(42) is the answer.\n\nNote (well).", Final("42")),
        ("FINAL()", Final("")),
        ('FINAL("a" + "b")', Final('"a" + "b"')),
        ("FINAL(see:\n```python\nf(x)\n```\n)", Final("see:\n```python\nf(x)\n```")),
        ("FINAL_VAR(result)", Final("result", is_variable=True)),
        ('FINAL_VAR("result")', Final("result", is_variable=True)),
        ("FINAL_VAR( result )", Final("result", is_variable=True)),
        ("FINAL(1)\nFINAL(2)", Final("1")),
        ("```repl\nFINAL(42)\n```", None),
        ("I will use FINAL(x) later", None),
        ("FINAL answer: 42", None),
        ("FINALLY(42)", None),
        ("```\nFINAL(42)\n```", Final("42")),
        ("```\nFINAL(42)\n```\nFINAL(43)", Final("43")),
        ("```text\nFINAL(42)\n```", None),
        ("```\nFINAL(1)\n```\n```repl\nx()\n```", None),
    ],
)
def test_finals(reply, expected):
    assert final(reply) == expected


def test_code_and_a_final_are_both_found():
    parsed = parse_reply("```repl\nx = 1\n```\nFINAL_VAR(x)")
    assert len(parsed.blocks) == 1 and parsed.final == Final("x", is_variable=True)


def test_an_unclosed_final_stops_before_the_next_block():
    parsed = parse_reply("FINAL(the answer is\n42\n```repl\nx = 1\n```")
    assert parsed.final == Final("the answer is\n42")
    assert [block.code for block in parsed.blocks] == ["x = 1"]
    assert "never closed" in parsed.notes[0]


def test_lone_surrogates_are_replaced_and_pairs_are_joined():
    assert clean("a\ud800b") == "a�b"
    assert clean("\ud83d\ude00") == "\U0001f600"
    assert codes("```repl\nx = '\udfff'\n```") == ["x = '�'"]
    assert final("FINAL('\\ud800')") == Final("�")


# -- properties
# ------------------------------------------------------------------------------------------

MARKS = ["```", "```repl", "```python", "~~~", "~~~repl", '"""', "'''", '"', "'", "#", "\\"]
PIECES = st.sampled_from([*MARKS, "FINAL(", "FINAL_VAR(x", ")", "(", "x = 1", " "])
REPLIES = st.lists(st.lists(PIECES, max_size=3).map("".join), max_size=30).map("\n".join)


@given(st.one_of(REPLIES, st.text()))
@example('```repl\n"""\n```\n```\n```repl\n')
def test_any_reply_can_be_read(reply):
    parsed = parse_reply(reply, max_blocks=5)
    assert len(parsed.blocks) <= 5
    for block in parsed.blocks:
        assert block.code.strip()
        block.code.encode("utf-8")
    if parsed.final is not None:
        parsed.final.value.encode("utf-8")


SAFE = st.text(st.characters(codec="utf-8", exclude_characters="`~\r\"'\\"), min_size=1).filter(
    lambda text: (
        text.strip()
        and text == text.strip("\n")
        and not text[0].isspace()
        and not text.split("\n")[0].isspace()
    )
)


@given(st.lists(SAFE, min_size=1, max_size=5), st.sampled_from(["```", "````", "~~~"]))
def test_blocks_come_back_as_they_were_written(blocks, fence):
    reply = "\n\n".join(f"text\n{fence}repl\n{block}\n{fence}" for block in blocks)
    found = codes(reply)
    assert [block.rstrip() for block in found] == [block.rstrip() for block in blocks]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r")))
def test_a_quoted_final_comes_back_as_it_was_written(text):
    assert final(f"FINAL({text!r})") == Final(clean(text))


def lines_run(reply: str) -> int:
    """How many lines of Python it takes to read a reply: the same on every machine."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if "rlm/loop" not in frame.f_code.co_filename:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        parse_reply(reply)
    finally:
        sys.settrace(before)
    return count


@all_cases(
    "unit",
    [
        "```repl\n",
        "```repl\nx\n```\n",
        '```repl\n"""\n```\n',
        "```repl\n'''\n```\n```\n\"\"\"\n",
        '```repl\n"""\n```\n~~~x\n',
        "```\nFINAL(\n",
        "FINAL(\n",
        "FINAL(1) x\n",
        "FINAL(x (\n```repl\n",
        '"""```\n',
        "```python\n```repl\n",
        "~~~repl\n```\n",
        "text ```repl\n",
    ],
)
@all_cases("prefix", ["", "```\n", '```repl\n"""\n', "FINAL(\n"])
def test_reading_takes_linear_time(unit, prefix):
    few, many = lines_run(prefix + unit * 50), lines_run(prefix + unit * 200)
    assert many <= 4.2 * few + 200


@pytest.mark.parametrize(
    "reply",
    [
        "`" * 500_000,
        "~" * 500_000,
        "```repl" * 100_000,
        "```" + " " * 500_000 + "`",
        "(" * 1_000_000,
        "FINAL" * 200_000,
        "FINAL(" * 100_000,
        " " * 500_000 + "FINAL(",
        "FINAL(" + " " * 500_000 + "x)",
        "FINAL(x)" + " " * 500_000 + "y",
        "FINAL('x'" + " " * 500_000,
        "FINAL('" + "\\" * 500_000,
    ],
)
def test_a_long_odd_reply_is_read(reply):
    """Quickly, which a pattern that goes back and forth would not be; and bounded."""
    parsed = parse_reply(reply, max_blocks=50)
    assert len(parsed.blocks) <= 50 and len(parsed.notes) <= 60
