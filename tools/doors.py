"""Whether a test goes through a public door: the command line, or a name that rlm makes public.

A requirement is proven by what a person, a program or a model can call. Public is what `rlm` or a
room (`rlm.store`, `rlm.tools`, …) names in `__all__`, wherever it is imported from, and the command
line: `rlm.cli.main`, or a process started with `-m rlm`, or a script with `import rlm`.

`Doors(root).reached(path, test)` reads the test's own code, the helpers that it calls and the
fixtures that it asks for, and follows each name to what it stands for. A test counts when

- its own code, or a helper in its file, calls a public function or a public class that does
  something; or
- it calls nothing that is not public, and uses a public type, or is given such a door by a fixture
  or a helper module.

Errors are no doors, and a data class by itself proves nothing about what is done with it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from dataclasses import dataclass, field, is_dataclass
from enum import Enum
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Reach:
    """What a test touches."""

    called: set[str] = field(default_factory=set)
    """Doors that the test or a helper in its file uses itself."""
    given: set[str] = field(default_factory=set)
    """Doors that a fixture or a helper module uses for it."""
    types: set[str] = field(default_factory=set)
    """Public data classes and constants that it uses itself."""
    inner: set[str] = field(default_factory=set)
    """What it calls itself and is not public."""

    @property
    def counts(self) -> bool:
        """Whether a test that touches this proves a requirement."""
        return bool(self.called or (not self.inner and (self.given or self.types)))


class Source:
    """One file of tests: its definitions, and what its imports stand for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tree = ast.parse(path.read_text("utf-8"), filename=str(path))
        self.definitions: dict[str, ast.stmt] = {}
        self.imports: dict[str, tuple[str, str | None]] = {}
        """Local name to (module, name in it); None for the module itself."""
        for node in self.tree.body:
            if isinstance(node, Function | ast.ClassDef):
                self.definitions[node.name] = node
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [
                    part.id for t in targets for part in ast.walk(t) if isinstance(part, ast.Name)
                ]
                self.definitions |= dict.fromkeys(names, node)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    self.imports[name] = (alias.name if alias.asname else name, None)
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    self.imports[alias.asname or alias.name] = (node.module, alias.name)


