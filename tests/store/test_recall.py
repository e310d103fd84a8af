"""Recall: which index finds a row must not change what is found, and no index is needed."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_opening import open_store

from rlm.store.sqlite import wordindex
from rlm.store.sqlite.backend import SQLiteMemoryBackend
from rlm.store.sqlite.candidates import SQLiteCandidates
from rlm.store.types import MemoryItem, Tenant

WORDS = re.findall(
    r"\w+",
    """graph class search label entity query filter property domain range path root token budget cache index
    memory agent prompt handle retry error lock write read merge seal tail score rank level team secret pack
    deploy restart parse schema column table backup restore export import verify sign key hash date time zone""",
)


def corpus(count, seed=1):
    rng = random.Random(seed)
    return [
        MemoryItem(
            title=f"Recipe {n}: {' '.join(rng.choices(WORDS, k=3))}",
            description=" ".join(rng.choices(WORDS, k=8)),
            content=" ".join(rng.choices(WORDS, k=rng.randint(4, 30))),
            tags=rng.sample(WORDS, 2),
            confidence=rng.choice((0.4, 0.6, 0.8)),
        )
        for n in range(count)
    ]


QUERIES = [
    "how do I parse a date",
    "graph class label",
    "Recipe 17",
    "seal the tail and merge",
    "secret key",
    "zone",
]


def answers(store, k=5):
    return [
        {hit.item.memory_id: hit.score for hit in store.retrieve(query, k=k)} for query in QUERIES
    ]


def agree(*all_answers):
    """The same hits with the same scores, but for the last digits of a sum in another order."""
    first, *others = all_answers
    return all(
        a == pytest.approx(b, abs=1e-4)
        for other in others
        for a, b in zip(first, other, strict=True)
    )


@pytest.fixture
def large(monkeypatch):
    """A few rows make a large store, so that the word index serves it."""
    monkeypatch.setattr(wordindex, "LARGE", 30)
    monkeypatch.setattr(wordindex, "LAG", 10)


def sound(db):
    return all(check.ok for check in db.check())


def has_word_index(db):
    return [check.detail for check in db.check() if check.name == "word index of memory_items"]


@pytest.mark.req("RB-03", "RB-04")
def test_three_engines_one_answer(tmp_path, monkeypatch):
    """FTS5, the word index, and the plain scan of a store without FTS5 agree to the last digit
    that matters."""
    items = corpus(90)
    with open_store(tmp_path / "fts5.db") as fts5:
        fts5.add_many(items)
        plain = SQLiteMemoryBackend(tmp_path / "plain.db", embedder=fts5.embedder, fts5=False)
        plain.add_many(items)
        monkeypatch.setattr(wordindex, "LARGE", 30)
        monkeypatch.setattr(wordindex, "LAG", 10)
        with open_store(tmp_path / "words.db") as words:
            words.add_many(items)
            assert has_word_index(words) == ["ok: up to row 90"]
            engines = [store.stats()["engine"]["lexical"] for store in (fts5, words, plain)]
            assert engines == ["fts5", "tantivy", "scan"]
            assert agree(answers(fts5), answers(words), answers(plain))
        plain.close()


def test_nodes_that_were_written_with_other_rows_get_their_word_index(tmp_path, large):
    """As a worker writes the turns of a session, with its memories and its job."""
    with open_store(tmp_path / "m.db") as store:
        with store.together():
            store.graph.create_nodes({"type": "experience", "content": f"n {n}"} for n in range(40))
        assert store.graph.index.lexical == "tantivy"


def test_a_word_index_that_grows_in_small_steps_stays_in_one_piece(tmp_path, large):
    """Each catch-up leaves a segment, of eight files and some memory: they have to be merged."""
    with open_store(tmp_path / "m.db") as store:
        for seed in range(20):
            store.add_many(corpus(60, seed))
        assert store.stats()["engine"]["lexical"] == "tantivy"
        segments = json.loads((folder_of(store) / "meta.json").read_bytes())["segments"]
        assert len(segments) < 10


SYLLABLES = re.findall(r"\w+", "ka to mi re lo sun ter vi pra den co sta ing mer bal fo")
COMMON = re.findall(r"\w+", "the of to in a is for with and on this that how do I")


def english_like(rng):
    """A writer of texts in which a few words are common and most are rare."""
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(3_000)]
    shares = [1.0 / (place + 1) for place in range(len(words))]

    def write(count):
        chosen = rng.choices(words, shares, k=count)
        return " ".join(word if rng.random() > 0.3 else rng.choice(COMMON) for word in chosen)

    return write


@pytest.mark.parametrize(
    "rows, embedder",
    [(120, "static"), (120, "none"), pytest.param(250, "static", marks=pytest.mark.slow)],
)
def test_sqlite_and_json_give_the_same_first_ten(tmp_path, rows, embedder):
    """For every query, with levels, edited and archived memories, and confidence of any kind."""
    rng = random.Random(rows)
    write = english_like(rng)
    items = [
        MemoryItem(
            title=write(rng.randint(2, 8)),
            description=write(12),
            content=write(rng.randint(10, 120)),
            tags=[write(1)],
            confidence=rng.choice((0.3, 0.5, 0.6, 0.8, 0.9)),
            level=rng.choice(("project", "project", "team", "org")),
        )
        for _ in range(rows)
    ]
    items += [MemoryItem(f"Equal {n}", "The same.", "Same words.") for n in range(20)]
    changes = rng.sample(range(rows), 30)
    new = [write(12) for _ in changes]
    with (
        open_store(tmp_path / "m.db", embedder=embedder) as one,
        open_store(f"json:{tmp_path}/m.json", embedder=embedder) as two,
    ):
        for store in (one, two):
            ids = store.add_many(items)
            with store.together():
                for place, words in zip(changes, new, strict=True):
                    store.update(ids[place], description=words)
                    store.delete(ids[place - 1])
        queries = [write(rng.choice((2, 4, 8, 15))) for _ in range(25)]
        for query in [*queries, "equal same words"]:
            found = [[(hit.item.memory_id, hit.score) for hit in store.retrieve(query, k=10)]
                     for store in (one, two)]  # fmt: skip
            assert found[0] == found[1], query


@pytest.mark.req("RB-04")
def test_without_fts5_the_same_is_found(tmp_path):
    items = corpus(60)
    with (
        SQLiteMemoryBackend(tmp_path / "with.db") as one,
        SQLiteMemoryBackend(tmp_path / "without.db", fts5=False) as two,
    ):
        one.add_many(items)
        two.add_many(items)
        assert two.stats()["engine"]["lexical"] == "scan"
        assert one.stats()["engine"]["lexical"] == "fts5"
        assert agree(answers(one), answers(two))
        assert two.db.value("SELECT count(*) FROM sqlite_schema WHERE name LIKE '%fts%'") == 0


@given(cuts=st.lists(st.integers(1, 59), max_size=4), data=st.data())
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_history_of_edits_and_deaths_gives_the_same_answers(
    tmp_path_factory, large, cuts, data
):
    """A store that the word index caught up with anywhere, with edited and archived rows, against a
    fresh one with the same rows."""
    items = corpus(60, seed=3)
    folder = tmp_path_factory.mktemp("history")
    with open_store(folder / "a.db") as worn, open_store(folder / "b.db") as fresh:
        previous = 0
        for cut in sorted(set(cuts)):
            worn.add_many(items[previous:cut])
            previous = cut
        worn.add_many(items[previous:])
        picks = data.draw(st.lists(st.integers(0, 59), max_size=8, unique=True))
        for place in picks[::2]:
            worn.delete(items[place].memory_id)
        for place in picks[1::2]:
            worn.update(items[place].memory_id, description="graph class retold")
        kept = sorted(worn.list_items(limit=100), key=lambda found: found.title)
        wordindex.LARGE = 10**9  # the fixture puts it back
        fresh.add_many(kept)
        wordindex.LARGE = 30
        assert agree_nearly(answers(worn, 60), answers(fresh, 60))
        assert sound(worn)


def agree_nearly(worn, fresh):
    """The same hits. Dead rows stay in a word index until it is built anew, so that its document
    frequencies, and with them the scores, may lag behind: here by up to eight rows of sixty."""
    return all(
        a.keys() == b.keys() and a == pytest.approx(b, abs=0.12)
        for a, b in zip(worn, fresh, strict=True)
    )


def test_the_dead_in_a_word_index_do_not_count(tmp_path, large):
    """A fifth was archived: a document frequency is of those who live, as in a fresh store."""
    words = ("deploy", "restart", "restart rollback", "rollback", "deploy rollback", "restart")
    items = [
        MemoryItem(title=f"Step {n:03}", description=f"{words[n % 6]} it", content="Wait.")
        for n in range(300)
    ]
    mine, others = Tenant("o", "t", "mine"), Tenant("o", "t", "others")
    with (
        open_store(tmp_path / "worn.db", tenant=mine) as worn,
        open_store(tmp_path / "worn.db", tenant=others) as neighbour,
        open_store(tmp_path / "fresh.db", tenant=mine) as fresh,
    ):
        neighbour.add_many(items[::7])
        ids = worn.add_many(items)
        with worn.together():
            for place in range(300):
                if place // 6 % 5 == 0:
                    worn.delete(ids[place])
        fresh.add_many(item for place, item in enumerate(items) if place // 6 % 5)
        assert has_word_index(worn) == ["ok: up to row 343"]
        for query in ("deploy", "restart", "deploy rollback", "rollback step"):
            one, two = (store.retrieve(query, k=3) for store in (worn, fresh))
            assert [hit.score for hit in one] == pytest.approx([hit.score for hit in two]), query


@pytest.mark.req("CX-04")
@pytest.mark.parametrize("least", [30, 10**9], ids=["word index", "fts5"])
def test_a_neighbour_in_the_file_changes_nothing_at_all(tmp_path, monkeypatch, least):
    """Not a hit, not a score: idf, lengths and counts are the tenant's own."""
    monkeypatch.setattr(wordindex, "LARGE", least)
    monkeypatch.setattr(wordindex, "LAG", 10)
    mine, noise = corpus(60, seed=5), corpus(200, seed=6)
    one, two = Tenant("o", "t", "one"), Tenant("x", "y", "z")
    with (
        open_store(tmp_path / "alone.db", tenant=one) as alone,
        open_store(tmp_path / "both.db", tenant=one) as shared,
    ):
        alone.add_many(mine)
        with open_store(tmp_path / "both.db", tenant=two) as other:
            other.add_many(noise[:70])
            shared.add_many(mine[:30])
            other.add_many(noise[70:])
            shared.add_many(mine[30:])
        assert agree(answers(alone, 9), answers(shared, 9))


