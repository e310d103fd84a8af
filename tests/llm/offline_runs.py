"""`offline` over an ontology without the sandbox: its programs run in this process, so that a form of
question takes milliseconds."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

from rlm.handles import Meter, Store
from rlm.llm.offline.client import next_reply
from rlm.loop.parse import parse_reply
from rlm.loop.prompts import ContextCard, describe_tools, first_message, system_prompt
from rlm.loop.types import Limits
from rlm.ontology.source import open_engine
from rlm.ontology.views.views import Views
from rlm.tools.sparql import sparql_tools
from rlm.tools.views import view_tools

ROOT = Path(__file__).resolve().parents[2]


class Rows(list[dict[str, Any]]):
    more = False


class Asked:
    """One ontology, and `ask`, which runs the turns of `offline` to their end."""

    def __init__(self, path: Path, prefix: str = "") -> None:
        self.engine = open_engine(path)
        meter = Meter()
        tools = sparql_tools(self.engine, Store(), meter) | view_tools(Views(self.engine), meter)
        self.tools = {**tools.functions, "sparql_query": self._query}
        meta = self.engine.meta()
        space = meta.namespaces.get(prefix, "")
        self.card = f"{meta.title or prefix}\nPrefixes: {prefix}: <{space}>"

    def _query(self, query: str, limit: int = 100) -> Rows:
        """As `sparql_query` in the REPL: rows of Turtle notation, numbers as numbers."""
        found = self.engine.query(query, limit=limit)
        rows = found.text_rows(self.engine.meta().prefixes)
        return Rows(
            {name: int(text) if text.isdigit() else text for name, text in row.items()}
            for row in rows
        )

    def ask(self, question: str, procedures: str = "") -> tuple[str, int]:
        """The answer, and in how many turns."""
        system = system_prompt(
            Limits(),
            tools_text=describe_tools(self.tools),
            guidance=f"{self.card}\n\n{procedures}".strip(),
            has_ontology=True,
            has_text=False,
        )
        first = first_message(question, ContextCard("context", 0, 0), has_text=False)
        messages = [{"role": "system", "content": system}, {"role": "user", "content": first}]
        ended: list[str] = []
        space: dict[str, Any] = {**self.tools}
        space["FINAL_VAR"] = lambda name: ended.append(space[name])
        for turn in range(1, 6):
            reply = next_reply(messages)
            parsed = parse_reply(reply)
            told = "Output of block 1:\n"
            if not parsed.blocks:
                return str(parsed.final.value if parsed.final else reply), turn
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(parsed.blocks[0].code, space)
            if ended:
                return ended[0], turn
            told += out.getvalue() + "\nTurn 2 of 30. Go on."
            messages += [
                {"role": "assistant", "content": reply},
                {"role": "user", "content": told},
            ]
        raise AssertionError("no end")

    def names(self, query: str) -> list[str]:
        """The first column of a query, as answers write it."""
        meta = self.engine.meta()
        rows = self.engine.query(query, limit=10_000).rows
        return sorted(meta.curie(next(iter(row.values()))["v"]) for row in rows)


def listed(answer: str) -> list[str]:
    """The names of an answer that is a list."""
    lines = [line[2:] for line in answer.splitlines() if line.startswith("- ")]
    return sorted(line.split(" (")[0] for line in lines)
