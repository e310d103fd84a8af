"""What a kind of question comes to over an ontology: its queries, and the words of its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rlm.llm.offline.asked.kinds import Asked, plural
from rlm.llm.offline.text.said import tidy

# -- The kinds of questions about an ontology: what is asked of the graph for each, and how its
# answers are named.


NOUNS = {
    "subclasses": ("direct subclass", "direct subclasses"),
    "all_subclasses": ("subclass at any depth", "subclasses at any depth"),
    "superclasses": ("direct superclass", "direct superclasses"),
    "all_superclasses": ("superclass at any depth", "superclasses at any depth"),
    "properties_by_domain": ("property with the domain", "properties with the domain"),
    "properties_by_range": ("property with the range", "properties with the range"),
    "instances": ("instance", "instances"),
    "roots": ("root of the class hierarchy", "roots of the class hierarchy"),
    "search": ("term", "terms"),
    "classes": ("declared class", "declared classes"),
    "properties": ("declared property", "declared properties"),
    "object_properties": ("declared object property", "declared object properties"),
    "datatype_properties": ("declared datatype property", "declared datatype properties"),
    "annotation_properties": ("declared annotation property", "declared annotation properties"),
    "individuals": ("individual", "individuals"),
    "triples": ("triple", "triples"),
    "namespaces": ("namespace", "namespaces"),
}
"""What is listed or counted: one, many."""

WIDER = {
    "subclasses": "at any depth",
    "superclasses": "at any depth",
    "instances": "with those of its subclasses",
    "properties_by_domain": "with those of its superclasses",
    "properties_by_range": "with those of its superclasses",
}
"""What else is counted beside a list or a number, and how that is said."""

CLASS_TYPES = ("owl:Class", "rdfs:Class")
PROPERTY_TYPES = (
    "rdf:Property",
    "owl:ObjectProperty",
    "owl:DatatypeProperty",
    "owl:AnnotationProperty",
)
OTHER_TYPES = ("owl:FunctionalProperty", "owl:InverseFunctionalProperty", "owl:TransitiveProperty",
               "owl:SymmetricProperty", "owl:Ontology")  # fmt: skip
DECLARED = {
    "classes": CLASS_TYPES,
    "properties": PROPERTY_TYPES,
    "object_properties": ("owl:ObjectProperty",),
    "datatype_properties": ("owl:DatatypeProperty",),
    "annotation_properties": ("owl:AnnotationProperty",),
}
_PATTERNS = {
    "subclasses": "?x rdfs:subClassOf {0} FILTER(isIRI(?x) && ?x != {0})",
    "all_subclasses": "?x rdfs:subClassOf+ {0} FILTER(isIRI(?x) && ?x != {0})",
    "superclasses": "{0} rdfs:subClassOf ?x FILTER(isIRI(?x) && ?x != {0})",
    "all_superclasses": "{0} rdfs:subClassOf+ ?x FILTER(isIRI(?x) && ?x != {0})",
    "properties_by_domain": "?x rdfs:domain {0} FILTER(isIRI(?x))",
    "properties_by_range": "?x rdfs:range {0} FILTER(isIRI(?x))",
    "instances": "?x a {0} FILTER(isIRI(?x))",
    "roots": (
        "VALUES ?t {{ owl:Class rdfs:Class }} ?x a ?t FILTER(isIRI(?x)) MINUS "
        "{{ ?x rdfs:subClassOf ?y FILTER(isIRI(?y) && ?y NOT IN (?x, owl:Thing)) }}"
    ),
}
DEPRECATED_ROOTS = (
    "SELECT DISTINCT ?x WHERE { { ?x owl:deprecated ?d FILTER(STR(?d) IN ('true', '1')) } UNION "
    f"{{ ?x a owl:DeprecatedClass }} {_PATTERNS['roots'].format()} }}"
)
_INHERITED = {
    "properties_by_domain": "{0} rdfs:subClassOf*/^rdfs:domain ?x FILTER(isIRI(?x))",
    "properties_by_range": "{0} rdfs:subClassOf*/^rdfs:range ?x FILTER(isIRI(?x))",
    "instances": "?x a/rdfs:subClassOf* {0} FILTER(isIRI(?x))",
}
SIDES = {"properties_by_domain": "domain", "properties_by_range": "range"}
"""Kinds that schema.org's `domainIncludes` and `rangeIncludes` answer as well: see `included`."""
_SEARCH = (
    "SELECT ?x ?l ?t WHERE {{ ?x rdfs:label|skos:prefLabel|skos:altLabel|a ?l OPTIONAL {{ ?x a ?t"
    " }} FILTER(CONTAINS(LCASE(STR(?x)), {0}) || CONTAINS(LCASE(?l), {0})) }}"
)
_OTHERS = (
    *(
        f"<http://purl.org/dc/{name}>"
        for name in ("terms/title", "elements/1.1/title", "terms/alternative")
    ),
    *(f"<http{s}://schema.org/{name}>" for s in ("", "s") for name in ("name", "alternateName")),
    *(f"<http://xmlns.com/foaf/0.1/{name}>" for name in ("name", "nick")),
    *(
        f"<http://www.geneontology.org/formats/oboInOwl#has{name}Synonym>"
        for name in ("Exact", "Related")
    ),
    "<http://purl.obolibrary.org/obo/IAO_0000118>",
    "skos:hiddenLabel",
)
OTHER_NAMES = (
    f"SELECT ?x ?l ?t WHERE {{{{ VALUES ?p {{{{ {' '.join(_OTHERS)} }}}} ?x ?p ?l OPTIONAL {{{{ ?x"
    " a ?t }} FILTER(isIRI(?x) && isLiteral(?l) && CONTAINS(LCASE(STR(?l)), {0})) }}"
)
"""What else has a text in its name: in those names that no procedure has room for."""
JOINING = (
    "SELECT DISTINCT ?x WHERE {{ {{ ?x rdfs:domain {0} ; rdfs:range {1} }} UNION {{ ?x rdfs:domain"
    " {1} ; rdfs:range {0} }} UNION {{ {0} ?x {1} }} UNION {{ {1} ?x {0} }} }}"
)
"""The properties that join two classes, by their domain and range or by a statement."""
PROBES = {
    "subclasses": ("rdfs:subClassOf", "in"),
    "all_subclasses": ("rdfs:subClassOf", "in"),
    "superclasses": ("rdfs:subClassOf", "out"),
    "all_superclasses": ("rdfs:subClassOf", "out"),
    "properties_by_domain": ("rdfs:domain", "in"),
    "properties_by_range": ("rdfs:range", "in"),
    "instances": ("rdf:type", "in"),
}
"""Kind → the links that are looked at: the predicate and the direction."""
IN_STATS = {"classes": "declared_classes", "individuals": "individuals", "triples": "triples"}
"""What graph_stats counts itself, in the sense of the questions."""
CHECKS = {
    "subclasses": "subclass_count",
    "all_subclasses": "all_subclass_count",
    "instances": "instances",
}
"""Kind → the number in a description that a list must agree with."""
NONE_IF = {"superclasses": "superclasses", "all_superclasses": "superclasses", "properties_by_domain": "properties",
           "properties_by_range": "range_of"}  # fmt: skip
