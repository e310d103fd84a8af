"""Where an endpoint may be: URLs, spellings of addresses, names that resolve to the inside."""

from __future__ import annotations

import ipaddress
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from all_cases import all_cases
from rlm.errors import ConfigError, EndpointError
from rlm.ontology.remote.addresses import check_addresses, resolve, why_refused
from rlm.urls import Address, parse_url

INSIDE = [
    "127.0.0.1",
    "127.8.9.10",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.1.1",
    "192.0.0.8",
    "192.0.2.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "240.0.0.1",
    "::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fec0::1",
    "2001:db8::1",
    "2001::1",
    "100::1",
    "64:ff9b:1::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:7f00:1",
    "::7f00:1",
    "64:ff9b::10.0.0.1",
    "2002:7f00:1::",
    "2002:a00:1::1",
]
NEVER = [
    "0.0.0.0",
    "0.1.2.3",
    "::",
    "169.254.169.254",
    "169.254.170.2",
    "168.63.129.16",
    "100.100.100.200",
    "fd00:ec2::254",
    "::ffff:169.254.169.254",
    "64:ff9b::169.254.169.254",
    "2002:a9fe:a9fe::",
    "224.0.0.1",
    "239.255.255.255",
    "255.255.255.255",
    "ff02::1",
    "::ffff:0.0.0.0",
]
OUTSIDE = [
    "8.8.8.8",
    "1.1.1.1",
    "172.32.0.1",
    "2606:4700::1111",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
]


@all_cases("ip", INSIDE)
def test_private_addresses_need_leave(ip):
    assert why_refused(ip) is not None
    assert why_refused(ip, allow_private=True) is None


@pytest.mark.parametrize("ip", NEVER)
def test_metadata_multicast_and_no_address_are_always_refused(ip):
    assert why_refused(ip) is not None
    assert why_refused(ip, allow_private=True) is not None


@pytest.mark.parametrize("ip", OUTSIDE)
def test_public_addresses_are_fine(ip):
    assert why_refused(ip) is None


@pytest.mark.parametrize("text", ["", "localhost", "127.1", "1.2.3.4/8", "fe80::1%eth0%x"])
def test_what_is_no_address_is_refused(text):
    assert why_refused(text, allow_private=True) is not None


@given(st.ip_addresses(v=4))
def test_an_address_is_judged_alike_in_every_wrapping(ip):
    mapped = ipaddress.IPv6Address((0xFFFF << 32) | int(ip))
    translated = ipaddress.IPv6Address(int(ipaddress.IPv6Address("64:ff9b::")) | int(ip))
    plain = why_refused(str(ip))
    assert (why_refused(str(mapped)) is None) == (plain is None)
    assert (why_refused(str(translated)) is None) == (plain is None)
    assert plain is not None or ip.is_global


# -- URLs
# ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("https://Data.Example.org/sparql", ("https", "data.example.org", 443, "/sparql")),
        ("http://h:8080", ("http", "h", 8080, "/")),
        ("https://h./a?x=1&y", ("https", "h", 443, "/a?x=1&y")),
        ("http://[2606:4700:0::1]:81/", ("http", "2606:4700::1", 81, "/")),
        ("https://bücher.example/s", ("https", "xn--bcher-kva.example", 443, "/s")),
        ("http://10.1.2.3/s", ("http", "10.1.2.3", 80, "/s")),
    ],
)
def test_a_url_is_taken_apart(url, parts):
    assert parse_url(url) == Address(*parts)
    assert parse_url(parse_url(url).url) == Address(*parts)


@all_cases(
    "url",
    [
        "",
        "sparql",
        "ftp://h/s",
        "file:///etc/passwd",
        "gopher://h/",
        "//h/s",
        "http://",
        "http:///s",
        "http://h:0/",
        "http://h:99999/",
        "http://h:x/",
        "http://h/#part",
        "http://h/a b",
        "http://h/\r\nX: y",
        "http://h/ü",
        "http://[::1",
        "http://[fe80::1%25eth0]/",
        "http://[v1.a]/",
        "http://x[::1]/",
        "http://a..b/",
        "http://-a/",
        "http://h/" + "x" * 3000,
        # numbers that resolvers read as 127.0.0.1
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://0x7f.0.0.1/",
        "http://0x7f000001/",
        "http://127.1/",
        "http://127.0.0.0x1/",
        "http://1.2.3.256/",
    ],
)
def test_a_url_that_is_none_is_refused(url):
    with pytest.raises(ConfigError, match="URL of the endpoint"):
        parse_url(url)


@pytest.mark.parametrize("url", ["http://127。0。0。1/", "http://①②⑦.0.0.1/"])
def test_letters_that_stand_for_digits_become_digits(url):
    assert parse_url(url).host == "127.0.0.1"


def test_a_password_in_a_url_is_refused_and_not_shown():
    with pytest.raises(ConfigError) as caught:
        parse_url("https://anna:hunter2@h/sparql")
    assert "password" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ConfigError):
        parse_url("https://trusted.example@other.example/")


@given(st.text(max_size=40))
def test_no_url_makes_it_crash(text):
    for url in (text, f"http://{text}", f"http://{text}/s", f"https://h{text}"):
        try:
            found = parse_url(url)
        except ConfigError:
            continue
        assert found.scheme in ("http", "https")
        assert found.host.isascii()
        assert parse_url(found.url) == found


# -- names
# -----------------------------------------------------------------------------------------------


def at(host="data.example.org"):
    return Address("https", host, 443, "/sparql")


def ask(ips, host="data.example.org", *, allow_private=False):
    return check_addresses(
        at(host), allow_private=allow_private, timeout_s=5.0, resolver=lambda *_: ips
    )


def test_the_addresses_of_a_name_are_given_in_order_and_once():
    assert ask(["8.8.8.8", "1.1.1.1", "8.8.8.8"]) == ["8.8.8.8", "1.1.1.1"]


@pytest.mark.parametrize("bad", ["127.0.0.1", "::1", "169.254.169.254", "fe80::1%eth0", "10.0.0.7"])
def test_one_bad_address_refuses_the_name(bad):
    with pytest.raises(EndpointError, match="nothing was sent"):
        ask(["8.8.8.8", bad])


def test_the_refusal_says_what_to_set():
    with pytest.raises(
        EndpointError, match=r"data.example.org \(127.0.0.1\) is this machine itself.*allow_private"
    ):
        ask(["127.0.0.1"])
    with pytest.raises(EndpointError) as caught:
        ask(["169.254.169.254"], allow_private=True)
    assert "allow_private" not in str(caught.value)


def test_localhost_is_resolved_and_refused():
    with pytest.raises(EndpointError, match="this machine itself"):
        check_addresses(at("localhost"), allow_private=False, timeout_s=5.0)
    assert set(resolve("localhost", 80)) <= {"127.0.0.1", "::1"}


def test_a_name_without_addresses():
    def unknown(*_):
        raise OSError("not known")

    with pytest.raises(EndpointError, match="no address is known"):
        check_addresses(at(), allow_private=False, timeout_s=5.0, resolver=unknown)
    with pytest.raises(EndpointError, match="no address is known"):
        ask([])


def test_a_resolver_that_hangs_is_not_waited_for():
    over = threading.Event()

    def slow(*_):
        over.wait(30)
        return ["8.8.8.8"]

    with pytest.raises(EndpointError, match="could not be looked up"):
        check_addresses(at(), allow_private=False, timeout_s=0.05, resolver=slow)
    over.set()
