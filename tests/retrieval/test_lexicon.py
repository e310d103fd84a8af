"""One look-up a word for two indexes: exact against the plain way, text by text."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm.retrieval import lexicon as lexicon_module
from rlm.retrieval import postings
from rlm.retrieval.lexicon import Lexicon, Ragged, joined
from rlm.retrieval.tokens import stem_of, words
from rlm.retrieval.wordtable import MOST_CHARS, WordTable

WEIGHTS = (1.5, 1.0, 0.4)
WORDS = st.sampled_from(
    (
        *("run", "Running", "runs", "café", "Straße", "数据库", "max_retries"),
        *("HTTPServer", "a-b", "ﬁx", "\x00", "a\x00", "\u0301x", "x" * 15, "x" * 16, "y" * 300),
    )
)
TEXT = st.lists(WORDS | st.text(max_size=6), max_size=8).map(" ".join) | st.text(max_size=20)
PLAIN = st.lists(st.text(st.characters(max_codepoint=127), max_size=80), max_size=6).map(" ".join)
DOCUMENTS = st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=70)


@settings(max_examples=60, deadline=None)
@given(DOCUMENTS)
def test_every_chunk_is_read_in_its_place(documents: list[tuple[str, ...]]) -> None:
    lexicon = Lexicon()
    reading = lexicon.read(documents)
    found: dict[int, list[str]] = defaultdict(list)
    for chunk, text in zip(reading.chunks.tolist(), reading.texts.tolist(), strict=True):
        found[text].append(lexicon.names[chunk])
    flat = [text for document in documents for text in document]
    assert (reading.documents, reading.width) == (len(documents), 3)
    for place, text in enumerate(flat):
        assert found[place] == text.split()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.tuples(PLAIN, TEXT | PLAIN), max_size=12), max_size=5))
def test_a_chunk_has_one_number_whichever_way_it_is_looked_up(
    batches: list[list[tuple[str, str]]],
) -> None:
    lexicon = Lexicon()
    told = [
        [lexicon.names[number] for number in lexicon.read(batch).chunks.tolist()]
        for batch in batches
    ]
    assert told == [
        [word for document in batch for text in document for word in text.split()]
        for batch in batches
    ]
    assert len(lexicon.names) == len(set(lexicon.names)) == len(lexicon)
    assert all(lexicon[name] == number for number, name in enumerate(lexicon.names))


def test_a_character_of_no_value_makes_another_chunk() -> None:
    lexicon = Lexicon()
    text = "a a\x00 a\x00\x00 \x00a \x00 \x00\x00 a"
    assert [
        lexicon.names[number] for number in lexicon.read([(text,)]).chunks.tolist()
    ] == text.split()


def test_a_batch_that_is_too_long_for_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon_module, "MOST_CHARS", 10)
    lexicon = Lexicon()
    reading = lexicon.read([("one two", "three"), ("two", "four five")])
    assert [lexicon.names[number] for number in reading.chunks.tolist()] == [
        "one",
        "two",
        "three",
        "two",
        "four",
        "five",
    ]
    assert reading.texts.tolist() == [0, 0, 1, 2, 3, 3]


def test_many_chunks_make_the_table_grow() -> None:
    lexicon = Lexicon()
    names = [f"w{number}" for number in range(60_000)]
    for start in range(0, len(names), 7_000):
        lexicon.read([(" ".join(names[start : start + 7_000]),)])
    again = lexicon.read(
        [(" ".join(reversed(names[start : start + 5_000])),) for start in range(0, 60_000, 5_000)]
    )
    expected = [
        n for start in range(0, 60_000, 5_000) for n in reversed(range(start, start + 5_000))
    ]
    assert again.chunks.tolist() == expected


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.text(
            st.characters(max_codepoint=127).filter(lambda c: not c.isspace()),
            min_size=1,
            max_size=20,
        )
    )
)
def test_two_numbers_say_all_of_a_chunk(chunks: list[str]) -> None:
    starts, ends, low, high = WordTable().cut("".join(f" {chunk}" for chunk in chunks) + " ")
    text = "".join(f" {chunk}" for chunk in chunks)
    assert [
        text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ] == chunks
    for chunk, one, two in zip(chunks, low.tolist(), high.tolist(), strict=True):
        length = two >> 56
        assert length == (len(chunk) if len(chunk) <= MOST_CHARS else 0)
        if length:
            data = one.to_bytes(8, "little") + two.to_bytes(8, "little")
            assert data[:length] == chunk.encode() and not any(data[length:15])


def test_chunks_that_were_made_to_have_one_hash_stay_apart() -> None:
    """A word of Thue and Morse and its mirror share every hash that is a sum of powers of an odd
    number."""
    bits = [0]
    for _ in range(11):
        bits += [1 - bit for bit in bits]
    one, other = ("".join("ab"[bit ^ flip] for bit in bits) for flip in (0, 1))
    lexicon = Lexicon()
    reading = lexicon.read([(f"{one} {other} {one}",)])
    assert [lexicon.names[number] for number in reading.chunks.tolist()] == [one, other, one]


@settings(max_examples=60, deadline=None)
@given(DOCUMENTS, st.integers(1, 69))
def test_readings_are_cut_and_joined(documents: list[tuple[str, ...]], at: int) -> None:
    lexicon = Lexicon()
    whole = lexicon.read(documents)
    pieces = (
        [whole.part(0, at), whole.part(at, len(documents))]
        if at < len(documents)
        else [whole.part(0, at)]
    )
    again = joined(pieces)
    assert again.chunks.tolist() == whole.chunks.tolist()
    assert again.texts.tolist() == whole.texts.tolist()
    assert (again.documents, again.width) == (whole.documents, whole.width)


@settings(max_examples=60, deadline=None)
@given(DOCUMENTS)
def test_postings_hold_every_stem_of_every_document(documents: list[tuple[str, ...]]) -> None:
    made = postings.build(documents, WEIGHTS)
    assert [term for term, _ in made] == sorted({term for term, _ in made})
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for place, document in enumerate(documents):
        for text, weight in zip(document, WEIGHTS, strict=True):
            for word in words(text):
                counts[stem_of(word)][place] += weight
    assert {term for term, _ in made} == set(counts)
    lengths = np.array([sum(map(len, document)) for document in documents], np.float32)
    for term, data in made:
        numbers, impacts = postings.decode(data)
        assert numbers.tolist() == sorted(counts[term])
        sums = np.array([counts[term][place] for place in numbers.tolist()], np.float32)
        assert (
            np.abs(
                impacts.astype(int) - postings.quantise(sums, lengths[numbers]).astype(int)
            ).max()
            <= 1
        )


def test_an_extra_text_of_some_documents_counts_with_its_own_weight() -> None:
    lexicon, indexer = Lexicon(), postings.Indexer()
    documents = [("red", "blue"), ("blue", ""), ("", "green")]
    lengths = np.array([7, 4, 5], np.int32)
    extra = (lexicon.read([("green grey",)]), np.array([1]), 0.5)
    made = indexer.build(lexicon, lexicon.read(documents), (1.0, 1.0), lengths, extra)
    plain = postings.build(
        [("red", "blue", ""), ("blue", "", ""), ("", "green", "")], (1.0, 1.0, 0.5)
    )
    with_extra = dict(made)
    assert postings.decode(with_extra["grei"])[0].tolist() == [1]
    assert postings.decode(with_extra["green"])[0].tolist() == [1, 2]
    assert with_extra["red"] == dict(plain)["red"]
    assert with_extra["blue"] == dict(plain)["blue"]


def test_too_many_documents_for_a_segment_are_refused() -> None:
    with pytest.raises(ValueError, match="65537 documents"):
        postings.build([("a",)] * 65_537, (1.0,))


def test_a_lexicon_that_forgot_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon_module, "CACHED_CHUNKS", 3)
    lexicon = Lexicon()
    lengths = Ragged(lambda chunk: (len(chunk),))
    for text in ("a bb ccc", "dddd a", "ee fff g hhhh", "bb a"):
        lexicon.trim()
        values, position = lengths.spread(lexicon, lexicon.read([(text,)]).chunks)
        assert values.tolist() == [len(word) for word in text.split()]
        assert position.tolist() == list(range(len(text.split())))


def test_two_lexicons_do_not_mix() -> None:
    one, two = Lexicon(), Lexicon()
    lengths = Ragged(lambda chunk: (len(chunk),))
    first = one.read([("a bb",)])
    second = two.read([("cccc ddddd",)])
    assert lengths.spread(one, first.chunks)[0].tolist() == [1, 2]
    assert lengths.spread(two, second.chunks)[0].tolist() == [4, 5]
    assert lengths.spread(one, first.chunks)[0].tolist() == [1, 2]


def test_ctrl_c_at_any_line_leaves_a_lexicon_that_is_right() -> None:
    """As a signal would, between two lines of ours: what was begun is forgotten or done again."""
    documents = [(f"w{number} x{number} {'y' * (number % 20)}",) for number in range(12)]
    place, left = 0, 0
    while left <= 0:  # the last time it goes through
        place += 1
        lexicon, ragged = Lexicon(), Ragged(lambda chunk: [len(chunk), ord(chunk[0])])
        left = _struck(lambda: ragged.spread(lexicon, lexicon.read(documents).chunks), place)  # noqa: B023
        reading = lexicon.read([("one more and another",), *documents])
        chunks = [lexicon.names[number] for number in reading.chunks.tolist()]
        assert chunks == ["one", "more", "and", "another"] + [
            word for (text,) in documents for word in text.split()
        ]
        values, _ = ragged.spread(lexicon, reading.chunks)
        assert values.tolist() == [
            value for chunk in chunks for value in (len(chunk), ord(chunk[0]))
        ]
    assert place > 100


def _struck(work: Callable[[], object], place: int) -> int:
    """Do some work and interrupt it at the line of that number; how many lines were missing."""
    left = place

    def strike(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal left
        if event == "line" and "retrieval" in frame.f_code.co_filename:
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return strike

    sys.settrace(strike)
    try:
        work()
    except KeyboardInterrupt:
        return 0
    finally:
        sys.settrace(None)
    return left
