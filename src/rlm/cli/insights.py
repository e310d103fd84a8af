"""`rlm memory insights`: which memories help, which harm, and which tasks taught something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlm.cli.command import count
from rlm.cli.output import print_json, print_table, print_text
from rlm.cli.session import Session

if TYPE_CHECKING:
    from rlm.learning.insights import Insights, MemoryInsight

HEADERS = ("id", "given", "used", "success", "steps", "verdict", "conf", "title")


@count("--limit", default=10, doc="How many lines a table has, at most.")
@count("--runs", default=100_000, doc="How many of the newest runs are read, at most.")
def insights(session: Session, limit: int, runs: int) -> None:
    """Say which memories help, and which harm.

    Runs with a memory in their prompt are compared with runs of the same kind of question without it. Few runs prove
    little: until there are more, the two numbers are drawn together, and the verdict is `unclear`.
    """
    from rlm.learning import insights as room

    with session.reading() as store:
        found = room.insights(store, limit=runs)
    if session.json:
        print_json(found.to_dict(limit))
        return
    _tell(session, found, limit)


def _tell(session: Session, found: Insights, limit: int) -> None:
    judged = f"{found.judged:,} judged" + ("" if found.success is None else f", {found.success:.0%} of them a success")
    print_text(f"{found.trajectories:,} runs, {judged}; {len(found.memories):,} memories were retrieved for them.")
    if not found.memories and not found.tasks:
        session.talk("no run was given a memory yet: `rlm memory train` or `rlm run --ontology FILE` make some")
        return
    _table("Which memories go with fewer steps?", found.fewer_steps, limit, "none shows yet")
    _table("Which are retrieved often but go with failures?", found.failing, limit, "none")
    if found.unused:
        _table("Which take a place in the prompt and are never used?", found.unused, limit, "none")
    print_text("\nWhich curriculum tasks taught what was used again?")
    rows = [
        (task.task_id, task.curriculum_id, task.runs, task.memories, task.recalled, task.reused,
         "" if task.reused_success is None else f"{task.reused_success:.0%}")
        for task in found.tasks[:limit]
    ]  # fmt: skip
    if rows:
        headers = ("task", "curriculum", "runs", "memories", "in recall", "reused", "success then")
        print_table(headers, rows, prose=("curriculum",))
    else:
        print_text("  no curriculum was run yet: `rlm memory train --curriculum FILE`")
    _table("Every memory that runs were given:", found.memories, limit, "none")
    session.talk("success, steps: with / without it, in runs of the same kind; steps of runs that")
    session.talk("did not fail. used: how often a run said so. out: it is not recalled any more")


def _table(title: str, found: tuple[MemoryInsight, ...], limit: int, none: str) -> None:
    print_text(f"\n{title}")
    if not found:
        print_text(f"  {none}")
        return
    print_table(HEADERS, [_row(each) for each in found[:limit]], prose=("title",))
    if len(found) > limit:
        print_text(f"  … {len(found) - limit:,} more with --limit")


def _row(each: MemoryInsight) -> tuple[object, ...]:
    without = each.runs_without > 0
    return (
        each.memory_id,
        each.injected,
        f"{each.followed}/{each.said}" if each.said else "?",
        f"{each.success_with:.0%}/{each.success_without:.0%}" if each.judged else "?",
        f"{each.steps_with:.1f}/{f'{each.steps_without:.1f}' if without else '?'}",
        each.verdict,
        f"{each.confidence or 0:.2f}{'' if each.recalled else ' out'}" if each.confidence is not None else each.why_not,
        each.title,
    )
