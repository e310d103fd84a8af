"""The memory commands that change nothing but the access count: search, list, show, stats, why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from rlm.cli.command import count, words
from rlm.cli.ids import SHORTEST, find_memory, find_node
from rlm.cli.output import print_fields, print_json, print_part, print_text
from rlm.cli.session import Session, elsewhere
from rlm.cli.text import read_stdin
from rlm.errors import NotFound
from rlm.service.memory import KINDS, STORED_KINDS, Memory
from rlm.store.types import LEVELS, OUTCOMES, SOURCE_TYPES, TRUSTS

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend
    from rlm.store.types import MemoryItem

MOST = 1_000
"""The most hits that one search gives."""
HIT_FIELDS = (
    "title", "description", "outcome", "source_type", "trust", "confidence", "tags", "content",
    "kind", "source_session", "changed",
)  # fmt: skip


@click.argument("query", nargs=-1, required=True)
@count("-k", default=5, most=MOST, doc="How many, at most.")
@click.option("--explain", is_flag=True, help="Explain the score of each hit.")
@words("--outcome", OUTCOMES, "Only lessons of this kind.")
@click.option("--ontology", metavar="NAME", help="Only what applies to this ontology.")
@words("--kind", KINDS, "Only memories of this kind, or turns of past sessions.")
def search(session: Session, query: tuple[str, ...], k: int, kind: str | None, **given: Any) -> int:
    """Find the memories that help with a task, and what was said in past sessions, best first.

    A single - reads the task from stdin. The exit code is 1 when nothing is found.
    """
    from rlm.service.manager import MemoryManager

    task = read_stdin() if query == ("-",) else " ".join(query)
    given |= {"limit": k, "kinds": (kind,) if kind else ()}
    hits = session.list_rows(
        lambda store: MemoryManager(store, person=True).search(task, **given),
        lambda store: f"nothing found{_why_nothing(store, task)}",
    )
    if given["explain"] and not session.json:
        for number, hit in enumerate(hits, start=1):
            print_text(f"{number}. {hit.id}  {hit.title}")
            print_text(f"   {_said(hit)}\n   {explain_text(hit.why)}")
    else:
        rows = [(f"{hit.score:.3f}", hit.id, hit.title, _said(hit)) for hit in hits]
        headers = ("score", "id", "title", "description")
        session.show_table([_hit_dict(hit) for hit in hits], headers, rows, headers[2:])
    return 0 if hits else 1


def _why_nothing(store: MemoryBackend, task: str) -> str:
    """What a person who expected a hit should know."""
    if not task.strip():
        return ": the task is empty"
    counts = store.stats()
    if waiting := counts["quarantined"]:
        return f"; {waiting:,} more wait in quarantine: `rlm memory review`"
    if counts["memories"]:
        return ""
    others = elsewhere(store, "memories") or " (see --project)"
    return f": the project {store.tenant.project} holds no memories{others}"


def _hit_dict(hit: Memory) -> dict[str, Any]:
    fields = {name: getattr(hit, name) for name in HIT_FIELDS}
    fields |= {"level": hit.scope} | ({} if hit.why is None else {"why": hit.why})
    return {"memory_id": hit.id, "score": round(hit.score, 6), **fields}


def _said(hit: Memory) -> str:
    return f"({hit.changed}) {hit.description}" if hit.changed else hit.description


def explain_text(why: Mapping[str, Any] | None) -> str:
    """The factors of a hit's score in one line."""
    from rlm.retrieval.explain import Explanation

    if why is None:
        return "it changes the next one, which it stands before"
    return str(Explanation.from_dict(why))


