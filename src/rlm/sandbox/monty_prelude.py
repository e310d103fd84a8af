"""What the monty engine runs before any block, and what it does to handles on their way in and out.

A text comes into the sandbox as a `str`, and goes back to the host as the handle that it was. None
of monty's operators can wait for the host, so a text that is too long to be held has methods only.
A result comes in with its rows; its class is the first engine's own (`rows.Rows`). Monty's `len()`
asks no `__len__`, so there is a `len` of ours.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from rlm.errors import SandboxError
from rlm.frames import plain_text
from rlm.sandbox.child.rows import Rows
from rlm.sandbox.engine import TOOL_FAULTS, to_plain

SLICE_CHARS = 20_000
"""As in the first engine: a longer text goes to a tool as a handle, not as its characters."""
TEXT_TOOLS = ("text.read", "text.find", "text.count")
MONTY_NOTE = """\
The REPL's Python is a small one: no `yield`, `del`, `@property`, decorated methods or \
inheritance, and few modules (`re`, `json`, `math`, `datetime`, `collections` and some more).
`context` and the texts that tools return are plain strings: print parts of them, not all.
A result without rows counts as true, and so does a false ASK: write `if len(r):`, and `if \
sparql_query(ask)["boolean"]:`.
A text of very many characters is not held in the REPL, and an error says so: use only \
`len(context)`, `context.read(a, b)`, `context.find(x, a, b)` and `context.count(x)` on it. Call \
these and the tools in plain loops, not inside a function that is given to `map`, `filter` or \
`sorted`. `SHOW_VARS()` knows the variables of earlier blocks.
"""
"""For the system prompt of a run in this engine."""

_TEXTS = """
def _rlm_make_texts(type, len, str, list, dict):
    def place_of(at, size, default):
        if at is None:
            return default
        at = at + size if at < 0 else at
        return 0 if at < 0 else size if at > size else at
    class Text:
        def __init__(self, ref):
            self.key, self.dtype, self.sz = ref["key"], ref["dtype"], ref["stop"] - ref["start"]
            self._start, self._stop = ref["start"], ref["stop"]
        def __repr__(self):
            return f"Ref({self.key!r}, {self.dtype}, {self.sz} chars)"
        def __getitem__(self, place):
            raise ValueError(
                f"the text has {self.sz:,} characters and is not held in the REPL: "
                "use .read(start, stop), .find(x) and .count(x) on it, "
                "and work on what read() gives"
            )
        def __str__(self):
            return self[0]
        def __contains__(self, needle):
            return self[0]
        def __iter__(self):
            return self[0]
        def read(self, start=None, stop=None):
            start, stop = place_of(start, self.sz, 0), place_of(stop, self.sz, self.sz)
            parts = []
            while start < stop:
                place = [self.key, self._start + start, self._start + stop]
                part = _rlm_call("text.read", place, {})[0]
                if not part:
                    break
                parts.append(part)
                start += len(part)
            return "".join(parts)
        def _bounds(self, start, stop):
            first, end = place_of(start, self.sz, 0), place_of(stop, self.sz, self.sz)
            return self._start + first, self._start + end
        def find(self, needle, start=None, stop=None):
            first, end = self._bounds(start, stop)
            at = _rlm_call("text.find", [self.key, needle, first, end], {})[0]
            return at - self._start if at >= 0 else -1
        def count(self, needle, start=None, stop=None):
            first, end = self._bounds(start, stop)
            return _rlm_call("text.count", [self.key, needle, first, end], {})[0]
ROWS
    def made(value):
        if type(value) is list:
            return [made(part) for part in value]
        if type(value) is not dict:
            return value
        ref = value.get("$ref")
        if len(value) == 1 and type(ref) is dict and "rows" in ref:
            return Rows(ref, ref["held"])
        if len(value) == 1 and type(ref) is dict and "stop" in ref:
            return Text(ref)
        return {key: made(part) for key, part in value.items()}
    def length(value, /):
        if type(value) is Rows:
            return value._count
        return value.sz if type(value) is Text else len(value)
    def brief(value):
        if type(value) is Text:
            return repr(value)
        return value._shown() if type(value) is Rows else value
    return Text, Rows, made, length, brief
