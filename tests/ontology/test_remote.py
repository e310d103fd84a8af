"""RemoteEngine: against a real server, and against ones that behave badly."""

from __future__ import annotations

import gzip
import socket
import ssl
import threading
from contextlib import suppress

import pyoxigraph
import pytest
from endpoint_server import (
    DATA,
    HTML,
    JSON,
    TOKEN,
    BadServer,
    Naps,
    drip,
    drop,
    endless,
    engine,
    hang,
    oxigraph,
    packed,
    rows,
)
from hypothesis import given
from hypothesis import strategies as st

from rlm.errors import EndpointError, QueryRefused, QueryTimeout
from rlm.ontology.terms import term_source

SELECT = "SELECT ?x WHERE { ?x a <http://example.org/Sloop> } ORDER BY ?x"
EX = "PREFIX ex: <http://example.org/> "


def names(answer, variable="x"):
    return [row[variable]["v"].rpartition("/")[2] for row in answer.rows]


# -- a real server
# ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    with oxigraph(tmp_path_factory.mktemp("oxigraph")) as url:
        yield url


@pytest.fixture(params=["auto", "get", "post"])
def boats(real, request):
    with engine(real, method=request.param) as opened:
        yield opened


@pytest.mark.req("UT-12")
def test_every_form_of_query(boats):
    found = boats.query(SELECT)
    assert (found.kind, found.variables, names(found), found.truncated) == (
        "select",
        ["x"],
        ["gull", "tern"],
        False,
    )
    assert found.seconds > 0
    assert boats.query(EX + "ASK { ex:gull ex:builtBy ex:north }").boolean is True
    assert boats.query(EX + "ASK { ex:gull ex:builtBy ex:south }").boolean is False
    graph = boats.query(EX + "CONSTRUCT { ?b ex:by ?y } WHERE { ?b ex:builtBy ?y }")
    assert graph.kind == "graph"
    assert {(s["v"][19:], o["v"][19:]) for s, _, o in graph.triples} == {
        ("gull", "north"),
        ("tern", "north"),
        ("auk", "south"),
    }
    described = boats.query(EX + "DESCRIBE ex:gull")
    assert {"t": "lit", "v": 'the "Gull"\n'} in [o for _, _, o in described.triples]
    assert (
        boats.query(EX + "SELECT ?n { ex:gull ex:length ?n }")
        .rows[0]["n"]["dt"]
        .endswith("#decimal")
    )


def test_limits_hold_and_are_told(boats):
    cut = boats.query(SELECT, limit=1)
    assert (names(cut), cut.truncated) == (["gull"], True)
    assert boats.query(SELECT, limit=2).truncated is False
    assert boats.query(SELECT + " LIMIT 1").truncated is False
    graph = boats.query("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", limit=3)
    assert (len(graph.triples), graph.truncated) == (3, True)
    assert boats.query(SELECT, limit=0).rows == []


def test_answers_agree_with_the_same_data_at_hand(boats):
    store = pyoxigraph.Store()
    store.load(DATA, format=pyoxigraph.RdfFormat.TURTLE)
    query = "SELECT ?s ?p ?o WHERE { ?s ?p ?o FILTER(!isBlank(?s) && !isBlank(?o)) }"
    here = {tuple(node.value for node in row) for row in store.query(query)}
    assert {tuple(row[name]["v"] for name in "spo") for row in boats.query(query).rows} == here


def test_a_long_query_goes_by_post(real):
    with engine(real) as opened:
        padding = " ".join(f"<http://example.org/{'x' * 90}{n}>" for n in range(60))
        found = opened.query(f"SELECT ?x WHERE {{ VALUES ?x {{ {padding} }} }}")
        assert len(found.rows) == 60


def test_a_query_the_server_cannot_read_is_refused_in_its_words(boats):
    with pytest.raises(QueryRefused, match="refused the query: it answered 400, saying"):
        boats.query("SELECT ?x WHERE { ?x ?x }")


