"""The host's end of the pipe to a worker. Nothing that comes through it is believed.

A message that is cut short, too long, no JSON, of no known kind, or with a field too many or of the
wrong type ends the worker: `Stopped` is all that a caller sees.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from typing import Any

import orjson

from rlm.errors import SandboxError
from rlm.frames import HEAD, BrokenFrame, encode, read_now, read_soon

MAX_LOCALS = 400
SEND_S = 5.0
"""How long a worker may leave a message unread."""


class Stopped(Exception):
    """The worker has to go: `kind` is an error of REPLResult, `why` is for the model."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind, self.why = kind, why


class Channel:
    """Messages to and from one worker."""

    def __init__(self, taken: int, given: int, frame_bytes: int) -> None:
        self._taken, self._given, self._frame_bytes = taken, given, frame_bytes
        self._buffer = bytearray()
        self._poll = select.poll()
        self._poll.register(taken, select.POLLIN | select.POLLHUP)
        self._room = select.poll()
        self._room.register(given, select.POLLOUT | select.POLLERR)
        os.set_blocking(given, False)
        os.set_blocking(taken, False)

    def send(self, message: dict[str, Any]) -> None:
        """SandboxError when it is too long, Stopped when nobody reads (any more)."""
        try:
            data = encode(message, self._frame_bytes)
        except BrokenFrame as exc:
            raise SandboxError(f"too much for the sandbox's pipe: {exc}") from exc
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._given, view) :]
            except BlockingIOError:
                if not self._room.poll(int(SEND_S * 1000)):
                    raise Stopped("died", "the worker does not read") from None
            except OSError as exc:
                raise Stopped("died", "the worker is gone") from exc

    def receive(self, until: float, on_late: Callable[[], float] | None = None) -> dict[str, Any]:
        """One message, checked. `on_late` may give more time, once."""
        while True:
            message = self._take()
            if message is not None:
                return message
            left = until - time.monotonic()
            if left <= 0 or not self._more(left):
                if on_late is None:
                    raise Stopped("timeout", "the worker did not answer in time")
                until, on_late = on_late(), None

    @property
    def waiting(self) -> bool:
        """Whether something came after the last message. Between a call and its answer nothing may."""
        return bool(self._buffer)

    def _more(self, wait_s: float) -> bool:
        """Read what there is. A worker that was answered is back in no time: to sleep and be woken
        takes longer."""
        data = read_soon(self._taken)
        if data is None:
            if not self._poll.poll(max(1, int(min(wait_s, 1e6) * 1000))):
                return False
            data = read_now(self._taken)
        if data is None:
            return True
        if not data:
            raise Stopped("died", "the worker ended")
        self._buffer += data
        return True

    def _take(self) -> dict[str, Any] | None:
        if len(self._buffer) < HEAD.size:
            return None
        (size,) = HEAD.unpack_from(self._buffer)
        if size > self._frame_bytes:
            raise Stopped("died", f"the worker sent a message of {size:,} bytes")
        if len(self._buffer) < HEAD.size + size:
            return None
        body = bytes(self._buffer[HEAD.size : HEAD.size + size])
        del self._buffer[: HEAD.size + size]
        return checked(body)


_SHAPES: dict[str, dict[str, tuple[type, ...]]] = {
    "ready": {"layers": (list,)},
    "failed": {"error": (str,)},
    "ok": {},
    "missing": {},
    "out": {"text": (str,)},
    "call": {"name": (str,), "args": (list,), "words": (dict,)},
    "done": {
        "error": (str, type(None)),
        "stderr": (str,),
        "vars": (dict,),
        "cut": (int,),
        "seconds": (float, int),
    },
    "vars": {"vars": (dict,)},
    "value": {"value": (object,), "plain": (bool,)},
}
_ERRORS = (None, "error", "refused", "timeout", "memory")


def checked(body: bytes) -> dict[str, Any]:
    """A message with every field that its kind has and none else; Stopped when it is none."""
    try:
        message: dict[str, Any] = orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise Stopped("died", "the worker sent something that is no message") from exc
    shape = (
        _SHAPES.get(message.get("op", ""))
        if isinstance(message, dict) and isinstance(message.get("op"), str)
        else None
    )
    if shape is None or set(message) != {"op", *shape}:
        raise Stopped("died", "the worker broke the protocol")
    for name, kinds in shape.items():
        if not isinstance(message[name], kinds):
            raise Stopped("died", "the worker broke the protocol")
    if "vars" in message:
        shown = list(message["vars"].items())[:MAX_LOCALS]
        if not all(isinstance(text, str) for _, text in shown):
            raise Stopped("died", "the worker broke the protocol")
        message["vars"] = {name[:200]: text[:300] for name, text in shown}
    if message["op"] == "done":
        if message["error"] not in _ERRORS or not message["cut"] >= 0:
            raise Stopped("died", "the worker broke the protocol")
        message["stderr"] = message["stderr"][:20_000]
    return message
