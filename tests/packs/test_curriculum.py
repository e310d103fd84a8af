"""A curriculum is read strictly: what is wrong is told with its line, before anything is opened or
asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.errors import ConfigError
from rlm.learning.verify import Verify
from rlm.ontology.source import open_engine
from rlm.packs.curriculum import FILE_BYTES, Task, read_curriculum
from rlm.packs.curriculum_check import check_curriculum, odd_tags

GOOD = """\
id: shop_v1
description: Questions over a shop.
ontology:
  name: shop
  path: shop.ttl
tasks:
  - id: shop-01
    query: "What are the subclasses of Item?"
    tags: [subclasses, hierarchy]
    verify:
      sparql: SELECT ?c WHERE { ?c rdfs:subClassOf ex:Item }
      compare: set
  - id: shop-02
    query: Find all terms
    tags: [search]
    held_out: true
"""
SHOP = """\
@prefix ex: <http://example.org/shop#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Item a owl:Class . ex:Book a owl:Class ; rdfs:subClassOf ex:Item, [ a owl:Class ] .
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shop.ttl").write_text(SHOP)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(folder: Path, text: str | bytes) -> str:
    """What the reader says, without the path."""
    path = folder / "shop_v1.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as caught:
        read_curriculum(path)
    told = str(caught.value)
    assert told.startswith(f"{path}:"), told
    return told.removeprefix(f"{path}:")


@pytest.mark.req("RB-08")
def test_a_good_file_is_read(folder):
    (folder / "shop_v1.yaml").write_text(GOOD)
    found = read_curriculum("shop_v1.yaml")
    assert (found.id, found.ontology_name, found.description) == (
        "shop_v1",
        "shop",
        "Questions over a shop.",
    )
    assert found.ontology_path == Path("shop.ttl")
    verify = Verify("SELECT ?c WHERE { ?c rdfs:subClassOf ex:Item }", "set")
    assert found.tasks == (
        Task("shop-01", "What are the subclasses of Item?", ("subclasses", "hierarchy"), verify),
        Task("shop-02", "Find all terms", ("search",), None, held_out=True),
    )
    assert [task.line for task in found.tasks] == [7, 13]
    assert found.tasks[0].verify_line == 11
    assert found.training == found.tasks[:1]
    assert found.held_out == found.tasks[1:]


def test_the_file_of_the_specification_is_read(folder):
    (folder / "seed.yaml").write_text(
        "id: seed\nontology:\n  name: shop\n  path: shop.ttl\ntasks:\n  - id: a-01\n    query:"
        ' "What is Item?"\n    tags: ["orientation"]\n'
    )
    (task,) = read_curriculum(folder / "seed.yaml").tasks
    assert (task.tags, task.verify, task.held_out, task.kind) == (
        ("orientation",),
        None,
        False,
        None,
    )


def test_the_kind_is_the_first_tag_that_is_one():
    assert Task("a", "q", ("hierarchy", "all_subclasses", "count")).kind == "all_subclasses"
    assert Task("a", "q", ("absent",)).kind == "absent"


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("before", ["", "\ufeff"])
def test_line_endings_and_byte_order_marks_do_not_matter(folder, ending, before):
    (folder / "a.yaml").write_bytes((before + GOOD.replace("\n", ending)).encode())
    assert [task.line for task in read_curriculum(folder / "a.yaml").tasks] == [7, 13]


# -- what is wrong, and where
# ------------------------------------------------------------------------------

