"""Binary codes: one sign bit per dimension, compared by the number of bits that differ.

A scan over codes finds the few hundred nearest of a million vectors in milliseconds; full vectors
then re-score those. Codes are held by column: one array of 64-bit words per 64 dimensions, so that
a scan reads memory in order. These are pure functions over such arrays; who keeps the arrays, and
which position is which memory, is known elsewhere.

>>> codes = sign_codes(np.array([[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]], np.float32))
>>> codes.tolist()
[[5], [4]]
>>> hamming([codes[:, 0].copy()], codes[0]).tolist()
[0, 1]
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Distances = NDArray[np.uint8] | NDArray[np.uint16]

WORD_BITS = 64
CHUNK = 32_768  # the scratch arrays of a step stay in the L2 cache: see docs/experiments.md


def sign_codes(vectors: NDArray[np.float32] | NDArray[np.float16]) -> Words:
    """One row of 64-bit words per vector: bit `i % 64` of word `i // 64` is set if dimension i > 0.

    Dimensions that do not fill the last word leave its high bits 0. NaN counts as not positive.
    """
    count, dim = vectors.shape
    words = -(-dim // WORD_BITS)
    packed = np.zeros((count, words * 8), np.uint8)
    packed[:, : -(-dim // 8)] = np.packbits(vectors > 0, axis=1, bitorder="little")
    return packed.view("<u8").astype(np.uint64, copy=False)


def hamming(columns: Sequence[Words], code: Words) -> Distances:
    """The distance of `code` to every code, whose word `k` is in `columns[k]`.

    Up to 256 bits the distances are uint8, and 256 itself, the exact opposite, is given as 255;
    above they are uint16. Raises ValueError where the number of words or the lengths of columns
    differ.
    """
    if len(columns) != len(code) or len({len(column) for column in columns}) != 1:
        why = f"{len(columns)} columns, of one length, cannot be compared with {len(code)} words"
        raise ValueError(why)
    size = len(columns[0])
    narrow = len(columns) * WORD_BITS <= 256
    total: Distances = np.zeros(size, np.uint8) if narrow else np.zeros(size, np.uint16)
    differing = np.empty(min(CHUNK, size), np.uint64)
    bits = np.empty(min(CHUNK, size), np.uint8)
    for start in range(0, size, CHUNK):
        part = total[start : start + CHUNK]
        words, counts = differing[: len(part)], bits[: len(part)]
        for column, word in zip(columns, code, strict=True):
            np.bitwise_xor(column[start : start + CHUNK], word, out=words)
            np.bitwise_count(words, out=counts)
            np.add(part, counts, out=part)
        if narrow:  # only 256 wraps around, to 0, and only then is the sum below its last term
            np.copyto(part, 255, where=part < counts)
    return total


def nearest(distances: Distances, count: int) -> NDArray[np.intp]:
    """The positions of the `count` smallest distances, smallest first, equal ones by position."""
    possible = range(np.iinfo(distances.dtype).max)
    limit = bisect_left(possible, count, key=lambda most: int(np.count_nonzero(distances <= most)))
    near = np.flatnonzero(distances <= limit)
    return near[np.argsort(distances[near], kind="stable")][: max(0, count)]


def pack_vectors(vectors: NDArray[np.float32]) -> list[bytes]:
    """Each row as the 16-bit floats that a row of a store holds."""
    data = vectors.astype(np.float16).tobytes()
    size = 2 * vectors.shape[1]
    return [data[i : i + size] for i in range(0, len(data), size)]
