"""`offline` over an ontology: the question is read by the forms, its names are linked, and one call
answers it.

Without a procedure for such a question it first looks at what the ontology holds, as anybody does
who does not know the way; with one it goes straight to the call. What is not read to the last word
is not answered, and what names nothing is said to be missing.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from rlm.llm.offline import repl

from rlm.llm.offline.forms import (  # isort: skip
    Reading, Slot, kind_of_slot, nearest_forms, own_namespace, read_question, unplaced_words,
)  # fmt: skip
from rlm.llm.offline.names import (  # isort: skip
    AMBIGUOUS, MISSING, VOCABULARY, WRONG_KIND, Link, Lookup, NamedTerm, bare_name, language_tag,
    link, spellings,
)  # fmt: skip
from rlm.llm.offline.prompt import Procedure, Prompt
from rlm.llm.types import OFFLINE_UNANSWERED

NEEDED = ("ontology_view", "search_entity", "describe_entity")
INTRO = "offline is no language model. Its next step by rule: {}."
LOOK, LINK, ANSWER = "look", "link", "answer"
HINT = "`rlm ask --forms` lists the questions that offline knows."
MOST_NAME_WORDS = 8
MOST_MEANINGS = 3
_WORDS = """
    of that which with and or not no have has than more most least between by for if when where who
    whose all every any only both each in on from to is are does do how what many without classes
    properties terms individuals instances subclasses superclasses labels
    main average first last best worst total typical central
