"""`rlm logs`: reading the log of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rlm.cli.command import command, new_group
from rlm.cli.output import one_line, print_json, print_text
from rlm.cli.session import Session

app = new_group("Logs of runs.")
SHOWN_LINES = 12


@command(app, "show")
@click.argument("file")
@click.option("--full", is_flag=True, help="Everything, uncut; also the prompts.")
def show(session: Session, file: str, full: bool) -> None:
    """Show a run turn by turn: what the model wrote, what its code printed, how it ended."""
    from rlm.loop import read_log

    metadata, turns = read_log(Path(file).expanduser())
    if session.json:
        print_json({"metadata": metadata, "iterations": turns})
        return
    for line in _head(metadata, len(turns)):
        print_text(line)
    for turn in turns:
        for line in _turn(turn, full=full):
            print_text(line)


def _head(metadata: dict[str, Any], turns: int) -> list[str]:
    ended = metadata.get("ended") or {}
    lines = [f"question  {one_line(metadata.get('query', '(not in the log)'))}"]
    lines.append(
        f"model     {one_line(metadata.get('root_model', '?'))}, {metadata.get('context_size', '?')} characters"
    )
    if ended:
        how = "answered" if ended.get("converged") else f"not finished: {one_line(ended.get('reason', '?'))}"
        usage = ended.get("usage") or {}
        tokens = (usage.get("input_tokens") or 0) + (usage.get("output_tokens") or 0)
        lines.append(f"ended     {how}, {turns} turns, {tokens:,} tokens")
    else:
        lines.append(f"ended     (the log does not say: the run was killed, or goes on), {turns} turns")
    return lines


def _turn(turn: dict[str, Any], *, full: bool) -> list[str]:
    title = f"── turn {turn.get('iteration', '?')}" + (" (last call)" if turn.get("last_call") else "")
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
