"""Takes out of a text what a reader cannot see but a terminal or a model may obey.

Escape sequences can rewrite a terminal, bidi overrides can make code read as something else, and
Unicode tag characters spell out hidden instructions for a model. None of them is ever part of a
memory, so they go before the text is stored; what is left is in NFC and has `\\n` for every line
end.

This module does not know about secrets (`secrets` does, and wants its input cleaned by this one),
and it does not touch what scripts need: the joiners U+200C and U+200D, the marks U+200E and U+200F,
and the variation selectors of emoji stay, except between two ASCII characters, where they can only
hide something.
"""

import re
import unicodedata
from typing import Any

# Maps an ASCII text to bytes in which 1 stands for a control character that has to go.
_CONTROLS = bytes(
    1 if (code < 32 and code not in (9, 10)) or code == 127 else 0 for code in range(256)
)

_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    # OSC etc.
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"  # the rest, and what an unfinished sequence begins with
)


def _tags(letters: str) -> str:
    return "".join(chr(0xE0000 + ord(letter)) for letter in letters)


# Only the three flags that Unicode recommends may keep their tags; any others could spell a
# message.
_FLAG = f"\U0001f3f4(?:{_tags('gbeng')}|{_tags('gbsct')}|{_tags('gbwls')})\U000e007f"
_UNWANTED = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 but tab and newline
    # zero-width space, word joiner, invisible operators, byte order mark
    r"\u200b\u2060-\u2064\ufeff"
    # soft hyphen, grapheme joiner, fillers, annotations
    r"\u00ad\u034f\u180e\u3164\uffa0\ufff9-\ufffb"
    r"\u206a-\u206f"  # deprecated format characters
    "\U000e0100-\U000e01ef"  # variation selectors that no emoji and no letter of ours uses
    r"\u202a-\u202e\u2066-\u2069"  # bidi embeddings, overrides and isolates
    "\U000e0000-\U000e007f"  # tags
)
# joins nothing, but splits a key for a scanner
_WEDGE = "(?<=[!-~])[\u200c\u200d\ufe00-\ufe0f]+(?=[!-~])"
_HIDDEN = re.compile(f"({_FLAG})|[{_UNWANTED}]|{_WEDGE}")
_DIRTY = re.compile(f"[{_UNWANTED}\ud800-\udfff]|{_WEDGE}")
_SUSPECT = re.compile(f"[{_UNWANTED}\ud800-\udfff\u200c\u200d\ufe00-\ufe0f]")
_ASCII = bytes(range(128))
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """The text in NFC, without control, bidi and hidden characters; CRLF and CR become LF.

    Escape sequences go as a whole, not just their first character. Surrogates that form a pair
    become the character that they stand for, any other becomes U+FFFD, so the result can always be
    encoded. Idempotent and total.

    >>> clean_text("a\\x1b[31mb\\x1b[0m\\r\\nc\\u202e")
    'ab\\nc'
    """
    if text.isascii():
        if 1 not in text.encode("ascii").translate(_CONTROLS):
            return text
    elif not _may_be_dirty(text) or not _DIRTY.search(text):
        return unicodedata.normalize("NFC", text)
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _HIDDEN.sub(lambda match: match[1] or "", _ANSI.sub("", text))
    return unicodedata.normalize("NFC", text)  # last: what went may have kept two characters apart


def _may_be_dirty(text: str) -> bool:
    """A first look, ten times as fast as the pattern."""
    data = text.encode("utf-8", "surrogatepass")
    if 1 in data.translate(_CONTROLS):
        return True
    return bool(_SUSPECT.search(data.translate(None, _ASCII).decode("utf-8", "surrogatepass")))


def clean_value(value: Any) -> Any:
    """`clean_text` over every text of a JSON-like value, keys too; the rest as it is.

    Two keys that clean to the same text become one; the last wins.
    """
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_value(key): clean_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clean_value(item) for item in value]
    if isinstance(value, tuple):
        return tuple(clean_value(item) for item in value)
    return value
