"""A query with the gaps that a question fills: what a procedure holds.

Where `query.shape` decides by itself what is a specific, here it is known what the question named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from rlm.errors import RLMError
from rlm.ontology.query.guard import check_query
from rlm.ontology.query.lexer import IRI, LANG, PNAME, VAR, Token
from rlm.ontology.query.shape import (
    SHAPELY,
    QueryWriter,
    declared_prefixes,
    join_tokens,
    split_prologue,
)
from rlm.ontology.terms import XSD, Prefixes
from rlm.ontology.vocabulary import SKOS, is_machinery

_WORDLESS = re.compile(r"[^A-Za-z\u0080-\U0010ffff'\"\\`]{0,12}")
"""Signs and digits: part of the shape too, unless they would end the text that they stand in."""


@dataclass(frozen=True, slots=True)
class QueryTemplate:
    """A query in which what the question named is a gap, on one line and without double quotes."""

    kind: str
    text: str
    kept: tuple[str, ...]
    """The names that stayed and are no machinery: with them it is a query of one ontology."""
    unfilled: tuple[str, ...]
    """Gaps for texts that the question did not name: nobody will know what to put there."""
    counts: bool = False


def template_of(
    query: str,
    prefixes: Mapping[str, str],
    *,
    entities: Mapping[str, str],
    texts: Mapping[str, str],
) -> QueryTemplate | None:
    """The query without `entities` (IRI → placeholder) and `texts` (case-folded → placeholder).

    Numbers stay, and so do texts without letters; any other text becomes a gap that the question
    does not fill. None for a query with a BASE or an unknown prefix. Raises QueryRefused.
    """
    checked = check_query(query)
    head, body = split_prologue(checked)
    if any(token.upper == "BASE" for token in head):
        return None
    made = _Filler(body, Prefixes(prefixes), declared_prefixes(head), entities, texts)
    try:
        text = join_tokens(list(made.words())).strip()
    except RLMError:
        return None
    counts = any(token.upper == "COUNT" for token in body)
    return QueryTemplate(checked.kind, text, tuple(made.kept), tuple(made.slots), counts)


def names_of(query: str, prefixes: Mapping[str, str]) -> list[str]:
    """The IRIs that a query names behind its prologue, in order, each once, as far as known."""
    head, body = split_prologue(check_query(query))
    known = Prefixes({**Prefixes(prefixes), **declared_prefixes(head)})
    found: dict[str, None] = {}
    for token in body:
        if token.kind in (IRI, PNAME):
            with suppress(RLMError):
                found[known.expand(token.text)] = None
    return list(found)


class _Filler(QueryWriter):
    """The same pass with gaps that were chosen before."""

    def __init__(
        self,
        tokens: tuple[Token, ...],
        prefixes: Prefixes,
        own: Mapping[str, str],
        entities: Mapping[str, str],
        texts: Mapping[str, str],
    ) -> None:
        super().__init__(tokens, prefixes, own, (), by_place=False)
        self._entities = entities
        self._texts = texts

    def _name(self, place: int, token: Token, *, listed: bool) -> Token:
        iri = self._expanding.expand(token.text)
        if iri in self._entities:
            return Token(VAR, self._entities[iri], token.start)
        short = self._prefixes.shrink(iri)
        if not (is_machinery(iri) or iri.startswith((XSD, SKOS))):
            self.kept[short] = None
        return token._replace(text=short)

    def _text(self, place: int, token: Token) -> tuple[Token, int]:
        quotes = 3 if token.text[:3] in ('"""', "'''") else 1
        value = token.text[quotes:-quotes]
        after = self._near(place + 1)
        end = place + (1 if after.kind == LANG else 2 if after.text == "^^" else 0)
        folded = value.casefold()
        if folded in self._texts:
            return Token(VAR, self._texts[folded], token.start), end
        if SHAPELY.fullmatch(token.text) or _WORDLESS.fullmatch(value):
            return token._replace(text=f"'{value}'"), place
        for text, name in self._texts.items():
            before, found, behind = folded.partition(text)
            if text and found and _WORDLESS.fullmatch(before) and _WORDLESS.fullmatch(behind):
                parts = [f"'{before}'" if before else "", name, f"'{behind}'" if behind else ""]
                return Token(VAR, f"CONCAT({', '.join(filter(None, parts))})", token.start), end
        return self._slot("TEXT", token.text, "text", token), end

    def _number(self, place: int, token: Token) -> Token:
        return token

    def _slot(self, kind: str, value: str, what: str, token: Token) -> Token:
        """A gap of its own, numbered behind those that were chosen."""
        number = 1 + len(self._texts) + len(self._names)
        name = self._names.setdefault((kind, value), f"${kind}_{number}")
        self.slots[name] = what
        return Token(VAR, name, token.start)
