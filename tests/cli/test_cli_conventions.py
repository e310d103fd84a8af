"""What holds for every command: help, `--json`, `--db`, exit codes, errors."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest
from cli_running import Run

from all_cases import all_cases
from rlm import MemoryItem, clock, open_store
from rlm.cli import main
from rlm.cli.app import app
from rlm.store.types import Run as RunRow
from rlm.store.types import Trajectory


def commands(
    group: click.Group = app, *above: str
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with the words that name it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from commands(found, *above, name)
        else:
            yield (*above, name), found


SERVES = ("mcp",)
"""It goes on until its input ends, and speaks a protocol: tests/mcp."""
NEED_A_SERVER = (("store", "init"), ("index",))
"""Tests of their own start one: tests/store, tests/cli/test_store_cli.py."""
ALL = {
    name: command
    for name, command in commands()
    if name != SERVES and not any(name[: len(group)] == group for group in NEED_A_SERVER)
}

# One line that succeeds for each command; {id}, {old}, {held}, {node}, {edge} and the files are
# made by `filled`.
LINES: dict[str, tuple[str, ...]] = {
    "memory add": ("--title", "New", "--content", "Do it."),
    "memory search": ("subclasses", "--explain"),
    "memory list": (),
    "memory show": ("{id}",),
    "memory edit": ("{id}", "--tag", "x"),
    "memory rm": ("{id}",),
    "memory restore": ("{old}",),
    "memory import": ("{pack}",),
    "memory review": ("--approve", "{held}"),
    "memory stats": (),
    "memory consolidate": ("--dry-run",),
    "memory undo": ("{change}",),
    "memory train": ("--curriculum", "{lesson}", "--model", "offline"),
    "memory insights": (),
    "memory feedback": ("{id}", "--helpful"),
    "memory why": ("{id}",),
    "memory stability": (),
    "memory decay": (),
    "graph add": ("fact", "Snow is white"),
    "graph link": ("relation", "self", "{node}:subject"),
    "graph show": ("{node}",),
    "graph search": ("water", "--explain"),
    "graph list": (),
    "graph edit": ("{node}", "--tier", "session"),
    "graph rm": ("{node}",),
    "graph unlink": ("{edge}",),
    "graph relink": ("{edge}", "--weight", "2"),
    "graph edges": ("--node", "{node}"),
    "graph history": ("{node}",),
    "graph consolidate": (),
    "graph promote": ("--min-accesses", "0"),
    "graph decay": (),
    "graph undo": ("{line}",),
    "graph copy": ("{dir}/other.db",),
    "ontology stats": ("{ttl}",),
    "ontology search": ("{ttl}", "boat"),
    "ontology describe": ("{ttl}", "ex:Boat"),
    "ontology relations": ("{ttl}", "ex:Boat"),
    "ontology path": ("{ttl}", "ex:Sloop", "ex:Boat"),
    "ontology card": ("{ttl}",),
    "ontology tree": ("{ttl}", "ex:Boat"),
    "ontology related": ("{ttl}", "ex:Boat"),
    "ontology terms": ("{ttl}",),
    "ontology instances": ("{ttl}", "ex:Boat"),
    "ontology values": ("{ttl}", "ex:Boat"),
    "ontology restrictions": ("{ttl}", "ex:Dinghy"),
    "ontology compare": ("{ttl}", "ex:Boat", "ex:Sloop"),
    "ontology labels": ("{ttl}", "ex:Boat"),
    "ontology metadata": ("{ttl}",),
    "ontology prefixes": ("{ttl}",),
    "ontology shapes": ("{ttl}",),
    "ontology lint": ("{ttl}", "--fail-on", "never"),
    "ontology diff": ("{ttl}", "{ttl}"),
    "ontology query": ("{ttl}", "SELECT ?s WHERE {{ ?s a owl:Class }}"),
    "pack import": ("{pack}",),
    "pack export": ("{dir}/out.jsonl",),
    "pack verify": ("{pack}",),
    "pack list": (),
    "pack rollback": ("core_v1",),
    "pack sign": ("{pack}", "--seal", "--key", "{key}"),
    "pack keygen": ("{dir}/new.pem",),
    "pack candidates": ("{dir}/candidates.jsonl",),
    "run": ("--context", "{pack}", "--query", "How many lines are there?", "--model", "offline"),
    "ask": ("--forms",),
    "eval": ("--curriculum", "{lesson}", "--model", "offline", "--arms", "off"),
    "logs show": ("{log}",),
    "logs list": (),
    "worker": ("--once",),
    "queue add": ("{chat}",),
    "queue list": (),
    "queue retry": ("{job}",),
    "queue drop": ("{job}",),
    "setup": ("claude", "--scope", "project", "--dry-run"),
    "token add": ("desk",),
    "token list": (),
    "token revoke": ("laptop",),
    "backup": ("{dir}/copy.db",),
    "store copy": ("{dir}/store.db", "{dir}/moved.db"),
    "store reembed": (),
    "store compare": ("{dir}/store.db", "{dir}/twin.db"),
    "doctor": ("--fix",),
    "completion": ("bash",),
}

BOATS = """
@prefix ex: <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<http://example.org/> a owl:Ontology ; rdfs:label "Boats" .
ex:Boat a owl:Class ; rdfs:label "boat"@en . ex:Sloop a owl:Class ; rdfs:subClassOf ex:Boat .
ex:Dinghy a owl:Class ; rdfs:subClassOf [ owl:onProperty ex:of ; owl:someValuesFrom ex:Boat ] .
ex:of a owl:ObjectProperty . ex:one a ex:Boat .
ex:BoatShape a <http://www.w3.org/ns/shacl#NodeShape> ; <http://www.w3.org/ns/shacl#targetClass> ex:Boat .
"""
TASKS = """id: boats
ontology: {name: boats, path: boats.ttl}
tasks:
  - {id: one, query: "What is a boat?", tags: [describe]}
  - {id: two, query: "What is a sloop?", tags: [describe], held_out: true}
