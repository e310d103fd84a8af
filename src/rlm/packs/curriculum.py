"""Curricula: tasks that teach, as YAML, each with the query that tells right from wrong.

    id: prov_curriculum_v1
    ontology: {name: prov, path: ontology/prov.ttl}
    tasks:
      - id: prov-hierarchy-01
        query: Find all subclasses of Activity.
        tags: [all_subclasses, hierarchy]
        verify: {sparql: "SELECT ?c WHERE { ?c rdfs:subClassOf+ prov:Activity }", compare: set}
        held_out: true

`read_curriculum` refuses a bad file with the line, before anything is opened or asked;
`check_curriculum`, in `curriculum_check`, then asks every `verify` of the ontology. A task that is
`held_out` is for measuring and is never trained on.

The file is read as a tree of PyYAML's nodes, each of which knows its line and column. Nothing is
constructed, so no tag can make an object. A text is what is written: `12` is the text "12".
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import yaml
from yaml import MappingNode, Node, ScalarNode, SequenceNode

from rlm.errors import ConfigError, QueryRefused
from rlm.learning.verify import COMPARES, Verify
from rlm.ontology.query.guard import check_query

KINDS = (
    "namespaces", "describe", "exists", "subclasses", "all_subclasses", "superclasses",
    "all_superclasses", "is_subclass", "properties_by_domain", "properties_by_range", "search",
    "path", "roots", "count", "instances", "absent",
)  # fmt: skip
QUERY_CHARS = 4_000
FILE_BYTES = 1 << 20
SHOWN = 60
_SETS = ("set", "contains_all", "count")
_FILE = ("id", "description", "ontology", "tasks")
_ONTOLOGY = ("name", "path")
_TASK = ("id", "query", "tags", "verify", "held_out")
_VERIFY = ("sparql", "compare")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
N = TypeVar("N", bound=Node)
Fields = dict[str, Node]
"""The values of a mapping by their keys."""


@dataclass(frozen=True, slots=True)
class Task:
    """One question. `line` is where it stands in its file, `verify_line` where its query does."""

    id: str
    query: str
    tags: tuple[str, ...] = ()
    verify: Verify | None = None
    held_out: bool = False
    line: int = field(default=0, compare=False)
    verify_line: int = field(default=0, compare=False)

    @property
    def kind(self) -> str | None:
        """The first tag that names a kind of question."""
        return next((tag for tag in self.tags if tag in KINDS), None)


@dataclass(frozen=True, slots=True)
class Curriculum:
    """`ontology_path` is a file that is there; `path` is the curriculum itself."""

    id: str
    ontology_name: str
    ontology_path: Path
    tasks: tuple[Task, ...]
    path: Path
    description: str = ""

    @property
    def training(self) -> tuple[Task, ...]:
        """What may be trained on."""
        return tuple(task for task in self.tasks if not task.held_out)

    @property
    def held_out(self) -> tuple[Task, ...]:
        """What is only measured."""
        return tuple(task for task in self.tasks if task.held_out)


def read_curriculum(path: str | Path) -> Curriculum:
    """The curriculum; ConfigError with line and column where the file is wrong."""
    file = Path(path).expanduser()
    text = _read(file)
    try:
        return _curriculum(file, _fields(_parse(text), "a curriculum", _FILE, ("description",)))
    except Fault as fault:
        raise ConfigError(f"{file}:{fault}") from fault.__cause__


# -- the file --------------------------------------------------------------------------------------


class Fault(Exception):
    """What is wrong, behind the line and the column where that is."""

    def __init__(self, at: Node | yaml.Mark | None, message: str) -> None:
        mark = at.start_mark if isinstance(at, Node) else at
        line, column = (mark.line, mark.column) if mark is not None else (0, 0)
        super().__init__(f"{line + 1}:{column + 1}: {message}")


def _read(path: Path) -> str:
    try:
        if not path.is_file():
            raise ConfigError(f"there is no curriculum {path}: name a YAML file")
        data = path.read_bytes()
        if len(data) > FILE_BYTES:
            raise ConfigError(f"the curriculum {path} has more than {FILE_BYTES:,} bytes: split it")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data[: exc.start].count(b"\n") + 1
        raise ConfigError(f"{path}:{line}: is not UTF-8: save it as UTF-8") from exc
    except (OSError, ValueError) as exc:  # ValueError: a name with a zero in it
        raise ConfigError(f"the curriculum {str(path)!r} cannot be read: {exc}") from exc


def _parse(text: str) -> Node:
    """The one document of the text."""
    try:
        root: Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as exc:
        mark, why = exc.problem_mark or exc.context_mark, exc.problem or exc.context
        raise Fault(mark, f"is not valid YAML: {why}; check quotes and indentation") from exc
    except yaml.reader.ReaderError as exc:
        before = text[: exc.position].split("\n")
        mark = yaml.Mark("", exc.position, len(before) - 1, len(before[-1]), None, 0)
        raise Fault(mark, f"is not valid YAML: {exc.reason}") from exc
    except RecursionError as exc:
        raise Fault(None, "is nested too deeply") from exc
    if root is None:
        raise Fault(None, "the file is empty: write id, ontology and tasks")
    return root


def quote(value: str) -> str:
    """A value as messages quote it."""
    return repr(value if len(value) <= SHOWN else value[: SHOWN - 1] + "…")


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


# -- parts -----------------------------------------------------------------------------------------


def _curriculum(file: Path, top: Fields) -> Curriculum:
    ontology = _fields(top["ontology"], "ontology", _ONTOLOGY)
    tasks = _require_kind(top["tasks"], SequenceNode, "tasks", "a list, each task behind a dash")
    if not tasks.value:
        raise Fault(tasks, "tasks is empty: write at least one")
    found: dict[str, Task] = {}
    for node in tasks.value:
        fields = _fields(node, "a task", _TASK, ("verify", "held_out"))
        task = _task(fields, _line(node))
        if task.id in found:
            first = f"first in line {found[task.id].line}"
            raise Fault(
                fields["id"], f"the task id {quote(task.id)} is here twice, {first}: rename"
            )
        found[task.id] = task
    description = top.get("description")
    return Curriculum(
        id=_name(top, "id"),
        ontology_name=_name(ontology, "name"),
        ontology_path=_locate_ontology(file, ontology),
        tasks=tuple(found.values()),
        path=file,
        description="" if description is None else _text(description, "description"),
    )


def _task(fields: Fields, line: int) -> Task:
    query = _text(fields["query"], "query")
    if len(query) > QUERY_CHARS:
        why = f"query has {len(query):,} characters, at most {QUERY_CHARS:,}"
        raise Fault(fields["query"], why)
    tags = _require_kind(fields["tags"], SequenceNode, "tags", "a list, as in [subclasses]")
    if not tags.value:
        raise Fault(tags, f"tags is empty: name at least the kind, one of {', '.join(KINDS)}")
    held_out = fields.get("held_out")
    verify, verify_line = _verify(fields["verify"]) if "verify" in fields else (None, 0)
    return Task(
        id=_name(fields, "id"),
        query=query,
        tags=tuple(_text(tag, "a tag") for tag in tags.value),
        verify=verify,
        held_out=held_out is not None and _truth(held_out, "held_out"),
        line=line,
        verify_line=verify_line,
    )


def _verify(node: Node) -> tuple[Verify, int]:
    """The check of a task, and the line of its query."""
    fields = _fields(node, "verify", _VERIFY)
    compare = _text(fields["compare"], "compare")
    if compare not in COMPARES:
        why = f"compare is {quote(compare)}{_instead(compare, COMPARES)}"
        raise Fault(fields["compare"], why)
    sparql, at = _text(fields["sparql"], "sparql"), fields["sparql"]
    try:
        form = check_query(sparql).kind
    except QueryRefused as exc:
        raise Fault(at, f"sparql: {exc}") from exc
    if form not in ("SELECT", "ASK") or (form == "ASK" and compare in _SETS):
        wanted = "SELECT" if compare in _SETS else "ASK or SELECT"
        raise Fault(at, f"sparql is {form}, but compare: {compare} needs {wanted}")
    return Verify(sparql, compare), _line(at)


def _locate_ontology(file: Path, ontology: Fields) -> Path:
    """Where the ontology is: the working directory, the curriculum's folder, or two above it."""
    given = Path(_text(ontology["path"], "path")).expanduser()
    folder = file.absolute().parent
    tried = dict.fromkeys([given, folder / given, folder.parent.parent / given])
    for path in tried:
        try:
            if path.is_file():
                return path
        except (OSError, ValueError):  # ValueError: a name with a zero in it
            continue
    places = f"looked in the working directory, {folder} and {folder.parent.parent}"
    where = "" if given.is_absolute() else f"; {places}"
    raise Fault(ontology["path"], f"there is no ontology {quote(str(given))}{where}")


