"""Made-up ontologies of any size, written as a stream: memory does not grow with the file.

The schema is a class tree with several roots, and properties with domains and ranges. The data are
blocks of individuals. Every block is alike in shape: slot n of a block has always the same class
and the same properties, only numbers and link targets differ. So it is known before the first line
how many individuals there will be, no link leads nowhere, domains and ranges hold, and the number
of triples is exact, none of them twice.

The same number of triples, seed and format give the same bytes on every version of Python: of
`random`, only `Random.random()` is used, whose sequence is promised to stay.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain
from math import gcd, isqrt
from pathlib import Path

SCHEMA = "https://example.org/big#"
DATA = "https://example.org/big/data#"
LEAST, MOST = 1_000, 50_000_000
ROOTS = 4
SLOTS_PER_CLASS = 4

PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "big": SCHEMA,
    "data": DATA,
}
QUALITIES, THINGS, VERBS = (
    text.split()
    for text in (
        (
            "amber blunt brass broad cedar copper dusty early empty faint hollow humble iron ivory"
            " late linen lunar mellow mossy narrow olive pale plain quiet rapid rough silver slate"
            " steady woven"
        ),
        (
            "anchor basket beacon bell bridge cabinet candle compass engine fence garden hammer"
            " harvest kettle ladder lantern ledger mirror needle orchard parcel pillar quarry"
            " ribbon saddle tunnel"
        ),
        "adjoins carries feeds follows guards holds marks mends needs owns precedes supplies",
    )
)
MEASURES = {
    "integer": ["age", "count", "grade", "rank"],
    "decimal": ["cost", "depth", "length", "mass"],
    "date": ["arrival", "renewal", "repair", "sale"],
    "string": ["colour", "finish", "origin", "state"],
    "boolean": ["hired", "locked", "painted", "sealed"],
}
KINDS = [
    (measure, datatype)
    for group in zip(*MEASURES.values(), strict=True)
    for measure, datatype in zip(group, MEASURES, strict=True)
]

Maker = Callable[[float], str]  # a number from 0 to 1 becomes a value or a target


@dataclass(frozen=True, slots=True)
class Summary:
    """What was written. `root` and `link` are IRIs: from what is under `root`, `link` can be
    followed for ever."""

    path: Path
    triples: int
    classes: int
    roots: int
    object_properties: int
    datatype_properties: int
    individuals: int
    size_bytes: int
    sha256: str
    root: str
    link: str


@dataclass(slots=True)
class Property:
    name: str
    label: str
    domain: int | None
    range: int | None = None  # a class; None for no range, and for datatype properties
    datatype: str | None = None
    parent: str | None = None


@dataclass(slots=True)
class Plan:
    """The schema, and the shape of a block."""

    names: list[str]
    labels: list[str]
    parents: list[int | None]
    links: list[Property]
    values: list[Property]
    slots: list[int] = field(default_factory=list)  # the class of each individual of a block
    shapes: list[list[Property]] = field(default_factory=list)  # and its properties

    def line(self, node: int) -> list[int]:
        """The class and its ancestors."""
        found = [node]
        while (parent := self.parents[found[-1]]) is not None:
            found.append(parent)
        return found


def write_ontology(
    path: str | Path, triples: int, seed: int = 7, *, form: str | None = None
) -> Summary:
    """Write exactly `triples` different triples to `path`, as N-Triples or Turtle (by the suffix,
    or `form` nt|ttl).

    The file appears under its name only when it is whole. ValueError when the size or the format is
    not possible.
    """
    path = Path(path)
    form = form or path.suffix.lstrip(".")
    if form not in ("nt", "ttl"):
        raise ValueError(
            f"cannot write {path.name!r}: name it *.nt or *.ttl, or pass one of them as the format"
        )
    if not LEAST <= triples <= MOST:
        raise ValueError(f"cannot write {triples} triples: ask for {LEAST} to {MOST}")
    rng = random.Random(seed)
    plan = make_plan(triples, rng)
    head = list(schema_lines(plan, form))
    body = Body(plan, form, triples - len(head))
    part = path.with_name(path.name + ".part")
    digest, size = sha256(), 0
    try:
        with part.open("wb") as out:
            for text in chain([prologue(form), "".join(head)], body.blocks(rng)):
                raw = text.encode()
                digest.update(raw)
                size += out.write(raw)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return Summary(
        path=path,
        triples=triples,
        classes=len(plan.names),
        roots=ROOTS,
        object_properties=len(plan.links),
        datatype_properties=len(plan.values),
        individuals=body.individuals,
        size_bytes=size,
        sha256=digest.hexdigest(),
        root=SCHEMA + plan.names[0],
        link=SCHEMA + plan.links[0].name,
    )


def make_plan(triples: int, rng: random.Random) -> Plan:
    """A schema that grows with the square root of the size, up to 600 classes."""
    count = max(12, min(isqrt(triples) // 3, 600))
    pairs = [
        (QUALITIES[n % len(QUALITIES)], THINGS[n // len(QUALITIES)])
        for n in spread(count, QUALITIES, THINGS, rng)
    ]
    plan = Plan(
        names=[quality.title() + thing.title() for quality, thing in pairs],
        labels=[f"{quality} {thing}" for quality, thing in pairs],
        parents=[make_parent(n, rng) for n in range(count)],
        links=[],
        values=[],
    )
    plan.links += [
        Property("linkedTo", "linked to", 0, 0),
        Property("relatedTo", "related to", None),
    ]
    for n in spread(max(8, count // 4), VERBS, THINGS, rng):
        verb, thing = VERBS[n % len(VERBS)], THINGS[n // len(VERBS)]
        at, to = (int(count * rng.random() ** 2) for _ in range(2))
        fits = [
            each
            for each in plan.links
            if each.domain in plan.line(at) and each.range in plan.line(to)
        ]
        parent = (fits or plan.links[1:2])[-1].name if rng.random() < 0.3 else None
        plan.links.append(Property(verb + thing.title(), f"{verb} {thing}", at, to, parent=parent))
    plan.values.append(Property("remark", "remark", None, datatype="string"))
    for n in spread(max(6, count // 6), KINDS, THINGS, rng):
        (measure, datatype), thing = KINDS[n % len(KINDS)], THINGS[n // len(KINDS)]
        at = int(count * rng.random() ** 2)
        plan.values.append(
            Property(thing + measure.title(), f"{thing} {measure}", at, datatype=datatype)
        )
    plan.slots = list(range(count))
    plan.slots += [
        count - 1 - int(count * rng.random() ** 2) for _ in range(count * (SLOTS_PER_CLASS - 1))
    ]
    plan.shapes = [make_shape(plan, node, rng) for node in plan.slots]
    return plan


def make_parent(n: int, rng: random.Random) -> int | None:
    """An earlier class, not of the first fifth, so that the tree gets deep; the first root gets its
    share."""
    if n < ROOTS:
        return None
    return 0 if n < 2 * ROOTS else n // 5 + int(rng.random() * (n - n // 5))


def spread(
    count: int, first: Sequence[object], second: Sequence[object], rng: random.Random
) -> list[int]:
    """Different numbers below len(first) * len(second), in a mixed order."""
    size = len(first) * len(second)
    step = next(
        n for n in range(int(size * 0.38) + int(rng.random() * 9), size) if gcd(n, size) == 1
    )
    start = int(rng.random() * size)
    return [(start + n * step) % size for n in range(count)]


def make_shape(plan: Plan, node: int, rng: random.Random) -> list[Property]:
    """Two to four links and one to three values whose domains take in the class; the first link
    where it applies."""
    line = {None, *plan.line(node)}
    shape = []
    for properties, most in (
        (plan.links, 2 + int(rng.random() * 3)),
        (plan.values, 1 + int(rng.random() * 3)),
    ):
        able = [each for each in properties if each.domain in line]
        start = int(rng.random() * len(able))
        chosen = [able[0], *(each for each in able[start:] + able[:start] if each is not able[0])]
        shape += chosen[:most]
    return shape


def writer(form: str) -> Callable[[str, str], str]:
    """How a term is written: `<iri>` or `prefix:name`."""
    if form == "nt":
        return lambda prefix, name: f"<{PREFIXES[prefix]}{name}>"
    return lambda prefix, name: f"{prefix}:{name}"


def prologue(form: str) -> str:
    return (
        ""
        if form == "nt"
        else "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in PREFIXES.items())
    )


def schema_lines(plan: Plan, form: str) -> Iterator[str]:
    """The ontology itself, its classes and its properties, a triple a line."""
    term = writer(form)
    kind, label = term("rdf", "type"), term("rdfs", "label")
    about = f"<{SCHEMA.rstrip('#')}>"
    yield f"{about} {kind} {term('owl', 'Ontology')} .\n"
    yield f'{about} {label} "A generated ontology"@en .\n'
    for n, name in enumerate(plan.names):
        me, parent = term("big", name), plan.parents[n]
        yield f"{me} {kind} {term('owl', 'Class')} .\n"
        yield f'{me} {label} "{plan.labels[n]}"@en .\n'
        if parent is None:
            yield f'{me} {term("rdfs", "comment")} "Root number {n + 1} of the tree."@en .\n'
        else:
            yield f"{me} {term('rdfs', 'subClassOf')} {term('big', plan.names[parent])} .\n"
            yield f'{me} {term("rdfs", "comment")} "A kind of {plan.labels[parent]}."@en .\n'
        if n % 5 == 4:
            yield f'{me} {term("skos", "altLabel")} "type {n}"@en .\n'
    for each in plan.links + plan.values:
        me = term("big", each.name)
        yield (
            f"{me} {kind}"
            f" {term('owl', 'DatatypeProperty' if each.datatype else 'ObjectProperty')} .\n"
        )
        yield f'{me} {label} "{each.label}"@en .\n'
        if each.parent:
            yield f"{me} {term('rdfs', 'subPropertyOf')} {term('big', each.parent)} .\n"
        if each.domain is not None:
            yield f"{me} {term('rdfs', 'domain')} {term('big', plan.names[each.domain])} .\n"
        if each.datatype:
            yield f"{me} {term('rdfs', 'range')} {term('xsd', each.datatype)} .\n"
        elif each.range is not None:
            yield f"{me} {term('rdfs', 'range')} {term('big', plan.names[each.range])} .\n"


class Body:
    """The individuals: whole blocks, then as much of one more as makes the number exact."""

    def __init__(self, plan: Plan, form: str, triples: int) -> None:
        term = writer(form)
        width = len(plan.slots)
        sizes = [2 + len(shape) for shape in plan.shapes]
        self.whole, left = divmod(triples, sum(sizes))
        if self.whole == 0:
            raise ValueError(
                "the schema leaves no room for one block of individuals"
            )  # LEAST prevents it
        self.rest: list[
            int
        ] = []  # the triples of each individual after the whole blocks; never just one
        self.odd = left == 1  # one triple too many for the blocks and too few for an individual
        while left > 1:
            size = sizes[len(self.rest)]
            self.rest.append(left if left < size or left == size + 1 else size)
            left -= self.rest[-1]
        self.individuals = self.whole * width + len(self.rest)
        under: list[list[int]] = [[] for _ in plan.names]
        for slot, node in enumerate(plan.slots):
            for ancestor in plan.line(node):
                under[ancestor].append(slot)
        self.lines: list[list[str]] = []
        self.makers: list[list[Maker]] = []
        self.extra = f'{term("data", "i{0}")} {term("rdfs", "comment")} "The last one."@en .\n'
        every = list(range(width))
        for node, shape in zip(plan.slots, plan.shapes, strict=True):
            me = term("data", "i{0}")
            lines = [
                f"{me} {term('rdf', 'type')} {term('big', plan.names[node])} .\n",
                f'{me} {term("rdfs", "label")} "{plan.labels[node]} {{0}}"@en .\n',
            ]
            makers: list[Maker] = []
            for nth, each in enumerate(shape, start=1):
                hole = f"{{{nth}}}"
                if each.datatype:
                    value = f'"{hole}"' + (
                        "" if each.datatype == "string" else f"^^{term('xsd', each.datatype)}"
                    )
                    makers.append(VALUES[each.datatype])
                else:
                    value = term("data", "i" + hole)
                    targets = every if each.range is None else under[each.range]
                    makers.append(aim(targets, width, self.whole))
                lines.append(f"{me} {term('big', each.name)} {value} .\n")
            self.lines.append(lines)
            self.makers.append(makers)

    def blocks(self, rng: random.Random) -> Iterator[str]:
        """The text, a block at a time."""
        draw = rng.random
        shapes = [
            ("".join(lines), makers) for lines, makers in zip(self.lines, self.makers, strict=True)
        ]
        number = 0
        for _ in range(self.whole):
            text = []
            for template, makers in shapes:
                text.append(template.format(number, *[make(draw()) for make in makers]))
                number += 1
            yield "".join(text)
        for size, lines, makers in zip(self.rest, self.lines, self.makers, strict=False):
            template = "".join([*lines, self.extra][:size])
            yield template.format(number, *[make(draw()) for make in makers])
            number += 1
        if self.odd:
            yield self.extra.format(number - 1)


def aim(targets: list[int], width: int, blocks: int) -> Maker:
    """A number for an individual in one of these slots, in any whole block."""
    size = len(targets)

    def number(chance: float) -> str:
        block, which = divmod(int(chance * size * blocks), size)
        return str(block * width + targets[which])

    return number


def day(chance: float) -> str:
    months, date = divmod(int(chance * 40 * 12 * 28), 28)
    return f"{1990 + months // 12}-{months % 12 + 1:02}-{date + 1:02}"


VALUES: dict[str, Maker] = {
    "integer": lambda chance: str(int(chance * 1000)),
    "decimal": lambda chance: f"{int(chance * 100_000) / 100:.2f}",
    "date": day,
    "string": lambda chance: QUALITIES[int(chance * len(QUALITIES))],
    "boolean": lambda chance: "true" if chance < 0.5 else "false",
}
