"""What a run taught, read from its calls, without a model: the same run gives the same memory.

A success leaves the calls that led to its answer, with the specifics taken out. A failure leaves
what to avoid. No words of the question, of an answer, of an error or of a label get into a memory:
only calls, names of tools, and sentences that are written here. So nobody can have something stored
by writing it into an ontology.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlm.learning.calls import (
    LINKING,
    CallLike,
    Step,
    TraceLike,
    Written,
    entities_in,
    steps_of,
    written,
)
from rlm.learning.compact import listed, shown_whole, title_of
from rlm.learning.confidence import START
from rlm.learning.decisive import decisive_steps
from rlm.learning.extent import Extent
from rlm.learning.failures import lesson_of_answer, lesson_of_errors
from rlm.learning.grounding import iris_in
from rlm.learning.thesaurus import class_calls
from rlm.learning.words import says_absent
from rlm.llm.offline.asked.kinds import PLURALS, Asked, family_of
from rlm.llm.types import OFFLINE_UNANSWERED
from rlm.ontology.terms import Prefixes
from rlm.store.types import Judgment, MemoryItem, Scope

TASK_CHARS = 2_000
LINK = "`{}(name)` for {} IRI"
ENDINGS = {
    "namespaces": "answer with each prefix and its namespace",
    "describe": "answer from what it returned, with the IRI",
    "path": "answer with the chain of IRIs, in order",
    "count": "answer with the number",
    "is_subclass": "answer yes or no",
    "exists": "answer yes with the IRI, or no",
}
PAGE = "page with `sparql_slice`; answer with every IRI"
EVERY = "answer with every IRI that it returned"
GENERAL = (
    ("subclass", "subclasses"),
    ("superclass", "superclasses"),
    ("propert", "properties"),
    ("instance", "instances"),
    ("individual", "individuals"),
    ("namespace", "namespaces"),
    ("label", "labels"),
    ("relat", "relations"),
    ("connect", "connections"),
    ("path", "paths"),
    ("how many", "numbers"),
    ("count", "numbers"),
    ("class", "classes"),
    ("concept", "concepts"),
    ("term", "terms"),
)
"""What a question can be about, by the beginning of a word: the only words of a question that a
title may have."""


def extract_offline(
    artifact: Mapping[str, Any],
    judgment: Judgment,
    *,
    trace: TraceLike | None,
    question: str = "",
    asked: Asked | None = None,
    ontology: str | None = None,
    prefixes: Mapping[str, str] | None = None,
) -> list[MemoryItem]:
    """One procedure of a success, and at most one lesson of what went wrong; [] when there is
    nothing to learn."""
    question = question or str(artifact.get("task") or "")
    answer = str(artifact.get("final_answer") or "").strip()
    calls = class_calls(question, asked, trace.calls) if trace is not None else []
    if not calls or answer.startswith(OFFLINE_UNANSWERED) or _is_special(asked):
        return []
    run = _Run(calls, question, answer, asked, ontology, Prefixes(prefixes or {}))
    if judgment.is_success:
        found = [run.procedure(), lesson_of_errors(calls, run.tags, recovered=True)]
    else:
        found = [run.pitfall(judgment), lesson_of_errors(calls, run.tags)]
    return [item for item in found if item is not None]


def procedure_of(
    calls: Sequence[CallLike],
    last: CallLike,
    *,
    question: str,
    asked: Asked | None = None,
    ontology: str | None = None,
    prefixes: Mapping[str, str] | None = None,
) -> MemoryItem | None:
    """The procedure that ends in one call, which somebody says is the decisive one."""
    if _is_special(asked):
        return None
    run = _Run(calls, question, "", asked, ontology, Prefixes(prefixes or {}))
    chosen = [step for step in run.steps if step.call is last]
    return run.procedure(chosen) if chosen else None


def pitfall_of(
    calls: Sequence[CallLike],
    last: CallLike | None,
    judgment: Judgment,
    *,
    question: str,
    asked: Asked | None = None,
    ontology: str | None = None,
    prefixes: Mapping[str, str] | None = None,
) -> MemoryItem | None:
    """What to avoid after one call that somebody says was wrong; without one, after the last
    errors."""
    run = _Run(calls, question, "", asked, ontology, Prefixes(prefixes or {}))
    if last is None:
        failed = [call for call in calls if not call.ok][-1:]
        return lesson_of_errors([*failed, *failed], run.tags)
    chosen = [step for step in run.steps if step.call is last]
    return run.pitfall(judgment, chosen[0]) if chosen else None


def _is_special(asked: Asked | None) -> bool:
    """Whether a question is of a kind and yet not answered as the others of it: its calls would
    mislead them.

    "Tug and Ferry" may be two names, and a procedure has a place for one; the ontology itself, and
    subproperties, are described by other calls than a term is.
    """
    return asked is not None and (
        bool(asked.several) or asked.task_type in ("overview", "subproperties", "types")
    )


def tags_of(asked: Asked | None) -> list[str]:
    """The kind of a question, its family, and what is counted."""
    if asked is None:
        return []
    if asked.task_type.startswith("list_"):
        return [asked.task_type, family_of("namespaces")]
    return [
        tag
        for tag in (asked.kind, family_of(asked.kind), asked.of if asked.kind == "count" else "")
        if tag
    ]


class _Run:
    def __init__(
        self,
        calls: Sequence[CallLike],
        question: str,
        answer: str,
        asked: Asked | None,
        ontology: str | None,
        prefixes: Prefixes,
    ) -> None:
        self.steps = steps_of(calls, prefixes)
        self.question, self.answer, self.asked = question, answer, asked
        self.ontology, self.prefixes = ontology, prefixes
        self.kind = asked.kind if asked is not None else ""
        self.tags = tags_of(asked)
        self.mentions = asked.mentions if asked is not None else ()
        text = asked.text if asked is not None else ""
        self.texts = {text.casefold(): "$TEXT_1"} if text else {}
        self.extent = None if asked is None else Extent(asked, ())
        """What the calls that are stored answer: of this the words of a memory speak."""

    # -- a success ---------------------------------------------------------------------------------

    def procedure(self, chosen: list[Step] | None = None) -> MemoryItem | None:
        chosen = self.decisive() if chosen is None else chosen
        if not chosen:
            return self._absent()
        entities = self._entities(chosen)
        shown: dict[str, Written] = {}
        for step in chosen:
            linking = step.tool in LINKING and self.kind == "exists"
            made = written(step, entities, self.texts, self.prefixes, linking=linking)
            if made is None:
                return None
            shown.setdefault(made.text, made)
        whole = list(shown.values())
        if self.asked is not None:
            self.extent = Extent(self.asked, [one.text for one in whole])
        kept = tuple(dict.fromkeys(name for one in whole for name in one.kept))
        link = (
            ""
            if not entities or chosen[0].tool in LINKING
            else LINK.format(self._linker(entities), "each" if len(entities) > 1 else "the")
        )
        tools = [*([self._linker(entities)] if link else []), *(step.tool for step in chosen)]
        tools += (
            ["sparql_slice"]
            if any(one.query and not one.query.startswith("ASK") for one in whole)
            else []
        )
        ending = self._ending(chosen)
        for steps in self._forms(link, whole, ending):
            item = self._item(steps, tools, kept)
            if shown_whole(item):
                return item
        return self._long(link, whole, tools, kept)

    def decisive(self) -> list[Step]:
        """The steps that gave the answer."""
        named = frozenset(iris_in(self.answer, self.prefixes))
        own = frozenset(self._entities(self.steps))
        if (
            says_absent(self.answer)
            and not (named or own)
            and self.kind not in ("exists", "is_subclass", "count")
        ):
            return []
        return decisive_steps(self.steps, self.answer, named, named - own, self.kind, self.question)

    def _entities(self, about: Sequence[Step]) -> dict[str, str]:
        return entities_in(self.steps, about, self.question, self.mentions, self.prefixes)

    def _linker(self, entities: Mapping[str, str]) -> str:
        used = [
            step.tool for step in self.steps if step.tool in LINKING and step.iris & entities.keys()
        ]
        return used[-1] if used else "search_entity"

    def _ending(self, chosen: Sequence[Step]) -> str:
        queried = any(step.tool == "sparql_query" for step in chosen)
        return ENDINGS.get(self.kind) or (PAGE if queried else EVERY)

    @staticmethod
    def _forms(link: str, calls: Sequence[Written], ending: str) -> list[list[str]]:
        """Ways to say it, the best first; a prompt shows three steps."""
        said = [f"`{call.text}`" for call in calls]
        forms = [[link, *said, ending], [link, *said], [*said, ending], said]
        return [made for form in forms if len(made := [step for step in form if step]) <= 3]

    def _long(
        self, link: str, calls: Sequence[Written], tools: list[str], kept: tuple[str, ...]
    ) -> MemoryItem:
        """A query that no prompt has the room for stands below the steps, where `mem_get` finds it."""
        steps = [
            step
            for step in (link, "get this memory with `mem_get`: its query is below the steps")
            if step
        ]
        steps.append("run it with `sparql_query`, then page with `sparql_slice`")
        below = "\n".join(f"\n```sparql\n{call.query or call.text}\n```" for call in calls)
        return self._item(steps, tools, kept, below)

    def _absent(self) -> MemoryItem | None:
        """The searches that found nothing of that name."""
        searches = list(dict.fromkeys(step.tool for step in self.steps if step.tool in LINKING))
        known = iris_in(self.answer, self.prefixes) or self._entities(self.steps)
        if not searches or known or not says_absent(self.answer):
            return None
        steps = [f"`{tool}(name)`" for tool in searches[:2]]
        steps.append("no hit has that name: say that there is no such thing, name no IRI")
        item = self._item(steps, searches[:2], (), title="Tell when something is not there")
        item.scope = Scope(None, ("absent",), tuple(searches[:2]))
        item.tags = ["absent", *self.tags]
        item.description = "For a name that the ontology may not have."
        item.rekey()
        return item

    def _item(
        self,
        steps: list[str],
        tools: list[str],
        kept: tuple[str, ...],
        below: str = "",
        title: str = "",
    ) -> MemoryItem:
        ontology = self.ontology if kept else None
        types = () if self.extent is None else (self.extent.asked.task_type,)
        scope = Scope(ontology, types, tuple(dict.fromkeys(tools)), ontology is None)
        about = f"; names terms of {ontology}" if ontology else ""
        return MemoryItem(
            title_of(title or self._title()),
            self._when(tools) + about + ".",
            listed(steps) + below,
            source_type="success",
            task_query=self.question[:TASK_CHARS] or None,
            tags=tags_of(self.extent.asked if self.extent else None) or ["ontology"],
            scope=scope,
            outcome="success",
            confidence=START["distilled"],
        )

    def _when(self, tools: Sequence[str]) -> str:
        """When to use it, and what it calls: what the title leaves out."""
        if self.asked is None or self.extent is None:
            return "For a question like one that these calls answered"
        named = (
            f"for {PLURALS[self.asked.what]}"
            if self.asked.what in PLURALS and self.kind != "search"
            else ""
        )
        calls = dict.fromkeys(
            tool for tool in tools if tool not in LINKING and tool != "sparql_slice"
        )
        parts = (named, self.extent.words, f"calls {' and '.join(calls or dict.fromkeys(tools))}")
        said = "; ".join(part for part in parts if part)
        return said[0].upper() + said[1:]

    def _title(self) -> str:
        if self.extent is not None:
            return self.extent.title(self.question)
        words = self.question.casefold()
        about = list(dict.fromkeys(name for part, name in GENERAL if part in words))[:2]
        return (
            f"Find {' and '.join(about)} with {self.steps[-1].tool}"
            if about
            else f"Ask with {self.steps[-1].tool}"
        )

    # -- a failure ---------------------------------------------------------------------------------

    def pitfall(self, judgment: Judgment, chosen: Step | None = None) -> MemoryItem | None:
        """The call that the wrong answer came from."""
        if chosen is None:
            if not self.answer or not self.steps:
                return None
            chosen = (self.decisive() or self.steps[-1:])[-1]
        made = written(chosen, self._entities([chosen]), self.texts, self.prefixes)
        call = "" if made is None or made.kept or made.gaps else made.text
        return lesson_of_answer(self.kind, chosen.tool, call, judgment, self.tags)
