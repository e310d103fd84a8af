"""`rlm pack`: memories as files. `rlm.packs` does the work; this prints what it reports."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from rlm.cli.command import command, new_group, unit, words
from rlm.cli.output import number_of, progress
from rlm.cli.session import Session
from rlm.errors import PackError, ValidationError
from rlm.store.types import LEVELS

NAMED = 10
"""At most this many that were left out for one reason are named."""
app = new_group("Memories as files: share, sign, review, take back.")

_ABOUT = "About this ontology (default: universal memories)."
ontology_option = click.option("--ontology", metavar="NAME", help=_ABOUT)
threshold_option = unit("--threshold", "How general a memory must be [0.6].")
key_option = click.option("--key", metavar="FILE", help="The private key to sign with.")


@command(app, "import")
@click.argument("pack")
@words("--level", LEVELS, "Who sees the memories [project].", default="project")
@click.option("--trust", is_flag=True, help="Trust it without a signature: no quarantine.")
def import_(session: Session, pack: str, level: str, trust: bool) -> None:
    """Add the memories of a pack that the store lacks, all or nothing.

    PACK is a .jsonl file, its manifest, or the name of a pack that ships with rlm.
    A file of `rlm pack candidates` comes back with `rlm pack candidates FILE --apply`.
    """
    from rlm.packs import import_pack
    from rlm.packs.candidates import is_review_of
    from rlm.packs.source import count_lines, find_pack

    path = find_pack(pack)  # before a store is made
    bar = progress(f"importing {pack}", lambda: count_lines(path))
    with session.store() as store:
        if is_review_of(path, store):
            apply = f"`rlm pack candidates {shlex.quote(pack)} --apply{_same_store(session)}`"
            hint = f"if you reviewed it, {apply} changes them; if another person sent it, ask for a"
            why = f"holds candidates, memories of this store: {hint} pack"
            raise PackError(why, path=str(path))
        keys = session.settings.trusted_keys
        with bar as advance:
            report = import_pack(
                pack, store, level=level, trust=trust, trusted_keys=keys, on_progress=advance
            )
        which: Any = {"provenance": {"pack": report.name}, "level": level, "archived": True}
        archived = len(store.list_items(limit=2**31, **which)) if report.present else 0
    values = report.to_dict()
    session.show_fields({**values, "in_archive": archived}, values)
    if archived:
        see = f"`rlm memory list --archived --pack {report.name}`"
        session.notify(f"left in the archive: {archived:,}; see {see}")
    if report.trust == "quarantined" and report.added:
        why = "no key that you trust signed it"
        session.notify(f"{why}, so it waits in quarantine: see `rlm memory review`")


def _same_store(session: Session) -> str:
    """The options that chose this store, for a command to be run next."""
    given = {name: getattr(session, name) for name in ("db", "project", "team", "org")}
    return "".join(f" --{name} {shlex.quote(value)}" for name, value in given.items() if value)


@command(app, "export")
@click.argument("file")
@click.option("--name", metavar="NAME", help="The pack's name (default: the file's).")
@ontology_option
@threshold_option
@key_option
@click.option("--all", "packed", is_flag=True, help="Also what came from a pack.")
@click.option("--force", is_flag=True, help="Overwrite an existing pack.")
def export(
    session: Session, file: str, threshold: float | None, force: bool, **options: Any
) -> None:
    """Write the memories that are fit to share to FILE, with its manifest.

    Memories that came from a pack stay out, unless --all is given. So does what names a path in a
    home folder, and what an agent recorded and no person found helpful. What is left out is named.
    """
    from rlm.packs import export_pack
    from rlm.packs.export import FROM_A_PACK
    from rlm.packs.manifest import manifest_path
    from rlm.packs.select import UNCONFIRMED

    target = Path(file).expanduser()
    if target.is_dir():
        raise PackError("is a folder: name a file in it", path=file)
    for path in (target, manifest_path(target)):
        if path.exists() and not force:
            raise PackError("is there already: name another file, or add --force", path=str(path))
    session.require_folder(target, file)
    with session.reading() as store:
        report = export_pack(store, file, **options, **_threshold(threshold))
    values = {**report.to_dict(), "signed": "yes" if report.signed else "no"}
    values.pop("left_out")
    left_out = values.pop("left_out_memories")
    if values.pop("signature_lost"):
        sign = f"`rlm pack sign {file} --key KEY`"
        session.notify(f"the pack that was here was signed, this one is not: {sign}")
    session.show_fields(report.to_dict(), values)
    hints = {
        FROM_A_PACK: " (--all takes it too)",
        UNCONFIRMED: " (`rlm memory feedback ID --helpful` says so)",
    }
    for reason, named in left_out.items():
        hint = hints.get(reason, "")
        session.notify(f"left out {len(named)}: {reason}{hint}")
        if reason != FROM_A_PACK:
            _name_memories(session, named)


def _name_memories(session: Session, named: Sequence[Mapping[str, str]]) -> None:
    for each in named[:NAMED]:
        session.notify(f"  {each['memory_id']}  {each['title']}")
    if len(named) > NAMED:
        more = number_of(len(named) - NAMED, "other", "others")
        session.notify(f"  … and {more}: --json names all")


def _threshold(threshold: float | None) -> dict[str, Any]:
    """The threshold where one was given; the packs have a default of their own."""
    return {} if threshold is None else {"threshold": threshold}


@command(app, "verify")
@click.argument("pack")
def verify(session: Session, pack: str) -> int:
    """Read a pack as an import would, and say who signed it. Changes nothing."""
    from rlm.packs import verify_pack

    report = verify_pack(pack, trusted_keys=session.settings.trusted_keys)
    values = report.to_dict()
    shown = {key: value for key, value in values.items() if value is not False or key == "ok"}
    session.show_fields(values, shown)
    return 0 if report.ok else 1


@command(app, "list")
def list_packs(session: Session) -> None:
    """List the packs that were imported, and those that ship with rlm."""
    from rlm.packs import list_packs, shipped_packs

    rows = session.list_rows(list_packs, "no pack was imported yet")
    shipped = shipped_packs()
    named = {name: str(path) for name, path in shipped.items()}
    document = {"imported": [row.to_dict() for row in rows], "shipped": named}
    headers = ("no", "name", "imported", "memories", "added", "trust", "signer", "rolled back")
    table: list[tuple[object, ...]] = []
    for row in rows:
        counts = (row.imported_at[:10], row.item_count, row.added_count)
        ended = (row.rolled_back_at or "")[:10]
        table.append((row.pack_no, row.name, *counts, row.trust, row.signer or "", ended))
    session.show_table(document, headers, table, ("name", "signer"))
    session.notify(f"shipped, import by name: {', '.join(shipped) or 'none'}")


@command(app, "rollback")
@click.argument("pack", metavar="NAME|NO")
def rollback(session: Session, pack: str) -> None:
    """Archive what a pack added, unless it was changed since."""
    from rlm.packs import rollback_pack

    with session.store() as store:
        report = rollback_pack(store, pack)
    kept = ", ".join(report.kept)
    fields = {"name": report.name, "archived": report.archived, "kept": kept}
    session.show_fields(report.to_dict(), fields)
    if kept:
        session.notify("kept what was changed since the import")


@command(app, "sign")
@click.argument("file")
@key_option
@click.option("--seal", is_flag=True, help="Write the manifest of a hand-written file first.")
def sign(session: Session, file: str, key: str | None, seal: bool) -> None:
    """Sign a pack's manifest with a private key."""
    from rlm.packs import seal_pack, sign_pack

    if key is None:
        raise ValidationError("sign with which key? --key FILE; `rlm pack keygen FILE` makes one")
    if seal:
        seal_pack(file)
    manifest = sign_pack(file, key)
    public = dict(manifest.signature or {}).get("public_key")
    values = {"name": manifest.name, "sha256": manifest.sha256, "public_key": public}
    session.show_fields(values, {name.replace("_", " "): each for name, each in values.items()})


