"""Queries that two engines have to answer alike: over any ontology, and over small graphs of odd
values.

Data only. `keys` are the variables that an ORDER BY goes by: their sequence has to agree, rows that
tie may change places.
"""

from __future__ import annotations

from dataclasses import dataclass

PREFIXES = """PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
PREFIX ex: <http://example.org/odd#>
"""


@dataclass(frozen=True, slots=True)
class Ask:
    name: str
    body: str
    keys: tuple[str, ...] = ()
    bare: bool = False  # it brings its own prefixes

    @property
    def text(self) -> str:
        return self.body if self.bare else PREFIXES + self.body


# -- over any ontology

ANYWHERE = (
    Ask("everything", "SELECT ?s ?p ?o { ?s ?p ?o }"),
    Ask("predicates by use",
         "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p ORDER BY DESC(?n) STR(?p)", ("n", "p")),
    Ask("distinct predicates", "SELECT DISTINCT ?p { ?s ?p ?o }"),
    Ask("kinds", "SELECT ?c (COUNT(?s) AS ?n) { ?s a ?c } GROUP BY ?c"),
    Ask("kinds with several", "SELECT ?c { ?s a ?c } GROUP BY ?c HAVING (COUNT(?s) > 3)"),
    Ask("class and label", "SELECT ?c ?l { ?c a owl:Class OPTIONAL { ?c rdfs:label ?l } }"),
    Ask("no label", "SELECT ?c { ?c a owl:Class FILTER NOT EXISTS { ?c rdfs:label ?l } }"),
    Ask("minus label", "SELECT ?c { ?c a ?k MINUS { ?c rdfs:label ?l } }"),
    Ask("exists comment", "SELECT ?c { ?c rdfs:label ?l FILTER EXISTS { ?c rdfs:comment ?m } }"),
    Ask("superclasses", "SELECT ?a ?b { ?a rdfs:subClassOf+ ?b }"),
    Ask("superclasses and self", "SELECT DISTINCT ?b { ?a a owl:Class ; rdfs:subClassOf* ?b }"),
    Ask("subclasses, the other way", "SELECT ?a ?b { ?b ^rdfs:subClassOf ?a }"),
    Ask("two steps", "SELECT ?a ?c { ?a rdfs:subClassOf/rdfs:subClassOf ?c }"),
    Ask("domain or range", "SELECT ?p ?c { ?p rdfs:domain|rdfs:range ?c }"),
    Ask("not a type", "SELECT ?s ?o { ?s !(rdf:type|rdfs:label|rdfs:comment) ?o FILTER isIRI(?o) }"),
    Ask("maybe one step", "SELECT ?a ?b { ?a a owl:Class ; rdfs:subClassOf? ?b }"),
    Ask("members of lists", "SELECT ?s ?m { ?s owl:unionOf/rdf:rest*/rdf:first ?m }"),
    Ask("domains and ranges", "SELECT ?p ?d ?r { ?p rdfs:domain ?d OPTIONAL { ?p rdfs:range ?r } }"),
    Ask("union",
         "SELECT ?x ?k { { ?x a owl:Class BIND('class' AS ?k) } UNION { ?x a owl:ObjectProperty BIND('link' "
         "AS ?k) } }"),
    Ask("values", "SELECT ?x ?k { VALUES ?k { owl:Class owl:ObjectProperty owl:DatatypeProperty } ?x a ?k }"),
    Ask("values of two", "SELECT ?x { ?x a ?k ; ?p ?o } VALUES (?k ?p) { (owl:Class rdfs:label) (UNDEF rdfs:domain) }"),
    Ask("subselect",
         "SELECT ?c ?n ?l { { SELECT ?c (COUNT(?s) AS ?n) { ?s a ?c } GROUP BY ?c } OPTIONAL { ?c rdfs:label ?l } }"),
    Ask("the most used",
         "SELECT ?n { { SELECT (COUNT(?s) AS ?n) { ?s ?p ?o } GROUP BY ?p } } ORDER BY DESC(?n) LIMIT 5", ("n",)),
    Ask("first classes", "SELECT ?c { ?c a owl:Class FILTER isIRI(?c) } ORDER BY STR(?c) LIMIT 7", ("c",)),
    Ask("next classes", "SELECT ?c { ?c a owl:Class FILTER isIRI(?c) } ORDER BY STR(?c) LIMIT 7 OFFSET 5", ("c",)),
    Ask("last labels", "SELECT ?t { ?c rdfs:label ?l BIND(STR(?l) AS ?t) } ORDER BY DESC(?t)", ("t",)),
    Ask("some of many", "SELECT ?s { ?s ?p ?o } LIMIT 10"),
    Ask("without the first", "SELECT ?s { ?s ?p ?o } OFFSET 10"),
    Ask("languages", "SELECT ?g (COUNT(*) AS ?n) { ?s ?p ?o FILTER isLiteral(?o) BIND(LANG(?o) AS ?g) } GROUP BY ?g"),
    Ask("datatypes",
         "SELECT ?t (COUNT(*) AS ?n) { ?s ?p ?o FILTER isLiteral(?o) BIND(DATATYPE(?o) AS ?t) } GROUP BY ?t"),
    Ask("English", "SELECT ?l { ?s rdfs:label ?l FILTER langMatches(LANG(?l), 'EN') }"),
    Ask("any language", "SELECT ?l { ?s rdfs:label ?l FILTER langMatches(LANG(?l), '*') }"),
    Ask("a letter in it", "SELECT ?l { ?s rdfs:label ?l FILTER CONTAINS(LCASE(STR(?l)), 'a') }"),
    Ask("regex", "SELECT ?l { ?s rdfs:label ?l FILTER REGEX(STR(?l), '^[a-f].*[aeiou]', 'i') }"),
    Ask("begins and ends",
         "SELECT ?s { ?s ?p ?o FILTER(isIRI(?s) && STRSTARTS(STR(?s), 'http') && STRENDS(STR(?s), 'n')) }"),
    Ask("lengths", "SELECT ?s ?n { ?s rdfs:comment ?c BIND(STRLEN(STR(?c)) AS ?n) FILTER(?n > 40) }"),
    Ask("parts of texts",
         "SELECT (UCASE(SUBSTR(STR(?l), 1, 3)) AS ?u) (STRAFTER(STR(?l), ' ') AS ?r) { ?s rdfs:label ?l }"),
    Ask("joined texts", "SELECT (CONCAT(STR(?l), '/', LANG(?l)) AS ?t) { ?s rdfs:label ?l }"),
    Ask("replaced", "SELECT (REPLACE(STR(?l), '[aeiou]+', '_') AS ?t) { ?s rdfs:label ?l }"),
    Ask("if and coalesce",
         "SELECT ?s (IF(BOUND(?l), 'yes', 'no') AS ?b) (COALESCE(?l, 'none') AS ?c) { ?s a owl:Class OPTIONAL "
         "{ ?s rdfs:label ?l } }"),
    Ask("how many in all",
         "SELECT (COUNT(*) AS ?n) (COUNT(DISTINCT ?s) AS ?d) (COUNT(DISTINCT ?p) AS ?e) { ?s ?p ?o }"),
    Ask("how long texts are",
         "SELECT (MIN(?n) AS ?a) (MAX(?n) AS ?b) (SUM(?n) AS ?c) (AVG(?n) AS ?d) { ?s rdfs:label ?l "
         "BIND(STRLEN(STR(?l)) AS ?n) }"),
    Ask("blank subjects", "SELECT ?s ?p ?o { ?s ?p ?o FILTER isBlank(?s) }"),
    Ask("blank in the middle", "SELECT ?s ?q ?o { ?s ?p ?b . ?b ?q ?o FILTER isBlank(?b) }"),
    Ask("same name", "SELECT ?a ?b { ?a rdfs:label ?l . ?b rdfs:label ?l FILTER(STR(?a) < STR(?b)) }"),
    Ask("ask true", "ASK { ?s a ?c }"),
    Ask("ask false", "ASK { ?s rdfs:subClassOf ?s . ?s rdfs:label 'no such label' }"),
    Ask("construct", "CONSTRUCT { ?b skos:narrower ?a } WHERE { ?a rdfs:subClassOf ?b }"),
    Ask("construct where", "CONSTRUCT WHERE { ?s rdfs:domain ?d }"),
    Ask("construct blank nodes",
         "CONSTRUCT { ?p rdfs:seeAlso [ rdfs:domain ?d ] } WHERE { ?p rdfs:domain ?d FILTER isIRI(?d) }"),
    Ask("construct what is there", "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o FILTER(isBlank(?s) || isBlank(?o)) }"),
    Ask("describe", "DESCRIBE ?c { ?c a owl:Class FILTER isIRI(?c) }"),
)  # fmt: skip

