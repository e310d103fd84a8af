"""A run as JSON lines: one `metadata` line, then one `iteration` line each, in the form of the RLM
authors' own logs.

The file grows line by line and every line is flushed, so that a run that was killed leaves a file
that can be read. It is made for its owner only (0600). How a run ended and how it was judged belong
to its metadata, but are known last: the first line is padded with spaces, which JSON does not mind,
and written again in its place. Tools that know only `metadata` and `iteration` lines can read all
of it.

Names in an iteration line: `iteration`, `timestamp`, `prompt`, `response`, `code_blocks` (each
`code` and `result` with `stdout`, `stderr`, `locals`, `execution_time`, `rlm_calls`),
`final_answer`, `iteration_time`. More names may follow.

Every text passes through `scrub` before it is written. This module knows no store and no secrets of
its own.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from rlm import clock
from rlm.errors import RLMError
from rlm.loop.parse import clean
from rlm.loop.prompts import cut
from rlm.loop.types import CodeBlock, RLMIteration, RLMResult, SubCall

PADDING = 2_400
"""Room in the first line for how the run ended and how it was judged."""
REASON_CHARS = (400, 100, 20)
"""How much of a reason is kept: as much as fits."""
TEXT_CHARS = 200_000
"""What is kept of one output; the sandbox's own bound is larger."""

Scrub = Callable[[str], str]


