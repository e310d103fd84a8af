"""GraphMeta: what is worth knowing of a graph before anybody queries it, and how it is made."""
