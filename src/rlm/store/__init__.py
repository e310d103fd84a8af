"""Where memories, runs and the hypergraph are kept: the backend protocol, its rows, its stores.

`open_store` goes from a path to a store. Every write passes `rlm.store.gate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlm.lazy import lazy_names

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend
    from rlm.store.identity import memory_id
    from rlm.store.jsonfile import MemoryStore
    from rlm.store.open import open_store
    from rlm.store.sqlite.backend import SQLiteMemoryBackend
    from rlm.store.types import (
        LOCAL,
        Edge,
        Hit,
        Judgment,
        Member,
        MemoryItem,
        Node,
        Run,
        Scope,
        Signal,
        Tenant,
        Trajectory,
    )

_TYPES = (
    *("LOCAL", "Edge", "Hit", "Judgment", "Member", "MemoryItem", "Node", "Run", "Scope"),
    *("Signal", "Tenant", "Trajectory"),
)
__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "backend": ("MemoryBackend",),
        "identity": ("memory_id",),
        "jsonfile": ("MemoryStore",),
        "open": ("open_store",),
        "sqlite.backend": ("SQLiteMemoryBackend",),
        "types": _TYPES,
    },
)
