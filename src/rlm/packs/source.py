"""Where a pack comes from, and how far it is to be trusted.

A pack is named by the path of its file or of its manifest. A bare name can only mean a pack that
ships with the package: nothing is looked up in the current folder. Trust comes from bytes, never
from a name: a signature by a trusted key, or a hash equal to that of a shipped pack, or a person
who says so.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from io import BufferedReader, FileIO
from pathlib import Path

from rlm.errors import PackError
from rlm.packs.bootstrap import shipped_hashes, shipped_packs
from rlm.packs.format import PIECE_BYTES, PackReader, open_regular
from rlm.packs.manifest import (
    MANIFEST_SUFFIX,
    PACK_SUFFIX,
    Manifest,
    check_name,
    manifest_path,
    read_manifest,
    refuse_secret,
)
from rlm.packs.signature import check_signature, trusted_keys

_AGAIN = "get both files again"


@dataclass(frozen=True, slots=True)
class PackSource:
    """A pack file and the hash it had when opened; `key` is the public key that signed it."""

    path: Path
    name: str
    sha256: str
    manifest: Manifest | None
    key: str | None
    shipped: str | None

    def check_read(self, reader: PackReader) -> None:
        """PackError unless what was read is what was hashed, and what the manifest promised."""
        if reader.sha256 != self.sha256:
            raise PackError("changed while it was read: try again", path=str(self.path))
        if self.manifest is not None and reader.count != self.manifest.count:
            promised = f"its manifest says {self.manifest.count:,}"
            why = f"holds {reader.count:,} memories, {promised}: {_AGAIN}"
            raise PackError(why, path=str(self.path))

    @property
    def label(self) -> str:
        """What the record of imports says about where it came from."""
        return f"shipped:{self.shipped}" if self.shipped else str(self.path.absolute())


def open_pack(pack: str | Path) -> PackSource:
    """Find a pack; check hash and signature against its manifest. Reads no line yet."""
    path, manifest = _locate(pack)
    with _open(path, manifest) as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if manifest is None:
        name = check_name(path.name.removesuffix(PACK_SUFFIX), path=path)
        return PackSource(path, name, sha256, None, None, shipped_hashes().get(sha256))
    if manifest.file != path.name:
        hint = "give both files their names back, or delete the manifest, and the pack is unsigned"
        why = f"is the manifest of {manifest.file!r}: {hint}"
        raise PackError(why, path=str(manifest_path(path)))
    if manifest.sha256 != sha256:
        hint = f"{_AGAIN}, or if you changed it, delete {manifest_path(path).name}"
        why = f"its bytes are not those that its manifest promises (sha256): {hint}"
        raise PackError(why, path=str(path))
    key = check_signature(manifest, path=manifest_path(path))
    return PackSource(path, manifest.name, sha256, manifest, key, shipped_hashes().get(sha256))


def find_pack(pack: str | Path) -> Path:
    """The readable file of a pack, found by a manifest if need be. Raises PackError."""
    path, manifest = _locate(pack)
    _open(path, manifest).close()
    return path


def _open(path: Path, manifest: Manifest | None) -> BufferedReader[FileIO]:
    """The file, which is not empty, or has a manifest that says so."""
    file = open_regular(path)
    if manifest is None and not file.peek(1):
        file.close()
        why = "is empty, it holds no memory: get it again, or export it again"
        raise PackError(why, path=str(path))
    return file


def count_lines(path: Path) -> int:
    """How many lines a file has, without a look into them."""
    with open_regular(path) as file:
        return sum(piece.count(b"\n") for piece in iter(lambda: file.read(PIECE_BYTES), b""))


def _locate(pack: str | Path) -> tuple[Path, Manifest | None]:
    text = str(pack)
    refuse_secret(Path(text).name)
    marks = ("/", os.sep, PACK_SUFFIX, ".json")
    bare = isinstance(pack, str) and text not in (".", "..")
    bare = bare and not any(mark in text for mark in marks)
    if bare:
        shipped = shipped_packs()
        if text not in shipped:
            hint = f"known: {', '.join(shipped)}; for a file give its path"
            hint = f"{hint}, like ./{text[:80]}{PACK_SUFFIX}"
            raise PackError(f"no pack {text[:80]!r} ships with rlm; {hint}")
        path = shipped[text]
    else:
        path = Path(pack).expanduser()
    if path.is_dir():
        raise PackError("is a folder: name a file in it", path=str(path))
    if path.name.endswith(MANIFEST_SUFFIX):
        manifest = read_manifest(path)
        named = path.with_name(manifest.file)
        if not os.path.lexists(named):
            why = f"is the manifest of {manifest.file!r}: put that file beside it"
            raise PackError(why, path=str(path))
        return named, manifest
    beside = manifest_path(path)
    return path, read_manifest(beside) if os.path.lexists(beside) else None


def decide_trust(
    source: PackSource, *, trust: bool, trust_shipped: bool, keys_file: str | Path | None
) -> tuple[str, str | None]:
    """(trust, signer) that the memories of this pack get. `trust` is a person's word."""
    signer = None
    if source.key is not None:
        signer = trusted_keys(keys_file).get(source.key)
        if signer is not None:
            return "trusted", signer
        signer = f"unknown key {source.key}"
    if source.shipped and trust_shipped:
        return "trusted", "rlm"
    return ("trusted" if trust else "quarantined"), signer
