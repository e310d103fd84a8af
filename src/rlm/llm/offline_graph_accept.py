"""Whether a procedure of the prompt can answer a question of a kind: what it calls must be what the kind needs.

A memory may be wrong, about something else, cut short or written to mislead, so nothing is taken on its word. A query
is followed only when it is understood to the last sign and asks just what the question asks, in the right direction; a
tool only when its result holds the answer. What is followed is still checked against what the ontology says of itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from rlm.llm.offline_asked_kinds import Asked
from rlm.llm.offline_graph_kinds import CHECKS, CLASS_TYPES, DECLARED, JOINING, PROBES, base_kind
from rlm.llm.offline_graph_prompt import Entry
from rlm.llm.offline_graph_sparql import Group, Query, Triple, read_query

_CALL = re.compile(r"([a-z_]\w*)\((.*)\)", re.DOTALL)
_QUOTED = re.compile(r"""\s*(?:"(.*)"|'(.*)')\s*(?:,\s*\w+\s*=\s*[\w'"]+\s*)*""", re.DOTALL)
_RUN_WITH = re.compile(r"Run with (sparql_query): ((?:SELECT|ASK)\b.*)", re.IGNORECASE)
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}"
    r"\b(?:question|task|instruction|rule|prompt|evidence|above|previous|tool)|"
    r"\b(?:always|just|only|simply)\s+(?:answer|reply|say|respond|return|output|print)\b|\bFINAL(?:_VAR)?\s*\(|"
    r"\b(?:system prompt|api key|password|without (?:looking|checking|asking|searching))\b|"
    r"\b(?:answer|reply|respond)(?: with)? \d",
    re.IGNORECASE,
)
"""What no procedure says, and who wants to steer a model does."""
_LINKING = frozenset({"search_entity", "search_by_label"})
_READING = frozenset({"sparql_slice", "SHOW_VARS", "print", "len"})
_PATHS = {
    "subclasses": ("rdfs:subClassOf",),
    "all_subclasses": ("rdfs:subClassOf+", "rdfs:subClassOf*", "rdfs:subClassOf/rdfs:subClassOf*"),
}
_PATHS |= {"superclasses": _PATHS["subclasses"], "all_superclasses": _PATHS["all_subclasses"]}
_E1, _E2 = "$ENTITY_1", "$ENTITY_2"


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a procedure names: the tool, and its arguments as they are written."""

    tool: str
    args: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is followed of a procedure: a tool, and for a query its text and its columns."""

    entry: int
    tool: str
    query: str = ""
    columns: tuple[str, ...] = ()
    form: str = ""
    depth: int = 2
    limit: int | None = None
    drop_self: bool = False


def best_plan(asked: Asked, entries: Iterable[Entry], tools: Collection[str], question: str) -> Plan | None:
    """The procedure that is followed; None when none applies."""
    found = []
    for entry in entries:
        plan = plan_of(asked, entry, tools)
        if plan is not None:
            shared = _words(question) & _words(f"{entry.title} {entry.description}")
            found.append((plan.tool != "sparql_query", -len(shared), entry.number, plan))
    return min(found, key=lambda each: each[:3])[3] if found else None


def plan_of(asked: Asked, entry: Entry, tools: Collection[str]) -> Plan | None:
    """What a procedure comes to for this question; None when it does not apply."""
    said = "\n".join((entry.title, entry.description, *entry.steps))
    if entry.is_warning or _ORDERS.search(said):
        return None
    calls = calls_in(entry)
    if not calls or any(call.tool not in tools and call.tool not in _READING for call in calls):
        return None
    for call in calls:
        plan = accepts(asked, call, entry, calls)
        if plan is not None:
            return plan
    return None


def calls_in(entry: Entry) -> list[Call]:
    """The calls that a procedure names in full; one that was cut short is none."""
    found = []
    for step in entry.steps:
        if match := _RUN_WITH.match(step):
            found.append(Call(match[1].lower(), f'"{match[2].strip()}"'))
            continue
        pieces = step.split("`")
        for piece in pieces[1::2] if len(pieces) % 2 else pieces[1:-1:2]:
            if call := _CALL.fullmatch(piece.strip()):
                found.append(Call(call[1], call[2]))
    return found


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{3,}", text.lower())) - {"the", "are", "and", "what", "which", "with", "for", "all"}


