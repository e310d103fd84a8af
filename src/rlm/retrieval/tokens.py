"""How text becomes words, the same in Python as in the full-text index.

`words` and `tokens` are FTS5's own tokenizers, `unicode61` and `porter unicode61`, called through
apsw, so that a document is scored by the very words that it is found by. `grams` adds what they
cannot see: pairs of characters for scripts without spaces, the parts of identifiers, and words that
touch such a script or an emoji newer than the tables of unicode61 (2012).

Any `str` is welcome everywhere: empty, NUL, lone surrogates, a megabyte. Nothing here raises on
text, and nothing here knows a table or a ranking.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from functools import cache, lru_cache

import apsw

TYPE_CHECKING = False  # importing typing costs every hook 3 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    Tokenizer = Callable[..., Any]

_WORD_CHARS = 64  # a longer word is no identifier
GRAMS_CHARS = 4096
_GRAMS_READ_CHARS = 100_000
_IDENTIFIER_PARTS = 8  # what falls into more parts is a hash or base64, not a name
_QUERY_CHARS = 20_000


class _Tokenizers(threading.local):
    """FTS5's tokenizers belong to a connection, and a connection to a thread."""

    def __init__(self) -> None:
        connection = apsw.Connection(":memory:")
        self.unicode61: Tokenizer = connection.fts5_tokenizer("unicode61", [])
        self.porter: Tokenizer = connection.fts5_tokenizer("porter", ["unicode61"])


_TOKENIZERS = _Tokenizers()


def _tokenize(tokenizer: Tokenizer, text: str) -> list[str]:
    found: list[str] = tokenizer(
        text.encode("utf-8", "replace"),
        apsw.FTS5_TOKENIZE_DOCUMENT,
        None,
        include_offsets=False,
        include_colocated=False,
    )
    return found


def words(text: str) -> list[str]:
    """The folded words in order, split where unicode61 splits.

    >>> words("Don't re-use MAX_RETRIES; café №7")
    ['don', 't', 're', 'use', 'max', 'retries', 'cafe', '7']
    """
    return _tokenize(_TOKENIZERS.unicode61, text)


def tokens(text: str) -> list[str]:
    """The stems of `words(text)`, in order, repeats kept: what FTS5 `porter unicode61` indexes.

    >>> tokens("Retrying failed connections, retried twice")
    ['retri', 'fail', 'connect', 'retri', 'twice']
    """
    return _tokenize(_TOKENIZERS.porter, text)


# Scripts written without spaces, or with spaces too rare to find a word by: Thai and Lao, Myanmar,
# Hangul letters, Khmer, kana and Han, Hangul, Han for compatibility, half-width kana.
_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3041-\u30ff"
    "\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\ua9e0-\ua9ff"
    "\uaa60-\uaa7f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b16f"
    "\U00020000-\U0003fffd"
)
_EMOJI = "\U0001f900-\U0001faff"  # newer than unicode61, which takes them for letters
_SEAM = re.compile(r"[a-z](?=[A-Z])|[A-Z](?=[A-Z][a-z])|[A-Za-z](?=[0-9])")
_NAME = re.compile(  # an ASCII identifier whose case changes, or in which a digit follows a letter
    f"(?<![A-Za-z0-9])[A-Za-z0-9]*?(?:{_SEAM.pattern})[A-Za-z0-9]*"
)
_SEAMS = re.compile("[ls]u|uu[ls]|[lsu]d")
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
        names = _NAME.findall(text) if _SEAM.search(text) else ()  # prose: 20 µs instead of 80
        each: Iterator[str] = (part for name in names for part in _parts(name))
    else:  # in slices: normalising a long run of marks takes quadratic time
        slices = (text[start : start + 256] for start in range(0, len(text), 256))
        each = _each_gram("".join(unicodedata.normalize("NFC", part) for part in slices))
    found: dict[str, None] = {}
    room = GRAMS_CHARS + 1
    for gram in each:
        if gram not in found:
            room -= len(gram) + 1
            if room < 0:
                break
            found[gram] = None
    return " ".join(found)


@cache
def _piece() -> re.Pattern[str]:
    """A run of a spaceless script, a new emoji, or a word. ASCII does without: 3 ms of a hook."""
    return re.compile(f"([{_SPACELESS}]+)|([{_EMOJI}])|[^\\W_{_SPACELESS}]+")


