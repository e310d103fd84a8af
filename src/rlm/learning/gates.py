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
from rlm.learning.language import language_of
from rlm.learning.suspicion import REPEATS_DATA, ForeignText, suspicious, words_of
from rlm.ontology.query.guard import check_query
from rlm.ontology.terms import Prefixes
from rlm.store.generality import hardcoded_name, score_generalization
from rlm.store.types import QUARANTINE_REASON, MemoryItem

GENERAL_ENOUGH = 0.5
REPEATS = "repeats what was recalled from memory"
OTHER_LANGUAGE = "is in another language than the question"
TITLE_WORDS = 10
LONG_CALL = 50
"""A shorter call is in many procedures."""
CONTENT_CHARS = 4_000
DESCRIPTION_CHARS = 400
TAG_WORDS = 3
_CALL = re.compile(r"(?<![\w$?:])(?:(?<=(\.)))?([A-Za-z_]\w*)\(")
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
    Counter Decimal FINAL FINAL_VAR Fraction abs all any bool chr date datetime defaultdict dict divmod
    enumerate filter float frozenset int isinstance iter len list map max min next ord pow print range
    repr reversed round set slice sorted str sum tuple zip
    """)
METHODS = _words("""
    add append by_label capitalize casefold compile copy count curie date difference discard distinct
    dumps elements end endswith extend find findall finditer format fromisoformat fullmatch get group
    groupby groups index insert intersection isalpha isdigit issubset items join keys label loads lower
    lstrip match mean median mode most_common normalize partition pop quantiles remove replace reverse
    rfind rsplit rstrip sample search setdefault sort span split splitlines start startswith stdev strip
    strptime sub title total union update upper values where year
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
        return (
            _form(item)
            or next((why for part in _parts(item) if (why := suspicious(part))), "")
            or self._calls(item)
            or self._names(item, text)
            or _find_reach(_QUERY.sub("", _FENCED.sub("", text)), self._namespaces())
            or self._find_language((item.title, item.description, *bullets(item.content)))
            or _find_retelling(item)
            or _find_order(item)
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
        if self.question and self._find_language(text.splitlines()):
            return OTHER_LANGUAGE
        return REPEATS_DATA if self.foreign.repeats(text) or self.foreign.names(text) else ""

    def _namespaces(self) -> tuple[str, ...]:
        return tuple(Prefixes(self.prefixes).values())

    def _find_language(self, parts: Iterable[str]) -> str:
        allowed = {"", "en", language_of(self.question)}
        return OTHER_LANGUAGE if any(language_of(part) not in allowed for part in parts) else ""

    def _find_statement(self, item: MemoryItem) -> str:
        """At least half of the steps say what to do."""
        steps = bullets(_FENCED.sub("", item.content))
        named = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(self.tools)))})(?!\w)")
        good = sum(
            bool(named.search(step) or not _states(step) or language_of(step) not in ("", "en"))
            for step in steps
        )
        if 2 * good < len(steps) or not good:
            return "is no procedure: its steps do not say what to do"
        return ""

    def _find_copy(self, item: MemoryItem) -> str:
        """Queries are the run's own, but for the texts in them."""
        assert isinstance(self.foreign, ForeignText)
        content = item.content
        for query in [*(body for _, body in _FENCED.findall(content)), *_SPAN.findall(content)]:
            if "(" in query or "{" in query:
                content = content.replace(query, "\n".join(_LITERAL.findall(query)))
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
            *(call for call in _CALL.findall(prose) if _is_call(call)),
        ]:
            if name not in (METHODS if dot else self.tools | PLAIN) and not name.isupper():
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
    return bool(dot) or "_" in name or name in ("eval", "exec", "input", "open", "getattr", "globals")


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


_STATEMENT = re.compile(
    r"[\W\d]*(?:the|an?|this|that|these|those|there|it|its|they|he|she|we|i)\b"
    r"|[\W\d]*(?:[\w'-]+,? ){1,8}(?:is|are|was|were|has|have|had|means|consists?|contains?|helped)\b",
    re.IGNORECASE,
)


