"""Payloads behind keys: a prompt and the sandbox hold a `Ref`, the host holds what it stands for.

The leakage meter lives here too, because it counts what gets past the handles.
"""

from rlm.handles.payload import Payload, decode
from rlm.handles.store import Ref, Store, View
from rlm.handles.wire import Meter, expand, from_wire, mark, reader, to_wire

__all__ = [
    "Meter",
    "Payload",
    "Ref",
    "Store",
    "View",
    "decode",
    "expand",
    "from_wire",
    "mark",
    "reader",
    "to_wire",
]
