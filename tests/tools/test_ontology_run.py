"""Runs over an ontology, every prompt of them read: rows that nobody printed are in none."""

from __future__ import annotations

import pytest

from rlm.handles import Meter, Store
from rlm.llm import ScriptedClient
from rlm.loop import RLMLogger, rlm_run
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.views.views import Views
from rlm.tools import ctx_tools, memory_tools, sparql_tools, view_tools

CANARY = "zebra-7f3a"
LABELS = "SELECT ?s ?l WHERE { ?s rdfs:label ?l } ORDER BY ?s ?l"


def code(*lines: str) -> str:
    return "```repl\n" + "\n".join(lines) + "\n```"


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def run(db, tmp_path):
    """Run a script over an engine with every tool there is; the result and the client."""

    def run(engine, replies, **options):
        client, meter = ScriptedClient(replies), Meter()
        with Store() as handles, RLMLogger(tmp_path / "logs") as logger:
            box = (
                ctx_tools(handles, meter)
                | memory_tools(db, meter)
                | sparql_tools(engine, handles, meter, memory=db)
                | view_tools(Views(engine), meter)
            )
            result = rlm_run(
                "What is there?",
                "An ontology behind tools.",
                client=client,
                store=handles,
                meter=meter,
                tools=box.functions,
                untimed=box.untimed,
                logger=logger,
                **options,
            )
        return result, client, logger.path.read_text("utf-8")

    return run


@pytest.fixture
def zoo(tmp_path, cache_dir):
    """A graph whose every label holds the canary."""
    lines = ["@prefix e: <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    lines += [f'e:t{n} a e:Thing ; rdfs:label "{CANARY} {n} {"x" * 200}" .' for n in range(200)]
    (tmp_path / "zoo.ttl").write_text("\n".join(lines))
    with LocalEngine(tmp_path / "zoo.ttl", cache_dir=cache_dir) as engine:
        yield engine


def printed(client, call=-1):
    return client.calls[call][-1]["content"]


@pytest.mark.req("UT-01", "UT-13")
def test_the_rows_of_a_query_never_reach_a_prompt(run, zoo):
    replies = [
        code(f"r = sparql_query({LABELS!r}, limit=10000)", "print([r], len(r))", "r"),
        code(
            "print(repr(r), {'r': r})",
            "e = sparql_query('DESCRIBE e:t7', explain=True)",
            "print(e)",
        ),
        code(
            "page = sparql_slice(r, limit=3)",
            "print(page['total'], page['has_more'], len(page['rows']))",
            "print(sum(len(row['l']) for row in r), len(r.distinct('s')), r.columns)",
            "print(SHOW_VARS())",
        ),
        code(
            "print(sparql_slice(e)['total'], sparql_schema())",
            "print(sparql_peek('e:Thing', output_mode='count'))",
        ),
        code(
            "print(sparql_query('SELECT ?x { ?x a e:Thingy }', explain=True)['hints'])",
            "sparql_query('SELECT {')",
        ),
        code("FINAL(r.key)"),
    ]
    result, client, log = run(zoo, replies)
    assert result.answer == "results_0" and result.converged
    for number, prompt in enumerate(client.calls, 1):
        assert CANARY not in str(prompt), f"the prompt of call {number} holds a row"
    assert CANARY not in log
    shown = "Ref('results_0', results, 200 rows × 2 columns)"
    assert f"[{shown}] 200" in printed(client, 1)
    assert shown in printed(client, 2) and "results_1" in printed(client, 2)
    assert "200 True 3" in printed(client, 3) and " 200 ['s', 'l']" in printed(client, 3)
    assert f"'r': \"{shown}\"" in printed(client, 3), "what SHOW_VARS says of it"
    assert "'count': 200" in printed(client, 4)
    assert "did you mean e:Thing" in printed(client, 5) and "is never closed" in printed(client, 5)


@pytest.mark.req("UT-01", "UT-13")
def test_only_the_rows_that_were_printed_reach_the_prompt(run, zoo):
    replies = [
        code(
            f"r = sparql_query({LABELS!r}, limit=1000)",
            "rows = sparql_slice(r, limit=2, offset=5)['rows']",
            "print(len(rows), rows[0]['l'][:20])",
        ),
        "FINAL(done)",
    ]
    result, client, _ = run(zoo, replies)
    assert str(client.calls).count(CANARY) == 1
    assert result.leakage["by_tool"]["sparql_query"]["chars"] < 300
    assert result.leakage["max_single_return"] < 1000


@pytest.mark.req("UT-03", "UT-13")
@pytest.mark.parametrize("name", ["prov", "harbour"])
def test_a_run_asks_looks_and_answers(run, root, cache_dir, db, name):
    query = (
        f"SELECT ?c ?l WHERE {{ ?c a owl:Class ; rdfs:label ?l FILTER(?c != {name}:Agent) }} ORDER"
        " BY ?c ?l"
    )
    replies = [
        code(
            "o = sparql_schema()",
            "print(o['ontology'], o['top_classes'][0]['uri'], graph_stats()['triples'])",
        ),
        code(f"print(describe_entity('{name}:Agent')['kind'], search_entity('agent')[0]['curie'])"),
        code(
            f"ref = sparql_query({query!r})",
            "page = sparql_slice(ref, limit=5)",
            "print(page['rows'][0])",
            "ref",
        ),
        code("print(mem_search('class label'))"),
        code("SUBMIT(answer=str(page['total']), query=ref.key)"),
    ]
    with LocalEngine(root / "ontology" / f"{name}.ttl", cache_dir=cache_dir) as engine:
        result, client, _ = run(engine, replies)
        rows = engine.query(query, limit=100).text_rows(engine.prefixes)
    assert result.converged and result.submitted == {"answer": str(len(rows)), "query": "results_0"}
    assert f"class {name}:Agent" in printed(client, 2)
    prompts = "\n".join(message["content"] for prompt in client.calls for message in prompt)
    assert [row for row in rows if str(row) in prompts] == rows[:1], "the row that was printed"
    assert [row["l"] for row in rows[1:] if row["l"] in prompts] == [], "rows that nobody printed"
    assert db.list_items() == [], "no query is stored before its run is judged"


@pytest.mark.parametrize("limit", [3, 1000])
def test_a_printed_result_shows_its_size_and_its_first_rows(run, zoo, limit):
    _, client, _ = run(
        zoo, [code(f"r = sparql_query({LABELS!r}, limit={limit})", "print(r)"), "FINAL(done)"]
    )
    shown = printed(client).partition("\nVariables: r\n")[0].splitlines()
    rows = min(limit, 200)
    assert shown[1].startswith(f"results_0: {rows} rows × 2 columns (?s ?l)")
    assert shown[1].endswith("; the query has more rows: raise limit") is (limit == 3)
    assert shown[2].startswith("{'s': 'e:t0', 'l': '\"zebra-7f3a 0 xxx")
    assert shown[2].endswith("…'}")
    assert shown[-1] == "… 195 more rows" if limit == 1000 else len(shown) == 5
    assert str(client.calls).count(CANARY) == min(rows, 5)
    assert len("\n".join(shown)) < 1100
