"""`rlm index`: the search index beside the store, which is derived from it and can be made anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click

from rlm.cli.command import command, new_group
from rlm.cli.session import Session
from rlm.errors import ConfigError

if TYPE_CHECKING:
    from rlm.store.qdrant.index import QdrantIndex

app = new_group("The search index beside the store (RLM_INDEX): status, rebuild, reconcile.")
all_projects = click.option(
    "--all-projects", is_flag=True, help="Also the team's other projects, one after the other."
)


def _indexes(session: Session, every: bool) -> Iterator[tuple[str, QdrantIndex]]:
    """The index of this project, then those of the team's others. ConfigError without one."""
    if not session.settings.index:
        raise ConfigError("no index is set: RLM_INDEX=qdrant:http://host:6333 names one")
    with session.changing() as store:
        others = list(store.other_projects()) if every else []
        assert store.remote_index is not None
        yield session.tenant.project, store.remote_index
    for project in others:
        with replace(session, project=project).changing() as store:
            assert store.remote_index is not None
            yield project, store.remote_index


@command(app, "status")
@all_projects
def status(session: Session, all_projects: bool) -> int:
    """What the index holds of each level, and what it has yet to be told.

    The exit code is 1 when it cannot be used.
    """
    found = [
        {"project": project, **asdict(each)}
        for project, index in _indexes(session, all_projects)
        for each in index.status()
    ]
    names = ("project", "level", "state", "memories", "points", "waiting", "collection")
    rows = [tuple("" if each[name] is None else each[name] for name in names) for each in found]
    session.show_table({"spaces": found}, names, rows)
    problems = [f"{each['level']}: {each['problem']}" for each in found if each["problem"]]
    for problem in problems:
        session.notify(problem)
    return 1 if problems else 0


@command(app, "rebuild")
@all_projects
def rebuild(session: Session, all_projects: bool) -> None:
    """Make the index anew from the store. Searches go on meanwhile: the store answers them."""
    done = _sum(session, all_projects, lambda index: asdict(index.rebuild()))
    session.show(dict(done), f"{done['written']} memories in {done['built']} collections")
    _tell_busy(session, done)


@command(app, "reconcile")
@all_projects
def reconcile(session: Session, all_projects: bool) -> None:
    """Compare every memory with the index and mend what differs."""
    found = _sum(session, all_projects, lambda index: asdict(index.reconcile()))
    text = ", ".join(f"{found[name]} {name}" for name in ("missing", "stale", "extra"))
    session.show(dict(found), f"{text}: mended" if sum(found.values()) else "nothing differs")
    _tell_busy(session, found)


def _tell_busy(session: Session, counts: Counter[str]) -> None:
    if counts["busy"]:
        why = "another process feeds, or its lease has yet to run out: try again in two minutes"
        session.notify(f"{counts['busy']} left alone, which {why}")


def _sum(
    session: Session, every: bool, work: Callable[[QdrantIndex], dict[str, int]]
) -> Counter[str]:
    total: Counter[str] = Counter()
    for _, index in _indexes(session, every):
        total.update(work(index))
    return total
