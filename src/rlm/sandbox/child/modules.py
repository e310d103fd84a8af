"""The modules that model-written code can import: named parts of real ones, and nothing that leads
further.

A real module is a way out (`json.codecs.sys`), so none is ever handed over. A facade holds the
parts that are listed in this table, and the replacements of `facades.py`.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import datetime
import decimal
import fractions
import io
import random
from importlib import import_module
from typing import Any

from rlm.sandbox.child import facades, guards
from rlm.sandbox.child.policy import words
from rlm.sandbox.child.rows import HostRows, Rows, Truth
from rlm.sandbox.child.texts import (
    HostText,
    SharedObject,
    TextMatch,
    TextParts,
    TextWords,
    take_texts,
)


class Facade(SharedObject):
    """A module as the code sees it."""

    __slots__ = ("_name", "_parts")

    def __init__(self, name: str, parts: dict[str, Any]) -> None:
        self._name, self._parts = name, parts

    def __getattr__(self, name: str) -> Any:
        try:
            return self._parts[name]
        except KeyError:
            known = ", ".join(sorted(self._parts))
            raise AttributeError(
                f"the module {self._name!r} has no {name!r} here; it has: {known}"
            ) from None

    def __dir__(self) -> list[str]:
        return sorted(self._parts)

    def __repr__(self) -> str:
        return f"<module {self._name!r}>"


_PARTS: dict[str, str] = {
    "abc": "ABC abstractmethod",
    "base64": """
        b64encode b64decode urlsafe_b64encode urlsafe_b64decode b32encode b32decode b16encode
    """,
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "collections": "Counter defaultdict deque OrderedDict ChainMap",
    "collections.abc": """
        Iterable Iterator Sequence Mapping MutableMapping Callable Set Hashable Sized Container
        Collection Generator
    """,
    "contextlib": "contextmanager suppress nullcontext closing",
    "copy": "",
    "csv": """
        reader writer DictReader DictWriter QUOTE_ALL QUOTE_MINIMAL QUOTE_NONNUMERIC QUOTE_NONE
    """,
    "dataclasses": "field asdict astuple fields replace is_dataclass FrozenInstanceError",
    "datetime": "date datetime timedelta timezone time UTC MINYEAR MAXYEAR",
    "decimal": "Decimal ROUND_HALF_UP ROUND_HALF_EVEN ROUND_DOWN ROUND_UP InvalidOperation",
    "difflib": "SequenceMatcher get_close_matches unified_diff ndiff context_diff",
    "enum": "auto unique",
    "fractions": "Fraction",
    "functools": "reduce partial lru_cache cache cmp_to_key total_ordering",
    "heapq": "heappush heappop heapify nlargest nsmallest merge heapreplace heappushpop",
    "html": "escape unescape",
    "io": "BytesIO",
    "itertools": "*",
    "json": "loads JSONDecodeError",
    "math": "*",
    "operator": """
        add sub mul truediv floordiv mod neg pos abs and_ or_ xor invert not_ truth is_ is_not lt
        le eq ne ge gt contains countOf indexOf itemgetter concat getitem
    """,
    "random": """
        random randint randrange choice choices shuffle sample uniform gauss seed betavariate
        expovariate normalvariate triangular getrandbits
    """,
    "re": "A ASCII I IGNORECASE M MULTILINE S DOTALL X VERBOSE U UNICODE NOFLAG escape error Match",
    "statistics": """
        mean fmean median median_low median_high mode multimode stdev pstdev variance pvariance
        quantiles harmonic_mean geometric_mean correlation linear_regression StatisticsError
    """,
    "string": """
        ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits punctuation
        printable whitespace capwords
    """,
    "textwrap": "dedent wrap fill shorten indent",
    "time": "time perf_counter monotonic process_time strftime gmtime localtime time_ns",
    "typing": """
        Any Union Optional List Dict Set FrozenSet Tuple Callable Iterable Iterator Sequence
        Mapping MutableMapping Generator TypeVar Generic Literal Final ClassVar Type Counter
        DefaultDict Deque cast Protocol Hashable Collection Annotated Self NoReturn Text
    """,
    "unicodedata": """
        normalize category name lookup combining east_asian_width numeric decimal digit
    """,
    "urllib.parse": """
        quote unquote quote_plus unquote_plus urlparse urlsplit urljoin urlencode parse_qs
        parse_qsl urlunparse
    """,
}
"""What the code may use of each module; `*` is every public name."""
_NEED_ALL = words("""
    html.escape html.unescape json.loads textwrap.dedent textwrap.wrap textwrap.fill
    textwrap.shorten textwrap.indent unicodedata.normalize
""")
"""Functions that are given all of a text, where it is on the host."""
_REPLACED: dict[str, dict[str, Any]] = {
    "__future__": {"annotations": None},
    "collections": {"namedtuple": facades.namedtuple},
    "copy": {"copy": copy.copy, "deepcopy": facades.deep_copy},
    "enum": {
        name: getattr(facades, name) for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")
    },
    "dataclasses": {"dataclass": facades.dataclass},
    "functools": {"wraps": facades.wraps},
    "operator": {"attrgetter": facades.attrgetter, "methodcaller": facades.methodcaller},
    "io": {"StringIO": facades.StringIO},
    "json": {"dumps": facades.dumps},
    "random": {"Random": random.Random},
    "re": facades.re_functions(),
    "time": {"sleep": facades.sleep},
    "typing": {"TYPE_CHECKING": False, "NamedTuple": facades.NamedTuple},
}


def _make_facades() -> dict[str, Facade]:
    made = {}
    for name in {**_PARTS, **_REPLACED}:
        listed = _PARTS.get(name, "").split()
        module = random.Random() if name == "random" else import_module(name)
        if listed == ["*"]:
            listed = [part for part in dir(module) if not part.startswith("_")]
        parts = {part: getattr(module, part) for part in listed if hasattr(module, part)}
        for part in parts:
            if f"{name}.{part}" in _NEED_ALL:
                parts[part] = take_texts(parts[part])
        made[name] = Facade(name, {**parts, **_REPLACED.get(name, {})})
    made["urllib"] = Facade("urllib", {"parse": made["urllib.parse"]})
    made["collections"]._parts["abc"] = made["collections.abc"]
    return made


MODULES = _make_facades()
guards.open_types(datetime.date, datetime.datetime, datetime.timedelta, datetime.time)
guards.open_types(decimal.Decimal, fractions.Fraction, collections.ChainMap)
guards.open_types(facades.StringIO, io.BytesIO)
guards.seal_types(SharedObject, Facade, facades.HostPattern, dataclasses.Field)
guards.seal_types(HostText, HostRows, Rows, Truth, TextParts, TextWords, TextMatch)
datetime.datetime.strptime("1970", "%Y")  # the first call loads a module of its own
_INNER = frozenset({"_strptime"})
"""Modules that the library imports while it works: loaded below, and never handed out."""


def importer(
    name: str, globals_: Any = None, locals_: Any = None, fromlist: Any = (), level: int = 0
) -> Facade:
    """What an `import` statement calls, and now and then the library itself."""
    if name in _INNER:
        return Facade(name, {})
    if level or type(name) is not str or name not in MODULES:
        known = ", ".join(sorted(key for key in MODULES if "_" not in key))
        raise ImportError(
            f"the module {str(name)[:60]!r} is not available in the sealed REPL; there are: {known}"
        )
    return MODULES[name] if fromlist else MODULES[name.partition(".")[0]]
