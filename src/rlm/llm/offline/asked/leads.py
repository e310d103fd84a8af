"""How questions begin and end: what asks for a list or a number, and what only says "are there"."""

from __future__ import annotations

import re

from rlm.llm.offline.asked.lazy import Lazy

_QUANTIFIERS = (
    r"(?:(?:all|every|each|any|some|the|of|direct|immediate|indirect|transitive|known|named|asserted|inferred|"
    r"different|various|possible|available|existing|"
    r"declared|defined|complete|full|set|list|other|only|entire|whole|together|are|is|few|several|main|major|and|"
    r"would|be|family|following|names|an?|overview|"
    r"total) )*"
)
LEAD = Lazy(
    r"^(?:(?:which|what)(?:['’]s|['’]re)?|(?:list|show|give|find|name|enumerate|get|tell|return|print|display|"
    r"provide|identify|fetch|retrieve|report|write|"
    r"output|collect|determine|see|look up|work out|present|extract|select|pick"
    r" out|state|have|display|query|"
    r"search for|look for|compile|mention)(?: down| out| up)?(?: me| us)?(?: with)?"
    rf"|who|whom)\s+{_QUANTIFIERS}(?=\S)",
    re.I,
)
COUNT = Lazy(
    r"^(?:(?:(?:in|of|for|to|on) (?=how many))?(?:in total,? |exactly |roughly |about"
    r" |approximately |"
    r"overall,? )?how many(?: of)?(?: the)?(?: different|"
    r" distinct| named| individual| separate)?|(?:please )?count(?: up)?(?: how many)?(?: of)?|"
    r"(?:(?:what(?:['’]s| is| would be|)|how (?:large|big|high|great) is|give(?: me)?|tell(?:"
    r" me)?|show(?: me)?|find|"
    r"determine|get|return|report|"
    r"state|compute|calculate|work out|say|provide|print) )?(?:the |a )?(?:total |overall |exact |"
    r"current )?(?:number|count|amount|quantity|total)(?: number| count)?(?: of)?)\s+(?=\S)",
    re.I,
)
THERE = Lazy(
    r",? (?:(?:are|is|were)"
    r" (?:there|known|defined|declared|listed|present|given|recorded|included|available|"
    r"contained|modelled|found|described|registered|mentioned|stored|in (?:it|total|all))(?: in"
    r" total| altogether|"
    r" overall| at all| in all| in it)?|"
    r"there (?:are|is)|exist(?:s)?|in total|altogether|overall|do (?:we|you) (?:have|know)(?:"
    r" of)?|can (?:you|"
    r"i) find|(?:does|do|did) (?:it|they|this|(?:the|this|that) (?:\S+"
    r" ){0,2}(?:ontology|vocabulary|graph|schema|"
    r"model|dataset|data|file|taxonomy|thesaurus|hierarchy|terminology|standard|tree)|(?-i:[A-Z][A-Z-]+)) "
    r"(?:have|contain|define|declare|include|know|list|describe|cover|use|provide|comprise|hold|make|consist of|"
    r"mention|offer|feature|distinguish|recognise|recognize|model|record)|(?:the|this)"
    r" (?:ontology|vocabulary|graph|"
    r"schema|model|dataset|file) (?:has|contains|defines|declares|includes|knows|lists|uses)|we"
    r" have|you know|"
    r"you have|it has|it contains|it defines)$",
    re.I,
)
TOTALS: tuple[tuple[str, str, str], ...] = (
    (
        (
            r"(?:owl |rdfs |named |declared |defined |ontology"
            r" )*(?:class(?:es)?|concepts|types|categories)"
        ),
        "classes",
        "class",
    ),
    (r"(?:owl )?object[- ]?propert(?:y|ies)", "object_properties", "property"),
    (r"(?:owl )?(?:data ?type|data)[- ]?propert(?:y|ies)", "datatype_properties", "property"),
    (r"(?:owl )?annotation[- ]?propert(?:y|ies)", "annotation_properties", "property"),
    (
        r"(?:rdf |named |declared |defined |ontology"
        r" )*(?:propert(?:y|ies)|predicates|relations|attributes|"
        r"relationships)",
        "properties",
        "property",
    ),
    (r"(?:owl |named |declared )*(?:individuals|instances)", "individuals", "individual"),
    (r"(?:rdf )?(?:triples?|statements|facts|axioms)", "triples", ""),
    (r"(?:bound |declared |used )*(?:name ?spaces|prefixes|vocabularies)", "namespaces", ""),
)
PLURAL = Lazy(
    r"(?<![siu])s$|(?:people|children|men|women|data|feet|mice|geese|media|criteria|phenomena|bacteria|fungi|nuclei|"
    r"genera|species|series|sheep|fish|aircraft|indices|oxen|teeth|personnel|staff)$",
    re.I,
)
"""The words for all terms of a kind, what they are called when counted, and the kind."""
