"""Ontologies and SPARQL: what may be asked, an engine that answers, and views that stay small."""