class Doors:
    """The public names of rlm, and the tests below `root` that reach them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._sources: dict[Path, Source] = {}

    @cached_property
    def _helpers(self) -> dict[str, Path]:
        return {path.stem: path for path in (self.root / "tests").rglob("*.py")}

    @cached_property
    def public(self) -> dict[int, str]:
        """The id of every public object with its name. Errors are left out."""
        import rlm

        found: dict[int, str] = {}
        rooms = [rlm, *(_module(f"rlm.{m.name}") for m in pkgutil.iter_modules(rlm.__path__))]
        for room in rooms:
            for name in getattr(room, "__all__", ()) if room is not None else ():
                value = getattr(room, name)
                if not (inspect.isclass(value) and issubclass(value, BaseException)):
                    found.setdefault(id(value), f"{room.__name__}.{name}")
        found[id(importlib.import_module("rlm.cli").main)] = "rlm.cli.main"
        return found

    def reached(self, path: Path, test: str) -> Reach:
        """What one test (`test_x` or `TestC::test_x`) reaches."""
        source = self.source(path)
        reach = Reach()
        for node in find_tests(source.tree.body, test.split("::") if test else []):
            self._follow(source, node, reach, set(), own=True)
        return reach

    def counts(self, path: Path, test: str) -> bool:
        """Whether a test counts as a proof; a class or a file does when one of its tests does."""
        source = self.source(path)
        for node in find_tests(source.tree.body, test.split("::") if test else []):
            reach = Reach()
            self._follow(source, node, reach, set(), own=True)
            if reach.counts:
                return True
        return False

    def source(self, path: Path) -> Source:
        """A file of tests or helpers, parsed once."""
        if path not in self._sources:
            self._sources[path] = Source(path)
        return self._sources[path]

    def _follow(
        self, source: Source, node: ast.AST, reach: Reach, seen: set[int], *, own: bool
    ) -> None:
        """Add what this node uses, then what its helpers and fixtures use."""
        if id(node) in seen:
            return
        seen.add(id(node))
        if _starts_rlm(node):
            (reach.called if own else reach.given).add("a process of rlm")
        for value in self._values(source, node):
            name = self.public.get(id(value))
            if name is None and own and _does_something(value):
                reach.inner.add(f"{value.__module__}.{value.__qualname__}")
            elif name is not None and _does_something(value):
                (reach.called if own else reach.given).add(name)
            elif name is not None and own:
                reach.types.add(name)
        for name in sorted({part.id for part in ast.walk(node) if isinstance(part, ast.Name)}):
            if name in source.definitions:
                inner = source.definitions[name]
                self._follow(source, inner, reach, seen, own=own and not _is_fixture(inner))
            elif name in source.imports and (helper := self._helper(source, name)) is not None:
                self._follow(*helper, reach, seen, own=False)
        for asked in _parameters(node):
            found = self._fixture(source, asked)
            if found is not None:
                self._follow(*found, reach, seen, own=False)

    def _values(self, source: Source, node: ast.AST) -> list[Any]:
        """The objects of rlm that the names in a node stand for."""
        found = []
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute | ast.Name):
                value = self._value(source, part)
                if value is not None and not isinstance(value, ModuleType):
                    found.append(value)
        return found

    def _value(self, source: Source, node: ast.expr) -> Any:
        if isinstance(node, ast.Attribute):
            outer = self._value(source, node.value)
            if isinstance(outer, ModuleType):
                return getattr(outer, node.attr, None) or _module(f"{outer.__name__}.{node.attr}")
            return None
        if not isinstance(node, ast.Name) or node.id not in source.imports:
            return None
        home, name = source.imports[node.id]
        if home.partition(".")[0] != "rlm":
            return None
        module = _module(home)
        return module if name is None else getattr(module, name, None) or _module(f"{home}.{name}")

    def _helper(self, source: Source, name: str) -> tuple[Source, ast.stmt] | None:
        """Where a helper module of the tests defines a name."""
        home, inner = source.imports[name]
        path = self._helpers.get(home)
        if path is None or inner is None:
            return None
        other = self.source(path)
        return (other, other.definitions[inner]) if inner in other.definitions else None

    def _fixture(self, source: Source, name: str) -> tuple[Source, ast.stmt] | None:
        """The fixture of this name: in the file, or in the nearest conftest."""
        places = [source.path, *(up / "conftest.py" for up in source.path.parents)]
        for path in places:
            if path.is_file() and self.root in path.parents:
                found = self.source(path).definitions.get(name)
                if found is not None and _is_fixture(found):
                    return self.source(path), found
        return None


def find_tests(body: list[ast.stmt], names: list[str]) -> list[ast.AST]:
    """The test functions that a name stands for."""
    found: list[ast.AST] = []
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            if not names or node.name == names[0]:
                found += find_tests(node.body, names[1:])
        elif (
            isinstance(node, Function)
            and node.name.startswith("test")
            and (not names or node.name == names[0])
        ):
            found.append(node)
    return found


def _parameters(node: ast.AST) -> list[str]:
    """The fixtures that a test or a fixture asks for."""
    asked = (
        [a.arg for a in node.args.args + node.args.kwonlyargs] if isinstance(node, Function) else []
    )
    for part in node.decorator_list if isinstance(node, Function) else ():
        if isinstance(part, ast.Call) and ast.unparse(part.func).endswith("usefixtures"):
            asked += [arg.value for arg in part.args if isinstance(arg, ast.Constant)]
    return asked


def _is_fixture(node: ast.stmt) -> bool:
    return isinstance(node, Function) and any(
        "fixture" in ast.unparse(each) for each in node.decorator_list
    )


def _starts_rlm(node: ast.AST) -> bool:
    """Whether `-m rlm` stands in a list or a call here, or a script that imports the package."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            if re.search(r"^(import (\w+, )*rlm$|from rlm import )", part.value, re.MULTILINE):
                return True
            continue
        parts = part.args if isinstance(part, ast.Call) else getattr(part, "elts", [])
        words = [each.value if isinstance(each, ast.Constant) else None for each in parts]
        if ("-m", "rlm") in pairwise(words):
            return True
    return False


def _does_something(value: Any) -> bool:
    """Whether a value is a function of rlm, or a class of it that is more than data."""
    if inspect.isclass(value):
        data = issubclass(value, BaseException | tuple | Enum)
        if data or is_dataclass(value) or getattr(value, "_is_protocol", False):
            return False
    elif not inspect.isfunction(value):
        return False
    return str(value.__module__).partition(".")[0] == "rlm"


@cache
def _module(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
