"""`rlm run`: a question over a text of any length, or over an ontology."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rlm.cli import AGENT, output
from rlm.cli.command import Decorator, lang_option, scaling_option, with_options, words
from rlm.cli.failure import INTERRUPTED
from rlm.cli.ontology_source import IMPORT_HELP, STDIN, OntologySource, read_imports
from rlm.cli.output import print_json, print_text
from rlm.cli.session import Session
from rlm.errors import ConfigError
from rlm.sandbox.engine import ENGINES

if TYPE_CHECKING:
    from rlm.agent import AgentResult
    from rlm.loop import RLMIteration

LOGS = "rlm-logs"
NOTHING = "there is nothing to ask about"
_LIMITS = {
    "max_iters": "max_iters",
    "max_depth": "max_depth",
    "wall_s": "timeout",
    "max_tokens": "max_tokens",
    "max_cost_usd": "max_cost",
}
_VALUES = re.compile(r"\bVALUES\b[^{]*\{[^}]*\}", re.IGNORECASE)
_LEARNT = {"merge": "added to what was known", "replace": "learnt in place of a failure"}


def model_options(each: str = "") -> Decorator:
    """Which model is asked and what it may spend; `each` says for what: " for a task"."""
    whole, above_zero = click.IntRange(1), click.FloatRange(0, min_open=True)
    rows: tuple[tuple[str, click.ParamType[Any] | None, str, str], ...] = (
        ("--model", None, "NAME", "openai/…, anthropic/…, a server's model, or offline."),
        ("--base-url", None, "URL", "An OpenAI-compatible server, with its /v1."),
        ("--max-iters", whole, "N", f"Steps at most{each} (30)."),
        ("--max-depth", click.IntRange(0), "N", "How deep rlm_query may recurse (1)."),
        ("--timeout", above_zero, "S", f"Seconds at most{each or ' in all'}."),
        ("--max-tokens", whole, "N", f"Tokens at most{each}, all calls together."),
        ("--max-cost", above_zero, "USD", f"Dollars at most{each}, where the price is known."),
    )
    return with_options(
        [click.option(name, type=kind, metavar=unit, help=doc) for name, kind, unit, doc in rows]
    )


def take_limits(given: dict[str, Any], *, over_text: bool = False) -> Any:
    """The limits, taken out of the options of a command."""
    from rlm.agent import AGENT_OUTPUT_CHARS
    from rlm.loop import Limits

    chosen = {
        field: value
        for field, option in _LIMITS.items()
        if (value := given.pop(option)) is not None
    }
    return Limits(**({} if over_text else {"max_output_chars": AGENT_OUTPUT_CHARS}), **chosen)


@click.argument("question", required=False)
@click.option(
    "--query", "-q", metavar="TEXT", help="The question, if it is not given as an argument."
)
@click.option("--context", "-c", "contexts", multiple=True, metavar="FILE",
              help="The text to ask about; standard input where none is named. "
              "Several become a dictionary.")  # fmt: skip
@click.option("--ontology", "ontologies", multiple=True, metavar="FILE",
              help="An ontology to ask (file, folder, -), or a named endpoint; "
              "several files are one graph.")  # fmt: skip
@click.option("--import", "imports", multiple=True, metavar="IRI=FILE", help=IMPORT_HELP)
@click.option("--ontology-name", metavar="NAME", help="Its name in memories.")
@click.option("--format", "ontology_format", metavar="NAME",
              help="The format of the file, if its name does not tell: turtle, …")  # fmt: skip
@lang_option("The language of its labels: en, de, …")
@model_options()
@click.option("--sub-model", metavar="NAME", help="The model behind llm_query.")
@click.option(
    "--no-query-cache", is_flag=True, help="Ask again where llm_query gets an equal prompt."
)
@click.option("--log-dir", metavar="DIR",
              help="Write the whole run there, as JSON lines. "
              "rlm-agent does, into rlm-logs beside its store; '' turns it off.")  # fmt: skip
@click.option("--record", metavar="FILE", help="Write every model call to a cassette.")
@click.option("--replay", metavar="FILE", help="Answer every model call from a cassette.")
@words("--engine", ENGINES, "What runs the code.", default="auto")
@click.option(
    "--unsafe", is_flag=True, help="Run the code even where this machine cannot confine it."
)
@click.option("--memory-k", type=click.IntRange(0, 20), metavar="N", default=3,
              help="Memories to retrieve; the best two go into the prompt [3].")  # fmt: skip
@click.option("--memory-chars", type=click.IntRange(0, 20_000), metavar="N",
              help="Characters of the prompt for them [2,400; 600 for offline].")  # fmt: skip
@click.option("--no-extract", is_flag=True, help="Learn nothing from this run.")
@click.option(
    "--no-memory", is_flag=True, help="Neither recall nor learn, and no memory tools in the REPL."
)
@scaling_option()
@click.option("--verbose", "-v", is_flag=True, help="Show the code and its output while it runs.")
@click.option("--forms", is_flag=True, help="List the forms of question that offline knows.")
def run(
    session: Session,
    question: str | None,
    query: str | None,
    contexts: tuple[str, ...],
    verbose: bool,
    forms: bool,
    **given: Any,
) -> int:
    """Answer a question about a text of any length, or about an ontology, and learn from it.

    The model writes Python in a sealed REPL; the text stays behind a handle. The answer goes to
    stdout. The exit code is 1 without an answer: a partial one is printed, and the reason is on
    stderr. `rlm logs list` has earlier runs. `rlm ask` is the same command.
    """
    if forms:
        return _print_forms(session)
    asked = _question(question, query)
    imports = read_imports(given.pop("imports"))
    source = _find_source(given.pop("ontologies"), given["ontology_name"], imports, contexts)
    _check_named(session, given)
    from rlm.agent import RunSpec, run_spec

    context = None if source and not contexts else _context(session, contexts)
    memory, extract = not given.pop("no_memory"), not given.pop("no_extract")
    given["log_dir"] = _log_dir(session, given["log_dir"])
    given["sub_model"] = given["sub_model"] or session.settings.sub_model or None
    started = time.monotonic()
    with (
        _logs_on_stderr(session),
        nullcontext() if source is None else source.spool() as named,
        _wait_for(session, named) as on_start,
    ):
        spec = RunSpec(
            query=asked,
            ontology_path=None if named is None else named.files,
            ontology_imports=imports,
            context=context,
            store=session.store,
            recall=memory,
            memory_tools=memory,
            enable_extraction=extract and memory,
            cache_queries=not given.pop("no_query_cache"),
            limits=take_limits(given, over_text=context is not None),
            on_start=on_start,
            on_step=None if session.json else _step_printer(verbose),
            **given,
        )
        result = run_spec(spec)
    _print_result(session, result, time.monotonic() - started)
    if result.result.interrupted:
        return INTERRUPTED
    return 0 if result.answered else 1


def _check_named(session: Session, given: Mapping[str, Any]) -> None:
    named = given["model"] or session.settings.model or given["replay"]
    if given["base_url"] and not named:
        why = "--base-url names a server but not which of its models: give --model NAME"
        raise ConfigError(why)


def _print_forms(session: Session) -> int:
    """Every form of question that needs no model, with an example."""
    from rlm.llm import offline_forms

    found = offline_forms()
    if session.json:
        print_json({"forms": [{"form": name, "example": text} for name, text in found]})
    else:
        print_text("\n".join(f"{name.replace('_', ' '):28} {text}" for name, text in found))
        print_text("What can be listed can be counted: How many instances does Tug have?")
    return 0


def _context(session: Session, named: tuple[str, ...]) -> str | dict[str, str]:
    """The texts that were named, or standard input."""
    if not named and sys.stdin.isatty():
        raise ConfigError(f"{NOTHING}: give --context FILE or --ontology FILE, or pipe a text in")
    found = _read(session, named or ("-",))
    if not named and found == "":
        raise ConfigError(f"{NOTHING}: standard input is empty; give --context or --ontology FILE")
    return found


def _find_source(
    named: tuple[str, ...], called: str | None, imports: dict[str, str], contexts: tuple[str, ...]
) -> OntologySource | None:
    if called and not named:
        raise ConfigError(f"--ontology-name {called} names no ontology: give --ontology FILE")
    if imports and not named:
        raise ConfigError("--import belongs to an ontology: give --ontology FILE")
    if STDIN in named and STDIN in contexts:
        raise ConfigError("--ontology and --context cannot both be standard input: use a file")
    return OntologySource(named, imports) if named else None


def _question(question: str | None, query: str | None) -> str:
    if question is not None and query is not None:
        raise ConfigError("the question is given twice: as an argument, or with --query, not both")
    found = question if query is None else query
    if found is None:
        raise ConfigError("there is no question: `rlm run QUESTION --context FILE`")
    return found


def _log_dir(session: Session, named: str | None) -> str | Path | None:
    """Where the log goes. Under the name of a coding agent there is one (seed 000 §6.1)."""
    if named:
        session.require_folder(Path(named).expanduser(), f"--log-dir {named}")
    if named is not None:
        return named or None
    as_agent = click.get_current_context().find_root().info_name == AGENT
    return session.path.parent / LOGS if as_agent and session.path is not None else None


@contextmanager
def _logs_on_stderr(session: Session) -> Iterator[None]:
    """What the model clients and the ontology log (a retry, a guess at a format) goes to stderr."""
    import logging

    class Stderr(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            session.notify(record.getMessage())

    logs = [logging.getLogger(name) for name in ("rlm.llm", "rlm.agent", "rlm.learning")]
    handler = Stderr()
    before = [log.level for log in logs]
    for log in logs:
        log.addHandler(handler)
        log.setLevel(logging.INFO)
    try:
        yield
    finally:
        for log, level in zip(logs, before, strict=True):
            log.removeHandler(handler)
            log.setLevel(level)


@contextmanager
def _wait_for(session: Session, source: OntologySource | None) -> Iterator[Callable[[str], None]]:
    """A bar while an ontology loads; yields the callback for the model's name."""
    with ExitStack() as waits:
        if source is not None:
            waits.enter_context(output.show_opening(source.files[0]))

        def start(model: str) -> None:
            waits.close()
            session.notify(f"asking {model}")

        yield start


