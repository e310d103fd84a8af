"""What runs found out about a graph: which of its classes and properties their queries needed.

A run that is stored names the terms of those of its queries that returned something; every store
keeps that with the trajectory. Counted over the runs that were judged a success, it says what
questions about this graph are about, and the card of the graph begins with it. A term that the
graph has no longer is left out, so that what was learnt is checked against the data as it is. What
the instances of a class have, and how many of them, is read from the data itself
(`ontology/meta/class_use.py`); which query answers which kind of question is what lessons hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rlm.learning.calls import steps_of
from rlm.loop.trace import ToolCall
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.terms import is_machinery
from rlm.store.backend import MemoryBackend

MOST_TERMS = 40
RUNS = 200
"""So many of the newest runs are counted."""


def terms_of(calls: Sequence[ToolCall], meta: GraphMeta) -> list[str]:
    """The classes and properties that the queries of a run name, if they returned something."""
    asked = [step for step in steps_of(calls, meta.prefixes) if step.query and step.rows != 0]
    names = dict.fromkeys(name for step in asked for name in step.names)
    known = (name for name in names if name in meta.properties or name in meta.classes)
    return [name for name in known if not is_machinery(name)][:MOST_TERMS]


def learnt_terms(store: MemoryBackend, ontology: str, meta: GraphMeta) -> Counter[str]:
    """How many successful runs over an ontology needed each of the terms that it has."""
    found: Counter[str] = Counter()
    for row in store.learning_rows(RUNS):
        if row.is_success and row.ontology_name == ontology:
            found.update(i for i in row.terms if i in meta.properties or i in meta.classes)
    return found
