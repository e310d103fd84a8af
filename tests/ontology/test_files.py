"""Files as they come: several and folders as one graph, imports through catalogues, other syntaxes
of OWL, and what is said where something is missing or broken."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import rdflib
import rdflib.compare
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlm.cli import main
from rlm.errors import NotRDF, OntologyError
from rlm.mcp_server.library import Library
from rlm.ontology.engine import loader
from rlm.ontology.engine.catalogue import Catalogue
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.source import open_engine

COUNT = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
HEAD = "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
BOATS = HEAD + (
    "@prefix ex: <http://boats/> .\n"
    "<http://boats> a owl:Ontology ; owl:imports <http://ropes> .\n"
    "ex:Boat a owl:Class . ex:Boat ex:made [ ex:of 1 ] .\n"
)
ROPES = HEAD + (
    "@prefix ex: <http://ropes/> .\n"
    "<http://ropes> a owl:Ontology ; owl:imports <http://boats> .\n"
    "ex:Rope a owl:Class . ex:Rope ex:made [ ex:of 2 ] .\n"
)
CATALOGUE = """<?xml version="1.0" encoding="UTF-8"?>
<catalog prefer="public" xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">
  <group id="Folder Repository" prefer="public" xml:base="">
    <uri id="entry" name="http://ropes" uri="{}"/>
  </group>
</catalog>
"""
OWL_XML = """<?xml version="1.0"?>
<!DOCTYPE Ontology [ <!ENTITY ropes "http://ropes/" > ]>
<Ontology xmlns="http://www.w3.org/2002/07/owl#" ontologyIRI="http://ropes"
    xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <Prefix name="ropes" IRI="http://ropes/"/>
  <Declaration><Class IRI="&ropes;Rope"/></Declaration>
  <SubClassOf><Class IRI="&ropes;Line"/><Class IRI="&ropes;Rope"/></SubClassOf>
</Ontology>
"""
FUNCTIONAL = """Prefix(ropes:=<http://ropes/>)
Ontology(<http://ropes>
  Declaration(Class(ropes:Rope))
  SubClassOf(ropes:Line ropes:Rope)
)
"""
SAME = HEAD + (
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    "<http://ropes> a owl:Ontology .\n<http://ropes/Rope> a owl:Class .\n"
    "<http://ropes/Line> rdfs:subClassOf <http://ropes/Rope> .\n"
)
OBO = """format-version: 1.4
ontology: ropes

[Term]
id: R:1
name: rope

[Term]
id: R:2
is_a R:1

[Term]
id: R:3
name: line
is_a: R:1
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RLM_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "config.toml").touch()
    monkeypatch.setenv("RLM_CONFIG", str(tmp_path / "config.toml"))
    folder = tmp_path / "files"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def opened() -> Iterator[Callable[..., LocalEngine]]:
    engines: list[LocalEngine] = []

    def opened(source, **how) -> LocalEngine:
        engines.append(LocalEngine(source, **how))
        return engines[-1]

    yield opened
    for engine in engines:
        engine.close()


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run(*args: str) -> tuple[int, str, str]:
        code = main(list(args))
        out, err = capsys.readouterr()
        return code, out, err

    return run


def classes(engine: LocalEngine) -> list[str]:
    return sorted(row["c"]["v"] for row in engine.query("SELECT ?c { ?c a owl:Class }").rows)


def write(**texts: str) -> None:
    for name, text in texts.items():
        Path(name.replace("_", ".")).write_text(text, "utf-8")


def test_files_and_folders_are_one_graph(opened, place):
    write(boats_ttl=BOATS, ropes_ttl=ROPES)
    for source in (["boats.ttl", "ropes.ttl"], ".", str(place)):
        engine = opened(source)
        assert classes(engine) == ["http://boats/Boat", "http://ropes/Rope"]
        assert engine.triples == 10
        answer = engine.query("SELECT ?n { ?made <http://boats/of>|<http://ropes/of> ?n }")
        assert len({row["n"]["v"] for row in answer.rows}) == len(answer.rows) == 2
        blank = engine.query("SELECT DISTINCT ?b { ?s ?p ?b FILTER ISBLANK(?b) }")
        assert len(blank.rows) == 2, "blank nodes of two files are not one"
    assert opened(".").name == "files" and not opened(".").meta().missing_imports