def _each_gram(text: str) -> Iterator[str]:
    pieces = list(_piece().finditer(text))
    for place, piece in enumerate(pieces):
        start, end = piece.span()
        touches = (place > 0 and pieces[place - 1].end() == start) or (
            place + 1 < len(pieces) and pieces[place + 1].start() == end
        )
        if piece.group(1):
            yield from _pairs(piece.group())
        elif piece.group(2):
            yield from words(piece.group()) if touches else ()
        elif end - start <= _WORD_CHARS:
            yield from words(piece.group()) if touches else ()
            yield from _parts(piece.group())


def _pairs(run: str) -> Iterable[str]:
    """Overlapping pairs of a run of a spaceless script, whose marks unicode61 takes for gaps."""
    letters = "".join(words(run))
    return (letters[at : at + 2] for at in range(max(len(letters) - 1, 1)) if letters)


@lru_cache(maxsize=65_536)
def _parts(name: str) -> tuple[str, ...]:
    """The parts of an identifier such as `parseHTTPUrls2`; none of any other word."""
    kinds = "".join(map(_kind, name[: _WORD_CHARS + 1]))
    if len(name) > _WORD_CHARS or kinds[0] == "d" or not _SEAMS.search(kinds):
        return ()
    spans = [match.span() for match in _PART.finditer(kinds)]
    if not 2 <= len(spans) <= _IDENTIFIER_PARTS:
        return ()
    return tuple(word for start, end in spans for word in words(name[start:end]))


def _kind(char: str) -> str:
    """u upper case, s the letter s, l any other letter, d digit."""
    if char.isdecimal():
        return "d"
    return "u" if char.isupper() else "s" if char == "s" else "l"


# Words that say nothing about a task, with the pieces that unicode61 leaves of "don't" or "we've".
# Left out on purpose, because they decide what is meant: not, no, without, all, first, last, most,
# between, before, after, off, out, up, down, only, each, every, more, less.
_STOPWORDS = """
a an the this that these those
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
she her
hers herself it its itself they them their theirs themselves one ones someone something anyone
anything
am is are was were be been being do does did doing done have has had having can could may might
must shall
should will would ought let lets get gets got want wants wanted need needs needed
of to in on at by for from with into onto upon about as than via per within during through
and or but if then else so because while though although whether either also too very just even
still yet
what how which who whom whose when where why there here
some any such same other another own
please thanks thank kindly hello hi hey ok okay like
t s ve ll re d m don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn mustn
ain
"""
STOPWORDS = frozenset(_STOPWORDS.split())


class Query:
    """A question, read once and then asked of every engine.

    `terms` are distinct stems in order of first appearance, the grams of the text last. `spelled`
    gives for each the folded word it came from: FTS5 stems what it is handed, and a stem is not
    always its own stem. `counts` says how often each term occurred. `stops` are the stopwords'
    stems, which find nothing by themselves but help to tell two finds apart; when there is nothing
    else they are the terms, and `only_stops` says so. `parts` are terms that occur only as a part
    of a longer name. No dataclass: importing those costs every hook 9 ms.
    """

    def __init__(
        self,
        text: str,
        terms: tuple[str, ...],
        spelled: Mapping[str, str],
        counts: Mapping[str, int],
        stops: tuple[str, ...] = (),
        parts: frozenset[str] = frozenset(),
        only_stops: bool = False,
    ) -> None:
        self.text, self.terms, self.spelled, self.counts = text, terms, spelled, counts
        self.stops, self.parts, self.only_stops = stops, parts, only_stops


def parse_query(text: str, max_terms: int = 64) -> Query:
    """Read any string as a query; it has no syntax and never raises.

    Only the first 20,000 characters count. Stopwords are dropped unless nothing else is left. Of
    more than `max_terms` terms the most frequent stay, then the longest words, then the earliest.

    >>> parse_query("How do I cancel the orders? Cancelling fails").terms
    ('cancel', 'order', 'fail')
    """
    text = text[:_QUERY_CHARS]
    extra = grams(text)
    whole = list(zip(words(text), tokens(text), strict=True))
    pieces = list(zip(words(extra), tokens(extra), strict=True))
    found = whole + pieces
    meaning = [pair for pair in found if pair[0] not in STOPWORDS]
    spelled: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for word, term in meaning or found:
        spelled.setdefault(term, word)
        counts[term] += 1
    if len(spelled) > max_terms:
        best = sorted(spelled, key=lambda term: (-counts[term], -len(spelled[term])))
        for term in best[max(max_terms, 0) :]:
            del spelled[term], counts[term]
    terms = tuple(spelled)
    known = {term for _, term in whole}
    parts = frozenset(term for word, term in pieces if word.isascii()) - known
    stops: dict[str, str] = {}
    if meaning:
        stops = {term: word for word, term in found if word in STOPWORDS and term not in spelled}
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
