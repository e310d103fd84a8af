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
    CallText,
    Step,
    entities_in,
    plain,
    steps_of,
    texts_in,
    write_call,
)
from rlm.learning.confidence import START
from rlm.learning.failures import lesson_of_answer, lesson_of_errors
from rlm.learning.grounding import iris_in
from rlm.learning.kinds import (
    NAMESPACES,
    NUMBER,
    ONE,
    TWO_TERMS,
    YES_NO,
    TaskKind,
    is_of_a_thesaurus,
    kind_of,
)
from rlm.learning.lesson import join_template, template_for, whole_title
from rlm.learning.words import number_in, says_absent, says_none
from rlm.llm.types import is_unanswered
from rlm.loop.trace import ToolCall, Trace
from rlm.ontology.query.shape import QueryPattern
from rlm.ontology.terms import Prefixes, local_name
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
LEAST_COVER = 0.5
"""A procedure that gives less of the answer than this is not kept."""
_VERBS = {"SELECT": "Query", "ASK": "Check", "CONSTRUCT": "Construct", "DESCRIBE": "Describe"}
_COUNTING = ("sparql_query", "ontology_view", "graph_stats", "sparql_schema", "sparql_peek")
_AND = re.compile(r"[,;\n]|\band\b")
_YES_NO = re.compile(r"\W*(?:yes|no)\b\s*(?:[.,;:!—–-]|$)", re.IGNORECASE)


