"""RDF terms as they cross between processes, and the short names people write for IRIs.

A term is a JSON object: {"t": "iri", "v": …} or {"t": "bnode", "v": "b0"} or {"t": "lit", "v":
lexical form, "dt": IRI, "lang": tag, "dir": "ltr" or "rtl"} or {"t": "triple", "v": [s, p, o]}. A
plain string has neither "dt" nor "lang"; a text with a language has no "dt". A blank node's label
is good for the engine that gave it and for nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeAlias

from rlm.errors import OntologyError, QueryRefused
from rlm.ontology.vocabulary import MACHINERY, XSD

Term: TypeAlias = dict[str, Any]

# What people write without binding it, for namespaces that a file gives no prefix.
WELL_KNOWN: dict[str, str] = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": XSD,
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "prov": "http://www.w3.org/ns/prov#",
    "void": "http://rdfs.org/ns/void#",
    "vann": "http://purl.org/vocab/vann/",
    "sh": "http://www.w3.org/ns/shacl#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "org": "http://www.w3.org/ns/org#",
    "time": "http://www.w3.org/2006/time#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "ssn": "http://www.w3.org/ns/ssn/",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "geosparql": "http://www.opengis.net/ont/geosparql#",
    "schema": "https://schema.org/",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "cc": "http://creativecommons.org/ns#",
    "obo": "http://purl.obolibrary.org/obo/",
    "oboInOwl": "http://www.geneontology.org/formats/oboInOwl#",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "dbo": "http://dbpedia.org/ontology/",
    "dbr": "http://dbpedia.org/resource/",
    "swrl": "http://www.w3.org/2003/11/swrl#",
    "swrlb": "http://www.w3.org/2003/11/swrlb#",
    "skosxl": "http://www.w3.org/2008/05/skos-xl#",
    "qb": "http://purl.org/linked-data/cube#",
    "xkos": "http://rdf-vocabulary.ddialliance.org/xkos#",
    "adms": "http://www.w3.org/ns/adms#",
    "dqv": "http://www.w3.org/ns/dqv#",
    "odrl": "http://www.w3.org/ns/odrl/2/",
    "oa": "http://www.w3.org/ns/oa#",
    "ldp": "http://www.w3.org/ns/ldp#",
    "sd": "http://www.w3.org/ns/sparql-service-description#",
    "rr": "http://www.w3.org/ns/r2rml#",
    "csvw": "http://www.w3.org/ns/csvw#",
    "hydra": "http://www.w3.org/ns/hydra/core#",
    "earl": "http://www.w3.org/ns/earl#",
    "locn": "http://www.w3.org/ns/locn#",
    "acl": "http://www.w3.org/ns/auth/acl#",
    "vs": "http://www.w3.org/2003/06/sw-vocab-status/ns#",
    "ical": "http://www.w3.org/2002/12/cal/ical#",
    "icaltzd": "http://www.w3.org/2002/12/cal/icaltzd#",
    "ontolex": "http://www.w3.org/ns/lemon/ontolex#",
    "sioc": "http://rdfs.org/sioc/ns#",
    "doap": "http://usefulinc.com/ns/doap#",
    "gr": "http://purl.org/goodrelations/v1#",
    "bibo": "http://purl.org/ontology/bibo/",
    "frbr": "http://purl.org/vocab/frbr/core#",
    "fabio": "http://purl.org/spar/fabio/",
    "cito": "http://purl.org/spar/cito/",
    "pav": "http://purl.org/pav/",
    "crm": "http://www.cidoc-crm.org/cidoc-crm/",
    "edm": "http://www.europeana.eu/schemas/edm/",
    "ore": "http://www.openarchives.org/ore/terms/",
    "bf": "http://id.loc.gov/ontologies/bibframe/",
    "mads": "http://www.loc.gov/mads/rdf/v1#",
    "rico": "https://www.ica.org/standards/RiC/ontology#",
    "qudt": "http://qudt.org/schema/qudt/",
    "unit": "http://qudt.org/vocab/unit/",
    "quantitykind": "http://qudt.org/vocab/quantitykind/",
    "saref": "https://saref.etsi.org/core/",
    "brick": "https://brickschema.org/schema/Brick#",
    "bot": "https://w3id.org/bot#",
    "spdx": "http://spdx.org/rdf/terms#",
    "gn": "http://www.geonames.org/ontology#",
    "dbp": "http://dbpedia.org/property/",
}
_SCHEMES = frozenset(
    ("http", "https", "urn", "file", "mailto", "tag", "ftp", "doi", "info", "data", "did", "tel")
) | {"uuid"}
_BARE = frozenset(XSD + name for name in ("integer", "decimal", "double", "boolean"))
_BARE_FORM = re.compile(r"true|false|[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?")
# The engine cannot read a name with two dots, though SPARQL has them.
_LOCAL = re.compile(r"\w[\w-]*(?:\.[\w-]+)?")
_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_ESCAPED = re.compile(r"\\([_~.\-!$&'()*+,;=/?#@%])")
# What a query may hold of a value, so that nothing of it can end its token.
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\\ud800-\udfff]*")
_TAG = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*")
_CONTROL = re.compile(r"[\x00-\x07\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_ESCAPES = dict(zip('\\"\n\r\t\b\f', '\\"nrtbf', strict=True))

_WHOLE = "write the whole IRI, as <http://example.org/name>"
_FIRM = frozenset(("rdf", "rdfs", "owl", "xsd"))


class Prefixes(dict[str, str]):
    """Prefix to namespace: those given, then the well-known ones that are free, `:` last. Of two
    prefixes for one namespace `shrink` takes the first, but rdf, rdfs, owl and xsd before any
    other: procedures and queries call them so. Nothing is bound once it was made."""

    def __init__(self, given: Mapping[str, str] | None = None, *, well_known: bool = True) -> None:
        given = given or {}
        super().__init__((prefix, namespace) for prefix, namespace in given.items() if prefix)
        if well_known:
            for prefix, namespace in WELL_KNOWN.items():
                self.setdefault(prefix, namespace)
        if "" in given:
            self[""] = given[""]

    def expand(self, name: str) -> str:
        """The IRI for `prefix:name`, `<iri>` or an IRI as it is. Else OntologyError."""
        text = name.strip()
        if text.startswith("<") and text.endswith(">"):
            return _whole(text[1:-1], name)
        prefix, colon, rest = text.partition(":")
        if not colon:
            what = f"{name!r} is no IRI and no prefix:name"
            raise OntologyError(f"{what}: write one of them, as in rdfs:label")
        if rest.startswith("//"):
            return _whole(text, name)
        if prefix in self:
            return _whole(self[prefix] + _ESCAPED.sub(r"\1", rest), name)
        if prefix.lower() in _SCHEMES:
            return _whole(text, name)
        what = f"the prefix {prefix + ':'!r} of {name!r} is not bound"
        raise OntologyError(what + self._nearest(prefix))

    def _nearest(self, prefix: str) -> str:
        import difflib  # the engine's worker does without it

        by_lower = {known.lower(): known for known in reversed(list(self))}
        near = difflib.get_close_matches(prefix.lower(), by_lower, n=3, cutoff=0.6)
        if near:
            shown = (f"{by_lower[known]}: (<{self[by_lower[known]]}>)" for known in near)
            return f": did you mean {' or '.join(shown)}? Or {_WHOLE}"
        bound = ", ".join(f"{known}:" for known in list(self)[:12])
        return f"; bound are {bound} …; or {_WHOLE}"

    def shrink(self, iri: str) -> str:
        """`prefix:name` by the longest namespace that leaves a plain name, else `<iri>`."""
        by_namespace, lengths = self._index
        for length in lengths:
            chosen = by_namespace.get(iri[:length])
            if chosen is not None and len(iri) >= length and _LOCAL.fullmatch(iri, length):
                return f"{chosen}:{iri[length:]}"
        return f"<{iri}>"

    @cached_property
    def _index(self) -> tuple[dict[str, str], list[int]]:
        """Namespace to prefix, and the lengths of namespaces: a file may bind very many."""
        found: dict[str, str] = {}
        for prefix, namespace in self.items():
            if namespace and (namespace not in found or prefix in _FIRM):
                found[namespace] = prefix
        return found, sorted(set(map(len, found)), reverse=True)


def local_name(iri: str) -> str:
    """What follows the last `#`, else `/`, else `:`; the IRI itself when nothing does."""
    bare = iri.rstrip("/#")
    for mark in "#/:":
        head, found, tail = bare.rpartition(mark)
        if found and head and tail:
            return tail
    return bare or iri


def term_text(term: Term, prefixes: Prefixes | None = None) -> str:
    """A term as Turtle has it: `ex:a`, `_:b0`, `"text"@en`, `12`, `"2020-01-01"^^xsd:date`."""
    prefixes = _DEFAULT if prefixes is None else prefixes
    kind, value = term["t"], term["v"]
    if kind == "iri":
        return prefixes.shrink(value)
    if kind == "bnode":
        return f"_:{value}"
    if kind == "triple":
        return f"<<( {' '.join(term_text(part, prefixes) for part in value)} )>>"
    datatype = term.get("dt")
    if datatype in _BARE and _BARE_FORM.fullmatch(value):
        return str(value)
    quoted = json.dumps(value, ensure_ascii=False)
    if "lang" in term:
        return f"{quoted}@{term['lang']}" + (f"--{term['dir']}" if "dir" in term else "")
    return quoted if datatype is None else f"{quoted}^^{prefixes.shrink(datatype)}"


def term_plain(term: Term) -> str:
    """A term for a spreadsheet: the IRI, a blank node's label, the text without quotes."""
    if term["t"] == "bnode":
        return f"_:{term['v']}"
    return term_text(term, _NONE) if term["t"] == "triple" else str(term["v"])


