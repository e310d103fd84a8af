"""`.rlmignore`: paths whose sessions and files are not kept, in the syntax of gitignore.

A file says so for its own folder and all below it; the nearer file wins, and within one the last
line that fits. So a `*` in the folder of a repository keeps all of its sessions out.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path, PurePosixPath

NAME = ".rlmignore"


class IgnoreRules:
    """The rules that hold in one folder: its own file, and those of the folders above."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        above = (self.folder, *self.folder.parents) if self.folder.is_absolute() else ()
        files = ((place, _read(place / NAME)) for place in above)
        self._files = [(place, rules) for place, rules in files if rules]

    def ignores_session(self) -> bool:
        """Whether nothing of a session in this folder is kept."""
        return self.ignores(self.folder)

    def ignores(self, path: str | Path) -> bool:
        """Whether a file or a folder is not kept; a relative path is below this folder."""
        whole = PurePosixPath(self.folder, path)
        for place, rules in self._files:
            try:
                inner = whole.relative_to(place)
            except ValueError:
                continue
            parts = [str(p) for p in (inner, *inner.parents) if str(p) != "."] or ["."]
            for part in reversed(parts):  # what lies in an ignored folder is ignored too
                said = _last(rules, part, is_folder=part != str(inner) or Path(whole).is_dir())
                if said:
                    return True
                if said is False and part == parts[0]:
                    return False
        return False

    def mentions(self, text: str) -> bool:
        """Whether a command names a path that is not kept."""
        if not self._files:
            return False
        words = re.split(r"[\s'\"=:;|&<>()]+", text)
        return any(word and not word.startswith("-") and self.ignores(word) for word in words)


Rule = tuple[re.Pattern[str], bool, bool]
"""Pattern, whether it brings back, whether it is for folders only."""


def _last(rules: list[Rule], path: str, *, is_folder: bool) -> bool | None:
    said: bool | None = None
    for pattern, negates, folders_only in rules:
        if pattern.fullmatch(path) and (is_folder or not folders_only):
            said = not negates
    return said


def _read(file: Path) -> list[Rule]:
    try:
        lines = file.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [rule for line in lines if (rule := parse_rule(line)) is not None]


@lru_cache(maxsize=1_000)
def parse_rule(line: str) -> Rule | None:
    """One line of gitignore's syntax; None for a comment, an empty line, and one that is broken."""
    text = re.sub(r"(?<!\\)\s+$", "", line)
    if not text or text.startswith("#"):
        return None
    negates = text.startswith("!")
    text = text.removeprefix("!").replace("\\#", "#").replace("\\!", "!").replace("\\ ", " ")
    folders_only = text.endswith("/")
    text = text.rstrip("/")
    anchored = "/" in text
    text = text.lstrip("/")
    if not text:
        return None
    try:
        pattern = re.compile(("" if anchored else "(?:.*/)?") + _to_regex(text), re.DOTALL)
    except re.error:
        return None
    return pattern, negates, folders_only


def _to_regex(text: str) -> str:
    """`**` is any number of folders, `*` and `?` stay within one name."""
    made = []
    for token in re.findall(r"\*\*/|/\*\*$|\*+|\?|\[!?\]?[^\]]*\]|.", text, re.DOTALL):
        if token == "**/":
            made.append("(?:.*/)?")
        elif token == "/**":
            made.append("/.+")
        elif token.startswith("*"):
            made.append("[^/]*")
        elif token == "?":
            made.append("[^/]")
        elif token.startswith("[") and len(token) > 2:
            made.append(
                "[" + token[1:].replace("!", "^", token.startswith("[!")).replace("\\", r"\\")
            )
        else:
            made.append(re.escape(token))
    return "".join(made)