@pytest.mark.parametrize(
    "query",
    [
        "INSERT DATA { <urn:a> <urn:b> <urn:c> }",
        "SELECT * WHERE { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
        "SELECT * FROM <http://127.0.0.1:9/> WHERE { ?s ?p ?o }",
        "LOAD <http://127.0.0.1:9/>",
        "SELECT * WHERE { ?s ?p ?o",
        "SELECT * WHERE " + "{" * 5000 + "}" * 5000,
    ],
)
def test_what_the_guard_refuses_is_not_sent(query):
    with BadServer() as server, engine(server.url) as opened:
        with pytest.raises(QueryRefused):
            opened.query(query)
        assert server.requests == []


def test_meta_is_a_sample(real):
    with engine(real) as opened:
        meta = opened.meta()
        assert opened.meta() is meta
    assert meta.sampled
    assert meta.triple_count == 22
    assert meta.classes["http://example.org/Sloop"] == 2
    assert meta.properties["http://example.org/builtBy"] == 3
    assert "http://example.org/Sloop" in meta.subs["http://example.org/Boat"]
    assert "http://example.org/Boat" in meta.doms["http://example.org/builtBy"]
    assert meta.label("http://example.org/Boat", "de") == "Boot"
    assert meta.description.startswith("Sampled from http://127.0.0.1")
    assert "without" not in meta.description


def test_meta_of_an_endpoint_that_answers_little():
    refused = (500, {"Content-Type": "text/plain"}, b"too heavy")
    with BadServer(b'{"boolean": true}', refused) as server, engine(server.url) as opened:
        meta = opened.meta()
    assert meta.sampled
    assert "without the number of triples, the classes, the properties" in meta.description
    with (
        BadServer(refused) as server,
        engine(server.url) as opened,
        pytest.raises(EndpointError, match="too heavy"),
    ):
        opened.meta()


# -- how it is asked
# -------------------------------------------------------------------------------------


def test_get_and_its_headers():
    with BadServer() as server, engine(server.url + "?key=1", default_graph="urn:g") as opened:
        assert names(opened.query(SELECT)) == ["a"]
    [(method, path, headers, _)] = server.requests
    assert method == "GET"
    assert path.startswith("/sparql?key=1&query=SELECT")
    assert path.endswith("&default-graph-uri=urn%3Ag")
    assert headers["accept"].startswith(JSON)
    assert headers["user-agent"].startswith("rlm/")
    assert headers["host"] == f"127.0.0.1:{server.port}"
    assert "authorization" not in headers
    assert "cookie" not in headers
    assert server.query().endswith("LIMIT 1001")


def test_a_server_that_takes_no_form_gets_the_bare_query():
    no_form = (415, {}, b"")
    with BadServer(no_form, rows("a")) as server, engine(server.url, method="post") as opened:
        opened.query(SELECT)
        opened.query(SELECT)
    kinds = [headers["content-type"] for _, _, headers, _ in server.requests]
    form, bare = "application/x-www-form-urlencoded", "application/sparql-query"
    assert kinds == [form, bare, bare], "what worked is remembered"
    assert server.query(0) == server.query(1)


def test_a_server_that_takes_no_get_is_asked_by_post():
    with BadServer((405, {}, b""), rows("a")) as server, engine(server.url) as opened:
        opened.query(SELECT)
    assert [request[0] for request in server.requests] == ["GET", "POST"]


def test_connections_are_kept_and_a_stale_one_is_made_anew():
    naps = Naps()
    with (
        BadServer(rows("a"), rows("b"), drop, rows("c")) as server,
        engine(server.url, naps) as opened,
    ):
        found = [names(opened.query(SELECT)) for _ in range(3)]
    assert found == [["a"], ["b"], ["c"]]
    assert naps == [], "nothing was wrong with the server"


def test_gzip_is_unpacked():
    with BadServer(packed(rows("a", "b"))) as server, engine(server.url) as opened:
        assert names(opened.query(SELECT)) == ["a", "b"]


