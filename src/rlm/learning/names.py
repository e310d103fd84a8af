"""TermNames in an answer without IRIs, and the terms that they mean, where only one can be."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from rlm.ontology.labels import Label, name_of, plain, squeeze
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.terms import local_name
from rlm.ontology.views.search import distance, tolerance

MOST_NAMES = 5_000
NAME_CHARS = 200
QUESTION_WORDS = 60
NGRAM = 5
FUZZY_CHARS = 5

_BULLET = re.compile(r"[ \t]*(?:[-*+•–—▪·]|\(?\d{1,4}[.)]|\|)[ \t]+(.*\S)")
_QUOTED = re.compile(
    r"`([^`\n]+)`|\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|«([^»\n]{1,200})»|\*\*([^*\n]+)\*\*|(?<!\w)'([^'\n]{1,200})'(?!\w)"
)
_PIECE = re.compile(
    r"[,;|\n]|:(?=\s)|(?<=[\w)\"'`])\.(?=\s|$)|\s(?:and|or|as well"
    r" as|plus|are|is|were|was|includes?|including|namely|"
    r"called|named|has|have)\s|\s[–—-]+\s|\s\(|\)",
    re.IGNORECASE,
)
_HEAD = re.compile(r"\s[–—-]+\s|:\s|\s\(|\)|,\s|\s\|")
_EDGE = " \t\"'`*_“”«».,;:!?()[]"
_ARTICLE = re.compile(
    r"(?:the|a|an|and|or|both|also|class|property|individual|term)\s+", re.IGNORECASE
)
_KIND = re.compile(r"\s+(?:class(?:es)?|property|properties|individuals?|terms?)$", re.IGNORECASE)
_COMPOUND = re.compile(r"\S\s+\S|[a-z\d][A-Z]")
_WORD = re.compile(r"[^\s,;?!\"'`“”«»()\[\]<>]+")


class TermNames(NamedTuple):
    """Every name of every term: as written, without case, as bare letters, in the singular."""

    written: Mapping[str, AbstractSet[str]]
    folded: Mapping[str, Collection[str]]
    bare: Mapping[str, Collection[str]]
    stemmed: Mapping[str, Collection[str]]

    @classmethod
    def of(cls, meta: GraphMeta, more: Mapping[str, Sequence[Label]]) -> TermNames:
        """The terms of a graph, and `more` terms with their labels that GraphMeta may not hold."""
        found: tuple[dict[str, set[str]], ...] = ({}, {}, {}, {})
        iris = dict.fromkeys(
            (*meta.classes, *meta.properties, *meta.individuals, *meta.labels, *more)
        )
        for iri in iris:
            for name in names_of(meta, iri, more.get(iri, ())):
                for forms, form in zip(found, _forms(name), strict=True):
                    forms.setdefault(form, set()).add(iri)
        return cls(*found)

    def resolve(self, name: str) -> str | None:
        """The one term of this name; None when there is none, or several."""
        for forms, form in zip(self, _forms(name), strict=True):
            found = forms.get(form)
            if found:
                return next(iter(found)) if len(found) == 1 else None
        return None


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


def named_in(answer: str, names: TermNames) -> set[str]:
    """The terms that an answer names in its list, in quotes, or between commas."""
    found: set[str] = set()
    for number, options in enumerate(_candidates(answer)):
        if number >= MOST_NAMES:
            break
        for name in options:
            iri = names.resolve(name)
            if iri is not None:
                found.add(iri)
                break
    return found


def mentioned_in(answer: str, names: TermNames, wanted: Collection[str]) -> set[str]:
    """Those of `wanted` whose name stands anywhere in the sentences of an answer. Only names that
    are no ordinary word: of two words or more, or written together, as in hasBerth."""
    said, found = " ".join(answer.casefold().split()), set[str]()
    for name, iris in names.written.items():
        if not _COMPOUND.search(name) or iris.isdisjoint(wanted) or not names.resolve(name):
            continue
        if re.search(rf"(?<!\w){re.escape(name.casefold())}(?!\w)", said):
            found.update(iris)
    return found


def _candidates(answer: str) -> Iterator[list[str]]:
    """Pieces that may be names, each with the ways to read it."""
    for line in answer.splitlines():
        item = _BULLET.match(line)
        if item is not None and "," not in item[1]:
            yield _readings(item[1], *_HEAD.split(item[1])[:1])
            continue
        for match in _QUOTED.finditer(line):
            yield _readings(next(part for part in match.groups() if part))
        for piece in _PIECE.split(item[1] if item else line):
            yield _readings(piece)


def _readings(*texts: str) -> list[str]:
    found: list[str] = []
    for text in texts:
        text = text.strip(_EDGE)[:NAME_CHARS]
        bare = _KIND.sub("", _ARTICLE.sub("", text, count=1)).strip(_EDGE)
        found += [text, _ARTICLE.sub("", text, count=1).strip(_EDGE), bare]
    return [text for text in dict.fromkeys(found) if text]


# -- what the question names


def asked_in(question: str, names: TermNames) -> tuple[set[str], set[str]]:
    """The terms that a question names, longest names first, and the runs of words left over."""
    words = [
        squeeze(word.rstrip(".:").rpartition(":")[2])
        for word in _WORD.findall(question)[:QUESTION_WORDS]
    ]
    found: set[str] = set()
    left: list[list[str]] = [[]]
    at = 0
    while at < len(words):
        for size in range(min(NGRAM, len(words) - at), 0, -1):
            iris = names.stemmed.get("".join(words[at : at + size]))
            if iris and words[at]:
                found.update(iris)
                left.append([])
                at += size
                break
        else:
            left[-1].append(words[at])
            at += 1
    return found, {run for part in left for run in _runs(part)}


def _runs(words: Sequence[str]) -> Iterator[str]:
    for size in range(1, NGRAM + 1):
        yield from ("".join(words[at : at + size]) for at in range(len(words) - size + 1))


def nearly(runs: Collection[str], names: Iterator[str]) -> bool:
    """Whether one of the names is a slip or two away from a run of words."""
    for name in names:
        short = squeeze(name)
        most = min(tolerance(short), 2)
        if len(short) >= FUZZY_CHARS and any(
            len(run) >= FUZZY_CHARS and distance(short, run, most) <= most for run in runs
        ):
            return True
    return False
