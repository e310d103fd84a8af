"""Files that are put in place whole: a reader sees the old one or the new one, never a part."""

from __future__ import annotations

import os
from pathlib import Path
from threading import get_ident


def write_whole(target: Path, data: bytes, *, mode: int = 0o600, replace: bool = True) -> None:
    """Write a file and make its folder. OSError leaves what was there, and so does FileExistsError
    where nothing may be replaced."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name[:80]}.{os.getpid()}-{get_ident()}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if not replace and target.exists():
            raise FileExistsError(target)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
