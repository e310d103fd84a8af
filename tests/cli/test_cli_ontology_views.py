"""`rlm ontology`: what the views say of modular, SHACL and OBO-like ontologies."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_running import Run

from rlm import ontology

PREFIXES = """
@prefix ex: <http://example.org/garden#> . @prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix obo: <http://purl.obolibrary.org/obo/> .
@prefix dcterms: <http://purl.org/dc/terms/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


def write(folder: Path, turtle: str, name: str = "garden.ttl") -> str:
    path = folder / name
    path.write_text(PREFIXES + turtle, "utf-8")
    return str(path)


# -- SHACL
# ---------------------------------------------------------------------------------------

SHAPES = """
ex:Kind rdfs:subClassOf rdfs:Class . ex:SpecialKind rdfs:subClassOf ex:Kind .
ex:Bed a ex:SpecialKind, sh:NodeShape ; rdfs:label "bed" ; sh:closed true ; sh:ignoredProperties ( rdf:type ex:tag ) ;
  sh:property [ sh:path ex:grows ; sh:minCount 1 ] , [ sh:path [ sh:inversePath ex:owns ] ; sh:maxCount 1 ] ;
  sh:sparql [ a sh:SPARQLConstraint ; sh:message "A bed must have soil." ; sh:select "SELECT $this WHERE { }" ] .
ex:Path a ex:Kind, sh:NodeShape ; sh:sparql [ sh:select \"\"\"
  SELECT $this
  WHERE { $this ex:leads ?to }\"\"\" ] .
ex:PathShape a sh:NodeShape ; sh:targetClass ex:Path ; sh:property [ sh:path ex:leads ; sh:minCount 2 ] .
ex:Loose a sh:NodeShape ; sh:property [ sh:path ex:grows ; sh:maxCount 9 ] .
"""


def test_shapes_show_lists_queries_and_the_classes_that_are_shapes(
    rlm: Run, tmp_path: Path
) -> None:
    found = rlm("ontology", "shapes", write(tmp_path, SHAPES), "--json").json
    rows = {row["shape"]: row for row in found["rows"]}
    assert {name: row["targets"] for name, row in rows.items()} == {
        "ex:Bed": ["class ex:Bed"],
        "ex:Path": ["class ex:Path"],
        "ex:PathShape": ["class ex:Path"],
        "ex:Loose": [],
    }
    own = next(text for text in rows["ex:Bed"]["asks"] if "closed" in text)
    assert "ignoredProperties (rdf:type, ex:tag)" in own
    assert "sparql (A bed must have soil.)" in own
    assert rows["ex:Path"]["asks"] == ["sparql (SELECT $this)"]


def test_describe_names_the_shapes_of_a_class_and_their_paths(rlm: Run, tmp_path: Path) -> None:
    path = write(tmp_path, SHAPES)
    found = rlm("ontology", "describe", path, "ex:Path", "--json").json
    assert (found["shapes"], found["shape_paths"]) == (["ex:Path", "ex:PathShape"], ["ex:leads"])
    shown = rlm("ontology", "describe", path, "ex:Bed").out
    assert "shape paths" in shown and "^ex:owns, ex:grows" in shown
    assert "shapes" not in rlm("ontology", "describe", path, "ex:Kind", "--json").json


# -- lint
# ---------------------------------------------------------------------------------------


def test_lint_judges_every_module_of_the_file_and_says_what_it_does_not(
    rlm: Run, tmp_path: Path
) -> None:
    beds = " ".join(
        f'ex:Bed{n} a owl:Class ; rdfs:label "bed {n}" ; rdfs:comment "A bed." .' for n in range(30)
    )
    modules = """<http://example.org/garden> a owl:Ontology . <http://example.org/tools> a owl:Ontology .
    <http://example.org/tools/Spade> a owl:Class . <http://example.org/tools/Bed> a owl:Class ;
    rdfs:label "bed 1" ; rdfs:comment "Where tools lie: a module may repeat a label." . <http://elsewhere.example/Rain> a owl:Class .
    dcterms:title a owl:AnnotationProperty ."""
    path = write(tmp_path, beds + modules)
    done = rlm("ontology", "lint", path)
    assert done.code == 1 and "tools:Spade: this class has no label" in done.out
    assert "Rain" not in done.out and "Bed" not in done.out
    assert done.err.strip().endswith("; not judged: http://elsewhere.example/ 1, dcterms: 1")
    others = {"dcterms:": 1, "http://elsewhere.example/": 1}
    assert rlm("ontology", "lint", path, "--json").json["not_judged"] == others
    assert "; judged: 32 terms; not judged: " in done.err
    log = rlm("ontology", "lint", path, "--sarif").json
    assert log["runs"][0]["properties"] == {"notJudged": others}
    nothing = rlm("ontology", "lint", write(tmp_path, "ex:bee ex:likes ex:tea ."))
    assert nothing.err.strip() == "found: nothing; judged: no term: none is declared"


