"""A model on the loopback that says what a test wrote: Messages and Responses, streamed.

It is what the real coding agents talk to here. Every request is kept, so that a test can read what
a host put before its model. A reply is a list of blocks: `say(TEXT)`, `use(TOOL, …)` for one of our
tools, and `shell(COMMAND)` for the host's own.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Block = dict[str, Any]
Event = tuple[str, dict[str, Any]]
FALLBACK = "Done."
PASS_TIME = "sleep 1"
MOST_WAITS = 20


def say(text: str) -> Block:
    return {"text": text}


def use(tool: str, **arguments: Any) -> Block:
    """A call of one of our tools."""
    return {"tool": tool, "arguments": arguments}


def shell(command: str) -> Block:
    return {"tool": "", "command": command}


class HostModel:
    """The replies to come, and the requests that came."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[dict[str, Any]] = []
        self._replies: list[list[Block]] = []
        self._lock = threading.Lock()

    def expect(self, *replies: list[Block]) -> None:
        """Say this next, one reply a request; forget what was asked before."""
        with self._lock:
            self._replies, self.requests = list(replies), []

    @property
    def seen(self) -> str:
        """All that the model was sent since, as text."""
        return "\n".join(json.dumps(each, ensure_ascii=False) for each in self.requests)

    @property
    def left(self) -> int:
        """How many replies nobody asked for."""
        return len(self._replies)

    def take(self, request: dict[str, Any]) -> tuple[int, list[Block]]:
        """The number of a request and its reply. One without tools asks for a title.

        As long as a host does not offer our tools, because our server is still starting, the model
        passes its time: Codex does not wait for servers.
        """
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
            if not request.get("tools") or not self._replies:
                return number, [say(FALLBACK)]
            ours = any(block.get("tool") for block in self._replies[0])
            if ours and "mcp__rlm" not in json.dumps(request["tools"]) and number < MOST_WAITS:
                return number, [shell(PASS_TIME)]
            return number, self._replies.pop(0)


def speak_messages(number: int, request: dict[str, Any], blocks: list[Block]) -> list[Event]:
    """As Claude Code reads it."""
    events: list[Event] = []
    for index, block in enumerate(blocks):
        if "text" in block:
            start: Block = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            name = f"mcp__rlm__{block['tool']}" if block["tool"] else "Bash"
            given = block.get("arguments") or {"command": block["command"]}
            start = {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
        events += [
            ("content_block_start", {"index": index, "content_block": start}),
            ("content_block_delta", {"index": index, "delta": delta}),
            ("content_block_stop", {"index": index}),
        ]
    stop = "tool_use" if any("tool" in block for block in blocks) else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "content": [],
               "model": request.get("model"), "stop_reason": None, "usage": usage}  # fmt: skip
    ended = {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}
    return [
        ("message_start", {"message": message}),
        *events,
        ("message_delta", ended),
        ("message_stop", {}),
    ]


def speak_responses(number: int, request: dict[str, Any], blocks: list[Block]) -> list[Event]:
    """As Codex reads it."""
    items: list[Block] = []
    for index, block in enumerate(blocks):
        if "text" in block:
            content = [{"type": "output_text", "text": block["text"], "annotations": []}]
            item = {"type": "message", "role": "assistant", "content": content}
        else:
            ours = {"namespace": "mcp__rlm"} if block["tool"] else {}
            given = json.dumps(block.get("arguments") or {"cmd": block["command"]})
            item = {"type": "function_call", **ours, "name": block["tool"] or "exec_command",
                    "arguments": given, "call_id": f"call_{number}_{index}"}  # fmt: skip
        items.append({"id": f"item_{number}_{index}", "status": "completed", **item})
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    response = {"id": f"resp_{number}", "object": "response", "usage": usage}
    events: list[Event] = [("response.created", {"response": {**response, "output": []}})]
    for index, item in enumerate(items):
        for step in ("added", "done"):
            events.append((f"response.output_item.{step}", {"output_index": index, "item": item}))
    done = {**response, "status": "completed", "output": items}
    return [*events, ("response.completed", {"response": done})]


SPOKEN = {"/v1/messages": speak_messages, "/v1/responses": speak_responses}


def _handler(model: HostModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            return

        def do_GET(self) -> None:
            self._send(b'{"data": [], "models": []}', "application/json")

        do_HEAD = do_GET

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            speak = SPOKEN.get(self.path.partition("?")[0])
            if speak is None:  # counts of tokens, telemetry
                self._send(b'{"input_tokens": 1}', "application/json")
                return
            request = json.loads(raw)
            number, blocks = model.take(request)
            events = speak(number, request, blocks)
            lines = (
                f"event: {kind}\ndata: {json.dumps({'type': kind, 'sequence_number': n, **data})}\n\n"
                for n, (kind, data) in enumerate(events)
            )
            self._send("".join(lines).encode(), "text/event-stream")

        def _send(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    return Handler


@contextmanager
def serving() -> Iterator[HostModel]:
    """A model on a free port, until the end of the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    model = HostModel(f"http://127.0.0.1:{server.server_address[1]}")
    server.RequestHandlerClass = _handler(model)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