def test_a_cap_that_the_server_tells_of_counts_as_truncated():
    with (
        BadServer((200, {"X-SPARQL-MaxRows": "1"}, rows("a"))) as server,
        engine(server.url) as opened,
    ):
        assert opened.query(SELECT).truncated


def test_it_can_be_asked_from_many_threads():
    found = []
    with BadServer() as server, engine(server.url) as opened:
        threads = [
            threading.Thread(target=lambda: found.append(names(opened.query(SELECT))))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [["a"]] * 8


# -- answers that are none
# -------------------------------------------------------------------------------


def text(status, body=b"", **headers):
    return status, {"Content-Type": "text/plain", **headers}, body


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        ((200, {"Content-Type": "text/html"}, HTML), EndpointError, "answered a web page"),
        (HTML, EndpointError, "answered a web page"),
        ((404, {"Content-Type": "text/html"}, HTML), EndpointError, "answered 404: is its URL"),
        ((400, {"Content-Type": "text/html"}, HTML), EndpointError, "answered 400: is its URL"),
        (b'{"head": {"vars"', EndpointError, "is not JSON"),
        (b"", EndpointError, "is not JSON"),
        (b"[1]", EndpointError, "no SPARQL result"),
        (
            (200, {"Content-Type": "application/sparql-results+xml"}, b"<sparql/>"),
            EndpointError,
            "though JSON was",
        ),
        ((200, {"Content-Encoding": "br"}, b"abc"), EndpointError, "'br', which was not asked for"),
        ((200, {"Content-Encoding": "gzip"}, b"abc"), EndpointError, "not gzip"),
        (
            (200, {"Content-Encoding": "gzip"}, gzip.compress(b"{}", mtime=0) * 2),
            EndpointError,
            "after the end",
        ),
        (text(400, b"no such\x1b[31m  prefix\n"), QueryRefused, r'saying "no such \[31m prefix"'),
        (text(400, b"x" * 5000), QueryRefused, "x…"),
        (text(404), EndpointError, "answered 404"),
        (text(406), EndpointError, "neither JSON results nor N-Triples"),
        (text(500, b"out of memory"), EndpointError, "out of memory"),
        (text(500, b"Query timeout limit reached"), QueryTimeout, "gave the query up"),
        (text(504), QueryTimeout, "gave the query up"),
        (text(401), EndpointError, "RLM_ENDPOINT_BOATS_TOKEN"),
        (text(403), EndpointError, "RLM_ENDPOINT_BOATS_TOKEN"),
        (endless, EndpointError, "more than 1,000,000 bytes"),
        (packed(b"x" * 50_000_000), EndpointError, "more than 1,000,000 bytes"),
        (packed(gzip.compress(b"x" * 50_000_000, mtime=0)), EndpointError, "is not JSON"),
    ],
)
def test_a_bad_answer_is_a_clear_error(answer, error, said):
    with BadServer(answer) as server, engine(server.url, max_bytes=1_000_000) as opened:
        with pytest.raises(error, match=said) as caught:
            opened.query(SELECT)
        assert type(caught.value) is error
        assert "the endpoint 'boats' (http://127.0.0.1" in str(caught.value)
        assert len(str(caught.value)) < 700
        assert str(caught.value).isprintable()
        assert len(server.requests) == 1


def test_a_graph_that_is_none():
    turtle = (200, {"Content-Type": "text/turtle"}, b"@prefix e: <http://e/> .")
    xml = (200, {"Content-Type": "application/rdf+xml"}, b"<rdf/>")
    lines = (200, {"Content-Type": "text/plain"}, b"<http://e/a> <http://e/p> _:x .")
    query = "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"
    with BadServer(turtle, xml, HTML, lines) as server, engine(server.url) as opened:
        for said in ("not N-Triples at its line 1", "though N-Triples was asked for", "web page"):
            with pytest.raises(EndpointError, match=said):
                opened.query(query)
        assert opened.query(query).triples[0][2] == {"t": "bnode", "v": "b0"}
        assert server.requests[0][2]["accept"].startswith("application/n-triples")


