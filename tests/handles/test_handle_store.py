"""Payloads behind keys: what goes in comes out, and a wrong key is told what would be right."""

from __future__ import annotations

import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.errors import HandleError
from rlm.handles import Store, View, decode
from rlm.handles.payload import fold

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.fixture
def store():
    with Store() as opened:
        yield opened


def test_keys_count_up_for_each_kind(store):
    kinds = ["text", "results", "text", "graph", "results"]
    keys = [store.put("x", kind).key for kind in kinds]
    assert keys == store.keys() == ["text_0", "results_0", "text_1", "graph_0", "results_1"]
    assert len(store) == 5
    assert "text_1" in store
    assert store.ref("text_1") in store
    assert "text_2" not in store
    assert 7 not in store


def test_a_key_is_never_given_out_again(store):
    store.put("first")
    store.drop(store.put("next"))
    assert store.put("later").key == "text_2"


FEW = st.sampled_from("aAΣςİß\n😀\ud800")
"""Few letters, so that hits are many and lie across every boundary."""
POSITION = st.integers(-12, 40)


@pytest.mark.req("UT-01")
@given(st.text(FEW, max_size=30), st.text(FEW, max_size=3), POSITION, st.none() | POSITION)
def test_a_payload_is_read_and_searched_like_a_str(text, needle, start, stop):
    with Store() as store, pytest.MonkeyPatch.context() as patch:
        patch.setattr("rlm.handles.store.PIECE_CHARS", 4)
        ref = store.put(text)
        assert store.read(ref, start, stop) == text[start:stop]
        assert store.find(ref, needle, start, stop) == text.find(needle, start, stop)
        assert store.count(ref, needle, start, stop) == text.count(needle, start, stop)
        expected = fold(text).find(fold(needle), start, stop)
        assert store.find(ref, needle, start, stop, ignore_case=True) == expected


def test_folding_keeps_every_character_in_its_place():
    for text in map(chr, range(sys.maxunicode + 1)):
        assert len(fold(text)) == 1
    assert fold("ΟΔΟΣ ΟΔΟΣ") == fold("οδος οδοσ")


@pytest.mark.req("UT-01")
def test_a_payload_comes_back_by_key_by_handle_and_by_view(store):
    ref = store.put("a long text about zebras")
    assert store.get(ref) == store.get(ref.key) == store.text(ref) == "a long text about zebras"
    assert store.ref(ref.key) == store.ref(View(ref.key, 0, 3)) == ref
    assert store.text(View(ref.key, 2, 6)) == store.get(View(ref.key, 2, 6)) == "long"
    assert store.text(View(ref.key, 18, 10**9)) == "zebras"
    assert store.text(View(ref.key, 50, 10)) == ""


def test_positions_in_a_view_count_from_its_start(store):
    view = View(store.put("one two one two").key, 4, 11)
    assert store.size(view) == 7
    assert store.read(view, -3, None) == "one"
    assert store.find(view, "one") == 4
    assert store.find(view, "ONE", ignore_case=True) == 4
    assert store.find(view, "two", 1) == -1
    assert store.count(view, "o") == 2


@given(st.lists(JSON, max_size=5) | st.dictionaries(st.text(), JSON, max_size=5))
def test_lists_and_objects_keep_their_structure(payload):
    with Store() as store:
        ref = store.put(payload, "rows")
        assert store.get(ref) == payload
        assert ref.sz == len(store.text(ref))


def test_rows_are_one_to_a_line_and_a_fresh_copy(store):
    rows = [{"s": "a", "n": 1}, {"s": "b", "n": 2}]
    ref = store.put(rows, "rows")
    assert store.text(ref) == '[\n{"s": "a", "n": 1},\n{"s": "b", "n": 2}\n]'
    rows.append({"s": "c", "n": 3})
    store.get(ref).clear()
    assert store.get(ref) == [{"s": "a", "n": 1}, {"s": "b", "n": 2}]
    assert store.get(store.put({1: "a", "1": "b"})) == {"1": "b"}


