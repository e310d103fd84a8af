"""URLs and keys of outside servers: checked before anything is sent, and never shown in full."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import urlsplit

from rlm.errors import ConfigError

MAX_URL_CHARS = 2000
_NOT_IN_URLS = frozenset(' <>"{}|\\^`')
DEFAULT_PORT = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """A URL, taken apart. `host` is in ASCII and lower case, an IPv6 address without brackets."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Host and port as the Host header shows them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORT[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    def pinned(self, ip: str) -> str:
        """The same URL with the address in the place of the name."""
        return f"{self.scheme}://{f'[{ip}]' if ':' in ip else ip}:{self.port}{self.target}"


def parse_url(
    url: str, *, what: str = "the URL of the endpoint", example: str = "https://host/path"
) -> Address:
    """The parts of a URL. Raises ConfigError, which never shows a password in it."""

    def bad(problem: str) -> NoReturn:
        raise ConfigError(f"{what} {problem}: write it as {example}")

    if len(url) > MAX_URL_CHARS or not url.isprintable() or _NOT_IN_URLS.intersection(url):
        bad("is too long or holds characters that no URL has")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        bad("is not a URL")
    if parts.scheme not in DEFAULT_PORT:
        begins = f"begins with {parts.scheme[:20]!r}"
        bad(begins if parts.scheme else "does not begin with http:// or https://")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    ipv6 = parts.netloc.startswith("[") and ":" in host
    problems = {
        "has a user or password in it, which logs would show: name them in the environment": (
            "@" in parts.netloc
        ),
        "has brackets around what is no IPv6 address": "[" in parts.netloc and not ipv6,
        "has a # part, which is never sent": parts.fragment,
        "has the port 0": port == 0,
        "has letters in its path that must be percent-encoded": not target.isascii(),
    }
    if problem := next(filter(problems.get, problems), None):
        bad(problem)
    try:
        checked = _checked_host(host)
    except ValueError as exc:
        bad(str(exc))
    return Address(parts.scheme, checked, port or DEFAULT_PORT[parts.scheme], target)


def _checked_host(host: str) -> str:
    """The host in ASCII. ValueError for what is neither a name nor an address in its usual form."""
    if "%" in host and ":" in host:
        raise ValueError("has a zone in its address")
    if ":" in host:
        try:
            return str(ipaddress.IPv6Address(host))
        except ValueError:
            raise ValueError("has a host that is no IPv6 address") from None
    try:
        found = host.encode("idna").decode("ascii").lower().rstrip(".")
    except UnicodeError:
        found = ""
    if not re.fullmatch(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?", found) or len(found) > 253:
        raise ValueError(f"has a host that is no name: {host[:60]!r}")
    if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", found.rpartition(".")[2]):
        try:
            return str(ipaddress.IPv4Address(found))
        except ValueError:  # 2130706433, 0177.0.0.1, 0x7f.1: resolvers differ on what these are
            raise ValueError(
                f"has a number for a host, {host[:60]!r}: write the address as four decimal numbers"
            ) from None
    return found


def same_host(one: str, two: str) -> bool:
    try:
        return urlsplit(one).hostname == urlsplit(two).hostname
    except ValueError:
        return False


def checked_key(key: str | None, name: str) -> str:
    """The key without white space around it. Raises ConfigError, which does not show it."""
    found = (key or "").strip()
    # h11 prints an illegal header in full, so a key that makes one must not reach it
    if not (found.isascii() and found.isprintable()) or " " in found:
        raise ConfigError(f"{name} holds characters that no key has: copy it again")
    return found


def hide(text: str, *secrets: str) -> str:
    """The text without our secrets: some servers repeat the key that they refuse."""
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    return text
