"""The distil queue and the branches of sessions, as rows. Every function runs inside the caller's
transaction.

A job is unique by agent and session. A lease is a time and a fence: the fence grows with every lease,
so a worker that comes back after its lease has run out cannot finish what another has taken over.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import apsw

from rlm import clock
from rlm.errors import NotFound, StoreError
from rlm.store.identity import canonical_json
from rlm.store.sqlite.connection import damaged_row
from rlm.store.sqlite.spaces import in_spaces
from rlm.store.types import Branch, Job

_JOB = (
    "job_no, agent, session_id, outcome, payload_json, state, attempts, fence, not_before,"
    " leased_until, last_error, created_at, finished_at"
)
_JOB_FIELDS = _JOB.replace("payload_json", "payload").split(", ")
_BRANCH = (
    "branch_id, session_id, parent_id, description, depth, budget_tokens, used_tokens, state,"
    " result, created_at, ended_at"
)


def _job(row: tuple[Any, ...]) -> Job:
    try:
        payload = json.loads(row[4])
    except (ValueError, TypeError, RecursionError) as exc:
        raise damaged_row("distill_queue", f"job {row[0]}", "payload_json", str(exc)) from exc
    fields = dict(zip(_JOB_FIELDS, row, strict=True))
    return Job(**{**fields, "payload": payload})


def add_job(
    connection: apsw.Connection,
    space: int,
    agent: str,
    session_id: str,
    outcome: str,
    payload: dict[str, Any],
) -> int:
    """Queue a session; one that was queued before gets the new payload and waits again."""
    now = clock.now_iso()
    sql = (
        "INSERT INTO distill_queue(space_id, agent, session_id, outcome, payload_json, not_before,"
        " created_at) VALUES (?,?,?,?,?,?,?) ON CONFLICT(space_id, agent, session_id) DO UPDATE SET"
        " outcome = excluded.outcome, payload_json = excluded.payload_json, state = 'ready',"
        " attempts = 0, fence = fence + 1, not_before = excluded.not_before, leased_until = NULL,"
        " last_error = NULL, finished_at = NULL RETURNING job_no"
    )
    values = (space, agent, session_id, outcome, canonical_json(payload), now, now)
    return int(next(iter(connection.execute(sql, values)))[0])


def lease(connection: apsw.Connection, space: int | None, lease_s: float) -> Job | None:
    """The job that waits longest, leased to the caller; also one whose lease has run out."""
    now = clock.now()
    until = (now + timedelta(seconds=lease_s)).isoformat()
    sql = (
        "UPDATE distill_queue SET state = 'leased', attempts = attempts + 1, fence = fence + 1,"
        " leased_until = ? WHERE job_no = (SELECT job_no FROM distill_queue WHERE space_id = ? AND"
        " ((state = 'ready' AND not_before <= ?) OR (state = 'leased' AND leased_until <= ?))"
        f" ORDER BY not_before, job_no LIMIT 1) RETURNING {_JOB}"
    )
    stamp = now.isoformat()
    row = next(iter(connection.execute(sql, (until, space, stamp, stamp))), None)
    return None if row is None else _job(row)


def end_job(
    connection: apsw.Connection,
    space: int | None,
    job: Job,
    state: str,
    *,
    error: str | None = None,
    not_before: str | None = None,
) -> None:
    """Note how a leased job ended. StoreError for whoever no longer holds the lease."""
    ended = clock.now_iso() if state in ("done", "dead") else None
    sql = (
        "UPDATE distill_queue SET state = ?, last_error = ?, not_before = coalesce(?, not_before),"
        " leased_until = NULL, finished_at = ? WHERE job_no = ? AND space_id = ? AND fence = ?"
        " AND state = 'leased' RETURNING job_no"
    )
    values = (state, error, not_before, ended, job.job_no, space, job.fence)
    if next(iter(connection.execute(sql, values)), None) is None:
        raise StoreError(
            f"job {job.job_no} is no longer leased to this worker: its lease ran out, or the"
            " session was queued again; nothing was stored"
        )


def jobs(
    connection: apsw.Connection, spaces: tuple[int, ...], state: str | None, limit: int
) -> list[Job]:
    """Jobs by state, the oldest first."""
    which = "" if state is None else "AND state = ?"
    sql = (
        f"SELECT {_JOB} FROM distill_queue WHERE space_id {in_spaces(spaces)} {which}"
        " ORDER BY job_no LIMIT ?"
    )
    return [_job(row) for row in connection.execute(sql, (*filter(None, (state,)), limit))]


def add_branch(
    connection: apsw.Connection,
    space: int,
    session_id: str,
    description: str,
    budget_tokens: int,
    parent_id: str | None,
) -> Branch:
    """Open a branch below its parent, or at the root of the session."""
    parent = None if parent_id is None else get_branch(connection, (space,), parent_id)
    if parent_id is not None and (parent is None or parent.session_id != session_id):
        raise NotFound(f"no branch {parent_id!r} in session {session_id!r}")
    made = Branch(
        branch_id=clock.new_uuid(),
        session_id=session_id,
        parent_id=parent_id,
        description=description,
        depth=0 if parent is None else parent.depth + 1,
        budget_tokens=budget_tokens,
        used_tokens=0,
        state="open",
        result=None,
        created_at=clock.now_iso(),
        ended_at=None,
    )
    marks = ",".join("?" * len(Branch.__slots__))
    values = [getattr(made, name) for name in _BRANCH.split(", ")]
    sql = f"INSERT INTO branches({_BRANCH}, space_id) VALUES ({marks},?)"
    connection.execute(sql, (*values, space))
    return made


def get_branch(
    connection: apsw.Connection, spaces: tuple[int, ...], branch_id: str
) -> Branch | None:
    """One branch; None when this tenant has no such id."""
    sql = f"SELECT {_BRANCH} FROM branches WHERE branch_id = ? AND space_id {in_spaces(spaces)}"
    row = next(iter(connection.execute(sql, (branch_id,))), None)
    return None if row is None else Branch(*row)


def update_branch(connection: apsw.Connection, branch: Branch) -> None:
    """Write what can change of a branch: tokens, state, result, end."""
    connection.execute(
        "UPDATE branches SET used_tokens = ?, state = ?, result = ?, ended_at = ?"
        " WHERE branch_id = ?",
        (branch.used_tokens, branch.state, branch.result, branch.ended_at, branch.branch_id),
    )


def branches(connection: apsw.Connection, spaces: tuple[int, ...], session_id: str) -> list[Branch]:
    """The branches of a session, the oldest first."""
    sql = (
        f"SELECT {_BRANCH} FROM branches WHERE session_id = ? AND space_id {in_spaces(spaces)}"
        " ORDER BY created_at, branch_id"
    )
    return [Branch(*row) for row in connection.execute(sql, (session_id,))]
