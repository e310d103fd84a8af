"""Forms of question about the ontology as a whole: what it declares, and says of itself."""

from __future__ import annotations

from dataclasses import replace

from rlm.llm.offline.forms_properties import TRAITS
from rlm.llm.offline.frames import Form, Noun, form, list_all

_CLASSES = "[declared|named|owl] (classes|concept classes)"
_PROPS = "[declared|named] (properties|relations|predicates)"
_OBJECT = "[declared|named] (object properties|objectproperties)"
_DATA = "[declared|named] (datatype properties|data properties)"
_ANNOTATION = "[declared|named] annotation properties"
_INDIVIDUALS = "[named|declared] (individuals|named individuals)"
_TERMS = "(terms|entities|things)"
_LISTED = {
    "classes": (_CLASSES, "class", "classes", "classes"),
    "properties": (_PROPS, "property", "properties", "properties"),
    "object_properties": (_OBJECT, "object property", "object properties", "object"),
    "datatype_properties": (_DATA, "datatype property", "datatype properties", "datatype"),
    "annotation_properties": (
        _ANNOTATION, "annotation property", "annotation properties", "annotation"),
    "individuals": (_INDIVIDUALS, "individual", "individuals", "individuals"),
}  # fmt: skip
_NOT_VOCABULARY = (
    ' FILTER(!REGEX(STR(?x), "^http://www.w3.org/(2002/07/owl|2000/01/rdf-schema|1999/02/22-rdf)"))'
)
"""A class of OWL, RDFS or RDF is none of the file's own."""
_A_CLASS = "?x a ?t VALUES ?t { owl:Class rdfs:Class }"
_VOCABULARY = f"SELECT DISTINCT ?x WHERE {{ {_A_CLASS}{_NOT_VOCABULARY} }}".replace("!", "")
_OLD = (
    "(deprecated|obsolete|retired|outdated|(no longer|not any more) (current|valid|used|in use"
    "|to be used|recommended))"
)
_IN_SPACE = (
    "[that are] (in|from|of|under|within|to) the {prefix} (namespace|prefix)",
    "[that are] in namespace {prefix}",
    "with (prefix|namespace) {prefix}",
    "whose (iri|prefix) (is|start|begin) [with] {prefix}",
)


def _current(name: str, noun: Noun, call: str) -> list[Form]:
    """What is not deprecated."""
    return list_all(
        f"current_{name}",
        Noun(f"(non-deprecated|non-obsolete|current|active|undeprecated) ({noun.pattern})"
             f"|({noun.pattern}) (excluding|without|except|except for|leaving out|not counting"
             "|ignoring|apart from|[that|which] [are] not|but not) [any] (deprecated"
             "|obsolete) [ones|class|term|property]",
             f"{noun.one} that is not deprecated", f"{noun.many} that are not deprecated"),
        call,
        f"Which {name.replace('_', ' ')} are not deprecated?",
    )  # fmt: skip


def _declared() -> list[Form]:
    made = []
    for name, (pattern, one, many, kind) in _LISTED.items():
        stated = f'fetch("terms", kind="{kind}", only="declared")'
        said = "declared " * (name in ("classes", "properties"))
        call = f'fetch("terms", kind="{kind}")' if kind == "individuals" else stated
        counted = ""
        if name == "classes":
            counted = f"tell_declared(sparql_query({_VOCABULARY!r}, limit=1000), graph_stats())"
        elif kind in ("object", "datatype", "annotation"):
            typed = f"?x a owl:{kind.title()}Property FILTER(isIRI(?x))"
            typed = f"SELECT (COUNT(DISTINCT ?x) AS ?n) WHERE {{ {typed} }}"
            noted = f'note_kinds(sparql_query({typed!r}), graph_stats(), "{kind}"'
            call, counted = f"{noted}, {stated})", f'tell_count({noted}), "{one}", "{many}")'
        noun = Noun(pattern, said + one, said + many)
        forms = list_all(name, noun, call, f"Which {many} are there?")
        made += [forms[0], replace(forms[1], program=counted or forms[1].program), forms[2]]
        if kind != "individuals":
            current = stated.replace("declared", "declared current")
            made += _current(name, Noun(pattern, one, many), current)
        spaces = f"{pattern} [is|exist|belong] ({'|'.join(_IN_SPACE)})"
        made += list_all(
            f"{name}_in_namespace",
            Noun(spaces, f"{one} in this namespace", f"{many} in this namespace"),
            f'fetch("terms", kind="{kind}", prefix=$prefix)',
            f"Which {many} are in the harbour namespace?",
        )
        made += list_all(
            f"deprecated_{name}",
            Noun(f"(deprecated|obsolete|obsoleted|retired) {pattern}", f"deprecated {one}",
                 f"deprecated {many}"),
            f'fetch("terms", kind="{kind}", only="deprecated")',
            f"Which {many} are deprecated?",
            listed=(f"<wh> [of the] {pattern} <onto> are {_OLD} <onto>",),
        )  # fmt: skip
    return made


