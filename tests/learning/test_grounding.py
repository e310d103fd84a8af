"""What an answer names, and whether the run has seen it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm.handles import Meter, Store
from rlm.learning.grounding import (
    FAILED_CALL,
    NO_EVIDENCE,
    find_ungrounded,
    iris_in,
)
from rlm.llm import ScriptedClient
from rlm.loop import rlm_run
from rlm.loop.trace import FIRST_CALLS, MOST_CALLS, ToolCall, Trace
from rlm.ontology.terms import Prefixes
from rlm.ontology.views.views import Views
from rlm.tools import sparql_tools, view_tools

pytestmark = pytest.mark.req("PM-04")

PROV = "http://www.w3.org/ns/prov#"
BOUND = {"prov": PROV, "ex": "http://a.example/x/", "": "http://a.example/default#"}
AGENT = PROV + "Agent"


def printed_by(turns):
    return [block.result.stdout for turn in turns for block in turn.code_blocks]


@pytest.mark.parametrize(
    "text",
    [
        "prov:Agent", "It is prov:Agent.", "(prov:Agent)", "`prov:Agent`", "**prov:Agent**", "'prov:Agent'",
        '"prov:Agent"', "prov:Agent, of course", "prov:Agent: a class", "prov:Agent's parts", "[prov:Agent]",
        "<http://www.w3.org/ns/prov#Agent>", "<prov:Agent>", "http://www.w3.org/ns/prov#Agent",
        "see http://www.w3.org/ns/prov#Agent.", "(see http://www.w3.org/ns/prov#Agent).",
        "[Agent](http://www.w3.org/ns/prov#Agent).", "**http://www.w3.org/ns/prov#Agent**",
        "{'uri': 'http://www.w3.org/ns/prov#Agent'}", "“http://www.w3.org/ns/prov#Agent”", "`http://www.w3.org/ns/prov#Agent`",
        "| http://www.w3.org/ns/prov#Agent |", "http://www.w3.org/ns/prov#Agent, and so on", "http://www.w3.org/ns/prov#Agent…",
        "答案是 prov:Agent。", "-prov:Agent", "- prov:Agent", "this/prov:Agent",
        "http://www.w3.org/ns/prov#Agent?",
    ],
)  # fmt: skip
def test_a_term_is_found_however_it_is_written(text):
    assert iris_in(text, BOUND) == {AGENT}


def test_what_a_dropped_call_returned_is_evidence_unless_it_was_a_memory():
    trace = Trace()
    for number in range(MOST_CALLS + 2):
        trace.note(
            ToolCall(
                "mem_get" if number == FIRST_CALLS else "sparql_slice",
                {},
                iris=frozenset([f"ex:C{number}"]),
            )
        )
    answer = f"ex:C{FIRST_CALLS}, ex:C{FIRST_CALLS + 1} and ex:C0"
    assert find_ungrounded(answer, ["looked"], BOUND, trace) == [f"ex:C{FIRST_CALLS}"]


@pytest.mark.parametrize(
    "text",
    [
        "", "Note: x", "Note:x", "at 12:30", "12:30:45", "a ratio of 3:4", "unknown:Thing", "prov:", "prov: Agent",
        "std::vector", "C:\\temp", "no:body", "http://", "::Agent", "x:prov:", "key=value:1", "e.g.: this",
    ],
)  # fmt: skip
def test_what_is_no_term_is_not_found(text):
    assert iris_in(text, {"prov": PROV}) == set()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("http://a.example/x/y_(z)", {"http://a.example/x/y_(z)"}),
        ("(http://a.example/x/y_(z))", {"http://a.example/x/y_(z)"}),
        (
            "http://a.example/x/1,http://a.example/x/2",
            {"http://a.example/x/1", "http://a.example/x/2"},
        ),
        ("http://a.example/Alzheimer's_disease", {"http://a.example/Alzheimer's_disease"}),
        ("urn:isbn:0451450523 and urn:x-y:z.", {"urn:isbn:0451450523", "urn:x-y:z"}),
        ("prov:Activity/prov:Entity", {PROV + "Activity", PROV + "Entity"}),
        ("prov:Activity,prov:Entity", {PROV + "Activity", PROV + "Entity"}),
        ("prov:Activity\nprov:Entity", {PROV + "Activity", PROV + "Entity"}),
        (":Vessel and :a.", {"http://a.example/default#Vessel", "http://a.example/default#a"}),
        (
            "ex:1-2 ex:a.b. ex:c-",
            {"http://a.example/x/1-2", "http://a.example/x/a.b", "http://a.example/x/c"},
        ),
        ("ex:a\\,b", {"http://a.example/x/a,b"}),
        ("ex:caf%C3%A9 ex:café", {"http://a.example/x/caf%C3%A9", "http://a.example/x/café"}),
        ("PREFIX prov: <http://www.w3.org/ns/prov#>", {PROV}),
        ("skos:Concept", {"http://www.w3.org/2004/02/skos/core#Concept"}),
        ("https://a.example/a?b=c&d=e#f", {"https://a.example/a?b=c&d=e#f"}),
    ],
)
def test_the_edges_of_names(text, found):
    assert iris_in(text, BOUND) == found


@settings(max_examples=60)
@given(st.text(max_size=200))
def test_any_text_can_be_read(text):
    for iri in iris_in(text, BOUND):
        assert ":" in iri and not any(char.isspace() for char in iri)


@settings(max_examples=60)
@given(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,12}", fullmatch=True),
    st.sampled_from(["({})", "{}.", "`{}`", "{}, x"]),
)
def test_both_ways_of_writing_are_the_same_term(name, frame):
    iri = PROV + name
    written = [frame.format(form) for form in (f"prov:{name}", f"<{iri}>", iri)]
    assert [iris_in(text, BOUND) for text in written] == [{iri}] * 3
    assert all(find_ungrounded(one, [two], BOUND) == [] for one in written for two in written)


# -- evidence
# ----------------------------------------------------------------------------------------------


def test_what_was_seen_grounds_an_answer_and_nothing_else_does():
    seen = ["{'uri': 'http://www.w3.org/ns/prov#Agent'}"]
    assert find_ungrounded("prov:Agent", seen, BOUND) == []
    assert find_ungrounded("prov:Agent and prov:Invented, ex:b", seen, BOUND) == [
        "ex:b",
        "prov:Invented",
    ]
    assert find_ungrounded("three classes", seen, BOUND) == []


@pytest.mark.parametrize("answer", ["3", "There are three classes.", "prov:Agent", "Yes"])
def test_an_answer_out_of_nothing_has_no_ground(answer):
    assert find_ungrounded(answer, [], BOUND, Trace()) == [NO_EVIDENCE]
    assert find_ungrounded(answer, ["  \n"], BOUND) == [NO_EVIDENCE]
    assert find_ungrounded("", [], BOUND) == []


@pytest.mark.parametrize(
    ("answer", "error", "good"),
    [
        (
            "None: there are no properties with the domain “Recipe”.",
            "there is no property rdfs:domain in this",
            False,
        ),
        ("0 subclasses.", "QueryTimeout: the query took more than 30 s", False),
        (
            "There is no ex:Glossary.",
            "OntologyError: there is no term ex:Glossary in this graph; find",
            True,
        ),
        ("Two: prov:Agent and prov:Bundle.", "QueryTimeout: the query took more than 30 s", True),
    ],
)
def test_an_error_is_no_ground_for_none(answer, error, good):
    seen = frozenset({"prov:Agent", "prov:Bundle", "ex:Glossary"})
    trace = Trace(
        calls=[
            ToolCall("search_entity", {}, iris=seen),
            ToolCall("probe_relationships", {}, ok=False, error=error),
        ]
    )
    trace.note(ToolCall("mem_search", {"query": "x"}))
    said = find_ungrounded(
        answer, [], BOUND, trace, question="Which properties has Recipe, and is there ex:Glossary?"
    )
    assert (said == []) is good and (
        good or said == [FAILED_CALL.format(f"probe_relationships: {error}")]
    )
    trace.note(ToolCall("sparql_query", {}))
    assert find_ungrounded(answer, [], BOUND, trace) == []  # another try, which worked


def test_what_a_tool_returned_is_evidence_without_being_printed():
    trace = Trace(
        calls=[
            ToolCall(
                "describe_entity",
                {"uri": "x"},
                iris=frozenset({"prov:Agent", "http://a.example/x/y_(z"}),
            )
        ]
    )
    assert find_ungrounded(f"{AGENT} and http://a.example/x/y_(z)", [], BOUND, trace) == []
    assert find_ungrounded("prov:Other", [], BOUND, trace) == ["prov:Other"]


def test_what_only_a_memory_said_is_no_evidence():
    trace = Trace(calls=[ToolCall("mem_search", {"query": "x"}, iris=frozenset({"prov:Agent"}))])
    assert find_ungrounded("prov:Agent", ["see prov:Agent"], BOUND, trace) == ["prov:Agent"]
    trace.note(ToolCall("search_entity", {"query": "x"}, iris=frozenset({AGENT})))
    assert find_ungrounded("prov:Agent", ["see prov:Agent"], BOUND, trace) == []


def test_what_the_code_itself_spells_and_prints_is_no_evidence():
    code = ["search_entity('agent')\nprint('the answer is prov:Agent')"]
    trace = Trace(calls=[ToolCall("search_entity", {"query": "agent"}, rows=0)])
    assert find_ungrounded("prov:Agent", ["the answer is prov:Agent"], BOUND, trace, code=code) == [
        "prov:Agent"
    ]
    trace.note(ToolCall("search_entity", {"query": "Agent"}, iris=frozenset({"prov:Agent"})))
    assert (
        find_ungrounded("prov:Agent", ["the answer is prov:Agent"], BOUND, trace, code=code) == []
    )


def test_printed_json_may_escape_its_letters():
    assert (
        find_ungrounded("ex:café", ['{"a": "http:\\/\\/a.example\\/x\\/caf\\u00e9"}'], BOUND) == []
    )


def test_a_bound_namespace_needs_one_of_its_terms():
    assert find_ungrounded(f"The namespace is <{PROV}>.", ["prov:Agent"], BOUND) == []
    assert find_ungrounded(f"The namespace is <{PROV}>.", ["nothing here"], BOUND) == [
        "<http://www.w3.org/ns/prov#>"
    ]


def test_prefixes_that_a_query_declared_are_known():
    query = "PREFIX mine: <http://m.example/> SELECT ?s { ?s a mine:T }"
    trace = Trace(calls=[ToolCall("sparql_query", {"query": query}, iris=frozenset({"mine:a"}))])
    assert find_ungrounded("<http://m.example/a>", [], BOUND, trace) == []
    assert find_ungrounded("mine:b", [], BOUND, trace) == ["mine:b"]


# -- the question
# ------------------------------------------------------------------------------------------


def asked(answer, *calls, question="How many subclasses has prov:Foo?", printed=("3",)):
    return find_ungrounded(answer, printed, BOUND, Trace(calls=list(calls)), question=question)


def test_the_question_is_no_evidence_by_itself():
    said = "prov:Foo has 3 subclasses"
    assert asked(said, ToolCall("graph_stats", {})) == ["prov:Foo"]
    assert asked(said, ToolCall("sparql_query", {"query": "… prov:Foo …"}, key="r0")) == [
        "prov:Foo"
    ]  # never read
    assert asked(
        said, ToolCall("sparql_query", {"query": "… prov:Foo …"}, ok=False, error="no")
    ) == ["prov:Foo"]
    assert find_ungrounded(said, ["3"], BOUND, question="prov:Foo?") == ["prov:Foo"]


def test_a_term_of_the_question_counts_when_the_graph_was_asked_about_it():
    said = "prov:Foo has 3 subclasses"
    query = ToolCall("sparql_query", {"query": "… prov:Foo …"}, key="r0")
    assert (
        asked(said, query, ToolCall("sparql_slice", {"ref_or_key": "r0"}, key="r0", rows=1)) == []
    )
    assert asked(said, query, ToolCall("sparql_slice", {"ref_or_key": "r0"}, key="r0", rows=0)) == [
        "prov:Foo"
    ]
    assert (
        asked(
            "Yes, prov:Foo is.",
            ToolCall("sparql_query", {"query": "ASK { prov:Foo a ?c }"}, value=True),
        )
        == []
    )
    assert (
        asked(
            "Yes, prov:Foo is.",
            ToolCall("sparql_query", {"query": "ASK { prov:Foo a ?c }"}, value=False),
        )
        != []
    )
    assert (
        asked(
            "No, prov:Foo is not.",
            ToolCall("sparql_query", {"query": "ASK { prov:Foo a ?c }"}, value=False),
        )
        == []
    )
    assert asked("prov:Bar has 3", query, ToolCall("x", {"a": "prov:Bar"}, rows=3)) == ["prov:Bar"]


def test_saying_that_it_is_not_there_needs_a_look():
    said = "There is no class prov:Foo in this ontology."
    assert (
        asked(
            said,
            ToolCall(
                "describe_entity",
                {"uri": "prov:Foo"},
                ok=False,
                error="OntologyError: there is no term prov:Foo in this graph",
            ),
        )
        == []
    )
    assert asked(said, ToolCall("graph_stats", {})) == ["prov:Foo"]
    assert find_ungrounded(said, ["not found"], BOUND, question="What is prov:Foo?") == []


# -- whole runs
# --------------------------------------------------------------------------------------------


def code(*lines):
    return "```repl\n" + "\n".join(lines) + "\n```"


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("harbour:Vessel has the subclass harbour:CargoVessel", []),
        ("https://example.org/harbour#Vessel", []),
        ("harbour:Submarine", ["harbour:Submarine"]),
    ],
)
def test_a_run_over_an_ontology(harbour, answer, left):
    trace, meter = Trace(), Meter()
    replies = [
        code("hits = search_entity('vessel')", "print(describe_entity(hits[0]['uri'])['label'])"),
        code(
            "print(sparql_slice(sparql_query('SELECT ?x { ?x rdfs:subClassOf harbour:Vessel }')))"
        ),
        f"FINAL({answer})",
    ]
    with Store() as handles:
        box = sparql_tools(harbour, handles, meter) | view_tools(Views(harbour), meter)
        result = rlm_run(
            "What?",
            "x",
            client=ScriptedClient(replies),
            store=handles,
            tools=trace.watch(box.functions),
        )
    assert result.converged
    turns, bound = result.iterations, harbour.meta().namespaces
    assert (
        find_ungrounded(
            result.answer,
            printed_by(turns),
            bound,
            trace,
            code=[block.code for turn in turns for block in turn.code_blocks],
        )
        == left
    )
    assert find_ungrounded(result.answer, printed_by(turns), Prefixes(bound), trace) == left
