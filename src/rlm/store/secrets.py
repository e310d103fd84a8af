"""Keeps credentials out of the store: every text on its way in is scrubbed here.

A secret is recognised in one of three ways. Its own shape gives it away (a vendor prefix, a JWT, a
PEM block), or its place does (the password of a URL, an Authorization header), or its name does
(`api_key = ...`), and then the value must also look like a secret, because `password=$PASSWORD` and
"token: the next token" are what people write in notes.

Cost decides the layout. Almost every text is clean, and a search for one literal costs more than a
byte translation of the whole text. So the text is first turned into a mask in which only long runs
of token characters survive; the vendor rules look at those runs and nowhere else.

Time is linear in the length. No pattern needs anything after an unbounded repeat: either it matches
and the repeat is consumed, or it fails within a bounded number of characters. Whatever a rule
replaces ends where letters and digits end, so that a replacement does not expose a new match to its
right; `scrub` still repeats until nothing changes, because idempotence is promised.

Run `sanitize.clean_text` first: a zero-width space inside a key would hide it from these rules.
"""

import base64
import binascii
import re
from collections.abc import Iterable
from functools import partial
from typing import Any

from rlm.store.secret_values import (
    AROUND_NAME,
    SQUEEZE,
    WORDY,
    VendorRule,
    is_jwt,
    is_mixed,
    is_placeholder,
    is_plain_key,
    is_random,
    is_slashed_password,
    is_url_password,
    looks_secret,
    short_id,
    vendor_rules,
)

_SHAPE_CHARS = 40  # nor has one without a prefix fewer than this
_RUN_CHARS = 20  # no vendor token has fewer characters in a row; most words do
_TOKEN_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:"
_MASK = bytes(97 if code in _TOKEN_BYTES else 32 for code in range(256))
_RUN = b"a" * _RUN_CHARS
# An escape in front of a token ("\nAKIA...", "%3DAKIA...") ends in letters that are no part of it.
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[abfnrtv])|%[0-9a-fA-F]{2}")
# No mark may stand between: one replacement must not bring the next run within reach of the host.
_WEBHOOK = re.compile(r"(?:hooks\.slack\.com|/api/webhooks)/[\w/]*$", re.ASCII)

_FENCE = re.compile(r"-----(BEGIN|END) ([A-Z0-9][A-Z0-9 ]{0,40})-----")
_KEY_BODY = re.compile(
    r"(?:\s*+(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]{0,200}){0,8}+"
    r"(?:[^A-Za-z0-9]{0,8}+[A-Za-z0-9+/=]{16,}+)++"
    r"(?:(?:\s|\\[nr]){1,4}[A-Za-z0-9+/]{1,15}+=*+(?=\s{0,4}(?:\n|\\|[\"'`]|$)))?"
)
_PUTTY = re.compile(r"(?:Private-Lines:\s{0,4}\d{1,6}|Private-MAC:)")

_URL = re.compile(  # user, then a password, or one with a slash in it, or none
    r"://((?:\[redacted:[\w-]{1,40}\])?+[^\s/:@\"'<>`]*)"
    r"(?::([^\s/\"'<>`]*)@|:([^\s/@\"'<>`]{1,64}/[^\s@\"'<>`]{0,64})@|@)"
)
_URL_USER = re.compile(r"[\w.~%+-]+", re.ASCII)

