"""Runs to learn from: real tools over a real graph, their trace, and a model that believes
everything it reads."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rlm.handles import Meter, Store
from rlm.http import Retry
from rlm.learning.extract import extract_memories
from rlm.llm.chat import Wire
from rlm.llm.openai import OpenAIClient
from rlm.loop.trace import Trace
from rlm.ontology.views.views import Views
from rlm.store.types import Judgment
from rlm.tools import sparql_tools, view_tools

GOOD = Judgment(True, "verified", "high")
BAD = Judgment(False, "not verified: it is wrong", "high")

Doing = Callable[[dict[str, Any]], Any]


def traced(engine, *doings: Doing) -> Trace:
    """The trace of a run that does these things with the tools; errors are part of it."""
    trace = Trace()
    views = Views(engine, engine.meta())
    box = view_tools(views, Meter()) | sparql_tools(engine, Store(), Meter())
    tools = trace.watch(box.functions)
    for doing in doings:
        try:
            doing(tools)
        except Exception as exc:
            assert trace.calls[-1].error, exc
    return trace


def search(name: str, **options: Any) -> Doing:
    return lambda tools: tools["search_entity"](name, **options)


def query(text: str, **options: Any) -> Doing:
    """A query, and the first page of its rows."""

    def ask(tools):
        found = tools["sparql_query"](text, **options)
        return found if isinstance(found, dict) else tools["sparql_slice"](found)

    return ask


def call(tool: str, *args: Any, **options: Any) -> Doing:
    return lambda tools: tools[tool](*args, **options)


def artifact(question: str, answer: str, **fields: Any) -> dict[str, Any]:
    return {"task": question, "final_answer": answer, "converged": True, "key_steps": [], **fields}


def learnt(
    engine, question: str, answer: str, *doings: Doing, judgment: Judgment = GOOD, **options: Any
):
    """What the offline extractor makes of such a run."""
    trace = traced(engine, *doings)
    options = {"ontology": engine.name, "prefixes": engine.meta().prefixes, **options}
    return extract_memories(
        artifact(question, answer), judgment, trace=trace, question=question, **options
    )


# -- models over HTTP
# ------------------------------------------------------------------------------------


@contextmanager
def serving(
    reply: Callable[[dict[str, Any], int], Any],
) -> Iterator[tuple[OpenAIClient, list[dict[str, Any]]]]:
    """A client of an OpenAI-compatible server whose text is `reply(body, number)`; and the bodies
    that it got.

    A reply that is an int is sent as that HTTP status; one that is a pair, as a status and what the
    server says, or as how the reply ended and its text.
    """
    bodies: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            bodies.append(body)
            said = reply(body, len(bodies))
            first, text = (
                said
                if isinstance(said, tuple)
                else (said, "no")
                if isinstance(said, int)
                else ("stop", said)
            )
            status = first if isinstance(first, int) else 200
            message = {"role": "assistant", "content": text}
            whole = {
                "model": "m",
                "choices": [{"index": 0, "message": message, "finish_reason": first}],
            }
            raw = json.dumps(whole if status == 200 else {"error": {"message": text}}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    wire = Wire(timeout_s=20.0, retry=Retry(tries=1), max_reply_bytes=1 << 20)
    client = OpenAIClient(
        "m", base_url=f"http://127.0.0.1:{server.server_port}/v1", key="k", wire=wire
    )
    try:
        yield client, bodies
    finally:
        client.close()
        server.shutdown()
        thread.join()
        server.server_close()


def data_in(body: dict[str, Any]) -> Any:
    """What stands between the marks of a prompt."""
    text = body["messages"][1]["content"]
    return json.loads(text[text.index("{") if text.lstrip().partition("\n")[2].startswith("{") else text.index("[") :
                           text.rindex("\n</run-")])  # fmt: skip


def lessons(*items: dict[str, Any]) -> str:
    return json.dumps({"items": list(items)})


def lesson(
    title="Find all subclasses of a class",
    steps=("Search for the class with `search_entity(name)`.", "Query its subclasses."),
    **fields,
):
    return {
        "title": title,
        "description": "For any class.",
        "steps": list(steps),
        "query": 0,
        "general": True,
        **fields,
    }
