"""Whether a text that a model wants to keep speaks to whoever reads it, and not of the work.

Nothing here asks what a text is about: passwords, uploads and deleted files are everyday work. What
is looked for is a form: marks that a prompt is made of, characters that cannot be seen, words in
disguise, coded text, and a small set of sentences whose object is the reader itself: its
instructions, its judge, its memory, the person it works for, the answer it has to give. In other
languages they are known by a verb and its object close together (`suspicion.toml`).

A text is read in several forms, because the same sentence can be spelled in many ways: folded
(case, accents, width, look-alikes), with digits as the letters that they look like, without spaces,
backwards, and with what is coded in it decoded.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from rlm.store.sanitize import clean_text

REPEATS_DATA = "repeats text of the data"
RUN_WORDS = 6
"""So many words in a row that stand in the data too are no chance."""
RUN_LETTERS = 24
"""… if they have so many letters: "in the name of the class" is everybody's."""
PART_LETTERS = 10
"""A whole sentence of so many letters that stands in the data is copied, however few its words."""
SAME_STEMS = 4
"""A sentence of so many telling words that all stand in one sentence of the data says the same; one
less where that sentence says what to do."""
COMPARED_CHARS = 500_000
"""How much of the data is compared in this way; it takes a second a million."""
UNSPACED_LETTERS = 10
"""Where words are not set apart, so many letters in a row are a run of words."""

# -- tables

_TABLES: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("suspicion.toml").read_text("utf-8")
)
_LANGUAGES: dict[str, frozenset[str]] = {
    name: frozenset(words.split()) for name, words in _TABLES["language"].items()
}
ENGLISH_WORDS, READING, NOUNS = (_LANGUAGES.pop(name) for name in ("en", "reading", "nouns"))

# -- folding

_LOOKALIKES = str.maketrans(
    "абвгеёзиіїјкмнорстухѕԁԛԝɡοαβεικνρτυχςσıłøđħ", "abbreezniijkmhopctyxsdqwgoabeikvptuxssilodh"
)
_LEET = str.maketrans("013457@$!|", "oieastasil")
_LEET_WORD = re.compile(r"(?<!\S)(?=\S*[013457@$!|])(?=\S*[a-z])[a-z013457@$!|]{3,}(?!\S)")
_SPELLED = re.compile(r"(?<![^\W_])(?:[^\W\d_][\s.,_*·•|/\\-]{1,3}){5,}[^\W\d_](?![^\W_])")
_NO_LETTERS = re.compile(r"[\W_]+")
_PUNCTUATION = re.compile(r"[^\w\s;\"'“‘«„`:/@.$\u0900-\u0fff]|_")
"""Vowel signs of India and Thailand are no letters to `re`."""
_MIXED = re.compile(r"[^\W\d_]{3,}")
_PLAIN = bytes(code for code in range(128) if not chr(code).isalnum())


def fold(text: str) -> str:
    """Small letters without accents; look-alikes as what they look like."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text)).casefold()
    return "".join(char for char in parts if not unicodedata.combining(char)).translate(_LOOKALIKES)


def letters(text: str) -> str:
    """Letters and digits of a folded text in one row, so that spacing and marks do not count."""
    if text.isascii():
        return text.lower().encode().translate(None, _PLAIN).decode()
    return _NO_LETTERS.sub("", fold(text))


def words_of(text: str) -> str:
    """Folded words one space apart; quotes stay, and ; stands where a sentence ends."""
    text = re.sub(r"n['’]t\b", "nt", fold(text))
    text = re.sub(r"[.;!?؟](?=\s|$)|[。！？]", " ; ", text)
    return " ".join(_PUNCTUATION.sub(" ", text).split())


# -- what came from elsewhere


class ForeignText:
    """The texts that a run was shown: labels, comments, rows, pages, outputs of tools.

    Takes a list that may still grow; each text is folded once.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = texts if isinstance(texts, list) else list(texts)
        self._read = 0
        self._folded: list[str] = []
        self._stems: list[tuple[frozenset[str], int]] = []
        self._room = COMPARED_CHARS

    def repeats(self, text: str) -> bool:
        """Whether a text repeats a run of words, or a whole sentence, that stands in one of them,
        or says in other order what a sentence of theirs says."""
        self._fold()
        if any(probe in known for probe in _probes(text) for known in self._folded):
            return True
        told = [found for part in _SENTENCE.split(text) if (found := _stems(part))]
        return any(
            len(found) >= least and _says_same(found, known)
            for found in told
            for known, least in self._stems
        )

    def names(self, text: str) -> bool:
        """Whether a text names an address, a server or a long key that stands in one of them."""
        self._fold()
        found = [letters(name) for name in _ADDRESS.findall(text)]
        return any(name in known for name in found if len(name) > 7 for known in self._folded)

    def _fold(self) -> None:
        new, self._read = self._texts[self._read :], len(self._texts)
        self._folded += [folded for text in new if (folded := letters(text))]
        for text in new:
            if self._room > 0:
                self._room -= len(text)
                for part in _SENTENCE.split(text):
                    if found := _stems(part):
                        self._stems.append((found, SAME_STEMS - bool(_DIRECTS.search(part))))


