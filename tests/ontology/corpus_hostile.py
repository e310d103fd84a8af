"""Queries that must be refused: a regression corpus for the guard.

Data only. `says` is part of the message that the caller gets. Those of `CALLS` were seen to make
pyoxigraph open a connection, or to parse as SERVICE, when they are not guarded; they point at port
1, which its HTTP client refuses before a packet leaves. The names of prefixes and hosts are made
up.
"""

from __future__ import annotations

from dataclasses import dataclass

CLOSED = "<http://127.0.0.1:1/>"
PREFIXES = (
    "PREFIX : <http://127.0.0.1:1/> PREFIX ex: <http://127.0.0.1:1/> PREFIX service:"
    " <http://e.test/> PREFIX odd: <http://e.test:> PREFIX urn: <http://e.test/>\n"
)


@dataclass(frozen=True, slots=True)
class Hostile:
    name: str
    text: str
    says: str


def _call(name: str, group: str, says: str = "SERVICE") -> Hostile:
    return Hostile(name, f"{PREFIXES}SELECT * {{ {group} }}", says)


CALLS = (
    _call("service", f"SERVICE {CLOSED} {{ ?s ?p ?o }}"),
    _call("small letters", f"service{CLOSED}{{?s ?p ?o}}"),
    _call("silent", f"SERVICE SILENT {CLOSED} {{ ?s ?p ?o }}"),
    _call("silent, glued", f"SERVICESILENT{CLOSED}{{?s ?p ?o}}"),
    _call("silent, glued to a name", "SERVICESILENT:x{?s ?p ?o}"),
    _call("by variable", f"BIND({CLOSED} AS ?x) SERVICE ?x {{ ?s ?p ?o }}"),
    _call("by variable, glued", f"VALUES ?x {{{CLOSED}}} SERVICE$x{{?s ?p ?o}}"),
    _call("comment between", f"SERVICE# a remark\n{CLOSED}#\n{{ ?s ?p ?o }}"),
    _call("in a subselect", f"{{ SELECT * {{ SERVICE {CLOSED} {{ ?s ?p ?o }} }} LIMIT 1 }}"),
    _call("in exists", f"FILTER EXISTS {{ SERVICE {CLOSED} {{ ?s ?p ?o }} }}"),
    _call("in an expression", f"BIND(EXISTS {{ SERVICE {CLOSED} {{ }} }} AS ?x)"),
    _call("in a union", f"{{}} UNION {{ SERVICE {CLOSED} {{ ?s ?p ?o }} }}"),
    _call(
        "in optional, minus, graph",
        f"OPTIONAL {{ MINUS {{ GRAPH ?g {{ SERVICE {CLOSED} {{}} }} }} }}",
    ),
    _call("read as a name by the grammar", "SERVICE:x { ?s ?p ?o }"),
    _call("a prefix of that name", "service:x { ?s ?p ?o }"),
    _call("glued to a name", "SERVICEex:x { ?s ?p ?o }"),
    _call("glued to a name of a bound prefix", "SERVICEex:x\n#\n{ ?s ?p ?o }"),
    _call("behind a name that makes no IRI", f"?s ?p odd:SERVICE{CLOSED}{{?s ?p ?o}}"),
    _call("behind such a name, glued", "?s ?p odd:SERVICE:x{?s ?p ?o}"),
    _call("behind two such names", f"?s odd:odd:SERVICE{CLOSED}{{?s ?p ?o}}"),
    _call("behind a name and a number", f"?s ?p odd:1SERVICE{CLOSED}{{?s ?p ?o}}"),
    _call("behind a number", f"?s ?p 1SERVICE{CLOSED}{{?s ?p ?o}}", "after a number"),
    _call("behind a boolean", f"?s ?p trueSERVICE{CLOSED}{{?s ?p ?o}}"),
    _call(
        "an IRI that is a less-than",
        "FILTER(1<?b)SERVICE?x#>\n{?s ?p ?o} FILTER(1<2#>)\n)",
        "less-than",
    ),
    _call(
        "an IRI that opens a comment",
        f'FILTER(1<#>"""\n2)SERVICE{CLOSED}{{?s ?p ?o}}#"""\n',
        "less-than",
    ),
    _call(
        "an IRI that opens a string",
        f'FILTER(1<\'>"""\')SERVICE{CLOSED}{{?s ?p ?o}}#"""\n',
        "less-than",
    ),
    _call(
        "a urn that opens a comment",
        f'FILTER(1<urn:a#>"""\n)SERVICE{CLOSED}{{?s ?p ?o}}#"""\n',
        "less-than",
    ),
    _call(
        "after EXISTS", f'FILTER(EXISTS{{}}<#>"""\n2)SERVICE{CLOSED}{{?s ?p ?o}}#"""\n', "less-than"
    ),
    _call(
        "two less-thans",
        f'FILTER(1<<urn:\'>"""\')SERVICE{CLOSED}{{?s ?p ?o}}#"""\n',
        "no space after",
    ),
    _call(
        "carriage return ends the comment", f"#\rSERVICE{CLOSED}{{?s ?p ?o}}\n", "carriage return"
    ),
)
ESCAPED = (
    _call("escaped keyword", f"\\u0053ERVICE {CLOSED} {{ ?s ?p ?o }}", "backslash"),
    _call("escaped keyword, long form", f"\\U00000053ERVICE {CLOSED} {{ ?s ?p ?o }}", "backslash"),
    _call("escaped letter inside", f"SERV\\u0049CE {CLOSED} {{ ?s ?p ?o }}", "backslash"),
    _call("escaped quote", f'FILTER("\\u0022 != ?x) SERVICE {CLOSED} {{}} #")', "\\u0022"),
    _call(
        "escaped quote behind a backslash",
        f'FILTER("\\\\u0022) SERVICE {CLOSED} {{}} #")',
        "\\u0022",
    ),
    _call("escaped line end in a comment", f"# \\u000ASERVICE {CLOSED} {{}}\n", "\\u000A"),
    _call(
        "escaped angle bracket", f"?s <http://e.test/\\u003E SERVICE {CLOSED} {{}} #>", "\\u003E"
    ),
    _call("escaped brace", "\\u007D", "\\u007D"),
    _call("escaped surrogate", "BIND('\\uD83D' AS ?x)", "\\uD83D"),
    _call("escape beyond Unicode", "BIND('\\U00110000' AS ?x)", "\\U00110000"),
)
DATASETS = (
    Hostile("from", "SELECT * FROM <file:///etc/passwd> { ?s ?p ?o }", "FROM would"),
    Hostile(
        "from named",
        "SELECT * FROM NAMED <http://127.0.0.1:1/> { GRAPH ?g { ?s ?p ?o } }",
        "FROM would",
    ),
    Hostile("from, small letters", "ask from<http://127.0.0.1:1/>{}", "FROM would"),
    Hostile(
        "from in construct",
        "CONSTRUCT { ?s ?p ?o } FROM <http://127.0.0.1:1/> WHERE { ?s ?p ?o }",
        "FROM would",
    ),
    Hostile(
        "from in short construct",
        "CONSTRUCT FROM <http://127.0.0.1:1/> WHERE { ?s ?p ?o }",
        "FROM would",
    ),
    Hostile("from in describe", "DESCRIBE <urn:a> FROM <http://127.0.0.1:1/>", "FROM would"),
    Hostile("from, glued", f"{PREFIXES}SELECT * FROM:x {{ ?s ?p ?o }}", "FROM"),
    Hostile("from named, glued", f"{PREFIXES}SELECT * FROMNAMED:x {{ ?s ?p ?o }}", "FROM"),
    Hostile(
        "from named, glued to an IRI", "SELECT * FROMNAMED<http://127.0.0.1:1/> {}", "FROMNAMED"
    ),
    Hostile("from behind a name", f"{PREFIXES}DESCRIBE odd:FROM<http://127.0.0.1:1/> {{}}", "FROM"),
)
UPDATES = (
    Hostile("insert data", "INSERT DATA { <a:a> <a:b> <a:c> }", "INSERT would"),
    Hostile(
        "insert where",
        "PREFIX ex: <http://e.test/> insert { ?s ex:p 1 } where { ?s ?p ?o }",
        "INSERT would",
    ),
    Hostile("delete data", "DELETE DATA { <a:a> <a:b> <a:c> }", "DELETE would"),
    Hostile("delete where", "# SELECT\nDELETE WHERE { ?s ?p ?o }", "DELETE would"),
    Hostile("with", "WITH <a:g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", "WITH would"),
    Hostile("load", "LOAD <http://127.0.0.1:1/>", "LOAD would"),
    Hostile("load silent", "LOAD SILENT <file:///etc/passwd> INTO GRAPH <a:g>", "LOAD would"),
    Hostile("clear", "CLEAR ALL", "CLEAR would"),
    Hostile("drop", "DROP GRAPH <a:g>", "DROP would"),
    Hostile("create", "CREATE GRAPH <a:g>", "CREATE would"),
    Hostile("add", "ADD <a:g> TO <a:h>", "ADD would"),
    Hostile("move", "MOVE DEFAULT TO <a:h>", "MOVE would"),
    Hostile("copy", "COPY <a:g> TO DEFAULT", "COPY would"),
    Hostile("glued", "INSERTDATA{ <a:a> <a:b> <a:c> }", "INSERTDATA"),
    Hostile("after a query", "SELECT * { ?s ?p ?o } ; DROP ALL", ";"),
    Hostile("after a query, no sign", "ASK {} DROP ALL", "DROP would"),
    Hostile("before a query", "CLEAR ALL ; SELECT * { ?s ?p ?o }", "CLEAR would"),
    Hostile("two queries", "SELECT * { ?s ?p ?o } SELECT * { ?s ?p ?o }", "second query"),
    Hostile("sign alone at the end", "SELECT * { ?s ?p ?o };", ";"),
)
BROKEN = (
    Hostile("empty", "", "no query in it"),
    Hostile("white space", " \n\t\r\n", "no query in it"),
    Hostile("comment only", "# SELECT * {}", "no query in it"),
    Hostile("prefixes only", "PREFIX a: <a:a>", "no query after"),
    Hostile("prefix without an IRI", "PREFIX a: SELECT * {}", "PREFIX"),
    Hostile("prefix with a local name", "PREFIX a:b <a:a> SELECT * {}", "PREFIX"),
    Hostile("prefix in the middle", "SELECT * { PREFIX a: <a:a> }", "in the middle"),
    Hostile("no form", "{ ?s ?p ?o }", "does not begin a query"),
    Hostile("SQL", "EXPLAIN SELECT 1", "does not begin a query"),
    Hostile("glued form", "SELECTDISTINCT?s{?s ?p ?o}", "does not begin a query"),
    Hostile("unknown word", "SELECT * { ?s ?p ?o FETCH <http://127.0.0.1:1/> }", "FETCH"),
    Hostile("long s", f"SELECT * {{ \u017fERVICE {CLOSED} {{}} }}", "no word"),
    Hostile("zero width", f"SELECT * {{ SER\u200bVICE {CLOSED} {{}} }}", "U+200B"),
    Hostile("zero byte", "SELECT * { ?s ?p ?o }\x00", "U+0000"),
    Hostile("zero byte in a comment", "SELECT * { ?s ?p ?o } # \x00", "U+0000"),
    Hostile("bell in a string", "SELECT ('\x07' AS ?x) {}", "U+0007"),
    Hostile("half a surrogate pair", "SELECT ('\ud800' AS ?x) {}", "U+D800"),
    Hostile("byte order mark", "\ufeffSELECT * {}", "does not begin"),
    Hostile("wide space", "SELECT *\u00a0{}", "U+00A0"),
    Hostile("unclosed string", 'SELECT ("abc AS ?x) {}', "does not end"),
    Hostile("unclosed long string", 'SELECT ("""abc" AS ?x) {}', "does not end"),
    Hostile("line end in a string", "SELECT ('a\nb' AS ?x) {}", "does not end"),
    Hostile("unknown escape", "SELECT ('\\q' AS ?x) {}", "escape"),
    Hostile(
        "quote in an IRI",
        f'SELECT * {{ ?s <http://e.test/"> SERVICE {CLOSED} {{}} #"\n}}',
        "no IRI",
    ),
    Hostile("unclosed brace", "SELECT * { ?s ?p ?o", "never closed"),
    Hostile("unclosed parenthesis", "SELECT (1 AS ?x {}", "never closed"),
    Hostile("closed too often", "SELECT * { ?s ?p ?o } }", "closes nothing"),
    Hostile("crossed", "SELECT * { FILTER(1 } )", "does not close"),
    Hostile("unclosed triple term", "SELECT * { << ?s ?p ?o ?q ?r }", "does not close"),
    Hostile("brace closed in a string", "SELECT * { ?s ?p '}'", "never closed"),
)


