"""Qdrant's own engine behind its REST API, as far as rlm uses it: on loopback, in this process.

No server of Qdrant can be had from a package registry. So each collection is a shard of
`qdrant-edge-py`, which is the engine of the server in a wheel, and this module answers for the
routes. The models of `qdrant-client`, which are made from Qdrant's API definition, read every body;
`Local` runs the same bodies by the client's local mode instead.
"""

from __future__ import annotations

import json
import re
import shutil
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit
from uuid import UUID

import qdrant_edge as edge
from qdrant_client import QdrantClient, models


class Missing(Exception):
    """No such collection."""


class Exists(Exception):
    """There is one of that name."""


def _filter(found):
    if found is None:
        return None

    def condition(one):
        if isinstance(one, models.HasIdCondition):
            return edge.HasIdCondition({UUID(str(each)) for each in one.has_id})
        return edge.FieldCondition(one.key, match=edge.MatchValue(one.match.value))

    def each(conditions):
        return None if conditions is None else [condition(one) for one in conditions]

    return edge.Filter(must=each(found.must), must_not=each(found.must_not))


def _vector(found):
    if isinstance(found, models.SparseVector):
        return edge.SparseVector(found.indices, found.values)
    return found


def _query(found):
    if found.query is None:
        return None
    return edge.Query.Nearest(_vector(found.query), using=found.using)


def _seen(point):
    return {"id": str(point.id), "payload": point.payload}


class Edge:
    """Collections as shards of the real engine, in a folder."""

    def __init__(self, folder):
        self.folder, self.shards, self.dims, self.made = folder, {}, {}, 0

    def create(self, name, body):
        sparse = {"words": edge.EdgeSparseVectorParams()}
        size = body.vectors["dense"].size if body.vectors else 0
        dense = {"dense": edge.EdgeVectorParams(size, edge.Distance.Cosine)} if size else None
        self.made += 1
        path = self.folder / f"shard{self.made}"
        path.mkdir()
        config = edge.EdgeConfig(vectors=dense, sparse_vectors=sparse, wal_enabled=False)
        self.shards[name] = edge.EdgeShard.create(str(path), config), path
        self.dims[name] = size

    def shard(self, name):
        if name not in self.shards:
            raise Missing(name)
        return self.shards[name][0]

    def index(self, name, body):
        assert body.field_schema.is_tenant
        schema = edge.KeywordIndexParams(is_tenant=True)
        self.shard(name).update(edge.UpdateOperation.create_field_index(body.field_name, schema))

    def drop(self, name):
        self.shard(name).close()
        shutil.rmtree(self.shards.pop(name)[1])
        del self.dims[name]

    def upsert(self, name, body):
        shard = self.shard(name)
        points = [
            edge.Point(
                UUID(str(each.id)),
                {key: _vector(value) for key, value in each.vector.items()},
                each.payload,
            )
            for each in body.points
        ]
        shard.update(edge.UpdateOperation.upsert_points(points))

    def delete(self, name, body):
        shard = self.shard(name)
        if isinstance(body, models.FilterSelector):
            shard.update(edge.UpdateOperation.delete_points_by_filter(_filter(body.filter)))
        else:
            ids = [UUID(str(each)) for each in body.points]
            shard.update(edge.UpdateOperation.delete_points(ids))

    def query(self, name, body):
        shard = self.shard(name)
        answers = []
        for each in body.searches:
            prefetches = [
                edge.Prefetch(part.limit, query=_query(part), filter=_filter(part.filter))
                for part in each.prefetch or []
            ]
            request = edge.QueryRequest(
                limit=each.limit,
                query=_query(each),
                prefetches=prefetches,
                filter=_filter(each.filter),
                with_payload=each.with_payload,
            )
            answers.append([{**_seen(p), "score": p.score} for p in shard.query(request)])
        return answers

    def scroll(self, name, body):
        offset = None if body.offset is None else UUID(str(body.offset))
        request = edge.ScrollRequest(
            offset=offset,
            limit=body.limit,
            filter=_filter(body.filter),
            with_payload=body.with_payload,
        )
        found, after = self.shard(name).scroll(request)
        return [_seen(point) for point in found], None if after is None else str(after)

    def count(self, name, body):
        return self.shard(name).count(edge.CountRequest(filter=_filter(body.filter)))

    def close(self):
        for shard, _ in self.shards.values():
            shard.close()


