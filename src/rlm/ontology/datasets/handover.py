"""Data on its way to and from a worker that can be killed: a text to query, a foreign file to read.

Both are loaded into the memory of the worker: a file takes the place of the folder for the cache,
so none is built and nothing stays on disk.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import weakref
from pathlib import Path

from rlm.errors import OntologyError
from rlm.ontology.datasets.graphs import MAX_STATEMENTS
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.engine.protocol import EngineLimits
from rlm.ontology.terms import Term

MAX_ROWS = 1000
MAX_MOUNT_BYTES = 32 << 20
QUERY_S = 30.0
LIMITS = EngineLimits(timeout_s=QUERY_S, load_timeout_s=60.0, memory_mb=1024, rows=MAX_ROWS)
MOUNT_LIMITS = EngineLimits(
    timeout_s=60.0, load_timeout_s=60.0, memory_mb=1024, answer_bytes=64 << 20, rows=MAX_STATEMENTS
)


class HandedDataset:
    """One TriG text in a private file that goes with this object, and the engine over it."""

    def __init__(self, text: str, name: str, version: int) -> None:
        self.version = version
        try:
            folder = Path(tempfile.mkdtemp(prefix="rlm-dataset-"))  # only its owner may enter it
        except OSError as exc:
            raise OntologyError(f"there is no place for temporary files: {exc}") from exc
        self._forget = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        path = folder / f"{name}.trig"
        try:
            path.write_text(f"# {name}\n{text}", "utf-8")
            self.engine = LocalEngine(path, format="trig", cache_dir=path, limits=LIMITS)
        except BaseException as exc:
            self._forget()
            if isinstance(exc, OSError):
                what = f"the dataset {name} cannot be handed to a worker: {exc}"
                raise OntologyError(what) from exc
            raise

    def close(self) -> None:
        self.engine.close()
        self._forget()


def read_file(path: Path, format: str | None) -> tuple[list[dict[str, Term]], str]:
    """All statements of an RDF file, as rows with s, p and o, and the hash of the file.

    Raises NotRDF, QueryTimeout or OntologyError, also for more than a dataset holds.
    """
    size = 0  # what cannot be read, the engine says better
    with contextlib.suppress(OSError, ValueError):
        size = path.stat().st_size if path.is_file() else 0
    if size > MAX_MOUNT_BYTES:
        most = f"at most {MAX_MOUNT_BYTES:,} can be mounted: query it instead"
        raise OntologyError(f"{path} has {size:,} bytes, {most}")
    with LocalEngine(path, format=format, cache_dir=path, limits=MOUNT_LIMITS) as engine:
        answer = engine.query("SELECT ?s ?p ?o { ?s ?p ?o }", limit=MAX_STATEMENTS)
        if answer.truncated:
            most = f"which is too much for a dataset (at most {MAX_STATEMENTS:,}): query it instead"
            raise OntologyError(f"{path} has {engine.triples:,} statements, {most}")
        return answer.rows, engine.content_hash
