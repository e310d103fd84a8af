"""The few calls of Qdrant's REST API that an index needs, on `rlm.http`.

Not `qdrant-client`: it takes 0.9 s and 88 MB to import, and ten calls do not need it. Its models
check what is sent here in the tests. Every fault is an `IndexUnavailable` that says what to do; the
key is sent as a header and is in no message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import orjson

from rlm.errors import ConfigError, IndexUnavailable
from rlm.http import Connections, ExchangeFailed, Request, Retry, retry_after_s
from rlm.store.qdrant.points import TENANT_INDEX, Body, collection
from rlm.urls import checked_key, hide, parse_url

SEARCH_S = 10.0
WRITE_S = 60.0
MAX_REPLY_BYTES = 64 << 20
PAGE = 1_000
REBUILD = "`rlm index rebuild` makes it anew from the store"


def parse_index(setting: str) -> str:
    """The URL in `qdrant:URL`. Raises ConfigError."""
    kind, _, url = setting.partition(":")
    if kind != "qdrant" or not url:
        shown = setting.partition("://")[0][:40]
        why = f"index {shown!r} is not known: write RLM_INDEX=qdrant:http://host:6333"
        raise ConfigError(why)
    return url


class Qdrant:
    """One server. Safe to share between threads."""

    def __init__(self, url: str, *, key: str = "") -> None:
        self._secret = checked_key(key, "RLM_INDEX_KEY")
        base = parse_url(url.rstrip("/"), what="RLM_INDEX", example="qdrant:http://host:6333")
        if "?" in base.target:  # a key, perhaps: every message would show it
            why = "RLM_INDEX has parameters, which are not sent"
            raise ConfigError(f"{why}: name a key in RLM_INDEX_KEY, and only the server here")
        self.shown = base.url.rstrip("/")
        self._headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if self._secret:
            self._headers["api-key"] = self._secret
        self._retry = Retry(tries=2, first_s=0.2, max_wait_s=2.0, when_down=False)
        self._connections = Connections(max_bytes=MAX_REPLY_BYTES)

    # -- collections -------------------------------------------------------------------------------

    def dimension(self, name: str) -> int | None:
        """The dimension of a collection's dense vectors, 0 without any; None if it is missing."""
        found = self._call("GET", name)
        if found is None:
            return None
        try:
            params = found["config"]["params"]
            vectors, words = params.get("vectors") or {}, params.get("sparse_vectors") or {}
            dim = int(vectors["dense"]["size"]) if vectors else 0
            if "words" not in words:
                raise KeyError("words")
        except (LookupError, TypeError, ValueError, AttributeError) as exc:
            why = f"the collection {name!r} at {self.shown} was not made by rlm: {REBUILD}"
            raise IndexUnavailable(why) from exc
        return dim

    def create(self, name: str, dim: int, *, shared: bool) -> None:
        """Make a collection; it may have been made in the meantime."""
        self._call("PUT", name, "", collection(dim, shared=shared), accept=(409,))
        self._call("PUT", name, "/index?wait=true", TENANT_INDEX)

    def drop(self, name: str) -> None:
        """Remove a collection, if it is there."""
        self._call("DELETE", name)

    # -- points ------------------------------------------------------------------------------------

    def upsert(self, name: str, points: Sequence[Body]) -> None:
        """Write points; when this returns they can be found. IndexUnavailable without the
        collection."""
        body = {"points": list(points)}
        if self._call("PUT", name, "/points?wait=true", body) is None:
            raise IndexUnavailable(f"{self.shown} has no collection {name!r}: {REBUILD}")

    def delete(self, name: str, selector: Body) -> None:
        """Remove points by `points` or `filter`; a missing collection has none."""
        self._call("POST", name, "/points/delete?wait=true", selector)

    def query(self, name: str, searches: Sequence[Body]) -> list[list[Body]] | None:
        """The answers of several searches, or None where the collection is missing."""
        body = {"searches": list(searches)}
        found = self._call("POST", name, "/points/query/batch", body, seconds=SEARCH_S)
        if found is None:
            return None
        try:
            answers = [list(each["points"]) for each in found]
        except (LookupError, TypeError) as exc:
            raise self._error("answered something that is no list of points") from exc
        if len(answers) != len(searches):
            raise self._error(f"gave {len(answers)} answers to {len(searches)} searches")
        return answers

    def scroll(self, name: str, filter_: Body, fields: Sequence[str]) -> Iterator[Body]:
        """Every point that passes, with these fields of its payload; none without collection."""
        body: Body = {"filter": filter_, "limit": PAGE, "with_payload": list(fields)}
        while (found := self._call("POST", name, "/points/scroll", body)) is not None:
            yield from found["points"]
            if found.get("next_page_offset") is None:
                return
            body["offset"] = found["next_page_offset"]

    def count(self, name: str, filter_: Body) -> int | None:
        """How many points pass; None where the collection is missing."""
        body = {"filter": filter_, "exact": True}
        found = self._call("POST", name, "/points/count", body, seconds=SEARCH_S)
        return None if found is None else int(found["count"])

    def close(self) -> None:
        self._connections.close()

    # -- one call ----------------------------------------------------------------------------------

    def _call(
        self,
        method: str,
        name: str,
        path: str = "",
        body: Body | None = None,
        *,
        seconds: float = WRITE_S,
        accept: tuple[int, ...] = (),
    ) -> Any:
        """`result` of the answer; None where there is no such collection."""
        address = parse_url(f"{self.shown}/collections/{quote(name, safe='')}{path}")
        sent = b"" if body is None else orjson.dumps(body)
        request = Request(method, address, self._headers, sent)
        deadline = self._retry.deadline(seconds)

        def attempt() -> bytes | None:
            response = self._connections.send(request, deadline)
            if response.is_good:
                return response.body
            if response.status == 404:
                return None
            if response.status in accept:
                return b'{"result": true}'
            passing = response.status == 429 or response.status >= 500
            raise ExchangeFailed(
                f"answered {response.status}: {_reason(response.body)}",
                passing=passing,
                retry_after_s=retry_after_s(response.headers),
            )

        try:
            found = self._retry.run(attempt, deadline)
            return None if found is None else orjson.loads(found)["result"]
        except ExchangeFailed as exc:
            raise self._error(exc.problem) from exc.__cause__
        except (ValueError, LookupError, TypeError) as exc:
            raise self._error("gave an answer that is none of Qdrant's") from exc

    def _error(self, problem: str) -> IndexUnavailable:
        shown = hide(problem, self._secret)
        hint = "Check RLM_INDEX and RLM_INDEX_KEY"
        if "dimension" in shown.lower():
            hint = f"Its vectors are of another embedder: {REBUILD}"
        other = "RLM_INDEX_FALLBACK=true searches the store itself meanwhile"
        end = "" if shown.endswith("?") else "."
        return IndexUnavailable(f"the index at {self.shown} {shown}{end} {hint}; {other}")


def _reason(body: bytes) -> str:
    """What Qdrant says is wrong."""
    try:
        said = orjson.loads(body)["status"]["error"]
    except (ValueError, LookupError, TypeError):
        said = body.decode("utf-8", "replace")
    return repr(str(said)[:300])
