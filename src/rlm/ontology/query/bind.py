"""Values for the variables of a query that is sent as text.

The protocol has no parameters, so a value becomes part of the text: `VALUES ?x { <http://…> }`, put
at the start of the outermost group and of every inner group that names the variable itself. So a
value also reaches subselects and filters of inner groups, where a join at the top would come too
late. Nothing of a value can end its token: IRIs with characters that an IRI may not have are
refused, strings are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rlm.errors import QueryRefused
from rlm.ontology.query.guard import Checked
from rlm.ontology.query.lexer import PUNCT, VAR, tokenize
from rlm.ontology.terms import Term

_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\\ud800-\udfff]*")
_LANG = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONTROL = re.compile(r"[\x00-\x07\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_ESCAPES = dict(zip('\\"\n\r\t\b\f', '\\"nrtbf', strict=True))
_MODIFIERS = frozenset({"GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES"})


@dataclass(slots=True)
class _Group:
    """A brace: where its content starts, its first token, the variables named directly in it."""

    start: int
    parens: int
    template: bool
    first: str = ""
    variables: set[str] = field(default_factory=set)


def bind_values(query: str, bindings: Mapping[str, Term] | None) -> str:
    """The query with these variables fixed. QueryRefused for what a query cannot hold."""
    values = {_variable(name): term_source(term) for name, term in (bindings or {}).items()}
    if not values:
        return query
    groups, named, made, bare = _groups(query)
    if set(values) & made:
        name = f"?{min(set(values) & made)}"
        todo = f"compare it there, FILTER({name} = …)"
        raise QueryRefused(f"{name} gets its value in the query (AS {name}): {todo}")
    if missing := sorted(set(values) - named):
        todo = "name it in the query, or do not bind it"
        raise QueryRefused(f"the query has no variable ?{missing[0]} to bind: {todo}")
    places = [group for group in groups if not group.template and group.first != "SELECT"]
    outermost = next((group for group in places if group.parens == 0), None)
    inserts: list[tuple[int, str]] = []
    if outermost is None:
        if bare is None:
            raise QueryRefused("the query has no WHERE { … } in which a variable could be bound")
        inserts.append((bare, f" WHERE {{ {_block(values)}}} "))
    for group in places:
        wanted = set(values) if group is outermost else group.variables & set(values)
        if wanted:
            chosen = {name: term for name, term in values.items() if name in wanted}
            inserts.append((group.start, f" {_block(chosen)}"))
    parts, at = [], 0
    for place, text in sorted(inserts):
        parts += [query[at:place], text]
        at = place
    return "".join([*parts, query[at:]])


def bind_hidden(checked: Checked, bindings: Mapping[str, Term]) -> tuple[str, dict[str, Term]]:
    """The query with the values that a SELECT does not return in its text, and the other values.
    The local engine takes values beside the query, but only for what is returned. `SELECT *` is
    left alone: a value in the text would become one more column. So are blank nodes."""
    left = {name.lstrip("?$"): term for name, term in bindings.items()}
    returned = _returned_variables(checked)
    if returned is None:
        return checked.text, left
    unlisted = [name for name in left if name not in returned]
    hidden = {name: left.pop(name) for name in unlisted if left[name].get("t") != "bnode"}
    return bind_values(checked.text, hidden), left


def _returned_variables(checked: Checked) -> set[str] | None:
    """The variables that a SELECT lists; None for `*` and for the other forms."""
    names: set[str] = set()
    parens, before, listing = 0, "", False
    for token in checked.tokens:
        if not listing:
            listing = token.upper == checked.kind == "SELECT"
        elif token.kind == PUNCT and token.text in "()":
            parens += 1 if token.text == "(" else -1
        elif parens == 0 and token.text == "*":
            return None
        elif parens == 0 and (token.text == "{" or token.upper == "WHERE"):
            return names
        elif token.kind == VAR and (parens == 0 or (parens == 1 and before == "AS")):
            names.add(token.text[1:])
        before = token.upper
    return None


def term_source(term: Term) -> str:
    """A term as SPARQL writes it. Raises QueryRefused for a blank node and for what is no term."""
    kind, value = term.get("t"), term.get("v")
    if not isinstance(value, str):
        raise QueryRefused(f"a bound value needs its text at 'v': {_shorten(str(term))}")
    if kind == "iri":
        return _iri_source(value)
    if kind == "bnode":
        what = f"a blank node cannot be bound (_:{_shorten(value)})"
        raise QueryRefused(f"{what}: ask by an IRI or a literal")
    if kind != "lit":
        raise QueryRefused(f"a bound value is an 'iri' or a 'lit', not {_shorten(str(kind))!r}")
    lang, datatype = term.get("lang"), term.get("dt")
    if lang:
        if not isinstance(lang, str) or not _LANG.fullmatch(lang):
            raise QueryRefused(f"no language tag: {_shorten(lang)!r}")
        return f"{_string_source(value)}@{lang}"
    return _string_source(value) + (f"^^{_iri_source(datatype)}" if datatype else "")


def _iri_source(iri: object) -> str:
    if not isinstance(iri, str) or not _IRI.fullmatch(iri):
        raise QueryRefused(f"not an absolute IRI: {_shorten(str(iri))!r}")
    return f"<{iri}>"


def _string_source(text: str) -> str:
    parts, before = [], ""
    for char in text:
        if _CONTROL.match(char):
            what = f"a bound text holds U+{ord(char):04X}"
            raise QueryRefused(f"{what}, which cannot stand in a query: remove it")
        if before == "\\" and char in "uU":
            # Some servers read \uXXXX first and do not see that the backslash is escaped.
            parts.append(f"\\u{ord(char):04X}")
        else:
            parts.append(f"\\{_ESCAPES[char]}" if char in _ESCAPES else char)
        before = char
    return f'"{"".join(parts)}"'


def _variable(name: str) -> str:
    bare = name[1:] if name[:1] in ("?", "$") else name
    if not _NAME.fullmatch(bare):
        raise QueryRefused(f"no name of a variable: {_shorten(name)!r}")
    return bare


def _block(values: Mapping[str, str]) -> str:
    return "".join(f"VALUES ?{name} {{ {term} }} " for name, term in values.items())


def _groups(query: str) -> tuple[list[_Group], set[str], set[str], int | None]:
    """Braces, variables, those made by AS, and where a DESCRIBE could have its WHERE."""
    groups: list[_Group] = []
    open_groups: list[_Group] = []
    named: set[str] = set()
    made: set[str] = set()
    parens, before, describe, bare = 0, "", False, None
    for token in tokenize(query):
        text, word = token.text, token.upper
        if open_groups and not open_groups[-1].first:
            open_groups[-1].first = word or text
        if token.kind == VAR:
            named.add(text[1:])
            if open_groups:
                open_groups[-1].variables.add(text[1:])
            if before == "AS" and not (open_groups and open_groups[-1].first == "SELECT"):
                made.add(text[1:])
        elif token.kind == PUNCT and text in "()":
            parens += 1 if text == "(" else -1
        elif text == "{":
            group = _Group(token.end, parens, template=before == "CONSTRUCT")
            groups.append(group)
            open_groups.append(group)
        elif text == "}" and open_groups:
            open_groups.pop()
        elif word == "WHERE" and before == "CONSTRUCT":
            raise QueryRefused(
                "CONSTRUCT WHERE { … } leaves no room to bind: write CONSTRUCT { … } WHERE { … }"
            )
        elif word == "DESCRIBE" and not groups:
            describe = True
        elif describe and bare is None and word in _MODIFIERS:
            bare = token.start
        before = word or text
    return groups, named, made, len(query) if describe and bare is None else bare


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79] + "…"
