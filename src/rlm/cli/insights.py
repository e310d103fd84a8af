"""`rlm memory insights`: which memories help, which harm, and which tasks taught something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rlm.cli.command import count
from rlm.cli.output import number_of, print_json, print_table, print_text
from rlm.cli.session import Session, elsewhere

if TYPE_CHECKING:
    from rlm.learning.insights import Insights, MemoryInsight, Verdict

HEADERS = ("id", "shown", "followed", "helped", "harmed", "success", "steps", "conf", "title")
TASK_HEADERS = ("task", "curriculum", "runs", "memories", "in recall", "reused", "success then")
VERDICTS: dict[Verdict, str] = {
    "helps": "runs with it succeed more often, or take fewer steps, than without it",
    "harms": "runs with it fail more often, or take more steps, than without it",
    "unused": "it takes a place in the prompt, and no run said that it used it",
    "unclear": "too few runs yet, or no difference larger than chance makes",
}
SIGNALS = "what coding agents say of a memory; `rlm memory why ID` shows it, under signals"
LEGEND = """\
shown: prompts that it stood in. followed: by how many of the runs that said so.
helped, harmed: of those, judged a success or a failure. success, steps: of runs
that used it, or did not say / without it, of the same kind; steps of runs that
did not fail. out: it is not recalled any more"""


@count("--limit", default=10, doc="How many lines a table has, at most.")
@count("--runs", default=100_000, doc="How many of the newest runs are read, at most.")
def insights(session: Session, limit: int, runs: int) -> None:
    """Say which memories help, and which harm, in runs of rlm itself.

    Sessions of coding agents are not counted: what they say of a memory moves its confidence, and
    `rlm memory why ID` has each of these signals.

    Runs that used a memory, or did not say, are compared with runs of the same kind of question
    without it. Each has one verdict: helps, harms, unused or unclear. Few runs prove little: until
    there are more, the two rates are shrunk toward each other, and the verdict is `unclear`.
    """
    from rlm.learning import insights as room

    with session.reading() as store:
        found = room.insights(store, limit=runs)
        others = "" if found.trajectories or session.json else elsewhere(store, "trajectories")
    if session.json:
        print_json(found.to_dict(limit))
        return
    rate = "" if found.success is None else f", {found.success:.0%} of them a success"
    given = f"{number_of(len(found.memories), 'memory was', 'memories were')} retrieved for them"
    runs_read = number_of(found.trajectories, "run", "runs")
    print_text(f"{runs_read}, {found.judged:,} judged{rate}; {given}.")
    if not found.memories and not found.tasks:
        make = "`rlm memory train` or `rlm run --ontology FILE` make some"
        session.notify(f"not counted here: {SIGNALS}")
        session.notify(f"no run of rlm was given a memory yet: {make}{others}")
        return
    for verdict in VERDICTS:
        _print_verdict(verdict, found.of(verdict), limit)
    _print_tasks(found, limit)
    session.notify(LEGEND)


def _print_tasks(found: Insights, limit: int) -> None:
    print_text("\nWhich curriculum tasks taught what was used again?")
    rows: list[tuple[object, ...]] = []
    for task in found.tasks[:limit]:
        rate = "" if task.reused_success is None else f"{task.reused_success:.0%}"
        counts = (task.runs, task.memories, task.recalled, task.reused)
        rows.append((task.task_id, task.curriculum_id, *counts, rate))
    if rows:
        print_table(TASK_HEADERS, rows, prose=("curriculum",))
    else:
        print_text("  no curriculum was run yet: `rlm memory train --curriculum FILE`")


def _print_verdict(verdict: Verdict, found: Sequence[MemoryInsight], limit: int) -> None:
    print_text(f"\n{verdict}: {VERDICTS[verdict]}")
    if not found:
        print_text("  none")
        return
    print_table(HEADERS, [_row(each) for each in found[:limit]], prose=("title",))
    if len(found) > limit:
        print_text(f"  … {len(found) - limit:,} more with --limit")


def _row(each: MemoryInsight) -> tuple[object, ...]:
    used = f"{each.followed}/{each.said}" if each.said else "?"
    success = f"{each.success_with:.0%}/{each.success_without:.0%}" if each.judged else "?"
    without = f"{each.steps_without:.1f}" if each.runs_without > 0 else "?"
    steps = "?" if each.steps_seen is None else f"{each.steps_with:.1f}/{without}"
    confidence = each.why_not
    if each.confidence is not None:
        confidence = f"{each.confidence:.2f}{'' if each.recalled else ' out'}"
    counts = (each.injected, used, each.helped, each.harmed)
    return each.memory_id, *counts, success, steps, confidence, each.title