_ASSIGN_END = (
    r"(?:\*\*[ \t]?)?(?:[bfruBFRU]{0,2}(\\?[\"'`])(?=[^\s\"'`]{5})|(?=[^\s\"'`,;&<>\\]{5}))"
)
_ASSIGN = re.compile(r"([=:])(?!//|:)[=>]?[ \t]{0,20}" + _ASSIGN_END)
_FLAG = re.compile(r"--[A-Za-z][A-Za-z0-9_-]{1,40}([ \t]{1,4})" + _ASSIGN_END)
_ELEMENT = re.compile(r"<[A-Za-z][A-Za-z0-9_.:-]{1,40}(>)" + _ASSIGN_END)
_CURL_USER = re.compile(r" (?:-u|--user)[ =]{0,2}[\"']?[^\s:\"']{0,64}(:)(?=[^\s\"'`,;&<>\\]{5})()")
_TOLD = re.compile(  # "the admin password is …", "pw for staging: …"
    r"(?i:(?<![A-Za-z0-9])"
    r"(?:pass(?:word|wort|wd|phrase|code)|kennwort|pwd?|contraseña|mot de passe)"
    r"(?: (?:for|of|on|at|von|für|pour|de) [\w.@ -]{1,40}?)?"
    r"([ \t](?:is|was|to|ist|lautet|auf|est|es)(?:[ \t]now)?[ \t]{1,4}|[ \t]?[:=][ \t]{0,4}))"
    r"(?![/~.]|(?i:sha|md\d|pbkdf|bcrypt|argon|scrypt|base\d|aes|[hre]s\d|utf|oauth))" + _ASSIGN_END
)
_TOLD_PARTS = (b"passw", b"passphrase", b"passcode", b" passe", b"pw", b"kennwort", b"contrase")
_VALUE = r"[\"']?([^\s;|&\"'\[$<{%-][^\s;|&\"']{4,127})"
_SHORT_FLAGS = tuple(  # each begins with plain letters, which is what makes a search fast
    (command.encode(), re.compile(command + r"[\w-]{0,10}\b[^\n,;|&]{0,120}? " + flag + _VALUE))
    for command, flag in (
        ("mysql", "-p"),
        ("mariadb", "-p"),
        ("sshpass", "-p ?"),
        ("redis-cli", "-a ?"),
    )
)
_COOKIE_LINE = r"[\"']?[:=][ \t]{0,4}[\"']?([^\n\"']{8,4096})"
_COOKIES = tuple(re.compile(word + _COOKIE_LINE) for word in ("ookie", "OOKIE"))
_COOKIE_PART = re.compile(r"([\w.-]{1,64}=)([^\s;,=]{12,4096})")
_BARE = re.compile(r"[^\s\"'`,;&<>\\]{5,128}")
_BARE_REST = re.compile(r"[^\s\"'`,;&<>\\]*")
_ANNOTATION = re.compile(r"[\w.\[\]| ]+")
# The secret key of AWS is forty characters without a prefix: only the id beside it tells.
_AWS_ID = "[redacted:aws-access-key]"
_AWS_SECRET = re.compile(
    r"(?:(?<![A-Za-z0-9+/.])|(?<=\]/)|(?<=\\[nrt]))"
    r"(?=[a-z0-9+/]{0,39}[A-Z])(?=[A-Z0-9+/]{0,39}[a-z])(?=[A-Za-z+/]{0,39}[0-9])"
    r"[A-Za-z0-9+/]{40}(?:(?![A-Za-z0-9+/=]|\.\w)|(?=/\[))"
)
_BESIDE_CHARS = 60  # at most this much stands between the two, with one line break at most
_SCHEME = re.compile(r"(?i:(bearer|basic|token|bot|apikey)[ \t]{1,4})([^\s\"'`,;<>\\]{6,})")
_BEARER = re.compile(r"[\w.~+/-]+=*", re.ASCII)  # what may follow a run in a bearer token
_BASE64 = re.compile(r"[\w+/-]*=*", re.ASCII)  # or in a key that is plain base64
_BASE64_KEY = "[redacted:aws-bedrock-key]"

_PASSWORD_NAMES = ("password", "passwd", "passphrase", "pwd")
_NAMES = {  # how a name ends once "_" and "-" are out of it: the kind; the first that fits wins
    **dict.fromkeys(_PASSWORD_NAMES, "password"),
    "secretaccesskey": "aws-secret-key",
    "sharedaccesskey": "azure-key",
    "accountkey": "azure-key",
    "privatekeyid": "gcp-key-id",
    "authtoken": "auth-token",
    "authorization": "authorization",
    "apikey": "api-key",
    **dict.fromkeys(("secret", "token", "credential", "credentials"), "secret"),
    **dict.fromkeys(("accesskey", "secretkey", "privatekey", "authkey", "signingkey"), "secret"),
    **dict.fromkeys(("encryptionkey", "masterkey"), "secret"),
    "sig": "azure-sas",
}
_REDACTED = re.compile(r"\[redacted:([\w-]+)\]")
_NAME_ENDS = tuple(_NAMES)
_NAME_LAST_3 = frozenset(end[-3:] for end in _NAMES) | {"ass", "_id", "-id"}
# One of these is in every secret-like name: most texts have none, and are done with.
_NAME_PARTS = (b"pass", b"pwd", b"key", b"auth", b"secret", b"token", b"credential", b"sig")
_ENV_KEY = re.compile(r"([A-Z][A-Z0-9]*)_KEY$")
# What may stand before _KEY where no secret follows.
_NO_SECRET_KEYS = """
PRIMARY FOREIGN UNIQUE NATURAL SURROGATE COMPOSITE CANDIDATE SORT PARTITION SHARD HASH RANGE ROW
GROUP INDEX LOOKUP ROUTING CACHE DEDUP IDEMPOTENCY LOCK MAP OBJECT S3 BUCKET FILE STATE REGISTRY
PUBLIC PUB PUBLISHABLE SITE VERIFY HOST
"""


