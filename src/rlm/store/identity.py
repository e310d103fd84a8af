"""What makes two memories the same memory.

A memory's id is a hash of what it says and where it applies: its title, its content and its scope,
each normalised. So the same lesson learnt twice is one row, an exported pack is byte-identical when
nothing changed, and importing it twice adds nothing. The description, the tags and every counter
may change without changing the id. These functions may never change: ids are in people's files and
packs.

>>> memory_id("Describe an  Entity", "Search, then DESCRIBE.", {"transferable": True})
'13402000b2fe79d2'
>>> memory_id("describe an entity", "search, then describe.", {"transferable": True, "tools": []})
'13402000b2fe79d2'
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from unicodedata import normalize as _unicode_normalize


def normalize(text: str) -> str:
    """NFKC, case folded, runs of white space to one space, stripped. Idempotent."""
    if text.isascii():  # NFKC and casefold change nothing but case here, and cost ten times as much
        low = text.lower().replace("\n", " ")
        if low.isprintable() and "  " not in low:  # most texts: words are one space apart
            return low.strip()
        return " ".join(low.split())
    folded = _unicode_normalize("NFKC", text).casefold()
    # Folding can undo the normal form ('ᾳ' and friends), so it is applied again.
    return " ".join(_unicode_normalize("NFKC", folded).split())


def normalize_scope(scope: Mapping[str, Any]) -> str:
    """Canonical JSON of a scope: keys sorted, empty values dropped, lists sorted, distinct."""
    kept: dict[str, Any] = {}
    for key, value in scope.items():
        if value is None or value == "" or value == [] or value == () or value == {}:
            continue
        kept[key] = sorted(set(value)) if isinstance(value, list | tuple) else value
    return canonical_json(kept)


def canonical_json(value: Any) -> str:
    """One spelling for one value: keys sorted, no spaces, real characters rather than escapes."""
    return _encode(value)


_encode = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
).encode


def memory_id(title: str, content: str, scope: Mapping[str, Any] | str) -> str:
    """The stable id: the first 16 hex digits of the hash of the three normalised parts.

    A scope that is text is what `normalize_scope` gave.
    """
    plain = scope if isinstance(scope, str) else normalize_scope(scope)
    text = f"{normalize(title)}\n{normalize(content)}\n{plain}"
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


_STABLE = re.compile(r"[0-9a-f]{16}")


def is_stable_id(value: object) -> bool:
    """Whether this has the form of an id that `memory_id` gives."""
    return isinstance(value, str) and _STABLE.fullmatch(value) is not None
