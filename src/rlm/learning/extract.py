"""From a judged run to memories: 1 to 3 procedures, or none when there is nothing to learn
(ReasoningBank).

A language model writes them, and what it does not write is not there: an empty list is respected.
For a run without one they are read from its calls. So they are where two replies of a model could
not be read, and then they wait in quarantine. All of them pass the gates: what does not is kept, in
quarantine, with the reason.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rlm.learning.calls import LINKING, plain
from rlm.learning.evidence import Evidence
from rlm.learning.extract_calls import CallReading, pattern_item
from rlm.learning.extract_llm import ask_for_items, build_items
from rlm.learning.extract_prompts import JudgedRun
from rlm.learning.gates import TOOLS, Gate, RecalledTexts, read_by_model
from rlm.learning.grounding import iris_in
from rlm.learning.lesson import find_queries, may_run, template_for
from rlm.learning.suspicion import ForeignText
from rlm.learning.words import number_in
from rlm.llm import Client, Usage, is_language_model, is_unanswered
from rlm.loop.trace import Trace
from rlm.ontology.query.shape import QueryPattern
from rlm.ontology.terms import Prefixes, local_name
from rlm.ontology.vocabulary import VOCABULARY
from rlm.store.generality import hardcoded_term
from rlm.store.types import QUARANTINE_REASON, Judgment, MemoryItem

log = logging.getLogger("rlm.learning")

MOST_ITEMS = 3
UNREAD = "a model's replies could not be read, so a program wrote it from the calls"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What is known when lessons are drawn from the runs of one task, the chosen run first."""

    client: Client | None = None
    question: str = ""
    task_type: str = ""
    """The kind of task, where a caller or a curriculum said it."""
    ontology: str | None = None
    prefixes: Mapping[str, str] = field(default_factory=dict)
    """Those of the ontology."""
    terms: Container[str] = ()
    """Its classes and properties, where they are known; `all_terms` says that these are all."""
    all_terms: bool = False
    query: str | None = None
    """The query whose result stood behind the answer, '' for none; read off the calls where nobody
    says. `certain`: something shows it."""
    certain: bool = True
    parses: Callable[[str], bool] = may_run
    """Whether a query with gaps is one: a caller with an engine can ask that."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Added to that of every item: trajectory_id, run_id, …"""
    session: str | None = None
    recalled: RecalledTexts | None = None
    """What the runs were given from memory."""
    foreign: Sequence[str] = ()
    """What the runs fetched that others wrote: what tools returned, passages, outputs."""
    read: Sequence[str] | None = None
    """What of it a model has read; None where nobody knows."""
    shown_anyway: str = ""
    """What every run over the ontology is told beforehand: no lesson need say it."""
    tools: frozenset[str] = TOOLS
    """Those that a procedure may name."""
    usage: Usage | None = None
    """What the model used is added to it."""

    def lessons(
        self,
        artifacts: Sequence[Mapping[str, Any]],
        judgments: Sequence[Judgment],
        traces: Sequence[Trace | None],
        evidence: Sequence[Evidence],
    ) -> list[MemoryItem]:
        """A model's lessons, or those of the calls where there is no model."""
        client = self.client if self.client and is_language_model(self.client) else None
        behind = self.query if client and self.query and self.certain else ""
        readings = [
            CallReading.of_run(
                artifact,
                trace,
                question=self.question,
                ontology=self.ontology,
                prefixes=self.prefixes,
                said=self.task_type,
                behind=behind,
            )
            for artifact, trace in zip(artifacts, traces, strict=True)
        ]
        if client is None:
            found = self._lessons_of_calls(readings, judgments)
        elif any(map(_is_worth_asking, evidence, readings)):
            runs = [JudgedRun(*each) for each in zip(evidence, judgments, strict=True)]
            said = ask_for_items(
                runs,
                over_text=self.ontology is None,
                shown_anyway=self.shown_anyway,
                client=client,
                usage=self.usage,
            )
            if said is None:
                found = self._lessons_of_calls(readings, judgments)
                for item in found:
                    item.trust = "quarantined"
                    item.provenance = {QUARANTINE_REASON: UNREAD, **item.provenance}
            else:
                found = self._lessons_of_model(said, artifacts, runs, readings)
        else:
            found = []
        for item in found:
            item.provenance = {"source": "extracted", **self.provenance, **item.provenance}
            item.session_id = self.session
        return found[:MOST_ITEMS]

    def _template(
        self, query: str, reading: CallReading, question: str = ""
    ) -> QueryPattern | None:
        made = template_for(
            query,
            self.prefixes,
            asked=reading.form.asked,
            terms=self.terms,
            by_place=not self.all_terms,
            question=question,
        )
        if made is None or not self.parses(made.text):
            log.info("no template for a lesson: %s", query)
            return None
        return made

    def _template_behind(self, reading: CallReading) -> QueryPattern | None:
        query = reading.decisive_query if self.query is None else self.query
        return self._template(query, reading) if query else None

    def _lessons_of_model(
        self,
        said: Sequence[Mapping[str, Any]],
        artifacts: Sequence[Mapping[str, Any]],
        runs: Sequence[JudgedRun],
        readings: Sequence[CallReading],
    ) -> list[MemoryItem]:
        best = next((at for at, run in enumerate(runs) if run.judgment.is_success), None)
        reading, queries = readings[best or 0], runs[best or 0].evidence.queries
        named: set[str] = set()

        def template(number: int) -> str:
            if not 0 < number <= len(queries):
                return ""
            query = str(queries[number - 1].args.get("query", ""))
            made = self._template(query, reading, reading.question)
            named.update(made.terms if made else ())
            return made.text if made else ""

        items = build_items(
            said, reading, success=best is not None, parses=self.parses, templates=template
        )
        general, of_ontology = self._specifics(artifacts, readings, named)
        # An answer is the model's own words, unless nothing else tells what the run was shown.
        quoted = (text for each in artifacts for text in _quotations_in(each))
        foreign = ForeignText(self.foreign or quoted)
        read = None if self.read is None else read_by_model(self.read)
        for item in items:
            specifics = general if item.scope.ontology is None else of_ontology
            gate = Gate(
                self.tools,
                specifics,
                self.prefixes,
                self.recalled,
                foreign,
                question=self.question,
                read=read,
            )
            gate.admit([item])
            if item.quarantine_reason:
                item.trust = "quarantined"
        return items

    def _specifics(
        self,
        artifacts: Sequence[Mapping[str, Any]],
        readings: Sequence[CallReading],
        terms: Iterable[str],
    ) -> tuple[frozenset[str], frozenset[str]]:
        """The names and texts that only these runs were about: for a lesson of any ontology, and
        for one of this. Within one ontology its classes and properties are vocabulary, whatever was
        asked, and so are codes and the like that an answer names to explain itself."""
        bound = Prefixes(self.prefixes)
        vocabulary = {bound.expand(name) for name in terms}
        texts = set[str]().union(*map(_texts_of, artifacts, readings))
        asked = set[str]().union(*map(_asked_iris, artifacts, readings))
        named = asked.union(*map(_answer_iris, artifacts, readings))
        own = {iri for iri in asked - vocabulary if iri not in self.terms}
        words = {plain(local_name(iri)) for iri in named - own}

        def spell(iris: set[str], texts: set[str]) -> frozenset[str]:
            forms = {form for iri in iris for form in (iri, bound.shrink(iri), local_name(iri))}
            return frozenset(filter(None, forms | texts))

        return (
            spell(named - VOCABULARY, texts),
            spell(own, {text for text in texts if plain(text) not in words}),
        )

    def _lessons_of_calls(
        self,
        readings: Sequence[CallReading],
        judgments: Sequence[Judgment],
    ) -> list[MemoryItem]:
        """Our own words hold nothing of the run, and may say what is known already. A query that
        certainly found the answer stands by itself where no procedure holds one; one of RDF's own
        words has a kind that is known, or is of no use."""
        template = self._template_behind(readings[0]) if judgments[0].is_success else None
        found: list[MemoryItem] = []
        for at in sorted(range(len(readings)), key=lambda at: not judgments[at].is_success):
            for item in readings[at].lessons(judgments[at]):
                # What to avoid stands in backticks; what a success did as well is not it.
                if all(
                    old.outcome != item.outcome and item.content.split("`")[1] not in old.content
                    for old in found
                ):
                    found.append(item)
        done = any(item.outcome == "success" and find_queries(item.content) for item in found)
        own = template is not None and hardcoded_term(template.text) is not None
        if template is not None and own and self.certain and not done:
            found.append(pattern_item(template, readings[0]))
        return Gate(self.tools, prefixes=self.prefixes).admit(found)


