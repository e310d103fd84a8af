"""The worker: a process that parses files, or answers queries over one store.

It is started with an empty environment and a first message that says what to do. It opens what it
must, shuts itself in, and only then touches data: the walls hold for the threads that the store
starts, because they stand before it is opened. The parser and the query engine are native code that
a crafted input can crash or keep busy for ever; that ends this process and nothing else. When the
pipe closes it ends; should the host die while a query runs, a timer ends it.

Whoever opens a file waits for what is imported here: no pathlib (5 ms), nothing for few files.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

import pyoxigraph as ox

from rlm import frames, kernel
from rlm.ontology.engine.ox_terms import to_term
from rlm.ontology.engine.parser import Failed, TooMuch, brief, parse_files, read_written

REFUSED_CALLS = (
    *("socket", "socketpair", "connect", "bind", "listen", "sendto", "sendmsg", "sendmmsg"),
    *("ptrace", "fork", "vfork", "execve", "execveat", "io_uring_setup", "bpf", "keyctl"),
    *("mount", "unshare", "setns", "kill", "tkill", "process_vm_readv", "process_vm_writev"),
    *("pidfd_getfd", "memfd_create", "userfaultfd"),
)
STACK_BYTES = 64 << 20
IDLE = 10
"""How far a worker that writes the cache stands back behind one that answers."""
CHUNK_BYTES = 64 << 10
META_BYTES = 256 << 10
GRACE_S = 2.0
_DAMAGE = ("Corruption", "IO error")
"""How the store's own complaints begin, whichever exception brings them."""


def confine(
    memory_mb: int, *, readable: Iterable[str] = (), writable: Iterable[str] = ()
) -> list[str]:
    """Shut this process in; the names of the walls that stand."""
    writable = list(writable)
    walls = {
        "RLIMIT_DATA": memory_mb << 20,
        "RLIMIT_CORE": 0,
        "RLIMIT_STACK": STACK_BYTES,
        "RLIMIT_MEMLOCK": 0,
    }
    kernel.set_limits(walls if writable else {**walls, "RLIMIT_FSIZE": 0})
    held = ["rlimits"]
    if kernel.no_new_privileges():
        held.append("no_new_privs")
    if kernel.landlock(readable=readable, writable=writable):
        held.append("landlock")
    if kernel.seccomp(kernel.refuse(REFUSED_CALLS)):
        held.append("seccomp")
    return held


# -- serving


class QueryServer:
    """Answers one host over one store."""

    def __init__(self, store: ox.Store, send: Any, *, in_memory: bool) -> None:
        self._store, self._send, self._in_memory = store, send, in_memory

    def answer(self, message: dict[str, Any]) -> None:
        op = message["op"]
        signal.setitimer(signal.ITIMER_REAL, float(message.get("timeout_s", 0)) + GRACE_S)
        try:
            if op == "query":
                self._query(message)
            elif op == "meta":
                self._meta(message["individuals"])
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
        found: Any = self._store.query(message["text"], prefixes=message["prefixes"])
        if isinstance(found, ox.QueryBoolean):
            self._head("ask", boolean=bool(found))
            self._send({"op": "done", "truncated": False, "too_long": 0})
            return
        if isinstance(found, ox.QueryTriples):
            self._head("graph")
            parts: Iterator[Any] = ((one.subject, one.predicate, one.object) for one in found)
        else:
            self._head("select", [variable.value for variable in found.variables])
            parts = found
        rows = ([None if term is None else to_term(term) for term in row] for row in parts)
        self._rows(rows, message["rows"], message["bytes"])

    def _head(self, kind: str, names: Sequence[str] = (), boolean: bool | None = None) -> None:
        head = {"op": "head", "kind": kind, "variables": list(names), "boolean": boolean}
        self._send({**head, "in_memory": self._in_memory})

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

    def _meta(self, individuals: int) -> None:
        # Loaded before the walls stood, when the host asked for it.
        from rlm.ontology.meta.builder import scan_store

        with _without_gc():
            text = json.dumps(scan_store(self._store, individuals), separators=(",", ":"))
        _send_parts(text, self._send)


class StatementServer:
    """Gives one host the statements as the files write them."""

    def __init__(self, text: str, send: Any) -> None:
        self._text, self._send = text, send

    def answer(self, _: dict[str, Any]) -> None:
        _send_parts(self._text, self._send)


def _send_parts(text: str, send: Any) -> None:
    for start in range(0, len(text), META_BYTES):
        send({"op": "part", "text": text[start : start + META_BYTES]})
    send({"op": "done"})


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
            with _without_gc():
                server = _prepare(first, send)
        except Failed as exc:
            said = {"message": str(exc), "line": exc.error.line, "file": exc.file}
            send({"op": "notrdf", **said})
            return
        except OSError as exc:
            op = "damaged" if first["mode"] == "serve" else "failed"
            send({"op": op, "message": str(exc)[:1000]})
            return
        while server is not None and (message := receive()) is not None:
            server.answer(message)


@contextlib.contextmanager
def _without_gc() -> Iterator[None]:
    """No garbage collection: what is made here is kept, and walking over it takes a third more."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _prepare(first: dict[str, Any], send: Any) -> QueryServer | StatementServer | None:
    """Do what the first message says; the server for what follows, None when that was all."""
    mode, memory_mb = first["mode"], int(first["memory_mb"])
    signal.setitimer(signal.ITIMER_REAL, float(first["timeout_s"]) + GRACE_S)
    # What cannot be loaded once the walls stand.
    if first["meta"]:
        import rlm.ontology.meta.builder
    if any(each["gzipped"] for each in first["files"]):
        import gzip  # noqa: F401
    if any(each["format"] in ("rdf-xml", "owl-xml") for each in first["files"]):
        import xml.parsers.expat  # noqa: F401
    if any(each["convert"] for each in first["files"]):
        import rlm.ontology.engine.owl_syntax  # noqa: F401
    if mode == "serve":
        walls = confine(memory_mb, readable=[first["folder"]])
        store, facts = ox.Store.read_only(first["folder"]), first["facts"]
    else:
        with contextlib.ExitStack() as stack:
            files: list[BinaryIO] = [
                stack.enter_context(open(each["path"], "rb", buffering=0))  # noqa: PTH123
                for each in first["files"]
            ]
            if mode == "build":
                send({"op": "built", "facts": _build_store(files, first)})
                return None
            walls = confine(memory_mb)
            if mode == "written":
                text, facts = read_written(files, first)
                signal.setitimer(signal.ITIMER_REAL, 0)
                send({"op": "ready", "facts": facts})
                return StatementServer(text, send)
            try:
                store, facts = parse_files(files, first)
            except TooMuch:
                send({"op": "large"})
                return None
    signal.setitimer(signal.ITIMER_REAL, 0)
    in_memory = mode == "memory"
    send({"op": "ready", "walls": walls, "facts": facts, "in_memory": in_memory})
    return QueryServer(store, send, in_memory=in_memory)


def _build_store(files: list[BinaryIO], first: dict[str, Any]) -> dict[str, Any]:
    """Parse into a new store on disk; what is to be known of it."""
    if first["idle"]:
        os.nice(IDLE)
    confine(int(first["memory_mb"]), writable=[first["folder"]])
    store = ox.Store(f"{first['folder']}/store")
    _, facts = parse_files(files, first, store)
    store.flush()
    return facts
