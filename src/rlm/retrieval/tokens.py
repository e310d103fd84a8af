"""How text becomes words, the same in Python as in the full-text index.

A memory is found by two engines: FTS5 inside SQLite, and a BM25 in plain Python over the same rows.
They rank alike only if they read alike, so `words` splits and folds as the tokenizer `unicode61`
does and `tokens` stems as `porter unicode61` does, code point by code point. `unicode61` froze its
tables in 2012: a character that it has never heard of (a newer script, a newer emoji) counts as a
letter, and a mark that it does not know as a diacritic splits a word. We copy that, and `grams`
adds what it cannot see: pairs of characters for scripts without spaces, and the parts of
identifiers.

Any `str` is welcome everywhere: empty, NUL, lone surrogates, a megabyte. Nothing here raises on
text, and nothing here knows a database, a table or a ranking. The caches are plain dicts: under the
GIL the worst that two threads can do is to compute the same entry twice.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from rlm.retrieval.porter import stem

_CACHE_ENTRIES = 200_000
_WORD_CHARS = (
    64  # a longer word is its own stem, is no identifier, and is not worth a place in a cache
)
GRAMS_CHARS = 4096
_GRAMS_READ_CHARS = 100_000
_IDENTIFIER_PARTS = 8  # what falls into more parts is a hash or base64, not a name
_QUERY_CHARS = 20_000

# Lengths in hex, by turns: so many code points belong to words, so many separate, and so on from
# U+0000. Measured from SQLite 3.54 and not derived from `unicodedata`, whose tables grow with each
# Python.
_TURNS = """
0 30 a 7 1a 6 1a 2f 1 7 2 1 1 3 2 1 3 1 17 1 1f 1 1ca 4 c e 5 7 1 1 1 81 5 1 8 1 5 2 1 1 6e 1 8b 8 d0 6
29 2 4 1 1 37 2b 2 b 5 1 16 2 2 2b 15 a 4 2 1 63 1 1 f 2 7 f 2 1 e 1 1 1 1 1e 1b 5b b 3a 9 2 4 1c 4 1 9
1 3 1 5 2 f 1a 3 2 1 85 1b 1 4 36 3 1 12 1 7 a 4 a 1 10 3 38 1 1 7 2 2 2 3 9 1 a 2 e 2 6 2 5 3 38 1 1 5
4 2 2 3 3 1 1e 2 3 1 b 3 38 1 1 8 1 3 1 3 14 2 c 2 f 3 38 1 1 7 2 2 2 3 8 2 a 2 c 1 11 1 3b 5 3 3 1 4 9
1 1b 8 6 3 3a 7 1 3 1 4 7 2 b 2 1b 1 2 2 38 1 1 7 1 3 1 4 7 2 b 2 1e 2 3a 7 1 3 1 4 9 1 a 2 15 1 8 2 46
1 4 6 1 1 1 8 12 3 3c 1 2 7 4 1 7 9 a 2 55 1 2 6 1 2 b 6 33 1f 14 c 31 17 5 b 1 24 1 f 1 d 50 14 b 6 6 4
4 3 1 3 2 7 3 4 d c 1 1 a 6 5b 1 261 c 27 a 66 1 26c 2 11 1 1a 2 4e 3 24 3 1d 5 1b 2 1e 2 40 23 1 4 1 1
22 f 9a 1 76 c 4 c 4 1 3 2 6a 11 7 2 14 22 17 5 2 2 35 a 1 1d 2 1 20 7 1 6 52 5 2f 11 15 23 3 3 1e d 38
e 8 4 24 14 3 5 3e 2 40 8 8 19 4 1 4 3 cb 27 15 4 1bd 1 1 3 b 3 d 3 d 3 d 2 1 65 5 6 a 5 b 5 11 1a 16 21
f 2 1 4 1 2 a 1 1 3 5 6 1 1 1 1 1 1 4 1 b 2 4 5 5 4 1 1 40 264 c 27 19 b 51 4e 16 200 1 75 1e 3b9 3 a
18b 6 4 3 7 4 1 2 70 1 e 1 60 4f 1 c 44 1a 1 59 c d6 1a c 4 5 3 19 9 7 5 2 5 3 59 4 3 1 5a 1 94 2 4 a 20
24 1c 1f b 1e 8 1 f 20 a 27 f 3f 1 100 19c0 40 5690 37 37 2 10d 3 5f 10 20 1 50 8 8 17 9 2 67 2 77 1 3 1
4 1 17 9 a 4 3a 4 8 2 32 11 9 2 10 12 6 3 2b a 17 d b 1 20 4 2f 1b 10 2 49 e c 1 8 2 e 4 17 3 1 1 34 1 1
3 2 2 5 2 1 1 1c 2 b 7 3 2 ec b 2c12 800 1b1e 1 a 1 88 10 17c 2 bc 2 2 1a 6 7 9 23 1 13 1 4 93 1 1 f a 7
1a 6 1a b 7a 7 1 7 a 7 100 3 34 9 39 11 6 c 34 2e 1a1 1 30 1 486 1 c7 1 1f 1 c1 3 1 2 5 4 28 3 4 1 10 9
26 1 b9 7 4c0 3 35 16 32 3 2d 12 3e 3 24 e b 4 3c 3 30 e 4 4 4e2 d db8 4 4add 2e 10 4 606d f6 a 27 2 b5
22 46 ba 57 36a 1 19 1 1f 1 19 1 1f 1 19 1 1f 1 19 1 1f 1 19 1 172c 2 10e 2c 4 64 c f 2 e 2 f 1 f 30 1f
1 3c 4 2b 4b 1d d 2b 5 9 7 2 ae 21 f 6 1 46 3 14 c 25 1 5 15 11 f 3f 1 1 1 b6 1 4 3 3e 2 4 c 18 93 46 4
b 30 46 3a 74 c088d 1 1e 60 80 f0
"""
_BOUNDS = list(accumulate(int(length, 16) for length in _TURNS.split()))

# Where upper case existed in Unicode 6.1; a capital letter added since is not folded.
_CASED = (
    *(0x41, 0x376, 0x386, 0x526, 0x531, 0x556, 0x10A0, 0x10CD, 0x1E00, 0x1FFC, 0x2126, 0x2183),
    *(0x2C00, 0x2C2E, 0x2C60, 0x2CF2, 0xA640, 0xA696, 0xA722, 0xA792, 0xA7A0, 0xA7AA),
    *(0xFF21, 0xFF3A, 0x10400, 0x10427),
)
_CASED_BOUNDS = [bound + position % 2 for position, bound in enumerate(_CASED)]

# The combining marks that unicode61 drops inside a word. All other marks separate.
_DIACRITICS = frozenset(
    map(
        chr, (*range(0x300, 0x305), *range(0x306, 0x30D), 0x30F, 0x311, 0x31B, *range(0x323, 0x329))
    )
) | frozenset("\u032d\u032e\u0330\u0331")


class _Splits(dict[int, str]):
    """Code point -> its folded character, '' for a diacritic, a space for what separates words."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _CACHE_ENTRIES:
            self.clear()
        folded = char = chr(code)
        if bisect_right(_BOUNDS, code) % 2:
            folded = "" if char in _DIACRITICS else " "
        elif bisect_right(_CASED_BOUNDS, code) % 2:
            folded = _fold_cased(char)
        self[code] = folded
        return folded


