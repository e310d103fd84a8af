"""Reading a query just well enough to say what it asks: for deciding whether a procedure's query
fits a question.

Only a part of SPARQL is read: triples with paths, FILTER, OPTIONAL, MINUS, NOT EXISTS, UNION and
VALUES. A query with anything else is not understood, and what is not understood is not run. The
order of the parts of a group is not kept: where it matters (OPTIONAL or MINUS before something that
binds), a group is not understood either.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""\s*(<[^<>\s]*>|[?$]\w+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[A-Za-z_][\w.-]*:\w[\w.-]*(?<!\.)|[A-Za-z_]\w*|\d+"""
    r"""|\|\||&&|!=|<=|>=|\^\^|@[A-Za-z-]+|[{}()\[\].,;/|^*+?!=<>-])"""
)
_KNOWN = {
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf:",
    "http://www.w3.org/2000/01/rdf-schema#": "rdfs:",
    "http://www.w3.org/2002/07/owl#": "owl:",
    "http://www.w3.org/2004/02/skos/core#": "skos:",
}
_WORDS = frozenset(("SELECT", "ASK", "DISTINCT", "REDUCED", "WHERE", "FILTER", "OPTIONAL", "MINUS", "NOT", "EXISTS",
                    "UNION", "VALUES", "IN", "AS", "COUNT", "LIMIT", "ORDER", "BY", "ASC", "DESC"))  # fmt: skip
_NAME = re.compile(r"[A-Za-z_][\w.-]*:\w[\w.-]*|<[^<>\s]*>|a")
_LOCAL = re.compile(r"\w(?:[\w.-]*[\w-])?")
_VARIABLE = re.compile(r"\?\w+")
_HIDDEN_X = "?'x"
"""What another ?x is called when the one that answers is: no query can write this name."""

Triple = tuple[str, str, str]
Tokens = tuple[str, ...]


