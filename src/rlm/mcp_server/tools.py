"""The tools that every connection has: search, get, record, rate, consolidate, branch.

A tool is data: a name, what it says of itself, the schema of its arguments, hints for the host, and
a function. It gets a `ToolRequest` (a store that was lent for the connection's tenant) and checked
arguments, and returns a `ToolAnswer`: text for the model, one line a hit, and the same as data. No
argument names a tenant. What goes wrong is an RLMError, which the server shows as one line.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rlm import clock
from rlm.errors import NotFound, ValidationError
from rlm.mcp_server.arguments import Schema, flag, object_of, one_of, text, texts, whole
from rlm.service import Memory, MemoryManager
from rlm.store.secrets import redactions
from rlm.store.types import LEVELS, OUTCOMES
from rlm.worker import check_cancelled

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend

GET_CHARS = 20_000
"""The most of one memory that is shown, and of what a branch gets."""
GET_FIELDS = (
    "id", "kind", "title", "description", "role", "outcome", "confidence", "trust", "tags", "scope",
    "source_session", "created_at", "changed",
)  # fmt: skip
HIT_TOKENS = 100
"""The most of one hit as data, about."""
WEAK_HITS = 3
"""So many are shown that fit less well than what is shown unasked: who asks can judge them."""
MOST_CHANGES = 50
"""The changes of a consolidation that an answer names."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool says: to a model as text, to a program as data."""

    text: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """One call of a tool: a store that is lent for it, and the way back to its client."""

    store: MemoryBackend
    report: Callable[[float, float | None, str], None] = lambda done, total, message: None
    """Tells the client how far a long call has come, where it asked for that."""
    session: str | None = None
    """The session of a connection that lasts; over HTTP there is none."""
    token: str = ""
    """The name of the token that came with it, over HTTP."""
    on_cancel: list[Callable[[], None]] = field(default_factory=list)
    """What else ends the work when the client has cancelled, or is gone. Worker processes are ended
    anyhow (`rlm.worker.CANCELLED`)."""

    @property
    def memory(self) -> MemoryManager:
        """The memories of the connection's tenant."""
        return MemoryManager(self.store)


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """One tool, as it is listed and as it is called."""

    name: str
    description: str
    schema: Schema
    call: Callable[..., ToolAnswer]
    writes: bool = True
    destructive: bool = False
    idempotent: bool = False
    """Whether the same call again changes nothing more."""
    takes_long: bool = False
    """Whether it may take more than a moment: such calls run beside the others."""
    open_world: bool = False
    """Whether it may reach a model or an endpoint outside of the store."""


def _search(call: ToolRequest, query: str, scope: str | None = None, limit: int = 5) -> ToolAnswer:
    hits = call.memory.search(query, scope=scope, limit=limit, floor=True, weak=WEAK_HITS)
    lines = "\n".join(hit.line() for hit in hits) or "nothing relevant"
    return ToolAnswer(lines, {"hits": [_hit(hit) for hit in hits]})


def _get(call: ToolRequest, id: str) -> ToolAnswer:
    memory = call.memory.get(id)
    said = {"content": _cut(memory.content)}
    if memory.kind != "turn" and (turns := call.memory.said_around(memory.id)):
        said["turns"] = turns
    memory = replace(memory, confidence=round(memory.confidence, 2))
    fields = {name: each for name in GET_FIELDS if (each := getattr(memory, name))}
    if (
        memory.kind == "turn"
        or memory.description.removesuffix("…") in f"{memory.title}\n{memory.content}"
    ):
        fields.pop("description", None)
    head = replace(memory, description="", content=memory.title).line()
    described = [fields["description"]] if "description" in fields else []
    return ToolAnswer("\n\n".join([head, *described, *said.values()]), {**fields, **said})


def _record(call: ToolRequest, session: str | None = None, **given: Any) -> ToolAnswer:
    origin = f"mcp: {call.token}" if call.token else "mcp"
    memory = call.memory.record(**given, source_session=session, origin=origin)
    kept = redactions(memory.title, memory.description, memory.content, *memory.tags)
    kinds = sorted(kept - redactions(str(given)))
    word = f"recorded without its secrets ({', '.join(kinds)})" if kinds else "recorded"
    return _tell_changed(word, [memory], **({"redacted": kinds} if kinds else {}))


