"""What an endpoint answers: SPARQL 1.1 JSON results, and N-Triples for CONSTRUCT and DESCRIBE.

The bytes come from a stranger. They are capped before they get here; here they are either what the
formats promise or an EndpointError that says what is wrong and where. A native parser that fails on
a crafted input takes the process with it, so every line of N-Triples is checked before one sees it:
nothing in a line that passes can nest. Blank nodes are named anew, b0, b1, …: their names mean
nothing outside of one answer.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from rlm.errors import EndpointError
from rlm.ontology import terms
from rlm.ontology.terms import BlankNodeLabels, Term

Triple = tuple[Term, Term, Term]

LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
MAX_VARIABLES = 1000
MAX_TRIPLE_DEPTH = 8
SHOWN_CHARS = 80

RESULTS_JSON = "application/sparql-results+json, application/json;q=0.8"
N_TRIPLES = "application/n-triples, text/plain;q=0.5, text/turtle;q=0.1"

_PLAIN = r"[^\x00-\x20<>\"{}|^`\\]*"
_IRI = rf"<{_PLAIN}(?:\\(?:u[0-9A-Fa-f]{{4}}|U[0-9A-Fa-f]{{8}}){_PLAIN})*>"
_BNODE = r"_:[\w](?:[\w.·-]*[\w·-])?"
_STRING = r'"[^"\\\n\r]*(?:\\.[^"\\\n\r]*)*"'
_TAG = r"@[A-Za-z]+(?:-[A-Za-z0-9]+)*"
_OBJECT = rf"(?:{_IRI}|{_BNODE}|{_STRING}(?:[ \t]*\^\^[ \t]*{_IRI}|{_TAG})?)"
_TRIPLE = rf"(?:{_IRI}|{_BNODE})[ \t]*{_IRI}[ \t]*{_OBJECT}[ \t]*\."
_LINE = re.compile(rf"[ \t]*(?:{_TRIPLE}[ \t]*)?(?:#.*)?")


# -- SPARQL 1.1 JSON results


def read_rows(body: bytes, max_rows: int) -> tuple[list[str], list[dict[str, Term]], bool]:
    """Variables, the first rows, and whether there were more. Raises EndpointError."""
    found = _object(body)
    variables = _variables(found)
    results = found.get("results")
    bindings = results.get("bindings") if isinstance(results, dict) else None
    if not isinstance(bindings, list):
        _wrong("has no list at results.bindings")
    known, names, rows = set(variables), BlankNodeLabels(), []
    for number, binding in enumerate(bindings[:max_rows]):
        if not isinstance(binding, dict):
            _wrong(f"has a row {number} that is no object")
        given = {key: value for key, value in binding.items() if key in known and value}
        rows.append({key: _json_term(value, names, key) for key, value in given.items()})
    return variables, rows, len(bindings) > max_rows


def read_boolean(body: bytes) -> bool:
    """The answer of an ASK query. Raises EndpointError."""
    value = _object(body).get("boolean")
    if not isinstance(value, bool):
        _wrong("has no true or false at `boolean`")
    return value


def _object(body: bytes) -> dict[str, Any]:
    import orjson

    try:
        found = orjson.loads(body)
    except ValueError as exc:
        what = f"the answer is not JSON: {str(exc)[:SHOWN_CHARS]}"
        raise EndpointError(f"{what}; it begins {_start(body)}") from exc
    if not isinstance(found, dict):
        _wrong("is not an object")
    return found


def _variables(found: dict[str, Any]) -> list[str]:
    head = found.get("head")
    names = head.get("vars") if isinstance(head, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        _wrong("has no list of names at head.vars")
    if len(names) > MAX_VARIABLES:
        _wrong(f"has {len(names):,} variables; at most {MAX_VARIABLES:,} are read")
    return list(dict.fromkeys(names))


def _json_term(value: Any, names: BlankNodeLabels, key: str, depth: int = 0) -> Term:
    where = f"has a value of ?{_cut(key)}"
    if not isinstance(value, dict):
        _wrong(f"{where} that is no object")
    kind, text = value.get("type"), value.get("value")
    if kind == "triple" and isinstance(text, dict):
        if depth >= MAX_TRIPLE_DEPTH:
            _wrong(f"has triples within triples at ?{_cut(key)}, more than {MAX_TRIPLE_DEPTH} deep")
        parts = (text.get(part) for part in ("subject", "predicate", "object"))
        return {"t": "triple", "v": [_json_term(part, names, key, depth + 1) for part in parts]}
    if not isinstance(kind, str) or not isinstance(text, str):
        _wrong(f"{where} without type and value")
    if kind == "uri":
        return terms.iri(text)
    if kind == "bnode":
        return names.to_public({"t": "bnode", "v": text})
    if kind not in ("literal", "typed-literal"):
        _wrong(f"{where} of an unknown type, {_cut(kind)!r}")
    lang, datatype = value.get("xml:lang"), value.get("datatype")
    if not isinstance(lang, str | None) or not isinstance(datatype, str | None):
        _wrong(f"{where} with a language or datatype that is no text")
    return _literal(text, datatype or None, lang)


def _literal(text: str, datatype: str | None, lang: str | None) -> Term:
    """Language tags in lower case, as the local engine has them."""
    datatype = None if datatype == LANG_STRING else datatype
    return terms.literal(text, datatype=datatype, lang=lang.lower() if lang else None)


# -- N-Triples


def read_triples(body: bytes, max_triples: int) -> tuple[list[Triple], bool]:
    """The first triples of an N-Triples document, each once, and whether there were more."""
    try:
        lines = re.split(r"\r\n|\r|\n", body.decode("utf-8"))
    except UnicodeDecodeError as exc:
        raise EndpointError(f"the answer is not UTF-8 (byte {exc.start})") from exc
    for number, line in enumerate(lines, 1):
        if not _LINE.fullmatch(line):
            raise EndpointError(f"the answer is not N-Triples at its line {number}: {_cut(line)!r}")
    import pyoxigraph as ox  # a query for rows needs none

    from rlm.ontology.engine.ox_terms import to_term

    names, triples = BlankNodeLabels(), dict[ox.Triple, Triple]()
    try:
        for quad in ox.parse("\n".join(lines), format=ox.RdfFormat.N_TRIPLES, lenient=True):
            if quad.triple not in triples and len(triples) >= max_triples:
                return list(triples.values()), True
            parts = (quad.subject, quad.predicate, quad.object)
            s, p, o = (names.to_public(to_term(part)) for part in parts)
            triples[quad.triple] = s, p, {**o, "lang": o["lang"].lower()} if "lang" in o else o
    except SyntaxError as exc:
        raise EndpointError(f"the answer is not N-Triples: {_cut(str(exc))}") from exc
    return list(triples.values()), False


# -- what was not expected


def readable_text(body: bytes, max_chars: int = 300) -> str:
    """A stranger's words as one line: no controls, no marks of direction, cut."""
    text = body[: max_chars * 8].decode("utf-8", "replace")
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"


def _start(body: bytes) -> str:
    return repr(readable_text(body, SHOWN_CHARS)) if body else "with nothing: it is empty"


def _cut(text: str) -> str:
    return readable_text(text.encode("utf-8", "replace"), SHOWN_CHARS)


def _wrong(what: str) -> NoReturn:
    raise EndpointError(f"the answer is no SPARQL result: it {what}")
