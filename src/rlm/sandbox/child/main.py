"""The worker: one process that runs model-written code for one REPL.

It is started with an empty environment, no open file but its pipes, and a first message that says
how to shut itself in. It loads what it needs, confines itself, says which layers hold, and then
serves: run a block, set or tell a variable. While a block runs it may call the host. When the pipe
closes it ends.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import json
import os
import resource
import select
import signal
import sys
from types import FrameType, ModuleType, TracebackType
from typing import Any, NoReturn

from rlm import frames, kernel
from rlm.frames import plain_text
from rlm.sandbox.child import confine, guards
from rlm.sandbox.child.builtins import Out, make_builtins
from rlm.sandbox.child.encoder import ValueEncoder
from rlm.sandbox.child.policy import (
    PRIVATE,
    Policy,
    Rename,
    TooLarge,
    display_name,
    measure,
    private_name,
)
from rlm.sandbox.child.rows import HostRows, Rows, Truth
from rlm.sandbox.child.texts import HostText, SharedObject

ASK_NAMES = frozenset(("boolean", "hints"))
NAMES_SHOWN = 200
_SHORT = 120
_BLOCK = "<block {}>"


class Interrupted(BaseException):
    """The host says that the time limit is reached."""


class BlockRefused(Exception):
    """The block is not run."""


class ToolError(Exception):
    """A tool refused, or failed. The message says why."""


class Tool(SharedObject):
    """A function of the host's."""

    __slots__ = ("_name", "_worker")

    def __init__(self, worker: CodeWorker, name: str) -> None:
        self._worker, self._name = worker, name

    def __call__(self, *args: Any, **words: Any) -> Any:
        return self._worker.call(self._name, args, words)

    def __repr__(self) -> str:
        return f"<tool {self._name}>"


class ShowVars(Tool):
    """`SHOW_VARS()`: the names of all variables, each with a short description."""

    __slots__ = ()

    def __call__(self, *args: Any, **words: Any) -> Any:
        return self._worker.describe_variables()


