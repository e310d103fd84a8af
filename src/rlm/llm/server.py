"""One model server: a JSON body goes out, a JSON object comes back, or one of our errors.

This is the one place where statuses, error objects and failed exchanges become model errors.
Redirects are not followed, so the key goes to the server that was named and to no other. No
message, repr or log of ours holds a key, and one that the server repeats is hidden.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rlm.errors import (
    ConfigError,
    ModelAuthError,
    ModelBadReply,
    ModelError,
    ModelRateLimited,
    ModelUnavailable,
)
from rlm.http import Connections, Deadline, ExchangeFailed, Request, Response, Retry, retry_after_s
from rlm.urls import hide, parse_url

TIMEOUT_S = 120.0
MAX_REPLY_BYTES = 16 << 20
MAX_DETAIL_CHARS = 300

Adapt = Callable[[int, str], bool]
"""Given the status and the words of a refusal; True when the caller can ask in another way."""

NO_MONEY = ("insufficient_quota", "billing", "credit balance", "exceeded your current quota")
"""A 429 that says one of these does not pass by waiting."""

STATUS_OF_TYPE = {
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "invalid_request_error": 400,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "server_error": 500,
    "internal_server_error": 500,
    "overloaded_error": 529,
}

_ERROR_OF_KIND: Mapping[str, type[ModelError]] = {
    "reply": ModelBadReply,
    "too_long": ModelBadReply,
    "request": ModelError,
    "closed": ModelError,
}
"""Of other kinds of failure: ModelUnavailable."""


class Refusal(ExchangeFailed):
    """A status that is not a success, with what the server said about it."""

    status: int
    detail: str


class ModelServer:
    """A server at `base_url`, for any threads; `key_name` is the variable that holds the key."""

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
        example = "http://host:port/v1 or https://host/v1"
        self._address = parse_url(base_url.strip(), what="the base URL", example=example)
        if "?" in self._address.target:
            raise ConfigError(
                f"the base URL of {self._address.host} has a query in it, which logs would show:"
                " give the bare address, and the key as RLM_API_KEY"
            )
        self._path = self._address.target.rstrip("/")
        self.url = replace(self._address, target=self._path).url
        self.retry = retry or Retry()
        self._model, self._key, self._key_name = model, key, key_name
        sent = {"Accept": "application/json", "Content-Type": "application/json"}
        self._headers = {**sent, **(headers or {})}
        self._connections = Connections(max_bytes=max_reply_bytes)

    def post(
        self, path: str, body: Mapping[str, Any], *, deadline: Deadline, adapt: Adapt | None = None
    ) -> Any:
        """The parsed object of a good answer; None when the server refused and `adapt` said True.
        Raises ModelError or one of its children. What may pass is tried again within the
        deadline."""
        # A lone surrogate cannot be sent: it becomes a question mark.
        raw = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        address = replace(self._address, target=self._path + path)
        request = Request("POST", address, self._headers, raw)

        def attempt() -> Any:
            try:
                return self._read(self._connections.send(request, deadline))
            except Refusal as exc:
                may_adapt = exc.status in (400, 422) or exc.status >= 500
                if may_adapt and adapt is not None and adapt(exc.status, exc.detail):
                    return None
                raise

        try:
            return self.retry.run(attempt, deadline)
        except ExchangeFailed as exc:
            failed = exc
        raise self.error(failed) from failed.__cause__

    def error(self, failed: ExchangeFailed) -> ModelError:
        """The error to raise, with the server and the model named and the key hidden."""
        kind = failed.error or _ERROR_OF_KIND.get(failed.kind, ModelUnavailable)
        problem = failed.problem + (" (see RLM_MODEL_TIMEOUT_S)" * (failed.kind == "late"))
        end = "" if problem.endswith((".", "?", "!")) else "."
        after = f" Tried {failed.tries} times." if failed.tries > 1 else ""
        advice = f" Check {self._key_name}." if kind is ModelAuthError else ""
        text = f"the model server {self.url} (model {self._model!r}) {problem}{end}{after}{advice}"
        if kind is ModelRateLimited:
            return ModelRateLimited(hide(text, self._key), retry_after_s=failed.retry_after_s)
        assert issubclass(kind, ModelError)
        return kind(hide(text, self._key))

    def close(self) -> None:
        """Let go of the connections; a call under way in another thread is broken off."""
        self._connections.close()

    def __repr__(self) -> str:
        return f"ModelServer({self.url!r})"

    def _read(self, response: Response) -> Any:
        """The object in an answer. Raises ExchangeFailed."""
        html = response.is_html
        if not response.is_good:
            detail = "a web page" if html else self._one_line(message_of_body(response.body))
            refusal = refusal_of_status(response.status, response.headers, detail)
            if html and refusal.error is ModelError:
                refusal.problem += ". Something else answers at this address"
                refusal.error = ModelUnavailable
            raise refusal
        if html:
            problem = "answered a web page: is the base URL right, with its /v1?"
            raise ExchangeFailed(problem, error=ModelUnavailable)
        try:
            found = json.loads(response.body.decode("utf-8"))
        except UnicodeDecodeError as exc:
            problem = f"answered bytes that are not UTF-8 ({exc.reason} at byte {exc.start})"
            raise ExchangeFailed(problem) from exc
        except (ValueError, RecursionError) as exc:
            said = self._one_line(response.body.decode("utf-8", "replace")) or "nothing"
            problem = f"answered what is not JSON ({type(exc).__name__}): {said}"
            raise ExchangeFailed(problem) from exc
        if not isinstance(found, dict):
            raise ExchangeFailed(f"answered a JSON {type(found).__name__}, not an object")
        if found.get("error"):
            detail = self._one_line(message_of(found["error"]))
            raise failure_of_object(found["error"], response.headers, detail)
        return found

    def _one_line(self, text: str) -> str:
        """A server's words for a message: the key hidden first, then one line, then cut."""
        line = " ".join(hide(text, self._key).split())
        return line if len(line) <= MAX_DETAIL_CHARS else line[: MAX_DETAIL_CHARS - 1] + "…"