@pytest.mark.parametrize("answer", [hang, drip])
def test_a_server_that_is_slow_is_broken_off(answer):
    with BadServer(answer) as server, engine(server.url) as opened:
        with pytest.raises(EndpointError, match=r"did not answer within 0.3 s"):
            opened.query(SELECT, timeout_s=0.3)
        assert len(server.requests) == 1


def test_a_greeting_that_drips_is_broken_off():
    """TLS is promised, and then comes one byte after the other."""
    over = threading.Event()

    def greet(listener):
        with suppress(OSError):
            line, _ = listener.accept()
            with line:
                line.sendall(b"\x16\x03\x03\x40\x00")
                while not over.wait(0.02):
                    line.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=greet, args=(listener,))
        thread.start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        with (
            engine(url, timeout_s=0.3) as opened,
            pytest.raises(EndpointError, match=r"within 0.3 s|in time"),
        ):
            opened.query(SELECT)
        over.set()
        thread.join()


def test_a_server_that_repeats_the_token_does_not_get_it_into_a_message():
    echo = b"x" * 290 + TOKEN.encode()
    answers = (text(400, echo), text(500, echo), b" " * 10 + TOKEN.encode(), rows(TOKEN))
    with BadServer(*answers) as server, engine(server.url, auth="bearer", token=TOKEN) as opened:
        for _ in range(3):
            with pytest.raises((EndpointError, QueryRefused)) as caught:
                opened.query(SELECT)
            assert TOKEN[:6] not in str(caught.value)
            assert "***" in str(caught.value)
        assert names(opened.query(SELECT)) == ["***"]
        assert TOKEN not in repr(opened) + repr(opened.endpoint)
    assert server.requests[0][2]["authorization"] == f"Bearer {TOKEN}"


def test_an_endpoint_that_is_down():
    with BadServer() as server:
        url = server.url
    naps = Naps()
    with (
        engine(url, naps) as opened,
        pytest.raises(EndpointError, match=r"cannot be reached.*is it running"),
    ):
        opened.query(SELECT)
    assert naps == []


def test_a_closed_engine_says_so():
    with BadServer() as server:
        opened = engine(server.url)
        opened.query(SELECT)
        opened.close()
        with pytest.raises(EndpointError, match="closed"):
            opened.query(SELECT)


# -- trying again
# ----------------------------------------------------------------------------------------


def test_too_many_requests_are_waited_out():
    naps = Naps()
    answers = (text(429, **{"Retry-After": "2"}), text(503), rows("a"))
    with BadServer(*answers) as server, engine(server.url, naps) as opened:
        assert names(opened.query(SELECT)) == ["a"]
    assert naps == [2.0, 1.0]


def test_retries_end():
    naps = Naps()
    with (
        BadServer(text(429, b"slow down", **{"Retry-After": "1"})) as server,
        engine(server.url, naps) as opened,
    ):
        with pytest.raises(
            EndpointError, match=r'too many requests.*"slow down", and asks to wait 1 s'
        ):
            opened.query(SELECT)
        assert len(server.requests) == 3
    assert naps == [1.0, 1.0]


@pytest.mark.parametrize("header", ["3600", "9", "inf", "Wed, 01 Jan 2098 00:00:00 GMT"])
def test_a_wait_that_is_too_long_is_not_begun(header):
    naps = Naps()
    with (
        BadServer(text(503, **{"Retry-After": header})) as server,
        engine(server.url, naps) as opened,
    ):
        with pytest.raises(EndpointError, match="answered 503"):
            opened.query(SELECT, timeout_s=8.0)
        assert len(server.requests) == 1
    assert naps == []


@pytest.mark.parametrize("header", ["", "soon", "nan", "-5", "Wed, 99 Foo"])
def test_a_wait_that_means_nothing(header):
    naps = Naps()
    with (
        BadServer(text(503, **{"Retry-After": header}), rows("a")) as server,
        engine(server.url, naps) as opened,
    ):
        assert names(opened.query(SELECT)) == ["a"]
    assert naps in ([0.5], [0.0])


