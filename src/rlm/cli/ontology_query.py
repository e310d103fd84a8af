"""`rlm ontology query`, and opening what all ontology commands ask.

SPARQL is printed as a table on a terminal and as tab-separated lines elsewhere, with short names.
`--json` and the files of `--out` are exact, in the formats that the W3C has for results, so that
other programs read them:

- `.json`: SPARQL 1.1 JSON results. On stdout `truncated` is added; triples are rows of s, p, o.
- `.csv`: SPARQL 1.1 CSV, for spreadsheets: plain values without types and languages, CRLF.
- `.tsv`: SPARQL 1.1 TSV: every term as N-Triples writes it, `?name` in the header.
- `.nt`, `.ttl`, `.rdf`, `.jsonld`: RDF, for CONSTRUCT and DESCRIBE and for nothing else.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rlm.cli import output
from rlm.cli.ontology_source import SOURCE, STDIN, open_engine
from rlm.cli.output import encode_json, print_cells, print_json, print_text
from rlm.cli.session import Session
from rlm.errors import ConfigError, QueryRefused, QueryTimeout
from rlm.files import write_whole

if TYPE_CHECKING:
    from rlm.ontology.engine.protocol import Answer, Engine
    from rlm.ontology.meta.graph_meta import GraphMeta
    from rlm.ontology.query.guard import Checked
    from rlm.ontology.terms import Term

SHOWN_ROWS, FILE_ROWS, MOST_ROWS = 100, 10_000, 1_000_000
FILE_BYTES = 256 << 20
TEXT_BYTES = 1 << 20
ENDINGS = {
    ".csv": "SELECT",
    ".tsv": "SELECT",
    ".json": "SELECT and ASK",
    **dict.fromkeys((".nt", ".ttl", ".rdf", ".jsonld"), "CONSTRUCT and DESCRIBE"),
}
_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\\x7f-\x9f\ud800-\udfff]')
_NOT_IN_STRING = re.compile(r'[\x00-\x1f"\\\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]')
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


@SOURCE
@click.argument("sparql", metavar="SPARQL|@FILE|-")
@click.option(
    "--limit",
    type=click.IntRange(1, MOST_ROWS),
    metavar="N",
    help=f"How many rows, at most [{SHOWN_ROWS}; with --out {FILE_ROWS}].",
)
@click.option(
    "--out",
    metavar="FILE",
    help="Write a file: .csv, .json, .tsv; .ttl, .nt, .rdf, .jsonld for triples.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="S",
    help="Seconds that the query may take [30, or what the config has for an endpoint].",
)
def query(
    session: Session, sparql: str, limit: int | None, out: str | None, force: bool, **given: Any
) -> None:
    """Ask SOURCE in SPARQL: SELECT, ASK, CONSTRUCT or DESCRIBE.

    SOURCE is an RDF file, or an endpoint that the config names. The query is given as it is, in a
    file (@FILE) or on standard input (-). The prefixes of the file and the well-known ones need not
    be declared. An answer without rows is an answer: the exit code is 0, also when an ASK says no;
    names of the query that a file does not have are told.
    """
    from rlm.ontology.engine.protocol import EngineLimits
    from rlm.ontology.query.guard import check_query

    if sparql == STDIN and STDIN in given["source"].files:
        raise ConfigError("SOURCE and the query cannot both be standard input: write @FILE for one")
    asked = check_query(_read_query(sparql))
    target = None if out is None else _target(session, out, asked.kind, force=force)
    most = limit or (SHOWN_ROWS if target is None else FILE_ROWS)
    limits = EngineLimits(rows=most)
    if target is not None:
        limits = EngineLimits(rows=most, answer_bytes=FILE_BYTES)
    with open_engine(
        session, given["source"], given["format_"], limits=limits, with_meta=False
    ) as engine:
        answer = _ask(engine, asked, most, given["timeout"])
        hints: list[str] = []
        if hasattr(engine, "content_hash"):  # of a file: names as the other commands write them
            meta = engine.meta()
            hints = [] if answer else _hints(engine, meta, asked.text)
        prefixes = getattr(engine, "prefixes", None)
        rows = [] if target is not None or session.json else answer.text_rows(prefixes)
    if target is not None:
        _write(target, _encode(answer, target.suffix.lower(), prefixes), force=force)
        _report_file(session, answer, target)
    elif session.json:
        print_json({**_results(answer), "truncated": answer.truncated})
    else:
        _print(session, answer, rows)
    for hint in hints:
        session.notify(hint)
    if answer.truncated:
        session.notify(_more_hint(answer, most, to_file=target is not None))


def _hints(engine: Engine, meta: GraphMeta, query: str) -> list[str]:
    """Why the query may have found nothing, as the REPL tells it."""
    from rlm.tools.sparql_peek import find_faults

    found = find_faults(engine, meta, query)
    return [text.replace("search_entity(…)", "`rlm ontology search`") for text in found]


def _read_query(given: str) -> str:
    """The query, from where it is."""
    if given != "-" and not given.startswith("@"):
        return given
    path = Path(given[1:]).expanduser()
    try:
        if given == "-":
            data = sys.stdin.buffer.read(TEXT_BYTES)
        else:
            with path.open("rb") as file:
                data = file.read(TEXT_BYTES)
    except (OSError, ValueError) as exc:
        why = getattr(exc, "strerror", None) or exc
        raise ConfigError(f"the query {given} cannot be read: {why}") from exc
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise ConfigError(f"the query {given} is not UTF-8 text (byte {exc.start})") from exc


def _target(session: Session, out: str, kind: str, *, force: bool) -> Path:
    """The file to write, once it is sure that it can hold this kind of answer."""
    path = Path(out).expanduser()
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise ConfigError(f"--out {out}: the name must end in one of {', '.join(ENDINGS)}")
    if kind not in ENDINGS[ending]:
        fitting = " or ".join(name for name, kinds in ENDINGS.items() if kind in kinds)
        wrong = f"{ending} is for {ENDINGS[ending]}"
        raise ConfigError(f"--out {out}: {wrong}; the answer of {kind} goes to {fitting}")
    if path.is_dir():
        raise ConfigError(f"--out {out} is a folder: name a file in it")
    session.require_folder(path, f"--out {out}")
    if path.exists() and not force:
        raise ConfigError(f"--out {out} is there already: name another file, or add --force")
    return path


def _ask(engine: Engine, asked: Checked, limit: int, timeout: float | None) -> Answer:
    from rlm.ontology.query.lexer import PNAME

    with output.progress("asking"):
        try:
            return engine.query(asked.text, limit=limit, timeout_s=timeout)
        except QueryTimeout as exc:
            raise QueryTimeout(str(exc).replace("(timeout_s)", "(--timeout S)")) from exc
        except QueryRefused:
            used = {token.text.partition(":")[0] for token in asked.tokens if token.kind == PNAME}
            if used <= getattr(engine, "prefixes", dict.fromkeys(used)).keys():
                raise
            engine.meta()  # a file without prefixes is given some, which the other commands show
            if not used <= getattr(engine, "prefixes", {}).keys():
                raise
            return engine.query(asked.text, limit=limit, timeout_s=timeout)


def _print(session: Session, answer: Answer, rows: list[dict[str, str]]) -> None:
    if answer.kind == "ask":
        print_text("yes" if answer.boolean else "no")
        return
    names = _columns(answer)
    if rows:
        print_cells(names, [[row.get(name, "") for name in names] for row in rows])
    else:
        session.notify(f"no {_what(answer)}")


def _columns(answer: Answer) -> list[str]:
    return ["s", "p", "o"] if answer.kind == "graph" else answer.variables


def _what(answer: Answer) -> str:
    return "triples" if answer.kind == "graph" else "rows"


def _more_hint(answer: Answer, limit: int, *, to_file: bool) -> str:
    what, got = _what(answer), len(answer)
    if got < limit:
        less = "ask for less, or for parts with ORDER BY, LIMIT and OFFSET"
        return f"there is more, but no answer may be longer than these {got:,} {what}: {less}"
    more = "" if to_file else ", or a whole file with --out FILE"
    return f"there is more: these are the first {got:,} {what}; --limit N gives more{more}"


# -- exact forms


def _rows(answer: Answer) -> list[dict[str, Term]]:
    if answer.kind == "graph":
        return [dict(zip("spo", triple, strict=True)) for triple in answer.triples]
    return answer.rows


def _results(answer: Answer) -> dict[str, Any]:
    """SPARQL 1.1 JSON results."""
    if answer.kind == "ask":
        return {"head": {}, "boolean": bool(answer.boolean)}
    bindings = [{name: _json_term(term) for name, term in row.items()} for row in _rows(answer)]
    return {"head": {"vars": _columns(answer)}, "results": {"bindings": bindings}}


def _json_term(term: Term) -> dict[str, Any]:
    kind, value = term["t"], term["v"]
    if kind == "triple":
        parts = zip(("subject", "predicate", "object"), value, strict=True)
        return {"type": "triple", "value": {name: _json_term(part) for name, part in parts}}
    if kind != "lit":
        return {"type": "uri" if kind == "iri" else "bnode", "value": value}
    names = {"lang": "xml:lang", "dir": "its:dir", "dt": "datatype"}
    marks = {names[key]: term[key] for key in names if key in term}
    return {"type": "literal", "value": value, **marks}


def exact(term: Term) -> str:
    """A term as N-Triples writes it. Nothing of it can end its token or its line."""
    kind, value = term["t"], term["v"]
    if kind == "triple":
        return f"<<( {' '.join(map(exact, value))} )>>"
    if kind == "bnode":
        return f"_:{value}"
    if kind == "iri":
        return f"<{_NOT_IN_IRI.sub(_code, value)}>"
    quoted = f'"{_NOT_IN_STRING.sub(lambda found: _SHORT.get(found[0]) or _code(found), value)}"'
    if "lang" in term:
        return f"{quoted}@{term['lang']}" + (f"--{term['dir']}" if "dir" in term else "")
    return f"{quoted}^^{exact({'t': 'iri', 'v': term['dt']})}" if "dt" in term else quoted


def _code(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04X}"


def _encode(answer: Answer, ending: str, prefixes: Mapping[str, str] | None = None) -> bytes:
    if ending == ".json":
        return f"{encode_json(_results(answer))}\n".encode()
    names, rows = _columns(answer), _rows(answer)
    if answer.kind == "graph":
        text = "".join(f"{exact(s)} {exact(p)} {exact(o)} .\n" for s, p, o in answer.triples)
        if ending != ".nt":
            return _serialize(text, ending, prefixes or {})
    elif ending == ".tsv":
        cells = [[exact(row[name]) if name in row else "" for name in names] for row in rows]
        lines = [[f"?{name}" for name in names], *cells]
        text = "".join("\t".join(line) + "\n" for line in lines)
    else:
        text = _csv(names, rows)
    return text.encode("utf-8", "replace")


def _serialize(triples: str, ending: str, prefixes: Mapping[str, str]) -> bytes:
    """N-Triples as another format; with the prefixes that are used."""
    import pyoxigraph as ox

    used = {p: iri for p, iri in prefixes.items() if iri and f"<{iri}" in triples}
    format = ox.RdfFormat.from_extension(ending[1:])
    assert format is not None
    parsed = ox.parse(triples, ox.RdfFormat.N_TRIPLES, lenient=True)
    try:
        ordered = sorted((quad.triple for quad in parsed), key=str)
        return ox.serialize(ordered, format=format, prefixes=used) or b""
    except (ValueError, SyntaxError, OSError) as exc:
        raise ConfigError(f"this answer cannot be written as {ending} ({exc}): use .nt") from exc


def _csv(names: list[str], rows: list[dict[str, Term]]) -> str:
    import csv
    import io

    from rlm.ontology.terms import term_plain

    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([term_plain(row[name]) if name in row else "" for name in names])
    return text.getvalue()


def _write(target: Path, data: bytes, *, force: bool) -> None:
    """Put the whole file in place, or nothing."""
    try:
        write_whole(target, data, mode=0o666, replace=force)
    except FileExistsError as exc:  # made while the query ran
        why = f"--out {target} is there already: name another file, or add --force"
        raise ConfigError(why) from exc
    except OSError as exc:
        raise ConfigError(f"--out {target} cannot be written: {exc.strerror or exc}") from exc


def _report_file(session: Session, answer: Answer, target: Path) -> None:
    if session.json:
        print_json({"path": str(target), _what(answer): len(answer), "truncated": answer.truncated})
        return
    print_text(str(target))
    if answer.kind != "ask":
        session.notify(f"{len(answer):,} {_what(answer)}")