@words("--kind", STORED_KINDS, "Only memories of this kind.")
@words("--source", SOURCE_TYPES, "Only memories from this source.")
@words("--outcome", OUTCOMES, "Only lessons of this kind.")
@words("--trust", TRUSTS, "Only memories with this trust.")
@words("--level", LEVELS, "Only memories of this level.")
@click.option("--tag", metavar="TAG", help="Only what has this tag.")
@click.option("--ontology", metavar="NAME", help="Only what is scoped to this ontology.")
@click.option("--pack", metavar="NAME", help="Only memories from this pack.")
@click.option("--archived", is_flag=True, help="List the archive instead.")
@count("--limit", default=50, doc="How many, at most.")
@count("--offset", default=0, least=0, doc="How many to skip.")
def list_memories(
    session: Session, source: str | None, pack: str | None, limit: int, **filters: Any
) -> None:
    """List memories, newest first."""
    filters |= {"source_type": source, "provenance": {"pack": pack} if pack else None}

    def nothing(store: MemoryBackend) -> str:
        if filters["archived"]:
            return "the archive is empty"
        return f"no memories{'' if store.stats()['memories'] else elsewhere(store, 'memories')}"

    found = session.list_rows(lambda store: store.list_items(limit=limit, **filters), nothing)
    headers = ("id", "made", "kind", "level", "outcome", "trust", "conf", "title")
    documents = [{**item.to_dict(), "kind": item.kind} for item in found]
    rows = [_row(item) for item in found]
    session.show_table(documents, headers, rows, ("title",))
    if len(found) == limit:
        session.notify(f"the newest {limit}: more with --limit or --offset")


def _row(item: MemoryItem) -> tuple[object, ...]:
    confidence = f"{item.confidence or 0.0:.2f}"
    shown = (item.kind, item.level, item.outcome, item.trust, confidence, item.title)
    return (item.memory_id, item.created_at[:10], *shown)


@click.argument("memory_id", metavar="ID")
def show(session: Session, memory_id: str) -> None:
    """Show one memory whole, or one turn of a past session with its neighbours.

    The first 4 or more characters of its id are enough.
    """
    with session.reading() as store:
        found = find_memory_or_turn(store, memory_id)
    if isinstance(found, Memory):
        _show_turn(session, found)
        return
    data = found.to_dict()
    if session.json:
        print_json(data)
        return
    content, scope = data.pop("content"), data.pop("scope")
    limits = {key: value for key, value in scope.items() if value not in (None, [], True)}
    owner = [data.pop(name) for name in ("org", "team", "project")]
    fields = {"id": data.pop("memory_id"), **data, "scope": limits}
    fields["tenant"] = " / ".join(part for part in owner if part)
    print_fields([(name.replace("_", " "), _text(value)) for name, value in fields.items()])
    print_text(f"\n{content}")


def find_memory_or_turn(store: MemoryBackend, text: str) -> MemoryItem | Memory:
    """The memory, or the turn, that an id or its beginning names."""
    from rlm.service.manager import MemoryManager

    try:
        return find_memory(store, text)
    except NotFound as exc:
        try:
            return MemoryManager(store, person=True).get(find_node(store, text))
        except NotFound:
            raise exc from None


def with_memory_ids(document: Any) -> Any:
    """The same JSON with the name that an id of a memory has on the command line."""
    if isinstance(document, list):
        return [with_memory_ids(each) for each in document]
    if not isinstance(document, dict):
        return document
    named = {"memory_id" if name == "id" else name: each for name, each in document.items()}
    return {name: with_memory_ids(each) for name, each in named.items()}


def _show_turn(session: Session, turn: Memory) -> None:
    names = ("id", "kind", "source_session", "created_at")
    if session.json:
        print_json(with_memory_ids(turn.to_dict()))
        return
    print_fields([(name.replace("_", " "), getattr(turn, name)) for name in names])
    print_text(f"\n{turn.content}")


def _text(value: Any) -> Any:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_text(part)}" for key, part in value.items())
    if isinstance(value, float):
        return f"{value:.4g}"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value


def stats(session: Session) -> None:
    """Count what the store holds, and name the engines in use."""
    with session.reading() as store:
        counts = store.stats()
    texts = {name.replace("_", " "): _count_text(value) for name, value in counts.items()}
    session.show_fields(counts, texts)


def _count_text(value: Any) -> Any:
    if isinstance(value, dict):
        return ", ".join(f"{key} {part}" for key, part in value.items() if part is not None)
    return f"{value:,}" if isinstance(value, int) else value


# -- why

WHY = ("id", "title", "kind", "trust", "confidence", "source_session", "recorded_by", "created_at",
       "last_used")  # fmt: skip


