"""LIMIT on a query that has none or a larger one, without changing its meaning otherwise.

Only the outermost solution modifiers are touched: LIMIT stands after ORDER BY, beside OFFSET in
either order, and before a trailing VALUES block. Text is inserted or digits are replaced; every
other character, comments included, stays. ASK has one answer and is returned as it is. For
CONSTRUCT and DESCRIBE the limit counts solutions, as SPARQL has it, not triples.
"""

from __future__ import annotations

from rlm.errors import QueryRefused
from rlm.ontology.query.guard import MAX_CHARS, check_query
from rlm.ontology.query.lexer import PUNCT, Token, refusal


def enforce_limit(text: str, limit: int) -> str:
    """The same query with at most `limit` solutions. Raises QueryRefused as `check_query` does."""
    if limit < 0:
        raise QueryRefused(f"a limit of {limit} rows is not possible; use 0 or more")
    checked = check_query(text, max_chars=max(MAX_CHARS, len(text)))
    if checked.kind == "ASK":
        return text
    outer = _outer(checked.tokens)
    places = [index for index, token in enumerate(outer) if token.upper == "LIMIT"]
    if len(places) > 1:
        raise refusal(text, outer[places[1]].start, "a second LIMIT", "keep one of them")
    if places:
        number = outer[places[0] + 1] if places[0] + 1 < len(outer) else outer[places[0]]
        if not number.text.isdigit():
            what = "LIMIT without a whole number"
            raise refusal(text, outer[places[0]].start, what, "write LIMIT and a number")
        if _at_most(number.text, limit):
            return text
        return f"{text[: number.start]}{limit}{text[number.end :]}"
    values = next((token.start for token in outer if token.upper == "VALUES"), None)
    if values is not None:
        return f"{text[:values]}LIMIT {limit} {text[values:]}"
    end = checked.tokens[-1].end
    return f"{text[:end]} LIMIT {limit}{text[end:]}"


def _outer(tokens: tuple[Token, ...]) -> list[Token]:
    """The tokens outside of all brackets."""
    outer: list[Token] = []
    depth = 0
    for token in tokens:
        if token.kind == PUNCT and token.text in ("}", ")", "]", ">>"):
            depth -= 1
        elif token.kind == PUNCT and token.text in ("{", "(", "[", "<<"):
            depth += 1
        elif depth == 0:
            outer.append(token)
    return outer


def _at_most(digits: str, limit: int) -> bool:
    """Whether the number is no larger; digits may be more than an int can be made of."""
    short = digits.lstrip("0") or "0"
    return len(short) < len(str(limit)) or (len(short) == len(str(limit)) and short <= str(limit))