# -- over odd values

ODD = r"""
@prefix ex: <http://example.org/odd#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
ex:t1 ex:text "plain", "with \"quotes\"", "two\nlines", "tab\there", "", " ", "back\\slash", "it's" .
ex:t2 ex:text "Grüße", "日本語", "🦆 duck", "e\u0301", "ß", "İstanbul" ; ex:note "LIMIT 1 } #" .
ex:t3 ex:text "cat"@en, "cat"@en-GB, "Katze"@de, "кот"@ru, "猫"@ja, "cat" ; rdfs:label "chat"@fr .
ex:n1 ex:number 1, 2, 3 ; ex:weight 2.5, 0.1 ; ex:big 12345678901234567 ; ex:neg -7 .
ex:n2 ex:number 10 ; ex:weight 1.0e3, 2.5e-3 ; ex:half "0.5"^^xsd:float ; ex:flag true, false .
ex:n3 ex:number "004"^^xsd:integer ; ex:weight "2.50"^^xsd:decimal ; ex:code "7"^^ex:code ; ex:flag "1"^^xsd:boolean .
ex:d1 ex:day "2024-01-31"^^xsd:date ; ex:at "2024-02-29T12:30:15Z"^^xsd:dateTime ; ex:year "1999"^^xsd:gYear .
ex:d2 ex:day "2023-12-01"^^xsd:date ; ex:at "2024-03-01T00:00:00Z"^^xsd:dateTime .
ex:d3 ex:day "1970-01-01"^^xsd:date ; ex:at "2001-09-09T01:46:40Z"^^xsd:dateTime .
ex:b1 ex:has [ ex:size 1 ; ex:in [ ex:size 2 ] ], [ ex:size 3 ], [ ex:size 3 ] .
ex:b2 ex:has [ ex:in [ ex:in [ ex:size 4 ] ] ] .
ex:l1 ex:list ( 1 "two" ex:three [ ex:size 5 ] ) . ex:l2 ex:list () . ex:l3 ex:list ( ( 1 ) ( 2 3 ) ) .
ex:a ex:next ex:b . ex:b ex:next ex:c . ex:c ex:next ex:a . ex:d ex:next ex:d . ex:e ex:next ex:a, ex:d .
<http://example.org/odd#ünï> ex:next <urn:x:1>, <mailto:a@example.org>, <http://example.org/a%20b?x=1&y=2#z> .
"""

