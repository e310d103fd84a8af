"""The commands of `rlm ontology` that are views of the catalogue, and `diff`.

A view is defined by its method in `rlm.ontology.views.views`: its arguments become arguments and
options here, its docstring the help. What is added is how a person reads the answer.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import click

from rlm.cli.command import Decorator, command, count, with_options, words
from rlm.cli.ontology_source import ASKED, LANG, SOURCE, open_engine, open_views, resolve_name
from rlm.cli.output import print_cells, print_fields, print_json, print_text
from rlm.cli.session import Session
from rlm.ontology.views.links import add_labels
from rlm.ontology.views.listing import MOST_ROWS
from rlm.ontology.views.views import CATALOGUE, Views

SHOWN_ROWS = 1_000
SPACES = 10
"""So many namespaces that were not judged are named."""
LEVELS = ("error", "warning", "note", "never")
DOCS = {
    "depth": "How many levels.",
    "direction": "down or up [down].",
    "relation": "Which relation, as above [subclasses].",
    "kind": "Which kind, as above [classes].",
    "prefix": "Only names that begin so, as brick:.",
    "only": "Only those that are also of another kind: declared, current, deprecated, object, …",
    "property": "Only the values of this property.",
    "rule": "Only the findings of this rule.",
    "all": "At any depth, or inherited; or only what is stated directly.",
    "inherited": "Also what the classes above it state.",
    "limit": "How many rows, at most.",
    "offset": "How many rows to leave out at the beginning.",
}
NAMED = ("term", "other", "property")
"""Arguments that name a term."""


def add_view_commands(app: click.Group) -> None:
    """Every view of the catalogue, and `diff`, as commands of a group."""
    for name in CATALOGUE:
        command(app, name)(_view_command(name))
    command(app, "diff")(diff)


def _view_command(name: str) -> Callable[..., int]:
    method = getattr(Views, name)
    parameters = list(inspect.signature(method).parameters.values())[1:]
    options = [option for each in parameters if (option := _option(each))]
    lint = _LINT if name == "lint" else ()

    @with_options((ASKED, *options, *lint))
    def run(session: Session, **given: Any) -> int:
        taken = {each.name: given[each.name] for each in parameters}
        with open_views(session, given) as views:
            for each in NAMED:
                if taken.get(each):
                    taken[each] = resolve_name(views, taken[each], predicate=each == "property")
            taken = {k: v for k, v in taken.items() if v is not None}
            found = getattr(views, name)(**taken)
            if given.get("sarif"):  # a log has every finding
                found = _read_on(views.lint, found, taken)
            source = views.engine.source
        if name == "lint":
            return _show_lint(session, found, source, given)
        return _show(session, name, found)

    run.__doc__ = inspect.getdoc(method)
    made: Callable[..., int] = run
    return made


def _option(parameter: inspect.Parameter) -> Decorator | None:
    """The argument or option for a parameter; none for `lang`, which every command has."""
    name, default = parameter.name, parameter.default
    if name == "lang":
        return None
    if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
        required = default is inspect.Parameter.empty
        return click.argument(name) if required else click.argument(name, default="")
    flag = f"--{name}"
    if name == "limit":
        return count(flag, default=SHOWN_ROWS, most=MOST_ROWS, doc=DOCS[name])
    if isinstance(default, bool):
        return click.option(f"{flag}/--no-{name}", default=default, help=DOCS[name])
    if isinstance(default, int):
        return count(flag, default=default, least=min(default, 1), doc=DOCS[name])
    return click.option(flag, default=default, metavar=name.upper(), help=DOCS[name])


def _read_on(
    view: Callable[..., dict[str, Any]], found: dict[str, Any], taken: dict[str, Any]
) -> dict[str, Any]:
    """A page and all that follow it."""
    while found["next_offset"] is not None:
        page = view(**{**taken, "offset": found["next_offset"], "limit": MOST_ROWS})
        rows = [*found["rows"], *page["rows"]]
        found = {**found, "rows": rows, "next_offset": page["next_offset"]}
    return found


# -- how an answer is shown


def _show(session: Session, name: str, found: dict[str, Any]) -> int:
    rows = found.get("rows")
    if session.json:
        print_json(found)
    elif name == "tree":
        _show_tree(session, found)
    else:
        _show_fields(found)
        if rows is not None:
            session.notify(_count_line(found))
    return 0 if rows or rows is None else 1


def _show_fields(found: dict[str, Any]) -> None:
    """What is said of the whole, and below it a table of the rows, if there are any."""
    left_out, rows = ("rows", "next_offset", "total", "labels"), found.get("rows")
    head = {k: _label_texts(v, found) for k, v in found.items() if k not in left_out}
    print_fields([(key.replace("_", " "), _text(value)) for key, value in head.items()])
    if rows and head:
        print_text("")
    if rows:
        keys = [
            k for k in dict.fromkeys(k for row in rows for k in row) if k not in ("labels", "iri")
        ]
        shown = (({k: _label_texts(row[k], row) for k in row}) for row in rows)
        print_cells(keys, [[_text(row.get(key, "")) for key in keys] for row in shown])


def _label_texts(value: Any, said: Mapping[str, Any]) -> Any:
    """A text, or each of several, with the labels of the names that are numbers behind them."""
    if isinstance(value, list):
        return [_label_texts(each, said) for each in value]
    labels = said.get("labels", {})
    return add_labels(value, labels) if isinstance(value, str) else value


def _count_line(found: Mapping[str, Any]) -> str:
    total, shown, on = found["total"], len(found["rows"]), found["next_offset"]
    if not total:
        return "nothing found"
    rest = f": more with --offset {on}, or --limit N" if on is not None else ""
    return f"{shown:,} of {total:,}{rest}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{key or 'no language'} {_text(each)}" for key, each in value.items())
    if not isinstance(value, list):
        return str(value)
    texts = [_text(each) for each in value]
    return ("; " if any(", " in text for text in texts) else ", ").join(texts)


def _show_tree(session: Session, found: dict[str, Any]) -> None:
    top = [{**found, "depth": 0}] if "name" in found else []
    for line in draw_tree([*top, *found["rows"]]):
        print_text(line)
    sides, old = ("below", "above"), found.get("deprecated_roots")
    deeper = [f"; {found[key]:,} more {side}: --depth N" for side in sides
              if (key := f"more_{side}") in found]  # fmt: skip
    session.notify(_count_line(found) + "".join(deeper))
    if old:
        session.notify(f"{old:,} deprecated terms without parents: `terms --kind deprecated`")


def draw_tree(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The rows of a tree with lines between them. Whether a row is the last of its level is told
    by what follows."""
    open_levels: set[int] = set()
    top = min((row["depth"] for row in rows), default=0)
    drawn = []
    for row in reversed(rows):
        depth = row["depth"]
        rails = "".join("│  " if level in open_levels else "   " for level in range(top + 1, depth))
        branch = "" if depth == top else ("├─ " if depth in open_levels else "└─ ")
        open_levels = {level for level in open_levels if level < depth} | {depth}
        drawn.append(f"{rails}{branch}{_tree_text(row)}")
    return reversed(drawn)


