"""Sessions become memories: one transaction a session, which also ends its job.

So a worker that is killed at any point leaves a session undone or done, never half. A session that
was queued again because it went on is read again from its beginning, and only what is new is added:
a turn is known by its number, a memory by its words.

Nothing needs a model; with one its findings are added, within the caps of a day. Where the model
cannot be asked, a session is distilled without it and stays in the queue, with the first turn that
the model has not read (`UNREAD`): it is asked later, about no turn twice. In the end, when no reply
could be used or the transcript is gone, the job is done, and says that no model has read it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from rlm import clock
from rlm.errors import (
    LimitExceeded,
    ModelAuthError,
    ModelError,
    ModelRateLimited,
    ModelUnavailable,
    NotFound,
    RLMError,
    StoreError,
    ValidationError,
)
from rlm.llm import Client
from rlm.service import amendment
from rlm.service.caps import CappedClient, Caps
from rlm.service.decisions import Decision, decision_item, find_decisions, unique
from rlm.service.echoes import Echoes
from rlm.service.extract_session import SessionFindings, extract_session, judge_amendments
from rlm.service.fixes import check_item, find_checks, find_fixes, fix_item
from rlm.service.ignore import IgnoreRules
from rlm.service.session_graph import known_turns, save_turns
from rlm.service.transcripts import CodingSession, SessionTurn, identify, read_transcript
from rlm.store import gate
from rlm.store.backend import MemoryBackend
from rlm.store.types import Job, MemoryItem

log = logging.getLogger("rlm.service")

LEASE_S = 900.0
"""Longer than the four calls of a model that one session may take, each with its time limit."""
ATTEMPTS, CRASHES = 5, 100
BACKOFF_S, LONGEST_BACKOFF_S = 60.0, 6 * 3600.0
QUERY_CHARS = 1_000
RECALLED = 5
"""Stored memories that a new one is compared with."""
RELATED = 3
"""Decisions that a model compares with a new rule; one with any other."""
UNREAD = "unread_from"
"""In the result of a job: the first turn that a model was to read and did not."""
WITHOUT_MODEL = "without_model"
"""In the result of a job that was distilled without a model which was to be asked: why."""
GAVE_WAY = "a model has read its session"
MOST_FORMER = 100_000
TAKEN_ON = ("approved_by", "edited_from")  # in provenance: somebody has made it their own
UNREACHABLE = (ModelAuthError, ModelRateLimited, ModelUnavailable)
"""Where asking about the next session is of no use either."""
MODEL = "model"
"""In the result of a job: the model that has read its session."""
MOST_COMMITS, COMMITS = 20, ("commits", "repo")
"""Those of a session that a memory names, and the keys of its provenance."""


@dataclass(slots=True)
class Report:
    """What a worker did."""

    distilled: int = 0
    ignored: int = 0
    failed: int = 0
    dead: int = 0
    turns: int = 0
    decisions: int = 0
    procedures: int = 0
    superseded: int = 0
    changed: int = 0
    """Older decisions of which a newer one changes a part."""
    proposed: int = 0
    capped: int = 0
    """Sessions that were distilled without a model because a cap was reached."""
    waiting: int = 0
    """Sessions that were distilled without a model that could not be asked, and wait for it."""
    errors: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Every field as JSON types."""
        return asdict(self)

    def add(self, other: Report) -> None:
        """Count another worker's too."""
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass(slots=True)
class _Findings:
    """What one session taught."""

    decisions: list[MemoryItem] = field(default_factory=list)
    procedures: list[MemoryItem] = field(default_factory=list)
    amendments: list[amendment.Amendment] = field(default_factory=list)
    former: dict[str, MemoryItem] = field(default_factory=dict)
    """What was found without a model in turns that one has read now: it gives way."""
    committed: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The commits that came since, of what is stored already."""
    unread: str = ""
    """Why the model was not asked, where it was to be."""
    read: bool = False
    """Whether the model has read it."""


class Distiller:
    """Distils the sessions that are queued in one project's store (seed 003)."""

    def __init__(
        self,
        store: MemoryBackend,
        client: Client | None = None,
        caps: Caps | None = None,
        *,
        lease_s: float = LEASE_S,
    ) -> None:
        self.store, self.client, self.caps = store, client, caps or Caps()
        self._lease_s = lease_s
        self._unreachable = ""

    def queue_session(
        self,
        session_id: str | None = None,
        outcome: str = "mixed",
        *,
        agent: str | None = None,
        path: str | Path,
        cwd: str = "",
    ) -> int:
        """Queue a transcript; the job's number. The same transcript twice is one job, and is not
        distilled again unless it has grown."""
        file = Path(path).expanduser().absolute()
        host, found = identify(file, agent)
        size = file.stat().st_size
        known = self.store.find_job(host, session_id or found)
        if known is not None and known.state != "dead" and known.payload.get("size") == size:
            return known.job_no
        payload = {"path": str(file), "size": size, "cwd": cwd}
        if known is not None and (unread := unread_from(known)) is not None:
            payload["result"] = {UNREAD: unread}
        return self.store.queue_session(host, session_id or found, payload, outcome=outcome)

    def process(self, *, stop: threading.Event | None = None) -> Report:
        """Distil every session that is due, or until `stop` is set. A model that cannot be reached
        is not asked again before the next call."""
        report, self._unreachable = Report(), ""
        while stop is None or not stop.is_set():
            job = self.store.lease_job(self._lease_s)
            if job is None:
                break
            self._work(job, report)
        return report

    # -- one job -----------------------------------------------------------------------------------

    def _work(self, job: Job, report: Report) -> None:
        """Distil one session. Whatever is wrong with it is noted in its job, and raises nothing."""
        try:
            if job.attempts > CRASHES:
                why = job.last_error or "its workers died"
                raise ValidationError(f"given up after {CRASHES} tries: {why}")
            counts = self._distil(job, read_job(job), report)
        except (NotFound, ValidationError) as exc:
            if is_distilled(job):  # its transcript is gone, and only the model has not read it
                self._end_without_model(job, str(exc), dict(job.payload["result"]), report)
            else:
                hint = f"drop it with `rlm queue drop {job.job_no}`"
                self._fail(job, f"{exc}; {hint}", report, final=True)
        except (RLMError, OSError, ValueError, RecursionError, MemoryError) as exc:
            if self._is_lost(job):  # queued again, or taken over: it is another's now
                log.info("job %s: %s", job.job_no, exc)
            else:
                self._fail(job, f"{type(exc).__name__}: {exc}", report)
        else:
            for name, value in counts.items():
                setattr(report, name, getattr(report, name) + value)

    def _is_lost(self, job: Job) -> bool:
        now = self.store.find_job(job.agent, job.session_id)
        return now is None or now.fence != job.fence

    def _fail(self, job: Job, error: str, report: Report, *, final: bool = False) -> None:
        final = final or (job.attempts >= ATTEMPTS and job.last_error is not None)
        at = None if final else _retry_at(job)
        report.errors.append(f"{job.agent}:{job.session_id}: {error}")
        if final:
            report.dead += 1
        else:
            report.failed += 1
        try:
            self.store.fail_job(job, error[:2_000], retry_at=at)
        except StoreError as exc:  # somebody else has it by now
            log.info("job %s: %s", job.job_no, exc)

    def _distil(self, job: Job, session: CodingSession, report: Report) -> dict[str, int]:
        rules = IgnoreRules(session.cwd or str(job.payload.get("cwd") or ""))
        if rules.ignores_session():
            self.store.finish_job(job, result={"ignored": True})
            return {"ignored": 1}
        _drop_ignored(session, rules)
        first, unread = known_turns(self.store, session) + 1, unread_from(job)
        if unread is not None:
            first = min(first, unread)
        elif MODEL not in job.payload.get("result", {MODEL: ""}):
            first = 1  # tried again, and no model read it
        found = self._find(session, [t for t in session.turns if t.number >= first], job, report)
        counts = {"turns": len(session.turns), "decisions": len(found.decisions)}
        counts["procedures"] = len(found.procedures)
        result = {
            **counts,
            "unknown": dict(session.unknown.most_common(20)),
            "truncated": session.truncated,
        }
        if found.read and self.client is not None:
            result[MODEL] = self.client.model
        if self.client is None and unread is not None:
            found.unread = job.last_error or "it waits for a model, and this worker has none"
        if found.unread:
            result[UNREAD] = first
        with self.store.together():
            turns = save_turns(self.store, session)
            self._add_nodes(found.decisions, turns)
            waiting = self._end(job, found, result, report)
            self._change_earlier(found)
        changed = sum(each.partly for each in found.amendments)
        sure = sum(each.certain for each in found.amendments) - changed
        ends = {"superseded": sure, "changed": changed}
        ends["proposed"] = len(found.amendments) - sure - changed
        return {"distilled": 1, **waiting, **counts, **ends}

    def _change_earlier(self, found: _Findings) -> None:
        for memory_id, commits in found.committed.items():
            if (now := self.store.get(memory_id)) is not None:  # gone, while a model was asked
                self.store.update(memory_id, provenance={**now.provenance, **commits})
        for memory_id in found.former:
            amendment.retract(self.store, memory_id, GAVE_WAY)
        for amended in found.amendments:
            amended.store_in(self.store)

    def _end(
        self, job: Job, found: _Findings, result: dict[str, Any], report: Report
    ) -> dict[str, int]:
        """Store what a session taught, and end its job or have it wait for the model."""
        items = [*found.decisions, *found.procedures]
        if not found.unread:
            self.store.finish_job(job, items, result=result)
            return {}
        if job.attempts >= ATTEMPTS and self.client is not None and not self._unreachable:
            self._end_without_model(job, found.unread, result, report)
            waiting = {}
        else:
            why = found.unread[:2_000]
            self.store.fail_job(job, why, retry_at=_retry_at(job), result=result)
            waiting = {"waiting": 1}
        self.store.add_many(items)
        return waiting

    def _end_without_model(
        self, job: Job, why: str, result: dict[str, Any], report: Report
    ) -> None:
        """End a job whose model never read it, and say so; `rlm queue retry` asks it again."""
        self.store.finish_job(job, result={**result, WITHOUT_MODEL: why[:2_000]})
        report.errors.append(f"{job.agent}:{job.session_id}: distilled without a model: {why}")

    def _add_nodes(self, decisions: Sequence[MemoryItem], turns: dict[int, str]) -> None:
        """A node for each decision, linked to the turn in which it was taken."""
        graph = self.store.graph
        nodes = amendment.add_decision_nodes(self.store, decisions)
        for item, node in zip(decisions, nodes, strict=True):
            turn = turns.get(item.provenance["turn"])
            settled = [turns.get(n) for n in item.provenance.get("turns", [])] or [turn]
            item.provenance = {
                **item.provenance,
                "node": node,
                **({"turn_node": turn} if turn else {}),
            }
            if turn:
                members = [{"node_id": node, "role": "subject"}]
                members += [{"node_id": each, "role": "object"} for each in settled if each]
                graph.create_edge("relation", "decided in", members)

    # -- what it taught ----------------------------------------------------------------------------

    def _find(
        self, session: CodingSession, fresh: Sequence[SessionTurn], job: Job, report: Report
    ) -> _Findings:
        """Everything that is new in a session; nothing is written."""
        found, client = _Findings(), None
        said, learnt = find_decisions(session), SessionFindings()
        if self.client is not None and fresh:
            client = CappedClient(self.client, self.store, job, self.caps)
            try:
                learnt = self._ask(session, fresh, client, report)
                said, found.read = _join(said, learnt), True
            except LimitExceeded as exc:
                report.capped += 1
                report.errors.append(str(exc))
                client = None
            except ModelError as exc:
                found.unread, client = f"{type(exc).__name__}: {exc}", None
        found.former = self._find_former(session, learnt.read)
        for item in (*learnt.rules, *(decision_item(each, session) for each in said)):
            self._take_decision(self._admit(item, session), found, session)
        procedures = [fix_item(fix, session) for fix in find_fixes(session)]
        procedures += [check_item(check, session) for check in find_checks(session)]
        for item in unique(self._admit(each, session) for each in (*procedures, *learnt.lessons)):
            if not self._is_known(item, found):
                found.procedures.append(item)
        if client is not None:
            found.amendments = self._judge(found, client)
        return found

    def _ask(
        self,
        session: CodingSession,
        fresh: Sequence[SessionTurn],
        client: CappedClient,
        report: Report,
    ) -> SessionFindings:
        """What a model finds. ModelError where it cannot be asked, which is said once."""
        if self._unreachable:
            raise ModelUnavailable(self._unreachable)
        try:
            return extract_session(session, fresh, client)
        except UNREACHABLE as exc:
            self._unreachable = str(exc)
            report.errors.append(
                f"the model cannot be asked ({exc}): sessions are distilled without it, and it is"
                " asked later; `rlm queue list` shows which wait"
            )
            raise

    def _admit(self, item: MemoryItem, session: CodingSession) -> MemoryItem:
        """A memory as it is stored, with the commits that followed what it says."""
        commits = session.commits_since(int(item.provenance.get("turn") or 0))[-MOST_COMMITS:]
        if commits and session.cwd:
            item.provenance = {**item.provenance, "commits": commits, "repo": session.cwd}
        return gate.admit_item(item, self.store.tenant, origin="distiller")

    def _take_decision(self, item: MemoryItem, found: _Findings, session: CodingSession) -> None:
        if any(item.memory_id == each.memory_id for each in found.decisions):
            return
        said = next((t.text for t in session.turns if t.number == item.provenance["turn"]), "")
        item = self._again(item)
        if self._is_known(item, found, said):
            return
        if item.trust != "quarantined":  # what waits for a person changes nothing
            said_here = [each for each in found.decisions if each.trust != "quarantined"]
            others = [*self._find_related(item, found), *said_here]
            if any(amendment.is_same(item, each) for each in others):
                return
            found.amendments += amendment.find_amended(self.store, item, others)
        found.decisions.append(item)

    def _find_former(self, session: CodingSession, read: frozenset[int]) -> dict[str, MemoryItem]:
        """The decisions that were found without a model in these turns of a session, also those
        that one of them has superseded. What somebody approved or changed since is none."""
        if not read:
            return {}

        def is_former(item: MemoryItem) -> bool:
            return (
                item.session_id == session.session_id
                and item.provenance.get("turn") in read
                and item.provenance.get("probability", 1.0) < 1.0
                and item.provenance.keys().isdisjoint(TAKEN_ON)
            )

        listed = self.store.list_items(provenance={"kind": "decision"}, limit=MOST_FORMER)
        found = [*filter(is_former, listed)]
        for item in found:
            found += filter(is_former, amendment.archived_by(self.store, item))
        return {item.memory_id: item for item in found}

    def _find_related(
        self, item: MemoryItem, found: _Findings, most: int | None = None
    ) -> list[MemoryItem]:
        """What a decision may amend: what comes back from the archive, and the nearest ones."""
        related = amendment.find_related(self.store, item)
        near = [each for each in related if each.memory_id not in found.former]
        back = (
            older
            for former in found.former.values()
            for older in amendment.archived_by(self.store, former)
            if older.memory_id not in found.former
        )
        return [*back, *near[:most]]

    def _again(self, item: MemoryItem) -> MemoryItem:
        """A decision that goes back to one which had been replaced is a new one, though it has its
        words: the chain keeps all three."""
        stored = self.store.get(item.memory_id)
        if stored is None or not stored.archived_at or stored.session_id == item.session_id:
            return item
        newer, _ = amendment.find_newer(self.store, stored)
        if newer is None or not amendment.is_later(item, newer):
            return item
        content = f"{item.content}\nSaid again on {item.created_at[:16].replace('T', ' ')}."
        again = replace(item, content=content)
        return gate.admit_item(again, self.store.tenant, origin="distiller")

    def _is_known(self, item: MemoryItem, found: _Findings, said: str = "") -> bool:
        """Whether a memory is there already, archived or not, or it, or all that was `said` with
        it, only repeats one that is."""
        stored = self.store.get(item.memory_id)
        if stored is not None:
            found.former.pop(item.memory_id, None)
            commits = {key: item.provenance[key] for key in COMMITS if key in item.provenance}
            is_new = not commits.items() <= stored.provenance.items()
            if stored.session_id == item.session_id and is_new:
                found.committed[item.memory_id] = commits
            return True
        words = amendment.decision_text(item)
        query = f"{words}\n{said}"[:QUERY_CHARS]
        hits = self.store.retrieve(query, RECALLED, count_access=False)
        known = Echoes(
            f"{hit.item.title}\n{hit.item.description}\n{hit.item.content}"
            for hit in hits
            if hit.item.memory_id not in found.former
        )
        return known.holds(words) or known.holds(said)

    def _judge(self, found: _Findings, client: CappedClient) -> list[amendment.Amendment]:
        """What a model says of the pairs that may be amendments, and of the decisions nearest to
        each new one; without its word, the pairs as they are."""
        pairs = {frozenset((each.newer.memory_id, each.older.memory_id)): (each.newer, each.older)
                 for each in found.amendments}  # fmt: skip
        for newer in (each for each in found.decisions if each.trust != "quarantined"):
            most = RELATED if "turns" in newer.provenance else 1
            for older in self._find_related(newer, found, most):
                pairs.setdefault(frozenset((newer.memory_id, older.memory_id)), (newer, older))
        # of one session the model has seen the whole, and has said what holds in the end
        asked = [each for each in pairs.values() if each[0].session_id != each[1].session_id]
        try:
            return judge_amendments(asked, client) if asked else []
        except RLMError as exc:
            log.warning("amendments were not judged: %s", exc)
            return found.amendments


