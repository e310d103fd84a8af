"""SPARQL text to tokens, in time linear in its length.

The guard decides by these tokens what an engine will do, so the one thing that may never happen is
that an engine reads the same text differently. Engines do differ: pyoxigraph needs no space after a
keyword (`SERVICE:x {` calls out), takes `1<#>` for a less-than and a comment where the grammar says
IRI, and leaves `\\u0022` in a string alone where the grammar has it end the string. So this
tokenizer is stricter than the grammar: text that two engines can read in two ways is refused, with
the place and a way to write it that all of them read alike.

It knows words, not grammar: whether the tokens make a query is for the engine to say.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rlm.errors import QueryRefused

WORD = "word"
VAR = "variable"
IRI = "IRI"
PNAME = "prefixed name"
BNODE = "blank node"
STRING = "string"
LANG = "language tag"
NUMBER = "number"
PUNCT = "punctuation"


class QueryToken(NamedTuple):
    """A piece of the text: `text[start:end]`. Keywords keep their case; compare `upper`."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def upper(self) -> str:
        """The word in capitals, '' for anything else. ASCII only: no engine folds other letters."""
        return self.text.upper() if self.kind == WORD and self.text.isascii() else ""


def refusal(text: str, at: int, what: str, todo: str) -> QueryRefused:
    """An error that says where (line and column from 1), what, and what to do."""
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return QueryRefused(f"query refused at line {line}, column {column}: {what}; {todo}")


# The character classes of the SPARQL grammar, section 19.8.
_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_TAIL = "0-9\u00b7\u0300-\u036f\u203f-\u2040"
_CHAR = f"{_BASE}_\\-{_TAIL}"
_LOCAL = rf"(?:[{_CHAR}:]|%[0-9A-Fa-f]{{2}}|\\[_~.\-!$&'()*+,;=/?#@%])"

