"""Names as a question has them: articles, role words and quotes off, and what is no name refused."""

from __future__ import annotations

import itertools
import re

from rlm.llm.offline.asked.kinds import CLOSE, OPEN, Lazy
from rlm.llm.offline.asked.text import MAX_NAME_CHARS, MAX_NAME_WORDS
from rlm.llm.offline.asked.words import vocabulary

_ARTICLE = Lazy(
    r"^(?:an?|the|any|some|this|that|these|those|such|each|every|all|its|their|of|about|both|one)\s+(?=\S)",
    re.I,
)
_CLASS_ROLES = "class classes subclass superclass concept concepts type types category kind"
_PROPERTY_ROLES = "property properties relation predicate relationship attribute"
_INDIVIDUAL_ROLES = "individual individuals instance instances object"
_OTHER_ROLES = (
    "term terms entity resource node thing element word name string substring text iri uri label"
    " notion idea anything something"
)
_ROLES: dict[str, str] = {
    **dict.fromkeys(_CLASS_ROLES.split(), "class"),
    **dict.fromkeys(_PROPERTY_ROLES.split(), "property"),
    **dict.fromkeys(_INDIVIDUAL_ROLES.split(), "individual"),
    **dict.fromkeys(_OTHER_ROLES.split(), ""),
}
"""What a word beside a name says of the kind of term."""
_WEAK = ("kind", "type", "types", "object", "thing", "element", "name", "text", "label", "category")
_STRONG = "class|classes|property|properties|predicate|term|iri|uri|individual"
_ROLE_WORDS = "|".join(sorted(_ROLES, key=len, reverse=True))
_BEFORE = Lazy(
    r"^(?P<kind>(?:owl |rdfs |rdf |named |object |datatype |data |annotation"
    rf" )?)(?P<role>{_ROLE_WORDS})"
    r"(?P<link> (?:named|called|labell?ed|known as|of type|with (?:the"
    r" )?(?:name|label|iri|uri|id)|of|that is called|"
    r"whose (?:name|label) is|being|with iri))?"
    r"[ :]+(?P<rest>\S.*)$",
    re.I,
)
_AFTER = Lazy(
    r"^(?P<rest>.*\S) (?:(?:owl|rdfs|object|datatype|data|annotation|named)"
    rf" )?(?P<role>{_ROLE_WORDS})$",
    re.I,
)
_REFUSED = Lazy(
    r"\b(?:you|your|yours|yourself|i|me|my|mine|we|us|our|he|she|him|they|them|myself|which|what|who|whom|why|how|"
    r"please|should|could|would|ignore|disregard|forget|instructions?|prompt|today|tomorrow|yesterday|tonight|"
    r"is|are|was|were|does|do|did|has|have|if|whether|because|per|favou?rite|don't|doesn't|isn't|whose|than)\b",
    re.I,
)
_VERB_FIRST = Lazy(
    r"^(?:was|is|has|had|were)\s?(?:[A-Z]|\w+(?:ed|en|by|of|for|with|to|at|in|from)\b)"
)
_VERB = Lazy(r"^(?:is|has|was|had|are|were|does|have) (?=\w+(?: \w+){0,2}$)")
_FOREIGN = Lazy(
    r"^(?:la|le|les|el|los|las|der|die|das|dem|den|ein|eine|il|lo|gli|una|une|un|uno|het|een|os|um|uma|du|des)\s"
)
_TEXT_ROLE = Lazy(
    r"^(?:(?:an?|the) (?=\S))?(?:(?:word|text|string|term|name|letters?|prefix|suffix)s? (?=\S))?",
    re.I,
)
_IN_NAMES = Lazy(
    r" (?:in (?:the |their |its |all |a |any )?(?:names?|labels?|terms|classes)|"
    r"by (?:the |their |its )?(?:name|label))$",
    re.I,
)
_NO_TEXT = Lazy(
    r"^(?:of|for|that|to)"
    r" |\b(?:you|your|me|my|instructions?|prompt|which|how|why|whose)\b|[?!;{}|\\\n]",
    re.I,
)
_NO_PIECE = Lazy(
    r" or | (?:called|named)$| in (?:comments|definitions|descriptions)$"
    r"| as (?:(?:their|its|the|an?) )?(?:range|domain|super-?class|sub-?class|type)(?:es|s)?$"
)
_RELATION = Lazy(
    r"\b(?:(?:sub|super)[-"
    r" ]?class(?:es)?|subtypes?|(?:kind|kinds|sort|sorts|ancestors?|descendants?|parents?|"
    r"children|child|instances?|definition|meaning|"
    r"purpose|number|description|explanation|superclass|lists?|examples?|names?|labels?|overview|difference|"
    r"differences|poem|story|joke|picture|list) (?:of|about|between|in)|in the"
    r" (?:domain|style|form|manner|voice)|"
    r"at any|between|and its|and their|"
    r"and (?:the )?(?:range|domain)|(?:sub|super)-?propert(?:y|ies) of|(?:every|any|some)thing"
    r" (?:about|on)|"
    r"siblings? of|"
    r"(?:starts?|ends?|begins?) (?:with|in))\b",
    re.I,
)
"""Words that belong to a question, not to a name."""
_MIXED = Lazy(
    r"(?:[a-z-]+ )+(?:of|for|from|to|in|on|with|as|by)(?: (?:the|an?|type|class))* (?:\w+:\w|[A-Z])"
    r"|.*\w['’]s"
    r" (?:types?|class|classes|propert|super|sub|parent|child|label|instance|domain|range)"
    r"|[A-Z]\w+ and (?:list|show|give|find|tell|name|its|their|then)\b|.*(?:'s|’s)"
    r" (?:whole|entire|full|all)\b"
    r"|(?:[a-z]+ ){2,}\S*[a-z][A-Z]|(?:[a-z]+ )+[a-z]+[A-Z]\w*(?: [a-z]+)+$"
    r"|(?:\S*[a-z][A-Z]\S*|\w+:\w\S*|[A-Z]\w+)(?: \S+)*? (?:from|to|or|not|as|any|by|with|in|for)"
    r" [a-z]\S*\b"
)
"""A name with words of the question before or behind it: "tree of Vehicle", "Star in any way"."""
_BESIDE = Lazy(
    r"^(?:no|not|none|zero|one|two|three|four|five|several|many|few|multiple|more|most|fewer|less|only|exactly|never|"
    r"nothing|at (?:least|most))\b(?!-)"
    r"|[a-z]{3}[.] \w|^(?:or|and|for|than) |^(?:in|inside|on|with|without) [A-Z]"
    r"|^(?:in|on|of|at|by|with|from|to|inside|within)"
    r" (?:the|this|that|an?|my|our|your|it|here|there|total|all)\b"
    r"|\b(?:except|excluding|without|besides|apart from|other than|but"
    r" not|unless|that|whose|where|while|including|"
    r"excl|levels?|in (?:comments|definitions|descriptions)|on average|average|"
    r"and (?:of|for|from|to|the)|or (?:of|for|from|to|the))\b"
)
"""What sets something apart, or counts it: "two", "Vessel except Tug", "Tug and of Ferry". Names in
capitals may."""
_TIED = frozenset("MvgbaAHfUw0!^'")
"""Letters of words that tie a name to another, and are in no name that has a capital before them.
"""
_WITHIN = frozenset(("of", "the", "for", "de", "la", "von", "van", "and", "or", "s"))
"""Small words between the capitals of one name."""
_EMPTY = """
a an the it this that there them these those up here something anything everything nothing one more all any some else
so other others both each new happening wrong ontology graph matter deal difference differences point answer question
about of for to in and or on by with from
"""
"""Words that are no name when they stand alone."""
_NO_NAMES = frozenset(("", "going on", *_EMPTY.split()))
_OPINION = Lazy(
    r"^(?:most|least|best|worst|nicest|greatest|coolest|better|very|(?:deep|larg|bigg|small|long|short|high|low|new|old|"
    r"lat|few|simpl)est)\b(?:\s\w+)?$|"
    r"(?-i:^(?:deep|larg|bigg|small|long|short|high|low)est [a-z]+ [a-z ]+$)|"
    r"^(?:this |the )?ontology\b|^(?:there|it)\b|.* (?:best|most|worst|least|better)$",
    re.I,
)


