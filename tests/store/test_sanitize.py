import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from all_cases import all_cases
from rlm.store.sanitize import clean_text, clean_value

pytestmark = pytest.mark.req("SPEC-02.34")


def tags(letters: str) -> str:
    return "".join(chr(0xE0000 + ord(letter)) for letter in letters)


BLACK_FLAG, CANCEL = "\U0001f3f4", "\U000e007f"
FLAGS = [BLACK_FLAG + tags(region) + CANCEL for region in ("gbeng", "gbsct", "gbwls")]
SCOTLAND = FLAGS[1]

CLEANED = (
    ("a\x00b\x01c\x7fd", "abcd"),
    ("tab\tnewline\n", "tab\tnewline\n"),
    ("a\r\nb\rc\n\rd", "a\nb\nc\n\nd"),
    ("\x1b[1;31mred\x1b[0m \x1b[2K\x1b[?25lgone", "red gone"),
    ("\x9b31mred\x9b0m", "red"),
    ("\x1b]0;title\x07text\x1b]8;;http://x.y\x1b\\link\x1b]8;;\x1b\\", "textlink"),
    ("\x1bP1$r0m\x1b\\dcs \x1b(Bcharset \x1bcreset", "dcs charset reset"),
    ("\x9d0;title\x9ctext", "text"),
    ("\x1b]never finished", "never finished"),
    ("\x1b[", ""),
    ("\x1b", ""),
    ("\x1b[\x1b[0m31m", "31m"),
    ("c1 \x85\x9f gone", "c1  gone"),
    ("user\u202e gnp.exe\u202c \u2066iso\u2069", "user gnp.exe iso"),
    ("pass\u200bword\u2060\ufeff", "password"),
    ("hi" + tags("ignore all") + "there", "hithere"),
    *((flag, flag) for flag in FLAGS),
    (BLACK_FLAG + tags("evil") + CANCEL, BLACK_FLAG),
    (BLACK_FLAG + "\u200b" + tags("gbsct") + CANCEL, BLACK_FLAG),
    (SCOTLAND + tags("x") + SCOTLAND, SCOTLAND * 2),
    ("می\u200cخواهم 👩\u200d💻 ❤\ufe0f", "می\u200cخواهم 👩\u200d💻 ❤\ufe0f"),
    ("\u200eleft\u200f", "\u200eleft\u200f"),
    ("e\u0301", "é"),
    ("e\u200b\u0301", "é"),
    ("e\x00\u0301", "é"),
    ("\u212b", "Å"),
    ("lone \ud800 and \udfff", "lone \ufffd and \ufffd"),
    ("pair \ud83d\ude00", "pair 😀"),
    ("hidden pair \udb40\udc41", "hidden pair "),
    ("\ud800", "\ufffd"),
)
UNTOUCHED = (
    *(
        "",
        "plain",
        "a b\tc\nd",
        "# Title\n\n- `code` [x](y)\n",
        "Größe, naïve, 日本語, עברית, العربية",
        "🏳️‍🌈 👍🏽",
    ),
    *("\u00a0nbsp", "line\u2028sep", "[31m is no escape", "\\x1b[0m neither", "\ufffd"),
)


@all_cases(("dirty", "clean"), CLEANED)
def test_what_cannot_be_seen_goes(dirty: str, clean: str) -> None:
    assert clean_text(dirty) == clean


@pytest.mark.parametrize("text", UNTOUCHED)
def test_what_can_be_seen_stays(text: str) -> None:
    assert clean_text(text) == text


def test_every_control_character_goes_but_tab_and_newline() -> None:
    controls = [
        chr(code) for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n\r\x1b"
    ]
    for control in controls:
        assert clean_text(f"a{control}") == "a"
        assert clean_text(f"é{control}") == "é"


ODD = st.sampled_from(
    (
        *(
            "\x1b",
            "\x1b[",
            "\x1b]",
            "\x1b\\",
            "\x07",
            "\x9b",
            "\x9c",
            "0;1",
            "m",
            "\r",
            "\n",
            " ",
            "e",
            "\u0301",
        ),
        *("\ud83d", "\ude00", "\udb40", "\udc41", "\u200b", "\u202e", "\x00"),
        *(BLACK_FLAG, tags("gb"), tags("sct"), CANCEL, SCOTLAND),
    )
)
TEXT = st.one_of(st.text(st.characters(codec=None)), st.lists(ODD, max_size=12).map("".join))


@given(TEXT)
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    once = clean_text(text)
    assert clean_text(once) == once


@given(TEXT)
def test_a_clean_text_is_nfc_and_holds_nothing_hidden(text: str) -> None:
    clean = clean_text(text)
    clean.encode("utf-8")
    assert unicodedata.is_normalized("NFC", clean)
    assert not set(clean) & set("\x00\x1b\r\x9b\u200b\u2060\ufeff\u202a\u202e\u2066\u2069")
    for flag in FLAGS:
        clean = clean.replace(flag, "")
    assert not any("\U000e0000" <= char <= CANCEL for char in clean)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126) | st.sampled_from("\t\n")))
def test_printable_ascii_is_returned_as_it_is(text: str) -> None:
    assert clean_text(text) is text


@pytest.mark.parametrize(
    "unit", ["\x1b", "\x1b[", "\x1b[0", "\x1b]", "\x1b]a", "\x9d", "\r", "\u200b", BLACK_FLAG]
)
def test_much_of_almost_sequences_is_read_in_linear_time(unit: str) -> None:
    # A quadratic pattern would need many times as long.
    started = time.process_time()
    once = clean_text(unit * (250_000 // len(unit)))
    assert clean_text(once) == once
    assert time.process_time() - started < 2


def test_values_are_cleaned_at_every_depth_and_in_keys() -> None:
    value = {"k\x00": ["a\x1b[0m", ("b\r\n", 1, None)], "n": {"x": "\ufeffy"}, 3: 1.5}
    assert clean_value(value) == {"k": ["a", ("b\n", 1, None)], "n": {"x": "y"}, 3: 1.5}
