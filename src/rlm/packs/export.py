"""Packs out: the memories that are fit to ship, as bytes that depend on nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from rlm.errors import PackError, ValidationError
from rlm.packs.format import PackReader, encode_line, record_of, write_file
from rlm.packs.manifest import (
    PACK_SUFFIX,
    UNIVERSAL,
    Manifest,
    check_name,
    manifest_path,
    read_manifest,
    refuse_secret,
    write_manifest,
)
from rlm.packs.select import THRESHOLD, candidates, shared_content
from rlm.packs.signature import sign_manifest
from rlm.packs.source import open_pack
from rlm.packs.transfer import verify_pack
from rlm.store import gate
from rlm.store.backend import MemoryBackend
from rlm.store.generality import hardcoded_term
from rlm.store.types import MemoryItem, Record, Tenant

FROM_A_PACK = "it came from a pack"


@dataclass(frozen=True, slots=True)
class ExportReport(Record):
    """What was written; `left_out` counts, by reason, the memories that were not, and
    `left_out_memories` names them: id and title.

    A signature is a part of the manifest, so writing over a signed pack leaves no old one behind:
    without a key the pack is then unsigned, and `signature_lost` says that it was not so before.
    """

    path: str
    manifest_path: str
    name: str
    kind: str
    count: int
    sha256: str
    signed: bool
    signature_lost: bool
    left_out: dict[str, int]
    left_out_memories: dict[str, list[dict[str, str]]]


def export_pack(
    db: MemoryBackend,
    path: str | Path,
    *,
    name: str | None = None,
    ontology: str | None = None,
    threshold: float = THRESHOLD,
    key: str | Path | None = None,
    packed: bool = True,
) -> ExportReport:
    """Write a pack and its manifest, universal or about one ontology, signed with `key` if given.

    With `packed`, also what came from a pack. The same memories give the same bytes, and the store
    is not changed. The pack is written first, so that a manifest never speaks of a missing pack.
    Existing files are replaced, but never by nothing: when no memory is fit to share, PackError
    says why and nothing is written.
    """
    target = Path(path).expanduser()
    if not target.name.endswith(PACK_SUFFIX):
        raise PackError(f"cannot be a pack: end its name in {PACK_SUFFIX}", path=str(target))
    check_name(target.name.removesuffix(PACK_SUFFIX), path=target)
    called = check_name(name if name is not None else target.name.removesuffix(PACK_SUFFIX))
    refuse_secret(ontology or "", "ontology")
    lines, left_out = _lines(db, called, ontology, threshold, packed)
    if not lines:
        why = f"not written, for no memory is fit to share: {_why_none(left_out)}"
        raise PackError(why, path=str(target))
    data = b"".join(lines[memory_id] for memory_id in sorted(lines))
    digest = sha256(data).hexdigest()
    manifest = Manifest(called, target.name, len(lines), digest, ontology or UNIVERSAL)
    if key is not None:
        manifest = sign_manifest(manifest, key)
    was_signed = _is_signed(manifest_path(target))
    write_file(target, data)
    write_manifest(manifest_path(target), manifest)
    return ExportReport(
        path=str(target),
        manifest_path=str(manifest_path(target)),
        name=called,
        kind=manifest.kind,
        count=len(lines),
        sha256=manifest.sha256,
        signed=manifest.signature is not None,
        signature_lost=was_signed and manifest.signature is None,
        left_out={why: len(items) for why, items in left_out.items()},
        left_out_memories={why: [_name(each) for each in items] for why, items in left_out.items()},
    )


def _name(item: MemoryItem) -> dict[str, str]:
    return {"memory_id": item.memory_id, "title": item.title}


def _why_none(left_out: Mapping[str, Sequence[MemoryItem]]) -> str:
    hints = {FROM_A_PACK: f"{FROM_A_PACK} (--all, in Python packed=True, takes it too)"}
    reasons = [f"left out {len(each):,}: {hints.get(why, why)}" for why, each in left_out.items()]
    return "; ".join(reasons) or "the store has none outside the archive and the quarantine"


def _is_signed(path: Path) -> bool:
    """Whether there is a manifest with a signature; an unreadable one counts as unsigned."""
    try:
        return read_manifest(path).signature is not None
    except PackError:
        return False


def _lines(
    db: MemoryBackend, name: str, ontology: str | None, threshold: float, packed: bool
) -> tuple[dict[str, bytes], dict[str, list[MemoryItem]]]:
    found, others = candidates(db, ontology=ontology, threshold=threshold)
    why = "not from a success, a person, a pack or a confident judgment"
    left_out: dict[str, list[MemoryItem]] = {why: others} if others else {}
    lines: dict[str, bytes] = {}
    for candidate in found:
        if not packed and (
            candidate.item.source_type == "pack" or candidate.item.provenance.get("pack")
        ):
            left_out.setdefault(FROM_A_PACK, []).append(candidate.item)
            continue
        if candidate.bars:
            why = candidate.bars[0].partition(": ")[0]
            left_out.setdefault(why, []).append(candidate.item)
            continue
        try:
            item = _clean(candidate.item, db.tenant, universal=ontology is None)
            lines[item.memory_id] = encode_line(record_of(item, name))
        except (ValidationError, ValueError) as exc:
            why = f"cannot be a pack line: {exc}"[:120]
            left_out.setdefault(why, []).append(candidate.item)
    return lines, left_out


OF_A_SESSION = ("node", "turn_node", "turn", "turns", "repo", "commits")
"""What a memory's provenance says of the session that it came from."""


def _clean(item: MemoryItem, tenant: Tenant, *, universal: bool) -> MemoryItem:
    """Through the gate again, whose rules may be newer; a universal task names no IRI. What a
    session taught leaves without what else was said there, and where."""
    if item.origin == "distiller":
        kept = {key: each for key, each in item.provenance.items() if key not in OF_A_SESSION}
        content = shared_content(item)
        item = replace(item, content=content, task_query=None, session_id=None, provenance=kept)
    if universal and item.task_query and hardcoded_term(item.task_query):
        item = replace(item, task_query=None)
    return gate.admit_item(item, tenant, origin=item.origin or "export")


def seal_pack(path: str | Path, *, kind: str = UNIVERSAL, name: str | None = None) -> Manifest:
    """Give a pack file that a person wrote its manifest, after reading it strictly."""
    target = Path(path).expanduser()
    report = verify_pack(target)
    if not report.ok:
        raise PackError(str(report.problem))
    given = name if name is not None else target.name.removesuffix(PACK_SUFFIX)
    called = check_name(given, path=target)
    manifest = Manifest(called, target.name, report.count, str(report.sha256), kind)
    write_manifest(manifest_path(target), manifest)
    return manifest


def sign_pack(path: str | Path, key: str | Path) -> Manifest:
    """Sign the manifest of a pack, in place of any earlier signature; every line is read first."""
    source = open_pack(Path(path).expanduser())
    if source.manifest is None:
        why = "has no manifest to sign: export it again, or seal it first"
        raise PackError(why, path=str(source.path))
    reader = PackReader(source.path)
    for _ in reader:
        pass
    source.check_read(reader)
    manifest = sign_manifest(read_manifest(manifest_path(source.path)), key)
    write_manifest(manifest_path(source.path), manifest)
    return manifest
