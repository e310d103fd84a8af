"""All forms of question that `offline` knows, and how a question is read by them.

A reading is a form whose pattern takes the whole question. Several forms may: the one that leaves
the fewest words to names is tried first, and only what can be linked is answered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from rlm.llm.offline import forms_classes, forms_names, forms_properties, forms_terms
from rlm.llm.offline.frames import MACROS, Form
from rlm.llm.offline.names import language_tag
from rlm.llm.offline.pattern import PreparedQuestion

FORMS: tuple[Form, ...] = (
    *forms_names.FORMS,
    *forms_classes.FORMS,
    *forms_properties.FORMS,
    *forms_terms.FORMS,
)
_STARTS = ("", "which properties ", "which properties have ", "which classes are ", "what is ")
READINGS = 4
"""So many readings of one question are tried."""
NEAREST = 3
_WORD = re.compile(r"[a-z][a-z-]+")
_COMMON_WORDS = "what which is are the a an of in to does do have has there how many"
_COMMON = frozenset(_COMMON_WORDS.split())
_NOUNS = """
    attribute author class comment concept creator definition individual instance label language
    leaf license name namespace ontology predicate prefix property publisher relation root shape
    synonym term title type value version
"""
_GRAMMAR_NOUNS = frozenset(_NOUNS.split())
"""Words of the forms that a file may have a term of."""
_WHOLE_NAMES = ("is_a", "describe")
"""The forms that ask of such a term and nothing else: in “the Label of Kind” it is none."""
_STRUCTURE = re.compile(r"(?i)(?:class|classes|property|properties|inverses?|restrictions?)$")
_NO_NAMES = frozenset(("there", "a", "an", "the", "it", "this", "that", "any", "some", "they"))


@dataclass(frozen=True, slots=True)
class Slot:
    """What a slot took: the words of the question, and whether they stood in quotes."""

    words: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """A form, and what its slots took."""

    form: Form
    slots: dict[str, Slot]

    @property
    def mentions(self) -> dict[str, Slot]:
        """The slots that name a term."""
        return {name: slot for name, slot in self.slots.items() if kind_of_slot(name) not in _PLAIN}

    @property
    def names(self) -> list[tuple[str, Slot]]:
        """What has to be looked up: the ontology's name too, which may be a term's."""
        own = [each for each in self.slots.items() if each[0] == "ontology"]
        return [*self.mentions.items(), *own]

    @property
    def namesakes(self) -> list[str]:
        """The slots that took a word of the forms as a name: “Type”, and “type” where only the
        file can tell what is meant."""
        kind = self.form.name
        words = {name: slot.words for name, slot in self.mentions.items() if kind in _WHOLE_NAMES}
        nouns = {name: each for name, each in words.items() if each.lower() in _GRAMMAR_NOUNS}
        return [name for name, each in nouns.items() if kind == "is_a" or each[:1].isupper()]

    @property
    def open_words(self) -> int:
        return sum(1 if slot.quoted else len(slot.words.split()) for slot in self.slots.values())


_PLAIN = frozenset({"text", "quoted", "word", "lang", "prefix", "ontology"})


def kind_of_slot(name: str) -> str:
    """What a slot takes, by its name: `class2` takes a class."""
    return name.rstrip("0123456789")


@lru_cache(maxsize=32)  # every turn of a run reads it again
def read_question(question: str, card: str = "") -> tuple[Reading, ...]:
    """The readings of a question, best first. `card` is what the prompt says of the ontology: an
    ontology may be called by a name that stands there."""
    said, *again = re.split(
        r"[,(]? ?\b(?:i\.e\.|ie,|that is,|in other words)", question, maxsplit=1
    )
    found = _readings(PreparedQuestion.of(said), card)
    if again:  # said twice: both must be the same question
        others = [f"{start}{again[0].strip(' ,)?')}" for start in _STARTS]
        kept = [each for one in others for each in _readings(PreparedQuestion.of(one), card)]
        found = [each for each in found if each in kept]
    return tuple(sorted(found, key=_rank)[:READINGS])


def _readings(asked: PreparedQuestion, card: str) -> list[Reading]:
    found = []
    for form in FORMS:
        taken = [
            {name: Slot(*asked.restore(words)) for name, words in slots.items()}
            for slots in form.read(asked)
        ]
        readings = [Reading(form, slots) for slots in taken if _is_plausible(slots, card)]
        if form.name.endswith("_with_statement"):  # what these have is no statement of one property
            readings = [it for it in readings if not _STRUCTURE.search(it.slots["property"].words)]
        found += [min(readings, key=lambda reading: reading.open_words)] if readings else []
    return found


def _rank(reading: Reading) -> tuple[bool, int, bool]:
    """A term that is called like a word of the forms, if there is one; then the fewest open words;
    a name that may be a term's is not at once the ontology's."""
    return not reading.namesakes, reading.open_words, "ontology" in reading.slots


def _is_plausible(slots: dict[str, Slot], card: str) -> bool:
    """Whether what needs no linking can be what its slot takes."""
    for name, slot in slots.items():
        words = slot.words
        if not slot.quoted and words in _NO_NAMES:
            return False
        if name == "lang" and language_tag(words) is None:
            return False
        if name == "prefix" and not re.fullmatch(r"[\w.-]*:?", words):
            return False
        most = {"text": 1, "word": 3, "quoted": 0}.get(name)
        if most is not None and not slot.quoted and len(words.split()) > most:
            return False
        named = words.lower() in ontology_names(card) or (
            len(words) > 2 and words.lower() in own_namespace(card).lower()
        )
        if name == "ontology" and not named:
            return False
    return True


@cache
def ontology_names(card: str) -> frozenset[str]:
    """What the ontology itself may be called: its title, the names in it, its own prefix."""
    title = card.strip().partition("\n")[0].partition(":")[0]
    own = re.search(r"^Prefixes: ([\w.-]+): <", card, re.MULTILINE)
    named = re.findall(r"\b[A-Z][\w-]{2,}", title)
    names = {title, *named, *([own[1]] if own else [])} - {"The", "Ontology", "Vocabulary"}
    return frozenset(name.lower() for name in names)


def own_namespace(card: str) -> str:
    """The namespace of the ontology's own terms, which the prompt names first; '' without."""
    found = re.search(r"^Prefixes: [\w.-]*: <([^<>\s]+)>", card, re.MULTILINE)
    return found[1] if found else ""


@cache
def form_words() -> frozenset[str]:
    """Every word that some form places."""
    texts = [source for form in FORMS for source in (*form.sources, *form.macros.texts)]
    texts += MACROS.texts
    return frozenset(_WORD.findall(re.sub(r"\{=?\w+\}|<\w+>", " ", " ".join(texts).lower())))


def unplaced_words(question: str) -> list[str]:
    """The words of a question that no form has a place for, what is in quotes aside."""
    words = PreparedQuestion.of(question).text.split()
    return [each for each in words if each.lower() not in form_words() and each.isprintable()]


def nearest_forms(question: str) -> list[str]:
    """Examples of the forms that share most words with a question."""
    asked = set(_WORD.findall(question.lower())) - _COMMON

    def shared(form: Form) -> int:
        return len(asked & set(_WORD.findall(form.example.lower())))

    known = [form for form in FORMS if form.example]
    ranked = sorted(known, key=lambda form: -shared(form))
    near = [form.example for form in ranked if shared(form)]
    general = ["What is Tug?", "What are the subclasses of Vessel?", "Which classes are there?"]
    return list(dict.fromkeys([*near, *general]))[:NEAREST]
