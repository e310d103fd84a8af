"""Sealed postings: for each term, which documents hold it and how much it counts there.

A segment numbers its documents from 0. A term's postings are two runs of 16-bit integers: the document
numbers, ascending, then each one's impact (see `bm25.impact`) as a fraction of `bm25.CEILING`. Impacts are
computed once, when the segment is sealed, against a fixed length, and a query is a few vectorised additions.
They choose whom to read closely; the score that counts is computed from the document itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rlm.retrieval import bm25

MAX_DOCUMENTS = 65_536
STEP = bm25.CEILING / 65_535.0
PIVOT_CHARS = 300.0
"""The length that impacts take for average."""


def build(documents: Iterable[Sequence[str]], weights: Sequence[float]) -> Iterator[tuple[str, bytes]]:
    """Each term in order with its encoded postings. At most `MAX_DOCUMENTS` documents."""
    ids: dict[str, int] = {}
    term_ids: list[int] = []
    counts: list[float] = []
    held: list[int] = []
    lengths: list[int] = []
    for columns in documents:
        weighed, length = bm25.weigh(columns, weights)
        term_ids.extend([ids.setdefault(term, len(ids)) for term in weighed])
        counts.extend(weighed.values())
        held.append(len(weighed))
        lengths.append(length)
    if len(held) > MAX_DOCUMENTS:
        raise ValueError(f"{len(held)} documents in one segment, at most {MAX_DOCUMENTS}")
    terms = np.array(term_ids, dtype=np.uint32)
    numbers = np.repeat(np.arange(len(held), dtype=np.uint16), held)
    length_of = np.repeat(np.array(lengths, dtype=np.float32), held)
    impacts = quantise(np.array(counts, dtype=np.float32), length_of)
    order = np.argsort(terms, kind="stable")  # documents stay ascending within a term
    terms, numbers, impacts = terms[order], numbers[order], impacts[order]
    starts = np.searchsorted(terms, np.arange(len(ids) + 1))
    for term in sorted(ids):
        first, last = int(starts[ids[term]]), int(starts[ids[term] + 1])
        yield term, numbers[first:last].tobytes() + impacts[first:last].tobytes()


def quantise(counts: NDArray[np.float32], lengths: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Impacts as 16-bit fractions of the ceiling; never 0, since the term is there."""
    exact = counts * bm25.CEILING / (
        counts + bm25.K1 * (1.0 - bm25.B + bm25.B * lengths / PIVOT_CHARS)
    )
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
