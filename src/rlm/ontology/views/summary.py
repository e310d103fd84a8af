"""What a prompt says of an ontology: the sense card, schema constraints, and which terms matter.

The card goes into every prompt, so each line of its 600 characters has to earn its room: what it
is (its own title and first sentence, unless that is about a working group or a licence), how large,
the classes and properties that matter, the prefixes to write them with, and how its labels look.
The constraints are domains and ranges of the properties that matter, one a line; what is disjoint;
and the mistakes that this graph invites. A graph with instances spends the room on what a query
needs: for each main class how many there are, of which kinds, and which properties they have, with
the kind of value and which share has it where not all do. Such lines begin in the card and go on in
the constraints; a class that does not fit whole is left out before the properties of another are.
Lists are cut between names, never inside one, and a line about a class says that it was cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from heapq import nsmallest
from itertools import chain, pairwise
from math import log1p
from typing import Any, TypeVar

from rlm.ontology import vocabulary as v
from rlm.ontology.labels import cut, is_opaque, pick, squeeze
from rlm.ontology.meta.graph_meta import NONE, ClassUse, GraphMeta
from rlm.ontology.terms import WELL_KNOWN, is_machinery, local_name, namespace

BUDGET = 600
_TITLE_CHARS, _SHORT_TITLE_CHARS = 170, 110
_LEAST_INSTANCES = 10
_SHORT_PREFIX = 3
"""A prefix of so few characters is written out, so that names can be copied."""
_SPELLED_CHARS, _PREFIX_CHARS = 130, 160
"""Of prefixes with their namespaces, and with those that are only named."""
_USE_CHARS, _KINDS = 180, 33
"""Of one main class, and of the kinds of it."""
T = TypeVar("T")
_STEP_BACK = 1.5
_NAMING = frozenset((*v.LABELS, *v.ALTERNATIVES, *v.DEFINITIONS, *v.COMMENTS))
SCHEMA_CHARS = 400
_MEMBERS = 4


def sense_card(
    meta: GraphMeta,
    budget: int = BUDGET,
    lang: str | None = None,
    needs: Mapping[str, int] | None = None,
) -> str:
    """The card, never longer than `budget` characters. `needs`: how much a term is needed; what
    instances have is told in that order."""
    title, counts, prefixes, labels = _head(meta, budget, lang)
    room = _room_below((title, counts, prefixes, labels), budget)
    if has_instances(meta) and (lines := (uses := _Uses(meta, lang, needs)).begin(room)):
        return join_lines([title, counts, prefixes, labels, uses.heading, *lines.values()], budget)
    named = [_name_term(meta, iri, lang) for iri in key_classes(meta, 30)]
    classes = list_line("Key classes: ", named, room * 55 // 100)
    room -= len(classes) + 1 if classes else 0
    named = [_name_term(meta, iri, lang) for iri in key_properties(meta, 30)]
    properties = list_line("Key properties: ", named, room - 1)
    return join_lines([title, counts, classes, properties, prefixes, labels], budget)


def _head(meta: GraphMeta, budget: int, lang: str | None) -> tuple[str, str, str, str]:
    """What it is, how large, its prefixes and its labels; '' for none."""
    most = _SHORT_TITLE_CHARS if has_instances(meta) else _TITLE_CHARS
    title = cut(_title(meta), min(most, max(budget, 0)))
    counts = meta.counts(by_kind=not has_instances(meta))
    counts += f", {len(meta.deprecated):,} deprecated" if meta.deprecated else ""
    return title, counts, _prefixes(meta), _labels(meta, lang)


def _room_below(lines: Iterable[str], budget: int) -> int:
    return budget - sum(len(line) + 1 for line in lines if line)


# -- what instances have


def has_instances(meta: GraphMeta) -> bool:
    """Whether a graph is about its instances. A vocabulary may hold its editors and examples."""
    terms = len(meta.classes) + len(meta.properties)
    own = sum(use.instances for iri, use in meta.class_use.items() if iri in meta.declared)
    many = meta.individuals.count > 2 * terms
    return bool(meta.class_use) and (many or own >= _LEAST_INSTANCES)


class _Uses:
    """The lines about the main classes, those that are needed most first."""

    def __init__(
        self,
        meta: GraphMeta,
        lang: str | None = None,
        needs: Mapping[str, int] | None = None,
    ) -> None:
        self.names = _Names(meta, lang, _SHORT_PREFIX)
        self._meta, self._lang = meta, lang
        self._needs = needs or {}
        self._classes = sorted(meta.class_use, key=lambda iri: -self._needed(iri))
        self._named_alike = _is_named_alike(meta)
        bare = f"no prefix: {self.names.prefix}:; " if self.names.prefix else ""
        self.heading = f"Instances have ({bare}n %: so many do; no type: text):"

    def begin(self, room: int) -> dict[str, str]:
        """Class → line: those that fit below the heading."""
        return self.fill(room - len(self.heading) - 1)

    def fill(self, room: int, without: Container[str] = ()) -> dict[str, str]:
        """Class → line, for each that fits whole."""
        found = {}
        for iri in self._classes:
            line = "" if iri in without else self._line(iri, _USE_CHARS)
            if line and len(line) < room:
                found[iri] = line
                room -= len(line) + 1
        return found

    def go_on(self, room: int, without: Container[str]) -> list[str]:
        """What fits of the rest: lines, and the names of those that do not fit whole."""
        found = self.fill(room, without)
        room -= sum(len(line) + 1 for line in found.values())
        left = [iri for iri in self._classes if iri not in found and iri not in without]
        return [*found.values(), list_line("Also ", map(self._count, left), room - 1, more=", …")]

    def _needed(self, iri: str) -> int:
        """How much a class is needed, for itself, its kinds and what it has."""
        below = (iri, *self._meta.below(iri))
        has = (self._needs.get(prop, 0) for prop in self._meta.class_use[iri].properties)
        return sum(self._needs.get(each, 0) for each in below) + max(has, default=0)

    def _line(self, iri: str, room: int) -> str:
        meta, use = self._meta, self._meta.class_use[iri]
        kinds = [sub for sub in meta.below(iri) if meta.classes.get(sub)]
        kinds.sort(key=lambda sub: (-self._needs.get(sub, 0), -meta.classes[sub], sub))
        head = self._count(iri)
        named = (f"{self._name(kind)} {meta.classes[kind]:,}" for kind in kinds)
        if some := list_line("", named, _KINDS, more=", …"):
            head += f" ({some})"
        props = [prop for prop in use.properties if not (self._named_alike and prop == v.LABELS[0])]
        props.sort(key=lambda prop: -self._needs.get(prop, 0))
        if not props:
            return head if len(head) <= room else ""
        shown = (self._property(prop, use) for prop in props)
        return list_line(f"{head}: ", shown, room, more=", …")

    def _count(self, iri: str) -> str:
        return f"{self._name(iri)} {self._meta.class_use[iri].instances:,}"

    def _name(self, iri: str) -> str:
        return _name_term(self._meta, iri, self._lang, self.names.short)

    def _property(self, prop: str, use: ClassUse) -> str:
        """`homePort → Harbour 73 %`: what the values are, and how many have it."""
        have, value = use.properties[prop]
        kinds = [kind.removeprefix(v.XSD) for kind in value.split()]
        said = self._name(prop)
        if value == v.RDFS + "Resource":
            value = self._main_class(prop, value)
            said += f" → {'any' if value == v.RDFS + 'Resource' else self._name(value)}"
        elif value and not value.startswith(v.XSD) and len(kinds) == 1:
            said += f" → {self._name(self._main_class(prop, value))}"
        elif value != v.XSD + "string":
            said += f" {' | '.join(kinds)}"
        return said if have == use.seen else f"{said} {100 * have // use.seen or '<1'} %"

    def _main_class(self, prop: str, value: str) -> str:
        """The stated range, else the main class that a value is of, else its own class."""
        stated = self._meta.rngs.get(prop, NONE)
        if len(stated) == 1:
            return stated[0]
        above = [value, *self._meta.above(value)]
        return next((iri for iri in above if iri in self._meta.class_use), value)


def _is_named_alike(meta: GraphMeta) -> bool:
    """Whether every instance that was seen has an rdfs:label: then one line says it for all."""
    return all(
        use.properties.get(v.LABELS[0], (0,))[0] == use.seen for use in meta.class_use.values()
    )


def list_line(
    head: str, items: Iterable[str], room: int, separator: str = ", ", more: str = ""
) -> str:
    """A line with as many items as fit, and `more` where that is not all; empty when not even one
    does. There may be thousands of items, and each costs a name: no more are taken than fit."""
    line = end = ""
    for item, following in pairwise(chain(items, [""])):
        longer = line + separator + item if line else head + item
        after = more if following else ""
        if len(longer) + len(after) > room:
            break
        line, end = longer, after
    return line + end


def join_lines(lines: Iterable[str], budget: int) -> str:
    """The lines that fit, in order, each whole."""
    text = ""
    for line in lines:
        longer = f"{text}\n{line}" if text else line
        if line and len(longer) <= budget:
            text = longer
    return text


def _title(meta: GraphMeta) -> str:
    space = own_namespace(meta)
    if space in WELL_KNOWN.values():  # not what the graph is about, but how it says it
        spaces = Counter(map(namespace, meta.individuals.sample))
        space = max(spaces, key=lambda each: (spaces[each], each), default=space)
    return meta.about() or (f"Graph in <{space}>" if space != "\0" else "Graph")


def _name_term(
    meta: GraphMeta, iri: str, lang: str | None, short: Callable[[str], str] | None = None
) -> str:
    """The name, with the label where it is a number."""
    label, name = pick(meta.labels.get(iri, ()), lang), (short or meta.curie)(iri)
    return f'{name} "{cut(label, 40)}"' if label and is_opaque(local_name(iri)) else name


def _prefixes(meta: GraphMeta) -> str:
    """The prefixes of the terms above, of instances and of what else the file declares, spelled as
    far as there is room; the rest and well-known ones by their name alone."""
    terms = (*key_classes(meta, 12), *key_properties(meta, 12))
    if has_instances(meta):
        used = [prop for use in meta.class_use.values() for prop in use.properties]
        things = [thing for iri in meta.class_use for thing in meta.examples.get(iri, ())]
        terms = (*terms[:1], *things, *meta.class_use, *used, *terms)
    declared = Counter(map(namespace, (*meta.declared, *meta.declared_properties)))
    spaces = dict.fromkeys(
        (*map(namespace, terms), *(space for space, _ in declared.most_common()))
    )
    named = reversed(meta.namespaces.items())
    by_space = {space: prefix for prefix, space in named if not is_machinery(space)}
    known = {*WELL_KNOWN.values()} - {own_namespace(meta)}
    bound = sorted((space for space in spaces if space in by_space), key=known.__contains__)
    own = (f"{by_space[space]}: <{space}>" for space in bound if space not in known)
    line = list_line("Prefixes: ", own, _SPELLED_CHARS)
    others = (f"{by_space[space]}:" for space in bound[line.count(": <") :])
    return list_line(f"{line}, " if line else "Prefixes: ", others, _PREFIX_CHARS) or line


def _labels(meta: GraphMeta, lang: str | None) -> str:
    terms = [iri for iri in (*meta.classes, *meta.properties) if not is_machinery(iri)]
    labelled = [iri for iri in terms if iri in meta.labels]
    if not labelled and not meta.languages:
        return "Labels: none; search by local name" if terms else ""
    if has_instances(meta) and _is_named_alike(meta):
        return _count_labels(meta, terms)
    tags = [f"{tag or 'no language'} {count:,}" for tag, count in list(meta.languages.items())[:4]]
    line = "Labels: " + ", ".join(tags)
    if len(meta.languages) > 4:
        line += f", {len(meta.languages) - 4} more"
    return line + _label_hint(meta, terms, labelled, lang)


def _count_labels(meta: GraphMeta, terms: list[str]) -> str:
    spoken = (tag or "no language" for tag in list(meta.languages)[:4])
    declared = meta.all_declared  # what others declare is labelled there
    kinds = {"terms": declared.intersection(terms), "individuals": meta.individuals.sample}
    without = {what: sum(iri not in meta.labels for iri in kinds[what]) for what in kinds}
    some = " and ".join(f"{n:,} {what}" for what, n in without.items() if n)
    line = f"Labels: {'' if some else 'all have '}rdfs:label, in {', '.join(spoken)}"
    return f"{line}; {some} have none" if some else line


def _label_hint(
    meta: GraphMeta, terms: Sequence[str], labelled: Sequence[str], lang: str | None
) -> str:
    """How to search by labels, or an example of one that its name does not tell."""
    opaque = sum(is_opaque(local_name(iri)) for iri in terms)
    if terms and opaque * 2 > len(terms):
        return "; names are numbers: search by label"
    if terms and len(labelled) * 2 < len(terms):
        return f"; {len(terms) - len(labelled):,} terms have none: try the local name"
    example = next((iri for iri in key_classes(meta, 5) if iri in meta.labels), None)
    label = meta.label(example, lang) if example else ""
    if example is None or squeeze(label) == squeeze(local_name(example)):
        return ""
    return f'; e.g. {meta.curie(example)} is "{cut(label, 40)}"'


# -- which classes and properties matter


def _once(weigh: Callable[[GraphMeta], T]) -> Callable[[GraphMeta], T]:
    """Weigh a graph once: every layer of a prompt asks again."""

    @wraps(weigh)
    def weigh_once(meta: GraphMeta) -> T:
        cache: dict[str, Any] = meta.__dict__.setdefault("_ranked", {})
        if weigh.__name__ not in cache:
            cache[weigh.__name__] = weigh(meta)
        found: T = cache[weigh.__name__]
        return found

    return weigh_once


def key_classes(meta: GraphMeta, most: int) -> list[str]:
    """The classes that matter, the first the most."""
    weights = class_weights(meta)
    return nsmallest(most, weights, key=lambda iri: (-weights[iri], iri))


def key_properties(meta: GraphMeta, most: int) -> list[str]:
    """The properties that matter, the first the most. One that joins the same classes as better
    ones steps back for each of them, so that a short list shows what there is."""
    weights = dict(property_weights(meta))
    alike: Counter[tuple[frozenset[str] | None, ...]] = Counter()
    for iri in sorted(weights, key=lambda iri: (-weights[iri], iri)):
        ends = (meta.doms.get(iri), meta.rngs.get(iri))
        if any(ends):
            weights[iri] -= _STEP_BACK * alike[ends]
            alike[ends] += 1
    return nsmallest(most, weights, key=lambda iri: (-weights[iri], iri))


@_once
def class_weights(meta: GraphMeta) -> dict[str, float]:
    own = own_namespace(meta)
    found = {}
    for iri in meta.subject_terms():
        below = meta.subs.get(iri, NONE)
        subs = frozenset.__iter__(below)  # in no order, which is quicker
        descendants = len(below) + sum(len(meta.subs.get(sub, NONE)) for sub in subs)
        links = len(meta.domain_of.get(iri, NONE)) + len(meta.range_of.get(iri, NONE))
        weight = 2 * log1p(meta.classes[iri]) + log1p(descendants) + 2 * log1p(links)
        found[iri] = weight + (1.0 if iri.startswith(own) else 0.0)
    return found


@_once
def property_weights(meta: GraphMeta) -> dict[str, float]:
    own, classes = own_namespace(meta), class_weights(meta)
    below = Counter(parent for parents in meta.super_properties.values() for parent in parents)
    found = {}
    for iri, uses in meta.properties.items():
        remark = iri in _NAMING or meta.kinds.get(iri) == "annotation"
        if remark or is_machinery(iri) or iri in meta.deprecated:
            continue
        ends = [
            max((classes.get(end, 0.0) for end in side.get(iri, NONE)), default=0.0)
            for side in (meta.doms, meta.rngs)
        ]
        weight = 2 * log1p(uses) + log1p(below[iri]) + sum(ends) / 2
        weight -= 2.0 if iri in meta.plain_forms else 0.0
        found[iri] = weight + (1.0 if iri.startswith(own) else 0.0)
    return found


@_once
def own_namespace(meta: GraphMeta) -> str:
    """The namespace with most classes and properties, the machinery's aside."""
    terms = (iri for iri in (*meta.classes, *meta.properties) if not is_machinery(iri))
    spaces = Counter(space for space in map(namespace, terms) if space)
    return min(spaces, key=lambda space: (-spaces[space], space)) if spaces else "\0"