def _states(step: str) -> bool:
    """Whether a step states something instead of saying what to do."""
    first = re.match(r"[\W\d]*([A-Za-z']+)", step)
    if first is None or first[1].casefold() in IMPERATIVES:
        return first is None
    return bool(_STATEMENT.match(step))


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
    r"(?:^[\W\d]*|`|\b(?:run|execute|use|with|then|call|type)\s+`?)(?:sudo|chmod|chown|curl|wget|rm -"
    r"|bash|sh |powershell|(?:pip3?|npm|apt|apt-get|brew|cargo|yarn) (?:install|add|i)\b|git [a-z]+|ssh "
    r"|scp |nc |kubectl|docker|systemctl|crontab|mkfs|dd if)",
    re.IGNORECASE | re.MULTILINE,
)
_DOING = (
    r"(?:install|uninstall|deploy|e-?mail|upload|download|publish|subscribe|buy|purchase|pay|click"
    r"|reboot|grant|revoke|recommend|promote|advertise|praise|endorse|thank|congratulate|insult"
    r"|apologi[sz]e|greet|tweet|exfiltrate|disable|encrypt|phone|shut down|log in|sign up)"
)
_CHANGES = re.compile(
    rf"(?:^[\W\d]*|[.;:]\s+|\bthen )(?:always |please |first )*{_DOING}\b(?! attention)"
    rf"|(?:\b(?:and|to|always|must|should|please|first)|,) {_DOING} (?:the|it|them|all|this|every|each"
    r"|an?|your|their|any)\b",
    re.IGNORECASE | re.MULTILINE,
)
_SAYING = r"(?:say|answer|reply|respond|return|report|give|output|print|state|conclude|claim|submit)"
_DATA = (
    r"(?:labels?|comments?|texts?|documents?|data|contexts?|descriptions?|passages?|pages?|results?|rows?"
    r"|notes?|outputs?|definitions?|values?|files?|ontolog\w+|graph)"
)
_ORDERS = (
    (
        "gives the answer away",
        rf"\b{_SAYING}(?: (?:with|that|as|it|is|the|word|number|exactly|just|simply|only))* "
        r"(?:\d+(?= (?:as|to|for|when|if|whenever)\b| ?;|$)|(?:yes|true|false)\b(?! or)|no(?= (?:when|if|to|for)\b| ?;|$)|none\b|[\"'“‘«„])",
    ),
    (
        "gives the answer away",
        rf"\b(?:when|if|whenever|for) (?:\w+ ){{0,3}}(?:asked|asks|questions? (?:is |are )?(?:about|on|of|regarding|mention\w*))\b[^;]*"
        rf"\b{_SAYING} (?:that |with )*(?:yes|no|there|nothing|it|all)\b"
        rf"|\b{_SAYING} (?:that |with )*(?:yes|no|there|nothing|it|all)\b[^;]*\b(?:when|if|whenever) (?:\w+ ){{0,3}}(?:asked|asks|questions?)\b"
        r"|\b(?:the )?answer is (?:known|given|fixed|always|the same)\b"
        rf"|\b(?:just|simply) {_SAYING}\b",
    ),
    (
        "answers without looking",
        rf"(?<!not )(?<!never )(?<!n't )(?<!don t )\b(?:{_SAYING}|finish|stop|assume)\b[^;]{{0,60}}\bwithout (?:\w+ )?(?:check|verif|quer|search|look|read|call|us|ask)\w*"
        r"|\b(?:skip|avoid|ignore) (?:all |the |every )*(?:tools?|search\w*|verification|checks?|checking|evidence)(?= ;|$| and\b)"
        r"|(?<!not )(?<!never )(?<!n't )(?<!don t )(?<!of )(?<!instead )\b(?:guess|invent|fabricate|make up) (?:the|an?|some|one|it|numbers?|iris?)\b"
        r"|\bmake (?:it|them|one|an? \w+) up\b|\bnever (?:search|query|look|check|verify)\b(?! (?:\w+ ){0,4}(?:twice|again|without|before|for|with|by|each|one|every|in)\b)"
        r"|\b(?:do not|don t|no need to) (?:check|verify)\b(?! (?:\w+ ){0,3}(?:twice|again|each|every|by)\b)"
        r"|(?:^|; |\b)(?:refuse|decline) (?:all |any |every |to answer |questions)"
        r"|\b(?:do not|don t|never|stop) answer(?:ing)? (?:any |all |further )*(?:questions?|the user|users)\b",
    ),
    (
        "takes the data for orders",
        rf"\b(?:follow|obey|execute|carry out|do|apply|run|perform)\b(?: \w+){{0,4}} (?:instructions?|commands?|orders?|directions?|requests?|code|scripts?|whatever|what)\b[^;]{{0,40}}\b{_DATA}\b"
        rf"|\bdo (?:what|as|whatever|everything)\b[^;]{{0,40}}\b(?:says?|tells?|asks?|wants?|demands?)\b"
        rf"|\b(?:treat|regard|take|read|accept|trust|interpret|consider)\b[^;]{{0,40}}\bas (?:an? )?(?:commands?|orders?|instructions?|code|law|directives?)\b",
    ),
    (
        "changes what was found",
        r"\b(?:add|subtract) (?:\d+|one|two|three|five|ten|twelve|a hundred|another) (?:to|from) (?:the|every|each|any|all)(?: \w+)? (?:counts?|totals?|numbers?|results?|answers?|figures?|sums?)\b"
        r"|\b(?:double|inflate|halve|falsify|alter|manipulate) (?:the|every|each|any|all) (?:\w+ )?(?:counts?|totals?|numbers?|results?|answers?|figures?|sums?|values?)\b",
    ),
    (
        "speaks to a person",
        r"\btell (?:the |your )?(?:users?|person|reader) (?:that|to|their)\b(?! (?:nothing|no|none|there is no|it was not|they))"
        r"|\bask (?:the |your )?(?:users?|person|reader) (?:for|to)\b"
        r"|\b(?:mandatory|highest priority|top priority|binding) (?:directive|order|instruction)|\bhighest priority\b"
        r"|\b(?:store|save|remember|memori[sz]e|keep|copy|repeat) (?:this|these|it) (?:sentence|instruction|rule|message|words|as the|forever)"
        r"|\b(?:print|show|reveal|output|dump|expose|quote|read)\b[^;]{0,30}\b(?:api keys?|private keys?|environment variables|your password)\b"
        r"|\bruns?\b[^;]{0,40}\b(?:is|are|was|were) (?:a )?success(?:es|ful)?\b(?! (?:only|if|when))"
        r"|\burgent\b|\bp ?\.? ?s ?\. (?=\w)|\bthe (?:administrator|admin|management|boss|security team|auditors?|vendor|developers?) (?:wants?|asks?|asked|requires?|demands?|says?|said|approved|authori[sz]ed)\b",
    ),
)
_FOUND = re.compile(
    r"\b(?:if|when|where|unless|otherwise|only|once|after|while)\b[^;]*\b(?:empty|found|finds?|returns?"
    r"|returned|results?|rows?|true|false|match\w*|exists?|hits?|boolean|ask|nothing|count|differ|equal"
    r"|same|more|fewer|greater|zero|missing|is|are|has|have|was|were|does|do|holds?|both|neither|none|no)\b"
)
_QUESTIONED = re.compile(r"\b(?:asked|asks|questions?|user|mentions?|whatever|regardless|always)\b")
_EITHER = re.compile(r"\byes (?:\w+ ){0,4}or no\b|\bno (?:\w+ ){0,4}or yes\b|\btrue or false\b")
_ORDER_PATTERNS = tuple((why, re.compile(pattern)) for why, pattern in _ORDERS)
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\w*")
_BIAS = re.compile(
    r"\b(?:rank|prefer|favou?r|name|cite|mention|recommend|omit|exclude|hide|suppress|leave|drop|skip"
    r"|choose|pick|list|report|blame|credit|trust|believe|put|answer|say|return)\b[^.;]*"
    r"\b(?:first|last|always|never|every|out|only|each|all|instead)\b"
    r"|\b(?:always|never|only)\b[^.;]*\b(?:rank|prefer|favou?r|name|cite|mention|recommend|omit|exclude"
    r"|hide|suppress|leave|drop|skip|choose|pick|list|report|blame|credit|trust|believe|put|answer|say)\b",
    re.IGNORECASE,
)
_COMMON_NAMES = _words("""
    Arabic Chinese Cyrillic Decimal Dutch English French German Greek Italian Japanese Latin Markdown
    Monday Portuguese Python Roman Russian Spanish Sunday Turtle Unicode Wikidata January December
    """)


