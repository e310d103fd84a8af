"""Short questions that turn on a few words: whether a term exists, which things there are, what a
thing is.
"""

from __future__ import annotations

import re

from rlm.llm.offline.asked.kinds import Asked, Lazy
from rlm.llm.offline.asked.tokens import Word, end_of_name, named, role

# -- How questions begin and end: what asks for a list or a number, and what only says "are there".


_QUANTIFIERS = (
    r"(?:(?:all|every|each|any|some|the|of|direct|immediate|indirect|transitive|known|named|asserted|inferred|"
    r"different|various|possible|available|existing|"
    r"declared|defined|complete|full|set|list|other|only|entire|whole|together|are|is|few|several|main|major|and|"
    r"would|be|family|following|names|an?|overview|"
    r"total) )*"
)
LEAD = Lazy(
    r"^(?:(?:which|what)(?:['’]s|['’]re)?|(?:list|show|give|find|name|enumerate|get|tell|return|print|display|"
    r"provide|identify|fetch|retrieve|report|write|"
    r"output|collect|determine|see|look up|work out|present|extract|select|pick"
    r" out|state|have|display|query|"
    r"search for|look for|compile|mention)(?: down| out| up)?(?: me| us)?(?: with)?"
    rf"|who|whom)\s+{_QUANTIFIERS}(?=\S)",
    re.I,
)
COUNT = Lazy(
    r"^(?:(?:(?:in|of|for|to|on) (?=how many))?(?:in total,? |exactly |roughly |about"
    r" |approximately |"
    r"overall,? )?how many(?: of)?(?: the)?(?: different|"
    r" distinct| named| individual| separate)?|(?:please )?count(?: up)?(?: how many)?(?: of)?|"
    r"(?:(?:what(?:['’]s| is| would be|)|how (?:large|big|high|great) is|give(?: me)?|tell(?:"
    r" me)?|show(?: me)?|find|"
    r"determine|get|return|report|"
    r"state|compute|calculate|work out|say|provide|print) )?(?:the |a )?(?:total |overall |exact |"
    r"current )?(?:number|count|amount|quantity|total)(?: number| count)?(?: of)?)\s+(?=\S)",
    re.I,
)
THERE = Lazy(
    r",? (?:(?:are|is|were)"
    r" (?:there|known|defined|declared|listed|present|given|recorded|included|available|"
    r"contained|modelled|found|described|registered|mentioned|stored|in (?:it|total|all))(?: in"
    r" total| altogether|"
    r" overall| at all| in all| in it)?|"
    r"there (?:are|is)|exist(?:s)?|in total|altogether|overall|do (?:we|you) (?:have|know)(?:"
    r" of)?|can (?:you|"
    r"i) find|(?:does|do|did) (?:it|they|this|(?:the|this|that) (?:\S+"
    r" ){0,2}(?:ontology|vocabulary|graph|schema|"
    r"model|dataset|data|file|taxonomy|thesaurus|hierarchy|terminology|standard|tree)|(?-i:[A-Z][A-Z-]+)) "
    r"(?:have|contain|define|declare|include|know|list|describe|cover|use|provide|comprise|hold|make|consist of|"
    r"mention|offer|feature|distinguish|recognise|recognize|model|record)|(?:the|this)"
    r" (?:ontology|vocabulary|graph|"
    r"schema|model|dataset|file) (?:has|contains|defines|declares|includes|knows|lists|uses)|we"
    r" have|you know|"
    r"you have|it has|it contains|it defines)$",
    re.I,
)
TOTALS: tuple[tuple[str, str, str], ...] = (
    (
        (
            r"(?:owl |rdfs |named |declared |defined |ontology"
            r" )*(?:class(?:es)?|concepts|types|categories)"
        ),
        "classes",
        "class",
    ),
    (r"(?:owl )?object[- ]?propert(?:y|ies)", "object_properties", "property"),
    (r"(?:owl )?(?:data ?type|data)[- ]?propert(?:y|ies)", "datatype_properties", "property"),
    (r"(?:owl )?annotation[- ]?propert(?:y|ies)", "annotation_properties", "property"),
    (
        r"(?:rdf |named |declared |defined |ontology"
        r" )*(?:propert(?:y|ies)|predicates|relations|attributes|"
        r"relationships)",
        "properties",
        "property",
    ),
    (r"(?:owl |named |declared )*(?:individuals|instances)", "individuals", "individual"),
    (r"(?:rdf )?(?:triples?|statements|facts|axioms)", "triples", ""),
    (r"(?:bound |declared |used )*(?:name ?spaces|prefixes|vocabularies)", "namespaces", ""),
)
PLURAL = Lazy(
    r"(?<![siu])s$|(?:people|children|men|women|data|feet|mice|geese|media|criteria|phenomena|bacteria|fungi|nuclei|"
    r"genera|species|series|sheep|fish|aircraft|indices|oxen|teeth|personnel|staff)$",
    re.I,
)
"""The words for all terms of a kind, what they are called when counted, and the kind."""