"""
_FUNCTION_WORDS = frozenset(_WORDS.split())
"""Words that a name may have, but that rather belong to a question which was not understood."""
_SUPERLATIVE = re.compile(r"\b[a-z]+(?:est|most) [a-z]")
_LIKE_A_NAME = re.compile(r"[A-Z\d_:]")
_CALL = re.compile(r"\b([a-z_]+)\(")
_OPTION = re.compile(r"(\w+)=(\"[^\"]*\"|'[^']*'|\w+)")
_LITERAL = re.compile(r"[\"']([^\"']*)[\"']")
_STATED = {
    'fetch("related", $, relation="range_of")': "rdfs:range",
    'fetch("related", $, relation="properties")': "rdfs:domain",
    'fetch("related", $, relation="subclasses")': "rdfs:subClassOf",
    'fetch("instances", $)': "a",
}
_ONTOLOGY = "(?:ontology|vocabulary|graph|file|model|schema|taxonomy)"
_NAMES = re.compile(r"\b[a-z]+:[A-Za-z]\w*")
_QUOTES = "\"'"
_SPECIFIC = frozenset(
    ["limit", "offset", "most", "max_depth", "search_in", "other", "only", "property"]
)
"""Options that do not choose what a call tells."""
_LOOK_PROGRAM = "print(sparql_schema())"

Signature = tuple[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Planner:
    """One step of a run over an ontology; it holds nothing but the prompt."""

    prompt: Prompt
    readings: tuple[Reading, ...]

    @classmethod
    def of(cls, prompt: Prompt) -> Planner | None:
        """None where the prompt has no ontology."""
        if not prompt.tools.issuperset(NEEDED):
            return None
        return cls(prompt, read_question(prompt.question, prompt.card))

    def reply(self) -> str:
        """The next step, or the answer."""
        last = self.prompt.last
        if last is not None and last.error:
            return final(f"{OFFLINE_UNANSWERED} {' '.join(last.error.split())[:300]}")
        if not self.readings:
            return final(refusal(self.prompt))
        if last is not None and last.step == ANSWER:
            return 'FINAL_VAR("reply")'
        if self.prompt.is_last:
            return final(f"{OFFLINE_UNANSWERED} there were too few turns.")
        if last is None and self._followed is None:
            return self._block(LOOK, _LOOK_PROGRAM)
        if self.readings[0].names and self.prompt.output_of(LINK) is None:
            line = f"print(look_up({self._names()!r}))"
            return self._block(LINK, f"import json\n\n{helpers_of(line)}\n\n{line}")
        return self._answer()

    @property
    def _followed(self) -> Procedure | None:
        """The procedure of the prompt that names the call which answers this question."""
        calls = signatures(self.readings[0].form.program)
        wanted = sorted(calls, key=lambda call: call[0] != "ontology_view")[:1]
        for procedure in self.prompt.procedures:
            known = signatures(procedure.text)
            fits = wanted[0] in known if wanted else known == [("search_entity", frozenset())]
            if fits and not procedure.is_warning:
                return procedure
        return None

    def _names(self) -> list[list[list[str]]]:
        """What has to be looked up: for each reading, the spellings of every name in it."""
        return [
            [[name for name, _ in spellings(slot.words, kind_of_slot(kind), quoted=slot.quoted)]
             for kind, slot in each.names]
            for each in self.readings
        ]  # fmt: skip

    def _block(self, step: str, code: str) -> str:
        uses = ""
        if self.prompt.procedures and not self.prompt.turns:
            uses = f"Uses: {self._followed.number if self._followed else 'none'}\n\n"
        return f"{uses}{INTRO.format(step)}\n\n```repl\n# offline: {step}\n{code}\n```"

    def _answer(self) -> str:
        found = read_lookups(self.prompt.output_of(LINK) or "")
        problems: list[tuple[Reading, Link]] = []
        for reading in self.readings:
            if any(one.problem == WRONG_KIND and each.open_words < reading.open_words
                   for each, one in problems):  # fmt: skip
                break  # its names are there: no looser reading is meant
            links = self._links(reading, found)
            broken = {name: each for name, each in links.items() if each.term is None}
            first = next(iter(broken.values()), None)
            if first is None:
                return self._run(reading, [links])
            if len(broken) == 1 and 1 < len(first.terms) <= MOST_MEANINGS:
                meant = [{**links, next(iter(broken)): Link("", term)} for term in first.terms]
                return self._run(reading, meant)
            problems.append((reading, first))
            if first.problem == AMBIGUOUS:
                break
        ambiguous = [each for each in problems if each[1].problem == AMBIGUOUS]
        plainest = min(ambiguous or problems, key=lambda each: each[0].open_words)
        return final(self._explain(*plainest))

    def _links(self, reading: Reading, found: dict[str, Lookup]) -> dict[str, Link]:
        """What its names mean. A word of the forms is no name of RDF's or OWL's, and spelt small it
        may be either."""
        own = own_namespace(self.prompt.card)
        links = {
            name: link(slot.words, kind_of_slot(name), found, quoted=slot.quoted, own=own)
            for name, slot in reading.mentions.items()
        }
        is_plainest = reading.open_words == min(each.open_words for each in self.readings)
        for name in () if is_plainest else reading.namesakes:
            words, term = links[name].mention, links[name].term
            if term and term.curie.startswith(VOCABULARY):
                links[name] = Link(words, None, MISSING)
            elif term and words.islower():
                links[name] = Link(words, None, AMBIGUOUS, (term.curie, f"a {words} as such"))
        return links | self._find_namesake(reading, found)

    def _find_namesake(self, reading: Reading, found: dict[str, Lookup]) -> dict[str, Link]:
        """The ontology's name, where a term has it too and no "ontology" stands beside it."""
        words = reading.slots["ontology"].words if "ontology" in reading.slots else ""
        if re.search(rf"(?i){re.escape(words)} {_ONTOLOGY}\b", self.prompt.question):
            return {}
        exact = [term for name, _ in spellings(words) for term in found.get(name, Lookup()).exact]
        names = [term.curie for term in exact if "class" in term.kind]
        meant = Link(words, None, AMBIGUOUS, (*names[:1], f"the {words} ontology"))
        return {"ontology": meant} if names else {}

    def _run(self, reading: Reading, meant: list[dict[str, Link]]) -> str:
        """The program that answers, once for each of the terms that a name may mean."""
        if not reading.form.program:
            named = [one for links in meant for one in links["term"].named]
            return final(tell_existence(reading, named))
        lines = [self._line(reading, links) for links in meant]
        if len(meant) == 1:
            known = {each.term.curie for each in meant[0].values() if each.term}
            for each in meant[0].values():
                others = [other for other in each.others if other not in known]
                lines += [repr(f"{other} is called “{each.mention}” too.") for other in others]
        line = lines[0] if len(lines) == 1 else f'"\\n".join([{", ".join(lines)}])'
        code = f'import re\n\n{helpers_of(line)}\n\nreply = {line}\nFINAL_VAR("reply")'
        return self._block(ANSWER, code)

    def _line(self, reading: Reading, links: dict[str, Link]) -> str:
        values = {f"${name}": found.term.uri for name, found in links.items() if found.term}
        values |= {f"%{name}": found.term.curie for name, found in links.items() if found.term}
        plain = {name: slot.words for name, slot in reading.slots.items()}
        values["$text"] = plain.get("text", plain.get("quoted", ""))
        values["$word"] = plain.get("word", "")
        values["$lang"] = language_tag(plain.get("lang", "")) or ""
        values["$prefix"] = f"{plain.get('prefix', '').rstrip(':')}:"
        program = _on_vocabulary(reading.form.program, links)
        return re.sub(r"[$%][a-z]+\d?", lambda gap: repr(values[gap[0]]), program)

    def _explain(self, reading: Reading, found: Link) -> str:
        """Why the best reading does not come to an answer."""
        meant = {slot.words: (name, slot) for name, slot in reading.mentions.items()}
        name, asked = meant.get(found.mention, ("term", None))  # more than a name: "Boat? (2)"
        kind, names = kind_of_slot(name), ", ".join(found.candidates)
        noun = {"range": "class or datatype", "individual": "term", "old": "term"}.get(kind, kind)
        if found.problem == AMBIGUOUS:
            return f"{OFFLINE_UNANSWERED} “{found.mention}” may mean {names}: ask for one of them."
        if asked is None or (_is_no_name(found.mention) and not asked.quoted):
            return refusal(self.prompt)
        is_there = found.problem != MISSING
        if reading.form.name.startswith("exists_") and not is_there and _is_a_name(asked, names):
            return tell_existence(reading, ())
        is_plain = asked.quoted or all(map(_LIKE_A_NAME.search, bare_name(asked.words).split()))
        if is_there and is_plain:
            return f"{OFFLINE_UNANSWERED} “{found.mention}” is no {noun} here: it is {names}."
        is_told = is_plain or reading.form.name == "describe"
        return self._tell_missing(asked, noun, found, is_plain=is_plain, is_told=is_told)

    def _tell_missing(
        self, asked: Slot, noun: str, found: Link, *, is_plain: bool, is_told: bool
    ) -> str:
        """That nothing is called so; of what is no plain name, only that it was read as one."""
        called, names = bare_name(found.mention), ", ".join(found.candidates)
        missing = f"here is no {noun} called “{called}” in this ontology."
        if is_told and not names and ":" not in called and _is_a_name(asked, names):
            return f"T{missing}"
        if not names and not is_plain:
            return refusal(self.prompt)
        near = f"The nearest names are {names}." if names else HINT
        if is_plain:
            return f"{OFFLINE_UNANSWERED} t{missing} {near}"
        near = f". {near}" if found.problem == MISSING else f": it is {names}."
        read = f"read as the name of a {noun}, “{found.mention}” fits none"
        return f"{OFFLINE_UNANSWERED} {read}{near} {HINT}"


