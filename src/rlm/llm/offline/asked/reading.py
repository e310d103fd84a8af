"""What the words of a question come to: letters in a row, the names, and what is said beside them."""

from __future__ import annotations

from rlm.llm.offline.asked.marks import OPEN
from rlm.llm.offline.asked.tokens import Word, after_article, end_of_name, named, role, single

_ISA = {"s": "i", "S": "i", "k": "i", "T": "i", "p": "I", "P": "I", "n": "u"}


_RELATIONS = "sSpPnr"


class Read:
    """What the words of a question came to."""

    def __init__(self) -> None:
        self.codes, self.lead, self.what = "", "", ""
        self.names: list[str] = []
        self.levels: set[str] = set()
        self.before: list[str] = []
        """The word before each name."""
        self.noun = ""
        """The word after "a" when it is all that follows "what is"."""
        self.sure = True
        """All names look like names."""
        self.plural = False
        """A word such as "subclasses" is in the plural."""
        self.requested = False
        """It begins with a verb such as "list"."""
        self.has = False
        """"Have" follows the last name."""
        self.after = ""
        """The word after the last name."""
        self.prose = False
        """It is about comments or definitions, which no search looks at."""
        self.searched = False
        """It begins with a verb such as "search"."""
        self.quoted = self.dangling = self.owned = False
        self.verb = ""
        """The word for yes or no that it begins with."""
        self.right = False
        """It ends in ", right?"."""


def read_words(words: list[Word], names: tuple[str, ...]) -> Read | None:
    read = Read()
    if len(words) > 2 and words[-1].text in ("right", "correct") and words[-2].stop:
        words, read.right = words[:-1], True
    letters: list[str] = []
    i = 0
    while i < len(words):
        word = words[i]
        if word.letter == "X":
            last = end_of_name(words, i)
            name = named(words, i, last, names, "X" in letters)
            if not name:
                return None
            letters.append("X")
            read.names.append(name)
            read.sure = read.sure and words[i].sure
            read.quoted = words[i].text[0] == OPEN
            read.before.append(_before(words, i, first=len(read.names) == 1))
            before = role(words, i - 1, after=False) if i else None
            after = role(words, last, after=True) if before is None else None
            if i and words[i - 1].text == "type" and i > 1 and words[i - 2].text == "the":
                read.what = "class"
            if before is not None and letters[-2:-1] == [words[i - 1].letter]:
                del letters[-2]
                read.what = read.what or before
            if after is not None:
                last += 1
                read.what = read.what or after
            read.owned = read.owned or words[last - 1].owns
            read.after = words[last].text if last < len(words) else ""
            i = last
            continue
        letter = word.letter
        if letter in _RELATIONS and _nested(words, i):
            return None
        if letter == "Y" and any(one not in "_" for one in letters):
            letter = "."
        if letter in "!'^":
            read.levels.add(letter)
        elif letter in _ISA and single(word.text) and after_article(words, i):
            letters.append(_ISA[letter])
            if letter in "SP":
                read.levels.add("!")
        elif letter == "U" and i + 1 < len(words) and words[i + 1].text == "of":
            letters.append("p")
        elif (
            letter in "de"
            and i + 1 < len(words)
            and words[i + 1].text == "of"
            and words[-1] is not words[i + 1]
        ):
            letters.append(letter.upper())
        else:
            letters.append(letter)
        if letter == "v" and word.text.startswith("descend"):
            read.levels.add("!")  # as descendants are at any level
        elif letter in "ab" and word.text.startswith(("one ", "a level ")):
            read.levels.add("'")
        elif (
            letter in "ab"
            and letters.count("X") == 1
            and i + 1 < len(words)
            and words[i + 1].text == "it"
        ):
            letters.remove("X")  # "Vessel: what is below it?"
            letters.append("X")
        elif letter == "z":
            read.prose = read.prose or word.text.startswith(
                ("comment", "definition", "description", "documentation")
            )
        read.plural = read.plural or (letter in "sSpPk" and not single(word.text))
        if letter == "Y":
            read.verb = word.text
        if letter == "Q":
            read.lead = word.text
        i += 1
    if len(words) > 1 and words[-2].text in ("a", "an") and words[-1].letter != "X":
        read.noun = words[-1].text
    read.searched = bool(words) and words[0].text in ("search", "grep", "scan", "query", "browse")
    read.requested = bool(words) and words[0].letter == "_"
    read.has = "H" in "".join(letters).rpartition("X")[2]
    read.dangling = bool(words) and words[-1].text in ("of", "for", "from")
    read.codes = "".join(one for one in letters if one not in "_.;,")
    return read


def _before(words: list[Word], i: int, first: bool) -> str:
    """The word before a name; before the first one, articles aside."""
    said = [
        word.text
        for word in words[max(0, i - 3) : i]
        if not first or word.text not in ("a", "an", "the")
    ]
    return said[-1] if said else ""


def _nested(words: list[Word], i: int) -> bool:
    """ "The superclass of the superclass of Tug": a relation of a relation."""
    if i + 2 >= len(words) or words[i + 1].text != "of":
        return False
    i += 2
    while i < len(words) - 1 and words[i].letter in ";!'":
        i += 1
    relation = words[i].letter in "sSpP" or (words[i].letter == "n" and not single(words[i].text))
    return relation and words[i + 1 : i + 2] != [] and words[i + 1].text == "of"
