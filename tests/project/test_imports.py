"""The house rules of docs/design.md, read from the source: imports go down, edges print, config
reads."""

from __future__ import annotations

import ast
import functools
import re
import sys
import tomllib
from pathlib import Path

import house
import pytest

MAX_LINES = 500
WORKERS = ("rlm.sandbox.child.main", "rlm.hook")


@functools.cache
def nodes(source: str) -> list[ast.AST]:
    """Every node of a module, read once for all the rules."""
    return list(ast.walk(house.parse(source)))


def wrong_subroom_imports(
    source: str, module: str, *, is_package: bool = False
) -> list[house.Finding]:
    """Imports between the sub-rooms of `ontology` that do not go down, as its docstring says."""
    if house.room_of(module) != "ontology" or module == "rlm.ontology":
        return []
    subroom = module.split(".")[2] if module.count(".") > 1 else ""
    found = []
    for line, target in house.imports(source, module, is_package=is_package):
        other = target.split(".")[2] if target.count(".") > 1 else ""
        if house.room_of(target) != "ontology" or other == subroom:
            continue
        if other not in house.SUBLEVEL or subroom not in house.SUBLEVEL:
            found.append((line, f"{module} or {target} is in no sub-room: add it to this test"))
        elif house.SUBLEVEL[other] > 0 and house.SUBLEVEL[other] >= house.SUBLEVEL[subroom]:
            found.append((line, f"{module} imports {target}"))
    return found


def environment_reads(source: str) -> list[house.Finding]:
    found = []
    for node in nodes(source):
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv"):
            found.append((node.lineno, f"reads {ast.unparse(node)}"))
        elif isinstance(node, ast.ImportFrom) and node.module == "os":
            names = {alias.name for alias in node.names} & {"environ", "environb", "getenv"}
            found += [(node.lineno, f"imports {name}") for name in sorted(names)]
    return found


def prints_and_exits(source: str) -> list[house.Finding]:
    found = []
    for node in nodes(source):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "print",
            "exit",
            "quit",
            "sys.exit",
            "os._exit",
        ):
            found.append((node.lineno, f"calls {ast.unparse(node.func)}"))
        elif (
            isinstance(node, ast.Raise)
            and node.exc is not None
            and "SystemExit" in ast.unparse(node.exc)
        ):
            found.append((node.lineno, "raises SystemExit"))
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout", "sys.stderr"):
            found.append((node.lineno, f"uses {ast.unparse(node)}"))
    return found


@pytest.fixture(scope="module")
def modules(root: Path) -> dict[str, tuple[Path, str]]:
    """Dotted name to file and source."""
    found = house.read_modules(root)
    assert len(found) > 20
    return {name: (module.path, module.source) for name, module in found.items()}


def shown(path: Path, root: Path, found: list[house.Finding]) -> list[str]:
    return [f"{path.relative_to(root)}:{line}: {what}" for line, what in found]


def test_imports_go_down(modules, root):
    wrong = []
    for name, (path, source) in modules.items():
        wrong += shown(
            path, root, house.wrong_imports(source, name, is_package=path.name == "__init__.py")
        )
    assert not wrong, "\n".join(wrong)


def test_no_two_rooms_know_each_other(root):
    assert house.cycles(house.edges_between(house.read_modules(root))) == []


def test_imports_between_the_subrooms_of_ontology_go_down(modules, root):
    wrong = []
    for name, (path, source) in modules.items():
        package = path.name == "__init__.py"
        wrong += shown(path, root, wrong_subroom_imports(source, name, is_package=package))
    assert not wrong, "\n".join(wrong)


def test_only_config_reads_the_environment(modules, root):
    wrong = []
    for name, (path, source) in modules.items():
        if name not in ("rlm.config", "rlm.hook_settings"):
            wrong += shown(path, root, environment_reads(source))
    assert not wrong, "\n".join(wrong)


