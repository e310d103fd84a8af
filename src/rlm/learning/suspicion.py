"""Whether a text that a model wants to keep speaks to whoever reads it, and not of the work.

Nothing here asks what a text is about: passwords, uploads and deleted files are everyday work. What
is looked for is a form: marks that a prompt is made of, characters that cannot be seen, words in
disguise, coded text, and a small set of sentences whose object is the reader itself: its
instructions, its judge, its memory, the person it works for, the answer it has to give. The last are
looked for in many languages, by a verb and its object close together.

A text is read in several forms, because the same sentence can be spelled in many ways: folded (case,
accents, width, look-alikes), with spelled-out words joined, with digits as the letters that they look
like, without spaces, backwards, and with what is coded in it decoded.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from rlm.store.sanitize import clean_text

REPEATS_DATA = "repeats text of the data"
RUN_WORDS = 6
"""So many words in a row that stand in the data too are no chance."""
RUN_LETTERS = 24
"""… if they have so many letters: "in the name of the class" is everybody's."""
PART_LETTERS = 10
"""A whole sentence of so many letters that stands in the data is copied, however few its words."""
SAME_STEMS = 4
"""A sentence of so many telling words that all stand in one sentence of the data says the same."""
COMPARED_CHARS = 500_000
"""How much of the data is compared in this way; it takes a second a million."""
UNSPACED_LETTERS = 10
"""Where words are not set apart, so many letters in a row are a run of words."""

# -- folding

_LOOKALIKES = str.maketrans(
    "абвгеёзиіїјкмнорстухѕԁԛԝɡοαβεικνρτυχςσıłøđħ", "abbreezniijkmhopctyxsdqwgoabeikvptuxssilodh"
)
_LEET = str.maketrans("013457@$!|", "oieastasil")
_LEET_WORD = re.compile(r"(?<!\S)(?=\S*[013457@$!|])(?=\S*[a-z])[a-z013457@$!|]{3,}(?!\S)")
_SPELLED = re.compile(r"(?<![^\W_])(?:[^\W\d_][\s.,_*·•|/\\-]{1,3}){5,}[^\W\d_](?![^\W_])")
_NO_LETTERS = re.compile(r"[\W_]+")
_MIXED = re.compile(r"[^\W\d_]{3,}")
_PLAIN = bytes(code for code in range(128) if not chr(code).isalnum())


def fold(text: str) -> str:
    """Small letters without accents; look-alikes as what they look like."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text)).casefold()
    return "".join(char for char in parts if not unicodedata.combining(char)).translate(_LOOKALIKES)


def letters(text: str) -> str:
    """Letters and digits of a folded text in one row, so that spacing and marks do not count."""
    if text.isascii():
        return text.lower().encode().translate(None, _PLAIN).decode()
    return _NO_LETTERS.sub("", fold(text))


def words_of(text: str) -> str:
    """Folded words one space apart; quotes stay, and ; stands where a sentence ends."""
    text = re.sub(r"[.;!?。！？؟](?=\s|$)|[。！？]", " ; ", fold(text))
    return " ".join(re.sub(r"[^\w\s;\"'“‘«„`:/@.$]|_", " ", text).split())


# -- what came from elsewhere


class ForeignText:
    """The texts that a run was shown: labels, comments, rows, pages, outputs of tools.

    Takes a list that may still grow; each text is folded once.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = texts if isinstance(texts, list) else list(texts)
        self._read = 0
        self._folded: list[str] = []
        self._stems: list[frozenset[str]] = []
        self._room = COMPARED_CHARS

    def repeats(self, text: str) -> bool:
        """Whether a text repeats a run of words, or a whole sentence, that stands in one of them, or
        says in other order what a sentence of theirs says."""
        self._fold()
        if any(probe in known for probe in _probes(text) for known in self._folded):
            return True
        told = [found for part in _SENTENCE.split(text) if len(found := _stems(part)) >= SAME_STEMS]
        return any(_says_same(found, known) for found in told for known in self._stems)

    def names(self, text: str) -> bool:
        """Whether a text names an address, a server or a long key that stands in one of them."""
        self._fold()
        found = [letters(name) for name in _ADDRESS.findall(text)]
        return any(name in known for name in found if len(name) > 7 for known in self._folded)

    def _fold(self) -> None:
        new, self._read = self._texts[self._read :], len(self._texts)
        self._folded += [folded for text in new if (folded := letters(text))]
        for text in new:
            if self._room > 0:
                self._room -= len(text)
                self._stems += filter(None, map(_stems, _SENTENCE.split(text)))


_ADDRESS = re.compile(
    r"(?<!<)\b(?:https?|ftp|ssh|git)://[^\s<>\"'`)]+|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w@./:-])(?:[a-z0-9-]+\.)+(?:com|net|org|io|dev|app|example|info|biz|ru|cn|xyz|site|top|co"
    r"|test|invalid)\b[\w/.-]*|(?<![\w/+])(?=[A-Za-z+/]*\d)[A-Za-z0-9+/]{24,}={0,2}"
)


