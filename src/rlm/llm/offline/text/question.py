"""From a question to a plan: which program to write, with which arguments, and what its result will
mean.

Rules only, no understanding. What stands in quotes in a question is what is looked for, in any
language; the rest of the rules are for English, with a few words of others. A question that fits no
rule is answered with the passages that share most words with it, and one without any word of use is
answered by saying so.
"""

from __future__ import annotations

import re
from typing import Any

from rlm.llm.offline.text.plan import (
    NEEDLE_CHARS,
    NUMBERS,
    TAIL,
    Plan,
    Seen,
    count_plan,
    find_plan,
    loose,
    mode_of,
    needle_in,
    ordered_plan,
    passage_plan,
    things_plan,
    with_forms,
)
from rlm.llm.offline.text.reading import fold
from rlm.llm.offline.text.tables import table_plan
from rlm.llm.offline.text.words import FORMS, MARKS, STOP_WORDS, TEXT

QUOTED_CHARS = 5_000
"""Where quotes are looked for: the time grows with the square of it."""
_QUOTED = re.compile(
    r"“([^”]+)”|„([^“”]+)[“”]|«\s*([^»]+?)\s*»|「([^」]+)」|\"([^\"]+)\"|`([^`]+)`|‘([^’]+)’|(?<!\w)'([^']+(?:'\w[^']*)*)'(?!\w)"
)
_COUNT = re.compile(
    r"\b(how many|how often|count|number of|frequency of|wie oft|wie"
    r" viele|combien|cu[aá]nt[ao]s|quant[ei])\b",
    re.I,
)
_UNITS = "rows|words|lines|paragraphs|characters|chars|letters|sentences|chapters|sections|headings|texts|documents|files"
_VERBS = (
    r"(?:contain|mention|include|have|match|with|containing|mentioning|including|having|that"
    r" (?:contain|mention|have))"
)
_OCCUR = (
    r"(?:occurs?|appears?|comes? up|shows?"
    r" up|mentioned|used|named|found|repeated|written|said|present|listed|"
    r"referenced)"
)
_HAS = (
    r"(?:(?:are|were|was|is|have|had) (?:there|been there)(?: been)?|there (?:are|were)|have there"
    r" been|exist(?:ed)?|"
    r"occur(?:red)?|appear(?:ed)?|happen(?:ed)?|"
    r"(?:are|were|was|have been|can be) (?:in"
    r" it|found|logged|recorded|listed|mentioned|reported|seen|made|present)|"
    rf"(?:does|do|did) {TEXT} (?:have|contain|mention|list|show|include)|(?:are|were) in"
    rf" {TEXT}|(?:are|were))"
)
_IS = rf"(?:is|are|in|does|do|has|have|did) {TEXT}"
_UNSURE = (
    r"\b(?:is|are|was|were|did|does|do|has|have|had|can|could|will|would|should|that|who|which|whose|different|unique|"
    r"distinct|duplicates?|per|each|more|fewer|less|than|between|before|after|since|until|on|at|by|with|without|from|of|"
    r"in|non-?\w*|not)\b"
)
"""Words of a "how many" question that ask for more than to count a word."""
_SUMMARY = re.compile(
    r"\b(?:summar\w*|outline|overview|structure|table of contents|tl;?dr|gist|synopsis|abstract"
    r" of|key points|"
    r"main (?:points|topics?|themes?|ideas?)|headings|zusammenfass\w*|fasse|r[ée]sum\w*)\b|"
    rf"\bwhat (?:is|are|was) {TEXT} (?:all )?about\b|^describe {TEXT}|\bwhat (?:kind|sort|type) of"
    rf" {TEXT} is\b",
    re.I,
)
_CANNOT = re.compile(
    r"\b(?:translate|rewrite|rephrase|paraphrase|compose|proofread|brainstorm|sentiment|your"
    r" opinion|you think|"
    r"write (?:me |us )?(?:an?|the|some)|generate|poem|simplify|correct the|improve)\b|"
    r"^(?:please |can you |could you"
    r" )*(?:compare|contrast|evaluate|assess|rank|classify|critici[sz]e|convert|"
    r"review|fix|debug|refactor|reformat|merge|diff|sort|edit|delete|remove|add|draw|plot)\b|"
    rf"\bhow (?:do|does) .+ differ$|\bdifferences? between {TEXT}",
    re.I,
)
_FIND = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        (
            r"\bwhere (?:is|are|was|were|does|do|did|can|could) (?:i |one |we |you )?(?P<x>.+?)"
            rf" (?:be )?{_OCCUR}"
        ),
        rf"\bwhere (?:does|do|did) {TEXT} (?:mention|say|talk about|refer to|name|use) (?P<x>.+)",
        rf"\b(?:on |in |at )?(?:which|what) (?:lines?|places?|texts?|documents?|files?)(?:"
        rf" numbers?)? "
        rf"(?:does|do|did|is|are|was|were|has|have|can) (?P<x>.+?) (?:be )?{_OCCUR}",
        r"\b(?:which|what|show|list|find|print|give me|all)(?: me)?(?: all)?(?: the)? "
        r"(?:lines?|places?|texts?|documents?|files?) (?:that )?"
        r"(?:mentions?|contains?|has|have|with|includes?|containing|mentioning|refers? to|is about)"
        r" (?P<x>.+)",
        r"\b(?:on |in |at )?(?:which|what) line (?:is|are|number is) (?P<x>.+)",
        (
            rf"^(?:does|do|did) {TEXT} (?:ever )?(?:mention|contain|include|name|say|use|have)"
            r" (?P<x>.+)"
        ),
        rf"^(?:is|are|was|were) (?P<x>.+?) (?:ever )?{_OCCUR}\b",
        r"^(?:please )?(?:find|search(?: for)?|locate|look for|grep(?: for)?|look up) (?P<x>.+)",
    )
)


