"""The working data of a session: facts, named graphs and their snapshots."""
