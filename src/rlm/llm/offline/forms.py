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
from rlm.llm.offline.question import PreparedQuestion, plain_word

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
_QUESTION = "(?:what|which|who|how|is|are|does|do|has|when|where|in which|of which|to which|its)"
_BREAK = re.compile(
    rf"[:;?!.,]\s+(?:and |if so,? |but |so )*|\s+[-–—]+\s+|\s+and\s+(?={_QUESTION}\b)",
    re.IGNORECASE,
)
"""Where a question may fall into two parts."""
_STATEMENT = re.compile(
    r"(?i)(?:(?:about|regarding|given|take|consider|for) )?(.+?)(?: (?:is|was|has been) (?:now )?"
    r"(?:an? )?(?:\w+ )?(?:deprecated|obsolete|class|property|individual|term|concept))?"
)
_ITS = re.compile(r"(?i)\b(?:its|their)\b")
_IT = re.compile(r"(?i)\bit\b|(?<=instead)(?=\W*$)")
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
        """The slots that took a word of the forms as a name: “Type”, or “type”."""
        kind = self.form.name
        words = {name: slot.words for name, slot in self.mentions.items() if kind in _WHOLE_NAMES}
        nouns = {name: each for name, each in words.items() if each.lower() in _GRAMMAR_NOUNS}
        return [name for name, each in nouns.items() if kind == "is_a" or each[:1].isupper()]

    @property
    def open_words(self) -> int:
        slots = self.slots.values()
        return sum(1 if slot.quoted else len(_bare(slot.words).split()) for slot in slots)

    def asks_as(self, other: Reading) -> bool:
        """Whether both are the same question, articles aside."""
        mine, theirs = ({name: _bare(slot.words) for name, slot in each.slots.items()}
                        for each in (self, other))  # fmt: skip
        return self.form == other.form and mine == theirs


def _bare(words: str) -> str:
    return re.sub(r"(?i)^(?:the|an?) (?=.)", "", words)


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
    found = _readings(said, card)
    if again:  # said twice: both must be the same question
        others = [f"{start}{again[0].strip(' ,)?')}" for start in _STARTS]
        kept = [each for one in others for each in _readings(one, card)]
        found = [each for each in found if any(each.asks_as(other) for other in kept)]
    else:
        found += _read_parts(said, card)
    words = {slot.words for each in found for slot in each.mentions.values()}
    longer = {f"{each} {noun}" for each in words for noun in ("type", "types")} & words
    return tuple(sorted(found, key=lambda each: _rank(each, longer))[:READINGS])


def _readings(question: str, card: str) -> list[Reading]:
    """Of each form the reading with the fewest open words; those of its own order first."""
    found: dict[str, Reading] = {}
    for asked in PreparedQuestion.of(question).orders:
        for form in FORMS:
            for taken in form.read(asked):
                slots = {
                    name: Slot(*asked.restore(_bare(words) if name in _PLAIN else words))
                    for name, words in taken.items()
                }
                known = found.get(form.name, reading := Reading(form, slots))
                if known.open_words < reading.open_words or not _is_plausible(form, slots, card):
                    continue
                found[form.name] = min(known, reading, key=lambda each: each.open_words)
    return list(found.values())


def _read_parts(question: str, card: str) -> list[Reading]:
    """The readings of a question in two parts: a term, or what is said or asked of it, and then
    what asks of "it". Of two questions both are answered."""
    found: list[Reading] = []
    for split in _BREAK.finditer(question):
        head, rest = question[: split.start()].strip(), question[split.end() :]
        about = _STATEMENT.fullmatch(head)
        first = sorted(_readings(head, card), key=lambda it: it.open_words)[:2]
        topics: list[tuple[str, Reading | None]] = [(_topic(each), each) for each in first]
        topics += [(about[1], None)] if about and not topics else []
        for topic, one in topics:
            asked = _ask_about(topic, rest) if topic else rest
            for two in _readings(asked, card) if asked != rest or one else ():
                found += [joined] if (joined := _join(one, two) if one else two) else []
    return found


def _ask_about(topic: str, rest: str) -> str:
    """A question about "it", asked of a term."""
    asked = _ITS.sub(lambda _: f"{topic} 's", rest)
    return _IT.sub(lambda it: topic if it[0] else f" of {topic}", asked)


