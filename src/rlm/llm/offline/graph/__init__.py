"""The planner for ontologies: it links names, follows procedures that fit, explores else, and makes
nothing up."""