def test_bytes_are_decoded_and_a_loss_is_told(store):
    good = store.put("grüße".encode())
    bad = store.put(b"\x00gr\xfc\xdfe", "text")
    assert (good.dtype, store.get(good)) == ("text", "grüße")
    assert (bad.key, bad.dtype, store.get(bad)) == ("text_1", "text-lossy", "\x00gr\ufffd\ufffde")


@pytest.mark.parametrize(
    ("data", "text", "how"),
    [
        ("grüße".encode(), "grüße", ""),
        ("grüße".encode("utf-8-sig"), "grüße", ""),
        ("grüße 你好".encode("utf-16"), "grüße 你好", "utf-16"),
        ("grüße 你好".encode("utf-32"), "grüße 你好", "utf-32"),
        ("Café – 5 €".encode("cp1252"), "Café – 5 €", "windows-1252"),
        (b"\xff\xfe\x00", "\ufffd\ufffd\x00", "lossy"),
        (b"\x89PNG\r\n\x1a\n\x00", "\ufffdPNG\r\n\x1a\n\x00", "lossy"),
        (b"", "", ""),
    ],
)
def test_how_bytes_are_read(data, text, how):
    assert decode(data) == (text, how)


@pytest.mark.parametrize("payload", [7, None, {1, 2}, object()])
def test_other_payloads_are_refused(store, payload):
    with pytest.raises(HandleError, match="use text, bytes, a list or a dict"):
        store.put(payload)
    assert store.keys() == []


def endless():
    loop: list = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize("payload", [[{1, 2}], {"a": object()}, endless()])
def test_what_is_no_json_is_refused(store, payload):
    with pytest.raises(HandleError, match="cannot be written as JSON"):
        store.put(payload)
    assert store.keys() == []


@pytest.mark.parametrize("dtype", ["", "a b", "x" * 60, "9", None])
def test_kinds_that_are_no_names_are_refused(store, dtype):
    with pytest.raises(HandleError, match="dtype is"):
        store.put("x", dtype)


def test_an_unknown_key_is_told_the_nearest(store):
    with pytest.raises(HandleError, match="no payload behind 'context': nothing is stored yet"):
        store.get("context")
    for dtype in ("context", "results", "results", "zzz"):
        store.put("x", dtype)
    with pytest.raises(HandleError, match="no payload behind 'contxt_0': nearest are 'context_0'"):
        store.get("contxt_0")
    with pytest.raises(HandleError, match="nearest are 'context_0', 'results_0', 'results_1'"):
        store.read("q", 0, 1)
    with pytest.raises(HandleError, match="got int: pass the variable itself"):
        store.find(7, "x")


@pytest.mark.req("UT-01")
def test_a_text_in_place_of_a_key_is_named_by_its_length_not_shown(store):
    with pytest.raises(HandleError, match="got a text of 5,000 characters") as caught:
        store.get("secret " * 714 + "xx")
    assert "secret" not in str(caught.value)


def test_what_was_dropped_is_gone(store):
    ref = store.put("x")
    store.drop(ref)
    assert (len(store), ref in store) == (0, False)
    for use in (store.get, store.drop):
        with pytest.raises(HandleError, match="no payload behind 'text_0'"):
            use(ref)


def test_a_closed_store_says_so(store):
    ref = store.put("x")
    store.close()
    store.close()
    for use in (lambda: store.get(ref), lambda: store.put("y")):
        with pytest.raises(HandleError, match="closed"):
            use()


def test_threads_share_a_store():
    with Store() as store:
        failures, barrier = [], threading.Barrier(8)

        def work(n):
            try:
                barrier.wait()
                for turn in range(30):
                    text = f"{n}-{turn} " * 50
                    ref = store.put(text)
                    assert store.text(ref) == text
                    assert store.find(ref, "9-9") == text.find("9-9")
                    if turn % 3 == 0:
                        store.drop(ref)
            except BaseException as exc:
                failures.append(exc)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(set(store.keys())) == len(store) == 8 * 20