_rlm_Text, _rlm_Rows, _rlm_made, len, _rlm_brief = _rlm_make_texts(type, len, str, list, dict)
def _rlm_make_print(write, brief):
    def print(*values, sep=" ", end="\\n", file=None, flush=False):
        values = [brief(value) for value in values]
        if file is None:
            write(*values, sep=sep, end=end)
        else:
            write(*values, sep=sep, end=end, file=file)
    return print
print = _rlm_make_print(print, _rlm_brief)
"""

_VALUES = """
ToolError = RuntimeError
_rlm_locals = locals
def _rlm_make(
    type, len, str, repr, list, dict, tuple, set, frozenset, bytes, int, float, bool,
    Text, Rows, made
):
    plain_kinds = (str, int, float, bool, type(None))
    views = ("dict_keys", "dict_values", "dict_items", "range", "deque")
    views += ("list_iterator", "tuple_iterator")
    def plain(value, depth=0):
        kind = type(value)
        if kind in plain_kinds:
            return value
        if kind is Text:
            return {"$ref": {"key": value.key, "start": value._start, "stop": value._stop}}
        if kind is Rows and value.key:
            return {"$ref": {"key": value.key, "start": 0, "stop": value.sz}}
        if depth > 50:
            raise ValueError("a value for a tool is nested too deep")
        if kind is dict or kind.__name__ in ("Counter", "defaultdict", "OrderedDict"):
            named = {str(key): plain(part, depth + 1) for key, part in value.items()}
            if len(named) == 1 and type(named.get("$ref")) is dict:
                raise ValueError(
                    "a dictionary that looks like a handle cannot be given: give the handle itself"
                )
            return named
        if kind in (list, tuple, set, frozenset, Rows) or kind.__name__ in views:
            return [plain(part, depth + 1) for part in value]
        if kind is bytes:
            return value.decode("utf-8", "replace")
        use = "use text, numbers, lists or dictionaries"
        raise TypeError(f"a {kind.__name__} cannot be given to a tool: {use}")
    def short(value):
        kind = type(value)
        if value is None or kind in (bool, float):
            return repr(value)
        if kind is int:
            return repr(value) if -(1 << 200) < value < 1 << 200 else "int of more than 200 bits"
        if kind is str:
            return repr(value) if len(value) <= 120 else f"str of {len(value)} characters"
        if kind in (Text, Rows):
            return repr(value)
        if kind in (list, tuple, set, frozenset, dict, bytes):
            return f"{kind.__name__} of {len(value)}"
        return kind.__name__
    def mine(space, given):
        return {
            name: value
            for name, value in space.items()
            if not name.startswith("_") and not (name in given and given[name] is value)
        }
    def describe(space, given):
        return {name: short(value) for name, value in list(mine(space, given).items())[:200]}
    def get(space, given, name):
        values = mine(space, given)
        if name not in values:
            return None
        try:
            return [plain(values[name])]
        except (TypeError, ValueError, RecursionError):
            return [short(values[name])]
    def use_tool(name, args, words):
        found = _rlm_call(name, [plain(a) for a in args], {w: plain(words[w]) for w in words})
        return made(found[0]) if found[1] else found[0]
    return describe, get, use_tool
_rlm_describe, _rlm_get, _rlm_use_tool = _rlm_make(
    type, _rlm_len, str, repr, list, dict, tuple, set, frozenset, bytes, int, float, bool,
    _rlm_Text, _rlm_Rows, _rlm_made
)
def SHOW_VARS():
    return _rlm_call("SHOW_VARS", [], {})
"""


ROWS = textwrap.indent(inspect.getsource(Rows), "    ")
PRELUDE = "_rlm_len = len\n" + _TEXTS.replace("ROWS\n", ROWS) + _VALUES
TOOL = """
def {name}(*args, **words):
    return _rlm_use_tool({name!r}, args, words)
