"""The program that follows a procedure of the prompt: all its calls in one turn, its own query word
for word.

Beside it the program asks what the ontology says of itself (how many subclasses, how many
instances), so that a procedure that leads astray is seen: the two numbers are in the report, and
the planner compares them.
"""

from __future__ import annotations

from dataclasses import replace

from rlm.llm.offline.asked.kinds import Asked
from rlm.llm.offline.graph.answers import (
    CHECKS,
    IN_STATS,
    JOINING,
    NONE_IF,
    PROBES,
    base_kind,
    below,
    counting,
    included,
    listing,
    literal,
    query_for,
    searched_types,
    widened,
)
from rlm.llm.offline.graph.prompt import ToolPlan
from rlm.llm.offline.graph.steps import (
    NO_TOPS,
    OLD_ROOTS,
    ROOTS_PARTED,
    SLICE,
    described,
    including,
    joined,
    links,
    matches,
    orient,
    others,
    paths,
    probed,
    said,
    schema,
    yes_no,
)

Program = tuple[list[str], list[str], dict[str, str]]
_E1 = "$ENTITY_1"
_ONE, _IRI = 'terms[0]["curie"]', '"<" + terms[0]["uri"] + ">"'


def follow(asked: Asked, plan: ToolPlan, about: str, question: str) -> tuple[list[str], list[str]]:
    """All that a procedure says, in one program."""
    kind = base_kind(asked)
    if kind == "namespaces":
        return schema(asked)
    if plan.tool == "graph_stats":
        return orient(asked)
    helpers, lines, found = followed(asked, plan, about, question)
    if not asked.mentions:
        return helpers, [*lines, said(**found)]
    inner = [f"    {line}" for line in (*lines, said(**found, terms="terms"))]
    lines = [
        links(asked, question),
        "if all(terms):",
        *inner,
        "else:",
        f"    {said(terms='terms')}",
    ]
    return ["link", *helpers], lines


def followed(asked: Asked, plan: ToolPlan, about: str, question: str) -> Program:
    """What a procedure says for the terms in `terms`: helpers, lines, and what they come to, as
    expressions."""
    kind = base_kind(asked)
    if plan.tool == "describe_entity":
        return *described(asked, question, 'terms[0]["uri"]', 'terms[0]["also"]'), {"done": "True"}
    if plan.tool == "find_path":
        both = 'all("class" in term["kind"] for term in terms)'
        lines = [
            *paths(['terms[0]["uri"]', 'terms[1]["uri"]'], 2, both),
            'if unsure or not found["complete"]:',
        ]
        first, *rest = joined(JOINING.format("$ENTITY_1", "$ENTITY_2"))
        lines += [f"    {line}" for line in (first, *_filling(2), *rest)]
        return ["chains", "rows", "column"], lines, {"done": "bool(shown)"}
    if plan.tool == "probe_relationships":
        helpers, lines = probed(*PROBES[kind], 'terms[0]["uri"]', _ONE)
        lines = [*widened(asked, _IRI), *lines]
        query = query_for(replace(asked, kind=kind), ["$ENTITY_1"])
        more = [f"query = {query!r}", *_filling(1), "found, whole = rows(query)", SLICE]
        lines += [
            "if not whole:",
            *(f"    {line}" for line in more),
        ]  # one look does not show them all
        own_way = [*included(replace(asked, kind=kind), _IRI), listing(asked, about)]
        lines += below(asked, about, _IRI) if kind == "instances" else own_way
        return (
            [*helpers, "number_of", "column", "listed", *including(kind)],
            lines,
            {"done": "whole"},
        )
    if plan.tool in ("search_entity", "search_by_label") and kind == "search":
        lines = [
            f"hits = search_entity({asked.text!r}, 25)",
            "whole = len(hits) < 25 and len(json.dumps(hits)) < 600",
        ]
        lines.append(
            f"names = containing(hits, {asked.text.lower()!r}, {asked.where!r}, {asked.what!r})"
        )
        return (
            ["containing", "listed"],
            [*lines, listing(asked, about)],
            {"done": "whole and bool(names)"},
        )
    if plan.tool in ("search_entity", "search_by_label"):
        return [], [], {"done": "True"}
    return _asked_so(asked, plan, kind, about)