OVER_ODD = (
    Ask("all", "SELECT ?s ?p ?o { ?s ?p ?o }"),
    Ask("texts", "SELECT ?o { ?s ex:text ?o }"),
    Ask("texts in order", "SELECT ?t { ?s ex:text ?o FILTER(LANG(?o) = '') BIND(STR(?o) AS ?t) } ORDER BY ?t", ("t",)),
    Ask("lengths in characters", "SELECT ?o (STRLEN(?o) AS ?n) { ?s ex:text ?o }"),
    Ask("a plain text", "SELECT ?s { ?s ex:text 'cat' }"),
    Ask("a text of a language", "SELECT ?s { ?s ex:text 'cat'@en }"),
    Ask("a language and its regions", "SELECT ?o { ?s ex:text ?o FILTER langMatches(LANG(?o), 'en') }"),
    Ask("a language alone", "SELECT ?o { ?s ex:text ?o FILTER(LANG(?o) = 'en') }"),
    Ask("equal texts", "SELECT ?o { ?s ex:text ?o FILTER(STR(?o) = 'cat') }"),
    Ask("same term", "SELECT ?o { ?s ex:text ?o FILTER sameTerm(?o, 'cat'@de) }"),
    Ask("upper case", "SELECT (UCASE(?o) AS ?u) { ex:t3 ex:text ?o }"),
    Ask("lower case", "SELECT (LCASE(?o) AS ?u) { ex:t1 ex:text ?o }"),
    Ask("encoded", "SELECT (ENCODE_FOR_URI(?o) AS ?u) { ?s ex:text ?o }"),
    Ask("before and after", "SELECT ?o (STRBEFORE(?o, 'a') AS ?b) (STRAFTER(?o, 'a') AS ?c) { ex:t1 ex:text ?o }"),
    Ask("substrings", "SELECT (SUBSTR(?o, 2) AS ?b) (SUBSTR(?o, 2, 3) AS ?c) { ?s ex:text ?o }"),
    Ask("contains a quote", "SELECT ?o { ?s ex:text ?o FILTER CONTAINS(?o, '\"') }"),
    Ask("a line end", r"SELECT ?o { ?s ex:text ?o FILTER CONTAINS(?o, '\n') }"),
    Ask("the word of a query", "SELECT ?s { ?s ex:note ?o FILTER(?o = 'LIMIT 1 } #') }"),
    Ask("regex over scripts", "SELECT ?o { ?s ex:text ?o FILTER REGEX(?o, '^.$') }"),
    Ask("with a language", "SELECT (STRLANG(STR(?o), 'nl') AS ?l) { ex:t1 ex:text ?o FILTER(?o != '') }"),
    Ask("with a datatype", "SELECT (STRDT(STR(?o), ex:code) AS ?l) { ex:n1 ex:number ?o }"),
    Ask("hashes", "SELECT (MD5(STR(?o)) AS ?a) (SHA1(STR(?o)) AS ?b) (SHA256(STR(?o)) AS ?c) { ?s ex:text ?o }"),
    Ask("numbers by value", "SELECT ?s ?o { ?s ex:number ?o FILTER(?o > 2) } ORDER BY ?o", ("o",)),
    Ask("numbers of all kinds in order", "SELECT ?o { ?s ex:number|ex:weight|ex:neg ?o } ORDER BY DESC(?o)", ("o",)),
    Ask("a number is a number", "SELECT ?s { ?s ex:weight ?o FILTER(?o = 2.5) }"),
    Ask("added", "SELECT ?s (?a + ?b AS ?c) (?a - ?b AS ?d) { ?s ex:number ?a ; ex:weight ?b }"),
    Ask("divided", "SELECT ?a (?a / 4 AS ?c) { ex:n1 ex:number ?a }"),
    Ask("rounded",
         "SELECT ?a (ABS(?a) AS ?b) (CEIL(?a) AS ?c) (FLOOR(?a) AS ?d) (ROUND(?a) AS ?e) { ?s ex:weight|ex:neg ?a }"),
    Ask("sums",
         "SELECT ?s (SUM(?a) AS ?b) (AVG(?a) AS ?c) (MIN(?a) AS ?d) (MAX(?a) AS ?e) { ?s ex:number ?a } GROUP BY ?s"),
    Ask("sum of nothing", "SELECT (SUM(?a) AS ?b) (COUNT(?a) AS ?c) { ?s ex:nothing ?a }"),
    Ask("large numbers", "SELECT (?a + 1 AS ?b) { ?s ex:big ?a }"),
    Ask("casts",
         "SELECT ?a (xsd:integer(?a) AS ?b) (xsd:double(?a) AS ?c) (xsd:string(?a) AS ?d) { ex:n1 ex:number ?a }"),
    Ask("casts that fail", "SELECT ?o ?n { ex:t3 ex:text ?o BIND(xsd:integer(STR(?o)) AS ?n) }"),
    Ask("what is a number", "SELECT ?o { ?s ?p ?o FILTER isNumeric(?o) }"),
    Ask("booleans", "SELECT ?s { ?s ex:flag ?f FILTER(?f) }"),
    Ask("datatypes", "SELECT DISTINCT (DATATYPE(?o) AS ?d) { ?s ?p ?o FILTER isLiteral(?o) }"),
    Ask("a datatype of its own", "SELECT ?s { ?s ex:code ?c FILTER(DATATYPE(?c) = ex:code && STR(?c) = '7') }"),
    Ask("days in order", "SELECT ?d { ?s ex:day ?d } ORDER BY ?d", ("d",)),
    Ask("days before", "SELECT ?s { ?s ex:day ?d FILTER(?d < '2024-01-01'^^xsd:date) }"),
    Ask("parts of times",
         "SELECT (YEAR(?t) AS ?y) (MONTH(?t) AS ?m) (DAY(?t) AS ?d) (HOURS(?t) AS ?h) (MINUTES(?t) AS ?i) "
         "(TZ(?t) AS ?z) { ?s ex:at ?t }"),
    Ask("seconds", "SELECT (SECONDS(?t) AS ?x) { ?s ex:at ?t }"),
    Ask("times after", "SELECT ?s { ?s ex:at ?t FILTER(?t >= '2024-02-29T12:30:15Z'^^xsd:dateTime) }"),
    Ask("the latest", "SELECT (MAX(?t) AS ?m) (MIN(?t) AS ?n) { ?s ex:at ?t }"),
    Ask("blank chains", "SELECT ?s ?n { ?s ex:has/ex:in* ?b . ?b ex:size ?n }"),
    Ask("blank nodes themselves", "SELECT ?a ?b { ?a ex:in ?b }"),
    Ask("twins", "SELECT ?b { ex:b1 ex:has ?b . ?b ex:size 3 }"),
    Ask("pairs of twins", "SELECT ?a ?b { ?s ex:has ?a, ?b FILTER(?a != ?b) }"),
    Ask("list members", "SELECT ?l ?m { ?l ex:list/rdf:rest*/rdf:first ?m }"),
    Ask("a list by its members", "SELECT ?l { ?l ex:list ( 1 'two' ?x ?y ) }"),
    Ask("round and round", "SELECT ?x ?y { ?x ex:next+ ?y }"),
    Ask("round and back", "SELECT ?x { ex:a ex:next* ?x }"),
    Ask("a path to itself", "SELECT ?x { ?x ex:next+ ?x }"),
    Ask("odd names", "SELECT ?o (STR(?o) AS ?t) (IRI(STR(?o)) AS ?i) { <http://example.org/odd#ünï> ex:next ?o }"),
    Ask("kinds of terms", "SELECT ?o (isIRI(?o) AS ?i) (isBlank(?o) AS ?b) (isLiteral(?o) AS ?l) { ?s ?p ?o }"),
    Ask("in a list", "SELECT ?s { ?s ex:number ?n FILTER(?n IN (1, 10, 'x')) }"),
    Ask("not in a list", "SELECT ?s ?n { ?s ex:number ?n FILTER(?n NOT IN (1, 10)) }"),
    Ask("or with an error", "SELECT ?s { ?s ex:text ?o FILTER(?o > 5 || STRLEN(?o) > 8) }"),
    Ask("optional within optional",
         "SELECT ?s ?a ?b { ?s ex:has ?x OPTIONAL { ?x ex:size ?a OPTIONAL { ?x ex:in/ex:size ?b } } }"),
    Ask("a filter in an optional", "SELECT ?s ?n { ?s ex:number ?m OPTIONAL { ?s ex:weight ?n FILTER(?n < ?m) } }"),
    Ask("counting distinct",
         "SELECT (COUNT(DISTINCT ?n) AS ?c) (SUM(DISTINCT ?n) AS ?d) { ?s ex:has/ex:in*/ex:size ?n }"),
    Ask("having of an average", "SELECT ?s { ?s ex:number ?n } GROUP BY ?s HAVING (AVG(?n) > 2 && COUNT(*) < 5)"),
    Ask("a group with nothing in it",
         "SELECT ?s (COUNT(?x) AS ?n) { ?s ex:number ?m OPTIONAL { ?s ex:none ?x } } GROUP BY ?s"),
    Ask("construct blank nodes", "CONSTRUCT { ?s ex:was [ ex:size ?n ; ex:of ?s ] } { ?s ex:has/ex:size ?n }"),
    Ask("construct lists", "CONSTRUCT { ?s ex:pair ( ?n 'x' ) } { ?s ex:neg ?n }"),
    Ask("construct from blank chains",
         "CONSTRUCT { ?a ex:in ?b . ?b ex:size ?n } { ?a ex:in ?b OPTIONAL { ?b ex:size ?n } }"),
    Ask("describe with blank nodes", "DESCRIBE ex:b1 ex:b2"),
    Ask("describe what is not there", "DESCRIBE ex:nobody"),
    Ask("ask for a number", "ASK { ?s ex:number 4 }"),
    Ask("ask for a text", "ASK { ?s ex:text 'Cat' }"),
)  # fmt: skip

