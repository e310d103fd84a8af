"""The learning loop, offline: held-out tasks with and without memory, and what a run costs beyond
sandbox and load."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.report import table
from rlm import agent
from rlm.agent.parts import Graph
from rlm.evaluate import evaluate
from rlm.sandbox.process import ProcessRepl
from rlm.store.open import open_store

ROOT = Path(__file__).parent.parent
CURRICULA = ("prov_v1", "skos_v1", "harbour_v1")
QUESTIONS = (
    "What is the Activity class?",
    "What is the Entity class?",
    "Which properties have domain Activity?",
    "Which properties have domain Agent?",
    "How is Activity related to Agent?",
    "Find all subclasses of Influence.",
)
ROUNDS = 5


def run(folder: Path) -> str:
    """Two tables: what memory is worth on held-out tasks, and our own overhead."""
    rows: list[tuple[object, ...]] = []
    for name in CURRICULA:
        made = evaluate(
            ROOT / "docs" / "curricula" / f"{name}.yaml", model="offline", store_dir=folder / name
        )
        fewer = {each.arm: each for each in made.differences()}
        for arm in made.arms:
            found = made.summary(arm)
            change = fewer.get(arm)
            rows.append(
                (
                    name,
                    arm,
                    f"{found.successes} of {found.runs}",
                    f"{found.steps:.2f}",
                    (
                        ""
                        if change is None
                        else f"{change.steps:+.0%} [{_interval(change.steps_interval)}]"
                    ),
                    found.followed,
                    found.max_single_return,
                    found.context_size,
                )
            )
    head = ("held-out half of", "memory", "right", "steps", "steps, against off", "followed",
            "largest return", "largest context")  # fmt: skip
    return f"## Learning, offline\n\n{table(head, rows)}\n\n{overhead(folder / 'overhead')}\n"


def _interval(interval: Any) -> str:
    return ", ".join(f"{edge:+.0%}" for edge in interval)


def overhead(folder: Path) -> str:
    """One process, one store, warm: the whole run, and what is left of it without the sandbox and
    the ontology."""
    folder.mkdir(parents=True)
    whole, own = [], []
    with open_store(folder / "memory.db", embedder="static") as store, _timed() as spent:
        for question in QUESTIONS * ROUNDS:
            spent.update(sandbox=0.0, load=0.0)
            start = time.perf_counter()
            agent.run(
                question,
                ROOT / "ontology" / "prov.ttl",
                store=store,
                model="offline",
                log_dir=folder / "logs",
            )
            whole.append(time.perf_counter() - start)
            own.append(whole[-1] - spent["sandbox"] - spent["load"])
    own, whole = (
        own[len(QUESTIONS) :],
        whole[len(QUESTIONS) :],
    )  # the first round loads modules and weights
    rows = [
        ("a run, all of it", f"{statistics.median(whole) * 1e3:.0f} ms", ""),
        (
            "… without the sandbox and the ontology",
            f"{statistics.median(own) * 1e3:.0f} ms",
            "bar: 50 ms",
        ),
        ("… the longest of them", f"{max(own) * 1e3:.0f} ms", ""),
    ]
    return table(("what", "median", ""), rows)


@contextmanager
def _timed() -> Iterator[dict[str, float]]:
    """The seconds that the sandbox and the loading of ontologies take, as they go on."""
    spent = {"sandbox": 0.0, "load": 0.0}

    def timed(work: Callable[..., Any], name: str) -> Callable[..., Any]:
        def run(*args: Any, **words: Any) -> Any:
            start = time.perf_counter()
            try:
                return work(*args, **words)
            finally:
                spent[name] += time.perf_counter() - start

        return run

    names = ("__init__", "run", "set", "get", "variables", "close")
    kept = {name: getattr(ProcessRepl, name) for name in names}
    opened = Graph.__dict__["open"]
    try:
        for name in names:
            setattr(ProcessRepl, name, timed(kept[name], "sandbox"))
        Graph.open = classmethod(timed(opened.__func__, "load"))  # type: ignore[assignment]
        yield spent
    finally:
        for name in names:
            setattr(ProcessRepl, name, kept[name])
        Graph.open = opened  # type: ignore[method-assign]