def test_the_cache_is_of_all_files_together(opened):
    write(boats_ttl=BOATS, ropes_ttl=ROPES)
    first = opened(["boats.ttl", "ropes.ttl"])
    assert not first.loaded_from_cache and first._loader.settle(60)
    assert opened(["boats.ttl", "ropes.ttl"]).loaded_from_cache
    write(ropes_ttl=ROPES + "ex:Line a owl:Class .")
    changed = opened(["boats.ttl", "ropes.ttl"])
    assert not changed.loaded_from_cache and "http://ropes/Line" in classes(changed)
    assert not opened("boats.ttl").loaded_from_cache


@pytest.mark.parametrize("packed", ["ropes.ttl.gz", "ropes.ttl.gzip", "ropes.TTL.GZIP"])
def test_a_packed_file_of_a_folder_is_read(packed, opened):
    write(boats_ttl=BOATS)
    Path(packed).write_bytes(gzip.compress(ROPES.encode()))
    assert classes(opened(".")) == ["http://boats/Boat", "http://ropes/Rope"]


def test_imports_come_through_a_catalogue_and_a_cycle_ends(opened):
    write(boats_ttl=BOATS)
    Path("sub").mkdir()
    Path("sub/ropes.ttl").write_text(ROPES)
    Path("catalog-v001.xml").write_text(CATALOGUE.format("sub/ropes.ttl"))
    engine = opened("boats.ttl")
    assert classes(engine) == ["http://boats/Boat", "http://ropes/Rope"]
    assert engine.meta().missing_imports == [] and engine._loader.settle(60)
    assert classes(opened("boats.ttl")) == classes(engine)
    Path("sub/ropes.ttl").write_text(ROPES + "ex:Line a owl:Class .")
    assert "http://ropes/Line" in classes(opened("boats.ttl")), "an import that changed is read"


def test_imports_are_given_by_hand_and_win(opened, cli):
    write(boats_ttl=BOATS, mine_ttl=SAME)
    Path("catalog-v001.xml").write_text(CATALOGUE.format("gone.ttl"))
    engine = opened("boats.ttl", imports={"http://ropes": "mine.ttl"})
    assert "http://ropes/Rope" in classes(engine) and engine.notes == []
    code, out, _ = cli(
        "ontology", "query", "boats.ttl", "ASK { <http://ropes/Line> ?p ?o }",
        "--import", "http://ropes=mine.ttl",
    )  # fmt: skip
    assert (code, out) == (0, "yes\n")
    code, _, err = cli("ontology", "stats", "boats.ttl", "--import", "http://ropes=nope.ttl")
    assert code == 2 and "there is no file nope.ttl" in err


def test_a_catalogue_that_points_nowhere_is_said_with_its_line(opened):
    write(boats_ttl=BOATS)
    Path("catalog-v001.xml").write_text(CATALOGUE.format("gone.ttl"))
    engine = opened("boats.ttl")
    assert classes(engine) == ["http://boats/Boat"] and engine.meta().missing_imports == [
        "http://ropes"
    ]
    (note,) = engine.notes
    assert "<http://ropes>" in note and "catalog-v001.xml:4:" in note and "gone.ttl" in note


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<catalog>\n<uri>\n</catalog>", "catalog-v001.xml:3: "),
        ('<!DOCTYPE c [<!ENTITY a "b">]><catalog/>', "declares an entity (line 1)"),
        ('<?xml version="1.0" encoding="no-such"?><catalog/>', "unknown encoding: no-such"),
        ('<?xml version="1.0" encoding="shift_jis"?><catalog/>', "encodings are not supported"),
    ],
)
def test_a_broken_catalogue_is_said_and_the_rest_works(text, said, opened):
    write(boats_ttl=BOATS)
    Path("catalog-v001.xml").write_text(text)
    engine = opened("boats.ttl")
    assert said in engine.notes[0] and classes(engine) == ["http://boats/Boat"]


