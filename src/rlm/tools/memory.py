"""`mem_*`: the memories of one tenant, in two phases (seed 002): search for what there is, then get
a little of it.

What a model stores is marked as such (`origin` repl, `trust` unverified): it is recalled, but is no
person's word. In a run of the agent it waits for the verdict. Once the run has read what others
wrote, it has to be a lesson of a run, or it goes into quarantine: the model may have it from a text
that it was shown (`learning/gates.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rlm.errors import LimitExceeded, NotFound, ValidationError
from rlm.handles import Meter
from rlm.learning.gates import Gate, RecalledTexts
from rlm.loop.trace import render_value
from rlm.retrieval.rank import RECALL_FLOOR
from rlm.store.backend import MemoryBackend
from rlm.store.gate import admit_item
from rlm.store.secrets import scrub
from rlm.store.types import DEFAULT_SCOPE, QUARANTINE_REASON, MemoryItem, Scope
from rlm.tools.toolbox import Toolbox, check_count, check_text, clip, one_line

SEARCH_HITS = 20
SEARCH_CHARS = 1000
"""What the hits of `mem_search` share, as JSON; each has at least `HIT_CHARS` of it."""
HIT_CHARS = 160
HIT_FRAME_CHARS = 80
"""What is around a hit's words: `{"id": "…", "title": "", "desc": "", "src": "…"}, `."""
TITLE_CHARS = 100
DESC_CHARS = 160
LEAST_DESC_CHARS = 20
GET_ITEMS = 3
ITEM_CHARS = 4000
"""The most of one memory's content that `mem_get` returns; the rest can be quoted."""
ITEM_TAGS = 8
QUOTE_CHARS = 500
QUERY_CHARS = 2000
DOMAIN_CHARS = 200
ADD_CHARS = 4000
ADDS_PER_RUN = 20

MEMORY_SUMMARY = (
    "`mem_search(q)` finds earlier procedures, `mem_get(ids)` shows 3,"
    " `mem_quote(id)` a part; `mem_add(title, description, content)`, `mem_extract(result, task,"
    " judgment)`, `mem_learn_from_failure(result, task, error)` store one."
)
"""What a prompt says of these tools and those of `learned.py`; with `graph.NOTES_SUMMARY` at most
400 characters."""
POLARITIES = ("success", "failure")
ORIGIN = "repl"


def memory_tools(
    backend: MemoryBackend,
    meter: Meter,
    *,
    session: str | None = None,
    recalled: RecalledTexts | None = None,
    foreign: Iterable[str] = (),
    question: str = "",
    prefixes: Mapping[str, str] | None = None,
    held: list[MemoryItem] | None = None,
) -> Toolbox:
    """The memory tools of one run; `session` is stamped on what is stored. What other tools return
    is known from the meter; `foreign` is what else the run was shown that others wrote. `prefixes`
    are those of its ontology, whose names a lesson about it may hold. With `held`, nothing is
    stored: what is added is put there until the run is judged."""
    meter.seen.extend(foreign)
    gate = Gate(foreign=meter.seen, question=question, prefixes=prefixes or {})
    tools = _Memory(backend, session, recalled or RecalledTexts(), gate, held)
    return Toolbox.of(
        meter,
        tools.mem_search,
        tools.mem_get,
        tools.mem_quote,
        tools.mem_add,
        summary=MEMORY_SUMMARY,
    )


