"""Class expressions in Manchester notation: `vin:Wine and (vin:hasColor value vin:Red)`.

An expression is a tree of blank nodes. `render` draws one from the statements of those nodes; where
they come from is its caller's matter: `restrictions` asks the engine, `diff` reads a dump. What is
nested too deep, circular or broken is drawn as far as it goes, the rest as `…`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from rlm.ontology import vocabulary as v
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.labels import cut
from rlm.ontology.meta.graph_meta import NONE, GraphMeta
from rlm.ontology.terms import Term, term_text
from rlm.ontology.views.links import opaque_labels, source
from rlm.ontology.views.listing import Window

Statements = Mapping[str, Mapping[str, list[Term]]]
"""Node (an IRI, or `_:` and a label) → predicate → objects."""
DEPTH, MEMBERS, NODES, VALUE_CHARS = 24, 1_000, 5_000, 160
"""Of one expression: nodes shared again and again could be drawn without end."""
ROWS = 10_000
ANCESTORS = 100
_FILLERS = {"someValuesFrom": "some", "allValuesFrom": "only", "hasValue": "value"}
_NUMBERS = {"cardinality": "exactly", "minCardinality": "min", "maxCardinality": "max"}
_NUMBERS |= {"qualifiedCardinality": "exactly", "minQualifiedCardinality": "min"}
_NUMBERS |= {"maxQualifiedCardinality": "max"}
_FACETS = {"minInclusive": ">=", "maxInclusive": "<=", "minExclusive": ">", "maxExclusive": "<"}
_JOINED = {"intersectionOf": " and ", "unionOf": " or "}
ASKED = {
    v.SUB_CLASS: "subclass of",
    v.OWL + "equivalentClass": "equivalent to",
    v.OWL + "intersectionOf": "equivalent to",
    v.OWL + "unionOf": "equivalent to",
    v.OWL + "complementOf": "equivalent to",
    v.OWL + "oneOf": "equivalent to",
    v.OWL + "disjointUnionOf": "disjoint union of",
    v.OWL + "disjointWith": "disjoint with",
    v.OWL + "hasKey": "has key",
    v.OWL + "propertyChainAxiom": "implied by the chain",
}
"""Predicate of a term that leads to an expression → how the expression is said of the term."""
_OF_EXPRESSIONS = {
    v.SUB_CLASS: "superclass of",
    v.OWL + "equivalentClass": "equivalent to",
    v.OWL + "disjointWith": "disjoint with",
}
"""Predicate that leads from an expression to a term → how the expression is said of the term."""
_INSIDE = (
    *("intersectionOf", "unionOf", "complementOf", "oneOf", "someValuesFrom", "allValuesFrom"),
    *("hasValue", "onClass", "onDataRange", "onProperty", "inverseOf", "onDatatype"),
    *("withRestrictions", "datatypeComplementOf"),
)
INSIDE = (v.RDF + "first", v.RDF + "rest", *(v.OWL + name for name in _INSIDE))


def node_key(term: Term) -> str:
    return f"_:{term['v']}" if term["t"] == "bnode" else str(term["v"])


class ExpressionText:
    """Draws expressions over some statements, with names as `curie` gives them."""

    def __init__(self, statements: Statements, show: Callable[[Term], str]) -> None:
        self._statements, self._show, self._left = statements, show, NODES

    def render(self, term: Term, depth: int = 0) -> str:
        """An expression as text, without brackets around all of it."""
        if term["t"] != "bnode":
            return self._show(term)
        self._left = NODES if depth == 0 else self._left - 1
        if depth > DEPTH or self._left < 0:
            return "…"
        said = self._statements.get(node_key(term), {})
        if v.OWL + "onProperty" in said:
            return self._restriction(said, depth)
        return self.describe(said, depth) or self._others(said, depth)

    def describe(self, said: Mapping[str, list[Term]], depth: int = 0) -> str:
        """What a node is by intersection, union, complement or enumeration; '' for neither."""
        for name, joint in _JOINED.items():
            for head in said.get(v.OWL + name, ())[:1]:
                return joint.join(self._inner(each, depth) for each in self.members(head)) or "…"
        for name, word in (("complementOf", "not"), ("datatypeComplementOf", "not")):
            for value in said.get(v.OWL + name, ())[:1]:
                return f"{word} {self._inner(value, depth)}"
        for head in said.get(v.OWL + "oneOf", ())[:1]:
            return f"{{{', '.join(self.render(one, depth + 1) for one in self.members(head))}}}"
        for base in said.get(v.OWL + "onDatatype", ())[:1]:
            heads = said.get(v.OWL + "withRestrictions", ())[:1]
            facets = [
                text for head in heads for one in self.members(head) for text in self._facets(one)
            ]
            return f"{self.render(base, depth + 1)}[{', '.join(facets)}]"
        for prop in said.get(v.OWL + "inverseOf", ())[:1]:
            return f"inverse {self._inner(prop, depth)}"
        return ""

    def property_of(self, term: Term) -> str:
        """The property that a restriction is about; '' for any other expression."""
        said = self._statements.get(node_key(term), {})
        return "".join(self._inner(prop, 0) for prop in said.get(v.OWL + "onProperty", ())[:1])

    def members(self, head: Term) -> list[Term]:
        """The members of an RDF list; a broken or circular one as far as it goes."""
        found: list[Term] = []
        seen: set[str] = set()
        while head["t"] == "bnode" and (key := node_key(head)) not in seen:
            seen.add(key)
            said = self._statements.get(key, {})
            found += said.get(v.RDF + "first", ())[:1]
            if len(found) >= MEMBERS or not (rest := said.get(v.RDF + "rest")):
                break
            head = rest[0]
        return found

    def _inner(self, term: Term, depth: int) -> str:
        text = self.render(term, depth + 1)
        if term["t"] != "bnode" or " " not in text or text.startswith(("{", "[", "inverse ")):
            return text
        said = self._statements.get(node_key(term), {})
        return text if v.OWL + "onDatatype" in said else f"({text})"

    def _restriction(self, said: Mapping[str, list[Term]], depth: int) -> str:
        prop = self._inner(said[v.OWL + "onProperty"][0], depth)
        for name, word in _FILLERS.items():
            for value in said.get(v.OWL + name, ())[:1]:
                return f"{prop} {word} {self._inner(value, depth)}"
        for name, word in _NUMBERS.items():
            for number in said.get(v.OWL + name, ())[:1]:
                kinds = (*said.get(v.OWL + "onClass", ()), *said.get(v.OWL + "onDataRange", ()))
                of = f" {self._inner(kinds[0], depth)}" if kinds else ""
                return f"{prop} {word} {number['v']}{of}"
        return f"{prop} Self" if v.OWL + "hasSelf" in said else f"{prop} …"

    def _facets(self, node: Term) -> Iterator[str]:
        for predicate, values in sorted(self._statements.get(node_key(node), {}).items()):
            name = predicate.rpartition("#")[2]
            yield f"{_FACETS.get(name, name)} {self._show(values[0])}"

    def _others(self, said: Mapping[str, list[Term]], depth: int) -> str:
        """Any other blank node, by what it says; a list by its members."""
        if v.RDF + "first" in said:
            return f"( {' '.join(self.render(one, depth + 1) for one in self._from(said))} )"
        plain = ((v.TYPE, v.OWL + "Class"), (v.TYPE, v.OWL + "Restriction"))
        parts = sorted(
            f"{self._show({'t': 'iri', 'v': p})} {self.render(value, depth + 1)}"
            for p, values in said.items()
            for value in values
            if (p, value["v"]) not in plain
        )
        return f"[ {' ; '.join(parts)} ]" if parts else "[]"

    def _from(self, said: Mapping[str, list[Term]]) -> list[Term]:
        rest = said.get(v.RDF + "rest", ())[:1]
        return said[v.RDF + "first"][:1] + [one for head in rest for one in self.members(head)]


def term_shower(meta: GraphMeta) -> Callable[[Term], str]:
    """Terms as they stand in an expression: short names, literals cut."""

    def show(term: Term) -> str:
        if term["t"] == "lit":
            term = {**term, "v": cut(term["v"], VALUE_CHARS)}
        return term_text(term, meta.prefixes)

    return show


def read_expressions(
    engine: Engine, terms: Iterable[str], predicates: Iterable[str] = ASKED
) -> dict[str, dict[str, list[Term]]]:
    """What some terms say by expressions, and the statements of the blank nodes in these."""
    names, predicates = " ".join(map(source, terms)), tuple(predicates)
    asked, inside = ("|".join(f"<{iri}>" for iri in iris) for iris in (predicates, INSIDE))
    values = " ".join(f"<{p}>" for p in predicates)
    own = f"VALUES ?s {{ {names} }} VALUES ?p {{ {values} }} ?s ?p ?o"
    deep = f"VALUES ?c {{ {names} }} ?c ({asked})/({inside})* ?s . FILTER(isBlank(?s)) ?s ?p ?o"
    query = f"SELECT DISTINCT ?s ?p ?o WHERE {{ {{ {own} }} UNION {{ {deep} }} }}"
    found: dict[str, dict[str, list[Term]]] = {}
    for row in engine.query(query, limit=ROWS).rows:
        found.setdefault(node_key(row["s"]), {}).setdefault(row["p"]["v"], []).append(row["o"])
    return found


def read_general_axioms(engine: Engine, meta: GraphMeta, iri: str) -> list[dict[str, Any]]:
    """Rows for the axioms that lead from an expression to a term."""
    asked = f"VALUES ?p {{ {' '.join(f'<{p}>' for p in _OF_EXPRESSIONS)} }} ?c ?p {source(iri)}"
    inside = "|".join(f"<{each}>" for each in INSIDE)
    some = f"{{ SELECT ?p ?c {{ {asked} FILTER(isBlank(?c)) }} }}"
    where = f"{some} ?c ({inside})* ?s . FILTER(isBlank(?s)) ?s ?q ?o"
    statements: dict[str, dict[str, list[Term]]] = {}
    tops: dict[tuple[str, str], Term] = {}
    for row in engine.query(f"SELECT DISTINCT ?p ?c ?s ?q ?o {{ {where} }}", limit=ROWS).rows:
        tops[row["p"]["v"], row["c"]["v"]] = row["c"]
        objects = statements.setdefault(node_key(row["s"]), {}).setdefault(row["q"]["v"], [])
        if row["o"] not in objects:
            objects.append(row["o"])
    text = ExpressionText(statements, term_shower(meta))
    rows = [{"text": text.render(top), "by": _OF_EXPRESSIONS[p]} for (p, _), top in tops.items()]
    return sorted(rows, key=lambda row: (row["by"], row["text"]))


def side_text(engine: Engine, meta: GraphMeta, iri: str, side: str) -> str:
    """The domain or range of a property in Manchester notation, where it is more than names and
    unions of names; '' where these say all of it."""
    statements = read_expressions(engine, [iri], [v.RDFS + side])
    text = ExpressionText(statements, term_shower(meta))
    values = statements.get(iri, {}).get(v.RDFS + side, [])
    heads = [statements.get(node_key(each), {}).get(v.OWL + "unionOf", []) for each in values]
    parts = [
        text.members(head[0]) if head else [one] for one, head in zip(values, heads, strict=True)
    ]
    if all(each["t"] != "bnode" for part in parts for each in part):
        return ""
    shown = sorted(map(text.render, values))
    return " and ".join(f"({one})" if len(shown) > 1 and " " in one else one for one in shown)


def restrictions(
    engine: Engine,
    meta: GraphMeta,
    iri: str,
    window: Window,
    *,
    inherited: bool = False,
    lang: str | None = None,
) -> dict[str, Any]:
    """What a term's definition and its superclasses without a name ask of it, and the expressions
    that it is stated to be above. `labels` of a row: of the names in its text that are numbers."""
    sources = [iri]
    if inherited:
        sources += [*meta.equivalents.get(iri, NONE), *meta.above(iri)][:ANCESTORS]
    statements = read_expressions(engine, sources)
    text = ExpressionText(statements, term_shower(meta))
    rows = [row for each in sources for row in _rows(meta, text, statements.get(each, {}), each)]
    for row in rows:
        if row["source"] == meta.curie(iri):
            del row["source"]
    rows += read_general_axioms(engine, meta, iri)

    def show(row: dict[str, Any]) -> dict[str, Any]:
        labels = opaque_labels(meta, row["text"], lang)
        return row | ({"labels": labels} if labels else {})

    return window.page(rows, show, name=meta.curie(iri))


def _rows(
    meta: GraphMeta, text: ExpressionText, said: Mapping[str, list[Term]], iri: str
) -> list[dict[str, Any]]:
    found = []
    for predicate, how in ASKED.items():
        for value in said.get(predicate, ()):
            if predicate.endswith(("subClassOf", "equivalentClass", "disjointWith")):
                if value["t"] != "bnode":
                    continue
                shown = text.render(value)
            elif how == "equivalent to":
                shown = text.describe({predicate: [value]})
            else:
                joint = " o " if predicate.endswith("propertyChainAxiom") else ", "
                shown = joint.join(map(text.render, text.members(value)))
            row = {"text": shown, "by": how, "source": meta.curie(iri)}
            if prop := text.property_of(value):
                row["property"] = prop
            found.append(row)
    return sorted(found, key=lambda row: (row["by"] != "equivalent to", row["by"], row["text"]))
