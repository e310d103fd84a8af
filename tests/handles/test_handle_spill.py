"""What does not fit into memory lies in files, and nobody notices."""

from __future__ import annotations

import gc
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm.errors import HandleError
from rlm.handles import Store
from rlm.handles.payload import PIECE_CHARS, Resident, Spilled, count, find, fold

FEW = st.sampled_from("aAΣςİß\n😀\ud800")
"""Few letters, so that hits are many and lie across every boundary."""
ANY = st.characters()
POSITION = st.integers(-12, 40)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def spilling(tmp_path):
    """A store without memory: everything goes to a file."""
    with Store(memory_bytes=0, folder=tmp_path) as store:
        yield store


@given(
    st.text(FEW, max_size=30) | st.text(ANY),
    st.text(FEW, max_size=3),
    POSITION,
    st.none() | POSITION,
)
@pytest.mark.req("UT-01")
def test_a_spilled_text_is_read_and_searched_like_a_str(text, needle, start, stop):
    with Store(memory_bytes=0) as store:
        ref = store.put(text)
        assert len(files(store._folder)) == 1
        assert store.text(ref) == text
        assert store.read(ref, start, stop) == text[start:stop]
        assert store.find(ref, needle, start, stop) == text.find(needle, start, stop)
        assert store.count(ref, needle, start, stop) == text.count(needle, start, stop)
        expected = fold(text).find(fold(needle), start, stop)
        assert store.find(ref, needle, start, stop, ignore_case=True) == expected


@pytest.fixture(scope="module")
def spilled_path(tmp_path_factory):
    return tmp_path_factory.mktemp("spilled") / "text"


@settings(max_examples=200)
@given(
    text=st.text(st.sampled_from("aAΣ😀"), min_size=5, max_size=40) | st.text(ANY, max_size=40),
    needle=st.text(st.sampled_from("aAΣ"), min_size=1, max_size=4),
    size=st.integers(1, 7),
    ends=st.tuples(st.integers(0, 40), st.integers(0, 40)),
)
def test_no_chunk_or_piece_boundary_shows(spilled_path, text, needle, size, ends):
    start, stop = sorted(min(end, len(text)) for end in ends)
    body = Spilled(text, spilled_path, chunk_chars=size)
    try:
        assert body.read(start, stop) == text[start:stop]
        assert find(body, needle, start, stop, piece_chars=size) == text.find(needle, start, stop)
        assert count(body, needle, start, stop, piece_chars=size) == text.count(needle, start, stop)
        for either in (body, Resident(text)):
            found = find(either, needle, start, stop, folded=True, piece_chars=size)
            assert found == fold(text).find(fold(needle), start, stop)
    finally:
        body.remove()


def test_a_hit_is_found_wherever_a_boundary_falls(spilled_path):
    text = "aabaa😀babAbaabaΣabb"
    needles = {text[at : at + chars] for at in range(len(text)) for chars in (1, 2, 3, 4)}
    for size in range(1, 8):
        body = Spilled(text, spilled_path, chunk_chars=size)
        for needle in needles:
            for start in (0, 3, 8):
                assert find(body, needle, start, len(text), piece_chars=size) == text.find(
                    needle, start
                )
                assert count(body, needle, start, len(text), piece_chars=size) == text.count(
                    needle, start
                )
                found = find(body, needle.upper(), start, len(text), folded=True, piece_chars=size)
                assert found == fold(text).find(fold(needle), start)
        body.remove()


def test_folding_keeps_every_character_in_its_place():
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    assert len(fold(every)) == len(every)
    assert [char for char in every if len(fold(char)) != 1] == []
    assert fold("ΟΔΟΣ ΟΔΟΣ") == fold("οδος οδοσ")
    assert fold("Straße İ") == "straße i"


def test_overlapping_hits_are_counted_once_over_the_end_of_a_piece(spilling):
    text = "a" * (PIECE_CHARS + 7)
    assert spilling.count(spilling.put(text), "aaa") == text.count("aaa")


def test_a_small_slice_reads_only_its_own_chunks(spilling, tmp_path):
    text = "".join(f"line {n}, grün\n" for n in range(50_000))
    ref = spilling.put(text)
    [path] = files(tmp_path)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[: middle - 100_000] = b"\xff" * (middle - 100_000)  # unreadable, were it read
    data[middle + 100_000 :] = b"\xff" * (len(data) - middle - 100_000)
    path.write_bytes(data)
    at = len(text) // 2
    assert spilling.read(ref, at, at + 100) == text[at : at + 100]
    with pytest.raises(HandleError, match="the file was changed"):
        spilling.text(ref)