"""


def made(*line: str) -> str:
    """What a line prints that makes something."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(line) == 0
    return out.getvalue().strip()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder with a store that has one of everything, and the ids in it: made once, copied for
    every test."""
    folder = tmp_path_factory.mktemp("filled")
    db = str(folder / "store.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("USER", "ada")
        patch.setenv("RLM_EMBEDDER", "none")
        patch.chdir(folder)
        with open_store(db, embedder="none") as store:
            title = MemoryItem("Find the subclasses", "", "First start at the root, then go down.")
            ids = store.add_many(
                [
                    title,
                    MemoryItem("Old", "", "x"),
                    MemoryItem("Held", "", "y", trust="quarantined"),
                ]
            )
            store.delete(ids[1])
            store.save_artifacts(RunRow(model="m"), Trajectory("What?", final_answer="That."))
            job = store.queue_session("branch", "b1", {"message": "The lexer works."})
            weak = MemoryItem("Guess", "", "z", source_type="success", confidence=0.1)
            weak.created_at = "2025-01-01T00:00:00Z"
            store.add(weak)
        change = json.loads(made("memory", "consolidate", "--json", "--db", db))["log_id"]
        node = made("graph", "add", "fact", "Water is wet", "--db", db)
        edge = made("graph", "link", "relation", "is", node, "--db", db)
        with clock.frozen(datetime(2025, 1, 1, tzinfo=UTC)):
            sure = ("--tier", "session", "--confidence", "1")
            made("graph", "add", "fact", "Ice is cold", *sure, "--db", db)
        gone = made("graph", "add", "fact", "Fire is cold", "--db", db)
        made("graph", "rm", gone, "--db", db)
        lines = json.loads(made("graph", "history", gone, "--json", "--db", db))["evolution"]
        made("pack", "import", "core_v1", "--db", db)
        made("pack", "keygen", str(folder / "key.pem"))
        made("token", "add", "laptop", "--db", db)
        made("store", "copy", db, str(folder / "twin.db"))
    (folder / "hand.jsonl").write_text('{"title":"Read first","content":"Then write."}\n', "utf-8")
    log = '{"type":"metadata","query":"q","root_model":"m","max_iterations":1,"context_size":1}\n'
    (folder / "log.jsonl").write_text(log, "utf-8")
    (folder / "boats.ttl").write_text(BOATS, "utf-8")
    chat = {"role": "user", "message": {"content": [{"type": "text", "text": "Never do that."}]}}
    (folder / "chat.jsonl").write_text(json.dumps(chat) + "\n", "utf-8")
    (folder / "boats.yaml").write_text(TASKS, "utf-8")
    graph = {"node": node, "edge": edge, "line": str(lines[0]["id"])}
    memories = {"id": ids[0], "old": ids[1], "held": ids[2], "change": str(change)}
    return folder, {**memories, "job": str(job), **graph}


@pytest.fixture
def filled(db: str, tmp_path: Path, template: tuple[Path, dict[str, str]]) -> dict[str, str]:
    """That folder as the test's own, and the names that `LINES` uses."""
    shutil.copytree(template[0], tmp_path, dirs_exist_ok=True)
    files = {
        "lesson": "boats.yaml",
        "pack": "hand.jsonl",
        "key": "key.pem",
        "log": "log.jsonl",
        "chat": "chat.jsonl",
        "ttl": "boats.ttl",
    }
    return {
        **template[1],
        "dir": str(tmp_path),
        **{name: str(tmp_path / file) for name, file in files.items()},
    }


