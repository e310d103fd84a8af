"""What an answer says in plain words: that there is none, that there is no such thing, yes or no, a
number.

English only, by pattern, and strict: what can be read in two ways is not read at all.

Of several numbers in an answer the first counts, and the one that a calculation comes to: "8 and 3,
so 5". Not counted: digits in IRIs, `prefix:name` and
quoted names, the marks of a list, dates, percentages, "of the 50 …", asides in brackets, and what
the question itself says. "3 or 4", "about 3" and "at least 3" are no number.
"""

from __future__ import annotations

import re
from decimal import Decimal

NUMBER_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen", "twenty",
)  # fmt: skip
READ_CHARS = 20_000
"""What is read of an answer for its words."""

_QUOTED = re.compile(
    r"`[^`\n]*`|\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|«[^»\n]{1,200}»|(?<!\w)'[^'\n]{1,200}'(?!\w)"
)
_LINKED = re.compile(
    r"<[^\s<>]+>|(?<![\w+.-])[A-Za-z][\w+.-]{0,31}://\S+|(?<![\w:])[^\W\d][\w.-]{0,63}:(?!\d+\b)[\w%][\w.%-]*"
)
_MARKED = re.compile(r"[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}")
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z\"'(`*])|\n+")

# -- there is none

_GAP = r"(?:[\w'-]+\s+){0,3}"
_FILLER = r"(?:doubt|problem|need|reason|wonder|matter|longer|less|fewer|more|one)\b"
_ABSENT = re.compile(
    r"\bno such\b|\b(?:does|do|did)(?: not|n't) (?:seem to |appear to )?(?:actually"
    r" )?(?:exist|occur|appear)\b"
    r"|\b(?:not|never) (?:be )?(?:found|defined|declared|present|included|known|mentioned|part"
    r" of|there\b(?! are))"
    r"|\b(?:isn't|aren't|wasn't|weren't)"
    r" (?:found|defined|declared|present|included|known|mentioned|part of|in)\b"
    r"|\b(?:is|are|was|were) not (?:in|a (?:term|class|property|name|concept)|any)\b"
    r"|\b(?:(?:could|can|did|do|does)(?:not| not|n't)|can't) (?:be )?"
    r"(?:f(?:ind|ound)|see|contain|have|define|include|know)\b"
    rf"|\b(?:there(?:'s| is| are| was| were)|i"
    rf" (?:found|see|know)|found|(?:has|have|contains?|defines?|knows?)) no "
    rf"(?!{_FILLER})(?!(?:(?:direct|indirect|asserted|named|declared|known|other|further)\s+)*(?:sub|super)"
    r"(?:-?\s?class|propert)|instances?\b|labels?\b|comments?\b|definitions?\b|descriptions?\b|paths?\b|domains?\b|"
    r"ranges?\b|restrictions?\b|parents?\b|children\b|alternative)"
    r"|^\W*no"
    rf" {_GAP}(?:class(?:es)?|terms?|concepts?|propert(?:y|ies)|entit(?:y|ies)|individuals?"
    r"|match(?:es)?|results?|things?)\b"
    r"|\b(?:nothing|none) (?:is |was |of |in |here |there |could |that |like |by |with |called"
    r" |named |match|found)"
    r"|\bunknown (?:class|term|propert|entit|name|individual)|\babsent\b"
    r"|^\W*(?:not found|none|nothing|nonexistent|non-existent)\b",
    re.IGNORECASE,
)
_NONE = re.compile(
    rf"\bnone\b|\bnothing\b|\bno (?!{_FILLER})[\w'-]+|(?:\bnot|n't) (?:\w+ ){{0,2}}any\b|n't have\b"
    r"|\bzero\b"
    r"|(?<![\w.,-])0(?![\w.,:-]\w|\w)|\bempty\b|\bwithout any\b|\bneither\b|\bnot"
    r" connected\b|\bleaf\b|^\W*no\b",
    re.IGNORECASE,
)