_SENTENCE = re.compile(r"\n|(?<=[.;!?])\s+|[\"{}\[\]]|\\n")
_EVERYDAY = frozenset(
    fold(word)[:5]
    for word in """about above according after again alone also always answer anoth another any anything
    around array asked avoid batch because become before begin below between both break bring build call called
    cannot case change check class classes code column combine compare complete contain context convert could
    count data date describe description dict different direct distinct document does done down each either
    element else empty entity error even every exact example exist false field file filter final find first
    follow format found from function gives graph group have here hit hold identify ignore include index individual
    input instance instead into item iterate itself join just keep kind label large last later least less
    level like limit line link list literal local long look loop made make many match mean member might
    missing more most must name need never next none note nothing number object often once only ontology order
    other output over page part parse pass passage path pattern place point prefix print problem property
    query question range rank rather read reading reason record related relation repeat report resource result
    return right root row rows rule same sample say schema search second section select sentence separate
    set several shall should show similar simple since single size slice some sort source space sparql
    split start state step still stop string subclass subject such sure table take tell term test text than
    that their them then there these they thing this those three through time times together token tool total
    tree triple true type under union unique unless until upper used user using usually value variable verify
    version want well what when where whether which while whole whose will with within without word work would
    write wrong year your""".split()
)
"""The words of any procedure say nothing of where it comes from."""


def _says_same(found: frozenset[str], known: frozenset[str]) -> bool:
    shared = len(found & known)
    return shared >= (len(found) if len(found) < 6 else 0.8 * len(found))


def _stems(text: str) -> frozenset[str]:
    """The beginnings of the telling words of a sentence."""
    if len(text) > 2_000:
        return frozenset()
    found = {word[:5] for word in re.findall(r"[^\W\d_]{4,}", fold(text))}
    return frozenset(found - _EVERYDAY)


def _probes(text: str) -> Iterator[str]:
    """The runs of letters that must not stand in the data."""
    for part in re.split(r"\n|(?<=[.;!?。！？])\s+|(?<=[。！？])", text):
        found = [folded for word in part.split() if (folded := letters(word))]
        whole = "".join(found)
        unspaced = _is_unspaced(whole)
        if len(whole) >= (6 if unspaced else PART_LETTERS) and (len(found) > 2 or unspaced):
            yield whole
        for place in range(len(found) - RUN_WORDS + 1):
            run = "".join(found[place : place + RUN_WORDS])
            if len(run) >= RUN_LETTERS:
                yield run
        if unspaced or len(whole) > 40 * len(found):
            step = UNSPACED_LETTERS
            yield from (whole[at : at + step] for at in range(len(whole) - step + 1))


def _is_unspaced(text: str) -> bool:
    return any("\u0e00" <= char <= "\u0eff" or "\u3040" <= char <= "\u9fff" for char in text)


# -- forms

