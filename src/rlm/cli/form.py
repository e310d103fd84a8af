"""A memory as a text to edit: TOML between two `+++` lines, then the content as it is.

The form holds what a person may change, and reading it back gives only what was changed. It is
written with JSON's string escapes, which TOML shares, so any title survives the round trip.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rlm.errors import ConfigError, ValidationError

if TYPE_CHECKING:
    from rlm.store.types import MemoryItem

FENCE = "+++"
_SCOPE = ("ontology", "task_types", "tools", "transferable")


def fields_of(item: MemoryItem) -> dict[str, Any]:
    """What the form holds, by the names it uses."""
    return {
        "title": item.title,
        "description": item.description,
        "tags": list(item.tags),
        "task_query": item.task_query or "",
        "outcome": item.outcome or "success",
        "confidence": float(item.confidence or 0.0),
        "ontology": item.scope.ontology or "",
        "task_types": list(item.scope.task_types),
        "tools": list(item.scope.tools),
        "transferable": item.scope.transferable,
    }


def write_form(item: MemoryItem) -> str:
    """The text that the editor opens."""
    head = "".join(f"{name} = {_toml(value)}\n" for name, value in fields_of(item).items())
    return f"{FENCE}\n{head}{FENCE}\n\n{item.content}\n"


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_form(text: str, item: MemoryItem) -> dict[str, Any]:
    """The changes against `item`, as `update` takes them. Raises ValidationError."""
    import tomllib

    parts = text.replace("\r\n", "\n").lstrip().split(f"{FENCE}\n", 2)
    if len(parts) != 3 or parts[0].strip():
        raise ValidationError(f"the form needs two {FENCE} lines, the content below the second")
    try:
        values = tomllib.loads(parts[1])
    except tomllib.TOMLDecodeError as exc:
        raise ValidationError(f"between the {FENCE} lines: {exc}") from exc
    before = fields_of(item)
    unknown = sorted(values.keys() - before.keys())
    if unknown:
        known = ", ".join(before)
        raise ValidationError(f"{unknown[0]!r} is not a field of the form; the fields are: {known}")
    after = {**before, **values}
    changed = [name for name in before if after[name] != before[name]]
    changes = {name: after[name] for name in changed if name not in _SCOPE}
    if any(name in _SCOPE for name in changed):
        changes["scope"] = {name: after[name] for name in _SCOPE}
    content = parts[2].strip("\n").rstrip()
    if content != item.content.strip("\n").rstrip():
        changes["content"] = content
    return changes


def edit_text(text: str) -> str | None:
    """Open `$EDITOR` on a text; None when it was left unsaved."""
    import click

    try:
        return click.edit(text, extension=".md")
    except click.ClickException as exc:
        raise ConfigError(f"the editor could not be used: {exc.format_message()}") from exc


def keep_form(text: str) -> str:
    """Put a form that could not be used where its writer finds it again; the path."""
    import tempfile

    with tempfile.NamedTemporaryFile(
        "w", prefix="rlm-edit-", suffix=".md", delete=False, encoding="utf-8"
    ) as file:
        file.write(text)
    return file.name
