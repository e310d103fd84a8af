"""Bounded views of a graph: search, describe, paths, the sense card and the schema."""
