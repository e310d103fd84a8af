"""The sense card: what an ontology is about, in at most 600 characters.

It goes into every prompt, so each line has to earn its room: what it is (its own title and first
sentence, unless that is about a working group or a licence), how large, the classes and properties
that matter, the prefixes to write them with, and how its labels look. Lists are cut between names,
never inside one.
"""

from __future__ import annotations

from collections.abc import Iterable

from rlm.ontology.labels import cut, is_opaque, pick
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.terms import local_name
from rlm.ontology.views.nearest import squeezed
from rlm.ontology.views.ranking import key_classes, key_properties, own_namespace
from rlm.ontology.vocabulary import is_machinery, namespace

BUDGET = 600
_TITLE_CHARS = 170


def sense_card(meta: GraphMeta, budget: int = BUDGET, lang: str | None = None) -> str:
    """The card, never longer than `budget` characters."""
    title, counts = cut(_title(meta), min(_TITLE_CHARS, max(budget, 0))), meta.counts()
    prefixes, labels = _prefixes(meta), _labels(meta, lang)
    fixed = [line for line in (title, counts, labels, prefixes) if line]
    room = budget - sum(len(line) + 1 for line in fixed)
    named = [_name_term(meta, iri, lang) for iri in key_classes(meta, 30)]
    classes = list_line("Key classes: ", named, room * 55 // 100)
    room -= len(classes) + 1 if classes else 0
    named = [_name_term(meta, iri, lang) for iri in key_properties(meta, 30)]
    properties = list_line("Key properties: ", named, room - 1)
    return join_lines([title, counts, classes, properties, prefixes, labels], budget)


def list_line(head: str, items: Iterable[str], room: int, separator: str = ", ") -> str:
    """A line with as many items as fit; empty when not even one does."""
    line = ""
    for item in items:
        longer = line + separator + item if line else head + item
        if len(longer) > room:
            break
        line = longer
    return line


def join_lines(lines: Iterable[str], budget: int) -> str:
    """The lines that fit, in order, each whole."""
    text = ""
    for line in lines:
        longer = f"{text}\n{line}" if text else line
        if line and len(longer) <= budget:
            text = longer
    return text


def _title(meta: GraphMeta) -> str:
    space = own_namespace(meta)
    return meta.about() or (f"Graph in <{space}>" if space != "\0" else "Graph")


def _name_term(meta: GraphMeta, iri: str, lang: str | None) -> str:
    label = pick(meta.labels.get(iri, ()), lang)
    short = meta.curie(iri)
    return f'{short} "{cut(label, 40)}"' if label and is_opaque(local_name(iri)) else short


def _prefixes(meta: GraphMeta) -> str:
    """The prefixes of the terms above; the machinery's are known."""
    spaces: dict[str, None] = {}
    for iri in (*key_classes(meta, 12), *key_properties(meta, 12)):
        spaces[namespace(iri)] = None
    named = reversed(meta.namespaces.items())
    by_space = {space: prefix for prefix, space in named if not is_machinery(space)}
    known = (f"{by_space[space]}: <{space}>" for space in spaces if space in by_space)
    return list_line("Prefixes: ", known, 130)


def _labels(meta: GraphMeta, lang: str | None) -> str:
    terms = [iri for iri in (*meta.classes, *meta.properties) if not is_machinery(iri)]
    labelled = [iri for iri in terms if iri in meta.labels]
    opaque = sum(is_opaque(local_name(iri)) for iri in terms)
    if not labelled and not meta.languages:
        return "Labels: none; search by local name" if terms else ""
    tags = [f"{tag or 'no language'} {count:,}" for tag, count in list(meta.languages.items())[:4]]
    line = "Labels: " + ", ".join(tags)
    if len(meta.languages) > 4:
        line += f", {len(meta.languages) - 4} more"
    if terms and opaque * 2 > len(terms):
        return line + "; names are numbers: search by label"
    if terms and len(labelled) * 2 < len(terms):
        return line + f"; {len(terms) - len(labelled):,} terms have none: try the local name"
    example = next((iri for iri in key_classes(meta, 5) if iri in meta.labels), None)
    if example is None:
        return line
    label = meta.label(example, lang)
    same = squeezed(label) == squeezed(local_name(example))
    return line if same else line + f'; e.g. {meta.curie(example)} is "{cut(label, 40)}"'
