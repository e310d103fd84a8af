"""The confined engine: model-written code in a worker process that can do nothing but compute and
ask.

The worker is not believed. Every message is checked, every call counted, and time is kept here.
When a block's time is over the worker is asked to stop (a signal that Python code notices), and
killed if it does not, so that most time-outs keep the variables. A worker that was killed, or that
broke the protocol, is replaced at the next block; what the host had set is set again.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlm.errors import SandboxError, SandboxUnfit
from rlm.kernel import WORKER_CPU_S
from rlm.sandbox.channel import Channel, Stopped
from rlm.sandbox.types import REPLResult, SandboxLimits, Surroundings
from rlm.sandbox.values import LOST, TOOL_FAULTS, Closing, plain_text, unwired, wired

ALL_LAYERS = ("rlimits", "uid", "no_new_privs", "landlock", "seccomp")
NEEDED = frozenset({"rlimits", "no_new_privs", "seccomp"})
"""Without these a worker is not confined. Landlock is asked for too, and missing only on old
kernels."""
BOOT_S = 20.0
GRACE_S = 0.12
"""How long a worker may take to notice that its time is over."""
_START = """
import gc, sys, types
gc.disable()
sys.flags.isolated or sys.exit(3)
sys.path[:0] = [{ours!r}]
language = types.ModuleType("RestrictedPython")
language.__path__ = [{language!r}]
sys.modules["RestrictedPython"] = language
from rlm.sandbox.child.main import main
del sys.path[0]
main()
"""
"""RestrictedPython's own `__init__` loads what is not needed here; without it a worker starts 5 ms
sooner."""


@dataclass
class _Block:
    """What is known of the block that runs."""

    started: float
    ends: float
    deadline: float | None
    output: list[str] = field(default_factory=list)
    chars: int = 0
    cut: int = 0
    calls: int = 0
    asked: bool = False


class ProcessRepl(Closing):
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
        """`layers` and `language` are for tests of a single layer; `unsafe` accepts a machine that
        cannot confine."""
        self._given = surroundings or Surroundings()
        self.limits = limits or SandboxLimits()
        self._wanted = tuple(layers)
        self._language = language
        self._unsafe = unsafe
        self._set: dict[str, Any] = {}
        self._known: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._lost = False
        self.layers: frozenset[str] = frozenset()
        self._start()

    # -- life
    # ----------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._process = _spawn()
        assert self._process.stdin is not None and self._process.stdout is not None
        taken, given = self._process.stdout.fileno(), self._process.stdin.fileno()
        self._channel = Channel(taken, given, self.limits.frame_bytes)
        tools = {
            name: (tool.__doc__ or "").strip()[:500] for name, tool in self._given.tools.items()
        }
        try:
            self._channel.send({
                "op": "start", "tools": tools, "layers": list(self._wanted), "language": self._language,
                "memory_mb": self.limits.memory_mb, "output_chars": self.limits.output_chars,
                "frame_bytes": self.limits.frame_bytes, "code_chars": self.limits.code_chars,
                "tied": threading.current_thread() is threading.main_thread(),
            })  # fmt: skip
            answer = self._channel.receive(time.monotonic() + BOOT_S)
        except Stopped as exc:
            code = self._kill()
            raise SandboxError(
                f"the sandbox's worker did not start ({exc.why}; exit code {code})"
            ) from exc
        if answer["op"] != "ready":
            self._kill()
            raise SandboxError(
                f"the sandbox's worker did not start: {answer.get('error', answer['op'])}"
            )
        self.layers = frozenset(answer["layers"])
        if not self._unsafe and set(self._wanted) >= NEEDED and not self.layers >= NEEDED:
            self._kill()
            missing = ", ".join(sorted(NEEDED - self.layers))
            raise SandboxUnfit(
                f"this machine cannot confine a process (missing: {missing}); use the engine"
                " 'monty' (pip install 'rlm-memory[monty]'), or --unsafe if the code is your own"
            )
        for name, value in self._set.items():
            self._ask({"op": "set", "name": name, "value": value}, "ok")

    def _alive(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._start()
        assert self._process is not None
        return self._process

    def _kill(self) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        return code

    # -- the pipe
    # ------------------------------------------------------------------------------------

    def _ask(self, message: dict[str, Any], *expected: str) -> dict[str, Any]:
        """A question outside of any block."""
        try:
            self._channel.send(message)
            answer = self._channel.receive(time.monotonic() + BOOT_S)
            if answer["op"] not in expected:
                raise Stopped("died", "the worker broke the protocol")
            return answer
        except Stopped as exc:
            self._kill()
            self._lost = True
            raise SandboxError(f"the sandbox's worker was lost: {exc.why}") from exc

    # -- running
    # -------------------------------------------------------------------------------------

    def run(self, code: str, *, deadline: float | None = None) -> REPLResult:
        lost, self._lost = self._lost, False
        process = self._alive()
        started = time.monotonic()
        block = _Block(started, started + self.limits.block_s, deadline)
        self._raise_cpu_limit(process.pid)
        try:
            self._channel.send({"op": "run", "code": plain_text(code)})
            done = self._serve(block)
        except Stopped as exc:
            self._kill()
            self._lost, self._known = True, {}
            return self._result(block, exc.kind, f"{exc.why}; {LOST}", lost)
        except BaseException:  # ctrl-C, or a fault of ours: the worker's state is unknown
            self._kill()
            self._lost, self._known = True, {}
            raise
        self._known = done["vars"]
        block.cut += done["cut"]
        return self._result(block, done["error"], done["stderr"], lost)

    def _result(self, block: _Block, error: str | None, said: str, lost: bool) -> REPLResult:
        return REPLResult(
            stdout="".join(block.output), stderr=said, locals=dict(self._known),
            execution_time=time.monotonic() - block.started, error=error, calls=block.calls, cut_chars=block.cut,
            restarted=self._lost or lost,
        )  # fmt: skip

    def _serve(self, block: _Block) -> dict[str, Any]:
        """Answer the worker's calls until the block is done."""

        def late() -> float:
            block.asked = True
            assert self._process is not None
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self._process.pid, signal.SIGINT)
            return time.monotonic() + GRACE_S

        while True:
            until = block.ends if block.deadline is None else min(block.ends, block.deadline)
            if block.asked:
                until = min(until, time.monotonic()) + GRACE_S
            message = self._channel.receive(until, None if block.asked else late)
            op = message["op"]
            if op == "out":
                self._take_output(block, message["text"])
            elif op == "call":
                if (
                    self._channel.waiting or time.monotonic() > until + GRACE_S
                ):  # a worker waits for its answer
                    raise Stopped(
                        "died" if self._channel.waiting else "timeout",
                        "the worker broke the protocol",
                    )
                self._answer(block, message)
            elif op == "done":
                return message
            else:
                raise Stopped("died", "the worker broke the protocol")

    def _take_output(self, block: _Block, text: str) -> None:
        block.chars += len(text)
        if block.chars > self.limits.output_chars:
            raise Stopped(
                "output", f"the block printed more than {self.limits.output_chars:,} characters"
            )
        block.output.append(text)

    def _answer(self, block: _Block, message: dict[str, Any]) -> None:
        name = message["name"]
        hidden = name in self._given.hidden
        tool = self._given.hidden.get(name) or self._given.tools.get(name)
        if tool is None:
            raise Stopped("died", "the worker called a tool that there is not")
        block.calls += 1
        if block.calls > self.limits.calls:
            raise Stopped("calls", f"the block made more than {self.limits.calls:,} tool calls")
        before = time.monotonic()
        answer = self._called(tool, message)
        if name in self._given.patient and not hidden:
            block.ends += time.monotonic() - before
        try:
            self._channel.send(answer)
        except SandboxError as exc:
            self._channel.send({"op": "raise", "message": str(exc)})

    def _called(self, tool: Callable[..., Any], message: dict[str, Any]) -> dict[str, Any]:
        """What the tool returns, or what went wrong as far as it concerns the code."""
        try:
            args = [unwired(value, self._given.from_wire) for value in message["args"]]
            words = {
                key: unwired(value, self._given.from_wire)
                for key, value in message["words"].items()
            }
            value = wired(tool(*args, **words), self._given.to_wire)
            return {"op": "result", "value": value}
        except TOOL_FAULTS as exc:
            return {"op": "raise", "message": plain_text(str(exc) or type(exc).__name__)[:2_000]}
        except Exception as exc:
            return {
                "op": "raise",
                "message": (
                    f"{message['name']} failed inside ({type(exc).__name__}); try another way"
                ),
            }

    def _raise_cpu_limit(self, pid: int) -> None:
        """So much processor time and the kernel ends the worker, even when this process is gone."""
        if not hasattr(resource, "prlimit"):
            return
        with contextlib.suppress(OSError, ValueError):
            soft = min(WORKER_CPU_S, int(_cpu_seconds(pid) + self.limits.block_s) + 5)
            resource.prlimit(pid, resource.RLIMIT_CPU, (soft, WORKER_CPU_S))

    # -- variables
    # -----------------------------------------------------------------------------------

    def set(self, name: str, value: Any) -> None:
        if not name.isidentifier() or name.startswith("_"):
            raise SandboxError(
                f"{name!r} is no name for a variable: use letters, digits and inner underscores"
            )
        data = wired(value, self._given.to_wire)
        self._alive()
        self._ask({"op": "set", "name": name, "value": data}, "ok")
        self._set[name] = data

    def get(self, name: str) -> Any:
        self._alive()
        answer = self._ask({"op": "get", "name": plain_text(str(name))[:500]}, "value", "missing")
        if answer["op"] == "missing":
            known = ", ".join(list(self.variables())[:20]) or "none"
            raise SandboxError(f"there is no variable {str(name)[:80]!r}; there are: {known}")
        return unwired(answer["value"], self._given.from_wire)

    def variables(self) -> dict[str, str]:
        self._alive()
        self._known = dict(self._ask({"op": "vars"}, "vars")["vars"])
        return dict(self._known)


def _spawn() -> subprocess.Popen[bytes]:
    """A Python of its own: isolated, without site packages, environment or open files."""
    spec = importlib.util.find_spec("RestrictedPython")
    if spec is None or spec.origin is None:
        raise SandboxError("RestrictedPython is missing: pip install 'RestrictedPython>=8.5'")
    code = _START.format(
        ours=str(Path(__file__).parents[2]), language=str(Path(spec.origin).parent)
    )
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", "-c", code],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={}, cwd="/", bufsize=0,
            close_fds=True, start_new_session=True,
        )  # fmt: skip
    except OSError as exc:
        raise SandboxError(f"the sandbox's worker cannot be started: {exc}") from exc


def _cpu_seconds(pid: int) -> float:
    """The processor time that a process has used, from the kernel's own table."""
    fields = (
        Path(f"/proc/{pid}/stat").read_text("ascii", errors="replace").rpartition(")")[2].split()
    )
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
