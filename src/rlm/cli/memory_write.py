"""The memory commands that change something: add, import, edit, rm, restore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rlm.cli.command import unit, with_options, words
from rlm.cli.ids import find_memory, name_memory
from rlm.cli.output import number_of, print_json, print_text
from rlm.cli.session import Session
from rlm.cli.text import read_bytes, read_text
from rlm.errors import RLMError, ValidationError
from rlm.service.memory import STORED_KINDS
from rlm.store.secrets import redactions
from rlm.store.types import LEVELS, OUTCOMES, SOURCE_TYPES, MemoryItem, Scope

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend


def _text(name: str, doc: str, metavar: str = "TEXT", **more: Any) -> Any:
    return click.option(name, metavar=metavar, help=doc, **more)


def _list(name: str, field: str, metavar: str, doc: str) -> Any:
    return click.option(name, field, metavar=metavar, multiple=True, help=doc)


FIELDS = (
    _text("--title", "Up to 10 words."),
    _text("--description", "One sentence (default: the content's first line)."),
    _text("--content", "The steps to take; - reads stdin."),
    _text("--file", "Read the content from a file.", "PATH"),
    _list("--tag", "tags", "TAG", "A tag; repeatable."),
    click.option("--task", "task_query", metavar="TEXT", help="The task that taught it."),
    _text("--ontology", "It applies to this ontology only.", "NAME"),
    _list("--task-type", "task_types", "NAME", "It applies to tasks of this type; repeatable."),
    _list("--tool", "tools", "NAME", "It needs this tool; repeatable."),
    words("--outcome", OUTCOMES, "What kind of lesson it is."),
    unit("--confidence", "Its confidence."),
)
SCOPE = ("ontology", "task_types", "tools")
MESSAGES = {
    "added": "added",
    "existed": "it was there already",
    "restored": "brought back from the archive",
}
NAMED = 20
"""At most this many refusals of an import are printed one by one; `--json` has them all."""


@with_options(FIELDS)
@words("--source", SOURCE_TYPES, "Where it comes from [human].", default="human")
@words("--level", LEVELS, "Who sees it [project].", default="project")
@words("--kind", STORED_KINDS, "What it is [procedure].", default=STORED_KINDS[0])
def add(
    session: Session,
    title: str | None,
    content: str | None,
    file: str | None,
    kind: str,
    **fields: Any,
) -> None:
    """Remember something. Prints its id; the same memory twice is one memory."""
    from rlm.service.manager import MemoryManager
    from rlm.service.transcripts.builder import without_private

    if not title:
        raise ValidationError("a memory needs a title: --title 'up to ten words'", field="title")
    text = read_text(content, file)
    if not text:
        hint = "--content TEXT, --content - for stdin, or --file PATH"
        raise ValidationError(f"a memory needs a content: {hint}", field="content")
    scope = Scope(fields.pop("ontology") or None, fields.pop("task_types"), fields.pop("tools"))
    fields["tags"] = list(fields["tags"])
    fields["description"] = fields["description"] or ""
    source = fields.pop("source")
    item = MemoryItem(title=title, content=text, source_type=source, scope=scope, **fields)
    with session.store() as store:
        before = _find_same(store, without_private(item))
        memory_id = MemoryManager(store, person=True).record_item(item, kind).id
        stored = store.get(memory_id)
    status = "added" if before is None else "restored" if before.archived_at else "existed"
    redacted = [] if stored is None else sorted(_redactions(stored) - _redactions(item))
    trust = None if stored is None else stored.trust
    document = {"memory_id": memory_id, "status": status, "trust": trust, "redacted": redacted}
    session.show(document, memory_id)
    session.notify(MESSAGES[status])
    if redacted:
        session.notify(f"it held secrets ({', '.join(redacted)}), which were left out of the store")
    if stored is not None and trust == "quarantined":
        from rlm.cli.memory_review import quarantine_reason

        session.notify(f"quarantined ({quarantine_reason(stored)}): see `rlm memory review`")


def _redactions(item: MemoryItem) -> set[str]:
    """The kinds of secrets that were taken out of it."""
    return redactions(item.title, item.description, item.content, *item.tags)


def _find_same(store: MemoryBackend, item: MemoryItem) -> MemoryItem | None:
    """The same memory at the same level, as the gate will see it."""
    from rlm.store.gate import admit_item

    found = store.get(admit_item(item, store.tenant, origin="cli").memory_id)
    return found if found is not None and found.level == item.level else None


@click.argument("file")
@click.option("--trust", is_flag=True, help="I vouch for it: no quarantine.")
@words("--level", LEVELS, "Who sees the memories [project].", default="project")
def import_(session: Session, file: str, trust: bool, level: str) -> int:
    """Add the memories of a plain file: a JSON list, as an older MemoryStore wrote it, or one JSON
    object a line; - reads stdin.

    The memories wait in quarantine until somebody has read them, unless you vouch for the file with
    --trust. What the store has already stays as it is; an entry that is not a memory is refused,
    with why: then the exit code is 1. What `rlm pack export` wrote comes back with `rlm pack
    import`.
    """
    from rlm.store.itemfile import MOST_BYTES, import_records, read_records

    data = read_bytes(file, MOST_BYTES)
    records = read_records(data, "stdin" if file == "-" else file)  # before a store is made
    with session.store() as store:
        report = import_records(records, store, level=level, trust=trust)
    refused = len(report.refused)
    counts = {"added": report.added, "there already": report.present, "refused": refused}
    session.show_fields(report.to_dict(), counts)
    for refusal in report.refused[:NAMED]:
        title = f" ({refusal.title})" if refusal.title else ""
        session.notify(f"{refusal.place}{title}: {refusal.reason}")
    if refused > NAMED:
        session.notify(f"… and {number_of(refused - NAMED, 'other', 'others')}")
    if report.added and not trust:
        session.notify(
            "what was added waits in quarantine: see `rlm memory review`, or use --trust"
        )
    return 1 if refused else 0


@click.argument("memory_id", metavar="ID")
@with_options(FIELDS)
def edit(
    session: Session, memory_id: str, content: str | None, file: str | None, **fields: Any
) -> None:
    """Change a memory; without options, in $EDITOR.

    New words give it a new id, which is printed. A list option replaces the whole list; an empty
    text clears a field.
    """
    from rlm.service.manager import MemoryManager

    fields["content"] = read_text(content, file)
    changes = {name: _as_list(value) for name, value in fields.items() if value not in (None, ())}
    scope = {name: changes.pop(name) for name in SCOPE if name in changes}
    with session.changing() as store:
        old = find_memory(store, memory_id)
        if scope:
            changes["scope"] = {**old.scope.to_dict(), **scope}
        if not changes:
            changes = _edit_form(session, old, store)
        changed, new_id = sorted(changes), old.memory_id
        if changes:
            new_id = MemoryManager(store, person=True).update(new_id, **changes).id
    document = {"memory_id": new_id, "was": old.memory_id, "changed": changed}
    session.show(document, new_id)
    session.notify(f"changed {', '.join(changed)}" if changes else "nothing changed")


def _as_list(value: Any) -> Any:
    """A repeatable option as a list; one empty text stands for an empty list."""
    return [part for part in value if part] if isinstance(value, tuple) else value


def _edit_form(session: Session, item: MemoryItem, store: MemoryBackend) -> dict[str, Any]:
    """What a person changed in the form. One that cannot be used is kept; the error says where."""
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
@click.option("--hard", is_flag=True, help="Delete it permanently; needs --yes.")
@click.option("--yes", is_flag=True, help="Confirm --hard.")
def remove(session: Session, memory_ids: tuple[str, ...], hard: bool, yes: bool) -> None:
    """Archive memories: `rlm memory restore` brings one back.

    All ids are looked up first; if one is unknown, nothing is changed.
    """
    if hard and not yes:
        raise ValidationError("--hard deletes a memory permanently: add --yes to confirm")
    with session.changing() as store, store.together():
        found = dict(name_memory(store, each) for each in memory_ids)
        done = {each: store.purge(each) if hard else store.delete(each) for each in found}
    word = "removed" if hard else "archived"
    if session.json:
        states = {each: word if gone else "unchanged" for each, gone in done.items()}
        print_json([{"memory_id": each, "status": state} for each, state in states.items()])
        return
    for each, gone in done.items():
        print_text(each)
        session.notify(f"{word}: {found[each]}" if gone else "it was in the archive already")


@click.argument("memory_id", metavar="ID")
def restore(session: Session, memory_id: str) -> None:
    """Bring a memory back from the archive."""
    with session.changing() as store:
        item = find_memory(store, memory_id)
        done = store.restore(item.memory_id)
    status = "restored" if done else "unchanged"
    session.show({"memory_id": item.memory_id, "status": status}, item.memory_id)
    session.notify(f"restored: {item.title}" if done else "it was not in the archive")
