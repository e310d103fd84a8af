"""The loop: a model writes code, the sealed REPL runs it, the model reads what was printed, until
it answers.

A run is a generator of turns (`rlm_steps`); `rlm_run` runs it to its end. Ctrl-C ends it too, and
the result says so. The loop knows nothing of memory, stores or ontologies: it is given a prompt,
tools and callbacks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, closing
from dataclasses import fields, replace
from typing import Any

from rlm.errors import ConfigError
from rlm.handles import Meter, Store
from rlm.llm import Client
from rlm.loop.logger import RLMLogger
from rlm.loop.setup import Setup
from rlm.loop.turns import Run
from rlm.loop.types import INTERRUPTED, Limits, RLMIteration, RLMResult
from rlm.loop.values import Context

Steps = Generator[RLMIteration, None, RLMResult]


def rlm_run(
    query: str,
    context: Context,
    ns: Mapping[str, Any] | None = None,
    *,
    client: Client,
    sub_client: Client | None = None,
    tools: Mapping[str, Callable[..., Any]] | None = None,
    limits: Limits | None = None,
    max_iters: int | None = None,
    store: Store | None = None,
    meter: Meter | None = None,
    logger: RLMLogger | None = None,
    on_step: Callable[[RLMIteration], None] | None = None,
    **options: Any,
) -> RLMResult:
    """Answer a question over a context of any length.

    The context goes behind handles; no prompt holds it. `ns` are further variables of the REPL.
    `max_iters` goes before the one in `limits`. `options` are the other fields of `Setup`. A run
    that ends without an answer of the model's own has `converged=False` and a `reason`; that is no
    error. Raises ModelAuthError when the very first call is refused, and SandboxError when there is
    no REPL to be had. What `on_step` raises is passed on.
    """
    with ExitStack() as stack:
        run = _make_run(
            stack,
            query,
            context,
            ns,
            logger,
            client=client,
            sub_client=sub_client,
            tools=dict(tools or {}),
            limits=_with_iters(limits or Limits(), max_iters),
            store=store,
            meter=meter,
            **options,
        )
        with closing(run.steps()) as steps:
            try:
                for iteration in steps:
                    if on_step is not None:
                        on_step(iteration)
            except KeyboardInterrupt:  # in the callback: the turns see to their own
                if run.session is None:  # it has not begun
                    raise
                run.stop(INTERRUPTED)
            except BaseException as exc:
                run.stop(f"failed: {type(exc).__name__}")
                run.finish()
                raise
        return run.finish()


def rlm_steps(
    query: str,
    context: Context,
    ns: Mapping[str, Any] | None = None,
    *,
    client: Client,
    limits: Limits | None = None,
    max_iters: int | None = None,
    logger: RLMLogger | None = None,
    **options: Any,
) -> Steps:
    """The same run, turn by turn. The generator's value (`StopIteration.value`) is the result."""
    with ExitStack() as stack:
        run = _make_run(
            stack,
            query,
            context,
            ns,
            logger,
            client=client,
            limits=_with_iters(limits or Limits(), max_iters),
            **options,
        )
        yield from run.steps()
        return run.finish()


def _with_iters(limits: Limits, max_iters: int | None) -> Limits:
    return limits if max_iters is None else replace(limits, max_iters=max_iters)


def _make_run(
    stack: ExitStack,
    query: str,
    context: Context,
    ns: Mapping[str, Any] | None,
    logger: RLMLogger | None,
    *,
    store: Store | None = None,
    meter: Meter | None = None,
    **setup: Any,
) -> Run:
    """A run; a store that was not given lives as long as the stack."""
    unknown = setup.keys() - {known.name for known in fields(Setup)}
    if unknown:
        raise TypeError(
            f"rlm_run() has no {', '.join(sorted(unknown))}; see `Setup` for what it takes"
        )
    if not callable(getattr(setup["client"], "complete", None)):
        raise ConfigError(
            f"client is a {type(setup['client']).__name__}: make one with open_client(NAME)"
        )
    store = stack.enter_context(Store()) if store is None else store
    made = Setup(store=store, meter=Meter() if meter is None else meter, **setup)
    return Run(query, context, ns or {}, made, logger=logger)
