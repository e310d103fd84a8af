"""How well sessions of others are remembered without a model, and found by a bug report.

    python tools/measure_sessions.py FILE    three minutes for 80 sessions

FILE is JSON: `sessions`, each with id, project, date, turns ([role, text]) and, as its author reads
it, `decisions` and `rule`; `reports`, each with text, project, session and amended_by. Transcripts
are queued and distilled as by `rlm queue add` and `rlm worker`. In the control the sessions that
amended half of the rules are left out: nothing should come before the deciding session of these.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from rlm import MemoryBackend, Tenant, open_store
from rlm.mcp_server.tools import WEAK_HITS
from rlm.service import Distiller, MemoryManager

Entry = dict[str, Any]
Stores = dict[str, MemoryBackend]
Results = dict[str, dict[str, bool]]
FIRST, SAME = 3, 0.7
FOLDER = tempfile.TemporaryDirectory()
DOORS: dict[str, Entry] = {"command": {}, "MCP": {"floor": True, "weak": WEAK_HITS}}


def write_transcript(session: Entry, folder: Path) -> Path:
    """A session as Claude Code keeps it."""
    begun, path = datetime.fromisoformat(session["date"]), folder / f"{session['id']}.jsonl"
    common = {"sessionId": session["id"], "cwd": f"/work/{session['project']}"}
    with path.open("w", encoding="utf-8") as file:
        for number, (role, text) in enumerate(session["turns"]):
            content = text if role == "user" else [{"type": "text", "text": text}]
            message = {"id": f"m{number}", "role": role, "content": content}
            at = (begun + timedelta(minutes=number)).isoformat()
            line = {"type": role, "timestamp": at, "message": message, **common}
            print(json.dumps(line), file=file)
    return path


def load(sessions: list[Entry], *, as_one: bool) -> Stores:
    """The store of each project, with its sessions distilled in the order of their dates."""
    folder, opened, stores = Path(tempfile.mkdtemp(dir=FOLDER.name)), Stores(), Stores()
    for each in sorted(sessions, key=lambda each: str(each["date"])):
        name = "all" if as_one else each["project"]
        if name not in opened:
            opened[name] = open_store(str(folder / f"{name}.db"), tenant=Tenant("a", "b", name))
        stores[each["project"]] = opened[name]
        Distiller(opened[name]).queue_session(path=write_transcript(each, folder))
    for store in opened.values():
        if errors := Distiller(store).process().errors:
            sys.exit("\n".join(errors))
    return stores


def search(stores: Stores, report: Entry, query: str, door: str) -> list[str | None]:
    find = MemoryManager(stores[report["project"]]).search
    return [hit.source_session for hit in find(query, count_access=False, **DOORS[door])]


def measure_search(reports: list[Entry], stores: Stores, door: str) -> Results:
    results: Results = {"in the first three": {}, "first": {}, "amended first": {}}
    for each in reports:
        older, newer = each["session"], each["amended_by"]
        found = search(stores, each, each["text"], door)
        results["in the first three"][older] = not {older, newer}.isdisjoint(found[:FIRST])
        results["first"][older] = not {older, newer}.isdisjoint(found[:1])
        if newer:
            shown = [*(each for each in found if each in (older, newer)), older]
            results["amended first"][older] = shown[0] == newer
    return results


def measure_control(data: Entry, door: str, *, as_one: bool) -> Results:
    rules = {each["id"]: each["rule"] for each in data["sessions"]}
    first: Results = {"control, by report: first": {}, "control, by rule: first": {}}
    for reports in (data["reports"][::2], data["reports"][1::2]):
        left_out = {each["amended_by"] for each in reports}
        stores = load([s for s in data["sessions"] if s["id"] not in left_out], as_one=as_one)
        for each in reports:
            key = each["session"]
            for passed, query in zip(first.values(), (each["text"], rules[key]), strict=True):
                passed[key] = search(stores, each, query, door)[:1] == [key]
    return first


def is_same(one: str, other: str) -> bool:
    """Whether one holds the other, or most of the words of the shorter are in both."""
    short, long = sorted((re.findall(r"\w+", text.casefold()) for text in (one, other)), key=len)
    held = f" {' '.join(short)} " in f" {' '.join(long)} "
    return held or sum(word in long for word in short) >= SAME * len(short)


def measure_decisions(sessions: list[Entry], stores: Stores) -> None:
    listed = {(each["id"], text) for each in sessions for text in each["decisions"]}
    items = [store.list_items(tag="decision", archived=archived, limit=10_000)
             for store in set(stores.values()) for archived in (False, True)]  # fmt: skip
    taken = {(each.session_id, each.content.splitlines()[0]) for found in items for each in found}
    same = [(a, b) for a in taken for b in listed if a[0] == b[0] and is_same(a[1], b[1])]
    print(f"  decisions found: {len({b for _, b in same})} of {len(listed)}")
    print(f"  right: {len({a for a, _ in same})} of {len(taken)} taken for a decision")


if __name__ == "__main__":
    data = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    for together in (False, True):
        print("all in one project" if together else "each project by itself")
        loaded = load(data["sessions"], as_one=together)
        for door in DOORS:
            results = measure_search(data["reports"], loaded, door)
            for name, passed in (results | measure_control(data, door, as_one=together)).items():
                missed = " ".join(key for key, each in passed.items() if not each)
                print(f"  {door}: {name}: {sum(passed.values())} of {len(passed)}  {missed}")
        measure_decisions(data["sessions"], loaded)