def _is_no_name(mention: str) -> bool:
    """Whether words rather belong to a question which was not understood."""
    words = mention.lower().split()
    is_long = len(words) > MOST_NAME_WORDS or not _FUNCTION_WORDS.isdisjoint(words)
    return is_long or bool(_SUPERLATIVE.search(mention))


def _is_a_name(slot: Slot, near: str) -> bool:
    """Whether words can only be meant as the name of a term, so that it may be denied."""
    is_one = len(bare_name(slot.words).split()) == 1
    return slot.quoted or (is_one and (not near or slot.words.lower() != slot.words))


def _on_vocabulary(program: str, links: dict[str, Link]) -> str:
    """The program with a query in place of a view that knows no such term: a datatype, or a class
    of rdfs or owl that the file uses and does not declare."""
    for name, found in links.items():
        if found.term is None or "class" in found.term.kind:
            continue
        for view, where in _STATED.items():
            call = re.escape(view.replace("$", f"${name}")[:-1]) + r"(?:, (?:most=1|all=True))?\)"
            query = f"SELECT DISTINCT ?x WHERE {{ ?x {where} TERM FILTER(isIRI(?x)) }} ORDER BY ?x"
            query = query.replace("TERM", f"<{found.term.uri}>")
            told = f"from_query(sparql_query({query!r}, limit=10000), {found.term.curie!r})"
            stated = rf"keep_stated\(sparql_query\(.*?limit=1000\), {call}\)|{call}"
            program = re.sub(stated, told.replace("\\", r"\\"), program)
    return program


