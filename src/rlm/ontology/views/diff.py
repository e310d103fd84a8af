"""What changed between two releases of an ontology.

Statements are compared as sets. A blank node has no name that lives on, so a statement that leads
to one is compared by what the node says, drawn as an expression. Terms are what has a type; a term
that is gone is told as renamed where the newer file says what replaces it, or where exactly one new
term of the same kind has its label or its local name; what is newly deprecated is told apart from
what is gone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from rlm.errors import OntologyError
from rlm.ontology import vocabulary as v
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.labels import cut
from rlm.ontology.meta.graph_meta import NONE, GraphMeta
from rlm.ontology.terms import Term, local_name
from rlm.ontology.views.expressions import ExpressionText
from rlm.ontology.views.hierarchy import name_row

_LINE = re.compile(r"(<[^>]*>|_:\S+) <([^>]*)> (.+) \.")
_LITERAL = re.compile(r'"(.*)"(?:@([A-Za-z0-9-]+)|\^\^<([^>]*)>)?', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_PLAIN = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_HIERARCHY = (v.SUB_CLASS, v.SUB_PROPERTY)
TEXT_CHARS = 300
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
        self.lines = set(dump())
        self.blank = {line for line in self.lines if " _:" in line or line.startswith("_:")}

    def statements(self, lines: Iterable[str]) -> Iterator[Statement]:
        """These lines, but for those with blank nodes."""
        for line in lines:
            if (found := _LINE.fullmatch(line)) and not _has_blank(found):
                yield Statement(found[1][1:-1], found[2], found[3])

    def expressions(self, show: Callable[[Term], str]) -> dict[Statement, int]:
        """The statements that lead to blank nodes, by what these say, and how often each is
        there; what only a blank node says is told of ''."""
        nodes: dict[str, dict[str, list[Term]]] = {}
        roots: list[tuple[str, str, Term]] = []
        inner: set[str] = set()
        for line in self.blank:
            found = _LINE.fullmatch(line)
            if found is None or not _has_blank(found):
                continue
            value = _term(found[3])
            if value["t"] == "bnode":
                inner.add(found[3])
            if found[1].startswith("_:"):
                nodes.setdefault(found[1], {}).setdefault(found[2], []).append(value)
            else:
                roots.append((found[1][1:-1], found[2], value))
        text = ExpressionText(nodes, show)
        said = [Statement(subject, p, text.render(value)) for subject, p, value in roots]
        alone = (node for node in nodes if node not in inner)
        said += [Statement("", "", text.render({"t": "bnode", "v": node[2:]})) for node in alone]
        counted: dict[Statement, int] = {}
        for each in said:
            counted[each] = counted.get(each, 0) + 1
        return counted

    def terms(self) -> set[str]:
        """The IRIs that have a type."""
        mark = f"> <{v.TYPE}> "
        typed = (line for line in self.lines if mark in line and line[0] == "<")
        return {line[1 : line.index(">")] for line in typed}


def _has_blank(found: re.Match[str]) -> bool:
    return found[1][0] == "_" or found[3].startswith("_:")


def _term(text: str) -> Term:
    """A node as `ExpressionText` takes it; a literal stays as it is written."""
    if text.startswith("<"):
        return {"t": "iri", "v": text[1:-1]}
    return {"t": "bnode", "v": text[2:]} if text.startswith("_:") else {"t": "lit", "v": text}


def diff(before: Engine, after: Engine, *, lang: str | None = None) -> dict[str, Any]:
    """Two files compared: numbers, then the lists of PARTS, each whole."""
    old, new = Release(before), Release(after)
    return Comparison(old, new, lang).result(before.source, after.source)


class Comparison:
    """What is in one release and not in the other."""

    def __init__(self, old: Release, new: Release, lang: str | None) -> None:
        self._old, self._new, self._lang = old, new, lang
        self.gone = list(old.statements(old.lines - new.lines))
        self.fresh = list(new.statements(new.lines - old.lines))
        was, now = old.expressions(self._show), new.expressions(self._show)
        self.gone += [each for each, n in was.items() for _ in range(n - now.get(each, 0))]
        self.fresh += [each for each, n in now.items() for _ in range(n - was.get(each, 0))]
        before, after = old.terms(), new.terms()
        self.removed, self.added = before - after, after - before
        self.kept = before & after
        self.renamed = dict(self._renames())

    def result(self, before: str, after: str) -> dict[str, Any]:
        old, new = self._old.meta, self._new.meta
        made: dict[str, Any] = {
            "added": [self._term_row(new, iri) for iri in sorted(self.added - self._new_names())],
            "removed": [
                self._term_row(old, iri) for iri in sorted(self.removed - self.renamed.keys())
            ],
            "renamed": [
                {"from": old.curie(iri), "to": new.curie(to), "by": how}
                for iri, (to, how) in sorted(self.renamed.items())
            ],
            "deprecated": [
                name_row(new, iri, self._lang, use=_curies(new, iri))
                for iri in sorted((new.deprecated - old.deprecated) - self.renamed.keys())
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
        """In the names of the newer release, on both sides."""
        return self._new.meta.curie(term["v"]) if term["t"] == "iri" else str(term["v"])

    def _term_row(self, meta: GraphMeta, iri: str) -> dict[str, Any]:
        return name_row(meta, iri, self._lang, kind=meta.kind(iri))

    # -- renamed

    def _renames(self) -> Iterator[tuple[str, tuple[str, str]]]:
        """Old IRI → new IRI, and how that is known."""
        old, new = self._old.meta, self._new.meta
        said = {}
        for iri, targets in new.replaced_by.items():
            fresh = [to for to in targets if to in self.added]
            known = iri in self.kept | self.removed and iri not in old.deprecated
            if known and len(targets) == 1 and fresh:
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
                    yield {
                        "name": meta.curie(sub),
                        "change": change,
                        "above": meta.curie(top),
                        **how,
                    }

    def _axioms(self) -> Iterator[dict[str, Any]]:
        """Every other statement of terms that stay, and what only blank nodes say."""
        for change, side, meta in (
            ("removed", self.gone, self._old.meta),
            ("added", self.fresh, self._new.meta),
        ):
            labels = meta.text_roles.get("label", ())
            for subject, predicate, value in side:
                if subject and subject not in self.kept:
                    continue
                named = value.startswith("<")
                if predicate in labels or (predicate in _HIERARCHY and named):
                    continue
                shown = meta.curie(value[1:-1]) if named else cut(value, TEXT_CHARS)
                name = meta.curie(subject) if subject else "[]"
                text = f"{meta.curie(predicate)} {shown}" if subject else shown
                yield {"name": name, "change": change, "text": text}


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
        f" {triples['removed']:,} removed.",
    ]
    for part in PARTS:
        if rows := found[part]:
            lines += ["", f"## {_TITLES[part]} ({len(rows):,})", ""]
            lines += [f"- {_markdown_row(part, row)}" for row in rows]
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
        return f"{name}: {row['change']} below `{row['above']}`{how}"
    return f"{name}: {row['change']} {row['text']}" if part == "axioms" else name