# -- trees
# ---------------------------------------------------------------------------------------

CHAIN = " ".join(f"ex:C{n} a owl:Class ; rdfs:subClassOf ex:C{n + 1} ." for n in range(5))


@pytest.mark.parametrize(
    ("line", "side", "shown", "more"),
    [
        (("ex:C0", "--direction", "up"), "above", 2, 3),
        (("ex:C5",), "below", 2, 3),
        ((), "below", 2, 4),
        (("--depth", "5"), "below", 5, 1),
    ],
)
def test_a_tree_that_ends_at_its_depth_says_what_there_is_more(
    rlm: Run, tmp_path: Path, line: tuple[str, ...], side: str, shown: int, more: int
) -> None:
    path = write(tmp_path, CHAIN)
    cut = rlm("ontology", "tree", path, *line)
    assert f"{shown} of {shown}; {more} more {side}: --depth N" in cut.err
    assert rlm("ontology", "tree", path, *line, "--json").json[f"more_{side}"] == more
    whole = rlm("ontology", "tree", path, *line, "--depth", "6")
    assert ("C5" if side == "above" else "C0") in whole.out and "more" not in whole.err


def test_one_thing_in_a_tree_is_one_instance(rlm: Run, tmp_path: Path) -> None:
    path = write(
        tmp_path, "ex:A a owl:Class . ex:B a owl:Class . ex:a a ex:A . ex:b a ex:B . ex:c a ex:B ."
    )
    shown = rlm("ontology", "tree", path).out
    assert shown.splitlines() == ["ex:A  (1 instance)", "ex:B  (2 instances)"]


def test_deprecated_terms_without_parents_are_one_line(rlm: Run, tmp_path: Path) -> None:
    old = " ".join(f"ex:Old{n} a owl:Class ; owl:deprecated true ." for n in range(1_012))
    kept = " ex:OldTop a owl:Class ; owl:deprecated true . ex:New rdfs:subClassOf ex:OldTop ."
    path = write(tmp_path, CHAIN + old + kept)
    done = rlm("ontology", "tree", path)
    assert [line.split()[0] for line in done.out.splitlines() if line[0] == "e"] == [
        "ex:C5",
        "ex:OldTop",
    ]
    assert "1,012 deprecated terms without parents: `terms --kind deprecated`" in done.err
    assert rlm("ontology", "tree", path, "--json").json["deprecated_roots"] == 1_012
    (roots,) = [x for x in rlm("ontology", "stats", path).out.splitlines() if x[:5] == "roots"]
    assert (
        roots.split("  ")[-1].strip()
        == "ex:C5, ex:OldTop; 1,012 deprecated ones with nothing below"
    )
    rows = rlm("ontology", "terms", path, "--kind", "roots", "--json").json["rows"]
    assert [row["name"] for row in rows[:2]] == ["ex:C5", "ex:OldTop"] and len(rows) == 1_000


def test_standard_input_is_called_so(rlm: Run) -> None:
    said = rlm("ontology", "stats", "-", stdin=b"<urn:a> a <urn:B> .").out
    assert said.splitlines()[0].split(maxsplit=1) == ["source", "standard input"]
    broken = rlm("ontology", "stats", "-", "--format", "turtle", stdin=b"<urn:a> a\n")
    assert broken.code == 2 and broken.err.startswith("error: standard input:2: ")
    none = rlm("ontology", "stats", "-", stdin=b"")
    assert none.code == 2 and none.err.startswith("error: standard input: ") and "/" not in none.err


