"""`offline` over texts: it finds, counts and quotes words, and nothing more.

One program looks for the words of a question as they stand, else for lines that have all of them,
and puts places and quotes into `reply`; the next turn gives it out. What a text means is for a
language model.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from rlm.llm.offline.pattern import Macros, QuestionPattern
from rlm.llm.offline.planner import INTRO, final
from rlm.llm.offline.prompt import Prompt
from rlm.llm.offline.question import PreparedQuestion
from rlm.llm.types import OFFLINE_UNANSWERED

if TYPE_CHECKING:  # the REPL has it
    context: Any

_MACROS = Macros(
    {
        "text": "[(in|of) (this|the|these|those|all) (text|file|document|context)|here]",
        "it": "(the text|the file|the document|this text|it|they|the context)",
        "seen": "(mentioned|named|found|described|discussed|used|defined|written|located)",
        "occur": "(occur|appear|come up|stand|be found)",
        "wh": "(what|who|when|where)",
    }
)
_SIZES = ("lines", "words", "characters", "texts")
FORMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "find": ("Where is the sandbox mentioned?", (
        "where is {text} <seen> <text>",
        "where (does|can i|can you) {text} (<occur>|find) <text>",
        "where does <it> (mention|name|say|use) {text}",
        "[on|in] which (line|text|file|document) (mention|contain|have|name|is|does) {text} [<seen>"
        "|<occur>]", "(find|search for|look for|locate) [all] [(mentions|occurrences) of|(lines"
        "|places) with] {text} <text>",
        "is {text} <seen> <text>", "does <it> (mention|contain|name|say) {text}")),
    "count": ("How often is the sandbox mentioned?", (
        "how (many times|often) (is|does) {text} (<seen>|<occur>) <text>",
        "how (many times|often) does <it> (mention|name|say|use|contain) {text}",
        "how many (mentions|occurrences) (of {text} are there|are there of {text}) <text>",
        "count [all] [the] (mentions|occurrences) of {text} <text>")),
    "count_lines": ("How many lines mention the sandbox?", (
        "how many lines (mention|contain|have|name) {text} <text>",)),
    "size": ("How many lines are there?", (
        "how many {size} does <it> have", "how many {size} (are there|are) <text>",
        "how many {size} <text>",
        "(count|what is number of) [all] {size} <text>")),
    "quote": ("What does it say about the sandbox?", (
        "what (does <it> say|is said) (about|on|of) {text} <text>",
        "(quote|show|give) [me] [every|all] [sentence|line|passage|what is said] (about|on|with"
        "|that mention|mentioning|containing) {text} <text>", "quote {text}", "<wh> is {text}")),
}  # fmt: skip
_ARTICLE = re.compile(r"^(?:the|a|an|any) (?=.)", re.IGNORECASE)


def text_reply(prompt: Prompt) -> str:
    """The next step over a text."""
    last = prompt.last
    if last is not None:
        if last.error:
            return final(f"{OFFLINE_UNANSWERED} {' '.join(last.error.split())[:300]}")
        return 'FINAL_VAR("reply")'
    read = read_text_question(prompt.question)
    if read is None:
        examples = " · ".join(example for example, _ in FORMS.values())
        return final(
            f"{OFFLINE_UNANSWERED} offline is no language model. Over a text it finds, counts and"
            f" quotes words, and this is none of its forms of question: {examples}"
        )
    form, words = read
    uses = "Uses: none\n\n" if prompt.procedures else ""
    functions = "\n".join(inspect.getsource(each) for each in _IN_REPL)
    call = f"reply = report({form!r}, {words!r}, context)"
    code = f"import re\n{functions}\n{call}\nprint(reply[:500])"
    return f"{uses}{INTRO.format('find')}\n\n```repl\n# offline: find\n{code}\n```"


def read_text_question(question: str) -> tuple[str, str] | None:
    """The form, and the words to look for; None where it is none of the forms."""
    asked = PreparedQuestion.of(question)
    for name, (_, sources) in FORMS.items():
        for source in sources:
            for slots in QuestionPattern(source, _MACROS).match(asked)[:1]:
                if "size" in slots:
                    size = slots["size"].lower()
                    return (name, size) if size in _SIZES else None
                words, quoted = asked.restore(slots["text"])
                return name, words if quoted else _ARTICLE.sub("", words)
    return None


# -- run in the REPL


def parts_of(texts: Any) -> list[Any]:
    """Every text with its name; one text has none."""
    if isinstance(texts, dict):
        return [(str(name), texts[name]) for name in texts]
    if isinstance(texts, (list, tuple)):
        return [(f"text {number}", texts[number]) for number in range(len(texts))]
    return [("", texts)]


def find_hits(pattern: str, name: str, text: Any) -> tuple[int, int, list[Any]]:
    """Hits, lines with hits, and the first ten of these; with no call to the host for each hit."""
    first: list[Any] = []
    hits, lines, line, last = 0, 0, 1, 0
    for match in re.finditer(rf"\n|{pattern}", text, re.IGNORECASE | re.MULTILINE):
        if (hit := match.group()) != "\n":
            hits, lines = hits + 1, lines + (line != last)
            if line != last and lines <= 10:
                first.append((name, text, line, match.start()))
            last = line
        line += hit == "\n" or hit.count("\n")
    return hits, lines, first


def find_all(pattern: str, parts: list[Any]) -> tuple[int, int, list[Any]]:
    """The same over all parts."""
    found = [find_hits(pattern, *part) for part in parts]
    return sum(e[0] for e in found), sum(e[1] for e in found), [at for e in found for at in e[2]]


def report(form: str, words: str, texts: Any) -> str:
    """What was found, as an answer."""
    parts = parts_of(texts)
    if form == "size":
        return f"{measure(words, parts)} {words}."
    pieces, told = [re.escape(word) for word in words.split()], f"“{words}”"
    total, number, found = find_all(r"(?<!\w)" + r"\s+".join(pieces) + r"(?!\w)", parts)
    if not total and form in ("find", "quote") and len(pieces) > 1:
        every = "".join(rf"(?=.*(?<!\w){piece}(?!\w))" for piece in pieces)
        total, number, found = find_all(f"^{every}.+", parts)
        told = f"all of the words {told}"
    head = f"{told} occurs {total} time{'s' * (total != 1)}"
    if form == "count":
        return f"{head}."
    if form == "count_lines":
        return f"{number} line{'s' * (number != 1)} with {told}."
    if not total:
        return f"None: the text has no line with {told}."
    lines = [quote_line(*at) for at in found[:10]]
    head += "; the first 10 lines" * (number > 10)
    return "\n".join([f"{head}:", *lines] if form == "find" else [*lines, f"({head})"])


def measure(unit: str, parts: list[Any]) -> int:
    """How many lines, words, characters or texts there are."""
    if unit in ("texts", "characters"):
        return len(parts) if unit == "texts" else sum(len(text) for _, text in parts)
    pattern = {"lines": r"[^\n]*\n|[^\n]+$", "words": r"\S+"}[unit]
    return sum(1 for _, text in parts for _ in re.finditer(pattern, text))


def quote_line(name: str, text: Any, number: int, place: int) -> str:
    """The line around a place."""
    before, after = str(text[max(0, place - 300) : place]), str(text[place : place + 300])
    line = before.rpartition("\n")[2] + after.partition("\n")[0]
    where = f"{name}, line {number}" if name else f"line {number}"
    return f"{where}: “{' '.join(line.split())}”"


_IN_REPL = (parts_of, find_hits, find_all, report, measure, quote_line)
