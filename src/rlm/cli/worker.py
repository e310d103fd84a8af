"""`rlm worker` and `rlm queue`: sessions of coding agents on their way into memory.

The worker takes in what hooks left in the spool, then distils what is queued: of this project, and
of every other project of the team that has something waiting. It also feeds the index beside the
store, where there is one, gives rows without a vector of the present model one, and refreshes the
mirror that hooks read where a server keeps the store. No daemon: it ends when there is nothing
left, or with its terminal.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rlm import clock, kernel
from rlm.cli.background import end_with_parent
from rlm.cli.command import command, count, new_group, words
from rlm.cli.failure import INTERRUPTED
from rlm.cli.output import number_of
from rlm.cli.session import Session
from rlm.cli.store import embed_stale
from rlm.errors import (
    ConfigError,
    IndexUnavailable,
    ModelAuthError,
    ModelError,
    NotFound,
    ValidationError,
)
from rlm.store.types import JOB_STATES, Job

if TYPE_CHECKING:
    from rlm.llm import Client
    from rlm.service.distiller import Report
    from rlm.store.backend import MemoryBackend

HOSTS = ("claude", "codex", "cursor")
WATCH_S = 5.0
MOST_JOBS = 100_000
LOCAL_EMBEDDERS = ("static", "minilm")
FOUND = ("turn", "decision", "procedure")
app = new_group("Sessions that wait to be distilled.")


@click.option("--once", is_flag=True, help="Distil what is there, then end (the default).")
@click.option("--watch", is_flag=True, help="Go on until the terminal closes or Ctrl-C.")
@click.option("--model", metavar="NAME", help="As for `rlm run`; offline: without a model.")
@click.option("--beside", type=int, hidden=True, help="End with this process, our parent.")
def worker(session: Session, once: bool, watch: bool, model: str | None, beside: int | None) -> int:
    """Distil the sessions that hooks left in the spool or that are queued.

    Works without a model. With one, RLM_DISTILL_CALLS, _TOKENS and _COST_USD are its limits of a
    day; while it cannot be reached, sessions are distilled without it and wait for it. Where a
    server keeps the store, it also refreshes the mirror that hooks read. The exit code is 1 when a
    session could not be distilled.
    """
    from rlm.service.distiller import Report
    from rlm.service.spool import count_elsewhere

    if once and watch:
        raise ValidationError("--once and --watch exclude each other: give one")
    if beside is not None:
        end_with_parent(beside)
    if watch:
        kernel.share_arenas()
    client, report, interrupted = _open_model(session, model), Report(), 0
    later: list[str] = []
    try:
        with _stop_event() as stop:
            refresh = True
            while True:
                made, later = _round(session, client, stop, refresh=refresh)
                report.add(made)
                refresh = False
                _embed_stale(session, stop)
                if not watch or stop.wait(WATCH_S):
                    break
    except KeyboardInterrupt:
        if not watch:
            raise
        interrupted = INTERRUPTED  # the usual end, no error
    finally:
        if client is not None:
            client.close()
    elsewhere = count_elsewhere(Path(session.settings.spool).expanduser(), session.settings)
    document = {"tried_later": len(later), "next_try": min(later, default=None)}
    document["other_stores"] = elsewhere
    text = "; ".join([_summary(report), *_until(later)])
    session.show({**report.to_dict(), **document}, text)
    for line in _notices(report, elsewhere):
        session.notify(line)
    return interrupted or int(bool(report.failed or report.dead))


def _notices(report: Report, elsewhere: int) -> Iterator[str]:
    """What a person may want to do something about."""
    if report.proposed:
        yield f"{report.proposed} proposed: `rlm memory review` shows it and waits for your word"
    if elsewhere:
        wait = number_of(elsewhere, "session waits", "sessions wait")
        yield f"{wait} for another store, for which their hooks were set up"
    yield from report.errors


def _open_model(session: Session, model: str | None) -> Client | None:
    """The model to ask; None where there is none, or none is wanted."""
    from rlm.llm import open_client
    from rlm.llm.types import OFFLINE

    try:
        client = open_client(model, settings=session.settings)
    except ModelAuthError as exc:
        if model:
            raise
        session.notify(f"without a model: {exc}")
        return None
    except ConfigError as exc:
        if model or session.settings.model:
            raise
        session.notify(f"without a model: {exc}")
        return None
    if client.model == OFFLINE:
        client.close()
        return None
    return client


@contextmanager
def _stop_event() -> Iterator[threading.Event]:
    """Set by SIGTERM, so that a session in hand is finished first."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = signal.signal(signal.SIGTERM, lambda *_: stop.set())
    try:
        yield stop
    finally:
        signal.signal(signal.SIGTERM, before)


