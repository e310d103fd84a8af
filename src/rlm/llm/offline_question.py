"""From a question to a plan: which program to write, with which arguments, and what its result will mean.

Rules only, no understanding. What stands in quotes in a question is what is looked for, in any language; the rest
of the rules are for English, with a few words of others. A question that fits no rule is answered with the passages
that share most words with it, and one without any word of use is answered by saying so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from rlm.llm.offline_reading import fold
from rlm.llm.offline_terms import form_wanted, is_unspaced, terms_of, unit_of
from rlm.llm.offline_words import FORMS, MARKS, STOP_WORDS

NEEDLE_CHARS = 500
KEEP = 12


@dataclass(frozen=True, slots=True)
class Plan:
    """`kind` is written into the reply; `program` and `args` make its code; `about` is for the answer's words."""

    kind: str
    program: str = ""
    args: dict[str, Any] = field(default_factory=dict)
    about: dict[str, str] = field(default_factory=dict)


_QUOTED = re.compile(
    r"“([^”]+)”|„([^“”]+)[“”]|«\s*([^»]+?)\s*»|「([^」]+)」|\"([^\"]+)\"|`([^`]+)`|‘([^’]+)’|(?<!\w)'([^']+(?:'\w[^']*)*)'(?!\w)"
)
_COUNT = re.compile(
    r"\b(how many|how often|count|number of|frequency of|wie oft|wie viele|combien|cu[aá]nt[ao]s|quant[ei])\b", re.I
)
_TEXT = (
    r"(?:(?:the|this|that|these|those|all|my|our) )?(?:(?:whole|entire|given|attached|following) )?"
    r"(?:texts?|documents?|files?|books?|articles?|context|passage|story|novel|reports?|pages?|logs?|transcript|corpus|"
    r"input|data|manuscript|it|here|there|everything)"
)
_TAIL = re.compile(
    rf"\s+(?:(?:in|of|from|within|throughout|inside|across|anywhere in) {_TEXT}|here|at all|please)$", re.I
)
_LEAD = re.compile(
    r"^(?:(?:all|any|every|each|the|an?|some|of|me|out|for|us)\s+)*"
    r"(?:(?:occurrences?|mentions?|instances?|appearances?|uses?|places?|spots?)\s+(?:of|where|that mention)\s+)?"
    r"(?:(?:the|an?)\s+)?(?:(?:exact\s+)?(?:words?|phrases?|terms?|strings?|substrings?|letters?|characters?|"
    r"expressions?|keywords?|names?)\s+(?!of\b|is\b|are\b))?(?:(?:the|an?)\s+)?",
    re.I,
)
_UNITS = "words|lines|paragraphs|characters|chars|letters|sentences|chapters|sections|headings|texts|documents|files"
_VERBS = (
    r"(?:contain|mention|include|have|match|with|containing|mentioning|including|having|that (?:contain|mention|have))"
)
_OCCUR = (
    r"(?:occurs?|appears?|comes? up|shows? up|mentioned|used|named|found|repeated|written|said|present|listed|"
    r"referenced)"
)
_SUMMARY = re.compile(
    r"\b(?:summar\w*|outline|overview|structure|table of contents|tl;?dr|gist|synopsis|abstract of|key points|"
    r"main (?:points|topics?|themes?|ideas?)|headings|zusammenfass\w*|fasse|r[ée]sum\w*)\b|"
    rf"\bwhat (?:is|are|was) {_TEXT} (?:all )?about\b|^describe {_TEXT}|\bwhat (?:kind|sort|type) of {_TEXT} is\b",
    re.I,
)
_CANNOT = re.compile(
    r"\b(?:translate|rewrite|rephrase|paraphrase|compose|proofread|brainstorm|sentiment|your opinion|you think|"
    r"write (?:me |us )?(?:an?|the|some)|generate|poem|simplify|correct the|improve)\b",
    re.I,
)
_FIND = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"\bwhere (?:is|are|was|were|does|do|did|can|could) (?:i |one |we |you )?(?P<x>.+?) (?:be )?{_OCCUR}",
        rf"\bwhere (?:does|do|did) {_TEXT} (?:mention|say|talk about|refer to|name|use) (?P<x>.+)",
        rf"\b(?:on |in |at )?(?:which|what) (?:lines?|places?|texts?|documents?|files?)(?: numbers?)? "
        rf"(?:does|do|did|is|are|was|were|has|have|can) (?P<x>.+?) (?:be )?{_OCCUR}",
        r"\b(?:which|what|show|list|find|print|give me|all)(?: me)?(?: all)?(?: the)? "
        r"(?:lines?|places?|texts?|documents?|files?) (?:that )?"
        r"(?:mentions?|contains?|has|have|with|includes?|containing|mentioning|refers? to|is about) (?P<x>.+)",
        r"\b(?:on |in |at )?(?:which|what) line (?:is|are|number is) (?P<x>.+)",
        rf"^(?:does|do|did) {_TEXT} (?:ever )?(?:mention|contain|include|name|say|use|have) (?P<x>.+)",
        rf"^(?:is|are|was|were) (?P<x>.+?) (?:ever )?{_OCCUR}\b",
        r"^(?:please )?(?:find|search(?: for)?|locate|look for|grep(?: for)?|look up) (?P<x>.+)",
    )
)