def _read(session: Session, names: tuple[str, ...]) -> str | dict[str, str]:
    """One text, or several by name, with a notice for what is not plain UTF-8."""
    from rlm.handles import decode

    texts: dict[str, str] = {}
    for name in names:
        path = Path(name).expanduser()
        try:
            data = sys.stdin.buffer.read() if name == "-" else path.read_bytes()
        except OSError as exc:
            raise ConfigError(f"--context {name} cannot be read: {exc.strerror}") from exc
        key = "stdin" if name == "-" else path.name
        text, how = decode(data)
        if how == "lossy":
            unknown = "is not text in a known encoding"
            session.notify(f"{key} {unknown}: what cannot be read shows as \ufffd")
        elif how:
            session.notify(f"{key} was read as {how}")
        texts[name if key in texts else key] = text
    return next(iter(texts.values())) if len(names) == 1 else texts


def _step_printer(verbose: bool) -> Any:
    """Prints the progress of a run, step by step."""

    def tell(turn: RLMIteration) -> None:
        blocks = len(turn.code_blocks)
        failed = [block.result for block in turn.code_blocks if block.result.error]
        said = f"{blocks} block{'' if blocks == 1 else 's'}"
        said += f", {len(failed)} failed" if failed else ""
        if failed and not verbose and (last := failed[0].stderr.strip().splitlines()):
            said += f": {output.one_line(last[-1])[:100]}"
        ended = ", answer" if turn.final_answer is not None else ""
        which = f"attempt {turn.attempt}, " if turn.attempt else ""
        output.notify(f"{which}step {turn.number}: {said}{ended} ({turn.iteration_time:.1f} s)")
        mark = f"{turn.attempt} " if turn.attempt else ""
        for block in turn.code_blocks if verbose else ():
            printed = (block.result.stdout + block.result.stderr)[:2_000]
            output.notify(_indent(block.code, f"  {mark}> "))
            output.notify(_indent(printed, f"    {mark}"))

    return tell