def refusal_of_status(status: int, headers: Mapping[str, str], detail: str) -> Refusal:
    """The failure behind a status that is not a success. `detail` is what the server said."""
    said = f"answered {status}" + (f": {detail}" if detail else "")
    error: type[ModelError] = ModelError
    passing, problem = False, f"refused the request ({said})"
    if status in (401, 403):
        error, problem = ModelAuthError, f"refused the key ({said})"
    elif status == 402:
        error, problem = ModelAuthError, f"wants to be paid first ({said})"
    elif status == 429:
        error, problem = ModelRateLimited, f"has too many requests ({said})"
        passing = not any(word in detail.lower() for word in NO_MONEY)
    elif 300 <= status < 400:
        error = ModelBadReply
        problem = (
            f"{said} and points elsewhere, which is not followed, so that the key goes nowhere"
            " else: give the final address"
        )
    elif status in (408, 409, 425) or status >= 500:
        error, problem = ModelUnavailable, said
        passing = status not in (501, 505)
    elif status == 404:
        problem = f"{said}: check the name of the model and the base URL"
    elif status == 413:
        problem = f"{said}: the prompt is too long for it"
    after_s = retry_after_s(headers) if passing or error is ModelRateLimited else None
    refusal = Refusal(problem, error=error, passing=passing, retry_after_s=after_s)
    refusal.status, refusal.detail = status, detail
    return refusal


def failure_of_object(error: Any, headers: Mapping[str, str], detail: str) -> ExchangeFailed:
    """The failure behind an error that came with a status of success, by its code or type."""
    fields = error if isinstance(error, dict) else {}
    for value in (fields.get("code"), fields.get("status"), fields.get("type")):
        status = STATUS_OF_TYPE.get(value) if isinstance(value, str) else value
        if isinstance(status, int) and 400 <= status < 600:
            return refusal_of_status(status, headers, detail)
    return ExchangeFailed(f"answered with an error: {detail}")


def message_of_body(body: bytes) -> str:
    """What an error body says: the message in its JSON where there is one, else its text."""
    text = body.decode("utf-8", "replace")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return message_of(found.get("error", found) if isinstance(found, dict) else found)


def message_of(error: Any) -> str:
    """The sentence in an error object of OpenAI, Anthropic or FastAPI, with parameter and code."""
    if isinstance(error, str):
        return error
    message = (error.get("message") or error.get("detail")) if isinstance(error, dict) else None
    if not message:
        return json.dumps(error)
    sentence = message if isinstance(message, str) else json.dumps(message)
    fields = [(name, error.get(name)) for name in ("param", "code")]
    marks = [f"{name} {value}" for name, value in fields if isinstance(value, str | int)]
    return sentence + (f" ({', '.join(marks)})" if marks else "")
