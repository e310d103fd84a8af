"""The calls of a run as the steps of a procedure, how they look without the specifics, which terms
of a graph they needed, and how a person repeats them.

Knows no tool, only the names of tools and their parameters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from rlm.errors import RLMError
from rlm.learning.lesson import is_common
from rlm.learning.words import number_in
from rlm.loop.trace import ToolCall
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.query.guard import check_query, declarations
from rlm.ontology.query.shape import names_of, template_of
from rlm.ontology.terms import Prefixes, is_machinery, local_name
from rlm.store.backend import MemoryBackend

LINKING = {"search_entity": "query", "search_by_label": "text"}
"""Tools that find an IRI for a name, and the parameter that holds the name."""
NAMING = {
    "describe_entity": ("uri",),
    "probe_relationships": ("uri", "predicate"),
    "find_path": ("source", "target"),
    "sparql_peek": ("resource",),
    "ontology_view": ("term", "other", "property"),
}
"""Tools that are asked about terms, and the parameters that name them."""
ASKING = ("sparql_query", *NAMING, *LINKING, "predicate_frequency", "graph_stats", "sparql_schema")
"""Tools that a procedure can be made of."""
USUAL: dict[str, dict[str, Any]] = {
    "sparql_query": {"limit": 100},
    "search_entity": {"limit": 10, "search_in": "all"},
    "search_by_label": {"limit": 10},
    "describe_entity": {"limit": 20},
    "probe_relationships": {"direction": "both", "limit": 20},
    "find_path": {"max_depth": 2, "limit": 10},
    "ontology_view": {"relation": "", "kind": "", "all": "", "inherited": ""},
    "predicate_frequency": {"limit": 20},
    "sparql_peek": {"limit": 5, "output_mode": "sample"},
    "sparql_schema": {"output_mode": "overview", "limit": 50},
}
"""What else belongs to a call, with the value that need not be said."""
_BARE = {"uri": "iri", "resource": "iri", "term": "iri", "other": "other_iri",
         "property": "property_iri"}  # fmt: skip
"""How a parameter is written where another word says more than its name."""
_MODE = re.compile(r"[a-z_ ]{1,20}")
_PAGING = ("limit", "offset")
_KEYWORDS = ("predicate", "other", "property")
"""Parameters that are written with their names."""
_LITERAL = re.compile(r"""["']([^"'\n]{2,80})["']""")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")


@dataclass(frozen=True, slots=True)
class CallStep:
    """A call with all that it brought; rows that were read later belong to their query."""

    call: ToolCall
    iris: frozenset[str]
    """In full."""
    names: tuple[str, ...]
    """The terms that it was asked about, in full where they can be; in order."""
    rows: int | None
    numbers: frozenset[str]

    @property
    def tool(self) -> str:
        return self.call.tool

    @property
    def query(self) -> str:
        """The text of a query; '' for any other tool."""
        return str(self.call.args.get("query", "")) if self.tool == "sparql_query" else ""

    @property
    def asked_for(self) -> str:
        """What a search looked for."""
        value = self.call.args.get(LINKING.get(self.tool, ""), "")
        return value if isinstance(value, str) else ""


def steps_of(calls: Iterable[ToolCall], prefixes: Prefixes) -> list[CallStep]:
    """The calls that worked and can be steps of a procedure; the pages of one listing are one."""
    done = [call for call in calls if call.ok]
    asked = [call for call in done if call.tool in ASKING]
    return [
        _step([call, *(other for other in done if _is_page(other, call))], prefixes)
        for call in asked
        if call.tool != "ontology_view" or not call.args.get("offset")
    ]


def _step(parts: Sequence[ToolCall], prefixes: Prefixes) -> CallStep:
    names = (expand_name(name, prefixes) for part in parts for name in part.iris)
    rows = next((part.rows for part in parts if part.rows is not None), None)
    return CallStep(
        parts[0],
        frozenset(filter(None, names)),
        tuple(_names(parts[0], prefixes)),
        rows,
        frozenset().union(*(part.numbers for part in parts)),
    )


def _is_page(other: ToolCall, call: ToolCall) -> bool:
    """Whether a call reads on in what another one found."""
    if other is call:
        return False
    if call.tool == "ontology_view":
        return other.tool == call.tool and _listing(other) == _listing(call)
    return bool(call.key) and other.key == call.key and other.tool != "sparql_query"


def _listing(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call, whichever page it asks for."""
    return {name: value for name, value in call.args.items() if name not in _PAGING}


def _names(call: ToolCall, prefixes: Prefixes) -> list[str]:
    if call.tool == "sparql_query":
        with suppress(RLMError):
            return names_of(str(call.args.get("query", "")), prefixes)
        return []
    values = [call.args.get(name) for name in NAMING.get(call.tool, ())]
    return [
        expand_name(value, prefixes) or value
        for value in values
        if isinstance(value, str) and value
    ]


