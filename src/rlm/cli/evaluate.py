"""`rlm eval`: does memory help? The same tasks without it, with packs, and after training."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rlm.cli import output
from rlm.cli.command import count, scaling_option
from rlm.cli.failure import INTERRUPTED
from rlm.cli.output import one_line, print_json, print_table, print_text
from rlm.cli.run import model_options, take_limits
from rlm.cli.session import Session
from rlm.cli.train import check_model, print_odd_tags, print_task
from rlm.errors import ConfigError

if TYPE_CHECKING:
    from rlm.evaluate import Evaluation, Measured
    from rlm.evaluate.report import ArmDifference, Summary
    from rlm.train import TaskOutcome


@click.option("--curriculum", required=True, metavar="FILE", help="The tasks, as YAML.")
@count("--trials", default=1, most=1_000, doc="How often each task is run.")
@model_options(" for a task")
@scaling_option()
@click.option(
    "--arms",
    default="off,packs,trained",
    metavar="LIST",
    help="Which to compare [off,packs,trained].",
)
@click.option("--all-tasks", is_flag=True, help="Measure the training tasks too.")
@click.option("--log-dir", metavar="DIR", help="Write every run there, as JSON lines.")
@click.option(
    "--store-dir", metavar="DIR", help="Keep the stores of the arms there, and use what is there."
)
@click.option("--html", metavar="FILE", help="Write a report with plots: one file, no scripts.")
def evaluate(
    session: Session,
    curriculum: str,
    arms: str,
    all_tasks: bool,
    html: str | None,
    trials: int,
    store_dir: str | None,
    **given: Any,
) -> int:
    """Measure a suite of tasks with and without memory.

    The results are shown side by side: memory off, the shipped packs, what training on the rest of
    the suite taught. Your own store is not touched: every arm has one of its own. Only what is
    not held out is trained on.
    """
    from rlm import evaluate as room
    from rlm.agent import RunSpec
    from rlm.packs.curriculum import read_curriculum

    if html is not None:
        session.require_folder(Path(html).expanduser(), f"--html {html}")
        _check_writable(Path(html).expanduser())
    spec = RunSpec(limits=take_limits(given), **given)
    check_model(spec)
    lesson = read_curriculum(curriculum)
    print_odd_tags(session, lesson)
    named = tuple(part.strip() for part in arms.split(",") if part.strip())
    lessons = len(lesson.training) if "trained" in named else 0
    runs = len(lesson.tasks if all_tasks else lesson.held_out) * trials * len(named)
    with output.progress(f"evaluating {lesson.id}", lessons + runs) as advance:

        def on_task(outcome: TaskOutcome, done: int, of: int) -> None:
            advance(done)
            print_task(session, outcome, done, of)

        def on_run(run: Measured, done: int, of: int) -> None:
            advance(lessons + done)
            _print_run(session, run, done, of)

        made = room.evaluate(
            lesson,
            arms=named,
            trials=trials,
            store_dir=store_dir,
            held_out_only=not all_tasks,
            on_task=on_task,
            on_run=on_run,
            spec=spec,
        )
    if html is not None and made.runs:
        Path(html).expanduser().write_text(room.page(made), "utf-8")
    if session.json:
        print_json(made.to_dict())
    elif made.runs:
        _print_tables(made)
    if made.stopped:
        session.notify(
            f"stopped early: {one_line(made.stopped)}; what is shown is what there was by then"
        )
    elif html is not None:
        session.notify(f"the report is in {html}")
    return INTERRUPTED if made.stopped == "interrupted" else 2 if made.stopped else 0


def _check_writable(path: Path) -> None:
    """Whether the report can be written, before hours are spent. An old one is not touched."""
    there = path.exists()
    if path.is_dir() or (there and not os.access(path, os.W_OK)):
        raise ConfigError(f"--html {path} cannot be written: name a file")
    try:
        path.open("ab").close()
        if not there:
            path.unlink()
    except OSError as exc:
        raise ConfigError(f"--html {path} cannot be written: {exc.strerror}") from exc


def _print_run(session: Session, run: Measured, done: int, of: int) -> None:
    if not sys.stderr.isatty():
        verdict = "right" if run.success else "wrong"
        session.notify(
            f"{done}/{of} {one_line(run.task_id)} {run.arm}: {verdict} in {run.steps} steps"
        )


def _print_tables(made: Evaluation) -> None:
    sums = {arm: made.summary(arm) for arm in made.arms}
    rows = []
    for arm, each in sums.items():
        low, high = each.success_interval
        steps_low, steps_high = each.steps_interval
        rows.append(
            (arm, f"{each.successes}/{each.runs}", f"{each.success:.0%} [{low:.0%}–{high:.0%}]",
             f"{each.steps:.1f} [{steps_low:.1f}–{steps_high:.1f}]", _short(each.tokens),
             f"{_short(each.max_single_return)}/{_short(each.context_size)}", each.flagged)
        )  # fmt: skip
    print_table(
        ("memory", "right", "success [95 %]", "steps [95 %]", "tokens", "leakage", "flags"), rows
    )
    output.notify(
        "leakage: most characters of one call / of guidance; flags: runs over 1,000/4,000"
    )
    gaps = made.differences()
    if gaps:
        print_text("")
        headers = (f"against {gaps[0].base}", "success [95 %]", "steps [95 %]", "tokens")
        print_table(headers, [_gap(gap) for gap in gaps])
    print_text("\nBy kind: right answers in steps on average")
    by_kind = [
        (kind, *(_in_steps(made.summary(arm, kind)) for arm in made.arms)) for kind in made.kinds
    ]
    print_table(("kind", *made.arms), by_kind)
    for arm, each in sums.items():
        for flag in each.flags:
            output.notify(f"leakage, {arm}: {one_line(flag)}")


def _gap(gap: ArmDifference) -> tuple[object, ...]:
    (low, high), (steps_low, steps_high) = gap.success_interval, gap.steps_interval
    return (
        gap.arm,
        f"{gap.success:+.0%} [{low:+.0%}, {high:+.0%}]",
        f"{gap.steps:+.0%} [{steps_low:+.0%}, {steps_high:+.0%}]",
        f"{gap.tokens:+.0%}",
    )


def _in_steps(part: Summary) -> str:
    return f"{part.successes}/{part.runs} in {part.steps:.1f}" if part.runs else ""


def _short(number: float) -> str:
    """`9,999`, `12k`: a table must fit."""
    return f"{number:,.0f}" if number < 10_000 else f"{number / 1_000:,.0f}k"
