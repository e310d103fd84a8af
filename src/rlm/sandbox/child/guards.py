"""What stands behind every attribute, item and class of model-written code.

The policy turns `a.b` into `_getattr_(a, "b")`, `a[b] = c` into a write through `_write_`, and so
on; these are those functions. They hold even for code that builds a name at run time. They are the
first wall, not the last: what gets past them meets an operating system that lets it do nothing
(`confine.py`).
"""

from __future__ import annotations

import enum
import operator
import string
from abc import ABCMeta
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import BuiltinMethodType, FunctionType, MethodDescriptorType, ModuleType
from typing import Any
from weakref import WeakSet

from RestrictedPython.Guards import guarded_iter_unpack_sequence, guarded_unpack_sequence

from rlm.sandbox.child.policy import FORBIDDEN, MAGIC, is_hidden, private_name
from rlm.sandbox.child.texts import HostText, count_characters, read_marks, read_text, take_texts

_INPLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "%=": operator.imod,
    "**=": operator.ipow,
    "<<=": operator.ilshift,
    ">>=": operator.irshift,
    "|=": operator.ior,
    "^=": operator.ixor,
    "&=": operator.iand,
    "//=": operator.ifloordiv,
    "@=": operator.imatmul,
}
_PLAIN = (dict, list, bytearray, deque, defaultdict, Counter, OrderedDict, set)
_born: WeakSet[type] = WeakSet()
"""Classes that model-written code defined: the only ones whose attributes it may set."""
_NO_DEFAULT = object()
_KEEP_MARKS = frozenset(("format", "format_map", "join", "strip", "lstrip", "rstrip"))
"""Methods of strings by which prompts are made: for these a passage on the host stays a mark."""


def attribute_name(name: Any) -> str:
    """A name that may be read or set, as it is called inside; else AttributeError."""
    if type(name) is not str:
        raise TypeError(f"an attribute's name is text, not {type(name).__name__}")
    plain = private_name(name)
    if is_hidden(plain):
        raise AttributeError(f'the attribute "{name}" is not available here')
    return plain


def guarded_getattr(value: Any, name: str, default: Any = _NO_DEFAULT) -> Any:
    """`getattr` for names that may be read."""
    plain = attribute_name(name)
    if isinstance(value, ModuleType):  # none is ever handed out; if one is found, it is shut
        raise AttributeError(f'the attribute "{name}" is not available here')
    # It makes a stranger an instance, and patterns believe it.
    if plain == "register" and _is_abstract(value):
        raise AttributeError(f'the attribute "{name}" is not available here')
    if plain in _TUPLE_NAMES and _is_named_tuple(value):
        plain = _TUPLE_NAMES[plain]
    whole = read_marks(value) if type(value) is str and plain not in _KEEP_MARKS else value
    found = getattr(whole, plain) if default is _NO_DEFAULT else getattr(whole, plain, default)
    if whole is not value and found is not default:
        return take_texts(found)  # what it is searched for may be such a text too
    return _harmless(found) if plain in ("format", "format_map", "join") else found


def _is_abstract(value: Any) -> bool:
    return isinstance(value, ABCMeta) or (isinstance(value, type) and issubclass(value, ABCMeta))


_TUPLE_NAMES = {
    private_name(name): name
    for name in ("_replace", "_asdict", "_fields", "_make", "_field_defaults")
}


def _is_named_tuple(value: Any) -> bool:
    kind = value if isinstance(value, type) else type(value)
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _harmless(found: Any) -> Any:
    """`str.format` reads attributes by itself, and `str.join` knows no text on the host; of any
    other value these are as they are."""
    if isinstance(found, BuiltinMethodType) and isinstance(text := found.__self__, str):
        if found.__name__ == "join":
            return lambda parts: text.join(
                [str(each) if isinstance(each, HostText) else each for each in read_marks(parts)]
            )
        if found.__name__ == "format_map":
            return lambda mapping: _Formatter().vformat(text, (), mapping)
        return lambda *args, **words: _Formatter().vformat(text, args, words)
    is_descriptor = isinstance(found, MethodDescriptorType) and found.__name__ != "join"
    if is_descriptor and issubclass(found.__objclass__, str):
        return lambda text, *args, **words: _Formatter().vformat(text, args, words)
    return found


