"""Tokens whose vendors gave them a shape: a prefix, and what may follow. For `secrets` alone."""

import re
from functools import cache
from typing import NamedTuple

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
