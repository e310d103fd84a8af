"""How people write the names of terms: label, local name, CURIE, plural, alternative label, with a
slip of the keys.

A way of writing is only taken when it can mean one term: no other term of the graph has that name,
and for a slip no other has one nearly as close. What has a name is read from the engine, not from
what the planner is told.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from rlm.ontology import vocabulary as v
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.labels import is_opaque, plain, squeeze
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.terms import is_machinery, local_name
from rlm.ontology.views.search import distance

MOST_ROWS = 10_000
SLIP_LENGTH = 7
WAYS = ("label", "local name", "curie", "plural", "alternative", "typo")
LABELS = " ".join(f"<{iri}>" for iri in v.LABELS)
ALTERNATIVES = " ".join(f"<{iri}>" for iri in v.ALTERNATIVES)
CLASS_TYPES = f"<{v.OWL}Class> <{v.RDFS}Class>"
PROPERTY_TYPES = " ".join(f"<{iri}>" for iri in sorted(v.PROPERTY_KINDS))
_PLAIN_NAME = re.compile(r"[^\W_][\w' -]*")
_WORDS = re.compile(r"[A-Za-z]{3,}")


@dataclass
class Term:
    """A named term: what it is, and what it is called."""

    iri: str
    what: str  # class | property | individual
    labels: list[str] = field(default_factory=list)
    alternatives: list[str] = field(default_factory=list)

    @property
    def local(self) -> str:
        return local_name(self.iri)

    def names(self) -> list[str]:
        return [*self.labels, *self.alternatives, self.local]


class Terms:
    """All of them, by IRI, and who has which name."""

    def __init__(self, engine: Engine, meta: GraphMeta) -> None:
        self.meta = meta
        self.all: dict[str, Term] = {}
        machinery = self._is_about_machinery(engine)
        typed = "VALUES ?t {{ {types} }} ?x a ?t FILTER(isIRI(?x))"
        self._add(engine, typed.format(types=CLASS_TYPES), "class", machinery)
        self._add(engine, typed.format(types=PROPERTY_TYPES), "property", machinery)
        kinds = ", ".join(f"<{iri}>" for iri in sorted(v.META_TYPES))
        things = f"?x a ?t FILTER(isIRI(?x) && isIRI(?t) && ?t NOT IN ({kinds}))"
        self._add(engine, f"{things} FILTER NOT EXISTS {{ ?x a owl:Ontology }}", "individual", True)
        for predicates, place in ((LABELS, "labels"), (ALTERNATIVES, "alternatives")):
            for row in engine.query(
                f"SELECT DISTINCT ?x ?l WHERE {{ VALUES ?p {{ {predicates} }} ?x ?p ?l"
                " FILTER(isLiteral(?l)) }",
                limit=MOST_ROWS,
            ).rows:
                term = self.all.get(row["x"]["v"])
                if term is not None and row["l"].get("lang", "").split("-")[0] in ("", "en"):
                    getattr(term, place).append(row["l"]["v"])
        self._owners: dict[str, set[str]] = {}
        for term in self.all.values():
            term.labels.sort(key=lambda text: (len(text), text))
            term.alternatives.sort()
            for name in {squeeze(name) for name in term.names()}:
                self._owners.setdefault(name, set()).add(term.iri)
        for iri in (
            *meta.classes,
            *meta.properties,
        ):  # used and not declared: nobody is asked about these, but a name
            if iri not in self.all and not is_machinery(
                iri
            ):  # that one of them has too is no name of another
                self._owners.setdefault(squeeze(local_name(iri)), set()).add(iri)

    def of(self, what: str) -> list[Term]:
        return [term for iri, term in sorted(self.all.items()) if term.what == what]

    def named(self, text: str) -> bool:
        """Whether some term is called so, or nearly so, or has this in its name."""
        wanted = squeeze(text)
        return any(wanted in name or distance(wanted, name, 2) <= 2 for name in self._owners)

    def written(
        self, term: Term, rng: random.Random, *, alone: bool = False
    ) -> tuple[str, str] | None:
        """A way to write the term, and its text; None when every way could mean another term too.

        `alone`: no term of any sort may share the name; else none of the same sort.
        """
        foreign = term.iri not in self.all and is_machinery(
            term.iri
        )  # nobody says "instances of a Class"
        for way in ("curie",) if foreign else rng.sample(WAYS, len(WAYS)):
            text = self._text(term, way, rng)
            if text is not None and (
                way == "curie" or self._means(text, term, alone=alone, slip=way == "typo")
            ):
                bare = way == "curie" or (
                    _PLAIN_NAME.fullmatch(text) and (term.what == "class" or " " not in text)
                )
                return (
                    way,
                    text if bare else f'"{text}"',
                )  # "is part of" in a sentence would be read as one
        return None

    def _text(self, term: Term, way: str, rng: random.Random) -> str | None:
        label = next((text for text in term.labels if _sayable(text)), None)
        if way == "label":
            return label
        if way == "local name":
            return term.local if _sayable(term.local) else None
        if way == "curie":
            return self.meta.curie(term.iri)
        if way == "alternative":
            said = [text for text in term.alternatives if _sayable(text)]
            return rng.choice(said) if said else None
        name = label or (None if is_opaque(term.local) else term.local)
        if name is None or not _sayable(name):
            return None
        if way == "plural":
            return _plural(name) if term.what == "class" else None
        return _slip(name, rng)

    def _means(self, text: str, term: Term, *, alone: bool, slip: bool) -> bool:
        known = {iri: each.what for iri, each in self.all.items()} | {
            iri: "class" if iri in self.meta.classes else "property"
            for iri in (*self.meta.classes, *self.meta.properties)
            if iri not in self.all
        }
        used = (
            self.meta.classes if term.what == "class" else {}
        )  # things that are used as classes, too
        others = {
            iri
            for iri, what in known.items()
            if iri != term.iri and (alone or what == term.what or iri in used)
        }
        wanted = squeeze(text)
        if not slip:
            return not self._owners.get(wanted, set()) & others
        mine = min(distance(wanted, squeeze(name), 4) for name in term.names())
        if mine == 0:
            return False
        return not any(
            owners & others and distance(wanted, name, mine + 1) <= mine + 1
            for name, owners in self._owners.items()
        )

    def _add(self, engine: Engine, pattern: str, what: str, machinery: bool) -> None:
        for row in engine.query(f"SELECT DISTINCT ?x WHERE {{ {pattern} }}", limit=MOST_ROWS).rows:
            iri = row["x"]["v"]
            if iri not in self.all and (machinery or not is_machinery(iri)):
                self.all[iri] = Term(iri, what)

    @staticmethod
    def _is_about_machinery(engine: Engine) -> bool:
        """Whether the file is the vocabulary of RDF or OWL: then it is about its own terms."""
        query = (
            f"SELECT (COUNT(DISTINCT ?x) AS ?n) WHERE {{ VALUES ?t {{ {CLASS_TYPES} }} ?x a ?t "
            f'FILTER(isIRI(?x) && !STRSTARTS(STR(?x), "{v.RDFS}") && !STRSTARTS(STR(?x),'
            f' "{v.OWL}")) }}'
        )
        return int(engine.query(query).rows[0]["n"]["v"]) == 0


def words_of(terms: Iterable[Term]) -> list[str]:
    """The words that names are made of, each once, in order."""
    found = {
        word.lower()
        for term in terms
        for name in term.names()
        for word in _WORDS.findall(plain(name))
    }
    return sorted(word for word in found if len(word) > 3)


def _sayable(text: str) -> bool:
    return 2 < len(text) <= 60 and not re.search(r'["\n<>{}`|\\?%]', text) and text == text.strip()


def _plural(name: str) -> str | None:
    if not name[-1].isalpha() or name[-1] in "sS" or len(name) < 4 or not name.isascii():
        return None
    if name[-1] == "y" and name[-2] not in "aeiou":
        return name[:-1] + "ies"
    return name + ("es" if name.endswith(("x", "ch", "sh", "z")) else "s")


def _slip(name: str, rng: random.Random) -> str | None:
    """One letter lost, or two neighbours swapped, inside a word of more than six letters."""
    places = [match for match in re.finditer(r"[A-Za-z]+", name) if len(match[0]) >= SLIP_LENGTH]
    if not places:
        return None
    word = rng.choice(places)
    at = rng.randrange(word.start() + 2, word.end() - 2)
    if (
        name[at] != name[at + 1]
        and name[at].islower()
        and name[at + 1].islower()
        and rng.random() < 0.5
    ):
        return name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    return name[:at] + name[at + 1 :]
