"""`rlm ontology`: what an RDF file or a SPARQL endpoint holds, asked without writing code.

Every command but `query` shows a bounded part with true counts, as the views of `rlm.ontology` do.
A name that is not there exits with 1, and so does a search or a path that finds nothing; what
cannot be read or asked exits with 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from rlm.cli import output
from rlm.cli.command import Decorator, command, count, lang_option, new_group, with_options, words
from rlm.cli.ontology_query import SOURCE, opened, query
from rlm.cli.output import one_line, print_fields, print_json, print_table, print_text
from rlm.cli.session import Session
from rlm.errors import NotFound, OntologyError

if TYPE_CHECKING:
    from rlm.ontology.views.views import Views

app = new_group(
    "Ontologies: RDF files and SPARQL endpoints.\n\nSOURCE is a file (Turtle, RDF/XML, JSON-LD,"
    " N-Triples, N-Quads, TriG, also gzipped), or the name of an endpoint: [endpoints.NAME] in the"
    " config file."
)
LISTED = 25
"""As many as a view shows at most."""
PREDICATES = 10
DEFINITION = 10_000
"""So many characters of a definition are shown: more than any has."""
SIDES = (("out", "outgoing", "object"), ("in", "incoming", "subject"))
LANG = lang_option("The language of labels, where there are several: en, de, …")
ASKED: Decorator = with_options((SOURCE, LANG))


@contextmanager
def _views(session: Session, source: str, format_: str | None, lang: str | None) -> Iterator[Views]:
    from rlm.ontology.labels import missing_language
    from rlm.ontology.views.views import Views

    with opened(session, source, format_) as engine:
        views = Views(engine, lang=lang)
        if views.meta.sampled:
            session.talk(
                f"{source} is an endpoint: counts and lists are of what a few queries told"
            )
        elif note := missing_language(views.meta.languages, lang):
            session.talk(note)
        with output.waiting("asking"):
            yield views


def _resolved(views: Views, name: str, *, predicate: bool = False) -> str:
    """The <IRI> behind a name. NotFound where the name is understood and nothing has it; else
    OntologyError."""
    from rlm.ontology.views.resolve import resolve, resolve_property

    find = resolve_property if predicate else resolve
    try:
        return f"<{find(views.engine, views.meta, name)}>"
    except OntologyError as exc:
        if type(exc) is OntologyError and _understood(views, name):
            raise NotFound(str(exc).replace("search_entity(…)", "`rlm ontology search`")) from exc
        raise


def _understood(views: Views, name: str) -> bool:
    """Whether a name is well formed: an IRI, a name with a prefix that is bound, or words that fit
    nothing."""
    from rlm.ontology.views.resolve import called

    if re.search("[:<>]", name):
        with suppress(OntologyError):
            return bool(views.meta.prefixes.expand(name))
        return False
    return bool(name.strip()) and not called(views.engine, views.meta, name.strip())


def _more(number: int) -> str:
    return f" and {number:,} more" if number else ""


def _listed(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))


def _part(title: str, pairs: Iterable[tuple[str, str]]) -> None:
    """A heading and two columns below it."""
    shown = [(one_line(first), one_line(second)) for first, second in pairs]
    if shown:
        width = max(len(first) for first, _ in shown)
        print_text(f"\n{title}")
        for first, second in shown:
            print_text(f"  {first:<{width}}  {second}")


@command(app, "stats")
@ASKED
def stats(session: Session, source: str, format_: str | None, lang: str | None) -> None:
    """Show how large SOURCE is and what it is made of.

    Classes and properties count when they are declared, and also when they are only used or named,
    as an inverse is.
    """
    with _views(session, source, format_, lang) as views:
        found, predicates = views.graph_stats(), views.predicate_frequency(PREDICATES)
        where = {"name": views.engine.name, "source": views.engine.source}
    if session.json:
        print_json({**where, **found, "predicate_frequency": predicates})
        return
    left_out = found.get("left_out", {})
    print_fields(
        [
            ("source", where["source"]),
            ("title", found["title"]),
            ("ontology", _listed(found["ontologies"]) + _more(left_out.get("ontologies", 0))),
            *((name, f"{found[name]:,}") for name in ("triples", "subjects")),
            ("classes", _with_kinds(found["classes"], {"declared": found["declared_classes"]})),
            (
                "properties",
                _with_kinds(
                    found["properties"], found["property_kinds"], ", declared or only named"
                ),
            ),
            *((name, f"{found[name]:,}") for name in ("individuals", "predicates", "deprecated")),
            (
                "labels",
                _listed(f"{tag or 'no language'} {n:,}" for tag, n in found["languages"].items()),
            ),
            ("roots", _listed(found["roots"]) + _more(found["more_roots"]) + _retired(found)),
            ("key classes", _listed(found["key_classes"])),
            (
                "imports, not fetched",
                _listed(found["imports_not_fetched"])
                + _more(left_out.get("imports_not_fetched", 0)),
            ),
        ]
    )
    _part(
        "most used predicates",
        ((_name(each, "predicate"), f"{each['count']:,}") for each in predicates),
    )
    _part(
        "prefixes", ((f"{prefix}:", f"<{space}>") for prefix, space in found["namespaces"].items())
    )


def _retired(found: Mapping[str, Any]) -> str:
    old = found.get("deprecated_roots", 0)
    return f" ({old:,} of them deprecated)" if old else ""


def _with_kinds(number: int, kinds: Mapping[str, int], which: str = "") -> str:
    split = _listed(
        f"{n:,} {'of no kind' if kind == 'property' else kind}" for kind, n in kinds.items()
    )
    return f"{number:,}{which} ({split})" if split and number else f"{number:,}"


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
def search(
    session: Session,
    source: str,
    format_: str | None,
    lang: str | None,
    text: tuple[str, ...],
    limit: int,
    **given: str,
) -> int:
    """Find terms by a piece of their name.

    The best come first: classes, properties and individuals whose label, alternative label, local
    name or IRI fits. The exit code is 1 when nothing is found.
    """
    with _views(session, source, format_, lang) as views:
        hits = views.search_entity(" ".join(text), limit, given["in"])
    if session.json:
        print_json(hits)
    elif hits:
        rows = [
            (hit["match_type"], hit["curie"], hit["kind"], hit["label"], _remark(hit))
            for hit in hits
        ]
        print_table(("match", "name", "kind", "label", "remark"), rows, prose=("label", "remark"))
        if len(hits) == limit:
            session.talk(f"the best {limit}" + (": more with --limit" if limit < LISTED else ""))
    else:
        session.talk("nothing found")
    return 0 if hits else 1


def _remark(hit: Mapping[str, Any]) -> str:
    said = []
    if hit.get("deprecated"):
        said.append("deprecated" + (f", use {_listed(hit['use'])}" if hit.get("use") else ""))
    if str(hit.get("matched", hit["label"])).lower() != hit["label"].lower():
        said.append(f"also {hit['matched']}")
    return "; ".join(said)


@command(app, "describe")
@ASKED
@click.argument("name")
@count("--limit", default=20, most=LISTED, doc="How many statements, at most.")
def describe(
    session: Session, source: str, format_: str | None, lang: str | None, name: str, limit: int
) -> None:
    """Show what NAME is and where it stands.

    NAME is a prefix:name, an IRI, or a name or label that only one class or property has.
    """
    from rlm.ontology.views.describe import describe_entity

    with _views(session, source, format_, lang) as views:
        iri = _resolved(views, name)
        found = describe_entity(
            views.engine, views.meta, iri, limit=limit, lang=lang, comment_chars=DEFINITION
        )
    if session.json:
        print_json(found)
        return
    if found.pop("unlabelled", False):
        found.pop("label")  # it is no more than its name
    left_out = found.pop("left_out", {})
    sample, out, into = (
        found.pop(key) for key in ("outgoing_sample", "outgoing_count", "incoming_count")
    )
    fields = [("name", found.pop("curie")), ("iri", found.pop("uri"))]
    unions = {key.removesuffix("_is_union") for key in found if key.endswith("_is_union")}
    for key, value in found.items():
        if isinstance(value, list):
            value = (" or ".join(value) if key in unions else _listed(value)) + _more(
                left_out.get(key, 0)
            )
        elif isinstance(value, dict):
            value = _listed(f"{way} {number:,}" for way, number in value.items())
        if not key.endswith("_is_union"):
            fields.append((key.replace("_", " "), "yes" if value is True else value))
    print_fields([*fields, ("statements", f"{out:,} of it, {into:,} about it")])
    _part("points to", ((link["predicate"], _name(link, "object")) for link in sample))


@command(app, "relations")
@ASKED
@click.argument("name")
@click.option("--predicate", metavar="P", help="Only by this predicate.")
@words("--direction", ("both", "out", "in"), "Which way [both].", default="both")
@count("--limit", default=20, most=LISTED, doc="How many each way, at most.")
def relations(
    session: Session,
    source: str,
    format_: str | None,
    lang: str | None,
    name: str,
    limit: int,
    **given: Any,
) -> int:
    """Show what NAME points to, and what points to it.

    Some of every predicate; where there is more, the counts are told. NAME is given as for
    `describe`.
    """
    with _views(session, source, format_, lang) as views:
        by = given["predicate"] and _resolved(views, given["predicate"], predicate=True)
        found = views.probe_relationships(_resolved(views, name), by, given["direction"], limit)
    sides = [side for side in SIDES if side[1] in found]
    total = sum(found[f"{side}_count"] for _, side, _ in sides)
    if session.json:
        print_json(found)
        return 0 if total else 1
    rows = [
        (way, link["predicate"], link[end], link.get("label", ""))
        for way, side, end in sides
        for link in found[side]
    ]
    if rows:
        print_table(("way", "predicate", "other end", "label"), rows, prose=("other end", "label"))
    for way, side, _ in sides:
        shown, there = len(found[side]), found[f"{side}_count"]
        if shown < there:
            most = _listed(f"{p} {n:,}" for p, n in list(found[f"{side}_predicates"].items())[:5])
            session.talk(f"{way}: {shown:,} of {there:,} ({most})")
    if not total:
        session.talk("nothing found")
    return 0 if total else 1


@command(app, "path")
@ASKED
@click.argument("start", metavar="FROM")
@click.argument("end", metavar="TO")
@count("--depth", default=2, most=4, doc="Statements on a path, at most.")
@count("--limit", default=10, most=LISTED, doc="How many paths, at most.")
def path(
    session: Session,
    source: str,
    format_: str | None,
    lang: str | None,
    start: str,
    end: str,
    depth: int,
    limit: int,
) -> int:
    """Show how FROM and TO are connected.

    The shortest paths come first; statements are followed both ways. Names are given as for
    `describe`.
    """
    with _views(session, source, format_, lang) as views:
        found = views.find_path(_resolved(views, start), _resolved(views, end), depth, limit)
        lines = [_path_line(views, each["edges"]) for each in found["paths"]]
    if session.json:
        print_json(found)
        return 0 if lines else 1
    for line in lines:
        print_text(one_line(line))
    if not found["complete"]:
        session.talk("time ran out before all paths were looked at: try a smaller --depth")
    elif found["more"]:
        session.talk(
            f"there are more than these {len(lines)}" + (": --limit" if limit < LISTED else "")
        )
    elif found["source"] == found["target"]:
        session.talk(f"both are {found['source']}")
    elif not lines:
        deeper = f"try --depth {depth + 1}, or " if depth < 4 else ""
        session.talk(
            f"no path of up to {depth} statements: {deeper}compare `rlm ontology relations` of both"
        )
    return 0 if lines else 1


def _path_line(views: Views, edges: list[dict[str, str]]) -> str:
    line = _labelled(views, edges[0]["from"])
    for edge in edges:
        arrow = (
            f"-{edge['predicate']}->" if edge["direction"] == "out" else f"<-{edge['predicate']}-"
        )
        line += f" {arrow} {_labelled(views, edge['to'])}"
    return line


def _labelled(views: Views, name: str) -> str:
    """A node of a path with its label, where that says more than its name."""
    from rlm.ontology.views.links import shown_name

    with suppress(OntologyError):
        return shown_name(views.meta, views.meta.prefixes.expand(name), views.lang)
    return name


@command(app, "card")
@ASKED
def card(session: Session, source: str, format_: str | None, lang: str | None) -> None:
    """Show what a model is told of SOURCE.

    That is the sense card, and the constraints of the schema where there are any.
    """
    from rlm.ontology.views.schema import schema_constraints
    from rlm.ontology.views.sense import sense_card

    with _views(session, source, format_, lang) as views:
        sense, schema = sense_card(views.meta, lang=lang), schema_constraints(views.meta)
        where = {"name": views.engine.name, "source": views.engine.source}
    if session.json:
        print_json({**where, "sense_card": sense, "schema_constraints": schema})
        return
    print_text(sense)
    if schema:
        print_text(f"\n{schema}")


command(app, "query")(query)