_SIGNS = (
    (
        "plays a role of the prompt",
        re.compile(
            r"^\W*(?:system|assistant|human|developer|inst|sys)\b\s*[\]>)*_`}|]*\s*[:>|\]](?!//)"
            r"|<\|.{0,40}\|>|<</?\s*SYS\s*>>|\[/?\s*INST\s*\]|<(?:start|end)_of_turn>"
            r"|[<‹⟨〈﹤＜]\s*/\s*(?:system|assistant|user|human|instructions?|prompt|memory|memories"
            r"|untrusted|trajectory|tool_results?|function_results?|system-reminder|data|run)\b"
            r"|</?(?:system-reminder|assistant|human|instructions?|tool_results?|important)\b[^>]*>"
            r"|</?run-[0-9a-f]{4,}|^\W*<system>\s*\S"
            r"|^[\s>*-]*#{1,6}\s*(?:system(?: prompt| message)?|assistant|human|instruction:|response:"
            r"|relevant prior experience)\b|^\W*uses\s*:\s*(?:none|\d|\[)"
            r"|(?:```|~~~)\s*(?:system|assistant|user|human|prompt)\b|\bthe data has ended\b"
            r"|\bFINAL(?:_VAR)?\s*\((?!\s*[a-z_]\w*\s*\))|\bSUBMIT\s*\(|[\"']ready[\"']\s*\]"
            r"|\[(?:SYSTEM|ADMIN|MEMORY|CONVERSATION|CONTEXT|DEVELOPER|ASSISTANT|STORED USER)\b[^\]\n]{2,80}\]|<<[A-Z ]{6,}>>"
            r"|^\W*(?:BEGIN|END) (?:OF )?(?:SYSTEM|PROMPT|INSTRUCTIONS?|CONTEXT|DATA)\b|^[\s>*-]*#{1,6}\s*(?:instruction|response)\s*:"
            r"|[\"']role[\"']\s*:\s*[\"'](?:system|assistant|user|developer|tool)[\"']"
            r"|(?:-{3,}|={3,})\s*(?:begin|end) (?:of )?(?:data|system|prompt|instructions?|context)"
            r"|\b(?:system|developer) (?:prompt|message|override|notice|directive)\s*:",
            re.IGNORECASE | re.MULTILINE,
        ),
    ),
    (
        "shows a picture or runs a script",
        re.compile(
            r"!\[[^\]]*\]\(|<\s*(?:img|script|iframe|svg)\b[^>]*(?:src|on\w+)\s*=|javascript:"
            r"|data:\w+/\w+;base64|<!--(?:\s*[\w'-]+){5,}",
            re.IGNORECASE,
        ),
    ),
    (
        "fetches code and runs it",
        re.compile(
            r"\b(?:curl|wget|iwr|invoke-webrequest|fetch)\b[^\n]{0,200}[|>]+\s*(?:sudo\s+)?"
            r"(?:ba|z|da|k)?(?:sh\b|python|perl|ruby|node|iex|php)"
            r"|\b(?:ba|z)?sh\s+(?:-c\s+)?[\"']?[<$]\(\s*(?:curl|wget)|\biex\s*\(+"
            r"|base64\s+(?:-d|-D|--decode)\b[^\n]{0,40}\|\s*(?:sudo\s+)?(?:(?:ba|z)?sh|python)"
            r"|\bexec\(\s*\w*\.?(?:urlopen|get|request)|urlopen\([^)]*\)\.read\(\)\s*\)"
            r"|\beval\s+[\"']?\$\(\s*(?:curl|wget|base64|echo)"
            r"|\b(?:fetch|download|get)\b[^\n;]{0,60}https?://\S+[^\n;]{0,40}\b(?:run|execute|eval|source)\b",
            re.IGNORECASE,
        ),
    ),
)
_RISKS = re.compile(
    r"\brm\s+-\w*[rf]\w*\s+(?:-\S+\s+)*(?:/|~|\$HOME)(?:\s|[*`'\"]|$)|\bchmod\s+(?:-R\s+)?0?777\b|\bNOPASSWD\b"
    r"|>>\s*\S*authorized_keys|\bssh-(?:rsa|ed25519) AAAA\S+[^\n]*authorized_keys|\|\s*nc\s|\bnc (?:\d+\.){3}\d+ \d+|\bgrant\b[^\n.;]{0,40}\b(?:admin\w*|owner|all)\b[^\n.;]{0,40}\b(?:everyone|public|anonymous"
    r"|all ?users|anybody)\b|\b(?:disable|turn off|switch off)\b[^\n.;]{0,30}\b(?:audit log\w*|authentication|two-factor|mfa"
    r"|2fa|branch protection|secret scanning|antivirus|malware)\b",
    re.IGNORECASE,
)
_FORBIDS = re.compile(r"\b(?:never|not|don'?t|avoid|instead of|rather than|without|no|nie|jamais|nunca)\b", re.I)
_SECRET = (
    r"(?:id_(?:rsa|ed25519|ecdsa)(?!\.pub)|~/\.(?:ssh|aws|gnupg|kube|netrc|docker)\b(?!\S*\.pub)"
    r"|/etc/(?:passwd|shadow)|\.env\b|\benviron(?:ment)?(?: ?variables?)?\b|\bprintenv\b|\benv\s*\|"
    r"|\bcredentials?\b|\bsecrets?\b|\bpasswords?\b|\bprivate keys?|\b(?:api|access|ssh|secret) ?"
    r"(?:keys?|tokens?)|\bauth\w* tokens?|\btokens?\b|\bcookies?\b|\bkeychain\b|\bmemory store\b"
    r"|\bconversations?\b|\bchat history\b|\bsystem prompt\b|\bcustomer\W*s? (?:data|records?|list|e-?mails?|messages?)\b"
    r"|\b(?:every|each|all) (?:the )?(?:questions?|answers?|repl(?:y|ies)|results?|prompts?|inputs?)"
    r"|\$(?:\w*(?:TOKEN|SECRET|PASSWORD|API_?KEY|CREDENTIAL)\w*|\(cat)|\busers?['’]s? (?:questions?|passwords?|tokens?|data|input|prompt|messages?)"
    r"|passw\w*|mots? de passe|contrase\w+|kennw\w+|schluessel|schlussel|api-schl\w+|clave\w*|парол"
    r"|ключ|密码|密钥|パスワード|كلمة المرور)"
)
_AWAY = (
    r"(?:(?<!<)https?://|ftp://|\b[\w.+-]+@[\w-]+\.\w|\bwebhook|\bpaste ?bin|\bnc\s+\S+\s+\d|\bgist\b"
    r"|\b[\w-]+\.(?:example|com|net|org|io|ru|cn|xyz|info|biz|top|site|invalid|test)\b"
    r"|\b(?:remote|external|outside|foreign|third[ -]party|attacker|public)\S* (?:server|host|site"
    r"|address|endpoint|url|service|bucket|channel|repository|tracker|forum|issue|page))"
)
_SEND = (
    r"(?:\b(?:send\w*|post\w*|upload\w*|forward\w*|transmit\w*|e-?mail\w*|mail|exfiltrat\w*|leak\w*|copy"
    r"|copies|append\w*|includ\w*|attach\w*|push|pipe|curl|nc|netcat|wget|scp|report|submit|deliver"
    r"|embed|encode|query)\b|\b(?:sende\w*|schick\w*|uebermitt\w*|ubermitt\w*|lade\b|envo\w+|envi\w+|mand\w+"
    r"|invi\w+|stuur\w*|wysl\w+|gonder\w*|kirim\w*)\b|отправ\w*|выслать|пошли\w*|发送|上传|送信|送って|أرسل)"
)
_LEAK = tuple(re.compile(part, re.IGNORECASE) for part in (_SEND, _SECRET, _AWAY))
_LOGIN = re.compile(
    r"\bauthorization\b|\bbearer\b|(?:^|\s)-(?:H|u)\s|--(?:header|user|netrc)\b|\boauth|\blog ?in\b"
    r"|\bsign in\b|\bget (?:the |a |your )?\$?\w*token|\bnever\b|\bdo not\b|\bdon'?t\b|\bnie\b"
    r"|\bjamais\b|\bnunca\b|\b(?:keep|store|put|read|take)s? \S+ in\b|\bvault\b|\bsecret (?:store|manager)"
    r"|\bcheck whether\b|\bwith (?:the|a|your|its) (?:\w+ ){0,2}(?:token|key|password|credentials?)",
    re.IGNORECASE,
)
"""A key that opens the door it is sent to, and rules that forbid the sending."""

# -- sentences whose object is the reader

