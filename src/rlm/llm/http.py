"""One model server over HTTP: a JSON body goes out, a JSON object comes back, or one of our errors.

A call has a deadline that covers everything: connecting, sending, waiting, a body that drips in
byte by byte, and all retries. httpx bounds only each single read, so a timer shuts the socket down
when the time is over (`rlm.llm.line`).

Redirects are not followed, so the key goes to the server that was named and to no other. No
message, repr or log of ours holds a key, and one that the server repeats is blotted out.
"""

from __future__ import annotations

import json
import logging
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rlm.errors import (
    ConfigError,
    ModelAuthError,
    ModelBadReply,
    ModelError,
    ModelRateLimited,
    ModelUnavailable,
)
from rlm.llm import faults
from rlm.llm.faults import Fault
from rlm.llm.line import Line, hang_up, tls_for
from rlm.llm.retry import Deadline, Retry

if TYPE_CHECKING:
    import ssl

log = logging.getLogger("rlm.llm")

CONNECT_S = 10.0
TIMEOUT_S = 120.0
MAX_REPLY_BYTES = 16 << 20
MAX_DETAIL_CHARS = 300
KEPT_LINES = 16

Mend = Callable[[int, str], bool]
"""Told the status and the words of a refusal; True when the caller can ask in another way."""


