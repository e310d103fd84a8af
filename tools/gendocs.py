"""Writes the parts of docs/ that the code can say about itself; `--check` fails when one is stale.

    python tools/gendocs.py            write them (`make docs`)
    python tools/gendocs.py --check    write nothing; exit 1 and say what is stale

A page is a function that returns Markdown. Pages hold nothing that differs between machines: no
time, no path, no width of a terminal, no wording of an installed library.

The requirement matrix joins docs/requirements.toml with the marks `@pytest.mark.req("ID")` in
tests/. A mark counts when its test goes through a public door (tools/doors.py); the others are
listed at the end of the page. A mark that names no row is an error, and so is a row that was proven
and has lost its last test: writing refuses too, so a proof cannot vanish unseen. `--forget ID` lets
one go on purpose.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import house
from doors import Doors

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 90
SHORT_DEFAULT = 20
LISTED_TESTS = 4
"""So many tests are named in a row of the matrix; the rest are counted."""


class Stale(Exception):
    """Something that `make docs` alone does not put right."""


# -- the requirement matrix


@dataclass
class Marks:
    """Which tests carry which requirement."""

    proofs: dict[str, list[str]] = field(default_factory=dict)
    indoors: dict[str, list[str]] = field(default_factory=dict)
    """Marks that do not count, because their test goes through no public door."""
    places: dict[str, str] = field(default_factory=dict)
    """Where each id was first seen, for messages."""

    def add(self, ids: Iterable[str], proof: str, place: str, *, runs: bool, counts: bool) -> None:
        for name in ids:
            self.places.setdefault(name, place)
            found = (self.proofs if counts else self.indoors).setdefault(name, [])
            if runs and proof not in found:
                found.append(proof)


def read_rows(path: Path) -> list[tuple[str, dict[str, str]]]:
    """(title, rows) of each group, in order. An id that occurs twice is an error."""
    table = tomllib.loads(path.read_text("utf-8"))
    groups = [(group["title"], dict(group["rows"])) for group in table["group"]]
    seen: set[str] = set()
    for _, rows in groups:
        for name in rows:
            if name in seen:
                raise Stale(f"{path.name}: {name} is listed twice")
            seen.add(name)
    return groups


def read_marks(root: Path) -> Marks:
    """The marks of every test under `root`/tests. What is skipped, or expected to fail, proves
    nothing."""
    marks, doors = Marks(), Doors(root)
    for path in sorted((root / "tests").rglob("test_*.py")):
        if "mark.req(" not in path.read_text("utf-8"):
            continue
        for test, nodes in _marked(doors.source(path).tree):
            _note(marks, doors, nodes, path.relative_to(root).as_posix(), test)
    return marks


def _marked(tree: ast.Module) -> Iterator[tuple[str, list[ast.expr]]]:
    """Each test by its name in the file, with its decorators; "" is the whole file."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(_is_name(t, "pytestmark") for t in node.targets):
            yield "", [node.value]
    yield from _marked_in(tree.body, "")


def _marked_in(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, list[ast.expr]]]:
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield prefix + node.name, node.decorator_list
            yield from _marked_in(node.body, f"{prefix}{node.name}::")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
            "test"
        ):
            yield prefix + node.name, node.decorator_list


def _note(marks: Marks, doors: Doors, nodes: list[ast.expr], name: str, test: str) -> None:
    inner = [part for node in nodes for part in ast.walk(node)]
    skipped = any(
        isinstance(part, ast.Attribute) and part.attr in ("skip", "xfail") for part in inner
    )
    for part in inner:
        if isinstance(part, ast.Call) and _is_req(part.func):
            place = f"{name}:{part.lineno}"
            ids = _literals(part, place)
            counts = doors.counts(doors.root / name, test)
            proof = f"{name}::{test}" if test else name
            marks.add(ids, proof, place, runs=not skipped, counts=counts)


def _is_req(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "req"
        and ast.unparse(node).endswith("mark.req")
    )


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _literals(call: ast.Call, place: str) -> list[str]:
    found = [
        arg.value
        for arg in call.args
        if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
    ]
    if len(found) != len(call.args) or call.keywords or not found:
        raise Stale(f'{place}: write the ids out, like @pytest.mark.req("RB-01", "RB-02")')
    return found


