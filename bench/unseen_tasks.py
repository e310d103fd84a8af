"""Questions of every kind for any ontology, drawn by a seed, each with the query that tells the
right answer.

The queries follow the meaning of words in docs/curricula/README.md and are not how a planner would
ask. What a file cannot be asked, for it has no instances or no two levels of classes, is said.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from bench.unseen_names import (
    ALTERNATIVES,
    CLASS_TYPES,
    LABELS,
    PROPERTY_TYPES,
    Term,
    Terms,
    words_of,
)
from bench.unseen_words import COUNTS, STRANGERS, TEMPLATES
from rlm.learning.verify import Verify
from rlm.ontology import vocabulary as v
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.terms import is_machinery
from rlm.packs.curriculum import Task

MOST_LISTED = 60
TRIED = 60
MOST_FOUND = 25
KINDS = (*TEMPLATES, "count")
Made = Iterator[tuple[str, Verify, str]]  # question, query, the way its term is written
_NOT_TAKEN = ", ".join(
    f"<{iri}>" for iri in sorted(v.META_TYPES | v.TOPS | {v.NAMED_INDIVIDUAL, v.RDF + "nil"})
)


@dataclass
class Maker:
    """Makes the questions. `skipped` says which kinds this ontology cannot be asked, and why."""

    engine: Engine
    meta: GraphMeta
    per_kind: int = 3
    seed: int = 1
    skipped: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.terms = Terms(self.engine, self.meta)
        self.classes = self.terms.of("class")

    def tasks(self) -> list[Task]:
        found: list[Task] = []
        for kind in KINDS:
            # A text seeds the same in every Python; with the size in it each ontology gets wordings
            # of its own.
            self.rng = random.Random(f"{self.seed}:{kind}:{self.meta.triple_count}")
            made = self._some(getattr(self, f"_{kind}")())
            for number, (query, verify, way) in enumerate(made, 1):
                name = f"{kind.replace('_', '-')}-{number:02d}"
                found.append(Task(name, query, (kind, way) if way else (kind,), verify))
            if not made:
                self.skipped.setdefault(kind, "nothing to ask about")
        return found

    def _some(self, made: Made) -> list[tuple[str, Verify, str]]:
        """As many as wanted, no question twice. What is not wanted is not made."""
        found: dict[str, tuple[str, Verify, str]] = {}
        for each in made:
            found.setdefault(each[0], each)
            if len(found) >= self.per_kind:
                break
        return list(found.values())

    # -- pieces -----------------------------------------------------------------------------------

    def _ask(self, sparql: str, limit: int = 2000) -> list[str]:
        rows = self.engine.query(sparql, limit=limit).rows
        return [term["v"] for row in rows for term in row.values()]

    def _wordings(self, kind: str) -> Iterator[str]:
        """The wordings in a drawn order, again and again."""
        while True:
            yield from self.rng.sample(TEMPLATES[kind], len(TEMPLATES[kind]))

    def _shuffled(self, terms: Sequence[Term]) -> list[Term]:
        return self.rng.sample(terms, min(len(terms), TRIED * 10))

    def _about(
        self, kind: str, pattern: str, terms: Sequence[Term], good: Callable[[list[str]], bool]
    ) -> Made:
        """Questions about one term each, whose answers are what `pattern` finds."""
        made, tried = 0, 0
        wordings = self._wordings(kind)
        for term in self._shuffled(terms):
            if made >= self.per_kind or tried >= TRIED * 4:
                return
            sparql = (
                f"SELECT DISTINCT ?a WHERE {{ {pattern.format(x=f'<{term.iri}>')}"
                " FILTER(isIRI(?a)) }"
            )
            tried += 1
            values = self._ask(sparql)
            if not 0 < len(values) <= MOST_LISTED or not good(values):
                continue
            written = self.terms.written(term, self.rng)
            if written is not None:
                made += 1
                yield next(wordings).format(x=written[1]), Verify(sparql, "set"), written[0]

    # -- kinds ------------------------------------------------------------------------------------

    def _namespaces(self) -> Made:
        used = [
            space
            for space in dict.fromkeys(self.meta.namespaces.values())
            if any(term.iri.startswith(space) for term in self.terms.all.values())
        ]
        if not used:
            self.skipped["namespaces"] = "no prefix is bound for its terms"
            return
        values = " ".join(f"<{space}>" for space in used)
        for wording in self.rng.sample(TEMPLATES["namespaces"], len(TEMPLATES["namespaces"])):
            yield (
                wording,
                Verify(f"SELECT ?ns WHERE {{ VALUES ?ns {{ {values} }} }}", "contains_all"),
                "",
            )

    def _describe(self) -> Made:
        wordings = self._wordings("describe")
        groups = [
            self._shuffled(self.terms.of(what)) for what in ("class", "property", "individual")
        ]
        for row in range(TRIED):
            for group in groups:
                written = (
                    self.terms.written(group[row], self.rng, alone=True)
                    if row < len(group)
                    else None
                )
                if written is None:
                    continue
                wording, iri = next(wordings), f"<{group[row].iri}>"
                more = ""
                if wording.startswith(("Describe", "Tell")):
                    place = (
                        "rdfs:subClassOf"
                        if group[row].what == "class"
                        else "rdfs:domain|rdfs:range"
                    )
                    more = (
                        f" UNION {{ {iri} {place} ?x FILTER(isIRI(?x) && ?x NOT IN"
                        f" ({_NOT_TAKEN})) }}"
                    )
                sparql = f"SELECT DISTINCT ?x WHERE {{ {{ VALUES ?x {{ {iri} }} }}{more} }}"
                yield wording.format(x=written[1]), Verify(sparql, "contains_all"), written[0]

    def _subclasses(self) -> Made:
        return self._about(
            "subclasses", "?a rdfs:subClassOf {x} FILTER(?a != {x})", self.classes, bool
        )

    def _all_subclasses(self) -> Made:
        pattern = "?a rdfs:subClassOf+ {x} FILTER(?a != {x})"
        return self._about("all_subclasses", pattern, self.classes, lambda found: len(found) > 1)

    def _superclasses(self) -> Made:
        pattern = "{x} rdfs:subClassOf ?a FILTER(?a != {x})"
        return self._about(
            "superclasses", pattern, self.classes, lambda found: not v.TOPS & set(found)
        )

    def _all_superclasses(self) -> Made:
        pattern = "{x} rdfs:subClassOf+ ?a FILTER(?a != {x})"
        return self._about(
            "all_superclasses",
            pattern,
            self.classes,
            lambda found: len(found) > 1 and not v.TOPS & set(found),
        )

    def _properties_by_domain(self) -> Made:
        ends = self._ends("domain")
        return self._about("properties_by_domain", "?a rdfs:domain {x}", ends, bool)

    def _properties_by_range(self) -> Made:
        ends = self._ends("range")
        return self._about("properties_by_range", "?a rdfs:range {x}", ends, bool)

    def _ends(self, side: str) -> list[Term]:
        stated = set(
            self._ask(f"SELECT DISTINCT ?x WHERE {{ ?p rdfs:{side} ?x FILTER(isIRI(?x)) }}")
        )
        return [term for term in self.classes if term.iri in stated]

    def _instances(self) -> Made:
        return self._about("instances", "?a a {x}", self._typed(), bool)

    def _typed(self) -> list[Term]:
        """The classes that have instances, declared or not; sorts of properties where there are
        none."""
        types = self._ask("SELECT DISTINCT ?t WHERE { ?x a ?t FILTER(isIRI(?x) && isIRI(?t)) }")
        own = [iri for iri in types if not is_machinery(iri)]
        other = [
            iri for iri in types if iri != v.OWL + "Ontology"
        ]  # what a file is called is no term
        return [self.terms.all.get(iri) or Term(iri, "class") for iri in sorted(own or other)]

    def _roots(self) -> Made:
        sparql = (
            f"SELECT DISTINCT ?c WHERE {{ VALUES ?t {{ {CLASS_TYPES} }} ?c a ?t FILTER(isIRI(?c) &&"
            " ?c NOT IN (owl:Thing, owl:Nothing)) FILTER NOT EXISTS { ?c rdfs:subClassOf ?d"
            " FILTER(isIRI(?d) && ?d != owl:Thing && ?d != ?c) } }"
        )
        roots = self._ask(sparql)
        if not 0 < len(roots) <= MOST_LISTED * 2:
            self.skipped["roots"] = f"{len(roots):,} classes have no superclass"
            return
        for wording in self.rng.sample(TEMPLATES["roots"], len(TEMPLATES["roots"])):
            yield wording, Verify(sparql, "set"), ""

    def _search(self) -> Made:
        """Pieces of names that two or more terms have; of one only where there are no others."""
        wordings = self._wordings("search")
        words = words_of(self.terms.all.values())
        alone = []
        for text in self.rng.sample(words, min(len(words), TRIED)):
            wording = next(wordings)
            what = self.rng.choice(("classes", "properties")) if "{w}" in wording else ""
            sparql = _search_query(text, what)
            found = self._ask(sparql)
            if (
                0 < len(found) <= MOST_FOUND
                and set(found) <= self.terms.all.keys()
                and not self._undeclared(text)
            ):
                made = wording.format(t=text, w=what), Verify(sparql, "set"), ""
                if len(found) > 1:
                    yield made
                else:
                    alone.append(made)
        yield from alone

    def _undeclared(self, text: str) -> bool:
        """Whether something is called so that has no type: whether it is a term can be seen both
        ways."""
        named = f"VALUES ?p {{ {LABELS} {ALTERNATIVES} }} ?x ?p ?n FILTER NOT EXISTS {{ ?x a ?t }}"
        sparql = f'ASK {{ {named} FILTER(isIRI(?x) && CONTAINS(LCASE(STR(?n)), "{text}")) }}'
        return bool(self.engine.query(sparql).boolean)

    def _path(self) -> Made:
        """Pairs at a distance of two statements with one node between them."""
        wordings = self._wordings("path")
        tried = 0
        for start in self._shuffled(
            [term for term in self.terms.all.values() if term.what != "property"]
        ):
            ends = self._ask(
                f"SELECT DISTINCT ?y WHERE {{ {_steps(f'<{start.iri}>', '?y')} FILTER(isIRI(?y)) }}"
                " ORDER BY ?y",
                200,
            )
            known = [
                self.terms.all[iri] for iri in ends if iri in self.terms.all and iri != start.iri
            ]
            for end in self.rng.sample(known, min(3, len(known))):
                tried += 1
                if tried > TRIED:
                    return
                sparql = (
                    f"SELECT DISTINCT ?m WHERE {{ {_steps(f'<{start.iri}>', f'<{end.iri}>')} }}"
                )
                between = self.engine.query(sparql).rows
                near = (
                    f"ASK {{ {{ <{start.iri}> ?p <{end.iri}> }} UNION {{ <{end.iri}> ?p"
                    f" <{start.iri}> }} }}"
                )
                if (
                    len(between) != 1
                    or between[0]["m"]["t"] != "iri"
                    or self.engine.query(near).boolean
                ):
                    continue
                both = [self.terms.written(term, self.rng, alone=True) for term in (start, end)]
                if end.what != "property" and both[0] and both[1]:
                    way = f"{both[0][0]}, {both[1][0]}"
                    query = next(wordings).format(x=both[0][1], y=both[1][1])
                    yield query, Verify(sparql, "contains_all"), way
                    break

    def _count(self) -> Made:
        plain_counts = {
            "classes": f"VALUES ?t {{ {CLASS_TYPES} }} ?x a ?t FILTER(isIRI(?x))",
            "object": "?x a owl:ObjectProperty FILTER(isIRI(?x))",
            "datatype": "?x a owl:DatatypeProperty FILTER(isIRI(?x))",
            "triples": "?s ?p ?o",
        }
        of_one = {
            "subclasses": "?x rdfs:subClassOf {x} FILTER(isIRI(?x) && ?x != {x})",
            "descendants": "?x rdfs:subClassOf+ {x} FILTER(isIRI(?x) && ?x != {x})",
            "instances": "?x a {x} FILTER(isIRI(?x))",
            "domain": "?x rdfs:domain {x} FILTER(isIRI(?x))",
        }
        typed = self._typed()
        for what in self.rng.sample(sorted(COUNTS), len(COUNTS)):
            for term in self._shuffled(
                typed if what in (*plain_counts, "instances") else self.classes
            )[:TRIED]:
                pattern = plain_counts.get(what) or of_one[what].format(x=f"<{term.iri}>")
                counted = "*" if what == "triples" else "DISTINCT ?x"
                sparql = f"SELECT (COUNT({counted}) AS ?n) WHERE {{ {pattern} }}"
                written = self.terms.written(term, self.rng)
                if self._ask(sparql) != ["0"] and (what in plain_counts or written):
                    way, name = written if written and what in of_one else ("", "")
                    yield self.rng.choice(COUNTS[what]).format(x=name), Verify(sparql, "count"), way
                    break

    def _absent(self) -> Made:
        """Words that nothing here is called; every third as a sort of something that is there:
        `Submarine Vessel`."""
        free = [name for name in STRANGERS if not self.terms.named(name)]
        labels = [
            term.labels[0] for term in self.classes if term.labels and term.labels[0].isalpha()
        ]
        wordings = self.rng.sample(TEMPLATES["absent"], len(TEMPLATES["absent"]))
        for number, name in enumerate(self.rng.sample(free, min(len(free), len(wordings)))):
            asked = f"{name} {self.rng.choice(labels)}" if number % 3 == 2 and labels else name
            sparql = (
                f'SELECT ?x WHERE {{ ?x ?p ?o FILTER(CONTAINS(LCASE(STR(?x)), "{name.lower()}")) }}'
            )
            yield wordings[number].format(x=asked), Verify(sparql, "absent"), ""


def _search_query(text: str, what: str) -> str:
    types = {"classes": CLASS_TYPES, "properties": PROPERTY_TYPES}.get(what, "")
    kind = f"VALUES ?t {{ {types} }} ?x a ?t . " if types else "?x a ?t . "
    named = f"VALUES ?p {{ {LABELS} {ALTERNATIVES} }} ?x ?p ?n"
    return (
        f"SELECT DISTINCT ?x WHERE {{ {kind}FILTER(isIRI(?x) && ?t != rdfs:Datatype) "
        "FILTER NOT EXISTS { ?x a owl:Ontology } "
        f'OPTIONAL {{ {named} FILTER(CONTAINS(LCASE(STR(?n)), "{text}")) }} '
        f'FILTER(BOUND(?n) || CONTAINS(LCASE(REPLACE(STR(?x), "^.*[/#]", "")), "{text}")) }}'
    )


def _steps(start: str, end: str) -> str:
    """Two statements from start to end over ?m, in any directions; the ways that say nothing are
    not taken."""
    parts = []
    for one in (f"{start} ?p ?m", f"?m ?p {start}"):
        for two in (f"?m ?q {end}", f"{end} ?q ?m"):
            parts.append(f"{{ {one} . {two} }}")
    return (
        f"{' UNION '.join(parts)} FILTER(!isLiteral(?m) && ?m NOT IN ({_NOT_TAKEN}, {start}) && ?m"
        f" != {end} && ?p != rdfs:isDefinedBy && ?q != rdfs:isDefinedBy && !(?p = rdf:type && ?q ="
        " rdf:type))"
    )


def make_tasks(engine: Engine, meta: GraphMeta, per_kind: int = 3, seed: int = 1) -> list[Task]:
    """Questions of every kind that this ontology can be asked."""
    return Maker(engine, meta, per_kind, seed).tasks()