# -- values ----------------------------------------------------------------------------------------


def _fields(
    node: Node, what: str, known: Collection[str], optional: Collection[str] = ()
) -> Fields:
    fields: Fields = {}
    lines: dict[str, int] = {}
    wanted = f"the keys {', '.join(known)}"
    for key, value in _require_kind(node, MappingNode, what, wanted).value:
        if not isinstance(key, ScalarNode):
            raise Fault(key, "a key must be a word")
        name = key.value
        if name in lines:
            raise Fault(key, f"the key {quote(name)} is here twice, first in line {lines[name]}")
        if name not in known:
            raise Fault(key, f"{what} has no key {quote(name)}{_instead(name, known)}")
        fields[name], lines[name] = value, _line(key)
    for name in known:
        if name not in fields and name not in optional:
            raise Fault(node, f"the key {quote(name)} of {what} is missing: add it")
    return fields


def _is_null(node: Node) -> bool:
    """Whether nothing is written, or a word for nothing without quotes."""
    return isinstance(node, ScalarNode) and node.style is None and node.value in _NULLS


def _require_kind(node: Node, kind: type[N], what: str, wanted: str) -> N:
    if isinstance(node, kind):
        return node
    found = "a list" if isinstance(node, SequenceNode) else "a mapping"
    if isinstance(node, ScalarNode):
        found = "empty" if _is_null(node) else f"the text {quote(node.value)}"
    raise Fault(node, f"{what} is {found}, expected {wanted}")


def _text(node: Node, what: str) -> str:
    text = str(_require_kind(node, ScalarNode, what, "text").value).strip()
    if not text or _is_null(node):
        raise Fault(node, f"{what} is empty: write it, or take the line out")
    return text


def _name(fields: Fields, key: str) -> str:
    name = _text(fields[key], key)
    if not _ID.fullmatch(name):
        hint = "use 1 to 80 letters, digits, '.', '_' or '-', beginning with a letter or digit"
        raise Fault(fields[key], f"{key} is {quote(name)}: {hint}")
    return name


def _truth(node: Node, what: str) -> bool:
    text = _require_kind(node, ScalarNode, what, "true or false")
    if text.style is not None or text.value not in ("true", "false"):
        raise Fault(node, f"{what} is {quote(text.value)}: write true or false")
    return bool(text.value == "true")


def _instead(given: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(given.lower(), known, n=1, cutoff=0.5)
    return f": did you mean {near[0]}?" if near else f"; use one of: {', '.join(known)}"
