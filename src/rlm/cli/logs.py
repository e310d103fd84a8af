"""`rlm logs`: reading the log of a run."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rlm.cli.command import command, count, new_group
from rlm.cli.output import one_line
from rlm.cli.run import query_lines, rows_found, verdict_words
from rlm.cli.session import Session, elsewhere
from rlm.errors import NotFound, RLMError

if TYPE_CHECKING:
    from rlm.store.types import Run, Trajectory

app = new_group("Logs of runs.")
SHOWN_LINES, SHOWN_CHARS = 12, 200


@command(app, "list")
@count("--limit", default=20, most=1000, doc="How many, at most.")
def list_(session: Session, limit: int) -> None:
    """List the runs that the store keeps, the newest first."""
    nothing = "no run is kept here yet: `rlm run` keeps every one"
    found = session.list_rows(
        lambda store: store.recent_runs(limit),
        lambda store: f"{nothing}{elsewhere(store, 'trajectories')}",
    )
    headers = ("id", "when (UTC)", "model", "steps", "answered", "question")
    documents, rows = [_to_dict(*each) for each in found], [_row(*each) for each in found]
    session.show_table(documents, headers, rows, ("question",))


def _to_dict(run: Run, trajectory: Trajectory) -> dict[str, Any]:
    return {
        "trajectory_id": trajectory.trajectory_id,
        "created_at": trajectory.created_at,
        "model": run.model,
        "query": trajectory.task_query,
        "iterations": trajectory.iteration_count,
        "converged": trajectory.converged,
        "log_path": trajectory.rlm_log_path,
    }


def _row(run: Run, trajectory: Trajectory) -> tuple[object, ...]:
    when = trajectory.created_at[:16].replace("T", " ")
    answered = "yes" if _is_answered(trajectory) else "no"
    steps = trajectory.iteration_count
    return trajectory.trajectory_id, when, run.model or "", steps, answered, trajectory.task_query


@command(app, "show")
@click.argument("run")
@click.option(
    "--full", is_flag=True, help="Everything, uncut: prompts where there is a log, all queries."
)
def show(session: Session, run: str, full: bool) -> None:
    """Show a run step by step: what the model wrote, what its code printed, how it ended.

    RUN is a log file, or the id of a run in the store (`rlm logs list`), which knows the steps also
    without a log.
    """
    from rlm.loop import read_log

    path = Path(run).expanduser()
    if not path.exists() and run.startswith("t-"):
        found = _find_run(session, run)
        if not found:
            where = f"there is no run {run} in {session.place}"
            raise NotFound(f"{where}: `rlm logs list` shows those that are")
        log = found[0][1].rlm_log_path
        if not log or not Path(log).is_file():
            _show_stored(session, *found[0], full=full)
            return
        path = Path(log)
    if not path.exists():
        hint = "`rlm logs list` shows those that are kept"
        raise NotFound(f"{run} is neither a log file nor the id of a run (t-…): {hint}")
    metadata, turns = read_log(path)
    calls = _stored_calls(session, metadata.get("trajectory_id"))
    lines = _head_lines(metadata, len(turns))
    for turn in turns:
        lines += _turn_lines(turn, full=full)
    document = {"metadata": metadata, "iterations": turns, "calls": calls}
    session.show(document, *lines, *_query_part(calls, full=full))


def _find_run(session: Session, trajectory_id: str) -> list[tuple[Run, Trajectory]]:
    with session.reading() as store:
        return store.recent_runs(1, trajectory_id=trajectory_id)


def _stored_calls(session: Session, trajectory_id: Any) -> list[dict[str, Any]]:
    """What a run asked of its ontology: the store keeps it, not the log."""
    found: list[tuple[Run, Trajectory]] = []
    if isinstance(trajectory_id, str):
        with suppress(RLMError):  # a log can be read where its store is not
            found = _find_run(session, trajectory_id)
    return list(found[0][1].artifact.get("calls") or ()) if found else []


def _show_stored(session: Session, run: Run, trajectory: Trajectory, *, full: bool) -> None:
    """What the store knows of a run without a log."""
    kept = trajectory.artifact
    how = "answered" if _is_answered(trajectory) else "not answered"
    if not trajectory.converged:
        how = f"not finished: {kept.get('reason', '')}"
    lines = [
        f"question  {one_line(trajectory.task_query)}",
        f"model     {one_line(run.model or '?')}",
        f"ended     {one_line(how)}, {trajectory.iteration_count} steps",
        *_verdict_lines(kept.get("judgment")),
        *_memory_lines(kept),
        *_sub_call_lines(kept.get("leakage")),
    ]
    steps = [*kept.get("key_steps", ()), *kept.get("refused", ())]
    for step in sorted(steps, key=lambda step: int(step.get("iteration") or 0)):
        lines += ["", f"step {step.get('iteration')}  {one_line(step.get('action', ''))}"]
        lines += [f"        {one_line(step.get('outcome', ''))}"]
    lines += [
        "",
        "answer:",
        *(f"  {part}" for part in (trajectory.final_answer or "").splitlines()),
        *_query_part(kept.get("calls"), full=full),
    ]
    session.show({"run": asdict(run), "trajectory": asdict(trajectory)}, *lines)
    session.notify(
        "no log was written of this run (--log-dir DIR keeps one): replies and outputs are not kept"
        + ("" if full else "; --full has every query whole")
    )


def _memory_lines(kept: dict[str, Any]) -> list[str]:
    """The memories that stood in the prompt, and which the model says it followed."""
    followed = (kept.get("uses") or {}).get("followed", ())
    titles = (kept.get("preview") or "").splitlines()
    numbered = zip(titles, kept.get("injected") or (), strict=False)  # a long preview is cut
    return [
        f"memory    {one_line(title)} ({memory_id}){', followed' if number in followed else ''}"
        for number, (title, memory_id) in enumerate(numbered, 1)
    ]


def _sub_call_lines(leakage: dict[str, Any] | None) -> list[str]:
    tools = (leakage or {}).get("by_tool", {})
    asked = {name: tools[name] for name in ("llm_query", "rlm_query") if name in tools}
    said = (f"{name} ×{each['calls']:,}, {each['chars']:,} characters came back"
            for name, each in asked.items())  # fmt: skip
    return [f"sub-calls {'; '.join(said)}"] if asked else []


def _head_lines(metadata: dict[str, Any], turns: int) -> list[str]:
    ended = metadata.get("ended") or {}
    how = f"(the log does not say: the run was killed, or is still running), {turns} steps"
    if ended:
        usage = ended.get("usage") or {}
        tokens = (usage.get("input_tokens") or 0) + (usage.get("output_tokens") or 0)
        how = f"not finished: {one_line(ended.get('reason', '?'))}"
        how = f"{'answered' if ended.get('converged') else how}, {turns} steps, {tokens:,} tokens"
    size = f"{metadata.get('context_size', '?')} characters"
    return [
        f"question  {one_line(metadata.get('query', '(not in the log)'))}",
        f"model     {one_line(metadata.get('root_model', '?'))}, {size}",
        f"ended     {how}",
        *_verdict_lines(metadata.get("judgment")),
    ]


def _query_part(calls: list[dict[str, Any]] | None, *, full: bool) -> list[str]:
    """What the answer rests on, whole, also where the steps are cut; and what else was asked."""
    lines = list(query_lines(calls or (), every=full))
    others = [call for call in calls or () if not call["decisive"]]
    if others and not full:
        lines += ["Also asked:", *map(_call_line, others)]
    return ["", *lines] if lines else []


def _call_line(call: dict[str, Any]) -> str:
    """A call on one line, without the PREFIX lines of its query."""
    query = " ".join(re.sub(r"(?m)^PREFIX .*\n", "", call["query"]).split())
    given = query or ", ".join(f"{name}={value!r}" for name, value in call["arguments"].items())
    text = f"{call['tool']}{rows_found(call)}: {one_line(given)}"
    return f"  {text}" if len(text) <= SHOWN_CHARS else f"  {text[:SHOWN_CHARS]}…"


def _verdict_lines(judgment: dict[str, Any] | None) -> list[str]:
    """What was said of the run, and which memories it cited that it was not given."""
    if not judgment:
        return []
    lines = [f"judged    {verdict_words(judgment)}: {one_line(judgment['reason'])}"]
    if unknown := judgment.get("unknown_uses"):
        lines.append(f"cites     {one_line(', '.join(unknown))}, which its prompt does not have")
    return lines


def _turn_lines(turn: dict[str, Any], *, full: bool) -> list[str]:
    last = " (last call)" if turn.get("last_call") else ""
    title = f"── step {turn.get('iteration', '?')}{last}, {turn.get('iteration_time') or 0:.1f} s "
    lines = ["", title.ljust(72, "─")]
    for message in (turn.get("prompt") or []) if full else []:
        lines += _part(f"{message.get('role', '?')}:", message.get("content", ""), full=True)
    lines += _part("model:", turn.get("response") or "", full=full)
    for number, block in enumerate(turn.get("code_blocks") or [], 1):
        result = block.get("result") or {}
        head = f"output of block {number} ({result.get('execution_time') or 0:.2f} s):"
        lines += _part(head, result.get("stdout") or "(nothing)", full=full)
        if result.get("stderr"):
            lines += _part(f"error of block {number}:", result["stderr"], full=full)
    if turn.get("final_answer") is not None:
        lines += _part("answer:", str(turn["final_answer"]), full=full)
    return lines


def _part(title: str, text: str, *, full: bool) -> list[str]:
    """A title and the text below it, cut unless it is to be shown in full."""
    lines = str(text).rstrip().splitlines()
    if full:
        return [title, *(f"  {line}" for line in lines)]
    rest = len(lines) - SHOWN_LINES
    more = [f"  … {rest} more lines"] if rest > 0 else []
    return [title, *(f"  {line[:SHOWN_CHARS]}" for line in lines[:SHOWN_LINES]), *more]


def _is_answered(trajectory: Trajectory) -> bool:
    """Whether there is an answer: the model finished, and did not say that it cannot."""
    from rlm.llm import OFFLINE_UNANSWERED

    answer = trajectory.final_answer or ""
    return trajectory.converged and not answer.startswith(OFFLINE_UNANSWERED)
