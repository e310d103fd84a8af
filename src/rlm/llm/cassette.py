"""Cassettes: the calls of a run, written down as they happen and played back without a model.

A cassette is JSONL, one line a call, written when the call ends:

    {"call": 1, "key": "…", "request": {"messages": […], "params": {…}}, "language_model": true,
     "reply": {…}}

or with `"error": {"type": …, "message": …}` in place of the reply. `call` numbers the calls by
their start. `key` is a hash of the request; a replay finds its answer by it, so calls that ran at
the same time may come back in any order, and equal requests are answered in the order in which they
started. The model and the time-out are not part of the request: a replay needs neither. Keys are
sent as headers, which are not recorded. A line is written with one `write`, so a run that is killed
leaves a cassette that can be read, but for the line it died in.

What else goes into prompts and may change from run to run, as what a memory store gives, is kept
beside the calls, in lines of its own, and a replay takes it from there:

    {"kept": "mem_search [\"ships\"]", "value": …}
"""

from __future__ import annotations

import json
import os
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from itertools import takewhile
from os.path import commonprefix
from pathlib import Path
from typing import Any

from rlm import errors
from rlm.errors import CassetteDiverged, ModelError, ModelRateLimited, RLMError
from rlm.llm.types import (
    OFFLINE,
    SCRIPTED,
    Client,
    Message,
    Reply,
    copy_messages,
    is_language_model,
)

PARAMS = ("max_tokens", "temperature", "json_schema")
AROUND_CHARS = 40
HEADING_CHARS = 80
NAMED_CHARS = 120


def request_key(request: Mapping[str, Any]) -> str:
    """The hash that a request is found by."""
    canonical = json.dumps(request, sort_keys=True, separators=(",", ":"))
    return sha256(canonical.encode()).hexdigest()[:32]


def _request(messages: Sequence[Message], params: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: params[name] for name in PARAMS if params.get(name) is not None}
    return {"messages": copy_messages(messages), "params": given}