def _traits() -> list[Form]:
    made = []
    for trait in TRAITS:
        said = "(inverse functional|inverse-functional)" if " " in trait else trait
        for sort, word in (("", ""), ("object", "object"), ("datatype", "(datatype|data)")):
            sorted_ = f"{sort} " * bool(sort)
            call = f'fetch("terms", kind="{trait}")'
            call = call[:-1] + f', only="{sort}")' if sort else call
            props = f"{word} (properties|relations)"
            made += list_all(
                f"{trait.replace(' ', '_')}_{sort + '_' * bool(sort)}properties",
                Noun(f"[declared] {said} {props}|{props} [that is] {said}",
                     f"{trait} {sorted_}property", f"{trait} {sorted_}properties"),
                call,
                f"Which {sorted_}properties are {trait}?",
                listed=(f"<wh> [of the] {props} <onto> is {said} <onto>",),
            )  # fmt: skip
    return made


_OF_TREE = "[of the [class] hierarchy]"
_ROOT = (
    f"(root|top|top-level|topmost|top level|uppermost) [class|terms] {_OF_TREE}|classes [that are]"
    f" at [very] top {_OF_TREE}|classes without [any] [named|stated] (superclass|parent [class])"
)
_LEAF = f"((leaf|bottom) class|leaves) {_OF_TREE}|classes without [any] (subclass|child [class])"
_DEFINED = (
    "(defined|fully defined) class|classes (defined by|with) (equivalence|equivalent class axiom)"
)
_TREE = "[class|subclass|is-a] (hierarchy|tree|taxonomy|class hierarchy|subclass tree)"
_TOPS = "root of the class hierarchy", "roots of the class hierarchy"
HIERARCHY = [
    *list_all("roots", Noun(_ROOT, *_TOPS), 'fetch("terms", kind="roots")',
        "What are the root classes?",
        listed=(f"<wh> classes are (at [very] top|roots|top-level|root classes|topmost|top"
        f" classes) {_OF_TREE} <onto>", "where does the class hierarchy (begin|start)")),
    *_current("roots", Noun(f"({_ROOT})", *_TOPS), 'fetch("terms", kind="roots", only="current")'),
    *list_all("leaves", Noun(_LEAF, "leaf class", "leaf classes"), 'fetch("terms", kind="leaves")',
        "Which classes have no subclasses?",
        listed=(f"<wh> classes are (leaves|leaf classes) {_OF_TREE} <onto>",)),
    form("depth: How deep is the class hierarchy?", 'tell_levels(ontology_view("tree", depth=100,'
         ' limit=1))', f"how (deep|many levels [deep]) (is {_TREE}|does {_TREE} (go|reach))"
         f" <onto>", f"how many levels (does {_TREE} have|<there> in {_TREE}) <onto>",
         f"<head> [maximum|maximal|greatest] (depth|height|number of levels) of {_TREE}"),
    *(
        form(f"levels_{side}: How many levels of classes are {side} Vessel?",
             f'tell_levels(ontology_view("tree", $class, depth=100, limit=1, direction="{way}"),'
             f' "{side}")', f"how many levels [of (classes|subclasses|superclasses)] <there>"
             f" {said} {{class}}", f"how deep is {_TREE} {said} {{class}}", * more)
        for side, way, said, more in (
            ("below", "down", "(below|under|beneath)", ()),
            ("above", "up", "above", ("how deep is {class} <onto>", "[what is] depth of"
                                      " {class}")))
    ),
    *list_all("defined_classes", Noun(_DEFINED, "defined class", "defined classes"),
        'fetch("terms", kind="defined")', "Which classes are defined by an equivalence?",
        listed=("<wh> classes have (equivalence|equivalent class|(equivalent"
        " class|logical|formal) (definition [by equivalence]|axiom)) <onto>",
        "<wh> classes are defined by (equivalence|equivalent classes) <onto>")),
    *list_all("deprecated_terms", Noun(f"(deprecated|obsolete|retired) [{_TERMS}]",
        "deprecated term", "deprecated terms"), 'fetch("terms", kind="deprecated")',
        "Which terms are deprecated?",
        listed=(f"<wh> {_TERMS} <onto> are {_OLD} <onto>", "what is (deprecated|obsolete) <onto>",
        "is anything deprecated <onto>")),
    *list_all("undeclared_terms", Noun(f"undeclared {_TERMS}", "undeclared term",
        "undeclared terms"), 'fetch("terms", kind="undeclared")', "Which terms are undeclared?",
        listed=(f"<wh> {_TERMS} are (undeclared|not declared|used but not declared) <onto>",)),
]  # fmt: skip