"""
GIVEN = ("SHOW_VARS", "ToolError", "len", "print")
"""What the prelude defines and the code may use: no variables of the code's."""


class Handles:
    """The handles that one sandbox is given; as texts, where these are short enough."""

    def __init__(self, hidden: Mapping[str, Callable[..., Any]], held_chars: int) -> None:
        self._hidden, self._held_chars = hidden, held_chars
        self._keys: set[str] = set()
        self._places: dict[int, dict[str, Any]] = {}  # by the hash of a text
        self._found = False
        self._room = 0

    def with_text(self, value: Any) -> tuple[Any, bool]:
        """Plain data with texts in place of handles, and whether one is left for `made`."""
        self._found, self._room = False, self._held_chars
        value = self._walk(value)
        return value, self._found

    def without_text(self, value: Any) -> Any:
        """The same on the way back: a long text that came from a handle is that handle again."""
        if isinstance(value, str):
            place = self._places.get(hash(value)) if len(value) > SLICE_CHARS else None
            return value if place is None else {"$ref": place}
        if isinstance(value, list):
            return [self.without_text(part) for part in value]
        if isinstance(value, dict):
            return {key: self.without_text(part) for key, part in value.items()}
        return value

    def serves(self, name: Any, args: Any) -> Callable[..., Any] | None:
        """What is behind a text's methods, for a key that the sandbox was given; else None."""
        if name in TEXT_TOOLS and isinstance(args, list) and args and isinstance(args[0], str):
            return self._hidden.get(name) if args[0] in self._keys else None
        return None

    def _walk(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._walk(part) for part in value]
        if not isinstance(value, dict):
            return value
        ref = value.get("$ref")
        if len(value) == 1 and isinstance(ref, dict) and isinstance(ref.get("key"), str):
            start, stop = ref.get("start", 0), ref["stop"] if "stop" in ref else ref.get("sz")
            if type(start) is int and type(stop) is int and 0 <= start <= stop:
                return self._handle(ref, start, stop)
        return {key: self._walk(part) for key, part in value.items()}

    def _handle(self, ref: dict[str, Any], start: int, stop: int) -> Any:
        if "rows" in ref:
            self._found = True
            return {"$ref": self._result(ref)}
        place = {"key": ref["key"], "start": start, "stop": stop}
        held = self._text(ref["key"], start, stop) if stop - start <= self._room else None
        if held is not None:
            self._room -= len(held)
            if len(held) > SLICE_CHARS:
                self._places[hash(held)] = place
            return held
        self._keys.add(ref["key"])
        self._found = True
        return {"$ref": {**place, "dtype": str(ref.get("dtype", "text"))}}

    def _result(self, ref: dict[str, Any]) -> dict[str, Any]:
        """A result with its rows, where these are few enough; else without."""
        held: list[Any] = []
        while len(held) < ref["rows"] and ref["sz"] <= self._room:
            more = self._ask("rows.page", ref["key"], len(held), ref["rows"])
            if not more:
                break
            held += to_plain(more)
        self._room -= ref["sz"]
        if len(held) < ref["rows"]:
            raise SandboxError(f"{ref['rows']:,} rows do not fit into the REPL: ask for fewer")
        return {**ref, "held": held, "about": self._ask("rows.about", ref["key"])}

    def _text(self, key: str, start: int, stop: int) -> str | None:
        """The characters; None when the host does not give all of them."""
        parts, at = [], start
        while at < stop:
            part = self._ask("text.read", key, at, stop)
            if not isinstance(part, str) or not part:
                return None
            parts.append(plain_text(part))
            at += len(parts[-1])
        return "".join(parts) if at == stop else None

    def _ask(self, name: str, *args: Any) -> Any:
        try:
            return self._hidden[name](*args) if name in self._hidden else None
        except TOOL_FAULTS:  # a handle whose text is gone: using it raises
            return None
