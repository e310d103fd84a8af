"""Bytes on their way to a parser: unpacked within bounds, hashed, and checked before it sees them.

RDF/XML and OWL/XML: no DTD, but for one thing that many OWL files have: up to 100 entities in the
document's own subset, each a plain text of at most 256 characters that names no other entity. They
stand for namespaces. Anything else that a DTD can do (outside files, entities in entities, entities
after the root began) is refused before the parser sees it. The parser takes a document that ends
too early for a whole one, between any two of its tags, so the end is checked here.

JSON-LD: a context that is named instead of given would have to be fetched. It is refused; nothing
is ever fetched.

Gzip: at most 250 bytes for each byte of the file (after the first 16 MiB), and 16 GiB in all.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any, BinaryIO

from rlm.errors import NotRDF

if TYPE_CHECKING:
    from xml.parsers.expat import ExpatError

MAX_BYTES = 16 << 30
MAX_RATIO = 250
FREE_BYTES = 16 << 20
MAX_JSON_BYTES = 512 << 20
PROLOG_BYTES = 1 << 20
MAX_ENTITIES = 100
MAX_ENTITY_CHARS = 256
_BOM = b"\xef\xbb\xbf"
_CHUNK = 1 << 16

_SKIP = re.compile(rb"\s+|<\?.*?\?>|<!--.*?-->", re.S)
_DOCTYPE = re.compile(rb"<!DOCTYPE\s+[\w:.-]+\s*(?:\[|>)", re.I)
_IN_SUBSET = re.compile(rb"\s+|<!--.*?-->", re.S)
_ENTITY = re.compile(rb"""<!ENTITY\s+([\w:.-]+)\s+(?:"([^"<&]*)"|'([^'<&]*)')\s*>""")
_SUBSET_END = re.compile(rb"\]\s*>")
_LATE = re.compile(rb"<![de]", re.I)
_ROOT = re.compile(rb"<[^\s<>/!?]{1,60}")
_BEHIND_ROOT = {b"-->": b"<!--", b"?>": b"<?"}
"""How what may follow a root ends, and begins."""
_KEPT, _END_KEPT = 64, 1 << 16
"""Bytes that a root's name has room in, and those that are looked at for its end."""
_CUT = "the document ends before its root element does: it was cut off, fetch it again"
_OPEN = "no element found"
"""What expat says of a document that ends in its root."""
_XML = ("rdf-xml", "owl-xml")


