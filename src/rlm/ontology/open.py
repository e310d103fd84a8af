"""From what somebody names, a file or an endpoint, to an engine that answers."""

from __future__ import annotations

from pathlib import Path

from rlm import config
from rlm.errors import OntologyError
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.engine.protocol import Engine, EngineLimits


def open_engine(
    source: str | Path,
    *,
    format: str | None = None,
    cache_dir: Path | None = None,
    limits: EngineLimits = EngineLimits(),  # noqa: B008 - frozen
) -> Engine:
    """An engine for a file, or else for an endpoint that the config names."""
    name = str(source)
    path = Path(name).expanduser()
    if not path.exists() and isinstance(source, str):
        if "://" in name or name in config.endpoints():
            from rlm.ontology.remote.endpoints import open_endpoint  # a file needs no sockets

            return open_endpoint(name)
        if path.name == name and not path.suffix:
            raise OntologyError(
                f"there is no file {name!r}, and the config names no endpoint {name!r}"
            )
    return LocalEngine(path, format=format, cache_dir=cache_dir, limits=limits)