def _asked_so(asked: Asked, plan: ToolPlan, kind: str, about: str) -> Program:
    """The procedure's own query, its gaps filled."""
    query = plan.query.replace("$TEXT_1", literal(asked.text.lower()))
    lines = [f"query = {query!r}", *_filling(len(asked.mentions)), "found, whole = rows(query)"]
    lines = [*widened(asked, _IRI), *lines]
    if kind == "is_subclass":
        return ["is_told"], [*lines, yes_no(asked, "terms[0]", "terms[1]")], {"done": "True"}
    if plan.form == "COUNT":
        lines.append("number = int(list(found[0].values())[0])")
        if plan.loop:  # a class is none of its own subclasses
            loop = f"ASK {{ {_E1} {plan.loop} {_E1} }}"
            lines.append(f'number -= rows({loop!r}.replace({_E1!r}, {_IRI}))[0][0]["boolean"]')
        lines += ["own = number", *included(asked, _IRI), *counting(asked, about)]
        check, number = _expected(asked, plan, kind)
        return (
            ["number_of", "counted", *including(kind)],
            [*lines, *check],
            {"rows": "own", "expected": number},
        )
    reached = f"whole and len(found) < {plan.limit}" if plan.limit is not None else "whole"
    if kind == "search":
        x, label, type_ = plan.columns
        lines += [
            f'found = [{{"x": row["{x}"], "l": row.get("{label}", ""), "t": row.get("{type_}",'
            ' "")} for row in found]'
        ]
        lines += [f"whole = {reached}", *others(asked)]
        lines.append(
            f"names = matching(found, {asked.text.lower()!r}, {asked.where!r},"
            f" {searched_types(asked)!r})"
        )
        found = {"rows": "len(names)", "done": "whole"}
        helpers = ["rows", "matching", "listed", "matched_shown"]
        return helpers, [*lines, listing(asked, about), *matches(asked)], found
    lines.append(f'names = column(found, "{plan.columns[0]}")')
    if plan.drop_self:
        lines.append('names = [name for name in names if name != terms[0]["curie"]]')
    if kind == "roots":
        lines = [OLD_ROOTS, *lines, NO_TOPS]
    lines += ["own = len(names)", f"reached = {reached}"]
    check, expected = _expected(asked, plan, kind)
    own = kind == "instances" and not asked.inherited
    lines += (
        below(asked, about, _IRI)
        if own
        else [*included(replace(asked, kind=kind), _IRI), listing(asked, about)]
    )
    lines += [ROOTS_PARTED] if kind == "roots" else []
    found = {"rows": "own", "expected": expected, "whole": "reached and whole"}
    helpers = [
        "number_of",
        "column",
        "listed",
        *including(kind),
        *(["retired"] if kind == "roots" else []),
    ]
    return helpers, [*lines, *check], found


def _filling(number: int) -> list[str]:
    if not number:
        return []
    return [
        r'query = re.sub(r"\$ENTITY_(\d)", lambda gap: "<" + terms[int(gap[1]) - 1]["uri"] + ">",'
        r" query)"
    ]


def _expected(asked: Asked, plan: ToolPlan, kind: str) -> tuple[list[str], str]:
    """What the ontology says of itself about the number that was found, `own`; None where it says
    nothing.

    Where it cannot say so of a term, to have found nothing is no answer.
    """
    if plan.narrowed:
        counted = query_for(replace(asked, kind="count", of=kind), [_E1])
        return [f"query = {counted!r}", *_filling(1)], 'int(rows(query)[0][0]["n"])'
    if asked.inherited:
        return [], "None"
    if kind in CHECKS:
        return [
            'about = describe_entity(terms[0]["uri"])'
        ], f'about.get("{CHECKS[kind]}", own or -1)'
    if kind in NONE_IF:
        lines = ['about = describe_entity(terms[0]["uri"]) if not own else {}']
        listed = (
            f'not about.get("{NONE_IF[kind]}") and "{NONE_IF[kind]}" not in about.get("left_out",'
            " {})"
        )
        return (
            lines,
            f'0 if "subclass_count" in about and {listed} else None',
        )  # only a class has such lists
    if kind in IN_STATS:
        return ["stats = graph_stats()"], f'stats["{IN_STATS[kind]}"]'
    return [], "None"
