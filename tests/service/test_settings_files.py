"""Settings files of many shapes: our entries in, out again byte for byte, and never by force."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest

from rlm.errors import ConfigError
from rlm.hook_settings import HOOK_SETTINGS
from rlm.service.hosts import jsonc
from rlm.service.hosts.entries import HOSTS, SCOPES, SettingsFile, settings_files
from rlm.service.hosts.install import apply, our_entries, plan

COMMENTED = """// my settings
{
  "theme": "dark", // easier on the eyes
  /* hooks of mine */
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]}, // ping
    ],
    "stop": [{"command": "say done"}],
  },
  "mcpServers": {
    "files": {"command": "files-server", "args": []},
  },
}
"""
OTHERS = json.dumps(json.loads('{"version": 1, "hooks": {"SessionStart": [{"matcher": "startup", "hooks": '
    '[{"type": "command", "command": "bd prime"}]}], "sessionStart": [{"command": "bd prime"}]}, '
    '"mcpServers": {}, "z": [1, 2]}'), indent=4)  # fmt: skip
OLDER_HOOKS = {
    "Stop": [{"hooks": [{"command": "say done"}]}],
    "SessionStart": [
        {
            "hooks": [
                {"type": "command", "command": "/old/py -S /old/rlm/hook.py claude start"},
                {"type": "command", "command": "other"},
            ]
        },
        {"hooks": [{"type": "command", "command": "/old/bin/rlm-hook claude start"}]},
    ],
}
HUGE = json.dumps(
    {"projects": {f"/p/{n}": {"history": ["x" * 50] * 5} for n in range(200)}}, indent=2
)
TOML = '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y" # why\n'
TOML_OLDER = f'{TOML}\n[mcp_servers.rlm]\ncommand = "/old/bin/rlm"\nargs = ["mcp"]\nenv = {{}}\n'

JSON_SHAPES: dict[str, bytes | None] = {
    "missing": None,
    "empty": b"",
    "blank": b"\n",
    "braces": b"{}",
    "open braces": b"{\n}\n",
    "empty hooks": b'{"hooks": {}, "mcpServers": {}}\n',
    "comments": COMMENTED.encode(),
    "other hooks": OTHERS.encode(),
    "windows": b"\xef\xbb\xbf" + COMMENTED.replace("\n", "\r\n").encode(),
    "huge": HUGE.encode(),
    "no last line end": b'{"a": 1}',
}
TOML_SHAPES: dict[str, bytes | None] = {
    "missing": None,
    "empty": b"",
    "comments": TOML.encode(),
    "windows": TOML.replace("\n", "\r\n").encode(),
    "no last line end": TOML.strip().encode(),
    "hooks table": f"{TOML}\n[hooks]\n".encode(),
    "huge": (TOML + "".join(f"[projects.'/p/{n}']\na = 1\n" for n in range(2_000))).encode(),
}
WHERE = [(host, scope) for host in HOSTS for scope in SCOPES]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository to be in; HOME is another folder."""
    home, work = tmp_path / "home", tmp_path / "work" / "deep"
    home.mkdir()
    work.mkdir(parents=True)
    (work.parent / ".git").mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "RLM_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return work


def put(file: SettingsFile, data: bytes | None) -> None:
    file.path.parent.mkdir(parents=True, exist_ok=True)
    if data is None:
        file.path.unlink(missing_ok=True)
    else:
        file.path.write_bytes(data)


def install(host: str, scope: str, folder: Path) -> bool:
    """Whether something changed."""
    changes = plan(host, scope, folder)
    apply(changes)
    return any(change.changes for change in changes)


def remove(host: str, scope: str, folder: Path) -> None:
    apply(plan(host, scope, folder, remove=True), remove=True)


def contents(files: list[SettingsFile]) -> list[bytes | None]:
    return [file.path.read_bytes() if file.path.exists() else None for file in files]


def shapes(file: SettingsFile) -> dict[str, bytes | None]:
    return TOML_SHAPES if file.is_toml else JSON_SHAPES


