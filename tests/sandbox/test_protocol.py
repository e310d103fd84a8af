"""What comes from a worker is not believed: forged, cut, oversize and senseless messages."""

from __future__ import annotations

import json
import os
import random
import struct
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.frames import BrokenFrame
from rlm.sandbox.process import check_message
from rlm.worker import Gone, Pipe

GOOD = [
    {"op": "out", "text": "hello"},
    {"op": "call", "name": "ctx_find", "args": ["a", 1, None, {"b": [1.5]}], "words": {"limit": 3}},
    {"op": "done", "error": None, "stderr": "", "vars": {"x": "1"}, "cut": 0},
    {"op": "value", "value": {"a": 1}},
    {"op": "missing"},
]


def frame(message):
    body = json.dumps(message).encode()
    return struct.pack(">I", len(body)) + body


def outcome(data, *, size=1 << 16):
    """What a host makes of these bytes: messages, then how it ended."""
    taken, fed = os.pipe()
    back, given = os.pipe()
    try:
        os.write(fed, data[:60_000])
        os.close(fed)
        pipe = Pipe(taken, given, frame_bytes=size, parse=check_message)
        seen = []
        for _ in range(1000):
            try:
                seen.append(pipe.receive(time.monotonic() + 5))
            except Gone as exc:
                return seen, "late" if exc.late else "died"
        return seen, "endless"
    finally:
        for number in (taken, back, given):
            os.close(number)


def test_good_messages_come_through():
    assert outcome(b"".join(map(frame, GOOD))) == (GOOD, "died")


@pytest.mark.parametrize(
    "message",
    [
        {"op": "nonsense"},
        {"op": 3},
        {"op": None},
        {"op": ["out"]},
        {},
        [],
        "out",
        3,
        None,
        {"op": "out"},
        {"op": "out", "text": 3},
        {"op": "out", "text": "a", "more": 1},
        {"op": "call", "name": 1, "args": [], "words": {}},
        {"op": "call", "name": "f", "args": {}, "words": {}},
        {"op": "call", "name": "f", "args": [], "words": []},
        {"op": "done", "error": "fine", "stderr": "", "vars": {}, "cut": 0},
        {
            "op": "done",
            "error": None,
            "stderr": "",
            "vars": {"x": {"a": 1}},
            "cut": 0,
        },
        {"op": "done", "error": None, "stderr": "", "vars": [], "cut": 0},
        {"op": "done", "error": None, "stderr": "", "vars": {}, "cut": -1},
        {"op": "ready", "layers": "all"},
        {"op": "run", "code": "1"},
    ],
)
def test_a_forged_message_ends_the_worker(message):
    assert outcome(frame(message)) == ([], "died")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"\x00\x00\x00\x05abc",
        b"\xff\xff\xff\xff" + b"a" * 100,
        struct.pack(">I", 3) + b"{{{",
        struct.pack(">I", 0),
        struct.pack(">I", 4) + b"\xff\xfe\xfd\xfc",
        struct.pack(">I", 40_000) + b"[" * 40_000,
        frame({"op": "out", "text": "a"})[:-1],
        b'\x00\x00\x00\x1f{"op": "out", "text": "\\ud800"}',
        b'\x00\x00\x00\x18{"op":"out","text": NaN}',
    ],
)
def test_bytes_that_are_no_message_end_the_worker(data):
    assert outcome(data) == ([], "died")


@given(st.binary(max_size=300))
def test_any_bytes_give_a_message_or_an_end(data):
    _, ended = outcome(data)
    assert ended == "died"


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
                    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
                    max_leaves=12))  # fmt: skip
def test_any_json_gives_a_message_or_an_end(value):
    try:
        message = check_message(json.dumps(value).encode())
    except BrokenFrame:
        return
    assert isinstance(message["op"], str)


def test_ten_thousand_broken_frames_raise_nothing_else():
    """Good messages with bytes changed, dropped, doubled or swapped, and lengths that lie."""
    dice = random.Random(20)
    ends = {"died": 0, "message": 0}
    for _ in range(10_000):
        data = bytearray(frame(dice.choice(GOOD)))
        for _ in range(dice.randint(1, 6)):
            at = dice.randrange(len(data))
            way = dice.randrange(5)
            if way == 0:
                data[at] = dice.randrange(256)
            elif way == 1:
                del data[at : at + dice.randint(1, 4)]
            elif way == 2:
                data[at:at] = data[at : at + 8]
            elif way == 3:
                data[at:at] = dice.choice(
                    [b"{", b"}", b'"', b"[[[[", b"\\u0000", b"\xc3\x28", b"1e999", b"null"]
                )
            else:
                data[0:4] = struct.pack(">I", dice.choice([0, 1, len(data), 1 << 15, 1 << 31]))
            if not data:
                data = bytearray(b"\x00")
        seen, ended = outcome(bytes(data))
        assert ended == "died"
        ends["message" if seen else "died"] += 1
    assert ends["died"] > 5_000
