"""The REPL of one run: what it is given, and the ways in which code in it can finish the run.

`FINAL`, `FINAL_VAR` and `SUBMIT` are functions there that call the host; `answer` is a dict there
that the host looks at after every block. A variable can only be read between blocks, so `FINAL_VAR`
is noted and looked up afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Self

from rlm.errors import ConfigError, HandleError, RLMError, SandboxError
from rlm.handles import Ref, Store, View, from_wire, reader, to_wire
from rlm.loop.queries import Queries
from rlm.loop.types import LoopSpec
from rlm.loop.values import as_text, namespace, resolve
from rlm.sandbox import Repl, REPLResult, open_repl

UNTIMED = ("llm_query", "llm_query_batched", "rlm_query")

_FINAL_VAR = re.compile(r"\bFINAL_VAR\(\s*([A-Za-z_]\w*)\s*\)")
_NOTHING = object()


class ReplSession:
    """A REPL with a run's context and tools. Use it as a block: it is closed at the end."""

    def __init__(
        self, spec: LoopSpec, store: Store, queries: Queries, given: Mapping[str, Any]
    ) -> None:
        self.spec, self.store, self.queries = spec, store, queries
        self.submitted: dict[str, Any] | None = None
        self._variables = {**given, "answer": {"content": "", "ready": False}}
        self._tools: dict[str, Callable[..., Any]] = {
            "FINAL": self.FINAL,
            "FINAL_VAR": self.FINAL_VAR,
            "SUBMIT": self.SUBMIT,
            "llm_query": queries.llm_query,
            "llm_query_batched": queries.llm_query_batched,
            "rlm_query": queries.rlm_query,
        }
        _check_names({*self._tools, *self._variables, "SHOW_VARS"}, spec.tools, spec.ns)
        self._variables.update(spec.ns)
        self.names = sorted(self._variables)
        self.descriptions: dict[str, str] = {}
        """The variables after the last block."""
        self._final: Any = _NOTHING
        self._final_var: Any = _NOTHING
        self._content: Any = None
        self._repl: Repl | None = None

    def __enter__(self) -> Self:
        spec = self.spec
        self._repl = open_repl(
            {**self._tools, **spec.tools},
            untimed=[*UNTIMED, *spec.untimed],
            hidden=reader(self.store, self.queries.meter),
            limits=spec.sandbox,
            engine=spec.engine,
            unsafe=spec.unsafe,
            to_wire=to_wire,
            from_wire=from_wire,
        )
        try:
            for name, value in self._variables.items():
                self._repl.set(name, value)
        except BaseException:
            self._repl.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.repl.close()

    @property
    def repl(self) -> Repl:
        if self._repl is None:
            raise SandboxError("the session is not open: use it in a with block")
        return self._repl

    @property
    def engine(self) -> str:
        return self.repl.engine

    def run(self, code: str, *, deadline: float | None) -> REPLResult:
        """One block."""
        self._final = self._final_var = _NOTHING
        result = self.repl.run(code, deadline=deadline)
        self.descriptions = result.locals
        self.names = sorted(result.locals)
        return result

    # -- what code in the REPL can call

    def FINAL(self, answer: Any) -> str:
        """Give the final answer."""
        self._final = answer
        return "The answer is noted; the run ends after this block."

    def FINAL_VAR(self, name: Any) -> str:
        """Give the value of a variable as the final answer."""
        self._final_var = name
        return "The variable is looked up after this block."

    def SUBMIT(self, *values: Any, **fields: Any) -> str:
        """Give the final answer as named fields."""
        if len(values) > 1 or (values and "answer" in fields):
            raise TypeError("SUBMIT takes named fields: SUBMIT(answer=..., sparql=...)")
        if not values and not fields:
            raise TypeError("SUBMIT needs at least one field: SUBMIT(answer=...)")
        named = {"answer": values[0], **fields} if values else fields
        self.submitted = resolve(self.store, named)
        return "The answer is noted; the run ends after this block."

    # -- what it said

    def answer(self, code: str, notes: list[str]) -> str | None:
        """The final answer of the block `code`; None when it gave none that can be read."""
        try:
            return self._answer(code, notes)
        except HandleError as exc:  # a handle that was made up in the REPL
            self.submitted = None
            notes.append(f"The answer cannot be read: {exc}")
            return None

    def _answer(self, code: str, notes: list[str]) -> str | None:
        if self.submitted is not None:
            for name in ("answer", "content"):
                if name in self.submitted:
                    return as_text(self.store, self.submitted[name])
            return as_text(self.store, self.submitted)
        if self._final is not _NOTHING:
            return as_text(self.store, self._final)
        if self._final_var is not _NOTHING:
            return self._read_final_var(code, notes)
        return self._answer_variable()

    def variable(self, name: str, notes: list[str]) -> str | None:
        """A variable as an answer. None when it cannot be one, and then a note says why."""
        if name.isidentifier():
            try:
                value = self.repl.get(name)
            except SandboxError as exc:
                notes.append(f"FINAL_VAR({name}): {exc}. Define it in a block, then finish.")
                return None
            if name == "answer" and isinstance(value, dict) and "content" in value:
                value = value["content"]
            return as_text(self.store, value)
        notes.append(
            f"FINAL_VAR({name[:80]!r}): that is no name of a variable. For a text use FINAL(the"
            " text)."
        )
        return None

    def _read_final_var(self, code: str, notes: list[str]) -> str | None:
        """`FINAL_VAR("name")` names a variable; in `FINAL_VAR(name)` Python has put its value in
        place already."""
        given = self._final_var
        if not isinstance(given, str) or not given.isidentifier():
            return as_text(self.store, given)
        bare = {match.group(1) for match in _FINAL_VAR.finditer(code)}
        if given not in self.names and bare & set(self.names):
            return as_text(self.store, given)
        return self.variable(given, notes)

    def _answer_variable(self) -> str | None:
        """Look at `answer`: its content is partial until it is ready."""
        try:
            value = self.repl.get("answer")
        except SandboxError:  # deleted, or something that cannot be sent
            return None
        if isinstance(value, dict) and "content" in value:
            self._content = value["content"]
            return as_text(self.store, self._content) if value.get("ready") else None
        if isinstance(value, str | Ref | View):
            self._content = value  # `answer` used as a plain variable
        return None

    def reopen(self) -> None:
        """Take back an answer that was given: the run goes on."""
        self.submitted, self._final, self._final_var = None, _NOTHING, _NOTHING
        self.repl.set("answer", {"content": "", "ready": False})

    def partial(self) -> str:
        """The last content of `answer`; '' when there is none."""
        if self._content is None or self._content == "":
            return ""
        try:
            return as_text(self.store, self._content)
        except RLMError:
            return ""

    def namespace(self) -> dict[str, Any]:
        return namespace(self.repl)


def _check_names(taken: set[str], tools: Mapping[str, Any], ns: Mapping[str, Any]) -> None:
    for name in tools:
        if name in taken:
            raise ConfigError(
                f"a tool cannot be named {name!r}: the REPL has something of this name"
            )
    for name in ns:
        if not name.isidentifier() or name in taken or name in tools:
            raise ConfigError(f"a variable cannot be named {name!r}: choose another name")
