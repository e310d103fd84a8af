"""The embedder that ships with us: static token vectors from the `wordllama` wheel.

Two files of that wheel are read directly, because importing the package costs 410 ms, more than a
whole search may take. Loading is lazy and the weights stay mapped on disk: a single query touches a
few pages.

How a text becomes a vector was set by an experiment (docs/experiments.md) and is part of
`STATIC_MODEL`: any change needs a new name, so that stores re-embed.

- Names are taken apart (`GraphMeta`, `max_retries`), then everything is lower case.
- Each distinct token counts once: repeating a word does not make a text more about it.
- A token's vector is never longer than `NORM_CAP`, and one that continues a word counts
  `CONTINUATION`.
- A document is a head (what it is for) and a body. Of the body's first `BODY_CHARS` characters, and
  the rest of the word they end in, tokens that the head lacks are added; all together they weigh at
  most as much as `BODY_TOKENS` tokens.
"""

from __future__ import annotations

import importlib.util
import json
import re
import threading
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from rlm.errors import ModelError
from rlm.retrieval.bpe import CACHED_WORDS, WORD_CHARS, Vocabulary, split_words

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

STATIC_MODEL = "wordllama-l2-256-pool2"
NORM_CAP = 13.5
CONTINUATION = 0.7
HEAD_CHARS = 2_000
BODY_CHARS = 1_000
BODY_TOKENS = 12
BULK_TEXTS = 64
"""From so many texts on, weighing all vectors at once (50 ms) pays for itself."""
TABLE_ROWS = 1_024

_PIP = 'pip install "wordllama>=0.4.0"'
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_DIM = 256
_SPACE = re.compile(r"\s")
_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class StaticEmbedder:
    """Deterministic and offline. Safe to share between threads.

    The first use loads the files and raises ModelError, with the line that installs them, where
    they are missing or damaged; a later call tries again.
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
        if len(documents) >= BULK_TEXTS:
            with self._lock:
                tokens.load_table()
        return normalise(tokens.pool(documents))

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


class _Tokens:
    """The vocabulary and its weighted vectors."""

    def __init__(self, vocab: Vocabulary, vectors: NDArray[np.float16]) -> None:
        self._vocab = vocab
        self._vectors = vectors
        self._continues = vocab.continuations()
        self._table: Floats | None = None
        self._encode_word = lru_cache(CACHED_WORDS)(vocab.encode_word)

    def load_table(self) -> None:
        """Weigh every vector of the vocabulary once (32 MB): pays off in a bulk load."""
        if self._table is None:
            table = np.empty(self._vectors.shape, np.float32)
            for start in range(0, len(table), TABLE_ROWS):
                rows = np.arange(start, min(start + TABLE_ROWS, len(table)))
                table[rows] = self._weigh(rows)
            self._table = table

    def pool(self, documents: Sequence[tuple[str, str]]) -> Floats:
        """The sum of each document's weighted tokens; a query touches few mapped pages."""
        table = self._table
        out = np.zeros((len(documents), self._vectors.shape[1]), np.float32)
        for row, (head, body) in zip(out, documents, strict=True):
            first = dict.fromkeys(self._encode(cut_text(head, HEAD_CHARS)))
            rest = dict.fromkeys(self._encode(cut_text(body, BODY_CHARS)))
            ids = [*first, *(token for token in rest if token not in first)]
            if ids:
                share = np.ones(len(ids), np.float32)
                extra = len(ids) - len(first)
                share[len(first) :] = BODY_TOKENS / max(BODY_TOKENS, extra)
                np.dot(share, self._weigh(ids) if table is None else table[ids], row)
        return out

    def _encode(self, text: str) -> Iterable[int]:
        """The tokens of a text, after names are taken apart."""
        if text.isascii():  # no seam lies at white space, so all words can be looked at in one go
            words = _SEAM.sub(" ", text.replace("_", " ")).lower().split()
        else:
            words = [
                part for word in _words_of(text) for part in _SEAM.sub(" ", word).lower().split()
            ]
        return chain.from_iterable(map(self._encode_word, words))

    def _weigh(self, ids: list[int] | Ints) -> Floats:
        rows = self._vectors[ids].astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        factor = np.minimum(1.0, NORM_CAP / np.maximum(lengths, 1e-9))
        factor *= np.where(self._continues[ids], CONTINUATION, 1.0)
        rows *= factor.astype(np.float32)[:, None]
        return rows


def cut_text(text: str, limit: int) -> str:
    """The first `limit` characters and the rest of their last word (`WORD_CHARS` at most)."""
    if len(text) <= limit:
        return text
    end = _SPACE.search(text, limit, limit + WORD_CHARS)
    return text[: end.start() if end else limit]


def _words_of(text: str) -> list[str]:
    return split_words(normalize("NFKC", text.replace("_", " ")))


def normalise(rows: Floats) -> Floats:
    """Scale every row to length 1, in place; zero rows stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    return rows


def _find_folder() -> Path:
    """Where wordllama is installed, without running it. Raises ModelError."""
    folder = find_package("wordllama", _TOKENIZER)
    if folder is None:
        why = f"the static embedder needs the package wordllama. Install it: {_PIP}"
        raise ModelError(why)
    return folder


def find_package(name: str, file: Path) -> Path | None:
    """The folder of an installed package that holds a file, without running the package."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    for place in (spec.submodule_search_locations if spec else None) or ():
        if Path(place, file).is_file():
            return Path(place)
    # another folder of that name may come first on the path: the installed files are still there
    from importlib import metadata  # 15 ms that are hardly ever needed

    try:
        return Path(str(metadata.distribution(name).locate_file(name)))
    except metadata.PackageNotFoundError:
        return None


def _map_tensor(path: Path, shape: tuple[int, int]) -> NDArray[np.float16]:
    """Map the one tensor of a safetensors file. Raises OSError or ValueError."""
    header, start = read_header(path)
    expected = {"dtype": "F16", "shape": list(shape), "data_offsets": [0, 2 * shape[0] * shape[1]]}
    if header.get("embedding.weight") != expected:
        why = f"{path.name} does not start with a tensor 'embedding.weight' of {expected}"
        raise ValueError(why)
    return np.asarray(np.memmap(path, "<f2", mode="r", offset=start, shape=shape))


def read_header(path: Path) -> tuple[dict[str, Any], int]:
    """The tensors that a safetensors file names, and where their numbers start.

    The format: the length of a JSON header in 8 bytes, little-endian, the header, then the numbers.
    Raises OSError or ValueError.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= 1 << 20:
            raise ValueError(f"{path.name} is not a safetensors file")
        header = json.loads(file.read(length))
    if not isinstance(header, dict):
        raise ValueError(f"{path.name} is not a safetensors file")
    return header, 8 + length