@pytest.mark.parametrize(("host", "scope"), WHERE)
def test_install_and_remove_is_the_identity_for_every_shape(
    folder: Path, host: str, scope: str
) -> None:
    for file in settings_files(host, scope, folder):
        for name, data in shapes(file).items():
            put(file, data)
            before = contents([file])
            assert install(host, scope, folder), name
            text = file.path.read_text("utf-8")
            assert set(our_entries(file)) == wanted(file), name
            assert not install(host, scope, folder) and file.path.read_text("utf-8") == text, name
            remove(host, scope, folder)
            assert contents([file]) == before, name


def wanted(file: SettingsFile) -> set[str]:
    if file.holds == "server":
        return {"server"}
    claude = {"SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"}
    return (
        {"sessionStart", "beforeSubmitPrompt", "stop", "sessionEnd"}
        if file.host == "cursor"
        else claude
    )


@pytest.mark.parametrize(
    "host",
    ["claude", *(pytest.param(each, marks=pytest.mark.slow) for each in ("codex", "cursor"))],
)
def test_what_a_person_edits_meanwhile_stays_and_ours_goes(folder: Path, host: str) -> None:
    """The same edit with us and without us gives the same file in the end."""
    scope = "user"
    for file in settings_files(host, scope, folder):
        for name, data in shapes(file).items():
            if data is None or not data.strip():
                continue
            put(file, data)
            install(host, scope, folder)
            edit(file)
            assert install(host, scope, folder) is False, name
            remove(host, scope, folder)
            with_us = contents([file])
            put(file, data)
            edit(file)
            assert contents([file]) == with_us, name


@pytest.mark.parametrize("host", HOSTS)
def test_hooks_that_a_person_adds_beside_ours_stay(folder: Path, host: str) -> None:
    hooks, _ = settings_files(host, "user", folder)
    theirs = {"hooks": [{"command": "beep"}], "command": "beep"}
    for name, data in JSON_SHAPES.items():
        put(hooks, data)
        before = jsonc.parse(data.decode()).value if data and data.strip() else {}
        install(host, "user", folder)
        text = hooks.path.read_bytes().decode("utf-8")
        for event in wanted(hooks):
            text = jsonc.insert(text, ("hooks", event), theirs)
        hooks.path.write_bytes(text.encode())
        remove(host, "user", folder)
        left = jsonc.parse(hooks.path.read_bytes().decode("utf-8")).value
        for event in wanted(hooks):
            assert left["hooks"][event] == [*before.get("hooks", {}).get(event, []), theirs], name
        assert our_entries(hooks) == {}


def edit(file: SettingsFile) -> None:
    """Something above all that is ours, as a person may write it."""
    text = file.path.read_bytes().decode("utf-8")
    note = "sandbox = 'read-only' # by hand\n" if file.is_toml else "// by hand\n"
    file.path.write_bytes((note + text).encode())


@pytest.mark.parametrize("host", HOSTS)
def test_a_file_that_only_we_made_goes_even_when_its_host_has_reformatted_it(
    folder: Path, host: str
) -> None:
    files = settings_files(host, "user", folder)
    install(host, "user", folder)
    for file in files:
        if not file.is_toml:
            file.path.write_text(json.dumps(json.loads(file.path.read_text("utf-8"))), "utf-8")
    remove(host, "user", folder)
    assert contents([file for file in files if not file.is_toml]) == [None] * (
        2 - (host == "codex")
    )


@pytest.mark.parametrize("host", ("claude", "codex"))
def test_our_older_entries_are_replaced_and_others_are_not(folder: Path, host: str) -> None:
    hooks, server = settings_files(host, "user", folder)
    put(hooks, json.dumps({"hooks": OLDER_HOOKS}, indent=2).encode())
    servers = json.dumps({"mcpServers": {"rlm": {"command": "/old/bin/rlm", "args": ["mcp"]}}})
    put(server, (TOML_OLDER if server.is_toml else servers).encode())
    assert install(host, "user", folder)
    assert "/old/" not in hooks.path.read_text("utf-8") + server.path.read_text("utf-8")
    start = json.loads(hooks.path.read_text("utf-8"))["hooks"]["SessionStart"]
    assert start[0] == {"hooks": [{"type": "command", "command": "other"}]} and len(start) == 2
    remove(host, "user", folder)
    left = json.loads(hooks.path.read_text("utf-8"))["hooks"]
    assert left == {
        "Stop": [{"hooks": [{"command": "say done"}]}],
        "SessionStart": [{"hooks": [{"type": "command", "command": "other"}]}],
    }
    if server.is_toml:
        assert server.path.read_text("utf-8") == TOML


