"""Prefixes that a query uses and does not declare."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

from rlm.errors import OntologyError
from rlm.ontology.query.guard import Checked
from rlm.ontology.query.lexer import PNAME
from rlm.ontology.terms import Prefixes

_SPACE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\\x7f-\x9f\ud800-\udfff]*")


def declarations(checked: Checked, prefixes: Mapping[str, str]) -> str:
    """PREFIX lines for those that are known and can stand in a query."""
    spaces = {name: prefixes.get(name, "") for name in _find_undeclared(checked)}
    return "".join(
        f"PREFIX {name}: <{space}>\n" for name, space in spaces.items() if _SPACE.fullmatch(space)
    )


def unbound(checked: Checked, prefixes: Prefixes) -> str:
    """What to say of the first prefix that is neither declared nor known; '' when all are."""
    for name in _find_undeclared(checked).values():
        try:
            prefixes.expand(name)
        except OntologyError as exc:
            return str(exc)
    return ""


def _find_undeclared(checked: Checked) -> dict[str, str]:
    """Prefix → the first name that has it."""
    pairs = pairwise(checked.tokens)
    known = {name.text.partition(":")[0] for word, name in pairs if word.upper == "PREFIX"}
    found: dict[str, str] = {}
    for token in checked.tokens:
        prefix = token.text.partition(":")[0]
        if token.kind == PNAME and prefix not in known:
            found.setdefault(prefix, token.text)
    return found
