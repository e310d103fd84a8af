"""A text on the host answers as a string would, whatever its length."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.sandbox.child import texts
from rlm.sandbox.child.texts import HostText, find_matches

PIECES = st.text(alphabet="ab \nÄx😀", max_size=60)
PLACES = st.none() | st.integers(-70, 70)


def held(text, *, most=None):
    """A HostText over `text`; `most` characters at a time, as a host may give."""

    def call(name, key, *args):
        assert key == "k"
        if name == "text.read":
            start, stop = args
            return text[start : min(stop, start + (most or len(text) or 1))]
        if name == "text.find":
            needle, start, stop, fold = args
            return (text.lower() if fold else text).find(needle, start, stop)
        if name == "text.mark":
            return f"[{key} {args[0]} {args[1]}]"
        assert name == "text.count"
        return text.count(*args)

    return HostText(call, "k", 0, len(text))


@pytest.fixture
def small(monkeypatch):
    """Every bound so low that short texts count as long."""
    for name, value in {
        "SLICE_CHARS": 4,
        "WHOLE_CHARS": 8,
        "CHUNK_CHARS": 5,
        "OVERLAP_CHARS": 6,
    }.items():
        monkeypatch.setattr(texts, name, value)


def shown(value):
    return value._read(0, value.sz) if isinstance(value, HostText) else value


@pytest.mark.parametrize("low", [False, True])
@given(text=PIECES, start=PLACES, stop=PLACES)
def test_a_slice_is_that_of_the_string(low, text, start, stop):
    with pytest.MonkeyPatch.context() as patch:
        if low:
            patch.setattr(texts, "SLICE_CHARS", 4)
            patch.setattr(texts, "CHUNK_CHARS", 5)
        part = held(text, most=3)[start:stop]
        assert shown(part) == text[start:stop]
        if low and len(text[start:stop]) > 4:
            assert isinstance(part, HostText) and len(part) == len(text[start:stop])


@given(
    text=PIECES,
    needle=st.text(alphabet="ab \nÄ", min_size=1, max_size=3),
    start=PLACES,
    stop=PLACES,
)
def test_searches_are_those_of_the_string(text, needle, start, stop):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "CHUNK_CHARS", 5)
        whole = held(text)
        assert whole.find(needle, start, stop) == text.find(needle, start, stop)
        assert whole.count(needle, start, stop) == text.count(needle, start, stop)
        assert whole.rfind(needle, start, stop) == text.rfind(needle, start, stop)
        assert (needle in whole) == (needle in text)
        assert whole.startswith(needle) == text.startswith(needle)
        assert whole.endswith(needle) == text.endswith(needle)


@given(text=PIECES, sep=st.sampled_from(["\n", " ", "ab", "x"]))
def test_parts_are_those_of_the_string(text, sep):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "CHUNK_CHARS", 5)
        parts = held(text).split(sep)
        expected = text.split(sep)
        assert list(parts) == expected and len(parts) == len(expected)
        assert [shown(parts[n]) for n in range(len(expected))] == expected
        assert (
            parts[1:3] == expected[1:3]
            and parts[-2:] == expected[-2:]
            and parts[::2] == expected[::2]
        )


@given(text=st.text(alphabet="ab \nÄ", max_size=60), keep=st.booleans())
def test_lines_are_those_of_the_string(text, keep):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "CHUNK_CHARS", 5)
        lines = held(text).splitlines(keep)
        assert list(lines) == text.splitlines(keep)
        assert len(lines) == len(text.splitlines(keep))


@pytest.mark.parametrize(
    "pattern", [r"a+", r"(?<=a)b", r"^a", r"(?m)^a", r"[ab]+ ?", r"\S+", r"a|b"]
)
@given(text=PIECES)
def test_matches_in_a_long_text_are_those_of_the_string(pattern, text):
    """Matches up to the overlap's length; here no word is longer."""
    text = re.sub(r"(\S{5})(?=\S)", r"\1 ", text)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"WHOLE_CHARS": 8, "CHUNK_CHARS": 5, "OVERLAP_CHARS": 12}.items():
            patch.setattr(texts, name, value)
        compiled = re.compile(pattern)
        found = [(m.start(), m.end(), m.group()) for m in find_matches(compiled, held(text))]
        assert found == [(m.start(), m.end(), m.group()) for m in compiled.finditer(text)]


def test_lower_finds_without_case(small):
    whole = held("The Fox and the fox")
    assert whole.lower().find("fox") == 4 and "fox" in whole.lower() and "FOX" not in whole.lower()
    assert whole.lower().count("fox") == 2
    assert whole.lower().count("fox", 5) == 1 and whole.lower().count("fox", 0, 7) == 1
    assert whole.lower()[4:7] == "fox"


def test_a_long_view_is_a_mark_in_a_prompt_and_a_handle_when_shown(small):
    whole = held("0123456789" * 3)
    view = whole[10:20]
    assert f"Read this: {view}" == "Read this: [k 10 20]"
    assert "a " + view == "a [k 10 20]"
    assert repr(view) == "Ref('k', text, 10 chars from 10)" and "012" not in repr(view)
    assert f"{whole[2:5]}" == "234"


def test_what_needs_all_of_a_long_text_says_so(small):
    whole = held("0123456789")
    with pytest.raises(ValueError, match="too many for replace"):
        whole.replace("1", "2")
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        whole.nonsense  # noqa: B018
    with pytest.raises(IndexError, match="none at 99"):
        whole[99]


def test_a_text_in_the_sandbox(make_repl):
    text = "\n".join(f"line {n}: " + ("needle" if n == 777 else "hay") for n in range(300_000))
    hidden = {
        "text.read": lambda key, start, stop: text[start:stop],
        "text.find": lambda key, needle, start, stop, fold: text.find(needle, start, stop),
        "text.count": lambda key, needle, start, stop: text.count(needle, start, stop),
    }
    repl = make_repl(hidden=hidden)
    repl.set("context", {"$ref": {"key": "k", "dtype": "text", "sz": len(text), "prev": ""}})
    code = """
import re
print(len(context), context)
at = context.find("needle")
print(context[at - 10 : at + 6])
print(context.count("hay"), "needle" in context, "gold" in context)
lines = context.split("\\n")
print(len(lines), lines[777], lines[-1])
print([m.group(1) for m in re.finditer(r"line (\\d+): needle", context)])
print(sum(1 for line in context.splitlines() if "hay" in line))
print(re.search(r"needle", context).start() == at)
"""
    result = repl.run(code)
    assert result.error is None, result.stderr
    assert result.stdout.splitlines() == [
        f"{len(text)} Ref('k', text, {len(text)} chars)",
        "line 777: needle",
        "299999 True False",
        "300000 line 777: needle line 299999: hay",
        "['777']",
        "299999",
        "True",
    ]
    assert result.calls < 200


def test_a_result_is_shown_as_its_handle_and_a_short_text_as_its_characters(make_repl):
    hidden = {"text.read": lambda key, start, stop: "a hit"[start:stop]}
    repl = make_repl(hidden=hidden)
    for name, dtype in (("found", "results"), ("note", "text")):
        repl.set(name, {"$ref": {"key": "k", "dtype": dtype, "sz": 5, "prev": ""}})
    assert repl.run("print(found, note)").stdout == "Ref('k', results, 5 chars) a hit\n"
