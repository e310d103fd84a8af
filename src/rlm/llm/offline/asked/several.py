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

from rlm.llm.offline.asked.kinds import CLOSE, NO_NAMES, ONLY, OPEN, SCOPES, Asked, Lazy
from rlm.llm.offline.asked.names import looks_named, name_in
from rlm.llm.offline.asked.text import MAX_NAME_CHARS, prepare
from rlm.llm.offline.asked.words import vocabulary

# -- What a question says beside its kind: which kind of property, a type, a list and its number, a
# "not" in a name.


Reader = Callable[[str, tuple[str, ...]], Asked | None]

_ONE_KIND = Lazy(
    r"\b(?:(object)|(data(?:[ -]?type)?)|(annotation))(?:[- ]?propert(?:y|ies)\b|(?: and | or"
    r" |/)\w+ propert)",
    re.I,
    only="propert",
)
_JOINED = Lazy(
    r"\b(?:object|data(?:[ -]?type)?|annotation)(?: propert(?:y|ies))?(?:,? (?:and|or) |/)", re.I
)
_NARROWED = ("search", "exists", "properties_by_domain", "properties_by_range")

_TYPES = (
    Lazy(r"(?:what|which) (?:rdf:)?(?:type|class) (?:is|has) (?P<x>\S.*)", re.I),
    Lazy(r"(?:(?:what|which)(?:['’]s| is) )?the (?:rdf:)?type of (?P<x>\S.*)", re.I),
    Lazy(r"(?:what|which)(?:['’]s| is) (?P<x>\S.*?)(?:['’]s|(?<=s)['’]) (?:rdf:)?types?", re.I),
    Lazy(
        r"(?:of |what |which |of what |of which )*(?:class(?:es)? |types? )?(?:is|are) (?P<x>\S.*?)"
        r" an? (?:direct )?"
        r"(?:instance|member|individual)(?: of)?(?: what)?",
        re.I,
    ),
)
_TIED = Lazy(
    r"^(?:thing|term|entity|of|a|an|its|their)\b|.\b(?:an?|the|of|in|below|above|under|from|for|to|with|by|as|and|or)\b",
    re.I,
)
"""Words that tie a name to another: "What class is Tug a subclass of?" asks for no type."""
_WHICH = Lazy(r"(?:of )?(?:what|which)\b|the (?:rdf:)?type of ", re.I)

_THEM = r"(?:they|those|these|it|them)"
_LIST_AND_COUNT = Lazy(
    r",? (?:and|&) (?:also )?(?:how many(?: of (?:them|those|these))?(?: (?:are there|there"
    r" are|are|is|do|does|have|"
    rf"has|in total|in all|altogether|{_THEM}))*|count them(?: all)?|(?:(?:give|tell|show)(?: me)?"
    r" )?(?:their|the) "
    rf"(?:number|count|total)(?: of {_THEM})?)$",
    re.I,
    only="how_many|count|number|total",
)
_COUNT_AND_LIST = Lazy(
    r",? (?:and|&) (?:also )?(?:(?:which|what|who)(?: ones)?(?: (?:are|is))?(?:"
    rf" {_THEM})?|(?:list|name|show|give)"
    rf"(?: me)? (?:{_THEM}|all of them|them all|their names))$",
    re.I,
    only="which|what|who|list|name|show|give",
)


def narrowed(asked: Asked | None, text: str, names: tuple[str, ...]) -> Asked | None:
    """A question with the kind of property that it is about; None when a "not" was taken for a
    piece of a name."""
    if asked is None or any(_denied(name) for name in asked.mentions if name not in names):
        return None
    kind = asked.of if asked.kind == "count" else asked.kind
    if kind not in _NARROWED or (kind in ("search", "exists") and asked.what != "property"):
        return asked
    for name in asked.mentions:
        text = text.replace(name, " ")
    found = _ONE_KIND.search(text)
    if found is None or _JOINED.search(text):
        return asked
    return replace(asked, only=ONLY[0 if found[1] else 1 if found[2] else 2])


def _denied(name: str) -> bool:
    """ "Tug not": a word of the question and no piece of a name."""
    return name.endswith((" not", " n't")) or name.startswith("not ")


def typed(text: str, names: tuple[str, ...]) -> Asked | None:
    """ "What type is Otter?", "What is Otter an instance of?": the types of a thing."""
    if not re.search(r"\b(?:types?|class|instance|member|individual)\b", text, re.I):
        return None
    ready = prepare(text, names)
    for way in ready.texts if ready else ():
        for form in _TYPES if _WHICH.match(way) else ():
            match = form.fullmatch(way)
            found = name_in(match["x"], names) if match and not _TIED.search(match["x"]) else None
            if (
                found
                and match
                and (
                    looks_named(match["x"]) or (form is not _TYPES[0] and found[0] not in NO_NAMES)
                )
            ):
                return Asked("describe", (found[0],), of="types")
    return None


def listed_and_counted(text: str, names: tuple[str, ...], read: Reader) -> Asked | None:
    """ "Which instances does Tug have, and how many?": the list, whose first line has the number."""
    plain = text.rstrip(" ?!.")
    if cut := _LIST_AND_COUNT.search(plain):
        asked = read(plain[: cut.start()], names)
        return (
            asked
            if asked and asked.kind not in ("count", "describe", "exists", "is_subclass", "path")
            else None
        )
    if cut := _COUNT_AND_LIST.search(plain):
        asked = read(plain[: cut.start()], names)
        return _as_list(asked) if asked and asked.kind == "count" else None
    return None


def _as_list(asked: Asked) -> Asked | None:
    """The question for a number as one for the things that it counts."""
    if asked.of == "triples":
        return None
    what = {"classes": "class", "individuals": "individual"}.get(asked.of, "property")
    if asked.of in ("classes", "individuals", "properties", "object_properties", "datatype_properties",
                    "annotation_properties"):  # fmt: skip
        only = asked.of.replace("_", " ").replace("ies", "y") if "_" in asked.of else ""
        return Asked("search", what=what, only=only)
    return replace(asked, kind=asked.of, of="")


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
