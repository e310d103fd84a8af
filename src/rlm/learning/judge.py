"""Success or failure of one run, or neither. Deterministic checks first; a model is asked only
about what they leave open.

In this order: a run that did not converge fails; an answer that says it has none fails; the task's
own check decides, either way, unless only a reader can tell what the answer says beside the
expected (`Verdict.open`): then a model compares the two. An answer with an IRI that no evidence has
fails. What is left, a model judges by the evidence: JSON by schema, temperature 0, one more try
when its reply cannot be read. A judge that cannot decide, cannot be read or cannot be reached
leaves the run unjudged: `is_success` is None, and the run teaches nothing. With no language model
the checks alone decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlm.errors import RLMError
from rlm.learning.evidence import CHARS, Evidence
from rlm.learning.json_request import ask_json, parse_json
from rlm.learning.prompts import JUDGE_REPAIR, JUDGE_SCHEMA, clip_ends, judge_messages
from rlm.learning.verify import Verdict
from rlm.llm import Client, Message, Usage, is_language_model, is_unanswered
from rlm.store.types import Judgment

ALL_SEEN = "the run converged and everything that the answer names was seen"
"""All that can be said of an answer that neither a check nor a model judged."""
HIGH, MEDIUM, LOW = "high", "medium", "low"
REASON_CHARS, MISSING_CHARS, MOST_MISSING = 500, 200, 20


def judge_trajectory(
    artifact: Mapping[str, Any],
    ns: Mapping[str, Any] | None = None,
    *,
    client: Client | None = None,
    evidence: Evidence | None = None,
    grounding: Sequence[str] | None = None,
    verdict: Verdict | None = None,
    usage: Usage | None = None,
) -> Judgment:
    """Judge a run by its artifact and the evidence of it. `grounding` is what `find_ungrounded`
    gave: [] when all is grounded, None when nobody looked. `verdict` is that of the task's own
    check, if it has one. What the judge's model used is added to `usage`. Never raises for what a
    model does."""
    reads = client is not None and is_language_model(client)
    expected = verdict.expected if verdict is not None and verdict.open and reads else []
    found = _by_rule(artifact, grounding, None if expected else verdict)
    if found is not None:
        return found
    if client is not None and reads:
        shown = evidence or Evidence.of_artifact(artifact, ns)
        return _by_model(shown, client, usage, checked=grounding is not None, expected=expected)
    if grounding is None:
        return _leave_open("nobody looked whether the answer is grounded, and there is no judge")
    return Judgment(True, ALL_SEEN, MEDIUM)


def _by_rule(
    artifact: Mapping[str, Any], grounding: Sequence[str] | None, verdict: Verdict | None
) -> Judgment | None:
    """What needs no opinion; None when that is not enough."""
    answer = str(artifact.get("final_answer") or "").strip()
    if artifact.get("converged") is not True:
        why = clip_ends(artifact.get("reason"), 200)
        return _failure(
            "the run did not converge" + (f": {why}" if why else ""),
            HIGH,
            ["an answer within the limits"],
        )
    if not answer:
        return _failure("the answer is empty", HIGH, ["an answer"])
    if is_unanswered(answer):
        return _failure("the run says that it has no answer", HIGH, ["an answer"])
    if verdict is not None:
        unseen = f"; not seen in the evidence: {', '.join(grounding[:5])}" if grounding else ""
        if verdict.ok:
            return Judgment(True, _short(f"verified: {verdict.reason}{unseen}"), HIGH)
        return _failure(f"not verified: {verdict.reason}{unseen}", HIGH, verdict.missing)
    if grounding:
        return _failure(
            f"the answer has what no evidence shows: {', '.join(grounding[:5])}", HIGH, grounding
        )
    return None


def _failure(reason: str, confidence: str, missing: Sequence[str] = ()) -> Judgment:
    return Judgment(
        False,
        _short(reason),
        confidence,
        [clip_ends(part, MISSING_CHARS) for part in missing[:MOST_MISSING]],
    )


def _short(text: str) -> str:
    return clip_ends(" ".join(text.split()), REASON_CHARS)


def _leave_open(why: str) -> Judgment:
    return Judgment(None, _short(why), LOW)


# -- the model


def _by_model(
    evidence: Evidence,
    client: Client,
    usage: Usage | None,
    *,
    checked: bool,
    expected: Sequence[str] = (),
) -> Judgment:
    def build(share: float) -> list[Message]:
        data = evidence.show(int(CHARS * share))
        return judge_messages(data, checked=checked, expected=expected)

    try:
        return ask_json(
            client,
            build,
            read_judgment,
            schema=JUDGE_SCHEMA,
            temperature=0.0,
            repair=JUDGE_REPAIR,
            usage=usage,
        )
    except RLMError as exc:
        return _leave_open(f"the judge could not be asked: {exc}")
    except ValueError as exc:
        return _leave_open(f"the judge's reply could not be read, twice: {exc}")


def read_judgment(text: str) -> Judgment:
    """A judgment out of a reply with one JSON object. Raises ValueError with what is wrong. What
    the judge is not sure of is left unjudged, either way: nothing is learnt from a guess."""
    found = parse_json(text)
    if not isinstance(found, dict):
        raise ValueError("it is JSON, but no object")
    is_success, reason = found.get("is_success", ""), found.get("reason")
    confidence, missing = found.get("confidence"), found.get("missing", [])
    if is_success is not None and not isinstance(is_success, bool):
        raise ValueError('"is_success" is none of true, false, null')
    if not isinstance(reason, str) or not reason.strip():
        raise ValueError('"reason" is no text')
    if confidence not in (HIGH, MEDIUM, LOW):
        raise ValueError('"confidence" is none of high, medium, low')
    if not isinstance(missing, list) or not all(isinstance(part, str) for part in missing):
        raise ValueError('"missing" is no list of texts')
    if confidence == LOW:
        is_success = None
    lacking = [_short(part)[:MISSING_CHARS] for part in missing if part.strip()][:MOST_MISSING]
    return Judgment(is_success, _short(reason), confidence, [] if is_success else lacking)
