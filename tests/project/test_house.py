"""What `make house` and the picture in docs/design.md say of the rooms."""

from __future__ import annotations

import house
import pytest


@pytest.fixture
def modules(tmp_path):
    """A small house: agent -> tools -> learning -> tools, and all of them -> errors."""
    sources = {
        "errors.py": "",
        "agent.py": "from rlm.tools import box\nfrom rlm import errors\n",
        "tools/__init__.py": "from rlm import learning\nfrom rlm.errors import RLMError\n",
        "tools/box.py": "from . import other\nfrom ..learning.judge import judge\n",
        "learning/judge.py": "from rlm.tools.box import Box\nimport rlm.llm.offline.client\n",
        "llm/offline/client.py": "x = 1\n",
    }
    for name, source in sources.items():
        path = tmp_path / "src" / "rlm" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, "utf-8")
    return house.read_modules(tmp_path)


def test_edges_are_counted_between_rooms(modules):
    assert house.edges_between(modules) == {
        ("agent", "tools"): 1,
        ("agent", "errors"): 1,
        ("tools", "learning"): 2,
        ("tools", "errors"): 1,
        ("learning", "tools"): 1,
        ("learning", "llm"): 1,
    }


def test_a_cycle_is_found(modules):
    edges = house.edges_between(modules)
    assert house.cycles(edges) == [("learning", "tools")]
    del edges["learning", "tools"]
    assert house.cycles(edges) == []


def test_the_picture_leaves_out_the_ground_floor_and_what_is_implied(modules):
    arrows = [line.strip() for line in house.mermaid(modules) if "-->" in line]
    assert arrows == [
        "agent --> tools",
        "learning --> llm",
        "learning --> tools",
        "tools --> learning",
    ]