_STATED = {
    "label": ("label", "?x rdfs:label|skos:prefLabel ?y"),
    "comment": ("(comment|rdfs:comment)", "?x rdfs:comment ?y"),
    "definition": ("[textual] definition",
                   '?x ?p ?y FILTER(REGEX(STR(?p), "(efinition|IAO_0000115)$"))'),
    "domain": ("(domain|stated domain)", "?x rdfs:domain ?y"),
    "range": ("(range|stated range)", "?x rdfs:range ?y"),
}  # fmt: skip
"""What a term may lack or have: its noun and how it is stated."""
_HAVE = "(have|carry|come with) [any]"
_SAID = (
    ("without", "FILTER NOT EXISTS", "without", "no"),
    ("with", "FILTER EXISTS", f"(with|{_HAVE})", "a"),
)


def _stated() -> list[Form]:
    """What lacks or has a label, a domain …, or any statement: no view lists them."""
    made = []
    sorts = {
        "classes": (_CLASSES, _A_CLASS),
        "properties": (_PROPS, "?x a ?t VALUES ?t { owl:ObjectProperty owl:DatatypeProperty"
                       " rdf:Property } FILTER NOT EXISTS { ?x a owl:AnnotationProperty }"),
        "object properties": (_OBJECT, "?x a owl:ObjectProperty"),
        "datatype properties": (_DATA, "?x a owl:DatatypeProperty"),
    }  # fmt: skip
    for many, (pattern, where) in sorts.items():
        one, name = many.replace("ies", "y").replace("classes", "class"), many.replace(" ", "_")
        start = f"SELECT DISTINCT ?x WHERE {{ {where} FILTER(isIRI(?x)){_NOT_VOCABULARY}"
        for what, (noun, stated) in _STATED.items():
            if many == "classes" and what in ("domain", "range"):
                continue
            for said, test, words, ask in _SAID[: 1 if " " in many else 2]:
                query = f"{start} {test} {{ {stated} }} }} ORDER BY ?x"
                such = f"{said} a {what}" + " (comments apart)" * (what == "definition")
                made += list_all(
                    f"{name}_{said}_{what}",
                    Noun(f"{pattern} {words} [any] {noun}", f"{one} {such}", f"{many} {such}"),
                    f"from_query(sparql_query({query!r}, limit=10000))",
                    f"Which {many} have {ask} {what}?",
                )
        found = (
            f'sparql_query({start!r} + " ?x <" + $property + "> ?y }} ORDER BY ?x", limit=10000)'
        )
        program = f'from_query({found}, %property), "{one}", "{many}"'
        asked = f"{name}_with_statement: Which {many} have a creator?"
        source = f"(<wh>|how many) {pattern} {_HAVE} {{property}} <onto>"
        made.append(form(asked, f"tell_carriers({program})", source))
    return made


