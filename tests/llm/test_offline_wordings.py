"""`offline` over wordings that people use: what is asked counts, not how; and what it cannot read is
never denied."""

from __future__ import annotations

import pytest
from offline_runs import ROOT, Asked

from all_cases import all_cases
from rlm.llm.types import is_unanswered

TUG_TO_VESSEL = "- harbour:Tug -rdfs:subClassOf-> harbour:ServiceVessel -rdfs:subClassOf->"
BELOW = "13 subclasses at any depth of harbour:Vessel"
DIRECT = "4 direct subclasses of harbour:Vessel:"


@pytest.fixture(scope="module")
def harbour():
    asked = Asked(ROOT / "ontology" / "harbour.ttl", "harbour")
    yield asked
    asked.engine.close()


@all_cases(
    ("question", "answer"),
    [
        # how deep: said before the noun, at the end, in brackets, or not at all
        ("Which classes sit below Vessel?", BELOW),
        ("everything below Vessel please", BELOW),
        ("subclasses of Vessel, all the way down", BELOW),
        ("descendants of Vessel", BELOW),
        ("How many subclasses does Vessel have in total?", f"{BELOW}."),
        ("How many subclasses does Vessel have?", f"{DIRECT[:-1]}, 13 at any depth."),
        ("How many kinds of vessel are there?", f"{DIRECT[:-1]}, 13 at any depth."),
        ("How many direct subclasses does Vessel have?", f"{DIRECT[:-1]}."),
        ("What kinds of Vessel are there (direct ones only)?", DIRECT),
        ("Hey, could you list everything directly under Vessel?", DIRECT),
        ("what are Vessel's subclasses", DIRECT),
        ("superclasses of Tug, all the way up", "3 superclasses at any depth of harbour:Tug"),
        ("superproperties of mooredAt, including indirect ones", "None: there are no superprop"),
        ("instances of Vessel, direct ones only", "None: there are no direct instances"),
        ("Which individuals are port authorities?", "2 instances of harbour:PortAuthority"),
        ("Are there any instances of Tug in this file?", "Yes: 2 instances of harbour:Tug"),
        # noun phrases, quotes, courtesies, the ontology named at either end
        ("domain and range of mooredAt", "The domain of harbour:mooredAt is harbour:WaterCraft."),
        ("domain of 'moored at'", "The domain of harbour:mooredAt is harbour:WaterCraft."),
        ("I'd like to know the range of `mooredAt`", "The range of harbour:mooredAt is"),
        ("mooredAt's domain", "The domain of harbour:mooredAt is harbour:WaterCraft."),
        ("Any symmetric properties?", "Yes: 2 symmetric properties:"),
        ("How many classes are in the file?", "45 declared classes."),
        ("In this ontology, which properties are functional?", "2 functional properties:"),
        ("What restrictions does WaterCraft carry?", "1 restriction of harbour:WaterCraft:"),
        ("Which numbers must a WaterCraft have?", "1 restriction of harbour:WaterCraft:"),
        ("home ports of GreyPetrel", "1 value of harbour:GreyPetrel:\n- harbour:homePort:"),
        ("What port does GreyPetrel have?", "1 value of harbour:GreyPetrel:\n- harbour:homePort:"),
        ("Does Tug have a label in German, and which?", "Label of harbour:Tug in the language de"),
        ("Tug in German", "Label of harbour:Tug in the language de"),
        ('Which term is labelled "Schlepper"?', "harbour:Tug is a class"),
        ('What replaces the deprecated term "Hulk"?', "1 replacement of harbour:Hulk:"),
        ("Is Hulk deprecated, and what replaces it?", "Yes: harbour:Hulk is deprecated; use"),
        ("find every class with Cargo in its name", "7 classes with such a name:"),
        ("search for terms with 'cargo vessel'", "1 term with such a name:"),
        ("Which properties does Vessel have?", "5 properties with the domain of harbour:Vessel"),
        ("What properties have Vessel in their domain?", "5 properties with the domain of"),
        (
            "Which properties does a Tug have?",
            "2 properties with the domain of harbour:Tug, 16 of classes above it:\n- "
            "harbour:bollardPullTonnes (bollard pull)\n- harbour:tows\n- ",
        ),
        (
            "How many properties does CargoVessel have?",
            "0 properties with the domain of"
            " harbour:CargoVessel.\n16 more with the domain of a class above it",
        ),
        ("list Vessel types", DIRECT),
        ("all Vessel subclasses", BELOW),
        ("Are all tugs vessels?", "Yes: harbour:Tug is a subclass of harbour:Vessel."),
        ("What are the parents of mooredAt?", "None: there are no direct superproperties"),
        ("How many homePort does GreyPetrel have?", "1 value of harbour:GreyPetrel:\n- harbour:"),
        ('Are there terms with "tug" in their name?', "1 term with such a name:"),
        ("What is the license?", "- dcterms:license:"),
        # two terms
        ("path from Tug to Vessel", f"Connected in 2 steps:\n{TUG_TO_VESSEL}"),
        ("How is Tug connected to Vessel in the class tree?", "Connected in 2 steps:"),
        ("How do I get from Tug up to WaterCraft?", f"Connected in 3 steps:\n{TUG_TO_VESSEL}"),
        ("Which properties relate a WaterCraft to a Berth?", "1 property with this domain and"),
        ("Which object properties have Vessel as domain?", "2 object properties with the domain"),
        # whether there is such a thing
        ('Is there a class called "flying boat"?', "No: there is no class called “flying boat”"),
        ("Is there a Zeppelin?", "No: there is no term called “Zeppelin”"),
        # fillers and places anywhere, and what is left unsaid
        ("list everything that sits below Vessel, all levels", BELOW),
        ("Which class is Tug directly under?", "1 direct superclass of harbour:Tug:"),
        ("What's above Tug in the hierarchy?", "3 superclasses at any depth of harbour:Tug"),
        ("superclasses of Tug up to the root", "3 superclasses at any depth of harbour:Tug"),
        ("how many subclasses does Vessel have, counting indirect ones?", f"{BELOW}."),
        ("list the complete subtree of Vessel", BELOW),
        ("Is Tug stated to be a kind of Vessel?", "Yes: harbour:Tug is a subclass of"),
        ("Does the file say that Tug is a Vessel?", "Yes: harbour:Tug is a subclass of"),
        ("is mooredAt functional or not?", "No: harbour:mooredAt is not declared functional."),
        ("how many instances of Tug", "2 instances of harbour:Tug."),
        ("count of Tug instances", "2 instances of harbour:Tug."),
        ("How many individuals of type Tug does the file contain?", "2 instances of harbour:Tug."),
        ("which individuals have type Tug?", "2 instances of harbour:Tug:"),
        ("which terms in here are deprecated?", "2 deprecated terms:"),
        ("Hulk is obsolete, what replaces it?", "1 replacement of harbour:Hulk:"),
        ("mooredAt: domain and range?", "The domain of harbour:mooredAt is harbour:WaterCraft."),
        ("give domain & range for mooredAt", "The domain of harbour:mooredAt is harbour:Water"),
        ("which properties have range Berth, i.e. point to a Berth?", "3 properties with the"),
        ("properties of Vessel", "5 properties with the domain of harbour:Vessel"),
        ("how many object props are there", "41 object properties."),
        ("list the roots of the hierarchy", "6 roots of the class hierarchy:"),
        ("labels of Tug in all languages", "Labels of harbour:Tug:"),
        ("what cardinality restrictions does WaterCraft have", "1 cardinality restriction of"),
        ("WaterCraft restrictions", "1 restriction of harbour:WaterCraft:"),
        ("classes whose name starts with 'Cargo'", "3 classes with such a name:"),
        ("How many classes are not deprecated?", "44 classes that are not deprecated."),
        ("root classes, leaving out the obsolete ones", "6 roots of the class hierarchy that"),
        # plain ones that others asked and no form had
        ("How do I say Tug in German?", 'Label of harbour:Tug in the language de:\n- "Schlepper"'),
        ("What is the opposite direction of occupiedBy?", "1 inverse of harbour:occupiedBy:"),
        ("What is the reverse of occupiedBy?", "1 inverse of harbour:occupiedBy:"),
        ("Which properties of the harbour ontology are symmetric?", "2 symmetric properties:"),
        (
            "What does the property mooredAt take as its domain and range?",
            "The domain of harbour:mooredAt is harbour:WaterCraft.\nThe range of harbour:mooredAt",
        ),
        ("What does mooredAt have as its range?", "The range of harbour:mooredAt is"),
        ("Which classes are no longer current?", "1 deprecated class:"),
        ("Which terms are no longer in use?", "2 deprecated terms:"),
        ("What is the homePort value of GreyPetrel?", "1 value of harbour:GreyPetrel:\n- harbour:"),
        ("Which ontologies does this one import?", "1 imported ontology:"),
    ],
)
def test_a_wording_of_a_plain_form(harbour, question, answer):
    assert harbour.ask(question)[0].startswith(answer)


