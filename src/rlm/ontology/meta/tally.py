"""What a GraphMeta needs of every statement, counted while a file is loaded.

One thread parses while another stores, and storing takes longer: what is counted in the meantime
costs little, where asking the store for it later takes a pass over all statements. Only in a worker
that has a core to spare, and only for graphs that are answered from memory. It must not do more
than this: two threads share one lock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from operator import attrgetter
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from rlm.ontology import vocabulary as v
from rlm.ontology.meta.counting import Sizes

if TYPE_CHECKING:
    from pyoxigraph import Quad, Store

_PREDICATE = attrgetter("predicate.value")


class Tally:
    """The use of each predicate, and the members of each type."""

    def __init__(self) -> None:
        self.predicates: Counter[str] = Counter()
        self._typed: dict[object, list[object]] = {}

    def add(self, quads: list[Quad]) -> None:
        predicates = list(map(_PREDICATE, quads))
        self.predicates.update(predicates)
        if v.TYPE in predicates:
            typed = self._typed
            for quad, predicate in zip(quads, predicates, strict=True):
                if predicate == v.TYPE:
                    typed.setdefault(quad.object, []).append(quad.subject)

    def end(self, store: Store) -> None:
        """All is stored. What there is is begun to be counted, beside whatever comes next."""
        self.sizes = Sizes(store)

    def fits(self) -> bool:
        """Whether these are the counts of the store: not so where the file says something twice."""
        return self.predicates.total() == self.sizes.statements

    def members(self) -> Iterator[tuple[str, list[str], int]]:
        """Every type that is an IRI, with the IRIs among its subjects, and how many others it has."""
        for kind, subjects in self._typed.items():
            if type(kind) is NamedNode:
                names = [subject.value for subject in subjects if type(subject) is NamedNode]
                yield kind.value, names, len(subjects) - len(names)
