"""The memory commands about a whole store: review, consolidate, undo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from rlm import config
from rlm.cli.command import count
from rlm.cli.ids import find_memory
from rlm.cli.output import number_of, progress
from rlm.cli.session import Session
from rlm.errors import NotFound, ValidationError
from rlm.store.types import MemoryItem

if TYPE_CHECKING:
    from rlm.service.consolidation import Change
    from rlm.service.review import Proposal
    from rlm.store.backend import MemoryBackend


@click.option("--approve", metavar="ID|all", multiple=True, help="Trust it; repeatable.")
@click.option("--reject", metavar="ID|all", multiple=True, help="Archive it; repeatable.")
@click.option("--accept", metavar="ID|all", multiple=True, help="Do as proposed; repeatable.")
@click.option("--changes", metavar="ID", multiple=True, help="Changed in part; repeatable.")
@click.option("--refuse", metavar="ID|all", multiple=True, help="Leave it as it is; repeatable.")
@count("--limit", default=50, doc="How many to list of each, at most.")
def review(session: Session, limit: int, **chosen: tuple[str, ...]) -> int:
    """List what is in quarantine and what is proposed; decide on it.

    What is in quarantine is approved or rejected. Proposals are accepted or refused: that a memory
    goes up to the team or the organisation (`rlm memory undo` takes it back), and that one goes to
    the archive because a newer decision supersedes it, or because what a person said failed several
    times (`rlm memory restore` brings it back). Where a newer decision only changes a part of it,
    --changes keeps both and shows them together; --refuse takes that back, also what a model said.
    """
    if not any(chosen.values()):
        _list_waiting(session, limit)
        return 0
    every = {name for names in chosen.values() for name in names}
    names = ("approved", "rejected", "kept", "accepted", "changed", "refused")
    decided: dict[str, list[str]] = {name: [] for name in names}
    archived: list[str] = []
    if every != {"all"} or not session.lacks_store():
        with session.changing() as store, store.together():
            found = _decide_quarantined(store, chosen["approve"], chosen["reject"], decided)
            found += _decide_proposals(store, chosen, decided)
            archived = [each for each in decided["accepted"] if _is_archived(store, each)]
        if not found:
            session.notify("nothing waits for that")
    session.show(decided, *(f"{verb}\t{each}" for verb, ids in decided.items() for each in ids))
    for each in archived:
        back = f"`rlm memory restore {each}` brings it back"
        session.notify(f"{each} went to the archive: {back}")
    for each in decided["kept"]:
        hint = "`rlm memory edit` it first"
        session.notify(f"{each} repeats recalled text and stays in quarantine: {hint}")
    return 1 if decided["kept"] else 0


def _is_archived(store: MemoryBackend, memory_id: str) -> bool:
    item = store.get(memory_id)
    return item is not None and bool(item.archived_at)


def _list_waiting(session: Session, limit: int) -> None:
    from rlm.service.review import proposals

    held: list[MemoryItem] = []
    proposed: list[Proposal] = []
    if not session.lacks_store():
        with session.reading() as store:
            held = store.list_items(trust="quarantined", limit=limit)
            proposed = proposals(store)[:limit]
        if not held and not proposed:
            session.notify("nothing is in quarantine, nothing is proposed")
    documents = [_document(item, quarantine_reason(item)) for item in held]
    for each in proposed:
        newer = None if each.newer is None else each.newer.memory_id
        more = {"promote_to": each.level, "superseded_by": newer}
        documents.append(_document(each.item, _proposal_text(each)) | more)
    rows = [tuple(each[name] for name in ("memory_id", "title", "reason")) for each in documents]
    session.show_table(documents, ("id", "title", "why"), rows, ("title", "why"))
    if held:
        session.notify("read one with `rlm memory show ID`; then --approve ID or --reject ID")
    if proposed:
        changes = ", --changes ID (in part)" if any(each.newer for each in proposed) else ""
        session.notify(f"what is proposed: --accept ID{changes} or --refuse ID")


def _document(item: MemoryItem, why: str) -> dict[str, str | None]:
    fields = {"memory_id": item.memory_id, "title": item.title, "reason": why}
    return {**fields, "content": item.content, "promote_to": None, "superseded_by": None}


def _proposal_text(proposal: Proposal) -> str:
    if proposal.newer is None and proposal.level is None:
        return f"{proposal.why}: archive it?"
    if proposal.newer is None:
        return f"promote to the {proposal.level}: {proposal.why}"
    newer = f"{proposal.newer.memory_id} ({proposal.newer.title})"
    return f"superseded by {newer}? {proposal.why}"


def _decide_quarantined(
    store: MemoryBackend,
    approve: tuple[str, ...],
    reject: tuple[str, ...],
    decided: dict[str, list[str]],
) -> int:
    """Approve and reject; of how many memories."""
    good, bad = _find_quarantined(store, approve), _find_quarantined(store, reject)
    _require_one_word(good.keys() & bad.keys(), "approved and rejected")
    for item in good.values():
        decided["approved" if _approve(store, item) else "kept"].append(item.memory_id)
    decided["rejected"] = [each for each in bad if store.delete(each)]
    return len(good) + len(bad)


def _require_one_word(both: set[str], verbs: str) -> None:
    if both:
        raise ValidationError(f"{min(both)} cannot be {verbs} at once")


def _find_quarantined(store: MemoryBackend, names: tuple[str, ...]) -> dict[str, MemoryItem]:
    """The quarantined memories of these names, each looked up before any is changed."""
    if "all" in names:
        return {item.memory_id: item for item in store.list_items(trust="quarantined", limit=2**31)}
    found = {item.memory_id: item for item in (find_memory(store, name) for name in names)}
    for item in found.values():
        if item.trust != "quarantined":
            raise ValidationError(f"{item.memory_id} is not in quarantine: it is {item.trust}")
    return found


def _approve(store: MemoryBackend, item: MemoryItem) -> bool:
    """Whether it is trusted now: the gate keeps recalled text in quarantine."""
    from rlm.store.gate import RECALLED_HEADING

    if RECALLED_HEADING in item.content:
        return False
    return store.approve(item.memory_id, by=config.user_name()).trust == "trusted"


def quarantine_reason(item: MemoryItem) -> str:
    """Why a memory is in quarantine, in words."""
    if item.quarantine_reason:
        return item.quarantine_reason
    pack = item.provenance.get("pack")
    signed = f"from the pack {pack}, which no trusted key signed"
    return signed if pack else f"from {item.origin}, not yet reviewed"


def _decide_proposals(
    store: MemoryBackend, chosen: Mapping[str, tuple[str, ...]], decided: dict[str, list[str]]
) -> int:
    """Accept, accept in part and refuse what is proposed; of how many memories."""
    agree, partly, disagree = (chosen[name] for name in ("accept", "changes", "refuse"))
    if not agree and not partly and not disagree:
        return 0
    from rlm.service.amendment import unmark_changed
    from rlm.service.review import accept, accept_in_part, refuse

    known = _proposals_by_memory(store)
    good, part = _find_proposed(store, known, agree), _find_proposed(store, known, partly)
    bad = _find_proposed(store, known, disagree, changed=True)
    _require_one_word(set(good) & set(bad), "accepted and refused")
    _require_one_word(set(part) & {*good, *bad}, "changed in part and accepted or refused")
    by = config.user_name()
    for memory_id in good:
        done = [accept(store, each, by=by) for each in known[memory_id]]
        decided["accepted"] += [memory_id] if any(done) else []
    for memory_id in part:
        for each in [each for each in known[memory_id] if each.newer] or known[memory_id]:
            accept_in_part(store, each, by=by)
        decided["changed"].append(memory_id)
    for memory_id in bad:
        for each in known.get(memory_id, ()):
            refuse(store, each, by=by)
        if memory_id not in known:
            unmark_changed(store, memory_id)
        decided["refused"].append(memory_id)
    return len(good) + len(part) + len(bad)


def _proposals_by_memory(store: MemoryBackend) -> dict[str, list[Proposal]]:
    from rlm.service.review import proposals

    known: dict[str, list[Proposal]] = {}
    for each in reversed(proposals(store)):  # the newest amendment first: it supersedes
        known.setdefault(each.item.memory_id, []).append(each)
    for listed in known.values():  # what supersedes it is linked to it, a failure is not
        listed.sort(key=lambda each: each.newer is None)
    return known


def _find_proposed(
    store: MemoryBackend,
    known: dict[str, list[Proposal]],
    names: tuple[str, ...],
    *,
    changed: bool = False,
) -> list[str]:
    """The memories of these names about which something is proposed, the oldest first; on request
    also those that are said to be changed in part."""
    from rlm.service.amendment import changed_by

    if "all" in names:
        return list(reversed(known))
    found = {item.memory_id: item for item in (find_memory(store, name) for name in names)}
    for each, item in found.items():
        if each not in known and not (changed and changed_by(item)):
            why = f"nothing is proposed about {each}"
            raise NotFound(f"{why}: `rlm memory review` lists what is")
    return list(found)


# -- consolidation


@click.option("--dry-run", is_flag=True, help="Say what would be done, and do not.")
@click.option("--all", "everything", is_flag=True, help="Compare also what was compared before.")
def consolidate(session: Session, dry_run: bool, everything: bool) -> None:
    """Merge lessons that say the same, archive weak ones, promote strong ones.

    Of equal lessons the best stays and the others are archived; what is new since the last time is
    compared. Archived as well is what is hardly believed, never helped and is old. What is strong,
    or what other projects of the team hold too, is proposed for the team or the organisation: see
    `rlm memory review`. Decisions and what a person or a pack wrote are never archived. `rlm memory
    undo` takes everything back.
    """
    from rlm.service.consolidation import Consolidation
    from rlm.service.consolidation import consolidate as run

    report = Consolidation(dry_run)
    if not session.lacks_store():
        with (
            session.reading() if dry_run else session.changing() as store,
            progress("comparing lessons", store.stats()["memories"]) as step,
        ):
            report = run(store, dry_run=dry_run, everything=everything, on_progress=step)
    rows = [row for change in report.changes for row in _rows(change)]
    if not rows:
        session.show(report.to_dict(), "nothing to merge, prune or promote")
        return
    headers = ("number", "what", "id", "title", "why")
    session.show_table(report.to_dict(), headers, rows, ("title", "why"))
    changes = number_of(len(rows), "change", "changes")
    if dry_run:
        session.notify(f"{changes} would be made")
    else:
        session.notify(f"{changes}; `rlm memory undo {report.log_id}` takes all of it back")


def _rows(change: Change) -> list[tuple[object, ...]]:
    what = f"{change.operation} → {change.level}" if change.level else change.operation
    number = "" if change.log_id is None else change.log_id
    return [(number, what, *each, change.why) for each in change.memories.items()]


@click.argument("log_id", metavar="NUMBER", type=click.IntRange(min=1))
def undo(session: Session, log_id: int) -> None:
    """Take back a change that `rlm memory consolidate` or `review` made, or a whole run of it.

    Consolidate prints the NUMBER, and `rlm graph history` lists all. What somebody changed since is
    left alone, and named.
    """
    from rlm.service.review import undo as take_back

    with session.changing() as store:
        report = take_back(store, log_id)
    document = report.to_dict()
    names = ("memory_id", "status", "level", "why")
    rows = [tuple(row.get(name, "") for name in names) for row in document["memories"]]
    session.show_table(document, ("id", "what", "level", "why"), rows, ("why",))
    back = len(rows) - len(report.skipped)
    session.notify(f"{number_of(back, 'change', 'changes')} taken back")
    if report.skipped:
        left = number_of(len(report.skipped), "memory was", "memories were")
        session.notify(f"{left} left alone: changed since")