def expand_name(name: str, prefixes: Prefixes) -> str:
    """A name as an IRI; '' for anything else."""
    with suppress(RLMError):
        return prefixes.expand(name)
    return ""


# -- what the question named


def plain(text: str) -> str:
    """A name as people compare it: words in small letters, without signs, plural and camel case."""
    return " ".join(_singular(word.casefold()) for word in _WORDS.findall(text))


def _singular(word: str) -> str:
    """English only, and the same for a word and its plural rather than right."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "zes")) else word[:-1]


def entities_in(
    steps: Sequence[CallStep], about: Sequence[CallStep], question: str, prefixes: Prefixes
) -> dict[str, str]:
    """The terms that steps `about` something name because the question does → their placeholders,
    numbered as the question has them."""
    terms = dict.fromkeys(name for step in about for name in step.names)
    words = _looked_up(steps)
    places = {term: _place(term, words.get(term, ()), question, prefixes) for term in terms}
    found = sorted((term for term in terms if places[term] >= 0), key=lambda term: places[term])
    return {term: f"$ENTITY_{number}" for number, term in enumerate(found, 1)}


def _looked_up(steps: Sequence[CallStep]) -> dict[str, list[str]]:
    """Terms → the words that found them. A search means one of its hits: that of this name, else
    the first that another step then asked about."""
    used = list(dict.fromkeys(name for step in steps for name in step.names))
    found: dict[str, list[str]] = {}
    for step in steps:
        word = plain(step.asked_for)
        hits = [term for term in used if term in step.iris and not is_common(term)]
        exact = [term for term in step.iris if plain(local_name(term)) == word]
        for term in sorted(exact) or hits[:1]:
            if word:
                found.setdefault(term, []).append(word)
    return found


def _place(term: str, words: Sequence[str], question: str, prefixes: Prefixes) -> int:
    """Where a question names a term: by IRI, searched words or local name; -1 where it does not."""
    for spelled in (term, prefixes.shrink(term)):
        if spelled in question:
            return len(plain(question[: question.index(spelled)]))
    if is_machinery(term):
        return -1
    name = local_name(term)
    by_name = name != name.lower() and not is_common(term)
    known = [*words, *([plain(name)] if by_name else [])]
    asked = f" {plain(question)} "
    return max((asked.find(f" {word} ") for word in known if word), default=-1)


def texts_in(steps: Sequence[CallStep], question: str) -> dict[str, str]:
    """The texts of queries that the question has too → their placeholders, by its order."""
    folded = question.casefold()
    texts = {
        text.casefold().strip(" ^$.*%") for step in steps for text in _LITERAL.findall(step.query)
    }
    places = {
        match.start(): text
        for text in texts
        if len(text) > 1 and (match := re.search(rf"(?<!\w){re.escape(text)}(?!\w)", folded))
    }
    return {places[at]: f"$TEXT_{number}" for number, at in enumerate(sorted(places), 1)}


# -- how a call is written


class CallText(NamedTuple):
    """A call without its specifics. `kept`: names of one ontology that stayed in it."""

    text: str
    kept: Sequence[str] = ()
    query: str = ""


def write_call(
    step: CallStep, entities: Mapping[str, str], texts: Mapping[str, str], prefixes: Prefixes
) -> CallText | None:
    """A call as a procedure shows it; None when it cannot be shown."""
    if step.tool == "sparql_query":
        with suppress(RLMError):
            made = template_of(step.query, prefixes, entities=entities, texts=texts)
            if made is not None:
                return CallText(_join_call(step, [f'"{made.text}"']), made.kept, made.text)
        return None
    if step.tool in LINKING:
        return CallText(_join_call(step, ["name"]))
    view = step.call.args.get("view")
    parts = [f"'{view}'"] if isinstance(view, str) and _MODE.fullmatch(view) else []
    kept: list[str] = []
    for name in NAMING.get(step.tool, ()):
        value = step.call.args.get(name)
        if not isinstance(value, str) or not value:
            continue
        shown = _BARE.get(name, name)
        if name == "predicate":
            iri = expand_name(value, prefixes) or value
            shown = f"'{prefixes.shrink(iri)}'"
            kept += [] if is_common(iri) else [prefixes.shrink(iri)]
        parts.append(f"{name}={shown}" if name in _KEYWORDS else shown)
    return CallText(_join_call(step, parts), kept)


def _join_call(step: CallStep, parts: Sequence[str]) -> str:
    """The call with its parts, and the settings that are not the usual ones."""
    settings = []
    for name, usual in USUAL.get(step.tool, {}).items():
        value = step.call.args.get(name, usual)
        if value == usual or (isinstance(value, bool) and usual != ""):
            continue
        if isinstance(value, int) or (isinstance(value, str) and _MODE.fullmatch(value)):
            settings.append(f"{name}={value!r}")
    return f"{step.tool}({', '.join([*parts, *settings])})"


# -- what runs found out about a graph
#
# A run that is stored names the terms of those of its queries that returned something. Counted over
# the runs that were judged a success, that says what questions about this graph are about, and the
# card of the graph begins with it. A term that the graph has no longer is left out.

MOST_TERMS = 40
RUNS = 200
"""So many of the newest runs are counted."""


def terms_of(calls: Sequence[ToolCall], meta: GraphMeta) -> list[str]:
    """The classes and properties that the queries of a run name, if they returned something."""
    asked = [step for step in steps_of(calls, meta.prefixes) if step.query and step.rows != 0]
    names = dict.fromkeys(name for step in asked for name in step.names)
    known = (name for name in names if name in meta.properties or name in meta.classes)
    return [name for name in known if not is_machinery(name)][:MOST_TERMS]


def learnt_terms(store: MemoryBackend, ontology: str, meta: GraphMeta) -> Counter[str]:
    """How many successful runs over an ontology needed each of the terms that it has."""
    found: Counter[str] = Counter()
    for row in store.learning_rows(RUNS):
        if row.is_success and row.ontology_name == ontology:
            found.update(i for i in row.terms if i in meta.properties or i in meta.classes)
    return found


# -- what an answer rests on, ready to paste
#
# A query is shown whole, with the PREFIX lines that it needs. A view is shown as the call that it
# was, and with a query that was run and finds as many rows, or the same number, where there is one.

SHOWN_CALLS = 30
CHECK_S = 5.0
MOST_ROWS = 10_000
_RELATED = {
    "subclasses": "?term rdfs:subClassOf{} {}",
    "superclasses": "{1} rdfs:subClassOf{0} ?term",
    "subproperties": "?term rdfs:subPropertyOf{} {}",
    "superproperties": "{1} rdfs:subPropertyOf{0} ?term",
    "inverses": "{1} owl:inverseOf|^owl:inverseOf ?term",
    "equivalents": "{1} owl:equivalentClass|^owl:equivalentClass ?term",
    "disjoint": "{1} owl:disjointWith|^owl:disjointWith ?term",
    "domain": "{1} rdfs:domain ?term",
    "range": "{1} rdfs:range ?term",
    "properties": "?term rdfs:domain {1}",
    "range_of": "?term rdfs:range {1}",
    "types": "{1} a ?term",
}
"""Relations of the view `related`; {0} is `+` for any depth, {1} the term."""
_KINDS = {
    "classes": "a owl:Class",
    "object": "a owl:ObjectProperty",
    "datatype": "a owl:DatatypeProperty",
    "annotation": "a owl:AnnotationProperty",
    "functional": "a owl:FunctionalProperty",
    "inverse functional": "a owl:InverseFunctionalProperty",
    "transitive": "a owl:TransitiveProperty",
    "symmetric": "a owl:SymmetricProperty",
    "asymmetric": "a owl:AsymmetricProperty",
    "reflexive": "a owl:ReflexiveProperty",
    "irreflexive": "a owl:IrreflexiveProperty",
    "deprecated": "owl:deprecated true",
    "imports": "^owl:imports ?ontology",
    "ontologies": "a owl:Ontology",
}
"""Lists of the view `terms`."""
_COUNTED = {
    "triple": "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }",
    "object propert": "SELECT (COUNT(DISTINCT ?p) AS ?n) WHERE { ?p a owl:ObjectProperty }",
    "datatype propert": "SELECT (COUNT(DISTINCT ?p) AS ?n) WHERE { ?p a owl:DatatypeProperty }",
    "annotation propert": "SELECT (COUNT(DISTINCT ?p) AS ?n) WHERE { ?p a owl:AnnotationProperty }",
    "class": "SELECT (COUNT(DISTINCT ?c) AS ?n) WHERE { VALUES ?kind { owl:Class rdfs:Class }"
    " ?c a ?kind FILTER(ISIRI(?c)) }",
}
"""What an answer counts, by a piece of its word."""
_STATEMENTS = {
    "out": "{{ {term} {predicate} ?object }}",
    "in": "{{ ?subject {predicate} {term} }}",
    "both": "{{ {{ {term} {predicate} ?object }} UNION {{ ?subject {predicate} {term} }} }}",
}


@dataclass(frozen=True)
class CallRecorder:
    """Calls as people read and repeat them. `resolve` gives the IRI of a name, or raises."""

    engine: Engine
    prefixes: Prefixes
    resolve: Callable[[str], str]
    answer: str = ""

    def record(self, call: ToolCall, query: str = "", *, decisive: bool) -> dict[str, Any]:
        """A call with its tool, arguments, query and rows. `query` is the whole text of one that
        was asked; a decisive view has one where that finds the same."""
        given = {name: value for name, value in call.args.items() if value is not None}
        rows, truth = call.rows, call.value
        if call.tool == "sparql_query":
            query = query or str(given.get("query", ""))
            given.pop("query", None)
        elif decisive and given.get("view") == "compare":
            with suppress(RLMError):
                query, truth = self._find_question(call)
        elif decisive:
            with suppress(RLMError):
                query, rows = self._find_view_query(call)
        found = {"tool": call.tool, "arguments": given, "query": "", "rows": rows}
        if query and isinstance(truth, bool):
            found["boolean"] = truth
        with suppress(RLMError):
            found["query"] = query and self._declare(query)
        return {**found, "decisive": decisive}

    def _declare(self, query: str) -> str:
        """The query with PREFIX lines for all that it uses and does not declare."""
        text = query.strip()
        return declarations(check_query(text), self.prefixes) + text

    def _find_view_query(self, call: ToolCall) -> tuple[str, int | None]:
        """The query that finds as many rows as a view, and how many; '' where there is none."""
        if call.tool in ("graph_stats", "sparql_schema"):
            return self._find_count(), call.rows
        query = self._write_view(call)
        if not query:
            return "", call.rows
        most = MOST_ROWS if call.rows is None else call.rows + 1
        number = len(self.engine.query(query, limit=most, timeout_s=CHECK_S).rows)
        fits = call.rows is None or number in (call.rows, number_in(self.answer))
        return (query, number) if fits else ("", call.rows)

    def _find_question(self, call: ToolCall) -> tuple[str, bool]:
        """The ASK behind a comparison, where that says of two classes what the answer says."""
        term, other = (call.args.get(name) for name in ("term", "other"))
        if not (isinstance(term, str) and isinstance(other, str) and "subclass" in self.answer):
            return "", False
        query = f"ASK {{ {self._name(term)} rdfs:subClassOf+ {self._name(other)} }}"
        found = bool(self.engine.query(query, timeout_s=CHECK_S))
        return (query, found) if self.answer.startswith(("No", "Yes")[found]) else ("", False)

    def _find_count(self) -> str:
        """The query that counts what an answer counts, and comes to the same number."""
        said, number = self.answer.lower(), number_in(self.answer)
        for word, query in _COUNTED.items():
            if word in said:
                [row] = self.engine.query(query, limit=1, timeout_s=CHECK_S).rows
                return query if float(row["n"]["v"]) == number else ""
        return ""

    def _write_view(self, call: ToolCall) -> str:
        args = call.args
        view = str(args.get("view", "")) if call.tool == "ontology_view" else call.tool
        if view == "predicate_frequency":
            counted = "SELECT ?predicate (COUNT(*) AS ?count) WHERE { ?s ?predicate ?o }"
            return f"{counted} GROUP BY ?predicate ORDER BY DESC(?count) LIMIT {call.rows or 25}"
        if view == "terms" and args.get("kind") in _KINDS:
            return _select(f"?term {_KINDS[args['kind']]}")
        name = args.get("term") or args.get("uri")
        return self._write_view_of(view, self._name(name), args) if isinstance(name, str) else ""

    def _write_view_of(self, view: str, term: str, args: Mapping[str, Any]) -> str:
        """The query of a view that tells of one term."""
        if view == "related" and args.get("relation") in _RELATED:
            depth = "+" if args.get("all") else ""
            return _select(_RELATED[str(args["relation"])].format(depth, term))
        if view == "instances":
            return _select(f"?term a{'/rdfs:subClassOf*' if args.get('all', True) else ''} {term}")
        if view == "labels":
            return f"SELECT ?label WHERE {{ {term} rdfs:label ?label }}"
        if view in ("values", "describe_entity", "probe_relationships"):
            way = "both" if view == "probe_relationships" else "out"
            by = args.get("predicate") or args.get("property")
            predicate = self._name(by) if isinstance(by, str) and by else "?predicate"
            pattern = _STATEMENTS[str(args.get("direction", way))]
            return f"SELECT * WHERE {pattern.format(term=term, predicate=predicate)}"
        return ""

    def _name(self, name: str) -> str:
        return self.prefixes.shrink(expand_name(name, self.prefixes) or self.resolve(name))


def _select(pattern: str) -> str:
    return f"SELECT DISTINCT ?term WHERE {{ {pattern} FILTER(ISIRI(?term)) }} ORDER BY ?term"
