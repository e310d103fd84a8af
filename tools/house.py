"""The house at a glance: its rooms with their lines, who imports whom, and what goes the wrong way.

    python tools/house.py              rooms, edges between them, cycles (`make house`)
    python tools/house.py --mermaid    the picture in docs/design.md

A room is a module or a package right below `src/rlm`. This is the one reader of imports: the
layering test (tests/project/test_imports.py) and the picture in docs/design.md use it too.
"""

from __future__ import annotations

import argparse
import ast
import functools
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEVELS = (
    (
        "errors",
        "config",
        "hook_settings",
        "project",
        "clock",
        "urls",
        "http",
        "files",
        "frames",
        "kernel",
        "lazy",
        "worker",
        "_version",
    ),
    ("handles", "llm", "sandbox", "ontology", "retrieval"),
    ("store", "loop"),
    ("tools", "context", "learning", "packs"),
    ("agent", "service", "train", "evaluate"),
    ("cli", "mcp_server", "hook", "dashboard", "__main__"),
)
"""From the ground up. Imports go down; on level 1 and 2 no room knows its neighbour."""
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
STRANGERS = (1, 2)
EDGE = len(LEVELS) - 1

SIBLINGS = {
    "context": (),
    "learning": ("context",),
    "packs": ("learning", "context"),
    "tools": ("learning", "context"),
}
"""Where rooms of one level may know each other: in this direction, so that there is no cycle."""
NOT_KNOWN = {"agent": ("packs",)}
"""Rooms below that are none of a room's business."""
WALLS = {"rlm.llm.offline": "rlm.llm.open"}
"""A room within a room, and the one module outside of it that may import it."""

SUBROOMS = (
    ("terms", "vocabulary", "labels", "background"),
    ("query", "meta"),
    ("engine",),
    ("views", "remote", "datasets"),
    ("source",),
)
"""Of `ontology`. On no level but the first a sub-room knows its neighbour."""
SUBLEVEL = {name: level for level, names in enumerate(SUBROOMS) for name in names}

Finding = tuple[int, str]
"""A line, and what is there."""
Edges = Mapping[tuple[str, str], int]


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    name: str
    path: Path
    source: str

    @property
    def room(self) -> str:
        return room_of(self.name)

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def lines(self) -> int:
        return self.source.count("\n")


def read_modules(root: Path = ROOT) -> dict[str, Module]:
    """Every module below `root`/src/rlm by its dotted name."""
    found = {}
    for path in sorted((root / "src" / "rlm").rglob("*.py")):
        parts = path.relative_to(root / "src").with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        found[name] = Module(name, path, path.read_text("utf-8"))
    return found


def room_of(module: str) -> str:
    """`rlm.store.gate` lives in `store`; the package itself is ''."""
    return module.split(".")[1] if "." in module else ""


@functools.cache
def parse(source: str) -> ast.Module:
    return ast.parse(source)


@functools.cache
def imports(source: str, module: str, *, is_package: bool = False) -> tuple[Finding, ...]:
    """Every module of rlm that is imported, with its line; those for type checkers too."""
    return tuple(_imports(source, module, is_package=is_package))


