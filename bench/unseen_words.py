"""How people word their questions, several ways a kind. {x} and {y} are terms, {t} a piece of a
name, {w} a sort."""

from __future__ import annotations

TEMPLATES: dict[str, tuple[str, ...]] = {
    "namespaces": (
        "What namespaces are bound in this ontology?",
        "Which prefixes are used here, and what do they stand for?",
        "List the namespaces.",
        "Show the namespace prefixes of this graph.",
    ),
    "describe": (
        "Describe {x}.",
        "Tell me about {x}.",
        "What is {x}?",
        "Explain {x}.",
        "What does {x} mean?",
    ),
    "subclasses": (
        "What are the direct subclasses of {x}?",
        "Which classes are immediate subclasses of {x}?",
        "List the subclasses of {x}.",
        "What are the subclasses of {x}?",
    ),
    "all_subclasses": (
        "Find all subclasses of {x}.",
        "List every descendant of {x}.",
        "What are all the subclasses of {x}, at any depth?",
        "Show the transitive subclasses of {x}.",
    ),
    "superclasses": (
        "What are the superclasses of {x}?",
        "Which classes are direct superclasses of {x}?",
        "What is {x} a direct subclass of?",
        "Name the parent classes of {x}.",
    ),
    "all_superclasses": (
        "List all superclasses of {x}.",
        "What are the ancestors of {x}?",
        "Give me every superclass of {x}, direct and indirect.",
    ),
    "properties_by_domain": (
        "Which properties have {x} as their domain?",
        "List the properties with domain {x}.",
        "What properties have the domain {x}?",
        "Find the properties whose domain is {x}.",
    ),
    "properties_by_range": (
        "Which properties have {x} as their range?",
        "List the properties with range {x}.",
        "What properties have the range {x}?",
        "Find the properties whose range is {x}.",
    ),
    "search": (
        'Find terms with "{t}" in their name.',
        'Which terms have a name that contains "{t}"?',
        'Search for terms containing "{t}".',
        'Which {w} have "{t}" in their name?',
    ),
    "path": (
        "How is {x} connected to {y}?",
        "What connects {x} and {y}?",
        "Find a path from {x} to {y}.",
        "How are {x} and {y} related?",
    ),
    "roots": (
        "What are the root classes of this ontology?",
        "Which classes are at the top of the hierarchy?",
        "List the top-level classes.",
        "Which classes have no superclass?",
    ),
    "instances": (
        "List the instances of {x}.",
        "What are the instances of {x}?",
        "Which individuals are instances of {x}?",
    ),
    "absent": (
        "What is {x}?",
        "Describe the class {x}.",
        "What are the subclasses of {x}?",
        "Which properties have {x} as their domain?",
        "List the instances of {x}.",
        "What are all superclasses of {x}?",
    ),
}
COUNTS: dict[str, tuple[str, ...]] = {
    "classes": (
        "How many classes are there?",
        "How many classes does this ontology declare?",
        "Count the classes.",
    ),
    "object": ("How many object properties are there?", "What is the number of object properties?"),
    "datatype": ("How many datatype properties are there?", "Count the datatype properties."),
    "triples": ("How many triples are there?", "How many statements does the graph hold?"),
    "subclasses": (
        "How many direct subclasses does {x} have?",
        "Count the direct subclasses of {x}.",
    ),
    "descendants": (
        "How many descendants does {x} have?",
        "How many subclasses does {x} have in all, at any depth?",
    ),
    "instances": ("How many instances does {x} have?", "How many instances of {x} are there?"),
    "domain": ("How many properties have {x} as their domain?",),
}
STRANGERS = (
    "Accordion", "Bakery", "Carnival", "Cathedral", "Earthquake", "Glacier", "Kindergarten",
    "Lighthouse", "Monastery", "Orchestra", "Parliament", "Passport", "Pharmacist", "Saxophone",
    "Submarine", "Telescope", "Trombone", "Umbrella", "Volcano", "Waterfall",
)  # fmt: skip
"""What an ontology may well be asked about and does not have."""
