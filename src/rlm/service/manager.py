"""`MemoryManager`: what the command line, MCP and hooks call for memory (seed 003).

It holds no tenant of its own: the store was opened for one, and no call names another. An id that
belongs to somebody else and one that nobody has get the same answer. Memories and the turns of past
sessions are found in one ranking (`rlm.service.ranking`).

Trust is by origin: what a person writes is trusted, what an agent records is unverified, passes the
gate for notes, and is not stored a second time in other words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from rlm.errors import NotFound, ValidationError
from rlm.retrieval.rank import RECALL_FLOOR, likeness_floor
from rlm.service.amendment import find_newer, rename_links
from rlm.service.clip import DESCRIPTION_CHARS, clip, is_cut_of, make_title
from rlm.service.memory import KINDS, STORED_KINDS, Memory
from rlm.service.ranking import POOL, TURN_WEIGHT, Found, put_later_first, rank_found
from rlm.store.gate import admit_item, amend_item, check_retrieve
from rlm.store.types import LEVELS, QUARANTINE_REASON, MemoryItem, Scope
from rlm.store.values import check_count, check_many, choice

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend
    from rlm.store.graph import Node, NodeHit

TURN = "turn"
NONE = None, ""
TURN_CHARS = 3_000
SHORTEST_ID = 4
BESIDE = 2
"""So many turns before and after one come with it."""
ASKED = 0.8
"""Who asks is shown what is a little less like the question than who does not."""
CHANGEABLE = ("title", "description", "content", "tags", "outcome", "kind")
CHANGEABLE_BY_PERSON = (*CHANGEABLE, "task_query", "scope", "confidence")
MOST_OUTCOMES = 50


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a search may list."""

    kinds: Collection[str]
    levels: Sequence[str]
    outcome: str | None
    scope: Scope | None
    least: float
    """How much it has to be believed."""

    def takes_turns(self) -> bool:
        """Turns have no outcome and no scope, and belong to a project."""
        filtered = self.outcome is not None or self.scope is not None
        return TURN in self.kinds and tuple(self.levels) == LEVELS and not filtered

    def admits(self, item: MemoryItem) -> bool:
        """Whether it may list this one beside what it found."""
        return (
            item.kind in self.kinds
            and self.outcome in (None, item.outcome)
            and item.level in self.levels
            and (self.scope is None or item.scope.admits(self.scope))
            and (item.confidence or 0.0) >= self.least
        )