def test_a_catalogue_leads_to_no_web_and_where_asked_not_out_of_a_folder(opened, tmp_path):
    (tmp_path / "secret.ttl").write_text(ROPES)
    write(boats_ttl=BOATS)
    Path("catalog-v001.xml").write_text(CATALOGUE.format("../secret.ttl"))
    assert len(classes(opened("boats.ttl"))) == 2
    library = Library.of(["boats.ttl"], [])
    try:
        engine = library.open("boats").engine
        assert len(classes(engine)) == 1 and "outside of the folders" in engine.notes[0]
    finally:
        library.close()
    Path("catalog-v001.xml").write_text(CATALOGUE.format("http://example.org/ropes.ttl"))
    assert "nothing is fetched" in opened("boats.ttl").notes[0]


@pytest.mark.parametrize("uri", ["http://[::1/b.owl", "b%00.owl", "b" * 5_000])
def test_a_uri_that_names_no_file_is_said_and_the_rest_works(uri, opened):
    write(boats_ttl=BOATS)
    ways = f'<rewriteURI uriStartString="http://x/" rewritePrefix="{uri}"/><nextCatalog catalog="{uri}"/>'
    text = CATALOGUE.format(uri).replace("</group>", f"{ways}</group>")
    Path("catalog-v001.xml").write_text(text)
    engine = opened("boats.ttl")
    assert classes(engine) == ["http://boats/Boat"]
    (note,) = engine.notes
    assert "<http://ropes>" in note and "catalog-v001.xml:4:" in note and note.isprintable()


@given(st.text(max_size=40), st.text(max_size=40))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_catalogue_is_read_or_noted(tmp_path, name, uri):
    from xml.sax.saxutils import quoteattr

    text = f"<catalog><uri name={quoteattr(name)} uri={quoteattr(uri)}/></catalog>"
    path = tmp_path / "catalog-v001.xml"
    path.write_bytes(text.encode("utf-8", "replace"))
    found = Catalogue()
    found.read_beside([tmp_path])
    assert len(found.entries) + len(found.notes) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [("ropes.owl", OWL_XML), ("ropes.owx", OWL_XML), ("ropes.ofn", FUNCTIONAL), ("-", FUNCTIONAL)],
)
def test_other_syntaxes_of_owl_give_the_same_triples(name, text, cli, monkeypatch):
    if name == "-":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    else:
        Path(name).write_text(text)
    asked = "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"
    code, _, err = cli("ontology", "query", name, asked, "--out", "out.nt")
    assert code == 0 and err == "3 triples\n"
    assert set(rdflib.Graph().parse("out.nt")) == set(rdflib.Graph().parse(data=SAME))


def test_the_prefixes_of_owl_files_are_theirs(opened):
    write(ropes_ofn=FUNCTIONAL)
    engine = opened("ropes.ofn")
    assert engine.meta().curie("http://ropes/Rope") == "ropes:Rope"


def test_a_broken_stanza_of_obo_is_left_out_with_its_line(opened):
    write(ropes_obo=OBO)
    engine = opened("ropes.obo")
    assert len(classes(engine)) == 2 and "obo:R_3" in map(engine.meta().curie, classes(engine))
    (note,) = engine.notes
    assert note.startswith("ropes.obo:10: the stanza of R:2 left out")
    write(two_obo=f"{OBO}is_a R:1\n\n[Term]\nid: R:4\nname: cord\n")
    many = "".join(f"[Term]\nid: X:{n}\nis_a X:1\n\n" for n in range(30))
    write(many_obo=f"format-version: 1.4\n\n{many}")
    with pytest.raises(NotRDF, match=r"many\.obo:\d+: more than 20 stanzas"):
        opened("many.obo")
    first, second = opened("two.obo").notes
    assert first == note.replace("ropes.obo", "two.obo") and second.startswith("two.obo:16: ")


