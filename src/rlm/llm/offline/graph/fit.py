"""Whether a query asks just what a question asks: nothing less, nothing more, nothing else.

Every kind of question has few forms that a query may take. What is in the query beyond them must
change nothing; what would, and what is not known, makes it another question.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from rlm.llm.offline.asked.kinds import Asked
from rlm.llm.offline.graph.answers import CLASS_TYPES, DECLARED, base_kind, only_type
from rlm.llm.offline.graph.sparql import Group, SparqlQuery, Tokens, Triple

_ONE = "rdfs:subClassOf"
_ANY = (f"{_ONE}+", f"{_ONE}/{_ONE}*")
_INSTANCE = (f"a/{_ONE}*",)
_E1, _E2 = "$ENTITY_1", "$ENTITY_2"
HIERARCHY = ("subclasses", "all_subclasses", "superclasses", "all_superclasses")
_LABELS = ("rdfs:label", "skos:prefLabel", "rdfs:label|skos:prefLabel")


@dataclass(frozen=True, slots=True)
class Fit:
    """How a query that asks the question does it, and what is left for the program that runs it."""

    narrowed: bool = False
    """It leaves out what is not declared: whether that is anything has to be counted."""
    loop: str = ""
    """It counts the class itself too where this path leads back to it."""


def fit(asked: Asked, query: SparqlQuery) -> Fit | None:
    """How a query asks what the question asks; None when it does not."""
    kind = base_kind(asked)
    where = query.where
    if kind == "search":
        return Fit() if _is_search(query) else None
    if kind == "triples":
        return (
            Fit()
            if query.form == "COUNT" and query.counted == "*" and _is_all_triples(where)
            else None
        )
    if query.form == "COUNT" and not _named(where):
        return None  # blank nodes would be counted
    if kind == "roots":
        return Fit() if _is_roots(where) else None
    if kind in DECLARED:
        return Fit() if _is_declared(where, DECLARED[kind]) else None
    if kind == "is_subclass":
        paths = (_ONE,) if asked.of == "direct" else _INSTANCE if asked.of == "instance" else _ANY
        return Fit() if where in [Group([(_E1, path, _E2)]) for path in paths] else None
    for core in _cores(asked, kind):
        narrowed = _fits(where, core, kind)
        if narrowed is not None:
            return _fit(query, core, kind, narrowed)
    return None


def _fit(query: SparqlQuery, core: set[Triple], kind: str, narrowed: bool) -> Fit | None:
    tests = {part for tokens in query.where.filters for part in _parts(tokens)}
    if query.form != "COUNT" or kind not in HIERARCHY or tests & set(_not_self()):
        return Fit(narrowed)
    ((_, path, _),) = core
    return None if path.endswith(f"{_ONE}*") and "/" not in path else Fit(narrowed, path)


def _cores(asked: Asked, kind: str) -> list[set[Triple]]:
    """The sets of triples that ask for what the question asks for."""
    above = f"{_ONE}*"
    if kind in HIERARCHY:
        paths = (*_ANY, above) if kind.startswith("all_") else (_ONE,)
        return [
            {("?x", path, _E1) if kind.endswith("subclasses") else (_E1, path, "?x")}
            for path in paths
        ]
    if kind == "instances":
        if asked.inherited:
            return [{("?x", f"a/{above}", _E1)}, {("?x", "a", "?c"), ("?c", above, _E1)}]
        return [{("?x", "a", _E1)}]
    if kind in ("properties_by_domain", "properties_by_range"):
        side = "rdfs:domain" if kind.endswith("domain") else "rdfs:range"
        if asked.inherited:
            cores = [{(_E1, f"{above}/^{side}", "?x")}, {("?x", side, "?c"), (_E1, above, "?c")}]
        else:
            cores = [{("?x", side, _E1)}]
        return [core | {("?x", "a", only_type(asked))} for core in cores] if asked.only else cores
    return []


def _fits(where: Group, core: set[Triple], kind: str) -> bool | None:
    """Whether a group asks for the core and nothing that adds or takes away; True when for declared
    ones alone."""
    spare = (
        {("?x", "a", name) for name in CLASS_TYPES}
        if kind in ("subclasses", "all_subclasses")
        else set()
    )
    triples = _with_c(where.triples, core)
    if (
        where.negatives
        or where.unions
        or where.values
        or not all(_is_label(part) for part in where.optionals)
    ):
        return None
    allowed = (
        *_are_named("?x"),
        ("!", "isblank", "(", "?x", ")"),
        *(_not_self() if kind in HIERARCHY else ()),
    )
    if not _only(where, allowed) or not core <= triples <= core | spare:
        return None
    return triples != core


def _with_c(triples: Collection[Triple], core: set[Triple]) -> set[Triple]:
    """The triples with the one helping variable under the name that the core gives it."""
    helping = {node for triple in triples for node in triple if node.startswith("?")} - {"?x"}
    if len(helping) != 1 or not any("?c" in triple for triple in core):
        return set(triples)
    return {(_c(subject, helping), path, _c(target, helping)) for subject, path, target in triples}


def _c(node: str, helping: set[str]) -> str:
    return "?c" if node in helping else node


# -- filters and labels
# ------------------------------------------------------------------------------------


def _parts(tokens: Tokens) -> list[Tokens]:
    """What is said in a filter, one by one."""
    parts: list[list[str]] = [[]]
    for token in tokens[1:-1] if tokens[0] == "(" else tokens:
        if token == "&&":
            parts.append([])
        else:
            parts[-1].append(token)
    return [tuple(part) for part in parts]


def _are_named(variable: str) -> list[Tokens]:
    return [(name, "(", variable, ")") for name in ("isiri", "isuri")]


def _not_self() -> list[Tokens]:
    return [("?x", "!=", _E1), (_E1, "!=", "?x")]


def _only(where: Group, allowed: Collection[Tokens]) -> bool:
    return all(part in allowed for tokens in where.filters for part in _parts(tokens))


def _named(where: Group) -> bool:
    return any(part in _are_named("?x") for tokens in where.filters for part in _parts(tokens))


def _is_label(group: Group) -> bool:
    """Whether this adds a label to the rows, and no more. No filter in it can take a row away."""
    plain = not (group.negatives or group.unions or group.values or group.optionals)
    return (
        plain
        and len(group.triples) == 1
        and group.triples[0][0] == "?x"
        and group.triples[0][1] in _LABELS
    )


# -- the other kinds
# ---------------------------------------------------------------------------------------


def _types(where: Group) -> tuple[set[str], str]:
    """The types that ?x may have, and their variable; none when that is not all that a group asks
    for."""
    if len(where.triples) != 1 or where.unions or where.optionals:
        return set(), ""
    subject, path, kind = where.triples[0]
    if subject != "?x" or path != "a" or kind == "?x":
        return set(), ""
    if where.values:
        return (set(where.values[kind]), kind) if set(where.values) == {kind} else (set(), "")
    return (set(), "") if kind.startswith("?") else ({kind}, "")


def _is_declared(where: Group, types: Collection[str]) -> bool:
    return not where.negatives and _only(where, _are_named("?x")) and _types(where)[0] == set(types)


def _is_roots(where: Group) -> bool:
    """Declared classes without a named superclass but owl:Thing and themselves."""
    types, variable = _types(where)
    if types != set(CLASS_TYPES) or len(where.negatives) != 1 or not _only(where, _are_named("?x")):
        return False
    above = where.negatives[0]
    if (
        len(above.triples) != 1
        or above.negatives
        or above.unions
        or above.optionals
        or above.values
    ):
        return False
    subject, path, y = above.triples[0]
    if (subject, path) != ("?x", _ONE) or not y.startswith("?") or y in ("?x", variable):
        return False
    top = "owl:Thing"
    both = {(y, "NOT", "IN", "(", *names, ")") for names in (("?x", ",", top), (top, ",", "?x"))}
    not_x, not_top = {(y, "!=", "?x"), ("?x", "!=", y)}, {(y, "!=", top), (top, "!=", y)}
    tests = {part for tokens in above.filters for part in _parts(tokens)}
    named = set(_are_named(y))
    whole = tests & both or (tests & not_x and tests & not_top)
    return bool(whole and tests & named) and tests <= named | both | not_x | not_top


def _is_all_triples(where: Group) -> bool:
    plain = not (
        where.filters or where.optionals or where.negatives or where.unions or where.values
    )
    variables = {node for triple in where.triples for node in triple}
    return (
        plain
        and len(where.triples) == 1
        and len(variables) == 3
        and all(node[0] == "?" for node in variables)
    )


def _is_search(query: SparqlQuery) -> bool:
    """Terms by their local name or label, with the columns x, label and type: every row is looked
    at once more."""
    where = query.where
    if (
        len(query.columns) != 3
        or len(set(query.columns)) != 3
        or len(set(query.names)) != 3
        or len(where.filters) != 1
    ):
        return False
    label, type_ = (f"?{name}" for name in query.columns[1:])
    if (
        where.negatives
        or where.unions
        or where.values
        or where.optionals != [Group([("?x", "a", type_)])]
    ):
        return False
    if len(where.triples) != 1:
        return False
    subject, path, target = where.triples[0]
    if (subject, target) != ("?x", label):
        return False
    one = ("contains", "(", "lcase", "(", "str", "(", "?x", ")", ")", ",", "$TEXT_1", ")")
    two = ("contains", "(", "lcase", "(", label, ")", ",", "$TEXT_1", ")")
    looked_at = {"rdfs:label", "skos:prefLabel", "skos:altLabel", "a"}
    tests = (("(", *one, "||", *two, ")"), ("(", *two, "||", *one, ")"))
    return set(path.split("|")) == looked_at and where.filters[0] in tests
