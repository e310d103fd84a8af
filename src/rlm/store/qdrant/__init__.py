"""Qdrant as a search index beside the store that keeps the truth (docs/qdrant.md)."""
