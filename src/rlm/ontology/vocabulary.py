"""The terms of RDF, RDFS, OWL and SWRL themselves, and where people put labels and definitions.

A term of the machinery (owl:Class, rdf:first, rdfs:comment, swrl:AtomList) is never what an
ontology is about: counts of properties leave it out unless the file declares it, and no card or
root list names it.
"""

from __future__ import annotations

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
XSD = "http://www.w3.org/2001/XMLSchema#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
DCTERMS = "http://purl.org/dc/terms/"
DC = "http://purl.org/dc/elements/1.1/"
FOAF = "http://xmlns.com/foaf/0.1/"
SCHEMA = ("http://schema.org/", "https://schema.org/")
OBO = "http://purl.obolibrary.org/obo/"
OIO = "http://www.geneontology.org/formats/oboInOwl#"
VANN = "http://purl.org/vocab/vann/"
SWRL = "http://www.w3.org/2003/11/swrl#"
SWRLB = "http://www.w3.org/2003/11/swrlb#"
SH = "http://www.w3.org/ns/shacl#"

TYPE = RDF + "type"
SCHEME = SKOS + "ConceptScheme"
SUB_CLASS = RDFS + "subClassOf"
SUB_PROPERTY = RDFS + "subPropertyOf"
EQUIVALENCES = (OWL + "equivalentClass", OWL + "equivalentProperty")
DOMAIN = RDFS + "domain"
RANGE = RDFS + "range"

MACHINERY = (RDF, RDFS, OWL, SWRL, SWRLB)
TOPS = frozenset((OWL + "Thing", OWL + "Nothing", RDFS + "Resource", RDFS + "Literal"))

CLASS_TYPES = frozenset((OWL + "Class", RDFS + "Class", OWL + "DeprecatedClass"))
PROPERTY_KINDS = {
    OWL + "ObjectProperty": "object",
    OWL + "DatatypeProperty": "datatype",
    OWL + "AnnotationProperty": "annotation",
    OWL + "OntologyProperty": "annotation",
    OWL + "FunctionalProperty": "functional",
    OWL + "InverseFunctionalProperty": "inverse functional",
    OWL + "TransitiveProperty": "transitive",
    OWL + "SymmetricProperty": "symmetric",
    OWL + "AsymmetricProperty": "asymmetric",
    OWL + "ReflexiveProperty": "reflexive",
    OWL + "IrreflexiveProperty": "irreflexive",
    OWL + "DeprecatedProperty": "",
    RDF + "Property": "",
}
OBJECT_ONLY = frozenset(
    ("inverse functional", "transitive", "symmetric", "asymmetric", "reflexive", "irreflexive")
)
_OWL_TYPES = (
    *("AllDifferent", "AllDisjointClasses", "AllDisjointProperties", "Annotation", "Axiom"),
    *("DataRange", "NegativePropertyAssertion", "Ontology", "Restriction"),
)
OTHER_TYPES = {RDFS + "Datatype", RDFS + "ContainerMembershipProperty", RDF + "List"}
OTHER_TYPES |= {RDF + "Statement", *(OWL + name for name in _OWL_TYPES)}
META_TYPES = CLASS_TYPES | PROPERTY_KINDS.keys() | OTHER_TYPES
NAMED_INDIVIDUAL = OWL + "NamedIndividual"
_THINGS = TOPS | {NAMED_INDIVIDUAL}


def is_type_of_individuals(iri: str) -> bool:
    """Whether what is of this type is an individual: no term or syntax of RDF and OWL."""
    return iri in _THINGS or not iri.startswith(MACHINERY)


SHAPE_TYPES = frozenset((SH + "NodeShape", SH + "PropertyShape"))
"""What makes a class no individual."""

