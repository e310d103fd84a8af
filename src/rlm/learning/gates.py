"""What may be recalled of what was learnt: procedures, in general words, that nobody smuggled in.

Nothing is dropped here. An item that does not pass comes back with trust `quarantined` and the
reason in its provenance: a person can look at it and approve it, and no prompt shows it before.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from rlm.context import bullets
from rlm.errors import RLMError, ValidationError
from rlm.ontology.query.guard import check_query
from rlm.ontology.terms import Prefixes
from rlm.store.generality import hardcoded_name, score_generalization
from rlm.store.sanitize import clean_text
from rlm.store.types import QUARANTINE_REASON, MemoryItem

GENERAL_ENOUGH = 0.5
REPEATS = "repeats what was recalled from memory"
TITLE_WORDS = 10
LONG_CALL = 50
"""A shorter call is in many procedures."""
CONTENT_CHARS = 4_000
DESCRIPTION_CHARS = 400
TAG_WORDS = 3
_CALL = re.compile(r"(?<![\w$?])(?:(?<=(\.)))?([A-Za-z_]\w*)\(")
_SPAN = re.compile(r"`([^`]*)`")
_FENCED = re.compile(r"^[ \t]*```([^\n`]*)\n(.*?)^[ \t]*```[ \t]*$", re.MULTILINE | re.DOTALL)
_QUERY = re.compile(r"sparql_query\(\s*(\"\"\"|'''|\"|')(.*?)\1\s*(?=[,)])", re.DOTALL)
_NARRATION = re.compile(
    r"\b(?:I|we|he|she|they|the (?:agent|model|assistant|run|user|system|planner))\s+"
    r"(?:then |first |also |next |finally |successfully |was |were |had |have |has )*"
    r"(?:\w+ed|found|ran|got|made|gave|took|went|saw|wrote|did|was|were|had|chose|knew|led|came|began|told|asked)\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\W*(?:then |first |next |finally |after that |also |it |successfully )*"
    r"(?:searched|found|queried|called|used|returned|"
    r"answered|looked|ran|executed|described|listed|identified|retrieved|got|discovered|tried|checked|determined|obtained|"
    r"counted|resolved|concluded|explored|verified|located|started|began|wrote|made|asked|probed|inspected|selected)\b",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"\bthe (?:final )?(?:answer|result) (?:was|is|were)\b(?!"
    r" (?:returned|found|seen|in|not|empty|wrong|too)\b)"
    r"|\bthe question (?:was|asked)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_TAG = re.compile(r"[\w.:/-][\w .:/-]{0,39}")
_STRONG = re.compile(r"[a-z0-9][A-Z]|[_\d]|\s\S")
OTHER_LETTERS = 6
"""So many letters of another script are a sentence, and no look-alikes any more."""
_LOOKALIKES = str.maketrans(
    "абвгеёзиіїјкмнорстухѕԁԛԝɡοαβεικνρτυχςσıłøđħ", "abbreezniijkmhopctyxsdqwgoabeikvptuxssilodh"
)
_LEET = str.maketrans("013457@$!|", "oieastasil")
_SPELLED = re.compile(r"(?<![^\W_])(?:[^\W_][\s.,_*·•|/\\-]{1,3}){4,}[^\W_](?![^\W_])")
_BLANK = re.compile(r"\s{2,}")
_NO_LETTERS = re.compile(r"[\W_]+")
_EITHER = re.compile(r"\byes (?:\w+ ){0,4}or no\b|\btrue or false\b|\byes no\b")
"""What asks for one of two gives neither away."""
_SUSPICION = tomllib.loads(Path(__file__).with_name("suspicion.toml").read_text("utf-8"))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TOOLS = _words("""
    search_entity search_by_label describe_entity probe_relationships find_path predicate_frequency
    graph_stats sparql_schema sparql_peek sparql_query sparql_slice ctx_peek ctx_slice ctx_find
    ctx_stats mem_search mem_get mem_quote memory_query memory_get_context llm_query
    llm_query_batched rlm_query SHOW_VARS
    """)
"""Tools that read: a procedure that calls others, or what is not there, does not pass."""
PLAIN = _words("""
    FINAL FINAL_VAR abs all any dict enumerate filter float int isinstance iter len list map max
    min next print range reversed round set sorted str sum tuple zip
    """)
METHODS = _words("""
    add append by_label count curie difference endswith extend get index intersection items join
    keys label lower pop replace sort split startswith strip union update upper values
    """)
IMPERATIVES = _words("""
    add after always analyse analyze answer apply as ask avoid batch before begin bind break
    build call cap check choose climb collect combine compare compute confirm connect convert
    count cross deduplicate describe determine distinguish do don't drop ensure enumerate
    estimate examine exclude expand explore extract fall fetch fill filter find finish first
    follow for format gather get give go group hold identify if ignore include inspect instead
    intersect issue iterate join keep leave let limit link list locate look loop make map match
    merge move name narrow never no not note nothing on once only open order page parse peek
    pick prefer present print probe put query quote read record reduce refine reject relax
    remove repeat report request resolve restrict retrieve retry return reuse review run say
    scan search see select separate show skip sort split start state step stop store take tell
    test then to too trace translate traverse treat try turn union use validate verify visit
    wait walk when where widen with work write
    """)


class RecalledLike(Protocol):
    """What a run recalled; `check` raises ValidationError for a text that repeats it."""

    def check(self, text: str, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Gate:
    """What is known of a run when its lessons are looked at."""

    tools: frozenset[str] = TOOLS
    specifics: frozenset[str] = frozenset()
    """Names, IRIs and texts of the run that a procedure should not hold."""
    prefixes: Mapping[str, str] = field(default_factory=dict)
    recalled: RecalledLike | None = None

    def admit(self, items: Iterable[MemoryItem]) -> list[MemoryItem]:
        """The same items, each marked unverified or quarantined. Their ids do not change."""
        found = []
        for item in items:
            reason = self.reason(item)
            item.trust = "quarantined" if reason else "unverified"
            if reason:
                item.provenance = {**item.provenance, QUARANTINE_REASON: reason}
            if item.task_query and suspicious(item.task_query):
                item.task_query = None
            found.append(item)
        return found

    def reason(self, item: MemoryItem) -> str:
        """Why an item may not be recalled; '' when it may."""
        text = "\n".join((item.title, item.description, item.content, *item.tags))
        return (
            _form(item)
            or next((why for part in _parts(item) if (why := suspicious(part))), "")
            or self._calls(item)
            or self._names(item, text)
            or _find_retelling(item)
            or self._specific(text)
            or _procedural(item, self.tools)
            or self._find_repetition(item)
        )

    def _calls(self, item: MemoryItem) -> str:
        """Calls of what is not there, and queries that may not run."""
        for label, body in _FENCED.findall(item.content):
            if label.strip().casefold() != "sparql":
                return "opens a block of code that is no query"
            if why := _refuse_query(body):
                return why
        text = _FENCED.sub("", f"{item.title}\n{item.description}\n{item.content}")
        if "```" in text or "~~~" in text:
            return "opens a block of code that is no query"
        for _, query in _QUERY.findall(text):
            if why := _refuse_query(query):
                return why
        text = _QUERY.sub("sparql_query(", text)
        if 'sparql_query("' in text or "sparql_query('" in text:
            return "holds a query that does not end"
        spans = " ".join(_SPAN.findall(text))
        prose = _SPAN.sub(" ", text)
        for dot, name in [
            *_CALL.findall(spans),
            *(call for call in _CALL.findall(prose) if "_" in call[1] or call[0]),
        ]:
            if name not in (METHODS if dot else self.tools | PLAIN):
                return f"calls {name[:40]}, which is no tool that reads"
        return "holds a call that does not end" if _is_open(text) else ""

    def _names(self, item: MemoryItem, text: str) -> str:
        """Hard-coded names: none without an ontology in the scope, else of known namespaces."""
        if item.scope.ontology is None:
            if (name := hardcoded_name(item)) is not None:
                return f"names {name[:80]}, and its scope names no ontology"
            if score_generalization(item) < GENERAL_ENOUGH:
                return "is not general enough"
            return ""
        known = tuple(Prefixes(self.prefixes).values())
        for iri in re.findall(r"https?://[^\s<>\"'`)]+", text):
            if not iri.startswith(known):
                return f"names {iri[:80]}, which is of no known namespace"
        return ""

    def _specific(self, text: str) -> str:
        """What only this run was about. One common word may be there by chance, two are not."""
        weak = 0
        for name in sorted(self.specifics):
            if len(name) < 4 or not re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", text):
                continue
            if _STRONG.search(name) or len(name) > 20:
                return f"retells this run: it names {name[:60]!r}"
            weak += 1
        return "retells this run: it names what the question was about" if weak > 1 else ""

    def _find_repetition(self, item: MemoryItem) -> str:
        """Procedures are alike in their words: a call that is new makes one new."""
        if self.recalled is None or not self._was_recalled(item.content):
            return ""
        calls = [span for span in _SPAN.findall(item.content) if len(span) >= LONG_CALL]
        return REPEATS if all(map(self._was_recalled, calls)) else ""

    def _was_recalled(self, text: str) -> bool:
        assert self.recalled is not None
        try:
            self.recalled.check(text, "content")
        except ValidationError:
            return True
        return False


def _parts(item: MemoryItem) -> Iterable[str]:
    """All the words of an item; its content once more on one line."""
    yield "\n".join(
        (item.title, item.description, item.content, *item.tags, *item.scope.task_types)
    )
    yield " ".join(item.content.split())


def _form(item: MemoryItem) -> str:
    if not item.title.strip() or not item.content.strip():
        return "is empty"
    if len(item.title.split()) > TITLE_WORDS or "\n" in item.title:
        return f"has a title of more than {TITLE_WORDS} words"
    if len(_WORD.findall(item.title)) < 2:
        return "has a title that does not say what it is for"
    if len(item.content) > CONTENT_CHARS or len(item.description) > DESCRIPTION_CHARS:
        return "is too long for a procedure"
    if not all(_TAG.fullmatch(tag) and len(tag.split()) <= TAG_WORDS for tag in item.tags):
        return "has a tag that is no tag"
    return ""


def _is_open(text: str) -> bool:
    """Whether a call is opened and not closed again."""
    return any(not _closes(text[match.end() :]) for match in _CALL.finditer(text))


def _closes(rest: str) -> bool:
    depth = 1
    for bracket in re.findall(r"[()]", rest):
        depth += 1 if bracket == "(" else -1
        if not depth:
            return True
    return False


def _refuse_query(query: str) -> str:
    try:
        check_query(query.replace('\\"', '"'))
    except RLMError:
        return "holds a query that may not run"
    return ""


def _find_retelling(item: MemoryItem) -> str:
    steps = bullets(item.content)
    past = sum(bool(_PAST.match(step)) for step in steps)
    story = _NARRATION.search(_SPAN.sub(" ", item.content)) or _TOLD.search(item.content)
    if (
        story
        or _NARRATION.search(item.description)
        or 2 * past > len(steps)
        or (past and past == len(steps))
    ):
        return "retells a run instead of saying what to do"
    return ""


def _procedural(item: MemoryItem, tools: frozenset[str]) -> str:
    """At least half of the steps are imperatives, or name a tool."""
    steps = bullets(_FENCED.sub("", item.content))
    named = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(tools)))})(?!\w)")
    good = 0
    for step in steps:
        first = re.match(r"[\W\d]*([A-Za-z']+)", step)
        good += bool(named.search(step)) or (
            first is not None and first[1].casefold() in IMPERATIVES
        )
    if 2 * good < len(steps) or not good:
        return "is no procedure: its steps do not say what to do"
    return ""


# -- texts that sound like instructions for whoever reads them
#
# A procedure has no business with the prompt it stands in, with roles, secrets, other servers, with
# what is stored or how a run is judged. The list is long rather than clever: a good procedure that
# is caught costs a look by a person, a bad one that is not steers every run that recalls it. Width,
# case, accents, look-alikes, digits for letters and hidden characters do not count.


def _compile(patterns: Iterable[str], flags: str = "") -> re.Pattern[str]:
    text = "|".join(patterns)
    for name, words in _SUSPICION["words"].items():
        text = text.replace(f"<{name}>", words)
    return re.compile(f"(?{flags}){text}" if flags else text)


_PHRASES: dict[str, re.Pattern[str]] = {
    why: _compile(patterns) for why, patterns in _SUSPICION["phrases"].items()
}
_SIGNS: list[tuple[str, re.Pattern[str]]] = [
    (sign["why"], _compile(sign["patterns"], sign["flags"])) for sign in _SUSPICION["signs"]
]
_SPACELESS = _compile(_SUSPICION["spaceless"]["patterns"])


def suspicious(text: str) -> str:
    """What in a text sounds like an instruction for its reader; '' when nothing does."""
    if clean_text(text) != unicodedata.normalize("NFC", text).replace("\r\n", "\n"):
        return "holds characters that cannot be seen"
    # The patterns are quadratic in the length of a gap.
    tidy = _BLANK.sub(lambda gap: "\n" if "\n" in gap[0] else " ", text)
    for reason, pattern in _SIGNS:
        if pattern.search(tidy):
            return reason
    if not text.isascii() and sum(map(_is_foreign, text)) >= OTHER_LETTERS:
        return "is in a script that nobody here has read"
    folded = _fold(text)
    for form in dict.fromkeys(
        (
            _split_words(folded),
            _split_words(_SPELLED.sub(lambda spelled: _NO_LETTERS.sub("", spelled[0]), folded)),
            _split_words(folded.translate(_LEET)),
        )
    ):
        for reason, pattern in _PHRASES.items():
            if pattern.search(form):
                return reason
    letters = _NO_LETTERS.sub("", folded.translate(_LEET))
    if _SPACELESS.search(letters) or _SPACELESS.search(_NO_LETTERS.sub("", folded)):
        return "tells the reader to ignore its instructions"
    if _SPACELESS.search(letters[::-1]):
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


def _split_words(text: str) -> str:
    """Words one space apart; quotes stay, because they show where a fixed text begins."""
    return _EITHER.sub("either", " ".join(re.sub(r"[^\w\s\"'“‘«`]|_", " ", text).split()))
