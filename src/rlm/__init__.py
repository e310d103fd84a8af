"""rlm: an agent that learns how.

    >>> import rlm
    >>> db = rlm.open_store(":memory-example:")                                   # doctest: +SKIP
    >>> db.add(rlm.MemoryItem(title=…, description=…, content=…))                 # doctest: +SKIP
    >>> db.retrieve("How do I …?")                                                # doctest: +SKIP
    >>> import rlm.agent
    >>> rlm.agent.run("How many …?", context=text, model="openai/…").answer       # doctest: +SKIP

The names below are the public API; a test pins them. They are loaded when first used, because numpy
and the driver would otherwise cost every command a tenth of a second.
"""

# ruff: noqa: F405
from __future__ import annotations

from rlm._version import __version__
from rlm.errors import *  # noqa: F403 - every error is public
from rlm.lazy import lazy_names

TYPE_CHECKING = False  # importing typing costs every hook 3 ms
if TYPE_CHECKING:
    from rlm.handles import Ref
    from rlm.llm import ScriptedClient, open_client
    from rlm.loop import Limits, RLMLogger, RLMResult, read_log, rlm_run
    from rlm.packs import (
        bootstrap_general_strategies,
        export_pack,
        import_pack,
        rollback_pack,
        verify_pack,
    )
    from rlm.retrieval.explain import Explanation
    from rlm.sandbox import SandboxLimits, open_repl
    from rlm.store.backend import MemoryBackend
    from rlm.store.graph import Edge, Member, Node
    from rlm.store.jsonfile import MemoryStore
    from rlm.store.open import open_store
    from rlm.store.sqlite.backend import SQLiteMemoryBackend
    from rlm.store.types import (
        LOCAL,
        Hit,
        Judgment,
        MemoryItem,
        Run,
        Scope,
        Tenant,
        Trajectory,
    )

_TYPES = ("LOCAL", "Hit", "Judgment", "MemoryItem", "Run", "Scope", "Tenant", "Trajectory")
_PACKS = ("export_pack", "import_pack", "rollback_pack", "verify_pack")
__getattr__ = lazy_names(
    __name__,
    {
        "handles": ("Ref",),
        "llm": ("ScriptedClient", "open_client"),
        "loop": ("Limits", "RLMLogger", "RLMResult", "read_log", "rlm_run"),
        "packs": ("bootstrap_general_strategies", *_PACKS),
        "retrieval.explain": ("Explanation",),
        "sandbox": ("SandboxLimits", "open_repl"),
        "store.backend": ("MemoryBackend",),
        "store.graph": ("Edge", "Member", "Node"),
        "store.jsonfile": ("MemoryStore",),
        "store.open": ("open_store",),
        "store.sqlite.backend": ("SQLiteMemoryBackend",),
        "store.types": _TYPES,
    },
)[0]

__all__ = [
    "LOCAL", "CassetteDiverged", "ConfigError", "Edge", "EndpointError", "EngineUnfit",
    "Explanation", "HandleError", "Hit", "IndexUnavailable", "Judgment", "LimitExceeded",
    "Limits", "Member",
    "MemoryBackend", "MemoryItem", "MemoryStore", "ModelAuthError", "ModelBadReply",
    "ModelError", "ModelRateLimited", "ModelUnavailable", "Node", "NotFound", "NotRDF",
    "NotSupported", "OntologyError", "PackError", "QueryRefused", "QueryTimeout", "RLMError",
    "RLMLogger", "RLMResult", "Ref", "Run", "SQLiteMemoryBackend", "SandboxError",
    "SandboxLimits", "SandboxUnfit", "SchemaTooNew", "Scope", "ScriptedClient", "StoreCorrupt",
    "StoreError", "StoreFull", "StoreLocked", "StoreReadOnly", "StoreUnavailable", "Tenant",
    "Trajectory", "ValidationError", "__version__", "bootstrap_general_strategies", "export_pack",
    "import_pack", "open_client", "open_repl", "open_store", "read_log", "rlm_run",
    "rollback_pack", "verify_pack",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
