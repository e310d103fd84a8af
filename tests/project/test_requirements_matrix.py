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
    (project / "tests" / name).write_text(f"import pytest\n\n{body}\n")


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
