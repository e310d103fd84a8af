"""RETRIEVE and INJECT: what earlier runs learnt, chosen for one question and put into its prompt
within bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rlm.agent.parts import Graph
from rlm.context import MEMORY_CHARS, BuiltContext, build_context, most_shown
from rlm.learning.calls import learnt_terms
from rlm.learning.confidence import Uses
from rlm.retrieval.rank import RECALL_FLOOR, likeness_floor
from rlm.retrieval.tokens import STOPWORDS, tokens
from rlm.store.backend import MemoryBackend
from rlm.store.document import kind_words, kinds_asked
from rlm.store.types import Hit, MemoryItem, Scope

SPARE = 7
"""Memories that are fetched beyond those wanted, for those that are no longer believed."""
SPARE_OF_KIND = 57
"""The same where most of what is found may be for another kind of task."""
OWN_FLOOR, STANDS_OUT, ALIKE_FLOOR = 0.2, 1.25, 0.25
"""Lessons of one graph are all a little like any question about it, so they have a floor of their
own. Where the best of them is not so many times as like it as the third, it is the last one."""
KIND_FLOOR = 0.08
"""Where nothing is like the question: the floor for the best lesson of this very ontology, if the
words of its kind have found it."""
ANY_KIND = frozenset(("list", "listing", "values", "describe", "definition"))
"""Kinds whose words most questions have: they tell nothing."""
SECOND_SHARE = 0.75
"""A second memory is not injected if it scores less than this share of the best."""
TEXT_HASH = "text_hash"
"""In the provenance of a lesson: over which text it was learnt."""
MOST_TITLES = 6
"""So many further lessons of this ontology or text are named to a language model by title."""
PREVIEW_CHARS = 1_000
TEXT_TOOLS = frozenset(("ctx_peek", "ctx_slice", "ctx_find", "ctx_stats"))
"""Tools that read a text. A run over an ontology has them too, for what else is behind a handle."""


@dataclass(frozen=True)
class RecalledContext:
    """What a run was given from memory, and the context that holds it."""

    built: BuiltContext
    hits: Sequence[Hit] = ()
    """The best `memory_k`, best first, whether or not they are like enough to be injected."""
    injected: Sequence[MemoryItem] = ()
    """Those that the prompt shows, in its order."""
    named: Sequence[Hit] = ()
    """Those of which it has the title; their numbers follow."""
    scope: Scope = field(default_factory=Scope)

    @property
    def ids(self) -> list[str]:
        return [item.memory_id for item in self.injected]

    def preview(self) -> str:
        """The titles of what stood in the prompt."""
        return "\n".join(f"{number}. {item.title}" for number, item in enumerate(self.injected, 1))[
            :PREVIEW_CHARS
        ]

    def to_json(self) -> dict[str, Any]:
        """All of it, for a cassette."""
        built = self.built
        return {
            "text": built.text,
            "layers": dict(built.layers),
            "memory_ids": list(built.memory_ids),
            "hits": [[hit.item.to_dict(), hit.score] for hit in self.hits],
            "injected": self.ids,
            "named": [[hit.item.to_dict(), hit.score] for hit in self.named],
            "scope": self.scope.to_dict(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RecalledContext:
        """Read what `to_json` wrote."""
        hits, named = (
            [Hit(MemoryItem.from_dict(item), score) for item, score in data.get(name, ())]
            for name in ("hits", "named")
        )
        items = {hit.item.memory_id: hit.item for hit in hits}
        return cls(
            BuiltContext(data["text"], dict(data["layers"]), tuple(data["memory_ids"])),
            hits,
            [items[memory_id] for memory_id in data["injected"] if memory_id in items],
            named,
            Scope.from_dict(data["scope"]),
        )

    @property
    def numbered_ids(self) -> list[str]:
        """What the numbers of the prompt stand for, from 1."""
        return [*self.ids, *(hit.item.memory_id for hit in self.named)]

    def take_named(self, uses: Uses) -> tuple[RecalledContext, Uses]:
        """With those of the named ones that a run used, as if they had been shown; the numbers of
        the uses are those of the result."""
        shown = len(self.injected)
        taken = [number for number in (*uses.followed, *uses.abandoned) if number > shown]
        if not taken:
            return replace(self, named=()), uses
        places = {number: shown + at for at, number in enumerate(taken, 1)}
        hits = [self.named[number - shown - 1] for number in taken]
        found = replace(
            self,
            hits=[*self.hits, *(hit for hit in hits if hit not in self.hits)],
            injected=[*self.injected, *(hit.item for hit in hits)],
            named=(),
        )
        followed, abandoned = (
            tuple(places.get(number, number) for number in numbers)
            for numbers in (uses.followed, uses.abandoned)
        )
        return found, replace(uses, followed=followed, abandoned=abandoned)

    def to_dicts(self, followed: Sequence[int]) -> list[dict[str, Any]]:
        """The retrieved memories as JSON; `followed` are numbers of the prompt, from 1."""
        used = {memory_id for number, memory_id in enumerate(self.ids, 1) if number in followed}
        return [
            {
                "memory_id": hit.item.memory_id,
                "title": hit.item.title,
                "rank": rank,
                "score": hit.score,
                "injected": hit.item.memory_id in self.ids,
                "followed": hit.item.memory_id in used,
            }
            for rank, hit in enumerate(self.hits, 1)
        ]


def recall(
    query: str,
    store: MemoryBackend,
    graph: Graph | None,
    k: int,
    *,
    lang: str | None,
    skip: int = 0,
    text: bool = False,
    text_hash: str = "",
    task_types: Sequence[str] = (),
    memory_chars: int = MEMORY_CHARS,
    can_get: bool = True,
    count_access: bool = True,
) -> RecalledContext:
    """The memories for a question and the context that holds the best of them. `k` 0 recalls
    nothing.

    `skip` leaves out the best ones: so further attempts at one question try something else. `text`:
    there is a text to ask about, `text_hash` says which. What is for ontologies alone is not
    recalled where there is none, nor what is for texts alone. `task_types` is what a caller or a
    curriculum said of the kind of task; of the question itself only what its grammar tells
    (`kinds_asked`).
    """
    scope = Scope(ontology="" if graph is None else graph.name)
    believed: list[Hit] = []
    if k:
        spare = SPARE_OF_KIND if task_types else SPARE
        asked = " ".join((*task_types, *kinds_asked(query), query))
        found = store.retrieve(
            asked, k + spare + skip, scope=scope, explain=True, count_access=count_access
        )
        believed = _choose_believed(found, task_types, text=text or graph is None)
    hits = believed[min(skip, len(believed)) :][:k]
    by_title = can_get and memory_chars > MEMORY_CHARS
    near = _near(hits, scope, task_types, by_title=by_title)
    injected = _choose(near, most_shown(memory_chars) or k)
    mine = (hit for hit in believed if _is_own(hit, scope) or _is_of_text(hit, text_hash))
    left = [hit for hit in mine if hit.item not in injected]
    further = left[:MOST_TITLES] if by_title else []
    built = build_context(
        query,
        memories=injected,
        **({} if graph is None else _of_graph(graph, store, learnt=bool(k))),
        lang=lang,
        memory_chars=memory_chars,
        can_get=can_get,
        further=[hit.item for hit in further],
    )
    kept = [item for item in injected if item.memory_id in built.memory_ids]
    named = [hit for hit in further if hit.item.memory_id in built.named_ids]
    return RecalledContext(built, hits, kept, named, scope)


def _of_graph(graph: Graph, store: MemoryBackend, *, learnt: bool) -> dict[str, Any]:
    terms = learnt_terms(store, graph.name, graph.meta) if learnt else Counter[str]()
    return {"meta": graph.meta, "guide": graph.guide, "learnt": terms}


def _choose_believed(found: Sequence[Hit], task_types: Sequence[str], *, text: bool) -> list[Hit]:
    """Those that can be of use and are still believed, what is for the kind of task first."""
    fit = [hit for hit in found if _is_fit(hit.item, task_types, text=text)]
    fit.sort(key=lambda hit: -len(_kinds_shared(hit.item, task_types)))
    return [hit for hit in fit if (hit.item.confidence or 0.0) >= RECALL_FLOOR]


def _is_fit(item: MemoryItem, task_types: Sequence[str], *, text: bool) -> bool:
    """Whether a memory can be of use, as far as its scope and what was said of the task tell."""
    scope = item.scope
    if task_types and scope.task_types and not _kinds_shared(item, task_types):
        return False
    for_texts = scope.tools and not scope.ontology and TEXT_TOOLS.issuperset(scope.tools)
    return text or not for_texts


def _kinds_shared(item: MemoryItem, task_types: Sequence[str]) -> set[str]:
    return set(task_types).intersection((*item.scope.task_types, *item.tags))


def _near(
    hits: Sequence[Hit], scope: Scope, task_types: Sequence[str], *, by_title: bool
) -> list[MemoryItem]:
    """Those that are like the question: nothing fits is an answer. What a caller said of the kind
    of task is no guess, so what is for it needs no likeness. Without any, the best lesson of the
    question's kind; `by_title`, a model is named its title instead, and sees whether it fits. What
    it is only named holds nothing back that is like enough to be shown."""
    if not hits:
        return []
    floor, own_floor = _floors(hits, scope)
    of_kind = [hit for hit in hits if _kinds_shared(hit.item, task_types)]
    like = [
        hit for hit in hits if hit.why.similarity >= (own_floor if _is_own(hit, scope) else floor)
    ]
    rivals = [*of_kind, *like] if by_title else hits
    least = SECOND_SHARE * max((hit.score for hit in rivals), default=0.0)
    near = [hit for hit in hits if hit in of_kind or (hit in like and hit.score >= least)]
    if not near and not by_title:
        near = [hit for hit in hits[:1] if _is_of_kind(hit, scope)]
    return [hit.item for hit in near]


def _floors(hits: Sequence[Hit], scope: Scope) -> tuple[float, float]:
    """How like the question a lesson has to be, and one of this very ontology."""
    floor = likeness_floor(hits[0].why.documents)
    own = (hit.why.similarity for hit in hits if _is_own(hit, scope))
    likeness = sorted(own, reverse=True)
    if len(likeness) > 2 and likeness[0] < STANDS_OUT * likeness[2]:
        return ALIKE_FLOOR, ALIKE_FLOOR
    return floor, max(floor, OWN_FLOOR)


def _is_own(hit: Hit, scope: Scope) -> bool:
    """Whether a memory is a lesson of this very ontology."""
    return bool(scope.ontology) and hit.item.scope.ontology == scope.ontology


def _is_of_text(hit: Hit, text_hash: str) -> bool:
    """Whether a memory was learnt over this very text. It may fit others as well."""
    return bool(text_hash) and hit.item.provenance.get(TEXT_HASH) == text_hash


def _is_of_kind(hit: Hit, scope: Scope) -> bool:
    """Whether it is a lesson of this ontology that the words of its kind have found. It may share
    nothing else with the question."""
    if not _is_own(hit, scope) or hit.why.similarity < KIND_FLOOR:
        return False
    telling = [name for name in hit.item.scope.task_types if name not in ANY_KIND]
    words = tokens(" ".join((*telling, kind_words(telling))))
    shared = set(words).intersection(tokens(" ".join(hit.why.matched)))
    return not shared <= STOPWORDS


def _choose(items: list[MemoryItem], most: int) -> list[MemoryItem]:
    """The best that the prompt has room for; beside things to avoid, a way that worked."""
    best = items[:most]
    if best and all(item.outcome == "failure" for item in best):
        worked = next((item for item in items if item.outcome != "failure"), None)
        if worked is not None:
            best = [worked, *best[: most - 1]]
    return best
