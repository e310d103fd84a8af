"""An id of the caller's own (seed 001): kept beside the stable id, and good wherever an id is asked
for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlm.errors import NotFound, ValidationError
from rlm.store.open import open_store
from rlm.store.types import MemoryItem, Tenant

pytestmark = pytest.mark.req("PM-01")


@pytest.fixture(params=["json", "sqlite"])
def where(request, tmp_path):
    return f"{request.param}:{tmp_path / 'memories'}"


def item(alias="mem-1", title="Count rows", **values):
    return MemoryItem(
        id=alias, title=title, description="All of them.", content="- count", **values
    )


def test_every_call_that_takes_an_id_takes_it(where):
    with open_store(where, embedder="none") as store:
        stable = store.add(item())
        assert store.get("mem-1").memory_id == stable
        assert store.update("mem-1", tags=["rows"]).tags == ["rows"]
        assert store.adjust_confidence("mem-1", -0.1, kind="not_helpful") == pytest.approx(0.7)
        assert store.signals("mem-1") == store.signals(stable) != []
        assert store.delete("mem-1") and store.get("mem-1").archived_at
        assert store.restore("mem-1") and store.get("mem-1").archived_at is None
        changed = store.update("mem-1", content="- count them")
        assert changed.memory_id != stable and store.get("mem-1").memory_id == changed.memory_id
        assert store.purge("mem-1") and store.get("mem-1") is None
        with pytest.raises(NotFound, match="no memory 'mem-1' here"):
            store.update("mem-1", tags=[])


def test_nobody_else_sees_it(where):
    with open_store(where, embedder="none", tenant=Tenant(project="mine")) as store:
        store.add(item())
    with open_store(where, embedder="none", tenant=Tenant(project="theirs")) as store:
        assert store.get("mem-1") is None
        store.add(item(title="Another"))
        assert store.get("mem-1").title == "Another"


def test_a_stable_id_comes_before_an_alias_and_the_newest_alias_before_an_older_one(where):
    with open_store(where, embedder="none") as store:
        stable = store.add(item(""))
        store.add(item(title="The old one"))
        store.add(item(title="The new one"))
        store.add(item(title="Not trusted", trust="quarantined"))
        store.add(item("", "An impostor", provenance={"alias": stable}))
        assert store.get("mem-1").title == "The new one"
        assert store.get(stable).title == "Count rows"


def test_the_same_words_are_one_memory_whatever_they_are_called(where):
    with open_store(where, embedder="none") as store:
        assert store.add(item("mem-1")) == store.add(item("mem-2"))
        assert store.stats()["memories"] == 1
        assert store.get("mem-1").id == "mem-1"


def test_copies_and_dicts_keep_it():
    one = item(provenance={"source": "human"})
    assert one.provenance == {"source": "human", "alias": "mem-1"}
    assert replace(one, title="Other", memory_id="").id == "mem-1"
    assert replace(item(""), title="Other", memory_id="").provenance == {}
    assert MemoryItem.from_dict({**item("").to_dict(), "id": "mem-1"}).id == "mem-1"
    assert MemoryItem.from_dict(one.to_dict()).id == "mem-1"


def test_a_new_content_gives_a_new_stable_id_and_the_same_alias():
    one, other = item(), item("")
    for each in (one, other):
        each.content = "- other"
        each.rekey()
    assert one.id == "mem-1" and one.memory_id == other.memory_id == other.id


@pytest.mark.parametrize("bad", [7, "x" * 201, "two\nlines", ["mem-1"]])
def test_what_is_no_id(bad):
    with pytest.raises(ValidationError, match=r"id is .*: use 1 to 200 printable characters"):
        item(bad)
