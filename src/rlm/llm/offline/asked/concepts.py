"""Questions in the words of a thesaurus: concepts, top concepts, what is narrower, broader or
related.

Where the graph has concepts of SKOS, these are meant; elsewhere a concept is a class. Which of the
two holds only the graph can say, so a question comes to both: what `understand` makes of it, and
what is made of that here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rlm.llm.offline.asked.kinds import Asked
from rlm.llm.offline.asked.lazy import Lazy

_WORDS = Lazy(r"\b(?:sub-?|super-?)?concepts?\b|\bnarrower\b|\bbroader\b", re.I)
_OTHERS = Lazy(r"class|\bowl\b|\brdfs\b|propert|instance", re.I)
_RELATED = Lazy(r"\brelated (?:to|with)\b", re.I)
_RELATED_OF = Lazy(r"(?:skos:)?related (?:concepts?|terms?) (?:of|to|for) (.+)", re.I)
_NOTHING_ABOVE = Lazy(r"\b(?:no|not|without|nothing|none|never|lack\w*)\b|n['’]t\b", re.I)
_STEPS = {"subclasses": "narrower", "all_subclasses": "narrower", "superclasses": "broader",
          "all_superclasses": "broader"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Concepts:
    """What is asked of a thesaurus."""

    kind: str
    """all, top, unbroadened (nothing is broader), narrower, broader, related, is_narrower, exists
    or search."""
    names: tuple[str, ...] = ()
    deep: bool = False
    counts: bool = False
    text: str = ""
    where: str = "contains"


def concepts_asked(question: str, asked: Asked) -> Concepts | None:
    """What a question asks for where concepts are those of a thesaurus; None when it has no word of
    that kind."""
    counts, kind = asked.kind == "count", asked.of if asked.kind == "count" else asked.kind
    rest = question
    for name in filter(None, (*asked.mentions, *asked.several, asked.text)):
        rest = rest.replace(name, " ")
    if (
        kind == "describe"
        and asked.mentions
        and (match := _RELATED_OF.fullmatch(asked.mentions[0]))
    ):
        return Concepts("related", (match[1],))
    if kind == "search" and asked.text and _RELATED.search(rest) and not _OTHERS.search(rest):
        return Concepts("related", (asked.text,), counts=counts)
    if not _WORDS.search(rest) or _OTHERS.search(rest):
        return None
    if kind == "classes" or (kind == "search" and asked.what == "class"):
        text = "" if kind == "classes" else asked.text
        return Concepts("search" if text else "all", counts=counts, text=text, where=asked.where)
    if kind == "roots":
        return Concepts("unbroadened" if _NOTHING_ABOVE.search(rest) else "top", counts=counts)
    if kind in _STEPS:
        return Concepts(_STEPS[kind], asked.mentions, kind.startswith("all_"), counts)
    if kind == "is_subclass":
        return Concepts("is_narrower", asked.mentions, asked.of != "direct")
    return Concepts("exists", asked.mentions) if kind == "exists" else None