def iri(value: str) -> Term:
    """The term for an IRI."""
    return {"t": "iri", "v": value}


def literal(value: str, *, datatype: str | None = None, lang: str | None = None) -> Term:
    """The term for a literal."""
    term: Term = {"t": "lit", "v": value}
    if lang is not None:
        term["lang"] = lang
    elif datatype is not None and datatype != XSD + "string":
        term["dt"] = datatype
    return term


def _whole(iri: str, given: str) -> str:
    found = _NOT_IN_IRI.search(iri)
    if found:
        raise OntologyError(f"{given!r} is no IRI: it may not contain {found.group()!r}")
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", iri):
        todo = "it must start with a scheme, as http: or urn:"
        raise OntologyError(f"{given!r} is no absolute IRI: {todo}")
    return iri


_DEFAULT = Prefixes()
_NONE = Prefixes(well_known=False)


def is_machinery(iri: str) -> bool:
    """Whether this is a term of RDF, RDFS, OWL or SWRL themselves."""
    return iri.startswith(MACHINERY)


def namespace(iri: str) -> str:
    """What comes before the local name; empty when the IRI has no such part."""
    cut = max(iri.rfind("#"), iri.rfind("/"))
    return iri[: cut + 1] if cut > 7 else ""


class BlankNodeLabels:
    """Names for blank nodes: b0, b1, … in the order in which they are first answered."""

    def __init__(self) -> None:
        self._labels: dict[str, str] = {}

    def to_public(self, term: Term) -> Term:
        """A term of a store's as callers see it."""
        if term["t"] == "bnode":
            label = self._labels.setdefault(str(term["v"]), f"b{len(self._labels)}")
            return {"t": "bnode", "v": label}
        if term["t"] == "triple":
            return {"t": "triple", "v": [self.to_public(part) for part in term["v"]]}
        return dict(term)