def plan_for(question: str, seen: Seen | None = None) -> Plan:
    """The plan for a question. `seen` is what the first look said of the text."""
    asked, seen = " ".join(question.split()), seen or {}
    needle, around = _quoted(asked)
    plan = _quoted_plan(around, needle, seen) if needle else _plain_plan(asked, seen)
    return plan or passage_plan(asked, seen)


def _quoted(asked: str) -> tuple[str, str]:
    """What stands in quotes, and the question around it."""
    match = _QUOTED.search(asked[:QUOTED_CHARS])
    found = next((group for group in match.groups() if group), "") if match else ""
    around = f"{asked[: match.start()]}“ ”{asked[match.end() :]}" if match else asked
    return found.strip()[:NEEDLE_CHARS], around


def _quoted_plan(around: str, needle: str, seen: Seen) -> Plan:
    exact = re.search(r"case[- ]sensitiv|exact(?:ly)? case", around, re.I)
    part = re.search(
        r"\b(?:substring|letters?|characters?|string|sequence|anywhere)\b", around, re.I
    )
    mode = "exact" if exact else mode_of(needle, bool(part))
    if _COUNT.search(around):
        return count_plan(needle, mode, around, seen)
    if re.search(
        r"\b(?:quote|cite|sentences?|paragraphs?|say(?:s)? about|what is|who is|what does)\b",
        around,
        re.I,
    ):
        return passage_plan(
            around, seen, terms=[[needle, fold(needle), "whole" if mode == "whole" else "any"]]
        )
    return find_plan(needle, mode, around)


def _plain_plan(asked: str, seen: Seen) -> Plan | None:
    bare = asked.rstrip("?!. ")
    if _CANNOT.search(bare):
        return Plan("none")
    return (
        table_plan(bare, seen)
        or _forms(bare)
        or _lines(bare, seen)
        or _words(bare)
        or _headings(bare)
        or _summary(bare)
        or _counted(bare, seen)
        or ordered_plan(bare, seen)
        or _found(bare)
    )


def _headings(asked: str) -> Plan | None:
    """The sections by their headings."""
    ask = (
        r"(?:list|show|print|give|name|enumerate|which|what)\b.*?\b(?:sections?|chapters?|headings|section"
        r" titles)"
    )
    match = re.search(
        rf"^(?:please )?{ask}$", TAIL.sub("", re.sub(r" (?:are there|exist)$", "", asked)), re.I
    )
    if match is None or not re.search(r"(?:sections|chapters|headings|titles)$", match[0], re.I):
        return None
    if len(match[0].split()) > 6:
        return None
    unit = "chapters" if match[0].lower().endswith("chapters") else "headings"
    return Plan("headings", "structure", {"stop_words": "", "keep": 80}, {"unit": unit})


