"""What a question says beside its kind: which kind of property, a type, a list and its number, a
"not" in a name."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from rlm.llm.offline.asked.kinds import ONLY, Asked
from rlm.llm.offline.asked.lazy import Lazy
from rlm.llm.offline.asked.names import looks_named, name_in
from rlm.llm.offline.asked.sets import NO_NAMES
from rlm.llm.offline.asked.text import prepare

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
