"""The embedder that ships with us: static token vectors from the `wordllama` wheel, pooled with
care.

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
from itertools import chain
from operator import sub
from pathlib import Path
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from rlm.errors import ModelError
from rlm.retrieval.bpe import WORD_CHARS, Vocabulary, split_words
from rlm.retrieval.embed import BODY, HEAD, NEITHER
from rlm.retrieval.lexicon import Lexicon, Ragged, Reading

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

STATIC_MODEL = "wordllama-l2-256-pool2"
NORM_CAP = 13.5
CONTINUATION = 0.7
HEAD_CHARS = 2_000
BODY_CHARS = 1_000
BODY_TOKENS = 12
BULK_TEXTS = 64
"""From so many texts on, keeping the vectors of tokens that were met pays for itself."""
BATCH = 512
TABLE_ROWS = 1_024
_NOWHERE = -1

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
        self.kind = "static" if folder is None else None
        self._folder = folder
        self._lock = threading.Lock()
        self._tokens: _Tokens | None = None

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row per query, of length 1; all zero for a text without tokens."""
        return self.embed_documents([(text, "") for text in texts])

    def embed_documents(self, documents: Sequence[tuple[str, str]]) -> Floats:
        """One row per (head, body)."""
        tokens = self._tokens or self._load()
        cut = [(cut_text(head, HEAD_CHARS), cut_text(body, BODY_CHARS)) for head, body in documents]
        if len(cut) < BULK_TEXTS:
            return normalise(tokens.pool_few(cut))
        with self._lock:
            return normalise(tokens.pool_many(cut))

    def embed_reading(self, lexicon: Lexicon, reading: Reading, parts: Sequence[int]) -> Floats:
        """The same for what was read already. `parts` says of each text of a document what it is.

        The caller cuts: a head has at most `HEAD_CHARS` characters, and a body is what `cut_text`
        leaves.
        """
        tokens = self._tokens or self._load()
        with self._lock:
            return normalise(tokens.pool_reading(lexicon, reading, parts))

    def prepare(self) -> None:
        """Load the files now. Processes that fork later then share what was loaded."""
        if self._tokens is None:
            self._load()

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
        self._table = np.empty((0, vectors.shape[1]), np.float32)
        self._places = np.full(len(vectors), _NOWHERE, np.int64)
        self._placed = 0
        self._ragged = Ragged(self._encode_chunk)
        self._lexicon = Lexicon()

    def pool_few(self, documents: Sequence[tuple[str, str]]) -> Floats:
        """Straight from the mapped file, so that a query touches a few pages."""
        out = np.zeros((len(documents), self._vectors.shape[1]), np.float32)
        for row, (head, body) in zip(out, documents, strict=True):
            first = set(self._encode(head))
            rest = set(self._encode(body)) - first
            if first or rest:
                share = np.ones(len(first) + len(rest), np.float32)
                share[len(first) :] = BODY_TOKENS / max(BODY_TOKENS, len(rest))
                np.dot(share, self._weighted([*first, *rest]), row)
        return out

    def pool_many(self, documents: Sequence[tuple[str, str]]) -> Floats:
        """The same for a batch: one look-up a word in Python, the rest in numpy. One thread at a
        time."""
        self._lexicon.trim()
        return self.pool_reading(self._lexicon, self._lexicon.read(documents), (HEAD, BODY))

    def pool_reading(self, lexicon: Lexicon, reading: Reading, parts: Sequence[int]) -> Floats:
        """The same for what was read already; `parts` says of each text of a document what it is."""
        starts = range(0, reading.documents, BATCH)  # small enough for the processor's own memory
        made = [
            self._pool_part(lexicon, reading.part(start, start + BATCH), parts) for start in starts
        ]
        return np.concatenate(made) if made else np.zeros((0, self._vectors.shape[1]), np.float32)

    def _rows_of(self, tokens: Ints) -> Ints:
        """Where in the table the weighted vectors of these tokens are; one that is new is put
        there."""
        places = self._places[tokens]
        missing = tokens[places == _NOWHERE]
        if not len(missing):
            return places
        fresh = np.unique(missing)
        last = self._placed + len(fresh)
        if last > len(self._table):
            size = max(last, min(2 * len(self._table), len(self._places)))
            table = np.empty((size, self._table.shape[1]), np.float32)
            table[: self._placed] = self._table[: self._placed]
            self._table = table
        for start in range(
            0, len(fresh), TABLE_ROWS
        ):  # parts stay near the processor from one step to the next
            part = fresh[start : start + TABLE_ROWS]
            self._table[self._placed + start : self._placed + start + len(part)] = self._weighted(
                part
            )
        first, self._placed = self._placed, last  # before the places: Ctrl-C may strike between
        self._places[fresh] = np.arange(first, last)
        return self._places[tokens]

    def _pool_part(self, lexicon: Lexicon, reading: Reading, parts: Sequence[int]) -> Floats:
        documents = reading.texts // reading.width
        kind = np.array(parts, np.int64)[reading.texts - documents * reading.width]
        used = np.flatnonzero(kind != NEITHER)
        token, position = self._ragged.spread(lexicon, reading.chunks[used])
        at = used[position]
        keys = (documents[at] << 21) | (token << 1) | kind[at]
        keys = np.sort(keys.astype(np.int32))  # `BATCH` documents need 30 bits
        keys = (
            keys[np.concatenate(([True], (keys[1:] >> 1) != (keys[:-1] >> 1)))]
            if len(keys)
            else keys
        )
        owner, token, body = (
            keys >> 21,
            ((keys >> 1) & 0xFFFFF).astype(np.int64),
            (keys & 1).astype(np.bool_),
        )
        in_body = np.bincount(owner[body], minlength=reading.documents)
        share = np.where(body, BODY_TOKENS / np.maximum(BODY_TOKENS, in_body[owner]), 1.0).astype(
            np.float32
        )
        bounds = np.searchsorted(owner, np.arange(reading.documents + 1)).tolist()
        rows_of = self._rows_of(token)
        table = self._table
        out = np.zeros((reading.documents, self._vectors.shape[1]), np.float32)
        chosen = np.empty((max(map(sub, bounds[1:], bounds), default=0), out.shape[1]), np.float32)
        for row, first, last in zip(out, bounds, bounds[1:], strict=False):
            if last > first:
                rows = chosen[: last - first]
                table.take(
                    rows_of[first:last], 0, rows, "clip"
                )  # every row is in range: the check is what costs
                np.dot(share[first:last], rows, row)
        return out

    def _encode_chunk(self, chunk: str) -> Iterable[int]:
        """The tokens of what holds no white space: the same as `_encode`, with less to look for."""
        if chunk.isascii() and "_" not in chunk and (low := chunk.lower())[1:] == chunk[1:]:
            return self._vocab.encode_word(low)
        return self._encode(chunk)

    def _encode(self, text: str) -> Iterable[int]:
        """The tokens of a text, after names are taken apart."""
        if text.isascii():  # no seam lies at white space, so all words can be looked at in one go
            words = _SEAM.sub(" ", text.replace("_", " ")).lower().split()
        else:
            words = [part for word in _split(text) for part in _SEAM.sub(" ", word).lower().split()]
        return chain.from_iterable(map(self._vocab.encode_word, words))

    def _weighted(self, ids: list[int] | Ints) -> Floats:
        rows = self._vectors[ids].astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        factor = np.minimum(1.0, NORM_CAP / np.maximum(lengths, 1e-9))
        factor *= np.where(self._continues[ids], CONTINUATION, 1.0)
        rows *= factor.astype(np.float32)[:, None]
        return rows