def _indent(text: str, mark: str) -> str:
    return "\n".join(mark + line for line in text.rstrip().splitlines())


def _print_result(session: Session, result: AgentResult, spent_s: float) -> None:
    if session.json:
        print_json(result.to_dict())
        return
    if result.answer:
        print_text(result.answer)
    steps = f"{result.iterations} step{'' if result.iterations == 1 else 's'}"
    used = result.usage
    tokens = f"{used['input_tokens'] + used['output_tokens']:,} tokens"
    cost = f", ${used['cost_usd']:.4f}" if used.get("cost_usd") else ""
    ended = "answered" if result.answered else "not answered"
    if not result.converged:
        ended = f"not finished ({result.reason})"
    session.notify(f"{ended} in {steps}, {spent_s:.1f} s, {tokens}{cost}, by {result.model}")
    for line in learning_lines(result):
        session.notify(line)
    for line in query_lines(result.calls):
        session.notify(line)
    log = f"; log: {result.log_path}" if result.log_path else ""
    session.notify(f"kept as {result.trajectory_id} (`rlm logs show {result.trajectory_id}`){log}")
    # A whole memory is no text of the data: the prompt itself tells a model to print one.
    flags = [each for each in result.leakage.get("flags", ()) if not each.endswith("(mem_get)")]
    if flags:
        session.notify(f"much text reached the prompts: {', '.join(flags)}")


