"""What code in the REPL can do with the rows of a query, in both engines, in real runs."""

from __future__ import annotations

import pytest

from rlm.errors import EndpointError, QueryTimeout
from rlm.handles import Meter, Store
from rlm.llm import ScriptedClient
from rlm.loop import rlm_run
from rlm.ontology.engine.local import LocalEngine
from rlm.tools import sparql_tools
from rlm.tools.sparql_peek import find_faults

CARD = "A harbour of ninety boats."
QUERY = "SELECT ?s ?l ?n WHERE { ?s rdfs:label ?l OPTIONAL { ?s e:crew ?n } } ORDER BY ?s"


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("boats")
    lines = ["@prefix e: <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    for n in range(90):
        lines.append(f'e:b{n:02} rdfs:label "kind {n % 3}"@en .')
        lines += [f"e:b{n:02} e:crew {n} ."] * (n != 0)
    (folder / "boats.ttl").write_text("\n".join(lines))
    with LocalEngine(folder / "boats.ttl", cache_dir=folder) as engine:
        yield engine


@pytest.fixture(params=["process", "monty"])
def printed(request, engine):
    """What lines of code print after `r = sparql_query(...)`."""

    def run(*lines, limit=1000, query=QUERY):
        code = "\n".join([f"r = sparql_query({query!r}, limit={limit})", *lines])
        meter = Meter()
        with Store() as handles:
            box = sparql_tools(engine, handles, meter)
            result = rlm_run(
                "How many?",
                CARD,
                client=ScriptedClient([f"```repl\n{code}\n```", "FINAL(done)"]),
                store=handles,
                meter=meter,
                tools=box.functions,
                untimed=box.untimed,
                guidance=CARD,
                engine=request.param,
            )
        block = result.iterations[0].code_blocks[0].result
        run.leakage = result.leakage
        assert block.error is None or "error" in block.error, block.stderr
        return block.stderr.splitlines()[-1:] or block.stdout.splitlines()

    return run


def test_rows_are_looped_over_counted_and_numbered(printed):
    assert printed(
        "print(len(r), sum(row.get('n', 0) for row in r), len(list(r)))",
        "print(r[0], r[-1])",
        "print(r[3:5], len(r[:1000]), r[90:])",
        "print(sorted(r, key=lambda row: -row.get('n', 0))[0]['s'], r.columns)",
    ) == [
        "90 4005 90",
        "{'s': 'e:b00', 'l': '\"kind 0\"@en'} {'s': 'e:b89', 'l': '\"kind 2\"@en', 'n': 89}",
        "[{'s': 'e:b03', 'l': '\"kind 0\"@en', 'n': 3}, {'s': 'e:b04', 'l': '\"kind 1\"@en', 'n': 4}]"
        " 90 []",
        "e:b89 ['s', 'l', 'n']",
    ]


def test_rows_are_chosen_grouped_and_sampled(printed):
    assert printed(
        "few = r.where(lambda row: row.get('n', 0) > 87)",
        "print(few)",
        "print(len(r.where(l='kind 1')), len(r.where(l='\"kind 1\"@en', n=4)), r.where(n=4)[0]['s'])",
        "print(r.group('l'), r.where(l='kind 9').group('l'))",
        "print(few.group('l', of='n'))",
        "print(r.distinct('l'), len(r.distinct('n')))",
        "print([row['s'] for row in r.sample(4)], len(r.sample(200)))",
    ) == [
        "2 rows × 3 columns (?s ?l ?n)",
        "{'s': 'e:b88', 'l': '\"kind 1\"@en', 'n': 88}",
        "{'s': 'e:b89', 'l': '\"kind 2\"@en', 'n': 89}",
        "30 1 e:b04",
        "{'\"kind 0\"@en': 30, '\"kind 1\"@en': 30, '\"kind 2\"@en': 30} {}",
        "{'\"kind 1\"@en': [88], '\"kind 2\"@en': [89]}",
        "['\"kind 0\"@en', '\"kind 1\"@en', '\"kind 2\"@en'] 89",
        "['e:b00', 'e:b29', 'e:b59', 'e:b89'] 90",
    ]


def test_numbers_of_every_kind_are_added_and_compared(printed):
    kinds = '"4383.409836065573770491"^^xsd:decimal 12345678901234567890 1e0 "INF"^^xsd:double'
    query = f"SELECT ?v {{ VALUES ?v {{ {kinds} }} }}"
    assert printed(
        "found = sorted(row['v'] for row in r)",
        "print(found[:2], found[2] - 1, sum(found) > 0, max(found))",
        query=query,
    ) == ["[1, 4383.4098360655735] 12345678901234567889 True inf"]


def test_a_result_says_what_it_is(printed):
    shown = printed(
        "print(r)", "print([r], r.key, r.more)", "print(r.query, r.source)", "print(r.time[-1])"
    )
    assert shown[0] == "results_0: 90 rows × 3 columns (?s ?l ?n)"
    assert shown[5] == "{'s': 'e:b04', 'l': '\"kind 1\"@en', 'n': 4}"
    assert shown[6:] == [
        "… 85 more rows",
        "[Ref('results_0', results, 90 rows × 3 columns)] results_0 False",
        f"{QUERY} boats",
        "Z",
    ]
    assert printed("print(r)", limit=7)[0].endswith(
        "(?s ?l ?n); the query has more rows: raise limit"
    )


def test_a_result_without_rows_says_which_names_are_wrong(printed):
    shown = printed(
        "print(r)", "print(len(r), r[:5], list(r))", query="SELECT ?x { ?x e:creww ?y }"
    )
    assert shown[0] == "results_0: 0 rows × 1 column (?x)"
    assert shown[1].startswith("there is no term e:creww in this graph; did you mean e:crew")
    assert shown[2] == "0 [] []"


def test_a_result_without_rows_says_which_texts_have_a_language_or_a_datatype(printed):
    def hints(where):
        return printed("print(r)", query=f"SELECT ?x {{ {where} }}")[1:]

    assert hints("?x rdfs:label 'kind 1' ; e:crew \"7\"") == [
        "the graph has no plain 'kind 1' but \"kind 1\"@en: write this, or compare STR(?x)",
        'the graph has no plain "7" but 7: write this, or compare STR(?x)',
    ]
    assert len(hints("?x rdfs:label ?l FILTER(?l IN ('kind 1', 'kind 2', 'kind 0', '5'))")) == 3
    assert hints("?x rdfs:label 'kind 9', 'kind 9'@de, 'kind 1'@en") == []
    assert [each.split(":")[0] for each in hints("?x rdfs:label 'KIND 1'@de ; e:crew '7'^^xsd:date")] == [
        "the graph has no 'KIND 1'@de but \"kind 1\"@en", "the graph has no '7'^^xsd", 
    ]  # fmt: skip
    other = "FILTER(STR(?l) = 'kind 1' && STRSTARTS(?l, 'kind 2'))"
    assert hints(f"?x rdfs:label ?l {other}") == []


@pytest.mark.parametrize(
    ("query", "hinted"),
    [
        ("SELECT (COUNT(?x) AS ?n) { ?x rdfs:label 'kind 1' }", True),
        ("SELECT (COUNT(?x) AS ?n) (SUM(?c) AS ?m) { ?x rdfs:label 'kind 1' ; e:crew ?c }", True),
        ("SELECT (MAX(?c) AS ?m) { ?x rdfs:label 'kind 1' ; e:crew ?c }", True),
        ("ASK { ?x rdfs:label 'kind 1' }", True),
        ("SELECT (COUNT(?x) AS ?n) { ?x rdfs:label ?l FILTER(?l != 'kind 1') }", False),
        ("ASK { ?x rdfs:label ?l FILTER(?l != 'kind 1') }", False),
        ("SELECT (COUNT(?x) AS ?n) { ?x rdfs:label 'kind 9' }", False),
    ],
)
def test_a_zero_and_a_false_ask_say_what_the_graph_has_otherwise(printed, query, hinted):
    shown = printed("print(r)", query=query)
    told = "\n".join(shown).replace("\\'", "'")
    assert ("the graph has no plain 'kind 1' but" in told) == hinted, shown


@pytest.mark.parametrize("fault", [QueryTimeout("it took too long"), EndpointError("it is down")])
def test_a_graph_that_does_not_answer_in_time_is_no_reason_for_a_zero(engine, fault):
    class Slow:
        asked = 0

        def query(self, sparql, **options):
            self.asked += 1
            raise fault

    slow = Slow()
    text = "SELECT ?x { ?x a <http://e/no>, <http://e/none> ; rdfs:label 'kind 1' }"
    assert find_faults(slow, engine.meta(), text) == [] and slow.asked == 2


def test_what_cannot_be_says_why(printed):
    assert printed("r['s']") == ["TypeError: rows have numbers: r[0]['s'], or r.distinct('s')"]
    assert printed("r.distinct('x')") == ["ValueError: there is no column 'x': there are s, l, n"]
    assert printed("r.where(x=1)")[0].startswith("ValueError: there is no column 'x'")
    assert printed("r[90]")[0].startswith("IndexError: ")
    assert printed("r.sample(0)") == ["ValueError: a sample has at least one row"]


def test_rows_that_code_reads_are_counted_and_no_leak(printed):
    printed("n = 0", "for row in r:", "    n += 1", "print(n)")
    pages = printed.leakage["by_tool"]["rows.page"]
    assert pages["calls"] == 1 and pages["chars"] > 3000
    assert printed.leakage["max_single_return"] < 250 and printed.leakage["flags"] == []


def test_a_loop_within_a_loop_fetches_rows_once(printed):
    shown = printed(
        "n = 0", "for a in r:", "    for b in r:", "        n += 1", "print(n, r[89]['n'])"
    )
    assert shown == ["8100 89"] and printed.leakage["by_tool"]["rows.page"]["calls"] == 1


def test_a_large_result_comes_in_pages(printed):
    wide = "SELECT ?s ?x { ?s rdfs:label ?l . ?t rdfs:label ?m BIND(REPEAT AS ?x) }"
    wide = wide.replace("REPEAT", "CONCAT(" + ", ".join(["'" + "x" * 50 + "'"] * 4) + ")")
    shown = printed(
        "print(len(r), sum(1 for row in r), r[8099]['s'][:2])", limit=10_000, query=wide
    )
    assert shown == ["8100 8100 e:"] and printed.leakage["by_tool"]["rows.page"]["calls"] > 5


def test_a_result_goes_back_to_a_tool_as_its_handle(printed):
    assert printed(
        "page = sparql_slice(r, limit=2, offset=1)",
        "print(page['total'], page['rows'][0]['s'], len(f'{r}'.splitlines()))",
    ) == ["90 e:b01 90"]


def test_a_model_reads_all_rows_of_a_result_that_it_is_given(engine):
    code = (
        f"r = sparql_query({QUERY!r}, limit=1000)\nprint(llm_query(f'Count: {{r}}'))\nllm_query(r)"
    )
    sub = ScriptedClient(["90", "90"])
    with Store() as handles:
        box = sparql_tools(engine, handles, Meter())
        rlm_run(
            "How many?",
            "",
            client=ScriptedClient([f"```repl\n{code}\n```", "FINAL(90)"]),
            sub_client=sub,
            store=handles,
            tools=box.functions,
        )
    for [message] in sub.calls:
        assert message["content"].count("e:b") == 90


@pytest.mark.parametrize("explain", ["", ", explain=True"])
def test_a_false_ask_is_false(engine, explain):
    lines = [f"r = sparql_query('ASK {{ {where} }}'{explain})\nprint(bool(r), r['boolean'], r)"
             for where in ("?x e:crew 7", "?x e:crew 700")]  # fmt: skip
    with Store() as handles:
        box = sparql_tools(engine, handles, Meter())
        replies = ["```repl\n" + "\n".join(lines) + "\n```", "FINAL(no)"]
        result = rlm_run(
            "Is it?", "", client=ScriptedClient(replies), store=handles, tools=box.functions
        )
    true, false = result.iterations[0].code_blocks[0].result.stdout.splitlines()
    assert true.startswith("True True {'boolean': True")
    assert false.startswith("False False {'boolean': False")


def test_a_result_says_which_names_it_has(engine):
    lines = ["try: r.foo\nexcept AttributeError as e: print(e)", "print(dir(r))",
             "try: vars(r)\nexcept TypeError as e: print(e)",
             "try: open('x')\nexcept OSError as e: print(e)",
             "import json; print(len(json.loads(json.dumps(r))), json.dumps(r)[:12])"]  # fmt: skip
    code = "\n".join([f"r = sparql_query({QUERY!r}, limit=7)", *lines])
    with Store() as handles:
        box = sparql_tools(engine, handles, Meter())
        client = ScriptedClient([f"```repl\n{code}\n```", "FINAL(x)"])
        result = rlm_run("How many?", "", client=client, store=handles, tools=box.functions)
    unknown, names, shown, opened, dumped = (
        result.iterations[0].code_blocks[0].result.stdout.splitlines()
    )
    assert sorted(unknown.partition("it has ")[2].split(", ")) == eval(names)
    assert "use dir()" in shown and "context" not in opened and "SHOW_VARS()" in opened
    assert dumped == '7 [{"s": "e:b0'
