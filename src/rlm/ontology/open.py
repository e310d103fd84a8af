"""From what somebody names, a file or an endpoint, to an engine that answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rlm import config
from rlm.errors import OntologyError
from rlm.ontology.engine.formats import Named
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.engine.protocol import Engine, EngineLimits


def open_engine(
    source: Named,
    *,
    format: str | None = None,
    imports: Mapping[str, str | Path] | None = None,
    within: Sequence[Path] | None = None,
    cache_dir: Path | None = None,
    limits: EngineLimits = EngineLimits(),  # noqa: B008 - frozen
) -> Engine:
    """An engine for a file, for several files or a folder as one graph, or else for an endpoint
    that the config names. `imports`: IRI to the file that holds it, before what a catalogue beside
    the files says. `within`: the folders that a catalogue may lead to, all where None."""
    if not isinstance(source, str | Path) and len(source) == 1:
        source = source[0]
    if not isinstance(source, str | Path):
        return LocalEngine(
            source,
            format=format,
            imports=imports,
            within=within,
            cache_dir=cache_dir,
            limits=limits,
        )
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
    return LocalEngine(
        path, format=format, imports=imports, within=within, cache_dir=cache_dir, limits=limits
    )
