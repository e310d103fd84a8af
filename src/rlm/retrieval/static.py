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
from array import array
from collections.abc import Iterator, Sequence
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
BATCH = 512
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
        cut = [(head[:HEAD_CHARS], body[:BODY_CHARS]) for head, body in documents]
        if len(cut) < BULK_TEXTS:
            return normalise(tokens.pool_few(cut))
        with self._lock:
            parts = [tokens.pool_many(cut[start : start + BATCH]) for start in range(0, len(cut), BATCH)]
        return normalise(np.concatenate(parts))

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


class _Words(dict[str, int]):
    """A word as it stands in a text -> its place in `starts`; its tokens are `flat[starts[n]:starts[n + 1]]`."""

    def __init__(self, vocab: Vocabulary) -> None:
        super().__init__()
        self._vocab = vocab
        self.forget()

    def forget(self) -> None:
        self.clear()
        self.starts = array("q", [0])
        self.flat = array("q")

    def __missing__(self, word: str) -> int:
        place = self[word] = len(self.starts) - 1
        self.flat.extend(self.encode(word))
        self.starts.append(len(self.flat))
        return place

    def encode(self, word: str) -> Iterator[int]:
        """The tokens of a word, after names are taken apart."""
        return chain.from_iterable(map(self._vocab.encode_word, _SEAM.sub(" ", word).lower().split()))


class _Tokens:
    """The vocabulary and its weighted vectors."""

    def __init__(self, vocab: Vocabulary, vectors: NDArray[np.float16]) -> None:
        self._vectors = vectors
        self._words = _Words(vocab)
        self._continues = vocab.continuations()
        self._table: Floats | None = None

    def pool_few(self, documents: Sequence[tuple[str, str]]) -> Floats:
        """Straight from the mapped file, so that a query touches a few pages."""
        out = np.zeros((len(documents), self._vectors.shape[1]), np.float32)
        for row, (head, body) in zip(out, documents, strict=True):
            first = {token for word in _split(head) for token in self._words.encode(word)}
            rest = {token for word in _split(body) for token in self._words.encode(word)} - first
            if first or rest:
                share = np.ones(len(first) + len(rest), np.float32)
                share[len(first) :] = BODY_TOKENS / max(BODY_TOKENS, len(rest))
                np.dot(share, self._weighted([*first, *rest]), row)
        return out

    def pool_many(self, documents: Sequence[tuple[str, str]]) -> Floats:
        """The same for a batch: one look-up a word in Python, the rest in numpy. One thread at a time."""
        if len(self._words) > CACHED_WORDS:
            self._words.forget()
        found: list[int] = []
        ends: list[int] = []
        for document in documents:
            for text in document:
                found.extend(map(self._words.__getitem__, _split(text)))
                ends.append(len(found))
        owner, token, share = self._distinct(np.array(found, np.int64), np.array(ends, np.int64))
        bounds = np.searchsorted(owner, np.arange(len(documents) + 1)).tolist()
        if self._table is None:
            self._table = self._weighted(slice(None))
        out = np.zeros((len(documents), self._vectors.shape[1]), np.float32)
        for place, row in enumerate(out):
            first, last = bounds[place], bounds[place + 1]
            if last > first:
                np.dot(share[first:last], self._table.take(token[first:last], 0), row)
        return out

    def _distinct(
        self, words: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        """(document, token, share) of each distinct token, by document; a head's token counts as the head's."""
        starts = np.array(self._words.starts, np.int64)
        counts = (starts[1:] - starts[:-1])[words]
        text = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))  # twice a document, plus one for a body
        text = np.repeat(text, counts)
        within = np.arange(len(text)) - np.repeat(np.cumsum(counts) - counts, counts)
        token = np.array(self._words.flat, np.int64)[np.repeat(starts[words], counts) + within]
        keys = np.sort(((text >> 1) << 21) | (token << 1) | (text & 1))
        keys = keys[np.concatenate(([True], (keys[1:] >> 1) != (keys[:-1] >> 1)))] if len(keys) else keys
        owner, token, body = keys >> 21, (keys >> 1) & 0xFFFFF, (keys & 1).astype(np.bool_)
        in_body = np.bincount(owner[body], minlength=len(ends) // 2)
        share = np.where(body, BODY_TOKENS / np.maximum(BODY_TOKENS, in_body[owner]), 1.0)
        return owner, token, share.astype(np.float32)

    def _weighted(self, ids: list[int] | slice) -> Floats:
        rows = np.asarray(self._vectors[ids], dtype=np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        factor = np.minimum(1.0, NORM_CAP / np.maximum(lengths, 1e-9))
        factor *= np.where(self._continues[ids], CONTINUATION, 1.0)
        weighted: Floats = rows * factor.astype(np.float32)[:, None]
        return weighted


def _split(text: str) -> list[str]:
    plain = text.replace("_", " ")
    return plain.split() if plain.isascii() else split_words(normalize("NFKC", plain))


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
    from importlib import metadata  # 15 ms that are hardly ever needed

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
