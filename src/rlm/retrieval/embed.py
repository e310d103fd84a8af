"""Texts to vectors: what search needs of a model, and which one the settings name.

A vector belongs to the `model` that made it, and two models are never compared. Rows have length 1,
or are all zero for a text in which there is nothing to embed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rlm.errors import ConfigError

Floats = NDArray[np.float32]


class Embedder(Protocol):
    """What search needs of a model. `dim` is 0 while an endpoint has not answered yet."""

    model: str
    dim: int

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row per query, in order. Raises ModelError."""

    def embed_documents(self, documents: Sequence[tuple[str, str]]) -> Floats:
        """One row per (head, body), in order: its purpose and its text. Raises ModelError."""


def pick_embedder(kind: str, *, url: str = "", model: str = "", key: str = "") -> Embedder | None:
    """The embedder that the settings name, or None; no model is loaded or called yet."""
    if kind == "none":
        return None
    if kind == "static":
        return _shared_static()
    if kind == "minilm":
        return _make_embedder("minilm", "MiniLMEmbedder")
    if kind != "endpoint":
        why = f"unknown embedder {kind!r}: choose static, minilm, endpoint or none (RLM_EMBEDDER)"
        raise ConfigError(why)
    for value, name in ((url, "RLM_EMBED_URL"), (model, "RLM_EMBED_MODEL")):
        if not value:
            why = f"the embedder 'endpoint' needs {name}: set it, or use RLM_EMBEDDER=static"
            raise ConfigError(why)
    return _make_embedder("endpoint", "EndpointEmbedder", url, model, key=key or None)


@cache
def _shared_static() -> Embedder:
    """One for all stores of a process: it takes 40 MB once it is used."""
    return _make_embedder("static", "StaticEmbedder")


def _make_embedder(module: str, name: str, *args: Any, **kwargs: Any) -> Embedder:
    """Each kind is imported when chosen: httpx costs 70 ms that a search must not pay."""
    embedder: Embedder = getattr(import_module(f"rlm.retrieval.{module}"), name)(*args, **kwargs)
    return embedder
