"""Forms of question as data, and the frames that most of them share.

A form is a few patterns, an example, and a program: one line of Python that asks the views of an
ontology and puts the answer into words. In a program `$class` is the IRI of the term that the slot
`{class}` was linked to, `%class` its short name. The name of a slot says what it takes: `class`,
`property`, `individual`, `term` (anything), `old` (a term, deprecated or not), `range` (class or
datatype), `text`, `quoted`, `word`, `lang`, `prefix`, `ontology`; a number behind it tells two of
the same sort apart.

What can be listed can be counted, and asked for whether there is any: `list_of` and `list_all` make
the three forms of one noun.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rlm.llm.offline.pattern import MARK, Macros, QuestionPattern
from rlm.llm.offline.question import PreparedQuestion

_MACROS = {
    "wh": "what",
    "list": "(list|name|show|give|find|enumerate|print|get|display|return|identify|output|state"
    "|tell|provide|retrieve) [me|us] [[full|complete] list of|of]",
    "head": "[<list>|(what|who) is|[full|complete] list of]",
    "count": "(count [of]|how many are|what is the (number|count|total) of|[give|tell|show] [me]"
    " [total] number of) [all]",
    "o": "(ontology|vocabulary|[knowledge] graph|file|model|schema|dataset|thesaurus|taxonomy"
    "|terminology)",
    "the": "(the|this|that|our|my)",
    "onto": "[(in|of|from|for|by|within|inside) <the> [whole|entire] <o>|here|in here|in it"
    "|in total|in all|altogether|overall|that you know|there"
    "|(in|of|from|for|by|within) {ontology} [<o>]]",
    "it": "(<the> [whole|entire] <o>|it|this one|{ontology} [<o>])",
    "total": "[in total|in all|altogether|overall]",
    "have": "(have|declare|define|contain|use|include|list|hold|bind|state|mention|introduce|know)",
    "there": "(are there|exist|there are|do you know|=are|is (declared|defined|used|present"
    "|available|known|contained|included|mentioned|bound|stated))",
    "deep": "([(at|on|of)] (any|every|each|all) (depth|level)|[both] direct (and|or|as well as)"
    " indirect|directly (or|and) indirectly|recursively|transitively|however (deep|far down|far up)"
    "|[all the way] up to the (root|top)|all the way (down|up) [to the top]|(including|with"
    "|counting|also) [all] (indirect|inherited|nested|transitive|deeper|levels|descendants) [ones]"
    "|not (just|only) direct ones|in total|in all|altogether|overall|whole (tree|subtree)"
    "|transitive closure|full depth) {=deep}",
    "direct": "(direct|immediate|directly stated)",
    "only": "([only|just] <direct> [ones|level] [only]|directly|immediately|(one level|first"
    " level) [down|up] [only]|(not|without|excluding) (indirect|inherited) [ones]) {=direct}",
    "depth": "[<deep>|<only>]",
    "has": "[have|carry|carries|bear|possess|own|come with|take|get|obey|satisfy|meet|fulfil|follow"
    "|respect|go by]",
    "any": "[any|some]",
    "property": "(property|relation|predicate)",
}
MACROS = Macros(_MACROS)


@dataclass(frozen=True)
class Form:
    """One form of question: what it is called, how it is asked, and what answers it."""

    name: str
    example: str
    sources: tuple[str, ...]
    program: str
    macros: Macros = MACROS
    marks: tuple[str, ...] = ("",)
    """How deep the question may ask to go: `deep`, `direct`, or not a word of it."""

    @cached_property
    def patterns(self) -> tuple[QuestionPattern, ...]:
        return tuple(QuestionPattern(source, self.macros) for source in self.sources)

    @cached_property
    def slots(self) -> frozenset[str]:
        """The slots that the program needs."""
        return frozenset(re.findall(r"[$%]([a-z]+\d?)", self.program))

    def read(self, question: PreparedQuestion) -> Iterator[dict[str, str]]:
        """The slots of every pattern that the whole question matches and that fills them."""
        for pattern in self.patterns:
            for found in pattern.match(question):
                slots = {name: words for name, words in found.items() if name != MARK}
                filled = self.slots <= slots.keys() | ({"text"} if "quoted" in slots else set())
                if filled and found.get(MARK, "") in self.marks:
                    yield slots


def form(asked: str, program: str, *sources: str, marks: tuple[str, ...] = ("",)) -> Form:
    """A form of its own. `asked` is its name and an example: `describe: What is Tug?`."""
    name, _, example = asked.partition(": ")
    return Form(name, example, sources, program, marks=marks)


_LIST_OF = (
    "<head> <all> <noun> (of|for|to|on) {slot} <tail>",
    "<wh> <noun> (does|has|is) {slot} <has> <tail>",
    "<wh> <things> is <noun> (of|for|to) {slot} <tail>",
    "<wh> <noun> (of|for) {slot} [<there>] <tail>",
    "<wh> <noun> <there> (of|for|to) {slot} <tail>",
    "<wh> {slot} ['s] <noun> <there> <tail>",
    "<head> {slot} ['s] <noun> <tail>",
)
_ANY_OF = ("(does|has) {slot} <has> <any> <noun> <tail>",
           "([are there] any|are there|is there) <noun> (of|for|on) {slot} <tail>")  # fmt: skip
_LIST_ALL = ("<head> [all|every|each] [of] [of the] <noun> <onto>",
             "<wh> [of the] <noun> [<there>] <onto>",
             "<wh> <noun> does <it> <have> <total>")  # fmt: skip
_ANY_ALL = ("(are there|are) <any> <noun> <onto>", "any <noun> [there] <onto>",
            "does <it> <have> <any> <noun>")  # fmt: skip


@dataclass(frozen=True)
class Noun:
    """What can be listed: its pattern, and what it is called in answers, one and many."""

    pattern: str
    one: str
    many: str


def list_of(
    name: str,
    noun: Noun,
    call: str,
    example: str,
    *,
    things: str = "",
    listed: tuple[str, ...] = (),
    marks: tuple[str, ...] = ("",),
    is_deep: bool = False,
    tell: str = "tell_list",
) -> list[Form]:
    """The forms of what a term has. `call` is the view that lists it, with its slot; `listed` are
    further wordings. `is_deep`: a question may say how deep it goes, and `marks` are those for this
    call. `tell` puts the list into words."""
    slot = re.findall(r"\$(\w+)", call)[0]
    plain = noun.pattern
    if is_deep:
        deep = "all|every|all of the|all the|all known|transitive|direct and indirect"
        plain = f"[all] <direct> {{=direct}} ({plain})|({deep}) {{=deep}} ({plain})|{plain}"
    parts = {
        "noun": f"({plain})",
        "tail": "<depth>" if is_deep else "",
        "things": things or "[things|terms|entities]",
        "all": "" if is_deep else "[all|any]",
    }
    frames, any_ = (
        tuple(frame.replace("{slot}", f"{{{slot}}}") for frame in frames)
        for frames in (_LIST_OF, _ANY_OF)
    )
    forms = _three(name, noun, call, example, frames + listed, any_, Macros(parts, MACROS))
    forms = [replace(form, marks=marks) for form in forms]
    told = forms[0].program.replace("tell_list", tell)
    whether = forms[2].program if tell == "tell_list" else told
    return [replace(forms[0], program=told), forms[1], replace(forms[2], program=whether)]


def hierarchy_of(
    name: str,
    noun: Noun,
    call: str,
    example: str,
    *,
    things: str = "",
    listed: tuple[str, ...] = (),
) -> list[Form]:
    """What stands above or below: one step away, or at any depth; a number is told both ways."""
    deep = call.replace(") ?x", ")+ ?x") if ") ?x" in call else call[:-1] + ", all=True)"
    direct_noun = Noun(noun.pattern, f"direct {noun.one}", f"direct {noun.many}")
    deep_noun = Noun(noun.pattern, f"{noun.one} at any depth", f"{noun.many} at any depth")
    both = f"tell_depths({call}, {deep}, {direct_noun.one!r}, {direct_noun.many!r})"
    words: dict[str, Any] = {"things": things, "listed": listed, "is_deep": True}
    asked = f"What are the {noun.many} of {example}?", f"List all {noun.many} of {example}."
    near = list_of(name, direct_noun, call, asked[0], marks=("", "direct"), **words)
    far = list_of(f"all_{name}", deep_noun, deep, asked[1], marks=("deep",), **words)
    further = near[0].program.replace(call, f"note_further({call}, {deep})")
    return [
        replace(near[0], program=further, marks=("",)),
        replace(near[0], name=f"direct_{name}", example="", marks=("direct",)),
        replace(near[1], program=both, marks=("",)),
        replace(near[1], name=f"count_direct_{name}", marks=("direct",)),
        near[2],
        *far,
    ]


def list_all(
    name: str, noun: Noun, call: str, example: str, *, listed: tuple[str, ...] = ()
) -> list[Form]:
    """The forms of what the ontology as a whole has."""
    macros = Macros({"noun": f"({noun.pattern})"}, MACROS)
    return _three(name, noun, call, example, _LIST_ALL + listed, _ANY_ALL, macros)


def _three(
    name: str,
    noun: Noun,
    call: str,
    example: str,
    listed: tuple[str, ...],
    any_: tuple[str, ...],
    macros: Macros,
) -> list[Form]:
    """What is listed, the same counted, and whether there is any."""
    nouns = f"{noun.one!r}, {noun.many!r}"
    starts = ("<wh>", "how many"), ("<head>", "<count>")
    counted = tuple(each.replace(*start, 1) for each in listed for start in starts
                    if each.startswith(start[0]))  # fmt: skip
    first = re.sub(r"^(fetch\([^()]*)\)$", r"\1, most=1)", call)  # its total is all that is wanted
    return [
        Form(name, example, listed, f"tell_list({call}, {nouns})", macros),
        Form(f"count_{name}", "", counted, f"tell_count({first}, {nouns})", macros),
        Form(f"any_{name}", "", any_, f"tell_any({call}, {nouns})", macros),
    ]