"""Kind → the list of a description that must be empty where a query finds nothing."""


def base_kind(asked: Asked) -> str:
    """What is listed, or counted. A search for no text lists all terms of a kind."""
    kind = asked.of or "classes" if asked.kind == "count" else asked.kind
    if kind == "search" and not asked.text.strip() and asked.only:
        return plural(asked.only).replace(" ", "_")
    if kind == "search" and not asked.text.strip():
        return {"property": "properties", "individual": "individuals"}.get(asked.what, "classes")
    return kind


def names_needed(asked: Asked) -> int:
    """How many names a question of this kind must have."""
    kind = base_kind(asked)
    return 2 if kind in ("path", "is_subclass") else int(kind in PROBES or kind == "exists")


def wanted_kinds(asked: Asked) -> list[tuple[str, str]]:
    """For each name in the question: the kind of term that it must be, and the kind that it would
    rather be."""
    kind = base_kind(asked)
    if kind == "is_subclass":
        one, *rest = asked.mentions
        return [
            ("class" if _is_plain(one) else "class|individual", ""),
            *[("class", "")] * len(rest),
        ]
    if kind in PROBES:
        return [("class", "")] * len(asked.mentions)
    if asked.of == "types":
        return [("", "individual")]
    return [
        (asked.what, "class" if kind == "path" or (not asked.what and _is_plain(name)) else "")
        for name in asked.mentions
    ]


