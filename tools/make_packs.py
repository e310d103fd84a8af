"""Writes the packs that ship with the package: `core_v1` and `prov_v1`.

The seven general strategies of `core_v1` live here, readable. `prov_v1` is what training on the
curriculum of that name teaches the offline planner: nobody wrote it. The JSONL is never edited by
hand. The same sources give the same bytes: time and ids are held still. `--check` writes nothing
and fails when a file is stale; `--core` leaves out the training, which takes some ten seconds.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path
from textwrap import dedent

from rlm import clock
from rlm.packs.format import encode_line, record_of
from rlm.packs.manifest import MANIFEST_SUFFIX, PACK_SUFFIX, UNIVERSAL, Manifest
from rlm.store.gate import admit_item
from rlm.store.generality import hardcoded_term
from rlm.store.open import open_store
from rlm.store.types import LOCAL, MemoryItem, Scope
from rlm.train import train

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "src" / "rlm" / "data" / "memory_packs"
CURRICULUM = ROOT / "docs" / "curricula" / "prov_v1.yaml"
CREATED_AT = "2026-01-19T00:00:00.000000Z"
CONFIDENCE = 0.8  # a person wrote them (seed 003)


@dataclass(frozen=True)
class Lesson:
    """One memory as its author writes it."""

    title: str
    description: str
    content: str
    task: str
    task_types: tuple[str, ...]
    tools: tuple[str, ...]
    tags: tuple[str, ...]


CORE = (
    Lesson(
        title="Describe Entity by Label",
        description="From a name to what it is, in two calls.",
        content="""
            - `search_entity(name)` for the IRI
            - `describe_entity(iri)`; answer from it, with the IRI
            - `probe_relationships(iri)` for links, with true counts
            - Prefer an exact label over a partial one; with several equal hits, look at each one's types. A
              description has a sample of the links only.
        """,
        task="What is this entity?",
        task_types=("entity_description",),
        tools=("search_entity", "describe_entity", "probe_relationships"),
        tags=("entity", "search", "describe", "universal"),
    ),
    Lesson(
        title="Find Subclasses Using GraphMeta",
        description="All subclasses of a class, at any depth, in one call.",
        content="""
            - `search_entity(name)` for the IRI
            - `ontology_view('related', iri, relation='subclasses', all=True)`
            - page with `offset=next_offset` until it is None; answer with every IRI
            - Direct ones only: the same without `all`. No rows mean a leaf, not an error. Classes that are defined
              by an intersection are among them; a query for rdfs:subClassOf alone misses those.
            - Say whether you list direct or all subclasses: questions seldom do.
        """,
        task="Find all subclasses of a class.",
        task_types=("hierarchy",),
        tools=("search_entity", "ontology_view"),
        tags=("hierarchy", "subclass", "graphmeta", "universal"),
    ),
    Lesson(
        title="Find Superclasses Using GraphMeta",
        description="All superclasses of a class, up to the roots, in one call.",
        content="""
            - `search_entity(name)` for the IRI
            - `ontology_view('related', iri, relation='superclasses', all=True)`
            - page with `offset=next_offset` until it is None; answer with every IRI
            - Direct ones only: the same without `all`. A class may have several parents. What follows by a
              definition is marked.
            - Restrictions are no parents: `ontology_view('restrictions', iri)` has them.
        """,
        task="What are all superclasses of a class?",
        task_types=("hierarchy",),
        tools=("search_entity", "ontology_view"),
        tags=("hierarchy", "superclass", "graphmeta", "universal"),
    ),
    Lesson(
        title="Find Properties by Domain/Range",
        description="The properties that state a class as their domain.",
        content="""
            - `search_entity(name)` for the IRI
            - `ontology_view('related', iri, relation='properties')`
            - page with `offset=next_offset` until it is None; answer with every IRI
            - What may point to the class: the same with `relation='range_of'`. A property can have several of each;
              where the class is one of a union, the property is listed too.
            - A property without a domain applies anywhere. What is used rather than allowed is in
              `predicate_frequency()`.
        """,
        task="What properties have this domain?",
        task_types=("property_discovery",),
        tools=("search_entity", "ontology_view", "predicate_frequency"),
        tags=("properties", "domain", "range", "universal"),
    ),
    Lesson(
        title="Pattern-Based Entity Search",
        description="A family of terms by a piece of their name.",
        content="""
            - `search_entity(piece, search_in='all')`
            - a label match says more than one in a name or an IRI
            - more than a page: `sparql_query` with a filter on labels
            - Begin with the shortest telling piece. Nothing found? Try the singular, another word form, a synonym.
              Too many? Use a longer piece. State how many there are in all.
        """,
        task="Find all entities whose name contains a word.",
        task_types=("pattern_search",),
        tools=("search_entity", "sparql_query", "sparql_slice"),
        tags=("search", "pattern", "multiple", "universal"),
    ),
    Lesson(
        title="Find Relationship Path Between Entities",
        description="Connect two terms by the shortest chain of statements.",
        content="""
            - `search_entity(name)` for each IRI
            - `find_path(source, target, max_depth=3)`
            - answer with the chain of IRIs, in order
            - No path: compare `probe_relationships(iri)` of both for a neighbour that they share.
            - A path between the wrong two looks convincing: be sure of both IRIs first. Tell what the schema
              allows from what the data says.
        """,
        task="How are these two entities related?",
        task_types=("relationship_discovery",),
        tools=("search_entity", "find_path", "probe_relationships"),
        tags=("relationships", "path", "connection", "universal"),
    ),
    Lesson(
        title="Navigate Class Hierarchy from Roots",
        description="Get to know an ontology from the top down.",
        content="""
            - `graph_stats()` for its size and its roots
            - `describe_entity(iri)` of each root, a level at a time
            - print counts and a few names, never the whole tree
            - Keep a set of what you have seen, and go deeper only below the branch that the question is about.
        """,
        task="Give an overview of the class hierarchy.",
        task_types=("hierarchy",),
        tools=("graph_stats", "describe_entity"),
        tags=("hierarchy", "exploration", "roots", "universal"),
    ),
)


def memory_of(lesson: Lesson) -> MemoryItem:
    """A lesson as the gate lets it in: it must pass unchanged."""
    written = MemoryItem(
        title=lesson.title,
        description=lesson.description,
        content=_bullets(lesson.content),
        source_type="pack",
        task_query=lesson.task,
        tags=list(lesson.tags),
        scope=Scope(None, lesson.task_types, lesson.tools),
        provenance={"source": "pack", "pack": "core_v1"},
        confidence=CONFIDENCE,
        created_at=CREATED_AT,
    )
    item = admit_item(written, LOCAL, origin="tools/make_packs.py")
    if (item.memory_id, item.content, item.title) != (
        written.memory_id,
        written.content,
        written.title,
    ):
        raise SystemExit(f"the gate changed {lesson.title!r}: write it so that it passes as it is")
    return item


def _bullets(text: str) -> str:
    """One line a bullet: wrapping is for this file, not for the prompt."""
    lines: list[str] = []
    for line in dedent(text).strip().splitlines():
        if line.startswith("- ") or not lines:
            lines.append(line)
        else:
            lines[-1] += " " + line.strip()
    return "\n".join(lines)


def trained() -> list[MemoryItem]:
    """What training on the shipped curriculum teaches, as a pack says it: without the ids of its
    runs."""
    numbers = count(1)
    with (
        tempfile.TemporaryDirectory() as folder,
        clock.frozen(clock.parse_iso(CREATED_AT), uuids=lambda: f"{next(numbers):012x}" + "0" * 20),
        open_store(
            Path(folder, "memory.db"), embedder="static", origin="tools/make_packs.py"
        ) as store,
    ):
        report = train(CURRICULUM, store, model="offline")
        if not all(task.success for task in report.outcomes):
            raise SystemExit("a training task failed: the pack would teach from an incomplete run")
        learnt = store.list_items(outcome="success", limit=1_000)
    for item in learnt:
        provenance = {name: item.provenance[name] for name in ("curriculum_id", "task_id")}
        item.provenance = {"source": "pack", "pack": "prov_v1", **provenance}
        item.source_type, item.session_id, item.last_used = "pack", None, None
        item.tags = [*item.tags, *(["universal"] if item.scope.transferable else [])]
        item.confidence = round(item.confidence or 0.0, 2)
        item.task_query = None if hardcoded_term(item.task_query or "") else item.task_query
        item.access_count = item.success_count = item.failure_count = 0
    return learnt


def build(*, core_only: bool = False) -> dict[str, bytes]:
    """File name and bytes of every pack and manifest."""
    packs = {"core_v1": [memory_of(lesson) for lesson in CORE]}
    if not core_only:
        packs["prov_v1"] = trained()
    files: dict[str, bytes] = {}
    for name, items in packs.items():
        items.sort(key=lambda item: item.memory_id)
        data = b"".join(encode_line(record_of(item, name)) for item in items)
        manifest = Manifest(
            name=name,
            file=name + PACK_SUFFIX,
            count=len(items),
            sha256=sha256(data).hexdigest(),
            kind=UNIVERSAL,
            # without the version, so that a release does not make the packs stale
            created_by="rlm",
        )
        files[name + PACK_SUFFIX] = data
        files[name + MANIFEST_SUFFIX] = manifest.encode()
    return files


def main(arguments: list[str]) -> int:
    """Write what changed, or with --check only say so; 1 when a check fails."""
    stale = []
    for name, data in build(core_only="--core" in arguments).items():
        path = FOLDER / name
        if not path.is_file() or path.read_bytes() != data:
            stale.append(name)
            if "--check" not in arguments:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
    if stale and "--check" in arguments:
        print(f"stale: {', '.join(stale)}; run python tools/make_packs.py", file=sys.stderr)
        return 1
    if stale:
        print(f"wrote {', '.join(stale)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
