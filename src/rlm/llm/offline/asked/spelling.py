"""Slips of the pen in the words that carry a question, put right: a letter missing, two letters
swapped, one doubled.

Only words in small letters, or the first one, and only a few long words: a name is never touched.
"""

from __future__ import annotations

from functools import cache

from rlm.llm.offline.asked.words import vocabulary

_SHORT = {
    **dict.fromkeys(
        ["wich", "whcih", "whih", "whch", "wihch", "whitch", "wchich", "hwich", "whic"], "which"
    ),
    **dict.fromkeys(["waht", "wht", "hwat", "whta"], "what"),
    **dict.fromkeys(["teh", "hte"], "the"),
    **dict.fromkeys(["thier", "theyr"], "their"),
    **dict.fromkeys(["lsit", "lisst"], "list"),
    **dict.fromkeys(["shwo", "hsow"], "show"),
    **dict.fromkeys(["amny", "mnay"], "many"),
    "hwo": "how",
    **dict.fromkeys(["deos", "doess"], "does"),
    **dict.fromkeys(["haev", "hvae"], "have"),
    **dict.fromkeys(["wiht", "wtih"], "with"),
    "fidn": "find",
    **dict.fromkeys(["pls", "plz"], "please"),
    "whats": "what's",
    "subclas": "subclass",
    "superclas": "superclass",
    "doamin": "domain",
    "rnage": "range",
    "ragne": "range",
}
_KEYWORDS = frozenset(
    ("PREFIX", "PREFIXES", "SELECT", "ASK", "COUNT", "DISTINCT", "WHERE", "DESCRIBE")
)
"""Words of SPARQL that are written in capitals, and are no names."""
_LONG = """
classes subclass subclasses superclass superclasses property properties instance instances individual individuals
namespace namespaces prefixes domain ancestors descendants children parents connected related hierarchy describe number
between relationship ontology directly transitively containing contains definition
"""


@cache
def _slips() -> dict[str, str]:
    """Each slip of a long word, and the word. The first letter stands."""
    words = _LONG.split()
    slips: dict[str, str] = {}
    for word in words:
        for i in range(1, len(word)):
            for slip in (word[:i] + word[i + 1 :], word[:i] + word[i] + word[i:]):
                slips[slip] = word
            if i + 1 < len(word):
                slips[word[:i] + word[i + 1] + word[i] + word[i + 2 :]] = word
    known, _ = vocabulary()
    return {slip: word for slip, word in slips.items() if slip not in known and slip not in words}


def respelled(text: str) -> str:
    """The text with slips in its key words put right."""
    pieces = text.split(" ")
    for i, piece in enumerate(pieces):
        word = piece.rstrip("?.,:!")
        low = word.lower() if i == 0 else word
        if word in _KEYWORDS:
            pieces[i] = piece.lower()
        if not low.isalpha() or not low.islower():
            continue
        right = _SHORT.get(low) or (_slips().get(low) if len(low) > 5 else None)
        if right:
            pieces[i] = (right.capitalize() if word[0].isupper() else right) + piece[len(word) :]
    return " ".join(pieces)
