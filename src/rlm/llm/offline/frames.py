"""Forms of question as data, and the frames that most of them share.

A form is a few patterns, an example, and a program: one line of Python that asks the views of an
ontology and puts the answer into words. In a program `$class` is the IRI of the term that the slot
`{class}` was linked to, `%class` its short name. The name of a slot says what it takes: `class`,
`property`, `individual`, `term` (anything), `range` (a class or a datatype), `text`, `lang`,
`prefix`, `ontology`; a number behind it tells two of the same sort apart.

What can be listed can be counted, and asked for whether there is any: `list_of` and `list_all` make
the three forms of one noun.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from rlm.llm.offline.pattern import Macros, PreparedQuestion, QuestionPattern

_MACROS = {
    "wh": "(what|which)",
    "list": "(list|name|show|give|find|enumerate|print|get|display|return|identify|output|state"
    "|tell|provide|retrieve) [me|us] [a list of|of]",
    "count": "(count|how many are|what is the (number|count|total|total number) of|[give|tell|show]"
    " [me] [the] [total] number of) [all] [the]",
    "o": "(ontology|vocabulary|graph|file|model|schema|dataset|thesaurus|taxonomy|knowledge graph"
    "|terminology)",
    "the": "(the|this|that|our|my)",
    "onto": "[(in|of|from|for|by|within|inside) <the> [whole|entire] <o>|here|in here|in it"
    "|in total|in all|altogether|overall|that you know|there"
    "|(in|of|from|for|by|within) [the] {ontology} [<o>]]",
    "it": "(<the> [whole|entire] <o>|it|[the] {ontology} [<o>])",
    "total": "[in total|in all|altogether|overall]",
    "have": "(have|has|declare|declares|define|defines|contain|contains|use|uses|include|includes"
    "|list|hold|holds|bind|state|state|mention|introduce|introduces|know)",
    "there": "(are there|is there|exist|there are|do you know|are [actually] (declared|defined|used"
    "|present|available|known|contained|included|mentioned|bound|stated))",
    "deep": "(at any depth|at any level|at every level|at all levels|on every level|on all levels"
    "|[both] direct and indirect|[both] direct or indirect|direct as well as indirect|directly or"
    " indirectly|directly and indirectly|recursively|transitively|including indirect ones|including"
    " the indirect ones|however (deep|far down|far up)|all the way (down|up)|of any depth)",
    "direct": "(direct|immediate|directly stated)",
    "any": "[any|a|an|some]",
    "class": "(class|classes)",
    "property": "(property|properties|relation|relations|predicate|predicates)",
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
            found = pattern.match(question)
            if found is not None and self.slots <= found.keys():
                yield found


_COUNT_PLAINLY = "(count|what is the (number|count) of|[give|tell|show] [me] [the] number of) [the]"
_LIST_OF = (
    "<list> <all> [the] <noun> (of|for|to) {slot} <tail>",
    "(what|which|who) (is|are) <all> [the] <noun> (of|for|to) {slot} <tail>",
    "<wh> <noun> (does|do|has|have) {slot} [have] <tail>",
    "<wh> <things> (is|are) [the|a|an] <noun> (of|for|to) {slot} <tail>",
    "<wh> <noun> (of|for) {slot} <there> <tail>",
    "<wh> <noun> <there> (of|for|to) {slot} <tail>",
    "[the] <noun> (of|for) {slot} <tail>",
)
_COUNT_OF = (
    "how many <noun> (does|do|has|have) {slot} [have] <tail> <total>",
    "how many <noun> (of|for) {slot} <there> <tail> <total>",
    "how many <noun> <there> (of|for) {slot} <tail> <total>",
    "how many <things> are [the] <noun> of {slot} <tail>",
    "<count> <noun> (of|for) {slot} <tail>",
)
_ANY_OF = (
    "(does|do) {slot} have <any> <noun> <tail>",
    "(are there|is there) <any> <noun> (of|for) {slot} <tail>",
)
_LIST_ALL = (
    "<list> [all] [the|of the] <noun> <onto>",
    "(what|which) (are|is) [all] [the] <noun> <onto>",
    "<wh> [of the] <noun> <there> <onto>",
    "<wh> <noun> (does|do) <it> <have>",
    "[all] [the] <noun> <onto>",
)
_COUNT_ALL = (
    "how many [of the] <noun> <there> <onto>",
    "how many <noun> (does|do) <it> <have> <total>",
    "<count> <noun> <onto>",
    "how many <noun> <onto>",
)
_ANY_ALL = ("(are there|is there|are) <any> <noun> <onto>", "does <it> <have> <any> <noun>")


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
    tail: str = "",
    every: bool = True,
    listed: tuple[str, ...] = (),
    counted: tuple[str, ...] = (),
) -> list[Form]:
    """The forms of what a term has. `call` is the view that lists it, with its slot; `listed` and
    `counted` are further wordings. Not `every`: "all" and "in total" mean something else."""
    slot = re.findall(r"\$(\w+)", call)[0]
    parts = {
        "noun": f"({noun.pattern})",
        "tail": tail,
        "things": things or "[things|terms|entities]",
        "all": "[all]",
    }
    if not every:
        parts |= {"all": "", "total": "", "count": _COUNT_PLAINLY}
    named = [
        tuple(frame.replace("{slot}", f"{{{slot}}}") for frame in frames)
        for frames in (_LIST_OF, _COUNT_OF, _ANY_OF)
    ]
    patterns = (named[0] + listed, named[1] + counted, named[2])
    return _three(name, noun, call, example, patterns, Macros(parts, MACROS))


def list_all(
    name: str,
    noun: Noun,
    call: str,
    example: str,
    *,
    listed: tuple[str, ...] = (),
    counted: tuple[str, ...] = (),
) -> list[Form]:
    """The forms of what the ontology as a whole has."""
    patterns = (_LIST_ALL + listed, _COUNT_ALL + counted, _ANY_ALL)
    macros = Macros({"noun": f"({noun.pattern})"}, MACROS)
    return _three(name, noun, call, example, patterns, macros)


def _three(
    name: str,
    noun: Noun,
    call: str,
    example: str,
    patterns: tuple[tuple[str, ...], ...],
    macros: Macros,
) -> list[Form]:
    nouns = f"{noun.one!r}, {noun.many!r}"
    listed, counted, any_ = patterns
    return [
        Form(name, example, listed, f"tell_list({call}, {nouns})", macros),
        Form(f"count_{name}", "", counted, f"tell_count({call}, {nouns})", macros),
        Form(f"any_{name}", "", any_, f"tell_any({call}, {nouns})", macros),
    ]
