"""Which prefixes to use for a graph: the file's own, what a vocabulary recommends, the well-known,
else made up.

A store keeps no prefixes, and N-Triples never had any; without names for the namespaces in use
every answer would be full of long IRIs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from urllib.parse import urlsplit

from rlm.errors import OntologyError
from rlm.ontology.query.guard import Checked
from rlm.ontology.query.lexer import PNAME
from rlm.ontology.terms import WELL_KNOWN, Prefixes
from rlm.ontology.vocabulary import namespace

NAMED = 24
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,15}")
_SPACE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\\x7f-\x9f\ud800-\udfff]*")
_VERSION = re.compile(
    r"(?:v?\d[\d.]*|ns|core|terms|vocab|vocabulary|ontology|onto|owl|data|resource|id|schema)$"
)


def name_namespaces(
    own: Mapping[str, str], preferred: Mapping[str, str], iris: Iterable[str]
) -> dict[str, str]:
    """Prefix → namespace: all of the file's own, then the most used of the others, each once."""
    found = {prefix: space for prefix, space in own.items() if space}
    known = {space: prefix for prefix, space in reversed(WELL_KNOWN.items())}
    known |= {space: prefix for prefix, space in preferred.items() if _PREFIX.fullmatch(prefix)}
    counted = Counter(space for iri in iris if (space := namespace(iri)))
    for space, uses in sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:NAMED]:
        named = any(prefix and bound == space for prefix, bound in found.items())
        if not named and space in known:
            found[_free(known[space], found)] = space
        elif (
            not named and uses > 1
        ):  # a name that is made up is none that queries take for something else, as rdf
            found[_free(_made_up(space), {**WELL_KNOWN, **found})] = space
    return dict(
        sorted(found.items(), key=lambda item: (not item[0], item))
    )  # ":" last: a real name is preferred


def _made_up(space: str) -> str:
    """The last telling part of the path, else of the host: http://example.org/shop# → shop."""
    parts = urlsplit(space)
    for piece in [piece for piece in reversed(parts.path.split("/")) if piece]:
        name = re.sub(r"\.\w+$", "", piece).lower()
        if _PREFIX.fullmatch(name) and not _VERSION.match(name):
            return name
    hosts = [piece for piece in parts.netloc.split(":")[0].split(".")[:-1] if piece != "www"]
    return hosts[-1].lower() if hosts and _PREFIX.fullmatch(hosts[-1]) else "ns"


def _free(prefix: str, taken: Mapping[str, str]) -> str:
    names = (prefix, *(f"{prefix}{number}" for number in range(1, len(taken) + 2)))
    return next(name for name in names if name not in taken)


# -- in a query


def declarations(checked: Checked, prefixes: Mapping[str, str]) -> str:
    """PREFIX lines for what a query uses and does not declare, as far as it is known and can stand
    in a query."""
    spaces = {name: prefixes.get(name, "") for name in _undeclared(checked)}
    return "".join(
        f"PREFIX {name}: <{space}>\n" for name, space in spaces.items() if _SPACE.fullmatch(space)
    )


def unbound(checked: Checked, prefixes: Prefixes) -> str:
    """What to say of the first prefix that is neither declared nor known; empty when there is none."""
    for name in _undeclared(checked).values():
        try:
            prefixes.expand(name)
        except OntologyError as exc:
            return str(exc)
    return ""


def _undeclared(checked: Checked) -> dict[str, str]:
    """Prefix → the first name that has it."""
    known = {
        name.text.partition(":")[0]
        for word, name in pairwise(checked.tokens)
        if word.upper == "PREFIX"
    }
    found: dict[str, str] = {}
    for token in checked.tokens:
        prefix = token.text.partition(":")[0]
        if token.kind == PNAME and prefix not in known:
            found.setdefault(prefix, token.text)
    return found
