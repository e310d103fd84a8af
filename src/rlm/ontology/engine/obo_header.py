"""What py-horned-owl leaves out of an OBO file: most of its header, and some tags of stanzas.

The header's annotations are read by the library itself, out of a small file whose one stanza has
them, so that names are expanded as in any other stanza; then they become the ontology's own. What
cannot be carried is counted for a note.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pyhornedowl.model as model
from pyhornedowl import open_ontology_from_string

OIO = "http://www.geneontology.org/formats/oboInOwl#"
OWL = "http://www.w3.org/2002/07/owl#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
PREFIXES = {
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "foaf": "http://xmlns.com/foaf/0.1/",
}
"""What a header may use without an idspace of its own."""
_CLAUSE = re.compile(r"([\w-]+):[ \t]*(.*?)\s*")
_DEFINED = re.compile(r'(\S+)[ \t]+"((?:[^"\\]|\\.)*)".*')
_CARRIED = ("format-version", "remark", "default-namespace", "import", "ontology", "idspace")
_DEFINITIONS = {
    "subsetdef": ("SubsetProperty", "comment", "subset: {}"),
    "synonymtypedef": ("SynonymTypeProperty", "label", 'synonym: "x" EXACT {} []'),
}
"""The tag → what its subject is below, where its text stands, a clause that expands its name."""
_SUBJECT = re.compile(r".*/RLM_(\d+)")
_ADDED = frozenset((OIO + "id", OIO + "hasOBONamespace"))
"""What the library says of every stanza."""
_OF_STANZAS = frozenset((OIO + "id", OWL + "deprecated"))
_LOST = re.compile(
    rb"(?m)^(holds_over_chain|equivalent_to_chain|transitive_over|disjoint_over|expand_\w+_to"
    rb"|is_cyclic|is_class_level|owl-axioms|treat-xrefs-as-[\w-]+):"
)


_WITH_IDS = re.compile(
    rb"(?m)^(?:id|alt_id|is_a|relationship|intersection_of|union_of|equivalent_to|disjoint_from"
    rb"|replaced_by|consider|inverse_of|domain|range|instance_of):[^\"!{\n]*"
)


def plain_ids(data: bytes) -> bytes:
    """The file with `xsd:float` where an identifier is written `xsd\\:float`, of which the library
    makes an IRI with the backslash in it."""
    return _WITH_IDS.sub(lambda found: found[0].replace(rb"\:", b":"), data)


def drop_undeclared(ontology: Any) -> None:
    """Take back the library's declarations of classes that are named in the file but have no stanza
    there: its identifier is said of every stanza, and of an alt_id that it is deprecated."""
    held = [each.component for each in ontology.get_axioms()]
    said = (each for each in held if isinstance(each, model.AnnotationAssertion))
    stanzas = {str(each.subject) for each in said if str(each.ann.ap.first) in _OF_STANZAS}
    for each in held:
        if isinstance(each, model.DeclareClass) and str(each.first.first) not in stanzas:
            ontology.remove_axiom(each)


def carry_header(data: bytes, ontology: Any) -> str:
    """Add what the header of an OBO file says to the ontology that the library made of it; what is
    to be noted."""
    header = re.split(rb"(?m)^\[", data, maxsplit=1)[0].decode()
    clauses = [found.groups() for line in header.split("\n") if (found := _CLAUSE.fullmatch(line))]
    if clauses and ontology.get_iri() is None:
        return "the header is left out: it does not name its ontology (`ontology: NAME`)"
    asked = list(_annotate_plain(ontology, clauses))
    known = "".join(
        f"idspace: {prefix} {space}\n"
        for prefix, space in PREFIXES.items()
        if not re.search(rf"(?m)^idspace:\s*{prefix}\s", header)
    )
    stanzas = "".join(f"\n[Term]\nid: RLM:{n}\n{each[1]}\n" for n, each in enumerate(asked))
    try:
        expanded = open_ontology_from_string(f"{header.rstrip()}\n{known}{stanzas}", "obo")
    except ValueError:
        return "the annotations of the header are left out: they cannot be read"
    for each in expanded.get_axioms():
        if found := _SUBJECT.fullmatch(str(getattr(each.component, "subject", ""))):
            _carry_expanded(ontology, asked[int(found[1])], each)
    return ""


def _annotate_plain(
    ontology: Any, clauses: Iterable[tuple[str, ...]]
) -> Iterator[tuple[str, str, str]]:
    """Add what needs no expanding; of the rest a tag, a clause for the library, and a text."""
    for tag, value in clauses:
        if tag == "property_value":
            yield tag, f"{tag}: {value}", ""
        elif tag in _DEFINITIONS and (found := _DEFINED.fullmatch(value)):
            yield tag, _DEFINITIONS[tag][2].format(found[1]), found[2]
        elif tag == "data-version":
            _annotate(ontology, OWL + "versionInfo", value)
        elif tag not in _CARRIED and not _LOST.match(f"{tag}:".encode()):
            _annotate(ontology, OIO + tag, value)


def _carry_expanded(ontology: Any, asked: tuple[str, str, str], axiom: Any) -> None:
    """Add what a stanza of ours became, as said of the ontology or of a term."""
    tag, _, text = asked
    said = axiom.component.ann
    if tag == "property_value":
        if str(said.ap.first) not in _ADDED:
            _annotate(ontology, str(said.ap.first), said.av)
        return
    for named in (said, *axiom.ann):
        if str(named.ap.first).endswith(("#inSubset", "#hasSynonymType")):
            _define(ontology, tag, str(named.av), text)


def _annotate(ontology: Any, predicate: str, value: Any, subject: str = "") -> None:
    """Say something of a term, or of the ontology itself."""
    prop = model.AnnotationProperty(model.IRI.parse(predicate))
    value = model.SimpleLiteral(value) if isinstance(value, str) else value
    said = model.Annotation(prop, value, set())
    about = model.AnnotationAssertion(model.IRI.parse(subject), said) if subject else None
    ontology.add_component(about or model.OntologyAnnotation(said))
    ontology.add_component(model.DeclareAnnotationProperty(prop))


def _define(ontology: Any, tag: str, iri: str, text: str) -> None:
    """Declare a subset or a type of synonym, as the mapping from OBO to OWL has it."""
    above, role, _ = _DEFINITIONS[tag]
    term, top = (model.AnnotationProperty(model.IRI.parse(i)) for i in (iri, OIO + above))
    for prop in (term, top):
        ontology.add_component(model.DeclareAnnotationProperty(prop))
    ontology.add_component(model.SubAnnotationPropertyOf(term, top))
    _annotate(ontology, RDFS + role, re.sub(r"\\(.)", r"\1", text), iri)


def count_lost(data: bytes) -> tuple[int, str] | None:
    """The first line that nothing carries over, and a note of all of them; None without any."""
    if not (lost := list(_LOST.finditer(data))):
        return None
    counted = Counter(found[1].decode() for found in lost)
    named = ", ".join(f"{tag} ({number:,})" for tag, number in sorted(counted.items()))
    return data.count(b"\n", 0, lost[0].start()) + 1, f"not carried over: {named}"