@pytest.mark.parametrize(
    ("name", "text", "line", "said"),
    [
        ("x.owx", OWL_XML.replace("</SubClassOf>", "</SubClass>"), 7, ""),
        ("x.owx", OWL_XML.replace("<Class IRI", "<Clas IRI", 1), 6, "Clas"),
        ("x.owx", OWL_XML.replace('"http://ropes/" >', '"&b;">', 1), 2, "DTD"),
        ("x.owx", OWL_XML.replace("Ontology [", 'Ontology SYSTEM "x.dtd" ['), None, "DTD"),
        ("x.ofn", FUNCTIONAL.replace("(ropes:Line", "(nope:Line"), 4, "undefined prefix"),
        ("x.ofn", FUNCTIONAL[:-2], None, ""),
        ("x.omn", "Prefix: : <http://e/>\nOntology: <http://e>\n", None, "Manchester"),
    ],
)
def test_broken_owl_is_said_with_file_and_line(name, text, line, said, opened):
    Path(name).write_text(text)
    with pytest.raises(NotRDF) as caught:
        opened(name)
    assert caught.value.path == name and said in str(caught.value)
    assert line is None or caught.value.line == line


def test_broken_rdf_xml_is_said_with_its_line(opened):
    head = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    write(x_rdf=f"{head}\n<rdf:Description rdf:about='http://e/a'>\n</rdf:RDF>")
    with pytest.raises(NotRDF, match=r"x\.rdf:3: "):
        opened("x.rdf")


def test_without_the_library_the_line_that_installs_it_is_printed(opened, monkeypatch):
    write(ropes_obo=OBO, boats_ttl=BOATS)
    monkeypatch.setattr(loader, "package_folder", lambda name: None)
    with pytest.raises(OntologyError, match=r"pip install 'py-horned-owl>=2\.0'"):
        opened("ropes.obo")
    assert opened("boats.ttl").triples == 5


def test_a_broken_file_of_a_folder_is_left_out_one_that_is_named_is_an_error(opened):
    write(
        boats_ttl=BOATS, broken_ttl="@prefix e: <http://e/> .\ne:a e:b\n", page_owl="<html></html>"
    )
    engine = opened(".")
    assert classes(engine) == ["http://boats/Boat"]
    assert any("broken.ttl: left out: line" in note for note in engine.notes)
    assert any("page.owl" in note and "HTML" in note for note in engine.notes)
    assert engine._loader.settle(60)
    with pytest.raises(NotRDF, match=r"broken\.ttl:\d"):
        opened(["boats.ttl", "broken.ttl"])


def test_two_files_that_disagree_are_said(opened):
    version = "<http://boats> owl:versionIRI <http://boats/{}> .\n"
    write(
        a_ttl=BOATS + version.format(1),
        b_ttl=HEAD + "<http://boats> a owl:Ontology .\n" + version.format(2)
        + "@prefix ex: <http://other/> . <http://boats/Boat> a owl:ObjectProperty . ex:X ex:y ex:Z .",
    )  # fmt: skip
    engine = opened(["a.ttl", "b.ttl"])
    said = "\n".join(engine.notes)
    assert "b.ttl: the prefix ex: is <http://other/> here and <http://boats/>" in said
    assert "b.ttl: <http://boats> is version <http://boats/2> here" in said
    assert "<http://boats/Boat> (Class, ObjectProperty)" in said
    assert engine.meta().curie("http://other/X") == "ex2:X"
    assert engine.query("SELECT ?z { ex2:X ex2:y ?z }").text_rows(engine.prefixes) == [
        {"z": "ex2:Z"}
    ]


