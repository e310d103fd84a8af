"""Queries of every form, over the small data below: each must be accepted, and limited without a
change of meaning.

Data only. `by_hand` is the same query with `LIMIT @n` put where a person would put it; it is there
for the forms whose limit counts solutions and not results. `own` is the LIMIT that a query brings
along. None of them asks for random values or new blank nodes, so that two runs give the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass

DATA = """
@prefix ex: <http://example.org/> .
@prefix service: <http://example.org/service/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
ex:Animal a rdfs:Class ; rdfs:label "animal"@en, "Tier"@de .
ex:Bird rdfs:subClassOf ex:Animal ; rdfs:label "bird"@en .
ex:Duck rdfs:subClassOf ex:Bird ; rdfs:label "duck"@en ; rdfs:comment "no LIMIT 1 to its size" .
ex:ada a ex:Duck ; ex:age 3 ; ex:knows ex:bob, ex:cyd ; ex:name "Ada" .
ex:bob a ex:Duck ; ex:age 7 ; ex:knows ex:cyd ; ex:name "Bob" ; ex:SERVICE service:x .
ex:cyd a ex:Bird ; ex:age 5 ; ex:knows ex:dan ; ex:name "Cyd"@en .
ex:dan a ex:Bird ; ex:age 9 ; ex:knows ex:ada ; ex:name "Dan" ; ex:home [ ex:city "Kiel" ] .
ex:eve a ex:Animal ; ex:age 2 ; ex:name "LIMIT 1" ; ex:a.b ex:c\\-d .
service:x ex:from ex:LIMIT ; ex:weight 2.5 ; ex:since "2024-01-02"^^xsd:date .
"""
NAMED = {"http://example.org/g1": "<http://example.org/ada> <http://example.org/age> 30, 31 ."}

PREFIXES = """PREFIX ex: <http://example.org/>
PREFIX service: <http://example.org/service/>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
"""


@dataclass(frozen=True, slots=True)
class Query:
    """A query without its prefixes, or with its own when `bare`."""

    name: str
    body: str
    by_hand: str = ""
    own: int | None = None
    bare: bool = False
    lenient: bool = False  # not in the grammar of SPARQL 1.1: only pyoxigraph reads it

    @property
    def text(self) -> str:
        return self.body if self.bare else PREFIXES + self.body

    def limited_by_hand(self, limit: int) -> str:
        least = limit if self.own is None else min(limit, self.own)
        return ("" if self.bare else PREFIXES) + self.by_hand.replace("@n", str(least))


_T = '"""'
SELECTS = (
    Query("all", "SELECT * WHERE { ?s ?p ?o }"),
    Query("no where", "SELECT ?s { ?s ex:age ?a }"),
    Query("no spaces", "SELECT*{?s?p?o}", bare=True),
    Query("small letters", "select ?s where { ?s ex:knows ?o } order by ?s"),
    Query("distinct", "SELECT DISTINCT ?c { ?s a ?c }"),
    Query("reduced", "SELECT REDUCED ?c { ?s a ?c }"),
    Query("order", "SELECT ?s ?a { ?s ex:age ?a } ORDER BY ?a"),
    Query("order desc", "SELECT ?s ?a { ?s ex:age ?a } ORDER BY DESC(?a)"),
    Query("order by call", "SELECT ?s ?n { ?s ex:name ?n } ORDER BY STRLEN(STR(?n)) ?n"),
    Query("order by cast", "SELECT ?s ?a { ?s ex:age ?a } ORDER BY ASC(xsd:integer(?a))"),
    Query("offset", "SELECT ?s { ?s ex:age ?a } ORDER BY ?a OFFSET 2"),
    Query("limit", "SELECT ?s { ?s ex:age ?a } ORDER BY ?a LIMIT 3", own=3),
    Query("limit, offset", "SELECT ?s { ?s ex:age ?a } ORDER BY ?a LIMIT 3 OFFSET 1", own=3),
    Query("offset, limit", "SELECT ?s { ?s ex:age ?a } ORDER BY ?a OFFSET 1 LIMIT 3", own=3),
    Query("limit 0", "SELECT ?s { ?s ex:age ?a } LIMIT 0", own=0),
    Query("limit 007", "SELECT ?s { ?s ?p ?o } LIMIT 007", own=7),
    Query(
        "limit at the largest", "SELECT ?s { ?s ?p ?o } LIMIT 18446744073709551615", own=2**64 - 1
    ),
    Query("limit in small letters", "SELECT ?s { ?s ?p ?o } limit\n\t4", own=4),
    Query(
        "comment between limit and number", "SELECT ?s { ?s ?p ?o } LIMIT # LIMIT 9\n 4 # 5", own=4
    ),
    Query("group", "SELECT ?c (COUNT(?s) AS ?n) { ?s a ?c } GROUP BY ?c ORDER BY ?c"),
    Query(
        "group by expression",
        "SELECT ?k (COUNT(*) AS ?n) { ?s ex:age ?a } GROUP BY (?a > 4 AS ?k) ORDER BY ?k",
    ),
    Query(
        "having",
        "SELECT ?c (SUM(?a) AS ?t) { ?s a ?c ; ex:age ?a } GROUP BY ?c HAVING (SUM(?a) > 2) ORDER"
        " BY ?t",
    ),
    Query(
        "having, order, offset",
        "SELECT ?c { ?s a ?c } GROUP BY ?c HAVING(COUNT(?s) > 0) ORDER BY ?c OFFSET 1",
    ),
    Query(
        "one aggregate", "SELECT (COUNT(*) AS ?n) (MAX(?a) AS ?m) (AVG(?a) AS ?v) { ?s ex:age ?a }"
    ),
    Query(
        "group_concat", "SELECT (GROUP_CONCAT(?n; SEPARATOR=' LIMIT 1 ') AS ?all) { ?s ex:name ?n }"
    ),
    Query("count distinct", "SELECT (COUNT(DISTINCT ?c) AS ?n) (SAMPLE(?c) AS ?one) { ?s a ?c }"),
    Query(
        "subselect",
        "SELECT ?s ?o { { SELECT ?s { ?s ex:age ?a } ORDER BY ?a LIMIT 3 } ?s ex:knows ?o }",
    ),
    Query(
        "subselect without a limit",
        "SELECT ?n { { SELECT ?s { ?s ex:age ?a } ORDER BY DESC(?a) } ?s ex:name ?n }",
    ),
    Query(
        "limit in and out",
        "SELECT ?s ?p { { SELECT ?s { ?s ex:age ?a } ORDER BY ?a LIMIT 2 } ?s ?p ?o } LIMIT 5",
        own=5,
    ),
    Query(
        "subselect twice",
        "SELECT * { { SELECT ?s { { SELECT ?s { ?s a ?c } LIMIT 4 } } LIMIT 3 } ?s ex:age ?a }",
    ),
    Query(
        "subselect with values",
        "SELECT * { { SELECT ?s ?a { ?s ex:age ?a } LIMIT 9 VALUES ?s { ex:ada ex:bob } } }",
    ),
    Query("trailing values", "SELECT ?s ?a { ?s ex:age ?a } VALUES ?s { ex:ada ex:cyd ex:dan }"),
    Query(
        "order, trailing values",
        "SELECT ?s ?a { ?s ex:age ?a } ORDER BY ?a VALUES (?s) { (ex:ada) (ex:cyd) (UNDEF) }",
    ),
    Query(
        "limit, trailing values",
        "SELECT ?s { ?s ex:age ?a } LIMIT 2 VALUES ?s { ex:ada ex:cyd ex:dan }",
        own=2,
    ),
    Query(
        "offset, trailing values",
        "SELECT ?s { ?s ex:age ?a } ORDER BY ?s OFFSET 1 VALUES ?s { ex:ada ex:cyd ex:dan }",
    ),
    Query(
        "limit, offset, values",
        "SELECT ?s { ?s ?p ?o } OFFSET 2 LIMIT 4 VALUES ?s{ex:ada ex:bob}# LIMIT",
        own=4,
    ),
    Query("values glued", "SELECT ?s{?s ex:age ?a}VALUES?s{ex:ada ex:cyd}"),
    Query(
        "values inside",
        "SELECT * { VALUES (?s ?x) { (ex:ada 1) (ex:bob UNDEF) (ex:cyd 'LIMIT') } ?s ex:age ?a }",
    ),
    Query(
        "union", "SELECT ?x { { ?x a ex:Duck } UNION { ?x a ex:Bird } UNION { ?x a ex:Animal } }"
    ),
    Query("optional", "SELECT ?s ?h { ?s ex:age ?a OPTIONAL { ?s ex:home ?h } }"),
    Query("minus", "SELECT ?s { ?s ex:age ?a MINUS { ?s a ex:Duck } }"),
    Query(
        "exists",
        "SELECT ?s { ?s ex:age ?a FILTER EXISTS { ?s ex:knows ?o } FILTER NOT EXISTS { ?s ex:home"
        " ?h } }",
    ),
    Query("graph", "SELECT ?g ?s ?o { GRAPH ?g { ?s ex:age ?o } }"),
    Query("graph by name", "SELECT * { GRAPH ex:g1 { ?s ?p ?o } }"),
    Query("path star", "SELECT ?x { ?x rdfs:subClassOf* ex:Animal }"),
    Query("path plus and sequence", "SELECT ?x ?y { ?x ex:knows+/ex:knows ?y }"),
    Query("path inverse, negation, choice", "SELECT ?x ?y { ?x ^ex:knows|!(rdfs:label|^a) ?y }"),
    Query("path question mark", "SELECT ?x ?y { ?x (ex:knows/(ex:knows)?)? ?y . ?x a ex:Duck }"),
    Query(
        "path with angle brackets",
        "SELECT ?x { ?x <http://example.org/knows>?/<http://example.org/age> 5 }",
    ),
    Query("bind", "SELECT ?s ?b { ?s ex:age ?a BIND(?a * 2 + 1 AS ?b) FILTER(?b < 16 && ?b>=5) }"),
    Query("less-than without spaces", "SELECT ?s { ?s ex:age ?a FILTER(?a<6) }"),
    Query("less and greater", "SELECT ?s { ?s ex:age ?a FILTER(2<?a&&?a<8 && 1 <= ?a) }"),
    Query("in", "SELECT ?s { ?s ex:age ?a FILTER(?a IN (2, 3, 5) || ?a NOT IN (1, 2, 9)) }"),
    Query(
        "functions",
        "SELECT (IF(BOUND(?n), UCASE(STR(?n)), COALESCE(?x, '-')) AS ?u) { ?s ex:name ?n } ORDER"
        " BY ?u",
    ),
    Query(
        "regex", r"""SELECT ?n { ?s ex:name ?n FILTER REGEX(?n, '^[A-C]\\w+|LIMIT \\d', "i") }"""
    ),
    Query("language", "SELECT ?l { ?c rdfs:label ?l FILTER LANGMATCHES(LANG(?l), 'en') }"),
    Query("tagged literal", 'SELECT ?s { ?s ?p ?o FILTER(?o != "bird"@en) } ORDER BY ?s'),
    Query("typed literal", 'SELECT ?s { ?s ex:since ?d FILTER(?d > "2023-01-01"^^xsd:date) }'),
    Query(
        "numbers",
        "SELECT ?s { ?s ex:weight ?w FILTER(?w > 1.5e0 && ?w < +3 && ?w > -.5 && ?w != 2) }",
    ),
    Query(
        "blank nodes",
        "SELECT ?s ?c { ?s ex:home [ ex:city ?c ] . _:x.y ex:home _:h1 . [] ex:age 9 }",
    ),
    Query(
        "collection",
        "SELECT ?s { ?s ex:age ?a MINUS { ?s ex:list (1 ?two <http://example.org/three> ()) } }",
    ),
    Query(
        "lists of objects",
        "SELECT * { ?s a ex:Duck ; ex:age ?a ; ex:knows ?k , ?l ; . } ORDER BY ?s ?k ?l",
    ),
    Query("dollar", "SELECT $s { $s ex:age ?a . FILTER($a > 2) }"),
    Query("no solution", "SELECT ?s { ?s ex:nothing ?o }"),
    Query("empty pattern", "SELECT * {}"),
    Query("bare expression", "SELECT (1 AS ?x) ('LIMIT 3' AS ?y) WHERE {}"),
)
WORDS = (
    Query("trailing comment", "SELECT ?s { ?s ?p ?o } # LIMIT 1"),
    Query("trailing comment, nothing between", "SELECT ?s { ?s ?p ?o }#LIMIT 1"),
    Query(
        "comments all over",
        "# LIMIT 2\nSELECT ?s # { LIMIT 3\n{ ?s ?p ?o # }\n} # SERVICE <http://x/> {}\n# FROM <x>",
    ),
    Query("comment after order", "SELECT ?s { ?s ?p ?o } ORDER BY ?s # DESC LIMIT 2\r\n"),
    Query(
        "limit in strings",
        "SELECT * { ?s ex:name ?n FILTER(?n = 'LIMIT 1' || ?n = \"} LIMIT 2\") }",
    ),
    Query(
        "long strings",
        f"SELECT * {{ ?s ?p ?o FILTER(?o != {_T}a\"\"b LIMIT 1\n}} # '{_T} && ?o != '''it's \\'''"
        " LIMIT 2''') }",
    ),
    Query(
        "escapes",
        r"""SELECT ("\"} LIMIT 1 \\" AS ?a) ('\'#\n\t' AS ?b) ("caf\u00e9 \U0001F986 \u0041" AS ?c) {}""",
    ),
    Query("limit as a name", "SELECT ?limit ?p { ?limit ?p ex:LIMIT }"),
    Query(
        "forbidden words as variables",
        "SELECT ?service ?from ?insert ?drop { ?service ?from ?insert BIND(1 AS ?drop) }",
    ),
    Query(
        "forbidden words as names",
        "SELECT ?x { ?x ex:SERVICE ?y . ?y ex:from ?z OPTIONAL { ?y ex:DROP ex:INSERT } }",
    ),
    Query("a prefix called service", "SELECT ?s { ?s ex:SERVICE service:x . { ?s ex:age ?a } }"),
    Query(
        "more such prefixes",
        "PREFIX load: <http://example.org/> SELECT ?s { ?s load:age ?a ; load:knows load:from ,"
        " ?b }",
        bare=True,
    ),
    Query(
        "forbidden words in IRIs",
        "SELECT ?s { ?s ?p ?o FILTER(?o != <http://example.org/SERVICE?x=FROM#LOAD>) }",
    ),
    Query(
        "forbidden words in strings",
        "SELECT ('SERVICE <http://x/> {}' AS ?a) ('; DROP ALL' AS ?b) { ?s ex:age ?o }",
    ),
    Query(
        "names with dots and escapes",
        r"SELECT ?s { ?s ex:a.b ex:c\-d . OPTIONAL { ?s ex:p%41.q:r ex:0 } }",
    ),
    Query("name before a dot", "SELECT ?s { ?s a ex:Duck. ?s ex:age ?a. }"),
    Query(
        "base",
        "BASE <http://example.org/> PREFIX : <#> SELECT ?s { ?s <age> ?a ; a <Duck> . OPTIONAL { ?s"
        " :x ?y } }",
        bare=True,
    ),
    Query(
        "empty prefix",
        "PREFIX : <http://example.org/> SELECT ?s { ?s :age ?a ; :knows :cyd }",
        bare=True,
    ),
    Query(
        "parentheses in an IRI",
        "SELECT ?s { ?s ?p ?o FILTER(?s != <http://example.org/Duck_(bird)#it's>) }",
    ),
    Query(
        "hash in a predicate",
        "SELECT ?l { ?c <http://www.w3.org/2000/01/rdf-schema#label> ?l }",
        bare=True,
    ),
    Query(
        "a urn",
        "SELECT ?s { ?s ex:age ?a FILTER(?s != <urn:isbn:123> && ?s != <mailto:a@example.org>) }",
    ),
    Query(
        "letters of other scripts",
        "SELECT ?größe ?名 { ?größe ex:age ?名 . OPTIONAL { ?größe ex:länge ?x } }",
    ),
    Query(
        "lateral",
        "SELECT * { ?s ex:age ?a LATERAL { SELECT * { ?s ex:knows ?k } LIMIT 1 } }",
        lenient=True,
    ),
    Query(
        "triple term",
        "SELECT ?s { ?s ex:age ?a OPTIONAL { << ?s ex:age ?a >> ex:by ?w } }",
        lenient=True,
    ),
)
GRAPHS = (
    Query("construct", "CONSTRUCT { ?s ex:old ?a } WHERE { ?s ex:age ?a } ORDER BY ?a",
          "CONSTRUCT { ?s ex:old ?a } WHERE { ?s ex:age ?a } ORDER BY ?a LIMIT @n"),
    Query("construct two each", "CONSTRUCT { ?s ex:old ?a . ?s ex:is 'LIMIT 1' } { ?s ex:age ?a }#LIMIT 7",
          "CONSTRUCT { ?s ex:old ?a . ?s ex:is 'LIMIT 1' } { ?s ex:age ?a } LIMIT @n"),
    Query("construct, limit", "CONSTRUCT { ?s ex:old ?a } WHERE { ?s ex:age ?a } ORDER BY ?a LIMIT 2 OFFSET 1",
          "CONSTRUCT { ?s ex:old ?a } WHERE { ?s ex:age ?a } ORDER BY ?a LIMIT @n OFFSET 1", own=2),
    Query("construct short", "CONSTRUCT WHERE { ?s ex:knows ?o }", "CONSTRUCT WHERE { ?s ex:knows ?o } LIMIT @n"),
    Query("construct short, offset", "CONSTRUCT WHERE { ?s ex:knows ?o } ORDER BY ?o ?s OFFSET 2",
          "CONSTRUCT WHERE { ?s ex:knows ?o } ORDER BY ?o ?s OFFSET 2 LIMIT @n"),
    Query("construct, subselect", "CONSTRUCT { ?s a ex:Old } { { SELECT ?s { ?s ex:age ?a } ORDER BY ?a LIMIT 3 } }",
          "CONSTRUCT { ?s a ex:Old } { { SELECT ?s { ?s ex:age ?a } ORDER BY ?a LIMIT 3 } } LIMIT @n"),
    Query("construct, values", "CONSTRUCT { ?s a ?s } { ?s ex:age ?a } VALUES ?s { ex:ada ex:bob }",
          "CONSTRUCT { ?s a ?s } { ?s ex:age ?a } LIMIT @n VALUES ?s { ex:ada ex:bob }"),
    Query("construct nothing", "CONSTRUCT {} WHERE { ?s ?p ?o }", "CONSTRUCT {} WHERE { ?s ?p ?o } LIMIT @n"),
    Query("describe an IRI", "DESCRIBE <http://example.org/ada>", "DESCRIBE <http://example.org/ada> LIMIT @n"),
    Query("describe names", "DESCRIBE ex:ada ex:bob # both", "DESCRIBE ex:ada ex:bob LIMIT @n"),
    Query("describe variable", "DESCRIBE ?s WHERE { ?s ex:age ?a } ORDER BY ?a",
          "DESCRIBE ?s WHERE { ?s ex:age ?a } ORDER BY ?a LIMIT @n"),
    Query("describe star", "DESCRIBE * { ?s a ex:Duck } OFFSET 1", "DESCRIBE * { ?s a ex:Duck } OFFSET 1 LIMIT @n"),
    Query("describe, limit", "DESCRIBE ?s { ?s ex:age ?a } LIMIT 1", "DESCRIBE ?s { ?s ex:age ?a } LIMIT @n", own=1),
)  # fmt: skip
ASKS = (
    Query("ask", "ASK { ?s ex:age 3 }"),
    Query("ask where", "ASK WHERE { ?s ex:age ?a FILTER(?a > 100) } # LIMIT"),
    Query("ask, limit", "ASK { ?s ?p ?o } LIMIT 1"),
    Query("ask, values", "ASK { ?s ex:age ?a } VALUES ?s { ex:nobody }"),
)
QUERIES = SELECTS + WORDS + GRAPHS + ASKS
