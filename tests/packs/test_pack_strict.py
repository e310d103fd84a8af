"""Anything that is not exactly a pack is refused, with its place, and nothing of it is stored."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pack_making import line, memories, memory, pack_bytes, seal, state, store, write_pack

from rlm.errors import PackError
from rlm.packs import import_pack, verify_pack
from rlm.packs.format import LINE_BYTES

GOOD = line(title="A good one")


def nested(depth: int) -> bytes:
    text = (
        '{"title":"t","content":"c","provenance":{"x":'
        + "[" * (depth - 2)
        + "]" * (depth - 2)
        + "}}\n"
    )
    return text.encode()


def with_hash(changes: Callable[[dict[str, object]], object]) -> bytes:
    record = json.loads(pack_bytes([memory()]))
    changes(record)
    return (json.dumps(record) + "\n").encode()


BAD_SECOND_LINES = {
    "not JSON": (b"{nonsense}\n", "not a JSON object"),
    "cut": (line()[:20] + b"\n", "not a JSON object"),
    "two objects": (b"{} {}\n", "not a JSON object"),
    "list": (b"[]\n", "expected an object in braces"),
    "number": (b"1\n", "expected an object"),
    "null": (b"null\n", "expected an object"),
    "empty": (b"\n", "not a JSON object but blank: delete it"),
    "key twice": (b'{"title":"a","title":"b","content":"c"}\n', "twice"),
    "key twice below": (b'{"title":"a","content":"c","scope":{"tools":[],"tools":[]}}\n', "twice"),
    "key twice, with blanks": (b'{"title": "a", "content": "c", "title": "a"}\n', "twice"),
    "key twice, odd blanks": (b'{"title" :"a", "title":"a","content": "c"}\n', "twice"),
    "NaN": (b'{"title":"a","content":"c","confidence":NaN}\n', "NaN"),
    "Infinity": (b'{"title":"a","content":"c","provenance":{"x":-Infinity}}\n', "Infinity"),
    "beyond float": (
        b'{"title":"a","content":"c","provenance":{"x":1e999}}\n',
        "too large a number",
    ),
    "huge integer": (
        b'{"title":"a","content":"c","confidence":' + b"9" * 5000 + b"}\n",
        "not a JSON object",
    ),
    "unknown key": (line(level="org"), "unknown key 'level'"),
    "trust claimed": (line(trust="trusted"), "unknown key 'trust'"),
    "deep": (nested(9), "deeper than 8: make the lists and objects in it flatter"),
    "very deep": (nested(100_000), "deeper than 8: make the lists and objects in it flatter"),
    "not UTF-8": (b'{"title":"\xff","content":"c"}\n', "not UTF-8 .byte 11.: save it as UTF-8"),
    "mark inside": (b"\xef\xbb\xbf" + line(), "byte order mark"),
    "no title": (b'{"content":"c"}\n', "title"),
    "no content": (b'{"title":"t"}\n', "content"),
    "long title": (line(title="w " * 11), "11 words"),
    "title no text": (line(title=5), "title is int"),
    "tags no list": (line(tags="x"), "tags is str"),
    "tags of numbers": (line(tags=[1]), "tag"),
    "scope no object": (line(scope=[]), "scope is list"),
    "scope key": (line(scope={"tenant": "x"}), "unknown scope key"),
    "provenance text": (line(provenance="x"), "provenance is str"),
    "source type": (line(source_type="god"), "unknown source_type"),
    "outcome": (line(outcome="fine"), "unknown outcome"),
    "confidence": (line(confidence=1.5), "confidence"),
    "time": (line(created_at="yesterday"), "created_at"),
    "hash wrong": (with_hash(lambda r: r.update(description="other")), "sha256"),
    "hash no text": (with_hash(lambda r: r.update(sha256=5)), "sha256"),
    "hash of another": (
        with_hash(lambda r: r.update(sha256="0" * 64)),
        "take sha256 and memory_id out of the line",
    ),
    "same id": (GOOD, "twice: delete one of the two lines"),
}


@pytest.mark.req("RB-12", "RB-14")
@pytest.mark.parametrize("bad", BAD_SECOND_LINES)
@pytest.mark.parametrize("sealed", [False, True], ids=["bare", "manifest"])
def test_a_bad_line_is_refused_and_nothing_is_stored(
    tmp_path: Path, bad: str, sealed: bool
) -> None:
    data, message = BAD_SECOND_LINES[bad]
    path = tmp_path / "p.jsonl"
    path.write_bytes(GOOD + data)
    if sealed:
        seal(path, count=2)
    with store(tmp_path / "m.db") as db:
        db.add(memory("Here before"))
        before = state(db)
        with pytest.raises(PackError, match=message) as caught:
            import_pack(path, db, trust=True)
        assert state(db) == before
    assert (caught.value.path, caught.value.line) == (str(path), 2)
    report = verify_pack(path)
    assert not report.ok and report.problem == str(caught.value)


@pytest.mark.req("RB-12")
def test_nesting_of_eight_is_fine(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(nested(8))
    assert verify_pack(path).ok


@pytest.mark.req("RB-12")
@pytest.mark.parametrize(
    "data", [GOOD[:-1], GOOD + line()[:-1], GOOD + b"{"], ids=["one", "two", "cut"]
)
def test_a_torn_last_line(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(data)
    with store(tmp_path / "m.db") as db:
        before = state(db)
        with pytest.raises(PackError, match="no newline"):
            import_pack(path, db)
        assert state(db) == before


@pytest.mark.req("RB-12")
def test_a_ten_megabyte_line_is_refused_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(GOOD + b"[" * (10 << 20) + b"\n")
    report = verify_pack(path)
    assert f":2: is longer than {LINE_BYTES:,} bytes: shorten it" in str(report.problem)


@pytest.mark.req("RB-12")
def test_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD)
    assert "byte order mark" in str(verify_pack(path).problem)


@pytest.mark.req("RB-12")
def test_a_sparse_file_beyond_the_cap(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(GOOD)
    os.truncate(path, (2 << 30) + 1)
    assert "at most 2,147,483,648: is it the right file? If so, split it" in str(
        verify_pack(path).problem
    )


@pytest.mark.req("RB-12")
@pytest.mark.parametrize("kind", ["gzip", "zip", "zstd", "bzip2", "xz"])
def test_a_compressed_file_is_told_as_one(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "p.jsonl"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as made:
            made.writestr("q.jsonl", GOOD)
    else:
        packers = {
            "gzip": gzip.compress,
            "bzip2": bz2.compress,
            "xz": lzma.compress,
            "zstd": ZSTD.__add__,
        }
        path.write_bytes(packers[kind](GOOD))
    assert str(verify_pack(path).problem) == f"{path}: is compressed ({kind}): unpack it first"


ZSTD = bytes.fromhex("28b52ffd")


@pytest.mark.req("RB-12")
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("link", "symbolic link: name the file itself"),
        ("link to manifest", "symbolic link: name the file itself"),
        ("folder", "is a folder: name a file in it"),
        ("pipe", "name a regular file"),
        ("missing", "No such file"),
        ("device", "name a regular file"),
    ],
)
def test_only_regular_files(tmp_path: Path, kind: str, message: str) -> None:
    good = write_pack(tmp_path / "good.jsonl", [memory()])
    path = tmp_path / "p.jsonl"
    if kind == "link":
        path.symlink_to(good)
    elif kind == "link to manifest":
        path.write_bytes(good.read_bytes())
        (tmp_path / "p.manifest.json").symlink_to(tmp_path / "good.manifest.json")
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path = Path("/dev/zero")
    with store(tmp_path / "m.db") as db, pytest.raises(PackError, match=message):
        import_pack(path, db)


@pytest.mark.parametrize("name", [".", "..", "/", "./"])
def test_a_folder_is_told_as_one(name: str) -> None:
    assert "is a folder: name a file in it" in str(verify_pack(name).problem)


@pytest.mark.req("RB-12", "RB-13")
@pytest.mark.parametrize("name", ["p", "core_v2", "...", "", "core_v1 "])
def test_a_bare_name_means_a_shipped_pack_only(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pack(tmp_path / "p.jsonl", [memory()])
    monkeypatch.chdir(tmp_path)
    with store(tmp_path / "m.db") as db, pytest.raises(PackError, match="ships with rlm"):
        import_pack(name, db)


BAD_MANIFESTS: dict[str, tuple[dict[str, object], str]] = {
    "count": ({"count": 2}, "its manifest says 2: get both files again"),
    "hash": (
        {"sha256": "0" * 64},
        "get both files again, or if you changed it, delete p.manifest.json",
    ),
    "hash form": ({"sha256": "x"}, "64 hexadecimal"),
    "other file": (
        {"file": "other.jsonl"},
        "manifest of 'other.jsonl': give both files their names back, or delete",
    ),
    "parent": ({"file": "../x.jsonl"}, "own folder"),
    "absolute": ({"file": "/etc/x.jsonl"}, "own folder"),
    "backslash": ({"file": "..\\x.jsonl"}, "own folder"),
    "no pack": ({"file": "passwd"}, "ends in"),
    "name": ({"name": "../evil"}, "own folder"),
    "negative": ({"count": -1}, "count"),
    "bool": ({"count": True}, "count"),
    "newer": ({"format": 2}, "newer"),
    "extra": ({"trust": "trusted"}, "unknown key"),
    "signature form": ({"signature": "x"}, "signature"),
    "signature null": ({"signature": None}, "signature"),
}


@pytest.mark.req("RB-12", "RB-14")
@pytest.mark.parametrize("bad", BAD_MANIFESTS)
@pytest.mark.parametrize("by", ["pack", "manifest"])
def test_a_bad_manifest(tmp_path: Path, bad: str, by: str) -> None:
    changes, message = BAD_MANIFESTS[bad]
    path = write_pack(tmp_path / "p.jsonl", [memory()])
    beside = tmp_path / "p.manifest.json"
    beside.write_text(json.dumps({**json.loads(beside.read_text()), **changes}))
    with store(tmp_path / "m.db") as db:
        before = state(db)
        match = "put that file beside it" if (bad, by) == ("other file", "manifest") else message
        with pytest.raises(PackError, match=match):
            import_pack(path if by == "pack" else beside, db, trust=True)
        assert state(db) == before


@pytest.mark.req("RB-12")
@pytest.mark.parametrize(
    "text", ["", "[]", '{"name":"a","name":"b"}', "{}", "x" * 70_000, '{"format":NaN}']
)
def test_a_manifest_that_is_none(tmp_path: Path, text: str) -> None:
    path = write_pack(tmp_path / "p.jsonl", [memory()])
    (tmp_path / "p.manifest.json").write_text(text)
    assert not verify_pack(path).ok


@pytest.mark.req("RB-12", "RB-14")
@settings(max_examples=30, deadline=None)
@given(st.data())
def test_a_damaged_pack_never_imports_in_part(data: st.DataObject) -> None:
    good = pack_bytes(memories(3))
    damaged = bytearray(good)
    start = data.draw(st.integers(0, len(good) - 1))
    if data.draw(st.booleans()):
        damaged[start : start + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=6))
    else:
        del damaged[start:]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "p.jsonl"
        path.write_bytes(good)
        sealed = data.draw(st.booleans())
        if sealed:
            seal(path)
        path.write_bytes(damaged)
        with store(Path(name) / "m.db") as db:
            before = state(db)
            try:
                report = import_pack(path, db, trust=True)
            except PackError:
                assert state(db) == before
            else:
                assert report.count == report.added == damaged.count(b"\n")
                assert bytes(damaged) == good or not sealed
                assert {item.title for item in db.list_items()} <= {
                    item.title for item in memories(3)
                }
