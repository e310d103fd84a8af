"""What came out of memory in a run, so that it is not stored again as something new.

A memory that quotes a memory would grow in weight each time it is recalled. So what a model stores
is compared with what it was given. Case, spacing and punctuation aside, a run of some sixty letters
that was recalled is too much, and so is a text that is little else than a short recalled one.
"""

from __future__ import annotations

import threading

from rlm.errors import ValidationError
from rlm.store.gate import RECALLED_HEADING
from rlm.store.identity import normalize

WINDOW_CHARS = 40
STEP_CHARS = 20
"""A run of WINDOW_CHARS + STEP_CHARS - 1 letters holds a window at a multiple of the step."""
SHORT_CHARS = 80
MOSTLY = 0.8
"""A text is little else than another when it is this share of it, or the other way round."""
MOST_RECALLED = 500_000
"""Windows and short texts that are remembered; some tens of megabytes."""


class RecalledTexts:
    """The texts that one run was given from memory. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._windows: set[int] = set()
        self._short: set[str] = set()

    def note(self, text: str) -> None:
        """This text was recalled."""
        letters = _letters(text)
        last = len(letters) - WINDOW_CHARS
        with self._lock:
            if self._is_full():
                return
            if 0 < len(letters) < SHORT_CHARS:
                self._short.add(letters)
            self._windows.update(
                hash(letters[at : at + WINDOW_CHARS]) for at in range(0, last + 1, STEP_CHARS)
            )

    def check(self, text: str, name: str) -> None:
        """Raise ValidationError when a text to be stored repeats what was recalled."""
        with self._lock:
            if self._is_full():
                raise ValidationError(
                    "this run recalled so much from memory that new and old cannot be told apart:"
                    " store it in another",
                    field=name,
                )
            repeats = RECALLED_HEADING in text or self._repeats(_letters(text))
        if repeats:
            raise ValidationError(
                f"{name} repeats text that was recalled from memory, where it is stored already:"
                " store only what is new, in your own words",
                field=name,
            )

    def _is_full(self) -> bool:
        return len(self._windows) + len(self._short) > MOST_RECALLED

    def _repeats(self, letters: str) -> bool:
        last = len(letters) - WINDOW_CHARS
        if any(hash(letters[at : at + WINDOW_CHARS]) in self._windows for at in range(last + 1)):
            return True
        if not 0 < MOSTLY * len(letters) < SHORT_CHARS:
            return False
        return any(
            min(len(letters), len(text)) >= MOSTLY * max(len(letters), len(text))
            and (letters in text or text in letters)
            for text in self._short
        )


def _letters(text: str) -> str:
    return "".join(char for char in normalize(text) if char.isalnum())
