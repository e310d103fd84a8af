"""The Porter stemmer, as SQLite's FTS5 runs it.

M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with the two later changes
that FTS5 also has (`bli` -> `ble` in place of `abli` -> `able`, and `logi` -> `log`). The point of
this module is not to stem well but to stem alike: a ranking computed in Python must find the words
that the index of the database found, so every habit of FTS5 is kept.

- A word shorter than 3 bytes or longer than 64 bytes of UTF-8 is left alone.
- FTS5 reads bytes, not letters, and takes each byte outside ASCII for a consonant. So we decode the
  UTF-8 bytes as Latin-1 and run the same code. On rare words FTS5 cuts a letter in half, because
  two equal bytes look like a double consonant. The broken end is read as U+FFFD, which no whole
  word can hold.

This module knows no database and keeps no cache: callers do.
"""

from __future__ import annotations

_MIN_BYTES = 3
_MAX_BYTES = 64

# c for a consonant, v for a vowel; y is not listed, it depends on the letter before it.
_SHAPES = {code: "v" if chr(code) in "aeiou" else "c" for code in range(256) if chr(code) != "y"}

_Rules = dict[str, tuple[tuple[str, str], ...]]


def _by_penult(rules: str) -> _Rules:
    """Group `suffix:replacement` pairs by the last letter but one, the longest suffix first.

    The order matters: the longest suffix that matches decides, even when its condition then fails.
    """
    pairs = sorted((rule.split(":") for rule in rules.split()), key=lambda pair: -len(pair[0]))
    grouped: dict[str, list[tuple[str, str]]] = {}
    for suffix, replacement in pairs:
        grouped.setdefault(suffix[-2], []).append((suffix, replacement))
    return {letter: tuple(group) for letter, group in grouped.items()}


_STEP_2 = _by_penult(
    "ational:ate tional:tion enci:ence anci:ance izer:ize logi:log bli:ble alli:al entli:ent eli:e"
    " ousli:ous ization:ize ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous"
    " aliti:al iviti:ive biliti:ble"
)
_STEP_3 = _by_penult("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:")
_STEP_4 = _by_penult(
    "al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ion: ou: ism: ate: iti: ous: ive:"
    " ize:"
)


def stem(word: str) -> str:
    """The stem of a word that is already folded (lower case, no diacritics).

    Agrees with the FTS5 tokenizer `porter unicode61` on every string, words or not.

    >>> [stem(word) for word in ("relational", "hopping", "skies", "as", "naïve")]
    ['relat', 'hop', 'ski', 'as', 'naïv']
    """
    if word.isascii():
        return _stem(word) if _MIN_BYTES <= len(word) <= _MAX_BYTES else word
    data = word.encode("utf-8", "replace")
    if not _MIN_BYTES <= len(data) <= _MAX_BYTES:
        return word
    return _stem(data.decode("latin-1")).encode("latin-1").decode("utf-8", "replace")


def _stem(word: str) -> str:
    if word[-1] < "a":  # every suffix ends in a letter
        return word
    word = _step_1b(_step_1a(word))
    if word[-1] == "y" and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, _STEP_2, above=0)
    word = _replace(word, _STEP_3, above=0)
    word = _replace(word, _STEP_4, above=1)
    return _step_5(word)


def _step_1a(word: str) -> str:
    """Plurals: caresses -> caress, ponies -> poni, cats -> cat, caress stays."""
    if word[-1] != "s" or word[-2] == "s":
        return word
    if (word.endswith("sses") and len(word) > 4) or (word.endswith("ies") and len(word) > 3):
        return word[:-2]
    return word[:-1]


def _step_1b(word: str) -> str:
    """Past tenses and participles: agreed -> agree, plastered -> plaster, motoring -> motor."""
    size = len(word)
    if word.endswith("eed") and size > 3:
        return word[:-1] if _measure(word[:-3]) > 0 else word
    if word.endswith("ed") and size > 2:
        base = word[:-2]
    elif word.endswith("ing") and size > 3:
        base = word[:-3]
    else:
        return word
    return _mend(base) if "v" in _shape(base) else word


def _mend(base: str) -> str:
    """Repair what is left without -ed or -ing: conflat -> conflate, hopp -> hop, fil -> file."""
    if len(base) > 2 and base.endswith(("at", "bl", "iz")):
        return base + "e"
    last = base[-1]
    if len(base) > 1 and last == base[-2] and last not in "aeioulsz":
        return base[:-1]
    if _measure(base) == 1 and _ends_short(base):
        return base + "e"
    return base


def _replace(word: str, rules: _Rules, *, above: int) -> str:
    """Apply the longest rule whose suffix fits, if the rest has more than `above` vowel-consonant
    turns."""
    if len(word) < 2:
        return word
    for suffix, replacement in rules.get(word[-2], ()):
        if word.endswith(suffix) and len(word) > len(suffix):
            base = word[: -len(suffix)]
            if _measure(base) <= above or (suffix == "ion" and base[-1] not in "st"):
                return word
            return base + replacement
    return word


def _step_5(word: str) -> str:
    """Tidy the end: probate -> probat, cease -> ceas, controll -> control; rate stays."""
    if word[-1] == "e":
        base = word[:-1]
        turns = _measure(base)
        if turns > 1 or (turns == 1 and not _ends_short(base)):
            word = base
    if word.endswith("ll") and _measure(word[:-1]) > 1:
        word = word[:-1]
    return word


def _shape(word: str) -> str:
    """One letter, c or v, for each letter; y is a vowel only after a consonant, so not at the
    start."""
    shape = word.translate(_SHAPES)
    if "y" not in shape:
        return shape
    kinds: list[str] = []
    before = "v"
    for kind in shape:
        before = ("v" if before == "c" else "c") if kind == "y" else kind
        kinds.append(before)
    return "".join(kinds)


def _measure(base: str) -> int:
    """Porter's m: how often a vowel is followed by a consonant."""
    return _shape(base).count("vc")


def _ends_short(base: str) -> bool:
    """Porter's *o: ends consonant, vowel, consonant, and the last is not w, x or y."""
    return base[-1] not in "wxy" and _shape(base).endswith("cvc")
