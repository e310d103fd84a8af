"""Texts to vectors: the static embedder that ships with us, and any OpenAI-compatible endpoint.

A vector belongs to the `model` that made it, and two models are never compared. Whatever changes the
vectors of `StaticEmbedder`, its token weights or `COMMON`, therefore needs a new `STATIC_MODEL`, so
that stores re-embed. Rows have length 1, or are all zero for a text in which there is nothing to embed.
Texts are cut at `MAX_CHARS`.

The static model is two files of the `wordllama` wheel, read directly: importing that package costs
410 ms, more than a whole search may take. Loading is lazy, and the weights stay mapped on disk, so a
single query touches a few pages of them. Bulk embedding sums tokens once per distinct word.
"""

from __future__ import annotations

import importlib.util
import json
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from rlm import clock
from rlm.errors import ConfigError, ModelError
from rlm.retrieval.bpe import Vocabulary, split_words

if TYPE_CHECKING:
    import httpx

Floats = NDArray[np.float32]

STATIC_MODEL = "wordllama-l2-256"
MAX_CHARS = 2000
COMMON: Floats | None = None  # subtracted from every pooled vector
BULK_TEXTS = 64  # from here on the word cache pays for itself
CACHED_WORDS = 200_000  # 1 KB each
TRIES = 3
MAX_WAIT_S = 10.0

_PIP = 'pip install "wordllama>=0.4.0"'
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_DIM = 256


class Embedder(Protocol):
    """What search needs of a model. `dim` is 0 while an endpoint has not answered yet."""

    model: str
    dim: int

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row per text, in order. Raises ModelError."""
        ...


def pick_embedder(kind: str, *, url: str = "", model: str = "", key: str = "") -> Embedder | None:
    """The embedder that the settings name; None for `none`. Loads nothing and calls nothing yet."""
    if kind == "none":
        return None
    if kind == "static":
        return StaticEmbedder()
    if kind != "endpoint":
        raise ConfigError(f"unknown embedder {kind!r}: choose static, endpoint or none (RLM_EMBEDDER)")
    for value, name in ((url, "RLM_EMBED_URL"), (model, "RLM_EMBED_MODEL")):
        if not value:
            raise ConfigError(f"the embedder 'endpoint' needs {name}: set it, or use RLM_EMBEDDER=static")
    return EndpointEmbedder(url, model, key=key or None)


def token_weights(vocab: Vocabulary) -> Floats:
    """How much each token counts in the mean of its text, by token id."""
    return np.ones(len(vocab), np.float32)


class StaticEmbedder:
    """The mean of the word pieces' vectors. Safe to share between threads.

    The first `embed` loads the files and raises ModelError, with the line that installs them, where
    they are missing or damaged; a later call tries again.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        weights: Callable[[Vocabulary], Floats] = token_weights,
        common: Floats | None = COMMON,
        cached_words: int = CACHED_WORDS,
    ) -> None:
        self.model = STATIC_MODEL
        self.dim = _DIM
        self._folder = folder
        self._weigh = weights
        self._common = common
        self._cached_words = cached_words
        self._lock = threading.Lock()
        self._words: _WordSums | None = None

    def embed(self, texts: Sequence[str]) -> Floats:
        words = self._words or self._load()
        sums = np.zeros((len(texts), self.dim), np.float32)
        mass = np.zeros(len(texts), np.float32)
        if len(texts) < BULK_TEXTS:
            for place, text in enumerate(texts):
                sums[place], mass[place] = words.sum_tokens(text[:MAX_CHARS])
        else:
            with self._lock:
                for start in range(0, len(texts), BULK_TEXTS):
                    part = slice(start, start + BULK_TEXTS)
                    words.sum_words([text[:MAX_CHARS] for text in texts[part]], sums[part], mass[part])
        some = mass > 0
        np.divide(sums, mass[:, None], out=sums, where=some[:, None])
        if self._common is not None:
            np.subtract(sums, self._common, out=sums, where=some[:, None])
        return _normalise(sums)

    def _load(self) -> _WordSums:
        with self._lock:
            if self._words is None:
                folder = self._folder or _find_folder()
                try:
                    vocab = Vocabulary.load(folder / _TOKENIZER)
                    vectors = _map_tensor(folder / _WEIGHTS, (len(vocab), self.dim))
                except (OSError, ValueError) as exc:
                    raise ModelError(
                        f"the embedding model in {folder} cannot be read: {exc}. "
                        f"Install it again: {_PIP} --force-reinstall --no-deps"
                    ) from exc
                self._words = _WordSums(vocab, vectors, self._weigh(vocab), self._cached_words)
            return self._words


