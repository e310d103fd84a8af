"""The memory commands that change nothing but the access count: search, list, show, stats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rlm.cli.command import count, words
from rlm.cli.ids import find_memory
from rlm.cli.output import print_fields, print_json, print_table, print_text
from rlm.cli.session import Session, elsewhere
from rlm.cli.text import read_stdin
from rlm.store.types import LEVELS, OUTCOMES, SOURCE_TYPES, TRUSTS

if TYPE_CHECKING:
    from rlm.store.types import Hit, MemoryItem

MOST = 1_000
"""The most hits that one search gives."""


@click.argument("query", nargs=-1, required=True)
@count("-k", default=5, most=MOST, doc="How many, at most.")
@click.option("--explain", is_flag=True, help="Say why each came back.")
@words("--outcome", OUTCOMES, "Only lessons of this kind.")
@click.option("--ontology", metavar="NAME", help="Only what applies to this ontology.")
def search(
    session: Session,
    query: tuple[str, ...],
    k: int,
    explain: bool,
    outcome: str | None,
    ontology: str | None,
) -> None:
    """Find the memories that help with a task, best first. A single - reads the task from stdin."""
    task = read_stdin() if query == ("-",) else " ".join(query)
    hits: list[Hit] = []
    if not session.lacks_store():
        hits = _hits(session, task, k, explain, outcome, ontology)
        if not hits:
            session.talk(f"nothing found{_why_not(session, task)}")
    if session.json:
        print_json([_hit_dict(hit) for hit in hits])
        return
    rows = [
        (f"{hit.score:.3f}", hit.item.memory_id, hit.item.title, hit.item.description)
        for hit in hits
    ]
    if explain:
        for number, (row, hit) in enumerate(zip(rows, hits, strict=True), start=1):
            print_text(f"{number}. {row[1]}  {row[2]}\n   {row[3]}\n   {hit.why}")
    elif rows:
        print_table(("score", "id", "title", "description"), rows, prose=("title", "description"))


def _why_not(session: Session, task: str) -> str:
    """What a person who expected a hit should know."""
    if session.json:
        return ""
    if not task.strip():
        return ": the task is empty"
    with session.reading() as store:
        counts = store.stats()
        others = "" if counts["memories"] else elsewhere(store, "memories")
    waiting = counts["quarantined"]
    if waiting:
        return f"; {waiting:,} more wait in quarantine: `rlm memory review`"
    if counts["memories"]:
        return ""
    return f": the project {session.tenant.project} holds no memories{others or ' (see --project)'}"


def _hits(
    session: Session, query: str, k: int, explain: bool, outcome: str | None, ontology: str | None
) -> list[Hit]:
    from rlm.store.types import Scope

    scope = Scope(ontology=ontology) if ontology else None
    with session.reading() as store:
        return store.retrieve(query, k, scope=scope, outcome=outcome, explain=explain)


def _hit_dict(hit: Hit) -> dict[str, Any]:
    item = hit.item
    found: dict[str, Any] = {
        "memory_id": item.memory_id,
        "score": round(hit.score, 6),
        "title": item.title,
        "description": item.description,
        "outcome": item.outcome,
        "source_type": item.source_type,
        "level": item.level,
        "trust": item.trust,
        "confidence": item.confidence,
        "tags": item.tags,
        "content": item.content,
    }
    if hit.why is not None:
        found["why"] = hit.why.to_dict()
    return found


@words("--source", SOURCE_TYPES, "Only what came from there.")
@words("--outcome", OUTCOMES, "Only lessons of this kind.")
@words("--trust", TRUSTS, "Only what is trusted so far.")
@words("--level", LEVELS, "Only what is shared this far.")
@click.option("--tag", metavar="TAG", help="Only what has this tag.")
@click.option("--ontology", metavar="NAME", help="Only what is scoped to this ontology.")
@click.option("--pack", metavar="NAME", help="Only what this pack brought.")
@click.option("--archived", is_flag=True, help="The archive instead.")
@count("--limit", default=50, doc="How many, at most.")
@count("--offset", default=0, least=0, doc="How many to skip.")
def list_memories(
    session: Session, source: str | None, pack: str | None, limit: int, **filters: Any
) -> None:
    """List memories, newest first."""
    found: list[MemoryItem] = []
    if not session.lacks_store():
        with session.reading() as store:
            provenance = {"pack": pack} if pack else None
            found = store.list_items(
                source_type=source, provenance=provenance, limit=limit, **filters
            )
            others = (
                ""
                if found or session.json or store.stats()["memories"]
                else elsewhere(store, "memories")
            )
        if not found:
            session.talk("the archive is empty" if filters["archived"] else f"no memories{others}")
    if session.json:
        print_json([item.to_dict() for item in found])
        return
    if found:
        headers = ("id", "made", "level", "outcome", "trust", "conf", "title")
        print_table(headers, [_row(item) for item in found], prose=("title",))
    if len(found) == limit:
        session.talk(f"the newest {limit}: more with --limit or --offset")


def _row(item: MemoryItem) -> tuple[object, ...]:
    confidence = f"{item.confidence or 0.0:.2f}"
    day = item.created_at[:10]
    return item.memory_id, day, item.level, item.outcome, item.trust, confidence, item.title


@click.argument("memory_id", metavar="ID")
def show(session: Session, memory_id: str) -> None:
    """Show one memory whole. The first 4 or more characters of its id are enough."""
    with session.reading() as store:
        item = find_memory(store, memory_id)
    if session.json:
        print_json(item.to_dict())
        return
    data = item.to_dict()
    scope = {
        key: value for key, value in data.pop("scope").items() if value not in (None, [], True)
    }
    content = data.pop("content")
    for name in ("org", "team", "project"):
        data.pop(name)
    shown = [
        ("id", data.pop("memory_id")),
        *data.items(),
        *(("scope", scope),),
        ("tenant", _owner(item)),
    ]
    print_fields([(name.replace("_", " "), _text(value)) for name, value in shown])
    print_text(f"\n{content}")


def _owner(item: MemoryItem) -> str:
    return " / ".join(part for part in (item.org, item.team, item.project) if part)


def _text(value: Any) -> Any:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_text(part)}" for key, part in value.items())
    if isinstance(value, float):
        return f"{value:.4g}"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value


def stats(session: Session) -> None:
    """Count what there is, and say which engines are live."""
    with session.reading() as store:
        counts = store.stats()
    if session.json:
        print_json(counts)
        return
    print_fields([(name.replace("_", " "), _shown(value)) for name, value in counts.items()])


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return ", ".join(f"{key} {part}" for key, part in value.items() if part is not None)
    return f"{value:,}" if isinstance(value, int) else value
