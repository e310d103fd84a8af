"""One order to a worker and all that it says to it, and what it means when it fails."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

from rlm.errors import OntologyError, QueryRefused, QueryTimeout
from rlm.ontology.engine.protocol import EngineLimits
from rlm.ontology.engine.worker import Gone, Worker
from rlm.ontology.query.guard import Checked
from rlm.ontology.query.prefixes import unbound
from rlm.ontology.terms import Prefixes


class Damaged(Exception):
    """What the worker reads from is damaged."""


class Killed(Exception):
    """Somebody else ended the worker: a person, or a system without memory."""


def ask(
    worker: Worker, order: dict[str, Any], wait_s: float, limits: EngineLimits
) -> Generator[dict[str, Any], None, None]:
    """The messages up to the last one. Close it: a worker that was not heard out is ended, its rest
    being no answer."""
    until, whole = time.monotonic() + wait_s, False
    try:
        worker.send(order)
        while not whole:
            message = worker.receive(until)
            whole = message["op"] not in ("head", "rows", "part")
            yield message
    except Gone as exc:
        raise _ended(exc, wait_s, limits) from exc
    finally:
        if not whole:
            worker.kill()


def _ended(gone: Gone, wait_s: float, limits: EngineLimits) -> Exception:
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


def refused(message: dict[str, Any], checked: Checked, prefixes: Prefixes) -> Exception:
    """The error for what a worker says instead of an answer. A prefix that is not bound is told as
    such."""
    said = str(message.get("message", message["op"]))
    if message["op"] == "damaged":
        return Damaged(said)
    if message["op"] != "refused":
        return OntologyError(f"the query failed: {said}")
    if missing := unbound(checked, prefixes):
        return QueryRefused(f"query refused: {missing}")
    if "SELECT projection" in said:
        said += (
            "; a variable that is bound from outside must be returned: add it to SELECT (and to"
            " GROUP BY)"
        )
    return QueryRefused(f"query refused: {said}")