class RLMLogger:
    """Writes one run to a file of its own in `log_dir`: `path`. `scrub` takes secrets out of a
    text; `extra` goes into the metadata line (the ontology, the packs, …)."""

    def __init__(
        self,
        log_dir: str | Path,
        *,
        name: str | None = None,
        scrub: Scrub | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self._extra = dict(extra or {})
        self._scrub = scrub or (lambda text: text)
        folder = Path(log_dir)
        stem = name or f"rlm_{clock.now():%Y-%m-%d_%H-%M-%S}_{clock.short_id('run')[4:]}"
        if re.search(r"[/\\\0]", stem) or stem in (".", ".."):
            raise RLMError(f"a log cannot be named {stem!r}: use a plain name without slashes")
        self.path = folder / (stem if stem.endswith(".jsonl") else f"{stem}.jsonl")
        self._file: int | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(
                self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600
            )
        except OSError as exc:
            if self.path.exists():
                raise RLMError(
                    f"the log {self.path} is there already, and is never written over: give another"
                    " name"
                ) from exc
            raise RLMError(
                f"cannot write a log to {self.path} ({exc.strerror}): give another folder"
            ) from exc
        self._metadata: dict[str, Any] | None = None
        self._ends: dict[str, dict[str, Any]] = {}
        self._first_line = 0

    def log_metadata(self, **fields: Any) -> None:
        """The first line: root_model, max_iterations, query, … Only the first call counts."""
        if self._metadata is not None:
            return
        head = {"type": "metadata", "timestamp": clock.now_iso()}
        self._metadata = {**head, **fields, **self._extra}
        line = self._line(self._metadata)[:-1] + b" " * PADDING + b"\n"
        self._first_line = len(line)
        self._write(line)

    def log(self, iteration: RLMIteration, *, last_call: bool = False) -> None:
        """One turn."""
        entry = {
            "type": "iteration",
            "iteration": iteration.number,
            "timestamp": clock.now_iso(),
            "prompt": iteration.prompt,
            "response": iteration.response,
            "code_blocks": [_block(block) for block in iteration.code_blocks],
            "final_answer": iteration.final_answer,
            "iteration_time": iteration.iteration_time,
        }
        if iteration.notes:
            entry["notes"] = iteration.notes
        if last_call:
            entry["last_call"] = True
        self._write(self._line(entry))

    def log_end(self, result: RLMResult) -> None:
        """How the run ended, put into the first line as `ended`."""
        self._write_end(
            "ended",
            converged=result.converged,
            reason=result.reason,
            iterations=len(result.iterations),
            usage=result.usage.to_dict(),
        )

    def log_judgment(self, **verdict: Any) -> None:
        """The verdict on the run with its `reason`, put into the first line as `judgment`."""
        self._write_end("judgment", **verdict)

    def _write_end(self, name: str, **fields: Any) -> None:
        if self._metadata is None or self._file is None:
            return
        self._ends[name] = fields
        for limit in REASON_CHARS:
            ends = {
                end: {**said, "reason": said["reason"][:limit]} for end, said in self._ends.items()
            }
            line = self._line({**self._metadata, **ends})[:-1]
            if len(line) < self._first_line:
                os.pwrite(self._file, line + b" " * (self._first_line - 1 - len(line)) + b"\n", 0)
                return

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:  # __init__ may have failed before
            self.close()

    def _line(self, entry: dict[str, Any]) -> bytes:
        return (
            json.dumps(_scrub_all(entry, self._scrub), ensure_ascii=False).encode("utf-8") + b"\n"
        )

    def _write(self, line: bytes) -> None:
        if self._file is None:
            raise RLMError(f"the log {self.path} is closed: open another one for the next run")
        try:
            while line:
                line = line[os.write(self._file, line) :]
        except OSError as exc:
            raise RLMError(
                f"cannot write to the log {self.path} ({exc.strerror}): free some space"
            ) from exc


def _block(block: CodeBlock) -> dict[str, Any]:
    result = block.result
    shown = {
        "stdout": cut(result.stdout, TEXT_CHARS, already=result.cut_chars),
        "stderr": cut(result.stderr, TEXT_CHARS),
        "locals": result.locals,
        "execution_time": result.execution_time,
        "rlm_calls": [_sub_call(call) for call in block.sub_calls],
    }
    if result.error:
        shown["error"] = result.error
    return {"code": block.code, "result": shown}


def _sub_call(call: SubCall) -> dict[str, Any]:
    return {
        "root_model": call.model,
        "prompt": cut(call.prompt, TEXT_CHARS),
        "response": cut(call.response, TEXT_CHARS),
        "prompt_tokens": call.input_tokens,
        "completion_tokens": call.output_tokens,
        "execution_time": call.seconds,
        "kind": call.kind,
        "error": call.error,
        "remembered": call.remembered,
    }


def _scrub_all(value: Any, scrub: Scrub) -> Any:
    """JSON-like data with every text in it clean and scrubbed; what JSON does not know, as text."""
    if isinstance(value, str):
        return scrub(clean(value))
    if isinstance(value, dict):
        return {clean(str(key)): _scrub_all(part, scrub) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_scrub_all(part, scrub) for part in value]
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and value - value == 0:
        return value
    return scrub(clean(str(value)))


def read_log(path: str | Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The metadata and the iterations of a log. A last line that was torn off is left out and said
    so (`torn`). Logs without a metadata line, as older tools write them, give an empty one. Lines
    of other types are passed over. Raises RLMError, naming the line, for what is no log."""
    try:
        content = Path(path).read_bytes()
    except OSError as exc:
        raise RLMError(
            f"cannot read the log {path} ({exc.strerror}): give the path of a .jsonl file"
        ) from exc
    metadata: dict[str, Any] = {}
    iterations: list[dict[str, Any]] = []
    lines = content.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as exc:
            if number == len(lines):
                metadata["torn"] = True
                break
            raise RLMError(
                f"{path}:{number}: this line is no JSON ({exc}): is it a log of rlm?"
            ) from None
        if not isinstance(entry, dict):
            raise RLMError(f"{path}:{number}: a log line is an object, not {type(entry).__name__}")
        kind = entry.get("type", "iteration" if "response" in entry else None)
        if kind == "metadata":
            metadata.update(entry)
        elif kind == "iteration":
            iterations.append(_check_entry(entry, f"{path}:{number}"))
    if not metadata and not iterations:
        raise RLMError(f"{path}: there is no metadata and no iteration in it: is it a log of rlm?")
    return metadata, iterations


def _check_entry(entry: dict[str, Any], where: str) -> dict[str, Any]:
    """The entry, if it has the shape that readers count on."""
    blocks = entry.setdefault("code_blocks", [])
    if not isinstance(entry.get("response"), str) or not isinstance(blocks, list):
        raise RLMError(f"{where}: an iteration needs a `response` text and a list of `code_blocks`")
    for block in blocks:
        if (
            not isinstance(block, dict)
            or not isinstance(block.get("result"), dict)
            or "code" not in block
        ):
            raise RLMError(f"{where}: a code block needs `code` and `result`")
    return entry