def _tree_text(row: Mapping[str, Any]) -> str:
    things = "instance" if row.get("instances") == 1 else "instances"
    counted = (("below", "below"), ("instances", things))
    said = [f"{row[key]:,} {word}" for key, word in counted if row.get(key)]
    said += [f"by {row['by']}"] if "by" in row else []
    said += ["deprecated"] if "deprecated" in row else []
    said += ["see above"] if "repeated" in row else []
    label = f' "{row["label"]}"' if "label" in row else ""
    return f"{row['name']}{label}" + (f"  ({', '.join(said)})" if said else "")


# -- lint

_LINT: tuple[Decorator, ...] = (
    words("--fail-on", LEVELS, "Exit with 1 from this level on [warning].", default="warning"),
    click.option("--sarif", is_flag=True, help="Print a SARIF log, for CI."),
)


def _show_lint(session: Session, found: dict[str, Any], source: str, given: Any) -> int:
    from rlm.ontology.views.lint import to_sarif

    if given["sarif"]:
        print_json(to_sarif(found, source))
    elif session.json:
        print_json(found)
    else:
        for row in found["rows"]:
            print_text(f"{row['level']}: {row['term']}: {row['message']} [{row['rule']}]")
        said = _text(found["by_rule"]) or "nothing"
        more = "" if found["next_offset"] is None else f"; {_count_line(found)}"
        left = list(found["not_judged"].items())
        rest = f" and {len(left) - SPACES} namespaces more" if len(left) > SPACES else ""
        others = f"; not judged: {_text(dict(left[:SPACES]))}{rest}" if left else ""
        judged = f"{found['judged']:,} terms" if found["judged"] else "no term: none is declared"
        session.notify(f"found: {said}{more}; judged: {judged}{others}")
    fail_on = given["fail_on"]
    failing = () if fail_on == "never" else LEVELS[: LEVELS.index(fail_on) + 1]
    return int(any(level in found["levels"] for level in failing))


# -- diff


@with_options((SOURCE, click.argument("other"), LANG))
@click.option("--exit-code", is_flag=True, help="Exit with 1 where the two differ.")
@click.option("--summary", is_flag=True, help="Numbers, and a few examples of each change.")
def diff(session: Session, other: str, exit_code: bool, summary: bool, **given: Any) -> int:
    """Show what changed from SOURCE to OTHER, a newer release.

    Terms added, removed, renamed and deprecated, labels, the hierarchy, and every other statement;
    as Markdown, or with --json.
    """
    from rlm.ontology.views.diff import diff, summarize, to_markdown

    with (
        open_engine(session, given["source"], given["format_"]) as before,
        open_engine(session, other, given["format_"]) as after,
    ):
        found = diff(before, after, lang=given["lang"])
    found = summarize(found) if summary else found
    if session.json:
        print_json(found)
    else:
        print_text(to_markdown(found).rstrip())
    return int(exit_code and not found["same"])
