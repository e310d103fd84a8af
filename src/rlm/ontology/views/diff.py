"""What changed between two releases of an ontology.

Statements are compared as sets, literals as they are written: 7 is not 07 here. A blank node has no
name that lives on, so a statement that leads to one is compared by what the node says, drawn as an
expression; the members of an intersection, a union, an enumeration or a group have no order, nor is
any of them there twice. Terms are what has a type; a term that is gone is told as renamed where the
newer file says what replaces it, or where exactly one new term of the same kind has its label or
its local name; what is newly deprecated is told apart from what is gone.
"""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from typing import Any, NamedTuple

from rlm.errors import OntologyError
from rlm.ontology import vocabulary as v
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.labels import cut
from rlm.ontology.meta.graph_meta import NONE, GraphMeta
from rlm.ontology.terms import Term, literal, local_name, term_text
from rlm.ontology.views.expressions import ExpressionText
from rlm.ontology.views.hierarchy import name_row

_LITERAL = re.compile(r'"(.*)"(?:@([A-Za-z0-9-]+)|\^\^<([^>]*)>)?', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_PLAIN = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_REST = f"<{v.RDF}rest>"
_END = f"<{v.RDF}nil>"
_SETS = frozenset(
    v.OWL + name
    for name in (
        *("intersectionOf", "unionOf", "oneOf", "disjointUnionOf", "members", "distinctMembers"),
        *("hasKey", "withRestrictions"),
    )
)
"""What leads to a list whose order says nothing."""
_AXIOMS = frozenset((v.SUB_CLASS, v.OWL + "equivalentClass", v.OWL + "disjointWith"))
_HIERARCHY = (v.SUB_CLASS, v.SUB_PROPERTY)
TEXT_CHARS = 300
DEEPEST_NODE = 200
"""Blank nodes nested deeper are compared as if they said nothing."""
EXAMPLES = 5
"""So many rows of each list stand in a summary."""
PARTS = ("added", "removed", "renamed", "deprecated", "restored", "labels", "hierarchy", "axioms")
"""The lists of a comparison, in the order in which they are told."""


class Statement(NamedTuple):
    """One statement; `value` as N-Triples writes it, or an expression."""

    subject: str
    predicate: str
    value: str


class Release:
    """One side: its statements and its GraphMeta."""

    def __init__(self, engine: Engine) -> None:
        dump: Callable[[], list[str]] | None = getattr(engine, "dump", None)
        if dump is None:
            raise OntologyError(f"{engine.source} is an endpoint: only files can be compared")
        self.meta = engine.meta()
        lines = dump()
        blank = [line for line in lines if "_:" in line and _has_blank(line)]
        self.lines = set(lines).difference(blank)
        self._nodes: dict[str, list[tuple[str, str]]] = {}
        roots: list[Statement] = []
        for line in blank:
            subject, predicate, value = line[:-2].split(" ", 2)
            if subject[0] == "_":
                self._nodes.setdefault(subject, []).append((predicate, value))
            else:
                roots.append(Statement(subject[1:-1], predicate[1:-1], value))
        inner = {end for said in self._nodes.values() for _, end in said if end[0] == "_"}
        inner.update(root.value for root in roots)
        roots += [Statement("", "", node) for node in self._nodes if node not in inner]
        self._forms: dict[str, str] = {}
        self._open: dict[str, int] = {}
        self.blank: dict[Statement, list[Statement]] = {}
        for root in roots:
            form = root._replace(value=self._form(root.value, as_set=root.predicate in _SETS))
            self.blank.setdefault(form, []).append(root)

    def _form(self, node: str, depth: int = 0, *, as_set: bool = False) -> str:
        """What a blank node says, the same for nodes that say the same, however they are called.
        `as_set`: of a list, what its members say, in any order."""
        if node in self._open:  # a circle: how far back it leads
            return f"^{depth - self._open[node]}"
        key = f"{node} set" if as_set else node
        if key not in self._forms:
            if depth > DEEPEST_NODE:
                return "_"
            self._open[node] = depth
            parts, seen, todo = list[str](), {node}, [node]
            for each in todo:  # along a list, whatever its length
                said = self._nodes.get(each, ())
                on = [end for p, end in said if p == _REST and end[0] == "_" and end not in seen]
                todo += on
                seen.update(on)
                on += [_END] * as_set
                parts.append(
                    " ; ".join(sorted(self._say(*one, depth) for one in said if one[1] not in on))
                )
            del self._open[node]
            text = " / ".join(sorted(set(parts)) if as_set else parts)
            # as a tree, shared nodes would double at every level
            self._forms[key] = blake2b(text.encode(), digest_size=16).hexdigest()
        return self._forms[key]

    def _say(self, predicate: str, end: str, depth: int) -> str:
        if end[0] != "_":
            return f"{predicate} {end}"
        return f"{predicate} {self._form(end, depth + 1, as_set=predicate[1:-1] in _SETS)}"

    def expression(self, statement: Statement, show: Callable[[Term], str]) -> Statement:
        """A statement that leads to a blank node, with what that says as text."""
        text = ExpressionText(_Terms(self._nodes), show)
        shown = text.render(_term(statement.value))
        if not statement.subject and not shown.startswith("[ "):  # of a class without a name
            shown = (
                "; ".join(
                    f"{shown} {show(_term(predicate))} {text.render(_term(end))}"
                    for predicate, end in sorted(self._nodes.get(statement.value, ()))
                    if predicate[1:-1] in _AXIOMS
                )
                or shown
            )
        return statement._replace(value=shown)

    def terms(self) -> set[str]:
        """The IRIs that have a type."""
        mark = f"> <{v.TYPE}> "
        typed = (line for line in self.lines if mark in line)
        found = {line[1 : line.index(">")] for line in typed}
        return found | {each.subject for each in self.blank if each.predicate == v.TYPE}


class _Terms(dict[str, Mapping[str, list[Term]]]):
    """The statements of blank nodes as `ExpressionText` takes them, made when they are wanted."""

    def __init__(self, nodes: Mapping[str, list[tuple[str, str]]]) -> None:
        super().__init__()
        self._nodes = nodes

    def get(self, node: str, default: Any = None) -> Any:
        found: dict[str, list[Term]] = {}
        for predicate, value in self._nodes.get(node, ()):
            found.setdefault(predicate[1:-1], []).append(_term(value))
        return found


def _has_blank(line: str) -> bool:
    return line[0] == "_" or line.split(" ", 2)[2].startswith("_:")


def _read_line(line: str) -> Statement:
    subject, predicate, value = line[:-2].split(" ", 2)
    return Statement(subject[1:-1], predicate[1:-1], value)


def _term(text: str) -> Term:
    """A node of a line as `ExpressionText` takes it."""
    if text.startswith("<"):
        return {"t": "iri", "v": text[1:-1]}
    if text.startswith("_:"):
        return {"t": "bnode", "v": text[2:]}
    found = _LITERAL.fullmatch(text)
    if found is None:
        return literal(text)
    return literal(_ESCAPE.sub(_unescape, found[1]), datatype=found[3], lang=found[2])


def diff(before: Engine, after: Engine, *, lang: str | None = None) -> dict[str, Any]:
    """Two files compared: numbers, then the lists of PARTS, each whole."""
    collects = gc.isenabled()
    gc.disable()  # millions of lines and nodes, all kept: walking over them takes a third more
    try:
        with ThreadPoolExecutor(2) as pool:  # each waits for a process of its own
            old, new = pool.map(Release, (before, after))
        return Comparison(old, new, lang).result(before.source, after.source)
    finally:
        if collects:
            gc.enable()


class Comparison:
    """What is in one release and not in the other."""

    def __init__(self, old: Release, new: Release, lang: str | None) -> None:
        self._old, self._new, self._lang = old, new, lang
        self._names: dict[str, str] = {}
        self.gone = self._only(old, new)
        self.fresh = self._only(new, old)
        self._alike = {*self.gone}.intersection(self.fresh)  # drawn alike, but not the same
        before, after = old.terms(), new.terms()
        self.removed, self.added = before - after, after - before
        self.kept = before & after
        self.renamed = dict(self._renames())

    def _only(self, one: Release, two: Release) -> list[Statement]:
        """What the first says and the second does not."""
        blank = [
            one.expression(each, self._show)
            for form, said in one.blank.items()
            for each in said[len(two.blank.get(form, ())) :]
        ]
        return [*map(_read_line, one.lines - two.lines), *blank]

    def result(self, before: str, after: str) -> dict[str, Any]:
        old, new = self._old.meta, self._new.meta
        made: dict[str, Any] = {
            "added": [self._term_row(new, iri) for iri in sorted(self.added - self._new_names())],
            "removed": [
                self._term_row(old, iri) for iri in sorted(self.removed - self.renamed.keys())
            ],
            "renamed": [
                {**self._both_names(iri, to), "by": how}
                for iri, (to, how) in sorted(self.renamed.items())
            ],
            "deprecated": [
                name_row(new, iri, self._lang, use=_curies(new, iri))
                for iri in sorted(new.deprecated - old.deprecated)
                if iri in self.kept
            ],
            "restored": [
                name_row(new, iri, self._lang)
                for iri in sorted(old.deprecated - new.deprecated)
                if iri not in self.removed
            ],
            "labels": sorted(self._labels(), key=lambda row: (row["name"], row.get("lang", ""))),
            "hierarchy": list(self._hierarchy()),
            "axioms": sorted(
                self._axioms(), key=lambda row: (row["name"], row["change"], row["text"])
            ),
        }
        counts = {part: len(made[part]) for part in PARTS}
        triples = {"before": old.triple_count, "after": new.triple_count}
        triples |= {"added": len(self.fresh), "removed": len(self.gone)}
        same = not self.fresh and not self.gone
        head = {"before": before, "after": after, "same": same, "triples": triples}
        return {**head, "counts": counts, **made}

    def _show(self, term: Term) -> str:
        if term["t"] == "lit":
            term = {**term, "v": cut(term["v"], TEXT_CHARS)}
        return (
            self._name(term["v"])
            if term["t"] == "iri"
            else term_text(term, self._new.meta.prefixes)
        )

    def _name(self, iri: str) -> str:
        """In the names of the newer release, on both sides, where it has one for this."""
        if iri not in self._names:
            name = self._new.meta.curie(iri)
            self._names[iri] = self._old.meta.curie(iri) if name.startswith("<") else name
        return self._names[iri]

    def _both_names(self, iri: str, to: str) -> dict[str, str]:
        names = {"from": self._old.meta.curie(iri), "to": self._new.meta.curie(to)}
        alike = names["from"] == names["to"]  # one prefix for two namespaces
        return {"from": f"<{iri}>", "to": f"<{to}>"} if alike else names

    def _term_row(self, meta: GraphMeta, iri: str) -> dict[str, Any]:
        return name_row(meta, iri, self._lang, kind=meta.kind(iri))

    # -- renamed

    def _renames(self) -> Iterator[tuple[str, tuple[str, str]]]:
        """Old IRI → new IRI, and how that is known."""
        said = {}
        for iri, targets in self._new.meta.replaced_by.items():
            fresh = [to for to in targets if to in self.added]
            if iri in self.removed and len(targets) == 1 and fresh:
                said[iri] = (fresh[0], "replaced by")
        yield from said.items()
        left = self.removed - said.keys()
        free = self.added - {to for to, _ in said.values()}
        for how, key in (("label", self._by_label), ("local name", self._by_local_name)):
            pairs = list(_matched(left, free, key))
            yield from ((iri, (to, how)) for iri, to in pairs)
            left = left - {iri for iri, _ in pairs}
            free = free - {to for _, to in pairs}

    def _by_label(self, iri: str) -> object:
        meta = self._old.meta if iri in self.removed else self._new.meta
        texts = meta.labels.get(iri)
        return (meta.kind(iri), meta.label(iri, self._lang)) if texts else None

    def _by_local_name(self, iri: str) -> object:
        meta = self._old.meta if iri in self.removed else self._new.meta
        return meta.kind(iri), local_name(iri)

    def _new_names(self) -> set[str]:
        return {to for to, _ in self.renamed.values()}

    # -- what is said of terms that stay

    def _labels(self) -> Iterator[dict[str, Any]]:
        """Labels of terms that stay, by language: what it was, what it is."""
        sides = []
        for side, release in ((self.gone, self._old), (self.fresh, self._new)):
            found: dict[tuple[str, str, str], list[str]] = {}
            predicates = release.meta.text_roles.get("label", ())
            for subject, predicate, value in side:
                if subject in self.kept and predicate in predicates and value.startswith('"'):
                    text, lang = _read_literal(value)
                    found.setdefault((subject, predicate, lang), []).append(text)
            sides.append(found)
        was, now = sides
        for key in was.keys() | now.keys():
            subject, predicate, lang = key
            row: dict[str, Any] = {"name": self._new.meta.curie(subject)}
            if predicate != v.LABELS[0]:
                row["property"] = self._new.meta.curie(predicate)
            row |= {"lang": lang} if lang else {}
            for name, texts in (("before", was.get(key)), ("after", now.get(key))):
                row |= {name: cut(" | ".join(sorted(texts)), TEXT_CHARS)} if texts else {}
            yield row

    def _hierarchy(self) -> Iterator[dict[str, Any]]:
        """Edges between terms that stay, or from one that stays to one that came or went."""
        edges = [_edges(release.meta) for release in (self._old, self._new)]
        for change, found, meta in (
            ("removed", edges[0] - edges[1], self._old.meta),
            ("added", edges[1] - edges[0], self._new.meta),
        ):
            for sub, top in sorted(found):
                if sub in self.kept:
                    how = {"by": "definition"} if meta.follows_by_definition(sub, top) else {}
                    row, above = (name_row(meta, iri, self._lang) for iri in (sub, top))
                    row = {key: row[key] for key in ("name", "label") if key in row}
                    row |= {"name": self._name(sub), "change": change, "above": self._name(top)}
                    yield row | ({"above_label": above["label"]} if "label" in above else {}) | how

    def _axioms(self) -> Iterator[dict[str, Any]]:
        """Every other statement of terms that stay, and what only blank nodes say."""
        for change, side, meta in (
            ("removed", self.gone, self._old.meta),
            ("added", self.fresh, self._new.meta),
        ):
            labels = meta.text_roles.get("label", ())
            for each in side:
                subject, predicate, value = each
                if predicate in labels or self._is_told_elsewhere(each):
                    continue
                text = self._show(_term(value)) if _is_node(value) else cut(value, TEXT_CHARS)
                text = f"{self._name(predicate)} {text}" if subject else text
                row = {"name": self._name(subject) if subject else "[]", "change": change}
                if each not in self._alike:
                    yield row | {"text": text}
                elif change == "added":
                    said = f"{text} (in what is not shown, as the type of a number)"
                    yield row | {"change": "changed", "text": said}

    def _is_told_elsewhere(self, statement: Statement) -> bool:
        """Among the terms that are gone or new, in the hierarchy, or as a term that went out of use
        or came back."""
        subject, predicate, value = statement
        if subject and subject not in self.kept:
            return True
        if predicate in _HIERARCHY and value.startswith("<") and _is_node(value):
            return True
        is_old, is_new = (subject in side.meta.deprecated for side in (self._old, self._new))
        if is_old == is_new:
            return False
        if predicate == v.OWL + "deprecated" or value.startswith(f"<{v.OWL}Deprecated"):
            return True
        return is_new and value[1:-1] in self._new.meta.replaced_by.get(subject, NONE)


def _is_node(value: str) -> bool:
    """Whether a value is an IRI or a literal; else it is an expression, drawn."""
    return bool(_LITERAL.fullmatch(value)) or (value.startswith("<") and " " not in value)


def _matched(
    left: set[str], free: set[str], key: Callable[[str], object]
) -> Iterator[tuple[str, str]]:
    """Pairs of a removed and an added term that alone have the same key."""
    sides: list[dict[object, list[str]]] = []
    for iris in (left, free):
        found: dict[object, list[str]] = {}
        for iri in iris:
            if (value := key(iri)) is not None:
                found.setdefault(value, []).append(iri)
        sides.append(found)
    for value, ones in sides[0].items():
        others = sides[1].get(value, [])
        if len(ones) == len(others) == 1:
            yield ones[0], others[0]


def _edges(meta: GraphMeta) -> set[tuple[str, str]]:
    return {
        (sub, top)
        for edges in (meta.supers, meta.super_properties)
        for sub, tops in edges.items()
        for top in frozenset.__iter__(tops)
    }


def _curies(meta: GraphMeta, iri: str) -> list[str]:
    return [meta.curie(each) for each in meta.replaced_by.get(iri, NONE)]


def _read_literal(text: str) -> tuple[str, str]:
    """The text and the language of a literal as N-Triples writes it."""
    found = _LITERAL.fullmatch(text)
    if found is None:
        return text, ""
    return _ESCAPE.sub(_unescape, found[1]), (found[2] or "").lower()


def _unescape(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _PLAIN.get(found[3], found[3])


def summarize(found: dict[str, Any]) -> dict[str, Any]:
    """The comparison with a few rows of each list, and how many there are by kind of change."""
    lists = ("labels", "hierarchy", "axioms")
    changes = {part: dict(Counter(map(_change, found[part]))) for part in lists if found[part]}
    return {**found, "changes": changes, **{part: found[part][:EXAMPLES] for part in PARTS}}


def _change(row: Mapping[str, Any]) -> str:
    """added, removed or changed."""
    if "change" in row:
        return str(row["change"])
    if "before" in row and "after" in row:
        return "changed"
    return "added" if "after" in row else "removed"


# -- as Markdown

_TITLES = {
    "added": "Added",
    "removed": "Removed",
    "renamed": "Renamed",
    "deprecated": "Deprecated",
    "restored": "No longer deprecated",
    "labels": "Labels",
    "hierarchy": "Hierarchy",
    "axioms": "Other statements",
}


def to_markdown(found: dict[str, Any]) -> str:
    """The comparison as a page for people."""
    triples = found["triples"]
    lines = [
        "# What changed",
        "",
        f"From `{found['before']}` ({triples['before']:,} triples) to `{found['after']}`"
        f" ({triples['after']:,}): {triples['added']:,} statements added,"
        f" {triples['removed']:,} removed. A blank node is compared as a part of the term that it"
        " belongs to, so these numbers need not add up.",
    ]
    for part in PARTS:
        if rows := found[part]:
            count = found["counts"][part]
            kinds = sorted(found.get("changes", {}).get(part, {}).items())
            split = ", ".join(f"{number:,} {change}" for change, number in kinds)
            said = f"{count:,}: {split}" if split else f"{count:,}"
            lines += ["", f"## {_TITLES[part]} ({said})", ""]
            lines += [f"- {_markdown_row(part, row)}" for row in rows]
            lines += [f"- … and {count - len(rows):,} more"] if count > len(rows) else []
    return "\n".join(lines) + "\n"


def _markdown_row(part: str, row: dict[str, Any]) -> str:
    if part == "renamed":
        return f"`{row['from']}` → `{row['to']}` (by {row['by']})"
    name = f"`{row['name']}`" + (f" ({row['label']})" if "label" in row else "")
    if part in ("added", "removed"):
        return f"{name}, {row['kind']}"
    if part == "deprecated":
        use = ", ".join(f"`{each}`" for each in row.get("use", ()))
        return name + (f", use {use}" if use else "")
    if part == "labels":
        tag = f"@{row['lang']}" if "lang" in row else ""
        before, after = row.get("before"), row.get("after")
        return f"{name}{tag}: " + " → ".join(
            f'"{text}"' if text else "none" for text in (before, after)
        )
    if part == "hierarchy":
        how = " by definition" if "by" in row else ""
        label = f" ({row['above_label']})" if "above_label" in row else ""
        return f"{name}: {row['change']} below `{row['above']}`{label}{how}"
    return f"{name}: {row['change']} {row['text']}" if part == "axioms" else name
