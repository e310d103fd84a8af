"""What memory said is not learned again from those who quote it."""

from __future__ import annotations

import tracemalloc

import pytest
from quoting_sessions import RULES, quoting_sessions

from rlm import open_store
from rlm.service import CodingSession, Decision, Distiller
from rlm.service.decisions import decision_item
from rlm.service.echoes import Echoes

TOLD = "Uploads to the archive are retried three times, never more."


@pytest.mark.parametrize("words", [
    "As memory says, uploads to the archive are retried three times, never more.",
    "UPLOADS TO THE ARCHIVE ARE RETRIED THREE TIMES",
    "uploads to the archive are retreid three times never more, right?",
    "Uploads to the ar\u00adchive\u00a0are retried “three times”",
    "uploads to the archive are retried…",
])  # fmt: skip
def test_a_quotation_is_an_echo_whatever_stands_around_it(words):
    assert Echoes([TOLD]).holds(words)


@pytest.mark.parametrize("words", [
    "Uploads to the archive are not retried three times.",
    "Uploads to the archive are retried five times.",
    "Downloads from the archive are never retried.",
    "Uploads to the archive are retried three times, and downloads once a day at noon.",
    "Uploads to the index are retried three times.",
    "Unloads to the archive are retried three times.",
    "three times",
])  # fmt: skip
def test_what_says_something_else_is_none(words):
    assert not Echoes([TOLD]).holds(words)


def test_typing_errors_are_looked_for_in_words_that_a_person_types():
    long = "internationalization"
    misspelt = long.replace("ation", "aiton")
    assert Echoes([f"The {long} of the archive."]).holds(f"the {misspelt} of the archive")
    word = "acgt" * 5_000
    tracemalloc.start()
    try:
        echoes = Echoes([f"The gene {word} of the archive."])
        assert echoes.holds(f"the gene {word} of the archive")
        assert not echoes.holds(f"the gene {word}a of the archive")
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


@pytest.fixture
def learned(tmp_path):
    """What is learned from sessions that quote rules: stored ones, or ones that a hook told."""

    def learn(count: int, *, injected: bool) -> list[str]:
        with open_store(str(tmp_path / "m.db")) as store:
            distiller, first = Distiller(store), CodingSession("claude", "first")
            rules = [] if injected else [Decision(rule, 2, "") for rule in RULES]
            known = [store.add(decision_item(rule, first)) for rule in rules]
            for made in quoting_sessions(count, injected=injected):
                distiller.queue_session(path=made.write(tmp_path))
            distiller.process()
            items = [*store.list_items(limit=5000), *store.list_items(archived=True, limit=5000)]
            return [item.content for item in items if item.memory_id not in known]

    return learn


@pytest.mark.parametrize("injected", [False, True])
def test_sessions_that_quote_memories_teach_nothing_new(learned, injected):
    assert learned(12, injected=injected) == []


@pytest.mark.slow
@pytest.mark.parametrize("injected", [False, True])
def test_500_sessions_that_quote_memories_teach_nothing_new(learned, injected):
    assert learned(500, injected=injected) == []