def _forms(asked: str) -> Plan | None:
    """All e-mail addresses, dates and so on."""
    for called, label, pattern in FORMS:
        lead = (
            r"\b(?:list|extract|collect|all|every|each|any|which|what|how"
            r" many|count|find|show|give)\b"
        )
        match = re.search(rf"{lead}.*?\b(?P<noun>{called})\b(?! of\b| is\b| was\b)", asked, re.I)
        if match is None:
            continue
        plural = match["noun"].lower().endswith("s")
        everything = re.search(r"\b(?:list|extract|collect|all|every|each|any)\b", asked, re.I)
        if re.search(rf"how many(?: \w+)? {called}\b", asked, re.I) and label in (
            "years",
            "times",
            "numbers",
        ):
            continue  # "how many years did it take" counts no years
        if plural or (everything and label != "numbers"):
            return Plan("extract", "extract", {"pattern": pattern, "keep": 60}, {"label": label})
    return None


def _lines(asked: str, seen: Seen) -> Plan | None:
    """Lines and other parts by their place or length."""
    if match := re.search(r"\b(longest|shortest) line\b", asked, re.I):
        which = match[1].lower()
        return Plan("extreme", "extreme", {"longest": which == "longest"}, {"which": which})
    if match := re.search(
        r"\blines? (?:number |no\.? ?)?(\d{1,9})(?:\s*(?:-|–|to|and|until)\s*(\d{1,9}))?\b",
        asked,
        re.I,
    ):
        first = int(match[1])
        last = int(match[2] or first)
        ends = {"first": min(first, last), "last": max(first, last)}
        return Plan("lines", "numbered_lines", ends, {"which": match[0]})
    numbers, units = NUMBERS, "line|row|record|sentence|paragraph|word|character"
    if match := re.search(
        rf"\b(first|last|opening|final|closing)(?: (\d{{1,4}}|{'|'.join(numbers)}))? ({units})s?\b"
        r"(?! (?:with|that|containing|contains?|mention\w*|about|which|where|has|having)\b)",
        asked,
        re.I,
    ):
        number = numbers.get((match[2] or "").lower()) or int(match[2] or 1)
        last_one = match[1].lower() in ("last", "final", "closing")
        unit = match[3].lower() + "s"
        if unit in ("rows", "records"):
            unit = "rows" if seen.get("columns") else "lines"
        args: dict[str, Any] = {"unit": unit, "number": max(1, number), "last": last_one}
        return Plan("edge", "edge", args, {"which": match[0].lower()})
    if match := re.search(
        rf"\bhow (?:does|did|do) {TEXT} (begin|start|open|end|close|finish)\b", asked, re.I
    ):
        ending = match[1].lower() in ("end", "close", "finish")
        which = "last paragraph" if ending else "first paragraph"
        return Plan(
            "edge", "edge", {"unit": "paragraphs", "number": 1, "last": ending}, {"which": which}
        )
    return None


def _words(asked: str) -> Plan | None:
    if re.search(
        r"\b(?:most (?:common|frequent|used|often)|commonest|top \d+|word"
        r" frequenc\w+)\b.*\b(?:words?|frequenc\w+)\b|"
        r"\b(?:which|what) (?:\d+ )?words? (?:\w+ ){1,3}(?:most|more often than others)(?: \w+)?$",
        asked,
        re.I,
    ):
        number = re.search(r"\b(\d{1,3})\b", asked)
        keep = min(100, max(1, int(number[1]))) if number else 10
        return Plan("common", "common", {"stop_words": STOP_WORDS, "keep": keep})
    if re.search(
        r"\b(?:how many|number of|count)\b.*\b(?:different|unique|distinct) words\b", asked, re.I
    ):
        return Plan("distinct", "common", {"stop_words": STOP_WORDS, "keep": 5})
    return None


