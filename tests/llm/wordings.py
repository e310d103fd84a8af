"""Reads `corpus_wordings.txt`: freer wordings, half of them for development, half held out."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from rlm.llm.offline.asked import Asked

TEXT = Path(__file__).with_name("corpus_wordings.txt").read_text(encoding="utf-8")

MENDED = frozenset((
    "whats the prefix situation in here",
    "show @prefix declarations",
    "looking for the definition of skos:Concept",
    "list every class that Barge inherits from, directly or not",
    "what can I say about a Ship using properties of this ontology",
    'find stuff about "pilotage" by name',
    "what is the longest path in the hierarchy",
    "what's the license",
    "subproperties of prov:wasInfluencedBy",
))  # fmt: skip
"""Read wrongly when they were held out, and put right since: they prove nothing of wordings that
are new."""


class Wording(NamedTuple):
    question: str
    kind: str
    fits: tuple[Asked | None, ...]
    """What it may be read as: one, seldom two. The wanted kind of term counts in a search only."""

    @property
    def held_out(self) -> bool:
        return bool(crc32(self.question.encode()) & 1) and self.question not in MENDED

    def verdict(self, found: Asked | None) -> str:
        """right, wrong (another question would be answered), or none (not understood)."""
        if found is not None and found.kind != "search" and found.of != "search":
            found = Asked(
                found.kind, found.mentions, found.of, found.text, found.where, "", found.inherited
            )
        if found in self.fits:
            return "right"
        return "none" if found is None else "wrong"


def _read(line: str, kind: str) -> Wording:
    question, names, more, *_ = *(part.strip() for part in line.split("|")), "", ""
    given: dict[str, str] = dict(part.split("=") for part in more.split(", ") if part)
    kinds, ofs = given.get("kind", kind).split("/"), given.get("of", "").split("/")
    mentions = tuple(name for name in names.split("; ") if name)
    where, what, inherited = (
        given.get("where", "contains"),
        given.get("what", ""),
        "inherited" in given,
    )
    fits = tuple(
        None
        if one == "none"
        else Asked(one, mentions, of, given.get("text", ""), where, what, inherited)
        for one, of in product(kinds, ofs)
    )
    return Wording(question, kind, fits)


def wordings() -> list[Wording]:
    made, kind = [], ""
    for line in TEXT.splitlines():
        if line.startswith("["):
            kind = line.strip("[]")
        elif line and not line.startswith("#"):
            made.append(_read(line, kind))
    return made
