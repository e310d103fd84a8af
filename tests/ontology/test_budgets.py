"""Every layer of a context keeps its budget, whatever the ontology, the budget, the language,
memories and guide."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_graphs import meta_of_file

from rlm.context import (
    ASSESS_SHORT,
    SCHEMA_CHARS,
    SENSE_CHARS,
    SEPARATOR,
    Guide,
    Recipe,
    build_context,
)
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.views.summary import schema_constraints, sense_card
from rlm.store.gate import RECALLED_HEADING
from rlm.store.types import MemoryItem

HEAD_CHARS = len(f"{RECALLED_HEADING}\n{ASSESS_SHORT}\n\n")
pytestmark = pytest.mark.req("UT-08", "RB-21")

LONG = [
    "word " * 300,
    "x" * 2_000,
    "- a step of some words, and more\n" * 60,
    "One sentence. " * 90,
]
ODD_TEXT = (
    st.text(max_size=200)
    | st.text(alphabet="ab -*#\n.\t👩‍🚀é", max_size=600)
    | st.sampled_from(LONG)
)
LANGS = st.sampled_from([None, "en", "de", "fr", "EN", "en-GB", "x-klingon", "", "*"]) | st.text(
    max_size=12
)
BUDGETS = st.integers(0, 80) | st.integers(0, 700) | st.integers(0, 5_000)
MEMORIES = st.lists(
    st.builds(
        MemoryItem,
        title=st.text(min_size=1, max_size=100) | st.sampled_from(LONG),
        description=ODD_TEXT,
        content=ODD_TEXT,
        source_type=st.sampled_from(["success", "failure"]),
    ),
    max_size=5,
)
GUIDES = st.none() | st.builds(
    Guide,
    summary=ODD_TEXT,
    recipes=st.lists(st.builds(Recipe, title=ODD_TEXT, text=ODD_TEXT), max_size=3).map(tuple),
)
TASKS = st.text(max_size=80) | st.just("Which vessels lie at berth four, and whose are they?")

SIZES = [
    pytest.param(10_000, 1, id="10k, seed 1"),
    pytest.param(10_000, 2**40, id="10k, seed 2^40"),
    pytest.param(100_000, 7, id="100k", marks=pytest.mark.slow),
    pytest.param(1_000_000, 7, id="1M", marks=pytest.mark.slow),
]
OWN = sorted(path.stem for path in (Path(__file__).parents[2] / "ontology").glob("*.ttl"))
Write = Callable[[int, int], Path]


@pytest.fixture(scope="module")
def write(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Write:
    folder = tmp_path_factory.mktemp("budgets")

    def write(triples: int, seed: int) -> Path:
        with (
            pytest.MonkeyPatch.context() as patch
        ):  # bench lies beside the package and is not installed
            patch.syspath_prepend(root)
            import_module("bench.ontology_data").write_ontology(folder / "made.ttl", triples, seed)
        return folder / "made.ttl"

    return write


def keeps_its_budgets(meta: GraphMeta, examples: int) -> None:
    """For drawn budgets and languages, and for everything that may stand beside the ontology."""

    @settings(max_examples=examples, suppress_health_check=[HealthCheck.differing_executors])
    @given(budget=BUDGETS, lang=LANGS, task=TASKS, memories=MEMORIES, guide=GUIDES)
    def check(
        budget: int, lang: str | None, task: str, memories: list[MemoryItem], guide: Guide | None
    ) -> None:
        assert len(sense_card(meta, budget=budget, lang=lang)) <= budget
        assert len(schema_constraints(meta, budget=budget)) <= budget
        text = build_context("", memories=memories, memory_chars=budget).text
        assert len(text) <= budget + HEAD_CHARS
        context_keeps_its_budgets(meta, lang, task, memories, guide)

    check()


def context_keeps_its_budgets(
    meta: GraphMeta, lang: str | None, task: str, memories: list[MemoryItem], guide: Guide | None
) -> None:
    built = build_context(task, meta, memories, guide=guide, lang=lang)
    most = {"l0": 600, "l1": 400, "l2": 600 + HEAD_CHARS, "l3": 200}
    assert all(size <= most[layer] for layer, size in built.layers.items())
    assert len(built.text) <= 1_800 + HEAD_CHARS + 3 * len(SEPARATOR)
    assert len(built.text) == sum(built.layers.values()) + len(SEPARATOR) * max(
        len(built.layers) - 1, 0
    )
    assert len(built.memory_ids) <= 2
    card = sense_card(meta, budget=SENSE_CHARS, lang=lang)
    assert "l0" in built.layers and built.text.split("\n")[0] == card.split("\n")[0]


def says_something(meta: GraphMeta) -> None:
    """So that a budget is not kept by saying nothing."""
    assert 200 < len(sense_card(meta, budget=SENSE_CHARS)) <= 600
    assert 150 < len(schema_constraints(meta, budget=SCHEMA_CHARS)) <= 400


@pytest.mark.parametrize("name", OWN)
def test_our_samples_keep_the_budgets(root: Path, name: str) -> None:
    meta = meta_of_file(root / "ontology" / f"{name}.ttl")
    says_something(meta)
    keeps_its_budgets(meta, 12)


@pytest.mark.parametrize("name", ["prov", "skos", "void"])
def test_the_shared_samples_keep_the_budgets(shared_dir: Path, name: str) -> None:
    meta = meta_of_file(shared_dir / "ontologies" / f"{name}.ttl")
    says_something(meta)
    keeps_its_budgets(meta, 8)


@pytest.mark.parametrize(("triples", "seed"), SIZES)
def test_generated_ontologies_keep_the_budgets(write: Write, triples: int, seed: int) -> None:
    meta = meta_of_file(write(triples, seed))
    assert meta.triple_count == triples
    says_something(meta)
    keeps_its_budgets(meta, 8)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(triples=st.integers(1_000, 2_500), seed=st.integers(0, 2**48), lang=LANGS, budget=BUDGETS)
def test_any_seed_keeps_the_budgets(
    write: Write, triples: int, seed: int, lang: str | None, budget: int
) -> None:
    meta = meta_of_file(write(triples, seed))
    says_something(meta)
    assert len(sense_card(meta, budget=budget, lang=lang)) <= budget
    assert len(schema_constraints(meta, budget=budget)) <= budget
    context_keeps_its_budgets(meta, lang, "What is there?", [], None)


@settings(max_examples=40, suppress_health_check=[HealthCheck.differing_executors])
@given(memories=MEMORIES, guide=GUIDES, task=TASKS)
def test_without_an_ontology_the_rest_keeps_its_budget(
    memories: list[MemoryItem], guide: Guide | None, task: str
) -> None:
    built = build_context(task, None, memories, guide=guide)
    assert set(built.layers) <= {"l2", "l3"} and len(built.text) <= (
        600 + HEAD_CHARS + 200 + len(SEPARATOR)
    )
