"""Whether an answer is right: the result of a query is held against what the answer says.

    set           the IRIs in the answer are those of the query, no more and no less
    contains_all  the answer names all of them; others may be there
    count         the number in the answer is the query's: of its one row, else how many rows;
                  a fraction may be rounded to two digits or more
    boolean       the answer says yes or no, as the ASK does
    absent        the answer says that there is no such thing, or none such, where the query
                  asks about terms that are there; it names no IRI but those of the query

A term may be named by its IRI, as `prefix:name`, or, in an answer with no IRI at all, by a label,
alternative label or local name that only one term has. What the question itself names may be
repeated. Namespaces and the ontology's own IRI are no terms and are not counted, unless the query
asks for such. Values that are no IRIs are looked for by their text. Where the query finds nothing
the answer must say so and name nothing. How words are read: `words`, `names`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from rlm.errors import ValidationError
from rlm.learning.claims import Values, values_in
from rlm.learning.grounding import iris_in
from rlm.learning.names import TermNames, named_in
from rlm.learning.words import (
    all_numbers,
    begins_with_none,
    number_in,
    says_absent,
    says_none,
    truth_of,
)
from rlm.llm.types import is_unanswered
from rlm.ontology.engine.protocol import Answer, Engine
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.query.shape import names_of as names_of_query
from rlm.ontology.views.links import labels_of
from rlm.ontology.vocabulary import ALTERNATIVES, LABELS, OWL, RDF, RDFS, XSD

COMPARES = ("set", "contains_all", "count", "boolean", "absent")
ROWS = 10_000
SHOWN = 20
NAMED_MOST = 1_000
LEAST_DIGITS = 2
NOISE = Decimal("1e-9")
"""What a sum of doubles may be off, as a share."""
_NUMERIC = frozenset(
    XSD + name
    for name in ("integer", "decimal", "double", "float", "int", "long", "nonNegativeInteger")
)


@dataclass(frozen=True, slots=True)
class Verify:
    """A query and how its result is held against an answer."""

    sparql: str
    compare: str
    """One of COMPARES."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the check came to. `missing` and `extra` are short names, at most 20 of each."""

    ok: bool
    reason: str
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    open: bool = False
    """Nothing that was expected is missing, but what else the answer says can be told apart only
    by somebody who reads it: an explanation, or further answers. Where nobody can, it fails."""
    expected: list[str] = field(default_factory=list)
    """What a reader compares an open answer with."""


def check_verify(verify: Verify, engine: Engine) -> int:
    """How many values it expects. Raises ValidationError or OntologyError if no answer can fit."""
    values = _Expected(verify, engine).values
    return len(values.iris) + len(values.texts)


def check_answer(
    answer: str, verify: Verify, engine: Engine, meta: GraphMeta, question: str = ""
) -> Verdict:
    """The verdict. Raises ValidationError or OntologyError when `verify` itself is wrong."""
    expected = _Expected(verify, engine)
    if not answer.strip():
        return Verdict(False, "there is no answer")
    if is_unanswered(answer):
        return Verdict(False, "the answer says that it is none")
    given = _Given(answer, question, engine, meta)
    if verify.compare == "count":
        return _count(given, expected.number)
    if verify.compare == "boolean":
        return _boolean(given, expected.boolean)
    if verify.compare == "absent":
        return _absent(given, _terms_of(verify, meta))
    if not expected.values.iris and not expected.values.texts:
        return _empty(given)
    return _compare_names(given, expected.values, exactly=verify.compare == "set")


NOTHING = "nothing: there is no such thing"


# -- what is expected


class _Expected:
    """What the query says, in the form that `compare` needs."""

    def __init__(self, verify: Verify, engine: Engine) -> None:
        self.number, self.boolean = Decimal(0), False
        self.values = Values()
        if verify.compare not in COMPARES:
            raise ValidationError(
                f"verify compares by {verify.compare!r}: use one of {', '.join(COMPARES)}",
                field="compare",
            )
        found = engine.query(verify.sparql, limit=ROWS)
        if found.kind == "graph":
            raise _wrong(verify, "is a CONSTRUCT or DESCRIBE: write a SELECT or an ASK")
        if found.truncated:
            raise _wrong(
                verify,
                f"has more than {len(found):,} rows: ask for fewer, or count them in the query",
            )
        if verify.compare == "boolean":
            self.boolean = _truth(verify, found)
        elif verify.compare == "absent":
            if found and not _is_zero(found):
                raise _wrong(
                    verify, "finds something, so the thing is there: compare by another way"
                )
        elif found.kind == "ask":
            raise _wrong(verify, f"is an ASK: {verify.compare} needs a SELECT")
        elif verify.compare == "count":
            number = _number(found)
            if number is not None and not number.is_finite():
                raise _wrong(verify, f"counts {number}, which no answer can give: ask for a number")
            self.number = Decimal(len(_distinct(found))) if number is None else number
        else:
            self.values = values_in(found)
            if self.values.blank:
                raise _wrong(
                    verify, "finds blank nodes, which no answer can name: add FILTER(isIRI(?x))"
                )


