"""Sealed postings: for each term, which documents hold it and how much it counts there.

A segment numbers its documents from 0. A term's postings are two runs of 16-bit integers: the document
numbers, ascending, then each one's impact (see `bm25.impact`) as a fraction of `bm25.CEILING`. Impacts are
computed once, when the segment is sealed, against a fixed length, and a query is a few vectorised additions.
They choose whom to read closely; the score that counts is computed from the document itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from rlm.retrieval import bm25
from rlm.retrieval.tokens import stem_of, words

MAX_DOCUMENTS = 65_536
STEP = bm25.CEILING / 65_535.0
PIVOT_CHARS = 300.0
"""The length that impacts take for average."""


BATCH = 64
_MARK = " 0endofcolumn7q1z "
"""A word that no text holds; one that did would only misplace its own neighbours' weights."""


class _TermIds(dict[str, int]):
    """Folded word -> the id of its stem, given out in order of first appearance."""

    def __init__(self) -> None:
        super().__init__()
        self[_MARK.strip()] = -1
        self.stems: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        number = self[word] = self.stems.setdefault(stem_of(word), len(self.stems))
        return number


def build(documents: Iterable[Sequence[str]], weights: Sequence[float]) -> Iterator[tuple[str, bytes]]:
    """Each term in order with its encoded postings. At most `MAX_DOCUMENTS` documents.

    One look-up a word in Python, the rest in numpy: this is what bounds the speed of a bulk load.
    """
    ids = _TermIds()
    flat: list[int] = []
    lengths: list[int] = []
    for batch in _batches(documents):
        lengths += [sum(map(len, columns)) for columns in batch]
        # One split for many documents: a mark that is a word of its own stands after each column.
        text = _MARK.join(column for columns in batch for column in columns)
        flat.extend(map(ids.__getitem__, words(text + _MARK)))
    if len(lengths) > MAX_DOCUMENTS:
        raise ValueError(f"{len(lengths)} documents in one segment, at most {MAX_DOCUMENTS}")
    terms = np.array(flat, np.int64)
    marks = terms < 0
    column = np.cumsum(marks)[~marks]  # how many columns ended before each word
    owners, place = np.divmod(column, len(weights))
    weight = np.array(weights, np.float32)[place]
    yield from _encode(
        ids.stems,
        terms[~marks].astype(np.uint64),
        owners.astype(np.uint64),
        weight,
        np.array(lengths, np.float32),
    )


def _batches(documents: Iterable[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    remaining = iter(documents)
    while batch := list(islice(remaining, BATCH)):
        yield batch


def _encode(
    stems: dict[str, int],
    terms: NDArray[np.uint64],
    owners: NDArray[np.uint64],
    weight: NDArray[np.float32],
    lengths: NDArray[np.float32],
) -> Iterator[tuple[str, bytes]]:
    """Add up the weights of each (term, document) and encode them, term by term."""
    if not len(terms):
        return
    keys = (terms << np.uint64(16)) | owners
    order = np.argsort(keys)
    keys = keys[order]
    firsts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    sums = np.add.reduceat(weight[order], firsts)
    keys = keys[firsts]
    numbers = (keys & np.uint64(0xFFFF)).astype(np.uint16)
    impacts = quantise(sums, lengths[numbers])
    bounds = np.searchsorted(keys >> np.uint64(16), np.arange(len(stems) + 1, dtype=np.uint64)).tolist()
    for term in sorted(stems):
        first, last = bounds[stems[term]], bounds[stems[term] + 1]
        yield term, numbers[first:last].tobytes() + impacts[first:last].tobytes()


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
