"""`rlm memory insights`: which memories help, which harm, and which tasks taught something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rlm.cli.command import count
from rlm.cli.output import number_of, print_json, print_table, print_text
from rlm.cli.session import Session, elsewhere

if TYPE_CHECKING:
    from rlm.learning.insights import Insights, MemoryInsight, Verdict

HEADERS = ("id", "given", "used", "success", "steps", "conf", "title")
VERDICTS: dict[Verdict, str] = {
    "helps": "runs with it succeed more often, or take fewer steps, than without it",
    "harms": "runs with it fail more often, or take more steps, than without it",
    "unused": "it takes a place in the prompt, and no run said that it used it",
    "unclear": "too few runs yet, or no difference larger than chance makes",
}


@count("--limit", default=10, doc="How many lines a table has, at most.")
@count("--runs", default=100_000, doc="How many of the newest runs are read, at most.")
def insights(session: Session, limit: int, runs: int) -> None:
    """Say which memories help, and which harm.

    Runs that used a memory, or did not say, are compared with runs of the same kind of question
    without it. Each has one verdict: helps, harms, unused or unclear. Few runs prove little: until
    there are more, the two numbers are drawn together, and the verdict is `unclear`.
    """
    from rlm.learning import insights as room

    with session.reading() as store:
        found = room.insights(store, limit=runs)
        others = "" if found.trajectories or session.json else elsewhere(store, "trajectories")
    if session.json:
        print_json(found.to_dict(limit))
        return
    _tell(session, found, limit, others)


def _tell(session: Session, found: Insights, limit: int, others: str) -> None:
    judged = f"{found.judged:,} judged" + (
        "" if found.success is None else f", {found.success:.0%} of them a success"
    )
    given = f"{number_of(len(found.memories), 'memory was', 'memories were')} retrieved for them"
    print_text(f"{number_of(found.trajectories, 'run', 'runs')}, {judged}; {given}.")
    if not found.memories and not found.tasks:
        session.talk(
            "no run was given a memory yet: `rlm memory train` or `rlm run --ontology FILE` make"
            f" some{others}"
        )
        return
    for verdict in VERDICTS:
        _table(verdict, found.of(verdict), limit)
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
    session.talk("given: prompts that it stood in. used: how often a run said so. success, steps:")
    session.talk("of runs that used it, or did not say / without it, of the same kind; steps of")
    session.talk("runs that did not fail. out: it is not recalled any more")


def _table(verdict: Verdict, found: Sequence[MemoryInsight], limit: int) -> None:
    print_text(f"\n{verdict}: {VERDICTS[verdict]}")
    if not found:
        print_text("  none")
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
        (
            f"{each.steps_with:.1f}/{f'{each.steps_without:.1f}' if without else '?'}"
            if each.steps_seen is not None
            else "?"
        ),
        (
            f"{each.confidence or 0:.2f}{'' if each.recalled else ' out'}"
            if each.confidence is not None
            else each.why_not
        ),
        each.title,
    )
