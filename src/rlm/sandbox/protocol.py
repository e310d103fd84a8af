"""What a sandbox worker may say. A message of no known kind, with a field too many or of the wrong
type, ends the worker."""

from __future__ import annotations

from typing import Any

from rlm.frames import BrokenFrame
from rlm.worker import parse_message

MAX_LOCALS = 400
PROTOCOL_BROKEN = "it broke the protocol"

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
