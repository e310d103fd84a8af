"""The programs that `offline` sends into the REPL over an ontology, one for each step.

Each asks the tools, puts an answer into `reply` where what came back is enough for one, and prints
one line: what was found, in little. Values go in as literals. A helper is sent with the first
program that needs it and stays there.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

from rlm.llm.offline.asked.kinds import Asked
from rlm.llm.offline.graph import belonging, repl, telling, thesaurus
from rlm.llm.offline.graph.answers import (
    DEPRECATED_ROOTS,
    IN_STATS,
    JOINING,
    OTHER_NAMES,
    PROBES,
    SIDES,
    base_kind,
    below,
    counting,
    included,
    listing,
    literal,
    parts_asked,
    query_for,
    searched_types,
    wanted_kinds,
    widened,
)

Term = dict[str, Any]
_NEEDS = {
    "link": ("words", "singular", "slip", "closeness", "link"),
    "listed": ("words", "longest_text", "rows", "label_shown", "labelled", "counted", "listed"),
    "retired": ("longest_text", "rows", "retired", "retired_last"),
    "matched_shown": ("words", "label_shown", "matched_shown"),
    "told": (
        "words",
        "label_shown",
        "whole_text",
        "synonyms_told",
        "part_told",
        "rules_told",
        "links_told",
        "told",
    ),
    "chains": ("words", "longest_text", "rows", "label_shown", "labelled", "chains"),
    "number_of": ("longest_text", "rows", "number_of"),
    "column": ("is_name", "column"),
    "rows": ("longest_text", "rows"),
    "included": ("longest_text", "rows", "is_name", "column", "included"),
    "about_told": ("longest_text", "rows", "about_told"),
    "is_told": ("is_name", "column", "longest_text", "rows", "types_of", "is_told"),
    "types_told": ("is_name", "column", "longest_text", "rows", "types_of", "types_told"),
    "bound_spaces": ("longest_text", "rows", "bound_spaces", "spaces_told"),
}
_SPACES = (
    'spaces = stats.get("namespaces", {})',
    (
        'whole, total = 0 < len(spaces) < 15 and "…" not in "".join(spaces.values()),'
        " len(set(spaces.values()))"
    ),
)
_ROLES = (
    "class|classes|concept|concepts|type|types|property|properties|relation|relations|entity|object|objects|feature|"
    "features|thing|term|instance|individual|category|element|resource|kind|kinds|label|name|description|"
    "descriptions|number|value|list"
)
_DC = ("terms", "elements/1.1")
_LEADS = "model|dataset|data|ontology|vocabulary|graph|schema|file"
"""What may stand before a name, or be its first word."""
SLICE = 'names = column(found, "x")'
NO_TOPS = 'names = [name for name in names if name not in ("owl:Thing", "owl:Nothing")]'

OLD_ROOTS = f"old = retired({DEPRECATED_ROOTS!r})"
"""Goes before the query that finds the roots: the last query is the answer's."""
ROOTS_PARTED = "reply = retired_last(reply, names, old)"


@cache
def _source(name: str) -> str:
    module = next(
        module for module in (belonging, repl, telling, thesaurus) if hasattr(module, name)
    )
    return inspect.getsource(getattr(module, name)).rstrip()


def block(
    step: str, lines: Sequence[str], helpers: Collection[str] = (), known: Collection[str] = ()
) -> str:
    """A reply's code: the mark of the step, the helpers that are not there yet, and the lines."""
    needed = dict.fromkeys(part for name in helpers for part in _NEEDS.get(name, (name,)))
    sources = [_source(name) for name in needed if name not in known]
    body = "\n\n\n".join(
        ["\n".join([f"# plan: graph {step}", "import json, re, unicodedata"]), *sources]
    )
    return "```repl\n" + body + "\n\n" + "\n".join(lines) + "\n```"


def said(**fields: str) -> str:
    """The line that reports: names and the expressions of their values."""
    shown = ", ".join(f'"{name}": {value}' for name, value in fields.items())
    return f'print("offline-found", json.dumps({{{shown}}}))'


# -- without a procedure
# -----------------------------------------------------------------------------------


