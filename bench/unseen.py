"""A planner on ontologies that it has never seen: questions of every kind are made for any file,
asked and checked.

    python -m bench.unseen FILE… [--per-kind 3] [--seed 1] [--failures]

The questions are drawn from several wordings a kind, with terms written as people write them
(`bench.unseen_names`). The same file, seed and number give the same questions.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.report import table
from bench.unseen_tasks import KINDS, Maker, make_tasks
from rlm.learning.verify import check_answer
from rlm.ontology.source import open_engine
from rlm.packs.curriculum import Task

__all__ = ["Maker", "Outcome", "ask_all", "make_tasks", "run", "summary"]


@dataclass(frozen=True)
class Outcome:
    """One question, what came of it, and in how many turns."""

    ontology: str
    task: Task
    answer: str
    ok: bool
    reason: str
    turns: int


def ask_all(
    path: Path, folder: Path, per_kind: int = 3, seed: int = 1
) -> tuple[list[Outcome], dict[str, str]]:
    """Make the questions of one ontology, ask them, check the answers; what was left out."""
    from rlm import agent

    extra = (
        {"enable_extraction": False}
        if "enable_extraction" in inspect.signature(agent.run).parameters
        else {}
    )
    found = []
    with open_engine(path) as engine:
        maker = Maker(engine, engine.meta(), per_kind, seed)
        for task in maker.tasks():
            assert task.verify is not None
            try:
                result = agent.run(task.query, path, folder / "unseen.db", model="offline", **extra)
                answer, turns = result.answer, result.iterations
            except Exception as exc:  # a run that fails is an outcome, and the others go on
                answer, turns = "", 0
                verdict = f"{type(exc).__name__}: {exc}"
            else:
                checked = check_answer(answer, task.verify, engine, maker.meta, task.query)
                verdict = "" if checked.ok else checked.reason
            found.append(Outcome(path.name, task, answer, not verdict, verdict, turns))
    return found, maker.skipped


def run(paths: Sequence[Path], per_kind: int = 3, seed: int = 1, *, failures: bool = False) -> str:
    """A table: share of right answers by ontology and kind."""
    outcomes: list[Outcome] = []
    notes = []
    with tempfile.TemporaryDirectory(prefix="rlm-unseen-") as name:
        for number, path in enumerate(paths):
            folder = Path(name) / str(number)
            folder.mkdir()
            made, skipped = ask_all(path, folder, per_kind, seed)
            outcomes += made
            notes += [f"- {path.name}: no {kind} ({why})" for kind, why in skipped.items()]
            right = sum(outcome.ok for outcome in made)
            print(f"{path.name}: {right} of {len(made)}", file=sys.stderr)
    text = f"{summary(outcomes)}\n"
    if notes:
        text += "\nNot asked:\n\n" + "\n".join(notes) + "\n"
    if failures:
        wrong = [outcome for outcome in outcomes if not outcome.ok]
        text += "\nWrong:\n\n" + "\n".join(
            f"- {each.ontology} {each.task.id} {each.task.tags[1:]}: {each.task.query}\n "
            f" {each.reason}\n  said: {' '.join(each.answer.split())[:200]}"
            for each in wrong
        )
    return text


def summary(outcomes: Sequence[Outcome]) -> str:
    """Rows: ontologies and all together; columns: kinds and all together."""
    kinds = [kind for kind in KINDS if any(each.task.kind == kind for each in outcomes)]
    by_name: dict[str, list[Outcome]] = defaultdict(list)
    for each in outcomes:
        by_name[each.ontology].append(each)
    rows = [[name, *_shares(mine, kinds)] for name, mine in by_name.items()]
    rows.append(["all", *_shares(outcomes, kinds)])
    return table(["ontology", *kinds, "all", "turns"], rows)


def _shares(outcomes: Sequence[Outcome], kinds: Sequence[str]) -> list[str]:
    cells = []
    for kind in (*kinds, None):
        mine = [each for each in outcomes if kind is None or each.task.kind == kind]
        cells.append(f"{sum(each.ok for each in mine)}/{len(mine)}" if mine else "–")
    turns = [each.turns for each in outcomes if each.turns]
    return [*cells, f"{sum(turns) / len(turns):.1f}" if turns else "–"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.unseen", description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--per-kind", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--failures", action="store_true", help="list what was wrong")
    given = parser.parse_args()
    print(run(given.paths, given.per_kind, given.seed, failures=given.failures))


if __name__ == "__main__":
    main()
