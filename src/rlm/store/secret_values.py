"""Whether a value looks like a secret, or like a placeholder for one, and which tokens have a shape
that their vendors gave them: a prefix, and what may follow. For `secrets` alone.
"""

import re
from functools import cache
from typing import NamedTuple

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


# -- tokens of vendors

_EDGE = r"(?<![A-Za-z0-9])"
_LOWER = r"(?=[a-z]*[0-9])[a-z0-9]{32,}"


class VendorRule(NamedTuple):
    kind: str
    marker: str  # in every match
    pattern: re.Pattern[str]
    # "mixed": only a match with a digit and both cases counts; "random": only one that is no words
    looks: str


# kind, markers, what follows a marker. Where names begin like that too, the kind ends in "?"
# (mixed) or "??" (random).
_VENDORS = (
    ("age-key", "AGE-SECRET-KEY-", r"[A-Z0-9]{20,}"),
    ("airtable-token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{32,}"),
    ("anthropic-key", "sk-ant-", r"[\w-]{16,}"),
    ("atlassian-token", "ATATT3x ATCTT3x", r"[\w-]{20,}"),
    ("aws-access-key", "AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}"),
    ("aws-bedrock-key?", "ABSK bedrock-api-key-", r"[A-Za-z0-9]{16,}"),
    ("cerebras-key", "csk-", _LOWER),
    ("databricks-token", "dapi", r"[0-9a-f]{32}"),
    ("deepseek-key", "sk-", _LOWER),  # and others
    ("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{32,}"),
    ("discord-token", ".", None),
    ("docker-token", "dckr_pat_ dckr_oat_", r"[\w-]{16,}"),
    ("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[\w.-]{16,}"),
    ("elevenlabs-key", "sk_", r"[0-9a-f]{48}"),
    ("fireworks-key?", "fw_", None),
    ("gcp-api-key", "AIza", r"[\w-]{30,}"),
    ("gcp-api-key", "AQ.Ab8", r"[\w-]{30,}"),
    ("gcp-oauth", "ya29. GOCSPX-", r"[\w-]{20,}"),
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{20,}"),
    ("github-token", "github_pat_", r"\w{20,}"),
    ("gitlab-token", "glpat- gldt- glrt- glcbt- glptt- glsoat-", r"[\w-]{18,}"),
    ("grafana-token", "glsa_ glc_", r"\w{20,}"),
    ("groq-key", "gsk_", r"[A-Za-z0-9]{20,}"),
    ("heroku-key", "HRKU-", r"[\w-]{20,}"),
    ("huggingface-token", "hf_ api_org_", r"[A-Za-z0-9]{28,}"),
    ("jina-key", "jina_", r"(?=[A-Za-z]*[0-9])[A-Za-z0-9]{30,}[\w-]*"),
    ("jwt", "eyJ", r"[\w-]*(?:\.[\w-]*){0,4}"),
    ("langsmith-key", "lsv2_", r"\w{20,}"),
    ("linear-key", "lin_api_", r"[A-Za-z0-9]{20,}"),
    ("notion-token", "ntn_", r"[A-Za-z0-9]{20,}"),
    ("npm-token", "npm_", r"[A-Za-z0-9]{20,}"),
    ("nvidia-key", "nvapi-", r"[\w-]{20,}"),
    ("openrouter-key", "sk-or-", r"[\w-]{16,}"),
    ("openai-key", "sk-proj- sk-svcacct- sk-admin-", r"[\w-]{16,}"),
    ("openai-key?", "sk-", r"[\w-]{18,}"),
    ("perplexity-key", "pplx-", r"[A-Za-z0-9]{20,}"),
    ("pinecone-key", "pcsk_", r"\w{20,}"),
    ("pulumi-token", "pul-", r"[0-9a-f]{40}"),
    ("pypi-token?", "pypi-", r"[\w-]{20,}"),
    ("replicate-token", "r8_", r"[A-Za-z0-9]{20,}"),
    ("rlm-token", "rlm_tok_", r"[\w-]{40,}"),
    ("sendgrid-key", "SG.", r"[\w-]{16,}\.[\w-]{16,}"),
    ("shopify-token", "shpat_ shpss_ shpca_ shppa_", r"[0-9a-fA-F]{20,}"),
    ("slack-token", "xox", r"[a-z](?:\.xox[a-z])?-[\w-]{10,}"),
    ("slack-token", "xapp-", r"[\w-]{20,}"),
    ("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"[A-Za-z0-9]{10,}"),
    ("supabase-key", "sbp_ sb_secret_", r"[\w-]{20,}"),
    ("tavily-key", "tvly-", r"[\w-]{20,}"),
    ("telegram-token", ":", None),
    ("terraform-token", "atlasv1.", None),
    ("together-key", "tgp_v1_", r"[\w-]{30,}"),
    ("twilio-key", "SK AC", r"[0-9a-f]{32}"),
    ("vault-token", "hvs. hvb. hvr.", r"[\w-]{20,}"),
    ("vercel-token??", "vcp_ vca_ vci_ vcr_ vck_ vercel_", r"[\w-]{24,}"),
    ("voyage-key??", "pa-", None),
    ("xai-key", "xai-", r"[A-Za-z0-9]{20,}"),
)
_SHAPES = {  # tokens that have no prefix of their own, or one that is soon found in any base64
    "fw_": r"(?<![\w-])fw_[A-Za-z0-9]{20,}",
    "pa-": r"(?<![\w-])pa-[\w-]{40,}",
    ".": r"(?<![\w-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}",
    "atlasv1.": r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}",
    ":": r"(?<!\d)\d{8,10}:A[\w-]{32,}",
}


@cache
def vendor_rules() -> list[VendorRule]:
    """All rules, in the order in which they are tried; built on first use."""
    rules = []
    for kind, markers, tail in _VENDORS:
        for marker in markers.split():
            # A short or plain marker also occurs inside words and base64; the others may follow
            # anything.
            edge = _EDGE if len(marker) < 4 or marker.isalnum() else ""
            source = _SHAPES[marker] if tail is None else f"{edge}{re.escape(marker)}{tail}"
            looks = ("", "mixed", "random")[kind.count("?")]
            pattern = re.compile(f"{source}[A-Za-z0-9]*", re.ASCII)
            rules.append(VendorRule(kind.rstrip("?"), marker, pattern, looks))
    return rules


@cache
def short_id() -> VendorRule:
    """An id of Alibaba, which can be too short for a run of token characters."""
    escapes = (r"\\[abfnrtv]", r"\\x[0-9a-fA-F]{2}", r"\\u[0-9a-fA-F]{4}", "%[0-9a-fA-F]{2}")
    edge = "|".join(("(?<![A-Za-z0-9]LTAI)", *(f"(?<={escape}LTAI)" for escape in escapes)))
    no_filler = "(?=[A-Za-z]{0,19}[0-9])(?![A-Za-z0-9]{0,16}xxxx)"
    pattern = f"LTAI(?:{edge}){no_filler}[A-Za-z0-9]{{12,20}}(?![A-Za-z0-9])"
    return VendorRule("alibaba-key", "LTAI", re.compile(pattern), "")