def test_every_command_has_a_line_here() -> None:
    assert {" ".join(name) for name in ALL} == LINES.keys()


def keys(value: object) -> Iterator[str]:
    """Every key of a JSON value, at any depth."""
    if isinstance(value, dict):
        yield from value
    for part in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from keys(part)


NO_MEMORY = (
    "memory consolidate",
    "memory review",
    "memory stats",
    "memory train",
    "memory insights",
    "memory stability",
)
"""Commands about memories that do not name one."""
NO_NODE = ("graph copy",)
NO_STORE = ("setup",)
"""What refuses `--db`: it would not be kept."""


@pytest.mark.parametrize("name", LINES)
def test_json_is_one_document_in_which_an_id_has_one_name(
    rlm: Run, home: Path, db: str, filled: dict[str, str], name: str
) -> None:
    """`memory_id` for a memory, as in packs and in seed 000; `id` for nodes and edges, as in seed
    004. And the default store is never touched."""
    line = [part.format(**filled) if "{" in part else part for part in LINES[name]]
    store = () if name in NO_STORE else ("--db", db)
    done = rlm(*name.split(), *line, *store, "--json")
    assert done.code == 0, done.err
    assert done.err == ""
    assert done.out.endswith("\n") and done.out.count("\n") == 1
    found = set(keys(done.json))
    assert (
        "id" not in found
        if name.split()[0] != "graph"
        else "memory_id" not in found and ("id" in found or name in NO_NODE)
    )
    assert "memory_id" in found or not name.startswith("memory ") or name in NO_MEMORY
    assert not (home / ".claude").exists()


@pytest.mark.parametrize("name", LINES)
def test_without_json_the_same_line_also_works(
    rlm: Run, home: Path, db: str, filled: dict[str, str], name: str
) -> None:
    line = [part.format(**filled) if "{" in part else part for part in LINES[name]]
    store = () if name in NO_STORE else ("--db", db)
    done = rlm(*name.split(), *line, *store)
    assert done.code == 0 and done.out, done.err
    assert "Traceback" not in done.err and not (home / ".claude").exists()


