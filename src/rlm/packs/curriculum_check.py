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
from rlm.ontology.query.shape import names_of
from rlm.ontology.terms import Prefixes
from rlm.ontology.views.resolve import occurs
from rlm.ontology.views.search import nearest
from rlm.ontology.vocabulary import (
    ALTERNATIVES,
    COMMENTS,
    DEFINITIONS,
    LABELS,
    OWL,
    RDF,
    RDFS,
    VOCABULARY,
    XSD,
)
from rlm.packs.curriculum import KINDS, Curriculum

_LEAST_ALIKE = 0.75
_TERMS = (iri for iri in VOCABULARY if iri.startswith((RDF, RDFS, OWL)))
_ALWAYS = frozenset((*_TERMS, *LABELS, *ALTERNATIVES, *DEFINITIONS, *COMMENTS))
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
    """A remark for each task without a kind of question that has a tag which is nearly one.
    Otherwise tags are free."""
    for task in curriculum.tasks:
        for tag in task.tags if task.kind is None else ():
            plain = tag.lower().replace("-", "_").replace(" ", "_")
            for kind in difflib.get_close_matches(plain, KINDS, n=1, cutoff=_LEAST_ALIKE):
                yield (
                    f"{curriculum.path}:{task.line}: {tag!r} of task {task.id} is no kind of"
                    f" question: did you mean {kind}?"
                )


# -- terms ----------------------------------------------------------------------------------------


def _check_terms(verify: Verify, engine: Engine, known: dict[str, bool]) -> None:
    for iri in names_of(verify.sparql, getattr(engine, "prefixes", None) or Prefixes()):
        if iri in _ALWAYS or iri.startswith(XSD) or iri[-1] in "#/:" or "\\" in iri:
            continue  # machinery, a datatype, a namespace, an escape that only an engine reads
        if iri not in known:
            known[iri] = occurs(engine, iri)
        if not known[iri]:
            why = (
                f"{engine.meta().curie(iri)} occurs nowhere in the ontology{_instead(engine, iri)}"
            )
            hint = "what is not there is asked for with compare: absent"
            raise ValidationError(f"{why}; {hint}", field="sparql")


def _instead(engine: Engine, iri: str) -> str:
    meta = engine.meta()
    near = nearest(meta, iri)
    return f" (did you mean {' or '.join(map(meta.curie, near))}?)" if near else ""


def _check_some(verify: Verify, found: int) -> None:
    if verify.compare in ("set", "contains_all") and not found:
        why = f"it finds nothing, so compare: {verify.compare} would expect nothing"
        hint = "correct the query, or write compare: absent"
        raise ValidationError(f"{why}: {hint}", field="sparql")
