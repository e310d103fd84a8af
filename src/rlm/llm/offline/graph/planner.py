"""`offline` over an ontology: a planner that reads its prompt, follows a procedure that applies,
and else explores.

With a procedure: one turn in which all its calls are made, and the answer in the next. Without one,
or when the one that was followed led nowhere: what there is in all, which terms are meant, what
they are, their statements, and a query, one step a turn, until what was seen is enough for an
answer. What does not exist is said not to exist.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rlm.llm.offline.asked import understand
from rlm.llm.offline.asked.kinds import Asked, concepts_asked
from rlm.llm.offline.graph import steps
from rlm.llm.offline.graph.answers import (
    MENTION_CHARS,
    PROBES,
    about_of,
    base_kind,
    label_of,
    misread,
    names_needed,
    notes_on,
    shown,
    wanted_kinds,
    with_article,
)
from rlm.llm.offline.graph.each import (
    MOST_NAMES,
    Section,
    answer_each,
    ask_thesaurus,
    exists_said,
    find_each,
    found_parts,
    notes_of,
    own_plan,
    single,
)
from rlm.llm.offline.graph.follow import follow
from rlm.llm.offline.graph.prompt import (
    Seen,
    ToolPlan,
    Turn,
    best_plan,
    is_bare,
    key_classes,
    read_prompt,
)
from rlm.llm.offline.graph.telling import label_shown
from rlm.llm.offline.text.said import tidy
from rlm.llm.types import OFFLINE_UNANSWERED, Message

EXAMPLES = (
    "What is {0}?",
    "What are the subclasses of {0}?",
    "Which properties have the domain {0}?",
    "How many instances does {0} have?",
    "Which classes are there?",
)
"""Questions that are understood, to be shown with the name of a class."""
INTRO = "offline is no language model. Its next step by rule: {}."
_TEXT_STEP = re.compile(r"^# plan: look$", re.MULTILINE)


def graph_reply(messages: Sequence[Message], question: str) -> str | None:
    """What to say next; None when this is no question about an ontology."""
    seen = read_prompt(messages)
    if seen is None or any(
        _TEXT_STEP.search(each["content"]) for each in messages if each["role"] == "assistant"
    ):
        return None
    asked, bare = understand(question), is_bare(messages)
    if asked is None or len(asked.mentions) < names_needed(asked):
        if not bare:
            return None
        uses = "Uses: none\n\n" if seen.entries else ""
        return uses + final(not_read(question, key_classes(messages)))
    if seen.last is not None and _is_missing(seen.last):
        if not bare:
            return None  # no such term: it may be about the text
        if misread(asked, question, (seen.last.found or {})["terms"]):
            return final(not_read(question, key_classes(messages)))
    return _Planner(question, asked, seen).reply()


def not_read(question: str, names: Sequence[str]) -> str:
    """What is said of a question that no rule knows: what can be asked, with one of these names;
    who reads anything."""
    asked = tidy(question)
    written = [name if re.fullmatch(r"\w+", name) else f'"{name}"' for name in names]
    name = next((name for name in written if _is_asked_about(name)), "")
    examples = [each.format(name) for each in EXAMPLES if name or "{0}" not in each]
    return (
        f"{OFFLINE_UNANSWERED} offline has no rule for"
        f" “{asked[:MENTION_CHARS]}{'…' * (len(asked) > MENTION_CHARS)}”.\nAsk in plain English,"
        f" for example: {' '.join(examples)}\nA language model reads any question: --model"
        " openai/NAME or anthropic/NAME."
    )


def _is_asked_about(name: str) -> bool:
    """Whether the examples with this name are understood, and as questions about it: “What is
    class?” is none."""
    return all(
        (asked := understand(each.format(name))) and asked.mentions
        for each in EXAMPLES
        if "{0}" in each
    )


def _is_missing(turn: Turn) -> bool:
    terms = (turn.found or {}).get("terms")
    return isinstance(terms, list) and not all(terms)


class _Planner:
    """The next step of one run. Made anew for every prompt."""

    def __init__(self, question: str, asked: Asked, seen: Seen) -> None:
        self.question, self.seen = question, seen
        self.several, self.concepts = asked.several, concepts_asked(question, asked)
        self.asked = single(asked, asked.mentions[0]) if asked.several else asked
        self.kind = base_kind(asked)
        self.about = about_of(self.asked)

    def reply(self) -> str:
        last = self.seen.last
        answer = None if last is None else self._answered(last)
        if answer is not None:
            return answer
        if self.seen.is_last:
            return final(f"{OFFLINE_UNANSWERED} the turns were over before offline had an answer.")
        uses = "Uses: none\n\n" if self.seen.entries else ""  # as yet
        if last is None and self.concepts:
            return uses + self._block("concepts", *ask_thesaurus(self.concepts, self.several))
        if last is not None and last.step == "concepts":
            if last.found is None:
                return self._not_enough(last)
            last = None  # no concepts of a thesaurus: they are classes
        if last is None and self.several:
            return uses + self._block("join", *find_each(self.asked, self.several, self.question))
        if last is None or (last.step == "join" and last.found and found_parts(last.found) is None):
            return self._begin()
        if last.step in ("join", "each"):
            return self._each(last)
        if last.step == "follow":
            return "Uses: none\n\n" + self._explore("")
        return self._explore(last.step)

    def _begin(self) -> str:
        plan = best_plan(self.asked, self.seen.entries, self.seen.tools, self.question)
        if plan is None:
            said = "Uses: none\n\n" if self.seen.entries else ""
            return said + self._explore("find" if self.several else "")
        helpers, lines = follow(self.asked, plan, self.about, self.question)
        code = steps.block(f"follow {plan.entry}", lines, helpers)
        return f"Uses: {plan.entry}\n{INTRO.format(f'what procedure {plan.entry} says')}\n\n{code}"

    # -- when there is an answer
    # ---------------------------------------------------------------------------

    def _answered(self, last: Turn) -> str | None:
        if last.step == "concepts":
            return self._answer_concepts(last.found or {})
        return self._answer_each(last) if last.step == "each" else self._answer(last)

    def _answer_concepts(self, found: dict[str, Any]) -> str | None:
        if not found.get("done") or self.concepts is None:
            return None
        if self.concepts.kind == "exists":
            return final(exists_said(self.concepts.names[0], found["about"][0]))
        notes, taken = notes_of(self.concepts, found["about"])
        yes_no = self.concepts.kind == "is_narrower"
        return _final_var(notes, taken, yes_no=yes_no) if notes else "FINAL_VAR(reply)"

    def _answer(self, turn: Turn) -> str | None:
        found = turn.found
        if found is None:
            return None
        terms = found.get("terms")
        if isinstance(terms, list) and not all(terms):
            return final(self._absent(terms))
        if isinstance(terms, list) and self.kind == "exists":
            return final(self._exists(terms))
        if turn.step == "follow" and not _is_sound(found):
            return None
        if not found.get("done") and turn.step != "follow":
            return None
        terms = self._terms() or []
        named = zip(self.asked.mentions, terms, strict=False)
        notes = [note for name, term in named if (note := notes_on(self.kind, name, term))]
        if not notes:
            return "FINAL_VAR(reply)"
        taken = {shown(name): label_of(term) for name, term in zip(self.asked.mentions, terms, strict=False)
                 if term["how"] >= 3}  # fmt: skip
        return _final_var(notes, taken, yes_no=self.kind == "is_subclass")

    def _absent(self, terms: Sequence[Any]) -> str:
        missing = [
            f"{kinds[0].replace('|', ' or ') or 'term'} called “{shown(name)}”"
            for name, term, kinds in zip(
                self.asked.mentions, terms, wanted_kinds(self.asked), strict=False
            )
            if term is None
        ]
        if self.several:
            names = [f"“{shown(name)}”" for name in self.several[:MOST_NAMES]]
            missing[0] += f" (nor {', '.join(names[:-1])} or {names[-1]})"
        said = f"There is no {' and no '.join(missing)} in this ontology."
        known = (
            self.kind == "is_subclass" and terms[0] is not None and "class" not in terms[0]["kind"]
        )
        return f"No. {said}" if self.kind in ("exists", "is_subclass") and not known else said

    def _exists(self, terms: Sequence[dict[str, Any]]) -> str:
        term, wanted, name = (
            terms[0],
            self.asked.only or self.asked.what,
            shown(self.asked.mentions[0]),
        )
        what = with_article(term["kind"])
        if wanted and wanted not in term["kind"]:
            return f"No. There is no {wanted} called “{name}”, but {what}: {term['curie']}."
        near = (
            f" (“{name}” as such is not there; this is the nearest name)"
            if term["how"] >= 3
            else ""
        )
        label = label_of(term)
        called = (
            f", labelled “{label}”" if label_shown(term["curie"], label) else ""
        )  # else it may be the name
        return f"Yes. {term['curie']} is {what}{called}{near}."

    # -- several names
    # -------------------------------------------------------------------------------------

    def _each(self, last: Turn) -> str:
        """The step that answers for each name: as a procedure says, or, where that led nowhere,
        without one."""
        joined = next(turn for turn in self.seen.turns if turn.step == "join")
        plan: ToolPlan | None = None
        if last.step == "join":
            plan = best_plan(self.asked, self.seen.entries, self.seen.tools, self.question)
        if last.found is None and not last.entry:
            return self._not_enough(last)
        sections, before = self._sections(found_parts(joined.found) or []), ""
        if len(self.several) > MOST_NAMES:
            before = (
                "Only the first five names are answered for; ask for the others in another"
                " question."
            )
        program = answer_each(
            self.asked, plan or own_plan(self.asked), sections, before, self.question
        )
        uses = f"Uses: {plan.entry if plan else 'none'}\n\n" if self.seen.entries else ""
        return uses + self._block(f"each {plan.entry}" if plan else "each", *program)

    def _sections(self, parts: Sequence[dict[str, Any] | None]) -> list[Section]:
        kind = wanted_kinds(self.asked)[0][0] or "term"
        made, seen = [], set()
        for place, (name, term) in enumerate(zip(self.several, parts, strict=False)):
            if term is None:
                made.append(
                    Section(
                        name, said=f"There is no {kind} called “{shown(name)}” in this ontology."
                    )
                )
            elif term["curie"] not in seen:
                seen.add(term["curie"])
                note = notes_on(self.kind, name, term)
                called = single(self.asked, tidy(term["label"]) if term["how"] >= 3 else name)
                said = f"{note[0].upper()}{note[1:]}.\n" if note else ""
                made.append(Section(name, place, about_of(called), said))
        return made

    def _answer_each(self, turn: Turn) -> str | None:
        parts = (turn.found or {}).get("parts")
        if not isinstance(parts, list) or (turn.entry and not all(map(_is_sound, parts))):
            return None
        return "FINAL_VAR(reply)"

    # -- the fixed order
    # -----------------------------------------------------------------------------------

    def _terms(self) -> list[dict[str, Any]] | None:
        for turn in reversed(self.seen.turns):
            if (
                turn.found is not None
                and isinstance(turn.found.get("terms"), list)
                and all(turn.found["terms"])
            ):
                return list(turn.found["terms"])
        return None

    def _explore(self, done: str) -> str:
        """The step behind `done` that has something to do."""
        order = self._order()
        after = order[order.index(done) + 1 :] if done in order else order
        last = self.seen.last
        if not after or (last is not None and last.found is None and done in ("find", "ask")):
            return self._not_enough(last)
        return self._block(after[0], *self._step(after[0]))

    def _not_enough(self, last: Turn | None) -> str:
        error = f" ({tidy(last.error)[:200]})" if last is not None and last.error else ""
        return final(
            f"{OFFLINE_UNANSWERED} what the tools returned was not enough for an answer{error}."
        )

    def _block(self, step: str, helpers: Sequence[str], lines: Sequence[str]) -> str:
        code = steps.block(step, [line for line in lines if line], helpers, self.seen.variables)
        return f"{INTRO.format(step)}\n\n{code}"

    def _order(self) -> list[str]:
        """The steps that a question of this kind may need, in the order that holds for all."""
        if self.kind == "namespaces":
            return ["orient", "schema"]
        if self.kind == "search":
            return ["orient", "find", "ask"]
        if not self.asked.mentions:
            return ["orient", "ask"]
        found = ["orient", "find", "describe"]
        if self.kind == "path" or (
            self.kind in PROBES and self.asked.kind != "count" and not self.asked.only
        ):
            found.append("probe")
        return found if self.kind == "describe" else [*found, "ask"]

    def _step(self, step: str) -> tuple[list[str], list[str]]:
        terms = self._terms() or []
        if step == "orient":
            return steps.orient(self.asked)
        if step == "schema":
            return steps.schema(self.asked)
        if step == "find":
            return steps.find(self.asked, self.question)
        if step == "describe":
            return steps.describe(self.asked, terms, self.question)
        if step == "probe":
            return steps.probe(self.asked, terms, self.about)
        return steps.ask(self.asked, terms, self.about)


def _is_sound(found: dict[str, Any]) -> bool:
    """Whether what a procedure found can be the answer: whole, something, and what the ontology
    says of itself."""
    if "done" in found:
        return bool(found["done"])
    rows, expected = found.get("rows"), found.get("expected")
    if not isinstance(rows, int) or found.get("whole") is False:
        return False
    return rows == expected if expected is not None else rows > 0


def final(text: str) -> str:
    """The text as a Python literal, so that no parenthesis or quote in it ends the call."""
    text = text.encode("utf-8", "replace").decode()
    text = "".join(c if c in "\n\t" or c.isprintable() else "\ufffd" for c in text)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'FINAL("""{escaped}""")'


def _final_var(notes: Sequence[str], taken: Mapping[str, str], *, yes_no: bool) -> str:
    """The answer with the notes before it: they say what was answered. A yes or no stays the first
    word."""
    said = "; ".join(notes)
    swaps = "".join(
        f"reply = reply.replace({f'“{name}”'!r}, {f'“{label}”'!r})\n"
        for name, label in taken.items()
    )
    if yes_no:
        put = f"reply = reply.replace(': ', {f' ({said}): '!r}, 1)"
    else:
        put = f"reply = {f'{said[0].upper()}{said[1:]}.{chr(10)}'!r} + reply"
    return f'```repl\n{swaps}{put}\nFINAL_VAR("reply")\n```'
