"""The words of a question with what each one says, and which of them are a name."""

from __future__ import annotations

from rlm.llm.offline.asked.kinds import CLOSE, NO_NAMES, OPEN, QUALITIES, REQUESTS, SCOPES, Lazy
from rlm.llm.offline.asked.words import vocabulary

_FIRST = {
    **dict.fromkeys(REQUESTS, "_"),
    **dict.fromkeys(("describe", "define", "characterise", "characterize"), "z"),
    **dict.fromkeys(("take", "given", "consider", "considering", "regarding", "concerning"), "_"),
    "sort": "",
}
"""Words that mean something else at the beginning."""
_ROLES = {
    **dict.fromkeys(("class", "concept"), "class"),
    **dict.fromkeys(
        ("property", "predicate", "attribute", "relation", "relationship", "object property"),
        "property",
    ),
    **dict.fromkeys(("datatype property", "data property", "annotation property"), "property"),
    **dict.fromkeys(("individual", "instance", "named individual"), "individual"),
    **dict.fromkeys(("term", "entity", "resource", "node", "element"), ""),
}
_INTRODUCING = """
of for from to a an the is are does do has have under below above than with as by on class concept term property
individual subclasses superclasses instances subclass superclass within into between about describe define explain can
may could any every all prefix namespace mention mentions mentioning many search for grep called named each word
string text substring letters pattern fragment piece sequence contain contains containing
"""
_INTRODUCE = frozenset(_INTRODUCING.split())
"""A name in small letters stands after one of these, or after nothing."""
_ACRONYM = Lazy(r"[A-Z][A-Z0-9]+(?:-[A-Z0-9]+)*")
_MARK = Lazy(f"{OPEN}\\d+{CLOSE}")
_BEGINNING = """
which what what's everything anything who whom whose how is are does do has have can could would in all every any name
list show give find tell count describe explain define get return identify for of from under please i check number to
"""
_BEGINNINGS = frozenset(_BEGINNING.split())
"""Words of vocabulary that may have a capital after a courtesy."""
_CAPITALS = frozenset(("I", "I'm", "I’m", "IRI", "IRIs", "URI", "URIs", "SPARQL"))
_PREPOSITIONS = frozenset(
    (
        "in",
        "of",
        "from",
        "within",
        "inside",
        "for",
        "by",
        "across",
        "on",
        "throughout",
        "under",
        "to",
    )
)
_DETERMINERS = frozenset(
    ("the", "this", "that", "my", "our", "your", "a", "an", "its", "given", "loaded", "current")
)


_BEHIND = frozenset(
    ("properties", "props", "attributes", "attrs", "instances", "individuals", "members")
)


class Word:
    """A word of vocabulary, with its letter, or a piece of a name, with the letter X."""

    __slots__ = ("letter", "owns", "stop", "sure", "text")

    def __init__(
        self, letter: str, text: str, sure: bool = False, stop: bool = False, owns: bool = False
    ) -> None:
        self.letter, self.text = letter, text
        self.sure = sure
        """It looks like a name: quoted, a CURIE, a capital within the sentence."""
        self.stop = stop
        """A comma or a colon follows."""
        self.owns = owns
        """It ends in 's."""


def words_of(text: str) -> list[Word] | None:
    """The words of a text with their letters, phrases joined."""
    letters, longest = vocabulary()
    tokens = [token for token in (raw.strip("().!?;") for raw in text.split()) if token]
    bare = [token.rstrip(",:") for token in tokens]
    words: list[Word] = []
    i = 0
    while i < len(tokens):
        first = all(word.letter == "_" for word in words)
        token, low = bare[i], bare[i].lower().replace("’", "'")
        if not token:
            i += 1
            continue
        if low not in longest and low.endswith("'") and (low[:-1] in longest or low[:-1] in SCOPES):
            low = token = low[:-1]  # "properties' names"
        if "/" in low and all(piece in letters for piece in low.split("/")):
            low = low.split("/")[0]  # "prefix/namespace"
        count, letter = 1, ""
        capital = token[0].isupper() and i > 0 and low not in ("i", "iri", "iris", "uri", "uris")
        capital = capital and not (first and low in _BEGINNINGS)
        if not capital and token[0] != OPEN:
            for count in range(min(longest.get(low, 0), len(tokens) - i), 0, -1):
                phrase = " ".join([low, *(piece.lower() for piece in bare[i + 1 : i + count])])
                joined = any(tokens[j] != bare[j] for j in range(i, i + count - 1))
                cased = any(
                    piece[:1].isupper() and piece not in _CAPITALS
                    for piece in bare[i + 1 : i + count]
                )
                if letter := "" if joined or cased else letters.get(phrase, ""):
                    low = phrase
                    break
        if first and count == 1:
            letter = _FIRST.get(low, letter)
        stop = tokens[i + count - 1 if letter else i][-1] in ",:"
        if letter == "_" and low in REQUESTS and words and not _asks(words[-1]):
            return None  # "a query", "the report"
        if letter:
            words.append(Word(letter, low, stop=stop))
            i += count
            continue
        owns = token.endswith(("'s", "’s", "s'", "s’"))
        name = token[:-2] if owns and token[-1] == "s" else token[:-1] if owns else token
        if (
            not name
            or any(c in name for c in "'’/")
            or (OPEN in name and not _MARK.fullmatch(name))
        ):
            return None  # "'s" alone is no name either
        sure = (
            token[0] == OPEN
            or capital
            or ":" in token[1:-1]
            or "_" in token
            or name[1:] != name[1:].lower()
        )
        if tokens[i][-1] == ":" and low.isalpha() and token.islower():
            words.append(Word("N", "prefix"))  # "What does dct: stand for?"
        words.append(Word("X", name, sure or any(c.isdigit() for c in name), stop, owns))
        i += 1
    return words


