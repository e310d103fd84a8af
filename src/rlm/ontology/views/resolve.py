"""From what somebody wrote to an IRI of the graph: CURIE, IRI, <IRI>, or a name of one term only.

Classes and properties are known by their names. Individuals may be many, so they are asked for: by
the local name in every namespace, and by labels that are just this text, in the languages that
there are.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from rlm.errors import OntologyError
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.labels import name_of
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.terms import iri as iri_term
from rlm.ontology.terms import literal, local_name, term_source
from rlm.ontology.views.search import exact_names, not_found
from rlm.ontology.vocabulary import ALTERNATIVES, LABELS, OBO

_ANYWHERE = "ASK {{ {{ {x} ?p ?o }} UNION {{ ?s ?p {x} }} UNION {{ ?s {x} ?o }} }}"
_BARE = re.compile(r"[^:<>]+")
_OBO_ID = re.compile(r"^([A-Za-z]+):(\d+)$")
_NO_NAME = re.compile(r'[\x00-\x20<>"{}|^`\\]')
MOST_SAME, MOST_CHARS, MOST_LANGUAGES, MOST_NAMESPACES = 6, 80, 20, 60


def resolve(engine: Engine, meta: GraphMeta, name: str) -> str:
    """The IRI. Raises OntologyError with the nearest names when the graph has no such thing."""
    if not isinstance(name, str) or not name.strip():
        raise OntologyError("no name given: write a CURIE as prov:Activity, or an IRI")
    name = name.strip()
    if _BARE.fullmatch(name):
        return _by_name(engine, meta, name)
    known = (meta.classes, meta.properties, meta.labels, meta.named_things)
    if any(name in names for names in known):
        return name  # of whatever scheme: `dtmi:dtdl:class:Component` looks like a CURIE
    obo = _OBO_ID.sub(rf"{OBO}\1_\2", name)  # GO:0008150, as OBO files write it
    is_obo = any(obo in names for names in known) or _has_obo_prefix(meta, name)
    iri = obo if is_obo else meta.prefixes.expand(name)
    if any(iri in names for names in known) or occurs(engine, iri):
        return iri
    raise not_found(meta, name)


def _has_obo_prefix(meta: GraphMeta, name: str) -> bool:
    """Whether other terms have such an identifier, and the prefix means nothing else."""
    found = _OBO_ID.match(name)
    if found is None or found[1] in meta.prefixes:
        return False
    return any(iri.startswith(f"{OBO}{found[1]}_") for iri in (*meta.classes, *meta.properties))


def occurs(engine: Engine, iri: str) -> bool:
    """Whether an IRI is anywhere in the graph: as a subject, a predicate or an object."""
    return bool(engine.query(_ANYWHERE.format(x=term_source(iri_term(iri)))).boolean)


def find_named(engine: Engine, meta: GraphMeta, name: str) -> list[str]:
    """The terms of just this name or label; individuals only where no class or property is, or
    where these are called so in other letters: `i` is no `I` where there is an `i`."""
    terms = exact_names(meta, name)
    if any(_is_spelt_so(meta, iri, name) for iri in terms):
        return terms
    if len(name) > MOST_CHARS or not name.isprintable():
        return terms
    return _by_local_name(engine, meta, name) or terms or _by_own_label(engine, meta, name)


def _is_spelt_so(meta: GraphMeta, iri: str, name: str) -> bool:
    labels = (*meta.labels.get(iri, ()), *meta.alternatives.get(iri, ()))
    return name in (local_name(iri), name_of(iri), *(text for text, _ in labels))


def _by_local_name(engine: Engine, meta: GraphMeta, name: str) -> list[str]:
    if _NO_NAME.search(name):
        return []
    spaces = list(dict.fromkeys(meta.prefixes.values()))[:MOST_NAMESPACES]
    wanted = " ".join(term_source(iri_term(space + name)) for space in spaces)
    return _first(engine, f"VALUES ?x {{ {wanted} }} ?x ?p ?o") if wanted else []


def _by_own_label(engine: Engine, meta: GraphMeta, name: str) -> list[str]:
    forms = dict.fromkeys((name, name.lower(), name.capitalize(), name.title()))
    tags = ["", *(tag for tag in list(meta.languages)[:MOST_LANGUAGES] if tag)]
    texts = " ".join(term_source(literal(form, lang=tag or None)) for form in forms for tag in tags)
    labels = " ".join(term_source(iri_term(iri)) for iri in (*LABELS, *ALTERNATIVES))
    where = f"VALUES ?p {{ {labels} }} VALUES ?l {{ {texts} }} ?x ?p ?l FILTER(isIRI(?x))"
    return _first(engine, where)


def _first(engine: Engine, pattern: str) -> list[str]:
    found = engine.query(f"SELECT DISTINCT ?x WHERE {{ {pattern} }} ORDER BY ?x LIMIT {MOST_SAME}")
    return [row["x"]["v"] for row in found.rows]


def _by_name(engine: Engine, meta: GraphMeta, name: str) -> str:
    found = find_named(engine, meta, name)
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(map(meta.curie, found[:5]))
        what = f"{name!r} is the name of {len(found)} terms ({names})"
        raise OntologyError(f"{what}: write which one")
    raise not_found(meta, name)


def resolve_property(engine: Engine, meta: GraphMeta, name: str) -> str:
    """The IRI of a property. OntologyError with the nearest ones when there is none."""
    properties: Collection[str] = meta.properties.keys() | meta.pred_freq.keys()
    if _BARE.fullmatch(name.strip()):
        found = [iri for iri in exact_names(meta, name.strip()) if iri in properties]
        if len(found) == 1:
            return found[0]
        raise not_found(meta, name, "property", sorted(properties))
    iri = name if name in properties else meta.prefixes.expand(name)
    in_use = f"ASK {{ ?s {term_source(iri_term(iri))} ?o }}"
    if iri in properties or (meta.sampled and engine.query(in_use).boolean):
        return iri
    raise not_found(meta, name, "property", sorted(properties))