def extract_memories(
    artifact: Mapping[str, Any], judgment: Judgment, *, trace: Trace | None = None, **known: Any
) -> list[MemoryItem]:
    """What one judged run taught, ready for `dedup`; each item is unverified or quarantined, never
    trusted. `known` are fields of `Extraction`. Never raises for what a model does."""
    return extract_contrast([artifact], [judgment], traces=[trace], **known)


def extract_contrast(
    artifacts: Sequence[Mapping[str, Any]],
    judgments: Sequence[Judgment],
    *,
    traces: Sequence[Trace | None],
    evidence: Sequence[Evidence] | None = None,
    **known: Any,
) -> list[MemoryItem]:
    """What several runs of one task taught (MaTTS): what successes did and failures did not.
    Without a model: what the first success did, and the first failure otherwise. `evidence` is what
    a model is shown of the runs; made of artifacts and traces where there is none."""
    if not artifacts or not len(artifacts) == len(judgments) == len(traces):
        raise ValueError("as many artifacts as judgments and traces are needed, and at least one")
    shown = evidence or [
        Evidence.of_artifact(artifact, calls=trace.calls if trace is not None else ())
        for artifact, trace in zip(artifacts, traces, strict=True)
    ]
    return Extraction(**known).lessons(artifacts, judgments, traces, shown)