# -- a term in a query


def term_source(term: Term) -> str:
    """A term as SPARQL writes it. Raises QueryRefused for a blank node and for what is no term."""
    kind, value = term.get("t"), term.get("v")
    if not isinstance(value, str):
        raise QueryRefused(f"a value needs its text at 'v': {_shorten(str(term))}")
    if kind == "iri":
        return _iri_source(value)
    if kind == "bnode":
        what = f"a blank node cannot stand in a query (_:{_shorten(value)})"
        raise QueryRefused(f"{what}: ask by an IRI or a literal")
    if kind != "lit":
        raise QueryRefused(f"a value is an 'iri' or a 'lit', not {_shorten(str(kind))!r}")
    lang, datatype = term.get("lang"), term.get("dt")
    if lang:
        if not isinstance(lang, str) or not _TAG.fullmatch(lang):
            raise QueryRefused(f"no language tag: {_shorten(lang)!r}")
        return f"{_string_source(value)}@{lang}"
    return _string_source(value) + (f"^^{_iri_source(datatype)}" if datatype else "")


def _iri_source(iri: object) -> str:
    if not isinstance(iri, str) or not _ABSOLUTE.fullmatch(iri):
        raise QueryRefused(f"not an absolute IRI: {_shorten(str(iri))!r}")
    return f"<{iri}>"


def _string_source(text: str) -> str:
    parts, before = [], ""
    for char in text:
        if _CONTROL.match(char):
            what = f"a text holds U+{ord(char):04X}"
            raise QueryRefused(f"{what}, which cannot stand in a query: remove it")
        if before == "\\" and char in "uU":
            # Some servers read \uXXXX first and do not see that the backslash is escaped.
            parts.append(f"\\u{ord(char):04X}")
        else:
            parts.append(f"\\{_ESCAPES[char]}" if char in _ESCAPES else char)
        before = char
    return f'"{"".join(parts)}"'


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79] + "…"