# -- labels beside numbers
# ---------------------------------------------------------------------------------------

NUMBERED = """
obo:TO_0000001 a owl:Class ; rdfs:label "tool" . obo:TO_0000002 a owl:Class ; rdfs:label "spade" ;
  rdfs:subClassOf obo:TO_0000001, [ a owl:Restriction ; owl:onProperty obo:TO_0000009 ; owl:someValuesFrom obo:TO_0000003 ] .
obo:TO_0000003 a owl:Class ; rdfs:label "handle" ; rdfs:subClassOf obo:TO_0000001 .
obo:TO_0000009 a owl:ObjectProperty ; rdfs:label "has part" ; rdfs:domain obo:TO_0000001 ; rdfs:range obo:TO_0000003 .
obo:TO_0000004 a owl:Class ; rdfs:label "soil" ; owl:disjointWith obo:TO_0000001 .
"""


def test_restrictions_and_comparisons_show_labels_beside_numbers(rlm: Run, tmp_path: Path) -> None:
    path = write(tmp_path, NUMBERED)
    asked = "obo:TO_0000009 (has part) some obo:TO_0000003 (handle)"
    assert asked in rlm("ontology", "restrictions", path, "spade").out
    assert asked in rlm("ontology", "describe", path, "spade").out
    (row,) = rlm("ontology", "restrictions", path, "spade", "--json").json["rows"]
    assert row["text"] == "obo:TO_0000009 some obo:TO_0000003", "the text can be copied"
    assert row["labels"] == {"obo:TO_0000009": "has part", "obo:TO_0000003": "handle"}
    compared = rlm("ontology", "compare", path, "spade", "handle").out
    assert (
        "obo:TO_0000002 (spade)" in compared and "rdfs:subClassOf obo:TO_0000001 (tool)" in compared
    )


def test_a_diff_shows_labels_beside_numbers_in_the_hierarchy(rlm: Run, tmp_path: Path) -> None:
    old = write(tmp_path, NUMBERED, "old.ttl")
    new = write(tmp_path, NUMBERED + "obo:TO_0000004 rdfs:subClassOf obo:TO_0000003 .", "new.ttl")
    line = "- `obo:TO_0000004` (soil): added below `obo:TO_0000003` (handle)"
    assert line in rlm("ontology", "diff", old, new).out.splitlines()


def test_the_constraints_of_a_card_show_labels_beside_numbers(rlm: Run, tmp_path: Path) -> None:
    card = rlm("ontology", "card", write(tmp_path, NUMBERED)).out
    assert 'TO_0000009 "has part": TO_0000001 "tool" → TO_0000003 "handle"' in card
    assert 'Disjoint: TO_0000001 "tool" / TO_0000004 "soil"' in card


# -- the card
# ---------------------------------------------------------------------------------------


def test_the_card_counts_what_has_no_label_and_what_is_deprecated(rlm: Run, tmp_path: Path) -> None:
    plants = " ".join(f'ex:plant{n} a ex:Plant ; rdfs:label "plant {n}" .' for n in range(12))
    terms = """ex:Plant a owl:Class ; rdfs:label "plant" . ex:Moss a owl:Class . ex:Fern a owl:Class .
    ex:Weed a owl:Class ; owl:deprecated true ; rdfs:label "weed" ."""
    card = rlm("ontology", "card", write(tmp_path, plants + terms)).out
    assert "Labels: rdfs:label, in no language; 2 terms have none" in card
    assert "12 individuals, 1 deprecated" in card
    clean = rlm("ontology", "card", write(tmp_path, plants + 'ex:Plant rdfs:label "plant" .')).out
    assert "Labels: all have rdfs:label, in no language\n" in clean and "deprecated" not in clean


def test_the_card_is_in_one_language_and_its_halves_have_each_class_once(
    rlm: Run, tmp_path: Path
) -> None:
    turtle = NUMBERED + "".join(
        f'ex:C000{n} a owl:Class ; rdfs:label "K{n}"@en , "Eine Klasse mit langem Namen {n}"@de .'
        f'ex:p000{n} a owl:DatatypeProperty ; rdfs:label "p{n}"@en , "eine Eigenschaft {n}"@de .'
        + "".join(f'ex:i{n}x{m} a ex:C000{n} ; ex:p000{n} "x" .' for m in range(9))
        for n in range(8)
    )
    path = write(tmp_path, turtle)
    card = rlm("ontology", "card", path, "--lang", "de").out
    assert [card.count(f'"Eine Klasse mit langem Namen {n}" 9') for n in range(8)] == [1] * 8
    with ontology.open(path, lang="de") as onto:
        assert onto.card() == card.strip()


