"""Context folding (seed 003): a part of a session that is worked on apart, within bounds.

`branch_create` opens a branch and returns the context that it begins with: its prompt and the
memories that matter, within its budget of tokens. `branch_return` closes it with what it found out,
which goes into the distiller's queue. A branch that is opened while another is open lies below it.
Limits are kept by the store: budget, depth, number and time, also across processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlm.errors import LimitExceeded, NotFound, ValidationError
from rlm.llm.types import CHARS_PER_TOKEN, estimate_tokens
from rlm.service.manager import MemoryManager
from rlm.service.transcripts.builder import drop_private
from rlm.store.gate import DESCRIPTION_CHARS, RECALLED_HEADING
from rlm.store.types import OUTCOMES
from rlm.store.values import check_text, choice, finite, natural

if TYPE_CHECKING:
    from rlm.service.memory import Memory
    from rlm.store.backend import MemoryBackend
    from rlm.store.types import Branch

DEPTH = 3
BRANCHES = 10
"""The most of one session."""
BUDGET_TOKENS, MOST_TOKENS = 8_192, 32_768
TIMEOUT_S = 300.0
MEMORIES = 5
MEMORY_SHARE = 4
"""Memories take up to one part in so many of the budget."""
AGENT = "branch"
"""The name under which the outcome of a branch is queued."""


@dataclass(frozen=True, slots=True)
class OpenedBranch:
    """A branch, and the context with which its work begins."""

    branch: Branch
    context: str
    memory_ids: tuple[str, ...]


class ContextFolding:
    """The branches of one session."""

    def __init__(self, store: MemoryBackend, session: str) -> None:
        self._store, self._session = store, session

    def branch_create(
        self,
        description: str,
        prompt: str,
        budget: int = BUDGET_TOKENS,
        timeout: float = TIMEOUT_S,
    ) -> OpenedBranch:
        """Open a branch below the one that is open, if any. LimitExceeded where a bound is reached;
        then nothing was opened."""
        check_text(description, "description", DESCRIPTION_CHARS)
        check_text(prompt, "prompt", MOST_TOKENS * CHARS_PER_TOKEN)
        natural(budget, "budget")
        if not 1 <= budget <= MOST_TOKENS:
            why = f"budget is {budget:,} tokens: use 1 to {MOST_TOKENS:,}"
            raise ValidationError(why, field="budget")
        if not 0 < finite(timeout, "timeout") <= TIMEOUT_S:
            why = f"timeout is {timeout:g}: use more than 0 and at most {TIMEOUT_S:g} seconds"
            raise ValidationError(why, field="timeout")
        head = f"# {' '.join(description.split())}\n\n{prompt.strip()}"
        needed = estimate_tokens(head)
        if needed > budget:
            why = f"the prompt has about {needed:,} tokens, and the budget is {budget:,}"
            raise LimitExceeded(f"{why}: shorten it, or raise the budget")
        found = self._recall(f"{description}\n{prompt}")
        with self._store.together():
            parent = self._parent()
            branch = self._store.open_branch(
                self._session, drop_private(description), budget, parent, timeout_s=timeout
            )
            context, ids = _with_memories(head, found, budget)
            branch = self._store.spend_branch(branch.branch_id, estimate_tokens(context))
        return OpenedBranch(branch, context, ids)

    def _recall(self, task: str) -> list[Memory]:
        return MemoryManager(self._store).search(task, limit=MEMORIES, floor=True)

    def _parent(self) -> str | None:
        """The branch that is open. LimitExceeded where no further one may be."""
        known = self._store.branches(self._session)
        if len(known) >= BRANCHES:
            why = f"session {self._session} had {BRANCHES} branches, which is the most"
            raise LimitExceeded(f"{why}: go on without one")
        above = _innermost(known)
        if above is not None and above.depth + 1 >= DEPTH:
            why = f"branch {above.branch_id} lies at depth {DEPTH}, which is the most"
            raise LimitExceeded(f"{why}: end it with branch_return first")
        return None if above is None else above.branch_id

    def branch_return(
        self, message: str, outcome: str = "success", branch_id: str | None = None
    ) -> Branch:
        """Close a branch, or the one that was opened last, and those below it; queue its outcome
        without what is marked as private.

        NotFound without an open one; LimitExceeded for a message beyond what is left of the budget:
        then it stays open.
        """
        choice(outcome, OUTCOMES, "outcome")
        check_text(message, "message", MOST_TOKENS * CHARS_PER_TOKEN)
        with self._store.together():
            branch = self._open_branch(branch_id)
            self._store.spend_branch(branch.branch_id, estimate_tokens(message))
            for below in self._below(branch.branch_id):
                self._store.end_branch(below, "failed", "the branch above it was closed")
            state = "failed" if outcome == "failure" else "returned"
            ended = self._store.end_branch(branch.branch_id, state, drop_private(message))
            payload = {
                "session": ended.session_id,
                "description": ended.description,
                "message": ended.result,
            }
            self._store.queue_session(AGENT, ended.branch_id, payload, outcome=outcome)
        return ended

    def _open_branch(self, branch_id: str | None) -> Branch:
        known = self._store.branches(self._session)
        if branch_id is None:
            found = _innermost(known)
            why = f"session {self._session} has no open branch: `branch_create` opens one"
        else:
            found = next((each for each in known if each.branch_id == branch_id), None)
            why = f"no branch {branch_id!r:.80} in session {self._session}"
        if found is None:
            raise NotFound(why)
        if found.state == "expired":
            why = f"branch {found.branch_id} expired at {found.ended_at}: its result is not taken"
            raise LimitExceeded(f"{why}; open another")
        return found

    def _below(self, branch_id: str) -> list[str]:
        """The open branches below one, the innermost first."""
        inside, found = {branch_id}, []
        for each in self._store.branches(self._session):
            if each.parent_id in inside:
                inside.add(each.branch_id)
                if each.state == "open":
                    found.append(each.branch_id)
        return found[::-1]


def _innermost(known: list[Branch]) -> Branch | None:
    """The open branch that was opened last."""
    opened = [each for each in known if each.state == "open"]
    return max(opened, key=lambda each: (each.depth, each.created_at), default=None)


def _with_memories(head: str, found: list[Memory], budget: int) -> tuple[str, tuple[str, ...]]:
    """The prompt with as many memories below it as fit, each whole or as one line."""
    room = min(budget // MEMORY_SHARE, budget - estimate_tokens(head)) * CHARS_PER_TOKEN
    parts, ids = [f"\n\n{RECALLED_HEADING}"], []
    room -= len(parts[0]) + CHARS_PER_TOKEN  # what rounding may add
    for memory in found:
        text = next((each for each in (_whole(memory), memory.line()) if len(each) + 2 <= room), "")
        if text:
            parts.append(text)
            ids.append(memory.id)
            room -= len(text) + 2
    return (head + "\n\n".join(parts), tuple(ids)) if ids else (head, ())


def _whole(memory: Memory) -> str:
    return f"{memory.line()}\n{memory.content}"