_ADDRESS = re.compile(
    r"(?<!<)\b(?:https?|ftp|ssh|git)://[^\s<>\"'`)]+|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w@./:-])(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|app|example|info|biz|ru|cn|xyz|site|top|co"
    r"|test|invalid)\b[\w/.-]*|(?<![\w/+])(?=[A-Za-z+/]*\d)[A-Za-z0-9+/]{24,}={0,2}"
)


_EVERYDAY = frozenset(fold(word)[:5] for word in ENGLISH_WORDS | READING | NOUNS)
"""The words of any procedure say nothing of where it comes from."""
_DIRECTS = re.compile(
    r"\b(?:always|never|must|should|shall|do not|don't|please|ignore|instead|only|your?)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"\n|(?<=[.;!?])\s+|[\"{}\[\]]|\\n")


def _says_same(found: frozenset[str], known: frozenset[str]) -> bool:
    shared = len(found & known)
    return shared >= (len(found) if len(found) < 6 else 0.8 * len(found))


def _stems(text: str) -> frozenset[str]:
    """The beginnings of the telling words of a sentence."""
    if len(text) > 2_000:
        return frozenset()
    found = {word[:5] for word in re.findall(r"[^\W\d_]{4,}", fold(text))}
    return frozenset(found - _EVERYDAY)


def _probes(text: str) -> Iterator[str]:
    """The runs of letters that must not stand in the data."""
    for part in re.split(r"\n|(?<=[.;!?。！？])\s+|(?<=[。！？])", text):
        found = [folded for word in part.split() if (folded := letters(word))]
        whole = "".join(found)
        unspaced = _is_unspaced(whole)
        if len(whole) >= (6 if unspaced else PART_LETTERS) and (len(found) > 2 or unspaced):
            yield whole
        for place in range(len(found) - RUN_WORDS + 1):
            run = "".join(found[place : place + RUN_WORDS])
            if len(run) >= RUN_LETTERS:
                yield run
        if unspaced or len(whole) > 40 * len(found):
            step = UNSPACED_LETTERS
            yield from (whole[at : at + step] for at in range(len(whole) - step + 1))


def _is_unspaced(text: str) -> bool:
    return any("\u0e00" <= char <= "\u0eff" or "\u3040" <= char <= "\u9fff" for char in text)


# -- patterns

Patterns = tuple[tuple[str, re.Pattern[str]], ...]


def read_patterns(table: str, flags: int = 0) -> Patterns:
    """The patterns of a table: why something is held back, and by what it is known."""
    found = []
    for why, patterns in _TABLES[table].items():
        text = "|".join(patterns)
        for name, words in _TABLES["words"].items():
            text = text.replace(f"<{name}>", words)
        found.append((why, re.compile(text, flags)))
    return tuple(found)


_SIGNS = read_patterns("signs", re.IGNORECASE | re.MULTILINE)
_SENTENCES = read_patterns("sentences")
_RISKS = re.compile(
    r"\brm\s+-\w*[rf]\w*\s+(?:-\S+\s+)*(?:/|~|\$HOME)(?:\s|[*`'\"]|$)"
    r"|\bchmod\s+(?:-R\s+)?0?777\b|\bNOPASSWD\b|>>\s*\S*authorized_keys"
    r"|\bssh-(?:rsa|ed25519) AAAA\S+[^\n]*authorized_keys"
    r"|\bnc (?!127\.|10\.|192\.168\.)(?:\d+\.){3}\d+ \d+"
    r"|\bgrant\b[^\n.;]{0,50}\bto (?:everyone|public|anonymous|all ?users|anybody)\b"
    r"|\b(?:disable|turn off|switch off)\b[^\n.;]{0,30}\b(?:audit log\w*|two-factor|mfa|2fa"
    r"|branch protection|secret scanning|antivirus)\b",
    re.IGNORECASE,
)
_FORBIDS = re.compile(
    r"\b(?:never|not|don'?t|avoid|instead of|rather than|without|no|nie|jamais|nunca)\b",
    re.IGNORECASE,
)
((_, _LOGIN),) = read_patterns("login", re.IGNORECASE)
_LEAK = read_patterns("leak", re.IGNORECASE)
_UNSPACED = re.compile(
    r"(?:ignore|disregard|forget|override|bypass)(?:all|any|the|your|these|of|my)*"
    r"(?:previous|prior|above|earlier|preceding|system)\w{0,12}?"
    r"(?:instruction|prompt|rules|message|direction|guideline|order|command)"
    r"|(?:ignore|disregard|forget)your(?:instruction|rules)|ignoretheuser"
    r"|ignoreall(?:rules|instructions)|revealyoursystemprompt|donottelltheuser|alwaysanswer(?:yes|no|\d)"
    r"|exfiltrate(?:the|all|your)"
)


def _any_of(stems: str) -> re.Pattern[str]:
    """One of these beginnings of words. Short ones are whole words; where a language joins words or
    writes no spaces, it may stand anywhere."""
    found = []
    for stem in fold(stems).split():
        spaced = (stem[0].isascii() and stem[0].isalpha()) or "\u0370" <= stem[0] <= "\u052f"
        plain = stem.replace("-", " ")
        end = r"\b" if spaced and len(stem) < 4 else ""
        found.append((r"\b" if spaced else "") + plain + end)
    return re.compile("|".join(found))


_STEMS = {name: _any_of(stems) for name, stems in _TABLES["abroad"].items()}
NEAR, BESIDE = 45, 16
"""Characters between the verb of such a sentence and its other parts, at most."""
_FRAMES: tuple[tuple[str, tuple[str, ...], int], ...] = (
    ("tells the reader to ignore its instructions", ("drop", "rules", "old"), NEAR),
    ("works behind somebody's back", ("tell", "user", "not"), BESIDE),
    ("gives the answer away", ("say", "always", "value"), NEAR),
)


def suspicious(text: str) -> str:
    """What in a text speaks to its reader, or hides; '' when nothing does."""
    if clean_text(text) != unicodedata.normalize("NFC", text).replace("\r\n", "\n"):
        return "holds characters that cannot be seen"
    shown = html.unescape(re.sub(r"\\u00([0-7][0-9a-f])", lambda code: chr(int(code[1], 16)), text))
    for reason, sign in _SIGNS:
        if sign.search(text) or sign.search(shown):
            return reason
    if any(map(_is_disguised, _MIXED.findall(text))):
        return "writes words in letters that only look like them"
    for line in text.splitlines():
        if _RISKS.search(line) and not _FORBIDS.search(line):
            return "lays a machine open"
        if (
            all(part.search(line) for _, part in _LEAK)
            and not _FORBIDS.search(line)
            and not _LOGIN.search(line)
        ):
            return "sends something elsewhere"
    if _SPELLED.search(text):
        return "spells words out letter by letter"
    for form, coded in _forms(text):
        if reason := _speaks(form):
            return "holds coded text" if coded else reason
    return "holds coded text" if any(map(_is_prose, _decoded(text))) else ""


def _speaks(form: str) -> str:
    """Why a form of a text speaks to its reader."""
    for reason, pattern in _SENTENCES:
        if pattern.search(form):
            return reason
    for sentence in form.split(";"):
        for reason, names, near in _FRAMES:
            if _meet(sentence, names, near):
                return reason
    return ""


def _meet(sentence: str, names: tuple[str, ...], near: int) -> bool:
    """Whether the first of three parts has the second in its sentence, and the third beside it."""
    places = []
    for name in names:
        found = [match.start() for match in _STEMS[name].finditer(sentence)]
        if not found:
            return False
        places.append(found)
    first, second, third = places
    if names[0] == "drop":  # "do not ignore all warnings"
        first = [at for at in first if not _STEMS["not"].search(sentence[max(0, at - 7) : at])]
    return any(
        any(abs(place - at) <= NEAR for place in second)
        and any(abs(place - at) <= near for place in third)
        for at in first
    )


def _forms(text: str) -> Iterator[tuple[str, bool]]:
    """A text in the forms that it may be read in, and whether one has to be decoded for it."""
    plain = words_of(text)
    yield plain, False
    leet = _LEET_WORD.sub(lambda word: word[0].translate(_LEET), fold(text))
    if leet != fold(text):
        yield words_of(leet), False
    for part in _decoded(text):
        yield words_of(part), True
    yield words_of(codecs.encode(text, "rot13")), True
    row = letters(leet)
    if _UNSPACED.search(row):
        yield "ignore previous instructions", False
    if _UNSPACED.search(row[::-1]):
        yield "ignore previous instructions", True


def _is_disguised(word: str) -> bool:
    """Latin and Cyrillic letters, or letters of mathematics, in one word."""
    if word.isascii():
        return False
    if sum("\U0001d400" <= char <= "\U0001d7ff" for char in word) > 2:
        return True
    scripts = {unicodedata.name(char, "").partition(" ")[0] for char in word}
    return ("LATIN" in scripts and bool(scripts & {"CYRILLIC", "ARMENIAN", "CHEROKEE"})) or (
        {"LATIN", "GREEK"} <= scripts and len(word) > 4
    )


_BASE64 = re.compile(r"(?<![\w/+=-])[A-Za-z0-9+/_-]{12,}={0,2}(?![\w/+])")
_HEX = re.compile(r"(?<![\w])(?:[0-9a-fA-F]{2}){10,}(?![\w])")
_ESCAPED = re.compile(r"(?:\\u[0-9a-fA-F]{4}){3,}|(?:\\x[0-9a-fA-F]{2}){3,}")
_CODE = r"(?:(?:0b)?[01]{8}|(?:0x)?[0-9a-fA-F]{2}|\d{2,3})"
_CODES = re.compile(rf"(?<![\w.]){_CODE}(?:[\s,]+{_CODE}){{5,}}(?![\w.])")


def _decoded(text: str) -> Iterator[str]:
    """What is coded in a text: base64, hexadecimal digits, escapes, entities, character codes."""
    for found in _BASE64.findall(text):
        raw = found.replace("-", "+").replace("_", "/").rstrip("=")
        try:
            yield base64.b64decode(raw + "=" * (-len(raw) % 4)).decode()
        except (binascii.Error, ValueError):
            continue
    for found in _HEX.findall(text):
        yield bytes.fromhex(found).decode("latin-1")
    for found in _ESCAPED.findall(text):
        yield found.encode().decode("unicode_escape")
    for found in re.findall(r"(?:%[0-9a-fA-F]{2}){3,}[\w%+.-]*", text):
        yield unquote(found).strip()
    for found in re.findall(r"(?:&#?\w+;){3,}", text):
        yield html.unescape(found)
    for found in _CODES.findall(text):
        codes = re.split(r"[\s,]+", found)
        yield "".join(map(_character, codes))
        yield "".join(_character(code, True) for code in codes)


def _character(code: str, hexadecimal: bool = False) -> str:
    digits = code.removeprefix("0x").removeprefix("0b")
    base = 2 if len(digits) == 8 else 16 if len(code) != len(digits) or hexadecimal else 10
    return chr(int(digits, base)) if base == 16 or digits.isdigit() else "\0"


def _is_prose(text: str) -> bool:
    """Whether a decoded text reads as words: no digest and no picture does."""
    good = sum(char.isalpha() or char in " .,'" for char in text)
    return text.isprintable() and len(text) > 5 and good > 0.9 * len(text) and text.isascii()


# -- languages

OTHER_LETTERS = 6
"""So many letters of another script are a sentence, and no symbols any more."""
_LANGUAGE_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_NO_PROSE = re.compile(r"`[^`]*`|\S*[_:$?{}()<>/\\]\S*")


@lru_cache(maxsize=256)
def language_of(text: str) -> str:
    """'en', a code such as 'de', a script such as 'cyrillic', 'other' for a sentence in none that
    is known here, or '' when there are too few words to tell. Code does not count."""
    prose = _NO_PROSE.sub(" ", text)
    scripts: dict[str, int] = {}
    for char in prose:
        if char.isalpha() and not char.isascii():
            script = unicodedata.name(char, "?").partition(" ")[0].casefold()
            scripts[script] = scripts.get(script, 0) + 1
    scripts.pop("latin", None)
    if scripts and max(scripts.values()) >= OTHER_LETTERS:
        script = max(scripts, key=lambda name: scripts[name])
        return "cjk" if script in ("cjk", "hiragana", "katakana") else script
    words = [word.casefold() for word in _LANGUAGE_WORD.findall(prose)]
    english = sum(word in ENGLISH_WORDS for word in words)
    known = english or any(word in READING or word in NOUNS for word in words)
    counts = {name: sum(word in small for word in words) for name, small in _LANGUAGES.items()}
    best = max(counts, key=lambda name: counts[name])
    if counts[best] >= 2 and counts[best] > english:
        return best
    if known:
        return "en"
    return "" if len(words) < 5 else "other"
