"""A question that names one of several texts (“What does NOTES.md say about …”) is asked of that
text alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MAX_NAMED = 6

_FILE = re.compile(
    r"(?<![\w./-])(?:[\w-]+/)*[\w-]+(?:\.[\w-]+){0,3}\.(?:md|txt|rst|adoc|csv|tsv|json|jsonl|log|html?|xml|ya?ml|toml|ini|"
    r"cfg|py|js|ts|c|h|java|go|rs|sh|sql|tex|pdf|docx?|ttl|owl|rdf)\b(?![/-]|\.\w)",
    re.I,
)
_CAPITALS = re.compile(r"(?<![\w./-])[A-Z][A-Z_-]{3,}(?![\w/-]|\.\w)")
_MENTIONED = re.compile(
    r"\s+(?:be |ever |been )?(?:occurs?|appears?|comes?"
    r" up|mentioned|used|named|found|repeated|written|listed|"
    r"referenced|linked)\b",
    re.I,
)
_OTHER = re.compile(
    r"(?:\b(?:mentions?|mentioning|about|contains?|containing|called|find|search|for|word|phrase|string|name|"
    r"references?|referencing|to|with|imports?|links?)|^(?:what|where|who|which)"
    r" (?:is|are))\s+(?:the )?$",
    re.I,
)
_ACCORDING = re.compile(r"\baccording to (?:the )?$", re.I)


def names_in(question: str) -> list[str]:
    """What in a question may be the name of a text: a file, or a word in capitals (README)."""
    found = [
        match.group() for pattern in (_FILE, _CAPITALS) for match in pattern.finditer(question)
    ]
    return [name for name in dict.fromkeys(found) if len(name) < 200][:MAX_NAMED]


def asked_texts(keys: Any, named: list[str]) -> list[list[Any]]:
    """The texts that are named: name and key. Runs in the sealed REPL."""
    found = []
    for name in named:
        for key in keys:
            full = str(key)
            base = full.rpartition("/")[2]
            if name.lower() in (full.lower(), base.lower()) or (
                name.isupper() and base.partition(".")[0] == name
            ):
                found.append([name, key])
                break
    return found


def of_the_text(question: str, seen: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """The question with “the text” for the name of a text, and the keys of the texts that are meant
    (none: all)."""
    pairs = [(str(name), key) for name, key in seen.get("named", [])]
    if seen.get("texts") == 1 and not pairs:  # the only text: it is taken for the one that is named
        pairs = [(match.group(), None) for match in _FILE.finditer(question)]
    keys = []
    for name, key in pairs:
        begun, asked = 0, ""
        for match in re.finditer(
            rf"(?:\bthe (?:file |document |text )?)?(?<![\w./-]){re.escape(name)}(?![\w/-])",
            question,
        ):
            before, after = question[: match.start()], question[match.end() :]
            other = (
                _OTHER.search(before)
                and not _ACCORDING.search(before)
                and not re.match(r"\s+about\b", after)
            )
            asked += question[begun : match.start()]
            asked += match.group() if other or _MENTIONED.match(after) else "the text"
            keys += [] if other or _MENTIONED.match(after) or key is None or key in keys else [key]
            begun = match.end()
        question = asked + question[begun:]
    question = re.sub(r"the text(?:(?:,| and|, and| or) the text)+\b", "the texts", question)
    return (
        re.sub(r"^(?:according to|in|from) the texts?,?\s+(?=\w)", "", question, flags=re.I),
        keys,
    )
