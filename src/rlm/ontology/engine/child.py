"""The worker: one process that parses one file, or answers queries over one store, in memory or on
disk.

It is started with an empty environment and a first message that says what to do. It opens what it
must, shuts itself in, and only then touches data: the walls hold for the threads that the store
starts, because they stand before it is opened. The parser and the query engine are native code that
a crafted input can crash or keep busy for ever; that ends this process and nothing else. When the
pipe closes it ends; should the host die while a query runs, a timer ends it.

Whoever opens a file waits for what is imported here: no pathlib (5 ms), nothing that only some
files need.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, BinaryIO

import pyoxigraph as ox

from rlm import frames, kernel
from rlm.errors import NotRDF
from rlm.ontology.engine.parsing import (
    THREAD_STACK_BYTES,
    TooMuch,
    brief,
    parse_small,
    parse_to_disk,
)
from rlm.ontology.meta.tally import Tally

REFUSED_CALLS = (
    "socket", "socketpair", "connect", "bind", "listen", "sendto", "sendmsg", "sendmmsg", "ptrace", "fork", "vfork",
    "execve", "execveat", "io_uring_setup", "bpf", "keyctl", "mount", "unshare", "setns", "kill", "tkill",
    "process_vm_readv", "process_vm_writev", "pidfd_getfd", "memfd_create", "userfaultfd",
)  # fmt: skip
STACK_BYTES = 64 << 20
IDLE = 10
"""How far a worker that writes the cache stands back behind one that answers."""
CHUNK_BYTES = 64 << 10
META_BYTES = 256 << 10
COPIED_QUADS = 1000
GRACE_S = 2.0
MOMENTS, MOMENT_S = 5, 0.0005
_DAMAGE = ("Corruption", "IO error")
"""How the store's own complaints begin, whichever exception brings them."""
_STRING = "http://www.w3.org/2001/XMLSchema#string"


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


# -- terms


def to_term(value: Any) -> dict[str, Any]:
    """A term of the engine's as JSON (`rlm.ontology.terms`); blank nodes under the store's own
    names."""
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
    return {
        "t": "triple",
        "v": [to_term(part) for part in (value.subject, value.predicate, value.object)],
    }


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


# -- serving


