"""What the words of a question come to: letters in a row, the names, and what is said beside them."""

from __future__ import annotations

from rlm.llm.offline.asked.marks import OPEN
from rlm.llm.offline.asked.tokens import Word, after_article, end_of_name, named, role, single

_ISA = {"s": "i", "S": "i", "k": "i", "T": "i", "p": "I", "P": "I", "n": "u"}


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
        self.quoted = self.dangling = False
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
            i = last
            continue
        letter = word.letter
        if letter == "Y" and any(one not in "_" for one in letters):
            letter = "."
        if letter in "!'^":
            read.levels.add(letter)
        elif letter in _ISA and single(word.text) and after_article(words, i):
            letters.append(_ISA[letter])
        elif letter == "U" and i + 1 < len(words) and words[i + 1].text == "of":
            letters.append("p")
        elif letter in "de" and i + 1 < len(words) and words[i + 1].text == "of" and words[-1] is not words[i + 1]:
            letters.append(letter.upper())
        else:
            letters.append(letter)
        read.plural = read.plural or (letter in "sSpPk" and not single(word.text))
        if letter == "Y":
            read.verb = word.text
        if letter == "Q":
            read.lead = word.text
        i += 1
    if len(words) > 1 and words[-2].text in ("a", "an") and words[-1].letter != "X":
        read.noun = words[-1].text
    read.requested = bool(words) and words[0].letter == "_"
    read.has = "H" in "".join(letters).rpartition("X")[2]
    read.dangling = bool(words) and words[-1].text in ("of", "for", "from")
    read.codes = "".join(one for one in letters if one not in "_.;,")
    return read


def _before(words: list[Word], i: int, first: bool) -> str:
    """The word before a name; before the first one, articles aside."""
    said = [word.text for word in words[max(0, i - 3) : i] if not first or word.text not in ("a", "an", "the")]
    return said[-1] if said else ""
