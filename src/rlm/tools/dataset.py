"""The working data of a session as tools: facts that a run notes for later ones (PM-09)."""

from __future__ import annotations

from typing import Any

from rlm.handles import Meter
from rlm.ontology.datasets.dataset import DatasetMeta
from rlm.tools.toolbox import Toolbox, check_count, check_text
from rlm.tools.views import VIEW_CHARS, fit

FACT_CHARS = 2_000
QUERY_CHARS = 20_000
QUERY_ROWS = 25


def dataset_tools(dataset: DatasetMeta, meter: Meter) -> Toolbox:
    """Tools over one dataset. Their time is the engine's, which has limits of its own."""
    tools = _Dataset(dataset)
    box = Toolbox()
    for function in (tools.dataset_add, tools.dataset_query, tools.dataset_stats):
        box.add(function, meter, untimed=True)
    return box


class _Dataset:
    def __init__(self, dataset: DatasetMeta) -> None:
        self._dataset = dataset

    def dataset_add(self, subject: str, predicate: str, value: Any) -> bool:
        """Note a fact in the session's dataset; kept for later runs. subject, predicate:
        prefix:name or IRI. value: text, number or True/False; {'t': 'iri', 'v': IRI} for a thing.
        False: it was there already."""
        check_text(subject, "subject", FACT_CHARS)
        check_text(predicate, "predicate", FACT_CHARS)
        return self._dataset.mem_add(subject, predicate, value, who="model")

    def dataset_query(self, query: str, limit: int = 10) -> list[dict[str, str]]:
        """SPARQL over the facts of the session's dataset; limit up to 25 rows, fewer when they are
        long. Who said them: GRAPH <urn:rlm:NAME:prov>, with the name from dataset_stats."""
        check_count(limit, "limit", QUERY_ROWS)
        answer = self._dataset.query(check_text(query, "query", QUERY_CHARS), limit=limit)
        if answer.kind == "ask":
            return [{"boolean": str(bool(answer.boolean)).lower()}]
        return fit(answer.text_rows(self._dataset.prefixes), VIEW_CHARS)

    def dataset_stats(self) -> dict[str, Any]:
        """The graphs of the session's dataset and their sizes."""
        return fit(self._dataset.stats(), VIEW_CHARS)
