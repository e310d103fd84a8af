"""The chunks of plain ASCII text, cut and looked up with numpy, thousands at a time.

Cutting a text at white space and looking each chunk up in a dict is a third of what a bulk load
does for its indexes. Here a chunk of at most `MOST_CHARS` characters is two 64-bit numbers: its
characters and its length, nothing lost. A table of these gives the number that the dict gave; who
is not in it, or is longer, has to be asked from the dict.

A hash of the characters would not do: text comes from anybody, and chunks can be made that share
one.
"""

from __future__ import annotations

import secrets

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

MOST_CHARS = 15
UNKNOWN = -1
_FIRST_BITS = 15
_U = np.uint64
_ONE_WAY, _OTHER_WAY = _U(secrets.randbits(64) | 1), _U(secrets.randbits(64) | 1)
"""Where a chunk lies in the table is nobody else's business."""
_IN_CHUNK = np.array([not chr(code).isspace() for code in range(256)])
_LOW = np.array([(1 << 8 * min(length, 8)) - 1 for length in range(MOST_CHARS + 1)], np.uint64)
_HIGH = np.array([(1 << 8 * max(length - 8, 0)) - 1 for length in range(MOST_CHARS + 1)], np.uint64)


class WordTable:
    """Two numbers -> the chunk's own, for the chunks that were put in."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._count = 0
        self._make(_FIRST_BITS)

    def _make(self, bits: int) -> None:
        self._bits = bits
        self._low, self._high = np.zeros(1 << bits, np.uint64), np.zeros(1 << bits, np.uint64)
        self._numbers = np.zeros(1 << bits, np.int64)

    def cut(self, text: str) -> tuple[Ints, Ints, Words, Words]:
        """Where the chunks of an ASCII text begin and end, and both numbers of each; the second is
        0 for a long one.

        The text has white space at both ends.
        """
        data = text.encode("ascii").ljust(-len(text) % 8 + len(text) + 24)
        inside = _IN_CHUNK[np.frombuffer(data, np.uint8)]
        edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
        starts, ends = edges[::2], edges[1::2]
        lengths = np.minimum(ends - starts, MOST_CHARS)
        words, at = np.frombuffer(data, "<u8"), starts >> 3
        right = (starts & 7).astype(np.uint64) * _U(
            8
        )  # what lies before the chunk in its first word
        left = _U(63) - right
        first, second, third = words[at], words[at + 1], words[at + 2]
        low = ((first >> right) | ((second << _U(1)) << left)) & _LOW[lengths]
        high = ((second >> right) | ((third << _U(1)) << left)) & _HIGH[lengths]
        high |= lengths.astype(np.uint64) << _U(56)
        high[ends - starts > MOST_CHARS] = 0
        return starts, ends, low, high

    def find(self, low: Words, high: Words) -> Ints:
        """The number of each, or `UNKNOWN`; that of a long one is not known."""
        places = self._places(low, high)
        held = self._high[places]
        same = (held == high) & (self._low[places] == low) & (high != 0)
        found = np.where(same, self._numbers[places], UNKNOWN)
        left = np.flatnonzero(~same & (held != 0) & (high != 0))
        while len(left):  # its place was taken: look at the next one
            here = (places[left] + 1) & (len(self._high) - 1)
            places[left] = here
            held = self._high[here]
            same = (held == high[left]) & (self._low[here] == low[left])
            found[left[same]] = self._numbers[here[same]]
            left = left[~same & (held != 0)]
        return found

    def put(self, low: Words, high: Words, numbers: Ints) -> None:
        """Add chunks that are not there, each once, none of them long."""
        self._count += len(high)
        if 3 * self._count > len(self._high):
            there = np.flatnonzero(self._high)
            low = np.concatenate((self._low[there], low))
            high = np.concatenate((self._high[there], high))
            numbers = np.concatenate((self._numbers[there], numbers))
            self._make(max(self._bits + 1, (3 * self._count).bit_length()))
        places = self._places(low, high)
        left = np.arange(len(high))
        while len(left):
            here = places[left]
            free = np.flatnonzero(self._high[here] == 0)
            _, first = np.unique(
                here[free], return_index=True
            )  # of several that want one place, one gets it
            chosen = left[free[first]]
            self._numbers[places[chosen]], self._low[places[chosen]] = numbers[chosen], low[chosen]
            self._high[places[chosen]] = high[
                chosen
            ]  # last: it says that the place is taken, and Ctrl-C may strike
            waiting = np.ones(len(left), np.bool_)
            waiting[free[first]] = False
            left = left[waiting]
            places[left] = (places[left] + 1) & (len(self._high) - 1)

    def _places(self, low: Words, high: Words) -> Ints:
        mixed: Words = np.add(
            (low ^ (low >> _U(32))) * _ONE_WAY, (high ^ (high >> _U(29))) * _OTHER_WAY
        )
        mixed = np.bitwise_xor(mixed, mixed >> _U(31)) * _ONE_WAY
        return (mixed >> _U(64 - self._bits)).astype(np.int64)
