"""What the monty engine runs before any block, and what it does to values and code on their way in.

Monty has classes, but not all of what a text needs. Its `len()` asks no `__len__`, so there is a
`len` of ours. None of its operators can wait for the host, so a text comes into the sandbox with
its characters: `context[:80]` and `"x" in context` work on these. A text that is too long for that
has only methods, which ask the host. The functions of `re` take strings alone, so `import re` is
followed by a stand-in that takes texts too. A result comes in with its rows; its class is the first
engine's own (`rows.Rows`). What it cannot do here is in `MONTY_NOTE`.
"""

from __future__ import annotations

import inspect
import io
import textwrap
import tokenize
from collections.abc import Sequence
from itertools import takewhile

from rlm.sandbox.child.rows import Rows

SLICE_CHARS = 20_000
"""As in the first engine: up to this a slice is a string, and a text is shown and formatted as its
characters."""
TEXT_TOOLS = ("text.read", "text.find", "text.count", "text.mark")
MONTY_NOTE = """\
The REPL's Python is a small one: no `yield`, `del`, `@property`, decorated methods or \
inheritance, and few modules (`re`, `json`, `math`, `datetime`, `collections` and some more).
`context` and the texts that tools return are no `str`, but work like one: `len(context)`, \
`context[a:b]`, `x in context`, `.find`, `.count`, `.lower()`, `.split`, `.splitlines`, loops, \
f-strings, and the functions of `re`. Where a real `str` is needed (`json.loads`, `"".join`) use \
`context.read()` or `context.read(a, b)`.
A result without rows counts as true: write `if len(r):`.
A text of very many characters is not held in the REPL, and an error says so: use only \
`context.read(a, b)`, `context.find(x, a, b)` and `context.count(x)` on it. Call these and the \
tools in plain loops, not inside a function that is given to `map`, `filter` or `sorted`.
"""
"""For the system prompt of a run in this engine."""

_DELEGATED = """
    capitalize center encode expandtabs isalnum isalpha isascii isdecimal isdigit isidentifier
    islower isnumeric isprintable isspace istitle isupper join ljust partition removeprefix
    removesuffix replace rfind rindex rjust rpartition rsplit split splitlines startswith
    endswith swapcase title upper zfill
"""
"""Methods that a text hands on to its characters."""
_SEARCHES = ("search", "match", "fullmatch", "findall", "finditer")
_RE_FUNCTIONS = (*_SEARCHES, "sub", "split", "compile", "Pattern")

