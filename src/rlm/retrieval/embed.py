"""Texts to vectors: what search needs of a model, and which one the settings name.

A vector belongs to the `model` that made it, and two models are never compared. Rows have length 1,
or are all zero for a text in which there is nothing to embed.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rlm.errors import ConfigError
from rlm.retrieval.lexicon import Lexicon, Reading

Floats = NDArray[np.float32]


class Embedder(Protocol):
    """What search needs of a model. `dim` is 0 while an endpoint has not answered yet."""

    model: str
    dim: int

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row per query, in order. Raises ModelError."""
        ...

    def embed_documents(self, documents: Sequence[tuple[str, str]]) -> Floats:
        """One row per (head, body), in order: what a document is for, and what it holds. Raises
        ModelError."""
        ...


HEAD, BODY, NEITHER = 0, 1, 2
"""What a text is to its document: what it is for, what it holds, or nothing to a model."""


@runtime_checkable
class ReadingEmbedder(Protocol):
    """An embedder that can also use what a bulk load has read already."""

    def prepare(self) -> None:
        """Load what many texts need now, so that processes forked later share it."""
        ...

    def embed_reading(self, lexicon: Lexicon, reading: Reading, parts: Sequence[int]) -> Floats:
        """As `embed_documents`; `parts` says of each text of a document what it is."""
        ...


def kind_of(embedder: Embedder | None) -> str | None:
    """The word that makes `pick_embedder` give such an embedder; None where a word does not say it
    all."""
    return "none" if embedder is None else getattr(embedder, "kind", None)


def pick_embedder(kind: str, *, url: str = "", model: str = "", key: str = "") -> Embedder | None:
    """The embedder that the settings name; None for `none`. Loads no model and calls nothing yet."""
    if kind == "none":
        return None
    if kind == "static":
        return _made("static", "StaticEmbedder")
    if kind != "endpoint":
        raise ConfigError(
            f"unknown embedder {kind!r}: choose static, endpoint or none (RLM_EMBEDDER)"
        )
    for value, name in ((url, "RLM_EMBED_URL"), (model, "RLM_EMBED_MODEL")):
        if not value:
            raise ConfigError(
                f"the embedder 'endpoint' needs {name}: set it, or use RLM_EMBEDDER=static"
            )
    return _made("endpoint", "EndpointEmbedder", url, model, key=key or None)


def _made(module: str, name: str, *args: Any, **kwargs: Any) -> Embedder:
    """Each kind is imported when it is chosen: httpx alone costs 70 ms that a plain search must not
    pay."""
    made: Embedder = getattr(import_module(f"rlm.retrieval.{module}"), name)(*args, **kwargs)
    return made