def _round(
    session: Session, client: Client | None, stop: threading.Event, *, refresh: bool
) -> tuple[Report, list[str]]:
    """The spool, then the queues: of this project, and of others that have something waiting. Also
    when the sessions are due that are tried later.

    `refresh`: also the mirrors, of projects that people on this machine work in. Else only those
    that are due, or where something was learnt."""
    from rlm.service.caps import Caps
    from rlm.service.distiller import Distiller, Report
    from rlm.service.spool import read_spool, take_in

    settings, report, later = session.settings, Report(), list[str]()
    spool = Path(settings.spool).expanduser()
    mine = session.tenant
    files = () if session.project else read_spool(spool, settings)
    tenants = [file.tenant for file in files if file.ours]
    found = [each.project for each in tenants if (each.org, each.team) == (mine.org, mine.team)]
    if not found and session.path is not None and not session.path.exists():
        return report, later
    here = {mine.project, *found}
    waiting, done = dict.fromkeys([mine.project, *found]), set[str]()
    while waiting and not stop.is_set():
        project = next(iter(waiting))
        waiting.pop(project)
        done.add(project)
        there = replace(session, project=project)
        with there.store() as store:
            take_in(store, spool, settings)
            made = Distiller(store, client, Caps.of(settings)).process(stop=stop)
            report.add(made)
            later += _tried_later(store.jobs("ready", MOST_JOBS))
            _feed_index(session, store)
            if project in here and (refresh or made.distilled or there.mirror_is_due()):
                there.refresh_mirror(store)
            if not session.project:
                others = {*store.other_projects("jobs")}
                if store.remote_index is not None:
                    others |= {*store.other_projects("notes")}
                waiting.update(dict.fromkeys(others - done))
    return report, later


def _tried_later(jobs: list[Job]) -> list[str]:
    """When those are due that failed, or that wait for the model."""
    now = clock.now_iso()
    return [job.not_before for job in jobs if job.state == "ready" and job.not_before > now]


def _until(later: list[str]) -> list[str]:
    """A line about the sessions that are due then; none where there are none."""
    if not later:
        return []
    wait = number_of(len(later), "session waits", "sessions wait")
    more = " or later" if len(set(later)) > 1 else ""
    return [f"{wait} until {_minute(min(later))} (UTC){more}"]


def _minute(at: str) -> str:
    return at[:16].replace("T", " ")


def _embed_stale(session: Session, stop: threading.Event) -> None:
    """After a change of the model: rows get their vector in the background. What costs money waits
    for `rlm store reembed`, and a JSON file keeps no vectors."""
    local = session.settings.embedder in LOCAL_EMBEDDERS
    absent = session.path is not None and not session.path.exists()
    if stop.is_set() or not local or session.kind == "json" or absent:
        return
    with session.store() as store:
        if store.stale_vectors():
            try:
                done = embed_stale(store, stop.is_set)
            except ModelError as exc:
                session.notify(str(exc))
                return
            session.notify(f"{number_of(done, 'row', 'rows')} got a vector of the new model")


def _feed_index(session: Session, store: MemoryBackend) -> None:
    """Tell the index beside the store what changed. While it is down, that waits."""
    if store.remote_index is None:
        return
    try:
        fed = store.remote_index.drain()
    except IndexUnavailable as exc:
        session.notify(f"the index was not fed: {exc}")
        return
    if fed.written or fed.removed:
        session.notify(f"index: {fed.written} memories written, {fed.removed} removed")


