"""Names that stand in quotes, backticks or angle brackets, and IRIs: hidden behind marks, so that
no rule cuts them."""

from __future__ import annotations

import re

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
