"""Which files an ontology is, and which RDF format each is in.

What somebody names is a file, several, or a folder: one graph, in the order in which they were
named, the files of a folder by name. An import is looked up in what the caller says (`imports`: IRI
to file), then in the catalogues beside the files. The worker decides which of these candidates are
imported: only that needs a parser. Here nothing is parsed, and nothing is fetched. A file of a
folder, and one that is imported, may be broken: it is left out and a note says so with file and
line. One that was named is an error.

The format is known by the extension, checked against what the file begins with. A file that is
plainly something else than its extension says is read as what it is, and a note says so. What is no
RDF (a web page, an archive) is refused with its kind named. OWL/XML, OWL functional syntax and OBO
are converted by an optional library (`rlm.ontology.engine.owl_syntax`). The parser has the last
word: this looks only at the first bytes. How they are then read safely is
`rlm.ontology.engine.safe_input`.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from rlm.errors import NotRDF, OntologyError

Named: TypeAlias = str | Path | Sequence[str | Path]
MOST_FILES = 1_000
CATALOGUE = "catalog-v001.xml"
TITLES = {
    "turtle": "Turtle",
    "n-triples": "N-Triples",
    "n-quads": "N-Quads",
    "trig": "TriG",
    "rdf-xml": "RDF/XML",
    "json-ld": "JSON-LD",
    "owl-xml": "OWL/XML",
    "owl-functional": "OWL functional syntax",
    "obo": "OBO",
}
OWL_SYNTAXES = {"owl-xml": "owx", "owl-functional": "ofn", "obo": "obo"}
"""What `owl_syntax` converts, and what its library calls them."""
INSTALL_OWL = "pip install 'py-horned-owl>=2.0'"
EXTENSIONS = {
    ".turtle": "turtle",
    ".ttl": "turtle",
    ".ntriples": "n-triples",
    ".nt": "n-triples",
    ".nquads": "n-quads",
    ".nq": "n-quads",
    ".trig": "trig",
    **dict.fromkeys((".rdf", ".rdfs", ".xml", ".owl"), "rdf-xml"),
    **dict.fromkeys((".jsonld", ".json"), "json-ld"),
    **dict.fromkeys((".owx", ".owlxml"), "owl-xml"),
    **dict.fromkeys((".ofn", ".fss", ".functional"), "owl-functional"),
    ".obo": "obo",
}
_ANY_OWL = (".owl", ".xml")
"""Names that say nothing of the syntax: no note where it is another one."""
_READS_TOO = {"turtle": {"n-triples"}, "trig": {"turtle", "n-triples"}, "n-quads": {"n-triples"}}
"""A format whose parser also reads these: no reason to doubt an extension."""
HEAD_BYTES = 64 << 10
_GZIP = b"\x1f\x8b"
_GZIP_EXTENSIONS = (".gz", ".gzip")
_ARCHIVES = {
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"BZh": "packed with bzip2: unpack it first (gzip is read as it is)",
    b"\xfd7zXZ": "packed with xz: unpack it first (gzip is read as it is)",
    b"\x28\xb5\x2f\xfd": "packed with zstd: unpack it first (gzip is read as it is)",
    b"%PDF": "a PDF",
    b"HDT": "HDT, a packed form of RDF that is not read here",
    b"\xff\xfe": "in UTF-16: save it as UTF-8",
    b"\xfe\xff": "in UTF-16: save it as UTF-8",
}
_BLANK = re.compile(r"(?:\s+|#[^\n]*(?:\n|\Z))*")
_XML_BLANK = re.compile(
    r"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE(?:[^>\[]|\[.*?\]\s*(?=>))*>)*", re.DOTALL | re.I
)
_ROOT = re.compile(r"<(?:[\w.-]+:)?([\w.-]+)")
_ELEMENT = re.compile(r"<[\w.-]+(?::[\w.-]+)?[\s>][^<]*")
_NODE_ELEMENT = re.compile(r"<[^>]*\brdf:(?:about|ID|nodeID)\s*=")
"""RDF/XML without rdf:RDF around it."""
_IS_HTML = "this is an HTML page, no RDF: was a web address saved instead of the file?"
_HTML = re.compile(r"<!doctype\s+html\b|<html\b", re.I)
_DIRECTIVE = re.compile(r"@prefix\s|@base\s|(?:prefix\s+[\w.-]*:\s*<|base\s+<)", re.I)
_NODE = r"(?:<[^<>\s]*>|_:[^\s<>\"]+)"
_TEXT = r'"(?:[^"\\\n]|\\.)*"(?:@[\w-]+|\^\^<[^<>\s]*>)?'
_LINE = re.compile(rf"{_NODE}\s*<[^<>\s]*>\s*(?:{_NODE}|{_TEXT})\s*({_NODE}\s*)?\.\s*(?:#.*)?")
_LINE_CHARS = 4000
"""Longer lines are not looked at."""
_QUOTED = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"""|\Z)|\'\'\'(?:[^\\]|\\.)*?(?:\'\'\'|\Z)'
    r'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|<[^<>\s]*>|#[^\n]*',
    re.DOTALL,
)
_STATEMENT = re.compile(
    r"(?:<[^<>\s]*>|[\w.-]*:[\w.-]*|_:\w+|\[[^\]]*\])\s+(?:a\s|<[^<>\s]*>\s|[\w.-]*:[\w.-]*\s)"
)
_GRAPH = re.compile(r"(?:GRAPH\s+)?(?:<[^<>\s]*>)?\s*\{")
_FUNCTIONAL = re.compile(r"(?:Prefix|Ontology)\s*\(")
_OBO = re.compile(r"(?:format-version|ontology|data-version|date|saved-by):\s|\[Term\]\s")
_MANCHESTER = re.compile(r"(?:Prefix:\s|Ontology:\s)")


