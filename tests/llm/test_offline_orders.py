"""`offline` over the orders that words may stand in, and questions in two parts: steps before the
forms, so that one form reads many wordings."""

from __future__ import annotations

import pytest
from offline_runs import Asked, listed

from all_cases import all_cases
from rlm.llm.types import is_unanswered

GARDEN = """
@prefix g: <http://garden.test/own#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix dc: <http://purl.org/dc/terms/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://garden.test/own> a owl:Ontology ; owl:versionInfo "2.1" ; dc:created "2020-02-02" .
g:Plant a owl:Class . g:Tree a owl:Class ; rdfs:subClassOf g:Plant ; rdfs:comment "It is tall." .
g:Oak a owl:Class ; rdfs:subClassOf g:Tree ; rdfs:label "oak"@en , "Eiche"@de .
g:Weed a owl:Class ; owl:deprecated true ; dc:isReplacedBy g:Plant .
g:Bed a owl:Class ; owl:equivalentClass g:Plot . g:Plot a owl:Class .
g:BedType a owl:Class ; rdfs:label "Bed type" .
g:raised a g:BedType , owl:NamedIndividual ; rdfs:label "raised" .
g:sunken a g:BedType , owl:NamedIndividual ; owl:deprecated true .
g:growsIn a owl:ObjectProperty , owl:FunctionalProperty ; rdfs:domain g:Plant ; rdfs:range g:Bed ;
  owl:inverseOf g:holds ; rdfs:subPropertyOf g:standsIn .
g:holds a owl:ObjectProperty . g:standsIn a owl:ObjectProperty ; rdfs:subPropertyOf g:isNear .
g:isNear a owl:ObjectProperty , owl:TransitiveProperty ; rdfs:domain owl:Thing .
g:width a owl:DatatypeProperty ; rdfs:domain [ owl:unionOf ( g:Bed g:Tree ) ] .
g:height a owl:DatatypeProperty ; rdfs:domain g:Tree .
g:habits a skos:ConceptScheme ; skos:prefLabel "Growth habits" ; skos:hasTopConcept g:h1 .
g:h1 a skos:Concept ; skos:prefLabel "upright" ; skos:inScheme g:habits .
g:h2 a skos:Concept ; skos:prefLabel "columnar" ; skos:broader g:h1 ; skos:altLabel "slim" .
g:h3 a skos:Concept ; skos:prefLabel "very columnar" ; skos:broader g:h2 .
g:c1 a skos:Collection ; skos:prefLabel "tall ones" ; skos:member g:h1 , g:h2 .
"""


@pytest.fixture(scope="module")
def garden(tmp_path_factory):
    made = tmp_path_factory.mktemp("garden") / "garden.ttl"
    made.write_text(GARDEN)
    asked = Asked(made, "g")
    yield asked
    asked.engine.close()