_DROP = (
    r"(?:ignor\w*|disregard\w*|forget\w*|overrid\w*|overrul\w*|bypass\w*|neglect\w*|discard\w*"
    r"|abandon\w*|supersed\w*|disobey\w*|circumvent\w*|set aside|pay no (?:attention|heed) to"
    r"|(?:do not|don ?'? ?t|never|stop) (?:follow|obey|heed|comply with)\w*)"
)
_YOURS = (
    r"(?:previous|prior|earlier|above|preceding|foregoing|your|my|system|initial|original|safety"
    r"|developer|hidden|standing|aforementioned)"
)
_TOLD = r"(?:instructions?|prompts?|guidelines?|directives?|guardrails?|safeguards?)"
_RULES = r"(?:rules?|orders?|commands?|polic(?:y|ies)|restrictions?|messages?|directions?|limits?)"
_GAP = r"(?:(?:all|any|every|the|of|these|those|that|other|such|its|our|and) )*"
_IN_DATA = (
    r"(?! (?:\w+ ){0,5}(?:documents?|texts?|data|labels?|comments?|pages?|files?|e?mails?|content"
    r"|contents|readme|passages?|web|results?|outputs?|manuals?|inputs?|tickets?|logs?)\b)"
)
_READER = r"(?:the |an? |any |every |your |our )*(?:user|person|operator|human|owner|reviewer|people|customer|admin\w*|anyone|anybody|asker)s?"
_READERS = r"(?:assistant|ai|llm|language model|chatbot|judge|evaluator|grader|extractor|verifier)"
_RUN = r"(?:run|trajectory|answer|attempt|response|reply|session|episode|task|conversation)s?"
_GOOD = r"(?:success\w*|correct|passed|perfect|verified|flawless|a pass)"
_THIS = r"(?:this|these|the following|it)"
_OWN = r"(?:memory|memories|claude md|claude\.md|agents md|agents\.md|cursorrules|long term memory|memory store|knowledge base of the agent)"
_SAY = r"(?:answer|reply|respond|say|claim|state|conclude|insist|tell \w+)"
_FIXED = r"(?:(?:exactly|just|simply|only|the|word|number|text|value|with|that|is|it|always) )*(?:\d+(?! ?(?:words?|sentences?|lines?|characters?|seconds?|minutes?|times|steps?|bullet|items?|%))\b|(?:yes|no|true|false|none|null)\b(?! or\b)|[\"'“‘«„`])"

