"""The chunks of plain ASCII text, cut and looked up with numpy, thousands at a time.

Cutting a text at white space and looking each chunk up in a dict is a third of what a bulk load does for its indexes.
Here a chunk is known by a hash of 64 bits: the sum of its characters times powers of a random odd number, which for
all chunks of a text is one running sum. A table of these hashes gives the numbers; who is not in it has to be asked
from the dict, which stays the truth.

Two chunks with one hash would be taken for each other. By chance that takes some billions of chunks. By intent it takes
chunks of thousands of characters whatever the random number is, so chunks above `MOST_CHARS` are never put in.
"""

from __future__ import annotations

import secrets

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]

MOST_CHARS = 64
UNKNOWN = -1
_FIRST_BITS = 15
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # odd; moves what differs into the upper bits
_IN_CHUNK = np.array([not chr(code).isspace() for code in range(256)])
_BASE = secrets.randbits(64) | 1


def _powers(base: int, count: int) -> Hashes:
    return np.multiply.accumulate(np.full(count, base, np.uint64))


class WordTable:
    """Hash -> number, for the chunks that were put in."""

    def __init__(self) -> None:
        self._powers, self._inverses = _powers(_BASE, 1), _powers(pow(_BASE, -1, 1 << 64), 1)
        self.clear()

    def clear(self) -> None:
        self._count = 0
        self._make(_FIRST_BITS)

    def _make(self, bits: int) -> None:
        self._bits = bits
        self._hashes = np.zeros(1 << bits, np.uint64)  # 0 for a place that is free
        self._numbers = np.zeros(1 << bits, np.int64)

    def cut(self, data: bytes) -> tuple[Ints, Ints, Hashes]:
        """Where the chunks of an ASCII text begin and end, and their hashes, 0 for those that are too long.

        The text has white space at both ends.
        """
        codes = np.frombuffer(data, np.uint8)
        inside = _IN_CHUNK[codes]
        edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
        starts, ends = edges[::2], edges[1::2]
        if len(codes) > len(self._powers):
            self._powers = _powers(_BASE, 2 * len(codes))
            self._inverses = _powers(pow(_BASE, -1, 1 << 64), 2 * len(codes))
        sums = np.zeros(len(codes) + 1, np.uint64)
        values = codes.astype(np.uint64)
        values += np.uint64(1)  # so that no character is nothing
        values *= self._powers[: len(codes)]
        np.cumsum(values, out=sums[1:])
        hashes = (sums[ends] - sums[starts]) * self._inverses[starts]
        hashes[ends - starts > MOST_CHARS] = 0
        return starts, ends, hashes

    def find(self, hashes: Hashes) -> Ints:
        """The number of each, or `UNKNOWN`; that of 0 is not known."""
        places = self._places(hashes)
        held = self._hashes[places]
        found = np.where((held == hashes) & (hashes != 0), self._numbers[places], UNKNOWN)
        left = np.flatnonzero((held != hashes) & (held != 0) & (hashes != 0))
        while len(left):  # its place was taken: look at the next one
            places[left] = (places[left] + 1) & (len(self._hashes) - 1)
            held = self._hashes[places[left]]
            same = held == hashes[left]
            found[left[same]] = self._numbers[places[left[same]]]
            left = left[~same & (held != 0)]
        return found

    def put(self, hashes: Hashes, numbers: Ints) -> None:
        """Add chunks that are not there, each once, none of them 0."""
        self._count += len(hashes)
        if 3 * self._count > len(self._hashes):
            there = np.flatnonzero(self._hashes)
            hashes = np.concatenate((self._hashes[there], hashes))
            numbers = np.concatenate((self._numbers[there], numbers))
            self._make(max(self._bits + 1, (3 * self._count).bit_length()))
        places = self._places(hashes)
        left = np.arange(len(hashes))
        while len(left):
            here = places[left]
            free = np.flatnonzero(self._hashes[here] == 0)
            _, first = np.unique(here[free], return_index=True)  # of several that want one place, one gets it
            chosen = left[free[first]]
            self._hashes[places[chosen]] = hashes[chosen]
            self._numbers[places[chosen]] = numbers[chosen]
            waiting = np.ones(len(left), np.bool_)
            waiting[free[first]] = False
            left = left[waiting]
            places[left] = (places[left] + 1) & (len(self._hashes) - 1)

    def _places(self, hashes: Hashes) -> Ints:
        return ((hashes * _SPREAD) >> np.uint64(64 - self._bits)).astype(np.int64)
