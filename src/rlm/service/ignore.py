"""`.rlmignore`: paths whose sessions and files are not kept, in the syntax of gitignore.

A file says so for its own folder and all below it; the nearer file wins, and within one the last
line that fits. So a `*` in the folder of a repository keeps all of its sessions out.
"""

from __future__ import annotations

import re
from os.path import normpath
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NAME = ".rlmignore"


class IgnoreRules:
    """The rules that hold in one folder: its own file, and those of the folders above."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(normpath(folder))
        above = (self.folder, *self.folder.parents) if self.folder.is_absolute() else ()
        files = ((place, _read(place / NAME)) for place in above)
        self._files = [(place, rules) for place, rules in files if rules is not None]

    def ignores_session(self) -> bool:
        """Whether nothing of a session in this folder is kept."""
        return self.ignores(self.folder)

    def ignores(self, path: str | Path) -> bool:
        """Whether a file or a folder is not kept; a relative path is below this folder."""
        whole = PurePosixPath(normpath(self.folder / path))  # without `..`
        for place, rules in self._files:
            if whole.is_relative_to(place):
                inner = str(whole.relative_to(place))
                is_folder = inner != "." and Path(whole).is_dir()
                said = rules.check_file(f"{inner}/" if is_folder else inner).include
                if said is not None:
                    return said
        return False

    def mentions(self, text: str) -> bool:
        """Whether a command names a path that is not kept."""
        if not self._files:
            return False
        words = re.split(r"[\s'\"=:;|&<>()]+", text)
        return any(word and not word.startswith("-") and self.ignores(word) for word in words)


def _read(file: Path) -> GitIgnoreSpec | None:
    """The rules of a file; None without one. A line that is broken is passed over."""
    try:
        lines = file.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return None
    from pathspec import GitIgnoreSpec

    good = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue
        good.append(line)
    return GitIgnoreSpec.from_lines(good)