def _is_plain(name: str) -> bool:
    """Whether a name is a word of the language rather than a name as the ontology writes it: then a
    class is meant."""
    return name == name.lower() and ":" not in name


def query_for(asked: Asked, terms: Sequence[str] = ()) -> str:
    """The query that answers; '' for a kind that none does. `terms` in SPARQL's notation."""
    kind = base_kind(asked)
    if kind == "search":
        return _SEARCH.format(literal(asked.text.lower()))
    if kind == "is_subclass" and len(terms) == 2 and asked.of == "instance":
        return f"ASK {{ {terms[0]} a/rdfs:subClassOf* {terms[1]} }}"
    if kind == "is_subclass" and len(terms) == 2:
        return (
            f"ASK {{ {terms[0]} rdfs:subClassOf{'' if asked.of == 'direct' else '+'} {terms[1]} }}"
        )
    if kind == "individuals":
        return "SELECT DISTINCT ?x ?t WHERE { ?x a ?t FILTER(isIRI(?x)) }"
    if kind == "triples":
        return "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }"
    if kind in DECLARED:
        types = DECLARED[kind]
        values = (
            f"VALUES ?t {{ {' '.join(types)} }} ?x a ?t" if len(types) > 1 else f"?x a {types[0]}"
        )
        pattern = f"{values} FILTER(isIRI(?x))"
    else:
        pattern = (
            (_INHERITED if asked.inherited and kind in _INHERITED else _PATTERNS)
            .get(kind, "")
            .format(*terms)
        )
        pattern = f"?x a {only_type(asked)} . {pattern}" if asked.only else pattern
    counts = asked.kind == "count" and kind != "roots"  # of the roots owl:Thing is taken away
    head = "SELECT (COUNT(DISTINCT ?x) AS ?n)" if counts else "SELECT DISTINCT ?x"
    return f"{head} WHERE {{ {pattern} }}" if pattern else ""


def wider_query(asked: Asked, term: str) -> str:
    """The query that counts what is told beside an answer; '' where there is no such thing."""
    kind = base_kind(asked)
    if kind not in WIDER or asked.inherited:
        return ""
    if side := SIDES.get(kind):
        ways = "|".join(
            f"^{way}"
            for way in (
                f"rdfs:{side}",
                *(f"<http{s}://schema.org/{side}Includes>" for s in ("", "s")),
            )
        )
        return (
            f"SELECT (COUNT(DISTINCT ?x) AS ?n) WHERE {{ {term} rdfs:subClassOf*/({ways}) ?x"
            " FILTER(isIRI(?x)) }"
        )
    of = f"all_{kind}" if kind.endswith("classes") else kind
    return query_for(replace(asked, kind="count", of=of, inherited=of == kind), [term])


def only_type(asked: Asked) -> str:
    """The type of the one kind of property that is asked for."""
    return DECLARED[plural(asked.only).replace(" ", "_")][0]


def below_query(term: str) -> str:
    """The instances of the subclasses, for a class that has none of its own."""
    return f"SELECT DISTINCT ?x WHERE {{ ?x a/rdfs:subClassOf+ {term} FILTER(isIRI(?x)) }}"


def searched_types(asked: Asked) -> list[str]:
    """The types of what a search may find: `only` these, or all but these."""
    if asked.only:
        return ["only", only_type(asked)]
    if asked.what == "class":
        return ["only", *CLASS_TYPES]
    if asked.what == "property":
        return ["only", *PROPERTY_TYPES, *OTHER_TYPES[:-1]]
    if asked.what == "individual" or base_kind(asked) == "individuals":
        return [*CLASS_TYPES, *PROPERTY_TYPES, *OTHER_TYPES]
    return ["owl:Ontology"]


def literal(text: Any) -> str:
    """A text in SPARQL's notation."""
    return json.dumps(str(text), ensure_ascii=False)


# -- The words of an answer over an ontology.


# -- How an answer calls what was asked about, and what it says of how the names of a question were
# taken.


