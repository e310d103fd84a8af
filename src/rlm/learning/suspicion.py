"""What in a text is hidden, coded, copied from the data, or addressed to whoever reads it.

Nothing here asks what a text is about: passwords, uploads and deleted files are everyday work. Four
things are looked for. Marks that a prompt is made of, characters that cannot be seen, letters that
only look like others, and coded words; these need no language. Code that is fetched and run. What
stands in the texts that a run was shown (`ForeignText`), which is the strongest evidence there is:
where words come from, not what they say. And `ADDRESSED`, a few English sentences whose object is
the prompt, the judge or the memory; words in quotes or backticks are spoken about, and no order.
"""

from __future__ import annotations

import base64
import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from urllib.parse import unquote

from rlm.retrieval.tokens import STOPWORDS
from rlm.store.sanitize import clean_text

REPEATS_DATA = "repeats text of the data"
RUN_WORDS = 5
"""So many words in a row that stand in the data too are no chance."""
RUN_LETTERS = 24
"""… if they have so many letters: "in the name of the class" is everybody's."""
PART_LETTERS = 10
"""A whole sentence of so many letters that stands in the data is copied, however few its words."""
UNSPACED_LETTERS = 10
"""Where words are not set apart, so many letters in a row are a run of words."""


# -- folding

_LOOKALIKES = str.maketrans(
    "абвгеёзиіїјкмнорстухѕԁԛԝɡοαβεικνρτυχςσıłøđħ", "abbreezniijkmhopctyxsdqwgoabeikvptuxssilodh"
)
_NO_LETTERS = re.compile(r"[\W_]+")


def fold(text: str) -> str:
    """Small letters without accents; look-alikes as what they look like."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text)).casefold()
    return "".join(char for char in parts if not unicodedata.combining(char)).translate(_LOOKALIKES)


def letters(text: str) -> str:
    """Letters and digits of a folded text in one row, so that spacing and marks do not count."""
    return _NO_LETTERS.sub("", fold(text))


# -- what came from elsewhere


class ForeignText:
    """The texts that a run was shown: labels, comments, rows, pages, outputs of tools.

    Takes a list that may still grow; each text is folded once. True when there is any text.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = texts if isinstance(texts, list) else list(texts)
        self._read = 0
        self._folded: list[str] = []
        self._rated: list[tuple[int, str]] = []
        """Of each sentence: how likely it speaks to who works with the data, and its letters."""

    def __bool__(self) -> bool:
        return any(text.strip() for text in self._texts)

    def repeats(self, text: str, *, of_graph: bool = False) -> bool:
        """Whether a text repeats a run of words, or a whole sentence, that stands in one of them.
        What is kept `of_graph` may say what the graph says of itself: it is recalled only where
        that stands anyway. What may speak to the reader of the graph it may not repeat; in a line
        about a term of the graph one everyday word ("person", "tell") is not yet such a sentence.
        """
        self._fold()
        for line in text.splitlines():
            least = 2 if _TERM.search(line) else 1
            said = (known for rating, known in self._rated if rating >= least)
            texts = list(said) if of_graph else self._folded
            if any(probe in each for probe in _probes(line) for each in texts):
                return True
        return False

    @property
    def speaks(self) -> bool:
        """Whether a sentence of theirs speaks to whoever reads it."""
        self._fold()
        return any(rating == NAMES_READER for rating, _ in self._rated)

    def _fold(self) -> None:
        new, self._read = self._texts[self._read :], len(self._texts)
        self._folded += [folded for text in new if (folded := letters(text))]
        for sentence in (part for text in new for part in SENTENCE.split(text)):
            if rating := _rate_address(sentence):
                self._rated.append((rating, letters(sentence)))


SENTENCE = re.compile(r"\n|(?<=[.;!?])\s+|[\"{}\[\]]|\\n")
_READERS = re.compile(
    r"\b(?:assistants?|ai|llms?|models?|bots?|automated|judge|memor(?:y|ies)|instructions?|your?|please"
    r"|ignore|verdict|prompt|comply|obey|respond|run|questions?|answers?|repl(?:y|ies)|tasks?"
    r"|success\w*|output)\b",
    re.IGNORECASE,
)
WORKERS = re.compile(
    r"\b(?:agents?|readers?|machines?|system|developers?|maintainers?|users?|person|ask(?:s|ed)?|say"
    r"|tell|report|mention|print|send|store|rules?|verif\w+|skip|disable|execute|install|push|confirm"
    r"|approv\w+)\b",
    re.IGNORECASE,
)
"""Who works with data, and what they do: everyday words of a comment too."""
_TERM = re.compile(r"(?<![\w/:])[A-Za-z][\w-]*:[A-Za-z_][\w.-]*(?!/)")


