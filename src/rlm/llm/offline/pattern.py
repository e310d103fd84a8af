"""Patterns of questions: words, choices and slots, matched over the whole of a question.

    list [the] (subclass|subclasses) of {class}

A word stands for itself, whatever its case; `[…]` may be missing; `(…|…)` is a choice; `{name}` is
a slot that takes one word or more; `<name>` is a macro, a pattern that others share; `{=name}`
takes no word and marks which way was taken. What a pattern does not place it does not match:
nothing is skipped, at either end or between, but for courtesies and "in this ontology".

What stands in quotes is one word of its own, so that `"is part of"` is never read as a phrase.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

_TOKEN = re.compile(r"[\[\]()|]|\{=?\w+\}|<\w+>|[^\s\[\]()|{}<>]+")
_QUOTED = re.compile(r"\"([^\"]+)\"|(?<![\w\"])'([^']+)'(?!\w)")
_PLACE = re.compile(r"\x02(\d+)\x02")
_BESIDE_QUOTES = re.compile(
    r"(?:(?:the|a|an|deprecated|obsolete|class|property|term|concept|individual|instance|object"
    r"|datatype|annotation|label|name|text|word|string|called|named) )*\x02(\d+)\x02"
    r"(?: (?:class|property|term|concept|individual))?",
    re.IGNORECASE,
)
_TYPOGRAPHIC = str.maketrans("“”„«»`’‘", '""""""\'\'')
_WH = "(?:what|which|how|whether|if|who|where)"
_POLITE = re.compile(
    r"^(?:(?:please|kindly|hi|hello|hey|ok|okay|so|now|and|well|just|quick question)\b[ ,:]*|"
    r"(?:can|could|would|will) (?:you|we|i) (?:please )?|"
    r"i(?: would|'d|'m| am)? (?:want|like|need|wonder|wondering|interested|looking)"
    r"(?: to know| to| about| in| for)?[ ,]+|"
    rf"(?:tell me|let me know|know|find out|say|show me|do you know)(?=,? {_WH}\b)[ ,]*)",
    re.IGNORECASE,
)
_ONTOLOGY = (
    "(?:the|this|that|our|my) (?:whole |entire |loaded |given |current )?(?:ontology|vocabulary"
    "|(?:owl |rdf |ontology |turtle )?file|graph|model|schema|dataset|data|taxonomy|terminology)"
)
_ENDINGS = re.compile(
    r"[ ,]+(?:please|thanks|thank you|for me|or not|at all|if any|exactly|by the way|if possible"
    r"|and (?:if so,? )?(?:which|what)(?: ones?| is it| are they| (?:is|are) (?:that|those))?"
    rf"|(?:does|do) {_ONTOLOGY} (?:actually )?(?:contain|have|define|declare|include|hold|list|know"
    r"|give|state|provide|offer|come with))$",
    re.IGNORECASE,
)
_FILLERS = re.compile(
    rf"(?:^|(?<= ))(?:(?:in|within|inside|according to|throughout) (?:{_ONTOLOGY}|here)"
    r"(?! (?:property|properties|type|types|class|classes|\x02))"
    r"|in the (?:class |subclass |property )?(?:hierarchy|tree|taxonomy)"
    r"|(?:stated|declared|asserted|said|known|defined|supposed|considered|specified) to be"
    r"|explicitly|actually|currently|formally|really|explicit|asserted)(?=[ ,?.!]|$)[ ,]*",
    re.IGNORECASE,
)
"""Words that change nothing about what is asked, wherever they stand."""
_ASIDE = re.compile(
    r"\(((?:(?:the|direct|directly|immediate|indirect|indirectly|inherited|ones|only|just|not|all"
    r"|any|every|at|in|to|depth|level|levels|including|recursively|transitively|total|if|stated"
    r"|domain|range|and|or)\b ?)+)\)",
    re.IGNORECASE,
)
_SHORT_FORMS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"\b(what|which|who|where|how|there|it|that)'s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"\b(what|which|who|how|they)'re\b", re.IGNORECASE), r"\1 are"),
    (re.compile(r"(?<=\w)\((?:e?s|ies)\)"), ""),
    (re.compile(r"\bprop(s?)\b", re.IGNORECASE), lambda it: "properties" if it[1] else "property"),
    (re.compile(r" & "), " and "),
    (
        re.compile(
            rf"^(?:does {_ONTOLOGY} (?:say|state|declare|assert)|is it (?:true|stated|said|the"
            r" case|declared))(?: that)? (.+?) (is|are) ",
            re.IGNORECASE,
        ),
        r"\2 \1 ",
    ),
    (re.compile(r"^(?:whether|if) ", re.IGNORECASE), ""),
    (re.compile(r"(?<=[\w\x02])'s(?= )"), " 's"),
    (re.compile(r"[,;:](?= |$)"), " "),
)


@dataclass(frozen=True)
class PreparedQuestion:
    """A question made ready: one space between words, no punctuation at their ends."""

    text: str
    quoted: tuple[str, ...] = ()

    @classmethod
    def of(cls, question: str) -> PreparedQuestion:
        text = " ".join(question.translate(_TYPOGRAPHIC).split())
        quoted: list[str] = []

        def take(match: re.Match[str]) -> str:
            quoted.append((match[1] or match[2]).strip())
            return f"\x02{len(quoted) - 1}\x02"

        text = _ASIDE.sub(r"\1", _QUOTED.sub(take, re.sub(r"[\x00-\x1f]", " ", text)))
        shorter = text
        while True:
            shorter = _POLITE.sub("", re.sub(r"[\s?.!]+$", "", _FILLERS.sub("", shorter)))
            shorter = _ENDINGS.sub("", shorter)
            if shorter == text:
                break
            text = shorter
        for pattern, plain in _SHORT_FORMS:
            text = pattern.sub(plain, text)
        return cls(" ".join(text.split()), tuple(quoted))

    @cached_property
    def words(self) -> list[str]:
        return self.text.split()

    @cached_property
    def lower_words(self) -> frozenset[str]:
        return frozenset(self.text.lower().split())

    def restore(self, slot: str) -> tuple[str, bool]:
        """The text of a slot as it was asked, and whether all of it stood in quotes."""
        if alone := _BESIDE_QUOTES.fullmatch(slot.strip()):
            return self.quoted[int(alone[1])], True
        words = _PLACE.sub(lambda match: self.quoted[int(match[1])], slot).strip()
        return words.replace(" 's", "'s"), False


Slots = dict[str, str]
MOST_WAYS = 25
MARK = "mark"
"""The slot that a `Mark` fills."""
Needs = tuple[frozenset[str], ...]
"""Sets of words; whatever matches has a word of each."""


@dataclass(frozen=True)
class Word:
    text: str

    @property
    def needs(self) -> Needs:
        return (frozenset({self.text}),)

    def match(self, words: Sequence[str], at: int, slots: Slots) -> Iterator[tuple[int, Slots]]:
        if at < len(words) and words[at].lower() == self.text:
            yield at + 1, slots


@dataclass(frozen=True)
class Gap:
    """A slot: the fewest words first."""

    name: str
    needs: Needs = ()

    def match(self, words: Sequence[str], at: int, slots: Slots) -> Iterator[tuple[int, Slots]]:
        for end in range(at + 1, len(words) + 1):
            yield end, {**slots, self.name: " ".join(words[at:end])}


@dataclass(frozen=True)
class Mark:
    """Takes no word: it notes that this way was taken. No question goes two ways at once."""

    name: str
    needs: Needs = ()

    def match(self, words: Sequence[str], at: int, slots: Slots) -> Iterator[tuple[int, Slots]]:
        if slots.get(MARK, self.name) == self.name:
            yield at, {**slots, MARK: self.name}


@dataclass(frozen=True)
class Sequel:
    parts: tuple[Node, ...]

    @cached_property
    def needs(self) -> Needs:
        return tuple(dict.fromkeys(need for part in self.parts for need in part.needs))

    def match(self, words: Sequence[str], at: int, slots: Slots) -> Iterator[tuple[int, Slots]]:
        if not self.parts:
            yield at, slots
            return
        rest = Sequel(self.parts[1:])
        for end, taken in self.parts[0].match(words, at, slots):
            yield from rest.match(words, end, taken)


@dataclass(frozen=True)
class Choice:
    choices: tuple[Node, ...]
    is_optional: bool = False

    @cached_property
    def needs(self) -> Needs:
        each = [choice.needs for choice in self.choices]
        if self.is_optional or not all(each):
            return ()
        return (frozenset().union(*(min(needs, key=len) for needs in each)),)

    def match(self, words: Sequence[str], at: int, slots: Slots) -> Iterator[tuple[int, Slots]]:
        for choice in self.choices:
            yield from choice.match(words, at, slots)
        if self.is_optional:
            yield at, slots


Node = Word | Gap | Mark | Sequel | Choice


class QuestionPattern:
    """One pattern, read with the macros that it may use."""

    def __init__(self, source: str, macros: Macros) -> None:
        self.source = source
        self.node = _read(source, macros)

    def match(self, question: PreparedQuestion) -> list[Slots]:
        """What each slot may take, the fewest words first; all ways have the mark of the first.
        Empty where the question is another."""
        if any(need.isdisjoint(question.lower_words) for need in self.node.needs):
            return []
        words = question.words
        ends = self.node.match(words, 0, {})
        found = list(islice((slots for end, slots in ends if end == len(words)), MOST_WAYS))
        return [slots for slots in found if slots.get(MARK) == found[0].get(MARK)]


class Macros:
    """Macros by name, each read once. `base` has those that all patterns share."""

    def __init__(self, sources: Mapping[str, str], base: Macros | None = None) -> None:
        self._sources, self._base = sources, base
        self._nodes: dict[str, Node] = {}

    def node(self, name: str) -> Node:
        if name not in self._sources and self._base is not None:
            return self._base.node(name)
        if name not in self._nodes:
            self._nodes[name] = _read(self._sources[name], self)
        return self._nodes[name]

    @property
    def texts(self) -> list[str]:
        return list(self._sources.values())


def _read(source: str, macros: Macros) -> Node:
    """A pattern as a tree. The stack has, for every open bracket, the choices so far."""
    stack: list[list[list[Node]]] = [[[]]]
    for token in _TOKEN.findall(source):
        if token in "[(":
            stack.append([[]])
        elif token in "])":
            choices = stack.pop()
            stack[-1][-1].append(_choose(choices, is_optional=token == "]"))
        elif token == "|":
            stack[-1].append([])
        elif token.startswith("{="):
            stack[-1][-1].append(Mark(token[2:-1]))
        elif token[0] == "{":
            stack[-1][-1].append(Gap(token[1:-1]))
        elif token[0] == "<":
            stack[-1][-1].append(macros.node(token[1:-1]))
        else:
            stack[-1][-1].append(Word(token.lower()))
    return _choose(stack[0])


def _choose(choices: list[list[Node]], *, is_optional: bool = False) -> Node:
    nodes = [parts[0] if len(parts) == 1 else Sequel(tuple(parts)) for parts in choices]
    return nodes[0] if len(nodes) == 1 and not is_optional else Choice(tuple(nodes), is_optional)
