"""An ontology in a namespace of Python, for notebooks and scripts: no sandbox, no model."""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rlm.errors import ValidationError
from rlm.handles import Meter
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.source import open_engine
from rlm.ontology.views.views import MOUNTED, Views
from rlm.store.jsonfile import MemoryStore
from rlm.tools.memory import memory_tools


def setup_ontology_context(
    path: str | Path | Sequence[str | Path],
    ns: dict[str, Any],
    name: str,
    *,
    lang: str | None = None,
    imports: Mapping[str, str | Path] | None = None,
) -> Engine:
    """Open a file, several or a folder, or a named endpoint, and mount it: the engine as `name`,
    its GraphMeta as `name_meta`, and the views.

    The views are there by their own names (`describe_entity`) and with the name before them
    (`prov_describe_entity`): of two ontologies in one namespace the later one has the short names.
    `lang` is the language of labels. Nothing is mounted when the file cannot be read. Close the
    engine when it is no longer needed.
    """
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise ValidationError(
            f"name is {name!r:.80}: use the name of a variable, such as prov", field="name"
        )
    if not isinstance(ns, dict):
        raise ValidationError(
            f"ns is {type(ns).__name__}: use a dict, such as globals()", field="ns"
        )
    engine = open_engine(path, imports=imports)
    try:
        views = Views(engine, lang=lang)
    except BaseException:
        engine.close()
        raise
    ns[name], ns[f"{name}_meta"] = engine, views.meta
    for view in MOUNTED:
        ns[view] = ns[f"{name}_{view}"] = getattr(views, view)
    return engine


class MemStore(MemoryStore):
    """Memories in a list. `search` gives ids and titles, `quote` a little of one."""

    def load(self, path: str | Path) -> None:  # type: ignore[override]
        """Add the memories of a JSON store's file, or of a plain list, to these."""
        self.add_many(MemoryStore.load(path, tenant=self.tenant).memories)

    def search(
        self, q: str, k: int = 6, polarity: str | None = None, domain: str | None = None
    ) -> list[dict[str, Any]]:
        """As the tool `mem_search`: [{id, title, desc, src}], best first."""
        found: list[dict[str, Any]] = self._tool("mem_search")(q, k, polarity, domain)
        return found

    def quote(self, id: str, max_chars: int = 500) -> str:
        """As the tool `mem_quote`: an excerpt of one procedure, at most 500 characters."""
        return str(self._tool("mem_quote")(id, max_chars))

    def _tool(self, name: str) -> Any:
        return memory_tools(self, Meter()).functions[name]