def orient(asked: Asked) -> tuple[list[str], list[str]]:
    """What there is in all."""
    kind, lines = base_kind(asked), ["stats = graph_stats()"]
    done = "False"
    if kind == "namespaces":
        lines, done = [*lines, *_SPACES, _spaces_said(asked)], "whole"
    elif asked.kind == "count" and kind in IN_STATS:
        lines += [f'number = stats["{IN_STATS[kind]}"]', *counting(asked)]
        done = 'not stats.get("sampled", False)'
    elif kind == "describe" and not asked.mentions:
        lines += _overview()
        done = "True"
    lines.append(said(done=done, triples='stats["triples"]', classes='stats["classes"]'))
    return [{"namespaces": "spaces_told", "describe": "about_told"}.get(kind, "counted")], lines


def _overview() -> list[str]:
    ways = " ".join(
        f"<http://purl.org/dc/{name}/{what}>"
        for what in ("description", "abstract")
        for name in _DC
    )
    query = (
        f"SELECT ?x WHERE {{ VALUES ?p {{ {ways} rdfs:comment }} ?o a owl:Ontology ; ?p ?x"
        " FILTER(isLiteral(?x)) }"
    )
    return [f"found, _ = rows({query!r})", 'reply = about_told(stats, [row["x"] for row in found])']


def schema(asked: Asked) -> tuple[list[str], list[str]]:
    """Every namespace, whole, where one look does not show all."""
    lines = [
        "stats = graph_stats()",
        "spaces, total = bound_spaces(stats)",
        _spaces_said(asked),
        said(done="True"),
    ]
    return ["bound_spaces"], lines


def _spaces_said(asked: Asked) -> str:
    return (
        "reply = spaces_told(spaces, total)"
        if asked.kind != "count"
        else 'reply = f"{total} namespaces."'
    )


def find(asked: Asked, question: str) -> tuple[list[str], list[str]]:
    """Which terms the names mean; for a search a first look."""
    if base_kind(asked) == "search":
        return [], [f"hits = search_entity({asked.text!r}, 1)", said(hits="len(hits)")]
    return ["link"], [links(asked, question), said(terms="terms")]


def links(asked: Asked, question: str) -> str:
    """The line that finds the terms. A word like “class” behind a name, or “model” before it, may
    be a part of it."""
    return (
        "terms ="
        f" [{', '.join(link_call(asked, question, place) for place in range(len(asked.mentions)))}]"
    )


def link_call(asked: Asked, question: str, place: int = 0) -> str:
    """The expression that finds the term of one name."""
    name, kinds = asked.mentions[place], wanted_kinds(asked)[place]
    forms = [name]
    if behind := re.search(rf"{re.escape(name)} ({_ROLES})\b", question):
        forms = [f"{name} {behind[1]}", name]
    elif ahead := re.search(rf"\b({_LEADS}) {re.escape(name)}", question, re.IGNORECASE):
        forms = [f"{ahead[1]} {name}", name]
    elif led := re.fullmatch(r"(?:concept|topic) (\S.*)", name):
        forms = [name, led[1]]
    elif within := re.fullmatch(rf"(.*\S) (?:{_ROLES})", name):
        forms = [name, within[1]]
    return " or ".join(
        f"link({', '.join(repr(part) for part in _trimmed(form, *kinds))})" for form in forms
    )


def _trimmed(*parts: str) -> list[str]:
    kept = list(parts)
    while kept[1:] and not kept[-1]:
        kept.pop()
    return kept


def describe(asked: Asked, terms: Sequence[Term], question: str) -> tuple[list[str], list[str]]:
    uri = repr(terms[0]["uri"])
    if base_kind(asked) == "describe":
        helpers, lines = described(asked, question, uri, repr(terms[0]["also"]))
        return helpers, [*lines, said(done="True", kind='about["kind"]')]
    return [], [
        f"about = describe_entity({uri})",
        said(kind='about["kind"]', subclasses='about.get("subclass_count")'),
    ]


