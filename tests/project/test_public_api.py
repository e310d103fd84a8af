"""`import rlm` is the public API: these names, and cheap."""

from __future__ import annotations

import ast
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import rlm
from all_cases import all_cases

NAMES = [
    "LOCAL",
    "CassetteDiverged",
    "ConfigError",
    "Edge",
    "EndpointError",
    "EngineUnfit",
    "Explanation",
    "HandleError",
    "Hit",
    "IndexUnavailable",
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
    "StoreUnavailable",
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


def test_the_names_are_pinned():
    assert rlm.__all__ == NAMES


@all_cases("name", NAMES)
def test_every_name_can_be_imported(name):
    assert getattr(rlm, name) is not None
    assert name in dir(rlm)


def test_every_public_class_and_function_is_documented():
    bare = [
        n
        for n in NAMES
        if callable(getattr(rlm, n)) and not (getattr(rlm, n).__doc__ or "").strip()
    ]
    assert bare == []


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'MemoryManger'"):
        rlm.MemoryManger  # noqa: B018


def test_importing_costs_nothing_heavy():
    code = (
        "import sys, rlm; print(*sorted({'numpy', 'apsw', 'typer', 'rich', 'httpx'} &"
        " set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_types_ship_with_the_package():
    from importlib import resources

    assert (resources.files("rlm") / "py.typed").is_file()


def test_the_names_of_the_specification_are_in_the_rooms_that_own_them():
    rooms = {
        "rlm.agent": "run retrieve_memories rlm_run_enhanced rlm_run_with_memory",
        "rlm.context": "build_context format_memories_for_injection",
        "rlm.learning": "extract_memories extract_trajectory_artifact judge_trajectory",
        "rlm.tools": "setup_ontology_context",
    }
    for room, names in rooms.items():
        assert [name for name in names.split() if not hasattr(import_module(room), name)] == [], (
            room
        )


ROOMS = [module.name for module in pkgutil.iter_modules(rlm.__path__, "rlm.") if module.ispkg]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_holds_what_it_exports(room):
    package = import_module(room)
    for name in getattr(package, "__all__", ()):
        assert getattr(package, name) is not None
        assert name in dir(package)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = package.no_such_name


@pytest.mark.parametrize("room", ROOMS)
def test_type_checkers_see_what_a_room_exports(room):
    package = import_module(room)
    tree = ast.parse(Path(package.__file__ or "").read_text("utf-8"))
    seen = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert set(getattr(package, "__all__", ())) <= seen | defined


def test_a_room_of_lazy_names_loads_nothing_heavy():
    code = "import sys, rlm.store; print({'numpy', 'apsw'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