def accepts(asked: Asked, call: Call, entry: Entry, calls: Collection[Call]) -> Plan | None:
    """What a call comes to when it can answer the question, else None."""
    kind = base_kind(asked)
    if call.tool == "sparql_query":
        quoted = _QUOTED.fullmatch(call.args)
        text = (quoted[1] or quoted[2] or "") if quoted else ""
        query = read_query(text)
        return None if query is None else _query_plan(asked, entry.number, text, query)
    if call.tool == "describe_entity" and kind == "describe" and asked.mentions:
        return Plan(entry.number, call.tool)
    if call.tool == "find_path" and kind == "path":
        depth = re.search(r"max_depth\s*=\s*([1-4])\b", call.args)
        return Plan(entry.number, call.tool, depth=int(depth[1]) if depth else 2)
    if call.tool == "probe_relationships" and kind in PROBES and not asked.inherited and not kind.startswith("all_"):
        predicate, direction = PROBES[kind]
        right = re.search(rf"['\"]{predicate}['\"]", call.args) and re.search(rf"['\"]{direction}['\"]", call.args)
        return Plan(entry.number, call.tool) if right else None
    if call.tool == "graph_stats" and kind in ("namespaces", "classes", "individuals", "triples") and not asked.text:
        return Plan(entry.number, call.tool) if asked.kind != "search" else None
    if call.tool == "sparql_schema" and kind == "namespaces" and "namespaces" in call.args:
        return Plan(entry.number, call.tool)
    if call.tool in _LINKING and kind == "search" and asked.kind == "search" and "$ENTITY" not in call.args:
        return Plan(entry.number, call.tool)
    alone = all(other.tool in _LINKING | {"describe_entity"} for other in calls)
    if call.tool in _LINKING and kind == "exists" and alone:
        return Plan(entry.number, call.tool)
    return None


# -- queries -----------------------------------------------------------------------------------------------


def _query_plan(asked: Asked, number: int, text: str, query: Query) -> Plan | None:
    kind = base_kind(asked)
    counts = asked.kind == "count" and kind != "roots"
    wanted = {"is_subclass": ("ASK",)}.get(kind, ("SELECT", "COUNT") if counts else ("SELECT",))
    gaps = set(re.findall(r"\$(?:ENTITY|TEXT|NUMBER)_\d+", text))
    known = {f"$ENTITY_{place}" for place in range(1, len(asked.mentions) + 1)} | ({"$TEXT_1"} if asked.text else set())
    if query.form not in wanted or gaps - known or (query.limit is not None and query.limit < 100):
        return None
    if kind == "search":
        fits = _is_search(query)
    elif kind == "path":
        fits = query.where == read_query(JOINING.format(_E1, _E2)).where  # type: ignore[union-attr]
        return Plan(number, "find_path") if fits else None
    elif kind == "roots":
        fits = _is_roots(query.where)
    elif kind == "triples":
        fits = query.form == "COUNT" and _is_all_triples(query.where)
    elif kind in DECLARED:
        fits = _is_declared(query.where, DECLARED[kind])
    else:
        fits = any(_fits(query.where, core, kind) for core in _cores(asked, kind))
    if not fits:
        return None
    drop = kind in _PATHS  # a class is none of its own subclasses
    return Plan(number, "sparql_query", text, query.names, query.form, limit=query.limit, drop_self=drop)


def _cores(asked: Asked, kind: str) -> list[set[Triple]]:
    """The sets of triples that ask for what the question asks for."""
    if kind == "is_subclass":
        paths = _PATHS["subclasses" if asked.of == "direct" else "all_subclasses"]
        return [{(_E1, path, _E2)} for path in paths]
    if kind in ("subclasses", "all_subclasses"):
        return [{("?x", path, _E1)} for path in _PATHS[kind]]
    if kind in ("superclasses", "all_superclasses"):
        return [{(_E1, path, "?x")} for path in _PATHS[kind]]
    above = "rdfs:subClassOf*"
    if kind == "instances":
        if asked.inherited:
            return [{("?x", f"a/{above}", _E1)}, {("?x", "a", "?c"), ("?c", above, _E1)}]
        return [{("?x", "a", _E1)}]
    if kind in ("properties_by_domain", "properties_by_range"):
        side = "rdfs:domain" if kind.endswith("domain") else "rdfs:range"
        if asked.inherited:
            return [{(_E1, f"{above}/^{side}", "?x")}, {("?x", side, "?c"), (_E1, above, "?c")}]
        return [{("?x", side, _E1)}]
    return []