def looks_named(word: str) -> bool:
    """A word that looks like a name and not like plain text: quoted, a CURIE, an IRI, capitals,
    digits."""
    return bool(word) and (
        word[0] == OPEN or not word.islower() or any(c in ":_" or c.isdigit() for c in word)
    )


def name_in(piece: str, names: tuple[str, ...], verbal: bool = False) -> tuple[str, str] | None:
    """The name in a piece of a question and the kind of term that its role word says; None when it
    is no name.

    `verbal`: a property is named, and its name may begin with a verb: "has part".
    """
    text, what, said = piece.strip(" ,.:;?!"), "", False
    for _ in range(6):
        before = text
        if match := _ARTICLE.match(text):
            said = said or match[0].strip().lower() in ("the", "this", "that")
            text = text[match.end() :]
        match = _BEFORE.match(text)
        if match is None or not _role_before(match):
            match = _AFTER.match(text)
            match = match if match and _role_after(match, said) else None
        if match:
            what, text = what or _ROLES[match["role"].lower()], match["rest"].strip()
        if text == before:
            break
    return (whole, what) if (whole := _shown(text, names, verbal)) else None


def text_in(piece: str, names: tuple[str, ...]) -> str:
    """The piece of name that a search is for: nearly anything, since it need not be a word."""
    text = _IN_NAMES.sub("", _TEXT_ROLE.sub("", piece.strip(" ,.:;?!")))
    text = re.sub(f"{OPEN}(\\d+){CLOSE}", lambda match: names[int(match[1])], text or piece).strip()
    if len(text) > MAX_NAME_CHARS or len(text.split()) > MAX_NAME_WORDS or _NO_TEXT.search(text):
        return ""
    if piece.count(OPEN) > 1 or _NO_PIECE.search(piece):
        return ""
    if OPEN not in piece and " " in text and of_vocabulary(text):
        return ""
    return (
        text
        if any(c.isalnum() for c in text) and text.lower() not in ("it", "them", "that", "this")
        else ""
    )


