"""What may be recalled of what a run taught: its own procedures, in general words.

Trust goes by origin (SECURITY.md has the table). A run's own lesson is recalled, unverified, when
it is one: it calls tools that the run had, changes nothing outside, leads to no other server, file
or command, leaves the answer open, and repeats nothing that the run read. Its structure and where
its words come from decide, not what it is about.

Nothing is dropped here. An item that does not pass comes back with trust `quarantined` and the
reason in its provenance: a person can look at it and approve it, and no prompt shows it before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rlm.context import bullets
from rlm.errors import RLMError, ValidationError
from rlm.learning.suspicion import (
    READING,
    REPEATS_DATA,
    ForeignText,
    language_of,
    read_patterns,
    suspicious,
    words_of,
)
from rlm.ontology.query.guard import check_query
from rlm.ontology.terms import Prefixes
from rlm.store.generality import hardcoded_name, score_generalization
from rlm.store.types import QUARANTINE_REASON, MemoryItem

__all__ = ["REPEATS", "TOOLS", "Gate", "RecalledLike", "is_name", "suspicious"]

GENERAL_ENOUGH = 0.5
REPEATS = "repeats what was recalled from memory"
GIVES_AWAY = "gives the answer away"
OTHER_LANGUAGE = "is in another language than the question"
TITLE_WORDS = 10
LONG_CALL = 50
"""A shorter call is in many procedures."""
CONTENT_CHARS = 4_000
DESCRIPTION_CHARS = 400
TAG_WORDS = 3
NAME_WORDS, NAME_CHARS = 5, 60


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TOOLS = _words("""
    search_entity search_by_label describe_entity probe_relationships find_path
    predicate_frequency graph_stats sparql_schema sparql_peek sparql_query sparql_slice
    ctx_peek ctx_slice ctx_find ctx_stats mem_search mem_get mem_quote memory_query
    memory_get_context llm_query llm_query_batched rlm_query SHOW_VARS
    """)
"""Tools that read: a procedure that calls others, or what is not there, does not pass."""
PLAIN = _words("""
    Counter Decimal FINAL FINAL_VAR Fraction abs all any bool chr date datetime defaultdict
    dict divmod enumerate filter float frozenset int isinstance iter len list map max min next
    ord pow print range repr reversed round set slice sorted str sum tuple zip
    """)
SPARQL = _words("""
    abs as avg bind bnode bound ceil coalesce concat contains count datatype day distinct
    encode_for_uri exists filter floor group_concat having hours if in iri isblank isiri isliteral
    isnumeric isuri lang langmatches lcase max md5 min minutes month now rand regex replace round
    sameterm sample seconds sha1 sha256 sha384 sha512 str strafter strbefore strdt strends strlang
    strlen strstarts struuid substr sum timezone tz ucase uri uuid year
    """)
"""What stands before a bracket in a query, in small letters."""
METHODS = _words("""
    add append by_label capitalize casefold compile copy count curie date difference discard
    distinct dumps elements end endswith extend find findall finditer format fromisoformat
    fullmatch get group groupby groups index insert intersection isalpha isdigit issubset
    items join keys label loads lower lstrip match mean median mode most_common normalize
    partition pop quantiles remove replace reverse rfind rsplit rstrip sample search
    setdefault sort span split splitlines start startswith stdev strip strptime sub title
    total union update upper values where year
    """)

_CALL = re.compile(r"(?<![\w$?:])(?:(?<=(\.)))?([A-Za-z_]\w*)\(")
_TOOL = re.compile(r"\b(?:tool|command|utility) `(\w+)`")
_MODULE = re.compile(
    r"\b(os|sys|subprocess|socket|requests|urllib|shutil|httpx|pathlib)\.(?:\w+\.)*\w+\("
)
_FOR_RUNS = re.compile(rf"\b(?:{'|'.join(sorted(TOOLS))}|ontolog\w+|sparql|the graph)\b", re.I)
"""A note about the work of a run is a lesson in so far."""
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
_LITERAL = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|#[^\n]*")
_WORD = re.compile(r"[^\W\d_]{2,}")
_TAG = re.compile(r"[\w.:/-][\w .:/-]{0,39}")
_STRONG = re.compile(r"[a-z0-9][A-Z]|[_\d]|\s\S")


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
    foreign: ForeignText | Iterable[str] = ()
    """What the run was shown that others wrote: labels, rows, passages, outputs of tools."""
    question: str = ""
    """A lesson may be in its language, or in English."""

    def __post_init__(self) -> None:
        if not isinstance(self.foreign, ForeignText):
            object.__setattr__(self, "foreign", ForeignText(self.foreign))

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
        lines = (item.title, item.description, *_FENCED.sub("", item.content).splitlines())
        return (
            _form(item)
            or next((why for part in _parts(item) if (why := suspicious(part))), "")
            or self._calls(item)
            or self._names(item, text)
            or _find_reach(_QUERY.sub("", _FENCED.sub("", text)), self._namespaces())
            or self._find_language(lines)
            or _find_retelling(item)
            or _find_order((*lines, *item.tags))
            or _find_names(item)
            or self._specific(text)
            or self._find_statement(item)
            or self._find_repetition(item)
            or self._find_copy(item)
        )

    def note_reason(self, parts: Iterable[str]) -> str:
        """Why what a model noted in the course of its work may not be recalled; '' when it may. It
        may be of any trade, and hold commands, addresses and paths, unless the data had them."""
        assert isinstance(self.foreign, ForeignText)
        text = "\n".join(parts)
        if why := suspicious(text) or suspicious(" ".join(text.split())):
            return why
        if _FOR_RUNS.search(text) and (why := _find_query(text) or _find_order(text.splitlines())):
            return why
        if language_of(self.question) and self._find_language(text.splitlines()):
            return OTHER_LANGUAGE
        return REPEATS_DATA if self.foreign.repeats(text) or self.foreign.names(text) else ""

    def _namespaces(self) -> tuple[str, ...]:
        return tuple(Prefixes(self.prefixes).values())

    def _find_language(self, parts: Iterable[str]) -> str:
        allowed = {"", "en", language_of(self.question)}
        return OTHER_LANGUAGE if any(language_of(part) not in allowed for part in parts) else ""

    def _find_statement(self, item: MemoryItem) -> str:
        """A step says what to do; of four, one may say why."""
        steps = bullets(_FENCED.sub("", item.content))
        stated = sum(not _tells(step) and language_of(step) in ("", "en") for step in steps)
        if 4 * stated > len(steps) or not steps:
            return "is no procedure: its steps do not say what to do"
        return ""

    def _find_copy(self, item: MemoryItem) -> str:
        """Queries are the run's own, but for the texts in them."""
        assert isinstance(self.foreign, ForeignText)
        content = _QUERY.sub(lambda call: "\n".join(_LITERAL.findall(call[2])), item.content)
        for code in [*(body for _, body in _FENCED.findall(content)), *_SPAN.findall(content)]:
            if "(" in code or "{" in code:
                content = content.replace(code, "\n".join(_LITERAL.findall(code)))
        parts = (item.title, item.description, content, *item.tags, *item.scope.task_types)
        return REPEATS_DATA if self.foreign.repeats("\n".join(parts)) else ""

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
        if why := _find_query(text):
            return why
        text = _QUERY.sub("sparql_query(", text)
        spans = " ".join(_SPAN.findall(text))
        prose = _SPAN.sub(" ", text)
        for dot, name in [
            *_CALL.findall(spans),
            *(call for call in _CALL.findall(prose) if _is_call(call)),
        ]:
            known = METHODS if dot else self.tools | PLAIN
            if name not in known and (dot or name.casefold() not in SPARQL):
                return f"calls {name[:40]}, which is no tool that reads"
        for name in [*_TOOL.findall(text), *_MODULE.findall(text)]:
            if name not in self.tools | PLAIN:
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
        known = self._namespaces()
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