def test_two_processes_worth_of_connections_see_each_others_writes(tmp_path, large):
    with open_store(tmp_path / "m.db") as one, open_store(tmp_path / "m.db") as two:
        for round_, item in enumerate(corpus(60, seed=9)):
            writer, reader = (one, two) if round_ % 2 else (two, one)
            kept = writer.add(item)
            assert kept in [hit.item.memory_id for hit in reader.retrieve(item.title, k=20)]
            if round_ % 4 == 0:
                writer.delete(kept)
                assert kept not in [hit.item.memory_id for hit in reader.retrieve(item.title, k=20)]


@pytest.mark.parametrize(
    "damage",
    ["DELETE FROM recall_blocks", "UPDATE recall_blocks SET data = zeroblob(4096) WHERE block = 0"],
)
def test_sign_codes_that_are_gone_or_wrong_are_found_and_made_anew(tmp_path, damage):
    with open_store(tmp_path / "m.db") as db:
        db.add_many(corpus(700))
        before = answers(db)
        with db.db.write() as connection:
            connection.execute(damage)
        bad = {check.name for check in db.check() if not check.ok}
        assert bad == {"sign codes of memory_items"}
        assert db.repair() == ["rebuilt the full-text index and the sign codes"]
        assert sound(db)
        assert agree(answers(db), before)


