"""Which network addresses an endpoint may have.

A name is resolved once for each query, every address it has is checked, and the connection is then
made to one of those very addresses. So a name that changes its mind between the check and the
connection (DNS rebinding) gains nothing, and neither does any spelling of an address: what counts
is where packets would go.

This module sends nothing but the question to the resolver.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable

from rlm.errors import EndpointError
from rlm.urls import Address

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], list[str]]
"""From a host name and a port to addresses in text form. Raises OSError when there are none."""

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


def check_addresses(
    address: Address, *, allow_private: bool, timeout_s: float, resolver: Resolver = resolve
) -> list[str]:
    """The addresses to connect to, all of them allowed. Raises EndpointError. One bad address among
    good ones refuses them all: that is how a name is bound anew."""
    ips = _resolve(address, timeout_s, resolver)
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


def _resolve(address: Address, timeout_s: float, resolver: Resolver) -> list[str]:
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
