"""How `offline` reads a question: every word is placed, or there is no reading."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from all_cases import all_cases
from rlm.llm.offline.forms import FORMS, form_words, read_question, unplaced_words
from rlm.llm.offline.names import (
    MISSING,
    Lookup,
    NamedTerm,
    language_tag,
    link,
    singular,
    spellings,
)
from rlm.llm.offline.pattern import Macros, QuestionPattern
from rlm.llm.offline.question import PreparedQuestion

CARD = "Harbour: what lies there\nPrefixes: harbour: <https://example.org/harbour#>"
EXAMPLES = [form for form in FORMS if form.example]
NO_WORDS = ("zorbly", "quixotic", "mauve", "thrice")


def test_there_are_a_few_dozen_forms_and_no_two_have_one_name():
    names = [form.name for form in FORMS]
    assert len(set(names)) == len(names)


@all_cases("form", EXAMPLES, ids=lambda form: form.name)
def test_the_example_of_a_form_is_read_as_that_form(form):
    assert read_question(form.example, CARD)[0].form.name == form.name


@pytest.mark.parametrize("word", NO_WORDS)
def test_the_words_of_the_property_below_are_in_no_form(word):
    assert word not in form_words()


@given(st.sampled_from(EXAMPLES), st.sampled_from(NO_WORDS), st.integers(0, 12))
def test_an_unknown_word_is_never_dropped(form, word, place):
    """Put anywhere into a question, it is part of a name, which then means nothing, or the question
    has no reading at all."""
    words = form.example.rstrip("?.").split()
    words.insert(min(place, len(words)), word)
    for reading in read_question(" ".join(words), CARD):
        assert any(word in slot.words.split() for slot in reading.slots.values())


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("What are the subclasses of Vessel?", "subclasses"),
        ("What are all subclasses of Vessel?", "all_subclasses"),
        ("Which transitive properties are there?", "transitive_properties"),
        ("How many defined classes are there?", "count_defined_classes"),
        ("How many classes are in the brick namespace?", "count_classes_in_namespace"),
        ("Please list the direct superclasses of Tug, thanks", "direct_superclasses"),
        ("Can you tell me how many instances Tug has", None),
        ("Could you tell me what the weather is like?", None),
        ("Which class has the most subclasses?", None),
        ("How many classes and properties are there?", None),
        ("Which properties are functional and symmetric?", None),
        ("Was sind die Unterklassen von Vessel?", None),
        ("", None),
        ("?", None),
        ("What", None),
    ],
)
def test_a_qualifier_is_understood_or_the_question_is_not_read(question, form):
    readings = [each for each in read_question(question, CARD) if not each.mentions or form]
    assert (readings[0].form.name if readings else None) == form


def test_words_that_no_form_has_are_named():
    assert unplaced_words("Which zorbly classes are there?") == ["zorbly"]


def test_an_ontology_is_called_by_its_own_name_only():
    own = read_question("How many classes does Harbour have?", CARD)[0]
    other = read_question("How many classes does Wikidata have?", CARD)[0]
    assert (own.form.name, own.mentions) == ("count_classes", {})
    assert other.mentions["individual"].words == "Wikidata"


# -- patterns


def test_a_pattern_takes_the_whole_question():
    pattern = QuestionPattern("list [all] (cats|dogs) of {owner}", Macros({}))
    assert pattern.match(PreparedQuestion.of("List all the cats of the old lady!")) == [
        {"owner": "the old lady"}
    ], "an article may stand before any word"
    assert pattern.match(PreparedQuestion.of("List of cats of hers")) == []
    assert pattern.match(PreparedQuestion.of("Quickly list cats of hers")) == []


def test_what_stands_in_quotes_is_one_word():
    pattern = QuestionPattern("domain of {property} [here]", Macros({}))
    asked = PreparedQuestion.of('domain of "is part of here"')
    assert asked.restore(pattern.match(asked)[0]["property"]) == ("is part of here", True)


@given(st.text(max_size=60))
def test_any_text_can_be_read(text):
    for reading in read_question(text, CARD):
        assert reading.form in FORMS


# -- names

TUG = NamedTerm("https://example.org/harbour#Tug", "harbour:Tug", "class", "localname")
OTHER = NamedTerm("http://other.org/Tug", "<http://other.org/Tug>", "class", "localname")


@pytest.mark.parametrize(
    "mention", ["Tug", "the Tug", "tugs", "the class Tug", "Tug class", "the tug classes"]
)
def test_a_name_is_linked_with_its_article_kind_and_plural(mention):
    found = {name: Lookup((TUG,)) for name in ("Tug", "tug")}
    assert link(mention, "class", found).term == TUG


def test_two_terms_of_one_name_are_ambiguous_unless_one_is_of_this_ontology():
    found = {"Tug": Lookup((TUG, OTHER))}
    assert link("Tug", "class", found).candidates == ("harbour:Tug", "<http://other.org/Tug>")
    assert link("Tug", "class", found, own="https://example.org/harbour#").term == TUG


def test_a_name_of_another_kind_is_told_and_a_missing_one_is_missing():
    found = {"Tug": Lookup((TUG,)), "Ship": Lookup((), ("harbour:Vessel",))}
    assert link("Tug", "property", found).candidates == ("harbour:Tug (class)",)
    assert link("Ship", "class", found).problem == MISSING
    assert link("Ship", "class", found).candidates == ("harbour:Vessel",)


def test_a_name_with_its_code_in_brackets_is_one_term():
    found = {"Tug": Lookup((TUG, OTHER)), "H_7": Lookup((TUG,)), "red": Lookup((OTHER,))}
    assert link("Tug (H_7)", "class", found).term == TUG
    assert link("Tug (green)", "class", found).term is None


@pytest.mark.parametrize(
    ("many", "one"),
    [("ferries", "ferry"), ("classes", "class"), ("boxes", "box"), ("people", "person"),
     ("port authorities", "port authority"), ("gas", "gas"), ("class", "class")],
)  # fmt: skip
def test_plurals(many, one):
    assert singular(many) == one


def test_languages_by_name_and_tag():
    assert [language_tag(each) for each in ("German", "pt", "EN", "pt-BR", "quick")] == [
        "de", "pt", "en", "pt-br", None,
    ]  # fmt: skip


@given(st.text(max_size=40))
def test_every_spelling_of_a_name_has_text(mention):
    assert all(name for name, _ in spellings(mention))
