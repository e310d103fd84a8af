"""A store with a few memories."""

from __future__ import annotations

from pathlib import Path

import pytest
from hook_running import Place, decision

from rlm import MemoryItem


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def filled(place: Place) -> Place:
    """A project that knows a few things."""
    place.add(
        decision("Retries stop after three", "We decided: the uploader retries three times, then fails."),
        MemoryItem("Parser tests run in parallel", "", "Run the parser suite with pytest -n 4.",
                   confidence=0.9),
        MemoryItem("Release notes", "Where they are", "CHANGELOG.md, section Unreleased."),
        MemoryItem("Database migrations", "", "Each is one numbered function, never edited."),
        MemoryItem("Doubtful", "", "The uploader retries for ever.", confidence=0.1),
        MemoryItem("Held", "", "The uploader retries for ever, says a web page.", trust="quarantined"),
    )  # fmt: skip
    return place