def written_states(page: Path) -> dict[str, str]:
    """Each id of the written matrix with its state."""
    if not page.is_file():
        return {}
    rows = re.findall(
        r"^\| (\S+) \| .* \| (open|proven) \| .*\|$", page.read_text("utf-8"), re.MULTILINE
    )
    return dict(rows)


def requirements_page(root: Path = ROOT, forget: Collection[str] = ()) -> str:
    """The matrix. Raises Stale for a mark without a row, and for a row that went or lost its last
    test."""
    groups = read_rows(root / "docs" / "requirements.toml")
    marks = read_marks(root)
    known = {name for _, rows in groups for name in rows}
    problems = [
        f"{place}: {name} is no row of docs/requirements.toml: correct the mark, or add the row"
        for name, place in marks.places.items()
        if name not in known
    ]
    for name, state in written_states(root / "docs" / "requirements.md").items():
        if name in forget or (name in known and (state == "open" or marks.proofs.get(name))):
            continue
        what = "was proven and has lost its last test" if name in known else "is no row any more"
        problems.append(
            f"docs/requirements.md: {name} {what}: put it back, or let it go with "
            f"`python tools/gendocs.py --forget {name}`"
        )
    if problems:
        raise Stale("\n".join(problems))
    total = sum(len(rows) for _, rows in groups)
    proven = sum(bool(marks.proofs.get(name)) for name in known)
    lines = [
        "# Requirements",
        "",
        (
            f"{proven} of {total} rows are proven by a test that goes through a public door: the"
            " command line, or a name"
        ),
        (
            "that `rlm` or one of its rooms exports. The others are open. A test names its rows"
            ' with `@pytest.mark.req("ID")`.'
        ),
        "The rows are in `requirements.toml`.",
    ]
    for title, rows in groups:
        done = sum(bool(marks.proofs.get(name)) for name in rows)
        lines += ["", f"## {title}", "", f"{done} of {len(rows)} proven.", ""]
        lines += ["| id | requirement | state | proven by |", "|---|---|---|---|"]
        lines += [_row(name, text, marks.proofs.get(name, [])) for name, text in rows.items()]
    return "\n".join([*lines, *_indoors(marks)])


def _indoors(marks: Marks) -> list[str]:
    """The marks that do not count, by test."""
    tests: dict[str, list[str]] = {}
    for name, proofs in marks.indoors.items():
        for proof in proofs:
            tests.setdefault(proof, []).append(name)
    if not tests:
        return []
    lines = ["", "## Marks that do not count", ""]
    lines += ["These tests call what is not public, so they prove nothing by themselves.", ""]
    return lines + [f"- `{proof}`: {', '.join(tests[proof])}" for proof in sorted(tests)]


def _row(name: str, text: str, proofs: list[str]) -> str:
    shown = [f"`{proof}`" for proof in proofs[:LISTED_TESTS]]
    if len(proofs) > LISTED_TESTS:
        shown.append(f"and {len(proofs) - LISTED_TESTS} more")
    state = "proven" if proofs else "open"
    return f"| {name} | {text.replace('|', '/')} | {state} | {'<br>'.join(shown)} |"


# -- the command line


CLI_PREFACE = """\
Also as `rlm-agent`, the name for coding agents, and as `python -m rlm`: the same commands and options. Data goes
to stdout, messages go to stderr. `rlm completion --help` says how a shell completes commands.

| exit code | means |
|---|---|
| 0 | done; a list that is empty is a list |
| 1 | nothing was found, or a check failed |
| 2 | bad input, or a store that cannot be used |
| 130 | interrupted |

A table on a terminal fits its width. In a pipe or a file it is lines with tabs between the cells; the first line
has the names of the columns, and every column is there, also an empty one. `rlm memory list | tail -n +2 |
cut -f 1` gives the ids. A list that is empty prints nothing. `--json` is the form for programs."""  # noqa: E501


def cli_page() -> str:
    """The help of every command. Rendered here, because a library's own wording changes with its
    version."""
    from rlm.cli.app import app

    lines = ["# The command line", "", CLI_PREFACE]
    for path, command in _commands("rlm", app):
        lines += ["", f"## `{path}`", "", "```text", *_help(path, command), "```"]
    return "\n".join(lines).replace(str(Path.home()), "~")


