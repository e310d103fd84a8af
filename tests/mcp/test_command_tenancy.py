"""No command shows, changes or betrays what belongs to another tenant, whatever it is given."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from tenants import MARK, OURS, THEIRS, WILD, dump_foreign, furnish

from rlm.cli import main
from rlm.cli.app import app
from rlm.ontology.views.views import CATALOGUE

ID = "ID"
COMMANDS = """
memory add --title T --content C
memory consolidate
memory decay
memory edit ID --description mine
memory feedback ID --helpful no
memory insights
memory list
memory list --archived
memory restore ID
memory review
memory review --approve ID
memory review --reject ID
memory review --accept ID
memory review --refuse ID
memory rm ID --yes
memory rm ID --hard --yes
memory search ID
memory search quagga
memory show ID
memory stability
memory stats
memory undo ID
memory why ID
memory why quagga
graph add fact stones
graph consolidate
graph copy there.db
graph decay
graph edges
graph edges --node ID
graph edit ID --content mine
graph history
graph history ID
graph link relation likes ID ID
graph list
graph promote
graph relink ID --label mine
graph rm ID
graph search quagga
graph show ID
graph undo ID
graph unlink ID
logs list
logs show ID
pack candidates out.jsonl
pack export out.jsonl --all --force
pack list
pack rollback ID
queue drop ID
queue list
queue retry --dead
queue retry ID
token list
token revoke ID
worker --once
doctor
"""
NO_TENANT = {
    "run", "ask", "eval", "memory train", "memory import", "pack import", "queue add", "mcp", "setup",
    "token add", "backup", "store init", "store copy", "store compare", "store reembed",
    "index status", "index rebuild", "index reconcile", "completion", "pack keygen", "pack sign", "pack verify",
    "ontology card", "ontology describe", "ontology path", "ontology query",
    "ontology relations", "ontology search", "ontology stats", "ontology diff",
    *(f"ontology {view}" for view in CATALOGUE),
}  # fmt: skip
"""They name no row: they read a file or a question, or copy the whole store."""

NOBODY = (
    "absent",
    "*",
    "%",
    "_",
    "..",
    "../shop",
    "shop/../shop",
    "null",
    "None",
    "",
    "SHOP",
    "sho",
)
"""Projects that nobody has."""


def leaves(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from leaves(found, (*path, name))
        else:
            yield " ".join((*path, name))


def test_every_command_is_tried() -> None:
    tried = {
        name for name in leaves(app) for line in COMMANDS.splitlines() if line.startswith(name)
    }
    assert tried | NO_TENANT == set(leaves(app))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], list[str]]:
    folder = tmp_path_factory.mktemp("commands")
    foreign = [id_ for tenant in THEIRS for id_ in furnish(folder / "m.db", tenant, MARK)]
    return folder, foreign, furnish(folder / "m.db", OURS, "horse")


def run(
    folder: Path, capfd: Any, line: str, value: str, project: str = OURS.project
) -> tuple[int, str]:
    """Its exit code and all that it printed, with the value's own words taken out."""
    words = [value if word == ID else word for word in line.split()]
    tenant = ("--project", project, "--team", OURS.team, "--org", OURS.org)
    group = 1 if words[0] in ("worker", "doctor") else 2
    args = [*words[:group], *tenant, "--db", str(folder / "m.db"), "--json", *words[group:]]
    before = Path.cwd()
    os.chdir(folder)
    try:
        code = main(args)
    except SystemExit as exc:
        code = int(exc.code or 0)
    finally:
        os.chdir(before)
    said = capfd.readouterr()
    told = said.out + said.err
    for file in folder.glob("out.jsonl*"):
        told += file.read_text("utf-8")
        file.unlink()
    return code, told.replace(value, ID) if len(value) > 1 else told  # a quote stands anywhere


@pytest.mark.req("CX-04")
def test_nothing_foreign_is_shown_or_changed(
    world: tuple[Path, list[str], list[str]], capfd: Any
) -> None:
    folder, foreign, own = world
    before = dump_foreign(folder / "m.db")
    lines = st.sampled_from(COMMANDS.split("\n")[1:-1])
    values = st.sampled_from((*foreign, *own, *(word for word in WILD if "\0" not in word), "1"))

    @settings(
        max_examples=100,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.explicit, Phase.generate),
    )
    @example("worker --once", "1", "")  # it had worked for every project, and named their sessions
    @given(lines, values, st.just(OURS.project) | st.sampled_from(NOBODY))
    def play(line: str, value: str, project: str) -> None:
        _, told = run(folder, capfd, line, value, project)
        assert MARK not in told.replace(f'"{MARK}"', ""), (line, value)
        assert "Traceback" not in told, (line, value)
        assert project == OURS.project or "horse" not in told, (line, value, project)

    play()
    assert dump_foreign(folder / "m.db") == before


BY_ID = [line for line in COMMANDS.splitlines() if ID in line.split() and "search" not in line]


@pytest.mark.req("CX-04")
def test_a_foreign_id_and_an_absent_one_get_the_same_answer(
    world: tuple[Path, list[str], list[str]], capfd: Any
) -> None:
    folder, foreign, _ = world
    before = dump_foreign(folder / "m.db")
    for line in BY_ID:
        for id_ in foreign:
            absent = id_[:-4] + ("0000" if id_[-4:] != "0000" else "1111")
            answers = [run(folder, capfd, line, each) for each in (id_, absent)]
            assert answers[0] == answers[1], (line, id_)
    assert dump_foreign(folder / "m.db") == before
