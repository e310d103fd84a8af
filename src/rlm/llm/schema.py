"""JSON schemas as the servers want them. Knows no server."""

from __future__ import annotations

import json
from typing import Any

Schema = dict[str, Any]

VALUE = "value"
"""The property that holds the answer when the schema itself is not of an object."""


def as_object(schema: Schema) -> tuple[Schema, bool]:
    """The schema of an object, and whether the answer had to be wrapped in one (under `value`)."""
    if schema.get("type") == "object" or "properties" in schema:
        return {**schema, "type": "object"}, False
    inner = {name: part for name, part in schema.items() if name not in ("$defs", "definitions")}
    hoisted: Schema = {name: schema[name] for name in ("$defs", "definitions") if name in schema}
    outer: Schema = {
        "type": "object",
        "properties": {VALUE: inner},
        "required": [VALUE],
        "additionalProperties": False,
    }
    return {**outer, **hoisted}, True


def unwrap(text: str, *, wrapped: bool) -> str:
    """The answer's own text, out of the object that `as_object` put around it."""
    if not wrapped:
        return text
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(found, dict) and VALUE in found:
        return json.dumps(found[VALUE], ensure_ascii=False)
    return text


def is_strict(schema: Any) -> bool:
    """Whether OpenAI's strict mode takes it: every object closed, every property required."""
    if isinstance(schema, list):
        return all(is_strict(part) for part in schema)
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        closed = schema.get("additionalProperties") is False
        if not closed or set(schema.get("required", ())) != set(schema.get("properties", {})):
            return False
    return all(is_strict(part) for part in schema.values())


LIMITS = ("maxLength", "minLength", "maxItems", "minItems")


def without_limits(schema: Any) -> Any:
    """A copy without limits on the length of texts and lists, which some servers refuse."""
    if isinstance(schema, list):
        return [without_limits(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: without_limits(part)
        for name, part in schema.items()
        if not (name in LIMITS and isinstance(part, int))  # a property may be called so
    }


def close_objects(schema: Any) -> Any:
    """A copy in which every object that says nothing about further properties forbids them."""
    if isinstance(schema, list):
        return [close_objects(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: close_objects(part) for name, part in schema.items()}
    if found.get("type") == "object":
        found.setdefault("additionalProperties", False)
    return found


def instruction(schema: Schema) -> str:
    """What to tell a model whose server cannot be given the schema."""
    return (
        "Answer with JSON only, no other text and no code fence. It must fit this JSON schema:\n"
        + json.dumps(schema, ensure_ascii=False)
    )
