"""Replacements for functions of the standard library that would lead out of the sandbox.

Some read attributes by name, some run text as code, some need all of a text: these ask the guards,
check the names, and take a text on the host. `modules.py` says which module offers them.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import enum
import io
import json
import keyword
import re
import typing
from collections.abc import Callable, Iterable
from typing import Any

from rlm.sandbox.child import guards
from rlm.sandbox.child.policy import is_field
from rlm.sandbox.child.rows import Rows
from rlm.sandbox.child.texts import HostText, SharedObject, find_matches, read_text

# -- re: the same functions, which also take a text on the host ------------------------------------


def _compile(pattern: Any, flags: int = 0) -> re.Pattern[str]:
    return pattern._pattern if isinstance(pattern, HostPattern) else re.compile(pattern, flags)


class HostPattern(SharedObject):
    """A compiled pattern. A text on the host is searched piece by piece where that can be done."""

    __slots__ = ("_pattern", "flags", "groupindex", "groups", "pattern")

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern, self.pattern, self.flags = pattern, pattern.pattern, pattern.flags
        self.groups, self.groupindex = pattern.groups, dict(pattern.groupindex)

    def __repr__(self) -> str:
        return repr(self._pattern)

    def search(self, subject: Any, *bounds: int) -> Any:
        if isinstance(subject, HostText) and not bounds:
            return next(iter(find_matches(self._pattern, subject)), None)
        return self._pattern.search(read_text(subject), *bounds)

    def match(self, subject: Any, *bounds: int) -> Any:
        if isinstance(subject, HostText) and not bounds:
            return self._pattern.match(subject._read(0, min(subject.sz, 100_000)))
        return self._pattern.match(read_text(subject), *bounds)

    def fullmatch(self, subject: Any, *bounds: int) -> Any:
        return self._pattern.fullmatch(read_text(subject), *bounds)

    def findall(self, subject: Any, *bounds: int) -> list[Any]:
        if not isinstance(subject, HostText) or bounds:
            return self._pattern.findall(read_text(subject), *bounds)
        found = find_matches(self._pattern, subject)
        if self._pattern.groups > 1:
            return [match.groups("") for match in found]
        return [match.group(self._pattern.groups) or "" for match in found]

    def finditer(self, subject: Any, *bounds: int) -> Iterable[Any]:
        if isinstance(subject, HostText) and not bounds:
            return find_matches(self._pattern, subject)
        return self._pattern.finditer(read_text(subject), *bounds)

    def sub(self, new: Any, subject: Any, count: int = 0) -> str:
        return self._pattern.sub(new, read_text(subject), count)

    def subn(self, new: Any, subject: Any, count: int = 0) -> tuple[str, int]:
        return self._pattern.subn(new, read_text(subject), count)

    def split(self, subject: Any, maxsplit: int = 0) -> list[Any]:
        return self._pattern.split(read_text(subject), maxsplit)


def re_functions() -> dict[str, Any]:
    def searcher(name: str) -> Callable[..., Any]:
        def function(pattern: Any, subject: Any, flags: int = 0) -> Any:
            return getattr(HostPattern(_compile(pattern, flags)), name)(subject)

        return function

    def replacer(name: str) -> Callable[..., Any]:
        def function(pattern: Any, repl: Any, string: Any, count: int = 0, flags: int = 0) -> Any:
            return getattr(_compile(pattern, flags), name)(repl, read_text(string), count)

        return function

    def split(pattern: Any, string: Any, maxsplit: int = 0, flags: int = 0) -> list[Any]:
        return _compile(pattern, flags).split(read_text(string), maxsplit)

    def compile(pattern: Any, flags: int = 0) -> HostPattern:
        return HostPattern(_compile(pattern, flags))

    searches = ("search", "match", "fullmatch", "findall", "finditer")
    made = {name: searcher(name) for name in searches}
    made |= {name: replacer(name) for name in ("sub", "subn")}
    return {**made, "split": split, "compile": compile, "Pattern": HostPattern}


# -- what needs all of a text -------------------------------------------------------------------


class StringIO(io.StringIO):
    """`io.StringIO`, which also takes a text on the host."""

    def __init__(self, initial_value: Any = "", newline: str | None = "\n") -> None:
        super().__init__(read_text(initial_value), newline)


def dumps(value: Any, *, default: Any = None, **options: Any) -> str:
    """`json.dumps`, in which rows are a list and a text on the host is a text."""

    def plain(part: Any) -> Any:
        if isinstance(part, Rows):
            return list(part)
        if isinstance(part, HostText):
            return part._whole()
        if default is not None:
            return default(part)
        raise TypeError(f"Object of type {type(part).__name__} is not JSON serializable")

    return json.dumps(value, default=plain, **options)


# -- functions that would read by name, or run text ------------------------------------------------


def attrgetter(*names: str) -> Callable[[Any], Any]:
    """`operator.attrgetter`, through the guards."""

    def one(value: Any, dotted: str) -> Any:
        for name in dotted.split("."):
            value = guards.guarded_getattr(value, name)
        return value

    if len(names) == 1:
        return lambda value: one(value, names[0])
    return lambda value: tuple(one(value, name) for name in names)


def methodcaller(name: str, /, *args: Any, **words: Any) -> Callable[[Any], Any]:
    return lambda value: guards.guarded_getattr(value, name)(*args, **words)


def wraps(wrapped: Any) -> Callable[[Any], Any]:
    """`functools.wraps` without a choice of attributes: with one it could write anywhere."""

    def note(wrapper: Any) -> Any:
        with contextlib.suppress(AttributeError, TypeError):
            wrapper.__name__, wrapper.__doc__ = guards.name_of(wrapped), guards.doc_of(wrapped)
        return wrapper

    return note


def namedtuple(
    typename: str, field_names: Any, *, defaults: Any = None, rename: bool = False
) -> type:
    """`collections.namedtuple`, which runs its names as code, with names that are identifiers."""
    names = field_names.replace(",", " ").split() if type(field_names) is str else list(field_names)
    for name in (typename, *names):
        if not _is_name(name) or keyword.iskeyword(name):
            raise ValueError(f"{name!r} is not a valid name for a field or a type")
    defaults = None if defaults is None else list(defaults)
    return guards.adopt(
        collections.namedtuple(typename, names, defaults=defaults, rename=bool(rename))
    )


def _is_name(name: Any) -> bool:
    return type(name) is str and name.isidentifier() and is_field(name)


class _NamedTuple:
    """`typing.NamedTuple`: as a base, and as a function whose names are checked."""

    __slots__ = ()

    def __call__(self, typename: str, fields: Any = ()) -> type:
        return namedtuple(typename, [name for name, _ in fields])

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return typing.NamedTuple.__mro_entries__((typing.NamedTuple,))  # type: ignore[attr-defined,no-any-return]


NamedTuple = _NamedTuple()


class _EnumType(enum.EnumType):
    """Makes enumerations; by a call only from identifiers: it would take any method."""

    def __call__(cls, value: Any, names: Any = None, **more: Any) -> Any:
        if names is None and not more:
            return super().__call__(value)
        if more or type(value) is not str or not value.isidentifier():
            raise TypeError(
                "an enumeration is made with a class statement, or from a name and the names of its"
                " members"
            )
        listed = names.replace(",", " ").split() if type(names) is str else list(names)
        pairs = [name if isinstance(name, tuple) else (name, None) for name in listed]
        for name, _ in pairs:
            if not _is_name(name):
                raise ValueError(f"{name!r} is not a valid name for a member")
        values = dict(names) if isinstance(names, dict) else None
        return super().__call__(value, values or listed, module="repl")


class Enum(enum.Enum, metaclass=_EnumType):
    """An enumeration."""


class IntEnum(enum.IntEnum, metaclass=_EnumType):
    """An enumeration of integers."""


class StrEnum(enum.StrEnum, metaclass=_EnumType):
    """An enumeration of texts."""


class Flag(enum.Flag, metaclass=_EnumType):
    """Flags that can be joined."""


class IntFlag(enum.IntFlag, metaclass=_EnumType):
    """Flags that are integers."""


def deep_copy(value: Any) -> Any:
    """`copy.deepcopy` without a memo of the caller's, which would hold all that was copied."""
    return copy.deepcopy(value)


def dataclass(kind: Any = None, /, **options: Any) -> Any:
    """`dataclasses.dataclass` for classes that were defined here."""

    def make(kind: Any) -> Any:
        if not isinstance(kind, type) or not guards.is_born(kind):
            raise TypeError("dataclass() takes a class that was defined here")
        for part in vars(kind).values():
            if isinstance(part, dataclasses.Field) and type(part) is not dataclasses.Field:
                raise TypeError("a field is made by field()")  # its name is run as code
        made: type = dataclasses.dataclass(kind, **options)
        return guards.adopt(made)

    return make if kind is None else make(kind)


def sleep(seconds: float) -> None:
    """Sleeping has no effect here: it returns at once."""