def test_a_stale_full_text_index_is_caught_and_repaired(tmp_path):
    with open_store(tmp_path / "m.db") as db:
        db.add_many(corpus(40))
        with db.db.write() as connection:
            connection.execute("DROP TRIGGER memory_fts_update_old")
            connection.execute(
                "UPDATE memory_items SET description = 'Changed behind the back' WHERE item_no = 7"
            )
        assert db.db.rows("PRAGMA integrity_check") == [("ok",)], (
            "which is why the plain check is not enough"
        )
        bad = {check.name for check in db.check() if not check.ok}
        assert bad == {"schema", "full-text index of memory_items"}
        assert db.repair()[0] == "rebuilt: memory_fts_update_old"
        assert sound(db)
        assert (
            db.retrieve("changed behind the back")[0].item.description == "Changed behind the back"
        )


def folder_of(db):
    return db.index.words._folder


@pytest.mark.parametrize("fate", ["missing", "emptied", "scrambled", "locked", "garbage", "rotten"])
def test_a_word_index_that_is_missing_or_broken_changes_no_answer(tmp_path, large, fate):
    """It is derived: FTS5 serves, the next writer or `doctor --fix` brings it back."""
    with open_store(tmp_path / "m.db") as db:
        db.add_many(corpus(80))
        before = answers(db)
        assert has_word_index(db) == ["ok: up to row 80"]
    folder = folder_of(db)
    if fate == "missing":
        shutil.rmtree(folder)
    elif fate == "emptied":
        for file in folder.iterdir():
            file.write_bytes(b"")
    elif fate == "scrambled":
        (folder / "meta.json").write_text("{}")
    elif fate in ("garbage", "rotten"):  # the second makes tantivy panic, which is no Exception
        for file in folder.glob("*.store" if fate == "garbage" else "*.fast"):
            data = bytearray(file.read_bytes())
            at = 0 if fate == "garbage" else len(data) // 2
            data[at : at + 24] = bytes(min(24, len(data) - at))
            file.write_bytes(data)
    with open_store(tmp_path / "m.db") as db:
        writer = wordindex._open(folder).writer() if fate == "locked" else None
        assert agree(answers(db), before)
        db.add_many(corpus(20, seed=12))
        kept = db.add(MemoryItem(title="Zebra crossing", description="d", content="c"))
        assert db.retrieve("zebra")[0].item.memory_id == kept
        assert sound(db)
        del writer
        db.repair()
        assert has_word_index(db)[0].startswith("ok: up to row")
        assert db.retrieve("zebra")[0].item.memory_id == kept