_SPACE = re.compile(r"[ \t\r\n]+")
_COMMENT = re.compile(r"#[^\r\n]*")
_VAR = re.compile(rf"[?$][{_BASE}_0-9][{_BASE}_{_TAIL}]*")
_RUN = re.compile(rf"[{_BASE}][{_CHAR}.]*")
_BARE = re.compile(rf"[{_BASE}][{_CHAR}]*")
_PNAME_LOCAL = re.compile(rf"(?![\-\u00b7\u0300-\u036f\u203f-\u2040]){_LOCAL}+(?:\.+{_LOCAL}+)*")
_BNODE = re.compile(rf"_:[{_BASE}_0-9][{_CHAR}]*(?:\.+[{_CHAR}]+)*")
_NUMBER = re.compile(
    r"[0-9]+\.[eE][+-]?[0-9]+|(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
)
_LANG = re.compile(r"@[A-Za-z]+(?:-[A-Za-z0-9]+)*(?:--[A-Za-z]+)?")
_STRINGS = {
    '"""': re.compile(r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"""', re.DOTALL),
    "'''": re.compile(r"'''(?:[^'\\]|\\.|'{1,2}(?!'))*'''", re.DOTALL),
    '"': re.compile(r'"(?:[^"\\\r\n]|\\.)*"'),
    "'": re.compile(r"'(?:[^'\\\r\n]|\\.)*'"),
}
_CODEPOINT = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_ESCAPED_STRING = re.compile(rf"""[^\\]*(?:(?:\\[tbnrf"'\\]|{_CODEPOINT})[^\\]*)*""")
_IRI = re.compile(rf'<(?:[^\x00-\x20<>"{{}}|^`\\]|{_CODEPOINT})*>')
# what a careless engine might take for the rest of an IRI
_TO_ANGLE = re.compile(r"[^\x00-\x20<>]*>")
_SCHEME = re.compile(r"<[A-Za-z][A-Za-z0-9+.\-]*://")
_AMBIGUOUS = re.compile(r"[#'()\\]")
_PUNCT = re.compile(r"\^\^|&&|\|\||!=|<=|>=|<<|>>|[{}()\[\].,;*/|^!=<>+\-?~]")

_OTHERS = ((VAR, _VAR), (BNODE, _BNODE), (LANG, _LANG), (NUMBER, _NUMBER), (PUNCT, _PUNCT))

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_CODEPOINTS = re.compile(_CODEPOINT)
_LONE_CR_AFTER_COMMENT = re.compile(r"\r(?!\n)")


def tokenize(text: str) -> list[QueryToken]:
    """The tokens without comments and white space. QueryRefused where it cannot be read safely."""
    _check_characters(text)
    tokens: list[QueryToken] = []
    position, size, no_prefix_before = 0, len(text), 0
    while position < size:
        start, char = position, text[position]
        if char in " \t\r\n":
            position = _end(_SPACE, text, position)
            continue
        if char == "#":
            position = _comment(text, position)
            continue
        if char in "\"'":
            kind, position = STRING, _string(text, position)
        elif char == "<":
            kind, position = _angle(text, position, tokens)
        elif char == ":":
            kind, position = PNAME, _end(_PNAME_LOCAL, text, position + 1)
        elif _BARE.match(text, position):
            # A run is scanned once: what starts inside one without a colon has none either.
            run = _end(_RUN, text, position) if position >= no_prefix_before else no_prefix_before
            if text[run : run + 1] == ":" and text[run - 1] != ".":
                kind, position = PNAME, _end(_PNAME_LOCAL, text, run + 1)
            else:
                no_prefix_before = run
                kind, position = WORD, _end(_BARE, text, position)
        else:
            kind, position = _other(text, position)
        tokens.append(QueryToken(kind, text[start:position], start))
    return tokens


def _other(text: str, position: int) -> tuple[str, int]:
    """A variable, blank node, language tag, number or sign. A number goes before a dot alone."""
    for kind, pattern in _OTHERS:
        if match := pattern.match(text, position):
            if kind == NUMBER and _BARE.match(text, match.end()):
                what = "a word right after a number"
                raise refusal(text, match.end(), what, "put a space between them")
            return kind, match.end()
    raise _unreadable(text, position)


def _comment(text: str, position: int) -> int:
    end = _end(_COMMENT, text, position)
    if _LONE_CR_AFTER_COMMENT.match(text, end):
        what = "a comment that ends in a carriage return alone"
        raise refusal(text, end, what, "end the line with LF")
    return end


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _check_characters(text: str) -> None:
    """Refuse control characters, and escapes for anything but letters, digits and `-_.:,/`. The
    grammar has these escapes replaced before anything else is read, also in comments; engines do
    not. So an escaped quote, line end or bracket means one thing here and another there."""
    if bad := _CONTROL.search(text):
        what = f"the character U+{ord(bad.group()):04X} is not text"
        raise refusal(text, bad.start(), what, "remove it")
    for escape in _CODEPOINTS.finditer(text):
        code = int(escape.group()[2:], 16)
        plain = code < 0x80 and (chr(code).isalnum() or chr(code) in "-_.:,/")
        if not (plain or 0xA0 <= code < 0xD800 or 0xDFFF < code <= 0x10FFFF):
            what = f"the escape {escape.group()} can be read in two ways"
            todo = "write the character itself, or \\n, \\t, \\\", \\', \\\\ in a string"
            raise refusal(text, escape.start(), what, todo)


def _string(text: str, position: int) -> int:
    quote = text[position : position + 3]
    if quote not in _STRINGS:
        quote = text[position]
    match = _STRINGS[quote].match(text, position)
    if match is None:
        what = f"a string that begins with {quote} does not end"
        raise refusal(text, position, what, "close it with the same quotes")
    if "\\" in match.group() and not _ESCAPED_STRING.fullmatch(match.group()):
        todo = "use only \\t \\b \\n \\r \\f \\\" \\' \\\\ and \\uXXXX"
        raise refusal(text, position, "a string with an escape that SPARQL does not have", todo)
    return match.end()


def _angle(text: str, position: int, before: list[QueryToken]) -> tuple[str, int]:
    """An IRI, `<<`, `<=` or a less-than: refused where it could be two of them."""
    if match := _IRI.match(text, position):
        # After an operand an engine may take `<` for less-than. What follows then can only be read
        # as something else when it holds a quote, a comment or a parenthesis; behind `scheme://`
        # nothing can be read at all.
        iri = match.group()
        if _may_be_less_than(before) and not _SCHEME.match(iri) and _AMBIGUOUS.search(iri):
            what = f"{iri[:60]} can be read as an IRI and as less-than"
            todo = "write the IRI in full or with a prefix, or put spaces around <"
            raise refusal(text, position, what, todo)
        return IRI, match.end()
    if _TO_ANGLE.match(text, position + 1):
        todo = "put spaces around < and >, or mend the IRI"
        raise refusal(text, position, "<…> that is no IRI", todo)
    if text.startswith("<<", position) and _TO_ANGLE.match(text, position + 2):
        todo = "put a space after <<, or between < and <"
        raise refusal(text, position, "<< with no space after it", todo)
    return PUNCT, position + (2 if text[position : position + 2] in ("<<", "<=") else 1)


def _may_be_less_than(before: list[QueryToken]) -> bool:
    """Whether the last token can end an operand. After `PREFIX name:` an IRI must follow."""
    if not before:
        return False
    last = before[-1]
    if last.kind == PNAME:
        return len(before) < 2 or before[-2].upper != "PREFIX"
    if last.kind == WORD:
        return last.upper in ("TRUE", "FALSE")
    if last.kind == PUNCT:
        return last.text in (")", "}", ">>")
    return last.kind in (VAR, IRI, STRING, LANG, NUMBER)


def _unreadable(text: str, position: int) -> QueryRefused:
    if text[position] == "\\":
        what = "a backslash outside of strings and IRIs"
        return refusal(text, position, what, "write the character itself")
    what = f"the character {text[position]!r} (U+{ord(text[position]):04X}) has no meaning here"
    return refusal(text, position, what, "remove it, or put it in a string")
