"""A question made ready for the patterns: its courtesies and asides taken off, its short forms
written out, what stands in quotes one word of its own (`"is part of"` is never read as a phrase),
and the plainer orders of its words that ask the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property

_QUOTED = re.compile(r"\"([^\"]+)\"|(?<![\w\"])'([^']+)'(?!\w)")
_PLACE = re.compile(r"\x02(\d+)\x02")
_BESIDE_QUOTES = re.compile(
    r"(?:(?:the|a|an|deprecated|obsolete|class|property|term|concept|individual|instance|object"
    r"|datatype|annotation|collection|scheme|label|name|text|word|string|called|named) )*"
    r"\x02(\d+)\x02(?: (?:class|property|term|concept|individual))?",
    re.IGNORECASE,
)
_TYPOGRAPHIC = str.maketrans("“”„«»`’‘", '""""""\'\'')
_WH = "(?:what|which|how|whether|if|who|where)"
_POLITE = re.compile(
    r"^(?:(?:please|kindly|hi|hello|hey|ok|okay|so|now|and|well|just|quick question)\b[ ,:]*|"
    r"(?:can|could|would|will) (?:you|we|i) (?:please )?|"
    r"i(?: would|'d|'m| am)? (?:want|like|need|wonder|wondering|interested|looking)"
    r"(?: to know| to| about| in| for)?[ ,]+|"
    rf"(?:tell me|let me know|know|find out|say|show me|do you know)(?=,? {_WH}\b)[ ,]*)",
    re.IGNORECASE,
)
_ONTOLOGY = (
    "(?:the|this|that|our|my) (?:whole |entire |loaded |given |current )?(?:ontology|vocabulary"
    "|(?:owl |rdf |ontology |turtle )?file|graph|model|schema|dataset|data|taxonomy|terminology)"
)
_ENDINGS = re.compile(
    r"[ ,;?.]+(?:please|thanks|thank you|for me|or not|at all|if any|exactly|by the way|if possible"
    r"|(?:and|(?<=[?.;,] )) ?(?:if so,? )?(?:which|what)"
    r"(?: ones?| is it| are they| (?:is|are) (?:that|those))?|do (?:we|you|i) have(?: here)?"
    r"|(?:and )?(?:please )?(?:name|list|show|give|tell me) (?:it|them|those|these|which)"
    rf"|(?:does|do) {_ONTOLOGY} (?:actually )?(?:contain|have|define|declare|include|hold|list|know"
    r"|give|state|provide|offer|come with))$",
    re.IGNORECASE,
)
_FILLERS = re.compile(
    rf"(?:^|(?<= ))(?:(?:in|within|inside|according to|throughout) (?:{_ONTOLOGY}|here)"
    r"(?! (?:property|properties|type|types|class|classes|\x02))"
    r"|in the (?:class |subclass |property )?(?:hierarchy|tree|taxonomy)"
    r"|(?:stated|declared|asserted|said|known|defined|supposed|considered|specified|described)"
    r" (?:to be|as being)|(?:stated|declared|asserted|marked|specified|described) as(?= \w)"
    r"|explicitly|actually|currently|formally|really|explicit|asserted|various|different(?= \w+s )"
    r"|(?:stated|declared)(?= (?:disjoint|equivalent|functional|inverse|transitive|symmetric))"
    r"|being(?= \w+ed))(?=[ ,?.!]|$)[ ,]*",
    re.IGNORECASE,
)
"""Words that change nothing about what is asked, wherever they stand."""
_ASIDE = re.compile(
    r"\(((?:(?:the|direct|directly|immediate|indirect|indirectly|inherited|ones|only|just|not|all"
    r"|any|every|at|in|to|depth|level|levels|including|recursively|transitively|total|if|stated"
    r"|domain|range|and|or)\b ?)+)\)",
    re.IGNORECASE,
)
_SHORT_FORMS = (
    (r"\b(what|which|who|where|how|there|it|that)'s\b", r"\1 is"),
    (r"\b(what|which|who|how|they)'re\b", r"\1 are"),
    (r"(?<=\w)\((?:e?s|ies)\)", ""),
    (r"\bprops?\b", "property"),
    (r" & ", " and "),
    (r"\b(?:(?:that |which )?ha(?:s|ve) no|(?:having|with) no|(?:that |which )?(?:do not|does not"
     r"|don't|doesn't) have(?: any)?|(?:that |which )?lacks?|lacking|(?:are |is )?missing"
     r"|(?:that |which )?comes? without)\b", "without"),
    (r"\b(sub|super)[- ](?=class|propert|type|kind)", r"\1"),
    (rf"^(?:does {_ONTOLOGY} (?:say|state|declare|assert)|is it (?:true|stated|said|the case"
     r"|declared))(?: that)? (.+?) (is|are) ", r"\2 \1 "),
    (r"^(?:whether|if) ", ""),
    (rf"^(what|how|who|where) (?:does|do) {_ONTOLOGY} (?:say|state|tell us)(?: that)? (?!about|on)",
     r"\1 "),
    (r"\bha(?:s|ve)\b((?: (?!have|has|and|been)\S+)*?) been\b", r"is\1"),
    (r"(?<=[\w\x02])'s(?= )", " 's"),
    (r"[,;:](?= |$)", " "),
)  # fmt: skip
"""What is written out, or said in one way for all; each anywhere, and whatever its case."""
MOST_ORDERS = 6
_ASKED = "(?:what|which|who|whom)"
_VERB = "(?:is|are|was|were|does|do|did|can|could|may|must|should)"
_WHERE = "(?:to|of|with|from|by|under|in|on|for|between|above|below|than|at)"
_SORT = "(?:class|property|propertie|term|concept|relation|individual|instance|thing)(?:e?s)?"
_DEEP = (
    "(?: (?:at (?:any|all)|all the way|directly|recursively|transitively|including|in total).*)?"
)
_ORDERS = (
    # of which classes is X a subclass
    (rf"({_WHERE}) ({_ASKED}\b.*?) ({_VERB}) (.+?)({_DEEP})", r"\2 \3 \4 \1\5"),
    # X is a subclass of which classes
    (rf"(?!(?:{_ASKED}|{_VERB}|how) )(.+?) ({_VERB}) (.+ {_WHERE}) ({_ASKED}(?: {_SORT})?)(.*)",
     r"\4 \2 \1 \3\5"),
    (rf"(?!(?:{_ASKED}|{_VERB}|how) )(.+?) (is|are) ({_ASKED} .+)", r"\3 \2 \1"),
    (rf"(?!(?:{_ASKED}|{_VERB}|how) )(.+?) has ({_ASKED} .+)", r"\2 does \1 have"),
    # how X is connected to Y, what X means
    (rf"(how|what|who|where) (?!{_VERB} |many |much |deep )(.+?) (is|are)( .+)?", r"\1 \3 \2\4"),
    (r"what (.+) means", r"what does \1 mean"),
    # which concept schemes (does the file have)
    (rf"(which|what) ((?!.*\b{_VERB}\b)\S+(?: \S+){{0,2}})", r"\1 \2 are there"),
    # is there a class that leads to X, is any class equivalent to X
    (rf"(?:is|are) (?:there )?(?:any|some|an?) ({_SORT}) (?:that|which) (.+)", r"which \1 \2"),
    (rf"(is|are) (?:there )?(?:any|some|an?) ({_SORT}) (.+)", r"which \2 \1 \3"),
)  # fmt: skip
"""Orders of words, and the plainer one that asks the same: the question word and its verb first."""


_SAME_WORDS = "are:is was:is were:is do:does did:does does:does have:has has:has which:what"
_SAME = dict(pair.split(":") for pair in f"{_SAME_WORDS} children:child".split())
_PLURALS = ((r"(?<=\w\w)ies$", "y"), (r"((?<=x)|(?<=ss|ch|sh))es$", ""), (r"(?<=\w\w[^su])s$", ""))


@cache
def plain_word(word: str) -> str:
    """A word of the forms in the shape that stands for all: small, singular, "is" for "were"."""
    word = word.lower()
    if word in _SAME:
        return _SAME[word]
    for ending, instead in _PLURALS:
        word = re.sub(ending, instead, word)
    return word


@dataclass(frozen=True)
class PreparedQuestion:
    """A question made ready: one space between words, no punctuation at their ends."""

    text: str
    quoted: tuple[str, ...] = ()

    @classmethod
    def of(cls, question: str) -> PreparedQuestion:
        text = " ".join(question.translate(_TYPOGRAPHIC).split())
        quoted: list[str] = []

        def take(match: re.Match[str]) -> str:
            quoted.append((match[1] or match[2]).strip())
            return f"\x02{len(quoted) - 1}\x02"

        text = _ASIDE.sub(r"\1", _QUOTED.sub(take, re.sub(r"[\x00-\x1f]", " ", text)))
        shorter = text
        while True:
            shorter = _POLITE.sub("", re.sub(r"[\s?.!]+$", "", _FILLERS.sub("", shorter)))
            shorter = _ENDINGS.sub("", shorter)
            if shorter == text:
                break
            text = shorter
        for pattern, plain in _SHORT_FORMS:
            text = re.sub(pattern, plain, text, flags=re.IGNORECASE)
        return cls(" ".join(text.split()), tuple(quoted))

    @cached_property
    def orders(self) -> tuple[PreparedQuestion, ...]:
        """The question itself, and the same in every plainer order."""
        texts = [self.text]
        for text in texts:  # which grow
            tried = ((re.fullmatch(each, text, re.IGNORECASE), plain) for each, plain in _ORDERS)
            found = [match.expand(plain) for match, plain in tried if match]
            texts += [one for one in found if one not in texts and len(texts) < MOST_ORDERS]
        return tuple(PreparedQuestion(text, self.quoted) for text in texts)

    @cached_property
    def words(self) -> list[str]:
        return self.text.split()

    @cached_property
    def plain_words(self) -> frozenset[str]:
        return frozenset(map(plain_word, self.words))

    def restore(self, slot: str) -> tuple[str, bool]:
        """The text of a slot as it was asked, and whether all of it stood in quotes."""
        if alone := _BESIDE_QUOTES.fullmatch(slot.strip()):
            return self.quoted[int(alone[1])], True
        words = _PLACE.sub(lambda match: self.quoted[int(match[1])], slot).strip()
        return words.replace(" 's", "'s"), False