@click.argument("words", metavar="ID|QUERY", nargs=-1, required=True)
@count("-k", default=5, most=50, doc="How many hits of a query, at most.")
def why(session: Session, words: tuple[str, ...], k: int) -> int:
    """Explain a memory: its session and turn, its signals, what it replaced or was replaced by.

    Of any other text: the factors of each hit, and what just missed. The exit code is 1 when
    nothing is found.
    """
    from rlm.service.manager import MemoryManager

    with session.reading() as store:
        asked = _whole_id(store, words[0]) if len(words) == 1 else " ".join(words)
        found = MemoryManager(store, person=True).why(asked, k)
    if session.json:
        print_json(with_memory_ids(found))
    elif "query" in found:
        _print_hits(found)
    else:
        _print_memory(found)
    if found.get("hits") == []:
        session.notify("nothing found")
        return 1
    return 0


def _whole_id(store: MemoryBackend, text: str) -> str:
    """The id that begins so; the text itself where there is none."""
    if len(text) < SHORTEST or not all(each in "0123456789abcdef-" for each in text):
        return text
    try:
        found = find_memory_or_turn(store, text)
    except NotFound:
        return text
    return found.id


def _print_hits(found: Mapping[str, Any]) -> None:
    for heading in ("hits", "near_misses"):
        if heading == "near_misses" and found[heading]:
            print_text("\njust missed")
        for number, hit in enumerate(found[heading], start=1):
            source = f", session {hit['source_session']}" if hit["source_session"] else ""
            day = hit["created_at"][:10]
            print_text(f"{number}. {hit['id']}  {hit['title']} ({hit['kind']}, {day}{source})")
            ranked = f"{hit['score']:.3f}"
            same = hit["why"] is None or ranked == f"{hit['why']['score']:.3f}"
            weighed = "" if same else f"; {ranked} beside the other hits"
            print_text(f"   {explain_text(hit['why'])}{weighed}")


def _print_memory(found: Mapping[str, Any]) -> None:
    memory = found["memory"]
    fields = {**memory, "recorded_by": found.get("recorded_by", "")}
    print_fields([(name.replace("_", " "), fields[name]) for name in WHY])
    if memory["kind"] == "turn":
        print_text(f"\n{memory['content']}")
        return
    if found["archived_at"]:
        print_text(f"archived at {found['archived_at']}")
    if turn := found["turn"]:
        place = f"turn {turn.get('n', '?')} of session {turn.get('session', '?')}"
        said = turn["content"].splitlines()
        if memory["kind"] == "decision":
            print_part(f"decided in {place}", [" ".join(" ".join(said).split())[:300]])
        else:
            print_part(f"learnt in {place}", said)
    print_part("signals", (_signal_line(each) for each in found["signals"]))
    back = "" if found["archived_at"] else ", and brought back since"
    for key, heading in (("supersedes", "supersedes"), ("superseded_by", f"superseded by{back}"),
                         ("changes", "changes in part")):  # fmt: skip
        lines = (
            f"{each['id']}  {each['title'] or '(gone)'}{_because(each)}" for each in found[key]
        )
        print_part(heading, lines)
    print_part(
        "changed in part by (`rlm memory review --refuse` with this one's id takes it back)",
        (f"{each['id']}{_because(each)}" for each in found["changed_by"]),
    )
    print_part(
        "perhaps superseded by (`rlm memory review` with this one's id: --accept if so, --changes"
        " if in part, else --refuse)",
        (f"{each['id']}{_because(each)}" for each in found["perhaps_changed_by"]),
    )
    print_part(
        "may supersede (`rlm memory review --accept ID` if so, else --refuse ID)",
        (f"{each['id']}  {each['reason']}" for each in found["may_supersede"]),
    )


def _because(link: Mapping[str, Any]) -> str:
    return f" ({link['reason']})" if link.get("reason") else ""


def _signal_line(row: Mapping[str, Any]) -> str:
    moved = f"{row['delta']:+.2f} → {row['after']:.2f}"
    return f"{row['at'][:10]}  {row['kind']}  {moved}  {row['reason'] or ''}".rstrip()