def _fits(where: Group, core: set[Triple], kind: str) -> bool:
    """Whether a group asks for the core and nothing that adds or takes away."""
    spare = {("?x", "a", name) for name in CLASS_TYPES} if kind in CHECKS and kind != "instances" else set()
    triples = {_with_c(triple, core) for triple in where.triples}
    return (
        core <= triples <= core | spare
        and not (where.negatives or where.unions or where.values)
        and all(_is_plain_filter(part) for text in where.filters for part in _parts(text))
        and all(_is_label(part) for part in where.optionals)
    )


def _with_c(triple: Triple, core: set[Triple]) -> Triple:
    """A helping variable under the name that the core gives it."""
    if not any("?c" in each for each in core):
        return triple
    subject, path, target = ("?c" if node.startswith("?") and node != "?x" else node for node in triple)
    return subject, path, target


def _parts(text: str) -> list[str]:
    inner = text[1:-1] if text.startswith("(") else text
    return inner.lower().split("&&")


def _is_plain_filter(part: str) -> bool:
    return part in ("isiri(?x)", "isuri(?x)", "!isblank(?x)", "?x!=$entity_1", "$entity_1!=?x", "?x!=owl:nothing")


def _is_label(group: Group) -> bool:
    paths = {path for subject, path, _ in group.triples if subject == "?x"}
    plain = not (group.negatives or group.unions or group.values or group.optionals)
    return plain and len(group.triples) == 1 and paths <= {"rdfs:label", "skos:prefLabel", "rdfs:label|skos:prefLabel"}


def _types(where: Group) -> set[str]:
    """The types that ?x may have; empty when that is not all that a group asks for."""
    if len(where.triples) != 1 or where.unions or where.optionals:
        return set()
    subject, path, kind = where.triples[0]
    if subject != "?x" or path != "a":
        return set()
    if kind in where.values and len(where.values) == 1:
        return set(where.values[kind])
    return {kind} if not where.values and not kind.startswith("?") else set()


def _is_declared(where: Group, types: Collection[str]) -> bool:
    plain = all(_is_plain_filter(part) for text in where.filters for part in _parts(text))
    return not where.negatives and plain and _types(where) == set(types)


def _is_roots(where: Group) -> bool:
    if _types(where) != set(CLASS_TYPES) or len(where.negatives) != 1:
        return False
    above = where.negatives[0]
    if len(above.triples) != 1 or above.negatives or above.unions or above.optionals or above.values:
        return False
    subject, path, y = above.triples[0]
    allowed = {f"isiri({y})", f"{y}!=?x", f"?x!={y}", f"{y}!=owl:thing", f"{y}notin(?x,owl:thing)"}
    allowed |= {f"!isblank({y})", f"{y}notin(owl:thing,?x)"}
    tests = {part for text in above.filters for part in _parts(text)}
    named = bool(tests & {f"isiri({y})", f"!isblank({y})"}) and any("owl:thing" in test for test in tests)
    plain = all(_is_plain_filter(part) for text in where.filters for part in _parts(text))
    return (
        (subject, path) == ("?x", "rdfs:subClassOf") and named and tests <= {each.lower() for each in allowed} and plain
    )


def _is_all_triples(where: Group) -> bool:
    plain = not (where.filters or where.optionals or where.negatives or where.unions or where.values)
    variables = {node for triple in where.triples for node in triple}
    return plain and len(where.triples) == 1 and len(variables) == 3 and all(node[0] == "?" for node in variables)


def _is_search(query: Query) -> bool:
    """Terms by their local name or label, with the columns x, label and type: every row is looked at once more."""
    where = query.where
    if len(query.columns) != 3 or len(where.triples) != 1 or len(where.optionals) != 1 or len(where.filters) != 1:
        return False
    if where.negatives or where.unions or where.values or len(where.optionals[0].triples) != 1:
        return False
    label, type_ = (f"?{name}" for name in query.columns[1:])
    subject, path, target = where.triples[0]
    if (subject, target) != ("?x", label) or where.optionals[0].triples[0] != ("?x", "a", type_):
        return False
    text = where.filters[0].lower()
    one, two = "contains(lcase(str(?x)),$text_1)", f"contains(lcase({label.lower()}),$text_1)"
    looked_at = {"rdfs:label", "skos:prefLabel", "skos:altLabel", "a"}
    return set(path.split("|")) == looked_at and text in (f"({one}||{two})", f"({two}||{one})")
