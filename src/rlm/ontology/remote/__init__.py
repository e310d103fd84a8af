"""SPARQL over HTTP: the endpoints that the config names."""
