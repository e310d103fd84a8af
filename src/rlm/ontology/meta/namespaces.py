"""Which prefixes to use for a graph: the file's own, a vocabulary's, the well-known, else made up.

A store keeps no prefixes, and N-Triples never had any; without names for the namespaces in use
every answer would be full of long IRIs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from rlm.ontology.terms import WELL_KNOWN
from rlm.ontology.vocabulary import namespace

NAMED = 24
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,15}")
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
        if any(prefix and bound == space for prefix, bound in found.items()):
            continue
        if space in known:
            found[_free(known[space], found)] = space
        elif uses > 1:  # no prefix that queries take for something else, as rdf
            found[_free(_made_up(space), {**WELL_KNOWN, **found})] = space
    # ":" comes last: a real name is preferred
    return dict(sorted(found.items(), key=lambda item: (not item[0], item)))


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
