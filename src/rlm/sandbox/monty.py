"""The second engine: model-written code in monty, an interpreter that has no way to the machine.

Monty (the package pydantic-monty) runs in a worker process of its own with an empty
environment, so that a panic costs a worker and not the host. It knows less Python than the first
engine: no inheritance, `@property`, `yield` or `del`, and fewer modules. Code that uses these is
refused with a message that names them.

What differs from the first engine:

- `ToolError` is another name for RuntimeError, for monty has no classes of errors of one's own.
- A text on the host comes in as a `str`, as long as it is a small part of the memory. Operators
  cannot call the host here; a longer text has `read`, `find` and `count` alone (see
  `monty_prelude`, also for the prompt).
- Monty does not guarantee its memory after a time-out, so the worker is discarded. Before each
  block its state is saved, if that is quick, and the worker that replaces it continues from there;
  then `restarted` is not set.

A turn of the worker's is awaited in a thread, because waiting inside the package would hold up
ctrl-C. Tools run in the thread that called `run`. The worker counts its own time too, so that it
ends when the host is gone.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from rlm.errors import SandboxError
from rlm.frames import BrokenFrame, encode, plain_text
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
from rlm.sandbox.monty_prelude import GIVEN, PRELUDE, TOOL, Handles
from rlm.worker import CANCEL_CHECK_S, check_cancelled

ASIDE_S = 20.0
"""How long a question outside of any block may take."""
SAVED_BYTES = 64 << 20
QUICK_S = 0.1
"""A worker whose state once took longer to save is not saved any more."""
OVER = "stopped: the time of this block is over"
END = "\n\npass"
"""Follows a block, else the value of its last expression would be carried over to the host."""
HELD_SHARE = 32
"""The memory in bytes, divided by this, is the length of the longest text held in the sandbox."""
_CALL = "_rlm_call"
_UNKNOWN = "The monty syntax parser does not yet support "
_GONE = "the worker exceeded its memory limit"
_NO_WAIT = "cannot suspend in this synchronous context"
_OVERTIME = ("feed time limit exceeded", "turn time limit exceeded")
_PRELUDE_FILE = "<python-input-0>"


class MontyRepl(Repl):
    """A REPL whose code runs in monty."""

    engine = "monty"

    def __init__(
        self, surroundings: Surroundings | None = None, limits: SandboxLimits | None = None
    ) -> None:
        self._session: Any = None
        super().__init__(surroundings, limits)
        self._handles = Handles(self._given.hidden, (self.limits.memory_mb << 20) // HELD_SHARE)
        for name in self._given.tools:
            if not name.isidentifier():
                raise SandboxError(
                    f"{name!r} is not a valid tool name: use letters, digits and underscores"
                )
        self._monty = _import_monty()
        self._start()

    # -- life --------------------------------------------------------------------------------------

    def _start(self, saved: bytes | None = None) -> None:
        """A fresh worker, with what was saved or with what the host had set."""
        self._may_save = True
        limits = {
            "max_feed_duration_secs": self.limits.block_s,
            "max_memory": self.limits.memory_mb << 20,
            "max_suspensions": 1 << 31,  # calls are counted here, by block
        }
        self._thread = ThreadPoolExecutor(1, "rlm-monty")
        try:
            self._pool = self._monty.Monty(max_processes=1, checkout_timeout=ASIDE_S)
            self._pool.__enter__()
            # a sleep would not count as time, so it returns at once
            session = self._pool.checkout(limits=limits, os_policy={"sleep": "zero"})
            session.__enter__()
        except (OSError, RuntimeError, self._monty.MontyError) as exc:
            self._thread.shutdown()
            raise SandboxError(f"the sandbox's worker (monty) cannot be started: {exc}") from exc
        self._session, self._pid = session, session.worker_pid
        try:
            if saved is not None:
                self._turn(lambda: session.load_session(saved), time.monotonic() + ASIDE_S)
                return
            names = [*self._given.tools, *GIVEN]
            code = PRELUDE + "".join(TOOL.format(name=name) for name in self._given.tools)
            self._aside(
                f"{code}\n_rlm_given = {{{', '.join(f'{name!r}: {name}' for name in names)}}}"
            )
            for name, data in self._set.items():
                self._aside(*self._write_setter(name, data))
        except (Stopped, self._monty.MontyError) as exc:
            self._kill()
            raise SandboxError(f"the sandbox's worker (monty) did not start: {exc}") from exc

    def _alive(self) -> Any:
        if self._session is None:
            self._start()
        return self._session

    def _kill(self) -> None:
        session, self._session = self._session, None
        if session is None:
            return
        if self._pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self._pid, signal.SIGKILL)
        self._thread.shutdown()
        for held in (session, self._pool):
            with contextlib.suppress(RuntimeError, self._monty.MontyError):
                held.__exit__(None, None, None)

    def _save(self) -> bytes | None:
        """The worker's state, or None when saving it takes too long or too much."""
        if not self._may_save:
            return None
        before = time.monotonic()
        try:
            state: bytes = self._turn(self._session.dump, before + ASIDE_S)
        except self._monty.MontyRuntimeError:
            return None
        self._may_save = time.monotonic() - before <= QUICK_S
        return state if len(state) <= SAVED_BYTES else None

    # -- turns -------------------------------------------------------------------------------------

    def _turn(self, step: Callable[[], Any], until: float) -> Any:
        """What the worker answers; Stopped when it is late or gone, else what the code raised."""
        future: Future[Any] = self._thread.submit(step)
        try:
            while not future.done() and (left_s := until - time.monotonic()) > 0:
                check_cancelled()
                wait([future], min(left_s, CANCEL_CHECK_S))
            if not future.done():
                raise Stopped("timeout", OVER)
            return future.result()
        except self._monty.MontyCrashedError as exc:
            if exc.timed_out:
                raise Stopped("timeout", OVER) from exc
            raise Stopped("died", "the worker ended (a fault of the interpreter)") from exc
        except self._monty.MontyRuntimeError as exc:
            said = str(exc.exception())
            if said.startswith(_OVERTIME):
                raise Stopped("timeout", OVER) from exc
            if said.startswith(_GONE):
                raise Stopped(
                    "memory", f"MemoryError: {self.limits.memory_mb} MB do not hold it all"
                ) from exc
            raise

    def _aside(self, code: str, inputs: dict[str, Any] | None = None) -> Any:
        """Code of ours, outside of any block. It cannot call the host."""
        session = self._session
        return self._turn(
            lambda: session.feed_run(code, inputs=inputs, print_callback=_nowhere),
            time.monotonic() + ASIDE_S,
        )

    def _ask(self, code: str, inputs: dict[str, Any] | None = None) -> Any:
        self._alive()
        try:
            return self._aside(code, inputs)
        except (Stopped, self._monty.MontyError) as exc:
            self._lose()
            raise SandboxError(f"the sandbox's worker was lost: {exc}") from exc

    # -- running -----------------------------------------------------------------------------------

    def run(self, code: str, *, deadline: float | None = None) -> REPLResult:
        lost, self._lost = self._lost, False
        self._alive()
        self._blocks += 1
        block = self._new_block(deadline)
        if len(code) > self.limits.code_chars:
            most = self.limits.code_chars
            why = f"the block has {len(code):,} characters, over the limit of {most:,}: split it"
            return self._result(block, "refused", why, lost)
        saved = None
        try:
            saved = self._save()
            block = self._new_block(deadline)
            error, said = self._serve(block, code)
            self._known = self._describe()
        except Stopped as exc:
            return self._result(block, exc.kind, f"{exc.why}; {self._replace(saved)}", lost)
        except BaseException:  # ctrl-C, or a fault of ours: the worker's state is unknown
            self._lose()
            raise
        return self._result(block, error, said, lost)

    def _replace(self, saved: bytes | None) -> str:
        """Discard the worker; says what became of the variables."""
        self._kill()
        if saved is not None:
            with contextlib.suppress(SandboxError):
                self._start(saved)
                return "the variables are as they were before this block"
        self._lose()
        return LOST

    def _serve(self, block: RunningBlock, code: str) -> tuple[str | None, str]:
        """Answer the worker until the block is done: its error, and what to say of it."""
        code = plain_text(code)
        session, monty = self._session, self._monty

        def take(stream: str, text: str) -> None:
            kept = text[: block.room]
            block.output.append(kept)
            block.room -= len(kept)
            block.cut += len(text) - len(kept)

        def start() -> Any:
            return session.feed_start(code + END, print_callback=take)

        try:
            at = self._turn(start, block.until())
            while not isinstance(at, monty.MontyComplete):
                at = self._turn(self._step(block, at), block.until())
        except monty.MontySyntaxError as exc:
            return "refused", _syntax_error(exc, code)
        except monty.MontyRuntimeError as exc:
            return self._blame(exc)
        return None, ""

    def _blame(self, error: Any) -> tuple[str | None, str]:
        """What went wrong in the code."""
        inner = error.exception()
        if isinstance(inner, SystemExit | KeyboardInterrupt):
            return None, ""
        if isinstance(inner, NotImplementedError) and str(inner).startswith(_UNKNOWN):
            what = str(inner).removeprefix(_UNKNOWN)
            at = error.traceback()[-1:]
            line = (
                f" (line {at[0].line})\n    {(at[0].source_line or '').strip()[:200]}" if at else ""
            )
            return "refused", f"not supported here: {what}; write it another way{line}"
        if isinstance(inner, MemoryError):
            return "memory", _trace(error)
        if isinstance(inner, NotImplementedError) and str(inner).endswith(_NO_WAIT):
            said = (
                "a tool cannot be called from a function that is given to map, filter, sorted"
                " or similar"
            )
            return (
                "error",
                f"{_trace(error).rpartition(chr(10))[0]}\nRuntimeError: {said}: use a plain loop",
            )
        return "error", _trace(error)

    def _step(self, block: RunningBlock, at: Any) -> Callable[[], Any]:
        """What resumes the worker after what it asks for."""
        monty = self._monty
        if isinstance(at, monty.NameLookupSnapshot):
            return at.resume  # type: ignore[no-any-return]
        if not isinstance(at, monty.FunctionSnapshot):
            raise Stopped("died", "the worker asked for something unknown")
        if at.is_os_function:
            return at.resume_not_handled  # type: ignore[no-any-return]
        if at.function_name != _CALL:
            answer = {
                "exc_type": "NameError",
                "message": f"name {at.function_name!r} is not defined",
            }
        else:
            answer = self._answer(block, at.args)
        if time.monotonic() >= block.until():
            raise Stopped("timeout", OVER)
        return lambda: at.resume(answer)

    def _answer(self, block: RunningBlock, call: Any) -> dict[str, Any]:
        """What a tool returns or what went wrong, in monty's form."""
        name, args, words = call if len(call) == 3 else ("", [], {})
        if name == "SHOW_VARS":
            return {"return_value": dict(self._known)}
        tool = self._given.tools.get(name) if isinstance(name, str) else None
        tool = tool or self._handles.serves(name, args)
        if tool is None or not isinstance(args, list) or not isinstance(words, dict):
            return _raise_answer(f"there is no tool {str(name)[:80]!r}")

        def run() -> Any:
            given, named = self._to_host([args, words])
            found = self._check_size(self._run_tool(tool, given, named))
            return self._handles.with_text(found)

        value, fault = self._call(block, name, run)
        return {"return_value": value} if fault is None else _raise_answer(fault)

    def _to_host(self, value: Any) -> Any:
        return self._check_size(self._handles.without_text(to_plain(value)))

    def _check_size(self, value: Any) -> Any:
        """The value, unless it is more than may cross."""
        try:
            encode({"value": value}, self.limits.frame_bytes)
        except BrokenFrame as exc:
            raise SandboxError(f"too much for the sandbox's pipe: {exc}") from exc
        return value

    # -- variables ---------------------------------------------------------------------------------

    def set(self, name: str, value: Any) -> None:
        check_variable_name(name)
        data = self._check_size(to_plain(self._given.to_wire(value)))
        self._ask(*self._write_setter(name, data))
        self._set[name] = data

    def _write_setter(self, name: str, data: Any) -> tuple[str, dict[str, Any]]:
        """Code that gives the variable its value, and its input."""
        value, handles = self._handles.with_text(data)
        return (f"{name} = _rlm_made({name})\npass" if handles else "pass"), {name: value}

    def get(self, name: str) -> Any:
        found = self._ask(
            "_rlm_get(_rlm_locals(), _rlm_given, _rlm_name)",
            {"_rlm_name": plain_text(str(name))[:500]},
        )
        if not isinstance(found, list) or len(found) != 1:
            raise self._missing_variable(name, self.variables())
        return self._given.from_wire(self._to_host(found[0]))

    def variables(self) -> dict[str, str]:
        self._alive()
        try:
            self._known = self._describe()
        except Stopped as exc:
            self._lose()
            raise SandboxError(f"the sandbox's worker was lost: {exc.why}") from exc
        return dict(self._known)

    def _describe(self) -> dict[str, str]:
        try:
            found = self._aside("_rlm_describe(_rlm_locals(), _rlm_given)")
        except self._monty.MontyRuntimeError as exc:
            if isinstance(exc.exception(), MemoryError):
                raise Stopped("memory", "MemoryError: the variables do not fit") from exc
            return dict(self._known)  # the code broke our helpers, which it has to live with
        if not isinstance(found, dict):
            return dict(self._known)
        return {
            plain_text(str(name))[:200]: plain_text(str(text))[:300]
            for name, text in list(found.items())[:MAX_LOCALS]
        }


