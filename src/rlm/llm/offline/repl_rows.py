"""How `offline` reads in the REPL, sent as source text: views to their end, queries, names."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the REPL has these

    def ontology_view(view: str, term: str = "", **options: Any) -> dict[str, Any]: ...
    def search_entity(query: str, limit: int = 10) -> list[dict[str, Any]]: ...
    def sparql_query(query: str, limit: int = 100) -> Any: ...


View = dict[str, Any]


def fetch(view: str, term: str = "", most: int = 500, **options: Any) -> dict[str, Any]:
    """The rows of a listing, page by page, some `most`; `total` says how many there are."""
    rows: list[Any] = []
    page: dict[str, Any] = {"next_offset": 0}
    while page["next_offset"] is not None and len(rows) < most:
        page = ontology_view(view, term, offset=page["next_offset"], limit=1000, **options)
        rows += page["rows"]
    return {**page, "rows": rows}


def from_query(rows: Any, name: str = "") -> dict[str, Any]:
    """The rows of a query, as a view has them; `name` is what they belong to."""
    names = [{"name": str(row["x"])} | ({"count": row["n"]} if "n" in row else {}) for row in rows]
    return {"rows": names, "total": len(names), "more": bool(rows.more), "name": name}


def keep_stated(in_unions: Any, found: View) -> View:
    """The rows without those that a query found to have the class only as a part of a union or an
    intersection, which are named apart; where all do, they are the answer."""
    kept, parts = (keep_both(found, from_query(in_unions), both=both) for both in (False, True))
    names = [row["name"] for row in parts["rows"]]
    said = f"{len(names)} more have it as a part of a union or an intersection"
    note = f"\n{said}: {', '.join(names[:50])}" if names else ""
    return {**(kept | {"note": note} if kept["rows"] else found), "cut": kept["cut"]}


def add_sources(found: View) -> View:
    """The properties of a class, and those of the classes above it with the class that has each."""
    sources: dict[str, str] = {}
    for top in fetch("related", found["name"], relation="superclasses", all=True)["rows"]:
        for row in fetch("related", top["name"], relation="properties")["rows"]:
            sources.setdefault(row["name"], top["name"])
    every, own = (fetch("related", found["name"], relation="properties", all=far)
                  for far in (True, False))  # fmt: skip
    more = [{**row, "source": sources.get(row["name"], "an equivalent class")}
            for row in keep_both(every, own, both=False)["rows"]]  # fmt: skip
    return {**found, "rows": [*found["rows"], *more], "total": found["total"] + len(more)}


def add_included(found: View, iri: str, side: str) -> View:
    """Where nothing has the class as its domain or range: what includes it there (schema.org)."""
    if found["total"]:
        return found
    query = (
        f"SELECT DISTINCT ?x WHERE {{ ?x ?p <{iri}> FILTER(STRENDS(STR(?p), '/{side}Includes')) }}"
        " ORDER BY ?x"
    )
    return {**found, **from_query(sparql_query(query, limit=1000), found["name"])}


def add_inherited(stated: View, every: View) -> View:
    """What is stated of a term, with how much more it inherits; where nothing is, what it does."""
    if stated["total"]:
        more = every["total"] - stated["total"]
        return {**stated, "note": f"\n{more} more by inheritance" * (more > 0)}
    note = f"\nAll by inheritance: none is stated of {every['name']} itself"
    return {**every, "note": note * (every["total"] > 0)}


def add_equivalents(found: View) -> View:
    """What is equivalent to a term, and what is to that."""
    rows, names = list(found["rows"]), [found["name"]]
    for row in rows:  # which grow
        if row["name"] not in names:
            names.append(row["name"])
            rows += fetch("related", row["name"], relation="equivalents")["rows"]
    kept = list({row["name"]: row for row in rows if row["name"] != names[0]}.values())
    return {**found, "rows": kept, "total": max(found["total"], len(kept))}


def keep_both(found: View, other: View, both: bool = True) -> View:
    """The rows that both have, or the first alone. `cut`: one was not read to its end."""
    names = {row["name"] for row in other["rows"]}
    rows = [row for row in found["rows"] if (row["name"] in names) == both]
    cut = any(each["total"] > len(each["rows"]) or each.get("more") for each in (found, other))
    return {**found, "rows": rows, "total": len(rows), "cut": cut}


def keep_sort(found: View, sort: str) -> View:
    """The restrictions of one sort ("some", "min|max|exactly")."""
    rows = [row for row in found["rows"] if re.match(rf"\S+ (?:{sort})\b", row["text"])]
    cut = found["total"] > len(found["rows"])
    return {**found, "rows": rows, "total": len(rows), "cut": cut} if sort else found


def note_further(direct: View, every: View) -> View:
    """What is one step away, and how many are further; of a class with none, its instances."""
    number = every["total"] - direct["total"]
    said = f"\n{number} more at greater depth: ask for all of them" * (number > 0)
    if not every["total"] and every.get("relation") == "subclasses":
        things = fetch("instances", every["name"])
        names = ", ".join(str(row["name"]) for row in things["rows"][:20])
        said = f" It has {things['total']} instances: {names}" if names else ""
    return {**direct, "note": said}


def note_kinds(typed: Any, stats: View, kind: str, found: View | None = None) -> View:
    """Properties of a kind, how many of them are typed otherwise, and how many are of no kind."""
    total, unknown = (stats["property_kinds"].get(each, 0) for each in (kind, "property"))
    rest = total - int(typed[0]["n"])
    note = f"\n{rest} of them by their inverse or a trait, not by their type" * (rest > 0)
    note += f"\nOf {unknown} more the kind is not stated" * (unknown > 0)
    return {"rows": [], "total": total, **(found or {}), "note": note}


def shape_asks(name: str) -> list[str]:
    """What SHACL shapes ask of the things of a class, a text for each property."""
    rows = fetch("shapes", name)["rows"]
    own = [row for row in rows if row["shape"] == name or f"class {name}" in row["targets"]]
    asks = [ask for row in own for ask in row["asks"]]
    return sorted({ask for ask in asks if ":" in ask.split(" ")[0]})


def search_query(text: str, where: str = "") -> str:
    """The query for terms with a text in a name, or in a label alone, or at one end."""
    wanted = '"' + text.lower().replace("\\", "\\\\").replace('"', '\\"') + '"'
    joined, test = wanted.replace(" ", ""), {"start": "STRSTARTS", "end": "STRENDS"}.get(where)
    test = test or "CONTAINS"
    in_name = f' || {test}(?name, {wanted}) || {test}(REPLACE(?name, "[_-]", ""), {joined})'
    labels = "rdfs:label|skos:prefLabel" + "|skos:altLabel" * (where != "label")
    return (
        "SELECT DISTINCT ?x ?t WHERE { { ?x a ?t } UNION { ?x rdfs:label ?n } FILTER(isIRI(?x))"
        f" OPTIONAL {{ ?x {labels} ?l FILTER({test}(LCASE(STR(?l)), {wanted})) }}"
        ' BIND(LCASE(REPLACE(STR(?x), "^.*[/#]", "")) AS ?name)'
        f" FILTER(BOUND(?l){in_name * (where != 'label')}) }} ORDER BY ?x"
    )


def keep_types(rows: Any, kind: str) -> View:
    """The terms of a search that are of a kind: class, property, individual, or any."""
    types: dict[str, set[str]] = {}
    for row in rows:
        types.setdefault(str(row["x"]), set()).add(str(row.get("t", "")).partition(":")[2])
    schema = {"Class", "Ontology", "Datatype", "Restriction"}
    names = []
    for name, found in types.items():
        is_property = any(each.endswith("Property") for each in found)
        fits = {
            "class": "Class" in found,
            "property": is_property,
            "individual": bool(found - {""}) and not is_property and not found & schema,
            "": not found & {"Ontology", "Datatype"},
        }
        if fits[kind]:
            names.append({"name": name})
    return {"rows": names, "total": len(names), "more": bool(rows.more)}


def look_up(readings: list[list[list[str]]]) -> str:
    """What the names of a question mean, a line each: the first reading whose names are all there
    ends it. Of a name the spellings are tried until one is there."""
    seen: dict[str, bool] = {}
    lines = []
    for names in readings:
        for spelled in names:
            for name in spelled:
                if name not in seen:
                    hits = search_entity(name, 25)
                    exact = [hit for hit in hits if hit["match_type"] == "exact"]
                    near = [hit["curie"] for hit in hits if hit["match_type"] != "exact"]
                    keys = ("uri", "curie", "kind", "match_in", "deprecated")
                    told = [[hit.get(key) for key in keys] for hit in exact]
                    lines.append(json.dumps([name, told[:8], near[:3]]))
                    # an ontology called “features” is not what “how many features” asks for
                    seen[name] = any(hit["kind"] != "ontology" for hit in exact)
                if seen[name]:
                    break
        if all(any(seen.get(name) for name in spelled) for spelled in names):
            break
    return "\n".join(lines)