class CodeWorker:
    """The state of one worker, and the loop that serves the host."""

    def __init__(self, taken: int, given: int) -> None:
        self._in, self._out_fd = taken, given
        os.set_blocking(taken, False)
        self._poll = select.poll()
        self._poll.register(taken, select.POLLIN | select.POLLHUP)
        first = self._receive()
        self._limit = int(first["frame_bytes"])
        self._language = bool(first["language"])
        self._code_chars = int(first["code_chars"])
        self._interrupted = self._running = False
        self._sources: dict[str, list[str]] = {}
        self._out = Out(int(first["output_chars"]), self._send_output)
        self._space: dict[str, Any] = {}
        self._start_space(first["tools"])
        signal.signal(signal.SIGINT, self._on_interrupt)
        only, memory_mb = frozenset(first["layers"]), int(first["memory_mb"])
        layers = confine.confine(memory_mb, tied=first["tied"], only=only) if only else []
        self._send({"op": "ready", "layers": layers})

    def _start_space(self, tools: list[str]) -> None:
        space: dict[str, Any] = {}
        # Dataclasses look up the module of a class; this one is empty.
        sys.modules["repl"] = ModuleType("repl")
        if self._language:
            space["__builtins__"] = make_builtins(self._out, self._user_values)
            space.update(guards.GUARDS)
        else:
            space["__builtins__"] = {**vars(sys.modules["builtins"])}
            space["print"] = make_builtins(self._out, self._user_values)["print"]
            space["__name__"] = "repl"
        space["ToolError"] = ToolError
        space["SHOW_VARS"] = ShowVars(self, "SHOW_VARS")
        for name in tools:
            space[name] = Tool(self, name)
        self._space = space
        self._given = dict(space)
        """What was there before any code ran: no variable of the code's."""

    # -- the pipe ----------------------------------------------------------------------------------

    def _receive(self) -> dict[str, Any]:
        """One message. The host sends one at a time, so what is read belongs to it."""
        data = bytearray()
        size = frames.HEAD.size
        while len(data) < size:
            part = frames.read_soon(self._in)
            while part is None:
                self._poll.poll()
                part = frames.read_now(self._in)
            if not part:
                _end()
            data += part
            if size == frames.HEAD.size <= len(data):
                size += frames.HEAD.unpack_from(data)[0]
        return json.loads(memoryview(data)[frames.HEAD.size :].tobytes())  # type: ignore[no-any-return]

    def _send(self, message: dict[str, Any]) -> None:
        """All of it: a signal between its parts would break the pipe, so it waits until the end."""
        was, self._running = self._running, False
        try:
            frames.write_all(self._out_fd, frames.encode(message, 1 << 31))
        finally:
            self._running = was
        if was and self._interrupted:
            raise Interrupted

    def _send_output(self, text: str) -> None:
        self._send({"op": "out", "text": plain_text(text)})

    def serve(self) -> NoReturn:
        """Answer the host until it goes away."""
        while True:
            message = self._receive()
            op = message["op"]
            if op == "run":
                self._run(message["code"], message["block"])
            elif op == "set":
                self._space[message["name"]] = self._from_wire(message["value"])
                self._given.pop(message["name"], None)
                self._send({"op": "ok"})
            elif op == "get":
                self._tell(message["name"])
            elif op == "vars":
                self._send({"op": "vars", "vars": self.describe_variables()})

    # -- calls to the host -------------------------------------------------------------------------

    def call(self, name: str, args: Any, words: dict[str, Any]) -> Any:
        message = {
            "op": "call",
            "name": name,
            "args": [self._to_wire(value) for value in args],
            "words": {str(key): self._to_wire(value) for key, value in words.items()},
        }
        self._out.flush()
        data = frames.encode(message, self._limit)  # too much for the pipe raises here, in the code
        # The host's time is not ours to interrupt: half a message would break the pipe.
        self._running = False
        try:
            frames.write_all(self._out_fd, data)
            answer = self._receive()
        finally:
            self._running = True
        if self._interrupted:
            raise Interrupted
        if answer["op"] == "raise":
            raise ToolError(answer["message"])
        return self._from_wire(answer["value"])

    def _hidden(self, name: str, *args: Any) -> Any:
        return self.call(name, args, {})

    def _to_wire(self, value: Any) -> Any:
        """A value of the code's as plain data, without calling a method of the code's."""
        return ValueEncoder(self._limit).encode(value)

    def _from_wire(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._from_wire(part) for part in value]
        if isinstance(value, dict):
            if set(value) == {"$ref"} and isinstance(value["$ref"], dict):
                ref = value["$ref"]
                if "rows" in ref:
                    return HostRows(self._hidden, ref)
                start = int(ref.get("start", 0))
                stop = int(ref["stop"] if "stop" in ref else ref["sz"])
                dtype, prev = ref.get("dtype", "text"), ref.get("prev", "")
                return HostText(self._hidden, ref["key"], start, stop, dtype, prev)
            if "boolean" in value and (value.get("kind") == "ASK" or set(value) <= ASK_NAMES):
                return Truth(value)
            return {key: self._from_wire(part) for key, part in value.items()}
        return value

    # -- running -----------------------------------------------------------------------------------

    def _run(self, code: str, number: int) -> None:
        name = _BLOCK.format(number)
        self._sources[name] = code.splitlines()
        if len(self._sources) > 100:
            del self._sources[next(iter(self._sources))]
        self._out.start()
        self._interrupted = False
        error: str | None = None
        said, shown = "", {}
        try:
            self._running = True
            try:
                program = self._compile(code, name)
                exec(program, self._space)
            finally:
                self._running = False
        except BlockRefused as exc:
            error, said = "refused", str(exc)
        except Interrupted:
            error, said = "timeout", "stopped: the time of this block is over"
        except MemoryError as exc:
            error, said = "memory", self._trace(exc)
        except (SystemExit, KeyboardInterrupt):
            error = None  # `exit()` and similar end the block and are not errors
        except BaseException as exc:
            error, said = "error", self._trace(exc)
        try:
            self._tidy()
            self._out.flush()
            shown = self.describe_variables()
        except MemoryError:
            self._space = {**self._given}
            error = "memory"
            said = said or "MemoryError: the variables did not fit and were dropped"
        done = {"op": "done", "error": error, "stderr": plain_text(said), "vars": shown}
        self._send({**done, "cut": self._out.cut})

    def _compile(self, code: str, name: str) -> Any:
        if len(code) > self._code_chars:
            raise BlockRefused(
                f"the block has {len(code):,} characters, over the limit of {self._code_chars:,}:"
                " split it"
            )
        try:
            tree = ast.parse(code, name)
            if not self._language:
                return compile(tree, name, "exec")
            measure(tree)
            errors: list[str] = []
            tree = Policy(errors, [], {}).visit(Rename().visit(tree))
            if errors:
                raise BlockRefused("not allowed here: " + "; ".join(dict.fromkeys(errors)))
            return compile(tree, name, "exec", dont_inherit=True)
        except SyntaxError as exc:
            line = (exc.text or "").rstrip()
            shown = f"\n    {line}" if line else ""
            raise BlockRefused(f"SyntaxError: {exc.msg} (line {exc.lineno}){shown}") from None
        except TooLarge as exc:
            raise BlockRefused(str(exc)) from None
        except (RecursionError, MemoryError, ValueError, OverflowError) as exc:
            raise BlockRefused(f"the block cannot be read: {exc or type(exc).__name__}") from None

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        self._interrupted = True
        if self._running:
            raise Interrupted

    def _trace(self, error: BaseException) -> str:
        """The traceback as the code's author needs it: lines of the blocks, none of ours."""
        lines: list[str] = []
        trace: TracebackType | None = error.__traceback__
        while trace is not None and len(lines) < 40:
            code = trace.tb_frame.f_code
            source = self._sources.get(code.co_filename)
            if source is not None:
                at = trace.tb_lineno
                lines.append(f"  {code.co_filename} line {at}, in {code.co_name}")
                if 0 < at <= len(source):
                    lines.append(f"    {source[at - 1].strip()[:200]}")
            trace = trace.tb_next
        with contextlib.suppress(Exception):
            text = str(error)[:2_000].replace(f"'{PRIVATE}", "'_")
            named = type(error).__name__ + (f": {text}" if text else "")
            return "\n".join(["Traceback:", *lines, named])
        return f"{type(error).__name__} (it could not be shown)"

    # -- variables ---------------------------------------------------------------------------------

    def _user_values(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in self._space.items()
            if not name.startswith("_") and not (name in self._given and self._given[name] is value)
        }

    def _tidy(self) -> None:
        for name in [name for name in self._space if name.startswith("_tmp")]:
            del self._space[name]
        if self._language:
            for name, value in self._given.items():  # a block may hide a tool, but not a guard
                if name.startswith("_") and self._space.get(name) is not value:
                    self._space[name] = value

    def describe_variables(self) -> dict[str, str]:
        values = self._user_values()
        shown = list(values.items())[:NAMES_SHOWN]
        return {plain_text(display_name(name)): plain_text(_short(value)) for name, value in shown}

    def _tell(self, name: str) -> None:
        values, name = self._user_values(), private_name(name)
        if name not in values:
            self._send({"op": "missing"})
            return
        try:
            data = self._to_wire(values[name])
        except (TypeError, ValueError, RecursionError, MemoryError):
            data = plain_text(_short(values[name]))
        self._send({"op": "value", "value": data})


def _short(value: Any) -> str:
    """What a value is, in a few words. No method of the code's is called."""
    kind = type(value)
    if value is None or kind in (bool, float):
        return repr(value)
    if kind is int:
        return repr(value) if value.bit_length() < 200 else f"int of {value.bit_length()} bits"
    if kind is str:
        return repr(value) if len(value) <= _SHORT else f"str of {len(value)} characters"
    if kind in (HostText, HostRows, Rows):
        return repr(value)
    if kind in (list, tuple, set, frozenset, dict, bytes, bytearray):
        return f"{kind.__name__} of {len(value)}"
    return kind.__name__


def _end() -> NoReturn:
    os._exit(0)


def main() -> None:
    """Take the pipes as descriptors 0 and 1, and serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    given = os.dup(1)
    taken = os.dup(0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (kernel.WORKER_CPU_S, kernel.WORKER_CPU_S))
    try:
        worker = CodeWorker(taken, given)
    except Exception as exc:
        failed = {"op": "failed", "error": f"{type(exc).__name__}: {exc}"[:2_000]}
        frames.write_all(given, frames.encode(failed, 1 << 20))
        _end()
    gc.freeze()
    gc.enable()
    worker.serve()