LABELS = (
    *(RDFS + "label", SKOS + "prefLabel", DCTERMS + "title", DC + "title", FOAF + "name"),
    *(base + "name" for base in SCHEMA),
)
ALTERNATIVES = (
    *(SKOS + "altLabel", SKOS + "hiddenLabel", DCTERMS + "alternative"),
    *(base + "alternateName" for base in SCHEMA),
    *(OIO + "hasExactSynonym", OIO + "hasRelatedSynonym", OBO + "IAO_0000118", FOAF + "nick"),
)
SYNONYMS = {name: f"{OIO}has{name.capitalize()}Synonym" for name in ("related", "narrow", "broad")}
"""How near a name is that is not the very name of a term → the predicate that gives it."""
DEFINITIONS = (SKOS + "definition", OBO + "IAO_0000115", OIO + "hasDefinition")
COMMENTS = (
    *(RDFS + "comment", DCTERMS + "description", DC + "description"),
    *(base + "description" for base in SCHEMA),
)
OF_ONTOLOGIES = (
    *(OWL + name for name in ("versionInfo", "versionIRI", "imports", "priorVersion")),
    *(DCTERMS + "title", DC + "title", VANN + "preferredNamespacePrefix"),
)
"""What is said of an ontology, also of one that no type says to be one."""
EXAMPLES = (SKOS + "example", OBO + "IAO_0000112", VANN + "example")
TEXT_ROLES = {
    "label": LABELS,
    "synonym": ALTERNATIVES,
    "definition": DEFINITIONS,
    "comment": COMMENTS,
    "example": EXAMPLES,
}
"""What a text says of a term → the predicates that are known to say it, best first."""
ROLE_NAMES = {
    "label": ("preferred label", "pref label", "preferred term", "preferred name"),
    "synonym": (
        *("synonym", "synonyms", "has synonym", "exact synonym", "alternative label", "alt label"),
        *("alternative term", "alternative name", "also known as", "has alternative label"),
    ),
    "definition": ("definition", "has definition", "textual definition", "elucidation"),
    "example": ("example", "examples", "example of usage", "has example", "usage example"),
}
"""A predicate that is called so has that role, whoever made it."""
SUPERSEDED_BY = tuple(base + "supersededBy" for base in SCHEMA)
"""What has this is out of use."""
REPLACED_BY = (DCTERMS + "isReplacedBy", OBO + "IAO_0100001", *SUPERSEDED_BY)
REPLACES = DCTERMS + "replaces"
REPLACED_BY_NAMES = frozenset(("isReplacedBy", "replacedBy", "replaced_by", "supersededBy"))
"""A predicate that is called so replaces, whoever made it."""
INVERSE_NAME = "inverseOf"
"""A predicate that is called so, between properties, gives inverses, whoever made it."""
INVERSE_OF = (OWL + "inverseOf", *(base + "inverseOf" for base in SCHEMA))

_VOCABULARIES = {
    RDF: """
        Alt Bag CompoundLiteral HTML JSON List PlainLiteral Property Seq Statement XMLLiteral
        direction first langString language nil object predicate rest subject type value
        """,
    RDFS: """
        Class Container ContainerMembershipProperty Datatype Literal Resource comment domain
        isDefinedBy label member range seeAlso subClassOf subPropertyOf
        """,
    OWL: """
        AllDifferent AllDisjointClasses AllDisjointProperties Annotation AnnotationProperty
        AsymmetricProperty Axiom Class DataRange DatatypeProperty DeprecatedClass
        DeprecatedProperty FunctionalProperty InverseFunctionalProperty IrreflexiveProperty
        NamedIndividual NegativePropertyAssertion Nothing ObjectProperty Ontology OntologyProperty
        ReflexiveProperty Restriction SymmetricProperty Thing TransitiveProperty allValuesFrom
        annotatedProperty annotatedSource annotatedTarget assertionProperty
        backwardCompatibleWith bottomDataProperty bottomObjectProperty cardinality complementOf
        datatypeComplementOf deprecated differentFrom disjointUnionOf disjointWith
        distinctMembers equivalentClass equivalentProperty hasKey hasSelf hasValue imports
        incompatibleWith intersectionOf inverseOf maxCardinality maxQualifiedCardinality members
        minCardinality minQualifiedCardinality onClass onDataRange onDatatype onProperties
        onProperty oneOf priorVersion propertyChainAxiom propertyDisjointWith
        qualifiedCardinality sameAs someValuesFrom sourceIndividual targetIndividual targetValue
        topDataProperty topObjectProperty unionOf versionIRI versionInfo withRestrictions
        """,
    XSD: """
        ENTITIES ENTITY ID IDREF IDREFS NCName NMTOKEN NMTOKENS NOTATION Name QName anyAtomicType
        anySimpleType anyType anyURI base64Binary boolean byte date dateTime dateTimeStamp
        dayTimeDuration decimal double duration float gDay gMonth gMonthDay gYear gYearMonth
        hexBinary int integer language long maxExclusive maxInclusive minExclusive minInclusive
        negativeInteger nonNegativeInteger nonPositiveInteger normalizedString pattern
        positiveInteger short string time token unsignedByte unsignedInt unsignedLong
        unsignedShort yearMonthDuration
        """,
    SKOS: """
        Collection Concept ConceptScheme OrderedCollection altLabel broadMatch broader
        broaderTransitive changeNote closeMatch definition editorialNote exactMatch example
        hasTopConcept hiddenLabel historyNote inScheme mappingRelation member memberList narrower
        narrowMatch narrowerTransitive notation note prefLabel related relatedMatch scopeNote
        semanticRelation topConceptOf
        """,
}
VOCABULARY = frozenset(
    base + name for base, names in _VOCABULARIES.items() for name in names.split()
)
"""Every term of rdf, rdfs, owl, xsd and skos: words of the field, no claims about a graph."""
