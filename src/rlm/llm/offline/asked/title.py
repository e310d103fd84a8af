"""A question with its specifics out: the title of a procedure that answers all questions of its
kind."""

from __future__ import annotations

from rlm.llm.offline.asked.kinds import PLURALS, Asked, plural

MAX_TITLE = 45

_TITLES = {
    "namespaces": "List the namespaces and their prefixes",
    "describe": "Describe a term",
    "exists": "Check whether a term exists",
    "subclasses": "List the direct subclasses of a class",
    "all_subclasses": "Find all subclasses of a class",
    "superclasses": "List the direct superclasses of a class",
    "all_superclasses": "Find all superclasses of a class",
    "roots": "List the root classes of the hierarchy",
    "is_subclass": "Check whether a class is a subclass",
    "properties_by_domain": "List the properties with a given domain",
    "properties_by_range": "List the properties with a given range",
    "path": "Find a path between two terms",
    "instances": "List the instances of a class",
}
_COUNTS = {
    "classes": "Count the classes",
    "properties": "Count the properties",
    "object_properties": "Count the object properties",
    "datatype_properties": "Count the datatype properties",
    "annotation_properties": "Count the annotation properties",
    "individuals": "Count the individuals",
    "triples": "Count the triples",
    "namespaces": "Count the namespaces",
    "subclasses": "Count the direct subclasses of a class",
    "all_subclasses": "Count all subclasses of a class",
    "superclasses": "Count the direct superclasses of a class",
    "all_superclasses": "Count all superclasses of a class",
    "instances": "Count the instances of a class",
    "properties_by_domain": "Count the properties with a given domain",
    "properties_by_range": "Count the properties with a given range",
    "search": "Count the terms with a piece of name",
    "roots": "Count the root classes of the hierarchy",
}
_INHERITED = {
    "instances": "{} all instances of a class, below it too",
    "properties_by_domain": "{} properties by domain, inherited too",
    "properties_by_range": "{} properties by range, inherited too",
}


def generalised(question: str, asked: Asked | None) -> str:
    """The title for all questions like this one; empty when it was not understood."""
    if asked is None:
        return ""
    counts, kind = asked.kind == "count", asked.of if asked.kind == "count" else asked.kind
    if asked.only and kind in _INHERITED:
        every = " all" * asked.inherited
        return (
            f"{'Count' if counts else 'List'}{every} {plural(asked.only)} by"
            f" {kind.rpartition('_')[2]}"
        )
    if asked.inherited and kind in _INHERITED:
        return _INHERITED[kind].format("Count" if counts else "List")
    if asked.kind == "search":
        return _searched(asked)
    if asked.kind == "is_subclass" and asked.of == "direct":
        return "Check whether a class is a direct subclass"
    if asked.kind == "is_subclass" and asked.of == "instance":
        return "Check whether a thing is an instance"
    return _COUNTS.get(kind, "") if counts else _TITLES.get(kind, "")


def _searched(asked: Asked) -> str:
    many = PLURALS.get(asked.what, "terms")
    if not asked.text.strip() and asked.only:
        return f"List all {plural(asked.only)}"
    if not asked.text.strip():
        return f"List all {many} of the ontology"
    where = {"starts": "how their names begin", "ends": "how their names end"}.get(asked.where)
    return f"Find {many} by {where or 'a piece of their name'}"
