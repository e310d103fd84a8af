"""What helps a newcomer: examples in `--help`, tab completion, and a hint after a slip."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from cli_running import Run

from all_cases import all_cases
from rlm.cli.app import app
from rlm.cli.examples import EXAMPLES

FOREIGN = ("3f2a91c0", "5d1c", "77c0a1b3", "t-4c0e1f", "openai/", ".pem", "team.", "release.md",
           "shapes.ttl", "release-1.ttl", "chat.jsonl", "~/.claude", "retry 17", "drop 17",
           "--watch", "revoke laptop", "postgresql://", "compare memory.db", "rlm index")  # fmt: skip
"""What an example names that only its reader has."""
SLOW = ("memory train", "eval", "mcp")  # tests of their own run them
RUNNABLE = [
    line
    for name, lines in EXAMPLES.items()
    for line in lines
    if name not in SLOW and not any(word in line for word in FOREIGN)
]


def find(line: str) -> tuple[str, click.Command, list[str]]:
    """The path of the command that a line names, the command, and its arguments."""
    program, *words = shlex.split(line.removeprefix('eval "$(').removesuffix(')"'))
    assert program == "rlm"
    command: click.Command = app
    path: list[str] = []
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, line
        command, path, words = found, [*path, words[0]], words[1:]
    return " ".join(path), command, words


def test_help_groups_the_commands_and_begins_with_what_most_people_want(rlm: Run) -> None:
    shown = rlm("--help").out
    headings = [line for line in shown.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == [
        "Options:", "Memory of a coding agent:", "What is stored:", "Questions:", "Upkeep:"
    ]  # fmt: skip
    assert "`rlm setup claude`" in shown
    for name in app.list_commands(click.Context(app)):
        assert f"\n  {name} " in shown
    assert "\nKeep in order:\n  review" in rlm("memory").out
    assert "\nCommands:\n  add " in rlm("queue").out


@all_cases("name", EXAMPLES)
def test_every_example_is_one_of_its_command_and_parses(rlm: Run, name: str) -> None:
    shown = rlm(*name.split(), "--help").out
    for line in EXAMPLES[name]:
        path, command, words = find(line)
        assert path == name
        command.make_context(name, words)
        assert f"  {line}\n" in shown.partition("Examples:\n")[2]


def leaves(group: click.Group, *above: str) -> list[str]:
    """Every command below a group, as it is typed."""
    found = []
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            found += leaves(command, *above, name)
        else:
            found.append(" ".join((*above, name)))
    return found


def test_every_command_has_an_example() -> None:
    assert set(leaves(app)) == EXAMPLES.keys()


@pytest.mark.parametrize("line", RUNNABLE)
def test_an_example_runs(rlm: Run, root: Path, tmp_path: Path, line: str) -> None:
    (tmp_path / "ontology").symlink_to(root / "ontology")
    shutil.copy(root / "README.md", tmp_path)
    (tmp_path / "classes.rq").write_text("SELECT ?c WHERE { ?c a owl:Class }", "utf-8")
    written = '[{"title": "Read first", "content": "Then write."}]'
    (tmp_path / "memories.json").write_text(written, "utf-8")
    assert rlm("pack", "import", "core_v1").code == 0
    if "review.jsonl --apply" in line:
        assert rlm("pack", "candidates", "review.jsonl").code == 0
    if "memory.db" in line:
        assert rlm("backup", "memory.db").code == 0
    path, _, words = find(line)
    done = rlm(*path.split(), *words)
    nothing_there = path in ("graph search", "graph undo", "memory undo")
    assert done.code == (1 if nothing_there else 0), done.err


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (("memry",), "Did you mean `rlm memory`?"),
        (("memory", "serch"), "Did you mean `rlm memory search`?"),
        (("ontology", "descrbe"), "Did you mean `rlm ontology describe`?"),
        (("serach", "x"), "`rlm memory search` or `rlm graph search` or `rlm ontology search`?"),
        (("import", "core_v1"), "Did you mean `rlm memory import` or `rlm pack import`?"),
        (("memory", "list", "--limt", "3"), "--limit"),
        (("--jsn",), "--json"),
    ],
)
def test_a_slip_is_answered_with_what_may_be_meant(
    rlm: Run, line: tuple[str, ...], hint: str
) -> None:
    failed = rlm(*line)
    assert failed.code == 2 and failed.out == "" and failed.err.count("\n") == 1
    assert hint in failed.err and "--help`" in failed.err


def test_a_word_like_no_other_gets_no_hint(rlm: Run) -> None:
    assert rlm("xyzzy").err == "error: No such command 'xyzzy'; see `rlm --help`\n"


COMPLETIONS = [
    ("rlm me", ["memory"]),
    ("rlm memory s", ["search", "show", "stats", "stability"]),
    ("rlm memory list --ou", ["--outcome"]),
    ("rlm memory list --outcome f", ["failure"]),
    ("rlm pack import core", ["core_v1"]),
    ("rlm completion z", ["zsh"]),
    ("rlm ontology stats ware", ["warehouse"]),
]


def environment(folder: Path) -> dict[str, str]:
    """With `rlm` and `rlm-agent` on the PATH, and an endpoint that the config names."""
    for name in ("rlm", "rlm-agent"):
        script = f'#!{sys.executable}\nimport sys\nsys.argv[0] = "{name}"\n'
        script += "from rlm.cli import main\nsys.exit(main())\n"
        (folder / name).write_text(script, "utf-8")
        (folder / name).chmod(0o755)
    (folder / "config.toml").write_text(
        '[endpoints.warehouse]\nurl = "https://example.org/sparql"\n', "utf-8"
    )
    path = os.pathsep.join([str(folder), os.environ["PATH"]])
    source = str(Path(__file__).parents[2] / "src")
    return {
        **os.environ,
        "PATH": path,
        "PYTHONPATH": source,
        "RLM_CONFIG": str(folder / "config.toml"),
    }


@pytest.mark.parametrize(("line", "offered"), COMPLETIONS[1:3])
def test_a_shell_is_told_what_may_come_next(home: Path, line: str, offered: list[str]) -> None:
    """By the protocol of the other two scripts; bash itself is asked for everything below."""
    env = environment(home)
    words = line.split(" ")
    asked = {
        "zsh": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        "fish": {"COMP_WORDS": line, "COMP_CWORD": words[-1]},
    }
    for shell, variables in asked.items():
        env |= {"_RLM_COMPLETE": f"{shell}_complete", **variables}
        done = subprocess.run(["rlm"], env=env, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        told = done.stdout.replace("\n", " ").replace(",", " ").replace("\t", " ").split()
        assert [word for word in told if word in offered] == offered


@pytest.mark.parametrize(
    ("program", "lines"), [("rlm", COMPLETIONS), ("rlm-agent", COMPLETIONS[:1])]
)
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_with_the_script(
    home: Path, program: str, lines: list[tuple[str, list[str]]]
) -> None:
    function = f"_{program.replace('-', '_')}_completion"
    ask = "\n".join(
        f"COMP_WORDS=({program} {' '.join(map(shlex.quote, line.split(' ')[1:]))}); COMPREPLY=()\n"
        f'COMP_CWORD={line.count(" ")}; {function} {program}; echo "${{COMPREPLY[*]}}"'
        for line, _ in lines
    )
    script = f'set -e\neval "$({program} completion bash)"\ncompopt() {{ :; }}\n{ask}\n'
    done = subprocess.run(
        ["bash", "-c", script], env=environment(home), capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [" ".join(offered) for _, offered in lines]


@pytest.mark.parametrize(
    ("shell", "test"), [("zsh", ("zsh", "-n")), ("fish", ("fish", "--no-execute"))]
)
def test_the_other_shells_read_their_script(
    rlm: Run, tmp_path: Path, shell: str, test: tuple[str, ...]
) -> None:
    script = rlm("completion", shell)
    assert script.code == 0 and f"_RLM_COMPLETE={shell}_complete" in script.out
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(script.out, "utf-8")
    done = subprocess.run([*test, str(tmp_path / "script")], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_file_is_completed_where_one_is_named(home: Path) -> None:
    for line in ("rlm run --ontology ", "rlm backup ", "rlm ontology stats ", "rlm --db "):
        words = line.split(" ")
        env = environment(home) | {
            "_RLM_COMPLETE": "bash_complete",
            "COMP_WORDS": "\n".join(words),
            "COMP_CWORD": str(len(words) - 1),
        }
        done = subprocess.run(["rlm"], env=env, capture_output=True, text=True, timeout=60)
        assert done.stdout.startswith("file,"), line
