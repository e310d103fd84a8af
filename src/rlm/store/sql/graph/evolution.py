"""How the tiers of a hypergraph evolve: task → session → longterm, and down to the archive.

Each operation is one transaction with a line of its own in the evolution log. What belongs to it
carries its number: log lines such as `merge:17` and changes of confidence such as `decay:17` are
parts of line 17. So `undo(17)` needs nothing but the log: it takes back what nobody has changed
since, and says what it left alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from rlm import clock
from rlm.errors import NotFound, ValidationError
from rlm.store.graph import Evolution, EvolutionReport, Node
from rlm.store.identity import normalize
from rlm.store.sql.graph.transfer import GraphTransfer
from rlm.store.types import TIERS
from rlm.store.values import natural, unit

MERGED_TYPES = ("entity", "fact")
"""What is true once: an experience, a decision or a snippet may well occur twice."""
MONTH_MS = 30 * 24 * 3_600_000
OPERATIONS = ("consolidate", "promote", "decay")
OF_MEMORIES = "memory_"
"""How the operations begin that change memories (`rlm.service.consolidation`)."""
MERGED_KEY = "rlm_merged"
"""In the metadata of a merged node: what it takes to bring it back."""
ALL = 2**53


class GraphEvolution(GraphTransfer):
    """The operations on tiers."""

    def consolidate(self, *, dry_run: bool = False) -> EvolutionReport:
        """Move the task tier to the session tier; of equal facts and entities one stays.

        Equal is what has the same type, subtype and words. The one in the highest tier stays, then
        the one believed most, then the oldest; it takes over edges and accesses and the highest
        confidence, and the others go to the archive. Nodes of one edge are never merged.
        """
        report = EvolutionReport("consolidate", dry_run)
        with self.atomic(write=not dry_run):
            nodes = self.query_nodes(limit=ALL)
            named = {node.id: node for node in nodes}
            for group in _equal_groups(nodes):
                self._plan_merges(group, report)
            for node in nodes:
                if node.tier == "task" and node.id not in report.merged:
                    report.moved[node.id] = ("task", "session")
            if dry_run or not (report.moved or report.merged):
                return report
            why = "same words once, the rest kept for the session"
            report.log_id = self._log_moves(report, why)
            for dropped, kept in report.merged.items():
                self._merge(named[dropped], named[kept], report.log_id)
            for node_id, (before, after) in report.confidence.items():
                self._believe(node_id, before, after, f"merge:{report.log_id}", "an equal node")
        return report

    def promote(
        self, *, min_confidence: float = 0.8, min_accesses: int = 2, dry_run: bool = False
    ) -> EvolutionReport:
        """Move from the session to the long-term tier what is believed and was used."""
        natural(min_accesses, "min_accesses")
        report = EvolutionReport("promote", dry_run)
        with self.atomic(write=not dry_run):
            for node in self.query_nodes(tier="session", min_confidence=min_confidence, limit=ALL):
                if node.access_count >= min_accesses:
                    report.moved[node.id] = ("session", "longterm")
            if report.moved and not dry_run:
                why = f"confidence from {min_confidence:g} up, used {min_accesses} times or more"
                report.log_id = self._log_moves(report, why)
        return report

    def decay(
        self, *, per_month: float = 0.05, archive_below: float = 0.1, dry_run: bool = False
    ) -> EvolutionReport:
        """Lower the confidence of each node by `per_month` for every 30 days without an access.

        A month is taken once, also where it was undone since: it does not matter how often this is
        called. What falls below `archive_below` goes to the archive.
        """
        for name, value in (("per_month", per_month), ("archive_below", archive_below)):
            unit(value, name)
        report = EvolutionReport("decay", dry_run)
        with self.atomic(write=not dry_run):
            changes = self.confidence_history()
            decayed = {each.node_id: each.at for each in changes if each.kind.startswith("decay:")}
            for node in self.query_nodes(limit=ALL):
                after = _decayed_confidence(node, per_month, decayed.get(node.id))
                if after < node.confidence:
                    report.confidence[node.id] = (node.confidence, after)
                    if after < archive_below:
                        report.moved[node.id] = (node.tier, "archive")
            if report.confidence and not dry_run:
                ids = list(report.confidence)
                report.log_id = self.log_event("decay", ids, None, None, "not used for a month")
                self._move(report, "archive", f"confidence below {archive_below:g}")
                for node_id, (before, now) in report.confidence.items():
                    self._believe(node_id, before, now, f"decay:{report.log_id}", "not used")
        return report

    def undo(self, log_id: int, *, dry_run: bool = False) -> EvolutionReport:
        """Take back a consolidation, promotion, decay or change of tier, by its number in the log.

        NotFound for a number that is not there, ValidationError for what cannot be taken back or
        was already.
        """
        natural(log_id, "log_id")
        report = EvolutionReport("undo", dry_run)
        with self.atomic(write=not dry_run):
            lines = self.read_events(log_id)
            _check_undo(log_id, lines)
            moves = [(line, node_id) for line in lines if line.to_tier for node_id in line.node_ids]
            changes = [
                change for change in self.confidence_history()
                if change.kind.partition(":")[2] == str(log_id)
            ]  # fmt: skip
            ids = {*(node_id for _, node_id in moves), *(change.node_id for change in changes)}
            nodes = self.read_nodes(ids)
            for line, node_id in moves:
                node = nodes.get(node_id)
                if node is not None and line.from_tier is not None and self._is_as_left(node, line):
                    report.moved[node_id] = (node.tier, line.from_tier)
                else:
                    report.skipped.append(node_id)
            for change in changes:
                node = nodes.get(change.node_id)
                if node is None or abs(node.confidence - change.after) > 1e-9:
                    report.skipped.append(change.node_id)
                else:
                    report.confidence[node.id] = (node.confidence, change.before)
            report.skipped = list(dict.fromkeys(report.skipped))
            if report.node_ids and not dry_run:
                self._take_back(lines, nodes, report)
        return report

    # -- steps -------------------------------------------------------------------------------------

    def _plan_merges(self, group: Sequence[Node], report: EvolutionReport) -> None:
        kept, *others = group
        held = {edge.id for edge in self.get_links(kept.id)}
        highest = kept.confidence
        for node in others:
            edges = {edge.id for edge in self.get_links(node.id)}
            if not edges & held:
                held |= edges
                report.merged[node.id] = kept.id
                highest = max(highest, node.confidence)
        if highest > kept.confidence:
            report.confidence[kept.id] = (kept.confidence, highest)

    def _merge(self, dropped: Node, kept: Node, log_id: int) -> None:
        """Archive a node that another stands for, which takes over its edges and accesses."""
        places = [
            (edge.id, member.role)
            for edge in self.get_links(dropped.id)
            for member in edge.members
            if member.node_id == dropped.id
        ]
        self._replace_member(places, dropped.id, kept.id)
        note = {"into": kept.id, "edges": [list(place) for place in places]}
        metadata = {**dropped.metadata, MERGED_KEY: note}
        self._put_fields(dropped.id, tier="archive", metadata=metadata)
        kept.access_count += dropped.access_count
        self._put_fields(kept.id, access_count=kept.access_count)
        why = f"same words as {kept.id}"
        self.log_event(f"merge:{log_id}", [dropped.id], dropped.tier, "archive", why)
        self.log_event(f"absorb:{log_id}", [kept.id], None, None, f"took over {dropped.id}")

    def _is_as_left(self, node: Node, line: Evolution) -> bool:
        """Whether a node is as an operation left it. A merged one is not if its note is gone, or if
        its heir was merged since: then that is to be undone first."""
        if not line.operation.startswith("merge:") or node.tier != line.to_tier:
            return node.tier == line.to_tier
        note = node.metadata.get(MERGED_KEY)
        kept = self.read_nodes([note["into"]]).get(note["into"]) if note is not None else None
        return kept is not None and kept.tier != "archive"

    def _unmerge(self, dropped: Node) -> None:
        note = dropped.metadata[MERGED_KEY]
        self._replace_member(note["edges"], note["into"], dropped.id)
        kept = self.read_nodes([note["into"]]).get(note["into"])
        if kept is not None:
            count = max(0, kept.access_count - dropped.access_count)
            self._put_fields(kept.id, access_count=count)
        rest = {name: value for name, value in dropped.metadata.items() if name != MERGED_KEY}
        self._put_fields(dropped.id, metadata=rest)

    def _log_moves(self, report: EvolutionReport, why: str) -> int:
        """The line of an operation that moves nodes from one tier to another."""
        before, after = next(iter(report.moved.values()), (None, None))
        for node_id in report.moved:
            self._put_fields(node_id, tier=after)
        return self.log_event(report.operation, list(report.moved), before, after, why)

    def _move(self, report: EvolutionReport, operation: str, why: str) -> None:
        """Move nodes from several tiers: a part of the operation for each pair of tiers."""
        for tiers in dict.fromkeys(report.moved.values()):
            ids = [node_id for node_id, pair in report.moved.items() if pair == tiers]
            for node_id in ids:
                self._put_fields(node_id, tier=tiers[1])
            self.log_event(f"{operation}:{report.log_id}", ids, *tiers, why)

    def _believe(self, node_id: str, before: float, after: float, kind: str, reason: str) -> None:
        self._put_fields(node_id, confidence=after)
        self._log_confidence(node_id, kind, before, after, reason)

    def _take_back(
        self, lines: Sequence[Evolution], nodes: dict[str, Node], report: EvolutionReport
    ) -> None:
        name = f"undo:{lines[0].id}"
        why = f"undid {lines[0].operation} {lines[0].id}"
        report.log_id = self.log_event(name, report.node_ids, None, None, why)
        self._move(report, "tier", why)
        for line in lines:
            if line.operation.startswith("merge:"):
                for node_id in report.moved.keys() & line.node_ids:
                    self._unmerge(nodes[node_id])
        for node_id, (before, after) in report.confidence.items():
            self._believe(node_id, before, after, name, why)


def _equal_groups(nodes: Sequence[Node]) -> list[list[Node]]:
    """Nodes that say the same, two or more, the one that stays first."""
    groups: dict[tuple[str, str | None, str], list[Node]] = {}
    for node in nodes:
        if node.type in MERGED_TYPES:
            key = (node.type, node.subtype, normalize(node.content))
            groups.setdefault(key, []).append(node)
    for group in groups.values():
        group.sort(key=lambda n: (-TIERS.index(n.tier), -n.confidence, n.created_at, n.id))
    return [group for group in groups.values() if len(group) > 1]


def _decayed_confidence(node: Node, per_month: float, decayed_at: str | None) -> float:
    """The confidence that a node has left today; `decayed_at` is when it was lowered last."""

    def months(until_ms: float) -> int:
        return int(max(0.0, until_ms - node.last_accessed) // MONTH_MS)

    taken = 0 if decayed_at is None else months(clock.parse_iso(decayed_at).timestamp() * 1000)
    due = per_month * (months(clock.now_ms()) - taken)
    return max(0.0, round(node.confidence - due, 6)) if due > 0 else node.confidence


def _check_undo(log_id: int, lines: Sequence[Evolution]) -> None:
    if not lines or lines[0].id != log_id:
        raise NotFound(f"no line {log_id} in the evolution log: `rlm graph history` lists them")
    line = lines[0]
    name, _, part_of = line.operation.partition(":")
    if part_of:
        verb = "undid" if name == "undo" else "is part of"
        hint = "it cannot be undone itself" if name == "undo" else f"undo {part_of} as a whole"
        raise ValidationError(f"line {log_id} {verb} {part_of}: {hint}", field="log_id")
    if name not in OPERATIONS and not (line.from_tier and line.to_tier):
        names = ", ".join(OPERATIONS)
        why = f"line {log_id} is {name!r}, which cannot be undone"
        hint = f"only changes of tier, {names} can"
        if name.startswith(OF_MEMORIES):
            why, hint = f"line {log_id} is about memories", f"`rlm memory undo {log_id}`"
        raise ValidationError(f"{why}: {hint}", field="log_id")
    if any(other.operation == f"undo:{log_id}" for other in lines):
        raise ValidationError(f"line {log_id} was undone already", field="log_id")
