"""What a lesson looks like: a title of whole words, steps, and below them the query that did the
work, whole, in a fence.

The query is the program's own generalisation of one that ran (`rlm.ontology.query.shape`). What two
queries have in common is compared by `shape_key`: names of variables and placeholders, prefixes,
capitals and how many rows are wanted do not count.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any, NamedTuple

from rlm.errors import RLMError
from rlm.ontology.query.guard import check_query
from rlm.ontology.query.lexer import VAR
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
_NO_SHAPE = frozenset(("WHERE", "DISTINCT", "LIMIT", "OFFSET"))


def is_common(iri: str) -> bool:
    """Whether a term is of the vocabularies that every ontology is written in."""
    return is_machinery(iri) or iri.startswith((XSD, SKOS))


def whole_title(text: str, most: int = TITLE_CHARS, *, words: int | None = TITLE_WORDS) -> str:
    """As many whole words as fit. One that is cut short does not end in "of the", nor a title with
    one or two words of a clause: "master, no" of "master, no relief" says the contrary."""
    every = " ".join(text.split()).rstrip(".!? " if words else " ").split(" ")
    kept = every[:words]
    while len(kept) > 1 and len(" ".join(kept)) > most:
        kept.pop()
    if len(kept) < len(every):
        ends = [at for at in (-2, -1) if words and " ".join(kept[:at])[-1:] in (",", ";", ":")]
        kept = kept[: ends[0]] if ends and len(kept) > 4 else kept
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
    question: str = "",
) -> QueryPattern | None:
    """The query without what the question was about; None when there is nothing to use again, or it
    is too long for a lesson. Where the question is known, a text, number or thing that it does not
    name is part of how to ask: a factor, a code, a status.

    One that is made of RDF's own words is general: what the question named (`asked`) is a gap, also
    a class. Any other is a query of one ontology, whose classes and properties (`terms`) stay.
    """

    def stays(value: str) -> bool:
        flags = re.IGNORECASE if len(value) > 3 else re.NOFLAG  # "A" is no article
        named = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", question, flags)
        return bool(question) and value not in asked and not named

    known_terms: dict[str, Any] = {"terms": terms, "by_place": by_place, "stays": stays}
    try:
        made = pattern_of(query, prefixes, gaps=asked, **known_terms)
        known = Prefixes(prefixes)
        if made is None or not all(is_common(known.expand(name)) for name in made.terms):
            made = pattern_of(query, prefixes, **known_terms)
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
    """The tokens of a query with variables and placeholders numbered in their order; dots between
    triples do not count."""
    try:
        _, body = split_prologue(check_query(query.replace('\\"', '"')))
    except RLMError:
        return normalize(query).split()
    names: dict[str, str] = {}
    found = list[str]()
    before = ""
    for token in body:
        before, counts_rows = token.upper, before in ("LIMIT", "OFFSET")
        if token.upper in _NO_SHAPE or token.text == "." or counts_rows:
            continue
        word = "a" if token.text == "rdf:type" else token.text.casefold()
        if token.kind == VAR:
            gap = _GAP.fullmatch(token.text)
            word = names.setdefault(token.text[1:], f"{gap[1] if gap else ''}?{len(names)}")
        found.append(word)
    return found
