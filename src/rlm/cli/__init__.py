"""The command line: thin, and the only room that prints and exits.

Data goes to stdout, messages go to stderr. With `--json` a command prints one JSON document and
nothing else. Exit codes: 0 done, also where a list is empty; 1 nothing was found, or a check
failed; 2 usage, bad input or a store that cannot be used; 130 interrupted.

A search should cost little more than starting Python, so a command imports what it needs when it
runs: the imports inside functions of this package are there for that reason and for no other.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

AGENT = "rlm-agent"
"""The same program, by the name that coding agents call it by."""
GC_THRESHOLD = 50_000
"""Objects between two garbage collections, instead of 700: saves 20 ms at the start."""


def main(argv: Sequence[str] | None = None, *, called: str | None = None) -> int:
    """Run one command line and return its exit code. `failure.report` maps every error.

    `called` is the name of the program, for help and hints.
    """
    if argv is None:  # this process is ours
        _start_fast()
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        from rlm import config
        from rlm.cli.app import run

        if argv is None and (request := config.completion_request()):
            from rlm.cli.completion import complete

            return complete(request)
        if called is None and argv is None:
            called = sys.argv[0].replace("\\", "/").rpartition("/")[2]
        code = run(args, AGENT if (called or "").startswith(AGENT) else "rlm")
        sys.stdout.flush()  # a reader that went away is noticed here, not at the interpreter's exit
        return code
    except BaseException as exc:
        from rlm.cli import failure

        return failure.report(exc, as_json=failure.wants_json(args))


def _start_fast() -> None:
    """Without OpenBLAS's thread for every core, which costs 50 ms at numpy's import."""
    os.putenv("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(GC_THRESHOLD, 20, 20)
