"""What both engines need: values as plain data, and the words for what went wrong."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from rlm.errors import RLMError


class Closing:
    """What both engines do when they are no longer needed. `_kill` ends the worker."""

    _known: dict[str, str]

    def _kill(self) -> object:
        raise NotImplementedError

    def close(self) -> None:
        """End the worker. A closed REPL can be closed again and starts anew when it is used."""
        self._kill()
        self._known = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self._kill()


LOST = "the REPL was started anew and its variables are lost"
TOOL_FAULTS = (RLMError, ValueError, TypeError, LookupError, ArithmeticError, OSError)
"""What a tool may raise to speak to the code that called it. Anything else is a fault of ours, and
masked."""


def wired(value: Any, to_wire: Callable[[Any], Any], depth: int = 0) -> Any:
    """A value of the host's as plain data; TypeError for what has no such form."""
    value = to_wire(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return plain_text(value)
    if depth > 100:
        raise ValueError("a value for the sandbox is nested too deep")
    if isinstance(value, dict):
        return {
            plain_text(str(key)): wired(part, to_wire, depth + 1) for key, part in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [wired(part, to_wire, depth + 1) for part in value]
    raise TypeError(f"a {type(value).__name__} cannot go into the sandbox")


def unwired(value: Any, from_wire: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        made = from_wire(value)
        if made is not value:
            return made
        return {key: unwired(part, from_wire) for key, part in value.items()}
    if isinstance(value, list):
        return [unwired(part, from_wire) for part in value]
    return value


def plain_text(text: str) -> str:
    """Without lone surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text
