"""`rlm memory train`: teach a store by a curriculum."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from rlm.cli import output
from rlm.cli.command import scaling_option
from rlm.cli.failure import INTERRUPTED
from rlm.cli.output import one_line
from rlm.cli.run import model_options, take_limits
from rlm.cli.session import Session

if TYPE_CHECKING:
    from rlm.agent import RunSpec
    from rlm.llm import Client
    from rlm.packs.curriculum import Curriculum
    from rlm.train import OnTask, TaskOutcome, TrainReport

VERDICTS = {True: "right", False: "wrong", None: "not judged"}


@click.option("--curriculum", required=True, metavar="FILE", help="The tasks, as YAML.")
@click.option("--log-dir", metavar="DIR", help="Write every run there, as JSON lines.")
@model_options(" for a task")
@scaling_option()
@click.option("--again", is_flag=True, help="Run finished tasks too.")
def train(session: Session, curriculum: str, again: bool, **given: Any) -> int:
    """Learn from the tasks of a curriculum.

    Tasks that are held out are not run. Everything is checked before the first question. A training
    that was stopped continues where it was.
    """
    from rlm.agent import RunSpec
    from rlm.packs.curriculum import read_curriculum
    from rlm.train import check_lesson, choose_tasks
    from rlm.train import train as teach

    lesson = read_curriculum(curriculum)
    total = len(choose_tasks(lesson, "train"))
    spec = RunSpec(limits=take_limits(given), **given)
    check_model(spec)
    check_lesson(lesson, spec.log_dir)  # before the store is made
    print_odd_tags(session, lesson)
    with session.store() as store, _progress(session, f"training {lesson.id}", total) as tell:
        report = teach(lesson, store, resume=not again, on_task=tell, spec=spec)
    _print_report(session, report)
    return INTERRUPTED if report.interrupted else 2 if report.stopped else 0


def print_odd_tags(session: Session, lesson: Curriculum) -> None:
    """Say which tasks have no kind: tags are free, but a misspelt one spoils the summary."""
    from rlm.packs.curriculum_check import odd_tags

    for remark in odd_tags(lesson):
        session.notify(remark)


def check_model(spec: RunSpec) -> Client:
    """The client, closed. Raises where its name means nothing."""
    from rlm.llm import open_client

    client = open_client(spec.model, base_url=spec.base_url)
    client.close()
    return client


@contextmanager
def _progress(session: Session, what: str, total: int) -> Iterator[OnTask | None]:
    """A bar on a terminal; elsewhere a line for every task that was run. With `--json` nothing."""
    if session.json:
        yield None
        return
    with output.progress(what, total) as advance:

        def tell(outcome: TaskOutcome, done: int, of: int) -> None:
            advance(done)
            print_task(session, outcome, done, of)

        yield tell


def print_task(session: Session, outcome: TaskOutcome, done: int, of: int) -> None:
    """One line for a task that was run, where no bar shows it."""
    if not sys.stderr.isatty() and not outcome.earlier:
        session.notify(f"{done}/{of} {one_line(outcome.task_id)}: {_describe(outcome)}")


def _describe(outcome: TaskOutcome) -> str:
    new = f", {outcome.new_memories} new" if outcome.new_memories else ""
    return (
        f"{VERDICTS[outcome.success]} in {outcome.steps}"
        f" step{'' if outcome.steps == 1 else 's'}{new}"
    )


def _print_report(session: Session, report: TrainReport) -> None:
    from rlm.train import summary

    lines = report.kinds()
    rows = [
        (each.kind, each.tasks, each.earlier or "", f"{each.successes}/{each.tasks}",
         f"{each.steps:.1f}", each.new_memories)
        for each in [*lines, *([summary("all", report.outcomes)] if len(lines) > 1 else [])]
    ]  # fmt: skip
    headers = ("kind", "tasks", "done before", "right", "steps", "new memories")
    session.show_table(report.to_dict(), headers, rows)
    for outcome in report.outcomes:
        if not outcome.success:
            verdict = VERDICTS[outcome.success]
            session.notify(
                f"{verdict}: {one_line(outcome.task_id)}: {one_line(outcome.reason)[:160]}"
            )
    if report.stopped:
        whole = report.left + len(report.outcomes)
        session.notify(
            f"stopped with {report.left} of {whole} tasks left: {one_line(report.stopped)}"
        )
        session.notify(
            "what is done is kept: the same command, with the same options, continues where it was"
        )
