"""The views of a graph as tools: what can be asked without SPARQL (`rlm.ontology.views`).

The views cap their lists; names and labels can still be long, and a path says everything twice. So
every answer is fitted into `VIEW_CHARS`: what is too long is cut. The last row of a list that is
not whole says so, and `left_out` says which lists lost how many.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from rlm.handles import Meter
from rlm.loop.trace import render_value
from rlm.ontology.views.listing import Page
from rlm.ontology.views.views import CATALOGUE, MOUNTED, Views
from rlm.tools.toolbox import Tool, Toolbox, check_count, check_text, clip

if TYPE_CHECKING:
    from rlm.ontology.datasets.dataset import DatasetMeta  # a run without one does not load it

VIEW_CHARS = 1000
"""The most that a view returns, as JSON: what is longer would count as leakage."""
MODEL_VIEW_CHARS = 5_000
"""The same for a language model, which prints what it needs of it: the 25 rows of a view. What it
leaves out nobody notices who loops over the rows."""
LONG_CHARS = 300
"""A text in an answer that has to be shortened has no more than this."""
SHORTER_CHARS = (120, 60, 30)
REST = "…"
"""The field of a last row that says how many rows there are."""

SELDOM = ("search_by_label", "predicate_frequency", "graph_stats", "ontology_view")
SELDOM_SUMMARY = (
    "`search_by_label(text)`, `predicate_frequency()`, `graph_stats()`;"
    f" `ontology_view(view, term)`: {', '.join(CATALOGUE)}"
)
"""Short, as every prompt has it: an unknown relation or kind is told which there are."""

T = TypeVar("T")
FACT_CHARS = 2_000
QUERY_CHARS = 20_000
QUERY_ROWS = 25


def view_tools(views: Views, meter: Meter, chars: int = VIEW_CHARS) -> Toolbox:
    """The views of one graph. Their time is the engine's, which has limits of its own."""
    tools = {name: _fit_results(getattr(views, name), chars) for name in MOUNTED}
    seldom = [tools.pop(name) for name in SELDOM]
    often = Toolbox.of(meter, *tools.values(), untimed=True)
    rest = Toolbox.of(meter, *seldom, untimed=True, summary=SELDOM_SUMMARY)
    return often | rest


def _fit_results(view: Tool, chars: int) -> Tool:
    @functools.wraps(view)
    def call_and_fit(*args: Any, **kwargs: Any) -> Any:
        return fit(view(*args, **kwargs), chars)

    return call_and_fit


# -- into so many characters


def fit(value: T, most: int) -> T:
    """A list or an object in at most `most` characters of JSON. Long texts are cut first, then the
    longest lists lose their last parts. What still does not fit loses more of its texts, and in the
    end its last parts. The last row of a list that is not whole says so (`note_rest`), and an
    object says in `left_out` how many each of its lists has lost."""
    if isinstance(value, dict) and "next_offset" in value:
        return fit_listing(value, most)  # type: ignore[return-value]
    made: Any = _clip_texts(value, most)

    def too_long() -> bool:
        return len(render_value(_note(made))) > most

    if too_long():
        made = _clip_texts(made, LONG_CHARS)
    while too_long() and (longest := _longest_list(made)):
        longest.pop()
    for chars in SHORTER_CHARS:
        if too_long():
            made = _clip_texts(made, chars)
    while made and too_long():
        _drop_last(made)
    fitted: T = _note(made)
    return fitted