class _Formatter(string.Formatter):
    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        first, rest = _split_field(str(field_name))
        value = self.get_value(first, args, kwargs)
        for is_attribute, key in rest:
            value = guarded_getattr(value, str(key)) if is_attribute else value[key]
        return value, first


def _split_field(name: str) -> tuple[int | str, Iterator[tuple[bool, int | str]]]:
    from _string import formatter_field_name_split  # type: ignore[import-not-found]

    return formatter_field_name_split(name)  # type: ignore[no-any-return]


def guarded_hasattr(value: Any, name: str) -> bool:
    try:
        guarded_getattr(value, name)
    except AttributeError:
        return False
    return True


def _may_write_attributes(value: Any) -> bool:
    kind = value if isinstance(value, type) else type(value)
    return kind in _born or (isinstance(value, FunctionType) and value.__module__ == "repl")


def _writable_name(value: Any, name: str) -> str:
    """An attribute of what model-written code defined, and of nothing else."""
    plain = attribute_name(name)
    if not _may_write_attributes(value):
        raise TypeError(f"the attributes of a {type(value).__name__} cannot be changed here")
    return plain


def guarded_setattr(value: Any, name: str, new: Any) -> None:
    setattr(value, _writable_name(value, name), new)


def guarded_delattr(value: Any, name: str) -> None:
    delattr(value, _writable_name(value, name))


def guarded_write(value: Any) -> Any:
    """What stands on the left of `=` and after `del`, when it may be changed."""
    if isinstance(value, _PLAIN) or _may_write_attributes(value):
        return value
    raise TypeError(f"a {type(value).__name__} cannot be changed here")


def set_item(value: Any, key: Any, new: Any) -> None:
    guarded_write(value)[key] = new


def change_in_place(sign: str, left: Any, right: Any) -> Any:
    return _INPLACE[sign](left, right)


def apply(function: Callable[..., Any], *args: Any, **words: Any) -> Any:
    return function(*args, **words)


def get_item(value: Any, key: Any) -> Any:
    return read_marks(value)[key] if type(value) is str else value[key]


def is_in(part: Any, whole: Any) -> bool:
    """`part in whole`, for which a mark in either text is its passage."""
    return read_text(part) in read_marks(whole) if type(whole) is str else part in whole


def length(value: Any, /) -> int:
    """`len`, for which a mark is as long as its passage."""
    return count_characters(value) if type(value) is str else len(value)


# -- types -----------------------------------------------------------------------------------------

_OPEN_TYPES: set[type] = {
    *(bool, int, float, complex, str, bytes, bytearray, range, slice, type(None), object),
    *(list, tuple, dict, set, frozenset, Counter, OrderedDict, defaultdict, deque),
}
"""Types that are handed out as they are. Of any other the code gets the name and no more: it could
be called or inherited from."""


class TypeName:
    """A type that is not handed out: it can be compared and named."""

    __slots__ = ("_kind",)

    def __init__(self, kind: type) -> None:
        self._kind = kind

    @property
    def __name__(self) -> str:
        return type.__dict__["__name__"].__get__(self._kind)  # type: ignore[no-any-return]

    def fits(self, value: Any) -> bool:
        return isinstance(value, self._kind)

    def __repr__(self) -> str:
        return f"<class {self.__name__!r}>"

    def __eq__(self, other: object) -> bool:
        return self._kind is (other._kind if isinstance(other, TypeName) else other)

    def __hash__(self) -> int:
        return hash(self._kind)