def test_only_the_command_line_prints_and_exits(modules, root):
    wrong = []
    for name, (path, source) in modules.items():
        if house.room_of(name) in ("cli", "__main__") or name == "rlm.sandbox.child.builtins":
            continue  # the second is `exit()` as the sandboxed code knows it
        found = shown(path, root, prints_and_exits(source))
        # A worker must end without running its parent's clean-up; nothing else may.
        wrong += [line for line in found if not (name in WORKERS and "os._exit" in line)]
    assert not wrong, "\n".join(wrong)


def test_only_a_store_knows_its_driver(modules, root):
    """And `retrieval.tokens`, which calls FTS5's own tokenizer."""
    wrong = []
    for name, (path, source) in modules.items():
        if name.startswith("rlm.store.sqlite") or name == "rlm.retrieval.tokens":
            continue
        drivers = ("apsw",) if name.startswith("rlm.store.postgres") else ("apsw", "psycopg")
        for node in nodes(source):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            wrong += shown(
                path, root, [(node.lineno, f"imports {n}") for n in names if n.startswith(drivers)]
            )
    assert not wrong, "\n".join(wrong)


def test_only_the_ground_floor_speaks_to_servers_and_starts_processes(modules, root):
    """So every server has a deadline and a cap, and every child starts bare."""
    homes = {"httpx": "rlm.http", "subprocess": "rlm.worker"}
    wrong = []
    for name, (path, source) in modules.items():
        for foreign in imported_packages([source]) & set(homes):
            if name != homes[foreign]:
                wrong.append(f"{path.relative_to(root)} imports {foreign}: use {homes[foreign]}")
    assert not wrong, "\n".join(wrong)


def test_no_module_is_too_long(modules, root):
    long = {str(path.relative_to(root)): source.count("\n") for path, source in modules.values()}
    assert not {name: lines for name, lines in long.items() if lines > MAX_LINES}


# -- the checks themselves can fail
# ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("rlm.retrieval.rank", "from rlm.store.types import MemoryItem"),
        ("rlm.retrieval.rank", "import rlm.store.types"),
        ("rlm.retrieval.rank", "from rlm import store"),
        ("rlm.retrieval.rank", "from ..store import types"),
        ("rlm.retrieval.rank", "from rlm.ontology import meta"),
        ("rlm.store.gate", "from rlm.loop import run"),
        ("rlm.store.gate", "def f():\n    from rlm.packs import import_pack"),
        ("rlm.store.gate", "if TYPE_CHECKING:\n    from rlm.cli.app import app"),
        ("rlm.store.gate", "from rlm import MemoryItem"),
        ("rlm.errors", "from rlm.store import gate"),
        ("rlm.agent", "from rlm.cli import app"),
        ("rlm.novelty", "x = 1"),
        ("rlm.agent.recall", "from rlm.llm.offline.asked import understand"),
        ("rlm.learning.extract", "def f():\n    import rlm.llm.offline.client"),
        ("rlm.llm.cassette", "from rlm.llm import offline"),
        ("rlm.llm.cassette", "from .offline import client"),
        ("rlm.learning.gates", "from rlm.packs.select import hardcoded"),
        ("rlm.learning.artifact", "from rlm.tools.trace import Trace"),
        ("rlm.context", "from rlm.learning import dedup"),
        ("rlm.tools.memory", "from rlm.packs import import_pack"),
        ("rlm.agent.attempt", "from rlm.packs import list_packs"),
    ],
)
def test_an_import_that_goes_up_is_found(module, source):
    assert house.wrong_imports(source, module)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("rlm", "from rlm.cli import app"),
        (
            "rlm.store.gate",
            (
                "from rlm import clock\nfrom rlm.errors import RLMError\nfrom rlm.store.types"
                " import Scope"
            ),
        ),
        (
            "rlm.store.sql.graph",
            "from . import items\nfrom ..types import Node\nfrom rlm.retrieval.embed import E",
        ),
        ("rlm.packs.export", "from rlm.store.types import MemoryItem"),
        ("rlm.cli.app", "from rlm import open_store\nfrom rlm.packs import import_pack"),
        ("rlm.config", "from rlm.errors import ConfigError\nimport os"),
        ("rlm.llm.open", "from rlm.llm.offline.client import OfflineClient"),
        ("rlm.llm.offline.graph.follow", "from rlm.llm.offline.asked.kinds import Asked"),
        ("rlm.tools.learned", "from rlm.learning import dedup"),
        ("rlm.learning.dedup", "from rlm.context import bullets"),
        ("rlm.train", "from rlm.packs.curriculum import Task"),
    ],
)
def test_an_import_that_goes_down_is_fine(module, source):
    assert not house.wrong_imports(source, module)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("rlm.ontology.meta.builder", "from rlm.ontology.engine.local import LocalEngine"),
        ("rlm.ontology.engine.child", "def f():\n    from rlm.ontology.views.search import match"),
        ("rlm.ontology.query.shape", "from rlm.ontology.meta import graph_meta"),
        ("rlm.ontology.remote.sample", "from ..views import links"),
        ("rlm.ontology.terms", "from rlm.ontology.query import lexer"),
        ("rlm.ontology", "from rlm.ontology.source import open_engine"),
        ("rlm.ontology.novelty", "from rlm.ontology import terms"),
    ],
)
def test_an_import_between_subrooms_that_goes_up_is_found(module, source):
    assert house.wrong_subroom_imports(source, module)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("rlm.ontology.views.search", "from rlm.ontology.engine.protocol import Engine"),
        ("rlm.ontology.views.search", "from rlm.ontology.views.links import source"),
        ("rlm.ontology.engine.local", "from rlm.ontology.meta.graph_meta import GraphMeta"),
        ("rlm.ontology.labels", "from rlm.ontology import vocabulary"),
        ("rlm.tools.sparql", "from rlm.ontology.views.links import source"),
    ],
)
def test_an_import_between_subrooms_that_goes_down_is_fine(module, source):
    assert not house.wrong_subroom_imports(source, module)