@pytest.mark.parametrize(
    "question",
    [
        "Is there a flying boat?",
        "Is there a class for boats that fly?",
        "Is the Grey Petrel a flying boat?",
        "Are there ships with no berth listed?",
        "Are there more tugs than barges?",
        "What does a tug cost?",
        "What is teh lable of Tug?",
        "Which Grauwik ships have a pilot?",
        "How many funnels does a Tug have?",
        "What possible tug colours are there?",
        "Which classes have a Swahili label?",
        "Which berths must a PortCall have?",
        "What is the hue of GreyPetrel?",
        "List the deprecated funnels.",
        "which properties have domain Berth, i.e. range Vessel?",
        "inferred subclasses of Vessel",
        "Is mooredAt a direct subproperty of locatedAt?",
    ],
)
def test_what_has_no_such_name_is_refused_and_not_denied(harbour, question):
    assert is_unanswered(harbour.ask(question)[0])


def test_a_name_of_two_terms_is_answered_for_both(tmp_path):
    made = tmp_path / "two.ttl"
    made.write_text(
        """@prefix : <http://x.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        :C_0001 a owl:Class ; rdfs:label "Search" ; rdfs:subClassOf :C_0003 .
        :C_0002 a owl:Class ; rdfs:label "Search" . :C_0003 a owl:Class ; rdfs:label "Thing done" .
        :C_0004 a owl:Class ; rdfs:label "Thing done" ; owl:deprecated true ."""
    )
    asked = Asked(made)
    both = asked.ask("superclasses of Search")[0]
    assert "C_0003 (Thing done)" in both and "None: there are no direct superclasses" in both
    assert "C_0001 (Search)" in asked.ask("subclasses of Thing done")[0]
    whether = asked.ask("Is Thing done deprecated?")[0]
    assert "No: " in whether and "Yes: " in whether
    asked.engine.close()


