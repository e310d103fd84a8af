"""Where memories, runs and the hypergraph are kept: the backend protocol, its rows, its stores.

`open_store` goes from a path to a store. Every write passes `rlm.store.gate`.
"""

from __future__ import annotations

from rlm.lazy import lazy_names

TYPE_CHECKING = False  # importing typing costs every hook 3 ms
if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend as MemoryBackend
    from rlm.store.graph import Edge as Edge
    from rlm.store.graph import Member as Member
    from rlm.store.graph import Node as Node
    from rlm.store.graph import copy_graph as copy_graph
    from rlm.store.identity import memory_id as memory_id
    from rlm.store.jsonfile import MemoryStore as MemoryStore
    from rlm.store.open import open_store as open_store
    from rlm.store.sql.graph import GraphStore as GraphStore
    from rlm.store.sqlite.backend import SQLiteMemoryBackend as SQLiteMemoryBackend
    from rlm.store.types import LOCAL as LOCAL
    from rlm.store.types import Hit as Hit
    from rlm.store.types import Judgment as Judgment
    from rlm.store.types import MemoryItem as MemoryItem
    from rlm.store.types import Run as Run
    from rlm.store.types import Scope as Scope
    from rlm.store.types import Signal as Signal
    from rlm.store.types import Tenant as Tenant
    from rlm.store.types import Trajectory as Trajectory

_TYPES = (
    *("LOCAL", "Hit", "Judgment", "MemoryItem", "Run", "Scope"),
    *("Signal", "Tenant", "Trajectory"),
)
__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "backend": ("MemoryBackend",),
        "graph": ("Edge", "Member", "Node", "copy_graph"),
        "identity": ("memory_id",),
        "jsonfile": ("MemoryStore",),
        "open": ("open_store",),
        "sql.graph": ("GraphStore",),
        "sqlite.backend": ("SQLiteMemoryBackend",),
        "types": _TYPES,
    },
)
