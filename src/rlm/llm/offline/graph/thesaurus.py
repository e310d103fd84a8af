"""What `offline` runs in the REPL to answer out of a thesaurus: concepts of SKOS and their links.

Sent as source text, as the functions of `repl`. Nothing is answered where the graph has no such
concepts, or where a name is none of them: then the question is about classes.
"""

from __future__ import annotations

from typing import Any

from rlm.llm.offline.graph.repl import column, link, matching, rows
from rlm.llm.offline.graph.telling import counted, listed, number_of


def concepts_where() -> str:
    """The pattern for every concept ?x: what is said to be one, else what has links of a thesaurus;
    '' for none."""
    linked = "skos:broader|skos:narrower|skos:topConceptOf|^skos:broader|^skos:narrower|^skos:hasTopConcept"
    for where in ("?c rdfs:subClassOf* skos:Concept . ?x a ?c", f"?x {linked} ?y"):
        if rows(f"ASK {{ {where} FILTER(isIRI(?x)) }}")[0][0]["boolean"]:
            return f"{where} FILTER(isIRI(?x))"
    return ""


def concept_of(name: str) -> dict[str, Any] | None:
    """The concept that a name means. A class is one by its links alone: it may be filed as a
    concept as well."""
    term = link(name, "individual")
    iri = f"<{term['uri']}>" if term else ""
    links = (
        f"{iri}"
        " skos:broader|skos:narrower|skos:related|^skos:broader|^skos:narrower|^skos:related ?y"
    )
    typed = f"?c rdfs:subClassOf* skos:Concept . {iri} a ?c"
    where = links if term and "class" in term["kind"] else f"{{ {links} }} UNION {{ {typed} }}"
    return term if term and rows(f"ASK {{ {where} }}")[0][0]["boolean"] else None


def linked_where(term: dict[str, Any], kind: str, deep: bool) -> str:
    """The pattern for what is narrower, broader or related; a link may be stated from either end."""
    iri = f"<{term['uri']}>"
    back = {"narrower": "broader", "broader": "narrower"}.get(kind, kind)
    path = f"skos:{kind}|^skos:{back}"
    path = f"({path}|skos:{kind}Transitive|^skos:{back}Transitive)+" if deep else path
    return f"{iri} {path} ?x FILTER(isIRI(?x) && ?x != {iri})"


def concepts_said(where: str, one: str, many: str, counts: bool, wider: int = 0) -> str:
    """The list of what a pattern finds, or its number."""
    if counts:
        number = int(rows(f"SELECT (COUNT(DISTINCT ?x) AS ?n) WHERE {{ {where} }}")[0][0]["n"])
        return counted(number, one, many, wider, "at any depth")
    found, whole = rows(f"SELECT DISTINCT ?x WHERE {{ {where} }}")
    return listed(column(found, "x"), one, many, whole, wider, "at any depth")


def tops_said(kind: str, every: str, counts: bool) -> str:
    """Where the thesaurus begins: as its scheme says; where it says nothing, or that is asked, what
    has none above."""
    stated = "{ ?s skos:hasTopConcept ?x } UNION { ?x skos:topConceptOf ?s } FILTER(isIRI(?x))"
    if kind == "top" and rows(f"ASK {{ {stated} }}")[0][0]["boolean"]:
        return concepts_said(stated, "top concept", "top concepts", counts)
    where = f"{every} FILTER NOT EXISTS {{ ?x skos:broader|^skos:narrower ?z }}"
    return concepts_said(
        where, "concept without a broader one", "concepts without a broader one", counts
    )


def named_concepts(every: str, queries: list[str], text: str, where: str, counts: bool) -> str:
    """The concepts with a text in their name; '' where not all of them could be looked at."""
    members, whole = rows(f"SELECT DISTINCT ?x WHERE {{ {every} }}")
    found: list[dict[str, Any]] = []
    for query in queries:
        more, all_more = rows(query)
        found, whole = found + more, whole and all_more
    names = sorted(
        set(column(members, "x")) & set(matching(found, text.lower(), where, ["owl:Ontology"]))
    )
    nouns = [f"{noun} with “{text}” in the name" for noun in ("concept", "concepts")]
    if not whole and (counts or not names):
        raise ValueError("there are too many concepts to look at the names of all")
    return (
        counted(len(names), nouns[0], nouns[1])
        if counts
        else listed(names, nouns[0], nouns[1], whole)
    )


def links_said(kind: str, name: str, term: dict[str, Any] | None, deep: bool, counts: bool) -> str:
    """What is narrower, broader or related, for one name."""
    if term is None:
        return f"There is no concept called “{name}” in this ontology."
    if kind == "related":
        nouns = [f"related {noun} of “{name}”" for noun in ("concept", "concepts")]
    elif deep:
        nouns = [f"{noun} {kind} than “{name}” at any depth" for noun in ("concept", "concepts")]
    else:
        nouns = [f"{noun} directly {kind} than “{name}”" for noun in ("concept", "concepts")]
    all_ = f"SELECT (COUNT(DISTINCT ?x) AS ?n) WHERE {{ {linked_where(term, kind, True)} }}"
    wider = number_of(all_) if not deep and kind != "related" else 0
    return concepts_said(linked_where(term, kind, deep), nouns[0], nouns[1], counts, wider)


def concepts_told(
    kind: str, tries: list[list[tuple[str, str]]], deep: bool = False, counts: bool = False
) -> tuple[str, list[dict[str, Any]]]:
    """The answer, and the concepts that it is about; '' where the question is about none.

    `tries` are lists of names, each as it was written and as it is shown: the one name, or else its
    parts.
    """
    every = concepts_where()
    if not every:
        return "", []
    if kind == "all":
        nouns = [f"SKOS {noun} (classes not included)" for noun in ("concept", "concepts")]
        return concepts_said(every, nouns[0], nouns[1], counts), []
    if kind in ("top", "unbroadened"):
        return tops_said(kind, every, counts), []
    for names in tries:
        terms = [concept_of(name) for name, _ in names]
        if kind != "is_narrower" and len(names) > 1:  # no room to say how each was taken
            terms = [term if term and term["how"] < 3 else None for term in terms]
        about = [term for term in terms if term]
        if kind == "exists" and about:
            return "Yes.", about
        if kind == "is_narrower" and len(about) == 2:
            yes = rows(
                f"ASK {{ BIND(<{about[1]['uri']}> AS ?x)"
                f" {linked_where(about[0], 'broader', deep)} }}"
            )[0][0]
            no = "" if yes["boolean"] else "not "
            how = "" if deep else "directly "
            said = (
                f"{'No' if no else 'Yes'}: {about[0]['curie']} is {no}{how}narrower than"
                f" {about[1]['curie']}."
            )
            return said, about
        if kind in ("narrower", "broader", "related") and about:
            made = [
                links_said(kind, names[at][1], term, deep, counts) for at, term in enumerate(terms)
            ]
            return "\n\n".join(made), about
    return "", []