def _deep(
    opening: str, closing: str, times: int, head: str = "SELECT * { ", tail: str = " }"
) -> str:
    return head + opening * times + closing * times + tail


LARGE = (
    Hostile("10,000 nested groups", _deep("{", "}", 10_000), "characters"),
    Hostile("200 kB of parentheses", "(" * 200_000, "characters"),
    Hostile("2 MB of white space", " " * 2_000_000, "characters"),
    Hostile("9,900 nested groups", _deep("{", "}", 9_900), "deeper"),
    Hostile("9,900 parentheses, never closed", "SELECT (" + "(" * 9_900, "deeper"),
    Hostile("9,900 brackets", _deep("[", "]", 9_900), "deeper"),
    Hostile("41 levels", _deep("{", "}", 40), "deeper"),
    Hostile("nested subselects", _deep("{ SELECT * { ", "} }", 500), "deeper"),
    Hostile("nested path groups", _deep("(", "*)", 3_000, "SELECT * { ?s ", " ?o }"), "deeper"),
    Hostile("nested triple terms", _deep("<< ", ">> ", 3_000), "deeper"),
    Hostile("nested triple terms with parentheses", _deep("<<( ", ")>> ", 2_000), "deeper"),
    Hostile("nested annotations", _deep("{| ", "|} ", 2_000), "deeper"),
    Hostile("nested calls", _deep("IF(1,1,", ")", 1_500, "SELECT (", " AS ?x) {}"), "deeper"),
    Hostile("nested EXISTS", _deep("FILTER EXISTS { ", "} ", 1_000), "deeper"),
    Hostile("9,900 negations", "SELECT (" + "!" * 9_900 + "1 AS ?x) {}", "operators"),
    Hostile("9,900 additions", "SELECT (1" + "+1" * 9_900 + " AS ?x) {}", "operators"),
    Hostile("a path of 3,000 steps", "SELECT * { ?s :a" + "/:a" * 3_000 + " ?o }", "operators"),
    Hostile("1,000 unions", "SELECT * { {}" + "UNION{}" * 1_000 + " }", "groups"),
    Hostile("400 optionals", "SELECT * { " + "OPTIONAL { ?s ?p ?o } " * 400 + " }", "groups"),
    Hostile("400 triples", "SELECT * { " + "?s ?p ?o . " * 400 + " }", "statements"),
    Hostile("400 objects", "SELECT * { ?s ?p " + "?o , " * 400 + "?o }", "statements"),
    Hostile("400 predicates", "SELECT * { ?s ?p ?o" + " ; ?p ?o" * 400 + " }", "statements"),
    Hostile("1,000 filters", "SELECT * { " + "FILTER(1) " * 1_000 + " }", "clauses"),
    Hostile("9,000 values", "SELECT * { VALUES ?x { " + "1 " * 9_000 + "} }", "words and signs"),
)
HOSTILE = CALLS + ESCAPED + DATASETS + UPDATES + BROKEN + LARGE