@pytest.mark.parametrize("host", HOSTS)
def test_what_a_person_added_to_our_server_stays(folder: Path, host: str) -> None:
    _, server = settings_files(host, "user", folder)
    added = {"env": {"OPENAI_API_KEY": "k", "a b": "c"}, "startup_timeout_sec": 20, "off": False}
    if server.is_toml:
        own = 'startup_timeout_sec = 20\noff = false\nenv_vars = ["MY_VAR", "RLM_CONFIG"]\n'
        table = f'[mcp_servers.rlm]\ncommand = "/old/bin/rlm"\nargs = ["mcp"]\n{own}'
        put(server, f'{TOML}\n{table}\n[mcp_servers.rlm.env]\nOPENAI_API_KEY = "k"\n'
            '"a b" = "c"\n'.encode())  # fmt: skip
    else:
        entry = {"command": "/old/bin/rlm", "args": ["mcp"], **added}
        put(server, json.dumps({"mcpServers": {"rlm": entry}}).encode())
    assert install(host, "user", folder)
    ours = our_entries(server)["server"]
    assert {name: ours[name] for name in added} == added
    assert ours["command"] == sys.executable
    if server.is_toml:
        assert {"MY_VAR", "RLM_CONFIG", "PGPASSWORD"} <= set(ours["env_vars"])
    assert not install(host, "user", folder)  # and nothing more is to be changed
    remove(host, "user", folder)
    assert "rlm" not in server.path.read_text("utf-8")


BROKEN = (b'{"a": 1', b'{"a": 1}}', b"[1]", b'{"hooks": []}', b'{"hooks": {"Stop": 1}}', b"\xff{}")


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("data", BROKEN, ids=repr)
def test_a_broken_file_is_left_alone_and_so_is_its_neighbour(
    folder: Path, host: str, data: bytes
) -> None:
    hooks, server = settings_files(host, "user", folder)
    put(hooks, data.replace(b'"Stop"', b'"stop"') if host == "cursor" else data)
    put(server, None)
    before = contents([hooks, server])
    with pytest.raises(ConfigError, match="nothing was changed") as caught:
        install(host, "user", folder)
    assert str(hooks.path) in str(caught.value) and contents([hooks, server]) == before


@pytest.mark.parametrize("removing", [False, True])
def test_a_name_that_stands_twice_is_told_with_its_line(folder: Path, removing: bool) -> None:
    """A host reads the last of the two, so that nobody knows which one is meant."""
    hooks, _server = settings_files("claude", "user", folder)
    install("claude", "user", folder)
    text = hooks.path.read_text("utf-8")
    doubled = text.replace("\n  }\n}", ',\n    "Stop": []\n  }\n}')
    assert doubled != text
    hooks.path.write_text(doubled, "utf-8")
    line = doubled.count("\n") - 2
    with pytest.raises(ConfigError, match=f'line {line}: "Stop" stands twice'):
        plan("claude", "user", folder, remove=removing)
    assert hooks.path.read_text("utf-8") == doubled


@pytest.mark.parametrize(
    "data", [b"a = \n", b"mcp_servers = 1\n", b"mcp_servers = {x = {}}\n", b"\xff"]
)
def test_a_broken_toml_file_is_left_alone_and_so_is_its_neighbour(
    folder: Path, data: bytes
) -> None:
    hooks, server = settings_files("codex", "user", folder)
    put(server, data)
    with pytest.raises(ConfigError, match="nothing was changed"):
        install("codex", "user", folder)
    assert contents([hooks, server]) == [None, data]