_TEXTS = """
def _rlm_make_texts(type, len, str, slice, iter, hash, list, range, dict, int):
    most = SLICE_CHARS
    def place_of(at, size, default):
        if at is None:
            return default
        at = at + size if at < 0 else at
        return 0 if at < 0 else size if at > size else at
    class Text:
        def __init__(self, key, start, stop, dtype, prev, held, mark, fold=False):
            self.key, self.dtype, self.sz, self.prev = key, dtype, stop - start, prev
            self._start, self._stop, self._held = start, stop, held
            self._mark, self._fold = mark, fold
        def __repr__(self):
            return shown(self)
        def __str__(self):
            if self._held is not None and (self.sz <= most or not self._mark):
                return self._held
            return self._mark or shown(self)
        def __hash__(self):
            return hash((self.key, self._start, self._stop))
        def __len__(self):
            return self.sz
        def __add__(self, other):
            return str(self) + str(other) if type(other) in (str, Text) else NotImplemented
        def __radd__(self, other):
            return other + str(self) if type(other) is str else NotImplemented
        def __eq__(self, other):
            if type(other) is Text:
                if (self.key, self._start, self._stop) == (other.key, other._start, other._stop):
                    return True
                return self.sz == other.sz and self._held is not None and self._held == other._held
            return type(other) is str and len(other) == self.sz and self._whole() == other
        def _whole(self):
            if self._held is None:
                raise ValueError(
                    f"the text has {self.sz:,} characters and is not held in the REPL: "
                    "use .read(start, stop), .find(x) and .count(x) on it, "
                    "and work on what read() gives"
                )
            return self._held
        def __getitem__(self, place):
            held = self._whole()
            if type(place) is not slice:
                if type(place) is int and not -self.sz <= place < self.sz:
                    raise IndexError(f"the text has {self.sz} characters, so none at {place}")
                return held[place]
            part = held[place]
            if len(part) <= most or place.step not in (None, 1):
                return part
            start = self._start + place_of(place.start, self.sz, 0)
            stop = start + len(part)
            head, found, tail = self._mark.rpartition(f":{self._start}:{self._stop}:")
            mark = f"{head}:{start}:{stop}:{tail}" if found else ""
            return Text(self.key, start, stop, self.dtype, "", part, mark, self._fold)
        def __contains__(self, needle):
            return plain_needle(needle) in self._whole()
        def __iter__(self):
            return iter(self._whole())
        def chunks(self, size=most):
            if size < 1:
                raise ValueError("chunks have at least one character")
            return [self[start : start + size] for start in range(0, self.sz, size)]
        def read(self, start=None, stop=None):
            start, stop = place_of(start, self.sz, 0), place_of(stop, self.sz, self.sz)
            if self._held is not None:
                return self._held[start:stop]
            parts = []
            while start < stop:
                place = [self.key, self._start + start, self._start + stop]
                part = _rlm_call("text.read", place, {})[0]
                if not part:
                    break
                parts.append(part)
                start += len(part)
            text = "".join(parts)
            return lowered(text) if self._fold else text
        def _bounds(self, start, stop):
            first, end = place_of(start, self.sz, 0), place_of(stop, self.sz, self.sz)
            return self._start + first, self._start + end
        def find(self, needle, start=None, stop=None):
            needle = plain_needle(needle)
            if self._held is not None:
                return self._held.find(needle, start, stop)
            first, end = self._bounds(start, stop)
            at = _rlm_call("text.find", [self.key, needle, first, end, self._fold], {})[0]
            return at - self._start if at >= 0 else -1
        def index(self, needle, start=None, stop=None):
            at = self.find(needle, start, stop)
            if at < 0:
                raise ValueError("substring not found")
            return at
        def count(self, needle, start=None, stop=None):
            needle = plain_needle(needle)
            if self._held is not None or self._fold:
                return self._whole().count(needle, start, stop)
            first, end = self._bounds(start, stop)
            return _rlm_call("text.count", [self.key, needle, first, end], {})[0]
        def lower(self):
            held = self._held
            if held is not None and self.sz <= most:
                return held.lower()
            held = None if held is None else lowered(held)
            start, stop = self._start, self._stop
            return Text(self.key, start, stop, self.dtype, self.prev, held, self._mark, True)
        def casefold(self):
            return self.lower()
        def strip(self, characters=None):
            held = self._whole()
            start = self.sz - len(held.lstrip(characters))
            stop = len(held.rstrip(characters))
            return self[start : stop if stop > start else start]
        def lstrip(self, characters=None):
            return self[self.sz - len(self._whole().lstrip(characters)) :]
        def rstrip(self, characters=None):
            return self[: len(self._whole().rstrip(characters))]
DELEGATED
ROWS
    def shown(text):
        if type(text) is Rows:
            return repr(text)
        where = "" if text._start == 0 else f" from {text._start}"
        return f"Ref({text.key!r}, {text.dtype}, {text.sz} chars{where})"
    def plain_needle(needle):
        if type(needle) is Text:
            return needle._whole()
        if type(needle) is not str:
            raise TypeError(f"a text is searched for text, not {type(needle).__name__}")
        return needle
    def lowered(text):
        lower = text.lower()
        if len(lower) == len(text):
            return lower
        return "".join([c.lower() if len(c.lower()) == 1 else c for c in text])
    def made(value):
        if type(value) is list:
            return [made(part) for part in value]
        if type(value) is not dict:
            return value
        ref = value.get("$ref")
        if len(value) == 1 and type(ref) is dict and "held" in ref and "rows" in ref:
            return Rows(ref, ref["held"])
        if len(value) == 1 and type(ref) is dict and "held" in ref:
            if ref["start"] == ref["stop"]:
                return ""
            key, start, stop, dtype = ref["key"], ref["start"], ref["stop"], ref["dtype"]
            return Text(key, start, stop, dtype, ref["prev"], ref["held"], ref["mark"])
        return {key: made(part) for key, part in value.items()}
    def length(value, /):
        if type(value) is Rows:
            return value._count
        return value.sz if type(value) is Text else len(value)
    def brief(value):
        if type(value) is Rows:
            return value._shown()
        is_shut = type(value) is Text and (value.sz > most or value.dtype == "results")
        return shown(value) if is_shut else value
    return Text, Rows, shown, made, length, brief
_rlm_Text, _rlm_Rows, _rlm_shown, _rlm_made, len, _rlm_brief = _rlm_make_texts(
    type, len, str, slice, iter, hash, list, range, dict, int
)
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

_RE = """
import re as _rlm_real_re
def _rlm_make_re(real, Text, type):
    def subject(value):
        return value._whole() if type(value) is Text else value
    def inner(pattern):
        return pattern._real if type(pattern) is Pattern else subject(pattern)
    class Pattern:
        def __init__(self, real):
            self._real, self.pattern, self.flags = real, real.pattern, real.flags
        def __repr__(self):
            return f"re.compile({self.pattern!r})"
SEARCHES_OF_PATTERN
        def sub(self, repl, string, count=0):
            return self._real.sub(repl, subject(string), count)
        def split(self, string, maxsplit=0):
            return self._real.split(subject(string), maxsplit)
    class Re:
        def __repr__(self):
            return "<module 're'>"
SEARCHES
        def sub(self, pattern, repl, string, count=0, flags=0):
            return real.sub(inner(pattern), repl, subject(string), count, flags)
        def split(self, pattern, string, maxsplit=0, flags=0):
            return real.split(inner(pattern), subject(string), maxsplit, flags)
        def compile(self, pattern, flags=0):
            if type(pattern) is Pattern:
                return pattern
            return Pattern(real.compile(subject(pattern), flags))
    made = Re()
    made.Pattern, made.Match, made.escape = Pattern, real.Match, real.escape
    made.error, made.PatternError = real.error, real.PatternError
    made.I = made.IGNORECASE = real.I
    made.M = made.MULTILINE = real.M
    made.S = made.DOTALL = real.S
    made.A = made.ASCII = real.A
    made.NOFLAG = real.NOFLAG
    return made
