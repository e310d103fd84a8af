"""From an exception to one line on stderr and an exit code. Nothing else in the package decides
either."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import click

from rlm.cli.output import encode_json, plain
from rlm.errors import NotFound, RLMError

REINSTALL = "pip install --upgrade --force-reinstall rlm-memory"
DONE, FAILED, UNUSABLE, INTERRUPTED = 0, 1, 2, 130


def report(error: BaseException, *, as_json: bool) -> int:
    """Say what went wrong and return the exit code. An error that nobody foresaw is raised again."""
    if isinstance(error, SystemExit):
        raise error
    if isinstance(error, click.exceptions.Exit):
        return _flushed(error.exit_code, as_json=as_json)
    if isinstance(error, BrokenPipeError):
        _let_go_of_stdout()
        return DONE
    if isinstance(error, KeyboardInterrupt | click.Abort):
        _say("Interrupted", "interrupted: what was not finished was not written", as_json=as_json)
        return INTERRUPTED
    if isinstance(error, NotFound):
        _say("NotFound", str(error), as_json=as_json)
        return FAILED
    if isinstance(error, RLMError):
        _say(type(error).__name__, str(error), as_json=as_json)
        return UNUSABLE
    if isinstance(error, click.ClickException):
        _say("UsageError", _usage(error), as_json=as_json)
        return UNUSABLE
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("rlm"):
        name = error.name.partition(".")[0]
        _say(
            type(error).__name__,
            f"the package {name} is not installed: {REINSTALL}",
            as_json=as_json,
        )
        return UNUSABLE
    if isinstance(error, RuntimeError) and "home directory" in str(error):  # of Path.expanduser
        _say(
            "ValidationError",
            "a path begins with ~ and a name that no user here has: write it out",
            as_json=as_json,
        )
        return UNUSABLE
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        _say(type(error).__name__, f"{where}{error.strerror or error}", as_json=as_json)
        return UNUSABLE
    raise error


def wants_json(args: list[str]) -> bool:
    """Whether `--json` was given, also where the rest of the line cannot be parsed."""
    options = args[: args.index("--")] if "--" in args else args
    return "--json" in options


def _flushed(code: int, *, as_json: bool) -> int:
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
    return (
        f"{message}{' See' if message.endswith('?') else '; see'} `{context.command_path} --help`"
    )


def _say(kind: str, message: str, *, as_json: bool) -> None:
    line = " ".join(message.split())
    with suppress(BrokenPipeError):  # nobody listens any more; the exit code still says it
        if as_json:
            print(encode_json({"error": {"type": kind, "message": line}}), file=sys.stderr)
        else:
            print(f"error: {plain(line)}", file=sys.stderr)


def _let_go_of_stdout() -> None:
    """Point stdout at nothing, or the interpreter complains when it flushes at exit."""
    with suppress(OSError, ValueError):  # stdout is no file: a test, or somebody else's stream
        number = os.open(os.devnull, os.O_WRONLY)
        os.dup2(number, sys.stdout.fileno())
        os.close(number)