MENTION_CHARS = 80
_OF_QUESTIONS = re.compile(r"\b(?:each|every|not|per)\b", re.IGNORECASE)
"""Words of a question that are in no name unless the ontology has it so."""


def about_of(asked: Asked) -> str:
    """What stands behind the noun of an answer."""
    kind = base_kind(asked)
    if kind == "search":
        where = {"starts": "that begins with ", "ends": "that ends with "}.get(asked.where, "")
        return (
            f" with a name {where}“{shown(asked.text)}”"
            if where
            else f" with “{shown(asked.text)}” in the name"
        )
    if len(asked.mentions) == 1:
        name = shown(asked.mentions[0])
        return (
            f" “{name}”"
            if kind.startswith("properties_by")
            else f" of “{name}”"
            if kind in PROBES
            else ""
        )
    return ""


def shown(name: str) -> str:
    """A name from the question without what would make it an IRI."""
    name = tidy(name).strip("<> ")
    if re.search(r"\s", name):  # a label: what is no IRI in it stays
        local = re.sub(r"\S+://\S*[/#]|(?<!\w)[\w.-]*:(?=\w)", "", name)
    else:
        local = re.split(r"[/#:]", name.rstrip("/#:"))[-1] or "it"
    local = _unquoted(local)
    return local if len(local) <= MENTION_CHARS else local[: MENTION_CHARS - 1] + "…"


def label_of(term: Mapping[str, Any]) -> str:
    """A label to stand in quotes: nothing in it ends them, and nothing passes for another term."""
    return re.sub(r":(?=\S)", ": ", _unquoted(tidy(term["label"])))


def _unquoted(text: str) -> str:
    return re.sub('["`“”„«»]', "'", text)


def with_article(kind: str) -> str:
    return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"


def of_prefix(curie: str) -> str:
    """A name in words: no IRI that would count among those of the answer."""
    return f"“{shown(curie)}” of “{curie.partition(':')[0].strip('<')}”"


def notes_on(kind: str, name: str, term: Mapping[str, Any]) -> str:
    """What an answer says about how a name was taken; without a digit, which could pass for a
    count."""
    if term["how"] >= 3:
        return f"“{shown(name)}” is taken for “{label_of(term)}”, the nearest name"
    if term["same"] and kind != "describe":  # a description names the others itself
        others = (
            [of_prefix(curie) for curie in term["same"]] if isinstance(term["same"], list) else []
        )
        also = f"; there is also {' and '.join(others)}" if others else ""
        return f"of several called “{shown(name)}” this is {of_prefix(term['curie'])}{also}"
    if term["odd"] and kind in PROBES and not re.match("(?:rdfs?|owl):", term["curie"]):
        return f"“{shown(name)}” is {with_article(term['kind'])} here, not a class"
    return ""


def misread(asked: Asked, question: str, terms: Sequence[Any]) -> bool:
    """Whether a name that is not there is rather a piece of the question: nobody asked whether
    there is such a term.

    “length of each vessel”, “part of the nucleus”. What is quoted, and what looks like a name, is
    one.
    """
    for name, term in zip(asked.mentions, terms, strict=False):
        if (
            term is not None
            or asked.several
            or re.search(rf"[\"'`“‘„«<]{re.escape(name)}[\"'`”’“»>]", question)
        ):
            continue
        plain = name.islower() and len(name.split()) >= 3 and asked.kind != "exists"
        if " " in name and (plain or _OF_QUESTIONS.search(name)):
            return True
    return False


# -- The lines of a program that make its answer: a number, a list, and what is told beside them.


_PARTS = {
    "domain": r"\bdomains?\b",
    "range": r"\branges?\b",
    "inverse_of": r"\binverses?\b",
    "comment": r"\b(?:definition|defin(?:e|ed)|meaning|means?|meant|comment|rdfs:comment)\b",
    "label": r"(?<!with )(?<!the )\b(?:rdfs:)?label\b|\bthe label (?:of|for)\b",
    "alternatives": r"\b(?:synonyms?|alternative (?:labels?|names?)|other (?:labels|names))\b",
    "uri": r"(?<!with )(?<!with the )\b[iu]ri\b",
    "superproperties": r"\bsuper-?propert(?:y|ies)\b",
}
"""Part of a description → the words by which it is asked for."""
SEARCHED = {
    "class": ("class", "classes"),
    "property": ("property", "properties"),
    "individual": ("individual", "individuals"),
}
BELOW = ("instance of a subclass", "instances of subclasses")


