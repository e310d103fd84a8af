"""What the tools say of themselves, and what they take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm import open_store
from rlm.errors import ConfigError, ValidationError
from rlm.mcp_server import pick_tools
from rlm.mcp_server.arguments import check_arguments
from rlm.mcp_server.library import Library
from rlm.mcp_server.server import INSTRUCTIONS, definition
from rlm.mcp_server.tools import ToolRequest

DEFAULT = pick_tools([], Library())
ALL = pick_tools(["agent", "graph", "ontology"], Library())
CHARS_PER_TOKEN = 4


def test_the_default_definitions_fit_into_2500_tokens() -> None:
    listed = [
        definition(tool).model_dump(mode="json", by_alias=True, exclude_none=True)
        for tool in DEFAULT
    ]
    assert len(listed) == 8
    assert len(json.dumps(listed)) / CHARS_PER_TOKEN <= 2_500
    assert len(INSTRUCTIONS) <= 1_000


@pytest.mark.parametrize("tool", ALL, ids=[tool.name for tool in ALL])
def test_a_tool_is_short_strict_and_plain(tool: Any) -> None:
    assert 20 <= len(tool.description) <= 300
    schema = tool.schema
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object" and schema["additionalProperties"] is False
    assert not {"anyOf", "oneOf", "allOf", "$ref", "title"} & schema.keys()
    assert not {"project", "team", "org", "tenant"} & schema["properties"].keys()


def test_hints_say_what_a_tool_does() -> None:
    hints = {tool.name: definition(tool).annotations for tool in ALL}
    reads = {name for name, hint in hints.items() if hint is not None and hint.read_only_hint}
    assert {"memory_search", "memory_get", "sparql_query", "memory_query"} <= reads
    assert not reads & {"memory_record", "memory_feedback", "memory_outcome", "memory_consolidate",
                        "branch_create", "branch_return", "memory_add_fact", "agent_run"}  # fmt: skip
    destructive = {
        name for name, hint in hints.items() if hint is not None and hint.destructive_hint
    }
    assert destructive == {"memory_consolidate"}
    assert {name for name, hint in hints.items() if hint and hint.open_world_hint} == {"agent_run"}


def test_an_unknown_toolset_is_refused() -> None:
    with pytest.raises(ConfigError, match="known are ontology, graph, agent"):
        pick_tools(["ontolgy"], Library())


SEARCH, RECORD = DEFAULT[0], DEFAULT[2]


def about_tokens(text: str) -> float:
    """Four bytes of English are a token, and three of a script with a token for each character."""
    english = sum(map(str.isascii, text))
    return english / 4 + (len(text.encode()) - english) / 3


@pytest.mark.parametrize("letter", ["a", '"', "é", "題", "👍"], ids=ascii)
def test_a_hit_has_at_most_100_tokens_as_a_line_and_as_data(tmp_path: Path, letter: str) -> None:
    """Of the longest memory that is taken."""
    words = f"{letter * 30}\n" * 300
    with open_store(tmp_path / "m.db", embedder="none") as store:
        call = ToolRequest(store)
        kept = {
            "title": " ".join(["tea", *words.split()])[:200],
            "content": words[:8_000],
            "session": "s" * 36,
        }
        RECORD.call(call, **kept, description=words[:500])
        answer = SEARCH.call(call, query="tea")
    assert len(answer.data["hits"]) == 1 and "\n" not in answer.text
    assert about_tokens(answer.text) <= 100
    assert 95 <= about_tokens(json.dumps(answer.data["hits"][0], ensure_ascii=False)) <= 100


def test_a_search_says_what_its_marks_mean() -> None:
    said = SEARCH.description
    assert "`changed` hit holds only with" in said and "`weak`" in said
    assert "`unverified` decision is an agent's" in said and "`turn`" in said
    assert "What holds" in RECORD.schema["properties"]["description"]["description"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30)
    | st.sampled_from(("project", "decision", "7", 7, 7.0, "true", "x" * 9_000)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip


@given(st.data())
def test_what_is_admitted_fits_the_schema_and_is_not_changed(data: st.DataObject) -> None:
    tool = data.draw(st.sampled_from(ALL))
    names = st.sampled_from((*tool.schema["properties"], "unknown"))
    given_ = data.draw(st.dictionaries(names, VALUES, max_size=6))
    try:
        taken = check_arguments(tool.schema, given_)
    except ValidationError as exc:
        said = str(exc)
        assert len(said) <= 400 and "\n" not in said and said.isprintable(), said
        said.encode("utf-8")
    else:
        assert taken == given_
        jsonschema.Draft202012Validator(tool.schema).validate(given_)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "query is missing: use text of 1 to 2,000 characters"),
        (None, "query is missing"),
        ({"query": "x", "limit": "7"}, "limit is '7': use a whole number from 1 to 20, or leave it out"),
        ({"query": "x", "limit": 7.0}, "limit is 7.0"),
        ({"query": "x", "limit": True}, "limit is true"),
        ({"query": "x", "limit": 10**30}, "limit is too large"),
        ({"query": "x", "scope": None}, "scope is null: use one of project, team, org"),
        ({"query": "x", "scope": "*"}, "scope is '*'"),
        ({"query": ["x"]}, "query is a list of 1"),
        ({"query": "x" * 3_000}, "query is a text of 3,000 characters"),
        ({"query": "x", "tenant": "acme"}, "unknown argument 'tenant': this tool takes query, scope, limit"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_to_do(arguments: Any, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        check_arguments(DEFAULT[0].schema, arguments)
    assert str(caught.value).startswith(said)
