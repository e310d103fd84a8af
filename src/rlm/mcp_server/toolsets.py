"""The tools that somebody asks for: `--toolsets ontology,graph,agent`.

`ontology`: the views of a graph and SPARQL, by handle. `graph`: notes in the hypergraph. `agent`: a
question over a whole file or ontology, answered by the recursive loop in place of pasting it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlm.errors import ConfigError, ValidationError
from rlm.mcp_server.arguments import flag, object_of, of_signature, one_of, text, whole
from rlm.mcp_server.library import Library
from rlm.mcp_server.tools import MEMORY_TOOLS, ToolAnswer, ToolDefinition, ToolRequest
from rlm.worker import check_cancelled

if TYPE_CHECKING:
    from rlm.loop import RLMIteration

TOOLSETS = ("ontology", "graph", "agent")
ONTOLOGY = text("Its handle, or a path.", most=1_000)
ASKING: Any = {"writes": False, "idempotent": True, "takes_long": True}
"""What holds for every question to a graph."""
MOST_STEPS = 50
STEPS = 20
MOST_RUN_S = 3_600
RUN_S = 600


def pick_tools(toolsets: Sequence[str], library: Library) -> tuple[ToolDefinition, ...]:
    """The tools of every connection, and those of these sets. ConfigError for an unknown set."""
    made: dict[str, Callable[[Library], tuple[ToolDefinition, ...]]] = {
        "ontology": _ontology_tools,
        "graph": lambda _: GRAPH_TOOLS,
        "agent": _agent_tools,
    }
    for name in toolsets:
        if name not in made:
            raise ConfigError(f"--toolsets {name}: known are {', '.join(TOOLSETS)}")
    chosen = (tool for name in TOOLSETS if name in toolsets for tool in made[name](library))
    return (*MEMORY_TOOLS, *chosen)


def _answer(value: Any) -> ToolAnswer:
    """A value as text; a list is one line a row."""
    rows = value if isinstance(value, list) else [value]
    lines = (json.dumps(row, ensure_ascii=False, default=str) for row in rows)
    data = {"rows": value} if isinstance(value, list) else value
    return ToolAnswer("\n".join(lines) or "nothing", json.loads(json.dumps(data, default=str)))


# -- ontology


def _ontology_tools(library: Library) -> tuple[ToolDefinition, ...]:
    from rlm.ontology.views.views import VIEWS, Views

    views = []
    for name in VIEWS:
        method = getattr(Views, name)
        schema = of_signature(method, ("self",))
        schema["properties"] = {"ontology": ONTOLOGY, **schema["properties"]}
        schema["required"] = ["ontology", *schema["required"]]
        said = " ".join((method.__doc__ or "").split())
        act = partial(_view, library, name)
        views.append(ToolDefinition(name, said, schema, act, **ASKING))
    return (*views, _catalogue_tool(library), *_sparql_tools(library))


def _catalogue_tool(library: Library) -> ToolDefinition:
    """All views of the catalogue as one tool: their definitions cost every prompt."""
    from rlm.ontology.views.hierarchy import RELATIONS, TERM_KINDS
    from rlm.ontology.views.views import CATALOGUE

    schema = object_of(
        {"ontology": ONTOLOGY, "view": one_of(*CATALOGUE, "diff")},
        {
            "term": text("What it is about, where a view is about a term."),
            "other": text("compare: the other term. diff: the newer ontology."),
            "relation": one_of(*RELATIONS, doc="For related."),
            "kind": one_of(*TERM_KINDS, doc="For terms."),
            "property": text("For values."),
            "lang": text("For labels.", most=40),
            "rule": text("For lint.", most=40),
            "depth": whole("For tree.", most=100, default=2),
            "all": flag("For related and instances: at any depth."),
            "inherited": flag("For restrictions."),
            "offset": whole("As next_offset said.", least=0, most=10**9, default=0),
        },
    )
    said = (
        "A view of an ontology, with definitions read: hierarchy, relations, lists of terms,"
        " instances, values, restrictions, labels, shapes, faults, or diff to a newer release."
    )
    return ToolDefinition("ontology_view", said, schema, partial(_catalogue, library), **ASKING)


def _catalogue(
    library: Library, call: ToolRequest, ontology: str, view: str, **given: Any
) -> ToolAnswer:
    from rlm.ontology.views.diff import diff
    from rlm.tools.views import VIEW_CHARS, fit

    if view != "diff":
        return _view(library, "ontology_view", call, ontology, view=view, **given)
    if set(given) != {"other"}:
        raise ValidationError("diff takes `other`, the newer ontology, and nothing else")
    before, after = library.open(ontology), library.open(given["other"])
    return _answer(fit(diff(before.engine, after.engine), VIEW_CHARS))


def _view(
    library: Library, name: str, call: ToolRequest, ontology: str, **given: Any
) -> ToolAnswer:
    from rlm.handles import Meter
    from rlm.tools.views import view_tools

    box = view_tools(library.open(ontology).views, Meter())
    return _answer(box.functions[name](**given))


def _sparql(
    library: Library, name: str, call: ToolRequest, ontology: str, **given: Any
) -> ToolAnswer:
    from rlm.handles import Meter
    from rlm.tools.sparql import sparql_tools

    opened = library.open(ontology)
    desk = library.handles(call.store.tenant)
    box = sparql_tools(opened.engine, desk, Meter(), memory=call.store, ontology=opened.name)
    if name == "sparql_query":
        given["explain"] = True
    if name == "sparql_slice":
        given["ref_or_key"] = given.pop("ref")
    found = box.functions[name](**given)
    if "ref" in found:
        found["ref"] = found["ref"].key
    return _answer(found)


def _sparql_tools(library: Library) -> tuple[ToolDefinition, ...]:
    from rlm.ontology.query.guard import MAX_CHARS
    from rlm.tools.sparql import QUERY_ROWS, SLICE_ROWS
    from rlm.tools.sparql_schema import SCHEMA_MODES

    def tool(name: str, said: str, required: Any, optional: Any) -> ToolDefinition:
        schema = object_of({"ontology": ONTOLOGY, **required}, optional)
        act = partial(_sparql, library, name)
        return ToolDefinition(name, said, schema, act, **ASKING)

    return (
        tool(
            "sparql_schema",
            "What a graph holds: counts, or its classes, properties or namespaces.",
            {},
            {
                "output_mode": one_of(*SCHEMA_MODES),
                "filter_prefix": text("Only names that begin so, as 'prov:'.", most=200),
                "limit": whole(most=50, default=50),
            },
        ),
        tool(
            "sparql_peek",
            "One class, property or thing: some instances or statements, what it joins, or how"
            " many there are.",
            {"resource": text(most=2_000)},
            {
                "output_mode": one_of("sample", "schema", "count"),
                "limit": whole(most=50, default=5),
            },
        ),
        tool(
            "sparql_query",
            "SELECT, CONSTRUCT or DESCRIBE: returns a handle `ref`, how many rows and which"
            " columns; sparql_slice reads them. ASK returns the truth. The file's own prefixes and"
            " the well-known ones need not be declared.",
            {"query": text(most=MAX_CHARS)},
            {"limit": whole(most=QUERY_ROWS, default=100)},
        ),
        tool(
            "sparql_slice",
            "A page of the rows behind a handle.",
            {"ref": text("As sparql_query returned it.", most=200)},
            {
                "limit": whole(most=SLICE_ROWS, default=50),
                "offset": whole(least=0, most=1_000_000, default=0),
            },
        ),
    )


# -- graph


def _note(name: str, call: ToolRequest, **given: Any) -> ToolAnswer:
    from rlm.handles import Meter
    from rlm.tools.graph import graph_tools

    found = graph_tools(call.store, Meter()).functions[name](**given)
    return _answer({"id": found} if isinstance(found, str) else found)


def _graph_tool(
    name: str, said: str, required: Any, optional: Any, *, writes: bool = True
) -> ToolDefinition:
    schema = object_of(required, optional)
    return ToolDefinition(
        name, said, schema, partial(_note, name), writes=writes, idempotent=not writes
    )


NODES = whole(most=20, default=10)
GRAPH_TOOLS = (
    _graph_tool(
        "memory_query",
        "Facts and experiences noted in the hypergraph, best first. Words in double quotes must"
        " occur in that order.",
        {"query": text()},
        {"limit": NODES},
        writes=False,
    ),
    _graph_tool(
        "memory_get_context",
        "What was noted last in the hypergraph, newest first.",
        {},
        {"limit": NODES},
        writes=False,
    ),
    _graph_tool(
        "memory_add_fact",
        "Note a fact in the hypergraph; returns its id.",
        {"content": text(most=4_000)},
        {"confidence": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.6}},
    ),
    _graph_tool(
        "memory_add_experience",
        "Note in the hypergraph what was tried, what came of it, and whether it worked.",
        {"content": text(most=4_000), "outcome": text(most=4_000), "success": flag()},
        {},
    ),
    _graph_tool(
        "memory_relate",
        "Join two noted things, as label 'causes' from subject_id to object_id.",
        {"label": text(most=200), "subject_id": text(most=64), "object_id": text(most=64)},
        {},
    ),
)


# -- agent


def _agent_tools(library: Library) -> tuple[ToolDefinition, ...]:
    return (
        ToolDefinition(
            "agent_run",
            "Answer a question over a whole file or an ontology without pasting it: a model works"
            " through it in a sealed REPL, step by step. It takes a while; what it learns is kept.",
            object_of(
                {"question": text(most=20_000)},
                {
                    "file": text("A text, by path.", most=1_000),
                    "ontology": ONTOLOGY,
                    "max_steps": whole(most=MOST_STEPS, default=STEPS),
                    "timeout_s": whole(most=MOST_RUN_S, default=RUN_S),
                },
            ),
            partial(_agent_run, library),
            takes_long=True,
            open_world=True,
        ),
    )


def _agent_run(
    library: Library,
    call: ToolRequest,
    question: str,
    file: str | None = None,
    ontology: str | None = None,
    max_steps: int = STEPS,
    timeout_s: int = RUN_S,
) -> ToolAnswer:
    from rlm import config
    from rlm.agent import AGENT_OUTPUT_CHARS, run
    from rlm.llm import open_client
    from rlm.loop import Limits

    if file is None and ontology is None:
        raise ValidationError("there is nothing to ask about: give a file or an ontology")

    def step(turn: RLMIteration) -> None:
        check_cancelled()
        call.report(turn.number, max_steps, f"step {turn.number}")

    over_text = {} if file is not None else {"max_output_chars": AGENT_OUTPUT_CHARS}
    sub_model = config.load().sub_model
    with ExitStack() as clients:
        client = clients.enter_context(closing(open_client(None)))
        helper = clients.enter_context(closing(open_client(sub_model))) if sub_model else None
        call.on_cancel.append(clients.close)  # which breaks off a question that waits
        check_cancelled()
        result = run(
            question,
            where := None if ontology is None else library.locate(ontology),
            ontology_within=None if where is None else library.within(where),
            context=None if file is None else Path(library.locate(file)),
            store=call.store,
            client=client,
            sub_client=helper,
            limits=Limits(max_iters=max_steps, wall_s=float(timeout_s), **over_text),
            on_step=step,
        )
    check_cancelled()
    ended = "" if result.answered else f"not answered ({result.reason}): "
    keys = ("answer", "iterations", "converged", "reason", "model", "trajectory_id", "judgment")
    whole_result = result.to_dict()
    data = {name: whole_result[name] for name in (*keys, "new_memories", "usage")}
    return ToolAnswer(f"{ended}{result.answer}", json.loads(json.dumps(data, default=str)))