class _Rows(dict[str, int]):
    """Word to row number. A word asked for the first time gets the next row and waits in `fresh`."""

    def __init__(self) -> None:
        super().__init__()
        self.fresh: list[str] = []

    def __missing__(self, word: str) -> int:
        row = self[word] = len(self)
        self.fresh.append(word)
        return row


class _WordSums:
    """Weighted sums of token vectors: per text straight from the file, or per word from a cache."""

    def __init__(
        self, vocab: Vocabulary, vectors: NDArray[np.float16], weights: Floats, cached_words: int
    ) -> None:
        self._vocab = vocab
        self._vectors = vectors
        self._weights = weights
        self._cached_words = cached_words
        self._forget()

    def _forget(self) -> None:
        self._rows = _Rows()
        self._sums = np.empty((4096, self._vectors.shape[1]), np.float32)
        self._mass = np.empty(4096, np.float32)

    def sum_tokens(self, text: str) -> tuple[Floats | float, float]:
        """The weighted sum over the tokens of one text, and the sum of their weights."""
        ids = list(chain.from_iterable(map(self._vocab.encode_word, split_words(text))))
        if not ids:
            return 0.0, 0.0
        weights = self._weights[ids]
        return (self._vectors[ids] * weights[:, None]).sum(axis=0), float(weights.sum())

    def sum_words(self, texts: Sequence[str], sums: Floats, mass: Floats) -> None:
        """The same for many texts, written to `sums` and `mass`. One thread at a time."""
        if len(self._rows) > self._cached_words:
            self._forget()
        try:
            found = [list(map(self._rows.__getitem__, split_words(text))) for text in texts]
            self._fill()
        except BaseException:  # a Ctrl-C inside __missing__ would leave a row that nobody fills
            self._forget()
            raise
        counts = [len(rows) for rows in found]
        flat = np.fromiter(chain.from_iterable(found), np.intp, sum(counts))
        owners = np.repeat(np.arange(len(texts)), counts)
        mass[:] = np.bincount(owners, self._mass[flat], len(texts))
        end = 0
        for place, count in enumerate(counts):  # three times as fast here as one np.add.reduceat
            start, end = end, end + count
            np.add.reduce(self._sums.take(flat[start:end], axis=0), axis=0, out=sums[place])

    def _fill(self) -> None:
        """Compute the rows of the words that are new."""
        fresh = self._rows.fresh
        if not fresh:
            return
        self._grow(len(self._rows))
        tokens = [self._vocab.encode_word(word) for word in fresh]
        ids = np.fromiter(chain.from_iterable(tokens), np.intp)
        starts = np.cumsum([0, *map(len, tokens[:-1])])
        new = slice(len(self._rows) - len(fresh), len(self._rows))
        weights = self._weights[ids]
        np.add.reduceat(self._vectors[ids] * weights[:, None], starts, axis=0, out=self._sums[new])
        np.add.reduceat(weights, starts, out=self._mass[new])
        fresh.clear()

    def _grow(self, rows: int) -> None:
        held = len(self._sums)
        if rows > held:
            room = max(rows, 2 * held)
            sums, mass = np.empty((room, self._sums.shape[1]), np.float32), np.empty(room, np.float32)
            sums[:held], mass[:held] = self._sums, self._mass
            self._sums, self._mass = sums, mass