def scrub(text: str) -> tuple[str, tuple[str, ...]]:
    """Replace every secret by `[redacted:KIND]`; also return the kinds, sorted and distinct.

    Linear in the length, idempotent, and total: no string makes it raise.

    >>> scrub("DB_PASSWORD=correct-h0rse")
    ('DB_PASSWORD=[redacted:password]', ('password',))
    >>> scrub("DB_PASSWORD=$DB_PASSWORD")
    ('DB_PASSWORD=$DB_PASSWORD', ())
    """
    kinds: set[str] = set()
    result = _scrub_once(text, kinds)
    if not kinds:
        return text, ()
    while (again := _scrub_once(result, kinds)) != result:
        result = again
    return result, tuple(sorted(kinds))


def redactions(*texts: str) -> set[str]:
    """The kinds of secrets that were taken out of some texts."""
    return set(_REDACTED.findall("\n".join(texts)))


def scrub_value(value: Any) -> tuple[Any, tuple[str, ...]]:
    """`scrub` over every text of a JSON-like value, keys too; the rest as it is.

    Under a secret-like key any string of eight or more characters without white space is a secret
    unless it is a placeholder. Two keys that scrub to the same text become one; the last wins.
    """
    kinds: set[str] = set()
    return _scrub_any(value, None, kinds), tuple(sorted(kinds))


