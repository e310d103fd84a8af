"""`sparql_peek`: what one class, property or thing is like, by a few bounded queries."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import Any

from rlm.errors import EndpointError, OntologyError, QueryTimeout
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.labels import is_language_tag, pick
from rlm.ontology.meta.graph_meta import NONE, GraphMeta
from rlm.ontology.query.shape import classes_of, compared_texts, names_of
from rlm.ontology.terms import Term, term_text
from rlm.ontology.views.links import counts, labels_of, shown_name, source
from rlm.ontology.views.listing import Page
from rlm.ontology.views.resolve import resolve
from rlm.ontology.vocabulary import META_TYPES, TYPE, XSD
from rlm.tools.sparql_schema import COMMON, LABEL_CHARS, NAME_CHARS, check_mode
from rlm.tools.toolbox import check_count, check_text, clip
from rlm.tools.views import fit

PEEK_LIMIT = 50
PEEK_CHARS = 4000
RELATED_CHARS = 400
"""What of it is left for the procedures about the resource."""
CELL_CHARS = 160
"""The most of one value in a sample."""
LISTED = 12
"""Names in one list of a class's or property's schema."""
SUBCLASSES = 200
"""Subclasses whose instances are looked at with those of a class."""
LISTED_MEMBERS = 50
"""So many that owl:oneOf alone gives."""
INSTANCES = 200
"""Instances whose predicates are counted for the schema of a class."""
KINDS = 1000
CHECKED_NAMES, WRONG_NAMES, FAULTS = 20, 3, 4
"""Names of a query that are looked up when it found nothing, those that are told of each kind, and
all that is told."""
TAGS = 40
DATATYPES = ("integer", "decimal", "double", "int", "date", "dateTime", "gYear", "anyURI")
"""What a string of a query may be in the graph."""
HINT_S = 2.0

PEEK_MODES = ("sample", "schema", "count")
SIZES = ("count_with_subclasses", "outgoing", "count")
"""Of these counts, the first that there is says how many rows a sample is of."""


def peek(
    engine: Engine, meta: GraphMeta, resource: str, limit: int, output_mode: str
) -> dict[str, Any]:
    """Rows, schema or counts of a class, property or thing. OntologyError names the nearest."""
    check_mode(output_mode, PEEK_MODES)
    check_count(limit, "limit", PEEK_LIMIT)
    iri = resolve(engine, meta, check_text(resource, "resource", NAME_CHARS))
    found: dict[str, Any] = {
        "uri": meta.curie(iri),
        "label": clip(meta.label(iri), LABEL_CHARS),
        "kind": meta.kind(iri),
    }
    looked = {"sample": _sample, "schema": _schema, "count": _count}[output_mode](
        _Resource(engine, meta, iri), limit
    )
    return fit(found | looked, PEEK_CHARS - RELATED_CHARS)


class _Resource:
    """An IRI and what is asked about it."""

    def __init__(self, engine: Engine, meta: GraphMeta, iri: str) -> None:
        self.engine, self.meta, self.iri = engine, meta, iri
        self.node = source(iri)
        self.is_class, self.is_property = (
            iri in meta.classes,
            iri in meta.properties or iri in meta.pred_freq,
        )
        below = [*meta.equivalents.get(iri, ()), *meta.below(iri)] if self.is_class else []
        below = [each for each in below if meta.classes.get(each) or meta.sampled]
        kinds = (iri, *below[:SUBCLASSES])
        listed = [(one, kind) for kind in kinds for one in meta.enumerated.get(kind, NONE)]
        self.partly = len(below) > SUBCLASSES or len(listed) > LISTED_MEMBERS
        self.instances = f"VALUES ?c {{ {' '.join(map(source, kinds))} }} ?s <{TYPE}> ?c ."
        if pairs := [f"({source(s)} {source(c)})" for s, c in listed[:LISTED_MEMBERS]]:
            more = f"VALUES (?s ?c) {{ {' '.join(pairs)} }}"
            self.instances = f"{{ {self.instances} }} UNION {{ {more} }}"

    def rows(self, query: str, limit: int) -> Page:
        answer = self.engine.query(query, limit=limit)
        rows, more = answer.rows, answer.truncated
        return Page(rows, len(rows) + more, counted=not more)

    def number(self, query: str) -> list[int]:
        """The numbers in the only row."""
        [row] = self.rows(query, 1)
        return [int(term["v"]) for term in row.values()]

    def text(self, term: Term) -> str:
        return clip(term_text(term, self.meta.prefixes), CELL_CHARS)


def _sample(one: _Resource, limit: int) -> dict[str, Any]:
    if one.is_class:
        found = one.rows(f"SELECT DISTINCT ?s WHERE {{ {one.instances} }}", limit)
    elif one.is_property:
        found = one.rows(f"SELECT ?s ?o WHERE {{ ?s {one.node} ?o }}", limit)
    else:
        found = one.rows(f"SELECT ?p ?o WHERE {{ {one.node} ?p ?o }}", limit)
    if one.is_class and not found:
        return {"rows": [], "note": "no instances; output_mode='schema' says how the class is used"}
    if found.rest:
        with suppress(OntologyError):  # a slow endpoint may not count
            sizes = _count(one, limit)
            found.total = next(sizes[name] for name in SIZES if name in sizes)
            found.counted = not one.partly
    if one.is_class:
        return {"rows": _instances(one, found)}
    return {"rows": found.map(lambda row: {name: one.text(term) for name, term in row.items()})}


def _instances(one: _Resource, found: Page) -> Page:
    named = [row["s"]["v"] for row in found if row["s"]["t"] == "iri"]
    labels, kinds = labels_of(one.engine, one.meta, named), _kinds(one, named)

    def entry(row: dict[str, Term]) -> dict[str, str]:
        term = row["s"]
        said = {"instance": one.text(term)}
        if label := pick(labels.get(term["v"], ())):
            said["label"] = clip(label, LABEL_CHARS)
        if term["v"] in kinds:
            said["class"] = kinds[term["v"]]
        return said

    return found.map(entry)


def _kinds(one: _Resource, iris: list[str]) -> dict[str, str]:
    """The subclass that an instance is of, for those that are not of the class itself."""
    query = (
        f"SELECT ?s ?c WHERE {{ VALUES ?s {{ {' '.join(map(source, iris))} }} {one.instances} }}"
        " ORDER BY ?s ?c"
    )
    found: dict[str, list[Term]] = {}
    for row in one.rows(query, KINDS):
        found.setdefault(row["s"]["v"], []).append(row["c"])
    return {
        s: one.text(kinds[0])
        for s, kinds in found.items()
        if all(kind["v"] != one.iri for kind in kinds)
    }


def _schema(one: _Resource, limit: int) -> dict[str, Any]:
    meta, iri = one.meta, one.iri
    made: dict[str, Any] = {"comment": clip(meta.comments.get(iri, ""), CELL_CHARS)}
    if one.is_class:
        above = meta.above(iri)
        inherited = dict.fromkeys(
            prop for parent in above for prop in meta.domain_of.get(parent, NONE)
        )
        made |= {
            "superclasses": _names(meta, meta.supers.get(iri, NONE)),
            "subclasses": _names(meta, meta.subs.get(iri, NONE)),
            "properties": _names(meta, meta.domain_of.get(iri, NONE)),
            "inherited_properties": _names(meta, list(inherited)),
            "range_of": _names(meta, meta.range_of.get(iri, NONE)),
            "used_by_instances": _used_predicates(one, limit),
        }
        if (every := meta.instances(iri)) > INSTANCES or meta.sampled:
            part = f"at most {INSTANCES}" if meta.sampled else f"{INSTANCES} of {every:,}"
            made["note"] = f"used_by_instances counts {part} instances"
    elif one.is_property:
        made |= {
            "domain": _names(meta, meta.doms.get(iri, NONE)),
            "range": _names(meta, meta.rngs.get(iri, NONE)),
            "superproperties": _names(meta, meta.super_properties.get(iri, NONE)),
            "inverse_of": _names(meta, meta.inverses.get(iri, NONE)),
        }
    else:
        types = one.rows(
            f"SELECT DISTINCT ?t WHERE {{ {one.node} <{TYPE}> ?t }} ORDER BY ?t", LISTED
        )
        used = [
            {"predicate": meta.curie(prop), "count": number}
            for prop, number in counts(one.engine, iri, "out").items()
        ]
        made |= {
            "types": types.map(lambda row: one.text(row["t"])),
            "predicates": Page(used[: max(limit, LISTED)], len(used)),
        }
    return {name: value for name, value in made.items() if value}


def _used_predicates(one: _Resource, limit: int) -> list[dict[str, Any]]:
    """The predicates that some of the instances have, whatever the schema says."""
    some = f"SELECT DISTINCT ?s WHERE {{ {one.instances} }} LIMIT {INSTANCES}"
    query = (
        f"SELECT ?p (COUNT(*) AS ?n) WHERE {{ {{ {some} }} ?s ?p ?o }} GROUP BY ?p ORDER BY"
        " DESC(?n) ?p"
    )
    found = one.rows(query, max(limit, LISTED))
    if found and "p" not in found[0]:  # some engines give a row to no group
        return []
    return found.map(lambda row: {"predicate": one.text(row["p"]), "count": int(row["n"]["v"])})


def _names(meta: GraphMeta, iris: Any) -> list[str]:
    return Page((clip(shown_name(meta, iri), CELL_CHARS) for iri in iris[:LISTED]), len(iris))


def _count(one: _Resource, limit: int) -> dict[str, Any]:
    del limit  # numbers have no length
    if one.is_class and one.iri not in META_TYPES and not one.meta.sampled:
        own, every = one.meta.classes[one.iri], one.meta.instances(one.iri)
        return {"count": own, "count_with_subclasses": every}
    if one.is_class:
        [own] = one.number(f"SELECT (COUNT(DISTINCT ?s) AS ?n) WHERE {{ ?s <{TYPE}> {one.node} }}")
        [every] = one.number(f"SELECT (COUNT(DISTINCT ?s) AS ?n) WHERE {{ {one.instances} }}")
        made: dict[str, Any] = {"count": own, "count_with_subclasses": every}
        return made | (
            {"note": f"only {SUBCLASSES} of the subclasses were counted"} if one.partly else {}
        )
    if one.is_property:
        asked = "(COUNT(*) AS ?n) (COUNT(DISTINCT ?s) AS ?ns) (COUNT(DISTINCT ?o) AS ?no)"
        statements, subjects, objects = one.number(f"SELECT {asked} WHERE {{ ?s {one.node} ?o }}")
        return {"count": statements, "subjects": subjects, "objects": objects}
    [outgoing] = one.number(f"SELECT (COUNT(*) AS ?n) WHERE {{ {one.node} ?p ?o }}")
    [incoming] = one.number(f"SELECT (COUNT(*) AS ?n) WHERE {{ ?s ?p {one.node} }}")
    return {"count": outgoing + incoming, "outgoing": outgoing, "incoming": incoming}


def find_faults(engine: Engine, meta: GraphMeta, query: str) -> list[str]:
    """Why a query may have found nothing: names that the graph does not have, each with the
    nearest; texts that it has only otherwise; classes whose instances are all of subclasses."""
    return [
        *_find_misnamed(engine, meta, query),
        *_find_mistyped(engine, meta, query),
        *_find_empty_classes(meta, query),
    ][:FAULTS]


def _find_misnamed(engine: Engine, meta: GraphMeta, query: str) -> list[str]:
    wrong: list[str] = []
    named = (iri for iri in names_of(query, meta.prefixes) if not iri.startswith(XSD))
    for iri in islice(named, CHECKED_NAMES):
        try:
            resolve(engine, meta, meta.curie(iri))
        except (QueryTimeout, EndpointError):  # nobody knows, and the next one would wait as long
            break
        except OntologyError as exc:
            wrong.append(clip(str(exc), CELL_CHARS * 2))
        if len(wrong) == WRONG_NAMES:
            break
    return wrong


def _find_mistyped(engine: Engine, meta: GraphMeta, query: str) -> list[str]:
    """Texts that stand in the graph with another language, datatype or case only."""
    tags = [tag for tag in ("en", *meta.languages) if is_language_tag(tag)][:TAGS]
    kinds = ["", *(f"@{tag}" for tag in tags), *(f"^^<{XSD}{name}>" for name in DATATYPES)]
    wrong: list[str] = []
    for text, kind in compared_texts(query, meta.prefixes)[:WRONG_NAMES]:
        forms = " ".join(form + other for form in _other_cases(text) for other in kinds)
        asked = f"SELECT DISTINCT ?o {{ VALUES ?o {{ {forms} }} FILTER EXISTS {{ ?s ?p ?o }} }}"
        with suppress(OntologyError):  # only a hint
            if engine.query(f"ASK {{ ?s ?p {text}{kind} }}", timeout_s=HINT_S):
                continue
            if found := [row["o"] for row in engine.query(asked, timeout_s=HINT_S).rows]:
                shown = " and ".join(term_text(term, meta.prefixes) for term in found[:COMMON])
                short = "^^" + meta.curie(kind[3:-1]) if kind.startswith("^^") else kind
                named = (
                    clip(text, LABEL_CHARS) + short if kind else f"plain {clip(text, LABEL_CHARS)}"
                )
                told = f"no {named} but {clip(shown, CELL_CHARS)}"
                wrong.append(f"the graph has {told}: write this, or compare STR(?x)")
    return wrong


def _other_cases(text: str) -> list[str]:
    """A string as a query writes it, as it is and with its letters in other cases."""
    changed = (text.lower(), text.upper(), text.title(), text[0] + text[1:].capitalize())
    return list(dict.fromkeys((text, *changed))) if "\\" not in text else [text]


def _find_empty_classes(meta: GraphMeta, query: str) -> list[str]:
    if meta.sampled:
        return []
    empty = (iri for iri in classes_of(query, meta.prefixes) if meta.classes.get(iri) == 0)
    return [
        f"{meta.curie(iri)} has no instances of its own, its subclasses have {count:,}:"
        f" {_other_way(meta, iri)}"
        for iri in empty
        if (count := meta.instances(iri))
    ][:WRONG_NAMES]


def _other_way(meta: GraphMeta, iri: str) -> str:
    """How all instances of a class are found."""
    name = meta.curie(iri)
    if meta.is_reached_by_statements(iri):
        return f"write ?x a/rdfs:subClassOf* {name}"
    return f'some follow by definition, see ontology_view("instances", "{name}")'
