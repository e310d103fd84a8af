"""`rlm memory import`: memories of a plain file, as seed 001's JSON store wrote them."""

from __future__ import annotations

import click

from rlm.cli.command import words
from rlm.cli.output import number_of, print_fields, print_json
from rlm.cli.session import Session
from rlm.cli.text import read_bytes
from rlm.store.types import LEVELS

NAMED = 20
"""At most this many refusals are printed one by one; `--json` has them all."""


@click.argument("file")
@words("--level", LEVELS, "Who sees the memories [project].", default="project")
def import_(session: Session, file: str, level: str) -> int:
    """Add the memories of a plain file: a JSON list, as an older MemoryStore wrote it, or one JSON
    object a line; - reads stdin.

    What the store has already stays as it is; an entry that is not a memory is refused, with why:
    then the exit code is 1. A file of `rlm pack export` comes back with `rlm pack import`.
    """
    from rlm.store.itemfile import MOST_BYTES, import_records, read_records

    data = read_bytes(file, MOST_BYTES)
    records = read_records(data, "stdin" if file == "-" else file)  # before a store is made
    with session.store() as store:
        report = import_records(records, store, level=level)
    if session.json:
        print_json(report.to_dict())
        return 1 if report.refused else 0
    counts = {"added": report.added, "there already": report.present}
    counts["refused"] = len(report.refused)
    print_fields([(name, str(count)) for name, count in counts.items()])
    for refusal in report.refused[:NAMED]:
        title = f" ({refusal.title})" if refusal.title else ""
        session.notify(f"{refusal.place}{title}: {refusal.reason}")
    if len(report.refused) > NAMED:
        session.notify(f"… and {number_of(len(report.refused) - NAMED, 'other', 'others')}")
    return 1 if report.refused else 0
