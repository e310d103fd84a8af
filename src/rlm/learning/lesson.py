"""What a lesson looks like: a title of whole words, steps, and below them the query that did the
work, whole, in a fence.

The query is the program's own generalisation of one that ran (`rlm.ontology.query.shape`). What two
queries have in common is compared by `shape_key`: names of variables and placeholders, prefixes,
capitals and how many rows are wanted do not count.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from rlm.errors import RLMError
from rlm.ontology.query.guard import FORMS, check_query
from rlm.ontology.query.lexer import LANG, NUMBER, VAR, QueryToken
from rlm.ontology.query.shape import QueryPattern, pattern_of, split_prologue
from rlm.ontology.terms import Prefixes, is_machinery
from rlm.ontology.vocabulary import SKOS, XSD
from rlm.store.identity import normalize

TITLE_CHARS, TITLE_WORDS = 80, 10
QUERY_CHARS = 800
FENCED = re.compile(r"^[ \t]*```sparql[ \t]*\n(.*?)\n[ \t]*```[ \t]*$", re.MULTILINE | re.DOTALL)
_CALL = re.compile(r"`?sparql_query\(\s*(\"\"\"|'''|\"|')(.*?)\1\s*(?:,[^()]*)?\)`?", re.DOTALL)
_SPAN = re.compile(
    r"`\s*((?:PREFIX|SELECT|ASK|CONSTRUCT|DESCRIBE|INSERT|DELETE|LOAD|CLEAR|DROP)\b"
    r"[^`]*(?:[{]|\bWHERE\s+[?$<\w]|\b(?:ALL|GRAPH)\b|(?<=LOAD )<)[^`]*)`",
    re.IGNORECASE,
)
_GAP = re.compile(r"[?$](ENTITY|TEXT|NUMBER)_\d+")
_DANGLING = frozenset(("a", "an", "the", "of", "to", "for", "with", "by", "in", "on", "and", "or"))
_FILLERS = {"ENTITY": "<urn:rlm:gap>", "TEXT": '"gap"', "NUMBER": "1"}
_CLAUSES = frozenset(
    ("FILTER", "OPTIONAL", "MINUS", "BIND", "VALUES", "UNION", "GRAPH", "LATERAL", "{")
)
_ENDS = (".", ";", ",")
_NO_SHAPE = frozenset(("WHERE", "DISTINCT", "LIMIT", "OFFSET"))


def is_common(iri: str) -> bool:
    """Whether a term is of the vocabularies that every ontology is written in."""
    return is_machinery(iri) or iri.startswith((XSD, SKOS))


def whole_title(text: str, most: int = TITLE_CHARS, *, words: int | None = TITLE_WORDS) -> str:
    """As many whole words as fit; one that is cut short does not end in "of the"."""
    every = " ".join(text.split()).rstrip(".!? " if words else " ").split(" ")
    kept = every[:words]
    while len(kept) > 1 and len(" ".join(kept)) > most:
        kept.pop()
    if len(kept) < len(every):
        while len(kept) > 2 and kept[-1].casefold().strip(",;:") in _DANGLING:
            kept.pop()
    return " ".join(kept)[:most].rstrip(" ,;:")


# -- the query of a lesson


def template_for(
    query: str,
    prefixes: Mapping[str, str],
    *,
    asked: Container[str],
    terms: Container[str] = (),
    by_place: bool = True,
) -> QueryPattern | None:
    """The query without what the question was about; None when there is nothing to use again, or it
    is too long for a lesson.

    One that is made of RDF's own words is general: what the question named (`asked`) is a gap, also
    a class. Any other is a query of one ontology, whose classes and properties (`terms`) stay.
    """
    try:
        made = pattern_of(query, prefixes, terms=terms, by_place=by_place, gaps=asked)
        known = Prefixes(prefixes)
        if made is None or not all(is_common(known.expand(name)) for name in made.terms):
            made = pattern_of(query, prefixes, terms=terms, by_place=by_place)
    except RLMError:
        return None
    return made if made is not None and len(made.text) <= QUERY_CHARS else None


def join_template(steps: str, template: str) -> str:
    """Steps with the query below them."""
    return f"{steps}\n\n```sparql\n{template}\n```" if template else steps


def may_run(query: str) -> bool:
    """Whether the guard lets a query pass, with something in its gaps, and it has a pattern."""
    try:
        return check_query(fill_gaps(query)).kind == "DESCRIBE" or "{" in query
    except RLMError:
        return False


def fill_gaps(query: str) -> str:
    """The query with some value in place of every placeholder, so that it can be parsed."""
    return _GAP.sub(lambda gap: _FILLERS[gap[1]], query)


class QuerySpan(NamedTuple):
    """A query in a text, where what holds it begins and ends, and what may stand there instead."""

    text: str
    start: int
    end: int
    instead: str


def find_queries(text: str) -> list[QuerySpan]:
    """The queries of a lesson: in a fence, in a call of `sparql_query`, or in backticks."""
    found = [
        *(QuerySpan(hit[1], *hit.span(), "the query below") for hit in FENCED.finditer(text)),
        *(
            QuerySpan(hit[2], *hit.span(), "`sparql_query` with the query below")
            for hit in _CALL.finditer(text)
        ),
        *(QuerySpan(hit[1], *hit.span(), "the query below") for hit in _SPAN.finditer(text)),
    ]
    return sorted(found, key=lambda query: query.start)


def shape_key(query: str) -> str:
    """The same text for two queries that do the same; by its letters for what is no query."""
    return " ".join(shape_words(query))


def shape_words(query: str) -> list[str]:
    """The tokens of a query with variables and placeholders numbered as its patterns have them. How
    triples are abbreviated, and in which order they and the columns stand, does not count."""
    try:
        _, body = split_prologue(check_query(query.replace('\\"', '"')))
    except RLMError:
        return normalize(query).split()
    ordered = _order_group(iter(body))
    start = next((at for at, token in enumerate(ordered) if token.text == "{"), 0)
    names: dict[str, str] = {}
    for token in (*ordered[start:], *ordered[:start]):
        if token.kind == VAR:
            sign = _spell(token)
            numbered = sum(name.startswith(sign) for name in names.values())
            names.setdefault(token.text[1:], f"{sign}{numbered}")
    head, found = list[str](), list[str]()
    for at, token in enumerate(ordered):
        limit = at > 0 and ordered[at - 1].upper in ("LIMIT", "OFFSET")
        if token.upper not in _NO_SHAPE and not (limit and token.kind == NUMBER):
            word = names[token.text[1:]] if token.kind == VAR else _spell(token)
            (head if at < start else found).append(word)
    return [*(head if "as" in head else sorted(head)), *found]


def _spell(token: QueryToken) -> str:
    """A token in one spelling, without the name of a variable or the number of a placeholder."""
    if token.kind == VAR:
        return f"${gap[1]}" if (gap := _GAP.fullmatch(token.text)) else "?"
    return "a" if token.text == "rdf:type" else token.text.casefold()


def _order_group(tokens: Iterator[QueryToken]) -> list[QueryToken]:
    """The tokens up to the end of a group, its triples in full and sorted between what has a place
    of its own (OPTIONAL, BIND, …), its filters last. Of equal triples the order stays, so two
    queries that do the same may differ, and two that differ are never equal."""
    parts, depth = list[list[QueryToken]]([[]]), 0
    for token in tokens:
        part, text = parts[-1], token.text
        if text == "}":
            break
        if not depth and (new := _next_part(part, token)) is not None:
            parts.append(part := new)
            if text in _ENDS:
                continue
        part.append(token)
        depth += (text in ("(", "[")) - (text in (")", "]"))
        if text == "{":
            part += [*_order_group(tokens), token._replace(text="}")]
        if text in ("{", ")") and not depth and _is_clause(part):
            parts.append([])
    whole = len(parts) == 1
    return [token for part in _sort_parts(parts) if whole or len(part) > 1 for token in part]


def _sort_parts(parts: Iterable[list[QueryToken]]) -> Iterator[list[QueryToken]]:
    """Triples by their words between the clauses that have a place; filters at the end."""
    ranked, place = list[tuple[float, list[str], list[QueryToken]]](), 0
    for part in parts:
        fixed = _first(part) in _CLAUSES - {"FILTER"}
        place += fixed
        rank = inf if _first(part) == "FILTER" else place
        ranked.append((rank, [*map(_spell, part)], part))
        place += fixed
    ranked.sort(key=lambda one: one[:2])
    return (part for *_, part in ranked)


def _next_part(part: list[QueryToken], token: QueryToken) -> list[QueryToken] | None:
    """What a token begins, a subject that goes without saying included; None where it goes on."""
    if _first(part) in FORMS:
        return None
    if token.text in _ENDS:
        return _subject(part, token.text)
    of_clause = token.text == "{" and _is_clause(part)
    return [] if part and (token.upper or token.text) in _CLAUSES and not of_clause else None


def _is_clause(part: Sequence[QueryToken]) -> bool:
    return _first(part) in _CLAUSES


def _first(part: Sequence[QueryToken]) -> str:
    return (part[0].upper or part[0].text) if part else ""


def _subject(part: list[QueryToken], sign: str) -> list[QueryToken]:
    """What the next triple begins with after `;` or `,`: it goes without saying there."""
    if sign == ",":
        size = 2 if part[-1].kind == LANG else 3 if part[-2:][0].text == "^^" else 1
        return part[:-size]
    return part[:1] if sign == ";" else []