def _retry_at(job: Job) -> str:
    """When a job is tried again: the later, the more often it was."""
    wait = min(LONGEST_BACKOFF_S, BACKOFF_S * 2 ** min(job.attempts, 20))
    return (clock.now() + timedelta(seconds=wait)).isoformat()


def unread_from(job: Job) -> int | None:
    """The first turn of a job's session that a model was to read and did not."""
    number = (job.payload.get("result") or {}).get(UNREAD)
    return number if isinstance(number, int) else None


def is_distilled(job: Job) -> bool:
    """Whether all that needs no model is stored, and the job only waits for one."""
    return unread_from(job) is not None and "turns" in job.payload["result"]


def _join(said: Sequence[Decision], learnt: SessionFindings) -> list[Decision]:
    """Decisions of both sources in the order of turns. Of a turn that a model has read, its word
    counts: what only sounds like a decision it has left out."""
    unread = [each for each in said if each.turn not in learnt.read]
    return sorted([*unread, *learnt.decisions], key=lambda each: each.turn)


def read_job(job: Job) -> CodingSession:
    """The session of a job: its transcript, or what a branch returned."""
    payload = job.payload
    if "path" in payload:
        session = read_transcript(str(payload["path"]), job.agent)
        session.session_id = job.session_id
        return session
    texts = [str(payload[name]) for name in ("description", "message") if payload.get(name)]
    if not texts:
        raise ValidationError("it names no transcript", field="payload")
    turn = SessionTurn(1, "assistant", "\n\n".join(texts), job.created_at)
    return CodingSession(job.agent, job.session_id, turns=[turn], ended_at=job.created_at)


def _drop_ignored(session: CodingSession, rules: IgnoreRules) -> None:
    for turn in session.turns:
        turn.files = [file for file in turn.files if not rules.ignores(file)]
        turn.commands = [each for each in turn.commands if not rules.mentions(each.text)]
