"""A box of tools: measured, described, joined."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.errors import ValidationError
from rlm.handles import Meter, Ref, Store
from rlm.loop.trace import render_value
from rlm.store.jsonfile import MemoryStore
from rlm.tools import Toolbox, ctx_tools, graph_tools, memory_tools
from rlm.tools.toolbox import clip


def shout(text, times=2, *rest, loud=True):
    """Say it again,
    as often as times says.

    Not shown: only the first paragraph is.
    """
    return text * times


def test_what_a_tool_returns_is_measured_as_it_is_read(meter):
    box = Toolbox()
    box.add(shout, meter)
    assert box.functions["shout"]("ab", times=3) == "ababab"
    assert meter.report()["by_tool"] == {"shout": {"calls": 1, "chars": 6}}
    box.functions["shout"]([{"a": "ü"}], 1)
    assert meter.report()["max_single_return"] == len('[{"a": "ü"}]')
    assert (
        render_value([Ref("a", "text", 5, "abc")])
        == '[{"$ref": {"key": "a", "dtype": "text", "sz": 5, "prev": "abc"}}]'
    )


def test_a_tool_that_fails_is_not_measured(meter):
    box = Toolbox()
    box.add(shout, meter)
    with pytest.raises(TypeError):
        box.functions["shout"](None)
    assert meter.report()["by_tool"] == {}


def test_a_description_has_the_signature_and_the_first_paragraph_whole(meter):
    box = Toolbox()
    box.add(shout, meter, untimed=True)
    assert (
        box.describe() == "- `shout(text, times=2, *rest)`: Say it again, as often as times says."
    )
    assert (set(box.functions), box.untimed) == ({"shout"}, {"shout"})


def test_boxes_are_joined_and_a_name_is_used_once(meter):
    def whisper(text):
        """Say it low."""
        return text

    one, two = Toolbox(), Toolbox()
    one.add(shout, meter, untimed=True)
    two.add(whisper, meter)
    both = one | two
    assert (set(both.functions), both.untimed) == ({"shout", "whisper"}, {"shout"})
    assert (len(one.functions), len(two.functions)) == (1, 1)
    for use in (lambda: both.add(shout, meter), lambda: both | one):
        with pytest.raises(ValidationError, match="there is a tool 'shout' already"):
            use()


def test_tools_with_a_summary_are_described_by_it(meter):
    def whisper(text, tone="low"):
        """Say it low."""
        return text

    def hum(text):
        """Say nothing."""
        return text

    box = Toolbox.of(meter, whisper, summary="`whisper(text)` and `hum(text)` are quiet.")
    box = box | Toolbox.of(meter, hum, shout)
    own, together = box.describe().splitlines()
    assert (
        own.startswith("- `shout(") and together == "- `whisper(text)` and `hum(text)` are quiet."
    )
    some = "`whisper(text)` is quiet; `yell(text)` and `cry(text)` are not."
    box = Toolbox.of(meter, whisper, summary=some)
    assert box.describe() == "- `whisper(text)` is quiet.", "tools that are not there are not named"


def test_every_tool_says_what_it_does_in_three_short_lines(meter):
    backend = MemoryStore()
    box = ctx_tools(Store(), meter) | memory_tools(backend, meter) | graph_tools(backend, meter)
    assert list(box.functions) == [
        *(
            "ctx_peek",
            "ctx_slice",
            "ctx_find",
            "ctx_stats",
            "mem_search",
            "mem_get",
            "mem_quote",
            "mem_add",
        ),
        *(
            "memory_query",
            "memory_add_fact",
            "memory_add_experience",
            "memory_get_context",
            "memory_relate",
        ),
    ]
    for name, function in box.functions.items():
        lines = function.__doc__.splitlines()
        assert 1 <= len(lines) <= 3, name
        assert all(len(line.strip()) <= 110 for line in lines), name
    text = box.describe()
    for name in box.functions:
        assert f"`{name}(" in text, name
    assert "self" not in text
    memory = [line for line in text.splitlines() if "mem_" in line or "memory_" in line]
    assert len("\n".join(memory)) <= 400


@given(st.text(st.characters() | st.sampled_from('"\\\n\x00'), max_size=60), st.integers(1, 40))
def test_a_clipped_text_has_room_inside_json(text, room):
    cut = clip(text, room)
    assert len(json.dumps(cut, ensure_ascii=False)) - 2 <= room
    assert cut == text or (cut.endswith("…") and text.startswith(cut[:-1]))
    if len(json.dumps(text, ensure_ascii=False)) - 2 <= room:
        assert cut == text


def test_a_meter_is_enough_for_every_box():
    meter = Meter()
    box = graph_tools(MemoryStore(), meter) | memory_tools(MemoryStore(), meter)
    assert box.functions["mem_search"]("anything") == []
    assert meter.report()["total_chars_returned"] == 2
