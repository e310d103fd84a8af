"""Public names of a package that are imported when they are first used.

numpy, the driver and the parsers would otherwise cost every command a tenth of a second. A package
calls this at its end (PEP 562):

    __getattr__, __dir__, __all__ = lazy_names(__name__, {"open": ("open_store",)})

The same names stand below `if TYPE_CHECKING:` for type checkers; a test compares the two.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # importing typing costs every hook 3 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    Getter = Callable[[str], Any]


def lazy_names(
    package: str, homes: Mapping[str, Iterable[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package whose modules `homes` hold the names."""
    home_of = {name: f"{package}.{module}" for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home_of[name]), name)
        setattr(import_module(package), name, value)
        return value

    return get, lambda: sorted(home_of), sorted(home_of)
