"""One story that calls every tool."""

from __future__ import annotations

from typing import Any

from mcp_running import ask, refused

EVERY_TOOL = {
    "memory_search", "memory_get", "memory_record", "memory_feedback", "memory_outcome",
    "memory_consolidate", "branch_create", "branch_return", "search_entity", "search_by_label",
    "describe_entity", "probe_relationships", "find_path", "predicate_frequency", "graph_stats",
    "ontology_view", "sparql_schema", "sparql_peek", "sparql_query", "sparql_slice", "memory_query",
    "memory_get_context", "memory_add_fact", "memory_add_experience", "memory_relate", "agent_run",
}  # fmt: skip


async def tell(client: Any) -> None:
    listed = {tool.name for tool in (await client.list_tools()).tools}
    assert listed == EVERY_TOOL
    await memories(client)
    await branches(client)
    await ontology(client)
    await notes(client)
    await agent(client)


async def memories(client: Any) -> None:
    assert (await ask(client, "memory_search", query="parcels")) == (
        "nothing relevant",
        {"hits": []},
    )
    told, made = await ask(
        client,
        "memory_record",
        title="Ship parcels before noon",
        content="The courier leaves at 12:15; print labels by 11:30.",
        kind="decision",
        tags=["shipping"],
        session="s-1",
    )
    one = made["memories"][0]["id"]
    assert told.startswith(f"{one}  recorded")
    line, found = await ask(client, "memory_search", query="when do parcels ship", limit=3)
    assert line.startswith(f"{one}  Ship parcels before noon") and "\n" not in line
    assert len(line) <= 400
    hit = found["hits"][0]
    assert (hit["id"], hit["kind"]) == (one, "decision") and hit["text"] in line
    assert list(hit) == ["id", "kind", "date", "text", "score", "source_session", "unverified"]
    assert hit["unverified"] and "(unverified decision, " in line
    whole, memory = await ask(client, "memory_get", id=one)
    assert memory["source_session"] == "s-1"
    assert "by 11:30" in whole and memory["content"].endswith("by 11:30.")
    before = memory["confidence"]
    _, rated = await ask(client, "memory_feedback", id=one, helpful=True, comment="it held")
    assert rated["memories"][0]["confidence"] > before
    _, rated = await ask(client, "memory_outcome", ids=[one], succeeded=False, session="s-2")
    assert rated["memories"][0]["id"] == one
    _, plan = await ask(client, "memory_consolidate", dry_run=True)
    assert plan["dry_run"] is True and plan["log_id"] is None
    _, done = await ask(client, "memory_consolidate", dry_run=False)
    assert done["dry_run"] is False and done["change_count"] == len(plan["changes"])
    # another project of the server may have been told the same story: then it is proposed, no more
    assert {change["operation"] for change in done["changes"]} <= {"propose"}
    assert "no memory" in await refused(client, "memory_get", id="0" * 16)


async def branches(client: Any) -> None:
    text, opened = await ask(
        client, "branch_create", description="find the courier", prompt="when do parcels ship?"
    )
    assert "Ship parcels before noon" in text and opened["branch"] in text
    _, ended = await ask(
        client, "branch_return", message="At 12:15.", outcome="success", branch=opened["branch"]
    )
    assert ended == {"branch": opened["branch"], "state": "returned"}
    again = await refused(client, "branch_return", message="At 12:15.", branch=opened["branch"])
    assert opened["branch"] in again


async def ontology(client: Any) -> None:
    graph: dict[str, Any] = {"ontology": "boats"}
    text, found = await ask(client, "search_entity", query="sloop", **graph)
    assert found["rows"][0]["curie"] == "ex:Sloop" and "ex:Sloop" in text
    assert (await ask(client, "search_by_label", text="ketch", **graph))[1]["rows"]
    assert "boat" in (await ask(client, "describe_entity", uri="ex:Boat", **graph))[0]
    await ask(client, "probe_relationships", uri="ex:Boat", direction="in", **graph)
    await ask(client, "find_path", source="ex:Sloop", target="ex:Boat", **graph)
    await ask(client, "predicate_frequency", limit=5, **graph)
    assert (await ask(client, "graph_stats", **graph))[1]["classes"] == 7
    await ask(client, "sparql_schema", output_mode="classes", **graph)
    await ask(client, "sparql_peek", resource="ex:Boat", output_mode="count", **graph)
    _, tree = await ask(client, "ontology_view", view="tree", term="ex:Boat", **graph)
    assert [row["name"] for row in tree["rows"]] == ["ex:Ketch", "ex:Sloop"]
    _, same = await ask(client, "ontology_view", view="diff", other="boats", **graph)
    assert same["same"] is True
    assert "did you mean" in await refused(
        client, "ontology_view", view="tree", term="ex:Boot", **graph
    )
    query = "SELECT ?c WHERE { ?c rdfs:subClassOf ex:Boat } ORDER BY ?c"
    _, result = await ask(client, "sparql_query", query=query, **graph)
    assert result["rows"] == 2
    _, page = await ask(client, "sparql_slice", ref=result["ref"], limit=10, **graph)
    assert [row["c"] for row in page["rows"]] == ["ex:Ketch", "ex:Sloop"]
    _, yes = await ask(client, "sparql_query", query="ASK { ex:Boat a owl:Class }", **graph)
    assert yes["boolean"] is True
    assert "known are boats" in await refused(client, "graph_stats", ontology="../boats.ttl")
    assert "DROP" in await refused(client, "sparql_query", query="DROP ALL", **graph)


async def notes(client: Any) -> None:
    _, fact = await ask(client, "memory_add_fact", content="Crates of tea weigh 40 kg")
    _, tried = await ask(
        client, "memory_add_experience", content="stacked six", outcome="fell", success=False
    )
    ids = {"subject_id": fact["id"], "object_id": tried["id"]}
    await ask(client, "memory_relate", label="explains", **ids)
    assert (await ask(client, "memory_query", query="tea crates"))[1]["rows"][0]["id"] == fact["id"]
    assert len((await ask(client, "memory_get_context", limit=5))[1]["rows"]) == 2


async def agent(client: Any) -> None:
    steps: list[float] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        steps.append(done)

    question = "Which classes are direct subclasses of Boat?"
    result = await client.call_tool(
        "agent_run",
        {"question": question, "ontology": "boats", "max_steps": 8},
        progress_callback=note,
    )
    assert not result.is_error, result.content[0].text
    assert "Sloop" in result.content[0].text and result.structured_content["converged"] is True
    assert steps and steps == sorted(set(steps))
    said = await refused(client, "agent_run", question=question)
    assert "give a file or an ontology" in said
