"""The word encoder against the `tokenizers` library, on the real vocabulary file."""

from __future__ import annotations

import argparse
import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from rlm.retrieval.bpe import SPACE, WORD_CHARS, Vocabulary, split_words

CHECK = settings(deadline=None, database=None, max_examples=100)
SPECIAL = (
    "<s>",
    "</s>",
    "<unk>",
)  # the library gives these their own ids; here they are plain text

PARALLEL = """
The quick brown fox naïvely jumps over 13 lazy dogs; don't panic! Größe, Übermut und Straße.
Съешь же ещё этих мягких французских булок, да выпей чаю. Ο γρήγορος καφέ σκύλος πηδάει.
いろはにほへと ちりぬるを 色は匂へど 散りぬるを 我が世誰ぞ 常ならむ 天地玄黃 宇宙洪荒 이것은 시험 문장입니다
שלום עולם، مرحبا بالعالم नमस्ते दुनिया สวัสดีชาวโลก 👩‍👩‍👧‍👦 🇳🇱 e\u0301 \u200b zero\u200bwidth \x00 \x7f
SELECT * FROM t WHERE a >= 10 AND b LIKE '%x%'; ==== ------------ ======================= ......... aaaaaa
"""


@cache
def tokenizer_path() -> Path:
    spec = importlib.util.find_spec("wordllama")
    assert spec is not None and spec.submodule_search_locations
    return Path(
        spec.submodule_search_locations[0], "tokenizers", "l2_supercat_tokenizer_config.json"
    )


@cache
def whole_file() -> dict[str, Any]:
    return dict(json.loads(tokenizer_path().read_text("utf-8")))


@cache
def vocabulary() -> Vocabulary:
    return Vocabulary.load(tokenizer_path())


@cache
def library() -> Tokenizer:
    found = Tokenizer.from_file(str(tokenizer_path()))
    found.no_padding()
    found.no_truncation()
    return found


def assert_same(text: str) -> None:
    """Our ids are the library's, for the words that are neither special nor cut."""
    words = [
        word
        for word in split_words(text)
        if len(word) <= WORD_CHARS and not any(special in word for special in SPECIAL)
    ]
    ours = [token for word in words for token in vocabulary().encode_word(word)]
    assert ours == library().encode(" ".join(words), add_special_tokens=False).ids


@CHECK
@given(st.text(max_size=200))
@example("")
@example("<0x41> <0xE2><0x96> <s <unk")
@example("a\u2581 \u2581\u2581b \u2581")
@example("\x00\x1c\x85\xa0\u2028x")
def test_arbitrary_text_has_the_ids_of_the_library(text: str) -> None:
    assert_same(text)


@CHECK
@given(st.text(alphabet="aeinst-=_.<0xE2>/ \u2581\u4e2d\U0001f600", max_size=150))
@example("=" * 63)
@example("-" * 61 + " " + "*" * 50)
@example("aaaaaaa eeeeee ssssssssss tttttttttt")
def test_runs_and_overlapping_merges_have_the_ids_of_the_library(text: str) -> None:
    assert_same(text)


@CHECK
@given(
    st.lists(
        st.sampled_from(
            ("0", "12", "345.", "-6e", "ing", "<s", "<0x41>", "é", "中", "😀", "x" * 40, " ")
        )
    )
)
@example(["12", "x" * 40, "12", "x" * 10])
def test_words_with_digits_have_the_ids_of_the_library(parts: list[str]) -> None:
    assert_same("".join(parts))


@CHECK
@given(
    st.lists(
        st.sampled_from(
            ("label", "Of", "qzx", ",", '("', "=", "_", "/", "<", "s", ">", "7", "26", "é", " ")
        )
    )
)
@example(["<", "s", ">", " ", "<", "/", "s", ">"])
@example(["label", ",", "2026", ")", "qzx" * 21])
def test_words_with_marks_have_the_ids_of_the_library(parts: list[str]) -> None:
    assert_same("".join(parts))


@CHECK
@given(st.data())
def test_tokens_put_together_at_random_have_the_ids_of_the_library(data: st.DataObject) -> None:
    tokens = list(whole_file()["model"]["vocab"])
    places = data.draw(st.lists(st.integers(0, len(tokens) - 1), max_size=30))
    assert_same("".join(tokens[place] for place in places))


def test_real_text_has_the_ids_of_the_library() -> None:
    for text in (
        PARALLEL,
        Path(argparse.__file__).read_text("utf-8"),
        Path(__file__).read_text("utf-8"),
    ):
        assert_same(text)