def _topic(reading: Reading) -> str:
    """The first term that a question is about; '' where it is about the ontology."""
    words = [f'"{slot.words}"' if slot.quoted else slot.words for slot in reading.mentions.values()]
    return next(iter(words), "")


def _join(one: Reading, two: Reading) -> Reading | None:
    """Two questions as one, where no slot that needs no linking is in both."""
    if one.asks_as(two):
        return one
    named = {name: f"{kind_of_slot(name)}{5 + len(name) - len(kind_of_slot(name))}"
             for name in two.mentions}  # fmt: skip
    slots = {named.get(name, name): slot for name, slot in two.slots.items()}
    if not (one.form.program and two.form.program) or not one.slots.keys().isdisjoint(slots):
        return None
    second = re.sub(r"[$%]([a-z]+\d?)", lambda it: it[0][0] + named.get(it[1], it[1]),
                    two.form.program)  # fmt: skip
    both = Form(f"{one.form.name}_and_{two.form.name}", "", (),
                f'"\\n".join([{one.form.program}, {second}])')  # fmt: skip
    return Reading(both, one.slots | slots)


def _rank(reading: Reading, longer: set[str]) -> tuple[bool, bool, int, bool]:
    """A term that is called like a word of the forms, if there is one; a "route type" before the
    types of a route; then the fewest open words; a name that may be a term's is not at once the
    ontology's."""
    is_longer = any(slot.words in longer for slot in reading.mentions.values())
    return not reading.namesakes, not is_longer, reading.open_words, "ontology" in reading.slots


def _is_plausible(form: Form, slots: dict[str, Slot], card: str) -> bool:
    """Whether what needs no linking can be what its slot takes."""
    if form.name.endswith("_with_statement") and _STRUCTURE.search(slots["property"].words):
        return False  # what these have is no statement of one property
    for name, slot in slots.items():
        words = slot.words
        most = {"text": 1, "word": 3, "quoted": 0}.get(name, 1000)
        if not slot.quoted and (words in _NO_NAMES or len(words.split()) > most):
            return False
        if name == "lang" and language_tag(words) is None:
            return False
        if name == "prefix" and not re.fullmatch(r"[\w.-]*:?", words):
            return False
        in_space = len(words) > 2 and words.lower() in own_namespace(card).lower()
        if name == "ontology" and not in_space and words.lower() not in ontology_names(card):
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
    """Every word that some form places, in its plain shape."""
    texts = [source for form in FORMS for source in (*form.sources, *form.macros.texts)]
    texts += MACROS.texts
    words = _WORD.findall(re.sub(r"\{=?\w+\}|<\w+>", " ", " ".join(texts).lower()))
    return frozenset(map(plain_word, words))


def unplaced_words(question: str) -> list[str]:
    """The words of a question that no form has a place for."""
    asked = PreparedQuestion.of(question)
    words = [word for word in asked.words if plain_word(word) not in form_words()]
    return [f"“{asked.restore(word)[0]}”" if "\x02" in word else word for word in words]


def nearest_forms(question: str, card: str = "") -> list[str]:
    """Examples of the forms that share most words with a question, about what the card names."""
    asked = set(_WORD.findall(question.lower())) - _COMMON

    def shared(form: Form) -> int:
        return len(asked & set(_WORD.findall(form.example.lower())))

    known = [form for form in FORMS if form.example]
    ranked = sorted(known, key=lambda form: -shared(form))
    near = [form.example for form in ranked if shared(form)]
    general = ["What is Tug?", "What are the subclasses of Vessel?", "Which classes are there?"]
    text = "\n".join(list(dict.fromkeys([*near, *general]))[:NEAREST])
    for samples, sort in (("Tug Vessel Barge PortCall", "classes"), ("mooredAt", "properties")):
        named = re.search(rf"^Key {sort}: (.*)", card, re.MULTILINE)
        names = re.findall(r":(\w+)", named[1]) if named else []
        for sample, name in zip(samples.split(), names, strict=False):
            text = re.sub(rf"\b{sample}\b", name, text)
    return text.split("\n")
