"""What may be recalled of what a run taught: its own procedures, in general words.

Trust goes by origin (SECURITY.md has the table). A run's own lesson is recalled, unverified, when
it is one: a list of steps that shows what it works with (a call, a query, a term, code), leads to
no other server, file or command, and repeats neither what the run read nor its answer. Where the
run has read what speaks to its reader, most of its steps have to show it. What a step says, and in
which words, is not looked at: a model need not guess our vocabulary.

A model's note may be of any trade as long as the run has read nothing that others wrote: then the
words are the model's or those of the person it works for. After that it has to pass as a lesson.

Nothing is dropped here. An item that does not pass comes back with trust `quarantined` and the
reason in its provenance: a person can look at it and approve it, and no prompt shows it before.
"""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date

from rlm.context import bullets
from rlm.errors import RLMError, ValidationError
from rlm.learning.lesson import FENCED, shape_key
from rlm.learning.suspicion import (
    REPEATS_DATA,
    SURELY_ENGLISH,
    WORKERS,
    ForeignText,
    language_of,
    suspicious,
)
from rlm.ontology.query.guard import check_query
from rlm.ontology.terms import Prefixes
from rlm.store.gate import RECALLED_HEADING
from rlm.store.generality import hardcoded_name, score_generalization
from rlm.store.identity import normalize
from rlm.store.types import QUARANTINE_REASON, MemoryItem

__all__ = ["REPEATS", "TOOLS", "Gate", "RecalledTexts", "suspicious"]

GENERAL_ENOUGH = 0.5
REPEATS = "repeats what was recalled from memory"
AFTER_READING = "was noted after the run had read what others wrote, and is no lesson: it "
NO_QUERY = "holds a query that may not run"
NO_BLOCK = "opens a block of code that is no query"
NO_STEPS = "is no list of steps, each behind a -"
NO_CODE = "shows nothing that a run works with: no call, query, term or code"
NO_CODE_AFTER = (
    "was written after the run had read what speaks to its reader, and most of its steps show"
    " nothing that a run works with"
)
OTHER_LANGUAGE = "is in another language than the question"
RUN_CHARS = 40
"""At every twentieth letter of a recalled text, so 59 letters in a row hold one such run."""
SHORT_CHARS, MOSTLY = 80, 0.8
TITLE_WORDS = 10
LONG_CALL = 50
"""A shorter call is in many procedures."""
CONTENT_CHARS = 4_000
DESCRIPTION_CHARS = 400
TAG_WORDS = 3


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


TOOLS = _word_set("""
    search_entity search_by_label describe_entity probe_relationships find_path ontology_view
    predicate_frequency graph_stats sparql_schema sparql_peek sparql_query sparql_slice
    ctx_peek ctx_slice ctx_find ctx_stats mem_search mem_get mem_quote memory_query
    memory_get_context llm_query llm_query_batched rlm_query SHOW_VARS
    """)
"""Tools that read: a procedure that calls others, or what is not there, does not pass."""
PLAIN = _word_set("""
    Counter Decimal ENCODE_FOR_URI FINAL FINAL_VAR Fraction GROUP_CONCAT abs all any bool chr date
    datetime defaultdict dict divmod enumerate filter float frozenset int isinstance iter len list
    map max min next ord pow print range repr reversed round set slice sorted str sum tuple zip
    """)
METHODS = frozenset(
    name
    for kind in (str, list, dict, set, date, Counter, re, re.Pattern, re.Match, json, statistics)
    for name in dir(kind)
    if not name.startswith("_")
) | _word_set("by_label curie distinct groupby label sample where")
"""What may be called with a dot: Python's own on values, and ours on results."""