def test_every_token_that_starts_a_word_is_what_its_own_merges_make() -> None:
    """Why a word that is a token needs no merging."""
    vocab: dict[str, int] = whole_file()["model"]["vocab"]
    words = [
        token[1:] for token in vocab if token.startswith(SPACE) and not token.startswith(SPACE * 2)
    ]
    encoded = library().encode_batch([word for word in words if word], add_special_tokens=False)
    assert len(words) > 10_000
    assert [found.ids for found in encoded] == [[vocab[SPACE + word]] for word in words if word]


def test_every_token_inside_a_word_is_what_its_own_merges_make() -> None:
    """Why a part of a word that is a token needs no merging."""
    vocab: dict[str, int] = whole_file()["model"]["vocab"]
    inner = [
        token
        for token in vocab
        if SPACE not in token and token not in SPECIAL and not token.startswith("<0x")
    ]
    assert len(inner) > 10_000
    assert all(vocabulary()._merge_piece(token) == [vocab[token]] for token in inner)


def test_letters_digits_and_marks_share_no_token() -> None:
    """Why an ASCII word can be cut into parts that are merged alone."""
    no_text = {*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))}
    for token in whole_file()["model"]["vocab"].keys() - no_text:
        letters = any(char.isascii() and char.isalpha() for char in token)
        digits = any(char in "0123456789" for char in token)
        marks = any(char.isascii() and not char.isalnum() for char in token)
        assert len(token) == 1 or not digits, token
        assert not (letters and marks), token


def test_the_vocabulary_tells_the_merges_and_their_order() -> None:
    """Why the list of merges is not read."""
    vocab: dict[str, int] = whole_file()["model"]["vocab"]
    pairs = [
        (token[:cut], token[cut:])
        for token in vocab
        for cut in range(1, len(token))
        if token[:cut] in vocab and token[cut:] in vocab
    ]
    pairs.sort(
        key=lambda pair: (set("".join(pair)) == {SPACE}, vocab["".join(pair)], vocab[pair[0]])
    )
    assert [" ".join(pair) for pair in pairs] == whole_file()["model"]["merges"]
    assert not any(SPACE in token.lstrip(SPACE) for token in vocab)


def test_unknown_characters_become_their_bytes() -> None:
    ids = whole_file()["model"]["vocab"]
    expected = tuple(ids[token] for token in (SPACE, "<0xF3>", "<0xA0>", "<0x80>", "<0x81>"))
    assert vocabulary().encode_word("\U000e0001") == expected
    lone = vocabulary().encode_word("\ud800")
    assert lone == tuple(ids[token] for token in (SPACE, "<0xED>", "<0xA0>", "<0x80>"))


def test_special_tokens_in_a_text_are_plain_text() -> None:
    for special in SPECIAL:
        for word in (special, f"1{special}2", f"{special}3"):
            assert whole_file()["model"]["vocab"][special] not in vocabulary().encode_word(word)


def test_a_long_word_is_cut_into_pieces_that_start_no_word() -> None:
    piece = "q7" * (WORD_CHARS // 2)
    first = vocabulary().encode_word(piece)
    both = vocabulary().encode_word(piece + "ing")
    assert both[: len(first)] == first
    assert both[len(first) :] == (whole_file()["model"]["vocab"]["ing"],)


def test_no_word_no_ids() -> None:
    assert vocabulary().encode_word("") == ()
    assert split_words(" \t\n\u2581\u00a0 ") == []


@pytest.mark.parametrize("indent", [None, 4])
def test_a_file_laid_out_otherwise_is_read_whole(tmp_path: Path, indent: int | None) -> None:
    model = whole_file()["model"]
    turned = {"model": {"merges": [], "vocab": model["vocab"]}}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(turned, indent=indent), "utf-8")
    assert Vocabulary.load(path).encode_word("hello") == vocabulary().encode_word("hello")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"model": {"vocab": {}}}',
        '{"model": {"vocab": {"a": "b"}}}',
        '{"model": {"vocab": {"a": 1}, "merges": []}}',
        "{",
        "",
    ],
)
def test_a_file_without_a_vocabulary_is_a_value_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError):
        Vocabulary.load(path)


@pytest.mark.parametrize("lacking", [SPACE, "<0x0A>", "<0xFF>"])
def test_a_vocabulary_that_cannot_spell_everything_is_a_value_error(lacking: str) -> None:
    tokens = [token for token in whole_file()["model"]["vocab"] if token != lacking]
    with pytest.raises(ValueError, match="byte token"):
        Vocabulary({token: number for number, token in enumerate(tokens)})


def test_ids_that_leave_gaps_are_a_value_error() -> None:
    ids = dict(whole_file()["model"]["vocab"])
    ids["\u7ed9"] = 40_000
    with pytest.raises(ValueError, match="31999"):
        Vocabulary(ids)
