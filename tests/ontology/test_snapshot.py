"""A dataset in a file: what goes in comes back, the same data is the same bytes, anything else is
refused."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm import clock
from rlm.errors import OntologyError
from rlm.ontology.datasets import snapshot as snapshot_module
from rlm.ontology.datasets.dataset import DatasetMeta
from rlm.ontology.datasets.snapshot import load_snapshot, open_persistent, save_snapshot
from rlm.ontology.terms import iri, literal
from rlm.ontology.vocabulary import XSD

A, P = "http://e/a", "http://e/p"

# -- round trips

IRIS = st.builds(
    "http://e/{}".format,
    st.text(st.sampled_from("abcXYZ019-._~:/?#@!$&'()*+,;=éλ中\u2028\U0001f600"), max_size=8),
).filter(lambda text: text.count("#") <= 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    [
        '"',
        "\\",
        "\n",
        "\r\n",
        '"""',
        "\x00",
        "\x7f\x85\u2028\ufffe",
        " .\n}\n",
        "\\u0041",
        "<x> {",
        "'",
    ]
)
NUMBERS = st.builds(
    lambda value, kind: literal(value, datatype=XSD + kind),
    st.from_regex(r"[+-]?[0-9]{1,20}(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
    | st.sampled_from(["NaN", "-0"]),
    st.sampled_from(
        ["integer", "decimal", "double", "float", "boolean", "dateTime", "duration", "unsignedByte"]
    ),
)
LITERALS = (
    st.builds(literal, TEXTS)
    | st.builds(
        lambda text, lang: literal(text, lang=lang),
        TEXTS,
        st.sampled_from(["en", "de-AT", "zh-Hant-TW", "x-a"]),
    )
    | st.builds(lambda text, kind: literal(text, datatype=kind), TEXTS, IRIS)
    | NUMBERS
)
STATEMENTS = st.lists(st.tuples(IRIS, IRIS, st.builds(iri, IRIS) | LITERALS), max_size=10)
SESSIONS = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=20).filter(
    str.isprintable
)


