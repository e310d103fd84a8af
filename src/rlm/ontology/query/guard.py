"""Which queries may run: one that reads, of a bounded size, and stays inside its data.

A query is refused when it is an update, calls another server (SERVICE), chooses its own data
(FROM), is several queries, or is so large or so deep that an engine may fall over: pyoxigraph dies
of a stack overflow at a nesting of about 1,000 and of a chain of about 10,000 operators, and plans
for minutes at a few hundred patterns. Everything else of SPARQL is allowed; what only takes long is
ended by the engine's timeout.

The check is by tokens, in one pass. It does not know the grammar, but every word must be one of
SPARQL's own: an engine that needs no spaces reads `SERVICESILENT<…>` as two keywords, and a list of
what is forbidden would miss it.

`enforce_limit` touches only the outermost solution modifiers: LIMIT stands after ORDER BY, beside
OFFSET in either order, and before a trailing VALUES. For CONSTRUCT and DESCRIBE
it counts solutions, as SPARQL has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from rlm.errors import OntologyError, QueryRefused
from rlm.ontology.query.lexer import (
    IRI,
    PNAME,
    PUNCT,
    STRING,
    VAR,
    WORD,
    QueryToken,
    refusal,
    tokenize,
)
from rlm.ontology.terms import Prefixes

MAX_CHARS = 20_000
MAX_DEPTH = 40
MAX_TOKENS = 8_000
MAX_GROUPS = 150  # `{`: each may be a UNION, OPTIONAL, MINUS, VALUES or subselect
MAX_STATEMENTS = 150  # `.`, `;` and `,` between triples: pyoxigraph plans 6 s for 150, 18 s for 200
MAX_OPERATORS = 500  # of expressions and property paths
MAX_CLAUSES = 150  # FILTER and BIND: a nesting of the algebra each

FORMS = frozenset(("SELECT", "ASK", "CONSTRUCT", "DESCRIBE"))
_PROLOGUE = frozenset(("BASE", "PREFIX", "VERSION"))
_UPDATES = frozenset(
    ("INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH", "USING")
)
_VOCABULARY = """
DISTINCT REDUCED AS WHERE GROUP BY HAVING ORDER ASC DESC LIMIT OFFSET VALUES UNDEF OPTIONAL
GRAPH UNION MINUS FILTER BIND NOT IN EXISTS SEPARATOR A TRUE FALSE LATERAL
COUNT SUM MIN MAX AVG SAMPLE GROUP_CONCAT
STR LANG LANGMATCHES DATATYPE BOUND IRI URI BNODE RAND ABS CEIL FLOOR ROUND CONCAT STRLEN UCASE
LCASE ENCODE_FOR_URI CONTAINS STRSTARTS STRENDS STRBEFORE STRAFTER YEAR MONTH DAY HOURS MINUTES
SECONDS TIMEZONE TZ NOW UUID STRUUID MD5 SHA1 SHA256 SHA384 SHA512 COALESCE IF STRLANG STRDT
SAMETERM ISIRI ISURI ISBLANK ISLITERAL ISNUMERIC REGEX SUBSTR REPLACE
TRIPLE SUBJECT PREDICATE OBJECT ISTRIPLE LANGDIR HASLANG HASLANGDIR STRLANGDIR ADJUST
"""
_WORDS = frozenset(_VOCABULARY.split())
_CLOSES = {"}": "{", ")": "(", "]": "[", ">>": "<<"}
_SIGNS = "+ - * / | || && ! ^ = != < > <= >= ?"
_OPERATORS = frozenset(_SIGNS.split())
_BEGIN = "SELECT, ASK, CONSTRUCT or DESCRIBE"
_SPACE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\\x7f-\x9f\ud800-\udfff]*")


_AGGREGATES = frozenset(["COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT"])
_CLAUSES = frozenset(("WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES"))
_SETS = ("DISTINCT", "REDUCED")


@dataclass(frozen=True, slots=True)
class Checked:
    """A query that may run. `kind` is its form, in capitals."""

    kind: str
    text: str
    tokens: tuple[QueryToken, ...]


def check_query(text: str, *, max_chars: int = MAX_CHARS, max_depth: int = MAX_DEPTH) -> Checked:
    """The query with its form and tokens; raises QueryRefused with what, where and what to do."""
    if len(text) > max_chars:
        raise QueryRefused(
            f"query refused: it has {len(text):,} characters, at most {max_chars:,} are allowed;"
            " ask for less, or put long lists of values into several queries"
        )
    tokens = tokenize(text)
    if not tokens:
        raise QueryRefused(f"query refused: there is no query in it; write {_BEGIN}")
    form = _skip_prologue(text, tokens)
    _check_body(text, tokens, form, max_depth)
    if len(tokens) > MAX_TOKENS:
        raise _too_many(text, tokens[MAX_TOKENS], "words and signs", MAX_TOKENS)
    return Checked(tokens[form].upper, text, tuple(tokens))


def _skip_prologue(text: str, tokens: list[QueryToken]) -> int:
    """The index of the query form behind BASE, PREFIX and VERSION."""
    expected = {"BASE": (IRI,), "PREFIX": (PNAME, IRI), "VERSION": (STRING,)}
    index = 0
    while index < len(tokens) and tokens[index].upper in _PROLOGUE:
        declaration = tokens[index]
        kinds = expected[declaration.upper]
        found = tokens[index + 1 : index + 1 + len(kinds)]
        is_prefix = declaration.upper == "PREFIX"
        complete = tuple(token.kind for token in found) == kinds
        if not complete or (is_prefix and not found[0].text.endswith(":")):
            wanted = "PREFIX name: <iri>" if is_prefix else f"{declaration.upper} and its value"
            what = f"{declaration.upper} is not complete"
            raise refusal(text, declaration.start, what, f"write {wanted}")
        index += 1 + len(kinds)
    if index == len(tokens):
        raise refusal(text, len(text), "there is no query after the prefixes", f"write {_BEGIN}")
    form = tokens[index]
    if form.upper in _UPDATES:
        raise _update(text, form)
    if form.upper not in FORMS:
        what = f"{form.text[:40]!r} does not begin a query"
        raise refusal(text, form.start, what, f"begin with {_BEGIN}")
    return index


def _check_body(text: str, tokens: list[QueryToken], form: int, max_depth: int) -> None:
    nesting: list[QueryToken] = []
    counts = dict.fromkeys(("groups", "statements", "operators", "clauses"), 0)
    for index in range(form + 1, len(tokens)):
        token = tokens[index]
        if token.kind == WORD:
            _check_word(text, token, top=not nesting)
            if token.upper in ("FILTER", "BIND"):
                _count(text, token, counts, "clauses", MAX_CLAUSES)
        elif token.kind == PNAME:
            _check_name(text, tokens, index, top=not nesting)
        elif token.kind == PUNCT:
            _check_sign(text, token, nesting, max_depth)
            if token.text == "{":
                _count(text, token, counts, "groups", MAX_GROUPS)
            elif token.text in ".;" or (token.text == "," and nesting and nesting[-1].text != "("):
                _count(text, token, counts, "statements", MAX_STATEMENTS)
            elif token.text in _OPERATORS:
                _count(text, token, counts, "operators", MAX_OPERATORS)
    if nesting:
        raise refusal(text, nesting[-1].start, f"{nesting[-1].text} is never closed", "close it")


def _check_word(text: str, token: QueryToken, *, top: bool) -> None:
    word = token.upper
    if word in _UPDATES:
        raise _update(text, token)
    if word == "SERVICE":
        what = "SERVICE would call another server"
        todo = "ask each endpoint by itself, by its name in the settings, and join the answers"
    elif word == "FROM":
        what = "FROM would choose other data"
        todo = "leave FROM out, or use GRAPH for a named graph of this data"
    elif word in _PROLOGUE:
        what, todo = f"{word} in the middle of a query", "put it before the query form"
    elif word in FORMS and top:
        what, todo = f"a second query begins with {word}", "send one query at a time"
    elif word not in _WORDS and word not in FORMS:
        what = f"{token.text[:40]!r} is no word of SPARQL"
        todo = "check the spelling, put spaces around keywords, or name its prefix"
    else:
        return
    raise refusal(text, token.start, what, todo)


def _check_name(text: str, tokens: list[QueryToken], index: int, *, top: bool) -> None:
    """Refuse a prefixed name that an engine may split into a keyword and a name. `SERVICE:x {` and
    `SERVICEex:x {` are calls to pyoxigraph, and so is `ex:SERVICE<…> {` when ex: followed by
    "SERVICE" makes no IRI. All of them need a `{` after the name, or after one more term."""
    name, start = tokens[index].text, tokens[index].start
    if "service" in name.lower():
        following = tokens[index + 1 : index + 3]
        after = [token.text if token.kind == PUNCT else token.kind for token in following]
        called = after[:1] == ["{"] and tokens[index - 1].upper != "GRAPH"
        if called or (after[1:] == ["{"] and after[0] in (IRI, PNAME, VAR)):
            what = f"{name[:60]!r} before {{ can be read as SERVICE"
            raise refusal(text, start, what, "put a dot before the {, or write the IRI in full")
    if top and "from" in name.lower():
        what = f"{name[:60]!r} can be read as FROM here"
        raise refusal(text, start, what, "write the IRI in full")


def _check_sign(text: str, token: QueryToken, nesting: list[QueryToken], max_depth: int) -> None:
    sign = token.text
    if sign in ("{", "(", "[", "<<"):
        nesting.append(token)
        if len(nesting) > max_depth:
            what = f"nested deeper than {max_depth} levels"
            raise refusal(text, token.start, what, "write it flatter, or split it")
    elif sign in _CLOSES:
        if not nesting:
            todo = "remove it, or open it before"
            raise refusal(text, token.start, f"{sign} closes nothing", todo)
        opened = nesting.pop()
        if opened.text != _CLOSES[sign]:
            what = f"{sign} does not close the {opened.text} before it"
            raise refusal(text, token.start, what, f"close {opened.text} first")
    elif sign == ";" and not nesting:
        todo = "send one query at a time, without ;"
        raise refusal(text, token.start, "; between operations", todo)


def _count(text: str, token: QueryToken, counts: dict[str, int], what: str, most: int) -> None:
    counts[what] += 1
    if counts[what] > most:
        raise _too_many(text, token, what, most)


def _too_many(text: str, token: QueryToken, what: str, most: int) -> QueryRefused:
    todo = "ask for less, or split the query"
    return refusal(text, token.start, f"more than {most:,} {what}", todo)


def _update(text: str, token: QueryToken) -> QueryRefused:
    todo = "only SELECT, ASK, CONSTRUCT and DESCRIBE are run; the data is read-only"
    return refusal(text, token.start, f"{token.upper} would change the data", todo)


# -- LIMIT


def enforce_limit(text: str, limit: int) -> str:
    """The same query with at most `limit` solutions. Raises QueryRefused as `check_query` does."""
    if limit < 0:
        raise QueryRefused(f"a limit of {limit} rows is not possible; use 0 or more")
    checked = check_query(text, max_chars=max(MAX_CHARS, len(text)))
    if checked.kind == "ASK":
        return text
    outer = _outer(checked.tokens)
    places = [index for index, token in enumerate(outer) if token.upper == "LIMIT"]
    if len(places) > 1:
        raise refusal(text, outer[places[1]].start, "a second LIMIT", "keep one of them")
    if places:
        number = outer[places[0] + 1] if places[0] + 1 < len(outer) else outer[places[0]]
        if not number.text.isdigit():
            what = "LIMIT without a whole number"
            raise refusal(text, outer[places[0]].start, what, "write LIMIT and a number")
        if _at_most(number.text, limit):
            return text
        return f"{text[: number.start]}{limit}{text[number.end :]}"
    values = next((token.start for token in outer if token.upper == "VALUES"), None)
    if values is not None:
        return f"{text[:values]}LIMIT {limit} {text[values:]}"
    end = checked.tokens[-1].end
    return f"{text[:end]} LIMIT {limit}{text[end:]}"


def _outer(tokens: tuple[QueryToken, ...]) -> list[QueryToken]:
    """The tokens outside of all brackets."""
    outer: list[QueryToken] = []
    depth = 0
    for token in tokens:
        if token.kind == PUNCT and token.text in ("}", ")", "]", ">>"):
            depth -= 1
        elif token.kind == PUNCT and token.text in ("{", "(", "[", "<<"):
            depth += 1
        elif depth == 0:
            outer.append(token)
    return outer


def _at_most(digits: str, limit: int) -> bool:
    """Whether the number is no larger; digits may be more than an int can be made of."""
    short = digits.lstrip("0") or "0"
    return len(short) < len(str(limit)) or (len(short) == len(str(limit)) and short <= str(limit))


def order_columns(checked: Checked, names: list[str]) -> list[str]:
    """The columns of a `SELECT *` in the order in which the query has its variables; engines give
    them in any. Those of another query as they are."""
    form = next((n for n, token in enumerate(checked.tokens) if token.upper == "SELECT"), None)
    if checked.kind != "SELECT" or form is None:
        return names
    after = [token for token in checked.tokens[form + 1 : form + 3] if token.upper not in _SETS]
    if not after or after[0].text != "*":
        return names
    places: dict[str, int] = {}
    for token in checked.tokens:
        if token.kind == VAR:
            places.setdefault(token.text[1:], token.start)
    return sorted(names, key=lambda name: places.get(name, len(checked.text)))


def find_ungrouped(checked: Checked) -> str:
    """The first variable that a SELECT shows beside groups without grouping by it or aggregating
    it; '' where there is none."""
    tokens = checked.tokens
    places = (place for place, token in enumerate(tokens) if token.upper == "SELECT")
    return next(filter(None, (_find_ungrouped(tokens[place:]) for place in places)), "")


def _find_ungrouped(tokens: tuple[QueryToken, ...]) -> str:
    """The same of the SELECT that begins here."""
    shown: dict[str, None] = {}
    known: set[str] = set()
    grouped = False
    for part, depth, before, token in _walk_select(tokens):
        grouped = grouped or part in ("GROUP", "aggregate")
        if token.kind != VAR or part not in ("SELECT", "GROUP"):
            continue
        if before.upper == "AS" or (part == "GROUP" and not depth):
            known.add(token.text)
        elif part == "SELECT":
            shown[token.text] = None
    return next((name for name in shown if grouped and name not in known), "")


def _walk_select(
    tokens: tuple[QueryToken, ...],
) -> Iterator[tuple[str, int, QueryToken, QueryToken]]:
    """The clause that each token stands in ("aggregate" within one of the SELECT's), how deep, and
    the token before it; to the end of the SELECT that begins here."""
    part, depth, aggregate = "SELECT", 0, 0
    for before, token in pairwise(tokens):
        sign = token.text if token.kind == PUNCT else ""
        if sign in ("{", "("):
            part = "WHERE" if sign == "{" and not depth else part
            depth += 1
            if part == "SELECT" and before.upper in _AGGREGATES:
                aggregate = aggregate or depth
        elif sign in ("}", ")"):
            aggregate = 0 if aggregate == depth else aggregate
            depth -= 1
            if depth < 0:
                return
        elif not depth and token.upper in _CLAUSES:
            part = token.upper
        yield "aggregate" if aggregate else part, depth, before, token


# -- prefixes


def declarations(checked: Checked, prefixes: Mapping[str, str]) -> str:
    """PREFIX lines for those that are known and can stand in a query."""
    spaces = {name: prefixes.get(name, "") for name in _find_undeclared(checked)}
    return "".join(
        f"PREFIX {name}: <{space}>\n" for name, space in spaces.items() if _SPACE.fullmatch(space)
    )


def unbound(checked: Checked, prefixes: Prefixes) -> str:
    """What to say of the first prefix that is neither declared nor known; '' when all are."""
    for name in _find_undeclared(checked).values():
        try:
            prefixes.expand(name)
        except OntologyError as exc:
            return str(exc)
    return ""


def _find_undeclared(checked: Checked) -> dict[str, str]:
    """Prefix → the first name that has it."""
    pairs = pairwise(checked.tokens)
    known = {name.text.partition(":")[0] for word, name in pairs if word.upper == "PREFIX"}
    found: dict[str, str] = {}
    for token in checked.tokens:
        prefix = token.text.partition(":")[0]
        if token.kind == PNAME and prefix not in known:
            found.setdefault(prefix, token.text)
    return found
