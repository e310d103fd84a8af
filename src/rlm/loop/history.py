"""The messages of a run, kept from growing for ever.

The system message and the first user turn always stay, and so do the newest turns. When the whole
exceeds its budget, outputs of older turns give way first, the oldest before the others, then older
replies; each leaves a line that says so. What is dropped here is in the trajectory still.
"""

from __future__ import annotations

from rlm.llm import Message
from rlm.loop.prompts import cut

HISTORY_CHARS = 400_000
"""About 100,000 tokens: what models with a usual window still take, with room for the reply."""
REPLY_CHARS = 40_000
"""What is kept of one reply in later prompts."""
NEWEST = 4
"""Messages at the end that are never dropped: two turns."""


class History:
    """The conversation of one run."""

    def __init__(self, system: str, first: str, *, budget_chars: int = HISTORY_CHARS) -> None:
        self.head: list[Message] = [
            {"role": "system", "content": system},
            {"role": "user", "content": first},
        ]
        self.turns: list[Message] = []
        self.budget_chars = budget_chars

    @property
    def head_chars(self) -> int:
        """The size of what every prompt begins with."""
        return sum(len(message["content"]) for message in self.head)

    def add(self, reply: str, told: str) -> None:
        """A reply, and what the model was told after it."""
        self.turns.append(
            {"role": "assistant", "content": cut(reply, REPLY_CHARS) or "(empty reply)"}
        )
        self.turns.append({"role": "user", "content": told})
        self._shrink()

    def messages(self, *, last: str | None = None) -> list[Message]:
        """The prompt as it stands; `last` is added to the final user message."""
        found = [dict(message) for message in (*self.head, *self.turns)]
        if last is not None:
            found[-1]["content"] += f"\n\n{last}"
        return found

    def _shrink(self) -> None:
        excess = (
            self.head_chars
            + sum(len(message["content"]) for message in self.turns)
            - self.budget_chars
        )
        for role in ("user", "assistant"):
            for number, message in enumerate(self.turns[:-NEWEST]):
                if excess <= 0:
                    return
                content = message["content"]
                if message["role"] != role or content.startswith(DROPPED):
                    continue
                note = f"{DROPPED} of turn {number // 2 + 1}: {len(content)} characters]"
                if len(note) < len(content):
                    self.turns[number] = {"role": role, "content": note}
                    excess -= len(content) - len(note)


DROPPED = "[dropped to save room: the message"