class CallReading:
    """The calls of one run. `said` is the kind of task, where a caller or a curriculum named it;
    `behind` the query whose result stood behind the answer, for where the calls do not tell."""

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
        behind = [step for step in self.steps if step.query and step.query == self.behind]
        for steps in (decisive_steps(self.steps, self.form), behind[-1:]):
            if steps and (kind := self._kind(self._write_steps(steps))).name:
                return kind
        return TaskKind()

    @property
    def decisive_calls(self) -> list[ToolCall]:
        """The calls that the answer rests on: those that show it, else the query behind it, else
        the last that asked for more than a name."""
        behind = [step for step in self.steps if step.query and step.query == self.behind]
        others = [step for step in self.steps if step.tool not in LINKING] or self.steps
        chosen = decisive_steps(self.steps, self.form) or behind[-1:] or others[-1:]
        return [step.call for step in chosen]

    @property
    def decisive_query(self) -> str:
        """The query that the answer came from; '' where none did, or several."""
        steps = decisive_steps(self.steps, self.form)
        return steps[0].query if len(steps) == 1 else ""

    def lessons(self, judgment: Judgment) -> list[MemoryItem]:
        """A procedure of a success, and at most one lesson of what went wrong."""
        if not self.calls or is_unanswered(self.answer):
            return []
        tags = self.kind.tags
        if judgment.is_success:
            done = self.procedure(decisive_steps(self.steps, self.form))
            found = [done, lesson_of_errors(self.calls, tags, recovered=True)]
        else:
            # Of a call alone nobody knows what it is wrong for: it may be right for its own kind.
            wrong = self.pitfall(judgment) if self.said else None
            found = [wrong, lesson_of_errors(self.calls, tags)]
        return [item for item in found if item is not None]

    # -- a success ---------------------------------------------------------------------------------

    def procedure_by(self, last: ToolCall) -> MemoryItem | None:
        """The procedure that ends in one call, which somebody says is the decisive one."""
        chosen = [step for step in self.steps if step.call is last]
        return (self.procedure(chosen) or self._pattern(chosen[0])) if chosen else None

    def _pattern(self, step: Step) -> MemoryItem | None:
        """What a query of no kind that is known here leaves."""
        made = (
            template_for(step.query, self.prefixes, asked=self.form.asked) if step.query else None
        )
        return None if made is None else pattern_item(made, self)

    def procedure(self, chosen: list[Step]) -> MemoryItem | None:
        """The calls that gave the answer, as general as they can be."""
        if not chosen:
            return self._absent()
        entities, shown = self._entities(chosen), self._write_steps(chosen)
        kind = self._kind(shown)
        if not (kind.title and shown) or _is_special(kind, shown, entities):
            return None
        linker = self._linker(entities) if chosen[0].tool not in LINKING else ""
        link = LINK.format(linker, ("the", "each")[len(entities) > 1]) if linker else ""
        tools = _tools_of(linker, chosen, shown)
        usual = PAGE if any(step.query for step in chosen) else EVERY
        ending = ENDINGS.get(kind.name, usual)
        kept = [name for one in shown for name in one.kept]
        items = (self._item(kind, steps, tools, kept) for steps in _forms(link, shown, ending))
        if item := next(filter(is_shown_whole, items), None):
            return item
        # A query that a step has no room for stands below the steps.
        item = self._item(kind, [*filter(None, (link, BELOW))], tools, kept)
        for one in shown:
            item.content = join_template(item.content, one.query or one.text)
        item.rekey()
        return item

    def _write_steps(self, chosen: Sequence[Step]) -> list[CallText]:
        """The steps without their specifics, each once; [] when one cannot be shown."""
        entities, texts = self._entities(chosen), texts_in(chosen, self.question)
        shown: dict[str, CallText] = {}
        for step in chosen:
            linking = step.tool in LINKING and self.form.form == YES_NO
            made = write_call(step, entities, texts, self.prefixes, linking=linking)
            if made is None:
                return []
            shown.setdefault(made.text, made)
        return list(shown.values())

    def _kind(self, shown: Sequence[CallText]) -> TaskKind:
        return kind_of([one.text for one in shown], self.form.form)

    def _entities(self, about: Sequence[Step]) -> dict[str, str]:
        return entities_in(self.steps, about, self.question, self.prefixes)

    def _linker(self, entities: Mapping[str, str]) -> str:
        if not entities:
            return ""
        used = [
            step.tool for step in self.steps if step.tool in LINKING and step.iris & entities.keys()
        ]
        return used[-1] if used else "search_entity"

    def _absent(self) -> MemoryItem | None:
        """The searches that found nothing of that name."""
        searches = list(dict.fromkeys(step.tool for step in self.steps if step.tool in LINKING))[:2]
        known = self.form.named or self.form.asked
        if not searches or known or not says_absent(self.answer):
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
            _when(kind, tools) + about + ".",
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
            return lesson_of_errors([*failed, *failed], self.kind.tags)
        chosen = [step for step in self.steps if step.call is last]
        return self.pitfall(judgment, chosen[0]) if chosen else None

    def pitfall(self, judgment: Judgment, chosen: Step | None = None) -> MemoryItem | None:
        """The call that the wrong answer came from. What it was wrong for is not read off the call,
        which may be right for its own kind."""
        if chosen is None:
            if not self.answer or not self.steps:
                return None
            chosen = (decisive_steps(self.steps, self.form) or self.steps[-1:])[-1]
        shown = self._write_steps([chosen])
        usable = shown and not shown[0].kept and not shown[0].gaps
        call = shown[0].text if usable else ""
        tags = [self.said] if self.said else []
        return lesson_of_answer(self.said, chosen.tool, call, judgment, tags)


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


def _is_special(kind: TaskKind, shown: Sequence[CallText], entities: Mapping[str, str]) -> bool:
    """Whether calls answered something that other tasks of their kind do not ask for. Two names
    where a procedure has a place for one; the ontology itself, described as a term is; a thesaurus
    in place of classes."""
    several = len(entities) > 1 and kind.name not in TWO_TERMS
    itself = kind.name == "describe" and not entities
    return several or itself or any(is_of_a_thesaurus(one.text) for one in shown)


def _tools_of(linker: str, chosen: Sequence[Step], shown: Sequence[CallText]) -> list[str]:
    """The tools that a procedure calls: to link names, to ask, and to read what a query found."""
    reads = any(one.query and not one.query.startswith("ASK") for one in shown)
    tools = [linker, *(step.tool for step in chosen), "sparql_slice" if reads else ""]
    return [tool for tool in tools if tool]


