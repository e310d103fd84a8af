"""Forms of question about the ontology as a whole: what it declares, binds, imports, and says of
itself."""

from __future__ import annotations

from dataclasses import replace

from rlm.llm.offline.forms_properties import TRAITS
from rlm.llm.offline.frames import Form, Noun, form, list_all

_CLASSES = "[declared|named|owl] (classes|class|concept classes)"
_PROPS = "[declared|named] (properties|property|relations|predicates)"
_OBJECT = "[declared|named] (object properties|object property|objectproperties)"
_DATA = "[declared|named] (datatype properties|data properties|datatype property|data property)"
_ANNOTATION = "[declared|named] (annotation properties|annotation property)"
_INDIVIDUALS = "[named|declared] (individuals|individual|named individuals)"
_TERMS = "(terms|term|entities|things)"
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
    "([marked as|marked] (deprecated|obsolete|retired|outdated)|(no longer|not any more) (current"
    "|valid|used|in use|to be used|recommended))"
)
_WITHOUT = "(without|with no|that have no|having no|that do not have|that lack|lacking|missing)"
_LACK = "((have|has) no|(do not have|don't have|lack|miss|without) [a|any])"
_IN_SPACE = (
    "[that are] (in|from|of|under|within|to) the {prefix} (namespace|prefix)",
    "[that are] in [the] namespace {prefix}",
    "with [the] (prefix|namespace) {prefix}",
    "whose (iri|iris|prefix) (is|start|starts|begin|begins) [with] {prefix}",
)


