"""Short names for blank nodes: b0, b1, … in the order in which an engine first answers with them.

The store's own names are 32 digits long and change when a file is parsed again. Labels hold as long
as the engine, also when its worker is replaced, and can be given back as the value of a variable.
"""

from __future__ import annotations

from typing import Any

from rlm.errors import QueryRefused
from rlm.ontology.terms import Term


class BlankNodes:
    """The labels that one engine gave out."""

    def __init__(self) -> None:
        self._labels: dict[str, str] = {}
        self._raw: dict[str, str] = {}
        self._next = 0

    def shown(self, term: Any) -> Term:
        """A term of the worker's as callers see it."""
        if term["t"] == "bnode":
            return {"t": "bnode", "v": self._label(str(term["v"]))}
        if term["t"] == "triple":
            return {"t": "triple", "v": [self.shown(part) for part in term["v"]]}
        return dict(term)

    def triple(self, row: list[Any]) -> tuple[Term, Term, Term]:
        s, p, o = row
        return self.shown(s), self.shown(p), self.shown(o)

    def raw(self, term: Term) -> Term:
        """A caller's term as the worker knows it. QueryRefused for a label that was never given
        out."""
        if term.get("t") != "bnode":
            return dict(term)
        label = str(term.get("v")).removeprefix("_:")
        if label not in self._raw:
            raise QueryRefused(
                f"there is no blank node {label!r} in any answer of this engine; ask for it first"
            )
        return {"t": "bnode", "v": self._raw[label]}

    def forget(self) -> None:
        """The store was built again: its names are others now. Labels are not used twice."""
        self._labels.clear()
        self._raw.clear()

    def _label(self, raw: str) -> str:
        label = self._labels.get(raw)
        if label is None:
            label = self._labels[raw] = f"b{self._next}"
            self._raw[label] = raw
            self._next += 1
        return label
