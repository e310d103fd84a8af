"""`offline`: no language model, and it says so.

A planner that speaks the protocol of the loop. It remembers nothing: which step comes next it reads
from the prompt. Over an ontology `planner` answers, over a text `texts`; where a run has both, the
text is asked what no form over the ontology takes.

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

from rlm.llm.offline.forms import FORMS
from rlm.llm.offline.planner import Planner
from rlm.llm.offline.prompt import Prompt
from rlm.llm.types import OFFLINE, OFFLINE_UNANSWERED, Message, Reply, copy_messages

__all__ = ["OFFLINE_UNANSWERED", "OfflineClient", "least", "next_reply"]

MAX_DEPTH = 8
WHAT_IT_IS = (
    "offline is no language model: it is a fixed planner that knows some forms of question, and"
    " understands nothing."
)
HOW_TO_SET = (
    "For a language model set RLM_MODEL or give --model (openai/NAME, anthropic/NAME, or NAME with"
    " RLM_BASE_URL set)."
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
        """The next step of the plan; the limits of a real model are ignored."""
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


def next_reply(messages: Sequence[Message]) -> str:
    """What to say after these messages."""
    prompt = Prompt.of(messages)
    if prompt is None:
        return f"{WHAT_IT_IS} It cannot answer a free prompt. {HOW_TO_SET}"
    planner = Planner.of(prompt)
    if planner is None or (prompt.has_text and not planner.readings):
        # imported here: a question about an ontology needs none of it
        from rlm.llm.offline.texts import text_reply

        return text_reply(prompt)
    return planner.reply()


def examples() -> list[tuple[str, str]]:
    """Every form of question with its name, over ontologies and then over texts. Of the variants
    that differ in one word (a number instead of a list, object properties instead of all) one
    stands for the others."""
    from rlm.llm.offline.texts import FORMS as TEXT_FORMS

    variants = re.compile(
        r"(?:object|datatype|annotation)_prop.*_by_|(?:not_)?deprecated_(?:.*_|inst)|.*broader"
        r"|levels_|all_narrower|metadata_.*_date|.*_(?:object|datatype)_prop|(?!classes).*_in_namespace"
        r"|(?:object|datatype)_properties_without|current_.*_properties|search_(?!terms).*_by_"
        r"|exists_.*_property|count_.*_by_"
        r"|is_(?:.*_)?(?:property|individual)|.*properties_with_|.*_with(?:out)?_(?:comment|def)"
    )
    over_ontology = [
        (form.name, form.example)
        for form in FORMS
        if form.example and not variants.match(form.name)
    ]
    over_text = [(f"{name} (text)", example) for name, (example, _) in TEXT_FORMS.items()]
    return [*over_ontology, *over_text]


# -- replies to a schema


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
        known = {**root.get("$defs", {}), **root.get("definitions", {})}
        return least(known.get(schema["$ref"].rpartition("/")[2]), root=root, depth=depth + 1)
    for name in ("anyOf", "oneOf", "allOf"):
        if schema.get(name):
            return least(schema[name][0], root=root, depth=depth + 1)
    return _least_of_type(schema, root, depth)


def _least_of_type(schema: dict[str, Any], root: Any, depth: int) -> Any:
    kind = schema.get("type", "object" if "properties" in schema or not depth else "null")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    inner, null = {"root": root, "depth": depth + 1}, {"type": "null"}
    if kind == "object":
        known, wanted = schema.get("properties", {}), schema.get("required", [])
        if not wanted and not depth and schema.get("additionalProperties") is not False:
            return {"error": WHAT_IT_IS}
        return {name: least(known.get(name, null), **inner) for name in wanted}
    if kind == "array":
        number = min(100, int(schema.get("minItems", 0)))
        return [least(schema.get("items", null), **inner) for _ in range(number)]
    if kind in ("number", "integer"):
        most = schema.get("maximum", 0)
        return max(0, schema.get("minimum", 0)) if most >= 0 else most
    return {"string": WHAT_IT_IS[: schema.get("maxLength")], "boolean": False}.get(str(kind))