def test_a_file_that_was_replaced_by_an_older_one_does_not_use_its_word_index(tmp_path, large):
    with open_store(tmp_path / "m.db") as db:
        db.add_many(corpus(40))
        db.backup(tmp_path / "old.db")
        db.add_many(corpus(40, seed=2))
    shutil.copy(tmp_path / "old.db", tmp_path / "m.db")
    for end in ("-wal", "-shm"):
        (tmp_path / f"m.db{end}").unlink(missing_ok=True)
    with open_store(tmp_path / "m.db") as db:
        others = [MemoryItem(title=f"Zebra {n}", description="d", content="c") for n in range(40)]
        db.add_many(others)
        assert len(db.retrieve("zebra", k=50)) == 40
        assert not [hit for hit in db.retrieve("Recipe 17", k=50) if hit.item not in corpus(40)
                    and hit.item.title.startswith("Recipe") and db.get(hit.item.memory_id) is None]  # fmt: skip


def test_building_a_word_index_removes_those_whose_store_is_gone(tmp_path, large):
    stores = [tmp_path / name for name in ("gone.db", "kept.db", "new.db")]
    folders = []
    for path in stores:
        if path.name == "new.db":
            for file in tmp_path.glob("gone.db*"):
                file.unlink()
            strange = [folders[0].with_name(name) for name in ("mine-memory", "other")]
            shutil.copytree(folders[0], strange[0])
            strange[1].mkdir()
        with open_store(path) as db:
            db.add_many(corpus(40))
            folders.append(folder_of(db))
            assert has_word_index(db) == ["ok: up to row 40"]
    assert [folder.exists() for folder in folders] == [False, True, True]
    assert all(folder.exists() for folder in strange), "what is not ours is left alone"


