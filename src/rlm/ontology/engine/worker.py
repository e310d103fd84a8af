"""The process that a query engine runs in (`rlm.ontology.engine.child`): an order to it, what it
answers, and what it means when it fails."""

from __future__ import annotations

import re
import time
from collections.abc import Generator
from typing import Any

from rlm.errors import OntologyError, QueryRefused, QueryTimeout
from rlm.frames import BrokenFrame
from rlm.ontology.engine.protocol import EngineLimits
from rlm.ontology.query.guard import Checked, find_ungrouped, unbound
from rlm.ontology.terms import Prefixes
from rlm.worker import Gone, WorkerProcess, check_cancelled, package_folder

__all__ = ["Damaged", "Gone", "Killed", "Worker", "ask", "explain_refusal"]

SEND_BYTES = 16 << 20
_SENTENCE = re.compile(r"(?: of|,) (\w+(?: [\w*]+){2,})(?=,|$)")
_START = """
sys.path.append({theirs!r})
from rlm.ontology.engine.child import main
main()
"""


class Worker(WorkerProcess):
    """One worker; what it is to do is sent to it first."""

    def __init__(self, first: dict[str, Any] | None = None, *, frame_bytes: int) -> None:
        folder = package_folder("pyoxigraph")
        if folder is None:
            raise OntologyError("pyoxigraph is missing: pip install 'pyoxigraph>=0.5.7'")
        code = _START.format(theirs=str(folder.parent))
        try:
            super().__init__(code, frame_bytes=frame_bytes, send_bytes=SEND_BYTES, keep_stderr=True)
        except OSError as exc:
            raise OntologyError(f"the query engine's worker cannot be started: {exc}") from exc
        try:
            if first is not None:
                self.send(first)
        except BaseException:
            self.kill()
            raise

    def send(self, message: dict[str, Any]) -> None:
        """Gone when nobody reads; OntologyError when it is too long."""
        try:
            super().send(message)
        except BrokenFrame as exc:
            raise OntologyError(f"too much for one query: {exc}") from exc


# -- an order and its answer


class Damaged(Exception):
    """What the worker reads from is damaged."""


class Killed(Exception):
    """Somebody else ended the worker: a person, or a system without memory."""


def ask(
    worker: Worker, order: dict[str, Any], wait_s: float, limits: EngineLimits
) -> Generator[dict[str, Any], None, None]:
    """The messages up to the last one. Close it: a worker that was not heard out is ended."""
    check_cancelled()  # while it waited for its turn: the worker is another's
    until, whole = time.monotonic() + wait_s, False
    try:
        worker.send(order)
        while not whole:
            message = worker.receive(until)
            whole = message["op"] not in ("head", "rows", "part")
            yield message
    except Gone as exc:
        raise _explain_end(exc, wait_s, limits) from exc
    finally:
        if not whole:
            worker.kill()


def _explain_end(gone: Gone, wait_s: float, limits: EngineLimits) -> Exception:
    if gone.late:
        return QueryTimeout(
            f"the query took more than {wait_s:g} s and was ended: name predicates, bind a term,"
            " avoid joins without a shared variable and paths without a start (LIMIT does not help"
            " with these), or give it more time (timeout_s)"
        )
    if gone.memory or gone.outside:
        return (Killed if gone.outside else QueryTimeout)(
            f"the query took more than the {limits.memory_mb:,} MB of memory it may have and was"
            f" ended ({gone.how}): ask for less, without ORDER BY, DISTINCT or GROUP BY over"
            " everything"
        )
    return OntologyError(
        f"the query crashed the engine ({gone.how}): write it simpler, with less nesting"
    )


def explain_refusal(message: dict[str, Any], checked: Checked, prefixes: Prefixes) -> Exception:
    """The error for what a worker says instead of an answer; names an unbound prefix and a variable
    that is not grouped. Where the parser has a sentence among what it expected, that alone."""
    said = str(message.get("message", message["op"]))
    if message["op"] == "damaged":
        return Damaged(said)
    if message["op"] != "refused":
        return OntologyError(f"the query failed: {said}")
    if missing := unbound(checked, prefixes):
        return QueryRefused(f"query refused: {missing}")
    if name := find_ungrouped(checked):
        return QueryRefused(
            f"query refused: {name} is selected beside groups and is not grouped itself: add it to"
            f" GROUP BY, or put it into an aggregate, as SAMPLE({name})"
        )
    sentence = _SENTENCE.search(said)
    return QueryRefused(f"query refused: {sentence[1] if sentence else said}")
