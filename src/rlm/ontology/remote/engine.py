"""RemoteEngine: the queries of a local engine, asked of an endpoint by the SPARQL 1.1 protocol.

Every query passes the guard and gets its LIMIT before it is sent. A short one goes by GET, a long
one as a form by POST, and where the server takes no form as the bare query. Reading is safe to
repeat, so what may pass (429, 502, 503, a dropped connection) is tried again within the deadline.

This is the one place where statuses and broken exchanges become our errors. Words of the endpoint
are quoted, as one line, cut, with our credentials blotted out: they are a stranger's words.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Self
from urllib.parse import urlencode

from rlm._version import __version__
from rlm.errors import EndpointError, OntologyError, QueryRefused, QueryTimeout
from rlm.http import Connections, Deadline, ExchangeFailed, Request, Response, Retry, retry_after_s
from rlm.ontology.engine.protocol import Answer
from rlm.ontology.query.guard import Checked, check_query, declarations, enforce_limit, unbound
from rlm.ontology.remote import addresses, results
from rlm.ontology.remote.endpoints import Endpoint
from rlm.ontology.terms import Prefixes
from rlm.urls import Address, hide

if TYPE_CHECKING:
    import ssl

    from rlm.ontology.meta.graph_meta import GraphMeta

MAX_ROWS = 10_000
MAX_GET_CHARS = 2000
MAX_SENT_CHARS = 60_000
MAX_REDIRECTS = 3
AGENT = f"rlm/{__version__} (SPARQL client)"
PASSING = frozenset((429, 502, 503))
RETRY = Retry(tries=3, max_wait_s=30.0, when_down=False)
WAYS = {"auto": ["get", "form", "query"], "get": ["get"], "post": ["form", "query"]}


class RemoteEngine:
    """An endpoint. Safe to share between threads; nothing is sent before the first query."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        retry: Retry = RETRY,
        resolver: addresses.Resolver = addresses.resolve,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`resolver` looks names up and `tls` says whom to trust, in place of the system's."""
        self.endpoint = endpoint
        self.name, self.source = endpoint.settings.name, endpoint.address.url
        self._retry = retry

        def check(address: Address, timeout_s: float) -> list[str]:
            return addresses.check_addresses(
                address,
                allow_private=endpoint.settings.allow_private,
                timeout_s=timeout_s,
                resolver=resolver,
            )

        self._connections = Connections(
            max_bytes=endpoint.settings.max_bytes, redirects=MAX_REDIRECTS, addresses=check, tls=tls
        )
        self._ways = WAYS[endpoint.settings.method]
        self._meta: GraphMeta | None = None
        self.prefixes = Prefixes()

    def query(
        self,
        sparql: str,
        *,
        limit: int = 1000,
        timeout_s: float | None = None,
    ) -> Answer:
        """At most `limit` rows, and no more than MAX_ROWS. `timeout_s` covers everything, retries
        too. The well-known prefixes, and those that `meta` gave names to, need not be declared."""
        if limit < 0:
            raise QueryRefused(f"a limit of {limit} rows makes no sense: give 0 or more")
        started, rows = time.monotonic(), min(limit, MAX_ROWS)
        deadline = Deadline.after(
            self.endpoint.settings.timeout_s if timeout_s is None else timeout_s
        )
        checked = check_query(sparql)
        text = self._prepare(checked, rows)
        graph = checked.kind in ("CONSTRUCT", "DESCRIBE")
        try:
            accept = results.N_TRIPLES if graph else results.RESULTS_JSON
            response = self._ask(text, accept, deadline)
        except QueryRefused as exc:
            if missing := unbound(checked, self.prefixes):
                raise QueryRefused(f"query refused: {missing} ({exc})") from exc
            raise
        try:
            answer = self._read(response, checked.kind, rows)
        except EndpointError as exc:
            raise EndpointError(f"{self._who()}: {self._hide(str(exc))}") from exc
        return replace(answer, seconds=time.monotonic() - started)

    def meta(self) -> GraphMeta:
        """What a bounded number of queries tells of the graph; asked once, then kept."""
        if self._meta is None:
            from rlm.ontology.remote.sample import sample_meta

            self._meta = sample_meta(self)
            self.prefixes = self._meta.prefixes  # what the views show can be asked
        return self._meta

    def close(self) -> None:
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RemoteEngine({self.name!r}, {self.source!r})"

    def _prepare(self, checked: Checked, rows: int) -> str:
        """The text to send. One row more is asked for, to know whether there are more."""
        text = enforce_limit(checked.text, rows + 1)
        return check_query(
            declarations(checked, self.prefixes) + text, max_chars=MAX_SENT_CHARS
        ).text

    # -- asking

    def _ask(self, text: str, accept: str, deadline: Deadline) -> Response:
        """A good answer, or one of our errors."""
        only_get = self._ways == ["get"]
        short = only_get or len(self._query_url(text)) <= MAX_GET_CHARS
        ways = [way for way in self._ways if way != "get" or short]

        def attempt() -> Response:
            while True:
                request = self._request(ways[0], text, accept)
                response = self._without_secrets(self._connections.send(request, deadline))
                if response.is_good:
                    return response
                if response.status not in (405, 414, 415, 431, 501) or len(ways) == 1:
                    raise self._failure(response)
                refused = ways.pop(0)
                if response.status != 414 and len(self._ways) > 1:
                    self._ways = [way for way in self._ways if way != refused]

        try:
            return self._retry.run(attempt, deadline)
        except ExchangeFailed as exc:
            failed = exc
        except EndpointError as exc:
            raise EndpointError(f"{self._who()}: {exc}") from exc
        advice = ": ask for less, or raise max_bytes" if failed.kind == "too_long" else ""
        problem = f"{self._who()} {self._hide(failed.problem)}{advice}"
        raise (failed.error or EndpointError)(problem) from failed.__cause__

    def _query_url(self, text: str | None) -> str:
        target = self.endpoint.address.target
        fields = self._fields(text)
        return target + (("&" if "?" in target else "?") + fields if fields else "")

    def _fields(self, text: str | None) -> str:
        fields = [] if text is None else [("query", text)]
        if self.endpoint.settings.default_graph:
            fields.append(("default-graph-uri", self.endpoint.settings.default_graph))
        return urlencode(fields)

    def _request(self, way: str, text: str, accept: str) -> Request:
        address, headers = self.endpoint.address, {"Accept": accept, "User-Agent": AGENT}
        if self.endpoint.authorization:
            headers["Authorization"] = self.endpoint.authorization
        if way == "get":
            return Request("GET", replace(address, target=self._query_url(text)), headers)
        if way == "form":
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            return Request("POST", address, headers, self._fields(text).encode("ascii"))
        headers["Content-Type"] = "application/sparql-query"
        return Request(
            "POST", replace(address, target=self._query_url(None)), headers, text.encode("utf-8")
        )

    # -- reading

    def _read(self, response: Response, kind: str, rows: int) -> Answer:
        if response.is_html:
            raise EndpointError(
                "answered a web page instead of results: is its URL the one for queries?"
            )
        capped = "x-sparql-maxrows" in response.headers  # Virtuoso says when it cut an answer
        said = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in ("CONSTRUCT", "DESCRIBE"):
            _expect(said, ("n-triples", "text/plain", "turtle", "octet-stream"), "N-Triples")
            triples, more = results.read_triples(response.body, rows)
            return Answer("graph", triples=triples, truncated=more or capped)
        _expect(said, ("json", "text/plain", "octet-stream"), "JSON")
        if kind == "ASK":
            return Answer("ask", boolean=results.read_boolean(response.body))
        variables, found, more = results.read_rows(response.body, rows)
        return Answer("select", variables=variables, rows=found, truncated=more or capped)

    def _failure(self, response: Response) -> ExchangeFailed:
        """What a status that is no success means. The endpoint is named by whoever raises it."""
        status, html = response.status, response.is_html
        words = "" if html else self._hide(results.readable_text(response.body))
        said = f"answered {status}" + (f', saying "{words}"' if words else "")
        after_s = retry_after_s(response.headers)
        error: type[OntologyError] = EndpointError
        problem = said
        if status == 400 and not html:
            error, problem = QueryRefused, f"refused the query: it {said}"
        elif status in (401, 403):
            problem = f"refused access: it {said}; {self.endpoint.access}"
        elif status in (408, 504) or (status == 500 and "timeout" in words.lower()):
            error = QueryTimeout
            problem = f"gave the query up: it {said}. Ask for less, or more narrowly"
        elif status == 429:
            wait = "" if after_s is None else f", and asks to wait {after_s:.0f} s"
            problem = f"has too many requests: it {said}{wait}"
        elif status in (404, 405, 410, 415) or 300 <= status < 400 or html:
            problem = f"{said}: is its URL the one for queries?"
        elif status == 406:
            problem = f"{said}: it can give neither JSON results nor N-Triples for this query"
        passing = status in PASSING
        return ExchangeFailed(problem, error=error, passing=passing, retry_after_s=after_s)

    def _who(self) -> str:
        return f"the endpoint {self.name!r} ({self.source})"

    def _without_secrets(self, response: Response) -> Response:
        """The answer without our credentials, before anything is cut off. In a good one a short
        secret is left: it may be a word of the data."""
        body = response.body
        for secret in self.endpoint.secrets:
            if len(secret) >= 8 or not response.is_good:
                body = body.replace(secret.encode(), b"***")
        return replace(response, body=body)

    def _hide(self, text: str) -> str:
        return hide(text, *self.endpoint.secrets)


def _expect(said: str, wanted: tuple[str, ...], name: str) -> None:
    if said and not any(part in said for part in wanted):
        raise EndpointError(
            f"answered {results.readable_text(said.encode(), 60)!r}, though {name} was asked for"
        )