def _current(name: str, noun: Noun, call: str) -> list[Form]:
    """What is not deprecated."""
    return list_all(
        f"current_{name}",
        Noun(f"(non-deprecated|non-obsolete|current|active|undeprecated) ({noun.pattern})"
             f"|({noun.pattern}) (excluding|without|except|except for|leaving out|not counting"
             "|ignoring|apart from|[that|which] [are] not|but not) [the|any] (deprecated"
             "|obsolete) [ones|class|classes|term|terms|property|properties]",
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
        for ask, start, tell, heads in (
            ("Which", "", "tell_list", "<wh>|<head> [all] [the]"),
            ("How many", "count_", "tell_count", "how many|<count>"),
        ):
            asked = f"{start}{name}_in_namespace: {ask} {many} are in the harbour namespace?"
            program = (
                f'{tell}(fetch("terms", kind="{kind}", prefix=$prefix), "{one} in this namespace",'
                f' "{many} in this namespace")'
            )
            source = f"({heads}) {pattern} [are|are there|exist|belong] ({'|'.join(_IN_SPACE)})"
            made.append(form(asked, program, source))
        made += list_all(
            f"deprecated_{name}",
            Noun(f"(deprecated|obsolete|obsoleted|retired) {pattern}", f"deprecated {one}",
                 f"deprecated {many}"),
            f'fetch("terms", kind="{kind}", only="deprecated")',
            f"Which {many} are deprecated?",
            listed=(f"<wh> [of the] {pattern} <onto> (are|is) {_OLD} <onto>",),
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
            props = f"{word} (properties|property|relations)"
            are = f"(is|are) [declared|stated] [to be|as] {said}"
            made += list_all(
                f"{trait.replace(' ', '_')}_{sort + '_' * bool(sort)}properties",
                Noun(f"[declared] {said} {props}", f"{trait} {sorted_}property",
                     f"{trait} {sorted_}properties"),
                call,
                f"Which {sorted_}properties are {trait}?",
                listed=(f"<wh> [of the] {props} <onto> {are} <onto>",
                        f"<list> [all] [the] {props} that {are} <onto>",
                        f"<list> [all] [the] {props} declared [to be|as] {said} <onto>"),
            )  # fmt: skip
    return made


_ROOT = (
    "(root|top|top-level|topmost|top level|uppermost) [class|classes|terms]|roots"
    "|roots of the [class] hierarchy|(classes|class) [that are] at the [very] top"
    " [of the [class] hierarchy]|classes"
    f" {_WITHOUT} [a|any] [named|stated] (superclass|superclasses|parent|parents"
    "|parent class|parent classes)|root classes of the [class] hierarchy"
)
_LEAF = (
    "(leaf|bottom) (class|classes)|leaves|leaves of the [class] hierarchy|classes"
    f" {_WITHOUT} [a|any] [named] (subclass|subclasses|children|child|child classes)"
)
_DEFINED = (
    "(defined|fully defined) (class|classes)|classes (defined by|with) [an]"
    " (equivalence|equivalences|equivalent class axiom|equivalent class axioms)"
)
_TOPS = "root of the class hierarchy", "roots of the class hierarchy"
HIERARCHY = [
    *list_all(
        "roots", Noun(_ROOT, *_TOPS), 'fetch("terms", kind="roots")', "What are the root classes?",
        listed=(
            f"<wh> classes {_LACK} [named|stated] (superclass|superclasses|parent|parents|parent"
            " class) <onto>",
            "<wh> classes (are|is) at the [very] top [of the [class] hierarchy] <onto>",
            "<wh> classes (are|is) [the] (roots|root|top-level|root classes|topmost|top classes)"
            " [of the [class] hierarchy] <onto>", "where does the class hierarchy (begin|start)"),
    ),
    *_current("roots", Noun(f"({_ROOT})", *_TOPS), 'fetch("terms", kind="roots", only="current")'),
    *list_all(
        "leaves", Noun(_LEAF, "leaf class", "leaf classes"), 'fetch("terms", kind="leaves")',
        "Which classes have no subclasses?",
        listed=(f"<wh> classes {_LACK} [named] (subclass|subclasses|children|child) <onto>",
                "<wh> classes are (leaves|leaf classes) [of the [class] hierarchy] <onto>"),
    ),
    *list_all(
        "defined_classes", Noun(_DEFINED, "defined class", "defined classes"),
        'fetch("terms", kind="defined")', "Which classes are defined by an equivalence?",
        listed=(
            "<wh> classes (have|has) (an equivalence|equivalent classes|an equivalent class|(a|an)"
            " (equivalent class|logical|formal) (definition [by equivalence]|axiom)) <onto>",
            "<wh> classes (are|is) defined by ([an] equivalence|equivalences|equivalent classes)"
            " <onto>"),
    ),
    *list_all(
        "deprecated_terms",
        Noun(f"(deprecated|obsolete|retired) [{_TERMS}]", "deprecated term", "deprecated terms"),
        'fetch("terms", kind="deprecated")', "Which terms are deprecated?",
        listed=(f"<wh> {_TERMS} <onto> (are|is) {_OLD} <onto>",
                "what is (deprecated|obsolete) <onto>", "is anything deprecated <onto>"),
    ),
    *list_all(
        "undeclared_terms", Noun(f"undeclared {_TERMS}", "undeclared term", "undeclared terms"),
        'fetch("terms", kind="undeclared")', "Which terms are undeclared?",
        listed=(f"<wh> {_TERMS} (are|is) (undeclared|not declared|used but not declared) <onto>",),
    ),
]  # fmt: skip


_STATED = {
    "label": ("(label|labels)", "?x rdfs:label|skos:prefLabel ?y"),
    "comment": ("(comment|comments|rdfs:comment)", "?x rdfs:comment ?y"),
    "definition": ("[textual] (definition|definitions)",
                   '?x ?p ?y FILTER(REGEX(STR(?p), "(efinition|IAO_0000115)$"))'),
    "domain": ("(domain|domains|stated domain)", "?x rdfs:domain ?y"),
    "range": ("(range|ranges|stated range)", "?x rdfs:range ?y"),
}  # fmt: skip
"""What a term may lack or have: its noun and how it is stated."""
_HAVE = "(have|has|carry|carries|(come|comes) with) [a|an|any]"
_SAID = (
    ("without", "FILTER NOT EXISTS", _WITHOUT, _LACK, "no"),
    ("with", "FILTER EXISTS", "with", _HAVE, "a"),
)


def _stated() -> list[Form]:
    """What lacks or has a label, a definition, a domain or a range, or the statements of any one
    property: queries, for no view lists them."""
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
            for said, test, words, listed, ask in _SAID[: 1 if " " in many else 2]:
                query = f"{start} {test} {{ {stated} }} }} ORDER BY ?x"
                such = f"{said} a {what}" + " (comments apart)" * (what == "definition")
                made += list_all(
                    f"{name}_{said}_{what}",
                    Noun(f"{pattern} {words} [a|any|an] {noun}", f"{one} {such}", f"{many} {such}"),
                    f"from_query(sparql_query({query!r}, limit=10000))",
                    f"Which {many} have {ask} {what}?",
                    listed=(f"<wh> {pattern} {listed} {noun} <onto>",),
                )
        found = (
            f'sparql_query({start!r} + " ?x <" + $property + "> ?y }} ORDER BY ?x", limit=10000)'
        )
        program = f'from_query({found}, %property), "{one}", "{many}"'
        asked = f"{name}_with_statement: Which {many} have a creator?"
        source = f"(<wh>|how many) {pattern} {_HAVE} {{property}} <onto>"
        made.append(form(asked, f"tell_carriers({program})", source))
    return made


_PREFIX = (
    "(prefix|prefixes|namespaces|namespace|namespace prefixes|namespace bindings|prefix bindings)"
)
WHOLE = [
    *list_all(
        "namespaces",
        Noun(f"{_PREFIX}|prefixes and [the|their] namespaces|namespaces and [the|their] prefixes"
             "|namespaces and prefixes", "namespace", "namespaces"),
        'fetch("prefixes")', "Which namespaces are bound?",
        listed=(
            f"<wh> {_PREFIX} (are|is) (used|bound|declared|defined) <onto> [and what do they"
            " stand for]",
            f"<wh> {_PREFIX} (does|do) <it> <have> [and what do they stand for]",
            "<wh> (namespace|prefix) (do|does) [the] [{ontology}] terms (use|have|belong to)",
            "[the] namespace of the [{ontology}] terms"),
    ),
    form("prefix: What does the prefix harbour stand for?",
         'tell_prefix(fetch("prefixes"), $prefix)',
         "what does [the] prefix {prefix} (stand for|mean|expand to)",
         "<wh> namespace (does|is) [the] prefix {prefix} (stand for|bound to|expand to)",
         "what is [the] prefix {prefix} (bound to|for)",
         "(what|which) is the namespace (of|for) [the] prefix {prefix}",
         "what is the {prefix} namespace"),
    *list_all(
        "imports",
        Noun("(imports|imported (ontologies|ontology|vocabularies|files)|owl:imports|owl imports"
             "|import statements)", "imported ontology", "imported ontologies"),
        'fetch("terms", kind="imports")', "Which ontologies are imported?",
        listed=(
            "<wh> [other] [ontology|ontologies|vocabularies|files] does <it> import",
            "<wh> [other] [ontology|ontologies|vocabularies|files] (is|are) imported"
            " [by <it>|here]",
            "does <it> import (anything|others|[any] [other] (ontology|ontologies|files))",
            "is (anything|something) imported <onto>"),
    ),
    form("count_triples: How many triples are there?",
         'str(graph_stats()["triples"]) + " triples."',
         "how many (triples|statements) <there> <onto>",
         "how many (triples|statements) does <it> <have> <total>",
         "<count> (triples|statements) <onto>", "how (big|large) is <it>"),
    form("metadata: What is this ontology about?", 'tell_metadata(fetch("metadata"))',
         "what is <the> <o> [about]", "describe <the> <o>", "tell me about <the> <o>",
         "<list> [all] [the] metadata <onto>", "what metadata does <it> have",
         "(what|which) (are|is) the (metadata|annotations) of <the> <o>", "summarise <the> <o>",
         "summarize <the> <o>", "what does <the> <o> (describe|cover)",
         "give [me] (an overview|a summary) of <the> <o>"),
    *(
        form(f"metadata_{name}: What is the {name} of this ontology?",
             f'tell_metadata(fetch("metadata"), {names!r})', f"<head> [the] {said} <onto>",
             f"(who|when) (was|were) the {said} <onto>",
             f"<wh> {said} (does|has|is) (<it>|this) [have]", f"<wh> {said}", *more)
        for name, said, names, more in (
            ("title", "(title|name)", ("title", "label"), ("what is <the> <o> called",)),
            ("version", "(version|version number|version iri|versioniri|version info|versioninfo)",
             ("versioninfo", "versioniri", "version", "hasversion"),
             ("what version is <the> <o>", "<wh> version of (<the> <o>|{ontology}) is this",
              "version")),
            ("license", "(license|licence)", ("license", "licence", "rights"),
             ("under (which|what) (license|licence) is <the> <o> [published|released]",
              "how is <the> <o> licensed")),
            ("creator", "(creator|creators|author|authors)", ("creator", "author"),
             ("who (created|wrote|authored|made) <the> <o>",)),
            ("contributors", "(contributor|contributors)", ("contributor",),
             ("who contributed to <the> <o>",)),
            ("publisher", "publisher", ("publisher",), ("who published <the> <o>",)),
        )
    ),
    *list_all(
        "ontologies",
        Noun("(ontologies|ontology headers|declared ontologies)", "declared ontology",
             "declared ontologies"),
        'fetch("terms", kind="ontologies")', "Which ontologies are declared?",
        listed=("what is the [ontology] iri of <the> <o>", "what is the ontology iri"),
    ),
    *list_all(
        "languages",
        Noun("(languages|label languages|language tags|languages of [the] labels)", "language",
             "languages"),
        "from_query(sparql_query('SELECT ?x (COUNT(?l) AS ?n) WHERE {"
        ' ?s rdfs:label|skos:prefLabel ?l BIND(LANG(?l) AS ?x) FILTER(?x != "") } GROUP BY ?x'
        " ORDER BY DESC(?n)', limit=1000))",
        "Which languages do the labels have?",
        listed=(
            "(in which|in what|which|what) (language|languages) (are|is|do|does) [the] (labels"
            "|label|terms) (in|have|use|available in|written in|given in|labelled in|given"
            "|written|labelled) <onto>",
            "in <wh> languages are there labels <onto>",
            "<wh> languages do the labels have"),
    ),
]  # fmt: skip

FORMS = [*_declared(), *_traits(), *HIERARCHY, *_stated(), *WHOLE]
