"""What is known to be wrong before anything is spent: the question, its language, the folder for
logs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rlm import clock
from rlm.errors import ConfigError
from rlm.handles import decode
from rlm.llm import Client, language_refusal
from rlm.ontology.labels import is_language_tag

MAX_QUESTION_CHARS = 50_000
PROBE_BYTES = 1 << 16
"""So much room a folder for logs must have."""
_INSTEAD = "ask in English, or name a model that reads it (--model NAME, RLM_MODEL)"


def check_question(query: str) -> None:
    """ConfigError for a question that is none, or too long."""
    if not isinstance(query, str) or not query.strip():
        raise ConfigError("the question is empty: say what you want to know")
    if len(query) > MAX_QUESTION_CHARS:
        raise ConfigError(
            f"the question has {len(query):,} characters, at most {MAX_QUESTION_CHARS:,}: "
            "ask in short, and give the long part as `context`"
        )


def check_lang(tag: str | None) -> None:
    """ConfigError for a language of labels that is no language tag."""
    if tag is not None and not is_language_tag(tag):
        raise ConfigError(f"lang is {str(tag)[:40]!r}: write a language tag, as en, de or pt-BR")


def check_language(
    query: str, client: Client | None, *, ontology: bool, context: Any = None
) -> None:
    """ConfigError for a question in a language that a client cannot read; language models read
    any."""
    if client is None:
        return
    texts = None if context is None else _texts(context)
    if why := language_refusal(client, query, texts, ontology=ontology):
        raise ConfigError(f"{why}: {_INSTEAD}")


def _texts(context: Any) -> Iterator[str]:
    if isinstance(context, str):
        yield context
    elif isinstance(context, bytes | bytearray):
        yield decode(bytes(context))[0]
    elif isinstance(context, Mapping):
        for part in context.values():
            yield from _texts(part)
    elif isinstance(context, list | tuple):
        for part in context:
            yield from _texts(part)
    else:
        yield str(context)


def check_log_dir(folder: str | Path) -> None:
    """Whether logs can be written there, found out by writing. ConfigError says why not."""
    path = Path(folder).expanduser()
    probe = path / f".rlm-{clock.short_id('probe')}"
    try:
        path.mkdir(parents=True, exist_ok=True)
        file = os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            written = os.write(file, b" " * PROBE_BYTES)
            os.fsync(file)
        finally:
            os.close(file)
            probe.unlink()
    except OSError as exc:
        why = "it is no folder" if isinstance(exc, FileExistsError) else exc.strerror
        raise ConfigError(
            f"logs cannot be written to {path} ({why}): give another --log-dir"
        ) from exc
    if written < PROBE_BYTES:
        raise ConfigError(
            f"logs cannot be written to {path} (the disk is full): give another --log-dir"
        )