def _commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, inner in _inner(command).items():
        yield from _commands(f"{path} {name}", inner)


def _inner(command: Any) -> dict[str, Any]:
    """The commands below a group, in order."""
    if not hasattr(command, "list_commands"):
        return {}
    context = command.context_class(command)
    found = {name: command.get_command(context, name) for name in command.list_commands(context)}
    return {name: inner for name, inner in found.items() if not inner.hidden}


def _help(path: str, command: Any) -> list[str]:
    from rlm.cli.examples import EXAMPLES

    inner = _inner(command)
    shown = [param for param in command.params if not getattr(param, "hidden", False)]
    arguments = [param for param in shown if param.param_type_name == "argument"]
    options = [
        param for param in shown if param.param_type_name == "option" and "--help" not in param.opts
    ]
    usage = [
        path,
        "[OPTIONS]",
        *(_argument(param) for param in arguments),
        *(["COMMAND …"] if inner else []),
    ]
    lines = [f"Usage: {' '.join(usage)}", "", *_prose(command.help)]
    lines += _table("Arguments", [(_argument(param), _about(param)) for param in arguments])
    lines += _table("Options", [(_option(param), _about(param)) for param in options])
    lines += _table("Commands", [(name, _first_line(sub.help)) for name, sub in inner.items()])
    examples = EXAMPLES.get(path.partition(" ")[2], ())
    lines += ["", "Examples:", *(f"  {line}" for line in examples)] if examples else []
    return [line.rstrip() for line in lines]


def _argument(param: Any) -> str:
    """As click writes it: a metavar as it is given."""
    if param.metavar:
        return str(param.metavar).replace("...", "…")
    name = (param.name or "").upper() + ("…" if param.nargs == -1 else "")
    return name if param.required else f"[{name}]"


def _option(param: Any) -> str:
    names = "/".join([", ".join(param.opts), *param.secondary_opts])
    if getattr(param, "is_flag", False) or getattr(param, "count", False):
        return names
    choices = "|".join(map(str, getattr(param.type, "choices", ())))
    return f"{names} {param.metavar or choices or 'VALUE'}"


def _about(param: Any) -> str:
    text = " ".join((getattr(param, "help", None) or "").split())
    if param.required:
        return f"{text} (required)".strip()
    default = param.default
    said = "default" in text or re.search(r"\[[^\]]+\]\.?$", text)  # most help texts end in `[50].`
    told = isinstance(default, str | int | float) and default not in ("", False) and not said
    return f"{text} (default: {default})".strip() if told else text


def _prose(text: str | None) -> list[str]:
    lines: list[str] = []
    for part in inspect.cleandoc(text or "").split("\n\n"):
        if "\b" in part or part.startswith("    "):
            lines += [f"  {line}" for line in part.replace("\b", "").strip("\n").splitlines()]
        else:
            lines += [f"  {line}" for line in textwrap.wrap(" ".join(part.split()), WIDTH - 2)]
        lines.append("")
    return lines[:-1]


def _table(title: str, rows: list[tuple[str, str]]) -> list[str]:
    if not rows:
        return []
    wide = min(30, max(len(name) for name, _ in rows))
    lines = ["", f"{title}:"]
    for name, text in rows:
        wrapped = textwrap.wrap(text, WIDTH - wide - 4) or [""]
        if len(name) > wide:
            lines.append(f"  {name}")
            name = ""
        lines.append(f"  {name:<{wide}}  {wrapped[0]}")
        lines += [f"  {'':<{wide}}  {line}" for line in wrapped[1:]]
    return lines


# -- the schema

FTS5_SHADOWS = ("data", "idx", "content", "docsize", "config")
KINDS = {"table": "Tables", "index": "Indexes", "view": "Views", "trigger": "Triggers"}


