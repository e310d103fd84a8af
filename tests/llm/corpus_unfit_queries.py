"""Queries of procedures that look like what a question asks and ask something else: none of them
may be followed."""

from __future__ import annotations

from rlm.llm.offline.asked.kinds import Asked

ONE, ALL = "rdfs:subClassOf", "rdfs:subClassOf+"
CORES = {
    "subclasses": f"?x {ONE} $ENTITY_1",
    "all_subclasses": f"?x {ALL} $ENTITY_1",
    "superclasses": f"$ENTITY_1 {ONE} ?x",
    "all_superclasses": f"$ENTITY_1 {ALL} ?x",
    "properties_by_domain": "?x rdfs:domain $ENTITY_1",
    "properties_by_range": "?x rdfs:range $ENTITY_1",
    "instances": "?x a $ENTITY_1",
}
AROUND = {
    "a label first": "SELECT DISTINCT ?x WHERE {{ OPTIONAL {{ ?x rdfs:label ?l }} {0} }}",
    "its own first": (
        "SELECT DISTINCT ?x WHERE {{ OPTIONAL {{ $ENTITY_1 rdfs:subClassOf ?x }} {0} }}"
    ),
    "others first": "SELECT DISTINCT ?x WHERE {{ OPTIONAL {{ owl:ObjectProperty ^a|^a ?x }} {0} }}",
    "a label of others": "SELECT ?x WHERE {{ {0} OPTIONAL {{ ?y rdfs:label ?l }} }}",
    "another variable": "SELECT DISTINCT ?x WHERE {{ {0} FILTER(isIRI(?X)) }}",
    "one name taken away": "SELECT ?x WHERE {{ {0} FILTER(?x != owl:Nothing) }}",
    "a name with signs": (
        "SELECT ?x WHERE {{ {0} FILTER(?x != <http://www.w3.org/2002/07/owl#Nothing&&isIRI(?x)>) }}"
    ),
    "rows left out": "SELECT ?x WHERE {{ {0} }} ORDER BY ?x OFFSET 1",
    "limited twice": "SELECT ?x WHERE {{ {0} }} LIMIT 1 LIMIT 100",
    "limited before ordered": "SELECT ?x WHERE {{ {0} }} LIMIT 100 ORDER BY ?x",
    "nothing": "SELECT ?x WHERE {{ {0} FILTER(false) }}",
    "in a group": "SELECT ?x WHERE {{ {{ {0} }} }}",
    "a constant": "SELECT ?x WHERE {{ VALUES ?x {{ owl:Thing }} {0} }}",
    "a part of the name": "SELECT ?x WHERE {{ {0} FILTER(CONTAINS(STR(?x), 'A')) }}",
    "either": "SELECT ?x WHERE {{ {0} FILTER(isIRI(?x) || isBlank(?x)) }}",
    "not": "SELECT ?x WHERE {{ {0} FILTER(!isIRI(?x)) }}",
    "a gap with a tail": "SELECT ?x WHERE {{ {0} . ?x a $ENTITY_1x }}",
    "a comment": "SELECT ?x WHERE {{ {0} # }}",
    "an escape": "SELECT ?x WHERE {{ {0} FILTER(isIRI(\\u003fx)) }}",
}
NO_SELF = (
    "properties_by_domain",
    "properties_by_range",
    "instances",
)  # a term may be among these of its own
TYPES = "VALUES ?t { owl:Class rdfs:Class }"
ABOVE = "?x rdfs:subClassOf ?y FILTER(isIRI(?y) && ?y NOT IN (?x, owl:Thing))"
LOOKED_AT = "?x rdfs:label|skos:prefLabel|skos:altLabel|a ?l"
HAS_TEXT = "FILTER(CONTAINS(LCASE(STR(?x)), $TEXT_1) || CONTAINS(LCASE(?l), $TEXT_1))"
PROPERTIES = (
    "VALUES ?t { rdf:Property owl:ObjectProperty owl:DatatypeProperty owl:AnnotationProperty }"
)


