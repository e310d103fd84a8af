"""What is wrong or missing in an ontology: findings by rule, and as SARIF for CI.

Only the file's own terms are judged: those of its largest namespace, of every namespace that an
owl:Ontology of the file is named after, and of others that hold a tenth of what it declares and are
described, unless they are imported or well known. In OBO's namespace, which many share, GO_ and
CHEBI_ are two, and the larger one is the file's own. A term of another vocabulary has its label
elsewhere; `not_judged` counts these by namespace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from rlm._version import __version__
from rlm.errors import QueryTimeout
from rlm.ontology import vocabulary as v
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.labels import cut
from rlm.ontology.meta.class_graph import reach_all
from rlm.ontology.meta.cycles import find_cycles
from rlm.ontology.meta.graph_meta import NONE, GraphMeta
from rlm.ontology.terms import WELL_KNOWN, Term, is_machinery, namespace
from rlm.ontology.views.expressions import INSIDE
from rlm.ontology.views.links import batch_iris
from rlm.ontology.views.listing import Window, one_of
from rlm.ontology.views.statements import types_of_each

LEVELS = ("error", "warning", "note")
OWN_SHARE = 0.1
"""A namespace with so large a share of the declared terms is the file's own."""
COMMON_SHARE = 0.5
"""A language that so many of the labelled terms have is expected of all."""
LABELS_HELD = 40
"""GraphMeta holds so many labels of a term: where there are more, none can be called missing."""
_OF_OBO = (v.OIO, f"{v.OBO}IAO_")
_EQUAL = v.OWL + "equivalentClass"
SHOWN = 5
ROWS = 10_000
_USES = (v.SUB_CLASS, v.SUB_PROPERTY, v.DOMAIN, v.RANGE, v.TYPE, v.RDF + "first")
_OWL_USES = (
    *("disjointWith", "inverseOf", "onProperty", "someValuesFrom", "allValuesFrom", "onClass"),
    "complementOf",
)  # an equivalent of a deprecated term is its other name, no use of it
_KINDS = ("Class", "Property")
USES = (*_USES, *(v.OWL + name for name in _OWL_USES))


class Rule(NamedTuple):
    name: str
    level: str
    doc: str


RULES = (
    Rule("cycle", "error", "A class or property stands below itself."),
    Rule(
        "unsatisfiable", "error", "Nothing can be of a class, or a thing is of two disjoint ones."
    ),
    Rule("empty-domain", "error", "Nothing can be in the domain or range of a property."),
    Rule("deprecated-used", "warning", "A deprecated term is still in use."),
    Rule("undeclared", "warning", "A term is used as a class or property, but not declared."),
    Rule("missing-label", "warning", "A term has no label."),
    Rule("duplicate-label", "warning", "Two terms of one kind and namespace have the same label."),
    Rule("missing-definition", "note", "A term has neither a definition nor a comment."),
    Rule("language-gap", "note", "A term has no label in a language that most terms have."),
)


class Finding(NamedTuple):
    rule: str
    iri: str
    message: str


def lint(
    engine: Engine, meta: GraphMeta, window: Window, *, rule: str | None = None
) -> dict[str, Any]:
    """Every finding, the gravest first, with numbers by rule and by level."""
    if rule is not None:
        one_of(rule, (each.name for each in RULES), "rule")
    levels = {each.name: each.level for each in RULES}
    linter = Linter(engine, meta)
    found = [each for each in linter.findings() if rule in (None, each.rule)]
    by_rule = Counter(each.rule for each in found)
    by_level = Counter(levels[each.rule] for each in found)

    def show(finding: Finding) -> dict[str, Any]:
        named = {"term": meta.curie(finding.iri), "message": finding.message}
        return {"rule": finding.rule, "level": levels[finding.rule], **named}

    head = {
        "by_rule": {each.name: by_rule[each.name] for each in RULES if by_rule[each.name]},
        "levels": {level: by_level[level] for level in LEVELS if by_level[level]},
        "judged": linter.judged,
        "not_judged": linter.not_judged(),
    }
    return window.page(found, show, **head)