WRONG = [
    # what is replaced, by what, where it is told, what is told
    ("id: shop_v1\n", "", "1:1", "the key 'id' of a curriculum is missing"),
    ("description: Q", "descripton: Q", "2:1", "no key 'descripton': did you mean description?"),
    ("  name: shop\n", "", "4:3", "the key 'name' of ontology is missing"),
    (
        "  path: shop.ttl",
        "  file: shop.ttl",
        "5:3",
        "ontology has no key 'file'; use one of: name, path",
    ),
    ("path: shop.ttl", "path: stop.ttl", "5:9", "there is no ontology 'stop.ttl'"),
    (
        "ontology:\n  name: shop\n  path: shop.ttl",
        "ontology: shop.ttl",
        "3:11",
        "ontology is the text 'shop.ttl'",
    ),
    ("tags: [search]", "tag: [search]", "15:5", "a task has no key 'tag': did you mean tags?"),
    ("    query: Find all terms\n", "", "13:5", "the key 'query' of a task is missing"),
    ("query: Find all terms", "query: ~", "14:12", "query is empty"),
    ("query: Find all terms", "query:", "14:11", "query is empty"),
    ("query: Find all terms", "query: '  '", "14:12", "query is empty"),
    ("query: Find all terms", "query: [a]", "14:12", "query is a list, expected text"),
    (
        "query: Find all terms",
        f"query: {'x' * 5000}",
        "14:12",
        "query has 5,000 characters, at most 4,000",
    ),
    ("tags: [search]", "tags: []", "15:11", "tags is empty"),
    ("tags: [search]", "tags: search", "15:11", "tags is the text 'search', expected a list"),
    ("tags: [search]", "tags: [{a: b}]", "15:12", "a tag is a mapping, expected text"),
    ("held_out: true", "held_out: maybe", "16:15", "held_out is 'maybe': write true or false"),
    ("held_out: true", "held_out: 'true'", "16:15", "write true or false"),
    ("id: shop-02", "id: shop-01", "13:9", "the task id 'shop-01' is here twice, first in line 7"),
    ("id: shop-02", "id: a b", "13:9", "id is 'a b': use 1 to 80 letters"),
    ("id: shop-02", "id: ../x", "13:9", "id is '../x'"),
    ("compare: set", "compare: sets", "12:16", "compare is 'sets': did you mean set?"),
    (
        "compare: set",
        "compare: equal",
        "12:16",
        "use one of: set, contains_all, count, boolean, absent",
    ),
    (
        "compare: set",
        "comparison: set",
        "12:7",
        "verify has no key 'comparison': did you mean compare?",
    ),
    ("      compare: set\n", "", "11:7", "the key 'compare' of verify is missing"),
    (
        "SELECT ?c WHERE { ?c",
        "Which ?c",
        "11:15",
        "query refused at line 1, column 1: 'Which' does not begin a query",
    ),
    ("rdfs:subClassOf ex:Item }", "rdfs:subClassOf ex:Item", "11:15", "{ is never closed"),
    ("SELECT ?c WHERE {", "DELETE WHERE {", "11:15", "DELETE would change the data"),
    ("SELECT ?c WHERE {", "ASK {", "11:15", "sparql is ASK, but compare: set needs SELECT"),
    ("SELECT ?c WHERE {", "DESCRIBE ?c WHERE {", "11:15", "sparql is DESCRIBE"),
    (
        "id: shop-02\n",
        "id: shop-02\n    id: shop-03\n",
        "14:5",
        "the key 'id' is here twice, first in line 13",
    ),
    (
        "  - id: shop-02\n    query: Find all terms\n    tags: [search]\n",
        "  - just text\n",
        "14:13",
        "is not valid YAML",
    ),
]


@pytest.mark.req("RB-08")
@pytest.mark.parametrize(("old", "new", "where", "told"), WRONG, ids=[row[3][:50] for row in WRONG])
def test_what_is_wrong_is_told_with_its_line(folder, old, new, where, told):
    assert old in GOOD
    said = refused(folder, GOOD.replace(old, new))
    assert said.startswith(f"{where}: "), said
    assert told in said