def _select(pattern: str) -> str:
    return f"SELECT DISTINCT ?x WHERE {{ {pattern} }}"


def _count(pattern: str) -> str:
    return f"SELECT (COUNT(DISTINCT ?x) AS ?n) WHERE {{ {pattern} }}"


def _search(pattern: str, columns: str = "?x ?l ?t") -> str:
    return f"SELECT {columns} WHERE {{ {pattern} }}"


_ROOTS = {
    "minus first": f"MINUS {{ {ABOVE} }} {TYPES} ?x a ?t",
    "minus between": f"{TYPES} MINUS {{ {ABOVE} }} ?x a ?t",
    "another ?y": f"{TYPES} ?x a ?t MINUS {{ {ABOVE.replace('isIRI(?y)', 'isIRI(?Y)')} }}",
    "another ?x inside": f"{TYPES} ?x a ?t MINUS {{ {ABOVE.replace('(?x,', '(?X,')} }}",
    "another ?x outside": f"{TYPES} ?x a ?t FILTER(isIRI(?X)) MINUS {{ {ABOVE} }}",
    "another top": f"{TYPES} ?x a ?t MINUS {{ {ABOVE.replace('owl:Thing', 'owl:thing')} }}",
    "two lists of types": f"VALUES ?t {{ rdfs:Class }} {TYPES} ?x a ?t MINUS {{ {ABOVE} }}",
    "the type is above": f"{TYPES} ?x a ?t MINUS {{ {ABOVE.replace('?y', '?t')} }}",
    "it is above itself": (
        f"{TYPES} ?x a ?t MINUS {{ ?x {ONE} ?x FILTER(isIRI(?x) && ?x != owl:Thing) }}"
    ),
    "itself counts": (
        f"{TYPES} ?x a ?t MINUS {{ ?x {ONE} ?y FILTER(isIRI(?y) && ?y != owl:Thing) }}"
    ),
    "a longer variable": f"{TYPES} ?x a ?t MINUS {{ {ABOVE.replace('?y NOT', '?yNOT')} }}",
    "a name with signs": (
        f"{TYPES} ?x a ?t MINUS {{ ?x {ONE} ?y FILTER(?y != ?x && "
        "?y != <http://www.w3.org/2002/07/owl#Thing&&isIRI(?y)>) }"
    ),
    "its own type": f"VALUES ?x {{ owl:Class rdfs:Class }} ?x a ?x MINUS {{ {ABOVE} }}",
}
_SEARCHES = {
    "type with a filter": _search(f"{LOOKED_AT} OPTIONAL {{ ?x a ?t FILTER(false) }} {HAS_TEXT}"),
    "type first": _search(f"OPTIONAL {{ ?x a ?t }} {LOOKED_AT} {HAS_TEXT}"),
    "another ?x": _search(
        f"{LOOKED_AT} OPTIONAL {{ ?x a ?t }} {HAS_TEXT.replace('STR(?x)', 'STR(?X)')}"
    ),
    "another ?l": _search(f"{LOOKED_AT} OPTIONAL {{ ?x a ?t }} {HAS_TEXT.replace('(?l)', '(?L)')}"),
    "a label of itself": _search(
        f"{LOOKED_AT.replace('?l', '?x')} OPTIONAL {{ ?x a ?t }} {HAS_TEXT.replace('?l', '?x')}",
        "?x ?x ?t",
    ),
    "label and type in one": _search(f"{LOOKED_AT} OPTIONAL {{ ?x a ?l }} {HAS_TEXT}", "?x ?l ?l"),
    "columns swapped": _search(f"{LOOKED_AT} OPTIONAL {{ ?x a ?t }} {HAS_TEXT}", "?x ?t ?l"),
}
_COUNTS = {
    "all_superclasses": [
        _count(f"$ENTITY_1 {ONE}* ?x FILTER(isIRI(?x))"),
        _count(f"$ENTITY_1 {ALL} ?x"),
    ],
    "all_subclasses": [
        _count(f"?x {ONE}* $ENTITY_1 FILTER(isIRI(?x))"),
        _count(f"?x {ALL} $ENTITY_1"),
    ],
    "superclasses": [
        _count(f"$ENTITY_1 {ONE} ?x"),
        _count(f"$ENTITY_1 {ONE} ?x FILTER(!isBlank(?x))"),
    ],
    "properties": [
        _count(f"VALUES ?t {{ owl:ObjectProperty }} {PROPERTIES} ?x a ?t FILTER(isIRI(?x))"),
        _count(f"{PROPERTIES} ?x a ?t"),
    ],
    "object_properties": [
        _count("?x a owl:ObjectProperty FILTER(isIRI(?X))"),
        "SELECT (COUNT(?x) AS ?n) WHERE { ?x a owl:ObjectProperty FILTER(isIRI(?x)) }",
    ],
    "triples": [
        "SELECT (COUNT(DISTINCT ?s) AS ?n) WHERE { ?s ?p ?o }",
        "SELECT (COUNT(*) AS ?n) WHERE { ?s ?s ?o }",
        "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o FILTER(isIRI(?s)) }",
    ],
}
_INHERITED = {
    "properties_by_domain": f"?x rdfs:domain ?a . $ENTITY_1 {ONE}* ?b",
    "properties_by_range": f"?x rdfs:range ?a . $ENTITY_1 {ONE}* ?b",
    "instances": f"?x a ?a . ?b {ONE}* $ENTITY_1",
}
_RENAMED = {
    "properties_by_domain": f"SELECT ?y WHERE {{ ?y rdfs:domain ?x . $ENTITY_1 {ONE}* ?other }}",
    "instances": f"SELECT ?y WHERE {{ ?y a ?x . ?other {ONE}* $ENTITY_1 }}",
}
_YES_NO = (
    f"$ENTITY_1 {ALL} $ENTITY_2 FILTER(isIRI(?X))",
    f"$ENTITY_1 {ALL} $ENTITY_2 FILTER(?X != $ENTITY_1)",
    f"$ENTITY_1 {ALL} $ENTITY_2 FILTER(isIRI(?x))",
    f"$ENTITY_1 {ALL} $ENTITY_2 OPTIONAL {{ ?x rdfs:label ?l FILTER(false) }}",
    f"$ENTITY_1 {ONE}* $ENTITY_2",
    f"$ENTITY_2 {ALL} $ENTITY_1",
    f"OPTIONAL {{ $ENTITY_1 {ALL} $ENTITY_2 }}",
)


