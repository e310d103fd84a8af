"""Which collection a space lies in, and the ids of its points.

Layout `collections`: one collection a space, named as a person would look for it:
`{org}_memories`, `{org}_{team}_memories`, `{org}_{team}_{project}_memories`. Layout `shared`: one
collection a level and dimension, for hundreds of projects; about a thousand collections is what a
Qdrant server bears.

A name can be read back, so no two spaces share one: `_` separates, `.` escapes. Capitals are
escaped too, because some file systems do not tell them apart.
"""

from __future__ import annotations

import hashlib
import re
import uuid

from rlm.errors import ConfigError

LAYOUTS = ("collections", "shared")
MAX_CHARS = 200
"""Qdrant takes 255; file systems take fewer with what it appends."""

_NAMESPACE = uuid.UUID("6f2d0c0e-6a53-5a3e-9d52-3f1d5d0b7c11")
_UNSAFE = re.compile(r"[^a-z0-9-]")


def escape(name: str) -> str:
    """A part of a collection's name: lower-case letters, digits and `-` as they are.

    >>> escape("my_app"), escape("Ünï/v1.2")
    ('my._app', '.c3.9cn.c3.af.2fv1..2')
    """
    return _UNSAFE.sub(lambda found: _escaped(found.group()), name)


def _escaped(char: str) -> str:
    if char in "._":
        return f".{char}"
    return "".join(f".{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))


def check_layout(layout: str) -> None:
    """ConfigError for a layout that there is not."""
    if layout not in LAYOUTS:
        why = f"unknown index_layout {layout!r}: choose {' or '.join(LAYOUTS)} (RLM_INDEX_LAYOUT)"
        raise ConfigError(why)


def collection_name(layout: str, level: str, parts: tuple[str, str, str], dim: int) -> str:
    """The collection of a space; `parts` are org, team and project, empty below its level.

    >>> collection_name("collections", "team", ("acme", "web", ""), 256)
    'acme_web_memories'
    >>> collection_name("shared", "team", ("acme", "web", ""), 256)
    'rlm_team_256_memories'
    """
    if layout == "shared":
        return f"rlm_{level}_{dim}_memories"
    depth = ("org", "team", "project").index(level) + 1
    name = "_".join([*map(escape, parts[:depth]), "memories"])
    if len(name) <= MAX_CHARS:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()  # `~` is in no escaped name
    return f"{name[: MAX_CHARS - 40]}~{digest[:39]}"


def point_id(tenant: str, memory_id: str) -> str:
    """One memory of one space is one point, whatever its revision."""
    return str(uuid.uuid5(_NAMESPACE, f"{tenant}/{memory_id}"))


def seal_id(tenant: str) -> str:
    """The point that says which build of a space this is. No memory has an empty id."""
    return point_id(tenant, "")
