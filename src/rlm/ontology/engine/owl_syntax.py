"""OWL/XML, OWL functional syntax and OBO as RDF/XML, by py-horned-owl, in the worker.

Measured against 87 conversions of OBO's own reference cases: functional syntax gives the same
triples in all of them, OBO in 70; what the other 17 lack are declarations of subsets and synonym
types, chains of properties, and qualifiers of definitions (docs/experiments.md). What it leaves out
of a header is added (`obo_header`); of axioms with more than two members it joins the first with
each of the others, so these are written in another way. What is lost all the same is noted.

XML passes the same checks as RDF/XML. The library knows no entities, so plain ones are written out
first. A stanza of OBO that cannot be read is left out, and a note says so with its line.
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any

import pyhornedowl.model as model
from pyhornedowl import open_ontology_from_string

from rlm.errors import NotRDF
from rlm.ontology.engine.obo_header import carry_header, count_lost, drop_undeclared, plain_ids
from rlm.ontology.engine.safe_input import check_prolog, find_broken_line, read_entities

MOST_BYTES = 1 << 30
MOST_STANZAS = 20
"""Broken ones that are left out; with more of them it is no OBO."""
_PLACE = re.compile(r"Byte(?:Position\(|Span\()(\d+)")
_WANTED = re.compile(r"positives: \[([^\]]*)\]")
_STANZA = re.compile(rb"(?m)^\[")
_REFERENCE = re.compile(rb"&([\w:.-]+);")
_SEVERAL = re.compile(rb"\b(?:DisjointClasses|Equivalent\w+|SameIndividual)\b")
MOST_PAIRS = 50
"""Equivalent members of one axiom that are joined two by two; of more, all with the first."""
_DISJOINT = "urn:rlm:disjoint/"
_GROUP = re.compile(
    rf'(?ms)^    <rdf:Description rdf:about="{_DISJOINT}\d+">\n        <owl:disjointUnionOf'
    r"(.*?)^        </owl:disjointUnionOf>\n    </rdf:Description>$"
)


def convert(data: bytes, syntax: str) -> tuple[bytes, dict[str, str], list[tuple[int, str]]]:
    """RDF/XML, the prefixes of the file, and notes with their lines; `syntax` is owx, ofn or obo.
    NotRDF for what is broken."""
    if len(data) > MOST_BYTES:
        raise NotRDF(f"more than {MOST_BYTES >> 20} MiB of it: save it as N-Triples or Turtle")
    notes: list[tuple[int, str]] = []
    if syntax != "ofn":
        data = expand_entities(data) if syntax == "owx" else plain_ids(data)
    ontology, data = _open(data, syntax, notes)
    if syntax == "obo":
        if notes and not _STANZA.search(data):
            raise NotRDF(f"not one stanza can be read; {notes[0][1]}", line=notes[0][0])
        if note := carry_header(data, ontology):
            notes.append((1, note))
        drop_undeclared(ontology)
        notes += filter(None, [count_lost(data)])
    elif _SEVERAL.search(data):
        _split_axioms(ontology)
    try:
        text = ontology.save_to_string("owl")
    except ValueError as exc:
        raise NotRDF(f"it cannot be written as RDF: {_explain(str(exc))}") from exc
    text = _GROUP.sub(
        r"<owl:AllDisjointClasses><owl:members\1</owl:members></owl:AllDisjointClasses>", text
    )
    return text.encode(), dict(ontology.prefix_mapping), notes


def _split_axioms(ontology: Any) -> None:
    """Of axioms with more than two members: pairs for what is equivalent or the same, so that each
    is found from each; for disjoint classes a union under a name of ours, whose list is written as
    that of owl:AllDisjointClasses. Annotated ones are pairs too, which can be annotated."""
    pairs = (
        *(model.EquivalentClasses, model.EquivalentObjectProperties),
        *(model.EquivalentDataProperties, model.SameIndividual),
    )
    number = 0
    for each in ontology.get_axioms():
        axiom = each.component
        disjoint = isinstance(axiom, model.DisjointClasses)
        if not (disjoint or isinstance(axiom, pairs)) or len(axiom.first) < 3:
            continue
        if disjoint and not each.ann:
            number += 1
            name = model.Class(model.IRI.parse(f"{_DISJOINT}{number}"))
            made = [model.DisjointUnion(name, axiom.first)]
        elif disjoint or len(axiom.first) <= MOST_PAIRS:
            made = [type(axiom)(list(pair)) for pair in combinations(axiom.first, 2)]
        else:
            continue
        ontology.remove_axiom(axiom)
        for one in made:
            ontology.add_axiom(one, each.ann)


def _open(data: bytes, syntax: str, notes: list[tuple[int, str]]) -> tuple[Any, bytes]:
    """The ontology, and the text without what was left out."""
    read: Any = open_ontology_from_string
    while True:
        try:
            text = data.decode()
        except UnicodeDecodeError as exc:
            raise NotRDF(
                "this is no text in UTF-8", line=data.count(b"\n", 0, exc.start) + 1
            ) from exc
        try:
            return read(text, syntax), data
        except ValueError as exc:
            said = str(exc)
            line, at = _find_place(said, data, syntax)
            left_out = _leave_out(data, at) if syntax == "obo" and at is not None else None
            if left_out is None or len(notes) >= MOST_STANZAS:
                many = f"more than {MOST_STANZAS} stanzas cannot be read; here: " if notes else ""
                raise NotRDF(many + _explain(said), line=line) from exc
            data, what = left_out
            notes.append((line or 0, f"{what} left out: {_explain(said)}"))


def _find_place(said: str, data: bytes, syntax: str) -> tuple[int | None, int | None]:
    """The line and the byte that an error is at."""
    if found := _PLACE.search(said):
        at = int(found[1])
        return data.count(b"\n", 0, at) + 1, at
    if syntax == "owx":  # the library does not say where XML is not well-formed
        return find_broken_line([data]), None
    return None, None


def _explain(said: str) -> str:
    """What the library objects to, in one line."""
    said = " ".join(said.removeprefix("Failed to open ontology: ").split())
    if found := _WANTED.search(said):
        return f"expected {found[1] or 'something else'}"[:200]
    said = re.sub(r",? (?:Unknown|Byte\w+\([\d.]+\))\)$", "", said)
    return re.sub(r"^(?:\w+Error)\((.*?)\)?$", r"\1", said).strip('"')[:200]


def _leave_out(data: bytes, at: int) -> tuple[bytes, str] | None:
    """The text with the stanza of OBO around a byte, or the line of the header, made blank: lines
    keep their numbers."""
    starts = [found.start() for found in _STANZA.finditer(data)]
    start = max((each for each in starts if each <= at), default=None)
    if start is None:
        start = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        what = "a line of the header"
    else:
        end = min((each for each in starts if each > start), default=-1)
        name = re.search(rb"(?m)^id:[ \t]*(\S+)", data[start : end if end > 0 else None])
        what = f"the stanza of {name[1].decode(errors='replace')[:80]}" if name else "a stanza"
    end = len(data) if end < 0 else end
    blank = b"\n" * data.count(b"\n", start, end)
    if data[start:end] == blank:
        return None
    return data[:start] + blank + data[end:], what


def expand_entities(data: bytes) -> bytes:
    """XML without its DOCTYPE; the plain entities that it declares are written out."""
    body = check_prolog(data)
    values = read_entities(data[:body])
    if not values:
        start = data.upper().find(b"<!DOCTYPE", 0, body)
        return data if start < 0 else _without_prolog(data, start, body)
    text = data[body:]
    grown = len(text) + sum(len(values.get(name, b"")) for name in _REFERENCE.findall(text))
    if grown > MOST_BYTES:
        raise NotRDF(f"its entities stand for more than {MOST_BYTES >> 20} MiB: write them out")
    text = _REFERENCE.sub(lambda found: values.get(found[1], found[0]), text)
    start = data.upper().find(b"<!DOCTYPE", 0, body)
    return _without_prolog(data[:body], start, body) + text


def _without_prolog(data: bytes, start: int, end: int) -> bytes:
    return data[:start] + b"\n" * data.count(b"\n", start, end) + data[end:]
