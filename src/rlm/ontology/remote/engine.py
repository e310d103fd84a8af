"""RemoteEngine: the queries of a local engine, asked of an endpoint by the SPARQL 1.1 protocol.

Every query passes the guard and gets its LIMIT before it is sent. A short one goes by GET, a long
one as a form by POST, and where the server takes no form as the bare query. Reading is safe to
repeat, so what may pass (429, 502, 503, a dropped connection) is tried again within the deadline.

This is the one place where statuses and broken exchanges become our errors. Words of the endpoint
are quoted, as one line, cut, with our credentials blotted out: they are a stranger's words.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Self
from urllib.parse import urlencode

from rlm import clock
from rlm._version import __version__
from rlm.errors import EndpointError, OntologyError, QueryRefused, QueryTimeout
from rlm.ontology.engine.protocol import Answer
from rlm.ontology.query.bind import bind_values
from rlm.ontology.query.guard import Checked, check_query
from rlm.ontology.query.limit import enforce_limit
from rlm.ontology.query.prefixes import declarations, unbound
from rlm.ontology.remote import addresses, results
from rlm.ontology.remote.endpoints import Endpoint
from rlm.ontology.remote.line import Ask, Broken, Deadline, Heard
from rlm.ontology.remote.wire import Wire
from rlm.ontology.terms import Prefixes, Term

if TYPE_CHECKING:
    import ssl

    from rlm.ontology.meta.graph_meta import GraphMeta

MAX_ROWS = 10_000
MAX_GET_CHARS = 2000
MAX_SENT_CHARS = 60_000
AGENT = f"rlm/{__version__} (SPARQL client)"
PASSING = frozenset((429, 502, 503))


@dataclass(frozen=True, slots=True)
class Patience:
    """How often an endpoint is asked again. `sleep` and `random` are parameters so that a test need
    not wait."""

    tries: int = 3
    first_s: float = 0.5
    max_wait_s: float = 30.0
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random

    def wait_s(self, attempt: int) -> float:
        """Twice as long each time, with jitter, where the endpoint does not say how long."""
        whole_s: float = self.first_s * 2 ** (attempt - 1)
        return min(whole_s * (0.5 + self.random() / 2), self.max_wait_s)


class RemoteEngine:
    """An endpoint. Safe to share between threads; nothing is sent before the first query."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        patience: Patience = Patience(),  # noqa: B008 - frozen
        resolver: addresses.Resolver = addresses.resolve,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`resolver` looks names up and `tls` says whom to trust; both are the system's where they
        are not given."""
        self.endpoint = endpoint
        self.name, self.source = endpoint.name, endpoint.address.url
        self._patience = patience
        self._wire = Wire(
            allow_private=endpoint.allow_private,
            max_bytes=endpoint.max_bytes,
            resolver=resolver,
            tls=tls,
        )
        self._ways = {"auto": ["get", "form", "query"], "get": ["get"], "post": ["form", "query"]}[
            endpoint.method
        ]
        self._meta: GraphMeta | None = None
        self.prefixes = Prefixes()

    def query(
        self,
        sparql: str,
        *,
        limit: int = 1000,
        timeout_s: float | None = None,
        bindings: Mapping[str, Term] | None = None,
    ) -> Answer:
        """At most `limit` rows, and no more than MAX_ROWS. `timeout_s` covers everything, retries
        too.

        The well-known prefixes, and those that `meta` gave names to, need not be declared.
        """
        if limit < 0:
            raise QueryRefused(f"a limit of {limit} rows makes no sense: give 0 or more")
        started, rows = time.monotonic(), min(limit, MAX_ROWS)
        deadline = Deadline.after(self.endpoint.timeout_s if timeout_s is None else timeout_s)
        checked = check_query(sparql)
        text = self._prepared(checked, rows, bindings)
        graph = checked.kind in ("CONSTRUCT", "DESCRIBE")
        try:
            heard = self._asked(
                text, results.N_TRIPLES if graph else results.RESULTS_JSON, deadline
            )
        except QueryRefused as exc:
            if missing := unbound(checked, self.prefixes):
                raise QueryRefused(f"query refused: {missing} ({exc})") from exc
            raise
        try:
            answer = self._read(heard, checked.kind, rows)
        except EndpointError as exc:
            raise EndpointError(f"{self._who()}: {self._hidden(str(exc))}") from exc
        return replace(answer, seconds=time.monotonic() - started)

    def meta(self) -> GraphMeta:
        """What a bounded number of queries tells of the graph; asked once, then kept."""
        if self._meta is None:
            from rlm.ontology.remote.sample import sample_meta

            self._meta = sample_meta(self)
            self.prefixes.update(self._meta.prefixes)  # what the views show can be asked
        return self._meta

    def close(self) -> None:
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RemoteEngine({self.name!r}, {self.source!r})"

    def _prepared(self, checked: Checked, rows: int, bindings: Mapping[str, Term] | None) -> str:
        """The text to send. One row more is asked for, to know whether there are more."""
        text = enforce_limit(bind_values(checked.text, bindings), rows + 1)
        return check_query(
            declarations(checked, self.prefixes) + text, max_chars=MAX_SENT_CHARS
        ).text

    # -- asking
    # ------------------------------------------------------------------------------------------

    def _asked(self, text: str, accept: str, deadline: Deadline) -> Heard:
        """A good answer, or one of our errors."""
        ways = [
            way for way in self._ways if way != "get" or self._ways == ["get"] or self._short(text)
        ]
        attempt, place = 0, 0
        while True:
            attempt += 1
            asked_s: float | None = None
            try:
                heard = self._blotted(
                    self._wire.send(self._request(ways[place], text, accept), deadline)
                )
            except Broken as exc:
                error: OntologyError = EndpointError(f"{self._who()} {self._hidden(str(exc))}")
                error.__cause__ = exc
                again = exc.passing
            except EndpointError as exc:
                raise EndpointError(f"{self._who()}: {exc}") from exc
            else:
                if 200 <= heard.status < 300:
                    return heard
                if heard.status in (405, 414, 415, 431, 501) and place + 1 < len(ways):
                    if heard.status != 414 and len(self._ways) > 1:
                        self._ways = [way for way in self._ways if way != ways[place]]
                    place, attempt = place + 1, attempt - 1
                    continue
                asked_s = retry_after_s(heard.headers)
                error, again = self._error(heard, asked_s), heard.status in PASSING
            wait_s = self._patience.wait_s(attempt) if asked_s is None else asked_s
            too_long = wait_s > self._patience.max_wait_s or wait_s >= deadline.left_s()
            if not again or attempt >= self._patience.tries or too_long:
                raise error
            self._patience.sleep(wait_s)

    def _short(self, text: str) -> bool:
        return len(self._query_url(text)) <= MAX_GET_CHARS

    def _query_url(self, text: str | None) -> str:
        target = self.endpoint.address.target
        fields = self._fields(text)
        return target + (("&" if "?" in target else "?") + fields if fields else "")

    def _fields(self, text: str | None) -> str:
        fields = [] if text is None else [("query", text)]
        if self.endpoint.default_graph:
            fields.append(("default-graph-uri", self.endpoint.default_graph))
        return urlencode(fields)

    def _request(self, way: str, text: str, accept: str) -> Ask:
        address, headers = self.endpoint.address, {"Accept": accept, "User-Agent": AGENT}
        if self.endpoint.authorization:
            headers["Authorization"] = self.endpoint.authorization
        if way == "get":
            return Ask("GET", replace(address, target=self._query_url(text)), headers)
        if way == "form":
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            return Ask("POST", address, headers, self._fields(text).encode("ascii"))
        headers["Content-Type"] = "application/sparql-query"
        return Ask(
            "POST", replace(address, target=self._query_url(None)), headers, text.encode("utf-8")
        )

    # -- reading
    # -----------------------------------------------------------------------------------------

    def _read(self, heard: Heard, kind: str, rows: int) -> Answer:
        if results.looks_like_html(heard.headers, heard.body):
            raise EndpointError(
                "answered a web page instead of results: is its URL the one for queries?"
            )
        capped = (
            "x-sparql-maxrows" in heard.headers
        )  # Virtuoso says so when it cut an answer itself
        said = heard.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in ("CONSTRUCT", "DESCRIBE"):
            _expect(said, ("n-triples", "text/plain", "turtle", "octet-stream"), "N-Triples")
            triples, more = results.read_triples(heard.body, rows)
            return Answer("graph", triples=triples, truncated=more or capped)
        _expect(said, ("json", "text/plain", "octet-stream"), "JSON")
        if kind == "ASK":
            return Answer("ask", boolean=results.read_boolean(heard.body))
        variables, found, more = results.read_rows(heard.body, rows)
        return Answer("select", variables=variables, rows=found, truncated=more or capped)

    def _error(self, heard: Heard, asked_s: float | None) -> OntologyError:
        """The error behind a status that is no success."""
        html = results.looks_like_html(heard.headers, heard.body)
        words = "" if html else self._hidden(results.readable_text(heard.body))
        said = f"answered {heard.status}" + (f', saying "{words}"' if words else "")
        status, who = heard.status, self._who()
        if status == 400 and not html:
            return QueryRefused(f"{who} refused the query: it {said}")
        if status in (401, 403):
            return EndpointError(f"{who} refused access: it {said}; {self.endpoint.access}")
        if status in (408, 504) or (status == 500 and "timeout" in words.lower()):
            return QueryTimeout(
                f"{who} gave the query up: it {said}. Ask for less, or more narrowly"
            )
        if status == 429:
            wait = "" if asked_s is None else f", and asks to wait {asked_s:.0f} s"
            return EndpointError(f"{who} has too many requests: it {said}{wait}")
        if status in (404, 405, 410, 415) or 300 <= status < 400 or html:
            return EndpointError(f"{who} {said}: is its URL the one for queries?")
        if status == 406:
            return EndpointError(
                f"{who} {said}: it can give neither JSON results nor N-Triples for this query"
            )
        return EndpointError(f"{who} {said}")

    def _who(self) -> str:
        return f"the endpoint {self.name!r} ({self.source})"

    def _blotted(self, heard: Heard) -> Heard:
        """The answer without our credentials, before anything is cut off. A short one may be a word
        of the data."""
        body, good = heard.body, 200 <= heard.status < 300
        for secret in self.endpoint.secrets:
            if len(secret) >= 8 or not good:
                body = body.replace(secret.encode(), b"***")
        return replace(heard, body=body)

    def _hidden(self, text: str) -> str:
        for secret in self.endpoint.secrets:
            text = text.replace(secret, "***")
        return text


def _expect(said: str, wanted: tuple[str, ...], name: str) -> None:
    if said and not any(part in said for part in wanted):
        raise EndpointError(
            f"answered {results.readable_text(said.encode(), 60)!r}, though {name} was asked for"
        )


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The seconds that an endpoint asks to wait, as a number or as a date; never negative."""
    header = headers.get("retry-after", "").strip()
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(header) - clock.now()).total_seconds()
        except (TypeError, ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if seconds == seconds else None
