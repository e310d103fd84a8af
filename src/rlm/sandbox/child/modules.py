"""The modules that model-written code can import: named parts of real ones, and nothing that leads
further.

A real module is a way out (`json.codecs.sys`), so none is ever handed over. A facade holds the
parts that stand in this table, and the replacements of `facades.py`.
"""

from __future__ import annotations

import abc
import base64
import bisect
import collections
import collections.abc
import contextlib
import copy
import csv
import dataclasses
import datetime
import decimal
import difflib
import enum
import fractions
import functools
import heapq
import html
import io
import itertools
import json
import math
import operator
import random
import re
import statistics
import string
import textwrap
import time
import typing
import unicodedata
import urllib.parse
from typing import Any

from rlm.sandbox.child import facades, guards
from rlm.sandbox.child.texts import HostText, SharedObject, TextMatch, TextParts, TextWords


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


def _public(module: Any) -> str:
    return " ".join(name for name in dir(module) if not name.startswith("_"))


_TABLE: dict[str, tuple[Any, str]] = {
    "abc": (abc, "ABC abstractmethod"),
    "base64": (
        base64,
        "b64encode b64decode urlsafe_b64encode urlsafe_b64decode b32encode b32decode b16encode",
    ),
    "bisect": (bisect, "bisect bisect_left bisect_right insort insort_left insort_right"),
    "collections": (collections, "Counter defaultdict deque OrderedDict ChainMap"),
    "collections.abc": (
        collections.abc,
        """Iterable Iterator Sequence Mapping MutableMapping Callable Set Hashable Sized Container Collection
        Generator""",
    ),
    "contextlib": (contextlib, "contextmanager suppress nullcontext closing"),
    "copy": (None, ""),
    "csv": (
        csv,
        "reader writer DictReader DictWriter QUOTE_ALL QUOTE_MINIMAL QUOTE_NONNUMERIC QUOTE_NONE",
    ),
    "dataclasses": (
        dataclasses,
        "field asdict astuple fields replace is_dataclass FrozenInstanceError",
    ),
    "datetime": (datetime, "date datetime timedelta timezone time UTC MINYEAR MAXYEAR"),
    "decimal": (
        decimal,
        "Decimal ROUND_HALF_UP ROUND_HALF_EVEN ROUND_DOWN ROUND_UP InvalidOperation",
    ),
    "difflib": (difflib, "SequenceMatcher get_close_matches unified_diff ndiff context_diff"),
    "enum": (enum, "auto unique"),
    "fractions": (fractions, "Fraction"),
    "functools": (functools, "reduce partial lru_cache cache cmp_to_key total_ordering"),
    "heapq": (heapq, "heappush heappop heapify nlargest nsmallest merge heapreplace heappushpop"),
    "html": (html, "escape unescape"),
    "io": (io, "StringIO BytesIO"),
    "itertools": (itertools, _public(itertools)),
    "json": (json, "loads dumps JSONDecodeError"),
    "math": (math, _public(math)),
    "operator": (
        operator,
        """add sub mul truediv floordiv mod neg pos abs and_ or_ xor invert not_ truth is_ is_not lt le eq ne ge gt
        contains countOf indexOf itemgetter concat getitem""",
    ),
    "random": (
        random.Random(),
        """random randint randrange choice choices shuffle sample uniform gauss seed betavariate expovariate
        normalvariate triangular getrandbits""",
    ),
    "re": (
        re,
        "A ASCII I IGNORECASE M MULTILINE S DOTALL X VERBOSE U UNICODE NOFLAG escape error Match",
    ),
    "statistics": (
        statistics,
        """mean fmean median median_low median_high mode multimode stdev pstdev variance pvariance quantiles
        harmonic_mean geometric_mean correlation linear_regression StatisticsError""",
    ),
    "string": (
        string,
        """ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits punctuation printable whitespace
        capwords""",
    ),
    "textwrap": (textwrap, "dedent wrap fill shorten indent"),
    "time": (time, "time perf_counter monotonic process_time strftime gmtime localtime time_ns"),
    "typing": (
        typing,
        """Any Union Optional List Dict Set FrozenSet Tuple Callable Iterable Iterator Sequence Mapping MutableMapping
        Generator TypeVar Generic Literal Final ClassVar Type Counter DefaultDict Deque cast Protocol
        Hashable Collection Annotated Self NoReturn Text""",
    ),
    "unicodedata": (
        unicodedata,
        "normalize category name lookup combining east_asian_width numeric decimal digit",
    ),
    "urllib.parse": (
        urllib.parse,
        """quote unquote quote_plus unquote_plus urlparse urlsplit urljoin urlencode parse_qs parse_qsl
        urlunparse""",
    ),
}
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
    "random": {"Random": random.Random},
    "re": facades.re_functions(),
    "time": {"sleep": facades.sleep},
    "typing": {"TYPE_CHECKING": False, "NamedTuple": facades.NamedTuple},
}


def _made() -> dict[str, Facade]:
    made = {}
    for name in {**_TABLE, **_REPLACED}:
        module, listed = _TABLE.get(name, (None, ""))
        parts = {part: getattr(module, part) for part in listed.split() if hasattr(module, part)}
        made[name] = Facade(name, {**parts, **_REPLACED.get(name, {})})
    made["urllib"] = Facade("urllib", {"parse": made["urllib.parse"]})
    made["collections"]._parts["abc"] = made["collections.abc"]
    return made


MODULES = _made()
guards.open_types(
    datetime.date, datetime.datetime, datetime.timedelta, datetime.time, decimal.Decimal, fractions.Fraction,
    collections.ChainMap, io.StringIO, io.BytesIO,
)  # fmt: skip
guards.seal_types(
    SharedObject,
    Facade,
    facades.Pattern,
    HostText,
    TextParts,
    TextWords,
    TextMatch,
    dataclasses.Field,
)
datetime.datetime.strptime("1970", "%Y")  # the first call loads a module of its own
_INNER = frozenset({"_strptime"})
"""Modules that the library imports while it works, through our importer: loaded below, and never
handed out."""


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
