"""Whether a value looks like a secret, or like a placeholder for one. For `secrets` alone."""

import re

AROUND_NAME = b" \t\"'`\\*])"  # may stand between a name and its separator
SQUEEZE = str.maketrans("", "", "_-" + AROUND_NAME.decode())
_STARTS = """
$ < { % [redacted @{ ... … *** xxx #{ !ref !secret
your my_ my- example placeholder replace insert changeme change_ change- dummy redacted todo
fixme sample enter_ enter- some_ some- the_ the-
os. process. env. self. this. config. settings. secrets. vars. var.
op:// vault: file: arn: ref+ keyring: env: secret:// http:// https://
"""
_WORDS = """
none null undefined true false string optional required boolean integer hidden masked password
passphrase secret token apikey credentials
"""
_PLACEHOLDER_STARTS = tuple(_STARTS.split())
_PLACEHOLDER_WORDS = frozenset(_WORDS.split())
_CALL = re.compile(
    r"[A-Za-z_][\w.]*[(\[]|[A-Z][A-Z_]{0,30}_(?:KEY|TOKEN|SECRET|PASSWORD|PASS|PWD|HERE)$"
)
_FILLER = re.compile(
    r"(.)\1*$|[xX*._•?#-]+$|\[[A-Za-z_ -]{1,30}\]$|.{0,40}(?:xxxx|\.\.\.|…|\*\*\*)$"
)
_SIGNATURE = re.compile(r"[A-Za-z0-9+/%=]+$")
_DIGIT = re.compile("[0-9]")
WORDY = re.compile(r"[A-Za-z]*\d{0,2}(?:[_.:/-][A-Za-z]*\d{0,2})+$")
_DIGITS = re.compile("[0-9]+")
_LETTERS_AND_DIGITS = re.compile("[A-Za-z0-9]{12,}")
_PLAIN_KEY = re.compile("[A-Za-z0-9+_=-][A-Za-z0-9+/_=-]{19,}")
_PORT = re.compile(r"\d{1,5}(?:[,/?#]|$)|:")


def is_jwt(token: str) -> bool:
    """Base64 of some JSON is no secret by itself, nor is one that someone cut short with dots."""
    _, *parts = token.split(".")
    return any(len(part) >= 8 for part in parts) and (len(parts) >= 2 or parts[0].startswith("eyJ"))


def is_mixed(token: str, *, cases: bool) -> bool:
    """Whether a token has a digit and, with `cases`, letters of both cases."""
    return bool(_DIGIT.search(token)) and not (cases and (token.islower() or token.isupper()))


def is_random(value: str, least: int = 16) -> bool:
    """Whether letters and digits mix as nobody types them: long, or in both cases."""
    return any(
        len(run) >= least
        and not run.isdigit()
        and (is_mixed(run, cases=True) or len(_DIGITS.findall(run)) >= 2)
        for run in _LETTERS_AND_DIGITS.findall(value)
    )


def is_plain_key(value: str) -> bool:
    """Whether the value of an `ANY_KEY=` is a key, and no name of a table, cache or file."""
    return bool(_PLAIN_KEY.fullmatch(value)) and is_random(value) and not is_placeholder(value)


def is_url_password(password: str) -> bool:
    """Whether what stands between the user and the host is a password, and not a hole for one."""
    hole = password.startswith(("$", "<", "{", "%", "[redacted:"))
    return bool(password) and not hole and not _FILLER.match(password)


def is_slashed_password(password: str) -> bool:
    """The same with a slash in it, which might also be a port and a path."""
    if not is_url_password(password) or not _DIGIT.search(password):
        return False
    return not (_PORT.match(password) or WORDY.match(password) or password.endswith(".git"))


def looks_secret(value: str, kind: str, *, quoted: bool, tight: bool = False) -> bool:
    """Whether the value behind a secret-like name is one, rather than prose, code or a placeholder.

    A quoted password needs no more than length. All else needs a digit (or, in quotes, both cases)
    and must not be words joined by punctuation, as in `token = page_token_2`. A tight `NAME=a-b-9`
    is no prose.
    """
    digit = bool(_DIGIT.search(value))
    if kind == "env-key":
        return is_plain_key(value)
    if kind == "azure-sas":
        return len(value) >= 40 and digit and bool(_SIGNATURE.match(value))
    if is_placeholder(value):
        return False
    if kind == "password":
        return _looks_password(value, quoted=quoted, tight=tight, digit=digit)
    if len(value) < 8 or WORDY.match(value):
        return False
    cases = {letter.islower() for letter in value if letter.lower() != letter.upper()}
    return bool(cases) and (digit or (quoted and len(cases) > 1))


def _looks_password(value: str, *, quoted: bool, tight: bool, digit: bool) -> bool:
    joined = WORDY.match(value) and (not tight or "_" in value or "." in value)
    telling = quoted or (not joined and (digit or not value.isascii()))
    return telling and len(value) >= (6 if digit else 8)


def is_placeholder(value: str) -> bool:
    low = value.lower()
    return (
        low.startswith(_PLACEHOLDER_STARTS)
        or "[redacted:" in low
        or low.translate(SQUEEZE) in _PLACEHOLDER_WORDS
        or bool(_CALL.match(value) or _FILLER.match(value))
    )