_rlm_re = _rlm_make_re(_rlm_real_re, _rlm_Text, type)
"""

_VALUES = """
ToolError = RuntimeError
_rlm_locals = locals
def _rlm_make(
    type, len, str, repr, list, dict, tuple, set, frozenset, bytes, int, float, bool,
    Text, Rows, shown, made, re
):
    plain_kinds = (str, int, float, bool, type(None))
    views = ("dict_keys", "dict_values", "dict_items", "range", "deque")
    views += ("list_iterator", "tuple_iterator")
    def plain(value, depth=0):
        kind = type(value)
        if kind in plain_kinds:
            return value
        if kind is Text:
            if value._fold:
                return str(value)
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
            return shown(value)
        if kind in (list, tuple, set, frozenset, dict, bytes):
            return f"{kind.__name__} of {len(value)}"
        return "module" if kind is type(re) else kind.__name__
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
    _rlm_Text, _rlm_Rows, _rlm_shown, _rlm_made, _rlm_re
)
def SHOW_VARS(space=None):
    found = _rlm_call("SHOW_VARS", [], {})
    if space is not None:
        found.update(_rlm_describe(space, _rlm_given))
    return found
"""


def _methods(names: Sequence[str], takes: str, does: str) -> str:
    return "".join(
        f"        def {n}(self, {takes}):\n            return {does.format(n)}\n" for n in names
    )


_PARTS = {
    "ROWS\n": textwrap.indent(inspect.getsource(Rows), "    "),
    "DELEGATED\n": _methods(
        _DELEGATED.split(), "*args, **words", "self._whole().{}(*args, **words)"
    ),
    "SEARCHES_OF_PATTERN\n": _methods(_SEARCHES, "string", "self._real.{}(subject(string))"),
    "SEARCHES\n": _methods(
        _SEARCHES, "pattern, string, flags=0", "real.{}(inner(pattern), subject(string), flags)"
    ),
    "SLICE_CHARS": str(SLICE_CHARS),
}
PRELUDE = "_rlm_len = len\n" + _TEXTS + _RE + _VALUES
for _mark, _code in _PARTS.items():
    PRELUDE = PRELUDE.replace(_mark, _code)
TOOL = """
def {name}(*args, **words):
    return _rlm_use_tool({name!r}, args, words)
"""
GIVEN = ("SHOW_VARS", "ToolError", "len", "print")
"""What the prelude defines and the code may use: no variables of the code's."""


def prepare_block(code: str) -> str:
    """A block as monty runs it.

    `SHOW_VARS()` is given the variables where it stands: monty has no other way to tell them to a
    function. Behind an import of `re`, on its line, the name is given to the stand-in.
    """
    if "SHOW_VARS" not in code and "import" not in code:
        return code
    lines = list(io.StringIO(code))
    try:
        tokens = list(tokenize.generate_tokens(iter(lines).__next__))
    except (tokenize.TokenError, SyntaxError):
        return code
    if any(token.type == tokenize.ERRORTOKEN for token in tokens):
        return code
    for place in range(len(tokens) - 1, -1, -1):
        token = tokens[place]
        (row, column), text = token.end, ""
        if token.string == "import" and token.type == tokenize.NAME:
            (row, column), text = _stand_ins(tokens, place)
        elif token.string == "(" and tokens[place + 1].string == ")":
            text = "locals()" if place and _calls_show(tokens, place - 1) else ""
        if text:
            lines[row - 1] = lines[row - 1][:column] + text + lines[row - 1][column:]
    return "".join(lines)


def _calls_show(tokens: list[tokenize.TokenInfo], place: int) -> bool:
    return tokens[place].string == "SHOW_VARS" and not (
        place and tokens[place - 1].string in ("def", ".")
    )


def _stand_ins(tokens: list[tokenize.TokenInfo], place: int) -> tuple[tuple[int, int], str]:
    """What to put behind the import at this place, and where."""
    word, ends = (tokenize.NAME, tokenize.OP), (tokenize.NEWLINE, tokenize.ENDMARKER)
    before = takewhile(
        lambda token: token.type in word and token.string not in (";", ":"),
        reversed(tokens[:place]),
    )
    behind = takewhile(
        lambda token: token.type not in ends and token.string != ";", tokens[place + 1 :]
    )
    source = "".join(token.string for token in reversed([*before]))
    after = [token for token in behind if token.type in word]
    end = after[-1].end if after else tokens[place].end
    made = ""
    for name in " ".join(one.string for one in after if one.string not in "()").split(","):
        what, _, called = name.strip().partition(" as ")
        if source == "fromre" and what in _RE_FUNCTIONS:
            made += f"; {called or what} = _rlm_re.{what}"
        elif what == "re" and not source:
            made += f"; {called or what} = _rlm_re"
    return end, made
