"""What a tool may be given: JSON schemas, and a check that refuses whatever does not fit.

A value is taken as it is or refused: no text becomes a number, no number a truth, and a name that
the tool does not know is an error. The messages are read by models: one line, with what to do.
"""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_type_hints

from rlm.errors import ValidationError

Schema = dict[str, Any]

SHOWN_CHARS = 40
_NAMES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list of texts",
}
_OF_TYPE: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def text(doc: str = "", *, most: int = 2_000, least: int = 1) -> Schema:
    """A text of `least` to `most` characters."""
    return _with(doc, {"type": "string", "minLength": least, "maxLength": most})


def whole(doc: str = "", *, least: int = 1, most: int, default: int) -> Schema:
    """A whole number."""
    bounds = {"minimum": least, "maximum": most, "default": default}
    return _with(doc, {"type": "integer", **bounds})


def flag(doc: str = "") -> Schema:
    """true or false."""
    return _with(doc, {"type": "boolean"})


def one_of(*words: str, doc: str = "") -> Schema:
    """One of a few words."""
    return _with(doc, {"type": "string", "enum": list(words)})


def texts(doc: str = "", *, least: int = 0, most: int, chars: int = 200) -> Schema:
    """A list of texts."""
    bounds = {"minItems": least} if least else {}
    return _with(doc, {"type": "array", "items": text(most=chars), **bounds, "maxItems": most})


def _with(doc: str, schema: Schema) -> Schema:
    return schema | ({"description": doc} if doc else {})


def object_of(required: Mapping[str, Schema], optional: Mapping[str, Schema]) -> Schema:
    """The schema of a tool's arguments; nothing else is admitted."""
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


def of_signature(function: Callable[..., Any], leave_out: tuple[str, ...] = ()) -> Schema:
    """The schema that a function's own signature gives."""
    hints = get_type_hints(function)
    required: dict[str, Schema] = {}
    optional: dict[str, Schema] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name in leave_out:
            continue
        schema: Schema = {"type": _type_name(hints[name])}
        if parameter.default is inspect.Parameter.empty:
            required[name] = schema
        else:
            known = {} if parameter.default is None else {"default": parameter.default}
            optional[name] = schema | known
    return object_of(required, optional)


def _type_name(hint: Any) -> str:
    if isinstance(hint, types.UnionType):  # `str | None` may be left out; a handle is its key
        return next((_OF_TYPE[one] for one in get_args(hint) if one in _OF_TYPE), "string")
    return _OF_TYPE[hint]


def check_arguments(schema: Schema, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments as they were given. ValidationError for what is missing, unknown or unfit."""
    arguments, known = dict(given or {}), schema["properties"]
    for name in arguments:
        if name not in known:
            takes = ", ".join(known) or "nothing"
            why = f"unknown argument {_show(name)}: this tool takes {takes}"
            raise ValidationError(why, field=name)
    for name in schema["required"]:
        if name not in arguments:
            raise ValidationError(f"{name} is missing: {_describe(known[name])}", field=name)
    for name, value in arguments.items():
        if not _fits(value, known[name]):
            why = f"{name} is {_show(value)}: {_describe(known[name])}"
            if name not in schema["required"]:
                why += ", or leave it out"
            raise ValidationError(why, field=name)
    return arguments


def _fits(value: Any, schema: Schema) -> bool:
    kind = schema["type"]
    if kind == "string":
        if not isinstance(value, str) or value not in schema.get("enum", [value]):
            return False
        return bool(schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", math.inf))
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "array":
        fits = (
            isinstance(value, list)
            and schema.get("minItems", 0) <= len(value) <= schema["maxItems"]
        )
        return fits and all(_fits(each, schema["items"]) for each in value)
    number = int if kind == "integer" else (int, float)
    if isinstance(value, bool) or not isinstance(value, number) or not math.isfinite(value):
        return False
    return bool(schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf))


def _describe(schema: Schema) -> str:
    if "enum" in schema:
        return f"use one of {', '.join(schema['enum'])}"
    wanted = f"use {_NAMES[schema['type']]}"
    if "maximum" in schema:
        return f"{wanted} from {schema['minimum']} to {schema['maximum']:,}"
    if "maxLength" in schema:
        return f"{wanted} of {schema['minLength']} to {schema['maxLength']:,} characters"
    if "maxItems" in schema:
        chars = schema["items"]["maxLength"]
        count = f"{schema.get('minItems', 0)} to {schema['maxItems']}"
        return f"{wanted}, {count} of them, each of 1 to {chars} characters"
    return wanted


def _show(value: Any) -> str:
    """What was given, short, on one line, and without lone surrogates."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str) and len(value) > SHOWN_CHARS:
        return f"a text of {len(value):,} characters"
    if isinstance(value, list | dict):
        return f"a{' list' if isinstance(value, list) else 'n object'} of {len(value)}"
    if isinstance(value, int) and abs(value) > 10**15:
        return "too large"
    return ascii(value)[: 2 * SHOWN_CHARS]
