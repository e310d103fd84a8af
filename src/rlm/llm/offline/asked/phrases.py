"""Phrases of plain questions that are made of pieces: "at any level", "including the inherited
ones"."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

_WITH = "including incl plus counting with and also"
_MADE: tuple[tuple[str, ...], ...] = (
    (
        "G",
        "can could",
        "i one we you",
        "say state record assert attach set add",
        "about of on to for",
    ),
    (
        "G",
        "can~be could~be may~be",
        "said stated asserted expressed attached noted stored set added",
        "about of on to for",
    ),
    (
        "!",
        "at on of to over across through ~",
        "all any every each whatever arbitrary",
        "level levels depth depths generation generations",
    ),
    (
        "!",
        _WITH,
        "the all ~",
        """
        indirect~ones nested~ones transitive~ones deeper~ones indirect nested transitive indirect~subclasses
        indirect~superclasses sub-subclasses grandchildren subclasses~of~subclasses their~subclasses
        """,
    ),
    (
        "^",
        _WITH,
        "the all those ~",
        """
        inherited inherited~ones inherited~properties of~its~superclasses from~its~superclasses of~superclasses
        from~superclasses of~its~subclasses from~its~subclasses of~subclasses from~subclasses of~its~parents
        """,
    ),
)
"""Phrases made of pieces: the letter, and what may stand first, second and so on; "~" alone is no
word."""


def phrases() -> Iterator[tuple[str, str]]:
    """Each phrase, and its letter (see `words`)."""
    for letter, *pieces in _MADE:
        for made in product(*(piece.split() for piece in pieces)):
            yield " ".join(made).replace("~", " ").strip().replace("   ", " "), letter
