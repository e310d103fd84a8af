"""The process that a query engine runs in (`rlm.ontology.engine.child`)."""

from __future__ import annotations

from typing import Any

from rlm.errors import OntologyError
from rlm.frames import BrokenFrame
from rlm.worker import Gone, WorkerProcess, package_folder

__all__ = ["Gone", "Worker"]

SEND_BYTES = 16 << 20
_START = """
sys.path.append({theirs!r})
from rlm.ontology.engine.child import main
main()
"""


class Worker(WorkerProcess):
    """One worker; what it is to do is sent to it first."""

    def __init__(self, first: dict[str, Any] | None = None, *, frame_bytes: int) -> None:
        folder = package_folder("pyoxigraph")
        if folder is None:
            raise OntologyError("pyoxigraph is missing: pip install 'pyoxigraph>=0.5.7'")
        code = _START.format(theirs=str(folder.parent))
        try:
            super().__init__(code, frame_bytes=frame_bytes, send_bytes=SEND_BYTES, keep_stderr=True)
        except OSError as exc:
            raise OntologyError(f"the query engine's worker cannot be started: {exc}") from exc
        try:
            if first is not None:
                self.send(first)
        except BaseException:
            self.kill()
            raise

    def send(self, message: dict[str, Any]) -> None:
        """Gone when nobody reads; OntologyError when it is too long."""
        try:
            super().send(message)
        except BrokenFrame as exc:
            raise OntologyError(f"too much for one query: {exc}") from exc
