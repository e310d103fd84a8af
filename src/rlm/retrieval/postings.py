"""Sealed postings: for each term, which documents hold it and how much it counts there.

A segment numbers its documents from 0. A term's postings are two runs of 16-bit integers: the
document numbers, ascending, then each one's impact (see `bm25.impact`) as a fraction of
`bm25.CEILING`. Impacts are computed once, when the segment is sealed, against a fixed length, and a
query is a few vectorised additions. They choose whom to read closely; the score that counts is
computed from the document itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rlm.retrieval import bm25
from rlm.retrieval.lexicon import CACHED_CHUNKS, Lexicon, Numbers, Ragged, Reading
from rlm.retrieval.tokens import stem_of, words

MAX_DOCUMENTS = 65_536
STEP = bm25.CEILING / 65_535.0
PIVOT_CHARS = 300.0
"""The length that impacts take for average."""


class Indexer:
    """Makes postings of documents. Keeps what it knows of words from call to call; one thread at a
    time."""

    def __init__(self) -> None:
        self._stems = Numbers()
        self._ragged = Ragged(self._numbers)

    def build(
        self,
        lexicon: Lexicon,
        reading: Reading,
        weights: Sequence[float],
        lengths: NDArray[np.int32],
        extra: tuple[Reading, NDArray[np.int64], float] | None = None,
    ) -> list[tuple[str, bytes]]:
        """Each term in order with its encoded postings. At most `MAX_DOCUMENTS` documents.

        `weights` are those of a document's texts, `lengths` its characters. `extra` is a reading of
        one more text of some documents, which documents these are, and the weight of that text.
        """
        if reading.documents > MAX_DOCUMENTS:
            raise ValueError(
                f"{reading.documents} documents in one segment, at most {MAX_DOCUMENTS}"
            )
        if len(self._stems) > CACHED_CHUNKS:
            self._stems, self._ragged = Numbers(), Ragged(self._numbers)
        term, position = self._ragged.spread(lexicon, reading.chunks)
        texts = reading.texts[position]
        owner = texts // reading.width
        keys = (term << 24) | (owner << 8) | (texts - owner * reading.width)
        table = np.zeros(256, np.float32)
        table[: len(weights)] = weights
        if extra is not None:
            more, owners, weight = extra
            term, position = self._ragged.spread(lexicon, more.chunks)
            table[reading.width] = weight
            keys = np.concatenate(
                (keys, (term << 24) | (owners[more.texts[position]] << 8) | reading.width)
            )
        return self._encode(np.sort(keys), table, lengths.astype(np.float32))

    def _numbers(self, chunk: str) -> list[int]:
        """The numbers of a chunk's stems."""
        if chunk.islower() and chunk.isascii() and chunk.isalpha():  # most chunks: one plain word
            return [self._stems[stem_of(chunk)]]
        return [self._stems[stem_of(word)] for word in words(chunk)]

    def _encode(
        self, keys: NDArray[np.int64], table: NDArray[np.float32], lengths: NDArray[np.float32]
    ) -> list[tuple[str, bytes]]:
        """Add up the weights of each (term, document) and encode them, term by term. `keys` are
        sorted."""
        if not len(keys):
            return []
        pairs = keys >> 8
        firsts = np.flatnonzero(np.concatenate(([True], pairs[1:] != pairs[:-1])))
        sums = np.add.reduceat(table[keys & 0xFF], firsts)
        pairs = pairs[firsts]
        numbers = (pairs & 0xFFFF).astype(np.uint16)
        impacts = quantise(sums, lengths[numbers])
        terms = pairs >> 16
        bounds = np.flatnonzero(np.concatenate(([True], terms[1:] != terms[:-1])))
        names = [self._stems.names[number] for number in terms[bounds].tolist()]
        ends = np.append(bounds[1:], len(terms)).tolist()
        documents, weighed = memoryview(numbers.tobytes()), memoryview(impacts.tobytes())
        made = [
            (name, b"".join((documents[2 * first : 2 * last], weighed[2 * first : 2 * last])))
            for name, first, last in zip(names, bounds.tolist(), ends, strict=True)
        ]
        made.sort()
        return made


def build(documents: Sequence[Sequence[str]], weights: Sequence[float]) -> list[tuple[str, bytes]]:
    """Each term in order with its encoded postings, of documents that have one text for each
    weight."""
    lexicon = Lexicon()
    lengths = np.array([sum(map(len, texts)) for texts in documents], np.int32)
    return Indexer().build(lexicon, lexicon.read(documents), weights, lengths)


def quantise(counts: NDArray[np.float32], lengths: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Impacts as 16-bit fractions of the ceiling; never 0, since the term is there."""
    norm = bm25.K1 * (1.0 - bm25.B + bm25.B * lengths / PIVOT_CHARS)
    exact = counts * bm25.CEILING / (counts + norm)
    return np.clip(np.rint(exact / STEP), 1, 65_535).astype(np.uint16)


def decode(data: bytes) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Document numbers and impacts, as views of `data`."""
    both = np.frombuffer(data, dtype=np.uint16)
    half = len(both) // 2
    return both[:half], both[half:]


def top(scores: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """Positions of the `count` best positive scores, best first, ties by position.

    Most documents score nothing or little, so a threshold taken from a sample cuts the field before
    anything is sorted. When the sample misleads, the whole field is used.
    """
    if count <= 0:
        return np.empty(0, dtype=np.intp)
    floor = np.float32(0.0)
    if len(scores) > 64 * count:
        sample = scores[::16]
        keep = min(len(sample) - 1, max(1, count // 4))
        floor = np.partition(sample, len(sample) - keep)[len(sample) - keep]
    found = np.flatnonzero(scores >= floor) if floor > 0 else np.flatnonzero(scores > 0)
    if len(found) < count and floor > 0:
        found = np.flatnonzero(scores > 0)
    order = np.argsort(-scores[found], kind="stable")
    return found[order[:count]]
