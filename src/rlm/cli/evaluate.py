"""`rlm eval`: does memory help? The same tasks without it, with packs, and after training."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import count as count_up
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import click

from rlm.cli import output
from rlm.cli.command import count, scaling_option
from rlm.cli.failure import INTERRUPTED
from rlm.cli.output import one_line, print_json, print_table, print_text
from rlm.cli.run import model_options, take_limits
from rlm.cli.session import Session
from rlm.cli.train import VERDICTS, check_model, print_odd_tags, print_task
from rlm.errors import ConfigError

if TYPE_CHECKING:
    from rlm.evaluate import Evaluation, Measured
    from rlm.evaluate.report import ArmDifference, Summary
    from rlm.packs.curriculum import Curriculum
    from rlm.train import TaskOutcome

MOST_MEMORIES = 20
TITLE_CHARS = 24


@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option(
    "--curriculum",
    multiple=True,
    metavar="FILE",
    help="The tasks, as YAML; the same as FILE. Several are one suite.",
)
@count("--trials", default=1, most=1_000, doc="How often each task is run.")
@model_options(" for a task")
@scaling_option()
@click.option(
    "--arms",
    default="off,packs,trained",
    metavar="LIST",
    help="Which to compare, the first with the others [off,packs,trained]; `on` is a copy of your"
    " own store.",
)
@click.option("--all-tasks", is_flag=True, help="Measure the training tasks too.")
@click.option("--log-dir", metavar="DIR", help="Write every run there, as JSON lines.")
@click.option(
    "--store-dir", metavar="DIR", help="Keep the stores of the arms there, and use what is there."
)
@click.option("--html", metavar="FILE", help="Write a report with a plot: one file, no scripts.")
def evaluate(
    session: Session,
    files: tuple[str, ...],
    curriculum: tuple[str, ...],
    arms: str,
    all_tasks: bool,
    html: str | None,
    trials: int,
    store_dir: str | None,
    **given: Any,
) -> int:
    """Measure a suite of tasks with and without memory.

    The results are shown side by side: memory off, the shipped packs, what training on the rest of
    the suite taught, and on request your own store. That is not touched: every arm has a store of
    its own, yours a copy. Only what is not held out is trained on.
    """
    from rlm import evaluate as room
    from rlm.agent import RunSpec
    from rlm.packs.curriculum import read_curriculum

    page = None if html is None else Path(html).expanduser()
    if page is not None:
        session.require_folder(page, f"--html {html}")
        _check_writable(page)
    if not (*files, *curriculum):
        raise ConfigError("there is no curriculum: `rlm eval FILE`")
    spec = RunSpec(limits=take_limits(given), store=session.reading, **given)
    check_model(spec)
    suite = [read_curriculum(file) for file in (*files, *curriculum)]
    for lesson in suite:
        print_odd_tags(session, lesson)
    named = tuple(filter(None, map(str.strip, arms.split(","))))
    title = f"evaluating {' + '.join(lesson.id for lesson in suite)}"
    steps = count_up(1)
    with output.progress(title, _count_runs(suite, named, trials, all_tasks)) as advance:

        def on_task(outcome: TaskOutcome, done: int, of: int) -> None:
            advance(next(steps))
            print_task(session, outcome, done, of)

        def on_run(run: Measured, done: int, of: int) -> None:
            advance(next(steps))
            _print_run(session, run, done, of)

        made = room.evaluate(
            suite,
            arms=named,
            trials=trials,
            store_dir=store_dir,
            held_out_only=not all_tasks,
            on_task=on_task,
            on_run=on_run,
            spec=spec,
        )
    if page is not None and made.runs:
        page.write_text(room.page(made), "utf-8")
    if session.json:
        print_json(made.to_dict())
    elif made.runs:
        _print_tables(made)
    if made.stopped:
        session.notify(
            f"stopped early: {one_line(made.stopped)}; what is shown is what there was by then"
        )
        return INTERRUPTED if made.stopped == "interrupted" else 2
    if page is not None:
        session.notify(f"the report is in {html}")
    return 0


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
        verdict = VERDICTS[run.success]
        steps = f"{run.steps} step{'' if run.steps == 1 else 's'}"
        session.notify(
            f"{done}/{of} {one_line(run.task_id)} {run.arm}: {verdict} in {steps},"
            f" {run.seconds:.1f} s"
        )


def _count_runs(suite: list[Curriculum], arms: Sequence[str], trials: int, all_tasks: bool) -> int:
    """Of training and of measuring."""
    lessons = sum(len(lesson.training) for lesson in suite) if "trained" in arms else 0
    asked = sum(len(lesson.tasks if all_tasks else lesson.held_out) for lesson in suite)
    return lessons + asked * trials * len(arms)


def _print_tables(made: Evaluation) -> None:
    sums = {arm: made.summary(arm) for arm in made.arms}
    rows = []
    for arm, each in sums.items():
        low, high = each.success_interval
        steps_low, steps_high = each.steps_interval
        rows.append(
            (arm, f"{each.successes}/{each.runs}", f"{each.success:.0%} [{low:.0%}–{high:.0%}]",
             f"{each.steps:.1f} [{steps_low:.1f}–{steps_high:.1f}]", _short(each.tokens),
             _seconds(each.seconds, each.seconds_interval))
        )  # fmt: skip
    print_table(
        ("memory", "right", "success [95 %]", "steps [95 %]", "tokens", "seconds [95 %]"), rows
    )
    gaps = made.differences()
    if gaps:
        print_text("")
        headers = (f"against {gaps[0].base}", "success [95 %]", "steps [95 %]", "tokens", "seconds")
        print_table(headers, [_gap(gap) for gap in gaps])
    print_text("\nBy kind: right answers in steps on average")
    by_kind = [
        (kind, *(_in_steps(made.summary(arm, kind)) for arm in made.arms)) for kind in made.kinds
    ]
    print_table(("kind", *made.arms), by_kind)
    _print_memories(made)
    for arm, each in sums.items():
        most = (
            f"{each.max_single_return:,} characters of one call, {each.context_size:,} of guidance"
        )
        output.notify(f"leakage, {arm}: at most {most}")
        for flag in each.flags:
            output.notify(f"leakage, {arm}: {one_line(flag)}")
        if each.unjudged:
            output.notify(f"{arm}: {each.unjudged} of {each.runs} runs could not be judged")
    if made.shows:
        print_text(f"\n{fill(made.shows, 80)}")


def _print_memories(made: Evaluation) -> None:
    """What each memory did to the tasks it was shown in; those that did something come first."""
    effects = sorted(made.memories(), key=lambda each: (-each.harmed, -each.helped))
    if not effects:
        return
    print_text(f"\nBy memory: tasks that it helped and harmed, against {made.arms[0]}")
    rows = [
        (each.against.arm, each.memory_id, _cut(one_line(each.title)), each.given,
         each.followed, each.helped, each.harmed)
        for each in effects[:MOST_MEMORIES]
    ]  # fmt: skip
    print_table(("arm", "memory", "title", "given", "used", "helped", "harmed"), rows)
    if len(effects) > MOST_MEMORIES:
        output.notify(f"and {len(effects) - MOST_MEMORIES} more memories: --json has them all")


def _gap(gap: ArmDifference) -> tuple[object, ...]:
    (low, high), (steps_low, steps_high) = gap.success_interval, gap.steps_interval
    return (
        gap.arm,
        f"{gap.success:+.0%} [{low:+.0%}, {high:+.0%}]",
        f"{gap.steps:+.0%} [{steps_low:+.0%}, {steps_high:+.0%}]",
        f"{gap.tokens:+.0%}",
        f"{gap.seconds:+.0%}",
    )


def _seconds(mean: float, interval: tuple[float, float]) -> str:
    digits = 0 if interval[1] >= 100 else 1
    return f"{mean:.{digits}f} [{interval[0]:.{digits}f}–{interval[1]:.{digits}f}]"


def _cut(title: str) -> str:
    return title if len(title) <= TITLE_CHARS else title[: TITLE_CHARS - 1] + "…"


def _in_steps(part: Summary) -> str:
    return f"{part.successes}/{part.runs} in {part.steps:.1f}" if part.runs else ""


def _short(number: float) -> str:
    """`9,999`, `12k`: a table must fit."""
    return f"{number:,.0f}" if number < 10_000 else f"{number / 1_000:,.0f}k"