NAMES_READER = 3


def _rate_address(sentence: str) -> int:
    """NAMES_READER, else how many of `WORKERS` there are, up to two."""
    plain = sentence.replace("-", "")
    return NAMES_READER if _READERS.search(plain) else min(2, len(WORKERS.findall(plain)))


def _probes(text: str) -> Iterator[str]:
    """The runs of letters that must not stand in the data."""
    for part in re.split(r"\n|(?<=[.;!?。！？])\s+|(?<=[。！？])|[\"“”„«»]", text):
        found = [folded for word in part.split() if (folded := letters(word))]
        whole = "".join(found)
        unspaced = bool(re.search(r"[\u0e00-\u0eff\u3040-\u9fff]", whole))
        if len(whole) >= (6 if unspaced else PART_LETTERS) and (len(found) > 2 or unspaced):
            yield whole
        for place in range(len(found) - RUN_WORDS + 1):
            end = place + RUN_WORDS
            while end < len(found) and len("".join(found[place:end])) < RUN_LETTERS:
                end += 1
            run = "".join(found[place:end])
            if len(run) >= RUN_LETTERS:
                yield run
        if unspaced or len(whole) > 40 * len(found):
            step = UNSPACED_LETTERS
            yield from (whole[at : at + step] for at in range(len(whole) - step + 1))


# -- marks, disguises, codes

_ROLES = "system|assistant|human|developer"
_START = r"^[^\w\n]*"
"""Of a line: with \\W a search would go through the lines that follow, from each of them again."""
_MARKS = (
    rf"{_START}(?:{_ROLES})\b[\s\])*_`}}|>]*:(?!//)",
    r"<\|.{0,40}\|>|<</?\s*SYS\s*>>|\[/?\s*INST\s*\]|<(?:start|end)_of_turn>|</?run-[0-9a-f]{4,}",
    r"[<‹⟨〈﹤＜]\s*(?:/\s*)?(?:system(?:-reminder)?|assistant|human|instructions?|prompt|untrusted"
    r"|(?:tool|function)_(?:results?|calls|output)|memor(?:y|ies)\w*|lesson|important)\b[^>]*>",
    r"[<‹⟨〈﹤＜]\s*/\s*(?:user|trajectory|run|data|context|judgment)\b",
    rf"{_START}(?:uses\s*:\s*(?:none|\d|\[)|(?:begin|end) of (?:data|context)\b)",
    r"\bthe data has ended\b",
    r"^(?:[^\S\n]|[>*-])*#{1,6}\s*(?:system\b|assistant\b|human\b|relevant prior experience"
    r"|(?:instruction|response)\s*:)|(?:```|~~~)\s*(?:system|assistant|user|human|prompt)\b",
    rf"{_START}(?:system|developer) (?:prompt|message|override|notice|directive)\s*:",
    r"(?-i:\bFINAL(?:_VAR)?\s*\((?!\s*[a-z_]\w*\s*\))|\bSUBMIT\s*\()|\banswer\s*\[\s*[\"']ready",
    r"(?-i:\[(?:SYSTEM|ADMIN|MEMORY|CONVERSATION|CONTEXT|DEVELOPER|ASSISTANT)\b[^\]\n]{2,80}\])",
    rf"(?-i:<<[A-Z ]{{6,}}>>|{_START}(?:BEGIN|END) (?:SYSTEM|PROMPT|INSTRUCTIONS?|CONTEXT|DATA)\b)",
    rf"[\"']role[\"']\s*:\s*[\"'](?:{_ROLES}|user|tool)[\"']",
    # pictures that carry something away, comments that are not shown
    r"!\[[^\]]*\]\([^)]*[?$={]|<\s*img\b(?>[^>]*?src\s*=)[^>]*[?${]|[\"'(]javascript:",
    r"<!--(?:\s*[\w':,.-]+){5,}",
)
_SHELL = r"(?:sudo\s+)?(?:(?:ba|z|da|k)?sh\b|iex\b|(?:python[\d.]*|perl|ruby|node|php)(?! -)\b)"
_FETCHED = (
    rf"\b(?:curl|wget|iwr|invoke-webrequest)\b[^\n]{{0,200}}\|\s*{_SHELL}",
    rf"base64\s+(?:-d|-D|--decode)\b[^\n]{{0,40}}\|\s*{_SHELL}",
    r"\b(?:ba|z)?sh\s+(?:-c\s+)?[\"']?[<$]\(\s*(?:curl|wget)|\biex\s*\(+",
    r"\beval\s+[\"']?\$\(\s*(?:curl|wget|base64|echo)|\bexec\(\s*\w*\.?(?:urlopen|get|request)",
)