def _summary(report: Report) -> str:
    found = [number_of(getattr(report, f"{name}s"), name, f"{name}s") for name in FOUND]
    text = f"{number_of(report.distilled, 'session', 'sessions')} distilled: {', '.join(found)}"
    for name in (
        "superseded",
        "changed",
        "proposed",
        "ignored",
        "failed",
        "dead",
        "capped",
        "waiting",
    ):
        value = getattr(report, name)
        text += f", {value} {name}" if value else ""
    return text


@command(app, "add")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@words("--agent", HOSTS, "The host that wrote it (default: by its structure).")
@click.option("--session", "session_id", metavar="ID", help="The session (default: as it says).")
@words("--outcome", ("success", "failure", "mixed"), "How it ended [mixed].", default="mixed")
def add(
    session: Session,
    files: tuple[str, ...],
    agent: str | None,
    session_id: str | None,
    outcome: str,
) -> None:
    """Queue transcripts that are already there. The same one twice is one job.

    All files are looked at first; if one cannot be used, nothing is queued.
    """
    from rlm.service.distiller import Distiller
    from rlm.service.transcripts import identify

    if session_id and len(files) > 1:
        raise ValidationError("--session names one session: give one file", field="session")
    for file in files:
        if not Path(file).expanduser().exists():
            raise NotFound(f"no file {file} here, so nothing was queued")
        identify(file, agent)
    with session.store() as store:
        distiller = Distiller(store)
        numbers = [
            distiller.queue_session(session_id, outcome, agent=agent, path=file) for file in files
        ]
    session.show({"jobs": numbers}, *map(str, numbers))
    session.notify("`rlm worker --once` distils what is queued")


@command(app, "list")
@words("--state", JOB_STATES, "Only these.")
@count("--limit", default=100, most=MOST_JOBS, doc="How many, at most.")
def list_(session: Session, state: str | None, limit: int) -> None:
    """List the sessions of this project that are or were queued, the oldest first.

    One that waits says until when: it failed, or its model could not be asked.
    """
    nothing = "no session is queued here: `rlm queue add FILE` queues one"
    found = session.list_rows(lambda store: store.jobs(state, limit), nothing)
    headers = ("job", "state", "agent", "session", "tries", "queued (UTC)", "note")
    session.show_table([_to_dict(job) for job in found], headers, [_row(job) for job in found])
    for line in _until(_tried_later(found)):
        session.notify(line)


def _to_dict(job: Job) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(job)


def _row(job: Job) -> tuple[object, ...]:
    result = job.payload.get("result") or {}
    said = [
        number_of(result[f"{name}s"], name, f"{name}s") for name in FOUND if f"{name}s" in result
    ]
    if why := result.get("without_model"):
        said.append(f"without a model: {why}")
    later = [f"waits until {_minute(at)}" for at in _tried_later([job])]
    note = ": ".join(filter(None, [*later, job.last_error or ", ".join(said)]))
    when = _minute(job.created_at)
    return job.job_no, job.state, job.agent, job.session_id, job.attempts, when, note


@command(app, "retry")
@click.argument("numbers", metavar="JOB...", nargs=-1, type=click.IntRange(1))
@click.option("--dead", is_flag=True, help="All that were given up.")
def retry(session: Session, numbers: tuple[int, ...], dead: bool) -> None:
    """Distil sessions again, at once: those that failed, or any by its number."""
    if bool(numbers) == dead:
        raise ValidationError("name jobs by their number, or give --dead")
    with session.changing() as store, store.together():
        chosen = [job.job_no for job in store.jobs("dead", MOST_JOBS)] if dead else list(numbers)
        for number in chosen:
            store.retry_job(number)
    session.show({"jobs": chosen}, *map(str, chosen))
    session.notify(f"{len(chosen)} ready: `rlm worker --once`")


@command(app, "drop")
@click.argument("numbers", metavar="JOB...", nargs=-1, required=True, type=click.IntRange(1))
def drop(session: Session, numbers: tuple[int, ...]) -> None:
    """Take sessions out of the queue. What they taught already stays."""
    with session.changing() as store, store.together():
        for number in numbers:
            if not store.drop_job(number):
                why = f"no job {number} here, so nothing was dropped: `rlm queue list` shows them"
                raise NotFound(why)
    session.show({"jobs": list(numbers)}, *map(str, numbers))
