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
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from rlm.errors import QueryRefused
from rlm.learning.verify import COMPARES, Verify
from rlm.ontology.query.guard import check_query
from rlm.packs.curriculum_yaml import Fault, Listing, Mapping, Node, Spot, Text, quote, read_tree

KINDS = (
    "namespaces", "describe", "exists", "subclasses", "all_subclasses", "superclasses",
    "all_superclasses", "is_subclass", "properties_by_domain", "properties_by_range", "search",
    "path", "roots", "count", "instances", "absent",
)  # fmt: skip
QUERY_CHARS = 4_000
_SETS = ("set", "contains_all", "count")
_FILE = ("id", "description", "ontology", "tasks")
_ONTOLOGY = ("name", "path")
_TASK = ("id", "query", "tags", "verify", "held_out")
_VERIFY = ("sparql", "compare")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
N = TypeVar("N", Text, Listing, Mapping)


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
    try:
        return _curriculum(file, _fields(read_tree(file), "a curriculum", _FILE, ("description",)))
    except Fault as fault:
        raise fault.to_error(file) from fault.__cause__


# -- parts -----------------------------------------------------------------------------------------


def _curriculum(file: Path, top: Mapping) -> Curriculum:
    ontology = _fields(top.values["ontology"], "ontology", _ONTOLOGY)
    tasks = _require_kind(top.values["tasks"], Listing, "tasks", "a list, each task behind a dash")
    if not tasks.items:
        raise Fault(tasks.at, "tasks is empty: write at least one")
    found: dict[str, Task] = {}
    for node in tasks.items:
        task = _task(node)
        if task.id in found:
            at = node.values["id"].at if isinstance(node, Mapping) else node.at
            first = f"first in line {found[task.id].line}"
            raise Fault(at, f"the task id {quote(task.id)} is here twice, {first}: rename")
        found[task.id] = task
    description = top.values.get("description")
    return Curriculum(
        id=_name(top, "id"),
        ontology_name=_name(ontology, "name"),
        ontology_path=_locate_ontology(file, ontology),
        tasks=tuple(found.values()),
        path=file,
        description="" if description is None else _text(description, "description"),
    )


def _task(node: Node) -> Task:
    fields = _fields(node, "a task", _TASK, ("verify", "held_out"))
    query = _text(fields.values["query"], "query")
    if len(query) > QUERY_CHARS:
        why = f"query has {len(query):,} characters, at most {QUERY_CHARS:,}"
        raise Fault(fields.values["query"].at, why)
    tags = _require_kind(fields.values["tags"], Listing, "tags", "a list, as in [subclasses]")
    if not tags.items:
        raise Fault(tags.at, f"tags is empty: name at least the kind, one of {', '.join(KINDS)}")
    held_out, verify = fields.values.get("held_out"), fields.values.get("verify")
    return Task(
        id=_name(fields, "id"),
        query=query,
        tags=tuple(_text(tag, "a tag") for tag in tags.items),
        verify=None if verify is None else _verify(verify),
        held_out=held_out is not None and _truth(held_out, "held_out"),
        line=fields.at.line,
        verify_line=0 if verify is None else _query_spot(verify).line,
    )


def _verify(node: Node) -> Verify:
    fields = _fields(node, "verify", _VERIFY)
    compare = _text(fields.values["compare"], "compare")
    if compare not in COMPARES:
        why = f"compare is {quote(compare)}{_instead(compare, COMPARES)}"
        raise Fault(fields.values["compare"].at, why)
    sparql, at = _text(fields.values["sparql"], "sparql"), _query_spot(node)
    try:
        form = check_query(sparql).kind
    except QueryRefused as exc:
        raise Fault(at, f"sparql: {exc}") from exc
    if form not in ("SELECT", "ASK") or (form == "ASK" and compare in _SETS):
        wanted = "SELECT" if compare in _SETS else "ASK or SELECT"
        raise Fault(at, f"sparql is {form}, but compare: {compare} needs {wanted}")
    return Verify(sparql, compare)


def _query_spot(verify: Node) -> Spot:
    if isinstance(verify, Mapping) and "sparql" in verify.values:
        return verify.values["sparql"].at
    return verify.at


def _locate_ontology(file: Path, ontology: Mapping) -> Path:
    """Where the ontology is: the working directory, the curriculum's folder, or two above it."""
    given = Path(_text(ontology.values["path"], "path")).expanduser()
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
    raise Fault(ontology.values["path"].at, f"there is no ontology {quote(str(given))}{where}")


# -- values ----------------------------------------------------------------------------------------


def _fields(
    node: Node, what: str, known: Collection[str], optional: Collection[str] = ()
) -> Mapping:
    fields = _require_kind(node, Mapping, what, f"the keys {', '.join(known)}")
    for name, at in fields.keys.items():
        if name not in known:
            raise Fault(at, f"{what} has no key {quote(name)}{_instead(name, known)}")
    for name in known:
        if name not in fields.values and name not in optional:
            raise Fault(fields.at, f"the key {quote(name)} of {what} is missing: add it")
    return fields


def _require_kind(node: Node, kind: type[N], what: str, wanted: str) -> N:
    if isinstance(node, kind):
        return node
    found = {Text: "a text", Listing: "a list", Mapping: "a mapping"}[type(node)]
    if isinstance(node, Text):
        found = "empty" if node.plain and node.value in _NULLS else f"the text {quote(node.value)}"
    raise Fault(node.at, f"{what} is {found}, expected {wanted}")


def _text(node: Node, what: str) -> str:
    text = _require_kind(node, Text, what, "text")
    if not text.value.strip() or (text.plain and text.value in _NULLS):
        raise Fault(text.at, f"{what} is empty: write it, or take the line out")
    return text.value.strip()


def _name(fields: Mapping, key: str) -> str:
    node = fields.values[key]
    name = _text(node, key)
    if not _ID.fullmatch(name):
        hint = "use 1 to 80 letters, digits, '.', '_' or '-', beginning with a letter or digit"
        raise Fault(node.at, f"{key} is {quote(name)}: {hint}")
    return name


def _truth(node: Node, what: str) -> bool:
    text = _require_kind(node, Text, what, "true or false")
    if not text.plain or text.value not in ("true", "false"):
        raise Fault(text.at, f"{what} is {quote(text.value)}: write true or false")
    return text.value == "true"


def _instead(given: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(given.lower(), known, n=1, cutoff=0.5)
    return f": did you mean {near[0]}?" if near else f"; use one of: {', '.join(known)}"
