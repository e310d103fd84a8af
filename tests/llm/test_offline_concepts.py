"""Questions in the words of a thesaurus: concepts of SKOS where there are any, else classes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from graph_runs import ask, listed, opened

from rlm.llm.offline.asked import understand
from rlm.llm.offline.asked.kinds import Concepts, concepts_asked
from rlm.ontology.source import open_engine


@pytest.fixture(scope="module")
def weather(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    engine = open_engine(root / "ontology" / "skos.ttl", cache_dir=tmp_path_factory.mktemp("cache"))
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("question", "first", "names"),
    [
        ("How many concepts are there?", "12 SKOS concepts (classes not included).", ""),
        ("List the top concepts.", "3 top concepts:", "Cloud Precipitation Wind"),
        ("What is narrower than precipitation?", "3 concepts directly narrower than “precipitation” (5 at any depth):",
         "Hail Rain Snow"),
        ("List all broader concepts of drizzle.", "2 concepts broader than “drizzle” at any", "Precipitation Rain"),
        ("What is broader than drizle and hail?", "There is no concept called “drizle” in this ontology.\n\n1 concept "
         "directly broader than “hail”:", "Precipitation"),
        ("Which concepts are related to thundercloud?", "1 related concept of “thundercloud”:", "Hail"),
        ("Is drizzle narrower than precipitation?", "Yes: weather:Drizzle is narrower than weather:Precip", ""),
        ('Which concepts have "storm" in their name?', "1 concept with “storm” in the name:", "Gale"),
        ("Is there a concept called rain?", "Yes. weather:Rain is a concept, labelled “rain”.", ""),
    ],
)  # fmt: skip
def test_concepts_are_those_of_the_thesaurus(
    weather: Any, question: str, first: str, names: str
) -> None:
    answer = ask(weather, question).answer
    assert answer.startswith(first) and listed(answer) == {
        f"weather:{name}" for name in names.split()
    }


def test_a_class_of_a_thesaurus_is_asked_for_as_a_class(weather: Any) -> None:
    answer = ask(weather, "Which concepts are narrower than Phenomenon?").answer
    assert (
        listed(answer) == {"weather:AirPhenomenon", "weather:WaterPhenomenon"}
        and "direct subclasses" in answer
    )


def test_without_a_scheme_the_top_is_what_has_nothing_above(tmp_path: Path) -> None:
    """Links may be stated from either end, and nothing may say that these are concepts."""
    engine = opened(
        tmp_path, "ex:Sky skos:narrower ex:Rain . ex:Hail skos:broader ex:Rain . ex:K a owl:Class ."
    )
    assert listed(ask(engine, "What are the top concepts?").answer) == {"ex:Sky"}
    assert listed(ask(engine, "Which concepts are transitively narrower than sky?").answer) == {
        "ex:Rain",
        "ex:Hail",
    }
    engine.close()


def test_without_a_thesaurus_a_concept_is_a_class(tmp_path: Path) -> None:
    engine = opened(
        tmp_path, "skos:Concept a owl:Class . ex:Tug a owl:Class ; rdfs:subClassOf skos:Concept ."
    )
    assert ask(engine, "How many concepts are there?").answer == "2 declared classes."
    assert listed(ask(engine, "What is narrower than Concept?").answer) == {"ex:Tug"}
    engine.close()


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("How many concepts are there?", Concepts("all", counts=True)),
        ("Which concepts have no broader concept?", Concepts("unbroadened")),
        ("What are the related concepts of hail?", Concepts("related", ("hail",))),
        ("Is rain directly broader than drizzle?", Concepts("is_narrower", ("drizzle", "rain"))),
        ("How many classes are there?", None),
        ("What are the root concepts of the class hierarchy?", None),
        ("Find all subclasses of Concept.", None),
        ("How many instances does Concept have?", None),
        ("What is a concept scheme?", None),
        ("Which properties are related to hail?", None),
    ],
)
def test_which_words_are_those_of_a_thesaurus(question: str, wanted: Concepts | None) -> None:
    asked = understand(question)
    assert asked is not None and concepts_asked(question, asked) == wanted