def test_a_name_is_spelled_alike_everywhere(cli, opened):
    text = "@prefix z: <http://e/> . @prefix a: <http://e/> . z:A a z:B ; z:p z:C ."
    write(x_ttl=text, y_nt="<http://long/a#A> <http://long/a#p> <http://long/a#B> .\n")
    for name, iri in (("x.ttl", "http://e/A"), ("y.nt", "http://long/a#A")):
        short = opened(name).meta().curie(iri)
        _, found, _ = cli(
            "ontology", "query", name, f"SELECT ?s {{ ?s ?p ?o FILTER(?s = <{iri}>) }}"
        )
        _, described, _ = cli("ontology", "describe", name, iri, "--json")
        assert set(found.split()[1:]) == {short} and json.loads(described)["curie"] == short


def test_all_columns_come_in_the_order_of_the_query(opened):
    write(boats_ttl=BOATS)
    engine = opened("boats.ttl")
    answer = engine.query("SELECT DISTINCT * { ?zebra ?kind ?ant . ?ant ?p ?q }")
    assert answer.variables == ["zebra", "kind", "ant", "p", "q"]
    assert [*answer.rows[0]] == answer.variables
    assert engine.query("SELECT ?b ?a { ?a ?p ?b }").variables == ["b", "a"]


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated")  # rdflib's own parser
@pytest.mark.parametrize("ending", [".ttl", ".nt", ".rdf", ".jsonld"])
def test_triples_go_out_in_the_format_of_the_name(ending, cli):
    write(boats_ttl=BOATS)
    asked = "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"
    assert cli("ontology", "query", "boats.ttl", asked, "--out", f"x{ending}")[0] == 0
    formats = {".rdf": "xml", ".jsonld": "json-ld", ".ttl": "turtle", ".nt": "nt"}
    found = rdflib.Graph().parse(f"x{ending}", format=formats[ending])
    assert rdflib.compare.isomorphic(found, rdflib.Graph().parse("boats.ttl"))


def test_a_query_and_an_ontology_are_not_both_on_standard_input(cli):
    code, _, err = cli("ontology", "query", "-", "-")
    assert code == 2 and "standard input" in err


def test_a_run_asks_several_files(cli, tmp_path):
    write(boats_ttl=BOATS, ropes_ttl=ROPES, mine_ttl=SAME)
    ask = (
        "run",
        "How many classes are there?",
        "--db",
        str(tmp_path / "m.db"),
        "--model",
        "offline",
    )
    code, out, _ = cli(*ask, "--ontology", "boats.ttl", "--ontology", "ropes.ttl")
    assert code == 0 and "2" in out
    code, out, _ = cli(*ask, "--ontology", "boats.ttl", "--import", "http://ropes=mine.ttl")
    assert code == 0 and "2" in out
    code, out, _ = cli(*ask, "--ontology", "boats.ttl")
    assert code == 0 and "1" in out


def test_one_name_in_a_list_is_as_the_name_alone():
    with pytest.raises(OntologyError, match="the config names no endpoint"):
        open_engine(["museum"])
    with pytest.raises(OntologyError, match="no file is named"):
        open_engine([])


def test_what_crashes_the_converter_ends_its_worker_alone(opened):
    deep = 100_000
    inner = "ObjectComplementOf(" * deep + "<http://e/b>" + ")" * deep
    write(deep_ofn=f"Ontology(<http://e>\nSubClassOf(<http://e/a> {inner})\n)", boats_ttl=BOATS)
    with pytest.raises(OntologyError, match="the parser did not survive"):
        opened("deep.ofn")
    assert opened("boats.ttl").triples == 5


def test_a_version_in_a_file_name_is_part_of_the_name(tmp_path: Path) -> None:
    for name, wanted in (("case-1.5.0.ttl", "case-1.5.0"), ("prov.owl.ttl", "prov")):
        (tmp_path / name).write_text("<urn:a> a <urn:B> .")
        with LocalEngine(tmp_path / name, cache_dir=tmp_path / "cache") as engine:
            assert engine.name == wanted
