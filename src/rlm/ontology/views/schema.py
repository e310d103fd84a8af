"""Schema constraints for a prompt: what may be linked with what, and what to avoid.

Domains and ranges of the properties that matter, one a line; what is disjoint; and the mistakes
that this graph invites, as far as the graph itself shows them. Cut between lines and between names.
"""

from __future__ import annotations

from collections.abc import Iterator

from rlm.ontology.meta.graph_meta import NONE, GraphMeta
from rlm.ontology.views import ranking
from rlm.ontology.views.sense import join_lines, list_line

BUDGET = 400
_MEMBERS = 4


def schema_constraints(meta: GraphMeta, budget: int = BUDGET) -> str:
    """The lines, never longer than `budget` characters; empty when the schema says nothing."""
    names = _Names(meta)
    disjoint = list_line("Disjoint: ", _disjoint(meta, names), budget * 30 // 100, "; ")
    avoid = join_lines(list(_avoid(meta, names))[:2], budget * 45 // 100)
    tail = [line for line in (disjoint, *avoid.split("\n")) if line]
    room = budget - sum(len(line) + 1 for line in tail)
    links = join_lines(_links(meta, names), room)
    if "\n" not in links:  # a heading alone
        links = ""
    return join_lines([*links.split("\n"), *tail], budget)


class _Names:
    """CURIEs, without the prefix for the ontology's own namespace."""

    def __init__(self, meta: GraphMeta) -> None:
        self._meta = meta
        self._own = ranking.own_namespace(meta)
        self.prefix = next(
            (p for p, space in meta.namespaces.items() if space == self._own and p), None
        )

    def __call__(self, iri: str) -> str:
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
    ranked = ranking.key_properties(meta, 200)
    stated = [iri for iri in ranked if iri in meta.doms or iri in meta.rngs]
    for iri in sorted(stated, key=lambda iri: meta.kinds.get(iri) != "object"):
        domain = names.either(meta.dom_groups.get(iri), meta.doms.get(iri, NONE))
        range_ = names.either(meta.rng_groups.get(iri), meta.rngs.get(iri, NONE))
        yield f"{names(iri)}: {domain} → {range_}"


def _disjoint(meta: GraphMeta, names: _Names) -> Iterator[str]:
    weights = ranking.class_weights(meta)

    def rank(group: list[str]) -> tuple[float, list[str]]:
        return -sum(sorted((weights.get(iri, 0.0) for iri in group), reverse=True)[:2]), group

    for group in sorted(meta.disjoint_groups, key=rank):
        yield " / ".join(names.some(group))


def _avoid(meta: GraphMeta, names: _Names) -> Iterator[str]:
    """Mistakes that this graph invites, the costliest first."""
    if meta.plain_forms:
        weights, forms = ranking.property_weights(meta), meta.plain_forms.items()
        qualified, plain = min(forms, key=lambda pair: (-weights.get(pair[1], 0.0), pair))
        why = "for a plain link (it leads to a node with details)"
        yield f"Avoid {names(qualified)} {why}: use {names(plain)}"
    used = [iri for iri in meta.subs if any(meta.classes.get(sub) for sub in meta.subs[iri])]
    if used:
        top = min(used, key=lambda iri: (-len(meta.subs[iri]), iri))
        yield f"Avoid `?x a {names(top)}` for all of its kinds: write a/rdfs:subClassOf*"
    tagged = sum(count for tag, count in meta.languages.items() if tag)
    if tagged * 2 > sum(meta.languages.values()):
        yield 'Avoid ?label = "text": labels have a language, compare STR(?label)'
    if meta.deprecated:
        known = sorted(meta.deprecated, key=lambda iri: (not meta.replaced_by.get(iri), iri))
        uses = {iri: names(meta.replaced_by[iri][0]) for iri in known if meta.replaced_by.get(iri)}
        shown = (f"{names(iri)} (use {uses[iri]})" if iri in uses else names(iri) for iri in known)
        line = list_line(f"Avoid {len(meta.deprecated)} deprecated, as ", shown, 120)
        yield line or "Avoid deprecated terms"
