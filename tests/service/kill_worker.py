"""A worker that the tests kill: distils what is queued in the store that is named, with a short
lease. With a third argument the kernel kills it so many seconds after it began, whatever it does
then."""

from __future__ import annotations

import signal
import sys

from rlm import open_store
from rlm.service import Distiller

if __name__ == "__main__":
    with open_store(sys.argv[1], embedder=None) as store:
        if len(sys.argv) > 3:
            signal.setitimer(signal.ITIMER_REAL, float(sys.argv[3]))
        Distiller(store, lease_s=float(sys.argv[2])).process()
