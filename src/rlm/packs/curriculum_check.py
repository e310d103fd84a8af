"""Whether an ontology can answer a curriculum: every `verify` once, before anything is spent.

A misspelt check teaches what is false: every right answer is judged wrong, and a pitfall
is learnt from it. So a term that occurs nowhere in the ontology is refused, and so is a check that
expects nothing at all. What does not exist is asked for with `compare: absent`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from rlm.errors import ConfigError, OntologyError, ValidationError
from rlm.learning.verify import Verify, check_verify
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.query.guard import check_query
from rlm.ontology.query.lexer import IRI, PNAME, Token
from rlm.ontology.terms import Prefixes
from rlm.ontology.views.resolve import occurs
from rlm.ontology.views.search import nearest
from rlm.ontology.vocabulary import ALTERNATIVES, COMMENTS, DEFINITIONS, LABELS, OWL, RDF, RDFS, XSD
from rlm.packs.curriculum import KINDS, Curriculum

_LEAST_ALIKE = 0.75
_OF_RDF = """
type Property Statement subject predicate object value first rest nil List Seq Bag Alt langString
HTML
"""
_OF_RDFS = """
Resource Class Literal Datatype Container ContainerMembershipProperty label comment seeAlso
isDefinedBy subClassOf subPropertyOf domain range member
"""
_OF_OWL = """
AllDifferent AllDisjointClasses AllDisjointProperties Annotation AnnotationProperty
AsymmetricProperty Axiom Class DataRange DatatypeProperty DeprecatedClass DeprecatedProperty
FunctionalProperty InverseFunctionalProperty IrreflexiveProperty NamedIndividual
NegativePropertyAssertion Nothing ObjectProperty Ontology OntologyProperty ReflexiveProperty
Restriction SymmetricProperty Thing TransitiveProperty allValuesFrom annotatedProperty
annotatedSource annotatedTarget assertionProperty backwardCompatibleWith bottomDataProperty
bottomObjectProperty cardinality complementOf datatypeComplementOf deprecated differentFrom
disjointUnionOf disjointWith distinctMembers equivalentClass equivalentProperty hasKey hasSelf
hasValue imports incompatibleWith intersectionOf inverseOf maxCardinality maxQualifiedCardinality
members minCardinality minQualifiedCardinality onClass onDataRange onDatatype onProperties
onProperty oneOf priorVersion propertyChainAxiom propertyDisjointWith qualifiedCardinality sameAs
someValuesFrom sourceIndividual targetIndividual targetValue topDataProperty topObjectProperty
unionOf versionIRI versionInfo withRestrictions
"""
_MACHINERY = ((RDF, _OF_RDF), (RDFS, _OF_RDFS), (OWL, _OF_OWL))
_TERMS = frozenset(space + name for space, names in _MACHINERY for name in names.split())
_ALWAYS = _TERMS.union(LABELS, ALTERNATIVES, DEFINITIONS, COMMENTS)
"""What a query may name whether or not the ontology has it: RDF, RDFS, OWL, label properties."""


def check_curriculum(curriculum: Curriculum, engine: Engine) -> None:
    """Ask every `verify` once; ConfigError with the line of the first without an answer."""
    known: dict[str, bool] = {}
    for task in curriculum.tasks:
        if task.verify is None:
            continue
        try:
            found = check_verify(task.verify, engine)
            if task.verify.compare != "absent":
                _check_terms(task.verify, engine, known)
                _check_some(task.verify, found)
        except (OntologyError, ValidationError) as exc:
            where = f"{curriculum.path}:{task.verify_line}"
            raise ConfigError(f"{where}: the verify of {task.id} cannot be asked: {exc}") from exc


def odd_tags(curriculum: Curriculum) -> Iterator[str]:
    """A remark for each task none of whose tags is a kind of question. Otherwise tags are free."""
    for task in curriculum.tasks:
        if task.kind is None:
            kinds = ((tag, _similar_kind(tag)) for tag in task.tags)
            said = [f"{tag!r} is not one: did you mean {kind}?" for tag, kind in kinds if kind]
            why = "; ".join(said) or f"it counts as 'other'. The kinds: {', '.join(KINDS)}"
            where = f"{curriculum.path}:{task.line}"
            yield f"{where}: no tag of task {task.id} is a kind of question; {why}"


def _similar_kind(tag: str) -> str:
    """The kind that a tag misspells; '' when it is a word of its own."""
    plain = tag.lower().replace("-", "_").replace(" ", "_")
    return next(iter(difflib.get_close_matches(plain, KINDS, n=1, cutoff=_LEAST_ALIKE)), "")


# -- terms ----------------------------------------------------------------------------------------


def _check_terms(verify: Verify, engine: Engine, known: dict[str, bool]) -> None:
    for name, iri in _query_terms(verify.sparql, getattr(engine, "prefixes", None) or Prefixes()):
        if iri not in known:
            known[iri] = occurs(engine, iri)
        if not known[iri]:
            why = f"{name} occurs nowhere in the ontology{_instead(engine, iri)}"
            hint = "what is not there is asked for with compare: absent"
            raise ValidationError(f"{why}; {hint}", field="sparql")


def _instead(engine: Engine, iri: str) -> str:
    meta = engine.meta()
    near = nearest(meta, iri)
    return f" (did you mean {' or '.join(map(meta.curie, near))}?)" if near else ""


def _query_terms(sparql: str, prefixes: Prefixes) -> Iterator[tuple[str, str]]:
    """The terms that a query names, with their IRIs; no namespace, datatype or `_ALWAYS`."""
    tokens = check_query(sparql).tokens
    declared = Prefixes(prefixes)
    own: set[int] = set()
    base = ""
    for at, token in enumerate(tokens):
        if token.upper == "PREFIX":
            declared[tokens[at + 1].text[:-1]] = base + tokens[at + 2].text[1:-1]
            own |= {at + 1, at + 2}
        elif token.upper == "BASE":
            base = tokens[at + 1].text[1:-1]
            own.add(at + 1)
    for at, token in enumerate(tokens):
        if token.kind not in (IRI, PNAME) or at in own:
            continue
        iri = _expand(token, declared)
        if iri and iri not in _ALWAYS and not iri.startswith(XSD) and iri[-1] not in "#/:":
            yield token.text, iri


def _expand(token: Token, prefixes: Prefixes) -> str:
    """The IRI; '' for what only an engine can read: escapes, names relative to a base."""
    if "\\" in token.text or (token.kind == IRI and ":" not in token.text):
        return ""
    return token.text[1:-1] if token.kind == IRI else prefixes.expand(token.text)


def _check_some(verify: Verify, found: int) -> None:
    if verify.compare in ("set", "contains_all") and not found:
        why = f"it finds nothing, so compare: {verify.compare} would expect nothing"
        hint = "correct the query, or write compare: absent"
        raise ValidationError(f"{why}: {hint}", field="sparql")
