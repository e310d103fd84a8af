"""Makes a GraphMeta of a pyoxigraph store; what describes the schema comes from `schema_builder`.

`scan_store` runs in the engine's worker, where the store is; `graph_meta.complete_scan` adds names
for the namespaces on the host's side. Only the statements that describe terms are read, predicate
by predicate. What grows with the data is held as sets of strings: the typed individuals, and the
untyped subjects where there are any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

from pyoxigraph import Store

from rlm.ontology import vocabulary as v
from rlm.ontology.background import Background
from rlm.ontology.labels import Label, cut, pick, text_roles, tidy
from rlm.ontology.meta.class_use import ClassUseReader
from rlm.ontology.meta.schema_builder import (
    DeclaredTypes,
    read_classes,
    read_deprecated,
    read_properties,
    read_types,
)
from rlm.ontology.meta.store_reader import StoreReader
from rlm.ontology.terms import namespace

if TYPE_CHECKING:
    from rlm.ontology.meta.graph_meta import GraphMeta

COMMENT_CHARS = 500
LABEL_CHARS = 200
LABELS_PER_TERM = 40
Labels = dict[str, list[Label]]


def build_meta(store: Store, prefixes: Mapping[str, str] | None = None) -> GraphMeta:
    """What is in the store, all graphs together. `prefixes`: the file's own, if known."""
    from rlm.ontology.meta import graph_meta  # dataclasses: a worker does without

    found, preferred = scan_store(store, graph_meta.INDIVIDUALS)
    complete = graph_meta.complete_scan(found, prefixes or {}, preferred)
    complete["missing_imports"] = complete["imports"]  # nobody says that any was read
    return graph_meta.GraphMeta.from_dict(complete)


def scan_store(store: Store, individuals: int) -> tuple[dict[str, Any], dict[str, str]]:
    """A GraphMeta as JSON without version and namespaces, and the prefixes that vocabularies in the
    store recommend (vann). At most so many individuals are named."""
    reader = StoreReader(store)
    subjects = Background(lambda: reader.subject_count)
    types = read_types(reader)
    said = {*types.ontologies}
    types.ontologies = said or _find_undeclared_ontology(reader, types)
    found = read_classes(reader, types)
    use = Background(ClassUseReader(store, reader, found).read)
    found |= read_properties(reader, types)
    found |= read_deprecated(reader, types, found["kinds"])
    main = _find_main(reader, types, found)
    titled = {main} if main else _find_scheme(reader, types)
    ontologies = sorted(types.ontologies, key=lambda iri: (iri != main, iri))
    terms = found["classes"].keys() | found["properties"].keys() | types.ontologies
    named = types.individuals | (types.shapes - terms)
    named -= types.ontologies
    sample, untyped, unknown = _smallest(individuals, named), set[str](), list[str]()
    roles = _read_roles(reader, found["super_properties"])
    languages = Background(lambda: reader.languages(roles.get("label", ())))
    labels = _read_labels(reader, roles, terms.union(sample, titled))
    comments = _read_comments(reader, roles, terms | titled)
    # Seldom in data, and to know it takes longer than all of the above.
    if untyped := _find_untyped(reader, types, subjects.result()) - terms:
        unknown = _smallest(individuals, untyped)
        labels = _read_labels(reader, roles, terms.union(sample, titled, unknown))
    found |= labels
    found |= {
        "class_use": use.result(),
        "text_roles": roles,
        "languages": languages.result(),
        "restriction_count": reader.pred_freq.get(v.OWL + "onProperty", 0),
        "comments": comments,
        "triple_count": sum(reader.pred_freq.values()),
        "subject_count": subjects.result(),
        "pred_freq": reader.pred_freq,
        "individuals": {"count": len(named), "sample": sample},
        "untyped": {"count": len(untyped), "sample": unknown},
        "examples": dict(sorted(types.examples.items())),
        "ontology_iris": ontologies,
        "ontology_declared": said == types.ontologies,
        "imports": sorted({iri for _, iri in reader.named_pairs(v.OWL + "imports")}),
        "main_ontology": main,
        "title": "".join(pick(labels["labels"].get(iri, ())) or "" for iri in titled),
        "description": "".join(comments.get(iri, "") for iri in titled),
    }
    return found, _preferred_prefixes(reader)


def _find_undeclared_ontology(reader: StoreReader, types: DeclaredTypes) -> set[str]:
    """Where no owl:Ontology is declared, the namespace of most terms, if the file says of it what
    is said of ontologies, and not that it is something else: a concept scheme has a title too."""
    terms = types.declared | types.properties.keys()
    spaces = Counter(space for space in map(namespace, terms) if space).most_common(1)
    names = {name for space, _ in spaces for name in (space, space[:-1])}
    names -= terms | types.individuals
    found = {name for name in names if any(map(partial(reader.objects_of, name), v.OF_ONTOLOGIES))}
    return found if len(found) == 1 else set()