def _forms(link: str, calls: Sequence[CallText], ending: str) -> list[list[str]]:
    """Ways to say it, the best first; a prompt shows three steps."""
    said = [f"`{call.text}`" for call in calls]
    forms = [[link, *said, ending], [link, *said], [*said, ending], said]
    return [made for form in forms if len(made := [step for step in form if step]) <= 3]


def _when(kind: TaskKind, tools: Sequence[str]) -> str:
    """When to use it, and what it calls: what the title leaves out."""
    calls = dict.fromkeys(tool for tool in tools if tool not in LINKING and tool != "sparql_slice")
    called = f"calls {' and '.join(calls or dict.fromkeys(tools))}"
    said = f"{kind.extent}; {called}" if kind.extent else called
    return said[0].upper() + said[1:]


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


def decisive_steps(steps: Sequence[Step], answer: AnswerForm) -> list[Step]:
    """The one or two steps that an answer came from, in order; [] when that is unclear."""
    # An ASK for concepts of SKOS only probes for a thesaurus.
    steps = [step for step in steps if not (_is_ask(step) and is_of_a_thesaurus(step.query))]
    none = says_none(answer.answer)
    if answer.form == YES_NO:
        return _yes_no_steps(steps, answer)
    if says_absent(answer.answer) and not (answer.named or answer.asked):
        return []
    if answer.form == NUMBER:
        return _counting_steps(steps, answer)
    if wanted := answer.wanted or (frozenset() if none else answer.named):
        return _covering_steps(steps, wanted)
    others = [step for step in steps if step.tool not in LINKING]
    empty = [step for step in others if none and step.rows == 0]
    # What was asked first is the question itself; what comes after looks further.
    return empty[:1] or others[-1:]


def _is_ask(step: Step) -> bool:
    return step.query.lstrip().upper().startswith("ASK")


def _counting_steps(steps: Sequence[Step], answer: AnswerForm) -> list[Step]:
    """The last query that counts; else what found so many rows; else where counts stand."""
    number = number_in(answer.answer, answer.question)
    counts = [step for step in steps if "COUNT" in step.query.upper()]
    tables = [step for step in steps if step.tool in _COUNTING]
    as_many = [step for step in tables if step.rows == number]
    return (counts or as_many or tables)[-1:]


def _yes_no_steps(steps: Sequence[Step], answer: AnswerForm) -> list[Step]:
    """The last ASK; else the last look at a term of the question; else the last search for it."""
    asks = [step for step in steps if _is_ask(step)]
    others = [step for step in steps if step.tool not in LINKING]
    searches = [step for step in steps if step.tool in LINKING]
    if answer.asked:
        return (asks or others)[-1:]
    return (asks or searches or others)[-1:]


def _covering_steps(steps: Sequence[Step], wanted: frozenset[str]) -> list[Step]:
    """The fewest steps whose names hold those of the answer, with the fewest others among them.
    What a query names itself, it did not find: who asks for the labels of terms has the terms
    already."""
    chosen: list[int] = []
    left = set(wanted)
    named = [wanted.intersection(step.names) if step.query else frozenset() for step in steps]
    found = [
        step.iris - own if len(own) > 1 else step.iris
        for step, own in zip(steps, named, strict=True)
    ]
    while left and len(chosen) < MOST:
        ranked = sorted(
            (
                -len(left & found[place]),
                step.tool in LINKING,
                len(left & named[place]),
                len(step.iris - wanted),
                step.chars,
                place,
            )
            for place, step in enumerate(steps)
            if left & found[place] and place not in chosen
        )
        if not ranked:
            break
        place = ranked[0][-1]
        chosen.append(place)
        left -= found[place]
    if len(left) > LEAST_COVER * len(wanted):
        return []
    return [steps[place] for place in sorted(chosen)]
