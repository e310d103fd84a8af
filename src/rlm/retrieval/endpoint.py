"""Any OpenAI-compatible embedding endpoint, spoken to over plain HTTP."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
from numpy.typing import NDArray

from rlm import clock
from rlm.errors import ConfigError, ModelError
from rlm.retrieval.static import normalise

Floats = NDArray[np.float32]

MAX_CHARS = 8_000
TRIES = 3
MAX_WAIT_S = 10.0


class EndpointEmbedder:
    """Any server with OpenAI's `POST {url}/embeddings`. Safe to share between threads.

    429, 5xx and broken connections are tried three times; an answer that takes longer than
    `timeout_s` is not waited for again. Blank texts are not sent: they get zero rows. The key is
    sent as a bearer token and appears in no message.
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
        return normalise(out)

    def embed_documents(self, documents: Sequence[tuple[str, str]]) -> Floats:
        """One row per (head, body), sent as one text."""
        return self.embed([f"{head}\n{body}".strip() for head, body in documents])

    def _client(self) -> httpx.Client:
        with self._lock:
            if self._http is None:
                headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
                self._http = httpx.Client(headers=headers, timeout=self._timeout_s)
                weakref.finalize(self, self._http.close)
            return self._http

    def _post(self, texts: list[str]) -> Any:
        """The parsed body of a good answer."""
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
                    if attempt == TRIES or not (
                        reply.status_code == 429 or reply.status_code >= 500
                    ):
                        raise self._error(
                            f"answered {reply.status_code}: {self._hide(reply.text)[:200]!r}"
                        )
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
            raise self._error(
                f"answered something that is not a list of embeddings: {exc!r}"
            ) from exc
        if indexes != list(range(count)):
            raise self._error(
                f"sent {len(indexes)} vectors for {count} texts, or numbered them wrongly"
            )
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
            f"the embedding endpoint {self._shown} (model {self.model!r}) {self._hide(problem)}."
            " Check RLM_EMBED_URL, RLM_EMBED_MODEL and RLM_EMBED_KEY, or do without:"
            " RLM_EMBEDDER=static"
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
    raise ConfigError(
        "RLM_EMBED_URL is not a URL: write it as http://host:port/v1 or https://host/v1"
    )


def _retry_after(header: str | None, otherwise_s: float) -> float:
    """The seconds that a Retry-After header asks for, as a number or as a date; 0 to `MAX_WAIT_S`."""
    try:
        seconds = float(header or "")
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(header or "") - clock.now()).total_seconds()
        except (TypeError, ValueError):  # a date without a zone is naive: TypeError
            return otherwise_s
    return min(max(0.0, seconds), MAX_WAIT_S) if seconds == seconds else otherwise_s
