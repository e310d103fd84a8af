"""A dataset in a file, and back.

A snapshot is TriG. Its first line is a comment with the version of the format and the SHA-256 of
all that follows; then come three statements about the dataset (format, name, session id), then the
graphs, sorted, a statement to a line. The same dataset gives the same bytes. Only such a file is
loaded: one that was edited, cut or damaged does not match its sum, and one that somebody made to
match may still hold nothing but flat lines within the bounds of a dataset. This is why it is safe
to parse it in this process.

The sum tells damage, not who wrote the file. A file is replaced whole, readable by its owner only;
when it cannot be written, the old one stays.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pyoxigraph as ox

from rlm.errors import OntologyError
from rlm.files import write_whole
from rlm.ontology.datasets.dataset import (
    MAX_BYTES,
    MAX_GRAPHS,
    MAX_LINE_CHARS,
    MAX_STATEMENTS,
    OURS,
    DatasetMeta,
    SavedSnapshot,
)
from rlm.ontology.vocabulary import XSD

FORMAT = 1
MAX_SNAPSHOT_BYTES = MAX_BYTES + (1 << 20)
"""The statements, and room for the lines around them: more than 256 graphs can need."""
_FIRST = re.compile(rb"# rlm dataset snapshot ([0-9]{1,9}) sha256:([0-9a-f]{64})\n")
_IRI = r'<[^\x00-\x20<>"{}|^`\\]+>'
_NODE = rf"(?:{_IRI}|_:n[1-9][0-9]{{0,11}})"
_TEXT = rf'"[^"\\\n\r]*(?:\\.[^"\\\n\r]*)*"(?:@[A-Za-z0-9-]+|\^\^{_IRI})?'
_STATEMENT = re.compile(rf"{_NODE} {_IRI} (?:{_NODE}|{_TEXT}) \.")
_OPENS = re.compile(rf"({_IRI}) \{{")
_HEAD = ("format", "name", "session")


def save_snapshot(dataset: DatasetMeta, path: str | Path) -> Path:
    """Write a dataset, whole or not at all; its absolute path. OntologyError when it cannot be."""
    target = Path(path).expanduser().absolute()
    version, graphs = dataset.image()
    body = "\n".join([*_about(dataset.name, dataset.session_id), graphs]).encode()
    digest = sha256(body).hexdigest()
    try:
        write_whole(target, f"# rlm dataset snapshot {FORMAT} sha256:{digest}\n".encode() + body)
    except (OSError, ValueError) as exc:
        what = f"the snapshot {target} cannot be written ({exc}): what was there stays"
        raise OntologyError(what) from exc
    dataset.saved = SavedSnapshot(target, digest, version)
    return target


def load_snapshot(path: str | Path) -> DatasetMeta:
    """The dataset of a snapshot, with its name and session id. OntologyError for any other file."""
    target = Path(path).expanduser().absolute()
    raw = _bytes_of(target)
    try:
        digest, text = _verify(raw)
        dataset = _parse(text)
    except OntologyError as exc:
        raise OntologyError(f"{target}: {exc}") from exc
    dataset.saved = SavedSnapshot(target, digest, dataset.version)
    return dataset


@contextlib.contextmanager
def open_persistent(
    path: str | Path, name: str, *, session_id: str | None = None
) -> Iterator[DatasetMeta]:
    """A dataset for one run: loaded from its snapshot, if any, and saved if it was changed. Nothing
    is saved when the block raises, or when another run saved to the same path meanwhile: then this
    raises. `session_id` is for a new dataset: a loaded one has its own."""
    target = Path(path).expanduser().absolute()
    dataset = load_snapshot(target) if target.exists() else DatasetMeta(name, session_id=session_id)
    if dataset.name != name:
        what = f"{target} holds the dataset {dataset.name}, not {name}"
        raise OntologyError(f"{what}: name it so, or use another file")
    first = dataset.saved
    with dataset:
        yield dataset
    last = dataset.saved if dataset.saved and dataset.saved.path == target else first
    if dataset.version == (last.version if last else 0):
        return
    if _digest_at(target) != (last.digest if last else None):
        raise OntologyError(
            f"{target} was written by another run since it was loaded: it is left as it is, and the"
            " changes of this run are not saved; save_snapshot(dataset, another_path) keeps them"
        )
    save_snapshot(dataset, target)


# -- writing


def _about(name: str, session_id: str) -> list[str]:
    format_ = ox.Literal(str(FORMAT), datatype=ox.NamedNode(XSD + "integer"))
    values = zip(_HEAD, (format_, ox.Literal(name), ox.Literal(session_id)), strict=True)
    return [f"<urn:rlm:{name}> <{OURS}{word}> {value} ." for word, value in values]


# -- reading


def _bytes_of(path: Path) -> bytes:
    try:
        # A pipe must not make us wait.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OntologyError(f"{path} is no regular file, so no snapshot")
            raw = file.read(MAX_SNAPSHOT_BYTES + 1)
    except FileNotFoundError as exc:
        raise OntologyError(f"there is no snapshot {path}") from exc
    except (OSError, ValueError) as exc:
        raise OntologyError(f"the snapshot {path} cannot be read: {exc}") from exc
    if len(raw) > MAX_SNAPSHOT_BYTES:
        most = f"at most {MAX_SNAPSHOT_BYTES:,} bytes"
        raise OntologyError(f"{path} is too large for a snapshot: {most}")
    return raw


def _verify(raw: bytes) -> tuple[str, str]:
    """The sum and the text that it stands for."""
    first = _FIRST.match(raw)
    if first is None:
        raise OntologyError("this is no snapshot of a dataset, or its first line is damaged")
    if int(first[1]) != FORMAT:
        what = f"this snapshot has format {int(first[1])}, this rlm reads {FORMAT}"
        raise OntologyError(f"{what}: use the rlm of its age")
    body, digest = raw[first.end() :], first[2].decode()
    if sha256(body).hexdigest() != digest:
        raise OntologyError(
            "the snapshot is damaged or was edited: it does not match its sum; use an older copy"
        )
    try:
        return digest, body.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise OntologyError(f"the snapshot is not UTF-8 (byte {exc.start})") from exc


def _parse(text: str) -> DatasetMeta:
    """Every line is checked before the parser sees any."""
    graphs: dict[str, set[str]] = {"": set()}
    graph, statements, opened = "", 0, 0
    for number, line in enumerate(text.split("\n"), 2):
        if len(line) > MAX_LINE_CHARS:
            raise OntologyError(f"line {number} is too long")
        if _STATEMENT.fullmatch(line):
            statements += 1
            graphs[graph].add(line)
        elif opens := _OPENS.fullmatch(line):
            graph, opened = opens[1][1:-1], opened + 1
            graphs.setdefault(graph, set())
        elif line == "}":
            graph = ""
        elif line:
            raise OntologyError(f"line {number} is none of a snapshot: {line[:80]!a}")
        if statements > MAX_STATEMENTS + len(_HEAD) or opened > MAX_GRAPHS:
            raise OntologyError(f"more than {MAX_STATEMENTS:,} statements or {MAX_GRAPHS} graphs")
    try:
        quads = list(ox.parse(input=text, format=ox.RdfFormat.TRIG))
    except (SyntaxError, ValueError) as exc:
        raise OntologyError(f"not valid TriG: {' '.join(str(exc).split())[:300]}") from exc
    head = [quad for quad in quads if isinstance(quad.graph_name, ox.DefaultGraph)]
    said = {quad.predicate.value: quad.object for quad in head}
    name, session_id = (getattr(said.get(OURS + word), "value", "") for word in _HEAD[1:])
    if graphs.pop("") != set(_about(name, session_id)):
        raise OntologyError(
            f"a snapshot says its {', '.join(_HEAD)}, once each, and nothing else outside its"
            " graphs"
        )
    return DatasetMeta.restore(name, session_id, graphs)


def _digest_at(path: Path) -> str | None:
    """The sum that the file claims; None when there is no file, empty when it is no snapshot."""
    try:
        with path.open("rb") as file:
            first = _FIRST.match(file.read(200))
    except FileNotFoundError:
        return None
    except OSError:
        return ""
    return first[2].decode() if first else ""