def _feedback(call: ToolRequest, id: str, helpful: bool, comment: str = "") -> ToolAnswer:
    return _tell_changed("noted", [call.memory.feedback(id, helpful, comment)])


def _outcome(
    call: ToolRequest, ids: Sequence[str], succeeded: bool, session: str | None = None
) -> ToolAnswer:
    return _tell_changed("noted", call.memory.outcome(ids, succeeded, session=session))


def _consolidate(call: ToolRequest, dry_run: bool = True) -> ToolAnswer:
    from rlm.service.consolidation import consolidate

    total = float(call.store.stats()["memories"])

    def step(done: int) -> None:
        check_cancelled()
        call.report(done, total, "comparing memories")

    # An agent proposes: what goes up to a team or an organisation, a person decides.
    report = consolidate(call.store, dry_run=dry_run, automatic=False, on_progress=step)
    would, count = "would " if dry_run else "", len(report.changes)
    del report.changes[MOST_CHANGES:]
    lines = [
        f"{would}{each.operation} {', '.join(each.memories)}: {each.why}" for each in report.changes
    ]
    if count > MOST_CHANGES:
        lines.append(f"and {count - MOST_CHANGES:,} more")
    data = {**report.to_dict(), "change_count": count}
    return ToolAnswer("\n".join(lines) or "nothing to merge, prune or promote", data)


def _branch_create(call: ToolRequest, **given: Any) -> ToolAnswer:
    from rlm.service.folding import ContextFolding

    session = call.session or f"mcp-{clock.new_uuid()}"
    opened = ContextFolding(call.store, session).branch_create(**given)
    branch = opened.branch
    context, left = _cut(opened.context), branch.budget_tokens - branch.used_tokens
    data = {"branch": branch.branch_id, "context": context, "tokens_left": left}
    data["memory_ids"] = list(opened.memory_ids)
    return ToolAnswer(f"branch {branch.branch_id}, {left:,} tokens left\n\n{context}", data)


def _branch_return(
    call: ToolRequest, message: str, outcome: str = "success", branch: str | None = None
) -> ToolAnswer:
    from rlm.service.folding import ContextFolding

    session = call.session
    if branch is not None:
        found = call.store.get_branch(branch)
        if found is None:
            raise NotFound(f"no branch {branch[:80]!r} here: branch_create opens one")
        session = found.session_id
    if session is None:
        raise ValidationError("branch is missing: use the id that branch_create returned")
    ended = ContextFolding(call.store, session).branch_return(message, outcome, branch)
    data = {"branch": ended.branch_id, "state": ended.state}
    return ToolAnswer(f"branch {ended.branch_id} {ended.state}", data)


def _hit(memory: Memory) -> dict[str, Any]:
    """A hit as data. Hosts show a model that in place of the text, so nothing stands in it twice;
    `memory_get` has the rest."""
    more = {
        "source_session": memory.source_session,
        "changed": memory.changed,
        "weak": memory.weak,
        "unverified": memory.is_unverified_decision,
        "level": memory.scope if memory.scope != LEVELS[0] else None,
    }
    hit = {
        "id": memory.id,
        "kind": memory.kind,
        "date": memory.created_at[:10],
        "text": "",
        "score": round(memory.score, 3),
        **{name: each for name, each in more.items() if each},
    }
    return {**hit, "text": _cut_to_tokens(memory.said(), HIT_TOKENS - _count_tokens(hit))}


def _count_tokens(value: Any) -> float:
    """About how many tokens a value has as JSON: four bytes of English are one, and three of a
    script with a token for each character."""
    said = json.dumps(value, ensure_ascii=False)
    english = sum(map(str.isascii, said))
    return english / 4 + (len(said.encode()) - english) / 3


def _cut_to_tokens(said: str, most: float) -> str:
    shown = said[: 4 * HIT_TOKENS]  # more never fits
    if shown == said and _count_tokens(said) <= most:
        return said
    cuts = range(len(shown))
    found = bisect_right(cuts, most, key=lambda cut: _count_tokens(f"{shown[:cut]}…"))
    return f"{shown[: max(0, found - 1)]}…"


