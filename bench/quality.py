"""Retrieval quality on the two development sets, through the real store.

How a text is laid out in a memory must not matter much, so four layouts are tried. The constants
were chosen with a view of both halves (docs/experiments.md), so the halves show the spread, not a
clean test; that page also has the numbers of a setting tuned on one half only and reported on the
other.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from bench.report import table
from rlm.store.document import item_text
from rlm.store.open import open_store
from rlm.store.types import MemoryItem

DEPTH = 50
Labelled = list[tuple[str, str]]


def load(folder: Path) -> dict[str, tuple[Labelled, Labelled]]:
    """(memories, queries) of each set, as its README says."""
    first: dict[str, str] = {}
    queries: Labelled = []
    for line in (folder / "webarena_intents.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        label = str(row["template_id"])
        if label in first:
            queries.append((row["intent"], label))
        else:
            first[label] = row["intent"]
    banking = [
        json.loads(line)
        for line in (folder / "banking_intents.jsonl").read_text("utf-8").splitlines()
    ]
    return {
        "webarena": ([(text, label) for label, text in first.items()], queries),
        "banking": tuple(
            [(row["text"], row["intent"]) for row in banking if row["role"] == role]
            for role in ("memory", "query")
        ),  # type: ignore[dict-item]
    }


def layout(kind: str, text: str, number: int) -> MemoryItem:
    """One memory whose text lies in the description, the task, in both description and content, or
    in the content."""
    words = text.split()
    title, note = " ".join(words[:10])[:200], f"note {number}"
    if kind == "description":
        return MemoryItem(title=title, description=text, content=note)
    if kind == "task":
        return MemoryItem(title=f"Note {number}", description="", content=note, task_query=text)
    if kind == "both":
        return MemoryItem(title=title, description=text, content=text)
    return MemoryItem(title=" ".join(words[:8])[:200], description="", content=text)


LAYOUTS = ("description", "task", "both", "content")


def reciprocal_ranks(
    rankings: list[list[str]], memories: dict[str, set[str]], queries: Labelled
) -> np.ndarray:
    out = []
    for ranking, (_, label) in zip(rankings, queries, strict=True):
        places = (n for n, memory_id in enumerate(ranking, 1) if label in memories[memory_id])
        out.append(1 / next(places, float("inf")))
    return np.array(out)


def measure(
    folder: Path, memories: Labelled, queries: Labelled, kind: str, embedder_kind: str = "static"
) -> dict[str, np.ndarray]:
    """Reciprocal ranks by words, by meaning, and fused."""
    items = [layout(kind, text, number) for number, (text, _) in enumerate(memories)]
    out = {}
    for signal, embedder in (("lexical", "none"), ("fused", embedder_kind)):
        with open_store(folder / f"{kind}-{signal}.db", embedder=embedder) as db:
            labels: dict[str, set[str]] = {}
            for memory_id, (_, label) in zip(db.add_many(items), memories, strict=True):
                labels.setdefault(memory_id, set()).add(label)
            rankings = [[hit.item.memory_id for hit in db.retrieve(q, k=DEPTH)] for q, _ in queries]
            out[signal] = reciprocal_ranks(rankings, labels, queries)
            if signal == "fused" and db.embedder is not None:
                vectors = db.embedder.embed_documents([item_text(item) for item in items])
                asked = db.embedder.embed([q for q, _ in queries])
                order = np.argsort(-(asked @ vectors.T), axis=1, kind="stable")
                ids = [item.memory_id for item in items]
                nearest = [[ids[place] for place in row[:DEPTH]] for row in order]
                out["semantic"] = reciprocal_ranks(nearest, labels, queries)
    return out


def dialogues(folder: Path, path: Path, model: str = "static") -> str:
    """Recall@10 of the turns that answer a question: turns are nodes, sessions ordered edges."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    shares: dict[str, list[float]] = {"words only": [], "fused": []}
    for number in sorted({row["dialogue"] for row in rows}):
        turns = [r for r in rows if r["kind"] == "turn" and r["dialogue"] == number]
        asked = [r for r in rows if r["kind"] == "question" and r["dialogue"] == number]
        for signal, embedder in (("words only", "none"), ("fused", model)):
            with open_store(folder / f"d{number}-{embedder}.db", embedder=embedder) as db:
                graph = db.graph
                ids = graph.create_nodes(
                    {"type": "snippet", "content": f"{turn['speaker']}: {turn['text']}"}
                    for turn in turns
                )
                names = dict(zip(ids, (turn["id"] for turn in turns), strict=True))
                for session in dict.fromkeys(turn["session"] for turn in turns):
                    members = [
                        {"node_id": node, "position": place}
                        for place, (node, turn) in enumerate(zip(ids, turns, strict=True))
                        if turn["session"] == session
                    ]
                    graph.create_edge("context", session, members)
                for row in asked:
                    found = {names[hit.node.id] for hit in graph.search(row["question"], 10)}
                    evidence = set(row["evidence"])
                    shares[signal].append(len(evidence & found) / len(evidence))
    cells = [(signal, f"{np.mean(values):.3f}") for signal, values in shares.items()]
    found = table(("signal", "recall@10"), cells)
    return f"Dialogues: recall@10 of the turns that answer.\n\n{found}\n"


def run(folder: Path, data: Path, model: str = "static") -> str:
    title = "## Retrieval quality" + ("" if model == "static" else f", RLM_EMBEDDER={model}")
    if not data.is_dir():
        return f"{title}\n\nNot measured: the development data is not beside this checkout.\n"
    folder.mkdir(parents=True)
    rows = []
    for name, (memories, queries) in load(data).items():
        for kind in LAYOUTS:
            (folder / name).mkdir(exist_ok=True)
            found = measure(folder / name, memories, queries, kind, model)
            fused = found["fused"]
            rows.append(
                (name, kind, *(f"{found[s].mean():.3f}" for s in ("lexical", "semantic", "fused")),
                 f"{fused[::2].mean():.3f}", f"{fused[1::2].mean():.3f}")
            )  # fmt: skip
    head = (
        "set",
        "text lies in",
        "words only",
        "meaning only",
        "fused",
        "fused, even queries",
        "fused, odd queries",
    )
    ranked = f"Mean reciprocal rank in the first {DEPTH}.\n\n{table(head, rows)}\n"
    return f"{title}\n\n{ranked}\n{dialogues(folder, data / 'dialogues.jsonl', model)}"
