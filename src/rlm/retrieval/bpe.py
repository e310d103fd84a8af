"""Words to token ids, as the tokenizer that ships with wordllama does it, without importing it.

That tokenizer is a Llama-2 byte-pair encoding: a space is written as U+2581, merges are applied in
the order of their list, and a character outside the vocabulary becomes its UTF-8 bytes. Some facts
about its vocabulary, all held by tests against the file and the `tokenizers` library, make a short
version exact:

- U+2581 occurs only at the start of a token. Text whose spaces are single can therefore be cut into
  words, and a word can be encoded alone and remembered.
- A digit occurs in no token but its own (and those of bytes), and no token has both a letter and a
  mark of ASCII (the three that stand for no text aside). So an ASCII word can be cut into letters,
  single digits and marks, and each part can be merged alone and remembered.
- Every token is what its own merges make, so a part that is a token needs no merging.
- A merge exists for every pair of tokens that joins to a token, and merges are listed by the id of
  what they make, then by the ids of the two parts (runs of U+2581 aside, which no word holds). So
  the vocabulary alone is enough: the list of merges, which is most of the file, is not read.

U+2581 in a text counts as a space, which is what it means to the tokenizer. `<s>`, `</s>` and
`<unk>` in a text are plain characters. Nothing here knows about vectors.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

SPACE = "\u2581"
WORD_CHARS = 64
CACHED_WORDS = 50_000
_NEVER = 1 << 62
_PARTS = re.compile(f"{SPACE}?[A-Za-z]+|[0-9]+|[^A-Za-z0-9]+").findall


def split_words(text: str) -> list[str]:
    """The words of a text: what lies between white space or U+2581. None is empty."""
    return text.replace(SPACE, " ").split()


class Vocabulary:
    """The tokens and their ids. `encode_word` may be called from several threads."""

    def __init__(self, ids: dict[str, int]) -> None:
        """ValueError unless U+2581, all digits and 256 byte tokens are there and ids run from 0."""
        self._bytes = [f"<0x{byte:02X}>" for byte in range(256)]
        if not ids.keys() >= {SPACE, *"0123456789", *self._bytes}:
            raise ValueError("the vocabulary lacks U+2581, a digit or a byte token")
        if max(ids.values()) != len(ids) - 1 or min(ids.values()) != 0:
            raise ValueError(f"the ids of the vocabulary do not run from 0 to {len(ids) - 1}")
        self._ids = ids
        self._chars = frozenset([token for token in ids if len(token) == 1])
        self._encode_part = lru_cache(CACHED_WORDS)(self._encode)

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """Read `model.vocab` from a tokenizer file. Raises OSError or ValueError."""
        whole = orjson.loads(path.read_bytes())
        model = whole.get("model") if isinstance(whole, dict) else None
        vocab = model.get("vocab") if isinstance(model, dict) else None
        if not isinstance(vocab, dict) or not vocab or set(map(type, vocab.values())) != {int}:
            raise ValueError(f"{path.name} holds no vocabulary")
        return cls(vocab)

    def __len__(self) -> int:
        return len(self._ids)

    def continuations(self) -> NDArray[np.bool_]:
        """By id: whether a token is letters or digits that go on with a word."""
        out = np.zeros(len(self._ids), np.bool_)
        inner = [token for token in self._ids if token[0] != SPACE]
        ids = [
            self._ids[token] for token in inner if token.isalnum() or any(map(str.isalnum, token))
        ]
        out[ids] = True
        return out

    def encode_word(self, word: str) -> tuple[int, ...]:
        """The ids of one word from `split_words`; the space before it belongs to it.

        A word of `WORD_CHARS` characters or more is merged in pieces of that size, so that the time
        stays proportional to its length: tokens may then differ at the seams.
        """
        ids = self._ids
        if not word:
            return ()
        if (whole := ids.get(SPACE + word)) is not None:
            return (whole,)
        if len(word) >= WORD_CHARS or not word.isascii():
            return self._encode_part(SPACE + word)
        if word.isdigit():
            return tuple(map(ids.__getitem__, SPACE + word))
        found: list[int] = []
        for part in _PARTS(SPACE + word):
            if (whole := ids.get(part)) is not None:
                found.append(whole)
            elif part.isdigit():
                found += map(ids.__getitem__, part)
            else:
                found += self._encode_part(part)
        return tuple(found)

    def _encode(self, part: str) -> tuple[int, ...]:
        if len(part) <= WORD_CHARS + 1:  # the space before it counts besides
            return tuple(self._merge_piece(part))
        cuts = (0, *range(WORD_CHARS + 1, len(part), WORD_CHARS))
        pieces = (part[start:end] for start, end in zip(cuts, (*cuts[1:], None), strict=True))
        return tuple(token for piece in pieces for token in self._merge_piece(piece))

    def _merge_piece(self, piece: str) -> list[int]:
        if self._chars.issuperset(piece):
            symbols = list(piece)
        else:
            symbols = []
            for char in piece:
                if char in self._chars:
                    symbols.append(char)
                else:  # a lone surrogate has bytes too, and must not raise
                    symbols += [self._bytes[byte] for byte in char.encode("utf-8", "surrogatepass")]
        self._merge(symbols)
        return list(map(self._ids.__getitem__, symbols))

    def _merge(self, symbols: list[str]) -> None:
        """Join neighbours, in place, until no two of them make a token."""
        get = self._ids.get
        ranks = [get(left + right, _NEVER) for left, right in pairwise(symbols)]
        while ranks:
            best = min(ranks)
            if best == _NEVER:
                return
            at = ranks.index(best)  # the library asks the ids of the parts: it matters to no word
            symbols[at] = made = symbols[at] + symbols.pop(at + 1)
            del ranks[at]
            if at < len(ranks):
                ranks[at] = get(made + symbols[at + 1], _NEVER)
            if at > 0:
                ranks[at - 1] = get(symbols[at - 1] + made, _NEVER)
