"""Which older decision a newer one takes back, and how both are kept.

Two decisions are about the same thing when they share its words; the newer says otherwise when it
negates what the older has, has another number for the same unit, names what it replaces, or is the
same sentence but for a word or two. Where that is plain the older one is superseded; where it may
be so the newer one carries a proposal with its reason, the older one says who may have changed it,
and both stand. The order is that in which they were said, not that in which they were read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from rlm.retrieval.tokens import STOPWORDS, tokens, words
from rlm.service.numbers import read_numbers, write_digits
from rlm.store.backend import MemoryBackend
from rlm.store.types import MemoryItem

CANDIDATES = 16
SURE_STEMS, SOME_STEMS = 3, 2
SURE_SHARE, SOME_SHARE = 0.5, 0.34
FEW_STEMS = 3
NEAR_VECTORS = 0.6
WHOLE_SHARE, HALF_SHARE, PART_SHARE = 0.8, 0.5, 0.4
"""Of the longer of two. A chore ("write a test for the silent gauge, it should wait 20 minutes")
has another number beside some words of a rule, and changes nothing. A change is sure where nearly
all else is the same, or where it says that it is one and shares half."""
PLAIN_NO_SHARE = 0.7
"""Where only a "not" tells them apart."""
ONE_NO = "only one of them is a no"
SAME_SHARE = 0.8
"""Two that share so much and do not disagree are one decision, said twice."""
REPLACES, NAMES, REPLACED_WORDS = "it replaces", "it names", 2
"""So many words in the place of others, in a sentence that is otherwise the same."""
SUPERSEDES, SUPERSEDED_BY, PROPOSED = "supersedes", "superseded_by", "may_supersede"
BECAUSE = "superseded_because"
CHANGES, CHANGED = "changes", "changed_by"
"""In a newer decision: the ids of those that it changes in part; in an older one: the id and the
reason of each that did so."""
PERHAPS_CHANGED = "perhaps_changed_by"
"""In an older decision: the ids of those that may supersede it."""
LINKS = (SUPERSEDES, SUPERSEDED_BY, CHANGES, CHANGED, PROPOSED, PERHAPS_CHANGED)
"""Where one decision names others."""
MOST_HOPS = 20

_EMPTY = frozenset(
    tokens(" ".join(STOPWORDS))
    + tokens("no not never always must only use keep all every each asked now")
)
_DECISIVE = frozenset(
    words("before after first last always never all each on off up down more less")
)
_NEGATION = re.compile(
    r"\b(?:no|not|never|without|stop|avoid|drop|cannot|\w+n['’]t)\b", re.IGNORECASE
)
_AMENDS = re.compile(
    r"\b(?:actually|instead|no longer|any ?more|change of|changed (?:my|our)|scratch|forget"
    r"|on second thoughts?|now|after all|rather than|used to)\b",
    re.IGNORECASE,
)
_HEDGES = re.compile(
    r"\b(?:perhaps|maybe|might|could|possibly|probably|if|unless|not sure|what about|vielleicht"
    r"|könnten?|eventuell|wenn|falls|quizás?|tal vez|peut-être)\b",
    re.IGNORECASE,
)
_INSTEAD = re.compile(
    r"\b(?:instead of|rather than|not|no longer|in place of|replaces?)\s+([\w\s'/-]{2,60})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Amendment:
    """An older decision that a newer one takes back, for sure or perhaps, and why."""

    newer: MemoryItem
    older: MemoryItem
    certain: bool
    reason: str
    partly: bool = False
    """Whether the rest of the older one still holds."""

    def store_in(self, store: MemoryBackend) -> None:
        """Do it, or propose it."""
        act = mark_changed if self.partly else supersede if self.certain else propose
        act(store, self.newer.memory_id, self.older.memory_id, self.reason)


def find_related(store: MemoryBackend, item: MemoryItem) -> list[MemoryItem]:
    """Live decisions of the same project that may be about the same thing."""
    hits = store.retrieve(item.description, CANDIDATES, count_access=False)
    return [
        hit.item
        for hit in hits
        if hit.item.kind == "decision"
        and hit.item.level == "project"
        and hit.item.memory_id != item.memory_id
    ]


def find_amended(
    store: MemoryBackend, item: MemoryItem, others: Iterable[MemoryItem]
) -> list[Amendment]:
    """Which of the others `item` supersedes, or which supersede it where they were said later."""
    found = []
    for other in {each.memory_id: each for each in others}.values():
        newer, older = (item, other) if is_later(item, other) else (other, item)
        amendment = compare(newer, older, store)
        if amendment is not None:
            found.append(amendment)
    return found


def is_later(one: MemoryItem, other: MemoryItem) -> bool:
    """Whether one was said after the other; within a session the turns count."""
    if one.session_id == other.session_id:
        return _turn(one) >= _turn(other)
    return one.created_at >= other.created_at


def _turn(item: MemoryItem) -> int:
    turn = item.provenance.get("turn")
    return turn if isinstance(turn, int) else 0


def _is_one_breath(newer: MemoryItem, older: MemoryItem) -> bool:
    """Who says two things in one breath means both."""
    return newer.session_id == older.session_id and _turn(newer) == _turn(older)


def compare(newer: MemoryItem, older: MemoryItem, store: MemoryBackend) -> Amendment | None:
    """Whether the newer takes back the older; None when both stand."""
    left, right = subject_of(newer), subject_of(older)
    shared = left & right
    if not shared or _is_one_breath(newer, older):
        return None
    share = len(shared) / min(len(left), len(right))
    near = _is_near(newer, older, store)
    if not near and not (len(shared) >= SOME_STEMS and share >= SOME_SHARE):
        return None
    said, before = decision_text(newer), decision_text(older)
    conflict, amends = find_conflict(said, before), bool(_AMENDS.search(said))
    if share < SURE_SHARE and conflict in ("", ONE_NO):
        return None
    own = len(_key_stems(said) & _key_stems(before))
    of_longer = len(shared) / max(len(left), len(right))
    sure = of_longer >= _least_share(conflict, amends) and _is_firm(said, before)
    sure &= _is_certain(conflict, share, own, amends=amends, near=near)
    if not conflict and left - right:
        conflict = _find_announced(said)
    if not conflict or not (amends or _share_enough(of_longer, share, own)):
        return None
    return Amendment(newer, older, sure, _reason(shared, conflict))


def _share_enough(of_longer: float, share: float, own: int) -> bool:
    """Whether two may be about the same where none says that it changes something."""
    return of_longer >= PART_SHARE and share >= SURE_SHARE and own >= SOME_STEMS


def _find_announced(said: str) -> str:
    """The word with which it says that something changes; "from now on" also begins a new rule."""
    found = _AMENDS.search(said.casefold().replace("from now on", ""))
    return f'it says "{found[0]}"' if found else ""


def _least_share(conflict: str, amends: bool) -> float:
    return HALF_SHARE if amends or conflict.startswith(REPLACES) else WHOLE_SHARE


def _is_firm(said: str, before: str) -> bool:
    """What is no firm word takes back no firm one."""
    return not _HEDGES.search(said) or bool(_HEDGES.search(before))


def _is_certain(conflict: str, share: float, own: int, *, amends: bool, near: bool) -> bool:
    """Only a proposal where two share the question alone (`own` counts the stems of the answers):
    one answer may be a no, and both stand. Of two things that are named both may hold."""
    bare_no = conflict == ONE_NO and not amends
    if not conflict or share < (PLAIN_NO_SHARE if bare_no else SURE_SHARE):
        return False
    if conflict.startswith(NAMES) and not amends:
        return False
    return own >= SURE_STEMS or (own >= SOME_STEMS and not bare_no and (amends or near))


def _reason(shared: Iterable[str], conflict: str) -> str:
    return f"about the same ({', '.join(sorted(shared)[:6])}), and {conflict}"


def is_same(one: MemoryItem, other: MemoryItem) -> bool:
    """Whether two decisions say the same: then the newer one is nothing new."""
    left, right = subject_of(one), subject_of(other)
    most = max(len(left), len(right))
    if most < SURE_STEMS or len(left & right) / most < SAME_SHARE:
        return False
    return not find_conflict(decision_text(one), decision_text(other))


def decision_text(item: MemoryItem) -> str:
    """The words that settle it, without the question that they may answer."""
    return str(item.provenance.get("decided") or item.description)


def subject_of(item: MemoryItem) -> frozenset[str]:
    """The telling words of a decision, as stems without numbers; where it has few of its own, with
    those of the question."""
    own = _key_stems(item.description)
    if len(own) >= FEW_STEMS:
        return own
    asked = (line for line in item.content.splitlines() if line.startswith("In answer to:"))
    return own | _key_stems(next(asked, "").removeprefix("In answer to:"))


def _key_stems(text: str) -> frozenset[str]:
    return frozenset(stem for stem in tokens(text) if stem not in _EMPTY and not stem[:1].isdigit())


def find_conflict(newer: str, older: str) -> str:
    """How one says otherwise than the other; '' when it does not."""
    for number, unit in read_numbers(newer):
        for other, same in read_numbers(older):
            if unit == same and number != other:
                return f"it has {number} where {other} was"
    denied = [_key_stems(named) for named in _INSTEAD.findall(older)]
    for named in _INSTEAD.findall(newer):
        replaced = _key_stems(" ".join(named.split()[:4]))
        if replaced and replaced <= set(tokens(older)) and not any(map(replaced.issubset, denied)):
            return f'{REPLACES} "{" ".join(named.split()[:4])}"'
    if bool(_NEGATION.search(newer)) != bool(_NEGATION.search(older)):
        return ONE_NO
    return _find_replaced(words(write_digits(newer)), words(write_digits(older)))


def _find_replaced(newer: Sequence[str], older: Sequence[str]) -> str:
    """What stands in the place of something else, where all other words are the same. At the
    beginning it is another subject, of which the same may hold."""
    same = SequenceMatcher(None, newer, older, autojunk=False)
    changes = [code for code in same.get_opcodes() if code[0] != "equal"]
    if len(changes) != 1 or changes[0][0] != "replace":
        return ""
    _, start, end, first, last = changes[0]
    if not start or max(end - start, last - first) > REPLACED_WORDS:
        return ""
    says = "it says" if _DECISIVE.issuperset((*newer[start:end], *older[first:last])) else NAMES
    return f'{says} "{" ".join(newer[start:end])}" where "{" ".join(older[first:last])}" was'


def _is_near(one: MemoryItem, other: MemoryItem, store: MemoryBackend) -> bool:
    if store.embedder is None:
        return False
    texts = [(item.description, "") for item in (one, other)]
    left, right = store.embedder.embed_documents(texts)
    return float(left @ right) >= NEAR_VECTORS


def supersede(store: MemoryBackend, newer_id: str, older_id: str, reason: str) -> bool:
    """Archive the older of two stored decisions and link both; False where one is gone or the newer
    one is in quarantine. `restore` brings it back."""
    newer, older = _read_pair(store, newer_id, older_id)
    if newer is None or older is None:
        return False
    with store.together():
        chain = [*read_ids(newer, SUPERSEDES), older_id]
        store.update(newer_id, provenance={**newer.provenance, SUPERSEDES: chain})
        said = {SUPERSEDED_BY: newer_id, BECAUSE: reason}
        store.update(older_id, provenance={**older.provenance, **said})
        store.delete(older_id)
        _link(store, newer, older, SUPERSEDES)
    return True


def mark_changed(store: MemoryBackend, newer_id: str, older_id: str, reason: str) -> None:
    """Note in both that the newer of two stored decisions changes a part of the older; both stay,
    and who is shown the older one is shown the newer one first."""
    newer, older = _read_pair(store, newer_id, older_id)
    if newer is None or older is None:
        return
    with store.together():
        said = [*read_ids(newer, CHANGES), older_id]
        store.update(newer_id, provenance={**newer.provenance, CHANGES: said})
        reasons = _note({**changed_by(older), newer_id: reason})
        store.update(older_id, provenance={**older.provenance, CHANGED: reasons})
        _link(store, newer, older, CHANGES)


def _read_pair(
    store: MemoryBackend, newer_id: str, older_id: str
) -> tuple[MemoryItem | None, MemoryItem | None]:
    """Two stored decisions; None for an older one that is in the archive, and for a newer one that
    is in quarantine: what waits for a person changes nothing."""
    newer, older = store.get(newer_id), store.get(older_id)
    if newer is not None and newer.trust == "quarantined":
        newer = None
    return newer, None if older is None or older.archived_at else older


def unmark_changed(store: MemoryBackend, older_id: str) -> None:
    """Take back what `mark_changed` noted of a decision: it holds as it is."""
    older = store.get(older_id)
    if older is None:
        return
    for newer in filter(None, map(store.get, changed_by(older))):
        left = [each for each in read_ids(newer, CHANGES) if each != older_id]
        store.update(newer.memory_id, provenance={**newer.provenance, CHANGES: left})
    # an older rlm noted the newest of them among those that may supersede it
    maybe = [each for each in read_ids(older, PERHAPS_CHANGED) if each not in changed_by(older)]
    store.update(older_id, provenance=_with(older, {CHANGED: None, PERHAPS_CHANGED: maybe}))


def archived_by(store: MemoryBackend, newer: MemoryItem) -> list[MemoryItem]:
    """The decisions that are in the archive because this one superseded them."""
    listed = map(store.get, read_ids(newer, SUPERSEDES))
    return [
        older
        for older in listed
        if older and older.archived_at and newer.memory_id in read_ids(older, SUPERSEDED_BY)
    ]


def retract(store: MemoryBackend, memory_id: str, reason: str) -> None:
    """Archive a live decision as if it had not been taken: what it superseded holds again."""
    item = store.get(memory_id)
    if item is None or item.archived_at:
        return
    for older in archived_by(store, item):
        store.restore(older.memory_id)
        store.update(older.memory_id, provenance=_with(older, {SUPERSEDED_BY: None, BECAUSE: None}))
    store.update(memory_id, provenance={**item.provenance, BECAUSE: reason})
    store.delete(memory_id)


def find_newer(store: MemoryBackend, item: MemoryItem) -> tuple[MemoryItem | None, str]:
    """The live decision that replaced another one, or the newest that changed a part of it or may
    have changed it, and which of these."""
    ways = dict.fromkeys(read_ids(item, PERHAPS_CHANGED), "perhaps changed")
    ways |= dict.fromkeys(changed_by(item), "changed in part")
    if item.archived_at and item.provenance.get(SUPERSEDED_BY):
        ways = dict.fromkeys(read_ids(item, SUPERSEDED_BY), "replaced")
    live = ((_find_live(store, newer_id), how) for newer_id, how in ways.items())
    found = [(newer, how) for newer, how in live if newer is not None]
    if not found:
        return None, ""
    return max(found, key=lambda pair: (pair[0].created_at, _turn(pair[0])))


def _find_live(store: MemoryBackend, memory_id: str) -> MemoryItem | None:
    """A decision, or the one that replaced it in the end."""
    for _ in range(MOST_HOPS):
        item = store.get(memory_id)
        if item is None or item.trust == "quarantined":
            return None
        if not item.archived_at:
            return item
        memory_id = next(iter(read_ids(item, SUPERSEDED_BY)), "")
    return None


def may_supersede(newer: MemoryItem) -> dict[str, str]:
    """The older decisions that a newer one may take back, and why: a person decides."""
    return _read_noted(newer, PROPOSED)


def changed_by(older: MemoryItem) -> dict[str, str]:
    """The decisions that changed a part of an older one, and why."""
    return _read_noted(older, CHANGED)


def read_ids(item: MemoryItem, key: str) -> list[str]:
    """The ids under a key, one or several."""
    given = item.provenance.get(key)
    listed = given if isinstance(given, list) else [given]
    return [each for each in listed if isinstance(each, str) and each]


def _note(reasons: dict[str, str]) -> list[dict[str, str]]:
    return [{"id": each, "reason": why} for each, why in reasons.items()]


def _read_noted(item: MemoryItem, key: str) -> dict[str, str]:
    """Ids with reasons; provenance may come out of a pack, so what has another form is left out."""
    listed = item.provenance.get(key)
    given = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    pairs = ((each.get("id"), each.get("reason")) for each in given)
    return {key: why for key, why in pairs if isinstance(key, str) and isinstance(why, str)}


def _with(item: MemoryItem, changes: dict[str, Any]) -> dict[str, Any]:
    """The provenance of a decision with some of it changed, and without what is empty then."""
    changed = {**item.provenance, **changes}
    return {key: value for key, value in changed.items() if value or key not in changes}


def rename_links(store: MemoryBackend, old_id: str, item: MemoryItem) -> None:
    """Have what names a decision name it by its new id: other words make another id."""

    def renamed(value: Any) -> Any:
        if isinstance(value, list):
            return [renamed(each) for each in value]
        if isinstance(value, dict):
            return {**value, "id": renamed(value.get("id"))}
        return item.memory_id if value == old_id else value

    for other_id in {other_id for key in LINKS for other_id in _linked(item, key)}:
        other = store.get(other_id)
        if other is not None:
            changed = {
                key: renamed(other.provenance[key]) for key in LINKS if key in other.provenance
            }
            store.update(other_id, provenance={**other.provenance, **changed})
    node = item.provenance.get("node")
    if isinstance(node, str) and (known := store.graph.get_node(node)) is not None:
        said = {**known.metadata, "memory_id": item.memory_id}
        store.graph.update_node(node, metadata=said, reasoning="its decision has other words")


def _linked(item: MemoryItem, key: str) -> list[str]:
    return [*read_ids(item, key), *_read_noted(item, key)]


def withdraw(store: MemoryBackend, newer_id: str, older_id: str) -> bool:
    """Take a proposal out of both decisions; False where it is not there any more."""
    newer, older = store.get(newer_id), store.get(older_id)
    noted = {} if newer is None else may_supersede(newer)
    if newer is None or noted.pop(older_id, None) is None:
        return False
    store.update(newer_id, provenance=_with(newer, {PROPOSED: _note(noted)}))
    if older is not None:
        left = [each for each in read_ids(older, PERHAPS_CHANGED) if each != newer_id]
        store.update(older_id, provenance=_with(older, {PERHAPS_CHANGED: left}))
    return True


def propose(store: MemoryBackend, newer_id: str, older_id: str, reason: str) -> None:
    """Note in both of two decisions that the newer one may take back the older one."""
    newer, older = _read_pair(store, newer_id, older_id)
    if newer is None or older is None:
        return
    reasons = {**may_supersede(newer), older_id: reason}
    store.update(newer_id, provenance={**newer.provenance, PROPOSED: _note(reasons)})
    known = dict.fromkeys([*read_ids(older, PERHAPS_CHANGED), newer_id])
    store.update(older_id, provenance={**older.provenance, PERHAPS_CHANGED: list(known)})


def _link(store: MemoryBackend, newer: MemoryItem, older: MemoryItem, how: str) -> None:
    nodes = [decision_node(store, item) for item in (newer, older)]
    members = [{"node_id": nodes[0], "role": "cause"}, {"node_id": nodes[1], "role": "effect"}]
    store.graph.create_edge("causation", how, members)


def decision_node(store: MemoryBackend, item: MemoryItem) -> str:
    """The node of a decision in the hypergraph, made where it has none."""
    known = item.provenance.get("node")
    if isinstance(known, str) and store.graph.get_node(known) is not None:
        return known
    return add_decision_nodes(store, [item])[0]


def add_decision_nodes(store: MemoryBackend, items: Sequence[MemoryItem]) -> list[str]:
    """A node for each decision."""
    return store.graph.create_nodes(
        {
            "type": "decision",
            "content": item.description,
            "tier": "session",
            "confidence": 0.8,
            "metadata": {"memory_id": item.memory_id, "session": item.session_id},
        }
        for item in items
    )
