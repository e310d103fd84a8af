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

from __future__ import annotations

from importlib import import_module

from rlm._version import __version__
from rlm.errors import (
    CassetteDiverged,
    ConfigError,
    EndpointError,
    EngineUnfit,
    HandleError,
    LimitExceeded,
    ModelAuthError,
    ModelBadReply,
    ModelError,
    ModelRateLimited,
    ModelUnavailable,
    NotFound,
    NotRDF,
    NotSupported,
    OntologyError,
    PackError,
    QueryRefused,
    QueryTimeout,
    RLMError,
    SandboxError,
    SandboxUnfit,
    SchemaTooNew,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    ValidationError,
)

TYPE_CHECKING = False  # importing typing costs every hook 3 ms
if TYPE_CHECKING:
    from typing import Any

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

_HOMES = {
    "open_store": "rlm.store.open",
    "MemoryBackend": "rlm.store.backend",
    "MemoryStore": "rlm.store.jsonfile",
    "SQLiteMemoryBackend": "rlm.store.sqlite.backend",
    "Explanation": "rlm.retrieval.explain",
    **dict.fromkeys(("Edge", "Member", "Node"), "rlm.store.graph"),
    "Ref": "rlm.handles",
    **dict.fromkeys(("ScriptedClient", "open_client"), "rlm.llm"),
    **dict.fromkeys(("Limits", "RLMLogger", "RLMResult", "read_log", "rlm_run"), "rlm.loop"),
    **dict.fromkeys(("SandboxLimits", "open_repl"), "rlm.sandbox"),
    **dict.fromkeys(
        (
            "LOCAL",
            "Hit",
            "Judgment",
            "MemoryItem",
            "Run",
            "Scope",
            "Tenant",
            "Trajectory",
        ),
        "rlm.store.types",
    ),
    **dict.fromkeys(
        (
            "bootstrap_general_strategies",
            "export_pack",
            "import_pack",
            "rollback_pack",
            "verify_pack",
        ),
        "rlm.packs",
    ),
}

__all__ = [
    "LOCAL",
    "CassetteDiverged",
    "ConfigError",
    "Edge",
    "EndpointError",
    "EngineUnfit",
    "Explanation",
    "HandleError",
    "Hit",
    "Judgment",
    "LimitExceeded",
    "Limits",
    "Member",
    "MemoryBackend",
    "MemoryItem",
    "MemoryStore",
    "ModelAuthError",
    "ModelBadReply",
    "ModelError",
    "ModelRateLimited",
    "ModelUnavailable",
    "Node",
    "NotFound",
    "NotRDF",
    "NotSupported",
    "OntologyError",
    "PackError",
    "QueryRefused",
    "QueryTimeout",
    "RLMError",
    "RLMLogger",
    "RLMResult",
    "Ref",
    "Run",
    "SQLiteMemoryBackend",
    "SandboxError",
    "SandboxLimits",
    "SandboxUnfit",
    "SchemaTooNew",
    "Scope",
    "ScriptedClient",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreLocked",
    "StoreReadOnly",
    "Tenant",
    "Trajectory",
    "ValidationError",
    "__version__",
    "bootstrap_general_strategies",
    "export_pack",
    "import_pack",
    "open_client",
    "open_repl",
    "open_store",
    "read_log",
    "rlm_run",
    "rollback_pack",
    "verify_pack",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'rlm' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(__all__) | set(globals()))
