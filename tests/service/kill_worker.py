"""A worker that the tests kill: distils what is queued in the store that is named, with a short
lease. Prints a line when it begins."""

from __future__ import annotations

import sys

from rlm import open_store
from rlm.service import Distiller

if __name__ == "__main__":
    with open_store(sys.argv[1], embedder=None) as store:
        print("begun", flush=True)
        Distiller(store, lease_s=float(sys.argv[2])).process()