def listing(asked: Asked, about: str = "") -> str:
    """The line that makes the answer out of `names` and `whole`, and `wider` where the kind has it."""
    given = ", ".join((_said(asked, about), *([] if asked.kind == "count" else ["whole"])))
    made = f"counted(len(names), {given}" if asked.kind == "count" else f"listed(names, {given}"
    return f"reply = {made}{_beside(asked)})"


def _nouns(asked: Asked, about: str = "") -> tuple[str, str]:
    kind = base_kind(asked)
    one, many = SEARCHED.get(asked.what, NOUNS[kind]) if kind == "search" else NOUNS[kind]
    if asked.only and kind not in DECLARED:
        one, many = (
            one.replace("property", asked.only),
            many.replace("properties", plural(asked.only)),
        )
    return one + about, many + about


def _said(asked: Asked, about: str) -> str:
    """The nouns as arguments; `by` says that they are so by another property than the usual one."""
    more = " + by" if base_kind(asked) in SIDES else ""
    return ", ".join(f"{noun!r}{more}" for noun in _nouns(asked, about))


def included(asked: Asked, term: str) -> list[str]:
    """The lines that add what `domainIncludes` and `rangeIncludes` say to `names`, or to `number`.

    `term` is an expression.
    """
    side = SIDES.get(base_kind(asked))
    if side is None:
        return []
    if asked.kind != "count":
        return [f"names, by = included({side!r}, {term}, names, {asked.inherited})"]
    query = query_for(replace(asked, kind=base_kind(asked)), ["$ENTITY_1"])
    return [
        f"names, by = included({side!r}, {term}, [], {asked.inherited})",
        "if names:",
        f'    found, whole = rows({query!r}.replace("$ENTITY_1", {term}))',
        f'    names, by = included({side!r}, {term}, column(found, "x"), {asked.inherited})',
        "    number = len(names)",
    ]


def _below_nouns(about: str) -> str:
    """For a class whose subclasses alone have instances: the nouns, as arguments."""
    return ", ".join(repr(f"{noun}{about} (it has none of its own)") for noun in BELOW)


def counting(asked: Asked, about: str = "") -> list[str]:
    """The lines that make the answer out of `number`, and `wider` where the kind has it."""
    lines = [f"reply = counted(number, {_said(asked, about)}{_beside(asked)})"]
    if base_kind(asked) == "instances" and not asked.inherited:
        lines += ["if wider and not number:", f"    reply = counted(wider, {_below_nouns(about)})"]
    return lines


def widened(asked: Asked, term: str) -> list[str]:
    """The line that counts what is told beside the answer. It goes before the others: the last
    query is the answer's.

    `term` is an expression.
    """
    query = wider_query(asked, "$ENTITY_1")
    return [f'wider = number_of({query!r}.replace("$ENTITY_1", {term}))'] if query else []


def _beside(asked: Asked) -> str:
    return (
        f", wider=wider, how={WIDER[base_kind(asked)]!r}" if wider_query(asked, "$ENTITY_1") else ""
    )


def below(asked: Asked, about: str, term: str) -> list[str]:
    """The lines that answer with the instances of subclasses where a class has none. `term` is an
    expression."""
    made = "counted(len(names)" if asked.kind == "count" else "listed(names"
    return [
        listing(asked, about),
        "if not names:",
        f'    found, whole = rows({below_query("$ENTITY_1")!r}.replace("$ENTITY_1", {term}))',
        '    names = column(found, "x")',
        "    if names:",
        f"        reply = {made}, {_below_nouns(about)})",
    ]


def parts_asked(question: str, asked: Asked) -> tuple[str, ...]:
    """Which parts of a description a question is about, besides its names; () when it is about the
    whole."""
    for name in asked.mentions:
        question = question.replace(name, " ")
    return tuple(part for part, form in _PARTS.items() if re.search(form, question, re.IGNORECASE))
