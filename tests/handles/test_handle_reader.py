"""What the sandbox's texts ask of the host: bounded, checked, and metered apart from what a prompt
gets."""

from __future__ import annotations

import pytest

from rlm.errors import HandleError
from rlm.handles import Meter, Store, expand, reader
from rlm.handles.wire import NEEDLE_CHARS, READ_CHARS


@pytest.fixture
def payloads():
    with Store() as opened:
        yield opened


def test_reading_finding_and_counting(payloads):
    ask = reader(payloads, Meter())
    text = "Größe und GRÖSSE und Ende"
    key = payloads.put(text).key
    assert ask["text.read"](key, 0, 5) == "Größe"
    assert ask["text.read"](key, -4, None) == "Ende"
    assert ask["text.read"](key, 5, 2) == ""
    assert ask["text.find"](key, "und", 0, None, False) == text.find("und")
    assert ask["text.find"](key, "und", 7) == text.find("und", 7)
    assert ask["text.find"](key, "UND", 0, None, True) == text.find("und")
    assert ask["text.count"](key, "und", 0, None) == 2
    assert ask["text.count"](key, "und", 0, 10) == 1


def test_a_mark_stands_for_its_passage(payloads):
    key = payloads.put("The quick fox").key
    mark = reader(payloads, Meter())["text.mark"](key, 4, 9)
    assert "quick" not in mark and expand(payloads, f"Read {mark}!") == "Read quick!"


def test_a_read_is_capped_and_is_no_single_return(payloads):
    meter = Meter()
    read = reader(payloads, meter)["text.read"]
    key = payloads.put("a" + "x" * READ_CHARS).key
    assert read(key, 0, 10**9) == "a" + "x" * (READ_CHARS - 1)
    assert len(read(key, 1, None)) == READ_CHARS
    assert meter.report()["max_single_return"] == 0
    assert meter.report()["by_tool"] == {"text.read": {"calls": 2, "chars": 2 * READ_CHARS}}


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("text.read", ("a", 1), "start is str"),
        ("text.read", (0, [1]), "stop is list"),
        ("text.read", (True, 1), "start is bool"),
        ("text.find", (7,), "the text to look for is int"),
        ("text.count", ("x" * (NEEDLE_CHARS + 1),), "has 20,001 characters, at most 20,000"),
        ("text.mark", (None, 1), "start is NoneType"),
    ],
)
def test_a_forged_argument_is_refused(payloads, name, args, message):
    with pytest.raises(HandleError, match=message):
        reader(payloads, Meter())[name](payloads.put("text").key, *args)


@pytest.mark.parametrize("name", ["text.read", "text.mark"])
@pytest.mark.parametrize("key", ["gone", None, 7, ["a"], {"a": 1}])
def test_a_forged_key_is_refused(payloads, name, key):
    with pytest.raises(HandleError):
        reader(payloads, Meter())[name](key, 0, 1)
