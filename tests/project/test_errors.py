"""One tree of errors, the same in the code, in its docstring and in the docs."""

from __future__ import annotations

import re
import tomllib
from itertools import chain

import pytest

from rlm import errors
from rlm.errors import NotFound, PackError, RLMError, ValidationError


def test_every_error_is_in_the_drawing(gendocs):
    assert gendocs.drawn_tree(errors.__doc__) == [
        (d, kind.__name__) for d, kind in gendocs.error_tree()
    ]


def test_every_error_lives_in_one_module_and_is_public(gendocs):
    import rlm

    for _, kind in gendocs.error_tree():
        assert kind.__module__ == "rlm.errors"
        assert kind.__name__ in rlm.__all__


def test_every_error_is_in_the_docs(gendocs, root):
    page = (root / "docs" / "errors.md").read_text("utf-8")
    for _, kind in gendocs.error_tree():
        assert f"| `{kind.__name__}` |" in page


def test_a_class_that_is_missing_from_the_drawing_is_told(gendocs, monkeypatch):
    monkeypatch.setattr(errors, "__doc__", errors.__doc__.replace("StoreFull", "StoreFlat"))
    with pytest.raises(gendocs.Stale, match=r"StoreFlat.*StoreFull"):
        gendocs.errors_page()


def test_a_tree_that_is_drawn_reads_back(gendocs):
    tree = [(0, "A"), (1, "B"), (2, "C"), (3, "D"), (1, "E"), (2, "F"), (2, "G")]
    lines = gendocs.draw_tree(tree)
    assert lines[3] == "│       └── D"
    assert gendocs.drawn_tree("\n".join(f"    {line}" for line in lines)) == tree


def test_errors_are_also_what_python_expects():
    assert issubclass(ValidationError, ValueError)
    assert issubclass(NotFound, KeyError)
    assert str(NotFound("no memory 'x'")) == "no memory 'x'"
    assert ValidationError("bad", field="title").field == "title"


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ({}, "bad"),
        ({"path": "a.jsonl"}, "a.jsonl: bad"),
        ({"path": "a.jsonl", "line": 3}, "a.jsonl:3: bad"),
    ],
)
def test_a_pack_error_says_where(where, text):
    error = PackError("bad", **where)
    assert isinstance(error, RLMError)
    assert str(error) == text


def test_every_package_that_a_message_says_to_install_can_be_installed(root):
    """rlm itself is on no package index; what it needs is, by the version that pyproject asks."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    known = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    source = "".join(path.read_text("utf-8") for path in (root / "src").rglob("*.py"))
    told = set(re.findall(r"""pip install (?:--upgrade |--no-deps )?['"]?([^'"`\s]+)""", source))
    assert len(told) > 4
    assert [each for each in told if not any(need.startswith(each) for need in known)] == ["."]
