"""Whether words only repeat what memory said: then they are nothing new.

Texts are compared by runs of words, so that a quotation is found whatever stands around it, in
whatever case and marks, whole or in part, with a typing error. What stands before it has to stop
where a sentence of the memory begins, and what follows has to start where one ends: a sentence that
repeats a memory and then says something else, or negates it, is no echo.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from rlm.retrieval.tokens import STOPWORDS
from rlm.service.decision_model import AGREES

RUN = 3
"""So many words in a row that a memory has too are quoted."""
SHARE = 0.5
"""The part of a sentence that is quoted, where it says nothing else."""
TYPO_CHARS, MOST_TYPO_CHARS = 5, 40
"""In shorter words a typing error is not told from another word; longer ones nobody types."""

_WORD = re.compile(r"\w+(?:'\w+)?")
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+|[\n“”\"|()]+")
_TAG = re.compile(r"</?[a-z][^<>\n]*>", re.IGNORECASE)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]|-\n")
_REPORTS = re.compile(r"\b(?:memor(?:y|ies)|notes?|says|said|reminder|quote|recalled)\b")
_OTHERWISE = re.compile(
    r"\b(?:no|nope|not|never|instead|rather|longer|wrong|anymore|except|only|but|without|outdated"
    r"|actually|before|after|than|until|unless|\w+n't)\b"
)


class Echoes:
    """Texts that memory gave, as the runs of words that they hold."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._runs: set[tuple[str, ...]] = set()
        self._starts: set[tuple[str, ...]] = set()
        self._ends: set[tuple[str, ...]] = set()
        self._words: set[str] = set()
        self._misspelt: dict[str, str] = {}
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """One more text that is known."""
        plain = _fold(text)
        words = _WORD.findall(plain)
        self._words.update(words)
        for word in filter(_can_be_misspelt, words):
            self._misspelt |= dict.fromkeys([*_leave_one_out(word), "".join(sorted(word))], word)
        self._runs.update(_runs_of(words))
        for sentence in _SENTENCE.split(plain):
            own = _WORD.findall(sentence)
            self._starts.add(tuple(own[:RUN]))
            self._ends.add(tuple(own[-RUN:]))

    def holds(self, text: str) -> bool:
        """Whether a text says nothing but what these texts say."""
        if not self._runs:
            return False
        plain = _fold(text)
        said, _, rest = plain.partition(": ")
        return self._quotes(plain) or (not _OTHERWISE.search(said) and self._quotes(rest))

    def _quotes(self, plain: str) -> bool:
        spans = list(_WORD.finditer(plain))
        words = [self._correct(span[0]) for span in spans]
        runs = list(_runs_of(words))
        found = [place for place, run in enumerate(runs) if run in self._runs]
        if not found:
            return False
        quoted = {place + step for place in found for step in range(RUN)}
        first, last = found[0], self._end(found, runs)
        before = plain[: spans[first].start()]
        after = plain[spans[last].start() :] if last < len(words) else ""
        differs = _OTHERWISE.search(f"{before}\n{after}")
        if differs or not quoted.issuperset(range(first, last)):
            return False
        reported, remarked = _REPORTS.search(before), _REPORTS.search(after)
        own = (not reported) * first + (not remarked) * (len(words) - last)
        begins = reported or runs[first] in self._starts or _is_empty(before, words[:first])
        ends = not after or remarked or runs[last - RUN] in self._ends
        return bool(begins and ends and len(quoted) >= SHARE * (len(quoted) + own))

    def _end(self, found: Sequence[int], runs: Sequence[tuple[str, ...]]) -> int:
        """Where the quotation ends; its last run may lead from one text into the next."""
        ended = [place for place in found if runs[place] in self._ends]
        goes_on = found[-1] + 1 < len(runs)
        return (ended if goes_on and ended else found)[-1] + RUN

    def _correct(self, word: str) -> str:
        """The word of a memory that this one is with a typing error, else itself: two letters
        changed places, one is missing, or one is too many. Another letter is another word."""
        if word in self._words or len(word) > MOST_TYPO_CHARS:
            return word
        kept = (cut for cut in _leave_one_out(word) if cut in self._words and _can_be_misspelt(cut))
        fixed = self._misspelt.get(word) or self._misspelt.get("".join(sorted(word)))
        return fixed or next(kept, word)


def _is_empty(text: str, words: Sequence[str]) -> bool:
    return STOPWORDS.issuperset(words) or AGREES.fullmatch(text) is not None


def _can_be_misspelt(word: str) -> bool:
    return TYPO_CHARS <= len(word) <= MOST_TYPO_CHARS and word.isalpha()


def _leave_one_out(word: str) -> Iterator[str]:
    return (word[:place] + word[place + 1 :] for place in range(len(word)))


def _runs_of(words: Sequence[str]) -> Iterable[tuple[str, ...]]:
    return zip(*(words[place:] for place in range(RUN)), strict=False)


def _fold(text: str) -> str:
    """Without case, accents, tags, invisible marks, and words that a line break divided."""
    bare = unicodedata.normalize("NFKD", _TAG.sub("\n", text)).replace("\u2019", "'")
    plain = _INVISIBLE.sub("", bare)
    letters = (mark for mark in plain.replace("_", " ") if not unicodedata.combining(mark))
    return "".join(letters).casefold()
