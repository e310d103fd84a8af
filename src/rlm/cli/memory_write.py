"""The memory commands that change something: add, edit, rm, restore, review."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from rlm import config
from rlm.cli.command import count, unit, with_options, words
from rlm.cli.ids import find_memory, name_memory
from rlm.cli.output import print_json, print_table, print_text
from rlm.cli.session import Session, together
from rlm.cli.text import read_text
from rlm.errors import RLMError, ValidationError
from rlm.store.types import LEVELS, OUTCOMES, SOURCE_TYPES, MemoryItem, Scope

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend

FIELDS = (
    click.option("--title", metavar="TEXT", help="Up to 10 words."),
    click.option(
        "--description", metavar="TEXT", help="One sentence (default: the content's first line)."
    ),
    click.option("--content", metavar="TEXT", help="The steps to take; - reads stdin."),
    click.option("--file", metavar="PATH", help="Read the content from a file."),
    click.option("--tag", "tags", metavar="TAG", multiple=True, help="Repeat it for several."),
    click.option("--task", "task_query", metavar="TEXT", help="The task that taught it."),
    click.option("--ontology", metavar="NAME", help="It applies to this ontology only."),
    click.option(
        "--task-type", "task_types", metavar="NAME", multiple=True, help="It applies to such tasks."
    ),
    click.option("--tool", "tools", metavar="NAME", multiple=True, help="It needs this tool."),
    words("--outcome", OUTCOMES, "What kind of lesson it is."),
    unit("--confidence", "How sure it is."),
)
SCOPE = ("ontology", "task_types", "tools")
REMARKS = {
    "added": "added",
    "existed": "it was there already",
    "restored": "brought back from the archive",
}


@with_options(FIELDS)
@words("--source", SOURCE_TYPES, "Where it comes from [human].", default="human")
@words("--level", LEVELS, "Who sees it [project].", default="project")
def add(
    session: Session,
    title: str | None,
    content: str | None,
    file: str | None,
    source: str,
    **fields: Any,
) -> None:
    """Remember something. Prints its id; the same memory twice is one memory."""
    if not title:
        raise ValidationError("a memory needs a title: --title 'up to ten words'", field="title")
    text = read_text(content, file)
    if not text:
        hint = "--content TEXT, --content - for stdin, or --file PATH"
        raise ValidationError(f"a memory needs a content: {hint}", field="content")
    scope = Scope(fields.pop("ontology") or None, fields.pop("task_types"), fields.pop("tools"))
    fields["tags"] = list(fields["tags"])
    fields["description"] = fields["description"] or ""
    item = MemoryItem(title=title, content=text, source_type=source, scope=scope, **fields)
    with session.store() as store:
        before = _known(store, item)
        memory_id = store.add(item)
        stored = store.get(memory_id)
    status = "added" if before is None else "restored" if before.archived_at else "existed"
    if session.json:
        trust = None if stored is None else stored.trust
        redacted = [] if stored is None else _redacted(item, stored)
        print_json({"memory_id": memory_id, "status": status, "trust": trust, "redacted": redacted})
        return
    print_text(memory_id)
    session.talk(REMARKS[status])
    if stored is not None and (kinds := _redacted(item, stored)):
        session.talk(f"it held secrets ({', '.join(kinds)}), which were left out of the store")
    if stored is not None and stored.trust == "quarantined":
        session.talk(f"quarantined ({_reason(stored)}): see `rlm memory review`")


def _redacted(given: MemoryItem, stored: MemoryItem) -> list[str]:
    """The kinds of secrets that the gate took out."""
    marks = re.compile(r"\[redacted:([\w-]+)\]")

    def found(item: MemoryItem) -> set[str]:
        return set(
            marks.findall("\n".join((item.title, item.description, item.content, *item.tags)))
        )

    return sorted(found(stored) - found(given))


def _known(store: MemoryBackend, item: MemoryItem) -> MemoryItem | None:
    """The same memory at the same level, as the gate will see it."""
    from rlm.store.gate import admit_item

    found = store.get(admit_item(item, store.tenant, origin="cli").memory_id)
    return found if found is not None and found.level == item.level else None


@click.argument("memory_id", metavar="ID")
@with_options(FIELDS)
def edit(
    session: Session, memory_id: str, content: str | None, file: str | None, **fields: Any
) -> None:
    """Change a memory; without options, in $EDITOR.

    New words give it a new id, which is printed. A list option replaces the whole list; an empty
    text clears a field.
    """
    fields["content"] = read_text(content, file)
    changes = {name: _listed(value) for name, value in fields.items() if value not in (None, ())}
    scope = {name: changes.pop(name) for name in SCOPE if name in changes}
    with session.changing() as store:
        old = find_memory(store, memory_id)
        if scope:
            changes["scope"] = {**old.scope.to_dict(), **scope}
        if not changes:
            changes = _from_editor(session, old, store)
        new = store.update(old.memory_id, **changes) if changes else old
    if session.json:
        print_json({"memory_id": new.memory_id, "was": old.memory_id, "changed": sorted(changes)})
        return
    print_text(new.memory_id)
    session.talk(f"changed {', '.join(sorted(changes))}" if changes else "nothing changed")


def _listed(value: Any) -> Any:
    """A repeatable option as a list; one empty text stands for an empty list."""
    return [part for part in value if part] if isinstance(value, tuple) else value


def _from_editor(session: Session, item: MemoryItem, store: MemoryBackend) -> dict[str, Any]:
    """What a person changed in the form. A form that cannot be used is kept, and the error says
    where."""
    from rlm.cli.form import edit_text, keep_form, read_form, write_form
    from rlm.store.gate import amend_item

    if session.json:
        raise ValidationError("nothing to change: with --json, give the fields as options")
    text = edit_text(write_form(item))
    if text is None:
        return {}
    try:
        changes = read_form(text, item)
        amend_item(item, changes, store.tenant)
    except RLMError as exc:
        raise ValidationError(f"{exc}; what you wrote is kept in {keep_form(text)}") from exc
    return changes


@click.argument("memory_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--hard", is_flag=True, help="Remove it for good; needs --yes.")
@click.option("--yes", is_flag=True, help="Yes, for good.")
def remove(session: Session, memory_ids: tuple[str, ...], hard: bool, yes: bool) -> None:
    """Archive memories: `rlm memory restore` brings one back.

    All ids are looked up first; if one is unknown, nothing is changed.
    """
    if hard and not yes:
        raise ValidationError("--hard removes a memory for good: add --yes if that is meant")
    with session.changing() as store, together(store):
        found = dict(name_memory(store, each) for each in memory_ids)
        done = {each: store.purge(each) if hard else store.delete(each) for each in found}
    word = "removed" if hard else "archived"
    if session.json:
        print_json(
            [
                {"memory_id": each, "status": word if gone else "unchanged"}
                for each, gone in done.items()
            ]
        )
        return
    for each, gone in done.items():
        print_text(each)
        session.talk(f"{word}: {found[each]}" if gone else "it was in the archive already")


@click.argument("memory_id", metavar="ID")
def restore(session: Session, memory_id: str) -> None:
    """Bring a memory back from the archive."""
    with session.changing() as store:
        item = find_memory(store, memory_id)
        done = store.restore(item.memory_id)
    if session.json:
        print_json({"memory_id": item.memory_id, "status": "restored" if done else "unchanged"})
        return
    print_text(item.memory_id)
    session.talk(f"restored: {item.title}" if done else "it was not in the archive")


@click.option("--approve", metavar="ID|all", multiple=True, help="Trust it; repeatable.")
@click.option("--reject", metavar="ID|all", multiple=True, help="Archive it; repeatable.")
@count("--limit", default=50, doc="How many to list, at most.")
def review(session: Session, approve: tuple[str, ...], reject: tuple[str, ...], limit: int) -> int:
    """List what is in quarantine and why; approve or reject it."""
    if not approve and not reject:
        return _list_quarantine(session, limit)
    if {*approve, *reject} == {"all"} and session.lacks_store():
        return _tell_review(session, [], [], [])
    with session.changing() as store:
        good, bad = _named(store, approve), _named(store, reject)
        both = sorted(good.keys() & bad.keys())
        if both:
            raise ValidationError(f"{both[0]} cannot be approved and rejected at once")
        approved: list[str] = []
        kept: list[str] = []
        for item in good.values():
            (approved if _approve(store, item) else kept).append(item.memory_id)
        rejected = [item.memory_id for item in bad.values() if store.delete(item.memory_id)]
    if not good and not bad:
        session.talk("nothing is in quarantine")
    return _tell_review(session, approved, rejected, kept)


def _tell_review(
    session: Session, approved: list[str], rejected: list[str], kept: list[str]
) -> int:
    if session.json:
        print_json({"approved": approved, "rejected": rejected, "kept": kept})
    else:
        for verb, ids in (("approved", approved), ("rejected", rejected), ("kept", kept)):
            for each in ids:
                print_text(f"{verb}\t{each}")
    for each in kept:
        session.talk(
            f"{each} repeats recalled text and stays in quarantine: `rlm memory edit` it first"
        )
    return 1 if kept else 0


def _list_quarantine(session: Session, limit: int) -> int:
    found: list[MemoryItem] = []
    if not session.lacks_store():
        with session.reading() as store:
            found = store.list_items(trust="quarantined", limit=limit)
        if not found:
            session.talk("nothing is in quarantine")
    if session.json:
        print_json([_waiting(item) for item in found])
    elif found:
        rows = [(item.memory_id, item.title, _reason(item)) for item in found]
        print_table(("id", "title", "why"), rows, prose=("title", "why"))
        session.talk("read one with `rlm memory show ID`; then --approve ID or --reject ID")
    return 0


def _waiting(item: MemoryItem) -> dict[str, str]:
    return {
        "memory_id": item.memory_id,
        "title": item.title,
        "reason": _reason(item),
        "content": item.content,
    }


def _named(store: MemoryBackend, names: tuple[str, ...]) -> dict[str, MemoryItem]:
    """The quarantined memories that are meant, each looked up before any is changed."""
    if "all" in names:
        return {item.memory_id: item for item in store.list_items(trust="quarantined", limit=2**31)}
    found = {item.memory_id: item for item in (find_memory(store, name) for name in names)}
    for item in found.values():
        if item.trust != "quarantined":
            raise ValidationError(f"{item.memory_id} is not in quarantine: it is {item.trust}")
    return found


def _approve(store: MemoryBackend, item: MemoryItem) -> bool:
    """Whether it is trusted now: the gate keeps text that was recalled from memory in quarantine."""
    from rlm.store.gate import RECALLED_HEADING

    if RECALLED_HEADING in item.content:
        return False
    return store.approve(item.memory_id, by=config.user_name()).trust == "trusted"


def _reason(item: MemoryItem) -> str:
    because = item.provenance.get("quarantined_because")
    if because:
        return str(because)
    pack = item.provenance.get("pack")
    return (
        f"from the pack {pack}, which no trusted key signed"
        if pack
        else f"from {item.origin}, not yet reviewed"
    )