def test_vocabulary_that_a_file_declares_is_none_of_its_classes(tmp_path):
    made = tmp_path / "old.ttl"
    made.write_text(
        """@prefix : <http://x.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        owl:DeprecatedClass a owl:Class . :A a owl:Class ; owl:disjointWith owl:DeprecatedClass .
        :B a owl:Class ; rdfs:subClassOf owl:DeprecatedClass ."""
    )
    asked = Asked(made)
    assert asked.ask("How many root classes are there?")[0].startswith("2 root")  # A and B
    assert asked.ask("What is A disjoint with?")[0].startswith("None")
    counted = asked.ask("How many classes are there?")[0]
    assert counted == "2 declared classes, and owl:DeprecatedClass."
    assert "owl:" not in asked.ask("Which classes are there?")[0]
    asked.engine.close()


def test_a_definition_is_an_equivalent_and_what_includes_a_class_is_its_domain(tmp_path):
    made = tmp_path / "wine.ttl"
    made.write_text(
        """@prefix : <http://x.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
        @prefix schema: <https://schema.org/> .
        :Wine a owl:Class . :hasColor a owl:ObjectProperty ; schema:domainIncludes :Wine .
        :White a :Color . :Color a owl:Class . :WhiteWine a owl:Class ; owl:equivalentClass
          [ a owl:Class ; owl:intersectionOf
            ( :Wine [ a owl:Restriction ; owl:onProperty :hasColor ; owl:hasValue :White ] ) ] ."""
    )
    asked = Asked(made)
    for question in ("What is WhiteWine equivalent to?", "How is WhiteWine defined?"):
        assert "hasColor value" in asked.ask(question)[0]
    assert "hasColor" in asked.ask("Which properties have the domain Wine?")[0]
    assert "Wine" in asked.ask("domain of hasColor")[0].partition(" is ")[2]
    asked.engine.close()


def test_what_is_a_part_is_not_told_as_the_whole(tmp_path):
    made = tmp_path / "media.ttl"
    made.write_text(
        """@prefix : <http://x.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        :Media a owl:Class . :Image a owl:Class ; rdfs:subClassOf :Media . :Agent a owl:Class .
        :Photo a owl:Class ; rdfs:subClassOf :Image ; rdfs:label "Foto"@de .
        :duration a owl:ObjectProperty ; rdfs:range [ owl:unionOf ( :Agent :Image ) ] ; rdfs:domain
          [ a owl:Class ; owl:intersectionOf ( :Media [ a owl:Class ; owl:complementOf :Image ] ) ] .
        :title a owl:ObjectProperty ; rdfs:domain :Media ."""
    )
    asked = Asked(made)
    for question, *parts in (
        ("what is the domain of duration", "Media and (not ", "Image)"),
        ("describe duration", "domain: ", "Media and (not "),
        ("is Media the domain of duration?", "No: the domain of", "(not "),
        ("is Image in the range of duration?", "Yes: it is one of several", " or "),
        ("how many properties have the domain Media?", "1 property", "1 more have it as a part"),
        ("which properties have the domain Media?", "1 property", "1 more have it", ": x:duration"),
        ("subclasses of Media", "1 direct subclass", "1 more at greater depth"),
        ('which terms have "photo" in their label?', "None: "),
        ('which terms have "photo" in their name?', "1 term with such a name"),
    ):
        answer = asked.ask(question)[0]
        assert all(part in answer for part in parts), (question, answer)
    asked.engine.close()


def test_the_name_of_the_ontology_may_be_that_of_a_class(tmp_path):
    made = tmp_path / "pizza.ttl"
    made.write_text(
        """@prefix pizza: <http://x.org/pizza#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
        pizza:Pizza a owl:Class . pizza:hasBase a owl:FunctionalProperty, owl:ObjectProperty ."""
    )
    asked = Asked(made, "pizza")
    for question in ("functional properties of Pizza", "how many classes does Pizza have?"):
        assert is_unanswered(asked.ask(question)[0])
    assert asked.ask("how many classes does the pizza ontology have?")[0] == "1 declared class."
    asked.engine.close()
