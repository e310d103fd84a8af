"""Packs as people have them: written by a script, in the manner of those that ship, and running
prose.

Beside each, the library that our vectors come from alone, on the same texts and all cores.
"""

from __future__ import annotations

import ast
import json
import random
import sysconfig
from collections.abc import Callable, Iterator
from itertools import count, cycle, islice
from pathlib import Path

from bench.loads import peer_vectors, seconds
from bench.report import table
from rlm.packs import import_pack
from rlm.packs.format import PackReader
from rlm.packs.source import shipped_packs
from rlm.store.open import open_store

Lines = Callable[[], Iterator[dict[str, object]]]
THINGS = (
    *(
        "SPARQL",
        "ontology",
        "class",
        "query",
        "label",
        "graph",
        "memory",
        "search",
        "index",
        "union",
    ),
    *("filter", "prefix", "domain", "range", "count", "path", "schema", "agent", "prompt", "token"),
)
PROSE_WORDS = 45


def run(folder: Path, sizes: tuple[int, ...] = (1_000, 10_000, 100_000)) -> str:
    """Import packs of these sizes. The peer comes last: it leaves threads behind."""
    folder.mkdir(parents=True)
    kinds: tuple[tuple[str, Lines, tuple[int, ...]], ...] = (
        ("written by a script, `json.dumps`", scripted, sizes),
        ("like the shipped packs: code, scope, provenance", shipped, sizes),
        ("docstrings of the standard library", prose, sizes[:1]),
    )
    done = []
    for name, lines, wanted in kinds:
        for size in wanted:
            records = list(islice(lines(), size))
            path = folder / f"pack{len(done)}_v1.jsonl"
            path.write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")
            with open_store(folder / f"{len(done)}.db") as db:
                took = seconds(lambda db=db, path=path: import_pack(path, db, trust=True))
                assert db.stats()["memories"] == len(records)
            done.append((name, took, [_text(record) for record in records]))
    rows = []
    for name, took, texts in done:
        alone = seconds(lambda texts=texts: peer_vectors(texts))
        words = sum(len(text.split()) for text in texts) / len(texts)
        rate = f"{len(texts) / took:,.0f}"
        rows.append(
            (name, f"{len(texts):,}", f"{words:.0f}", f"{took:.2f}", rate, f"{alone / took:.2f}×")
        )
    head = ("pack", "memories", "words", "seconds", "items a second", "÷ wordllama alone")
    return f"## Import of packs as people have them\n\n{table(head, rows)}\n"


def scripted() -> Iterator[dict[str, object]]:
    """A template and a running number, with no id, no hash and blanks between."""
    chance = random.Random(1)
    for number in count():
        one, two, three, four = chance.sample(THINGS, 4)
        yield {
            "title": f"Use {one} before {two} in case {number}",
            "description": f"When a task asks for {three} of {four}, case number {number}",
            "content": (
                f"1. Look up the {one} with search_entity.\n2. Describe it and check the {two}.\n"
                f"3. Run a {three} query with LIMIT 10 and verify the {four} number {number}."
            ),
            "tags": [one, two],
            "source_type": "success",
            "outcome": "success",
            "confidence": 0.7,
        }


def shipped() -> Iterator[dict[str, object]]:
    """The memories of the shipped packs, again and again, each told apart by a number."""
    known = [record for path in shipped_packs().values() for _, record in PackReader(path)]
    for number, record in zip(count(), cycle(known)):
        kept = {key: value for key, value in record.items() if key != "memory_id"}
        title = " ".join(str(record["title"]).split()[:9])
        yield {
            **kept,
            "title": f"{title} {number}",
            "content": f"{record['content']} Case {number}.",
        }


def prose() -> Iterator[dict[str, object]]:
    """Running text in which every tenth word is a new one: the worst case for anything that
    remembers words."""
    words: list[str] = []
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        tree = ast.parse(path.read_text("utf-8", "replace"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                words += (ast.get_docstring(node) or "").split()
    for start in range(0, len(words) - PROSE_WORDS, PROSE_WORDS):
        part = words[start : start + PROSE_WORDS]
        yield {
            "title": f"{' '.join(part[:6])[:150]} {start}",
            "description": " ".join(part[6:18]),
            "content": "\n".join(
                f"- {' '.join(part[at : at + 9])}" for at in range(18, PROSE_WORDS, 9)
            ),
        }


def _text(record: dict[str, object]) -> str:
    tags = record.get("tags")
    named = " ".join(map(str, tags)) if isinstance(tags, list) else ""
    return (
        f"{record['title']} {record['description']} {named} {record.get('task_query') or ''}"
        f" {record['content']}"
    )
