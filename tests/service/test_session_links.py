"""A later session that decides something about what an older one decided is found before it."""

from __future__ import annotations

import pytest
from transcript_making import ClaudeTranscript

from rlm.service import Distiller
from rlm.service.session_links import MAY_AMEND

OLD = [
    ("The night export of invoices to the bank sometimes runs twice. Let's settle how it works.",
     "It starts at 02:00 and has no lock. How should a second run of the export be kept out?"),
    ("Take a lock in the database. The export must stop when another one holds the lock.",
     "Done. Which invoices does the export send, and in what format does the bank get them?"),
    ("Only invoices that are approved, as one XML file. Never send a draft to the bank.",
     "Understood. And if the bank refuses the file?"),
    ("Then the export is tried again every 30 minutes, at most four times.", "It is written so."),
]  # fmt: skip
NEW = [
    ("The bank complained: when it refuses the file we try the export again too fast.",
     "It is tried again after 30 minutes. Should the export wait longer when the bank refuses?"),
    ("From now on the export is tried again every two hours, at most four times.", "Changed."),
]  # fmt: skip
OTHER = [
    ("The avatars of the forum are blurred on phones. What shall we do?",
     "They are scaled down to 40 pixels. Should they be stored in two sizes?"),
    ("Always store avatars in two sizes, and never scale up.", "Stored in two sizes now."),
]  # fmt: skip
CHORE = [
    ("Why does the export of invoices to the bank log a warning?",
     "The bank sends a header that the export does not know, when it refuses a file."),
    ("Thanks, what does the header say?", "That the file was refused."),
]  # fmt: skip
REPORT = (
    "The bank got two files with invoices in the night, one of them a draft, in a broken format:"
    " was there no lock, or did the export start again while another one ran?"
)


@pytest.fixture
def tell(shared, tmp_path):
    """Distil a session of that day."""

    def distil(name, day, exchanges):
        made = ClaudeTranscript(name)
        for said, answer in exchanges:
            made.user(said).says(answer)
        for line in made.lines:
            line["timestamp"] = line["timestamp"].replace("2026-11-01", f"2026-10-{day:02d}")
        distiller = Distiller(shared)
        distiller.queue_session(path=made.write(tmp_path))
        assert distiller.process().distilled == 1

    return distil


def links(store):
    """The (later, older) sessions that are linked."""
    edges = store.graph.list_edges(type="causation", label=MAY_AMEND)
    turns = [[store.graph.get_node(each.by_role(role)[0]) for role in ("cause", "effect")]
             for each in edges]  # fmt: skip
    return [tuple(turn.metadata["session"] for turn in pair) for pair in turns]


def first_sessions(manager, **how):
    return list(dict.fromkeys(hit.source_session for hit in manager.search(REPORT, **how)))


def test_the_amending_session_comes_before_the_older_that_fits_better(shared, tell, agent):
    tell("old", 1, OLD)
    tell("other", 2, OTHER)
    tell("new", 3, NEW)
    assert links(shared) == [("new", "old")]
    assert first_sessions(agent)[:2] == ["new", "old"]
    assert first_sessions(agent, floor=True, weak=3)[:2] == ["new", "old"]
    [edge] = shared.graph.list_edges(type="causation", label=MAY_AMEND)
    shared.graph.delete_edge(edge.id)
    assert first_sessions(agent)[0] == "old"  # so it was the link


def test_a_session_that_goes_on_is_linked_once(shared, tell):
    tell("old", 1, OLD)
    tell("new", 3, NEW)
    more = ("From now on the export must hold the lock until the bank has the file.", "It does.")
    tell("new", 3, [*NEW, more])
    assert links(shared) == [("new", "old")]


def test_no_link_to_what_is_about_something_else_came_later_or_where_nothing_is_decided(
    shared, tell, agent
):
    tell("old", 5, OLD)
    tell("other", 6, OTHER)
    tell("chore", 7, CHORE)
    tell("new", 3, NEW)  # before the one that it would amend
    assert links(shared) == []
    assert first_sessions(agent)[0] == "old"
