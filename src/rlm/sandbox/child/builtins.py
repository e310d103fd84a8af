"""The built-in names of model-written code, and its `print`."""

from __future__ import annotations

import builtins
import time
from collections.abc import Callable
from typing import Any

from rlm.sandbox.child import guards, modules
from rlm.sandbox.child.policy import words
from rlm.sandbox.child.rows import Rows
from rlm.sandbox.child.texts import HostText

FLUSH_CHARS = 16_384
FLUSH_S = 0.2
_TAKEN = words("""
    abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter
    float format frozenset hash hex id int isinstance issubclass iter list map max min next
    object oct ord pow property range repr reversed round set slice sorted staticmethod classmethod
    str sum tuple zip True False None Ellipsis NotImplemented
    ArithmeticError AssertionError AttributeError BufferError ConnectionError DeprecationWarning
    EOFError Exception FileNotFoundError FloatingPointError IOError ImportError IndentationError
    IndexError KeyError KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError
    NotImplementedError OSError OverflowError PermissionError RecursionError RuntimeError
    StopAsyncIteration StopIteration SyntaxError SystemExit TimeoutError TypeError UnboundLocalError
    UnicodeDecodeError UnicodeEncodeError UnicodeError UserWarning ValueError Warning
    ZeroDivisionError
""")


class Out:
    """What the code prints: up to a limit it is passed on now and then, the rest is counted."""

    def __init__(self, limit: int, send: Callable[[str], None]) -> None:
        self._limit, self._send = limit, send
        self._parts: list[str] = []
        self._waiting = 0
        self._left = limit
        self._last = time.monotonic()
        self.cut = 0

    def start(self) -> None:
        self._parts, self._waiting, self._left, self.cut = [], 0, self._limit, 0
        self._last = time.monotonic()

    def write(self, text: str) -> None:
        if self._left < len(text):
            self.cut += len(text) - self._left
            text = text[: self._left]
        if text:
            self._left -= len(text)
            self._parts.append(text)
            self._waiting += len(text)
            if self._waiting >= FLUSH_CHARS or time.monotonic() - self._last > FLUSH_S:
                self.flush()

    def flush(self) -> None:
        if self._parts:
            text = "".join(self._parts)
            self._parts, self._waiting = [], 0
            for start in range(0, len(text), 100_000):
                self._send(text[start : start + 100_000])
        self._last = time.monotonic()


def make_builtins(out: Out, user_names: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The dictionary that stands for `__builtins__`."""

    def write(
        *values: Any,
        sep: str | None = " ",
        end: str | None = "\n",
        file: Any = None,
        flush: bool = False,
    ) -> None:
        """`print`: a text on the host shows itself as a handle, rows as the first of them."""
        if not all(each is None or type(each) is str for each in (sep, end)):
            raise TypeError("sep and end are text")
        text = (" " if sep is None else sep).join(map(_show, values))
        text += "\n" if end is None else end
        if file is None:
            out.write(text)
        else:
            guards.guarded_getattr(file, "write")(text)

    def names(*value: Any) -> list[str]:
        return guards.names_of(value[0]) if value else sorted(user_names())

    def vars_(*value: Any) -> dict[str, Any]:
        return guards.vars_of(value[0]) if value else user_names()

    made = {name: getattr(builtins, name) for name in _TAKEN}
    made |= {
        "print": write,
        "type": _type,
        "isinstance": _is_instance,
        "len": guards.length,
        "getattr": guards.guarded_getattr,
        "hasattr": guards.guarded_hasattr,
        "setattr": guards.guarded_setattr,
        "delattr": guards.guarded_delattr,
        "vars": vars_,
        "dir": names,
        "globals": user_names,
        "locals": user_names,
        "open": _refuse(
            "there are no files in the sealed REPL: use its variables, SHOW_VARS(), and its tools"
        ),
        "input": _refuse("there is no input in the sealed REPL"),
        "exit": _leave,
        "quit": _leave,
        "__import__": modules.importer,
        "__build_class__": builtins.__build_class__,
        "__debug__": True,
    }
    return made


def _show(value: Any) -> str:
    if isinstance(value, Rows):
        return value._shown()
    return repr(value) if isinstance(value, HostText) and value.is_shut else str(value)


def _type(value: Any, *more: Any) -> Any:
    if more:
        raise TypeError("type() takes one value here: use a class statement")
    return guards.type_of(value)


def _is_instance(value: Any, kinds: Any) -> bool:
    """`isinstance`, for which a text on the host is a string."""
    many = kinds if isinstance(kinds, tuple) else (kinds,)
    plain = tuple(kind for kind in many if not isinstance(kind, guards.TypeName))
    named = any(kind.fits(value) for kind in many if isinstance(kind, guards.TypeName))
    return named or isinstance(value, plain) or (isinstance(value, HostText) and str in plain)


def _refuse(what: str) -> Callable[..., Any]:
    def function(*_: Any, **__: Any) -> Any:
        raise PermissionError(what)

    return function


def _leave(*_: Any) -> None:
    raise SystemExit