def _summary(asked: str) -> Plan | None:
    if not _SUMMARY.search(asked) or _COUNT.search(asked):
        return None
    topic = re.search(r"\b(?:about|on|regarding|concerning) (.+)$", TAIL.sub("", asked), re.I)
    if (
        topic
        and re.search(r"summar|key points|overview", asked, re.I)
        and not re.fullmatch(TEXT, topic[1], re.I)
    ):
        return None  # about something in the text
    return Plan("summary", "structure", {"stop_words": STOP_WORDS, "keep": 14})


def _counted(asked: str, seen: Seen) -> Plan | None:
    if not _COUNT.search(asked):
        return None
    holders = "lines|sentences|paragraphs|texts|documents|files|rows|entries|records"
    if match := re.search(rf"\b(?:{holders}) {_VERBS} (?P<x>.+)", asked, re.I):
        return (
            with_forms(count_plan(found, mode_of(found), asked, seen), seen)
            if (found := needle_in(match["x"]))
            else None
        )
    for pattern in (
        (
            r"\bhow (?:many times|often) (?:does|do|did|is|are|was|were|has|have|can) (?P<x>.+?)"
            rf" (?:been |be )?{_OCCUR}"
        ),
        (
            rf"\bhow (?:many times|often) (?:does|do|did) {TEXT}"
            r" (?:mention|use|say|contain|name|refer to) (?P<x>.+)"
        ),
        r"\b(?:occurrences|mentions|instances|appearances|frequency) (?:of|for) (?P<x>.+)",
        rf"\bnumber of times (?P<x>.+?) (?:is |are |was |were )?{_OCCUR}",
    ):
        if (match := re.search(pattern, asked, re.I)) and (needle := needle_in(match["x"])):
            part = bool(re.search(r"\b(?:letters?|characters?|substring)\b", match["x"], re.I))
            return count_plan(needle, mode_of(needle, part), asked, seen)
    if re.search(r"\b(?:how many|number of|count) (?:the )?(?:empty|blank) lines\b", asked, re.I):
        return Plan("measure", "measure", {"unit": "empty lines"}, {"unit": "empty lines"})
    bare = asked
    while (shorter := TAIL.sub("", bare)) != bare:
        bare = shorter
    if match := re.search(
        rf"\b(?:how many|number of|count)(?: of)?(?: the| all)? ({_UNITS})(?P<rest>.*)$", bare, re.I
    ):
        unit = {"chars": "characters", "letters": "characters", "rows": "lines"}.get(
            match[1].lower(), match[1].lower()
        )
        if not re.fullmatch(
            rf"(?: long)?(?: {_HAS}| {_IS})?(?: (?:have|has|contain|long))?", match["rest"], re.I
        ):
            return None  # only some of them are meant
        if unit in ("chapters", "sections", "headings"):
            return Plan("headings", "structure", {"stop_words": "", "keep": 40}, {"unit": unit})
        if unit in ("texts", "documents", "files"):
            return Plan("texts", "look", {}, {"unit": unit})
        return Plan("measure", "measure", {"unit": unit}, {"unit": unit})
    match = re.search(rf"\bhow many (?P<x>.+?)(?: {_HAS})?$", bare, re.I) or re.search(
        r"^(?:count|(?:what is )?the (?:total )?number of) (?P<x>.+)$", bare, re.I
    )
    if (
        match is None
        or re.search(_UNSURE, match["x"], re.I)
        or re.search(r" \w+(?:ed|ing)$", match["x"])
    ):
        return None
    if (needle := needle_in(match["x"])) and len(needle.split()) <= 3:
        mark = MARKS.get(needle.lower()) or MARKS.get(needle.lower().removesuffix("s"))
        if mark:
            return count_plan(mark, mode_of(mark), asked, seen)
        bare_needle = re.sub(r" (?:lines|entries|rows|records|messages)$", "", needle, flags=re.I)
        return things_plan(bare_needle, asked, seen)
    return None


def _found(asked: str) -> Plan | None:
    for pattern in _FIND:
        if (match := pattern.search(asked)) and (needle := needle_in(match["x"])):
            plan = find_plan(needle, mode_of(needle), asked)
            return plan if plan.about["yes_no"] else loose(plan)
    return None