def is_name(label: str) -> bool:
    """Whether a label of the data may stand in a memory as a name: a few words, and no sentence."""
    plain = len(label) <= NAME_CHARS and len(label.split()) <= NAME_WORDS
    plain = plain and not re.search(r"[.!?;:\"`<>{}|\n]", label)
    return plain and not suspicious(label) and not _find_order((label,))


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


def _is_call(call: tuple[str, str]) -> bool:
    """In prose a bracket may follow any word."""
    dot, name = call
    return (
        bool(dot) or "_" in name or name in ("eval", "exec", "input", "open", "getattr", "globals")
    )


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


def _find_query(text: str) -> str:
    """A query that may not run."""
    for _, query in _QUERY.findall(text):
        if why := _refuse_query(query):
            return why
    rest = _QUERY.sub("sparql_query(", text)
    if 'sparql_query("' in rest or "sparql_query('" in rest:
        return "holds a query that does not end"
    return ""


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


_CLAUSE = re.compile(r"[.;:,!?()–—]\s+|\s[-–—]\s|\n|\b(?:and|then|but|or|so)\b")
_OBJECT = re.compile(
    r"[\W\d]*(?!(?:the|an?|this|that|these|those|it|they|we|you|he|she|all|each|every|is|are)\b)"
    r"[a-z]+ "
    r"(?:the|an?|them|it|each|every|all|those|that|its|their|only|both)\b",
    re.IGNORECASE,
)
"""A verb that is in no list, and its object."""
_QUERY_WORD = re.compile(r"`|[?$]\w|\b[a-z]+:[A-Za-z]|<\w+>|\b[A-Z]{3,}\b|\w_\w")


