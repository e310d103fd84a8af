"""`rlm store`: the store as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rlm.cli.command import command, new_group
from rlm.cli.output import number_of, progress
from rlm.cli.session import Session

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend

app = new_group("The store as a whole: its vectors.")


@command(app, "reembed")
def reembed(session: Session) -> None:
    """Give every row a vector of the model that RLM_EMBEDDER names, after it was changed.

    Others can search and write meanwhile: by words, and by meaning what has its vector already.
    Stopped or killed, it goes on where it was.
    """
    with session.changing() as store:
        document = {"model": None if store.embedder is None else store.embedder.model, "rows": 0}
        if store.embedder is None:
            session.show(document, "RLM_EMBEDDER is none: search goes by words only")
            return
        document["rows"] = done = embed_stale(store)
        rows = number_of(done, "row", "rows")
        session.show(document, f"{rows} got a vector of {store.embedder.model}")


def embed_stale(store: MemoryBackend, stopped: Callable[[], bool] = lambda: False) -> int:
    """Give rows a vector of the present model, with a bar; how many."""
    with progress("embedding", store.stale_vectors) as advance_to:
        return store.reembed(on_progress=advance_to, stopped=stopped)
