"""Time and random ids, in the one place where a test can hold them still.

Nothing else in rlm asks the operating system for the time or for a random id.

>>> from datetime import datetime, timezone
>>> with frozen(datetime(2026, 1, 2, tzinfo=timezone.utc)):
...     now_iso()
'2026-01-02T00:00:00.000000Z'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime


def _system_now() -> datetime:
    return datetime.now(UTC)


def _system_uuid() -> str:
    import uuid  # only here: it costs a hook 2 ms

    return str(uuid.uuid4())


_now: Callable[[], datetime] = _system_now
_uuid: Callable[[], str] = _system_uuid


def now() -> datetime:
    """The time, aware, in UTC."""
    return _now()


def now_iso() -> str:
    """The time as text that sorts as it passes: `2026-01-02T03:04:05.000006Z`."""
    return f"{_now().isoformat(timespec='microseconds')[:26]}Z"  # a fifth of what strftime takes


def now_ms() -> int:
    """The time in whole milliseconds since 1970, as seed 004 stores it."""
    return int(_now().timestamp() * 1000)


def parse_iso(text: str) -> datetime:
    """An ISO 8601 time, aware; a naive one is taken as UTC. Raises ValueError."""
    value = datetime.fromisoformat(text)
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def new_uuid() -> str:
    """A fresh uuid4, as text."""
    return _uuid()


def short_id(prefix: str) -> str:
    """A fresh short id such as `r-1f0c9a7d42be`: 48 random bits behind a prefix."""
    return f"{prefix}-{_uuid().replace('-', '')[:12]}"


@contextmanager
def frozen(at: datetime, *, uuids: Callable[[], str] | None = None) -> Iterator[None]:
    """Hold the clock at `at`, and take ids from `uuids` if given: for tests and docs."""
    global _now, _uuid
    before = (_now, _uuid)
    _now = lambda: at  # noqa: E731
    if uuids is not None:
        _uuid = uuids
    try:
        yield
    finally:
        _now, _uuid = before
