"""Seed 002, handles and unified tools: its calls, with other import lines.

In the seed the tools are functions of the REPL, so that is where they are called here: a scripted
model writes the seed's lines, and what they should give is asserted in the REPL too. Where the seed contradicts itself or the design:
- "Unified Tool API" wins over the sketches before it, and the design says the same: `limit`,
  `filter_prefix`, `output_mode` and `max_chars`, not `k=20`, `filter=`, `output=` and `max=`.
- `sparql_slice` gives `{rows, total, has_more}`, not a bare list (DESIGN §4: a page says that there
  is more), and so do the lists of `sparql_schema`.
- `Item` is seed 001's `MemoryItem`: one concept, one name (DESIGN §12). `MemStore` is a JSON store
  with `load`, `search` and `quote`; seed 001's `MemoryStore.load` is a class method.
- The heading of L2 is "Relevant Prior Experience" (seed 001, DESIGN §4), not "Relevant Procedures".
- `build_context` gives an object whose `str` is the text: it also says what is in it.
"""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

from rlm import MemoryItem as Item
from rlm import Ref, ScriptedClient, agent, open_store
from rlm.context import build_context
from rlm.handles import Store
from rlm.tools import MemStore

UNIPROT = """
@prefix up: <http://purl.uniprot.org/core/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix ex: <http://example.org/protein/> .
up:Protein a owl:Class ; rdfs:label "Protein" ; rdfs:comment "A chain of amino acids." .
up:Annotation a owl:Class ; rdfs:label "Annotation" .
up:Disease_Annotation a owl:Class ; rdfs:subClassOf up:Annotation ; rdfs:label "Disease Annotation" .
up:Disease a owl:Class ; rdfs:label "Disease" .
up:mnemonic a owl:DatatypeProperty ; rdfs:domain up:Protein .
up:organism a owl:ObjectProperty ; rdfs:domain up:Protein .
up:annotation a owl:ObjectProperty ; rdfs:domain up:Protein ; rdfs:range up:Annotation .
up:disease a owl:ObjectProperty ; rdfs:domain up:Disease_Annotation ; rdfs:range up:Disease .
"""
PROTEIN = """ex:P{n} a up:Protein ; up:mnemonic "P{n}_HUMAN" ; up:annotation ex:A{n} .
ex:A{n} a up:Disease_Annotation ; up:disease ex:D{n} . ex:D{n} a up:Disease .
"""
PROCEDURES = [
    {
        "id": f"proc-{number}",
        "title": title,
        "description": f"How to {title.lower()}.",
        "content": f"1. Look at the schema of {title.lower()}\n2. Query with a LIMIT\n" + "3. Check\n" * 60,
        "source_type": "success",
        "task_query": title,
        "tags": ["uniprot"],
        "created_at": "2026-02-04T00:00:00",
    }
    for number, title in enumerate(
        (
            "Query protein-disease links", "Query proteins by mnemonic", "Count annotations by class",
            "Find the organism", "Follow a disease annotation", "List properties", "Page through rows",
            "Check a prefix", "Filter by label", "Join two classes",
        )
    )
]  # fmt: skip


@pytest.fixture
def uniprot(workspace):
    """A little of UniProt's vocabulary where the example looks for it, and the ten procedures."""
    text = UNIPROT + "".join(PROTEIN.format(n=number) for number in range(200))
    (workspace / "ontology" / "uniprot.ttl").write_text(text, "utf-8")
    (workspace / "seed_procedures.json").write_text(json.dumps(PROCEDURES), "utf-8")
    return workspace


@pytest.fixture
def in_the_repl(uniprot):
    """Run lines of the seed in the REPL of one run; the run. They must all work."""

    def run(*blocks):
        turns = [f"```repl\n{dedent(block).strip()}\n```" for block in blocks]
        client = ScriptedClient([*turns, "FINAL(done)"])
        with open_store("memory.db") as store:
            if not store.stats()["memories"]:
                store.add_many(Item.from_dict(each) for each in PROCEDURES)
        result = agent.run(
            "List proteins linked to diseases", "ontology/uniprot.ttl", "memory.db", client=client
        )
        errors = [
            block.result.stderr
            for turn in result.result.iterations
            for block in turn.code_blocks
            if block.result.error
        ]
        assert errors == [] and len(result.result.iterations) >= len(blocks)
        return result

    return run


