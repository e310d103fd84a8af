"""How general a memory is: whether it names terms of one ontology, and reads as a procedure."""

from __future__ import annotations

import re

from rlm.store.types import MemoryItem

GENERAL_PREFIXES = frozenset(
    {"dc", "dcat", "dcterms", "dct", "foaf", "geo", "owl", "qudt", "rdf", "rdfs", "schema", "sh"}
    | {"skos", "time", "vann", "void", "xsd"}
)
"""Vocabularies that every ontology is written in: naming one makes no memory less general."""
_NOT_PREFIXES = GENERAL_PREFIXES | {"http", "https", "mailto", "note", "todo", "eg", "std"}
_IRI = re.compile(
    r"\b(?:https?|ftp|file)://[^\s<>\"'`)]+|\burn:[A-Za-z0-9][\w-]*:[^\s<>\"'`)]+", re.IGNORECASE
)
_DECLARED = re.compile(r"@?\bprefix\s+[\w-]*:\s*<", re.IGNORECASE)
_CURIE = re.compile(r"(?<![\w:/.@\[-])([a-z][a-z0-9_-]{1,14}):([A-Za-z_][\w-]{2,})(?![\w:(=/])")
_PROCEDURAL = re.compile(
    r"^\s*(?:[-*+]|\d+[.)])\s"
    r"|\b(?:step|first|then|next|finally|before|after|instead|avoid|check|verify|use|call|try|start"
    r"|search|find|list|read|ask|run|prefer|never|always|when|if)\b",
    re.IGNORECASE | re.MULTILINE,
)


def hardcoded_term(text: str) -> str | None:
    """The first IRI, prefix declaration or prefixed name of a particular ontology in a text."""
    found = _IRI.search(text) or _DECLARED.search(text)
    if found:
        return found[0]
    return next((m[0] for m in _CURIE.finditer(text) if m[1] not in _NOT_PREFIXES), None)


def hardcoded_name(item: MemoryItem) -> str | None:
    """The first such name in what a memory says. Its source task is not looked at."""
    parts = (item.title, item.description, item.content, *(item.tags or ()))
    return hardcoded_term("\n".join(parts))


def score_generalization(item: MemoryItem) -> float:
    """0.5; −0.3 for a hard-coded name, +0.2 for procedural words, +0.3 if tagged universal."""
    score = 0.5
    if hardcoded_name(item) is not None:
        score -= 0.3
    if _PROCEDURAL.search(f"{item.description}\n{item.content}"):
        score += 0.2
    if "universal" in item.tags:
        score += 0.3
    return round(score, 2)