class _Folds(dict[int, str]):
    """As `_Splits`, but what separates words stays as it is."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _CACHE_ENTRIES:
            self.clear()
        folded = _SPLITS[code]
        self[code] = folded = chr(code) if folded == " " else folded
        return folded


def _fold_cased(char: str) -> str:
    """One mark on a Latin letter goes with the case; two marks, or a mark on a Greek letter, stay."""
    low = char.casefold()
    bare = unicodedata.normalize("NFD", low)
    if len(bare) == 2 and bare[0].isascii() and bare[1] in _DIACRITICS:
        return bare[0]
    return next((form for form in (low, char.lower()) if len(form) == 1), char)


class _Stems(dict[str, str]):
    """Word -> stem."""

    def __missing__(self, word: str) -> str:
        stemmed = stem(word)
        if len(word) <= _WORD_CHARS:
            if len(self) >= _CACHE_ENTRIES:
                self.clear()
            self[word] = stemmed
        return stemmed


_SPLITS = _Splits()
_FOLDS = _Folds()
_STEMS = _Stems()
_ASCII_SPLITS = "".join(_SPLITS[code] for code in range(128)).encode() + bytes(128)


def fold(text: str) -> str:
    """Lower case without diacritics, as unicode61 (remove_diacritics=1) folds; separators stay.

    >>> fold("Ärger im Café")
    'arger im cafe'
    """
    return text.lower() if text.isascii() else text.translate(_FOLDS)


def words(text: str) -> list[str]:
    """The folded words in order, split where unicode61 splits.

    >>> words("Don't re-use MAX_RETRIES; café №7")
    ['don', 't', 're', 'use', 'max', 'retries', 'cafe', '7']
    """
    if text.isascii():
        return text.encode().translate(_ASCII_SPLITS).decode().split()
    return text.translate(_SPLITS).split()


def stem_of(word: str) -> str:
    """The stem of one word from `words`."""
    return _STEMS[word]


def tokens(text: str) -> list[str]:
    """The stems of `words(text)`, in order, repeats kept: what FTS5 `porter unicode61` indexes.

    >>> tokens("Retrying failed connections, retried twice")
    ['retri', 'fail', 'connect', 'retri', 'twice']
    """
    return list(map(_STEMS.__getitem__, words(text)))


# Scripts written without spaces, or with spaces too rare to find a word by, as first and last code
# points: Thai and Lao, Myanmar, Hangul letters, Khmer, kana and Han, Hangul, Han for compatibility,
# half-width kana.
_SPACELESS = (
    *(
        0x0E00,
        0x0EFF,
        0x1000,
        0x109F,
        0x1100,
        0x11FF,
        0x1780,
        0x17FF,
        0x3005,
        0x3007,
        0x3041,
        0x30FF,
    ),
    *(
        0x3130,
        0x318F,
        0x31F0,
        0x31FF,
        0x3400,
        0x4DBF,
        0x4E00,
        0x9FFF,
        0xA960,
        0xA97F,
        0xA9E0,
        0xA9FF,
    ),
    *(
        0xAA60,
        0xAA7F,
        0xAC00,
        0xD7FF,
        0xF900,
        0xFAFF,
        0xFF66,
        0xFFDC,
        0x1B000,
        0x1B16F,
        0x20000,
        0x3FFFD,
    ),
)
_SPACELESS_BOUNDS = [bound + position % 2 for position, bound in enumerate(_SPACELESS)]


class _Kinds(dict[int, str]):
    """Code point -> one letter that says what it does to a word.

    u upper case, s the letter s, l any other letter, d digit, k a letter of a spaceless script, m
    its vowel and tone marks (which unicode61 takes for separators), x a symbol that unicode61 takes
    for a letter (an emoji newer than its tables), and a space for what separates.
    """

    def __missing__(self, code: int) -> str:
        if len(self) >= _CACHE_ENTRIES:
            self.clear()
        self[code] = kind = _kind(chr(code), _SPLITS[code])
        return kind


def _kind(char: str, folded: str) -> str:
    if bisect_right(_SPACELESS_BOUNDS, ord(char)) % 2:
        if folded != " ":
            return "k"
        return "m" if unicodedata.category(char)[0] == "M" else " "
    if folded == " ":
        return " "
    if unicodedata.category(char)[0] in "SP":
        return "x"
    if char.isdecimal():
        return "d"
    return "u" if char.isupper() else "s" if char == "s" else "l"


_KINDS = _Kinds()
_ASCII_KINDS = "".join(_KINDS[code] for code in range(128)).encode() + bytes(128)
_CASE_HINTS = ("lu", "su", "uul", "uus")
_DIGIT_HINTS = ("ld", "sd", "ud")
_HINT = re.compile("[ls]u|uu[ls]|[lsu]d|k|x")
_PIECE = re.compile("[km]+|[ulsd]+|x+")
_PART = re.compile(
    "u{2,}s(?![ls])|u+(?![ls])|u?[ls]+|d+"
)  # the first branch keeps URLs in one part


def grams(text: str) -> str:
    """Words worth indexing that unicode61 does not produce, each once, in order, joined by spaces.

    Scripts without spaces give overlapping pairs of characters, identifiers give their parts, a
    word that touches such a script or a new emoji is given without it, and so is the emoji.
    Ordinary English gives ''. Reading the result with `words` gives back exactly these grams. At
    most 4096 characters, from the first 100,000 of the text.

    >>> grams("GraphMeta calls parseHTTPUrls2 in 数据库")
    'graph meta parse http urls 2 数据 据库'
    """
    text = text[:_GRAMS_READ_CHARS]
    if text.isascii():
        kinds = text.encode().translate(_ASCII_KINDS).decode()
    else:
        # In slices, because normalising a long run of combining marks takes quadratic time.
        slices = (text[start : start + 256] for start in range(0, len(text), 256))
        text = "".join(unicodedata.normalize("NFC", part) for part in slices)
        kinds = text.translate(_KINDS)
    return _join_grams(text, kinds) if _has_grams(kinds) else ""


def _has_grams(kinds: str) -> bool:
    """Whether a closer look can pay; almost always False, and then in a microsecond or two."""
    return (
        any(map(kinds.__contains__, _CASE_HINTS))
        or ("d" in kinds and any(map(kinds.__contains__, _DIGIT_HINTS)))
        or "k" in kinds
        or "x" in kinds
    )


def _join_grams(text: str, kinds: str) -> str:
    found: dict[str, None] = {}
    room = GRAMS_CHARS + 1
    end = 0
    for hint in _HINT.finditer(kinds):
        if hint.start() < end:
            continue  # the same word again
        start = kinds.rfind(" ", 0, hint.start()) + 1
        end = kinds.find(" ", hint.end())
        end = len(kinds) if end < 0 else end
        for gram in _remembered_grams(text[start:end], kinds[start:end]):
            if gram and gram not in found:
                room -= len(gram) + 1
                if room < 0:
                    return " ".join(found)
                found[gram] = None
    return " ".join(found)


_WORD_GRAMS: dict[str, tuple[str, ...]] = {}


def _remembered_grams(word: str, kinds: str) -> Iterable[str]:
    if len(word) > _WORD_CHARS:
        return _word_grams(word, kinds)
    found = _WORD_GRAMS.get(word)
    if found is None:
        if len(_WORD_GRAMS) >= _CACHE_ENTRIES:
            _WORD_GRAMS.clear()
        found = _WORD_GRAMS[word] = tuple(_word_grams(word, kinds))
    return found


def _word_grams(word: str, kinds: str) -> Iterable[str]:
    for piece in _PIECE.finditer(kinds):
        start, end = piece.span()
        if kinds[start] in "km":
            yield from _pairs(word[start:end].translate(_SPLITS).replace(" ", ""))
        elif kinds[start] == "x":
            if len(word) > 1:  # each of a run of emoji, and one that stands at a word
                yield from word[start:end]
        elif end - start <= _WORD_CHARS:
            if end - start < len(word):
                yield word[start:end].translate(_SPLITS)
            if kinds[start] != "d" and _has_grams(piece.group()):
                yield from _parts(word[start:end], piece.group())


def _parts(name: str, kinds: str) -> Iterable[str]:
    spans = [match.span() for match in _PART.finditer(kinds)]
    if 2 <= len(spans) <= _IDENTIFIER_PARTS:
        yield from (name[start:end].translate(_SPLITS) for start, end in spans)


def _pairs(run: str) -> Iterable[str]:
    return (run[at : at + 2] for at in range(max(len(run) - 1, 1)))


# Words that say nothing about a task, with the pieces that unicode61 leaves of "don't" or "we've".
# Left out on purpose, because they decide what is meant: not, no, without, all, first, last, most,
# between, before, after, off, out, up, down, only, each, every, more, less.
_STOPWORDS = """
a an the this that these those
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her
hers herself it its itself they them their theirs themselves one ones someone something anyone anything
am is are was were be been being do does did doing done have has had having can could may might must shall
should will would ought let lets get gets got want wants wanted need needs needed
of to in on at by for from with into onto upon about as than via per within during through
and or but if then else so because while though although whether either also too very just even still yet
what how which who whom whose when where why there here
some any such same other another own
please thanks thank kindly hello hi hey ok okay like
t s ve ll re d m don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn mustn ain
"""
STOPWORDS = frozenset(_STOPWORDS.split())


@dataclass(frozen=True, slots=True)
class Query:
    """A question, read once and then asked of every engine.

    `terms` are distinct stems in order of first appearance, the grams of the text last. `spelled`
    gives for each the folded word it came from: FTS5 stems what it is handed, and a stem is not
    always its own stem. `counts` says how often each term occurred. `stops` are the stopwords'
    stems, which find nothing by themselves but help to tell two finds apart; when there is nothing
    else they are the terms, and `only_stops` says so. `parts` are terms that occur only as a part
    of a longer name. Equal texts read with equal limits give equal queries.
    """

    text: str
    terms: tuple[str, ...]
    spelled: Mapping[str, str] = field(hash=False)
    counts: Mapping[str, int] = field(hash=False)
    stops: tuple[str, ...] = ()
    parts: frozenset[str] = frozenset()
    only_stops: bool = False


def parse_query(text: str, max_terms: int = 64) -> Query:
    """Read any string as a query; it has no syntax and never raises.

    Only the first 20,000 characters count. Stopwords are dropped unless nothing else is left. Of
    more than `max_terms` terms the most frequent stay, then the longest words, then the earliest.

    >>> parse_query("How do I cancel the orders? Cancelling fails").terms
    ('cancel', 'order', 'fail')
    """
    text = text[:_QUERY_CHARS]
    whole, pieces = words(text), grams(text).split()
    found = whole + pieces
    meaning = [word for word in found if word not in STOPWORDS]
    spelled: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for word in meaning or found:
        term = _STEMS[word]
        spelled.setdefault(term, word)
        counts[term] += 1
    if len(spelled) > max_terms:
        best = sorted(spelled, key=lambda term: (-counts[term], -len(spelled[term])))
        for term in best[max(max_terms, 0) :]:
            del spelled[term], counts[term]
    terms = tuple(spelled)
    known = {_STEMS[word] for word in whole}
    parts = frozenset(_STEMS[word] for word in pieces if word.isascii()) - known
    stops: dict[str, str] = {}
    if meaning:
        stops = {
            _STEMS[word]: word
            for word in found
            if word in STOPWORDS and _STEMS[word] not in spelled
        }
    for term in list(stops)[max(max_terms, 0) :]:
        del stops[term]
    spelled.update(stops)
    return Query(
        text, terms, spelled, dict(counts), tuple(stops), parts, not meaning and bool(found)
    )


def fts5_match(query: Query | str | Iterable[str], columns: Sequence[str] = ()) -> str | None:
    """An FTS5 MATCH expression that finds any of the words, or None when there is no word to find.

    Takes a query, a text to read as one, or words. Each word stands in double quotes, so that no
    operator, quote or NUL in it means anything to FTS5; a word with a separator inside is a phrase.
    `columns` are names from our own schema and are not quoted.

    >>> fts5_match(parse_query("cancel AND orders"), ("title", "content"))
    '{title content} : ("cancel" OR "orders")'
    """
    if isinstance(query, str):  # also an iterable of str, but of letters
        query = parse_query(query)
    spelled = [query.spelled[term] for term in query.terms] if isinstance(query, Query) else query
    anywhere = " OR ".join(map(_quote, spelled))
    if not anywhere:
        return None
    return f"{{{' '.join(columns)}}} : ({anywhere})" if columns else anywhere


def _quote(word: str) -> str:
    safe = word.replace("\0", " ").encode("utf-8", "replace").decode()
    return '"' + safe.replace('"', '""') + '"'
