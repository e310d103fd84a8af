"""What `make demo` shows: the main job on one screen, in a temporary folder, without a network.

Everything here is the public Python API and the command line, and prints what they returned.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

import rlm
from rlm import agent

console = Console(highlight=False)
ONTOLOGY = Path(__file__).resolve().parent.parent / "ontology" / "prov.ttl"
step = 0


def caption(text: str) -> None:
    global step
    step += 1
    console.print(f"\n{step}. {text}", style="bold", markup=False, soft_wrap=True)


def say(text: str) -> None:
    console.print(f"   {text}", markup=False, soft_wrap=True)


def because(why: rlm.Explanation) -> str:
    """The reasons for one hit, on one line."""
    words = ", ".join(list(why.matched)[:4]) or "none in common"
    return (
        f"words {why.lexical:.2f} ({words}) + meaning {why.cosine:.2f}, × confidence"
        f" {why.confidence:.2f}"
    )


def ask(store: rlm.SQLiteMemoryBackend, question: str, k: int) -> None:
    say(f"? {question}")
    for hit in store.retrieve(question, k, explain=True):
        say(f"  {hit.score:.2f}  {hit.item.title}")
        say(f"        why: {because(hit.why)}")


def show_packs(store: rlm.SQLiteMemoryBackend) -> None:
    caption("A new store. Two packs of procedures ship with rlm; import them.")
    for name in ("core_v1", "prov_v1"):
        report = rlm.import_pack(name, store)
        newest = store.list_items(limit=1)[0]
        say(f"{name}: {report.added} memories, {report.trust}; one of them: {newest.title}")


def show_adding(store: rlm.SQLiteMemoryBackend) -> None:
    caption("Write down how something was done here. A key slipped in; the store redacts it.")
    memory_id = store.add(
        rlm.MemoryItem(
            title="Upload big files in parts",
            description="A single large request times out behind the proxy.",
            content=(
                "1. Split the file into 8 MB parts.\n"
                "2. Send each part with `Authorization: Bearer dGhpcy1pcy1hLWRlbW8ta2V5LTQy`.\n"
                "3. Compare the checksums, then join."
            ),
            tags=["upload", "proxy"],
        )
    )
    memory = store.get(memory_id)
    assert memory is not None
    say(f"{memory.id}  {memory.title}  (source: {memory.source_type}, {memory.trust})")
    for line in memory.content.splitlines():
        say(f"  {line}")


def show_search(store: rlm.SQLiteMemoryBackend) -> None:
    caption("Ask with its words: BM25 finds them.")
    ask(store, "upload of big files fails", 1)
    caption("Ask with other words: the embedding finds the meaning. No telling word is shared.")
    ask(store, "associate two objects", 1)


def show_graph(store: rlm.SQLiteMemoryBackend) -> None:
    graph = store.graph
    caption(
        "The hypergraph: one edge joins any number of nodes. Here, a conversation in its order."
    )
    turns = (
        "Is the staging database ready for the migration?",
        "Yes, since Tuesday.",
        "Then it can start tonight.",
    )
    ids = graph.create_nodes([{"type": "snippet", "content": turn} for turn in turns])
    graph.create_edge(
        "context", "chat", [{"node_id": node_id, "role": "participant"} for node_id in ids]
    )
    say("? when was the staging database ready")
    for hit in graph.search("when was the staging database ready", 2, explain=True):
        assert hit.why is not None
        source = "its own words" if hit.why.matched else "the words of the turn beside it"
        say(f"  {hit.score:.2f}  {hit.node.content}  (found by {source})")


LINE = "Ship {n} came into the harbour with {cargo}.\n"
CARGO = ("salt", "wool", "copper", "wine", "timber")


def long_text() -> str:
    """Two million characters, and one line in them that matters."""
    lines = [LINE.format(n=n, cargo=CARGO[n % 5]) for n in range(45_000)]
    lines[31_000] = "The magic number of the harbour master is 48213.\n"
    return "".join(lines)


def show_run(store: rlm.SQLiteMemoryBackend) -> None:
    text = long_text()
    caption(
        "Ask about a text that fits in no prompt. The model writes code; the text stays behind a"
        " handle."
    )
    question = "What is the magic number of the harbour master?"
    say(f"? {question}  ({len(text):,} characters; model: offline)")
    result = agent.run(question, context=text, store=store, model="offline")
    for turn in result.result.iterations:
        for block in turn.code_blocks:
            lines, out = len(block.code.splitlines()), len(block.result.stdout)
            say(f"  step {turn.number}: {lines} lines of code ran; {out} characters came back")
    say(f"  answer: {result.answer.splitlines()[0]}")
    longest = max(
        len(message["content"]) for turn in result.result.iterations for message in turn.prompt
    )
    say(
        f"  the longest prompt had {longest:,} characters; the run is kept as"
        f" {result.trajectory_id}"
    )


def show_learning(store: rlm.SQLiteMemoryBackend) -> None:
    caption(
        "Ask an ontology. The run is judged; what worked becomes a procedure that the next one"
        " follows."
    )
    with (
        tempfile.TemporaryDirectory(prefix="rlm-demo-") as folder,
        rlm.open_store(Path(folder, "new.db")) as empty,
    ):
        for question in ("What is the Activity class?", "What is the Plan class?"):
            result = agent.run(
                question, ONTOLOGY, store=empty, model="offline", log_dir=Path(folder, "logs")
            )
            assert result.judgment is not None
            verdict = "success" if result.judgment["is_success"] else "failure"
            say(f"? {question}  ({result.iterations} steps, judged a {verdict})")
            say(f"  {result.answer.splitlines()[0]}")
            for used in result.memories_used:
                say(f"  followed “{used['title']}”, recalled with score {used['score']:.2f}")
            for made in result.new_memories:
                if made["action"] == "add":
                    learnt = empty.get(made["memory_id"])
                    assert learnt is not None
                    say(f"  learnt “{learnt.title}”:")
                    for line in learnt.content.splitlines():
                        say(f"    {line}")


def show_sandbox(store: rlm.SQLiteMemoryBackend) -> None:
    caption("The code runs in a sealed process. What it is refused:")
    with rlm.open_repl(limits=rlm.SandboxLimits(block_s=0.5)) as repl:
        for code in (
            "import socket",
            "open('/etc/passwd').read()",
            "().__class__.__mro__",
            "while True: pass",
        ):
            result = repl.run(code)
            say(f"  {code:<28} {result.error}: {result.stderr.splitlines()[-1][:56]}")


SESSION = (
    "Some invoices are off by a cent. Why?",
    "Each line is rounded before the sum. I will round in the template instead.",
    "No, round once, after the sum. From now on amounts are kept as integer cents.",
    "Done: amounts are integer cents, and the total rounds once.",
)


def write_transcript(path: Path) -> None:
    """A session as Claude Code leaves it: one JSON object a line, the person first."""
    lines = []
    for number, text in enumerate(SESSION):
        role = ("user", "assistant")[number % 2]
        said = {"role": role, "content": [{"type": "text", "text": text}]}
        when = f"2026-11-09T10:{number:02d}:00Z"
        line = {"type": role, "sessionId": "7d1e5c02", "timestamp": when, "message": said}
        lines.append(json.dumps(line) + "\n")
    path.write_text("".join(lines), "utf-8")


def rlm_command(folder: Path, *arguments: str) -> list[str]:
    """What the command prints, as lines; its store is in the folder."""
    env = {**os.environ, "HOME": str(folder), "RLM_MODEL": "offline"}
    command = [sys.executable, "-m", "rlm", *arguments, "--db", str(folder / "memory.db")]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def show_sessions(store: rlm.SQLiteMemoryBackend) -> None:
    caption("With a coding agent: what was decided in a session is found in the next.")
    with tempfile.TemporaryDirectory(prefix="rlm-demo-") as name:
        folder = Path(name)
        write_transcript(folder / "session.jsonl")
        rlm_command(folder, "queue", "add", "session.jsonl")
        say(f"$ rlm queue add session.jsonl; rlm worker --once  # you: {SESSION[2][:30]}…")
        say(f"  {rlm_command(folder, 'worker', '--once')[0]}")
        question = "why are amounts not stored as floats"
        say(f'$ rlm memory search "{question}"')
        found = rlm_command(folder, "memory", "search", question, "--kind", "decision", "-k", "1")
        for score, memory_id, title, _ in (line.split("\t") for line in found[1:]):
            say(f"  {score}  {memory_id}  {title}")


def show_health(store: rlm.SQLiteMemoryBackend) -> None:
    checks = store.check()
    bad = [check.name for check in checks if not check.ok]
    counts, engine = store.stats(), store.stats()["engine"]
    caption("Is the file sound?")
    verdict = (
        f"{len(checks)} of {len(checks)} checks passed" if not bad else f"FAILED: {', '.join(bad)}"
    )
    say(
        f"doctor: {verdict}; {counts['memories']} memories, {counts['nodes']} nodes, "
        f"{counts['hyperedges']} edges; SQLite {engine['sqlite']}, {engine['lexical']}"
    )


def main() -> None:
    console.print(
        "rlm is an agent that learns how: it answers over ontologies and long texts, and keeps what"
        " worked.",
        soft_wrap=True,
    )
    with tempfile.TemporaryDirectory(prefix="rlm-demo-") as folder, ExitStack() as stack:
        os.environ["RLM_CACHE_DIR"] = str(Path(folder, "cache"))  # nothing is left behind
        store = stack.enter_context(rlm.open_store(Path(folder, "memory.db"), embedder="static"))
        assert isinstance(store, rlm.SQLiteMemoryBackend)
        for show in (
            show_learning,
            show_run,
            show_packs,
            show_adding,
            show_search,
            show_graph,
            show_sandbox,
            show_health,
            show_sessions,
        ):
            show(store)
    here = Path(sys.executable).parent
    if not shutil.which("rlm") and (here / "rlm").exists():
        where = (
            Path("$PWD", here.relative_to(Path.cwd())) if here.is_relative_to(Path.cwd()) else here
        )
        console.print(
            f'\nSo that the shell finds rlm:  export PATH="{where}:$PATH"',
            markup=False,
            soft_wrap=True,
        )
    console.print("\nWhat to try next:", style="bold")
    for line in (
        'rlm run --context README.md --query "Where is the sandbox mentioned?"',
        "rlm eval --curriculum docs/curricula/harbour_v1.yaml --html report.html",
        "rlm setup claude --dry-run   (or codex, cursor: docs/coding-agents.md)",
    ):
        say(line)


if __name__ == "__main__":
    main()
