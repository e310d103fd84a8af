"""Each word of a bulk load is looked up once, whoever needs it.

A load has to split and look up every word for two indexes, postings and vectors, and that look-up
is what bounds its speed. So texts are cut at white space into chunks, each chunk gets a number, and
what an index makes of a chunk (its stems, its tokens) is kept in a `Ragged` under that number. From
there on all is numpy.

This is exact because nothing that an index reads spans white space: not a word of `tokens.words`,
not a token of `bpe`, not a normal form. Nothing here knows what a chunk means. One thread at a
time.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from rlm.retrieval.wordtable import UNKNOWN, WordTable

Ints = NDArray[np.int64]

CACHED_CHUNKS = 200_000
BATCH = 256
MOST_CHARS = 1 << 20
"""A batch with more than that is left to the dict: its running sum would no longer be near the
processor."""
_GENERATIONS = count()


class Numbers(dict[str, int]):
    """Name -> its number, given out in order of first appearance; `names` has each back by its
    number."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __missing__(self, name: str) -> int:
        self.names.append(
            name
        )  # first: Ctrl-C may strike between, and no two names may share a number
        number = self[name] = len(self.names) - 1
        return number


class Lexicon(Numbers):
    """Chunk -> its number."""

    def __init__(self) -> None:
        super().__init__()
        self._table = WordTable()
        self.forget()

    def forget(self) -> None:
        """Start anew; every `Ragged` notices, and a `Reading` from before is of no use any more."""
        self.clear()
        self.names = []
        self._table.clear()
        self.generation = next(_GENERATIONS)

    def trim(self) -> None:
        """Forget if there is too much to remember. For the start of a batch."""
        if len(self) > CACHED_CHUNKS:
            self.forget()

    def read(self, documents: Sequence[Sequence[str]]) -> Reading:
        """The chunks of some documents; each document has the same number of texts."""
        width = len(documents[0]) if documents else 1
        chunks, owners = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for start in range(0, len(documents), BATCH):
            texts = [text for document in documents[start : start + BATCH] for text in document]
            numbers, places = self._read_batch(texts)
            chunks.append(numbers)
            owners.append(places + start * width)
        return Reading(np.concatenate(chunks), np.concatenate(owners), len(documents), width)

    def _read_batch(self, texts: list[str]) -> tuple[Ints, Ints]:
        """The number of each chunk, and the place of its text."""
        odd = [place for place, text in enumerate(texts) if not text.isascii()]
        if sum(map(len, texts)) > MOST_CHARS:
            odd = list(range(len(texts)))
        plain = list(texts)
        for place in odd:
            plain[place] = ""
        joined = "\n".join(("", *plain, ""))
        numbers, counts = self._looked_up(joined, plain)
        places = np.repeat(np.arange(len(plain)), counts)
        if odd:
            others, counts = self._split([texts[place] for place in odd])
            numbers, places = (
                np.concatenate((numbers, others)),
                np.concatenate((places, np.repeat(odd, counts))),
            )
            order = np.argsort(places, kind="stable")
            numbers, places = numbers[order], places[order]
        return numbers, places

    def _split(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """The numbers of all chunks, and how many each text has."""
        numbers, counts = list[int](), list[int]()
        for text in texts:
            before = len(numbers)
            numbers += map(self.__getitem__, text.split())
            counts.append(len(numbers) - before)
        return np.array(numbers, np.int64), np.array(counts, np.int64)

    def _looked_up(self, joined: str, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """The same for plain ASCII; `joined` has one character before, between and after the texts."""
        table = self._table
        starts, ends, low, high = table.cut(joined)
        numbers = table.find(low, high)
        unknown = np.flatnonzero(numbers == UNKNOWN)
        if len(unknown):
            numbers[unknown] = self._asked(joined, starts[unknown], ends[unknown])
            short = unknown[high[unknown] != 0]
            fresh, first = np.unique(numbers[short], return_index=True)
            table.put(low[short[first]], high[short[first]], fresh)
        bounds = np.cumsum(np.array([len(text) for text in texts], np.int64) + 1) + 1
        return numbers, np.diff(np.searchsorted(starts, bounds), prepend=0)

    def _asked(self, joined: str, starts: Ints, ends: Ints) -> Ints:
        """The numbers of these chunks from the dict."""
        names = list(map(joined.__getitem__, map(slice, starts.tolist(), ends.tolist())))
        fresh = [name for name in dict.fromkeys(names) if name not in self]
        first = len(self.names)
        self.names += fresh  # before the numbers, as in `__missing__`
        self.update(zip(fresh, count(first), strict=False))
        return np.array(list(map(self.__getitem__, names)), np.int64)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a batch of documents holds: chunk by chunk, and the text that each stands in.

    Text `t` is the `t % width`-th of document `t // width`.
    """

    chunks: Ints
    texts: Ints
    documents: int
    width: int

    def part(self, first: int, last: int) -> Reading:
        """Of these documents only, numbered anew."""
        last = min(last, self.documents)
        low, high = np.searchsorted(self.texts, (first * self.width, last * self.width))
        return Reading(
            self.chunks[low:high],
            self.texts[low:high] - first * self.width,
            last - first,
            self.width,
        )


def joined(readings: Sequence[Reading]) -> Reading:
    """The readings of some documents after another as one; all of the same width."""
    first = np.cumsum([0, *(reading.documents for reading in readings)])
    texts = [
        reading.texts + start * reading.width
        for reading, start in zip(readings, first.tolist(), strict=False)
    ]
    return Reading(
        np.concatenate([reading.chunks for reading in readings]),
        np.concatenate(texts),
        int(first[-1]),
        readings[0].width,
    )


class Ragged:
    """What one index makes of each chunk: any number of integers."""

    def __init__(self, make: Callable[[str], Iterable[int]]) -> None:
        self._make = make
        self._generation = -1
        self._starts = array("q", [0])
        self._flat = array("q")

    def spread(self, lexicon: Lexicon, chunks: Ints) -> tuple[Ints, Ints]:
        """The integers of these chunks, one after another, and for each the position of its chunk."""
        self._extend(lexicon)
        starts = np.frombuffer(self._starts, np.int64)
        first = starts[chunks]
        counts = starts[1:][chunks] - first
        position = np.repeat(np.arange(len(chunks)), counts)
        within = np.arange(len(position)) - np.repeat(np.cumsum(counts) - counts, counts)
        if not self._flat:
            return np.zeros(0, np.int64), position
        return np.frombuffer(self._flat, np.int64)[first[position] + within], position

    def _extend(self, lexicon: Lexicon) -> None:
        if self._generation != lexicon.generation:
            self._generation = lexicon.generation
            self._starts, self._flat = array("q", [0]), array("q")
        del self._flat[self._starts[-1] :]  # of a chunk in whose midst Ctrl-C struck
        for chunk in lexicon.names[len(self._starts) - 1 :]:
            self._flat.extend(self._make(chunk))
            self._starts.append(len(self._flat))