def _wrong(verify: Verify, why: str) -> ValidationError:
    return ValidationError(
        f"the query of verify ({' '.join(verify.sparql.split())[:120]}) {why}", field="verify"
    )


def _distinct(found: Answer) -> set[tuple[tuple[str, str], ...]]:
    return {
        tuple(sorted((name, repr(sorted(term.items()))) for name, term in row.items()))
        for row in found.rows
    }


def _number(found: Answer) -> Decimal | None:
    """The number of a result that is one: one row, one value, numeric."""
    if len(found.rows) != 1 or len(found.variables) != 1:
        return None
    term: dict[str, Any] = found.rows[0].get(found.variables[0], {})
    if term.get("t") != "lit" or term.get("dt") not in _NUMERIC:
        return None
    try:
        return Decimal(term["v"])
    except InvalidOperation:
        return None


def _is_zero(found: Answer) -> bool:
    number = _number(found)
    return number is not None and number.is_zero()


def _truth(verify: Verify, found: Answer) -> bool:
    if found.boolean is not None:
        return found.boolean
    term: dict[str, Any] = next(iter(found.rows[0].values()), {}) if len(found.rows) == 1 else {}
    is_truth = term.get("dt") == XSD + "boolean" and len(found.variables) == 1
    if is_truth and term["v"] in ("true", "false", "1", "0"):
        return term["v"] in ("true", "1")
    raise _wrong(verify, "is no ASK, nor a row with one truth value: boolean needs one of them")


# -- what is given


class _Given:
    """An answer and the question it is to, read when they are needed."""

    def __init__(self, answer: str, question: str, engine: Engine, meta: GraphMeta) -> None:
        self.answer, self.question, self.engine, self.meta = answer, question, engine, meta
        self.iris = iris_in(answer, meta.prefixes)
        self.asked = iris_in(question, meta.prefixes)
        self.vocabularies = {*meta.prefixes.values(), *meta.ontology_iris}

    def terms(self, expected: Collection[str]) -> set[str]:
        """The IRIs of the answer that count, else the terms that it names in words."""
        counted = set(self.iris)
        if not self.vocabularies.intersection(expected):
            counted -= self.vocabularies
        if counted.intersection(expected) or self.drop_asked(counted):
            return counted
        names = _names_with(self.engine, self.meta, expected)
        return counted | named_in(self.answer, names.find_one)

    def drop_asked(self, iris: set[str]) -> set[str]:
        """Those that the question does not name, by IRI or in words."""
        left = iris - self.asked
        return left - named_in(self.question, _names(self.meta).find_all) if left else left

    def short_names(self, iris: Iterable[str]) -> list[str]:
        return cap_names(sorted(map(self.meta.curie, iris)))


_cached: tuple[GraphMeta, TermNames] | None = None


def _names(meta: GraphMeta) -> TermNames:
    """The names of a graph's terms; kept for the last graph, so that a suite reads them once."""
    global _cached
    kept = _cached
    if kept is None or kept[0] is not meta:
        kept = _cached = (meta, TermNames.of(meta, {}))
    return kept[1]


def _names_with(engine: Engine, meta: GraphMeta, iris: Collection[str]) -> TermNames:
    """The same, and the names of terms that GraphMeta did not keep."""
    known = (meta.classes, meta.properties, meta.labels, meta.named_things)
    unknown = [iri for iri in sorted(iris) if not any(iri in part for part in known)][:NAMED_MOST]
    if not unknown:
        return _names(meta)
    labels = labels_of(engine, meta, unknown)
    return TermNames.of(meta, {iri: labels.get(iri, []) for iri in unknown})


def cap_names(names: list[str]) -> list[str]:
    """At most 20 of them, and how many there are beyond."""
    return names if len(names) <= SHOWN else [*names[:SHOWN], f"… and {len(names) - SHOWN} more"]


