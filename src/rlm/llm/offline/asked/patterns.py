"""What every rule is made of: patterns that compile late, marks for quoted names, sets of words."""

from __future__ import annotations

import re
from collections.abc import Callable

# -- Patterns that are compiled when they are first used: most questions need few of them.


class Lazy:
    """A pattern with the calls of `re.Pattern` that the rules use."""

    __slots__ = ("_compiled", "_first", "_flags", "_only", "_source")

    def __init__(self, source: str, flags: int = 0, only: str = "", first: str = "") -> None:
        """With `only`, a text without any of these pieces cannot match, and nothing is compiled for
        it.

        With `first`, nor can one that begins with another word.
        """
        self._first = frozenset(first.split())
        self._source, self._flags, self._only = (
            source,
            flags,
            tuple(only.replace("_", " ").split("|")) if only else (),
        )
        self._compiled: re.Pattern[str] | None = None

    def _pattern(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self._source, self._flags)
        return self._compiled

    def _cannot(self, text: str) -> bool:
        low = text.lower()
        if self._first and low.split(" ", 1)[0].strip(",.!:'") not in self._first:
            return True
        return bool(self._only) and not any(piece in low for piece in self._only)

    def match(self, text: str) -> re.Match[str] | None:
        return None if self._cannot(text) else self._pattern().match(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self._pattern().fullmatch(text)

    def search(self, text: str) -> re.Match[str] | None:
        return None if self._cannot(text) else self._pattern().search(text)

    def split(self, text: str) -> list[str]:
        return self._pattern().split(text)

    def sub(self, new: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        return text if self._cannot(text) else self._pattern().sub(new, text, count=count)


# -- Names that stand in quotes, backticks or angle brackets, and IRIs: hidden behind marks, so
# that no rule cuts them.


MAX_CHARS = 1_000
"""Longer texts are no question of these kinds."""
MAX_LEFT = 240
"""What is left of a question when its quoted names and IRIs are hidden is not longer than this."""

OPEN, CLOSE = "\ue000", "\ue001"
_QUOTES = frozenset("*<\"'`“„«‘/:")
_HIDE = (
    r"<(?P<iri>[A-Za-z][\w+.-]{0,20}:[^\s<>\"]{1,500})>"
    r"|(?P<bare>(?:https?|ftp)://[^\s<>\"'`]{1,500}|urn:[^\s<>\"'`]{3,500})"
    r"|“(?P<a>[^”]{1,200})”|„(?P<b>[^“”]{1,200})[“”]|«\s?(?P<c>[^»]{1,200}?)\s?»|\"(?P<d>[^\"]{1,200})\""
    r"|`{1,3}(?P<e>[^`]{1,200})`{1,3}|‘(?P<f>[^’]{1,200})’(?!\w)"
    r"|(?<![\w'])'(?P<g>[^'?!]{1,120}(?:'\w[^'?!]{0,80}){0,3})'(?!\w)"
    r"|(?<![\w*])(?P<h>\*\w[\w-]{1,80}\*?|\w[\w-]{1,80}\*)(?![\w*])"
)


def hidden(question: str) -> tuple[str, tuple[str, ...]]:
    """The question with marks for its quoted names and IRIs, in single spaces, and what is behind
    the marks."""
    names: list[str] = []

    def hide(match: re.Match[str]) -> str:
        found = next(group for group in match.groups() if group is not None)
        rest = ""
        if match["bare"]:
            found, rest = _bare_iri(found)
        if not found.strip():
            return " "
        names.append(found.strip())
        return f"{OPEN}{len(names) - 1}{CLOSE}{rest}"

    plain = question.replace(OPEN, " ").replace(CLOSE, " ")
    if not _QUOTES.isdisjoint(plain):
        plain = re.sub(_HIDE, hide, plain)
    return " ".join(plain.split()), tuple(names)


def _bare_iri(found: str) -> tuple[str, str]:
    """An IRI in running text, without the punctuation after it."""
    kept = found.rstrip("?!.,;:")
    if kept.endswith(")") and "(" not in kept:
        kept = kept[:-1]
    return kept, found[len(kept) :]


# -- Words that need no letter of their own: verbs of asking, words that are no names, words for
# the ontology.


_REQUESTS = """
list show give find tell get return print display provide identify fetch retrieve report write output collect
determine see present extract select state query compile enumerate dump compute calculate expand check browse trace
climb search lookup view say pull obtain grab look walk follow navigate go name mention
"""
REQUESTS = frozenset(_REQUESTS.split())
_NO_NAMES = """
you your yourself yours me my mine myself our ours them they he she him most least best worst nicest important why how
when where nobody somewhere anywhere make remove delete add create rename change update insert set merge drop move
replace convert translate compare sort draw export import save load run install write build fix edit clean recommend
suggest should good better favourite favorite than then because there here today poem joke story so very same
difference differences distinction common similarity similar siblings sibling inverse restrictions restriction average
two three four five several multiple exactly twice different disjoint equivalent new more less only together both up
down out up-to-date
"""
NO_NAMES = frozenset(_NO_NAMES.split())
"""Words that are no part of a name in small letters."""
_QUALITIES = """
functional symmetric asymmetric reflexive irreflexive inverse deprecated obsolete unused used duplicate missing custom
own core main key important relevant imported external standard common shared optional required mandatory basic numeric
boolean string numerical temporal simple complex similar related specific general abstract asserted anonymous named
blank orphan empty labelled labeled unlabelled undocumented sub super child parent invalid valid local global internal
"""
QUALITIES = frozenset(_QUALITIES.split())
"""What properties or individuals are like: in "functional properties" no class is named."""
_SCOPES = """
ontology ontologies vocabulary graph schema model dataset file hierarchy taxonomy thesaurus terminology kg document
standard specification tree tbox t-box
"""
SCOPES = frozenset(_SCOPES.split())
"""Words for where the question is asked of: nothing hangs on them."""