@dataclass(frozen=True, slots=True)
class RDFFile:
    """A file that can be tried. `notes`: what a person should know. `optional`: where it cannot be
    read it is left out."""

    path: Path
    format: str
    gzipped: bool = False
    notes: tuple[str, ...] = field(default=())
    optional: bool = False


def find_format(name: str) -> str:
    """The format a person means by `turtle`, `ttl`, `.owl` or `RDF/XML`. Else OntologyError."""
    bare = re.sub(r"[^a-z0-9]", "", name.lower())
    for known in TITLES:
        if bare == known.replace("-", ""):
            return known
    if f".{bare}" in EXTENSIONS:
        return EXTENSIONS[f".{bare}"]
    raise OntologyError(f"no RDF format {name!r}; known: {', '.join(TITLES)}")


def detect(path: str | Path, format: str | None = None) -> RDFFile:
    """How to read a file; a given format is believed. NotRDF when it is plainly something else."""
    path = Path(path)
    wanted = None if format is None else find_format(format)
    head, gzipped = _read_head(path)
    notes: list[str] = []
    extension = _extension(path)
    if path.suffix.lower() in _GZIP_EXTENSIONS and not gzipped:
        notes.append(f"{path.name} is named like a gzip file but is none: read as it is")
    if wanted is not None:
        return RDFFile(path, wanted, gzipped, tuple(notes))
    named = EXTENSIONS.get(extension)
    found = sniff(head.decode("utf-8", "replace"), path)
    chosen = named or found
    if named and found and _contradicts(named, found, head):
        chosen = found
        if not (found in OWL_SYNTAXES and extension in _ANY_OWL):
            holds = f"holds {TITLES[found]}: read as {TITLES[found]}"
            notes.append(f"{path.name} is named like {TITLES[named]} but {holds}")
    if not chosen:
        todo = f"if it is, name its format ({', '.join(TITLES)})"
        raise NotRDF(f"this is no RDF that is known here; {todo}", path=str(path))
    return RDFFile(path, chosen, gzipped, tuple(notes))


def _extension(path: Path) -> str:
    """The one that names the format: `.ttl` of x.TTL.gz."""
    is_packed = path.suffix.lower() in _GZIP_EXTENSIONS
    return Path(path.stem if is_packed else path).suffix.lower()


def _contradicts(named: str, found: str, head: bytes) -> bool:
    if found == named or found in _READS_TOO.get(named, ()):
        return False
    # Long lines, or terms that RDF 1.2 brought.
    if named in ("n-triples", "n-quads") and found == "turtle":
        return re.search(rb"(?mi)^\s*@?(?:prefix|base)\s", head) is not None
    return True


def _read_head(path: Path) -> tuple[bytes, bool]:
    """The beginning of a file of text, unpacked, and whether it was packed."""
    raw = _first_bytes(path)
    if not raw:
        raise NotRDF("the file is empty (0 bytes)", path=str(path))
    gzipped = raw.startswith(_GZIP)
    head = _unpack_head(raw, path) if gzipped else raw
    if not head.strip():
        raise NotRDF("there is nothing in it but blanks", path=str(path))
    for magic, what in _ARCHIVES.items():
        if head.startswith(magic):
            raise NotRDF(f"this is {what}", path=str(path))
    if b"\0" in head:
        what = "this is a binary file, or text in UTF-16: RDF is text in UTF-8"
        raise NotRDF(what, path=str(path))
    return head, gzipped