_SENTENCES: tuple[tuple[str, str], ...] = (
    (
        "tells the reader to ignore its instructions",
        rf"\b{_DROP} {_GAP}{_YOURS} (?:\w+ ){{0,2}}(?:{_TOLD}|{_RULES})\b"
        rf"|\b(?:ignor|disregard|forget|overrid|bypass)\w* {_GAP}{_TOLD}\b{_IN_DATA}"
        rf"|\b(?:ignor|disregard|forget|overrid|bypass)\w* (?:all|any) (?:of )?(?:the |these |your )*{_RULES}"
        r"(?: (?:that |which )?you\b| above\b| before\b|(?= ;|$))"
        rf"|\b{_DROP} (?:everything|all|anything|what)(?: \w+){{0,3}} (?:above|before|told|said|earlier|know)\b"
        rf"|\bforget everything\b|\b{_DROP} the (?:user|question|task)\b"
        rf"|\b(?:previous|prior|earlier|your|above|system) (?:{_TOLD}|{_RULES})(?: \w+){{0,2}} (?:no longer"
        r"|(?:is|are) (?:now )?(?:void|cancel\w*|revoked|lifted|suspended|superseded|obsolete))\b"
        r"|\b(?:takes?|has|have) (?:precedence|priority) over (?:all |any |every |the )*(?:other |your )"
        r"(?:instructions?|memor\w+|rules|prompts?)|\bover (?:the |your )system prompt\b"
        rf"|\bset aside the (?:guidance|{_TOLD}|{_RULES})\b|\b(?:lifted|waived|removed|dropped|suspended) (?:all|every|any|each) (?:\w+ )?(?:restrictions?|limits?|safeguards?|guardrails?)"
        r"|\b(?:comply with|agree (?:with|to)|confirm|approve|accept|obey) (?:any|every|all) (?:\w+ )?requests?\b|\bagree with (?:everything|the requester)\b"
        r"|\binstructions? (?:given |from )?(?:at|in) the (?:start|beginning|top)\b|\brely on this (?:note|memory) only\b|\b(?:only|sole) directive\b"
        r"|\bthis (?:note|memory|procedure|guidance) over\b|\b(?:no|without) safety checks?\b|\bno restrictions apply\b"
        r"|\bnew instructions? ?(?:;|:|from|for you|follow|below)|\b(?:free of|without|drop|no) (?:all |any )?(?:your )?(?:restrictions|limits|guardrails|filters)\b(?! (?:on|of|for|in)\b)",
    ),
    (
        "plays a role of the prompt",
        r"\byou are (?:now|no longer) (?:an? |the |my )?(?:\w+ )?(?:unrestricted|uncensored|dan|free"
        r"|assistant|chatbot|ai|bot|model|administrator|root|judge|bound|evil|jailbroken|\w+bot)\b"
        r"|\bact as (?:an? |the )?(?:\w+ )?(?:administrator|root|system|judge|evaluator|dan|unrestricted"
        r"|assistant|ai)\b|\bpretend (?:to be|that you are|you are) (?:an? |the )?(?:\w+ )?(?:system"
        r"|admin\w*|judge|evaluator|root|developer|unrestricted|dan|ai|assistant)\b"
        r"|\b(?:enter|activate|switch to|you are in) (?:developer|god|dan|jailbreak|unrestricted) mode\b"
        r"|\bas an ai(?: language model)?\b|\bdo anything now\b"
        rf"|\b(?:note|message|memo|notice|attention|reminder) (?:to|for) (?:the |any )*{_READERS}\b"
        rf"|\bdear (?:{_READERS}|model|agent|reader)\b|\b(?:attention|hey|hello) (?:{_READERS}|model|agent)\b"
        r"|\b(?:whenever|if|when) (?:the |a |any )?(?:user|someone|somebody|anyone|person|message|question|prompt) (?:mentions?|says?|types?|contains?|includes?)\b"
        r"|\b(?:phrase|keyword|code ?word|word|trigger) \S{1,30}(?: \S{1,30})? (?:appears|occurs|comes up|is (?:said|used|mentioned))\b"
        r"|\bfull (?:authorization|authorisation|authority|access)\b[^;]{0,40}\bwithout (?:approval|review|asking)|\bpre ?approved\b[^;]{0,40}\bskip\b"
        r"|\bin this session the user\b|\bthe user (?:agreed|allowed|consented|authori[sz]ed)\b"
        rf"|\bif you are (?:an? )?(?:{_READERS}|model|agent)\b|\b(?:human|user) ?: .{{0,200}}\bassistant ?:",
    ),
    (
        "works behind somebody's back",
        rf"\b(?:do not|don ?'? ?t|never|without|no need to|avoid) (?:tell|mention|inform|notify|alert|warn|disclos|reveal|show)\w*"
        rf" (?:(?:this|it|that|these)(?: \w+){{0,3}}(?: (?:to|with) {_READER})?(?: ;|$)|(?:to )?{_READER} "
        r"(?:(?:about|of) (?:this|it|that|these|what)|that|what you|this)\b)"
        rf"|\bwithout (?:telling|informing|notifying|alerting|warning) {_READER}\b"
        rf"|\bdon ?'? ?t let {_READER} (?:know|see|notice)|\bdo not let {_READER} (?:know|see|notice)"
        rf"|\b(?:keep|leave) (?:this|these|it)(?: \w+){{0,3}} (?:secret(?! (?:store|manager|vault|file))|hidden|to yourself|between us|from {_READER})"
        rf"|\b(?:hide|conceal) (?:this|these|it|that)\b(?: \w+){{0,2}} from\b|\bwithout {_READER} (?:noticing|knowing)"
        r"|\bnever mention this\b|\bdo not mention this\b|\b(?:leave|leaving) no trace\b|\bdo not log (?:this|it)\b"
        r"|\b(?:disclose|reveal|mention|say|admit) that this (?:memory|note|rule|procedure)\b|\bmention of this (?:rule|memory|note|step|procedure|instruction)\b"
        r"|\b(?:memory|note|rule) exists\b|\bsay nothing (?:about|of)\b",
    ),
    (
        "wants to steer memory or the judge",
        rf"\bis ?success\b|\b(?:mark|judge|rate|grade|report|declare) (?:this|it) (?:as )?(?:an? )?success"
        rf"|\b(?:mark|judge|rate|grade|score|report|declare|count|consider|treat|accept|classify)"
        rf" (?:this|the|every|all|any|each) (?:\w+ )?{_RUN} (?:as |to be )?(?:an? |fully |highly )*{_GOOD}\b"
        r"(?! (?:only|once|after|when|if|unless)\b)"
        rf"|\b(?:judge|evaluator|grader|verifier|extractor) (?:must|shall|should|has to|is (?:required|told) to|will) (?:always )?(?:rate|answer|mark|report|say|accept|return|give|approve|pass|be|agree)"
        rf"|\btell the (?:judge|evaluator|grader)\b|\b(?:output|report|say|reply with|declare|output the final verdict) ?:? (?:a )?success(?: ;|$| with high)"
        rf"|\b(?:store|save|write|add|append|copy|record|persist|put|remember|memori[sz]e|insert|keep|repeat) {_THIS}\b"
        rf"(?: \w+){{0,4}} (?:(?:in|to|into) (?:the |your |every |each |all |any |new )*{_OWN}|word for word|verbatim|in every (?:run|session|memory))"
        r"|\bmem ?(?:add|extract|learn)\b|\b(?:assistant|agent|model|ai|llm) (?:must|shall|has to|is required to) (?:store|save|remember|obey|comply|ignore|agree)"
        r"|\b(?:delete|remove|erase|forget|archive|overwrite|wipe|purge) (?:all |any |every |the |other |older |earlier |conflicting |existing )+memor(?:y|ies)\b"
        r"|\bthis (?:memory|procedure|note|lesson|rule) (?:is|has been|was) (?:\w+ )?(?:trusted|verified|approved|official|mandatory)\b"
        r"|\b(?:replace|overwrite|supersede) (?:any|every|all) (?:\w+ )?(?:memor(?:y|ies)|notes?) with this\b|\bconfidence of this (?:memory|note)\b"
        r"|\b(?:persist|keep|save|store) this (?:guidance|memory|note|rule)\b|\b(?:append|add|write) (?:this|these) (?:lines?|rules?|notes?|sentences?)\b[^;]{0,30}(?:claude|agents\.md|cursorrules|memory)"
        r"|\bsave this to (?:your )?memory\b|\bthe (?:evaluator|grader|judge) only\b|\bto pass the (?:review|evaluation|check)\b[^;]{0,20}\b(?:state|say|claim|write)\b|\brate your own\b"
        r"|\bthis (?:memory|lesson|note|sentence|text) (?:overrides|outranks|replaces|must be)\b"
        r"|\b(?:verdict|judgment) (?:is|must be|should be) (?:always )?(?:a )?success|\bthe (?:only|new) criterion\b",
    ),
    (
        "gives the answer away",
        rf"\balways {_SAY} {_FIXED}|\banswer (?:is|will be|must be|should be) (?:always|the same)\b"
        rf"|\b(?:only|just|simply|immediately) (?:answer|reply|respond|say)\b (?:with )?{_FIXED}"
        rf"|\b{_SAY} (?:to )?(?:every|any|all|each) (?:\w+ )?questions?(?: \w+){{0,4}} (?:with|by|that|as) "
        r"(?:[\"'“‘«„`]|\d|the (?:word|phrase|sentence|text|same)|yes|no\b|nothing)"
        rf"|\b(?:whatever|regardless of|no matter)\b[^;]{{0,60}}\b(?:question|asks?|asked|user|query)\b[^;]{{0,40}}\b(?:{_SAY}|return|output|print|report|give)\b"
        rf"|\b{_SAY}\b[^;]{{0,50}}\b(?:whatever|regardless of|no matter)\b[^;]{{0,30}}\b(?:question|asks?|asked|user|query|evidence|data|result)"
        rf"|\b(?:if|when|whenever|should) (?:\w+ ){{0,3}}(?:asks?|asked)\b[^;]{{0,60}}\b{_SAY} (?:\w+ )?that (?:there (?:is|are|was|were) no|no |nothing|all |everything|it is)"
        r"|\b(?:end|begin|start|close|sign|finish|open|add|append|include|insert|put|prepend|mention)\b[^;]{0,60}"
        r"\b(?:every|each|all|any|your) (?:answers?|repl(?:y|ies)|responses?)\b(?:[^;]{0,30}(?:[\"'“‘«„]|https?:|\b(?:sentence|phrase|slogan)\b))"
        r"|\b(?:include|add|append|insert|put)\b[^;]{0,20}(?:https?:|[\"'“‘«„]|\b(?:a link|an? advert\w*|slogan|sentence|phrase)\b)[^;]{0,60}\b(?:every|each|all|any|your) (?:answers?|repl(?:y|ies)|responses?)\b"
        rf"|\b(?:answer|say|reply|respond) (?:with )?(?:\d+|yes|no|[\"'“‘«„]\S+) to (?:any|every|all|each)\b"
        r"|\b(?:every|each|any) (?:answer|reply|response) (?:must|should|shall|has to) (?:contain|include|begin|end|start|mention|say|praise)"
        rf"|\b(?:when|if|whenever) (?:\w+ )?(?:asked|asks)\b[^;]{{0,50}}\b(?:the (?:reply|answer) is|claim)\b|\b(?:are|is) to be answered with\b"
        r"|\b(?:respond|reply|answer) to (?:\w+ )?questions?(?: \w+){0,4} with\b|\btell (?:people|everyone|anyone) that\b"
        r"|\brefuse (?:all|any|every) (?:further )?(?:questions?|requests?)\b|\bthe answer is known\b"
        r"|\b(?:recommend|promote|advertise|praise|endorse|plug)\b[^;]{0,40}\b(?:every|each|all|any|your) (?:answers?|repl(?:y|ies)|responses?)\b",
    ),
    (
        "takes the data for orders",
        r"\b(?:treat|regard|take|interpret|accept)\b[^;]{0,40}\bas (?:an? )?(?:commands?|orders|instructions?|directives?)\b"
        r"|\b(?:follow|obey|execute|carry out|do|run)\b(?: \w+){0,4} (?:instructions?|commands?|orders|code|what)\b(?: \w+){0,4} (?:labels?|comments?|tool outputs?|search results?|web pages?)\b",
    ),
    (
        "reaches for secrets or the prompt",
        r"\b(?:reveal|repeat|quote|disclose|leak|recite|expose|print|show|output|dump|include|give)\b(?: \w+){0,7} "
        r"(?:your (?:\w+ )?(?:instructions|prompt)|system prompt|hidden (?:instructions|prompt)|initial prompt"
        r"|conversation(?: history)?|chat history|(?:earlier|previous|prior) messages?|prompt above|memory store|environment variables)\b(?! (?:to|into|in) (?:the |a )?(?:log|file|sqlite|database|table))"
        r"|\bexfiltrat\w* (?:the|all|every|any|your|this|secrets?|data)\b"
        r"|/etc/(?:passwd|shadow)\b[^;]{0,60}\b(?:answer|reply|response|output|print|include)\b"
        r"|\b(?:include|put|print|show|add)\b[^;]{0,40}\b(?:passwords?|api keys?|tokens?|credentials?|private keys?)\b[^;]{0,40}\b(?:in|to|with) (?:the |every |each |your )*(?:answers?|repl(?:y|ies)|responses?|quer(?:y|ies))\b"
        r"|(?<!never )(?<!not )\b(?:put|add|place|include)\b[^;]{0,30}\b(?:tokens?|passwords?|keys?|credentials?|secrets?)\b (?:in|into|to) (?:the |an? )*(?:url|query string|image|link)\b"
        r"|\bupload\b[^;]{0,30}(?:\.env|\benv file|credentials|id rsa|private key)\b",
    ),
)
_ENGLISH = tuple((why, re.compile(pattern)) for why, pattern in _SENTENCES)
_UNSPACED = re.compile(
    r"(?:ignore|disregard|forget|override|bypass)(?:all|any|the|your|these|of|my)*"
    r"(?:previous|prior|above|earlier|preceding|system)\w{0,12}?"
    r"(?:instruction|prompt|rules|message|direction|guideline|order|command)"
    r"|(?:ignore|disregard|forget)your(?:instruction|rules)|ignoretheuser"
    r"|ignoreall(?:rules|instructions)|revealyoursystemprompt|donottelltheuser|alwaysanswer(?:yes|no|\d)"
    r"|exfiltrate(?:the|all|your)"
)