class Linter:
    """The rules over one graph."""

    def __init__(self, engine: Engine, meta: GraphMeta) -> None:
        self._engine, self._meta = engine, meta
        self._below: dict[str, set[str]] = {}

    def findings(self) -> list[Finding]:
        """In the order of RULES, then by term."""
        rules: dict[str, Callable[[], Iterator[Finding]]] = {
            "cycle": self._cycles,
            "unsatisfiable": self._unsatisfiable,
            "empty-domain": self._empty_domains,
            "deprecated-used": self._deprecated_used,
            "undeclared": self._undeclared,
            "missing-label": self._missing_labels,
            "duplicate-label": self._duplicate_labels,
            "missing-definition": self._missing_definitions,
            "language-gap": self._language_gaps,
        }
        return [finding for rule in RULES for finding in sorted(rules[rule.name]())]

    # -- which terms are judged

    @cached_property
    def _spaces(self) -> set[str]:
        """The largest namespace, those of the file's ontologies (obo/PATO_ of obo/pato.owl), and
        any other with its share of which the file says what most terms are. Terms of imports and
        of well-known vocabularies are only referred to; so is what every OBO file is converted
        with, which is more than a small one has of its own."""
        meta, declared = self._meta, self._declared
        counted = Counter(map(_space, declared)).most_common()
        said = Counter(_space(i) for i in declared if i in meta.labels or i in meta.comments)
        elsewhere = {iri.rstrip("#/") for iri in (*meta.missing_imports, *WELL_KNOWN.values())}
        modules = {iri.rstrip("#/") for iri in meta.ontology_iris}
        modules |= {f"{iri.removesuffix('.owl').lower()}_" for iri in modules}
        counted.sort(key=lambda each: each[0] in _OF_OBO and each[0].lower() not in modules)
        others = {
            space
            for space, n in counted[1:]
            if space.rstrip("#/") not in elsewhere
            and (
                (space.lower() if space.endswith("_") else space.rstrip("#/")) in modules
                or (
                    (n >= OWN_SHARE * len(declared) and 2 * said[space] >= n)
                    and not space.startswith(v.OBO)
                )
            )
        }
        return others.union(space for space, _ in counted[:1])

    @cached_property
    def _declared(self) -> list[str]:
        terms = self._meta.all_declared
        return sorted(iri for iri in terms if not is_machinery(iri))

    def not_judged(self) -> dict[str, int]:
        """Namespace → how many declared terms of it are not the file's own, the most first."""
        spaces = Counter(
            space for space in map(_space, self._declared) if space not in self._spaces
        )
        found = sorted(spaces.items(), key=lambda each: (-each[1], each[0]))
        return {_short(self._meta, space): n for space, n in found}

    @property
    def judged(self) -> int:
        """How many terms are the file's own; concepts and other things are not looked at."""
        return len(self._own)

    @cached_property
    def _own(self) -> list[str]:
        """The declared terms that are the file's own and still in use."""
        deprecated = self._meta.deprecated
        return [i for i in self._declared if _space(i) in self._spaces and i not in deprecated]

    # -- rules

    def _cycles(self) -> Iterator[Finding]:
        meta = self._meta
        stated = {
            iri: set(tops - meta.defined_supers.get(iri, NONE)) for iri, tops in meta.supers.items()
        }
        properties = {iri: set(tops) for iri, tops in meta.super_properties.items()}
        for edges, what in ((stated, "subclass"), (properties, "subproperty")):
            for ring in find_cycles(edges):
                names = ", ".join(map(meta.curie, ring[:SHOWN])) + (
                    ", …" if len(ring) > SHOWN else ""
                )
                message = f"a cycle of {len(ring)} by {what}: {names}"
                yield Finding("cycle", ring[0], message)

    def _unsatisfiable(self) -> Iterator[Finding]:
        """By what is stated of the names; of what stands below such a class, the number."""
        meta, groups = self._meta, [*self._meta.disjoint_groups, *self._complements()]
        why, sides = dict[str, str](), dict[str, dict[int, str]]()
        for number, group in enumerate(groups):
            for one in group:
                for iri in self._with_all_below(one):
                    if (other := sides.setdefault(iri, {}).setdefault(number, one)) != one:
                        both = f"{meta.curie(other)} and {meta.curie(one)}"
                        why.setdefault(iri, f"it would be of {both}, which are disjoint")
        nothing = f"?x <{v.SUB_CLASS}>|<{_EQUAL}>|^<{_EQUAL}> <{v.OWL}Nothing> FILTER(isIRI(?x))"
        for row in self._rows(f"SELECT DISTINCT ?x WHERE {{ {nothing} }}"):
            for iri in self._with_all_below(row["x"]["v"]):
                why.setdefault(iri, "it is below owl:Nothing")
        yield from self._empty_classes(why)
        yield from self._things_of_both({i: on for i, on in sides.items() if i not in why})

    def _empty_classes(self, why: Mapping[str, str]) -> Iterator[Finding]:
        for iri in filter(lambda iri: not is_machinery(iri), why):
            below = set(self._meta.below(iri))
            if not any(top in why and top not in below for top in self._meta.above(iri)):
                more = f" (nor of {len(below)} below it)" if below else ""
                yield Finding("unsatisfiable", iri, f"nothing can be of it{more}: {why[iri]}")

    def _things_of_both(self, sides: Mapping[str, Mapping[int, str]]) -> Iterator[Finding]:
        """Named things of two classes on two sides of a group; `sides`: by the number of it."""
        held = (iri for iri in sorted(sides) if self._meta.classes.get(iri))
        for batch in batch_iris(held):
            where = f"VALUES ?a {{ {batch} }} ?s a ?a , ?b FILTER(isIRI(?s) && STR(?a) < STR(?b))"
            counted = "?a ?b (MIN(?s) AS ?x) (COUNT(DISTINCT ?s) AS ?n)"
            for row in self._rows(f"SELECT {counted} WHERE {{ {where} }} GROUP BY ?a ?b"):
                one, two = (sides.get(row[name]["v"], {}) for name in "ab")
                if any(two.get(number, side) != side for number, side in one.items()):
                    both = " and ".join(self._meta.curie(row[name]["v"]) for name in "ab")
                    rest = int(row["n"]["v"]) - 1
                    more = f"; so are {rest:,} more" if rest else ""
                    message = f"it is of {both}, which are disjoint{more}"
                    yield Finding("unsatisfiable", row["x"]["v"], message)

    def _complements(self) -> list[list[str]]:
        """Pairs of classes of which one is, or is below, what the other is not."""
        if v.OWL + "complementOf" not in self._meta.pred_freq:
            return []
        no = f"<{v.OWL}complementOf> ?y FILTER(isIRI(?x) && isIRI(?y)"
        leads = f"<{_EQUAL}>|^<{_EQUAL}>|<{v.SUB_CLASS}>"
        where = f"{{ ?x {no}) }} UNION {{ ?x {leads} ?e . ?e {no} && isBlank(?e)) }}"
        rows = self._rows(f"SELECT DISTINCT ?x ?y WHERE {{ {where} }}")
        return [[row["x"]["v"], row["y"]["v"]] for row in rows]

    def _with_all_below(self, iri: str) -> set[str]:
        if iri not in self._below:
            reach_all(iri, self._meta.equivalents, found := set[str]())
            self._below[iri] = found.union(self._meta.below(iri))
        return self._below[iri]

    def _empty_domains(self) -> Iterator[Finding]:
        meta = self._meta
        for side, ends, groups in (
            ("domain", meta.doms, meta.dom_groups),
            ("range", meta.rngs, meta.rng_groups),
        ):
            for prop, names in ends.items():
                if v.OWL + "Nothing" in names:
                    yield Finding("empty-domain", prop, f"its {side} is owl:Nothing")
                    continue
                needed = [group[0] for group in groups.get(prop, ()) if len(group) == 1]
                if clash := self._clash(needed):
                    both = " and ".join(map(meta.curie, clash))
                    message = f"its {side} is {both}, which are disjoint"
                    yield Finding("empty-domain", prop, message)

    def _clash(self, iris: list[str]) -> tuple[str, str] | None:
        for place, one in enumerate(iris):
            above = {one, *self._meta.above(one)}
            apart = {other for iri in above for other in self._meta.disjoint_with(iri)}
            for two in iris[place + 1 :]:
                if apart & {two, *self._meta.above(two)}:
                    return one, two
        return None

    def _deprecated_used(self) -> Iterator[Finding]:
        meta, uses = self._meta, dict[str, dict[str, None]]()
        for iri, said, user in self._uses_of_deprecated():
            if user not in meta.deprecated and user != iri:
                uses.setdefault(iri, {})[said] = None
        for iri in meta.deprecated:
            used = list(uses.get(iri, {}))
            if count := meta.pred_freq.get(iri, 0):
                used.append(f"predicate of {count:,} statements")
            if used:
                use = [meta.curie(each) for each in meta.replaced_by.get(iri, NONE)]
                instead = f"; use {', '.join(use)}" if use else ""
                yield Finding("deprecated-used", iri, f"deprecated, but {_some(used)}{instead}")

    def _uses_of_deprecated(self) -> Iterator[tuple[str, str, str]]:
        """The deprecated term, how it is used, and by which term; '' for an expression of none."""
        curie = self._meta.curie
        predicates = ", ".join(f"<{iri}>" for iri in USES)
        for batch in batch_iris(sorted(self._meta.deprecated)):
            where = f"VALUES ?d {{ {batch} }} ?s ?p ?d FILTER(?p IN ({predicates}))"
            users = self._rows(f"SELECT DISTINCT ?d ?p ?s WHERE {{ {where} }} ORDER BY ?d ?p ?s")
            for row in users:
                name, by, user = row["d"]["v"], curie(row["p"]["v"]), row["s"]["v"]
                if row["s"]["t"] == "iri":
                    yield name, f"{by} of {curie(user)}", user
                    continue
                for owner in self._owners_of_expressions.get(user, [""]):
                    whose = f" of {curie(owner)}" if owner else ""
                    yield name, f"{by} in an expression{whose}", owner

    @cached_property
    def _owners_of_expressions(self) -> dict[str, list[str]]:
        """Blank node with a deprecated term → the terms whose expressions it stands in; none where
        there are too many to look through. Read from the terms down, which passes each part once:
        upwards from 2,000 members of one list took 50 s."""
        inside, uses = "|".join(f"<{iri}>" for iri in INSIDE), ", ".join(f"<{iri}>" for iri in USES)
        tops = "SELECT DISTINCT ?o ?top WHERE { ?o ?q ?top FILTER(isIRI(?o) && isBlank(?top)) }"
        marks = (f"<{v.OWL}deprecated> ?mark", *(f"a <{v.OWL}Deprecated{kind}>" for kind in _KINDS))
        marked = " || ".join(f"EXISTS {{ ?d {mark} }}" for mark in marks)
        where = f"{{ {tops} }} ?top ({inside})* ?s . ?s ?p ?d"
        where += f" FILTER(isBlank(?s) && ?p IN ({uses}) && ({marked}))"
        found: dict[str, list[str]] = {}
        with suppress(QueryTimeout):
            for row in self._rows(f"SELECT DISTINCT ?s ?o WHERE {{ {where} }} ORDER BY ?o"):
                found.setdefault(row["s"]["v"], []).append(row["o"]["v"])
        return found

    def _rows(self, query: str) -> list[dict[str, Term]]:
        return self._engine.query(query, limit=ROWS).rows

    def _undeclared(self) -> Iterator[Finding]:
        meta = self._meta
        if not meta.declared and not meta.declared_properties:
            return  # data alone: its vocabulary is elsewhere
        classes = {iri for ends in meta.doms.values() for iri in ends} | meta.classes.keys()
        left_out = meta.all_declared | meta.deprecated
        for what, used in (("class", classes), ("property", meta.properties.keys())):
            own = [iri for iri in used if _space(iri) in self._spaces and iri not in left_out]
            types = types_of_each(self._engine, own)
            for iri in own:
                if not is_machinery(iri) and not any(map(self._declares, types.get(iri, ()))):
                    yield Finding("undeclared", iri, f"used as a {what}, but declared nowhere")

    def _declares(self, kind: str) -> bool:
        """Whether what has this type may be a class or property: the type is below one of OWL's,
        or of another vocabulary, which may say so."""
        foreign = _space(kind) not in self._spaces and kind not in self._meta.declared
        return foreign or not v.META_TYPES.isdisjoint((kind, *self._meta.above(kind)))

    def _missing_labels(self) -> Iterator[Finding]:
        for iri in self._own:
            if iri not in self._meta.labels:
                yield Finding("missing-label", iri, f"this {self._kind(iri)} has no label")

    def _missing_definitions(self) -> Iterator[Finding]:
        for iri in self._own:
            if iri not in self._meta.comments:
                message = f"this {self._kind(iri)} has neither a definition nor a comment"
                yield Finding("missing-definition", iri, message)

    def _duplicate_labels(self) -> Iterator[Finding]:
        meta, found = self._meta, dict[tuple[str, bool, str, str], dict[str, str]]()
        for iri in self._own:
            for text, lang in meta.labels.get(iri, ()):
                key = (_space(iri), iri in meta.classes, _fold(text), lang)
                found.setdefault(key, {}).setdefault(iri, text)
        for (_, _, _, lang), texts in found.items():
            if len(texts) > 1:
                first, *others = sorted(texts)
                tag = f"@{lang}" if lang else ""
                message = (
                    f'"{cut(texts[first], 80)}"{tag} is also the label of {_names(meta, others)}'
                )
                yield Finding("duplicate-label", first, message)

    def _language_gaps(self) -> Iterator[Finding]:
        labels = self._meta.labels
        spoken = {
            iri: {lang.split("-")[0] for _, lang in labels[iri] if lang}
            for iri in self._own
            if iri in labels
        }
        counted = Counter(lang for langs in spoken.values() for lang in langs)
        common = sorted(i for i, n in counted.items() if n >= COMMON_SHARE * len(spoken) and n > 1)
        for iri, langs in spoken.items():
            missing = [lang for lang in common if lang not in langs]
            if missing and len(labels[iri]) < LABELS_HELD:
                yield Finding("language-gap", iri, f"no label in {', '.join(missing)}")

    def _kind(self, iri: str) -> str:
        return self._meta.kind(iri).partition(",")[0]


