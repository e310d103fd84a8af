"""`all_cases`: many small cases of one behaviour as one test.

A test of pytest costs 2 ms before it does anything, and a corpus has hundreds of cases that take
less. All of them are run; each that fails is told with its name and its own traceback.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def all_cases(
    names: str | tuple[str, ...],
    cases: Iterable[Any],
    *,
    ids: Callable[[Any], object] | Sequence[object] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `pytest.mark.parametrize`, for cases that leave no trace: they share their fixtures."""
    named = {}
    given = list(cases)
    for place, case in enumerate(given):
        if isinstance(case, type(pytest.param())):
            given[place], named[place] = case.values, case.id
    several = not isinstance(names, str)
    taken: tuple[str, ...] = names if isinstance(names, tuple) else (names,)
    assert given, "no cases"

    def name_of(place: int) -> str:
        case = given[place]
        if place in named:
            return str(named[place])
        if ids is None:
            return f"{case!r:.300}"
        return str(ids(case) if callable(ids) else ids[place])

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def run(**fixtures: Any) -> None:
            failed: list[BaseException] = []
            for place, case in enumerate(given):
                values = case if several else (case,)
                try:
                    test(**fixtures, **dict(zip(taken, values, strict=True)))
                except (Exception, pytest.fail.Exception) as exc:
                    exc.add_note(f"the case: {name_of(place)}")
                    failed.append(exc)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(given)} cases", failed)

        signature = inspect.signature(test)
        left = [one for one in signature.parameters.values() if one.name not in taken]
        assert len(left) == len(signature.parameters) - len(taken), "names that it does not take"
        run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
        run.__qualname__ = test.__qualname__
        run.__dict__.update({k: v for k, v in test.__dict__.items() if k != "__signature__"})
        return run

    return decorate
