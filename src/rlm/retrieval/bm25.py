"""Okapi BM25 over documents with weighted columns: the one lexical score that every engine gives.

FTS5, tantivy and the plain scan all find candidates; this module scores them, so that
it does not matter which of them found one. It differs from FTS5's own `bm25()` in two ways:

- idf is `log(1 + (N - n + ½) / (n + ½))`, which stays positive. FTS5's falls to nothing for a word
  that half of the documents hold, so a store of seven memories could not be searched.
- a document's length is counted in characters, which a database can sum without reading words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rlm.retrieval.tokens import tokens

K1 = 1.2
B = 0.75
CEILING = K1 + 1.0
"""The most that one term can add, in units of its weight."""


_MARK = "\ue000"  # a private character, which the gate lets into no text
_SEAM = f" {_MARK} "


def idf(documents: int, holding: int) -> float:
    """The weight of a term that `holding` of `documents` documents hold."""
    return math.log1p((max(documents, holding) - holding + 0.5) / (holding + 0.5))


def weigh(
    columns: Sequence[str], weights: Sequence[float], terms: frozenset[str]
) -> tuple[dict[str, float], int]:
    """The weighted count of each term in a document, and its length in characters."""
    counts: dict[str, float] = {}
    found = tokens(_SEAM.join(columns))  # one call: the tokenizer costs more than the text
    if not terms.isdisjoint(found):
        remaining = iter(weights)
        weight = next(remaining)
        for token in found:
            if token in terms and token != _MARK:  # who asks may have pasted it
                counts[token] = counts.get(token, 0.0) + weight
            elif token == _MARK:
                weight = next(remaining, 0.0)  # so may who edits a JSON store
    return counts, sum(map(len, columns))


def count_terms(columns: Sequence[str], weights: Sequence[float]) -> dict[str, float]:
    """The weighted count of every term in a document, for an index that keeps them."""
    counts: dict[str, float] = {}
    remaining = iter(weights)
    weight = next(remaining)
    for token in tokens(_SEAM.join(columns)):
        if token == _MARK:
            weight = next(remaining, 0.0)
        else:
            counts[token] = counts.get(token, 0.0) + weight
    return counts


def impact(count: float, relative_length: float) -> float:
    """What a term adds to a document's score, in units of its weight: from 0 to `CEILING`."""
    return count * CEILING / (count + K1 * (1.0 - B + B * relative_length))


def contributions(
    counts: Mapping[str, float], relative_length: float, weights: Mapping[str, float]
) -> dict[str, float]:
    """How much each query term adds to this document; terms that it lacks are left out."""
    return {
        term: weight * impact(counts[term], relative_length)
        for term, weight in weights.items()
        if term in counts
    }
