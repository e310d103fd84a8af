"""The part of the backend that keeps sessions: the distil queue and their branches.

A job is unique by agent and session. A lease is a time and a fence: the fence grows with every
lease, so a worker that comes back after its lease has run out cannot finish what another has taken
over. No job waits for longer than `FARTHEST`: a time further ahead was set by a clock that was
wrong, and is over.

What a job has cost stands in its payload. So one that is dropped on the day on which it cost
something stays as a hidden row whose payload holds nothing else, until one is dropped on a later
day or its session is queued again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace
from datetime import timedelta
from typing import Any

from rlm import clock
from rlm.errors import LimitExceeded, NotFound, StoreError, ValidationError
from rlm.store.identity import canonical_json
from rlm.store.records import ANSWER_CHARS
from rlm.store.sql.database import read_json
from rlm.store.sql.spaces import Part, in_spaces
from rlm.store.types import BRANCH_ENDS, JOB_STATES, OUTCOMES, Branch, Job, MemoryItem
from rlm.store.values import (
    admit_id,
    admit_object,
    admit_text,
    admit_time,
    check_count,
    choice,
    finite,
    natural,
)

FARTHEST = timedelta(hours=12)
_JOB = (
    "job_no, agent, session_id, outcome, payload_json, state, attempts, fence, not_before,"
    " leased_until, last_error, created_at, finished_at"
)
_JOB_FIELDS = _JOB.replace("payload_json", "payload").split(", ")
_NOT_DROPPED = "payload_json -> 'dropped' IS NULL"
_BRANCH = (
    "branch_id, session_id, parent_id, description, depth, budget_tokens, used_tokens, state,"
    " result, created_at, ended_at"
)


def _job(row: tuple[Any, ...]) -> Job:
    payload = read_json("distill_queue", f"job {row[0]}", "payload_json", row[4], dict)
    return Job(**{**dict(zip(_JOB_FIELDS, row, strict=True)), "payload": payload})


def _time_after(seconds: float, name: str) -> str:
    """The time so many seconds from now."""
    try:
        until = clock.now() + timedelta(seconds=finite(seconds, name))
    except OverflowError as exc:
        why = f"{name} is {seconds:g}: use fewer seconds, this ends after the year 9999"
        raise ValidationError(why, field=name) from exc
    return admit_time(until.isoformat(), name)


def _branch(row: tuple[Any, ...]) -> Branch:
    """A branch; an open one whose time is over has expired, whether or not anybody looked."""
    found = Branch(*row)
    over = found.state == "open" and found.ended_at and found.ended_at <= clock.now_iso()
    return replace(found, state="expired") if over else found


class Sessions(Part):
    """Sessions of coding agents that wait to be distilled, and their branches."""

    def queue_session(
        self, agent: str, session_id: str, payload: dict[str, Any], *, outcome: str = "mixed"
    ) -> int:
        """Queue a session; the job's number. One queued before gets the new payload."""
        agent, session_id = admit_id(agent, "agent"), admit_id(session_id, "session_id")
        outcome = choice(outcome, OUTCOMES, "outcome")
        payload = admit_object(payload, "payload", ANSWER_CHARS)
        now = clock.now_iso()
        sql = (
            "INSERT INTO distill_queue(space_id, agent, session_id, outcome, payload_json,"
            " not_before, created_at) VALUES (?,?,?,?,?,?,?)"
            " ON CONFLICT(space_id, agent, session_id) DO UPDATE SET outcome = excluded.outcome,"
            " payload_json = excluded.payload_json, state = 'ready', attempts = 0,"
            " fence = distill_queue.fence + 1, not_before = excluded.not_before,"
            " leased_until = NULL, last_error = NULL, finished_at = NULL RETURNING job_no"
        )
        with self.db.write() as connection:
            space = self.spaces.ensure("project")
            known = self._job_where("agent = ? AND session_id = ?", agent, session_id)
            if known is not None and "spent" in known.payload:
                payload = {**payload, "spent": known.payload["spent"]}
            values = (space, agent, session_id, outcome, canonical_json(payload), now, now)
            return int(next(iter(connection.execute(sql, values)))[0])

    def lease_job(self, lease_s: float = 300.0) -> Job | None:
        """Lease the job that waits longest, or whose lease ran out; None when none is due. One that
        was tried before comes after those that were not: what kills its worker holds up nobody."""
        sql = (
            "UPDATE distill_queue SET state = 'leased', attempts = attempts + 1, fence = fence + 1,"
            " leased_until = ? WHERE job_no = (SELECT job_no FROM distill_queue WHERE space_id ="
            " ? AND ((state = 'ready' AND (not_before <= ? OR not_before > ?)) OR (state ="
            " 'leased' AND (leased_until <= ? OR leased_until > ?)))"
            f" ORDER BY attempts, not_before, job_no LIMIT 1 {self.db.dialect.skip_locked})"
            f" RETURNING {_JOB}"
        )
        now, ends = clock.now_iso(), _time_after(lease_s, "lease_s")
        far = _time_after(FARTHEST.total_seconds(), "FARTHEST")
        with self.db.write(alone=False) as connection:
            values = (ends, self.spaces.find("project"), now, far, now, max(ends, far))
            row = next(iter(connection.execute(sql, values)), None)
        return None if row is None else _job(row)

    def finish_job(
        self,
        job: Job,
        memories: Sequence[MemoryItem] = (),
        *,
        result: dict[str, Any] | None = None,
    ) -> list[str]:
        with self.together():
            self._end_job(job, "done", result=result)
            return self.add_many(memories)

    def _note_in_job(self, job_no: int, key: str, value: dict[str, Any]) -> None:
        """Inside a write."""
        kept = self._job_where("job_no = ?", job_no)
        if kept is not None:
            noted = canonical_json({**kept.payload, key: value})
            sql = "UPDATE distill_queue SET payload_json = ? WHERE job_no = ? AND space_id = ?"
            self.db.connection.execute(sql, (noted, job_no, self.spaces.find("project")))

    def fail_job(
        self,
        job: Job,
        error: str,
        *,
        retry_at: str | None = None,
        result: dict[str, Any] | None = None,
    ) -> None:
        why = admit_text(error, "error", 2_000)
        at = None if retry_at is None else admit_time(retry_at, "retry_at")
        at = at and min(at, _time_after(FARTHEST.total_seconds(), "retry_at"))
        state = "dead" if at is None else "ready"
        self._end_job(job, state, error=why, not_before=at, result=result)

    def _end_job(
        self,
        job: Job,
        state: str,
        *,
        error: str | None = None,
        not_before: str | None = None,
        result: dict[str, Any] | None,
    ) -> None:
        ended = clock.now_iso() if state in ("done", "dead") else None
        sql = (
            "UPDATE distill_queue SET state = ?, last_error = ?, not_before = coalesce(?,"
            " not_before), leased_until = NULL, finished_at = ? WHERE job_no = ? AND space_id = ?"
            " AND fence = ? AND state = 'leased' RETURNING job_no"
        )
        with self.db.write() as connection:
            space = self.spaces.find("project")
            values = (state, error, not_before, ended, job.job_no, space, job.fence)
            if next(iter(connection.execute(sql, values)), None) is None:
                raise StoreError(
                    f"job {job.job_no} is no longer leased to this worker: its lease ran out, or"
                    " the session was queued again; nothing was stored"
                )
            if result is not None:
                self._note_in_job(job.job_no, "result", admit_object(result, "result"))

    def jobs(self, state: str | None = None, limit: int = 100) -> list[Job]:
        which = "" if state is None else f"AND state = '{choice(state, JOB_STATES, 'state')}'"
        sql = (
            f"SELECT {_JOB} FROM distill_queue WHERE space_id {in_spaces(self.spaces.visible())}"
            f" {which} AND {_NOT_DROPPED} ORDER BY job_no LIMIT ?"
        )
        return [_job(row) for row in self.db.rows(sql, (check_count(limit, "limit"),))]

    def find_job(self, agent: str, session_id: str) -> Job | None:
        which = f"agent = ? AND session_id = ? AND {_NOT_DROPPED}"
        return self._job_where(which, agent, session_id)

    def _job_where(self, where: str, *values: Any) -> Job | None:
        sql = f"SELECT {_JOB} FROM distill_queue WHERE space_id = ? AND {where}"
        row = self.db.row(sql, (self.spaces.find("project"), *values))
        return None if row is None else _job(row)

    def retry_job(self, job_no: int) -> Job:
        natural(job_no, "job_no")
        sql = (
            "UPDATE distill_queue SET state = 'ready', attempts = 0, fence = fence + 1,"
            " not_before = ?, leased_until = NULL, finished_at = NULL"
            f" WHERE job_no = ? AND space_id = ? AND {_NOT_DROPPED} RETURNING {_JOB}"
        )
        with self.db.write() as connection:
            values = (clock.now_iso(), job_no, self.spaces.find("project"))
            row = next(iter(connection.execute(sql, values)), None)
        if row is None:
            raise NotFound(f"no job {job_no} here: `rlm queue list` shows what there is")
        return _job(row)

    def drop_job(self, job_no: int) -> bool:
        natural(job_no, "job_no")
        drop = (
            "UPDATE distill_queue SET state = 'done', fence = fence + 1, leased_until = NULL,"
            " last_error = NULL, payload_json = ? WHERE job_no = ? AND space_id = ?"
        )
        forget = (
            f"DELETE FROM distill_queue WHERE space_id = ? AND NOT ({_NOT_DROPPED})"
            " AND coalesce(payload_json -> 'spent' ->> 'day', '') <> ?"
        )
        with self.db.write() as connection:
            space = self.spaces.find("project")
            job = self._job_where(f"job_no = ? AND {_NOT_DROPPED}", job_no)
            if job is None:
                return False
            payload = {"dropped": True, "spent": job.payload.get("spent")}
            connection.execute(drop, (canonical_json(payload), job_no, space))
            connection.execute(forget, (space, clock.now_iso()[:10]))
        return True

    def spend_job(self, job: Job, *, calls: int = 0, tokens: int = 0, cost_usd: float = 0) -> None:
        today, more = clock.now_iso()[:10], {"calls": calls, "tokens": tokens}
        for name, value in more.items():
            natural(value, name)
        more["cost_usd"] = finite(cost_usd, "cost_usd")  # type: ignore[assignment]
        with self.db.write():
            kept = self._job_where("job_no = ?", job.job_no)
            if kept is None:
                return
            before = kept.payload.get("spent") or {}
            before = before if before.get("day") == today else {}
            spent = {name: before.get(name, 0) + value for name, value in more.items()}
            self._note_in_job(job.job_no, "spent", {"day": today, **spent})

    def spent_today(self) -> dict[str, float]:
        names = ("calls", "tokens", "cost_usd")
        spent = "CAST(payload_json -> 'spent' ->> '{}' AS DOUBLE PRECISION)"
        sums = ", ".join(f"coalesce(sum({spent.format(name)}), 0)" for name in names)
        sql = (
            f"SELECT {sums} FROM distill_queue JOIN spaces AS s USING (space_id)"
            " WHERE s.org = ? AND payload_json -> 'spent' ->> 'day' = ?"
        )
        with self.db.read(), self.db.across_projects():
            row = self.db.row(sql, (self.tenant.org, clock.now_iso()[:10]))
        calls, tokens, cost = row or (0, 0, 0.0)
        return {"calls": int(calls), "tokens": int(tokens), "cost_usd": float(cost)}

    def open_branch(
        self,
        session_id: str,
        description: str,
        budget_tokens: int,
        parent_id: str | None = None,
        *,
        timeout_s: float | None = None,
    ) -> Branch:
        natural(budget_tokens, "budget_tokens")
        if budget_tokens == 0:
            raise ValidationError("budget_tokens is 0: give at least 1", field="budget_tokens")
        session, text = (
            admit_id(session_id, "session_id"),
            admit_text(description, "description", 2_000),
        )
        ends = None if timeout_s is None else _time_after(timeout_s, "timeout_s")
        with self.db.write() as connection:
            parent = None if parent_id is None else self._open(parent_id)
            if parent is not None and parent.session_id != session:
                raise NotFound(f"no open branch {parent_id!r} in session {session!r}")
            depth = 0 if parent is None else parent.depth + 1
            made = Branch(clock.new_uuid(), session, parent_id, text, depth, budget_tokens, 0,
                          "open", None, clock.now_iso(), ends)  # fmt: skip
            marks = ",".join("?" * len(astuple(made)))
            sql = f"INSERT INTO branches({_BRANCH}, space_id) VALUES ({marks},?)"
            connection.execute(sql, (*astuple(made), self.spaces.ensure("project")))
        return made

    def get_branch(self, branch_id: str) -> Branch | None:
        where = f"branch_id = ? AND space_id {in_spaces(self.spaces.visible())}"
        row = self.db.row(f"SELECT {_BRANCH} FROM branches WHERE {where}", (branch_id,))
        return None if row is None else _branch(row)

    def spend_branch(self, branch_id: str, tokens: int) -> Branch:
        natural(tokens, "tokens")
        with self.db.write():
            branch = self._open(branch_id)
            left = branch.budget_tokens - branch.used_tokens
            if tokens > left:
                raise LimitExceeded(
                    f"branch {branch_id} has {left:,} of {branch.budget_tokens:,} tokens left, and"
                    f" {tokens:,} were asked for"
                )
            return self._rewrite_branch(replace(branch, used_tokens=branch.used_tokens + tokens))

    def end_branch(self, branch_id: str, state: str, result: str | None = None) -> Branch:
        choice(state, BRANCH_ENDS, "state")
        text = None if result is None else admit_text(result, "result")
        with self.db.write():
            branch = self._open(branch_id)
            ended = replace(branch, state=state, result=text, ended_at=clock.now_iso())
            return self._rewrite_branch(ended)

    def _open(self, branch_id: str) -> Branch:
        branch = self.get_branch(branch_id)
        if branch is None or branch.state != "open":
            state = "there is none" if branch is None else f"it is {branch.state}"
            raise NotFound(f"no open branch {branch_id!r} here: {state}")
        return branch

    def _rewrite_branch(self, branch: Branch) -> Branch:
        values = (branch.used_tokens, branch.state, branch.result, branch.ended_at)
        self.db.connection.execute(
            "UPDATE branches SET used_tokens = ?, state = ?, result = ?, ended_at = ?"
            f" WHERE branch_id = ? AND space_id {in_spaces(self.spaces.visible())}",
            (*values, branch.branch_id),
        )
        return branch

    def branches(self, session_id: str) -> list[Branch]:
        sql = (
            f"SELECT {_BRANCH} FROM branches WHERE session_id = ? AND space_id"
            f" {in_spaces(self.spaces.visible())} ORDER BY created_at, branch_id"
        )
        return [_branch(row) for row in self.db.rows(sql, (session_id,))]