@dataclass(slots=True)
class Group:
    """What stands between two braces."""

    triples: list[Triple] = field(default_factory=list)
    filters: list[Tokens] = field(default_factory=list)
    optionals: list[Group] = field(default_factory=list)
    negatives: list[Group] = field(default_factory=list)
    unions: list[list[Group]] = field(default_factory=list)
    values: dict[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SparqlQuery:
    """A query: `x` is the variable that answers, and stands as ?x everywhere in `where`."""

    form: str
    """SELECT, COUNT or ASK."""
    columns: tuple[str, ...]
    where: Group
    limit: int | None = None
    names: tuple[str, ...] = ()
    """The columns as the query itself calls them."""
    counted: str = ""
    """What a COUNT counts, as the query calls it: a variable, or *."""


class _Unknown(Exception):
    pass


def read_query(text: str) -> SparqlQuery | None:
    """The query; None for what is not understood."""
    tokens, at = [], 0
    while match := _TOKEN.match(text, at):
        tokens.append(match[1])
        at = match.end()
    if text[at:].strip() or not tokens:
        return None
    try:
        return _Reader([_evened(token) for token in tokens]).query()
    except (_Unknown, IndexError, RecursionError):
        return None


def _evened(token: str) -> str:
    """One spelling for one thing."""
    if token.upper() in _WORDS:
        return token.upper()
    if token.startswith("<"):
        space = next((space for space in _KNOWN if token[1:].startswith(space)), "")
        local = token[1 + len(space) : -1]
        token = _KNOWN[space] + local if space and _LOCAL.fullmatch(local) else token
    if token[0] == "$" and not re.fullmatch(r"\$(?:ENTITY|TEXT|NUMBER)_\d+", token):
        token = f"?{token[1:]}"
    return "a" if token == "rdf:type" else token


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def _peek(self, ahead: int = 0) -> str:
        place = self._at + ahead
        return self._tokens[place] if place < len(self._tokens) else ""

    def _take(self, token: str) -> bool:
        if self._peek() == token:
            self._at += 1
            return True
        return False

    def _need(self, token: str) -> None:
        if not self._take(token):
            raise _Unknown

    def query(self) -> SparqlQuery:
        form = self._next()
        names: list[str] = []
        counted = ""
        if form == "SELECT":
            if not self._take("DISTINCT"):
                self._take("REDUCED")
            if self._take("("):
                counted = self._count()
            while self._peek().startswith("?") and len(self._peek()) > 1:
                names.append(self._next()[1:])
            if (counted and names) or (not counted and not names):
                raise _Unknown
        elif form != "ASK":
            raise _Unknown
        self._take("WHERE")
        self._need("{")
        where = self._group()
        limit = self._ending()
        x = counted or (f"?{names[0]}" if names else "")
        columns = ("x", *names[1:]) if names else ()
        kind = "COUNT" if counted else form
        return SparqlQuery(kind, columns, _renamed(where, x), limit, tuple(names), counted)

    def _count(self) -> str:
        """Behind the bracket of `(COUNT(DISTINCT ?x) AS ?n)`."""
        self._need("COUNT")
        self._need("(")
        each_once = self._take("DISTINCT")
        counted = self._next()
        if counted != "*" and not (each_once and _VARIABLE.fullmatch(counted)):
            raise _Unknown
        self._need(")")
        self._need("AS")
        if not _VARIABLE.fullmatch(self._next()):
            raise _Unknown
        self._need(")")
        return counted

    def _ending(self) -> int | None:
        if self._take("ORDER"):
            self._need("BY")
            self._order()
            while self._peek() and self._peek() != "LIMIT":
                self._order()
        if not self._peek():
            return None
        self._need("LIMIT")
        number = self._next()
        if not re.fullmatch("[0-9]{1,9}", number) or self._peek():
            raise _Unknown
        return int(number)

    def _order(self) -> None:
        """One of the things that rows are put in order by: a variable, or one with its direction."""
        directed = self._take("ASC") or self._take("DESC")
        if directed:
            self._need("(")
        if not _VARIABLE.fullmatch(self._next()):
            raise _Unknown
        if directed:
            self._need(")")

    def _group(self) -> Group:
        made, minus = Group(), False
        while not self._take("}"):
            token = self._peek()
            if (made.optionals or minus) and token not in (".", "FILTER", "OPTIONAL", "MINUS"):
                raise _Unknown  # what comes before this would mean something else behind it
            if token == ".":
                self._next()
            elif token == "FILTER":
                self._next()
                self._filter(made)
            elif token in ("OPTIONAL", "MINUS"):
                self._next()
                self._need("{")
                minus = minus or token == "MINUS"
                (made.optionals if token == "OPTIONAL" else made.negatives).append(self._group())
            elif token == "VALUES":
                self._next()
                self._values(made)
            elif token == "{":
                self._next()
                made.unions.append([self._group()])
                while self._take("UNION"):
                    self._need("{")
                    made.unions[-1].append(self._group())
            else:
                self._triples(made)
        return made

    def _values(self, made: Group) -> None:
        name, listed = self._next(), set()
        self._need("{")
        while not self._take("}"):
            listed.add(self._next())
        if (
            not _VARIABLE.fullmatch(name)
            or name in made.values
            or not all(_NAME.fullmatch(each) for each in listed)
        ):
            raise _Unknown
        made.values[name] = frozenset(listed)

    def _filter(self, made: Group) -> None:
        if self._peek() == "NOT" and self._peek(1) == "EXISTS":
            self._at += 2
            self._need("{")
            made.negatives.append(self._group())
            return
        parts, depth = [], 0
        while True:
            token = self._next()
            parts.append(token)
            depth += (token == "(") - (token == ")")
            if token in ("{", "}"):
                raise _Unknown
            if depth == 0 and token == ")":
                break
        made.filters.append(
            tuple(_folded(part, after) for part, after in zip(parts, [*parts[1:], ""], strict=True))
        )

    def _triples(self, made: Group) -> None:
        subject = self._node()
        while True:
            verb = (
                self._next()
                if self._peek().startswith("?") and len(self._peek()) > 1
                else self._path()
            )
            while True:
                made.triples.append(_turned(subject, verb, self._node()))
                if not self._take(","):
                    break
            if not self._take(";"):
                return

    def _node(self) -> str:
        token = self._next()
        if re.fullmatch(r"[?$]\w+", token) or (_NAME.fullmatch(token) and token != "a"):
            return token
        raise _Unknown

    def _path(self) -> str:
        made = self._element()
        while self._peek() in ("/", "|"):
            made += self._next() + self._element()
        return made

    def _element(self) -> str:
        sign = "^" if self._take("^") else ""
        if self._take("("):
            inner = self._path()
            self._need(")")
            made = inner if re.fullmatch(r"\^?[\w:.-]+", inner) else f"({inner})"
        else:
            made = self._next()
            if not _NAME.fullmatch(made):
                raise _Unknown
        mark = self._next() if self._peek() in ("*", "+", "?") else ""
        return sign + made + mark


def _folded(token: str, after: str) -> str:
    """Of all names in a filter only those of functions mean the same in capitals."""
    is_function = after == "(" and token not in _WORDS and re.fullmatch(r"[A-Za-z_]\w*", token)
    return token.lower() if is_function else token


def _turned(subject: str, verb: str, target: str) -> Triple:
    """A link that is followed backwards, the right way round."""
    if match := re.fullmatch(
        r"\^([\w:.-]+[*+?]?)|\(\^([\w:.-]+)\)([*+?])|\^\(([\w:.-]+[*+?]?)\)", verb
    ):
        return target, match[1] or match[4] or match[2] + match[3], subject
    return subject, verb, target


def _renamed(group: Group, x: str) -> Group:
    def name(token: str) -> str:
        return "?x" if token == x and x.startswith("?") else _HIDDEN_X if token == "?x" else token

    return Group(
        [(name(s), name(p), name(o)) for s, p, o in group.triples],
        [tuple(name(token) for token in tokens) for tokens in group.filters],
        [_renamed(part, x) for part in group.optionals],
        [_renamed(part, x) for part in group.negatives],
        [[_renamed(part, x) for part in parts] for parts in group.unions],
        {name(key): listed for key, listed in group.values.items()},
    )