def test_the_least_recently_used_go_first(tmp_path):
    with Store(memory_bytes=3 * sys.getsizeof("x" * 1000), folder=tmp_path) as store:
        for name in "abc":
            store.put(name * 1000, key=name)
        assert files(tmp_path) == []
        store.read("a", 0, 1)
        store.put("d" * 1000, key="d")
        assert [path.read_text()[0] for path in files(tmp_path)] == ["b"]
        store.put("e" * 2000, key="e")
        assert [path.read_text()[0] for path in files(tmp_path)] == ["b", "c", "a"]
        assert [store.text(key)[0] for key in "abcde"] == list("abcde")
        store.drop("c")
        assert [path.read_text()[0] for path in files(tmp_path)] == ["b", "a"]


def test_memory_that_was_dropped_is_free_again(tmp_path):
    with Store(memory_bytes=2 * sys.getsizeof("x" * 1000), folder=tmp_path) as store:
        for n in range(20):
            store.put(str(n) * 500, key=str(n))
            store.drop(str(n))
        assert list(tmp_path.iterdir()) == []
        assert repr(store) == "Store(0 payloads, 0 bytes in memory, 0 on disk)"


def test_the_folder_is_private_and_goes_with_the_store(tmp_path):
    umask = os.umask(0)
    try:
        store = Store(memory_bytes=0, folder=tmp_path)
        store.put("secret")
    finally:
        os.umask(umask)
    [folder] = tmp_path.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in files(folder)] == [0o600]
    store.close()
    assert list(tmp_path.iterdir()) == []


def test_the_folder_goes_when_nobody_closes(tmp_path):
    store = Store(memory_bytes=0, folder=tmp_path)
    store.put("x")
    assert len(files(tmp_path)) == 1
    del store
    gc.collect()
    assert list(tmp_path.iterdir()) == []


AT_EXIT = """
import os, sys
from pathlib import Path
from rlm.handles import Store
kept = Store(memory_bytes=0, folder=Path(sys.argv[1]))
ref = kept.put("x" * 1000)
child = os.fork()
if child == 0:
    sys.exit(0)          # a child's end must not take its parent's files
os.waitpid(child, 0)
assert kept.text(ref) == "x" * 1000
"""


def test_the_folder_goes_at_exit_but_not_with_a_forked_child(tmp_path):
    subprocess.run([sys.executable, "-c", AT_EXIT, str(tmp_path)], check=True)
    assert list(tmp_path.iterdir()) == []


FULL = """
import resource, sys
from pathlib import Path
from rlm.errors import HandleError
from rlm.handles import Store
folder = Path(sys.argv[1])
store = Store(memory_bytes=3000, folder=folder)
first = store.put("a" * 2000)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))    # no file grows beyond this: what a full disk does to write()
try:
    store.put("b" * 2500, key="second")
    raise SystemExit("no error")
except HandleError as exc:
    message = str(exc)
assert "Ref('text_0', text, 2000 chars) cannot be moved to disk" in message, message
assert "it stays in memory" in message and str(folder) in message, message
assert store.text(first) == "a" * 2000
assert store.text("second") == "b" * 2500
assert [path for path in folder.rglob("*") if path.is_file()] == []
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
third = store.put("c")                                     # there is space again: what waits goes now
assert len([path for path in folder.rglob("*") if path.is_file()]) == 1
assert store.text(first) == "a" * 2000
store.close()
"""


def test_a_full_disk_loses_nothing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with Store(memory_bytes=0, folder=tmp_path / "none") as store:
        with pytest.raises(
            HandleError, match=r"cannot be moved to disk .No such file or directory."
        ):
            store.put("x")
        assert store.text("text_0") == "x"


def test_a_file_that_was_taken_away_is_told(spilling, tmp_path):
    ref = spilling.put("x" * 100)
    [path] = files(tmp_path)
    path.write_bytes(b"x" * 50)
    for use in (
        lambda: spilling.read(ref, 0, 5),
        lambda: spilling.find(ref, "y"),
        lambda: spilling.count(ref, "y"),
    ):
        with pytest.raises(
            HandleError, match=r"cannot be read back from disk .50 bytes are missing"
        ):
            use()
    path.unlink()
    with pytest.raises(HandleError, match="No such file"):
        spilling.text(ref)


@pytest.mark.parametrize("memory_bytes", [1 << 30, 0])
def test_fifty_megabytes(memory_bytes, tmp_path):
    text = "All work and no play makes Jack a dull boy.\n" * 1_200_000
    middle = len(text) // 2
    text = text[:middle] + "a needle, größer als Heu" + text[middle:]
    with Store(memory_bytes=memory_bytes, folder=tmp_path) as store:
        ref = store.put(text, key="context")
        assert ref.sz > 50_000_000
        assert store.read(ref, middle, middle + 8) == "a needle"
        assert (
            store.find(ref, "needle") == store.find(ref, "NEEDLE", ignore_case=True) == middle + 2
        )
        assert store.find(ref, "haystack") == -1
        assert store.count(ref, "\n") == 1_200_000