def _find_main(reader: StoreReader, types: DeclaredTypes, found: Mapping[str, Any]) -> str:
    """The ontology that the file is: of several the one that imports others and that none imports,
    else the one that most terms belong to by their IRIs; '' where it cannot be told."""
    here = types.ontologies
    if len(here) < 2:
        return next(iter(here), "")
    named = {version: iri for iri, version in reader.named_pairs(v.OWL + "versionIRI")}
    ends = [(one, named.get(two, two)) for one, two in reader.named_pairs(v.OWL + "imports")]
    pairs = [(one, two) for one, two in ends if one in here and two in here and one != two]
    roots = {one for one, _ in pairs} - {two for _, two in pairs}
    if len(roots) == 1:
        return roots.pop()
    return _find_largest(here, roots or here, (*found["declared"], *found["declared_properties"]))


def _find_scheme(reader: StoreReader, types: DeclaredTypes) -> set[str]:
    """Where no ontology is declared, the concept scheme of a thesaurus, if there is one only."""
    found = set() if types.ontologies else reader.named_subjects_of(v.TYPE, v.SCHEME)
    return set(found) if len(found) == 1 else set()


def _find_largest(here: set[str], wanted: set[str], terms: Iterable[str]) -> str:
    """Which of the wanted ontologies most terms belong to by their IRIs; '' for a tie."""
    bases = {iri.rstrip("#/"): iri for iri in here}
    counted: Counter[str] = Counter()
    for term in terms:
        base = max((base for base in bases if term.startswith(base)), key=len, default="")
        counted[bases.get(base, "")] += 1
    best = [(n, iri) for iri, n in counted.most_common() if iri in wanted]
    is_clear = len(best) == 1 or (len(best) > 1 and best[0][0] > best[1][0])
    return best[0][1] if is_clear else ""


def _find_untyped(reader: StoreReader, types: DeclaredTypes, subjects: int) -> set[str]:
    """The IRIs among the subjects without a type. The counts tell that there are none, mostly."""
    typed = types.individuals | types.schema | types.shapes
    if subjects == len(typed) and not types.only_listed:
        return set()
    return reader.named_subjects() - typed


def _smallest(count: int, names: set[str]) -> list[str]:
    """The same as sorting all and taking the first, in less time where most are not wanted."""
    return sorted(names)[:count] if len(names) < 10 * count else nsmallest(count, names)


def _read_roles(reader: StoreReader, supers: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """Which predicates give labels, synonyms, definitions, comments and examples here."""
    labels = Labels()
    for iri, text, lang in reader.texts_of(reader.pred_freq.keys(), v.LABELS[0]):
        labels.setdefault(iri, []).append((text, lang))
    return text_roles(reader.pred_freq, labels, supers)


def _read_labels(
    reader: StoreReader, roles: Mapping[str, list[str]], wanted: Collection[str]
) -> dict[str, Any]:
    """labels and alternatives."""
    labels, alternatives = Labels(), Labels()
    for role, target in (("label", labels), ("synonym", alternatives)):
        found: dict[str, list[tuple[int, str, str]]] = {}
        for rank, predicate in enumerate(roles.get(role, ())):
            for iri, text, lang in reader.texts_of(wanted, predicate):
                found.setdefault(iri, []).append((rank, cut(text, LABEL_CHARS), lang))
        for iri in sorted(found):
            ranked = found[iri] if len(found[iri]) == 1 else sorted(found[iri])
            if kept := tidy((text, lang) for _, text, lang in ranked)[:LABELS_PER_TERM]:
                target[iri] = kept
    return {"labels": labels, "alternatives": alternatives}


def _read_comments(
    reader: StoreReader, roles: Mapping[str, list[str]], terms: Collection[str]
) -> dict[str, str]:
    """The definition of each term, else its comment."""
    found: dict[str, tuple[int, list[Label]]] = {}
    places = (*roles.get("definition", ()), *roles.get("comment", ()))
    for rank, predicate in enumerate(places):
        for iri, text, lang in reader.texts_of(terms, predicate):
            if text.strip() and found.setdefault(iri, (rank, []))[0] == rank:
                found[iri][1].append((text, lang))
    return {
        iri: cut(pick(sorted(texts)) or "", COMMENT_CHARS)
        for iri, (_, texts) in sorted(found.items())
    }


def _preferred_prefixes(reader: StoreReader) -> dict[str, str]:
    """Prefix → namespace, as a vocabulary recommends it for itself; a literal beats an IRI."""
    space, prefix = v.VANN + "preferredNamespaceUri", v.VANN + "preferredNamespacePrefix"
    spaces = dict(sorted(reader.named_pairs(space)))
    spaces |= {iri: text for iri, text, _ in sorted(reader.texts(space))}
    names = sorted((iri, text) for iri, text, _ in reader.texts(prefix))
    return {text: spaces[iri] for iri, text in names if iri in spaces}
