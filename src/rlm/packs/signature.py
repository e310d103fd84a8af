"""Ed25519 signatures of packs.

A private key is a PEM file that only its owner may read. A public key is 32 bytes as base64, and a
trusted one has a line `name base64` in the trusted keys file (`config.Settings.trusted_keys`). A
signature that does not fit is always an error: it never makes a pack merely unsigned.
"""

from __future__ import annotations

import base64
import binascii
import importlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rlm import config
from rlm.errors import PackError
from rlm.packs.format import open_regular
from rlm.packs.manifest import A_SECRET, Manifest
from rlm.store.secrets import scrub

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ALGORITHM = "ed25519"
KEY_FILE_BYTES = 1 << 20
_MAKE_ONE = "`rlm pack keygen FILE` makes one"
_SIGN_AGAIN = "get both files again, or have the pack signed again"


def _require_cryptography() -> None:
    """PackError, with the line that installs it, where the package is missing or broken."""
    try:
        importlib.import_module("cryptography.hazmat.primitives.asymmetric.ed25519")
    except ImportError as exc:
        why = f"signatures need the package cryptography, which cannot be loaded ({exc})"
        raise PackError(f'{why}: pip install "cryptography>=44"') from exc


def generate_key(path: str | Path) -> str:
    """Write a private key to `path` (PEM, mode 600), `NAME base64` to `path.pub`; the base64.

    Never overwrites: an existing file raises PackError and nothing is written.
    """
    _require_cryptography()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    secret, public = Path(path).expanduser(), Path(f"{path}.pub").expanduser()
    if public.exists():
        raise PackError("is there already: name another file", path=str(public))
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _create(secret, pem, 0o600)
    text = _public_text(key)
    safe = (char if char.isalnum() or char in "._-" else "-" for char in secret.stem)
    name = "".join(safe) or "key"
    _create(public, f"{name} {text}\n".encode(), 0o644)
    return text


def _create(path: Path, data: bytes, mode: int) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
    except FileExistsError as exc:
        raise PackError("is there already: name another file", path=str(path)) from exc
    except OSError as exc:
        raise PackError(f"cannot be written: {exc.strerror}", path=str(path)) from exc


def load_key(path: str | Path) -> Ed25519PrivateKey:
    """Read a private key that `generate_key` wrote."""
    _require_cryptography()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    with open_regular(Path(path).expanduser(), KEY_FILE_BYTES) as file:
        data = file.read()
    try:
        key = load_pem_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as exc:
        why = f"is not an unencrypted private key in PEM form: {_MAKE_ONE}"
        raise PackError(why, path=str(path)) from exc
    if not isinstance(key, Ed25519PrivateKey):
        raise PackError(f"is a private key, but not an Ed25519 one: {_MAKE_ONE}", path=str(path))
    return key


def _public_text(key: Ed25519PrivateKey) -> str:
    from cryptography.hazmat.primitives import serialization

    raw = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return base64.b64encode(raw).decode()


def sign_manifest(manifest: Manifest, key_path: str | Path) -> Manifest:
    """The manifest with a signature by this key in place of any other."""
    key = load_key(key_path)
    made = base64.b64encode(key.sign(manifest.signed_bytes())).decode()
    return replace(
        manifest,
        signature={"algorithm": ALGORITHM, "public_key": _public_text(key), "signature": made},
    )


def check_signature(manifest: Manifest, *, path: Path) -> str | None:
    """The public key that signed this manifest, or None. A bad signature raises PackError."""
    if manifest.signature is None:
        return None
    _require_cryptography()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if manifest.signature["algorithm"] != ALGORITHM:
        why = f"signed with {manifest.signature['algorithm']!r}, not {ALGORITHM}: {_SIGN_AGAIN}"
        raise PackError(why, path=str(path))
    text = manifest.signature["public_key"]
    raw, made = _bytes(text, 32), _bytes(manifest.signature["signature"], 64)
    if raw is None or made is None:
        why = f"the signature or its key is not base64 of the right length: {_SIGN_AGAIN}"
        raise PackError(why, path=str(path))
    try:
        Ed25519PublicKey.from_public_bytes(raw).verify(made, manifest.signed_bytes())
    except (InvalidSignature, ValueError) as exc:
        why = f"the signature does not fit, the manifest was changed: {_SIGN_AGAIN}"
        raise PackError(why, path=str(path)) from exc
    return text


def trusted_keys(path: str | Path | None = None) -> dict[str, str]:
    """Trusted public keys (base64) and their names; none where there is no file."""
    file = Path(path if path is not None else config.load().trusted_keys).expanduser()
    if not file.exists():
        return {}
    if file.stat().st_size > KEY_FILE_BYTES:
        raise PackError("is too large for a list of keys", path=str(file))
    keys: dict[str, str] = {}
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise PackError(f"cannot be read: {exc}", path=str(file)) from exc
    for number, line in enumerate(lines, start=1):
        parts = line.split()
        if not parts or parts[0].startswith("#"):
            continue
        if len(parts) != 2 or _bytes(parts[1], 32) is None:
            why = "expected `name base64` with a key of 32 bytes"
            raise PackError(why, path=str(file), line=number)
        if scrub(parts[0])[1]:  # it would be written to the ledger of imports
            raise PackError(f"the name of the key {A_SECRET}", path=str(file), line=number)
        keys[parts[1]] = parts[0]
    return keys


def _bytes(text: str, size: int) -> bytes | None:
    """Strict base64 of exactly `size` bytes in its one canonical spelling, else None."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if len(raw) == size and base64.b64encode(raw).decode() == text else None
