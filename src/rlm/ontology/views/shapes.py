"""An index of SHACL shapes: which of them target what, and what they ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlm.ontology import vocabulary as v
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.labels import cut
from rlm.ontology.meta.graph_meta import NONE, GraphMeta
from rlm.ontology.terms import Term, local_name
from rlm.ontology.views.expressions import VALUE_CHARS, ExpressionText, node_key, term_shower
from rlm.ontology.views.links import source
from rlm.ontology.views.listing import Window

SH = "http://www.w3.org/ns/shacl#"
ROWS, MOST_STATEMENTS, DEPTH = 10_000, 200_000, 8
_TARGETS = {
    "targetClass": "class",
    "targetNode": "node",
    "targetSubjectsOf": "subjects of",
    "targetObjectsOf": "objects of",
}
_NUMBERS = {"minCount": "min", "maxCount": "max"}
_LEFT_OUT = frozenset(
    SH + name
    for name in (
        *("path", "property", "order", "group", "name", "description", "defaultValue"),
        *("rule", "target", *_TARGETS),
    )
)
_PATHS = {"zeroOrMorePath": "*", "oneOrMorePath": "+", "zeroOrOnePath": "?"}
_MARKS = (SH + "property", *(SH + name for name in _TARGETS))
_ALL = f"""
    {{ ?shape a ?t VALUES ?t {{ <{SH}NodeShape> <{SH}PropertyShape> }} }}
    UNION {{ ?shape ?q ?x VALUES ?q {{ {" ".join(f"<{iri}>" for iri in _MARKS)} }} }}"""
_OF_CLASS = f"""
    {{ VALUES ?class {{ %s }} ?shape <{SH}targetClass> ?class }}
    UNION {{ VALUES ?shape {{ %s }} }}"""
_SHAPES = f"""
SELECT DISTINCT ?s ?p ?o WHERE {{
  {{ SELECT DISTINCT ?shape WHERE {{ %s }} }}
  ?shape (<{SH}property>|<{SH}path>|<{SH}in>|<{SH}or>|<{SH}and>|<{SH}xone>|<{SH}not>|<{SH}node>
    |<{SH}inversePath>|<{SH}alternativePath>|<{SH}zeroOrMorePath>|<{SH}oneOrMorePath>
    |<{SH}zeroOrOnePath>|<{SH}languageIn>|<{SH}qualifiedValueShape>|<{SH}ignoredProperties>
    |<{SH}sparql>
    |<{v.RDF}first>|<{v.RDF}rest>)* ?s . ?s ?p ?o
  FILTER(?s = ?shape || isBlank(?s) || EXISTS {{ ?other <{SH}property> ?s }})
}}"""


def shapes(engine: Engine, meta: GraphMeta, iri: str | None, window: Window) -> dict[str, Any]:
    """Every shape with a name or a target; of one term: those that target it, ask about it, or are
    it."""
    index = _ShapeIndex(engine, meta)
    rows = [row for key in index.shapes() if (row := index.row(key, iri))]
    rows.sort(key=lambda row: (row["shape"].startswith("_:"), row["shape"]))
    head = {} if iri is None else {"name": meta.curie(iri)}
    page = window.page(rows, lambda row: row, **head)
    return page | ({"note": index.note} if index.note else {})


def shapes_of(engine: Engine, meta: GraphMeta, iri: str) -> tuple[list[str], list[str]]:
    """The shapes that target a class, and the paths that they ask about."""
    index = _ShapeIndex(engine, meta, iri)
    keys = [key for key in index.shapes() if index.aims_at(key, iri)]
    paths = dict.fromkeys(path for key in keys for path in index.paths(key))
    return sorted(map(index.name, keys)), sorted(paths)


def _with_superclasses(meta: GraphMeta, iri: str) -> set[str]:
    """A class and what is stated to be above it: SHACL reads no definitions."""
    found, todo = {iri}, [iri]
    while todo:
        sub = todo.pop()
        fresh = meta.supers.get(sub, NONE) - meta.defined_supers.get(sub, NONE) - found
        found |= fresh
        todo += fresh
    return found


class _ShapeIndex:
    """All shapes, or those that may target one class."""

    def __init__(self, engine: Engine, meta: GraphMeta, iri: str | None = None) -> None:
        self._meta = meta
        classes = " ".join(map(source, () if iri is None else _with_superclasses(meta, iri)))
        wanted = _SHAPES % (_OF_CLASS.replace("%s", classes) if classes else _ALL)
        self._statements: dict[str, dict[str, list[Term]]] = {}
        more = not meta.pred_freq.keys().isdisjoint(_MARKS)
        for offset in range(0, MOST_STATEMENTS if more else 0, ROWS):
            answer = engine.query(f"{wanted} OFFSET {offset}", limit=ROWS)
            for row in answer.rows:
                said = self._statements.setdefault(node_key(row["s"]), {})
                said.setdefault(row["p"]["v"], []).append(row["o"])
            if not (more := answer.truncated):
                break
        self.note = f"only {MOST_STATEMENTS:,} statements were read" if more else ""
        self._show = term_shower(meta)
        self._text = ExpressionText(self._statements, self._show)
        self._open: set[str] = set()  # the blank nodes that are being drawn

    def shapes(self) -> list[str]:
        """The shapes that stand for themselves: with a name, or with a target."""
        return [
            key
            for key, said in self._statements.items()
            if any(SH + name in said for name in _TARGETS)
            or (not key.startswith("_:") and (self._is_shape(said) or SH + "property" in said))
        ]

    def _is_shape(self, said: Mapping[str, list[Term]]) -> bool:
        kinds = {term["v"] for term in said.get(v.TYPE, ())}
        return bool(kinds & {SH + "NodeShape", SH + "PropertyShape"})

    def name(self, key: str) -> str:
        return key if key.startswith("_:") else self._meta.curie(key)

    def aims_at(self, key: str, iri: str) -> bool:
        """Whether a shape targets the instances of a class, or of one above it."""
        targets = self._targets(key, self._statements[key])
        classes = _with_superclasses(self._meta, iri)
        return any(word == "class" and term["v"] in classes for word, term in targets)

    def paths(self, key: str) -> list[str]:
        parts = self._parts(self._statements[key])
        return [self._path(term) for each in parts for term in each.get(SH + "path", ())]

    def _parts(self, said: Mapping[str, list[Term]]) -> list[Mapping[str, list[Term]]]:
        """A shape and its properties."""
        props = said.get(SH + "property", ())
        return [said, *(self._statements.get(node_key(each), {}) for each in props)]

    def row(self, key: str, wanted: str | None) -> dict[str, Any] | None:
        """A shape; None where it is not about the wanted term, or is a class that asks nothing."""
        said = self._statements[key]
        targets = self._targets(key, said)
        parts = self._parts(said)
        paths = {term["v"] for each in parts for term in each.get(SH + "path", ())}
        about = {key, *paths, *(term["v"] for _, term in targets)}
        if wanted is not None and wanted not in about and not self.aims_at(key, wanted):
            return None
        asks = [text for each in parts if (text := self._ask(each))]
        if not asks and wanted is None and not any(SH + name in said for name in _TARGETS):
            return None
        return {
            "shape": self.name(key),
            "targets": [f"{word} {self._show(term)}" for word, term in targets],
            "asks": sorted(asks),
        }

    def _targets(self, key: str, said: Mapping[str, list[Term]]) -> list[tuple[str, Term]]:
        found = [
            (word, term) for name, word in _TARGETS.items() for term in said.get(SH + name, ())
        ]
        own = ("class", {"t": "iri", "v": key})
        kinds = {term["v"] for term in said.get(v.TYPE, ())}
        kinds.update(*map(self._meta.above, kinds))
        if kinds & v.CLASS_TYPES and own not in found:  # such a shape targets its instances
            found.append(own)
        return found

    def _ask(self, said: Mapping[str, list[Term]]) -> str:
        """`ex:name: min 1, max 1, datatype xsd:string`; within another shape its properties too;
        a constraint in SPARQL by its message, else by the first line of its query."""
        if query := said.get(SH + "select") or said.get(SH + "ask"):
            told = min(term["v"] for term in said.get(SH + "message", query))
            return cut(told.strip().partition("\n")[0], VALUE_CHARS)
        parts = [
            f"{_NUMBERS.get(local_name(p), local_name(p))} {self._value(value)}"
            for p, values in sorted(said.items(), key=lambda each: _place(each[0]))
            if p.startswith(SH) and p not in _LEFT_OUT
            for value in values
        ]
        if self._open:
            parts += map(self._value, said.get(SH + "property", ()))
        path = "".join(self._path(term) for term in said.get(SH + "path", ())[:1])
        asked = ", ".join(parts)
        return f"{path}: {asked}" if path and asked else path or asked

    def _value(self, term: Term) -> str:
        if term["t"] != "bnode":
            return self._show(term)
        key = node_key(term)
        if key in self._open or len(self._open) > DEPTH:  # a circle, or nested without end
            return "…"
        self._open.add(key)
        members = self._text.members(term)
        inner = ", ".join(map(self._value, members)) or self._ask(self._statements.get(key, {}))
        self._open.discard(key)
        return f"({inner})"

    def _path(self, term: Term, depth: int = 0) -> str:
        if term["t"] != "bnode" or depth > 8:
            return self._show(term)
        if members := self._text.members(term):
            return "/".join(self._path(each, depth + 1) for each in members)
        for p, values in self._statements.get(node_key(term), {}).items():
            name = local_name(p)
            if name == "inversePath":
                return f"^{self._path(values[0], depth + 1)}"
            if name == "alternativePath":
                parts = (self._path(each, depth + 1) for each in self._text.members(values[0]))
                return f"({'|'.join(parts)})"
            if name in _PATHS:
                return f"{self._path(values[0], depth + 1)}{_PATHS[name]}"
        return "…"


def _place(predicate: str) -> tuple[int, str]:
    name = local_name(predicate)
    first, last = ("minCount", "maxCount", "datatype", "class", "nodeKind"), ("message", "severity")
    return first.index(name) if name in first else len(first) + (name in last), name