def schema_page() -> str:
    """The SQL of a fresh store, without the tables that FTS5 keeps for itself."""
    from rlm.store.sqlite.backend import SQLiteMemoryBackend
    from rlm.store.sqlite.migrations import VERSION

    with (
        tempfile.TemporaryDirectory() as folder,
        SQLiteMemoryBackend(Path(folder, "fresh.db"), fts5=True) as store,
    ):
        rows = store.db.rows("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
    virtual = [name for _, name, sql in rows if sql.startswith("CREATE VIRTUAL TABLE")]
    shadows = {f"{name}_{part}" for name in virtual for part in FTS5_SHADOWS} | {"sqlite_sequence"}
    lines = [
        "# The SQL schema",
        "",
        (
            f"Of a fresh store, schema version {VERSION} (`PRAGMA user_version`). `recall_*` and"
            " the two `_fts`"
        ),
        (
            "tables are derived: they can be dropped and built again from the rows. See"
            " [design.md](design.md)."
        ),
    ]
    for kind, title in KINDS.items():
        lines += ["", f"## {title}"]
        for _, name, sql in sorted(row for row in rows if row[0] == kind and row[1] not in shadows):
            lines += ["", f"### {name}", "", "```sql", f"{textwrap.dedent(sql)};", "```"]
    return "\n".join(lines)


# -- settings, errors, names


def settings_page() -> str:
    """Every field of `Settings`."""
    from rlm import config

    lines = [
        "# Settings",
        "",
        (
            "A value comes from, in this order: the call or the command-line flag, the environment,"
            " the config"
        ),
        (
            "file, the default. The config file is TOML, at `RLM_CONFIG` or"
            f" `{config.DEFAULT_CONFIG}`."
        ),
        "",
        "| setting | variable | default | what it does |",
        "|---|---|---|---|",
    ]
    for spec in dataclasses.fields(config.Settings):
        default = f"`{spec.default}`" if spec.default != "" else "empty"
        doc = spec.metadata["doc"].replace("|", "\\|")
        lines.append(f"| `{spec.name}` | `{spec.metadata['env']}` | {default} | {doc} |")
    hidden = ", ".join(f"`{name}`" for name in sorted(config.ENVIRONMENT_ONLY))
    lines += ["", f"From the environment only, never from a file: {hidden}."]
    lines += [
        "",
        "## Endpoints",
        "",
        (
            "A SPARQL endpoint is named by a table `[endpoints.NAME]` of the config file, and asked"
            " by that name."
        ),
        "",
        "| option | default | what it does |",
        "|---|---|---|",
    ]
    for spec in config.ENDPOINT_OPTIONS:
        default = f"`{spec.default}`" if spec.default != "" else "empty"
        lines.append(
            f"| `{spec.name}` | {default} | {spec.metadata['doc'].replace('|', chr(92) + '|')} |"
        )
    secrets = ", ".join(
        f"`{config.EndpointSettings('name').variable}{word.upper()}`"
        for word in config.ENDPOINT_SECRETS
    )
    lines += [
        "",
        f"Its secrets come from the environment only; for one called `name` they are {secrets}.",
    ]
    return "\n".join(lines)


# -- the tools of the MCP server


def mcp_page() -> str:
    """Every tool, with its arguments."""
    from rlm.mcp_server.library import Library
    from rlm.mcp_server.toolsets import TOOLSETS, pick_tools

    lines = [
        "# MCP tools",
        "",
        "`rlm mcp` serves them on standard input and output, `rlm mcp --http HOST:PORT` over HTTP"
        " with tokens",
        "(`rlm token add NAME`). A value is taken as it is or refused: there is no other argument,"
        " and none names a",
        "tenant. A token with `--read-only` has the tools that only read.",
        "",
        *_tool_lines("Always", pick_tools((), Library())),
    ]
    known = len(pick_tools((), Library()))
    for name in TOOLSETS:
        tools = pick_tools((name,), Library())[known:]
        lines += _tool_lines(f"With `--toolsets {name}`", tools)
    return "\n".join(lines).rstrip()


def _tool_lines(title: str, tools: Iterable[Any]) -> Iterator[str]:
    yield from (f"## {title}", "")
    for tool in tools:
        does = ["writes"]
        does += ["destructive"] if tool.destructive else []
        does += ["idempotent"] if tool.idempotent and tool.writes else []
        does += ["may ask a model"] if tool.open_world else []
        yield from (f"### {tool.name}", "", *textwrap.wrap(tool.description, WIDTH), "")
        yield from (f"It {'; '.join(does)}." if tool.writes else "It reads only.", "")
        if tool.schema["properties"]:
            yield from ("| argument | value | |", "|---|---|---|")
        for name, part in tool.schema["properties"].items():
            needed = "required" if name in tool.schema["required"] else "optional"
            said = [part[key] for key in ("description",) if key in part]
            yield f"| `{name}` | {_value(part)}, {needed} | {''.join(said)} |"
        yield ""


def _value(part: dict[str, Any]) -> str:
    """What an argument may be."""
    if "enum" in part:
        return " or ".join(f"`{word}`" for word in part["enum"])
    kind = {"string": "text", "integer": "whole number", "array": "list of texts"}
    said = kind.get(part["type"], part["type"])
    if "maximum" in part:
        said += f" {part['minimum']} to {part['maximum']:,}"
    elif "maxLength" in part:
        said += f" up to {part['maxLength']:,} characters"
    elif "maxItems" in part:
        said += f", {part['maxItems']} at most"
    return said + (f" [{part['default']}]" if part.get("default") not in (None, "") else "")


def load_everything() -> None:
    """Import every module of rlm, so that every class of error is known."""
    import rlm

    for module in pkgutil.walk_packages(rlm.__path__, "rlm."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def error_tree() -> list[tuple[int, type[Exception]]]:
    """(depth, class) of every error of ours, in the order of their definition."""
    from rlm.errors import RLMError

    def walk(depth: int, kind: type[Exception]) -> Iterator[tuple[int, type[Exception]]]:
        yield depth, kind
        for inner in kind.__subclasses__():
            if inner.__module__.split(".")[0] == "rlm":
                yield from walk(depth + 1, inner)

    load_everything()
    return list(walk(0, RLMError))


def drawn_tree(text: str) -> list[tuple[int, str]]:
    """(depth, name) of each line of a tree drawn with box characters."""
    found = re.findall(r"^ {4}((?:[│ ] {3})*)(├── |└── )?([A-Z]\w*)", text, re.MULTILINE)
    return [(len(bars) // 4 + bool(branch), name) for bars, branch, name in found]


def draw_tree(tree: list[tuple[int, str]]) -> list[str]:
    """The lines of a tree; `drawn_tree` reads them back."""
    lines = []
    for place, (depth, name) in enumerate(tree):
        bars = ""
        for level in range(1, depth + 1):
            deeper = next((d for d, _ in tree[place + 1 :] if d <= level), 0)
            last = deeper < level
            bars += ("└── " if last else "├── ") if level == depth else ("    " if last else "│   ")
        lines.append(bars + name)
    return lines


def errors_page() -> str:
    """The tree, drawn from the classes. Raises Stale when the one in errors.py differs."""
    from rlm import errors

    tree = error_tree()
    ours = [(depth, kind.__name__) for depth, kind in tree]
    if drawn_tree(errors.__doc__ or "") != ours:
        wrong = sorted({name for _, name in set(drawn_tree(errors.__doc__ or "")) ^ set(ours)})
        raise Stale(
            "the tree in the docstring of src/rlm/errors.py differs from the classes:"
            f" {wrong or 'order'}"
        )
    lines = ["# Errors", "", "Catch `RLMError` to catch everything that rlm raises on purpose.", ""]
    lines += [
        "```text",
        *draw_tree(ours),
        "```",
        "",
        "| error | also a | what it means |",
        "|---|---|---|",
    ]
    for _, kind in tree:
        foreign = [base.__name__ for base in kind.__bases__ if base.__module__ == "builtins"]
        also = ", ".join(f"`{name}`" for name in foreign if name != "Exception")
        lines.append(
            f"| `{kind.__name__}` | {also} | {' '.join((inspect.getdoc(kind) or '').split())} |"
        )
    return "\n".join(lines)


def api_page() -> str:
    """The public names, with signatures and the first line of each docstring."""
    import rlm
    from rlm.ontology import Ontology
    from rlm.store.sql.graph import GraphStore

    lines = [
        "# The Python API",
        "",
        "What `import rlm` gives. Errors are in [errors.md](errors.md).",
    ]
    names = [name for name in rlm.__all__ if not name.startswith("_")]
    values = {name: getattr(rlm, name) for name in names}
    functions = [name for name in names if inspect.isfunction(values[name])]
    classes = [
        name for name in names if inspect.isclass(values[name]) and not _is_error(values[name])
    ]
    constants = [
        name for name in names if name not in functions and not inspect.isclass(values[name])
    ]
    lines += ["", "## Functions"]
    for name in functions:
        lines += ["", f"### {name}", "", *_signature(name, values[name])]
        lines += ["", _first_line(values[name].__doc__)]
    lines += ["", "## Classes"]
    for name in classes:
        lines += _class(name, values[name])
    lines += ["", "## Constants", "", "| name | value |", "|---|---|"]
    lines += [f"| `{name}` | `{values[name]!r}` |" for name in constants]
    lines += _agent()
    lines += ["", "## The hypergraph", "", "What `store.graph` of a SQLite store gives."]
    own = ("atomic", "flush", "read_nodes")  # what its parts need of each other
    lines += _class("GraphStore", _flatten(GraphStore, own), constructor=False)
    lines += [
        "",
        "## Ontologies",
        "",
        "What `rlm.ontology.open` gives: [ontologies.md](ontologies.md)",
    ]
    lines[-1] += " has an example of each."
    lines += _class("Ontology", _flatten(Ontology), constructor=False)
    return "\n".join(lines)


def _agent() -> Iterator[str]:
    """What `rlm.agent` gives: a run, what can be chosen about it, and what comes of it."""
    from rlm import agent

    yield from ("", "## Running an agent", "", "What `from rlm import agent` gives.")
    for name in ("run", "run_spec"):
        function = getattr(agent, name)
        yield from ("", f"### agent.{name}", "", *_signature(f"agent.{name}", function))
        yield from ("", "\n\n".join(_paragraphs(function.__doc__)))
    for kind in (agent.RunSpec, agent.AgentResult):
        yield from _class(f"agent.{kind.__name__}", kind, constructor=False)
        yield from ("", "| field | default | |", "|---|---|---|")
        yield from _fields(kind)


def _paragraphs(text: str | None) -> list[str]:
    return [" ".join(part.split()) for part in inspect.cleandoc(text or "").split("\n\n")]


def _fields(kind: type) -> Iterator[str]:
    """The fields of a dataclass with their types, their defaults, and what stands below each."""
    found: dict[str, str] = {}
    for part in reversed(kind.__mro__[:-1]):
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(part))).body
        assert isinstance(tree, ast.ClassDef)
        for one, after in pairwise([*tree.body, ast.Pass()]):
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                is_said = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                said = _first_line(str(after.value.value)) if is_said else ""
                default = ast.unparse(one.value) if one.value else ""
                default = "" if default.startswith("field(") else default
                name = f"`{one.target.id}: {ast.unparse(one.annotation)}`".replace("|", "\\|")
                found[one.target.id] = f"| {name} | {f'`{default}`' if default else ''} | {said} |"
    yield from found.values()


def _flatten(kind: type, without: tuple[str, ...] = ()) -> type:
    """A class with what it inherits as its own."""
    parts = [vars(part) for part in reversed(kind.__mro__[:-1])]
    found = {name: value for part in parts for name, value in part.items() if name not in without}
    found = {k: v for k, v in found.items() if k not in ("__dict__", "__weakref__")}
    return type(kind.__name__, (), {**found, "__doc__": kind.__doc__})


def _is_error(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, Exception)


def _class(name: str, kind: type, *, constructor: bool = True) -> list[str]:
    from rlm import MemoryBackend

    lines = ["", f"### {name}", "", _first_line(kind.__doc__)]
    made = [m for m in ("__init__", "__new__") if m in vars(kind)]
    if constructor and made and not getattr(kind, "_is_protocol", False):
        lines += ["", *_signature(name, vars(kind)[made[-1]], skip=1)]
    rows = []
    for label, value in vars(kind).items():
        inner = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if label.startswith("_"):
            continue
        if inspect.isfunction(inner):
            text = _flat(inner, skip=0 if isinstance(value, staticmethod) else 1).replace(
                "|", "\\|"
            )
            contract = getattr(MemoryBackend, label, inner)  # says it once for every store
            rows.append(f"| `{label}{text}` | {_first_line(inner.__doc__ or contract.__doc__)} |")
        elif isinstance(value, property) or hasattr(value, "attrname"):
            rows.append(f"| `{label}` | {_first_line(value.__doc__)} |")
    if rows:
        lines += ["", "| member | what it does |", "|---|---|", *rows]
    return lines


class _Plain(str):
    """An annotation that prints as it was written."""

    def __repr__(self) -> str:
        return str(self)


def _parts(function: Callable[..., Any], skip: int) -> tuple[list[str], str]:
    signature = inspect.signature(function)
    given = list(signature.parameters.values())[skip:]
    plain = [
        p.replace(annotation=_Plain(p.annotation)) if isinstance(p.annotation, str) else p
        for p in given
    ]
    texts = [str(p) for p in plain]
    star = next((i for i, p in enumerate(plain) if p.kind is p.KEYWORD_ONLY), None)
    if star is not None and not any(p.kind is p.VAR_POSITIONAL for p in plain):
        texts.insert(star, "*")
    returns = signature.return_annotation
    none = returns is signature.empty or returns in (None, "None")
    return (
        texts,
        "" if none else f" -> {_Plain(returns) if isinstance(returns, str) else returns.__name__}",
    )


def _flat(function: Callable[..., Any], skip: int) -> str:
    """One line: names and defaults, since a table cell has no room for types."""
    texts, returns = _parts(function, skip)
    return f"({', '.join(map(_untyped, texts))}){returns}"


def _untyped(text: str) -> str:
    """`limit: int = 5` as `limit=5`; a default that is long as `…`."""
    name = text.split(":")[0].split("=")[0].strip()
    default = text.rpartition(" = ")[2] if " = " in text else ""
    return name + (f"={default if len(default) <= SHORT_DEFAULT else '…'}" if default else "")


def _signature(name: str, function: Callable[..., Any], skip: int = 0) -> list[str]:
    texts, returns = _parts(function, skip)
    end = f"){returns}" if skip == 0 else ")"
    line = f"{name}({', '.join(texts)}{end}"
    lines = [line] if len(line) <= WIDTH else [f"{name}(", *(f"    {text}," for text in texts), end]
    return ["```python", *lines, "```"]


def _first_line(text: str | None) -> str:
    return " ".join(inspect.cleandoc(text or "").partition("\n\n")[0].split())


# -- writing

PAGES: dict[str, Callable[[], str]] = {
    "requirements.md": requirements_page,
    "cli.md": cli_page,
    "schema.md": schema_page,
    "settings.md": settings_page,
    "mcp.md": mcp_page,
    "errors.md": errors_page,
    "api.md": api_page,
}
SECTIONS: dict[str, tuple[str, Callable[[], str]]] = {"design.md": ("house", house.section)}
"""Pages that people write, with one generated part between two marks."""
NOTE = "<!-- Generated by tools/gendocs.py: do not edit. `make docs` writes it anew. -->\n\n"


def run(
    *,
    check: bool,
    forget: Collection[str] = (),
    root: Path = ROOT,
    only: Collection[str] = (*PAGES, *SECTIONS),
) -> list[str]:
    """Write the pages, or only compare them. Returns the problems; none means all is well."""
    problems = []
    for name in only:
        path = root / "docs" / name
        try:
            text = _page(name, path, root, forget)
        except Stale as exc:
            problems.append(str(exc))
            continue
        if path.is_file() and path.read_text("utf-8") == text:
            continue
        if check:
            problems.append(f"docs/{name} is stale: run `make docs` and commit the result")
        else:
            path.write_text(text, "utf-8")
    return problems


def _page(name: str, path: Path, root: Path, forget: Collection[str]) -> str:
    """A page as it should be."""
    if name not in SECTIONS:
        body = requirements_page(root, forget) if name == "requirements.md" else PAGES[name]()
        return f"{NOTE}{body}\n"
    mark, write = SECTIONS[name]
    begin, end = f"<!-- {mark}: written by `make docs` -->", f"<!-- {mark}: end -->"
    before, _, rest = path.read_text("utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise Stale(f"docs/{name} has lost its marks: put {begin} and {end} back")
    return f"{before}{begin}\n\n{write()}\n\n{end}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the generated parts of docs/.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 when a page is stale"
    )
    parser.add_argument(
        "--forget", action="append", default=[], metavar="ID", help="let a proven row go"
    )
    options = parser.parse_args()
    problems = run(check=options.check, forget=options.forget)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