@pytest.mark.req("RB-08")
@pytest.mark.parametrize(
    ("text", "where", "told"),
    [
        (
            "- id: a\n- id: b\n",
            "1:1",
            "a curriculum is a list, expected the keys id, description, ontology, tasks",
        ),
        ("just a sentence", "1:1", "a curriculum is the text 'just a sentence'"),
        ("", "1:1", "the file is empty"),
        ("# only a comment\n", "1:1", "the file is empty"),
        (
            "id: a\n\tname: b\n",
            "2:1",
            "is not valid YAML: found character '\\t' that cannot start any token",
        ),
        ("id: a\nontology: [b\ntasks: c\n", "3:6", "is not valid YAML"),
        (
            "id: a: b\n",
            "1:6",
            "is not valid YAML: mapping values are not allowed here; check quotes",
        ),
        ("id: 'a\n", "2:1", "is not valid YAML: found unexpected end of stream"),
        (GOOD.split("tasks:")[0] + "tasks: []\n", "6:8", "tasks is empty"),
        (GOOD.split("tasks:")[0] + "tasks:\n", "6:7", "tasks is empty, expected a list"),
        (
            GOOD.split("tasks:")[0] + "tasks:\n  a: b\n",
            "7:3",
            "tasks is a mapping, expected a list",
        ),
        (
            GOOD.split("tasks:")[0] + "tasks:\n  - text\n",
            "7:5",
            "a task is the text 'text', expected the keys id",
        ),
        ("a: 1\n<<: {b: c}\n", "1:1", "a curriculum has no key 'a'"),
        ("id: !!python/object/apply:os.system ['true']\n", "1:1", "the key 'ontology' of a"),
        ("? [a, b]\n: c\n", "1:3", "a key must be a word"),
        ("id: a\n---\nid: b\n", "2:1", "but found another document"),
        ("- " * 5_000, "1:1", "is nested too deeply"),
        (b"id: a\nname: \xff\n", "2", "is not UTF-8"),
        ("id: a\nname: b\x00c\n", "2:8", "special characters are not allowed"),
    ],
)
def test_what_is_no_curriculum_at_all_is_told_with_its_line(folder, text, where, told):
    said = refused(folder, text)
    assert said.startswith(f"{where}: "), said
    assert told in said


def test_a_long_value_is_not_repeated_in_full(folder):
    assert len(refused(folder, GOOD.replace("shop-02", "x y" * 1000))) < 250


def test_a_file_that_is_not_there_or_too_large_is_refused(folder):
    with pytest.raises(ConfigError, match=r"there is no curriculum none\.yaml: name a YAML file"):
        read_curriculum("none.yaml")
    for name in (folder, "a\0b.yaml"):
        with pytest.raises(ConfigError, match="there is no curriculum"):
            read_curriculum(name)
    (folder / "big.yaml").write_text("#" * (FILE_BYTES + 1))
    with pytest.raises(ConfigError, match="has more than 1,048,576 bytes: split it"):
        read_curriculum("big.yaml")


def test_where_the_ontology_is_looked_for(folder, monkeypatch):
    nested = folder / "repository" / "docs" / "curricula"
    nested.mkdir(parents=True)
    path = nested / "shop_v1.yaml"
    path.write_text(GOOD)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    with pytest.raises(
        ConfigError, match=r"shop_v1.yaml:5:9: .*looked in the working directory, .*curricula and "
    ):
        read_curriculum(path)
    above = folder / "repository" / "shop.ttl"
    above.write_text(SHOP)
    assert read_curriculum(path).ontology_path == above
    (nested / "shop.ttl").write_text(SHOP)
    assert read_curriculum(path).ontology_path == nested / "shop.ttl"
    (elsewhere / "shop.ttl").write_text(SHOP)
    assert read_curriculum(path).ontology_path == Path("shop.ttl")
    path.write_text(GOOD.replace("path: shop.ttl", f"path: {above}"))
    assert read_curriculum(path).ontology_path == above
    path.write_text(GOOD.replace("path: shop.ttl", f"path: {folder}"))
    with pytest.raises(ConfigError, match="there is no ontology"):
        read_curriculum(path)


