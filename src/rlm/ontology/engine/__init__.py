"""SPARQL over a file: the cache, the loading, and pyoxigraph in a worker that can be killed."""
