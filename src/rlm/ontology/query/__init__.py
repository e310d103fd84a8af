"""SPARQL as text: its tokens, what may be asked, its LIMIT, its values and its shape."""