@all_cases("name", [" ".join(name) for name in ALL])
def test_every_command_has_help_a_docstring_and_the_common_options(rlm: Run, name: str) -> None:
    command = ALL[tuple(name.split())]
    assert command.help and command.callback is not None and command.callback.__doc__
    shown = rlm(*name.split(), "--help")
    assert shown.code == 0 and shown.err == ""
    assert all(
        option in shown.out for option in ("--db PATH", "--json", "--project", "--team", "--org")
    )
    assert all(
        getattr(param, "help", "") for param in command.params if isinstance(param, click.Option)
    )


def test_help_fits_a_screen(rlm: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for line in ((), ("--help",), ("memory",), ("graph", "--help"), ("pack", "-h")):
        shown = rlm(*line)
        assert shown.code == 0 and shown.err == ""
        lines = shown.out.splitlines()
        assert len(lines) <= 40 and max(map(len, lines)) <= 80


def test_version(rlm: Run) -> None:
    from rlm import __version__

    assert rlm("--version").out == f"rlm {__version__}\n"


def test_db_and_json_also_work_before_the_subcommand(
    rlm: Run, add: Callable[..., str], db: str, home: Path
) -> None:
    found = add()
    assert rlm("--db", db, "--json", "memory", "list").json[0]["memory_id"] == found
    nearer = rlm("--db", "elsewhere.db", "--json", "memory", "list", "--db", db)
    assert nearer.json[0]["memory_id"] == found and not Path("elsewhere.db").exists()
    failed = rlm("--json", "--db", db, "memory", "show", "ffffffff")
    assert failed.code == 1 and json.loads(failed.err)["error"]["type"] == "NotFound"


@pytest.mark.parametrize(
    ("line", "code", "kind"),
    [
        (("nonsense",), 2, "UsageError"),
        (("memory", "nonsense"), 2, "UsageError"),
        (("memory", "list", "--nonsense"), 2, "UsageError"),
        (("--json", "memory"), 2, "UsageError"),
        (("memory", "show", "ffffffff"), 1, "NotFound"),
        (("memory", "add"), 2, "ValidationError"),
        (("memory", "list", "--project", "a\nb"), 2, "ValidationError"),
        (("memory", "list", "--project", ""), 2, "UsageError"),
        (("worker", "--once", "--team", " "), 2, "UsageError"),
        (("memory", "list", "--db", "mysql://host/x"), 2, "ConfigError"),
        (("pack", "import", "nowhere.jsonl"), 2, "PackError"),
        (("pack", "import", "~nobody-of-that-name/p.jsonl"), 2, "ValidationError"),
        (("memory", "list", "--db", "."), 2, "StoreError"),
    ],
)
def test_an_error_is_one_line_or_one_document_on_stderr(
    rlm: Run, add: Callable[..., str], db: str, line: tuple[str, ...], code: int, kind: str
) -> None:
    add()
    where = () if "--db" in line or "--json" in line or line[-1] == "nonsense" else ("--db", db)
    failed = rlm(*line, *where, "--json") if "--json" not in line else rlm(*line)
    assert failed.code == code and failed.out == ""
    error = json.loads(failed.err)["error"]
    assert error["type"] == kind and error["message"] and "\n" not in error["message"]
    if "--json" not in line:
        told = rlm(*line, *where)
        assert told.code == code and told.err == f"error: {error['message']}\n"


def test_json_as_an_argument_is_not_the_option(rlm: Run, add: Callable[..., str], db: str) -> None:
    add()
    failed = rlm("memory", "show", "--db", db, "--", "--json")
    assert failed.code == 1 and failed.err.startswith("error: ")


def test_a_config_file_that_cannot_be_read_is_an_error_not_a_traceback(
    rlm: Run, home: Path
) -> None:
    config = home / ".config" / "rlm" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("surprise = 1\n", "utf-8")
    failed = rlm("memory", "list")
    assert failed.code == 2 and "surprise" in failed.err
