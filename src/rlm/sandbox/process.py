"""The confined engine: model-written code in a process that can do nothing but compute and ask.

The worker is not trusted. Every message is checked, every call counted, and time is kept here.
When a block's time is over the worker is asked to stop (a signal that Python code notices), and
killed if it does not, so that most time-outs keep the variables. A worker that was killed, or that
broke the protocol, is replaced at the next block; what the host had set is set again.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rlm.errors import SandboxError, SandboxUnfit
from rlm.frames import BrokenFrame, plain_text
from rlm.kernel import WORKER_CPU_S
from rlm.sandbox.engine import (
    INSTALL_MONTY,
    LOST,
    MAX_LOCALS,
    Repl,
    REPLResult,
    RunningBlock,
    SandboxLimits,
    Stopped,
    Surroundings,
    check_variable_name,
    to_plain,
)
from rlm.worker import Gone, WorkerProcess, package_folder, parse_message

ALL_LAYERS = ("rlimits", "uid", "no_new_privs", "landlock", "seccomp")
NEEDED = frozenset({"rlimits", "no_new_privs", "seccomp"})
"""Without these a worker is not confined. Landlock is missing only on old kernels."""
BOOT_S = 20.0
PROTOCOL_BROKEN = "it broke the protocol"
GRACE_S = 0.12
"""How long a worker may take to notice that its time is over."""
_SHAPES: dict[str, dict[str, tuple[type, ...]]] = {
    "ready": {"layers": (list,)},
    "failed": {"error": (str,)},
    "ok": {},
    "missing": {},
    "out": {"text": (str,)},
    "call": {"name": (str,), "args": (list,), "words": (dict,)},
    "done": {"error": (str, type(None)), "stderr": (str,), "vars": (dict,), "cut": (int,)},
    "vars": {"vars": (dict,)},
    "value": {"value": (object,)},
}
_ERRORS = (None, "error", "refused", "timeout", "memory")
"""What a worker may say, and the fields of it."""
_START = """
import gc, types
gc.disable()
language = types.ModuleType("RestrictedPython")
language.__path__ = [{language!r}]
sys.modules["RestrictedPython"] = language
from rlm.sandbox.child.main import main
del sys.path[0]
main()
"""
"""RestrictedPython is the only foreign package that can be imported. Its own `__init__` loads what
is not needed here; without it a worker starts 5 ms sooner."""


class ProcessRepl(Repl):
    """A REPL whose code runs in a confined process."""

    engine = "process"

    def __init__(
        self,
        surroundings: Surroundings | None = None,
        limits: SandboxLimits | None = None,
        *,
        layers: Iterable[str] = ALL_LAYERS,
        language: bool = True,
        unsafe: bool = False,
    ) -> None:
        """`layers` and `language` are for tests; `unsafe` accepts a machine that cannot confine."""
        super().__init__(surroundings, limits)
        self._wanted, self._language, self._unsafe = tuple(layers), language, unsafe
        self._worker: WorkerProcess | None = None
        self.layers: frozenset[str] = frozenset()
        self._start()

    # -- life --------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._worker = worker = _new_worker(self.limits.frame_bytes)
        order = {
            "op": "start",
            "tools": list(self._given.tools),
            "layers": list(self._wanted),
            "language": self._language,
            "memory_mb": self.limits.memory_mb,
            "output_chars": self.limits.output_chars,
            "frame_bytes": self.limits.frame_bytes,
            "code_chars": self.limits.code_chars,
            "tied": threading.current_thread() is threading.main_thread(),
        }
        try:
            _send(worker, order)
            answer = worker.receive(time.monotonic() + BOOT_S)
        except Gone as exc:
            self._kill()
            raise SandboxError(f"the sandbox's worker did not start ({exc.how})") from exc
        if answer["op"] != "ready":
            self._kill()
            why = answer.get("error", answer["op"])
            raise SandboxError(f"the sandbox's worker did not start: {why}")
        self.layers = frozenset(answer["layers"])
        if not self._unsafe and set(self._wanted) >= NEEDED and not self.layers >= NEEDED:
            self._kill()
            missing = ", ".join(sorted(NEEDED - self.layers))
            raise SandboxUnfit(
                f"this machine cannot confine a process (missing: {missing}); use the engine"
                f" 'monty' ({INSTALL_MONTY}), or --unsafe if the code is your own"
            )
        for name, value in self._set.items():
            self._ask({"op": "set", "name": name, "value": value}, "ok")

    def _alive(self) -> WorkerProcess:
        if self._worker is None:
            self._start()
        assert self._worker is not None
        return self._worker

    def _kill(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()

    def _ask(self, message: dict[str, Any], *expected: str) -> dict[str, Any]:
        """A question outside of any block."""
        worker = self._alive()
        try:
            _send(worker, message)
            answer = worker.receive(time.monotonic() + BOOT_S)
            if answer["op"] not in expected:
                raise Gone(PROTOCOL_BROKEN)
            return answer
        except Gone as exc:
            self._lose()
            raise SandboxError(f"the sandbox's worker was lost: {exc.how}") from exc

    # -- running -----------------------------------------------------------------------------------

    def run(self, code: str, *, deadline: float | None = None) -> REPLResult:
        lost, self._lost = self._lost, False
        worker = self._alive()
        self._blocks += 1
        block = self._new_block(deadline)
        self._raise_cpu_limit(worker.pid)
        try:
            try:
                _send(worker, {"op": "run", "code": plain_text(code), "block": block.number})
                done = self._serve(worker, block)
            except Gone as exc:
                raise _reason_to_stop(exc) from exc
        except Stopped as exc:
            self._lose()
            return self._result(block, exc.kind, f"{exc.why}; {LOST}", lost)
        except BaseException:  # ctrl-C, or a fault of ours: the worker's state is unknown
            self._lose()
            raise
        self._known = done["vars"]
        block.cut += done["cut"]
        return self._result(block, done["error"], done["stderr"], lost)

    def _serve(self, worker: WorkerProcess, block: RunningBlock) -> dict[str, Any]:
        """Answer the worker's calls until the block is done."""

        def interrupt() -> float:
            block.interrupted = True
            worker.signal(signal.SIGINT)
            return time.monotonic() + GRACE_S

        while True:
            until = block.until()
            if block.interrupted:
                until = min(until, time.monotonic()) + GRACE_S
            message = worker.receive(until, None if block.interrupted else interrupt)
            op = message["op"]
            if op == "out":
                self._take_output(block, message["text"])
            elif op == "call":
                if worker.waiting:  # a worker waits for its answer before it says more
                    raise Gone(PROTOCOL_BROKEN)
                if time.monotonic() > until + GRACE_S:
                    raise Gone("it called a tool after its time was over", late=True)
                self._answer(worker, block, message)
            elif op == "done":
                return message
            else:
                raise Gone(PROTOCOL_BROKEN)

    def _take_output(self, block: RunningBlock, text: str) -> None:
        block.room -= len(text)
        if block.room < 0:
            most = self.limits.output_chars
            raise Stopped("output", f"the block printed more than {most:,} characters")
        block.output.append(text)

    def _answer(self, worker: WorkerProcess, block: RunningBlock, message: dict[str, Any]) -> None:
        name, args, words = message["name"], message["args"], message["words"]
        tool = self._given.hidden.get(name) or self._given.tools.get(name)
        if tool is None:
            raise Gone("it called an unknown tool")
        value, fault = self._call(block, name, lambda: self._run_tool(tool, args, words))
        if fault is None:
            try:
                return _send(worker, {"op": "result", "value": value})
            except SandboxError as exc:
                fault = str(exc)
        return _send(worker, {"op": "raise", "message": fault})

    def _raise_cpu_limit(self, pid: int) -> None:
        """So much processor time and the kernel ends the worker, even when this process is gone."""
        if not hasattr(resource, "prlimit"):
            return
        with contextlib.suppress(OSError, ValueError):
            soft = min(WORKER_CPU_S, int(_cpu_seconds(pid) + self.limits.block_s) + 5)
            resource.prlimit(pid, resource.RLIMIT_CPU, (soft, WORKER_CPU_S))

    # -- variables ---------------------------------------------------------------------------------

    def set(self, name: str, value: Any) -> None:
        check_variable_name(name)
        data = to_plain(self._given.to_wire(value))
        self._ask({"op": "set", "name": name, "value": data}, "ok")
        self._set[name] = data

    def get(self, name: str) -> Any:
        answer = self._ask({"op": "get", "name": plain_text(str(name))[:500]}, "value", "missing")
        if answer["op"] == "missing":
            raise self._missing_variable(name, self.variables())
        return self._given.from_wire(answer["value"])

    def variables(self) -> dict[str, str]:
        self._known = dict(self._ask({"op": "vars"}, "vars")["vars"])
        return dict(self._known)


