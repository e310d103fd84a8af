"""JSON with comments, changed byte by byte: what was put in can be taken out again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm.service.hosts import jsonc

OURS = {"command": "/bin/x", "args": ["-m", "rlm"], "timeout": 2}


blanks = st.text("\t ", max_size=3)
comments = st.sampled_from(["", "// note\n", "/* a\n b */", "// x, ] }\r\n", "/**/"])
gaps = st.tuples(blanks, st.sampled_from(["", "\n", "\r\n", "\n\n"]), blanks, comments, blanks).map(
    "".join
)
scalars = st.sampled_from(["1", "-2.5e3", "true", "null", '"a // b"', '"\\u00e9\\"}"', '"ü"'])


@st.composite
def written(draw: st.DrawFn, depth: int = 3) -> str:
    """Any value, as somebody may have written it."""
    kind = draw(st.sampled_from(["scalar", "object", "array"])) if depth else "scalar"
    if kind == "scalar":
        return draw(scalars)
    inner = draw(st.lists(written(depth=depth - 1), max_size=3))
    if kind == "object":
        names = [f'"k{number}"{draw(gaps)}:{draw(gaps)}' for number in range(len(inner))]
        inner = [name + value for name, value in zip(names, inner, strict=True)]
    body = ",".join(f"{draw(gaps)}{value}{draw(gaps)}" for value in inner)
    body += draw(st.sampled_from(["", "," + draw(gaps)])) if inner else draw(gaps)
    return f"{{{body}}}" if kind == "object" else f"[{body}]"


@st.composite
def settings_text(draw: st.DrawFn) -> str:
    """An object with any of the containers that we put something into."""
    members = [f'"other"{draw(gaps)}:{draw(gaps)}{draw(written())}']
    if draw(st.booleans()):
        inner = ",".join(
            f"{draw(gaps)}{draw(written(depth=2))}" for _ in range(draw(st.integers(0, 2)))
        )
        end = "," + draw(gaps) if inner and draw(st.booleans()) else draw(gaps)
        members.append(
            f'"hooks":{draw(gaps)}{{{draw(gaps)}"Stop":{draw(gaps)}[{inner}{end}]{draw(gaps)}}}'
        )
    body = ",".join(draw(gaps) + each for each in draw(st.permutations(members)))
    return f"{draw(gaps)}{{{body}{draw(gaps)}}}{draw(gaps)}"


@settings(max_examples=60)
@given(settings_text())
def test_what_is_put_in_can_be_taken_out_byte_for_byte(text: str) -> None:
    before = jsonc.parse(text)
    stop = jsonc.find(before, ("hooks", "Stop"))
    after = jsonc.insert(text, ("hooks", "Stop"), OURS)
    found = jsonc.parse(after)
    assert found.value["hooks"]["Stop"] == [*(stop.value if stop else []), OURS]
    assert found.value["other"] == before.value["other"]
    place = len(found.value["hooks"]["Stop"]) - 1

    def was_there(path: jsonc.Path) -> bool:
        return jsonc.find(before, path) is not None

    assert jsonc.cut(after, ("hooks", "Stop", place), was_there) == text


@settings(max_examples=60)
@given(settings_text(), st.booleans())
def test_so_it_is_when_others_have_added_something_behind_it(text: str, member: bool) -> None:
    """Whoever adds with our own tool gets the same file with us and without us."""
    path: jsonc.Path = ("hooks", "Stop")
    more, key = (("hooks",), "Later") if member else (path, None)
    before = jsonc.parse(text)

    def was_there(path: jsonc.Path) -> bool:
        return jsonc.find(before, path) is not None

    with_us = jsonc.insert(jsonc.insert(text, path, OURS), more, {"theirs": 1}, key)
    place = jsonc.parse(with_us).value["hooks"]["Stop"].index(OURS)
    without = jsonc.insert(text, more, {"theirs": 1}, key)
    bare = jsonc.cut(with_us, (*path, place), was_there)
    # Where a new line begins, and how far it is indented, may depend on what stood before it.
    assert "".join(bare.split()) == "".join(without.split())


@given(st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=4) | st.none()))
def test_it_reads_what_json_reads(value: dict[str, object]) -> None:
    for indent in (None, 2, "\t"):
        assert jsonc.parse(json.dumps(value, indent=indent)).value == value


@given(st.text('{}[]",:/*1atrue\\ \n', max_size=30))
def test_any_text_is_read_or_refused_with_a_line(text: str) -> None:
    try:
        value = jsonc.parse(text).value
    except jsonc.NotJSON as exc:
        assert "line " in str(exc)
        with pytest.raises(ValueError):
            json.loads(text, object_pairs_hook=without_doubles)
    else:
        json.dumps(value)


def without_doubles(members: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(members)) < len(members):
        raise ValueError("a name stands twice")
    return dict(members)


def test_a_comment_stays_with_the_line_it_is_about() -> None:
    text = '{\n  "a": 1 // why a is 1\n}\n'
    assert jsonc.insert(text, (), 2, "b") == '{\n  "a": 1, // why a is 1\n  "b": 2\n}\n'


def test_tabs_and_windows_line_ends_are_taken_over() -> None:
    text = '{\r\n\t"a": [\r\n\t\t1\r\n\t]\r\n}\r\n'
    assert jsonc.insert(text, ("a",), {"b": 1}) == (
        '{\r\n\t"a": [\r\n\t\t1,\r\n\t\t{\r\n\t\t\t"b": 1\r\n\t\t}\r\n\t]\r\n}\r\n'
    )


def test_what_stands_in_the_way_is_named() -> None:
    with pytest.raises(jsonc.NotJSON, match=r"hooks\.Stop is no array"):
        jsonc.insert('{"hooks": {"Stop": null}}', ("hooks", "Stop"), 1)
    with pytest.raises(jsonc.NotJSON, match="nested too deeply"):
        jsonc.parse("[" * 100_000)
    with pytest.raises(jsonc.NotJSON, match="line 3"):
        jsonc.parse('{\n"a": 1\n"b": 2}')
    with pytest.raises(jsonc.NotJSON, match='line 2: "a" stands twice'):
        jsonc.parse('{"a": {"b": 1},\n"a": 2}')
