"""The shape of a query: what is left of it without its specifics.

A pattern keeps the words of the schema. Names of things, texts and numbers become placeholders,
`$ENTITY_1`, `$TEXT_1`, `$NUMBER_1`: variables to SPARQL, gaps to whoever reads it. So it says how
to ask and nothing of what was asked, and two questions of one kind leave one pattern: prefixes,
spaces, comments and capitals do not count.

A template is what a procedure holds: there the gaps are what the question named, known beforehand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from rlm.errors import RLMError
from rlm.ontology.query.guard import Checked, check_query
from rlm.ontology.query.lexer import (
    BNODE,
    IRI,
    LANG,
    NUMBER,
    PNAME,
    PUNCT,
    STRING,
    VAR,
    WORD,
    QueryToken,
)
from rlm.ontology.terms import Prefixes, is_machinery
from rlm.ontology.vocabulary import SKOS, TYPE, XSD

PATTERN_CHARS = 1500
"""A longer one is no pattern that somebody would use again."""

_PATH_SIGNS = frozenset(("/", "|", "^", "!"))
_AFTER_PREDICATE = frozenset(("/", "|", "*", "+", "?", "[", "("))
_NODES = (VAR, IRI, PNAME, BNODE)
_PLACEHOLDER = re.compile(r"[?$](?:ENTITY|TEXT|NUMBER)_\d+")
SHAPELY = re.compile(r"""(["'])[a-z]{0,2}\1""")
"""A language, the flags of a regular expression: part of the shape."""
_TIGHT_AFTER = frozenset(("(", "^", "!", "/", "|", "^^", "["))
_TIGHT_BEFORE = frozenset((")", ",", "/", "|", "^^", "]"))
_SPACED = frozenset(("SELECT", "DISTINCT", "REDUCED", "BY", "HAVING", "VALUES", "IN", "A"))
_NO_FUNCTIONS = frozenset(("FILTER", "HAVING", "BIND", "IN", "BY"))
_WORDLESS = re.compile(r"[^A-Za-z\u0080-\U0010ffff'\"\\`]{0,12}")
"""Signs and digits: part of the shape too, unless they would end the text that they stand in."""


@dataclass(frozen=True, slots=True)
class QueryPattern:
    """A query without its specifics, on one line."""

    kind: str
    text: str
    terms: tuple[str, ...]
    """The names that were kept, classes first."""
    slots: dict[str, str] = field(default_factory=dict)
    """Placeholder → what stood there."""
    counts: bool = False


def pattern_of(
    query: str,
    prefixes: Mapping[str, str],
    *,
    terms: Container[str] = (),
    by_place: bool = True,
    gaps: Container[str] = (),
    stays: Callable[[str], bool] = lambda value: False,
) -> QueryPattern | None:
    """The pattern of a query; None when there is none worth keeping.

    `terms` are IRIs of the schema: they stay, and so does the machinery of RDF. `by_place`: so does
    what stands where a predicate stands, or a class; for when `terms` are not all that there are.
    `gaps` are IRIs that become placeholders wherever they are no predicate. `stays` says of any
    other IRI, text or number that it is part of how to ask.

    None for a query that names nothing, has no triples, is too long, has a BASE, or is an unfilled
    pattern itself. Raises QueryRefused for what may not run.
    """
    checked = check_query(query)
    head, body = split_prologue(checked)
    unfilled = (t.kind == VAR and _PLACEHOLDER.fullmatch(t.text) for t in checked.tokens)
    if any(token.upper == "BASE" for token in head) or any(unfilled):
        return None
    own = declared_prefixes(head)
    made = QueryWriter(
        body, Prefixes(prefixes), own, terms, by_place=by_place, gaps=gaps, stays=stays
    )
    try:
        text = join_tokens(list(made.words()))
    except RLMError:  # a prefix that the engine knows and we do not
        return None
    if not (made.kept or (gaps and made.slots)) or "{" not in text or len(text) > PATTERN_CHARS:
        return None
    named = [*made.classes, *(name for name in made.kept if name not in made.classes)]
    counts = any(token.upper == "COUNT" for token in body)
    return QueryPattern(checked.kind, text, tuple(named), made.slots, counts)


def split_prologue(checked: Checked) -> tuple[tuple[QueryToken, ...], tuple[QueryToken, ...]]:
    """The tokens before the query form, and those from there on."""
    tokens = checked.tokens
    form = next(place for place, token in enumerate(tokens) if token.upper == checked.kind)
    return tokens[:form], tokens[form:]


def declared_prefixes(tokens: tuple[QueryToken, ...]) -> dict[str, str]:
    """The prefixes that a query declares."""
    threes = zip(tokens, tokens[1:], tokens[2:], strict=False)
    return {name.text[:-1]: iri.text[1:-1] for word, name, iri in threes if word.upper == "PREFIX"}


class QueryWriter:
    """One pass over the tokens of a query behind its prologue."""

    def __init__(
        self,
        tokens: tuple[QueryToken, ...],
        prefixes: Prefixes,
        own: Mapping[str, str],
        terms: Container[str],
        *,
        by_place: bool,
        gaps: Container[str] = (),
        stays: Callable[[str], bool] = lambda value: False,
    ) -> None:
        self._tokens = tokens
        self._prefixes = prefixes
        self._expanding = Prefixes({**prefixes, **own})
        self._terms = terms
        self._by_place = by_place
        self._gaps = gaps
        self._stays = stays
        self._names: dict[tuple[str, str], str] = {}
        self.slots: dict[str, str] = {}
        self.kept: dict[str, None] = {}
        self.classes: dict[str, None] = {}

    def words(self) -> Iterator[QueryToken]:
        """The tokens as the pattern has them; those that a placeholder swallowed are gone."""
        until, place = "", 0
        while place < len(self._tokens):
            token = self._tokens[place]
            until = self._listed_until(token, until)
            if token.kind in (IRI, PNAME):
                yield self._name(place, token, listed=bool(until))
            elif token.kind == STRING:
                word, place = self._text(place, token)
                yield word
            elif token.kind == NUMBER:
                yield self._number(place, token)
            elif token.kind == VAR:
                yield token._replace(text="?" + token.text[1:])
            elif token.kind == WORD:
                small = token.upper in ("A", "TRUE", "FALSE")
                yield token._replace(text=token.text.lower() if small else token.upper)
            else:
                yield token
            place += 1

    @staticmethod
    def _listed_until(token: QueryToken, until: str) -> str:
        """The sign that ends a list of names (in a DESCRIBE or a VALUES), '' outside of one."""
        if token.upper in ("DESCRIBE", "VALUES"):
            return "{" if token.upper == "DESCRIBE" else "}"
        return "" if token.text == until else until

    def _near(self, place: int) -> QueryToken:
        return self._tokens[place] if 0 <= place < len(self._tokens) else QueryToken("", "", 0)

    def _name(self, place: int, token: QueryToken, *, listed: bool) -> QueryToken:
        iri = self._expanding.expand(token.text)
        short = self._prefixes.shrink(iri)
        is_class = self._is_class(place)
        by_place = self._by_place and not listed and (is_class or self._is_predicate(place))
        stays = iri in self._terms or is_machinery(iri) or iri.startswith(XSD) or by_place
        stays = stays or self._stays(iri)
        if not stays or (iri in self._gaps and not self._is_predicate(place)):
            return self._slot("ENTITY", iri, "an IRI", token)
        if is_class and not is_machinery(iri):
            self.classes[short] = None
        if not iri.startswith(XSD) and iri != TYPE:
            self.kept[short] = None
        return token._replace(text=short)

    def _is_class(self, place: int) -> bool:
        before = self._near(place - 1)
        if before.kind in (IRI, PNAME):
            return self._expanding.expand(before.text) == TYPE
        return before.upper == "A"

    def _is_predicate(self, place: int) -> bool:
        """By its neighbours: between two nodes, behind `;` or `[`, or in a path."""
        before, after = self._near(place - 1), self._near(place + 1)
        if before.text == "^^":
            return True
        follows = after.kind in (*_NODES, STRING, NUMBER) or after.upper in ("TRUE", "FALSE")
        follows = follows or after.text in _AFTER_PREDICATE
        if before.kind == PUNCT:
            if before.text in _PATH_SIGNS:
                return follows or after.text == ")"
            if before.text == "(":
                return after.text in ("/", "|", "*", "+", "?")
            return before.text in (";", "[", "]") and follows
        return before.kind in _NODES and follows

    def _text(self, place: int, token: QueryToken) -> tuple[QueryToken, int]:
        """What a string becomes, and the last token that belongs to it."""
        before, after = self._near(place - 1), self._near(place + 1)
        separator = before.text == "=" and self._near(place - 2).upper == "SEPARATOR"
        if SHAPELY.fullmatch(token.text) or separator or self._stays(token.text.strip("\"'")):
            return token, place
        if after.kind == LANG:
            what = f"text, language {after.text[1:].lower()}"
            return self._slot("TEXT", token.text + what, what, token), place + 1
        if after.text == "^^":
            kind = self._prefixes.shrink(self._expanding.expand(self._near(place + 2).text))
            return self._slot("TEXT", token.text + kind, f"a value of {kind}", token), place + 2
        return self._slot("TEXT", token.text, "text", token), place

    def _number(self, place: int, token: QueryToken) -> QueryToken:
        """How many rows are wanted is no variable to SPARQL; 0 and 1 are part of the shape."""
        if token.text in ("0", "1") or self._near(place - 1).upper in ("LIMIT", "OFFSET"):
            return token
        if self._stays(token.text):
            return token
        return self._slot("NUMBER", token.text, "a number", token)

    def _slot(self, kind: str, value: str, what: str, token: QueryToken) -> QueryToken:
        """The placeholder of a value: the same one each time."""
        name = self._names.get((kind, value))
        if name is None:
            number = 1 + sum(known == kind for known, _ in self._names)
            name = self._names[kind, value] = f"${kind}_{number}"
            self.slots[name] = what
        return QueryToken(VAR, name, token.start)


def join_tokens(words: list[QueryToken]) -> str:
    """One spelling for one list of tokens."""
    parts: list[str] = []
    before = QueryToken("", "(", 0)
    for word in words:
        tight = before.text in _TIGHT_AFTER or word.text in _TIGHT_BEFORE or word.kind == LANG
        tight = tight or (word.text == "(" and before.kind == WORD and before.upper not in _SPACED)
        repeated = before.kind in (IRI, PNAME) or before.text == ")"
        tight = tight or (word.text in ("*", "+", "?") and repeated)
        parts += [word.text] if tight else [" ", word.text]
        before = word
    return "".join(parts)


# -- templates: gaps that a question fills


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
    does not fill. None for a query with a BASE or an unknown prefix. Raises QueryRefused."""
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


def classes_of(query: str, prefixes: Mapping[str, str]) -> list[str]:
    """The IRIs that a query has right behind `a`, in order, each once, as far as known."""
    head, body = split_prologue(check_query(query))
    known = Prefixes({**Prefixes(prefixes), **declared_prefixes(head)})
    found: dict[str, None] = {}
    for before, token in pairwise(body):
        is_type = before.upper == "A"
        with suppress(RLMError):
            if before.kind in (IRI, PNAME):
                is_type = known.expand(before.text) == TYPE
            if is_type and token.kind in (IRI, PNAME):
                found[known.expand(token.text)] = None
    return list(found)


class ComparedText(NamedTuple):
    """A literal of a query: the string as it is written there, with its quotes, and what follows:
    `@en`, `^^<datatype>` or ''."""

    text: str
    kind: str


def compared_texts(query: str, prefixes: Mapping[str, str]) -> list[ComparedText]:
    """The literals in quotes that a query compares with terms, each once: no arguments of
    functions, and not what the value of a function is beside."""
    found: dict[ComparedText, None] = {}
    calls: list[bool] = []
    head, body = split_prologue(check_query(query))
    known = Prefixes({**Prefixes(prefixes), **declared_prefixes(head)})
    for place, token in enumerate(body):
        before, after = body[max(0, place - 2) : place], body[place + 1 : place + 3]
        if token.text == "(":
            last = before[-1]
            calls.append(last.kind in (WORD, IRI, PNAME) and last.upper not in _NO_FUNCTIONS)
        elif token.text == ")":
            calls.pop()
        elif token.kind == STRING and not any(calls) and before[0].text != ")":
            with suppress(RLMError):
                found[ComparedText(token.text, _kind_of(after, known))] = None
    return list(found)


def _kind_of(after: Sequence[QueryToken], prefixes: Prefixes) -> str:
    """The language or datatype that stands behind a string."""
    if after and after[0].kind == LANG:
        return after[0].text
    if len(after) == 2 and after[0].text == "^^":
        return f"^^<{prefixes.expand(after[1].text)}>"
    return ""


class _Filler(QueryWriter):
    """The same pass with gaps that were chosen before."""

    def __init__(
        self,
        tokens: tuple[QueryToken, ...],
        prefixes: Prefixes,
        own: Mapping[str, str],
        entities: Mapping[str, str],
        texts: Mapping[str, str],
    ) -> None:
        super().__init__(tokens, prefixes, own, (), by_place=False)
        self._entities = entities
        self._texts = texts

    def _name(self, place: int, token: QueryToken, *, listed: bool) -> QueryToken:
        iri = self._expanding.expand(token.text)
        if iri in self._entities:
            return QueryToken(VAR, self._entities[iri], token.start)
        short = self._prefixes.shrink(iri)
        if not (is_machinery(iri) or iri.startswith((XSD, SKOS))):
            self.kept[short] = None
        return token._replace(text=short)

    def _text(self, place: int, token: QueryToken) -> tuple[QueryToken, int]:
        quotes = 3 if token.text[:3] in ('"""', "'''") else 1
        value = token.text[quotes:-quotes]
        after = self._near(place + 1)
        end = place + (1 if after.kind == LANG else 2 if after.text == "^^" else 0)
        folded = value.casefold()
        if folded in self._texts:
            return QueryToken(VAR, self._texts[folded], token.start), end
        if SHAPELY.fullmatch(token.text) or _WORDLESS.fullmatch(value):
            return token._replace(text=f"'{value}'"), place
        for text, name in self._texts.items():
            before, found, behind = folded.partition(text)
            if text and found and _WORDLESS.fullmatch(before) and _WORDLESS.fullmatch(behind):
                parts = [f"'{before}'" if before else "", name, f"'{behind}'" if behind else ""]
                return QueryToken(
                    VAR, f"CONCAT({', '.join(filter(None, parts))})", token.start
                ), end
        return self._slot("TEXT", token.text, "text", token), end

    def _number(self, place: int, token: QueryToken) -> QueryToken:
        return token

    def _slot(self, kind: str, value: str, what: str, token: QueryToken) -> QueryToken:
        """A gap of its own, numbered behind those that were chosen."""
        number = 1 + len(self._texts) + len(self._names)
        name = self._names.setdefault((kind, value), f"${kind}_{number}")
        self.slots[name] = what
        return QueryToken(VAR, name, token.start)
