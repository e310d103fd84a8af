"""Bearer tokens of the HTTP server: `rlm_tok_ID_SECRET`.

The id finds the row, the secret is compared with its SHA-256 in constant time. A secret has 256
random bits, so a plain hash is as good as a slow one.
"""

from __future__ import annotations

import hmac
import re
import secrets
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend
    from rlm.store.types import AccessToken

_FORM = re.compile(r"rlm_tok_([0-9a-f]{16})_([A-Za-z0-9_-]{43})", re.ASCII)
_NOBODY = "0" * 64


def issue_token(store: MemoryBackend, name: str, *, read_only: bool) -> tuple[AccessToken, str]:
    """A new token for the store's project, and its text, which nobody can show again."""
    token_id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    token = store.add_token(token_id, name, _digest(secret), read_only=read_only)
    return token, f"rlm_tok_{token_id}_{secret}"


def check_token(store: MemoryBackend, text: str) -> AccessToken | None:
    """The token with this text; None where there is none, or where its secret is another."""
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    token = store.find_token(match[1])
    right = hmac.compare_digest(_digest(match[2]), token.digest if token else _NOBODY)
    return token if right else None


def _digest(secret: str) -> str:
    return sha256(secret.encode("ascii")).hexdigest()