def tell_existence(reading: Reading, terms: Sequence[NamedTerm]) -> str:
    """Whether there is a term of a name, and of the kind that was asked for. The first is meant
    where a name is asked what it is; where it is asked whether there is one, any will do."""
    asked, _, kind = reading.form.name.partition("_")
    wanted = kind.replace("_", " ")
    if not terms:
        words = bare_name(reading.slots["term"].words)
        return f"No: there is no {wanted} called “{words}” in this ontology."
    term, fitting = terms[0], [each for each in terms if wanted == "term" or wanted in each.kind]
    if fitting and (asked == "exists" or fitting[0] == term):
        return f"Yes: {fitting[0].curie} is: {fitting[0].kind}."
    others = "".join(f" {each.curie} is: {each.kind}." for each in fitting)
    return f"No: {term.curie} is no {wanted}; it is: {term.kind}.{others}"


def refusal(prompt: Prompt) -> str:
    """That a question was not understood, and what would be."""
    strange = unplaced_words(prompt.question)
    placed = f" No form has a place for: {' '.join(strange[:8])}." if strange else ""
    near = " · ".join(nearest_forms(prompt.question, prompt.card))
    said = "offline is no language model, and this is none of the forms of question that it knows."
    listed = f"The nearest are: {near} `rlm ask --forms` lists all of them."
    return f"{OFFLINE_UNANSWERED} {said}{placed} {listed}"


def read_lookups(output: str) -> dict[str, Lookup]:
    """What the link step printed: a JSON list on each line."""
    found = {}
    for line in output.split("\n"):
        try:
            name, exact, near = json.loads(line)
        except ValueError:
            continue
        found[name] = Lookup(tuple(NamedTerm(*each) for each in exact), tuple(near))
    return found


@cache
def signatures(text: str) -> list[Signature]:
    """The calls that a text names: the tool, and the options that choose what it tells."""
    found = []
    for tool, args in _calls_in(text):
        chosen = {f"{k}={v.strip(_QUOTES)}" for k, v in _OPTION.findall(args) if k not in _SPECIFIC}
        if tool in ("fetch", "ontology_view"):
            tool = "ontology_view"
            view = _LITERAL.match(args.strip())
            chosen |= {view[1]} if view else set()
        elif tool == "sparql_query":
            looks = "CONTAINS" in args or "search_query" in args
            chosen = {"CONTAINS"} if looks else set(_NAMES.findall(args))
        elif tool not in ("describe_entity", "find_path", "graph_stats", "search_entity"):
            continue
        found.append((tool, frozenset(chosen)))
    return found


def _calls_in(text: str) -> Iterator[tuple[str, str]]:
    """Every call with its arguments, those inside of others too."""
    for call in _CALL.finditer(text):
        depth, end = 1, call.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        yield call[1], text[call.end() : end - 1]


@cache
def helpers_of(line: str) -> str:
    """The source of the functions that a program calls, and of those that they call."""
    known = {name: each for name, each in vars(repl).items() if inspect.isfunction(each)}
    wanted, todo = list[str](), [line]
    while todo:
        text = todo.pop()
        for name in known:
            if re.search(rf"\b{name}\b", text) and name not in wanted:
                wanted.append(name)
                todo.append(_source(known[name]).partition(":\n")[2])
    return "\n".join(_source(known[name]) for name in known if name in wanted)


def _source(function: object) -> str:
    """The source without its annotations' names that the REPL does not have."""
    return inspect.getsource(function).rstrip().replace("View", "dict")  # type: ignore[arg-type]


def final(text: str) -> str:
    """The text as a Python literal, so that no parenthesis or quote in it ends the call."""
    text = "".join(c if c in "\n\t" or c.isprintable() else "\ufffd" for c in text)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'FINAL("""{escaped}""")'