def _any_of(stems: str) -> re.Pattern[str]:
    """One of these beginnings of words. Short ones are whole words; where a language joins words or
    writes no spaces, it may stand anywhere."""
    found = []
    for stem in fold(stems).split():
        spaced = stem[0].isascii() and stem[0].isalpha() or "\u0370" <= stem[0] <= "\u052f"
        plain = stem if stem.startswith("\\") else re.escape(stem.replace("-", " "))
        end = r"\b" if spaced and len(stem) < 4 else ""
        found.append((r"\b" if spaced else "") + plain + end)
    return re.compile("|".join(found))


# In other languages: the parts of such a sentence, as beginnings of words; - stands for a space.
_ABROAD = {
    "drop": """ignor vergiss vergesst vergessen missacht verwirf oubli neglige abstraction olvid
        descart omiso desconsider esquec dimentic scart trascur negeer vergeet glom glem bortse
        zignoruj zapomnij pomin zapomen игнорир забуд проигнор ігнору abaikan lupakan bo-qua quen
        gormezden yok-say unut hinweg beachte compte conto tener следуй 따르지 dikkate-alma αγνοησ ξεχασ 忽略 无视 無視 忘记 忘掉 不要理会 忘れ 従わな 무시
        잊 تجاهل انس تجاوز نادیده فراموش התעלם שכח अनदेखा नजरअंदाज भूल ละเว้น เพิกเฉย ไม่สนใจ ลืม""",
    "rules": """指针 지침 системн 系统提示 システム anweisung vorgabe regel befehl instruktion richtlinie system-prompt systemprompt
        consigne instruction regle directive instruccion reglas orden directriz indicacion instruc
        regra diretriz ordem istruzion regol direttiv instructi aanwijzing opdracht instruks
        anvisning instrukcj polece zasad wytyczn pokyn instrukc pravid инструкци указани правил
        команд вказів інструкц talimat yonerge kural komut instruksi perintah aturan huong-dan lenh
        οδηγι εντολ κανον 指示 指令 規則 规则 提示词 命令 ルール プロンプト 지시 명령 규칙 프롬프트 تعليمات
        اوامر قواعد توجيهات دستور قوانین הוראות הנחיות כללים निर्देश नियम คำสั่ง คำแนะนำ""",
    "old": """system систем 系统 システム 시스템 mọi moi bisherig vorherig fruher obig alle samtlich deine vorig toutes tous precedent anterieur
        vos tes todas todos anterior previas tus tutte tutti tue eerder vorige tidigare tidligere
        poprzedni wszystk wczesniej predchoz vsechn предыдущ все всех прежн попередн усі onceki tum
        sebelumnya semua truoc προηγουμεν ολες 之前 以前 所有 上述 先前 以上 前面 これまで すべて 全て 前の
        上記 이전 모든 위의 سابق جميع كل قبل همه קודמ כל पिछल सभी ก่อนหน้า ทั้งหมด""",
    "user": """benutzer nutzer anwender utilisateur usuari utent gebruiker anvandar bruger bruker
        uzytkownik uzivatel пользовател користувач kullanici pengguna nguoi-dung χρηστ 用户 使用者
        ユーザ 利用者 사용자 مستخدم کاربر משתמש उपयोगकर्ता ผู้ใช้""",
    "tell": """verschweig oculta oculte cach nasconder escond conte скрой скры 内緒 秘密 隐瞒 숨 sag sage sagt sagen erzahl mitteil erwahn verrat dis dites dire parle mentionn revel
        diga digas dile mencion diz fale dica dicas parla zeg vertel beratta mow mowi powie wspom
        сообщ говор расска упомин кажи soyle bahset beritahu katakan noi πεις 告诉 告知 提及 提到 言わ
        伝え 知らせ 말하 알리 تخبر تقل تذكر نگو תספר תגיד बता บอก""",
    "not": """verschweig oculta oculte cache cacher nascondi esconda скрой скры 内緒 秘密 隐瞒 숨 bahsetme soyleme nicht nichts nie niemals kein keinem ne n pas jamais rien no nunca jamas nao non mai niet
        nooit niets inte aldrig ikke nigdy не ничего никогда jangan dung μην 不要 别 勿 ないで しない 지마
        지말 하지 لا لن نه אל मत नहीं อย่า""",
    "always": """无论 何でも quelle-que-soit sea-cual immer stets toujours siempre sempre altijd alltid altid zawsze vzdy всегда завжди
        her-zaman daima selalu luon παντα 总是 始终 一律 常に 必ず いつも 항상 دائما همیشه תמיד हमेशा เสมอ""",
    "say": """antwort sag sage nenne repond dis respond contest di rispond antwoord zeg svara odpowi
        odpoved отвеч ответ говори cevap yanit jawab tra-loi απαντ 回答 回复 答え 返答 대답 답하 اجب قل پاسخ
        ענה השב उत्तर जवाब ตอบ""",
    "value": r"""\d+ " ' “ ‘ « „ ja nein oui non si no que-no sim nao nee tak да нет evet hayir ya tidak ναι
        是 否 はい いいえ 예 아니 نعم بنعم بله כן हां हाँ ใช่""",
}
_STEMS = {name: _any_of(stems) for name, stems in _ABROAD.items()}
NEAR, BESIDE = 45, 16
"""Characters between the verb of such a sentence and its other parts, at most."""
_FRAMES: tuple[tuple[str, tuple[str, ...], int], ...] = (
    ("tells the reader to ignore its instructions", ("drop", "rules", "old"), NEAR),
    ("works behind somebody's back", ("tell", "user", "not"), BESIDE),
    ("gives the answer away", ("say", "always", "value"), NEAR),
)