@all_cases(
    ("question", "answer"),
    [
        # the question word at the end, or behind a preposition
        ("An oak is a kind of what?", "1 direct superclass of g:Oak:\n- g:Tree"),
        ("growsIn is a subproperty of which properties, all the way up?", "2 superproperties at"),
        ("To what can the property growsIn be applied?", "The domain of g:growsIn is g:Plant."),
        ("Between which classes does growsIn run?", "The domain of g:growsIn is g:Plant.\nThe ran"),
        ("By what has Weed been replaced?", "1 replacement of g:Weed:\n- g:Plant"),
        ("Of which class is Oak a subclass?", "1 direct superclass of g:Oak:"),
        # the order of a clause
        ("Show me how Oak is connected to Plant.", "Connected in 2 steps:"),
        ("What does the vocabulary say a tree is?", "g:Tree is a class.\nIt is tall."),
        ("Tell me what a tree is", "g:Tree is a class."),
        ("What does the file say about a tree?", "g:Tree is a class."),
        ("Is any class equivalent to Plot?", "1 equivalent class of g:Plot:\n- g:Bed"),
        ("Is there any transitive property? Name it.", "Yes: 1 transitive property:\n- g:isNear"),
        ("Is there a property that leads from Plant to Bed?", "1 property with this domain"),
        ("Which concept schemes does the file contain?", "1 instance of skos:ConceptScheme:"),
        # tense, number, negation
        ("Which classes have been deprecated?", "1 deprecated class:\n- g:Weed"),
        ("What is Plot defined as being equivalent to?", "1 equivalent class of g:Plot:"),
        ("Which properties describe a Tree?", "1 property with the domain of g:Tree,"),
        ("What does growsIn point at?", "The range of g:growsIn is g:Bed."),
        ("Which classes are missing a superclass?", "5 roots of the class hierarchy:"),
        ("List the deprecated bed types.", "1 deprecated instance of g:BedType:\n- g:sunken"),
        ("Which bed types are not deprecated?", "1 not deprecated instance of g:BedType:\n- g:ra"),
        ("How many levels deep is the class tree?", "3 levels of classes: 2 steps of"),
        ("How deep is Oak?", "2 levels above g:Oak,"),
        # one of a kind and many are two questions
        ("What is the Tree class?", "g:Tree is a class.\nIt is tall."),
        ("What is the tree?", "g:Tree is a class."),
        ("What are the tree classes?", "1 direct subclass of g:Tree:"),
        # a term first, or a statement or question about it, and then "it"
        ("growsIn: what is its inverse?", "1 inverse of g:growsIn:\n- g:holds"),
        ("Oak - what is its German label?", "Label of g:Oak in the language de:\n- \"Eiche\""),
        ("Weed is deprecated: what should be used instead of it?", "1 replacement of g:Weed:"),
        ("Weed is obsolete, what should I use instead?", "1 replacement of g:Weed:"),
        ("Take the property growsIn. Is it functional?", "Yes: g:growsIn is functional."),
        ("Which classes does growsIn run between - what are its domain and range?",
         "The domain of g:growsIn is g:Plant.\nThe range of g:growsIn is g:Bed."),
        ("Which version is this, and when was it created?", "- owl:versionInfo: \"2.1\"\n- dc:created"),
        ("What are Tree's superclasses, and what are its properties?", "1 direct superclass of g:T"),
        ("BedType has which instances?", "2 instances of g:BedType:"),
        ("What kinds of bed type exist?", "None: there are no direct subclasses of g:BedType. It has 2"),
        ("How many Oak subclasses are there?", "0 direct subclasses of g:Oak"),
        ("Which prefixes are used here, and what do they stand for?", "6 namespaces:"),
        # SKOS
        ("What is narrower than upright?", "1 direct narrower concept of g:h1:\n- g:h2"),
        ("List all narrower concepts of upright", "2 narrower concepts at any depth of g:h1:"),
        ("broader concepts of columnar", "1 direct broader concept of g:h2:\n- g:h1"),
        ('Who are the members of the collection "tall ones"?', "2 members of g:c1:\n- g:h1"),
        ('What are the top concepts of the scheme "Growth habits"?', "1 top concept of g:habits:"),
        ("How many concepts are in the Growth habits scheme?", "1 concept of g:habits."),
        ('Does "columnar" go by another name?', "Synonym of g:h2:\n- \"slim\""),
    ],
)  # fmt: skip
def test_one_form_reads_many_orders(garden, question, answer):
    assert garden.ask(question)[0].startswith(answer)


@pytest.mark.parametrize("question", ["What bed types are there?", "Which bed types are there?"])
def test_a_longer_name_goes_before_the_types_of_a_class(garden, question):
    assert listed(garden.ask(question)[0]) == ["g:raised", "g:sunken"]


def test_the_properties_of_a_class_are_one_list_with_their_sources(garden):
    told, _ = garden.ask("What properties does Oak have?")
    assert told.startswith("0 properties with the domain of g:Oak, 3 of classes above it:")
    assert "- g:height (from g:Tree)" in told and "- g:growsIn (from g:Plant)" in told
    assert "\n1 more have the domain owl:Thing" in told
    of_tree, _ = garden.ask("What properties does Tree have?")
    assert listed(of_tree) == ["g:growsIn", "g:height"]
    assert "\n1 more have it as a part of a union or an intersection: g:width" in of_tree


@all_cases(
    ("question", "parts"),
    [
        ('Which zorbs eat "the frog"?', ("“the frog”", "What is ")),
        ("Which classes show the quickness zorb?", ("rlm ask --forms",)),
        ("Which trees have a zorb?", ("read as the name of a property, “trees”", "g:Tree")),
        ("What is the domain of zorbOf?", ("no property called “zorbOf”",)),
        ("Oak: what is its zorb?", ()),
        ("Which version is this, and which zorb is it?", ()),
        ("Weed is deprecated: what is the weather like?", ()),
    ],
)
def test_what_is_not_read_is_refused_with_what_was_read(garden, question, parts):
    answer, _ = garden.ask(question)
    assert is_unanswered(answer) or answer.startswith("There is no"), answer
    assert all(part in answer for part in parts) and "\ufffd" not in answer, answer
    assert "no class called “quickness" not in answer