def plain_words(text: str) -> str:
    """An answer without IRIs, `prefix:name`, quoted names and the marks of Markdown."""
    return _MARKED.sub(
        "", _LINKED.sub("·", _QUOTED.sub(_unquote, text[:READ_CHARS].replace("’", "'")))
    )


def _unquote(match: re.Match[str]) -> str:
    """A number in quotes or backticks is a number; anything else is a name."""
    inner = match[0][1:-1]
    return inner if re.fullmatch(r"\s*\d[\d,. ]*", inner) else "·"


def sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE.split(text) if part and part.strip()]


def says_absent(answer: str) -> bool:
    """Whether an answer says that the thing asked for is not there at all."""
    return any(_ABSENT.search(part) for part in sentences(plain_words(answer))[:4])


def says_none(answer: str) -> bool:
    """Whether an answer says that there are none; also when it says that there is no such thing."""
    said = sentences(plain_words(answer))[:2]
    return any(_NONE.search(part) for part in said) or says_absent(answer)


_ALL = re.compile(r"\W*(?:all|both|each|every|yes)\b", re.IGNORECASE)


def begins_with_none(answer: str) -> bool:
    """Whether the first sentence of an answer says that there are none."""
    first = next(iter(sentences(plain_words(answer))), "")
    return bool(_NONE.search(first)) and not _ALL.match(first)


# -- yes or no

_YES = (
    r"yes|yep|yeah|true|correct|indeed|right|affirmative|it is|it does|it has|they are|they"
    r" do|there is|there are"
)
_NO = (
    r"no|nope|false|incorrect|wrong|negative|it is not|it isn't|it does not|it doesn't|they are"
    r" not|they aren't"
)
_LEADS = re.compile(rf"\W*(?:(?:the )?answer(?: is)?\W+)?(?:({_NO})|({_YES}))\b", re.IGNORECASE)
_BOTH = re.compile(
    r"\b(?:yes\W+(?:and|or|/)?\W*no|no\W+(?:and|or|/)?\W*yes|true or false|yes/no)\b", re.IGNORECASE
)
_UNSURE = re.compile(
    r"\b(?:unclear|unsure|uncertain|unknown|undetermined|perhaps|maybe|possibly|might|not"
    r" (?:sure|clear|certain|known)|"
    r"can(?:not|'t| not) (?:be )?(?:tell|say|know|determined?|answer|verif|confirm)|depends|don't"
    r" know|do not know)",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:not|never|cannot|neither|nor|none)\b|n't\b|\bno (?!doubt\b)\w|^\W*no\b", re.IGNORECASE
)
_STATED = re.compile(r"\b(?:is|are|was|were|does|do|has|have|exists?|can|will)\b", re.IGNORECASE)
_TURN = re.compile(
    r"(?:actually|correction|sorry|wait|however|but)?\W*\b(?:(no|false)|(yes|true))\b\s*(?:[,.;:!—–]|$)",
    re.IGNORECASE,
)


def truth_of(answer: str) -> bool | None:
    """Yes or no; None when the answer is neither, or both."""
    said = sentences(plain_words(answer))
    if not said:
        return None
    first = said[0]
    if _BOTH.search(first) or _UNSURE.search(first):
        return None
    lead = _LEADS.match(first)
    found: bool | None
    if lead is None:
        found = _read_statement(first)
    elif lead[1]:
        found = False
    else:
        rest = first[lead.end() :]
        bare = re.fullmatch(
            r"(?:yes|yep|yeah|true|correct|indeed|right|affirmative)", lead[2], re.IGNORECASE
        )
        found = (
            True
            if bare
            else not _NEGATED.match(rest.lstrip()) and not re.match(r"\s*(?:no|not)\b", rest)
        )
    for later in said[1:]:
        turn = _TURN.match(later)
        if turn and found is not None and (turn[1] is not None) == found:
            return None  # it says the one and then the other
    return found


