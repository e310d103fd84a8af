"""Pairs of lessons (title, description, steps, query): the same in other words, and near but not the
same."""

from __future__ import annotations

Lesson = tuple[str, str, list[str], str]

SAME: list[tuple[Lesson, Lesson]] = [
    (
        ('List the properties with a given domain', 'For what a class may have.',
         ['Find the class with `search_entity(name)`.', 'Run the query below.'],
         'SELECT ?p WHERE { ?p rdfs:domain $ENTITY_1 }'),
        ('Properties whose domain is a class', 'When asked which properties a class has.',
         ['Look the class up with `search_entity`.', 'Use the query below and list every row.'],
         'SELECT ?prop { ?prop rdfs:domain $ENTITY_1 . }'),
    ),
    (
        ('Find the cheapest product of a category', 'For the lowest price of a kind.',
         ['Find the category.', 'Run the query below; the first row is the cheapest.'],
         'SELECT ?p ?price { ?p pv:category $ENTITY_1 ; pv:price ?price } ORDER BY ?price LIMIT 1'),
        ('Rank the products of a category by price', 'For cheapest or dearest; prices are decimals.',
         ['Find the category with `search_entity(name)`.', 'Run the query below; DESC for the dearest.'],
         'SELECT ?x ?cost { ?x pv:category $ENTITY_1 ; pv:price ?cost } ORDER BY ?cost LIMIT 5'),
    ),
    (
        ('Count the instances of a class', 'For how many things of a kind there are.',
         ['Find the class.', 'Count with the query below.'],
         'SELECT (COUNT(?x) AS ?n) { ?x a $ENTITY_1 }'),
        ('How many individuals belong to a class', 'For a number of instances.',
         ['Resolve the class name.', 'Run the query below and report the number.'],
         'SELECT (COUNT(DISTINCT ?i) AS ?count) WHERE { ?i a $ENTITY_1 }'),
    ),
    (
        ('Let sub-models read clauses of a contract', 'For duties that are spread over many clauses.',
         ['Split the text at its headings.', 'Ask about each part with `llm_query_batched`.', 'Join the answers and name the clause of each.'],
         ''),
        ('Ask about each clause with llm_query_batched', 'For obligations spread over many clauses of a contract.',
         ['Split the text at headings.', 'Send each part to `llm_query_batched` with the question.', 'Join the answers, with the clause of each.'],
         ''),
    ),
    (
        ('guessing IRIs', 'A guessed name finds nothing.',
         ['do not guess IRIs or prefixes', 'look the name up with `search_entity` and use the IRI of the hit'],
         ''),
        ('guessed IRIs and prefixes', 'Names that were guessed find nothing.',
         ['do not guess IRIs or prefixes', 'find the name with `search_entity` and use the IRI of its hit'],
         ''),
    ),
    (
        ('Find suppliers of a country', 'For who supplies from where.',
         ['Run the query below; country is a text.'],
         'SELECT ?s { ?s a pv:Supplier ; pv:country $TEXT_1 }'),
        ('Which suppliers come from a country', 'pv:country holds a text, not an IRI.',
         ['Run the query below with the name of the country.'],
         'SELECT ?supplier WHERE { ?supplier a pv:Supplier ; pv:country $TEXT_1 }'),
    ),
    (
        ('Page through long results', 'When a result has more rows than a page.',
         ['Call `sparql_slice` with offset=next_offset until has_more is false.', 'Collect the values in a set.'],
         ''),
        ('Read all pages of a long result', 'When a result has more rows than one page.',
         ['Call `sparql_slice` with offset=next_offset while has_more is true.', 'Collect the values in a set.', 'Compare its size with total.'],
         ''),
    ),
    (
        ('Check whether a class is a subclass of another', 'For a yes/no question about two classes.',
         ['Find both IRIs.', 'Ask the query below.'],
         'ASK { $ENTITY_1 rdfs:subClassOf+ $ENTITY_2 }'),
        ('Is one class below another', 'For yes or no about two classes of a hierarchy.',
         ['Find the two IRIs with `search_entity`.', 'Run the ASK below; answer yes or no.'],
         'ASK WHERE { $ENTITY_1 rdfs:subClassOf+ $ENTITY_2 . }'),
    ),
    (
        ('Compare two classes by what they share', 'For what two classes have in common.',
         ['Describe both with `describe_entity(iri)`.', 'Intersect their superclasses and properties.', 'Name what both have.'],
         ''),
        ('Compare two classes', 'For what two classes share.',
         ['Describe both with `describe_entity(iri)`.', 'Intersect their superclasses.', 'Name what both have.'],
         ''),
    ),
]  # fmt: skip