def _scrub_any(value: Any, name_kind: str | None, kinds: set[str]) -> Any:
    if isinstance(value, str):
        if name_kind and _is_named_secret(value, name_kind):
            return _mark(name_kind, kinds)
        text, found = scrub(value)
        kinds.update(found)
        return text
    if isinstance(value, dict):
        kind_of = {key: _name_kind(key) for key in value if isinstance(key, str)}
        return {
            _scrub_any(key, None, kinds): _scrub_any(item, kind_of.get(key), kinds)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        items = [_scrub_any(item, name_kind, kinds) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value


def _is_named_secret(value: str, name_kind: str) -> bool:
    if name_kind == "env-key":
        return is_plain_key(value)
    return len(value) >= 8 and not any(map(str.isspace, value)) and not is_placeholder(value)


def _scrub_once(text: str, kinds: set[str]) -> str:
    data = text.encode("latin-1", "replace")  # one byte a character: fast to search
    if b"--" in data:
        text = _scrub_fences(text, kinds)
        text = _scrub_named(text, _FLAG.finditer(text), kinds)
    if b"@" in data and b"://" in data:
        text = _URL.sub(partial(_redact_url, kinds=kinds), text)
    if (short := short_id()).pattern.search(text):
        text = short.pattern.sub(partial(_redact_token, rule=short, kinds=kinds), text)
    text = _scrub_runs(text, kinds)
    if _AWS_ID in text:
        text = _AWS_SECRET.sub(partial(_redact_aws_secret, kinds=kinds), text)
    for sign, named in ((b"</", _ELEMENT), (b"curl ", _CURL_USER)):
        if sign in data:
            text = _scrub_named(text, named.finditer(text), kinds)
    text = _scrub_spoken(text, data, kinds)
    if (b":" in data or b"=" in data) and _may_name_secret(text, data):
        text = _scrub_named(text, _ASSIGN.finditer(text), kinds)
    return text


def _scrub_spoken(text: str, data: bytes, kinds: set[str]) -> str:
    """Cookies, short flags of commands, and passwords that a sentence tells."""
    for header in _COOKIES if b"ookie" in data or b"OOKIE" in data else ():
        text = header.sub(partial(_redact_cookies, kinds=kinds), text)
    for word, flag in _SHORT_FLAGS:
        if word in data:
            text = flag.sub(partial(_redact_short_flag, kinds=kinds), text)
    folded = data.lower()
    if any(part in folded for part in _TOLD_PARTS):
        text = _scrub_named(text, _TOLD.finditer(text), kinds)
    return text


def _may_name_secret(text: str, data: bytes) -> bool:
    """A first look that never misses a secret-like name. U+212A is a k in lower case."""
    folded = data.lower().translate(None, b"_-")
    return any(part in folded for part in _NAME_PARTS) or "\u212a" in text


def _mark(kind: str, kinds: set[str]) -> str:
    kinds.add(kind)
    return f"[redacted:{kind}]"


def _splice(text: str, spans: Iterable[tuple[int, int, str]]) -> str:
    """The text with each span replaced; the spans are in order and do not overlap."""
    pieces: list[str] = []
    done = 0
    for start, end, mark in spans:
        pieces += text[done:start], mark
        done = end
    return "".join((*pieces, text[done:])) if pieces else text


def _scrub_fences(text: str, kinds: set[str]) -> str:
    """PEM and PGP private keys; without an END line, what looks like the body of a key."""
    if "-----BEGIN" not in text:
        return text
    fences = list(_FENCE.finditer(text))
    spans = []
    for here, after in zip(fences, [*fences[1:], None], strict=False):
        if here[1] != "BEGIN" or "PRIVATE KEY" not in here[2]:
            continue
        limit = after.start() if after else len(text)
        body = _KEY_BODY.match(text, here.end(), limit)
        if after and after[1] == "END":
            lines = text[here.end() : limit]
            # Prose that names both lines in one sentence holds no key.
            if body or "\n" in lines or "\\n" in lines:
                spans.append((here.start(), after.end(), _mark("private-key", kinds)))
        elif body:
            spans.append((here.start(), body.end(), _mark("private-key", kinds)))
    return _splice(text, spans)


def _redact_url(match: re.Match[str], kinds: set[str]) -> str:
    """The password of a URL, and a user that is a token (`https://TOKEN@github.com`)."""
    user, password, slashed = match.groups()
    # There the user is a name, and the key a file.
    named = match.string.endswith(("ssh", "sftp"), 0, match.start())
    token = not named and _URL_USER.fullmatch(user) and is_random(user)
    who = _mark("url-token", kinds) if token else user
    if slashed is not None:
        is_ipv6 = user.startswith("[")
        secret = is_slashed_password(slashed) and not is_ipv6
        return f"://{user}:{_mark('url-password', kinds)}@" if secret else match[0]
    if password is None:
        return f"://{who}@"
    return f"://{who}:{_mark('url-password', kinds) if is_url_password(password) else password}@"


def _redact_aws_secret(match: re.Match[str], kinds: set[str]) -> str:
    """What looks like a secret key of AWS, if the id of one stands beside it."""
    text, start, end = match.string, *match.span()
    reach = _BESIDE_CHARS + len(_AWS_ID)
    _, left, before = text[max(0, start - reach) : start].rpartition(_AWS_ID)
    after, right, _ = text[end : end + reach].partition(_AWS_ID)
    beside = (left and before.count("\n") < 2) or (right and after.count("\n") < 2)
    return _mark("aws-secret-key", kinds) if beside and not WORDY.match(match[0]) else match[0]


def _redact_short_flag(match: re.Match[str], kinds: set[str]) -> str:
    """`mysql -pSECRET`: no name and no separator, but the command says what it is."""
    value = match[1]
    if not is_mixed(value, cases=False) or is_placeholder(value):
        return match[0]
    return match[0][: match.start(1) - match.start()] + _mark("password", kinds)


def _redact_cookies(match: re.Match[str], kinds: set[str]) -> str:
    """Every cookie whose value is long and mixed; preferences stay."""

    def one(part: re.Match[str]) -> str:
        value = part[2]
        plain = not is_mixed(value, cases=False) or is_placeholder(value) or WORDY.match(value)
        return part[0] if plain or value.isdigit() else part[1] + _mark("cookie", kinds)

    head = match[0][: match.start(1) - match.start()]
    return head + _COOKIE_PART.sub(one, match[1])


def _scrub_runs(text: str, kinds: set[str]) -> str:
    """Apply the vendor rules to the long runs of token characters."""
    mask = text.encode("latin-1", "replace").translate(_MASK)
    start = mask.find(_RUN)
    if start < 0:
        return text
    spans = []
    while start >= 0:
        end = mask.find(b" ", start)
        end = len(text) if end < 0 else end
        if start and text[start - 1] in "\\%" and (escape := _ESCAPE.match(text, start - 1)):
            start = escape.end()
        if (found := _scrub_span(text, start, end, kinds)) is not None:
            end, new = found
            spans.append((start, end, new))
        start = mask.find(_RUN, end)
    text = _splice(text, spans)
    return _scrub_putty(text, kinds) if "Private-Lines:" in text else text


def _scrub_span(text: str, start: int, end: int, kinds: set[str]) -> tuple[int, str] | None:
    """Where a secret that begins here ends, and what stands in its place; None if it is none."""
    before = text[start - 1 : start] if start else ""
    if before == "/" and _WEBHOOK.search(text[max(0, start - 80) : start]):
        return end, _mark("webhook-url", kinds)
    if before == " " and _is_bearer(text, start, end):
        more = _BEARER.match(text, end)
        return more.end() if more else end, _mark("authorization", kinds)
    run = text[start:end]
    if (new := _scrub_run(run, kinds)) == run:
        return None
    more = _BASE64.match(text, end) if new.endswith(_BASE64_KEY) else None
    return more.end() if more else end, new


def _scrub_run(run: str, kinds: set[str]) -> str:
    new, prefixed = run, len(run) < _SHAPE_CHARS
    for rule in vendor_rules():
        if rule.marker in run and not (prefixed and len(rule.marker) == 1):
            new = rule.pattern.sub(partial(_redact_token, rule=rule, kinds=kinds), new)
    return new


def _redact_token(match: re.Match[str], *, rule: VendorRule, kinds: set[str]) -> str:
    token = match[0]
    if rule.looks == "mixed" and not is_mixed(token, cases=True):
        return token
    if rule.looks == "random" and not is_random(token, 12):
        return token
    if rule.kind == "jwt" and not is_jwt(token):
        return token
    return _mark(rule.kind, kinds)


def _is_bearer(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - 7) : start].lower()
    return before == "bearer " and is_mixed(text[start:end], cases=False)


def _scrub_putty(text: str, kinds: set[str]) -> str:
    spans = []
    for match in _PUTTY.finditer(text):
        if body := _KEY_BODY.match(text, match.end()):
            spans.append((match.end(), body.end(), " " + _mark("private-key", kinds)))
    return _splice(text, spans)


def _scrub_named(text: str, places: Iterable[re.Match[str]], kinds: set[str]) -> str:
    """Redact the secret values at these places, if what stands in front is a secret-like name.

    Group 1 of a match is the separator, group 2 the opening quote; the value begins at its end.
    """
    spans: list[tuple[int, int, str]] = []
    for match in places:
        at, start = match.start(1), match.end()
        head = text[max(0, at - 48) : at]
        kind = "password" if match.re in (_CURL_USER, _TOLD) else _name_kind(head)
        if kind is None and match[1] == "=" and ":" in head:  # password: str = "..."
            head, _, annotation = head.rpartition(":")
            kind = _name_kind(head) if _ANNOTATION.fullmatch(annotation) else None
        if kind is None or (spans and start < spans[-1][1]):
            continue
        if span := _secret_span(text, match, kind, head):
            spans.append((*span, _mark(kind, kinds)))
    return _splice(text, spans)


def _name_kind(head: str) -> str | None:
    """The kind of secret that the name at the end of `head` stands for, quotes aside."""
    given = head.rstrip(AROUND_NAME.decode())
    name = given.lower()
    if name[-3:] not in _NAME_LAST_3:
        return None
    if "]" not in name.rpartition("[redacted:")[2] and "[redacted:" in name:
        return None  # the kind inside a mark
    squeezed = name.translate(SQUEEZE)
    if squeezed.endswith(_NAME_ENDS):
        if squeezed.endswith("sig") and squeezed[-4:-3].isalnum():
            return None
        return next(kind for end, kind in _NAMES.items() if squeezed.endswith(end))
    if (env := _ENV_KEY.search(given)) and env[1] not in _NO_SECRET_KEYS.split():
        return "env-key"
    return "password" if name.endswith("pass") and not name[-5:-4].isalnum() else None


def _secret_span(text: str, match: re.Match[str], kind: str, head: str) -> tuple[int, int] | None:
    """Where the secret that begins at the end of the match lies; None if it is no secret."""
    start, quote = match.end(), match[2]
    if kind == "authorization" and (scheme := _SCHEME.match(text, start)):
        return scheme.span(2) if _is_authorization(scheme[1].lower(), scheme[2]) else None
    if quote and (end := text.find(quote, start, start + 512)) >= 0:
        value = text[start:end]
        quoted = match.re is not _TOLD  # in a sentence a word is quoted for many reasons
        secret = value.split() == [value] and looks_secret(value, kind, quoted=quoted)
        return (start, end) if secret else None
    bare = _BARE.match(text, start)
    if bare is None:
        return None
    value = bare[0].rstrip(".:)]}*|")
    tight = text[match.start(1) : start] == "="
    env_style = tight and kind == "password" and head[-1:].isupper() and value.isalpha()
    if not looks_secret(value, kind, quoted=env_style, tight=tight):
        return None
    rest = _BARE_REST.match(text, bare.end()) if len(bare[0]) == 128 else None
    return start, rest.end() if rest else start + len(value)


def _is_authorization(scheme: str, value: str) -> bool:
    if is_placeholder(value):
        return False
    if scheme != "basic":
        inner = value[1:]
        long_or_mixed = len(value) >= 20 or not (inner.islower() or inner.isupper())
        return long_or_mixed and not WORDY.match(value)
    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4))
    except (binascii.Error, ValueError):
        return False
