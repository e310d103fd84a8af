"""Finding terms by a piece of their name.

Compared without case and diacritics, with humps split: `wasgenerated`, `was generated` and
`wasGeneratedBy` meet. How a hit matched goes from strong to weak: exact, prefix, word (every word
of the query, plural or singular), substring, fuzzy (a slip or two in the spelling; only tried when
nothing else is found). Within one way what is deprecated comes last, and a label beats an
alternative label beats the local name beats the IRI. Individuals that GraphMeta did not keep are
looked for in the engine, by a substring of label or IRI, or, where the spelling is off, by a piece
of it that must be right; there case is ignored, diacritics are not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from rlm.errors import OntologyError
from rlm.ontology import vocabulary as v
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.labels import cut, name_of, pick, plain, squeeze, stem
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.terms import is_machinery, literal, local_name, term_source
from rlm.ontology.views.links import labels_of
from rlm.ontology.views.listing import Page, check_limit

MOST_HITS = 25
QUERY_CHARS = 200
LABEL_CHARS = 120
CANDIDATES = 2_000
MATCH_TYPES = ("exact", "prefix", "word", "substring", "fuzzy")
FIELDS = ("label", "alternative", "localname", "iri")
SEARCH_IN = {
    "label": ("label", "alternative"),
    "localname": ("localname",),
    "iri": ("iri",),
    "all": FIELDS,
}
_FUZZY = MATCH_TYPES.index("fuzzy")
_CONTAINS = "FILTER(isIRI(?s) && CONTAINS(LCASE(STR(?{name})), {text}))"
_BY_LABEL = (
    "SELECT DISTINCT ?s ?l WHERE {{ {{ {triples} }} {test} }} ORDER BY STRLEN(STR(?l)) ?s ?l"
)
_BY_IRI = "SELECT DISTINCT ?s WHERE {{ {triples} {test} }} ORDER BY STRLEN(STR(?s)) ?s"
_BY_PIECES = (
    "SELECT DISTINCT ?s ?l WHERE {{ {{ {triples} }} FILTER(isIRI(?s) && ({test})) }}"
    " ORDER BY ABS(STRLEN(STR(?l)) - {length}) ?s ?l"
)
SUGGESTED = 3


class NameEntry(NamedTuple):
    """One name of one term, made comparable once."""

    iri: str
    field: str
    shown: str
    text: str  # plain words
    joined: str  # the same without spaces
    stems: str  # " word word ", plural endings gone

    @classmethod
    def of(cls, iri: str, field: str, name: str) -> NameEntry:
        if field == "iri":
            return cls(iri, field, name, iri.lower(), name.lower(), "")
        text = plain(name)
        stems = f" {' '.join(map(stem, text.split()))} "
        return cls(iri, field, name, text, text.replace(" ", ""), stems)


class NameHit(NamedTuple):
    how: int
    edits: int
    entry: NameEntry


class SearchText(NamedTuple):
    """What is looked for, in the forms that it is compared in."""

    raw: str
    text: str
    joined: str
    stems: tuple[str, ...]

    @classmethod
    def of(cls, query: str) -> SearchText:
        if not query.strip():
            raise OntologyError("nothing to search for: give a name or a piece of one")
        raw = " ".join(query.split())[:QUERY_CHARS]
        text = plain(raw)
        stems = tuple(map(stem, text.split()))
        return cls(raw.strip("<>").lower(), text, text.replace(" ", ""), stems)


class NameIndex:
    """Every name of every term that GraphMeta holds."""

    def __init__(self, meta: GraphMeta) -> None:
        self.meta = meta
        terms = (*meta.classes, *meta.properties, *meta.ontology_iris)
        iris = dict.fromkeys((*terms, *meta.individuals, *meta.untyped, *meta.labels))
        self.entries = [entry for iri in iris for entry in self._names(iri)]

    def _names(self, iri: str) -> Iterator[NameEntry]:
        for field, source in (("label", self.meta.labels), ("alternative", self.meta.alternatives)):
            for text, _ in source.get(iri, ()):
                yield NameEntry.of(iri, field, text)
        yield NameEntry.of(iri, "localname", name_of(iri))
        yield NameEntry.of(iri, "iri", self.meta.curie(iri))

    def find(self, wanted: SearchText, fields: Collection[str]) -> list[NameHit]:
        """Every match but the fuzzy ones."""
        return _find_matches(wanted, (entry for entry in self.entries if entry.field in fields))

    def find_fuzzy(
        self, wanted: SearchText, fields: Collection[str], more: Iterable[NameEntry] = ()
    ) -> list[NameHit]:
        """Names whose words, or which as one word, are a slip or two away; `more` names too."""
        known = [entry for entry in self.entries if entry.field in fields and entry.field != "iri"]
        names = list(dict.fromkeys((*known, *more)))
        words = {word for entry in names for word in entry.stems.split()}
        near = [_near(word, words) for word in wanted.stems]
        allowed, found = tolerance(wanted.joined), []
        for entry in names if near else ():
            own = entry.stems.split()
            each = [min((edits[w] for w in own if w in edits), default=-1) for edits in near]
            if min(each) >= 0:
                found.append(NameHit(_FUZZY, sum(each), entry))
                continue
            # As one word, with a slip in a short word too.
            apart = distance(wanted.joined, entry.joined, allowed)
            if apart <= allowed:
                found.append(NameHit(_FUZZY, apart, entry))
        return found


def _near(word: str, words: Iterable[str]) -> dict[str, int]:
    allowed = tolerance(word)
    measured = ((other, distance(word, other, allowed)) for other in words)
    return {other: edits for other, edits in measured if edits <= allowed}


def _find_matches(wanted: SearchText, entries: Iterable[NameEntry]) -> list[NameHit]:
    hows = ((match(wanted, entry), entry) for entry in entries)
    return [NameHit(how, 0, entry) for how, entry in hows if how is not None]


def match(wanted: SearchText, entry: NameEntry) -> int | None:
    """How strongly a name matches, 0 the best; None when it does not. No slips in spelling."""
    if entry.field == "iri":
        if wanted.raw in (entry.text, entry.joined):
            return 0
        if entry.text.startswith(wanted.raw) or entry.joined.startswith(wanted.raw):
            return 1
        return 3 if wanted.raw in entry.text else None
    if not wanted.joined:
        return None
    if wanted.joined == entry.joined:
        return 0
    if entry.text.startswith(wanted.text):
        return 1
    if all(f" {word} " in entry.stems for word in wanted.stems):
        return 2
    return 3 if wanted.text in entry.text or wanted.joined in entry.joined else None


def search_entity(
    engine: Engine, index: NameIndex, query: str, limit: int, search_in: str, lang: str | None
) -> Page:
    """The best hits, each as uri, curie, label, kind, match_type and match_in; at most 25."""
    if search_in not in SEARCH_IN:
        raise OntologyError(f"search_in is {search_in!r}; it can be {', '.join(SEARCH_IN)}")
    limit, meta = check_limit(limit, MOST_HITS), index.meta
    wanted, fields = SearchText.of(query), SEARCH_IN[search_in]
    hits = index.find(wanted, fields)
    partial = not meta.has_all_names
    counted = not partial
    if partial and sum(hit.how == 0 for hit in hits) < limit:
        more, counted = _ask(engine, meta, wanted, fields)
        hits += more
    if not hits:
        near = _ask_pieces(engine, meta, wanted, fields) if partial else ()
        hits = index.find_fuzzy(wanted, fields, near)
    best: dict[str, NameHit] = {}
    for hit in sorted(hits, key=lambda hit: _rank(meta, hit)):
        best.setdefault(hit.entry.iri, hit)
    shown = list(best.values())[:limit]
    labels = labels_of(engine, meta, (hit.entry.iri for hit in shown))
    named = ((hit, pick(labels.get(hit.entry.iri, ()), lang)) for hit in shown)
    return Page((_show_hit(meta, *each) for each in named), len(best), counted=counted)


def _ask(
    engine: Engine, meta: GraphMeta, wanted: SearchText, fields: Collection[str]
) -> tuple[list[NameHit], bool]:
    """Hits among everything that the engine holds: labels, then the IRIs of what has a type. And
    whether these are all."""
    entries, whole = list[NameEntry](), True
    for field, triples in _label_triples(meta, fields):
        test = _CONTAINS.format(name="l", text=term_source(literal(wanted.raw)))
        answer = engine.query(_BY_LABEL.format(triples=triples, test=test), limit=CANDIDATES)
        entries += [NameEntry.of(row["s"]["v"], field, row["l"]["v"]) for row in answer.rows]
        whole = whole and not answer.truncated
    if "iri" in fields or "localname" in fields:
        triples = f"?s <{v.TYPE}> ?c ." if v.TYPE in meta.pred_freq else "?s ?p ?o ."
        text = wanted.joined if " " in wanted.raw else wanted.raw
        test = _CONTAINS.format(name="s", text=term_source(literal(text)))
        answer = engine.query(_BY_IRI.format(triples=triples, test=test), limit=CANDIDATES)
        whole = whole and not answer.truncated
        for row in answer.rows:
            iri = row["s"]["v"]
            own = {"localname": name_of(iri), "iri": meta.curie(iri)}
            entries += [NameEntry.of(iri, field, own[field]) for field in own if field in fields]
    return _find_matches(wanted, entries), whole


def _label_triples(meta: GraphMeta, fields: Collection[str]) -> Iterator[tuple[str, str]]:
    """The fields that hold labels, each with a pattern for ?s and ?l."""
    for field, predicates in (("label", v.LABELS), ("alternative", v.ALTERNATIVES)):
        used = [iri for iri in predicates if iri in meta.pred_freq]
        if field in fields and used:
            yield field, " } UNION { ".join(f"?s <{iri}> ?l" for iri in used)


def _ask_pieces(
    engine: Engine, meta: GraphMeta, wanted: SearchText, fields: Collection[str]
) -> list[NameEntry]:
    """Labels that may be meant by a slip: of a word with k slips, cut into k + 1 pieces, one is
    right. The labels nearest in length come first."""
    word = max(wanted.text.split(), key=len, default="")
    slips = tolerance(word)
    if not slips:
        return []
    cuts = [len(word) * n // (slips + 1) for n in range(slips + 2)]
    pieces = [word[a:b] for a, b in pairwise(cuts)]
    texts = (term_source(literal(piece)) for piece in pieces)
    test = " || ".join(f"CONTAINS(LCASE(STR(?l)), {text})" for text in texts)
    entries = []
    for field, triples in _label_triples(meta, fields):
        query = _BY_PIECES.format(triples=triples, test=test, length=len(wanted.raw))
        rows = engine.query(query, limit=CANDIDATES).rows
        entries += [NameEntry.of(row["s"]["v"], field, row["l"]["v"]) for row in rows]
    return entries


def _rank(meta: GraphMeta, hit: NameHit) -> tuple[Any, ...]:
    entry = hit.entry
    standing = 0 if entry.iri in meta.classes else 1 if entry.iri in meta.properties else 2
    strength = (hit.how, hit.edits, entry.iri in meta.deprecated, FIELDS.index(entry.field))
    name = (len(entry.text), entry.text, entry.iri, entry.shown)
    return (*strength, is_machinery(entry.iri), standing, *name)


def _show_hit(meta: GraphMeta, hit: NameHit, label: str | None) -> dict[str, Any]:
    entry = hit.entry
    label = label or name_of(entry.iri)
    found: dict[str, Any] = {
        "uri": entry.iri,
        "curie": meta.curie(entry.iri),
        "label": cut(label, LABEL_CHARS),
        "kind": meta.kind(entry.iri),
        "match_type": MATCH_TYPES[hit.how],
        "match_in": entry.field,
    }
    if entry.field in ("label", "alternative") and entry.shown != label:
        found["matched"] = cut(entry.shown, LABEL_CHARS)
    if entry.iri in meta.deprecated:
        found["deprecated"] = True
        if entry.iri in meta.replaced_by:
            found["use"] = [meta.curie(iri) for iri in meta.replaced_by[entry.iri][:3]]
    return found


def exact_names(meta: GraphMeta, name: str) -> list[str]:
    """Classes and properties whose local name or label is just this text."""
    terms = [iri for iri in (*meta.classes, *meta.properties) if local_name(iri) == name]
    return list(dict.fromkeys(terms)) or list(meta.by_label.get(" ".join(name.lower().split()), ()))


# -- names that are nearly the one asked for, for errors that say what to write instead


def distance(one: str, two: str, most: int) -> int:
    """Edits between two words, a swap of neighbours being one; most + 1 for any more."""
    if one == two:
        return 0
    if abs(len(one) - len(two)) > most:
        return most + 1
    far = most + 1
    older: list[int] = []
    before = list(range(len(two) + 1))
    for i, left in enumerate(one, 1):
        row = [far] * (len(two) + 1)
        row[0] = i
        # Further off the diagonal it is too far.
        for j in range(max(1, i - most), min(len(two), i + most) + 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != two[j - 1]))
            if i > 1 and j > 1 and left == two[j - 2] and one[i - 2] == two[j - 1]:
                best = min(best, older[j - 2] + 1)
            row[j] = best
        if min(row) > most and min(before) > most:
            return far
        older, before = before, row
    return min(before[-1], far)


def tolerance(text: str) -> int:
    """How many edits a word of this length forgives."""
    return 0 if len(text) < 3 else 1 if len(text) < 6 else 2 if len(text) < 12 else 3


def nearest(
    meta: GraphMeta, name: str, among: Iterable[str] | None = None, most: int = SUGGESTED
) -> list[str]:
    """The IRIs whose name or label is nearest to the local name of `name`, the best first."""
    wanted = squeeze(local_name(name.strip("<> ")))
    if not wanted:
        return []
    forgiven = max(1, tolerance(wanted))
    found: dict[str, tuple[int, bool, int, str]] = {}
    named = (*meta.classes, *meta.properties, *meta.individuals, *meta.untyped)
    foreign = (v.SKOS, v.SH, *v.MACHINERY) if len(wanted) < 4 else ()  # sh:not is near to ex:Nope
    for iri in named if among is None else among:
        allowed = 0 if iri.startswith(foreign) else forgiven
        for text in _names(meta, iri):
            edits = distance(wanted, text, allowed)
            if edits > allowed and not _begins(wanted, text):
                continue
            rank = (edits, iri in meta.deprecated, len(text), iri)
            found[iri] = min(rank, found.get(iri, rank))
    return sorted(found, key=lambda iri: found[iri])[:most]


def _begins(one: str, two: str) -> bool:
    """Whether one is the beginning of the other, and long enough to mean something."""
    return min(len(one), len(two)) > 3 and (one.startswith(two) or two.startswith(one))


def _names(meta: GraphMeta, iri: str) -> Iterator[str]:
    yield squeeze(local_name(iri))
    for source in (meta.labels, meta.alternatives):
        for text, _ in source.get(iri, ()):
            yield squeeze(text)


def not_found(
    meta: GraphMeta, given: str, what: str = "term", among: Iterable[str] | None = None
) -> OntologyError:
    """The error for a name that the graph does not have."""
    near = [_show_term(meta, iri) for iri in nearest(meta, given, among)]
    todo = f"did you mean {' or '.join(near)}?" if near else "find its name with search_entity(…)"
    shown = given if len(given) <= 200 else given[:199] + "…"
    return OntologyError(f"there is no {what} {shown} in this graph; {todo}")


def _show_term(meta: GraphMeta, iri: str) -> str:
    curie, label = meta.curie(iri), meta.label(iri)
    return curie if squeeze(label) == squeeze(local_name(iri)) else f"{curie} ({label})"
