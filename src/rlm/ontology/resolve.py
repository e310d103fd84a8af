"""From what somebody wrote to an IRI that the graph has: CURIE, IRI, <IRI>, or a name that only one term has."""

from __future__ import annotations

import re
from collections.abc import Collection

from rlm.errors import OntologyError
from rlm.ontology.answer import Engine
from rlm.ontology.bind import term_source
from rlm.ontology.meta import GraphMeta
from rlm.ontology.nearest import not_found
from rlm.ontology.search import exact_names
from rlm.ontology.terms import iri as iri_term

_ANYWHERE = "ASK {{ {{ {x} ?p ?o }} UNION {{ ?s ?p {x} }} UNION {{ ?s {x} ?o }} }}"
_BARE = re.compile(r"[^:<>]+")


def resolve(engine: Engine, meta: GraphMeta, name: str) -> str:
    """The IRI. Raises OntologyError with the nearest names when the graph has no such thing."""
    if not isinstance(name, str) or not name.strip():
        raise OntologyError("no name given: write a CURIE as prov:Activity, or an IRI")
    name = name.strip()
    if _BARE.fullmatch(name):
        return _by_name(meta, name)
    iri = meta.prefixes.expand(name)
    if iri in meta.classes or iri in meta.properties or iri in meta.labels or iri in meta.named_individuals:
        return iri
    if occurs(engine, iri):
        return iri
    raise not_found(meta, name)


def occurs(engine: Engine, iri: str) -> bool:
    """Whether an IRI is anywhere in the graph: as a subject, a predicate or an object."""
    return bool(engine.query(_ANYWHERE.format(x=term_source(iri_term(iri)))).boolean)


def _by_name(meta: GraphMeta, name: str) -> str:
    found = exact_names(meta, name)
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(map(meta.curie, found[:5]))
        raise OntologyError(f"{name!r} is the name of {len(found)} terms ({names}): write which one")
    raise not_found(meta, name)


def resolve_property(engine: Engine, meta: GraphMeta, name: str) -> str:
    """The IRI of a property. Raises OntologyError with the nearest properties when there is none."""
    properties: Collection[str] = meta.properties.keys() | meta.pred_freq.keys()
    if _BARE.fullmatch(name.strip()):
        found = [iri for iri in exact_names(meta, name.strip()) if iri in properties]
        if len(found) == 1:
            return found[0]
        raise not_found(meta, name, "property", sorted(properties))
    iri = meta.prefixes.expand(name)
    if iri in properties or (meta.sampled and _in_use(engine, iri)):
        return iri
    raise not_found(meta, name, "property", sorted(properties))


def _in_use(engine: Engine, prop: str) -> bool:
    return bool(engine.query(f"ASK {{ ?s {term_source(iri_term(prop))} ?o }}").boolean)
