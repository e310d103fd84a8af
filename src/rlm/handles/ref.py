"""What stands for a payload where the payload itself may not go.

A `Ref` names a whole payload, a `View` a passage of one. Neither shows any of it when printed: what
is printed in the REPL is what the model reads next. `prev` is there for whoever asks for it by
name.

>>> Ref("results_0", "results", 3000, "?item ?label")
Ref('results_0', results, 3000 chars)
>>> View("context_0", 100, 5000)
View('context_0', 100:5000, 4900 chars)
"""

from __future__ import annotations

from dataclasses import dataclass

KEY_CHARS = 200
DTYPE_CHARS = 48
PREVIEW_CHARS = 80


@dataclass(frozen=True, slots=True, repr=False)
class Ref:
    """A handle: its key, its kind, its size in characters, its first 80 on one line."""

    key: str
    dtype: str
    sz: int
    prev: str

    def __repr__(self) -> str:
        return f"Ref({self.key!r}, {self.dtype}, {self.sz} chars)"

    __str__ = __repr__


@dataclass(frozen=True, slots=True, repr=False)
class View:
    """The characters `start` to `stop` of a payload, as far as it has them."""

    key: str
    start: int
    stop: int

    def __repr__(self) -> str:
        return (
            f"View({self.key!r}, {self.start}:{self.stop}, {max(0, self.stop - self.start)} chars)"
        )

    __str__ = __repr__


def is_key(value: object) -> bool:
    """Whether this can be a key: short, printable, and free of the brackets of marks."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= KEY_CHARS
        and value.isprintable()
        and "\u27e6" not in value
        and "\u27e7" not in value
    )


def preview(head: str) -> str:
    """The first 80 characters of a text on one line, without what a terminal could obey."""
    shown = "".join(char if char.isprintable() else " " for char in head)
    return " ".join(shown.split())[:PREVIEW_CHARS]