# -- schema constraints


def schema_constraints(
    meta: GraphMeta,
    budget: int = SCHEMA_CHARS,
    needs: Mapping[str, int] | None = None,
    lang: str | None = None,
) -> str:
    """The lines, never longer than `budget` characters; empty when the schema says nothing. They go
    on where the sense card ends."""
    if has_instances(meta):
        uses = _Uses(meta, lang, needs)
        shown = uses.begin(_room_below(_head(meta, BUDGET, lang), BUDGET))
        mistakes = [line for line in list(_avoid(meta, uses.names))[:2] if len(line) <= budget // 3]
        head = "More instances have:"
        if any(more := uses.go_on(_room_below((head, *mistakes), budget), shown)):
            return join_lines([head, *more, *mistakes], budget)
    names = _Names(meta, lang)
    disjoint = list_line("Disjoint: ", _disjoint(meta, names), budget * 30 // 100, "; ")
    avoid = join_lines(list(_avoid(meta, names))[:2], budget * 45 // 100)
    tail = [line for line in (disjoint, *avoid.split("\n")) if line]
    room = budget - sum(len(line) + 1 for line in tail)
    links = join_lines(_links(meta, names), room)
    if "\n" not in links:  # a heading alone
        links = ""
    return join_lines([*links.split("\n"), *tail], budget)


class _Names:
    """CURIEs, without the prefix for the ontology's own namespace where it has more characters
    than `short`; numbers with their labels."""

    def __init__(self, meta: GraphMeta, lang: str | None, short: int = 0) -> None:
        self._meta, self._lang = meta, lang
        own = (p for p, space in meta.namespaces.items() if space == own_namespace(meta) and p)
        prefix = next(own, "")
        self.prefix = prefix if len(prefix) > short else None

    def __call__(self, iri: str) -> str:
        return _name_term(self._meta, iri, self._lang, self.short)

    def short(self, iri: str) -> str:
        short = self._meta.curie(iri)
        return short.removeprefix(f"{self.prefix}:") if self.prefix is not None else short

    def either(self, groups: list[list[str]] | None, plain: frozenset[str]) -> str:
        """`A`, `A | B` for a union, `A & (B | C)` where both must hold; `any` for nothing."""
        parts = []
        for group in groups or [[iri] for iri in plain]:
            parts.append(" | ".join(self.some(group)))
        if len(parts) < 2:
            return parts[0] if parts else "any"
        return " & ".join(f"({part})" if " | " in part else part for part in parts)

    def some(self, group: list[str]) -> list[str]:
        """The first of a group, and … where that is not all."""
        return [*map(self, group[:_MEMBERS]), *(["…"] if len(group) > _MEMBERS else [])]


def _links(meta: GraphMeta, names: _Names) -> Iterator[str]:
    yield "Domain → range" + (f" (no prefix: {names.prefix}:)" if names.prefix else "")
    ranked = key_properties(meta, 200)
    stated = [iri for iri in ranked if iri in meta.doms or iri in meta.rngs]
    for iri in sorted(stated, key=lambda iri: meta.kinds.get(iri) != "object"):
        domain = names.either(meta.dom_groups.get(iri), meta.doms.get(iri, NONE))
        range_ = names.either(meta.rng_groups.get(iri), meta.rngs.get(iri, NONE))
        yield f"{names(iri)}: {domain} → {range_}"


def _disjoint(meta: GraphMeta, names: _Names) -> Iterator[str]:
    weights = class_weights(meta)

    def rank(group: list[str]) -> tuple[float, list[str]]:
        return -sum(sorted((weights.get(iri, 0.0) for iri in group), reverse=True)[:2]), group

    for group in sorted(meta.disjoint_groups, key=rank):
        yield " / ".join(names.some(group))


def _avoid(meta: GraphMeta, names: _Names) -> Iterator[str]:
    """Mistakes that this graph invites, the costliest first."""
    if meta.plain_forms:
        weights, forms = property_weights(meta), meta.plain_forms.items()
        qualified, plain = min(forms, key=lambda pair: (-weights.get(pair[1], 0.0), pair))
        why = "for a plain link (it leads to a node with details)"
        yield f"Avoid {names(qualified)} {why}: use {names(plain)}"
    used = [iri for iri in meta.subs if any(meta.classes.get(sub) for sub in meta.subs[iri])]
    if used:
        top = min(used, key=lambda iri: (-len(meta.subs[iri]), iri))
        name = names.short(top)
        instead = "write a/rdfs:subClassOf*"
        if not meta.is_reached_by_statements(top):
            instead = f'some follow by definition, see ontology_view("instances", "{name}")'
        yield f"Avoid `?x a {name}` for all of its kinds: {instead}"
    tagged = sum(count for tag, count in meta.languages.items() if tag)
    if tagged * 2 > sum(meta.languages.values()):
        yield 'Avoid ?label = "text": labels have a language, compare STR(?label)'
    if meta.deprecated:
        known = sorted(meta.deprecated, key=lambda iri: (not meta.replaced_by.get(iri), iri))
        short, replaced = names.short, meta.replaced_by
        uses = {iri: f" (use {short(replaced[iri][0])})" for iri in known if replaced.get(iri)}
        shown = (f"{short(iri)}{uses.get(iri, '')}" for iri in known)
        line = list_line(f"Avoid {len(meta.deprecated)} deprecated, as ", shown, 120)
        yield line or "Avoid deprecated terms"