# -- the handle types --------------------------------------------------------------------------------


@pytest.mark.req("UT-01")
def test_blob_ref():
    ref = Ref(key="results_0", dtype="results", sz=3000, prev="?protein ?disease")
    assert repr(ref) == "Ref('results_0', results, 3000 chars)"
    assert (ref.key, ref.dtype, ref.sz, ref.prev) == (
        "results_0",
        "results",
        3000,
        "?protein ?disease",
    )


@pytest.mark.req("UT-01")
def test_the_payload_lives_in_storage():
    store = Store()
    rows = "one row\n" * 375
    result = store.put(rows, "results")
    assert repr(result) == "Ref('results_0', results, 3000 chars)"
    assert store.get(result.key) == rows
    assert result.prev == rows.replace("\n", " ")[:80]


# -- the tools, two phases each ----------------------------------------------------------------------


@pytest.mark.req("UT-02")
def test_memory_tools(in_the_repl):
    in_the_repl(
        """
        hits = mem_search("protein disease annotation", k=3)
        id = hits[0]["id"]
        ids = [hit["id"] for hit in hits]
        assert hits[0]["title"] == "Query protein-disease links", hits
        assert set(hits[0]) == {"id", "title", "desc", "src"} and hits[0]["src"] == "success"
        assert len(mem_search("protein disease annotation", k=6)) <= 6
        """,
        """
        items = mem_get(ids, max_n=3)  # Hard cap: 3 items max
        assert len(items) == 3 and items[0]["content"].startswith("1. Look at the schema")
        assert mem_get(["proc-1"], max_n=1)[0]["title"] == "Query proteins by mnemonic"
        quote = mem_quote(id, max_chars=500)  # Hard cap: 500 chars
        assert len(quote) == 500
        """,
        """
        try:
            mem_get(ids, max_n=4)
            refused = ""
        except Exception as exc:
            refused = str(exc)
        assert "use 1 to 3" in refused, refused
        try:
            mem_quote(id, max_chars=501)
            refused = ""
        except Exception as exc:
            refused = str(exc)
        assert "use 1 to 500" in refused, refused
        """,
    )


@pytest.mark.req("UT-03")
def test_sparql_tools(in_the_repl):
    in_the_repl(
        """
        overview = sparql_schema('overview')
        assert overview["class_count"] == 4 and overview["top_classes"], overview
        classes = sparql_schema('classes', limit=20)["classes"]
        protein = [entry for entry in classes if entry["uri"] == "up:Protein"][0]
        assert protein["count"] == 200
        assert set(protein["common_properties"]) == {"up:mnemonic", "up:organism", "up:annotation"}
        assert sparql_schema('classes', filter_prefix='up:')["total"] == 4
        """,
        """
        sample = sparql_peek('up:Protein', limit=5)
        assert len(sample["rows"]) == 5
        schema = sparql_peek('up:Disease_Annotation', output_mode='schema')
        assert "up:disease" in str(schema["properties"]), schema
        related = schema["related_procedures"]
        assert related and set(related[0]) == {"id", "title"}, related
        assert "related_procedures" not in sparql_peek('up:Protein', related_memories=False)
        """,
        """
        result = sparql_query("SELECT * WHERE {?s ?p ?o}")  # Returns Ref
        assert repr(result).startswith("Ref('results_0', results, "), repr(result)
        result = sparql_query("SELECT ?protein WHERE { ?protein a up:Protein }", limit=100)
        sample = sparql_slice(result, limit=10)  # Only 10 rows
        assert len(sample["rows"]) == 10 and sample["total"] == 100 and sample["has_more"]
        assert sparql_slice('results_1', limit=10) == sample
        """,
    )