class Local:
    """The same by the local mode of qdrant-client: no index, exact, in memory."""

    def __init__(self, folder):
        self.client, self.dims = QdrantClient(":memory:"), {}

    def _check(self, name):
        if name not in self.dims:
            raise Missing(name)

    def create(self, name, body):
        self.client.create_collection(
            name, vectors_config=body.vectors, sparse_vectors_config=body.sparse_vectors
        )
        self.dims[name] = body.vectors["dense"].size if body.vectors else 0

    def index(self, name, body):
        self._check(name)  # local mode has no indexes

    def drop(self, name):
        self._check(name)
        self.client.delete_collection(name)
        del self.dims[name]

    def upsert(self, name, body):
        self._check(name)
        self.client.upsert(name, body.points)

    def delete(self, name, body):
        self._check(name)
        self.client.delete(name, body)

    def query(self, name, body):
        self._check(name)
        found = self.client.query_batch_points(name, body.searches)
        return [[{**_seen(p), "score": p.score} for p in each.points] for each in found]

    def scroll(self, name, body):
        self._check(name)
        found, after = self.client.scroll(
            name,
            scroll_filter=body.filter,
            limit=body.limit,
            offset=body.offset,
            with_payload=body.with_payload,
        )
        return [_seen(point) for point in found], None if after is None else str(after)

    def count(self, name, body):
        self._check(name)
        return self.client.count(name, body.filter).count

    def close(self):
        self.client.close()


class Server:
    """The routes, over one engine. A test reads `requests` and sets `fault` and `key`."""

    def __init__(self, engine):
        self.engine, self.requests = engine, []
        self.fault: tuple[int, str] | None = None
        self.key = ""
        self.lock = threading.Lock()
        self.url = ""

    def answer(self, method, path, body):
        """(status, body) of a request, as Qdrant gives it."""
        name, _, rest = path.removeprefix("/collections/").partition("/")
        name = unquote(name)
        with self.lock:
            self.requests.append((method, name, rest, body))
            if self.fault:
                return self.fault[0], {"status": {"error": self.fault[1]}}
            try:
                return 200, {"result": self._route(method, name, rest, body), "status": "ok"}
            except Missing:
                error = f"Not found: Collection `{name}` doesn't exist!"
                return 404, {"status": {"error": error}}
            except Exists:
                error = f"Wrong input: Collection `{name}` already exists!"
                return 409, {"status": {"error": error}}
            except Exception as exc:
                return 400, {"status": {"error": f"{type(exc).__name__}: {exc}"}}

    def _route(self, method, name, rest, body):
        engine = self.engine
        match method, rest:
            case "GET", "":
                if name not in engine.dims:
                    raise Missing(name)
                dim = engine.dims[name]
                vectors = {"dense": {"size": dim, "distance": "Cosine"}} if dim else {}
                params = {"vectors": vectors, "sparse_vectors": {"words": {}}}
                return {"status": "green", "config": {"params": params}}
            case "PUT", "":
                assert re.fullmatch(r'[^<>:"/\\|?*\0\x1f]{1,255}', name), name
                wanted = models.CreateCollection.model_validate(body)
                if name in engine.dims:
                    raise Exists(name)
                engine.create(name, wanted)
                return True
            case "PUT", "index":
                engine.index(name, models.CreateFieldIndex.model_validate(body))
            case "DELETE", "":
                engine.drop(name)
                return True
            case "PUT", "points":
                engine.upsert(name, models.PointsList.model_validate(body))
            case "POST", "points/delete":
                kind = models.FilterSelector if "filter" in body else models.PointIdsList
                engine.delete(name, kind.model_validate(body))
            case "POST", "points/query/batch":
                found = engine.query(name, models.QueryRequestBatch.model_validate(body))
                return [{"points": points} for points in found]
            case "POST", "points/scroll":
                found, after = engine.scroll(name, models.ScrollRequest.model_validate(body))
                return {"points": found, "next_page_offset": after}
            case "POST", "points/count":
                return {"count": engine.count(name, models.CountRequest.model_validate(body))}
            case _:
                raise ValueError(f"no route {method} {rest}")
        return {"status": "acknowledged"}


@contextmanager
def serving(engine):
    """A server on a free port of loopback."""
    server = Server(engine)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _do(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, said = 401, {"status": {"error": f"Invalid key {self.headers.get('api-key')}"}}
            if self.headers.get("api-key", "") == server.key:
                path = urlsplit(self.path).path
                status, said = server.answer(self.command, path, json.loads(body) if body else None)
            data = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_POST = do_DELETE = _do

        def log_message(self, *_):
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    server.url = f"http://127.0.0.1:{httpd.server_port}"
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()
        engine.close()
