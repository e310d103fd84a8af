"""A question with its specifics out: the title of a procedure that answers all questions of its kind."""

from __future__ import annotations

from rlm.llm.offline.asked.kinds import Asked

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
    "search": "Find terms by a piece of their name",
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


def generalised(question: str, asked: Asked | None) -> str:
    """The title for all questions like this one; empty when it was not understood."""
    if asked is None:
        return ""
    return _COUNTS.get(asked.of, "") if asked.kind == "count" else _TITLES.get(asked.kind, "")
