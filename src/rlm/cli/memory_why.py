"""`rlm memory why`: where a memory comes from, or why a search finds what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from rlm.cli.command import count
from rlm.cli.ids import SHORTEST
from rlm.cli.memory_read import find_memory_or_turn, with_memory_ids
from rlm.cli.output import print_fields, print_json, print_part, print_text
from rlm.cli.session import Session
from rlm.errors import NotFound

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend

FIELDS = ("id", "title", "kind", "trust", "confidence", "source_session", "created_at", "last_used")


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
    from rlm.retrieval.explain import Explanation

    for heading in ("hits", "near_misses"):
        if heading == "near_misses" and found[heading]:
            print_text("\njust missed")
        for number, hit in enumerate(found[heading], start=1):
            source = f", session {hit['source_session']}" if hit["source_session"] else ""
            day = hit["created_at"][:10]
            print_text(f"{number}. {hit['id']}  {hit['title']} ({hit['kind']}, {day}{source})")
            factors = str(Explanation.from_dict(hit["why"]))
            ranked = f"{hit['score']:.3f}"
            same = ranked == f"{hit['why']['score']:.3f}"
            weighed = "" if same else f"; {ranked} beside the other hits"
            print_text(f"   {factors}{weighed}")


def _print_memory(found: Mapping[str, Any]) -> None:
    memory = found["memory"]
    print_fields([(name.replace("_", " "), memory[name]) for name in FIELDS])
    if memory["kind"] == "turn":
        print_text(f"\n{memory['content']}")
        return
    if found["archived_at"]:
        print_text(f"archived at {found['archived_at']}")
    if turn := found["turn"]:
        place = f"turn {turn.get('n', '?')} of session {turn.get('session', '?')}"
        print_part(f"decided in {place}", [" ".join(turn["content"].split())[:300]])
    print_part("signals", (_signal_line(each) for each in found["signals"]))
    back = "" if found["archived_at"] else ", and brought back since"
    for key, heading in (("supersedes", "supersedes"), ("superseded_by", f"superseded by{back}")):
        lines = (f"{each['id']}  {each['title'] or '(gone)'}" for each in found[key])
        print_part(heading, lines)
    print_part(
        "may supersede (`rlm memory review --accept ID` if so, else --refuse ID)",
        (f"{each['id']}  {each['reason']}" for each in found["may_supersede"]),
    )


def _signal_line(row: Mapping[str, Any]) -> str:
    moved = f"{row['delta']:+.2f} → {row['after']:.2f}"
    return f"{row['at'][:10]}  {row['kind']}  {moved}  {row['reason'] or ''}".rstrip()
