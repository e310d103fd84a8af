"""A final answer written into a reply's text: where it begins, where it ends, and what it says."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

FINAL_CALL = re.compile(r"[ \t]*(?:\*\*)?FINAL(_VAR)?[ \t]*\(")
_AFTER_FINAL = re.compile(r"[ \t]*(?:(?:\*\*|[.;])[ \t]*)?(?=\n|$)")
_PARENTHESIS = re.compile(r"[()]")
_END_OF_CALL = re.compile(r"\s*(?:,\s*)?\)")
_STRING = re.compile(r"\s*[rRbBuUfF]{0,2}(\"\"\"|'''|\"|')")


@dataclass(frozen=True, slots=True)
class Final:
    """A final answer given in the text: itself, or the name of the variable that holds it."""

    value: str
    is_variable: bool = False


def clean(text: str) -> str:
    """Text that can be encoded, with `\\n` as its only line end. Lone surrogates become U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def closing_parenthesis(text: str, start: int) -> int | None:
    """Where the parenthesis closes that was opened before `start`; None when it does not.

    Quotes count only when the argument begins with one: an apostrophe in prose opens nothing. Where
    the balance is reached in the middle of a line, as in `FINAL(1) first, 2) second)`, a later one
    at the end of a line is better.
    """
    if literal := _STRING.match(text, start):
        end = _string_end(text, literal.end(), literal.group(1))
        if end is not None and (behind := _END_OF_CALL.match(text, end)):
            return behind.end() - 1
    depth, found = 1, None
    for match in _PARENTHESIS.finditer(text, start):
        if match.group() == "(":
            depth += 1
            continue
        depth -= 1
        if depth == 0 and found is None:
            found = match.start()
        elif depth >= 0:
            continue
        if _AFTER_FINAL.match(text, match.end()):
            return match.start()
    return found


def _string_end(text: str, start: int, quote: str) -> int | None:
    """Where the string literal ends whose opening quote ends at `start`."""
    for match in re.compile(r"\\.|" + quote, re.DOTALL).finditer(text, start):
        if match.group() == quote:
            return match.end()
    return None


def _literal(argument: str) -> str:
    """The text of a final answer: what a string literal says, else the argument as it is written."""
    text = argument.strip().rstrip(",")
    if _STRING.match(text) and text[-1] in "\"'":
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text
        if isinstance(value, str):
            return clean(value)
    return argument.strip()


def final_of(match: re.Match[str], argument: str) -> Final:
    """The answer of a `FINAL_CALL`, given what stands in its parentheses."""
    if match.group(1):
        return Final(argument.strip().strip("\"'`").strip(), is_variable=True)
    return Final(_literal(argument))
