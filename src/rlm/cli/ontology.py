"""`rlm ontology`: what an RDF file or a SPARQL endpoint holds, asked without writing code.

Every command but `query` shows a bounded part with true counts, as the views of `rlm.ontology` do.
The exit code is 1 where a name is unknown or nothing is found, 2 where SOURCE cannot be queried.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from rlm.cli.command import command, count, new_group, words
from rlm.cli.ontology_query import query
from rlm.cli.ontology_source import ASKED, open_views, resolve_name
from rlm.cli.ontology_views import add_view_commands
from rlm.cli.output import one_line, print_fields, print_json, print_part
from rlm.cli.session import Session
from rlm.errors import OntologyError
from rlm.ontology.views.links import add_labels

if TYPE_CHECKING:
    from rlm.ontology.views.views import Views

app = new_group(
    "Ontologies: RDF files and SPARQL endpoints.\n\nSOURCE is a file (Turtle, RDF/XML, JSON-LD,"
    " N-Triples, N-Quads, TriG, also gzipped; OWL/XML, OWL functional syntax and OBO with the extra"
    " `owl`), a folder of them, standard input (-), or the name of an endpoint: [endpoints.NAME] in"
    " the config file. --with FILE adds files to the same graph."
)
LISTED = 25
"""As many as a view shows at most."""
PREDICATES = 10
TEXTS = ("restrictions", "further_comments")
"""What of a description has commas of its own."""
DEFINITION = 10_000
"""The most characters of a definition that are shown: more than any has."""
SIDES = (("out", "outgoing", "object"), ("in", "incoming", "subject"))


def _and_more(number: int) -> str:
    return f" and {number:,} more" if number else ""


def _join(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))


def _print_columns(title: str, pairs: Iterable[tuple[str, str]]) -> None:
    """A heading and two columns below it."""
    shown = [(one_line(first), one_line(second)) for first, second in pairs]
    width = max((len(first) for first, _ in shown), default=0)
    print_part(title, (f"{first:<{width}}  {second}" for first, second in shown))


@command(app, "stats")
@ASKED
def stats(session: Session, **given: Any) -> None:
    """Show the size of SOURCE, its classes, properties, languages and prefixes.

    Classes and properties count when they are declared, and also when they are only used or named,
    as an inverse is.
    """
    with open_views(session, given) as views:
        found, predicates = views.graph_stats(), views.predicate_frequency(PREDICATES)
        where = {"name": views.engine.name, "source": views.engine.source}
        found["namespaces"] = dict(views.meta.namespaces)  # all of them
        found.get("left_out", {}).pop("namespaces", None)
    if session.json:
        print_json({**where, **found, "predicate_frequency": predicates})
        return
    left_out = found.get("left_out", {})
    fields = {
        "source": where["source"],
        "title": found["title"],
        "ontology": _join(found["ontologies"]) + _and_more(left_out.get("ontologies", 0)),
    }
    if not found.get("ontology_declared", True):
        fields["ontology"] += " (not declared)"
    fields |= {name: f"{found[name]:,}" for name in ("triples", "subjects")}
    fields["classes"] = f"{found['classes']:,} ({found['declared_classes']:,} declared)"
    kinds = {"property": "of unstated kind"}
    split = (f"{n:,} {kinds.get(kind, kind)}" for kind, n in found["property_kinds"].items())
    declared = f"{found['declared_properties']:,} declared: {_join(split)}"
    fields["properties"] = f"{found['properties']:,} ({declared.rstrip(': ')})"
    fields["traits"] = _join(f"{n:,} {trait}" for trait, n in found["traits"].items())
    fields["restrictions"] = f"{found['restrictions']:,}"
    fields["equivalence axioms"] = f"{found['equivalences']:,}"
    counted = ("individuals", "predicates", "deprecated")
    fields |= {name: f"{found[name]:,}" for name in counted}
    languages = found["languages"].items()
    fields["labels"] = _join(f"{tag or 'no language'} {number:,}" for tag, number in languages)
    labels = found.get("labels", {})
    fields["roots"] = add_labels(_join(found["roots"]), labels) + _and_more(found["more_roots"])
    if old := found.get("deprecated_roots", 0):
        fields["roots"] += f"; {old:,} deprecated ones with nothing below"
    fields["key classes"] = add_labels(_join(found["key_classes"]), labels)
    more = _and_more(left_out.get("imports_not_fetched", 0))
    fields["imports, not fetched"] = _join(found["imports_not_fetched"]) + more
    print_fields(list(fields.items()))
    used = ((_name(each, "predicate"), f"{each['count']:,}") for each in predicates)
    _print_columns("most used predicates", used)
    namespaces = found["namespaces"].items()
    _print_columns("prefixes", ((f"{prefix}:", f"<{space}>") for prefix, space in namespaces))


def _name(each: Mapping[str, Any], key: str) -> str:
    """`ex:X_12 (widget)`; the label only where it says more than the name."""
    name, label = str(each[key]), str(each.get("label") or "")
    bare = re.sub(r"\W|_", "", name.rpartition(":")[2]).lower()
    return f"{name} ({label})" if label and re.sub(r"\W|_", "", label).lower() != bare else name


@command(app, "search")
@ASKED
@click.argument("text", nargs=-1, required=True)
@words("--in", ("label", "iri", "localname", "all"), "Where to look [all].", default="all")
@count("--limit", default=10, most=LISTED, doc="How many, at most.")
def search(session: Session, text: tuple[str, ...], limit: int, **given: Any) -> int:
    """Find terms by a piece of their name.

    The best come first: classes, properties and individuals whose label, alternative label, local
    name or IRI fits. The exit code is 1 when nothing is found.
    """
    with open_views(session, given) as views:
        hits = views.search_entity(" ".join(text), limit, given["in"])
    keys = ("match_type", "curie", "kind", "label")
    rows = [(*(hit[key] for key in keys), _remark(hit)) for hit in hits]
    headers = ("match", "name", "kind", "label", "remark")
    session.show_table(hits, headers, rows, headers[3:])
    if len(hits) == limit:
        session.notify(f"the best {limit}" + (": more with --limit" if limit < LISTED else ""))
    elif not hits:
        session.notify("nothing found")
    return 0 if hits else 1


def _remark(hit: Mapping[str, Any]) -> str:
    said = []
    if hit.get("deprecated"):
        said.append("deprecated" + (f", use {_join(hit['use'])}" if hit.get("use") else ""))
    if str(hit.get("matched", hit["label"])).lower() != hit["label"].lower():
        said.append(f"also {hit['matched']}")
    return "; ".join(said)


@command(app, "describe")
@ASKED
@click.argument("name")
@count("--limit", default=20, most=LISTED, doc="How many statements, at most.")
def describe(session: Session, name: str, limit: int, **given: Any) -> None:
    """Describe NAME: its kind, its definition, its place in the hierarchy.

    NAME is a prefix:name, an IRI, or a name or label that only one class or property has.
    """
    from rlm.ontology.views.describe import describe_entity

    with open_views(session, given) as views:
        iri, options = resolve_name(views, name), {"limit": limit, "lang": given["lang"]}
        found = describe_entity(views.engine, views.meta, iri, comment_chars=DEFINITION, **options)
    if session.json:
        print_json(found)
        return
    if found.pop("unlabelled", False):
        found.pop("label")  # it is no more than its name
    left_out, sample = found.pop("left_out", {}), found.pop("outgoing_sample")
    out, into = found.pop("outgoing_count"), found.pop("incoming_count")
    fields = [("name", found.pop("curie")), ("iri", found.pop("uri"))]
    for side in ("domain", "range"):
        if text := found.pop(f"{side}_expression", ""):  # the names alone are a part of it
            found[side] = text
    unions = {key.removesuffix("_is_union") for key in found if key.endswith("_is_union")}
    joints = dict.fromkeys(TEXTS, "; ") | dict.fromkeys(unions, " or ")
    for key, value in found.items():
        if isinstance(value, list):
            rest = left_out.get(key, 0) or getattr(value, "rest", 0)
            value = joints.get(key, ", ").join(map(str, value)) + _and_more(rest)
        elif isinstance(value, dict):
            value = _join(f"{way} {number:,}" for way, number in value.items())
        if not key.endswith("_is_union"):
            fields.append((key.replace("_", " "), "yes" if value is True else value))
    print_fields([*fields, ("statements", f"{out:,} of it, {into:,} about it")])
    _print_columns("points to", ((link["predicate"], _name(link, "object")) for link in sample))


@command(app, "relations")
@ASKED
@click.argument("name")
@click.option("--predicate", metavar="P", help="Only by this predicate.")
@words("--direction", ("both", "out", "in"), "Which way [both].", default="both")
@count("--limit", default=20, most=LISTED, doc="How many each way, at most.")
def relations(session: Session, name: str, limit: int, **given: Any) -> int:
    """Show what NAME points to, and what points to it.

    Some of every predicate; where there is more, the counts are shown. NAME is given as for
    `describe`.
    """
    with open_views(session, given) as views:
        by = given["predicate"] and resolve_name(views, given["predicate"], predicate=True)
        found = views.probe_relationships(resolve_name(views, name), by, given["direction"], limit)
    sides = [side for side in SIDES if side[1] in found]
    total = sum(found[f"{side}_count"] for _, side, _ in sides)
    rows = [
        (way, link["predicate"], link[end], link.get("label", ""))
        for way, side, end in sides
        for link in found[side]
    ]
    headers = ("way", "predicate", "other end", "label")
    session.show_table(found, headers, rows, headers[2:])
    for way, side, _ in sides:
        shown, there = len(found[side]), found[f"{side}_count"]
        if shown < there:
            most = _join(f"{p} {n:,}" for p, n in list(found[f"{side}_predicates"].items())[:5])
            session.notify(f"{way}: {shown:,} of {there:,} ({most})")
    if not total:
        session.notify("nothing found")
    return 0 if total else 1


@command(app, "path")
@ASKED
@click.argument("start", metavar="FROM")
@click.argument("end", metavar="TO")
@count("--depth", default=2, most=8, doc="Statements on a path, at most.")
@count("--limit", default=10, most=LISTED, doc="How many paths, at most.")
def path(session: Session, start: str, end: str, depth: int, limit: int, **given: Any) -> int:
    """Show how FROM and TO are connected.

    The shortest paths come first; statements are followed both ways. Names are given as for
    `describe`.
    """
    with open_views(session, given) as views:
        found = views.find_path(resolve_name(views, start), resolve_name(views, end), depth, limit)
        lines = [_path_line(views, each["edges"]) for each in found["paths"]]
    session.show(found, *map(one_line, lines))
    if not found["complete"] or (lines and "note" in found):
        session.notify(found["note"])
    elif found["more"]:
        hint = ": --limit" if limit < LISTED else ""
        session.notify(f"there are more than these {len(lines)}{hint}")
    elif found["source"] == found["target"]:
        session.notify(f"both are {found['source']}")
    elif not lines:
        deeper = f"try --depth {depth + 1}, or " if depth < 8 else ""
        hint = f"{deeper}compare `rlm ontology relations` of both"
        session.notify(f"{found['note'].partition(';')[0]}: {hint}")
    return 0 if lines else 1


def _path_line(views: Views, edges: list[dict[str, str]]) -> str:
    line = _label(views, edges[0]["from"])
    for edge in edges:
        before, after = ("-", "->") if edge["direction"] == "out" else ("<-", "-")
        line += f" {before}{edge['predicate']}{after} {_label(views, edge['to'])}"
    return line


def _label(views: Views, name: str) -> str:
    """A node of a path with its label, where that says more than its name."""
    from rlm.ontology.views.links import shown_name

    with suppress(OntologyError):
        return shown_name(views.meta, views.meta.prefixes.expand(name), views.lang)
    return name


@command(app, "card")
@ASKED
def card(session: Session, **given: Any) -> None:
    """Show what a prompt contains of SOURCE: the sense card, and the schema's constraints."""
    from rlm.ontology.views.summary import schema_constraints, sense_card

    with open_views(session, given) as views:
        sense = sense_card(views.meta, lang=given["lang"])
        schema = schema_constraints(views.meta, lang=given["lang"])
        where = {"name": views.engine.name, "source": views.engine.source}
    document = {**where, "sense_card": sense, "schema_constraints": schema}
    session.show(document, sense, *([schema] if schema else []))


command(app, "query")(query)
add_view_commands(app)
