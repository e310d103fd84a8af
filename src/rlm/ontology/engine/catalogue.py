"""Where the files of imports are, as a catalogue says: Protégé's `catalog-v001.xml`.

A catalogue is an XML file of OASIS' kind that lies beside an ontology: `uri` names an IRI and the
file that holds it, `rewriteURI` does so for the files of a folder, `nextCatalog` names another
catalogue. Files are relative to the catalogue, and `xml:base` moves that. Nothing is ever
fetched: an entry that leads to the web leads nowhere here.

A catalogue came with the ontology, so it is not trusted: no entities, bounded in size and number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.parsers import expat

from rlm.ontology.engine.formats import CATALOGUE

MAX_BYTES = 4 << 20
MOST_ENTRIES = 5_000
MOST_CATALOGUES = 50
_ENTRIES = ("uri", "system", "public")
_PREFIXES = ("rewriteURI", "rewriteSystem")


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """`file` is None where the entry leads to the web. `where`: the catalogue and the line."""

    iri: str
    file: Path | None
    where: str


@dataclass
class Catalogue:
    """The entries of some catalogues, the first ones first. `notes`: what could not be read."""

    entries: dict[str, CatalogueEntry] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    _read: set[Path] = field(default_factory=set)

    def read_beside(self, folders: Iterable[Path]) -> None:
        """Read the catalogues of these folders, and those that they name."""
        waiting = [folder / CATALOGUE for folder in folders]
        while waiting and len(self._read) < MOST_CATALOGUES:
            path = waiting.pop(0)
            with suppress(OSError):  # a name that is too long, a folder that is closed to us
                if path not in self._read and path.is_file():
                    self._read.add(path)
                    waiting += self._read_file(path)

    def _read_file(self, path: Path) -> list[Path]:
        """Take its entries; the catalogues that it names."""
        others: list[Path] = []
        try:
            data = path.read_bytes()
            if len(data) > MAX_BYTES:
                self.notes.append(f"{path}: more than {MAX_BYTES >> 20} MiB: not read")
                return []
            for name, value, line, base in _scan(data):
                if len(self.entries) >= MOST_ENTRIES:
                    self.notes.append(f"{path}:{line}: more than {MOST_ENTRIES:,} entries: cut")
                    break
                self._take(name, value, f"{path}:{line}", _resolve(path.parent, base), others)
        except expat.ExpatError as exc:
            why = expat.ErrorString(exc.code)
            self.notes.append(f"{path}:{exc.lineno}: no catalogue that can be read ({why})")
        except (OSError, LookupError, ValueError, _NotPlain) as exc:  # of encodings
            self.notes.append(f"{path}: {exc}")
        return others

    def _take(
        self, name: str, value: dict[str, str], where: str, base: Path | None, others: list[Path]
    ) -> None:
        if name == "nextCatalog" and (file := _resolve(base, value.get("catalog", ""))):
            others.append(file)
        elif name in _ENTRIES:
            iri = value.get("name") or value.get("systemId") or value.get("publicId") or ""
            entry = CatalogueEntry(iri, _resolve(base, value.get("uri", "")), where)
            self.entries.setdefault(iri, entry)
        elif name in _PREFIXES:
            start = value.get("uriStartString") or value.get("systemIdStartString") or ""
            folder = _resolve(base, value.get("rewritePrefix", ""))
            with suppress(OSError):
                if start and folder is not None and folder.is_dir():
                    for found in islice(folder.rglob("*"), MOST_ENTRIES):
                        iri = start + found.relative_to(folder).as_posix()
                        self.entries.setdefault(iri, CatalogueEntry(iri, found, where))


class _NotPlain(Exception):
    """XML that declares entities."""


def _scan(data: bytes) -> Iterator[tuple[str, dict[str, str], int, str]]:
    """The elements of a catalogue: name, attributes, line, and the base that holds for them."""
    found: list[tuple[str, dict[str, str], int, str]] = []
    bases = [""]
    parser = expat.ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        base = bases[-1] + attributes.get("xml:base", "")
        bases.append(base)
        found.append((name.rpartition(":")[2], attributes, parser.CurrentLineNumber, base))

    def refuse(*_: object) -> None:
        line = parser.CurrentLineNumber
        raise _NotPlain(f"it declares an entity (line {line}), which no catalogue needs: not read")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: bases.pop()
    parser.EntityDeclHandler = refuse
    parser.Parse(data, True)
    yield from found


def _resolve(base: Path | None, uri: str) -> Path | None:
    """The file behind a URI of a catalogue; None where it is no file of this machine."""
    if base is None:
        return None
    try:
        parts = urlsplit(uri)
    except ValueError:  # `http://[::1/` ends too soon
        return None
    is_local = parts.scheme in ("", "file") and parts.netloc in ("", "localhost")
    return base / unquote(parts.path) if is_local else None
