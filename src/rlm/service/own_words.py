"""What of a turn is a person's own, sentence by sentence, and what they only show.

Told by form: fences, quotation marks, lines of logs, code, comments and commits, and the lines that
follow such a line up to a blank one. What stands in quotation marks is part of the sentence around
it and none by itself. What follows an introduction ("here's an issue", "Bob wrote:") with no mark
of where it ends may be anybody's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent

FOREIGN = "it may be somebody else's: it stands behind an introduction of others' words"

_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_QUOTED = re.compile(
    r"(?<![\w\"])\"(?=\S)[^\"]{1,2000}\"(?!\w)|“[^”]{1,2000}”|„[^“”]{1,2000}[“”]|«[^»]{1,2000}»"
    r"|(?<!\w)['‘](?=\S)(?:[^'’\n]|(?<=\w)['’](?=\w)){1,600}['’](?!\w)"
)
_PASTED = re.compile(
    r"\s*(?:[+-]{3}\s|@@|diff --git|at \S+\(|File \"|Traceback|\$ |#(?!\d)|//|/\*|\*/|<!--|\|"
    r"|import "
    r"|from \w+ import|\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:"
    r"|[*|\\/ ]*(?:commit )?(?=[a-f]*\d)[0-9a-f]{7,40}\s"
    r"|(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|E)\b[:\s\]]+|(?:Author|Date|Caused by): |npm ERR!"
    r"|[\w.]*(?:Error|Exception|Warning)\s*[:(]|(?:raise|throw|assert|await|export) \w+.*[(;=]"
    r"|(?:def|class|fn|func|const|var|return|public|private|SELECT|INSERT|UPDATE)\b.*[{(:;]\s*$)"
    r"|(?: {4}|\t)\s*(?![-*+•\s]|\d{1,2}[.)])|.*(?:[{}]|\)[;,])\s*$"
    r"|\s*[\w.]+(?:\(.*\)\W*$| [-+:]?= )"
)
_REPLY, _BLOCK = re.compile(r"\s*>"), "\0"
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)])\s+")
_END = re.compile(
    r"(?<=[.!?…])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)(?<!\bapprox\.)(?<!\b\d\.)\s+(?=\S)"
)
_SAYS = (
    r"(?<!\bi )(?<!\bwe )\b(?:wrote|writes?|said|says?|posted|comment(?:s|ed)"
    r"|repl(?:ies|ied)|suggest(?:s|ed)|answer(?:s|ed)|asks|asked|told (?:me|us)|according to"
    r"|schr(?:ieb|eibt)|geschrieben|sagte?|meinte?"
    r"|dice|dijo|escribi[óo]|(?:a )?écrit|a dit)"
)
_TEXTS = (
    r"(?:issue|ticket|comment|e?-?mail|message|review|post|thread|reply|transcript|article|readme|report|logs?"
    r"|output|trace(?:back)?|error|snippet|paste|nachricht|kommentar|fehler|ausgabe|mensaje|correo|comentario"
    r"|registro|courriel|commentaire|erreur)s?"
)
_INTRODUCES = re.compile(
    rf"{_SAYS}\b[^.?!:]{{0,60}}(?::(?=\s|$)|$)"
    rf"|^\W*(?:{_TEXTS}|from|to|subject|quote|von|betreff|de|asunto|objet)\s*:(?=\s|$)"
    r"|^\W*(?:please )?(?:translat|proofread|rephras|reword|summari[sz]|explain|übersetz|tradu)\w*"
    r"\b[^.?!:]{0,300}:"
    r"|\b(?:here(?:['’]?s| is| are| comes)|this is|these are|below|following|pasted?|pasting"
    r"|hier (?:ist|sind|kommt)"
    rf"|aquí (?:está|tienes|va)|voici|voilà)\b[^.?!:]{{0,300}}\b{_TEXTS}\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w")


def hide_quotations(text: str) -> str:
    """A text with what stands in quotation marks left out; a single word in them is a name."""
    return _QUOTED.sub(lambda found: "“…”" if " " in found[0] else found[0], text)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a turn. Code, logs, diffs and replies that were pasted are left out."""
    return (said for said in _read(text) if said != _BLOCK)


def read_own(text: str) -> tuple[list[str], int]:
    """The sentences of a person's turn, and how many of them are theirs for sure: those behind may
    be quoted from anybody."""
    parts = list(_read(text))
    for place, part in enumerate(parts):
        found = _INTRODUCES.search(hide_quotations(part))
        ended = "“" in hide_quotations(part) or parts[place + 1 : place + 2] == [_BLOCK]
        if found and not ended:
            rest = hide_quotations(part)[found.end() :]
            sure = place if found[0].endswith(":") and _WORD.search(rest) else place + 1
            own = len([each for each in parts[:sure] if each != _BLOCK])
            return [each for each in parts if each != _BLOCK], own
    own_parts = [each for each in parts if each != _BLOCK]
    return own_parts, len(own_parts)


def _read(text: str) -> Iterator[str]:
    """Sentences, and a mark for each block that was pasted."""
    whole = dedent(_FENCE.sub(f"\n{_BLOCK}\n", text))
    # quotations do not end a sentence or a line: both are looked for where they are covered
    covered = _QUOTED.sub(_cover, whole)
    at, pasted = 0, False
    for line in covered.splitlines(keepends=True):
        start, at = at, at + len(line)
        if line.strip() == _BLOCK or _REPLY.match(line):
            pasted = False
            yield _BLOCK
        elif not line.strip():
            pasted = False
        elif pasted or _PASTED.match(line):
            pasted = True
            yield _BLOCK
        else:
            yield from _split(line, whole[start:at])


def _cover(quoted: re.Match[str]) -> str:
    ends = quoted[0][-2] in ".!?" and quoted.string[quoted.end() :].lstrip()[:1].isupper()
    return "_" * (len(quoted[0]) - 1) + ("." if ends else "_")


def _split(covered: str, line: str) -> Iterator[str]:
    bullet = _BULLET.match(covered)
    start = bullet.end() if bullet else 0
    for end in [*(found.start() for found in _END.finditer(covered, start)), len(line)]:
        tidy = line[start:end].strip()
        if _WORD.search(tidy) or tidy == "👍":
            yield tidy
        start = end
