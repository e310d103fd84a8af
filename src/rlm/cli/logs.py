"""`rlm logs`: reading the log of a run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rlm.cli.command import command, new_group
from rlm.cli.output import one_line, print_json, print_table, print_text
from rlm.cli.session import Session, elsewhere
from rlm.errors import ConfigError, NotFound

if TYPE_CHECKING:
    from rlm.store.types import Run, Trajectory

app = new_group("Logs of runs.")
SHOWN_LINES = 12


@command(app, "list")
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=20, metavar="N", help="So many at most (20)."
)
def list_(session: Session, limit: int) -> None:
    """List the runs that the store keeps, the newest first."""
    if session.lacks_store():
        if session.json:
            print_json([])
        return
    with session.reading() as store:
        found = store.recent_runs(limit)
        others = "" if found else elsewhere(store, "trajectories")
    if session.json:
        print_json([
            {"trajectory_id": made.trajectory_id, "created_at": made.created_at, "model": run.model,
             "query": made.task_query, "iterations": made.iteration_count, "converged": made.converged,
             "log_path": made.rlm_log_path}
            for run, made in found
        ])  # fmt: skip
        return
    if not found:
        session.talk(f"no run is kept here yet: `rlm run` keeps every one{others}")
        return
    rows = [
        (made.trajectory_id, made.created_at[:16].replace("T", " "), run.model or "", str(made.iteration_count),
         "yes" if _answered(made) else "no", made.task_query)
        for run, made in found
    ]  # fmt: skip
    print_table(
        ("id", "when (UTC)", "model", "steps", "answered", "question"), rows, prose=("question",)
    )


@command(app, "show")
@click.argument("run")
@click.option("--full", is_flag=True, help="Everything, uncut; also the prompts.")
def show(session: Session, run: str, full: bool) -> None:
    """Show a run step by step: what the model wrote, what its code printed, how it ended.

    RUN is a log file, or the id of a run in the store (`rlm logs list`), which knows the steps also
    without a log.
    """
    from rlm.loop import read_log

    path = Path(run).expanduser()
    if not path.exists() and run.startswith("t-"):
        with session.reading() as store:
            found = store.recent_runs(1, trajectory_id=run)
        if not found:
            raise NotFound(
                f"there is no run {run} in {session.path}: `rlm logs list` shows those that are"
            )
        log = found[0][1].rlm_log_path
        if not log or not Path(log).is_file():
            _show_kept(session, *found[0])
            return
        path = Path(log)
    if not path.exists():
        raise ConfigError(
            f"{run} is neither a log file nor the id of a run (t-…): `rlm logs list` shows those"
            " that are kept"
        )
    metadata, turns = read_log(path)
    if session.json:
        print_json({"metadata": metadata, "iterations": turns})
        return
    for line in _head(metadata, len(turns)):
        print_text(line)
    for turn in turns:
        for line in _turn(turn, full=full):
            print_text(line)


def _show_kept(session: Session, run: Run, made: Trajectory) -> None:
    if session.json:
        print_json({"run": asdict(run), "trajectory": asdict(made)})
        return
    reason = made.artifact.get("reason", "")
    how = (
        "answered"
        if _answered(made)
        else "not answered"
        if made.converged
        else f"not finished: {reason}"
    )
    lines = [
        f"question  {one_line(made.task_query)}",
        f"model     {one_line(run.model or '?')}",
        f"ended     {one_line(how)}, {made.iteration_count} steps",
    ]
    for step in made.artifact.get("key_steps", []):
        lines += ["", f"step {step.get('iteration')}  {one_line(step.get('action', ''))}",
                  f"        {one_line(step.get('outcome', ''))}"]  # fmt: skip
    for line in [
        *lines,
        "",
        "answer:",
        *(f"  {part}" for part in (made.final_answer or "").splitlines()),
    ]:
        print_text(line)
    session.talk("no log was written of this run: --log-dir DIR keeps one")


def _head(metadata: dict[str, Any], turns: int) -> list[str]:
    ended = metadata.get("ended") or {}
    lines = [f"question  {one_line(metadata.get('query', '(not in the log)'))}"]
    lines.append(
        f"model     {one_line(metadata.get('root_model', '?'))},"
        f" {metadata.get('context_size', '?')} characters"
    )
    if ended:
        how = (
            "answered"
            if ended.get("converged")
            else f"not finished: {one_line(ended.get('reason', '?'))}"
        )
        usage = ended.get("usage") or {}
        tokens = (usage.get("input_tokens") or 0) + (usage.get("output_tokens") or 0)
        lines.append(f"ended     {how}, {turns} steps, {tokens:,} tokens")
    else:
        lines.append(
            f"ended     (the log does not say: the run was killed, or goes on), {turns} steps"
        )
    return lines


def _turn(turn: dict[str, Any], *, full: bool) -> list[str]:
    title = f"── step {turn.get('iteration', '?')}" + (
        " (last call)" if turn.get("last_call") else ""
    )
    lines = ["", f"{title}, {turn.get('iteration_time') or 0:.1f} s ".ljust(72, "─")]
    if full:
        for message in turn.get("prompt") or []:
            lines += _part(f"{message.get('role', '?')}:", message.get("content", ""), full=True)
    lines += _part("model:", turn.get("response") or "", full=full)
    for number, block in enumerate(turn.get("code_blocks") or [], 1):
        result = block.get("result") or {}
        lines += _part(f"output of block {number} ({result.get('execution_time') or 0:.2f} s):",
                       result.get("stdout") or "(nothing)", full=full)  # fmt: skip
        if result.get("stderr"):
            lines += _part(f"error of block {number}:", result["stderr"], full=full)
    if turn.get("final_answer") is not None:
        lines += _part("answer:", str(turn["final_answer"]), full=full)
    return lines


def _part(title: str, text: str, *, full: bool) -> list[str]:
    lines = str(text).rstrip().splitlines()
    shown = lines if full or len(lines) <= SHOWN_LINES else lines[:SHOWN_LINES]
    rest = len(lines) - len(shown)
    return [
        title,
        *(f"  {line if full else line[:200]}" for line in shown),
        *([f"  … {rest} more lines"] if rest else []),
    ]


def _answered(made: Trajectory) -> bool:
    """Whether there is an answer: the model finished, and did not say that it cannot."""
    from rlm.llm import OFFLINE_UNANSWERED

    return made.converged and not (made.final_answer or "").startswith(OFFLINE_UNANSWERED)