_MARK = re.compile("|".join(_MARKS), re.IGNORECASE | re.MULTILINE)
_FETCHES = re.compile("|".join(_FETCHED), re.IGNORECASE)
_SPELLED = re.compile(r"(?<![^\W_])(?:[^\W\d_][\s.,_*·•|/\\-]{1,3}){5,}[^\W\d_](?![^\W_])")
_MIXED = re.compile(r"[^\W\d_]{3,}")

# -- sentences to the reader

_READER = r"(?:assistant|ai|llm|language model|chatbot|judge|evaluator|grader|extractor)"
_SELF = r"(?:rule|sentence|note|text|instruction|memory|message|lesson|procedure|step)s?"
ADDRESSED = (
    # its instructions
    r"\b(?:ignor|disregard|forget|overrid|bypass)\w* (?:\w+ ){0,3}(?:your|previous|prior|earlier"
    r"|above|system|safety) (?:\w+ ){0,2}(?:instructions?|rules?|prompts?|guidelines?)\b",
    r"\b(?:ignore|disregard|forget) (?:all (?:the )?(?:rules|instructions)|everything|the user)\b",
    r"\b(?:instructions|rules|prompt)\b[^;]{0,30}\b(?:no longer|void|outdated)\b",
    r"\b(?:you are now|act as|pretend (?:to be|that you are)) (?:an? |the )?(?:\w+ )?"
    r"(?:unrestricted|assistant|ai|dan|system|admin\w*|judge)\b",
    rf"\b(?:(?:note|message) (?:to|for) (?:the )?|dear |if you are (?:an? )?|as an ){_READER}\b",
    rf"\b{_READER} (?:must|shall) (?:now )?(?:rate|accept|agree|answer|comply|store|reveal|obey)\b",
    r"\b(?:reveal|repeat|print|output|leak|show)\b(?: \w+){0,5}"
    r" (?:your|hidden) (?:\w+ )?(?:instructions|prompt)\b",
    # the person it works for
    r"\b(?:do not|dont|never) (?:tell|inform|let) (?:the |your )(?:user|person|operator)"
    r" (?:about|of|that|what|know|this)\b",
    rf"\b(?:do not|dont|never) (?:mention|disclose|reveal) (?:this|these) {_SELF}\b",
    rf"\b(?:hide|conceal|keep) (?:this|these|it)(?: {_SELF})?(?: secret)? from (?:the|your)\b",
    # its judge
    r"\bis success\b|\bverdict (?:is|must be) (?:always )?(?:a )?success",
    r"\b(?:mark|judge|rate|report|declare|count) (?:this|every) (?:\w+ )?(?:run|trajectory|answer"
    r"|attempt)s? (?:as |to be )?(?:a )?(?:success\w*|correct|perfect|passed)\b",
    r"\bruns?\b[^;]{0,40}\b(?:report|count|judg|mark)\w* as (?:a )?(?:success|correct|passed)",
    # its memory
    rf"\b(?:store|save|write|add|copy|remember|keep) this {_SELF}\b[^;]{{0,40}}"
    r"\b(?:memor(?:y|ies)|word for word|verbatim|every (?:run|session)|(?:claude|agents) md)\b",
    r"\b(?:delete|remove|forget|replace) (?:all |any |every )*(?:other|older|conflicting)"
    r" memor(?:ies|y)\b|\bmem add\b",
    r"\bthis (?:memory|lesson) (?:is (?:verified|trusted)|overrides|outranks|must|takes)\b",
    # its answer
    r"\balways (?:answer|reply|say) (?:with )?(?:yes|no|true|\d+)\b|\banswer is (?:always|known)\b"
    r"|\b(?:answer|reply to) (?:every|any|all|each) questions?\b(?: \w+){0,4} (?:with|by|that)\b",
    r"\b(?:whatever|regardless of|no matter)\b[^;]{0,30}\b(?:question|asks?|asked)\b[^;]{0,30}"
    r"\b(?:answer|reply|respond|say)\b",
    r"\b(?:end|begin|start|include|put|add)\b[^;]{0,60}\b(?:every|each|all) (?:answers?|reply)\b",
    r"\b(?:treat|regard|take|follow|obey)\b[^;]{0,40}\b(?:labels?|comments?|outputs?)\b[^;]{0,20}"
    r"\bas (?:an? )?(?:commands?|orders|instructions?)\b",
)
_ADDRESSED = re.compile("|".join(ADDRESSED))
_QUOTED = re.compile(
    r"`[^`]*`|\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»"
)


def words_of(text: str) -> str:
    """Folded words one space apart; ; stands where a sentence ends."""
    text = re.sub(r"n['’]t\b", "nt", fold(text))
    text = re.sub(r"[.;!?](?=\s|$)", " ; ", text)
    return " ".join(re.sub(r"[^\w\s;]|_", " ", text).split())


