"""Questions to a table: how many rows, which columns, and the sum, mean, least or greatest number
of a column."""

from __future__ import annotations

import re

from rlm.llm.offline.text.plan import Plan, Seen
from rlm.llm.offline.text.reading import fold
from rlm.llm.offline.text.terms import forms_of, terms_of

_WANTED = (
    ("sum", r"sum|totals?|add(?:ed)? up|altogether"),
    ("mean", r"average|mean|avg"),
    ("min", r"min|minimum|lowest|smallest|least|cheapest|youngest|shortest"),
    ("max", r"max|maximum|highest|largest|biggest|greatest|most|oldest|tallest"),
)
_ROWS = re.compile(
    r"^(?:how many|count(?: all)?(?: the)?|(?:what is )?the number of)"
    r" (?:data )?(?:rows|records|entries)\b(?P<rest>.*)$",
    re.I,
)
_COLUMNS = re.compile(
    r"\b(?:which|what|list|show|name|how many|all|the)\b.*"
    r"\b(?:columns|fields|column names|headers?|header (?:line|row))$|"
    r"\bcolumns\b.*\b(?:are there|exist|does it have)$", re.I
)  # fmt: skip
_BARE = (
    r"\s*(?:are there|there are|there|are"
    r" in|does|do|has|have|is|in|of|it|this|the|file|table|csv|data|text|document)*"
)
_SAYS_LITTLE = (
    "column columns row rows table csv file data number numbers cell cells field fields values"
    " value overall all total"
)


def table_plan(asked: str, seen: Seen) -> Plan | None:
    """`asked` has no mark at its end. None where the text is no table or the question is another."""
    columns = [str(name) for name in seen.get("columns") or []]
    if not columns:
        return None
    if (match := _ROWS.match(asked)) and re.fullmatch(rf"(?:{_BARE})*", match["rest"], re.I):
        return _table("rows", "", [])
    if _COLUMNS.search(
        re.sub(r"\s+(?:are )?(?:in|of|does|are there)(?:\s+\w+){0,3}$", "", asked)
    ) or _COLUMNS.search(asked):
        return _table("columns", "", [])
    wanted = next(
        (name for name, words in _WANTED if re.search(rf"\b(?:{words})\b", asked, re.I)), ""
    )
    if not wanted:
        return None
    left = " " + _even(asked) + " "
    named = []
    for column in sorted(columns, key=len, reverse=True):
        even = _even(column)
        for form in (even, *(" ".join([*even.split()[:-1], other]) for other in forms_of(even))):
            if even and f" {form} " in left:
                named.append((left.index(f" {form} "), column))
                left = left.replace(f" {form} ", " ", 1)
                break
    left = re.sub("|".join(rf"\b(?:{words})\b" for _, words in _WANTED), " ", left)
    where = [label for label, *_ in terms_of(left) if label not in _SAYS_LITTLE.split()]
    if not named or (len(named) > 1 and wanted not in ("min", "max")) or len(named) > 2:
        return None
    column, shown = named[0][1], ""
    if (
        len(named) == 2
    ):  # "which city has the highest price": the first is shown, the other is compared
        (_, shown), (_, column) = sorted(named)
        if not re.match(r"which|what|who|where", asked, re.I):
            return None
    return _table(wanted, column, where, shown)


def _even(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", fold(text)))


def _table(wanted: str, column: str, where: list[str], shown: str = "") -> Plan:
    about = {
        "wanted": wanted,
        "column": column,
        "where": ", ".join(f"“{word}”" for word in where),
        "shown": shown,
    }
    return Plan("table", "table", {"column": column, "wanted": wanted, "where": where}, about)