def sniff(head: str, path: Path | None = None) -> str | None:
    """The format of a text by its beginning, None when unclear. NotRDF for a known other kind."""
    where = None if path is None else str(path)
    text = head.removeprefix("\ufeff")
    text = text[_end(_BLANK, text, 0) :]
    if _HTML.match(text):
        raise NotRDF(_IS_HTML, path=where)
    is_xml = text.startswith(("<?xml", "<!--", "<!DOCTYPE", "<!doctype")) or _ELEMENT.match(text)
    if is_xml and (found := _sniff_xml(text, where)):
        return found
    if re.match(r'\{\s*["}]|\[\s*\{', text):
        return "json-ld"
    if _MANCHESTER.match(text):
        what = "OWL in Manchester syntax, which is not read"
        raise NotRDF(f"this is {what}: save it as Turtle, RDF/XML or OWL/XML", path=where)
    if _FUNCTIONAL.match(text):
        return "owl-functional"
    if _OBO.match(text):
        return "obo"
    if found := _sniff_lines(text):
        return found
    if _DIRECTIVE.match(text) or _STATEMENT.match(text) or _GRAPH.match(text):
        return "trig" if "{" in _QUOTED.sub(" ", text) else "turtle"
    return None


def _sniff_lines(text: str) -> str | None:
    """N-Triples or N-Quads: every line is a statement."""
    lines = [line.strip() for line in text.splitlines()]
    if len(lines) > 1 and not text.endswith("\n"):
        lines.pop()  # it may be cut
    lines = [line for line in lines if line and not line.startswith("#")]
    matches = [_LINE.fullmatch(line) for line in lines[:200] if len(line) <= _LINE_CHARS]
    if not matches or not all(matches):
        return None
    return "n-quads" if any(match and match.group(1) for match in matches) else "n-triples"


def _sniff_xml(text: str, where: str | None) -> str | None:
    root = _ROOT.match(text, _end(_XML_BLANK, text, 0))
    if root is None:
        return "rdf-xml" if text.startswith("<?xml") else None
    name = root.group(1).lower()
    if name == "html":
        raise NotRDF(_IS_HTML, path=where)
    if name == "ontology" and not _NODE_ELEMENT.match(text, root.start()):
        return "owl-xml"
    if name == "rdf" or "http://www.w3.org/1999/02/22-rdf-syntax-ns#" in text:
        return "rdf-xml"
    if text.startswith("<?xml") or "xmlns" in text[:2000]:
        raise NotRDF(f"this is XML with the root <{root.group(1)}>, no RDF/XML", path=where)
    return None


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return start if match is None else match.end()