def suspicious(text: str, *, quoted: bool = True) -> str:
    """What in a text speaks to its reader, or hides; '' when nothing does. Not `quoted`: what
    stands in quotes or backticks is spoken about."""
    if clean_text(text) != unicodedata.normalize("NFC", text).replace("\r\n", "\n"):
        return "holds characters that cannot be seen"
    if any(map(_is_disguised, _MIXED.findall(text))):
        return "writes words in letters that only look like them"
    if _SPELLED.search(text):
        return "spells words out letter by letter"
    if any(map(_is_prose, _decode_parts(text))):
        return "holds coded text"
    said = text if quoted else _QUOTED.sub(" ", text)
    shown = html.unescape(re.sub(r"\\u00([0-7][0-9a-f])", lambda code: chr(int(code[1], 16)), said))
    if _MARK.search(said) or _MARK.search(shown):
        return "holds marks of a prompt, a live picture or a hidden comment"
    if _FETCHES.search(text):
        return "fetches code and runs it"
    return "speaks to whoever reads it" if _ADDRESSED.search(words_of(said)) else ""


def _is_disguised(word: str) -> bool:
    """Latin and Cyrillic letters in one word, or letters of mathematics or of double width."""
    if word.isascii():
        return False
    if sum("\U0001d400" <= char <= "\U0001d7ff" or "！" <= char <= "～" for char in word) > 2:
        return True
    scripts = {unicodedata.name(char, "").partition(" ")[0] for char in word}
    mixed = scripts & {"CYRILLIC", "ARMENIAN", "CHEROKEE", *(["GREEK"] if len(word) > 4 else [])}
    return "LATIN" in scripts and bool(mixed)


_CODED: tuple[tuple[str, Callable[[str], str]], ...] = (
    (
        r"(?<![\w/+=-])[A-Za-z0-9+/_-]{12,}={0,2}(?![\w/+])",
        lambda found: base64.urlsafe_b64decode(found.rstrip("=") + "==").decode(),
    ),
    (
        r"(?<!\w)(?:0x)?((?:[0-9a-fA-F]{2}){10,})(?!\w)",
        lambda found: bytes.fromhex(found).decode("latin-1"),
    ),
    (
        r"(?:\\u[0-9a-fA-F]{4}){3,}|(?:\\x[0-9a-fA-F]{2}){3,}",
        lambda found: found.encode().decode("unicode_escape"),
    ),
    (r"(?:%[0-9a-fA-F]{2}){3,}[\w%+.-]*", unquote),
    (r"(?:&#?\w+;){3,}", html.unescape),
)


def _decode_parts(text: str) -> Iterator[str]:
    """What is coded in a text: base64, hexadecimal digits, escapes, entities."""
    for pattern, decode in _CODED:
        for found in re.findall(pattern, text):
            with suppress(ValueError):
                yield decode(found)


def _is_prose(text: str) -> bool:
    """Whether a decoded text reads as words: no digest and no picture does."""
    good = sum(char.isalpha() or char in " .,'/:~_" for char in text)
    return text.isprintable() and len(text) > 5 and good > 0.85 * len(text) and text.isascii()


# -- languages

ENGLISH_SHARE, SURELY_ENGLISH = 1 / 10, 1 / 4
"""English has so many small words, at least; a sentence in no other language has so many."""
OTHER_LETTERS = 6
"""So many letters of another script are a sentence, and no symbols any more."""
FEW_WORDS = 7
_SMALL_WORDS = STOPWORDS.union(
    ("not", "no", "none", "never", "all", "only", "each", "every", "more", "most", "less", "out"),
    ("before", "after", "without", "between", "first", "last", "up", "down", "off"),
)
_NO_PROSE = re.compile(r"`[^`]*`|\S*[_:$?{}()<>/\\]\S*")


def language_of(text: str, least: float = ENGLISH_SHARE) -> str:
    """'en', 'other' for another language in Latin letters, a script such as 'cyrillic', or '' when
    there are too few words to tell. English has `least` small words. Code does not count."""
    prose = _NO_PROSE.sub(" ", text)
    names = (unicodedata.name(char, "?") for char in prose if char.isalpha() and char > "\x7f")
    scripts = [re.sub("hiragana|katakana", "cjk", name.split()[0].casefold()) for name in names]
    for script in set(scripts) - {"latin"}:
        if scripts.count(script) >= OTHER_LETTERS:
            return script
    words = re.findall(r"[^\W\d_]+", prose.casefold())
    english = sum(word in _SMALL_WORDS for word in words)
    if len(words) < FEW_WORDS:
        return "en" if english else ""
    return "en" if english >= least * len(words) else "other"