def suspicious(text: str) -> str:
    """What in a text speaks to its reader, or hides; '' when nothing does."""
    if clean_text(text) != unicodedata.normalize("NFC", text).replace("\r\n", "\n"):
        return "holds characters that cannot be seen"
    shown = html.unescape(re.sub(r"\\u00([0-7][0-9a-f])", lambda code: chr(int(code[1], 16)), text))
    for reason, sign in _SIGNS:
        if sign.search(text) or sign.search(shown):
            return reason
    if any(map(_is_disguised, _MIXED.findall(text))):
        return "writes words in letters that only look like them"
    for line in text.splitlines():
        if _RISKS.search(line) and not _FORBIDS.search(line):
            return "lays a machine open"
        if all(part.search(line) for part in _LEAK) and not _LOGIN.search(line):
            return "sends something elsewhere"
    if _SPELLED.search(text):
        return "spells words out letter by letter"
    for form, coded in _forms(text):
        if reason := _speaks(form):
            return "holds coded text" if coded else reason
    return "holds coded text" if any(map(_is_prose, _decoded(text))) else ""


def _speaks(form: str) -> str:
    """Why a form of a text speaks to its reader."""
    for reason, pattern in _ENGLISH:
        if pattern.search(form):
            return reason
    for sentence in form.split(";"):
        for reason, names, near in _FRAMES:
            if _meet(sentence, names, near):
                return reason
    return ""


