"""From what somebody names, a file or an endpoint, to an engine that answers, and to views of it.

>>> import rlm.ontology
>>> with rlm.ontology.open("ontology/prov.ttl") as onto:                      # doctest: +SKIP
...     for row in onto.tree("prov:Agent")["rows"]:
...         print("  " * row["depth"] + row["name"])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from rlm import config
from rlm.errors import OntologyError
from rlm.ontology.engine.formats import Named
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.engine.protocol import Answer, Engine, EngineLimits
from rlm.ontology.views.views import Views


def open_engine(
    source: Named,
    *,
    format: str | None = None,
    imports: Mapping[str, str | Path] | None = None,
    within: Sequence[Path] | None = None,
    cache_dir: Path | None = None,
    limits: EngineLimits = EngineLimits(),  # noqa: B008 - frozen
) -> Engine:
    """An engine for a file, for several files or a folder as one graph, or else for an endpoint
    that the config names. `imports`: IRI to the file that holds it, before what a catalogue beside
    the files says. `within`: the folders that a catalogue may lead to, all where None."""
    if not isinstance(source, str | Path) and len(source) == 1:
        source = source[0]
    if isinstance(source, str) and not (path := Path(source).expanduser()).exists():
        if "://" in source or source in config.endpoints():
            from rlm.ontology.remote.endpoints import open_endpoint  # a file needs no sockets

            return open_endpoint(source)
        if path.name == source and not path.suffix:
            raise OntologyError(
                f"there is no file {source!r}, and the config names no endpoint {source!r}"
            )
    return LocalEngine(
        source, format=format, imports=imports, within=within, cache_dir=cache_dir, limits=limits
    )


class Ontology(Views):
    """One ontology, open: the views, SPARQL and `diff`. Close it, or use it in a `with`."""

    # as the commands call them
    search, describe = Views.search_entity, Views.describe_entity
    relations, path, stats = Views.probe_relationships, Views.find_path, Views.graph_stats

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process that answers."""
        self.engine.close()

    def query(self, sparql: str, *, limit: int = 1000, timeout_s: float | None = None) -> Answer:
        """SELECT, ASK, CONSTRUCT or DESCRIBE; the prefixes of the file need not be declared. `rows`
        holds terms as {"t", "v"}; `text_rows(onto.meta.prefixes)` has plain texts."""
        return self.engine.query(sparql, limit=limit, timeout_s=timeout_s)

    def card(self) -> str:
        """What a prompt contains of it: the sense card, and the schema's constraints."""
        from rlm.ontology.views.summary import schema_constraints, sense_card

        lang = self.lang
        parts = (sense_card(self.meta, lang=lang), schema_constraints(self.meta, lang=lang))
        return "\n".join(part for part in parts if part)

    def diff(self, other: str | Path | Views, *, summary: bool = False) -> dict[str, Any]:
        """What changed from this ontology to `other`, a newer release: terms added, removed,
        renamed and deprecated, labels, hierarchy, other statements. `summary`: numbers, and a few
        examples of each."""
        from rlm.ontology.views.diff import diff, summarize

        if not isinstance(other, Views):
            with open(other) as newer:
                return self.diff(newer, summary=summary)
        found = diff(self.engine, other.engine, lang=self.lang)
        return summarize(found) if summary else found


def open(
    source: Named,
    *,
    format: str | None = None,
    imports: Mapping[str, str | Path] | None = None,
    lang: str | None = None,
    cache_dir: Path | None = None,
) -> Ontology:
    """An ontology from a file, from several files or a folder as one graph, or from an endpoint
    that the config names. `imports`: IRI to the file that holds it; `lang`: of labels.
    NotRDF, OntologyError or QueryTimeout where it cannot be read."""
    engine = open_engine(source, format=format, imports=imports, cache_dir=cache_dir)
    try:
        return Ontology(engine, lang=lang)
    except BaseException:
        engine.close()
        raise