MISSED: list[tuple[Lesson, Lesson]] = [
    (
        ('Count events in a long log with code', 'For how often something happens in a text with lines of one form.',
         ['Print the first lines of `context` to learn their form.', 'Count matching lines with code over the whole text.'],
         ''),
        ('Count log events by code, not by reading', 'When a log with uniform lines is asked how often something happens.',
         ['Look at the first lines of `context` for the form of a line.', 'Count the matching lines with code over the whole text.'],
         ''),
    ),
]  # fmt: skip
"""The same, and taken for two: each title says something that the other does not."""

DIFFERENT: list[tuple[Lesson, Lesson]] = [
    (
        ('List the properties with a given domain', 'For what a class may have.',
         ['Find the class.', 'Run the query below.'],
         'SELECT ?p WHERE { ?p rdfs:domain $ENTITY_1 }'),
        ('List the properties with a given range', 'For what may point to a class.',
         ['Find the class.', 'Run the query below.'],
         'SELECT ?p WHERE { ?p rdfs:range $ENTITY_1 }'),
    ),
    (
        ('List the direct subclasses of a class', 'For the next level down.',
         ['Find the class.', 'Run the query below.'],
         'SELECT ?x { ?x rdfs:subClassOf $ENTITY_1 }'),
        ('Find all subclasses of a class', 'For every level down.',
         ['Find the class.', 'Run the query below.'],
         'SELECT ?x { ?x rdfs:subClassOf+ $ENTITY_1 }'),
    ),
    (
        ('List the direct subclasses of a class', 'For the next level down.',
         ['Find the class.', 'Run the query below.'],
         'SELECT ?x { ?x rdfs:subClassOf $ENTITY_1 }'),
        ('List the direct superclasses of a class', 'For the next level up.',
         ['Find the class.', 'Run the query below.'],
         'SELECT ?x { $ENTITY_1 rdfs:subClassOf ?x }'),
    ),
    (
        ('Count the instances of a class', 'For how many things of a kind.',
         ['Find the class.', 'Run the query below.'],
         'SELECT (COUNT(?x) AS ?n) { ?x a $ENTITY_1 }'),
        ('List the instances of a class', 'For things of a kind.',
         ['Find the class.', 'Run the query below.'],
         'SELECT ?x { ?x a $ENTITY_1 }'),
    ),
    (
        ('Find the cheapest product of a category', 'For the lowest price.',
         ['Find the category.', 'Run the query below.'],
         'SELECT ?p ?price { ?p pv:category $ENTITY_1 ; pv:price ?price } ORDER BY ?price LIMIT 1'),
        ('Find the heaviest product of a category', 'For the greatest weight.',
         ['Find the category.', 'Run the query below.'],
         'SELECT ?p ?w { ?p pv:category $ENTITY_1 ; pv:weight ?w } ORDER BY DESC(?w) LIMIT 1'),
    ),
    (
        ('Find suppliers of a country', 'For who supplies from where.',
         ['Run the query below.'],
         'SELECT ?s { ?s a pv:Supplier ; pv:country $TEXT_1 }'),
        ('Find employees of a department', 'For who works where.',
         ['Run the query below.'],
         'SELECT ?s { ?s a pv:Employee ; pv:department $ENTITY_1 }'),
    ),
    (
        ('Count events in a long log with code', 'For how often something happens.',
         ['Print the first lines of `context`.', 'Count matching lines with code.'],
         ''),
        ('Find the first event in a long log', 'For when something happened first.',
         ['Print the first lines of `context`.', 'Search for the first matching line with `ctx_find`.'],
         ''),
    ),
    (
        ('Find terms by a piece of their name', 'For names that contain a text.',
         ['`search_entity($TEXT_1, limit=25)`', 'answer with every IRI that it returned'],
         ''),
        ('Check whether a term exists', 'When a question asks if there is something.',
         ['`search_entity(name)`', 'answer yes with the IRI, or no'],
         ''),
    ),
    (
        ('Summarise a long report chapter by chapter', 'For the gist of a long text.',
         ['Split the text at its headings.', 'Let `llm_query_batched` sum up each part.', 'Join the parts with `llm_query`.'],
         ''),
        ('Let sub-models read clauses of a contract', 'For duties spread over many clauses.',
         ['Split the text at its headings.', 'Ask about each part with `llm_query_batched`.', 'Join the answers and name the clause of each.'],
         ''),
    ),
    (
        ('Find classes without a label', 'For what is not labelled.',
         ['Run the query below.'],
         'SELECT ?c { ?c a owl:Class FILTER NOT EXISTS { ?c rdfs:label ?l } }'),
        ('Find classes without a comment', 'For what is not explained.',
         ['Run the query below.'],
         'SELECT ?c { ?c a owl:Class FILTER NOT EXISTS { ?c rdfs:comment ?l } }'),
    ),
]  # fmt: skip
