"""SPARQL as text: its tokens, what may be asked, its LIMIT and its shape."""
