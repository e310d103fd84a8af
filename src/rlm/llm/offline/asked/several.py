"""Names joined by "and", "or" or commas: "Tug, Ferry and Barge" is one name or several, and only an
ontology can tell.

The joined names go behind one mark, as a quoted name does, and the question is read with it. What
was read must be a question about one name, and that name must be the joined one: then it keeps the
whole, and its parts beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from rlm.llm.offline.asked.kinds import Asked
from rlm.llm.offline.asked.lazy import Lazy
from rlm.llm.offline.asked.marks import CLOSE, OPEN
from rlm.llm.offline.asked.sets import NO_NAMES, SCOPES
from rlm.llm.offline.asked.text import MAX_NAME_CHARS
from rlm.llm.offline.asked.words import vocabulary

SPLIT = frozenset((
    "describe", "subclasses", "all_subclasses", "superclasses", "all_superclasses", "properties_by_domain",
    "properties_by_range", "instances",
))  # fmt: skip
"""The kinds of questions that can be answered name by name; and the counts of these."""
MAX_PARTS = 20
_JOINT = re.compile(
    r"(?:,? (?:and|or|&|plus|as well as)|,)(?: (?:also|then|of|for|those of|that of|the|an?))*(?:"
    r" class| property)? "
)
_SET_APART = Lazy(
    r"\b(?:common|shared?|both|either|neither|same|differen\w*|compar\w*|versus|vs|between|each"
    r" other|one another|"
    r"together|similar\w*|intersect\w*|overlap\w*|disjoint|merge\w*|relat\w+"
    r" (?:to|with)|connect\w*|links?|linked|"
    r"not|except|but|without|excluding|respectively|join\w*|combin\w*|union|sum|total|altogether|instead|rather|than)\b",
    re.I,
)
"""Words that make one question of two names: no answer about each of them would do."""
_AT_ONCE = Lazy(
    r"… as (?:(?:their|its|a|the|direct) )*(?:super|parent|sub|child|ancest|base)"
    r"|\b(?:is|be|has|have) an? (?:\w+ )?(?:sub\w*|super\w*|instance|member|child|parent|kind|type)"
    r" (?:of )?…",
    re.I,
    only="…",
)
"""One thing that is asked to be below both, or above both: the names together set a condition."""
_ANDS = (" and ", " or ", " & ", " plus ", " as well as ")
_BOTH = Lazy(r"\bboth\b", re.I)
_NAME = re.compile(rf"{OPEN}\d+{CLOSE}|[^\W\d_]?[\w.-]*:\w[\w.-]*\w|:?\w[\w'’-]*")
_OPEN_END = frozenset("_zQ")
"""What may stand before a name in small letters: a verb such as "describe", "what is"."""
_INTO = frozenset((
    "of", "for", "from", "below", "above", "under", "beneath", "about", "has", "have", "do", "does", "are", "domain",
    "range", "is",
))  # fmt: skip


def may_be_several(asked: Asked, names: tuple[str, ...]) -> bool:
    """Whether a question is about one name that is not quoted and has an "and" or an "or" in it."""
    one = len(asked.mentions) == 1 and _counted(asked) in SPLIT
    return one and asked.mentions[0] not in names and _JOINT.search(asked.mentions[0]) is not None


def parted(text: str, asked: Asked) -> Asked | None:
    """Such a question with the parts of its name; None when one of them has a word of the question
    in it."""
    parts = tuple(part.strip() for part in _JOINT.split(asked.mentions[0]))
    if any(part.islower() is False and part.split(" ")[0] in vocabulary()[0] for part in parts):
        return None  # "domain Tug"
    if _SET_APART.search(text) or not all(part and part.lower() not in NO_NAMES for part in parts):
        return asked
    return replace(asked, several=parts[:MAX_PARTS])


def read_joined(
    text: str, names: tuple[str, ...], read: Callable[[str, tuple[str, ...]], Asked | None]
) -> Asked | None:
    """What a question asks for with its joined names taken for one; None when that is no question
    about one name."""
    found = _joined(text)
    if found is None:
        return None
    start, end, parts = found
    around = " ".join(f"{text[:start]} … {text[end:]}".split())
    both = _BOTH.search(around)
    if _SET_APART.search(_BOTH.sub("", around)) or _AT_ONCE.search(around):
        return None
    shown = tuple(_shown(part, names) for part in parts)
    joint = "or" if " or " in text[start:end] else "and"
    whole = (", ".join(shown[:-1]) + f" {joint} {shown[-1]}")[:MAX_NAME_CHARS]
    before = _BOTH.sub("", text[:start]).replace("  ", " ")
    mark = f"{OPEN}{len(names)}{CLOSE}"
    asked = read(f"{before}{mark}{text[end:]}", (*names, whole))
    if (
        asked is None
        or asked.mentions != (whole,)
        or _counted(asked) not in SPLIT
        or (both and asked.kind != "describe")
    ):
        return None
    return replace(asked, several=shown[:MAX_PARTS])


def _counted(asked: Asked) -> str:
    return asked.of if asked.kind == "count" else asked.kind


def _shown(part: str, names: tuple[str, ...]) -> str:
    return names[int(part[1:-1])] if part[0] == OPEN else part


def _joined(text: str) -> tuple[int, int, list[str]] | None:
    """Where joined names stand in a text, and the names; None when there are none, or more than one
    row of them."""
    joints = list(_JOINT.finditer(text))
    runs: list[tuple[int, int, list[str]]] = []
    i = 0
    while i < len(joints):
        start = _name_before(text[: joints[i].start()])
        if start is None:
            i += 1
            continue
        parts, end = [text[start : joints[i].start()]], 0
        while i < len(joints):
            begin = joints[i].end()
            stop = joints[i + 1].start() if i + 1 < len(joints) else len(text)
            size = _name_after(text[begin:stop])
            if not size:
                break
            end = begin + size
            parts.append(text[begin:end])
            i += 1
            if end != stop:
                break
        alike = all(map(_sure, parts)) or any(joint in text[start:end] for joint in _ANDS)
        if len(parts) > 1 and alike:
            runs.append((start, end, parts))
        else:
            i += 1
    return runs[0] if len(runs) == 1 else None


def _name_before(text: str) -> int | None:
    """Where the name begins that a text ends with."""
    words = text.split(" ")
    taken = 0
    for place in range(len(words) - 1, -1, -1):
        if not _is_name(words[place], first=place == 0) or (
            taken and OPEN in (words[place] + words[place + 1])
        ):
            break
        if taken and _sure(words[place]) != _sure(words[place + 1]):
            break
        taken += 1
    if not taken or taken > 5:
        return None
    before = words[len(words) - taken - 1].lower().strip(",:") if taken < len(words) else ""
    small = not _sure(words[-1])
    if (
        small
        and before
        and before not in _INTO
        and vocabulary()[0].get(before, ".") not in _OPEN_END
    ):
        return None
    return len(text) - len(" ".join(words[len(words) - taken :]))


def _name_after(text: str) -> int:
    """How many characters the name has that a text begins with."""
    taken: list[str] = []
    for word in text.split(" "):
        bare = word.rstrip("?!.;:,")
        if (
            not bare
            or not _is_name(bare, first=False)
            or (taken and _sure(bare) != _sure(taken[-1]))
        ):
            break
        if taken and OPEN in bare + taken[-1]:
            break
        taken.append(bare)
        if bare != word:
            break
    return len(" ".join(taken)) if len(taken) <= 5 else 0


def _sure(word: str) -> bool:
    return word[0] == OPEN or not word.islower()


def _is_name(word: str, first: bool) -> bool:
    """Whether a word may be a piece of a name: no word of questions, unless it has a capital within
    the sentence."""
    if not _NAME.fullmatch(word) or word.endswith(("'s", "’s")):
        return False
    if word[0] == OPEN:
        return True
    low = word.lower()
    if not first and word[0].isupper():
        return word != "I"
    known = vocabulary()[0]
    return (
        low not in known
        and low not in SCOPES
        and low not in NO_NAMES
        and any(c.isalpha() for c in word)
    )
