"""No tool shows, changes or betrays what belongs to another tenant, whatever it is given."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from boats import BOATS
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp_running import run_async
from tenants import MARK, OURS, THEIRS, WILD, dump_foreign, furnish

from rlm import open_store
from rlm.mcp_server import build_server, pick_tools
from rlm.mcp_server.library import Library
from rlm.mcp_server.server import Access
from rlm.mcp_server.stores import StorePool
from rlm.store.types import Tenant


@dataclass
class World:
    """A file with four tenants, and what their rows are called."""

    path: Path
    library: Library
    stores: StorePool
    foreign: tuple[str, ...]
    own: tuple[str, ...]

    def dump(self) -> str:
        return dump_foreign(self.path)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("tenants")
    path = folder / "m.db"
    (folder / "allowed").mkdir()
    (folder / "allowed" / "boats.ttl").write_text(BOATS, "utf-8")
    (folder / "secret.ttl").write_text(BOATS.replace("boat", MARK), "utf-8")
    (folder / "allowed" / "link.ttl").symlink_to(folder / "secret.ttl")
    foreign = [id_ for tenant in THEIRS for id_ in furnish(path, tenant, MARK)]
    own = furnish(path, OURS, "horse")
    library = Library.of([str(folder / "allowed" / "boats.ttl")], [str(folder / "allowed")])
    stores = StorePool(
        lambda tenant, read_only: open_store(
            path, tenant=tenant, embedder="none", read_only=read_only
        )
    )
    query = {"ontology": "boats", "query": "SELECT * { ?s ?p ?o }"}
    for tenant in THEIRS:  # results that lie behind handles of others
        run_async(
            call_all, World(path, library, stores, (), ()), [("sparql_query", query)] * 3, tenant
        )
    yield World(path, library, stores, tuple(foreign), tuple(own))
    library.close()
    stores.close()


async def call_all(
    world: World, calls: list[tuple[str, Any]], tenant: Tenant = OURS
) -> list[tuple[bool, str]]:
    """Whether each failed, and all that was answered."""
    tools = pick_tools(["ontology", "graph", "agent"], world.library)
    server = build_server(tools, world.stores, lambda _: Access(tenant, session="s"))
    found = []
    async with Client(server) as client:
        for name, arguments in calls:
            result = await client.call_tool(name, arguments)
            answer = result.model_dump(mode="json", exclude={"meta"})
            found.append((bool(result.is_error), json.dumps(answer, ensure_ascii=False)))
    return found


TOOLS = {tool.name: tool for tool in pick_tools(["ontology", "graph", "agent"], Library())}
PATHS = (
    "boats",
    "boats.ttl",
    "link.ttl",
    "../secret.ttl",
    "../m.db",
    "~/x",
    "allowed/../../secret.ttl",
)


def argument(schema: dict[str, Any], foreign: tuple[str, ...], own: tuple[str, ...]) -> Any:
    """What a hostile or muddled model may send in place of a value, or the value itself."""
    words = st.sampled_from((*foreign, *own, *WILD, *PATHS, "results_0", "results_1"))
    right: Any = {
        "string": st.sampled_from(schema["enum"]) if "enum" in schema else words,
        "integer": st.integers(1, 20),
        "number": st.floats(0, 1),
        "boolean": st.booleans(),
        "array": st.lists(words, max_size=3),
    }[schema["type"]]
    return right | st.none() | words if schema["type"] != "boolean" else right


@st.composite
def tool_call(draw: st.DrawFn, world: World) -> tuple[str, dict[str, Any]]:
    name = draw(st.sampled_from(sorted(TOOLS.keys() - {"agent_run"})))
    schema = TOOLS[name].schema
    given_ = {
        key: draw(argument(part, world.foreign, world.own))
        for key, part in schema["properties"].items()
        if key in schema["required"] or draw(st.booleans())
    }
    if draw(st.integers(0, 9)) == 0:
        key = draw(st.sampled_from(("project", "team", "org", "tenant", "session", "level")))
        given_[key] = draw(st.sampled_from((f"{MARK}-blog", f"{MARK}-ops", "*", None)))
    return name, given_


@pytest.mark.req("CX-04")
def test_nothing_foreign_is_shown_or_changed(world: World) -> None:
    before = world.dump()

    @settings(
        max_examples=25,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.explicit, Phase.generate),  # one call more or less explains nothing
    )
    @given(st.data())
    def play(data: st.DataObject) -> None:
        calls = data.draw(st.lists(tool_call(world), min_size=20, max_size=20))
        for (name, arguments), (_, answer) in zip(
            calls, run_async(call_all, world, calls), strict=True
        ):
            assert MARK not in answer, (name, arguments)

    play()
    assert world.dump() == before


BY_ID: tuple[tuple[str, dict[str, Any]], ...] = (
    ("memory_get", {"id": "ID"}),
    ("memory_feedback", {"id": "ID", "helpful": False}),
    ("memory_outcome", {"ids": ["ID"], "succeeded": True}),
    ("branch_return", {"message": "done", "branch": "ID"}),
    ("memory_relate", {"label": "x", "subject_id": "ID", "object_id": "ID"}),
    ("sparql_slice", {"ontology": "boats", "ref": "ID"}),
    ("graph_stats", {"ontology": "ID"}),
)


@pytest.mark.req("CX-04")
@pytest.mark.parametrize(("name", "arguments"), BY_ID, ids=[name for name, _ in BY_ID])
def test_a_foreign_id_and_an_absent_one_get_the_same_answer(
    world: World, name: str, arguments: dict[str, Any]
) -> None:
    def asked(id_: str) -> tuple[str, dict[str, Any]]:
        return name, json.loads(json.dumps(arguments).replace('"ID"', json.dumps(id_)))

    before = world.dump()
    absent = [id_[:-4] + ("0000" if id_[-4:] != "0000" else "1111") for id_ in world.foreign]
    calls = [asked(id_) for pair in zip(world.foreign, absent, strict=True) for id_ in pair]
    answers = iter(run_async(call_all, world, calls))
    for foreign_id, absent_id in zip(world.foreign, absent, strict=True):
        (failed, first), (_, second) = next(answers), next(answers)
        assert failed and first.replace(foreign_id, "ID") == second.replace(absent_id, "ID")
    assert world.dump() == before


def test_our_own_is_found(world: World) -> None:
    """So that the tests above do not pass because nothing is ever found."""
    calls = [("memory_search", {"query": "horse"}), ("memory_query", {"query": "horse"})]
    calls += [("memory_get", {"id": world.own[0]}), ("graph_stats", {"ontology": "boats.ttl"})]
    for failed, answer in run_async(call_all, world, calls):
        assert not failed and ("horse" in answer or "triples" in answer)


@pytest.mark.parametrize(
    "path", ["link.ttl", "../secret.ttl", "/etc/passwd", "../m.db", "", ".", "\0", "~/.ssh/id_rsa"]
)
def test_a_path_outside_of_the_folders_is_as_one_that_is_not_there(world: World, path: str) -> None:
    question = "Which classes are there?"
    calls: list[tuple[str, Any]] = [
        ("graph_stats", {"ontology": path}),
        ("agent_run", {"question": question, "file": path}),
        ("agent_run", {"question": question, "ontology": path}),
        ("graph_stats", {"ontology": "absent.ttl"}),
    ]
    *found, (_, absent) = run_async(call_all, world, calls)
    for failed, answer in found:
        assert failed and MARK not in answer
        if path:
            assert answer.replace(json.dumps(repr(path))[1:-1], "P") == absent.replace(
                "'absent.ttl'", "P"
            )
