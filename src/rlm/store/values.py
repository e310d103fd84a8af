"""Single values on their way into a store: checked, cleaned, scrubbed, bounded or refused.

The gate (`gate.py`) is made of these. They know no database and keep no state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rlm import clock
from rlm.errors import ValidationError
from rlm.store.identity import canonical_json
from rlm.store.sanitize import clean_text, clean_value
from rlm.store.secrets import scrub, scrub_value

JSON_CHARS = 100_000
ID_CHARS = 200


def check_count(value: Any, name: str) -> int:
    """How many: any integer; what is below 0 counts as 0, and what is absurd as very many."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValidationError(f"{name} is {show(value)}: use an integer", field=name)
    return max(0, min(value, 2**53))


def check_many(values: Any, name: str, of: str) -> Iterable[Any]:
    """Several of something: any iterable but text or an object."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ValidationError(f"{name} is {show(values)}: use a list of {of}", field=name)
    return values


def unit(value: Any, name: str = "confidence") -> float:
    """A number in [0, 1], or ValidationError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise ValidationError(f"{name} is {show(value)}: use a number from 0 to 1", field=name)
    return float(value)


def check_text(value: Any, name: str, limit: int) -> str:
    """A text of at most `limit` characters, or ValidationError."""
    if not isinstance(value, str):
        raise ValidationError(f"{name} is {type(value).__name__}, expected text", field=name)
    if len(value) > limit:
        why = f"{name} has {len(value):,} characters, at most {limit:,}"
        raise ValidationError(why, field=name)
    return value


def admit_text(value: Any, name: str, limit: int = JSON_CHARS) -> str:
    """A text, cleaned, scrubbed and bounded, also afterwards: normalising can make it longer."""
    clean = scrub(clean_text(check_text(value, name, limit)))[0]
    return check_text(clean, name, limit)


def admit_line(value: Any, name: str, limit: int) -> str:
    """The same on one line, its words one space apart."""
    return " ".join(admit_text(value, name, limit).split())


def choice(value: Any, allowed: Sequence[str], name: str) -> str:
    """One of the names that exist."""
    if value not in allowed or not isinstance(value, str):
        why = f"unknown {name} {show(value)}; use one of: {', '.join(allowed)}"
        raise ValidationError(why, field=name)
    return value


def natural(value: Any, name: str) -> None:
    """An integer from 0 up."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise ValidationError(f"{name} is {show(value)}: use an integer from 0 up", field=name)


PLAIN_KEYS = frozenset(
    ("source", "pack", "curriculum_id", "task_id", "trajectory_id", "run_id",
     "exported_in_pack", "edited_from", "quarantine_reason")
)  # fmt: skip
_ONLY_TEXT = frozenset({str})


def admit_object(value: Any, name: str, limit: int = JSON_CHARS) -> dict[str, Any]:
    """A JSON object, cleaned, scrubbed and bounded."""
    if type(value) is not dict and not isinstance(value, Mapping):
        raise ValidationError(f"{name} is {type(value).__name__}, expected an object", field=name)
    if PLAIN_KEYS.issuperset(value) and _ONLY_TEXT.issuperset(map(type, value.values())):
        text = "\n".join(value.values())
        if len(text) <= limit and is_clean(text):  # most memories, at a tenth of the price
            return dict(value)
    try:
        made, _ = scrub_value(clean_value(dict(value)))
        size = len(canonical_json(made))
    except (TypeError, ValueError, RecursionError) as exc:
        raise ValidationError(f"{name} cannot be written as JSON: {exc}", field=name) from exc
    if size > limit:
        why = f"{name} has {size:,} characters as JSON, at most {limit:,}"
        raise ValidationError(why, field=name)
    return dict(made)


def is_clean(text: str) -> bool:
    """Whether neither cleaning nor scrubbing would change a text.

    Of texts joined by newlines a True holds for each: no rule needs what stands on the line before.
    (A joined text may be unclean where no part is, which only costs time.)
    """
    return clean_text(text) == text and not scrub(text)[1]


def admit_time(value: Any, name: str) -> str:
    """A time as we spell it: UTC, to the microsecond, sortable as text."""
    try:
        if len(value) == 27 and value[4:20:3] == "--T::." and value[26] == "Z" and value.isascii():
            datetime.fromisoformat(value)
            return str(value)  # our own spelling already
        parsed = clock.parse_iso(value).astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        hint = "use ISO 8601, like 2026-01-31T12:00:00Z"
        raise ValidationError(f"{name} is {show(value)}: {hint}", field=name) from None
    return parsed.isoformat(timespec="microseconds").replace("+00:00", "Z")


def admit_id(value: Any, name: str) -> str:
    """An id or a label of the caller's own: short, printable, and no secret."""
    if (
        not isinstance(value, str)
        or not 0 < len(value) <= ID_CHARS
        or not value.isprintable()
        or not is_clean(value)
    ):
        why = f"{name} is {show(value)}: use 1 to {ID_CHARS} printable characters"
        raise ValidationError(why, field=name)
    return value


def finite(value: Any, name: str) -> float:
    """A number that is neither infinite nor NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e300:
        raise ValidationError(f"{name} is {show(value)}: use a finite number", field=name)
    return float(value)


def show(value: Any) -> str:
    """A refused value for a message: short, and without the secret that it may hold."""
    if isinstance(value, str):
        return repr(scrub(clean_text(str(value)))[0][:80])
    return scrub(repr(value))[0][:80]