@dataclass(eq=False, slots=True)
class _Memory:
    _backend: MemoryBackend
    _session: str | None
    _recalled: RecalledTexts
    _gate: Gate
    _held: list[MemoryItem] | None
    _adds: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def mem_search(
        self, q: str, k: int = 6, polarity: str | None = None, domain: str | None = None
    ) -> list[dict[str, Any]]:
        """Procedures learnt before, best first: [{id, title, desc, src}]; k up to 20. polarity is
        'success' (do this) or 'failure' (avoid this), domain an ontology's name."""
        check_text(q, "q", QUERY_CHARS)
        check_count(k, "k", SEARCH_HITS)
        if polarity is not None and polarity not in POLARITIES:
            raise ValidationError(
                f"polarity is {polarity!r:.40}: use 'success', 'failure' or None", field="polarity"
            )
        scope = (
            None if domain is None else Scope(ontology=check_text(domain, "domain", DOMAIN_CHARS))
        )
        found = self._backend.retrieve(q, min(2 * k, SEARCH_HITS), scope=scope, outcome=polarity)
        hits = [hit for hit in found if (hit.item.confidence or 0.0) >= RECALL_FLOOR][:k]
        return _summaries([hit.item for hit in hits])

    def mem_get(self, ids: list[str] | str, max_n: int = 3) -> list[dict[str, Any]]:
        """Whole procedures by their ids from mem_search, at most 3 a call."""
        check_count(max_n, "max_n", GET_ITEMS)
        wanted = [ids] if isinstance(ids, str) else ids
        if not isinstance(wanted, list | tuple) or not all(isinstance(one, str) for one in wanted):
            raise ValidationError(
                "ids is no list of ids: use those that mem_search returned", field="ids"
            )
        if len(wanted) > max_n:
            raise ValidationError(
                f"{len(wanted)} ids, at most {max_n}: choose the {max_n} that fit best, or ask in"
                " turns",
                field="ids",
            )
        items = [self._live(memory_id) for memory_id in dict.fromkeys(wanted)]
        for item in items:
            self._recalled.note(item.content[:ITEM_CHARS])
        return [_whole(item) for item in items]

    def mem_quote(self, id: str, max_chars: int = 500, start: int = 0) -> str:
        """An excerpt of one procedure, from start, at most 500 characters."""
        check_count(max_chars, "max_chars", QUOTE_CHARS)
        check_count(start, "start", 2**53, least=0)
        item = self._live(id)
        quote = item.content[start : start + max_chars]
        self._recalled.note(quote)
        return quote if start + max_chars >= len(item.content) else quote[:-1] + "…"

    def mem_add(
        self,
        title: str,
        description: str,
        content: str,
        tags: list[str] | None = None,
        domain: str | None = None,
    ) -> str:
        """Store a procedure that is worth recalling in another task; returns its id. title: up to
        10 words. description: when to use it. content: the steps as a list that shows the calls,
        terms or code they use, up to 4,000 characters."""
        check_text(content, "content", ADD_CHARS)
        for text, name in ((content, "content"), (description, "description"), (title, "title")):
            if isinstance(text, str):
                self._recalled.check(text, name)
        scope = (
            DEFAULT_SCOPE
            if domain is None
            else Scope(ontology=check_text(domain, "domain", DOMAIN_CHARS))
        )
        item = MemoryItem(
            title,
            description,
            content,
            source_type="success",
            tags=tags or [],
            scope=scope,
            session_id=self._session,
            trust="unverified",
            origin=ORIGIN,
        )
        texts = (title, description, *item.tags)
        if all(isinstance(text, str) for text in texts) and (why := self._gate.note_reason(item)):
            item.trust, item.provenance = "quarantined", {QUARANTINE_REASON: why}
        with self._lock:
            if self._adds >= ADDS_PER_RUN:
                raise LimitExceeded(
                    f"{ADDS_PER_RUN} memories were stored in this run, which is the most: keep the"
                    " best"
                )
            if self._held is None:
                memory_id = self._backend.add(item)
            else:
                self._held.append(admit_item(item, self._backend.tenant, origin=ORIGIN))
                memory_id = self._held[-1].memory_id
            self._adds += 1
        kinds = set(scrub("\n".join((title, description, content)))[1])
        return f"{memory_id} (redacted in it: {', '.join(sorted(kinds))})" if kinds else memory_id

    def _live(self, memory_id: Any) -> MemoryItem:
        """A memory that may be shown: neither archived nor in quarantine."""
        is_id = isinstance(memory_id, str) and memory_id.isprintable()
        item = self._backend.get(memory_id.partition(" ")[0]) if is_id else None
        if item is None or item.archived_at is not None:
            raise NotFound(f"no memory {memory_id!r:.80} here: use an id that mem_search returned")
        if item.trust == "quarantined":
            raise NotFound(
                f"memory {memory_id!r} is in quarantine until a person approves it: use another"
            )
        return item


def _summaries(items: list[MemoryItem]) -> list[dict[str, Any]]:
    """Every title, and with what is left of the room the descriptions, the best hit's first: one
    whole sentence says more than the beginnings of six."""
    most = max(SEARCH_CHARS, HIT_CHARS * len(items))
    room = min(TITLE_CHARS, (most // max(1, len(items)) - HIT_FRAME_CHARS) * 2 // 3)
    found = [
        {"id": item.memory_id, "title": clip(one_line(item.title), room), "desc": "",
         "src": item.source_type}
        for item in items
    ]  # fmt: skip
    for hit, item in zip(found, items, strict=True):
        if (left := most - len(render_value(found))) > LEAST_DESC_CHARS:
            hit["desc"] = clip(one_line(item.description), min(DESC_CHARS, left))
    return found


def _whole(item: MemoryItem) -> dict[str, Any]:
    made: dict[str, Any] = {
        "id": item.memory_id,
        "title": item.title,
        "desc": clip(item.description, QUOTE_CHARS),
        "content": item.content[:ITEM_CHARS],
        "tags": item.tags[:ITEM_TAGS],
        "src": item.source_type,
        "outcome": item.outcome,
        "domain": item.scope.ontology,
        "confidence": None if item.confidence is None else round(item.confidence, 2),
        "trust": item.trust,
    }
    if len(item.content) > ITEM_CHARS:
        made["more_chars"] = len(item.content) - ITEM_CHARS
    return made
