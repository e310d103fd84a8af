"""What is sent to Qdrant, as plain data: collections, points, queries. Pure functions.

A memory is one point: a sparse vector `words` of our own stems, a dense vector `dense` of the
embedder where it has one, and the payload of seed 003. Words carry the part of BM25 that a document
knows; a query brings the weights, from the document frequencies of the tenant's own corpus in the
truth store. So nothing is counted across tenants, and the product is BM25 but for the mean length.

Every query, every prefetch and every deletion is filtered by `tenant`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlm.retrieval import bm25
from rlm.store.document import ITEM_WEIGHTS, item_columns
from rlm.store.qdrant.names import point_id, seal_id
from rlm.store.sql.outbox import IndexedSpace
from rlm.store.types import MemoryItem

Body = dict[str, Any]
Floats = NDArray[np.float32]

MEAN_CHARS = 600.0
"""Taken for the mean length of a memory: a point must not change when another one is added."""


def collection(dim: int, *, shared: bool) -> Body:
    """A collection for vectors of this dimension, or for words alone."""
    body: Body = {"sparse_vectors": {"words": {}}, "vectors": {}}
    if dim:
        body["vectors"] = {"dense": {"size": dim, "distance": "Cosine"}}
    if shared:  # a graph within each tenant instead of one across all
        body["hnsw_config"] = {"m": 0, "payload_m": 16}
    return body


TENANT_INDEX: Body = {
    "field_name": "tenant",
    "field_schema": {"type": "keyword", "is_tenant": True},
}


def only(tenant: str) -> Body:
    """The filter that stands in every request."""
    return {"must": [{"key": "tenant", "match": {"value": tenant}}]}


def memories_only(tenant: str) -> Body:
    """All points of a space but its seal."""
    return {**only(tenant), "must_not": [{"has_id": [seal_id(tenant)]}]}


@lru_cache(maxsize=65_536)
def _dimension(stem: str) -> int:
    """Of a stem, among 2³². Two that share one cost a wrong candidate, never a wrong hit."""
    return int.from_bytes(hashlib.blake2b(stem.encode(), digest_size=4).digest())


def sparse(weights: Iterable[tuple[str, float]]) -> Body:
    """A sparse vector from stems; equal dimensions add up."""
    found: dict[int, float] = {}
    for stem, weight in weights:
        place = _dimension(stem)
        found[place] = found.get(place, 0.0) + weight
    ordered = sorted(found.items())
    return {"indices": [place for place, _ in ordered], "values": [value for _, value in ordered]}


def document_words(columns: Sequence[str]) -> Body:
    """What each stem of a memory adds, in units of its weight in a query."""
    counts = bm25.count_terms(columns, ITEM_WEIGHTS)
    length = sum(map(len, columns)) / MEAN_CHARS
    return sparse((stem, bm25.impact(count, length)) for stem, count in counts.items())


def memory_point(tenant: str, number: int, item: MemoryItem, vector: bytes | None) -> Body:
    """A memory as a point. `number` is its revision; `vector` are 16-bit floats."""
    vectors: Body = {"words": document_words(item_columns(item))}
    dense = None if vector is None else np.frombuffer(vector, np.float16).astype(np.float32)
    if dense is not None and dense.any():
        vectors["dense"] = dense.tolist()
    payload = {
        "tenant": tenant,
        "memory_id": item.memory_id,
        "revision": number,
        "has_vector": vector is not None,
        "level": item.level,
        "org": item.org,
        "team": item.team,
        "project": item.project,
        "title": item.title,
        "description": item.description,
        "content": item.content,
        "outcome": item.outcome,
        "confidence": item.confidence,
        "usage_count": item.access_count,
        "tags": list(item.tags),
        "source_session": item.session_id,
        "created_at": item.created_at,
        "last_used": item.last_used,
    }
    return {"id": point_id(tenant, item.memory_id), "vector": vectors, "payload": payload}


def seal_point(tenant: str, token: str, change: int) -> Body:
    """Which build of a space this is, and up to which change of the outbox it was fed."""
    payload = {"tenant": tenant, "token": token, "change": change}
    return {"id": seal_id(tenant), "vector": {}, "payload": payload}


def seal_query(tenant: str) -> Body:
    """The seal of a space; it has no vector, so that no other query finds it."""
    condition = {"has_id": [seal_id(tenant)]}
    mine = {"must": [*only(tenant)["must"], condition]}
    return {"filter": mine, "limit": 1, "with_payload": ["token", "change"]}


def words_query(tenant: str, words: Body, count: int) -> Body:
    """The best by words."""
    return {**_search(tenant, "words", words, count), "with_payload": ["revision"]}


def meaning_query(tenant: str, vector: Floats, count: int) -> Body:
    """The nearest to a vector."""
    return {**_search(tenant, "dense", vector.tolist(), count), "with_payload": ["revision"]}


def words_by_meaning_query(tenant: str, words: Body, vector: Floats, count: int) -> Body:
    """The best by words again, each with its cosine."""
    first = _search(tenant, "words", words, count)
    return {**meaning_query(tenant, vector, count), "prefetch": [first]}


def _search(tenant: str, using: str, query: Any, count: int) -> Body:
    return {"query": query, "using": using, "filter": only(tenant), "limit": count}


def revisions(points: Iterable[Mapping[str, Any]]) -> dict[int, float]:
    """Row number and score of each point of an answer."""
    return {int(point["payload"]["revision"]): float(point["score"]) for point in points}


AHEAD = "is ahead of this store"


def seal_fault(answers: list[list[Body]] | None, space: IndexedSpace) -> str | None:
    """Why a collection is not the one that was built and fed, if it is not. The seal is the last
    of the answers.

    It is `AHEAD` while somebody feeds what a reader's snapshot does not show yet, or for good where
    an older copy of the store was put back."""
    assert space.build is not None
    if answers is None:
        return "is missing"
    seals = [point.get("payload") or {} for point in answers[-1]]
    if not seals or seals[0].get("token") != space.build.token:
        return "does not hold what this store put there"
    change = int(seals[0].get("change", 0))
    if change < space.build.change:
        return "is older than what this store put there"
    return AHEAD if change > space.newest else None