def plan_for(question: str, *, wrapped: bool = False) -> Plan:
    """The plan for a question. `wrapped` says that the text's sentences run on over the ends of its lines."""
    asked = " ".join(question.split())
    needle = _quoted(asked)
    plan = _quoted_plan(asked, needle, wrapped) if needle else _plain_plan(asked, wrapped)
    return plan or passage_plan(asked, wrapped=wrapped)


def passage_plan(question: str, *, wrapped: bool = False) -> Plan:
    """The passages that share most with a question."""
    asked = " ".join(question.split())
    terms = terms_of(asked)
    if not terms:
        return Plan("none")
    labels = ", ".join(label for label, *_ in terms)
    extra, unit, keep = form_wanted(asked, terms), unit_of(asked), 5
    args = {"terms": terms, "extra": extra, "unit": unit, "wrapped": wrapped, "keep": keep}
    return Plan("passages", "passages", args, {"unit": unit, "labels": labels, "extra": extra})


def _quoted(asked: str) -> str:
    match = _QUOTED.search(asked)
    found = next((group for group in match.groups() if group), "") if match else ""
    return found.strip()[:NEEDLE_CHARS]


def _quoted_plan(asked: str, needle: str, wrapped: bool) -> Plan:
    around = asked.replace(needle, " ", 1)
    exact = re.search(r"case[- ]sensitiv|exact(?:ly)? case", around, re.I)
    part = re.search(r"\b(?:substring|letters?|characters?|string|sequence|anywhere)\b", around, re.I)
    mode = "exact" if exact else _mode(needle, bool(part))
    if _COUNT.search(around):
        return _count(needle, mode, around, wrapped)
    if re.search(r"\b(?:quote|cite|sentences?|paragraphs?|say(?:s)? about|what is|who is|what does)\b", around, re.I):
        terms = [[needle, fold(needle), "whole" if mode == "whole" else "any"]]
        unit, extra = unit_of(around), form_wanted(around, terms)
        args = {"terms": terms, "extra": extra, "unit": unit, "wrapped": wrapped, "keep": 5}
        return Plan("passages", "passages", args, {"unit": unit, "labels": needle, "extra": extra})
    return _find(needle, mode, around)


def _plain_plan(asked: str, wrapped: bool) -> Plan | None:
    bare = asked.rstrip("?!. ")
    if _CANNOT.search(bare):
        return Plan("none")
    return _forms(bare) or _lines(bare) or _words(bare) or _summary(bare) or _counted(bare, wrapped) or _found(bare)


def _forms(asked: str) -> Plan | None:
    """All e-mail addresses, dates and so on."""
    for called, label, pattern in FORMS:
        lead = r"\b(?:list|extract|collect|all|every|each|any|which|what|how many|count|find|show|give)\b"
        match = re.search(rf"{lead}.*?\b(?P<noun>{called})\b(?! of\b| is\b| was\b)", asked, re.I)
        if match is None:
            continue
        plural = match["noun"].lower().endswith("s")
        everything = re.search(r"\b(?:list|extract|collect|all|every|each|any)\b", asked, re.I)
        if re.search(rf"how many(?: \w+)? {called}\b", asked, re.I) and label in ("years", "times", "numbers"):
            continue  # "how many years did it take" counts no years
        if plural or (everything and label != "numbers"):
            return Plan("extract", "extract", {"pattern": pattern, "keep": 60}, {"label": label})
    return None


