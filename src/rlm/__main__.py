"""`python -m rlm`."""

from __future__ import annotations

import sys

from rlm.cli import main

if __name__ == "__main__":
    sys.exit(main())
