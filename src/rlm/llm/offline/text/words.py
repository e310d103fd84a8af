"""The words that `offline` knows: those that say nothing, and the forms of values that it can pick
out of a text."""

from __future__ import annotations

STOP_WORDS = """
a about above after again against all also although always am among an and any anyone anything are around as at away
back be became because been before began behind being below between both but by came can cannot come could did do does
doing done down during each either else even ever every few first for from further gave get give given go goes going
gone got had has have having he her here hers herself him himself his how however i if in indeed instead into is it its
itself just kind last least less let like little made make many may me might mine more most much must my myself near
never no nor not nothing now of off often on once one only or other others our ours out over own per perhaps put quite
rather really said same say says see seem seemed shall she should since so some someone something soon still such take
than that the their theirs them themselves then there therefore these they thing things this those though through thus
till to together told too took toward towards two under until up upon us used very was way we well went were what
whatever when where whether which while who whole whom whose why will with within without would yes yet you your yours
yourself der die das und ist nicht ein eine einer eines dem den des mit von für auf auch als sich aus bei nach wie wir
ich sie man war hat sind oder aber wird zum zur les des une est pas que qui dans pour par sur avec plus son ses aux mais
los las una que del por con para como más pero sus
"""

ASKING = """
tell show give list find quote cite explain describe say says said mention mentions mentioned mentioning according text
texts document documents file files book article passage passages sentence sentences line lines paragraph paragraphs
section word words please exactly precisely context question answer state states stated happen happens happened know
talk talks discuss discusses discussed contain contains part parts called mean means meant value
values meaning define definition
"""
"""Words of a question that are about the asking, not about the text."""

NOUNS_TOO = """
well back little kind way may will might mine own thing things last least others whole used like put said answer
question value values meaning definition state states part parts context word words
"""
"""Words of these lists that can also be what a question is about."""

TEXT = (
    r"(?:(?:the|this|that|these|those|all|my|our) )?(?:(?:whole|entire|given|attached|following) )?"
    r"(?:texts?|documents?|files?|books?|articles?|context|passage|story|novel|reports?|pages?|logs?|transcript|corpus|"
    r"input|data|manuscript|table|it|here|there|everything|total|all)"
)
"""What a question may call the text that it is asked of."""

DATE = (
    r"(?<![\d.])(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}|"
    r"\d{1,2}(?:st|nd|rd|th|\.)?[ \t](?:of["
    r" \t])?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
    r"(?:,?[ \t]\d{4})?)(?!\d)|"
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|"
    r"Jul|Aug|Sept?|Oct|Nov|Dec)\.?[ \t](?:\d{1,2}(?:st|nd|rd|th)?(?:,?[ \t]\d{4})?|\d{4})(?!\d)"
)
YEAR = r"(?<![\w.,])(?:1[0-9]|20)\d\d(?![\w]|[.,]\d)"
NUMBER = r"(?<![\w.,])[-+]?\d+(?:[.,]\d+)*(?![\w])"
EMAIL = r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}"
URL = r"\b(?:https?|ftp)://[^\s<>\"'`{}|\\^\[\]]{1,2000}[^\s<>\"'`{}|\\^\[\].,;:!?)]"
LINK = (
    r"\]\(<?([^\s()<>]{1,2000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,200})?)|"
    r"(?m:^)[ \t]{0,3}\[[^\]\n]{1,200}\]:[ \t]+<?([^\s<>]{0,500}[/.#][^\s<>]{1,500})|"
    r"\bhref=[\"']([^\"'\s<>]{1,2000})|" + URL
)
"""A URL, or what a link of Markdown or HTML leads to."""
WHEN = f"{DATE}|{YEAR}|\\b\\d{{1,2}}:\\d\\d\\b"

FORMS: tuple[tuple[str, str, str], ...] = (
    (r"e-?mails?(?: address(?:es)?)?", "e-mail addresses", EMAIL),
    (r"(?:urls?|web ?sites?|web (?:pages?|addresses))", "URLs", URL),
    (r"(?:hyper)?links?", "links", LINK),
    (
        r"(?:ip|ipv4)s?(?: address(?:es)?)?",
        "IP addresses",
        r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])",
    ),
    (r"dates?", "dates", DATE),
    (r"years?", "years", YEAR),
    (r"(?:percentages?|percents)", "percentages", r"(?<![\w.,])\d+(?:[.,]\d+)*[ \t]?%"),
    (
        r"(?:prices?|amounts of money|money amounts?|sums of money)",
        "amounts of money",
        r"[$€£¥][ \t]?\d+(?:[.,]\d+)*|(?<![\w.,])\d+(?:[.,]\d+)*[ \t]?(?:[$€£¥]|USD|EUR|GBP)(?!\w)",
    ),
    (r"hash ?tags?", "hashtags", r"(?<![\w#&])#\w*[^\W\d]\w*"),
    (
        r"(?:times of day|clock times|timestamps?)",
        "times",
        r"(?<![\d:])\d{1,2}:\d\d(?::\d\d)?(?![\d:])",
    ),
    (r"(?:numbers|integers|figures|numerals|number)", "numbers", NUMBER),
)
"""What a question may call them, what we call them, and their form."""

MARKS = {
    "comma": ",",
    "full stop": ".",
    "period": ".",
    "question mark": "?",
    "exclamation mark": "!",
    "semicolon": ";",
    "colon": ":",
    "hash": "#",
    "asterisk": "*",
}