def open_types(*kinds: type) -> None:
    """Let the code have these types."""
    _OPEN_TYPES.update(kinds)


def type_of(value: Any) -> Any:
    kind = type(value)
    if kind in _OPEN_TYPES or kind in _born or issubclass(kind, Exception):
        return kind
    return TypeName(kind)


def name_of(value: Any) -> str:
    """`__name__` of a class or function."""
    name = getattr(value, "__name__", None)
    if type(name) is not str:
        raise AttributeError(f"a {type(value).__name__} has no name")
    return name


def doc_of(value: Any) -> str | None:
    text = getattr(value, "__doc__", None)
    return text if type(text) is str else None


def vars_of(value: Any = _NO_DEFAULT) -> dict[str, Any]:
    """What an object holds, as a copy."""
    if value is _NO_DEFAULT or type(value) not in _born:
        raise TypeError(
            "vars() shows objects of classes that were defined here: of any other, use dir()"
        )
    held = object.__getattribute__(value, "__dict__")
    return {name: part for name, part in held.items() if not name.startswith("_")}


def names_of(value: Any) -> list[str]:
    """`dir()` without what cannot be reached anyway."""
    return [name for name in dir(value) if not name.startswith("_") and name not in FORBIDDEN]


def make_super(owner: Any, instance: Any) -> Any:
    if not isinstance(owner, type) or owner not in _born:
        raise TypeError("super() works in classes that were defined here")
    return super(owner, instance)


def magic_of_super(found: Any, name: str) -> Any:
    """`super().__init__` and similar methods."""
    if type(found) is not super or name not in MAGIC:
        raise AttributeError(f'the attribute "{name}" is not available here')
    return getattr(found, name)


class _Metaclass:
    """What makes every class of model-written code; it remembers them."""

    def __call__(self, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> type:
        kind = self._kind(bases)
        space.setdefault("__module__", "repl")
        made: type = kind(name, bases, space)
        _born.add(made)
        return made

    @staticmethod
    def _kind(bases: tuple[type, ...]) -> Any:
        kind: type = type
        for base in bases:
            if not isinstance(base, type) or issubclass(base, type) or base in _sealed:
                named = getattr(base, "__name__", type(base).__name__)
                raise TypeError(f"{named} cannot be inherited from here")
            if issubclass(type(base), kind):
                kind = type(base)
        return kind

    def __prepare__(self, name: str, bases: tuple[type, ...], **_: Any) -> Any:
        return enum.EnumType.__prepare__(name, bases) if _any_enum(bases) else {}


def _any_enum(bases: tuple[type, ...]) -> bool:
    return any(isinstance(base, enum.EnumType) for base in bases)


_sealed: set[type] = set()
"""Classes of ours that code cannot inherit from."""


def seal_types(*kinds: type) -> None:
    _sealed.update(kinds)


make_class = _Metaclass()


def adopt(kind: type) -> type:
    """Note a class that a facade made for the code (a named tuple, a dataclass with slots)."""
    _born.add(kind)
    return kind


def is_born(kind: type) -> bool:
    return kind in _born


GUARDS: dict[str, Any] = {
    "_getattr_": guarded_getattr,
    "_getitem_": get_item,
    "_getiter_": read_marks,
    "_read_marks_": read_marks,
    "_is_in_": is_in,
    "_write_": guarded_write,
    "_set_attribute_": guarded_setattr,
    "_set_item_": set_item,
    "_slice_": slice,
    "_inplacevar_": change_in_place,
    "_apply_": apply,
    "_unpack_sequence_": guarded_unpack_sequence,
    "_iter_unpack_sequence_": guarded_iter_unpack_sequence,
    "_name_of_": name_of,
    "_doc_of_": doc_of,
    "_type_of_": type_of,
    "_vars_of_": vars_of,
    "_super_": make_super,
    "_magic_of_super_": magic_of_super,
    "__metaclass__": make_class,
    "__name__": "repl",
}
