"""Names of terms in an answer without IRIs, or in a question, and the terms that they mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from rlm.ontology.labels import Label, name_of, plain, squeeze
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.terms import local_name

MOST_WORDS = 5_000
NGRAM = 8
_WORD = re.compile(r"[^\s,;?!\"'`“”«»()\[\]<>|*]+")

Find = Callable[[str], Collection[str]]


class TermNames(NamedTuple):
    """Every name of every term: as written, without case, as bare letters, in the singular."""

    written: Mapping[str, Collection[str]]
    folded: Mapping[str, Collection[str]]
    bare: Mapping[str, Collection[str]]
    stemmed: Mapping[str, Collection[str]]

    @classmethod
    def of(cls, meta: GraphMeta, more: Mapping[str, Sequence[Label]]) -> TermNames:
        """The terms of a graph, and `more` terms with their labels that GraphMeta may not hold."""
        found: tuple[dict[str, set[str]], ...] = ({}, {}, {}, {})
        iris = dict.fromkeys(
            (*meta.classes, *meta.properties, *meta.individuals, *meta.untyped, *meta.labels, *more)
        )
        for iri in iris:
            for name in names_of(meta, iri, more.get(iri, ())):
                for forms, form in zip(found, _forms(name), strict=True):
                    forms.setdefault(form, set()).add(iri)
        return cls(*found)

    def find_one(self, name: str) -> Collection[str]:
        """The one term of this name; none when there are several."""
        for forms, form in zip(self, _forms(name), strict=True):
            if found := forms.get(form):
                return found if len(found) == 1 else ()
        return ()

    def find_all(self, name: str) -> Collection[str]:
        """Every term that a name may mean."""
        return self.stemmed.get(squeeze(name), ())


def _forms(name: str) -> tuple[str, str, str, str]:
    written = " ".join(name.split())
    return written, written.casefold(), plain(written).replace(" ", ""), squeeze(written)


def names_of(meta: GraphMeta, iri: str, more: Sequence[Label] = ()) -> Iterator[str]:
    """Label, alternative label and local name."""
    yield from (
        text for source in (meta.labels, meta.alternatives) for text, _ in source.get(iri, ())
    )
    yield from (text for text, _ in more)
    yield local_name(iri)
    yield name_of(iri)


def named_in(text: str, find: Find) -> set[str]:
    """The terms that a text names, longest names first."""
    words = [word.rstrip(".:").rpartition(":")[2] for word in _WORD.findall(text)[:MOST_WORDS]]
    found: set[str] = set()
    at = 0
    while at < len(words):
        for size in range(min(NGRAM, len(words) - at), 0, -1):
            if words[at] and (iris := find(" ".join(words[at : at + size]))):
                found.update(iris)
                at += size
                break
        else:
            at += 1
    return found