@pytest.mark.req("UT-07")
def test_what_a_result_taught_and_what_to_avoid(in_the_repl):
    result = in_the_repl(
        """
        task = "Which classes are direct subclasses of Annotation?"
        result = sparql_query("SELECT ?c WHERE { ?c rdfs:subClassOf up:Annotation }", limit=100)
        shown = mem_extract(result, task, {"is_success": True, "reason": "it names all"}, auto_store=False)
        item = mem_extract(result, task, {"is_success": True, "reason": "it names all"})
        pitfall = mem_learn_from_failure(result, task, "the subclasses of subclasses are missing")
        assert shown["content"] == item["content"] and "rdfs:subClassOf" in item["content"], item
        print(item["id"], pitfall["id"])
        """,
    )
    learnt, avoided = result.result.iterations[0].code_blocks[0].result.stdout.split()
    with open_store("memory.db") as store:
        assert store.get(learnt).outcome == "success"
        assert store.get(avoided).outcome == "failure"


# -- the context -------------------------------------------------------------------------------------


@pytest.mark.req("UT-08")
def test_setup_and_context_building(uniprot):
    # === SETUP ===
    store = Store()
    mem = MemStore()
    mem.load("seed_procedures.json")  # Pre-seeded with 10 procedures

    # === CONTEXT BUILDING ===
    # L0: Sense card (600 chars)
    # L1: Schema constraints (400 chars)
    # L2: Retrieved procedures (2 items × 300 chars = 600 chars)
    # Total: ~1600 chars

    context = build_context(
        task="List proteins linked to diseases", ont_path="ontology/uniprot.ttl", mem=mem
    )

    assert len(store) == 0 and len(mem.memories) == 10
    assert 600 < len(context) <= 1_800 + len("\n\n---\n\n") * 3
    assert str(context).count("\n\n---\n\n") == 1  # L1 goes on where L0 ends
    assert "Protein" in str(context) and "up:disease" in str(context)
    assert "## Relevant Prior Experience" in str(context)
    assert len(context.memory_ids) == 2
    assert context.layers["l0"] <= 600 and context.layers["l1"] <= 400
    assert context.layers["l2"] <= 600


@pytest.mark.req("UT-02", "UT-08")
def test_what_the_seeds_own_builder_calls(uniprot):
    """The lines of the seed's `build_context` that ask the store, as they stand."""
    task = "List proteins linked to diseases"
    mem = MemStore()
    mem.load("seed_procedures.json")

    relevant = mem.search(task, k=3)
    assert relevant
    procedures = []
    for hit in relevant[:2]:  # Cap at 2 full procedures
        quote = mem.quote(hit["id"], max_chars=300)
        procedures.append(f"**{hit['title']}**: {quote}")

    assert procedures[0].startswith("**Query protein-disease links**: 1. Look at the schema")
    assert all(len(each) <= 300 + len("****: ") + 60 for each in procedures)
    item = Item(title="Query protein-disease annotations", description="", content="- join")
    mem.add(item)  # memory grows for next run
    assert len(mem.memories) == 11


# -- a full memory-augmented run ---------------------------------------------------------------------


@pytest.mark.req("UT-09", "UT-11", "UT-13")
def test_a_full_memory_augmented_run(in_the_repl):
    result = in_the_repl(
        "print(sparql_schema('overview'))",
        "print(sparql_peek('up:Disease_Annotation', output_mode='schema'))",
        """
        query = "SELECT ?protein ?disease WHERE { ?protein up:annotation/up:disease ?disease }"
        print(sparql_query(query, limit=100))
        """,
        "print(sparql_slice('results_0', limit=10))",
        "SUBMIT(sparql=query, answer='100 proteins or more, such as ex:P0')",
    )
    turns = result.result.iterations
    assert len(turns) == 5
    printed = [turn.code_blocks[0].result.stdout for turn in turns]
    assert "'class_count': 4" in printed[0] and "'related_procedures'" in printed[1]
    # the seed prints `Ref('results_0', results, ...)`; ours says more and shows the first rows
    assert printed[2].startswith("results_0: 100 rows × 2 columns (?protein ?disease)")
    assert printed[2].count("'protein'") == 5, "of its rows a handle shows the first alone"
    assert result.result.submitted["sparql"].startswith("SELECT ?protein ?disease")
    assert result.answer == "100 proteins or more, such as ex:P0"
    leakage = result.leakage
    assert leakage["total_chars_returned"] >= leakage["max_single_return"] > 0
    assert 0 < leakage["memory_items_injected"] <= 2 and 0 < leakage["context_size"] <= 4000