# -- over named graphs

NAMED = """
@prefix ex: <http://example.org/odd#> .
ex:a ex:p 1 .
ex:g1 { ex:a ex:p 2 . ex:b ex:p _:x . _:x ex:q ex:g2 }
ex:g2 { ex:a ex:p 2 . ex:a ex:r ex:b . _:x ex:q 3 }
_:meta { ex:g1 ex:from "somewhere"@en }
"""

OVER_NAMED = (
    Ask("all graphs as one", "SELECT ?s ?p ?o { ?s ?p ?o }"),
    Ask("each graph", "SELECT ?g ?s ?o { GRAPH ?g { ?s ex:p ?o } }"),
    Ask("one graph", "SELECT ?s ?o { GRAPH ex:g2 { ?s ex:p ?o } }"),
    Ask("names of graphs", "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }"),
    Ask("sizes of graphs", "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g"),
    Ask("in both", "SELECT ?s ?o { GRAPH ex:g1 { ?s ?p ?o } GRAPH ex:g2 { ?s ?p ?o } }"),
    Ask("across graphs", "SELECT ?s ?o { GRAPH ex:g1 { ?s ex:p ?x } GRAPH ex:g2 { ?x ex:q ?o } }"),
    Ask("a graph by what is said of it", "SELECT ?g ?s { ?g ex:from ?w . GRAPH ?g { ?s ex:p ?o } }"),
    Ask("not in a graph", "SELECT ?s ?p ?o { ?s ?p ?o MINUS { GRAPH ex:g1 { ?s ?p ?o } } }"),
    Ask("ask a graph", "ASK { GRAPH ex:g1 { ex:a ex:r ?x } }"),
    Ask("construct from a graph", "CONSTRUCT { ?s ?p ?o } { GRAPH ex:g2 { ?s ?p ?o } }"),
)  # fmt: skip
