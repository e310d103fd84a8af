"""Instructions that hide in data: texts that want to be obeyed by whoever reads them.

A procedure says how to ask a graph. It has no business with the prompt it stands in, with roles,
with secrets, with other servers, with what is stored or how a run is judged, and it does not know
the answer. What sounds like one of these is kept out of recall. The list is long rather than
clever: a good procedure that is caught costs a look by a person, a bad one that is not steers every
run that recalls it.

Texts are compared as letters: width, case, accents, look-alikes, digits for letters, hidden
characters and what stands between the letters do not count.
"""

from __future__ import annotations

import re
import unicodedata

from rlm.learning.suspicion_words import PHRASES, SIGNS, SQUEEZED
from rlm.store.sanitize import clean_text

OTHER_LETTERS = 6
"""So many letters of another script are a sentence, and no look-alikes any more."""
_LOOKALIKES = str.maketrans(
    "абвгеёзиіїјкмнорстухѕԁԛԝɡοαβεικνρτυχςσıłøđħ", "abbreezniijkmhopctyxsdqwgoabeikvptuxssilodh"
)
_LEET = str.maketrans("013457@$!|", "oieastasil")
_SPELLED = re.compile(r"(?<![^\W_])(?:[^\W_][\s.,_*·•|/\\-]{1,3}){4,}[^\W_](?![^\W_])")

_BLANK = re.compile(r"\s{2,}")
_EITHER = re.compile(r"\byes (?:\w+ ){0,4}or no\b|\btrue or false\b|\byes no\b")
"""What asks for one of two gives neither away."""
_PATTERNS = [(reason, re.compile("|".join(phrases))) for reason, phrases in PHRASES.items()]
_SIGNS = [(reason, re.compile("|".join(parts), flags)) for reason, flags, parts in SIGNS]
_SQUEEZED = re.compile("|".join(SQUEEZED))


def suspicious(text: str) -> str:
    """What in a text sounds like an instruction for its reader; '' when nothing does."""
    if clean_text(text) != unicodedata.normalize("NFC", text).replace("\r\n", "\n"):
        return "holds characters that cannot be seen"
    tidy = _BLANK.sub(_one_blank, text)  # the patterns are quadratic in the length of a gap
    for reason, pattern in _SIGNS:
        if pattern.search(tidy):
            return reason
    if not text.isascii() and sum(map(_is_foreign, text)) >= OTHER_LETTERS:
        return "is in a script that nobody here has read"
    folded = _fold(text)
    for form in dict.fromkeys(
        (_words(folded), _words(_SPELLED.sub(_close_up, folded)), _words(folded.translate(_LEET)))
    ):
        for reason, pattern in _PATTERNS:
            if pattern.search(form):
                return reason
    letters = re.sub(r"[\W_]+", "", folded.translate(_LEET))
    if _SQUEEZED.search(letters) or _SQUEEZED.search(re.sub(r"[\W_]+", "", folded)):
        return "tells the reader to ignore its instructions"
    if _SQUEEZED.search(letters[::-1]):
        return "holds coded text"
    return ""


def _is_foreign(char: str) -> bool:
    return char.isalpha() and not unicodedata.name(char, "").startswith("LATIN")


def _fold(text: str) -> str:
    """Small letters without accents, look-alikes as what they look like."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text)).casefold()
    return "".join(char for char in parts if not unicodedata.combining(char)).translate(_LOOKALIKES)


def _words(text: str) -> str:
    """Words one space apart; quotes stay, because they show where a fixed text begins."""
    return _EITHER.sub("either", " ".join(re.sub(r"[^\w\s\"'“‘«`]|_", " ", text).split()))


def _close_up(match: re.Match[str]) -> str:
    return re.sub(r"[\W_]+", "", match[0])


def _one_blank(match: re.Match[str]) -> str:
    return "\n" if "\n" in match[0] else " "
