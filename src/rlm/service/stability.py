"""Whether the commits that a memory came with are still there a week later, asked of git.

A memory names its commits in `provenance["commits"]` and their folder in `provenance["repo"]`. Both
come from transcripts, so git is started with nothing that a repository could have it run, and what
is no hash is not handed to it. A commit is reverted where a later one says so in git's own words
and is not reverted itself; an undoing by hand is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from rlm import clock
from rlm.learning.confidence import UNREVERTED_DAYS
from rlm.service.confidence import REVERTED, ConfidenceEvaluator
from rlm.store.backend import all_items
from rlm.worker import run_program

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend
    from rlm.store.types import MemoryItem

TIMEOUT_S = 30.0
_SETTINGS = ("core.fsmonitor=false", "core.hooksPath=/dev/null", "protocol.allow=never")
"""Nothing of the repository's own is run, and nothing is fetched that it lacks."""
_HASH = re.compile(r"[0-9a-f]{7,64}")
_REVERTS = re.compile(r"This reverts commit ([0-9a-f]{7,64})")


@dataclass(frozen=True, slots=True)
class Stability:
    """What became of a memory's commits: stable, reverted, young (too early to say), or unknown
    (no such repository or commit, or on no branch any more)."""

    memory_id: str
    title: str
    state: str
    confidence: float


def check_stability(store: MemoryBackend, now: datetime | None = None) -> list[Stability]:
    """Look at the commits of every memory that has some and was not judged yet."""
    evaluator, at = ConfidenceEvaluator(store), (now or clock.now()).timestamp()
    known: dict[str, Repository | None] = {}
    found = []
    for item, folder, commits in _with_commits(store):
        if any(each["kind"] in ("unreverted", REVERTED) for each in store.signals(item.memory_id)):
            continue
        if folder not in known:
            known[folder] = read_repository(folder)
        state = _state(known[folder], commits, at)
        confidence = item.confidence or 0.0
        if state in ("stable", REVERTED):
            confidence = evaluator.on_code_stability(item.memory_id, state == REVERTED)
        found.append(Stability(item.memory_id, item.title, state, confidence))
    return found


def _with_commits(store: MemoryBackend) -> Iterator[tuple[MemoryItem, str, list[str]]]:
    for item in all_items(store):
        commits, folder = item.provenance.get("commits"), item.provenance.get("repo")
        if isinstance(commits, list) and commits and isinstance(folder, str):
            yield item, folder, [str(each).lower() for each in commits]


def _state(repository: Repository | None, commits: Sequence[str], at: float) -> str:
    if repository is None:
        return "unknown"
    hashes = [repository.find(commit) for commit in commits]
    if any(each and repository.is_reverted(each) for each in hashes):
        return REVERTED
    if not all(hashes):
        return "unknown"
    newest = max(repository.times[each] for each in hashes if each)
    return "stable" if at - newest >= UNREVERTED_DAYS * 86_400 else "young"


@dataclass(frozen=True, slots=True)
class Repository:
    """The commits that are on some branch: when each was made, and what reverts it."""

    times: Mapping[str, float]
    reverts: Mapping[str, tuple[str, ...]]
    """Commit → the commits that revert it."""

    def find(self, commit: str) -> str | None:
        """The whole hash of a commit that is given whole or in part."""
        if commit in self.times or not _HASH.fullmatch(commit):
            return commit if commit in self.times else None
        return next((each for each in self.times if each.startswith(commit)), None)

    def is_reverted(self, commit: str, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a commit reverts it that is not reverted itself. `seen` ends a circle."""
        seen |= {commit}
        others = (each for each in self.reverts.get(commit, ()) if each not in seen)
        return any(not self.is_reverted(each, seen) for each in others)


def read_repository(folder: str) -> Repository | None:
    """The commits of the git repository in a folder; None where there is none that can be read."""
    lines = _git(folder, "rev-list", "--all", "--timestamp")
    messages = _git(
        folder, "rev-list", "--all", "--grep=^This reverts commit ", "--format=tformat:%B%x00"
    )
    if lines is None or messages is None:
        return None
    times = {each: float(at) for at, each in (line.split() for line in lines.splitlines())}
    repository = Repository(times, {})
    reverts: dict[str, tuple[str, ...]] = {}
    for message in messages.split("\0"):
        head, _, body = message.strip().partition("\n")
        for reverted in _REVERTS.findall(body):
            whole = repository.find(reverted) or reverted
            reverts[whole] = (*reverts.get(whole, ()), head.removeprefix("commit "))
    return Repository(times, reverts)


def _git(folder: str, *args: str) -> str | None:
    settings = (part for each in _SETTINGS for part in ("-c", each))
    return run_program("git", *settings, "-C", folder, *args, timeout_s=TIMEOUT_S)