def _lines(asked: str) -> Plan | None:
    """Lines and other parts by their place or length."""
    if match := re.search(r"\b(longest|shortest) line\b", asked, re.I):
        which = match[1].lower()
        return Plan("extreme", "extreme", {"longest": which == "longest"}, {"which": which})
    if match := re.search(
        r"\blines? (?:number |no\.? ?)?(\d{1,9})(?:\s*(?:-|–|to|and|until)\s*(\d{1,9}))?\b", asked, re.I
    ):
        first = int(match[1])
        last = int(match[2] or first)
        ends = {"first": min(first, last), "last": max(first, last)}
        return Plan("lines", "numbered_lines", ends, {"which": match[0]})
    numbers = {"two": 2, "three": 3, "four": 4, "five": 5, "ten": 10}
    units = "line|sentence|paragraph|word|character"
    if match := re.search(
        rf"\b(first|last|opening|final|closing)(?: (\d{{1,4}}|{'|'.join(numbers)}))? ({units})s?\b", asked, re.I
    ):
        number = numbers.get((match[2] or "").lower()) or int(match[2] or 1)
        last_one = match[1].lower() in ("last", "final", "closing")
        args: dict[str, Any] = {"unit": match[3].lower() + "s", "number": max(1, number), "last": last_one}
        return Plan("edge", "edge", args, {"which": match[0].lower()})
    if match := re.search(rf"\bhow (?:does|did|do) {_TEXT} (begin|start|open|end|close|finish)\b", asked, re.I):
        ending = match[1].lower() in ("end", "close", "finish")
        which = "last paragraph" if ending else "first paragraph"
        return Plan("edge", "edge", {"unit": "paragraphs", "number": 1, "last": ending}, {"which": which})
    return None


def _words(asked: str) -> Plan | None:
    if re.search(
        r"\b(?:most (?:common|frequent|used|often)|commonest|top \d+|word frequenc\w+)\b.*\b(?:words?|frequenc\w+)\b",
        asked,
        re.I,
    ):
        number = re.search(r"\b(\d{1,3})\b", asked)
        keep = min(100, max(1, int(number[1]))) if number else 10
        return Plan("common", "common", {"stop_words": STOP_WORDS, "keep": keep})
    if re.search(r"\b(?:how many|number of|count)\b.*\b(?:different|unique|distinct) words\b", asked, re.I):
        return Plan("distinct", "common", {"stop_words": STOP_WORDS, "keep": 5})
    return None


def _summary(asked: str) -> Plan | None:
    if not _SUMMARY.search(asked) or _COUNT.search(asked):
        return None
    topic = re.search(r"\b(?:about|on|regarding|concerning) (.+)$", _TAIL.sub("", asked), re.I)
    if topic and re.search(r"summar|key points|overview", asked, re.I) and not re.fullmatch(_TEXT, topic[1], re.I):
        return None  # about something in the text
    return Plan("summary", "structure", {"stop_words": STOP_WORDS, "keep": 14})