def cut_text(text: str, limit: int) -> str:
    """The first `limit` characters and the rest of their last word; a word of more than
    `WORD_CHARS` is cut too."""
    if len(text) <= limit:
        return text
    end = _SPACE.search(text, limit, limit + WORD_CHARS)
    return text[: end.start() if end else limit]


def _split(text: str) -> list[str]:
    return split_words(normalize("NFKC", text.replace("_", " ")))


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
        raise ModelError(
            f"the static embedder needs the package wordllama. Install it: {_PIP}"
        ) from exc


def _map_tensor(path: Path, shape: tuple[int, int]) -> NDArray[np.float16]:
    """Map the one tensor of a safetensors file. Raises OSError or ValueError, also for another
    shape.

    The format: the length of a JSON header in 8 bytes, little-endian, the header, then the numbers.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= 1 << 20:
            raise ValueError(f"{path.name} is not a safetensors file")
        header = json.loads(file.read(length))
    expected = {"dtype": "F16", "shape": list(shape), "data_offsets": [0, 2 * shape[0] * shape[1]]}
    if not isinstance(header, dict) or header.get("embedding.weight") != expected:
        raise ValueError(
            f"{path.name} does not start with a tensor 'embedding.weight' of {expected}"
        )
    return np.asarray(np.memmap(path, "<f2", mode="r", offset=8 + length, shape=shape))
