"""Coding agents that we live in: where their settings are, and how ours get in and out again."""