class MemoryManager:
    """The memories of one store. `person`: a person is at the other end, not an agent."""

    def __init__(self, store: MemoryBackend, *, person: bool = False) -> None:
        self.store = store
        self.person = person

    # -- finding -----------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        scope: str | None = None,
        limit: int = 5,
        kinds: Sequence[str] = (),
        explain: bool = False,
        floor: bool = False,
        weak: int = 0,
        outcome: str | None = None,
        ontology: str | None = None,
        count_access: bool = True,
    ) -> list[Memory]:
        """The best memories and turns for a query, best first.

        `scope` is the nearest level that is looked at: `project` is everything, `team` is team and
        org. With `floor` only what fits comes back, which may be nothing, and nothing that is no
        longer believed; up to `weak` others follow, marked, where there is room. `outcome` and
        `ontology` choose among lessons: turns have neither. A decision that was changed comes with
        the newer one, which takes no place of the `limit`: neither holds without the other.
        """
        check_retrieve(query, outcome)
        wanted = _Wanted(
            {choice(kind, KINDS, "kind") for kind in check_many(kinds, "kinds", "text")} or KINDS,
            LEVELS[LEVELS.index(choice(scope or LEVELS[0], LEVELS, "scope")) :],
            outcome,
            Scope(ontology=ontology) if ontology else None,
            RECALL_FLOOR if floor else 0.0,
        )
        limit, detail = check_count(limit, "limit"), explain or floor
        pool = max(POOL, limit)
        found = [*self._lessons(query, pool, wanted, explain=detail)]
        if wanted.takes_turns():
            found += self._turns(query, pool, explain=detail)
        ranked = rank_found(found)
        chosen = _choose(ranked, limit, weak) if floor else _best(ranked, limit)
        chosen = self._put_changes_first(chosen, wanted)
        if count_access:
            self.store.note_access([(each.scope, each.id) for each in chosen if each.kind != TURN])
        return _explain(chosen, ranked) if explain else chosen

    def _lessons(self, query: str, pool: int, wanted: _Wanted, *, explain: bool) -> Iterator[Found]:
        kinds = [kind for kind in STORED_KINDS if kind in wanted.kinds]
        if not kinds:
            return
        for hit in self.store.retrieve(
            query,
            pool,
            kinds=() if len(kinds) == len(STORED_KINDS) else kinds,
            scope=wanted.scope,
            outcome=wanted.outcome,
            levels=wanted.levels,
            count_access=False,
            explain=explain,
        ):
            memory = Memory.of_item(hit.item, hit.score)
            yield Found(memory, hit, *_places(hit.item.provenance))

    def _put_changes_first(self, memories: Iterable[Memory], wanted: _Wanted) -> list[Memory]:
        """Each decision that was or may have been changed is marked, and follows the newer one if
        that was not filtered out; so is a turn in which such a decision was taken."""
        ordered: list[Memory] = []
        seen: set[str] = set()
        for hit in memories:
            chain: list[Memory] = []  # what changed it may have been changed itself
            memory: Memory | None = hit
            while memory is not None and memory.id not in seen:
                seen.add(memory.id)
                found = filter(itemgetter(0), map(self._newer, self._behind(memory)))
                newer, how = next(found, NONE)
                chain.append(replace(memory, changed=_say_changed(newer, how)))
                memory = None
                if newer is not None and wanted.admits(newer):
                    memory = replace(Memory.of_item(newer, hit.score), weak=hit.weak)
            ordered += reversed(chain)
        return ordered

    def _newer(self, item: MemoryItem | None) -> tuple[MemoryItem | None, str]:
        return NONE if item is None else find_newer(self.store, item)

    def _behind(self, memory: Memory) -> Iterator[MemoryItem | None]:
        """The decision itself, or those that were taken in a turn."""
        if memory.kind == "decision":
            yield self.store.get(memory.id)
        elif memory.kind == TURN:
            for edge in self.store.graph.get_links(memory.id):
                for node in map(self.store.graph.get_node, edge.node_ids):
                    if node is not None and node.type == "decision":
                        yield self.store.get(str(node.metadata.get("memory_id")))

    def _turns(self, query: str, pool: int, *, explain: bool) -> list[Found]:
        from rlm.retrieval.excerpt import split_phrases

        plain, _ = split_phrases(query)  # who reports a bug quotes what they saw, and asks for more
        found = self.store.graph.search(
            plain, pool, type="experience", subtype=TURN, explain=explain
        )
        return [Found(self._turn(hit), hit, _place(hit.node.metadata.get("n"))) for hit in found]

    def _turn(self, hit: NodeHit) -> Memory:
        tenant = self.store.tenant
        turn = Memory.of_turn(hit, tenant.project, tenant.team, tenant.org)
        return replace(turn, score=turn.score * TURN_WEIGHT)

    def get(self, memory_id: str) -> Memory:
        """One memory, or one turn with its neighbours; of a decision that was replaced the newer.
        NotFound."""
        item = self._find(memory_id) or self._replacement(memory_id)
        if item is not None:
            newer, how = self._newer(item) if item.kind == "decision" else NONE
            return replace(Memory.of_item(item), changed=_say_changed(newer, how))
        node = self._find_turn(memory_id)
        if node is None:
            raise _unknown(memory_id)
        from rlm.retrieval.excerpt import Snippet
        from rlm.store.graph import NodeHit

        turn = self._turn(NodeHit(node, 0.0, Snippet("", 0)))
        return replace(turn, content="\n\n".join(map(_say, self._beside(node))))

    def said_around(self, memory_id: str) -> str:
        """The person's turn in which a memory was decided, and what the agent had said before, each
        cut to `TURN_CHARS`; '' where no session is behind it."""
        from rlm.learning.prompts import clip_ends

        node = self._find_turn(self._item(memory_id).provenance.get("turn_node"))
        if node is None:
            return ""
        beside = self._beside(node)
        until = [each.id for each in beside].index(node.id) + 1
        return "\n\n".join(clip_ends(_say(each), TURN_CHARS, 0.4) for each in beside[:until][-2:])

    def _find(self, memory_id: Any) -> MemoryItem | None:
        """A memory that may be shown, also by the id that it had before it was edited; an agent is
        shown nothing archived or in quarantine."""
        item = self.store.get(memory_id) or self.store.get(self._whole_id("memory", memory_id))
        if item is None and isinstance(memory_id, str):
            edited = self.store.list_items(provenance={"edited_from": memory_id}, limit=1)
            item = next(iter(edited), None)
        if item is None or self.person or (item.trust != "quarantined" and not item.archived_at):
            return item
        return None

    def _replacement(self, memory_id: Any) -> MemoryItem | None:
        old = self.store.get(memory_id) or self.store.get(self._whole_id("memory", memory_id))
        return None if old is None or old.trust == "quarantined" else self._newer(old)[0]

    def _item(self, memory_id: Any) -> MemoryItem:
        item = self._find(memory_id)
        if item is not None:
            return item
        if self._find_turn(memory_id) is not None:
            why = f"{memory_id} is a turn of a session, no memory: record what it says first"
            raise ValidationError(why, field="id")
        raise _unknown(memory_id)

    def _whole_id(self, kind: str, begins: Any) -> str:
        """The only id that begins so; '' where there is none, or several."""
        given = begins if isinstance(begins, str) and len(begins) >= SHORTEST_ID else ""
        found = self.store.ids_starting(kind, given, 2) if given else []
        return found[0] if len(found) == 1 else ""

    def _find_turn(self, node_id: Any) -> Node | None:
        graph = self.store.graph
        node = graph.get_node(node_id) or graph.get_node(self._whole_id("node", node_id))
        return node if node is not None and node.subtype == TURN else None

    def _beside(self, node: Node) -> list[Node]:
        """The turn and those around it in its session, in order."""
        graph = self.store.graph
        for edge in graph.get_links(node.id, type="context"):
            ids = edge.node_ids
            place = ids.index(node.id)
            near = ids[max(0, place - BESIDE) : place + BESIDE + 1]
            found = (graph.get_node(each) for each in near)
            return [each for each in found if each is not None]
        return [node]

    # -- changing ----------------------------------------------------------------------------------

    def record(
        self,
        title: str,
        content: str,
        *,
        description: str = "",
        kind: str = STORED_KINDS[0],
        tags: Iterable[str] = (),
        outcome: str | None = None,
        scope: str = LEVELS[0],
        source_session: str | None = None,
        origin: str | None = None,
    ) -> Memory:
        """Store a memory; the next search finds it."""
        source = "human" if self.person else "failure" if outcome == "failure" else "success"
        item = MemoryItem(
            title,
            description,
            content,
            source_type=source,
            tags=list(check_many(tags, "tags", "text")),
            outcome=outcome,
            level=scope,
            session_id=source_session,
            origin=origin,
        )
        return self.record_item(item, kind)

    def record_item(self, item: MemoryItem, kind: str = STORED_KINDS[0]) -> Memory:
        """Store a memory that has more to it. Where an agent says again what is there already, that
        memory comes back and nothing is stored. What is marked as private is left out."""
        from rlm.service.transcripts.builder import without_private

        item = without_private(item)
        if choice(kind, STORED_KINDS, "kind") != STORED_KINDS[0]:
            item = replace(item, provenance={**item.provenance, "kind": kind})
        admitted = admit_item(item, self.store.tenant, origin=self.store.origin)
        if not self.person:
            admitted = _judge_note(admitted)
            if (same := self._same(admitted)) is not None:
                return Memory.of_item(same)
        stored = self.store.get(self.store.add(admitted))
        return Memory.of_item(stored or admitted)

    def _same(self, new: MemoryItem) -> MemoryItem | None:
        """The memory that says what an agent says again. Of a decision only its own words count: in
        similar ones it may say otherwise."""
        if new.kind == "decision" or new.trust == "quarantined":
            return None
        from rlm.learning.dedup import find_candidates, is_same_lesson

        found = find_candidates(self.store, new)
        alike = (old for old in found if old.kind == new.kind and not old.archived_at)
        return next((old for old in alike if is_same_lesson(new, old, self.store.embedder)), None)

    def update(self, memory_id: str, /, **changes: Any) -> Memory:
        """Change the words, tags, outcome or kind of a memory; a person also its task, scope and
        confidence. New words give it a new id. What an agent has changed is unverified again.

        What a decision says stands in its content, description and title: they change together."""
        from rlm.service.transcripts.builder import drop_private_fields

        for name in changes:
            choice(name, CHANGEABLE_BY_PERSON if self.person else CHANGEABLE, "field")
        old, changes = self._item(memory_id), drop_private_fields(changes)
        if "kind" in changes:
            kind = choice(changes.pop("kind"), STORED_KINDS, "kind")
            changes["provenance"] = {**old.provenance, "kind": kind}
        if old.kind == "decision":
            changes = _reword(old, changes)
        if not self.person:
            new = amend_item(replace(old, trust="unverified"), changes, self.store.tenant)
            new = _judge_note(new)
            changes |= {"trust": new.trust, "provenance": new.provenance}
        with self.store.together():
            new = self.store.update(old.memory_id, **changes)
            if new.memory_id != old.memory_id and old.kind == "decision":
                rename_links(self.store, old.memory_id, new)
        return Memory.of_item(new)

    def feedback(self, memory_id: str, helpful: bool, comment: str = "") -> Memory:
        """Say whether a memory helped, and why; what is marked as private is left out."""
        from rlm.service.confidence import ConfidenceEvaluator
        from rlm.service.transcripts.builder import drop_private

        item = self._item(memory_id)
        evaluator = ConfidenceEvaluator(self.store, person=self.person)
        evaluator.on_feedback(item.memory_id, helpful, drop_private(str(comment or "")))
        return self.get(item.memory_id)

    def outcome(
        self, memory_ids: Iterable[str], succeeded: bool, session: str | None = None
    ) -> list[Memory]:
        """How the task ended that followed these memories, all or none. A session counts once."""
        from rlm.service.confidence import ConfidenceEvaluator

        ids = list(check_many(memory_ids, "memory_ids", "ids"))
        if len(ids) > MOST_OUTCOMES:
            why = f"{len(ids)} memories; at most {MOST_OUTCOMES}: name those that were followed"
            raise ValidationError(why, field="memory_ids")
        evaluator = ConfidenceEvaluator(self.store, person=self.person)
        with self.store.together():
            found = dict.fromkeys(self._item(each).memory_id for each in ids)
            for each in found:
                evaluator.on_usage(each, succeeded, session)
            return [self.get(each) for each in found]

    def why(self, id_or_query: str, limit: int = 5) -> dict[str, Any]:
        """Where a memory comes from and what became of it; of any other text, why each hit was
        found and what just missed. NotFound for what has the form of an id and is none."""
        from rlm.service.why import explain_memory, explain_query, is_id

        try:
            return explain_memory(self, id_or_query)
        except NotFound:
            if is_id(id_or_query):
                raise
        return explain_query(self, id_or_query, limit)