class Server:
    """Answers one host over one store. `memory_mb` is what the process may take; a copy takes at
    most half of it.

    `tally` is what was counted while the store was filled, kept until somebody asks for it.
    """

    def __init__(
        self, store: ox.Store, facts: dict[str, Any], send: Any, tally: Tally | None = None, *, memory_mb: int,
        in_memory: bool,
    ) -> None:  # fmt: skip
        self._store, self._send, self._tally = store, send, tally
        self._quads = int(facts["quads"])
        self._memory_mb, self._in_memory = memory_mb, in_memory

    def answer(self, message: dict[str, Any]) -> None:
        op = message["op"]
        signal.setitimer(signal.ITIMER_REAL, float(message.get("timeout_s", 0)) + GRACE_S)
        try:
            if op == "query":
                self._query(message)
            elif op == "meta":
                self._meta(message["individuals"])
            elif op == "size":
                self._send(
                    {
                        "op": "done",
                        "triples": (
                            self._tally.sizes.statements if self._tally else len(self._store)
                        ),
                    }
                )
            elif op == "copy":  # nobody waits for an answer
                threading.stack_size(THREAD_STACK_BYTES)
                threading.Thread(target=self._copy, daemon=True).start()
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

    def _copy(self) -> None:
        """Read the store on disk into memory, beside the queries; from then on they are answered
        from there.

        What cannot be copied whole stays on disk: a damaged store can yield for ever, and large
        texts take more memory than the number of triples tells.
        """
        found, seen = ox.Store(), 0
        with contextlib.suppress(OSError, RuntimeError, ValueError):
            quads = iter(self._store)
            while chunk := list(islice(quads, COPIED_QUADS)):
                found.extend(chunk)
                seen += len(chunk)
                if seen > self._quads or _peak_mb() > self._memory_mb // 2:
                    return
            if seen == self._quads == len(found):
                self._store, self._in_memory = found, True

    def _query(self, message: dict[str, Any]) -> None:
        bound = {ox.Variable(name): from_term(term) for name, term in message["bindings"].items()}
        found: Any = self._store.query(
            message["text"],
            prefixes=message["prefixes"],
            substitutions=bound or None,
        )
        if isinstance(found, ox.QueryBoolean):
            self._head("ask", boolean=bool(found))
            self._send({"op": "done", "truncated": False, "too_long": 0})
            return
        if isinstance(found, ox.QueryTriples):
            self._head("graph")
            rows: Iterator[list[Any]] = (
                [to_term(triple.subject), to_term(triple.predicate), to_term(triple.object)]
                for triple in found
            )
        else:
            names = [variable.value for variable in found.variables]
            self._head("select", names)
            rows = ([None if term is None else to_term(term) for term in row] for row in found)
        self._rows(rows, message["rows"], message["bytes"])

    def _head(self, kind: str, names: Sequence[str] = (), boolean: bool | None = None) -> None:
        head = {
            "kind": kind,
            "variables": list(names),
            "boolean": boolean,
            "in_memory": self._in_memory,
        }
        self._send({"op": "head", **head})

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
        from rlm.ontology.meta.gathering import (
            gather,
        )  # loaded before the walls stood, when the host asked for it

        threading.stack_size(THREAD_STACK_BYTES)
        tally, self._tally = self._tally, None
        with _uncollected():
            found = gather(self._store, individuals, tally)
            if tally is not None and not tally.fits():
                found = gather(self._store, individuals)
            text = json.dumps(found, separators=(",", ":"))
        for start in range(0, len(text), META_BYTES):
            self._send({"op": "part", "text": text[start : start + META_BYTES]})
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
            with _uncollected():
                server = _prepare(first, send)
        except NotRDF as exc:
            send({"op": "notrdf", "message": str(exc), "line": exc.line})
            return
        except OSError as exc:
            send(
                {
                    "op": "damaged" if first["mode"] == "serve" else "failed",
                    "message": str(exc)[:1000],
                }
            )
            return
        while server is not None and (message := receive()) is not None:
            server.answer(message)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """No garbage is looked for: what is made here in large numbers is kept, and walking over it
    takes a third more."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _prepare(first: dict[str, Any], send: Any) -> Server | None:
    """Do what the first message says, up to where queries can be answered; None when that was all."""
    mode, memory_mb = first["mode"], int(first["memory_mb"])
    signal.setitimer(signal.ITIMER_REAL, float(first["timeout_s"]) + GRACE_S)
    if first["meta"]:
        import rlm.ontology.meta.gathering  # noqa: F401
    if first["gzipped"]:
        import gzip  # noqa: F401 - it cannot be loaded once the walls stand
    if mode == "serve":
        walls = confine(memory_mb, readable=[first["folder"]])
        store, facts, tally = ox.Store.read_only(first["folder"]), first["facts"], None
    else:
        with open(first["path"], "rb", buffering=0) as file:  # noqa: PTH123 - as above
            if mode == "build":
                send({"op": "built", "facts": _built(file, first)})
                return None
            beside = _core_to_spare()  # before the walls: it reads a file
            walls = confine(memory_mb)
            try:
                store, facts, tally = parse_small(file, first, beside=beside)
            except TooMuch:
                send({"op": "large"})
                return None
    signal.setitimer(signal.ITIMER_REAL, 0)
    in_memory = mode == "memory"
    send({"op": "ready", "walls": walls, "facts": facts, "in_memory": in_memory})
    return Server(store, facts, send, tally, memory_mb=memory_mb, in_memory=in_memory)


def _built(file: BinaryIO, first: dict[str, Any]) -> dict[str, Any]:
    """Parse into a new store on disk; what is to be known of it."""
    if first["idle"]:
        os.nice(IDLE)
    confine(int(first["memory_mb"]), writable=[first["folder"]])
    store = ox.Store(f"{first['folder']}/store")
    facts = parse_to_disk(file, first, store)
    store.flush()
    return facts


def _core_to_spare() -> bool:
    """Whether fewer processes run at a moment, this one among them, than there are cores.

    A few moments are looked at: one is enough, since what wakes up for a moment only is no
    hindrance.
    """
    with contextlib.suppress(OSError, ValueError, IndexError, AttributeError):
        cores = len(os.sched_getaffinity(0))
        for _ in range(MOMENTS):
            with open("/proc/loadavg", encoding="ascii") as file:  # noqa: PTH123 - as above
                if int(file.read().split()[3].split("/")[0]) < cores:
                    return True
            time.sleep(MOMENT_S)
    return False


def _peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
