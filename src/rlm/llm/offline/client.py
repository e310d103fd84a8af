"""`offline`: no language model, and it says so.

A planner that speaks the protocol of the loop. It reads the question out of the prompt, looks at
the text in the first turn, writes one program by fixed rules in the second, and answers in the
third from what the program found; a fourth turn is there for a second try. It remembers nothing:
which step comes next it reads from the line `# plan: …` in its own last reply. It believes one line
of an output, the last that begins with `FOUND`; its programs print nothing else, and whatever they
read stands inside of that line as JSON, so no text can pass itself off as an output.

Where the run has an ontology and the question is about it, `graph` plans instead; a name that only
the text can know comes back here.

A prompt that holds no question of the loop is answered by a sentence that says what offline is.
With a JSON schema the reply is the smallest JSON that the schema's types and required fields allow:
false, 0, empty, and that sentence where a text is wanted. It is no judgement, and patterns or
formats of strings are not looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from rlm.llm.offline.graph.planner import graph_reply
from rlm.llm.offline.text.said import HOW_TO_SET, WHAT_IT_IS
from rlm.llm.types import OFFLINE, OFFLINE_UNANSWERED, Message, Reply, copy_messages

__all__ = ["OFFLINE_UNANSWERED", "OfflineClient", "least", "next_reply", "question_in"]

MAX_DEPTH = 8

_CONTEXT = re.compile(
    r"Context: .* \(\d+ characters, \d+ lines\)(?: in \d+ texts, a (?:list|dict))?$"
)


class OfflineClient:
    """Safe to share between threads: it holds nothing.

    >>> OfflineClient().complete([{"role": "user", "content": "Write a poem."}]).text.split(":")[0]
    'offline is no language model'
    """

    model = OFFLINE
    is_language_model = False

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        json_schema: dict[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Reply:
        """The next step of the plan. The same messages give the same reply; the limits of a real
        model are ignored."""
        sent = copy_messages(messages)
        text = (
            next_reply(sent)
            if json_schema is None
            else json.dumps(least(json_schema), ensure_ascii=False)
        )
        return Reply(text, self.model, 0, 0, 0.0, "stop", 0.0)  # no model, so no tokens

    def close(self) -> None:
        """Nothing is held."""

    def __repr__(self) -> str:
        return "OfflineClient()"


# -- the steps
# ---------------------------------------------------------------------------------------------


def next_reply(messages: Sequence[Message]) -> str:
    """What to say after these messages."""
    question = question_in(messages)
    if question is None:
        return f"{WHAT_IT_IS} It cannot answer a free prompt. {HOW_TO_SET}"
    if (about_graph := graph_reply(messages, question)) is not None:
        return about_graph
    from rlm.llm.offline.text.planner import text_reply  # what reads a text loads when one is asked

    return text_reply(messages, question)


def question_in(messages: Sequence[Message]) -> str | None:
    """The question of a run; None when the prompt is something else."""
    first = next((message["content"] for message in messages if message["role"] == "user"), "")
    head, *rest = first.split("\n")
    if not head.startswith("Question:"):
        return None
    lines = [head.removeprefix("Question:").strip()]
    for line in rest:
        if line.startswith("  "):
            if not re.match(r"  \[… \d+ more characters: the whole question is in the REPL", line):
                lines.append(line[2:])
        else:
            return "\n".join(lines) if _CONTEXT.match(line) else None
    return None


# -- replies to a schema
# -----------------------------------------------------------------------------------


def least(schema: Any, *, root: Any = None, depth: int = 0) -> Any:
    """The smallest value that a simple JSON schema allows."""
    root = schema if root is None else root
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return None
    for name in ("const", "default"):
        if name in schema:
            return schema[name]
    if schema.get("enum"):
        return schema["enum"][0]
    if isinstance(schema.get("$ref"), str):
        named = schema["$ref"].rpartition("/")[2]
        return least(
            {**root.get("$defs", {}), **root.get("definitions", {})}.get(named),
            root=root,
            depth=depth + 1,
        )
    for name in ("anyOf", "oneOf", "allOf"):
        if schema.get(name):
            return least(schema[name][0], root=root, depth=depth + 1)
    kind = schema.get("type", "object" if "properties" in schema or not depth else "null")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object":
        known, wanted = schema.get("properties", {}), schema.get("required", [])
        if not wanted and not depth and schema.get("additionalProperties") is not False:
            return {"error": WHAT_IT_IS}
        return {
            name: least(known.get(name, {"type": "null"}), root=root, depth=depth + 1)
            for name in wanted
        }
    if kind == "array":
        number = min(100, int(schema.get("minItems", 0)))
        return [
            least(schema.get("items", {"type": "null"}), root=root, depth=depth + 1)
            for _ in range(number)
        ]
    if kind in ("number", "integer"):
        return (
            max(0, schema.get("minimum", 0)) if schema.get("maximum", 0) >= 0 else schema["maximum"]
        )
    return {"string": WHAT_IT_IS[: schema.get("maxLength")], "boolean": False}.get(str(kind))