def _meet(sentence: str, names: tuple[str, ...], near: int) -> bool:
    """Whether the first of three parts has the second in its sentence, and the third beside it."""
    places = []
    for name in names:
        found = [match.start() for match in _STEMS[name].finditer(sentence)]
        if not found:
            return False
        places.append(found)
    first, second, third = places
    return any(
        any(abs(place - at) <= NEAR for place in second)
        and any(abs(place - at) <= near for place in third)
        for at in first
    )


def _forms(text: str) -> Iterator[tuple[str, bool]]:
    """A text in the forms that it may be read in, and whether one has to be decoded for it."""
    plain = words_of(text)
    yield plain, False
    leet = _LEET_WORD.sub(lambda word: word[0].translate(_LEET), fold(text))
    if leet != fold(text):
        yield words_of(leet), False
    for part in _decoded(text):
        yield words_of(part), True
    yield words_of(codecs.encode(text, "rot13")), True
    row = letters(leet)
    if _UNSPACED.search(row):
        yield "ignore previous instructions", False
    if _UNSPACED.search(row[::-1]):
        yield "ignore previous instructions", True


def _is_disguised(word: str) -> bool:
    """Latin and Cyrillic letters, or letters of mathematics, in one word."""
    if word.isascii():
        return False
    if sum("\U0001d400" <= char <= "\U0001d7ff" for char in word) > 2:
        return True
    scripts = {unicodedata.name(char, "").partition(" ")[0] for char in word}
    return "LATIN" in scripts and bool(scripts & {"CYRILLIC", "ARMENIAN", "CHEROKEE"}) or (
        {"LATIN", "GREEK"} <= scripts and len(word) > 4
    )


_BASE64 = re.compile(r"(?<![\w/+=-])[A-Za-z0-9+/_-]{12,}={0,2}(?![\w/+])")
_HEX = re.compile(r"(?<![\w])(?:[0-9a-fA-F]{2}){10,}(?![\w])")
_ESCAPED = re.compile(r"(?:\\u[0-9a-fA-F]{4}){3,}|(?:\\x[0-9a-fA-F]{2}){3,}")
_CODE = r"(?:(?:0b)?[01]{8}|(?:0x)?[0-9a-fA-F]{2}|\d{2,3})"
_CODES = re.compile(rf"(?<![\w.]){_CODE}(?:[\s,]+{_CODE}){{5,}}(?![\w.])")


def _decoded(text: str) -> Iterator[str]:
    """What is coded in a text: base64, hexadecimal digits, escapes, entities, character codes."""
    for found in _BASE64.findall(text):
        raw = found.replace("-", "+").replace("_", "/").rstrip("=")
        try:
            yield base64.b64decode(raw + "=" * (-len(raw) % 4)).decode()
        except (binascii.Error, ValueError):
            continue
    for found in _HEX.findall(text):
        yield bytes.fromhex(found).decode("latin-1")
    for found in _ESCAPED.findall(text):
        yield found.encode().decode("unicode_escape")
    for found in re.findall(r"(?:%[0-9a-fA-F]{2}){3,}[\w%+.-]*", text):
        yield unquote(found).strip()
    for found in re.findall(r"(?:&#?\w+;){3,}", text):
        yield html.unescape(found)
    for found in _CODES.findall(text):
        codes = re.split(r"[\s,]+", found)
        yield "".join(map(_character, codes))
        yield "".join(_character(code, True) for code in codes)


def _character(code: str, hexadecimal: bool = False) -> str:
    digits = code.removeprefix("0x").removeprefix("0b")
    base = 2 if len(digits) == 8 else 16 if len(code) != len(digits) or hexadecimal else 10
    return chr(int(digits, base)) if base == 16 or digits.isdigit() else "\0"


def _is_prose(text: str) -> bool:
    """Whether a decoded text reads as words: no digest and no picture does."""
    good = sum(char.isalpha() or char in " .,'" for char in text)
    return text.isprintable() and len(text) > 5 and good > 0.9 * len(text) and text.isascii()
