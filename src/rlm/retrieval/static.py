"""The embedder that ships with us: static token vectors from the `wordllama` wheel, pooled with care.

Two files of that wheel are read directly, because importing the package costs 410 ms, more than a whole
search may take. Loading is lazy and the weights stay mapped on disk: a single query touches a few pages.

How a text becomes a vector was set by an experiment (docs/experiments.md) and is part of `STATIC_MODEL`: any
change needs a new name, so that stores re-embed.

- Names are taken apart (`GraphMeta`, `max_retries`), then everything is lower case.
- Each distinct token counts once: repeating a word does not make a text more about it.
- A token's vector is never longer than `NORM_CAP`, and one that continues a word counts `CONTINUATION`.
- A document is a head (what it is for) and a body. Of the body's first `BODY_CHARS` characters, tokens that
  the head lacks are added; all together they weigh at most as much as `BODY_TOKENS` tokens.
"""

from __future__ import annotations

import importlib.util
import json
import re
import threading
from collections.abc import Sequence
from importlib import metadata
from itertools import chain
from pathlib import Path
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from rlm.errors import ModelError
from rlm.retrieval.bpe import Vocabulary, split_words

Floats = NDArray[np.float32]

STATIC_MODEL = "wordllama-l2-256-pool1"
NORM_CAP = 13.5
CONTINUATION = 0.7
HEAD_CHARS = 2_000
BODY_CHARS = 1_000
BODY_TOKENS = 12
BULK_TEXTS = 64
"""From so many texts on, a table of all weighted vectors pays for itself (40 ms, 32 MB)."""
CACHED_WORDS = 200_000

_PIP = 'pip install "wordllama>=0.4.0"'
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_DIM = 256
_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class StaticEmbedder:
    """Deterministic and offline. Safe to share between threads.

    The first use loads the files and raises ModelError, with the line that installs them, where they are
    missing or damaged; a later call tries again.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.model = STATIC_MODEL
        self.dim = _DIM
        self._folder = folder
        self._lock = threading.Lock()
        self._tokens: _Tokens | None = None

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row per query, of length 1; all zero for a text without tokens."""
        return self.embed_documents([(text, "") for text in texts])

    def embed_documents(self, documents: Sequence[tuple[str, str]]) -> Floats:
        """One row per (head, body)."""
        tokens = self._tokens or self._load()
        out = np.zeros((len(documents), self.dim), np.float32)
        table = tokens.table() if len(documents) >= BULK_TEXTS else None
        for row, (head, body) in zip(out, documents, strict=True):
            first = tokens.ids(head[:HEAD_CHARS])
            rest = tokens.ids(body[:BODY_CHARS]) - first if body else ()
            if first or rest:
                share = np.ones(len(first) + len(rest), np.float32)
                if len(rest) > BODY_TOKENS:
                    share[len(first) :] = BODY_TOKENS / len(rest)
                np.dot(share, tokens.rows([*first, *rest], table), row)
        return normalise(out)

    def _load(self) -> _Tokens:
        with self._lock:
            if self._tokens is None:
                folder = self._folder or _find_folder()
                try:
                    vocab = Vocabulary.load(folder / _TOKENIZER)
                    vectors = _map_tensor(folder / _WEIGHTS, (len(vocab), self.dim))
                except (OSError, ValueError) as exc:
                    raise ModelError(
                        f"the embedding model in {folder} cannot be read: {exc}. "
                        f"Install it again: {_PIP} --force-reinstall --no-deps"
                    ) from exc
                self._tokens = _Tokens(vocab, vectors)
            return self._tokens


class _Words(dict[str, tuple[int, ...]]):
    """A word as it stands in a text -> the ids of its tokens, after names are taken apart."""

    def __init__(self, vocab: Vocabulary) -> None:
        super().__init__()
        self._vocab = vocab

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= CACHED_WORDS:
            self.clear()
        parts = _SEAM.sub(" ", word).lower().split()
        ids = tuple(chain.from_iterable(map(self._vocab.encode_word, parts)))
        if len(word) <= 64:
            self[word] = ids
        return ids


class _Tokens:
    """The vocabulary and its weighted vectors."""

    def __init__(self, vocab: Vocabulary, vectors: NDArray[np.float16]) -> None:
        self._vectors = vectors
        self._words = _Words(vocab)
        self._continues = vocab.continuations()
        self._table: Floats | None = None

    def ids(self, text: str) -> set[int]:
        """The distinct tokens of a text."""
        plain = text.replace("_", " ")
        words = plain.split() if text.isascii() else split_words(normalize("NFKC", plain))
        return set(chain.from_iterable(map(self._words.__getitem__, words)))

    def rows(self, ids: list[int], table: Floats | None) -> Floats:
        """The weighted vector of each token."""
        return self._weighted(ids) if table is None else table.take(ids, 0)

    def table(self) -> Floats:
        """All weighted vectors, made once."""
        if self._table is None:
            self._table = self._weighted(slice(None))
        return self._table

    def _weighted(self, ids: list[int] | slice) -> Floats:
        rows = np.asarray(self._vectors[ids], dtype=np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        factor = np.minimum(1.0, NORM_CAP / np.maximum(lengths, 1e-9))
        factor *= np.where(self._continues[ids], CONTINUATION, 1.0)
        weighted: Floats = rows * factor.astype(np.float32)[:, None]
        return weighted


def normalise(rows: Floats) -> Floats:
    """Scale every row to length 1, in place; zero rows stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    return rows


def _find_folder() -> Path:
    """Where wordllama is installed, without running it. Raises ModelError."""
    try:
        spec = importlib.util.find_spec("wordllama")
    except (ImportError, ValueError):
        spec = None
    for place in (spec.submodule_search_locations if spec else None) or ():
        if Path(place, _TOKENIZER).is_file():
            return Path(place)
    # another folder of that name may come first on the path: the installed files are still there
    try:
        return Path(str(metadata.distribution("wordllama").locate_file("wordllama")))
    except metadata.PackageNotFoundError as exc:
        raise ModelError(f"the static embedder needs the package wordllama. Install it: {_PIP}") from exc


def _map_tensor(path: Path, shape: tuple[int, int]) -> NDArray[np.float16]:
    """Map the one tensor of a safetensors file. Raises OSError or ValueError, also for another shape.

    The format: the length of a JSON header in 8 bytes, little-endian, the header, then the numbers.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= 1 << 20:
            raise ValueError(f"{path.name} is not a safetensors file")
        header = json.loads(file.read(length))
    expected = {"dtype": "F16", "shape": list(shape), "data_offsets": [0, 2 * shape[0] * shape[1]]}
    if not isinstance(header, dict) or header.get("embedding.weight") != expected:
        raise ValueError(f"{path.name} does not start with a tensor 'embedding.weight' of {expected}")
    return np.asarray(np.memmap(path, "<f2", mode="r", offset=8 + length, shape=shape))