_CALL = re.compile(
    r"(?<![\w$?:])(?:(?<=(\.)))?([A-Za-z_]\w*)\((?!\s*(?:\w+\()*(?:DISTINCT\s+)?[?$*])"
)
"""A call; what is called on a variable is a function of SPARQL."""
_MODULE = re.compile(
    r"\b(os|sys|subprocess|socket|requests|urllib|shutil|httpx|pathlib)\.(?:\w+\.)*\w+\("
)
_SPAN = re.compile(r"`([^`]*)`")
_FENCED = re.compile(r"^[ \t]*```([^\n`]*)\n(.*?)^[ \t]*```[ \t]*$", re.MULTILINE | re.DOTALL)
_QUERY = re.compile(r"sparql_query\(\s*(\"\"\"|'''|\"|')(.*?)\1\s*(?=[,)])", re.DOTALL)
_NARRATION = re.compile(
    r"\b(?:I|we|the (?:agent|model|assistant|run|user|system|planner))\s+"
    r"(?:then |first |also |next |finally |successfully |was |were |had |have |has )*"
    r"(?:\w+ed|found|ran|got|made|gave|took|went|saw|wrote|did|was|were|had|chose|began|told)\b"
    r"|\bthe question (?:was|asked)\b|\bthe (?:final )?(?:answer|result) (?:was|were)\b"
    r"(?! (?:returned|found|seen|in|not|empty|wrong|too)\b)",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\W*(?:(?:then|first|next|finally|after that|also|it|successfully) )*"
    r"(?:[a-z]+ed|found|ran|got|began|wrote|made)\b",
    re.IGNORECASE,
)
_UPDATE = re.compile(
    r"\b(?:INSERT|DELETE)\s*(?:DATA\b|WHERE\b|\{)|\b(?:LOAD|CLEAR|DROP|CREATE)\s+(?:SILENT\s+)?"
    r"(?:<|GRAPH\b|ALL\b|DEFAULT\b)|\}\s*#\s"
)
"""An update outside of a call, or a comment behind a query."""
_NO_COMMENT = re.compile(r"<[^<>\s]*>|\"[^\"\n]*\"|'[^'\n]*'")
_LITERAL = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|#[^\n]*")
_WORD = re.compile(r"[^\W\d_]{2,}")
_TAG = re.compile(r"[\w.:/-][\w .:/-]{0,39}")
_HOST = re.compile(r"https?://[^/#?]+/")
_STRONG = re.compile(r"[a-z0-9][A-Z]|[_\d]|\s\S")