class SafeReader:
    """What a parser reads from; `finish` gives the SHA-256 of the file's own bytes."""

    def __init__(self, file: BinaryIO, format: str, *, gzipped: bool = False) -> None:
        self._raw = _Counted(file)
        self._source: Any = self._raw
        if gzipped:
            import gzip  # a worker loads it before it shuts itself in; most never need it

            self._source = gzip.GzipFile(fileobj=self._raw)
        self._gzipped, self._format = gzipped, format
        self._bytes = 0
        self._buffer = b""
        self._tail = self._end = self._root = b""
        self._roots = 0
        self.prefixes: dict[str, str] = {}
        """Those that the root of an XML document with entities declares, once reading began."""
        self._started = False

    def read(self, size: int = -1) -> bytes:
        """Some bytes, at most `size`; none at the end. NotRDF for what must not be read."""
        if not self._started:
            self._start()
        if size is None or size < 0:
            parts = [self._buffer]
            self._buffer = b""
            while part := self._more(_CHUNK):
                parts.append(part)
            return b"".join(parts)
        if not self._buffer:
            self._buffer = self._more(max(size, _CHUNK))
        part, self._buffer = self._buffer[:size], self._buffer[size:]
        return part

    def finish(self) -> str:
        """The SHA-256 of the whole file, whatever the parser left unread. NotRDF for XML whose root
        is not closed."""
        while self._raw.read(_CHUNK):
            pass
        digest = self._raw.hash.hexdigest()
        if self._format in _XML and self._started:
            self._check_closed()
        return digest

    def _check_closed(self) -> None:
        """A document that ends with the end of its root, and holds no other such element, is whole:
        the parser has seen to all else. That takes no time; expat, which any other is read with
        again, a seventh of a load."""
        is_end = bool(self._root) and _ends_with(self._root, self._end)
        if is_end and self._roots == 1:
            return
        self._raw.file.seek(0)
        again, lines = SafeReader(self._raw.file, self._format, gzipped=self._gzipped), 1

        def read_again() -> Iterator[bytes]:
            nonlocal lines
            while part := again.read(_CHUNK):
                lines += part.count(b"\n")
                yield part

        error = find_xml_error(parts := read_again())
        if error is not None and (not is_end or str(error).startswith(_OPEN)):
            for _ in parts:
                pass
            raise NotRDF(_CUT, line=lines)

    def _start(self) -> None:
        self._started = True
        if self._format not in _XML:
            self._buffer = self._more(_CHUNK).removeprefix(_BOM)
            return
        head = b""
        while len(head) < PROLOG_BYTES and (part := self._unpack(_CHUNK)):
            head += part
        body = check_prolog(head)
        self._buffer = head
        while skipped := _SKIP.match(head, body):
            body = skipped.end()
        self._root = root.group() if (root := _ROOT.match(head, body)) else b""
        if b"<!ENTITY" in head[:body].upper():
            self.prefixes.update(root_prefixes(head[: body + _CHUNK]))
        self._watch(head[body:])

    def _more(self, size: int) -> bytes:
        part = self._unpack(size)
        if self._format in _XML:
            self._watch(part)
        return part

    def _watch(self, part: bytes) -> None:
        """No declaration may follow the prolog: the parser would take it wherever it stands."""
        seen = self._tail + part
        for found in _LATE.finditer(seen):
            word = seen[found.start() : found.start() + 9].upper()
            if word.startswith((b"<!DOCTYPE", b"<!ENTITY")):
                raise NotRDF("a DTD in the middle of the document is not read: remove it")
        if self._root:
            self._roots += seen.count(self._root, max(len(self._tail) - len(self._root) + 1, 0))
        self._tail = seen[-_KEPT:]
        self._end = part[-_END_KEPT:] if len(part) >= _END_KEPT else (self._end + part)[-_END_KEPT:]

    def _unpack(self, size: int) -> bytes:
        try:
            part: bytes = self._source.read(size)
        except EOFError as exc:
            raise NotRDF("the gzip file ends too early: fetch it again") from exc
        except (zlib.error, OSError) as exc:
            if getattr(exc, "errno", None) is not None:  # the disk's fault, not the file's
                raise
            raise NotRDF(f"the gzip file is damaged ({exc}): fetch it again") from exc
        self._bytes += len(part)
        if self._gzipped and self._bytes > FREE_BYTES + MAX_RATIO * self._raw.bytes:
            what = f"the gzip file unpacks to more than {MAX_RATIO} times its size: no RDF does"
            raise NotRDF(f"{what}; unpack it yourself if you trust it")
        if self._bytes > MAX_BYTES:
            what = f"there are more than {MAX_BYTES >> 30} GiB in it"
            raise NotRDF(f"{what}: use an endpoint for so much")
        return part


def _ends_with(root: bytes, end: bytes) -> bool:
    """Whether a root is closed at the end of a document; comments and instructions may follow."""
    end = end.rstrip()
    while start := next((_BEHIND_ROOT[e] for e in _BEHIND_ROOT if end.endswith(e)), None):
        end = end[: max(end.rfind(start), 0)].rstrip()
    return end[-1:] == b">" and end[:-1].rstrip().endswith(root.replace(b"<", b"</"))