def described(asked: Asked, question: str, uri: str, also: str) -> tuple[list[str], list[str]]:
    """The lines that describe a term; its IRI and those of the same name are expressions."""
    if asked.of == "types":
        return ["listed", "types_told"], [
            f"about = describe_entity({uri})",
            "reply = types_told(about)",
        ]
    lines = [
        f"about = describe_entity({uri})",
        f"reply = told(about, {parts_asked(question, asked)!r}, {also})",
    ]
    if asked.of != "subproperties":
        return ["told"], lines
    query = (
        "SELECT DISTINCT ?x WHERE { ?x rdfs:subPropertyOf $ENTITY_1 FILTER(isIRI(?x) && ?x !="
        " $ENTITY_1) }"
    )
    nouns = (
        '*(f"direct {noun} of {about[\'curie\']}" for noun in ("subproperty", "subproperties")),'
        " whole"
    )
    lines += [
        f'found, whole = rows({query!r}.replace("$ENTITY_1", "<" + {uri} + ">"))',
        SLICE,
        f'reply = listed(names, {nouns}) + "\\n" + reply',
    ]
    return ["told", "rows", "column", "listed"], lines


def probe(asked: Asked, terms: Sequence[Term], about: str) -> tuple[list[str], list[str]]:
    """The statements about a term, as far as one look shows them."""
    kind = base_kind(asked)
    if kind == "path":
        both = all("class" in term["kind"] for term in terms)
        lines = paths([f"{term['uri']!r}" for term in terms], 2, str(both))
        return ["chains"], [
            *lines,
            said(done='not unsure and found["complete"]', paths="len(shown)"),
        ]
    predicate, direction = PROBES[kind]
    if kind.startswith("all_") or asked.inherited:
        return _look(asked, predicate, direction, terms[0], about)
    helpers, lines = probed(predicate, direction, f"{terms[0]['uri']!r}", f"{terms[0]['curie']!r}")
    iri = repr(f"<{terms[0]['uri']}>")
    lines = [*widened(asked, iri), *lines, *included(asked, iri), listing(asked, about)]
    enough = "whole and bool(links)" if kind == "instances" else "whole"
    return [*helpers, "number_of", "listed", *including(kind)], [
        *lines,
        said(done=enough, links="total"),
    ]


def including(kind: str) -> list[str]:
    """The helper that a kind needs which schema.org's properties answer as well."""
    return ["included"] if kind in SIDES else []


def _look(
    asked: Asked, predicate: str, direction: str, term: Term, about: str
) -> tuple[list[str], list[str]]:
    """Whether there is a first link at all: where there is none, there is none behind it."""
    side = "incoming" if direction == "in" else "outgoing"
    lines = [
        f'found = probe_relationships({term["uri"]!r}, direction="{direction}")',
        f'links = found["{side}_predicates"]',
        (
            f'none = "{predicate}" not in links and len(links) < 25 and not found.get("left_out",'
            ' {}).get("links")'
        ),
        'names, whole, by = [], True, ""',
    ]
    enough = "False" if asked.inherited else "none"
    return ["listed"], [
        *lines,
        listing(asked, about),
        said(done=enough, links=f'links.get("{predicate}", 0)'),
    ]


def probed(predicate: str, direction: str, term: str, own: str) -> tuple[list[str], list[str]]:
    """The lines that look at one sort of link of a term; `term` and its short name `own` are
    expressions."""
    side, end = ("incoming", "subject") if direction == "in" else ("outgoing", "object")
    less = (
        f" - {{{own}}}" if predicate == "rdfs:subClassOf" else ""
    )  # a class is none of its own subclasses
    return ["is_name"], [
        f'found = probe_relationships({term}, "{predicate}", "{direction}", 25)',
        f'links, total = found["{side}"], found["{side}_count"]',
        "whole = len(links) == total",
        f'names = sorted({{each["{end}"] for each in links if is_name(each["{end}"])}}{less})',
    ]


