"""Search without an index: read every document. For small stores, and where FTS5 is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlm.retrieval import bm25, fusion
from rlm.retrieval.tokens import Query

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Found:
    """One document, by its place in the list."""

    place: int
    lexical: float
    cosine: float | None
    similarity: float
    matched: dict[str, float]


def scan(
    query: Query,
    documents: Sequence[tuple[dict[str, float], int]],
    vectors: Floats | None,
    vector: Floats | None,
) -> list[Found]:
    """Every weighed document above the floor, best first, ties by place."""
    if not documents:
        return []
    terms = (*query.terms, *query.stops)
    holding = {term: sum(term in counts for counts, _ in documents) for term in terms}
    plan = fusion.plan(query, holding, len(documents))
    average = sum(length for _, length in documents) / len(documents) or 1.0
    parts = [
        bm25.contributions(counts, length / average, plan.weights) for counts, length in documents
    ]
    lexical = np.array([sum(part.values()) / plan.ceiling for part in parts], np.float32)
    cosine = np.zeros(len(documents), np.float32)
    if vectors is not None and vector is not None:
        cosine = vectors @ vector
    similarity = fusion.fuse(lexical, cosine, plan.damp)
    order = np.argsort(-similarity, kind="stable")
    return [
        Found(
            int(place),
            float(lexical[place]),
            None if vector is None else float(cosine[place]),
            float(similarity[place]),
            shares(query, parts[place]),
        )
        for place in order
        if plan.keeps(float(similarity[place]), float(lexical[place]), documents[place][0])
    ]


def shares(query: Query, parts: dict[str, float]) -> dict[str, float]:
    """Each matched word, as it was typed, with its share of the lexical score; the largest first."""
    total = sum(parts.values()) or 1.0
    ordered = sorted(parts.items(), key=lambda part: (-part[1], part[0]))
    return {query.spelled.get(term, term): value / total for term, value in ordered}
