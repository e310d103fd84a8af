"""`open_store` with one embedder for all tests of a process: to load one takes 20 ms.

That a store without one takes the settings' is for tests/store/test_sqlite_file.py.
"""

from __future__ import annotations

from functools import partial

import rlm.store.open
from rlm.retrieval.static import StaticEmbedder

open_store = partial(rlm.store.open.open_store, embedder=StaticEmbedder())