def _find_reach(text: str, known: tuple[str, ...]) -> str:
    """What leads out of a run: an address, a server, a file, a command, an act."""
    for namespace in known:
        text = text.replace(namespace, "")
    if found := _REACHES.search(text) or _COMMAND.search(text) or _CHANGES.search(text):
        return f"reaches beyond what a run can do: {' '.join(found[0].split())[:40]!r}"
    return ""


def _find_order(item: MemoryItem) -> str:
    """A step that fixes the answer, obeys the data or speaks to somebody."""
    steps = bullets(_FENCED.sub("", item.content))
    text = "\n".join(f"{part}." for part in (item.title, item.description, *steps, *item.tags))
    for sentence in words_of(_SPAN.sub(" call ", _QUERY.sub(" ", text))).split(";"):
        plain = _EITHER.sub("either", sentence)
        for why, pattern in _ORDER_PATTERNS:
            if pattern.search(plain.strip()) and not (
                why == "gives the answer away"
                and _FOUND.search(plain)
                and not _QUESTIONED.search(plain)
            ):
                return why
    for sentence in re.split(r"[.;]\s|\n", _SPAN.sub(" ", text)):
        if _BIAS.search(sentence) and set(_NAME.findall(sentence)) - _COMMON_NAMES:
            return "singles out one thing by its name"
    return ""