class _Counted(io.RawIOBase):
    """The file itself, with its hash and how much of it was read."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.hash = sha256()
        self.bytes = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        part = self.file.read(size)
        self.hash.update(part)
        self.bytes += len(part)
        return part


def check_prolog(head: bytes) -> int:
    """Where the root of an XML document begins. NotRDF for a DTD of more than plain entities."""
    at = len(_BOM) if head.startswith(_BOM) else 0
    while skipped := _SKIP.match(head, at):
        at = skipped.end()
    if head[at : at + 9].upper() != b"<!DOCTYPE":
        return at
    opened = _DOCTYPE.match(head, at)
    if opened is None:
        what = "the document names a DTD outside of itself, which is not read"
        raise NotRDF(f"{what}: remove the DOCTYPE")
    at = opened.end()
    return at if opened.group().endswith(b">") else _check_subset(head, at)


def _check_subset(head: bytes, at: int) -> int:
    entities = 0
    while True:
        if skipped := _IN_SUBSET.match(head, at):
            at = skipped.end()
        elif ended := _SUBSET_END.match(head, at):
            return ended.end()
        elif found := _ENTITY.match(head, at):
            entities += 1
            value = found.group(2) if found.group(2) is not None else found.group(3)
            if entities > MAX_ENTITIES or len(value) > MAX_ENTITY_CHARS:
                long = f"or one of more than {MAX_ENTITY_CHARS} characters: write them out"
                raise NotRDF(f"its DTD declares more than {MAX_ENTITIES} entities, {long}")
            at = found.end()
        else:
            line = head.count(b"\n", 0, at) + 1
            raise NotRDF(
                "its DTD holds more than plain entities (an entity within an entity, an outside"
                " file, or another declaration), which is not read: write the entities out and"
                " remove the DOCTYPE",
                line=line,
            )


def root_prefixes(head: bytes) -> dict[str, str]:
    """The prefixes that the root declares, entities written out: the parser drops those with one.
    What is broken is left to the parser."""
    from xml.parsers import expat

    found: dict[str, str] = {}
    parser = expat.ParserCreate(namespace_separator=" ")

    def bind(prefix: str | None, space: str | None) -> None:
        if not roots:
            found[prefix or ""] = space or ""

    roots: list[str] = []
    parser.StartNamespaceDeclHandler = bind
    parser.StartElementHandler = lambda name, _: roots.append(name)
    with contextlib.suppress(expat.ExpatError):
        parser.Parse(head, False)
    return found


def find_broken_line(parts: Iterable[bytes]) -> int | None:
    """The line on which XML is not well-formed; None where it is, or where it must not be read."""
    error = find_xml_error(parts)
    return None if error is None else error.lineno


def find_xml_error(parts: Iterable[bytes]) -> ExpatError | None:
    """What is not well-formed; None where all is, or where it must not be read."""
    from xml.parsers import expat  # a worker loads it before it shuts itself in

    parser = expat.ParserCreate("utf-8")  # as the parser reads it, whatever the prolog says
    try:
        for part in parts:
            parser.Parse(part, False)
        parser.Parse(b"", True)
    except expat.ExpatError as exc:
        return exc
    except NotRDF:
        pass
    return None


def read_entities(prolog: bytes) -> dict[bytes, bytes]:
    """The entities of a prolog that `check_prolog` let pass; the first of two with one name."""
    found: dict[bytes, bytes] = {}
    for match in _ENTITY.finditer(prolog):
        found.setdefault(match[1], match[2] if match[2] is not None else match[3])
    return found


def check_jsonld(data: bytes) -> None:
    """NotRDF when it is no JSON, or when a context would have to be fetched."""
    if len(data) > MAX_JSON_BYTES:
        raise NotRDF(f"more than {MAX_JSON_BYTES >> 20} MiB of JSON-LD: convert it to N-Quads")

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        for key, value in pairs:
            if key == "@context":
                for part in value if isinstance(value, list) else [value]:
                    if isinstance(part, str):
                        _refuse_context(part)
            elif key == "@import" and isinstance(value, str):
                _refuse_context(value)
        return dict(pairs[-1:])  # one is enough: nobody looks at the values again

    try:
        json.loads(data.removeprefix(_BOM), object_pairs_hook=look)
    except json.JSONDecodeError as exc:
        raise NotRDF(f"this is no JSON: {exc.msg}", line=exc.lineno) from exc
    except UnicodeDecodeError as exc:
        raise NotRDF("this is no text in UTF-8") from exc
    except RecursionError as exc:
        raise NotRDF("this JSON is nested too deep") from exc


def _refuse_context(named: str) -> None:
    what = f"it names the context {named[:200]!r}, which would have to be fetched and never is"
    raise NotRDF(f"{what}: put the context itself into the file")
