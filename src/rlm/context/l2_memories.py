"""L2: what earlier runs learnt, in at most 600 characters: two procedures of 300.

Never a whole memory: title, description and a few of its steps. A failure is marked as something to
avoid. The heading is known to the write gate, so that what stands below it is never stored again as
something new.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rlm.context.budget import clip, fit
from rlm.store.gate import RECALLED_HEADING
from rlm.store.types import MemoryItem

BUDGET = 600
EACH = 300
AT_MOST = 2
BULLETS = 3
LEAST_DESCRIPTION = 20
"""A description is left out rather than cut shorter than this, or than a step that would fit whole
is cut."""
ASSESS = (
    "Before taking action, briefly assess which of these strategies apply to your current task and"
    " which do not."
)
ASSESS_SHORT = "Assess which apply to the task; say so on a line, `Uses: 1` or `Uses: none`."
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(.*\S)")


def pack(
    memories: Sequence[MemoryItem],
    budget: int = BUDGET,
    *,
    at_most: int = AT_MOST,
    each: int = EACH,
) -> str:
    """The best of the memories, in their order; '' when there is none, or no room for one."""
    head = f"{RECALLED_HEADING}\n{ASSESS_SHORT}\n"
    room = budget - len(head)
    chosen = list(memories[:at_most])
    if not chosen or room < 40:
        return ""
    share = min(each, (room - 2 * (len(chosen) - 1)) // len(chosen))
    parts = [_entry(number, item, share, BULLETS) for number, item in enumerate(chosen, 1)]
    return head + "\n\n".join(part for part in parts if part)


def format_memories_for_injection(
    memories: Sequence[MemoryItem], max_bullets: int = BULLETS
) -> str:
    """All of these memories for a prompt, without a budget for the whole: heading, the assess line,
    and an entry each.

    An entry has the title, the description and at most `max_bullets` steps; never the full content.
    """
    if not memories:
        return ""
    parts = [
        _entry(number, item, 1_000, max_bullets, heading="Key points:")
        for number, item in enumerate(memories, 1)
    ]
    return f"{RECALLED_HEADING}\n{ASSESS}\n\n" + "\n\n".join(parts)


def _entry(number: int, item: MemoryItem, most: int, max_bullets: int, *, heading: str = "") -> str:
    """One memory in at most `most` characters, its steps below a heading if there is one."""
    avoid = "Avoid: " if item.outcome == "failure" or item.source_type == "failure" else ""
    title = clip(f"### {number}. {avoid}{item.title}", most)
    left = most - len(title) - 1 - (len(heading) + 1 if heading else 0)
    lines = [title]
    steps = bullets(item.content)[:max_bullets]
    spare = left - sum(len(step) + 3 for step in steps) - 1
    if spare < 0:  # some step is cut anyway
        spare = max(60, left // 3)
    if item.description and left > 20 and spare >= LEAST_DESCRIPTION:
        described = clip(item.description, min(left, spare))
        lines.append(described)
        left -= len(described) + 1
    if steps and left > 30:
        lines += [heading, fit(_steps(steps, left), left)]
    return "\n".join(line for line in lines if line)


def _steps(steps: list[str], most: int) -> list[str]:
    """The steps as bullets in so many characters: short ones whole, the room that is left shared by
    the long ones."""
    left, shares = most - 3 * len(steps), [0] * len(steps)
    waiting = sorted(range(len(steps)), key=lambda place: len(steps[place]))
    while waiting:
        place = waiting.pop(0)
        shares[place] = min(len(steps[place]), max(8, left // (len(waiting) + 1)))
        left -= shares[place]
    return ["- " + clip(step, share) for step, share in zip(steps, shares, strict=True)]


def bullets(content: str) -> list[str]:
    """The steps of a procedure: its list items, or its sentences where it has no list."""
    found = [match[1] for line in content.splitlines() if (match := _BULLET.match(line))]
    if found:
        return found
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n+", content) if part.strip()]