class Server:
    """A server at `base_url`. Safe to share between threads; `key_name` is the variable that holds
    the key."""

    def __init__(
        self,
        base_url: str,
        *,
        model: str,
        headers: Mapping[str, str] | None = None,
        key: str = "",
        key_name: str = "RLM_API_KEY",
        retry: Retry | None = None,
        max_reply_bytes: int = MAX_REPLY_BYTES,
    ) -> None:
        """`headers` may hold the key. Raises ConfigError for an address that cannot be used."""
        self.url = checked_url(base_url)
        self.retry = retry or Retry()
        self._model, self._key, self._key_name = model, key, key_name
        self._headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            **(headers or {}),
        }
        self._max_bytes = max_reply_bytes
        self._lock = threading.Lock()
        self._free: list[Line] = []
        weakref.finalize(self, hang_up, self._free)
        self._tls: ssl.SSLContext | None = None
        self._closed = False

    def post(
        self, path: str, body: Mapping[str, Any], *, deadline: Deadline, mend: Mend | None = None
    ) -> Any:
        """The parsed object of a good answer; None when the server refused and `mend` said True.

        Raises ModelError or one of its children. What may pass is tried again within the deadline.
        """
        # A lone surrogate cannot be sent: it becomes a question mark.
        raw = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        attempt = 0
        while True:
            attempt += 1
            found, cause = self._attempt(self.url + path, raw, deadline)
            if not isinstance(found, Fault):
                return found
            refused = found.status in (400, 422) or found.status >= 500
            if refused and mend is not None and mend(found.status, found.detail):
                return None
            wait_s = self.retry.wait_s(attempt, found.retry_after_s)
            too_late = max(wait_s, found.retry_after_s or 0.0) >= deadline.left_s()
            if not found.retry or attempt >= self.retry.tries or too_late:
                raise self.error(found, attempt) from cause
            log.info(
                "%s: try %d of %d failed, again in %.1f s",
                self.url,
                attempt,
                self.retry.tries,
                wait_s,
            )
            self.retry.sleep(wait_s)

    def error(self, fault: Fault, attempts: int = 1) -> ModelError:
        """The error to raise for a fault, with the server and the model named and the key hidden."""
        end = "" if fault.problem.endswith((".", "?", "!")) else "."
        after = f" Tried {attempts} times." if attempts > 1 else ""
        advice = f" Check {self._key_name}." if fault.kind is ModelAuthError else ""
        text = self._hide(
            f"the model server {self.url} (model {self._model!r})"
            f" {fault.problem}{end}{after}{advice}"
        )
        if fault.kind is ModelRateLimited:
            return ModelRateLimited(text, retry_after_s=fault.retry_after_s)
        return fault.kind(text)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            hang_up(self._free)

    def __repr__(self) -> str:
        return f"Server({self.url!r})"

    def _attempt(self, url: str, raw: bytes, deadline: Deadline) -> tuple[Any, Exception | None]:
        """The parsed answer or the fault, and the exception behind it."""
        import httpx

        late = Fault(
            ModelUnavailable,
            f"did not answer within {deadline.seconds:g} s (see RLM_MODEL_TIMEOUT_S)",
        )
        line, left_s = self._take(), deadline.left_s()
        if left_s <= 0:
            self._give_back(line, whole=True)
            return late, None
        whole = False
        try:
            with line.until(left_s):
                status, headers, body = self._exchange(line, url, raw, left_s)
            whole = True
        except (
            httpx.HTTPError,
            httpx.StreamError,
            httpx.InvalidURL,
            OSError,
            ValueError,
            RuntimeError,
        ) as exc:
            if isinstance(exc, httpx.RequestError):  # its own request holds the key in a header
                exc.request = httpx.Request("POST", self.url)
            over = (
                line.cut
                or isinstance(exc, httpx.ReadTimeout | httpx.WriteTimeout)
                or deadline.left_s() <= 0
            )
            return (late if over else faults.of_exception(exc)), exc
        finally:
            self._give_back(line, whole=whole)
        if body is None:
            return Fault(ModelBadReply, f"answered more than {self._max_bytes:,} bytes"), None
        return self._read(status, headers, body)

    def _exchange(
        self, line: Line, url: str, raw: bytes, left_s: float
    ) -> tuple[int, Mapping[str, str], bytes | None]:
        """Status, headers and body; the body is None when it is too long."""
        import httpx

        timeout = httpx.Timeout(left_s, connect=min(CONNECT_S, left_s))
        sent = {"Content-Type": "application/json"}
        with line.http.stream(
            "POST",
            url,
            content=raw,
            headers=sent,
            timeout=timeout,
            extensions={"trace": line.trace},
        ) as response:
            parts, size = [], 0
            for part in response.iter_raw():
                size += len(part)
                if size > self._max_bytes:
                    return response.status_code, response.headers, None
                parts.append(part)
        return response.status_code, response.headers, b"".join(parts)

    def _read(
        self, status: int, headers: Mapping[str, str], body: bytes
    ) -> tuple[Any, Exception | None]:
        """What a whole answer means: the object in it, or the fault."""
        if headers.get("content-encoding", "identity").lower() not in ("identity", ""):
            return (
                Fault(
                    ModelBadReply,
                    f"answered in {headers['content-encoding']!r}, which was not asked for",
                ),
                None,
            )
        html = faults.looks_like_html(headers, body)
        if not 200 <= status < 300:
            detail = "a web page" if html else self._shown(faults.said_by(body))
            fault = faults.of_status(status, headers, detail)
            if html and fault.kind is ModelError:
                fault = Fault(
                    ModelUnavailable, f"{fault.problem}. Something else answers at this address"
                )
            return fault, None
        if html:
            return (
                Fault(
                    ModelUnavailable, "answered a web page: is the base URL right, with its /v1?"
                ),
                None,
            )
        try:
            found = json.loads(body.decode("utf-8"))
        except UnicodeDecodeError as exc:
            return (
                Fault(
                    ModelBadReply,
                    f"answered bytes that are not UTF-8 ({exc.reason} at byte {exc.start})",
                ),
                exc,
            )
        except (ValueError, RecursionError) as exc:
            said = self._shown(body.decode("utf-8", "replace")) or "nothing"
            return (
                Fault(ModelBadReply, f"answered what is not JSON ({type(exc).__name__}): {said}"),
                exc,
            )
        if not isinstance(found, dict):
            return (
                Fault(ModelBadReply, f"answered a JSON {type(found).__name__}, not an object"),
                None,
            )
        if found.get("error"):
            detail = self._shown(faults.message_in(found["error"]))
            return faults.of_error_object(found["error"], headers, detail), None
        return found, None

    def _shown(self, text: str) -> str:
        """A server's words for a message: the key hidden first, then one line, then cut."""
        line = " ".join(self._hide(text).split())
        return line if len(line) <= MAX_DETAIL_CHARS else line[: MAX_DETAIL_CHARS - 1] + "…"

    def _hide(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text

    def _take(self) -> Line:
        with self._lock:
            if self._closed:
                raise ModelError(f"the client of {self.url} is closed: open a new one")
            if self._free:
                return self._free.pop()
            if self._tls is None:
                self._tls = tls_for(self.url)
        return Line(self._headers, self._tls)

    def _give_back(self, line: Line, *, whole: bool) -> None:
        """Keep the connection for the next call if nothing is left in it."""
        with self._lock:
            kept = whole and not line.cut and not self._closed and len(self._free) < KEPT_LINES
            if kept:
                self._free.append(line)
        if not kept:
            line.close()


def checked_url(url: str) -> str:
    """The base URL without a slash at its end. Raises ConfigError, without showing a password in
    it."""
    try:
        parts = urlsplit(url.strip())
        port = f":{parts.port}" if parts.port else ""
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        good = False
    if not good:
        raise ConfigError(
            "the base URL is not a URL: write it as http://host:port/v1 or https://host/v1"
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(
            f"the base URL of {parts.hostname} has a user, password or query in it, which logs"
            " would show: give the bare address, and the key as RLM_API_KEY"
        )
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"


def same_host(one: str, two: str) -> bool:
    try:
        return urlsplit(one).hostname == urlsplit(two).hostname
    except ValueError:
        return False


def checked_key(key: str | None, name: str) -> str:
    """The key without white space around it. Raises ConfigError, which does not show it."""
    found = (key or "").strip()
    # h11 prints an illegal header in full, so a key that makes one must not reach it
    if not (found.isascii() and found.isprintable()) or " " in found:
        raise ConfigError(f"{name} holds characters that no key has: copy it again")
    return found
