"""Counts over all statements of a store, asked in threads: the store counts without Python's lock."""

from __future__ import annotations

import threading
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from pyoxigraph import QuerySolution, QuerySolutions, Store

if TYPE_CHECKING:
    from rlm.ontology.meta.tally import Tally

_SIZES = "SELECT (COUNT(DISTINCT ?s) AS ?subjects) (COUNT(*) AS ?statements) WHERE { ?s ?p ?o }"


def solutions(store: Store, query: str) -> QuerySolutions:
    found = store.query(query, use_default_graph_as_union=True)
    assert isinstance(found, QuerySolutions)
    return found


class Asked:
    """A query in a thread of its own."""

    def __init__(self, store: Store, query: str) -> None:
        self._store, self._query = store, query
        self._rows: list[QuerySolution] = []
        self._failed: BaseException | None = None
        self._thread: threading.Thread | None = threading.Thread(target=self._ask, daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # there is no memory left for one
            self._thread = None
            self._ask()

    def _ask(self) -> None:
        try:
            self._rows = list(solutions(self._store, self._query))
        except BaseException as exc:  # raised again where the answer is wanted
            self._failed = exc

    def rows(self) -> list[QuerySolution]:
        if self._thread is not None:
            self._thread.join()
        if self._failed is not None:
            raise self._failed
        return self._rows


class Sizes:
    """How many statements and subjects a store has; the latter with and without names. It may have
    to be waited for."""

    def __init__(self, store: Store) -> None:
        self._asked = Asked(store, _SIZES)

    @cached_property
    def subjects(self) -> int:
        return int(self._asked.rows()[0]["subjects"].value)

    @cached_property
    def statements(self) -> int:
        """One that stands in several graphs is several."""
        return int(self._asked.rows()[0]["statements"].value)


class Counts:
    """What takes a look at every statement, looked up in threads that begin at once, unless it was
    counted before."""

    def __init__(self, store: Store, *, named_graphs: bool, tally: Tally | None = None) -> None:
        body = "{ SELECT DISTINCT ?s ?p ?o WHERE { ?s ?p ?o } }" if named_graphs else "?s ?p ?o"
        counting = f"SELECT ?p (COUNT(*) AS ?n) WHERE {{ {body} }} GROUP BY ?p"
        self._predicates = Asked(store, counting) if tally is None else tally.predicates
        self._sizes = Sizes(store) if tally is None else tally.sizes

    @cached_property
    def pred_freq(self) -> dict[str, int]:
        """Every predicate with its number of statements, the most used first."""
        counted = self._predicates
        if isinstance(counted, Asked):
            counted = Counter({row["p"].value: int(row["n"].value) for row in counted.rows()})
        return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))

    @property
    def subjects(self) -> int:
        """How many subjects there are. It may have to be waited for: ask late."""
        return self._sizes.subjects
