"""The worker: one process that parses one file, or answers queries over one store.

It is started with an empty environment and a first message that says what to do. It opens what it must, shuts itself
in, and only then touches data: the walls hold for the threads that the store starts, because they stand before it is
opened. The parser and the query engine are native code that a crafted input can crash or keep busy for ever; that ends
this process and nothing else. When the pipe closes it ends; should the host die while a query runs, a timer ends it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from rlm import frames, kernel
from rlm.errors import NotRDF
from rlm.ontology.parsing import brief, parse

REFUSED_CALLS = (
    "socket", "socketpair", "connect", "bind", "listen", "sendto", "sendmsg", "sendmmsg", "ptrace", "fork", "vfork",
    "execve", "execveat", "io_uring_setup", "bpf", "keyctl", "mount", "unshare", "setns", "kill", "tkill",
    "process_vm_readv", "process_vm_writev", "pidfd_getfd", "memfd_create", "userfaultfd",
)  # fmt: skip
STACK_BYTES = 64 << 20
CHUNK_BYTES = 64 << 10
GRACE_S = 2.0
_DAMAGE = ("Corruption", "IO error")
"""How the store's own complaints begin, whichever exception brings them."""
_STRING = "http://www.w3.org/2001/XMLSchema#string"


def confine(memory_mb: int, *, readable: Iterable[Path] = (), writable: Iterable[Path] = ()) -> list[str]:
    """Shut this process in; the names of the walls that stand."""
    writable = list(writable)
    walls = {"RLIMIT_DATA": memory_mb << 20, "RLIMIT_CORE": 0, "RLIMIT_STACK": STACK_BYTES, "RLIMIT_MEMLOCK": 0}
    kernel.set_limits(walls if writable else {**walls, "RLIMIT_FSIZE": 0})
    held = ["rlimits"]
    if kernel.no_new_privileges():
        held.append("no_new_privs")
    if kernel.landlock(readable=readable, writable=writable):
        held.append("landlock")
    if kernel.seccomp(kernel.refuse(REFUSED_CALLS)):
        held.append("seccomp")
    return held


# -- terms -----------------------------------------------------------------------------------------------


def to_term(value: Any) -> dict[str, Any]:
    """A term of the engine's as JSON (`rlm.ontology.terms`); blank nodes under the store's own names."""
    if isinstance(value, ox.NamedNode):
        return {"t": "iri", "v": value.value}
    if isinstance(value, ox.BlankNode):
        return {"t": "bnode", "v": value.value}
    if isinstance(value, ox.Literal):
        term: dict[str, Any] = {"t": "lit", "v": value.value}
        if value.language is not None:
            term["lang"] = value.language
            if value.direction is not None:
                term["dir"] = value.direction.value
        elif value.datatype.value != _STRING:
            term["dt"] = value.datatype.value
        return term
    return {"t": "triple", "v": [to_term(part) for part in (value.subject, value.predicate, value.object)]}


def from_term(term: dict[str, Any]) -> Any:
    """The engine's term for JSON. ValueError when it is none."""
    kind, value = term.get("t"), term.get("v")
    if kind == "iri" and isinstance(value, str):
        return ox.NamedNode(value)
    if kind == "bnode" and isinstance(value, str):
        return ox.BlankNode(value)
    if kind == "lit" and isinstance(value, str):
        if term.get("lang"):
            return ox.Literal(value, language=term["lang"])
        return ox.Literal(value, datatype=ox.NamedNode(term["dt"]) if term.get("dt") else None)
    raise ValueError(f"no term: {str(term)[:200]}")


# -- serving ---------------------------------------------------------------------------------------------