def _is_worth_asking(evidence: Evidence, reading: CallReading) -> bool:
    """Whether anything was done that a model could say something about."""
    return not evidence.is_empty and not is_unanswered(reading.answer)


def _quotations_in(artifact: Mapping[str, Any]) -> Iterator[str]:
    """What an artifact quotes of the data, in the answer too."""
    yield str(artifact.get("final_answer") or "")
    yield from map(str, artifact.get("errors_encountered") or ())
    for step in artifact.get("key_steps") or ():
        if isinstance(step, Mapping):
            yield str(step.get("outcome") or "")


def _asked_iris(artifact: Mapping[str, Any], reading: CallReading) -> set[str]:
    """The things that only this run was about, by the names in its question."""
    return iris_in(str(artifact.get("task") or ""), reading.prefixes) | reading.form.asked


def _answer_iris(artifact: Mapping[str, Any], reading: CallReading) -> set[str]:
    return iris_in(str(artifact.get("final_answer") or ""), reading.prefixes)


def _texts_of(artifact: Mapping[str, Any], reading: CallReading) -> set[str]:
    """The names that its question looked for, the number of its answer, and the answer itself where
    that is short. A name has a capital or a digit: what has neither is a word of the language."""
    question, answer = reading.question.casefold(), str(artifact.get("final_answer") or "")
    looked_for = {step.asked_for for step in reading.steps if step.tool in LINKING}
    found = {name for name in looked_for if name.casefold() in question and name != name.lower()}
    if (number := number_in(answer, reading.question)) is not None:
        found.add(str(number))
    return found | ({answer} if 20 < len(answer) <= 200 else set())
