"""What every test gets: a home of its own, no settings from outside, and a few shared things."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from rlm.retrieval.embed import Embedder
    from rlm.store.sqlite.backend import SQLiteMemoryBackend

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile("rlm", deadline=None, max_examples=30)
settings.register_profile("ci", deadline=None, max_examples=30, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=500)  # --hypothesis-profile
settings.load_profile("ci" if os.environ.get("CI") else "rlm")

# Without bytecode every run rewrites every test file, and every process of rlm that a test starts
# compiles what it imports. It lies where it always lies: git ignores it, and what pip and make have
# compiled is used.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

gc.disable()  # while tests are collected: all that is made then stays

if (
    signal.getsignal(signal.SIGINT) == signal.SIG_IGN
):  # a shell's background job: the tests press Ctrl-C all the same
    signal.signal(signal.SIGINT, signal.default_int_handler)

MEMORY = Path("/dev/shm")
ENOUGH = 4 << 30


def pytest_configure(config: pytest.Config) -> None:
    """Default tests write to memory where there is room: two thousand stores wait for a disk longer
    than they compute.

    The slow tests, those of crashes among them, stay on the disk; so does whoever names a folder.
    """
    default = str(config.getoption("markexpr")).startswith("not slow")
    if default and config.getoption("basetemp") is None and os.access(MEMORY, os.W_OK):
        room = os.statvfs(MEMORY)
        if room.f_bavail * room.f_frsize > ENOUGH:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """In a fresh checkout rewriting the tests takes 10 s, and each worker needs them all: each
    starts with another part of a folder, and finds the rest done by the others."""
    report = yield
    if WORKERS > 1 and isinstance(collector, pytest.Directory) and report.result:
        first = len(report.result) * WORKER // WORKERS
        report.result = report.result[first:] + report.result[:first]
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All workers name the tests in the same order."""
    if WORKERS > 1:
        items.sort(key=lambda item: item.path)


def pytest_collection_finish() -> None:
    gc.enable()


WARM = ("agent", "cli", "llm", "seeds", "train")
"""Tests in these folders ask the same ontologies again and again: they share a cache, so that each
is parsed once. How an ontology is opened without one is proven in `ontology` and `tools`, and by
whoever comes first."""


@pytest.fixture(scope="session")
def warm_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of ontologies for all tests of a process."""
    return tmp_path_factory.mktemp("warm")


@pytest.fixture(autouse=True)
def clean_environment(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    warm_cache: Path,
) -> Path:
    """An empty HOME, none of the caller's RLM_* variables, no key. Returns that home."""
    for name in [
        name for name in os.environ if name.startswith("RLM_") and not name.startswith("RLM_LIVE")
    ]:
        monkeypatch.delenv(name)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    if request.path.parent.name in WARM:
        monkeypatch.setenv("RLM_CACHE_DIR", str(warm_cache))
    return home


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    """The static embedder, loaded once for all tests of a process."""
    from rlm.retrieval.static import StaticEmbedder

    return StaticEmbedder()


@pytest.fixture
def store(tmp_path: Path, embedder: Embedder) -> Iterator[SQLiteMemoryBackend]:
    """A fresh SQLite store with the shared embedder."""
    from rlm.store.sqlite.backend import SQLiteMemoryBackend

    with SQLiteMemoryBackend(tmp_path / "memory.db", embedder=embedder) as opened:
        yield opened


def open_to_all(folder: Path) -> bool:
    """Whether every user may enter a folder."""
    return all(path.stat().st_mode & 0o001 for path in (folder, *folder.parents))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user may look into; pytest's own are closed, and so may TMPDIR be."""
    places = [Path(name) for name in (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm")]
    place = next((each for each in places if each.is_dir() and open_to_all(each)), None)
    if place is None:
        pytest.skip("no folder for temporary files is open to other users")
    folder = Path(tempfile.mkdtemp(prefix="rlm-open-", dir=place))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The data that lies beside the repository; the test is skipped where there is none."""
    path = ROOT.parent / "shared"
    if not path.is_dir():
        pytest.skip("there is no ../shared here")
    return path


BOATS = """
@prefix ex: <http://example.org/boats#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Boat a owl:Class ; rdfs:label "boat"@en . ex:Sloop a owl:Class ; rdfs:subClassOf ex:Boat ; rdfs:label "sloop"@en .
ex:Ketch a owl:Class ; rdfs:subClassOf ex:Boat ; rdfs:label "ketch"@en .
ex:Crew a owl:Class ; rdfs:label "crew"@en . ex:Cook a owl:Class ; rdfs:subClassOf ex:Crew ; rdfs:label "cook"@en .
ex:Engine a owl:Class ; rdfs:label "engine"@en .
ex:Diesel a owl:Class ; rdfs:subClassOf ex:Engine ; rdfs:label "diesel"@en .
"""
LESSON = """
id: boats_v1
ontology: {name: boats, path: boats.ttl}
tasks:
  - id: boats-sub-01
    query: "Which classes are direct subclasses of Boat?"
    tags: [subclasses]
    verify: {compare: set, sparql: "SELECT ?c WHERE { ?c rdfs:subClassOf ex:Boat }"}
  - id: boats-sub-02
    query: "Which classes are direct subclasses of Crew?"
    tags: [subclasses]
    verify: {compare: set, sparql: "SELECT ?c WHERE { ?c rdfs:subClassOf ex:Crew }"}
  - id: boats-sub-03
    query: "Which classes are direct subclasses of Engine?"
    tags: [subclasses]
    held_out: true
    verify: {compare: set, sparql: "SELECT ?c WHERE { ?c rdfs:subClassOf ex:Engine }"}
"""


@pytest.fixture
def lesson(tmp_path: Path) -> Path:
    """A curriculum of three tasks over a small ontology beside it; the last is held out."""
    (tmp_path / "boats.ttl").write_text(BOATS, "utf-8")
    path = tmp_path / "boats_v1.yaml"
    path.write_text(LESSON.lstrip(), "utf-8")
    return path


@pytest.fixture(scope="module")
def qdrant_engine(tmp_path_factory):
    """Qdrant's own engine behind its REST API, shared by the tests of a module."""
    from qdrant_server import Edge, serving  # a second to import

    with serving(Edge(tmp_path_factory.mktemp("qdrant"))) as server:
        yield server


@pytest.fixture
def qdrant(qdrant_engine, monkeypatch):
    """The settings name that server as the index beside every store."""
    qdrant_engine.fault, qdrant_engine.key = None, ""
    qdrant_engine.requests.clear()
    for name in ("RLM_INDEX_KEY", "RLM_INDEX_LAYOUT", "RLM_INDEX_FALLBACK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RLM_INDEX", f"qdrant:{qdrant_engine.url}")
    return qdrant_engine


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[object]:
    """A real PostgreSQL 18, one for all tests of a process."""
    from postgres_server import PostgresServer, wheel_programs

    server = PostgresServer(wheel_programs())
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres15_server() -> Iterator[object]:
    """Debian's PostgreSQL 15, which has no pgvector."""
    from postgres_server import DEBIAN, PostgresServer

    if not DEBIAN.exists():
        pytest.skip("Debian's PostgreSQL 15 is not installed")
    server = PostgresServer(DEBIAN)
    yield server
    server.stop()
