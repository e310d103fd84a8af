"""The manifest beside a pack: what the pack is, and the hash that it must have.

`NAME.manifest.json` lies next to `NAME.jsonl` and is canonical JSON. It holds no time, so that
exporting the same memories again gives the same bytes. Its `signature`, if any, is over the
canonical manifest without that key (`signature.py`); as the manifest holds the hash of the pack,
the signature covers every line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rlm._version import __version__
from rlm.errors import PackError
from rlm.packs.format import LineRefused, open_regular, parse_object, write_file
from rlm.store.identity import canonical_json
from rlm.store.secrets import scrub

FORMAT = 1
MANIFEST_BYTES = 1 << 16
PACK_SUFFIX = ".jsonl"
MANIFEST_SUFFIX = ".manifest.json"
UNIVERSAL = "universal"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
A_SECRET = "looks like a secret, such as a token or a key: give it another name"
_HEX = re.compile(r"[0-9a-f]{64}")
_SIGNATURE_KEYS = {"algorithm", "public_key", "signature"}


@dataclass(frozen=True, slots=True)
class Manifest:
    """`kind` is `universal` or the name of the one ontology that the pack is about."""

    name: str
    file: str
    count: int
    sha256: str
    kind: str = UNIVERSAL
    created_by: str = f"rlm {__version__}"
    format: int = FORMAT
    signature: Mapping[str, str] | None = None

    def unsigned_fields(self) -> dict[str, Any]:
        """Everything but the signature."""
        return {name: getattr(self, name) for name in _FIELDS if name != "signature"}

    def signed_bytes(self) -> bytes:
        """What a signature is over."""
        return canonical_json(self.unsigned_fields()).encode()

    def encode(self) -> bytes:
        """The bytes of the file."""
        signature = {} if self.signature is None else {"signature": dict(self.signature)}
        return f"{canonical_json({**self.unsigned_fields(), **signature})}\n".encode()


_FIELDS = tuple(spec.name for spec in fields(Manifest))


def check_name(name: str, *, path: Path | None = None) -> str:
    """A pack's name that is valid in a file name and in provenance, or PackError."""
    refuse_secret(name)
    if not NAME.fullmatch(name) or name.endswith(".") or ".." in name:
        hint = "use 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit"
        why = f"{name[:80]!r} cannot name a pack: {hint}"
        raise PackError(why, path=None if path is None else str(path))
    return name


def refuse_secret(name: str, of: str = "pack") -> None:
    """PackError for a name that the scrubber would change. The error does not repeat it."""
    if scrub(name)[1]:
        raise PackError(f"the name of the {of} {A_SECRET}")


def manifest_path(pack: Path) -> Path:
    """Where the manifest of a pack file lies."""
    return pack.with_name(pack.name.removesuffix(PACK_SUFFIX) + MANIFEST_SUFFIX)


def read_manifest(path: Path) -> Manifest:
    """Read one strictly: known keys only, and a file in the manifest's own folder."""
    with open_regular(path, MANIFEST_BYTES) as file:
        data = file.read(MANIFEST_BYTES + 1)
    try:
        values = parse_object(data)
        _check(values)
        return Manifest(**values)
    except LineRefused as exc:
        raise PackError(str(exc), path=str(path)) from exc.__cause__


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write one in place of what is there."""
    refuse_secret(manifest.kind, "ontology")
    write_file(path, manifest.encode())


def _check(values: Mapping[str, Any]) -> None:
    unknown = sorted(values.keys() - set(_FIELDS))
    missing = sorted(set(_FIELDS) - {"signature"} - values.keys())
    if unknown or missing:
        missing_key = f"the key {missing[0]!r} is missing" if missing else ""
        raise LineRefused(f"unknown key {unknown[0][:80]!r}" if unknown else missing_key)
    if type(values["format"]) is not int or values["format"] != FORMAT:
        why = f"has format {values['format']!r}; this rlm reads {FORMAT}: is a newer rlm needed?"
        raise LineRefused(why)
    for name in ("name", "file", "sha256", "kind", "created_by"):
        if not isinstance(values[name], str) or not 0 < len(values[name]) <= 200:
            raise LineRefused(f"{name} is {str(values[name])[:80]!r}, expected text")
    if type(values["count"]) is not int or values["count"] < 0:
        raise LineRefused(f"count is {str(values['count'])[:80]!r}, expected a number from 0 up")
    if not _HEX.fullmatch(values["sha256"]):
        raise LineRefused("sha256 is not 64 hexadecimal digits")
    _check_names(values)
    if "signature" in values:
        _check_signature(values["signature"])


def _check_names(values: Mapping[str, Any]) -> None:
    if any(scrub(values[name])[1] for name in ("name", "file", "kind", "created_by")):
        raise LineRefused(f"a name in it {A_SECRET}")
    for name in (values["name"], values["file"]):
        if not NAME.fullmatch(name.removesuffix(PACK_SUFFIX)) or ".." in name:
            why = f"{name[:80]!r} is not a plain name: a manifest describes its own folder only"
            raise LineRefused(why)
    if not values["file"].endswith(PACK_SUFFIX):
        why = f"file is {values['file'][:80]!r}, expected a name that ends in {PACK_SUFFIX}"
        raise LineRefused(why)


def _check_signature(signature: Any) -> None:
    if (
        not isinstance(signature, dict)
        or set(signature) != _SIGNATURE_KEYS
        or not all(isinstance(value, str) and len(value) <= 200 for value in signature.values())
    ):
        raise LineRefused(f"signature needs exactly the texts {', '.join(sorted(_SIGNATURE_KEYS))}")