def _all() -> list[tuple[str, Asked, str]]:
    made = []
    for kind, core in CORES.items():
        made += [
            (f"{kind}: {name}", Asked(kind, ("A",)), text.format(core))
            for name, text in AROUND.items()
        ]
    for kind in NO_SELF:
        query = _select(f"{CORES[kind]} FILTER(?x != $ENTITY_1)")
        made.append((f"{kind}: without itself", Asked(kind, ("A",)), query))
    made += [
        (f"roots: {name}", Asked("roots"), _select(pattern)) for name, pattern in _ROOTS.items()
    ]
    made += [
        (f"search: {name}", Asked("search", text="a"), query) for name, query in _SEARCHES.items()
    ]
    for of, queries in _COUNTS.items():
        mentions = ("A",) if "class" in of else ()
        made += [
            (f"count {of}: {at}", Asked("count", mentions, of=of), query)
            for at, query in enumerate(queries)
        ]
    for kind, pattern in _INHERITED.items():
        made.append(
            (f"{kind}: two variables", Asked(kind, ("A",), inherited=True), _select(pattern))
        )
    for kind, query in _RENAMED.items():
        made.append((f"{kind}: two variables, renamed", Asked(kind, ("A",), inherited=True), query))
    asked = Asked("is_subclass", ("A", "B"))
    return made + [
        (f"is_subclass: {at}", asked, f"ASK {{ {pattern} }}") for at, pattern in enumerate(_YES_NO)
    ]


UNFIT = _all()
"""(name, question, query)."""