def of_vocabulary(text: str) -> bool:
    """Whether words end in a plural noun of questions and so are no name: "deprecated terms", "its
    parents"."""
    last = text.rpartition(" ")[2] if text.islower() else ""
    return last.endswith("s") and vocabulary()[0].get(last, ".") in "crntsSpPLNoq"


def _role_before(match: re.Match[str]) -> bool:
    role, rest, link = match["role"], match["rest"], (match["link"] or "").strip().lower()
    if link and link != "of":
        return True
    if link == "of":
        return role.islower() and role in ("class", "concept", "notion", "idea", "type", "term")
    if not role.islower() and not role.isupper():
        return rest[0] == OPEN
    return bool(re.fullmatch(_STRONG, role, re.I)) or looks_named(rest.split(" ", 1)[0])


def _role_after(match: re.Match[str], said: bool) -> bool:
    role, rest = match["role"], match["rest"]
    if not role.islower():
        return rest[0] == OPEN and " " not in rest
    last = rest.rsplit(" ", 1)[-1]
    if role in _WEAK and not said and last[-1] != CLOSE:
        return False  # "Node kind" may well be the name
    if looks_named(last) or looks_named(rest.split(" ", 1)[0]):
        return True
    return said and role in (
        "class",
        "property",
        "concept",
        "term",
        "individual",
        "relation",
        "predicate",
    )


def _shown(text: str, names: tuple[str, ...], verbal: bool) -> str:
    """The name as it was written, or nothing when this cannot be one."""
    if text[:1] == OPEN and text[-1:] == CLOSE and text.count(OPEN) == 1:
        return names[int(text[1:-1])][:MAX_NAME_CHARS]
    text = re.sub(f"{OPEN}(\\d+){CLOSE}", lambda m: names[int(m[1])], text).strip()
    if (
        len(text) > MAX_NAME_CHARS
        or len(text.split()) > MAX_NAME_WORDS
        or text.lower() in _NO_NAMES
    ):
        return ""
    if not any(c.isalpha() for c in text) or any(c in text for c in "?!;\n{}|\\"):
        return ""
    tested = (
        " ".join(word for word in text.split() if word == "I" or not looks_named(word))
        if " " in text
        else text
    )
    tested = _VERB.sub("", tested) if verbal else tested
    if _REFUSED.search(tested) and not _VERB_FIRST.match(text) and " " in text:
        return ""
    if " " in text and (_RELATION.search(text) or _MIXED.match(text)):
        return ""
    if text.islower() and text.endswith((" classes", " properties", " instances", " individuals")):
        return ""
    if (
        " " in text
        and text[0].isupper()
        and vocabulary()[0].get(text.rsplit(" ", 1)[1]) in ("v", "g")
    ):
        return ""  # "Tug specialises"
    if (
        "," in text
        or ": " in text
        or text.endswith(("'s", "’s"))
        or (" " not in text and of_vocabulary(text))
        or _BESIDE.search(text)
        or _several(text.split(" "))
    ):
        return ""
    if _REFUSED.fullmatch(text) or _FOREIGN.match(text) or _OPINION.match(text):
        return ""
    return text


def _several(pieces: list[str]) -> bool:
    """Whether words are no single name: "Tug and Ferry", "Vessel include Tug as"."""
    if len(pieces) < 3 or not looks_named(pieces[0]):
        return False
    if any(
        one in ("and", "or") and looks_named(other) for one, other in itertools.pairwise(pieces)
    ):
        return True
    small = [i for i, piece in enumerate(pieces) if piece.islower() and piece not in _WITHIN]
    if small and any(looks_named(piece) for piece in pieces[small[0] :]):
        return True  # "Tug owned by Smit"
    letters = vocabulary()[0]
    return any(
        piece in ("a", "an") or (piece.islower() and letters.get(piece, ".") in _TIED)
        for piece in pieces[1:]
    )