# -- the comparisons


def _compare_names(given: _Given, expected: Values, *, exactly: bool) -> Verdict:
    terms = given.terms(expected.iris) if expected.iris else set(given.iris - given.vocabularies)
    missing = expected.iris - terms
    extra = given.drop_asked(terms - expected.iris) if exactly else set()
    lost, others = expected.compare(given.answer, given.question, exactly=exactly)
    missing_names, extra_names = given.short_names(missing), given.short_names(extra)
    missing_names, extra_names = cap_names(missing_names + lost), cap_names(extra_names + others)
    wanted = len(expected.iris) + len(expected.texts)
    if not missing and not lost and not extra and not others:
        return Verdict(True, f"the answer names all {wanted}{' and no other' * exactly}")
    said = []
    if missing or lost:
        number = len(missing) + len(lost)
        said.append(f"{number} of {wanted} missing: {', '.join(missing_names[:5])}")
    if extra or others:
        said.append(f"{len(extra) + len(others)} not expected: {', '.join(extra_names[:5])}")
    wanted_names = cap_names([*given.short_names(expected.iris), *sorted(expected.texts)])
    reads = not missing and not lost
    return Verdict(False, "; ".join(said), missing_names, extra_names, reads, wanted_names)


def _empty(given: _Given) -> Verdict:
    extra = given.short_names(given.drop_asked(given.iris - given.vocabularies))
    if extra:
        why = "nothing is expected, but the answer names terms"
        return Verdict(False, why, extra=extra, open=True, expected=[NOTHING])
    if says_none(given.answer):
        return Verdict(True, "there is nothing to name and the answer says so")
    why = "there is nothing to name, but the answer does not say so"
    return Verdict(False, why, open=True, expected=[NOTHING])


def _absent(given: _Given, queried: set[str]) -> Verdict:
    iris = given.iris - given.vocabularies - queried
    iris = {iri for iri in iris if not iri.startswith((RDF, RDFS, OWL))}
    extra = given.short_names(given.drop_asked(iris))
    if extra:
        why = "the thing does not exist, but the answer names terms"
        return Verdict(False, why, extra=extra, open=True, expected=[NOTHING])
    if begins_with_none(given.answer) if queried else says_absent(given.answer):
        return Verdict(True, "the answer says that there is no such thing, as is the case")
    why = "the thing does not exist, but the answer does not say so"
    return Verdict(False, why, open=True, expected=[NOTHING])


def _terms_of(verify: Verify, meta: GraphMeta) -> set[str]:
    """The terms of a query that are there to be asked about. Properties that hold names are not
    among them: a query by name asks for the thing itself."""
    known = (meta.classes, meta.properties, meta.labels, meta.named_things)
    found = {
        iri
        for iri in names_of_query(verify.sparql, meta.prefixes)
        if iri.startswith((RDF, RDFS, OWL)) or any(iri in part for part in known)
    }
    return found.difference(LABELS, ALTERNATIVES)


def _count(given: _Given, expected: Decimal) -> Verdict:
    found, wanted = number_in(given.answer, given.question), [str(expected)]
    if found is not None and _is_number(found, expected):
        return Verdict(True, f"the number is {expected}")
    if found is None:
        why = f"the answer gives no plain number; it is {expected}"
        return Verdict(False, why, wanted, open=True, expected=wanted)
    why = f"the number is {expected}, the answer says {found}"
    among = any(_is_number(number, expected) for number in all_numbers(given.answer))
    return Verdict(False, why, wanted, [str(found)], among, wanted)


def _is_number(found: Decimal, expected: Decimal) -> bool:
    """Whether a number is the expected one, or the same rounded to two digits or more."""
    digits = -int(found.as_tuple().exponent)
    if digits >= LEAST_DIGITS:
        return abs(found - expected) <= Decimal(1).scaleb(-digits) / 2
    return abs(found - expected) <= abs(expected) * NOISE


def _boolean(given: _Given, expected: bool) -> Verdict:
    word = "yes" if expected else "no"
    found = truth_of(given.answer)
    if found is None:
        why = f"the answer says neither yes nor no; it is {word}"
        return Verdict(False, why, [word], open=True, expected=[word])
    if found == expected:
        return Verdict(True, f"it is {word}, as the answer says")
    return Verdict(False, f"it is {word}, the answer says {'yes' if found else 'no'}", [word])
