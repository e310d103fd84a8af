"""A bare install: the wheel alone, beside its dependencies, loads its packs and searches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

SCRIPT = """
import json, sys, rlm
with rlm.open_store(sys.argv[1]) as store:
    reports = [rlm.import_pack(name, store) for name in ("core_v1", "prov_v1")]
    hits = store.retrieve("which subclasses does this class have?", 1)
    print(json.dumps({
        "home": rlm.__file__,
        "version": rlm.__version__,
        "added": [report.added for report in reports],
        "trust": [report.trust for report in reports],
        "hit": hits[0].item.title,
        "engine": store.stats()["engine"],
    }))
"""


def run(command, cwd, **variables):
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**env, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(root, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, root], cwd=out
    )
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The Python of an environment that holds the wheel, and sees our dependencies but not our
    source."""
    home = tmp_path_factory.mktemp("bare") / "env"
    venv.create(home, with_pip=False, system_site_packages=False)
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index",
         "--disable-pip-version-check", wheel], cwd=home)  # fmt: skip
    paths = sysconfig.get_paths()
    target = run(
        [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"], cwd=home
    ).strip()
    # A .pth adds folders after our own, and .pth files in those are not read: an editable rlm stays
    # unseen.
    Path(target, "dependencies.pth").write_text(
        f"{paths['purelib']}\n{paths['platlib']}\n", "utf-8"
    )
    return python


def test_the_wheel_holds_what_it_should_and_no_more(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for name in (
        "rlm/py.typed",
        "rlm/data/memory_packs/core_v1.jsonl",
        "rlm/data/memory_packs/prov_v1.jsonl",
    ):
        assert name in names
    assert any(name.endswith("dist-info/licenses/LICENSE") for name in names)
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"rlm"}
    assert not [name for name in names if "test" in name or name.endswith((".pyc", ".db"))]
    assert wheel.stat().st_size < 2_000_000


@pytest.mark.req("RB-13")
def test_packs_load_from_an_installed_wheel(installed, tmp_path, root):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, "utf-8")
    said = json.loads(run([installed, "-W", "error", script, tmp_path / "memory.db"], cwd=tmp_path))
    assert Path(said["home"]).is_relative_to(installed.parent.parent)
    assert not Path(said["home"]).is_relative_to(root)
    assert said["added"] == [7, 19]
    assert said["trust"] == ["trusted", "trusted"]
    assert "ubclasses" in said["hit"]
    assert said["engine"]["lexical"] == "fts5"
    assert said["engine"]["semantic"]


def test_the_command_is_installed(installed, tmp_path):
    command = installed.with_name("rlm.exe" if os.name == "nt" else "rlm")
    assert "rlm" in run([command, "--version"], cwd=tmp_path)
    assert "Usage" in run([command, "--help"], cwd=tmp_path, NO_COLOR="1")