_COURTESY = re.compile(r"\b(?:your?|please)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"\n|(?<=[.;!?])\s+")


def read_by_model(texts: Iterable[str]) -> ForeignText:
    """What a model has read. People write "you" and "please" to each other: that speaks to a model
    only where the sentence also says what somebody does who works with data."""
    return ForeignText(
        "\n".join(
            part if WORKERS.search(part.replace("-", "")) else _COURTESY.sub(" ", part)
            for part in _SENTENCE_END.split(text)
        )
        for text in texts
    )


class RecalledTexts:
    """The texts that one run was given from memory.

    A memory that quotes a memory would grow in weight each time it is recalled, so what a run
    stores is compared with what it was given. Case, spacing and punctuation aside, some sixty
    letters in a row that were recalled are too much, and so is a text that is little else than a
    short recalled one.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._texts: set[str] = set()
        self._queries: set[str] = set()

    def note(self, text: str) -> None:
        """This text was recalled."""
        self.texts.append(text)
        self._texts.add(_letters(text))
        self._queries.update(map(shape_key, FENCED.findall(text)))

    def has_query(self, query: str) -> bool:
        """Whether a query was recalled, but for the names of its variables."""
        return shape_key(query) in self._queries

    def repeats(self, text: str) -> bool:
        """Whether a text repeats what was recalled."""
        letters = _letters(text)
        return RECALLED_HEADING in text or any(
            _is_mostly(letters, known) or _shares_run(letters, known) for known in [*self._texts]
        )

    def check(self, text: str, name: str) -> None:
        """Raise ValidationError when a text to be stored repeats what was recalled."""
        if self.repeats(text):
            raise ValidationError(
                f"{name} repeats text that was recalled from memory, where it is stored already:"
                " store only what is new, in your own words",
                field=name,
            )


def _letters(text: str) -> str:
    return "".join(char for char in normalize(text) if char.isalnum())


def _shares_run(letters: str, known: str) -> bool:
    places = range(0, len(known) - RUN_CHARS + 1, RUN_CHARS // 2)
    return any(known[at : at + RUN_CHARS] in letters for at in places)


def _is_mostly(letters: str, known: str) -> bool:
    """Whether a short text is little else than another, or the other way round."""
    small, large = sorted((letters, known), key=len)
    is_short = 0 < len(known) < SHORT_CHARS
    return is_short and len(small) >= MOSTLY * len(large) and small in large


@dataclass(frozen=True, slots=True)
class Gate:
    """What is known of a run when its lessons are looked at."""

    tools: frozenset[str] = TOOLS
    specifics: frozenset[str] = frozenset()
    """Names, IRIs and texts of the run that a procedure should not hold."""
    prefixes: Mapping[str, str] = field(default_factory=dict)
    recalled: RecalledTexts | None = None
    foreign: ForeignText | Iterable[str] = ()
    """What the run was shown that others wrote: labels, rows, passages, outputs of tools."""
    question: str = ""
    """A lesson may be in its language, or in English."""
    read: ForeignText | None = None
    """What of it a model has read; None where nobody knows: it may be all of it."""

    def __post_init__(self) -> None:
        if not isinstance(self.foreign, ForeignText):
            object.__setattr__(self, "foreign", ForeignText(self.foreign))

    def admit(self, items: Iterable[MemoryItem]) -> list[MemoryItem]:
        """The same items, each marked unverified or quarantined. Their ids do not change."""
        found = list(items)
        for item in found:
            reason = self.reason(item)
            item.trust = "quarantined" if reason else "unverified"
            if reason:
                item.provenance = {**item.provenance, QUARANTINE_REASON: reason}
            if item.task_query and suspicious(item.task_query):
                item.task_query = None
        return found

    def reason(self, item: MemoryItem) -> str:
        """Why an item may not be recalled as a lesson of a run; '' when it may."""
        text = "\n".join((item.title, item.description, item.content, *item.tags))
        # A title has too few small words to tell its language by.
        lines = (item.description, *_FENCED.sub("", item.content).splitlines())
        return (
            _form(item)
            or _find_suspicion(item, quoted=True)
            or self._calls(item)
            or self._names(item, text)
            or _find_reach(_QUERY.sub("", _FENCED.sub("", text)), self._namespaces())
            or self._find_language(lines)
            or _find_retelling(item)
            or self._specific(text)
            or self._find_repetition(item)
            or self._find_copy(item)
            or self._find_prose(item)
        )

    def note_reason(self, item: MemoryItem) -> str:
        """Why what a model noted in the course of its work may not be recalled; '' when it may.
        Where it has read nothing that others wrote, it may be of any trade, and hold commands,
        addresses and paths."""
        if not self.foreign:
            return _find_suspicion(item, quoted=False)
        why = self.reason(item)
        return AFTER_READING + why if why else ""

    def _namespaces(self) -> tuple[str, ...]:
        return tuple(Prefixes(self.prefixes).values())

    def _find_language(self, lines: Iterable[str]) -> str:
        allowed = {"", "en", language_of(self.question, SURELY_ENGLISH)}
        return "" if allowed.issuperset(map(language_of, lines)) else OTHER_LANGUAGE

    def _find_prose(self, item: MemoryItem) -> str:
        """A lesson is a list of steps that shows what it works with: in one of them, or in most
        where the run has read what speaks to its reader. No rule parts lessons from texts that a
        run was told to keep as well as this, in any language (docs/experiments.md)."""
        assert isinstance(self.foreign, ForeignText)
        if not _STEP.search(item.content):
            return NO_STEPS
        steps = bullets(_FENCED.sub("", item.content))
        shown = sum(bool(_OF_RUN.search(step)) for step in steps)
        shown += bool(_FENCED.search(item.content))
        read = self.foreign if self.read is None else self.read
        if read.speaks and 2 * shown <= len(steps):
            return NO_CODE_AFTER
        return "" if shown else NO_CODE

    def _find_copy(self, item: MemoryItem) -> str:
        """Queries are the run's own, but for the texts in them."""
        assert isinstance(self.foreign, ForeignText)
        content = _QUERY.sub(lambda call: "\n".join(_LITERAL.findall(call[2])), item.content)
        for code in [*(body for _, body in _FENCED.findall(content)), *_SPAN.findall(content)]:
            if "(" in code or "{" in code:
                content = content.replace(code, "\n".join(_LITERAL.findall(code)))
        parts = (content, item.title, item.description, *item.tags, *item.scope.task_types)
        of_graph = bool(self.prefixes) or item.scope.ontology is not None
        return REPEATS_DATA if self.foreign.repeats("\n".join(parts), of_graph=of_graph) else ""

    def _calls(self, item: MemoryItem) -> str:
        """Calls of what is not there, and queries that may not run."""
        for label, body in _FENCED.findall(item.content):
            if label.strip().casefold() != "sparql":
                return NO_BLOCK
            if why := _refuse_query(body):
                return why
        text = _FENCED.sub("", f"{item.title}\n{item.description}\n{item.content}")
        if "```" in text or "~~~" in text:
            return NO_BLOCK
        if why := _find_query(text):
            return why
        text = _QUERY.sub("sparql_query(", text)
        if unknown := next(filter(self._is_unknown, _calls_in(text)), None):
            return f"calls {unknown[1][:40]}, which is no tool that reads"
        is_open = text.count("(") > text.count(")") and _CALL.search(text)
        return "holds a call that does not end" if is_open else ""

    def _is_unknown(self, call: tuple[str, str]) -> bool:
        dot, name = call
        known = METHODS if dot else self.tools | PLAIN | METHODS
        return name not in known and (bool(dot) or not name.isalpha() or not name.isupper())

    def _names(self, item: MemoryItem, text: str) -> str:
        """Hard-coded names: none without an ontology in the scope, else of known namespaces."""
        if item.scope.ontology is None:
            if (name := hardcoded_name(item)) is not None:
                return f"names {name[:80]}, and its scope names no ontology"
            if score_generalization(item) < GENERAL_ENOUGH:
                return "is not general enough"
            return ""
        # a graph's own IRI and its versions stand beside its namespace, on the same host
        known = self._namespaces()
        hosts = tuple(found[0] for each in known if (found := _HOST.match(each)))
        for iri in re.findall(r"https?://[^\s<>\"'`)]+", text):
            if not iri.startswith((*known, *hosts)):
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
        """Procedures are alike in their words: a call or a query that is new makes one new."""
        if self.recalled is None or not self.recalled.repeats(item.content):
            return ""
        if not all(map(self.recalled.has_query, FENCED.findall(item.content))):
            return ""
        calls = [span for span in _SPAN.findall(item.content) if len(span) >= LONG_CALL]
        return REPEATS if all(map(self.recalled.repeats, calls)) else ""


def _find_suspicion(item: MemoryItem, *, quoted: bool) -> str:
    """In all the words of an item, and in its content on one line."""
    scope = (item.scope.ontology or "", *item.scope.task_types)
    whole = "\n".join((item.title, item.description, item.content, *item.tags, *scope))
    line = " ".join(item.content.split())
    return suspicious(whole, quoted=quoted) or suspicious(line, quoted=quoted)


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


def _calls_in(text: str) -> list[tuple[str, str]]:
    """The dot before each call, if any, and its name."""
    spans, prose = " ".join(_SPAN.findall(text)), _SPAN.sub(" ", text)
    modules = [("", module) for module in _MODULE.findall(text)]
    return [*_CALL.findall(spans), *filter(_is_call, _CALL.findall(prose)), *modules]


def _is_call(call: tuple[str, str]) -> bool:
    """In prose a bracket may follow any word."""
    dot, name = call
    return bool(dot) or "_" in name or name in ("eval", "exec", "input", "open", "getattr")


def _find_query(text: str) -> str:
    """A query that may not run: in a call, or an update outside of one."""
    rest = _QUERY.sub("sparql_query(", text)
    if 'sparql_query("' in rest or "sparql_query('" in rest:
        return "holds a query that does not end"
    refused = (why for _, query in _QUERY.findall(text) if (why := _refuse_query(query)))
    return next(refused, NO_QUERY if _UPDATE.search(rest) else "")


def _refuse_query(query: str) -> str:
    if "#" in _NO_COMMENT.sub(" ", query):
        return "holds a comment in a query"
    try:
        check_query(query.replace('\\"', '"'))
    except RLMError:
        return NO_QUERY
    return ""


def _find_retelling(item: MemoryItem) -> str:
    steps = bullets(item.content)
    past = sum(bool(_PAST.match(step)) for step in steps)
    story = _NARRATION.search(_SPAN.sub(" ", f"{item.description}\n{item.content}"))
    retells = story or 2 * past > len(steps)
    return "retells a run instead of saying what to do" if retells else ""


_OF_RUN = re.compile(
    r"`[^`]+`|```|(?<![\w?])[?$][A-Za-z]\w*|(?<![\w<])[A-Za-z][\w-]*:[A-Za-z_]\w*|<[^<>\s]+>"
    r"|\b(?:SELECT|ASK|WHERE|FILTER|OPTIONAL|VALUES|MINUS|UNION|BIND|COUNT|SUM|AVG|DISTINCT"
    r"|ORDER BY|GROUP BY|LIMIT|OFFSET|HAVING|COALESCE)\b|(?<![\w/.])[a-z]+_\w+(?![\w/.])"
)
"""Code, a variable, a term, a placeholder, a word of a query, a name of a tool."""


_STEP = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+\S", re.MULTILINE)


# -- what a run cannot have learnt: other servers, files and commands are out of its reach

_KNOWN_HOSTS = r"(?!(?:www\.)?(?:schema|w3|purl|xmlns|wikidata|dbpedia)\.(?:org|com)\b)"
_REACHES = re.compile(
    r"\b[\w.+-]+@[\w-]+\.\w"  # somebody's address
    rf"|(?<![\w@./:<-]){_KNOWN_HOSTS}(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|app|example|info|biz|ru"
    r"|cn|xyz|site|top|co|me|ai|sh|to|test|invalid|onion)(?![\w.-]*\()(?:\b|/)"
    r"|(?<![\w<:/?.)*+\"'^])(?:~|\.{1,2})?/(?:[\w.-]+/)*[\w.-]{2,}(?=[\s.,;`'\")]|$)"
    r"|(?<![\w-])--[a-z][\w-]+|`[a-z][\w.-]* (?:[^`]* )?-[a-z]"  # options of a command
    r"|\b[A-Za-z]:\\\w|\$\([^)]*\)|\|\s*(?:sh|bash|python|nc|curl)\b",
)


def _find_reach(text: str, known: tuple[str, ...]) -> str:
    """What leads out of a run: an address, a server, a file, a command."""
    for namespace in known:
        text = text.replace(namespace, "")
    if found := _REACHES.search(text):
        return f"reaches beyond what a run can do: {' '.join(found[0].split())[:40]!r}"
    return ""
