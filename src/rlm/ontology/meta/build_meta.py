"""GraphMeta from a pyoxigraph store: what `gathering` finds there, and names for the namespaces.

The names are given on this side of the engine's worker, which knows the file's own prefixes and
needs to load less.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rlm.ontology.meta.graph_meta import INDIVIDUALS, VERSION, GraphMeta
from rlm.ontology.query.prefixing import name_namespaces

if TYPE_CHECKING:
    from pyoxigraph import Store

NAMED_INDIVIDUALS = 500
"""So many individuals have a say in which namespaces are named."""


def build_meta(store: Store, prefixes: Mapping[str, str] | None = None) -> GraphMeta:
    """What is in the store, all graphs together. `prefixes` are those that the file binds, where
    they are known."""
    from rlm.ontology.meta.gathering import (
        gather,
    )  # it loads the engine, which the host of a worker does without

    found, preferred = gather(store, INDIVIDUALS)
    return GraphMeta.from_dict(completed(found, prefixes or {}, preferred))


def completed(
    found: dict[str, Any], prefixes: Mapping[str, str], preferred: Mapping[str, str]
) -> dict[str, Any]:
    """What was gathered, with all that `GraphMeta.from_dict` needs."""
    sample = found["individuals"]["sample"][:NAMED_INDIVIDUALS]
    in_use = (*found["classes"], *found["properties"], *sample, *found["pred_freq"])
    return {**found, "version": VERSION, "namespaces": name_namespaces(prefixes, preferred, in_use)}
