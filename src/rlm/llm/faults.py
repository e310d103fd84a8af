"""What can go wrong between us and a model server, as one value each.

This is the one place where HTTP statuses, error objects and httpx's exceptions become our errors.
A fault knows which error it is and whether trying again may help; the wording around it, and the
hiding of keys, belong to `rlm.llm.http`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rlm.errors import ModelAuthError, ModelBadReply, ModelError, ModelRateLimited, ModelUnavailable
from rlm.llm.retry import retry_after_s

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


@dataclass(frozen=True, slots=True)
class Fault:
    """A failed attempt: the error it is, what to say, and whether another try may help."""

    kind: type[ModelError]
    problem: str
    retry: bool = False
    retry_after_s: float | None = None
    status: int = 0
    detail: str = ""


def of_exception(exc: Exception) -> Fault:
    """The fault behind whatever httpx or the socket raised, other than running out of time."""
    import httpx

    said = f"{type(exc).__name__}: {exc}" if str(exc) else type(exc).__name__
    if isinstance(exc, httpx.ConnectTimeout | httpx.PoolTimeout):
        return Fault(ModelUnavailable, f"did not accept a connection in time ({said})", retry=True)
    if isinstance(exc, httpx.TimeoutException):
        return Fault(ModelUnavailable, f"did not answer in time ({said})")
    if isinstance(exc, httpx.ConnectError):
        passing = "CERTIFICATE" not in str(exc)
        return Fault(
            ModelUnavailable,
            f"cannot be reached ({said}): is it running, and is its address right?",
            passing,
        )
    if isinstance(exc, httpx.ProxyError):
        return Fault(ModelUnavailable, f"cannot be reached through the proxy ({said})", retry=True)
    if isinstance(exc, httpx.NetworkError | httpx.RemoteProtocolError):
        return Fault(ModelUnavailable, f"dropped the connection ({said})", retry=True)
    if isinstance(exc, httpx.DecodingError):
        return Fault(ModelBadReply, f"answered something that cannot be decoded ({said})")
    if isinstance(exc, httpx.InvalidURL | httpx.UnsupportedProtocol | httpx.LocalProtocolError):
        return Fault(ModelError, f"cannot be asked ({said}): check its address")
    return Fault(ModelUnavailable, f"cannot be reached ({said})")


def of_status(status: int, headers: Mapping[str, str], detail: str) -> Fault:
    """The fault behind a status that is not a success. `detail` is what the server said about it."""
    said = f"answered {status}" + (f": {detail}" if detail else "")
    asked_s = retry_after_s(headers)
    if status in (401, 403):
        return Fault(ModelAuthError, f"refused the key ({said})", status=status, detail=detail)
    if status == 402:
        return Fault(
            ModelAuthError, f"wants to be paid first ({said})", status=status, detail=detail
        )
    if status == 429:
        hopeless = any(word in detail.lower() for word in NO_MONEY)
        return Fault(
            ModelRateLimited,
            f"has too many requests ({said})",
            not hopeless,
            asked_s,
            status,
            detail,
        )
    if 300 <= status < 400:
        return Fault(
            ModelBadReply,
            f"{said} and points elsewhere, which is not followed, so that the key goes nowhere"
            " else: give the final address",
            status=status,
        )
    if status in (408, 409, 425) or (status >= 500 and status not in (501, 505)):
        return Fault(ModelUnavailable, said, True, asked_s, status, detail)
    if status >= 500:
        return Fault(ModelUnavailable, said, status=status, detail=detail)
    if status == 404:
        return Fault(
            ModelError,
            f"{said}: check the name of the model and the base URL",
            status=status,
            detail=detail,
        )
    if status == 413:
        return Fault(
            ModelError, f"{said}: the prompt is too long for it", status=status, detail=detail
        )
    return Fault(ModelError, f"refused the request ({said})", status=status, detail=detail)


def of_error_object(error: Any, headers: Mapping[str, str], detail: str) -> Fault:
    """The fault behind an error that came with a status of success, by its code or type."""
    fields = error if isinstance(error, dict) else {}
    for value in (fields.get("code"), fields.get("status"), fields.get("type")):
        status = STATUS_OF_TYPE.get(value) if isinstance(value, str) else value
        if isinstance(status, int) and 400 <= status < 600:
            return of_status(status, headers, detail)
    return Fault(ModelBadReply, f"answered with an error: {detail}", detail=detail)


def said_by(body: bytes) -> str:
    """What an error body says: the message in its JSON where there is one, else its text."""
    text = body.decode("utf-8", "replace")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return message_in(found.get("error", found) if isinstance(found, dict) else found)


def message_in(error: Any) -> str:
    """The sentence in an error object of OpenAI's, Anthropic's or FastAPI's form, with its
    parameter and code."""
    if isinstance(error, str):
        return error
    if isinstance(error, dict):
        message = error.get("message") or error.get("detail")
        marks = [
            f"{name} {error[name]}"
            for name in ("param", "code")
            if isinstance(error.get(name), str | int)
        ]
        if message:
            sentence = message if isinstance(message, str) else json.dumps(message)
            return sentence + (f" ({', '.join(marks)})" if marks else "")
    return json.dumps(error)


def looks_like_html(headers: Mapping[str, str], body: bytes) -> bool:
    start = body[:200].lstrip().lower()
    return "text/html" in headers.get("content-type", "").lower() or start.startswith(
        (b"<!doctype", b"<html")
    )