def fit_listing(listing: dict[str, Any], most: int) -> dict[str, Any]:
    """A page of a list (`rlm.ontology.views.listing`) in so many characters: its head may take
    half, then come as many rows as fit, one at least, and `next_offset` says where to go on."""
    rows, here = listing["rows"], listing["total"] - listing["rows"].total
    last = listing["next_offset"]
    head = {k: part for k, part in listing.items() if k not in ("rows", "next_offset")}
    head = fit(head, most // 2) if len(render_value(head)) > most // 2 else head
    room = most - len(render_value({**head, "rows": [], "next_offset": 10**9}))
    shown = take((_clip_texts(row, LONG_CHARS) for row in rows), room)
    if shown and len(render_value(shown)) > room + 2:
        shown = [fit(shown[0], room)]
    on = last if len(shown) == len(rows) else here + len(shown)
    return {**head, "rows": [_note_rows(row) for row in shown], "next_offset": on}


def note_rest(rows: list[Any], note: str) -> list[Any]:
    """The rows, the last of them with a note that there are more. No variable has such a name."""
    return [*rows[:-1], {**rows[-1], REST: note}] if rows and isinstance(rows[-1], dict) else rows


def take(entries: Iterator[dict[str, Any]], room: int) -> list[dict[str, Any]]:
    """The first entries that fit into so many characters of JSON together; the first one always."""
    taken: list[dict[str, Any]] = []
    for entry in entries:
        room -= len(render_value(entry)) + 2
        if room < 0 and taken:
            break
        taken.append(entry)
    return taken


def _note(made: Any) -> Any:
    if isinstance(made, dict):
        lost = Counter({name: page.rest for name, page in _lists(made, "") if page.rest})
        lost.update(made.get("left_out", {}))
        return {key: _note_rows(part) for key, part in made.items()} | (
            {"left_out": dict(lost)} if lost else {}
        )
    return _note_rows(made)


def _note_rows(made: Any) -> Any:
    if isinstance(made, dict):
        return {key: _note_rows(part) for key, part in made.items()}
    if not isinstance(made, Page):
        return made
    total = f"{made.total:,}{'' if made.counted else ' or more'}"
    note = f"{len(made):,} of {total}: narrow the search"
    return note_rest(list(made), note) if made.rest else list(made)


def _drop_last(made: Any) -> None:
    if isinstance(made, dict):
        made.popitem()
    else:
        made.pop()


def _longest_list(value: Any) -> Page | None:
    lists = [(len(render_value(page)), page) for _, page in _lists(value, "") if page]
    return max(lists, key=lambda entry: entry[0])[1] if lists else None


def _lists(value: Any, name: str) -> Iterator[tuple[str, Page]]:
    """The lists that are not inside other lists, by where they are."""
    if isinstance(value, Page):
        yield name, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _lists(part, f"{name}.{key}" if name else str(key))


def _clip_texts(value: Any, chars: int) -> Any:
    """A copy in which no text, and no name of a field, is longer, and every list is a page."""
    if isinstance(value, str):
        return clip(value, chars)
    if isinstance(value, dict):
        return {clip(str(key), chars): _clip_texts(part, chars) for key, part in value.items()}
    if isinstance(value, list | tuple):
        page = value if isinstance(value, Page) else Page(value)
        return page.map(lambda part: _clip_texts(part, chars))
    return value


# -- the dataset of a session


def dataset_tools(dataset: DatasetMeta, meter: Meter) -> Toolbox:
    """Tools over one dataset. Their time is the engine's, which has limits of its own."""
    tools = _Dataset(dataset)
    return Toolbox.of(
        meter, tools.dataset_add, tools.dataset_query, tools.dataset_stats, untimed=True
    )


class _Dataset:
    def __init__(self, dataset: DatasetMeta) -> None:
        self._dataset = dataset

    def dataset_add(self, subject: str, predicate: str, value: Any) -> bool:
        """Note a fact in the session's dataset; kept for later runs. subject, predicate:
        prefix:name or IRI. value: text, number or True/False; {'t': 'iri', 'v': IRI} for a thing.
        False: it was there already."""
        check_text(subject, "subject", FACT_CHARS)
        check_text(predicate, "predicate", FACT_CHARS)
        return self._dataset.mem_add(subject, predicate, value, who="model")

    def dataset_query(self, query: str, limit: int = 10) -> list[dict[str, str]]:
        """SPARQL over the facts of the session's dataset; limit up to 25 rows, fewer when they are
        long. Who said them: GRAPH <urn:rlm:NAME:prov>, with the name from dataset_stats."""
        check_count(limit, "limit", QUERY_ROWS)
        answer = self._dataset.query(check_text(query, "query", QUERY_CHARS), limit=limit)
        if answer.kind == "ask":
            return [{"boolean": str(bool(answer.boolean)).lower()}]
        rows = answer.text_rows(self._dataset.prefixes)
        more = answer.truncated
        return fit(Page(rows, len(rows) + more, counted=not more), VIEW_CHARS)

    def dataset_stats(self) -> dict[str, Any]:
        """The graphs of the session's dataset and their sizes."""
        return fit(self._dataset.stats(), VIEW_CHARS)