class EndpointEmbedder:
    """Any server with OpenAI's `POST {url}/embeddings`. Safe to share between threads.

    429, 5xx and broken connections are tried three times; an answer that takes longer than
    `timeout_s` is not waited for again. Blank texts are not sent: they get zero rows. The key is sent
    as a bearer token and appears in no message.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str | None = None,
        timeout_s: float = 30.0,
        batch: int = 128,
        backoff_s: float = 0.5,
    ) -> None:
        """Raises ConfigError for a URL or key that cannot be sent."""
        self.model = model
        self.dim = 0
        self._shown = _shown_url(url)
        self._url = url.rstrip("/") + "/embeddings"
        # h11 prints an illegal header in full, so a key that makes one must not reach it
        if key and not (key.isascii() and key.isprintable() and " " not in key):
            raise ConfigError("RLM_EMBED_KEY holds characters that no key has: copy it again")
        self._key = key
        self._timeout_s, self._batch, self._backoff_s = timeout_s, batch, backoff_s
        self._lock = threading.Lock()
        self._http: httpx.Client | None = None

    def embed(self, texts: Sequence[str]) -> Floats:
        ready = [text[:MAX_CHARS].encode("utf-8", "replace").decode() for text in texts]
        sent = [place for place, text in enumerate(ready) if text.strip()]
        parts = []
        for start in range(0, len(sent), self._batch):
            part = [ready[place] for place in sent[start : start + self._batch]]
            parts.append(self._read(self._post(part), len(part)))
        out = np.zeros((len(texts), self.dim), np.float32)
        if parts:
            out[sent] = np.concatenate(parts)
        return _normalise(out)

    def _client(self) -> httpx.Client:
        import httpx  # 70 ms that a search with the static embedder must not pay

        with self._lock:
            if self._http is None:
                headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
                self._http = httpx.Client(headers=headers, timeout=self._timeout_s)
                weakref.finalize(self, self._http.close)
            return self._http

    def _post(self, texts: list[str]) -> Any:
        """The parsed body of a good answer."""
        import httpx

        try:
            client, body = self._client(), {"model": self.model, "input": texts}
            for attempt in range(1, TRIES + 1):
                wait_s = self._backoff_s * 2 ** (attempt - 1)
                try:
                    reply = client.post(self._url, json=body)
                except httpx.TimeoutException as exc:
                    raise self._error(f"did not answer within {self._timeout_s:g} s") from exc
                except httpx.TransportError as exc:
                    if attempt == TRIES:
                        raise self._error(f"cannot be reached: {exc}") from exc
                else:
                    if reply.is_success:
                        return reply.json()
                    if attempt == TRIES or not (reply.status_code == 429 or reply.status_code >= 500):
                        raise self._error(f"answered {reply.status_code}: {self._hide(reply.text)[:200]!r}")
                    wait_s = _retry_after(reply.headers.get("retry-after"), wait_s)
                time.sleep(wait_s)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, RecursionError) as exc:
            raise self._error(f"gave no usable answer: {exc}") from exc
        raise AssertionError("the last try returns or raises")

    def _read(self, body: Any, count: int) -> Floats:
        """The vectors of an answer in the order of the request. Learns `dim` from the first one."""
        try:
            ordered = sorted(body["data"], key=lambda item: item["index"])
            indexes = [item["index"] for item in ordered]
            raw = np.array([item["embedding"] for item in ordered])
        except (LookupError, TypeError, ValueError) as exc:
            raise self._error(f"answered something that is not a list of embeddings: {exc!r}") from exc
        if indexes != list(range(count)):
            raise self._error(f"sent {len(indexes)} vectors for {count} texts, or numbered them wrongly")
        if raw.ndim != 2 or raw.dtype.kind not in "fi" or raw.shape[1] == 0:
            raise self._error("sent embeddings that are not lists of numbers of one length")
        with np.errstate(over="ignore"):
            vectors = raw.astype(np.float32)
        if not np.isfinite(vectors).all():
            raise self._error("sent a vector with NaN or infinity in it")
        with self._lock:
            self.dim = self.dim or vectors.shape[1]
        if vectors.shape[1] != self.dim:
            raise self._error(f"sent {vectors.shape[1]} dimensions after {self.dim}")
        return vectors

    def _error(self, problem: str) -> ModelError:
        return ModelError(
            f"the embedding endpoint {self._shown} (model {self.model!r}) {self._hide(problem)}. "
            "Check RLM_EMBED_URL, RLM_EMBED_MODEL and RLM_EMBED_KEY, or do without: RLM_EMBEDDER=static"
        )

    def _hide(self, text: str) -> str:
        """Some servers repeat the key that they refuse."""
        return text.replace(self._key, "***") if self._key else text


def _shown_url(url: str) -> str:
    """The URL for messages, without a user name or password that may be in it."""
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname:
            port = f":{parts.port}" if parts.port else ""
            return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
    except ValueError:
        pass
    raise ConfigError("RLM_EMBED_URL is not a URL: write it as http://host:port/v1 or https://host/v1")


def _retry_after(header: str | None, otherwise_s: float) -> float:
    """The seconds that a Retry-After header asks for, as a number or as a date; 0 to `MAX_WAIT_S`."""
    from email.utils import parsedate_to_datetime  # only when a server is busy

    try:
        seconds = float(header or "")
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(header or "") - clock.now()).total_seconds()
        except (TypeError, ValueError):  # a date without a zone is naive: TypeError
            return otherwise_s
    return min(max(0.0, seconds), MAX_WAIT_S) if seconds == seconds else otherwise_s


def _normalise(rows: Floats) -> Floats:
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
    from importlib import metadata

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
