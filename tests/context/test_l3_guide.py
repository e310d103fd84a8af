"""A guide beside an ontology: the recipe that fits the task, or the summary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.context import GUIDE_CHARS, parse_guide, read_guide
from rlm.context import pack_guide as pack
from rlm.errors import OntologyError

GUIDE = """# Harbour

Vessels lie at berths; a voyage joins two ports.

## Find the cargo of a vessel
Follow `carries` from the vessel, not `cargoOf`.

## Count inspections
Count instances of Inspection; re-inspections are a subclass.
"""


def test_the_recipe_that_shares_most_words_is_taken():
    guide = parse_guide(GUIDE)
    assert pack(guide, "How many inspections were there?") == (
        "Recipe, Count inspections: Count instances of Inspection; re-inspections are a subclass."
    )
    assert pack(guide, "Which cargo does it have?").startswith(
        "Recipe, Find the cargo of a vessel: Follow `carries`"
    )


@pytest.mark.parametrize(
    "task", ["What is the name of it?", "Which are there, and what are they?", "What does it have?"]
)
def test_words_that_every_text_has_choose_no_recipe(task):
    assert parse_guide(GUIDE).best(task) is None


def test_a_word_of_most_recipes_chooses_none(shared_dir, root):
    guide = read_guide(root / "ontology" / "prov.ttl")
    best = guide.best("What is the Activity class?")
    assert best is None or "Time" not in best.title


def test_without_a_recipe_the_summary_is_taken():
    assert (
        pack(parse_guide(GUIDE), "zzz") == "Guide: Vessels lie at berths; a voyage joins two ports."
    )
    assert pack(None, "x") == "" and pack(parse_guide(""), "x") == ""


@given(text=st.text(max_size=2_000), task=st.text(max_size=60))
def test_the_budget_is_never_exceeded(text, task):
    assert len(pack(parse_guide(text), task)) <= GUIDE_CHARS == 200


def test_a_guide_lies_beside_its_ontology(tmp_path):
    assert read_guide(tmp_path / "x.ttl") is None
    (tmp_path / "x.guide.md").write_text(GUIDE, "utf-8")
    for name in ("x.ttl", "x.ttl.gz", "x.rdf"):
        guide = read_guide(tmp_path / name)
        assert guide is not None and len(guide.recipes) == 2


def test_a_guide_that_is_no_text_is_told(tmp_path):
    (tmp_path / "x.guide.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OntologyError, match=r"x\.guide\.md cannot be read"):
        read_guide(tmp_path / "x.ttl")