@pytest.mark.req("RB-08", "RB-22")
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "rdfs:subClassOf ex:Item",
            "rdfs:subClassOf shop:Item",
            "the prefix 'shop:' of 'shop:Item' is not bound",
        ),
        ("?c rdfs:subClassOf ex:Item", "?c rdfs:subClassOf", "query refused"),
        (
            "SELECT ?c WHERE { ?c rdfs:subClassOf ex:Item }",
            "SELECT ?c WHERE { ex:Book rdfs:subClassOf ?c }",
            "blank",
        ),
        ("compare: set", "compare: absent", "finds something, so the thing is there"),
        ("compare: set", "compare: boolean", "is no ASK"),
        (
            "rdfs:subClassOf ex:Item",
            "rdfs:subClassOf ex:Itme",
            "ex:Itme occurs nowhere in the ontology (did you mean ex:Item",
        ),
        (
            "rdfs:subClassOf ex:Item",
            "rdfs:subClasOf|rdfs:subClassOf ex:Item",
            "rdfs:subClasOf occurs nowhere",
        ),
        (
            "SELECT ?c WHERE { ?c rdfs:subClassOf ex:Item }\n      compare: set",
            "ASK { ex:Tem a owl:Class }\n      compare: boolean",
            "what is not there is asked for with compare: absent",
        ),
        (
            "SELECT ?c WHERE { ?c rdfs:subClassOf ex:Item }\n      compare: set",
            "SELECT ?c WHERE { ?c ex:sold ex:Item }\n      compare: count",
            "ex:sold occurs nowhere",
        ),
        (
            "?c rdfs:subClassOf ex:Item",
            "?c rdfs:subClassOf ex:Book",
            "it finds nothing, so compare: set would expect",
        ),
    ],
)
def test_a_query_that_the_ontology_does_not_answer_is_told_with_its_line(
    folder, tmp_path, old, new, told
):
    (folder / "a.yaml").write_text(GOOD)
    (folder / "b.yaml").write_text(GOOD.replace(old, new))
    with open_engine(folder / "shop.ttl", cache_dir=tmp_path / "cache") as engine:
        check_curriculum(read_curriculum("a.yaml"), engine)
        with pytest.raises(
            ConfigError, match=r"^b\.yaml:11: the verify of shop-01 cannot be asked: "
        ) as caught:
            check_curriculum(read_curriculum("b.yaml"), engine)
    assert told in str(caught.value)


NO_SLIPS = """
absent        ASK { ex:Nothing a owl:Class }
absent        SELECT ?c WHERE { ?c ex:sold ex:Item }
count         SELECT (COUNT(?c) AS ?n) WHERE { ?c rdfs:subClassOf ex:Book }
count         SELECT ?c WHERE { ?c rdfs:subClassOf ex:Book }
boolean       ASK { ex:Item rdfs:subClassOf ex:Book }
set           PREFIX s: <http://example.org/shop#> SELECT ?c WHERE { ?c rdfs:subClassOf s:Item }
set           BASE <http://example.org/> PREFIX s: <shop#> SELECT ?c WHERE { ?c rdfs:subClassOf s:Item, <shop#Item> }
set           SELECT ?c WHERE { ?c a owl:Class OPTIONAL { ?c skos:altLabel|owl:sameAs ?l } FILTER(isIRI(?c)) }
contains_all  SELECT ?n WHERE { VALUES ?n { <http://example.org/shop#> } }
set           SELECT ?c WHERE { ?c rdfs:subClassOf ex:Item FILTER(!BOUND(?x) || ?x > xsd:date('2000-01-01')) }
"""


def test_what_is_no_slip_is_accepted(folder, tmp_path):
    head, _, _ = GOOD.partition("  - id:")
    for number, line in enumerate(NO_SLIPS.strip().splitlines()):
        compare, sparql = line.split(maxsplit=1)
        verify = f'{{compare: {compare}, sparql: "{sparql}"}}'
        head += f"  - {{id: t-{number}, query: 'What?', tags: [search], verify: {verify}}}\n"
    (folder / "a.yaml").write_text(head)
    with open_engine(folder / "shop.ttl", cache_dir=tmp_path / "cache") as engine:
        check_curriculum(read_curriculum("a.yaml"), engine)


def test_a_tag_that_is_nearly_a_kind_is_told(folder):
    (folder / "a.yaml").write_text(
        GOOD.replace("[subclasses, hierarchy]", "[sub-clases, hierarchy]")
    )
    (slip,) = odd_tags(read_curriculum("a.yaml"))
    assert slip == (
        "a.yaml:7: 'sub-clases' of task shop-01 is no kind of question: did you mean subclasses?"
    )
    (folder / "a.yaml").write_text(GOOD.replace("[search]", "[mine]"))
    assert list(odd_tags(read_curriculum("a.yaml"))) == []


@given(st.text(alphabet=st.sampled_from("ab:-[]{},'\"#&*!|> \n\t%@`?~\x07é"), max_size=60))
def test_any_text_is_read_or_refused_with_a_line(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "a.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"a\.yaml:\d+:"):
        read_curriculum(path)