def _import_monty() -> Any:
    try:
        return importlib.import_module("pydantic_monty")
    except ImportError as exc:
        raise SandboxError(f"the engine 'monty' is not installed: {INSTALL_MONTY}") from exc


def _raise_answer(message: str) -> dict[str, Any]:
    return {"exc_type": "RuntimeError", "message": message}


def _nowhere(stream: str, text: str) -> None:
    """Drops the output of our own code."""


def _syntax_error(error: Any, code: str) -> str:
    """The syntax error of the code with its line; lines that we appended are not shown."""
    lines = code.split("\n")
    at = error.traceback()[-1:]
    if not at or at[0].filename == "main.py":  # monty gives the place only when it read that far
        return f"SyntaxError: {str(error.exception())[:500]}"
    if at[0].line > len(lines):
        missing = f"something is missing at the end (line {len(lines)})"
        return f"SyntaxError: {missing}\n    {lines[-1][:200]}"
    return (
        f"SyntaxError: {str(error.exception())[:500]} (line {at[0].line})\n   "
        f" {lines[at[0].line - 1][:200]}"
    )


def _trace(error: Any) -> str:
    """The traceback as the code's author needs it: lines of the blocks, none of ours."""
    lines = []
    for frame in [frame for frame in error.traceback() if frame.filename != _PRELUDE_FILE][:40]:
        lines.append(f"  line {frame.line}, in {frame.function_name or '<module>'}")
        if frame.source_line:
            lines.append(f"    {frame.source_line.strip()[:200]}")
    return "\n".join(["Traceback:", *lines, error.display("type-msg")[:2_000]])