def test_a_dropped_connection_is_tried_again():
    naps = Naps()
    with BadServer(drop, rows("a")) as server, engine(server.url, naps) as opened:
        assert names(opened.query(SELECT)) == ["a"]
    assert len(naps) == 1


# -- where it goes
# ---------------------------------------------------------------------------------------


def to(location, status=302):
    return status, {"Location": location}, b""


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_on_the_same_host_is_followed(status):
    answers = (to("/elsewhere?query=SELECT", status), rows("a"))
    with BadServer(*answers) as server, engine(server.url, method="post") as opened:
        assert names(opened.query(SELECT)) == ["a"]
    first, second = server.requests
    assert (second[0], second[1], second[3]) == ("POST", "/elsewhere?query=SELECT", first[3])


def test_see_other_is_followed_by_get():
    with (
        BadServer(to("/result/7", 303), rows("a")) as server,
        engine(server.url, method="post") as opened,
    ):
        assert names(opened.query(SELECT)) == ["a"]
    assert server.requests[1][:2] == ("GET", "/result/7")
    assert server.requests[1][3] == b""


def test_redirects_in_a_circle_end():
    with BadServer(to("/sparql")) as server, engine(server.url) as opened:
        with pytest.raises(EndpointError, match="more than 3 redirects"):
            opened.query(SELECT)
        assert len(server.requests) == 4


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_credentials_never_reach_another_host_or_port(status):
    """The other server is on the loopback too, under another name or another port."""
    settings = {"auth": "bearer", "token": TOKEN, "resolver": lambda *_: ["127.0.0.1"]}
    with BadServer() as other:
        urls = [
            other.url.replace("127.0.0.1", host)
            for host in ("127.0.0.1", "other.test", "boats.test")
        ]
        for target in (*urls, f"//other.test:{other.port}/"):
            with BadServer(to(target, status)) as server:
                url = server.url.replace("127.0.0.1", "boats.test")
                with (
                    engine(url, **settings) as opened,
                    pytest.raises(EndpointError, match="which is not followed"),
                ):
                    opened.query(SELECT)
                assert server.requests[0][2]["authorization"] == f"Bearer {TOKEN}"
        assert other.requests == []


@pytest.mark.parametrize(
    "target",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/",
        "http://2130706433/",
        "https://127.0.0.2/",
        "https://127.0.0.1:8443/",
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "http://anna:pw@127.0.0.1/",
        "http://[",
    ],
)
def test_other_redirects_are_refused(target):
    with BadServer(to(target)) as server, engine(server.url) as opened:
        with pytest.raises(EndpointError, match=r"redirects \(302\)"):
            opened.query(SELECT)
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "169.254.169.254", "0.0.0.0"]
)
def test_private_addresses_get_nothing_unless_allowed(host):
    with BadServer() as server:
        url = server.url.replace("127.0.0.1", host)
        with (
            engine(url, allow_private=False) as opened,
            pytest.raises(EndpointError, match="nothing was sent"),
        ):
            opened.query(SELECT)
        assert server.requests == []


def test_a_name_that_changes_its_address_gains_nothing():
    """What the first look-up gave is checked and used; what a second one would give is never
    connected to."""
    asked = []

    def rebinding(host, port):
        asked.append((host, port))
        return ["127.0.0.9"] if len(asked) == 1 else ["127.0.0.1"]

    with BadServer() as server:
        url = server.url.replace("127.0.0.1", "boats.test")
        with (
            engine(url, resolver=rebinding) as opened,
            pytest.raises(EndpointError, match="cannot be reached"),
        ):
            opened.query(SELECT)
        assert asked == [("boats.test", server.port)]
        said = r"boats.test \(127.0.0.1\) is this machine itself"
        with (
            engine(url, resolver=rebinding, allow_private=False) as opened,
            pytest.raises(EndpointError, match=said),
        ):
            opened.query(SELECT)
        assert server.requests == []