def _tell_changed(word: str, memories: Sequence[Memory], **more: Any) -> ToolAnswer:
    lines, data = [], []
    for each in memories:
        lines.append(f"{each.id}  {word}: confidence {each.confidence:.2f}, {each.trust}")
        sure = round(each.confidence, 2)
        data.append({"id": each.id, "confidence": sure, "trust": each.trust})
    return ToolAnswer("\n".join(lines), {"memories": data, **more})


def _cut(content: str, most: int = GET_CHARS) -> str:
    return content if len(content) <= most else content[: most - 1] + "…"


ID = text("As memory_search shows it, or how it begins.", most=200)
SESSION = text("The id of your session.", most=200)
MEMORY_TOOLS = (
    ToolDefinition(
        "memory_search",
        "Search what was learned here: procedures, facts, decisions, turns of sessions. A `changed`"
        " hit holds only with the one that it names; a `weak` one may be about something else; an"
        " `unverified` decision is an agent's; a `turn` is what somebody said, perhaps only a"
        " proposal. memory_get has the whole.",
        object_of(
            {"query": text("The task or question, in plain words.")},
            {
                "scope": one_of(
                    *LEVELS, doc="The nearest level that is looked at; project is all."
                ),
                "limit": whole(most=20, default=5),
            },
        ),
        _search,
        writes=False,
        idempotent=True,
    ),
    ToolDefinition(
        "memory_get",
        "The whole of one memory. A decision comes with the turn in which it was taken and what was"
        " said before, a turn of a past session with those around it.",
        object_of({"id": ID}, {}),
        _get,
        writes=False,
        idempotent=True,
    ),
    ToolDefinition(
        "memory_record",
        "Keep what is worth knowing next time: how something is done here, a fact, or what was"
        " decided and why. Found by the next search. Not for secrets, nor for what a search"
        " returned.",
        object_of(
            {
                "title": text("At most ten words.", most=200),
                "content": text("The steps, the fact or the decision.", most=8_000),
            },
            {
                "description": text(
                    "What holds, in one sentence: a search shows this and the title, no more.",
                    most=500,
                ),
                "kind": one_of("procedure", "fact", "decision"),
                "outcome": one_of(*OUTCOMES, doc="failure: a thing to avoid."),
                "tags": texts(most=10, chars=50),
                "session": SESSION,
            },
        ),
        _record,
        idempotent=True,
    ),
    ToolDefinition(
        "memory_feedback",
        "Say whether a memory that you used was right and of help. Good ones rise, bad ones sink.",
        object_of({"id": ID, "helpful": flag()}, {"comment": text("Why.", most=500, least=0)}),
        _feedback,
    ),
    ToolDefinition(
        "memory_outcome",
        "At the end of a task: which memories you followed, and whether the task succeeded.",
        object_of(
            {
                "ids": texts(least=1, most=20),
                "succeeded": flag("Tests passed, or the person said so."),
            },
            {"session": SESSION},
        ),
        _outcome,
    ),
    ToolDefinition(
        "memory_consolidate",
        "Merge memories that say the same, archive weak ones, propose strong ones to the team."
        " Without dry_run=false it only tells what it would do. Nothing is lost: a person can undo"
        " it.",
        object_of({}, {"dry_run": flag("true where it is left out.")}),
        _consolidate,
        destructive=True,
        takes_long=True,
        idempotent=True,
    ),
    ToolDefinition(
        "branch_create",
        "Begin a side task within a budget of tokens and seconds. Returns its id and a context with"
        " the memories that matter: work on it apart, then call branch_return, and only that"
        " message need stay in your context.",
        object_of(
            {
                "description": text("What the branch is for.", most=500),
                "prompt": text("The task itself.", most=50_000),
            },
            {
                "budget": whole(most=32_768, default=8_192),
                "timeout": whole(most=300, default=300),
            },
        ),
        _branch_create,
    ),
    ToolDefinition(
        "branch_return",
        "End a branch with what it came to, in a few sentences. What it teaches is kept.",
        object_of(
            {"message": text(most=50_000)},
            {
                "outcome": one_of(*OUTCOMES),
                "branch": text("Its id; without one, the branch opened last.", most=200),
            },
        ),
        _branch_return,
    ),
)
