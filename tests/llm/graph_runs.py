"""Runs of `offline` over an ontology, for tests: a real engine, the real tools, the real loop and
REPL."""

from __future__ import annotations

import inspect
import json
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rlm.context import build_context
from rlm.handles import Meter, Store
from rlm.llm.offline.client import OfflineClient
from rlm.llm.offline.graph import repl as programs
from rlm.loop import Limits, RLMResult, rlm_run
from rlm.ontology.source import open_engine
from rlm.ontology.views.views import Views
from rlm.store.types import MemoryItem
from rlm.tools import sparql_tools, view_tools

PREFIXES = """
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix ex: <http://ex.example/> . @prefix other: <http://other.example/> .
"""
FINDING = "`search_entity(name)` for the IRI"


def opened(folder: Path, turtle: str) -> Any:
    """An engine over a few triples."""
    path = folder / "some.ttl"
    path.write_text(PREFIXES + turtle, "utf-8")
    return open_engine(path, cache_dir=folder)


def ask(
    engine: Any, question: str, memories: Sequence[MemoryItem] = (), *, limits: Limits | None = None
) -> RLMResult:
    """One run, with these procedures in its prompt."""
    meter, meta = Meter(), engine.meta()
    told = build_context(question, meta, memories).text
    with Store() as handles:
        box = sparql_tools(engine, handles, meter) | view_tools(Views(engine, meta), meter)
        return rlm_run(
            question,
            told,
            client=OfflineClient(),
            tools=box.functions,
            untimed=box.untimed,
            store=handles,
            meter=meter,
            guidance=told,
            limits=limits or Limits(max_output_chars=2_000),
        )


def found(engine: Any, query: str) -> set[str]:
    """The IRIs of a query's ?x, as the answers write them."""
    meta = engine.meta()
    return {
        meta.curie(row["x"]["v"])
        for row in engine.query(query, limit=10_000).rows
        if row["x"]["t"] == "iri"
    }


def listed(answer: str) -> set[str]:
    """The names in an answer's list."""
    return {match[1] for match in re.finditer(r"^- (\S+)", answer, re.MULTILINE)}


def uses(result: RLMResult) -> list[str]:
    """What the replies of a run said about the procedures."""
    said = [
        line
        for turn in result.iterations
        for line in turn.response.split("\n")
        if line.startswith("Uses:")
    ]
    return [line.removeprefix("Uses:").strip() for line in said]


def procedure(title: str, *steps: str, **more: Any) -> MemoryItem:
    return MemoryItem(
        title, more.pop("description", ""), "\n".join(f"- {step}" for step in steps), **more
    )


def query_step(query: str) -> str:
    return f'`sparql_query("{query}")`'


def functions(engine: Any) -> dict[str, Any]:
    """The functions that are sent into the REPL, here, with the tools of this engine."""
    meter = Meter()
    views = view_tools(Views(engine, engine.meta()), meter).functions
    made: dict[str, Any] = {**views, "re": re, "json": json, "unicodedata": unicodedata, "Any": Any}
    for name in ("words", "singular", "slip", "closeness", "link"):
        exec(
            inspect.getsource(getattr(programs, name)), made
        )  # our own source, as the REPL gets it
    return made
