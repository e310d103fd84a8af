"""From an exception to one line on stderr and an exit code; nothing else decides either."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import click

from rlm.cli.output import encode_json, plain
from rlm.errors import REINSTALL, NotFound, RLMError

DONE, FAILED, UNUSABLE, INTERRUPTED = 0, 1, 2, 130


def report(error: BaseException, *, as_json: bool) -> int:
    """Say what went wrong and return the exit code. An unexpected error is raised again."""
    if isinstance(error, SystemExit):
        raise error
    if isinstance(error, click.exceptions.Exit):
        return _flush(error.exit_code, as_json=as_json)
    if isinstance(error, BrokenPipeError):
        _detach_stdout()
        return DONE
    kind, message = _describe(error)
    line = " ".join(message.split())
    with suppress(BrokenPipeError):  # the reader is gone; the exit code still says it
        if as_json:
            print(encode_json({"error": {"type": kind, "message": line}}), file=sys.stderr)
        else:
            print(f"error: {plain(line)}", file=sys.stderr)
    if kind == "Interrupted":
        return INTERRUPTED
    return FAILED if isinstance(error, NotFound) else UNUSABLE


def _describe(error: BaseException) -> tuple[str, str]:
    """The kind of an error and what to say of it; an unexpected one is raised again."""
    kind = type(error).__name__
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "Interrupted", "interrupted: what was not finished was not written"
    if isinstance(error, RLMError):
        return kind, str(error)
    if isinstance(error, click.ClickException):
        return "UsageError", _usage(error)
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("rlm"):
        return kind, f"the package {error.name.partition('.')[0]} is not installed: {REINSTALL}"
    if isinstance(error, RuntimeError) and "home directory" in str(error):  # of Path.expanduser
        hint = "a path begins with ~ and a name that no user here has: write it out"
        return "ValidationError", hint
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return kind, f"{where}{error.strerror or error}"
    raise error


def wants_json(args: list[str]) -> bool:
    """Whether `--json` was given, also where the rest of the line cannot be parsed."""
    return "--json" in (args[: args.index("--")] if "--" in args else args)


def _flush(code: int, *, as_json: bool) -> int:
    """`--help` and `--version` leave by an exception, before main could flush."""
    try:
        sys.stdout.flush()
    except BrokenPipeError as exc:
        return report(exc, as_json=as_json)
    return code


def _usage(error: click.ClickException) -> str:
    message = error.format_message().rstrip(".") or "no command was given"
    context = getattr(error, "ctx", None)
    if context is None:
        return message
    see = " See" if message.endswith("?") else "; see"
    return f"{message}{see} `{context.command_path} --help`"


def _detach_stdout() -> None:
    """Point stdout at nothing, or the interpreter complains when it flushes at exit."""
    with suppress(OSError, ValueError):  # stdout is not a file: a test, or another program's stream
        number = os.open(os.devnull, os.O_WRONLY)
        os.dup2(number, sys.stdout.fileno())
        os.close(number)
