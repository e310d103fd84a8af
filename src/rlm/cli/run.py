"""`rlm run`: a question over a text of any length."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rlm.cli import output
from rlm.cli.command import command, new_group, words
from rlm.cli.output import print_json, print_text
from rlm.cli.session import Session
from rlm.errors import ConfigError

if TYPE_CHECKING:
    from rlm.agent import AgentResult
    from rlm.loop import RLMIteration

app = new_group("Questions.")
ENGINES = ("auto", "process", "monty")
INTERRUPTED = 130


@command(app, "run")
@click.option("--query", "-q", required=True, metavar="TEXT", help="The question.")
@click.option("--context", "-c", "contexts", multiple=True, metavar="FILE",
              help="The text to ask about, `-` for standard input. Several are a dictionary by name.")  # fmt: skip
@click.option("--model", metavar="NAME", help="openai/…, anthropic/…, a server's model, or offline.")
@click.option("--sub-model", metavar="NAME", help="The model behind llm_query.")
@click.option("--base-url", metavar="URL", help="An OpenAI-compatible server, with its /v1.")
@click.option("--max-iters", type=int, metavar="N", help="Turns at most (30).")
@click.option("--max-depth", type=int, metavar="N", help="How deep rlm_query may recurse (1).")
@click.option("--timeout", type=float, metavar="S", help="Seconds at most for the whole run.")
@click.option("--max-tokens", type=int, metavar="N", help="Tokens at most, all calls together.")
@click.option("--max-cost", type=float, metavar="USD", help="Dollars at most, where the price is known.")
@click.option("--log-dir", metavar="DIR", help="Write the whole run there, as JSON lines (`rlm logs show`).")
@click.option("--record", metavar="FILE", help="Write every model call to a cassette.")
@click.option("--replay", metavar="FILE", help="Answer every model call from a cassette.")
@words("--engine", ENGINES, "What runs the code.", default="auto")
@click.option("--unsafe", is_flag=True, help="Run the code even where this machine cannot confine it.")
@click.option("--no-memory", is_flag=True, help="No mem_* and memory_* tools in the REPL.")
@click.option("--verbose", "-v", is_flag=True, help="Show the code and its output while it runs.")
def run(session: Session, query: str, contexts: tuple[str, ...], verbose: bool, **given: Any) -> int:
    """Answer a question about a text of any length.

    The model writes Python in a sealed REPL; the text stays behind a handle. The answer goes to stdout. The exit code
    is 1 when the model did not finish by itself: what there is of an answer is printed, and the reason on stderr.
    """
    if not contexts:
        raise ConfigError("there is nothing to ask about: give --context FILE, or `-` for standard input")
    from rlm import agent

    context = _read(contexts)
    started = time.monotonic()
    with session.store() as store:
        result = agent.run(
            query,
            context=context,
            model=given["model"],
            store=store,
            log_dir=given["log_dir"],
            limits=_limits(given),
            on_step=None if session.json else _teller(verbose),
            options=_options(given, session),
        )
    _tell(session, result, time.monotonic() - started)
    return INTERRUPTED if result.result.interrupted else 0 if result.converged else 1


def _read(names: tuple[str, ...]) -> bytes | dict[str, bytes]:
    """One text, or several by name."""
    texts: dict[str, bytes] = {}
    for name in names:
        path = Path(name).expanduser()
        try:
            data = sys.stdin.buffer.read() if name == "-" else path.read_bytes()
        except OSError as exc:
            raise ConfigError(f"--context {name} cannot be read: {exc.strerror}") from exc
        key = "stdin" if name == "-" else path.name
        texts[name if key in texts else key] = data
    return next(iter(texts.values())) if len(names) == 1 else texts


def _limits(given: dict[str, Any]) -> Any:
    from rlm.loop import Limits

    names = {"max_iters": "max_iters", "max_depth": "max_depth", "wall_s": "timeout", "max_tokens": "max_tokens",
             "max_cost_usd": "max_cost"}  # fmt: skip
    return Limits(**{field: given[option] for field, option in names.items() if given[option] is not None})


def _options(given: dict[str, Any], session: Session) -> Any:
    from rlm.agent import RunOptions

    return RunOptions(
        sub_model=given["sub_model"] or session.settings.sub_model or None,
        base_url=given["base_url"],
        record=given["record"],
        replay=given["replay"],
        engine=given["engine"],
        unsafe=given["unsafe"],
        memory_tools=not given["no_memory"],
    )


def _teller(verbose: bool) -> Any:
    """What a person sees of a run while it goes on."""

    def tell(turn: RLMIteration) -> None:
        blocks = len(turn.code_blocks)
        wrong = sum(1 for block in turn.code_blocks if block.result.error)
        said = f"{blocks} block{'' if blocks == 1 else 's'}" + (f", {wrong} failed" if wrong else "")
        ended = ", answer" if turn.final_answer is not None else ""
        output.talk(f"turn {turn.number}: {said}{ended} ({turn.iteration_time:.1f} s)")
        if verbose:
            for block in turn.code_blocks:
                output.talk(_indented(block.code, "  > "))
                output.talk(_indented((block.result.stdout + block.result.stderr)[:2_000], "    "))

    return tell


def _indented(text: str, mark: str) -> str:
    return "\n".join(mark + line for line in text.rstrip().splitlines())


def _tell(session: Session, result: AgentResult, spent_s: float) -> None:
    if session.json:
        print_json(result.to_dict())
        return
    print_text(result.answer)
    turns = f"{result.iterations} turn{'' if result.iterations == 1 else 's'}"
    used = result.usage
    tokens = f"{used['input_tokens'] + used['output_tokens']:,} tokens"
    cost = f", ${used['cost_usd']:.4f}" if used.get("cost_usd") else ""
    ended = "answered" if result.converged else f"not finished ({result.reason})"
    session.talk(f"{ended} in {turns}, {spent_s:.1f} s, {tokens}{cost}, by {result.model}")
    session.talk(f"kept as {result.trajectory_id}" + (f"; log: {result.log_path}" if result.log_path else ""))
    if result.leakage.get("flags"):
        session.talk(f"much text reached the prompts: {', '.join(result.leakage['flags'])}")
