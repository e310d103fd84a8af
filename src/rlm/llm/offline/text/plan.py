"""What a plan is, and the plans that look for one needle: to count it, to find it, to show its
first or last lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rlm.llm.offline.text.reading import fold
from rlm.llm.offline.text.terms import form_wanted, forms_of, is_unspaced, terms_of, unit_of
from rlm.llm.offline.text.wanted import (
    measure_asked,
    named_in,
    needed,
    qualified,
    topic_of,
    version_asked,
)
from rlm.llm.offline.text.words import TEXT

NEEDLE_CHARS = 500
KEEP = 12
KEEP_ALL = 40
"""Lines to show when all are asked for."""

Seen = Mapping[str, Any]
"""What the first look said of the text: `wrapped`, `log`, `json`, `columns`."""

NUMBERS = {
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
}

TAIL = re.compile(
    rf"\s+(?:(?:in|of|from|within|throughout|inside|across|anywhere in) {TEXT}|"
    r"here|at all|please|in total|altogether)$",
    re.I,
)
_LEAD = re.compile(
    r"^(?:(?:all|any|every|each|the|an?|some|of|me|out|for|us)\s+)*"
    r"(?:(?:occurrences?|mentions?|instances?|appearances?|uses?|places?|spots?)\s+(?:of|where|that"
    r" mention)\s+)?"
    r"(?:(?:the|an?)\s+)?(?:(?:exact\s+)?(?:words?|phrases?|terms?|strings?|substrings?|letters?|characters?|"
    r"expressions?|keywords?|names?)\s+(?!of\b|is\b|are\b))?(?:(?:the|an?)\s+)?",
    re.I,
)


_LEVEL = re.compile(r"(?:trace|debug|info|notice|warn|warning|error|fatal|critical)s?", re.I)


@dataclass(frozen=True, slots=True)
class Plan:
    """`kind` is written into the reply; `program` and `args` make its code; `about` is for the
    answer's words."""

    kind: str
    program: str = ""
    args: dict[str, Any] = field(default_factory=dict)
    about: dict[str, str] = field(default_factory=dict)


def needle_in(text: str) -> str:
    """What is looked for, without the words around it."""
    text = text.strip(" \t?!.,:;")
    while (shorter := TAIL.sub("", text)) != text:
        text = shorter
    bare = _LEAD.sub("", text, count=1).strip()
    return (bare or text)[:NEEDLE_CHARS] if re.search(r"\S", text) else ""


def mode_of(needle: str, part: bool = False) -> str:
    """Words are looked for as words; signs, and what is named a part of words, anywhere."""
    return (
        "whole"
        if not part and needle[0].isalnum() and needle[-1].isalnum() and not is_unspaced(needle)
        else "any"
    )


def loose(plan: Plan) -> Plan:
    """A plan whose needle may not have been meant word by word: when it is not found, passages are
    looked for."""
    return replace(plan, about={**plan.about, "loose": "yes"})


def with_forms(plan: Plan, seen: Seen) -> Plan:
    """The same plan, also for the needle's last word in its other number, and first of all in
    capitals if in such."""
    needle = plan.about["needle"]
    if plan.program != "locate" or plan.about["mode"] != "whole":
        return plan
    forms = forms_of(needle)
    level = bool(seen.get("log") and _LEVEL.fullmatch(needle))
    args = {
        **plan.args,
        "forms": forms,
        "capitals": level or (needle.isupper() and len(needle) > 1),
    }
    named = "\n".join(" ".join([*needle.split()[:-1], form]) for form in forms)
    return replace(plan, args=args, about={**plan.about, "forms": named})


def find_plan(needle: str, mode: str, asked: str, keep: int = KEEP) -> Plan:
    yes_no = bool(re.match(r"\s*(?:does|do|did|is|are|was|were)\b", asked, re.I))
    if re.match(r"\s*(?:list|show|print|display)\b|.*\ball\b", asked, re.I):
        keep = KEEP_ALL
    about = {"needle": needle, "mode": mode, "yes_no": "yes" if yes_no else ""}
    return Plan("find", "locate", {"needle": needle, "mode": mode, "keep": keep}, about)


def count_plan(needle: str, mode: str, asked: str, seen: Seen) -> Plan:
    about = {"needle": needle, "mode": mode, "unit": "times"}
    unit = re.search(
        r"\b(?:how many|number of|count)\b[^\"'“]*?"
        r"\b(lines|sentences|paragraphs|texts|documents|files|entries|rows|records)\b",
        asked,
        re.I,
    )
    if unit:
        about["unit"] = {"entries": "lines", "rows": "lines", "records": "lines"}.get(
            unit[1].lower(), unit[1].lower()
        )
    if about["unit"] in ("sentences", "paragraphs"):
        terms = [[needle, fold(needle), "whole" if mode == "whole" else "any"]]
        wrapped = bool(seen.get("wrapped"))
        args = {
            "terms": terms,
            "extra": "",
            "unit": about["unit"][:-1],
            "wrapped": wrapped,
            "keep": 3,
        }
        return Plan("count", "passages", args, about)
    return Plan("count", "locate", {"needle": needle, "mode": mode, "keep": 3}, about)


def things_plan(needle: str, asked: str, seen: Seen) -> Plan:
    """How many X there are: the lines of a log that name X, else how often X is named."""
    plan = with_forms(count_plan(needle, mode_of(needle), asked, seen), seen)
    unit = "lines" if seen.get("log") and plan.about["unit"] == "times" else plan.about["unit"]
    more = {"keep": KEEP} if plan.program == "locate" and unit == "times" else {}
    plan = replace(
        plan, args={**plan.args, **more}, about={**plan.about, "unit": unit, "things": "yes"}
    )
    return loose(plan) if len(needle.split()) > 1 else plan


