"""Which network addresses an endpoint may have, and the URL that names it.

A name is resolved once for each query, every address it has is checked, and the connection is then
made to one of those very addresses. So a name that changes its mind between the check and the
connection (DNS rebinding) gains nothing, and neither does any spelling of an address: what counts
is where packets would go.

This module sends nothing but the question to the resolver.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import urlsplit

from rlm.errors import ConfigError, EndpointError

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], list[str]]
"""From a host name and a port to addresses in text form. Raises OSError when there are none."""

DEFAULT_PORT = {"http": 80, "https": 443}
MAX_URL_CHARS = 2000
MAX_ADDRESSES = 16

NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
COMPATIBLE = ipaddress.IPv6Network("::/96")
NEVER = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8",  # on Linux this is the machine itself
        "169.254.169.254/32",  # what follows is where clouds hand out keys to whoever asks
        "169.254.170.2/32",
        "169.254.170.23/32",
        "168.63.129.16/32",
        "100.100.100.200/32",
        "192.0.0.192/32",
        "fd00:ec2::/32",
        "fd20:ce::254/128",
        "::/128",
        "224.0.0.0/4",
        "255.255.255.255/32",
        "ff00::/8",
    )
)
"""Nobody keeps an endpoint there, so not even `allow_private` opens them."""

INSIDE = tuple(
    ipaddress.ip_network(text)
    for text in (
        # Written down because older Pythons take some of these for public.
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "240.0.0.0/4",
        "::1/128",
        "64:ff9b:1::/48",
        "100::/64",
        "2001::/23",
        "fc00::/7",
        "fe80::/10",
        "fec0::/10",
    )
)


@dataclass(frozen=True, slots=True)
class Address:
    """A URL of an endpoint, taken apart. `host` is in ASCII and lower case, an IPv6 address without
    brackets."""

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


def parse_url(url: str) -> Address:
    """The parts of an endpoint's URL. Raises ConfigError, which never shows a password in it."""
    if len(url) > MAX_URL_CHARS or not url.isprintable() or any(c in url for c in ' <>"{}|\\^`'):
        _bad("is too long or holds characters that no URL has")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        _bad("is not a URL")
    if parts.scheme not in DEFAULT_PORT:
        _bad(
            f"begins with {parts.scheme[:20]!r}"
            if parts.scheme
            else "does not begin with http:// or https://"
        )
    if "@" in parts.netloc:
        _bad("has a user or password in it, which logs would show: name them in the environment")
    if "[" in parts.netloc and not (parts.netloc.startswith("[") and ":" in host):
        _bad("has brackets around what is no IPv6 address")
    if parts.fragment:
        _bad("has a # part, which is never sent")
    if port == 0:
        _bad("has the port 0")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not target.isascii():
        _bad("has letters in its path that must be percent-encoded")
    return Address(parts.scheme, checked_host(host), port or DEFAULT_PORT[parts.scheme], target)


def checked_host(host: str) -> str:
    """The host in ASCII. Raises ConfigError for what is neither a name nor an address in its usual
    form."""
    if ":" in host:
        try:
            return (
                str(ipaddress.IPv6Address(host))
                if "%" not in host
                else _bad("has a zone in its address")
            )
        except ValueError:
            _bad("has a host that is no IPv6 address")
    try:
        found = host.encode("idna").decode("ascii").lower().rstrip(".")
    except UnicodeError:
        _bad(f"has a host that is no name: {host[:60]!r}")
    if not re.fullmatch(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?", found) or len(found) > 253:
        _bad(f"has a host that is no name: {host[:60]!r}")
    if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", found.rpartition(".")[2]):
        try:
            return str(ipaddress.IPv4Address(found))
        except ValueError:  # 2130706433, 0177.0.0.1, 0x7f.1: resolvers differ on what these are
            _bad(
                f"has a number for a host, {host[:60]!r}: write the address as four decimal numbers"
            )
    return found


def _bad(what: str) -> NoReturn:
    raise ConfigError(f"the URL of the endpoint {what}: write it as https://host/path")


def why_refused(text: str, *, allow_private: bool = False) -> str | None:
    """Why nothing is sent to this address, or None when something may be."""
    try:
        outer = ipaddress.ip_address(text)
    except ValueError:
        return "not an address"
    for ip in (outer, *_inner(outer)):
        if _in(ip, NEVER):
            return "an address that no endpoint has"
        if allow_private:
            continue
        if ip.is_loopback:
            return "this machine itself"
        if ip.is_link_local:
            return "a link-local address"
        if ip == outer and isinstance(ip, ipaddress.IPv6Address) and _inner(ip):
            continue  # only a wrapper, and Pythons differ on it: the address inside decides
        if (
            _in(ip, INSIDE)
            or ip.is_private
            or ip.is_multicast
            or ip.is_reserved
            or not ip.is_global
        ):
            return "a private or reserved address"
    return None


def _in(ip: IPAddress, networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]) -> bool:
    return any(ip in network for network in networks if network.version == ip.version)


def _inner(ip: IPAddress) -> tuple[ipaddress.IPv4Address, ...]:
    """The IPv4 address that an IPv6 address stands for: mapped, compatible, NAT64 or 6to4."""
    if not isinstance(ip, ipaddress.IPv6Address):
        return ()
    if ip.ipv4_mapped is not None:
        return (ip.ipv4_mapped,)
    if ip.sixtofour is not None:
        return (ip.sixtofour,)
    if ip in NAT64 or (ip in COMPATIBLE and int(ip) > 0xFFFF):
        return (ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF),)
    return ()


def resolve(host: str, port: int) -> list[str]:
    """The system's resolver: every address of a name, in its order of preference."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(info[4][0]) for info in found]


def checked_addresses(
    address: Address, *, allow_private: bool, timeout_s: float, resolver: Resolver = resolve
) -> list[str]:
    """The addresses to connect to, all of them allowed. Raises EndpointError.

    One bad address among good ones refuses them all: that is how a name is bound anew.
    """
    ips = _resolved(address, timeout_s, resolver)
    for ip in ips:
        why = why_refused(ip, allow_private=allow_private)
        if why is not None:
            advice = (
                ""
                if allow_private or "no endpoint" in why
                else "; set allow_private = true for this endpoint"
            )
            shown = address.host if address.host == ip else f"{address.host} ({ip})"
            raise EndpointError(f"{shown} is {why}, so nothing was sent{advice}")
    return ips


def _resolved(address: Address, timeout_s: float, resolver: Resolver) -> list[str]:
    found: list[str] = []
    failed: list[Exception] = []

    def ask() -> None:
        try:
            found.extend(resolver(address.host, address.port))
        except (OSError, UnicodeError) as exc:
            failed.append(exc)

    # The system's resolver knows no timeout: a thread that nobody waits for does.
    thread = threading.Thread(target=ask, name="rlm-resolve", daemon=True)
    thread.start()
    thread.join(max(timeout_s, 0.0))
    if thread.is_alive():
        raise EndpointError(
            f"the name {address.host} could not be looked up within {timeout_s:.3g} s"
        )
    ips = list(dict.fromkeys(found))[:MAX_ADDRESSES]
    if not ips:
        cause = failed[0] if failed else None
        raise EndpointError(
            f"no address is known for {address.host}: check the URL and the network"
        ) from cause
    return ips