@pytest.mark.parametrize(
    "source", ["os.environ['A']", "os.getenv('A')", "from os import environ as e"]
)
def test_a_read_of_the_environment_is_found(source):
    assert environment_reads(source)


@pytest.mark.parametrize(
    "source", ["print(1)", "sys.exit(2)", "raise SystemExit(1)", "sys.stderr.write('x')"]
)
def test_a_print_or_exit_is_found(source):
    assert prints_and_exits(source)


# -- dependencies
# ----------------------------------------------------------------------------------------


IMPORTED_AS = {"pyyaml": "yaml"}
"""Distributions whose module has another name."""


def imported_packages(sources: list[str]) -> set[str]:
    """The top-level names that are imported."""
    found: set[str] = set()
    for source in sources:
        for node in nodes(source):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add((node.module or "").split(".")[0])
    return found


def third_party(sources: list[str]) -> set[str]:
    """Those that belong neither to us nor to Python."""
    return imported_packages(sources) - sys.stdlib_module_names - {"rlm"}


def test_what_is_imported_is_declared_and_what_is_declared_is_used(modules, root):
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    declared = {re.split(r"[^A-Za-z0-9_-]", text)[0] for text in project["dependencies"]}
    declared = {IMPORTED_AS.get(name, name) for name in declared}
    # the extras `monty`, `owl`, `postgres` and `mcp`, which brings the others along
    optional = {"pydantic_monty", "pyhornedowl", "psycopg", "psycopg_pool", "mcp", "anyio"}
    optional |= {"starlette", "uvicorn"}
    optional |= {"threadpoolctl", "tokenizers"}  # `minilm`, and what wordllama brings along
    sources = [source for _, source in modules.values()]
    assert third_party(sources) - declared - optional == set(), (
        "add it to the dependencies in pyproject.toml"
    )
    unused = {name for name in declared if not any(name in source for source in sources)}
    assert unused == set(), "no module names it: take it out of pyproject.toml"


def test_an_undeclared_import_is_found():
    assert third_party(["import os, yaml.nodes\nfrom requests.x import y\nfrom . import z"]) == {
        "yaml",
        "requests",
    }


def test_the_table_has_every_room_and_the_whole(root):
    told = house.table(house.read_modules(root))
    assert {"agent", "cli", "loop", "store"} <= {
        line.split()[2] for line in told if line[:7].strip().replace(",", "").isdigit()
    }
    assert any(line.endswith("in all") for line in told)
