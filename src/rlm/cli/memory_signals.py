"""The memory commands that move confidence: feedback, stability, decay."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

import click

from rlm.cli.ids import find_memory
from rlm.cli.output import number_of
from rlm.cli.session import Session
from rlm.errors import ValidationError

MEANING = {
    "stable": "not reverted for a week",
    "reverted": "reverted",
    "young": "too early to say",
    "unknown": "not found in their repository",
}


@click.argument("memory_id", metavar="ID")
@click.option("--helpful/--not-helpful", default=None, help="Whether it helped.")
@click.option("--comment", metavar="TEXT", default="", help="Why.")
def feedback(session: Session, memory_id: str, helpful: bool | None, comment: str) -> None:
    """Say whether a memory helped: its confidence moves by +0.3 or -0.2."""
    from rlm.service.manager import MemoryManager

    if helpful is None:
        raise ValidationError("say whether it helped: --helpful or --not-helpful")
    with session.changing() as store:
        old = find_memory(store, memory_id)
        new = MemoryManager(store, person=True).feedback(old.memory_id, helpful, comment)
    before = old.confidence or 0.0
    document = {"memory_id": new.id, "before": before, "confidence": new.confidence}
    session.show(document, f"{new.id}\t{before:.2f} → {new.confidence:.2f}")


def stability(session: Session) -> None:
    """Check the commits that memories came with: +0.2 for those not reverted for a week.

    git is asked where the commits were made. Each memory is judged once.
    """
    from rlm.service.stability import check_stability

    found = session.list_rows(check_stability, changes=True)
    rows = [(each.memory_id, each.title, each.state, f"{each.confidence:.2f}") for each in found]
    if not rows:
        session.show([], "no memory has commits that were not judged yet")
        return
    headers = ("id", "title", "commits", "conf")
    session.show_table([asdict(each) for each in found], headers, rows, ("title",))
    for state, count in Counter(each.state for each in found).items():
        session.notify(f"{number_of(count, 'memory', 'memories')}: {MEANING[state]}")


def decay(session: Session) -> None:
    """Lower the confidence of memories by 0.05 for each month without use.

    How often it is run makes no difference.
    """
    from rlm.service.confidence import ConfidenceEvaluator

    found = session.list_rows(lambda store: ConfidenceEvaluator(store).decay_all(), changes=True)
    rows = [(each.memory_id, f"{each.delta:+.2f}", each.reason) for each in found]
    if not rows:
        session.show([], "nothing to lower since the last time")
        return
    documents = [asdict(each) for each in found]
    session.show_table(documents, ("id", "by", "why"), rows, ("why",))