def _imports(source: str, module: str, *, is_package: bool) -> Iterator[Finding]:
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            yield from ((node.lineno, name) for name in names if name.split(".")[0] == "rlm")
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")
                kept = parts[: len(parts) - node.level + is_package]
                base = ".".join([*kept, *([base] if base else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
            walled = [name for name in names if name in WALLS]
            if base in ("rlm", "rlm.ontology"):
                yield from ((node.lineno, name) for name in names)
            elif base.startswith("rlm."):
                yield from ((node.lineno, name) for name in walled or [base])


def wrong_imports(source: str, module: str, *, is_package: bool = False) -> list[Finding]:
    """Imports that do not go down. The package's own `__init__` is the public API and may name
    anything."""
    if module == "rlm":
        return []
    room = room_of(module)
    if room not in LEVEL:
        return [(1, f"{module} is in no level of the house: add it to LEVELS in tools/house.py")]
    level, found = LEVEL[room], []
    for line, target in imports(source, module, is_package=is_package):
        other = room_of(target)
        if _is_walled(target, module):
            found.append((line, f"{module} imports {target}, which is behind a wall"))
        elif other == room:
            continue
        elif other not in LEVEL:  # a public name, taken from the package itself
            if level != EDGE:
                what = f"{module} takes {target!r} from the public API: import it from its room"
                found.append((line, what))
        elif not _may_know(room, other):
            found.append((line, f"{module} imports {target}"))
    return found


def wrong_subroom_imports(source: str, module: str, *, is_package: bool = False) -> list[Finding]:
    """Imports between the sub-rooms of `ontology` that do not go down, as its docstring says."""
    if room_of(module) != "ontology":
        return []
    subroom, found = _subroom_of(module), []
    for line, target in imports(source, module, is_package=is_package):
        other = _subroom_of(target)
        if room_of(target) != "ontology" or other == subroom:
            continue
        if not subroom:
            found.append((line, f"{module} imports {target}: a cold start pays for it"))
        elif other not in SUBLEVEL or subroom not in SUBLEVEL:
            found.append((line, f"{module} or {target} is in no sub-room: add it to SUBROOMS"))
        elif SUBLEVEL[other] > 0 and SUBLEVEL[other] >= SUBLEVEL[subroom]:
            found.append((line, f"{module} imports {target}"))
    return found


def _subroom_of(module: str) -> str:
    return module.split(".")[2] if module.count(".") > 1 else ""


def _may_know(room: str, other: str) -> bool:
    if LEVEL[other] > LEVEL[room] or other in NOT_KNOWN.get(room, ()):
        return False
    if LEVEL[other] < LEVEL[room]:
        return True
    return LEVEL[room] not in STRANGERS and other in SIBLINGS.get(room, LEVEL)


def _is_walled(target: str, module: str) -> bool:
    return any(
        _is_below(target, inner) and not _is_below(module, inner) and module != door
        for inner, door in WALLS.items()
    )


def _is_below(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def edges_between(modules: Mapping[str, Module]) -> Edges:
    """How many imports go from one room to another."""
    found: Counter[tuple[str, str]] = Counter()
    for name, module in modules.items():
        for _, target in imports(module.source, name, is_package=module.is_package):
            pair = (module.room, room_of(target))
            if pair[0] and pair[0] != pair[1] and pair[1] in LEVEL:
                found[pair] += 1
    return found


def reach(edges: Edges) -> dict[str, set[str]]:
    """The rooms that each room can get to, over any number of imports."""
    known: dict[str, set[str]] = {}
    for start, end in edges:
        known.setdefault(start, set()).add(end)
    grown = True
    while grown:
        grown = False
        for ends in known.values():
            more = set().union(*(known.get(end, ()) for end in ends)) - ends
            grown = grown or bool(more)
            ends |= more
    return known


def cycles(edges: Edges) -> list[tuple[str, ...]]:
    """Rooms that can get back to themselves, those of one circle together."""
    known = reach(edges)
    circles = {
        tuple(sorted(end for end in ends if room in known.get(end, ())))
        for room, ends in known.items()
        if room in ends
    }
    return sorted(circles)


# -- what is shown


def table(modules: Mapping[str, Module]) -> list[str]:
    """The rooms with their modules and lines, the largest first; edges; cycles; wrong imports."""
    lines: Counter[str] = Counter()
    count: Counter[str] = Counter()
    for module in modules.values():
        lines[module.room or "rlm"] += module.lines
        count[module.room or "rlm"] += 1
    edges = edges_between(modules)
    report = [f"{'lines':>7} {'modules':>8}  room"]
    for room, size in lines.most_common():
        uses = [f"{end} {n}" for (start, end), n in sorted(edges.items()) if start == room]
        report.append(f"{size:7,} {count[room]:8}  {room:<10} {', '.join(uses)}".rstrip())
    report.append(f"{lines.total():7,} {count.total():8}  in all")
    circles = cycles(edges)
    report += [f"cycle: {' - '.join(circle)}" for circle in circles] or ["no cycles between rooms"]
    for name, module in modules.items():
        wrong = wrong_imports(module.source, name, is_package=module.is_package)
        report += [f"wrong: {module.path.relative_to(ROOT)}:{line}: {what}" for line, what in wrong]
    return report


def mermaid(modules: Mapping[str, Module]) -> list[str]:
    """The rooms above the ground floor, level by level. An edge that others imply is left out."""
    edges = edges_between(modules)
    known = reach(edges)
    there = {module.room for module in modules.values()}
    lines = ["graph TD"]
    for level in range(EDGE, 0, -1):
        rooms = [room for room in LEVELS[level] if room in there and room != "__main__"]
        lines += [f"  subgraph level{level}[level {level}]", f"    {' ~~~ '.join(rooms)}", "  end"]
    for start, end in sorted(edges):
        implied = False
        for first, other in edges:
            there = known.get(other, set())
            in_circle = start in there or other in known.get(end, ())  # then it implies nothing
            if first == start and other != end and end in there and not in_circle:
                implied = True
        if min(LEVEL[start], LEVEL[end]) > 0 and start != "__main__" and not implied:
            lines.append(f"  {start} --> {end}")
    return lines


def section(root: Path = ROOT) -> str:
    """What docs/design.md shows. It has no line counts: they change with every commit."""
    modules = read_modules(root)
    edges = edges_between(modules)
    rooms = [room for level in LEVELS for room in level]
    rows = ["| level | room | imports |", "|---|---|---|"]
    for room in rooms:
        uses = [f"`{end}`" for end in rooms if (room, end) in edges]
        if uses:
            rows.append(f"| {LEVEL[room]} | `{room}` | {', '.join(uses)} |")
    return "\n".join(["```mermaid", *mermaid(modules), "```", "", *rows])


def main() -> int:
    parser = argparse.ArgumentParser(description="Print the rooms and who imports whom.")
    parser.add_argument("--mermaid", action="store_true", help="print the picture instead")
    modules = read_modules()
    print("\n".join(mermaid(modules) if parser.parse_args().mermaid else table(modules)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