def _first_bytes(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise OntologyError(f"{path} is a folder: name a file in it")
        if not path.exists():
            raise OntologyError(f"there is no file {path}")
        if not path.is_file():
            raise OntologyError(f"{path} is no regular file")
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except (OSError, ValueError) as exc:  # ValueError: a name with a zero in it
        raise OntologyError(f"{str(path)!r} cannot be read: {exc}") from exc


def _unpack_head(raw: bytes, path: Path) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        head = unpacker.decompress(raw, HEAD_BYTES)
    except zlib.error as exc:
        raise NotRDF(f"the gzip file is damaged ({exc}): fetch it again", path=str(path)) from exc
    if not head and len(raw) < HEAD_BYTES and not unpacker.eof:
        raise NotRDF("the gzip file ends too early: fetch it again", path=str(path))
    if not head:
        raise NotRDF("there is nothing in the gzip file", path=str(path))
    return head


# -- several files, folders and imports


@dataclass(frozen=True)
class SourceFiles:
    """The first `named` of `files` make up the graph; the others are read when they are imported,
    under the IRIs of `imports`. `missing`: IRI to what is known of an import without a file."""

    files: tuple[RDFFile, ...]
    named: int
    name: str
    imports: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The files in a few words."""
        paths = [str(file.path) for file in self.files[: self.named]]
        more = f" and {len(paths) - 3} more" if len(paths) > 4 else ""
        return ", ".join(paths if len(paths) <= 4 else paths[:3]) + more


def find_files(
    source: Named,
    *,
    format: str | None = None,
    imports: Mapping[str, str | Path] | None = None,
    within: Sequence[Path] | None = None,
) -> SourceFiles:
    """The files of a source. `within`: what a catalogue names outside of these folders is not
    there. OntologyError, NotRDF for what was named and is no file of RDF."""
    paths = [source] if isinstance(source, str | Path) else list(source)
    if not paths:
        raise OntologyError("no file is named: give at least one")
    files: list[RDFFile] = []
    notes: list[str] = []
    for path in (Path(each).expanduser() for each in paths):
        if path.is_dir():
            files += _read_folder(path, format, notes)
        else:
            files.append(detect(path, format))
    files = list({file.path.absolute(): file for file in reversed(files)}.values())[::-1]
    if not files:
        why = "".join(f"; {note}" for note in notes[:5])
        raise OntologyError(f"no RDF file is in the folder {', '.join(map(str, paths))}{why}")
    first = Path(paths[0]).expanduser()
    stem = re.split(r"\.(?!\d)", first.name)[0]  # case-1.5.0.ttl is case-1.5.0
    name = first.resolve().name if first.is_dir() else stem or first.name
    found = SourceFiles(tuple(files), len(files), name, notes=tuple(notes))
    return _add_imports(found, imports or {}, within)


def _read_folder(folder: Path, format: str | None, notes: list[str]) -> list[RDFFile]:
    """The RDF files below a folder, by name; what is none is left out with a note."""
    paths = sorted(path for path in folder.rglob("*") if _may_be_rdf(path.relative_to(folder)))
    if len(paths) > MOST_FILES:
        raise OntologyError(
            f"{folder} holds {len(paths):,} files, at most {MOST_FILES:,} are one graph:"
            " name fewer, or join them first"
        )
    found = []
    for path in paths:
        try:
            if path.is_file():
                found.append(replace(detect(path, format), optional=True))
        except NotRDF as exc:
            notes.append(f"left out: {exc}")
    return found


def _may_be_rdf(path: Path) -> bool:
    is_hidden = any(part.startswith(".") for part in path.parts)
    return path.name != CATALOGUE and not is_hidden and _extension(path) in EXTENSIONS


def _add_imports(
    found: SourceFiles, given: Mapping[str, str | Path], within: Sequence[Path] | None
) -> SourceFiles:
    """With a file for each IRI that the caller or a catalogue has one for."""
    files, missing, notes = list(found.files), dict[str, str](), list(found.notes)
    at = {file.path.absolute(): index for index, file in enumerate(files)}
    imports: dict[str, int] = {}

    def take(iri: str, file: RDFFile) -> None:
        path = file.path.absolute()
        if path not in at:
            at[path] = len(files)
            files.append(replace(file, optional=True))
        imports[iri] = at[path]

    for iri, path in given.items():
        take(iri, detect(Path(path).expanduser()))
    if not any((path.parent / CATALOGUE).is_file() for path in at):
        return replace(found, files=tuple(files), imports=imports)
    from rlm.ontology.engine.catalogue import Catalogue  # most files have none

    catalogue = Catalogue()
    catalogue.read_beside(dict.fromkeys(path.parent for path in at))
    seen = 0
    while len(catalogue.entries) > seen:  # the file of an entry may have a catalogue of its own
        new = list(catalogue.entries.values())[seen:]
        seen = len(catalogue.entries)
        for entry in new:
            if entry.iri in imports:
                continue
            if (why := _refuse(entry.file, within)) is not None:
                missing[entry.iri] = f"{entry.where}: {why}"
                continue
            assert entry.file is not None
            try:
                take(entry.iri, detect(entry.file))
            except OntologyError as exc:
                missing[entry.iri] = f"{entry.where}: {exc}"
        catalogue.read_beside(dict.fromkeys(path.parent for path in at))
    notes += catalogue.notes
    return replace(found, files=tuple(files), imports=imports, missing=missing, notes=tuple(notes))


def _refuse(path: Path | None, within: Iterable[Path] | None) -> str | None:
    """Why what a catalogue names is not read; None where it can be tried."""
    if path is None:
        return "it leads to the web, and nothing is fetched"
    try:
        real = path.resolve()
        if within is not None and not any(real.is_relative_to(folder) for folder in within):
            return f"{path} lies outside of the folders that may be read"
        return None if real.is_file() else f"there is no file {path}"
    except (OSError, RuntimeError, ValueError) as exc:  # ValueError: a name with a zero in it
        return f"{str(path)!r} cannot be read: {exc}"
