"""The kinds of questions about an ontology, their families, and what a question comes to."""

from __future__ import annotations

from dataclasses import dataclass

FAMILIES: dict[str, str] = {
    "namespaces": "orientation",
    "describe": "entity_description",
    "exists": "entity_description",
    "subclasses": "hierarchy",
    "all_subclasses": "hierarchy",
    "superclasses": "hierarchy",
    "all_superclasses": "hierarchy",
    "roots": "hierarchy",
    "is_subclass": "hierarchy",
    "properties_by_domain": "property_discovery",
    "properties_by_range": "property_discovery",
    "search": "pattern_search",
    "path": "relationship_discovery",
    "count": "counting",
    "instances": "instances",
}
"""Each kind of question and the family (task type) that it belongs to."""

KINDS: tuple[str, ...] = tuple(FAMILIES)

COUNTED: tuple[str, ...] = (
    "classes",
    "properties",
    "object_properties",
    "datatype_properties",
    "annotation_properties",
    "individuals",
    "triples",
    "namespaces",
    "subclasses",
    "all_subclasses",
    "superclasses",
    "all_superclasses",
    "instances",
    "properties_by_domain",
    "properties_by_range",
    "search",
    "roots",
)
"""What can be counted: the values of `Asked.of`."""

ONLY: tuple[str, ...] = ("object property", "datatype property", "annotation property")
"""The values of `Asked.only`."""

PLURALS = {"class": "classes", "property": "properties", "individual": "individuals"}
"""The values of `Asked.what`, and what many of them are called."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks for. Names stand as they were written; which term each one means is for
    others to find."""

    kind: str
    mentions: tuple[str, ...] = ()
    """The things named, quotes, articles and role words off. Two for path (from, to) and
    is_subclass (narrower, wider). None for search: what it looks for is in `text`. None for
    describe: the ontology itself is asked about."""
    of: str = ""
    """For count: what is counted, one of COUNTED. For is_subclass: "direct" when only a direct one
    will do, "instance" when an instance is asked for and no subclass. For describe: "subproperties"
    or "types" when these are asked for."""
    text: str = ""
    """For search: the piece of a name. Empty when everything of the kind `what` is asked for ("List
    all classes")."""
    where: str = "contains"
    """For search: where in the name it stands: contains, starts or ends."""
    what: str = ""
    """The wanted kind of term: class, property, individual, or empty for any."""
    inherited: bool = False
    """Those inherited from superclasses, or those of subclasses, are asked for as well."""
    only: str = ""
    """The one kind of property that is asked for, of ONLY; empty for any."""
    several: tuple[str, ...] = ()
    """The parts of the one mention, where it may be several names: "Tug, Ferry and Barge". The
    whole comes first."""

    @property
    def task_type(self) -> str:
        """The kind as the scope of a memory has it: a way to count classes is none to count
        instances."""
        if (
            self.kind == "search" and not self.text.strip()
        ):  # everything of a kind: no piece of a name
            return f"list_{plural(self.only).replace(' ', '_') or PLURALS.get(self.what, 'terms')}"
        if self.kind == "describe" and (self.of or not self.mentions):
            return self.of or "overview"
        if self.kind == "is_subclass" and self.of == "instance":
            return "is_instance"
        narrow = (
            f"_{self.only.partition(' ')[0]}"
            if self.only and self.kind not in ("search", "exists")
            else ""
        )
        return (f"count_{self.of}" if self.kind == "count" and self.of else self.kind) + narrow


def plural(noun: str) -> str:
    """What many of a kind of property are called."""
    return noun.replace("property", "properties")


def family_of(kind: str) -> str:
    """The family of a kind of question; empty for what is no such kind."""
    return FAMILIES.get(kind, "")