def _counted(asked: str, wrapped: bool) -> Plan | None:
    if not _COUNT.search(asked):
        return None
    if match := re.search(rf"\b(?:lines|sentences|paragraphs|texts|documents|files) {_VERBS} (?P<x>.+)", asked, re.I):
        return (
            _count(needle := _needle(match["x"]), _mode(needle, False), asked, wrapped) if _needle(match["x"]) else None
        )
    for pattern in (
        rf"\bhow (?:many times|often) (?:does|do|did|is|are|was|were|has|have|can) (?P<x>.+?) (?:been |be )?{_OCCUR}",
        rf"\bhow (?:many times|often) (?:does|do|did) {_TEXT} (?:mention|use|say|contain|name|refer to) (?P<x>.+)",
        r"\b(?:occurrences|mentions|instances|appearances|frequency) (?:of|for) (?P<x>.+)",
        rf"\bnumber of times (?P<x>.+?) (?:is |are |was |were )?{_OCCUR}",
        r"\bhow many (?P<x>\S+) (?:lines|entries|rows)\b",
    ):
        if (match := re.search(pattern, asked, re.I)) and (needle := _needle(match["x"])):
            part = bool(re.search(r"\b(?:letters?|characters?|substring)\b", match["x"], re.I))
            return _count(needle, _mode(needle, part), asked, wrapped)
    if match := re.search(rf"\b(?:how many|number of|count)(?: of)?(?: the| all)? ({_UNITS})\b", asked, re.I):
        unit = {"chars": "characters", "letters": "characters"}.get(match[1].lower(), match[1].lower())
        if unit in ("chapters", "sections", "headings"):
            return Plan("headings", "structure", {"stop_words": "", "keep": 40}, {"unit": unit})
        if unit in ("texts", "documents", "files"):
            return Plan("texts", "look", {}, {"unit": unit})
        return Plan("measure", "measure", {"unit": unit}, {"unit": unit})
    has = rf"(?:are there|there are|are in|occur|appear|exist|(?:does|do) {_TEXT} (?:have|contain|mention)|in {_TEXT}$)"
    match = re.search(rf"\bhow many (?P<x>.+?) {has}", asked, re.I) or re.search(r"^count (?P<x>.+)", asked, re.I)
    if match and (needle := _needle(match["x"])) and len(needle.split()) <= 4:
        mark = MARKS.get(needle.lower()) or MARKS.get(needle.lower().removesuffix("s"))
        return _loose(_count(mark or needle, _mode(mark or needle, False), asked, wrapped))
    return None


def _found(asked: str) -> Plan | None:
    for pattern in _FIND:
        if (match := pattern.search(asked)) and (needle := _needle(match["x"])):
            plan = _find(needle, _mode(needle, False), asked)
            return plan if plan.about["yes_no"] else _loose(plan)
    return None


def _loose(plan: Plan) -> Plan:
    """A plan whose needle may not have been meant word by word: when it is not found, passages are looked for."""
    return replace(plan, about={**plan.about, "loose": "yes"})


def _find(needle: str, mode: str, asked: str) -> Plan:
    yes_no = bool(re.match(r"\s*(?:does|do|did|is|are|was|were)\b", asked, re.I))
    by_line = bool(re.search(r"\blines?\b", asked, re.I))
    about = {"needle": needle, "mode": mode, "yes_no": "yes" if yes_no else "", "lines": "yes" if by_line else ""}
    return Plan("find", "locate", {"needle": needle, "mode": mode, "keep": KEEP}, about)


def _count(needle: str, mode: str, asked: str, wrapped: bool) -> Plan:
    about = {"needle": needle, "mode": mode, "unit": "times"}
    unit = re.search(
        r"\b(?:how many|number of|count)\b[^\"'“]*?\b(lines|sentences|paragraphs|texts|documents|files|entries|rows)\b",
        asked,
        re.I,
    )
    about["unit"] = {"entries": "lines", "rows": "lines"}.get(unit[1].lower(), unit[1].lower()) if unit else "times"
    if about["unit"] in ("sentences", "paragraphs"):
        terms = [[needle, fold(needle), "whole" if mode == "whole" else "any"]]
        args = {"terms": terms, "extra": "", "unit": about["unit"][:-1], "wrapped": wrapped, "keep": 3}
        return Plan("count", "passages", args, about)
    return Plan("count", "locate", {"needle": needle, "mode": mode, "keep": 3}, about)


def _needle(text: str) -> str:
    text = text.strip(" \t?!.,:;")
    while (shorter := _TAIL.sub("", text)) != text:
        text = shorter
    bare = _LEAD.sub("", text, count=1).strip()
    return (bare or text)[:NEEDLE_CHARS] if re.search(r"\S", text) else ""


def _mode(needle: str, part: bool) -> str:
    """Words are looked for as words; signs, and what is named a part of words, anywhere."""
    return "whole" if not part and needle[0].isalnum() and needle[-1].isalnum() and not is_unspaced(needle) else "any"
