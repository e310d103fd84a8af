"""The closed loop with a team's store: PostgreSQL, and Qdrant beside either SQL store."""

from __future__ import annotations

import pytest
from test_closed_loop import *  # noqa: F403

from rlm.store.open import open_store

pytestmark = pytest.mark.slow
del test_of_several_attempts_all_are_stored_or_none  # noqa: F821 (its trigger is SQLite's)


@pytest.fixture(params=["postgres", "sqlite with qdrant", "postgres with qdrant"])
def store(request, tmp_path):
    """What Qdrant is not told yet the store finds, so a search first tells it all that waits."""
    url = tmp_path / "memory.db"
    if "postgres" in request.param:
        url = request.getfixturevalue("postgres_server").empty_store()
    indexed = "qdrant" in request.param
    if indexed:
        request.getfixturevalue("qdrant")
    with open_store(url) as opened:
        search = opened.retrieve

        def retrieve(*args, **kw):
            if indexed and not opened.db.in_write:
                opened.remote_index.drain()
            return search(*args, **kw)

        opened.retrieve = retrieve
        yield opened
