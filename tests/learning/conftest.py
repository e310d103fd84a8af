"""Two real graphs for the verifiers, opened once per module, and no keys."""

from __future__ import annotations

import pytest

from rlm.ontology.engine.local import LocalEngine


@pytest.fixture(scope="session")
def graph_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("graphs")


@pytest.fixture(scope="module")
def harbour(root, graph_cache):
    with LocalEngine(root / "ontology" / "harbour.ttl", cache_dir=graph_cache) as engine:
        yield engine


@pytest.fixture(scope="module")
def prov(root, graph_cache):
    with LocalEngine(root / "ontology" / "prov.ttl", cache_dir=graph_cache) as engine:
        yield engine