def paths(ends: Sequence[str], depth: int, classes: str) -> list[str]:
    """The lines that look for a path, further and further. `classes`: whether both ends are, as an
    expression."""
    source, target = ends
    return [
        "sure = False",
        f"for depth in range({depth}, 5):",
        f"    found = find_path({source}, {target}, depth, 10)",
        '    if found["paths"] or not found["complete"]:',
        "        break",
        'sure = bool(found["paths"]) or found["complete"]',
        'reply = "None: there is no path between them within 4 steps."',
        (
            'reply = chains(found) if found["paths"] else reply if sure else "Not every path could'
            ' be followed."'
        ),
        'shown = [path["text"] for path in found["paths"]]',
        'cut = bool(found.get("left_out")) or found["more"]',
        'joined = any("rdfs:domain" in text and "rdfs:range" in text for text in shown)',
        f"unsure = {classes} and (cut or not joined)",
    ]


def ask(asked: Asked, terms: Sequence[Term], about: str) -> tuple[list[str], list[str]]:
    """The query that settles it."""
    kind = base_kind(asked)
    names = [f"<{term['uri']}>" for term in terms]  # not every engine reads every short name
    if kind == "path":
        done = said(
            done="sure or bool(names)", rows="len(names)"
        )  # a search that was cut short has not found “none”
        return ["rows", "column"], [*joined(JOINING.format(*names)), done]
    query = query_for(asked, names)
    lines = [
        *widened(asked, repr(names[0] if names else "")),
        f"query = {query!r}",
        "found, whole = rows(query)",
    ]
    if kind == "is_subclass":
        ends = (repr({key: term[key] for key in ("uri", "curie", "kind")}) for term in terms)
        return ["is_told"], [*lines, yes_no(asked, *ends), said(done="True")]
    if kind == "search" or kind == "individuals":
        text = asked.text.lower() if kind == "search" else ""
        if kind == "search":
            lines += others(asked)
        lines.append(
            f"names = matching(found, {text!r}, {asked.where!r}, {searched_types(asked)!r})"
        )
        lines += [listing(asked, about), *matches(asked)]
        enough = "whole" if asked.kind == "count" else "whole or bool(names)"
        helpers = ["rows", "matching", "listed", "matched_shown"]
        return helpers, [*lines, said(done=enough, rows="len(names)")]
    if asked.kind == "count" and kind != "roots":
        lines += ['number = int(found[0]["n"])', *included(asked, repr(names[0] if names else ""))]
        return ["number_of", "counted", *including(kind)], [
            *lines,
            *counting(asked, about),
            said(done="True", number="number"),
        ]
    lines.append(SLICE)
    if kind == "instances" and not asked.inherited:
        lines += below(asked, about, repr(names[0]))
    else:
        more = included(asked, repr(names[0] if names else ""))
        lines += [*more, *([NO_TOPS] if kind == "roots" else []), listing(asked, about)]
    if kind == "roots":
        lines = [OLD_ROOTS, *lines, ROOTS_PARTED]
    helpers = [
        "number_of",
        "column",
        "listed",
        *including(kind),
        *(["retired"] if kind == "roots" else []),
    ]
    return helpers, [*lines, said(done="True", rows="len(names)")]


def matches(asked: Asked) -> list[str]:
    """The line that shows by which of its names a term was found."""
    if asked.kind != "search" or not asked.text.strip():
        return []
    return [f"reply = matched_shown(reply, found, {asked.text.lower()!r}, {asked.where!r})"]


def others(asked: Asked) -> list[str]:
    """The lines that add what has the text in a name that the query does not look at."""
    return [f"more, all_more = rows({OTHER_NAMES.format(literal(asked.text.lower()))!r})",
            "found, whole = found + more, whole and all_more"]  # fmt: skip


def joined(query: str) -> list[str]:
    """All properties that join two classes, where one look at the paths does not show them."""
    return [
        f"query = {query!r}",
        "found, whole = rows(query)",
        SLICE,
        'names = [name for name in names if f"-{name}-" not in reply]',
        'reply += "\\nProperties that join them directly: " + ", ".join(names) if names else ""',
    ]


def yes_no(asked: Asked, one: str, two: str) -> str:
    """The line that answers whether one is below two, or an instance of it; both are expressions."""
    return f'reply = is_told({one}, {two}, {asked.of!r}, found[0]["boolean"])'