class Server:
    """Answers one host over one store."""

    def __init__(self, store: ox.Store, facts: dict[str, Any], send: Any) -> None:
        self._store, self._send = store, send
        self._union = bool(facts["graphs"])

    def answer(self, message: dict[str, Any]) -> None:
        op = message["op"]
        signal.setitimer(signal.ITIMER_REAL, float(message.get("timeout_s", 0)) + GRACE_S)
        try:
            if op == "query":
                self._query(message)
            elif op == "meta":
                self._meta(message["prefixes"])
            else:
                self._send({"op": "done"})
        except SyntaxError as exc:
            self._send({"op": "refused", "message": brief(exc)})
        except (RuntimeError, ValueError, TypeError, OSError) as exc:
            said = str(exc)[:1000]
            op = "failed" if isinstance(exc, OSError) else "refused"
            self._send({"op": "damaged" if said.startswith(_DAMAGE) else op, "message": said})
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _query(self, message: dict[str, Any]) -> None:
        bound = {ox.Variable(name): from_term(term) for name, term in message["bindings"].items()}
        found: Any = self._store.query(
            message["text"],
            prefixes=message["prefixes"],
            use_default_graph_as_union=self._union,
            substitutions=bound or None,
        )
        if isinstance(found, ox.QueryBoolean):
            self._send({"op": "head", "kind": "ask", "variables": [], "boolean": bool(found)})
            self._send({"op": "done", "truncated": False, "too_long": 0})
            return
        if isinstance(found, ox.QueryTriples):
            self._send({"op": "head", "kind": "graph", "variables": [], "boolean": None})
            rows: Iterator[list[Any]] = (
                [to_term(triple.subject), to_term(triple.predicate), to_term(triple.object)] for triple in found
            )
        else:
            names = [variable.value for variable in found.variables]
            self._send({"op": "head", "kind": "select", "variables": names, "boolean": None})
            rows = ([None if term is None else to_term(term) for term in row] for row in found)
        self._rows(rows, message["rows"], message["bytes"])

    def _rows(self, rows: Iterable[list[Any]], most: int, most_bytes: int) -> None:
        held: list[list[Any]] = []
        count = size = held_bytes = too_long = 0
        truncated = False
        for row in rows:
            length = len(json.dumps(row, separators=(",", ":")))
            if count >= most or size + length > most_bytes:
                truncated = True
                too_long = length if not count and length > most_bytes else 0
                break
            held.append(row)
            count, size, held_bytes = count + 1, size + length, held_bytes + length
            if held_bytes > CHUNK_BYTES:
                self._send({"op": "rows", "rows": held})
                held, held_bytes = [], 0
        if held:
            self._send({"op": "rows", "rows": held})
        self._send({"op": "done", "truncated": truncated, "too_long": too_long})

    def _meta(self, prefixes: dict[str, str]) -> None:
        from rlm.ontology.build_meta import build_meta  # loaded before the walls stood, when the host asked for it

        text = json.dumps(build_meta(self._store, prefixes).to_dict(), separators=(",", ":"))
        for start in range(0, len(text), CHUNK_BYTES):
            self._send({"op": "part", "text": text[start : start + CHUNK_BYTES]})
        self._send({"op": "done"})


def main(taken: int = 0, given: int = 1) -> None:
    """The life of a worker."""

    def receive() -> dict[str, Any] | None:
        head = frames.read_exactly(taken, frames.HEAD.size)
        if len(head) < frames.HEAD.size:
            return None
        return json.loads(frames.read_exactly(taken, frames.HEAD.unpack(head)[0]))  # type: ignore[no-any-return]

    def send(message: dict[str, Any]) -> None:
        frames.write_all(given, frames.encode(message, 1 << 31))

    first = receive()
    if first is None:
        return
    with contextlib.suppress(BrokenPipeError):
        try:
            server = _prepare(first, send)
        except NotRDF as exc:
            send({"op": "notrdf", "message": str(exc), "line": exc.line})
            return
        except OSError as exc:
            send({"op": "damaged" if first["mode"] == "serve" else "failed", "message": str(exc)[:1000]})
            return
        while server is not None and (message := receive()) is not None:
            server.answer(message)


def _prepare(first: dict[str, Any], send: Any) -> Server | None:
    """Do what the first message says, up to where queries can be answered; None when that was all."""
    mode, memory_mb = first["mode"], int(first["memory_mb"])
    signal.setitimer(signal.ITIMER_REAL, float(first["timeout_s"]) + GRACE_S)
    if first["meta"]:
        import rlm.ontology.build_meta  # noqa: F401
    if mode == "serve":
        folder = Path(first["folder"])
        walls = confine(memory_mb, readable=[folder])
        store = ox.Store.read_only(str(folder))
        facts = first["facts"]
    else:
        with Path(first["path"]).open("rb", buffering=0) as file:
            folder = Path(first["folder"]) if mode == "build" else Path(os.sep)
            walls = confine(memory_mb, writable=[folder] if mode == "build" else [])
            store = ox.Store(str(folder / "store")) if mode == "build" else ox.Store()
            facts = parse(file, first, store, on_disk=mode == "build")
        if mode == "build":
            store.flush()
            del store
            send({"op": "built", "facts": facts})
            return None
    signal.setitimer(signal.ITIMER_REAL, 0)
    send({"op": "ready", "walls": walls, "facts": facts})
    return Server(store, facts, send)