def test_the_card_spells_the_prefixes_of_its_own_terms_and_names_the_others(
    rlm: Run, tmp_path: Path
) -> None:
    names = ("beds", "soil", "tools", "water", "weeds", "paths")
    spaces = {name: f"https://ontology.example.org/garden/{name}/" for name in names}
    turtle = "".join(f"@prefix {name}: <{space}> .\n" for name, space in spaces.items())
    for size, name in enumerate(names, 3):
        turtle += " ".join(
            f"{name}:T{n} a owl:Class ; rdfs:subClassOf beds:T1 ." for n in range(size)
        )
    turtle += "ex:s a sh:NodeShape . " + " ".join(
        f"ex:s sh:property [ sh:path beds:p{n} ; sh:minCount 1 ] ." for n in range(20)
    )
    card = rlm("ontology", "card", write(tmp_path, turtle)).out
    (line,) = [line for line in card.splitlines() if line.startswith("Prefixes: ")]
    assert all(f"{name}:" in line for name in (*names, "sh")), line
    assert "<https://ontology.example.org/garden/beds/>" in line and "shacl" not in line
    assert len(card.partition("\n\n")[0]) <= 600


# -- queries
# ---------------------------------------------------------------------------------------


def test_a_query_that_finds_nothing_names_the_terms_that_are_not_there(
    rlm: Run, tmp_path: Path
) -> None:
    path = write(tmp_path, CHAIN + "ex:Gardener a owl:Class .")
    done = rlm("ontology", "query", path, "SELECT ?s WHERE { ?s rdfs:subClassOf ex:Gardner }")
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith(
        "no rows\nthere is no term ex:Gardner in this graph; did you mean ex:Gardener?"
    )
    nothing = rlm("ontology", "query", path, "SELECT ?s WHERE { ?s a ex:Xyzzyplugh }")
    assert "find its name with `rlm ontology search`" in nothing.err
    known = rlm("ontology", "query", path, "SELECT ?s WHERE { ?s rdfs:subClassOf ex:Gardener }")
    assert known.err == "no rows\n"


def test_json_of_terms_has_iris_and_a_table_has_not(rlm: Run, tmp_path: Path) -> None:
    path = write(tmp_path, "ex:A a owl:Class .")
    (row,) = rlm("ontology", "terms", path, "--json").json["rows"]
    assert row["iri"].endswith("A") and row["name"] == "ex:A"
    assert "iri" not in rlm("ontology", "terms", path).out


def test_stats_show_every_prefix(rlm: Run, tmp_path: Path) -> None:
    bound = "".join(f"@prefix p{n}: <http://p{n}.test/> .\n" for n in range(30))
    path = write(tmp_path, bound + "ex:A a owl:Class .")
    found = rlm("ontology", "stats", path, "--json").json
    assert len([each for each in found["namespaces"] if each[0] == "p"]) == 30
    assert "namespaces" not in found.get("left_out", {})
    assert "p29:" in rlm("ontology", "stats", path).out


def test_a_path_that_was_not_found_says_what_was_not_followed(rlm: Run, tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "ex:A a owl:Class . ex:D a owl:Class . ex:B rdfs:seeAlso ex:A ; rdfs:subClassOf ex:C . ex:D rdfs:subClassOf ex:C .",
    )
    shown = rlm("ontology", "path", path, "ex:A", "ex:D", "--depth", "4")
    assert shown.code == 1 and shown.err == (
        "no path of up to 4 statements (not looked for: those of over 2 by annotations as rdfs:seeAlso):"
        " try --depth 5, or compare `rlm ontology relations` of both\n"
    )
    told = rlm(
        "run", "How is ex:A connected to ex:D?", "--ontology", path, "--model", "offline"
    ).out
    assert "4 steps" in told and "(not looked for: those of over 2 by annotations" in told