KILLED = """
import os, sys
from rlm.store.open import open_store
from rlm.store.sqlite import wordindex
from rlm.store.types import MemoryItem

wordindex.LARGE, wordindex.LAG = 30, 10
commit = wordindex.WordIndex._commit

def die(self, writer, note):
    if sys.argv[2] == "after":
        commit(self, writer, note)
    os.kill(os.getpid(), 9)

wordindex.WordIndex._commit = die
with open_store(sys.argv[1], embedder="none") as db:
    db.add_many(MemoryItem(title=f"Zebra {n}", description="d", content="c") for n in range(50))
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_while_the_word_index_catches_up_nothing_is_lost(tmp_path, large, when):
    with open_store(tmp_path / "m.db", embedder="none") as db:
        db.add_many(corpus(40))
    args = [sys.executable, "-c", KILLED, str(tmp_path / "m.db"), when]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(args, env=env, check=False, timeout=60).returncode == -9
    with open_store(tmp_path / "m.db", embedder="none") as db:
        assert len(db.retrieve("zebra", k=90)) == 50
        kept = corpus(40)[17]
        assert db.retrieve(kept.title, k=1)[0].item.memory_id == kept.memory_id
        assert sound(db)


def test_a_word_index_that_another_one_builds_is_left_to_them(tmp_path, large, monkeypatch):
    """Two that notice at once that there is none: the second must not throw away the first's."""
    monkeypatch.setattr(wordindex, "LARGE", 10_000)
    with open_store(tmp_path / "m.db") as db, open_store(tmp_path / "m.db") as other:
        db.add_many(corpus(80))
        monkeypatch.setattr(wordindex, "LARGE", 30)
        pages = db.index.words._pages

        def meanwhile(upto, last):
            assert not other.index.catch_up()
            yield from pages(upto, last)

        monkeypatch.setattr(db.index.words, "_pages", meanwhile)
        assert db.index.catch_up()
        assert has_word_index(db) == ["ok: up to row 80"]


def test_filters_reach_past_the_first_candidates(tmp_path):
    with open_store(tmp_path / "m.db") as db:
        many = [MemoryItem(title=f"Deploy step {n}", description="deploy", content="deploy it", source_type="success")
                for n in range(400)]  # fmt: skip
        rare = MemoryItem(
            title="A failure to remember",
            description="about something else, where deploy is one word of many more than that",
            content="words " * 60,
            source_type="failure",
        )
        db.add_many([*many, rare])
        assert [hit.item.title for hit in db.retrieve("deploy step", outcome="failure")] == [
            rare.title
        ]


def test_one_confident_memory_does_not_make_a_search_read_all(tmp_path, monkeypatch):
    """It was looked for among thousands, each read and scored: 200 ms of a search in 100,000."""
    read = []
    rows = SQLiteCandidates.rows

    def counted(self, *given):
        for document in rows(self, *given):
            read.append(document.number)
            yield document

    monkeypatch.setattr(SQLiteCandidates, "rows", counted)
    with open_store(tmp_path / "m.db", embedder="none") as db:
        db.add_many(replace(item, confidence=0.5) for item in corpus(2_000))
        db.add(MemoryItem(title="Tea", description="d", content="c", confidence=1.0))
        assert len(db.retrieve("graph class search", k=5)) == 5
    assert 64 <= len(read) <= 100, len(read)


