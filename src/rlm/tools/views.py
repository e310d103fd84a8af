"""The views of a graph as tools: what can be asked without SPARQL (`rlm.ontology.views`).

The views cap their lists; names and labels can still be long, and a path says everything twice. So
every answer is fitted into `VIEW_CHARS`: what is too long is cut, and `left_out` says which lists
lost how many.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from rlm.handles import Meter
from rlm.loop.trace import render_value
from rlm.ontology.views.views import VIEWS, Views
from rlm.tools.toolbox import Tool, Toolbox, check_count, check_text, clip

if TYPE_CHECKING:
    from rlm.ontology.datasets.dataset import DatasetMeta  # a run without one does not load it

VIEW_CHARS = 1000
"""The most that a view returns, as JSON: what is longer would count as leakage."""
LONG_CHARS = 300
"""A text in an answer that has to be shortened has no more than this."""
SHORTER_CHARS = (120, 60, 30)

T = TypeVar("T")
FACT_CHARS = 2_000
QUERY_CHARS = 20_000
QUERY_ROWS = 25


def view_tools(views: Views, meter: Meter) -> Toolbox:
    """The views of one graph. Their time is the engine's, which has limits of its own."""
    return Toolbox.of(meter, *(_fitted(getattr(views, name)) for name in VIEWS), untimed=True)


def _fitted(view: Tool) -> Tool:
    @functools.wraps(view)
    def call_and_fit(*args: Any, **kwargs: Any) -> Any:
        return fit(view(*args, **kwargs), VIEW_CHARS)

    return call_and_fit


# -- into so many characters


def fit(value: T, most: int) -> T:
    """A list or an object in at most `most` characters of JSON; as it is when it fits. Long texts
    are cut first, then the longest lists lose their last parts; an object says in `left_out` how
    many. What still does not fit loses more of its texts, and in the end its last parts."""
    if len(render_value(value)) <= most:
        return value
    made: Any = _clip_texts(value, LONG_CHARS)
    dropped = Counter[str](made.get("left_out", {}) if isinstance(made, dict) else {})

    def too_long() -> bool:
        return len(render_value(_note(made, dropped))) > most

    while too_long() and (found := _longest_list(made)) is not None:
        name, parts = found
        parts.pop()
        dropped[name] += 1
    for chars in SHORTER_CHARS:
        if too_long():
            made = _clip_texts(made, chars)
    while made and too_long():
        _drop_last(made)
    fitted: T = made if too_long() else _note(made, dropped)
    return fitted


def take(entries: Iterator[dict[str, Any]], room: int) -> list[dict[str, Any]]:
    """The first entries that fit into so many characters of JSON together; the first one always."""
    taken: list[dict[str, Any]] = []
    for entry in entries:
        room -= len(render_value(entry)) + 2
        if room < 0 and taken:
            break
        taken.append(entry)
    return taken


def _note(made: Any, dropped: Counter[str]) -> Any:
    return {**made, "left_out": dict(dropped)} if dropped and isinstance(made, dict) else made


def _drop_last(made: Any) -> None:
    if isinstance(made, dict):
        made.popitem()
    else:
        made.pop()


def _longest_list(value: Any) -> tuple[str, list[Any]] | None:
    lists = [(len(render_value(parts)), name, parts) for name, parts in _lists(value, "") if parts]
    if not lists:
        return None
    _, name, parts = max(lists, key=lambda entry: entry[0])
    return name, parts


def _lists(value: Any, name: str) -> Iterator[tuple[str, list[Any]]]:
    """The lists that are not inside other lists, by where they are."""
    if isinstance(value, list):
        yield name, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _lists(part, f"{name}.{key}" if name else str(key))


def _clip_texts(value: Any, chars: int) -> Any:
    """A copy in which no text, and no name of a field, is longer."""
    if isinstance(value, str):
        return clip(value, chars)
    if isinstance(value, dict):
        return {clip(str(key), chars): _clip_texts(part, chars) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_clip_texts(part, chars) for part in value]
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
        return fit(answer.text_rows(self._dataset.prefixes), VIEW_CHARS)

    def dataset_stats(self) -> dict[str, Any]:
        """The graphs of the session's dataset and their sizes."""
        return fit(self._dataset.stats(), VIEW_CHARS)
