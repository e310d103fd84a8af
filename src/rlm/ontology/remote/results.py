"""What an endpoint answers: SPARQL 1.1 JSON results, and N-Triples for CONSTRUCT and DESCRIBE.

The bytes come from a stranger. They are capped before they get here; here they are either what the
formats promise or an EndpointError that says what is wrong and where. N-Triples is read by a few
regular expressions, line by line, because a native parser that fails on a crafted input takes the
process with it. Blank nodes are named anew, b0, b1, …: their names mean nothing outside of one
answer.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from rlm.errors import EndpointError
from rlm.ontology import terms
from rlm.ontology.terms import Term

Triple = tuple[Term, Term, Term]

LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
MAX_VARIABLES = 1000
MAX_TRIPLE_DEPTH = 8
SHOWN_CHARS = 80

RESULTS_JSON = "application/sparql-results+json, application/json;q=0.8"
N_TRIPLES = "application/n-triples, text/plain;q=0.5, text/turtle;q=0.1"

_PLAIN = r"[^\x00-\x20<>\"{}|^`\\]*"
_IRI = rf"<({_PLAIN}(?:\\(?:u[0-9A-Fa-f]{{4}}|U[0-9A-Fa-f]{{8}}){_PLAIN})*)>"
_BNODE = r"_:([\w](?:[\w.·-]*[\w·-])?)"
_STRING = r'"([^"\\\n\r]*(?:\\.[^"\\\n\r]*)*)"'
_NODE = re.compile(rf"[ \t]*(?:{_IRI}|{_BNODE})")
_TAG = r"@([A-Za-z]+(?:-[A-Za-z0-9]+)*)"
_OBJECT = re.compile(rf"[ \t]*(?:{_IRI}|{_BNODE}|{_STRING}(?:[ \t]*\^\^[ \t]*{_IRI}|{_TAG})?)")
_END = re.compile(r"[ \t]*\.[ \t]*(?:#[^\n\r]*)?")
_BLANK = re.compile(r"[ \t]*(?:#.*)?")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.?))", re.DOTALL)
_ONE_CHAR = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


class BlankNames:
    """New names for the blank nodes of one answer."""

    def __init__(self) -> None:
        self._new: dict[str, str] = {}

    def term(self, label: str) -> Term:
        return {"t": "bnode", "v": self._new.setdefault(label, f"b{len(self._new)}")}


# -- SPARQL 1.1 JSON results


def read_rows(body: bytes, max_rows: int) -> tuple[list[str], list[dict[str, Term]], bool]:
    """Variables, the first rows, and whether there were more. Raises EndpointError."""
    found = _object(body)
    variables = _variables(found)
    results = found.get("results")
    bindings = results.get("bindings") if isinstance(results, dict) else None
    if not isinstance(bindings, list):
        _wrong("has no list at results.bindings")
    known, names, rows = set(variables), BlankNames(), []
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


def _json_term(value: Any, names: BlankNames, key: str, depth: int = 0) -> Term:
    if not isinstance(value, dict):
        _wrong(f"has a value of ?{_cut(key)} that is no object")
    kind, text = value.get("type"), value.get("value")
    if kind == "triple" and isinstance(text, dict):
        if depth >= MAX_TRIPLE_DEPTH:
            _wrong(f"has triples within triples at ?{_cut(key)}, more than {MAX_TRIPLE_DEPTH} deep")
        parts = (text.get(part) for part in ("subject", "predicate", "object"))
        return {"t": "triple", "v": [_json_term(part, names, key, depth + 1) for part in parts]}
    if not isinstance(kind, str) or not isinstance(text, str):
        _wrong(f"has a value of ?{_cut(key)} without type and value")
    if kind == "uri":
        return terms.iri(text)
    if kind == "bnode":
        return names.term(text)
    if kind not in ("literal", "typed-literal"):
        _wrong(f"has a value of ?{_cut(key)} of an unknown type, {_cut(kind)!r}")
    lang, datatype = value.get("xml:lang"), value.get("datatype")
    if not all(part is None or isinstance(part, str) for part in (lang, datatype)):
        _wrong(f"has a value of ?{_cut(key)} with a language or datatype that is no text")
    return _literal(text, datatype or None, lang)


def _literal(text: str, datatype: str | None, lang: str | None) -> Term:
    """Language tags in lower case, as the local engine has them."""
    datatype = None if datatype == LANG_STRING else datatype
    return terms.literal(text, datatype=datatype, lang=lang.lower() if lang else None)


# -- N-Triples


def read_triples(body: bytes, max_triples: int) -> tuple[list[Triple], bool]:
    """The first triples of an N-Triples document, each once, and whether there were more."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise EndpointError(f"the answer is not UTF-8 (byte {exc.start})") from exc
    names = BlankNames()
    triples: dict[tuple[tuple[tuple[str, str], ...], ...], Triple] = {}
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        if _BLANK.fullmatch(line):
            continue
        triple = _triple(line, names, number)
        key = tuple(tuple(sorted(term.items())) for term in triple)
        if key in triples:
            continue
        if len(triples) >= max_triples:
            return list(triples.values()), True
        triples[key] = triple
    return list(triples.values()), False


def _triple(line: str, names: BlankNames, number: int) -> Triple:
    subject = _NODE.match(line)
    predicate = subject and _NODE.match(line, subject.end())
    found = predicate and _OBJECT.match(line, predicate.end())
    ended = found and _END.fullmatch(line, found.end())
    if not (subject and predicate and found and ended) or predicate[1] is None:
        raise EndpointError(f"the answer is not N-Triples at its line {number}: {_cut(line)!r}")
    iri, bnode, string, datatype, lang = found.groups()
    if string is not None:
        dt = None if datatype is None else _unescape(datatype, number)
        value = _literal(_unescape(string, number), dt, lang)
    else:
        value = _node(iri, bnode, names, number)
    start = _node(subject[1], subject[2], names, number)
    return start, _node(predicate[1], None, names, number), value


def _node(iri: str | None, bnode: str | None, names: BlankNames, number: int) -> Term:
    if iri is not None:
        return terms.iri(_unescape(iri, number))
    return names.term(bnode or "")


def _unescape(text: str, number: int) -> str:
    if "\\" not in text:
        return text
    where = f"at its line {number}"

    def one(match: re.Match[str]) -> str:
        code = match[1] or match[2]
        if code is None:
            if match[3] not in _ONE_CHAR:
                raise EndpointError(f"the answer has an unknown escape {where}: {match[0]!r}")
            return _ONE_CHAR[match[3]]
        point = int(code, 16)
        if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
            raise EndpointError(f"the answer has an escape for no character {where}: {match[0]!r}")
        return chr(point)

    return _ESCAPE.sub(one, text)


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