def test_the_next_address_is_tried_and_the_name_is_kept():
    with BadServer() as server:
        url = server.url.replace("127.0.0.1", "boats.test")
        with engine(url, resolver=lambda *_: ["127.0.0.9", "127.0.0.1"]) as opened:
            assert names(opened.query(SELECT)) == ["a"]
        assert server.requests[0][2]["host"] == f"boats.test:{server.port}"


def test_no_proxy_and_no_netrc_takes_part(monkeypatch, clean_environment):
    with BadServer() as proxy, BadServer() as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        (clean_environment / ".netrc").write_text("machine 127.0.0.1 login anna password hunter2\n")
        with engine(server.url) as opened:
            opened.query(SELECT)
        assert proxy.requests == []
        assert "authorization" not in server.requests[0][2]


# -- TLS
# -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for boats.test, and what trusts it."""
    from datetime import timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    from rlm import clock

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "boats.test")])
    begin = clock.now() - timedelta(days=1)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=3))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("boats.test")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + made.public_bytes(pem))
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(path)
    trusting = ssl.create_default_context(cafile=str(path))
    return served, trusting


def over_tls(certificate, host):
    seen = []
    served, trusting = certificate
    served.sni_callback = lambda _, name, __: seen.append(name)
    with BadServer(tls=served) as server:
        url = f"https://{host}:{server.port}/sparql"
        with engine(
            url, tls=trusting, resolver=lambda *_: ["127.0.0.1"], auth="bearer", token=TOKEN
        ) as opened:
            return names(opened.query(SELECT)), seen


def test_the_certificate_is_checked_for_the_name_and_not_for_the_address(certificate):
    assert over_tls(certificate, "boats.test") == (["a"], ["boats.test"])
    with pytest.raises(EndpointError, match="CERTIFICATE_VERIFY_FAILED"):
        over_tls(certificate, "other.test")


# -- values in a query
# --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "term",
    [
        {"t": "bnode", "v": "b0"},
        {"t": "iri", "v": "http://e/> } #"},
        {"t": "iri", "v": "http://e/\\u003e"},
        {"t": "iri", "v": "relative"},
        {"t": "lit", "v": "a", "lang": "en . }"},
        {"t": "lit", "v": "a", "dt": "x> } #"},
        {"t": "lit", "v": "a\x00"},
        {"t": "lit", "v": "\ud800"},
        {"t": "lit", "v": 1},
        {},
    ],
)
def test_what_could_end_its_token_is_refused(term):
    with pytest.raises(QueryRefused):
        term_source(term)


NASTY = st.one_of(
    st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=40),
    st.lists(
        st.sampled_from(
            ['"', "\\", "\\u0022", "u0022", "U", "'", "\n", "\r", "\t", "\f", "} #", "?x"]
        )
    ).map("".join),
)


@given(NASTY)
def test_a_text_comes_back_as_it_was(value):
    source = term_source({"t": "lit", "v": value})
    [row] = pyoxigraph.Store().query(f"SELECT ?v WHERE {{ VALUES ?v {{ {source} }} }}")
    assert row["v"].value == value


@given(NASTY)
def test_escapes_that_are_read_first_change_nothing(value):
    """A server that replaces \\uXXXX before it reads anything sees the same string."""
    import re

    source = term_source({"t": "lit", "v": value})
    early = re.sub(r"\\u([0-9A-Fa-f]{4})", lambda match: chr(int(match[1], 16)), source)
    [row] = pyoxigraph.Store().query(f"SELECT ?v WHERE {{ VALUES ?v {{ {early} }} }}")
    assert row["v"].value == value


@given(st.text(max_size=20))
def test_an_iri_comes_back_as_it_was_or_is_refused(tail):
    term = {"t": "iri", "v": f"http://e/{tail}"}
    try:
        source = term_source(term)
    except QueryRefused:
        return
    assert source == f"<http://e/{tail}>"
    assert not set(tail) & set('<>"{}|^`\\ \n\r\t')