def _read_statement(sentence: str) -> bool | None:
    """The truth of a plain statement, as in "A is not a kind of B"."""
    if _NEGATED.search(sentence):
        return False
    return True if _STATED.search(sentence) else None


# -- a number

_SEPARATOR = "[,_'’\u00a0\u2009\u202f]"
_WORDS = "|".join(NUMBER_WORDS)
_DIGITS = rf"\d{{1,3}}(?:{_SEPARATOR}\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?"
_NUMBER = re.compile(
    rf"(?<![\w./#-])(?<!\d[,:])(?:({_DIGITS})(?![\w%]|[-–/:]\d|[.,]\d|\s?%|-\w)|({_WORDS})\b(?!-)|(none|nothing|no)\b)",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"(?:about|around|approximately|approx\.?|roughly|nearly|almost|at least|at most|more than|less"
    r" than|fewer than|"
    r"over|under|up to|some|between|circa|ca\.|maybe|perhaps|≥|≤|>|<|~|\+)\s*$",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    rf"\s*(?:or|to|–|—|-|/)\s*(?:\d|(?:{_WORDS})\b)|\s*\+|\s+or (?:more|so|fewer)\b", re.IGNORECASE
)
_PART_OF = re.compile(
    r"\b(?:(?:out )?of|among|from) (?:the |all |these |those |its )?(?:other )?$", re.IGNORECASE
)
_ITEM = re.compile(r"^[ \t]*\(?\d{1,4}[.):][ \t]+(?=\S)", re.MULTILINE)
_ASIDE = re.compile(r"\([^()\n]*\)|\[[^\[\]\n]*\]")
_NO_NUMBER = re.compile(r"\s*(?:[,.;:!]|$|one\b|doubt|less|fewer|more)", re.IGNORECASE)


def number_in(answer: str, question: str = "") -> Decimal | None:
    """The number that an answer gives; None when there is none, or when it is hedged."""
    text = plain_words(_without_items(answer))
    for shown in (_ASIDE.sub(" ", text), text):
        found = _numbers(shown)
        asked = {value for value, _ in _numbers(plain_words(question))} if question else set()
        own = [one for one in found if one[0] not in asked] or found
        if own:
            return None if own[0][1] else own[0][0]
    return None


def all_numbers(answer: str) -> list[Decimal]:
    """Every number that stands in an answer, numbers of list items aside."""
    return [value for value, _ in _numbers(plain_words(_without_items(answer)))]


def _numbers(text: str) -> list[tuple[Decimal, bool]]:
    """The numbers and whether each is hedged; `one` and `no` only where nothing plainer is."""
    plain: list[tuple[Decimal, bool]] = []
    weak: list[tuple[Decimal, bool]] = []
    parts: list[tuple[Decimal, bool]] = []
    for match in _NUMBER.finditer(text):
        before = text[max(0, match.start() - 40) : match.start()]
        hedged = bool(_HEDGE.search(before) or _CHOICE.match(text, match.end()))
        value = _value(match)
        if match[3]:
            bare = match[3].lower() == "no"
            if bare and _NO_NUMBER.match(text, match.end()) and text.strip(" .!*·").lower() != "no":
                continue
        kind = (
            parts
            if _PART_OF.search(before)
            else weak
            if match[2] and match[2].lower() == "one"
            else plain
        )
        kind.append((value, hedged))
    return plain or weak or parts


def _value(match: re.Match[str]) -> Decimal:
    if match[1]:
        return Decimal(re.sub(_SEPARATOR, "", match[1]))
    return Decimal(NUMBER_WORDS.index(match[2].lower()) if match[2] else 0)


def _without_items(text: str) -> str:
    """The text without the numbers of its list items."""
    marks = list(_ITEM.finditer(text))
    if len(marks) > 1 or (marks and text[: marks[0].start()].strip()):
        return _ITEM.sub("", text)
    return text