_PREFIX = "(prefix|namespaces|namespace prefixes|namespace bindings|prefix bindings)"
WHOLE = [
    *list_all("namespaces", Noun(f"{_PREFIX} [and [their] {_PREFIX}]", "namespace", "namespaces"),
        'fetch("prefixes")', "Which namespaces are bound?",
        listed=(f"<wh> {_PREFIX} (<there> <onto>|does <it> <have>) [and what do they stand for]",
        "<wh> (namespace|prefix) do [{ontology}] terms (use|have|belong to)",
        "namespace of the [{ontology}] terms")),
    form("prefix: What does the prefix harbour stand for?",
         'tell_prefix(fetch("prefixes"), $prefix)',
         "what [namespace] (does|is) prefix {prefix} (stand for|bound to|for|mean|expand to)",
         "what is the (namespace (of|for) prefix {prefix}|{prefix} namespace)"),
    *list_all("imports", Noun("(imports|imported (ontologies|vocabularies|files)|owl:imports|owl"
        " imports|import statements)", "imported ontology", "imported ontologies"),
        'fetch("terms", kind="imports")', "Which ontologies are imported?",
        listed=("<wh> [other] [ontology|vocabulary|file] (does <it> import|is imported [by"
        " <it>|here])", "does <it> import (anything|others|[any] [other] (ontology|files))",
        "is (anything|something) imported <onto>")),
    form("count_triples: How many triples are there?",
         'str(graph_stats()["triples"]) + " triples."',
         "how many (triples|statements) (<there> <onto>|does <it> <have> <total>)",
         "<count> (triples|statements) <onto>", "how (big|large) is <it>"),
    form("metadata: What is this ontology about?", 'tell_metadata(fetch("metadata"))',
         "what is <the> <o> [about]", "(describe|tell me about|summarise|summarize) <the> <o>",
         "<head> [all] (metadata|annotations) <onto>", "what metadata does <it> have",
         "what does <the> <o> (describe|cover)", "give [me] (overview|summary) of <the> <o>"),
    *(
        form(f"metadata_{name}: What is the {name.replace('_', ' ')} of this ontology?",
             f'tell_metadata(fetch("metadata"), {names!r})', f"<head> {said} <onto>",
             f"(who|when) was the {said} <onto>",
             f"<wh> {said} (does|has|is) (<it>|this) [have]", f"<wh> {said} <onto>", *more)
        for name, said, names, more in (
            ("title", "(title|name)", ("title", "label"), ("what is <the> <o> called",)),
            ("version", "(version [number|iri|info]|versioniri|versioninfo)",
             ("versioninfo", "versioniri", "version", "hasversion"),
             ("what version (is <the> <o>|of (<the> <o>|{ontology}) is this)", "version")),
            ("creation_date", "(date|creation date|date of creation|publication date)",
             ("created", "issued", "date", "datecreated", "datepublished"),
             ("when was <it> [first] (created|published|issued|released|made|written)",)),
            ("modification_date", "(modification date|date of [last] modification|last change)",
             ("modified", "datemodified"),
             ("when was <it> [last] (modified|changed|updated)",)),
            ("license", "(license|licence)", ("license", "licence", "rights"),
             ("which (license|licence) is <the> <o> [published|released] under",
              "how is <the> <o> licensed")),
            ("creator", "(creator|author)", ("creator", "author"),
             ("who (created|wrote|authored|made) <it>",)),
            ("contributors", "contributor", ("contributor",),
             ("who contributed to <it>",)),
            ("publisher", "publisher", ("publisher",), ("who published <it>",)),
        )
    ),
    *list_all("ontologies", Noun("(ontologies|ontology headers|declared ontologies)",
        "declared ontology", "declared ontologies"), 'fetch("terms", kind="ontologies")',
        "Which ontologies are declared?",
        listed=("what is the [ontology] iri of <the> <o>", "what is the ontology iri")),
    *list_all("languages", Noun("(languages|label languages|language tags|languages of labels)",
        "language", "languages"), "from_query(sparql_query('SELECT ?x (COUNT(?l) AS ?n) WHERE {"
        ' ?s rdfs:label|skos:prefLabel ?l BIND(LANG(?l) AS ?x) FILTER(?x != "") } GROUP BY ?x'
        " ORDER BY DESC(?n)', limit=1000))", "Which languages do the labels have?",
        listed=("what language (is|has|does) [there] (label|terms)"
        " [have|use|[available|written|given|labelled] in] <onto>",)),
]  # fmt: skip

FORMS = [*_declared(), *_traits(), *HIERARCHY, *_stated(), *WHOLE]
