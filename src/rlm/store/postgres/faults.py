"""Every error of the driver becomes one of ours, here and nowhere else.

A password is in no message: neither libpq nor the server repeats one, and a URL that cannot be read
is not quoted at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg_pool import PoolTimeout

from rlm.errors import (
    RLMError,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreUnavailable,
    ValidationError,
)

_INIT = "`rlm store init URL`, with the URL of a role that may create roles, makes it"

_FAULTS: tuple[tuple[tuple[type[Exception], ...], type[StoreError], str], ...] = (
    ((errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure), StoreLocked,
     "{name} is busy: another program writes for this organisation ({exc}): try again"),
    ((errors.QueryCanceled,), StoreError,
     "{name} took too long for a statement and ended it ({exc}): nothing was written"),
    ((errors.ReadOnlySqlTransaction,), StoreReadOnly,
     "{name} takes no writes ({exc}): is it a standby? Use the URL of the primary"),
    ((errors.DiskFull, errors.OutOfMemory, errors.ConfigurationLimitExceeded), StoreFull,
     "{name} has no space left ({exc}): the write was rolled back; free some space there"),
    ((errors.InsufficientPrivilege,), StoreReadOnly,
     "{name} refuses this role ({exc}): " + _INIT),
    ((errors.UndefinedTable, errors.UndefinedColumn, errors.UndefinedFunction,
      errors.InvalidSchemaName), StoreCorrupt,
     "{name} is not as rlm made it ({exc}): `rlm doctor` says more"),
    ((errors.IntegrityError, errors.DataError), ValidationError, "{name} refused a value: {exc}"),
    ((PoolTimeout, errors.TooManyConnections), StoreUnavailable,
     "{name} has no free connection ({exc}): try again, or raise max_connections there"),
    ((psycopg.OperationalError, psycopg.InterfaceError), StoreUnavailable,
     "{name} cannot be reached ({exc}): check that the server runs and that the URL is right"),
)  # fmt: skip
"""What each error of the driver becomes, the first that fits."""

LOST = (psycopg.OperationalError, psycopg.InterfaceError)
"""The connection is gone, or was never there."""


@contextmanager
def map_errors(name: str) -> Iterator[None]:
    """Turn every error of psycopg into ours, with what to do next."""
    try:
        yield
    except RLMError:
        raise
    except (psycopg.Error, UnicodeError) as exc:
        raise fault(name, exc) from exc


def fault(name: str, exc: Exception) -> StoreError:
    """The error of ours that this one becomes."""
    if isinstance(exc, UnicodeError):
        return ValidationError(f"a value cannot be stored: {exc}")
    for kinds, error, message in _FAULTS:
        if isinstance(exc, kinds):
            return error(message.format(name=name, exc=_reason(exc)))
    return StoreError(f"{name}: {_reason(exc)}")


def _reason(exc: Exception) -> str:
    """What the server or libpq says, as one line; without libpq's questions ("Is the server running
    on that host?"), and of several addresses each one's failure once."""
    text = getattr(getattr(exc, "diag", None), "message_primary", None) or str(exc)
    lines = [line.strip() for line in text.rpartition("All failures were:")[2].splitlines()]
    return " ".join(line for line in lines if line and line[-1] != "?") or type(exc).__name__
