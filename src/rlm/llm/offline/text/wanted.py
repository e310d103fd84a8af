"""What a passage must have to answer a question of its kind: a version, a cause, a time, a
definition.

A passage that shares the words of a question and lacks this is shown as near, and is no answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rlm.llm.offline.text.words import TEXT, WHEN

Term = Sequence[str]

_VERSION_ASKED = re.compile(
    r"\b(?:which|what)(?: is| are)?(?: the)?(?:"
    r" (?!in\b|changed|new|latest|newest|last|current)[\w.+#-]+){0,3}?"
    r" versions?\b",
    re.I,
)
_ABOUT_VERSIONS = re.compile(
    r"(?:versions?|numbers?|need(?:s|ed)?|require[sd]?|support(?:s|ed)?|minimum|minimal|least|lowest|oldest|run|runs|works?|"
    r"uses?|used|install|installed|expected|recommended|have|necessary)",
    re.I,
)
_NUMBER = r"v?(\d+(?:\.\d+){0,3}\+?(?:,? or (?:newer|later|above|higher|up|more))?)(?![\w%])"
_WHY = (
    r"(?i)\b(?:because|since|so that|so as|in order to|therefore|thus|hence|due to|thanks"
    r" to|otherwise|reasons?|"
    r"else|to keep|to avoid|lest|as a result|which is why|that is why)\b"
)
_TIMES = (
    r"(?i)\b(?:when|whenever|while|if|after|before|once|until|as soon"
    r" as|during|every|never|always|daily|weekly|"
    r"monthly|yearly|today|yesterday|tomorrow|century|night|morning|noon|evening|midnight|\w+day|ago|later|then)\b"
)
_PERSON = (
    r"\b(?i:he|she|they|we|you|I|who|people|persons?|man|men|woman|women|users?|authors?|owners?|readers?|reviewers?|"
    r"someone|somebody|anyone|anybody|nobody|everyone|everybody|by (?:the |an? )?\w+)\b|"
    r"(?<=[a-z0-9,;:'’”] )[A-Z][a-z’']+"
)
_ORDER = re.compile(
    r"\b(?:first|last|latest|newest|oldest|earliest|longest|shortest|largest|biggest|smallest|highest|lowest|best|worst|"
    r"fastest|slowest|fewest|most|least|final|next|previous|only|except)\b",
    re.I,
)
_NOT = re.compile(r"(?:\bnot|n[’']t|\bnever|\bwithout)\b", re.I)
_NO = r"(?i)\b(?:not?|never|none|nothing|nobody|nowhere|neither|nor|without|cannot|un\w+|refuses?|misses)\b|n[’']t\b"
_IDENTIFIER = re.compile(r".*\d|.+[_./@]|.*[a-z][A-Z]|[A-Z]{2,}")


def version_asked(asked: str, terms: list[list[str]]) -> tuple[list[list[str]], str]:
    """The thing whose version is asked for, and the form in which a text gives it; ([], '') for
    other questions."""
    others = [term for term in terms if not _ABOUT_VERSIONS.fullmatch(term[0])]
    if not _VERSION_ASKED.search(asked) or len(others) > 1:
        return [], ""
    names = "|".join(re.escape(stem) for _, stem, _ in others) or "versions?"
    return others, rf"(?i)\b(?:{names})\w{{0,2}}[^\w.!?]{{1,4}}(?:versions? |is |: )?{_NUMBER}"


def measure_asked(asked: str, terms: list[list[str]]) -> tuple[list[list[str]], bool]:
    """The terms without the word of “how large”, “how long”, which an answer seldom repeats;
    whether it is such."""
    found = re.match(
        r"how (old|long|far|tall|big|high|large|fast|heavy|wide|deep|small|slow|hot|cold)\b",
        asked,
        re.I,
    )
    if found is None:
        return terms, False
    others = [term for term in terms if term[0].lower() != found[1].lower()]
    return others if len(others) != 1 else terms, True


def topic_of(asked: str) -> str:
    """What a question wants to read about, where it asks for what is said about something; else all
    of it."""
    about = re.match(
        rf"what (?:does|do|did) {TEXT} (?:say|tell|mention|state|write|report|explain)(?: us| me)?"
        r" (?:about|on|of) (.+)|"
        r"what (?:is|was) (?:known|said|written|told|reported) (?:about|of|on) (.+)|"
        r"what do (?:we|you) (?:know|learn|read) (?:about|of) (.+)",
        asked,
        re.I,
    )
    return next((group for group in about.groups() if group), asked) if about else asked


def needed(asked: str, terms: list[list[str]], extra: str) -> dict[str, str]:
    """For the plan: what the passage must have (`must`), and what is missing without it (`what`)."""
    if re.match(r"(?:so |and |but )?why\b|what is the reason\b|.*\bfor what reason\b", asked, re.I):
        return {"must": _WHY, "what": "why"}
    if re.match(r"(?:since |until )?when\b", asked, re.I):
        return {"must": f"(?:{WHEN})|{_TIMES}".replace("(?i)", ""), "what": "when"}
    names = "|".join(
        re.escape(stem) + (r"\w{0,4}" if mode == "stem" else "") for _, stem, mode in terms[:6]
    )
    if re.match(r"whom?\b(?! (?:is|are|was|were)\b)", asked, re.I):
        return {"must": rf"{_PERSON}|^\W*(?:[A-Z][\w.’'-]+ )+(?i:{names})", "what": "who"}
    plain = re.match(r"(?:what|who) (?:is|are|was|were) (?!there\b)(.+?)\W*$", asked, re.I)
    if (
        plain
        and extra.startswith("(?i)")
        and not re.search(r"\w\w(?:ed|ing)\b|\b(?:for|made|done|like)$", plain[1])
    ):
        more = (
            r"[\"'`*”)\]]{0,3}(?:\s+(?:of|for|in|at|on|from|to|that|which|called|\()[^.!?]{0,40}?)?"
        )
        clause = "".join(
            rf"(?<!\b{word} the )" for word in ("while", "when", "if", "that", "because", "where")
        )
        verb = r"\s(?:is|are|was|were|means?|refers? to)\s(?!\w+ed\b|not\b|found\b|away\b)"
        told = rf"(?i)\b{clause}(?:{names}){more}(?:{verb}|[ \t]*[=:]\s?)"
        row = rf"^\s*(?:\||#|\S{{0,6}}(?:{names})\S*(?:\s{{2,}}\S|\s+\())"
        apposed = rf"\b(?:{names})(?:,| [–—-]) (?:the|an?|one)\b"
        return {
            "must": f"{told}|{row}|{apposed}",
            "what": "what it is" if asked[:4].lower() == "what" else "who",
        }
    return {}


def qualified(asked: str) -> dict[str, str]:
    """For the plan: “the last”, “the longest” or “not” changes what is asked for, so the passage
    must say it too."""
    order = "|".join(dict.fromkeys(match.group().lower() for match in _ORDER.finditer(asked)))
    found = ([rf"(?i)\b(?:{order})\b"] if order else []) + ([_NO] if _NOT.search(asked) else [])
    return {"says": "\n".join(found)} if found else {}


def named_in(asked: str, terms: list[list[str]]) -> dict[str, str]:
    """For the plan: identifiers that the passage must have, and names that the text must have."""
    first = (re.findall(r"\w+", asked) or [""])[0]
    labels = [label for label, _, mode in terms if mode != "longest"]
    shouted = asked.isupper() or asked.istitle()
    exact = [label for label in labels if _IDENTIFIER.match(label)] if not shouted else []
    proper = [label for label in labels if label[:1].isupper() and label != first and not shouted]
    return {"exact": "\n".join(exact), "proper": "\n".join(proper)}


def fits(about: Mapping[str, str], item: Mapping[str, Any], quote: str) -> bool:
    """Whether a passage has what the question needs."""
    if [
        label
        for label in about.get("exact", "").split("\n")
        if label and label not in item["terms"]
    ]:
        return False
    patterns = [about.get("must", ""), *about.get("says", "").split("\n")]
    return all(re.search(pattern, quote) for pattern in patterns if pattern)