def _places(said: Mapping[str, Any]) -> tuple[int | None, tuple[int, ...]]:
    """The turn of a memory, and all that settled it."""
    listed = said.get("turns")
    turns = (
        [each for each in listed if _place(each) is not None] if isinstance(listed, list) else []
    )
    return _place(said.get("turn")), tuple(turns)


def _place(turn: Any) -> int | None:
    return turn if isinstance(turn, int) else None


def _best(ranked: Iterable[Found], limit: int) -> list[Memory]:
    return put_later_first(islice(ranked, limit))


def _choose(ranked: Sequence[Found], limit: int, weak: int) -> list[Memory]:
    """Of what is still believed the best, of which up to `weak` do not fit: those are marked."""
    chosen: list[Found] = []
    for hit in filter(_is_believed, ranked):
        if len(chosen) == limit:
            break
        if _fits(hit):
            chosen.append(hit)
        elif weak:
            chosen.append(replace(hit, memory=replace(hit.memory, weak=True)))
            weak -= 1
    return put_later_first(chosen)


def _fits(hit: Found) -> bool:
    return hit.why.similarity >= ASKED * likeness_floor(hit.why.documents)


def _is_believed(hit: Found) -> bool:
    return hit.memory.kind == TURN or hit.memory.confidence >= RECALL_FLOOR