def test_confidence_can_lift_a_memory_past_closer_ones(tmp_path):
    with open_store(tmp_path / "m.db", embedder="none") as db:
        weak = [MemoryItem(title=f"Restart service {n}", description="restart", content="restart the service",
                           confidence=0.1) for n in range(300)]  # fmt: skip
        strong = MemoryItem(
            title="Restart", description="and wait", content="then see the logs", confidence=1.0
        )
        db.add_many([*weak, strong])
        assert db.retrieve("restart the service", k=1)[0].item.title == "Restart"


@pytest.mark.parametrize("matching", [255, 256, 257])
def test_as_many_matches_as_candidates_are_found_by_their_confidence(tmp_path, matching):
    with open_store(tmp_path / "m.db", embedder="none") as db:
        words = ("alpha" if number < matching else "gamma" for number in range(400))
        db.add_many(
            MemoryItem(f"{word} {number}", "", "x", confidence=0.3 if number < 200 else 1.0)
            for number, word in enumerate(words)
        )
        assert [hit.item.confidence for hit in db.retrieve("alpha", k=10)] == [1.0] * 10


def test_a_filter_that_few_pass_reads_little_of_the_others(tmp_path):
    """Rows that the filter keeps out are not scored: their words are not even looked at."""
    from rlm.retrieval import bm25

    looked_at = []
    weigh = bm25.weigh
    with open_store(tmp_path / "m.db", embedder="none") as db:
        db.add_many(
            MemoryItem(title=f"Deploy step {n}", description="deploy", content="deploy it")
            for n in range(600)
        )
        try:
            bm25.weigh = lambda *args: looked_at.append(1) or weigh(*args)
            assert db.retrieve("deploy step", outcome="failure") == []
        finally:
            bm25.weigh = weigh
    assert len(looked_at) == 0


def test_the_mark_between_the_columns_is_no_word(tmp_path):
    """Icon fonts have a sign of their own there, which somebody may paste."""
    path = tmp_path / "m.json"
    words = (("Colour", "The gauge is it."), ("Gauge", "The colour of it, which is green."))
    with open_store(f"json:{path}", embedder=None) as db:
        db.add_many(MemoryItem(title, "Green.", content) for title, content in words)
        for query in ("gauge", "\ue000 gauge"):
            assert [hit.item.title for hit in db.retrieve(query)] == ["Gauge", "Colour"]
    path.write_text(
        path.read_text("utf-8").replace("The gauge", "\ue000 " * 9 + "The gauge"), "utf-8"
    )
    with open_store(f"json:{path}", embedder=None) as db:
        assert [hit.item.title for hit in db.retrieve("gauge")] == ["Gauge", "Colour"]


def test_words_that_most_memories_have_still_find_the_best(store):
    """FTS5 gives a word of more than half of the rows no weight at all."""
    words = WORDS[:26]
    chance = random.Random(1)
    store.add_many(
        MemoryItem(
            f"{' '.join(chance.sample(words, 4))} {number}",
            " ".join(chance.sample(words, 8)),
            "- " + " ".join(chance.sample(words, 15)),
        )
        for number in range(600)
    )
    asked = [" ".join(chance.sample(words, chance.randint(2, 7))) for _ in range(60)]
    same = 0
    for question in asked:
        whole = [hit.item.memory_id for hit in store.retrieve(question, 600)[:3]]
        found = [hit.item.memory_id for hit in store.retrieve(question, 3)]
        assert found[0] == whole[0], question
        same += found == whole
    assert same >= 57, same


def test_one_that_is_believed_is_found_behind_hundreds_that_look_better(tmp_path):
    """Where even the last of the first candidates could win by confidence, more are looked at."""
    with open_store(tmp_path / "m.db", embedder="none") as store:
        store.add_many(
            MemoryItem(
                f"Restart worker {n}", "After a crash.", "- restart the worker", confidence=0.3
            )
            for n in range(700)
        )
        long = "- restart the worker\n" + "\n".join(f"- then look at part {n}" for n in range(12))
        believed = MemoryItem("Restart worker with care", "After a crash.", long, confidence=1.0)
        store.add(believed)
        found = store.retrieve("restart worker", 1)
    assert [hit.item.title for hit in found] == ["Restart worker with care"]
