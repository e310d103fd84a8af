"""What kind of task a run was, read off the calls that decided it: no question is parsed.

The words of a memory must not say more than its calls do, so its kind, its title and how far it
goes are those of the calls. "All subclasses" that were found by a query for one level are direct
subclasses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

YES_NO, NUMBER, NAMESPACES, ONE = "yes or no", "number", "namespaces", "one thing"
"""Forms of an answer."""
_FAMILIES = {
    "orientation": "namespaces imports metadata",
    "entity_description": "describe exists types labels values",
    "hierarchy": "subclasses all_subclasses superclasses all_superclasses roots leaves is_subclass"
    " is_instance subproperties superproperties",
    "property_discovery": "properties_by_domain properties_by_range domain range inverses traits",
    "pattern_search": "search",
    "relationship_discovery": "path",
    "counting": "count",
    "instances": "instances",
    "axioms": "equivalents disjoint restrictions comparison",
    "deprecation": "replaced_by replaces deprecated",
}
FAMILIES = {kind: family for family, kinds in _FAMILIES.items() for kind in kinds.split()}
"""Each kind of task and the family that it belongs to."""
TITLES = {
    "namespaces": "List the namespaces and their prefixes",
    "describe": "Describe a term",
    "exists": "Check whether a term exists",
    "subclasses": "List the direct subclasses of a class",
    "all_subclasses": "Find all subclasses of a class",
    "superclasses": "List the direct superclasses of a class",
    "all_superclasses": "Find all superclasses of a class",
    "roots": "List the root classes of the hierarchy",
    "is_subclass": "Check whether a class is a subclass",
    "is_instance": "Check whether a thing is an instance",
    "properties_by_domain": "List the properties with a given domain",
    "properties_by_range": "List the properties with a given range",
    "search": "Find terms by a piece of their name",
    "path": "Find a path between two terms",
    "instances": "List the instances of a class",
    "classes": "List all classes of the ontology",
    "properties": "List all properties of the ontology",
    "object_properties": "List all object properties",
    "datatype_properties": "List all datatype properties",
    "annotation_properties": "List all annotation properties",
    "individuals": "List all individuals of the ontology",
    "types": "List the types of a thing",
    "labels": "List the labels and synonyms of a term",
    "values": "List the values that a thing has",
    "leaves": "List the classes without subclasses",
    "subproperties": "List the subproperties of a property",
    "superproperties": "List the superproperties of a property",
    "domain": "Tell the domain of a property",
    "range": "Tell the range of a property",
    "inverses": "List the inverses of a property",
    "traits": "List the properties with a trait",
    "equivalents": "List the equivalents of a term",
    "disjoint": "List what a class is disjoint with",
    "restrictions": "List the restrictions of a class",
    "comparison": "Compare two terms",
    "replaced_by": "Tell what replaces a term",
    "replaces": "Tell what a term replaces",
    "deprecated": "List the deprecated terms",
    "imports": "List the imported ontologies",
    "metadata": "Tell what an ontology says of itself",
}
COUNT_TITLES = {
    "": "Count the classes, individuals or triples",
    "all_subclasses": "Count all subclasses of a class",
    "all_superclasses": "Count all superclasses of a class",
    "search": "Count the terms with a piece of name",
    "triples": "Count the triples",
}
"""What is counted where that is not the title of the list with another verb."""
COUNTED = frozenset((*TITLES, "triples"))
"""What can be counted: a tag of a memory that counts."""
FORMS = ("superlative", "comparison", "count", "negation", "path", "values", "listing")
"""Kinds that the form of a query tells, whatever it is about. What questions of a kind say is in
`store.document.KIND_WORDS`: a memory with such a task type is also found by those words."""
DECLARED = ("classes", "properties", "object_properties", "datatype_properties",
            "annotation_properties", "individuals")  # fmt: skip
_INHERITED = {
    "instances": "{} all instances of a class, below it too",
    "properties_by_domain": "{} properties by domain, inherited too",
    "properties_by_range": "{} properties by range, inherited too",
}
"""The titles of lists that also have what a class inherits."""
_PROBED = {
    ("rdfs:subClassOf", "in"): "subclasses",
    ("rdfs:subClassOf", "out"): "superclasses",
    ("rdfs:domain", "in"): "properties_by_domain",
    ("rdfs:range", "in"): "properties_by_range",
    ("rdf:type", "in"): "instances",
}
"""The predicate and the direction of a look at links → what that lists."""
_VIEWS = {
    "instances": "instances",
    "values": "values",
    "restrictions": "restrictions",
    "labels": "labels",
    "metadata": "metadata",
    "prefixes": "namespaces",
}
"""Views that answer one kind of question each → that kind."""
_RELATIONS = {"properties": "properties_by_domain", "range_of": "properties_by_range"}
_TERMS = {
    "object": "object_properties",
    "datatype": "datatype_properties",
    "annotation": "annotation_properties",
    **dict.fromkeys(("functional", "inverse functional", "transitive", "symmetric", "asymmetric",
                     "reflexive", "irreflexive"), "traits"),
}  # fmt: skip
"""What a view is asked for → the kind, where it has another name."""
_TYPES = {
    "owl:Class": "classes",
    "rdfs:Class": "classes",
    "rdf:Property": "properties",
    "owl:ObjectProperty": "object_properties",
    "owl:DatatypeProperty": "datatype_properties",
    "owl:AnnotationProperty": "annotation_properties",
    "owl:NamedIndividual": "individuals",
}

_ANY = re.IGNORECASE
_SUB = "rdfs:subClassOf"
_A = r"(?:a|rdf:type)"
_ENTITY, _VARIABLE = r"\$ENTITY_\d+", r"\?\w+"
_AGAINST = re.compile(r"\b(?:NOT\s+EXISTS|MINUS)\s*\{[^{}]*\}", re.IGNORECASE)
_REACH = re.compile(rf"{_SUB}\s*[+*]")
_ABOUT_TWO = re.compile(rf"{_ENTITY}\s+({_A}|{_SUB})\S*\s+{_ENTITY}")
_BY_SIDE = re.compile(r"rdfs:(domain|range)\b")
_OF_TYPE = re.compile(rf"{_VARIABLE}\s+{_A}(?:/\S+)?\s+({_ENTITY}|{_VARIABLE})")
_BELOW = re.compile(rf"{_VARIABLE}\s+{_SUB}[+*]?\s+{_ENTITY}")
_ABOVE = re.compile(rf"{_ENTITY}\s+{_SUB}[+*]?\s+{_VARIABLE}")
_TYPED = re.compile(rf"{_VARIABLE}\s+{_A}\s+([a-z]+:\w+)")
_VALUES = re.compile(r"VALUES\s+\?\w+\s*\{([^{}]*)\}", re.IGNORECASE)
_EVERYTHING = re.compile(r"\{\s*\?\w+\s+\?\w+\s+\?\w+\s*\.?\s*\}")
_ORDER = re.compile(r"\bORDER\s+BY\s+(.*?)(?:\bLIMIT\s+(\d+)|\}|$)", _ANY | re.DOTALL)
_FEW = 20
_BY_NAME = re.compile(r"^\W*(?:rdfs?|owl|skos):|(?:label|name|title)\W*$", _ANY)
_EXTREME = re.compile(
    rf"\b(?:MAX|MIN)\s*\(|\bNOT\s+EXISTS\s*\{{[^{{}}]*{_VARIABLE}\s*[<>]=?\s*{_VARIABLE}", _ANY
)
_CONSTANT = rf"(?:{_ENTITY}|<[^<>\s]*>|\w+:\w+)"
_SEVERAL = re.compile(
    rf"\bVALUES\s+\(?\s*{_VARIABLE}\s*\)?\s*\{{\s*[^\s{{}}]+\s+[^\s{{}}]+"
    rf"|(?<!LANG\(){_VARIABLE}[\s)]*\bIN\s*\(\s*[^(),]+,"
    rf"|(?<!LANG\()({_VARIABLE})[\s)]*=\s*[^\s?|&]+\s*\|\|[^?|&]*\1[\s)]*="
    r"|(\S*(?:label|name))\s+(?:\"\"|\$TEXT_).*\2\s+(?:\"\"|\$TEXT_)"
    rf"|({_CONSTANT})\s+([^\s?;{{}}]+)\s+{_VARIABLE}(?!\w).*(?!\3\s){_CONSTANT}\s+\4\s+{_VARIABLE}",
    _ANY | re.DOTALL,
)
"""The same of several things: in a list, by `||`, by two labels or as two subjects."""
_ORDERED = re.compile(rf"{_VARIABLE}\s*[<>]=?\s*{_VARIABLE}", _ANY)
_AGGREGATE = re.compile(r"\b(?:COUNT|SUM|AVG)\s*\(", _ANY)
_COMPUTED = re.compile(r"\b(?:COUNT|SUM|AVG|STRLEN)\s*\(", _ANY)
_NEGATED = re.compile(r"\bNOT\s+EXISTS\b|\bMINUS\b|!\s*BOUND\s*\(", _ANY)
_IDIOM = re.compile(rf"{_A}\s*/\s*{_SUB}\s*[*+]?")
_HOPS = re.compile(r"[\w>*+?)]\s*[/|]\s*[\w<^(]\w*|\)[*+]|\w[*+]\s|\^\w")
_OF_ONE = re.compile(rf"{_CONSTANT}\s+[^\s?]+\s+{_VARIABLE}")
_TEXT = re.compile(r'^sparql_query\("(.*)".*\)$', re.DOTALL)
_LITERAL = re.compile(r"\'[^\']*\'|\"[^\"]*\"")
_IRI = re.compile(r"<[^<>\s]*>")
_FORM_TITLES = {
    "count": "Count what a query matches",
    "path": "Follow a chain of properties",
}
"""Where the kind of the same name has a title that says something else."""
_ARGUMENT = re.compile(r"(predicate|direction|output_mode|relation|kind)='([^']*)'")
_VIEW = re.compile(r"ontology_view\('(\w+)'")


@dataclass(frozen=True, slots=True)
class TaskKind:
    """What some calls answer: `name` is '' where they are of no kind that is known here."""

    name: str = ""
    of: str = ""
    """What is counted, for `count`."""
    special_title: str = ""

    @property
    def task_type(self) -> str:
        """The kind as the scope of a memory has it: counting classes is not counting instances."""
        if self.of:
            return f"count_{self.of}"
        return f"list_{self.name}" if self.name in DECLARED else self.name

    @property
    def tags(self) -> list[str]:
        if self.name in DECLARED:
            return [self.task_type, FAMILIES["namespaces"]]
        tags = (self.name, FAMILIES.get(self.name, ""), self.of)
        return list(dict.fromkeys(tag for tag in tags if tag))

    @property
    def title(self) -> str:
        """The title of a procedure for all tasks of this kind."""
        if self.special_title or self.name != "count":
            return self.special_title or TITLES.get(self.name, "")
        if self.of in COUNT_TITLES:
            return COUNT_TITLES[self.of]
        listed = TITLES.get(self.of, "").replace(" of the ontology", "")
        return re.sub(r"^\w+ (?:all |the )?", "Count the ", listed)


def kind_of(calls: Sequence[str], form: str = "") -> TaskKind:
    """The kind of task that these calls answer, as a procedure writes them (`calls.write_call`).
    `form` is that of the answer where it tells more than the call: YES_NO, NUMBER, NAMESPACES, ONE.
    One search may say what there is, or whether it is there."""
    kinds = [_of_call(call, form) for call in calls]
    if len({(kind.name, kind.of) for kind in kinds}) != 1:
        # What else was looked at belongs to a description.
        return next((kind for kind in kinds if kind.name == "describe"), TaskKind())
    kind, listed = kinds[0], kinds[0].of or kinds[0].name
    if not any(map(_is_inherited, calls)):
        return kind
    if listed in ("subclasses", "superclasses"):
        every = f"all_{listed}"
        return replace(kind, of=every) if kind.of else replace(kind, name=every)
    title = _INHERITED.get(listed, "").format("Count" if kind.of else "List")
    return replace(kind, special_title=title) if title else kind


def _is_inherited(call: str) -> bool:
    """Whether a call looks at more than one level of the hierarchy."""
    if call.startswith("ontology_view("):
        instances = call.startswith("ontology_view('instances'") and "all=False" not in call
        return instances or "all=True" in call
    return _REACH.search(_AGAINST.sub(" ", call)) is not None


def _of_call(call: str, form: str) -> TaskKind:
    tool = call.partition("(")[0]
    if tool == "sparql_query":
        return _of_query(call, form)
    said = dict(_ARGUMENT.findall(call))
    if tool == "ontology_view":
        name = _of_view(call, said, form)
    elif tool in ("search_entity", "search_by_label"):
        name = "exists" if form == YES_NO else "search"
    elif tool == "probe_relationships":
        name = _PROBED.get((said.get("predicate", ""), said.get("direction", "")), "")
    elif tool == "graph_stats":
        return TaskKind({NUMBER: "count", NAMESPACES: "namespaces"}.get(form, ""))
    elif tool == "sparql_schema":
        mode = said.get("output_mode", "")
        name = mode if mode in ("namespaces", "classes", "properties") else ""
    else:
        name = {"describe_entity": "describe", "find_path": "path"}.get(tool, "")
    return TaskKind("count", of=name) if form == NUMBER and name else TaskKind(name)


def _of_view(call: str, said: dict[str, str], form: str) -> str:
    """What a view of the ontology answers; '' for one of no kind that is known here."""
    found = _VIEW.match(call)
    view = found[1] if found else ""
    if view == "related":
        relation = said.get("relation", "")
        return _RELATIONS.get(relation, relation)
    if view == "terms":
        return _TERMS.get(said.get("kind", ""), said.get("kind", ""))
    if form == YES_NO and view in ("compare", "instances"):
        return {"compare": "is_subclass", "instances": "is_instance"}[view]
    return "comparison" if view == "compare" else _VIEWS.get(view, "")


def _of_query(query: str, answer: str) -> TaskKind:
    body = _AGAINST.sub(" ", query)
    form = form_of(query, one=answer == ONE)
    other = TaskKind(form, special_title=_FORM_TITLES.get(form, ""))
    counts = answer == NUMBER or re.search(r"\bCOUNT\s*\(", body) is not None
    if query.startswith('sparql_query("ASK'):
        return _of_ask(body) or other
    name = _listed_terms(body, negated=body != query)
    if counts and _EVERYTHING.search(body):
        name = "triples"
    chosen = name in ("instances", "search") and form in ("comparison", "negation")
    if not name or form == "superlative" or chosen:
        return other
    return TaskKind("count", of=name) if counts else TaskKind(name)


def _of_ask(body: str) -> TaskKind | None:
    """Whether one term is of or below another; None for any other question."""
    about = _ABOUT_TWO.search(body)
    if about is None or about[1] != _SUB:
        return about and TaskKind("is_instance")
    title = "" if _REACH.search(body) else "Check whether a class is a direct subclass"
    return TaskKind("is_subclass", special_title=title)


def form_of(query: str, *, one: bool = False) -> str:
    """Which of `FORMS` a SPARQL query has; '' for none. What ranks is a superlative, also when it
    ranks by a count. `one`: its answer names one thing, so of an order only an end was wanted."""
    text = _LITERAL.sub('""', _TEXT.sub(r"\1", query))
    hops = _HOPS.search(_IDIOM.sub("a", re.sub(rf"{_SUB}\s*[*+]", _SUB, _IRI.sub("<i>", text))))
    signs = {
        "superlative": _ranks(text, one=one) or _EXTREME.search(text),
        "comparison": _SEVERAL.search(text) or _ORDERED.search(text),
        "count": _AGGREGATE.search(text),
        "negation": _NEGATED.search(text),
        "path": hops,
        "values": _OF_ONE.search(_body(text)),
        "listing": "SELECT" in text.upper(),
    }
    return next((kind for kind in FORMS if signs[kind]), "")


def _ranks(text: str, *, one: bool) -> bool:
    """Whether a query orders by a value, and not by a name, for what comes first."""
    ends = one or "HAVING" in text.upper()
    for order, limit in _ORDER.findall(text):
        for variable in re.findall(_VARIABLE, order):
            before = re.findall(rf"(\S+)\s+{re.escape(variable)}(?!\w)", text)
            held = any(
                word.upper() == "AS" or (":" in word and not _BY_NAME.search(word))
                for word in before
            )
            by_value = held and not _BY_NAME.search(variable)
            if (by_value or _COMPUTED.search(order)) and (ends or int(limit or _FEW + 1) <= _FEW):
                return True
    return False


def _body(text: str) -> str:
    """The part in braces: where the patterns are."""
    return text[text.find("{") :] if "{" in text else text


def _listed_terms(body: str, *, negated: bool) -> str:
    """What a query lists; '' for what is known by no name here."""
    if re.search(r"\$TEXT_\d", body):
        return "search"
    side = _BY_SIDE.search(body)
    if re.search(_ENTITY, body) is None:
        return _declared_terms(body, negated=negated) if side is None else ""
    if len(set(re.findall(_ENTITY, body))) > 1:
        return ""
    if side is not None:
        other = {"domain": "range", "range": "domain"}[side[1]]
        return "" if f"rdfs:{other}" in body else f"properties_by_{side[1]}"
    if (typed := _OF_TYPE.search(body)) and (typed[1][0] == "$" or _BELOW.search(body)):
        return "instances"
    if _BELOW.search(body):
        return "subclasses"
    return "superclasses" if _ABOVE.search(body) else ""


def _declared_terms(body: str, *, negated: bool) -> str:
    """All terms of a type; roots where classes with something above them are left out."""
    values = _VALUES.search(body)
    names = values[1].split() if values else _TYPED.findall(body)
    types = {_TYPES.get(name, "") for name in names}
    if len(types) > 1 and "properties" in types and all(name.endswith("ties") for name in types):
        types = {"properties"}
    name = next(iter(types)) if len(types) == 1 else ""
    return "roots" if negated and name == "classes" and _SUB not in body else name
