"""Writes the packs that ship with the package: `core_v1` and `prov_v1`.

The texts live here, readable; the JSONL is made from them and is never edited by hand. The output depends on
nothing but this file and the pack format. `--check` writes nothing and fails when a file is stale.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from textwrap import dedent

from rlm.packs.format import encode_line, record_of
from rlm.packs.manifest import MANIFEST_SUFFIX, PACK_SUFFIX, UNIVERSAL, Manifest
from rlm.store.gate import admit_item
from rlm.store.types import LOCAL, MemoryItem, Scope

FOLDER = Path(__file__).resolve().parent.parent / "src" / "rlm" / "data" / "memory_packs"
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
        description="Go from a name in the question to the entity's types, comment and links in three calls.",
        content="""
            - Find the IRI first: `search_by_label(name)`, or `search_entity(name)` if that is empty.
              Prefer an exact label over a partial one; with several equal hits, look at each one's types.
            - `describe_entity(iri)` gives label, types, comment and a sample of what it points to.
            - `probe_relationships(iri, direction='both')` adds what points to it and the true counts: the
              sample alone is not the whole.
            - Answer only from what these calls returned, and name the IRI that you described.
        """,
        task="What is this entity?",
        task_types=("entity_description",),
        tools=("search_by_label", "search_entity", "describe_entity", "probe_relationships"),
        tags=("entity", "search", "describe", "universal"),
    ),
    Lesson(
        title="Find Subclasses Using GraphMeta",
        description="Read subclasses from the graph's ready-made map instead of querying for them.",
        content="""
            - Get the class IRI from `by_label` of the mounted meta object, or from `search_entity(name)`.
            - `meta.subs.get(iri, set())` holds the direct subclasses. An empty set means a leaf, not an
              error.
            - For all levels keep a list of classes to visit and a set of classes seen; the set is what
              stops you when a hierarchy has a cycle.
            - Print labels with a count, and at most some twenty names. Say whether you list direct or all
              subclasses: questions seldom do.
        """,
        task="Find all subclasses of a class.",
        task_types=("hierarchy",),
        tools=("search_entity",),
        tags=("hierarchy", "subclass", "graphmeta", "universal"),
    ),
    Lesson(
        title="Find Superclasses Using GraphMeta",
        description="Climb from a class to its roots with the graph's map of superclasses.",
        content="""
            - Resolve the name to an IRI with `by_label` or `search_entity(name)`.
            - `meta.supers.get(iri, set())` holds the direct superclasses; a class may have several, so
              follow every branch.
            - Climb until a class has no superclass or is in `meta.roots`, with a set of what you have
              seen.
            - Leave out blank nodes and the top class that everything has: they are restrictions and a
              formality. Give the chain in order, nearest first.
        """,
        task="What are the superclasses of a class?",
        task_types=("hierarchy",),
        tools=("search_entity",),
        tags=("hierarchy", "superclass", "graphmeta", "universal"),
    ),
    Lesson(
        title="Find Properties by Domain/Range",
        description="List what a class may have and what may point to it, inherited properties included.",
        content="""
            - Resolve the class, then collect its superclasses from `meta.supers`: properties are
              inherited.
            - Properties it may have: those whose set in `meta.doms` meets the class or a superclass.
              Properties that may point to it: the same with `meta.rngs`. A property can have several of
              each.
            - A property without a domain applies anywhere: report these apart, do not drop them silently.
            - To see what is used rather than allowed, check with `predicate_frequency()` or
              `probe_relationships(iri)`.
        """,
        task="What properties does this class have?",
        task_types=("property_discovery",),
        tools=("predicate_frequency", "probe_relationships"),
        tags=("properties", "domain", "range", "universal"),
    ),
    Lesson(
        title="Pattern-Based Entity Search",
        description="Find a family of entities by a piece of their name, and tell how each one matched.",
        content="""
            - Start with the shortest telling piece of the name: `search_entity(piece, search_in='all')`.
            - Read each hit's match type: a label match is stronger than one in the local name or the IRI.
            - Nothing found? Try the singular, another word form, a synonym, then `search_in='iri'`. Too
              many? Use a longer piece, or filter the hits by type with `describe_entity`.
            - For more than a page of hits use `sparql_query` with a filter on the label and read the
              result in parts with `sparql_slice`; state how many there are in all.
        """,
        task="Find all entities whose name contains a word.",
        task_types=("pattern_search",),
        tools=("search_entity", "describe_entity", "sparql_query", "sparql_slice"),
        tags=("search", "pattern", "multiple", "universal"),
    ),
    Lesson(
        title="Find Relationship Path Between Entities",
        description="Connect two entities by the shortest chain of statements, and check it link by link.",
        content="""
            - Resolve both names to IRIs before anything else; a path between the wrong two looks
              convincing.
            - `find_path(source, target, max_depth=2)`, then 3. Try it from the other end as well: links
              have a direction.
            - No path? Compare `probe_relationships` of both for a neighbour they share, or look in
              `meta.doms` and `meta.rngs` for a property that could join their classes.
            - Report the chain with every property and its direction. Distinguish what the schema allows
              from what the data says.
        """,
        task="How are these two entities related?",
        task_types=("relationship_discovery",),
        tools=("search_entity", "find_path", "probe_relationships"),
        tags=("relationships", "path", "connection", "universal"),
    ),
    Lesson(
        title="Navigate Class Hierarchy from Roots",
        description="Get to know an ontology from the top down, level by level, within a fixed budget.",
        content="""
            - Begin with `graph_stats()` for the size, and `sparql_schema()` when there is an endpoint.
            - Take `meta.roots` and go down breadth first with `meta.subs`: one level at a time, a set of
              what you have seen, three levels at most to begin with.
            - Per level print the number of classes and the few with most subclasses; never the whole tree.
            - Then go deeper only below the branch that the question is about, and `describe_entity` its
              classes.
        """,
        task="Give an overview of the class hierarchy.",
        task_types=("hierarchy",),
        tools=("graph_stats", "sparql_schema", "describe_entity"),
        tags=("hierarchy", "exploration", "roots", "universal"),
    ),
)

PROV = (
    Lesson(
        title="Start from PROV's Three Core Classes",
        description="Place any PROV question among Entity, Activity and Agent before looking further.",
        content="""
            - Decide which of prov:Entity (a thing), prov:Activity (something that happens) or prov:Agent
              (who bears responsibility) each noun of the question is. Entity and Activity are disjoint.
            - `prov:category` says how basic a term is: filter on "starting-point" for the core, then
              "expanded", then "qualified".
            - Core links: prov:used (Activity to Entity), prov:wasGeneratedBy (Entity to Activity),
              prov:wasAssociatedWith (Activity to Agent), prov:wasAttributedTo (Entity to Agent).
        """,
        task="What are the main classes of PROV?",
        task_types=("orientation", "entity_description"),
        tools=("search_entity", "describe_entity", "sparql_query"),
        tags=("prov", "starting-point", "entity", "activity", "agent"),
    ),
    Lesson(
        title="Follow PROV's Qualified Relations",
        description="Find the node that carries the details of a plain PROV statement, and read it back.",
        content="""
            - A plain statement such as prov:wasGeneratedBy cannot carry time, role or plan. Look up its
              `prov:qualifiedForm`: a property (prov:qualifiedGeneration) and a class (prov:Generation).
            - From the subject follow that property to the node, and read the details there.
            - The node names the other end by prov:entity, prov:activity or prov:agent, which of them
              depends on whether its class is an EntityInfluence, ActivityInfluence or AgentInfluence.
            - Backwards, `prov:unqualifiedForm` leads from the class or property to the plain one.
        """,
        task="How do I say when or in which role something was generated or used?",
        task_types=("relationship_discovery", "property_discovery"),
        tools=("describe_entity", "probe_relationships", "sparql_query"),
        tags=("prov", "qualified", "influence", "pattern"),
    ),
    Lesson(
        title="List PROV Agents and Their Responsibility",
        description="Know the kinds of agent and the three ways in which PROV gives them responsibility.",
        content="""
            - Subclasses of prov:Agent: prov:Person, prov:Organization, prov:SoftwareAgent. One file may
              also put SoftwareAgent directly under the top class: do not be misled by the second
              superclass.
            - For an activity: prov:wasAssociatedWith. For a thing: prov:wasAttributedTo. For another
              agent: prov:actedOnBehalfOf, from delegate to principal.
            - Role and plan are on the qualified form: prov:qualifiedAssociation, then prov:hadRole and
              prov:hadPlan.
        """,
        task="Who was responsible for an activity or an entity?",
        task_types=("hierarchy", "entity_description"),
        tools=("describe_entity", "probe_relationships"),
        tags=("prov", "agent", "person", "organization", "delegation"),
    ),
    Lesson(
        title="Pick the Right PROV Time Property",
        description="Each time property belongs to one class; choose by what the time is of.",
        content="""
            - Of an activity: prov:startedAtTime and prov:endedAtTime.
            - Of an entity: prov:generatedAtTime and prov:invalidatedAtTime.
            - Of a single event (Start, End, Usage, Generation, Invalidation): prov:atTime on the qualified
              node, never on the activity or the entity itself.
            - All have the range xsd:dateTime: compare typed values in a query, not strings.
        """,
        task="When did an activity start or end, and when was an entity generated?",
        task_types=("property_discovery",),
        tools=("describe_entity", "sparql_query"),
        tags=("prov", "time", "datetime", "event"),
    ),
    Lesson(
        title="Mind the Direction of PROV Properties",
        description="PROV points from effect to cause; inverse names exist mostly as hints.",
        content="""
            - Read the properties as pointing back in time, from what resulted to what it came from. "What
              did this activity make?" is asked as prov:wasGeneratedBy with the activity as object.
            - The core defines only three inverses: prov:generated, prov:invalidated, prov:influenced.
            - For the others `prov:inverse` holds the recommended name as plain text. A file that includes
              the inverses module declares them with owl:inverseOf: check before you rely on one.
            - When a query is empty, swap subject and object before you conclude that there is nothing.
        """,
        task="What is the inverse of a PROV property?",
        task_types=("property_discovery", "relationship_discovery"),
        tools=("describe_entity", "probe_relationships", "sparql_query"),
        tags=("prov", "inverse", "direction"),
    ),
    Lesson(
        title="Trace Derivation Between PROV Entities",
        description="Follow where an entity came from, through every kind of derivation.",
        content="""
            - prov:wasDerivedFrom has three kinds below it: prov:wasRevisionOf, prov:wasQuotedFrom and
              prov:hadPrimarySource. Query for all four: the general one alone misses data.
            - For a whole lineage use a property path over them, and put a LIMIT on it.
            - Through activities it is prov:wasGeneratedBy, then prov:used. That shows what was at hand,
              which is weaker than a derivation that is stated.
            - prov:specializationOf and prov:alternateOf relate versions of one thing: they are no
              derivation.
        """,
        task="What was this entity derived from?",
        task_types=("relationship_discovery",),
        tools=("find_path", "sparql_query", "sparql_slice"),
        tags=("prov", "derivation", "revision", "lineage"),
    ),
    Lesson(
        title="Handle PROV Bundles and Collections",
        description="Two subclasses of Entity group things: one holds statements, the other entities.",
        content="""
            - prov:Bundle is a named set of provenance statements and itself an entity: it can have a
              generator, an author and a time. Look for its content in a named graph of the same name.
            - prov:Collection has entities as members through prov:hadMember; prov:EmptyCollection is one
              that has none and is declared both as class and as individual.
            - Keyed members belong to the dictionary extension: look for prov:Dictionary and its insertions
              before you say that PROV has no maps.
        """,
        task="How does PROV express provenance of provenance, or a collection?",
        task_types=("entity_description",),
        tools=("search_entity", "describe_entity", "sparql_query"),
        tags=("prov", "bundle", "collection", "dictionary"),
    ),
    Lesson(
        title="Find PROV Definitions and Read Domains",
        description="The text that explains a PROV term is seldom its comment, and domains can be unions.",
        content="""
            - Read `prov:definition` first, then `prov:editorsDefinition`, then the comment. The comment of
              the ontology itself is about the working group: do not quote it as a definition.
            - Some domains and ranges are blank nodes with owl:unionOf (prov:atLocation,
              prov:wasInfluencedBy): list the members of the union.
            - prov:hadRole and prov:hadActivity state two domains, one general and one a union. Use the
              narrower one to say where the property is really meant.
        """,
        task="What does a PROV term mean, and where may it be used?",
        task_types=("entity_description", "property_discovery"),
        tools=("describe_entity", "sparql_query"),
        tags=("prov", "definition", "domain", "range", "union"),
    ),
)

PACKS = {"core_v1": (CORE, None), "prov_v1": (PROV, "prov")}


def memory_of(lesson: Lesson, pack: str, ontology: str | None) -> MemoryItem:
    """A lesson as the gate lets it in: it must pass unchanged."""
    written = MemoryItem(
        title=lesson.title,
        description=lesson.description,
        content=_bullets(lesson.content),
        source_type="pack",
        task_query=lesson.task,
        tags=list(lesson.tags),
        scope=Scope(ontology, lesson.task_types, lesson.tools, transferable=ontology is None),
        provenance={"source": "pack", "pack": pack},
        confidence=CONFIDENCE,
        created_at=CREATED_AT,
    )
    item = admit_item(written, LOCAL, origin="tools/make_packs.py")
    if (item.memory_id, item.content, item.title) != (written.memory_id, written.content, written.title):
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


def build() -> dict[str, bytes]:
    """File name and bytes of every pack and manifest."""
    files: dict[str, bytes] = {}
    for name, (lessons, ontology) in PACKS.items():
        items = sorted((memory_of(lesson, name, ontology) for lesson in lessons), key=lambda item: item.memory_id)
        data = b"".join(encode_line(record_of(item, name)) for item in items)
        manifest = Manifest(
            name=name,
            file=name + PACK_SUFFIX,
            count=len(items),
            sha256=sha256(data).hexdigest(),
            kind=ontology or UNIVERSAL,
            created_by="rlm",  # without the version, so that a release does not make the packs stale
        )
        files[name + PACK_SUFFIX] = data
        files[name + MANIFEST_SUFFIX] = manifest.encode()
    return files


def main(arguments: list[str]) -> int:
    """Write what changed, or with --check only say so; 1 when a check fails."""
    stale = []
    for name, data in build().items():
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