@command(app, "keygen")
@click.argument("file")
def keygen(session: Session, file: str) -> None:
    """Make a key pair: the private key in FILE, the public one in FILE.pub."""
    from rlm.packs import generate_key

    session.require_folder(Path(file).expanduser(), file)
    public = generate_key(file)
    session.show({"private_key": file, "public_key": public}, public)
    trusted = session.settings.trusted_keys
    session.notify(f"keep {file} to yourself; others add the line of {file}.pub to {trusted}")


@command(app, "candidates")
@click.argument("file")
@click.option("--apply", is_flag=True, help="Bring an edited file back.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@ontology_option
@threshold_option
def candidates(
    session: Session, file: str, apply: bool, force: bool, ontology: str | None, **more: Any
) -> None:
    """Write the candidates for a pack to FILE, for a person to edit; --apply brings it back."""
    from rlm.packs import apply_candidates, write_candidates

    if apply:
        with session.store() as store:
            values = apply_candidates(file, store).to_dict()
    elif Path(file).expanduser().exists() and not force:
        hint = "bring it back with --apply, or add --force"
        raise PackError(f"is there already, perhaps edited: {hint}", path=file)
    else:
        session.require_folder(Path(file).expanduser(), file)
        with session.reading() as store:
            least = _threshold(more["threshold"])
            report = write_candidates(store, file, ontology=ontology, **least)
        values = report.to_dict()
    session.show_fields(values)
    if apply and values["not_mentioned"]:
        kept = f"{values['not_mentioned']:,} that the file does not mention"
        session.notify(f"left as they are: {kept}; `rlm memory rm ID` archives one")
    elif not apply and values["count"]:
        again = f"`rlm pack candidates {shlex.quote(file)} --apply{_same_store(session)}`"
        session.notify(f"edit it, then {again}")
    elif not apply:
        session.notify("the file is empty: no memory is a candidate")