def query_lines(calls: Sequence[Mapping[str, Any]], *, every: bool = False) -> Iterator[str]:
    """The calls that an answer rests on, or `every` one, each with its query whole, to be copied;
    one that was asked in batches of values once."""
    seen = set[str]()
    for call in calls:
        if not (every or call["decisive"]):
            continue
        found = rows_found(call) + (", behind the answer" if every and call["decisive"] else "")
        if call["tool"] != "sparql_query":
            given = ", ".join(f"{name}={value!r}" for name, value in call["arguments"].items())
            yield f"Call: {call['tool']}({output.one_line(given)}){found}"
            found = ", which finds the same" if call["query"] else ""
        query, shape = call["query"], call["query"] if every else _VALUES.sub("", call["query"])
        if query in seen:
            yield f"Query{found}: the same again"
        elif shape in seen:
            yield f"Query{found}: the same with other VALUES; --json has it whole"
        elif query:
            yield f"Query{found}:"
            yield _indent(query, "  ")
        seen |= {query, shape} - {""}


def rows_found(call: Mapping[str, Any]) -> str:
    """How many rows a call found, in brackets behind a blank; '' where nobody counted."""
    rows = call["rows"]
    return "" if rows is None else f" ({rows:,} row{'' if rows == 1 else 's'})"


def verdict_words(judgment: dict[str, Any]) -> str:
    """The verdict in words. Where neither the task has a check nor a model judged, nobody knows
    whether an answer is right."""
    if judgment["is_success"] is None:
        return "not judged, so nothing is learnt from it"
    from rlm.learning.judge import ALL_SEEN  # here: `--help` needs none of it

    if judgment["reason"] == ALL_SEEN:
        return "not checked"
    word = "success" if judgment["is_success"] else "failure"
    return f"{word} ({judgment['confidence']} confidence)"


def learning_lines(result: AgentResult) -> Iterator[str]:
    """What memory gave, what the judge said, and what was learnt."""
    if result.attempts:
        tried = f"{len(result.attempts)} attempts"
        right = sum(one["is_success"] for one in result.attempts)
        yield f"{tried}, {right} judged a success; this is the answer of the best"
    for used in (used for used in result.memories_used if used["injected"]):
        how = "followed" if used["followed"] else "recalled"
        yield f"{how}: {output.one_line(used['title'])} ({used['memory_id']})"
    if result.judgment is not None:
        said, words = output.one_line(result.judgment["reason"]), verdict_words(result.judgment)
        yield f"{'' if words.startswith('not ') else 'judged a '}{words}: {said}"
    for made in result.new_memories:
        title = output.one_line(made["title"])
        if made["action"] == "skip":
            yield f"nothing new: {title} ({output.one_line(made['why'])})"
        elif "quarantine_reason" in made:
            why = output.one_line(made["quarantine_reason"])
            yield f"in quarantine: {title} ({made['memory_id']}: {why})"
        else:
            yield f"{_LEARNT.get(made['action'], 'learnt')}: {title} ({made['memory_id']})"
