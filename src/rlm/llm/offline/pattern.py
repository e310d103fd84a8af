"""Patterns of questions: words, choices and slots, matched over the whole of a question.

    list [all] (subclass|child [class]) of {class}

A word stands for itself, whatever its case, number or tense, and `=are` for nothing else; an
article may stand before it. `[…]` may be missing; `(…|…)` is a choice; `{name}` is a slot that
takes one word or more; `<name>` is a macro, a pattern that others share; `{=name}` takes no word
and marks which way was taken. What a pattern does not place it does not match: nothing else is
skipped, at either end or between, but for what `question` takes off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from rlm.llm.offline.question import PreparedQuestion, plain_word

_TOKEN = re.compile(r"[\[\]()|]|\{=?\w+\}|<\w+>|[^\s\[\]()|{}<>]+")
ARTICLES = frozenset(("the", "a", "an"))
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
        return (frozenset({plain_word(self.text.lstrip("="))}),)

    def match(self, words: Sequence[str], at: int, slots: Slots) -> Iterator[tuple[int, Slots]]:
        if at == len(words):
            return
        said = words[at].lower()
        if self.text in (plain_word(said), f"={said}"):
            yield at + 1, slots
        elif said in ARTICLES:
            yield from self.match(words, at + 1, slots)


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
        if any(need.isdisjoint(question.plain_words) for need in self.node.needs):
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
            stack[-1][-1].append(Word(token if token[0] == "=" else plain_word(token)))
    return _choose(stack[0])


def _choose(choices: list[list[Node]], *, is_optional: bool = False) -> Node:
    nodes = [parts[0] if len(parts) == 1 else Sequel(tuple(parts)) for parts in choices]
    return nodes[0] if len(nodes) == 1 and not is_optional else Choice(tuple(nodes), is_optional)