def _new_worker(frame_bytes: int) -> WorkerProcess:
    folder = package_folder("RestrictedPython")
    if folder is None:
        raise SandboxError("RestrictedPython is missing: pip install 'RestrictedPython>=8.5'")
    try:
        code = _START.format(language=str(folder))
        return WorkerProcess(code, frame_bytes=frame_bytes, parse=check_message)
    except OSError as exc:
        raise SandboxError(f"the sandbox's worker cannot be started: {exc}") from exc


def _send(worker: WorkerProcess, message: dict[str, Any]) -> None:
    """SandboxError when it is too long, Gone when the worker does not read any more."""
    try:
        worker.send(message)
    except BrokenFrame as exc:
        raise SandboxError(f"too much for the sandbox's pipe: {exc}") from exc


def _reason_to_stop(gone: Gone) -> Stopped:
    if gone.late:
        return Stopped("timeout", "the worker did not answer in time")
    return Stopped("died", f"the worker is gone ({gone.how})")


def _cpu_seconds(pid: int) -> float:
    """The processor time that a process has used, from the kernel's own table."""
    stat = Path(f"/proc/{pid}/stat").read_text("ascii", errors="replace")
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def check_message(body: bytes) -> dict[str, Any]:
    """A message with every field that its kind has and none else; BrokenFrame for any other."""
    message = parse_message(body)
    shape = _SHAPES.get(message["op"])
    if shape is None or set(message) != {"op", *shape}:
        raise BrokenFrame(PROTOCOL_BROKEN)
    if not all(isinstance(message[name], kinds) for name, kinds in shape.items()):
        raise BrokenFrame(PROTOCOL_BROKEN)
    if "vars" in message:
        shown = list(message["vars"].items())[:MAX_LOCALS]
        if not all(isinstance(text, str) for _, text in shown):
            raise BrokenFrame(PROTOCOL_BROKEN)
        message["vars"] = {name[:200]: text[:300] for name, text in shown}
    if message["op"] == "done":
        if message["error"] not in _ERRORS or not message["cut"] >= 0:
            raise BrokenFrame(PROTOCOL_BROKEN)
        message["stderr"] = message["stderr"][:20_000]
    return message