def _space(iri: str) -> str:
    """The namespace, and of an OBO identifier also what stands before its number: obo/GO_."""
    space = namespace(iri)
    name, _, number = iri[len(space) :].partition("_")
    return f"{space}{name}_" if space == v.OBO and number.isdecimal() else space


def _short(meta: GraphMeta, space: str) -> str:
    """A namespace by its prefix: `dcterms:`, `obo:GO_`."""
    name = meta.curie(f"{space}x")
    return space if name.startswith("<") else name[:-1]


def _fold(text: str) -> str:
    """A label for comparing: no case, but of a letter among words, a symbol (B magnitude)."""
    words = text.split()
    return " ".join(w if len(w) == 1 < len(words) else w.casefold() for w in words)


def _some(said: list[str]) -> str:
    more = f" and {len(said) - SHOWN} more" if len(said) > SHOWN else ""
    return ", ".join(said[:SHOWN]) + more


def _names(meta: GraphMeta, iris: list[str]) -> str:
    return _some([meta.curie(iri) for iri in iris])


# -- SARIF


def to_sarif(found: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Findings as a SARIF 2.1.0 log; a finding is located in the file and by its term."""
    rules = [
        {
            "id": rule.name,
            "shortDescription": {"text": rule.doc},
            "defaultConfiguration": {"level": rule.level},
        }
        for rule in RULES
    ]
    place = {"artifactLocation": {"uri": Path(source).name}}
    results = [
        {
            "ruleId": row["rule"],
            "level": row["level"],
            "message": {"text": f"{row['term']}: {row['message']}"},
            "locations": [
                {
                    "physicalLocation": place,
                    "logicalLocations": [{"fullyQualifiedName": row["term"]}],
                }
            ],
        }
        for row in found["rows"]
    ]
    tool = {"driver": {"name": "rlm ontology lint", "version": __version__, "rules": rules}}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {"tool": tool, "results": results, "properties": {"notJudged": found["not_judged"]}}
        ],
    }