def _asks(word: Word) -> bool:
    """Whether a verb such as "list" may follow a word."""
    return word.letter == "_" or word.stop or word.text in ("to", "and", "then")


def without_scopes(words: list[Word]) -> list[Word]:
    """Without "in the harbour ontology" and the like."""
    kept: list[Word] = []
    for word in words:
        called = (
            word.sure
            and word.text.lower() in SCOPES
            and bool(kept)
            and (kept[-1].sure or word.text == "KG")
        )
        if word.letter != "X" or (word.text not in SCOPES and not called):
            kept.append(word)
            continue
        found = False
        for back in range(1, min(5, len(kept) + 1)):
            if found := kept[-back].text in _DETERMINERS:
                del kept[len(kept) - back :]
                break
            if kept[-back].letter != "X":
                break
        if kept and not found and kept[-1].letter == "_" and word.text != "ontology":
            kept.append(word)  # "I document", "you model"
            continue
        if kept and kept[-1].text in _PREPOSITIONS:
            kept.pop()
        if kept and word.stop:
            kept[-1].stop = True
    for at in (0, len(kept) - 2):
        if (
            len(kept) > 2
            and kept[at].text in ("in", "within")
            and _ACRONYM.fullmatch(kept[at + 1].text)
        ):
            del kept[at : at + 2]
            break
    return kept


def end_of_name(words: list[Word], start: int) -> int:
    """Where a name ends: at a word of vocabulary, but for "of" within small letters."""
    i = start + 1
    while i < len(words) and not words[i - 1].stop and not words[i - 1].owns:
        small = (
            i + 1 < len(words)
            and not words[i - 1].sure
            and words[i + 1].letter == "X"
            and not words[i + 1].sure
        )
        if words[i].letter == "X" and (words[i].text[0] != OPEN and words[i - 1].text[0] != OPEN):
            i += 1
        elif words[i].text in ("of", "in") and small and not words[i].stop:
            i += 2
        else:
            break
    return i


def named(words: list[Word], start: int, end: int, names: tuple[str, ...], second: bool) -> str:
    """The name that some words make, or nothing when they do not look like one."""
    pieces = words[start:end]
    text = " ".join(piece.text for piece in pieces)
    if text[0] == OPEN:
        return names[int(text[1:-1])] if len(pieces) == 1 else ""
    sure = [piece.sure for piece in pieces]
    if all(sure):
        return text if len(pieces) <= 6 else ""
    if any(sure) or not NO_NAMES.isdisjoint(piece.text.lower() for piece in pieces):
        return ""  # a label in mixed letters, or a name and a word that is not known
    before = words[start - 1].text.split(" ")[-1] if start else ""
    if (
        len(pieces) > 5
        or (before and before not in _INTRODUCE)
        or (second and words[start - 1].text == "and")
    ):
        return ""
    if start and words[start - 1].letter in "crjJKnt":
        return ""  # "concept scheme": a role, or a part of the name?
    following = words[end] if end < len(words) else None
    alone = (
        start == 0
        and end == len(words) - 1
        and words[end].text in _BEHIND
        and text not in QUALITIES
    )
    if (
        following
        and not (alone and len(pieces) == 1)  # "vessel properties", and nothing else
        and (following.letter in "OBtkLcrjJKn" or following.text == "type")
        and not words[end - 1].owns
        and not words[end - 1].stop
    ):
        return ""  # "small object": a name that ends in a word of vocabulary?
    return text


def role(words: list[Word], i: int, after: bool) -> str | None:
    """The kind of term that the word beside a name says, or None when it is no role word."""
    if not 0 <= i < len(words) or words[i].letter not in "crjJKnt":
        return None
    if after:
        start = i - 1
        while start > 0 and words[start - 1].letter == "X":
            start -= 1
        the = start > 0 and words[start - 1].text in ("the", "a", "an")
        strong = words[i].text in (
            "class",
            "property",
            "concept",
            "individual",
            "predicate",
            "term",
        )
        if not (strong and (the or words[i - 1].sure)) or words[i - 1].owns or words[i - 1].stop:
            return None
    elif words[i].stop or (i > 0 and words[i - 1].text in ("which", "what", "that")):
        return None
    return _ROLES.get(words[i].text)


def single(text: str) -> bool:
    return text != "children" and (text.endswith("ss") or not text.endswith("s"))


def after_article(words: list[Word], i: int) -> bool:
    i -= 1
    while i >= 0 and words[i].letter in "'!" and words[i].text not in ("all", "every", "each"):
        i -= 1
    return i >= 0 and words[i].text in ("a", "an") and (i == 0 or words[i - 1].letter != "H")


# -- What the words of a question come to: letters in a row, the names, and what is said beside
# them.


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
