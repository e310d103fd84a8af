"""What a model is told before and between its turns: within bounds, whole, and true."""

from __future__ import annotations

import re

import pytest

from rlm import agent
from rlm.llm import ScriptedClient
from rlm.loop.prompts import cut
from rlm.ontology.views.views import CATALOGUE
from rlm.store.open import open_store
from rlm.store.types import MemoryItem

KNOWN = MemoryItem("Find what is there", "For a list of all.", "- List it.", source_type="human")
ONTOLOGY_CHARS, TEXT_CHARS, MEMORY_CHARS, TURN_CHARS = 5_100, 3_500, 400, 150


@pytest.fixture
def prompts(root, tmp_path, monkeypatch):
    """The messages of the last call of a run: of its first when no code is given."""
    monkeypatch.setenv("RLM_CACHE_DIR", str(tmp_path / "cache"))

    def prompts(*blocks, ontology="", memories=(), **options):
        client = ScriptedClient([*(f"```repl\n{block}\n```" for block in blocks), "FINAL(x)"])
        path = root / "ontology" / f"{ontology}.ttl" if ontology else None
        with open_store(tmp_path / "m.db", embedder="none") as store:
            store.add_many(memories)
            agent.run("What is there?", path, client=client, store=store, **options)
        return [message["content"] for message in client.calls[len(blocks)]]

    return prompts


def standing(system: str) -> str:
    """The system message without what is known about the ontology."""
    head, sign, _ = system.rpartition("look up the names in your query.")
    return head + sign if sign else system


@pytest.mark.parametrize("ontology", ["prov", "harbour"])
def test_the_prompt_over_an_ontology(prompts, ontology):
    system, first = prompts(ontology=ontology)
    assert len(standing(system)) <= ONTOLOGY_CHARS
    assert first == "Question: What is there?\nContext: the ontology above"
    assert "too long" not in system and "do not answer" not in system + first
    for told in (
        "queries need no PREFIX lines",
        "`for row in r`",
        "{'c': 'ex:Ship', 'label': '\"ship\"@en', 'n': 12}",
        "numbers are Python numbers",
        "has no key",
        "sparql_query('''SELECT",
        "You can import re, json,",
        "best below 200,000 characters.",
        "`llm_query_batched(prompts)`",
        "`rlm_query(question)`",
        "Every IRI and number of the answer is checked",
        "FINAL(the answer) at the start of a line",
        f"`ontology_view(view, term)`: {', '.join(CATALOGUE)}.",
    ):
        assert told in system, told


def test_the_prompt_over_a_text(prompts):
    system, first = prompts(context="a text\n")
    assert len(system) <= TEXT_CHARS
    assert "sparql" not in system and "ontology" not in system
    assert first.startswith(
        "Question: What is there?\nContext: context_0 (7 characters, 1 lines)\n\nYou have not seen"
    )
    for told in (
        "`context`: the text",
        "work as on a str",
        "You can import re, json,",
        "best below 200,000 characters.",
        "`llm_query_batched(prompts)`",
        "`rlm_query(question, part)`",
        "Quotes, numbers and IRIs of the answer are checked",
        "FINAL(the answer) at the start of a line",
    ):
        assert told in system, told


def test_the_prompt_over_both_tells_of_both(prompts):
    system, first = prompts(ontology="harbour", context="a text\n", memories=[KNOWN])
    assert len(standing(system)) <= ONTOLOGY_CHARS and "`mem_search(" in system
    assert "`context`: the text" in system and "queries need no PREFIX lines" in system
    assert "Context: context_0 (7 characters, 1 lines)\n\nYou have not seen" in first


def test_tools_are_described_in_whole_sentences(prompts):
    system, _ = prompts(ontology="harbour")
    lines = [line for line in standing(system).splitlines() if line.startswith("- ")]
    assert all(line.endswith((".", ", or", "]`.")) for line in lines), lines
    for tool in ("sparql_query", "sparql_slice", "find_path", "ctx_find", "graph_stats"):
        assert f"`{tool}(" in system, tool
    assert "go on" not in "".join(lines) or "next_offset" in system


def test_memory_is_told_of_only_where_there_is_memory(prompts):
    hidden = MemoryItem("List what is there", "For all.", "- Show it.", trust="quarantined")
    for memories in ((), [hidden]):
        nothing, *_, told = prompts("print(mem_search('x'))", ontology="prov", memories=memories)
        assert "mem_" not in nothing and "memory_" not in nothing
        assert told.splitlines()[1] == "[]", "they are there all the same"
    with_memory, _ = prompts(ontology="harbour", memories=[KNOWN])
    lines = [line for line in with_memory.splitlines() if re.search(r"`mem(?:ory)?_", line)]
    assert 0 < len("\n".join(lines)) <= MEMORY_CHARS
    for tool in ("mem_search", "mem_extract", "memory_add_fact", "memory_relate"):
        assert with_memory.count(f"`{tool}(") == 1, tool
    reading, _ = prompts(ontology="harbour", enable_extraction=False)
    assert "`mem_search(" in reading and "`memory_query(" in reading
    assert not re.search(r"mem(ory)?_(add|extract|learn|relate)", reading)
    without, _ = prompts(ontology="harbour", memory_tools=False)
    assert "mem_" not in without and "memory_" not in without