@pytest.mark.req("PM-09")
@settings(max_examples=30)
@given(statements=STATEMENTS, session_id=SESSIONS)
def test_what_is_saved_comes_back(statements, session_id, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    dataset = DatasetMeta("demo", session_id=session_id)
    for s, p, o in statements:
        dataset.mem_add(s, p, o)
    path = save_snapshot(dataset, folder / "a.trig")
    found = load_snapshot(path)
    assert (found.name, found.session_id) == (dataset.name, session_id)
    assert found.image()[1] == dataset.image()[1]
    assert found.stats()["bytes"] == dataset.stats()["bytes"]
    assert not found.changed
    again = save_snapshot(found, folder / "b.trig")
    assert again.read_bytes() == path.read_bytes()


BODY = (
    '<urn:rlm:demo> <urn:rlm:vocab#format> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    '<urn:rlm:demo> <urn:rlm:vocab#name> "demo" .\n'
    '<urn:rlm:demo> <urn:rlm:vocab#session> "s-1" .\n'
    "<urn:rlm:demo:mem> {\n}\n"
    "<urn:rlm:demo:prov> {\n}\n"
    "<urn:rlm:demo:work/t> {\n"
    '<http://e/a> <http://e/p> "x" .\n'
    '_:n1 <http://e/p> "y"@en .\n'
    "}\n"
)
"""A snapshot of an older version, with a graph that nothing adds to any more."""


def small(session_id: str = "s-1") -> DatasetMeta:
    dataset = DatasetMeta("demo", session_id=session_id)
    dataset.mem_add(A, P, "x")
    return dataset


def facts(dataset: DatasetMeta) -> list[str]:
    mem = dataset.image()[1].partition("mem> {\n")[2].partition("}\n")[0]
    return mem.splitlines()


def test_a_snapshot_of_an_older_version_is_kept_as_it_is(tmp_path):
    path = tmp_path / "d.trig"
    path.write_bytes(sealed(BODY))
    found = load_snapshot(path)
    assert found.stats()["graphs"] == {"mem": 0, "prov": 0, "work/t": 2}
    assert len(found.query("SELECT * { ?s ?p ?o }").rows) == 2
    found.close()
    assert save_snapshot(found, tmp_path / "again.trig").read_bytes() == path.read_bytes()


def test_the_order_of_adding_does_not_show(tmp_path):
    texts = []
    for values in ([1, 2, 3], [3, 1, 2]):
        dataset = DatasetMeta("demo", session_id="s")
        with clock.frozen(datetime(2026, 1, 2, tzinfo=UTC)):
            for value in values:
                dataset.mem_add(A, P, value)
        texts.append(save_snapshot(dataset, tmp_path / "d.trig").read_bytes())
    assert texts[0] == texts[1]


def test_only_the_owner_may_read_it_and_nothing_is_left_beside_it(tmp_path):
    path = save_snapshot(small(), tmp_path / "deep" / "d.trig")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    save_snapshot(small(), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = save_snapshot(small("old"), tmp_path / "d.trig")
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    dataset = small("new")
    with pytest.raises(OntologyError, match="No space left"):
        save_snapshot(dataset, path)
    assert (path.read_bytes(), list(tmp_path.iterdir()), dataset.changed) == (before, [path], True)
    monkeypatch.undo()
    for bad in (tmp_path, path / "below", tmp_path / "a\0b"):
        with pytest.raises(OntologyError, match="cannot be written"):
            save_snapshot(dataset, bad)
    assert list(tmp_path.iterdir()) == [path]


# -- what is refused


def sealed(body: str | bytes, version: int = 1) -> bytes:
    """A file whose sum is right, whatever is in it."""
    raw = body.encode() if isinstance(body, str) else body
    return f"# rlm dataset snapshot {version} sha256:{sha256(raw).hexdigest()}\n".encode() + raw


def test_any_damage_is_seen(tmp_path):
    raw, path = sealed(BODY), tmp_path / "d.trig"
    for place in range(0, len(raw), 3):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
        with pytest.raises(OntologyError, match=r"d\.trig"):
            load_snapshot(path)
        path.write_bytes(raw[:place])
        with pytest.raises(OntologyError, match=r"d\.trig"):
            load_snapshot(path)
    path.write_bytes(raw + b"\n")
    with pytest.raises(OntologyError, match="damaged"):
        load_snapshot(path)


NEST = "<<( <urn:a> <urn:p> " * 50_000
HOSTILE = {
    "nested": (lambda body: body + f"<urn:a> <urn:p> {NEST}", "none of a snapshot"),
    "blank with content": (lambda body: body + '[] <urn:p> "x" .\n', "none of a snapshot"),
    "base": (lambda body: "@base <http://e/> .\n" + body, "none of a snapshot"),
    "two on a line": (
        lambda body: body.replace('"x" .', '"x" . <urn:a> <urn:p> "y" .'),
        "none of a snapshot",
    ),
    "a label of its own": (lambda body: body.replace("_:n1", "_:evil"), "none of a snapshot"),
    "label too large": (lambda body: body.replace("_:n1", "_:n" + "9" * 13), "none of a snapshot"),
    "relative": (lambda body: body.replace("<http://e/a>", "<a>"), "not valid TriG"),
    "bad escape": (lambda body: body.replace('"x"', '"\\q"'), "not valid TriG"),
    "bad language": (lambda body: body.replace("@en", "@1"), "not valid TriG"),
    "open": (lambda body: body[:-2], "not valid TriG"),
    "closed twice": (lambda body: body + "}\n", "not valid TriG"),
    "no head": (lambda body: body.split("\n", 3)[3], "says its format"),
    "two sessions": (
        lambda body: '<urn:rlm:demo> <urn:rlm:vocab#session> "t" .\n' + body,
        "says its format",
    ),
    "session is no text": (lambda body: body.replace('"s-1"', "<urn:s>"), "says its format"),
    "other format": (lambda body: body.replace('"1"^^', '"2"^^'), "says its format"),
    "other subject": (
        lambda body: body.replace("<urn:rlm:demo> ", "<urn:rlm:other> "),
        "says its format",
    ),
    "bad session": (lambda body: body.replace('"s-1"', '"a\\nb"'), "no session id"),
    "bad name": (
        lambda body: body.replace('"demo"', '"a/b"').replace("urn:rlm:demo", "urn:rlm:a/b"),
        "cannot name",
    ),
    "graph of another": (lambda body: body.replace("demo:work", "other:work"), "is no graph of"),
    "no such graph": (lambda body: body.replace(":work/t", ":else"), "is no graph of"),
    "graph outside": (lambda body: body.replace(":work/t", ":work/t/u"), "is no graph of"),
    "empty graph of another": (lambda body: body + "<urn:x:y> {\n}\n", "is no graph of"),
    "long term": (lambda body: body.replace('"x"', '"' + "x" * (1 << 20) + '"'), "too long"),
    "too many graphs": (lambda body: body + "<urn:rlm:demo:mem> {\n}\n" * 300, "256 graphs"),
    "too many statements": (
        lambda body: body[:-2] + '_:n1 <urn:p> "" .\n' * 100_010 + "}\n",
        "100,000 statements",
    ),
    "no UTF-8": (lambda body: body.encode().replace(b'"x"', b'"\xff"'), "not UTF-8"),
    "empty": (lambda body: "", "says its format"),
    "language type without one": (
        lambda body: body.replace(
            '"x"', '"x"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>'
        ),
        "TriG",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_sum_that_is_right_does_not_make_a_snapshot(tmp_path, case):
    change, said = HOSTILE[case]
    changed = change(BODY)
    assert changed not in (BODY, BODY.encode())
    path = tmp_path / "d.trig"
    path.write_bytes(sealed(changed))
    with pytest.raises(OntologyError, match=said) as caught:
        load_snapshot(path)
    assert len(str(caught.value)) < 1000


def test_foreign_newer_large_and_missing_files_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "d.trig"
    path.write_text("<http://e/a> <http://e/p> 1 .")
    with pytest.raises(OntologyError, match="no snapshot of a dataset"):
        load_snapshot(path)
    path.write_bytes(sealed(BODY, version=2))
    with pytest.raises(OntologyError, match="format 2, this rlm reads 1"):
        load_snapshot(path)
    with pytest.raises(OntologyError, match="there is no snapshot"):
        load_snapshot(tmp_path / "none")
    with pytest.raises(OntologyError, match=r"no regular file|cannot be read"):
        load_snapshot(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OntologyError, match="no regular file"):
        load_snapshot(tmp_path / "pipe")
    with pytest.raises(OntologyError, match="cannot be read"):
        load_snapshot(tmp_path / "a\0b")
    monkeypatch.setattr(snapshot_module, "MAX_SNAPSHOT_BYTES", 100)
    with pytest.raises(OntologyError, match="too large"):
        load_snapshot(path)


# -- around a run


@pytest.mark.req("PM-09")
def test_a_run_finds_what_the_last_one_left(tmp_path):
    path = tmp_path / "d.trig"
    with open_persistent(path, "demo", session_id="s-1") as first:
        assert first.snapshot_path is None
        first.mem_add(A, P, "learned")
    assert first.snapshot_path == str(path)
    assert not first.changed
    with open_persistent(path, "demo", session_id="ignored") as second:
        assert second.session_id == "s-1"
        assert second.snapshot_path == str(path)
        assert facts(second) == [f'<{A}> <{P}> "learned" .']


@pytest.mark.req("PM-09")
def test_nothing_is_written_when_nothing_changed(tmp_path):
    path = tmp_path / "d.trig"
    with open_persistent(path, "demo") as dataset:
        dataset.stats()
    assert not path.exists()
    assert dataset.snapshot_path is None
    save_snapshot(small(), path)
    before = path.stat()
    with open_persistent(path, "demo") as dataset:
        assert not dataset.mem_add(A, P, "x")
    after = path.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.req("PM-09")
def test_a_run_that_fails_saves_nothing(tmp_path):
    path = save_snapshot(small(), tmp_path / "d.trig")
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError), open_persistent(path, "demo") as dataset:
        dataset.mem_add(A, P, "half")
        raise ZeroDivisionError
    assert path.read_bytes() == before


def test_a_snapshot_that_cannot_be_loaded_is_left_alone(tmp_path):
    path = tmp_path / "d.trig"
    path.write_text("something else")
    with pytest.raises(OntologyError, match="no snapshot"), open_persistent(path, "demo"):
        pytest.fail("the block must not run")
    assert path.read_text() == "something else"
    save_snapshot(small(), path)
    with (
        pytest.raises(OntologyError, match="holds the dataset demo, not other"),
        open_persistent(path, "other"),
    ):
        pytest.fail("the block must not run")


def test_another_run_is_not_undone(tmp_path):
    path = tmp_path / "d.trig"
    with pytest.raises(OntologyError, match="another run"), open_persistent(path, "demo") as mine:
        mine.mem_add(A, P, "mine")
        with open_persistent(path, "demo") as theirs:
            theirs.mem_add(A, P, "theirs")
    assert facts(load_snapshot(path)) == [f'<{A}> <{P}> "theirs" .']
    assert mine.changed
    assert facts(load_snapshot(save_snapshot(mine, tmp_path / "mine.trig")))


def test_saving_in_the_middle_or_elsewhere_does_not_confuse_the_end(tmp_path):
    path = tmp_path / "d.trig"
    with open_persistent(path, "demo") as dataset:
        dataset.mem_add(A, P, 1)
        save_snapshot(dataset, path)
        dataset.mem_add(A, P, 2)
    assert len(facts(load_snapshot(path))) == 2
    with open_persistent(path, "demo") as dataset:
        dataset.mem_add(A, P, 3)
        save_snapshot(dataset, tmp_path / "copy.trig")
    assert len(facts(load_snapshot(path))) == 3
    assert dataset.snapshot_path == str(path)