@pytest.mark.parametrize("host", HOSTS)
def test_a_read_only_file_is_left_alone(folder: Path, host: str) -> None:
    hooks, server = settings_files(host, "user", folder)
    put(hooks, b"{}")
    hooks.path.chmod(0o444)
    with pytest.raises(ConfigError, match="cannot be written"):
        install(host, "user", folder)
    assert contents([hooks, server]) == [b"{}", None]


@pytest.mark.parametrize("host", HOSTS)
def test_a_symbolic_link_stays_one_and_permissions_stay(folder: Path, host: str) -> None:
    hooks, _ = settings_files(host, "user", folder)
    real = folder / "dotfiles.json"
    real.write_bytes(b'{"a": 1}\n')
    real.chmod(0o640)
    hooks.path.parent.mkdir(parents=True)
    hooks.path.symlink_to(real)
    install(host, "user", folder)
    assert hooks.path.is_symlink() and b"hook.py" in real.read_bytes()
    assert real.stat().st_mode & 0o777 == 0o640
    remove(host, "user", folder)
    assert hooks.path.is_symlink() and real.read_bytes() == b'{"a": 1}\n'


@pytest.mark.parametrize("host", HOSTS)
def test_a_server_of_our_name_that_is_not_ours_stays(folder: Path, host: str) -> None:
    _, server = settings_files(host, "user", folder)
    url = "https://team.example/mcp"
    table = f'[mcp_servers.rlm]\nurl = "{url}"\n'
    data = (table if server.is_toml else json.dumps({"mcpServers": {"rlm": {"url": url}}})).encode()
    put(server, data)
    notes = [change.note for change in plan(host, "user", folder)]
    install(host, "user", folder)
    assert contents([server]) == [data] and "which was left" in notes[1]
    remove(host, "user", folder)
    assert contents([server]) == [data]


def test_the_command_lines_are_absolute_and_name_no_version(folder: Path) -> None:
    for host in HOSTS:
        install(host, "user", folder)
        for file in settings_files(host, "user", folder):
            for entry in our_entries(file).values():
                line = json.dumps(entry)
                assert json.dumps(sys.executable)[1:-1] in line and "rlm_memory" not in line
    codex = settings_files("codex", "user", folder)[1].path.read_text("utf-8")
    assert tomllib.loads(codex)["mcp_servers"]["rlm"]["args"] == ["-P", "-m", "rlm", "mcp"]


def test_the_server_of_codex_gets_the_variables_that_its_hooks_read(folder: Path) -> None:
    _, server = settings_files("codex", "user", folder)
    put(server, TOML_OLDER.encode())
    install("codex", "user", folder)
    named = our_entries(server)["server"]["env_vars"]
    assert {"RLM_CONFIG", *(variable for _, variable in HOOK_SETTINGS.values())} < set(named)
    remove("codex", "user", folder)
    assert contents([server]) == [TOML.encode()]


def test_hosts_that_were_moved_are_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder / "c"))
    monkeypatch.setenv("CODEX_HOME", str(folder / "x"))
    names = [file.path for host in HOSTS[:2] for file in settings_files(host, "user", folder)]
    expected = ("c/settings.json", "c/.claude.json", "x/hooks.json", "x/config.toml")
    assert names == [folder / each for each in expected]


def test_a_project_is_the_repository_around(folder: Path) -> None:
    files = settings_files("claude", "project", folder)
    assert [file.path for file in files] == [
        folder.parent / ".claude" / "settings.json",
        folder.parent / ".mcp.json",
    ]


def test_a_copy_of_the_file_is_kept_beside_our_config(folder: Path) -> None:
    hooks, _ = settings_files("claude", "user", folder)
    put(hooks, COMMENTED.encode())
    install("claude", "user", folder)
    kept = Path(os.environ["HOME"]) / ".config" / "rlm" / "setup"
    [copy] = kept.glob("*-settings.json")
    assert copy.read_bytes() == COMMENTED.encode() and copy.stat().st_mode & 0o077 == 0
