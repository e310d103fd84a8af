"""Made-up memories with real words: a Zipf draw from the words that the embedder's vocabulary
holds."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from rlm.retrieval.bpe import SPACE
from rlm.retrieval.static import _TOKENIZER, _find_folder
from rlm.store.types import MemoryItem

WORDS_PER_MEMORY = 45


def vocabulary() -> list[str]:
    """Some 30,000 lower-case words, commonest first, and pairs of them to fill the tail."""
    raw = json.loads((_find_folder() / _TOKENIZER).read_text("utf-8"))["model"]["vocab"]
    words = [
        t[1:].lower()
        for t in raw
        if t[0] == SPACE and t[1:].isascii() and t[1:].isalpha() and len(t) > 3
    ]
    words = list(dict.fromkeys(words))
    return words + [a + b for a, b in zip(words, words[7:], strict=False)][: 30_000 - len(words)]


class Corpus:
    """Deterministic: the same seed and size give the same memories and queries."""

    def __init__(self, size: int, seed: int = 7) -> None:
        self.size = size
        self.words = vocabulary()
        weights = 1.0 / (np.arange(len(self.words)) + 2.7)
        self._p = weights / weights.sum()
        self._seed = seed

    def draws(self, chunk: int = 20_000) -> Iterator[list[list[str]]]:
        """The words of every memory, in chunks."""
        rng = np.random.default_rng(self._seed)
        for start in range(0, self.size, chunk):
            picks = rng.choice(
                len(self.words), size=(min(chunk, self.size - start), WORDS_PER_MEMORY), p=self._p
            )
            yield [[self.words[n] for n in row] for row in picks.tolist()]

    def queries(self, count: int) -> list[str]:
        """Eight words each, drawn as the memories' words are."""
        rng = np.random.default_rng(self._seed + 1)
        picks = rng.choice(len(self.words), size=(count, 8), p=self._p)
        return [" ".join(dict.fromkeys(self.words[n] for n in row)) for row in picks.tolist()]

    def queries_between(self, low: int, high: int, count: int) -> list[str]:
        """Eight words each, evenly from those ranks; rank 0 is the commonest word."""
        rng = np.random.default_rng(self._seed + low)
        picks = rng.integers(low, high, size=(count, 8))
        return [" ".join(dict.fromkeys(self.words[n] for n in row)) for row in picks.tolist()]


def memory(words: list[str]) -> MemoryItem:
    """One memory of these words: title, description, tags and two steps."""
    title, description, step = (len(words) * share // WORDS_PER_MEMORY for share in (6, 18, 31))
    return MemoryItem(
        title=" ".join(words[:title]),
        description=" ".join(words[title:description]),
        content="- " + " ".join(words[description:step]) + "\n- " + " ".join(words[step:]),
        tags=words[:2],
        source_type="success",
    )


def plain_text(words: list[str]) -> str:
    """The same words as one text, for the peers."""
    return " ".join((*words, *words[:2]))