class RecordingClient:
    """Another client, every call of which is written to a cassette. Safe to share between threads.
    `beside(client)` records a second model into the same cassette. The file gets mode 0600; one
    that is there already is not overwritten unless `overwrite` says so."""

    def __init__(self, client: Client, path: str | Path, *, overwrite: bool = False) -> None:
        """Raises ModelError when the file cannot be created or has something in it."""
        self.model, self.is_language_model = client.model, is_language_model(client)
        self._client, self._tape, self._owner = client, _Tape(Path(path), overwrite=overwrite), True

    def beside(self, client: Client) -> RecordingClient:
        """A second model on the same cassette. Close it before this one."""
        other = object.__new__(RecordingClient)
        other.model, other.is_language_model = client.model, is_language_model(client)
        other._client, other._tape, other._owner = client, self._tape, False
        return other

    def complete(self, messages: Sequence[Message], **params: Any) -> Reply:
        """What the client answers or raises, written down."""
        request = _request(messages, params)
        call = self._tape.start()
        try:
            reply = self._client.complete(messages, **params)
        except RLMError as exc:
            error: dict[str, Any] = {"type": type(exc).__name__, "message": str(exc)}
            if isinstance(exc, ModelRateLimited):
                error["retry_after_s"] = exc.retry_after_s
            self._tape.write(call, request, self._line(error=error))
            raise
        self._tape.write(call, request, self._line(reply=asdict(reply)))
        return reply

    def keep(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` gives, written down under a name if it is of JSON types."""
        value = make()
        try:
            raw = json.dumps({"kept": name, "value": value}, allow_nan=False)
            if json.loads(raw)["value"] == value:
                self._tape.write_line(raw)
        except (TypeError, ValueError, RecursionError):
            pass  # as a handle: what is behind it was asked of something that does not change
        return value

    def _line(self, **outcome: Any) -> dict[str, Any]:
        return {"language_model": self.is_language_model, **outcome}

    def close(self) -> None:
        self._client.close()
        if self._owner:
            self._tape.close()

    def __repr__(self) -> str:
        return f"RecordingClient({self._client!r}, {str(self._tape.path)!r})"


class _Tape:
    """The file being written."""

    def __init__(self, path: Path, *, overwrite: bool) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._calls = 0
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            if os.fstat(self._file).st_size and not overwrite:
                os.close(self._file)
                raise ModelError(
                    f"the cassette {path} holds a recording: name another file, or delete it first"
                )
            os.fchmod(self._file, 0o600)
            os.ftruncate(self._file, 0)
        except OSError as exc:
            raise ModelError(
                f"the cassette {path} cannot be written: {exc.strerror}. Name another file"
            ) from exc

    def start(self) -> int:
        with self._lock:
            self._calls += 1
            return self._calls

    def write(self, call: int, request: dict[str, Any], outcome: dict[str, Any]) -> None:
        line = {"call": call, "key": request_key(request), "request": request, **outcome}
        self.write_line(json.dumps(line))

    def write_line(self, text: str) -> None:
        raw = text.encode() + b"\n"
        with self._lock:
            if self._file < 0:
                raise ModelError(f"the cassette {self.path} is closed: open a new one")
            try:
                while raw:  # a write may be short, when the disk is full or a signal comes
                    raw = raw[os.write(self._file, raw) :]
            except OSError as exc:
                raise ModelError(
                    f"the cassette {self.path} cannot be written: {exc.strerror}"
                ) from exc

    def close(self) -> None:
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1


@dataclass(frozen=True, slots=True)
class Recorded:
    """One line of a cassette."""

    call: int
    key: str
    request: dict[str, Any]
    outcome: Reply | RLMError
    language_model: bool


@dataclass(frozen=True, slots=True)
class Kept:
    """A line with what went into prompts beside the calls."""

    name: str
    value: Any


class ReplayClient:
    """Answers from a cassette, and from nothing else. Safe to share between threads. `notice` is
    None, or says that the last line was torn and left out. `left` counts the answers not yet
    given. `scrub` takes secrets out of what a message quotes of the prompts."""

    def __init__(self, path: str | Path, *, scrub: Callable[[str], str] | None = None) -> None:
        """Raises ModelError when the file cannot be read or is damaged, with the line."""
        self.path, self._scrub = Path(path), scrub or str
        self._recorded, kept, self.notice = read_cassette(self.path)
        self._kept: defaultdict[str, deque[Any]] = defaultdict(deque)
        for each in kept:
            self._kept[each.name].append(each.value)
        self._missing: list[str] = []
        replies = [line.outcome for line in self._recorded if isinstance(line.outcome, Reply)]
        self.model = replies[0].model if replies else "replay"
        self.is_language_model = any(line.language_model for line in self._recorded)
        self._lock = threading.Lock()
        self._calls = 0
        self._waiting: defaultdict[str, deque[Recorded]] = defaultdict(deque)
        for line in self._recorded:
            self._waiting[line.key].append(line)

    @property
    def left(self) -> int:
        with self._lock:
            return sum(map(len, self._waiting.values()))

    def complete(self, messages: Sequence[Message], **params: Any) -> Reply:
        """What was recorded for this request. Raises CassetteDiverged when nothing was."""
        request = _request(messages, params)
        key = request_key(request)
        with self._lock:
            self._calls += 1
            call, waiting = self._calls, self._waiting.get(key)
            found = waiting.popleft() if waiting else None
        if found is None:
            raise CassetteDiverged(self._difference(call, key, request))
        if isinstance(found.outcome, RLMError):
            raise found.outcome
        return found.outcome

    def keep(self, name: str, make: Callable[[], Any]) -> Any:
        """What was kept under this name, in the order of its recording. What was not is made anew,
        and named where the replay diverges."""
        with self._lock:
            if waiting := self._kept.get(name):
                return waiting.popleft()
            self._missing.append(name)
        return make()

    def close(self) -> None:
        """Nothing is held."""

    def __repr__(self) -> str:
        return f"ReplayClient({str(self.path)!r}, {len(self._recorded)} calls)"

    def _difference(self, call: int, key: str, request: dict[str, Any]) -> str:
        same = sum(line.key == key for line in self._recorded)
        if same:
            times = f"{same} time{'s' * (same > 1)}"
            problem = f"the request was recorded {times}, and this is one more"
        else:
            known = [(line.call, line.request) for line in self._recorded]
            problem = explain_divergence(request, known, call)
        notes = [self.notice] if self.notice else []
        if self._missing:
            names = ", ".join(map(_shorten, dict.fromkeys(self._missing)))
            notes.append(f"The cassette does not hold this, so it was looked up anew: {names}.")
        told = "".join(f"\n{note}" for note in notes)
        return (
            f"call {call} of the replay is not on the cassette {self.path}:"
            f" {self._scrub(problem + told)}\n"
            "Replay with the same question, text, settings and version of rlm, or record again."
        )


def read_cassette(path: Path) -> tuple[list[Recorded], list[Kept], str | None]:
    """The calls of a cassette in their order, what was kept beside them, and a notice when the last
    line is torn."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as exc:
        raise ModelError(
            f"the cassette {path} cannot be read: {exc.strerror}. Record one first"
        ) from exc
    found: list[Recorded] = []
    kept: list[Kept] = []
    notice = None
    for number, raw in enumerate(lines, 1):
        torn = number == len(lines)  # nothing follows the last line break, unless a line is torn
        try:
            if raw or not torn:
                line = _parse(raw)
                found.append(line) if isinstance(line, Recorded) else kept.append(line)
        except (ValueError, TypeError, LookupError, RecursionError) as exc:
            place = f"{path}:{number}"
            if not torn:
                problem = f"{place}: not a line of a cassette ({exc}). Record it again"
                raise ModelError(problem) from exc
            notice = f"{place}: the last line is torn, as when a run is killed, and was left out."
    return sorted(found, key=lambda line: line.call), kept, notice


def _parse(raw: bytes) -> Recorded | Kept:
    """Raises ValueError, TypeError or LookupError for an invalid line."""
    line = json.loads(raw.decode("utf-8"))
    if "kept" in line:
        return Kept(str(line["kept"]), line["value"])
    request = line["request"]
    request = {"messages": _messages(request["messages"]), "params": dict(request["params"])}
    key = request_key(request)
    if line["key"] != key:
        raise ValueError("the request does not match its key: it was changed after the recording")
    if not isinstance(line["call"], int):
        raise TypeError("the call has no number")
    outcome = _reply(line["reply"]) if "reply" in line else _error(line["error"])
    # Cassettes of older versions do not say what they recorded, but the name of the model does.
    by_name = not isinstance(outcome, Reply) or outcome.model not in (OFFLINE, SCRIPTED)
    is_model = line.get("language_model", by_name) is True
    return Recorded(line["call"], key, request, outcome, is_model)


def _messages(found: Any) -> list[Message]:
    try:
        return copy_messages(found)
    except (ModelError, AttributeError) as exc:
        raise ValueError(str(exc)) from exc


def _reply(found: dict[str, Any]) -> Reply:
    known = {spec.name for spec in fields(Reply)}
    reply = Reply(**{name: value for name, value in found.items() if name in known})
    counts = (reply.input_tokens, reply.output_tokens)
    texts = isinstance(reply.text, str) and isinstance(reply.model, str)
    if not texts or not all(type(n) is int for n in counts):
        raise TypeError("the reply has a field of another type")
    return reply


def _error(found: dict[str, Any]) -> RLMError:
    """The recorded error, as its own class where there still is one."""
    kind, message = getattr(errors, str(found["type"]), None), str(found["message"])
    if kind is ModelRateLimited:
        return ModelRateLimited(message, retry_after_s=found.get("retry_after_s"))
    known = isinstance(kind, type) and issubclass(kind, RLMError)
    return kind(message) if known else ModelError(message)  # type: ignore[misc]


# -- where two requests part


def explain_divergence(
    request: Mapping[str, Any], recorded: Sequence[tuple[int, Mapping[str, Any]]], call: int
) -> str:
    """The first line in which `request` parts from the nearest of the recorded ones."""
    if not recorded:
        return "nothing is recorded on it"
    asked = _lines(request)

    def agreed(lines: list[tuple[str, str]]) -> int:
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(asked, lines)))  # noqa: B905

    sides = [(number, _lines(other)) for number, other in recorded]
    nearest, lines = max(sides, key=lambda each: (agreed(each[1]), -abs(each[0] - call)))
    at = agreed(lines)
    (there, old), (here, new) = (
        side[at] if at < len(side) else ("its end", "") for side in (lines, asked)
    )
    where = there if there == here else f"{there} there, {here} here,"
    chars = len(commonprefix([old, new]))  # noqa: RUF071 - characters are meant
    return (
        f"the nearest is recorded call {nearest}, and {where} differs:\n"
        f"  recorded: {_around(old, chars)}\n"
        f"  asked:    {_around(new, chars)}"
    )


def _lines(request: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every line of a request, each with where it stands: below which Markdown heading."""
    found = []
    for number, message in enumerate(request["messages"], 1):
        heading = ""
        for place, line in enumerate(message["content"].split("\n"), 1):
            where = f"line {place} of message {number} ({message['role']}){heading}"
            found.append((where, line))
            if line.startswith(("# ", "## ")):
                heading = f", below {line[:HEADING_CHARS]!r},"
    return [*found, ("its parameters", json.dumps(request["params"], sort_keys=True))]


def _around(line: str, place: int) -> str:
    """A line around a place, with a mark where it was cut."""
    start, stop = max(0, place - AROUND_CHARS), place + AROUND_CHARS
    return f"{'…' * (start > 0)}{line[start:stop]!r}{'…' * (stop < len(line))}"


def _shorten(name: str) -> str:
    return name if len(name) <= NAMED_CHARS else name[: NAMED_CHARS - 1] + "…"
