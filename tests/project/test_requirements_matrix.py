"""The matrix tool on small trees: what counts as a proof, and what it refuses."""

from __future__ import annotations

import pytest

TABLE = """
[[group]]
title = "A: things"
[group.rows]
A-01 = "the first"
A-02 = "the second"
"A-03.1" = "the third"
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "tests" / "sub").mkdir(parents=True)
    (tmp_path / "docs" / "requirements.toml").write_text(TABLE)
    return tmp_path


def write_test(project, body, name="sub/test_it.py"):
    """A test file in which `...` goes through a public door."""
    body = body.replace("...", "rlm.open_store")
    (project / "tests" / name).write_text(f"import pytest, rlm\n\n{body}\n")


def write_page(gendocs, project):
    (project / "docs" / "requirements.md").write_text(
        gendocs.NOTE + gendocs.requirements_page(project) + "\n"
    )


def test_marks_on_functions_classes_and_modules_count(gendocs, project):
    write_test(project, '@pytest.mark.req("A-01", "A-02")\ndef test_one(): ...')
    write_test(
        project,
        'pytestmark = [pytest.mark.slow, pytest.mark.req("A-03.1")]\ndef test_x(): ...',
        "test_m.py",
    )
    write_test(
        project,
        '@pytest.mark.req("A-01")\nclass TestC:\n    @pytest.mark.req("A-02")\n    def'
        " test_in(self): ...",
        "test_c.py",
    )
    write_test(
        project,
        '@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.req("A-02"))])\ndef'
        " test_p(x): ...",
        "test_p.py",
    )
    proofs = gendocs.read_marks(project).proofs
    assert proofs["A-01"] == ["tests/sub/test_it.py::test_one", "tests/test_c.py::TestC"]
    assert proofs["A-02"] == [
        "tests/sub/test_it.py::test_one",
        "tests/test_c.py::TestC::test_in",
        "tests/test_p.py::test_p",
    ]
    assert proofs["A-03.1"] == ["tests/test_m.py"]
    page = gendocs.requirements_page(project)
    assert "3 of 3 rows are proven" in page
    assert "| A-03.1 | the third | proven | `tests/test_m.py` |" in page


@pytest.mark.parametrize(
    "body",
    [
        '@pytest.mark.req("A-01")\n@pytest.mark.skip\ndef test_one(): ...',
        '@pytest.mark.req("A-01")\n@pytest.mark.xfail(strict=True)\ndef test_one(): ...',
        '@pytest.mark.req("A-01")\ndef helper(): ...',
        '# @pytest.mark.req("A-01")\ndef test_one(): ...',
    ],
)
def test_what_never_runs_proves_nothing(gendocs, project, body):
    write_test(project, body)
    assert "| A-01 | the first | open |" in gendocs.requirements_page(project)


DOORS = {
    "a name of the package": "import rlm\ndef test_one():\n    rlm.open_store('x')",
    "the same, from its room": "from rlm.store.open import open_store\ndef test_one():\n    open_store('x')",
    "a name of a room": "from rlm import packs\ndef test_one():\n    packs.verify_pack('x')",
    "a type and nothing else": "from rlm import MemoryItem\ndef test_one():\n    MemoryItem('t', 'd', 'c')",
    "the command line": "from rlm.cli import main\ndef test_one():\n    main(['doctor'])",
    "a process": "import subprocess, sys\nLINE = [sys.executable, '-m', 'rlm']\n"
    "def test_one():\n    subprocess.run(LINE)",
    "a script": "import subprocess, sys\nSCRIPT = 'import rlm\\nrlm.open_store(1)'\n"
    "def test_one():\n    subprocess.run([sys.executable, '-c', SCRIPT])",
    "a helper": "import rlm\ndef made():\n    return rlm.open_store('x')\ndef test_one():\n    made()",
    "a fixture": "import rlm\n@pytest.fixture\ndef store():\n    return rlm.open_store('x')\n"
    "def test_one(store):\n    store.add(1)",
    "a fixture of the folder above": "def test_one(shared):\n    shared.add(1)",
    "a helper module": "from making import made\ndef test_one():\n    made()",
    "a door and an inner call": "import rlm\nfrom rlm.store.identity import memory_id\n"
    "def test_one():\n    rlm.open_store('x').get(memory_id('t', 'c', {}))",
}
WALLS = {
    "nothing of ours": "def test_one():\n    assert 1",
    "an inner function": "from rlm.learning import confidence\ndef test_one():\n    confidence.decay()",
    "an error": "from rlm import errors, RLMError\ndef test_one():\n    RLMError()",
    "a type for an inner function": "from rlm import MemoryItem\nfrom rlm.learning.dedup import decide\n"
    "def test_one():\n    decide(MemoryItem('t', 'd', 'c'))",
    "an inner function of a store": "from rlm.learning.confidence import decay\n"
    "def test_one(shared):\n    decay(shared)",
    "an unused import": "import rlm\nfrom rlm import open_store\ndef test_one():\n    assert 1",
}


@pytest.mark.parametrize(
    ("body", "counts"),
    [*((body, True) for body in DOORS.values()), *((body, False) for body in WALLS.values())],
    ids=[*DOORS, *WALLS],
)
def test_a_mark_counts_where_the_test_goes_through_a_public_door(gendocs, project, body, counts):
    (project / "tests" / "conftest.py").write_text(
        "import pytest, rlm\n@pytest.fixture\ndef shared():\n    return rlm.open_store('x')\n"
    )
    (project / "tests" / "making.py").write_text(
        "import rlm\ndef made():\n    return rlm.open_store('x')\n"
    )
    marked = body.replace("def test_one", '@pytest.mark.req("A-01")\ndef test_one')
    write_test(project, marked)
    page = gendocs.requirements_page(project)
    assert f"| A-01 | the first | {'proven' if counts else 'open'} |" in page
    told = "## Marks that do not count" in page and "`tests/sub/test_it.py::test_one`: A-01" in page
    assert told is not counts


def test_a_file_counts_when_one_of_its_tests_does(gendocs, project):
    write_test(project, 'pytestmark = pytest.mark.req("A-01")\ndef test_a(): assert 1')
    assert "| A-01 | the first | open |" in gendocs.requirements_page(project)
    write_test(
        project, 'pytestmark = pytest.mark.req("A-01")\ndef test_a(): assert 1\ndef test_b(): ...'
    )
    assert "| A-01 | the first | proven |" in gendocs.requirements_page(project)


def test_a_mark_that_names_no_row_is_refused(gendocs, project):
    write_test(project, '@pytest.mark.req("A-01")\n@pytest.mark.req("A-09")\ndef test_one(): ...')
    with pytest.raises(gendocs.Stale, match=r"tests/sub/test_it\.py:4: A-09 is no row"):
        gendocs.requirements_page(project)


@pytest.mark.parametrize(
    "call", ["req(ID)", "req()", 'req(*["A-01"])', 'req("A-01", why="x")', "req(1)"]
)
def test_an_id_that_cannot_be_read_is_refused(gendocs, project, call):
    write_test(project, f"@pytest.mark.{call}\ndef test_one(): ...")
    with pytest.raises(gendocs.Stale, match="write the ids out"):
        gendocs.requirements_page(project)


def test_a_proof_cannot_vanish(gendocs, project):
    write_test(project, '@pytest.mark.req("A-01")\ndef test_one(): ...')
    write_page(gendocs, project)
    write_test(project, "def test_one(): ...")
    with pytest.raises(gendocs.Stale, match="A-01 was proven and has lost its last test"):
        gendocs.requirements_page(project)
    for check in (True, False):
        assert any(
            "A-01" in problem
            for problem in gendocs.run(check=check, root=project, only=["requirements.md"])
        )
    assert "| A-01 | the first | proven |" in (project / "docs" / "requirements.md").read_text()
    assert "| A-01 | the first | open |" in gendocs.requirements_page(project, forget=["A-01"])


def test_a_proof_may_move(gendocs, project):
    write_test(project, '@pytest.mark.req("A-01")\ndef test_one(): ...')
    write_page(gendocs, project)
    write_test(project, '@pytest.mark.req("A-01")\ndef test_better(): ...')
    assert "::test_better" in gendocs.requirements_page(project)


def test_a_row_cannot_vanish(gendocs, project):
    write_page(gendocs, project)
    (project / "docs" / "requirements.toml").write_text(TABLE.replace('A-02 = "the second"\n', ""))
    with pytest.raises(gendocs.Stale, match="A-02 is no row any more"):
        gendocs.requirements_page(project)
    assert "A-02" not in gendocs.requirements_page(project, forget=["A-02"])


def test_an_id_listed_twice_is_refused(gendocs, project):
    table = project / "docs" / "requirements.toml"
    table.write_text(TABLE + '[[group]]\ntitle = "B"\n[group.rows]\nA-02 = "again"\n')
    with pytest.raises(gendocs.Stale, match="A-02 is listed twice"):
        gendocs.requirements_page(project)


def test_our_own_table_is_complete(gendocs, root):
    ids = [
        name for _, rows in gendocs.read_rows(root / "docs" / "requirements.toml") for name in rows
    ]
    expected = [f"{group}-{n:02}" for group, count in (("RB", 24), ("PM", 14), ("UT", 13), ("CX", 11))
                for n in range(1, count + 1)]  # fmt: skip
    assert ids == [*expected, *(f"SPEC-02.{n:02}" for n in range(1, 39))]
