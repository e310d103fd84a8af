"""A small ontology."""

BOATS = """
@prefix ex: <http://example.org/boats#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Boat a owl:Class ; rdfs:label "boat"@en . ex:Sloop a owl:Class ; rdfs:subClassOf ex:Boat ; rdfs:label "sloop"@en .
ex:Ketch a owl:Class ; rdfs:subClassOf ex:Boat ; rdfs:label "ketch"@en .
ex:Crew a owl:Class ; rdfs:label "crew"@en . ex:Cook a owl:Class ; rdfs:subClassOf ex:Crew ; rdfs:label "cook"@en .
ex:Engine a owl:Class ; rdfs:label "engine"@en .
ex:Diesel a owl:Class ; rdfs:subClassOf ex:Engine ; rdfs:label "diesel"@en .
"""