def passage_plan(
    question: str, seen: Seen | None = None, *, terms: list[list[str]] | None = None
) -> Plan:
    """The passages that share most with a question."""
    seen, asked, quoted = seen or {}, " ".join(question.split()), bool(terms)
    terms, measured = measure_asked(asked, terms or terms_of(topic_of(asked)))
    things, version = version_asked(asked, terms)
    terms = things or terms
    if not terms:
        return Plan("none")
    many = re.search(r"\bhow many (?:of (?:the |its )?)?(.+)", asked, re.I)
    counted = next(iter(terms_of(many[1])), None) if many else None
    labels = ", ".join(label for label, *_ in terms)
    extra, unit = version or form_wanted(asked, terms), unit_of(asked)
    if unit == "sentence" and seen.get("json"):
        unit = "record"
    if unit == "sentence" and seen.get("log"):
        unit = "line"
    needs = (
        {}
        if unit != "sentence" or quoted or topic_of(asked) != asked
        else needed(asked, terms, extra)
    )
    if version:
        needs = {"must": version, "what": "which version", "value": version}
    args = {
        "terms": terms,
        "extra": extra,
        "unit": unit,
        "wrapped": bool(seen.get("wrapped")),
        "keep": 8,
    }
    about = {
        "unit": unit,
        "labels": labels,
        "extra": "" if measured and len(terms) < 2 else extra,
        "log": "yes" if seen.get("log") else "",
    }
    about |= {"many": "yes" if many else "", **needs}
    about |= (
        {}
        if quoted
        else {**named_in(asked, terms), **(qualified(asked) if unit == "sentence" else {})}
    )
    about["counted"] = counted[1] if counted else ""
    return Plan("passages", "passages", args, about)


# -- in the order of the text, and all of them
# -------------------------------------------------------------

_ORDINAL = re.compile(
    r"^(?:please )?(?:what|which|where|when|show|print|quote|give|find|display|list|tell|cite)"
    r"(?: (?:is|was|are|were|me|us|did|does|do|has|on|in|line|lines|the))*"
    rf" (?P<which>first|last|earliest|latest|final)(?: (?P<n>\d{{1,3}}|{'|'.join(NUMBERS)}))?"
    r" (?P<x>.+)$",
    re.I,
)
_LISTED = re.compile(
    r"^(?:please )?(?:list|show|print|display|give|find|get|quote|cite)(?: me| us)?(?: all| every|"
    r" each)?(?: of)?"
    r"(?: the)? (?P<x>(?!lines?\b)\S+(?: \S+){0,2}) (?:lines|entries|messages|rows|records)$|"
    r"^(?:please )?(?:list|show|print|display|give|find|get|quote|cite)(?: me| us)?"
    r" (?:all|every|each)(?: of)?"
    r"(?: the)? (?P<y>(?!lines? )\S+(?: \S+){0,2})$|"
    r"^(?:which|what) (?P<z>[^\W_]+(?: [^\W_]+)?) (?:are|were) there$",
    re.I,
)
_ABOUT_X = re.compile(
    r"^(?:occurrence|mention|appearance|instance|line|entry|use)s? (?:of|with|containing|about) ",
    re.I,
)
_AFTER_X = re.compile(
    r" (?:lines?|entry|entries|messages?|rows?|records?|(?:be |been"
    r" )?(?:occurs?|occurred|appears?|appeared|happens?|"
    r"happened|mentioned|logged|found|reported|seen))$",
    re.I,
)


_LENGTH = re.compile(
    r"^(?:which|what)(?: of the)? (?:files?|texts?|documents?|one) (?:is|are) (?:the )?"
    r"(?P<which>longest|largest|biggest|shortest|smallest)(?: (?:one|file|text|document))?$",
    re.I,
)


def ordered_plan(asked: str, seen: Seen) -> Plan | None:
    """The first, the last, or all of what is named."""
    if match := _LENGTH.match(asked):
        least = match["which"].lower() in ("shortest", "smallest")
        about = {"unit": "characters", "which": "shortest" if least else "longest"}
        return Plan("measure", "measure", {"unit": "characters"}, about)
    bare = asked
    while (shorter := TAIL.sub("", bare)) != bare:
        bare = shorter
    if match := _ORDINAL.match(bare):
        exact = _ABOUT_X.sub("", match["x"])
        needle = needle_in(_AFTER_X.sub("", exact))
        if (
            not needle
            or len(needle.split()) > 4
            or re.search(r"\b(?:of|that|who|which|when)\b", needle, re.I)
        ):
            return None
        number = NUMBERS.get((match["n"] or "").lower()) or int(match["n"] or 1)
        last = match["which"].lower() in ("last", "latest", "final")
        plan = with_forms(
            find_plan(needle, mode_of(needle), "", min(KEEP_ALL, max(1, number))), seen
        )
        plan = replace(plan, args={**plan.args, "last": last})
        return loose(
            replace(plan, about={**plan.about, "yes_no": "", "which": "last" if last else "first"})
        )
    if match := _LISTED.match(bare):
        needle = needle_in(match["x"] or match["y"] or match["z"])
        if needle and not re.search(r"\b(?:of|that|who|which|when|about)\b", needle, re.I):
            return loose(with_forms(find_plan(needle, mode_of(needle), "list all"), seen))
    return None
