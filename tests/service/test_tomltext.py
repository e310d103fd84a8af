"""Our table in a TOML file: in at the end, out again byte for byte, or not at all."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.service.hosts import tomltext

PATH = ("mcp_servers", "rlm")
OURS = {"command": 'C:\\py "x"', "args": ["-m", "rlm", "mcp"]}

lines = st.sampled_from(
    [
        "",
        "# a comment",
        'model = "x"  # why',
        "[mcp_servers.other]",
        'command = "y"',
        "[projects.'/a b']",
        'trust_level = "trusted"',
        "[mcp_servers]",
        "[[hooks.Stop]]",
        's = """',
        "[other]",
        '"""',
        "many = [",
        "  1,",
        "]",
    ]
)


@st.composite
def toml_text(draw: st.DrawFn) -> str:
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    text = newline.join(draw(st.lists(lines, max_size=12))) + draw(st.sampled_from(["", newline]))
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return newline
    return newline if tomltext.find(data, PATH) is not None else text


@given(toml_text())
def test_in_and_out_is_the_same_file(text: str) -> None:
    after = tomltext.insert(text, PATH, OURS)
    assert tomltext.find(tomllib.loads(after), PATH) == OURS and after.startswith(text)
    assert tomltext.cut(after, PATH) == text


@given(toml_text())
def test_out_after_somebody_wrote_behind_it(text: str) -> None:
    more = "\n# mine\n[zz]\na = 1\n"
    after = tomltext.insert(text if text.endswith("\n") else text + "\n", PATH, OURS) + more
    expected = (text if text.endswith("\n") else text + "\n") + more
    assert tomltext.cut(after, PATH) == expected


def test_what_a_person_added_to_our_table_goes_with_it() -> None:
    text = 'a = 1\n\n[mcp_servers.rlm]\ncommand = "x"\n\n# slow here\ntimeout = 9\n'
    text += "[mcp_servers.rlm.env]\nA = 'b'\n\n[other]\n"
    assert tomltext.cut(text, PATH) == "a = 1\n[other]\n"


@pytest.mark.parametrize("text", ['mcp_servers = {o = {command = "x"}}\n', "mcp_servers = 1\n"])
def test_where_no_table_can_be_added_it_says_so(text: str) -> None:
    with pytest.raises(tomltext.NotTOML):
        tomltext.insert(text, PATH, OURS)


def test_an_inline_table_is_not_taken_out_by_force() -> None:
    with pytest.raises(tomltext.NotTOML, match="by hand"):
        tomltext.cut('mcp_servers = {rlm = {command = "x"}}\n', PATH)


def test_a_text_that_looks_like_our_table_is_no_reason_to_break_the_file() -> None:
    text = tomltext.insert('s = """\n[mcp_servers.rlm]\n"""\n', PATH, OURS)
    with pytest.raises(tomltext.NotTOML, match="by hand"):
        tomltext.cut(text, PATH)
