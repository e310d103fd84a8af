"""Any OpenAI-compatible embedding endpoint."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from rlm.errors import ModelError
from rlm.http import Connections, ExchangeFailed, Request, Retry, retry_after_s
from rlm.retrieval.static import normalise
from rlm.urls import checked_key, hide, parse_url

Floats = NDArray[np.float32]

MAX_CHARS = 8_000
MAX_REPLY_BYTES = 64 << 20


class EndpointEmbedder:
    """Any server with OpenAI's `POST {url}/embeddings`. Safe to share between threads.

    429, 5xx and broken connections are tried three times; `timeout_s` bounds one batch of texts,
    retries included. Blank texts are not sent: they get zero rows. The key is sent as a bearer
    token and appears in no message.
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
        secret = checked_key(key, "RLM_EMBED_KEY")
        bare, authorization, password = _without_user(url)
        example = "http://host:port/v1 or https://host/v1"
        base = parse_url(bare.rstrip("/"), what="RLM_EMBED_URL", example=example)
        self._shown = base.url
        self._address = parse_url(f"{base.url.rstrip('/')}/embeddings")
        self._headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if authorization or secret:
            self._headers["Authorization"] = authorization or f"Bearer {secret}"
        self._secrets = (secret, password, authorization.removeprefix("Basic "))
        self._timeout_s, self._batch = timeout_s, batch
        self._retry = Retry(tries=3, first_s=backoff_s, max_wait_s=10.0)
        self._lock = threading.Lock()
        self._connections = Connections(max_bytes=MAX_REPLY_BYTES)

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

    def _post(self, texts: list[str]) -> Any:
        """The parsed body of a good answer."""
        body = json.dumps({"model": self.model, "input": texts}).encode()
        request = Request("POST", self._address, self._headers, body)
        deadline = self._retry.deadline(self._timeout_s)

        def attempt() -> bytes:
            response = self._connections.send(request, deadline)
            if response.is_good:
                return response.body
            said = hide(response.body.decode("utf-8", "replace"), *self._secrets)[:200]
            passing = response.status == 429 or response.status >= 500
            raise ExchangeFailed(
                f"answered {response.status}: {said!r}",
                passing=passing,
                retry_after_s=retry_after_s(response.headers),
            )

        try:
            return json.loads(self._retry.run(attempt, deadline))
        except ExchangeFailed as exc:
            raise self._error(exc.problem) from exc.__cause__
        except (ValueError, RecursionError) as exc:
            raise self._error(f"gave no usable answer: {exc}") from exc

    def _read(self, body: Any, count: int) -> Floats:
        """The vectors of an answer in the order of the request. Learns `dim` from the first one."""
        try:
            ordered = sorted(body["data"], key=lambda item: item["index"])
            indexes = [item["index"] for item in ordered]
            raw = np.array([item["embedding"] for item in ordered])
        except (LookupError, TypeError, ValueError) as exc:
            why = f"answered something that is not a list of embeddings: {exc!r}"
            raise self._error(why) from exc
        if indexes != list(range(count)):
            why = f"sent {len(indexes)} vectors for {count} texts, or numbered them wrongly"
            raise self._error(why)
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
            f"the embedding endpoint {self._shown} (model {self.model!r})"
            f" {hide(problem, *self._secrets)}."
            " Check RLM_EMBED_URL, RLM_EMBED_MODEL and RLM_EMBED_KEY, or do without:"
            " RLM_EMBEDDER=static"
        )


def _without_user(url: str) -> tuple[str, str, str]:
    """The URL without a user name and password, the header they stand for, and the password."""
    scheme, _, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    user, at, host = place.rpartition("@")
    if not at:
        return url, "", ""
    name, _, password = (unquote(part) for part in user.partition(":"))
    packed = base64.b64encode(f"{name}:{password}".encode()).decode()
    return f"{scheme}://{host}{slash}{path}", f"Basic {packed}", password