def _tells(step: str) -> bool:
    """Whether a step says what to do: one of its clauses begins with a verb of reading, or it
    names a call, a variable or a term."""
    if _QUERY_WORD.search(step):
        return True
    for clause in _CLAUSE.split(step):
        first = re.match(r"[\W\d]*([A-Za-z']+)", clause)
        if first is not None and (first[1].casefold() in READING or _OBJECT.match(clause)):
            return True
    return False


# -- what a run cannot have learnt
#
# A run reads a graph or a text with tools. Other servers, files, commands and people are out of its
# reach, what it answers depends on what it finds, and what the data says is no order.

_KNOWN_HOSTS = r"(?!(?:www\.)?(?:schema|w3|purl|xmlns|wikidata|dbpedia)\.(?:org|com)\b)"
_REACHES = re.compile(
    r"\b[\w.+-]+@[\w-]+\.\w"  # somebody's address
    rf"|(?<![\w@./:<-]){_KNOWN_HOSTS}(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|app|example|info|biz|ru"
    r"|cn|xyz|site|top|co|me|ai|sh|to|test|invalid|onion)(?![\w.-]*\()(?:\b|/)"
    r"|(?<![\w<:/?.)*+\"'^])(?:~|\.{1,2})?/(?:[\w.-]+/)*[\w.-]{2,}(?=[\s.,;`'\")]|$)"
    r"|\b[A-Za-z]:\\\w|\$\([^)]*\)|&&|\|\s*(?:sh|bash|python|nc|curl)\b",
)
_COMMAND = re.compile(
    r"(?:^[\W\d]*|`|\b(?:run|execute|use|with|then|call|type)\s+`?)(?:sudo|chmod|chown|curl|wget"
    r"|rm -|bash|sh |powershell|(?:pip3?|npm|apt|apt-get|brew|cargo|yarn) (?:install|add|i)\b"
    r"|git [a-z]+|ssh |scp |nc |kubectl|docker|systemctl|crontab|mkfs|dd if)"
    r"|\b[\w/-]+\.(?:sh|exe|ps1|bat|dll|jar)\b",
    re.IGNORECASE | re.MULTILINE,
)
_DOING = (
    r"(?:install|uninstall|deploy|(?:e-?)?mail|upload|download|publish|subscribe|buy|purchase|pay"
    r"|click|reboot|grant|revoke|recommend|promote|advertise|praise|endorse|thank|congratulate"
    r"|insult|apologi[sz]e|greet|tweet|exfiltrate|disable|turn off|switch off|encrypt|phone"
    r"|shut down|log in|sign up)"
)
_CHANGES = re.compile(
    rf"(?:^[\W\d]*|[.;:]\s+|\bthen )(?:always |please |first )*{_DOING}\b(?! attention)"
    rf"|(?:\b(?:and|to|always|must|should|please|first)|,) {_DOING}"
    r" (?:the|it|them|all|this|every|each|an?|your|their|any)\b",
    re.IGNORECASE | re.MULTILINE,
)
_FOUND = re.compile(
    r"\bonly (?:if|when|where)\b|\botherwise\b"
    r"|\b(?:if|when|where|unless|only|once|after|while)\b[^;]*\b(?:empty|found|finds?|returns?|returned"
    r"|results?|rows?|true|false|match\w*|exists?|hits?|boolean|ask|nothing|count|differ|equal|same|more"
    r"|fewer|greater|zero|missing|is|are|has|have|was|were|does|do|holds?|both|neither|none|no)\b"
)
"""The answer depends on what is found."""
_QUESTIONED = re.compile(
    r"\b(?:(?:when|if|whenever) (?:\w+ )?(?:asked|asks)|questions? (?:is|are|about|on|mention\w*)"
    r"|users?|mentions?|whatever|regardless|always)\b"
)
_EITHER = re.compile(r"\byes (?:\w+ ){0,4}or no\b|\bno (?:\w+ ){0,4}or yes\b|\btrue or false\b")
_ORDERS = read_patterns("orders")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}\w*(?![\w:(])")
_QUOTED = re.compile(
    r"\"[^\"\n]*\"|'[^'\n]*'(?!\w)|“[^”\n]*”|„[^“\n]*“|\[[^\]\n]*\]|\([^()\n]*\)|<[^>\n]*>"
)
_NUMBER = re.compile(
    r"(?<![\w.:#$-])\d{2,}(?![\w:-])(?! ?(?:%|\w+s\b|or more|or fewer|each))"  # 20 rows
)
_SIZED = re.compile(
    r"\b(?:limit|first|last|top|at most|at least|up to|by|than|of|every|about|above|below|under"
    r"|over|within|page|section|chapter|step|level|iso|http)\s+\d+",
    re.IGNORECASE,
)
_SINGLES = re.compile(
    r"\b(?:name|report|answer|say|state|rank|put|prefer|favou?r|choose|pick|recommend|cite|mention"
    r"|attribute|credit|trust|treat|count|blame|thank|exclude|omit|leave|drop|skip|ignore|remove|delete"
    r"|hide|give|return|is|are|number)\b",
    re.IGNORECASE,
)
"""What can favour one thing, or state it."""
_COMMON_NAMES = _words("""
    April Arabic August Boolean Chinese Counter Cyrillic December Decimal Dublin Dutch English
    European February Fraction French Friday GraphMeta German Germanic Greek Gregorian Hebrew
    Hindi Indian Italian Januar January Japanese Jaccard July June Korean Latin Levenshtein
    Manchester March Markdown Monday November October Polish Portuguese Protege Python Roman
    Russian Saturday September Spanish Sunday Swedish Thing Thursday Tuesday Turkish Turtle
    Unicode Wednesday Western Wikidata Wikipedia
    """)


def _find_reach(text: str, known: tuple[str, ...]) -> str:
    """What leads out of a run: an address, a server, a file, a command, an act."""
    for namespace in known:
        text = text.replace(namespace, "")
    if found := _REACHES.search(text) or _COMMAND.search(text) or _CHANGES.search(text):
        return f"reaches beyond what a run can do: {' '.join(found[0].split())[:40]!r}"
    return ""


def _find_order(parts: Iterable[str]) -> str:
    """A step that fixes the answer, obeys the data or speaks to somebody."""
    text = "\n".join(f"{part.rstrip(' .')}." for part in parts)
    for sentence in words_of(_SPAN.sub(" call ", _QUERY.sub(" ", text))).split(";"):
        plain = _EITHER.sub("either", sentence).strip()
        is_open = _FOUND.search(plain) and not _QUESTIONED.search(plain)
        for why, pattern in _ORDERS:
            if pattern.search(plain) and not (is_open and why == GIVES_AWAY):
                return why
    return ""


def _find_names(item: MemoryItem) -> str:
    """Names and numbers in prose: what holds of any data has neither."""
    parts = [item.description, *_FENCED.sub("", item.content).splitlines()]
    if sum(word[:1].isupper() for word in item.title.split()) < 3:  # else a title in capitals
        parts.append(item.title)
    prose = _SPAN.sub(" ", _QUERY.sub(" ", "\n".join(parts)))
    for _ in range(3):  # brackets within brackets
        prose = _QUOTED.sub(" ", prose)
    for sentence in re.split(r"[.;]\s|\n", prose):
        if not _SINGLES.search(sentence) or language_of(sentence) not in ("", "en"):
            continue
        names = set(_NAME.findall(sentence)) - _COMMON_NAMES
        if names and item.scope.ontology is None:
            return f"singles out {min(names)[:40]}, and its scope names no ontology"
        if found := _NUMBER.search(_SIZED.sub(" ", sentence)):
            return f"gives a number: {found[0]}"
    return ""