def test_a_turn_costs_little(prompts):
    many = "\n".join(f"a_longish_name_{n} = {n}" for n in range(40))
    *_, told = prompts(f"import re\ndef f(x):\n    return x\n{many}\nprint('out')", ontology="prov")
    assert len(told) - len("out") <= TURN_CHARS
    variables = told.splitlines()[2]
    assert variables.endswith("a_longish_name_38, a_longish_name_39 and 37 more")
    assert told.splitlines()[-1] == "Turn 2 of 30. Go on, or FINAL(...)."
    *_, told = prompts("print('out')", context="a text")
    assert told.splitlines()[:-1] == ["Output of block 1:", "out"], "no variables, no line"


def test_a_turn_of_several_blocks_costs_no_more(prompts):
    many = "\n".join(f"some_long_variable_name_{n} = {n}" for n in range(40))
    *_, told = prompts(
        f"{many}\n```\n```repl\nprint('y')\n```\n```repl\nprint('z')", ontology="prov"
    )
    assert "Output of block 3:\nz" in told and "some_long_variable_name_39 and 39 more" in told
    assert len(told) - len("(nothing)yz") <= TURN_CHARS


def test_blocks_are_numbered_as_in_their_tracebacks(prompts):
    *_, told = prompts("x = 1", "def f():\n    return 1 / 0", "f()", context="a text")
    assert "Output of block 3:" in told and "Error in block 3 (error):" in told
    assert "<block 3> line 1, in <module>" in told and "<block 2> line 2, in f" in told


@pytest.mark.parametrize("over", [0, 63, 100])
def test_a_little_too_much_is_not_cut(over):
    text = "x" * (1_000 + over)
    assert cut(text, 1_000) == text


def test_a_cut_keeps_whole_lines_and_says_what_is_missing():
    lines = [f"harbour:Boat{n}" for n in range(200)]
    shown = cut("\n".join(lines), 1_000).splitlines()
    [note] = [line for line in shown if line not in lines]
    missing = int(re.fullmatch(r"\[… (\d+) characters cut …\]", note)[1])
    kept = [line for line in shown if line in lines]
    assert missing == len("\n".join(lines)) - len("\n".join(kept)) - 1 + 2
    assert kept[0] == lines[0] and kept[-1] == lines[-1]
    assert sum(map(len, shown)) <= 1_000


@pytest.mark.parametrize("engine", ["process", "monty"])
def test_the_examples_of_the_prompts_run(root, tmp_path, monkeypatch, engine):
    monkeypatch.setenv("RLM_CACHE_DIR", str(tmp_path / "cache"))
    for path, context in (
        (root / "ontology" / "harbour.ttl", None),
        (None, "the budget is 7\n" * 9),
    ):
        printed = []
        for turn in range(2):
            replies = ["FINAL(x)"] if not turn else [printed.pop(), "FINAL(x)"]
            client = ScriptedClient(replies)
            sub = ScriptedClient(["NONE"])
            with open_store(tmp_path / "m.db", embedder="none") as store:
                result = agent.run(
                    "q",
                    path,
                    context=context,
                    client=client,
                    sub_client=sub,
                    store=store,
                    engine=engine,
                )
            system = client.calls[0][0]["content"]
            printed.append(re.search(r"```repl\n.*?\n```", system, re.DOTALL)[0])
        block = result.result.iterations[0].code_blocks[0].result
        assert block.error is None, block.stderr
        first = block.stdout.splitlines()[0]
        assert re.fullmatch(r"results_0: \d+ rows × 3 columns \(\?c \?label \?n\)", first) or (
            first == "144 9"
        )


def test_a_helper_over_an_ontology_is_told_of_no_text_either(root, tmp_path, monkeypatch):
    monkeypatch.setenv("RLM_CACHE_DIR", str(tmp_path / "cache"))
    client = ScriptedClient(["```repl\nprint(rlm_query('Which?'))\n```", "FINAL(x)"])
    sub = ScriptedClient(["FINAL(y)"])
    with open_store(tmp_path / "m.db", embedder="none") as store:
        agent.run("q", root / "ontology" / "prov.ttl", client=client, sub_client=sub, store=store)
    assert sub.calls[0][1]["content"] == "Question: Which?\nContext: the ontology above"
