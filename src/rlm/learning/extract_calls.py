"""What a run taught, read from its calls, without a model: the same run gives the same memory.

A success leaves the calls that led to its answer, with the specifics taken out. A failure leaves
what to avoid. No words of the question, of an answer, of an error or of a label get into a memory:
only calls, names of tools, and sentences that are written here. So nobody can have something stored
by writing it into an ontology.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlm.context import is_shown_whole, list_steps
from rlm.learning.calls import (
    LINKING,
    CallStep,
    CallText,
    entities_in,
    plain,
    steps_of,
    texts_in,
    write_call,
)
from rlm.learning.confidence import START
from rlm.learning.failures import lesson_of_answer, lesson_of_error
from rlm.learning.grounding import iris_in
from rlm.learning.kinds import NAMESPACES, NUMBER, ONE, YES_NO, TaskKind, kind_of
from rlm.learning.lesson import join_template, template_for, whole_title
from rlm.learning.words import number_in, says_absent, says_none
from rlm.llm.types import is_unanswered
from rlm.loop.trace import ToolCall, Trace
from rlm.ontology.query.shape import QueryPattern
from rlm.ontology.terms import Prefixes, is_machinery, local_name
from rlm.store.generality import hardcoded_term
from rlm.store.types import Judgment, MemoryItem, Scope

TASK_CHARS = 2_000
LINK = "`{}(name)` for {} IRI"
BELOW = "run the query below with `sparql_query`, then page with `sparql_slice`"
ENDINGS = {
    "namespaces": "answer with each prefix and its namespace",
    "describe": "answer from what it returned, with the IRI",
    "path": "answer with the chain of IRIs, in order",
    "count": "answer with the number",
    "is_subclass": "answer yes or no",
    "is_instance": "answer yes or no",
    "exists": "answer yes with the IRI, or no",
}
PAGE = "page with `sparql_slice`; answer with every IRI"
EVERY = "answer with every IRI that it returned"
MOST = 2
"""An answer rests on at most so many calls."""
_VERBS = {"SELECT": "Query", "ASK": "Check", "CONSTRUCT": "Construct", "DESCRIBE": "Describe"}
_AND = re.compile(r"[,;\n]|\band\b")
_YES_NO = re.compile(r"\W*(?:yes|no)\b\s*(?:[.,;:!—–-]|$)", re.IGNORECASE)


class CallReading:
    """The calls of one run. `said` is the kind of task, where a caller or a curriculum named it;
    `behind` the query that certainly stands behind the answer, where there is one."""

    def __init__(
        self,
        calls: Sequence[ToolCall],
        question: str,
        answer: str = "",
        *,
        ontology: str | None = None,
        prefixes: Mapping[str, str] | None = None,
        said: str = "",
        behind: str = "",
    ) -> None:
        self.calls, self.question, self.answer = calls, question, answer.strip()
        self.ontology, self.prefixes, self.said = ontology, Prefixes(prefixes or {}), said
        self.behind = behind
        self.steps = steps_of(calls, self.prefixes)
        named = frozenset(iris_in(self.answer, self.prefixes))
        self.form = AnswerForm(self.answer, question, named, frozenset(self._entities(self.steps)))

    @classmethod
    def of_run(cls, artifact: Mapping[str, Any], trace: Trace | None, **known: Any) -> CallReading:
        """The reading of a run by its artifact and its trace."""
        question = known.pop("question", "") or str(artifact.get("task") or "")
        calls = list(trace.calls) if trace is not None else []
        return cls(calls, question, str(artifact.get("final_answer") or ""), **known)

    @property
    def kind(self) -> TaskKind:
        """What kind of task the decisive calls answer."""
        return self._kind(self._write_steps(self.decisive_steps))

    @property
    def decisive_steps(self) -> list[CallStep]:
        """The steps that the answer rests on: of the last block of code that knew most of its names
        those that hold them, or its number, and least besides; the last one where none does. If no
        other step knew more of its names: the query that gave its number and nothing else, or the
        one behind it."""
        claims = self.form.claims
        known = [len(claims & {*step.iris, *step.names}) for step in self.steps]
        most = max(known, default=0)
        best = [self.steps[at] for at, number in enumerate(known) if number == most]
        if stated := self.form.find_stated(best):
            return stated
        if behind := [step for step in best if step.query and step.query == self.behind]:
            return behind[-1:]
        block = [step for step in self.steps if step.call.block == best[-1].call.block]
        asked = [step for step in block if step.tool not in LINKING] or block
        return self.form.find_named(asked) or self.form.find_counted(asked) or asked[-1:]

    @property
    def decisive_query(self) -> str:
        """The query that the answer came from; '' where none did, or several."""
        steps = self.decisive_steps
        return steps[0].query if len(steps) == 1 else ""

    def lessons(self, judgment: Judgment) -> list[MemoryItem]:
        """A procedure of a success; of a failure what to avoid, where somebody said for what: a
        call may be right for its own kind."""
        if not self.calls or not self.answer or is_unanswered(self.answer):
            return []
        if judgment.is_success:
            item = self.procedure(self.decisive_steps)
        else:
            item = self.pitfall(judgment) if self.said else None
        return [] if item is None else [item]

    # -- a success ---------------------------------------------------------------------------------

    def procedure_by(self, last: ToolCall) -> MemoryItem | None:
        """The procedure that ends in one call, which somebody says is the decisive one."""
        chosen = [step for step in self.steps if step.call is last]
        return (self.procedure(chosen) or self._pattern(chosen[0])) if chosen else None

    def _pattern(self, step: CallStep) -> MemoryItem | None:
        """What a query of no kind that is known here leaves."""
        made = (
            template_for(step.query, self.prefixes, asked=self.form.asked) if step.query else None
        )
        return None if made is None else pattern_item(made, self)

    def procedure(self, chosen: Sequence[CallStep]) -> MemoryItem | None:
        """The calls that gave the answer, as general as they can be."""
        if self._is_absence(chosen):
            return self._absence()
        entities, shown = self._entities(chosen), self._write_steps(chosen)
        kind = self._kind(shown)
        if not (kind.title and shown):
            return None
        if self.form.form == NUMBER and not self.form.find_counted(chosen):
            return None  # it was worked out of several calls
        linker = self._linker(entities) if chosen[0].tool not in LINKING else ""
        link = LINK.format(linker, ("the", "each")[len(entities) > 1]) if linker else ""
        tools = _tools_of(linker, chosen, shown)
        usual = PAGE if any(step.query for step in chosen) else EVERY
        ending = ENDINGS.get(kind.name, usual)
        kept = [name for one in shown for name in one.kept]
        items = (self._item(kind, steps, tools, kept) for steps in _forms(link, shown, ending))
        whole = next(filter(is_shown_whole, items), None)
        return whole or self._with_queries_below(kind, link, shown, tools)

    def _with_queries_below(
        self, kind: TaskKind, link: str, shown: Sequence[CallText], tools: Sequence[str]
    ) -> MemoryItem:
        """Queries that a step has no room for stand below the steps."""
        kept = [name for one in shown for name in one.kept]
        item = self._item(kind, [*filter(None, (link, BELOW))], tools, kept)
        for one in shown:
            item.content = join_template(item.content, one.query or one.text)
        item.rekey()
        return item

    def _write_steps(self, chosen: Sequence[CallStep]) -> list[CallText]:
        """The steps without their specifics, each once; [] when one cannot be shown."""
        entities, texts = self._entities(chosen), texts_in(chosen, self.question)
        shown: dict[str, CallText] = {}
        for step in chosen:
            made = write_call(step, entities, texts, self.prefixes)
            if made is None:
                return []
            shown.setdefault(made.text, made)
        return list(shown.values())

    def _kind(self, shown: Sequence[CallText]) -> TaskKind:
        return kind_of([one.text for one in shown], self.form.form)

    def _entities(self, about: Sequence[CallStep]) -> dict[str, str]:
        return entities_in(self.steps, about, self.question, self.prefixes)

    def _linker(self, entities: Mapping[str, str]) -> str:
        if not entities:
            return ""
        used = [
            step.tool for step in self.steps if step.tool in LINKING and step.iris & entities.keys()
        ]
        return used[-1] if used else "search_entity"

    def _is_absence(self, chosen: Sequence[CallStep]) -> bool:
        """Whether searches alone were decisive, and nothing had the name."""
        form = self.form
        known = form.named or form.asked or form.form == YES_NO
        return not known and says_absent(self.answer) and all(s.tool in LINKING for s in chosen)

    def _absence(self) -> MemoryItem | None:
        searches = list(dict.fromkeys(step.tool for step in self.steps if step.tool in LINKING))[:2]
        if not searches:
            return None
        steps = [f"`{tool}(name)`" for tool in searches]
        steps.append("no hit has that name: say that there is no such thing, name no IRI")
        kind = TaskKind("absent", special_title="Tell when something is not there")
        item = self._item(kind, steps, searches, ())
        item.description = "For a name that the ontology may not have."
        return item

    def _item(
        self,
        kind: TaskKind,
        steps: list[str],
        tools: Sequence[str],
        kept: Sequence[str],
    ) -> MemoryItem:
        ontology = self.ontology if kept else None
        types = (kind.task_type,) if kind.name else ()
        about = f"; names terms of {ontology}" if ontology else ""
        return MemoryItem(
            whole_title(kind.title),
            _name_calls(tools) + about + ".",
            list_steps(steps),
            source_type="success",
            task_query=self.question[:TASK_CHARS] or None,
            tags=kind.tags or ["ontology"],
            scope=Scope(ontology, types, tuple(dict.fromkeys(tools)), ontology is None),
            outcome="success",
            confidence=START["distilled"],
        )

    # -- a failure ---------------------------------------------------------------------------------

    def pitfall_by(self, last: ToolCall | None, judgment: Judgment) -> MemoryItem | None:
        """What to avoid after a call that somebody says was wrong, or else after the last error."""
        if last is None:
            failed = [call for call in self.calls if not call.ok][-1:]
            return lesson_of_error(failed[0], self.kind.tags) if failed else None
        chosen = [step for step in self.steps if step.call is last]
        return self.pitfall(judgment, chosen) if chosen else None

    def pitfall(
        self, judgment: Judgment, chosen: Sequence[CallStep] | None = None
    ) -> MemoryItem | None:
        """The call that the wrong answer came from. What it was wrong for is not read off the call,
        which may be right for its own kind."""
        chosen = (chosen or self.decisive_steps)[:1]
        if not chosen:
            return None
        shown = self._write_steps(chosen)
        call = shown[0].text if shown and not shown[0].kept else ""
        return lesson_of_answer(self.said, chosen[0].tool, call, judgment)


def pattern_item(pattern: QueryPattern, reading: CallReading) -> MemoryItem:
    """The procedure that a query makes by itself, of the words of its schema."""
    ontology = reading.ontology if hardcoded_term(pattern.text) else None
    names = [plain(local_name(term.strip("<>")).rpartition(":")[2]) for term in pattern.terms]
    verb = "Count" if pattern.counts else _VERBS[pattern.kind]
    steps = ["run the query below with `sparql_query`"]
    if pattern.slots:
        steps.append(f"put your own values in place of {', '.join(list(pattern.slots)[:3])}")
    steps.append("no rows: look the names up with `search_entity`")
    kind = reading.kind
    types = (kind.task_type,) if kind.name else ()
    return MemoryItem(
        whole_title(f"{verb} {', '.join(pattern.terms[:3])}"),
        f"{pattern.kind} query about {', '.join(names[:8])}.",
        join_template(list_steps(steps), pattern.text),
        source_type="success",
        task_query=reading.question[:TASK_CHARS] or None,
        tags=[*kind.tags, "pattern"],
        scope=Scope(ontology, types, ("sparql_query",), ontology is None),
        outcome="success",
        confidence=START["distilled"],
    )


def _tools_of(linker: str, chosen: Sequence[CallStep], shown: Sequence[CallText]) -> list[str]:
    """The tools that a procedure calls: to link names, to ask, and to read what a query found."""
    reads = any(one.query and not one.query.startswith("ASK") for one in shown)
    tools = [linker, *(step.tool for step in chosen), "sparql_slice" if reads else ""]
    return [tool for tool in tools if tool]


def _forms(link: str, calls: Sequence[CallText], ending: str) -> list[list[str]]:
    """Ways to say it, the best first; a prompt shows three steps."""
    said = [f"`{call.text}`" for call in calls]
    forms = [[link, *said, ending], [link, *said], [*said, ending], said]
    return [made for form in forms if len(made := [step for step in form if step]) <= 3]


def _name_calls(tools: Sequence[str]) -> str:
    """What a procedure calls: what its title leaves out."""
    calls = dict.fromkeys(tool for tool in tools if tool not in LINKING and tool != "sparql_slice")
    return f"Calls {' and '.join(calls or dict.fromkeys(tools))}"


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """What an answer is like, as far as that says which call it came from."""

    answer: str
    question: str
    named: frozenset[str]
    """The IRIs of the answer."""
    asked: frozenset[str]
    """The terms that the question names."""

    @property
    def wanted(self) -> frozenset[str]:
        """The IRIs that the question did not name itself."""
        return self.named - self.asked

    @property
    def claims(self) -> frozenset[str]:
        """What is wanted, without the words of RDF and OWL where there are others."""
        return frozenset(iri for iri in self.wanted if not is_machinery(iri)) or self.wanted

    @property
    def form(self) -> str:
        """YES_NO, NUMBER, NAMESPACES, ONE, or '' for anything else."""
        if _YES_NO.match(self.answer):
            return YES_NO
        if self.wanted and all(iri.endswith(("#", "/")) for iri in self.wanted):
            return NAMESPACES
        number = None if self.wanted else number_in(self.answer, self.question)
        if number is not None and number % 1 == 0 and not says_none(self.answer):
            return NUMBER
        things = self.wanted or self.named or _AND.split(self.answer)[1:]
        return ONE if len(things) <= 1 else ""

    def find_named(self, steps: Sequence[CallStep]) -> list[CallStep]:
        """The steps that hold the claims and least besides; views before queries, the first of
        equals."""
        found, missing = list[CallStep](), self.claims

        def fit(step: CallStep) -> tuple[int, int, bool]:
            return len(missing & step.iris), -len(step.iris - self.named), not step.query

        while len(found) < MOST and any(missing & step.iris for step in steps):
            found.append(max(steps, key=fit))
            missing -= found[-1].iris
        return found

    def find_stated(self, steps: Sequence[CallStep]) -> list[CallStep]:
        """The last query whose result is the number that the answer gives, and no other."""
        number = number_in(self.answer, self.question)
        if number is None:
            return []
        found = [step for step in steps if step.query and step.rows == 1]
        return [step for step in found if step.call.value == float(number)][-1:]

    def find_counted(self, steps: Sequence[CallStep]) -> list[CallStep]:
        """The step with as many rows as the answer says, or with that number and least besides."""
        number = number_in(self.answer, self.question)
        if number is None:
            return []
        held = [step for step in steps if step.rows == number or str(number) in step.numbers]
        return sorted(held, key=lambda step: (step.rows != number, len(step.numbers)))[:1]