def _explain(chosen: Sequence[Memory], ranked: Iterable[Found]) -> list[Memory]:
    """Each with the factors of its score; what only stands before the one that it changed has
    none."""
    known = {hit.memory.id: hit.why.to_dict() for hit in ranked}
    return [replace(each, why=known.get(each.id)) for each in chosen]


def _say_changed(newer: MemoryItem | None, how: str) -> str:
    return "" if newer is None else f"{how} on {newer.created_at[:10]}: {newer.memory_id}"


def _say(node: Node) -> str:
    said = node.metadata
    return f"[{said.get('n', '?')}] {said.get('role', 'somebody')}: {node.content}"


def _reword(old: MemoryItem, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes, and what else of a decision changes with them: its words are one thing."""
    before, now = (
        str(content).strip().partition("\n")[0].strip("“”")
        for content in (old.content, changes.get("content", old.content))
    )
    said = changes.get("description") or ("" if now == before else clip(now, DESCRIPTION_CHARS))
    if not said:
        return dict(changes)
    title = make_title(said) if is_cut_of(old.title, old.description) else old.title
    stated = {**changes.get("provenance", old.provenance), "decided": said}
    return {"title": title, "description": said, **changes, "provenance": stated}


def _judge_note(item: MemoryItem) -> MemoryItem:
    """What an agent wrote, in quarantine where it speaks to a prompt rather than of work."""
    from rlm.learning.gates import Gate

    if reason := Gate().note_reason(item):
        stated = {**item.provenance, QUARANTINE_REASON: reason}
        return replace(item, trust="quarantined", provenance=stated)
    return item


def _unknown(memory_id: Any) -> NotFound:
    return NotFound(f"no memory {str(memory_id)[:80]!r} here: use an id as a search shows it")
