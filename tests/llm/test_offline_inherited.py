"""What `offline` tells of a class is told with what follows from the classes above it, and what is
equivalent through another is equivalent."""

from __future__ import annotations

import pytest
from offline_runs import Asked, listed

from rlm.llm.types import is_unanswered

MEDIA = """
@prefix m: <http://media.test/own#> . @prefix o: <http://other.test/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
m:Resource a owl:Class . m:Fragment a owl:Class ; rdfs:subClassOf m:Resource .
m:Track a owl:Class ; rdfs:subClassOf m:Fragment . m:Song a owl:Class ; rdfs:subClassOf m:Track .
m:Agent a owl:Class ; owl:disjointWith m:Resource . m:Person a owl:Class ; rdfs:subClassOf m:Agent .
m:Place a owl:Class ; owl:disjointWith m:Track .
o:Agent a owl:Class ; owl:equivalentClass m:Agent .
o:Actor a owl:Class ; owl:equivalentClass m:Agent .
m:madeBy a owl:ObjectProperty ; rdfs:domain m:Resource ; rdfs:range m:Agent .
m:sungBy a owl:ObjectProperty ; rdfs:domain m:Song ; rdfs:range m:Person .
m:playedBy a owl:ObjectProperty ; rdfs:domain m:Track ; rdfs:range m:Person .
m:caption a owl:DatatypeProperty ; rdfs:domain m:Resource ; rdfs:range xsd:string .
m:one a owl:DatatypeProperty ; owl:equivalentProperty m:two .
m:two a owl:DatatypeProperty . m:three a owl:DatatypeProperty ; owl:equivalentProperty m:two .
m:thing a m:Track .
"""


@pytest.fixture(scope="module")
def media(tmp_path_factory):
    made = tmp_path_factory.mktemp("media") / "media.ttl"
    made.write_text(MEDIA)
    asked = Asked(made, "m")
    yield asked
    asked.engine.close()


@pytest.mark.parametrize(
    ("source", "target", "names"),
    [
        ("Track", "Person", ["m:madeBy", "m:playedBy"]),
        ("Track", "Agent", ["m:madeBy"]),
        ("Song", "Person", ["m:madeBy", "m:playedBy", "m:sungBy"]),
        ("Song", "string", ["m:caption"]),
        ("Agent", "Track", []),
    ],
)
def test_properties_lead_from_a_class_and_from_those_above_it(media, source, target, names):
    answer, _ = media.ask(f"Which properties lead from {source} to {target}?")
    assert listed(answer) == names
    assert names or "or a class above it" in answer


def test_what_is_stated_of_just_two_classes_comes_first(media):
    told, _ = media.ask("Which properties lead from Track to Person?")
    assert told.startswith("1 property with this domain and range:\n- m:playedBy\n1 more")


def test_disjointness_is_inherited_in_a_list_as_in_a_yes(media):
    assert media.ask("Is Song disjoint with Person?")[0].startswith("Yes")
    told, _ = media.ask("Which classes are disjoint with Song?")
    every = ["m:Agent", "m:Person", "m:Place", "o:Actor", "o:Agent"]  # the last two as m:Agent
    assert listed(told) == every and "none is stated of m:Song" in told
    assert media.ask("How many classes are disjoint with Song?")[0].startswith("5 classes")
    of_track, _ = media.ask("Which classes are disjoint with Track?")
    assert listed(of_track) == ["m:Place"] and of_track.endswith("4 more by inheritance")


@pytest.mark.parametrize("pair", ["Actor and Song", "Song and Actor", "o:Agent and Resource"])
def test_what_is_disjoint_with_an_equivalent_class_is_disjoint(media, pair):
    """One truth: the list, the yes or no, and how two classes compare."""
    assert media.ask(f"Are {pair} disjoint?")[0].startswith("Yes")
    assert "disjoint." in media.ask(f"Compare {pair}.")[0]
    one, other = ([*pair.split(" and ")][at] for at in (0, 1))
    assert any(name.endswith(other) for name in listed(media.ask(f"disjoint classes of {one}")[0]))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Is o:Agent equivalent to Actor?", "Yes: o:Agent and o:Actor are equivalent, through"),
        ("Is o:Agent equivalent to m:Agent?", "Yes: o:Agent and m:Agent are equivalent."),
        ("Is Actor equivalent to Place?", "No: o:Actor and m:Place are not stated"),
        ("Are one and three equivalent properties?", "Yes: m:one and m:three are equivalent,"),
        ("What is Actor equivalent to?", "2 equivalent classes of o:Actor:"),
        ("Which properties are equivalent to one?", "2 equivalent properties of m:one:"),
    ],
)
def test_equivalence_holds_through_a_third(media, question, answer):
    assert media.ask(question)[0].startswith(answer)


def test_whether_a_thing_is_equivalent_is_not_denied(media):
    assert is_unanswered(media.ask("Is thing equivalent to Track?")[0])


def test_what_has_nothing_and_inherits_nothing_is_not_said_to_inherit(media):
    (told,) = media.ask("Which properties are disjoint with caption?")[0].splitlines()
    assert told.startswith("None: ")
