"""Fusion: one similarity in [0, 1] from the words and from the meaning.

    weight(t)  = idf(t) × 0.4 for a stopword, × 2.5 for what is like an id, × 0.5 for a name's part
    lexical    = bm25 / (2.2 × (the ten largest weights + 1))
    similarity = (lexical + 0.7 × damp × cosine^1.5) / 1.2,   damp = 1 / (1 + (terms / 40)²)

A model whose cosines are spread in another way has its own constants (`MEANING`).

Dividing by what the query could score at most keeps a poor match small; only the ten largest
weights count, or a long question could never be answered well. The power keeps a poor cosine small.
The cosine of a long query says little, so it fades. Neither signal wins everywhere, and one setting
must serve all: `docs/experiments.md` has what was tried, how flat the optimum is, and where it
loses.
"""

from __future__ import annotations

import re

from rlm.retrieval import bm25

TYPE_CHECKING = False  # importing typing costs every hook 3 ms
if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from rlm.retrieval.tokens import Query

    Floats = NDArray[np.float32]

STOPWORD_FACTOR = 0.4
IDENTIFIER_FACTOR = 2.5
PART_FACTOR = 0.5
COUNTED_WEIGHTS = 10
CEILING_MARGIN = 1.0
COSINE = (0.7, 1.5, 1.0)
"""The weight of a cosine, its power, and from where on similarities are pressed together below 1
instead of cut off there: for the static model, and for what nobody measured."""
MEANING = {"all-minilm-l6-v2-128+wordllama-l2-256-pool2": (1.4, 2.0, 0.85)}
"""The same for a model that was measured. With so large a weight many good hits would be cut off at
1 and no longer be told apart."""
HALF_TERMS = 40.0
SCALE = 1.2
FLOOR = 0.10
"""Below this (times `damp`) a document that shares no telling word is noise."""

_YEAR = re.compile(r"(19|20)\d\d")


class QueryWeights:
    """What a query's terms weigh in one corpus.

    `telling` are the terms that can find a document: all but stopwords, unless there is nothing
    else. `common` says whether more than half of the documents hold one of these.
    """

    def __init__(
        self,
        weights: Mapping[str, float],
        ceiling: float,
        damp: float,
        telling: frozenset[str],
        common: bool = False,
        cosine: tuple[float, float, float] = COSINE,
    ) -> None:
        self.weights, self.ceiling, self.damp = weights, ceiling, damp
        self.telling, self.common, self.cosine = telling, common, cosine

    def keeps(self, similarity: float, lexical: float, counts: Mapping[str, float]) -> bool:
        """Whether a document is a hit: by a telling word, or by meaning alone."""
        if not self.telling.isdisjoint(counts):
            return similarity > 0.0
        return similarity - lexical / SCALE >= FLOOR * self.damp


def plan(query: Query, holding: Mapping[str, int], documents: int, model: str = "") -> QueryWeights:
    """Weigh each term of a query by how many of the documents hold it, and the model's cosines."""
    weights = {
        term: factor(query, term) * bm25.idf(documents, holding.get(term, 0))
        for term in (*query.terms, *query.stops)
    }
    largest = sorted(weights.values(), reverse=True)[:COUNTED_WEIGHTS]
    ceiling = bm25.CEILING * (sum(largest) + CEILING_MARGIN)
    damp = 1.0 / (1.0 + (len(weights) / HALF_TERMS) ** 2)
    common = any(2 * holding.get(term, 0) > documents for term in query.terms)
    cosine = MEANING.get(model, COSINE)
    return QueryWeights(weights, ceiling, damp, frozenset(query.terms), common, cosine)


def factor(query: Query, term: str) -> float:
    """How much the kind of a term changes its weight."""
    if term in query.stops or query.only_stops:
        return STOPWORD_FACTOR
    if len(term) >= 4 and not term.isalpha() and term.isascii() and not _YEAR.fullmatch(term):
        return IDENTIFIER_FACTOR
    return PART_FACTOR if term in query.parts else 1.0


def lexical(counts: Mapping[str, float], relative_length: float, plan_: QueryWeights) -> float:
    """A document's share of the most that the query could score."""
    return sum(bm25.contributions(counts, relative_length, plan_.weights).values()) / plan_.ceiling


def fuse(lexical_: Floats, cosine: Floats, plan_: QueryWeights) -> Floats:
    """The similarity of each document."""
    import numpy as np  # only here: a hook weighs words without it, 70 ms sooner

    weight, power, knee = plan_.cosine
    meaning = np.maximum(cosine, 0.0) ** power
    both = (lexical_ + weight * plan_.damp * meaning) / SCALE
    if knee < 1.0:
        pressed = 1.0 - (1.0 - knee) * np.exp((knee - both) / (1.0 - knee))
        both = np.where(both > knee, pressed, both)
    return np.asarray(np.clip(both, 0.0, 1.0), dtype=np.float32)