_THERE = frozenset(
    ("is there", "are there", "there is", "there are", "do we have", "do you have", "does it have")
)
_HAVE = frozenset(
    (
        "have",
        "has",
        "got",
        "contain",
        "contains",
        "define",
        "defines",
        "include",
        "know",
        "declare",
        "list",
        "mention",
    )
)
_SKIPPED = frozenset(
    ("a", "an", "any", "the", "also", "such", "some", "really", "actually", "only")
)
_CALLED = frozenset(("called", "named", "with the name", "for"))
_NOUNS = {
    "c": "class",
    "r": "property",
    "j": "property",
    "J": "property",
    "K": "property",
    "n": "individual",
    "t": "",
}
_DEFINED = frozenset(
    (
        "defined",
        "declared",
        "present",
        "known",
        "available",
        "included",
        "listed",
        "mentioned",
        "modelled",
        "modeled",
    )
)
_LISTED = _THERE | frozenset(
    ("exist", "exists", "do we know", "are listed", "does it contain", "does it know")
)


def short(words: list[Word], names: tuple[str, ...], scoped: bool) -> Asked | None:
    """What a short question asks for, its words without those for the ontology; None when it is
    none of these."""
    start = next((i for i, word in enumerate(words) if word.letter != "_"), len(words))
    words = words[start:]
    if len(words) < 2:
        return None
    return _exists(words, names, scoped) or _plural(words, names, scoped) or _what_is_a(words)


def _exists(words: list[Word], names: tuple[str, ...], scoped: bool) -> Asked | None:
    first, i = words[0], 1
    if first.text.endswith(("whether", "if")) and first.letter == "Y":
        first = words[1]
        i = 2 if first.text in _THERE else 1
    have = scoped and first.text in ("does", "do", "has", "did") and words[1].text in _HAVE
    if first.text in _THERE or have or (first.text == "any" and words[1].letter in _NOUNS):
        found = _thing(words, 2 if have else i, names)
        return (
            Asked("exists", (found[0],), what=found[1])
            if found and found[2] == len(words) and found[3]
            else None
        )
    if first.letter == "X" or words[0].letter == "Y":
        found = _thing(words, 0 if first.letter == "X" and words[0] is first else i, names)
        if found and words[0].letter == "Y":
            return _said_of(words, found[0], found[1], found[2])
    return None


def _said_of(words: list[Word], name: str, what: str, i: int) -> Asked | None:
    """ "Does X exist", "Is X defined", "Is X a class"."""
    rest = [word for word in words[i:] if word.text not in _SKIPPED]
    if len(rest) != 1:
        return None
    if rest[0].text in ("exist", "exists") or (
        words[0].text in ("is", "are") and rest[0].text in _DEFINED
    ):
        return Asked("exists", (name,), what=what)
    article = words[i].text in ("a", "an")
    if words[0].text in ("is", "are") and article and rest[0].letter in _NOUNS:
        return Asked("exists", (name,), what=_NOUNS[rest[0].letter])
    return None


def _thing(words: list[Word], i: int, names: tuple[str, ...]) -> tuple[str, str, int, bool] | None:
    """A name, the kind of term that is said with it, where it ends, and whether it was brought in
    as one."""
    start = i
    while i < len(words) and words[i].text in _SKIPPED:
        i += 1
    article = i > start
    noun, called = None, False
    if i < len(words) and words[i].letter in _NOUNS:
        noun = _NOUNS[words[i].letter]
        i += 1
        called = i < len(words) and words[i].text in _CALLED
        i += called
        while called and i < len(words) and words[i].text in ("a", "an", "the"):
            i += 1
    if i >= len(words) or words[i].letter != "X":
        return None
    sure = words[i].sure
    end = end_of_name(words, i)
    name = named(words, i, end, names, False)
    if not name or (noun is not None and not called and not sure):
        return None
    after = role(words, end, after=True) if noun is None else None
    return name, noun or after or "", end + (after is not None), noun is not None or article or sure


def _plural(words: list[Word], names: tuple[str, ...], scoped: bool) -> Asked | None:
    """ "Which vessels are there?": the instances of what is named in the plural."""
    if words[0].text not in ("which", "what") or words[1].letter != "X" or words[1].sure:
        return None
    end = end_of_name(words, 1)
    rest = words[end:]
    ends = len(rest) == 1 and rest[0].text in _LISTED
    if scoped and len(rest) == 2 and rest[0].text in ("does", "do") and rest[1].text in _HAVE:
        ends = True
    name = " ".join(word.text for word in words[1:end])
    if not ends or any(word.sure for word in words[1:end]) or end > 4 or not PLURAL.search(name):
        return None
    return Asked("instances", (name,))


def _what_is_a(words: list[Word]) -> Asked | None:
    """ "What is a small object?": all that follows the article is the name, though some of its words
    are known."""
    rest = words[2:]
    if (
        words[0].text not in ("what is", "what's")
        or words[1].text not in ("a", "an")
        or not 2 <= len(rest) <= 4
    ):
        return None
    if (
        rest[0].letter != "X"
        or rest[0].sure
        or rest[-1].letter not in "nkspdeOBLt"
        or any(w.stop for w in rest[:-1])
    ):
        return None
    if any(word.letter not in "XcrnktspdeOBLz" for word in rest) or rest[-1].text in (
        "term",
        "individual",
    ):
        return None
    return Asked("describe", (" ".join(word.text for word in rest),))
