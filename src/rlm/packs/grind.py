"""A worker of an import that is a Python of its own: it is told in plain data what a fork would
know.

Started by `mill.py` where forking is not safe. Whatever else is printed in it goes nowhere: its
standard output is the pipe that results take.
"""

from __future__ import annotations

import gc
import os
import signal
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from rlm.packs.intake import Intake
from rlm.packs.mill import Work, be_ready
from rlm.packs.source import PackSource
from rlm.retrieval.embed import pick_embedder
from rlm.store.sqlite.bulk import BatchMaker
from rlm.store.types import Tenant


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker has to know; the path is for messages. `embedder` is a word that
    `pick_embedder` knows."""

    path: str
    name: str
    org: str
    team: str
    project: str
    trust: str
    level: str
    space: int
    embedder: str

    @classmethod
    def of(cls, intake: Intake, space: int, embedder: str) -> Job:
        """What workers on this pack have to know."""
        source, tenant = intake.source, intake.tenant
        whose = (tenant.org, tenant.team, tenant.project)
        return cls(
            str(source.path), source.name, *whose, intake.trust, intake.level, space, embedder
        )

    def to_bytes(self) -> bytes:
        return orjson.dumps(asdict(self))


def work_of(data: bytes) -> Work:
    """What has to be done with each bundle of lines, from `Job.to_bytes`."""
    job = Job(**orjson.loads(data))
    source = PackSource(Path(job.path), job.name, "", None, None, None)
    intake = Intake(
        source, Tenant(job.org, job.team, job.project), trust=job.trust, level=job.level
    )
    maker = BatchMaker(pick_embedder(job.embedder))
    maker.prepare()
    return lambda frame: intake.batch_of(frame, job.space, maker)


def main() -> None:
    """Take the job, then bundles, until the pipe closes. Ctrl-C is for the process that started us."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    taken, given = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    be_ready(work_of, taken, given)
