"""Which older decision a newer one takes back, and how both are kept.

Two decisions are about the same thing when they share its words; the newer says otherwise when it
negates what the older has, has another number for the same unit, an opposite word, or names what it
replaces. Where that is plain the older one is superseded; where it may be so the newer one carries
a proposal with its reason, and nothing is changed. The order is that in which they were said, not
that in which they were read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rlm.learning.suspicion import word_set
from rlm.retrieval.tokens import tokens
from rlm.store.backend import MemoryBackend
from rlm.store.types import MemoryItem

CANDIDATES = 8
SURE_STEMS, SOME_STEMS = 3, 2
SURE_SHARE, SOME_SHARE = 0.5, 0.34
FEW_STEMS = 3
NEAR_VECTORS = 0.6
PLAIN_NO_SHARE = 0.7
"""Where only a "not" tells them apart."""
ONE_NO = "only one of them is a no"
SAME_SHARE = 0.8
"""Two that share so much and do not disagree are one decision, said twice."""
SUPERSEDES, SUPERSEDED_BY, PROPOSED = "supersedes", "superseded_by", "may_supersede"

_STOP = frozenset(
    tokens(
        """
        a an and are as at be been by can do does done don't for from had has have how i
        if in into is it its let lets let's make more no not now of on or our please
        should so some than that the their them then there these they this those to us
        use used using was we were what when where which who will with would you your
        always never must just also only instead actually rather go going yes ok okay
        keep every each all any one first after before per over under about want need
        get got set accepts answer changed
        """
    )
)
_NEGATION = re.compile(
    r"\b(?:no|not|never|without|stop|avoid|drop|forbid\w*|cannot|\w+n['’]t)\b", re.IGNORECASE
)
_AMENDS = re.compile(
    r"\b(?:actually|instead|no longer|any ?more|changed (?:my|our) minds?|change of (?:plans?|mind)"
    r"|scratch that|on second thoughts?|from now on|going forward|as of (?:now|today)|new rule"
    r"|revert|not .{1,40} but|rather than|switch(?:ed|ing)? (?:back )?to|mov(?:e|ed|ing) to|forget"
    r"|after all|replac\w+|drop(?:ped)? the|overrul\w+|supersed\w+|used to|now"
    r"|earlier (?:rule|decision))\b",
    re.IGNORECASE,
)
_INSTEAD = re.compile(
    r"\b(?:instead of|rather than|not|no longer|in place of|replaces?|over)\s+([\w\s'/-]{2,60})",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.])(\d+(?:[.,]\d+)?)\s*([%$€£]|[A-Za-z]+)?")
_WORDED = {
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
    "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12",
}  # fmt: skip
_UNITS = {"day": "d", "hour": "h", "minute": "min", "second": "s", "sec": "s", "month": "mo",
          "week": "w", "year": "y", "percent": "%", "millisecond": "ms", "retry": "time",
          "attempt": "time", "tries": "time", "retries": "time"}  # fmt: skip
_OPPOSITES = tuple(
    pair.split("/")
    for pair in sorted(
        word_set("""
        before/after first/last always/never include/exclude allow/forbid allow/reject
        accept/reject enable/disable sync/async synchronous/asynchronous up/down
        ascending/descending inclusive/exclusive required/optional mandatory/optional
        public/private keep/drop keep/delete soft/hard oldest/newest min/max minimum/maximum
        lower/upper local/remote utc/local optimistic/pessimistic whitelist/blacklist
        allowlist/denylist eager/lazy on/off tabs/spaces strict/lenient opt-in/opt-out
        merge/rebase merge/squash rebase/squash with/without more/less earliest/latest
        """)
    )
)


@dataclass(frozen=True, slots=True)
class Amendment:
    """An older decision that a newer one takes back, for sure or perhaps, and why."""

    newer: MemoryItem
    older: MemoryItem
    certain: bool
    reason: str


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
    store: MemoryBackend, item: MemoryItem, others: Iterable[MemoryItem] = ()
) -> list[Amendment]:
    """What `item` supersedes, or what supersedes it where that was said later; of the store, and
    of `others` that are not stored yet."""
    found = []
    pool = {each.memory_id: each for each in (*find_related(store, item), *others)}
    for other in pool.values():
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


def compare(newer: MemoryItem, older: MemoryItem, store: MemoryBackend) -> Amendment | None:
    """Whether the newer takes back the older; None when both stand."""
    if newer.session_id == older.session_id and _turn(newer) == _turn(older):
        return None  # who says two things in one breath means both
    left, right = subject_of(newer), subject_of(older)
    shared = left & right
    share = len(shared) / max(1, min(len(left), len(right)))
    near = _is_near(newer, older, store)
    if not (len(shared) >= SOME_STEMS and share >= SOME_SHARE) and not (near and shared):
        return None
    conflict = find_conflict(decided(newer), decided(older))
    amends = _AMENDS.search(decided(newer))
    if not conflict:
        if not (amends and share >= SURE_SHARE and left - right):
            return None
        return Amendment(newer, older, False, _reason(shared, f'it says "{amends[0]}"'))
    plain = len(shared) >= SURE_STEMS or amends is not None or near
    wanted = PLAIN_NO_SHARE if conflict == ONE_NO and not amends else SURE_SHARE
    sure = plain and share >= wanted and len(shared) >= SOME_STEMS
    return Amendment(newer, older, bool(sure), _reason(shared, conflict))


def _reason(shared: Iterable[str], conflict: str) -> str:
    return f"about the same ({', '.join(sorted(shared)[:6])}), and {conflict}"


def is_same(one: MemoryItem, other: MemoryItem) -> bool:
    """Whether two decisions say the same: then the newer one is nothing new."""
    left, right = subject_of(one), subject_of(other)
    most = max(len(left), len(right))
    if most < SURE_STEMS or len(left & right) / most < SAME_SHARE:
        return False
    return not find_conflict(decided(one), decided(other))


def decided(item: MemoryItem) -> str:
    """The words that settle it, without the question that they may answer."""
    return str(item.provenance.get("decided") or item.description)


def subject_of(item: MemoryItem) -> frozenset[str]:
    """The telling words of a decision, as stems without numbers; where it has few of its own, with
    those of the question."""
    own = _telling(item.description)
    if len(own) >= FEW_STEMS:
        return own
    asked = (line for line in item.content.splitlines() if line.startswith("In answer to:"))
    return own | _telling(next(asked, "").removeprefix("In answer to:"))


def _telling(text: str) -> frozenset[str]:
    return frozenset(stem for stem in tokens(text) if stem not in _STOP and not stem[:1].isdigit())


def find_conflict(newer: str, older: str) -> str:
    """How one says otherwise than the other; '' when it does not."""
    for number, unit in _numbers(newer):
        for other, same in _numbers(older):
            if unit == same and number != other:
                return f"it has {number} where {other} was"
    words, before = _words(newer), _words(older)
    for one, other in _OPPOSITES:
        for new, old in ((one, other), (other, one)):
            if new in words and old in before and not (old in words and new in before):
                return f'it says "{new}" where "{old}" was'
    for named in _INSTEAD.findall(newer):
        replaced = {stem for stem in tokens(named)[:4] if stem not in _STOP}
        if replaced and replaced <= set(tokens(older)):
            return f'it replaces "{" ".join(named.split()[:4])}"'
    if bool(_NEGATION.search(newer)) != bool(_NEGATION.search(older)):
        return ONE_NO
    return ""


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+(?:-[a-z]+)?", text.casefold()))


def _numbers(text: str) -> list[tuple[str, str]]:
    plain = re.sub(r"[A-Za-z]+", lambda word: _WORDED.get(word[0].casefold(), word[0]), text)
    found = []
    for number, unit in _NUMBER.findall(plain):
        name = unit.casefold()
        singular = name.removesuffix("s") if len(name) > 2 else name
        found.append((number, _UNITS.get(name, _UNITS.get(singular, singular))))
    return found


def _is_near(one: MemoryItem, other: MemoryItem, store: MemoryBackend) -> bool:
    if store.embedder is None:
        return False
    texts = [(item.description, "") for item in (one, other)]
    left, right = store.embedder.embed_documents(texts)
    return float(left @ right) >= NEAR_VECTORS


def supersede(store: MemoryBackend, newer_id: str, older_id: str, reason: str) -> bool:
    """Archive the older of two stored decisions and link both; False where one is gone. `restore`
    brings it back."""
    newer, older = store.get(newer_id), store.get(older_id)
    if newer is None or older is None or older.archived_at:
        return False
    with store.together():
        chain = [*newer.provenance.get(SUPERSEDES, []), older_id]
        store.update(newer_id, provenance={**newer.provenance, SUPERSEDES: chain})
        said = {SUPERSEDED_BY: newer_id, "superseded_because": reason}
        store.update(older_id, provenance={**older.provenance, **said})
        store.delete(older_id)
        if "graph" not in store.lacks:
            _link(store, newer, older)
    return True


def may_supersede(newer: MemoryItem) -> dict[str, str]:
    """The older decisions that a newer one may take back, and why: a person decides. What has
    another form is left out."""
    listed = newer.provenance.get(PROPOSED)
    given = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    pairs = ((each.get("id"), each.get("reason")) for each in given)
    return {key: why for key, why in pairs if isinstance(key, str) and isinstance(why, str)}


def propose(store: MemoryBackend, newer_id: str, older_id: str, reason: str) -> None:
    """Note in the newer of two decisions that it may take back the older one."""
    newer = store.get(newer_id)
    if newer is not None:
        proposed = [*newer.provenance.get(PROPOSED, []), {"id": older_id, "reason": reason}]
        store.update(newer_id, provenance={**newer.provenance, PROPOSED: proposed})


def _link(store: MemoryBackend, newer: MemoryItem, older: MemoryItem) -> None:
    nodes = [decision_node(store, item) for item in (newer, older)]
    members = [{"node_id": nodes[0], "role": "cause"}, {"node_id": nodes[1], "role": "effect"}]
    store.graph.create_edge("causation", SUPERSEDES, members)


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
