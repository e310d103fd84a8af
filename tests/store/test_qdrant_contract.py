"""The contract with Qdrant as the index beside each SQL store: every search first tells the index
all that waits, so that Qdrant answers it."""

from __future__ import annotations

import pytest
from test_contract import *  # noqa: F403

pytestmark = [pytest.mark.req("CX-08"), pytest.mark.slow]


@pytest.fixture(params=["sqlite", "postgres"])
def opener(request, open_kind, qdrant):
    with open_kind(request.param) as opened:

        def fed(*args, **kw):
            store = opened(*args, **kw)
            search = store.retrieve

            def retrieve(*args, **kw):
                if not (store.db.in_write or store.read_only):
                    store.remote_index.drain()
                return search(*args, **kw)

            store.retrieve = retrieve
            return store

        fed.kind, fed.url = opened.kind, opened.url
        yield fed


def test_qdrant_is_asked(opener, qdrant, make_item):
    """Else this module would test the store that stands beside it."""
    store = opener()
    store.add(make_item())
    assert store.retrieve("class label")
    asked = [body for _, _, path, body in qdrant.requests if path == "points/query/batch"]
    assert any("query" in search for body in asked for search in body["searches"])
